//! The hash of columns by which KEY places rows: MySQL's, so that EXPLAIN, PARTITION (p) and EXCHANGE tell what they
//! tell there. It looks at values as rows of MySQL hold them: integers, floats and dates little-endian, times with
//! fractions big-endian in five, four or three bytes and the fraction's, decimals in groups of nine digits, texts by
//! their collation. Numbers and dates count as latin1 text (so trailing bytes 20 do not count), and as bytes under
//! ALGORITHM=1; times always as bytes. Values that are equal have one hash, also where MySQL gives them two: -0 is 0.

use super::Placement;
use gannet_types::collation::RowHash;
use gannet_types::decimal::stored;
use gannet_types::{Collation, CollationId, SqlType, TypeId, ValueRef};

/// latin1_swedish_ci.
const OF_NUMBERS: CollationId = CollationId(8);

pub(super) fn hash_columns<'v>(
    values: impl Iterator<Item = (ValueRef<'v>, &'v SqlType)>,
    old: bool,
    placement: Placement,
) -> u32 {
    let mut hash = RowHash::default();
    for (value, ty) in values {
        match value {
            ValueRef::Null => hash.null(),
            ValueRef::Str(text, _) if placement == Placement::First => ty.collation.get().hash_into(text, &mut hash),
            ValueRef::Str(text, _) => {
                let chars = (ty.id == TypeId::Char).then_some(ty.length as usize);
                ty.collation.get().hash_as_mysql(text, chars, &mut hash);
            }
            _ => number(value, ty, (old, placement), &mut hash),
        }
    }
    hash.finish()
}

fn number(value: ValueRef<'_>, ty: &SqlType, (old, placement): (bool, Placement), hash: &mut RowHash) {
    let (mut bytes, mut plain) = stored(value, ty);
    if placement == Placement::First {
        bytes = first(value, ty).unwrap_or(bytes);
        plain = plain || ty.id == TypeId::Date;
    }
    // Of members, ALGORITHM=1 makes letters.
    let members = matches!(ty.id, TypeId::Enum | TypeId::Set) && placement == Placement::Mysql;
    let letters = if members { old } else { !plain && !old };
    match Collation::by_id(OF_NUMBERS.0) {
        Some(latin1) if letters => latin1.hash_into(&bytes, hash),
        _ => hash.bytes(&bytes),
    }
}

/// What the first placement takes for the bytes of a value, where that is not what rows of MySQL hold.
fn first(value: ValueRef<'_>, ty: &SqlType) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match value {
        ValueRef::Float(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        ValueRef::Double(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        ValueRef::Decimal(v) => v.encode(ty.length as u8, ty.scale, &mut out),
        ValueRef::Time(v, _) if v.packed() < 0 => {
            out.extend_from_slice(&((v.packed() >> 24) + 0x80_0000).to_be_bytes()[5..]);
            fraction(v.packed() & 0xff_ffff, ty.scale, &mut out);
        }
        ValueRef::Set(v, members) => {
            let width = members.names.len().div_ceil(8).next_power_of_two().min(8);
            out.extend_from_slice(&v.to_le_bytes()[..width]);
        }
        _ => return None,
    }
    Some(out)
}

/// Microseconds in as many bytes as their digits need.
fn fraction(micros: i64, digits: u8, out: &mut Vec<u8>) {
    match digits.div_ceil(2) {
        0 => {}
        1 => out.push((micros / 10_000) as u8),
        2 => out.extend_from_slice(&((micros / 100) as u16).to_be_bytes()),
        _ => out.extend_from_slice(&(micros as u32).to_be_bytes()[1..]),
    }
}

/// A value as rows of MySQL hold it, and whether it is hashed byte by byte in any case.
fn stored(value: ValueRef<'_>, ty: &SqlType) -> (Vec<u8>, bool) {
    let width = |id: TypeId| if id.is_integer() { id.int_width() } else { 8 };
    let mut out = Vec::with_capacity(8);
    match value {
        ValueRef::Int(v) => out.extend_from_slice(&v.to_le_bytes()[..width(ty.id)]),
        ValueRef::UInt(v) => out.extend_from_slice(&v.to_le_bytes()[..width(ty.id)]),
        // The sum makes 0 of -0.
        ValueRef::Float(v) => out.extend_from_slice(&(v + 0.0).to_bits().to_le_bytes()),
        ValueRef::Double(v) => out.extend_from_slice(&(v + 0.0).to_bits().to_le_bytes()),
        ValueRef::Decimal(v) => stored::encode(&v, ty.length as u8, ty.scale, &mut out),
        ValueRef::Date(v) => out.extend_from_slice(&v.packed().to_le_bytes()[..3]),
        ValueRef::Year(v) => out.push(if v == 0 { 0 } else { v.saturating_sub(1900) as u8 }),
        ValueRef::DateTime(v, _) => {
            let whole = (v.packed() >> 24) + 0x80_0000_0000;
            out.extend_from_slice(&whole.to_be_bytes()[3..]);
            fraction(v.packed() & 0xff_ffff, ty.scale, &mut out);
        }
        ValueRef::Time(v, _) => {
            let whole = (v.packed() >> 24) + 0x80_0000;
            out.extend_from_slice(&whole.to_be_bytes()[5..]);
            // Of negative times the whole is rounded down, and only six digits say so of the fraction.
            let micros = if ty.scale > 4 { v.packed() & 0xff_ffff } else { v.packed() % 0x100_0000 };
            fraction(micros, ty.scale, &mut out);
        }
        ValueRef::Timestamp(v, _) => {
            let micros = v.unix_micros();
            out.extend_from_slice(&(micros.div_euclid(1_000_000) as u32).to_be_bytes());
            fraction(micros.rem_euclid(1_000_000), ty.scale, &mut out);
        }
        ValueRef::Bit(v, _) => {
            out.extend_from_slice(&v.to_be_bytes());
            return (out, true);
        }
        ValueRef::Enum(v, members) => {
            let wide = members.names.len() > 255;
            out.extend_from_slice(&v.to_le_bytes()[..1 + usize::from(wide)]);
            return (out, true);
        }
        ValueRef::Set(v, members) => {
            let width = match members.names.len().div_ceil(8) {
                n @ 0..=4 => n,
                _ => 8,
            };
            out.extend_from_slice(&v.to_le_bytes()[..width]);
            return (out, true);
        }
        ValueRef::Null | ValueRef::Str(..) | ValueRef::Json(_) => {}
    }
    let temporal = matches!(ty.id, TypeId::DateTime | TypeId::Time | TypeId::Timestamp);
    (out, temporal)
}
