//! Building an index over the rows that are there: scan, sort, insert in order.

use crate::error::CatalogResult;
use crate::trees::StoredTable;
use gannet_engine::{Cut, IndexInsert, KeyRange, ScanOptions, SnapshotReader, TreeHandle, Txn};
use gannet_schema::Table;
use gannet_types::{ErrorCode, SqlError, ValueRef, sql_err};

/// Memory for one sorted run. A larger table is inserted in several runs, each in key order.
const RUN_BYTES: usize = 64 << 20;

/// Entries sorted without a look at interruptions: some milliseconds.
const SORT_PIECE: usize = 32 << 10;

/// Error 1317 when the statement was killed; lets other fibers run.
pub(crate) fn check_interrupt() -> CatalogResult<()> {
    gannet_runtime::yield_if_due();
    if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted).into()) } else { Ok(()) }
}

struct Run {
    /// Keys and carried bytes, one after the other.
    bytes: Vec<u8>,
    /// Start, key length, length of the unique prefix (0: do not check), carried length.
    entries: Vec<(usize, u32, u32, u32)>,
}

/// Makes the entries of an index from rows as they are stored.
pub(crate) struct EntryMaker<'t> {
    table: &'t Table,
    position: usize,
    columns: Vec<usize>,
}

impl EntryMaker<'_> {
    pub(crate) fn new(table: &Table, position: usize) -> EntryMaker<'_> {
        let mut columns: Vec<usize> = table.indexes[position].parts.iter().map(|p| p.column as usize).collect();
        columns.extend(table.carried_columns(position).iter().map(|c| *c as usize));
        EntryMaker { table, position, columns }
    }

    /// Appends the entry's key and carried bytes. Returns the key's length, and how much of it is unique: nothing if it may repeat.
    pub(crate) fn append(&self, row_key: &[u8], row: &[u8], out: &mut Vec<u8>) -> CatalogResult<(usize, usize)> {
        let (layout, start) = (self.table.layout(), out.len());
        // A damaged row is found here, once; afterwards its columns can be read.
        for column in &self.columns {
            layout.get(row, *column).map_err(SqlError::from)?;
        }
        let value = |i: usize| layout.get(row, i).unwrap_or(ValueRef::Null);
        let made = self.table.index_key(self.position, value, row_key, out)?;
        let key_len = out.len() - start;
        self.table.index_carried(self.position, value, out)?;
        let unique = self.table.indexes[self.position].unique() && !made.has_null;
        Ok((key_len, if unique { made.prefix_len } else { 0 }))
    }
}

/// Fills index `position`, whose tree is new and empty, from the rows that `reader` sees. Error 1062 for duplicates of a unique index.
pub(crate) fn build_index(reader: &SnapshotReader, txn: &mut Txn, table: &Table, position: usize) -> CatalogResult<()> {
    let trees = table.trees(txn.engine())?;
    let mut run = Run { bytes: Vec::new(), entries: Vec::new() };
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = reader.scan(&trees.row, KeyRange::ALL, options)?;
    let maker = EntryMaker::new(table, position);
    while let Some(entry) = scan.next()? {
        if run.entries.len().is_multiple_of(256) {
            check_interrupt()?;
        }
        let start = run.bytes.len();
        let (key_len, prefix) = maker.append(entry.key, entry.value, &mut run.bytes)?;
        let carried_len = run.bytes.len() - start - key_len;
        run.entries.push((start, key_len as u32, prefix as u32, carried_len as u32));
        if run.bytes.len() + run.entries.len() * 24 > RUN_BYTES {
            insert_run((reader, txn), table, position, &trees.indexes[position], &mut run)?;
        }
    }
    insert_run((reader, txn), table, position, &trees.indexes[position], &mut run)
}

fn insert_run(
    (reader, txn): (&SnapshotReader, &mut Txn),
    table: &Table,
    position: usize,
    tree: &TreeHandle,
    run: &mut Run,
) -> CatalogResult<()> {
    let bytes = &run.bytes;
    let key = |e: &(usize, u32, u32, u32)| &bytes[e.0..e.0 + e.1 as usize];
    for piece in run.entries.chunks_mut(SORT_PIECE) {
        piece.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        check_interrupt()?;
    }
    // The stable sort merges pieces that are in order: a few comparisons an entry.
    run.entries.sort_by(|a, b| key(a).cmp(key(b)));
    for (i, entry) in run.entries.iter().enumerate() {
        if i.is_multiple_of(64) {
            check_interrupt()?;
        }
        let key = key(entry);
        let carried_start = entry.0 + entry.1 as usize;
        let carried = &bytes[carried_start..carried_start + entry.3 as usize];
        insert((reader, txn), (table, position), tree, (key, entry.2 as usize, carried))?;
    }
    run.bytes.clear();
    run.entries.clear();
    Ok(())
}

/// Inserts an entry (key, bytes of it that are unique, carried bytes) of index `position`. Error 1062 when they are there.
pub(crate) fn insert(
    (reader, txn): (&SnapshotReader, &mut Txn),
    (table, position): (&Table, usize),
    tree: &TreeHandle,
    (key, prefix, carried): (&[u8], usize, &[u8]),
) -> CatalogResult<()> {
    if prefix == 0 {
        txn.index_insert(tree, key, carried)?;
    } else if let IndexInsert::Duplicate { .. } = txn.index_insert_unique(tree, prefix, key, carried, false)? {
        return Err(duplicate(reader, table, position, key)?.into());
    }
    Ok(())
}

/// Error 1062 with the row's own values, fetched by its clustered key.
fn duplicate(reader: &SnapshotReader, table: &Table, position: usize, key: &[u8]) -> CatalogResult<SqlError> {
    let (_, clustered) = table.split_index_key(position, key)?;
    let row_tree = &table.trees(reader.engine())?.row;
    let only = KeyRange::new(Cut::Before(clustered), Cut::After(clustered));
    let mut scan = reader.scan(row_tree, only, ScanOptions::default())?;
    let row = scan.next()?.map(|entry| entry.value).unwrap_or_default();
    let text = table.duplicate_text(position, |i| table.layout().get(row, i).unwrap_or(ValueRef::Null));
    let name = format!("{}.{}", table.name, table.indexes[position].name);
    Ok(SqlError::new(ErrorCode::DupEntry, &[&text, &name]))
}
