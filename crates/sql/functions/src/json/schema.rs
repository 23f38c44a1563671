//! JSON Schema, draft 4 (json-schema.org/specification-links#draft-4): JSON_SCHEMA_VALID,
//! JSON_SCHEMA_VALIDATION_REPORT.

use super::*;
use fancy_regex::{Regex, RegexBuilder};
use gannet_types::json::{self, Object};
use gannet_types::{SqlError, Value};
use std::cmp::Ordering;

/// Schemas within schemas, references followed.
const MAX_DEPTH: usize = 100;

/// Where and why a document does not fit.
struct Failure {
    keyword: &'static str,
    schema: String,
    document: String,
}

enum Verdict {
    Failed(Failure),
    Refused(SqlError),
}

impl From<SqlError> for Verdict {
    fn from(e: SqlError) -> Verdict {
        Verdict::Refused(e)
    }
}

type Outcome = std::result::Result<(), Verdict>;

struct Validator<'s> {
    root: &'s Json,
    schema_at: Vec<String>,
    document_at: Vec<String>,
    depth: usize,
}

/// A JSON pointer as the fragment of a URI.
fn pointer(parts: &[String]) -> String {
    let mut out = String::from("#");
    for part in parts {
        out.push('/');
        for b in part.bytes() {
            match b {
                b'~' => out.push_str("~0"),
                b'/' => out.push_str("~1"),
                b if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_') => out.push(char::from(b)),
                b => out.push_str(&format!("%{b:02X}")),
            }
        }
    }
    out
}

fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Int(v) => Some(*v as f64),
        Json::UInt(v) => Some(*v as f64),
        Json::Double(v) => Some(*v),
        Json::Decimal(v) => Some(v.to_f64()),
        _ => None,
    }
}

fn is_type(json: &Json, name: &str) -> bool {
    match name {
        "null" => matches!(json, Json::Null),
        "boolean" => matches!(json, Json::Bool(_)),
        "object" => matches!(json, Json::Object(_)),
        "array" => matches!(json, Json::Array(_)),
        "string" => matches!(
            json,
            Json::String(_) | Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Timestamp(_) | Json::Opaque(..)
        ),
        "integer" => matches!(json, Json::Int(_) | Json::UInt(_)),
        "number" => number(json).is_some(),
        _ => false,
    }
}

fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).backtrack_limit(100_000).delegate_size_limit(1 << 20).build().ok()
}

