//! Making documents, and asking them.

use super::*;
use gannet_types::json::{self, Object};
use std::cmp::Ordering;

fn json_array(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let items = args.iter().zip(call.args).map(|(v, ty)| value_arg(cx, ty, v)).collect::<Result<_>>()?;
    result(cx.room, &Json::Array(items))
}

fn object_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    if !args.len().is_multiple_of(2) {
        return Err(sql_err!(WrongParamcountToNativeFct, "json_object"));
    }
    Ok(SqlType::new(TypeId::Json).not_null())
}

fn json_object(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut members = Vec::with_capacity(args.len() / 2);
    for i in (0..args.len()).step_by(2) {
        if args[i].is_null() {
            return Err(sql_err!(JsonDocumentNullKey));
        }
        let key = utf8_arg(call, args, i)?;
        members.push((key.into(), value_arg(cx, &call.args[i + 1], &args[i + 1])?));
    }
    result(cx.room, &Json::Object(Object::of(members)))
}

/// Text or JSON only. Error 3064.
fn check_text(args: &[ArgInfo<'_>], json: bool, name: &str) -> Result<()> {
    let id = args[0].ty.id;
    if id.is_string() || id == TypeId::Null || json && id == TypeId::Json {
        return Ok(());
    }
    Err(sql_err!(IncorrectType, 1, name))
}

fn quote_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_text(args, false, "json_quote")?;
    // Each character may become an escape of six.
    Ok(rules::text_type(rules::chars_of(args[0].ty).saturating_mul(6) + 2, CollationId::UTF8MB4_BIN, true))
}

fn json_quote(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    json::write_quoted(&utf8_arg(call, args, 0)?, &mut out);
    Ok(text(out))
}

fn unquote_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_text(args, true, "json_unquote")?;
    if args[0].ty.id == TypeId::Json {
        return text_rule(cx, args);
    }
    Ok(rules::text_type(rules::chars_of(args[0].ty), CollationId::UTF8MB4_BIN, true))
}

fn json_unquote(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    if let Value::Json(stored) = &args[0] {
        match Json::decode_scalar(stored)? {
            Some(scalar) => scalar.write_scalar(&mut out, false),
            None => Json::write_stored(stored, &mut out),
        }
        return Ok(text(out));
    }
    let given = utf8_arg(call, args, 0)?;
    if given.len() < 2 || !given.starts_with('"') || !given.ends_with('"') {
        return Ok(text(given.into_bytes()));
    }
    convert::parse_json(given.as_bytes(), CollationId::DEFAULT, 1, "json_unquote", cx.stopped, cx.room)?
        .write_scalar(&mut out, false);
    Ok(text(out))
}

fn json_valid(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(match &args[0] {
        Value::Json(_) => true,
        Value::Str(_, collation) if !collation.is_binary() => {
            match json::parse_until(utf8_arg(call, args, 0)?.as_bytes(), cx.stopped, cx.room) {
                Err(json::ParseError::TooDeep) => return Err(sql_err!(JsonDocumentTooDeep)),
                Err(json::ParseError::Stopped) => return Err(sql_err!(QueryInterrupted)),
                Err(json::ParseError::NoRoom) => return Err(sql_err!(OutOfSortmemory)),
                parsed => parsed.is_ok(),
            }
        }
        _ => false,
    }))
}

/// As long as `UNSIGNED INTEGER` with its end.
const LONGEST_TYPE_NAME: u64 = 17;

fn type_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::text_type(LONGEST_TYPE_NAME, CollationId::UTF8MB4_BIN, true))
}

fn json_type(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_type")?;
    Ok(json.map_or(Value::Null, |j| rules::string(call, j.type_name())))
}

fn json_depth(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_depth")?;
    Ok(json.map_or(Value::Null, |j| Value::Int(j.depth() as i64)))
}

/// The part that an optional path argument leads to; `None` for NULL and for a path to nothing.
fn part(call: Call<'_>, args: &[Value], i: usize, json: Option<Json>) -> Result<Option<Json>> {
    if args.len() <= i {
        return Ok(json);
    }
    let path = single_path(call, args, i)?;
    let (Some(mut json), Some(path)) = (json, path) else { return Ok(None) };
    Ok(Path::find_mut(&path.0, &mut json).map(|part| std::mem::replace(part, Json::Null)))
}

fn json_length(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_length")?;
    Ok(part(call, args, 1, json)?.map_or(Value::Null, |j| Value::Int(j.length() as i64)))
}

fn json_keys(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_keys")?;
    match part(call, args, 1, json)? {
        Some(Json::Object(object)) => {
            result(cx.room, &Json::Array(object.iter().map(|(key, _)| Json::String(key.into())).collect()))
        }
        _ => Ok(Value::Null),
    }
}

fn json_extract(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_extract")?;
    let mut paths = Vec::with_capacity(args.len() - 1);
    for i in 1..args.len() {
        paths.push(path_arg(call, args, i)?);
    }
    let (Some(json), Some(paths)) = (json, paths.into_iter().collect::<Option<Vec<Path>>>()) else {
        return Ok(Value::Null);
    };
    let many = paths.len() > 1 || paths.iter().any(Path::matches_many);
    let mut found: Vec<&Json> = Vec::new();
    for path in &paths {
        found.append(&mut path.find(&json, cx.room)?);
    }
    match &found[..] {
        [] => Ok(Value::Null),
        [one] if !many => result(cx.room, one),
        all => results(cx.room, all),
    }
}

