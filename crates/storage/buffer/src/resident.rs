//! The set of resident pages: a bounded open-addressing table of page numbers. The clock hand and the checkpoint
//! sweep go round its slots. No page is looked up in it.
//!
//! Each page number has a weight, [`MOST`] at most: the number of rounds in which the hand may find the page unused
//! before the page is evicted (generalized CLOCK: Nicola, Dan and Dias, "Analysis of the Generalized Clock Buffer
//! Replacement Scheme", 1992). A page that is used in the round in which it was loaded gets one. Each later round
//! that finds it used adds [`AGAIN`]. The difference matters where most pages are used once, and the hand goes round
//! several times between two uses of the others (the leaves of an index that nearly fits): if each use added one,
//! those would be evicted too. Only the hand writes the weights: using a page costs no more than clearing its mark.
//!
//! Pages of an extent have neighbouring slots, so the hand and the sweep find neighbours one after another, and write
//! them at once.

use gannet_base::PageNo;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};

const EMPTY: u64 = 0;
const TOMB: u64 = 1;
const FIRST: u64 = 2;

/// Bits of a slot that name the page; those above are its weight.
const PAGE_BITS: u32 = 56;
const ONE: u64 = 1 << PAGE_BITS;

/// Rounds in which the hand finds a page unused before the page goes, at most.
pub(crate) const MOST: u64 = 31;
/// What a round adds in which a page is used that was used in an earlier one.
const AGAIN: u64 = 8;

/// Neighbouring slots for neighbouring pages: those of an extent.
const BLOCK: usize = gannet_page::raw::EXTENT_PAGES as usize;
/// From a taken slot to the next one to try: one further in the next block. Odd, so that all slots are tried.
const STRIDE: usize = BLOCK + 1;

/// Which page a slot names.
const fn named(slot: u64) -> u64 {
    slot & (ONE - 1)
}

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
        // Fibonacci hashing of the extent.
        let block = ((no.0 / BLOCK as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize;
        (block * BLOCK + no.0 as usize % BLOCK) & (self.slots.len() - 1)
    }

    /// The page in slot `i`, if any.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<PageNo> {
        match named(self.slots[i & (self.slots.len() - 1)].load(Acquire)) {
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
            i = (i + STRIDE) & (self.slots.len() - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: more resident pages than the table was made for");
    }

    /// Takes a page out.
    pub(crate) fn remove(&self, no: PageNo) {
        let mut i = self.home(no);
        for _ in 0..self.slots.len() {
            if named(self.slots[i].load(Relaxed)) == no.0 + FIRST {
                self.slots[i].store(TOMB, Release);
                return;
            }
            i = (i + STRIDE) & (self.slots.len() - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: a resident page is not in the table");
    }

    /// The hand passes slot `i` and has found its page `used` since the last time, or not. `true`: not for so many
    /// rounds that the page may go.
    pub(crate) fn pass(&self, i: usize, used: bool) -> bool {
        let slot = &self.slots[i & (self.slots.len() - 1)];
        let seen = slot.load(Relaxed);
        let next = match seen >> PAGE_BITS {
            0 if used => seen + ONE,
            weight if used && weight < MOST => seen + AGAIN.min(MOST - weight) * ONE,
            weight if !used && weight > 1 => seen - ONE,
            _ => return !used,
        };
        // Another task that passes at the same time, or removes the page, may win: one round more or less does not
        // matter.
        let _ = slot.compare_exchange(seen, next, Relaxed, Relaxed);
        false
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
    fn a_page_used_again_stays_for_rounds() {
        let r = Resident::new(100);
        r.insert(PageNo(7));
        let i = (0..r.len()).find(|&i| r.get(i).is_some()).unwrap();
        let rounds = || (0..100).take_while(|_| !r.pass(i, false)).count() as u64;
        // Read ahead and never used: it goes at once. Used when it came: in the next round.
        assert!(r.pass(i, false));
        assert!(!r.pass(i, true));
        assert!(r.pass(i, false));
        // Used again.
        assert!(!r.pass(i, true));
        assert_eq!(rounds(), AGAIN);
        for _ in 0..10 {
            assert!(!r.pass(i, true));
        }
        assert_eq!(rounds(), MOST - 1);
        assert_eq!(r.get(i), Some(PageNo(7)));
        r.remove(PageNo(7));
        assert_eq!(r.get(i), None);
    }

    #[test]
    fn neighbours_in_the_file_are_neighbours_here() {
        let r = Resident::new(1000);
        (640..704).rev().for_each(|no| r.insert(PageNo(no)));
        let found: Vec<usize> = (0..r.len()).filter(|&i| r.get(i).is_some()).collect();
        let seen: Vec<u64> = found.iter().filter_map(|&i| r.get(i)).map(|no| no.0).collect();
        assert_eq!(seen, (640..704).collect::<Vec<_>>());
        assert_eq!(found[63] - found[0], 63);
        // The first pages of many extents, as of many small tables, fill the table as far as it was made for.
        let r = Resident::new(1000);
        (0..1000).for_each(|e| r.insert(PageNo(e * 64)));
        (0..1000).for_each(|e| r.remove(PageNo(e * 64)));
        assert_eq!((0..r.len()).find_map(|i| r.get(i)), None);
    }

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
