//! What is asked for, and what comes of it.

use std::fmt;
use std::time::Duration;

/// Mode of a record lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// Many owners at once.
    Shared,
    /// One owner.
    Exclusive,
}

impl Mode {
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

/// What to do when a lock is not free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// NOWAIT and SKIP LOCKED: give up at once with [`LockError::WouldWait`].
    No,
    /// Give up after this time with [`LockError::Timeout`].
    For(Duration),
}

/// How a record lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "after a wait the row has to be looked up again"]
pub struct Granted {
    /// The caller waited: the row may have moved, changed or gone.
    pub waited: bool,
    /// What the owner held of the record before: [`crate::LockOwner::unlock_record`] goes back to it.
    pub before: Option<Mode>,
}

/// Why a lock was not got. Nothing is held of it then, and nothing queued; what was held before is still held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockError {
    /// MySQL's 3572 (NOWAIT); SKIP LOCKED skips the row.
    WouldWait,
    /// MySQL's 1205.
    Timeout,
    /// MySQL's 1213: this transaction was chosen as the victim and has to be rolled back.
    Deadlock,
    /// The waiting task was interrupted (MySQL's 1317 or 1053).
    Killed,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockError::WouldWait => "the lock is not free",
            LockError::Timeout => "lock wait timeout exceeded",
            LockError::Deadlock => "deadlock found when trying to get a lock",
            LockError::Killed => "the wait for a lock was interrupted",
        })
    }
}

impl std::error::Error for LockError {}

/// A position between keys of a tree. Ordered as `Min < Before(k) < After(k) < Before(k') < Max` for `k < k'`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut<'a> {
    /// Before all keys.
    Min,
    /// Just before this key.
    Before(&'a [u8]),
    /// Just after this key.
    After(&'a [u8]),
    /// After all keys (InnoDB's supremum).
    Max,
}

/// A place in a queue: a smaller ticket is nearer to the front. A table never gives a ticket twice. Tickets of raises
/// are smaller than all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(pub(crate) u64);

impl Ticket {
    pub(crate) fn new(number: u64, raise: bool) -> Ticket {
        Ticket(if raise { number } else { number | 1 << 63 })
    }

    pub(crate) fn raises(self) -> bool {
        self.0 >> 63 == 0
    }
}
