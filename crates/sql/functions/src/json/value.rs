//! JSON_VALUE: what is at a path as an SQL value.

use super::*;
use gannet_types::json;

/// What happens when there is no value, or none that fits: the code that the binder puts into the arguments.
pub(crate) const ON_NULL: i64 = 0;
/// See [`ON_NULL`].
pub(crate) const ON_ERROR: i64 = 1;
/// See [`ON_NULL`].
pub(crate) const ON_DEFAULT: i64 = 2;

fn value_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(512, CollationId::DEFAULT))
}

/// `JSON_VALUE(document, path, on empty, default, on error, default)`. The binder has set the type of RETURNING.
fn json_value(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let on = |i: usize| match &args[i] {
        Value::Int(n) => *n,
        _ => ON_NULL,
    };
    let handled = |i: usize, error: gannet_types::SqlError| match on(i) {
        ON_DEFAULT => Ok(args[i + 1].clone()),
        ON_ERROR => Err(error),
        _ => Ok(Value::Null),
    };
    let json = match document(cx, call, args, 0, "json_value") {
        Ok(json) => json,
        Err(e) if e.number() == 3141 => return handled(4, e),
        Err(e) => return Err(e),
    };
    let (Some(json), Some(path)) = (json, path_arg(call, args, 1)?) else { return Ok(Value::Null) };
    let found = path.find(&json, cx.room)?;
    let value = match &found[..] {
        [] => return handled(2, sql_err!(MissingJsonValue, "json_value")),
        [one] => *one,
        _ => return handled(4, sql_err!(MultipleJsonValues, "json_value")),
    };
    if *value == Json::Null {
        return Ok(Value::Null);
    }
    if call.ty.id == TypeId::Json {
        return result(cx.room, value);
    }
    let unfit = || sql_err!(DataOutOfRange, type_word(call.ty), "json_value");
    let Some(scalar) = taken(value, call.ty) else { return handled(4, unfit()) };
    if let (Value::Str(text, _), true) = (&scalar, call.ty.id.is_string())
        && let Err(e) = Charset::Utf8mb4.fit(text, call.ty.collation.charset())
    {
        return handled(4, e);
    }
    // Bytes are as many as there are.
    let bytes = SqlType::varbinary(call.ty.length);
    let ty = if call.ty.id == TypeId::Binary { &bytes } else { call.ty };
    let mut context = cx.conversion();
    context.strict = true;
    match convert::cast(scalar.as_ref(), ty, &mut context) {
        Ok(Value::Null) | Err(_) => handled(4, unfit()),
        Ok(value) => Ok(value),
    }
}

/// The value that is converted to the type; `None` for one that has none of it. Texts that are taken for integers have
/// digits only, dates and times are no numbers, and of an array or object there is its text.
fn taken(value: &Json, ty: &SqlType) -> Option<Value> {
    let text_of = |value: &Json| {
        let mut out = Vec::new();
        match value.is_scalar() {
            true => value.write_scalar(&mut out, false),
            false => value.write(&mut out),
        }
        text(out)
    };
    Some(match value {
        Json::String(text) if ty.id.is_integer() && json::whole_number(text).is_none() => return None,
        Json::String(text) => Value::Str(text.as_bytes().into(), CollationId::UTF8MB4_BIN),
        other if ty.id.is_string() => text_of(other),
        Json::Array(_) | Json::Object(_) => return None,
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Timestamp(_) if !ty.id.is_temporal() => return None,
        Json::Date(date) => Value::Date(*date),
        Json::Time(time) => Value::Time(*time, 6),
        Json::DateTime(t) | Json::Timestamp(t) => Value::DateTime(*t, 6),
        _ if ty.id.is_temporal() => return None,
        Json::Bool(b) => Value::Int(i64::from(*b)),
        Json::Int(n) if *n < 0 && ty.unsigned => return None,
        Json::Int(n) if ty.id == TypeId::Year && !(1901..=2155).contains(n) => return None,
        Json::Int(n) => Value::Int(*n),
        Json::UInt(n) => Value::UInt(*n),
        Json::Double(d) if *d <= -0.5 && ty.unsigned => return None,
        Json::Double(d) => Value::Double(*d),
        Json::Decimal(d) => Value::Decimal(*d),
        Json::Null | Json::Opaque(..) => return None,
    })
}

/// The name of a type in error 1690.
fn type_word(ty: &SqlType) -> &'static str {
    match ty.id {
        TypeId::BigInt if ty.unsigned => "UNSIGNED",
        TypeId::BigInt => "SIGNED",
        TypeId::Decimal => "DECIMAL",
        TypeId::Double => "DOUBLE",
        TypeId::Float => "FLOAT",
        TypeId::Date => "DATE",
        TypeId::Time => "TIME",
        TypeId::DateTime => "DATETIME",
        TypeId::Year => "YEAR",
        _ => "STRING",
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] =
    &[FunctionDef::new("JSON_VALUE", 6, 6, value_rule, json_value, "What is at a path as an SQL value.").sees_null()];
