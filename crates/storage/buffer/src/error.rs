//! Errors, and the values that send an attempt back to its start.

use std::borrow::Cow;
use std::fmt;
use std::io;

use gannet_base::sync::Arc;
use gannet_base::{Lsn, PageNo};
use gannet_log::LogError;
use gannet_page::Corrupt;

/// Damage of one page. It concerns the caller only: other pages stay in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// Which page.
    pub page: PageNo,
    /// The LSN in its header; zero when not even that could be read.
    pub lsn: Lsn,
    /// What was seen.
    pub what: Cow<'static, str>,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} (LSN {}): {}", self.page, self.lsn, self.what)
    }
}

/// What can go wrong for good.
#[derive(Clone, Debug)]
pub enum Error {
    /// A page is damaged or cannot be read.
    Page(PageError),
    /// The log refuses.
    Log(LogError),
    /// The data file cannot grow: its greatest size is reached or the disk is full.
    Full,
    /// No frame became free in a long time: everything is dirty and cannot be written.
    NoFrames,
    /// A write or sync of the data or double-write file failed once; nothing is written back any more. Reads go on.
    Poisoned(Arc<str>),
    /// Another file operation failed.
    Io { what: &'static str, error: Arc<io::Error> },
    /// An entry longer than a tree can take.
    TooLong { bytes: usize },
}

impl Error {
    pub(crate) fn io(what: &'static str, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Error::Full,
            _ => Error::Io { what, error: Arc::new(error) },
        }
    }

    /// A [`PageError`] for `page`.
    pub fn page(page: PageNo, lsn: Lsn, what: impl Into<Cow<'static, str>>) -> Error {
        Error::Page(PageError { page, lsn, what: what.into() })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Page(e) => e.fmt(f),
            Error::Log(e) => e.fmt(f),
            Error::Full => f.write_str("the data file cannot grow"),
            Error::NoFrames => f.write_str("no page could be evicted from the buffer pool"),
            Error::Poisoned(why) => write!(f, "pages cannot be written since an earlier failure: {why}"),
            Error::Io { what, error } => write!(f, "cannot {what}: {error}"),
            Error::TooLong { bytes } => write!(f, "an entry of {bytes} bytes is too long"),
        }
    }
}

impl std::error::Error for Error {}

impl From<LogError> for Error {
    #[cold]
    fn from(e: LogError) -> Self {
        Error::Log(e)
    }
}

impl From<PageError> for Error {
    #[cold]
    fn from(e: PageError) -> Self {
        Error::Page(e)
    }
}

/// Why an attempt ended without a result. All but [`Stop::Failed`] send it back to its start, with every latch let go,
/// after what [`Pool::run`](crate::Pool::run) does about the cause.
#[derive(Clone, Debug)]
pub enum Stop {
    /// What was read optimistically was being changed: again.
    Restart,
    /// This page is not resident: load it, then again.
    Fault(PageNo),
    /// This page is being read or evicted by another task: wait for that, then again.
    Busy(PageNo),
    /// No free extent is ready: grow the data file, then again.
    Grow,
    /// Too many frames are in use: wait for the cleaner, then again.
    NoFrame,
    /// It failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    #[cold]
    fn from(e: E) -> Self {
        Stop::Failed(e.into())
    }
}

/// A [`Corrupt`] with the page it was found in.
pub(crate) fn corrupt(page: PageNo, lsn: Lsn, c: Corrupt) -> Error {
    Error::page(page, lsn, c.what)
}
