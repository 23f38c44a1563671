//! Transactions.

use std::time::Duration;

use crate::{
    Engine, EngineError, KeyRange, Lsn, ReadMode, Result, RowBuf, RowStamp, Scan, ScanOptions, TreeHandle, TreeKind,
    TrxId, TxnOptions,
};

/// Outcome of [`Txn::get`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// The row is in the buffer.
    Found,
    /// No such row in the version asked for.
    Missing,
    /// Locked by another transaction, under SKIP LOCKED.
    Skipped,
}

/// Outcome of [`Txn::insert`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insert {
    /// Done.
    Inserted,
    /// A row with this key exists and is now locked shared (as InnoDB does), unless the level is below repeatable read
    /// and nothing waited. For REPLACE and ON DUPLICATE KEY UPDATE ask with [`Txn::insert_or_lock`].
    Duplicate,
}

/// Outcome of [`Txn::update`] and [`Txn::update_if`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// Done.
    Updated,
    /// No such row (any more).
    Missing,
    /// [`Txn::update_if`], [`Txn::delete_if`]: the row is no longer the version named; read again.
    Changed,
}

/// Outcome of [`Txn::delete`] and [`Txn::delete_if`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delete {
    /// Done.
    Deleted,
    /// No such row (any more).
    Missing,
    /// [`Txn::delete_if`]: the row is no longer the version named; read again.
    Changed,
}

/// Outcome of [`Txn::index_insert_unique`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexInsert {
    /// Done.
    Inserted,
    /// A live entry has the same leading bytes. It is now locked.
    Duplicate {
        /// Its key (columns + primary key).
        existing: Vec<u8>,
        /// Its carried bytes.
        carried: Vec<u8>,
    },
}

/// A point inside a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    pub(crate) last_undo: u64,
    pub(crate) undo_no: u64,
}

/// Interrupts a transaction's waits from another thread: KILL.
#[derive(Clone)]
pub struct InterruptHandle {
    _private: (),
}

impl InterruptHandle {
    /// The wait in progress, or the next one, returns [`EngineError::Interrupted`].
    pub fn interrupt(&self) {}

    /// Takes an interrupt back that has not been noticed.
    pub fn clear(&self) {}
}

/// A transaction, or the room for one: it is made once for a session and begun, committed and begun again.
/// An active transaction that is dropped is rolled back in the background.
pub struct Txn {
    engine: Engine,
    options: TxnOptions,
}

fn not_yet<T>() -> Result<T> {
    Err(EngineError::ShutDown)
}

impl Txn {
    pub(crate) fn new(engine: Engine, options: TxnOptions) -> Self {
        Txn { engine, options }
    }

    /// Begins again after [`commit`](Txn::commit) or [`rollback`](Txn::rollback). An active transaction is rolled back.
    /// Allocates nothing and writes nothing shared.
    pub fn begin(&mut self, options: TxnOptions) -> Result<()> {
        self.options = options;
        not_yet()
    }

    /// True between begin and commit or rollback.
    pub fn is_active(&self) -> bool {
        false
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How it was begun.
    pub fn options(&self) -> &TxnOptions {
        &self.options
    }

    /// Its id; `None` until the first write.
    pub fn id(&self) -> Option<TrxId> {
        None
    }

    /// True when it has changed something that is not rolled back.
    pub fn has_writes(&self) -> bool {
        false
    }

    /// Number of undo records: what deadlock detection compares, with the number of locks.
    pub fn weight(&self) -> u64 {
        0
    }

    /// `innodb_lock_wait_timeout` from now on.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.options.lock_wait_timeout = timeout;
    }

