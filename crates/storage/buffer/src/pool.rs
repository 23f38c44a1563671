//! The pool: loading, creating, evicting and discarding pages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gannet_base::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::*};
use gannet_base::sync::{Arc, Backoff, Mutex, OnceLock};
use gannet_base::{CachePadded, Lsn, PAGE_SIZE, PageNo, slot};
use gannet_page::{Corrupt, PageBuf};
use gannet_runtime::{File, JoinHandle, OpenOptions, Wait, Waker, fs, mask_interrupts, now_ns, park, waker};
use gannet_telemetry::{Counter, count};

use crate::arena::{Arena, MOST_FRAMES};
use crate::double::DoubleWrite;
use crate::error::corrupt;
use crate::gate::Gates;
use crate::kind;
use crate::resident::{MOST, Resident};
use crate::resize::{Budget, Resize, frames_for, frames_of, room};
use crate::space::Space;
use crate::state::{EVICTED, EXCLUSIVE, MARKED, TRANSIT, UNLOCKED, latch, version};
use crate::writeback::Writing;
use crate::{Error, ExclusiveGuard, Mtr, OptimisticGuard, SharedGuard, Stop, Wal};

/// Name of the data file in the store's directory.
pub(crate) const DATA_FILE: &str = "data.gnt";
/// The damage ([`crate::PageError`]) that a read of an all-zero page reports.
pub const NEVER_WRITTEN: &str = "page was never written";
/// Rounds of the clock after which every unused page was a candidate: the first round marks, the others count down.
pub(crate) const ROUNDS: usize = MOST as usize + 1;
/// Name of the double-write file.
pub(crate) const DOUBLE_FILE: &str = "double.gnt";

/// How to open a pool.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The store's directory.
    pub dir: PathBuf,
    /// Memory for pages in bytes.
    pub pool_bytes: u64,
    /// What [`crate::resize::resize`] may make of it: addresses are reserved for as much.
    pub most_pool_bytes: u64,
    /// The data file grows no further than this; address space is reserved for as much.
    pub max_data_bytes: u64,
    /// Read and write the data file past the kernel's page cache.
    pub direct_io: bool,
    /// Identity of the store; goes into the file header of a new one and is compared with that of an old one.
    pub store_id: [u8; 16],
}

/// How dear a page is to the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// It will probably be used again.
    Normal,
    /// Part of a scan: the first to go when room is needed.
    Scan,
}

/// Changes that recovery still has to apply to pages, asked when a page is loaded.
pub trait RedoSource: Send + Sync + 'static {
    /// Whether there are changes for the page.
    fn pending(&self, page: PageNo) -> bool;
    /// Applies the page's changes that it does not have (blank bytes when it was never written); may park. Returns the
    /// LSN of the first change applied, `None` when the page had them all. See `gannet_page::redo`. It may be asked
    /// again: a page that was created anew has a greater LSN than all of them.
    fn apply(&self, page: PageNo, bytes: &mut PageBuf) -> Result<Option<Lsn>, Corrupt>;
}

/// Figures for SHOW STATUS: names as in `Innodb_buffer_pool_pages_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolStatus {
    /// Frames that may be in use.
    pub pages_total: u64,
    /// Frames in use.
    pub pages_data: u64,
    /// Of these, changed and not written back.
    pub pages_dirty: u64,
    /// Frames that recovery keeps for its own memory.
    pub pages_aside: u64,
    /// Size of the data file in pages.
    pub file_pages: u64,
    /// Pages of the data file that no tree has.
    pub file_free_pages: u64,
}

/// A count that many threads change and few read: one cell for some slots each.
pub(crate) struct Striped([CachePadded<AtomicI64>; 32]);

impl Striped {
    fn new() -> Self {
        Striped(std::array::from_fn(|_| CachePadded::new(AtomicI64::new(0))))
    }

    pub(crate) fn add(&self, n: i64) {
        self.0[slot::current() % self.0.len()].fetch_add(n, Relaxed);
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|c| c.load(Relaxed)).sum::<i64>().max(0) as u64
    }
}

