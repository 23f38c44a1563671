//! A hint to the processor.

use std::ops::Range;

/// Asks for the lines of the bytes `part` of `value`. What is about to be touched piece by piece, and has left the
/// caches, then arrives all at once. Changes nothing.
#[inline]
pub fn prefetch<T>(value: &T, part: Range<usize>) {
    debug_assert!(part.end <= size_of::<T>());
    prefetch_at(std::ptr::from_ref(value).cast(), part);
}

/// As [`prefetch`], of the bytes `part` behind an address, whatever is there.
#[inline]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the intrinsic takes any pointer"))]
pub fn prefetch_at(address: *const u8, part: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        // Whole lines, from the one in which the part begins.
        let before = (address.addr() + part.start) % LINE;
        let first = address.wrapping_add(part.start).wrapping_sub(before).cast::<i8>();
        let (mut at, end) = (0, before + part.len());
        while at < end {
            // SAFETY: the instruction reads and writes nothing that a program can see, and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, part);
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_part_may_be_asked_for() {
        let values = [0_u8; 1000];
        for part in [0..0, 0..1, 63..65, 1..1000, 1000..1000] {
            super::prefetch(&values, part);
        }
    }
}
