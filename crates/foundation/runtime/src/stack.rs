use crate::cx::CX;

/// Bytes of stack left to the current task: parsers and evaluators of nested expressions refuse with an error before it
/// runs out. Works on fibers and on plain threads.
#[inline]
pub fn remaining_stack() -> usize {
    let low = match CX.with(|cx| cx.stack_low.get()) {
        0 => find_thread_stack(),
        low => low,
    };
    approximate_sp().saturating_sub(low)
}

#[inline(always)]
fn approximate_sp() -> usize {
    let here = 0u8;
    &raw const here as usize
}

/// Looks up the calling thread's stack once.
#[cold]
fn find_thread_stack() -> usize {
    // SAFETY: `attr` is initialised by pthread_getattr_np when that returns 0, and destroyed exactly then.
    let low = unsafe {
        let mut attr = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attr) == 0 {
            let (mut base, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
            libc::pthread_attr_getstack(&attr, &mut base, &mut size);
            libc::pthread_attr_getguardsize(&attr, &mut guard);
            libc::pthread_attr_destroy(&mut attr);
            base as usize + guard
        } else {
            0
        }
    };
    // Not known: assume that 64 KiB are left below here.
    let low = if low == 0 { approximate_sp().saturating_sub(64 << 10) } else { low };
    CX.with(|cx| cx.stack_low.set(low));
    low
}

#[cfg(test)]
mod tests {
    #[test]
    fn shrinks_with_depth() {
        fn deep(n: u32) -> usize {
            let pad = std::hint::black_box([n as u8; 1024]);
            let left = if n == 0 { super::remaining_stack() } else { deep(n - 1) };
            std::hint::black_box(&pad);
            left
        }
        let t = std::thread::Builder::new().stack_size(1 << 20).spawn(|| (super::remaining_stack(), deep(100)));
        let (top, bottom) = t.unwrap().join().unwrap();
        // The system may hand out a larger stack that it has kept from another thread.
        assert!(top > 900 << 10 && top <= 16 << 20, "{top}");
        assert!(bottom < top - (100 << 10) && bottom > 256 << 10, "{bottom}");
    }
}
