//! `CAST(v AS type)` and implicit conversions of expressions to a type.

use super::{Context, number, time, to_date, to_datetime, to_decimal, to_f64, to_integer, to_text, to_time, utf8_text};
use crate::charset::Charset;
use crate::error::{ErrorCode, Level, Result, SqlError, Warning};
use crate::sql_err;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::DateFlags;
use crate::value::{Value, ValueRef};

/// Converts a value to a type as CAST does: NULL where a date or time cannot be read, limits with a warning where a
/// number is out of range, text cut to the type's length with warning 1292. In a strict context warnings are errors.
pub fn cast(v: ValueRef<'_>, ty: &SqlType, cx: &mut Context<'_>) -> Result<Value> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty.id {
        TypeId::Null => Value::Null,
        // Beyond 64 bits the limit is the target's.
        id if id.is_integer()
            && ty.unsigned
            && matches!(v, ValueRef::Decimal(d) if !d.is_negative() && d.to_u64().is_err()) =>
        {
            let _limit = to_integer(v, cx)?;
            Value::UInt(u64::MAX)
        }
        id if id.is_integer() => match (cast_integer(v, ty.unsigned, cx)?, ty.unsigned) {
            (Ok(n), false) => Value::Int(n),
            // A number stops at the limit where text wraps around.
            (Err(_), false) if matches!(v, ValueRef::Decimal(_)) => Value::Int(i64::MAX),
            (Err(n), false) => Value::Int(n as i64),
            (Ok(n), true) => Value::UInt(n as u64),
            (Err(n), true) => Value::UInt(n),
        },
        TypeId::Decimal => {
            let d = to_decimal(v, cx)?;
            match d.to_column(ty.length as u8, ty.scale) {
                Ok(d) => Value::Decimal(d),
                Err(limit) => {
                    cx.warn(ErrorCode::WarnDataOutOfRange, &[&"", &1])?;
                    Value::Decimal(limit)
                }
            }
        }
        TypeId::Double => Value::Double(to_f64(v, cx)?),
        TypeId::Float => match to_f64(v, cx)? as f32 {
            d if d.is_finite() => Value::Float(d),
            _ => return Err(too_great(v)),
        },
        TypeId::Date => to_date(v, DateFlags::from_mode(cx.mode), cx)?.map_or(Value::Null, Value::Date),
        TypeId::DateTime | TypeId::Timestamp => match to_datetime(v, DateFlags::from_mode(cx.mode), cx)? {
            Some((d, _)) => {
                d.round(ty.scale, time::cuts_fractions(cx.mode)).map_or(Value::Null, |d| Value::DateTime(d, ty.scale))
            }
            None => Value::Null,
        },
        TypeId::Time => match to_time(v, cx)? {
            Some((t, _)) => Value::Time(t.round(ty.scale, time::cuts_fractions(cx.mode)).clamp().0, ty.scale),
            None => Value::Null,
        },
        TypeId::Year => {
            let n = to_integer(v, cx)?.unwrap_or(i64::MAX);
            match year_of(n, false) {
                Some(y) => Value::Year(y),
                None => {
                    cx.truncated("YEAR", v)?;
                    Value::Null
                }
            }
        }
        TypeId::Bit => Value::Bit(number::to_integer(v, cx)?.map_or_else(|u| u, |n| n as u64), ty.length as u8),
        id if id.is_string() => cast_text(v, ty, cx)?,
        TypeId::Json => super::json::cast_json(v, cx)?,
        _ => return Err(SqlError::unsupported(format_args!("CAST to {}", ty.data_type()))),
    })
}

/// Error 1690 for what no FLOAT is near.
#[cold]
fn too_great(v: ValueRef<'_>) -> SqlError {
    let text = utf8_text(&v);
    let text = String::from_utf8_lossy(&text);
    let shown = match v {
        ValueRef::Str(..) => format!("'{text}'"),
        _ => text.strip_prefix('-').map_or_else(|| text.to_string(), |number| format!("-({number})")),
    };
    sql_err!(DataOutOfRange, "DOUBLE", format_args!("cast({shown} as float)"))
}

/// The integer of a CAST: text is told off for blanks at its end, and for what wraps around.
fn cast_integer(v: ValueRef<'_>, unsigned: bool, cx: &mut Context<'_>) -> Result<std::result::Result<i64, u64>> {
    let before = cx.warnings.total();
    let n = to_integer(v, cx)?;
    let ValueRef::Str(text, collation) = v else { return Ok(n) };
    if cx.warnings.total() != before || collation.charset() == Charset::Binary {
        return Ok(n);
    }
    if text.last().is_some_and(u8::is_ascii_whitespace) {
        cx.truncated("INTEGER", v)?;
    }
    let wraps = match n {
        Ok(n) if unsigned && n < 0 => Some("Cast to unsigned converted negative integer to it's positive complement"),
        Err(_) if !unsigned => {
            Some("Cast to signed converted positive out-of-range integer to it's negative complement")
        }
        _ => None,
    };
    if let Some(message) = wraps {
        let code = ErrorCode::UnknownError;
        cx.warnings.push(Warning::with_message(Level::Warning, code, message));
    }
    Ok(n)
}

/// A year of one or two digits is 1970..=2069; 0 is 0 as a number and 2000 as text.
pub(super) fn year_of(n: i64, text: bool) -> Option<u16> {
    match n {
        0 if !text => Some(0),
        0..=69 => Some(2000 + n as u16),
        70..=99 => Some(1900 + n as u16),
        1901..=2155 => Some(n as u16),
        _ => None,
    }
}

fn cast_text(v: ValueRef<'_>, ty: &SqlType, cx: &mut Context<'_>) -> Result<Value> {
    let text = to_text(&v);
    let charset = ty.collation.charset();
    let from = v.text_charset();
    let converted = super::recode(&text, from, charset);
    if converted.lossy && from == Charset::Binary {
        let bytes = &converted.bytes[charset.valid_prefix(&converted.bytes)..];
        let hex: String = bytes.iter().take(3).map(|b| format!("{b:02X}")).collect();
        // In strict changes, too.
        cx.warnings.push(Warning::new(Level::Warning, ErrorCode::InvalidCharacterString, &[&charset.name(), &hex]));
        return Ok(Value::Null);
    }
    let bytes = &converted.bytes[..];
    let limited = !ty.id.is_lob() && ty.length < SqlType::MAX_VARCHAR_BYTES;
    let keep = if limited { charset.prefix_len(bytes, ty.length as usize) } else { bytes.len() };
    if keep < bytes.len() {
        let name = if charset == Charset::Binary { "BINARY" } else { "CHAR" };
        cx.truncated(&format!("{name}({})", ty.length), ValueRef::Str(bytes, ty.collation))?;
    }
    let mut out = bytes[..keep].to_vec();
    if ty.id == TypeId::Binary {
        out.resize(ty.length as usize, 0);
    }
    Ok(Value::Str(out.into(), ty.collation))
}
