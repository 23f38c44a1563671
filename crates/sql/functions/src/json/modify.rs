//! Documents changed at paths, and merged.

use super::*;
use gannet_types::json::{self, Leg};
use gannet_types::{ErrorCode, Level, SqlError};

/// Paths and values in turn behind the document. Error 1582.
macro_rules! pairs_rule {
    ($($rule:ident $name:literal;)*) => {$(
        fn $rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
            if args.len().is_multiple_of(2) {
                return Err(sql_err!(WrongParamcountToNativeFct, $name));
            }
            Ok(SqlType::new(TypeId::Json))
        }
    )*};
}

pairs_rule! {
    set_rule "json_set";
    insert_rule "json_insert";
    replace_rule "json_replace";
    append_rule "json_array_append";
    array_insert_rule "json_array_insert";
}

/// The document, and the paths with their values. `None` when one of them is NULL.
fn edit(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    name: &str,
    change: fn(&mut Json, &Path, Json) -> Result<()>,
) -> Result<Value> {
    let mut json = document(cx, call, args, 0, name)?;
    for i in (1..args.len()).step_by(2) {
        if json.is_none() {
            break;
        }
        let path = single_path(call, args, i)?;
        let value = value_arg(cx, &call.args[i + 1], &args[i + 1])?;
        match (&mut json, path) {
            (Some(json), Some(path)) => change(json, &path, value)?,
            _ => json = None,
        }
    }
    json.map_or(Ok(Value::Null), |j| result(cx.room, &j))
}

/// Adds a value at a path that leads to nothing, if there is a place for it.
fn add(json: &mut Json, path: &Path, value: Json) {
    let Some((last, parents)) = path.0.split_last() else { return };
    let Some(parent) = Path::find_mut(parents, json) else { return };
    match (last, parent) {
        (Leg::Member(key), Json::Object(object)) => object.insert(key.clone(), value),
        (Leg::Cell(index), Json::Array(items)) => match index.within(items.len()) {
            Ok(_) => {}
            Err(true) => items.insert(0, value),
            Err(false) => items.push(value),
        },
        (Leg::Cell(index), other) => {
            let scalar = std::mem::replace(other, Json::Null);
            *other = match index.within(1) {
                Ok(_) => scalar,
                Err(true) => Json::Array(vec![value, scalar]),
                Err(false) => Json::Array(vec![scalar, value]),
            };
        }
        _ => {}
    }
}

fn json_set(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    edit(cx, call, args, "json_set", |json, path, value| {
        match Path::find_mut(&path.0, json) {
            Some(there) => *there = value,
            None => add(json, path, value),
        }
        Ok(())
    })
}

fn json_insert(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    edit(cx, call, args, "json_insert", |json, path, value| {
        if Path::find_mut(&path.0, json).is_none() {
            add(json, path, value);
        }
        Ok(())
    })
}

fn json_replace(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    edit(cx, call, args, "json_replace", |json, path, value| {
        if let Some(there) = Path::find_mut(&path.0, json) {
            *there = value;
        }
        Ok(())
    })
}

fn array_append(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    edit(cx, call, args, "json_array_append", |json, path, value| {
        match Path::find_mut(&path.0, json) {
            Some(Json::Array(items)) => items.push(value),
            Some(other) => {
                let first = std::mem::replace(other, Json::Null);
                *other = Json::Array(vec![first, value]);
            }
            None => {}
        }
        Ok(())
    })
}

fn array_insert(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    edit(cx, call, args, "json_array_insert", |json, path, value| {
        let Some((Leg::Cell(index), parents)) = path.0.split_last() else {
            return Err(sql_err!(JsonPathNotArrayCell));
        };
        if let Some(Json::Array(items)) = Path::find_mut(parents, json) {
            let at = match index.within(items.len()) {
                Ok(at) => at,
                Err(true) => 0,
                Err(false) => items.len(),
            };
            items.insert(at, value);
        }
        Ok(())
    })
}

fn json_remove(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut json = document(cx, call, args, 0, "json_remove")?;
    let mut paths = Vec::with_capacity(args.len() - 1);
    for i in 1..args.len() {
        let path = single_path(call, args, i)?;
        if path.as_ref().is_some_and(|p| p.0.is_empty()) {
            return Err(sql_err!(JsonVacuousPath));
        }
        paths.push(path);
    }
    for path in paths {
        let (Some(document), Some(path)) = (&mut json, path) else { return Ok(Value::Null) };
        let Some((last, parents)) = path.0.split_last() else { continue };
        match (last, Path::find_mut(parents, document)) {
            (Leg::Member(key), Some(Json::Object(object))) => {
                object.remove(key);
            }
            (Leg::Cell(index), Some(Json::Array(items))) => {
                if let Ok(at) = index.within(items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    json.map_or(Ok(Value::Null), |j| result(cx.room, &j))
}

fn merge_with(cx: &EvalContext<'_>, call: Call<'_>, args: &[Value], name: &str) -> Result<Value> {
    let mut documents = Vec::with_capacity(args.len());
    for i in 0..args.len() {
        documents.push(document(cx, call, args, i, name)?);
    }
    let Some(documents) = documents.into_iter().collect::<Option<Vec<Json>>>() else { return Ok(Value::Null) };
    let merged = documents.into_iter().reduce(json::merge_preserve);
    merged.map_or(Ok(Value::Null), |j| result(cx.room, &j))
}

fn merge_preserve(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    merge_with(cx, call, args, "json_merge_preserve")
}

fn merge(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = "'JSON_MERGE' is deprecated and will be removed in a future release. Please use \
                JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";
    cx.warnings.push(SqlError::with_message(ErrorCode::WarnDeprecatedSyntax, text).to_warning(Level::Warning));
    merge_with(cx, call, args, "json_merge")
}

/// NULL stays until a document that is no object replaces it.
fn merge_patch(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut merged: Option<Json> = None;
    for i in 0..args.len() {
        let patch = document(cx, call, args, i, "json_merge_patch")?;
        merged = match (merged, patch) {
            _ if args[i].is_null() => None,
            (_, None) => None,
            (None, Some(patch @ Json::Object(_))) if i > 0 => {
                let _ = patch;
                None
            }
            (None, Some(patch)) => Some(patch),
            (Some(target), Some(patch)) => Some(json::merge_patch(target, patch)),
        };
    }
    merged.map_or(Ok(Value::Null), |j| result(cx.room, &j))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("JSON_SET", 3, 3, set_rule, json_set, "Values at paths replaced or added.").variadic().sees_null(),
    FunctionDef::new("JSON_INSERT", 3, 3, insert_rule, json_insert, "Values added where paths lead to nothing.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_REPLACE", 3, 3, replace_rule, json_replace, "Values at paths replaced.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_ARRAY_APPEND", 3, 3, append_rule, array_append, "Values added to the ends of arrays.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_ARRAY_INSERT", 3, 3, array_insert_rule, array_insert, "Elements put into arrays.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_REMOVE", 2, 2, json_rule, json_remove, "What paths lead to is taken out.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_MERGE_PRESERVE", 2, 2, json_rule, merge_preserve, "Documents merged; all values stay.")
        .variadic()
        .sees_null(),
    FunctionDef::new("JSON_MERGE", 2, 2, json_rule, merge, "JSON_MERGE_PRESERVE (deprecated).").variadic().sees_null(),
    FunctionDef::new("JSON_MERGE_PATCH", 2, 2, json_rule, merge_patch, "Documents merged; later values win.")
        .variadic()
        .sees_null(),
];
