//! Values that go into their columns as they are, or nearly: most that are loaded.

use crate::CollationId;
use crate::charset::Charset;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::{Date, DateTime};
use crate::value::{Value, ValueRef};

/// A value that goes into its column without a second look, which most that are loaded do; `None`: [`store`](super::store) decides.
#[inline]
pub fn store_plain(v: ValueRef<'_>, ty: &SqlType) -> Option<Value> {
    match v {
        ValueRef::Str(text, _) if text.len() > SHORT => None,
        _ => store_same(v, ty).map(|v| v.to_owned()),
    }
}

/// The same, copying nothing.
#[inline]
pub fn store_same<'v>(v: ValueRef<'v>, ty: &SqlType) -> Option<ValueRef<'v>> {
    match (ty.id, v) {
        (TypeId::Int, ValueRef::Int(n)) if !ty.unsigned && i32::try_from(n).is_ok() => Some(ValueRef::Int(n)),
        (TypeId::BigInt, ValueRef::Int(n)) if !ty.unsigned => Some(ValueRef::Int(n)),
        (id, ValueRef::Str(text, from)) if id.is_string() => {
            fits(text, from, ty).then_some(ValueRef::Str(text, ty.collation))
        }
        (id, ValueRef::Str(text, from)) if id.is_integer() && !from.charset().is_wide() => {
            let n = digits(text)?;
            let bits = integer_bits(id);
            match ty.unsigned {
                true => (n >= 0 && (bits == 64 || n >> bits == 0)).then_some(ValueRef::UInt(n as u64)),
                false => (bits == 64 || n >> (bits - 1) == n >> 63).then_some(ValueRef::Int(n)),
            }
        }
        (TypeId::Date, ValueRef::Str(text, from)) if !from.charset().is_wide() => day(text).map(ValueRef::Date),
        (TypeId::DateTime, ValueRef::Str(text, from)) if !from.charset().is_wide() => {
            let (date, time) = text.split_at_checked(DAY)?;
            let (date, [hour, minute, second]) = (day(date)?, clock(time)?);
            let at = DateTime::new(date.year(), date.month(), date.day(), hour, minute, second, 0);
            Some(ValueRef::DateTime(at, ty.scale))
        }
        _ => None,
    }
}

fn integer_bits(id: TypeId) -> u32 {
    match id {
        TypeId::TinyInt => 8,
        TypeId::SmallInt => 16,
        TypeId::MediumInt => 24,
        TypeId::Int => 32,
        _ => 64,
    }
}

/// Bytes of `YYYY-MM-DD`.
const DAY: usize = 10;

/// A number of as many digits.
#[inline]
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0')))
}

/// `YYYY-MM-DD`, of a day that every month has: no mode minds it.
#[inline]
fn day(text: &[u8]) -> Option<Date> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = text else { return None };
    let (year, month, day) = (number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?);
    (year > 0 && (1..=12).contains(&month) && (1..=28).contains(&day)).then(|| Date::new(year, month, day))
}

/// ` HH:MM:SS`
#[inline]
fn clock(text: &[u8]) -> Option<[u32; 3]> {
    let &[b' ', a, b, b':', c, d, b':', e, f] = text else { return None };
    let (hour, minute, second) = (number(&[a, b])?, number(&[c, d])?, number(&[e, f])?);
    (hour < 24 && minute < 60 && second < 60).then_some([hour, minute, second])
}

/// Bytes of a text that is copied without asking whether there is room.
const SHORT: usize = 1024;

/// The number that a text of nothing but a few digits is, perhaps behind a minus.
#[inline]
fn digits(text: &[u8]) -> Option<i64> {
    let (minus, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut n = 0;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n * 10 + i64::from(digit);
    }
    Some(if minus { -n } else { n })
}

/// Does text go into a string column byte for byte?
#[inline]
pub(super) fn fits(text: &[u8], from: CollationId, ty: &SqlType) -> bool {
    let charset = ty.collation.charset();
    let plain = from.charset() != Charset::Binary && !from.charset().is_wide() && !charset.is_wide();
    let same = from.charset() == charset || (plain && text.is_ascii());
    if !same || (from != ty.collation && !charset.is_valid(text)) || ty.id == TypeId::Binary {
        return false;
    }
    if ty.id == TypeId::Char && (text.last() == Some(&b' ') || charset.is_wide()) {
        return false;
    }
    // Bytes may lack some of their first character.
    if charset.is_wide() && (ty.id.is_lob() || !charset.is_valid(text)) {
        return false;
    }
    // Fewer bytes than characters allowed are never too many.
    text.len() <= ty.length as usize || (!ty.id.is_lob() && charset.char_count(text) <= ty.length as usize)
}
