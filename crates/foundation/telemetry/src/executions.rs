//! What executions of statements add, and sums of it: of a digest, of a session's statements of one kind, of a prepared
//! statement.
//!
//! A simple statement adds to one cache line in each. What it has nothing of, an error, a warning, a wait for a lock, a
//! sort, is in one place of its [`Execution`], and its cells lie elsewhere.

use gannet_base::sync::OnceLock;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Counter;

/// Counters of a session of which each digest has its part: scans, sorts, temporary tables.
pub const WORK: [Counter; 10] = [
    Counter::CreatedTmpDiskTables,
    Counter::CreatedTmpTables,
    Counter::SelectFullJoin,
    Counter::SelectFullRangeJoin,
    Counter::SelectRange,
    Counter::SelectScan,
    Counter::SortMergePasses,
    Counter::SortRange,
    Counter::SortRows,
    Counter::SortScan,
];

/// What a statement added to the counters [`WORK`], and the most memory that it held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// In the order of [`WORK`].
    pub counters: [u64; WORK.len()],
    /// In bytes.
    pub memory: u64,
}

impl Work {
    /// Adds another statement's.
    pub fn add(&mut self, other: &Work) {
        self.counters.iter_mut().zip(&other.counters).for_each(|(n, m)| *n += m);
        self.memory = self.memory.max(other.memory);
    }

    /// What was added to a counter.
    pub fn of(&self, counter: Counter) -> u64 {
        WORK.iter().zip(&self.counters).find(|(c, _)| **c == counter).map_or(0, |(_, n)| *n)
    }
}

/// [`Work`] of many statements.
#[derive(Debug)]
pub struct WorkCells {
    counters: [AtomicU64; WORK.len()],
    memory: AtomicU64,
}

impl Default for WorkCells {
    fn default() -> Self {
        WorkCells { counters: [const { AtomicU64::new(0) }; WORK.len()], memory: AtomicU64::new(0) }
    }
}

impl WorkCells {
    /// Adds a statement's; the calling thread is the only writer. Most counters are zero.
    pub fn add_owned(&self, work: &Work) {
        for (sum, n) in self.counters.iter().zip(&work.counters) {
            if *n != 0 {
                bump(sum, *n);
            }
        }
        if work.memory > self.memory.load(Relaxed) {
            self.memory.store(work.memory, Relaxed);
        }
    }

    /// The same, whoever else writes. What is zero leaves its cell alone.
    pub fn add_shared(&self, work: &Work) {
        for (sum, n) in self.counters.iter().zip(&work.counters).filter(|(_, n)| **n != 0) {
            sum.fetch_add(*n, Relaxed);
        }
        if work.memory > 0 {
            self.memory.fetch_max(work.memory, Relaxed);
        }
    }

    /// One statement's instead.
    pub fn put(&self, work: &Work) {
        self.counters.iter().zip(&work.counters).for_each(|(to, n)| to.store(*n, Relaxed));
        self.memory.store(work.memory, Relaxed);
    }

    /// Up to now.
    pub fn read(&self) -> Work {
        Work { counters: self.counters.each_ref().map(|n| n.load(Relaxed)), memory: self.memory.load(Relaxed) }
    }

    /// Begins anew.
    pub fn clear(&self) {
        self.put(&Work::default());
    }
}

/// What one execution of a statement adds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Execution {
    /// From the arrival of the statement to its last byte in the send buffer, in nanoseconds.
    pub latency_ns: u64,
    /// Rows in result sets.
    pub rows_sent: u64,
    /// Rows read to find them.
    pub rows_examined: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Wall clock at the end, microseconds since 1970.
    pub end_unix_us: u64,
    /// What most have nothing of; `None`: nor has this one.
    pub rare: Option<Rare>,
}

/// The part of an [`Execution`] that most have nothing of.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Rare {
    /// It ended with an error.
    pub error: bool,
    /// No index was used where one could have been.
    pub no_index: bool,
    /// Of the latency, waiting for locks of rows and tables.
    pub locks_ns: u64,
    /// Processor time, where that is measured.
    pub cpu_ns: u64,
    /// Warnings raised.
    pub warnings: u64,
    /// What it added to the counters [`WORK`], and its memory, if it may have any of these.
    pub work: Option<Work>,
}