    /// For KILL, from any thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle { _private: () }
    }

    /// Begins a statement: at READ COMMITTED its snapshot will be new. Returns the mark to roll a failed statement back to.
    pub fn begin_statement(&mut self) -> Savepoint {
        self.savepoint()
    }

    /// Ends a statement: lets a READ COMMITTED snapshot go and waits until what its locking reads and writes have seen is
    /// durable. Call it before the reply is sent; a commit right after makes it unnecessary.
    pub fn end_statement(&mut self) -> Result<()> {
        not_yet()
    }

    /// Takes the snapshot now: START TRANSACTION WITH CONSISTENT SNAPSHOT (repeatable read and above).
    pub fn consistent_snapshot(&mut self) {}

    /// The present point.
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint { last_undo: 0, undo_no: 0 }
    }

    /// Undoes everything after the savepoint. Explicit locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let _ = savepoint;
        not_yet()
    }

    /// Commits; returns when the commit is as durable as the flush policy says, with its LSN (`None`: nothing was
    /// written). On [`EngineError::LogPoisoned`] the outcome is unknown until the restart.
    pub fn commit(&mut self) -> Result<Option<Lsn>> {
        not_yet()
    }

    /// Undoes everything.
    pub fn rollback(&mut self) -> Result<()> {
        not_yet()
    }

    // ---- row trees ----

    /// Reads one row. With [`ReadMode::Snapshot`] the hot path of the server: no allocation (once the buffer has grown), no
    /// shared write.
    pub fn get(&mut self, tree: &TreeHandle, key: &[u8], mode: ReadMode, row: &mut RowBuf) -> Result<Read> {
        let _ = (tree, key, mode, row);
        not_yet()
    }

    /// Inserts a row. Waits for an active transaction that has inserted, or deleted, a row with this key.
    pub fn insert(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Insert> {
        let _ = (tree, key, row);
        not_yet()
    }

    /// As [`insert`](Txn::insert), but a duplicate is locked exclusively: REPLACE, ON DUPLICATE KEY UPDATE.
    pub fn insert_or_lock(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Insert> {
        let _ = (tree, key, row);
        not_yet()
    }

    /// Replaces the newest row with this key (waits for its active writer first).
    pub fn update(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Update> {
        let _ = (tree, key, row);
        not_yet()
    }

    /// As [`update`](Txn::update) if the row is still the version `stamp` (from a read with [`ReadMode::Newest`]) and that
    /// version is committed or own; else waits for its active writer and returns [`Update::Changed`].
    pub fn update_if(&mut self, tree: &TreeHandle, key: &[u8], stamp: RowStamp, row: &[u8]) -> Result<Update> {
        let _ = (tree, key, stamp, row);
        not_yet()
    }

    /// Deletes the newest row with this key (waits for its active writer first).
    pub fn delete(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<Delete> {
        let _ = (tree, key);
        not_yet()
    }

    /// As [`delete`](Txn::delete), under the condition of [`update_if`](Txn::update_if).
    pub fn delete_if(&mut self, tree: &TreeHandle, key: &[u8], stamp: RowStamp) -> Result<Delete> {
        let _ = (tree, key, stamp);
        not_yet()
    }

    /// Opens a scan over a row tree or an index tree. Bounds of an index scan are prefixes of (columns + primary key).
    /// A locking scan of an index locks the index entries; the caller then locks the rows by [`get`](Txn::get).
    pub fn scan(&mut self, tree: &TreeHandle, range: KeyRange<'_>, options: ScanOptions) -> Result<Scan> {
        let _ = (tree, range, options);
        not_yet()
    }

    /// At READ COMMITTED and below: releases the lock this transaction took last on `key` by [`get`](Txn::get).
    pub fn unlock_row(&mut self, tree: &TreeHandle, key: &[u8]) {
        let _ = (tree, key);
    }

    // ---- index trees ----

    /// Adds an entry; `key` = index columns + primary key columns. At most one live entry has this key, which the
    /// caller's lock on the row assures.
    pub fn index_insert(&mut self, tree: &TreeHandle, key: &[u8], carried: &[u8]) -> Result<()> {
        let _ = (tree, key, carried);
        not_yet()
    }

    /// Adds an entry unless a live one begins with the same `prefix_len` bytes (the unique columns; the caller uses
    /// [`index_insert`](Txn::index_insert) when one of them is NULL). Waits for active transactions that have inserted or
    /// deleted such an entry. The duplicate is locked shared, or exclusively with `lock_exclusive` (REPLACE, ON DUPLICATE KEY).
    pub fn index_insert_unique(
        &mut self,
        tree: &TreeHandle,
        prefix_len: usize,
        key: &[u8],
        carried: &[u8],
        lock_exclusive: bool,
    ) -> Result<IndexInsert> {
        let _ = (tree, prefix_len, key, carried, lock_exclusive);
        not_yet()
    }

    /// Ends the live entry with this key. Missing = [`EngineError::Corrupt`]: index and row tree disagree.
    pub fn index_delete(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<()> {
        let _ = (tree, key);
        not_yet()
    }

    // ---- trees ----

    /// Creates an empty tree; it goes away if the transaction rolls back.
    pub fn create_tree(&mut self, kind: TreeKind) -> Result<TreeHandle> {
        let _ = kind;
        not_yet()
    }

    /// Drops a tree: its pages are freed when the transaction has committed and no snapshot can need them. The caller's
    /// metadata lock keeps others away.
    pub fn drop_tree(&mut self, tree: &TreeHandle) -> Result<()> {
        let _ = tree;
        not_yet()
    }
}
