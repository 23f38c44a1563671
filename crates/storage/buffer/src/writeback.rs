//! Writing pages back: one way for the checkpoint's sweep, the cleaner and eviction.
//!
//! A batch: copy each page under a shared latch; wait until the log is durable up to the copies' LSNs; seal the
//! copies; write them to a slot of the double-write file and sync it; write them in place; sync the data file. A page
//! that still equals its copy is clean.

use std::collections::HashSet;

use gannet_base::sync::atomic::{Ordering::*, fence};
use gannet_base::sync::{Arc, Backoff, Mutex};
use gannet_base::{Lsn, PAGE_SIZE, PageNo};
use gannet_runtime::{Wait, Waker, now_ns, park, waker};
use gannet_telemetry::{Counter, add, count};

use crate::double::{MAX_BATCH, Slot};
use crate::kind;
use crate::pool::ROUNDS;
use crate::state::{MARKED, latch};
use crate::{Error, ExclusiveGuard, Pool, SharedGuard};

/// Pages being written in place: two tasks must not write one page at the same time, the older copy could come last.
/// Keys of the gates for their waiters: the page number with the top bit set.
#[derive(Default)]
pub(crate) struct Writing(pub(crate) Mutex<HashSet<PageNo>>);

const WRITE_KEY: u64 = 1 << 63;

/// Cleaners. With the checkpointer they use three of the double-write file's slots.
const CLEANERS: usize = 2;

/// Time between two rounds of a cleaner with nothing to do, in nanoseconds.
const CLEANER_PAUSE_NS: u64 = 200_000_000;

/// How long a full disk is waited for when pages are written in place, in nanoseconds.
const IN_PLACE_PATIENCE_NS: u64 = 600_000_000_000;

/// A page copied into a batch: its number, the LSN of the copy, and what counts it.
type Copied = (PageNo, Lsn, Counter);

/// Pages that are written at once: fewer in a small pool, where the latches of one batch are a good part of it.
fn batch(pool: &Pool) -> usize {
    (pool.budget.get() / 16).clamp(4, MAX_BATCH)
}

impl Pool {
    pub(crate) fn is_writing(&self, no: PageNo) -> bool {
        self.writing.0.lock().contains(&no)
    }

    /// Waits until no task is writing the page in place.
    pub(crate) fn wait_not_writing(&self, no: PageNo) {
        while self.is_writing(no) {
            self.gates.wait(no.0 | WRITE_KEY, Wait::PageWrite, || self.is_writing(no));
        }
    }

    /// Writes those of `pages` back that are dirty and not being written by another task. At most [`MAX_BATCH`].
    fn write_batch(&self, pages: &[PageNo]) -> Result<(), Error> {
        if let Some(e) = self.poisoned() {
            return Err(e);
        }
        // Neighbours in the file are neighbours in the batch, and written at once.
        let mut pages: Vec<PageNo> = pages.iter().copied().take(MAX_BATCH).collect();
        pages.sort_unstable();
        let mut slot = self.double.acquire();
        let mut copied = Vec::with_capacity(pages.len());
        for no in pages {
            if self.writing.0.lock().insert(no) {
                let out = &mut slot.buf[copied.len() * PAGE_SIZE..][..PAGE_SIZE];
                match self.unused(no, || self.copy_dirty(no, out)) {
                    Some((lsn, counter)) => copied.push((no, lsn, counter)),
                    None => self.end_writing(no),
                }
            }
        }
        let outcome = if copied.is_empty() { Ok(()) } else { self.write_copies(&mut slot, &copied) };
        for &(no, lsn, _) in &copied {
            if outcome.is_ok() {
                self.unused(no, || self.settle(no, lsn));
            }
            self.end_writing(no);
        }
        self.double.release(slot);
        outcome
    }

    /// Writes those of `pages` back that are dirty, as far as no other task is at it.
    pub fn write_back(&self, pages: &[PageNo]) -> Result<(), Error> {
        pages.chunks(batch(self)).try_for_each(|batch| self.write_batch(batch))
    }

