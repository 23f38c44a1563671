//! MySQL's binary JSON, which rows in the binary log hold: a value's type in a byte, then the value. Little-endian.
//!
//! | type | value |
//! |---|---|
//! | 0, 1 | object: count; bytes of the whole; of each key offset and `u16` length; of each value type and offset |
//! | 2, 3 | array: count; bytes of the whole; for each value its type, offset |
//! | 4 | literal: 0 null, 1 true, 2 false |
//! | 5 to 10 | i16, u16, i32, u32, i64, u64 |
//! | 11 | f64 |
//! | 12 | text: its length in groups of seven bits, the lowest first, then UTF-8 |
//! | 15 | another type: MySQL's number of it, the length as above, the bytes |
//!
//! Counts, sizes and offsets are 2 bytes wide in types 0 and 2, 4 in 1 and 3; keys and values follow. Offsets count
//! from the container's count on. Literals and integers that fit stand in the place of their offset. Keys are ordered
//! by length, then by bytes. Source: MySQL 8.4 Source Code Documentation, "json_binary.h".

use gannet_base::DecodeError;
use gannet_types::decimal::stored;
use gannet_types::json::{Json, MAX_DEPTH, Object};
use gannet_types::{Date, DateTime, Time};

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

/// MySQL's numbers of the types that opaque values have here.
const TIMESTAMP: u8 = 7;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const NEWDECIMAL: u8 = 246;

/// Does not fit into a container with 2-byte numbers, or into any.
struct TooLarge;

/// Appends a document.
pub fn encode(json: &Json, out: &mut Vec<u8>) {
    let at = out.len();
    out.push(0);
    // A document of more than 4 GiB does not come so far: max_allowed_packet.
    out[at] = value(json, false, out).unwrap_or(LITERAL);
}

/// Appends a value without its type, which is returned. In a container with 2-byte numbers every container has them.
fn value(json: &Json, in_small: bool, out: &mut Vec<u8>) -> Result<u8, TooLarge> {
    Ok(match json {
        Json::Null => literal(0, out),
        Json::Bool(true) => literal(1, out),
        Json::Bool(false) => literal(2, out),
        Json::Int(v) => {
            if let Ok(v) = i16::try_from(*v) {
                out.extend_from_slice(&v.to_le_bytes());
                INT16
            } else if let Ok(v) = i32::try_from(*v) {
                out.extend_from_slice(&v.to_le_bytes());
                INT32
            } else {
                out.extend_from_slice(&v.to_le_bytes());
                INT64
            }
        }
        Json::UInt(v) => {
            if let Ok(v) = u16::try_from(*v) {
                out.extend_from_slice(&v.to_le_bytes());
                UINT16
            } else if let Ok(v) = u32::try_from(*v) {
                out.extend_from_slice(&v.to_le_bytes());
                UINT32
            } else {
                out.extend_from_slice(&v.to_le_bytes());
                UINT64
            }
        }
        Json::Double(v) => {
            out.extend_from_slice(&v.to_le_bytes());
            DOUBLE
        }
        Json::String(text) => {
            put_length(text.len(), out);
            out.extend_from_slice(text.as_bytes());
            STRING
        }
        Json::Decimal(v) => {
            let scale = v.scale();
            let precision = (v.int_digits() + scale).max(1);
            let mut bytes = vec![precision, scale];
            stored::encode(v, precision, scale, &mut bytes);
            opaque(NEWDECIMAL, &bytes, out)
        }
        Json::Date(v) => opaque(DATE, &v.to_datetime().packed().to_le_bytes(), out),
        Json::Time(v) => opaque(TIME, &v.packed().to_le_bytes(), out),
        Json::DateTime(v) => opaque(DATETIME, &v.packed().to_le_bytes(), out),
        Json::Timestamp(v) => opaque(TIMESTAMP, &v.packed().to_le_bytes(), out),
        Json::Opaque(ty, bytes) => opaque(*ty, bytes, out),
        Json::Array(items) => {
            let items = || items.iter().map(|i| (None, i));
            sized(SMALL_ARRAY, in_small, out, |wide, out| container(wide, items(), out))?
        }
        Json::Object(object) => {
            let members = || object.iter().map(|(k, v)| (Some(k), v));
            sized(SMALL_OBJECT, in_small, out, |wide, out| container(wide, members(), out))?
        }
    })
}

fn literal(v: u8, out: &mut Vec<u8>) -> u8 {
    out.push(v);
    LITERAL
}

fn opaque(ty: u8, bytes: &[u8], out: &mut Vec<u8>) -> u8 {
    out.push(ty);
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
    OPAQUE
}

