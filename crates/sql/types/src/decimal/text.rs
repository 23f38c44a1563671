//! Decimal numbers from and to text.

use super::{Decimal, MAX_PRECISION, wide};
use std::fmt;

/// What was read from the front of a text.
#[derive(Clone, Copy, Debug)]
pub struct Parsed {
    pub value: Decimal,
    /// Bytes read, leading white space included; 0 if there is no number.
    pub consumed: usize,
    /// The number has more than 65 digits before the point; `value` is the limit.
    pub overflow: bool,
    /// Fraction digits were rounded off.
    pub truncated: bool,
    /// The exponent is beyond 64 bits: for a column that is no number at all.
    pub no_exponent: bool,
}

/// Digits after the point that a text may give.
const MAX_TEXT_SCALE: i64 = 65;

impl Decimal {
    /// Reads `[space][+-]digits[.digits][e[+-]digits]` from the front of `text`.
    pub fn parse(text: &[u8]) -> Parsed {
        let mut at = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let negative = match text.get(at) {
            Some(b'-') => true,
            Some(b'+') => false,
            _ => {
                at = at.wrapping_sub(1);
                false
            }
        };
        at = at.wrapping_add(1);
        let int = digits_at(text, at);
        at += int.len();
        let mut fraction: &[u8] = &[];
        if text.get(at) == Some(&b'.') {
            fraction = digits_at(text, at + 1);
            if !int.is_empty() || !fraction.is_empty() {
                at += 1 + fraction.len();
            }
        }
        if int.is_empty() && fraction.is_empty() {
            let value = Decimal::ZERO;
            return Parsed { value, consumed: 0, overflow: false, truncated: false, no_exponent: false };
        }
        let mut exponent = 0i64;
        let mut no_exponent = false;
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
            let digits = digits_at(text, at + 1 + usize::from(sign));
            if !digits.is_empty() {
                exponent = digits.iter().fold(0i64, |a, d| (a * 10 + i64::from(d - b'0')).min(1 << 40));
                let written = str::from_utf8(digits).ok().and_then(|d| d.parse::<u64>().ok());
                no_exponent = written.is_none();
                if text.get(at + 1) == Some(&b'-') {
                    exponent = -exponent;
                    no_exponent |= written.is_some_and(|n| n > 1 << 63);
                }
                at += 1 + usize::from(sign) + digits.len();
            }
        }
        let (value, overflow, truncated) = build(negative, int, fraction, exponent);
        Parsed { value, consumed: at, overflow, truncated, no_exponent }
    }

    /// Appends the text, with all digits of its scale.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut buffer = [0u8; 80];
        let start = self.digits_into(&mut buffer);
        if self.negative {
            out.push(b'-');
        }
        let digits = &buffer[start..];
        let scale = usize::from(self.scale);
        if scale == 0 {
            out.extend_from_slice(if digits.is_empty() { b"0" } else { digits });
            return;
        }
        if digits.len() > scale {
            out.extend_from_slice(&digits[..digits.len() - scale]);
        } else {
            out.push(b'0');
        }
        out.push(b'.');
        out.resize(out.len() + scale.saturating_sub(digits.len()), b'0');
        out.extend_from_slice(&digits[digits.len().saturating_sub(scale)..]);
    }

    /// Writes the magnitude's digits at the end of `buffer`; gives back where they start (the end, for zero).
    fn digits_into(&self, buffer: &mut [u8; 80]) -> usize {
        let mut at = buffer.len();
        let mut push = |mut v: u64, all: bool| {
            let mut left = 19;
            while (all && left > 0) || v > 0 {
                at -= 1;
                buffer[at] = b'0' + (v % 10) as u8;
                v /= 10;
                left -= 1;
            }
        };
        let mut v = self.wide();
        while v[1] != 0 || v[2] != 0 || v[3] != 0 {
            push(wide::div_small(&mut v, 10_000_000_000_000_000_000), true);
        }
        push(v[0], false);
        at
    }
}

fn digits_at(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or(&[]);
    &rest[..rest.iter().take_while(|b| b.is_ascii_digit()).count()]
}

/// The value of digits `int.fraction` times 10^exponent, rounded to 65 digits. Gives value, overflow, truncated.
fn build(negative: bool, int: &[u8], fraction: &[u8], exponent: i64) -> (Decimal, bool, bool) {
    let limit = |overflow| (if overflow { Decimal::max_of(MAX_PRECISION, 0) } else { Decimal::ZERO }, overflow, true);
    let all = || int.iter().chain(fraction);
    let zeros = all().take_while(|d| **d == b'0').count();
    let count = int.len() + fraction.len() - zeros;
    if count == 0 {
        let scale = (fraction.len() as i64 - exponent).clamp(0, 30) as u8;
        return (Decimal::ZERO.with_scale(scale), false, false);
    }
    // Digits before the point after the exponent has moved it.
    let before = int.len() as i64 - zeros as i64 + exponent;
    if before > i64::from(MAX_PRECISION) {
        let (v, o, t) = limit(true);
        return (if negative { -v } else { v }, o, t);
    }
    let scale = (count as i64 - before).max(0);
    let room = (i64::from(MAX_PRECISION) - before.max(0)).min(MAX_TEXT_SCALE);
    let keep_scale = scale.min(room);
    // Digits to take, then one to round by.
    let take = before + keep_scale;
    if take < 0 {
        return limit(false);
    }
    let take = take as usize;
    let mut v: wide::U256 = [0; 4];
    for d in all().skip(zeros).take(take) {
        wide::mul_small(&mut v, 10, u64::from(d - b'0'));
    }
    for _ in count..take {
        wide::mul_small(&mut v, 10, 0);
    }
    let truncated = take < count;
    if truncated && all().nth(zeros + take).is_some_and(|d| *d >= b'5') {
        wide::add_assign(&mut v, &[1]);
    }
    let mut out = [0; 8];
    out[..4].copy_from_slice(&v);
    match Decimal::fit(negative, out, keep_scale as u32) {
        Some(d) => (d, false, truncated),
        None => {
            let (v, o, t) = limit(true);
            (if negative { -v } else { v }, o, t)
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(72);
        self.write(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
