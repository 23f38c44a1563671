//! Collations: how text compares, hashes, sorts, matches LIKE and changes case.
//!
//! One table declares them; a new row is a new collation. `sort_key` yields bytes whose order is the collation's order, which is
//! what index keys are made of; `compare` and `hash` agree with it.

mod aggregate;
mod keys;
mod like;
mod table;

use crate::charset::{Charset, decode_utf8};
use crate::error::Result;
use crate::sql_err;
pub use aggregate::{Coercibility, CollationSource, aggregate, aggregate_all};
pub use like::LikePattern;
use std::cmp::Ordering;
pub use table::COLLATIONS;

/// MySQL's number of a collation, as on the wire and in the dictionary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct CollationId(pub u16);

/// One row of the table.
#[derive(Debug)]
pub struct Collation {
    pub id: CollationId,
    pub name: &'static str,
    pub charset: Charset,
    pub algorithm: Algorithm,
    pub pad: Pad,
    /// Of its character set.
    pub is_default: bool,
    /// `information_schema.collations.sortlen`.
    pub sortlen: u8,
}

/// What a comparison does with trailing spaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pad {
    /// They count.
    NoPad,
    /// They do not.
    PadSpace,
}

/// How weights are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Bytes are weights. For UTF-8 that is code point order.
    Bytes,
    /// ASCII letters fold to upper case.
    Ascii,
    /// One weight a character: upper case, accents stripped, as `utf8mb4_general_ci`.
    General,
}

impl CollationId {
    pub const BINARY: CollationId = CollationId(63);
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    pub const UTF8MB4_0900_BIN: CollationId = CollationId(309);
    pub const DEFAULT: CollationId = CollationId::UTF8MB4_0900_AI_CI;

    /// The row of this number; `binary`'s where there is none (numbers from outside pass through [`Collation::by_id`]).
    #[inline]
    pub fn get(self) -> &'static Collation {
        &COLLATIONS[usize::from(table::INDEX[usize::from(self.0) % table::INDEX.len()])]
    }

    #[inline]
    pub fn charset(self) -> Charset {
        self.get().charset
    }

    #[inline]
    pub fn is_binary(self) -> bool {
        self == CollationId::BINARY
    }

    /// `binary` and the `_bin` collations: what the BINARY flag of a column definition says.
    pub fn is_binary_flagged(self) -> bool {
        self.get().algorithm == Algorithm::Bytes
    }

    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        self.get().compare(a, b)
    }

    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        self.get().sort_key(text, out);
    }
}

