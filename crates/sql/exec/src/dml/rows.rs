//! Rows of a table with all their index entries: what INSERT, UPDATE and DELETE have in common. No statement is needed,
//! only a [`RowWriter`].

use super::point::{Found, Tried};
use crate::changes::{Images, RowWriter};
use crate::codec::{Entries, EntryRef, IndexEntry};
use crate::{codec, convert, error::from_engine, waiting};
use gannet_catalog::StoredTable as _;
use gannet_engine::{Delete, IndexInsert, Insert, NewEntry, TreeHandle, Txn, Update};
use gannet_schema::{FullText, Index, Table};
use gannet_types::rowref::RowRef;
use gannet_types::{Result, SqlError, TimeZone, Value, sql_err};
use std::borrow::Cow;

/// What keeps a row from being written.
pub(crate) enum Conflict {
    /// None: the row is in.
    None,
    /// A row with the same key in index number `index`; its row key.
    Duplicate { index: usize, row_key: Vec<u8> },
}

/// Inserts a row and its index entries. `lock_exclusive`: a duplicate is locked for change (REPLACE, ON DUPLICATE KEY
/// UPDATE), else shared. After a conflict in a secondary index the caller rolls back to its savepoint.
pub(crate) fn insert_row(
    table: &Table,
    key: &[u8],
    values: &[Value],
    lock_exclusive: bool,
    to: &mut RowWriter<'_>,
) -> Result<Conflict> {
    let mark = to.mark();
    let conflict = add_row(table, key, values, lock_exclusive, to.txn)?;
    if let Conflict::None = conflict {
        to.note(table, key);
        to.tell(mark, table, Images::insert(values))?;
    }
    Ok(conflict)
}

/// Inserts the first of these rows, as far as their keys ascend and nothing is in their way, with their index entries:
/// how many. 0: the first one needs [`insert_row`]. Error 1062 for a duplicate in another index.
pub(crate) fn insert_run(table: &Table, rows: &[&[Value]], zone: &TimeZone, to: &mut RowWriter<'_>) -> Result<usize> {
    let (mark, tree) = (to.mark(), codec::row_tree(table, to.txn)?);
    let (mut bytes, mut key) = (Vec::with_capacity(64 * rows.len()), Vec::new());
    let mut places: Vec<(usize, usize, usize)> = Vec::with_capacity(rows.len());
    for values in rows {
        codec::new_row_key(table, values, to.txn, &mut key)?;
        if places.last().is_some_and(|&(at, row, _)| bytes[at..row] >= key[..]) {
            break;
        }
        let at = bytes.len();
        bytes.extend_from_slice(&key);
        codec::encode_row(table, values, &mut bytes)?;
        places.push((at, at + key.len(), bytes.len()));
    }
    let entries: Vec<NewEntry<'_>> = places.iter().map(|&(at, row, end)| (&bytes[at..row], &bytes[row..end])).collect();
    let mut n = 0;
    while n < entries.len() {
        match tree.insert_run(&entries[n..], to.txn).map_err(from_engine)? {
            0 => break,
            more => n += more,
        }
    }
    let keyed = || entries[..n].iter().map(|(key, _)| *key).zip(rows);
    // Those that no row can have an error in.
    let batched = |index: &Index| (index.is_ordered() || index.text().is_some()) && !index.unique();
    let secondary = || table.indexes.iter().enumerate().filter(|(i, _)| Some(*i) != table.clustered);
    for (key, values) in keyed() {
        for (number, index) in secondary().filter(|(_, i)| !batched(i)) {
            if insert_entry(table, number, index, key, values, false, to.txn)?.is_some() {
                return Err(duplicate_error(table, number, values, zone));
            }
        }
    }
    for (number, _) in secondary().filter(|(_, i)| batched(i)) {
        insert_entries(table, number, keyed(), to.txn)?;
    }
    for (i, (key, values)) in keyed().enumerate() {
        to.note(table, key);
        to.tell_of_run(mark + i as u64, table, Images::insert(*values))?;
    }
    Ok(n)
}

