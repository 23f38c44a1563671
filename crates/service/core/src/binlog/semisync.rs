//! Semi-synchronous replication: a commit is told to its client when replicas have acknowledged it too.
//!
//! A commit is durable first, then in the files, then at the replicas, whose acknowledgements name a place in the
//! files. Behind the log it stands at the engine's gate ([`CommitGate`]), which this moves: up to the first
//! transaction of this server that too few have acknowledged, or to where the files are. What a replica of another
//! server applies needs no acknowledgement, so that servers that follow each other do not wait for each other.
//!
//! When acknowledgements stay away for too long, replication goes on without them, and comes back when a replica has
//! caught up.
//!
//! INV-SEMI-1: while it is on, no commit of this server is told before `replicas` readers have acknowledged it; with
//! AFTER_SYNC none is visible before.

use super::Place;
use crate::log::ErrorLog;
use crate::vars::{GlobalVars, Live};
use gannet_base::Lsn;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_engine::CommitGate;
use gannet_runtime::{Unpark, Wait, Waker, now_ns, park, waker};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the variables say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// `rpl_semi_sync_source_enabled`
    pub enabled: bool,
    /// `rpl_semi_sync_source_timeout`: how long a commit waits, nanoseconds.
    pub timeout_ns: u64,
    /// `rpl_semi_sync_source_wait_for_replica_count`
    pub replicas: usize,
    /// `rpl_semi_sync_source_wait_no_replica`: a commit waits although there are too few replicas.
    pub waits_alone: bool,
    /// `rpl_semi_sync_source_wait_point` is AFTER_SYNC: what waits is not visible.
    pub hides: bool,
}

impl Rules {
    /// From the variables.
    pub fn of(globals: &GlobalVars) -> Rules {
        let get = |id: Live| globals.get(id);
        Rules {
            enabled: get(Live::RplSemiSyncSourceEnabled).as_bool(),
            timeout_ns: get(Live::RplSemiSyncSourceTimeout).as_u64().saturating_mul(1_000_000),
            replicas: get(Live::RplSemiSyncSourceWaitForReplicaCount).as_u64() as usize,
            waits_alone: get(Live::RplSemiSyncSourceWaitNoReplica).as_bool(),
            hides: get(Live::RplSemiSyncSourceWaitPoint).as_str() == "AFTER_SYNC",
        }
    }
}

/// For the status variables `Rpl_semi_sync_source_...`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Replicas that acknowledge.
    pub clients: u64,
    /// It is on.
    pub on: bool,
    /// How often it was turned off for want of acknowledgements.
    pub no_times: u64,
    /// Transactions without acknowledgement, while it was enabled.
    pub no_tx: u64,
    /// Acknowledged ones.
    pub yes_tx: u64,
    /// How long these have waited, from the files on: microseconds.
    pub waited_us: u64,
    /// Acknowledgements.
    pub acknowledgements: u64,
    /// Transactions that wait.
    pub waiting: u64,
}

impl Figures {
    /// How long an acknowledged transaction has waited.
    pub fn average_us(&self) -> u64 {
        self.waited_us.checked_div(self.yes_tx).unwrap_or(0)
    }
}

/// A transaction that waits.
struct Pending {
    lsn: Lsn,
    /// Behind it.
    place: Place,
    since_ns: u64,
}

#[derive(Default)]
struct State {
    rules: Rules,
    on: bool,
    /// Connections of replicas that acknowledge, and how far they have.
    readers: Vec<(u64, Place)>,
    pending: VecDeque<Pending>,
    /// Commits up to here are in the files.
    exported: Lsn,
    /// And up to here are told.
    told: Lsn,
    /// Behind the last transaction of this server.
    last: Place,
    /// How far the log was durable, and when that was seen; oldest first. What was told since is left out.
    seen: VecDeque<(u64, Lsn)>,
    figures: Figures,
    /// The task that looks for commits that wait for too long.
    task: Option<Waker>,
}

/// See the module.
pub struct SemiSync {
    gate: CommitGate,
    errors: Arc<ErrorLog>,
    state: Mutex<State>,
    on: AtomicBool,
}

impl State {
    /// Enough replicas have acknowledged up to here.
    fn acknowledged(&self) -> Place {
        let mut places: Vec<Place> = self.readers.iter().map(|(_, place)| *place).collect();
        places.sort_unstable_by(|a, b| b.cmp(a));
        places.get(self.rules.replicas.saturating_sub(1)).copied().unwrap_or_default()
    }
}

impl SemiSync {
    pub(super) fn new(gate: CommitGate, errors: Arc<ErrorLog>) -> SemiSync {
        SemiSync { gate, errors, state: Mutex::default(), on: AtomicBool::new(false) }
    }

    /// Commits wait for replicas.
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Replicas are asked for acknowledgements.
    pub fn is_enabled(&self) -> bool {
        self.state.lock().rules.enabled
    }

