//! Rows of a table with all their index entries: what INSERT, UPDATE and DELETE have in common.

use crate::{codec, context::Cx, error::from_engine};
use gannet_catalog::{Index, Table};
use gannet_engine::{IndexInsert, Insert, Read, ReadMode, RowBuf, Update};
use gannet_types::{Result, SqlError, Value, sql_err};

/// What stands in the way of a row.
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
    cx: &mut Cx<'_, '_>,
) -> Result<Conflict> {
    let mut payload = Vec::new();
    codec::encode_row(table, values, &mut payload)?;
    let tree = codec::row_tree(table, cx)?;
    let outcome =
        if lock_exclusive { cx.txn.insert_or_lock(tree, key, &payload) } else { cx.txn.insert(tree, key, &payload) };
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
        if let Some(row_key) = insert_entry(table, number, index, key, values, lock_exclusive, cx)? {
            return Ok(Conflict::Duplicate { index: number, row_key });
        }
    }
    Ok(Conflict::None)
}

/// Adds one index entry; `Some` is the row key of the entry in its way.
fn insert_entry(
    table: &Table,
    number: usize,
    index: &Index,
    row_key: &[u8],
    values: &[Value],
    lock_exclusive: bool,
    cx: &mut Cx<'_, '_>,
) -> Result<Option<Vec<u8>>> {
    let entry = codec::index_entry(table, number, row_key, values)?;
    let tree = codec::index_tree(table, number, cx)?;
    if index.unique() && !entry.has_null {
        let outcome = cx.txn.index_insert_unique(tree, entry.prefix_len, &entry.key, &entry.carried, lock_exclusive);
        if let IndexInsert::Duplicate { existing, .. } = outcome.map_err(from_engine)? {
            return Ok(Some(existing.get(entry.prefix_len..).unwrap_or_default().to_vec()));
        }
    } else {
        cx.txn.index_insert(tree, &entry.key, &entry.carried).map_err(from_engine)?;
    }
    Ok(None)
}

/// The row of a key as it is now, locked for change.
pub(crate) fn current(table: &Table, key: &[u8], cx: &mut Cx<'_, '_>) -> Result<Option<Vec<Value>>> {
    let mut buffer = RowBuf::new();
    let read = cx.txn.get(codec::row_tree(table, cx)?, key, ReadMode::FOR_UPDATE, &mut buffer);
    match read.map_err(from_engine)? {
        Read::Found => codec::decode_row(table, buffer.row()).map(Some),
        Read::Missing | Read::Skipped => Ok(None),
    }
}

/// Deletes a row and its index entries. False when the row was not there.
pub(crate) fn delete_row(table: &Table, key: &[u8], values: &[Value], cx: &mut Cx<'_, '_>) -> Result<bool> {
    match cx.txn.delete(codec::row_tree(table, cx)?, key).map_err(from_engine)? {
        gannet_engine::Delete::Deleted => {}
        _ => return Ok(false),
    }
    delete_entries(table, key, values, cx)?;
    Ok(true)
}

/// Ends all index entries of a row.
pub(crate) fn delete_entries(table: &Table, key: &[u8], values: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    for number in 0..table.indexes.len() {
        if Some(number) != table.clustered {
            let entry = codec::index_entry(table, number, key, values)?;
            cx.txn.index_delete(codec::index_tree(table, number, cx)?, &entry.key).map_err(from_engine)?;
        }
    }
    Ok(())
}

/// How the row tree is written by [`change_row`].
pub(crate) enum Write {
    /// The caller has written it already.
    Done,
    /// By [`gannet_engine::Txn::update`].
    Here,
}

/// Replaces a row whose key stays, and the entries of `indexes` that differ.
pub(crate) fn change_row(
    table: &Table,
    key: &[u8],
    (old, new): (&[Value], &[Value]),
    indexes: &[u32],
    write: Write,
    cx: &mut Cx<'_, '_>,
) -> Result<Conflict> {
    if matches!(write, Write::Here) {
        let mut payload = Vec::new();
        codec::encode_row(table, new, &mut payload)?;
        match cx.txn.update(codec::row_tree(table, cx)?, key, &payload).map_err(from_engine)? {
            Update::Updated => {}
            Update::Missing | Update::Changed => return Err(SqlError::internal("a locked row disappeared")),
        }
    }
    for number in indexes {
        let number = *number as usize;
        if Some(number) == table.clustered {
            continue;
        }
        let before = codec::index_entry(table, number, key, old)?;
        let after = codec::index_entry(table, number, key, new)?;
        if before.key == after.key && before.carried == after.carried {
            continue;
        }
        cx.txn.index_delete(codec::index_tree(table, number, cx)?, &before.key).map_err(from_engine)?;
        if let Some(row_key) = insert_entry(table, number, &table.indexes[number], key, new, false, cx)? {
            return Ok(Conflict::Duplicate { index: number, row_key });
        }
    }
    Ok(Conflict::None)
}

/// Replaces a row by one with another key.
pub(crate) fn move_row(
    table: &Table,
    (old_key, old): (&[u8], &[Value]),
    (new_key, new): (&[u8], &[Value]),
    cx: &mut Cx<'_, '_>,
) -> Result<Conflict> {
    if !delete_row(table, old_key, old, cx)? {
        return Err(SqlError::internal("a locked row disappeared"));
    }
    insert_row(table, new_key, new, false, cx)
}

/// Error 1062 for values that are there already.
pub(crate) fn duplicate_error(table: &Table, index: usize, values: &[Value], cx: &Cx<'_, '_>) -> SqlError {
    let zone = &cx.settings.time_zone;
    let text = table.duplicate_text(index, |i| values[i].as_ref().localize(zone));
    sql_err!(DupEntry, text, format_args!("{}.{}", table.name, table.indexes[index].name))
}
