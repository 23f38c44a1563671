//! What statements did, by kind of statement, which errors they raised, and their transactions: for each session, and
//! for the accounts, users and hosts of those that have ended.
//!
//! A session adds to cells that it alone writes, and gives them to the [`Ledger`] when it ends or changes user.
//! TRUNCATE cannot set another session's cells back: it begins a new round, and a session that finds its cells to be of
//! an earlier one empties them before it adds. Readers take cells of an earlier round for empty. Each [`Part`] has
//! rounds of its own.

use crate::deeds::PARTS;
pub use crate::deeds::{Deeds, Errors, Kind, Part, Raised, SessionDeeds, add_deeds, add_errors};
use crate::sums::ALL;
pub use crate::sums::{Key, NOBODY, Of};
use crate::transacted::{Ended, Transactions};
use crate::usual::changed;
use crate::waited::{Waits, Whose};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_exec::spill::Figures;
pub use gannet_telemetry::Did;
use gannet_telemetry::{Counter, Execution, Scope, SessionCounters};
use std::collections::BTreeMap;

/// One part of what a session did, as of an account.
fn read(session: &SessionDeeds, part: Part) -> Account {
    let mut read = Account::default();
    match part {
        Part::Statements => read.deeds = session.deeds(),
        Part::Errors => read.errors = session.errors(),
        Part::Transactions => read.transactions = session.sums_of_transactions(),
        Part::Waits | Part::Status | Part::Memory => {}
    }
    read
}

/// What the sessions of one user, host or account did that have ended.
#[derive(Clone, Default)]
pub struct Account {
    pub deeds: Deeds,
    pub errors: Errors,
    pub transactions: Transactions,
    pub waits: Waits,
    /// By counter.
    pub counts: Vec<u64>,
    pub life: Life,
    pub memory: Figures,
}

/// Connections, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// How long they were connected.
    pub connected_ns: u64,
    /// Those that were encrypted.
    pub secure: u64,
    /// Those that were not let in.
    pub denied: u64,
    /// Those that did not end by themselves.
    pub lost: u64,
}

impl Life {
    /// Adds those of others.
    pub fn add(&mut self, other: &Life) {
        self.connected_ns += other.connected_ns;
        self.secure += other.secure;
        self.denied += other.denied;
        self.lost += other.lost;
    }
}

impl Account {
    /// Adds what others did.
    pub fn add(&mut self, other: &Account) {
        add_deeds(&mut self.deeds, &other.deeds);
        add_errors(&mut self.errors, &other.errors);
        self.transactions.add(&other.transactions);
        self.waits.add(&other.waits);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(n, m)| *n += m);
        self.life.add(&other.life);
        self.memory.add(&other.memory);
    }

    fn forget(&mut self, part: Part) {
        match part {
            Part::Statements => self.deeds.clear(),
            Part::Errors => self.errors.clear(),
            Part::Transactions => self.transactions = Transactions::default(),
            Part::Waits => self.waits = Waits::default(),
            Part::Status => self.counts.clear(),
            Part::Memory => self.memory = Figures::default(),
        }
    }
}

/// Accounts, users, hosts that are kept at most, each: sessions of further ones are kept in the sum of all.
const MOST: usize = 10_000;

type Accounts = BTreeMap<Key, Account>;

/// The rounds of a part.
#[derive(Default)]
struct Rounds {
    now: AtomicU64,
    /// Cells of an earlier round than this are not kept, in each of the sums.
    kept_from: [AtomicU64; ALL.len()],
}

/// Of the sessions that have ended.
#[derive(Default)]
pub struct Ledger {
    rounds: [Rounds; PARTS.len()],
    accounts: Mutex<[Accounts; ALL.len()]>,
}

impl Ledger {
    fn round(&self, part: Part) -> u64 {
        self.rounds[part as usize].now.load(Relaxed)
    }

