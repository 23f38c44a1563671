//! Rows and entries as the DML operators want them: thin calls into the catalog's codecs.

use crate::error::from_engine;
use gannet_catalog::{StoredTable, Trees};
use gannet_engine::{Read, ReadMode, RowBuf, TreeHandle, Txn};
use gannet_schema::{Index, Table};
use gannet_types::rowref::RowRef;
use gannet_types::value::ValueRef;
use gannet_types::{Result, SqlError, Value};
use std::cell::Cell;

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

impl IndexEntry {
    /// As it is written to `index`, whose entry it is.
    pub(crate) fn of(&self, index: &Index) -> EntryRef<'_> {
        let unique = if index.unique() && !self.has_null { self.prefix_len } else { 0 };
        EntryRef { key: &self.key, unique, carried: &self.carried }
    }
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
    let row = table.layout().open(payload)?;
    let mut values = Vec::with_capacity(table.columns.len());
    for i in 0..table.columns.len() {
        values.push(row.get(i)?.to_owned());
    }
    Ok(values)
}

/// The entry of a row in a secondary index.
pub(crate) fn index_entry<'v>(
    table: &Table,
    index: usize,
    row_key: &[u8],
    row: impl Into<RowRef<'v>>,
) -> Result<IndexEntry> {
    match row.into() {
        RowRef::Values(values) => entry_of(table, index, row_key, |i| values[i].as_ref()),
        RowRef::Stored(layout, payload) => {
            let (row, damage) = (layout.open(payload)?, Cell::new(None));
            let value = |i| {
                row.get(i).unwrap_or_else(|e| {
                    damage.set(Some(e));
                    ValueRef::Null
                })
            };
            let entry = entry_of(table, index, row_key, value)?;
            damage.take().map_or(Ok(entry), |e| Err(e.into()))
        }
    }
}

fn entry_of<'v>(
    table: &Table,
    index: usize,
    row_key: &[u8],
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<IndexEntry> {
    let (mut key, mut carried) = (Vec::with_capacity(64), Vec::new());
    let made = table.index_key(index, &value, row_key, &mut key)?;
    table.index_carried(index, &value, &mut carried)?;
    Ok(IndexEntry { key, prefix_len: made.prefix_len, has_null: made.has_null, carried })
}

/// Entries of a row in an index that is no B-tree, ascending.
#[derive(Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    /// Where key and carried bytes end, and how many bytes of the key are unique.
    places: Vec<(usize, usize, usize)>,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryRef<'e> {
    /// Index columns or a word, then the row's key.
    pub(crate) key: &'e [u8],
    /// Bytes of it that no other entry may have; 0: it may repeat.
    pub(crate) unique: usize,
    /// Values that cannot be had back from the key.
    pub(crate) carried: &'e [u8],
}

impl Entries {
    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = EntryRef<'_>> {
        (0..self.places.len()).map(|n| self.get(n))
    }

    fn get(&self, n: usize) -> EntryRef<'_> {
        let from = n.checked_sub(1).map_or(0, |before| self.places[before].1);
        let (key, end, unique) = self.places[n];
        EntryRef { key: &self.bytes[from..key], unique, carried: &self.bytes[key..end] }
    }

    /// The very entry is among them.
    pub(crate) fn has(&self, entry: EntryRef<'_>) -> bool {
        let (mut low, mut high) = (0, self.places.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.get(middle).key.cmp(entry.key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return self.get(middle).carried == entry.carried,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }
}

/// The entries of a row in an index that is no B-tree, ascending.
pub(crate) fn entries(table: &Table, index: usize, row_key: &[u8], values: &[Value]) -> Result<Entries> {
    let mut all = Entries::default();
    table.entries(index, |i| values[i].as_ref(), row_key, &mut |key, unique, carried| {
        all.bytes.extend_from_slice(key);
        let end = all.bytes.len();
        all.bytes.extend_from_slice(carried);
        all.places.push((end, all.bytes.len(), unique));
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

/// The row of a key as it is now, locked for change.
pub(crate) fn current(table: &Table, key: &[u8], txn: &mut Txn) -> Result<Option<Vec<Value>>> {
    let mut buffer = RowBuf::new();
    let read = txn.get(row_tree(table, txn)?, key, ReadMode::FOR_UPDATE, &mut buffer);
    match read.map_err(from_engine)? {
        Read::Found => decode_row(table, buffer.row()).map(Some),
        Read::Missing | Read::Skipped => Ok(None),
    }
}
