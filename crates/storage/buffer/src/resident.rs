//! The set of resident pages: a bounded open-addressing table of page numbers. The clock hand and the checkpoint sweep
//! go round its slots; nobody looks pages up in it.
//!
//! Beside each page number stands how often the hand has lately found the page used, [`MOST_USES`] at most (generalized CLOCK:
//! Nicola, Dan and Dias, "Analysis of the Generalized Clock Buffer Replacement Scheme", 1992). A page that is used again and
//! again (inner pages, small indexes) so outlives those used once, also where the whole pool goes round in a second. Only the
//! hand writes the counts: using a page costs no more than taking away its mark.

use gannet_base::PageNo;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};

const EMPTY: u64 = 0;
const TOMB: u64 = 1;
const FIRST: u64 = 2;

/// Bits of a slot that name the page; those above count its uses.
const PAGE_BITS: u32 = 56;
const ONE_USE: u64 = 1 << PAGE_BITS;

/// Rounds in which the hand finds a page unused before the page goes, at most.
pub(crate) const MOST_USES: u64 = 4;

/// Which page a slot names.
const fn named(slot: u64) -> u64 {
    slot & (ONE_USE - 1)
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
        // Fibonacci hashing: neighbours in the file are spread over the table.
        (no.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & (self.slots.len() - 1)
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
            i = (i + 1) & (self.slots.len() - 1);
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
            i = (i + 1) & (self.slots.len() - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: a resident page is not in the table");
    }

    /// The hand passes slot `i` and has found its page `used` since the last time, or not. `true`: not for so many rounds that the
    /// page may go.
    pub(crate) fn pass(&self, i: usize, used: bool) -> bool {
        let slot = &self.slots[i & (self.slots.len() - 1)];
        let seen = slot.load(Relaxed);
        let next = match seen >> PAGE_BITS {
            uses if used && uses < MOST_USES => seen + ONE_USE,
            uses if !used && uses > 1 => seen - ONE_USE,
            _ => return !used,
        };
        // Whoever else passes at the same time, or takes the page out, may win: a use more or less does not matter.
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
    fn a_page_used_often_stays_as_many_rounds() {
        let r = Resident::new(100);
        r.insert(PageNo(7));
        let i = (0..r.len()).find(|&i| r.get(i).is_some()).unwrap();
        // Read ahead and never used: it goes at once. Used once: in the next round.
        assert!(r.pass(i, false));
        assert!(!r.pass(i, true));
        assert!(r.pass(i, false));
        for _ in 0..10 {
            assert!(!r.pass(i, true));
        }
        let rounds = (0..10).take_while(|_| !r.pass(i, false)).count();
        assert_eq!(rounds as u64, MOST_USES - 1);
        assert_eq!(r.get(i), Some(PageNo(7)));
        r.remove(PageNo(7));
        assert_eq!(r.get(i), None);
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
