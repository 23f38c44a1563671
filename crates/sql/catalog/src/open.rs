//! Opening the dictionary.

use crate::catalog::Catalog;
use crate::error::{CatalogError, CatalogResult};
use crate::keys::{
    KIND_EVENT, KIND_FIGURES, KIND_HISTOGRAM, KIND_ROUTINE, KIND_SCHEMA, KIND_TABLE, KIND_TEMPORARY, key_names,
};
use crate::programs;
use crate::stats;
use gannet_engine::{Engine, EngineError, KeyRange, ScanOptions, TreeHandle, TreeId, TreeKind, TxnOptions};
use gannet_schema::{CatalogSnapshot, Change, FIRST_USER_ID, Table, base_snapshot, decode_schema, decode_table};
use std::collections::HashMap;
use std::sync::Arc;

/// Engine meta slot of the dictionary's tree.
const META_SLOT: usize = 0;

impl Catalog {
    /// Opens the dictionary, creating it in a fresh engine, and loads all of it.
    pub fn open(engine: Engine) -> CatalogResult<Catalog> {
        let tree = match engine.meta(META_SLOT)? {
            0 => Self::bootstrap(&engine)?,
            id => engine.tree(TreeId(id))?,
        };
        tree.count_apart();
        let (snapshot, left_over) = load(&engine, &tree)?;
        Ok(Catalog::new(engine, tree, snapshot, left_over))
    }

    /// Creates the tree. A crash before the meta number is set leaves an unreachable, empty tree.
    fn bootstrap(engine: &Engine) -> CatalogResult<TreeHandle> {
        let mut txn = engine.try_begin(TxnOptions::default())?;
        let tree = txn.create_tree(TreeKind::Row)?;
        txn.commit()?;
        tree.counter_reset(FIRST_USER_ID)?;
        engine.set_meta(META_SLOT, tree.id().0)?;
        Ok(tree)
    }
}

/// Reads all rows into a snapshot.
fn load(engine: &Engine, tree: &TreeHandle) -> CatalogResult<(CatalogSnapshot, Vec<Table>)> {
    let mut left_over = Vec::new();
    let mut txn = engine.try_begin(TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() })?;
    let mut changes = Vec::new();
    let mut tables: HashMap<String, Arc<Table>> = HashMap::new();
    let mut schema_name: Arc<str> = "".into();
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = txn.scan(tree, KeyRange::ALL, options)?;
    while let Some(entry) = scan.next(&mut txn)? {
        let mut names = key_names(entry.key);
        let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        let damaged = |error| CatalogError::Damaged { what: format!("{first} {second}"), error };
        match entry.key.first() {
            Some(&KIND_SCHEMA) => {
                let schema = decode_schema(first, entry.value, false).map_err(damaged)?;
                changes.push(Change::PutSchema(schema));
            }
            Some(&KIND_TABLE) => {
                if *schema_name != *first {
                    schema_name = first.into();
                }
                let table = decode_table(&schema_name, second, entry.value).map_err(damaged)?;
                let table = Arc::new(table);
                tables.insert(table.id.0.to_string(), table.clone());
                changes.push(Change::PutTable(table));
            }
            // Behind all tables.
            Some(kind @ (&KIND_FIGURES | &KIND_HISTOGRAM)) => {
                tables.get(first).into_iter().for_each(|t| stats::load(t, *kind, entry.value));
            }
            // Behind all schemas.
            Some(&KIND_ROUTINE) => {
                let routine = programs::decode_routine(first, second, entry.value).map_err(damaged)?;
                changes.push(Change::PutRoutine(Arc::new(routine)));
            }
            Some(&KIND_EVENT) => {
                let event = programs::decode_event(first, entry.value).map_err(damaged)?;
                changes.push(Change::PutEvent(Arc::new(event)));
            }
            Some(&KIND_TEMPORARY) => {
                let mut table = decode_table(&Arc::from(""), "", entry.value).map_err(damaged)?;
                table.temporary = true;
                left_over.push(table);
            }
            _ => {}
        }
    }
    txn.commit().map_err(|e: EngineError| CatalogError::Engine(e))?;
    Ok((base_snapshot().with(changes), left_over))
}
