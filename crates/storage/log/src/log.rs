use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::check;
use gannet_base::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use gannet_base::sync::{Arc, Backoff, Mutex};
use gannet_runtime::{JoinHandle, Wait, Waker, mask_interrupts, park, slot, spawn, waker};
use gannet_telemetry::{Counter, Events, count};

use crate::commit_gate::CommitGate;
use crate::core::{Checkpoints, Core, CoreParts};
use crate::format::{self, EpochStart, RecordKind, block_up};
use crate::retentions::Retentions;
use crate::ring::Ring;
use crate::segments::{LogFile, MIN_CAPACITY, Segments};
use crate::waiters::Want;
use crate::writer::{Turns, files_task, policy_from};
use crate::{LogError, MAX_PAYLOAD};

const MIN_RING: u64 = 2 << 20;
const _: () = assert!(MIN_RING as usize >= 2 * MAX_PAYLOAD);

/// When a commit is told to be done: innodb_flush_log_at_trx_commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FlushPolicy {
    /// 0: write and sync once a second; a commit waits for nothing.
    EverySecond = 0,
    /// 1: a commit waits until it is durable.
    Durable = 1,
    /// 2: a commit waits until it is written; sync once a second.
    Written = 2,
}

/// How to open the log.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the segments.
    pub dir: PathBuf,
    /// innodb_redo_log_capacity in bytes: a soft bound, raised to 8 MiB if less. 0: what the segments take that are
    /// there.
    pub capacity: u64,
    /// innodb_flush_log_at_trx_commit.
    pub policy: FlushPolicy,
    /// Size of the ring buffer in bytes (innodb_log_buffer_size): made a power of two between 2 MiB and an eighth of
    /// the capacity.
    pub ring_bytes: usize,
    /// Where failures are told.
    pub events: Events,
}

impl Options {
    /// MySQL's defaults: 100 MiB, policy 1; a ring of 16 MiB at most.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            capacity: 100 << 20,
            policy: FlushPolicy::Durable,
            ring_bytes: 16 << 20,
            events: Events::default(),
        }
    }
}

/// Where a new incarnation goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The store's identity: segments of another store are refused.
    pub store: u64,
    /// The checkpoint: nothing below is needed any more. A new store: [`crate::FIRST_LSN`].
    pub checkpoint: Lsn,
    /// End of the intact log as [`crate::LogReader::end`] found it. A new store: [`crate::FIRST_LSN`].
    pub end: Lsn,
    /// The epochs in force from the checkpoint on, as [`crate::LogReader::epochs`] returns them. A new store: empty.
    pub epochs: Vec<(Lsn, u64)>,
    /// The new incarnation's epoch: greater than any used before, durable in the control file already.
    pub epoch: u64,
}

/// The log of a running store.
pub struct Log {
    pub(crate) core: Arc<Core>,
    pub(crate) turns: Arc<Turns>,
    epochs: Vec<(Lsn, u64)>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    changing: Mutex<()>,
}

/// The log's files that are in use, in the order of what they hold.
pub fn files(log: &Log) -> Vec<LogFile> {
    log.core.segments.files()
}

