//! JSON documents: the tree, its stored form, its text.
//!
//! A stored document (`Value::Json`, a JSON column's bytes) is one value:
//!
//! | tag | value |
//! |---|---|
//! | 0, 1, 2 | null, true, false |
//! | 3, 4, 5 | `i64`, `u64`, `f64`, 8 bytes each, little endian |
//! | 6 | decimal: precision, scale (a byte each), its memory-comparable bytes |
//! | 7 | text: length `u32`, UTF-8 |
//! | 8 | array: bytes behind the count `u32`, count `u32`, the elements |
//! | 9 | object: bytes behind the count `u32`, count `u32`, then key length `u32`, key, value for each member |
//! | 10, 11, 12, 13 | DATE, TIME, DATETIME, TIMESTAMP (as local DATETIME): packed, `u32` or `i64` |
//! | 14 | other SQL values: MySQL's type byte, length `u32`, bytes |
//!
//! Members are ordered by the length of their keys in bytes, then by the bytes, as MySQL has them; each key is there
//! once.

mod compare;
mod parse;
mod path;
mod stored;
mod walk;

pub use compare::{compare, sort_key};
pub use parse::{ParseError, parse, parse_until};
pub use path::{Index, Leg, Path, PathError, write_leg};
pub use stored::{compare_stored, sort_key_stored};
pub use walk::{contains, merge_patch, merge_preserve, overlaps, whole_number};

use crate::convert::float;
use crate::decimal::Decimal;
use crate::error::{Result, SqlError};
use crate::room::{Pieces, Room};
use crate::sql_err;
use crate::temporal::{Date, DateTime, Time};
use crate::value::Text;
use std::fmt::Write;
use stored::{Encoder, Reader};

/// Nesting that a document may have. Error 3157 beyond.
pub const MAX_DEPTH: usize = 100;

/// A document, or a part of one.
///
/// It takes many times the memory of its text, so one is made, and copied into the stored form, in a [`Room`] only.
#[derive(Debug, PartialEq)]
#[cfg_attr(test, derive(Clone))]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An integer beyond `i64`, or of an unsigned SQL value.
    UInt(u64),
    /// A number with a fraction or an exponent.
    Double(f64),
    /// Of an SQL value; texts make none.
    Decimal(Decimal),
    /// Text.
    String(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
    /// Of an SQL value.
    Date(Date),
    /// Of an SQL value.
    Time(Time),
    /// Of an SQL value.
    DateTime(DateTime),
    /// Of an SQL value, in the session's time zone.
    Timestamp(DateTime),
    /// Bytes of an SQL value with MySQL's number of its type (`WireType`).
    Opaque(u8, Box<[u8]>),
}

/// Bytes that a value takes in the list of its container, which grows by doubling.
const NODE: usize = std::mem::size_of::<Json>() * 3 / 2;
/// Bytes that a text takes besides its own.
const KEY: usize = 32;

/// Order of the members of an object.
fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

/// Members, ordered by key length and key.
#[derive(Debug, Default, PartialEq)]
#[cfg_attr(test, derive(Clone))]
pub struct Object(Vec<(Box<str>, Json)>);

impl Object {
    fn position(&self, key: &str) -> std::result::Result<usize, usize> {
        self.0.binary_search_by(|(k, _)| key_order(k, key))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.position(key).ok().map(|i| &self.0[i].1)
    }

