//! Memory: frames (16 KiB each) for the pages that are resident, and words for every page the data file may ever have.
//!
//! Three mappings, backed by memory only where touched: frames; by page number, a state word with the numbers of the
//! page's frame and of its slot among the resident pages beside it (16 bytes); by page number, recovery LSNs (8 bytes).
//!
//! Addresses of frames are reserved for the largest pool there may be, so that no frame ever moves when the pool grows
//! or shrinks. Frames that the pool has once had stay readable: an optimistic reader may still look at one. Those at or
//! above the *limit* are given to no page, and when the pages that have them have moved, their memory is given back.

use std::io;

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_page::PageBuf;

use crate::state::StateWord;

/// An anonymous, private, lazily backed mapping. Zero where never touched.
struct Mapping {
    ptr: *mut u8,
    len: usize,
}

// SAFETY: the mapping is plain memory; the users of the pointers see to it which thread accesses which part.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn reserve(len: usize) -> io::Result<Mapping> {
        Mapping::with(len, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Addresses that nobody may touch, for [`Mapping::open`].
    fn closed(len: usize) -> io::Result<Mapping> {
        Mapping::with(len, libc::PROT_NONE)
    }

    fn with(len: usize, access: libc::c_int) -> io::Result<Mapping> {
        let len = len.next_multiple_of(1 << 16);
        // SAFETY: a fresh anonymous mapping at an address the kernel chooses touches no existing memory.
        let ptr = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                access,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if ptr == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { ptr: ptr.cast(), len })
    }

    /// Makes the bytes from `at` to `end` readable and writable. Fails where the system promises no more memory than it
    /// has (`vm.overcommit_memory=2`).
    fn open(&self, at: usize, end: usize) -> io::Result<()> {
        assert!(at <= end && end <= self.len);
        let at = at / HOST_PAGE * HOST_PAGE;
        // SAFETY: inside the mapping. What was accessible stays so.
        match unsafe { libc::mprotect(self.ptr.add(at).cast(), end - at, libc::PROT_READ | libc::PROT_WRITE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Asks for pages of 2 MiB between two bytes, or for none. Only advice: the result does not matter.
    fn huge(&self, at: usize, end: usize, wanted: bool) {
        assert!(at <= end && end <= self.len);
        let at = at.next_multiple_of(HOST_PAGE).min(end);
        let advice = if wanted { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range is part of the mapping.
        unsafe { libc::madvise(self.ptr.add(at).cast(), end - at, advice) };
    }

    /// Small pages everywhere.
    fn small(self) -> Mapping {
        self.huge(0, self.len, false);
        self
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no borrow outlives its owner.
        unsafe { libc::munmap(self.ptr.cast(), self.len) };
    }
}

/// Fewer pages than these (4 GiB) are no use to a server.
const LEAST_PAGES: u64 = (4 << 30) / PAGE_SIZE as u64;

/// A pool of 16 TiB: numbers of slots in the table of resident pages have 32 bits.
pub(crate) const MOST_FRAMES: u32 = 1 << 30;

/// Size of a page of the system's, to which changes of access are rounded.
const HOST_PAGE: usize = 4096;

/// Size of a huge page, to which the frames are aligned.
const HUGE: usize = 2 << 20;
/// Frames from which on they are worth having. A smaller pool would take one for a few frames.
const HUGE_FROM: usize = 4096;

/// The entry of a page, resident or not.
#[repr(C)]
struct Entry {
    state: StateWord,
    /// The frame of the page while it is resident. Written in transit or under the exclusive latch only. It lies
    /// beside the state word, so that a reader of that word has it in the same cache line.
    frame: AtomicU32,
    /// The page's slot in the table of resident pages. Written and read as `frame` is, but never by optimistic readers.
    slot: AtomicU32,
}

/// Frames that no page has.
struct Free {
    /// Backed by memory, the last used on top.
    warm: Vec<u32>,
    /// Their memory is given back.
    cold: Vec<u32>,
    /// All from here on have no memory.
    fresh: u32,
    /// Frames at or above this one are given to no page.
    limit: u32,
    /// Of these, those that pages still have.
    above: u32,
}

/// The frames and the pages' words.
pub(crate) struct Arena {
    frames: Mapping,
    entries: Mapping,
    rec_lsns: Mapping,
    pages: u64,
    /// Frames there are addresses for, from the byte `pad` of their mapping on.
    count: u32,
    pad: usize,
    /// Frames that may be accessed. Only grows.
    ready: AtomicU32,
    free: Mutex<Free>,
}

impl Arena {
    /// Room for `frames` resident pages, addresses for `most` of them, and words for `pages` pages; or less where the
    /// system gives less address space (`ulimit -v`, debuggers), but words for no fewer than `needed`.
    pub(crate) fn reserve_up_to(frames: usize, most: usize, pages: u64, needed: u64) -> io::Result<Arena> {
        match Arena::reserve(frames, most, pages) {
            Err(_) if most > frames => Arena::reserve_up_to(frames, frames, pages, needed),
            Err(_) if pages / 2 >= needed.max(LEAST_PAGES) => Arena::reserve_up_to(frames, most, pages / 2, needed),
            outcome => outcome,
        }
    }

    /// Room for `frames` resident pages, addresses for `most` of them, and words for `pages` pages.
    pub(crate) fn reserve(frames: usize, most: usize, pages: u64) -> io::Result<Arena> {
        let (n, most) = (pages as usize, most.max(frames));
        let count = u32::try_from(most).ok().filter(|&n| n <= MOST_FRAMES).ok_or(io::ErrorKind::InvalidInput)?;
        let mapping = Mapping::closed(most * PAGE_SIZE + HUGE)?;
        let arena = Arena {
            pad: mapping.ptr.align_offset(HUGE),
            frames: mapping,
            entries: Mapping::reserve(n * size_of::<Entry>())?.small(),
            rec_lsns: Mapping::reserve(n * 8)?.small(),
            pages,
            count,
            ready: AtomicU32::new(0),
            free: Mutex::new(Free { warm: Vec::new(), cold: Vec::new(), fresh: 0, limit: 0, above: 0 }),
        };
        arena.grow(frames)?;
        Ok(arena)
    }

    /// Frames there are addresses for.
    pub(crate) fn most(&self) -> usize {
        self.count as usize
    }

    /// Gives more frames to pages: all below `frames`, which are no fewer than before. One task at a time calls this
    /// and [`Arena::shrink`], and no frame above the limit is in use any more.
    pub(crate) fn grow(&self, frames: usize) -> io::Result<()> {
        let limit = u32::try_from(frames).ok().filter(|&n| n <= self.count).ok_or(io::ErrorKind::InvalidInput)?;
        // Before the first frame lies what aligns them: it is opened with them.
        let ready = self.ready.load(Relaxed);
        if limit > ready {
            self.frames.open(if ready == 0 { 0 } else { self.byte(ready) }, self.byte(limit))?;
            self.ready.store(limit, Relaxed);
        }
        self.frames.huge(0, self.byte(limit), frames >= HUGE_FROM);
        self.free.lock().limit = limit;
        Ok(())
    }

    /// Gives pages no other frames than those below `frames`, of which there are more than are in use. The pages that
    /// have others are to be moved ([`Arena::exchange`]), then [`Arena::give_back`] follows.
    pub(crate) fn shrink(&self, frames: usize) {
        let mut free = self.free.lock();
        let limit = (frames as u32).min(free.limit);
        let used = free.fresh.saturating_sub(limit);
        let before = free.warm.len() + free.cold.len();
        free.warm.retain(|&f| f < limit);
        free.cold.retain(|&f| f < limit);
        free.above = used - (before - free.warm.len() - free.cold.len()) as u32;
        free.fresh = free.fresh.min(limit);
        free.limit = limit;
    }

    /// Frames that pages have beyond the limit.
    pub(crate) fn above(&self) -> u32 {
        self.free.lock().above
    }

    /// The first frame that is given to no page.
    pub(crate) fn limit(&self) -> u32 {
        self.free.lock().limit
    }

    /// Gives the memory of the frames beyond the limit back, which no page has any more.
    pub(crate) fn give_back(&self) {
        let (limit, ready) = (self.limit(), self.ready.load(Relaxed));
        // Else the kernel would make huge pages of what little is read there, and take memory for all of it.
        self.frames.huge(self.byte(limit), self.byte(ready), false);
        self.forget(limit, ready - limit);
    }

    /// Where frame `n` begins in the mapping.
    fn byte(&self, n: u32) -> usize {
        self.pad + n as usize * PAGE_SIZE
    }

    /// Pages there are words for.
    #[inline]
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    #[inline]
    fn entry(&self, no: PageNo) -> &Entry {
        assert!(no.0 < self.pages);
        // SAFETY: inside the mapping by the assertion, aligned, initialised to zero by the kernel, accessed as atomics
        // only, and it lives as long as the arena.
        unsafe { &*self.entries.ptr.cast::<Entry>().add(no.0 as usize) }
    }

    /// The frame of page `no`. A caller that has latched the page, or has it in transit with a frame, may rely on it.
    /// An optimistic reader reads the version first. The pointer is valid for reads and writes of a page at any time:
    /// when `no` is not resident any more, the bytes belong to another page or to none, and mean nothing.
    ///
    /// # Panics
    /// When there is no such page.
    #[inline]
    pub(crate) fn frame(&self, no: PageNo) -> *mut PageBuf {
        self.nth(self.entry(no).frame.load(Relaxed))
    }

    #[inline]
    fn nth(&self, frame: u32) -> *mut PageBuf {
        debug_assert!(frame < self.ready.load(Relaxed));
        // SAFETY: entries say 0 or what `take` has given: a frame below `ready`. Behind the padding these are in the
        // open part of the mapping.
        unsafe { self.frames.ptr.add(self.byte(frame)).cast() }
    }

    /// Page `no`'s state word.
    #[inline]
    pub(crate) fn state(&self, no: PageNo) -> &StateWord {
        &self.entry(no).state
    }

    /// LSN of the oldest change of page `no` that may not be on disk; 0 = clean. Written under the exclusive latch
    /// only.
    #[inline]
    pub(crate) fn rec_lsn(&self, no: PageNo) -> &AtomicU64 {
        assert!(no.0 < self.pages);
        // SAFETY: as in `entry`.
        unsafe { &*self.rec_lsns.ptr.cast::<AtomicU64>().add(no.0 as usize) }
    }

    /// The slot of page `no` in the table of resident pages. The caller has the page exclusively or in transit.
    pub(crate) fn slot(&self, no: PageNo) -> u32 {
        self.entry(no).slot.load(Relaxed)
    }

    /// Notes the slot.
    pub(crate) fn enter(&self, no: PageNo, slot: u32) {
        self.entry(no).slot.store(slot, Relaxed);
    }

    /// Takes a frame for page `no`, which the caller has exclusively or in transit. The frame holds bytes that
    /// another page has left there.
    pub(crate) fn take(&self, no: PageNo) {
        self.entry(no).frame.store(self.free.lock().take(), Relaxed);
    }

    /// Copies page `no`, which the caller has exclusively, to another frame. Returns the one it had, which nobody has
    /// now.
    pub(crate) fn exchange(&self, no: PageNo) -> u32 {
        let (old, new) = (self.taken(no), self.free.lock().take());
        // SAFETY: two frames: one is the page's, whose exclusive latch is the caller's, so that nobody writes it; the
        // other is nobody's. Optimistic readers of either find the version changed (INV-BUF-2).
        unsafe { std::ptr::copy_nonoverlapping(self.nth(old), self.nth(new), 1) };
        self.entry(no).frame.store(new, Relaxed);
        old
    }

    /// The frame of page `no`, to be given to [`Arena::put`] once the page is evicted.
    pub(crate) fn taken(&self, no: PageNo) -> u32 {
        self.entry(no).frame.load(Relaxed)
    }

    /// Takes frames back. `keep` of all free ones may keep their memory.
    pub(crate) fn put(&self, frames: &[u32], keep: usize) {
        let mut free = self.free.lock();
        for &frame in frames {
            if frame < free.limit { free.warm.push(frame) } else { free.above -= 1 }
        }
        if free.warm.len() <= keep {
            return;
        }
        // Those used last stay.
        let over = free.warm.len() - keep;
        let mut gone: Vec<u32> = free.warm.drain(..over).collect();
        drop(free);
        gone.sort_unstable();
        for run in gone.chunk_by(|a, b| a + 1 == *b) {
            self.forget(run[0], run.len() as u32);
        }
        let mut free = self.free.lock();
        // The limit may have come down meanwhile, and then counted these as in use.
        let limit = free.limit;
        let (below, above): (Vec<u32>, Vec<u32>) = gone.into_iter().partition(|&frame| frame < limit);
        free.cold.extend(below);
        free.above -= above.len() as u32;
    }

    /// Gives the memory of `n` frames back: they read as zeros.
    fn forget(&self, first: u32, n: u32) {
        if n == 0 {
            return;
        }
        // SAFETY: frames of the mapping, which no page has; optimistic readers that still look at them see zeros and
        // fail their validation (INV-BUF-2).
        let rc = unsafe { libc::madvise(self.nth(first).cast(), n as usize * PAGE_SIZE, libc::MADV_DONTNEED) };
        gannet_base::check!(rc == 0, "madvise refused a range of our own mapping");
    }
}

impl Free {
    fn take(&mut self) -> u32 {
        let frame = self.warm.pop().or_else(|| self.cold.pop()).unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh - 1
        });
        gannet_base::check!(frame < self.limit, "INV-BUF-7: more resident pages than there are frames for");
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_go() {
        let arena = Arena::reserve(40, 40, 1000).unwrap();
        // SAFETY: the frames are mapped, and nobody else knows this arena.
        let first = |no: u64| unsafe { arena.frame(PageNo(no)).cast::<u8>().as_mut().unwrap() };
        for no in 0..40 {
            arena.take(PageNo(no * 25));
            *first(no * 25) = no as u8 + 1;
        }
        for no in 0..40 {
            assert_eq!(*first(no * 25), no as u8 + 1);
        }
        // The last one taken back comes first; those that may not be kept read as zeros.
        arena.put(&[arena.taken(PageNo(0)), arena.taken(PageNo(25)), arena.taken(PageNo(75))], 2);
        arena.take(PageNo(7));
        assert_eq!(*first(7), 4);
        arena.take(PageNo(8));
        assert_eq!(*first(8), 2);
        arena.take(PageNo(9));
        assert_eq!(*first(9), 0);
        arena.put(&[], 0);
        let mut all: Vec<u32> = [7, 8, 9]
            .into_iter()
            .chain((0..40).filter(|n| ![0, 1, 3].contains(n)).map(|n| n * 25))
            .map(|no| arena.taken(PageNo(no)))
            .collect();
        all.sort();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn frames_beyond_the_limit_are_given_to_nobody() {
        let arena = Arena::reserve(10, 30, 1000).unwrap();
        // SAFETY: the frames are mapped, and nobody else knows this arena.
        let first = |no: u64| unsafe { arena.frame(PageNo(no)).cast::<u8>().as_mut().unwrap() };
        let pages = |range: std::ops::Range<u64>| range.map(PageNo);
        for no in pages(0..10) {
            arena.take(no);
            *first(no.0) = no.0 as u8 + 1;
        }
        arena.grow(30).unwrap();
        for no in pages(10..25) {
            arena.take(no);
            *first(no.0) = no.0 as u8 + 1;
        }
        // Frames 0 to 9 and 20 to 24 become free; the rest is to come below 16.
        let free: Vec<u32> = pages(0..10).chain(pages(20..25)).map(|no| arena.taken(no)).collect();
        arena.put(&free, 30);
        arena.shrink(16);
        assert_eq!(arena.above(), 4);
        for no in pages(10..20).filter(|&no| arena.taken(no) >= 16) {
            let old = arena.exchange(no);
            arena.put(&[old], 30);
        }
        assert_eq!(arena.above(), 0);
        arena.give_back();
        for no in pages(10..20) {
            assert!(arena.taken(no) < 16);
            assert_eq!(*first(no.0), no.0 as u8 + 1);
        }
        // What was given back is there again, as zeros, when the limit rises: sixteen frames are used first.
        arena.grow(30).unwrap();
        for no in pages(30..50) {
            arena.take(no);
        }
        let mut all: Vec<u32> = pages(10..20).chain(pages(30..50)).map(|no| arena.taken(no)).collect();
        all.sort();
        assert_eq!(all, (0..30).collect::<Vec<_>>());
        assert!(pages(30..50).filter(|&no| arena.taken(no) >= 16).all(|no| *first(no.0) == 0));
        assert_eq!(arena.grow(31).map_err(|e| e.kind()), Err(io::ErrorKind::InvalidInput));
    }
}