impl Validator<'_> {
    fn fail(&self, keyword: &'static str) -> Verdict {
        Verdict::Failed(Failure { keyword, schema: pointer(&self.schema_at), document: pointer(&self.document_at) })
    }

    fn check(&mut self, ok: bool, keyword: &'static str) -> Outcome {
        if ok { Ok(()) } else { Err(self.fail(keyword)) }
    }

    /// Validates against a schema at a place below the current one.
    fn below(&mut self, places: &[&str], schema: &Json, json: &Json) -> Outcome {
        let before = self.schema_at.len();
        self.schema_at.extend(places.iter().map(|p| (*p).to_owned()));
        let outcome = self.value(schema, json);
        self.schema_at.truncate(before);
        outcome
    }

    fn member(&mut self, key: &str, places: &[&str], schema: &Json, json: &Json) -> Outcome {
        self.document_at.push(key.to_owned());
        let outcome = self.below(places, schema, json);
        self.document_at.pop();
        outcome
    }

    fn value(&mut self, schema: &Json, json: &Json) -> Outcome {
        let Json::Object(schema) = schema else { return Ok(()) };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(sql_err!(JsonDocumentTooDeep).into());
        }
        let outcome = self.object_schema(schema, json);
        self.depth -= 1;
        outcome
    }

    fn object_schema(&mut self, schema: &Object, json: &Json) -> Outcome {
        if let Some(Json::String(reference)) = schema.get("$ref") {
            return self.reference(reference, json);
        }
        match schema.get("type") {
            Some(Json::String(name)) => self.check(is_type(json, name), "type")?,
            Some(Json::Array(names)) => {
                let any = names.iter().any(|n| matches!(n, Json::String(name) if is_type(json, name)));
                self.check(any, "type")?;
            }
            _ => {}
        }
        match json {
            Json::Object(object) => self.object(schema, object, json)?,
            Json::Array(items) => self.array(schema, items)?,
            Json::String(text) => self.string(schema, text)?,
            _ => {
                if let Some(n) = number(json) {
                    self.number(schema, json, n)?;
                }
            }
        }
        if let Some(Json::Array(values)) = schema.get("enum") {
            self.check(values.iter().any(|v| json::compare(v, json) == Ordering::Equal), "enum")?;
        }
        self.combined(schema, json)
    }

    /// `#/definitions/x`, within the schema. Error 1235 for other documents.
    fn reference(&mut self, reference: &str, json: &Json) -> Outcome {
        let Some(path) = reference.strip_prefix('#') else {
            return Err(SqlError::unsupported("references in JSON Schema").into());
        };
        let mut target = self.root;
        let mut places = Vec::new();
        for part in path.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            let next = match target {
                Json::Object(object) => object.get(&key),
                Json::Array(items) => key.parse::<usize>().ok().and_then(|n| items.get(n)),
                _ => None,
            };
            let Some(next) = next else { return Ok(()) };
            target = next;
            places.push(key);
        }
        let outer = std::mem::replace(&mut self.schema_at, places);
        let outcome = self.value(target, json);
        self.schema_at = outer;
        outcome
    }

    fn combined(&mut self, schema: &Object, json: &Json) -> Outcome {
        let list = |name: &str| match schema.get(name) {
            Some(Json::Array(schemas)) => Some(schemas),
            _ => None,
        };
        for (name, wanted) in [("allOf", 0), ("anyOf", 1), ("oneOf", 2)] {
            let Some(schemas) = list(name) else { continue };
            let mut valid = 0;
            for (i, one) in schemas.iter().enumerate() {
                valid += usize::from(self.accepts(&[name, &i.to_string()], one, json)?);
            }
            let ok = match wanted {
                0 => valid == schemas.len(),
                1 => valid > 0,
                _ => valid == 1,
            };
            let keyword = ["allOf", "anyOf", "oneOf"][wanted];
            self.check(ok, keyword)?;
        }
        if let Some(not) = schema.get("not") {
            let accepted = self.accepts(&["not"], not, json)?;
            self.check(!accepted, "not")?;
        }
        Ok(())
    }

    fn accepts(&mut self, places: &[&str], schema: &Json, json: &Json) -> std::result::Result<bool, Verdict> {
        let (depth, document) = (self.depth, self.document_at.len());
        let outcome = self.below(places, schema, json);
        self.depth = depth;
        self.document_at.truncate(document);
        match outcome {
            Ok(()) => Ok(true),
            Err(Verdict::Failed(_)) => Ok(false),
            Err(refused) => Err(refused),
        }
    }

    fn number(&mut self, schema: &Object, json: &Json, n: f64) -> Outcome {
        let exclusive = |name: &str| matches!(schema.get(name), Some(Json::Bool(true)));
        if let Some(least) = schema.get("minimum").filter(|m| number(m).is_some()) {
            let order = json::compare(json, least);
            let strict = exclusive("exclusiveMinimum");
            self.check(order == Ordering::Greater || !strict && order == Ordering::Equal, "minimum")?;
        }
        if let Some(most) = schema.get("maximum").filter(|m| number(m).is_some()) {
            let order = json::compare(json, most);
            let strict = exclusive("exclusiveMaximum");
            self.check(order == Ordering::Less || !strict && order == Ordering::Equal, "maximum")?;
        }
        if let Some(unit) = schema.get("multipleOf").and_then(number).filter(|u| *u > 0.0) {
            let rest = (n / unit).round().mul_add(-unit, n).abs();
            self.check(rest <= unit * 1e-9, "multipleOf")?;
        }
        Ok(())
    }

    fn size(&mut self, schema: &Object, n: usize, names: [&'static str; 2]) -> Outcome {
        for (name, least) in [(names[0], true), (names[1], false)] {
            if let Some(limit) = schema.get(name).and_then(number) {
                self.check(if least { n as f64 >= limit } else { n as f64 <= limit }, name)?;
            }
        }
        Ok(())
    }

    fn string(&mut self, schema: &Object, text: &str) -> Outcome {
        self.size(schema, text.chars().count(), ["minLength", "maxLength"])?;
        if let Some(Json::String(expression)) = schema.get("pattern")
            && let Some(regex) = pattern(expression)
        {
            self.check(regex.is_match(text).unwrap_or(false), "pattern")?;
        }
        Ok(())
    }

    fn array(&mut self, schema: &Object, items: &[Json]) -> Outcome {
        for (i, item) in items.iter().enumerate() {
            let place = i.to_string();
            match schema.get("items") {
                Some(Json::Array(schemas)) => match (schemas.get(i), schema.get("additionalItems")) {
                    (Some(one), _) => self.member(&place, &["items", &place], one, item)?,
                    (None, Some(Json::Bool(false))) => {
                        self.document_at.push(place);
                        return Err(self.fail("additionalItems"));
                    }
                    (None, Some(more)) => self.member(&place, &["additionalItems"], more, item)?,
                    (None, None) => {}
                },
                Some(one) => self.member(&place, &["items"], one, item)?,
                None => {}
            }
        }
        self.size(schema, items.len(), ["minItems", "maxItems"])?;
        if matches!(schema.get("uniqueItems"), Some(Json::Bool(true))) {
            let mut sorted: Vec<&Json> = items.iter().collect();
            sorted.sort_by(|a, b| json::compare(a, b));
            let repeated = sorted.windows(2).any(|w| json::compare(w[0], w[1]) == Ordering::Equal);
            self.check(!repeated, "uniqueItems")?;
        }
        Ok(())
    }

    /// `json`: the object as a value.
    fn object(&mut self, schema: &Object, object: &Object, json: &Json) -> Outcome {
        let members = |name: &str| match schema.get(name) {
            Some(Json::Object(members)) => Some(members),
            _ => None,
        };
        let patterns: Vec<(&str, Option<Regex>, &Json)> = members("patternProperties")
            .map(|p| p.iter().map(|(text, one)| (text, pattern(text), one)).collect())
            .unwrap_or_default();
        for (key, value) in object.iter() {
            let mut known = false;
            if let Some(one) = members("properties").and_then(|p| p.get(key)) {
                known = true;
                self.member(key, &["properties", key], one, value)?;
            }
            for (text, regex, one) in &patterns {
                if regex.as_ref().is_some_and(|r| r.is_match(key).unwrap_or(false)) {
                    known = true;
                    self.member(key, &["patternProperties", text], one, value)?;
                }
            }
            match schema.get("additionalProperties") {
                Some(Json::Bool(false)) if !known => {
                    self.document_at.push(key.to_owned());
                    return Err(self.fail("additionalProperties"));
                }
                Some(more @ Json::Object(_)) if !known => {
                    self.member(key, &["additionalProperties"], more, value)?;
                }
                _ => {}
            }
        }
        if let Some(Json::Array(names)) = schema.get("required") {
            let all = names.iter().all(|n| !matches!(n, Json::String(name) if object.get(name).is_none()));
            self.check(all, "required")?;
        }
        self.size(schema, object.len(), ["minProperties", "maxProperties"])?;
        for (key, dependency) in members("dependencies").into_iter().flat_map(Object::iter) {
            if object.get(key).is_none() {
                continue;
            }
            let ok = match dependency {
                Json::Array(names) => {
                    names.iter().all(|n| !matches!(n, Json::String(name) if object.get(name).is_none()))
                }
                one => self.accepts(&["dependencies", key], one, json)?,
            };
            self.check(ok, "dependencies")?;
        }
        Ok(())
    }
}

