//! Named floors under the recycling of segments: a consumer keeps the log from where it has yet to read on.
//!
//! A consumer may hold back a bounded number of bytes. Beyond its bound either writers are braked until it has read on, or it is cut
//! off: the log is recycled, and the consumer gets an error. One that is not there keeps its floor, through restarts too, until
//! somebody drops its name for good.
//!
//! INV-LOG-4 and -5 hold by [`Retentions::floor`]: the least of what *the file* says of consumers that are not cut off.

use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release, SeqCst},
};
use gannet_base::sync::{Arc, Mutex};
use gannet_runtime::{Wait, Waker, mask_interrupts, now_ns, park, waker};

use crate::brake::delay_ns;
use crate::consumers::{self, Kept, MAX_CONSUMERS, MAX_NAME};
use crate::core::Core;
use crate::{Follower, Log, LogError};

/// The least bound, in bytes.
pub const MIN_BOUND: u64 = 1 << 20;
/// Between two looks of somebody who waits for the file to be written.
const LOOK_NS: u64 = 1_000_000_000;

/// What happens when a consumer holds back more than its bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// Writers are slowed down from three quarters of the bound on, and wait at the bound.
    Brake,
    /// The consumer loses its place: an error in the server's log, and for the consumer.
    CutOff,
}

/// How much of the log a consumer may hold back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Bytes between what it has dealt with and the log's end; raised to [`MIN_BOUND`] if less.
    pub bound_bytes: u64,
    /// What happens beyond.
    pub beyond: Beyond,
}

/// Where a consumer stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// It has to read from here on, a record boundary: what it has yet to deal with may have begun before other things that it has
    /// dealt with.
    pub from: Lsn,
    /// Epoch in force there.
    pub epoch: u64,
    /// All that ends at or below this LSN is dealt with.
    pub done: Lsn,
}

/// A consumer, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerStatus {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// What it may hold back.
    pub hold: Hold,
    /// Bytes between what it has dealt with and the log's end.
    pub behind_bytes: u64,
    /// Somebody follows under that name now.
    pub attached: bool,
    /// It has lost its place.
    pub cut_off: bool,
}

struct Entry {
    id: u64,
    kept: Kept,
    /// From where on the file says that the log is kept for it.
    held: Lsn,
    attached: bool,
    /// That writers wait for it was told.
    told: bool,
}

impl Entry {
    fn holds(&self) -> bool {
        !self.kept.cut_off
    }

    /// Counted from what it has dealt with: what it has yet to read may have begun before, and is none of its fault.
    fn behind(&self, tail: u64) -> u64 {
        tail.saturating_sub(self.kept.position.done.get())
    }
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    next_id: u64,
    /// Of the file.
    sequence: u64,
    /// Changes so far, and how many of them the file has.
    changes: u64,
    stored: u64,
    /// The file could not be written with so many changes.
    failed: Option<(u64, LogError)>,
    waiting: Vec<Waker>,
}

impl State {
    fn find(&mut self, id: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.id == id)
    }
}

pub(crate) struct Retentions {
    dir: PathBuf,
    store: u64,
    state: Mutex<State>,
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
            .map(|(kept, id)| Entry { id, held: kept.position.from, kept, attached: false, told: false })
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

    /// Where consumers want the log to be kept from, ascending.
    pub(crate) fn wanted(&self) -> Vec<u64> {
        let mut all: Vec<_> = self.state.lock().entries.iter().filter(|e| e.holds()).map(|e| e.held.get()).collect();
        all.sort_unstable();
        all
    }

    /// The log begins at `floor` only: gives the names of those who have lost their place by that.
    pub(crate) fn begin_at(&self, floor: u64) -> Vec<String> {
        self.cut_off(|e| e.held.get() < floor)
    }

