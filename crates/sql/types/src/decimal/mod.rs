//! Exact decimal numbers: up to 65 digits, as MySQL's DECIMAL.
//!
//! A value is sign, integer magnitude below 10^65, and scale: `magnitude / 10^scale`. Magnitudes below 2^128 (38
//! digits) take a fast path. Rounding is half away from zero. The scale of a value may exceed that of its expression's
//! type: MySQL's division keeps fraction digits in words of nine and rounds only when the value is shown or stored, so
//! that `1/3*3` is `1.0000`.

pub mod stored;
mod text;
mod wide;

use crate::error::Result;
use crate::sql_err;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
pub use text::Parsed;
use wide::{POW10, POW10_128, U256, U512};

/// Digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Digits after the point of a DECIMAL column or expression.
pub const MAX_SCALE: u8 = 30;

/// Words of nine digits of MySQL's numbers.
const WORDS: u32 = 9;
/// Digits after the point that a product keeps until it is shown with those of its type: whole words for MySQL's 31.
const PRODUCT_SCALE: u32 = 36;

/// A decimal number; 32 bytes, no allocation.
#[derive(Clone, Copy)]
pub struct Decimal {
    low: [u64; 3],
    high: u32,
    scale: u8,
    negative: bool,
}

impl Decimal {
    pub const ZERO: Decimal = Decimal { low: [0; 3], high: 0, scale: 0, negative: false };
    pub const ONE: Decimal = Decimal { low: [1, 0, 0], high: 0, scale: 0, negative: false };

    #[inline]
    fn wide(&self) -> U256 {
        [self.low[0], self.low[1], self.low[2], u64::from(self.high)]
    }

    /// The magnitude, if it is below 2^128.
    #[inline]
    fn small(&self) -> Option<u128> {
        (self.low[2] == 0 && self.high == 0).then(|| u128::from(self.low[0]) | u128::from(self.low[1]) << 64)
    }

    #[inline]
    fn from_small(negative: bool, v: u128, scale: u8) -> Decimal {
        Decimal { low: [v as u64, (v >> 64) as u64, 0], high: 0, scale, negative: negative && v != 0 }
    }

    /// From a magnitude of at most 65 digits.
    fn from_wide(negative: bool, v: U256, scale: u8) -> Decimal {
        debug_assert!(wide::digits(&v) <= u32::from(MAX_PRECISION));
        let negative = negative && !wide::is_zero(&v);
        Decimal { low: [v[0], v[1], v[2]], high: v[3] as u32, scale, negative }
    }

    /// Fits a wide magnitude into 65 digits by rounding fraction digits off; `None` if the integer part is too long.
    fn fit(negative: bool, v: U512, scale: u32) -> Option<Decimal> {
        let (mut v, mut scale) = (v, scale);
        let mut drop = 0;
        loop {
            if wide::is_zero(&v[4..]) {
                let low = [v[0], v[1], v[2], v[3]];
                let n = wide::digits(&low)
                    .saturating_sub(u32::from(MAX_PRECISION))
                    .max(scale.saturating_sub(u32::from(u8::MAX)));
                if n == 0 && drop == 0 {
                    return Some(Decimal::from_wide(negative, low, scale as u8));
                }
                drop = n.max(drop);
            } else {
                drop = 77;
            }
            if drop > scale {
                // Digits before the point would go; unless they do not exist.
                drop = scale;
                if drop == 0 {
                    return None;
                }
            }
            v = round_off(&v, drop);
            scale -= drop;
            drop = 0;
        }
    }

    pub fn from_i64(v: i64) -> Decimal {
        Decimal::from_small(v < 0, u128::from(v.unsigned_abs()), 0)
    }

    pub fn from_u64(v: u64) -> Decimal {
        Decimal::from_small(false, u128::from(v), 0)
    }

    /// `v / 10^scale`.
    pub fn from_i128(v: i128, scale: u8) -> Decimal {
        Decimal::from_small(v < 0, v.unsigned_abs(), scale)
    }

    /// From a double by way of its shortest text, as MySQL does. `None` for NaN, infinities and overflow.
    pub fn from_f64(v: f64) -> Option<Decimal> {
        if !v.is_finite() {
            return None;
        }
        let mut buffer = ryu::Buffer::new();
        let parsed = Decimal::parse(buffer.format_finite(v).as_bytes());
        (!parsed.overflow).then_some(parsed.value)
    }

