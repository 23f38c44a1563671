//! The one write-ahead log.
//!
//! Appending: reserve with one `fetch_add`, copy in parallel, publish by storing the record's header word. One log
//! writer writes and syncs for all waiting commits at once. See README.md for the invariants and [`format`] for the
//! bytes.

mod ahead;
mod brake;
mod commit_gate;
#[cfg(test)]
mod consumer_tests;
mod consumers;
mod core;
mod delay;
mod error;
mod follower;
mod followers;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod idle;
mod log;
mod memory;
mod reader;
mod recent;
mod retention;
mod retentions;
mod ring;
#[cfg(test)]
mod ring_tests;
mod segments;
mod tail;
#[cfg(test)]
mod tests;
mod waiters;
mod writer;

pub use commit_gate::CommitGate;
pub use consumers::{Beyond, Hold, MIN_BOUND, Position};
pub use core::Checkpoints;
pub use error::LogError;
pub use follower::Follower;
pub use format::{FIRST_LSN, MAX_PAYLOAD, RecordKind, record_bytes};
pub use log::{FlushPolicy, Log, Options, Start, files, hasten, wait_durable_in};
pub use reader::{Batch, LogFiles, LogReader, Record, RecordAt, record_at};
pub use retention::{ConsumerStatus, Retention, bound_consumer};
pub use segments::LogFile;
pub use tail::Tail;
