//! Stages of long work, for performance_schema's events_stages_*: which is under way, the last ones, and their sums.
//!
//! A few stages make a statement, each of them long: so a lock is taken when one begins and when it ends. Only what is
//! done of it is counted without one, by all tasks that do it.

use crate::registry::Entry;
use crate::sums::{Key, Of};
use crate::transacted::Timed;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_runtime::now_ns;
use gannet_telemetry::{Stage, Staging};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Stages that a session keeps (`performance_schema_events_stages_history_size`).
const KEPT: usize = 10;
/// Of all sessions (`performance_schema_events_stages_history_long_size`).
const KEPT_LONG: usize = 10_000;
/// Users, hosts, accounts whose sums are kept, each.
const MOST: usize = 10_000;

/// Times by stage.
pub type Sums = [Timed; Stage::COUNT];

/// A stage, under way or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub stage: Stage,
    /// Its number among the session's stages.
    pub number: u64,
    /// The session's statement.
    pub statement: u64,
    /// As `now_ns` tells; `None`: it is not timed.
    pub started_ns: Option<u64>,
    /// So far, or in all.
    pub latency_ns: u64,
    /// Of all the statement's work, and not of this stage alone.
    pub done: u64,
    /// `None`: nobody knows.
    pub estimated: Option<u64>,
    pub ended: bool,
}

/// What there is for stages: which are collected, and by which consumers.
#[derive(Clone, Copy)]
struct Wanted {
    current: bool,
    history: bool,
    long: bool,
}

/// What sessions share.
pub struct Stages {
    /// Bits: current, history, long history.
    consumers: AtomicU8,
    /// Anything is collected at all.
    on: AtomicBool,
    /// Bits of the stages that are off, and of those that are not timed.
    off: AtomicU32,
    untimed: AtomicU32,
    /// In the order of [`crate::sums::ALL`].
    sums: Mutex<[BTreeMap<Key, Sums>; crate::sums::ALL.len()]>,
    long: Mutex<VecDeque<(u64, Event)>>,
}

impl Default for Stages {
    /// As MySQL's defaults: all stages that tell how far they are, for no consumer.
    fn default() -> Self {
        Stages {
            consumers: AtomicU8::new(0),
            on: AtomicBool::new(true),
            off: AtomicU32::new(0),
            untimed: AtomicU32::new(0),
            sums: Mutex::default(),
            long: Mutex::default(),
        }
    }
}

impl Stages {
    /// The consumers of current stages, of histories and of the long one are on or off; or nothing is collected.
    pub(crate) fn follow(&self, on: bool, [current, history, long]: [bool; 3]) {
        self.on.store(on, Relaxed);
        self.consumers.store(u8::from(current) | u8::from(history) << 1 | u8::from(long) << 2, Relaxed);
    }

    /// As in MySQL, the histories are made of the current ones.
    fn wanted(&self) -> Wanted {
        let bits = self.consumers.load(Relaxed);
        let current = bits & 1 != 0;
        Wanted { current, history: current && bits & 2 != 0, long: current && bits & 4 != 0 }
    }

    /// ENABLED and TIMED of a stage.
    pub fn switches(&self, stage: Stage) -> (bool, bool) {
        let has = |bits: &AtomicU32| bits.load(Relaxed) & 1 << stage as u32 != 0;
        (!has(&self.off), !has(&self.untimed))
    }

    /// Switches a stage.
    pub fn switch(&self, stage: Stage, enabled: bool, timed: bool) {
        let bit = 1 << stage as u32;
        for (bits, on) in [(&self.off, enabled), (&self.untimed, timed)] {
            if on {
                bits.fetch_and(!bit, Relaxed)
            } else {
                bits.fetch_or(bit, Relaxed)
            };
        }
    }

    fn add(&self, (user, host): &(String, String), event: &Event) {
        let mut all = self.sums.lock();
        for (of, sums) in crate::sums::ALL.iter().zip(all.iter_mut()) {
            let key = of.key(user, host);
            if sums.len() < MOST || sums.contains_key(&key) {
                add(sums.entry(key).or_default(), event);
            }
        }
    }

