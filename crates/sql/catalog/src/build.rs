//! Building an index over the rows that are there: scan, sort, insert in order.

use crate::error::CatalogResult;
use crate::trees::StoredTable;
use gannet_engine::{Cut, IndexInsert, KeyRange, ScanOptions, SnapshotReader, Txn};
use gannet_schema::Table;
use gannet_types::{ErrorCode, SqlError, ValueRef, sql_err};

/// Memory for one sorted run. A larger table is inserted in several runs, each in key order.
const RUN_BYTES: usize = 64 << 20;

/// Entries sorted without a look at interruptions: some milliseconds.
const SORT_PIECE: usize = 32 << 10;

/// Error 1317 when the statement was killed; lets other fibers run.
fn check_interrupt() -> CatalogResult<()> {
    gannet_runtime::yield_if_due();
    if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted).into()) } else { Ok(()) }
}

struct Run {
    /// Keys and carried bytes, one after the other.
    bytes: Vec<u8>,
    /// Start, key length, length of the unique prefix (0: do not check), carried length.
    entries: Vec<(usize, u32, u32, u32)>,
}

/// Fills index `position`, whose tree is new and empty, from the rows that `reader` sees. Error 1062 for duplicates of a unique index.
pub(crate) fn build_index(reader: &SnapshotReader, txn: &mut Txn, table: &Table, position: usize) -> CatalogResult<()> {
    let trees = table.trees(txn.engine())?;
    let unique = table.indexes[position].unique();
    let mut run = Run { bytes: Vec::new(), entries: Vec::new() };
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = reader.scan(&trees.row, KeyRange::ALL, options)?;
    let mut columns: Vec<usize> = table.indexes[position].parts.iter().map(|p| p.column as usize).collect();
    columns.extend(table.carried_columns(position).iter().map(|c| *c as usize));
    while let Some(entry) = scan.next()? {
        // A damaged row is found here, once; afterwards its columns can be read.
        for column in &columns {
            table.layout().get(entry.value, *column).map_err(SqlError::from)?;
        }
        let value = |i: usize| table.layout().get(entry.value, i).unwrap_or(ValueRef::Null);
        let start = run.bytes.len();
        let made = table.index_key(position, value, entry.key, &mut run.bytes)?;
        let key_len = run.bytes.len() - start;
        table.index_carried(position, value, &mut run.bytes)?;
        let carried_len = run.bytes.len() - start - key_len;
        let prefix = if unique && !made.has_null { made.prefix_len as u32 } else { 0 };
        if run.entries.len().is_multiple_of(256) {
            check_interrupt()?;
        }
        run.entries.push((start, key_len as u32, prefix, carried_len as u32));
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
    tree: &gannet_engine::TreeHandle,
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
        if entry.2 == 0 {
            txn.index_insert(tree, key, carried)?;
        } else if let IndexInsert::Duplicate { .. } =
            txn.index_insert_unique(tree, entry.2 as usize, key, carried, false)?
        {
            return Err(duplicate(reader, table, position, key)?.into());
        }
    }
    run.bytes.clear();
    run.entries.clear();
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
