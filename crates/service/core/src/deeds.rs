//! What one session did, by kind of statement, which errors it raised, its transactions and prepared statements.
//!
//! The session adds to cells that it alone writes. A statement that ends writes only its place among the session's
//! last ones ([`History`]), which is one line of memory. When the ten places are full, and before anything begins anew,
//! the session adds what they owe to the sums of their kinds, prepared statements and transactions, most of which are
//! the same: `SessionDeeds::settle`. Readers add to the sums what is still owed. While they do, they hold the lock
//! that the session takes to settle.

use crate::activity::Activity;
use crate::event_names;
use crate::history::{Ended, History, Next, Owes, Owing, Plain, Running};
use crate::instances::{ByText, Instance, Instances, Rounds, Used};
use crate::transacted::{self, Forgotten, KEPT, Timed, Transacted, Transactions};
use crate::waited::SessionWaits;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use gannet_telemetry::{Cells, Counter, Did, DigestKey, Execution, Simple};
use gannet_types::ErrorCode;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A kind of statement: a number that [`Kind::name`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub(crate) u16);

/// Numbers of [`Kind`] that are no counter's.
const QUERY: u16 = 1;
const ERROR: u16 = 2;
const EXECUTE: u16 = 3;
const FIRST_COUNTER: u16 = 4;

impl Kind {
    /// Of a statement that ended without an error. `command`: the number of its [`Activity`].
    #[inline(always)]
    pub(crate) fn of_good(command: u8, counter: Option<Counter>) -> Kind {
        const EXECUTES: u8 = Activity::Execute as u8;
        Kind(match (command, counter) {
            (EXECUTES, _) => EXECUTE,
            (_, Some(counter)) => FIRST_COUNTER + counter as u16,
            (_, None) => QUERY,
        })
    }

    /// Of a statement that ended. `counter`: its `Com_` counter, if it has one.
    #[inline]
    pub fn of(command: Activity, counter: Option<Counter>, error: u16) -> Kind {
        Kind(match (command, counter) {
            (Activity::Execute, _) => EXECUTE,
            _ if error == ErrorCode::Parse.number() => ERROR,
            (_, Some(counter)) => FIRST_COUNTER + counter as u16,
            (_, None) => QUERY,
        })
    }

    /// As performance_schema calls it.
    pub fn name(self) -> String {
        match self.0 {
            QUERY => event_names::QUERY.into(),
            ERROR => event_names::ERROR.into(),
            EXECUTE => event_names::EXECUTE.into(),
            n => event_names::of_counter(Counter::ALL.get(usize::from(n - FIRST_COUNTER)).copied()),
        }
    }

    /// All that may be counted.
    pub fn all() -> impl Iterator<Item = Kind> {
        let statements = Counter::ALL.iter().filter(|c| event_names::names(**c));
        [QUERY, ERROR, EXECUTE].into_iter().chain(statements.map(|c| FIRST_COUNTER + *c as u16)).map(Kind)
    }
}

/// What was done, by kind.
pub type Deeds = BTreeMap<Kind, Did>;

/// Adds all of `more`.
pub fn add_deeds(to: &mut Deeds, more: &Deeds) {
    more.iter().for_each(|(kind, did)| to.entry(*kind).or_default().add(did));
}

/// How often an error was raised, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raised {
    pub count: u64,
    /// By a handler of a stored program.
    pub handled: u64,
    /// Microseconds since 1970.
    pub first_us: u64,
    pub last_us: u64,
}

impl Raised {
    fn add(&mut self, other: &Raised) {
        self.first_us = if self.count == 0 { other.first_us } else { self.first_us.min(other.first_us) };
        self.count += other.count;
        self.handled += other.handled;
        self.last_us = self.last_us.max(other.last_us);
    }
}

/// Errors by number.
pub type Errors = BTreeMap<u16, Raised>;

/// Adds all of `more`.
pub fn add_errors(to: &mut Errors, more: &Errors) {
    more.iter().for_each(|(number, raised)| to.entry(*number).or_default().add(raised));
}

/// Kinds that a session counts in cells of their own; further ones are behind a lock.
const OWN: usize = 8;

/// What is summed up, and forgotten by TRUNCATE, apart from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Statements,
    Errors,
    Transactions,
    /// As status variables, sessions have them elsewhere.
    Waits,
    Status,
    Memory,
}

/// Parts of which a session's own cells are: statements, errors, transactions.
const HERE: usize = Part::Transactions as usize + 1;

pub(crate) const PARTS: [Part; 6] =
    [Part::Statements, Part::Errors, Part::Transactions, Part::Waits, Part::Status, Part::Memory];

