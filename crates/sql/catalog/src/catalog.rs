//! The dictionary: opening, reading, changing.
//!
//! One row tree holds it all (its id is the engine's meta number 0). A key is a kind byte and names, each ended by a zero
//! byte:
//!
//! ```text
//! 1 schema          → schema row
//! 2 schema, table   → table row
//! 3 account         → the server's bytes
//! 4 XA branch       → the server's bytes
//! 5 table number    → table row of a temporary table: what a crash leaves of it is freed after the next start
//! 6 table number    → statistics of the table
//! 7 table number, column → histogram of the column
//! ```
//!
//! The tree's counter numbers schemas and tables. A change runs in an engine transaction ([`Catalog::ddl`]): rows and
//! trees become durable together, then the next snapshot is published. The caller holds the metadata locks, so nobody
//! uses an object between the commit and the publication; changes of different objects may be published in any order.

use crate::accounts::Accounts;
use crate::edit::Edit;
use crate::error::{CatalogError, CatalogResult};
use crate::trees::StoredTable;
use crate::words::{self, Words};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_engine::{Engine, EngineError, KeyRange, ScanOptions, TreeHandle, TreeId, TreeKind, Txn, TxnOptions};
use gannet_schema::{
    CatalogSnapshot, Change, FIRST_USER_ID, Table, Temporaries, base_snapshot, decode_schema, decode_table,
};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const KIND_SCHEMA: u8 = 1;
pub(crate) const KIND_TABLE: u8 = 2;
pub(crate) const KIND_ACCOUNT: u8 = 3;
pub(crate) const KIND_BRANCH: u8 = 4;
pub(crate) const KIND_TEMPORARY: u8 = 5;
pub(crate) const KIND_FIGURES: u8 = 6;
pub(crate) const KIND_HISTOGRAM: u8 = 7;

/// Engine meta slot of the dictionary's tree.
const META_SLOT: usize = 0;
/// Key of a dictionary row.
pub(crate) fn dictionary_key(kind: u8, names: &[&str]) -> Vec<u8> {
    let mut key = vec![kind];
    for name in names {
        key.extend_from_slice(name.as_bytes());
        key.push(0);
    }
    key
}

/// Key of a table's row.
pub(crate) fn table_key(table: &Table) -> Vec<u8> {
    if table.temporary {
        dictionary_key(KIND_TEMPORARY, &[&table.id.0.to_string()])
    } else {
        dictionary_key(KIND_TABLE, &[&table.schema, &table.name])
    }
}

fn key_names(key: &[u8]) -> impl Iterator<Item = &str> {
    let rest = key.get(1..).unwrap_or_default();
    rest.split(|b| *b == 0).map(|name| std::str::from_utf8(name).unwrap_or_default())
}

/// The data dictionary of one engine.
pub struct Catalog {
    engine: Engine,
    tree: TreeHandle,
    version: AtomicU64,
    current: Mutex<Arc<CatalogSnapshot>>,
    /// Temporary tables of sessions that a crash has ended.
    left_over: Mutex<Vec<Table>>,
}

impl Catalog {
    /// Opens the dictionary, creating it in a fresh engine, and loads all of it.
    pub fn open(engine: Engine) -> CatalogResult<Catalog> {
        let tree = match engine.meta(META_SLOT)? {
            0 => Self::bootstrap(&engine)?,
            id => engine.tree(TreeId(id))?,
        };
        let (snapshot, left_over) = load(&engine, &tree)?;
        let version = AtomicU64::new(snapshot.version());
        Ok(Catalog { engine, tree, version, current: Mutex::new(Arc::new(snapshot)), left_over: Mutex::new(left_over) })
    }

    /// Creates the tree. A crash before the meta number is set leaves an unreachable, empty tree.
    fn bootstrap(engine: &Engine) -> CatalogResult<TreeHandle> {
        let mut txn = engine.begin(TxnOptions::default());
        let tree = txn.create_tree(TreeKind::Row)?;
        txn.commit()?;
        tree.counter_reset(FIRST_USER_ID)?;
        engine.set_meta(META_SLOT, tree.id().0)?;
        Ok(tree)
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Version of the newest snapshot: one load.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The newest snapshot. Take it when [`Catalog::version`] differs from the one at hand.
    pub fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.current.lock().clone()
    }

