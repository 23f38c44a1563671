//! What a session's entry is told of its transactions when they end, for performance_schema.
//!
//! The end of a statement, which looks at the clock anyway, is the end of the transaction that ends with it
//! ([`settle`]); and one that is begun by a statement begins with it. Where that is not so, in stored programs,
//! each transaction looks at the clock itself.

use super::{Transaction, Work};
use crate::Core;
use crate::registry::Entry;
use crate::transacted::{Alone, Ended, How, Packed};
use gannet_runtime::now_ns;
use std::sync::Arc;

/// Whom the work tells, and of what.
#[derive(Default)]
pub struct Watched {
    /// The session's entry; `None`: nobody.
    told: Option<(Arc<Core>, Arc<Entry>)>,
    /// Each transaction looks at the clock.
    exact: bool,
    /// One has ended, and its statement has not.
    passed: Option<Passed>,
    /// The statement has told of one already.
    told_one: bool,
    /// When the open one began; 0: with the statement that runs.
    began_ns: u64,
    /// The statement that began the open one; 0: the one that runs.
    number: u64,
    /// An open one is shown in the entry.
    shown: bool,
    /// Savepoints of the open one that were set, rolled back to, released.
    savepoints: [u32; 3],
}

#[derive(Clone, Copy)]
struct Passed {
    began_ns: u64,
    number: u64,
    trx: u64,
    how: Packed,
}

impl Watched {
    /// Transactions are told to the session's entry.
    pub fn tell_to(&mut self, core: Arc<Core>, entry: Arc<Entry>) {
        self.told = Some((core, entry));
    }

    /// The statements to come, until the next [`settle`], are those of a program.
    pub fn within_program(&mut self) {
        self.exact = self.told.is_some();
    }

    /// A transaction begins.
    #[inline]
    pub(super) fn begins(&mut self) {
        if self.exact {
            self.begins_now();
        }
    }

    #[cold]
    fn begins_now(&mut self) {
        self.pass_now();
        if self.began_ns == 0 {
            self.began_ns = now_ns();
        }
    }

    /// The transaction ends: before the state forgets it. `trx`: its number in the engine, if it has written.
    #[inline]
    pub(super) fn passes(&mut self, state: &Transaction, trx: u64, autocommit: bool) {
        if self.told.is_none() {
            return;
        }
        if self.passed.is_some() {
            self.pass_now();
        }
        let (read_only, isolation) = (state.is_read_only(), state.isolation());
        let how = How { committed: false, read_only, autocommit, isolation, savepoints: self.savepoints };
        self.passed = Some(Passed { began_ns: self.began_ns, number: self.number, trx, how: how.into() });
        self.forget_open();
    }

    /// It has ended so.
    #[inline]
    pub(super) fn passed(&mut self, committed: bool) {
        if let Some(passed) = &mut self.passed {
            passed.how.set_committed(committed);
            if self.exact {
                self.pass_now();
            }
        }
    }

    /// The one that has ended ended now, for another begins or ends before the statement does.
    fn pass_now(&mut self) {
        if self.passed.is_some() {
            let started = self.told.as_ref().map_or(0, |(_, e)| e.activity().1);
            self.tell(started, now_ns());
            self.told_one = true;
        }
    }

    /// The one that has ended, where it began and ended with its statement and has not written.
    #[inline]
    fn take_alone(&mut self) -> Option<Alone> {
        let passed = self.passed.filter(|p| p.began_ns | p.number | p.trx == 0 && !self.told_one)?;
        let alone = passed.how.alone();
        if alone.is_some() {
            self.passed = None;
        }
        alone
    }

    fn tell(&mut self, started_ns: u64, ended_ns: u64) {
        let (Some(passed), Some((core, entry))) = (self.passed.take(), &self.told) else { return };
        let end_number = entry.deeds.history.count() + 1;
        let started_ns = if passed.began_ns == 0 { started_ns } else { passed.began_ns };
        let ended = Ended {
            number: if passed.number == 0 { end_number } else { passed.number },
            end_number,
            started_ns,
            latency_ns: ended_ns.saturating_sub(started_ns),
            trx: passed.trx,
            how: passed.how,
        };
        core.registry.transacted(entry, &ended);
    }

    /// Nothing is open any more.
    #[inline]
    fn forget_open(&mut self) {
        (self.began_ns, self.number, self.savepoints) = (0, 0, [0; 3]);
        if self.shown {
            self.shown = false;
            self.told.iter().for_each(|(_, entry)| entry.deeds.transacted.closes());
        }
    }

    #[cold]
    fn settle_open(&mut self, state: &Transaction, started_ns: u64) {
        if !state.is_open() {
            return self.forget_open();
        }
        if let Some((_, entry)) = &self.told {
            if self.began_ns == 0 {
                self.began_ns = started_ns;
            }
            self.number = entry.deeds.history.count() + 1;
            self.shown = true;
            let (read_only, isolation) = (state.is_read_only(), state.isolation());
            let (committed, autocommit) = (false, false);
            let how = How { committed, read_only, autocommit, isolation, savepoints: self.savepoints };
            entry.deeds.transacted.opens((self.began_ns, self.number), how);
        }
    }

    /// A savepoint was set (0), rolled back to (1), released (2): one of the open transaction, if there is one.
    pub(super) fn counts_savepoint(&mut self, state: &Transaction, what: usize) {
        self.savepoints[what] += u32::from(state.is_open());
    }
}

/// The statement has ended that began then, before it is counted itself. Returns its transaction where that was
/// nothing but the statement: the caller tells of it.
#[inline]
pub fn settle(work: &mut Work, started_ns: u64, ended_ns: u64) -> Option<Alone> {
    let Work { watched, state, txn, .. } = work;
    let another = watched.passed.is_some();
    let alone = watched.take_alone();
    if watched.passed.is_some() {
        watched.tell(started_ns, ended_ns);
    }
    (watched.exact, watched.told_one) = (false, false);
    if state.is_open() != watched.shown {
        // AND CHAIN: it has begun when the other had ended.
        watched.settle_open(state, if another { ended_ns } else { started_ns });
    }
    if state.is_open() {
        txn.show_progress();
    }
    alone
}

/// Tells of the transaction that [`settle`] has returned, before the statement is counted.
#[cold]
pub fn tell_alone(work: &Work, alone: Alone, (started_ns, ended_ns): (u64, u64)) {
    if let Some((core, entry)) = &work.watched.told {
        let times = (started_ns, ended_ns.saturating_sub(started_ns));
        core.registry.transacted(entry, &alone.ended(entry.deeds.history.count() + 1, times));
    }
}
