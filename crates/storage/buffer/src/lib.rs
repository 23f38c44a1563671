//! The buffer pool: frames and latches, mini-transactions, write-back, and the space of the data file.
//!
//! See `README.md` beside this crate for the design, the latch order and the invariants that assertions cite.
//!
//! | module | what |
//! |---|---|
//! | `arena` | memory: frames, state words, recovery LSNs |
//! | `state` | the state word: latches and versions |
//! | [`guard`](OptimisticGuard) | optimistic, shared and exclusive guards |
//! | `resident` | the set of resident pages, which the clock and the sweeper go round |
//! | [`Pool`] | loading, creating, evicting, discarding |
//! | [`resize`] | a pool that grows and shrinks while it is used |
//! | `scrub` | verifying pages on disk |
//! | `writeback` | batches, the double-write file, sweep, the page cleaner |
//! | [`Mtr`] | the mini-transaction: the only way to change a page |
//! | [`Space`] | regions, extents, pages: their owners, growth, release |

mod arena;
mod double;
mod error;
mod gate;
mod guard;
mod kind;
mod mtr;
mod pool;
mod resident;
pub mod resize;
mod scrub;
mod space;
mod state;
#[cfg(test)]
mod state_tests;
#[doc(hidden)]
pub mod testing;
mod wal;
mod writeback;

pub use double::{Repair, repair};
pub use error::{Error, PageError, Stop};
pub use gannet_page::{PageBuf, PageBytes};
pub use guard::{ExclusiveGuard, OptimisticGuard, SharedGuard};
pub use mtr::{Mtr, PageRef, decode_payload};
pub use pool::{NEVER_WRITTEN, Pool, PoolOptions, PoolStatus, Priority, RedoSource};
pub use scrub::{OnDisk, OnDiskBuf};
pub use space::{BuiltExtents, META_PAGES, Reservation, Space, SpaceUsage, TreePages};
pub use wal::Wal;

/// Whether optimistic reads take shared latches in this build.
pub const SHARED_READS: bool = cfg!(feature = "shared-reads");