    /// The variables have changed.
    pub fn configure(&self, rules: Rules) {
        let mut state = self.state.lock();
        let former = std::mem::replace(&mut state.rules, rules);
        match (former.enabled, rules.enabled) {
            (true, true) if state.on && former.hides != rules.hides => self.gate.hide(rules.hides),
            (false, true) => self.turn_on(&mut state),
            (true, false) if state.on => self.turn_off(&mut state, None),
            _ => {}
        }
        self.advance(&mut state);
    }

    fn turn_on(&self, state: &mut State) {
        self.gate.close(state.rules.hides);
        state.on = true;
        // All that is in the log is told.
        state.told = state.told.max(state.exported);
        state.seen.clear();
        self.on.store(true, Relaxed);
        if let Some(task) = &state.task {
            task.wake();
        }
        self.errors.note(format_args!("semi-synchronous replication is on"));
    }

    /// `why`: nobody has asked for it.
    fn turn_off(&self, state: &mut State, why: Option<&str>) {
        self.gate.open();
        state.on = false;
        self.on.store(false, Relaxed);
        state.figures.no_tx += state.pending.len() as u64;
        state.pending.clear();
        match why {
            Some(why) => {
                state.figures.no_times += 1;
                self.errors.warning(format_args!("semi-synchronous replication is off: {why}"));
            }
            None => self.errors.note(format_args!("semi-synchronous replication is off")),
        }
    }

    /// Commits up to `lsn` are in the files; of this server, those that end at these places.
    pub(super) fn exported(&self, own: impl Iterator<Item = (Lsn, Place)>, lsn: Lsn) {
        let mut state = self.state.lock();
        let now = now_ns();
        for (lsn, place) in own {
            state.last = place;
            if state.on {
                state.pending.push_back(Pending { lsn, place, since_ns: now });
            } else if state.rules.enabled {
                state.figures.no_tx += 1;
            }
        }
        state.exported = state.exported.max(lsn);
        self.advance(&mut state);
    }

    /// The files begin anew: what was acknowledged names places that are gone.
    pub(super) fn begin_anew(&self) {
        let mut state = self.state.lock();
        state.last = Place::default();
        state.readers.iter_mut().for_each(|(_, place)| *place = Place::default());
        if state.on {
            self.turn_off(&mut state, Some("the binary log begins anew"));
        }
    }

    /// A replica acknowledges from now on.
    pub fn join(&self, connection: u64) {
        self.state.lock().readers.push((connection, Place::default()));
    }

    /// It is gone, if it was there.
    pub fn leave(&self, connection: u64) {
        let mut state = self.state.lock();
        state.readers.retain(|(c, _)| *c != connection);
        if state.on && !state.rules.waits_alone && state.readers.len() < state.rules.replicas {
            self.turn_off(&mut state, Some("there are too few replicas"));
        }
    }

    /// A replica has all up to `place`.
    pub fn acknowledge(&self, connection: u64, place: Place) {
        let mut state = self.state.lock();
        state.figures.acknowledgements += 1;
        if let Some((_, upto)) = state.readers.iter_mut().find(|(c, _)| *c == connection) {
            *upto = place.max(*upto);
        }
        self.advance(&mut state);
    }

    fn advance(&self, state: &mut State) {
        let acknowledged = state.acknowledged();
        if !state.on {
            let enough = state.readers.len() >= state.rules.replicas;
            if state.rules.enabled && enough && acknowledged >= state.last {
                self.turn_on(state);
            }
            return;
        }
        let now = now_ns();
        while let Some(first) = state.pending.pop_front_if(|first| first.place <= acknowledged) {
            state.figures.yes_tx += 1;
            state.figures.waited_us += now.saturating_sub(first.since_ns) / 1000;
        }
        let bound = state.pending.front().map_or(state.exported, |first| Lsn(first.lsn.get() - 1));
        if bound > state.told {
            state.told = bound;
            self.gate.advance(bound);
        }
    }

    /// Figures for the status variables.
    pub fn figures(&self) -> Figures {
        let state = self.state.lock();
        let (clients, waiting) = (state.readers.len() as u64, state.pending.len() as u64);
        Figures { clients, on: state.on, waiting, ..state.figures }
    }

    /// The task that turns it off when a commit waits for too long, whatever it waits for: the files may be what does
    /// not go on. Ends when it is interrupted.
    pub(super) fn run(&self) {
        self.state.lock().task = Some(waker());
        loop {
            let next = self.look();
            if park(Wait::Background, next) == Unpark::Interrupted {
                return;
            }
        }
    }

    /// Looks once; when to look again.
    fn look(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if !state.on {
            return None;
        }
        let (now, timeout) = (now_ns(), state.rules.timeout_ns);
        let told = state.told;
        while state.seen.pop_front_if(|(_, lsn)| *lsn <= told).is_some() {}
        let durable = self.gate.durable();
        if durable > told && state.seen.back().is_none_or(|(_, lsn)| *lsn < durable) {
            state.seen.push_back((now, durable));
        }
        if state.seen.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= timeout) {
            self.turn_off(&mut state, Some("a commit has waited for too long"));
            return None;
        }
        Some(now + (timeout / 8).clamp(1_000_000, 250_000_000))
    }
}