    /// The sums by account, user or host, or of all.
    pub fn sums(&self, of: Of) -> BTreeMap<Key, Sums> {
        self.sums.lock()[of as usize].clone()
    }

    /// TRUNCATE of such sums; those that are forgotten with them go, too.
    pub(crate) fn forget(&self, of: Of) {
        let mut all = self.sums.lock();
        of.forgotten_with().iter().for_each(|of| all[*of as usize].clear());
    }

    /// The last ones of all sessions with their sessions, the oldest first.
    pub fn long(&self) -> Vec<(u64, Event)> {
        self.long.lock().iter().copied().collect()
    }

    /// Forgets these.
    pub fn forget_long(&self) {
        self.long.lock().clear();
    }
}

/// A stage that is not timed counts, and has taken no time.
fn add(sums: &mut Sums, event: &Event) {
    let sum = &mut sums[event.stage as usize];
    match event.started_ns {
        Some(_) => {
            let ns = event.latency_ns;
            sum.add(&Timed { count: 1, total_ns: ns, min_ns: ns, max_ns: ns });
        }
        None => sum.count += 1,
    }
}

/// What a session's work is at.
#[derive(Default)]
struct Now {
    /// Some is under way.
    working: bool,
    stage: Option<Under>,
    /// Stages so far.
    count: u64,
    kept: VecDeque<Event>,
    sums: Sums,
}

/// A stage that is under way.
#[derive(Clone, Copy)]
struct Under {
    stage: Stage,
    number: u64,
    statement: u64,
    started_ns: u64,
    timed: bool,
    /// It is collected: the instrument and the session were watched when it began.
    collected: bool,
    /// It is shown: TRUNCATE has not taken it away, and the consumer was on when it began.
    shown: bool,
}

/// The stages of one session, made by the first.
pub struct SessionStages {
    server: Arc<Stages>,
    now: Mutex<Now>,
    done: AtomicU64,
    estimated: AtomicU64,
}

impl SessionStages {
    pub(crate) fn new(server: Arc<Stages>) -> SessionStages {
        SessionStages { server, now: Mutex::default(), done: AtomicU64::new(0), estimated: AtomicU64::new(0) }
    }

    /// The stage that is under way, whether it is collected or not.
    pub fn stage(&self) -> Option<Stage> {
        self.now.lock().stage.map(|under| under.stage)
    }

    /// The stage that is under way, if it is shown.
    pub fn current(&self) -> Option<Event> {
        let under = self.now.lock().stage.filter(|under| under.collected && under.shown)?;
        Some(self.event(&under, false))
    }

    /// Those that have ended and are kept, the oldest first.
    pub fn kept(&self) -> Vec<Event> {
        self.now.lock().kept.iter().copied().collect()
    }

    /// The sums of the session.
    pub fn sums(&self) -> Sums {
        self.now.lock().sums
    }

    /// The one that is under way is not shown any more.
    pub fn forget_current(&self) {
        if let Some(under) = &mut self.now.lock().stage {
            under.shown = false;
        }
    }

    /// Forgets those that are kept.
    pub fn forget_kept(&self) {
        self.now.lock().kept.clear();
    }

    fn forget_sums(&self) {
        self.now.lock().sums = Sums::default();
    }

    fn event(&self, under: &Under, ended: bool) -> Event {
        let done = self.done.load(Relaxed);
        Event {
            stage: under.stage,
            number: under.number,
            statement: under.statement,
            started_ns: under.timed.then_some(under.started_ns),
            latency_ns: now_ns().saturating_sub(under.started_ns),
            done,
            // What was expected is a guess: not less than what is there already.
            estimated: Some(self.estimated.load(Relaxed)).filter(|n| *n > 0).map(|n| n.max(done)),
            ended,
        }
    }