    /// Runs a change and commits `txn` with it. On an error everything is rolled back and nothing is published. Those who follow the
    /// log are told of `words` with the commit, if there are any.
    ///
    /// `txn` is begun and has written nothing the caller wants to keep apart. The caller holds the metadata locks
    /// of the objects named.
    pub fn ddl<R>(
        &self,
        txn: &mut Txn,
        words: Option<&Words>,
        change: impl FnOnce(&mut Edit<'_>) -> CatalogResult<R>,
    ) -> CatalogResult<(R, Arc<CatalogSnapshot>)> {
        self.ddl_with(txn, words, None, change)
    }

    /// As [`Catalog::ddl`] for a session with temporary tables. The snapshot that comes back has those that are there afterwards; changes
    /// of them are published to nobody. Trees of dropped ones stay: see [`Catalog::discard_temporary`].
    pub fn ddl_with<R>(
        &self,
        txn: &mut Txn,
        words: Option<&Words>,
        temporaries: Option<Temporaries>,
        change: impl FnOnce(&mut Edit<'_>) -> CatalogResult<R>,
    ) -> CatalogResult<(R, Arc<CatalogSnapshot>)> {
        let mut edit = Edit::new(self, txn, &self.snapshot().with_temporaries(temporaries));
        let outcome = change(&mut edit);
        let temporaries = edit.snapshot().temporaries().cloned();
        let mut changes = edit.into_changes();
        changes.retain(|c| match c {
            Change::PutTable(table) => !table.temporary,
            Change::DropTemporary(..) => false,
            _ => true,
        });
        match outcome {
            Ok(result) => {
                let end = words::commit(txn, words)?.map_or(0, |lsn| lsn.0);
                for change in &changes {
                    if let Change::PutTable(table) = change {
                        table.committed_at(end);
                    }
                }
                let snapshot = self.publish(changes);
                Ok((
                    result,
                    match temporaries {
                        None => snapshot,
                        some => Arc::new(snapshot.with_temporaries(some)),
                    },
                ))
            }
            Err(e) => {
                // After a deadlock the transaction is rolled back already.
                if txn.is_active() {
                    txn.rollback()?;
                }
                Err(e)
            }
        }
    }

    /// Frees what a temporary table holds, in a transaction of its own. No transaction that has changed the table may be open.
    pub fn discard_temporary(&self, table: &Table) -> CatalogResult<()> {
        let mut txn = self.engine.begin(TxnOptions::default());
        let outcome = (|| {
            let trees = table.trees(&self.engine)?.clone();
            for (index, tree) in table.indexes.iter().zip(&trees.indexes) {
                if index.tree != table.row_tree {
                    txn.drop_tree(tree)?;
                }
            }
            txn.drop_tree(&trees.row)?;
            txn.delete(&self.tree, &table_key(table))?;
            Ok(())
        })();
        match outcome {
            Ok(()) => Ok(txn.commit().map(drop)?),
            Err(e) => {
                if txn.is_active() {
                    txn.rollback()?;
                }
                Err(e)
            }
        }
    }

    /// Frees temporary tables of sessions that a crash has ended, when what they left undone is undone. Gives how many are still there.
    pub fn discard_left_over(&self) -> CatalogResult<usize> {
        let left_over = || self.left_over.lock();
        if !left_over().is_empty() && self.engine.status().recovering == 0 {
            // One statement each: the lock is not held while a table goes.
            loop {
                let Some(table) = left_over().pop() else { break };
                self.discard_temporary(&table)?;
            }
        }
        let left = left_over().len();
        Ok(left)
    }

    /// Adds tables which the server makes itself. They are not stored.
    pub fn add_virtual(&self, tables: Vec<Table>) -> Arc<CatalogSnapshot> {
        self.publish(tables.into_iter().map(|t| Change::PutTable(Arc::new(t))).collect())
    }

    fn publish(&self, changes: Vec<Change>) -> Arc<CatalogSnapshot> {
        let mut current = self.current.lock();
        if !changes.is_empty() {
            *current = Arc::new(current.with(changes));
            self.version.store(current.version(), Ordering::Release);
        }
        current.clone()
    }

    /// The accounts.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts { tree: &self.tree, kind: KIND_ACCOUNT }
    }

    /// Prepared branches of distributed transactions, by name.
    pub fn branches(&self) -> Accounts<'_> {
        Accounts { tree: &self.tree, kind: KIND_BRANCH }
    }

    pub(crate) fn tree(&self) -> &TreeHandle {
        &self.tree
    }

    pub(crate) fn next_id(&self) -> CatalogResult<u64> {
        let id = self.tree.counter_reserve(1, 1, 1)?;
        id.ok_or_else(|| CatalogError::Sql(gannet_types::SqlError::internal("no object numbers left")))
    }
}

/// Reads all rows into a snapshot.
fn load(engine: &Engine, tree: &TreeHandle) -> CatalogResult<(CatalogSnapshot, Vec<Table>)> {
    let mut left_over = Vec::new();
    let mut txn = engine.begin(TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() });
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
                tables.get(first).into_iter().for_each(|t| crate::stats::load(t, *kind, entry.value));
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
