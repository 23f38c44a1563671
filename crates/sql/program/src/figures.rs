//! What the runs of a program have taken, since it was compiled or its figures were last forgotten.

use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_telemetry::Cells;

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

/// The figures of a program.
#[derive(Debug, Default)]
pub struct Figures {
    /// Its runs.
    pub runs: Timed,
    /// Statements in them.
    pub statements: Cells,
}

impl Figures {
    /// Begins anew.
    pub fn forget(&self) {
        self.runs.forget();
        self.statements.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
