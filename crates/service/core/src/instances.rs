//! Prepared statements of sessions, for performance_schema's prepared_statements_instances.
//!
//! Each counts its executions in cells that its session alone writes. TRUNCATE begins a new round: figures of an
//! earlier one are nothing.

use crate::kept::KeptText;
use crate::usual::changed;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Mutex, MutexGuard};
use gannet_parser::LexMode;
use gannet_telemetry::{Cells, Did, Execution};
use std::sync::Arc;

/// One prepared statement.
pub struct Instance {
    /// Its number among the session's.
    pub number: u32,
    /// Of PREPARE.
    pub name: Option<String>,
    text: Arc<[u8]>,
    /// Which text of its session it is: see `Entry::new_text`.
    which: u64,
    mode: LexMode,
    /// The session's statement that prepared it.
    pub event: u64,
    pub prepare_ns: u64,
    cells: Cells,
    again: AtomicU64,
}

/// What it was used for.
pub struct Used {
    pub did: Did,
    /// How often it was prepared anew, because tables had changed.
    pub again: u64,
}

impl Instance {
    /// Nothing is counted yet.
    pub fn new(
        (number, name): (u32, Option<String>),
        (text, which, mode): (Arc<[u8]>, u64, LexMode),
        (event, prepare_ns): (u64, u64),
    ) -> Instance {
        Instance {
            number,
            name,
            text,
            which,
            mode,
            event,
            prepare_ns,
            cells: Cells::default(),
            again: AtomicU64::new(0),
        }
    }

    /// It was executed. Called by its session alone.
    pub fn did(&self, e: &Execution, rounds: &Rounds) {
        self.renew(rounds.now());
        self.cells.add_owned(e);
    }

    /// Its cells for executions of a round; `None`: there is a later one. By its session alone.
    pub(crate) fn cells_of(&self, round: u64) -> Option<&Cells> {
        if self.cells.round.load(Relaxed) < round {
            self.begin(round);
        }
        (self.cells.round.load(Relaxed) == round).then_some(&self.cells)
    }

    /// It is prepared anew. Called by its session alone.
    pub fn is_prepared_again(&self, rounds: &Rounds) {
        self.renew(rounds.now());
        self.again.store(self.again.load(Relaxed) + 1, Relaxed);
    }

    #[inline]
    fn renew(&self, now: u64) {
        if self.cells.round.load(Relaxed) != now {
            self.begin(now);
        }
    }

    #[cold]
    fn begin(&self, round: u64) {
        self.cells.clear();
        self.again.store(0, Relaxed);
        self.cells.round.store(round, Relaxed);
    }

    /// Its text, without passwords.
    pub fn text(&self) -> KeptText {
        KeptText::of(&self.text, self.mode).first(crate::history::TEXT_BYTES)
    }

    /// What it was used for, without what its session owes it.
    pub(crate) fn used(&self, round: u64) -> Used {
        if self.cells.round.load(Relaxed) != round {
            return Used { did: Did::default(), again: 0 };
        }
        Used { did: self.cells.read(), again: self.again.load(Relaxed) }
    }

    /// Which text of its session it is.
    pub fn which(&self) -> u64 {
        self.which
    }
}

/// How often the figures were forgotten.
#[derive(Default)]
pub struct Rounds(AtomicU64);

impl Rounds {
    /// TRUNCATE.
    pub fn forget(&self) {
        self.0.fetch_add(1, Relaxed);
        changed();
    }

    /// The present one.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// By which text they are, in order: that in which they were prepared. Most sessions have few.
#[derive(Default)]
pub(crate) struct ByText(Vec<(u64, Arc<Instance>)>);

impl ByText {
    fn place(&self, which: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&which, |(text, _)| *text)
    }

    pub(crate) fn get(&self, which: u64) -> Option<&Arc<Instance>> {
        self.place(which).ok().map(|at| &self.0[at].1)
    }
}

/// Those of one session. Nothing that is owed is settled while the map is locked.
#[derive(Default)]
pub struct Instances {
    all: Mutex<ByText>,
    /// The round of what is owed.
    pub(crate) round: AtomicU64,
}

impl Instances {
    /// Adds one.
    pub fn add(&self, instance: Arc<Instance>) {
        let mut all = self.all.lock();
        match all.place(instance.which) {
            Ok(at) => all.0[at].1 = instance,
            Err(at) => all.0.insert(at, (instance.which, instance)),
        }
    }

    /// It is no more.
    pub fn remove(&self, instance: &Instance) {
        let mut all = self.all.lock();
        if let Ok(at) = all.place(instance.which) {
            all.0.remove(at);
        }
    }

    /// All, in order.
    pub fn all(&self) -> Vec<Arc<Instance>> {
        self.all.lock().0.iter().map(|(_, instance)| instance.clone()).collect()
    }

    /// The one of a text.
    pub fn of_text(&self, which: u64) -> Option<Arc<Instance>> {
        self.all.lock().get(which).cloned()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ByText> {
        self.all.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_counts_anew() {
        let (rounds, all) = (Rounds::default(), Instances::default());
        let text: Arc<[u8]> = b"SELECT 1"[..].into();
        let one = Arc::new(Instance::new((3, None), (text, 8, LexMode::default()), (1, 2)));
        all.add(one.clone());
        let e = Execution { latency_ns: 5, rows_sent: 2, ..Execution::default() };
        one.did(&e, &rounds);
        one.did(&e, &rounds);
        one.is_prepared_again(&rounds);
        let Used { did, again } = all.all()[0].used(rounds.now());
        assert_eq!((did.count, did.total_ns, did.min_ns, did.rows_sent, again), (2, 10, 5, 4, 1));
        rounds.forget();
        assert_eq!((one.used(rounds.now()).did.count, one.used(rounds.now()).again), (0, 0));
        one.did(&e, &rounds);
        assert_eq!((one.used(rounds.now()).did.count, one.used(rounds.now()).again), (1, 0));
        // What was done before is not added to what was done since.
        assert!(one.cells_of(0).is_none() && one.cells_of(1).is_some());
        one.cells_of(2).unwrap().add_owned(&e);
        assert_eq!((one.used(2).did.count, one.used(1).did.count), (1, 0));
        assert!(all.of_text(8).is_some() && all.of_text(3).is_none());
        all.remove(&one);
        assert_eq!(all.all().len(), 0);
    }
}
