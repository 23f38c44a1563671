//! Storing a value into a column: range checks, rounding, truncation; warnings, or errors in strict mode.

use super::cast::year_of;
use super::number::{double_to_decimal, parse_integer, rest_matters, temporal_number, whole_seconds};
use super::time::{cuts_fractions, read_datetime, read_time, tell_delimiter};
use super::{Context, float, offending, shown, to_text};
use crate::CollationId;
use crate::charset::Charset;
use crate::decimal::Decimal;
use crate::error::{ErrorCode, Level, Result, SqlError, Warning};
use crate::members::Members;
use crate::sql_err;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::{
    Date, DateFlags, DateTime, Time, Timestamp, parse_datetime, parse_time_as_datetime, plain_date, plain_datetime,
};
use crate::value::{Text, Value, ValueRef};
use std::borrow::Cow;

/// The column, for messages.
#[derive(Clone, Copy, Debug)]
pub struct StoreTarget<'a> {
    pub column: &'a str,
    /// Of the statement, from 1.
    pub row: u64,
}

/// A value fit for its column: the one that came, or another.
#[derive(Clone, Debug)]
pub enum Stored<'a> {
    Same(ValueRef<'a>),
    Changed(Value),
}

impl Stored<'_> {
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Stored::Same(v) => *v,
            Stored::Changed(v) => v.as_ref(),
        }
    }

    pub fn into_owned(self) -> Value {
        match self {
            Stored::Same(v) => v.to_owned(),
            Stored::Changed(v) => v,
        }
    }
}

/// Converts a value for a column. NULL passes if the type is nullable, else error 1048. Values that do not fit give
/// error 1264, 1265, 1292, 1366, 1406 in a strict context, else a warning and the nearest value that fits.
pub fn store(v: ValueRef<'_>, ty: &SqlType, at: StoreTarget<'_>, cx: &mut Context<'_>) -> Result<Value> {
    store_ref(v, ty, at, cx).map(Stored::into_owned)
}

/// A value that goes into its column without a second look, which most that are loaded do; `None`: [`store`] decides.
#[inline]
pub fn store_plain(v: ValueRef<'_>, ty: &SqlType) -> Option<Value> {
    match v {
        ValueRef::Str(text, _) if text.len() > SHORT => None,
        _ => store_same(v, ty).map(|v| v.to_owned()),
    }
}

/// The same, copying nothing.
#[inline]
pub fn store_same<'v>(v: ValueRef<'v>, ty: &SqlType) -> Option<ValueRef<'v>> {
    match (ty.id, v) {
        (id, ValueRef::Int(n)) if id.is_integer() => as_integer(n, ty),
        (id, ValueRef::UInt(n)) if id.is_integer() => match i64::try_from(n) {
            Ok(n) => as_integer(n, ty),
            Err(_) => (ty.unsigned && integer_bits(id) == 64).then_some(v),
        },
        (id, ValueRef::Str(text, from)) if id.is_string() => {
            fits(text, from, ty).then_some(ValueRef::Str(text, ty.collation))
        }
        (id, ValueRef::Str(text, from)) if id.is_integer() && !from.charset().is_wide() => {
            as_integer(digits(text)?, ty)
        }
        (TypeId::Date, ValueRef::Str(text, from)) if !from.charset().is_wide() => plain_date(text).map(ValueRef::Date),
        (TypeId::DateTime, ValueRef::Str(text, from)) if !from.charset().is_wide() => {
            plain_datetime(text).map(|at| ValueRef::DateTime(at, ty.scale))
        }
        _ => None,
    }
}

/// A number in an integer column, if it is in range.
#[inline]
fn as_integer<'v>(n: i64, ty: &SqlType) -> Option<ValueRef<'v>> {
    let bits = integer_bits(ty.id);
    match ty.unsigned {
        true => (n >= 0 && (bits == 64 || n >> bits == 0)).then_some(ValueRef::UInt(n as u64)),
        false => (bits == 64 || n >> (bits - 1) == n >> 63).then_some(ValueRef::Int(n)),
    }
}

fn integer_bits(id: TypeId) -> u32 {
    match id {
        TypeId::TinyInt => 8,
        TypeId::SmallInt => 16,
        TypeId::MediumInt => 24,
        TypeId::Int => 32,
        _ => 64,
    }
}

/// Bytes of a text that is copied without asking whether there is room.
const SHORT: usize = 1024;