    /// From here on the session owes to sums of the present rounds. By the session alone.
    #[cold]
    pub(crate) fn catch_up(&self, session: &SessionDeeds, who: impl Fn() -> (String, String), prepared: u64) {
        session.settle();
        self.renew_if_old(session, &who, Part::Statements);
        self.renew_if_old(session, &who, Part::Transactions);
        session.prepared.round.store(prepared, Relaxed);
    }

    #[inline]
    fn renew_if_old(&self, session: &SessionDeeds, who: impl Fn() -> (String, String), part: Part) {
        if session.round(part) != self.round(part) {
            self.renew(session, &who(), part);
        }
    }

    /// A statement of the session has ended. Called by the session alone.
    #[inline(always)]
    pub fn did(&self, session: &SessionDeeds, who: impl Fn() -> (String, String), kind: Kind, e: &Execution) {
        let round = self.round(Part::Statements);
        match session.of_kind(kind).filter(|cells| cells.round.load(Relaxed) == round) {
            Some(cells) => cells.add_owned(e),
            None => self.did_first(session, who, kind, e),
        }
    }

    /// The same of the first statement of a kind, or of a round.
    #[cold]
    fn did_first(&self, session: &SessionDeeds, who: impl Fn() -> (String, String), kind: Kind, e: &Execution) {
        self.renew_if_old(session, who, Part::Statements);
        session.add(kind, e);
    }

    /// A transaction of the session has ended. Called by the session alone.
    #[inline]
    pub fn transacted(&self, session: &SessionDeeds, who: impl Fn() -> (String, String), ended: &Ended) {
        if session.transacted.round.load(Relaxed) != self.round(Part::Transactions) {
            self.renew(session, &who(), Part::Transactions);
        }
        session.transacted.sum(ended);
    }

    /// The session's statement raised an error. Called by the session alone.
    #[cold]
    pub fn raised(
        &self,
        session: &SessionDeeds,
        who: impl Fn() -> (String, String),
        (number, handled): (u16, bool),
        us: u64,
    ) {
        self.renew_if_old(session, who, Part::Errors);
        session.raise(number, handled, us);
    }

    /// The session's cells of a part are of an earlier round.
    #[cold]
    fn renew(&self, session: &SessionDeeds, who: &(String, String), part: Part) {
        session.settle();
        let round = self.round(part);
        self.keep(who, |of| if self.counts_for(session, part, of) { read(session, part) } else { Account::default() });
        session.begin(part, round);
    }

    /// The session's cells of a part belong to a sum still.
    fn counts_for(&self, session: &SessionDeeds, part: Part, of: Of) -> bool {
        session.round(part) >= self.rounds[part as usize].kept_from[of as usize].load(Relaxed)
    }

    /// The session ends, or goes on as another user.
    pub fn ends(&self, session: &SessionDeeds, who: &(String, String), rest: (&SessionCounters, Life, Figures)) {
        let (counters, life, memory) = rest;
        session.settle();
        let shown = |c: &Counter| if c.scope() == Scope::Both { counters.get(*c) } else { 0 };
        let counts: Vec<u64> = Counter::ALL.iter().map(shown).collect();
        self.keep(who, |of| Account {
            counts: counts.clone(),
            life,
            memory,
            waits: session.waits.read(counters, Whose::Sum(of)),
            ..self.open(session, of)
        });
        session.waits.forget_all(counters);
        for part in PARTS {
            session.begin(part, self.round(part));
        }
    }

    /// A client of this name, from this host, was not let in.
    pub fn denied(&self, who: &(String, String)) {
        let life = Life { denied: 1, ..Life::default() };
        self.keep(who, |_| Account { life, ..Account::default() });
    }

    /// Memory that a session took, and that the session itself no longer tells of, counts in all but some of the sums.
    pub(crate) fn took(&self, who: &(String, String), memory: Figures, but: &[Of]) {
        self.keep(
            who,
            |of| if but.contains(&of) { Account::default() } else { Account { memory, ..Account::default() } },
        );
    }

