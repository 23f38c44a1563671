//! Values, conversions, collations, decimal, temporal, key and row encoding.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no global state. Bytes from disk, network or SQL
//! text never cause a panic; sizes and recursion are bounded.

pub mod charset;
pub mod collation;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod json;
pub mod key;
pub mod mode;
pub mod row;
pub mod sqltype;
pub mod temporal;
pub mod value;

pub use collation::{Coercibility, Collation, CollationId};
pub use decimal::Decimal;
pub use error::{ErrorCode, Level, Result, SqlError, Warning, Warnings};
pub use mode::SqlMode;
pub use sqltype::{SqlType, TypeId};
pub use temporal::{Date, DateTime, Time, TimeZone, Timestamp};
pub use value::{Value, ValueRef};

#[cfg(test)]
mod testing;