    /// The value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.position(key).ok().map(|i| &mut self.0[i].1)
    }

    /// Adds a member, or replaces its value.
    pub fn insert(&mut self, key: Box<str>, value: Json) {
        match self.position(&key) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (key, value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.position(key).ok().map(|i| self.0.remove(i).1)
    }

    /// Members in any order; of equal keys the last one stays.
    pub fn of(mut members: Vec<(Box<str>, Json)>) -> Object {
        members.sort_by(|(a, _), (b, _)| key_order(a, b));
        let mut kept: Vec<(Box<str>, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match kept.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => kept.push(member),
            }
        }
        Object(kept)
    }

    /// Members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> + Clone {
        self.0.iter().map(|(k, v)| (&**k, v))
    }

    /// Values in order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Json> {
        self.0.iter_mut().map(|(_, v)| v)
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for `{}`.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Json {
    /// The stored form. Error 3157 for a document nested too deep, 1038 without room for it.
    pub fn to_text(&self, room: Room<'_>) -> Result<Text> {
        let mut encoder = Encoder::new(room);
        encoder.value(self, 1)?;
        encoder.finish()
    }

    /// The stored form of an array of these values.
    pub fn array_text<'j>(items: impl ExactSizeIterator<Item = &'j Json>, room: Room<'_>) -> Result<Text> {
        let mut encoder = Encoder::new(room);
        encoder.array(items, 1)?;
        encoder.finish()
    }

    /// The stored form of the object that [`Object::of`] makes of these members.
    pub fn object_text(members: &[(Box<str>, Json)], room: Room<'_>) -> Result<Text> {
        room.take(std::mem::size_of_val(members))?;
        let mut sorted: Vec<&(Box<str>, Json)> = members.iter().collect();
        sorted.sort_by(|(a, _), (b, _)| key_order(a, b));
        let mut kept: Vec<(&str, &Json)> = Vec::with_capacity(sorted.len());
        for (key, value) in sorted {
            match kept.last_mut() {
                Some(last) if *last.0 == **key => *last = (key, value),
                _ => kept.push((key, value)),
            }
        }
        let mut encoder = Encoder::new(room);
        encoder.object(kept.into_iter(), 1)?;
        encoder.finish()
    }

    /// From the stored form. Error 3142 for bytes that are none, 1038 without room for the tree.
    pub fn decode(bytes: &[u8], room: Room<'_>) -> Result<Json> {
        let mut reader = Reader::new(bytes, room);
        match reader.value(0) {
            Some(value) if reader.rest.is_empty() => Ok(value),
            _ => Err(reader.refused.unwrap_or_else(|| sql_err!(InvalidJsonBinaryData))),
        }
    }

    /// The scalar that a stored form is; `None` for arrays and objects. Error 3142.
    pub fn decode_scalar(bytes: &[u8]) -> Result<Option<Json>> {
        match bytes.first() {
            Some(8 | 9) => Ok(None),
            _ => Json::decode(bytes, Room::FREE).map(Some),
        }
    }

    /// Text of the stored form; nothing of bytes that are none.
    pub fn write_stored(bytes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let mut reader = Reader::new(bytes, Room::FREE);
        if reader.write(out, 0).is_none() || !reader.rest.is_empty() {
            out.truncate(start);
        }
    }

    /// Appends the text that MySQL prints.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Array(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Json::Object(object) => {
                out.push(b'{');
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_quoted(key, out);
                    out.extend_from_slice(b": ");
                    value.write(out);
                }
                out.push(b'}');
            }
            scalar => scalar.write_scalar(out, true),
        }
    }

    /// Appends the text of a scalar; of strings, and of dates and the like, with their quotes or without.
    pub fn write_scalar(&self, out: &mut Vec<u8>, quoted: bool) {
        let quote = |out: &mut Vec<u8>, text: &dyn Fn(&mut Vec<u8>)| {
            if quoted {
                out.push(b'"');
            }
            text(out);
            if quoted {
                out.push(b'"');
            }
        };
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Json::Int(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            Json::UInt(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            Json::Double(v) => {
                let start = out.len();
                if *v == 0.0 && v.is_sign_negative() {
                    out.push(b'-');
                }
                float::write_double(*v, out);
                // A number with a fraction stays one when it is read again.
                if !out[start..].iter().any(|b| matches!(b, b'.' | b'e' | b'n')) {
                    out.extend_from_slice(b".0");
                }
            }
            Json::Decimal(v) => v.write(out),
            Json::String(text) if quoted => write_quoted(text, out),
            Json::String(text) => out.extend_from_slice(text.as_bytes()),
            Json::Date(v) => quote(out, &|out| v.write(out)),
            Json::Time(v) => quote(out, &|out| v.write(6, out)),
            Json::DateTime(v) | Json::Timestamp(v) => quote(out, &|out| v.write(6, out)),
            Json::Opaque(ty, bytes) => quote(out, &|out| {
                out.extend_from_slice(format!("base64:type{ty}:").as_bytes());
                write_base64(bytes, if quoted { b"\\n" } else { b"\n" }, out);
            }),
            Json::Array(_) | Json::Object(_) => self.write(out),
        }
    }

    /// The text that MySQL prints.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// `JSON_PRETTY`: a member or element a line, two spaces a level. Error 1038: with a hundred levels, a line of
    /// two hundred spaces for each number.
    pub fn pretty(&self, room: Room<'_>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_pretty(&mut out, 0, &mut Pieces::of(room))?;
        Ok(out)
    }

    fn write_pretty(&self, out: &mut Vec<u8>, depth: usize, pieces: &mut Pieces<'_>) -> Result<()> {
        let line = |out: &mut Vec<u8>, depth: usize| {
            out.push(b'\n');
            out.resize(out.len() + depth * 2, b' ');
        };
        match self {
            Json::Array(items) if !items.is_empty() => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    line(out, depth + 1);
                    item.write_pretty(out, depth + 1, pieces)?;
                    if item.is_scalar() {
                        pieces.take(out.len() - start)?;
                    }
                }
                line(out, depth);
                out.push(b']');
            }
            Json::Object(object) if !object.is_empty() => {
                out.push(b'{');
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    line(out, depth + 1);
                    write_quoted(key, out);
                    out.extend_from_slice(b": ");
                    pieces.take(out.len() - start)?;
                    value.write_pretty(out, depth + 1, pieces)?;
                }
                line(out, depth);
                out.push(b'}');
            }
            other => other.write(out),
        }
        Ok(())
    }

    /// `JSON_TYPE`
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
            Json::Date(_) => "DATE",
            Json::Time(_) => "TIME",
            Json::DateTime(_) | Json::Timestamp(_) => "DATETIME",
            Json::Opaque(15 | 249..=254, _) => "BLOB",
            Json::Opaque(16, _) => "BIT",
            Json::Opaque(..) => "OPAQUE",
        }
    }

    /// `JSON_DEPTH`: 1 for scalars and empty containers.
    pub fn depth(&self) -> usize {
        match self {
            Json::Array(items) => 1 + items.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(object) => 1 + object.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// `JSON_LENGTH`: 1 for scalars.
    pub fn length(&self) -> usize {
        match self {
            Json::Array(items) => items.len(),
            Json::Object(object) => object.len(),
            _ => 1,
        }
    }

    /// Neither array nor object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// Bytes that MySQL's binary form of the document takes (`JSON_STORAGE_SIZE`).
    pub fn mysql_size(&self) -> usize {
        1 + self.mysql_value_size()
    }

    fn mysql_value_size(&self) -> usize {
        let varlen = |n: usize| (usize::BITS - n.leading_zeros()).div_ceil(7).max(1) as usize + n;
        match self {
            Json::Null | Json::Bool(_) => 1,
            Json::Int(v) if i16::try_from(*v).is_ok() => 2,
            Json::Int(v) if i32::try_from(*v).is_ok() => 4,
            Json::UInt(v) if u16::try_from(*v).is_ok() => 2,
            Json::UInt(v) if u32::try_from(*v).is_ok() => 4,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) => 8,
            Json::String(text) => varlen(text.len()),
            Json::Decimal(v) => 1 + varlen(2 + Decimal::encoded_len(v.precision())),
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Timestamp(_) => 1 + varlen(8),
            Json::Opaque(_, bytes) => 1 + varlen(bytes.len()),
            Json::Array(items) => container_size(items.iter(), 0, 0),
            Json::Object(object) => {
                let keys = object.iter().map(|(k, _)| k.len()).sum();
                container_size(object.iter().map(|(_, v)| v), object.len(), keys)
            }
        }
    }

    /// Is there a key of more bytes than a JSON column takes?
    pub fn has_long_key(&self) -> bool {
        match self {
            Json::Array(items) => items.iter().any(Json::has_long_key),
            Json::Object(object) => object.iter().any(|(k, v)| k.len() > 0xFFFF || v.has_long_key()),
            _ => false,
        }
    }

    /// Bytes held, for memory bounds.
    pub fn memory_bytes(&self) -> usize {
        std::mem::size_of::<Json>()
            + match self {
                Json::String(text) => text.len(),
                Json::Opaque(_, bytes) => bytes.len(),
                Json::Array(items) => items.iter().map(Json::memory_bytes).sum(),
                Json::Object(object) => object.iter().map(|(k, v)| k.len() + 16 + v.memory_bytes()).sum(),
                _ => 0,
            }
    }
}

