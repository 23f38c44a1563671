//! Memory-comparable keys: bytes that `memcmp` orders as SQL orders the values.
//!
//! A key is the concatenation of its parts; every part's encoding is prefix-free, so that concatenation keeps the
//! order:
//! * a nullable part starts with a tag, 0 for NULL (and nothing after it) or 1;
//! * integers: big-endian in the column's width with the sign bit flipped (unsigned as they are);
//! * DECIMAL: [`Decimal::encode`]; FLOAT, DOUBLE: IEEE bits, sign flipped, negative ones inverted; -0 is 0;
//! * DATE 3, DATETIME 8, TIME 8, TIMESTAMP 8 bytes: packed, big-endian, sign flipped where signed; YEAR 2, BIT 8, ENUM
//!   2, SET 8;
//! * text: [`Collation::key`](crate::Collation::key), terminated; bytes are escaped (00 becomes 00 FF, the end is 00
//!   00);
//! * a descending part has all its bytes inverted, tag included, so that NULL comes last.

use crate::collation::{Algorithm, CutKeys, Pad};
use crate::decimal::Decimal;
use crate::error::{Result, SqlError};
use crate::sql_err;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::{Date, DateTime, Time, Timestamp};
use crate::value::{Value, ValueRef};

/// One column of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    pub ty: SqlType,
    /// Characters (bytes for binary strings) that are indexed; `None` for all.
    pub prefix: Option<u32>,
    pub descending: bool,
}

impl KeyPart {
    pub fn new(ty: SqlType) -> KeyPart {
        KeyPart { ty, prefix: None, descending: false }
    }

    /// Is the order of what is indexed another than the order of the values it was cut from?
    pub fn cuts_disorder(&self) -> bool {
        self.prefix.is_some() && self.ty.id.is_string() && !self.ty.collation.get().cuts_keep_order()
    }

    /// The first characters of a text, as many as are indexed.
    fn cut<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.prefix {
            Some(n) => &text[..self.ty.collation.charset().prefix_len(text, n as usize)],
            None => text,
        }
    }

    /// What the keys of texts begin with whose first characters equal those of `text` one by one: see
    /// [`Collation::stem_key`](crate::Collation::stem_key).
    pub fn stem(&self, text: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(text.len() * 2 + 1);
        self.ty.collation.get().stem_key(self.cut(text), &mut key);
        self.dressed(key)
    }

    /// Where the keys of texts lie that are equal to `text`, if [`cuts_disorder`](Self::cuts_disorder): see
    /// [`Collation::cut_keys`](crate::Collation::cut_keys).
    pub fn cut_keys(&self, text: &[u8]) -> CutKeys {
        let keys = self.ty.collation.get().cut_keys(text, self.cut(text));
        let points = keys.points.into_iter().map(|k| self.dressed(k)).collect();
        CutKeys { points, whole: keys.whole, rest: keys.rest.map(|k| self.dressed(k)) }
    }

    /// The beginning of a part's encoding that is not of NULL, from the beginning of its text's key.
    fn dressed(&self, mut key: Vec<u8>) -> Vec<u8> {
        if self.ty.nullable {
            key.insert(0, 1);
        }
        if self.descending {
            key.iter_mut().for_each(|b| *b = !*b);
        }
        key
    }

    /// Can [`decode`] give the column's value back?
    pub fn is_invertible(&self) -> bool {
        self.prefix.is_none() && is_invertible(&self.ty)
    }
}

/// Can a value be had back from its key? True for all but text with a collation that folds or pads, and JSON.
pub fn is_invertible(ty: &SqlType) -> bool {
    match ty.id {
        TypeId::Json | TypeId::Null => false,
        id if id.is_string() => {
            let c = ty.collation.get();
            c.algorithm == Algorithm::Bytes && (c.pad == Pad::NoPad || id == TypeId::Char)
        }
        _ => true,
    }
}

/// A key under construction; reuse it, its allocation stays.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct KeyBuf(Vec<u8>);

