//! As what two operands are compared, and the comparison itself (manual, "Type Conversion in Expression Evaluation").

use super::{Context, to_datetime, to_decimal, to_f64, to_integer, to_text, to_time};
use crate::charset::Charset;
use crate::collation::CollationId;
use crate::error::Result;
use crate::json;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::{DateFlags, DateTime};
use crate::value::{Value, ValueRef};
use std::cmp::Ordering;

/// What both operands are converted to before they are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CompareAs {
    /// Signed and unsigned integers, by value.
    Integer,
    Decimal,
    Double,
    Text(CollationId),
    DateTime,
    Time,
    /// Both as JSON values.
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Null,
    Integer,
    Decimal,
    Double,
    Text,
    Date,
    Time,
}

fn class(ty: &SqlType) -> Class {
    match ty.id {
        TypeId::Null => Class::Null,
        TypeId::Decimal => Class::Decimal,
        TypeId::Float | TypeId::Double => Class::Double,
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp => Class::Date,
        TypeId::Time => Class::Time,
        TypeId::Bit | TypeId::Year => Class::Integer,
        id if id.is_integer() => Class::Integer,
        _ => Class::Text,
    }
}

/// As what values of two types are compared. `collation` is the aggregated one, used if both are text.
pub fn compare_as(a: &SqlType, b: &SqlType, collation: CollationId) -> CompareAs {
    use Class::*;
    if a.id == TypeId::Json || b.id == TypeId::Json {
        return CompareAs::Json;
    }
    // ENUM and SET are numbers in the company of numbers.
    let number = |t: &SqlType| matches!(t.id, TypeId::Enum | TypeId::Set);
    match (class(a), class(b)) {
        (Null, Null) => CompareAs::Integer,
        (Null, x) | (x, Null) => match x {
            Text => CompareAs::Text(collation),
            Date => CompareAs::DateTime,
            Time => CompareAs::Time,
            Integer => CompareAs::Integer,
            Decimal => CompareAs::Decimal,
            _ => CompareAs::Double,
        },
        (Text, Text) => CompareAs::Text(collation),
        (Date, Date | Text | Time) | (Text | Time, Date) => CompareAs::DateTime,
        (Time, Time | Text) | (Text, Time) => CompareAs::Time,
        (Integer, Integer) => CompareAs::Integer,
        (Text, Integer) if number(a) => CompareAs::Integer,
        (Integer, Text) if number(b) => CompareAs::Integer,
        (Integer | Decimal, Integer | Decimal) => CompareAs::Decimal,
        // Dates as YYYYMMDDhhmmss.ffffff are exact decimals.
        (Date | Time, Integer | Decimal) | (Integer | Decimal, Date | Time) => CompareAs::Decimal,
        _ => CompareAs::Double,
    }
}

/// Compares two values; `None` if either is NULL.
pub fn compare(a: ValueRef<'_>, b: ValueRef<'_>, how: CompareAs, cx: &mut Context<'_>) -> Result<Option<Ordering>> {
    if let Some(order) = compare_same(a, b, how) {
        return Ok(Some(order));
    }
    if a.is_null() || b.is_null() {
        return Ok(None);
    }
    Ok(Some(match how {
        CompareAs::Integer => compare_integers(to_integer(a, cx)?, to_integer(b, cx)?),
        CompareAs::Decimal => to_decimal(a.localize(cx.zone), cx)?.cmp(&to_decimal(b.localize(cx.zone), cx)?),
        CompareAs::Double => {
            let (x, y) = (to_f64(a.localize(cx.zone), cx)?, to_f64(b.localize(cx.zone), cx)?);
            x.partial_cmp(&y).unwrap_or(Ordering::Equal)
        }
        CompareAs::Text(collation) => {
            let (x, y) = (to_text(&a.localize(cx.zone)), to_text(&b.localize(cx.zone)));
            collation.compare(&in_charset(a, &x, collation)?, &in_charset(b, &y, collation)?)
        }
        CompareAs::DateTime | CompareAs::Time if is_plain_number(a, how, cx) || is_plain_number(b, how, cx) => {
            return compare(a, b, number_domain(a, b), cx);
        }
        CompareAs::DateTime => {
            let (Some((x, _)), Some((y, _))) = (compared_datetime(a, cx)?, compared_datetime(b, cx)?) else {
                return Ok(None);
            };
            x.cmp(&y)
        }
        CompareAs::Time => match (no_time(a, cx), no_time(b, cx)) {
            (None, None) => {
                let (Some((x, _)), Some((y, _))) = (to_time(a, cx)?, to_time(b, cx)?) else { return Ok(None) };
                x.cmp(&y)
            }
            (Some(collation), _) | (_, Some(collation)) => return compare(a, b, CompareAs::Text(collation), cx),
        },
        CompareAs::Json => json::compare(&super::to_json(a, cx)?, &super::to_json(b, cx)?),
    }))
}

