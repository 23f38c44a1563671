//! Reserved memory: address space for every page the data file may ever have, backed by memory only where touched.
//!
//! Three mappings, indexed by page number: frames (16 KiB each), state words and recovery LSNs (8 bytes each).

use std::io;

use gannet_base::sync::atomic::AtomicU64;
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_page::PageBuf;

/// An anonymous, private, lazily backed mapping. Zero where never touched.
struct Mapping {
    ptr: *mut u8,
    len: usize,
}

// SAFETY: the mapping is plain memory; who may access which part when is up to the users of the pointers.
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
        // Huge pages would back 128 frames for one that is touched. Only advice: the result does not matter.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(ptr, len, libc::MADV_NOHUGEPAGE) };
        Ok(Mapping { ptr: ptr.cast(), len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody borrows from it once its owner is dropped.
        unsafe { libc::munmap(self.ptr.cast(), self.len) };
    }
}

/// Fewer pages than these (4 GiB) are no use to a server.
const LEAST_PAGES: u64 = (4 << 30) / PAGE_SIZE as u64;

/// The frames and their words.
pub(crate) struct Arena {
    frames: Mapping,
    states: Mapping,
    rec_lsns: Mapping,
    pages: u64,
}

impl Arena {
    /// Reserves address space for `pages` pages, or less where the system gives less (`ulimit -v`, debuggers), but for no fewer
    /// than `needed`.
    pub(crate) fn reserve_up_to(pages: u64, needed: u64) -> io::Result<Arena> {
        match Arena::reserve(pages) {
            Err(_) if pages / 2 >= needed.max(LEAST_PAGES) => Arena::reserve_up_to(pages / 2, needed),
            outcome => outcome,
        }
    }

    /// Reserves address space for `pages` pages.
    pub(crate) fn reserve(pages: u64) -> io::Result<Arena> {
        let n = pages as usize;
        Ok(Arena {
            frames: Mapping::reserve(n * PAGE_SIZE)?,
            states: Mapping::reserve(n * 8)?,
            rec_lsns: Mapping::reserve(n * 8)?,
            pages,
        })
    }

    /// Pages there is address space for.
    #[inline]
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Where page `no`'s frame is. The pointer is valid for reads and writes of a page at any time (what is read from a
    /// frame that is not resident means nothing).
    ///
    /// # Panics
    /// When `no` is outside of the reservation.
    #[inline]
    pub(crate) fn frame(&self, no: PageNo) -> *mut PageBuf {
        assert!(no.0 < self.pages);
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.frames.ptr.add((no.0 as usize) * PAGE_SIZE).cast() }
    }

    #[inline]
    fn word<'a>(&'a self, map: &'a Mapping, no: PageNo) -> &'a AtomicU64 {
        assert!(no.0 < self.pages);
        // SAFETY: inside the mapping by the assertion, aligned, initialised to zero by the kernel, accessed as atomics
        // only, and it lives as long as the arena.
        unsafe { &*map.ptr.cast::<AtomicU64>().add(no.0 as usize) }
    }

    /// Page `no`'s state word.
    #[inline]
    pub(crate) fn state(&self, no: PageNo) -> &AtomicU64 {
        self.word(&self.states, no)
    }

    /// LSN of the oldest change of page `no` that may not be on disk; 0 = clean. Written under the exclusive latch only.
    #[inline]
    pub(crate) fn rec_lsn(&self, no: PageNo) -> &AtomicU64 {
        self.word(&self.rec_lsns, no)
    }

    /// Gives back the memory of `count` frames from `first`. They read as zeros afterwards.
    pub(crate) fn release(&self, first: PageNo, count: u64) {
        assert!(first.0 + count <= self.pages);
        // SAFETY: inside the mapping by the assertion; private anonymous memory may be dropped at any time, optimistic
        // readers that still look at it see zeros and fail their validation (INV-BUF-2).
        let rc = unsafe { libc::madvise(self.frame(first).cast(), count as usize * PAGE_SIZE, libc::MADV_DONTNEED) };
        gannet_base::check!(rc == 0, "madvise refused a range of our own mapping");
    }
}
