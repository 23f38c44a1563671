//! The set of resident pages: a bounded table of page numbers. The clock hand and the checkpoint sweep go round its
//! slots. No page is looked up in it: a page knows its slot.
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
//!
//! A table that grows doubles: slots are appended, and the pages that are there stay where they are. Where a new page
//! goes depends on how many slots are *entered*; that is all of them, or fewer after the pool has shrunk. The others
//! are then left by and by, but gone over as long as the server runs.
//!
//! *Sectors* are ranges of slots for the checkpoint's sweep. Those that are there stay as they are when others are
//! appended.

use std::ops::Range;

use gannet_base::PageNo;
use gannet_base::sync::OnceLock;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

const EMPTY: u64 = 0;
const FIRST: u64 = 1;

/// Parts of the table: the first slots, and one for each time that it has doubled.
const PARTS: usize = 28;
/// Slots of a sector at least, and sectors of a part at most.
const SECTOR: usize = 4096;
const MOST_SECTORS: usize = 32;

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

/// The page in a slot, if any.
#[inline]
fn page(slot: &AtomicU64) -> Option<PageNo> {
    named(slot.load(Acquire)).checked_sub(FIRST).map(PageNo)
}

pub(crate) struct Resident {
    /// Part 0 has the slots below `base`, part k those from `base << (k - 1)` to `base << k`.
    parts: [OnceLock<Box<[AtomicU64]>>; PARTS],
    /// A power of two, as are the following.
    base: usize,
    len: AtomicUsize,
    entered: AtomicUsize,
    hand: AtomicU64,
}

impl Resident {
    /// A table for at most `pages` resident pages: half of its slots stay free.
    pub(crate) fn new(pages: usize) -> Self {
        let base = Self::slots_for(pages);
        let table = Resident {
            parts: std::array::from_fn(|_| OnceLock::new()),
            base,
            len: AtomicUsize::new(base),
            entered: AtomicUsize::new(base),
            hand: AtomicU64::new(0),
        };
        table.part(0);
        table
    }

    fn slots_for(pages: usize) -> usize {
        (2 * pages).next_power_of_two().max(64)
    }

    /// From now on there may be `pages` resident pages. When these are fewer than before, there are no more already.
    pub(crate) fn resize(&self, pages: usize) {
        let slots = Self::slots_for(pages);
        while self.len() < slots {
            self.part((self.len() / self.base).ilog2() as usize + 1);
            self.len.store(2 * self.len(), Release);
        }
        self.entered.store(slots, Release);
    }

    /// The slots of a part, made when it is first asked for.
    fn part(&self, k: usize) -> &[AtomicU64] {
        let len = if k == 0 { self.base } else { self.base << (k - 1) };
        self.parts[k].get_or_init(|| (0..len).map(|_| AtomicU64::new(EMPTY)).collect())
    }

    /// Slots in the table.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// The part that slot `i` of the table is in, and where.
    fn place(&self, i: usize) -> (&[AtomicU64], usize) {
        match i >> self.base.trailing_zeros() {
            0 => (self.part(0), i),
            n => {
                let k = n.ilog2() as usize + 1;
                (self.part(k), i - (self.base << (k - 1)))
            }
        }
    }

    /// Slot `i`, which is in the table.
    fn at(&self, i: usize) -> &AtomicU64 {
        let (part, i) = self.place(i);
        &part[i]
    }