impl Rare {
    /// `None` where there is nothing of it.
    #[inline]
    pub fn if_any(self) -> Option<Rare> {
        let any = self.error | self.no_index | self.work.is_some() | (self.locks_ns | self.cpu_ns | self.warnings != 0);
        any.then_some(self)
    }
}

/// Sums over executions of statements; all are sums but two, and the most memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Did {
    /// Executions.
    pub count: u64,
    /// Their latency.
    pub total_ns: u64,
    /// The least of them; `u64::MAX` without any.
    pub min_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// Of the latency, waiting for locks.
    pub locks_ns: u64,
    /// Processor time, where that was measured.
    pub cpu_ns: u64,
    /// Executions with an error.
    pub errors: u64,
    /// Warnings raised.
    pub warnings: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Rows in result sets.
    pub rows_sent: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// Executions that used no index.
    pub no_index: u64,
    /// Of the counters [`WORK`], and the most memory.
    pub work: Work,
}

impl Default for Did {
    fn default() -> Self {
        Did {
            count: 0,
            total_ns: 0,
            min_ns: NEVER,
            max_ns: 0,
            locks_ns: 0,
            cpu_ns: 0,
            errors: 0,
            warnings: 0,
            rows_affected: 0,
            rows_sent: 0,
            rows_examined: 0,
            no_index: 0,
            work: Work::default(),
        }
    }
}

impl Did {
    /// One execution.
    pub fn of(e: &Execution) -> Did {
        let rare = e.rare.unwrap_or_default();
        Did {
            count: 1,
            total_ns: e.latency_ns,
            min_ns: e.latency_ns,
            max_ns: e.latency_ns,
            locks_ns: rare.locks_ns,
            cpu_ns: rare.cpu_ns,
            errors: rare.error.into(),
            warnings: rare.warnings,
            rows_affected: e.rows_affected,
            rows_sent: e.rows_sent,
            rows_examined: e.rows_examined,
            no_index: rare.no_index.into(),
            work: rare.work.unwrap_or_default(),
        }
    }

    /// Adds what others did.
    pub fn add(&mut self, other: &Did) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.locks_ns += other.locks_ns;
        self.cpu_ns += other.cpu_ns;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
        self.rows_examined += other.rows_examined;
        self.no_index += other.no_index;
        self.work.add(&other.work);
    }

    /// Leaves of the sums what was added since `before`, an earlier state.
    pub(crate) fn since(&mut self, before: &Did) {
        for (n, before) in [
            (&mut self.count, before.count),
            (&mut self.total_ns, before.total_ns),
            (&mut self.locks_ns, before.locks_ns),
            (&mut self.cpu_ns, before.cpu_ns),
            (&mut self.errors, before.errors),
            (&mut self.warnings, before.warnings),
            (&mut self.rows_affected, before.rows_affected),
            (&mut self.rows_sent, before.rows_sent),
            (&mut self.rows_examined, before.rows_examined),
            (&mut self.no_index, before.no_index),
        ] {
            *n = n.saturating_sub(before);
        }
        let counters = self.work.counters.iter_mut().zip(&before.work.counters);
        counters.for_each(|(n, before)| *n = n.saturating_sub(*before));
    }
}

/// Sums over executions that have no [`Rare`], to be added at once.
#[derive(Clone, Copy, Debug)]
pub struct Simple {
    /// Executions.
    pub count: u64,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    rows_sent: u64,
    rows_examined: u64,
    rows_affected: u64,
}

impl Default for Simple {
    #[inline]
    fn default() -> Self {
        Simple { count: 0, total_ns: 0, min_ns: NEVER, max_ns: 0, rows_sent: 0, rows_examined: 0, rows_affected: 0 }
    }
}

impl Simple {
    /// How long they took: all, the least and the most.
    pub fn times_ns(&self) -> (u64, u64, u64) {
        (self.total_ns, self.min_ns, self.max_ns)
    }

