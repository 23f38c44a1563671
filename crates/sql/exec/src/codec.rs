//! Rows and entries as the DML operators want them: thin calls into the catalog's codecs.

use crate::error::from_engine;
use gannet_catalog::{StoredTable, Trees};
use gannet_engine::{TreeHandle, Txn};
use gannet_schema::Table;
use gannet_types::{Result, SqlError, Value};

/// A secondary index's entry of a row.
pub(crate) struct IndexEntry {
    /// Index columns, then the row's key.
    pub(crate) key: Vec<u8>,
    /// Bytes of the index columns.
    pub(crate) prefix_len: usize,
    /// An index column is NULL: uniqueness does not apply.
    pub(crate) has_null: bool,
    /// Values that cannot be had back from the key.
    pub(crate) carried: Vec<u8>,
}

/// The trees of a table.
pub(crate) fn trees<'t>(table: &'t Table, txn: &Txn) -> Result<&'t Trees> {
    table.trees(txn.engine()).map_err(from_engine)
}

/// The tree of the rows.
pub(crate) fn row_tree<'t>(table: &'t Table, txn: &Txn) -> Result<&'t TreeHandle> {
    trees(table, txn).map(|t| &t.row)
}

/// The tree of an index.
pub(crate) fn index_tree<'t>(table: &'t Table, index: usize, txn: &Txn) -> Result<&'t TreeHandle> {
    trees(table, txn).map(|t| &t.indexes[index])
}

/// Appends the stored form of a row.
pub(crate) fn encode_row(table: &Table, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
    table.layout().encode_values(values, out)
}

/// All columns of a stored row.
pub(crate) fn decode_row(table: &Table, payload: &[u8]) -> Result<Vec<Value>> {
    (0..table.columns.len()).map(|i| Ok(table.layout().get(payload, i)?.to_owned())).collect()
}

/// The entry of a row in a secondary index.
pub(crate) fn index_entry(table: &Table, index: usize, row_key: &[u8], values: &[Value]) -> Result<IndexEntry> {
    let (mut key, mut carried) = (Vec::with_capacity(64), Vec::new());
    let made = table.index_key(index, |i| values[i].as_ref(), row_key, &mut key)?;
    table.index_carried(index, |i| values[i].as_ref(), &mut carried)?;
    Ok(IndexEntry { key, prefix_len: made.prefix_len, has_null: made.has_null, carried })
}

/// The entries of a row in an index that is no B-tree, ascending.
pub(crate) fn entries(table: &Table, index: usize, row_key: &[u8], values: &[Value]) -> Result<Vec<IndexEntry>> {
    let mut all = Vec::new();
    table.entries(index, |i| values[i].as_ref(), row_key, &mut |key, unique, carried| {
        let (key, carried) = (key.to_vec(), carried.to_vec());
        all.push(IndexEntry { key, prefix_len: unique, has_null: unique == 0, carried });
        Ok::<(), SqlError>(())
    })?;
    Ok(all)
}

/// The row makes an entry with this key.
pub(crate) fn makes(table: &Table, index: usize, row_key: &[u8], values: &[Value], key: &[u8]) -> Result<bool> {
    if table.indexes[index].is_ordered() {
        return Ok(index_entry(table, index, row_key, values)?.key == key);
    }
    Ok(entries(table, index, row_key, values)?.iter().any(|e| e.key == key))
}

/// The key of a row that is to be inserted; takes a hidden row id where the table has no key.
pub(crate) fn new_row_key(table: &Table, values: &[Value], txn: &Txn, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    if !table.has_hidden_key() {
        return table.clustered_key(|i| values[i].as_ref(), out);
    }
    let id = trees(table, txn)?.hidden_ids().counter_reserve(1, 1, 1).map_err(from_engine)?;
    table.row_id_key(id.ok_or_else(|| SqlError::internal("the hidden row ids are used up"))?, out);
    Ok(())
}

/// The key of a row that was read. False for the row of NULLs that an outer join delivers without a match.
pub(crate) fn existing_row_key(
    table: &Table,
    values: &[Value],
    hidden: Option<&Value>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    match hidden {
        Some(Value::UInt(id)) => table.row_id_key(*id, out),
        Some(_) => return Ok(false),
        None => {
            if table.clustered_columns().iter().any(|c| values[*c as usize].is_null()) {
                return Ok(false);
            }
            table.clustered_key(|i| values[i].as_ref(), out)?;
        }
    }
    Ok(true)
}
