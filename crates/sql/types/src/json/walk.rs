//! Containment, overlap and merging of documents.

use super::{Json, Object, compare, key_order, sort_key};
use std::cmp::Ordering;
use std::collections::HashSet;

/// Pairs of elements above which the scalars of one array are looked up, rather than each compared with each.
const SORTED: usize = 1 << 12;

fn is_container(json: &Json) -> bool {
    matches!(json, Json::Array(_) | Json::Object(_))
}

/// The scalars of an array, to be found by their sort keys.
fn scalar_keys(items: &[Json]) -> HashSet<Vec<u8>> {
    items.iter().filter(|j| !is_container(j)).map(key).collect()
}

fn key(json: &Json) -> Vec<u8> {
    let mut out = Vec::new();
    sort_key(json, &mut out);
    out
}

/// `JSON_CONTAINS`: is the candidate in the target?
pub fn contains(target: &Json, candidate: &Json) -> bool {
    match (target, candidate) {
        (Json::Object(t), Json::Object(c)) => {
            c.iter().all(|(key, value)| t.get(key).is_some_and(|there| contains(there, value)))
        }
        (Json::Array(t), Json::Array(c)) if t.len().saturating_mul(c.len()) > SORTED => {
            let scalars = scalar_keys(t);
            let nested: Vec<&Json> = t.iter().filter(|j| is_container(j)).collect();
            let found = |item: &Json| {
                !is_container(item) && scalars.contains(&key(item)) || nested.iter().any(|there| contains(there, item))
            };
            c.iter().all(found)
        }
        (Json::Array(t), Json::Array(c)) => c.iter().all(|item| t.iter().any(|there| contains(there, item))),
        (Json::Array(t), item) => t.iter().any(|there| contains(there, item)),
        (scalar, other) => compare(scalar, other) == Ordering::Equal,
    }
}

/// The digits of a text that is an integer: an optional sign, digits, and nothing behind them.
pub fn whole_number(text: &str) -> Option<&str> {
    let number = text.trim_ascii_start();
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// `JSON_OVERLAPS`: have they a member, an element or the whole in common?
pub fn overlaps(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(x), Json::Array(y)) if x.len().saturating_mul(y.len()) > SORTED => {
            let scalars = scalar_keys(y);
            let nested: Vec<&Json> = y.iter().filter(|j| is_container(j)).collect();
            x.iter().any(|i| {
                if is_container(i) {
                    nested.iter().any(|j| compare(i, j) == Ordering::Equal)
                } else {
                    scalars.contains(&key(i))
                }
            })
        }
        (Json::Array(x), Json::Array(y)) => x.iter().any(|i| y.iter().any(|j| compare(i, j) == Ordering::Equal)),
        (Json::Array(x), other) | (other, Json::Array(x)) => x.iter().any(|i| compare(i, other) == Ordering::Equal),
        (Json::Object(x), Json::Object(y)) => {
            x.iter().any(|(key, v)| y.get(key).is_some_and(|w| compare(v, w) == Ordering::Equal))
        }
        _ => compare(a, b) == Ordering::Equal,
    }
}

/// `JSON_MERGE_PRESERVE`: arrays are joined, objects merged; everything else becomes an array first.
pub fn merge_preserve(a: Json, b: Json) -> Json {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => Json::Object(joined(x, y, |old, new| match old {
            Some(old) => Some(merge_preserve(old, new)),
            None => Some(new),
        })),
        (a, b) => {
            let mut items = into_array(a);
            items.extend(into_array(b));
            Json::Array(items)
        }
    }
}

/// Members of both, in one walk: `new` says what becomes of a member of `y` and of the one of that name in `x`.
fn joined(x: Object, y: Object, mut new: impl FnMut(Option<Json>, Json) -> Option<Json>) -> Object {
    let mut out = Vec::with_capacity(x.0.len() + y.0.len());
    let (mut x, mut y) = (x.0.into_iter().peekable(), y.0.into_iter());
    let mut next = y.next();
    while let Some((key, value)) = next.take() {
        while let Some(member) = x.next_if(|(k, _)| key_order(k, &key) == Ordering::Less) {
            out.push(member);
        }
        let old = x.next_if(|(k, _)| *k == key).map(|(_, v)| v);
        if let Some(value) = new(old, value) {
            out.push((key, value));
        }
        next = y.next();
    }
    out.extend(x);
    Object(out)
}

fn into_array(json: Json) -> Vec<Json> {
    match json {
        Json::Array(items) => items,
        other => vec![other],
    }
}

/// `JSON_MERGE_PATCH` (RFC 7396).
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let object = match target {
        Json::Object(object) => object,
        _ => Object::default(),
    };
    Json::Object(joined(object, patch, |old, value| match value {
        Json::Null => None,
        value => Some(merge_patch(old.unwrap_or(Json::Null), value)),
    }))
}