impl Log {
    /// Opens (on a new store: creates) the log for a new incarnation and starts its writer.
    pub fn open(options: Options, start: Start) -> Result<Arc<Log>, LogError> {
        let first = block_up(start.end.get());
        let (store, epoch) = (start.store, start.epoch);
        let retentions = Retentions::load(options.dir.clone(), store, |e| {
            options.events.error(format_args!("log: each consumer has to begin anew: {e}"));
        })?;
        let range = (start.checkpoint.get(), start.end.get());
        let wanted = retentions.wanted();
        let (segments, floor) = Segments::open(&options.dir, (store, epoch), range, options.capacity, &wanted)?;
        let lost = retentions.begin_at(floor);
        let most = (segments.capacity() / 8).max(MIN_RING);
        let ring_bytes = (options.ring_bytes as u64).clamp(MIN_RING, most);
        // The greatest power of two that is not above.
        let ring = Ring::new(1 << ring_bytes.ilog2(), first);
        let core = Arc::new(Core::new(CoreParts {
            dir: options.dir,
            epoch,
            ring,
            segments,
            retentions,
            policy: options.policy as u8,
            checkpoint: start.checkpoint.get(),
            events: options.events,
        }));
        core.tell_cut_off(&lost, "the log does not reach back to its place");
        let mut epochs = start.epochs;
        let prev_epoch = epochs.last().map_or(0, |e| e.1);
        check!(prev_epoch < epoch, "epoch {epoch} after {prev_epoch}");
        epochs.push((Lsn(first), epoch));
        let turns = Arc::new(Turns::new(core.clone(), first));
        let writer = turns.clone();
        let log = Log { core, turns, epochs, tasks: Mutex::new(Vec::new()), changing: Mutex::new(()) };
        let begin = EpochStart { store, epoch, prev_epoch, prev_end: start.end.get() };
        log.append(RecordKind::EpochStart, &[&begin.encode()]);
        let files = log.core.clone();
        log.tasks.lock().push(spawn("log writer", move || writer.run()));
        log.tasks.lock().push(spawn("log files", move || files_task(&files)));
        Ok(Arc::new(log))
    }

    /// The brake: call before taking any latch for a change, and again after every park. Parks while the log is too
    /// far ahead of its writer or of the checkpoint.
    #[inline]
    pub fn admit(&self) -> Result<(), LogError> {
        if self.core.ring.reserved() <= self.core.rules.admit.load(Relaxed) { Ok(()) } else { self.core.brake() }
    }

    /// Appends one record and returns its LSN (its end). `at` runs with that LSN between reservation and publication:
    /// what it stores is visible to any thread that sees [`Log::complete_lsn`] or [`Log::horizon`] at or above that
    /// LSN.
    ///
    /// This neither fails nor parks; after [`Log::admit`] it does not wait. In a poisoned log the record is dropped,
    /// and waiting for it returns the error.
    ///
    /// # Panics
    /// When the parts are longer than [`MAX_PAYLOAD`] together; nothing is reserved then.
    #[inline]
    pub fn append_with(&self, kind: RecordKind, parts: &[&[u8]], at: impl FnOnce(Lsn)) -> Lsn {
        let core = &*self.core;
        let len: usize = parts.iter().map(|p| p.len()).sum();
        check!(len <= MAX_PAYLOAD, "a log record of {len} bytes");
        let start = core.ring.reserve(format::record_bytes(len));
        let end = start + format::record_bytes(len);
        if end > core.rules.nudge.load(Relaxed) {
            self.pressed(end);
        }
        core.ring.fill(start, core.epoch, kind, len, parts, || at(Lsn(end)));
        count(Counter::InnodbLogWriteRequests);
        Lsn(end)
    }

    /// [`Log::append_with`] of two adjacent records: where the second is intact, so is the first. Returns the LSN of
    /// the second.
    pub fn append_two_with(
        &self,
        (first_kind, first): (RecordKind, &[&[u8]]),
        (kind, parts): (RecordKind, &[&[u8]]),
        at: impl FnOnce(Lsn),
    ) -> Lsn {
        let core = &*self.core;
        let sum = |parts: &[&[u8]]| parts.iter().map(|p| p.len()).sum::<usize>();
        let (first_len, len) = (sum(first), sum(parts));
        check!(first_len.max(len) <= MAX_PAYLOAD, "log records of {first_len} and {len} bytes");
        let start = core.ring.reserve(format::record_bytes(first_len) + format::record_bytes(len));
        let middle = start + format::record_bytes(first_len);
        let end = middle + format::record_bytes(len);
        if end > core.rules.nudge.load(Relaxed) {
            self.pressed(end);
        }
        core.ring.fill(start, core.epoch, first_kind, first_len, first, || ());
        core.ring.fill(middle, core.epoch, kind, len, parts, || at(Lsn(end)));
        count(Counter::InnodbLogWriteRequests);
        Lsn(end)
    }

    /// [`Log::append_with`] without a closure.
    pub fn append(&self, kind: RecordKind, parts: &[&[u8]]) -> Lsn {
        self.append_with(kind, parts, |_| ())
    }

