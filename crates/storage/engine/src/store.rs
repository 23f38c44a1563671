//! What all transactions of an engine share.

use std::path::PathBuf;

use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use gannet_base::sync::{Arc, Mutex, OnceLock};
use gannet_base::{Lsn, TrxId};
use gannet_buffer::Pool;
use gannet_lock::LockTable;
use gannet_log::{Checkpoints, Log};
use gannet_telemetry::Events;

use crate::plant::{Fault, planted};
use crate::purge::PurgeState;
use crate::rollback::Orphan;
use crate::scrub::Scrub;
use crate::snapshot::Snapshots;
use crate::trees::Trees;
use crate::trxtable::{TrxState, TrxTable};
use crate::undo::stream::Streams;
use crate::writer::Writer;
use crate::{EngineError, Result};

pub(crate) struct Store {
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
    pub(crate) locks: Arc<LockTable>,
    pub(crate) trx: TrxTable,
    pub(crate) snapshots: Snapshots,
    pub(crate) streams: Streams,
    pub(crate) trees: Trees,
    pub(crate) purge: PurgeState,
    pub(crate) scrub: Scrub,
    /// Transactions without a session that are not yet rolled back: those found unfinished at the start, and orphans.
    pub(crate) losers: AtomicU64,
    /// Prepared transactions found at the start that [`crate::Engine::take_prepared`] has not returned yet.
    pub(crate) prepared: Mutex<Vec<Writer>>,
    /// Transactions that a panic dropped, or that could not be rolled back, at the start or later: the purge tasks
    /// roll them back.
    pub(crate) orphans: Mutex<Vec<Orphan>>,
    /// Where commits began whose payload for the log's consumers takes more than one record.
    pub(crate) chains: Mutex<Vec<Lsn>>,
    pub(crate) events: Events,
    /// Where sorts put what the memory does not hold.
    pub(crate) sort_dir: PathBuf,
    /// Where the files of sorts count.
    pub(crate) sort_disk: OnceLock<Arc<dyn crate::SortDisk>>,
    /// Set once by shutdown.
    pub(crate) stopped: AtomicBool,
}

/// Which transaction wrote a version, as seen by one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Own,
    /// Another transaction that is still active.
    Active(TrxId),
    /// Committed at or before this LSN, zero if long ago.
    Committed(Lsn),
}

impl Store {
    #[inline]
    pub(crate) fn whose(&self, own: TrxId, writer: TrxId) -> Whose {
        if writer == own {
            return Whose::Own;
        }
        match self.trx.outcome(writer) {
            TrxState::Active => Whose::Active(writer),
            TrxState::Ended(lsn) => Whose::Committed(lsn),
            TrxState::Old => Whose::Committed(Lsn::ZERO),
        }
    }

    pub(crate) fn check_running(&self) -> Result<()> {
        if self.stopped.load(Acquire) { Err(EngineError::ShutDown) } else { Ok(()) }
    }

    /// From now on no task waits for a checkpoint.
    pub(crate) fn forgo_checkpoints(&self) {
        self.log.set_checkpoints(Checkpoints::Closing);
    }

    /// Moves the purge horizon up.
    pub(crate) fn advance_horizon(&self) -> Lsn {
        let horizon = self.snapshots.advance(self.log.horizon());
        if planted(Fault::PurgeEarly) { self.log.horizon() } else { horizon }
    }
}
