//! Dates and times.

mod arith;
mod clock;
mod format;
mod make;
mod parts;
mod zone;

use crate::{
    def::{ArgInfo, EvalContext, FunctionDef},
    rules,
};
use gannet_types::{
    DateTime, ErrorCode, Result, SqlType, Time, TypeId, Value, convert,
    temporal::{DateFlags, IntervalUnit, number_to_datetime, parse_datetime, parse_time_as_datetime},
};

pub(crate) const FAMILIES: [&[FunctionDef]; 6] =
    [arith::FUNCTIONS, clock::FUNCTIONS, format::FUNCTIONS, make::FUNCTIONS, parts::FUNCTIONS, zone::FUNCTIONS];

/// A nullable DATE.
fn date_type() -> SqlType {
    SqlType::new(TypeId::Date)
}

/// A nullable DATETIME.
fn datetime_type(fsp: u8) -> SqlType {
    SqlType::temporal(TypeId::DateTime, fsp.min(6))
}

/// A nullable TIME.
fn time_type(fsp: u8) -> SqlType {
    SqlType::temporal(TypeId::Time, fsp.min(6))
}

/// Digits after the point of a number that counts seconds; text may have all six.
fn decimals_of(arg: &ArgInfo<'_>) -> u8 {
    match arg.ty.id {
        id if id.is_string() || id == TypeId::Json => 6,
        TypeId::Decimal | TypeId::Double | TypeId::Float | TypeId::Time | TypeId::DateTime | TypeId::Timestamp => {
            arg.ty.scale.min(6)
        }
        _ => 0,
    }
}

/// An argument as a datetime. A date or datetime that the flags do not accept is NULL without a warning, anything else
/// that is none with one.
fn datetime_arg(cx: &mut EvalContext<'_>, value: &Value, flags: DateFlags) -> Result<Option<DateTime>> {
    // What is a date already may have been stored under ALLOW_INVALID_DATES.
    let typed = DateFlags { allow_invalid: true, ..flags };
    let accepted = |d: DateTime| typed.accepts(d.year(), d.month(), d.day()).then_some(d);
    Ok(match value {
        Value::Null => None,
        Value::DateTime(d, _) => accepted(*d),
        Value::Date(d) => accepted(d.to_datetime()),
        Value::Year(y) => accepted(DateTime::new(u32::from(*y), 0, 0, 0, 0, 0, 0)),
        other => {
            // Under ALLOW_INVALID_DATES texts and numbers have such days too, where dates need not be whole.
            let invalid = flags == DateFlags::LAX && DateFlags::from_mode(cx.sql_mode).allow_invalid;
            let flags = DateFlags { allow_invalid: invalid, ..flags };
            convert::to_datetime(other.as_ref(), flags, &mut cx.conversion())?.map(|(d, _)| d)
        }
    })
}

/// Is the value a date without a time?
fn is_date_only(value: &Value) -> bool {
    let number = |n| number_to_datetime(n, DateFlags::LAX).is_some_and(|p| p.date_only);
    match value {
        Value::Date(_) => true,
        Value::Str(text, _) => parse_datetime(text, DateFlags::LAX).is_some_and(|p| p.date_only),
        Value::Int(n) => number(*n),
        Value::UInt(n) => i64::try_from(*n).is_ok_and(number),
        _ => false,
    }
}

fn time_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<Option<Time>> {
    Ok(convert::to_time(value.as_ref(), &mut cx.conversion())?.map(|(t, _)| t))
}

/// What a value is where both times and datetimes are taken.
#[derive(Clone, Copy, PartialEq)]
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

/// A datetime, or text that is one, as a datetime; all else as a time.
fn moment_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<Option<Moment>> {
    Ok(match value {
        Value::DateTime(d, _) => Some(Moment::DateTime(*d)),
        Value::Str(text, _) if parse_time_as_datetime(text).is_some() => {
            datetime_arg(cx, value, DateFlags::LAX)?.map(Moment::DateTime)
        }
        other => time_arg(cx, other)?.map(Moment::Time),
    })
}

/// The unit that the binder passes as text.
fn unit_of(value: Option<&Value>) -> Result<IntervalUnit> {
    let name = value.map(rules::bytes_of).unwrap_or_default();
    let unit = std::str::from_utf8(&name).ok().and_then(IntervalUnit::by_name);
    unit.ok_or_else(|| gannet_types::SqlError::internal("a unit of an interval"))
}

/// NULL with warning 1441.
fn overflow(cx: &mut EvalContext<'_>, what: &str) -> Result<Value> {
    cx.conversion().warn(ErrorCode::DatetimeFunctionOverflow, &[&what])?;
    Ok(Value::Null)
}

/// A TIME of so many digits, brought into range with warning 1292.
fn time_value(cx: &mut EvalContext<'_>, time: Time, fsp: u8) -> Result<Value> {
    let cut = cx.sql_mode.contains(gannet_types::SqlMode::TIME_TRUNCATE_FRACTIONAL);
    let (value, outside) = time.round(fsp, cut).clamp();
    if outside {
        let mut text = Vec::new();
        time.write(if time.micros() > 0 { 6 } else { 0 }, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        cx.conversion().warn(ErrorCode::TruncatedWrongValue, &[&"time", &text])?;
    }
    Ok(Value::Time(value, fsp))
}

/// A DATETIME of so many digits; NULL beyond year 9999.
fn datetime_value(cx: &EvalContext<'_>, datetime: DateTime, fsp: u8) -> Value {
    let cut = cx.sql_mode.contains(gannet_types::SqlMode::TIME_TRUNCATE_FRACTIONAL);
    datetime.round(fsp, cut).map_or(Value::Null, |d| Value::DateTime(d, fsp))
}

/// The format argument as a Rust string.
fn utf8(value: &Value) -> String {
    let text = rules::text_in(value, gannet_types::charset::Charset::Utf8mb4);
    String::from_utf8_lossy(&text.unwrap_or_else(|_| rules::bytes_of(value))).into_owned()
}

/// Text of ASCII or UTF-8 in a result's character set.
fn text_value(call: crate::def::Call<'_>, utf8: &[u8]) -> Value {
    let text = gannet_types::charset::Charset::Utf8mb4.convert(utf8, call.ty.collation.charset()).bytes;
    rules::string(call, text.into_owned())
}
