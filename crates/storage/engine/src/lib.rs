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

#[allow(dead_code, reason = "used by opening, which comes with the transactions")]
mod checkpoint;
#[allow(dead_code, reason = "used by opening, which comes with the transactions")]
mod control;
mod engine;
mod error;
mod options;
mod range;
#[allow(dead_code, reason = "used by opening, which comes with the transactions")]
mod recovery;
mod row;
mod scan;
mod snapshot;
mod tree;
mod trxtable;
mod txn;
mod undo;

pub use engine::{Engine, EngineStatus, RangeEstimate, TransactionInfo, TreeStats};
pub use error::{EngineError, Result};
pub use gannet_base::{Lsn, PageNo, TreeId, TrxId};
pub use options::{
    Direction, EngineOptions, FlushPolicy, Isolation, LockMode, OpenMode, ReadMode, ScanOptions, TreeKind, TxnOptions,
    WaitPolicy,
};
pub use range::{Cut, KeyRange};
pub use row::{RowBuf, RowStamp};
pub use scan::{Entry, Scan};
pub use tree::TreeHandle;
pub use txn::{Delete, IndexInsert, Insert, InterruptHandle, Read, Savepoint, Txn, Update};
