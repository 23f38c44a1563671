//! The connections: connection ids, the process list, limits, KILL.
//!
//! Each session writes its own entry (plain stores to a line that no other session writes); SHOW PROCESSLIST reads
//! all entries. The map itself changes at connect and disconnect only.

pub use crate::activity::Activity;
use crate::consumers::{Consumers, Kept};
pub use crate::entry::{Attribute, Entry, STARTS, Who};
use crate::entry::{Progress, UNKNOWN, longest_attributes};
use crate::history::{Ended, LongHistory, Owes};
use crate::instances::Rounds;
use crate::ledger::{Key, Kind, Ledger, Of, Part};
use crate::setup::Setup;
use crate::stages::SessionStages;
use crate::tallies::Tallies;
use crate::transacted::{self, Alone, Forgotten, LongTransactions};
use crate::waited::Whose;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_exec::spill::Figures;
use gannet_runtime::{Interrupt, TaskContext, Waker};
use gannet_telemetry::{Counter, Execution};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All sessions.
#[derive(Default)]
pub struct Registry {
    next: AtomicU64,
    /// Connections whose clients have logged in.
    inside: AtomicUsize,
    map: Mutex<BTreeMap<u64, Arc<Entry>>>,
    /// When the active ones of many were counted, and how many they were.
    ran: Mutex<(u64, u64)>,
    /// What is collected of single statements.
    pub consumers: Consumers,
    /// Of whom and of what.
    pub setup: Setup,
    /// Statements of all sessions, while that is asked for.
    pub long_history: LongHistory,
    /// The same of transactions.
    pub long_transactions: LongTransactions,
    /// What was forgotten of those of each session.
    pub forgotten: Forgotten,
    /// How often the figures of prepared statements were forgotten.
    pub prepared: Rounds,
    /// Connections by account, user and host.
    pub tallies: Tallies,
    /// Wakes the event scheduler.
    events: Mutex<Option<Waker>>,
    /// What the statements of sessions did that have ended.
    pub ledger: Ledger,
}

impl Registry {
    /// The task that starts events sleeps until one is due: this says that another one may be due first.
    pub fn wake_events(&self) {
        if let Some(scheduler) = &*self.events.lock() {
            scheduler.wake();
        }
    }

    /// The current task is the one that starts events.
    pub fn starts_events(&self) {
        *self.events.lock() = Some(gannet_runtime::waker());
    }

    /// Registers a connection whose client is still to log in; returns its entry and how many there are now.
    pub fn enter(&self, context: TaskContext, host: String, address: String) -> (Arc<Entry>, usize) {
        let who = Who { user: UNKNOWN.into(), host, database: None };
        self.add(context, who, address, Progress::Silent)
    }

    /// A session of the server's own begins, shown as `user`; it is no connection.
    pub fn enter_own(&self, context: TaskContext, user: &str, host: &str) -> Arc<Entry> {
        let who = Who { user: user.into(), host: host.into(), database: None };
        self.add(context, who, String::new(), Progress::Own).0
    }

    fn add(&self, context: TaskContext, who: Who, address: String, progress: Progress) -> (Arc<Entry>, usize) {
        let id = self.next.fetch_add(1, Relaxed) + 1;
        // Whose a client's is becomes known when it logs in.
        let known = matches!(progress, Progress::Own).then_some((&*who.user, &*who.host));
        let counted = self.tallies.count(known);
        let entry = Entry::new(id, (context, progress), (who, address), counted, self.consumers.stages.clone());
        let mut map = self.map.lock();
        map.insert(id, entry.clone());
        (entry, map.len())
    }

    /// Where a statement of the session is kept that has ended; `None`: nothing is collected of it. `counter`, `error`:
    /// as [`Registry::did`] has them.
    #[inline(always)]
    pub fn keeps(&self, entry: &Entry, counter: Option<Counter>, error: u16) -> Option<Kept> {
        let kept = self.consumers.of_ended()?;
        if entry.watched.is_all() && !self.setup.some_off() {
            return Some(kept);
        }
        let kind = Kind::of(entry.activity().0, counter, error);
        self.of_watched(entry, kept).filter(|_| self.setup.is_on(kind))
    }