/// The buffer pool of one store.
pub struct Pool {
    pub(crate) arena: Arena,
    pub(crate) file: File,
    pub(crate) wal: Arc<dyn Wal>,
    pub(crate) resident: Resident,
    pub(crate) gates: Gates,
    pub(crate) double: DoubleWrite,
    pub(crate) writing: Writing,
    pub(crate) space: Space,
    /// Frames that may be in use; `create` may exceed it by a little. Changed by [`crate::resize`] alone.
    pub(crate) budget: Budget,
    pub(crate) resize: Resize,
    in_use: AtomicI64,
    /// Frames that recovery asks the pool to do without: see [`Pool::set_aside`].
    aside: AtomicI64,
    pub(crate) dirty: Striped,
    redo: OnceLock<Arc<dyn RedoSource>>,
    redo_active: AtomicBool,
    /// Tasks that wait for a free frame.
    starved: Mutex<Vec<Waker>>,
    pub(crate) cleaner: Cleaner,
    poison: OnceLock<Arc<str>>,
    /// Writers waiting for a latch, in the build whose readers take shared latches.
    pub(crate) impatient: AtomicU32,
    store_id: [u8; 16],
}

/// The background tasks that keep frames free.
pub(crate) struct Cleaner {
    pub(crate) running: AtomicBool,
    pub(crate) stop: AtomicBool,
    /// The store is being closed: a full disk is not waited for.
    pub(crate) closing: AtomicBool,
    pub(crate) called: AtomicBool,
    pub(crate) wakers: Mutex<Vec<Waker>>,
    pub(crate) tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// Space maps and the file header are never evicted.
#[inline]
pub(crate) fn is_pinned(no: PageNo) -> bool {
    no.0 == 0 || no.0 % gannet_page::raw::REGION_PAGES == 1
}

/// Frames that recovery keeps for its own memory: three quarters of the pool at most.
fn aside(pool: &Pool) -> i64 {
    pool.aside.load(Relaxed).min(pool.budget.get() as i64 / 4 * 3)
}

impl Pool {
    /// Opens the pool of a store, or creates the data file when there is none. Torn pages must have been repaired
    /// ([`crate::repair`]). With `redo`, pages get their pending changes when they are loaded; the space maps are
    /// loaded here. The page cleaner is not started: see [`Pool::start_cleaner`].
    pub fn open(
        options: &PoolOptions,
        wal: Arc<dyn Wal>,
        redo: Option<Arc<dyn RedoSource>>,
    ) -> Result<Arc<Pool>, Error> {
        let io = |what| move |e| Error::io(what, e);
        fs::create_dir_all(&options.dir).map_err(io("create the data directory"))?;
        let path = options.dir.join(DATA_FILE);
        let mut how = OpenOptions::read_write().create();
        if options.direct_io {
            how = how.direct();
        }
        let file = File::open(&path, &how).map_err(io("open the data file"))?;
        let budget = frames_of(options.pool_bytes);
        let max_pages = (options.max_data_bytes / PAGE_SIZE as u64).max(4 * gannet_page::raw::EXTENT_PAGES);
        let pages = file.len().map_err(io("read the size of the data file"))? / PAGE_SIZE as u64;
        let (frames, most) = (frames_for(budget), frames_for(frames_of(options.most_pool_bytes)));
        let most = most.min(MOST_FRAMES as usize);
        let arena = Arena::reserve_up_to(frames, most, max_pages, pages * 2).map_err(io("reserve address space"))?;
        let fresh = file.is_empty().map_err(io("read the size of the data file"))?;
        let double = DoubleWrite::open(&options.dir.join(DOUBLE_FILE), options.direct_io, fresh)?;
        fs::sync_dir(&options.dir).map_err(io("sync the data directory"))?;
        let pool = Arc::new(Pool {
            arena,
            file,
            wal,
            resident: Resident::new(frames),
            gates: Gates::new(),
            double,
            writing: Writing::default(),
            space: Space::new(),
            budget: Budget::new(budget),
            resize: Resize::new(budget),
            in_use: AtomicI64::new(0),
            aside: AtomicI64::new(0),
            dirty: Striped::new(),
            redo: OnceLock::new(),
            redo_active: AtomicBool::new(false),
            starved: Mutex::new(Vec::new()),
            cleaner: Cleaner {
                running: AtomicBool::new(false),
                stop: AtomicBool::new(false),
                closing: AtomicBool::new(false),
                called: AtomicBool::new(false),
                wakers: Mutex::new(Vec::new()),
                tasks: Mutex::new(Vec::new()),
            },
            poison: OnceLock::new(),
            impatient: AtomicU32::new(0),
            store_id: options.store_id,
        });
        if let Some(redo) = redo {
            pool.redo_active.store(true, Release);
            let _ = pool.redo.set(redo);
        }
        pool.space_open()?;
        Ok(pool)
    }

