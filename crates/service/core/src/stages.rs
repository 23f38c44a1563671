//! Stages of long work, for performance_schema's events_stages_*: which is under way, the last ones, and their sums.
//!
//! A few stages make a statement, each of them long: so a lock is taken when one begins and when it ends. Only what is
//! done of it is counted without one, by all tasks that do it.

use crate::setup::Watched;
use crate::sums::{Key, Of};
use crate::transacted::Timed;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_runtime::now_ns;
use gannet_telemetry::Stage;
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

/// Whose stages they are, at the moment.
pub(crate) struct Session {
    pub(crate) thread: u64,
    /// The number of the statement that runs.
    pub(crate) statement: u64,
    /// User and host.
    pub(crate) account: (String, String),
    pub(crate) watched: Watched,
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

    pub(crate) fn forget_sums(&self) {
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
    fn leave(&self, now: &mut Now, session: &Session) {
        let Some(under) = now.stage.take().filter(|under| under.collected && self.server.on.load(Relaxed)) else {
            return;
        };
        let event = self.event(&under, true);
        add(&mut now.sums, &event);
        self.server.add(&session.account, &event);
        let (wanted, listed) = (self.server.wanted(), under.shown && session.watched.history);
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
            long.push_back((session.thread, event));
        }
    }

    /// The session's work is at this stage from now on.
    pub(crate) fn enter(&self, stage: Stage, session: &Session) {
        let mut now = self.now.lock();
        if !now.working || now.stage.is_some_and(|under| under.stage == stage) {
            return;
        }
        self.leave(&mut now, session);
        let ((enabled, timed), on) = (self.server.switches(stage), self.server.on.load(Relaxed));
        let collected = enabled && on && session.watched.instrumented;
        now.count += u64::from(collected);
        now.stage = Some(Under {
            stage,
            number: now.count,
            statement: session.statement,
            started_ns: now_ns(),
            timed,
            collected,
            shown: self.server.wanted().current,
        });
    }

    /// The session begins work; false: it is in the midst of some.
    pub(crate) fn begin(&self) -> bool {
        let mut now = self.now.lock();
        if std::mem::replace(&mut now.working, true) {
            return false;
        }
        self.done.store(0, Relaxed);
        self.estimated.store(0, Relaxed);
        true
    }

    /// So much of it is done.
    pub(crate) fn did(&self, units: u64) {
        self.done.fetch_add(units, Relaxed);
    }

    /// Where `before` was to be done, `now` is.
    pub(crate) fn expect_instead(&self, before: u64, now: u64) {
        let estimated = self.estimated.load(Relaxed).saturating_sub(before).saturating_add(now);
        self.estimated.store(estimated, Relaxed);
    }

    /// It has ended.
    pub(crate) fn end(&self, session: &Session) {
        let mut now = self.now.lock();
        self.leave(&mut now, session);
        now.working = false;
    }
}
