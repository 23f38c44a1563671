//! Named floors under the recycling of segments: the log is kept from where a consumer has to read on.
//!
//! A consumer may hold back a bounded number of bytes. Beyond its bound either writers are braked until it has read
//! on, or the consumer is cut off: the log is recycled, and the consumer gets an error. The floor of a name that no
//! consumer follows under stays, through restarts too, until [`Log::forget_consumer`] drops the name for good.

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};
use gannet_runtime::{Wait, mask_interrupts, now_ns, park, waker};

use crate::consumers::{Beyond, Hold, Kept, MAX_CONSUMERS, MAX_NAME, MIN_BOUND, Position};
use crate::core::Core;
use crate::retentions::Entry;
use crate::{Follower, Log, LogError};

/// How often a task that waits for the file to be written looks again.
const LOOK_NS: u64 = 1_000_000_000;

/// A consumer as introspection shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerStatus {
    /// Its name.
    pub name: String,
    /// Its position.
    pub position: Position,
    /// What it may hold back.
    pub hold: Hold,
    /// Bytes between what it has dealt with and the log's end.
    pub behind_bytes: u64,
    /// Whether a consumer follows under that name now.
    pub attached: bool,
    /// It has lost its place.
    pub cut_off: bool,
}

impl Core {
    /// Recycles what neither the checkpoint nor a consumer needs. Cuts those off that hold back too much.
    pub(crate) fn recycle(&self) {
        let tail = self.ring.reserved();
        let too_much = |e: &Entry| e.kept.hold.beyond == Beyond::CutOff && e.behind(tail) > e.kept.hold.bound_bytes;
        self.tell_cut_off(&self.retentions.cut_off(too_much), "it kept more of the log than its bound allows");
        let floor = self.checkpoint.load(Acquire).min(self.retentions.floor());
        if self.segments.recycle(floor) {
            self.wake_files_task();
            self.writer_task.wake();
        }
    }

    /// Called when the disk has no room for more log: cuts off the consumers whose `hold` allows it and that keep log
    /// below the checkpoint.
    pub(crate) fn make_room(&self) {
        let checkpoint = self.checkpoint.load(Acquire);
        let may = |e: &Entry| e.kept.hold.beyond == Beyond::CutOff && e.held.get() < checkpoint;
        self.tell_cut_off(&self.retentions.cut_off(may), "the disk has no room for the log that it kept");
        self.recycle();
    }

    pub(crate) fn tell_cut_off(&self, names: &[String], why: &str) {
        for name in names {
            self.events.error(format_args!("log: consumer '{name}' is cut off and has to begin anew: {why}"));
        }
        if !names.is_empty() {
            self.followers.wake_all();
            self.wake_space_waiters();
        }
    }

