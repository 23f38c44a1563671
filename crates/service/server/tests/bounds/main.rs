//! Statements and clients of any size, in bounded time and memory.

#[path = "../common/mod.rs"]
mod common;

mod deep;
mod held_memory;
mod hostile;
mod long_values;
mod sizes;
mod timeouts;
