//! Where a value lies among a column's values.

use crate::expr::Comparison;
use gannet_types::convert::compare::no_time;
use gannet_types::convert::{Context, to_datetime, to_decimal, to_f64, to_integer, to_text, to_time};
use gannet_types::temporal::DateFlags;
use gannet_types::{Date, Decimal, Result, SqlMode, SqlType, TimeZone, Timestamp, TypeId, Value, ValueRef, Warnings};

/// Where a value lies among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Located {
    /// It is NULL.
    Null,
    /// Equal to this one, which is of the type.
    Exact(Value),
    /// Greater than this one, less than the next; `None`: not equal to any, and no more is known.
    Between(Option<Value>),
    /// Those that are equal to it lie from the one to the other, both included: a DOUBLE does not tell long numbers
    /// from their neighbours.
    Among(Value, Value),
    /// Less than all.
    BelowAll,
    /// Greater than all.
    AboveAll,
    /// It cannot be told.
    Unknown,
}

/// [`locate`] always tells for values that have the type `value`, so an equality that an index serves needs no filter.
pub fn is_total(column: &SqlType, by: Comparison, value: &SqlType) -> bool {
    match by {
        Comparison::Integer => column.id.is_integer() && (value.id.is_integer() || value.id == TypeId::Null),
        Comparison::Decimal => {
            (column.id.is_integer() || column.id == TypeId::Decimal)
                && (value.id.is_integer() || matches!(value.id, TypeId::Decimal | TypeId::Null))
        }
        Comparison::Double => column.id == TypeId::Double && matches!(value.id, TypeId::Double | TypeId::Float),
        Comparison::String(collation) => {
            column.id.is_string()
                && column.collation == collation
                && value.id.is_string()
                && (value.collation.charset() == collation.charset()
                    || value.id.is_binary_string() && collation.is_binary())
        }
        Comparison::Datetime => {
            matches!(column.id, TypeId::Date | TypeId::DateTime) && matches!(value.id, TypeId::Date | TypeId::DateTime)
        }
        Comparison::Time => column.id == TypeId::Time && value.id == TypeId::Time,
        Comparison::Json => false,
    }
}

/// At most one value of the column is equal to a value in this comparison: a DOUBLE is equal to several long numbers.
pub fn tells_apart(column: &SqlType, by: Comparison) -> bool {
    match (by, column.id) {
        (Comparison::Double, TypeId::BigInt) => false,
        (Comparison::Double, TypeId::Decimal) => column.length <= 15,
        _ => true,
    }
}

/// The index can serve comparisons of this column in this domain at all. `equality`: only `=` and IN.
pub fn is_sargable(column: &SqlType, by: Comparison, equality: bool) -> bool {
    match by {
        Comparison::Integer | Comparison::Decimal => {
            let bits = column.id == TypeId::Bit && by == Comparison::Integer;
            column.id.is_integer() || matches!(column.id, TypeId::Decimal | TypeId::Year) || bits
        }
        Comparison::Double => {
            column.id.is_integer()
                || matches!(column.id, TypeId::Decimal | TypeId::Double | TypeId::Float | TypeId::Year)
        }
        Comparison::String(collation) => {
            column.collation == collation && (column.id.is_string() || equality && column.id == TypeId::Enum)
        }
        Comparison::Datetime => matches!(column.id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp),
        Comparison::Time => column.id == TypeId::Time,
        Comparison::Json => false,
    }
}

/// Places `value`, compared in domain `by`, among the values of a column type.
pub fn locate(ty: &SqlType, by: Comparison, value: ValueRef<'_>, zone: &TimeZone) -> Result<Located> {
    if value.is_null() {
        return Ok(Located::Null);
    }
    let mut warnings = Warnings::default();
    let mut cx = Context {
        mode: SqlMode::DEFAULT,
        zone,
        today: Date::new(1970, 1, 1),
        strict: false,
        warnings: &mut warnings,
        stopped: gannet_types::convert::never,
        room: gannet_types::room::Room::FREE,
    };
    match ty.id {
        id if id.is_integer() => locate_integer(ty, by, value, &mut cx),
        TypeId::Year | TypeId::Bit => locate_small(ty, value, &mut cx),
        TypeId::Decimal => locate_decimal(ty, by, value, &mut cx),
        TypeId::Double | TypeId::Float => locate_double(ty, value, &mut cx),
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp if by == Comparison::Datetime => {
            locate_datetime(ty, value, &mut cx)
        }
        TypeId::Time if by == Comparison::Time => {
            if no_time(value, &cx).is_some() {
                return Ok(Located::Unknown);
            }
            let Some((time, _)) = to_time(value, &mut cx)? else { return Ok(Located::Unknown) };
            let (cut, fsp) = (time.round(ty.scale, true), ty.scale);
            Ok(match cut.cmp(&time) {
                std::cmp::Ordering::Equal => Located::Exact(Value::Time(cut, fsp)),
                std::cmp::Ordering::Less => Located::Between(Some(Value::Time(cut, fsp))),
                std::cmp::Ordering::Greater => Located::Unknown,
            })
        }
        _ => locate_text(ty, by, value),
    }
}