    /// The ring fills: the writer must run; beyond the ring's size, wait for it (it needs no latch).
    #[cold]
    fn pressed(&self, end: u64) {
        self.core.wake_writer();
        let mut backoff = Backoff::new();
        while !self.core.ring.has_room(end) {
            count(Counter::LogOnRecentWrittenWaitLoops);
            self.core.wake_writer();
            backoff.wait();
        }
    }

    /// End of what was reserved so far: every record appended before the call is below. An appender with a reserved
    /// record below it holds its pages' latches until the pages are stamped.
    pub fn tail_lsn(&self) -> Lsn {
        Lsn(self.core.ring.reserved())
    }

    /// All bytes below are copied and published.
    pub fn complete_lsn(&self) -> Lsn {
        Lsn(self.core.ring.complete())
    }

    /// All bytes below are on disk.
    #[inline]
    pub fn durable_lsn(&self) -> Lsn {
        self.core.durable()
    }

    /// The snapshot horizon: durable under policy 1, complete under 0 and 2, but not beyond a gate that hides. Never
    /// falls.
    #[inline]
    pub fn horizon(&self) -> Lsn {
        self.log_horizon().min(Lsn(self.core.rules.shown.load(Acquire)))
    }

    #[inline]
    fn log_horizon(&self) -> Lsn {
        let rules = &self.core.rules;
        if rules.horizon_is_complete.load(Acquire) {
            let complete = self.complete_lsn();
            // Else the policy has just become 1, and the horizon stopped at the floor.
            if rules.horizon_is_complete.load(Acquire) {
                return complete;
            }
        }
        self.durable_lsn().max(Lsn(rules.floor.load(Acquire)))
    }

