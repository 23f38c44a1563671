//! A sequence lock: one writer at a time, readers that write nothing and try again when they were disturbed.

use crate::sync::atomic::{AtomicU64, Ordering::*, fence};

/// The counter of a sequence lock: odd while what it guards is being written. What it guards are atomics that are
/// loaded and stored `Relaxed`, beside it. `crates/models` checks the orders below with loom.
///
/// Source: Boehm, "Can seqlocks get along with programming language memory models?" (MSPC 2012), section 4.
#[derive(Debug, Default)]
pub struct Sequence(AtomicU64);

/// What a [`Sequence`] guards is being written.
#[must_use]
#[derive(Debug)]
pub struct Writing<'s> {
    sequence: &'s AtomicU64,
    before: u64,
}

impl Drop for Writing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.sequence.store(self.before.wrapping_add(2), Release);
    }
}

impl Sequence {
    /// A sequence that nobody writes.
    pub fn new() -> Self {
        Sequence(AtomicU64::new(0))
    }

    /// Writes what is guarded. The caller sees to it that there is one writer at a time.
    #[inline(always)]
    pub fn write(&self, f: impl FnOnce()) {
        let _writing = self.writing();
        f();
    }

    /// The same, for as long as the value lives.
    #[inline(always)]
    pub fn writing(&self) -> Writing<'_> {
        let before = self.0.load(Relaxed);
        self.0.store(before.wrapping_add(1), Relaxed);
        fence(Release);
        Writing { sequence: &self.0, before }
    }

    /// How often it has been written. Within [`Sequence::read`]: with what is read.
    #[inline]
    pub fn writes(&self) -> u64 {
        self.0.load(Relaxed) / 2
    }

    /// Reads what is guarded; `None` when a writer was at it meanwhile, and what `f` saw must not be believed.
    #[inline]
    pub fn read<T>(&self, f: impl FnOnce() -> T) -> Option<T> {
        let before = self.0.load(Acquire);
        if before & 1 == 1 {
            return None;
        }
        let seen = f();
        fence(Acquire);
        (self.0.load(Relaxed) == before).then_some(seen)
    }
}