    fn end_writing(&self, no: PageNo) {
        self.writing.0.lock().remove(&no);
        self.gates.wake(no.0 | WRITE_KEY);
    }

    /// Does something with a page's latch, and the clock's mark is as before: writing a page back is no use of it.
    fn unused<T>(&self, no: PageNo, f: impl FnOnce() -> T) -> T {
        let word = self.arena.state(no);
        let marked = latch(word.load()) == MARKED;
        let outcome = f();
        if marked {
            word.pass();
        }
        outcome
    }

    /// Copies a dirty page into `out`, and tells what counts it; `None` when it is clean or not resident.
    fn copy_dirty(&self, no: PageNo, out: &mut [u8]) -> Option<(Lsn, Counter)> {
        let page = SharedGuard::new(self, no).ok()?;
        if self.rec_lsn(no).load(Acquire) == 0 {
            return None;
        }
        out.copy_from_slice(page.bytes());
        Some((page.lsn(), kind::written(&page)))
    }

    fn write_copies(&self, slot: &mut Slot, copied: &[Copied]) -> Result<(), Error> {
        let newest = copied.iter().map(|c| c.1).max().unwrap_or(Lsn::ZERO);
        let is_durable = self.wal.durable_lsn() >= newest;
        count(if is_durable { Counter::PageWrittenOnLogNoWaits } else { Counter::PageWrittenOnLogWaits });
        let start = now_ns();
        // INV-BUF-4: the log first.
        add(Counter::PageWrittenOnLogWaitLoops, self.wal.wait_durable(newest)?);
        for page in slot.buf[..copied.len() * PAGE_SIZE].chunks_exact_mut(PAGE_SIZE) {
            gannet_page::header::seal(page);
        }
        self.double.write(slot, copied.len()).map_err(|e| Error::io("write the double-write file", e))?;
        self.double.sync().map_err(|e| self.poison("sync the double-write file", &e))?;
        let mut rest = &slot.buf[..];
        let mut part = |run: &[Copied]| {
            let (bytes, behind) = rest.split_at(run.len() * PAGE_SIZE);
            rest = behind;
            (run[0].0.offset(), bytes)
        };
        let parts: Vec<(u64, &[u8])> = copied.chunk_by(|a, b| a.0.next() == b.0).map(&mut part).collect();
        self.write_in_place(&parts)?;
        copied.iter().for_each(|c| count(c.2));
        add(Counter::InnodbDataWrites, copied.len() as u64);
        add(Counter::InnodbDataWritten, (copied.len() * PAGE_SIZE) as u64);
        add(Counter::InnodbPagesWritten, copied.len() as u64);
        add(Counter::InnodbBufferPoolPagesFlushed, copied.len() as u64);
        count(Counter::InnodbDataFsyncs);
        count(Counter::FlushBatches);
        let synced = self.file.sync_data().map_err(|e| self.poison("sync the data file", &e));
        add(Counter::FlushNs, now_ns().saturating_sub(start));
        synced
    }