    /// Ends the stage that is under way.
    fn leave(&self, now: &mut Now, entry: &Entry) {
        let Some(under) = now.stage.take().filter(|under| under.collected && self.server.on.load(Relaxed)) else {
            return;
        };
        let event = self.event(&under, true);
        add(&mut now.sums, &event);
        self.server.add(&entry.account(), &event);
        let (wanted, listed) = (self.server.wanted(), under.shown && entry.watched.get().history);
        if wanted.history && listed {
            if now.kept.len() == KEPT {
                now.kept.pop_front();
            }
            now.kept.push_back(event);
        }
        if wanted.long && listed {
            let mut long = self.server.long.lock();
            if long.len() == KEPT_LONG {
                long.pop_front();
            }
            long.push_back((entry.id, event));
        }
    }

    fn enter(&self, stage: Stage, entry: &Entry) {
        let mut now = self.now.lock();
        if !now.working || now.stage.is_some_and(|under| under.stage == stage) {
            return;
        }
        self.leave(&mut now, entry);
        let ((enabled, timed), on) = (self.server.switches(stage), self.server.on.load(Relaxed));
        let collected = enabled && on && entry.watched.get().instrumented;
        now.count += u64::from(collected);
        now.stage = Some(Under {
            stage,
            number: now.count,
            statement: entry.history.count() + 1,
            started_ns: now_ns(),
            timed,
            collected,
            shown: self.server.wanted().current,
        });
    }
}

impl Staging for Entry {
    fn begin_work(&self) -> bool {
        let stages = self.own_stages();
        let mut now = stages.now.lock();
        if std::mem::replace(&mut now.working, true) {
            return false;
        }
        stages.done.store(0, Relaxed);
        stages.estimated.store(0, Relaxed);
        true
    }

    fn enter(&self, stage: Stage) {
        self.own_stages().enter(stage, self);
    }

    fn done(&self, units: u64) {
        self.own_stages().done.fetch_add(units, Relaxed);
    }

    fn expect_instead(&self, before: u64, now: u64) {
        let estimated = &self.own_stages().estimated;
        estimated.store(estimated.load(Relaxed).saturating_sub(before).saturating_add(now), Relaxed);
    }

    fn end_work(&self) {
        let stages = self.own_stages();
        let mut now = stages.now.lock();
        stages.leave(&mut now, self);
        now.working = false;
    }
}

