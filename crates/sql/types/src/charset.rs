//! Character sets: how bytes are cut into characters, checked, and converted between a connection and a column.
//!
//! Text lives in the engine in its column's character set. `utf8mb4` is the common case and is checked by the standard library.

use crate::error::Result;
use crate::sql_err;
use std::borrow::Cow;

/// A character set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Charset {
    Binary,
    Ascii,
    /// cp1252, as MySQL's latin1 is; the five bytes that cp1252 leaves open map to the C1 controls.
    Latin1,
    Utf8mb3,
    Utf8mb4,
}

/// What `SHOW CHARACTER SET` shows.
#[derive(Debug)]
pub struct CharsetInfo {
    pub charset: Charset,
    pub name: &'static str,
    pub description: &'static str,
    pub default_collation: &'static str,
    /// Bytes of the longest character.
    pub max_len: u8,
}

/// All character sets, in the order of `SHOW CHARACTER SET`.
pub const CHARSETS: &[CharsetInfo] = &[
    CharsetInfo {
        charset: Charset::Ascii,
        name: "ascii",
        description: "US ASCII",
        default_collation: "ascii_general_ci",
        max_len: 1,
    },
    CharsetInfo {
        charset: Charset::Binary,
        name: "binary",
        description: "Binary pseudo charset",
        default_collation: "binary",
        max_len: 1,
    },
    CharsetInfo {
        charset: Charset::Latin1,
        name: "latin1",
        description: "cp1252 West European",
        default_collation: "latin1_swedish_ci",
        max_len: 1,
    },
    CharsetInfo {
        charset: Charset::Utf8mb3,
        name: "utf8mb3",
        description: "UTF-8 Unicode",
        default_collation: "utf8mb3_general_ci",
        max_len: 3,
    },
    CharsetInfo {
        charset: Charset::Utf8mb4,
        name: "utf8mb4",
        description: "UTF-8 Unicode",
        default_collation: "utf8mb4_0900_ai_ci",
        max_len: 4,
    },
];

/// cp1252's characters for the bytes 0x80..=0x9F.
const CP1252: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}',
    '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}',
    '\u{17E}', '\u{178}',
];

/// Text after a conversion, and whether characters had no counterpart (they became `?`).
#[derive(Debug, PartialEq, Eq)]
pub struct Converted<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub lossy: bool,
}

