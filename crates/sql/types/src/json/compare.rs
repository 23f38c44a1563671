//! Comparison and ordering of JSON values (manual, "Comparison and Ordering of JSON Values").

use super::Json;
use crate::decimal::Decimal;
use std::cmp::Ordering;

pub(super) const OBJECT: u8 = 4;
pub(super) const ARRAY: u8 = 5;

/// Values of different kinds order by these.
fn precedence(json: &Json) -> u8 {
    match json {
        Json::Null => 1,
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 2,
        Json::String(_) => 3,
        Json::Object(_) => OBJECT,
        Json::Array(_) => ARRAY,
        Json::Bool(_) => 6,
        Json::Date(_) => 7,
        Json::Time(_) => 8,
        Json::DateTime(_) | Json::Timestamp(_) => 9,
        Json::Opaque(16, _) => 11,
        Json::Opaque(15 | 249..=254, _) => 12,
        Json::Opaque(..) => 10,
    }
}

/// The order of two values. Numbers compare by value; texts by code points; arrays element by element; objects by their
/// number of members, then key by key and value by value.
pub fn compare(a: &Json, b: &Json) -> Ordering {
    let kinds = precedence(a).cmp(&precedence(b));
    if kinds != Ordering::Equal {
        return kinds;
    }
    match (a, b) {
        (Json::Bool(x), Json::Bool(y)) => x.cmp(y),
        (Json::String(x), Json::String(y)) => x.as_bytes().cmp(y.as_bytes()),
        (Json::Array(x), Json::Array(y)) => {
            let first = x.iter().zip(y).map(|(x, y)| compare(x, y)).find(|o| *o != Ordering::Equal);
            first.unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (Json::Object(x), Json::Object(y)) => x.len().cmp(&y.len()).then_with(|| {
            let pairs = x.iter().zip(y.iter());
            let order = |((k, v), (l, w)): ((&str, &Json), (&str, &Json))| {
                k.len().cmp(&l.len()).then_with(|| k.as_bytes().cmp(l.as_bytes())).then_with(|| compare(v, w))
            };
            pairs.map(order).find(|o| *o != Ordering::Equal).unwrap_or(Ordering::Equal)
        }),
        (Json::Date(x), Json::Date(y)) => x.cmp(y),
        (Json::Time(x), Json::Time(y)) => x.cmp(y),
        (Json::DateTime(x) | Json::Timestamp(x), Json::DateTime(y) | Json::Timestamp(y)) => x.cmp(y),
        (Json::Opaque(t, x), Json::Opaque(u, y)) => t.cmp(u).then_with(|| x.cmp(y)),
        (Json::Null, Json::Null) => Ordering::Equal,
        _ => numbers(a, b),
    }
}

fn numbers(a: &Json, b: &Json) -> Ordering {
    let integer = |j: &Json| match j {
        Json::Int(v) => Some(i128::from(*v)),
        Json::UInt(v) => Some(i128::from(*v)),
        _ => None,
    };
    if let (Some(x), Some(y)) = (integer(a), integer(b)) {
        return x.cmp(&y);
    }
    if let (Json::Double(x), Json::Double(y)) = (a, b) {
        return x.partial_cmp(y).unwrap_or(Ordering::Equal);
    }
    let decimal = |j: &Json| match j {
        Json::Decimal(v) => Some(*v),
        Json::Double(v) => Decimal::from_f64(*v),
        Json::Int(v) => Some(Decimal::from_i64(*v)),
        Json::UInt(v) => Some(Decimal::from_u64(*v)),
        _ => None,
    };
    match (decimal(a), decimal(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        // A double beyond all decimals: its sign decides.
        (None, _) => double(a).total_cmp(&0.0),
        (_, None) => 0.0f64.total_cmp(&double(b)),
    }
}

fn double(j: &Json) -> f64 {
    match j {
        Json::Int(v) => *v as f64,
        Json::UInt(v) => *v as f64,
        Json::Double(v) => *v,
        Json::Decimal(v) => v.to_f64(),
        _ => 0.0,
    }
}

/// Appends bytes that order as values do, and are equal for equal ones; self-delimiting.
pub fn sort_key(json: &Json, out: &mut Vec<u8>) {
    out.push(precedence(json));
    match json {
        Json::Null => {}
        Json::Bool(b) => out.push(u8::from(*b)),
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => number_key(json, out),
        Json::String(text) => escaped(text.as_bytes(), out),
        Json::Array(items) => {
            for item in items {
                sort_key(item, out);
            }
            out.push(0);
        }
        Json::Object(object) => {
            out.extend_from_slice(&(object.len() as u32).to_be_bytes());
            for (key, value) in object.iter() {
                out.extend_from_slice(&(key.len() as u16).to_be_bytes());
                out.extend_from_slice(key.as_bytes());
                sort_key(value, out);
            }
        }
        Json::Date(v) => out.extend_from_slice(&v.packed().to_be_bytes()),
        Json::Time(v) => out.extend_from_slice(&(v.packed() as u64 ^ 1 << 63).to_be_bytes()),
        Json::DateTime(v) | Json::Timestamp(v) => out.extend_from_slice(&(v.packed() as u64 ^ 1 << 63).to_be_bytes()),
        Json::Opaque(ty, bytes) => {
            out.push(*ty);
            escaped(bytes, out);
        }
    }
}

/// The nearest double, then what it lacks of an integer.
fn number_key(json: &Json, out: &mut Vec<u8>) {
    let nearest = double(json) + 0.0;
    let bits = nearest.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
    let exact = match json {
        Json::Int(v) => i128::from(*v) - nearest as i128,
        Json::UInt(v) => i128::from(*v) - nearest as i128,
        _ => 0,
    };
    out.extend_from_slice(&((exact.clamp(-32768, 32767) + 32768) as u16).to_be_bytes());
}

fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for b in bytes {
        out.push(*b);
        if *b == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
