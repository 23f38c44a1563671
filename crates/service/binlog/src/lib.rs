//! MySQL's binary log as pure state machines over bytes: events, row images, what a commit carries for it.
//!
//! Nothing here does I/O. Bytes from disk or network never cause a panic, and what they make is bounded by their
//! length.

pub mod beside;
pub mod compressed;
pub mod derive;
pub mod diff;
pub mod event;
pub mod format;
pub mod fuzzing;
pub mod group;
pub mod image;
pub mod json;
pub mod map;
mod marks;
pub mod packed;
pub mod query;
pub mod rows;
pub mod show;
#[cfg(test)]
mod tests;
pub mod writeset;

pub use event::{Appender, Checksum, Event, Header};
