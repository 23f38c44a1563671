//! What the log's users and its writer share.

use std::path::PathBuf;

use gannet_base::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use gannet_base::sync::{Backoff, Mutex, OnceLock};
use gannet_base::{CachePadded, Lsn};
use gannet_runtime::Waker;
use gannet_telemetry::Events;

use crate::LogError;
use crate::followers::Followers;
use crate::gate::Gate;
use crate::idle::Idle;
use crate::recent::Recent;
use crate::retentions::Retentions;
use crate::ring::Ring;
use crate::segments::Segments;
use crate::waiters::{Waiters, Woken};

/// Whether waiting for the checkpoint makes sense. The task that moves the checkpoint sets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Checkpoints {
    /// It moves as pages are written back.
    Move,
    /// Pages cannot be written back, or redo cannot be applied; that may pass.
    Fail,
    /// It does not move any more: a write has failed for good.
    Failed,
    /// It does not move any more: the store is being closed.
    Closing,
}

/// Read by every writer and reader, written seldom: by the log writer once a round, by policy changes.
pub(crate) struct Rules {
    /// Up to this reservation no writer is slowed down.
    pub(crate) admit: AtomicU64,
    /// From this reservation on an appender wakes the log writer.
    pub(crate) nudge: AtomicU64,
    pub(crate) policy: AtomicU8,
    /// The horizon is complete_lsn (policies 0 and 2), not durable_lsn.
    pub(crate) horizon_is_complete: AtomicBool,
    /// The horizon does not fall below this when the policy changes to 1.
    pub(crate) floor: AtomicU64,
    /// The horizon is not beyond this: see [`Gate`].
    pub(crate) shown: AtomicU64,
}

/// Written by the log writer once a round.
pub(crate) struct Progress {
    pub(crate) written: AtomicU64,
    pub(crate) durable: AtomicU64,
}

/// A task's waker, once the task is there.
#[derive(Default)]
pub(crate) struct TaskCell(OnceLock<Waker>);

impl TaskCell {
    pub(crate) fn set(&self, waker: Waker) {
        let _ = self.0.set(waker);
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.0.get() {
            waker.wake();
        }
    }
}

pub(crate) struct Core {
    pub(crate) dir: PathBuf,
    pub(crate) epoch: u64,
    pub(crate) ring: Ring,
    pub(crate) rules: CachePadded<Rules>,
    pub(crate) progress: CachePadded<Progress>,
    pub(crate) checkpoint: CachePadded<AtomicU64>,
    /// Where this incarnation began to append.
    began: u64,
    pub(crate) waiters: Waiters,
    pub(crate) gate: Gate,
    /// Of the writer.
    pub(crate) idle: CachePadded<Idle>,
    pub(crate) writer_task: TaskCell,
    pub(crate) files_task: TaskCell,
    pub(crate) stop: AtomicBool,
    /// The log writer has ended: no task waits for it any more.
    pub(crate) ended: AtomicBool,
    pub(crate) segments: Segments,
    /// The consumers that keep the log.
    pub(crate) retentions: Retentions,
    /// The followers that wait for more log.
    pub(crate) followers: Followers,
    /// What they will read next.
    pub(crate) recent: Recent,
    /// Waiting for the checkpoint, or a consumer, to advance.
    pub(crate) space_waiters: Mutex<Vec<Waker>>,
    checkpoints: Mutex<Checkpoints>,
    poison: OnceLock<String>,
    poisoned: AtomicBool,
    pub(crate) events: Events,
}

/// The parts from which a [`Core`] is made.
pub(crate) struct CoreParts {
    pub(crate) dir: PathBuf,
    pub(crate) epoch: u64,
    pub(crate) ring: Ring,
    pub(crate) segments: Segments,
    pub(crate) retentions: Retentions,
    pub(crate) policy: u8,
    pub(crate) checkpoint: u64,
    pub(crate) events: Events,
}

impl Core {
    pub(crate) fn new(parts: CoreParts) -> Core {
        let start = parts.ring.complete();
        let core = Core {
            rules: CachePadded::new(Rules {
                admit: AtomicU64::new(0),
                nudge: AtomicU64::new(start + parts.ring.size() / 4),
                policy: AtomicU8::new(parts.policy),
                horizon_is_complete: AtomicBool::new(parts.policy != 1),
                floor: AtomicU64::new(0),
                shown: AtomicU64::new(u64::MAX),
            }),
            dir: parts.dir,
            epoch: parts.epoch,
            ring: parts.ring,
            progress: CachePadded::new(Progress { written: AtomicU64::new(start), durable: AtomicU64::new(start) }),
            checkpoint: CachePadded::new(AtomicU64::new(parts.checkpoint)),
            began: start,
            waiters: Waiters::new(),
            gate: Gate::default(),
            idle: CachePadded::default(),
            writer_task: TaskCell::default(),
            files_task: TaskCell::default(),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            segments: parts.segments,
            retentions: parts.retentions,
            followers: Followers::default(),
            recent: Recent::default(),
            space_waiters: Mutex::new(Vec::new()),
            checkpoints: Mutex::new(Checkpoints::Move),
            poison: OnceLock::new(),
            poisoned: AtomicBool::new(false),
            events: parts.events,
        };
        core.update_admit();
        core
    }