    /// No segment that ends above this may be recycled.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.load(Acquire)
    }

    /// Up to this reservation nobody is slowed down.
    pub(crate) fn brake_from(&self) -> u64 {
        self.brake.load(Acquire)
    }

    fn refresh(&self, state: &State) {
        let holding = || state.entries.iter().filter(|e| e.holds());
        let floor = holding().map(|e| e.held.get()).min().unwrap_or(u64::MAX);
        let braking = holding().filter(|e| e.kept.hold.beyond == Beyond::Brake);
        let brake = braking.map(|e| e.kept.position.done.get() + e.kept.hold.bound_bytes / 4 * 3).min();
        self.floor.store(floor, Release);
        self.brake.store(brake.unwrap_or(u64::MAX), Release);
    }

    /// Cuts off those whom `chosen` picks; gives their names.
    fn cut_off(&self, chosen: impl Fn(&Entry) -> bool) -> Vec<String> {
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

    /// How long a mini-transaction is held back for the slowest consumer's sake ([`delay_ns`]), with the name of one that writers
    /// have to wait for, once.
    pub(crate) fn delay_ns(&self, tail: u64) -> (Option<u64>, Option<String>) {
        if tail <= self.brake_from() {
            return (Some(0), None);
        }
        let (mut delay, mut told) = (Some(0), None);
        let mut state = self.state.lock();
        for e in state.entries.iter_mut().filter(|e| e.holds() && e.kept.hold.beyond == Beyond::Brake) {
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

    /// Brings the file up to date; true when it was written. An error is given once, until it is overcome. One task at a time.
    fn store(&self) -> Result<bool, LogError> {
        let (sequence, changes, all, floors) = {
            let state = self.state.lock();
            if state.stored == state.changes {
                return Ok(false);
            }
            let all: Vec<_> = state.entries.iter().map(|e| e.kept.clone()).collect();
            let floors: Vec<_> = state.entries.iter().map(|e| (e.id, e.kept.position.from)).collect();
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

impl Core {
    /// Recycles what neither the checkpoint nor a consumer needs. Cuts those off that hold back too much.
    pub(crate) fn recycle(&self) {
        let tail = self.ring.reserved();
        let too_much = |e: &Entry| e.kept.hold.beyond == Beyond::CutOff && e.behind(tail) > e.kept.hold.bound_bytes;
        self.tell_cut_off(&self.retentions.cut_off(too_much), "it held back more of the log than it may");
        let floor = self.checkpoint.load(Acquire).min(self.retentions.floor());
        if self.segments.recycle(floor) {
            self.wake_files_task();
            self.writer_task.wake();
        }
    }

    /// The disk has no room for more log: those give way whom one may cut off.
    pub(crate) fn make_room(&self) {
        let checkpoint = self.checkpoint.load(Acquire);
        let may = |e: &Entry| e.kept.hold.beyond == Beyond::CutOff && e.held.get() < checkpoint;
        self.tell_cut_off(&self.retentions.cut_off(may), "the disk has no room for what it held back of the log");
        self.recycle();
    }

    pub(crate) fn tell_cut_off(&self, names: &[String], why: &str) {
        for name in names {
            self.events.error(format_args!("log: consumer '{name}' is cut off: {why}"));
        }
        if !names.is_empty() {
            self.followers.wake();
            self.wake_space_waiters();
        }
    }

    /// Bytes below the checkpoint that are kept for consumers.
    pub(crate) fn retained(&self) -> u64 {
        self.checkpoint.load(Acquire).saturating_sub(self.retentions.floor())
    }

    /// Writes the consumers' file if need be, and recycles what that frees. By the files task, and by whoever closes the log after it.
    pub(crate) fn store_consumers(&self) {
        match self.retentions.store() {
            Ok(true) => self.recycle(),
            Ok(false) => {}
            Err(e) => self.events.warning(format_args!("log: who follows it cannot be noted: {e}; it is tried again")),
        }
    }

    /// Waits until the file has the changes made so far.
    fn wait_stored(&self) -> Result<(), LogError> {
        let _mask = mask_interrupts();
        let wanted = self.retentions.state.lock().changes;
        loop {
            {
                let mut state = self.retentions.state.lock();
                if state.stored >= wanted {
                    return Ok(());
                }
                if let Some((changes, e)) = &state.failed
                    && *changes >= wanted
                {
                    return Err(e.clone());
                }
                state.waiting.push(waker());
            }
            if self.stop.load(SeqCst) {
                return Err(LogError::Closed);
            }
            self.wake_files_task();
            let _ = park(Wait::FileSync, Some(now_ns() + LOOK_NS));
        }
    }
}

/// A place in the log that is kept. Dropped, it stays; its name may be taken up again.
pub struct Retention {
    core: Arc<Core>,
    id: u64,
    name: String,
    resumed: bool,
}

impl Retention {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// It was there already: its position is where somebody has left it.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Where it stands. [`LogError::CutOff`] when it has lost its place.
    pub fn position(&self) -> Result<Position, LogError> {
        let mut state = self.core.retentions.state.lock();
        match state.find(self.id) {
            Some(entry) if entry.holds() => Ok(entry.kept.position),
            _ => Err(LogError::CutOff { name: self.name.clone() }),
        }
    }

    /// Goes on to `position`: what lies before may be recycled. The file is written later, so that after a crash it may stand where it
    /// stood some time before. [`LogError::CutOff`] when it has lost its place.
    pub fn release_to(&self, position: Position) -> Result<(), LogError> {
        let core = &*self.core;
        let freed = {
            let mut state = core.retentions.state.lock();
            let entry = state.find(self.id).filter(|e| e.holds());
            let Some(entry) = entry else { return Err(LogError::CutOff { name: self.name.clone() }) };
            let before = entry.kept.position;
            gannet_base::check!(
                before.from <= position.from && before.done <= position.done,
                "consumer '{}' goes back from {before:?} to {position:?}",
                self.name
            );
            if before == position {
                return Ok(());
            }
            entry.kept.position = position;
            entry.told = false;
            let freed = position.from.since(entry.held);
            state.changes += 1;
            core.retentions.refresh(&state);
            freed
        };
        core.update_admit();
        core.wake_space_waiters();
        if freed >= core.segments.granule() / 4 {
            core.wake_files_task();
        }
        Ok(())
    }

    /// Reads the log from its position on.
    pub fn follow(self) -> Result<Follower, LogError> {
        Follower::new(self)
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Drops its name for good, durably.
    pub fn forget(self) -> Result<(), LogError> {
        self.core.forget(self.id)
    }
}

impl Drop for Retention {
    fn drop(&mut self) {
        if let Some(entry) = self.core.retentions.state.lock().find(self.id) {
            entry.attached = false;
        }
    }
}

impl Core {
    fn forget(&self, id: u64) -> Result<(), LogError> {
        {
            let mut state = self.retentions.state.lock();
            state.entries.retain(|e| e.id != id);
            state.changes += 1;
            self.retentions.refresh(&state);
        }
        self.update_admit();
        self.wake_space_waiters();
        self.wait_stored()?;
        self.recycle();
        Ok(())
    }
}

impl Log {
    /// Keeps the log for a consumer: from where its name stands, or, a new name, from the log's present end on: what ends later is
    /// for it. `begin` says from which record of this incarnation on it has to read for that, at most [`Log::tail_lsn`] before it
    /// returns. Durable on return.
    ///
    /// [`LogError::InUse`] while somebody follows under that name, or when 32 others do; [`LogError::CutOff`] when it has lost
    /// its place: then [`Log::forget_consumer`] allows a new beginning.
    pub fn retain(&self, name: &str, hold: Hold, begin: impl FnOnce() -> Lsn) -> Result<Retention, LogError> {
        let core = &self.core;
        let hold = Hold { bound_bytes: hold.bound_bytes.max(MIN_BOUND), ..hold };
        let in_use = || LogError::InUse { name: name.to_owned() };
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(in_use());
        }
        core.check()?;
        let retention = {
            let mut state = core.retentions.state.lock();
            let full = state.entries.len() >= MAX_CONSUMERS;
            let (id, resumed) = match state.entries.iter_mut().find(|e| e.kept.name == name) {
                Some(entry) if entry.attached => return Err(in_use()),
                Some(entry) if entry.kept.cut_off => return Err(LogError::CutOff { name: name.to_owned() }),
                Some(entry) => {
                    entry.attached = true;
                    entry.kept.hold = hold;
                    (entry.id, true)
                }
                None if full => return Err(in_use()),
                None => {
                    let from = begin();
                    let done = self.tail_lsn();
                    let position = Position { from: from.min(done), epoch: core.epoch, done };
                    let kept = Kept { name: name.to_owned(), position, hold, cut_off: false };
                    let id = state.next_id;
                    state.next_id += 1;
                    state.entries.push(Entry { id, kept, held: position.from, attached: true, told: false });
                    (id, false)
                }
            };
            state.changes += 1;
            core.retentions.refresh(&state);
            Retention { core: core.clone(), id, name: name.to_owned(), resumed }
        };
        core.update_admit();
        if let Err(e) = core.wait_stored() {
            // Nobody hears of a name that may not outlive a crash.
            if !retention.resumed {
                core.retentions.state.lock().entries.retain(|e| e.id != retention.id);
            }
            return Err(e);
        }
        Ok(retention)
    }

    /// Drops a name for good, also one that is cut off; false when there is none. [`LogError::InUse`] while somebody follows.
    pub fn forget_consumer(&self, name: &str) -> Result<bool, LogError> {
        let found = self
            .core
            .retentions
            .state
            .lock()
            .entries
            .iter()
            .find(|e| e.kept.name == name)
            .map(|e| if e.attached { Err(LogError::InUse { name: name.to_owned() }) } else { Ok(e.id) });
        match found {
            None => Ok(false),
            Some(id) => self.core.forget(id?).map(|()| true),
        }
    }

    /// Those for whom the log is kept.
    pub fn consumers(&self) -> Vec<ConsumerStatus> {
        let tail = self.core.ring.reserved();
        let state = self.core.retentions.state.lock();
        let status = |e: &Entry| ConsumerStatus {
            name: e.kept.name.clone(),
            position: e.kept.position,
            hold: e.kept.hold,
            behind_bytes: e.behind(tail),
            attached: e.attached,
            cut_off: e.kept.cut_off,
        };
        state.entries.iter().map(status).collect()
    }

    /// Whether anybody wants to know what is committed: one load.
    #[inline]
    pub fn has_consumers(&self) -> bool {
        self.core.retentions.floor() != u64::MAX
    }

    /// Bytes below the checkpoint that are kept for consumers only.
    pub fn retained_bytes(&self) -> u64 {
        self.core.retained()
    }
}