    /// All is collected of the session's statements that is collected by default, and no more: what they owe belongs
    /// to the present sums. By the session alone.
    pub fn is_usual(&self, entry: &Entry) -> bool {
        entry.is_usual() || self.becomes_usual(entry)
    }

    #[cold]
    fn becomes_usual(&self, entry: &Entry) -> bool {
        entry.deeds.history.usual.ask(|| {
            let usual = self.consumers.are_usual() && entry.watched.is_all() && !self.setup.some_off();
            if usual {
                self.ledger.catch_up(&entry.deeds, || entry.account(), self.prepared.now());
            }
            usual
        })
    }

    /// A statement of the session has ended without an error, and [`is_usual`](Self::is_usual). It is added to the sums
    /// later, from where it is kept. `counter`: of its kind. `alone`: the transaction that it was, which nobody else is
    /// told of.
    pub fn ended(&self, entry: &Entry, counter: Option<Counter>, alone: Option<Alone>, ended: Ended<'_>) {
        gannet_telemetry::latency(ended.execution.latency_ns);
        let kind = Kind::of(entry.activity().0, counter, 0).0;
        entry.ended(&Ended { owes: Some(Owes { kind, alone }), ..ended });
    }

    /// The part of it that is collected of the session.
    #[cold]
    fn of_watched(&self, entry: &Entry, kept: Kept) -> Option<Kept> {
        let watched = entry.watched.get();
        let long = kept.long && watched.history;
        watched.instrumented.then_some(Kept { long, listed: watched.history, ..kept })
    }

    /// Anything is collected of the session.
    pub fn collects_of(&self, entry: &Entry) -> bool {
        self.consumers.collect() && entry.watched.get().instrumented
    }

    /// A statement of the session has ended. `counter`: of its kind. `error`: its number, 0 without one.
    #[inline(always)]
    pub fn did(&self, entry: &Entry, counter: Option<Counter>, error: u16, e: &Execution) {
        gannet_telemetry::latency(e.latency_ns);
        let kind = Kind::of(entry.activity().0, counter, error);
        self.ledger.did(&entry.deeds, || entry.account(), kind, e);
        if error != 0 {
            self.ledger.raised(&entry.deeds, || entry.account(), (error, false), e.end_unix_us);
        }
    }

    /// A transaction of the session has ended.
    #[inline]
    pub fn transacted(&self, entry: &Entry, ended: &transacted::Ended) {
        let Some(mut kept) = self.consumers.of_transactions() else { return };
        if !entry.watched.is_all() || self.setup.some_off() {
            let Some(watched) = self.of_watched(entry, kept).filter(|_| self.setup.transactions()) else { return };
            kept = Kept { own: watched.own && watched.listed, ..watched };
        }
        self.ledger.transacted(&entry.deeds, || entry.account(), ended);
        if kept.own {
            entry.deeds.keep(ended);
        }
        if kept.long {
            self.long_transactions.add(entry.id, *ended);
        }
    }

    /// A statement of the session raised a warning or a note.
    pub fn warned(&self, entry: &Entry, number: u16, unix_us: u64) {
        self.ledger.raised(&entry.deeds, || entry.account(), (number, false), unix_us);
    }

    /// A handler of a stored program took an error.
    pub fn handled(&self, entry: &Entry, error: u16, unix_us: u64) {
        self.ledger.raised(&entry.deeds, || entry.account(), (error, true), unix_us);
    }

    /// The client of a connection has logged in or changed user.
    pub fn known_as(&self, entry: &Entry, who: Who) {
        if entry.progress.load(Relaxed) == Progress::In as u8 {
            let memory = entry.memory.begin_again().over();
            self.ledger.ends(&entry.deeds, &entry.account(), (&entry.counters, entry.life(), memory));
        }
        entry.began_ns.store(gannet_runtime::now_ns(), Relaxed);
        let counted = self.tallies.count(Some((&who.user, entry.host())));
        if let Some(before) = &mut *entry.counted.lock() {
            before.becomes(counted);
        }
        entry.watched.set(self.setup.of_client(&who.user, entry.host()));
        *entry.who.write() = who;
    }

