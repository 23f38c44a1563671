//! Reserved memory: address space for every page the data file may ever have, backed by memory only where touched.
//!
//! Three mappings, indexed by page number: frames (16 KiB each), state words and recovery LSNs (8 bytes each).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_page::PageBuf;

use crate::state::StateWord;

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
    /// This process, if the system knows such handles.
    process: Option<OwnedFd>,
    /// The system has not refused yet to take back several ranges in one call.
    batches: AtomicBool,
}

/// A handle of this process (Linux 5.3).
fn this_process() -> Option<OwnedFd> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    // SAFETY: a descriptor which the call above has just made, and nobody else knows.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
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
            process: this_process(),
            batches: AtomicBool::new(true),
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
    fn word<'a, T>(&'a self, map: &'a Mapping, no: PageNo) -> &'a T {
        const { assert!(size_of::<T>() == size_of::<AtomicU64>()) }
        assert!(no.0 < self.pages);
        // SAFETY: inside the mapping by the assertion, aligned, initialised to zero by the kernel, accessed as atomics
        // only (`T` is one, or a transparent wrapper of one), and it lives as long as the arena.
        unsafe { &*map.ptr.cast::<T>().add(no.0 as usize) }
    }

    /// Page `no`'s state word.
    #[inline]
    pub(crate) fn state(&self, no: PageNo) -> &StateWord {
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

    /// Gives back the memory of the frames of `pages`, which are sorted. In one call where the system can do that (Linux 6.13;
    /// from 6.16 on also with one interruption of the other cores, which is what evicting costs most).
    pub(crate) fn release_each(&self, pages: &[PageNo]) {
        let runs = || pages.chunk_by(|a, b| a.next() == *b);
        if let Some(process) = self.process.as_ref().filter(|_| pages.len() > 1 && self.batches.load(Relaxed)) {
            let range = |run: &[PageNo]| {
                assert!(run[0].0 + run.len() as u64 <= self.pages);
                libc::iovec { iov_base: self.frame(run[0]).cast(), iov_len: run.len() * PAGE_SIZE }
            };
            let ranges: Vec<libc::iovec> = runs().map(range).collect();
            if ranges.chunks(512).all(|part| advise_unneeded(process, part)) {
                return;
            }
            self.batches.store(false, Relaxed);
        }
        for run in runs() {
            self.release(run[0], run.len() as u64);
        }
    }
}

/// Drops the content of these ranges of an arena; false when the system has not, or not all.
fn advise_unneeded(process: &OwnedFd, ranges: &[libc::iovec]) -> bool {
    let bytes: usize = ranges.iter().map(|r| r.iov_len).sum();
    // SAFETY: the ranges are inside the mapping of frames, as the caller has asserted; see `Arena::release`.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            ranges.as_ptr(),
            ranges.len(),
            libc::MADV_DONTNEED,
            0,
        )
    };
    usize::try_from(rc) == Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_frames_read_as_zeros_and_others_stay() {
        for batches in [true, false] {
            let arena = Arena::reserve(64).unwrap();
            arena.batches.store(batches, Relaxed);
            // SAFETY: the frames are mapped, and nobody else knows this arena.
            let first = |no: u64| unsafe { arena.frame(PageNo(no)).cast::<u8>().as_mut().unwrap() };
            (0..64).for_each(|no| *first(no) = 7);
            let gone = [0, 2, 3, 4, 9, 30, 63];
            arena.release_each(&gone.map(PageNo));
            arena.release_each(&[]);
            for no in 0..64 {
                assert_eq!(*first(no), if gone.contains(&no) { 0 } else { 7 }, "{no}");
            }
        }
    }
}
