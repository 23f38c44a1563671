//! Owners: they hold locks and wait. An owner waits for one thing at a time.

use std::fmt;
use std::time::Duration;

use gannet_base::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use gannet_base::sync::{Arc, Mutex, MutexGuard};
use gannet_base::{TreeId, TrxId};
use gannet_runtime::{Unpark, Waker, now_ns, park, waker};
use gannet_telemetry::{Counter, Wait as WaitEvent, add, count, note_row_lock, sub};

use crate::mdl::{FastSlots, Use};
use crate::record::RecordWait;
use crate::table::{LockTable, TreeLocks};
use crate::{LockError, MdlMode, MdlObject, Wait};

/// What an owner waits for.
#[derive(Clone)]
pub(crate) enum Target {
    Record(RecordWait),
    Insert {
        tree: Arc<TreeLocks>,
        key: Arc<[u8]>,
    },
    /// The end of the transaction whose stamp is on the record.
    Trx {
        trx: TrxId,
        at: Option<(TreeId, Arc<[u8]>)>,
    },
    Mdl {
        object: MdlObject,
        mode: MdlMode,
    },
}

/// A wait that has begun.
pub(crate) struct Waiting {
    pub(crate) target: Target,
    pub(crate) since_ns: u64,
    waker: Waker,
}

/// The outcome of a wait. It is set from `WAITING` by compare-and-swap, so exactly one of three decides: the owner
/// that grants, the deadlock detector, or the waiter when it gives up.
const IDLE: u8 = 0;
const WAITING: u8 = 1;
const GRANTED: u8 = 2;
const VICTIM: u8 = 3;
const GAVE_UP: u8 = 4;

/// The shared part of an owner. The order in memory is deliberate: first what every transaction touches, then what a
/// transaction touches that holds locks or waits.
#[repr(C)]
pub(crate) struct Owner {
    pub(crate) id: u64,
    pub(crate) trx: AtomicU64,
    pub(crate) weight: AtomicU64,
    /// Another owner has begun to wait for a lock of this owner since this owner last held nothing. While false, this
    /// owner's waits cannot close a cycle (INV-LOCK-4).
    pub(crate) blocks: AtomicBool,
    /// False: `held` is empty. Written and read by the owner's own task.
    holds: AtomicBool,
    verdict: AtomicU8,
    /// The search for cycles at the beginning of the wait is over.
    pub(crate) entered: AtomicBool,
    pub(crate) uses: Mutex<Vec<Use>>,
    pub(crate) slots: FastSlots,
    /// Written by the owner's own task only, with one exception: other tasks add records that lie in one of its
    /// intervals (INV-LOCK-6).
    pub(crate) held: Mutex<Held>,
    pub(crate) thread: AtomicU64,
    /// The time from which writers pass this owner at the record it was given; zero: not yet. It matters while the
    /// owner is pending there.
    passed_from: AtomicU64,
    /// How many waits the owner has begun.
    waits: AtomicU64,
    pub(crate) waiting: Mutex<Option<Waiting>>,
}

/// The record and gap locks of an owner.
#[derive(Default)]
pub(crate) struct Held {
    /// Hashes of the records. Of two keys with the same hash either may be released first.
    pub(crate) records: Vec<u64>,
    /// Trees with gaps of this owner, each once.
    pub(crate) gaps: Vec<Arc<TreeLocks>>,
    /// Trees with intervals of rows or sets of keys of this owner, each once; how many locks were folded into
    /// intervals and how many into sets; and how much memory the sets take.
    pub(crate) ranges: Vec<Arc<TreeLocks>>,
    pub(crate) folded: usize,
    pub(crate) keys: usize,
    pub(crate) key_bytes: usize,
    /// When `records` has so many entries, folding is worth while again.
    pub(crate) fold_at: usize,
}

impl Owner {
    pub(crate) fn new(id: u64, thread: u64) -> Owner {
        Owner {
            id,
            thread: AtomicU64::new(thread),
            trx: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            blocks: AtomicBool::new(false),
            verdict: AtomicU8::new(IDLE),
            entered: AtomicBool::new(false),
            passed_from: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waiting: Mutex::new(None),
            held: Mutex::new(Held::default()),
            holds: AtomicBool::new(false),
            slots: FastSlots::default(),
            uses: Mutex::new(Vec::new()),
        }
    }

    /// The order in which victims are chosen, least first: fewest rows changed, then the owner that closed the cycle,
    /// then the youngest.
    pub(crate) fn price(
        &self,
        closed: bool,
    ) -> (u64, std::cmp::Reverse<bool>, std::cmp::Reverse<u64>, std::cmp::Reverse<u64>) {
        let trx = self.trx.load(Relaxed);
        let age = if trx == 0 { u64::MAX } else { trx };
        (self.weight.load(Relaxed), std::cmp::Reverse(closed), std::cmp::Reverse(age), std::cmp::Reverse(self.id))
    }

