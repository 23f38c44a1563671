//! The one write-ahead log.
//!
//! Appending: reserve with one `fetch_add`, copy in parallel, publish by storing the record's header word. One log
//! writer writes and syncs for all waiting commits at once. See README.md for the invariants.

#![expect(clippy::unimplemented, reason = "signatures first: bodies follow with the runtime")]

use std::fmt;
use std::path::{Path, PathBuf};

use gannet_base::Lsn;
use gannet_base::sync::Arc;

/// Longest payload of one record in bytes (sum of its parts and the kind byte). Longer is a caller's error.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// What a record's payload is. Append-only list: numbers are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// Fills a flush unit up to its block's end. Readers never hand it out.
    Pad = 0,
    /// First record of an incarnation of the server. Readers never hand it out.
    EpochStart = 1,
    /// A mini-transaction: `(page number, op)` pairs.
    Mtr = 2,
    /// Reserved: payload of the binary log.
    Binlog = 3,
}

/// When a commit is told to be done: innodb_flush_log_at_trx_commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushPolicy {
    /// 0: write and sync once a second; a commit waits for nothing.
    EverySecond,
    /// 1: a commit waits until it is durable.
    Durable,
    /// 2: a commit waits until it is written; sync once a second.
    Written,
}

/// How to open the log.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the segments.
    pub dir: PathBuf,
    /// innodb_redo_log_capacity in bytes (soft bound).
    pub capacity: u64,
    /// innodb_flush_log_at_trx_commit.
    pub policy: FlushPolicy,
    /// Size of the ring buffer in bytes; rounded to a power of two and bounded by the capacity.
    pub ring_bytes: usize,
}

/// Where a new incarnation goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// The store's identity: segments of another store are refused.
    pub store: u64,
    /// The checkpoint: nothing below is needed any more.
    pub checkpoint: Lsn,
    /// End of the intact log as found by [`LogReader::end`]; the first LSN of a new store.
    pub end: Lsn,
    /// Epoch of the records just below `end`.
    pub prev_epoch: u64,
    /// The new incarnation's epoch: greater than any used before, durable in the control file already.
    pub epoch: u64,
}

/// Why the log refuses.
#[derive(Clone, Debug)]
pub enum LogError {
    /// An earlier write or sync failed: this log accepts nothing any more.
    Poisoned(String),
    /// A file operation failed.
    Io { what: &'static str, path: PathBuf, error: Arc<std::io::Error> },
    /// The files are not what they should be.
    Corrupt { path: PathBuf, what: String },
    /// A segment which the range from the checkpoint on needs is not there.
    SegmentMissing { lsn: Lsn },
    /// The disk has no room for the capacity asked for.
    NoSpace { dir: PathBuf, need: u64 },
    /// The log was closed.
    Closed,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Poisoned(why) => write!(f, "the log accepts no writes since an earlier failure: {why}"),
            LogError::Io { what, path, error } => write!(f, "cannot {what} {}: {error}", path.display()),
            LogError::Corrupt { path, what } => write!(f, "{}: {what}", path.display()),
            LogError::SegmentMissing { lsn } => write!(f, "no log segment holds LSN {lsn}"),
            LogError::NoSpace { dir, need } => {
                write!(f, "no room for {need} bytes of log in {}", dir.display())
            }
            LogError::Closed => write!(f, "the log is closed"),
        }
    }
}

impl std::error::Error for LogError {}

/// The log of a running store.
pub struct Log {}

impl Log {
    /// Opens (on a new store: creates) the log for a new incarnation and starts its writer.
    pub fn open(_options: Options, _start: Start) -> Result<Arc<Log>, LogError> {
        unimplemented!()
    }

    /// The brake: call before taking any latch for a change, and again after every park. Parks while the log is too
    /// far ahead of its writer or of the checkpoint.
    #[inline]
    pub fn admit(&self) -> Result<(), LogError> {
        unimplemented!()
    }