    pub fn scale(&self) -> u8 {
        self.scale
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    pub fn is_zero(&self) -> bool {
        self.low == [0; 3] && self.high == 0
    }

    /// Digits of the magnitude, at least one.
    pub fn digits(&self) -> u8 {
        wide::digits(&self.wide()).max(1) as u8
    }

    /// Digits before the point.
    pub fn int_digits(&self) -> u8 {
        (wide::digits(&self.wide()) as u8).saturating_sub(self.scale)
    }

    /// Digits of the value written out, those after the point included (`0.05` has two): the least precision of a type
    /// that holds it.
    pub fn precision(&self) -> u8 {
        self.digits().max(self.scale)
    }

    /// The value as `i128 / 10^scale`, if it fits.
    pub fn to_i128(&self) -> Option<i128> {
        let v = i128::try_from(self.small()?).ok()?;
        Some(if self.negative { -v } else { v })
    }

    pub fn abs(mut self) -> Decimal {
        self.negative = false;
        self
    }

    /// Sum; `None` on overflow of 65 digits before the point.
    pub fn checked_add(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale)) {
            if self.negative == other.negative {
                if let Some(s) = a.checked_add(b) {
                    return Some(Decimal::from_small(self.negative, s, scale));
                }
            } else {
                let (n, s) = if a >= b { (self.negative, a - b) } else { (other.negative, b - a) };
                return Some(Decimal::from_small(n, s, scale));
            }
        }
        let mut a = wide::scale_up(&self.wide(), u32::from(scale - self.scale).min(77));
        let mut b = wide::scale_up(&other.wide(), u32::from(scale - other.scale).min(77));
        if self.negative == other.negative {
            wide::add_assign(&mut a, &b);
            return Decimal::fit(self.negative, a, u32::from(scale));
        }
        let (negative, v) = if a.iter().rev().cmp(b.iter().rev()).is_ge() {
            wide::sub_assign(&mut a, &b);
            (self.negative, a)
        } else {
            wide::sub_assign(&mut b, &a);
            (other.negative, b)
        };
        Decimal::fit(negative, v, u32::from(scale))
    }

    pub fn checked_sub(&self, other: &Decimal) -> Option<Decimal> {
        self.checked_add(&-*other)
    }

    /// Product; its scale is the sum of scales, cut to 36 digits; `None` on overflow.
    pub fn checked_mul(&self, other: &Decimal) -> Option<Decimal> {
        let negative = self.negative != other.negative;
        let scale = u32::from(self.scale) + u32::from(other.scale);
        if scale <= PRODUCT_SCALE
            && let (Some(a), Some(b)) = (self.small(), other.small())
            && let Some(p) = a.checked_mul(b)
        {
            return Some(Decimal::from_small(negative, p, scale as u8));
        }
        let (a, b) = factors(self, other);
        let scale = u32::from(a.scale) + u32::from(b.scale);
        let excess = scale.saturating_sub(PRODUCT_SCALE);
        let mut p = wide::mul(&a.wide(), &b.wide());
        if excess > 0 {
            p = truncate_off(&p, excess);
        }
        Decimal::fit(negative, p, scale - excess)
    }

    /// Quotient as MySQL computes it with `div_precision_increment`: truncated after a number of fraction digits that
    /// is a multiple of nine. `None` for division by zero.
    pub fn checked_div(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let words = |n: u32| n.div_ceil(9) * 9;
        let (f1, f2) = (u32::from(self.scale), u32::from(other.scale));
        let more = u32::from(increment).saturating_sub(words(f1) - f1 + words(f2) - f2);
        // The integer part has at most int1 - int2 + 1 digits, where leading zeros of the divisor's fraction count as
        // negative ones.
        let n1 = i64::from(wide::digits(&self.wide())) - i64::from(f1);
        let n2 = i64::from(wide::digits(&other.wide())) - i64::from(f2);
        let int = (n1 - n2 + 1).max(0) as u32;
        if int > u32::from(MAX_PRECISION) {
            return None;
        }
        let (scale, room) = (words(words(f1) + words(f2) + more), u32::from(MAX_PRECISION) - int);
        let quotient = self.quotient(other, scale.min(room) as u8);
        // With one digit less before the point there is room for one more behind it.
        if scale > room && int > 0 && wide::digits(&quotient.wide()) < u32::from(MAX_PRECISION) {
            return Some(self.quotient(other, (room + 1) as u8));
        }
        Some(quotient)
    }

    /// `self / other` truncated to `scale` digits after the point; the quotient must fit into 65 digits, `other` is not
    /// zero.
    fn quotient(&self, other: &Decimal, scale: u8) -> Decimal {
        let negative = self.negative != other.negative;
        // self.mag/10^s1 / (other.mag/10^s2) * 10^scale = self.mag * 10^(scale + s2 - s1) / other.mag
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        if let (Some(a), Some(b), 0..=38) = (self.small(), other.small(), shift)
            && let Some(n) = a.checked_mul(POW10_128[shift as usize])
        {
            return Decimal::from_small(negative, n / b, scale);
        }
        let n = match shift {
            i32::MIN..=-1 => {
                let mut wide512 = [0; 8];
                wide512[..4].copy_from_slice(&self.wide());
                truncate_off(&wide512, shift.unsigned_abs())
            }
            0..=77 => wide::scale_up(&self.wide(), shift as u32),
            _ => {
                let n = wide::scale_up(&self.wide(), 77);
                if !wide::is_zero(&n[4..]) {
                    return Decimal::ZERO.with_scale(scale);
                }
                wide::scale_up(&[n[0], n[1], n[2], n[3]], (shift as u32 - 77).min(77))
            }
        };
        let (q, _) = wide::div_rem(&n, &other.wide());
        Decimal::fit(negative, q, u32::from(scale)).unwrap_or(Decimal::ZERO)
    }

    /// Integer part of the quotient (DIV); `None` for division by zero and overflow.
    pub fn checked_div_int(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        let a = wide::scale_up(&self.wide(), u32::from(scale - self.scale).min(77));
        let b = wide::scale_up(&other.wide(), u32::from(scale - other.scale).min(77));
        if !wide::is_zero(&b[4..]) {
            return Some(Decimal::ZERO);
        }
        let (q, _) = wide::div_rem(&a, &[b[0], b[1], b[2], b[3]]);
        Decimal::fit(self.negative != other.negative, q, 0)
    }

    /// Remainder with the sign of `self` (MOD); `None` for division by zero.
    pub fn checked_rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        if let (Some(a), Some(b)) = (self.small_at(scale), other.small_at(scale)) {
            return Some(Decimal::from_small(self.negative, a % b, scale));
        }
        let a = wide::scale_up(&self.wide(), u32::from(scale - self.scale).min(77));
        let b = wide::scale_up(&other.wide(), u32::from(scale - other.scale).min(77));
        if !wide::is_zero(&b[4..]) {
            return Some(*self);
        }
        let (_, r) = wide::div_rem(&a, &[b[0], b[1], b[2], b[3]]);
        let mut r512 = [0; 8];
        r512[..4].copy_from_slice(&r);
        Decimal::fit(self.negative, r512, u32::from(scale))
    }

    fn with_scale(mut self, scale: u8) -> Decimal {
        self.scale = scale;
        self
    }

    /// The magnitude at a scale not below its own, if below 2^128.
    #[inline]
    fn small_at(&self, scale: u8) -> Option<u128> {
        let v = self.small()?;
        match scale - self.scale {
            0 => Some(v),
            n => v.checked_mul(*POW10_128.get(usize::from(n))?),
        }
    }

    /// Rounds half away from zero to `scale` digits after the point; appends zeros where the value has fewer. `None` on
    /// overflow.
    pub fn round(&self, scale: u8) -> Option<Decimal> {
        self.rescale(scale, true)
    }

    /// The value with the digits that a type of `scale` shows; `None` where those are its own. With `own_digits`
    /// nothing is appended ([`SqlType::own_digits`](crate::SqlType::own_digits)).
    #[inline]
    pub fn shown_with(&self, scale: u8, own_digits: bool) -> Option<Decimal> {
        match scale.cmp(&self.scale) {
            Ordering::Equal => None,
            Ordering::Greater if own_digits => None,
            _ => self.round(scale),
        }
    }

    /// As [`round`](Self::round), cutting instead.
    pub fn truncate(&self, scale: u8) -> Option<Decimal> {
        self.rescale(scale, false)
    }

    fn rescale(&self, scale: u8, round: bool) -> Option<Decimal> {
        match scale.cmp(&self.scale) {
            Ordering::Equal => Some(*self),
            Ordering::Greater => {
                if let Some(v) = self.small_at(scale) {
                    return Some(Decimal::from_small(self.negative, v, scale));
                }
                let v = wide::scale_up(&self.wide(), u32::from(scale - self.scale).min(77));
                let low = [v[0], v[1], v[2], v[3]];
                if !wide::is_zero(&v[4..]) || wide::digits(&low) > u32::from(MAX_PRECISION) {
                    return None;
                }
                Some(Decimal::from_wide(self.negative, low, scale))
            }
            Ordering::Less => {
                let drop = u32::from(self.scale - scale);
                if let (Some(v), 0..=38) = (self.small(), drop) {
                    let p = POW10_128[drop as usize];
                    let (q, r) = (v / p, v % p);
                    return Some(Decimal::from_small(self.negative, q + u128::from(round && r >= p - r), scale));
                }
                let mut v = [0; 8];
                v[..4].copy_from_slice(&self.wide());
                let v = if round { round_off(&v, drop) } else { truncate_off(&v, drop) };
                Decimal::fit(self.negative, v, u32::from(scale))
            }
        }
    }

    /// Rounds (or cuts) digits before the point away: `places` 2 makes 1250 to 1300.
    pub fn round_integer(&self, places: u8, round: bool) -> Option<Decimal> {
        let places = u32::from(places).min(77);
        let mut v = [0; 8];
        v[..4].copy_from_slice(&self.wide());
        let drop = u32::from(self.scale) + places;
        let v = if round { round_off(&v, drop) } else { truncate_off(&v, drop) };
        let v = wide::scale_up(&[v[0], v[1], v[2], v[3]], places);
        Decimal::fit(self.negative, v, 0)
    }

    /// Largest integer not above (`up` false), or smallest not below (`up` true).
    pub fn to_integer(&self, up: bool) -> Decimal {
        let cut = self.truncate(0).unwrap_or(Decimal::ZERO);
        let exact = cut.cmp(self) == Ordering::Equal;
        match (exact, up, self.negative) {
            (false, true, false) => cut.checked_add(&Decimal::ONE).unwrap_or(cut),
            (false, false, true) => cut.checked_sub(&Decimal::ONE).unwrap_or(cut),
            _ => cut,
        }
    }

    /// Nearest integer; `Err` has the limit that was passed.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        let v = self.round(0).and_then(|d| d.small()).ok_or(limit)?;
        if self.negative {
            if v <= 1 << 63 { Ok((v as u64).wrapping_neg() as i64) } else { Err(limit) }
        } else {
            i64::try_from(v).map_err(|_| limit)
        }
    }

    /// Nearest integer; `Err` has the limit that was passed.
    pub fn to_u64(&self) -> Result<u64, u64> {
        let v = self.round(0).and_then(|d| d.small()).ok_or(if self.negative { 0 } else { u64::MAX })?;
        if self.negative && v != 0 {
            return Err(0);
        }
        u64::try_from(v).map_err(|_| u64::MAX)
    }

    /// Nearest double.
    pub fn to_f64(&self) -> f64 {
        let magnitude = match self.small() {
            // Both operands exact, so the division rounds once.
            Some(v) if v < 1 << 53 && self.scale <= 22 => v as f64 / 10f64.powi(i32::from(self.scale)),
            _ => {
                let mut text = Vec::with_capacity(72);
                self.abs().write(&mut text);
                std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0)
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The largest value of DECIMAL(precision, scale).
    pub fn max_of(precision: u8, scale: u8) -> Decimal {
        let mut v = POW10[usize::from(precision.min(MAX_PRECISION))];
        wide::sub_assign(&mut v, &[1]);
        Decimal::from_wide(false, v, scale)
    }

    /// Rounds to the scale of DECIMAL(precision, scale); `Err` has the nearest value of that type if it is out of
    /// range.
    pub fn to_column(&self, precision: u8, scale: u8) -> Result<Decimal, Decimal> {
        let limit = || {
            let max = Decimal::max_of(precision, scale);
            if self.negative { -max } else { max }
        };
        let v = self.round(scale).ok_or_else(limit)?;
        if wide::digits(&v.wide()) > u32::from(precision) { Err(limit()) } else { Ok(v) }
    }

    /// Bytes that [`encode`](Self::encode) writes for a precision.
    #[inline]
    pub fn encoded_len(precision: u8) -> usize {
        usize::from(ENCODED_LEN[usize::from(precision.min(MAX_PRECISION))])
    }

    /// Appends the value of a DECIMAL(precision, scale) column: its magnitude at `scale` as a signed big-endian integer
    /// of [`encoded_len`](Self::encoded_len) bytes with the sign bit flipped, so that bytes compare as values do. A
    /// value of another type is brought to the column's first, clamped.
    pub fn encode(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let v =
            if self.scale == scale { *self } else { self.to_column(precision, scale).unwrap_or_else(|limit| limit) };
        let start = out.len();
        out.resize(start + Self::encoded_len(precision), 0);
        v.encode_into(scale, &mut out[start..]);
    }

    /// As [`encode`](Self::encode), over a slice of the encoded length (at most 32). The value must fit.
    pub(crate) fn encode_into(&self, scale: u8, out: &mut [u8]) {
        let v = self.round(scale).unwrap_or(*self);
        let mut limbs = v.wide();
        if v.negative {
            // Two's complement.
            for l in &mut limbs {
                *l = !*l;
            }
            wide::add_assign(&mut limbs, &[1]);
        }
        let len = out.len().min(32);
        if len <= 8 {
            out.copy_from_slice(&limbs[0].to_be_bytes()[8 - len..]);
        } else {
            let mut bytes = [0u8; 32];
            for (i, l) in limbs.iter().rev().enumerate() {
                bytes[i * 8..i * 8 + 8].copy_from_slice(&l.to_be_bytes());
            }
            out[..len].copy_from_slice(&bytes[32 - len..]);
        }
        out[0] ^= 0x80;
    }

    /// The inverse of [`encode`](Self::encode), from exactly `encoded_len` bytes. `None` if they hold no value of 65
    /// digits.
    #[inline]
    pub fn decode(bytes: &[u8], scale: u8) -> Option<Decimal> {
        match Decimal::decode_short(bytes, scale) {
            Some(short) => Some(short),
            None => decode_long(bytes, scale),
        }
    }

    /// The same of one to eight bytes, which hold up to 18 digits; `None` for others.
    #[inline]
    pub(crate) fn decode_short(bytes: &[u8], scale: u8) -> Option<Decimal> {
        // Two loads, which may overlap: a copy of so many bytes into a word would have to be waited for.
        let raw = match (bytes.len(), bytes.first_chunk(), bytes.last_chunk()) {
            (8, ..) => u64::from_be_bytes(*bytes.first_chunk()?),
            (len @ 4..8, Some(first), Some(last)) => {
                u64::from(u32::from_be_bytes(*first)) << (8 * (len - 4)) | u64::from(u32::from_be_bytes(*last))
            }
            (1..4, ..) => bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b)),
            _ => return None,
        };
        let v = raw.wrapping_sub(1 << (8 * bytes.len() - 1)) as i64;
        Some(Decimal::from_small(v < 0, u128::from(v.unsigned_abs()), scale))
    }
}