/// The number that a text of nothing but a few digits is, perhaps behind a minus.
#[inline]
fn digits(text: &[u8]) -> Option<i64> {
    let (minus, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut n = 0;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n * 10 + i64::from(digit);
    }
    Some(if minus { -n } else { n })
}

/// As [`store`], copying nothing if the value fits as it is.
pub fn store_ref<'v>(v: ValueRef<'v>, ty: &SqlType, at: StoreTarget<'_>, cx: &mut Context<'_>) -> Result<Stored<'v>> {
    match (ty.id, v) {
        (TypeId::Int, ValueRef::Int(n)) if !ty.unsigned && i32::try_from(n).is_ok() => return Ok(Stored::Same(v)),
        (TypeId::BigInt, ValueRef::Int(_)) if !ty.unsigned => return Ok(Stored::Same(v)),
        (id, ValueRef::Str(text, from)) if id.is_string() && fits(text, from, ty) => {
            return Ok(Stored::Same(ValueRef::Str(text, ty.collation)));
        }
        (_, ValueRef::Null) => {
            return if ty.nullable { Ok(Stored::Same(v)) } else { Err(sql_err!(BadNull, at.column)) };
        }
        _ => {}
    }
    let narrow;
    let mut v = v;
    if let ValueRef::Str(text, c) = v
        && c.charset().is_wide()
        && !ty.id.is_string()
    {
        narrow = c.charset().narrow(text);
        v = ValueRef::Str(&narrow, CollationId::UTF8MB4_BIN);
    }
    // Bits are a number to dates and times.
    if let (ValueRef::Bit(n, _), TypeId::Date | TypeId::DateTime | TypeId::Timestamp | TypeId::Time) = (v, ty.id) {
        v = i64::try_from(n).map_or(ValueRef::UInt(n), ValueRef::Int);
    }
    let mut s = Store { ty, at, cx };
    let value = match ty.id {
        id if id.is_integer() => s.integer(v)?,
        TypeId::Decimal => s.decimal(v)?,
        TypeId::Double | TypeId::Float => s.double(v)?,
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp => s.datetime(v)?,
        TypeId::Time => s.time(v)?,
        TypeId::Year => s.year(v)?,
        TypeId::Bit => s.bit(v)?,
        TypeId::Enum => s.enumeration(v)?,
        TypeId::Set => s.set(v)?,
        id if id.is_string() => s.text(v)?,
        TypeId::Json => super::json::store_json(v, at.column, cx.stopped, cx.room)?,
        _ => return Err(SqlError::unsupported(format_args!("column type {}", ty.data_type()))),
    };
    Ok(Stored::Changed(value))
}

/// What a NOT NULL column without DEFAULT gets where MySQL invents a value.
pub fn implicit_default(ty: &SqlType) -> Value {
    match ty.id {
        id if id.is_integer() => {
            if ty.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        TypeId::Decimal => Value::Decimal(Decimal::ZERO.round(ty.scale).unwrap_or(Decimal::ZERO)),
        TypeId::Float => Value::Float(0.0),
        TypeId::Double => Value::Double(0.0),
        TypeId::Bit => Value::Bit(0, ty.length as u8),
        TypeId::Year => Value::Year(0),
        TypeId::Date => Value::Date(Date::ZERO),
        TypeId::Time => Value::Time(Time::ZERO, ty.scale),
        TypeId::DateTime => Value::DateTime(DateTime::ZERO, ty.scale),
        TypeId::Timestamp => Value::Timestamp(Timestamp::ZERO, ty.scale),
        TypeId::Binary => Value::Str(vec![0; ty.length as usize].into(), ty.collation),
        TypeId::Enum => ty.members.clone().map_or(Value::Null, |m| Value::Enum(1, m)),
        TypeId::Set => ty.members.clone().map_or(Value::Null, |m| Value::Set(0, m)),
        TypeId::Json => Value::Json(Text::new(&[0])),
        TypeId::Null => Value::Null,
        _ => Value::Str(Text::EMPTY, ty.collation),
    }
}

/// Does text go into a string column byte for byte?
#[inline]
fn fits(text: &[u8], from: crate::CollationId, ty: &SqlType) -> bool {
    let charset = ty.collation.charset();
    let same = from.charset() == charset || from.charset().shares_ascii(charset, text);
    if !same || (from != ty.collation && !charset.is_valid(text)) || ty.id == TypeId::Binary {
        return false;
    }
    if ty.id == TypeId::Char && (text.last() == Some(&b' ') || charset.is_wide()) {
        return false;
    }
    // Bytes may lack some of their first character.
    if charset.is_wide() && (ty.id.is_lob() || !charset.is_valid(text)) {
        return false;
    }
    // Fewer bytes than characters allowed are never too many.
    text.len() <= ty.length as usize || (!ty.id.is_lob() && charset.char_count(text) <= ty.length as usize)
}

struct Store<'s, 'c, 'w> {
    ty: &'s SqlType,
    at: StoreTarget<'s>,
    cx: &'c mut Context<'w>,
}