    /// The sectors: none lies in two parts.
    fn sector_ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let appended = std::iter::successors(Some(self.base), |first| Some(2 * first));
        let appended = appended.take_while(|first| *first < self.len()).map(|first| first..2 * first);
        std::iter::once(0..self.base).chain(appended).flat_map(|part| {
            let size = part.len() / (part.len() / SECTOR).clamp(1, MOST_SECTORS);
            part.clone().step_by(size).map(move |first| first..first + size)
        })
    }

    /// How many sectors there are.
    pub(crate) fn sectors(&self) -> usize {
        self.sector_ranges().count()
    }

    /// The slots of a sector.
    fn sector(&self, n: usize) -> Range<usize> {
        self.sector_ranges().nth(n).unwrap_or(0..0)
    }

    /// The pages in a sector's slots. Most slots of a large pool are empty: they are gone over as one array.
    pub(crate) fn in_sector(&self, n: usize) -> impl Iterator<Item = PageNo> + '_ {
        let range = self.sector(n);
        let (part, first) = self.place(range.start);
        part[first..first + range.len()].iter().filter_map(page)
    }

    /// The page in slot `i`, if any.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<PageNo> {
        page(self.at(i & (self.len() - 1)))
    }

    /// Enters a page and returns its slot. Only the task that makes it resident calls this, so it is there at most
    /// once.
    pub(crate) fn insert(&self, no: PageNo) -> u32 {
        let entered = self.entered.load(Acquire);
        // Fibonacci hashing of the extent.
        let block = ((no.0 / BLOCK as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize;
        let mut i = (block * BLOCK + no.0 as usize % BLOCK) & (entered - 1);
        for _ in 0..entered {
            let slot = self.at(i);
            if slot.load(Relaxed) == EMPTY && slot.compare_exchange(EMPTY, no.0 + FIRST, AcqRel, Relaxed).is_ok() {
                return i as u32;
            }
            // A slot lost to another page counts as taken.
            i = (i + STRIDE) & (entered - 1);
        }
        gannet_base::check!(false, "INV-BUF-7: more resident pages than the table was made for");
        0
    }

    /// Takes a page out of its slot.
    pub(crate) fn remove(&self, slot: u32, no: PageNo) {
        let slot = self.at(slot as usize);
        gannet_base::check!(named(slot.load(Relaxed)) == no.0 + FIRST, "INV-BUF-7: a page is not in its slot");
        slot.store(EMPTY, Release);
    }

    /// The hand passes slot `i` and has found its page `used` since the last time, or not. `true`: not for so many
    /// rounds that the page may go.
    pub(crate) fn pass(&self, i: usize, used: bool) -> bool {
        let slot = self.at(i & (self.len() - 1));
        let seen = slot.load(Relaxed);
        let next = match seen >> PAGE_BITS {
            _ if named(seen) == EMPTY => return false,
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
        self.hand.fetch_add(n as u64, Relaxed) as usize & (self.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_used_again_stays_for_rounds() {
        let r = Resident::new(100);
        let slot = r.insert(PageNo(7));
        let i = slot as usize;
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
        r.remove(slot, PageNo(7));
        assert_eq!(r.get(i), None);
        // A page that leaves while the hand passes leaves an empty slot.
        assert!(!r.pass(i, true));
        assert_eq!(r.insert(PageNo(7)), slot);
    }

    #[test]
    fn neighbours_in_the_file_are_neighbours_here() {
        let r = Resident::new(1000);
        for no in (640..704).rev() {
            r.insert(PageNo(no));
        }
        let found: Vec<usize> = (0..r.len()).filter(|&i| r.get(i).is_some()).collect();
        let seen: Vec<u64> = found.iter().filter_map(|&i| r.get(i)).map(|no| no.0).collect();
        assert_eq!(seen, (640..704).collect::<Vec<_>>());
        assert_eq!(found[63] - found[0], 63);
        // The first pages of many extents, as of many small tables, fill the table as far as it was made for.
        let r = Resident::new(1000);
        let slots: Vec<u32> = (0..1000).map(|e| r.insert(PageNo(e * 64))).collect();
        (0..1000).for_each(|e| r.remove(slots[e as usize], PageNo(e * 64)));
        assert_eq!((0..r.len()).find_map(|i| r.get(i)), None);
    }

    #[test]
    fn inserts_and_removes_through_many_generations() {
        let r = Resident::new(100);
        for generation in 0..200u64 {
            let page = |i: u64| PageNo(generation * 37 + i * 64);
            let slots: Vec<u32> = (0..100).map(|i| r.insert(page(i))).collect();
            let mut seen: Vec<_> = (0..r.len()).filter_map(|i| r.get(i)).collect();
            seen.sort();
            assert_eq!(seen, (0..100).map(page).collect::<Vec<_>>());
            (0..100_u64).for_each(|i| r.remove(slots[i as usize], page(i)));
        }
        assert_eq!((0..r.len()).find_map(|i| r.get(i)), None);
    }

    #[test]
    fn a_table_that_grows_keeps_its_slots_and_sectors() {
        let r = Resident::new(5000);
        let old: Vec<u32> = (0..5000).map(|no| r.insert(PageNo(no))).collect();
        let sectors: Vec<_> = (0..r.sectors()).map(|n| r.sector(n)).collect();
        r.resize(40_000);
        let new: Vec<u32> = (5000..40_000).map(|no| r.insert(PageNo(no))).collect();
        for (no, &slot) in old.iter().chain(&new).enumerate() {
            assert_eq!(r.get(slot as usize), Some(PageNo(no as u64)));
        }
        assert!(new.iter().any(|&slot| slot as usize > r.len() / 2));
        // The sectors that were there are the same, and all together are the whole table.
        let now: Vec<_> = (0..r.sectors()).map(|n| r.sector(n)).collect();
        assert_eq!(now[..sectors.len()], sectors);
        assert!(now.windows(2).all(|w| w[0].end == w[1].start) && now[0].start == 0);
        assert_eq!(now.last().unwrap().end, r.len());
        // Gone over sector by sector, it has each page once.
        let mut pages: Vec<PageNo> = (0..r.sectors()).flat_map(|n| r.in_sector(n)).collect();
        pages.sort();
        assert_eq!(pages, (0..40_000).map(PageNo).collect::<Vec<_>>());
        assert_eq!(r.in_sector(r.sectors()).count(), 0);
        // Smaller again, new pages stay below; the others are still found.
        (6000..40_000).for_each(|no| r.remove(new[no - 5000], PageNo(no as u64)));
        r.resize(5000);
        (50_000..54_000).for_each(|no| assert!((r.insert(PageNo(no)) as usize) < sectors.last().unwrap().end));
        assert_eq!((0..r.len()).filter(|&i| r.get(i).is_some()).count(), 10_000);
    }
}
