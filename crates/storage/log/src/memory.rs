//! The bytes of the ring buffer ([`crate::ring`]), addressed by LSN. The protocol of the ring says which thread may
//! touch which bytes. The model checker (crate `models`) replaces this module with a twin that detects when two
//! threads touch the same bytes at once.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use gannet_base::sync::atomic::AtomicU64;

use crate::format::BLOCK;

const WORD: u64 = 8;

/// A power of two of bytes, zero at first.
pub(crate) struct Memory {
    memory: NonNull<u8>,
    layout: Layout,
    // A block-aligned address inside `memory`.
    base: *mut u8,
    mask: u64,
}

// SAFETY: the raw pointers name memory that this value alone owns; which thread may touch which byte follows from the
// ring's atomics.
unsafe impl Send for Memory {}
// SAFETY: as above: ranges are handed between threads by `reserved` (unique ranges), header words (release/acquire) and
// `freed` (release/acquire) of the ring.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}

impl Memory {
    /// `size` bytes of zeros: a power of two.
    pub(crate) fn new(size: usize) -> Memory {
        assert!(size.is_power_of_two() && size as u64 >= BLOCK);
        // Small alignment, so that zeroed memory comes from the kernel untouched; aligned by hand.
        let layout = Layout::from_size_align(size + BLOCK as usize, 16).unwrap_or_else(|_| panic!("ring of {size}"));
        // SAFETY: the size is not zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        let skip = memory.as_ptr().align_offset(BLOCK as usize);
        assert!(skip < BLOCK as usize);
        // SAFETY: `skip` is below BLOCK, and that much more than `size` was allocated.
        let base = unsafe { memory.as_ptr().add(skip) };
        Memory { memory, layout, base, mask: size as u64 - 1 }
    }

    #[inline]
    pub(crate) fn size(&self) -> u64 {
        self.mask + 1
    }

    /// The header word of a record that starts at `lsn`.
    #[inline]
    pub(crate) fn word(&self, lsn: u64) -> &AtomicU64 {
        debug_assert_eq!(lsn % WORD, 0);
        // SAFETY: the offset is below the size and a multiple of 8, the base is aligned to 4096. Record starts are
        // accessed through this atomic only, until the record is published; afterwards only read, until freed.
        unsafe { &*self.base.add((lsn & self.mask) as usize).cast::<AtomicU64>() }
    }

    /// Copies `bytes` to `lsn` and on, around the end of the ring.
    ///
    /// # Safety
    /// The range is reserved by the caller, not published, there is room for it, and it does not contain the record's
    /// header word.
    pub(crate) unsafe fn copy_in(&self, lsn: u64, bytes: &[u8]) {
        let at = (lsn & self.mask) as usize;
        let first = bytes.len().min(self.size() as usize - at);
        // SAFETY: both targets are inside the ring and belong to the caller alone.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(at), first);
            std::ptr::copy_nonoverlapping(bytes.as_ptr().add(first), self.base, bytes.len() - first);
        }
    }

    /// The bytes `[from, to)` as up to two pieces.
    ///
    /// # Safety
    /// They are published and not freed, and no thread frees them while the pieces are in use.
    pub(crate) unsafe fn pieces(&self, from: u64, to: u64) -> [&[u8]; 2] {
        gannet_base::check!(from <= to && to - from <= self.size(), "a part of the log's ring that is none");
        let at = (from & self.mask) as usize;
        let len = (to - from) as usize;
        let first = len.min(self.size() as usize - at);
        // SAFETY: no thread writes published bytes before they are freed; acquiring `complete` made them visible.
        // Header words inside are only read (atomically) meanwhile.
        unsafe {
            [std::slice::from_raw_parts(self.base.add(at), first), std::slice::from_raw_parts(self.base, len - first)]
        }
    }

    /// Zeroes `[from, to)`.
    ///
    /// # Safety
    /// The range is published and belongs to the caller alone: no thread reads it any more, and none has reserved it
    /// again yet.
    pub(crate) unsafe fn zero(&self, from: u64, to: u64) {
        gannet_base::check!(from <= to && to - from <= self.size(), "a part of the log's ring that is none");
        let at = (from & self.mask) as usize;
        let len = (to - from) as usize;
        let first = len.min(self.size() as usize - at);
        // SAFETY: these bytes belong to the caller.
        unsafe {
            std::ptr::write_bytes(self.base.add(at), 0, first);
            std::ptr::write_bytes(self.base, 0, len - first);
        }
    }
}
