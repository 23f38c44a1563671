//! Memory that one evaluation may take for what it builds: a document's tree, which may be fifty times as long as its
//! text.
//!
//! Whoever evaluates knows the bounds and gives a [`Room`]; what builds something large from something small takes
//! memory of it first. A document cannot be made without one. Nothing is given back in between: with the evaluation,
//! all of it is.

use crate::error::Result;
use crate::sql_err;

/// Where memory is taken from.
pub trait Grants: Sync {
    /// Takes so many bytes. False: they are not to be had.
    fn take(&self, bytes: usize) -> bool;
}

/// The memory of an evaluation.
#[derive(Clone, Copy)]
pub struct Room<'a>(Option<&'a dyn Grants>);

impl std::fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Room(bounded)" } else { "Room(free)" })
    }
}

impl<'a> Room<'a> {
    /// For what is short, or was bounded before: nothing is counted.
    pub const FREE: Room<'static> = Room(None);

    /// Bounded.
    pub fn of(grants: &'a dyn Grants) -> Room<'a> {
        Room(Some(grants))
    }

    /// Takes memory. Error 1038 when there is none.
    #[inline]
    pub fn take(self, bytes: usize) -> Result<()> {
        match self.0 {
            Some(grants) if !grants.take(bytes) => Err(sql_err!(OutOfSortmemory)),
            _ => Ok(()),
        }
    }
}

/// Memory that is taken in pieces so small that each is not worth asking for.
pub(crate) struct Pieces<'a> {
    room: Room<'a>,
    owed: usize,
}

/// Bytes that are owed at most.
const OWED: usize = 32 << 10;

impl<'a> Pieces<'a> {
    pub(crate) fn of(room: Room<'a>) -> Self {
        Pieces { room, owed: 0 }
    }

    /// Takes a piece. Error 1038.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Result<()> {
        self.owed += bytes;
        if self.owed < OWED { Ok(()) } else { self.room.take(std::mem::take(&mut self.owed)) }
    }
}
