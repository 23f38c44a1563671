//! JSON_SEARCH: paths of the strings that match a pattern.

use super::*;
use gannet_types::collation::LikePattern;
use gannet_types::json::{Index, Leg};
use std::collections::HashSet;

struct Search<'p> {
    pattern: &'p LikePattern,
    one: bool,
    room: Room<'p>,
    /// Where the walk is.
    at: Vec<Leg>,
    found: Vec<String>,
    known: HashSet<String>,
    /// (legs left, value's address) below which the walk was: `**` leads to one value in many ways.
    seen: HashSet<(usize, usize)>,
}

impl Search<'_> {
    fn walk(&mut self, json: &Json) -> Result<()> {
        if self.one && !self.found.is_empty() {
            return Ok(());
        }
        match json {
            Json::String(text) if self.pattern.matches(text.as_bytes()) => {
                let mut path = Vec::new();
                Path(self.at.clone()).write(&mut path);
                let path = String::from_utf8_lossy(&path).into_owned();
                // Several paths may lead to one string.
                self.room.take(2 * path.len() + 96)?;
                if self.known.insert(path.clone()) {
                    self.found.push(path);
                }
            }
            Json::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.at.push(Leg::Cell(Index { n, from_end: false }));
                    self.walk(item)?;
                    self.at.pop();
                }
            }
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    self.at.push(Leg::Member(key.into()));
                    self.walk(value)?;
                    self.at.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Walks below all places that a path leads to.
    fn below(&mut self, legs: &[Leg], json: &Json) -> Result<()> {
        if !self.seen.insert((legs.len(), std::ptr::from_ref(json) as usize)) {
            return Ok(());
        }
        let Some((leg, rest)) = legs.split_first() else { return self.walk(json) };
        let children: Vec<(Leg, &Json)> = match json {
            Json::Array(items) => {
                let cell = |(n, item)| (Leg::Cell(Index { n, from_end: false }), item);
                items.iter().enumerate().map(cell).collect()
            }
            Json::Object(object) => object.iter().map(|(key, value)| (Leg::Member(key.into()), value)).collect(),
            _ => Vec::new(),
        };
        match leg {
            Leg::Ellipsis => {
                self.below(rest, json)?;
                for (step, child) in children {
                    self.at.push(step);
                    self.below(legs, child)?;
                    self.at.pop();
                }
            }
            leg => {
                let matched = Path(vec![leg.clone()]).find(json);
                let address = |j: &Json| std::ptr::from_ref(j) as usize;
                let wanted: HashSet<usize> = matched.iter().map(|j| address(j)).collect();
                if wanted.contains(&address(json)) {
                    // A cell of what is no array: the value itself.
                    self.below(rest, json)?;
                }
                for (step, child) in children.into_iter().filter(|(_, child)| wanted.contains(&address(child))) {
                    self.at.push(step);
                    self.below(rest, child)?;
                    self.at.pop();
                }
            }
        }
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
    let mut search = Search {
        pattern: &pattern,
        one,
        room: cx.room,
        at: Vec::new(),
        found: Vec::new(),
        known: HashSet::new(),
        seen: HashSet::new(),
    };
    for path in &paths {
        search.seen.clear();
        search.below(&path.0, &json)?;
    }
    let mut found = search.found.into_iter().map(|path| Json::String(path.into()));
    match (found.len(), one) {
        (0, _) => Ok(Value::Null),
        (1, _) | (_, true) => found.next().map_or(Ok(Value::Null), |path| result(cx.room, &path)),
        _ => result(cx.room, &Json::Array(found.collect())),
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] =
    &[FunctionDef::new("JSON_SEARCH", 3, 3, json_rule, json_search, "Paths of the strings that match a pattern.")
        .variadic()
        .sees_null()];
