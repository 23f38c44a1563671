//! Commits that wait for more than this store: see [`commit_gate`].

use crate::store::Store;
use crate::{Engine, Lsn, Result};
use std::sync::Arc;

/// Holds commits back that are durable already, until somebody else has them too.
#[derive(Clone)]
pub struct CommitGate(Arc<Store>);

/// The gate that commits go through when they are durable. It is open.
pub fn commit_gate(engine: &Engine) -> CommitGate {
    CommitGate(engine.store.clone())
}

impl CommitGate {
    /// Commits from now on are not told to their clients before [`CommitGate::advance`] has passed them. `hides`: nor
    /// are they visible to others' snapshots. Their locks are released all the same; who has seen one under a lock is
    /// not told before it is.
    pub fn close(&self, hides: bool) {
        self.0.log.gate().close(hides);
    }

    /// What waits is hidden from now on, or is not. What was visible stays so.
    pub fn hide(&self, hides: bool) {
        self.0.log.gate().hide(hides);
    }

    /// Commits up to here are told, and visible.
    pub fn advance(&self, to: Lsn) {
        self.0.log.gate().advance(to);
    }

    /// Commits wait for the log only.
    pub fn open(&self) {
        self.0.log.gate().open();
    }

    /// Waits for the log as a commit does, and not for the gate.
    pub fn wait_for_log(&self, lsn: Lsn) -> Result<()> {
        Ok(self.0.log.wait_log(lsn)?)
    }

    /// All of the log up to here is on disk.
    pub fn durable(&self) -> Lsn {
        self.0.log.durable_lsn()
    }
}