    /// Appends one record; gives its LSN (its end). `at` runs with it between reservation and publication: what it
    /// stores is visible to whoever sees [`Log::complete_lsn`] or [`Log::horizon`] at or above that LSN.
    /// Neither fails nor parks. Panics when the payload is longer than [`MAX_PAYLOAD`].
    pub fn append_with(&self, _kind: RecordKind, _parts: &[&[u8]], _at: impl FnOnce(Lsn)) -> Lsn {
        unimplemented!()
    }

    /// [`Log::append_with`] without a closure.
    pub fn append(&self, kind: RecordKind, parts: &[&[u8]]) -> Lsn {
        self.append_with(kind, parts, |_| ())
    }

    /// End of what was reserved so far: every record appended before the call is below.
    pub fn tail_lsn(&self) -> Lsn {
        unimplemented!()
    }

    /// All bytes below are copied and published.
    pub fn complete_lsn(&self) -> Lsn {
        unimplemented!()
    }

    /// All bytes below are on disk.
    #[inline]
    pub fn durable_lsn(&self) -> Lsn {
        unimplemented!()
    }

    /// The snapshot horizon: durable under policy 1, complete under 0 and 2.
    #[inline]
    pub fn horizon(&self) -> Lsn {
        unimplemented!()
    }

    /// Waits as the policy says a commit with that LSN has to (0: until it is complete, 1: durable, 2: written).
    pub fn wait_commit(&self, _lsn: Lsn) -> Result<(), LogError> {
        unimplemented!()
    }

    /// Waits until everything below `lsn` is on disk, whatever the policy: for write-back of pages.
    pub fn wait_durable(&self, _lsn: Lsn) -> Result<(), LogError> {
        unimplemented!()
    }

    /// Nothing below `lsn` is needed any more (the control file says so durably): segments are recycled.
    pub fn set_checkpoint(&self, _lsn: Lsn) {
        unimplemented!()
    }

    /// The last checkpoint set.
    pub fn checkpoint_lsn(&self) -> Lsn {
        unimplemented!()
    }

    /// The epoch in force at `lsn`: goes into the control file beside the checkpoint.
    pub fn epoch_at(&self, _lsn: Lsn) -> u64 {
        unimplemented!()
    }

    /// Present capacity in bytes.
    pub fn capacity(&self) -> u64 {
        unimplemented!()
    }

    /// Changes the capacity. Growing allocates first and fails without a change when the disk is full.
    pub fn set_capacity(&self, _bytes: u64) -> Result<(), LogError> {
        unimplemented!()
    }

    /// Present policy.
    pub fn policy(&self) -> FlushPolicy {
        unimplemented!()
    }

    /// Changes the policy at once.
    pub fn set_policy(&self, _policy: FlushPolicy) {
        unimplemented!()
    }

    /// Why the log accepts nothing any more, if so.
    pub fn poisoned(&self) -> Option<String> {
        unimplemented!()
    }

    /// Writes and syncs everything, then stops the writer. Appending afterwards is a caller's error.
    pub fn close(&self) -> Result<(), LogError> {
        unimplemented!()
    }
}

/// One record as read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// First byte of the record.
    pub start: Lsn,
    /// End of the record: the LSN that pages carry.
    pub lsn: Lsn,
    /// What the payload is.
    pub kind: RecordKind,
    /// The payload, without the kind.
    pub payload: &'a [u8],
}

/// Reads the log from a record boundary on until its end.
pub struct LogReader {}

impl LogReader {
    /// Opens the segments in `dir`; `epoch` is the one in force at `from`.
    pub fn open(_dir: &Path, _store: u64, _from: Lsn, _epoch: u64) -> Result<LogReader, LogError> {
        unimplemented!()
    }

    /// The next intact record, or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, LogError> {
        unimplemented!()
    }

    /// End of the last intact record so far; after `next` gave `None`: the end of the log.
    pub fn end(&self) -> Lsn {
        unimplemented!()
    }

    /// Epoch of the records at [`LogReader::end`].
    pub fn epoch(&self) -> u64 {
        unimplemented!()
    }

    /// Bytes from `from` to the end of the last segment: an upper bound of what there is to read, for progress.
    pub fn span_bytes(&self) -> u64 {
        unimplemented!()
    }
}
