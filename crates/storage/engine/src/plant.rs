//! Faults planted in the engine, to find out whether the simulation would notice them. Debug builds only; per thread,
//! that is, per simulated machine.

use crate::undo::record::UndoPtr;
use std::cell::Cell;

/// What is done wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Rollback leaves out some undo records.
    DropUndo,
    /// Rollback ends with an error at some undo records, and some transactions cannot commit.
    UndoFails,
    /// A transaction's rows are free before its commit is in the log.
    ReleaseEarly,
    /// Recovery leaves out some changes of some pages.
    DropRedo,
    /// Purge does not wait for the snapshots that are in use.
    PurgeEarly,
    /// A commit returns before it is durable.
    TellEarly,
    /// What a failed statement has done stays (planted in the server).
    KeepFailed,
    /// The log's index leaves out some entries.
    IndexLeavesOut,
    /// The log is indexed before it is durable: the index tells of an incarnation that never was.
    IndexAhead,
    /// The log's index takes entries of a later incarnation for the one before.
    IndexOldEpoch,
    /// Rounds of redo do not read the last chunk of the log: pages come without its changes, and with an LSN as if they
    /// had all.
    RoundLeavesOut,
    /// What redo puts into a file for want of memory lacks something.
    SpillLeavesOut,
    /// A payload's last piece and its commit are not one reservation in the log.
    PayloadApart,
    /// The log tells of a tree's extents before their pages, which were written past it, are on disk.
    BuildUnsynced,
    /// A consumer lets go of the log up to where it has read, whatever was begun before.
    LetGoEarly,
}

/// Ways through recovery that a simulation is to take, not just by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Path {
    /// Changes were gathered for a round of redo.
    Round,
    /// Of these: there was no memory for all that was left, so that another round follows.
    PartRound,
    /// A round took more memory than there was, and left out a part of its pages.
    SharesGivenUp,
    /// The same, with their changes in a file.
    Spilled,
    /// The changes of an extent do not fit the memory, so its pages' records are read one by one.
    ByRecord,
    /// A page was wanted before its changes were gathered.
    Early,
    /// The index of the log did not fit the memory.
    IndexWritten,
    /// A sort put entries into a file.
    SortSpilled,
    /// A sort had more runs than it could merge at once.
    SortMergedTwice,
    /// What was sorted was delivered in parts.
    SortParted,
}

/// How many [`Path`]s there are.
pub const PATHS: usize = Path::SortParted as usize + 1;

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    static TAKEN: Cell<[u64; PATHS]> = const { Cell::new([0; PATHS]) };
}

/// Plants a fault in this thread's engines, or takes it out.
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
    gannet_buffer::testing::leave_built_unsynced(fault == Some(Fault::BuildUnsynced));
}

/// Whether this fault is planted.
#[inline(always)]
pub fn planted(fault: Fault) -> bool {
    cfg!(debug_assertions) && PLANTED.get() == Some(fault)
}

/// Whether [`Fault::UndoFails`] is planted and concerns this undo record: about a third of them, always the same.
#[inline(always)]
pub(crate) fn undo_fails(at: UndoPtr) -> bool {
    planted(Fault::UndoFails)
        && (at.page().0 << 16 | at.offset() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < u64::from(u32::MAX / 3)
}

/// A way was taken.
pub(crate) fn note(path: Path) {
    if cfg!(debug_assertions) {
        let mut taken = TAKEN.get();
        taken[path as usize] += 1;
        TAKEN.set(taken);
    }
}

/// How often each [`Path`] was taken by this thread's engines.
pub fn taken() -> [u64; PATHS] {
    TAKEN.get()
}
