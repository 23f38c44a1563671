//! The only door to storage: transactions, MVCC, undo, purge, checkpoint, recovery, space.
//!
//! Bytes only, no SQL. Keys are memory-comparable; rows and carried bytes are opaque. See `README.md` beside this
//! crate for the visibility rules, the order of latches and locks, and what a crash may leave.
//!
//! ```text
//! Engine ─ begin ─► Txn ─ get / insert / update / delete / scan ─► trees ─► pages
//!                    └─ commit: one log record, then locks go, then wait for durability
//! ```
//!
//! Every call may park (page faults, row locks, durability). All of it works from plain threads, from fibers of
//! `runtime`'s workers, and inside the simulation.

mod build;
mod check;
mod checkpoint;
mod consumer;
mod control;
mod ddl;
mod engine;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
pub mod in_order;
mod index;
mod indexer;
mod meta;
mod open;
mod options;
#[doc(hidden)]
pub mod plant;
pub mod pool;
mod purge;
mod range;
mod read;
mod reader;
mod recovery;
mod redo;
mod rollback;
mod row;
mod rows;
mod run;
mod scan;
mod scrub;
mod snapshot;
mod store;
mod trees;
mod trxtable;
#[cfg(test)]
mod trxtable_tests;
mod turn;
mod txn;
mod undo;
mod uses;
mod waiting;
mod writer;

pub use build::{
    Fill, Filled, FilledPart, Item, Merge, MergePart, SortDisk, SortSpace, Sorter, count_sorts, is_autocommit,
};
pub use check::StoreCheck;
pub use consumer::{Committed, Consumer, Parts, bound_consumer};
pub use engine::{Engine, EngineStatus, RangeEstimate, TransactionInfo, TreeStats, idle, log_files};
pub use error::{EngineError, Result};
pub use gannet_base::{Lsn, PageNo, TreeId, TrxId};
pub use gannet_btree::{APPROACHED, Place};
pub use gannet_buffer::SpaceUsage;
/// Metadata locks, and the owner of locks that a [`Txn`] lends for them.
pub use gannet_lock as lock;
pub use gannet_log::{Beyond, ConsumerStatus, Hold, LogFile};
pub use gannet_page::raw::EXTENT_PAGES;
pub use gate::{CommitGate, commit_gate};
pub use options::{
    Direction, EngineOptions, FlushPolicy, Isolation, LockMode, OpenMode, ReadMode, ScanOptions, TreeKind, TxnOptions,
    WaitPolicy,
};
pub use range::{Cut, KeyRange};
pub use read::{FreshLock, Read};
pub use reader::{SnapshotReader, SnapshotScan};
pub use recovery::{RecoveryPhase, RecoveryStatus, RecoveryStep};
pub use row::{RowBuf, RowStamp};
pub use rows::{Delete, Insert, Update};
pub use run::NewEntry;
pub use scan::{Entry, Scan};
pub use scrub::{Damage, ScrubStatus};
pub use trees::{TreeHandle, note_open_table};
pub use txn::{IndexInsert, Savepoint, Txn, snapshot_of_committed, wait_commit};
pub use uses::TreeUses;