    /// Writes the consumers' file if need be, and recycles what that frees. Called by the files task, and after its
    /// end by the task that closes the log.
    pub(crate) fn store_consumers(&self) {
        match self.retentions.store() {
            Ok(true) => self.recycle(),
            Ok(false) => {}
            Err(e) => self.events.warning(format_args!(
                "log: the file of its consumers cannot be written: {e}; it is tried again, and meanwhile the log grows"
            )),
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

    /// Whether the name was known, so that its position is where its last consumer stopped.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The consumer's position. [`LogError::CutOff`] when the log from there on is not kept any more.
    pub fn position(&self) -> Result<Position, LogError> {
        let mut state = self.core.retentions.state.lock();
        match state.find(self.id) {
            Some(entry) if entry.holds() => Ok(entry.kept.position),
            _ => Err(LogError::CutOff { name: self.name.clone() }),
        }
    }

    /// Moves on to `position`: the log before it may be recycled. The file is written later, so that after a crash
    /// the position may be an earlier one. [`LogError::CutOff`] when the log was recycled already.
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

    pub(crate) fn core(&self) -> &Arc<Core> {
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
    /// The file may name it.
    fn begin(&self, id: u64) {
        let mut state = self.retentions.state.lock();
        if let Some(entry) = state.find(id) {
            entry.begun = true;
            state.changes += 1;
        }
    }

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
    /// Keeps the log for a consumer: a known name from its position on, a new name for everything that ends behind
    /// the log's present end. For a new name, `begin` returns the first record of this incarnation that has to be
    /// read for that; it is at most what [`Log::tail_lsn`] is when `begin` returns. The name is durable on return.
    ///
    /// [`LogError::InUse`] while a consumer follows under that name, or when 32 others do; [`LogError::CutOff`] when
    /// the name has lost its place: [`Log::forget_consumer`] then allows a new beginning.
    pub fn retain(&self, name: &str, hold: Hold, begin: impl FnOnce() -> Lsn) -> Result<Retention, LogError> {
        let core = &self.core;
        let hold = Hold { bound_bytes: hold.bound_bytes.max(MIN_BOUND), ..hold };
        let in_use = || LogError::InUse { name: name.to_owned() };
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(in_use());
        }
        core.check()?;
        let (retention, first) = {
            let mut state = core.retentions.state.lock();
            let full = state.entries.len() >= MAX_CONSUMERS;
            let (id, first) = match state.entries.iter_mut().find(|e| e.kept.name == name) {
                Some(entry) if entry.attached => return Err(in_use()),
                Some(entry) if entry.kept.cut_off => return Err(LogError::CutOff { name: name.to_owned() }),
                Some(entry) => {
                    (entry.attached, entry.followed) = (true, true);
                    entry.kept.hold = hold;
                    (entry.id, None)
                }
                None if full => return Err(in_use()),
                None => {
                    let from = begin();
                    let done = self.tail_lsn();
                    let position = Position { from: from.min(done), epoch: core.epoch, done };
                    let kept = Kept { name: name.to_owned(), position, hold, cut_off: false };
                    let id = state.next_id;
                    state.next_id += 1;
                    let held = position.from;
                    let (begun, told) = (false, false);
                    state.entries.push(Entry { id, kept, held, attached: true, followed: true, begun, told });
                    (id, Some(done))
                }
            };
            state.changes += u64::from(first.is_none());
            core.retentions.refresh(&state);
            (Retention { core: core.clone(), id, name: name.to_owned(), resumed: first.is_none() }, first)
        };
        core.update_admit();
        let begun = match first {
            Some(first) => self.wait_durable(first).map(|()| core.begin(retention.id)),
            None => Ok(()),
        };
        if let Err(e) = begun.and_then(|()| core.wait_stored()) {
            // A name that may not outlive a crash is not returned to the caller.
            if !retention.resumed {
                let mut state = core.retentions.state.lock();
                state.entries.retain(|e| e.id != retention.id);
                core.retentions.refresh(&state);
            }
            return Err(e);
        }
        Ok(retention)
    }

    /// Drops a name for good, also one that is cut off. False when there is none. [`LogError::InUse`] while a
    /// consumer follows under it.
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

    /// The consumers for which the log is kept.
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

    /// Whether there are consumers. One load.
    #[inline]
    pub fn has_consumers(&self) -> bool {
        self.core.retentions.floor() != u64::MAX
    }

    /// Bytes below the checkpoint that are kept for consumers only.
    pub fn retained_bytes(&self) -> u64 {
        self.core.retained()
    }
}

/// Changes what a consumer may hold back; nothing where there is none of that name.
pub fn bound_consumer(log: &Log, name: &str, bound_bytes: u64) {
    let mut state = log.core.retentions.state.lock();
    if let Some(entry) = state.entries.iter_mut().find(|e| e.kept.name == name) {
        entry.kept.hold.bound_bytes = bound_bytes.max(MIN_BOUND);
        state.changes += 1;
    }
    log.core.retentions.refresh(&state);
    drop(state);
    log.core.update_admit();
    log.core.wake_space_waiters();
}