    /// Adds an execution, of which [`Execution::rare`] is passed over.
    #[inline]
    pub fn add(&mut self, e: &Execution) {
        self.count += 1;
        self.total_ns += e.latency_ns;
        self.min_ns = self.min_ns.min(e.latency_ns);
        self.max_ns = self.max_ns.max(e.latency_ns);
        self.rows_sent += e.rows_sent;
        self.rows_examined += e.rows_examined;
        self.rows_affected += e.rows_affected;
    }
}

impl From<Simple> for Did {
    fn from(s: Simple) -> Did {
        let Simple { count, total_ns, min_ns, max_ns, rows_sent, rows_examined, rows_affected } = s;
        Did { count, total_ns, min_ns, max_ns, rows_sent, rows_examined, rows_affected, ..Did::default() }
    }
}

/// The least latency before the first execution.
pub(crate) const NEVER: u64 = u64::MAX;

/// [`Did`], added to by one thread or session, or by many, and read by any.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Cells {
    count: AtomicU64,
    total_ns: AtomicU64,
    rows_sent: AtomicU64,
    rows_examined: AtomicU64,
    rows_affected: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// For the owner, on the same line: of which round the sums are.
    pub round: AtomicU64,
    rare: RareCells,
}

/// Sums of [`Rare`], on another line.
#[derive(Debug, Default)]
struct RareCells {
    errors: AtomicU64,
    no_index: AtomicU64,
    locks_ns: AtomicU64,
    cpu_ns: AtomicU64,
    warnings: AtomicU64,
    /// Made by the first execution that has any.
    work: OnceLock<Box<WorkCells>>,
}

impl RareCells {
    fn sums<'c>(&'c self, rare: &Rare) -> [(&'c AtomicU64, u64); 5] {
        [
            (&self.errors, rare.error.into()),
            (&self.no_index, rare.no_index.into()),
            (&self.locks_ns, rare.locks_ns),
            (&self.cpu_ns, rare.cpu_ns),
            (&self.warnings, rare.warnings),
        ]
    }
}

/// Not a read-modify-write: the caller is the only writer.
#[inline(always)]
fn bump(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Default for Cells {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Cells {
            count: zero(),
            total_ns: zero(),
            rows_sent: zero(),
            rows_examined: zero(),
            rows_affected: zero(),
            min_ns: AtomicU64::new(NEVER),
            max_ns: zero(),
            round: zero(),
            rare: RareCells::default(),
        }
    }
}

