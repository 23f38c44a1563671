//! The set of resident pages: a bounded open-addressing table of page numbers. The clock hand and the checkpoint sweep
//! go round its slots; nobody looks pages up in it.

use gannet_base::PageNo;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};

const EMPTY: u64 = 0;
const TOMB: u64 = 1;
const FIRST: u64 = 2;

pub(crate) struct Resident {
    slots: Box<[AtomicU64]>,
    hand: AtomicU64,
}

impl Resident {
    /// A table for at most `pages` resident pages: half of its slots stay free.
    pub(crate) fn new(pages: usize) -> Self {
        let len = (2 * pages).next_power_of_two().max(64);
        Resident { slots: (0..len).map(|_| AtomicU64::new(EMPTY)).collect(), hand: AtomicU64::new(0) }
    }

    /// Slots in the table.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    fn home(&self, no: PageNo) -> usize {
        // Fibonacci hashing: neighbours in the file are spread over the table.
        (no.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & (self.slots.len() - 1)
    }

    /// The page in slot `i`, if any.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<PageNo> {
        match self.slots[i & (self.slots.len() - 1)].load(Acquire) {
            EMPTY | TOMB => None,
            v => Some(PageNo(v - FIRST)),
        }
    }

    /// Enters a page. Only the task that makes it resident calls this, so it is there at most once.
    pub(crate) fn insert(&self, no: PageNo) {
        let mut i = self.home(no);
        for _ in 0..self.slots.len() {
            let slot = &self.slots[i];
            let seen = slot.load(Relaxed);
            if (seen == EMPTY || seen == TOMB) && slot.compare_exchange(seen, no.0 + FIRST, AcqRel, Relaxed).is_ok() {
                return;
            }
            // A slot lost to another page counts as taken.
            i = (i + 1) & (self.slots.len() - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: more resident pages than the table was made for");
    }

    /// Takes a page out.
    pub(crate) fn remove(&self, no: PageNo) {
        let mut i = self.home(no);
        for _ in 0..self.slots.len() {
            if self.slots[i].load(Relaxed) == no.0 + FIRST {
                self.slots[i].store(TOMB, Release);
                return;
            }
            i = (i + 1) & (self.slots.len() - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: a resident page is not in the table");
    }

    /// Moves the clock hand over `n` slots and gives the first of them.
    pub(crate) fn advance(&self, n: usize) -> usize {
        self.hand.fetch_add(n as u64, Relaxed) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_and_removes_through_many_generations() {
        let r = Resident::new(100);
        for generation in 0..200u64 {
            for i in 0..100 {
                r.insert(PageNo(generation * 37 + i * 64));
            }
            let mut seen: Vec<_> = (0..r.len()).filter_map(|i| r.get(i)).collect();
            seen.sort();
            assert_eq!(seen, (0..100).map(|i| PageNo(generation * 37 + i * 64)).collect::<Vec<_>>());
            for i in 0..100 {
                r.remove(PageNo(generation * 37 + i * 64));
            }
        }
        assert_eq!((0..r.len()).find_map(|i| r.get(i)), None);
    }
}
