//! Type rules that many functions share, and small helpers of evaluation.

use crate::def::{ArgInfo, EvalContext, RuleContext};
use gannet_types::{
    CollationId, Result, SqlType, TypeId, Value,
    charset::Charset,
    collation::{Coercibility, CollationSource, aggregate_all},
    convert,
};
use std::borrow::Cow;

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

/// BIGINT that may be NULL whatever the arguments are.
pub(crate) fn int_null(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::BIGINT)
}

/// BIGINT NOT NULL.
pub(crate) fn int_not_null(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::BIGINT.not_null())
}

/// BIGINT UNSIGNED.
pub(crate) fn uint(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(with_null(SqlType::bigint_unsigned(), nullable(args)))
}

/// DOUBLE that may be NULL (out of a function's domain).
pub(crate) fn double(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::DOUBLE)
}

/// The collation that the text arguments of a call have in common; arguments which are no text take the connection's.
pub(crate) fn common_collation(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<CollationId> {
    let sources: Vec<CollationSource> = args
        .iter()
        .map(|a| match a.ty.is_text() || a.ty.id.is_binary_string() {
            true => a.collation,
            false => CollationSource { ascii_only: true, ..CollationSource::new(cx.collation, Coercibility::Numeric) },
        })
        .collect();
    Ok(aggregate_all(&sources, name)?.collation)
}

/// A text type for `chars` characters.
pub(crate) fn text_type(chars: u64, collation: CollationId, nullable: bool) -> SqlType {
    let bytes = chars.saturating_mul(u64::from(collation.charset().max_len()));
    let ty = match bytes {
        0..=65535 if collation == CollationId::BINARY => SqlType::varbinary(chars as u32),
        0..=65535 => SqlType::varchar(chars as u32, collation),
        _ if collation == CollationId::BINARY => SqlType::new(TypeId::LongBlob),
        _ => SqlType::new(TypeId::LongText).with_collation(collation),
    };
    with_null(ty, nullable)
}

/// Characters of an argument's text.
pub(crate) fn chars_of(ty: &SqlType) -> u64 {
    u64::from(ty.display_chars())
}

/// Text as long as all arguments together.
pub(crate) fn text_sum(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = common_collation(cx, args, "concat")?;
    Ok(text_type(args.iter().map(|a| chars_of(a.ty)).sum(), collation, nullable(args)))
}

/// Text as long as the first argument, with its collation.
pub(crate) fn text_first(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let first = args.get(..1).unwrap_or_default();
    let collation = common_collation(cx, first, "substr")?;
    let chars = first.iter().map(|a| chars_of(a.ty)).sum();
    Ok(text_type(chars, collation, true))
}

/// Long text with the first argument's collation.
pub(crate) fn text_long(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = common_collation(cx, args.get(..1).unwrap_or_default(), "repeat")?;
    Ok(text_type(u64::from(u32::MAX), collation, true))
}

/// The common type of alternatives (IF, COALESCE, CASE, UNION).
pub(crate) fn common_type(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<SqlType> {
    let null = nullable(args);
    let known: Vec<ArgInfo<'_>> = args.iter().copied().filter(|a| a.ty.id != TypeId::Null).collect();
    let Some((first, rest)) = known.split_first() else { return Ok(SqlType::NULL) };
    if rest.iter().all(|a| a.ty.id == first.ty.id && a.ty.unsigned == first.ty.unsigned) {
        return merge_same(cx, &known, name, null);
    }
    let all = |f: fn(TypeId) -> bool| known.iter().all(|a| f(a.ty.id));
    let ty = if all(TypeId::is_numeric) {
        numeric_type(&known)
    } else if all(|id| matches!(id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp)) {
        SqlType::temporal(TypeId::DateTime, known.iter().map(|a| a.ty.scale).max().unwrap_or(0))
    } else {
        let collation = common_collation(cx, &known, name)?;
        text_type(known.iter().map(|a| chars_of(a.ty)).max().unwrap_or(0), collation, null)
    };
    Ok(with_null(ty, null))
}

fn merge_same(cx: RuleContext, args: &[ArgInfo<'_>], name: &str, null: bool) -> Result<SqlType> {
    let first = args[0].ty;
    let mut ty = first.clone();
    ty.zerofill = args.iter().all(|a| a.ty.zerofill);
    ty.scale = args.iter().map(|a| a.ty.scale).max().unwrap_or(0);
    match first.id {
        TypeId::Decimal => {
            let whole = args.iter().map(|a| a.ty.length.saturating_sub(u32::from(a.ty.scale))).max().unwrap_or(0);
            ty.length = (whole + u32::from(ty.scale)).min(65);
        }
        id if id.is_string() => {
            let collation = common_collation(cx, args, name)?;
            ty.length = args.iter().map(|a| a.ty.length).max().unwrap_or(0);
            ty.collation = collation;
            if collation == CollationId::BINARY && !id.is_binary_string() {
                ty = text_type(u64::from(ty.length), collation, null);
            }
        }
        TypeId::Enum | TypeId::Set if args.iter().any(|a| a.ty.members != first.members) => {
            let collation = common_collation(cx, args, name)?;
            ty = text_type(args.iter().map(|a| chars_of(a.ty)).max().unwrap_or(0), collation, null);
        }
        _ => {}
    }
    Ok(with_null(ty, null))
}

fn numeric_type(args: &[ArgInfo<'_>]) -> SqlType {
    if args.iter().any(|a| matches!(a.ty.id, TypeId::Float | TypeId::Double)) {
        return SqlType::DOUBLE;
    }
    let mixed_sign = args.iter().any(|a| a.ty.unsigned) && args.iter().any(|a| !a.ty.unsigned);
    let big = args.iter().any(|a| a.ty.id == TypeId::BigInt && a.ty.unsigned);
    if args.iter().any(|a| a.ty.id == TypeId::Decimal) || (mixed_sign && big) {
        let digits = args.iter().map(|a| convert::arith::decimal_digits(a.ty));
        let (mut whole, mut scale) = (0, 0);
        for (precision, s) in digits {
            whole = whole.max(precision.saturating_sub(s));
            scale = scale.max(s);
        }
        return SqlType::decimal((whole + scale).clamp(1, 65) as u8, scale.min(30) as u8);
    }
    if mixed_sign || !args.iter().all(|a| a.ty.unsigned) { SqlType::BIGINT } else { SqlType::bigint_unsigned() }
}

/// The text of a value in a character set.
pub(crate) fn text_in<'v>(value: &'v Value, charset: Charset) -> Cow<'v, [u8]> {
    match value {
        Value::Str(text, own) if own.charset() == charset => Cow::Borrowed(text.as_bytes()),
        Value::Str(text, own) => own.charset().convert(text, charset).bytes.into_owned().into(),
        other => {
            let mut out = Vec::new();
            other.write_text(&mut out);
            Cow::Owned(out)
        }
    }
}

/// The bytes of a value's text.
pub(crate) fn bytes_of(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Str(text, _) | Value::Json(text) => Cow::Borrowed(text.as_bytes()),
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

/// A text result; NULL with warning 1301 when it is longer than max_allowed_packet.
pub(crate) fn text(cx: &mut EvalContext<'_>, name: &str, bytes: Vec<u8>, ty: &SqlType) -> Result<Value> {
    if bytes.len() as u64 > cx.max_allowed_packet {
        return too_long(cx, name);
    }
    Ok(Value::Str(bytes.into(), ty.collation))
}

/// NULL with warning 1301.
pub(crate) fn too_long(cx: &mut EvalContext<'_>, name: &str) -> Result<Value> {
    let limit = cx.max_allowed_packet;
    cx.warnings.push(
        gannet_types::sql_err!(WarnAllowedPacketOverflowed, name, limit).to_warning(gannet_types::Level::Warning),
    );
    Ok(Value::Null)
}
