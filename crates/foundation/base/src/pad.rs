use std::ops::{Deref, DerefMut};

use crate::slot::MAX_SLOTS;
use crate::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

/// A value alone on its cache lines. 128 bytes, because x86 prefetches lines in pairs and some ARM lines are that long.
#[derive(Default, Debug)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> CachePadded<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        CachePadded(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// One `T` for each slot (worker or plain thread), made on first use, each on its own cache lines.
///
/// `T` is shared (any thread may read another slot's value), so it holds atomics; the convention is that only the
/// slot's own thread writes it, with plain relaxed loads and stores. A slot's value outlives the thread and is taken
/// over by the next thread that gets the slot.
pub struct PerSlot<T> {
    slots: Box<[std::sync::OnceLock<Box<CachePadded<T>>>]>,
    /// No value is at or beyond this. Rises before the value is there, so a reader that sees a value sees that it is
    /// below.
    end: AtomicUsize,
    make: fn() -> T,
}

impl<T> PerSlot<T> {
    /// No values yet; `make` makes one when a slot is first used.
    pub fn new(make: fn() -> T) -> Self {
        let slots = (0..MAX_SLOTS).map(|_| std::sync::OnceLock::new()).collect();
        PerSlot { slots, end: AtomicUsize::new(0), make }
    }

    /// The value of `slot` (below [`MAX_SLOTS`]).
    #[inline]
    pub fn get(&self, slot: usize) -> &T {
        &self.slots[slot].get_or_init(|| self.first(slot)).0
    }

    #[cold]
    fn first(&self, slot: usize) -> Box<CachePadded<T>> {
        self.end.fetch_max(slot + 1, AcqRel);
        Box::new(CachePadded::new((self.make)()))
    }

    /// All values that exist, with their slots. Looks at no more slots than up to the greatest that was used.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots[..self.end.load(Acquire)].iter().enumerate().filter_map(|(i, s)| s.get().map(|v| (i, &v.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn one_value_a_slot() {
        let per = PerSlot::new(|| AtomicU64::new(0));
        assert_eq!(per.iter().count(), 0);
        per.get(3).store(7, Relaxed);
        per.get(1000).store(8, Relaxed);
        let all: Vec<_> = per.iter().map(|(i, v)| (i, v.load(Relaxed))).collect();
        assert_eq!(all, [(3, 7), (1000, 8)]);
        // The last slot is one of them, and none are left out by who comes later with a smaller one.
        per.get(MAX_SLOTS - 1).store(9, Relaxed);
        per.get(4).store(5, Relaxed);
        let all: Vec<_> = per.iter().map(|(i, v)| (i, v.load(Relaxed))).collect();
        assert_eq!(all, [(3, 7), (4, 5), (1000, 8), (MAX_SLOTS - 1, 9)]);
        assert_eq!(std::mem::align_of::<CachePadded<u8>>(), 128);
    }
}
