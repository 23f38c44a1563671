//! Faults planted in the engine, to find out whether the simulation would notice them. Debug builds only; per thread, that is, per
//! simulated machine.

use std::cell::Cell;

/// What is done wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Rollback leaves out some undo records.
    DropUndo,
    /// A transaction's rows are free before its commit is in the log.
    ReleaseEarly,
    /// Recovery leaves out the oldest change of some pages.
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
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Plants a fault in this thread's engines, or takes it out.
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

/// Whether this fault is planted.
#[inline(always)]
pub fn planted(fault: Fault) -> bool {
    cfg!(debug_assertions) && PLANTED.get() == Some(fault)
}
