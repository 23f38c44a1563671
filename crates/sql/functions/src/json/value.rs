//! JSON_VALUE: what is at a path as an SQL value.

use super::*;

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
    // Of an array or object there is its text.
    if !value.is_scalar() && !call.ty.id.is_string() {
        return handled(4, sql_err!(WrongJsonTableValue, "json_value"));
    }
    let scalar = match value {
        Json::String(text) => Value::Str(text.as_bytes().into(), CollationId::UTF8MB4_BIN),
        Json::Bool(b) if !call.ty.id.is_string() => Value::Int(i64::from(*b)),
        other if call.ty.id.is_string() => {
            let mut out = Vec::new();
            match other.is_scalar() {
                true => other.write_scalar(&mut out, false),
                false => other.write(&mut out),
            }
            text(out)
        }
        other => Value::Json(other.to_text(cx.room)?),
    };
    let mut context = cx.conversion();
    context.strict = true;
    match convert::cast(scalar.as_ref(), call.ty, &mut context) {
        Ok(Value::Null) => handled(4, sql_err!(InvalidJsonValueForCast, call.ty.data_type(), "json_value", 1)),
        Ok(value) => Ok(value),
        Err(e) => handled(4, e),
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] =
    &[FunctionDef::new("JSON_VALUE", 6, 6, value_rule, json_value, "What is at a path as an SQL value.").sees_null()];