impl KeyBuf {
    pub fn new() -> KeyBuf {
        KeyBuf(Vec::with_capacity(64))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Appends the encoding of a value of the part's type (see [`encode`]).
    #[inline]
    pub fn push(&mut self, part: &KeyPart, value: ValueRef<'_>) -> Result<()> {
        encode(part, value, &mut self.0)
    }

    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

/// Appends the encoding of `value`, which must have been converted to the part's type (`convert::store`); error 1815 if
/// it is of another kind.
pub fn encode(part: &KeyPart, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if part.ty.nullable {
        out.push(u8::from(!value.is_null()));
    }
    if !value.is_null() {
        encode_value(part, value, out)?;
    } else if !part.ty.nullable {
        return Err(SqlError::internal("NULL in a key part that cannot be NULL"));
    }
    if part.descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

#[inline]
fn encode_value(part: &KeyPart, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    let ty = &part.ty;
    match (ty.id, value) {
        (TypeId::Int, ValueRef::Int(v)) if !ty.unsigned => {
            out.extend_from_slice(&((v as i32 as u32) ^ 0x8000_0000).to_be_bytes())
        }
        (TypeId::BigInt, ValueRef::Int(v)) if !ty.unsigned => {
            out.extend_from_slice(&((v as u64) ^ 1 << 63).to_be_bytes())
        }
        (id, ValueRef::Int(v)) if id.is_integer() => put_int(id.int_width(), ty.unsigned, v as u64, out),
        (id, ValueRef::UInt(v)) if id.is_integer() => put_int(id.int_width(), ty.unsigned, v, out),
        (TypeId::Decimal, ValueRef::Decimal(v)) => v.encode(ty.length as u8, ty.scale, out),
        (TypeId::Float, ValueRef::Float(v)) => {
            let bits = (if v == 0.0 { 0.0 } else { v }).to_bits();
            let mask = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
            out.extend_from_slice(&(bits ^ mask).to_be_bytes());
        }
        (TypeId::Double, ValueRef::Double(v)) => {
            let bits = (if v == 0.0 { 0.0 } else { v }).to_bits();
            let mask = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.extend_from_slice(&(bits ^ mask).to_be_bytes());
        }
        (TypeId::Date, ValueRef::Date(v)) => out.extend_from_slice(&v.packed().to_be_bytes()[1..]),
        (TypeId::DateTime, ValueRef::DateTime(v, _)) => out.extend_from_slice(&v.packed().to_be_bytes()),
        (TypeId::Timestamp, ValueRef::Timestamp(v, _)) => out.extend_from_slice(&v.unix_micros().to_be_bytes()),
        (TypeId::Time, ValueRef::Time(v, _)) => out.extend_from_slice(&(v.packed() as u64 ^ 1 << 63).to_be_bytes()),
        (TypeId::Year, ValueRef::Year(v)) => out.extend_from_slice(&v.to_be_bytes()),
        (TypeId::Bit, ValueRef::Bit(v, _)) | (TypeId::Set, ValueRef::Set(v, _)) => {
            out.extend_from_slice(&v.to_be_bytes())
        }
        (TypeId::Enum, ValueRef::Enum(v, _)) => out.extend_from_slice(&v.to_be_bytes()),
        (id, ValueRef::Str(v, _)) if id.is_string() => {
            ty.collation.get().key(part.cut(v), out);
        }
        (id, v) => return Err(SqlError::internal(format_args!("key part of {id:?} from {v:?}"))),
    }
    Ok(())
}

#[inline]
fn put_int(width: usize, unsigned: bool, v: u64, out: &mut Vec<u8>) {
    let flipped = if unsigned { v } else { v ^ 1 << (8 * width - 1) };
    out.extend_from_slice(&flipped.to_be_bytes()[8 - width..]);
}

/// Reads one part from the front of `key` and moves `key` behind it. Errors: 1712 for bytes that no encoding gives,
/// 1815 for a part that is not invertible.
pub fn decode(part: &KeyPart, key: &mut &[u8]) -> Result<Value> {
    let ty = &part.ty;
    let flip = if part.descending { 0xFF } else { 0 };
    if ty.nullable {
        match take::<1>(key, flip)?[0] {
            0 => return Ok(Value::Null),
            1 => {}
            _ => return Err(corrupt()),
        }
    }
    Ok(match ty.id {
        id if id.is_integer() => {
            let width = id.int_width();
            let raw = match width {
                4 => u32::from_be_bytes(take(key, flip)?).into(),
                8 => u64::from_be_bytes(take(key, flip)?),
                _ => take_slice(key, width)?.iter().fold(0, |a, b| a << 8 | u64::from(b ^ flip)),
            };
            if ty.unsigned {
                Value::UInt(raw)
            } else {
                let shift = 64 - 8 * width as u32;
                Value::Int(((raw ^ 1 << (8 * width - 1)) << shift) as i64 >> shift)
            }
        }
        TypeId::Decimal => {
            let mut bytes = [0u8; 32];
            let n = Decimal::encoded_len(ty.length as u8);
            for (b, k) in bytes.iter_mut().zip(take_slice(key, n)?) {
                *b = k ^ flip;
            }
            Value::Decimal(Decimal::decode(&bytes[..n], ty.scale).ok_or_else(corrupt)?)
        }
        TypeId::Float => {
            let bits = u32::from_be_bytes(take(key, flip)?);
            Value::Float(f32::from_bits(bits ^ if bits >> 31 == 0 { u32::MAX } else { 1 << 31 }))
        }
        TypeId::Double => {
            let bits = u64::from_be_bytes(take(key, flip)?);
            Value::Double(f64::from_bits(bits ^ if bits >> 63 == 0 { u64::MAX } else { 1 << 63 }))
        }
        TypeId::Date => {
            let [a, b, c] = take(key, flip)?;
            Value::Date(Date::from_packed(u32::from_be_bytes([0, a, b, c])).ok_or_else(corrupt)?)
        }
        TypeId::DateTime => {
            Value::DateTime(DateTime::from_packed(i64::from_be_bytes(take(key, flip)?)).ok_or_else(corrupt)?, ty.scale)
        }
        TypeId::Timestamp => Value::Timestamp(
            Timestamp::from_unix_micros(i64::from_be_bytes(take(key, flip)?)).ok_or_else(corrupt)?,
            ty.scale,
        ),
        TypeId::Time => {
            let packed = (u64::from_be_bytes(take(key, flip)?) ^ 1 << 63) as i64;
            Value::Time(Time::from_packed(packed).ok_or_else(corrupt)?, ty.scale)
        }
        TypeId::Year => Value::Year(u16::from_be_bytes(take(key, flip)?)),
        TypeId::Bit => Value::Bit(u64::from_be_bytes(take(key, flip)?), ty.length as u8),
        TypeId::Enum => Value::Enum(u16::from_be_bytes(take(key, flip)?), ty.members.clone().ok_or_else(corrupt)?),
        TypeId::Set => Value::Set(u64::from_be_bytes(take(key, flip)?), ty.members.clone().ok_or_else(corrupt)?),
        _ if part.is_invertible() => {
            let mut text = Vec::new();
            let used = ty.collation.get().text_of_key(key, flip, &mut text).ok_or_else(corrupt)?;
            *key = &key[used..];
            Value::Str(text.into(), ty.collation)
        }
        _ => return Err(SqlError::internal("decoding a key part that is not invertible")),
    })
}

/// Moves `key` behind one part without decoding it.
pub fn skip(part: &KeyPart, key: &mut &[u8]) -> Result<()> {
    let ty = &part.ty;
    let flip = if part.descending { 0xFF } else { 0 };
    if ty.nullable && take::<1>(key, flip)?[0] == 0 {
        return Ok(());
    }
    let n = match ty.id {
        id if id.is_integer() => id.int_width(),
        TypeId::Decimal => Decimal::encoded_len(ty.length as u8),
        TypeId::Float => 4,
        TypeId::Date => 3,
        TypeId::Year | TypeId::Enum => 2,
        id if id.is_string() => ty.collation.get().key_len(key, flip).ok_or_else(corrupt)?,
        _ => 8,
    };
    take_slice(key, n).map(|_| ())
}

#[cold]
fn corrupt() -> SqlError {
    sql_err!(IndexCorrupt, "key")
}

#[inline]
fn take_slice<'a>(key: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = key.split_at_checked(n).ok_or_else(corrupt)?;
    *key = rest;
    Ok(head)
}

#[inline]
fn take<const N: usize>(key: &mut &[u8], flip: u8) -> Result<[u8; N]> {
    let (head, rest) = key.split_first_chunk::<N>().ok_or_else(corrupt)?;
    *key = rest;
    Ok(head.map(|b| b ^ flip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::compare::order;
    use crate::testing::{random_type, random_value, seeds};
    use std::cmp::Ordering;

    #[test]
    fn keys_order_as_values_do_and_invert() {
        seeds(1500, |rng| {
            let parts: Vec<KeyPart> = (0..1 + rng.below(3))
                .map(|_| {
                    loop {
                        let ty = random_type(rng);
                        if ty.id != TypeId::Json {
                            break KeyPart { ty, prefix: None, descending: rng.chance(30) };
                        }
                    }
                })
                .collect();
            let rows: Vec<Vec<Value>> =
                (0..6).map(|_| parts.iter().map(|p| random_value(rng, &p.ty)).collect()).collect();
            let keys: Vec<Vec<u8>> = rows
                .iter()
                .map(|row| {
                    let mut key = KeyBuf::new();
                    row.iter().zip(&parts).for_each(|(v, p)| key.push(p, v.as_ref()).unwrap());
                    key.into_vec()
                })
                .collect();
            for (a, ka) in rows.iter().zip(&keys) {
                for (b, kb) in rows.iter().zip(&keys) {
                    let mut want = Ordering::Equal;
                    for (i, p) in parts.iter().enumerate() {
                        let one = order(a[i].as_ref(), b[i].as_ref(), p.ty.collation);
                        want = want.then(if p.descending { one.reverse() } else { one });
                    }
                    assert_eq!(ka.cmp(kb), want, "{a:?} {b:?} {parts:?}");
                }
                let (mut rest, mut skipped) = (&ka[..], &ka[..]);
                for (v, p) in a.iter().zip(&parts) {
                    skip(p, &mut skipped).unwrap();
                    if p.is_invertible() {
                        assert_eq!(&decode(p, &mut rest).unwrap(), v, "{p:?}");
                        assert_eq!(rest, skipped);
                    }
                    rest = skipped;
                }
                assert!(rest.is_empty());
            }
        });
    }

    #[test]
    fn any_bytes_decode_or_fail() {
        seeds(3000, |rng| {
            let part = KeyPart { ty: random_type(rng), prefix: None, descending: rng.chance(50) };
            let bytes = rng.bytes(40, &[0, 1, 0xFF, 2, b' ', 0x80]);
            let mut rest = &bytes[..];
            if part.ty.id != TypeId::Json {
                let _ = decode(&part, &mut rest);
                rest = &bytes[..];
                let _ = skip(&part, &mut rest);
            }
        });
    }

    #[test]
    fn prefixes_nulls_and_wrong_kinds() {
        let text =
            KeyPart { ty: SqlType::varchar(10, crate::CollationId::DEFAULT), prefix: Some(2), descending: false };
        let key = |p: &KeyPart, v: &Value| {
            let mut k = Vec::new();
            encode(p, v.as_ref(), &mut k).map(|()| k)
        };
        assert_eq!(key(&text, &Value::text("äbc")).unwrap(), key(&text, &Value::text("ABX")).unwrap());
        assert_eq!(key(&text, &Value::Null).unwrap(), [0]);
        let int = KeyPart::new(SqlType::BIGINT.not_null());
        assert_eq!(key(&int, &Value::Int(-1)).unwrap(), 0x7FFF_FFFF_FFFF_FFFFu64.to_be_bytes());
        assert_eq!(key(&int, &Value::Null).unwrap_err().number(), 1815);
        assert_eq!(key(&int, &Value::text("1")).unwrap_err().number(), 1815);
        let down = KeyPart { descending: true, ..KeyPart::new(SqlType::BIGINT) };
        assert!(key(&down, &Value::Null).unwrap() > key(&down, &Value::Int(i64::MIN)).unwrap());
    }
}