    /// What commits wait for behind the log. It is open.
    pub fn gate(&self) -> CommitGate<'_> {
        CommitGate(&self.core)
    }

    /// Waits as the policy says a commit with that LSN has to, and for the gate. Afterwards [`Log::horizon`] is at or
    /// above `lsn`.
    ///
    /// An error means that the commit is not durable and never will be: the outcome after a restart is open.
    pub fn wait_commit(&self, lsn: Lsn) -> Result<(), LogError> {
        self.wait_log(lsn)?;
        self.core.gate.wait(lsn)
    }

    /// [`Log::wait_commit`] without the gate.
    pub fn wait_log(&self, lsn: Lsn) -> Result<(), LogError> {
        match self.policy() {
            FlushPolicy::Durable => {
                self.wait_as_commit(lsn, Want::Durable)?;
                // The policy may just have become another: the caller sees its own commit all the same.
                self.wait_complete(lsn)
            }
            FlushPolicy::Written => {
                self.wait_complete(lsn)?;
                self.wait_as_commit(lsn, Want::Written)
            }
            FlushPolicy::EverySecond => self.wait_complete(lsn),
        }
    }

    /// [`Log::wait_commit`] without waiting. `false`: not yet; `waker` will be used when it is time to ask again, or
    /// before.
    pub fn poll_commit(&self, lsn: Lsn, waker: &Waker) -> Result<bool, LogError> {
        let want = match self.policy() {
            FlushPolicy::Durable => Some(Want::Durable),
            FlushPolicy::Written => Some(Want::Written),
            FlushPolicy::EverySecond => None,
        };
        let there = match want {
            Some(want) => self.core.is(lsn, want) || self.core.poll_slow(lsn, want, waker)?,
            None => true,
        };
        if there {
            self.wait_complete(lsn)?;
        }
        if there { self.core.gate.poll(lsn, waker) } else { Ok(false) }
    }

    /// Waits until everything below `lsn` is on disk, whatever the policy: for write-back of pages.
    #[inline]
    pub fn wait_durable(&self, lsn: Lsn) -> Result<(), LogError> {
        wait_durable_in(self, lsn).map(drop)
    }

    #[inline]
    fn wait(&self, lsn: Lsn, want: Want, why: Wait) -> Result<u64, LogError> {
        if self.core.is(lsn, want) {
            count(want.found());
            return Ok(0);
        }
        self.core.wait_slow(lsn, want, why)
    }

    fn wait_as_commit(&self, lsn: Lsn, want: Want) -> Result<(), LogError> {
        if !self.core.is(lsn, want) {
            count(Counter::TrxOnLogWaits);
        }
        self.wait(lsn, want, Wait::LogFlush).map(drop)
    }

    /// Appenders before `lsn` are copying at this moment, or have lost their core; they park nowhere in between.
    /// Waits until [`Log::complete_lsn`] is at or above `lsn`, which is in the log: others only copy their records.
    pub fn wait_complete(&self, lsn: Lsn) -> Result<(), LogError> {
        let mut backoff = Backoff::new();
        while self.core.ring.complete() < lsn.get() {
            match self.core.ring.try_walk() {
                Some(walk) if walk.advance() >= lsn.get() => break,
                _ => backoff.wait(),
            }
        }
        self.core.check()
    }

    /// Nothing below `lsn` is needed for a start (the control file says so durably): segments are recycled as far as no
    /// consumer needs them.
    pub fn set_checkpoint(&self, lsn: Lsn) {
        let core = &*self.core;
        check!(lsn.get() >= core.checkpoint.load(Acquire), "the checkpoint goes back to {lsn}");
        core.checkpoint.store(lsn.get(), Release);
        core.recycle();
        core.update_admit();
        core.wake_space_waiters();
    }

    /// Tells whether the checkpoint may be waited for. [`Checkpoints::Failed`] and [`Checkpoints::Closing`] are final.
    pub fn set_checkpoints(&self, now: Checkpoints) {
        self.core.set_checkpoints(now);
    }

    /// The last checkpoint set.
    pub fn checkpoint_lsn(&self) -> Lsn {
        Lsn(self.core.checkpoint.load(Acquire))
    }

    /// Bytes of log from the checkpoint to the tail.
    pub fn age(&self) -> u64 {
        self.tail_lsn().since(self.checkpoint_lsn())
    }

    /// Bytes of log that count for the brake: [`Log::age`], but what an earlier incarnation left does not count as far
    /// as there are segments beyond the capacity.
    pub fn braked_age(&self) -> u64 {
        self.tail_lsn().since(Lsn(self.core.age_from(self.checkpoint_lsn().get())))
    }

    /// Whether the checkpoint has not yet passed what an earlier incarnation left.
    pub fn is_catching_up(&self) -> bool {
        let checkpoint = self.checkpoint_lsn().get();
        self.core.age_from(checkpoint) > checkpoint
    }

    /// The [`Log::braked_age`] at which writers wait for the checkpoint. Slowing down begins at three quarters of it.
    pub fn usable_bytes(&self) -> u64 {
        self.core.usable()
    }

    /// The epoch in force at `lsn` (at or above the checkpoint given at open): goes into the control file beside the
    /// checkpoint.
    pub fn epoch_at(&self, lsn: Lsn) -> u64 {
        self.epochs.iter().rev().find(|e| e.0 <= lsn).or(self.epochs.first()).map_or(0, |e| e.1)
    }

    /// This incarnation's epoch.
    pub fn epoch(&self) -> u64 {
        self.core.epoch
    }

    /// Present capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.core.segments.capacity()
    }

    /// Changes the capacity. Growing allocates first and fails without a change when the disk is full; shrinking takes
    /// effect as segments are recycled.
    pub fn set_capacity(&self, bytes: u64) -> Result<(), LogError> {
        self.core.check()?;
        self.core.segments.set_capacity(bytes.max(MIN_CAPACITY))?;
        self.core.update_admit();
        self.core.wake_space_waiters();
        self.core.wake_files_task();
        Ok(())
    }

    /// Present policy.
    #[inline]
    pub fn policy(&self) -> FlushPolicy {
        policy_from(self.core.rules.policy.load(Relaxed))
    }

    /// Changes the policy at once. The horizon does not fall: becoming durable-only, it stays where it is until the
    /// disk has caught up.
    pub fn set_policy(&self, policy: FlushPolicy) {
        let _one_at_a_time = self.changing.lock();
        let rules = &self.core.rules;
        rules.policy.store(policy as u8, SeqCst);
        if policy != FlushPolicy::Durable {
            // What is durable is complete, so the horizon rises.
            rules.horizon_is_complete.store(true, SeqCst);
            return;
        }
        let mut backoff = Backoff::new();
        loop {
            if let Some(_walk) = self.core.ring.try_walk() {
                // No other task advances `complete` now, so no horizon above the floor was handed out.
                rules.floor.store(self.core.ring.complete(), SeqCst);
                rules.horizon_is_complete.store(false, SeqCst);
                break;
            }
            backoff.wait();
        }
        self.core.wake_writer();
    }

    /// Why the log accepts nothing any more, if so.
    pub fn poisoned(&self) -> Option<String> {
        self.core.poisoned().cloned()
    }

    fn stop(&self) {
        self.core.stop.store(true, SeqCst);
        let _ = self.core.idle.take_up();
        self.core.writer_task.wake();
        self.core.files_task.wake();
    }

    /// Writes and syncs everything, then stops the writer. Nothing may be appended afterwards.
    pub fn close(&self) -> Result<(), LogError> {
        self.stop();
        self.core.gate.end();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            if task.join().is_err() {
                self.core.poison(&LogError::Closed);
            }
        }
        self.core.rules.admit.store(0, Release);
        self.core.wake_space_waiters();
        self.core.store_consumers();
        self.core.check()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Waiting is not allowed while unwinding; the writer ends by itself.
            self.stop();
        } else {
            // An error was reported when it happened.
            let _ = self.close();
        }
    }
}

