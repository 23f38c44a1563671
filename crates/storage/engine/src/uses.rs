//! How often the rows of a tree are read and changed, for the tables that say what is used.
//!
//! Of the first threads each has a line of its own, which it alone writes, without an atomic read-modify-write; the
//! others share one. A line is made when its thread first uses the tree: most of many trees are used by nobody, or by
//! one thread, and take little room.

use gannet_base::CachePadded;
use gannet_base::slot;
use gannet_base::sync::OnceLock;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Threads with a line of their own: the workers, as far as machines have them.
const OWN: usize = 16;

/// Sums since the tree was opened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TreeUses {
    /// Rows, or entries, that were found by a key or in a range. A row that an index entry leads to counts there only.
    pub read: u64,
    /// Rows that were read from end to end, in no order ([`crate::ScanOptions::whole`]).
    pub scanned: u64,
    /// Rows that were inserted, updated and deleted; of a row tree only.
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

/// Places in a line, in the order of [`TreeUses`].
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Read,
    Scanned,
    Inserted,
    Updated,
    Deleted,
}

type Line = [AtomicU64; 5];

pub(crate) struct Uses {
    /// Of the thread that was the first to use the tree.
    first: OnceLock<Box<First>>,
    /// Of the others.
    more: OnceLock<Box<Lines>>,
}

/// On a cache line that nobody else writes.
#[repr(align(64))]
struct First {
    slot: usize,
    line: Line,
}

#[derive(Default)]
struct Lines {
    own: [OnceLock<Box<CachePadded<Line>>>; OWN],
    others: OnceLock<Box<CachePadded<Line>>>,
}

fn new_line() -> Box<CachePadded<Line>> {
    Box::new(CachePadded::new(Line::default()))
}

impl Uses {
    pub(crate) fn new() -> Uses {
        Uses { first: OnceLock::new(), more: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn add(&self, what: Use, n: u64) {
        let slot = slot::current();
        // Not a read-modify-write: the calling thread is the only writer.
        let bump = |cell: &AtomicU64| cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        let first = self.first.get_or_init(|| Box::new(First { slot, line: Line::default() }));
        if first.slot == slot {
            return bump(&first.line[what as usize]);
        }
        let lines = self.more.get_or_init(Box::default);
        match lines.own.get(slot) {
            Some(line) => bump(&line.get_or_init(new_line)[what as usize]),
            None => drop(lines.others.get_or_init(new_line)[what as usize].fetch_add(n, Relaxed)),
        }
    }

    /// Asks the processor for the line of the thread that was the first.
    #[inline]
    pub(crate) fn approach(&self) {
        if let Some(first) = self.first.get() {
            gannet_base::prefetch(&**first, 0..size_of::<First>());
        }
    }

    pub(crate) fn sum(&self) -> TreeUses {
        let Some(first) = self.first.get() else { return TreeUses::default() };
        let more = self.more.get().into_iter();
        let more = more.flat_map(|lines| lines.own.iter().chain([&lines.others]).filter_map(|line| line.get()));
        let mut sums = [0u64; 5];
        for line in more.map(|line| &line.0).chain([&first.line]) {
            sums.iter_mut().zip(line.iter()).for_each(|(sum, cell)| *sum = sum.wrapping_add(cell.load(Relaxed)));
        }
        let [read, scanned, inserted, updated, deleted] = sums;
        TreeUses { read, scanned, inserted, updated, deleted }
    }
}

impl TreeUses {
    /// What was added since `before`, an earlier state.
    pub fn since(self, before: TreeUses) -> TreeUses {
        TreeUses {
            read: self.read.wrapping_sub(before.read),
            scanned: self.scanned.wrapping_sub(before.scanned),
            inserted: self.inserted.wrapping_sub(before.inserted),
            updated: self.updated.wrapping_sub(before.updated),
            deleted: self.deleted.wrapping_sub(before.deleted),
        }
    }

    /// Both together.
    pub fn and(self, other: TreeUses) -> TreeUses {
        TreeUses {
            read: self.read.wrapping_add(other.read),
            scanned: self.scanned.wrapping_add(other.scanned),
            inserted: self.inserted.wrapping_add(other.inserted),
            updated: self.updated.wrapping_add(other.updated),
            deleted: self.deleted.wrapping_add(other.deleted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200,000 tables, each used by one thread, take 18.3 MiB.
    #[test]
    fn a_tree_that_one_thread_uses_takes_little_room() {
        assert!(size_of::<Uses>() + size_of::<First>() <= 96);
    }

    #[test]
    fn all_threads_count() {
        let uses = std::sync::Arc::new(Uses::new());
        let threads: Vec<_> = (0..OWN + 4)
            .map(|_| {
                let uses = uses.clone();
                std::thread::spawn(move || (0..1000).for_each(|_| uses.add(Use::Read, 2)))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        uses.add(Use::Deleted, 1);
        let sum = uses.sum();
        assert_eq!(sum, TreeUses { read: (OWN as u64 + 4) * 2000, deleted: 1, ..TreeUses::default() });
        assert_eq!(sum.since(sum), TreeUses::default());
    }
}