/// What one session did. Written by the session alone. What each statement reads is in front.
#[derive(Default)]
#[repr(C)]
pub struct SessionDeeds {
    /// The statements that have ended.
    pub history: History,
    /// The kinds of the cells in `own`; 0: these are nobody's yet.
    kinds: [AtomicU16; OWN],
    /// Their rounds are beside the sums: see [`Cells::round`].
    own: [OnceLock<Box<Cells>>; OWN],
    /// The rounds that the cells are of, and what is owed: of the first parts. The others are not here.
    rounds: [AtomicU64; HERE],
    /// Its prepared statements.
    pub prepared: Instances,
    /// For the sums of transactions to lie on one line.
    _between: u64,
    /// Its transactions.
    pub transacted: Transacted,
    others: Mutex<Deeds>,
    errors: Mutex<Errors>,
    /// What it waited for.
    pub waits: SessionWaits,
}

impl SessionDeeds {
    /// Its cells for a kind, if it has some.
    #[inline]
    pub(crate) fn of_kind(&self, kind: Kind) -> Option<&Cells> {
        let at = self.kinds.iter().position(|k| k.load(Relaxed) == kind.0)?;
        self.own[at].get().map(|cells| &**cells)
    }

    /// The same, made if there is room for them.
    fn with_kind(&self, kind: Kind) -> Option<&Cells> {
        self.of_kind(kind).or_else(|| {
            let at = self.kinds.iter().position(|k| k.load(Relaxed) == 0)?;
            let cells = self.own[at].get_or_init(Box::default);
            cells.round.store(self.round(Part::Statements), Relaxed);
            self.kinds[at].store(kind.0, Relaxed);
            Some(cells)
        })
    }

    /// Adds a statement, of whatever kind.
    pub(crate) fn add(&self, kind: Kind, e: &Execution) {
        match self.with_kind(kind) {
            Some(cells) => cells.add_owned(e),
            None => self.others.lock().entry(kind).or_default().add(&Did::of(e)),
        }
    }

    /// A statement of the session has ended. Called by the session alone.
    #[inline(never)]
    pub(crate) fn ended(&self, running: &Running<'_>, ended: &Ended<'_>) {
        let next = self.next();
        self.history.add(next, running, ended, &self.transacted);
    }

    /// The same of one that is [`Plain`].
    #[inline(always)]
    pub(crate) fn ended_plain(
        &self,
        running: &Running<'_>,
        kind: Kind,
        plain: &Plain<'_>,
        digest: impl FnOnce() -> Option<DigestKey>,
    ) {
        let next = self.next();
        let owes = Owes { kind: kind.0, alone: plain.alone };
        self.history.add_plain(next, running, (plain, owes), digest, &self.transacted);
    }

    /// The place of the statement that has ended. All that is owed is settled before it takes the place of one that may
    /// owe something.
    #[inline(always)]
    fn next(&self) -> Next {
        let next = self.history.next();
        if next.is_first() {
            self.settle();
        }
        next
    }

    /// Adds what is owed to the sums. By the session alone.
    #[inline(never)]
    pub(crate) fn settle(&self) {
        let prepared = self.prepared.lock();
        let of_some = |owes: Owes, which, sums: &Simple| {
            match self.with_kind(Kind(owes.kind)) {
                Some(cells) => cells.add_simple(sums),
                None => self.others.lock().entry(Kind(owes.kind)).or_default().add(&(*sums).into()),
            }
            self.cells_of(&prepared, which).iter().for_each(|cells| cells.add_simple(sums));
            owes.alone.iter().for_each(|alone| self.transacted.sum_alone(*alone, &Timed::of(sums)));
        };
        let of_one = |Owing { owes, which, execution }: Owing| {
            self.add(Kind(owes.kind), &execution);
            self.cells_of(&prepared, which).iter().for_each(|cells| cells.add_owned(&execution));
            owes.alone.iter().for_each(|alone| self.transacted.sum_alone(*alone, &Timed::one(execution.latency_ns)));
        };
        self.history.settle(of_some, of_one);
    }

