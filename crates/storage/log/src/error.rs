use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use gannet_base::Lsn;
use gannet_base::sync::Arc;

/// Why the log refuses.
#[derive(Clone, Debug)]
pub enum LogError {
    /// An earlier write or sync failed: this log accepts nothing any more.
    Poisoned(String),
    /// A file operation failed.
    Io {
        /// The operation, as in 'cannot ... the file'.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: Arc<io::Error>,
    },
    /// A file is not what it should be.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A segment was written by a newer version of the software.
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u32,
    },
    /// The segment that holds this position is not there.
    SegmentMissing {
        /// The position.
        lsn: Lsn,
    },
    /// The disk has no room for the capacity asked for.
    NoSpace {
        /// The log's directory.
        dir: PathBuf,
        /// Bytes that were wanted.
        need: u64,
    },
    /// A consumer has lost its place: it held back more of the log than it may, or the log's files are gone.
    CutOff {
        /// Its name.
        name: String,
    },
    /// No consumer can be had under this name: somebody follows the log under it, there are 32 others, or it is empty
    /// or longer than 64 bytes.
    InUse {
        /// The name.
        name: String,
    },
    /// So much was written since the checkpoint that there is no room, and pages cannot be written back to move it.
    Full,
    /// The task was interrupted while it waited for a consumer to read on.
    Interrupted,
    /// The log was closed.
    Closed,
}

impl LogError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
        let path = path.to_owned();
        move |error| LogError::Io { what, path, error: Arc::new(error) }
    }

    pub(crate) fn is_no_space(&self) -> bool {
        match self {
            LogError::NoSpace { .. } => true,
            LogError::Io { error, .. } => {
                matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Poisoned(why) => write!(f, "the log accepts no writes since an earlier failure: {why}"),
            LogError::Io { what, path, error } => write!(f, "cannot {what} {}: {error}", path.display()),
            LogError::Corrupt { path, what } => write!(f, "{}: {what}", path.display()),
            LogError::NewerFormat { path, version } => {
                write!(f, "{} has format version {version}, which is newer than this software", path.display())
            }
            LogError::SegmentMissing { lsn } => write!(f, "no log segment holds LSN {lsn}"),
            LogError::NoSpace { dir, need } => write!(f, "no room for {need} bytes of log in {}", dir.display()),
            LogError::CutOff { name } => write!(f, "consumer '{name}' has lost its place in the log"),
            LogError::InUse { name } => write!(f, "no consumer of the log can be had under the name '{name}'"),
            LogError::Full => write!(f, "the log is full, and pages cannot be written back to free it"),
            LogError::Interrupted => write!(f, "interrupted while the log's consumers are too far behind"),
            LogError::Closed => write!(f, "the log is closed"),
        }
    }
}

impl std::error::Error for LogError {}
