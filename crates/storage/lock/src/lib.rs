//! Row, gap and metadata locks over opaque keys.
//!
//! Knows no page and no row: a record lock names `(tree, key bytes)`, a gap lock an interval between two cuts of a
//! tree's key space, a metadata lock a number. See README.md for the invariants and for how writers, which mostly take
//! no lock here at all, and lockers see each other.

mod deadlock;
mod fold;
mod gaps;
mod graph;
mod handle;
mod info;
mod intervals;
mod keys;
mod line;
#[cfg(test)]
mod line_tests;
mod lists;
mod mdl;
#[cfg(test)]
mod mdl_tests;
mod owner;
mod queue;
mod ranges;
#[cfg(test)]
mod ranges_tests;
#[cfg(test)]
mod reason_tests;
mod record;
mod table;
#[cfg(test)]
mod tests;
mod treap;
#[cfg(test)]
mod treap_tests;
mod tree;
mod trx;
mod types;
mod waited;

pub use deadlock::{Deadlock, DeadlockMember};
pub use handle::LockOwner;
pub use info::{GapEnd, LockInfo, LockKind, Party, Standing, WaitInfo};
pub use mdl::{MdlDuration, MdlInfo, MdlMode, MdlObject, MdlRow};
pub use table::LockTable;
pub use tree::TreeLocks;
pub use types::{Cut, Granted, LockError, Mode, Wait};
pub use waited::{MdlWaits, Waited};
