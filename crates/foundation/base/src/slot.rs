//! A small dense number for each live thread, for per-thread state in arrays.
//!
//! Taken at the first call on a thread, given back when the thread ends and then handed to another thread. State kept
//! by slot is thus taken over, not lost.

use std::cell::Cell;
use std::sync::Mutex;

/// Slots are below this; the process may have as many live threads that use slots, no more.
pub const MAX_SLOTS: usize = 1024;

struct Free {
    taken: [bool; MAX_SLOTS],
    high_water: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { taken: [false; MAX_SLOTS], high_water: 0 });

struct Held(usize);

impl Drop for Held {
    fn drop(&mut self) {
        CURRENT.set(NONE);
        lock().taken[self.0] = false;
    }
}

const NONE: usize = usize::MAX;

thread_local! {
    // Two variables: the fast path reads one without a destructor, which is a plain load.
    static CURRENT: Cell<usize> = const { Cell::new(NONE) };
    static HELD: Cell<Option<Held>> = const { Cell::new(None) };
}

fn lock() -> std::sync::MutexGuard<'static, Free> {
    FREE.lock().unwrap_or_else(|e| e.into_inner())
}

/// The calling thread's slot.
///
/// # Panics
/// When more than [`MAX_SLOTS`] live threads ask for one.
#[inline]
pub fn current() -> usize {
    let slot = CURRENT.get();
    if slot != NONE { slot } else { take() }
}

#[cold]
fn take() -> usize {
    let slot = {
        let mut free = lock();
        let slot = free.taken.iter().position(|t| !t).expect("more than 1024 threads");
        free.taken[slot] = true;
        free.high_water = free.high_water.max(slot + 1);
        slot
    };
    CURRENT.set(slot);
    // While the thread's destructors run there is nowhere to keep the guard: the slot then stays taken, which costs one
    // slot and harms nobody.
    let _ = HELD.try_with(|h| h.set(Some(Held(slot))));
    slot
}

/// One more than the greatest slot ever taken.
pub fn high_water() -> usize {
    lock().high_water
}

#[cfg(test)]
mod tests {
    #[test]
    fn given_back_and_distinct() {
        let mine = super::current();
        assert_eq!(mine, super::current());
        for _ in 0..2000 {
            let other = std::thread::spawn(super::current).join().unwrap();
            assert_ne!(other, mine);
        }
        assert!(super::high_water() < 64);
    }
}
