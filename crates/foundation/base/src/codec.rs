//! Bounds-checked little-endian codecs. Decoding never panics, whatever the bytes.

use std::fmt;

/// Why bytes could not be decoded. Small and `Copy`: the caller adds where the bytes came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The input ended at `at` (offset in the reader's input) although `need` more bytes were wanted there.
    Short { at: usize, need: usize },
    /// The bytes at `at` are not a legal encoding of `what`.
    Invalid { at: usize, what: &'static str },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Short { at, need } => write!(f, "input ends at byte {at} where {need} more bytes are needed"),
            DecodeError::Invalid { at, what } => write!(f, "bytes at {at} are not a valid {what}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Longest encoding of a varint in bytes.
const VARINT_MAX: usize = 10;

/// Bytes that [`Writer::varint`] uses for `v` (1 to 10).
#[inline]
pub const fn varint_len(v: u64) -> usize {
    let bits = 64 - (v | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Reads little-endian values from a byte slice, front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! read_int {
    ($($name:ident: $ty:ty),*) => {$(
        #[doc = concat!("Next ", stringify!($ty), ", little-endian.")]
        #[inline]
        pub fn $name(&mut self) -> Result<$ty, DecodeError> {
            Ok(<$ty>::from_le_bytes(self.array()?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    read_int!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, i8: i8, i16: i16, i32: i32, i64: i64);

    /// The bytes read between an earlier state of this reader and now.
    #[inline]
    pub fn since(&self, before: &Reader<'a>) -> &'a [u8] {
        &self.bytes[before.at..self.at]
    }

    /// Offset of the next byte in the input.
    #[inline]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Bytes not yet read.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True when all bytes are read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// An [`DecodeError::Invalid`] at the present position.
    #[inline]
    pub const fn invalid(&self, what: &'static str) -> DecodeError {
        DecodeError::Invalid { at: self.at, what }
    }

    /// Next `n` bytes, borrowed from the input.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..n)) {
            Some(found) => {
                self.at += n;
                Ok(found)
            }
            None => Err(DecodeError::Short { at: self.at, need: n }),
        }
    }

    /// Next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(found) => {
                self.at += N;
                Ok(*found)
            }
            None => Err(DecodeError::Short { at: self.at, need: N }),
        }
    }

    /// All bytes not yet read.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Next unsigned LEB128 varint. Refuses encodings longer than needed: a value has one encoding only.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        if let Some(&b) = self.bytes.get(self.at)
            && b < 0x80
        {
            self.at += 1;
            return Ok(b as u64);
        }
        self.varint_long()
    }

    fn varint_long(&mut self) -> Result<u64, DecodeError> {
        let start = self.at;
        let invalid = DecodeError::Invalid { at: start, what: "varint" };
        let mut value = 0u64;
        for i in 0..VARINT_MAX {
            let Some(&b) = self.bytes.get(start + i) else {
                return Err(DecodeError::Short { at: start + i, need: 1 });
            };
            if i == VARINT_MAX - 1 && b > 1 {
                return Err(invalid);
            }
            value |= ((b & 0x7f) as u64) << (7 * i);
            if b < 0x80 {
                if b == 0 && i > 0 {
                    return Err(invalid);
                }
                self.at = start + i + 1;
                return Ok(value);
            }
        }
        Err(invalid)
    }

    /// Next signed varint (zigzag).
    #[inline]
    pub fn varint_signed(&mut self) -> Result<i64, DecodeError> {
        let v = self.varint()?;
        Ok((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    /// Bytes preceded by their length as a varint. `max` bounds the length that is believed.
    #[inline]
    pub fn prefixed(&mut self, max: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.at;
        let n = self.varint()?;
        if n > max as u64 {
            return Err(DecodeError::Invalid { at: start, what: "length" });
        }
        self.bytes(n as usize)
    }

    /// UTF-8 text preceded by its length in bytes as a varint.
    pub fn prefixed_str(&mut self, max: usize) -> Result<&'a str, DecodeError> {
        let start = self.at;
        std::str::from_utf8(self.prefixed(max)?).map_err(|_| DecodeError::Invalid { at: start, what: "UTF-8 text" })
    }

    /// Succeeds when all bytes were read.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { Err(self.invalid("end of input")) }
    }
}

/// Appends little-endian values to a byte vector. The mirror of [`Reader`].
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

macro_rules! write_int {
    ($($name:ident: $ty:ty),*) => {$(
        #[doc = concat!("Appends a ", stringify!($ty), ", little-endian.")]
        #[inline]
        pub fn $name(&mut self, v: $ty) -> &mut Self {
            self.out.extend_from_slice(&v.to_le_bytes());
            self
        }
    )*};
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    #[inline]
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        Writer { out }
    }

    write_int!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, i8: i8, i16: i16, i32: i32, i64: i64);

    /// Bytes in the vector, including those that were there before.
    #[inline]
    pub fn position(&self) -> usize {
        self.out.len()
    }

    /// Appends bytes as they are.
    #[inline]
    pub fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.out.extend_from_slice(v);
        self
    }

    /// Appends an unsigned LEB128 varint (1 to 10 bytes).
    #[inline]
    pub fn varint(&mut self, mut v: u64) -> &mut Self {
        while v >= 0x80 {
            self.out.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.out.push(v as u8);
        self
    }

    /// Appends a signed varint (zigzag: small magnitudes of either sign are short).
    #[inline]
    pub fn varint_signed(&mut self, v: i64) -> &mut Self {
        self.varint(((v << 1) ^ (v >> 63)) as u64)
    }

    /// Appends the length of `v` as a varint, then `v`.
    #[inline]
    pub fn prefixed(&mut self, v: &[u8]) -> &mut Self {
        self.varint(v.len() as u64).bytes(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let mut v = Vec::new();
        let mut w = Writer::new(&mut v);
        w.u8(1).u16(2).u32(3).u64(4).u128(5).i64(-6).varint(300).varint_signed(-77).prefixed(b"abc");
        let mut r = Reader::new(&v);
        assert_eq!((r.u8(), r.u16(), r.u32(), r.u64(), r.u128()), (Ok(1), Ok(2), Ok(3), Ok(4), Ok(5)));
        assert_eq!((r.i64(), r.varint(), r.varint_signed()), (Ok(-6), Ok(300), Ok(-77)));
        assert_eq!(r.prefixed_str(3), Ok("abc"));
        assert!(r.finish().is_ok());
    }

    #[test]
    fn varints_at_every_width() {
        for shift in 0..64 {
            for v in [1u64 << shift, (1u64 << shift) - 1, (1u64 << shift) | 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                Writer::new(&mut out).varint(v);
                assert_eq!(out.len(), varint_len(v), "{v}");
                let mut r = Reader::new(&out);
                assert_eq!(r.varint(), Ok(v));
                assert!(r.is_empty());
                for cut in 0..out.len() {
                    assert!(matches!(Reader::new(&out[..cut]).varint(), Err(DecodeError::Short { .. })));
                }
                for s in [v as i64, (v as i64).wrapping_neg()] {
                    let mut out = Vec::new();
                    Writer::new(&mut out).varint_signed(s);
                    assert_eq!(Reader::new(&out).varint_signed(), Ok(s));
                }
            }
        }
    }

    #[test]
    fn refuses_bad_input() {
        let invalid = |what| DecodeError::Invalid { at: 0, what };
        let greatest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Reader::new(&[0x80, 0x00]).varint(), Err(invalid("varint")), "longer than needed");
        assert_eq!(Reader::new(&[0xff; 10]).varint(), Err(invalid("varint")), "more than 64 bits");
        assert_eq!(Reader::new(&[0xff; 20]).varint(), Err(invalid("varint")));
        assert_eq!(Reader::new(&[1, 2]).u32(), Err(DecodeError::Short { at: 0, need: 4 }));
        let short = |at, need| DecodeError::Short { at, need };
        assert_eq!(Reader::new(&greatest).prefixed(usize::MAX), Err(short(10, usize::MAX)));
        assert_eq!(Reader::new(&[5, 1, 2]).prefixed(100), Err(short(1, 5)));
        assert_eq!(Reader::new(&[2, 1, 2]).prefixed(1), Err(invalid("length")));
        assert_eq!(Reader::new(&[1, 0xff]).prefixed_str(10), Err(invalid("UTF-8 text")));
        assert_eq!(Reader::new(&[]).bytes(usize::MAX), Err(short(0, usize::MAX)));
    }
}