impl Charset {
    /// By name, case-insensitive; `utf8` is utf8mb3. Error 1115.
    pub fn by_name(name: &str) -> Result<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Ok(Charset::Utf8mb3);
        }
        let found = CHARSETS.iter().find(|c| c.name.eq_ignore_ascii_case(name));
        found.map(|c| c.charset).ok_or_else(|| sql_err!(UnknownCharacterSet, name))
    }

    pub fn info(self) -> &'static CharsetInfo {
        &CHARSETS[match self {
            Charset::Ascii => 0,
            Charset::Binary => 1,
            Charset::Latin1 => 2,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Bytes of the longest character.
    pub fn max_len(self) -> u32 {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// Is every character one byte?
    pub fn is_single_byte(self) -> bool {
        self.max_len() == 1
    }

    /// Length of the longest prefix of `bytes` that is well formed.
    pub fn valid_prefix(self, bytes: &[u8]) -> usize {
        match self {
            Charset::Binary | Charset::Latin1 => bytes.len(),
            Charset::Ascii => bytes.iter().position(|b| *b >= 0x80).unwrap_or(bytes.len()),
            Charset::Utf8mb4 => match std::str::from_utf8(bytes) {
                Ok(_) => bytes.len(),
                Err(e) => e.valid_up_to(),
            },
            Charset::Utf8mb3 => {
                let end = Charset::Utf8mb4.valid_prefix(bytes);
                bytes[..end].iter().position(|b| *b >= 0xF0).unwrap_or(end)
            }
        }
    }

    pub fn is_valid(self, bytes: &[u8]) -> bool {
        self.valid_prefix(bytes) == bytes.len()
    }

    /// Number of characters. Bytes that are not well formed count as one character each.
    pub fn char_count(self, bytes: &[u8]) -> usize {
        if self.is_single_byte() {
            return bytes.len();
        }
        if bytes.is_ascii() {
            return bytes.len();
        }
        if std::str::from_utf8(bytes).is_ok() {
            return bytes.iter().filter(|b| (**b & 0xC0) != 0x80).count();
        }
        Chars { charset: self, rest: bytes }.count()
    }

    /// Byte length of the first `chars` characters (all of `bytes`, if it has fewer).
    pub fn prefix_len(self, bytes: &[u8], chars: usize) -> usize {
        if self.is_single_byte() {
            return bytes.len().min(chars);
        }
        if bytes.len() <= chars {
            return bytes.len();
        }
        let mut at = 0;
        for _ in 0..chars {
            if at >= bytes.len() {
                break;
            }
            at += self.char_len(&bytes[at..]);
        }
        at
    }

    /// Byte length of the first character of non-empty `bytes`; 1 where it is not well formed.
    pub fn char_len(self, bytes: &[u8]) -> usize {
        if self.is_single_byte() { 1 } else { decode_utf8(bytes).map_or(1, |(_, n)| n) }
    }

    /// The first character and its byte length. Bytes that are not well formed give U+FFFD, one at a time; `binary`
    /// maps bytes to U+0000..U+00FF.
    pub fn decode(self, bytes: &[u8]) -> Option<(char, usize)> {
        let first = *bytes.first()?;
        Some(match self {
            Charset::Binary => (first as char, 1),
            Charset::Ascii => (if first < 0x80 { first as char } else { '\u{FFFD}' }, 1),
            Charset::Latin1 => (latin1_char(first), 1),
            Charset::Utf8mb3 | Charset::Utf8mb4 => decode_utf8(bytes).unwrap_or(('\u{FFFD}', 1)),
        })
    }

    /// Characters of `bytes`.
    pub fn chars(self, bytes: &[u8]) -> Chars<'_> {
        Chars { charset: self, rest: bytes }
    }

    /// Appends `c`, or gives back false (and appends nothing) if the character set has no such character.
    pub fn encode(self, c: char, out: &mut Vec<u8>) -> bool {
        let code = c as u32;
        match self {
            Charset::Utf8mb4 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Charset::Utf8mb3 if code < 0x10000 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Charset::Ascii if code < 0x80 => out.push(code as u8),
            Charset::Binary if code < 0x100 => out.push(code as u8),
            Charset::Latin1 if code < 0x80 || (0xA0..0x100).contains(&code) => out.push(code as u8),
            Charset::Latin1 => match CP1252.iter().position(|m| *m == c) {
                Some(i) => out.push(0x80 + i as u8),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    /// Does every string of `self` mean the same in `to`, byte for byte?
    pub fn is_subset_of(self, to: Charset) -> bool {
        use Charset::*;
        self == to || to == Binary || matches!((self, to), (Utf8mb3, Utf8mb4) | (Ascii, Latin1 | Utf8mb3 | Utf8mb4))
    }

    /// Converts text; borrows where bytes stay as they are. Characters without a counterpart, and malformed bytes, become `?`.
    pub fn convert(self, bytes: &[u8], to: Charset) -> Converted<'_> {
        if to == Charset::Binary || self == to || (bytes.is_ascii() && self != Charset::Binary) {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: false };
        }
        if self == Charset::Binary {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: !to.is_valid(bytes) };
        }
        if self.is_subset_of(to) && self.is_valid(bytes) {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: false };
        }
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
        let mut lossy = false;
        for c in self.chars(bytes) {
            if c == '\u{FFFD}' && self != Charset::Utf8mb4 || !to.encode(c, &mut out) {
                out.push(b'?');
                lossy = true;
            }
        }
        Converted { bytes: Cow::Owned(out), lossy }
    }
}

fn latin1_char(byte: u8) -> char {
    if (0x80..0xA0).contains(&byte) { CP1252[usize::from(byte - 0x80)] } else { byte as char }
}

/// The first character of UTF-8 text, if well formed.
#[inline]
pub(crate) fn decode_utf8(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((first as char, 1));
    }
    let tail = |i: usize| bytes.get(i).filter(|b| **b & 0xC0 == 0x80).map(|b| u32::from(*b & 0x3F));
    let (code, len) = match first {
        0xC2..=0xDF => (u32::from(first & 0x1F) << 6 | tail(1)?, 2),
        0xE0..=0xEF => {
            let code = u32::from(first & 0xF) << 12 | tail(1)? << 6 | tail(2)?;
            (if code < 0x800 { return None } else { code }, 3)
        }
        0xF0..=0xF4 => {
            let code = u32::from(first & 7) << 18 | tail(1)? << 12 | tail(2)? << 6 | tail(3)?;
            (if code < 0x10000 { return None } else { code }, 4)
        }
        _ => return None,
    };
    // Surrogates and what is beyond U+10FFFF fail here.
    char::from_u32(code).map(|c| (c, len))
}

/// Iterator over the characters of a byte string.
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    charset: Charset,
    rest: &'a [u8],
}

impl<'a> Chars<'a> {
    /// The bytes not yet walked.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let (c, n) = self.charset.decode(self.rest)?;
        self.rest = &self.rest[n..];
        Some(c)
    }
}