    /// Memory that the sessions took that have ended.
    pub(crate) fn memory(&self, of: Of) -> BTreeMap<Key, Figures> {
        let all = self.accounts.lock();
        let took = all[of as usize].iter().filter(|(_, account)| account.memory != Figures::default());
        took.map(|(key, account)| (key.clone(), account.memory)).collect()
    }

    /// Adds to the sums of an account.
    fn keep(&self, (user, host): &(String, String), ended: impl Fn(Of) -> Account) {
        let mut all = self.accounts.lock();
        for (of, accounts) in ALL.iter().zip(all.iter_mut()) {
            let key = of.key(user, host);
            if accounts.len() < MOST || accounts.contains_key(&key) {
                accounts.entry(key).or_default().add(&ended(*of));
            }
        }
    }

    /// What the session did in this round.
    pub fn deeds(&self, session: &SessionDeeds) -> Deeds {
        if session.round(Part::Statements) == self.round(Part::Statements) { session.deeds() } else { Deeds::default() }
    }

    /// Errors of the session in this round.
    pub fn errors(&self, session: &SessionDeeds) -> Errors {
        let now = session.round(Part::Errors) == self.round(Part::Errors);
        if now { session.errors() } else { Errors::default() }
    }

    /// Transactions of the session in this round.
    pub fn transactions(&self, session: &SessionDeeds) -> Transactions {
        let now = session.round(Part::Transactions) == self.round(Part::Transactions);
        if now { session.sums_of_transactions() } else { Transactions::default() }
    }

    /// What a session did that its account, user, host still has to be told of.
    pub fn open(&self, session: &SessionDeeds, of: Of) -> Account {
        let mut open = Account::default();
        for part in PARTS.into_iter().filter(|part| self.counts_for(session, *part, of)) {
            open.add(&read(session, part));
        }
        open
    }

    /// Of the sessions that have ended.
    pub fn ended(&self, of: Of) -> BTreeMap<Key, Account> {
        self.accounts.lock()[of as usize].clone()
    }

    /// TRUNCATE by thread: the sessions begin again, their accounts keep what they did.
    pub fn forget_sessions(&self, part: Part) {
        self.rounds[part as usize].now.fetch_add(1, Relaxed);
        changed();
    }

    /// TRUNCATE by account, user or host. As in MySQL the sessions begin again, and by user or host the accounts do,
    /// too. The sum of all forgets everything.
    pub fn forget(&self, part: Part, of: Of) {
        let forgotten = of.forgotten_with();
        let mut all = self.accounts.lock();
        let rounds = &self.rounds[part as usize];
        let round = rounds.now.fetch_add(1, Relaxed) + 1;
        for of in forgotten {
            rounds.kept_from[*of as usize].store(round, Relaxed);
            all[*of as usize].values_mut().for_each(|account| account.forget(part));
        }
        changed();
    }

