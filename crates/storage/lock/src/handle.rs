//! The handle by which a session or background transaction locks and waits.

use std::fmt;
use std::time::Duration;

use gannet_base::TrxId;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_runtime::{Unpark, now_ns, park};
use gannet_telemetry::{Counter, Wait as WaitEvent, add, count, note_row_lock, sub};

use crate::owner::{Held, Owner, Pending};
use crate::table::LockTable;
use crate::{LockError, Wait};

/// In builds for tests a waiter looks now and then whether there is an end to wait for (INV-LOCK-9). What it sees may
/// be a step of another that is half done, so it believes what it has seen a few times.
const LOOKS: bool = gannet_base::PARANOID || cfg!(debug_assertions);
const LOOK_NS: u64 = 1_000_000_000;

/// Holds locks and waits: one for each session (reused by its transactions) or background transaction. One task uses
/// it at a time.
pub struct LockOwner {
    pub(crate) table: Arc<LockTable>,
    pub(crate) inner: Arc<Owner>,
}

impl fmt::Debug for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockOwner {} of thread {}", self.inner.id, self.inner.thread.load(Relaxed))
    }
}

impl LockOwner {
    /// Its number: [`Party::owner`](crate::Party::owner).
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// The table that the owner belongs to.
    pub fn table(&self) -> &Arc<LockTable> {
        &self.table
    }

    /// Loads the owner into the caches. Called when a transaction is about to use it.
    #[inline]
    pub fn prefetch(&self) {
        gannet_base::prefetch(&*self.inner, 0..std::mem::offset_of!(Owner, held));
    }

    /// Sets the transaction that this owner acts for; [`TrxId::ZERO`]: none that has written.
    pub fn set_trx(&self, trx: TrxId) {
        self.inner.trx.store(trx.get(), Relaxed);
    }

    /// Sets how many rows the transaction has changed so far. Of a deadlock's members the one with the least weight
    /// is the victim. `u64::MAX` is for work that must not be rolled back.
    #[inline]
    pub fn set_weight(&self, rows_changed: u64) {
        self.inner.weight.store(rows_changed, Relaxed);
    }

    /// Whether another owner may wait for this owner's locks, other than the stamps of its transaction.
    pub fn is_awaited(&self) -> bool {
        self.inner.blocks.load(Relaxed)
    }

    /// How many record locks the owner holds, without those that were folded.
    pub fn record_count(&self) -> usize {
        self.inner.held.lock().records.len()
    }

    /// True when the owner holds no record and no gap lock.
    pub fn is_free(&self) -> bool {
        let held = self.inner.held.lock();
        held.records.is_empty() && held.gaps.is_empty() && held.ranges.is_empty()
    }

    /// Parks until the wait is decided. `abandon` takes the owner out of the queue when it was not granted.
    /// `has_reason` tells whether the wait is in its queue and there is what it waits for (INV-LOCK-9).
    pub(crate) fn wait(
        &self,
        pending: Pending,
        event: WaitEvent,
        limit: Duration,
        abandon: impl FnOnce(),
        has_reason: impl Fn() -> bool,
    ) -> Result<(), LockError> {
        let me = &self.inner;
        let start = now_ns();
        let deadline = start.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let row = event == WaitEvent::RowLock;
        if row {
            count(Counter::InnodbRowLockWaits);
            add(Counter::InnodbRowLockCurrentWaits, 1);
        }
        let entered = self.table.graph.enter(&self.table, &pending);
        let mut reason = LockError::Timeout;
        let mut in_vain = 0;
        while me.is_waiting() {
            let look = if LOOKS { deadline.min(now_ns().saturating_add(LOOK_NS)) } else { deadline };
            let ended = match park(event, Some(look)) {
                Unpark::Woken => continue,
                Unpark::TimedOut if look < deadline => {
                    let sound = has_reason() && !self.table.graph.has_missed(&self.table, &pending);
                    in_vain = if sound || !pending.lasts() { 0 } else { in_vain + 1 };
                    gannet_base::check!(in_vain < 3, "{self:?} waits in vain: {:#?}", self.table.waits());
                    continue;
                }
                Unpark::TimedOut => LockError::Timeout,
                Unpark::Interrupted => LockError::Killed,
            };
            reason = ended;
            self.table.graph.give_up(&pending);
        }
        self.table.graph.leave(entered);
        if row {
            sub(Counter::InnodbRowLockCurrentWaits, 1);
            note_row_lock((now_ns() - start) / 1000);
        }
        let outcome = me.verdict().unwrap_or_else(|| {
            if reason == LockError::Timeout {
                count(Counter::LockTimeouts);
            }
            Err(reason)
        });
        if outcome.is_err() {
            abandon();
        }
        me.no_wait();
        outcome
    }

    /// The time limit of a wait; `Err` when the request must not wait.
    pub(crate) fn limit(wait: Wait) -> Result<Duration, LockError> {
        match wait {
            Wait::No => Err(LockError::WouldWait),
            Wait::For(limit) => Ok(limit),
        }
    }

    /// Gives up the folded locks, and returns what else is held.
    fn take_held(&self) -> Held {
        let me = &self.inner;
        let ranges = std::mem::take(&mut me.held.lock().ranges);
        ranges.iter().for_each(|tree| tree.release_ranges(me));
        std::mem::take(&mut *me.held.lock())
    }

    /// Releases all record and gap locks after the transaction's end was published, and wakes the owners that wait
    /// for its stamps. Costs what it holds; returns the number of records. The owner can be used for the next
    /// transaction afterwards.
    #[inline]
    pub fn release_all(&self) -> usize {
        let me = &self.inner;
        // Most transactions hold nothing, and have no number: finding that out takes no lock.
        if me.may_hold() || me.trx.load(Relaxed) != 0 || me.blocks.load(Relaxed) {
            return release_held(self);
        }
        me.weight.store(0, Relaxed);
        0
    }
}

/// [`LockOwner::release_all`] of an owner that may hold something.
fn release_held(owner: &LockOwner) -> usize {
    let me = &owner.inner;
    let held = if me.may_hold() { owner.take_held() } else { Held::default() };
    me.holds_nothing();
    let mut granted = Vec::new();
    for hash in &held.records {
        owner.table.release_record_by_hash(me, *hash, &mut granted);
    }
    for tree in &held.gaps {
        tree.release_gaps(me, &mut granted);
    }
    let trx = me.trx.load(Relaxed);
    if trx != 0 {
        owner.table.trx_waits.finished(TrxId(trx), &mut granted);
        me.trx.store(0, Relaxed);
    }
    me.weight.store(0, Relaxed);
    if me.blocks.load(Relaxed) && me.uses.lock().is_empty() {
        me.blocks.store(false, Relaxed);
    }
    Owner::wake_all(&granted);
    let count = held.records.len() + held.keys;
    if held.records.capacity() > 0 && held.records.capacity() <= 256 {
        // The memory is kept for the next transaction.
        let mut records = held.records;
        records.clear();
        me.held.lock().records = records;
    }
    count
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
        self.mdl_release_everything();
        self.table.forget_owner(self.inner.id);
    }
}
