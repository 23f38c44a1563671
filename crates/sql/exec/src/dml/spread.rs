//! Rows of one statement that go into many parts of a table.
//!
//! Where each row has a part of its own, no two of them share a leaf. What still makes the difference is that a step is
//! done for all rows before the next one begins: its code stays in the processor's cache, which the whole way of a row
//! does not fit into.

use super::rows::{insert_entries, insert_entry};
use crate::changes::{Images, RowWriter};
use crate::{codec, error::from_engine};
use gannet_engine::{EngineError, Insert, NewEntry, TreeHandle, Txn};
use gannet_schema::{Index, Table};
use gannet_types::{Result, Value};
use std::ops::Range;

/// A row, and the part that it goes into.
pub(crate) struct Placed<'r> {
    pub(crate) number: u32,
    pub(crate) part: &'r Table,
    pub(crate) values: &'r [Value],
}

/// Where a row's key and its stored form lie.
struct Stored {
    row: usize,
    key: Range<usize>,
    content: Range<usize>,
}

/// Inserts the rows with their index entries, part by part. False: two rows are in each other's way, or one that was
/// there is; the caller rolls back to where it began, and finds out row by row which one it is.
pub(crate) fn insert_spread(rows: &[Placed<'_>], to: &mut RowWriter<'_>) -> Result<bool> {
    let mark = to.mark();
    let (mut bytes, mut key) = (Vec::with_capacity(64 * rows.len()), Vec::new());
    let mut stored = Vec::with_capacity(rows.len());
    // All parts write rows and keys alike, and what one of them needs for that is in the caches.
    let Some(any) = rows.first().map(|placed| placed.part) else { return Ok(true) };
    for (row, placed) in rows.iter().enumerate() {
        codec::new_row_key(any, placed.values, to.txn, &mut key)?;
        let from = bytes.len();
        bytes.extend_from_slice(&key);
        let middle = bytes.len();
        codec::encode_row(any, placed.values, &mut bytes)?;
        stored.push(Stored { row, key: from..middle, content: middle..bytes.len() });
    }
    stored.sort_by(|a, b| {
        rows[a.row].number.cmp(&rows[b.row].number).then_with(|| bytes[a.key.clone()].cmp(&bytes[b.key.clone()]))
    });
    let entries: Vec<NewEntry<'_>> =
        stored.iter().map(|s| (&bytes[s.key.clone()], &bytes[s.content.clone()])).collect();
    let groups = || {
        let mut from = 0;
        stored.chunk_by(|a, b| rows[a.row].number == rows[b.row].number).map(move |group| {
            let range = from..from + group.len();
            from = range.end;
            (rows[group[0].row].part, range)
        })
    };
    let tree = |s: &Stored| codec::row_tree(rows[s.row].part, to.txn).inspect(|tree| tree.approach_handle());
    let trees: Result<Vec<&TreeHandle>> = stored.iter().map(tree).collect();
    if groups().any(|(_, range)| entries[range].windows(2).any(|two| two[0].0 == two[1].0))
        || !insert_rows(&trees?, &entries, to)?
    {
        return Ok(false);
    }
    for number in (0..any.indexes.len()).filter(|number| any.clustered != Some(*number)) {
        if any.indexes[number].is_ordered() && !any.indexes[number].unique() {
            let keyed = stored.iter().zip(&entries).map(|(s, e)| (e.0, &rows[s.row]));
            insert_in_order(any, number, keyed.collect(), to.txn)?;
            continue;
        }
        for (part, range) in groups() {
            let keyed = stored[range.clone()].iter().zip(&entries[range]).map(|(s, e)| (e.0, &rows[s.row].values));
            if !insert_into_index(part, number, keyed, to)? {
                return Ok(false);
            }
        }
    }
    for (i, (s, (key, _))) in stored.iter().zip(&entries).enumerate() {
        let Placed { part, values, .. } = rows[s.row];
        to.note(part, key);
        to.tell_of_run(mark + i as u64, part, Images::insert(values))?;
    }
    Ok(true)
}

/// Inserts rows, each into its tree. Each has one undo record, in their order.
fn insert_rows(trees: &[&TreeHandle], entries: &[NewEntry<'_>], to: &mut RowWriter<'_>) -> Result<bool> {
    insert_all(trees, entries, to.txn, |tree, (key, content), txn| {
        Ok(txn.insert(tree, key, content)? == Insert::Inserted)
    })
}

/// Adds the rows' entries to an ordered index whose keys may repeat, in the order of the parts and of the index.
fn insert_in_order(any: &Table, number: usize, rows: Vec<(&[u8], &Placed<'_>)>, txn: &mut Txn) -> Result<()> {
    let made = rows.iter().map(|(key, row)| Ok((*row, codec::index_entry(any, number, key, row.values)?)));
    let mut made = made.collect::<Result<Vec<_>>>()?;
    made.sort_by(|(a, one), (b, other)| a.number.cmp(&b.number).then_with(|| one.key.cmp(&other.key)));
    let trees: Result<Vec<_>> = made.iter().map(|(row, _)| codec::index_tree(row.part, number, txn)).collect();
    let entries: Vec<NewEntry<'_>> = made.iter().map(|(_, entry)| (&entry.key[..], &entry.carried[..])).collect();
    let single = |tree: &TreeHandle, (key, carried): NewEntry<'_>, txn: &mut Txn| {
        txn.index_insert(tree, key, carried).map(|()| true)
    };
    insert_all(&trees?, &entries, txn, single).map(drop)
}

/// Inserts what it can together, and the others by `single`, until that one says no.
fn insert_all(
    trees: &[&TreeHandle],
    entries: &[NewEntry<'_>],
    txn: &mut Txn,
    single: impl Fn(&TreeHandle, NewEntry<'_>, &mut Txn) -> std::result::Result<bool, EngineError>,
) -> Result<bool> {
    let mut put = 0;
    while put < entries.len() {
        put += match TreeHandle::insert_spread(&trees[put..], &entries[put..], put == 0, txn).map_err(from_engine)? {
            0 if !single(trees[put], entries[put], txn).map_err(from_engine)? => return Ok(false),
            n => n.max(1),
        };
    }
    Ok(true)
}

fn insert_into_index<'r>(
    part: &Table,
    number: usize,
    rows: impl Iterator<Item = (&'r [u8], &'r &'r [Value])>,
    to: &mut RowWriter<'_>,
) -> Result<bool> {
    let index: &Index = &part.indexes[number];
    if !index.unique() {
        return insert_entries(part, number, rows, to.txn).map(|()| true);
    }
    for (key, values) in rows {
        if insert_entry(part, number, index, key, values, false, to.txn)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