/// TRUNCATE of sums: of some, or (`None`) of the sessions alone. As in MySQL, the sessions' go with the others.
pub fn forget_sums(registry: &crate::registry::Registry, of: Option<Of>) {
    if let Some(of) = of {
        registry.consumers.stages.forget(of);
    }
    registry.all().iter().filter_map(|entry| entry.stages()).for_each(SessionStages::forget_sums);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumers::Consumer;
    use crate::registry::Registry;
    use crate::setup::Watched;
    use gannet_telemetry::LongWork;

    fn entry(registry: &Registry) -> Arc<Entry> {
        let entry = registry.enter_own(gannet_runtime::context(), "u", "h");
        entry.begin(crate::registry::Activity::Query, 1, b"ALTER TABLE t FORCE");
        entry.counters.enter();
        entry
    }

    fn listed(entry: &Entry) -> Vec<(Stage, u64, u64, Option<u64>)> {
        let kept = entry.stages().map_or(Vec::new(), SessionStages::kept);
        kept.iter().map(|e| (e.stage, e.number, e.done, e.estimated)).collect()
    }

    #[test]
    fn stages_follow_one_another_and_all_work_counts() {
        let registry = Registry::default();
        let entry = entry(&registry);
        assert!(entry.stages().is_none());
        [Consumer::StagesCurrent, Consumer::StagesHistory, Consumer::StagesHistoryLong]
            .iter()
            .for_each(|c| registry.consumers.set(*c, true));
        let work = LongWork::begin();
        let stages = entry.stages().unwrap();
        assert_eq!((stages.stage(), stages.current()), (None, None));
        work.expect(10);
        work.enter(Stage::AlterRead);
        work.done(4);
        work.enter(Stage::AlterRead);
        let current = stages.current().unwrap();
        assert_eq!((current.number, current.statement, current.done, current.estimated), (1, 1, 4, Some(10)));
        work.enter(Stage::AlterInsert);
        work.expect_instead(6, 3);
        work.done(8);
        // What was expected was too little.
        assert_eq!(stages.current().map(|e| (e.done, e.estimated, e.ended)), Some((12, Some(12), false)));
        assert_eq!(entry.state(), "alter table (insert)");
        drop(work);
        assert_eq!((stages.stage(), stages.current()), (None, None));
        assert_eq!(listed(&entry), [(Stage::AlterRead, 1, 4, Some(10)), (Stage::AlterInsert, 2, 12, Some(12))]);
        assert_eq!(registry.consumers.stages.long().len(), 2);
        let count = |sums: &Sums| sums.iter().map(|sum| sum.count).sum::<u64>();
        let of = |of: Of| registry.consumers.stages.sums(of).values().map(count).sum::<u64>();
        assert_eq!((crate::sums::ALL.map(of), count(&stages.sums())), ([2; 4], 2));
        forget_sums(&registry, Some(Of::User));
        assert_eq!((crate::sums::ALL.map(of), count(&stages.sums())), ([0, 0, 2, 2], 0));
        // Ten are kept, and work begins at nothing.
        for _ in 0..12 {
            let work = LongWork::begin();
            work.enter(Stage::Copy);
            work.done(1);
        }
        let kept = listed(&entry);
        assert_eq!((kept.len(), kept[0], kept[9]), (10, (Stage::Copy, 5, 1, None), (Stage::Copy, 14, 1, None)));
        stages.forget_kept();
        registry.consumers.stages.forget_long();
        assert_eq!((stages.kept().len(), registry.consumers.stages.long().len()), (0, 0));
        entry.counters.leave();
    }

    #[test]
    fn what_is_switched_off_leaves_nothing() {
        let registry = Registry::default();
        let (entry, shared) = (entry(&registry), &registry.consumers.stages);
        let run = |during: &dyn Fn()| {
            let work = LongWork::begin();
            work.enter(Stage::Copy);
            during();
        };
        let sums = || {
            let all = shared.sums(Of::All);
            all.values()
                .fold((0, 0), |(n, ns), s| (n + s[Stage::Copy as usize].count, ns + s[Stage::Copy as usize].total_ns))
        };
        // Without consumers there are sums alone.
        run(&|| assert_eq!(entry.stages().unwrap().current(), None));
        assert_eq!((sums().0, listed(&entry).len()), (1, 0));
        // The histories are made of the current ones.
        registry.consumers.set(Consumer::StagesHistory, true);
        registry.consumers.set(Consumer::StagesHistoryLong, true);
        run(&|| {});
        assert_eq!((listed(&entry).len(), shared.long().len()), (0, 0));
        registry.consumers.set(Consumer::StagesCurrent, true);
        run(&|| entry.stages().unwrap().forget_current());
        assert_eq!((sums().0, listed(&entry).len()), (3, 0));
        entry.watched.set(Watched { instrumented: true, history: false });
        run(&|| assert!(entry.stages().unwrap().current().is_some()));
        assert_eq!((sums().0, listed(&entry).len()), (4, 0));
        entry.watched.set(Watched::ALL);
        shared.switch(Stage::Copy, false, true);
        run(&|| {
            assert_eq!((entry.stages().unwrap().current(), entry.state()), (None, "copy to tmp table"));
        });
        assert_eq!(
            (sums().0, shared.switches(Stage::Copy), shared.switches(Stage::AlterEnd)),
            (4, (false, true), (true, true))
        );
        shared.switch(Stage::Copy, true, false);
        let before = sums();
        run(&|| assert_eq!(entry.stages().unwrap().current().map(|e| e.started_ns), Some(None)));
        assert_eq!((sums(), listed(&entry).len()), ((before.0 + 1, before.1), 1));
        registry.consumers.switch_all(false);
        run(&|| assert_eq!(entry.stages().unwrap().current(), None));
        assert_eq!((sums().0, listed(&entry).len()), (before.0 + 1, 1));
        entry.counters.leave();
    }
}
