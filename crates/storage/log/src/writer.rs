//! The log writer: the one task that writes and syncs.
//!
//! A round: seal (pad to a block boundary, wait for the few appenders still copying), write, sync, free the ring,
//! publish, wake all tasks whose LSN is reached. While a round waits for the disk, the records of the next one
//! gather.

use std::time::Duration;

use gannet_base::Lsn;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};
use gannet_base::sync::atomic::fence;
use gannet_base::sync::{Arc, Backoff, Mutex};
use gannet_runtime::{AlignedBuf, Wait, may_park, now_ns, park, simulated, slot, waker};
use gannet_telemetry::{Counter, add, count, during, note_log_flush};

use crate::core::{Checkpoints, Core, publish};
use crate::format::{BLOCK, RecordKind, block_down};
use crate::segments::Segment;
use crate::waiters::Woken;
use crate::{FlushPolicy, LogError};

const SECOND: u64 = 1_000_000_000;
/// How long it waits for room that nobody makes.
const PATIENCE_NS: u64 = 10 * SECOND;
/// No other task takes the writer's turn where so little is left of a segment.
const LED_BYTES: u64 = 256 << 10;
/// Nor where a sync takes longer, by the average of the last few.
const LED_SYNC_NS: u64 = 500_000;
/// For so many rounds nobody else must have waited.
const SOLE: u32 = 8;

pub(crate) struct Writer {
    core: Arc<Core>,
    /// The segment being written, and those written but not synced.
    active: Option<Arc<Segment>>,
    unsynced: Vec<Arc<Segment>>,
    /// All below is in the file. Not a block boundary only when the last block was written unsealed.
    written: u64,
    durable: u64,
    /// The unsealed last block, completed with zeros.
    bounce: AlignedBuf,
    pub(crate) next_sync: u64,
    /// How long syncs have taken of late.
    pub(crate) sync_ns: u64,
    /// The slot that alone has waited of late, and for how many rounds.
    pub(crate) sole: (usize, u32),
}

impl Writer {
    pub(crate) fn new(core: Arc<Core>, start: u64) -> Writer {
        Writer {
            active: core.segments.holding(start),
            core,
            unsynced: Vec::new(),
            written: start,
            durable: start,
            bounce: AlignedBuf::zeroed(BLOCK as usize),
            next_sync: now_ns() + SECOND,
            sync_ns: 0,
            sole: (0, 0),
        }
    }

    /// Does what there is to do; false when there is nothing.
    fn round(&mut self, stop: bool) -> Result<bool, LogError> {
        let (want_written, want_durable) = self.core.waiters.demand();
        let reserved = self.core.ring.reserved();
        let now = now_ns();
        if now >= self.next_sync {
            self.next_sync = now + SECOND;
            if reserved > self.durable {
                return self.flush().map(|()| true);
            }
        }
        // A wish beyond what was ever appended is a caller's mistake and must not make the writer spin.
        if want_durable.min(reserved) > self.durable || (stop && reserved > self.durable) {
            return self.flush().map(|()| true);
        }
        if want_written.min(reserved) > self.written {
            return self.write_partial().map(|()| true);
        }
        if reserved - self.core.ring.freed() >= self.core.ring.size() / 4 {
            return self.write_blocks();
        }
        Ok(false)
    }

    /// Whether a task may take the writer's turn: only tasks of its slot have waited of late, syncs are short, what is
    /// appended goes into the segment in use, and there is room for more of it.
    fn may_be_led(&self) -> bool {
        if !simulated() && (self.sole.0 != slot() || self.sole.1 < SOLE) || self.sync_ns > LED_SYNC_NS {
            return false;
        }
        let (reserved, ring) = (self.core.ring.reserved(), &self.core.ring);
        let segment = self.active.as_ref().is_some_and(|s| s.start <= reserved && reserved + LED_BYTES < s.end());
        segment && reserved - ring.freed() < ring.size() / 4
    }

