//! Page formats as pure functions on bytes.
//!
//! Every page is [`PAGE_SIZE`] bytes and begins with the common header ([`header`]). Nothing here does I/O, locks or
//! waits; nothing panics on damaged bytes: reading clamps, changing ([`apply`]) checks first and refuses.
//!
//! | module | what |
//! |---|---|
//! | [`header`] | common header, page types, checksum |
//! | [`bytes`] | reading from stable memory and from a frame that another thread is changing, with the same code |
//! | [`node`] | B+tree nodes: reading and searching |
//! | [`raw`] | overflow, undo, space map, file header and meta pages |
//! | [`op`] | page operations: what the log carries; [`apply`] is the only code that changes a page |
//! | [`mod@check`] | structural verification |

pub mod bytes;
pub mod check;
mod edit;
#[doc(hidden)]
pub mod fuzzing;
pub mod header;
pub mod node;
pub mod op;
pub mod raw;
mod redo;

pub use bytes::PageBytes;
pub use check::check;
pub use edit::{NodeHead, build_node};
pub use gannet_base::{Lsn, PAGE_SIZE, PageNo, TreeId};
pub use header::{HEADER_SIZE, PageBuf, PageType};
pub use node::{MAX_KEY, Node};
pub use op::{PageOp, apply, apply_and_tell};
pub use redo::{Redo, redo};

/// Why a page is not what it should be, or why an operation does not fit it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrupt {
    /// What was found wrong.
    pub what: &'static str,
}

impl Corrupt {
    /// A refusal that names `what`.
    #[cold]
    pub const fn new(what: &'static str) -> Self {
        Corrupt { what }
    }
}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }
}

impl std::error::Error for Corrupt {}

impl From<gannet_base::DecodeError> for Corrupt {
    #[cold]
    fn from(_: gannet_base::DecodeError) -> Self {
        Corrupt::new("operation cannot be decoded")
    }
}
