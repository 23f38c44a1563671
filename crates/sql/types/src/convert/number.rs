//! Any value as a number.

use super::{Context, float};
use crate::decimal::Decimal;
use crate::error::Result;
use crate::value::ValueRef;

/// An integer as MySQL carries it: signed or unsigned.
pub(crate) type Integer = Result<i64, u64>;

/// The double nearest to a value; text by its numeric prefix, with warning 1292 if there is more. NULL is 0.
pub fn to_f64(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<f64> {
    Ok(match v {
        ValueRef::Null => 0.0,
        ValueRef::Int(v) => v as f64,
        ValueRef::UInt(v) => v as f64,
        ValueRef::Double(v) => v,
        ValueRef::Float(v) => f64::from(v),
        ValueRef::Decimal(v) => v.to_f64(),
        ValueRef::Json(stored) => return to_f64(super::json::number(stored, "DOUBLE", cx)?.as_ref(), cx),
        ValueRef::Str(text, c) => {
            let text = &*c.charset().narrow(text);
            let (value, used, overflow) = float::parse_double(text);
            // A blank text is silently 0 as a DOUBLE; as an integer or DECIMAL it is told of.
            if overflow || text.iter().skip(used).any(|b| !b.is_ascii_whitespace()) {
                cx.truncated("DOUBLE", v)?;
            }
            value
        }
        ValueRef::Year(v) => f64::from(v),
        ValueRef::Bit(v, _) | ValueRef::Set(v, _) => v as f64,
        ValueRef::Enum(v, _) => f64::from(v),
        other => temporal_number(other).to_f64(),
    })
}

/// The value as a decimal; text by its numeric prefix, with warning 1292. NULL is 0.
pub fn to_decimal(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Decimal> {
    Ok(match v {
        ValueRef::Null => Decimal::ZERO,
        ValueRef::Int(v) => Decimal::from_i64(v),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => Decimal::from_u64(v),
        ValueRef::Year(v) | ValueRef::Enum(v, _) => Decimal::from_u64(u64::from(v)),
        ValueRef::Decimal(v) => v,
        ValueRef::Float(v) => double_to_decimal(f64::from(v)),
        ValueRef::Double(v) => double_to_decimal(v),
        ValueRef::Json(stored) => return to_decimal(super::json::number(stored, "DECIMAL", cx)?.as_ref(), cx),
        ValueRef::Str(text, c) => {
            let text = &*c.charset().narrow(text);
            let p = Decimal::parse(text);
            if p.overflow || rest_matters(text, p.consumed) {
                cx.truncated("DECIMAL", v)?;
            }
            p.value
        }
        other => temporal_number(other),
    })
}

pub(super) fn double_to_decimal(v: f64) -> Decimal {
    Decimal::from_f64(v).unwrap_or_else(|| {
        let max = Decimal::max_of(crate::decimal::MAX_PRECISION, 0);
        if v < 0.0 { -max } else { max }
    })
}

/// The number of a date or time: YYYYMMDD, YYYYMMDDhhmmss[.ffffff], [-]hhmmss[.ffffff]. 0 for everything else.
pub(super) fn temporal_number(v: ValueRef<'_>) -> Decimal {
    match v {
        ValueRef::Date(d) => Decimal::from_u64(u64::from(d.to_number())),
        ValueRef::DateTime(d, fsp) => with_fraction(i128::from(d.to_number()), d.micros(), fsp, false),
        ValueRef::Timestamp(t, fsp) => {
            let d = t.to_local(&crate::temporal::TimeZone::UTC);
            with_fraction(i128::from(d.to_number()), d.micros(), fsp, false)
        }
        ValueRef::Time(t, fsp) => {
            with_fraction(i128::from(t.to_number().unsigned_abs()), t.micros(), fsp, t.is_negative())
        }
        _ => Decimal::ZERO,
    }
}

fn with_fraction(whole: i128, micros: u32, fsp: u8, negative: bool) -> Decimal {
    let fsp = fsp.min(6);
    let unit = 10i128.pow(u32::from(fsp));
    let v = whole * unit + i128::from(micros / 10u32.pow(6 - u32::from(fsp)));
    Decimal::from_i128(if negative { -v } else { v }, fsp)
}

/// The value as an integer: fractions are rounded (doubles half to even, decimals half away from zero), text gives its leading integer
/// with warning 1292 if there is more. Out of range gives the nearest limit, with warning 1292. NULL is 0.
pub fn to_integer(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Integer> {
    Ok(match v {
        ValueRef::Null => Ok(0),
        ValueRef::Int(v) => Ok(v),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => Err(v),
        ValueRef::Year(v) | ValueRef::Enum(v, _) => Ok(i64::from(v)),
        ValueRef::Float(v) => double_to_integer(f64::from(v), cx)?,
        ValueRef::Double(v) => double_to_integer(v, cx)?,
        ValueRef::Decimal(v) => decimal_to_integer(&v, cx)?,
        ValueRef::Json(stored) => return to_integer(super::json::number(stored, "INTEGER", cx)?.as_ref(), cx),
        ValueRef::Str(text, c) => {
            let text = &*c.charset().narrow(text);
            let (value, used, overflow) = parse_integer(text);
            if overflow || rest_matters(text, used) {
                cx.truncated("INTEGER", v)?;
            }
            value
        }
        other => decimal_to_integer(&temporal_number(whole_seconds(other, cx)), cx)?,
    })
}

/// A time as an integer is rounded as a time, not as a number: half a second before a minute is the minute.
pub(super) fn whole_seconds<'v>(v: ValueRef<'v>, cx: &Context<'_>) -> ValueRef<'v> {
    let cut = super::time::cuts_fractions(cx.mode);
    match v.localize(cx.zone) {
        ValueRef::Time(t, fsp) if fsp > 0 => ValueRef::Time(t.round(0, cut).clamp().0, 0),
        ValueRef::DateTime(d, fsp) if fsp > 0 => d.round(0, cut).map_or(v, |d| ValueRef::DateTime(d, 0)),
        other => other,
    }
}

fn double_to_integer(v: f64, cx: &mut Context<'_>) -> Result<Integer> {
    let r = v.round_ties_even();
    // 2^63 as a double is exact; i64::MAX is not.
    if (-(2f64.powi(63))..=2f64.powi(63)).contains(&r) {
        return Ok(Ok(r as i64));
    }
    cx.truncated("INTEGER", ValueRef::Double(v))?;
    Ok(Ok(if v < 0.0 { i64::MIN } else { i64::MAX }))
}

fn decimal_to_integer(v: &Decimal, cx: &mut Context<'_>) -> Result<Integer> {
    match (v.to_i64(), v.to_u64()) {
        (Ok(v), _) => Ok(Ok(v)),
        (_, Ok(v)) => Ok(Err(v)),
        (Err(limit), _) => {
            cx.truncated("DECIMAL", ValueRef::Decimal(*v))?;
            Ok(Ok(limit))
        }
    }
}

/// As SIGNED: an unsigned value above `i64::MAX` wraps, as MySQL's `val_int` does.
pub fn to_i64(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<i64> {
    Ok(to_integer(v, cx)?.unwrap_or_else(|u| u as i64))
}

/// As UNSIGNED: a negative value wraps.
pub fn to_u64(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<u64> {
    Ok(match to_integer(v, cx)? {
        Ok(v) => v as u64,
        Err(v) => v,
    })
}

/// Truth of a value; `None` for NULL.
pub fn to_bool(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Option<bool>> {
    Ok(match v {
        ValueRef::Null => None,
        ValueRef::Int(v) => Some(v != 0),
        ValueRef::UInt(v) => Some(v != 0),
        ValueRef::Decimal(v) => Some(!v.is_zero()),
        other => Some(to_f64(other, cx)? != 0.0),
    })
}

/// Is there anything but white space behind the number (or no number in a text that is not blank)?
pub(super) fn rest_matters(text: &[u8], used: usize) -> bool {
    used == 0 || text[used.min(text.len())..].iter().any(|b| !b.is_ascii_whitespace())
}

/// `[space][+-]digits` at the front of text: value, bytes read, overflow.
pub(super) fn parse_integer(text: &[u8]) -> (Integer, usize, bool) {
    let mut at = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(matches!(text.get(at), Some(b'-' | b'+')));
    let start = at;
    let (mut v, mut overflow) = (0u64, false);
    while let Some(d) = text.get(at).filter(|b| b.is_ascii_digit()) {
        match v.checked_mul(10).and_then(|v| v.checked_add(u64::from(d - b'0'))) {
            Some(next) => v = next,
            None => overflow = true,
        }
        at += 1;
    }
    if at == start {
        return (Ok(0), 0, false);
    }
    if negative {
        let limit = 1u64 << 63;
        return if overflow || v > limit {
            (Ok(i64::MIN), at, true)
        } else {
            (Ok((v as i64).wrapping_neg()), at, false)
        };
    }
    if overflow {
        return (Err(u64::MAX), at, true);
    }
    (i64::try_from(v).map_err(|_| v), at, false)
}