/// Adds entries of rows to an index whose keys may repeat, in the index's order.
pub(super) fn insert_entries<'r>(
    table: &Table,
    number: usize,
    rows: impl Iterator<Item = (&'r [u8], &'r &'r [Value])>,
    txn: &mut Txn,
) -> Result<()> {
    let tree = codec::index_tree(table, number, txn)?;
    if table.indexes[number].is_ordered() {
        let entries: Result<Vec<IndexEntry>> =
            rows.map(|(key, values)| codec::index_entry(table, number, key, *values)).collect();
        let entries = entries?;
        return put_sorted(tree, entries.iter().map(|e| (&e.key[..], &e.carried[..])).collect(), txn);
    }
    let rows: Vec<_> = rows.collect();
    let few = rows.len() < waiting::MANY;
    let (waiting, rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, values)| few && waiting::waits(table, number, values));
    put_waiting(tree, waiting.iter().map(|(key, _)| *key), txn)?;
    let entries = rows.iter().map(|(key, values)| codec::entries(table, number, key, values));
    let entries = entries.collect::<Result<Vec<Entries>>>()?;
    put_sorted(tree, entries.iter().flat_map(Entries::iter).map(|e| (e.key, e.carried)).collect(), txn)
}

/// The words of these rows wait in a full-text index.
fn put_waiting<'r>(tree: &TreeHandle, row_keys: impl Iterator<Item = &'r [u8]>, txn: &mut Txn) -> Result<()> {
    let keys: Vec<Vec<u8>> = row_keys.map(waiting::key_of).collect();
    waiting::note(keys.len());
    put_sorted(tree, keys.iter().map(|key| (&key[..], &waiting::CARRIED[..])).collect(), txn)
}

/// Adds entries that may repeat, in their order.
fn put_sorted(tree: &TreeHandle, mut entries: Vec<NewEntry<'_>>, txn: &mut Txn) -> Result<()> {
    entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
    put_entries(tree, &entries, txn)
}

fn add_row(table: &Table, key: &[u8], values: &[Value], lock_exclusive: bool, txn: &mut Txn) -> Result<Conflict> {
    let mut payload = Vec::new();
    codec::encode_row(table, values, &mut payload)?;
    let tree = codec::row_tree(table, txn)?;
    let outcome =
        if lock_exclusive { txn.insert_or_lock(tree, key, &payload) } else { txn.insert(tree, key, &payload) };
    match outcome.map_err(from_engine)? {
        Insert::Inserted => {}
        Insert::Duplicate => {
            return Ok(Conflict::Duplicate { index: table.clustered.unwrap_or(0), row_key: key.to_vec() });
        }
    }
    for (number, index) in table.indexes.iter().enumerate() {
        if Some(number) == table.clustered {
            continue;
        }
        if let Some(row_key) = insert_entry(table, number, index, key, values, lock_exclusive, txn)? {
            return Ok(Conflict::Duplicate { index: number, row_key });
        }
    }
    Ok(Conflict::None)
}

/// Adds one index entry; `Some` is the row key of the entry in its way.
pub(super) fn insert_entry(
    table: &Table,
    number: usize,
    index: &Index,
    row_key: &[u8],
    values: &[Value],
    lock_exclusive: bool,
    txn: &mut Txn,
) -> Result<Option<Vec<u8>>> {
    let tree = codec::index_tree(table, number, txn)?;
    if !index.is_ordered() {
        if waiting::waits(table, number, values) {
            return put_waiting(tree, std::iter::once(row_key), txn).map(|()| None);
        }
        let entries = codec::entries(table, number, row_key, values)?;
        if !index.unique() {
            let entries: Vec<NewEntry<'_>> = entries.iter().map(|e| (e.key, e.carried)).collect();
            return put_entries(tree, &entries, txn).map(|()| None);
        }
        for entry in entries.iter() {
            if let Some(other) = put_entry(tree, entry, lock_exclusive, txn)? {
                return Ok(Some(other));
            }
        }
        return Ok(None);
    }
    put_entry(tree, codec::index_entry(table, number, row_key, values)?.of(index), lock_exclusive, txn)
}

