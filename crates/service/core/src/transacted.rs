//! Transactions of sessions: how many, how long, and the last ones, for performance_schema's events_transactions_*.
//!
//! As for statements, a session adds to cells that it alone writes, and others read. A transaction that is one
//! statement lasts as long as that: it costs no look at the clock.

use gannet_base::Sequence;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_engine::Isolation;
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Transactions that a session keeps (`performance_schema_events_transactions_history_size`).
const KEPT: usize = 10;
/// Of all sessions (`performance_schema_events_transactions_history_long_size`).
const KEPT_LONG: usize = 10_000;

/// A count, and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    pub count: u64,
    pub total_ns: u64,
    /// `u64::MAX` without any.
    pub min_ns: u64,
    pub max_ns: u64,
}

impl Default for Timed {
    fn default() -> Self {
        Timed { count: 0, total_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Timed {
    /// Adds those of others.
    pub fn add(&mut self, other: &Timed) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Transactions that were READ WRITE, and those that were READ ONLY by what was said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    pub read_write: Timed,
    pub read_only: Timed,
}

impl Transactions {
    /// Adds those of others.
    pub fn add(&mut self, other: &Transactions) {
        self.read_write.add(&other.read_write);
        self.read_only.add(&other.read_only);
    }

    /// Both.
    pub fn all(&self) -> Timed {
        let mut all = self.read_write;
        all.add(&self.read_only);
        all
    }
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The session's statement that began it, and the one that ended it.
    pub number: u64,
    pub end_number: u64,
    /// As `now_ns` tells.
    pub started_ns: u64,
    pub latency_ns: u64,
    /// As `INNODB_TRX` has it; 0: it has not written.
    pub trx: u64,
    pub how: Packed,
}

/// A [`How`] in one word, as it is handed on and kept: bits `0 committed, 1 read_only, 2 autocommit, 3..5 isolation,
/// 7.. savepoints of 19 bits each`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed(u64);

const COMMITTED: u64 = 1;
const READ_ONLY: u64 = 2;

impl Packed {
    /// It has been committed, or not.
    #[inline]
    pub(crate) fn set_committed(&mut self, committed: bool) {
        self.0 = self.0 & !COMMITTED | u64::from(committed);
    }
}

impl From<How> for Packed {
    #[inline]
    fn from(how: How) -> Self {
        let flags = u64::from(how.committed) | u64::from(how.read_only) << 1 | u64::from(how.autocommit) << 2;
        let counts = match how.savepoints {
            [0, 0, 0] => 0,
            counts => counts.iter().rev().fold(0, |n, c| n << COUNT_BITS | u64::from(*c).min(MOST_SAVEPOINTS)),
        };
        Packed(flags | (how.isolation as u64) << 3 | counts << 7)
    }
}

/// What it was like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    pub committed: bool,
    pub read_only: bool,
    pub autocommit: bool,
    pub isolation: Isolation,
    /// Savepoints that were set, rolled back to, released.
    pub savepoints: [u32; 3],
}

/// Bits of each count of savepoints: what is more is shown as the most.
const COUNT_BITS: u32 = 19;
const MOST_SAVEPOINTS: u64 = (1 << COUNT_BITS) - 1;

impl From<Packed> for How {
    fn from(Packed(n): Packed) -> Self {
        let isolation = match n >> 3 & 3 {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        };
        let count = |i: u32| (n >> (7 + i * COUNT_BITS) & MOST_SAVEPOINTS) as u32;
        How {
            committed: n & COMMITTED != 0,
            read_only: n & READ_ONLY != 0,
            autocommit: n & 4 != 0,
            isolation,
            savepoints: [count(0), count(1), count(2)],
        }
    }
}

/// One place of the ring: a line. `sequence` guards the words: number and end number, start and latency, id,
/// [`Packed`].
#[derive(Default)]
#[repr(align(64))]
struct Place {
    sequence: Sequence,
    words: [AtomicU64; 6],
}

/// Sum, least and greatest time and count.
struct Cells([AtomicU64; 4]);

impl Default for Cells {
    fn default() -> Self {
        Cells([0, 0, u64::MAX, 0].map(AtomicU64::new))
    }
}

impl Cells {
    #[inline]
    fn add(&self, ns: u64) {
        let [count, total, min, max] = &self.0;
        let bump = |cell: &AtomicU64, n: u64| cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        bump(count, 1);
        bump(total, ns);
        if ns < min.load(Relaxed) {
            min.store(ns, Relaxed);
        }
        if ns > max.load(Relaxed) {
            max.store(ns, Relaxed);
        }
    }

    fn read(&self) -> Timed {
        let [count, total_ns, min_ns, max_ns] = self.0.each_ref().map(|n| n.load(Relaxed));
        Timed { count, total_ns, min_ns, max_ns }
    }

    fn clear(&self) {
        self.0.iter().zip([0, 0, u64::MAX, 0]).for_each(|(cell, n)| cell.store(n, Relaxed));
    }
}

/// The transactions of one session. Written by the session alone. What each one looks at is in front.
#[derive(Default)]
#[repr(C)]
pub struct Transacted {
    /// Of which round the sums are.
    pub(crate) round: AtomicU64,
    /// Those that were kept.
    count: AtomicU64,
    /// Made by the first one.
    places: OnceLock<Box<[Place; KEPT]>>,
    /// READ WRITE, READ ONLY.
    sums: [Cells; 2],
    /// The last one up to this is not shown as the current one.
    forgotten: AtomicU64,
    /// When the open one began that is more than a statement; 0: none is open.
    open_since_ns: AtomicU64,
    /// The statement that began it.
    open_number: AtomicU64,
    open_how: AtomicU64,
}

impl Transacted {
    /// One has ended: its part of the sums.
    #[inline]
    pub(crate) fn sum(&self, ended: &Ended) {
        self.sums[usize::from(ended.how.0 & READ_ONLY != 0)].add(ended.latency_ns);
    }

    /// Keeps one that has ended.
    #[inline]
    pub(crate) fn keep(&self, ended: &Ended) {
        let count = self.count.load(Relaxed);
        let places = self.places.get_or_init(Box::default);
        let place = &places[(count % KEPT as u64) as usize];
        let Ended { number, end_number, started_ns, latency_ns, trx, how } = *ended;
        place.sequence.write(|| {
            let words = [number, end_number, started_ns, latency_ns, trx, how.0];
            place.words.iter().zip(words).for_each(|(to, n)| to.store(n, Relaxed));
        });
        self.count.store(count + 1, Relaxed);
    }

    /// One that is more than a statement is open, since then.
    pub(crate) fn opens(&self, (since_ns, number): (u64, u64), how: How) {
        self.open_number.store(number, Relaxed);
        self.open_how.store(Packed::from(how).0, Relaxed);
        self.open_since_ns.store(since_ns, Relaxed);
    }

    /// None is open.
    pub(crate) fn closes(&self) {
        self.open_since_ns.store(0, Relaxed);
    }

    /// Since when one is open that is more than a statement, the statement that began it, and what it is like.
    pub fn open(&self) -> Option<(u64, u64, How)> {
        let since = self.open_since_ns.load(Relaxed);
        (since != 0).then(|| (since, self.open_number.load(Relaxed), Packed(self.open_how.load(Relaxed)).into()))
    }

    /// The sums.
    pub fn read(&self) -> Transactions {
        let [read_write, read_only] = &self.sums;
        Transactions { read_write: read_write.read(), read_only: read_only.read() }
    }

    pub(crate) fn clear(&self) {
        self.sums.iter().for_each(Cells::clear);
    }

    /// Those that are kept, the oldest first. One that its session is writing over is left out.
    pub fn kept(&self) -> Vec<Ended> {
        let Some(places) = self.places.get() else { return Vec::new() };
        let mut all: Vec<Ended> = places.iter().filter_map(Place::read).collect();
        all.sort_unstable_by_key(|e| (e.started_ns + e.latency_ns, e.end_number));
        all
    }

    /// The last one that has ended.
    pub fn last(&self) -> Option<Ended> {
        let at = self.count.load(Relaxed).checked_sub(1).filter(|at| *at >= self.forgotten.load(Relaxed))?;
        self.places.get()?[(at % KEPT as u64) as usize].read()
    }

    /// The last one is not shown as the current one any more.
    pub fn forget_last(&self) {
        self.forgotten.store(self.count.load(Relaxed), Relaxed);
    }

    /// Forgets those that are kept; those that end meanwhile may stay.
    pub fn forget_kept(&self) {
        if let Some(places) = self.places.get() {
            places.iter().for_each(|p| p.words[0].store(0, Relaxed));
        }
    }
}

impl Place {
    fn read(&self) -> Option<Ended> {
        let words = self.sequence.read(|| self.words.each_ref().map(|w| w.load(Relaxed)))?;
        let [number, end_number, started_ns, latency_ns, trx, how] = words;
        (number != 0).then_some(Ended { number, end_number, started_ns, latency_ns, trx, how: Packed(how) })
    }
}

/// The last transactions of all sessions, with their sessions: while that is asked for.
#[derive(Default)]
pub struct LongTransactions(Mutex<VecDeque<(u64, Ended)>>);

impl LongTransactions {
    /// Adds one of session `thread`.
    #[cold]
    pub(crate) fn add(&self, thread: u64, ended: Ended) {
        let mut all = self.0.lock();
        if all.len() == KEPT_LONG {
            all.pop_front();
        }
        all.push_back((thread, ended));
    }

    /// All, the oldest first.
    pub fn all(&self) -> Vec<(u64, Ended)> {
        self.0.lock().iter().copied().collect()
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(number: u64, latency_ns: u64) -> Ended {
        let savepoints = [3, 1 << 19, 0];
        let how =
            How { committed: true, read_only: false, autocommit: true, isolation: Isolation::Serializable, savepoints };
        Ended { number, end_number: number, started_ns: number * 10, latency_ns, trx: 7, how: how.into() }
    }

    #[test]
    fn the_last_ten_are_kept_and_all_are_summed_up() {
        let t = Transacted::default();
        assert_eq!((t.last(), t.kept().len(), t.open()), (None, 0, None));
        for n in 1..=12 {
            t.sum(&ended(n, n));
            t.keep(&ended(n, n));
        }
        let read = t.read();
        assert_eq!(read.read_write, Timed { count: 12, total_ns: 78, min_ns: 1, max_ns: 12 });
        assert_eq!((read.read_only, read.all()), (Timed::default(), read.read_write));
        let kept = t.kept();
        assert_eq!((kept.len(), kept[0].number, t.last().map(|e| e.number)), (10, 3, Some(12)));
        // The counts of savepoints end somewhere.
        let how = How { savepoints: [3, (1 << 19) - 1, 0], ..ended(1, 1).how.into() };
        assert_eq!(kept[9], Ended { how: how.into(), ..ended(12, 12) });
        t.forget_last();
        assert_eq!((t.last(), t.kept().len()), (None, 10));
        t.forget_kept();
        t.clear();
        assert_eq!((t.kept().len(), t.read()), (0, Transactions::default()));
        t.opens((5, 6), how);
        assert_eq!(t.open(), Some((5, 6, how)));
        t.closes();
        assert_eq!(t.open(), None);
        assert_eq!(size_of::<Place>(), 64);
    }
}
