//! DECIMAL(p, s) as MySQL has it in rows: big-endian groups of nine digits in four bytes each, counted from the
//! point; the digits left over at both ends take fewer bytes. The first bit is flipped; of negative numbers all bits
//! but that are.

use super::{Decimal, MAX_PRECISION};

/// Bytes of so many digits left over.
const LEFT: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
const GROUP: usize = 9;

fn bytes_of(digits: usize) -> usize {
    digits / GROUP * 4 + LEFT[digits % GROUP]
}

/// Bytes of a DECIMAL(precision, scale).
pub fn len(precision: u8, scale: u8) -> usize {
    let scale = scale.min(precision);
    bytes_of(usize::from(precision - scale)) + bytes_of(usize::from(scale))
}

/// Appends a value of a DECIMAL(precision, scale) column.
pub fn encode(value: &Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) {
    let value = value.to_column(precision, scale).unwrap_or_else(|limit| limit);
    let mut text = Vec::with_capacity(80);
    value.abs().write(&mut text);
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    // DECIMAL(5,5) has no digits before the point; the text has a zero there.
    let whole = if scale >= precision { &[][..] } else { whole };
    let mut digits = vec![b'0'; usize::from(precision)];
    let int = usize::from(precision.saturating_sub(scale));
    let lead = int.saturating_sub(whole.len());
    digits[lead..lead + whole.len()].copy_from_slice(whole);
    let n = fraction.len().min(usize::from(scale));
    digits[int..int + n].copy_from_slice(&fraction[..n]);
    let start = out.len();
    let (whole, fraction) = digits.split_at(int);
    let (first, groups) = whole.split_at(int % GROUP);
    put(first, out);
    groups.chunks(GROUP).for_each(|g| put(g, out));
    fraction.chunks(GROUP).for_each(|g| put(g, out));
    if value.is_negative() {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

fn put(digits: &[u8], out: &mut Vec<u8>) {
    let bytes = if digits.len() == GROUP { 4 } else { LEFT[digits.len()] };
    let v = digits.iter().fold(0u32, |v, d| v * 10 + u32::from(d - b'0'));
    out.extend_from_slice(&v.to_be_bytes()[4 - bytes..]);
}

/// The value of exactly [`len`] bytes; `None` when they are none of that type.
pub fn decode(bytes: &[u8], precision: u8, scale: u8) -> Option<Decimal> {
    if precision == 0 || precision > MAX_PRECISION || scale > precision || bytes.len() != len(precision, scale) {
        return None;
    }
    let negative = bytes[0] & 0x80 == 0;
    let mut bytes = bytes.to_vec();
    bytes[0] ^= 0x80;
    if negative {
        bytes.iter_mut().for_each(|b| *b = !*b);
    }
    let mut text = Vec::with_capacity(80);
    if negative {
        text.push(b'-');
    }
    let (int, fraction) = (usize::from(precision - scale), usize::from(scale));
    let mut rest = &bytes[..];
    let mut take = |digits: usize, text: &mut Vec<u8>| -> Option<()> {
        let n = if digits == GROUP { 4 } else { LEFT[digits] };
        let (group, left) = rest.split_at_checked(n)?;
        rest = left;
        let v = group.iter().fold(0u32, |v, b| v << 8 | u32::from(*b));
        if u64::from(v) >= 10u64.pow(digits as u32) {
            return None;
        }
        text.extend_from_slice(format!("{v:0digits$}").as_bytes());
        Some(())
    };
    text.push(b'0');
    if int % GROUP > 0 {
        take(int % GROUP, &mut text)?;
    }
    for _ in 0..int / GROUP {
        take(GROUP, &mut text)?;
    }
    text.push(b'.');
    for _ in 0..fraction / GROUP {
        take(GROUP, &mut text)?;
    }
    if !fraction.is_multiple_of(GROUP) {
        take(fraction % GROUP, &mut text)?;
    }
    let parsed = Decimal::parse(&text);
    parsed.value.to_column(precision, scale).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, len};
    use crate::Decimal;

    #[test]
    fn as_the_manual_has_it() {
        // The example of MySQL's manual: 1234567890.1234 as DECIMAL(14,4).
        let mut out = Vec::new();
        encode(&Decimal::parse(b"1234567890.1234").value, 14, 4, &mut out);
        assert_eq!(out, [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2]);
        out.clear();
        encode(&Decimal::parse(b"-1234567890.1234").value, 14, 4, &mut out);
        assert_eq!(out, [0x7E, 0xF2, 0x04, 0xC7, 0x2D, 0xFB, 0x2D]);
    }

    #[test]
    fn there_and_back() {
        for (precision, scale) in
            [(1, 0), (5, 5), (10, 0), (9, 9), (18, 9), (20, 10), (30, 30), (65, 30), (65, 0), (38, 7)]
        {
            for text in [
                "0",
                "1",
                "-1",
                "0.5",
                "-0.00001",
                "123456789.987654321",
                "-99999999999999999999999.1",
                "1e40",
                "-1e64",
            ] {
                let value = Decimal::parse(text.as_bytes()).value;
                let value = value.to_column(precision, scale).unwrap_or_else(|limit| limit);
                let mut out = Vec::new();
                encode(&value, precision, scale, &mut out);
                assert_eq!(out.len(), len(precision, scale));
                assert_eq!(decode(&out, precision, scale), Some(value), "{text} ({precision},{scale})");
            }
        }
        assert_eq!(decode(&[0x80 | 100], 2, 0), None);
        assert_eq!(decode(&[], 2, 0), None);
    }
}
