//! Options and modes of the public calls.

use std::path::PathBuf;
use std::time::Duration;

use gannet_telemetry::Events;

/// Whether a store is expected in the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OpenMode {
    /// Open the store; create one when the directory is empty or missing.
    #[default]
    OpenOrCreate,
    /// The store must exist.
    Existing,
    /// There must be none.
    Fresh,
}

/// When a commit's bytes reach the disk: `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushPolicy {
    /// 0: written and synced about once a second.
    EverySecond,
    /// 1: synced before the commit returns.
    #[default]
    AtCommit,
    /// 2: written at commit, synced about once a second.
    WriteAtCommit,
}

/// How to open an [`Engine`](crate::Engine).
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Directory of the store; created with mode 0700.
    pub datadir: PathBuf,
    /// Memory for pages. At least 4 MiB.
    pub buffer_pool_bytes: u64,
    /// What [`pool::resize`](crate::pool::resize) may make of it: addresses are reserved for as much.
    pub most_pool_bytes: u64,
    /// Size the log may take on disk; bounds the age of the checkpoint and thus recovery time. At least 8 MiB. 0 = what
    /// the log of the store takes.
    pub redo_capacity_bytes: u64,
    /// Durability of commits; may be changed later.
    pub flush_policy: FlushPolicy,
    /// The data file grows no further than this.
    pub max_data_bytes: u64,
    /// Expectation about the directory.
    pub mode: OpenMode,
    /// Background tasks that purge old versions; 0 = purge only when [`Engine::purge_now`](crate::Engine::purge_now) is
    /// called.
    pub purge_tasks: usize,
    /// Bytes of log after which the log's index gets another chunk, and a third of what a start after a crash reads
    /// before the store is open; 0 = the whole log is read then.
    pub redo_index_bytes: u64,
    /// Memory for the log's index and the changes that a start after a crash gathers from the log at once, the buffers
    /// for reading not counted; 0 = half of the pool's size, at least 32 MiB. The pool does without.
    pub redo_memory_bytes: u64,
    /// Pages a second that the scrubber may verify ([`Engine::set_scrub_pace`](crate::Engine::set_scrub_pace)); 0 =
    /// none.
    pub scrub_pages_per_second: u64,
    /// Directory for the files of sorts; it exists. `None`: the store's.
    pub sort_dir: Option<PathBuf>,
    /// Where recovery, checkpoint, purge and log tell what a person should know.
    pub events: Events,
}

impl EngineOptions {
    /// Defaults (128 MiB pool, 100 MiB redo, durable commits) in `datadir`.
    pub fn new(datadir: impl Into<PathBuf>) -> Self {
        EngineOptions {
            datadir: datadir.into(),
            buffer_pool_bytes: 128 << 20,
            most_pool_bytes: 0,
            redo_capacity_bytes: 100 << 20,
            flush_policy: FlushPolicy::AtCommit,
            max_data_bytes: 16 << 40,
            mode: OpenMode::OpenOrCreate,
            purge_tasks: 2,
            redo_index_bytes: 32 << 20,
            redo_memory_bytes: 0,
            scrub_pages_per_second: 0,
            sort_dir: None,
            events: Events::default(),
        }
    }
}

/// Isolation level of a transaction, with InnoDB's meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Isolation {
    /// Plain reads return the newest version, committed or not.
    ReadUncommitted,
    /// Plain reads see what was committed when the statement began; no gap locks.
    ReadCommitted,
    /// Plain reads see what was committed at the first plain read; locking reads take next-key locks.
    #[default]
    RepeatableRead,
    /// As repeatable read; plain reads of a transaction (not autocommit) lock shared.
    Serializable,
}

impl Isolation {
    /// From its place among the levels.
    pub(crate) fn of(place: u64) -> Isolation {
        match place {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        }
    }
}

impl TxnOptions {
    /// What others may see of them, in a word: the level, 4 for read only, 8 for autocommit.
    pub(crate) fn packed(&self) -> u64 {
        self.isolation as u64 | u64::from(self.read_only) << 2 | u64::from(self.autocommit) << 3
    }
}

