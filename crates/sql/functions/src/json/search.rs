//! JSON_SEARCH: paths of the strings that match a pattern.

use super::*;
use gannet_types::collation::LikePattern;
use gannet_types::convert::Stopped;
use gannet_types::json::{Index, Leg, write_leg};
use std::collections::HashSet;

/// Bytes of a path that was found, beside its text.
const FOUND: usize = 2 * size_of::<Json>() + 32;

struct Search<'p> {
    pattern: &'p LikePattern,
    stopped: Stopped,
    one: bool,
    room: Room<'p>,
    found: Vec<Json>,
    /// Texts of paths that were found, where one string may be found in several ways.
    known: Option<HashSet<Box<str>>>,
}

impl Search<'_> {
    /// Looks at all strings in a value that `at` leads to. False when the search is over.
    fn walk(&mut self, json: &Json, at: &mut Vec<Leg>) -> Result<bool> {
        match json {
            Json::String(text) => match self.pattern.matches_unless(text.as_bytes(), self.stopped) {
                Some(true) => self.note(at)?,
                Some(false) => {}
                None => return Err(sql_err!(QueryInterrupted)),
            },
            Json::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    at.push(Leg::Cell(Index { n, from_end: false }));
                    let more = self.walk(item, at)?;
                    at.pop();
                    if !more {
                        return Ok(false);
                    }
                }
            }
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    at.push(Leg::Member(key.into()));
                    let more = self.walk(value, at)?;
                    at.pop();
                    if !more {
                        return Ok(false);
                    }
                }
            }
            _ => {}
        }
        Ok(!self.one || self.found.is_empty())
    }

    fn note(&mut self, at: &[Leg]) -> Result<()> {
        let mut path = vec![b'$'];
        at.iter().for_each(|leg| write_leg(leg, &mut path));
        let path: Box<str> = String::from_utf8_lossy(&path).into();
        self.room.take(path.len() + FOUND)?;
        if let Some(known) = &mut self.known {
            self.room.take(path.len() + FOUND)?;
            if !known.insert(path.clone()) {
                return Ok(());
            }
        }
        self.found.push(Json::String(path));
        Ok(())
    }
}

fn json_search(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let json = document(cx, call, args, 0, "json_search")?;
    let one = one_or_all(call, args, 1, "json_search")?;
    let mut escape = Some('\\');
    if let Some(given) = args.get(3).filter(|v| !v.is_null()) {
        let _ = given;
        let text = utf8_arg(call, args, 3)?;
        let mut chars = text.chars();
        if let Some(c) = chars.next() {
            escape = Some(c);
        }
        if chars.next().is_some() {
            return Err(sql_err!(WrongArguments, "ESCAPE"));
        }
    }
    let mut paths = Vec::new();
    for i in 4..args.len() {
        paths.push(path_arg(call, args, i)?);
    }
    let paths = paths.into_iter().collect::<Option<Vec<Path>>>();
    let (Some(json), Some(one), Some(mut paths)) = (json, one, paths) else { return Ok(Value::Null) };
    if args[2].is_null() {
        return Ok(Value::Null);
    }
    if paths.is_empty() {
        paths.push(Path(Vec::new()));
    }
    let pattern = LikePattern::new(utf8_arg(call, args, 2)?.as_bytes(), escape, CollationId::UTF8MB4_BIN);
    let ways = paths.len() > 1 || paths.iter().any(|p| p.0.contains(&Leg::Ellipsis));
    let known = ways.then(HashSet::new);
    let mut search = Search { pattern: &pattern, stopped: cx.stopped, one, room: cx.room, found: Vec::new(), known };
    for path in &paths {
        path.visit(&json, true, cx.room, &mut |value, at| search.walk(value, at))?;
        if one && !search.found.is_empty() {
            break;
        }
    }
    drop(json);
    match &search.found[..] {
        [] => Ok(Value::Null),
        [path, rest @ ..] if one || rest.is_empty() => result(cx.room, path),
        all => Ok(Value::Json(Json::array_text(all.iter(), cx.room)?)),
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] =
    &[FunctionDef::new("JSON_SEARCH", 3, 3, json_rule, json_search, "Paths of the strings that match a pattern.")
        .variadic()
        .sees_null()];
