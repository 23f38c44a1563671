//! JSON and SQL values: each as the other.

use super::{Context, Stopped, recode};
use crate::charset::Charset;
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::{ErrorCode, Result, SqlError};
use crate::json::{Json, ParseError, parse_until};
use crate::room::Room;
use crate::sql_err;
use crate::sqltype::WireType;
use crate::value::{Value, ValueRef};

/// A document from text. Errors 3141 (naming the argument's position and the function) and 3157.
pub fn parse_json(
    text: &[u8],
    collation: CollationId,
    argument: usize,
    function: &str,
    stopped: Stopped,
    room: Room<'_>,
) -> Result<Json> {
    let text = utf8(text, collation)?;
    parse_until(&text, stopped, room).map_err(|e| match e {
        ParseError::TooDeep => sql_err!(JsonDocumentTooDeep),
        ParseError::Stopped => sql_err!(QueryInterrupted),
        ParseError::NoRoom => sql_err!(OutOfSortmemory),
        ParseError::Invalid(message, at) => sql_err!(InvalidJsonTextInParam, argument, function, message, at),
    })
}

/// Text in UTF-8. Error 3144 for bytes.
fn utf8(text: &[u8], collation: CollationId) -> Result<std::borrow::Cow<'_, [u8]>> {
    match collation.charset() {
        Charset::Binary => Err(sql_err!(InvalidJsonCharset, "binary")),
        charset => Ok(recode(text, charset, Charset::Utf8mb4).bytes),
    }
}

/// The JSON value of an SQL value; text becomes a string, not a document.
pub fn to_json(v: ValueRef<'_>, cx: &Context<'_>) -> Result<Json> {
    Ok(match v.localize(cx.zone) {
        ValueRef::Null => Json::Null,
        ValueRef::Int(n) => Json::Int(n),
        ValueRef::UInt(n) => Json::UInt(n),
        ValueRef::Year(n) => Json::UInt(u64::from(n)),
        ValueRef::Decimal(d) => Json::Decimal(d),
        ValueRef::Float(d) => Json::Double(f64::from(d)),
        ValueRef::Double(d) => Json::Double(d),
        ValueRef::Str(bytes, CollationId::BINARY) => Json::Opaque(WireType::VarChar as u8, bytes.into()),
        ValueRef::Str(text, collation) => {
            Json::String(String::from_utf8_lossy(&utf8(text, collation)?).into_owned().into())
        }
        ValueRef::Date(d) => Json::Date(d),
        ValueRef::Time(t, _) => Json::Time(t),
        ValueRef::DateTime(d, _) if matches!(v, ValueRef::Timestamp(..)) => Json::Timestamp(d),
        ValueRef::DateTime(d, _) => Json::DateTime(d),
        ValueRef::Timestamp(t, _) => Json::Timestamp(t.to_local(cx.zone)),
        ValueRef::Bit(..) => {
            let mut bytes = Vec::new();
            v.write_text(&mut bytes);
            Json::Opaque(WireType::Bit as u8, bytes.into())
        }
        ValueRef::Enum(..) | ValueRef::Set(..) => {
            let mut name = Vec::new();
            v.write_text(&mut name);
            Json::String(String::from_utf8_lossy(&name).into_owned().into())
        }
        ValueRef::Json(stored) => Json::decode(stored, cx.room)?,
    })
}

/// `CAST(v AS JSON)`: text is parsed, all else becomes a JSON value.
pub(super) fn cast_json(v: ValueRef<'_>, cx: &Context<'_>) -> Result<Value> {
    let json = match v {
        ValueRef::Json(stored) => return Ok(Value::Json(stored.into())),
        ValueRef::Str(text, collation) if !collation.is_binary() => {
            parse_json(text, collation, 1, "cast_as_json", cx.stopped, cx.room)?
        }
        other => to_json(other, cx)?,
    };
    Ok(Value::Json(json.to_text(cx.room)?))
}