impl Cells {
    /// Adds an execution; the caller is the only writer.
    #[inline(always)]
    pub fn add_owned(&self, e: &Execution) {
        bump(&self.count, 1);
        bump(&self.total_ns, e.latency_ns);
        bump(&self.rows_sent, e.rows_sent);
        bump(&self.rows_examined, e.rows_examined);
        bump(&self.rows_affected, e.rows_affected);
        if e.latency_ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(e.latency_ns, Relaxed);
        }
        if e.latency_ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(e.latency_ns, Relaxed);
        }
        if let Some(rare) = &e.rare {
            self.add_rare(rare);
        }
    }

    /// Adds executions; the caller is the only writer.
    pub fn add_simple(&self, s: &Simple) {
        bump(&self.count, s.count);
        bump(&self.total_ns, s.total_ns);
        bump(&self.rows_sent, s.rows_sent);
        bump(&self.rows_examined, s.rows_examined);
        bump(&self.rows_affected, s.rows_affected);
        if s.min_ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(s.min_ns, Relaxed);
        }
        if s.max_ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(s.max_ns, Relaxed);
        }
    }

    #[cold]
    fn add_rare(&self, rare: &Rare) {
        self.rare.sums(rare).into_iter().for_each(|(cell, n)| bump(cell, n));
        if let Some(work) = &rare.work {
            self.rare.work.get_or_init(Box::default).add_owned(work);
        }
    }

    /// Adds an execution, whoever else writes. What is zero leaves its cell alone.
    pub fn add_shared(&self, e: &Execution) {
        let add = |(cell, n): (&AtomicU64, u64)| {
            if n != 0 {
                cell.fetch_add(n, Relaxed);
            }
        };
        let plain = [&self.count, &self.total_ns, &self.rows_sent, &self.rows_examined, &self.rows_affected];
        plain.into_iter().zip([1, e.latency_ns, e.rows_sent, e.rows_examined, e.rows_affected]).for_each(add);
        if self.min_ns.load(Relaxed) > e.latency_ns || self.max_ns.load(Relaxed) < e.latency_ns {
            self.min_ns.fetch_min(e.latency_ns, Relaxed);
            self.max_ns.fetch_max(e.latency_ns, Relaxed);
        }
        if let Some(rare) = &e.rare {
            self.rare.sums(rare).into_iter().for_each(add);
            if let Some(work) = &rare.work {
                self.rare.work.get_or_init(Box::default).add_shared(work);
            }
        }
    }

    /// Executions up to now.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The sums up to now.
    pub fn read(&self) -> Did {
        let get = |n: &AtomicU64| n.load(Relaxed);
        let rare = &self.rare;
        Did {
            count: get(&self.count),
            total_ns: get(&self.total_ns),
            min_ns: get(&self.min_ns),
            max_ns: get(&self.max_ns),
            rows_affected: get(&self.rows_affected),
            rows_sent: get(&self.rows_sent),
            rows_examined: get(&self.rows_examined),
            errors: get(&rare.errors),
            no_index: get(&rare.no_index),
            locks_ns: get(&rare.locks_ns),
            cpu_ns: get(&rare.cpu_ns),
            warnings: get(&rare.warnings),
            work: rare.work.get().map_or(Work::default(), |work| work.read()),
        }
    }

    /// Begins anew. Where the caller is not the only writer, what is added meanwhile may be lost or kept.
    pub fn clear(&self) {
        let Cells { count, total_ns, rows_sent, rows_examined, rows_affected, max_ns, .. } = self;
        let plain = [count, total_ns, rows_sent, rows_examined, rows_affected, max_ns];
        plain.into_iter().for_each(|n| n.store(0, Relaxed));
        self.rare.sums(&Rare::default()).into_iter().for_each(|(cell, _)| cell.store(0, Relaxed));
        self.rare.work.get().iter().for_each(|work| work.clear());
        self.restart();
    }

    /// Forgets what is no sum, whoever writes. Sums another thread cannot set back without losing an addition.
    pub(crate) fn restart(&self) {
        self.min_ns.store(NEVER, Relaxed);
        self.max_ns.store(0, Relaxed);
        if let Some(work) = self.rare.work.get() {
            work.memory.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_simple_lies_on_one_line() {
        let cells = Cells::default();
        assert_eq!((std::mem::offset_of!(Cells, rare), align_of::<Cells>(), size_of::<Cells>()), (64, 64, 128));
        let simple = Execution { latency_ns: 7, rows_sent: 2, rows_examined: 3, ..Execution::default() };
        cells.add_owned(&simple);
        let work = Some(Work { memory: 5, ..Work::default() });
        let rare = Rare { error: true, no_index: true, locks_ns: 1, cpu_ns: 2, warnings: 4, work }.if_any();
        let other = Execution { latency_ns: 4, rows_affected: 1, rare, ..simple };
        cells.add_owned(&other);
        let mut sums = Did::of(&simple);
        sums.add(&Did::of(&other));
        assert_eq!((cells.read(), sums.min_ns, sums.max_ns, sums.errors, sums.work.memory), (sums, 4, 7, 1, 5));
        let shared = Cells::default();
        [&simple, &other].into_iter().for_each(|e| shared.add_shared(e));
        assert_eq!(shared.read(), sums);
        cells.clear();
        assert_eq!(cells.read(), Did::default());
        let mut some = Simple::default();
        [simple, Execution { latency_ns: 4, rows_affected: 1, ..simple }].iter().for_each(|e| some.add(e));
        cells.add_simple(&some);
        cells.add_simple(&Simple::default());
        assert_eq!((cells.read(), some.count), (some.into(), 2));
        assert_eq!((cells.read().total_ns, cells.read().min_ns, cells.read().rows_affected), (11, 4, 1));
        assert_eq!(Rare::default().if_any(), None);
    }
}
