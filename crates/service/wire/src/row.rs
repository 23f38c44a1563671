//! Rows, written straight into the output buffer: nothing is allocated, nothing is copied twice.
//!
//! Text rows: each value as a length-encoded string, NULL as `0xFB`.
//! Binary rows: `0x00 · null bitmap (bit i + 2 for column i) · values`, each value in the form of its column's type.

use crate::codec::{put_lenenc, put_lenenc_bytes};
use crate::command::{DateTime, Time};

/// Appends NULL to a text row.
#[inline]
pub fn text_null(out: &mut Vec<u8>) {
    out.push(0xFB);
}

/// Appends a string to a text row.
#[inline]
pub fn text_bytes(out: &mut Vec<u8>, s: &[u8]) {
    put_lenenc_bytes(out, s);
}

/// Appends what `write` appends, with its length before it. Cheap for texts up to 250 bytes; longer ones are moved.
#[inline]
pub fn text_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let n = out.len() - at - 1;
    if n < 0xFB {
        out[at] = n as u8;
    } else {
        widen(out, at, n);
    }
}

#[cold]
fn widen(out: &mut Vec<u8>, at: usize, n: usize) {
    let end = out.len();
    put_lenenc(out, n as u64);
    let mut prefix = [0u8; 9];
    let len = out.len() - end;
    prefix[..len].copy_from_slice(&out[end..]);
    out.truncate(end);
    out.splice(at..at + 1, prefix[..len].iter().copied());
}

/// Two digits at a time: `"00" .. "99"`.
const PAIRS: [u8; 200] = {
    let mut t = [0; 200];
    let mut i = 0;
    while i < 100 {
        t[2 * i] = b'0' + (i / 10) as u8;
        t[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    t
};

#[inline]
fn put_digits(out: &mut Vec<u8>, n: u64, negative: bool) {
    if n < 10 && !negative {
        return out.extend_from_slice(&[1, b'0' + n as u8]);
    }
    put_longer(out, n, negative);
}

fn put_longer(out: &mut Vec<u8>, mut n: u64, negative: bool) {
    // Whole, a copy of its size is a few instructions; of the number's size, it would be a call.
    const WIDEST: usize = 24;
    let mut buf = [0u8; WIDEST];
    let digits = n.checked_ilog10().map_or(1, |d| d as usize + 1);
    let end = 1 + usize::from(negative) + digits;
    buf[0] = end as u8 - 1;
    if negative {
        buf[1] = b'-';
    }
    let mut at = end;
    while n >= 100 {
        let d = (n % 100) as usize * 2;
        n /= 100;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[d..d + 2]);
    }
    if n >= 10 {
        let d = n as usize * 2;
        buf[at - 2..at].copy_from_slice(&PAIRS[d..d + 2]);
    } else {
        buf[at - 1] = b'0' + n as u8;
    }
    out.extend_from_slice(&buf);
    out.truncate(out.len() - WIDEST + end);
}

/// Appends a signed integer to a text row.
#[inline]
pub fn text_int(out: &mut Vec<u8>, n: i64) {
    put_digits(out, n.unsigned_abs(), n < 0);
}

/// Appends an unsigned integer to a text row.
#[inline]
pub fn text_uint(out: &mut Vec<u8>, n: u64) {
    put_digits(out, n, false);
}

/// A binary row being written.
#[derive(Debug, Clone, Copy)]
pub struct BinaryRow {
    nulls: usize,
}

impl BinaryRow {
    /// Writes the head of a row of `columns` columns.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, columns: usize) -> Self {
        let nulls = out.len() + 1;
        match (columns + 9) / 8 {
            1 => out.extend_from_slice(&[0; 2]),
            bytes => out.resize(nulls + bytes, 0),
        }
        Self { nulls }
    }

    /// Marks column `i` as NULL; nothing else is written for it.
    #[inline]
    pub fn null(self, out: &mut [u8], i: usize) {
        out[self.nulls + (i + 2) / 8] |= 1 << ((i + 2) % 8);
    }
}

/// Appends a date or date and time in the shortest of its forms.
pub fn binary_datetime(out: &mut Vec<u8>, d: &DateTime) {
    let time = d.hour != 0 || d.minute != 0 || d.second != 0;
    let n: u8 = match () {
        () if d.micros != 0 => 11,
        () if time => 7,
        () if d.year != 0 || d.month != 0 || d.day != 0 => 4,
        () => 0,
    };
    out.push(n);
    if n >= 4 {
        out.extend_from_slice(&d.year.to_le_bytes());
        out.extend_from_slice(&[d.month, d.day]);
    }
    if n >= 7 {
        out.extend_from_slice(&[d.hour, d.minute, d.second]);
    }
    if n == 11 {
        out.extend_from_slice(&d.micros.to_le_bytes());
    }
}

/// Appends a TIME in the shortest of its forms.
pub fn binary_time(out: &mut Vec<u8>, t: &Time) {
    let zero = *t == Time { negative: t.negative, ..Time::default() };
    if zero {
        return out.push(0);
    }
    out.push(if t.micros != 0 { 12 } else { 8 });
    out.push(u8::from(t.negative));
    out.extend_from_slice(&t.days.to_le_bytes());
    out.extend_from_slice(&[t.hours, t.minutes, t.seconds]);
    if t.micros != 0 {
        out.extend_from_slice(&t.micros.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Reader;
    use crate::command::{read_datetime, read_time};

    #[test]
    fn integers_print_as_std_does() {
        for shift in 0..64 {
            for n in [1u64 << shift, (1u64 << shift).wrapping_sub(1), u64::MAX >> shift, 10u64.saturating_pow(shift)] {
                let mut out = Vec::new();
                text_uint(&mut out, n);
                text_int(&mut out, n as i64);
                let mut r = Reader::new(&out);
                assert_eq!(r.lenenc_bytes().unwrap(), n.to_string().as_bytes());
                assert_eq!(r.lenenc_bytes().unwrap(), (n as i64).to_string().as_bytes());
            }
        }
    }

    #[test]
    fn text_with_fits_any_length() {
        for n in [0, 1, 250, 251, 70_000, 17_000_000] {
            let mut out = b"before".to_vec();
            text_with(&mut out, |b| b.resize(b.len() + n, b'x'));
            let mut r = Reader::new(&out[6..]);
            assert_eq!(r.lenenc_bytes().unwrap().len(), n);
            assert!(r.is_empty());
        }
    }

    #[test]
    fn temporal_values_round_trip() {
        let d = DateTime {
            year: 2024,
            month: 2,
            day: 29,
            hour: 23,
            minute: 59,
            second: 58,
            micros: 999_999,
            date_only: false,
        };
        for d in [DateTime::default(), DateTime { micros: 0, ..d }, d, DateTime { year: 1, ..DateTime::default() }] {
            let mut out = Vec::new();
            binary_datetime(&mut out, &d);
            assert_eq!(read_datetime(&mut Reader::new(&out)), Ok(d));
        }
        let t = Time { negative: true, days: 34, hours: 22, minutes: 59, seconds: 59, micros: 1 };
        for t in [Time::default(), t, Time { micros: 0, ..t }] {
            let mut out = Vec::new();
            binary_time(&mut out, &t);
            assert_eq!(read_time(&mut Reader::new(&out)), Ok(t));
        }
    }

    #[test]
    fn null_bits_start_at_two() {
        let mut out = Vec::new();
        let row = BinaryRow::begin(&mut out, 8);
        row.null(&mut out, 0);
        row.null(&mut out, 6);
        row.null(&mut out, 7);
        assert_eq!(out, [0, 0b100, 0b11]);
    }
}
