//! Values in rows of the dictionary.

use crate::fields::{Decoded, collation};
use gannet_base::{Reader, Writer};
use gannet_types::value::Text;
use gannet_types::{Date, DateTime, Decimal, SqlType, Time, Timestamp, TypeId, Value};

const MAX_TEXT: usize = 1 << 20;

pub(crate) fn encode_value(value: &Value, w: &mut Writer<'_>) {
    match value {
        Value::Null => w.u8(0),
        Value::Int(v) => w.u8(1).varint_signed(*v),
        Value::UInt(v) => w.u8(2).varint(*v),
        Value::Decimal(v) => {
            let mut bytes = Vec::new();
            v.write(&mut bytes);
            w.u8(3).prefixed(&bytes)
        }
        Value::Float(v) => w.u8(4).u32(v.to_bits()),
        Value::Double(v) => w.u8(5).u64(v.to_bits()),
        Value::Str(v, c) => w.u8(6).u16(c.0).prefixed(v),
        Value::Date(v) => w.u8(7).u32(v.packed()),
        Value::Time(v, fsp) => w.u8(8).u8(*fsp).i64(v.packed()),
        Value::DateTime(v, fsp) => w.u8(9).u8(*fsp).i64(v.packed()),
        Value::Timestamp(v, fsp) => w.u8(10).u8(*fsp).i64(v.unix_micros()),
        Value::Year(v) => w.u8(11).u16(*v),
        Value::Bit(v, n) => w.u8(12).u8(*n).varint(*v),
        Value::Enum(v, _) => w.u8(13).varint(u64::from(*v)),
        Value::Set(v, _) => w.u8(14).varint(*v),
        Value::Json(v) => w.u8(15).prefixed(v),
    };
}

/// A value that is no member of a list.
pub(crate) fn decode_plain_value(r: &mut Reader<'_>) -> Decoded<Value> {
    decode_value(r, &SqlType::new(TypeId::BigInt))
}

pub(crate) fn decode_value(r: &mut Reader<'_>, ty: &SqlType) -> Decoded<Value> {
    let bad = |r: &Reader<'_>| r.invalid("value");
    let members = |r: &Reader<'_>| ty.members.clone().ok_or(bad(r));
    let fsp = |r: &mut Reader<'_>| match r.u8()? {
        n @ 0..=6 => Ok(n),
        _ => Err(bad(r)),
    };
    Ok(match r.u8()? {
        0 => Value::Null,
        1 => Value::Int(r.varint_signed()?),
        2 => Value::UInt(r.varint()?),
        3 => {
            let digits = r.prefixed_str(128)?;
            let parsed = Decimal::parse(digits.as_bytes());
            if parsed.consumed != digits.len() || parsed.overflow {
                return Err(bad(r));
            }
            Value::Decimal(parsed.value)
        }
        4 => Value::Float(f32::from_bits(r.u32()?)),
        5 => Value::Double(f64::from_bits(r.u64()?)),
        6 => {
            let c = collation(r)?;
            Value::Str(Text::new(r.prefixed(MAX_TEXT)?), c)
        }
        7 => Value::Date(Date::from_packed(r.u32()?).ok_or(bad(r))?),
        8 => {
            let fsp = fsp(r)?;
            Value::Time(Time::from_packed(r.i64()?).ok_or(bad(r))?, fsp)
        }
        9 => {
            let fsp = fsp(r)?;
            Value::DateTime(DateTime::from_packed(r.i64()?).ok_or(bad(r))?, fsp)
        }
        10 => {
            let fsp = fsp(r)?;
            Value::Timestamp(Timestamp::from_unix_micros(r.i64()?).ok_or(bad(r))?, fsp)
        }
        11 => Value::Year(r.u16()?),
        12 => {
            let width = r.u8()?;
            Value::Bit(r.varint()?, width.clamp(1, 64))
        }
        13 => Value::Enum(u16::try_from(r.varint()?).map_err(|_| bad(r))?, members(r)?),
        14 => Value::Set(r.varint()?, members(r)?),
        15 => Value::Json(Text::new(r.prefixed(MAX_TEXT)?)),
        _ => return Err(bad(r)),
    })
}