fn decode_long(bytes: &[u8], scale: u8) -> Option<Decimal> {
    let (first, len) = (*bytes.first()?, bytes.len());
    if len > 32 {
        return None;
    }
    let negative = first & 0x80 == 0;
    let mut buffer = [if negative { 0xFF } else { 0 }; 32];
    buffer[32 - len..].copy_from_slice(bytes);
    buffer[32 - len] ^= 0x80;
    let mut limbs = [0u64; 4];
    for (l, chunk) in limbs.iter_mut().rev().zip(buffer.chunks_exact(8)) {
        *l = chunk.iter().fold(0, |a, b| a << 8 | u64::from(*b));
    }
    if negative {
        for l in &mut limbs {
            *l = !*l;
        }
        wide::add_assign(&mut limbs, &[1]);
    }
    (wide::digits(&limbs) <= u32::from(MAX_PRECISION)).then(|| Decimal::from_wide(negative, limbs, scale))
}

/// Bytes of a signed integer that holds any value of a precision.
static ENCODED_LEN: [u8; 66] = {
    let mut table = [1u8; 66];
    let mut p = 1;
    while p <= 65 {
        // bits(10^p) is the top bit's index + 1; one more for the sign.
        let v = POW10_CONST[p];
        let mut bits = 256;
        let mut k = 3;
        loop {
            bits -= v[k].leading_zeros();
            if v[k] != 0 || k == 0 {
                break;
            }
            k -= 1;
        }
        table[p] = (bits + 1).div_ceil(8) as u8;
        p += 1;
    }
    table
};
const POW10_CONST: [U256; 78] = wide::pow10_const();

