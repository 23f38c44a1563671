//! Undo: where older versions and the way back are kept.

pub(crate) mod diff;
pub(crate) mod record;
pub(crate) mod stream;
