//! The consumers of a running log: how much each may hold back, its position, and the position that the file has.
//!
//! INV-LOG-4 and -5 hold by [`Retentions::floor`]: the least of what *the file* says of consumers that are not cut off.

use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use gannet_runtime::Waker;

use crate::LogError;
use crate::consumers::{self, Beyond, Kept};
use crate::delay::delay_ns;

pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) kept: Kept,
    /// From where on the file says that the log is kept for it.
    pub(crate) held: Lsn,
    pub(crate) attached: bool,
    /// Somebody has followed under its name since the start. Before that nobody is there to read on, and writers are
    /// not held back: what recovery has to do does not wait.
    pub(crate) followed: bool,
    /// The log up to its first position is durable. Before that the file does not name it: after a crash other records
    /// may lie there.
    pub(crate) begun: bool,
    /// That writers wait for it was told.
    pub(crate) told: bool,
}

impl Entry {
    pub(crate) fn holds(&self) -> bool {
        !self.kept.cut_off
    }

    /// Writers are slowed down for its sake.
    fn brakes(&self) -> bool {
        self.holds() && self.followed && self.kept.hold.beyond == Beyond::Brake
    }

    /// Counted from what it has dealt with: what it has yet to read may have begun before, and is none of its fault.
    pub(crate) fn behind(&self, tail: u64) -> u64 {
        tail.saturating_sub(self.kept.position.done.get())
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) entries: Vec<Entry>,
    pub(crate) next_id: u64,
    /// Of the file.
    sequence: u64,
    /// Changes so far, and how many of them the file has.
    pub(crate) changes: u64,
    pub(crate) stored: u64,
    /// The file could not be written with so many changes.
    pub(crate) failed: Option<(u64, LogError)>,
    pub(crate) waiting: Vec<Waker>,
}

impl State {
    pub(crate) fn find(&mut self, id: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.id == id)
    }
}

pub(crate) struct Retentions {
    dir: PathBuf,
    store: u64,
    pub(crate) state: Mutex<State>,
    /// No segment that ends above is recycled; `u64::MAX` without consumers. Written under the state's lock.
    floor: AtomicU64,
    /// The reservation at which writers are slowed down for a consumer's sake. Written under the state's lock.
    brake: AtomicU64,
}

impl Retentions {
    /// The consumers that the file names. `checkpoint` and `end` are those of the incarnation that begins.
    pub(crate) fn load(dir: PathBuf, store: u64, tell: impl FnOnce(&LogError)) -> Result<Retentions, LogError> {
        let (sequence, all) = match consumers::load(&dir, store) {
            Ok(found) => found.unwrap_or_default(),
            // The store is whole without it.
            Err(damaged @ LogError::Corrupt { .. }) => {
                tell(&damaged);
                (0, Vec::new())
            }
            Err(e) => return Err(e),
        };
        let entries: Vec<_> = all
            .into_iter()
            .zip(1..)
            .map(|(kept, id)| {
                let held = kept.position.from;
                Entry { id, held, kept, attached: false, followed: false, begun: true, told: false }
            })
            .collect();
        let state = State { next_id: entries.len() as u64 + 1, entries, sequence, ..State::default() };
        let all = Retentions {
            dir,
            store,
            state: Mutex::new(state),
            floor: AtomicU64::new(u64::MAX),
            brake: AtomicU64::new(u64::MAX),
        };
        all.refresh(&all.state.lock());
        Ok(all)
    }

    /// The log below `checkpoint` is kept for a consumer that nobody has followed since the start.
    pub(crate) fn is_abandoned(&self, checkpoint: u64) -> bool {
        let state = self.state.lock();
        let first = state.entries.iter().filter(|e| e.holds()).min_by_key(|e| e.held);
        first.is_some_and(|e| !e.followed && e.held.get() < checkpoint)
    }

