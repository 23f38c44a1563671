//! Locks and waits as users see them: performance_schema.data_locks and data_lock_waits, SHOW ENGINE INNODB STATUS,
//! and which session blocks which.

use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_base::{TreeId, TrxId};

use crate::owner::{Owner, Target};
use crate::{MdlMode, Mode};

/// An owner as introspection shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Party {
    /// The owner.
    pub owner: u64,
    /// The session's thread id; 0 for background work.
    pub thread: u64,
    /// Its transaction; zero when it has not written.
    pub trx: TrxId,
}

impl Party {
    pub(crate) fn of(owner: &Owner) -> Party {
        Party { owner: owner.id, thread: owner.thread.load(Relaxed), trx: TrxId(owner.trx.load(Relaxed)) }
    }
}

/// One end of an interval: the key, and whether the end lies after the key. `None`: the end of the key space.
pub type GapEnd = Option<(Vec<u8>, bool)>;

/// What is locked or waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// A record.
    Record {
        /// Its tree.
        tree: TreeId,
        /// Its key.
        key: Vec<u8>,
        /// Shared or exclusive.
        mode: Mode,
    },
    /// An interval between records.
    Gap {
        /// Its tree.
        tree: TreeId,
        /// Lower end.
        low: GapEnd,
        /// Upper end.
        high: GapEnd,
    },
    /// All rows in an interval.
    Rows {
        /// Their tree.
        tree: TreeId,
        /// Lower end.
        low: GapEnd,
        /// Upper end.
        high: GapEnd,
        /// Shared or exclusive.
        mode: Mode,
    },
    /// The place for a new record.
    Insert {
        /// Its tree.
        tree: TreeId,
        /// Its key.
        key: Vec<u8>,
    },
    /// The end of a transaction whose stamp is on a row.
    Transaction {
        /// That transaction.
        trx: TrxId,
        /// The row's tree and key, where they are known.
        row: Option<(TreeId, Vec<u8>)>,
    },
    /// A metadata lock.
    Metadata {
        /// The object.
        object: u64,
        /// Its name.
        name: String,
        /// The mode.
        mode: MdlMode,
    },
}

impl LockKind {
    pub(crate) fn wanted(target: &Target) -> LockKind {
        match target {
            Target::Record(w) => LockKind::Record { tree: w.tree.id(), key: w.key.to_vec(), mode: w.mode },
            Target::Insert { tree, key } => LockKind::Insert { tree: tree.id(), key: key.to_vec() },
            Target::Trx { trx, at } => {
                LockKind::Transaction { trx: *trx, row: at.as_ref().map(|(tree, key)| (*tree, key.to_vec())) }
            }
            Target::Mdl { object, mode } => {
                let (object, name) = object.describe();
                LockKind::Metadata { object, name: name.to_string(), mode: *mode }
            }
        }
    }
}

/// A lock that is held or waited for. Stamps in rows are not among these: only the engine knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockInfo {
    /// The owner that holds the lock or waits for it.
    pub party: Party,
    /// What is locked.
    pub kind: LockKind,
    /// Whether the owner holds the lock or waits for it.
    pub granted: bool,
}

/// A wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitInfo {
    /// The owner that waits.
    pub party: Party,
    /// What it waits for.
    pub waits_for: LockKind,
    /// When the wait began, in nanoseconds of the runtime's clock.
    pub since_ns: u64,
    /// The owners that hold the lock or wait in front. For a wait for a transaction: that transaction's owner, if it
    /// has one here.
    pub blockers: Vec<Party>,
}

/// What an owner holds and waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The owner.
    pub party: Party,
    /// How many rows it has locked.
    pub records: usize,
    /// About how much memory the locks take, in bytes.
    pub bytes: usize,
    /// How many trees it has locked gaps in.
    pub gap_trees: usize,
    /// What it waits for, and when that wait began, in nanoseconds of the runtime's clock.
    pub waits: Option<(LockKind, u64)>,
}