    /// TRUNCATE of what sessions waited for: of a sum, or (`None`) of the sessions alone.
    pub fn forget_waits(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.ledger.forget(Part::Waits, of);
        }
        let sums = of.map_or(&[][..], Of::forgotten_with);
        let goes = |whose| match whose {
            Whose::Session => true,
            Whose::Sum(of) => sums.contains(&of),
        };
        self.all().iter().for_each(|e| e.deeds.waits.forget(&e.counters, goes));
    }

    /// The same of the stages of their work. As in MySQL, the sessions' own go with every sum.
    pub fn forget_stages(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.consumers.stages.forget(of);
        }
        self.all().iter().filter_map(|entry| entry.stages()).for_each(SessionStages::forget_sums);
    }

    /// The same of the memory that sessions took: what they hold stays.
    pub fn forget_memory(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.ledger.forget(Part::Memory, of);
        }
        let forgotten = of.map_or(&[][..], Of::forgotten_with);
        for entry in self.all() {
            self.ledger.took(&entry.account(), entry.memory.begin_again().over(), forgotten);
        }
    }

    /// Memory that sessions took, by account, user or host.
    pub fn memory(&self, of: Of) -> BTreeMap<Key, Figures> {
        let mut all = self.ledger.memory(of);
        for entry in self.all() {
            let (user, host) = entry.account();
            all.entry(of.key(&user, &host)).or_default().add(&entry.memory.read());
        }
        all
    }

    /// The accounts, users or hosts themselves are forgotten, and with them what they did.
    pub fn forget_who(&self, of: Of) {
        self.forget_waits(Some(of));
        self.forget_memory(Some(of));
        self.forget_stages(Some(of));
        self.ledger.forget_who(of);
    }

    /// The client of a connection has begun to log in.
    pub fn speaks(&self, entry: &Entry) {
        if entry.progress.load(Relaxed) == Progress::Silent as u8 {
            entry.progress.store(Progress::Speaks as u8, Relaxed);
        }
    }

    /// Lets a client in, unless `most` are in already. Idempotent.
    pub fn let_in(&self, entry: &Entry, most: usize) -> bool {
        let fits = |n: usize| (n < most).then_some(n + 1);
        if entry.progress.load(Relaxed) == Progress::In as u8 {
            return true;
        }
        let fitted = self.inside.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if fitted {
            entry.progress.store(Progress::In as u8, Relaxed);
        }
        fitted
    }

    /// Bytes of the longest connection attributes of a login so far.
    pub fn longest_attributes(&self) -> u64 {
        longest_attributes()
    }

    /// Connections whose clients have logged in.
    pub fn inside(&self) -> usize {
        self.inside.load(Relaxed)
    }

    /// Sees that at most `most` connections wait for their clients to log in: of the address that has most of them, and
    /// of its older half, those end which have said nothing, the oldest first, and then the others. The younger half
    /// has time to begin, whatever the others have begun and do not go on with.
    pub fn make_room(&self, most: usize) {
        let map = self.map.lock();
        if map.len().saturating_sub(self.inside()) <= most {
            return;
        }
        let progress = |e: &Entry| e.progress.load(Relaxed);
        // A session that was told to end counts as gone.
        let ends = |e: &Entry| e.context.pending().is_some_and(|i| i >= Interrupt::PeerGone);
        let waits = |e: &Entry| progress(e) < Progress::In as u8 && !ends(e);
        let waiting: Vec<&Arc<Entry>> = map.values().filter(|e| waits(e)).collect();
        let mut of: BTreeMap<&str, usize> = BTreeMap::new();
        waiting.iter().for_each(|e| *of.entry(&e.address).or_default() += 1);
        let crowd = of.iter().max_by_key(|(_, n)| **n).map_or("", |(address, _)| address);
        let mut theirs: Vec<&&Arc<Entry>> = waiting.iter().filter(|e| e.address == crowd).collect();
        theirs.sort_by_key(|e| e.id);
        let older = theirs.len().div_ceil(2);
        theirs[..older].sort_by_key(|e| (progress(e), e.id));
        for entry in theirs.into_iter().take(waiting.len().saturating_sub(most)) {
            entry.context.interrupt(Interrupt::Connection);
        }
    }

    /// A connection ended.
    pub fn leave(&self, id: u64) {
        let gone = self.map.lock().remove(&id);
        // Lists may hold the entry for a while.
        drop(gone.as_ref().and_then(|e| e.counted.lock().take()));
        if let Some(entry) = &gone {
            let memory = entry.memory.read().ended();
            self.ledger.ends(&entry.deeds, &entry.account(), (&entry.counters, entry.life(), memory));
        }
        if gone.is_some_and(|e| e.progress.load(Relaxed) == Progress::In as u8) {
            self.inside.fetch_sub(1, Relaxed);
        }
    }

    /// Connections now.
    pub fn len(&self) -> usize {
        self.map.lock().len()
    }

    /// True without connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, by id.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.map.lock().values().cloned().collect()
    }

    /// Sessions that do something. Of many it is what was counted a moment ago: lists of counters are asked for often.
    pub fn running(&self) -> u64 {
        const COUNTED: usize = 256;
        const MOMENT_NS: u64 = 50_000_000;
        let map = self.map.lock();
        let count = || map.values().filter(|e| e.activity().0 != Activity::Sleep).count() as u64;
        if map.len() <= COUNTED {
            return count();
        }
        let (now, mut last) = (gannet_runtime::now_ns(), self.ran.lock());
        if now > last.0 + MOMENT_NS {
            *last = (now, count());
        }
        last.1
    }

    /// One entry.
    pub fn get(&self, id: u64) -> Option<Arc<Entry>> {
        self.map.lock().get(&id).cloned()
    }

    /// KILL: false when there is no such connection.
    pub fn kill(&self, id: u64, query_only: bool) -> bool {
        let Some(entry) = self.get(id) else { return false };
        entry.context.interrupt(if query_only { Interrupt::Query } else { Interrupt::Connection });
        true
    }

    /// Asks all sessions to end.
    pub fn shut_down(&self) {
        for entry in self.all() {
            entry.context.interrupt(Interrupt::Shutdown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_base::sync::atomic::AtomicU8;

    #[test]
    fn statement_texts_of_every_length_are_seen() {
        let r = Registry::default();
        let (e, n) = r.enter(gannet_runtime::context(), "localhost".into(), String::new());
        assert_eq!((e.id, n), (1, 1));
        for len in [1, 7, 8, 9, 127, 128, 129, 5000] {
            let text = vec![b'x'; len];
            e.begin(Activity::Query, 1, &text);
            assert_eq!(e.info().unwrap().bytes(), text);
        }
        e.idle(2);
        assert_eq!(e.info(), None);
        assert!(!r.kill(99, true));
        r.leave(1);
        assert!(r.is_empty());
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let r = Registry::default();
        let (e, _) = r.enter(gannet_runtime::context(), String::new(), String::new());
        let done = Arc::new(AtomicU8::new(0));
        let reader = {
            let (e, done) = (e.clone(), done.clone());
            std::thread::spawn(move || {
                while done.load(Relaxed) == 0 {
                    if let Some(t) = e.info() {
                        let t = t.bytes();
                        assert!(t.iter().all(|b| *b == t[0]), "{t:?}");
                    }
                }
            })
        };
        for i in 0..200_000u32 {
            e.begin(Activity::Query, 0, &[b'a' + (i % 26) as u8; 100]);
        }
        done.store(1, Relaxed);
        reader.join().unwrap();
    }
}
