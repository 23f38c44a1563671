//! What reads lock.

use gannet_engine::{Isolation, LockMode, ReadMode, WaitPolicy};
use gannet_plan::physical::{LockStrength, LockWait, Reads, RowLock};

/// What reads lock, by the transaction's level and the statement around all: that of the client, or of a procedure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Locks {
    /// READ COMMITTED or below: rows that do not match are unlocked.
    pub unlock_unmatched: bool,
    source: bool,
    current: bool,
}

impl Locks {
    /// Of a statement around all.
    #[inline]
    pub fn of(level: Isolation, around: Reads) -> Locks {
        let unlock_unmatched = level <= Isolation::ReadCommitted;
        let current = match around {
            Reads::Snapshot => false,
            Reads::Source => !unlock_unmatched,
            Reads::Current => true,
        };
        Locks { unlock_unmatched, source: current && !unlock_unmatched, current }
    }

    /// How the engine is to read under a plan's lock clause.
    pub(crate) fn mode(&self, lock: RowLock) -> ReadMode {
        let shared = match lock.strength {
            LockStrength::None => false,
            LockStrength::SharedSource => self.source,
            LockStrength::SharedCurrent => self.current,
            LockStrength::Shared | LockStrength::Exclusive => true,
        };
        if !shared {
            return ReadMode::Snapshot;
        }
        let mode = if lock.strength == LockStrength::Exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let wait = match lock.wait {
            LockWait::Wait | LockWait::IfMatched => WaitPolicy::Wait,
            LockWait::NoWait => WaitPolicy::NoWait,
            LockWait::SkipLocked => WaitPolicy::SkipLocked,
        };
        ReadMode::Locking { mode, wait }
    }

    /// Rows that fail the condition are let go.
    pub(crate) fn unlock(&self, lock: RowLock) -> bool {
        self.unlock_unmatched && self.mode(lock) != ReadMode::Snapshot
    }
}