    /// The accounts, users or hosts themselves were forgotten.
    pub fn forget_who(&self, of: Of) {
        PARTS.iter().for_each(|part| self.forget(*part, of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Activity;
    use gannet_telemetry::Rare;

    fn who() -> (String, String) {
        ("u".into(), "h".into())
    }

    fn counts(deeds: &Deeds) -> Vec<(String, u64)> {
        deeds.iter().map(|(k, d)| (k.name(), d.count)).collect()
    }

    fn select() -> Kind {
        Kind::of(Activity::Query, Some(Counter::ComSelect), 0)
    }

    #[test]
    fn sessions_count_and_their_accounts_remember() {
        let (ledger, session, counters) = (Ledger::default(), SessionDeeds::default(), SessionCounters::new());
        let slow = Execution { latency_ns: 9, rows_sent: 2, ..Execution::default() };
        let quick =
            Execution { latency_ns: 4, rare: Rare { error: true, ..Rare::default() }.if_any(), ..Execution::default() };
        [&slow, &quick].iter().for_each(|e| ledger.did(&session, who, select(), e));
        ledger.did(&session, who, Kind::of(Activity::Execute, None, 0), &slow);
        let deeds = ledger.deeds(&session);
        let did = deeds[&select()];
        assert_eq!((did.count, did.min_ns, did.max_ns, did.total_ns, did.errors), (2, 4, 9, 13, 1));
        assert_eq!(counts(&deeds), [("statement/com/Execute".into(), 1), ("statement/sql/select".into(), 2)]);
        let took = |taken, given, most| Figures { taken, given, least: 0, most };
        ledger.took(&who(), took(7, 7, 7), &[Of::Account]);
        ledger.ends(&session, &who(), (&counters, Life::default(), took(5, 5, 3)));
        assert_eq!(ledger.memory(Of::Account), [(Of::Account.key("u", "h"), took(5, 5, 3))].into());
        assert_eq!(ledger.memory(Of::Host), [(Of::Host.key("u", "h"), took(12, 12, 7))].into());
        ledger.forget(Part::Memory, Of::User);
        assert_eq!((ledger.memory(Of::User).len(), ledger.memory(Of::Host).len()), (0, 1));
        assert!(ledger.deeds(&session).is_empty());
        for of in ALL {
            let ended = ledger.ended(of);
            assert_eq!(ended.len(), 1);
            assert_eq!(ended[&of.key("u", "h")].deeds, deeds);
        }
        ledger.forget(Part::Statements, Of::User);
        let left = |of: Of| ledger.ended(of).values().map(|a| a.deeds.len()).sum::<usize>();
        assert_eq!(ALL.map(left), [0, 0, 2, 2]);
    }

    #[test]
    fn kinds_beyond_the_cells_are_counted_too() {
        let (ledger, session) = (Ledger::default(), SessionDeeds::default());
        let kinds: Vec<Kind> = Kind::all().collect();
        assert!(kinds.len() > 100);
        for kind in kinds.iter().chain(&kinds) {
            ledger.did(&session, who, *kind, &Execution::default());
        }
        assert!(ledger.deeds(&session).values().all(|d| d.count == 2));
        assert_eq!(ledger.deeds(&session).len(), kinds.len());
    }

    #[test]
    fn a_new_round_is_seen_before_the_session_runs_again() {
        let (ledger, session, e) = (Ledger::default(), SessionDeeds::default(), Execution::default());
        ledger.did(&session, who, select(), &e);
        ledger.raised(&session, who, (1064, false), 5);
        ledger.forget_sessions(Part::Statements);
        // Each part has its rounds.
        assert_eq!((ledger.deeds(&session).len(), ledger.errors(&session).len()), (0, 1));
        ledger.forget_sessions(Part::Errors);
        assert!(ledger.errors(&session).is_empty());
        let open = |of| ledger.open(&session, of).deeds.get(&select()).map_or(0, |d| d.count);
        let ended = |of| ledger.ended(of).values().flat_map(|a| a.deeds.values()).map(|d| d.count).sum::<u64>();
        assert_eq!(ALL.map(open), [1; 4]);
        ledger.did(&session, who, select(), &e);
        assert_eq!((ledger.deeds(&session)[&select()].count, ALL.map(ended)), (1, [1; 4]));
        // An account that is forgotten goes on in its user and host.
        ledger.forget(Part::Statements, Of::Account);
        assert_eq!((ledger.deeds(&session).len(), ALL.map(open), ALL.map(ended)), (0, [0, 1, 1, 1], [0, 1, 1, 1]));
        ledger.did(&session, who, select(), &e);
        assert_eq!((ALL.map(open), ALL.map(ended)), ([1; 4], [0, 2, 2, 2]));
        ledger.forget(Part::Statements, Of::All);
        assert_eq!((ALL.map(open), ALL.map(ended)), ([0; 4], [0; 4]));
        ledger.did(&session, who, select(), &e);
        assert_eq!((ALL.map(open), ALL.map(ended)), ([1; 4], [0; 4]));
        ledger.raised(&session, who, (1064, false), 9);
        ledger.raised(&session, who, (1064, true), 7);
        let raised = Raised { count: 2, handled: 1, first_us: 7, last_us: 9 };
        assert_eq!(ledger.errors(&session)[&1064], raised);
    }
}
