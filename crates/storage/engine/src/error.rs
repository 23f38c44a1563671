//! What can go wrong. SQL error numbers are mapped above.

use gannet_base::{Lsn, PageNo};

/// Result of the engine's calls.
pub type Result<T> = std::result::Result<T, EngineError>;

/// An error of the engine. After [`Deadlock`](EngineError::Deadlock) the whole transaction **has been rolled back** and
/// the [`Txn`](crate::Txn) is idle; after all others the transaction is as it was before the call (a statement rolls
/// itself back with [`Txn::rollback_to`](crate::Txn::rollback_to)), but for those of commit and rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// This transaction was chosen as the victim of a deadlock and is rolled back (MySQL 1213).
    Deadlock,
    /// A row lock was not granted within the transaction's timeout (1205).
    LockWaitTimeout,
    /// A row lock would have to be waited for, under `NOWAIT` (3572).
    NoWait,
    /// The task was interrupted while it waited (1317).
    Interrupted,
    /// The transaction is not active: it was committed, rolled back, or a deadlock's victim.
    NotActive,
    /// Undoing changes of the transaction failed on the way: it can only be rolled back (1181).
    HalfUndone,
    /// A write in a transaction begun with `read_only` (1792).
    ReadOnly,
    /// Damage found: which page, its LSN, what was seen. Reads of other pages go on.
    Corrupt {
        /// The page, 0 when the damage is not in a page (log, control file).
        page: PageNo,
        /// LSN in the page's header, or the place in the log.
        lsn: Lsn,
        /// What was seen.
        what: String,
    },
    /// The log could not be written or synced once; nothing can be committed until a restart. Reads go on.
    LogPoisoned,
    /// No room on disk, or `max_data_bytes` reached (1114 / 3).
    DiskFull,
    /// A key longer than [`MAX_KEY_BYTES`](crate::TreeHandle::MAX_KEY_BYTES) (1071).
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A row longer than 4 GiB - 1 KiB.
    RowTooLong {
        /// Its length.
        bytes: usize,
    },
    /// More undo, or more concurrent writers, than there is room for.
    TooManyTransactions,
    /// The tree does not exist (dropped, or an id never given out).
    NoSuchTree(gannet_base::TreeId),
    /// A plain read at a snapshot that is older than the tree (1412).
    TreeTooNew(gannet_base::TreeId),
    /// Another server has the data directory open.
    DataDirInUse(String),
    /// The store was written in another version of the format.
    OtherFormat {
        /// Version found.
        found: u32,
        /// The version that this build knows.
        known: u32,
    },
    /// A page could not be written back, and why; none is until a restart.
    NotWrittenBack(String),
    /// A file of the store other than the data file is damaged or missing.
    Damaged(String),
    /// The log is full, and pages cannot be written back to free it.
    LogFull,
    /// The consumer of that name has lost its place in the log: what it has not read is gone.
    CutOff(String),
    /// The consumer name cannot be used: a consumer follows the log under it, there are 32 others, or the name is
    /// empty or longer than 64 bytes.
    NameInUse(String),
    /// A payload for the log's consumers that is longer than a quarter of the log's capacity.
    PayloadTooLong {
        /// Bytes that it may have.
        most: u64,
    },
    /// The engine was shut down.
    ShutDown,
    /// Another error of the operating system.
    Io(String),
}

impl EngineError {
    /// The page itself is damaged: trying again does not help. (That a read fails may pass.)
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            EngineError::Corrupt { what, .. } => !what.starts_with("cannot be read"),
            EngineError::Damaged(_) => true,
            _ => false,
        }
    }
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use EngineError::*;
        match self {
            Deadlock => f.write_str("deadlock found; transaction rolled back"),
            LockWaitTimeout => f.write_str("lock wait timeout exceeded"),
            NoWait => f.write_str("row lock not granted immediately and NOWAIT is set"),
            Interrupted => f.write_str("interrupted"),
            NotActive => f.write_str("no transaction is active"),
            HalfUndone => f.write_str("the transaction is half undone: it can only be rolled back"),
            ReadOnly => f.write_str("transaction is read only"),
            Corrupt { page, lsn, what } => write!(f, "page {page} (LSN {lsn}) is damaged: {what}"),
            LogPoisoned => f.write_str("the log could not be written; writes are refused until a restart"),
            LogFull => f.write_str("the log is full, and pages cannot be written back to free it"),
            DiskFull => f.write_str("no space left for data"),
            KeyTooLong { bytes } => write!(f, "key of {bytes} bytes is too long"),
            RowTooLong { bytes } => write!(f, "row of {bytes} bytes is too long"),
            TooManyTransactions => f.write_str("too many concurrent writing transactions"),
            NoSuchTree(id) => write!(f, "tree {id} does not exist"),
            TreeTooNew(id) => write!(f, "tree {id} was made after the snapshot"),
            DataDirInUse(dir) => write!(f, "data directory {dir} is in use by another server"),
            OtherFormat { found, known } => write!(f, "store has format {found}; this build knows format {known} only"),
            CutOff(name) => write!(f, "consumer '{name}' has lost its place in the log"),
            NameInUse(name) => write!(f, "no consumer of the log can be had under the name '{name}'"),
            PayloadTooLong { most } => write!(f, "what the transaction tells the log's consumers exceeds {most} bytes"),
            ShutDown => f.write_str("the engine is shut down"),
            NotWrittenBack(why) => write!(f, "pages cannot be written back until a restart: {why}"),
            Io(e) | Damaged(e) => f.write_str(e),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<gannet_buffer::Error> for EngineError {
    #[cold]
    fn from(e: gannet_buffer::Error) -> Self {
        use gannet_buffer::Error::*;
        match e {
            Page(p) => EngineError::Corrupt { page: p.page, lsn: p.lsn, what: p.what.into_owned() },
            Log(e) => e.into(),
            Full => EngineError::DiskFull,
            Poisoned(why) => EngineError::NotWrittenBack(why.to_string()),
            TooLong { bytes } => EngineError::KeyTooLong { bytes },
            e => EngineError::Io(e.to_string()),
        }
    }
}

impl From<gannet_log::LogError> for EngineError {
    #[cold]
    fn from(e: gannet_log::LogError) -> Self {
        use gannet_log::LogError::*;
        match e {
            Poisoned(_) => EngineError::LogPoisoned,
            Closed => EngineError::ShutDown,
            NoSpace { .. } => EngineError::DiskFull,
            Full => EngineError::LogFull,
            Interrupted => EngineError::Interrupted,
            CutOff { name } => EngineError::CutOff(name),
            InUse { name } => EngineError::NameInUse(name),
            NewerFormat { version, .. } => {
                EngineError::OtherFormat { found: version, known: crate::control::FORMAT_VERSION }
            }
            e @ (Corrupt { .. } | SegmentMissing { .. }) => crate::control::damaged(e.to_string()),
            e => EngineError::Io(e.to_string()),
        }
    }
}

impl From<gannet_lock::LockError> for EngineError {
    #[cold]
    fn from(e: gannet_lock::LockError) -> Self {
        match e {
            gannet_lock::LockError::WouldWait => EngineError::NoWait,
            gannet_lock::LockError::Timeout => EngineError::LockWaitTimeout,
            gannet_lock::LockError::Deadlock => EngineError::Deadlock,
            gannet_lock::LockError::Killed => EngineError::Interrupted,
        }
    }
}
