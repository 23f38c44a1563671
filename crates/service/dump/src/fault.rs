//! What goes wrong, as the user reads it.

use gannet_wire::client::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Why a dump or a load cannot go on.
#[derive(Debug)]
pub enum Fault {
    /// A server refused a statement.
    Refused {
        /// MySQL's error number.
        code: u16,
        /// Where it happened, and the server's text.
        text: String,
    },
    /// A server is gone, or does not speak the protocol.
    Lost(String),
    /// Everything else: files, options, data.
    Wrong(String),
    /// Another task has failed, and says why.
    Stopped,
}

/// The outcome of a step.
pub type Outcome<T> = Result<T, Fault>;

impl Fault {
    /// The fault with the place in front: a file, a table, a statement.
    #[must_use]
    pub fn at(self, place: impl Display) -> Fault {
        match self {
            Fault::Refused { code, text } => Fault::Refused { code, text: format!("{place}: {text}") },
            Fault::Lost(text) => Fault::Lost(format!("{place}: {text}")),
            Fault::Wrong(text) => Fault::Wrong(format!("{place}: {text}")),
            Fault::Stopped => Fault::Stopped,
        }
    }

    /// A file that cannot be read or written.
    pub fn file(path: &Path, e: io::Error) -> Fault {
        Fault::Wrong(format!("{}: {e}", path.display()))
    }

    /// The server's error number, if it refused.
    pub fn code(&self) -> Option<u16> {
        match self {
            Fault::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The same may succeed when it is tried again, in a new transaction: a deadlock, a lock that was waited for too
    /// long.
    pub fn is_passing(&self) -> bool {
        matches!(self.code(), Some(1205 | 1213))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Refused { text, .. } | Fault::Lost(text) | Fault::Wrong(text) => f.write_str(text),
            Fault::Stopped => f.write_str("stopped, because another task failed"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        let text = e.to_string();
        match e {
            // The server ends the session: shutdown, KILL, inactivity.
            Error::Server { code: 1053 | 1927 | 3169 | 4031, .. } => Fault::Lost(text),
            Error::Server { code, .. } => Fault::Refused { code, text },
            Error::Io(_) | Error::Protocol(_) | Error::TooLong => Fault::Lost(text),
            // Another attempt would end as this one.
            Error::Tls(_) | Error::Insecure(_) => Fault::Wrong(text),
        }
    }
}

/// A fault of the given text.
pub(crate) fn wrong<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Fault::Wrong(text.into()))
}
