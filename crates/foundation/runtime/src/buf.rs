use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of [`AlignedBuf`] in memory: what O_DIRECT asks for on every device in use.
pub const ALIGN: usize = 4096;

/// From this length on a buffer is a mapping of its own, in huge pages where the system has them.
const MAPPED: usize = 1 << 20;

/// Bytes at an address that is a multiple of [`ALIGN`], for O_DIRECT.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer is plain bytes owned by this value alone, as in a Box<[u8]>.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        if len >= MAPPED {
            return AlignedBuf { ptr: map(len), len };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        AlignedBuf { ptr: NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout)), len }
    }

    /// The address, for memory that the kernel writes at times of its own.
    pub(crate) fn raw(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    fn layout(len: usize) -> Layout {
        match Layout::from_size_align(len.max(1), ALIGN) {
            Ok(layout) => layout,
            Err(_) => panic!("a buffer of {len} bytes is too large"),
        }
    }
}

/// A mapping of `len` zero bytes: memory from the kernel is zero, and need not be touched for that.
fn map(len: usize) -> NonNull<u8> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping at an address the kernel chooses touches no existing memory.
    let ptr = unsafe { libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0) };
    match NonNull::new(ptr.cast::<u8>()).filter(|_| ptr != libc::MAP_FAILED) {
        Some(ptr) => {
            // SAFETY: the range is the mapping just made. Only advice: the result does not matter.
            unsafe { libc::madvise(ptr.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
            ptr
        }
        None => handle_alloc_error(AlignedBuf::layout(len)),
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.len >= MAPPED {
            // SAFETY: mapped in `zeroed` with this length, and nobody borrows from it any more.
            unsafe { libc::munmap(self.ptr.as_ptr().cast(), self.len) };
            return;
        }
        // SAFETY: allocated in `zeroed` with the same layout.
        unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes were allocated at `ptr` and are owned by self.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and self is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        let mut copy = AlignedBuf::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_zero() {
        let mut b = AlignedBuf::zeroed(5000);
        assert_eq!(b.as_ptr() as usize % ALIGN, 0);
        assert!(b.len() == 5000 && b.iter().all(|&x| x == 0));
        b[4999] = 1;
        assert_eq!(b.clone()[4999], 1);
        assert!(AlignedBuf::zeroed(0).is_empty());
        let mut large = AlignedBuf::zeroed(MAPPED + 5);
        assert_eq!(large.as_ptr() as usize % ALIGN, 0);
        large[MAPPED + 4] = 1;
        assert_eq!(large.iter().map(|&b| u32::from(b)).sum::<u32>(), 1);
    }
}
