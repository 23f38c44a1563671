//! JSON functions (manual, "JSON Functions").

pub(crate) mod aggregates;
mod modify;
mod read;
mod schema;
mod search;
pub mod table;
mod value;

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules,
};
use gannet_types::{
    CollationId, Result, SqlType, TypeId, Value,
    charset::Charset,
    convert,
    json::{Json, Path, PathError},
    room::Room,
    sql_err,
    sqltype::WireType,
};

/// All families.
pub(crate) static FAMILIES: [&[FunctionDef]; 5] =
    [read::FUNCTIONS, modify::FUNCTIONS, search::FUNCTIONS, schema::FUNCTIONS, value::FUNCTIONS];

/// A JSON value that may be NULL.
fn json_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::Json))
}

/// A JSON value; never NULL.
fn json_not_null(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::Json).not_null())
}

/// Text of any length, in `utf8mb4_bin`.
fn text_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::LongText).with_collation(CollationId::UTF8MB4_BIN))
}

fn nullable_int(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(21, true))
}

/// Truth.
fn bool_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(1, true))
}

/// An argument that is a document: JSON, or text that is parsed. `None` for NULL. Errors 3141, 3144, 3146; 1038
/// without room for its tree.
fn document(cx: &EvalContext<'_>, call: Call<'_>, args: &[Value], i: usize, name: &str) -> Result<Option<Json>> {
    let (stopped, room) = (cx.stopped, cx.room);
    match &args[i] {
        Value::Null => Ok(None),
        Value::Json(stored) => Json::decode(stored, room).map(Some),
        Value::Str(text, collation) if call.args[i].id != TypeId::Bit => {
            convert::parse_json(text, *collation, i + 1, name, stopped, room).map(Some)
        }
        Value::Enum(..) | Value::Set(..) => {
            convert::parse_json(&rules::bytes_of(&args[i]), CollationId::DEFAULT, i + 1, name, stopped, room).map(Some)
        }
        _ => Err(sql_err!(InvalidTypeForJson, i + 1, name)),
    }
}

/// An argument that is a value: text is a string, bytes keep the number of their type.
pub(crate) fn value_arg(cx: &mut EvalContext<'_>, ty: &SqlType, value: &Value) -> Result<Json> {
    match value {
        Value::Str(bytes, collation) if collation.is_binary() => {
            let ty = match ty.wire_type() {
                WireType::VarString => WireType::VarChar,
                other => other,
            };
            Ok(Json::Opaque(ty as u8, bytes.as_bytes().into()))
        }
        other => convert::to_json(other.as_ref(), &cx.conversion()),
    }
}

/// Error 3143 or 3157.
fn path_error(e: PathError) -> gannet_types::SqlError {
    match e {
        PathError::Invalid(at) => sql_err!(InvalidJsonPath, at, ""),
        PathError::TooDeep => sql_err!(JsonDocumentTooDeep),
    }
}

/// Text in UTF-8. Error 3144 for bytes.
fn utf8_arg(call: Call<'_>, args: &[Value], i: usize) -> Result<String> {
    let charset = rules::charset_of(&call.args[i]);
    if charset == Charset::Binary && call.args[i].id != TypeId::Bit {
        return Err(sql_err!(InvalidJsonCharset, "binary"));
    }
    let text = rules::own_text(call, args, i);
    Ok(String::from_utf8_lossy(&charset.convert(&text, Charset::Utf8mb4).bytes).into_owned())
}

/// An argument that is a path. `None` for NULL.
fn path_arg(call: Call<'_>, args: &[Value], i: usize) -> Result<Option<Path>> {
    if args[i].is_null() {
        return Ok(None);
    }
    Path::parse(&utf8_arg(call, args, i)?).map(Some).map_err(path_error)
}

/// A path that leads to one value at most. Error 3149.
fn single_path(call: Call<'_>, args: &[Value], i: usize) -> Result<Option<Path>> {
    let path = path_arg(call, args, i)?;
    match path {
        Some(path) if path.matches_many() => Err(sql_err!(InvalidJsonPathWildcard)),
        other => Ok(other),
    }
}

/// `'one'` or `'all'`; true for one. Error 3154.
fn one_or_all(call: Call<'_>, args: &[Value], i: usize, name: &str) -> Result<Option<bool>> {
    if args[i].is_null() {
        return Ok(None);
    }
    let text = utf8_arg(call, args, i)?;
    match () {
        () if text.eq_ignore_ascii_case("one") => Ok(Some(true)),
        () if text.eq_ignore_ascii_case("all") => Ok(Some(false)),
        () => Err(sql_err!(JsonBadOneOrAllArg, name)),
    }
}

/// A JSON value as a result.
fn result(room: Room<'_>, json: &Json) -> Result<Value> {
    Ok(Value::Json(json.to_text(room)?))
}

/// An array of parts of documents as a result.
fn results(room: Room<'_>, found: &[&Json]) -> Result<Value> {
    Ok(Value::Json(Json::array_text(found.iter().copied(), room)?))
}

/// UTF-8 text as a result.
fn text(bytes: Vec<u8>) -> Value {
    Value::Str(bytes.into(), CollationId::UTF8MB4_BIN)
}

#[cfg(test)]
mod tests;