    /// Writes and syncs everything appended so far.
    fn flush(&mut self) -> Result<(), LogError> {
        let (pad, end) = self.core.ring.reserve_padding();
        add(Counter::LogPadded, end - pad);
        let mut filled = pad == end;
        let mut backoff = Backoff::new();
        loop {
            if !filled && self.core.ring.has_room(end) {
                let len = (end - pad) as usize - crate::format::HEADER;
                // The padding holds how far the log is durable by now: proof for a reader that finds the log's end
                // before it.
                let proof = self.durable.to_le_bytes();
                let proof = &proof[..if len < proof.len() { 0 } else { proof.len() }];
                self.core.ring.fill(pad, self.core.epoch, RecordKind::Pad, len, &[proof], || ());
                filled = true;
            }
            let complete = self.core.advance();
            if complete >= end {
                break;
            }
            // Appenders beyond the ring's size wait for room, which only this task makes.
            if self.core.ring.has_room(self.core.ring.reserved()) || !self.write_blocks()? {
                backoff.wait();
            }
        }
        // Making room may have written on beyond the padding, into a record that others have appended since: the log
        // is durable to the padding's end all the same, because a reader takes whole records up to there.
        if self.written < end {
            self.write(end)?;
        }
        self.sync()?;
        self.free(end.max(self.written));
        self.durable = end;
        self.next_sync = now_ns() + SECOND;
        self.sole = match publish(&self.core, self.written, self.durable) {
            Woken::Nobody => self.sole,
            Woken::Of(slot) if slot == self.sole.0 => (slot, self.sole.1.saturating_add(1)),
            Woken::Of(slot) => (slot, 0),
            Woken::Several => (0, 0),
        };
        Ok(())
    }

    /// Writes what is complete, the last block unsealed: it will be written again. For
    /// innodb_flush_log_at_trx_commit=2.
    fn write_partial(&mut self) -> Result<(), LogError> {
        let complete = self.core.advance();
        let blocks = block_down(complete);
        if blocks > self.written {
            self.write(blocks)?;
        }
        if complete > blocks {
            let mut bounce = std::mem::replace(&mut self.bounce, AlignedBuf::zeroed(0));
            // SAFETY: this is the only writer; `freed <= blocks` (only whole blocks are freed) and all is complete.
            let pieces = unsafe { self.core.ring.published(blocks, complete) };
            let n = pieces[0].len();
            bounce[..n].copy_from_slice(pieces[0]);
            bounce[n..].fill(0);
            let outcome = self.write_at(blocks, &bounce);
            count(Counter::LogPartialBlockWrites);
            self.bounce = bounce;
            outcome?;
        }
        self.written = complete.max(self.written);
        self.free(blocks);
        publish(&self.core, self.written, self.durable);
        Ok(())
    }

    /// Writes whole complete blocks to make room; false when there is none.
    fn write_blocks(&mut self) -> Result<bool, LogError> {
        let blocks = block_down(self.core.advance());
        if blocks <= self.core.ring.freed() {
            return Ok(false);
        }
        self.write(blocks)?;
        self.free(blocks);
        publish(&self.core, self.written, self.durable);
        Ok(true)
    }

    /// Writes the complete range up to `to`, a block boundary, from the ring.
    fn write(&mut self, to: u64) -> Result<(), LogError> {
        let mut at = block_down(self.written);
        // SAFETY: this is the only writer; blocks at or above `block_down(written)` are not freed, and `to` is
        // complete.
        let pieces = unsafe { self.core.ring.published(at, to) };
        let pieces = pieces.map(|p| (p.as_ptr(), p.len()));
        for (ptr, len) in pieces {
            // SAFETY: as above; the borrow of `self` ends so that segments may be switched.
            let piece = unsafe { std::slice::from_raw_parts(ptr, len) };
            self.write_at(at, piece)?;
            self.core.recent.add(at, piece);
            at += len as u64;
        }
        self.written = self.written.max(to);
        Ok(())
    }

