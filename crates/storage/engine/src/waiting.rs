//! Waiting for other transactions: for the end of a row's writer, for a record's lock, for a gap.

use std::cell::Cell;
use std::time::Duration;

use gannet_base::sync::{Backoff, atomic::Ordering::Relaxed};
use gannet_lock::{Granted, Mode, Wait};
use gannet_runtime::now_ns;

use crate::trxtable::TrxState;
use crate::{LockMode, Result, TreeHandle, TrxId, Txn};

/// Waiting for locks on behalf of one operation.
pub(crate) struct LockWait {
    timeout: Duration,
    /// `None`: it has not waited yet. Most operations never do, and look at no clock.
    deadline_ns: Cell<Option<u64>>,
    /// The operation took an exclusive lock on its key to keep its place among the owners that wait for the row. The
    /// value is what it held before.
    pub(crate) queued: Option<Option<Mode>>,
}

impl LockWait {
    pub(crate) fn new(timeout: Duration) -> Self {
        LockWait { timeout, deadline_ns: Cell::new(None), queued: None }
    }

    /// What is left of the time, which runs from the first question on.
    pub(crate) fn left(&self) -> Wait {
        let Some(deadline_ns) = self.deadline_ns.get() else {
            let timeout = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
            self.deadline_ns.set(Some(now_ns().saturating_add(timeout)));
            return Wait::For(self.timeout);
        };
        Wait::For(Duration::from_nanos(deadline_ns.saturating_sub(now_ns())))
    }
}

/// So often a statement looks again, at most, for the end of another transaction.
const LOOKED_OFTEN: u8 = 8;

impl Txn {
    /// Waits for the end of a row's writer, in the queue of the row's explicit lock: only its head wakes at that end.
    pub(crate) fn wait_for_writer(
        &mut self,
        tree: &TreeHandle,
        name: &[u8],
        trx: TrxId,
        wait: &mut LockWait,
    ) -> Result<()> {
        if wait.queued.is_none() && (ends_soon(self, trx) || self.queue(tree, name, wait)?.waited) {
            return Ok(());
        }
        // While another transaction's stamp is on the row, this transaction cannot have relied on its lock of the
        // row.
        show_weight(self);
        let store = &*self.engine.store;
        let active = || store.trx.state(trx) == TrxState::Active;
        self.owner.wait_stamp((&tree.shared.locks, name), trx, active, wait.left())?;
        Ok(())
    }

    pub(crate) fn wait_trx(&mut self, tree: &TreeHandle, name: &[u8], trx: TrxId, wait: Wait) -> Result<()> {
        show_weight(self);
        let store = &*self.engine.store;
        self.owner.wait_trx_at((&tree.shared.locks, name), trx, || store.trx.state(trx) == TrxState::Active, wait)?;
        Ok(())
    }

    pub(crate) fn queue(&mut self, tree: &TreeHandle, name: &[u8], wait: &mut LockWait) -> Result<Granted> {
        show_weight(self);
        let locks = &tree.shared.locks;
        let granted = self.owner.lock_record(locks, name, Mode::Exclusive, wait.left())?;
        wait.queued.get_or_insert(granted.before);
        Ok(granted)
    }

    /// Waits until no other owner has an explicit lock on the record, and takes it.
    pub(crate) fn wait_for_record(&mut self, tree: &TreeHandle, name: &[u8], wait: &mut LockWait) -> Result<()> {
        if wait.queued.is_none() && self.comes_free(tree, name) {
            return Ok(());
        }
        self.queue(tree, name, wait).map(drop)
    }

    /// Whether the record's lock is released within a few microseconds. A holder that runs has usually just been
    /// given the record and changes the row now. Waiting a moment for it costs less than entering the queue, and a
    /// queue that every writer enters never empties.
    pub(crate) fn comes_free(&mut self, tree: &TreeHandle, name: &[u8]) -> bool {
        const LOOKS: u32 = 7;
        if self.looked >= LOOKED_OFTEN || !self.options.autocommit {
            return false;
        }
        self.looked += 1;
        let mut backoff = Backoff::new();
        (0..LOOKS).any(|_| {
            backoff.wait();
            !self.owner.record_blocked(&tree.shared.locks, name, Mode::Exclusive)
        })
    }

    /// Waits until no other transaction's gap lock keeps the key from being inserted.
    pub(crate) fn wait_for_gap(&mut self, tree: &TreeHandle, name: &[u8], wait: &mut LockWait) -> Result<()> {
        show_weight(self);
        self.owner.wait_insert(&tree.shared.locks, name, wait.left())?;
        Ok(())
    }

    /// Leaves the record's queue: restores what the transaction held before.
    pub(crate) fn leave_queue(&mut self, tree: &TreeHandle, name: &[u8], wait: &mut LockWait) {
        if let Some(before) = wait.queued.take() {
            self.owner.unlock_record(&tree.shared.locks, name, before);
        }
    }

    /// Publishes what was done so far for lists of transactions: with each page of undo, before each wait; whoever lets
    /// the transaction rest between two statements does it, too.
    pub fn show_progress(&self) {
        let (records, rows) = self.writer.as_ref().map_or((0, 0), |w| (w.records, w.rows));
        let info = self.store().snapshots.info(self.cell);
        info.undo_records.store(records, Relaxed);
        info.rows.store(rows, Relaxed);
    }

    /// Takes an explicit lock.
    pub(crate) fn lock_key(&mut self, tree: &TreeHandle, name: &[u8], mode: LockMode, wait: Wait) -> Result<Granted> {
        show_weight(self);
        Ok(self.owner.lock_record(&tree.shared.locks, name, mode.into(), wait)?)
    }
}

/// Before a wait for a row: [`Txn::show_progress`], and what the transaction weighs in a deadlock. One that has waited
/// for names only weighs nothing, so that what waits for all names is not its victim.
fn show_weight(txn: &Txn) {
    txn.owner.set_weight(txn.weight());
    txn.show_progress();
}

/// Whether the transaction ends within a microsecond or two. A transaction of one statement that runs on another core
/// does, and looking a few times costs less than waiting in the queue. Returns false at once if another owner waits
/// for the transaction already, and if this one has looked in vain often.
fn ends_soon(txn: &mut Txn, trx: TrxId) -> bool {
    const LOOKS: u32 = 5;
    if txn.looked >= LOOKED_OFTEN || txn.owner.is_trx_awaited(trx) {
        return false;
    }
    txn.looked += 1;
    let mut backoff = Backoff::new();
    for _ in 0..LOOKS {
        backoff.wait();
        if txn.engine.store.trx.state(trx) != TrxState::Active {
            return true;
        }
    }
    false
}