    /// The locks held, for the owner's own task to add to.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Held> {
        self.holds.store(true, Relaxed);
        self.held.lock()
    }

    /// False when nothing is held. Called by the owner's own task.
    pub(crate) fn may_hold(&self) -> bool {
        self.holds.load(Relaxed)
    }

    /// Written and read under the lock of the shard whose record the owner is given.
    pub(crate) fn may_be_passed_from(&self, now: u64) {
        self.passed_from.store(now, Relaxed);
    }

    pub(crate) fn is_passed_from(&self) -> u64 {
        self.passed_from.load(Relaxed)
    }

    pub(crate) fn may_be_passed(&self, now: u64, limit: u64) -> bool {
        now.saturating_sub(self.passed_from.load(Relaxed)) < limit
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.verdict.load(Acquire) == WAITING
    }

    /// What it waits for, and the number of that wait.
    pub(crate) fn target(&self) -> Option<(Target, u64)> {
        let number = self.waits.load(SeqCst);
        if !self.is_waiting() {
            return None;
        }
        self.waiting.lock().as_ref().map(|w| (w.target.clone(), number))
    }

    /// Whether the owner is still in the wait with that number.
    pub(crate) fn still_waits(&self, number: u64) -> bool {
        self.waits.load(SeqCst) == number && self.is_waiting()
    }

    fn decide(&self, verdict: u8) -> bool {
        self.verdict.compare_exchange(WAITING, verdict, SeqCst, SeqCst).is_ok()
    }

    fn wake(&self) {
        let waker = self.waiting.lock().as_ref().map(|w| w.waker.clone());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the wait with success, unless it is over already. The caller wakes the owner with [`Owner::wake_all`]
    /// after it has released its own mutexes.
    pub(crate) fn grant(&self) -> bool {
        self.decide(GRANTED)
    }

    /// Ends the wait as a deadlock's victim.
    pub(crate) fn condemn(&self) -> bool {
        let done = self.decide(VICTIM);
        if done {
            self.wake();
        }
        done
    }

    /// Ends the wait without success. Under the graph's lock only.
    pub(crate) fn give_up(&self) {
        self.decide(GAVE_UP);
    }

    /// Wakes those whose wait was granted.
    pub(crate) fn wake_all(granted: &[Arc<Owner>]) {
        granted.iter().for_each(|o| o.wake());
    }

    /// Called before the owner enters a queue: from now on it can be granted.
    pub(crate) fn begin_wait(&self, target: Target) {
        *self.waiting.lock() = Some(Waiting { target, since_ns: now_ns(), waker: waker() });
        self.entered.store(false, Relaxed);
        self.waits.fetch_add(1, SeqCst);
        self.verdict.store(WAITING, SeqCst);
    }

    /// Undoes [`Owner::begin_wait`] when there turns out to be nothing to wait for.
    pub(crate) fn no_wait(&self) {
        self.verdict.store(IDLE, Release);
        *self.waiting.lock() = None;
    }
}

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
    pub(crate) fn wait(&self, event: WaitEvent, limit: Duration, abandon: impl FnOnce()) -> Result<(), LockError> {
        let me = &self.inner;
        let start = now_ns();
        let deadline = start.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let row = event == WaitEvent::RowLock;
        if row {
            count(Counter::InnodbRowLockWaits);
            add(Counter::InnodbRowLockCurrentWaits, 1);
        }
        let entered = self.table.graph.enter(&self.table, me);
        let mut reason = LockError::Timeout;
        while me.is_waiting() {
            let ended = match park(event, Some(deadline)) {
                Unpark::Woken => continue,
                Unpark::TimedOut => LockError::Timeout,
                Unpark::Interrupted => LockError::Killed,
            };
            reason = ended;
            self.table.graph.give_up(me);
        }
        self.table.graph.leave(entered);
        if row {
            sub(Counter::InnodbRowLockCurrentWaits, 1);
            note_row_lock((now_ns() - start) / 1000);
        }
        let outcome = match me.verdict.load(Acquire) {
            GRANTED => Ok(()),
            VICTIM => Err(LockError::Deadlock),
            _ => {
                if reason == LockError::Timeout {
                    count(Counter::LockTimeouts);
                }
                Err(reason)
            }
        };
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
    pub fn release_all(&self) -> usize {
        let me = &self.inner;
        // Most transactions hold nothing: finding that out takes no lock.
        let held = if me.may_hold() { self.take_held() } else { Held::default() };
        me.holds.store(false, Relaxed);
        let mut granted = Vec::new();
        for hash in &held.records {
            self.table.release_record_by_hash(me, *hash, &mut granted);
        }
        for tree in &held.gaps {
            tree.release_gaps(me, &mut granted);
        }
        let trx = me.trx.load(Relaxed);
        if trx != 0 {
            self.table.trx_waits.finished(TrxId(trx), &mut granted);
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
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
        self.mdl_release_everything();
        self.table.forget_owner(self.inner.id);
    }
}
