//! Prepared statements of sessions, for performance_schema's prepared_statements_instances.
//!
//! Each counts its executions in cells that its session alone writes. TRUNCATE begins a new round: figures of an
//! earlier one are nothing.

use crate::kept::KeptText;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_parser::LexMode;
use gannet_telemetry::{Cells, Did, Execution};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One prepared statement.
pub struct Instance {
    /// Its number among the session's.
    pub number: u32,
    /// Of PREPARE.
    pub name: Option<String>,
    text: Arc<[u8]>,
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
        (text, mode): (Arc<[u8]>, LexMode),
        (event, prepare_ns): (u64, u64),
    ) -> Instance {
        Instance { number, name, text, mode, event, prepare_ns, cells: Cells::default(), again: AtomicU64::new(0) }
    }

    /// It was executed. Called by its session alone.
    #[inline]
    pub fn did(&self, e: &Execution, rounds: &Rounds) {
        self.renew(rounds);
        self.cells.add_owned(e);
    }

    /// It is prepared anew. Called by its session alone.
    pub fn is_prepared_again(&self, rounds: &Rounds) {
        self.renew(rounds);
        self.again.store(self.again.load(Relaxed) + 1, Relaxed);
    }

    #[inline]
    fn renew(&self, rounds: &Rounds) {
        let now = rounds.0.load(Relaxed);
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

    /// What it was used for.
    pub fn used(&self, rounds: &Rounds) -> Used {
        if self.cells.round.load(Relaxed) != rounds.0.load(Relaxed) {
            return Used { did: Did::default(), again: 0 };
        }
        Used { did: self.cells.read(), again: self.again.load(Relaxed) }
    }
}

/// How often the figures were forgotten.
#[derive(Default)]
pub struct Rounds(AtomicU64);

impl Rounds {
    /// TRUNCATE.
    pub fn forget(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Those of one session.
#[derive(Default)]
pub struct Instances(Mutex<BTreeMap<u32, Arc<Instance>>>);

impl Instances {
    /// Adds one.
    pub fn add(&self, instance: Arc<Instance>) {
        self.0.lock().insert(instance.number, instance);
    }

    /// It is no more.
    pub fn remove(&self, number: u32) {
        self.0.lock().remove(&number);
    }

    /// All, in order.
    pub fn all(&self) -> Vec<Arc<Instance>> {
        self.0.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_counts_anew() {
        let (rounds, all) = (Rounds::default(), Instances::default());
        let text: Arc<[u8]> = b"SELECT 1"[..].into();
        let one = Arc::new(Instance::new((3, None), (text, LexMode::default()), (1, 2)));
        all.add(one.clone());
        let e = Execution { latency_ns: 5, rows_sent: 2, ..Execution::default() };
        one.did(&e, &rounds);
        one.did(&e, &rounds);
        one.is_prepared_again(&rounds);
        let Used { did, again } = all.all()[0].used(&rounds);
        assert_eq!((did.count, did.total_ns, did.min_ns, did.rows_sent, again), (2, 10, 5, 4, 1));
        rounds.forget();
        assert_eq!((one.used(&rounds).did.count, one.used(&rounds).again), (0, 0));
        one.did(&e, &rounds);
        assert_eq!((one.used(&rounds).did.count, one.used(&rounds).again), (1, 0));
        all.remove(3);
        assert_eq!(all.all().len(), 0);
    }
}
