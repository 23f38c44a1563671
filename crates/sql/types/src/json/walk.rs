//! Containment, overlap and merging of documents.

use super::{Json, Object, compare};
use std::cmp::Ordering;

/// `JSON_CONTAINS`: is the candidate in the target?
pub fn contains(target: &Json, candidate: &Json) -> bool {
    match (target, candidate) {
        (Json::Object(t), Json::Object(c)) => {
            c.iter().all(|(key, value)| t.get(key).is_some_and(|there| contains(there, value)))
        }
        (Json::Array(t), Json::Array(c)) => c.iter().all(|item| t.iter().any(|there| contains(there, item))),
        (Json::Array(t), item) => t.iter().any(|there| contains(there, item)),
        (scalar, other) => compare(scalar, other) == Ordering::Equal,
    }
}

/// `JSON_OVERLAPS`: have they a member, an element or the whole in common?
pub fn overlaps(a: &Json, b: &Json) -> bool {
    match (a, b) {
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
        (Json::Object(mut x), Json::Object(y)) => {
            for (key, value) in y.0 {
                match x.get_mut(&key) {
                    Some(there) => {
                        let old = std::mem::replace(there, Json::Null);
                        *there = merge_preserve(old, value);
                    }
                    None => x.insert(key, value),
                }
            }
            Json::Object(x)
        }
        (a, b) => {
            let mut items = into_array(a);
            items.extend(into_array(b));
            Json::Array(items)
        }
    }
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
    let mut object = match target {
        Json::Object(object) => object,
        _ => Object::default(),
    };
    for (key, value) in patch.0 {
        if value == Json::Null {
            object.remove(&key);
            continue;
        }
        let old = object.remove(&key).unwrap_or(Json::Null);
        object.insert(key, merge_patch(old, value));
    }
    Json::Object(object)
}