/// v / 10^n, half away from zero.
fn round_off(v: &U512, n: u32) -> U512 {
    let (mut v, mut n) = (*v, n);
    while n > 1 {
        let step = (n - 1).min(18);
        wide::div_small(&mut v, POW10_128[step as usize] as u64);
        n -= step;
    }
    if n == 1 && wide::div_small(&mut v, 10) >= 5 {
        wide::add_assign(&mut v, &[1]);
    }
    v
}

/// v / 10^n, cut.
fn truncate_off(v: &U512, n: u32) -> U512 {
    let (mut v, mut n) = (*v, n);
    while n > 0 {
        let step = n.min(19);
        wide::div_small(&mut v, POW10_128[step as usize] as u64);
        n -= step;
    }
    v
}

/// The factors as MySQL multiplies them. Its numbers are nine words of nine digits; where a product has more, words
/// of the factors' fractions are left out beforehand, half of them of each factor.
fn factors(one: &Decimal, other: &Decimal) -> (Decimal, Decimal) {
    let whole = (u32::from(one.int_digits()) + u32::from(other.int_digits())).div_ceil(9);
    let (mut f1, mut f2) = (u32::from(one.scale).div_ceil(9), u32::from(other.scale).div_ceil(9));
    let excess = (whole + f1 + f2).saturating_sub(WORDS).min(f1 + f2);
    if excess == 0 {
        return (*one, *other);
    }
    let (few, many) = if f1 <= f2 { (&mut f1, &mut f2) } else { (&mut f2, &mut f1) };
    let of_few = (excess / 2).min(*few);
    *few -= of_few;
    *many = many.saturating_sub(excess - of_few);
    let cut = |d: &Decimal, words: u32| match u32::from(d.scale) > words * 9 {
        true => d.truncate((words * 9) as u8).unwrap_or(*d),
        false => *d,
    };
    (cut(one, f1), cut(other, f2))
}

