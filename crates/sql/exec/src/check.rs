//! Comparing a table's indexes with its rows: CHECK TABLE, `gannet check`.

use std::hash::Hasher;

use gannet_catalog::{RowSource, Table};
use gannet_engine::{Engine, KeyRange, ScanOptions, TreeHandle, Txn, TxnOptions};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};

use crate::codec::{decode_row, index_entry};
use crate::error::from_engine;

/// A number of entries, and a sum over them that does not depend on their order.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    entries: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], carried: &[u8]) {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(key);
        hasher.write_usize(key.len());
        hasher.write(carried);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

fn damaged(table: &Table, what: String) -> SqlError {
    SqlError::with_message(ErrorCode::NotKeyfile, format!("Table '{}.{}': {what}", table.schema, table.name))
}

/// Checks the structure of a table's trees, then in one snapshot that each index has exactly the entries its rows ask for. The
/// error says what is wrong. Memory does not grow with the table.
pub fn check_table(table: &Table, engine: &Engine) -> Result<()> {
    if table.source != RowSource::Engine {
        return Ok(());
    }
    let trees = table.trees(engine).map_err(from_engine)?;
    engine.check_tree(&trees.row).map_err(from_engine)?;
    for tree in &trees.indexes {
        engine.check_tree(tree).map_err(from_engine)?;
    }
    let mut txn = engine.try_begin(TxnOptions { autocommit: true, ..TxnOptions::default() }).map_err(from_engine)?;
    // The clustered index is the rows themselves.
    let secondary = || trees.indexes.iter().enumerate().filter(|(index, _)| table.clustered != Some(*index));
    let mut wanted = vec![Sum::default(); trees.indexes.len()];
    scan(&mut txn, &trees.row, |key, row| {
        let values = decode_row(table, row)?;
        for (index, _) in secondary() {
            let entry = index_entry(table, index, key, &values)?;
            wanted[index].add(&entry.key, &entry.carried);
        }
        Ok(())
    })?;
    for (index, tree) in secondary() {
        let (mut found, want) = (Sum::default(), wanted[index]);
        scan(&mut txn, tree, |key, carried| {
            found.add(key, carried);
            Ok(())
        })?;
        let name = &table.indexes[index].name;
        if found.entries != want.entries {
            let (n, rows) = (found.entries, want.entries);
            return Err(damaged(table, format!("index '{name}' has {n} entries for {rows} rows")));
        }
        if found.sum != want.sum {
            return Err(damaged(table, format!("index '{name}' has entries that no row has")));
        }
    }
    txn.commit().map_err(from_engine)?;
    Ok(())
}

fn scan(txn: &mut Txn, tree: &TreeHandle, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = txn.scan(tree, KeyRange::ALL, options).map_err(from_engine)?;
    while let Some(entry) = scan.next(txn).map_err(from_engine)? {
        each(entry.key, entry.value)?;
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
    }
    Ok(())
}
