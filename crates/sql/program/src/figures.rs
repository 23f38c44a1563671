//! What the runs of a program have taken, since it was compiled or its figures were last forgotten.

use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_telemetry::{Execution, Work, WorkCells};

/// A count of durations in nanoseconds, their sum, the least and the greatest.
#[derive(Debug, Default)]
pub struct Timed {
    count: AtomicU64,
    sum: AtomicU64,
    /// Complement of the least, so that 0 means none.
    least: AtomicU64,
    most: AtomicU64,
}

impl Timed {
    /// Counts one.
    pub fn note(&self, ns: u64) {
        self.note_many(1, ns);
    }

    /// Counts several of the same duration.
    pub fn note_many(&self, count: u64, ns: u64) {
        if count == 0 {
            return;
        }
        self.count.fetch_add(count, Relaxed);
        self.sum.fetch_add(count.saturating_mul(ns), Relaxed);
        if !self.least.load(Relaxed) > ns || self.most.load(Relaxed) < ns {
            self.least.fetch_max(!ns, Relaxed);
            self.most.fetch_max(ns, Relaxed);
        }
    }

    /// Count, sum, least, greatest.
    pub fn get(&self) -> (u64, u64, u64, u64) {
        let count = self.count.load(Relaxed);
        let least = if count == 0 { 0 } else { !self.least.load(Relaxed) };
        (count, self.sum.load(Relaxed), least, self.most.load(Relaxed))
    }

    fn forget(&self) {
        [&self.count, &self.sum, &self.least, &self.most].into_iter().for_each(|n| n.store(0, Relaxed));
    }
}

/// Sums over the statements of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Of their time, waiting for locks.
    pub locks_ns: u64,
    /// Processor time, where that was measured.
    pub cpu_ns: u64,
    /// Those that failed.
    pub errors: u64,
    /// Warnings raised.
    pub warnings: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Rows in result sets.
    pub rows_sent: u64,
    /// Rows read to find them.
    pub rows_examined: u64,
    /// Those that used no index where one could have been.
    pub no_index: u64,
    /// Of the counters of [`gannet_telemetry::WORK`], and the most memory.
    pub work: Work,
}

/// Sums of [`Sums`] but those of [`Work`].
const PLAIN: usize = 8;

/// The figures of a program.
#[derive(Debug, Default)]
pub struct Figures {
    /// Its runs.
    pub runs: Timed,
    /// Statements in them.
    pub statements: Timed,
    plain: [AtomicU64; PLAIN],
    work: WorkCells,
}

impl Figures {
    /// Counts a statement.
    pub fn statement(&self, e: &Execution) {
        self.statements.note(e.latency_ns);
        let [affected, sent, examined] = [e.rows_affected, e.rows_sent, e.rows_examined];
        let r = e.rare.unwrap_or_default();
        let plain = [r.locks_ns, r.cpu_ns, r.error.into(), r.warnings, affected, sent, examined, r.no_index.into()];
        // Of a simple statement most are zero: their cells are left alone, which other sessions may have in hand.
        for (cell, n) in self.plain.iter().zip(&plain).filter(|(_, n)| **n != 0) {
            cell.fetch_add(*n, Relaxed);
        }
        r.work.iter().for_each(|work| self.work.add_shared(work));
    }

    /// The sums over its statements.
    pub fn sums(&self) -> Sums {
        let plain = self.plain.each_ref().map(|n| n.load(Relaxed));
        let [locks_ns, cpu_ns, errors, warnings, rows_affected, rows_sent, rows_examined, no_index] = plain;
        let work = self.work.read();
        Sums { locks_ns, cpu_ns, errors, warnings, rows_affected, rows_sent, rows_examined, no_index, work }
    }

    /// Begins anew.
    pub fn forget(&self) {
        self.runs.forget();
        self.statements.forget();
        self.plain.iter().for_each(|n| n.store(0, Relaxed));
        self.work.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_telemetry::{Rare, WORK};

    #[test]
    fn least_and_greatest_are_kept() {
        let timed = Timed::default();
        assert_eq!(timed.get(), (0, 0, 0, 0));
        [7, 3, 9].into_iter().for_each(|ns| timed.note(ns));
        assert_eq!(timed.get(), (3, 19, 3, 9));
        timed.note(0);
        assert_eq!(timed.get(), (4, 19, 0, 9));
        timed.forget();
        assert_eq!(timed.get(), (0, 0, 0, 0));
    }

    #[test]
    fn statements_add_up() {
        const WORKED: Work = Work { counters: [3; WORK.len()], memory: 7 };
        let figures = Figures::default();
        let rare = Rare { work: Some(WORKED), ..Rare::default() };
        let one = Execution { latency_ns: 5, rows_sent: 2, rare: Some(rare), ..Execution::default() };
        figures.statement(&one);
        let work = Some(Work { memory: 4, ..WORKED });
        let rare = Some(Rare { error: true, no_index: true, locks_ns: 4, work, ..rare });
        figures.statement(&Execution { rare, ..one });
        let sums = Sums {
            locks_ns: 4,
            errors: 1,
            rows_sent: 4,
            no_index: 1,
            work: Work { counters: [6; WORK.len()], ..WORKED },
            ..Sums::default()
        };
        assert_eq!((figures.sums(), figures.statements.get().0), (sums, 2));
        figures.forget();
        assert_eq!((figures.sums(), figures.statements.get().0), (Sums::default(), 0));
    }
}