fn json_contains(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let target = document(cx, call, args, 0, "json_contains")?;
    let candidate = document(cx, call, args, 1, "json_contains")?;
    match (part(call, args, 2, target)?, candidate) {
        (Some(target), Some(candidate)) => Ok(Value::from(json::contains(&target, &candidate))),
        _ => Ok(Value::Null),
    }
}

fn json_contains_path(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_contains_path")?;
    let one = one_or_all(call, args, 1, "json_contains_path")?;
    let (Some(json), Some(one)) = (json, one) else { return Ok(Value::Null) };
    for i in 2..args.len() {
        let Some(path) = path_arg(call, args, i)? else { return Ok(Value::Null) };
        // The first path that decides ends the search.
        if path.exists(&json, cx.room)? == one {
            return Ok(Value::from(one));
        }
    }
    Ok(Value::from(!one))
}

fn json_overlaps(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match (document(cx, call, args, 0, "json_overlaps")?, document(cx, call, args, 1, "json_overlaps")?) {
        (Some(a), Some(b)) => Ok(Value::from(json::overlaps(&a, &b))),
        _ => Ok(Value::Null),
    }
}

fn member_of(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let array = document(cx, call, args, 1, "member of")?;
    let value = value_arg(cx, &call.args[0], &args[0])?;
    let equal = |j: &Json| json::compare(j, &value) == Ordering::Equal;
    Ok(match array {
        _ if args[0].is_null() => Value::Null,
        None => Value::Null,
        Some(Json::Array(items)) => Value::from(items.iter().any(equal)),
        Some(other) => Value::from(equal(&other)),
    })
}

fn json_pretty(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(json) = document(cx, call, args, 0, "json_pretty")? else { return Ok(Value::Null) };
    Ok(text(json.pretty(cx.room)?))
}

fn storage_size(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_storage_size")?;
    Ok(json.map_or(Value::Null, |j| Value::Int(j.mysql_size() as i64)))
}

/// Documents are stored anew with each change: nothing is left free.
fn storage_free(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_storage_free")?;
    Ok(json.map_or(Value::Null, |_| Value::Int(0)))
}

/// Truth as a JSON value: predicates among the values of JSON functions.
fn as_boolean(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let truth = convert::to_bool(args[0].as_ref(), &mut cx.conversion())?;
    truth.map_or(Ok(Value::Null), |b| result(cx.room, &Json::Bool(b)))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("JSON_ARRAY", 0, 0, json_not_null, json_array, "An array of the arguments.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_OBJECT", 0, 0, object_rule, json_object, "An object of keys and values in turn.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_QUOTE", 1, 1, quote_rule, json_quote, "A text as a JSON string, with quotes.").any_text(),
    FunctionDef::new("JSON_UNQUOTE", 1, 1, unquote_rule, json_unquote, "Text of a JSON value, without quotes.")
        .any_text(),
    FunctionDef::new("JSON_VALID", 1, 1, nullable_int, json_valid, "Is it a JSON document?"),
    FunctionDef::new("JSON_TYPE", 1, 1, type_rule, json_type, "Name of a JSON value's type."),
    FunctionDef::new("JSON_DEPTH", 1, 1, nullable_int, json_depth, "Nesting of a document; 1 for scalars."),
    FunctionDef::new("JSON_LENGTH", 1, 2, nullable_int, json_length, "Number of elements or members; 1 for scalars.")
        .sees_null(),
    FunctionDef::new("JSON_KEYS", 1, 2, json_rule, json_keys, "Keys of an object.").sees_null(),
    FunctionDef::new("JSON_EXTRACT", 2, 2, json_rule, json_extract, "The parts that paths lead to.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_CONTAINS", 2, 3, nullable_int, json_contains, "Is the second document in the first?")
        .sees_null(),
    FunctionDef::new(
        "JSON_CONTAINS_PATH",
        3,
        3,
        nullable_int,
        json_contains_path,
        "Lead one or all paths to something?",
    )
    .variadic()
    .sees_null(),
    FunctionDef::new("JSON_OVERLAPS", 2, 2, bool_rule, json_overlaps, "Have two documents anything in common?")
        .sees_null(),
    FunctionDef::new("MEMBER OF", 2, 2, bool_rule, member_of, "Is the value an element of the array?").sees_null(),
    FunctionDef::new("JSON_PRETTY", 1, 1, text_rule, json_pretty, "A document in lines, for reading.").any_text(),
    FunctionDef::new("JSON_STORAGE_SIZE", 1, 1, nullable_int, storage_size, "Bytes of MySQL's binary form."),
    FunctionDef::new("JSON_STORAGE_FREE", 1, 1, nullable_int, storage_free, "Bytes left free by changes in place."),
    FunctionDef::new("JSON BOOLEAN", 1, 1, json_rule, as_boolean, "A truth value as JSON (internal)."),
];