/// The collation of a text that is not wholly a time: what is compared with it is a text, too.
pub fn no_time(v: ValueRef<'_>, cx: &Context<'_>) -> Option<CollationId> {
    let ValueRef::Str(_, collation) = v else { return None };
    super::time::read_time(v, cx).is_none_or(|t| t.truncated || t.out_of_range).then_some(collation)
}

/// A number that is no date, or no time: what is compared with it is a number, too.
fn is_plain_number(v: ValueRef<'_>, how: CompareAs, cx: &Context<'_>) -> bool {
    use ValueRef::{Decimal, Double, Float, Int, UInt};
    matches!(v, Int(_) | UInt(_) | Decimal(_) | Double(_) | Float(_))
        && match how {
            CompareAs::DateTime => super::time::read_datetime(v, DateFlags::LAX, cx).is_none(),
            CompareAs::Time => super::time::read_time(v, cx).is_none_or(|t| t.out_of_range),
            _ => false,
        }
}

fn number_domain(a: ValueRef<'_>, b: ValueRef<'_>) -> CompareAs {
    let inexact = |v| matches!(v, ValueRef::Double(_) | ValueRef::Float(_) | ValueRef::Str(..));
    if inexact(a) || inexact(b) { CompareAs::Double } else { CompareAs::Decimal }
}

/// A value as it is compared with dates: a year is its first moment, before all days of it, and a text that is no date
/// the zero date.
fn compared_datetime(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Option<(DateTime, u8)>> {
    Ok(match v {
        ValueRef::Year(y) => Some((DateTime::new(u32::from(y), 0, 0, 0, 0, 0, 0), 0)),
        ValueRef::Str(..) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            Some(to_datetime(v, DateFlags::LAX, cx)?.unwrap_or((DateTime::ZERO, 0)))
        }
        other => to_datetime(other, DateFlags::LAX, cx)?,
    })
}

/// Text of a value in the character set of a collation. Error 3854 where it has no place there; bytes that are no text
/// equal none.
fn in_charset<'t>(v: ValueRef<'_>, text: &'t [u8], collation: CollationId) -> Result<std::borrow::Cow<'t, [u8]>> {
    let from = match v {
        ValueRef::Str(_, c) => c.charset(),
        ValueRef::Enum(..) | ValueRef::Set(..) => Charset::Utf8mb4,
        _ => Charset::Ascii,
    };
    match from {
        Charset::Binary => Ok(from.convert(text, collation.charset()).bytes),
        _ => from.fit(text, collation.charset()),
    }
}

/// The frequent cases, without a context: operands that are what they are compared as.
#[inline]
pub fn compare_same(a: ValueRef<'_>, b: ValueRef<'_>, how: CompareAs) -> Option<Ordering> {
    Some(match (how, a, b) {
        (CompareAs::Integer, ValueRef::Int(x), ValueRef::Int(y)) => x.cmp(&y),
        (CompareAs::Integer, ValueRef::UInt(x), ValueRef::UInt(y)) => x.cmp(&y),
        (CompareAs::Text(c), ValueRef::Str(x, p), ValueRef::Str(y, q))
            if p.charset() == c.charset() && q.charset() == c.charset() =>
        {
            c.compare(x, y)
        }
        (CompareAs::Decimal, ValueRef::Decimal(x), ValueRef::Decimal(y)) => x.cmp(&y),
        (CompareAs::Double, ValueRef::Double(x), ValueRef::Double(y)) => x.partial_cmp(&y)?,
        (CompareAs::DateTime, ValueRef::DateTime(x, _), ValueRef::DateTime(y, _)) => x.cmp(&y),
        (CompareAs::DateTime, ValueRef::Date(x), ValueRef::Date(y)) => x.cmp(&y),
        (CompareAs::DateTime, ValueRef::Timestamp(x, _), ValueRef::Timestamp(y, _)) => x.cmp(&y),
        (CompareAs::Time, ValueRef::Time(x, _), ValueRef::Time(y, _)) => x.cmp(&y),
        _ => return None,
    })
}

fn compare_integers(a: Result<i64, u64>, b: Result<i64, u64>) -> Ordering {
    let wide = |v: Result<i64, u64>| v.map_or_else(i128::from, i128::from);
    wide(a).cmp(&wide(b))
}

