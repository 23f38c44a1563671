//! Conditions and what catches them (manual, "DECLARE ... HANDLER Statement").

use gannet_types::{ErrorCode, Level, SqlError, Warning};

/// What a handler catches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// An error number.
    Code(u16),
    /// An SQLSTATE.
    State([u8; 5]),
    /// SQLWARNING
    Warning,
    /// NOT FOUND
    NotFound,
    /// SQLEXCEPTION
    Exception,
}

/// A condition that was raised.
#[derive(Clone, Copy, Debug)]
pub struct Raised {
    /// Its number.
    pub number: u16,
    /// Its SQLSTATE.
    pub state: [u8; 5],
    /// Its level.
    pub level: Level,
}

impl From<&SqlError> for Raised {
    fn from(e: &SqlError) -> Raised {
        Raised { number: e.number(), state: e.sqlstate(), level: Level::Error }
    }
}

impl From<&Warning> for Raised {
    fn from(w: &Warning) -> Raised {
        Raised { number: w.number(), state: w.sqlstate(), level: w.level }
    }
}

impl Raised {
    /// No handler may catch it: the statement was killed, ran out of time or memory, or the stack ended.
    pub fn is_fatal(&self) -> bool {
        let fatal = [
            ErrorCode::QueryInterrupted,
            ErrorCode::QueryTimeout,
            ErrorCode::ServerShutdown,
            ErrorCode::OutOfResources,
            ErrorCode::StackOverrunNeedMore,
        ];
        self.level == Level::Error && fatal.iter().any(|c| c.number() == self.number)
    }
}

impl Condition {
    /// How specific the condition is that fits; `None`: it does not.
    pub(crate) fn fits(&self, raised: &Raised) -> Option<u8> {
        let class = &raised.state[..2];
        let (fits, specific) = match self {
            Condition::Code(number) => (*number == raised.number, 3),
            Condition::State(state) => (*state == raised.state, 2),
            // The end of a cursor is an error of class 02, which no SQLWARNING takes.
            Condition::Warning => (class == b"01" || raised.level == Level::Warning, 1),
            Condition::NotFound => (class == b"02", 1),
            Condition::Exception => {
                (raised.level == Level::Error && class != b"00" && class != b"01" && class != b"02", 1)
            }
        };
        fits.then_some(specific)
    }
}
