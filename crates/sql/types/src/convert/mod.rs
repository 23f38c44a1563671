//! Conversions between types.

pub mod float;
