//! Values, conversions, collations, decimal, temporal, key and row encoding.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no global state. Bytes from disk, network or
//! SQL text never cause a panic; sizes and recursion are bounded.

pub mod charset;
pub mod collation;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod fuzzing;
pub mod gtid;
pub mod json;
pub mod key;
pub mod members;
pub mod mode;
pub mod room;
pub mod row;
pub mod rowref;
pub mod sqltype;
pub mod temporal;
pub mod value;

pub use collation::{Coercibility, Collation, CollationId};
pub use decimal::Decimal;
pub use error::{ErrorCode, Items, Level, Result, SqlError, Warning, Warnings};
pub use mode::SqlMode;
pub use sqltype::{SqlType, TypeId, quote_text};
pub use temporal::{Date, DateTime, Time, TimeZone, Timestamp};
pub use value::{Value, ValueRef};

/// With less stack than this nothing goes deeper: room for what does not recurse. Unoptimized frames are several times
/// larger.
pub const STACK_RESERVE: usize = if cfg!(debug_assertions) { 128 << 10 } else { 64 << 10 };

/// Error 1436 where the stack does not hold what is nested this deeply: whatever recurses over what a client has made,
/// and is not bounded otherwise, asks at each level.
#[inline]
pub fn check_stack() -> Result<()> {
    let left = gannet_base::stack::remaining();
    if left >= STACK_RESERVE { Ok(()) } else { Err(error::stack_overrun(left)) }
}

#[cfg(test)]
mod testing;
