//! The dictionary: its newest state, and how the next one is published.
//!
//! Rows are in one tree (`keys.rs`), whose counter numbers schemas and tables. A change runs in an engine transaction
//! ([`Catalog::ddl`]): rows and trees become durable together, then the next snapshot is published. The caller holds
//! the metadata locks, so nobody uses an object between the commit and the publication; changes of different objects
//! may be published in any order.

use crate::accounts::Accounts;
use crate::error::{CatalogError, CatalogResult};
use crate::keys::{KIND_ACCOUNT, KIND_BRANCH, KIND_GROUP, KIND_REPLICATION, KIND_SERVER};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_engine::{Engine, TreeHandle, TreeUses};
use gannet_schema::{CatalogSnapshot, Change, Own, Table};
use std::sync::Arc;

/// The data dictionary of one engine.
pub struct Catalog {
    engine: Engine,
    tree: TreeHandle,
    version: AtomicU64,
    current: Mutex<Arc<CatalogSnapshot>>,
    /// Temporary tables of sessions that a crash has ended.
    left_over: Mutex<Vec<Table>>,
}

/// What the dictionary's rows were used for since the start.
pub fn uses(catalog: &Catalog) -> TreeUses {
    catalog.tree.uses()
}

impl Catalog {
    /// A dictionary whose rows have been read.
    pub(crate) fn new(engine: Engine, tree: TreeHandle, snapshot: CatalogSnapshot, left_over: Vec<Table>) -> Catalog {
        let version = AtomicU64::new(snapshot.version());
        Catalog { engine, tree, version, current: Mutex::new(Arc::new(snapshot)), left_over: Mutex::new(left_over) }
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

    /// Adds tables which the server makes itself. They are not stored.
    pub fn add_virtual(&self, tables: Vec<Table>) -> Arc<CatalogSnapshot> {
        self.publish(tables.into_iter().map(|t| Change::PutTable(Arc::new(t))).collect())
    }

    /// Gives a schema objects which the server has by itself. They are not stored.
    pub fn add_own(&self, schema: &str, own: &'static Own) {
        self.publish(vec![Change::PutOwn(schema.into(), own)]);
    }

    pub(crate) fn publish(&self, changes: Vec<Change>) -> Arc<CatalogSnapshot> {
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

    /// Foreign servers, by name.
    pub fn servers(&self) -> Accounts<'_> {
        Accounts { tree: &self.tree, kind: KIND_SERVER }
    }

    /// Resource groups, by name; not those that every server has.
    pub fn resource_groups(&self) -> Accounts<'_> {
        Accounts { tree: &self.tree, kind: KIND_GROUP }
    }

    /// What follows another server has here: whom, and where it stands.
    pub fn replication(&self) -> Accounts<'_> {
        Accounts { tree: &self.tree, kind: KIND_REPLICATION }
    }

    pub(crate) fn left_over(&self) -> &Mutex<Vec<Table>> {
        &self.left_over
    }

    pub(crate) fn tree(&self) -> &TreeHandle {
        &self.tree
    }

    pub(crate) fn next_id(&self) -> CatalogResult<u64> {
        let id = self.tree.counter_reserve(1, 1, 1)?;
        id.ok_or_else(|| CatalogError::Sql(gannet_types::SqlError::internal("no object numbers left")))
    }
}
