//! The tasks that wait for the log writer: a list for each slot, so that waiting writes no line that other workers
//! write.

use gannet_base::PerSlot;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use gannet_runtime::Waker;
use gannet_telemetry::Counter;

/// How far the log has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// In the file.
    Written,
    /// On disk.
    Durable,
}

impl Want {
    /// What counts those that wait, and how often they find that they have to wait on.
    pub(crate) fn counters(self) -> (Counter, Counter) {
        match self {
            Want::Written => (Counter::LogOnWriteWaits, Counter::LogOnWriteWaitLoops),
            Want::Durable => (Counter::LogOnFlushWaits, Counter::LogOnFlushWaitLoops),
        }
    }

    /// What counts those that need not.
    pub(crate) fn found(self) -> Counter {
        match self {
            Want::Written => Counter::LogOnWriteNoWaits,
            Want::Durable => Counter::LogOnFlushNoWaits,
        }
    }
}

/// The slots whose tasks a round has woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Woken {
    /// None.
    Nobody,
    /// One.
    Of(usize),
    Several,
}

struct Waiting {
    lsn: u64,
    want: Want,
    waker: Waker,
}

#[derive(Default)]
struct Shard {
    list: Mutex<Vec<Waiting>>,
    /// Length of the list. Written under its lock.
    len: AtomicUsize,
    /// Greatest LSN wanted so far. Written under the list's lock; never falls.
    written: AtomicU64,
    durable: AtomicU64,
}

pub(crate) struct Waiters {
    shards: PerSlot<Shard>,
}

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters { shards: PerSlot::new(Shard::default) }
    }

    /// Enters the list of `slot`. The caller then looks at the condition once more, sees to it that the writer is
    /// awake, and parks.
    pub(crate) fn enter(&self, slot: usize, lsn: u64, want: Want, waker: Waker) {
        let _entered = self.add(slot, lsn, want, || waker, |_| false);
    }

    /// Enters the list, unless its last says what is needed; whether it did.
    fn add(
        &self,
        slot: usize,
        lsn: u64,
        want: Want,
        waker: impl FnOnce() -> Waker,
        says_it: impl FnOnce(&Waiting) -> bool,
    ) -> bool {
        let shard = self.shards.get(slot);
        let mut list = shard.list.lock();
        let enters = !list.last().is_some_and(says_it);
        if enters {
            list.push(Waiting { lsn, want, waker: waker() });
            shard.len.store(list.len(), Relaxed);
        }
        let most = match want {
            Want::Written => &shard.written,
            Want::Durable => &shard.durable,
        };
        if most.load(Relaxed) < lsn {
            most.store(lsn, Release);
        }
        drop(list);
        // Against `wake` (which publishes, then looks at `len`) and against the writer's falling asleep.
        fence(SeqCst);
        enters
    }

    /// As [`Waiters::enter`], for a task that waits for many LSNs and asks again whenever it is woken. No entry is
    /// made while the list's last one is its own, for an LSN not greater. The log writer is told of the LSN in any
    /// case. Returns whether one was made.
    pub(crate) fn enter_once(&self, slot: usize, lsn: u64, want: Want, waker: &Waker) -> bool {
        self.add(slot, lsn, want, || waker.clone(), |w| w.lsn <= lsn && w.want == want && w.waker.same_task(waker))
    }

    /// Greatest LSNs that tasks wait for (written, durable).
    pub(crate) fn demand(&self) -> (u64, u64) {
        self.shards
            .iter()
            .fold((0, 0), |(w, d), (_, s)| (w.max(s.written.load(Acquire)), d.max(s.durable.load(Acquire))))
    }

    /// Wakes all tasks whose LSN is reached; with `all`, every task.
    pub(crate) fn wake(&self, written: u64, durable: u64, all: bool) -> Woken {
        let mut woken = Woken::Nobody;
        fence(SeqCst);
        for (slot, shard) in self.shards.iter() {
            if shard.len.load(Acquire) == 0 {
                continue;
            }
            let ready: Vec<Waiting> = {
                let mut list = shard.list.lock();
                let ready = list
                    .extract_if(.., |w| {
                        all || match w.want {
                            Want::Written => w.lsn <= written,
                            Want::Durable => w.lsn <= durable,
                        }
                    })
                    .collect();
                shard.len.store(list.len(), Relaxed);
                ready
            };
            ready.iter().for_each(|w| w.waker.wake());
            woken = match woken {
                _ if ready.is_empty() => woken,
                Woken::Nobody => Woken::Of(slot),
                Woken::Of(_) | Woken::Several => Woken::Several,
            };
        }
        woken
    }
}
