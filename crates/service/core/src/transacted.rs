//! Transactions of sessions: how many, how long, and the last ones, for performance_schema's events_transactions_*.
//!
//! As for statements, a session adds to cells that it alone writes, and others read. A transaction that is one
//! statement lasts as long as that: it costs no look at the clock.

use gannet_base::Sequence;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_engine::Isolation;
use gannet_telemetry::Simple;
use std::collections::VecDeque;
use std::num::NonZeroU8;
use std::sync::OnceLock;

/// Transactions that a session keeps (`performance_schema_events_transactions_history_size`).
pub(crate) const KEPT: usize = 10;
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
    /// One that took so long.
    #[inline]
    pub(crate) fn one(ns: u64) -> Timed {
        Timed { count: 1, total_ns: ns, min_ns: ns, max_ns: ns }
    }

    /// Those that were these statements.
    pub(crate) fn of(statements: &Simple) -> Timed {
        let (total_ns, min_ns, max_ns) = statements.times_ns();
        Timed { count: statements.count, total_ns, min_ns, max_ns }
    }

    /// Adds those of others.
    #[inline]
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
    /// Adds one that was a statement.
    #[inline]
    pub(crate) fn add_alone(&mut self, alone: Alone, ns: u64) {
        let of = if alone.is_read_only() { &mut self.read_only } else { &mut self.read_write };
        of.add(&Timed::one(ns));
    }

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
const AUTOCOMMIT: u64 = 4;
/// Bits without the counts of savepoints.
const PLAIN_BITS: u32 = 7;

impl Packed {
    /// It has been committed, or not.
    #[inline]
    pub(crate) fn set_committed(&mut self, committed: bool) {
        self.0 = self.0 & !COMMITTED | u64::from(committed);
    }
}

/// How a transaction was that was one statement, and has not written: five bits, of which one is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone(NonZeroU8);

impl Alone {
    /// Bits that one takes.
    pub(crate) const BITS: u32 = 5;

    pub(crate) fn of_bits(bits: u64) -> Option<Alone> {
        NonZeroU8::new(bits as u8).filter(|_| bits & AUTOCOMMIT != 0).map(Alone)
    }

    #[inline(always)]
    pub(crate) fn bits(alone: Option<Alone>) -> u64 {
        alone.map_or(0, |alone| alone.0.get().into())
    }

    /// It was READ ONLY by what was said of it.
    #[inline]
    pub(crate) fn is_read_only(self) -> bool {
        u64::from(self.0.get()) & READ_ONLY != 0
    }

    /// The transaction of statement `number`.
    pub(crate) fn ended(self, number: u64, (started_ns, latency_ns): (u64, u64)) -> Ended {
        Ended { number, end_number: number, started_ns, latency_ns, trx: 0, how: Packed(self.0.get().into()) }
    }
}