/// How to begin a [`Txn`](crate::Txn).
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// Isolation level.
    pub isolation: Isolation,
    /// Writes are refused.
    pub read_only: bool,
    /// The transaction is one statement: under SERIALIZABLE its plain reads stay snapshot reads.
    pub autocommit: bool,
    /// ... unless they are to lock: [`Txn::lock_plain_reads`](crate::Txn::lock_plain_reads).
    pub plain_reads_lock: bool,
    /// Shown as the owner in [`Engine::transactions`](crate::Engine::transactions).
    pub owner_thread_id: u64,
    /// `innodb_lock_wait_timeout`.
    pub lock_wait_timeout: Duration,
}

impl Default for TxnOptions {
    fn default() -> Self {
        TxnOptions {
            isolation: Isolation::RepeatableRead,
            read_only: false,
            autocommit: false,
            plain_reads_lock: false,
            owner_thread_id: 0,
            lock_wait_timeout: Duration::from_secs(50),
        }
    }
}

/// Strength of a row lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LockMode {
    /// `FOR SHARE`.
    Shared,
    /// `FOR UPDATE`, and what UPDATE and DELETE read with.
    Exclusive,
}

/// What a locking read does when the row is locked by another transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitPolicy {
    /// Wait, up to the transaction's timeout.
    #[default]
    Wait,
    /// Fail with [`EngineError::NoWait`](crate::EngineError::NoWait).
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// Which version a read returns, and what it locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMode {
    /// Plain read: the version the isolation level prescribes. Locks nothing, except under SERIALIZABLE inside a
    /// transaction, where it is a shared locking read.
    Snapshot,
    /// The newest committed (or own) version, locked as the isolation level prescribes.
    Locking {
        /// Strength.
        mode: LockMode,
        /// What to do about others' locks.
        wait: WaitPolicy,
    },
    /// The newest version, committed or not, without locks. With [`RowStamp`](crate::RowStamp) and
    /// [`Txn::update_if`](crate::Txn::update_if) this makes an UPDATE of one row that never enters the lock table.
    Newest,
}

impl ReadMode {
    /// `FOR UPDATE`, waiting.
    pub const FOR_UPDATE: ReadMode = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::Wait };
    /// `FOR SHARE`, waiting.
    pub const FOR_SHARE: ReadMode = ReadMode::Locking { mode: LockMode::Shared, wait: WaitPolicy::Wait };
}

/// Direction of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// Ascending keys.
    #[default]
    Forward,
    /// Descending keys.
    Backward,
}

/// How to scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    /// Order of the entries.
    pub direction: Direction,
    /// Versions and locks.
    pub mode: ReadMode,
    /// The range is equality on all columns of a unique key: a hit locks the record without the gap before it, and the
    /// scan ends there.
    pub unique_equality: bool,
    /// The caller expects to read much of the tree: pages are read ahead and do not displace hot ones.
    pub sequential: bool,
    /// The rows are read from end to end, in no order: they count as read by no index.
    pub whole: bool,
    /// The server looks for itself: nothing counts as read.
    pub unseen: bool,
    /// A locking scan of a row tree at READ COMMITTED or below: a row that another has locked is not waited for but
    /// returned as it was committed last ([`Entry::blocked`](crate::Entry)); [`Scan::insist`](crate::Scan::insist) then
    /// waits for it. (InnoDB's semi-consistent read.)
    pub semi_consistent: bool,
}

impl Default for ScanOptions {
    fn default() -> Self {
        ScanOptions {
            direction: Direction::Forward,
            mode: ReadMode::Snapshot,
            unique_equality: false,
            sequential: false,
            whole: false,
            unseen: false,
            semi_consistent: false,
        }
    }
}

/// What a tree holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TreeKind {
    /// Clustered: key → row, one entry per key, older versions in undo.
    Row,
    /// Secondary: (index columns + primary key columns) → carried bytes; versions are entries of their own.
    Index,
}
