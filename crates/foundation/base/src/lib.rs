//! Ids, codecs, the synchronisation facade, assertions, errors of the lower layers.
//!
//! This crate knows nothing of pages, logs or SQL. Everything here is usable from any thread, any fiber, and inside
//! the simulation.

mod assert;
#[doc(hidden)]
pub use assert::{PARANOID, invariant_failed};
mod attached;
mod codec;
#[cfg(debug_assertions)]
mod counted;
mod crc;
pub mod hash;
mod ids;
mod pad;
mod prefetch;
mod sequence;
pub mod slot;
pub mod stack;
pub mod sync;

pub use attached::Attached;
pub use codec::{DecodeError, Reader, Writer, varint_len};
pub use crc::crc32c;
pub use ids::{Lsn, PAGE_SIZE, PAGE_SIZE_BITS, PageNo, TreeId, TrxId};
pub use pad::{CachePadded, PerSlot};
pub use prefetch::{prefetch, prefetch_at};
pub use sequence::Sequence;
