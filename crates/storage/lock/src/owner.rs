//! Owners: what they hold and what they wait for. An owner waits for one thing at a time.

use gannet_base::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use gannet_base::sync::{Arc, Mutex, MutexGuard};
use gannet_base::{TreeId, TrxId};
use gannet_runtime::{Waker, now_ns, waker};

use crate::mdl::{FastSlots, Use};
use crate::tree::TreeLocks;
use crate::types::Ticket;
use crate::{LockError, MdlMode, MdlObject, Mode};

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

/// A wait for a record.
#[derive(Clone)]
pub(crate) struct RecordWait {
    pub(crate) hash: u64,
    pub(crate) tree: Arc<TreeLocks>,
    pub(crate) key: Arc<[u8]>,
    pub(crate) mode: Mode,
    pub(crate) ticket: Ticket,
}

impl RecordWait {
    /// Whether both waits are for the same record.
    pub(crate) fn same_record(&self, other: &RecordWait) -> bool {
        self.hash == other.hash && Arc::ptr_eq(&self.tree, &other.tree) && self.key == other.key
    }
}

/// A wait that has begun.
pub(crate) struct Waiting {
    pub(crate) target: Target,
    pub(crate) since_ns: u64,
    waker: Waker,
}

/// The outcome of a wait, below its number in [`Owner::wait`]. It is set from `WAITING` by compare-and-swap, so exactly
/// one of three decides: the owner that grants, the deadlock detector, or the waiter when it gives up.
const IDLE: u64 = 0;
const WAITING: u64 = 1;
const GRANTED: u64 = 2;
const VICTIM: u64 = 3;
const GAVE_UP: u64 = 4;
const VERDICT: u64 = 7;

/// One wait of an owner, as others keep it: what they decide by it is decided for this wait and for no later one,
/// however late they come.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) owner: Arc<Owner>,
    number: u64,
}

impl Pending {
    /// The wait that the owner is in.
    pub(crate) fn of(owner: &Arc<Owner>) -> Option<Pending> {
        let word = owner.wait.load(SeqCst);
        (word & VERDICT == WAITING).then(|| Pending { owner: owner.clone(), number: word & !VERDICT })
    }

    /// Whether the owner is still in this wait.
    pub(crate) fn lasts(&self) -> bool {
        self.owner.wait.load(SeqCst) == self.number | WAITING
    }

    fn decide(&self, verdict: u64) -> bool {
        let decided = self.number | verdict;
        self.owner.wait.compare_exchange(self.number | WAITING, decided, SeqCst, SeqCst).is_ok()
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
            self.owner.wake();
        }
        done
    }

    /// Ends the wait without success. Under the graph's lock only.
    pub(crate) fn give_up(&self) {
        self.decide(GAVE_UP);
    }
}

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
    /// The number of its last wait, counted in steps of `VERDICT + 1`, and what became of it.
    wait: AtomicU64,
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
    pub(crate) waiting: Mutex<Option<Waiting>>,
    /// Number of the row of metadata locks that the owner takes at present: odd while there is one.
    pub(crate) row: AtomicU64,
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
            wait: AtomicU64::new(IDLE),
            entered: AtomicBool::new(false),
            passed_from: AtomicU64::new(0),
            waiting: Mutex::new(None),
            row: AtomicU64::new(0),
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

    /// The owner has released all that it held. Called by the owner's own task.
    pub(crate) fn holds_nothing(&self) {
        self.holds.store(false, Relaxed);
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
        self.wait.load(Acquire) & VERDICT == WAITING
    }

    /// What it waits for. That is what a [`Pending`] made before waits for, if that wait lasts afterwards.
    pub(crate) fn target(&self) -> Option<Target> {
        self.waiting.lock().as_ref().map(|w| w.target.clone())
    }

    /// Whether it waits for the end of the other's transaction, whose stamp it has found where it has locked this key.
    pub(crate) fn waits_at(self: &Arc<Self>, tree: &TreeLocks, key: &[u8], other: &Owner) -> bool {
        let other = other.trx.load(Relaxed);
        if other == 0 {
            return false;
        }
        let Some(wait) = Pending::of(self) else { return false };
        let here = match &*self.waiting.lock() {
            Some(Waiting { target: Target::Trx { trx, at: Some((at, name)) }, .. }) => {
                trx.get() == other && *at == tree.id() && **name == *key
            }
            _ => false,
        };
        here && wait.lasts()
    }

    /// How the wait was decided; `None`: the owner gave up.
    pub(crate) fn verdict(&self) -> Option<Result<(), LockError>> {
        match self.wait.load(Acquire) & VERDICT {
            GRANTED => Some(Ok(())),
            VICTIM => Some(Err(LockError::Deadlock)),
            _ => None,
        }
    }

    fn wake(&self) {
        let waker = self.waiting.lock().as_ref().map(|w| w.waker.clone());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes those whose wait was granted.
    pub(crate) fn wake_all(granted: &[Arc<Owner>]) {
        granted.iter().for_each(|o| o.wake());
    }

    /// Called before the owner enters a queue: from now on it can be granted.
    pub(crate) fn begin_wait(self: &Arc<Self>, target: Target) -> Pending {
        *self.waiting.lock() = Some(Waiting { target, since_ns: now_ns(), waker: waker() });
        self.entered.store(false, Relaxed);
        // The number is written by the owner's own task only.
        let number = (self.wait.load(Relaxed) & !VERDICT) + VERDICT + 1;
        self.wait.store(number | WAITING, SeqCst);
        Pending { owner: self.clone(), number }
    }

    /// Undoes [`Owner::begin_wait`] when there turns out to be nothing to wait for.
    pub(crate) fn no_wait(&self) {
        self.wait.store(self.wait.load(Relaxed) & !VERDICT | IDLE, Release);
        *self.waiting.lock() = None;
    }
}

/// The owner to which a wait leads, and the owner between, if that one is the only reason for the edge.
pub(crate) struct Edge {
    pub(crate) to: Arc<Owner>,
    pub(crate) via: Option<Arc<Owner>>,
}