impl Store<'_, '_, '_> {
    fn warn(&mut self, code: ErrorCode) -> Result<()> {
        self.cx.warn(code, &[&self.at.column, &self.at.row])
    }

    fn note(&mut self, code: ErrorCode) {
        self.cx.warnings.push(Warning::new(Level::Note, code, &[&self.at.column, &self.at.row]));
    }

    /// Only the date, or the time, of a date and time is taken.
    fn note_of_part(&mut self, taken: &str, v: ValueRef<'_>) {
        if !self.cx.strict {
            return self.note(ErrorCode::WarnDataTruncated);
        }
        let text = shown(v.localize(self.cx.zone));
        let (column, row) = (self.at.column, self.at.row);
        let message = format!("Incorrect {taken} value: '{text}' for column '{column}' at row {row}");
        self.cx.warnings.push(Warning::with_message(Level::Note, ErrorCode::TruncatedWrongValue, message));
    }

    fn incorrect(&mut self, what: &str, v: ValueRef<'_>) -> Result<()> {
        let code = ErrorCode::TruncatedWrongValueForField;
        self.cx.warn(code, &[&what, &shown(v), &self.at.column, &self.at.row])
    }

    /// Least and greatest value of the integer column.
    fn range(&self) -> (i128, i128) {
        let bits = 8 * self.ty.id.int_width() as u32;
        if self.ty.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
    }

    fn in_range(&mut self, n: i128) -> Result<Value> {
        let (low, high) = self.range();
        let clamped = n.clamp(low, high);
        if clamped != n {
            self.warn(ErrorCode::WarnDataOutOfRange)?;
        }
        Ok(if self.ty.unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) })
    }

    fn integer(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let n = match v {
            ValueRef::Int(n) => i128::from(n),
            ValueRef::UInt(n) | ValueRef::Bit(n, _) | ValueRef::Set(n, _) => i128::from(n),
            ValueRef::Year(n) | ValueRef::Enum(n, _) => i128::from(n),
            ValueRef::Decimal(d) if self.ty.unsigned && d.is_negative() => {
                self.warn(ErrorCode::WarnDataOutOfRange)?;
                0
            }
            ValueRef::Decimal(d) => whole(&d),
            // A float beyond i128 saturates, which is out of any column's range too.
            ValueRef::Double(d) => d.round_ties_even() as i128,
            ValueRef::Float(d) => d.round_ties_even() as i128,
            ValueRef::Str(text, _) => return self.integer_of_text(text, v),
            ValueRef::Json(stored) => {
                let number = super::json::number(stored, "INTEGER", self.cx)?;
                return self.integer(number.as_ref());
            }
            other => whole(&temporal_number(whole_seconds(other, self.cx))),
        };
        self.in_range(n)
    }

    fn integer_of_text(&mut self, text: &[u8], v: ValueRef<'_>) -> Result<Value> {
        let (n, used, overflow) = parse_integer(text);
        if used > 0 && !overflow && !rest_matters(text, used) {
            return self.in_range(n.map_or_else(i128::from, i128::from));
        }
        let p = Decimal::parse(text);
        if p.consumed == 0 {
            self.incorrect("integer", v)?;
            return self.in_range(0);
        }
        let n = whole(&p.value);
        let (low, high) = self.range();
        // Of a number out of range the rest is not looked at.
        if (low..=high).contains(&n) && rest_matters(text, p.consumed) {
            self.warn(ErrorCode::WarnDataTruncated)?;
        }
        self.in_range(n)
    }

    fn decimal(&mut self, v: ValueRef<'_>) -> Result<Value> {
        // Something behind the number; a number too small for any digit.
        let (mut garbage, mut lost) = (false, false);
        if let ValueRef::Double(d) = v {
            lost = d != 0.0 && d.abs() < 1e-30;
        }
        let d = match v {
            ValueRef::Decimal(d) => d,
            ValueRef::Int(n) => Decimal::from_i64(n),
            ValueRef::UInt(n) | ValueRef::Bit(n, _) | ValueRef::Set(n, _) => Decimal::from_u64(n),
            ValueRef::Year(n) | ValueRef::Enum(n, _) => Decimal::from_u64(u64::from(n)),
            ValueRef::Double(d) => double_to_decimal(d),
            ValueRef::Float(d) => double_to_decimal(f64::from(d)),
            ValueRef::Json(stored) => {
                let number = super::json::number(stored, "DECIMAL", self.cx)?;
                return self.decimal(number.as_ref());
            }
            ValueRef::Str(text, _) => {
                let p = Decimal::parse(text);
                if p.consumed == 0 || p.no_exponent {
                    self.incorrect("decimal", v)?;
                    return self.decimal(ValueRef::Int(0));
                }
                garbage = rest_matters(text, p.consumed);
                lost = p.truncated && p.value.is_zero();
                p.value
            }
            ValueRef::Timestamp(..) => temporal_number(v.localize(self.cx.zone)),
            other => temporal_number(other),
        };
        let (precision, scale) = (self.ty.length as u8, self.ty.scale);
        if garbage && !self.cx.strict {
            self.note(ErrorCode::WarnDataTruncated);
        }
        if self.ty.unsigned && d.is_negative() {
            self.warn(ErrorCode::WarnDataOutOfRange)?;
            return Ok(Value::Decimal(Decimal::ZERO.round(scale).unwrap_or(Decimal::ZERO)));
        }
        let stored = match d.to_column(precision, scale) {
            Ok(stored) => stored,
            Err(limit) => {
                self.warn(ErrorCode::WarnDataOutOfRange)?;
                return Ok(Value::Decimal(limit));
            }
        };
        if garbage && self.cx.strict {
            self.incorrect("decimal", v)?;
        } else if !garbage && (lost || d.scale() > scale && stored != d) {
            self.note(ErrorCode::WarnDataTruncated);
        }
        Ok(Value::Decimal(stored))
    }

    fn double(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let mut d = match v {
            ValueRef::Double(d) => d,
            ValueRef::Float(d) => f64::from(d),
            ValueRef::Int(n) => n as f64,
            ValueRef::UInt(n) | ValueRef::Bit(n, _) | ValueRef::Set(n, _) => n as f64,
            ValueRef::Year(n) | ValueRef::Enum(n, _) => f64::from(n),
            ValueRef::Decimal(d) => d.to_f64(),
            ValueRef::Json(stored) => {
                let number = super::json::number(stored, "DOUBLE", self.cx)?;
                return self.double(number.as_ref());
            }
            ValueRef::Str(text, _) => {
                let (d, used, overflow) = float::parse_double(text);
                if overflow {
                    self.warn(ErrorCode::WarnDataOutOfRange)?;
                } else if rest_matters(text, used) {
                    self.warn(ErrorCode::WarnDataTruncated)?;
                }
                d
            }
            ValueRef::Timestamp(..) => temporal_number(v.localize(self.cx.zone)).to_f64(),
            other => temporal_number(other).to_f64(),
        };
        let mut limit = if self.ty.id == TypeId::Float { f64::from(f32::MAX) } else { f64::MAX };
        if self.ty.scale != SqlType::NOT_FIXED {
            let digits = i32::try_from(self.ty.length).unwrap_or(255) - i32::from(self.ty.scale);
            let step = 10f64.powi(i32::from(self.ty.scale));
            limit = limit.min(10f64.powi(digits) - 1.0 / step);
            let scaled = (d * step).round_ties_even() / step;
            if scaled.is_finite() {
                d = scaled;
            }
        }
        if d.is_nan() || d > limit || d < -limit || (self.ty.unsigned && d < 0.0) {
            self.warn(ErrorCode::WarnDataOutOfRange)?;
            d = if d.is_nan() { 0.0 } else { d.clamp(if self.ty.unsigned { 0.0 } else { -limit }, limit) };
        }
        Ok(if self.ty.id == TypeId::Float { Value::Float(d as f32) } else { Value::Double(d) })
    }

    fn text(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let local = v.localize(self.cx.zone);
        // A FLOAT has the digits of its value as a DOUBLE.
        let double = match local {
            ValueRef::Double(d) => Some(d),
            ValueRef::Float(d) => Some(f64::from(d)),
            _ => None,
        };
        let text = match local {
            _ if let Some(d) = double => {
                let width = if self.ty.id.is_lob() { 255 } else { self.ty.length as usize };
                std::borrow::Cow::Owned(float_for_width(d, width))
            }
            // A BIT is its number, not its bytes.
            ValueRef::Bit(n, _) => std::borrow::Cow::Owned(n.to_string().into_bytes()),
            // So is an assigned YEAR: `0`, where it shows `0000`.
            ValueRef::Year(n) => std::borrow::Cow::Owned(n.to_string().into_bytes()),
            _ => to_text(&local),
        };
        let charset = self.ty.collation.charset();
        let from = v.text_charset();
        let converted = super::recode(&text, from, charset);
        let mut bytes = &converted.bytes[..];
        let valid = charset.valid_prefix(bytes);
        if converted.lossy || valid < bytes.len() {
            let bad = if converted.lossy && valid == bytes.len() {
                first_lost(&text, from, charset)
            } else {
                &bytes[valid..]
            };
            let args: [&dyn std::fmt::Display; 4] = [&"string", &offending(bad), &self.at.column, &self.at.row];
            self.cx.warn(ErrorCode::TruncatedWrongValueForField, &args)?;
            bytes = &bytes[..valid];
        }
        let keep = if self.ty.id.is_lob() {
            charset.prefix_of_bytes(bytes, self.ty.length as usize)
        } else {
            charset.prefix_len(bytes, self.ty.length as usize)
        };
        if keep < bytes.len() {
            let blank = charset != Charset::Binary && charset.trim_end(&bytes[keep..]).is_empty();
            if !blank {
                self.warn(ErrorCode::DataTooLong)?;
                if !self.cx.strict {
                    // The code of the warning is that of a truncation.
                    self.cx.warnings.replace_last(ErrorCode::WarnDataTruncated, &[&self.at.column, &self.at.row]);
                }
            } else if self.ty.id != TypeId::Char {
                self.note(ErrorCode::WarnDataTruncated);
            }
            bytes = &bytes[..keep];
        }
        let value = match self.ty.id {
            TypeId::Char => Text::new(charset.trim_end(bytes)),
            TypeId::Binary => {
                let mut padded = bytes.to_vec();
                padded.resize(self.ty.length as usize, 0);
                padded.into()
            }
            _ => Text::new(bytes),
        };
        Ok(Value::Str(value, self.ty.collation))
    }

    /// Errors and warnings of a date or time that does not fit: always 1292 in strict mode, else 1264 or 1265.
    fn bad_temporal(&mut self, v: ValueRef<'_>, code: ErrorCode) -> Result<()> {
        if !self.cx.strict {
            return self.warn(code);
        }
        let what = match self.ty.id {
            TypeId::Date => "date",
            TypeId::Time => "time",
            _ => "datetime",
        };
        let text = shown(v.localize(self.cx.zone));
        let message =
            format!("Incorrect {what} value: '{text}' for column '{}' at row {}", self.at.column, self.at.row);
        Err(SqlError::with_message(ErrorCode::TruncatedWrongValue, message))
    }

    fn datetime(&mut self, v: ValueRef<'_>) -> Result<Value> {
        if let (ValueRef::Timestamp(t, fsp), TypeId::Timestamp) = (v, self.ty.id)
            && fsp <= self.ty.scale
        {
            return Ok(Value::Timestamp(t, self.ty.scale));
        }
        let mut flags = DateFlags::from_mode(self.cx.mode);
        if self.ty.id == TypeId::Timestamp {
            // Zero parts and impossible days have no instant.
            flags.no_zero_in_date = true;
            flags.allow_invalid = false;
        }
        let zero = match self.ty.id {
            TypeId::Date => Value::Date(Date::ZERO),
            TypeId::DateTime => Value::DateTime(DateTime::ZERO, self.ty.scale),
            _ => Value::Timestamp(Timestamp::ZERO, self.ty.scale),
        };
        let Some(p) = read_datetime(v, flags, self.cx) else {
            let lax = DateFlags { allow_invalid: true, cut_fractions: true, ..DateFlags::LAX };
            let readable = match v {
                // A date with zero parts that cannot be rounded up is readable.
                ValueRef::Str(text, _) => parse_datetime(text, lax).is_some(),
                ValueRef::Int(n) => n == 0 || n > 99_999_999_999_999,
                ValueRef::UInt(n) => n == 0 || n > 99_999_999_999_999,
                _ => read_datetime(v, lax, self.cx).is_some(),
            };
            let code = if readable { ErrorCode::WarnDataOutOfRange } else { ErrorCode::WarnDataTruncated };
            self.bad_temporal(v, code)?;
            return Ok(zero);
        };
        tell_delimiter(p.deprecated, v, self.at.row, self.cx);
        if p.truncated {
            self.bad_temporal(v, ErrorCode::WarnDataTruncated)?;
        }
        let Some(rounded) = p.value.round(self.ty.scale, cuts_fractions(self.cx.mode)) else {
            self.bad_temporal(v, ErrorCode::WarnDataOutOfRange)?;
            return Ok(zero);
        };
        if self.ty.id == TypeId::Date {
            // Half a second before midnight is the next day.
            if !rounded.time().is_zero() {
                self.note_of_part("date", v);
            }
            return Ok(Value::Date(rounded.date()));
        }
        if self.ty.id == TypeId::DateTime {
            return Ok(Value::DateTime(rounded, self.ty.scale));
        }
        match Timestamp::from_local(rounded, self.cx.zone) {
            Some((t, gap)) => {
                if gap {
                    self.bad_temporal(v, ErrorCode::WarnInvalidTimestamp)?;
                }
                Ok(Value::Timestamp(t, self.ty.scale))
            }
            None => {
                self.bad_temporal(v, ErrorCode::WarnDataOutOfRange)?;
                Ok(zero)
            }
        }
    }

    fn time(&mut self, v: ValueRef<'_>) -> Result<Value> {
        // A text with nothing in it is no error here, as it is elsewhere.
        if let ValueRef::Str(text, _) = v
            && (matches!(text.trim_ascii(), b"" | b"-") || text.trim_ascii_start() == b".")
        {
            return Ok(Value::Time(Time::ZERO, self.ty.scale));
        }
        let Some(p) = read_time(v, self.cx) else {
            // Minutes or seconds beyond 59, or no time at all.
            let of_parts = match v {
                ValueRef::Str(text, _) => {
                    let digits = text.trim_ascii_start().strip_prefix(b"-").unwrap_or(text.trim_ascii_start());
                    digits.iter().position(|b| !b.is_ascii_digit()).is_some_and(|i| i > 0 && digits[i] == b':')
                }
                _ => true,
            };
            let code = if of_parts { ErrorCode::WarnDataOutOfRange } else { ErrorCode::WarnDataTruncated };
            self.bad_temporal(v, code)?;
            return Ok(Value::Time(Time::ZERO, self.ty.scale));
        };
        tell_delimiter(p.deprecated, v, self.at.row, self.cx);
        if p.out_of_range {
            self.bad_temporal(v, ErrorCode::WarnDataOutOfRange)?;
        } else if p.truncated {
            self.bad_temporal(v, ErrorCode::WarnDataTruncated)?;
        } else if matches!(v, ValueRef::Str(text, _) if parse_time_as_datetime(text).is_some()) {
            self.note_of_part("time", v);
        }
        let (t, outside) = p.value.round(self.ty.scale, cuts_fractions(self.cx.mode)).clamp();
        if outside {
            self.bad_temporal(v, ErrorCode::WarnDataOutOfRange)?;
        }
        Ok(Value::Time(t, self.ty.scale))
    }

    fn year(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let (n, text) = match v {
            ValueRef::Year(y) => return Ok(Value::Year(y)),
            ValueRef::Int(n) => (n, false),
            ValueRef::UInt(n) => (i64::try_from(n).unwrap_or(i64::MAX), false),
            ValueRef::Date(d) => (i64::from(d.year()), false),
            ValueRef::DateTime(d, _) => (i64::from(d.year()), false),
            ValueRef::Timestamp(t, _) => (i64::from(t.to_local(self.cx.zone).year()), false),
            // A time of this day.
            ValueRef::Time(t, _) => {
                let day = self.cx.today.add_days(t.to_micros().div_euclid(86_400_000_000));
                (day.map_or(-1, |d| i64::from(d.year())), false)
            }
            ValueRef::Str(text, _) => {
                let p = Decimal::parse(text);
                if p.consumed == 0 {
                    self.incorrect("integer", v)?;
                    return Ok(Value::Year(0));
                }
                let n = i64::try_from(whole(&p.value)).unwrap_or(i64::MAX);
                if rest_matters(text, p.consumed) && year_of(n, true).is_some() {
                    self.warn(ErrorCode::WarnDataTruncated)?;
                }
                // Zero is 2000, only '0000' is 0.
                (n, n != 0 || text.len() != 4)
            }
            ValueRef::Decimal(d) => (d.to_i64().unwrap_or(i64::MAX), false),
            ValueRef::Double(d) => (cut(d), false),
            ValueRef::Float(d) => (cut(f64::from(d)), false),
            ValueRef::Enum(n, _) => (i64::from(n), false),
            ValueRef::Set(n, _) | ValueRef::Bit(n, _) => (i64::try_from(n).unwrap_or(i64::MAX), false),
            _ => (-1, false),
        };
        match year_of(n, text) {
            Some(y) => Ok(Value::Year(y)),
            None => {
                self.warn(ErrorCode::WarnDataOutOfRange)?;
                Ok(Value::Year(0))
            }
        }
    }

    fn bit(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let width = self.ty.length.clamp(1, 64);
        let max = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let bits = match v {
            ValueRef::Str(bytes, _) => {
                let bytes = &bytes[bytes.iter().take_while(|b| **b == 0).count()..];
                if bytes.len() > 8 { None } else { Some(bytes.iter().fold(0u64, |a, b| a << 8 | u64::from(*b))) }
            }
            ValueRef::Int(n) => Some(n as u64),
            ValueRef::UInt(n) | ValueRef::Bit(n, _) | ValueRef::Set(n, _) => Some(n),
            // A BIT is unsigned to a DECIMAL, and takes a DOUBLE without its fraction.
            ValueRef::Decimal(d) if d.is_negative() => {
                self.warn(ErrorCode::WarnDataOutOfRange)?;
                Some(0)
            }
            ValueRef::Decimal(d) => d.to_i64().map(|n| n as u64).or_else(|_| d.to_u64()).ok(),
            ValueRef::Double(d) => Some(cut(d) as u64),
            ValueRef::Float(d) => Some(cut(f64::from(d)) as u64),
            ValueRef::Year(n) | ValueRef::Enum(n, _) => Some(u64::from(n)),
            other => whole(&temporal_number(other)).try_into().ok(),
        };
        match bits.filter(|b| *b <= max) {
            Some(b) => Ok(Value::Bit(b, width as u8)),
            None => {
                let strict = self.cx.strict;
                self.warn(if strict { ErrorCode::DataTooLong } else { ErrorCode::WarnDataOutOfRange })?;
                Ok(Value::Bit(max, width as u8))
            }
        }
    }

    fn enumeration(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let members = self.ty.members.clone().ok_or_else(|| SqlError::internal("ENUM without a list"))?;
        let count = members.names.len();
        let index = match v {
            // The error value stays what it is, and is not the member whose name is empty.
            ValueRef::Enum(0, _) => return Ok(Value::Enum(0, members)),
            ValueRef::Int(n) => usize::try_from(n).ok(),
            ValueRef::UInt(n) | ValueRef::Bit(n, _) => usize::try_from(n).ok(),
            // Without their fraction.
            ValueRef::Decimal(d) => usize::try_from(cut(d.to_f64())).ok(),
            ValueRef::Double(d) => usize::try_from(cut(d)).ok(),
            ValueRef::Float(d) => usize::try_from(cut(f64::from(d))).ok(),
            other => {
                let raw = to_text(&other.localize(self.cx.zone));
                let text = member_text(v, &raw, &members);
                let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
                let by_name = members.find_utf8(&text[..end]);
                by_name.or_else(|| {
                    let (n, used, overflow) = parse_integer(&text[..end]);
                    let n = n.ok().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
                    n.filter(|_| !overflow && used == end)
                })
            }
        };
        // Index 0, the error value, may be stored by its number where nothing is strict.
        if let Some(i) = index.filter(|i| (1..=count).contains(i)) {
            return Ok(Value::Enum(i as u16, members));
        }
        self.warn(ErrorCode::WarnDataTruncated)?;
        Ok(Value::Enum(0, members))
    }

    fn set(&mut self, v: ValueRef<'_>) -> Result<Value> {
        let members = self.ty.members.clone().ok_or_else(|| SqlError::internal("SET without a list"))?;
        let count = members.names.len().min(64) as u32;
        let max = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        let number = match v {
            ValueRef::Int(n) => Some(n as u64),
            ValueRef::UInt(n) | ValueRef::Bit(n, _) => Some(n),
            // Without their fraction.
            ValueRef::Decimal(d) => Some(cut(d.to_f64()) as u64),
            ValueRef::Double(d) => Some(cut(d) as u64),
            ValueRef::Float(d) => Some(cut(f64::from(d)) as u64),
            _ => None,
        };
        let (mut bits, mut bad) = (0, false);
        if let Some(n) = number {
            (bits, bad) = (n & max, n > max);
        } else {
            let raw = to_text(&v.localize(self.cx.zone));
            let whole = member_text(v, &raw, &members);
            let end = whole.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
            let text = &whole[..end];
            for part in text.split(|b| *b == b',').filter(|_| !text.is_empty()) {
                match members.find_utf8(part) {
                    Some(i) if i <= 64 => bits |= 1 << (i - 1),
                    _ => bad = true,
                }
            }
            // No member, but some text: a number, or wrong, even if it is only spaces.
            if bits == 0 && !whole.is_empty() {
                let (n, used, overflow) = parse_integer(&whole);
                let n = n.map_or_else(|u| u, |i| i as u64);
                bad = used != whole.len() || overflow || n > max;
                bits = if bad { 0 } else { n };
            }
        }
        if bad {
            self.warn(ErrorCode::WarnDataTruncated)?;
        }
        Ok(Value::Set(bits, members))
    }
}

