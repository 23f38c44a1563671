//! The hash of columns by which KEY places rows: MySQL's, so that EXPLAIN, PARTITION (p) and EXCHANGE tell what they
//! tell there. It looks at values as InnoDB stores them: integers and floats little-endian, times with fractions
//! big-endian in five, four or three bytes and the fraction's, texts by their collation. Numbers count as latin1 text
//! (so trailing bytes 20 do not count), and as bytes under ALGORITHM=1; dates and times always as bytes. A DECIMAL is
//! hashed in this server's own form.

use gannet_types::collation::RowHash;
use gannet_types::{Collation, CollationId, SqlType, TypeId, ValueRef};

/// latin1_swedish_ci.
const OF_NUMBERS: CollationId = CollationId(8);

pub(super) fn hash_columns<'v>(values: impl Iterator<Item = (ValueRef<'v>, &'v SqlType)>, old: bool) -> u32 {
    let mut hash = RowHash::default();
    for (value, ty) in values {
        match value {
            ValueRef::Null => hash.null(),
            ValueRef::Str(text, _) => ty.collation.get().hash_into(text, &mut hash),
            _ => number(value, ty, old, &mut hash),
        }
    }
    hash.finish()
}

fn number(value: ValueRef<'_>, ty: &SqlType, old: bool, hash: &mut RowHash) {
    let (bytes, plain) = stored(value, ty);
    match Collation::by_id(OF_NUMBERS.0) {
        Some(latin1) if !plain && !old => latin1.hash_into(&bytes, hash),
        _ => hash.bytes(&bytes),
    }
}

/// A value as InnoDB stores it, and whether it is hashed byte by byte in any case.
fn stored(value: ValueRef<'_>, ty: &SqlType) -> (Vec<u8>, bool) {
    let width = |id: TypeId| if id.is_integer() { id.int_width() } else { 8 };
    let fraction = |micros: u32, fsp: u8, out: &mut Vec<u8>| match fsp.div_ceil(2) {
        0 => {}
        1 => out.push((micros / 10_000) as u8),
        2 => out.extend_from_slice(&((micros / 100) as u16).to_be_bytes()),
        _ => out.extend_from_slice(&micros.to_be_bytes()[1..]),
    };
    let mut out = Vec::with_capacity(8);
    match value {
        ValueRef::Int(v) => out.extend_from_slice(&v.to_le_bytes()[..width(ty.id)]),
        ValueRef::UInt(v) => out.extend_from_slice(&v.to_le_bytes()[..width(ty.id)]),
        ValueRef::Float(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        ValueRef::Double(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        ValueRef::Decimal(v) => v.encode(ty.length as u8, ty.scale, &mut out),
        ValueRef::Date(v) => out.extend_from_slice(&v.packed().to_le_bytes()[..3]),
        ValueRef::Year(v) => out.push(if v == 0 { 0 } else { v.saturating_sub(1900) as u8 }),
        ValueRef::DateTime(v, _) => {
            let whole = (v.packed() >> 24) + 0x80_0000_0000;
            out.extend_from_slice(&whole.to_be_bytes()[3..]);
            fraction((v.packed() & 0xff_ffff) as u32, ty.scale, &mut out);
        }
        ValueRef::Time(v, _) => {
            let whole = (v.packed() >> 24) + 0x80_0000;
            out.extend_from_slice(&whole.to_be_bytes()[5..]);
            fraction((v.packed() & 0xff_ffff) as u32, ty.scale, &mut out);
        }
        ValueRef::Timestamp(v, _) => {
            let micros = v.unix_micros();
            out.extend_from_slice(&(micros.div_euclid(1_000_000) as u32).to_be_bytes());
            fraction(micros.rem_euclid(1_000_000) as u32, ty.scale, &mut out);
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
            let width = members.names.len().div_ceil(8).next_power_of_two().min(8);
            out.extend_from_slice(&v.to_le_bytes()[..width]);
            return (out, true);
        }
        ValueRef::Null | ValueRef::Str(..) | ValueRef::Json(_) => {}
    }
    let temporal = matches!(ty.id, TypeId::Date | TypeId::DateTime | TypeId::Time | TypeId::Timestamp);
    (out, temporal)
}
