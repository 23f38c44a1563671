//! Row, gap and metadata locks over opaque keys.
//!
//! Knows no page and no row: a record lock names `(tree, key bytes)`, a gap lock an interval between two cuts of a
//! tree's key space. See README.md for the invariants.

#![expect(clippy::unimplemented, reason = "signatures first: bodies follow with the runtime")]

pub mod mdl;

use std::time::Duration;

use gannet_base::sync::Arc;
use gannet_base::{TreeId, TrxId};

/// Mode of a record lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Many owners at once.
    Shared,
    /// One owner.
    Exclusive,
}

/// What to do when a lock is not free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// NOWAIT and SKIP LOCKED: give up at once with [`LockError::WouldWait`].
    No,
    /// Give up after this time with [`LockError::Timeout`].
    For(Duration),
}

/// How a lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    /// At once: what the caller read before is still right.
    AtOnce,
    /// After waiting: the row may have moved, changed or gone.
    AfterWait,
}

/// Why a lock was not got. Nothing is held of it then, and nothing queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockError {
    /// MySQL's 3572 (NOWAIT); SKIP LOCKED skips the row.
    WouldWait,
    /// MySQL's 1205.
    Timeout,
    /// MySQL's 1213: this transaction was chosen as the victim and has to be rolled back.
    Deadlock,
    /// The waiting session was killed (MySQL's 1317 or 1053).
    Killed,
}

/// A position between keys of a tree. Ordered as `Min < Before(k) < After(k) < Max`, by key bytes first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cut<'a> {
    /// Before all keys.
    Min,
    /// Just before this key.
    Before(&'a [u8]),
    /// Just after this key.
    After(&'a [u8]),
    /// After all keys (InnoDB's supremum).
    Max,
}

/// All row and metadata locks of a store.
pub struct LockTable {}

/// The explicit locks of one tree: held in the tree's handle, so that writers look with one load.
pub struct TreeLocks {}

/// Who owns locks and waits: one for each session (reused by its transactions) or background transaction.
pub struct LockOwner {}

impl LockTable {
    /// An empty table.
    pub fn new() -> Arc<LockTable> {
        unimplemented!()
    }

    /// A new owner. `thread_id` is what introspection shows (the connection id; 0 for background work).
    pub fn owner(self: &Arc<Self>, _thread_id: u64) -> LockOwner {
        unimplemented!()
    }

    /// The locks of a tree; the same for all callers.
    pub fn tree(&self, _tree: TreeId) -> Arc<TreeLocks> {
        unimplemented!()
    }
}

impl TreeLocks {
    /// True when no record lock exists or is waited for in this tree. One load; call it under the leaf's exclusive
    /// latch: a locker raises the counter before it reads the row.
    #[inline]
    pub fn no_records(&self) -> bool {
        unimplemented!()
    }

    /// True when no gap of this tree is locked. One load, under the leaf's exclusive latch.
    #[inline]
    pub fn no_gaps(&self) -> bool {
        unimplemented!()
    }

    /// Would `owner` have to wait for another owner's explicit record lock? Never parks: for writers under a latch.
    pub fn record_blocked(&self, _owner: &LockOwner, _key: &[u8], _mode: Mode) -> bool {
        unimplemented!()
    }

    /// Would `owner` have to wait for another owner's gap before inserting `key`? Never parks.
    pub fn insert_blocked(&self, _owner: &LockOwner, _key: &[u8]) -> bool {
        unimplemented!()
    }
}

impl LockOwner {
    /// The transaction this owner now acts for ([`TrxId::ZERO`]: none that has written).
    pub fn set_trx(&self, _trx: TrxId) {
        unimplemented!()
    }

    /// What the transaction has changed so far (rows): among the members of a deadlock the least weight is the victim.
    pub fn set_weight(&self, _rows_changed: u64) {
        unimplemented!()
    }

    /// Locks a record, waiting in FIFO order. A lock already held at least as strong is [`Granted::AtOnce`].
    pub fn lock_record(
        &self,
        _tree: &Arc<TreeLocks>,
        _key: &[u8],
        _mode: Mode,
        _wait: Wait,
    ) -> Result<Granted, LockError> {
        unimplemented!()
    }

    /// Locks a gap against inserts of other owners. Never waits; adjacent intervals of this owner become one.
    pub fn lock_gap(&self, _tree: &Arc<TreeLocks>, _low: Cut<'_>, _high: Cut<'_>) {
        unimplemented!()
    }

    /// Waits until no other owner's gap holds `key`. The caller then descends again and looks anew.
    pub fn wait_insert(&self, _tree: &Arc<TreeLocks>, _key: &[u8], _wait: Wait) -> Result<Granted, LockError> {
        unimplemented!()
    }

    /// Waits for the end of the transaction whose stamp is on a row. `active` tells whether it still runs; it is called
    /// after the wait is registered, so an end in between is not missed.
    pub fn wait_trx(&self, _trx: TrxId, _active: &dyn Fn() -> bool, _wait: Wait) -> Result<Granted, LockError> {
        unimplemented!()
    }

    /// Gives back one record lock before the transaction's end (READ COMMITTED: row did not match; SKIP LOCKED: row has
    /// a foreign stamp).
    pub fn unlock_record(&self, _tree: &Arc<TreeLocks>, _key: &[u8]) {
        unimplemented!()
    }

    /// True if this owner holds the record in that mode or a stronger one.
    pub fn holds_record(&self, _tree: &Arc<TreeLocks>, _key: &[u8], _mode: Mode) -> bool {
        unimplemented!()
    }

    /// The transaction is over (its state is published already): gives back all row and gap locks and wakes those who
    /// wait for its stamps. Costs what it holds. The owner can be used for the next transaction.
    pub fn release_all(&self) {
        unimplemented!()
    }

    /// Ends a wait of this owner, now or when it begins, with [`LockError::Killed`], until [`LockOwner::revive`].
    pub fn kill(&self) {
        unimplemented!()
    }

    /// Takes back [`LockOwner::kill`].
    pub fn revive(&self) {
        unimplemented!()
    }
}
