//! The engine handle.

use std::sync::Arc;

use gannet_base::{Lsn, PageNo, TreeId, TrxId};

use crate::{EngineError, EngineOptions, FlushPolicy, KeyRange, Result, TreeHandle, Txn, TxnOptions};

/// A store, open. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

struct EngineInner {}

/// Figures for SHOW ENGINE INNODB STATUS and SHOW GLOBAL STATUS. O(workers) to collect, no latch that queries need.
#[derive(Clone, Debug, Default)]
pub struct EngineStatus {
    /// End of the log as reserved.
    pub log_lsn: Lsn,
    /// Log durable up to here.
    pub durable_lsn: Lsn,
    /// Recovery would start here.
    pub checkpoint_lsn: Lsn,
    /// Bytes the log may grow beyond the checkpoint.
    pub redo_capacity_bytes: u64,
    /// Committed transactions whose old versions are not purged.
    pub history_length: u64,
    /// Transactions with an id (writers) that are active.
    pub active_writers: u64,
    /// Id the next writer gets.
    pub next_trx_id: TrxId,
    /// Oldest snapshot in use.
    pub oldest_snapshot: Lsn,
    /// Explicit row and gap locks held or waited for.
    pub explicit_locks: u64,
    /// Pages the pool may hold.
    pub pool_pages: u64,
    /// Pages resident.
    pub pool_resident: u64,
    /// Pages changed and not written back.
    pub pool_dirty: u64,
    /// Size of the data file in pages.
    pub data_pages: u64,
    /// Of these, free.
    pub free_pages: u64,
    /// Percent of the log's work redone after the start; 100 when recovery is over.
    pub recovery_percent: u8,
}

/// A transaction as shown to a person: information_schema.innodb_trx.
#[derive(Clone, Debug)]
pub struct TransactionInfo {
    /// Its id.
    pub id: TrxId,
    /// `owner_thread_id` of its options; 0 for one found at recovery.
    pub owner_thread_id: u64,
    /// Undo records written.
    pub undo_records: u64,
    /// Being rolled back.
    pub rolling_back: bool,
    /// Begun at its first write, seconds ago.
    pub age_seconds: u64,
}

/// Size of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeStats {
    /// Approximate rows (live entries).
    pub rows: u64,
    /// Leaf pages, approximately.
    pub leaf_pages: u64,
    /// All pages (overflow included), approximately.
    pub pages: u64,
    /// Levels, 1 = the root is a leaf.
    pub height: u32,
}

/// Estimate for a range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeEstimate {
    /// Entries, approximately.
    pub rows: u64,
    /// The whole range lay in one leaf and was counted.
    pub exact: bool,
}

impl Engine {
    /// Opens or creates the store. Returns as soon as transactions can begin; the rest of the redo and the rollback of
    /// losers go on behind (their rows stay locked).
    pub fn open(options: EngineOptions) -> Result<Engine> {
        let _ = options;
        let _ = Engine { inner: Arc::new(EngineInner {}) };
        Err(EngineError::ShutDown)
    }

    /// Stops background work, writes everything back and closes the store. Active transactions are rolled back at the next
    /// start. Calls on other clones fail with [`EngineError::ShutDown`] from then on.
    pub fn shutdown(&self) -> Result<()> {
        let _ = &self.inner;
        Ok(())
    }

    /// A new transaction, begun. For speed keep it and use [`Txn::begin`] for the next one.
    pub fn begin(&self, options: TxnOptions) -> Txn {
        Txn::new(self.clone(), options)
    }

    /// Changes the durability of later commits.
    pub fn set_flush_policy(&self, policy: FlushPolicy) {
        let _ = policy;
    }

    /// The durability of commits.
    pub fn flush_policy(&self) -> FlushPolicy {
        FlushPolicy::AtCommit
    }

    /// Figures.
    pub fn status(&self) -> EngineStatus {
        EngineStatus::default()
    }

    /// Transactions that have written and are active, oldest first, at most `limit`.
    pub fn transactions(&self, limit: usize) -> Vec<TransactionInfo> {
        let _ = limit;
        Vec::new()
    }

    /// Opens a tree by the id the catalog kept. Clones of the same tree share state.
    pub fn tree(&self, id: TreeId) -> Result<TreeHandle> {
        Err(EngineError::NoSuchTree(id))
    }

    /// A number kept in the store beside the trees, slots 0..32: slot 0 is the catalog's root tree. 0 = never set.
    pub fn meta(&self, slot: usize) -> Result<u64> {
        let _ = slot;
        Err(EngineError::ShutDown)
    }

    /// Sets a number at once, outside any transaction, durably.
    pub fn set_meta(&self, slot: usize, value: u64) -> Result<()> {
        let _ = (slot, value);
        Err(EngineError::ShutDown)
    }

    /// Entries in a range, estimated from the branches at its two ends.
    pub fn estimate_rows(&self, tree: &TreeHandle, range: KeyRange<'_>) -> Result<RangeEstimate> {
        let _ = (tree, range);
        Err(EngineError::ShutDown)
    }

    /// Size of a tree: from counts kept, no scan.
    pub fn tree_stats(&self, tree: &TreeHandle) -> Result<TreeStats> {
        let _ = tree;
        Err(EngineError::ShutDown)
    }

    /// Purges all that may be purged now; returns the transactions dealt with.
    pub fn purge_now(&self) -> Result<u64> {
        Err(EngineError::ShutDown)
    }

    /// Checks a tree's structure and order (CHECK TABLE); returns its entries, dead ones included.
    pub fn check_tree(&self, tree: &TreeHandle) -> Result<u64> {
        let _ = (tree, PageNo::ZERO);
        Err(EngineError::ShutDown)
    }
}