/// Text to be found among the members of a list, in UTF-8. Bytes are taken for text of the list's character set.
fn member_text<'t>(v: ValueRef<'_>, text: &'t [u8], members: &Members) -> Cow<'t, [u8]> {
    let from = match v {
        ValueRef::Str(_, c) if c.is_binary() => members.collation.charset(),
        ValueRef::Str(_, c) => c.charset(),
        ValueRef::Enum(..) | ValueRef::Set(..) | ValueRef::Json(_) => Charset::Utf8mb4,
        _ => Charset::Ascii,
    };
    from.convert(text, Charset::Utf8mb4).bytes
}

/// The integer of a double without its fraction; beyond BIGINT its least value, as processors have it.
fn cut(d: f64) -> i64 {
    if d.abs() < 9_223_372_036_854_775_808.0 { d as i64 } else { i64::MIN }
}

/// A decimal rounded to an integer, saturating.
fn whole(d: &Decimal) -> i128 {
    d.round(0).and_then(|d| d.to_i128()).unwrap_or(if d.is_negative() { i128::MIN } else { i128::MAX })
}

/// Source bytes from the first character that has no counterpart.
fn first_lost(text: &[u8], from: Charset, to: Charset) -> &[u8] {
    let mut chars = from.chars(text);
    let mut scratch = Vec::new();
    loop {
        let here = chars.rest();
        match chars.next() {
            Some(c) if to.encode(c, &mut scratch) => {}
            _ => return here,
        }
    }
}

/// The text of a double with as many digits as fit into `width` characters; longer when none do.
fn float_for_width(d: f64, width: usize) -> Vec<u8> {
    let mut text = Vec::new();
    float::write_double(d, &mut text);
    if text.len() <= width {
        return text;
    }
    let mut shortest = String::new();
    for digits in (0..17).rev() {
        let rounded = format!("{d:.digits$e}");
        let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let mantissa =
            if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
        let decimals = usize::try_from(digits as i32 - exponent).unwrap_or(0);
        let plain = without_zeros(format!("{:.decimals$}", rounded.parse().unwrap_or(d)));
        shortest = format!("{mantissa}e{exponent}");
        if let Some(fits) = [&plain, &shortest].into_iter().find(|t| t.len() <= width) {
            return fits.clone().into_bytes();
        }
    }
    // What is left of a fraction whose digits lie too far behind the point.
    let sign = usize::from(d.is_sign_negative());
    if d.abs() < 1.0 && width > sign {
        let decimals = width.saturating_sub(sign + 2);
        return without_zeros(format!("{d:.decimals$}")).into_bytes();
    }
    shortest.into_bytes()
}

fn without_zeros(mut text: String) -> String {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}