/// Is there a reference to another document, used or not?
fn has_remote_reference(schema: &Json) -> bool {
    match schema {
        Json::Array(items) => items.iter().any(has_remote_reference),
        Json::Object(object) => object.iter().any(|(key, value)| match value {
            Json::String(to) => key == "$ref" && !to.starts_with('#'),
            other => has_remote_reference(other),
        }),
        _ => false,
    }
}

/// `None` for NULL arguments; else the failure, if there is one. Errors 3141, 3146, 3853.
fn validate(cx: &EvalContext<'_>, call: Call<'_>, args: &[Value], name: &str) -> Result<Option<Option<Failure>>> {
    let schema = document(cx, call, args, 0, name)?;
    if let Some(schema) = &schema
        && !matches!(schema, Json::Object(_))
    {
        return Err(sql_err!(InvalidJsonType, 1, name, "object"));
    }
    let json = document(cx, call, args, 1, name)?;
    let (Some(schema), Some(json)) = (schema, json) else { return Ok(None) };
    if has_remote_reference(&schema) {
        return Err(SqlError::unsupported("references in JSON Schema"));
    }
    let mut validator = Validator { root: &schema, schema_at: Vec::new(), document_at: Vec::new(), depth: 0 };
    match validator.value(&schema, &json) {
        Ok(()) => Ok(Some(None)),
        Err(Verdict::Failed(failure)) => Ok(Some(Some(failure))),
        Err(Verdict::Refused(e)) => Err(e),
    }
}

fn schema_valid(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let outcome = validate(cx, call, args, "json_schema_valid")?;
    Ok(outcome.map_or(Value::Null, |failure| Value::from(failure.is_none())))
}

fn validation_report(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(outcome) = validate(cx, call, args, "json_schema_validation_report")? else { return Ok(Value::Null) };
    let mut members = vec![("valid".into(), Json::Bool(outcome.is_none()))];
    if let Some(f) = outcome {
        let reason = format!(
            "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
            f.document, f.keyword, f.schema
        );
        members.push(("reason".into(), Json::String(reason.into())));
        members.push(("schema-location".into(), Json::String(f.schema.into())));
        members.push(("document-location".into(), Json::String(f.document.into())));
        members.push(("schema-failed-keyword".into(), Json::String(f.keyword.into())));
    }
    result(cx.room, &Json::Object(Object::of(members)))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("JSON_SCHEMA_VALID", 2, 2, bool_rule, schema_valid, "Does a document fit a JSON schema?")
        .sees_null(),
    FunctionDef::new(
        "JSON_SCHEMA_VALIDATION_REPORT",
        2,
        2,
        json_rule,
        validation_report,
        "Why a document does not fit a JSON schema.",
    )
    .sees_null(),
];
