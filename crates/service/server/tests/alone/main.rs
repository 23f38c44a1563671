//! Tests that look at how long something takes, or at figures of the whole process: one at a time.

#[path = "../common/mod.rs"]
mod common;

mod beside;
mod counters;
mod histories;
mod kill;
mod known_programs;
mod known_transactions;
mod known_work;
mod long_rows;
mod metrics;
mod pressure;
mod spill;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test here.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