impl Packed {
    /// It may be that of an [`Alone`]: autocommitted, without savepoints.
    #[inline]
    pub(crate) fn alone(self) -> Option<Alone> {
        Alone::of_bits(self.0).filter(|_| self.0 >> Alone::BITS == 0)
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
        Packed(flags | (how.isolation as u64) << 3 | counts << PLAIN_BITS)
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
        let count = |i: u32| (n >> (PLAIN_BITS + i * COUNT_BITS) & MOST_SAVEPOINTS) as u32;
        How {
            committed: n & COMMITTED != 0,
            read_only: n & READ_ONLY != 0,
            autocommit: n & AUTOCOMMIT != 0,
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
    fn add(&self, timed: &Timed) {
        let [count, total, min, max] = &self.0;
        let bump = |cell: &AtomicU64, n: u64| cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        bump(count, timed.count);
        bump(total, timed.total_ns);
        if timed.min_ns < min.load(Relaxed) {
            min.store(timed.min_ns, Relaxed);
        }
        if timed.max_ns > max.load(Relaxed) {
            max.store(timed.max_ns, Relaxed);
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
        self.sums[usize::from(ended.how.0 & READ_ONLY != 0)].add(&Timed::one(ended.latency_ns));
    }

    /// The same of some that were statements.
    #[inline]
    pub(crate) fn sum_alone(&self, alone: Alone, timed: &Timed) {
        self.sums[usize::from(alone.is_read_only())].add(timed);
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
    pub(crate) fn read(&self) -> Transactions {
        let [read_write, read_only] = &self.sums;
        Transactions { read_write: read_write.read(), read_only: read_only.read() }
    }

    pub(crate) fn clear(&self) {
        self.sums.iter().for_each(Cells::clear);
    }

    /// Those that are kept in places of their own. One that its session is writing over is left out.
    pub(crate) fn kept(&self) -> Vec<Ended> {
        self.places.get().map_or_else(Vec::new, |places| places.iter().filter_map(Place::read).collect())
    }
}

/// Until when transactions were forgotten that had ended, by TRUNCATE.
#[derive(Default)]
pub struct Forgotten {
    /// They are not shown as current ones.
    last_ns: AtomicU64,
    /// They are not shown among the last ones.
    kept_ns: AtomicU64,
}

impl Forgotten {
    /// Not shown as the current one any more.
    pub(crate) fn is_forgotten(&self, ended: &Ended) -> bool {
        ended.started_ns + ended.latency_ns <= self.last_ns.load(Relaxed)
    }

    /// Nor among the last ones.
    pub(crate) fn is_cleared(&self, ended: &Ended) -> bool {
        ended.started_ns + ended.latency_ns <= self.kept_ns.load(Relaxed)
    }

    /// Those that have ended by now are not shown as current ones any more.
    pub fn forget_last(&self, now_ns: u64) {
        self.last_ns.store(now_ns, Relaxed);
    }

    /// Nor among the last ones.
    pub fn forget_kept(&self, now_ns: u64) {
        self.kept_ns.store(now_ns, Relaxed);
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
    fn one_that_is_a_statement_is_five_bits() {
        for (committed, read_only) in [(true, false), (false, true)] {
            let how = How { committed, read_only, savepoints: [0; 3], ..ended(1, 1).how.into() };
            let alone = Packed::from(how).alone().unwrap();
            let bits = Alone::bits(Some(alone));
            assert_eq!((Alone::of_bits(bits), bits >> Alone::BITS, Alone::bits(None)), (Some(alone), 0, 0));
            let told = Ended { number: 3, end_number: 3, started_ns: 5, latency_ns: 6, trx: 0, how: how.into() };
            assert_eq!((alone.ended(3, (5, 6)), alone.is_read_only()), (told, read_only));
            assert_eq!(Packed::from(How { autocommit: false, ..how }).alone(), None);
        }
        assert_eq!((ended(1, 1).how.alone(), Alone::of_bits(0)), (None, None));
    }

    #[test]
    fn the_last_ten_are_kept_and_all_are_summed_up() {
        let t = Transacted::default();
        assert_eq!((t.kept().len(), t.open()), (0, None));
        for n in 1..=12 {
            t.sum(&ended(n, n));
            t.keep(&ended(n, n));
        }
        let read = t.read();
        assert_eq!(read.read_write, Timed { count: 12, total_ns: 78, min_ns: 1, max_ns: 12 });
        assert_eq!((read.read_only, read.all()), (Timed::default(), read.read_write));
        let mut kept = t.kept();
        kept.sort_unstable_by_key(|e| e.number);
        assert_eq!((kept.len(), kept[0].number), (10, 3));
        // The counts of savepoints end somewhere.
        let how = How { savepoints: [3, (1 << 19) - 1, 0], ..ended(1, 1).how.into() };
        assert_eq!(kept[9], Ended { how: how.into(), ..ended(12, 12) });
        let forgotten = Forgotten::default();
        forgotten.forget_last(132);
        assert_eq!([11, 12].map(|n| forgotten.is_forgotten(&ended(n, n))), [true, true]);
        forgotten.forget_kept(131);
        assert_eq!([11, 12].map(|n| forgotten.is_cleared(&ended(n, n))), [true, false]);
        t.clear();
        assert_eq!(t.read(), Transactions::default());
        t.opens((5, 6), how);
        assert_eq!(t.open(), Some((5, 6, how)));
        t.closes();
        assert_eq!(t.open(), None);
        assert_eq!(size_of::<Place>(), 64);
    }
}