/// A value for a JSON column: JSON, or text that is parsed. Errors 3140, 3144, 3151, 3157.
pub(super) fn store_json(v: ValueRef<'_>, column: &str, stopped: Stopped, room: Room<'_>) -> Result<Value> {
    let invalid = |message: &str, at: usize| {
        let text = format!("Invalid JSON text: \"{message}\" at position {at} in value for column '{column}'.");
        SqlError::with_message(ErrorCode::InvalidJsonText, text)
    };
    let json = match v {
        ValueRef::Json(stored) => {
            let long = stored.len() > 0xFFFF && Json::decode(stored, room)?.has_long_key();
            return if long { Err(sql_err!(JsonKeyTooBig)) } else { Ok(Value::Json(stored.into())) };
        }
        ValueRef::Str(text, collation) => parse_until(&utf8(text, collation)?, stopped, room).map_err(|e| match e {
            ParseError::TooDeep => sql_err!(JsonDocumentTooDeep),
            ParseError::Stopped => sql_err!(QueryInterrupted),
            ParseError::NoRoom => sql_err!(OutOfSortmemory),
            ParseError::Invalid(message, at) => invalid(message, at),
        })?,
        ValueRef::Bit(..) => return Err(sql_err!(InvalidJsonCharset, "binary")),
        _ => return Err(invalid("not a JSON text, may need CAST", 0)),
    };
    if json.has_long_key() {
        return Err(sql_err!(JsonKeyTooBig));
    }
    Ok(Value::Json(json.to_text(room)?))
}

/// The SQL value that a scalar is; `None` for arrays, objects and `null`, and with a warning 3156 for what a cast to
/// `what` cannot take.
pub(super) fn scalar(stored: &[u8], what: &str, cx: &mut Context<'_>) -> Result<Option<Value>> {
    let value = match Json::decode_scalar(stored)? {
        Some(Json::Bool(b)) => Value::Int(i64::from(b)),
        Some(Json::Int(v)) => Value::Int(v),
        Some(Json::UInt(v)) => Value::UInt(v),
        Some(Json::Double(v)) => Value::Double(v),
        Some(Json::Decimal(v)) => Value::Decimal(v),
        Some(Json::String(text)) => Value::Str(text.as_bytes().into(), CollationId::UTF8MB4_BIN),
        Some(Json::Date(d)) => Value::Date(d),
        Some(Json::Time(t)) => Value::Time(t, 6),
        Some(Json::DateTime(d) | Json::Timestamp(d)) => Value::DateTime(d, 6),
        None | Some(Json::Null | Json::Array(_) | Json::Object(_) | Json::Opaque(..)) => {
            cx.warn(ErrorCode::InvalidJsonValueForCast, &[&what, &"", &1])?;
            return Ok(None);
        }
    };
    Ok(Some(value))
}

/// The value that is read as a date or time: one of these, or text.
pub(super) fn temporal(stored: &[u8]) -> Option<Value> {
    Some(match Json::decode_scalar(stored).ok()?? {
        Json::String(text) => Value::Str(text.as_bytes().into(), CollationId::UTF8MB4_BIN),
        Json::Date(d) => Value::Date(d),
        Json::Time(t) => Value::Time(t, 6),
        Json::DateTime(d) | Json::Timestamp(d) => Value::DateTime(d, 6),
        _ => return None,
    })
}

/// As a number of a domain. Text that is none has warning 3156.
pub(super) fn number(stored: &[u8], what: &str, cx: &mut Context<'_>) -> Result<Value> {
    let value = scalar(stored, what, cx)?;
    if let Some(Value::Str(text, _)) = &value {
        let parsed = Decimal::parse(text);
        let (double, used, _) = super::float::parse_double(text);
        if used == 0 || super::number::rest_matters(text, used) {
            cx.warn(ErrorCode::InvalidJsonValueForCast, &[&what, &"", &1])?;
        }
        return Ok(if parsed.consumed == used { Value::Decimal(parsed.value) } else { Value::Double(double) });
    }
    Ok(value.unwrap_or(Value::Int(0)))
}
