//! Type rules that many functions share, and small helpers of evaluation.

use crate::def::{ArgInfo, Call, EvalContext, RuleContext};
use gannet_types::{
    CollationId, ErrorCode, Result, SqlType, TypeId, Value,
    charset::Charset,
    collation::{Coercibility, CollationSource, Purpose, aggregate_all, aggregate_for},
    convert,
    value::Text,
};
use std::borrow::Cow;

/// An operand as error 1690 prints it: text in quotes, a negative number as the operator it was written with.
#[cold]
pub(crate) fn operand(value: &Value) -> String {
    let bytes = bytes_of(value);
    let text = String::from_utf8_lossy(&bytes);
    match value {
        Value::Str(..) => format!("'{text}'"),
        _ => text.strip_prefix('-').map_or_else(|| text.to_string(), |number| format!("-({number})")),
    }
}

/// Any argument may be NULL.
pub(crate) fn nullable(args: &[ArgInfo<'_>]) -> bool {
    args.iter().any(|a| a.ty.nullable)
}

fn with_null(ty: SqlType, nullable: bool) -> SqlType {
    SqlType { nullable, ..ty }
}

/// BIGINT.
pub(crate) fn int(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(with_null(SqlType::BIGINT, nullable(args)))
}

/// BIGINT NOT NULL.
pub(crate) fn int_not_null(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::BIGINT.not_null())
}

/// 0 or 1.
pub(crate) fn truth(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(int_of(1, nullable(args)))
}

/// BIGINT UNSIGNED.
pub(crate) fn uint(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(with_null(SqlType::bigint_unsigned(), nullable(args)))
}

/// DOUBLE that may be NULL (out of a function's domain).
pub(crate) fn double(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::DOUBLE)
}

/// Where an argument's collation comes from; arguments which are no text take the connection's.
pub fn source(cx: RuleContext, a: &ArgInfo<'_>) -> CollationSource {
    match a.ty.id {
        TypeId::Json => CollationSource::new(CollationId::UTF8MB4_BIN, Coercibility::Implicit),
        TypeId::Null => CollationSource::new(cx.collation, Coercibility::Ignorable),
        TypeId::Bit => CollationSource::new(CollationId::BINARY, Coercibility::Implicit),
        _ if a.ty.is_text() || a.ty.id.is_binary_string() => a.collation,
        _ => CollationSource { ascii_only: true, ..CollationSource::new(cx.collation, Coercibility::Numeric) },
    }
}