    /// Where consumers want the log to be kept from, ascending.
    pub(crate) fn wanted(&self) -> Vec<u64> {
        let mut all: Vec<_> = self.state.lock().entries.iter().filter(|e| e.holds()).map(|e| e.held.get()).collect();
        all.sort_unstable();
        all
    }

    /// The log begins at `floor`: cuts off the consumers that need log before it, and returns their names.
    pub(crate) fn begin_at(&self, floor: u64) -> Vec<String> {
        self.cut_off(|e| e.held.get() < floor)
    }

    /// No segment that ends above this may be recycled.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.load(Acquire)
    }

    /// Up to this reservation no writer is slowed down.
    pub(crate) fn brake_from(&self) -> u64 {
        self.brake.load(Acquire)
    }

    pub(crate) fn refresh(&self, state: &State) {
        let holding = state.entries.iter().filter(|e| e.holds());
        let floor = holding.map(|e| e.held.get()).min().unwrap_or(u64::MAX);
        let braking = state.entries.iter().filter(|e| e.brakes());
        let brake = braking.map(|e| e.kept.position.done.get() + e.kept.hold.bound_bytes / 4 * 3).min();
        self.floor.store(floor, Release);
        self.brake.store(brake.unwrap_or(u64::MAX), Release);
    }

    /// Cuts off the consumers that `chosen` picks, and returns their names.
    pub(crate) fn cut_off(&self, chosen: impl Fn(&Entry) -> bool) -> Vec<String> {
        let mut state = self.state.lock();
        let mut names = Vec::new();
        for entry in state.entries.iter_mut().filter(|e| e.holds() && chosen(e)) {
            entry.kept.cut_off = true;
            names.push(entry.kept.name.clone());
        }
        if !names.is_empty() {
            state.changes += 1;
            self.refresh(&state);
        }
        names
    }

    /// How long a mini-transaction is held back for the slowest consumer's sake ([`delay_ns`]). With it, once, the
    /// name of a consumer that writers have to wait for.
    pub(crate) fn delay_ns(&self, tail: u64) -> (Option<u64>, Option<String>) {
        if tail <= self.brake_from() {
            return (Some(0), None);
        }
        let (mut delay, mut told) = (Some(0), None);
        let mut state = self.state.lock();
        for e in state.entries.iter_mut().filter(|e| e.brakes()) {
            match delay_ns(e.behind(tail), e.kept.hold.bound_bytes) {
                Some(own) => delay = delay.map(|d: u64| d.max(own)),
                None => {
                    delay = None;
                    if !std::mem::replace(&mut e.told, true) {
                        told = Some(e.kept.name.clone());
                    }
                }
            }
        }
        (delay, told)
    }

    fn wake(&self) {
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        waiting.iter().for_each(Waker::wake);
    }

    /// Brings the file up to date; true when it was written. An error is given once, until it is overcome. One task at
    /// a time.
    pub(crate) fn store(&self) -> Result<bool, LogError> {
        let (sequence, changes, all, floors) = {
            let state = self.state.lock();
            if state.stored == state.changes {
                return Ok(false);
            }
            let begun = || state.entries.iter().filter(|e| e.begun);
            let all: Vec<_> = begun().map(|e| e.kept.clone()).collect();
            let floors: Vec<_> = begun().map(|e| (e.id, e.kept.position.from)).collect();
            (state.sequence + 1, state.changes, all, floors)
        };
        let outcome = consumers::store(&self.dir, self.store, sequence, &all);
        let told = {
            let mut state = self.state.lock();
            let told = state.failed.is_some();
            match &outcome {
                Ok(()) => {
                    (state.sequence, state.stored, state.failed) = (sequence, changes, None);
                    for (id, from) in floors {
                        if let Some(entry) = state.find(id) {
                            entry.held = from;
                        }
                    }
                    self.refresh(&state);
                }
                Err(e) => state.failed = Some((changes, e.clone())),
            }
            told
        };
        self.wake();
        match outcome {
            Err(_) if told => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }
}