    /// Writes whole blocks at `at`, across segments.
    fn write_at(&mut self, mut at: u64, mut bytes: &[u8]) -> Result<(), LogError> {
        while !bytes.is_empty() {
            let segment = self.segment(at)?;
            let n = bytes.len().min((segment.end() - at) as usize);
            let (now, later) = bytes.split_at(n);
            {
                let _pending = during(Counter::OsLogPendingWrites, 1);
                segment.write(at, now)?;
            }
            count(Counter::InnodbLogWrites);
            add(Counter::InnodbOsLogWritten, n as u64);
            at += n as u64;
            bytes = later;
        }
        Ok(())
    }

    /// The segment that holds `at`; put to use if need be, after all before it is synced (INV-LOG-3).
    fn segment(&mut self, at: u64) -> Result<Arc<Segment>, LogError> {
        if let Some(active) = &self.active
            && active.start <= at
            && at < active.end()
        {
            let active = active.clone();
            if !self.unsynced.iter().any(|s| Arc::ptr_eq(s, &active)) {
                self.unsynced.push(active.clone());
            }
            return Ok(active);
        }
        self.sync()?;
        self.active = None;
        let (mut since, mut told) = (None, false);
        loop {
            if let Some(segment) = self.core.segments.activate(at)? {
                if told {
                    self.core.events.note(format_args!("log: there is room for more of it again"));
                }
                count(Counter::LogNextFile);
                self.active = Some(segment.clone());
                self.unsynced.push(segment.clone());
                self.core.wake_files_task();
                return Ok(segment);
            }
            // The disk is full and nothing can be recycled: the checkpoint, or a consumer, frees a segment in time.
            self.core.make_room();
            let now = now_ns();
            let waited = now - *since.get_or_insert(now);
            if waited > SECOND && !std::mem::replace(&mut told, true) {
                let dir = self.core.dir.display();
                self.core.events.error(format_args!("log: no room for more of it in {dir}; commits wait for room"));
            }
            // A check has nobody who reads on for a consumer; a server has from its start.
            let in_vain = waited > PATIENCE_NS && self.core.retentions.is_abandoned(self.core.checkpoint.load(Acquire));
            let last = in_vain || self.core.stop.load(SeqCst) || self.core.checkpoints() >= Checkpoints::Failed;
            if last && !self.core.segments.is_preparing() {
                return Err(LogError::NoSpace { dir: self.core.dir.clone(), need: self.core.segments.granule() });
            }
            count(Counter::InnodbLogWaits);
            count(Counter::LogWriterOnFileSpaceWaits);
            if may_park() {
                let _ = park(Wait::LogSpace, Some(now_ns() + SECOND / 10));
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn sync(&mut self) -> Result<(), LogError> {
        for segment in self.unsynced.drain(..) {
            let start = now_ns();
            {
                let _pending = during(Counter::OsLogPendingFsyncs, 1);
                segment.sync()?;
            }
            count(Counter::InnodbOsLogFsyncs);
            let took = now_ns().saturating_sub(start);
            self.sync_ns = (self.sync_ns * 7 + took) / 8;
            note_log_flush(took);
        }
        Ok(())
    }

    fn free(&mut self, to: u64) {
        // SAFETY: this is the only writer, all below `to` is complete and written, and no slice of it is kept.
        unsafe { self.core.ring.free(to) };
    }

    /// After poisoning: what appenders past the brake still append is dropped, so that none of them waits for room.
    fn discard(&mut self) {
        let blocks = block_down(self.core.advance());
        if blocks > self.core.ring.freed() {
            self.free(blocks);
        }
        self.core.waiters.wake(0, 0, true);
    }
}

/// The log's writer: the task that writes and syncs, and those that take its turn while it sleeps.
pub(crate) struct Turns {
    core: Arc<Core>,
    /// `None`: somebody has the turn.
    writer: Mutex<Option<Writer>>,
}

/// Somebody's turn, to its end.
struct Turn<'a> {
    of: &'a Turns,
    /// `None` where it has been given back.
    writer: Option<Writer>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.of.writer.lock() = self.writer.take();
    }
}

impl Turns {
    pub(crate) fn new(core: Arc<Core>, start: u64) -> Turns {
        Turns { writer: Mutex::new(Some(Writer::new(core.clone(), start))), core }
    }