impl std::ops::Neg for Decimal {
    type Output = Decimal;
    fn neg(mut self) -> Decimal {
        self.negative = !self.negative && !self.is_zero();
        self
    }
}

impl Ord for Decimal {
    #[inline]
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let one_limb = |d: &Decimal| d.low[1] | d.low[2] | u64::from(d.high) == 0;
        if self.scale == other.scale && one_limb(self) && one_limb(other) {
            let order = self.low[0].cmp(&other.low[0]);
            return if self.negative { order.reverse() } else { order };
        }
        let scale = self.scale.max(other.scale);
        let order = match (self.small_at(scale), other.small_at(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ if self.scale == other.scale => wide::cmp(&self.wide(), &other.wide()),
            _ => {
                let a = wide::scale_up(&self.wide(), u32::from(scale - self.scale).min(77));
                let b = wide::scale_up(&other.wide(), u32::from(scale - other.scale).min(77));
                a.iter().rev().cmp(b.iter().rev())
            }
        };
        if self.negative { order.reverse() } else { order }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By value: 1.0 equals 1.00.
impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let d = self.normalized();
        (d.low, d.high, d.scale, d.negative).hash(state);
    }
}

impl Decimal {
    /// Without trailing zeros after the point.
    pub fn normalized(&self) -> Decimal {
        let (mut v, mut scale) = (self.wide(), self.scale);
        while scale > 0 {
            let mut next = v;
            if wide::div_small(&mut next, 10) != 0 {
                break;
            }
            v = next;
            scale -= 1;
        }
        Decimal::from_wide(self.negative, v, scale)
    }

    /// Error 1690 for an operation whose text is `expression`.
    pub fn out_of_range(expression: &str) -> crate::error::SqlError {
        sql_err!(DataOutOfRange, "DECIMAL", expression)
    }
}

#[cfg(test)]
mod tests;
