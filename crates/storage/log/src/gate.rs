//! Commits that wait for more than the log: semi-synchronous replication. While the gate is closed, a commit beyond a
//! bound is not told to its client, and not shown to snapshots if that was asked for, however durable it is; somebody
//! above moves the bound. Open, which is the normal state, the gate costs a load of a line that is read anyway.

use crate::LogError;
use gannet_base::Lsn;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, SeqCst},
};
use gannet_runtime::{Wait, Waker, mask_interrupts, park, waker};

/// The bound of an open gate.
pub(crate) const OPEN: u64 = u64::MAX;

/// What commits wait for behind the log.
pub(crate) struct Gate {
    /// Commits up to here are told.
    told: AtomicU64,
    /// The log was closed while the gate was: what waits is never told.
    ended: AtomicBool,
    /// Tasks that wait, and for which LSN.
    waiting: Mutex<Vec<(u64, Waker)>>,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate { told: AtomicU64::new(OPEN), ended: AtomicBool::new(false), waiting: Mutex::default() }
    }
}

impl Gate {
    #[inline]
    fn is_past(&self, lsn: Lsn) -> bool {
        self.told.load(Acquire) >= lsn.get()
    }

    /// Whether a commit may be told; `false`: not yet, and `waker` is used when it is time to ask again, or before.
    #[inline]
    pub(crate) fn poll(&self, lsn: Lsn, waker: &Waker) -> Result<bool, LogError> {
        if self.is_past(lsn) { Ok(true) } else { self.poll_slow(lsn, waker) }
    }

    #[cold]
    fn poll_slow(&self, lsn: Lsn, waker: &Waker) -> Result<bool, LogError> {
        {
            let mut waiting = self.waiting.lock();
            // A task that is woken asks again for all that it waits for.
            if !waiting.iter().any(|(at, who)| *at <= lsn.get() && who.same_task(waker)) {
                waiting.push((lsn.get(), waker.clone()));
            }
        }
        // The bound is stored before the list is looked through: one of the two sees the other.
        match self.is_past(lsn) {
            true => Ok(true),
            false if self.ended.load(SeqCst) => Err(LogError::Closed),
            false => Ok(false),
        }
    }

    /// Waits until a commit may be told.
    #[inline]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), LogError> {
        if self.is_past(lsn) { Ok(()) } else { self.wait_slow(lsn) }
    }

    #[cold]
    fn wait_slow(&self, lsn: Lsn) -> Result<(), LogError> {
        // The record is in the log already: there is no way back.
        let _mask = mask_interrupts();
        while !self.poll_slow(lsn, &waker())? {
            let _ = park(Wait::LogFollow, None);
        }
        Ok(())
    }

    /// Nothing that waits is told any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, SeqCst);
        self.wake(OPEN);
    }

    /// Commits up to here are told from now on: `set` stores that.
    pub(crate) fn tell(&self, set: impl FnOnce(&AtomicU64), upto: u64) {
        set(&self.told);
        self.wake(upto);
    }

    fn wake(&self, told: u64) {
        let ready: Vec<(u64, Waker)> = self.waiting.lock().extract_if(.., |(lsn, _)| *lsn <= told).collect();
        ready.iter().for_each(|(_, waker)| waker.wake());
    }
}