    /// Runs `f` in the writer's turn, unless another has it: `None`.
    pub(crate) fn turn<R>(&self, f: impl FnOnce(&mut Writer) -> R) -> Option<R> {
        let writer = self.writer.lock().take();
        let mut turn = writer.map(|writer| Turn { of: self, writer: Some(writer) })?;
        turn.writer.as_mut().map(f)
    }

    /// The task.
    pub(crate) fn run(&self) {
        self.core.writer_task.set(waker());
        self.work();
        self.core.ended.store(true, SeqCst);
        let (written, durable) = self.core.reached();
        self.core.waiters.wake(written, durable, true);
        self.core.followers.wake_all();
    }

    fn work(&self) {
        loop {
            let stop = self.core.stop.load(SeqCst);
            if self.core.poisoned().is_some() {
                let discarded = self.turn(Writer::discard);
                if stop && discarded.is_some() {
                    return;
                }
                self.sleep(Some(now_ns() + SECOND));
                continue;
            }
            match self.turn(|writer| writer.round(stop).map(|done| (done, writer.next_sync))) {
                Some(Ok((true, _))) => count(Counter::LogWriterNoWaits),
                Some(Ok((false, _))) if stop => return,
                Some(Ok((false, next_sync))) => self.sleep(Some(next_sync)),
                Some(Err(e)) => self.core.poison(&e),
                // Whoever has the turn wakes this task when there is more to do.
                None => self.sleep(None),
            }
        }
    }

    /// Parks until there is something to do, and nobody at it.
    fn sleep(&self, deadline: Option<u64>) {
        let core = &self.core;
        core.idle.sleep(
            || self.writer.lock().is_some() && core.has_work(),
            || {
                let _ = park(Wait::LogIdle, deadline);
            },
        );
    }

    /// Writes and syncs on the calling thread what is appended, where that thread's tasks alone wait for the log.
    pub(crate) fn lead(&self, lsn: Lsn) {
        let core = &self.core;
        let led = self.turn(|writer| {
            let sound = !core.stop.load(SeqCst) && core.poisoned().is_none();
            if sound && writer.durable < lsn.get() && writer.may_be_led() { writer.flush() } else { Ok(()) }
        });
        match led {
            None => return,
            Some(Err(e)) => core.poison(&e),
            Some(Ok(())) => {}
        }
        // Against the writer's falling asleep, which looks whether somebody has the turn.
        fence(SeqCst);
        if core.has_work() {
            core.wake_writer();
        }
    }
}

/// The task that prepares and deletes segment files beside the writer, and writes the consumers' file.
pub(crate) fn files_task(core: &Core) {
    core.files_task.set(waker());
    while !core.stop.load(SeqCst) {
        core.store_consumers();
        let mut more = core.segments.remove_doomed().is_ok();
        if more {
            // A failure here costs speed only: segments are made, and used as they are, when the writer needs them.
            let _ = core.segments.refill(core.retained());
            more = core.segments.prepare_one().unwrap_or(false);
        }
        if !more && !core.stop.load(SeqCst) {
            let _ = park(Wait::Background, Some(now_ns() + 10 * SECOND));
        }
    }
}

/// How [`crate::Log::horizon`] is computed, by policy.
pub(crate) fn policy_from(v: u8) -> FlushPolicy {
    match v {
        0 => FlushPolicy::EverySecond,
        2 => FlushPolicy::Written,
        _ => FlushPolicy::Durable,
    }
}
