//! Tasks that wait for the log to go on.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, SeqCst},
    fence,
};
use gannet_runtime::Waker;

/// Tasks that wait for the log to go on, each with the LSN that it waits for.
pub(crate) struct Followers {
    list: Mutex<Vec<(u64, Waker)>>,
    /// The least LSN in the list; `u64::MAX` of an empty one. Written under its lock.
    least: AtomicU64,
}

impl Default for Followers {
    fn default() -> Followers {
        Followers { list: Mutex::default(), least: AtomicU64::new(u64::MAX) }
    }
}

impl Followers {
    /// Enters the list: the task is woken when all below `lsn` is durable. The caller then looks at the condition once
    /// more and parks.
    pub(crate) fn enter(&self, waker: Waker, lsn: u64) {
        let mut list = self.list.lock();
        list.push((lsn, waker));
        self.least.fetch_min(lsn, Relaxed);
        drop(list);
        // Against `wake`, before which the condition has changed.
        fence(SeqCst);
    }

    /// Wakes those that wait for `durable` or less. Called after the durable horizon has moved there: where none does,
    /// one load.
    pub(crate) fn wake(&self, durable: u64) {
        fence(SeqCst);
        if self.least.load(Acquire) > durable {
            return;
        }
        let mut list = self.list.lock();
        let reached: Vec<_> = list.extract_if(.., |(lsn, _)| *lsn <= durable).collect();
        self.least.store(list.iter().map(|(lsn, _)| *lsn).min().unwrap_or(u64::MAX), Relaxed);
        drop(list);
        reached.iter().for_each(|(_, waker)| waker.wake());
    }

    /// Wakes all: something else has changed than the durable horizon.
    pub(crate) fn wake_all(&self) {
        self.wake(u64::MAX);
    }
}