/// The collation in which the text arguments of a call compare.
pub(crate) fn common_collation(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<CollationId> {
    let sources: Vec<CollationSource> = args.iter().map(|a| source(cx, a)).collect();
    Ok(aggregate_all(&sources, name)?.collation)
}

/// The collation of text made of the arguments' texts.
pub(crate) fn result_collation(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<CollationId> {
    Ok(result_source(cx, args, name)?.collation)
}

/// As [`result_collation`], with the coercibility. Numbers alone are literals of the connection's collation.
pub(crate) fn result_source(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<CollationSource> {
    // Of NULL alone no text is made.
    if !args.is_empty() && args.iter().all(|a| a.ty.id == TypeId::Null) {
        return Ok(CollationSource::new(CollationId::BINARY, Coercibility::Ignorable));
    }
    let sources: Vec<CollationSource> = args.iter().map(|a| source(cx, a)).collect();
    let mut result = aggregate_for(&sources, Purpose::Result, name)?;
    if result.coercibility == Coercibility::Numeric {
        result.coercibility = Coercibility::Coercible;
    }
    Ok(result)
}

/// A text type for `chars` characters.
pub(crate) fn text_type(chars: u64, collation: CollationId, nullable: bool) -> SqlType {
    let bytes = chars.saturating_mul(u64::from(collation.charset().max_len()));
    let binary = collation == CollationId::BINARY;
    let large = |id| SqlType { length: u32::try_from(bytes).unwrap_or(u32::MAX), ..SqlType::new(id) };
    let ty = match bytes {
        0..=65535 if binary => SqlType::varbinary(chars as u32),
        0..=65535 => SqlType::varchar(chars as u32, collation),
        65536..=0xFF_FFFF if binary => large(TypeId::MediumBlob),
        65536..=0xFF_FFFF => large(TypeId::MediumText).with_collation(collation),
        _ if binary => large(TypeId::LongBlob),
        _ => large(TypeId::LongText).with_collation(collation),
    };
    with_null(ty, nullable)
}

/// Text of ASCII characters in the connection's collation.
pub(crate) fn ascii_type(cx: RuleContext, chars: u64, nullable: bool) -> SqlType {
    text_type(chars, cx.collation, nullable)
}

/// Bytes.
pub(crate) fn bytes_type(bytes: u64, nullable: bool) -> SqlType {
    text_type(bytes, CollationId::BINARY, nullable)
}

/// BIGINT of so many characters.
pub(crate) fn int_of(width: u32, nullable: bool) -> SqlType {
    SqlType { length: width, nullable, ..SqlType::BIGINT }
}

/// Characters of an argument's text.
pub(crate) fn chars_of(ty: &SqlType) -> u64 {
    match ty.id {
        id if id.is_lob() && ty.has_own_length() => u64::from(ty.length) / u64::from(ty.collation.charset().max_len()),
        // Each of its bytes may be a character.
        id if id.is_lob() => u64::from(ty.length),
        TypeId::Json => u64::from(ty.length) / 4,
        _ => u64::from(ty.display_chars()),
    }
}

/// Characters of an argument's text in a result of that collation: among bytes a text counts its bytes.
pub(crate) fn chars_in(ty: &SqlType, collation: CollationId) -> u64 {
    let bytes_each = if collation == CollationId::BINARY { charset_of(ty).max_len() } else { 1 };
    chars_of(ty).saturating_mul(u64::from(bytes_each))
}

/// The integer an argument is, when that is known at binding time.
pub(crate) fn constant_int(arg: &ArgInfo<'_>) -> Option<i64> {
    Some(match arg.constant? {
        Value::Int(v) => *v,
        Value::UInt(v) => i64::try_from(*v).unwrap_or(i64::MAX),
        Value::Decimal(v) => v.to_i64().unwrap_or_else(|limit| limit),
        Value::Double(v) => v.round_ties_even() as i64,
        _ => return None,
    })
}

/// Digits of the second that an argument has as a date or time.
pub(crate) fn fsp_of(arg: &ArgInfo<'_>) -> u8 {
    match (arg.ty.id, arg.constant) {
        (TypeId::Time | TypeId::DateTime | TypeId::Timestamp, _) => arg.ty.scale,
        (_, Some(Value::Str(text, _))) => match text.iter().position(|b| *b == b'.') {
            Some(dot) => text[dot + 1..].iter().take_while(|b| b.is_ascii_digit()).count().min(6) as u8,
            None => 0,
        },
        (TypeId::Decimal | TypeId::Float | TypeId::Double, _) => arg.ty.scale.min(6),
        (id, _) if id.is_string() || id == TypeId::Json => 6,
        _ => 0,
    }
}

/// The text of a value in a character set. Error 3854 where it has no place there.
pub(crate) fn text_in(value: &Value, charset: Charset) -> Result<Cow<'_, [u8]>> {
    Ok(match value {
        Value::Str(text, own) => own.charset().fit(text, charset)?,
        Value::Json(stored) => {
            let mut text = Vec::new();
            gannet_types::json::Json::write_stored(stored, &mut text);
            Cow::Owned(Charset::Utf8mb4.fit(&text, charset)?.into_owned())
        }
        Value::Enum(..) | Value::Set(..) => {
            let name = bytes_of(value);
            Cow::Owned(Charset::Utf8mb4.fit(&name, charset)?.into_owned())
        }
        Value::Bit(..) => bytes_of(value),
        other => {
            let mut out = Vec::new();
            other.write_text(&mut out);
            if charset.is_wide() { Cow::Owned(charset.ascii(&out).into_owned()) } else { Cow::Owned(out) }
        }
    })
}

/// An error number that the binder left for the evaluation.
pub(crate) fn number_of(value: &Value) -> Option<u16> {
    match value {
        Value::UInt(n) => u16::try_from(*n).ok(),
        Value::Int(n) => u16::try_from(*n).ok(),
        _ => None,
    }
}

/// The text of a value of a type in a character set, with the decimals and zeros that the type asks for.
pub(crate) fn text_of<'v>(value: &'v Value, ty: &SqlType, charset: Charset) -> Result<Cow<'v, [u8]>> {
    match value.shown_as(ty) {
        Some(text) => Ok(Cow::Owned(charset.ascii(&text).into_owned())),
        None => text_in(value, charset),
    }
}