/// Before [`Log::poll_commit`], by a task that nobody else waits for: where the policy wants commits durable and the
/// log's writer sleeps, writes and syncs on this thread, which spares two switches. Where the device is slow, or others
/// wait for the log, it does nothing.
pub fn hasten(log: &Log, lsn: Lsn) {
    if log.policy() == FlushPolicy::Durable && !log.core.is(lsn, Want::Durable) {
        log.turns.lead(lsn);
        if log.core.is(lsn, Want::Durable) {
            count(Want::Durable.counters().0);
            count(Counter::TrxOnLogWaits);
        }
    }
}

/// [`Log::wait_durable`]. Returns how often it parked.
#[inline]
pub fn wait_durable_in(log: &Log, lsn: Lsn) -> Result<u64, LogError> {
    log.wait(lsn, Want::Durable, Wait::LogFlush)
}

impl Core {
    /// True when the log is as far as wanted.
    #[inline]
    fn is(&self, lsn: Lsn, want: Want) -> bool {
        match want {
            Want::Written => self.progress.written.load(Acquire) >= lsn.get(),
            Want::Durable => self.progress.durable.load(Acquire) >= lsn.get(),
        }
    }

    /// Returns how often it parked.
    #[cold]
    pub(crate) fn wait_slow(&self, lsn: Lsn, want: Want, why: Wait) -> Result<u64, LogError> {
        // The record is in the log already: there is no way back.
        let _mask = mask_interrupts();
        self.waiters.enter(slot(), lsn.get(), want, waker());
        let (waits, loops) = want.counters();
        count(waits);
        let mut parked = 0;
        while !self.is_or_will_be(lsn, want)? {
            count(loops);
            parked += 1;
            let _ = park(why, None);
        }
        Ok(parked)
    }

    fn poll_slow(&self, lsn: Lsn, want: Want, waker: &Waker) -> Result<bool, LogError> {
        let (waits, loops) = want.counters();
        if self.waiters.enter_once(slot(), lsn.get(), want, waker) {
            count(waits);
            count(Counter::TrxOnLogWaits);
        }
        let there = self.is_or_will_be(lsn, want)?;
        if !there {
            count(loops);
            count(Counter::TrxOnLogWaitLoops);
        }
        Ok(there)
    }

    /// True when the log is as far as wanted; else the writer is at work. The wish has been entered.
    fn is_or_will_be(&self, lsn: Lsn, want: Want) -> Result<bool, LogError> {
        if self.is(lsn, want) {
            return Ok(true);
        }
        self.check()?;
        if self.ended.load(SeqCst) {
            return Err(LogError::Closed);
        }
        self.wake_writer();
        Ok(false)
    }
}