/// MySQL's containers: offsets of two bytes while everything fits 64 KiB, else of four; short numbers in the offset's
/// place.
fn container_size<'a>(values: impl Iterator<Item = &'a Json>, keys: usize, key_bytes: usize) -> usize {
    // Each value is measured once: twice at each of a hundred levels would never end.
    let mut sizes = [0; 2];
    for v in values {
        let own = v.mysql_value_size();
        for (size, offset) in sizes.iter_mut().zip([2, 4]) {
            let inline = match v {
                Json::Null | Json::Bool(_) => true,
                Json::Int(_) | Json::UInt(_) => own <= offset,
                _ => false,
            };
            *size += 1 + offset + if inline { 0 } else { own };
        }
    }
    let [small, large] =
        [(sizes[0], 2), (sizes[1], 4)].map(|(n, offset)| 2 * offset + keys * (offset + 2) + key_bytes + n);
    if small > 0xFFFF { large } else { small }
}

/// Appends text in double quotes, with JSON's escapes.
pub fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for b in text.bytes() {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            0..0x20 => {
                let mut escape = String::new();
                let _ = write!(escape, "\\u{b:04x}");
                out.extend_from_slice(escape.as_bytes());
            }
            _ => out.push(b),
        }
    }
    out.push(b'"');
}

/// Base64 in lines of 76 characters.
fn write_base64(bytes: &[u8], line_end: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (i, chunk) in bytes.chunks(3).enumerate() {
        if i > 0 && i % 19 == 0 {
            out.extend_from_slice(line_end);
        }
        let group = chunk.iter().chain(&[0, 0]).take(3).fold(0u32, |g, b| g << 8 | u32::from(*b));
        for n in 0..4 {
            out.push(if n <= chunk.len() { DIGITS[(group >> (18 - 6 * n) & 63) as usize] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests;