fn put_length(mut n: usize, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Tries the small form, then the large one. Its type is the small one's, or the next.
fn sized(
    small: u8,
    in_small: bool,
    out: &mut Vec<u8>,
    write: impl Fn(bool, &mut Vec<u8>) -> Result<(), TooLarge>,
) -> Result<u8, TooLarge> {
    let start = out.len();
    match write(false, out) {
        Ok(()) => Ok(small),
        Err(too_large) if in_small => Err(too_large),
        Err(TooLarge) => {
            out.truncate(start);
            write(true, out).map(|()| small + 1)
        }
    }
}

fn number(wide: bool, n: usize, at: usize, out: &mut [u8]) -> Result<(), TooLarge> {
    if wide {
        let n = u32::try_from(n).map_err(|_| TooLarge)?;
        out[at..at + 4].copy_from_slice(&n.to_le_bytes());
    } else {
        let n = u16::try_from(n).map_err(|_| TooLarge)?;
        out[at..at + 2].copy_from_slice(&n.to_le_bytes());
    }
    Ok(())
}

fn container<'j>(
    wide: bool,
    items: impl Iterator<Item = (Option<&'j str>, &'j Json)> + Clone,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    let (start, w) = (out.len(), if wide { 4 } else { 2 });
    let count = items.clone().count();
    let keyed = items.clone().next().is_some_and(|(k, _)| k.is_some());
    let keys_at = start + 2 * w;
    let values_at = keys_at + if keyed { count * (w + 2) } else { 0 };
    out.resize(values_at + count * (1 + w), 0);
    number(wide, count, start, out)?;
    for (i, (key, _)) in items.clone().enumerate() {
        let Some(key) = key else { break };
        let (at, length) = (keys_at + i * (w + 2), u16::try_from(key.len()).map_err(|_| TooLarge)?);
        let offset = out.len() - start;
        number(wide, offset, at, out)?;
        out[at + w..at + w + 2].copy_from_slice(&length.to_le_bytes());
        out.extend_from_slice(key.as_bytes());
    }
    for (i, (_, item)) in items.enumerate() {
        let (at, offset) = (values_at + i * (1 + w), out.len());
        let ty = value(item, !wide, out)?;
        out[at] = ty;
        if is_inline(ty, wide) {
            let bytes = out.split_off(offset);
            out[at + 1..at + 1 + bytes.len()].copy_from_slice(&bytes);
            // Signed numbers keep their sign in the wider place.
            if ty == INT16 && wide && bytes[1] & 0x80 != 0 {
                out[at + 3..at + 5].fill(0xFF);
            }
        } else {
            number(wide, offset - start, at + 1, out)?;
        }
    }
    let size = out.len() - start;
    number(wide, size, start + w, out)
}

/// Whether values of a type stand in the place of their offset.
fn is_inline(ty: u8, wide: bool) -> bool {
    match ty {
        LITERAL | INT16 | UINT16 => true,
        INT32 | UINT32 => wide,
        _ => false,
    }
}

/// The document of these bytes; no bytes are `null`.
pub fn decode(bytes: &[u8]) -> Result<Json, DecodeError> {
    let Some((ty, rest)) = bytes.split_first() else { return Ok(Json::Null) };
    // Offsets may overlap, so that few bytes could mean a huge document: there are no more values than bytes.
    let mut left = bytes.len();
    decode_value(*ty, rest, 0, &mut left).ok_or(DecodeError::Invalid { at: 0, what: "binary JSON" })
}

fn le(bytes: &[u8], n: usize) -> Option<u64> {
    Some(bytes.get(..n)?.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
}

fn decode_value(ty: u8, bytes: &[u8], depth: usize, left: &mut usize) -> Option<Json> {
    *left = left.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match ty {
        LITERAL => match *bytes.first()? {
            0 => Json::Null,
            1 => Json::Bool(true),
            2 => Json::Bool(false),
            _ => return None,
        },
        INT16 => Json::Int(i64::from(le(bytes, 2)? as i16)),
        UINT16 => Json::UInt(le(bytes, 2)?),
        INT32 => Json::Int(i64::from(le(bytes, 4)? as i32)),
        UINT32 => Json::UInt(le(bytes, 4)?),
        INT64 => Json::Int(le(bytes, 8)? as i64),
        UINT64 => Json::UInt(le(bytes, 8)?),
        DOUBLE => Json::Double(f64::from_bits(le(bytes, 8)?)),
        STRING => Json::String(std::str::from_utf8(counted(bytes)?).ok()?.into()),
        OPAQUE => {
            let (ty, rest) = bytes.split_first()?;
            decode_opaque(*ty, counted(rest)?)?
        }
        SMALL_OBJECT | LARGE_OBJECT => decode_container(bytes, ty == LARGE_OBJECT, true, depth, left)?,
        SMALL_ARRAY | LARGE_ARRAY => decode_container(bytes, ty == LARGE_ARRAY, false, depth, left)?,
        _ => return None,
    })
}

