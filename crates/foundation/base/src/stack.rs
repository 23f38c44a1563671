//! How much is left of the stack that the calling code runs on: what recurses over something of a client's size asks
//! before it goes deeper, and refuses with an error.

use std::cell::Cell;

thread_local! {
    static LOW: Cell<usize> = const { Cell::new(0) };
}

/// Bytes left to the current stack; `usize::MAX` on a thread that nobody has told of ([`set_low`]).
#[inline]
pub fn remaining() -> usize {
    match low() {
        0 => usize::MAX,
        low => position().saturating_sub(low),
    }
}

/// Lowest usable address of the current stack, or 0 when it is not known.
#[inline]
pub fn low() -> usize {
    LOW.get()
}

/// Whoever changes stacks tells the lowest usable address of the one that runs next, and gets back what it was.
#[inline]
pub fn set_low(low: usize) -> usize {
    LOW.replace(low)
}

/// About where the stack is.
#[inline(always)]
pub fn position() -> usize {
    let here = 0u8;
    &raw const here as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_with_depth() {
        fn deep(n: u32) -> usize {
            let pad = std::hint::black_box([n as u8; 1024]);
            let left = if n == 0 { remaining() } else { deep(n - 1) };
            std::hint::black_box(&pad);
            left
        }
        assert_eq!(remaining(), usize::MAX);
        assert_eq!(set_low(position() - (1 << 20)), 0);
        let (top, bottom) = (remaining(), deep(100));
        // The place of a local is where the compiler puts it in the frame.
        assert!(top <= (1 << 20) + 1024 && top > 900 << 10, "{top}");
        assert!(bottom < top - (100 << 10), "{bottom}");
        set_low(0);
    }
}
