//! The lock table under loom, all of it: the sources are those of the server, compiled once more over the atomics of
//! [`sync`].
//!
//! What a model is made of: who holds what is settled before its threads begin; then each asks for what another has, at
//! once. A missed deadlock, or a lost wake-up, leaves them parked for ever, which loom reports.

// The modules below name these two; here they are this file.
extern crate self as gannet_base;
extern crate self as gannet_runtime;

use std::time::Duration;

pub use real_base::{CachePadded, PARANOID, Reader, TreeId, TrxId, Writer, check, paranoid, prefetch};

#[path = "../models/sync.rs"]
#[allow(dead_code)]
pub mod sync;

/// `gannet_runtime`'s: wakes a parked thread.
#[derive(Clone)]
pub struct Waker(loom::thread::Thread);

impl Waker {
    /// Its next park ends at once, if it is not parked now.
    pub fn wake(&self) {
        self.0.unpark();
    }
}

/// A waker of this thread.
pub fn waker() -> Waker {
    Waker(loom::thread::current())
}

/// Why a park ended.
#[allow(dead_code)]
pub enum Unpark {
    /// It was woken.
    Woken,
    /// Never here.
    TimedOut,
    /// Never here.
    Interrupted,
}

/// Parks; no time passes here.
pub fn park(_: gannet_telemetry::Wait, _: Option<u64>) -> Unpark {
    loom::thread::park();
    Unpark::Woken
}

/// Others go on.
pub fn yield_now() {
    loom::thread::yield_now();
}

/// Time stands still.
pub fn now_ns() -> u64 {
    0
}

/// Time stands still.
pub struct WallTime;

impl WallTime {
    pub fn now() -> Self {
        Self
    }

    pub fn micros(self) -> u64 {
        0
    }
}

/// The same in each execution.
pub fn random_u64() -> u64 {
    0x5eed_0f10_c45a
}

/// All run in one place.
pub fn site() -> usize {
    0
}

// What lib.rs of the lock table declares.

#[path = "../../../storage/lock/src/deadlock.rs"]
#[allow(dead_code)]
mod deadlock;
#[path = "../../../storage/lock/src/fold.rs"]
#[allow(dead_code)]
mod fold;
#[path = "../../../storage/lock/src/gaps.rs"]
#[allow(dead_code)]
mod gaps;
#[path = "../../../storage/lock/src/graph.rs"]
#[allow(dead_code)]
mod graph;
#[path = "../../../storage/lock/src/handle.rs"]
#[allow(dead_code)]
mod handle;
#[path = "../../../storage/lock/src/info.rs"]
#[allow(dead_code)]
mod info;
#[path = "../../../storage/lock/src/intervals.rs"]
#[allow(dead_code)]
mod intervals;
#[path = "../../../storage/lock/src/keys.rs"]
#[allow(dead_code)]
mod keys;
#[path = "../../../storage/lock/src/line.rs"]
#[allow(dead_code)]
mod line;
#[path = "../../../storage/lock/src/lists.rs"]
#[allow(dead_code)]
mod lists;
#[path = "../../../storage/lock/src/mdl.rs"]
#[allow(dead_code)]
mod mdl;
#[path = "../../../storage/lock/src/owner.rs"]
#[allow(dead_code)]
mod owner;
#[path = "../../../storage/lock/src/queue.rs"]
#[allow(dead_code)]
mod queue;
#[path = "../../../storage/lock/src/ranges.rs"]
#[allow(dead_code)]
mod ranges;
#[path = "../../../storage/lock/src/record.rs"]
#[allow(dead_code)]
mod record;
#[path = "../../../storage/lock/src/table.rs"]
#[allow(dead_code)]
mod table;
#[path = "../../../storage/lock/src/treap.rs"]
#[allow(dead_code)]
mod treap;
#[path = "../../../storage/lock/src/tree.rs"]
#[allow(dead_code)]
mod tree;
#[path = "../../../storage/lock/src/trx.rs"]
#[allow(dead_code)]
mod trx;
#[path = "../../../storage/lock/src/types.rs"]
mod types;
#[path = "../../../storage/lock/src/waited.rs"]
#[allow(dead_code)]
mod waited;

pub use handle::LockOwner;
pub use info::Party;
pub use mdl::{MdlDuration, MdlMode, MdlObject};
pub use table::LockTable;
pub use tree::TreeLocks;
pub use types::{Cut, Granted, LockError, Mode, Wait};

mod deadlocks;
mod wakes;

const FOREVER: Wait = Wait::For(Duration::from_secs(1000));