/// Adds entries that may repeat, and ascend.
pub(crate) fn put_entries(tree: &TreeHandle, entries: &[NewEntry<'_>], txn: &mut Txn) -> Result<()> {
    let mut rest = entries;
    while let [(key, carried), ..] = rest {
        let n = match tree.insert_run(rest, txn).map_err(from_engine)? {
            0 => txn.index_insert(tree, key, carried).map(|()| 1).map_err(from_engine)?,
            n => n,
        };
        rest = &rest[n..];
    }
    Ok(())
}

/// Adds an entry to a tree; `Some` is the row key of the entry in its way.
fn put_entry(tree: &TreeHandle, entry: EntryRef<'_>, lock_exclusive: bool, txn: &mut Txn) -> Result<Option<Vec<u8>>> {
    if entry.unique > 0 {
        let outcome = txn.index_insert_unique(tree, entry.unique, entry.key, entry.carried, lock_exclusive);
        if let IndexInsert::Duplicate { existing, .. } = outcome.map_err(from_engine)? {
            return Ok(Some(existing.get(entry.unique..).unwrap_or_default().to_vec()));
        }
    } else {
        txn.index_insert(tree, entry.key, entry.carried).map_err(from_engine)?;
    }
    Ok(None)
}

/// Deletes a row and its index entries. False when the row was not there.
pub(crate) fn delete_row(table: &Table, key: &[u8], values: &[Value], to: &mut RowWriter<'_>) -> Result<bool> {
    let mark = to.mark();
    let deleted = remove_row(table, key, values, to.txn)?;
    if deleted {
        to.note(table, key);
        to.tell(mark, table, Images::delete(values))?;
    }
    Ok(deleted)
}

/// As [`delete_row`], if the row is still the version that was found.
pub(super) fn delete_if(table: &Table, found: &Found<'_>, to: &mut RowWriter<'_>) -> Result<Tried> {
    let (mark, old) = (to.mark(), found.old()?);
    match to.txn.delete_if(found.tree, found.key, found.stamp).map_err(from_engine)? {
        Delete::Deleted => {}
        Delete::Missing => return Ok(Tried::Not),
        Delete::Changed => return Ok(Tried::Late),
    }
    remove_entries(table, found.key, old, to.txn)?;
    to.note(table, found.key);
    to.tell(mark, table, Images::delete(old))?;
    Ok(Tried::Done)
}

fn remove_row(table: &Table, key: &[u8], values: &[Value], txn: &mut Txn) -> Result<bool> {
    match txn.delete(codec::row_tree(table, txn)?, key).map_err(from_engine)? {
        Delete::Deleted => {}
        Delete::Missing => return Ok(false),
        Delete::Changed => return Err(SqlError::internal("a delete without a condition found another version")),
    }
    remove_entries(table, key, values, txn)?;
    Ok(true)
}

/// Words of rows may wait in the index.
fn may_wait(table: &Table, index: usize) -> bool {
    table.indexes[index].text().is_some_and(FullText::may_have_waiting)
}

/// Deletes the index entries of a row.
pub(crate) fn remove_entries(table: &Table, key: &[u8], values: &[Value], txn: &mut Txn) -> Result<()> {
    for number in 0..table.indexes.len() {
        if Some(number) == table.clustered {
            continue;
        }
        let tree = codec::index_tree(table, number, txn)?;
        if !table.indexes[number].is_ordered() {
            if may_wait(table, number) && waiting::remove(tree, key, txn)? {
                continue;
            }
            for entry in codec::entries(table, number, key, values)?.iter() {
                txn.index_delete(tree, entry.key).map_err(from_engine)?;
            }
            continue;
        }
        let entry = codec::index_entry(table, number, key, values)?;
        txn.index_delete(tree, &entry.key).map_err(from_engine)?;
    }
    Ok(())
}

/// How the row tree is written by [`change_row`].
pub(crate) enum Write {
    /// The caller has written it already, in a transaction that had so many undo records before ([`RowWriter::mark`]).
    Done(u64),
    /// By [`gannet_engine::Txn::update`].
    Here,
}

/// Replaces a row whose key stays, and the entries of `indexes` that differ.
pub(crate) fn change_row(
    table: &Table,
    key: &[u8],
    (old, new): (RowRef<'_>, RowRef<'_>),
    indexes: &[u32],
    write: Write,
    to: &mut RowWriter<'_>,
) -> Result<Conflict> {
    let mark = match write {
        Write::Done(mark) => mark,
        Write::Here => {
            let mark = to.mark();
            let mut made = Vec::new();
            let payload = match new {
                RowRef::Stored(_, payload) => payload,
                RowRef::Values(values) => {
                    codec::encode_row(table, values, &mut made)?;
                    &made
                }
            };
            match to.txn.update(codec::row_tree(table, to.txn)?, key, payload).map_err(from_engine)? {
                Update::Updated => {}
                Update::Missing | Update::Changed => return Err(gone()),
            }
            mark
        }
    };
    for number in indexes {
        let number = *number as usize;
        if Some(number) == table.clustered {
            continue;
        }
        if !table.indexes[number].is_ordered() {
            let (old, new) = (values_of(old)?, values_of(new)?);
            if let Some(row_key) = change_entries(table, number, key, (&old, &new), to.txn)? {
                return Ok(Conflict::Duplicate { index: number, row_key });
            }
            continue;
        }
        let before = codec::index_entry(table, number, key, old)?;
        let after = codec::index_entry(table, number, key, new)?;
        if before.key == after.key && before.carried == after.carried {
            continue;
        }
        let tree = codec::index_tree(table, number, to.txn)?;
        to.txn.index_delete(tree, &before.key).map_err(from_engine)?;
        if let Some(row_key) = put_entry(tree, after.of(&table.indexes[number]), false, to.txn)? {
            return Ok(Conflict::Duplicate { index: number, row_key });
        }
    }
    pass_counter(table, old, new, to.txn)?;
    to.note(table, key);
    to.tell(mark, table, Images::Update(old, new))?;
    Ok(Conflict::None)
}

/// All values of a row, which are made where they are not at hand.
fn values_of(row: RowRef<'_>) -> Result<Cow<'_, [Value]>> {
    match row {
        RowRef::Values(values) => Ok(Cow::Borrowed(values)),
        RowRef::Stored(..) => Ok(Cow::Owned(row.to_values()?)),
    }
}

/// Brings the entries of an index that is no B-tree from one version of a row to the next: those that differ. `Some` is
/// the row key of the entry in the way of one.
fn change_entries(
    table: &Table,
    number: usize,
    key: &[u8],
    (old, new): (&[Value], &[Value]),
    txn: &mut Txn,
) -> Result<Option<Vec<u8>>> {
    let same = |column: &u32| old[*column as usize] == new[*column as usize];
    let parts = table.indexes[number].parts.iter().map(|p| &p.column);
    if parts.chain(table.carried_columns(number)).all(same) {
        return Ok(None);
    }
    let tree = codec::index_tree(table, number, txn)?;
    if may_wait(table, number) && waiting::remove(tree, key, txn)? {
        return insert_entry(table, number, &table.indexes[number], key, new, false, txn);
    }
    let (before, after) = (codec::entries(table, number, key, old)?, codec::entries(table, number, key, new)?);
    for entry in before.iter().filter(|e| !after.has(*e)) {
        txn.index_delete(tree, entry.key).map_err(from_engine)?;
    }
    let fresh = after.iter().filter(|e| !before.has(*e));
    if !table.indexes[number].unique() {
        let fresh: Vec<NewEntry<'_>> = fresh.map(|e| (e.key, e.carried)).collect();
        return put_entries(tree, &fresh, txn).map(|()| None);
    }
    for entry in fresh {
        if let Some(other) = put_entry(tree, entry, false, txn)? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// A change that gives the row another AUTO_INCREMENT value moves the counter beyond it.
#[inline]
pub(super) fn pass_counter<'a>(
    table: &Table,
    old: impl Into<RowRef<'a>>,
    new: impl Into<RowRef<'a>>,
    txn: &Txn,
) -> Result<()> {
    let (old, new) = (old.into(), new.into());
    match table.auto_column {
        Some(column) if old.get(column as usize)? != new.get(column as usize)? => {
            raise_counter(table, &values_of(new)?, txn)
        }
        _ => Ok(()),
    }
}

/// Moves the counter of the table beyond the AUTO_INCREMENT value that a row was given.
#[cold]
pub(crate) fn raise_counter(table: &Table, row: &[Value], txn: &Txn) -> Result<()> {
    let used = table.auto_column.and_then(|c| convert::to_i128(&row[c as usize]));
    let Some(used) = used.and_then(|n| u64::try_from(n).ok()) else { return Ok(()) };
    let tree = table.auto_counter(codec::trees(table, txn)?);
    tree.map_or(Ok(()), |tree| tree.counter_raise(used)).map_err(from_engine)
}

/// Replaces a row by one with another key, perhaps in another part of the table.
pub(crate) fn move_row(
    (from, old_key, old): (&Table, &[u8], &[Value]),
    (into, new_key, new): (&Table, &[u8], &[Value]),
    to: &mut RowWriter<'_>,
) -> Result<Conflict> {
    let mark = to.mark();
    if !remove_row(from, old_key, old, to.txn)? {
        return Err(gone());
    }
    let conflict = add_row(into, new_key, new, false, to.txn)?;
    if let Conflict::None = conflict {
        pass_counter(into, old, new, to.txn)?;
        to.note(from, old_key);
        to.note(into, new_key);
        to.tell(mark, into, Images::update(old, new))?;
    }
    Ok(conflict)
}

/// A row that was read, and locked, is not there to be changed.
#[cold]
fn gone() -> SqlError {
    SqlError::internal("a locked row disappeared")
}

/// Error 1062 for values that are there already.
pub(crate) fn duplicate_error(table: &Table, index: usize, values: &[Value], zone: &TimeZone) -> SqlError {
    let text = table.duplicate_text(index, |i| values[i].as_ref().localize(zone));
    sql_err!(DupEntry, text, format_args!("{}.{}", table.name, table.indexes[index].name))
}