/// An argument's text in the result's character set.
pub(crate) fn arg_text<'v>(call: Call<'_>, args: &'v [Value], i: usize) -> Result<Cow<'v, [u8]>> {
    text_of(&args[i], &call.args[i], call.ty.collation.charset())
}

/// An argument's text in its own character set, where all of it has its place.
pub(crate) fn own_text<'v>(call: Call<'_>, args: &'v [Value], i: usize) -> Cow<'v, [u8]> {
    text_of(&args[i], &call.args[i], charset_of(&call.args[i])).unwrap_or_else(|_| bytes_of(&args[i]))
}

/// The character set of a value's text: what is no text is ASCII.
pub(crate) fn charset_of(ty: &SqlType) -> Charset {
    match ty.id {
        TypeId::Json => Charset::Utf8mb4,
        id if id.is_string() => ty.collation.charset(),
        TypeId::Enum | TypeId::Set => ty.collation.charset(),
        TypeId::Bit => Charset::Binary,
        _ => Charset::Ascii,
    }
}

/// The collation in which the arguments compare; the binder has given text arguments one collation.
pub(crate) fn collation_of(types: &[SqlType]) -> CollationId {
    if types.iter().any(|t| t.id.is_binary_string()) {
        return CollationId::BINARY;
    }
    let of = |t: &SqlType| match t.id {
        TypeId::Json => Some(CollationId::UTF8MB4_BIN),
        _ => t.is_text().then_some(t.collation),
    };
    types.iter().find_map(of).unwrap_or(CollationId::DEFAULT)
}

/// The bytes of a value's text.
pub(crate) fn bytes_of(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Str(text, _) => Cow::Borrowed(text.as_bytes()),
        other => {
            let mut out = Vec::new();
            other.write_text(&mut out);
            Cow::Owned(out)
        }
    }
}

/// A signed integer argument.
pub(crate) fn int_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<i64> {
    convert::to_i64(value.as_ref(), &mut cx.conversion())
}

/// A double argument.
pub(crate) fn double_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<f64> {
    convert::to_f64(value.as_ref(), &mut cx.conversion())
}

/// A signed integer argument; an unsigned one beyond is the largest.
pub(crate) fn count_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<i64> {
    let number = convert::to_integer(value.as_ref(), &mut cx.conversion())?;
    Ok(number.unwrap_or_else(|u| i64::try_from(u).unwrap_or(i64::MAX)))
}

/// Text in the result's collation.
pub(crate) fn string(call: Call<'_>, bytes: impl Into<Text>) -> Value {
    Value::Str(bytes.into(), call.ty.collation)
}

/// May a result have so many bytes?
pub(crate) fn fits(cx: &EvalContext<'_>, bytes: u64) -> bool {
    bytes <= cx.max_allowed_packet
}

/// NULL with warning 1301: the result is longer than max_allowed_packet.
pub(crate) fn too_long(cx: &mut EvalContext<'_>, name: &str) -> Result<Value> {
    let limit = cx.max_allowed_packet;
    cx.conversion().warn(ErrorCode::WarnAllowedPacketOverflowed, &[&name, &limit])?;
    Ok(Value::Null)
}

/// NULL with warning 1411: an argument is not what the function takes.
pub(crate) fn wrong_value(cx: &mut EvalContext<'_>, kind: &str, value: &[u8], name: &str) -> Result<Value> {
    let text = String::from_utf8_lossy(value);
    let shown: String = text.chars().take(128).collect();
    cx.conversion().warn(ErrorCode::WrongValueForType, &[&kind, &shown, &name])?;
    Ok(Value::Null)
}

/// Error 1317 when the statement was killed: long loops ask now and then.
pub(crate) fn check_interrupt(cx: &EvalContext<'_>) -> Result<()> {
    if cx.session.interrupted() { Err(gannet_types::sql_err!(QueryInterrupted)) } else { Ok(()) }
}
