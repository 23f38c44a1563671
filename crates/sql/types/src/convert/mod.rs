//! MySQL's conversions between types: reading any value as a number, text or time; storing into columns; CAST;
//! comparison rules; arithmetic.

pub mod arith;
mod cast;
pub mod compare;
pub mod float;
mod json;
mod number;
mod store;
mod time;

pub use cast::cast;
pub use compare::{CompareAs, compare, compare_as};
pub use json::{parse_json, to_json};
pub use number::{to_bool, to_decimal, to_f64, to_i64, to_integer, to_u64};
pub use store::{StoreTarget, Stored, implicit_default, store, store_plain, store_ref, store_same};
pub use time::{bound_datetime, constant_datetime, tell_date_number, tell_date_text, to_date, to_datetime, to_time};

use crate::charset::Charset;
use crate::error::{ErrorCode, Result, SqlError, Warnings};
use crate::mode::SqlMode;
use crate::room::Room;
use crate::temporal::{Date, TimeZone};
use crate::value::ValueRef;
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// What conversions need to know of the statement.
#[derive(Debug)]
pub struct Context<'a> {
    pub mode: SqlMode,
    pub zone: &'a TimeZone,
    /// The statement's date, which a TIME takes when it becomes a DATETIME.
    pub today: Date,
    /// Warnings of conversions are errors: INSERT, UPDATE and the like in strict mode without IGNORE.
    pub strict: bool,
    pub warnings: &'a mut Warnings,
    /// Asked now and then by what takes long over one value.
    pub stopped: Stopped,
    /// Memory for documents.
    pub room: Room<'a>,
}

/// Whether the statement was killed: then the work is given up, with error 1317. Lets others run when they are due.
pub type Stopped = fn() -> bool;

/// Nobody can stop it.
pub fn never() -> bool {
    false
}

impl Context<'_> {
    /// A condition that strict mode makes an error.
    pub fn warn(&mut self, code: ErrorCode, args: &[&dyn Display]) -> Result<()> {
        if self.strict {
            return Err(SqlError::new(code, args));
        }
        self.warnings.warn(code, args);
        Ok(())
    }

    /// As [`warn`](Self::warn), with a text that is not the code's own.
    pub fn warn_text(&mut self, code: ErrorCode, text: String) -> Result<()> {
        let error = SqlError::with_message(code, text);
        if self.strict {
            return Err(error);
        }
        self.warnings.push(error.to_warning(crate::error::Level::Warning));
        Ok(())
    }

    /// Division by zero: NULL, with a warning or an error by sql_mode.
    pub fn division_by_zero(&mut self) -> Result<()> {
        if self.mode.contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
            return self.warn(ErrorCode::DivisionByZero, &[]);
        }
        Ok(())
    }

    /// 1292 "Truncated incorrect TYPE value".
    fn truncated(&mut self, what: &str, v: ValueRef<'_>) -> Result<()> {
        self.warn(ErrorCode::TruncatedWrongValue, &[&what, &shown(v)])
    }

    /// 1292 "Incorrect TYPE value", as dates and times have it.
    fn incorrect(&mut self, what: &str, v: ValueRef<'_>) -> Result<()> {
        self.warn_text(ErrorCode::TruncatedWrongValue, format!("Incorrect {what} value: '{}'", shown(v)))
    }

    /// The same of a constant beside a column.
    fn incorrect_for(&mut self, what: &str, v: ValueRef<'_>, column: &str) -> Result<()> {
        let text = format!("Incorrect {what} value: '{}' for column '{column}' at row 1", shown(v));
        self.warn_text(ErrorCode::TruncatedWrongValue, text)
    }
}

/// The value's text: borrowed where it is text already.
pub fn to_text<'a>(v: &ValueRef<'a>) -> Cow<'a, [u8]> {
    match *v {
        ValueRef::Str(text, _) => Cow::Borrowed(text),
        other => {
            let mut out = Vec::with_capacity(24);
            other.write_text(&mut out);
            Cow::Owned(out)
        }
    }
}

/// The value's text in UTF-8, whatever its character set is; bytes of a binary string as they are.
pub fn utf8_text<'a>(v: &ValueRef<'a>) -> Cow<'a, [u8]> {
    match *v {
        ValueRef::Str(text, c) if c.charset() != Charset::Binary => c.charset().convert(text, Charset::Utf8mb4).bytes,
        _ => to_text(v),
    }
}

/// The value as an error's text shows it.
fn shown(v: ValueRef<'_>) -> String {
    match v {
        ValueRef::Str(text, c) if c.charset() == Charset::Utf8mb4 => printable(text, 128),
        ValueRef::Str(bytes, c) if c.charset() == Charset::Binary => {
            crate::charset::escaped(&bytes[..bytes.len().min(128)])
        }
        _ => printable(&utf8_text(&v), 128),
    }
}

/// Bytes for an error's text: bytes that are no UTF-8 as `\xHH`, cut after `max` characters.
pub fn printable(text: &[u8], max: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    for _ in 0..max {
        match crate::charset::decode_utf8(rest) {
            Some((c, n)) => {
                out.push(c);
                rest = &rest[n..];
            }
            None => {
                let Some((b, tail)) = rest.split_first() else { break };
                let _ = write!(out, "\\x{b:02X}");
                rest = tail;
            }
        }
    }
    out
}

/// The offending bytes of "Incorrect string value": up to six, those outside of ASCII as `\xHH`.
pub(crate) fn offending(text: &[u8]) -> String {
    let mut out = crate::charset::escaped(&text[..text.len().min(6)]);
    if text.len() > 6 {
        out.push_str("...");
    }
    out
}

/// Text in `from` for use in `to`; bytes are checked, not converted, where `from` is binary.
pub(crate) fn recode<'a>(text: &'a [u8], from: Charset, to: Charset) -> crate::charset::Converted<'a> {
    from.convert(text, to)
}

#[cfg(test)]
mod tests;