impl Collation {
    /// Error 1273.
    pub fn by_name(name: &str) -> Result<&'static Collation> {
        // MySQL's old name of the character set is accepted in front of the suffix.
        let found = COLLATIONS.iter().find(|c| c.name.eq_ignore_ascii_case(name)).or_else(|| {
            let rest = name.get(..5).filter(|p| p.eq_ignore_ascii_case("utf8_")).map(|_| &name[5..])?;
            COLLATIONS.iter().find(|c| c.name.strip_prefix("utf8mb3_").is_some_and(|s| s.eq_ignore_ascii_case(rest)))
        });
        found.ok_or_else(|| sql_err!(UnknownCollation, name))
    }

    pub fn by_id(id: u16) -> Option<&'static Collation> {
        COLLATIONS.iter().find(|c| c.id.0 == id)
    }

    /// The default of a character set.
    pub fn default_of(charset: Charset) -> &'static Collation {
        COLLATIONS.iter().find(|c| c.charset == charset && c.is_default).unwrap_or(&COLLATIONS[0])
    }

    /// The `_bin` of a character set.
    pub fn binary_of(charset: Charset) -> &'static Collation {
        let found =
            COLLATIONS.iter().find(|c| c.charset == charset && c.algorithm == Algorithm::Bytes && c.sortlen == 1);
        found.unwrap_or(&COLLATIONS[0])
    }

    /// Case-sensitive, accent-sensitive: bytes compare.
    pub fn is_bytes(&self) -> bool {
        self.algorithm == Algorithm::Bytes
    }

    /// Order of two texts.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (self.algorithm, self.pad) {
            (Algorithm::Bytes, Pad::NoPad) => a.cmp(b),
            (Algorithm::Bytes, Pad::PadSpace) => compare_padded_bytes(a, b),
            _ => self.compare_weights(a, b),
        }
    }

    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    fn compare_weights(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (mut x, mut y) = (self.weights(a), self.weights(b));
        loop {
            match (x.next(), y.next()) {
                (Some(p), Some(q)) if p == q => {}
                (Some(p), Some(q)) => return p.cmp(&q),
                (None, None) => return Ordering::Equal,
                (p, q) if self.pad == Pad::NoPad => return p.is_some().cmp(&q.is_some()),
                (Some(p), None) => {
                    return std::iter::once(p)
                        .chain(x)
                        .map(|w| w.cmp(&SPACE))
                        .find(|o| o.is_ne())
                        .unwrap_or(Ordering::Equal);
                }
                (None, Some(q)) => {
                    return std::iter::once(q)
                        .chain(y)
                        .map(|w| SPACE.cmp(&w))
                        .find(|o| o.is_ne())
                        .unwrap_or(Ordering::Equal);
                }
            }
        }
    }

    fn weights<'a>(&self, text: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
        let (charset, algorithm) = (self.charset, self.algorithm);
        charset.chars(text).map(move |c| match algorithm {
            Algorithm::General => general_weight(c),
            _ => u16::try_from(c.to_ascii_uppercase() as u32).unwrap_or(0xFFFD),
        })
    }

    /// Appends the sort key: bytes whose order (shorter first) is the collation's. PAD SPACE keys have no trailing spaces' weights.
    pub fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        let text = if self.pad == Pad::PadSpace { trim_spaces(text) } else { text };
        match self.algorithm {
            Algorithm::Bytes => out.extend_from_slice(text),
            _ => {
                for w in self.weights(text) {
                    out.extend_from_slice(&w.to_be_bytes());
                }
            }
        }
    }

    /// A hash that equal texts share.
    pub fn hash(&self, text: &[u8], state: &mut impl std::hash::Hasher) {
        let text = if self.pad == Pad::PadSpace { trim_spaces(text) } else { text };
        match self.algorithm {
            Algorithm::Bytes => state.write(text),
            _ => self.weights(text).for_each(|w| state.write_u16(w)),
        }
        state.write_u8(0xFF);
    }
}

const SPACE: u16 = 0x20;

impl Collation {
    /// Weight of a space.
    fn space_weight(&self) -> u16 {
        SPACE
    }
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &text[..end]
}

fn compare_padded_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    a[..n].cmp(&b[..n]).then_with(|| {
        let rest = |r: &[u8]| r.iter().find(|c| **c != b' ').map_or(Ordering::Equal, |c| c.cmp(&b' '));
        rest(&a[n..]).then(rest(&b[n..]).reverse())
    })
}

fn general_weight(c: char) -> u16 {
    u16::try_from(c.to_ascii_uppercase() as u32).unwrap_or(0xFFFD)
}

/// Upper-cases text of a character set, appending to `out`.
pub fn to_upper(charset: Charset, text: &[u8], out: &mut Vec<u8>) {
    change_case(charset, text, out, |c| single(c.to_uppercase(), c), |b| b.make_ascii_uppercase());
}

/// Lower-cases text of a character set, appending to `out`.
pub fn to_lower(charset: Charset, text: &[u8], out: &mut Vec<u8>) {
    change_case(charset, text, out, |c| single(c.to_lowercase(), c), |b| b.make_ascii_lowercase());
}

/// MySQL maps one character to one character: a mapping to several leaves it as it is.
fn single(mut mapped: impl Iterator<Item = char>, c: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(m), None) => m,
        _ => c,
    }
}

fn change_case(
    charset: Charset,
    text: &[u8],
    out: &mut Vec<u8>,
    map: impl Fn(char) -> char,
    ascii: impl Fn(&mut [u8]),
) {
    if charset == Charset::Binary {
        out.extend_from_slice(text);
        return;
    }
    if text.is_ascii() {
        let start = out.len();
        out.extend_from_slice(text);
        ascii(&mut out[start..]);
        return;
    }
    let mut rest = text;
    while let Some((c, n)) = charset.decode(rest) {
        let valid = charset.is_single_byte() || decode_utf8(rest).is_some();
        if !valid || !charset.encode(map(c), out) {
            out.extend_from_slice(&rest[..n]);
        }
        rest = &rest[n..];
    }
}