fn whole(v: std::result::Result<i64, u64>) -> i128 {
    v.map_or_else(i128::from, i128::from)
}

fn integer_limits(ty: &SqlType) -> (i128, i128) {
    let bits = 8 * ty.id.int_width() as u32;
    if ty.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

fn locate_integer(ty: &SqlType, by: Comparison, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let (low, high) = integer_limits(ty);
    let make = |n: i128| if ty.unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
    let (floor, exact) = match (by, value) {
        (Comparison::Double, v) if exceeds_double(&v) => {
            return locate_integer(ty, by, ValueRef::Double(to_f64(v, cx)?), cx);
        }
        (_, ValueRef::Int(v)) => (i128::from(v), true),
        (_, ValueRef::UInt(v)) => (i128::from(v), true),
        (Comparison::Integer, v) => (whole(to_integer(v, cx)?), true),
        (Comparison::Decimal, v) => {
            let d = to_decimal(v, cx)?;
            let whole = d.truncate(0).unwrap_or(d);
            let exact = whole == d;
            match whole.to_i128() {
                Some(n) => (n - i128::from(!exact && d.is_negative()), exact),
                None if d.is_negative() => return Ok(Located::BelowAll),
                None => return Ok(Located::AboveAll),
            }
        }
        (_, v) => {
            let f = to_f64(v, cx)?;
            if f.is_nan() {
                return Ok(Located::Unknown);
            }
            if f.abs() >= EXACT_INTEGERS {
                let (first, last) = (f.next_down() as i128, f.next_up() as i128);
                return Ok(match () {
                    () if last < low => Located::BelowAll,
                    () if first > high => Located::AboveAll,
                    () => Located::Among(make(first.max(low)), make(last.min(high))),
                });
            }
            (f.floor() as i128, f.floor() == f)
        }
    };
    Ok(if floor < low {
        Located::BelowAll
    } else if floor > high {
        Located::AboveAll
    } else if exact {
        Located::Exact(make(floor))
    } else {
        Located::Between(Some(make(floor)))
    })
}

/// A DOUBLE has all integers below.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Numbers of fifteen digits come back from a DOUBLE as they were.
const EXACT_DECIMALS: f64 = 1e15;

/// An integer that is not the same as a DOUBLE, or may not be.
fn exceeds_double(value: &ValueRef<'_>) -> bool {
    match value {
        ValueRef::Int(v) => v.unsigned_abs() >= EXACT_INTEGERS as u64,
        ValueRef::UInt(v) => *v >= EXACT_INTEGERS as u64,
        _ => false,
    }
}

/// Between what numbers those lie that are `f` as a DOUBLE.
fn decimals_about(f: f64, scale: u8, limit: &Decimal) -> Located {
    let neighbours = [f.next_down(), f.next_up()].map(|f| Decimal::from_f64(f)?.round(scale));
    let [Some(first), Some(last)] = neighbours else { return Located::Unknown };
    let least = -*limit;
    match () {
        () if last < least => Located::BelowAll,
        () if first > *limit => Located::AboveAll,
        () => Located::Among(Value::Decimal(first.max(least)), Value::Decimal(last.min(*limit))),
    }
}

fn locate_small(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let n = whole(to_integer(value, cx)?);
    if ty.id == TypeId::Year {
        // A fraction, or digits that a DOUBLE does not have, lie between years.
        let year = (n == 0 || (1901..=2155).contains(&n)) && to_f64(value, cx)? == n as f64;
        return Ok(if year { Located::Exact(Value::Year(n as u16)) } else { Located::Unknown });
    }
    let width = ty.length.clamp(1, 64);
    Ok(if n < 0 {
        Located::BelowAll
    } else if n >> width != 0 {
        Located::AboveAll
    } else {
        Located::Exact(Value::Bit(n as u64, width as u8))
    })
}

fn locate_decimal(ty: &SqlType, by: Comparison, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let limit = Decimal::max_of(ty.length as u8, ty.scale);
    let d = match (by, value) {
        (Comparison::Double, v) => {
            let f = to_f64(v, cx)?;
            if f.abs() * 10_f64.powi(i32::from(ty.scale)) >= EXACT_DECIMALS {
                return Ok(decimals_about(f, ty.scale, &limit));
            }
            let d = Decimal::from_f64(f);
            // A DECIMAL has 30 digits behind its point: what is left of others lies beside the number.
            match d.and_then(|d| Some((d.truncate(ty.scale).filter(|cut| *cut == d)?, d.to_f64()))) {
                Some((cut, near)) if near != f => return Ok(between(&cut, near > f, ty.scale, &limit)),
                _ => d,
            }
        }
        (_, ValueRef::Double(f)) => Decimal::from_f64(f),
        (_, ValueRef::Float(f)) => Decimal::from_f64(f64::from(f)),
        (_, v) => Some(to_decimal(v, cx)?),
    };
    let Some(d) = d else { return Ok(Located::Unknown) };
    let Some(cut) = d.truncate(ty.scale) else { return Ok(Located::Unknown) };
    if cut.abs() > limit {
        return Ok(if d.is_negative() { Located::BelowAll } else { Located::AboveAll });
    }
    if cut == d {
        return Ok(Located::Exact(Value::Decimal(cut)));
    }
    Ok(between(&cut, d.is_negative(), ty.scale, &limit))
}

/// Right above a number, or right below it.
fn between(number: &Decimal, below: bool, scale: u8, limit: &Decimal) -> Located {
    if !below {
        return Located::Between(Some(Value::Decimal(*number)));
    }
    match number.checked_sub(&Decimal::from_i128(1, scale)) {
        Some(lower) if lower.abs() <= *limit => Located::Between(Some(Value::Decimal(lower))),
        _ => Located::BelowAll,
    }
}

fn locate_double(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let f = to_f64(value, cx)?;
    if f.is_nan() {
        return Ok(Located::Unknown);
    }
    if ty.id == TypeId::Double {
        return Ok(Located::Exact(Value::Double(f)));
    }
    let near = f as f32;
    if f64::from(near) == f {
        return Ok(Located::Exact(Value::Float(near)));
    }
    if !near.is_finite() {
        return Ok(if f < 0.0 { Located::BelowAll } else { Located::AboveAll });
    }
    let below = if f64::from(near) < f { near } else { near.next_down() };
    Ok(Located::Between(Some(Value::Float(below))))
}

fn locate_datetime(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    if matches!(value, ValueRef::Time(..)) {
        return Ok(Located::Unknown);
    }
    let Some((at, _)) = to_datetime(value, DateFlags::LAX, cx)? else { return Ok(Located::Unknown) };
    if ty.id == TypeId::Date {
        let date = Value::Date(at.date());
        let midnight = at.date().to_datetime() == at;
        return Ok(if midnight { Located::Exact(date) } else { Located::Between(Some(date)) });
    }
    let Some(cut) = at.round(ty.scale, true) else { return Ok(Located::Unknown) };
    if ty.id == TypeId::DateTime {
        let value = Value::DateTime(cut, ty.scale);
        return Ok(if cut == at { Located::Exact(value) } else { Located::Between(Some(value)) });
    }
    match Timestamp::from_local(cut, cx.zone) {
        Some((instant, false)) => {
            let value = Value::Timestamp(instant, ty.scale);
            Ok(if cut == at { Located::Exact(value) } else { Located::Between(Some(value)) })
        }
        _ => Ok(Located::Unknown),
    }
}

fn locate_text(ty: &SqlType, by: Comparison, value: ValueRef<'_>) -> Result<Located> {
    let Comparison::String(collation) = by else { return Ok(Located::Unknown) };
    if collation != ty.collation {
        return Ok(Located::Unknown);
    }
    let charset = collation.charset();
    let text = match value {
        ValueRef::Str(bytes, from) => {
            let converted = from.charset().convert(bytes, charset);
            if converted.lossy {
                // No text of the column is equal to it.
                return Ok(Located::Between(None));
            }
            converted.bytes.into_owned()
        }
        v => to_text(&v).into_owned(),
    };
    if ty.id == TypeId::Enum {
        let Some(members) = &ty.members else { return Ok(Located::Unknown) };
        return Ok(match members.find(&text) {
            Some(position) => Located::Exact(Value::Enum(position as u16, members.clone())),
            None if text.is_empty() => Located::Unknown,
            None => Located::Between(None),
        });
    }
    if !ty.id.is_string() {
        return Ok(Located::Unknown);
    }
    Ok(Located::Exact(Value::Str(text.into(), collation)))
}
