//! Text of FLOAT and DOUBLE: shortest digits that read back (six digits for FLOAT), laid out by MySQL's rule for when
//! to use an exponent.

use std::io::Write;

/// Digits of a positive number `0.d1d2d3... * 10^point`.
struct Digits {
    text: [u8; 24],
    len: usize,
    point: i32,
}

/// Appends the text of a DOUBLE. NaN and infinities (which no column holds) print as `nan`, `inf`, `-inf`.
pub fn write_double(v: f64, out: &mut Vec<u8>) {
    if special(v, out) {
        return;
    }
    // Integers are frequent and need no search for digits.
    if v.abs() < 1e15 && v.trunc() == v {
        out.extend_from_slice(itoa::Buffer::new().format(v as i64).as_bytes());
        return;
    }
    let mut buffer = ryu::Buffer::new();
    lay_out(v < 0.0, &Digits::parse(buffer.format_finite(v.abs()).as_bytes()), out);
}

/// Appends the text of a FLOAT.
pub fn write_float(v: f32, out: &mut Vec<u8>) {
    let v = f64::from(v);
    if special(v, out) {
        return;
    }
    let mut buffer = [0u8; 32];
    let mut rest = &mut buffer[..];
    let _ = write!(rest, "{:.5e}", v.abs());
    let left = rest.len();
    let len = buffer.len() - left;
    lay_out(v < 0.0, &Digits::parse(&buffer[..len]), out);
}

/// Appends a number with a fixed count of decimals, as FLOAT(M,D), DOUBLE(M,D), ROUND(x, d) and FORMAT print: zeros
/// behind the shortest digits that tell it from other numbers, or fewer digits, rounded.
pub fn write_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    if v != 0.0 && special(v, out) {
        return;
    }
    let (decimals, start) = (usize::from(decimals.min(30)), out.len());
    let _ = write!(out, "{v}");
    let point = out[start..].iter().position(|b| *b == b'.').map_or(out.len(), |at| start + at);
    let fraction = (out.len() - point).saturating_sub(1);
    if fraction > decimals {
        out.truncate(start);
        let _ = write!(out, "{v:.decimals$}");
    } else if decimals > 0 {
        out.resize(out.len().max(point + 1), b'.');
        out.resize(point + 1 + decimals, b'0');
    }
}

/// Zero, NaN and infinities.
fn special(v: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if v == 0.0 {
        b"0"
    } else if v.is_nan() {
        b"nan"
    } else if v.is_infinite() {
        if v > 0.0 { b"inf" } else { b"-inf" }
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

impl Digits {
    /// From `digits[.digits][e[-]digits]`.
    fn parse(text: &[u8]) -> Digits {
        let mut d = Digits { text: [0; 24], len: 0, point: 0 };
        let mut seen_point = false;
        let mut rest = text.iter();
        for b in rest.by_ref() {
            match b {
                b'.' => seen_point = true,
                b'e' => break,
                digit => {
                    if d.len > 0 || *digit != b'0' {
                        if d.len < d.text.len() {
                            d.text[d.len] = *digit;
                            d.len += 1;
                        }
                        d.point += i32::from(!seen_point);
                    } else {
                        d.point -= i32::from(seen_point);
                    }
                }
            }
        }
        let exponent: &[u8] = rest.as_slice();
        let negative = exponent.first() == Some(&b'-');
        let value = exponent.iter().filter(|b| b.is_ascii_digit()).fold(0i32, |a, b| a * 10 + i32::from(b - b'0'));
        d.point += if negative { -value } else { value };
        while d.len > 1 && d.text[d.len - 1] == b'0' {
            d.len -= 1;
        }
        d
    }
}

/// Plain notation for points from -14 to 15, and further on if digits remain behind the point; else an exponent.
fn lay_out(negative: bool, d: &Digits, out: &mut Vec<u8>) {
    let digits = &d.text[..d.len];
    if negative {
        out.push(b'-');
    }
    if (-14..=0).contains(&d.point) {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + d.point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else if d.point > 0 && (d.point <= 15 || d.len > d.point as usize) {
        let point = d.point as usize;
        let before = digits.len().min(point);
        out.extend_from_slice(&digits[..before]);
        out.resize(out.len() + point - before, b'0');
        if digits.len() > before {
            out.push(b'.');
            out.extend_from_slice(&digits[before..]);
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        let _ = write!(out, "{}", d.point - 1);
    }
}

/// Reads a number from the front of text as MySQL's string-to-double conversion does; gives the value and the bytes
/// read (leading white space included; 0 if there is no number). Too large gives the largest finite value and `true`.
pub fn parse_double(text: &[u8]) -> (f64, usize, bool) {
    let space = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = space;
    let digits = |at: usize| text[at.min(text.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    if matches!(text.get(at), Some(b'+' | b'-')) {
        at += 1;
    }
    let int = digits(at);
    at += int;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if int + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if int + fraction == 0 {
        return (0.0, 0, false);
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    let v: f64 = std::str::from_utf8(&text[space..at]).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0);
    if v.is_infinite() { (f64::MAX.copysign(v), at, true) } else { (v, at, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(v: f64) -> String {
        let mut out = Vec::new();
        write_double(v, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(v: f32) -> String {
        let mut out = Vec::new();
        write_float(v, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_print_as_mysql_prints_them() {
        for (v, text) in [
            (0.1, "0.1"),
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (123456789012345680.0, "1.2345678901234568e17"),
            (1.5e300, "1.5e300"),
            (1234567890123456.5, "1234567890123456.5"),
            (1234567890123456.0, "1.234567890123456e15"),
            (1.5e-15, "0.0000000000000015"),
            (1e-16, "1e-16"),
            (-0.0, "0"),
            (-2.5, "-2.5"),
            (1e-5, "0.00001"),
            (123.456, "123.456"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
        ] {
            assert_eq!(double(v), text);
        }
        assert_eq!(float(1234567.0), "1234570");
        assert_eq!(float(0.1), "0.1");
        assert_eq!(float(3.4028235e38), "3.40282e38");
        assert_eq!(float(16777216.0), "16777200");
    }

    #[test]
    fn prefixes_parse() {
        assert_eq!(parse_double(b"12abc"), (12.0, 2, false));
        assert_eq!(parse_double(b" -1.5e2x"), (-150.0, 7, false));
        assert_eq!(parse_double(b"1e"), (1.0, 1, false));
        assert_eq!(parse_double(b"."), (0.0, 0, false));
        assert_eq!(parse_double(b"-"), (0.0, 0, false));
        assert_eq!(parse_double(b"1e999"), (f64::MAX, 5, true));
    }
}
