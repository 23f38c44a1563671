//! Memory that is fetched before it is used. Where thousands of connections take turns, all that belongs to one has left the
//! processor's caches when its turn comes; a worker that knows whose turn is next has it fetched while others are served.

/// Asks the processor for the lines that a value lies on. A hint: nothing is read or changed.
#[inline]
pub fn prefetch<T: ?Sized>(of: &T) {
    prefetch_first(of, usize::MAX);
}

/// The same for the first `bytes` of a value.
#[inline]
pub fn prefetch_first<T: ?Sized>(of: &T, bytes: usize) {
    const LINE: usize = 64;
    let start = std::ptr::from_ref(of).addr();
    let end = start + size_of_val(of).min(bytes);
    for line in (start & !(LINE - 1)..end).step_by(LINE) {
        fetch(line);
    }
}

#[inline]
fn fetch(address: usize) {
    // SAFETY: the instruction changes nothing that a program sees, whatever the address is.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