    /// Those of a prepared statement that is there still.
    fn cells_of<'p>(&self, prepared: &'p ByText, which: u64) -> Option<&'p Cells> {
        prepared.get(which).filter(|_| which != 0)?.cells_of(self.prepared.round.load(Relaxed))
    }

    /// A transaction has ended that was not [`Alone`](transacted::Alone): it is kept. By the session alone.
    pub(crate) fn keep(&self, ended: &transacted::Ended) {
        self.history.move_alone(&self.transacted);
        self.transacted.keep(ended);
    }

    /// The transactions that are kept, the oldest first.
    fn all_transactions(&self) -> Vec<transacted::Ended> {
        // What goes from the one to the other meanwhile is in one of them, or in both.
        let alone = self.history.alone();
        let mut all = self.transacted.kept();
        let moved = all.iter().map(|e| e.end_number).max().unwrap_or(0);
        all.extend(alone.into_iter().filter(|e| e.number > moved));
        all.sort_unstable_by_key(|e| (e.started_ns + e.latency_ns, e.end_number));
        all.split_off(all.len().saturating_sub(KEPT))
    }

    /// The last transactions, the oldest first. One that its session is writing over is left out.
    pub fn transactions(&self, forgotten: &Forgotten) -> Vec<transacted::Ended> {
        let mut all = self.all_transactions();
        all.retain(|e| !forgotten.is_cleared(e));
        all
    }

    /// The last transaction that has ended.
    pub fn last_transaction(&self, forgotten: &Forgotten) -> Option<transacted::Ended> {
        self.all_transactions().pop().filter(|e| !forgotten.is_forgotten(e))
    }

    pub(crate) fn raise(&self, number: u16, handled: bool, at_us: u64) {
        let one = Raised { count: 1, handled: handled.into(), first_us: at_us, last_us: at_us };
        self.errors.lock().entry(number).or_default().add(&one);
    }

    pub(crate) fn round(&self, part: Part) -> u64 {
        self.rounds.get(part as usize).map_or(0, |round| round.load(Relaxed))
    }

    /// Begins anew, in this round. Nothing is owed.
    pub(crate) fn begin(&self, part: Part, round: u64) {
        match part {
            Part::Statements => {
                for cells in self.own.iter().filter_map(OnceLock::get) {
                    cells.clear();
                    cells.round.store(round, Relaxed);
                }
                self.others.lock().clear();
            }
            Part::Errors => self.errors.lock().clear(),
            Part::Transactions => {
                self.transacted.clear();
                self.transacted.round.store(round, Relaxed);
            }
            Part::Waits | Part::Status | Part::Memory => {}
        }
        self.rounds.get(part as usize).iter().for_each(|own| own.store(round, Relaxed));
    }

    pub(crate) fn deeds(&self) -> Deeds {
        let _unsettled = self.prepared.lock();
        let mut all = self.others.lock().clone();
        for (kind, cells) in self.kinds.iter().zip(&self.own) {
            let did = cells.get().map_or(Did::default(), |cells| cells.read());
            if did.count > 0 {
                all.entry(Kind(kind.load(Relaxed))).or_default().add(&did);
            }
        }
        for Owing { owes, execution, .. } in self.history.owing() {
            all.entry(Kind(owes.kind)).or_default().add(&Did::of(&execution));
        }
        all
    }

    pub(crate) fn errors(&self) -> Errors {
        self.errors.lock().clone()
    }

    pub(crate) fn sums_of_transactions(&self) -> Transactions {
        let _unsettled = self.prepared.lock();
        let mut all = self.transacted.read();
        for Owing { owes, execution, .. } in self.history.owing() {
            owes.alone.iter().for_each(|alone| all.add_alone(*alone, execution.latency_ns));
        }
        all
    }

    /// What a prepared statement of the session was used for.
    pub fn used(&self, instance: &Instance, rounds: &Rounds) -> Used {
        let _unsettled = self.prepared.lock();
        let round = rounds.now();
        let mut used = instance.used(round);
        if self.prepared.round.load(Relaxed) == round {
            let owed = self.history.owing().filter(|owing| owing.which == instance.which());
            owed.for_each(|owing| used.did.add(&Did::of(&owing.execution)));
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Owes;
    use crate::transacted::{How, Packed};
    use gannet_engine::Isolation;
    use gannet_parser::LexMode;
    use gannet_telemetry::Rare;
    use std::sync::Arc;

    /// A session whose statements last as many nanoseconds as their number is, and begin at ten times that.
    struct Sim {
        deeds: SessionDeeds,
        words: [AtomicU64; 16],
        long: Mutex<Option<Vec<u8>>>,
    }

    fn how(committed: bool, read_only: bool) -> Packed {
        let (autocommit, isolation) = (true, Isolation::default());
        How { committed, read_only, autocommit, isolation, savepoints: [0; 3] }.into()
    }

    impl Sim {
        fn new() -> Sim {
            let words = [const { AtomicU64::new(0) }; 16];
            Sim { deeds: SessionDeeds::default(), words, long: Mutex::new(None) }
        }

        /// A statement of a text ends.
        fn ends(&self, which: u64, (kind, alone): (u16, Option<Packed>), rare: Option<Rare>) -> u64 {
            let number = self.deeds.history.count() + 1;
            let running = Running {
                command: Activity::Execute as u8,
                text: which,
                length: 8,
                words: &self.words,
                long: &self.long,
            };
            let execution = Execution { latency_ns: number, rows_sent: 2, rare, ..Execution::default() };
            let (started_ns, schema, error, alone) = (number * 10, 0, None, alone.and_then(Packed::alone));
            if kind != 0 && rare.is_none() && !number.is_multiple_of(3) {
                let plain = Plain { execution: &execution, started_ns, schema, alone };
                self.deeds.ended_plain(&running, Kind(kind), &plain, || None);
            } else {
                let owes = (kind != 0).then_some(Owes { kind, alone });
                let (digest, listed) = (&|| None, true);
                let ended = Ended { execution: &execution, digest, started_ns, schema, error, listed, owes };
                self.deeds.ended(&running, &ended);
            }
            number
        }

        /// A transaction ends with the statement that runs, and has written.
        fn keeps(&self) {
            let (number, trx) = (self.deeds.history.count() + 1, 7);
            let how = how(true, false);
            let (started_ns, latency_ns) = (number * 10, number);
            self.deeds.keep(&transacted::Ended { number, end_number: number, started_ns, latency_ns, trx, how });
        }

        fn transactions(&self, forgotten: &Forgotten) -> Vec<(u64, u64)> {
            self.deeds.transactions(forgotten).iter().map(|e| (e.end_number, e.trx)).collect()
        }
    }

    #[test]
    fn what_is_owed_is_seen_at_once_and_added_once() {
        let (sim, rounds) = (Sim::new(), Rounds::default());
        let text: Arc<[u8]> = b"SELECT 1"[..].into();
        let instance = |which| Arc::new(Instance::new((1, None), (text.clone(), which, LexMode::default()), (1, 2)));
        let (one, other) = (instance(1), instance(2));
        [&one, &other].into_iter().for_each(|i| sim.deeds.prepared.add(i.clone()));
        let rare = Rare { warnings: 3, ..Rare::default() }.if_any();
        let mut want: BTreeMap<u16, Did> = BTreeMap::new();
        let mut of_one = Did::default();
        for n in 1..=57u64 {
            // More kinds than there are cells, and a text that is no prepared statement's.
            let (which, kind) = (n % 3, 4 + (n / 2 % 11) as u16);
            let rare = rare.filter(|_| n % 5 == 0);
            sim.ends(which, (kind, (n % 2 == 0).then(|| how(true, n % 4 == 0))), rare);
            let did = Did::of(&Execution { latency_ns: n, rows_sent: 2, rare, ..Execution::default() });
            want.entry(kind).or_default().add(&did);
            if which == 1 {
                of_one.add(&did);
            }
            let deeds = sim.deeds.deeds();
            assert!(deeds.iter().map(|(k, d)| (k.0, *d)).eq(want.iter().map(|(k, d)| (*k, *d))), "{n}");
            assert_eq!(sim.deeds.used(&one, &rounds).did, of_one);
            let sums = sim.deeds.sums_of_transactions();
            assert_eq!((sums.all().count, sums.read_only.count), (n / 2, n / 4));
        }
        sim.deeds.settle();
        assert!(sim.deeds.history.owing().next().is_none());
        assert_eq!((sim.deeds.used(&one, &rounds).did, sim.deeds.sums_of_transactions().all().max_ns), (of_one, 56));
        // What was owed before figures are forgotten is not added to those after.
        sim.ends(1, (4, None), None);
        rounds.forget();
        assert_eq!(sim.deeds.used(&one, &rounds).did.count, 0);
        one.did(&Execution::default(), &rounds);
        sim.deeds.settle();
        assert_eq!(sim.deeds.used(&one, &rounds).did.count, 1);
        // A prepared statement may be gone.
        sim.ends(2, (4, None), None);
        sim.deeds.prepared.remove(&other);
        sim.deeds.settle();
        let all: u64 = sim.deeds.deeds().values().map(|d| d.count).sum();
        assert_eq!(all, 59);
    }

    #[test]
    fn the_last_ten_transactions_are_kept_wherever_they_are() {
        let (sim, forgotten, mut want) = (Sim::new(), Forgotten::default(), Vec::new());
        let mut random = 7u64;
        for n in 1..5000u64 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Long stretches of one sort, and mixtures.
            match (random >> 33) % if n % 200 < 100 { 3 } else { 40 } {
                0 => drop(sim.ends(0, (4, None), None)),
                1 => {
                    sim.keeps();
                    want.push((sim.ends(0, (0, None), None), 7));
                }
                _ => want.push((sim.ends(1, (4, Some(how(true, false))), None), 0)),
            }
            let last = want.len().saturating_sub(10);
            assert_eq!(sim.transactions(&forgotten), want[last..], "{n}");
            assert_eq!(sim.deeds.last_transaction(&forgotten).map(|e| e.end_number), want.last().map(|w| w.0));
        }
        let now = sim.deeds.history.count() * 11;
        forgotten.forget_kept(now);
        forgotten.forget_last(now);
        assert_eq!((sim.transactions(&forgotten).len(), sim.deeds.last_transaction(&forgotten)), (0, None));
        let number = sim.ends(1, (4, Some(how(false, true))), None);
        assert_eq!(sim.transactions(&forgotten), [(number, 0)]);
    }
}
