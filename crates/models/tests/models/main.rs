//! The lock-free parts of storage under loom: every order of their steps, and every value that the memory model lets a
//! load see, within a bound on preemptions ([`check`]). The sources are those of the server, compiled once more with
//! the atomics of [`sync`] in the place of `gannet_base`'s.
//!
//! Each model is also run with planted weakenings ([`weakened`]): an ordering made `Relaxed` or a fence left out in a
//! line of the source. A model that does not notice is worth nothing.

// The modules below name these two; here they are this file.
extern crate self as gannet_base;
extern crate self as gannet_runtime;

pub use real_base::{CachePadded, Lsn, Reader, TrxId, Writer, check, crc32c};

pub mod sync;

pub use sequence::Sequence;

/// `gannet_base`'s, with few slots that are there from the beginning: loom does not know that who makes one hands it
/// over.
pub struct PerSlot<T>(Vec<T>);

impl<T> PerSlot<T> {
    /// `make` makes each slot's value.
    pub fn new(make: fn() -> T) -> Self {
        PerSlot((0..3).map(|_| make()).collect())
    }

    /// The value of `slot`.
    pub fn get(&self, slot: usize) -> &T {
        &self.0[slot]
    }

    /// All values, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().enumerate()
    }
}

/// `gannet_runtime`'s: wakes a parked thread.
#[derive(Clone)]
pub struct Waker(loom::thread::Thread);

impl Waker {
    /// Its next park ends at once, if it is not parked now.
    pub fn wake(&self) {
        self.0.unpark();
    }

    /// True when both wake the same thread.
    pub fn same_task(&self, other: &Waker) -> bool {
        self.0.id() == other.0.id()
    }
}

#[path = "../../../storage/log/src/format.rs"]
#[allow(dead_code)]
mod format;
#[path = "../../../storage/log/src/idle.rs"]
mod idle;
mod memory;
#[path = "../../../storage/log/src/ring.rs"]
#[allow(dead_code, unused_unsafe)]
mod ring;
#[path = "../../../foundation/base/src/sequence.rs"]
mod sequence;
#[path = "../../../storage/buffer/src/state.rs"]
#[allow(dead_code)]
mod state;
#[path = "../../../storage/engine/src/trxtable.rs"]
#[allow(dead_code)]
mod trxtable;
#[path = "../../../storage/log/src/waiters.rs"]
#[allow(dead_code)]
mod waiters;

mod commit_wait;
mod log_ring;
mod page_state;
mod sequences;
mod transactions;