    /// Bytes of log that may lie between checkpoint and tail: the capacity less the segment being recycled, the one
    /// being started, and what the ring may still hold.
    pub(crate) fn usable(&self) -> u64 {
        let capacity = self.segments.capacity();
        capacity.saturating_sub(2 * self.segments.granule() + self.ring.size() * 3 / 2).max(capacity / 8)
    }

    /// From where the age counts that slows writers down: the checkpoint. But what an earlier incarnation left does not
    /// count until the checkpoint has passed it, as far as there are segments beyond the capacity ([`Segments::open`]):
    /// a start after a crash with a full log is no stop then.
    pub(crate) fn age_from(&self, checkpoint: u64) -> u64 {
        let surplus = self.segments.surplus().saturating_sub(self.retained());
        checkpoint.max(self.began.min(checkpoint + surplus))
    }

    /// Bytes below the checkpoint that are kept for consumers.
    pub(crate) fn retained(&self) -> u64 {
        self.checkpoint.load(Acquire).saturating_sub(self.retentions.floor())
    }

    /// Where braking begins: three quarters of the ring, of the usable capacity, or of what a consumer may hold back.
    pub(crate) fn update_admit(&self) {
        let ring = self.ring.freed() + self.ring.size() / 4 * 3;
        let age = self.age_from(self.checkpoint.load(Acquire)) + self.usable() / 4 * 3;
        self.rules.admit.store(ring.min(age).min(self.retentions.brake_from()), Release);
        if self.poisoned.load(SeqCst) {
            self.rules.admit.store(0, Release);
        }
    }

    /// Advances `complete` over all that is published by now, and returns it.
    pub(crate) fn advance(&self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            if let Some(walk) = self.ring.try_walk() {
                return walk.advance();
            }
            backoff.wait();
        }
    }

    pub(crate) fn wake_writer(&self) {
        if self.idle.take_up() {
            self.writer_task.wake();
        }
    }

    pub(crate) fn wake_files_task(&self) {
        self.files_task.wake();
    }

    /// How far the log is: written, and durable.
    pub(crate) fn reached(&self) -> (u64, u64) {
        (self.progress.written.load(Acquire), self.progress.durable.load(Acquire))
    }

    /// Whether the writer has something to do.
    pub(crate) fn has_work(&self) -> bool {
        let (want_written, want_durable) = self.waiters.demand();
        let ((written, durable), reserved) = (self.reached(), self.ring.reserved());
        let wanted = want_durable.min(reserved) > durable || want_written.min(reserved) > written;
        self.stop.load(SeqCst) || (self.poisoned().is_none() && wanted)
    }

    pub(crate) fn durable(&self) -> Lsn {
        Lsn(self.progress.durable.load(Acquire))
    }

    pub(crate) fn poisoned(&self) -> Option<&String> {
        if self.poisoned.load(Relaxed) { self.poison.get() } else { None }
    }

    pub(crate) fn check(&self) -> Result<(), LogError> {
        match self.poisoned() {
            None => Ok(()),
            Some(why) => Err(LogError::Poisoned(why.clone())),
        }
    }

    /// Refuses all writers from now on. A failed sync is never retried: the kernel may have dropped the data.
    pub(crate) fn poison(&self, why: &LogError) {
        if self.poison.set(why.to_string()).is_ok() {
            self.events
                .error(format_args!("log: {why}; writes are refused until the server is restarted, reads go on"));
        }
        self.poisoned.store(true, SeqCst);
        self.rules.admit.store(0, Release);
        self.waiters.wake(0, 0, true);
        self.wake_space_waiters();
        self.followers.wake_all();
    }

    pub(crate) fn checkpoints(&self) -> Checkpoints {
        *self.checkpoints.lock()
    }

    /// From [`Checkpoints::Failed`] on there is no way back.
    pub(crate) fn set_checkpoints(&self, now: Checkpoints) {
        {
            let mut is = self.checkpoints.lock();
            if *is == now || *is >= Checkpoints::Failed.max(now) {
                return;
            }
            *is = now;
        }
        self.wake_space_waiters();
        self.writer_task.wake();
    }

    pub(crate) fn wake_space_waiters(&self) {
        let waiting = std::mem::take(&mut *self.space_waiters.lock());
        waiting.iter().for_each(Waker::wake);
    }
}

/// Publishes how far the log is, and wakes the tasks that waited for that.
pub(crate) fn publish(core: &Core, written: u64, durable: u64) -> Woken {
    core.progress.written.store(written, Release);
    core.progress.durable.store(durable, Release);
    core.rules.nudge.store(core.ring.freed() + core.ring.size() / 4, Release);
    core.update_admit();
    let woken = core.waiters.wake(written, durable, false);
    core.followers.wake(durable);
    woken
}