    /// The space of the data file.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The store's identity, as given when it was opened.
    pub(crate) fn store_id(&self) -> [u8; 16] {
        self.store_id
    }

    /// The log.
    #[inline]
    pub fn wal(&self) -> &dyn Wal {
        &*self.wal
    }

    /// The store is one to be recovered, and not a new one.
    pub(crate) fn has_redo(&self) -> bool {
        self.redo.get().is_some()
    }

    pub(crate) fn redo_is_active(&self) -> bool {
        self.redo_active.load(Acquire)
    }

    /// Every pending change has been applied: pages are no longer asked about.
    pub fn end_redo(&self) {
        self.redo_active.store(false, Release);
    }

    /// Begins a mini-transaction; parks while the log is too far ahead. No latch may be held.
    pub fn mtr(&self) -> Result<Mtr<'_>, Error> {
        self.wal.admit()?;
        Ok(Mtr::new(self))
    }

    /// Begins an optimistic read.
    #[inline]
    pub fn optimistic(&self, no: PageNo) -> Result<OptimisticGuard<'_>, Stop> {
        OptimisticGuard::new(self, no, true)
    }

    /// Begins an optimistic read that does not tell the clock.
    #[inline]
    pub fn optimistic_scan(&self, no: PageNo) -> Result<OptimisticGuard<'_>, Stop> {
        OptimisticGuard::new(self, no, false)
    }

    /// Waits for the shared latch.
    pub fn shared(&self, no: PageNo) -> Result<SharedGuard<'_>, Stop> {
        SharedGuard::new(self, no)
    }

    /// Runs `attempt` until it returns a result or fails, and in between does what its [`Stop`] asks for. `attempt`
    /// must release every latch before it returns.
    #[inline]
    pub fn run<T>(&self, attempt: impl FnMut() -> Result<T, Stop>) -> Result<T, Error> {
        self.run_as(Priority::Normal, attempt)
    }

    /// [`Pool::run`], loading missing pages with a priority.
    #[inline]
    pub fn run_as<T>(&self, priority: Priority, mut attempt: impl FnMut() -> Result<T, Stop>) -> Result<T, Error> {
        match attempt() {
            Ok(v) => Ok(v),
            Err(stop) => self.run_again(stop, priority, &mut attempt),
        }
    }

    #[cold]
    fn run_again<T>(
        &self,
        first: Stop,
        priority: Priority,
        attempt: &mut dyn FnMut() -> Result<T, Stop>,
    ) -> Result<T, Error> {
        let mut backoff = Backoff::new();
        let mut failed: Option<(PageNo, u32)> = None;
        let mut stop = first;
        loop {
            debug_assert_eq!(gannet_base::sync::held(), 0, "INV-BUF-5: a latch is held where the task may park");
            match stop {
                Stop::Restart => {
                    count(Counter::OptimisticRestarts);
                    backoff.wait();
                }
                Stop::Fault(no) => {
                    if let Err(e) = self.load(no, priority) {
                        // The pointer that led here may have been outdated: believe the error only when a fresh
                        // descent leads to the same page again.
                        let times = failed.take().map_or(1, |(page, n)| if page == no { n + 1 } else { 1 });
                        if times >= 3 || !matches!(e, Error::Page(_)) {
                            return Err(e);
                        }
                        failed = Some((no, times));
                    }
                }
                Stop::Busy(no) => {
                    let word = self.arena.state(no);
                    self.gates.wait(no.0, Wait::PageRead, || word.in_transit());
                }
                Stop::Grow => self.grow()?,
                Stop::NoFrame => self.make_room()?,
                Stop::Failed(e) => return Err(e),
            }
            match attempt() {
                Ok(v) => return Ok(v),
                Err(next) => stop = next,
            }
        }
    }

    /// Reads one page with `read`, optimistically, until the result is validated. `read` may see torn bytes.
    pub fn read<T>(
        &self,
        no: PageNo,
        mut read: impl FnMut(&OptimisticGuard<'_>) -> Result<T, Corrupt>,
    ) -> Result<T, Error> {
        self.run(|| {
            let guard = self.optimistic(no)?;
            count(Counter::InnodbBufferPoolReadRequests);
            let got = read(&guard);
            guard.validate()?;
            got.map_err(|c| corrupt(no, Lsn::ZERO, c).into())
        })
    }

    /// Makes a page resident if it is not. One task reads it, others wait for that. No latch may be held.
    pub fn load(&self, no: PageNo, priority: Priority) -> Result<(), Error> {
        if no.0 >= self.space.file_pages() {
            return Err(Error::page(no, Lsn::ZERO, "page number is beyond the end of the data file"));
        }
        let word = self.arena.state(no);
        loop {
            gannet_base::sync::sched_point();
            let s = word.load();
            match latch(s) {
                EVICTED => {
                    self.make_room()?;
                    if let Some(version) = word.take_evicted(s, TRANSIT) {
                        self.take_frame(no);
                        return self.read_frame(no, version, priority);
                    }
                }
                TRANSIT => self.gates.wait(no.0, Wait::PageRead, || word.in_transit()),
                _ => return Ok(()),
            }
        }
    }

    /// Reads the page, which the caller has put in transit, into its frame.
    fn read_frame(&self, no: PageNo, v: u64, priority: Priority) -> Result<(), Error> {
        let frame = self.arena.frame(no);
        // SAFETY: this task put the frame in transit: no other writes it, and optimistic readers copy words only.
        let read = unsafe { self.file.read_raw(frame.cast(), PAGE_SIZE, no.offset()) };
        let outcome = match read {
            Ok(n) => self.accept_frame(no, n),
            Err(e) => Err(Error::page(no, Lsn::ZERO, format!("cannot be read: {e}"))),
        };
        self.end_load(no, v, priority, outcome)
    }

    /// Loads those of `pages` that are not resident, many reads in flight at once: read-ahead for a scan. What cannot
    /// be loaded is left; frames are not waited for. No latch may be held.
    pub fn load_many(&self, pages: &[PageNo], priority: Priority) {
        if room(self) < pages.len() {
            // What the scan has passed is clean and marked.
            self.evict_clean(pages.len() - room(self));
        }
        let room = room(self);
        let mut taken: Vec<(PageNo, u64)> = Vec::new();
        for &no in pages.iter().filter(|no| no.0 < self.space.file_pages()) {
            let word = self.arena.state(no);
            let s = word.load();
            if taken.len() < room
                && latch(s) == EVICTED
                && let Some(version) = word.take_evicted(s, TRANSIT)
            {
                self.take_frame(no);
                taken.push((no, version));
            }
        }
        if self.frames_in_use() > self.low_water() {
            self.call_cleaner();
        }
        let frame = |&(no, _): &(PageNo, u64)| {
            // SAFETY: the frame is in transit by our doing, each page is there once, and optimistic readers copy words
            // only.
            let page = unsafe { &mut *self.arena.frame(no) };
            (no.offset(), &mut page.0[..])
        };
        let mut parts: Vec<(u64, &mut [u8])> = taken.iter().map(frame).collect();
        let all = self.file.read_many(&mut parts);
        drop(parts);
        for (no, v) in taken {
            if all.is_err() {
                // Which of them failed is not known: again, one by one.
                let _ = self.read_frame(no, v, priority);
                continue;
            }
            count(Counter::InnodbBufferPoolReadAhead);
            let _ = self.end_load(no, v, priority, self.accept_frame(no, PAGE_SIZE));
        }
    }

    /// Marks the page on disk as damaged, because changes that it lacks are about to be given up. It keeps its bytes,
    /// under a checksum that is not theirs. Durable on return. Does nothing when the page is resident: then it was
    /// made anew. No latch may be held.
    pub fn condemn(&self, no: PageNo) -> Result<(), Error> {
        self.wait_not_writing(no);
        let word = self.arena.state(no);
        let version = loop {
            let s = word.load();
            match latch(s) {
                EVICTED => {
                    if let Some(version) = word.take_evicted(s, TRANSIT) {
                        break version;
                    }
                }
                TRANSIT => self.gates.wait(no.0, Wait::PageRead, || word.in_transit()),
                _ => return Ok(()),
            }
        };
        let outcome = self.spoil(no);
        word.end_transit(version, EVICTED);
        self.gates.wake(no.0);
        outcome.map_err(|e| Error::page(no, Lsn::ZERO, format!("cannot be marked as damaged: {e}")))
    }

    fn spoil(&self, no: PageNo) -> std::io::Result<()> {
        let mut block = gannet_runtime::AlignedBuf::zeroed(PAGE_SIZE);
        let mut page = PageBuf::boxed();
        // What cannot be read is not kept.
        if self.file.read_at(&mut block, no.offset()).is_ok() {
            page.0.copy_from_slice(&block);
        }
        if page.is_blank() {
            page.0[16..24].copy_from_slice(&no.0.to_le_bytes());
            page.0[4] = u8::MAX;
        }
        page.seal();
        page.0[0] ^= u8::MAX;
        block.copy_from_slice(&page.0);
        self.file.write_at(&block, no.offset())?;
        self.file.sync_data()
    }

    /// Takes a frame for a page that is about to be resident, counts it and enters it.
    fn take_frame(&self, no: PageNo) {
        self.in_use.fetch_add(1, Relaxed);
        self.arena.take(no);
        self.arena.enter(no, self.resident.insert(no));
    }

    /// Returns the frames of evicted pages. Their memory is kept as far as the pool's size, less the memory set
    /// aside, allows.
    fn put_frames(&self, frames: &[u32]) {
        self.in_use.fetch_sub(frames.len() as i64, Relaxed);
        self.arena.put(frames, room(self));
    }

    /// Ends the transit of a loaded page: it is there, or not.
    fn end_load(&self, no: PageNo, v: u64, priority: Priority, outcome: Result<(), Error>) -> Result<(), Error> {
        let end = match &outcome {
            Ok(()) if priority == Priority::Scan => MARKED,
            Ok(()) => UNLOCKED,
            Err(_) => {
                self.resident.remove(self.arena.slot(no), no);
                self.put_frames(&[self.arena.taken(no)]);
                EVICTED
            }
        };
        self.arena.state(no).end_transit(v, end);
        self.gates.wake(no.0);
        if outcome.is_err() {
            self.feed_starved();
        }
        outcome
    }

    /// Verifies the page read into a frame in transit (`n` bytes; beyond the end of the file are zeros) and applies
    /// its redo.
    fn accept_frame(&self, no: PageNo, n: usize) -> Result<(), Error> {
        count(Counter::InnodbBufferPoolReads);
        count(Counter::InnodbPagesRead);
        count(Counter::InnodbDataReads);
        gannet_telemetry::add(Counter::InnodbDataRead, n as u64);
        // SAFETY: the caller put the frame in transit: no other task writes it, and optimistic readers copy words
        // only.
        let page = unsafe { &mut *self.arena.frame(no) };
        page.0[n..].fill(0);
        let verified = page.verify(no).map_err(|c| corrupt(no, page.lsn(), c));
        let redo = self.redo.get().filter(|redo| self.redo_active.load(Acquire) && redo.pending(no));
        if verified.is_err() && redo.is_some() {
            // The page was freed, and its blocks were partly released when the system went down: only changes that
            // write it anew count.
            page.0.fill(0);
        }
        if let Some(redo) = redo
            && let Some(first) = redo.apply(no, page).map_err(|c| corrupt(no, page.lsn(), c))?
        {
            self.set_dirty(no, first);
        } else {
            verified?;
        }
        let sound = match page.type_byte() {
            0 => Err(Error::page(no, Lsn::ZERO, NEVER_WRITTEN)),
            _ => gannet_page::check(page).map_err(|c| corrupt(no, page.lsn(), c)),
        };
        count(kind::read(page));
        if sound.is_err() {
            self.set_clean(no);
        }
        sound
    }

    /// Makes a page resident that is about to be formatted, without reading it, and latches it exclusively.
    pub(crate) fn create(&self, no: PageNo) -> Result<ExclusiveGuard<'_>, Stop> {
        gannet_base::check!(no.0 < self.space.file_pages(), "a page beyond the end of the data file is created");
        let word = self.arena.state(no);
        gannet_base::sync::sched_point();
        let s = word.load();
        match latch(s) {
            EVICTED => {
                let budget = self.budget.get();
                if self.in_use.load(Relaxed) > (budget + budget / 4 + 64) as i64 {
                    return Err(Stop::NoFrame);
                }
                let version = word.take_evicted(s, EXCLUSIVE).ok_or(Stop::Restart)?;
                self.take_frame(no);
                count(Counter::InnodbPagesCreated);
                let mut guard = ExclusiveGuard::acquired(self, no, version);
                // A page that is returned unused must look as if it was never written.
                guard.page_mut().0.fill(0);
                if self.in_use.load(Relaxed) > self.low_water() {
                    self.call_cleaner();
                }
                Ok(guard)
            }
            TRANSIT => Err(Stop::Busy(no)),
            _ => {
                let mut guard = ExclusiveGuard::try_new(self, no).ok_or(Stop::Restart)?;
                // The page gets a new version even if the caller returns it unused.
                guard.page_mut();
                Ok(guard)
            }
        }
    }

    /// Marks a page as changed. The caller holds it exclusively, or in transit.
    #[inline]
    pub(crate) fn set_dirty(&self, no: PageNo, lsn: Lsn) {
        let rec = self.arena.rec_lsn(no);
        if rec.load(Relaxed) == 0 {
            rec.store(lsn.0.max(1), Release);
            self.dirty.add(1);
        }
    }

    /// The opposite of [`Pool::set_dirty`].
    pub(crate) fn set_clean(&self, no: PageNo) {
        let rec = self.arena.rec_lsn(no);
        if rec.load(Relaxed) != 0 {
            rec.store(0, Release);
            self.dirty.add(-1);
        }
    }

    /// Frames in use from which on the cleaner gets to work.
    pub(crate) fn low_water(&self) -> i64 {
        let budget = self.budget.get();
        (budget - (budget / 16).clamp(4, 4096)) as i64
    }

    /// Frames that pages have, and those set aside: three quarters of the pool at most.
    pub(crate) fn frames_in_use(&self) -> i64 {
        self.in_use.load(Relaxed) + aside(self)
    }

    /// Recovery keeps `bytes` of changes in memory: the pool does without as many frames, three quarters at most.
    pub fn set_aside(&self, bytes: u64) {
        self.aside.store((bytes / PAGE_SIZE as u64) as i64, Relaxed);
        self.put_frames(&[]);
    }

    /// Returns when a frame may be taken. Parks if need be; no latch may be held.
    fn make_room(&self) -> Result<(), Error> {
        let used = self.frames_in_use();
        if used > self.low_water() {
            self.call_cleaner();
        }
        if used < self.budget.get() as i64 {
            return Ok(());
        }
        count(Counter::InnodbBufferPoolWaitFree);
        let _mask = mask_interrupts();
        let start = now_ns();
        loop {
            count(Counter::LruGetFreeLoops);
            if !self.cleaner.running.load(Acquire) {
                self.reclaim(16)?;
            } else if self.evict_clean(16) == 0 {
                if let Some(e) = self.poisoned() {
                    return Err(e);
                }
                self.starved.lock().push(waker());
                self.call_cleaner();
                if self.frames_in_use() >= self.budget.get() as i64 {
                    let _ = park(Wait::BufferFree, Some(now_ns() + 50_000_000));
                }
            }
            if self.frames_in_use() < self.budget.get() as i64 {
                return Ok(());
            }
            if now_ns().saturating_sub(start) > Duration::from_secs(20).as_nanos() as u64 {
                return match self.poisoned() {
                    Some(e) => Err(e),
                    None => Err(Error::NoFrames),
                };
            }
        }
    }

    /// Wakes tasks that wait for frames.
    pub(crate) fn feed_starved(&self) {
        let starved = std::mem::take(&mut *self.starved.lock());
        starved.iter().for_each(Waker::wake);
    }

    /// Evicts those of `pages` that are clean, unlatched and still marked by the clock. Returns how many.
    pub(crate) fn evict(&self, pages: &mut Vec<PageNo>) -> usize {
        pages.retain(|&no| {
            let word = self.arena.state(no);
            gannet_base::sync::sched_point();
            let s = word.load();
            if latch(s) != MARKED || self.arena.rec_lsn(no).load(Acquire) != 0 {
                return false;
            }
            if !word.take_free(s) {
                return false;
            }
            // A writer may have come and gone since the clean state was seen, and the clock may have marked it again.
            if self.arena.rec_lsn(no).load(Acquire) != 0 {
                word.untake(s);
                self.gates.wake(no.0);
                return false;
            }
            true
        });
        let frames: Vec<u32> = pages.iter().map(|&no| self.arena.taken(no)).collect();
        for &no in &*pages {
            // The page leaves the table before the state says so: a task that makes it resident again enters it
            // again.
            self.resident.remove(self.arena.slot(no), no);
            let word = self.arena.state(no);
            word.end_transit(version(word.load()), EVICTED);
            self.gates.wake(no.0);
            count(Counter::PagesEvicted);
        }
        let n = pages.len();
        pages.clear();
        if n > 0 {
            self.put_frames(&frames);
            self.feed_starved();
        }
        n
    }

    /// One step of the clock: marks, or names a candidate for eviction.
    pub(crate) fn clock(&self, slot: usize) -> Option<PageNo> {
        let no = self.resident.get(slot)?;
        if is_pinned(no) {
            return None;
        }
        let used = !self.arena.state(no).pass();
        self.resident.pass(slot, used).then_some(no)
    }

    /// Moves the clock hand until it has found `want` candidates, or some dirty ones, and evicts the clean ones.
    /// Returns how many. The hand never passes over dirty candidates in search of clean ones: pages that were just
    /// loaded would be evicted first, and each page the hand passes ages.
    fn evict_clean(&self, want: usize) -> usize {
        let mut clean = Vec::with_capacity(want);
        let mut dirty = 0;
        let all = ROUNDS * self.resident.len();
        let mut left = all;
        while left > 0 && clean.len() < want && dirty < (want / 4).max(1) {
            let step = left.min(64);
            left -= step;
            let first = self.resident.advance(step);
            for no in (first..first + step).filter_map(|i| self.clock(i)) {
                if self.arena.rec_lsn(no).load(Relaxed) == 0 { clean.push(no) } else { dirty += 1 }
            }
        }
        count(Counter::LruSearchNumScan);
        gannet_telemetry::add(Counter::LruSearchScanned, (all - left) as u64);
        self.evict(&mut clean)
    }

    /// Removes the pages of freed extents from the pool without writing them. They are not used any more, and their
    /// freeing is durable (INV-BUF-6). Waits for pages that are being read or written.
    pub(crate) fn discard(&self, first: PageNo, pages: u64) {
        for no in (first.0..first.0 + pages).map(PageNo) {
            loop {
                self.wait_not_writing(no);
                match ExclusiveGuard::new(self, no) {
                    Ok(guard) => {
                        if self.is_writing(no) {
                            continue;
                        }
                        self.set_clean(no);
                        self.resident.remove(self.arena.slot(no), no);
                        let frame = guard.evict();
                        self.put_frames(&[frame]);
                        self.gates.wake(no.0);
                    }
                    Err(_) if self.arena.state(no).in_transit() => {
                        let word = self.arena.state(no);
                        self.gates.wait(no.0, Wait::PageRead, || word.in_transit());
                        continue;
                    }
                    Err(_) => {}
                }
                break;
            }
        }
        self.feed_starved();
    }

    /// Why pages cannot be written any more, if so.
    pub fn poisoned(&self) -> Option<Error> {
        self.poison.get().map(|why| Error::Poisoned(why.clone()))
    }

    /// After a failed sync nothing is known of what the disk has: no page is written any more.
    pub(crate) fn poison(&self, what: &str, error: &std::io::Error) -> Error {
        let why = self.poison.get_or_init(|| format!("cannot {what}: {error}").into());
        Error::Poisoned(why.clone())
    }

    /// Figures. Costs no latch.
    pub fn status(&self) -> PoolStatus {
        let data = self.in_use.load(Relaxed).max(0) as u64;
        PoolStatus {
            pages_total: self.budget.get() as u64,
            pages_data: data,
            pages_dirty: self.dirty.sum().min(data),
            pages_aside: aside(self).max(0) as u64,
            file_pages: self.space.file_pages(),
            file_free_pages: self.space.free_pages(),
        }
    }

    /// Whether a page is resident: for background redo, which has nothing to do for pages that are.
    pub fn is_resident(&self, no: PageNo) -> bool {
        no.0 < self.arena.pages() && !matches!(latch(self.arena.state(no).load()), EVICTED | TRANSIT)
    }

    /// How many LSNs the oldest change not written back is behind the log's end is the checkpoint's business; this is
    /// the page's own: 0 = clean.
    pub(crate) fn rec_lsn(&self, no: PageNo) -> &AtomicU64 {
        self.arena.rec_lsn(no)
    }

    /// The path of the data file of a store.
    pub fn data_file(dir: &Path) -> PathBuf {
        dir.join(DATA_FILE)
    }
}