    /// Writes the pages to their places. An error here may have left pages torn whose only whole copies are in the
    /// double-write slot. So this waits for room on a full disk, and after any other error nothing is written back
    /// any more, so that the slot stays.
    fn write_in_place(&self, parts: &[(u64, &[u8])]) -> Result<(), Error> {
        let start = now_ns();
        while let Err(e) = self.file.write_many(parts) {
            let full = matches!(e.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT));
            if !full || self.cleaner.closing.load(Acquire) || now_ns() - start > IN_PLACE_PATIENCE_NS {
                return Err(self.poison("write the data file", &e));
            }
            let _ = park(Wait::PageWrite, Some(now_ns() + CLEANER_PAUSE_NS));
        }
        Ok(())
    }

    /// After a page's copy is on disk: clean if the page is still that copy, else dirty since then.
    fn settle(&self, no: PageNo, lsn: Lsn) {
        let Ok(page) = ExclusiveGuard::new(self, no) else {
            return;
        };
        if page.lsn() == lsn {
            self.set_clean(no);
        } else if self.rec_lsn(no).load(Relaxed) != 0 {
            self.rec_lsn(no).store(lsn.0 + 1, Release);
        }
    }

    /// Sectors of the resident set for [`Pool::sweep`]. A pool that grows may get more: whoever takes the least of
    /// their LSNs asks again after the sweep that gave the latest of them. Those that have come since count as not
    /// swept.
    pub fn sectors(&self) -> usize {
        self.resident.sectors()
    }

    /// Writes back the dirty pages of a sector. Returns an LSN: of every record that ends at or below it, the changes
    /// to pages that were in the sector are on disk. The checkpoint may be the least of all sectors' latest LSNs,
    /// provided that it is durable in the log and that each of these sweeps began after the last pending redo was
    /// applied.
    pub fn sweep(&self, sector: usize) -> Result<Lsn, Error> {
        self.sweep_paced(sector, &mut |_, _| ())
    }

    /// [`Pool::sweep`], calling `pause` before each batch with the number of its pages and the share of the whole pool
    /// that they stand for (the shares of all sectors' batches make up 1, when each has dirty pages): it may park.
    pub fn sweep_paced(&self, sector: usize, pause: &mut dyn FnMut(usize, f64)) -> Result<Lsn, Error> {
        gannet_base::sync::sched_point();
        let from = self.wal.tail_lsn();
        // A writer that reserved its LSN below `from` held its latch before: it is seen below.
        fence(SeqCst);
        let (mut resident, mut dirty, mut again) = (0, Vec::new(), Vec::new());
        for no in self.resident.in_sector(sector) {
            resident += 1;
            if self.dirty_before(no, from) {
                dirty.push(no);
            }
        }
        count(Counter::FlushBatchNumScan);
        add(Counter::FlushBatchScanned, resident as u64);
        let share = resident as f64 / (self.status().pages_data.max(1) as f64 * dirty.len() as f64);
        for some in dirty.chunks(batch(self)) {
            pause(some.len(), share * some.len() as f64);
            self.sweep_batch(some, from, &mut again)?;
        }
        while !again.is_empty() {
            for chunk in std::mem::take(&mut again).chunks(batch(self)) {
                self.wait_not_writing(chunk[0]);
                let batch: Vec<_> = chunk.iter().copied().filter(|&no| self.dirty_before(no, from)).collect();
                self.sweep_batch(&batch, from, &mut again)?;
            }
        }
        Ok(from)
    }

    /// Writes a batch and names those pages that still have a change below `from` (another task was writing them).
    fn sweep_batch(&self, batch: &[PageNo], from: Lsn, again: &mut Vec<PageNo>) -> Result<(), Error> {
        if !batch.is_empty() {
            self.write_batch(batch)?;
            again.extend(batch.iter().copied().filter(|&no| self.dirty_before(no, from)));
        }
        Ok(())
    }

    /// Whether the page has a change that ends at or below `from` and may not be on disk. Waits out an exclusive latch:
    /// its holder may have reserved such an LSN without having marked the page yet.
    fn dirty_before(&self, no: PageNo, from: Lsn) -> bool {
        let word = self.arena.state(no);
        let mut backoff = Backoff::new();
        while word.is_exclusive() {
            backoff.wait();
        }
        if word.in_transit() {
            self.gates.wait(no.0, Wait::PageRead, || word.in_transit());
        }
        let rec = self.rec_lsn(no).load(Acquire);
        rec != 0 && rec <= from.0
    }

    /// Writes back everything that is dirty now. Returns an LSN below which every change is on disk.
    pub fn flush_all(&self) -> Result<Lsn, Error> {
        let (mut least, mut sector) = (Lsn::MAX, 0);
        while sector < self.sectors() {
            least = least.min(self.sweep(sector)?);
            sector += 1;
        }
        Ok(least)
    }

    /// Moves the clock hand until `want` frames are free, and writes back where no clean candidates are left. Returns
    /// how many were freed.
    pub(crate) fn reclaim(&self, want: usize) -> Result<usize, Error> {
        let (mut freed, mut clean, mut dirty) = (0, Vec::new(), Vec::new());
        let all = (ROUNDS + 1) * self.resident.len();
        let mut left = all;
        while left > 0 && freed < want {
            let step = left.min(64);
            left -= step;
            let first = self.resident.advance(step);
            for no in (first..first + step).filter_map(|i| self.clock(i)) {
                if self.rec_lsn(no).load(Relaxed) == 0 { clean.push(no) } else { dirty.push(no) }
            }
            freed += self.evict(&mut clean);
            while freed < want && (dirty.len() >= batch(self) || (left == 0 && !dirty.is_empty())) {
                let rest = dirty.split_off(batch(self).min(dirty.len()));
                count(Counter::LruBatchesFlush);
                add(Counter::LruBatchFlushPages, dirty.len() as u64);
                let began = now_ns();
                self.write_batch(&dirty)?;
                add(Counter::LruFlushNs, now_ns().saturating_sub(began));
                freed += self.evict(&mut dirty);
                dirty = rest;
            }
        }
        count(Counter::LruBatchNumScan);
        add(Counter::LruBatchScanned, (all - left) as u64);
        count(Counter::LruBatchesEvict);
        add(Counter::LruBatchEvictPages, freed as u64);
        Ok(freed)
    }

    /// Starts the page cleaners: they evict ahead of need and release freed extents. There are two, so that one looks
    /// for pages and copies them while the other waits for the log and the disk.
    pub fn start_cleaner(self: &Arc<Self>) {
        if self.cleaner.running.swap(true, AcqRel) {
            return;
        }
        self.cleaner.stop.store(false, Release);
        for number in 0..CLEANERS {
            let pool = self.clone();
            let task = gannet_runtime::spawn("page cleaner", move || pool.clean_until_stopped(number == 0));
            self.cleaner.tasks.lock().push(task);
        }
    }

    /// From now on no task waits for room on the disk: the store is being closed.
    pub fn begin_close(&self) {
        self.cleaner.closing.store(true, Release);
    }

    /// Stops the page cleaners and waits for their end.
    pub fn stop_cleaner(&self) {
        self.begin_close();
        self.cleaner.stop.store(true, Release);
        self.call_cleaner();
        let tasks = std::mem::take(&mut *self.cleaner.tasks.lock());
        for task in tasks {
            let _ = task.join();
        }
        self.cleaner.running.store(false, Release);
        self.feed_starved();
    }

    /// Wakes the cleaners because frames run short.
    pub(crate) fn call_cleaner(&self) {
        if !self.cleaner.called.load(Relaxed) && !self.cleaner.called.swap(true, AcqRel) {
            let wakers = self.cleaner.wakers.lock().clone();
            wakers.iter().for_each(Waker::wake);
        }
    }

    /// One of the cleaners also resizes.
    fn clean_until_stopped(&self, resizes: bool) {
        self.cleaner.wakers.lock().push(waker());
        while !self.cleaner.stop.load(Acquire) {
            self.cleaner.called.store(false, Release);
            let over = self.frames_in_use() - self.low_water();
            let worked = over > 0 && matches!(self.reclaim(over as usize + 8), Ok(n) if n > 0);
            self.give_back();
            if resizes && crate::resize::step(self) {
                gannet_runtime::yield_now();
                continue;
            }
            if worked && self.frames_in_use() > self.low_water() {
                continue;
            }
            if !self.cleaner.called.load(Acquire) || !worked {
                let pause = if over > 0 { 5_000_000 } else { CLEANER_PAUSE_NS };
                let _ = park(Wait::Background, Some(now_ns() + pause));
            }
        }
        self.cleaner.wakers.lock().clear();
    }
}