/// Bytes behind their length.
fn counted(bytes: &[u8]) -> Option<&[u8]> {
    let mut n = 0u64;
    for (i, b) in bytes.iter().take(5).enumerate() {
        n |= u64::from(b & 0x7F) << (7 * i);
        if b & 0x80 == 0 {
            return bytes.get(i + 1..)?.get(..usize::try_from(n).ok()?);
        }
    }
    None
}

fn decode_opaque(ty: u8, bytes: &[u8]) -> Option<Json> {
    let packed = || bytes.try_into().ok().map(i64::from_le_bytes);
    Some(match ty {
        NEWDECIMAL => {
            let [precision, scale, digits @ ..] = bytes else { return None };
            Json::Decimal(stored::decode(digits, *precision, *scale)?)
        }
        DATE => {
            let at = DateTime::from_packed(packed()?)?;
            Json::Date(Date::new(at.year(), at.month(), at.day()))
        }
        TIME => Json::Time(Time::from_packed(packed()?)?),
        DATETIME => Json::DateTime(DateTime::from_packed(packed()?)?),
        TIMESTAMP => Json::Timestamp(DateTime::from_packed(packed()?)?),
        _ => Json::Opaque(ty, bytes.into()),
    })
}

fn decode_container(bytes: &[u8], wide: bool, keyed: bool, depth: usize, left: &mut usize) -> Option<Json> {
    let w = if wide { 4 } else { 2 };
    let count = le(bytes, w)? as usize;
    let size = le(bytes.get(w..)?, w)? as usize;
    let bytes = bytes.get(..size)?;
    let entry = if keyed { w + 2 } else { 0 } + 1 + w;
    if count.checked_mul(entry)? > size.checked_sub(2 * w)? {
        return None;
    }
    let values_at = 2 * w + if keyed { count * (w + 2) } else { 0 };
    let item = |i: usize, left: &mut usize| {
        let at = values_at + i * (1 + w);
        let (ty, place) = (*bytes.get(at)?, bytes.get(at + 1..at + 1 + w)?);
        if is_inline(ty, wide) {
            return decode_value(ty, place, depth + 1, left);
        }
        decode_value(ty, bytes.get(le(place, w)? as usize..)?, depth + 1, left)
    };
    if !keyed {
        return (0..count).map(|i| item(i, left)).collect::<Option<Vec<_>>>().map(Json::Array);
    }
    let mut members = Vec::new();
    for i in 0..count {
        let at = 2 * w + i * (w + 2);
        let (offset, length) = (le(bytes.get(at..)?, w)? as usize, le(bytes.get(at + w..)?, 2)? as usize);
        let key = std::str::from_utf8(bytes.get(offset..)?.get(..length)?).ok()?;
        members.push((key.into(), item(i, left)?));
    }
    Some(Json::Object(Object::of(members)))
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use gannet_types::json::{Json, parse};

    fn bytes(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&parse(text.as_bytes()).unwrap(), &mut out);
        out
    }

    #[test]
    fn bytes_of_documents() {
        // Taken apart by hand from the layout.
        assert_eq!(bytes("null"), [4, 0]);
        assert_eq!(bytes("-2"), [5, 0xFE, 0xFF]);
        assert_eq!(bytes("\"ab\""), [12, 2, b'a', b'b']);
        assert_eq!(bytes("[1, \"x\"]"), [2, 2, 0, 12, 0, 5, 1, 0, 12, 10, 0, 1, b'x']);
        assert_eq!(
            bytes("{\"b\": 70000, \"a\": true}"),
            [0, 2, 0, 24, 0, 18, 0, 1, 0, 19, 0, 1, 0, 4, 1, 0, 7, 20, 0, b'a', b'b', 0x70, 0x11, 1, 0]
        );
    }

    #[test]
    fn there_and_back() {
        let long = format!("[{}{{\"k\": [-7, 70000, null]}}]", "\"0123456789\", ".repeat(8000));
        let texts = [
            "{}",
            "[]",
            "[[[]], {}]",
            "[true, false, null, 1.5, 18446744073709551615, -9223372036854775808, 32768, -32769, 2147483648]",
            "{\"a\": {\"bb\": [1, 2, {\"ccc\": \"text\"}]}, \"zz\": \"\"}",
            &long,
        ];
        for text in texts {
            let json = parse(text.as_bytes()).unwrap();
            let made = bytes(text);
            let back = decode(&made).unwrap();
            let (mut a, mut b) = (Vec::new(), Vec::new());
            json.write(&mut a);
            back.write(&mut b);
            assert_eq!(a, b);
            for n in 1..made.len().min(300) {
                let _no_panic = decode(&made[..n]);
            }
        }
        assert_eq!(decode(&[]).unwrap(), Json::Null);
    }
}