/// Converts a value to what it is compared as: done once for a constant, it makes `compare_same` apply. NULL if it
/// cannot be.
pub fn coerce(v: ValueRef<'_>, how: CompareAs, cx: &mut Context<'_>) -> Result<Value> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    Ok(match how {
        CompareAs::Integer => match to_integer(v, cx)? {
            Ok(n) => Value::Int(n),
            Err(n) => Value::UInt(n),
        },
        CompareAs::Decimal => Value::Decimal(to_decimal(v.localize(cx.zone), cx)?),
        CompareAs::Double => Value::Double(to_f64(v.localize(cx.zone), cx)?),
        CompareAs::Text(c) => {
            let text = to_text(&v.localize(cx.zone));
            Value::Str((&*in_charset(v, &text, c)?).into(), c)
        }
        // It is equal to no date, and not unknown.
        CompareAs::DateTime | CompareAs::Time if is_plain_number(v, how, cx) => Value::Double(to_f64(v, cx)?),
        CompareAs::DateTime => compared_datetime(v, cx)?.map_or(Value::Null, |(d, fsp)| Value::DateTime(d, fsp)),
        CompareAs::Time => match (to_time(v, cx)?, no_time(v, cx)) {
            (Some((time, fsp)), None) => Value::Time(time, fsp),
            (_, Some(_)) => v.to_owned(),
            (None, None) => Value::Null,
        },
        CompareAs::Json => Value::Json(super::to_json(v, cx)?.to_text(cx.room)?),
    })
}

/// Order of two values of one type, as ORDER BY has it: NULL first; text by `collation`. Kinds that differ are ordered
/// by kind.
pub fn order(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    match (a, b) {
        (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
        (ValueRef::Null, _) => Ordering::Less,
        (_, ValueRef::Null) => Ordering::Greater,
        (ValueRef::Int(x), ValueRef::Int(y)) => x.cmp(&y),
        (ValueRef::UInt(x), ValueRef::UInt(y)) => x.cmp(&y),
        (ValueRef::Int(x), ValueRef::UInt(y)) => i128::from(x).cmp(&i128::from(y)),
        (ValueRef::UInt(x), ValueRef::Int(y)) => i128::from(x).cmp(&i128::from(y)),
        (ValueRef::Decimal(x), ValueRef::Decimal(y)) => x.cmp(&y),
        (ValueRef::Double(x), ValueRef::Double(y)) => order_floats(x, y),
        (ValueRef::Float(x), ValueRef::Float(y)) => order_floats(f64::from(x), f64::from(y)),
        (ValueRef::Str(x, _), ValueRef::Str(y, _)) => collation.compare(x, y),
        (ValueRef::Json(x), ValueRef::Json(y)) => json::compare_stored(x, y).unwrap_or_else(|| x.cmp(y)),
        (ValueRef::Date(x), ValueRef::Date(y)) => x.cmp(&y),
        (ValueRef::DateTime(x, _), ValueRef::DateTime(y, _)) => x.cmp(&y),
        (ValueRef::Timestamp(x, _), ValueRef::Timestamp(y, _)) => x.cmp(&y),
        (ValueRef::Time(x, _), ValueRef::Time(y, _)) => x.cmp(&y),
        (ValueRef::Year(x), ValueRef::Year(y)) => x.cmp(&y),
        (ValueRef::Bit(x, _), ValueRef::Bit(y, _)) => x.cmp(&y),
        (ValueRef::Enum(x, _), ValueRef::Enum(y, _)) => x.cmp(&y),
        (ValueRef::Set(x, _), ValueRef::Set(y, _)) => x.cmp(&y),
        (x, y) => kind(&x).cmp(&kind(&y)),
    }
}

fn order_floats(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.total_cmp(&y))
}

fn kind(v: &ValueRef<'_>) -> u8 {
    match v {
        ValueRef::Null => 0,
        ValueRef::Int(_) | ValueRef::UInt(_) => 1,
        ValueRef::Decimal(_) => 2,
        ValueRef::Float(_) => 3,
        ValueRef::Double(_) => 4,
        ValueRef::Year(_) => 5,
        ValueRef::Bit(..) => 6,
        ValueRef::Date(_) => 7,
        ValueRef::Time(..) => 8,
        ValueRef::DateTime(..) => 9,
        ValueRef::Timestamp(..) => 10,
        ValueRef::Enum(..) => 11,
        ValueRef::Set(..) => 12,
        ValueRef::Str(..) => 13,
        ValueRef::Json(_) => 14,
    }
}
