//! Memory: frames (16 KiB each) for the pages that are resident, and words for every page the data file may ever have.
//!
//! Three mappings, backed by memory only where touched: frames; by page number, a state word with the number of the
//! page's frame beside it (16 bytes); by page number, recovery LSNs (8 bytes).

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
        let len = len.next_multiple_of(1 << 16);
        // SAFETY: a fresh anonymous mapping at an address the kernel chooses touches no existing memory.
        let ptr = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
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

    /// Asks for pages of 2 MiB, or for none. Only advice: the result does not matter.
    fn huge(self, wanted: bool) -> Mapping {
        let advice = if wanted { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range is the mapping.
        unsafe { libc::madvise(self.ptr.cast(), self.len, advice) };
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
}

/// Frames that no page has.
struct Free {
    /// Backed by memory, the last used on top.
    warm: Vec<u32>,
    /// Their memory is given back.
    cold: Vec<u32>,
    /// All from here on were never used.
    fresh: u32,
}

/// The frames and the pages' words.
pub(crate) struct Arena {
    frames: Mapping,
    entries: Mapping,
    rec_lsns: Mapping,
    pages: u64,
    /// Frames, from this byte of their mapping on.
    count: u32,
    pad: usize,
    free: Mutex<Free>,
}

impl Arena {
    /// Room for `frames` resident pages, and words for `pages` pages, or less where the system gives less address space
    /// (`ulimit -v`, debuggers), but for no fewer than `needed`.
    pub(crate) fn reserve_up_to(frames: usize, pages: u64, needed: u64) -> io::Result<Arena> {
        match Arena::reserve(frames, pages) {
            Err(_) if pages / 2 >= needed.max(LEAST_PAGES) => Arena::reserve_up_to(frames, pages / 2, needed),
            outcome => outcome,
        }
    }

    /// Room for `frames` resident pages, and words for `pages` pages.
    pub(crate) fn reserve(frames: usize, pages: u64) -> io::Result<Arena> {
        let n = pages as usize;
        let count = u32::try_from(frames).map_err(|_| io::ErrorKind::InvalidInput)?;
        let frames = Mapping::reserve(frames * PAGE_SIZE + HUGE)?.huge(frames >= HUGE_FROM);
        let pad = frames.ptr.align_offset(HUGE);
        Ok(Arena {
            frames,
            entries: Mapping::reserve(n * size_of::<Entry>())?.huge(false),
            rec_lsns: Mapping::reserve(n * 8)?.huge(false),
            pages,
            count,
            pad,
            free: Mutex::new(Free { warm: Vec::new(), cold: Vec::new(), fresh: 0 }),
        })
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
        debug_assert!(frame < self.count);
        // SAFETY: entries say 0 or what `take` has given: a frame below `count`. Behind the padding these are in the
        // mapping.
        unsafe { self.frames.ptr.add(self.pad + frame as usize * PAGE_SIZE).cast() }
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

    /// Takes a frame for page `no`, which the caller has exclusively or in transit. The frame holds bytes that
    /// another page has left there.
    pub(crate) fn take(&self, no: PageNo) {
        let mut free = self.free.lock();
        let frame = free.warm.pop().or_else(|| free.cold.pop()).unwrap_or_else(|| {
            free.fresh += 1;
            free.fresh - 1
        });
        gannet_base::check!(frame < self.count, "INV-BUF-7: more resident pages than there are frames for");
        self.entry(no).frame.store(frame, Relaxed);
    }

    /// The frame of page `no`, to be given to [`Arena::put`] once the page is evicted.
    pub(crate) fn taken(&self, no: PageNo) -> u32 {
        self.entry(no).frame.load(Relaxed)
    }

    /// Takes frames back. `keep` of all free ones may keep their memory.
    pub(crate) fn put(&self, frames: &[u32], keep: usize) {
        let mut free = self.free.lock();
        free.warm.extend_from_slice(frames);
        if free.warm.len() <= keep {
            return;
        }
        // Those used last stay.
        let over = free.warm.len() - keep;
        let mut gone: Vec<u32> = free.warm.drain(..over).collect();
        drop(free);
        gone.sort_unstable();
        for run in gone.chunk_by(|a, b| a + 1 == *b) {
            // SAFETY: frames of the mapping, which no page has; optimistic readers that still look at them see zeros
            // and fail their validation (INV-BUF-2).
            let rc = unsafe { libc::madvise(self.nth(run[0]).cast(), run.len() * PAGE_SIZE, libc::MADV_DONTNEED) };
            gannet_base::check!(rc == 0, "madvise refused a range of our own mapping");
        }
        self.free.lock().cold.extend(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_go() {
        let arena = Arena::reserve(40, 1000).unwrap();
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
}
