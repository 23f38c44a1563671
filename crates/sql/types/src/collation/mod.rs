//! Collations: how text compares, sorts, matches LIKE and changes case.
//!
//! One table declares them; a new row is a new collation. `key` yields bytes whose order is the collation's order,
//! which is what index keys are made of; `sort_key` yields bytes that are the same for equal texts; `compare` agrees
//! with both.

mod aggregate;
mod case;
mod composed_data;
mod czech_data;
mod double_data;
mod hash;
mod keys;
mod language_900;
mod like;
mod one_byte_data;
mod prefix;
mod simple_data;
mod table;
mod tailoring;
mod uca;
mod whole;

use crate::charset::{Charset, gbk_weight};
use crate::convert::Stopped;
use crate::error::Result;
use crate::sql_err;
pub use aggregate::{Coercibility, CollationSource, Purpose, aggregate, aggregate_all, aggregate_for, mixed};
pub use case::{to_lower, to_upper};
pub use hash::RowHash;
pub use keys::CutKeys;
pub use language_900::Language900;
pub use like::LikePattern;
use prefix::{Prefix, code_900, code_of_point};
use simple_data::{GENERAL, GENERAL_PAGES};
use std::cmp::Ordering;
pub use table::COLLATIONS;
pub use tailoring::Language;
pub use uca::Uca;
use uca::{ASCII_900, Elements};
pub use whole::Whole;

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
    /// The order of code points, where that is not the order of bytes.
    CodePoints,
    /// ASCII letters fold to upper case.
    Ascii,
    /// One weight a byte.
    Table(&'static [u8; 256]),
    /// One weight a byte for characters of one byte; the bytes of longer ones are their weights.
    Multi(&'static [u8; 256]),
    /// One weight a character, by the table where it is one byte.
    Coded(Order, &'static [u8; 256]),
    /// Phone book order of German in latin1: umlauts and sharp s weigh as the two letters they stand for.
    German2,
    /// The weights of a text as a whole.
    Whole(Whole),
    /// One weight a character: upper case, accents stripped, all beyond the basic plane alike.
    General,
    /// As before MySQL 5.1.24: the sharp s is no `s`.
    General500,
    /// Collation elements of a table; the levels that count, 1 to 3.
    Uca(Uca, u8),
}

/// The order of characters of two bytes, where it is not that of their codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By the number of strokes, and by code.
    Big5,
    /// By sound.
    Gbk,
}

impl CollationId {
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    pub const UTF8MB3_BIN: CollationId = CollationId(83);
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
        self.get().is_bin()
    }

    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        self.get().compare(a, b)
    }

    /// See [`Collation::weights`].
    pub fn weights(self, text: &[u8], out: &mut Vec<u8>) {
        self.get().weights(text, out);
    }

    /// See [`Collation::sort_key`].
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
        found.ok_or_else(|| match MISSING.iter().find(|c| c.eq_ignore_ascii_case(name)) {
            Some(known) => missing(known),
            None => sql_err!(UnknownCollation, name),
        })
    }

    pub fn by_id(id: u16) -> Option<&'static Collation> {
        COLLATIONS.iter().find(|c| c.id.0 == id)
    }

    /// The default of a character set; of one whose default is missing, its `_bin`.
    pub fn default_of(charset: Charset) -> &'static Collation {
        let found = COLLATIONS.iter().find(|c| c.charset == charset && c.is_default);
        found.unwrap_or_else(|| Collation::binary_of(charset))
    }

    /// The default of a character set, where texts get a collation by it. Error 1235 if it is missing.
    pub fn default_for(charset: Charset) -> Result<&'static Collation> {
        match Collation::default_of(charset) {
            found if found.is_default => Ok(found),
            _ => Err(missing(charset.info().default_collation)),
        }
    }

    /// What a character set means where no collation is named, with this value of `default_collation_for_utf8mb4`: of
    /// columns, tables, schemas, and texts behind an introducer.
    pub fn implied(charset: Charset, utf8mb4: CollationId) -> CollationId {
        if charset == Charset::Utf8mb4 { utf8mb4 } else { Collation::default_of(charset).id }
    }

    /// The same. Error 1235 if it is missing.
    pub fn implied_for(charset: Charset, utf8mb4: CollationId) -> Result<CollationId> {
        if charset == Charset::Utf8mb4 { Ok(utf8mb4) } else { Ok(Collation::default_for(charset)?.id) }
    }

    /// The `_bin` of a character set.
    pub fn binary_of(charset: Charset) -> &'static Collation {
        let found = COLLATIONS.iter().find(|c| c.charset == charset && c.is_bin() && c.sortlen == 1);
        found.unwrap_or(&COLLATIONS[0])
    }

    /// Bytes compare: case and accents count.
    pub fn is_bytes(&self) -> bool {
        self.algorithm == Algorithm::Bytes
    }

    /// `binary` or a `_bin` collation: whatever its bytes are, no two characters are equal.
    pub fn is_bin(&self) -> bool {
        matches!(self.algorithm, Algorithm::Bytes | Algorithm::CodePoints)
    }

    /// Order of two texts.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (self.algorithm, self.pad) {
            (Algorithm::Bytes, Pad::NoPad) => a.cmp(b),
            (Algorithm::Bytes, Pad::PadSpace) => compare_padded_bytes(a, b),
            _ => self.compare_weights(a, b, &mut Unasked),
        }
    }

    /// [`Collation::compare`] of long texts, given up (`None`) when `stopped` says so.
    pub fn compare_until(&self, a: &[u8], b: &[u8], stopped: Stopped) -> Option<Ordering> {
        if self.algorithm == Algorithm::Bytes {
            return Some(self.compare(a, b));
        }
        let mut asking = Asking { left: ASK_EVERY, stopped, is_stopped: false };
        let order = self.compare_weights(a, b, &mut asking);
        (!asking.is_stopped).then_some(order)
    }

    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    fn compare_weights(&self, a: &[u8], b: &[u8], ask: &mut impl Ask) -> Ordering {
        let (pad, space, charset) = (self.pad, self.space_weight(), self.charset);
        match self.algorithm {
            Algorithm::Bytes => a.cmp(b),
            Algorithm::Ascii => compare_iters(ascii(a), ascii(b), pad, space, ask),
            Algorithm::CodePoints => compare_iters(code_points(charset, a), code_points(charset, b), pad, space, ask),
            Algorithm::Table(t) => compare_iters(table(t, a), table(t, b), pad, space, ask),
            Algorithm::Multi(t) => compare_iters(multi(charset, t, a), multi(charset, t, b), pad, space, ask),
            Algorithm::Coded(order, t) => {
                compare_iters(coded(charset, order, t, a), coded(charset, order, t, b), pad, space, ask)
            }
            Algorithm::German2 => compare_iters(german2(a), german2(b), pad, space, ask),
            Algorithm::Whole(whole) => {
                let weights = |text| whole.weights(text).into_iter().map(u16::from);
                compare_iters(weights(a), weights(b), pad, space, ask)
            }
            Algorithm::General500 => compare_iters(general500(charset, a), general500(charset, b), pad, space, ask),
            Algorithm::General if charset.is_wide() => {
                compare_iters(general(charset, a), general(charset, b), pad, space, ask)
            }
            Algorithm::General => {
                let n = common_ascii(a, b, |x, y| x.eq_ignore_ascii_case(&y));
                compare_iters(general(charset, &a[n..]), general(charset, &b[n..]), pad, space, ask)
            }
            Algorithm::Uca(Uca::V900, 1) => {
                let n = common_ascii(a, b, |x, y| ASCII_900[usize::from(x)] == ASCII_900[usize::from(y)]);
                let (a, b) = (&a[n..], &b[n..]);
                // Two ASCII characters that both weigh something decide.
                if let (Some(x @ 0..=0x7F), Some(y @ 0..=0x7F)) = (a.first(), b.first()) {
                    let (x, y) = (ASCII_900[usize::from(*x)], ASCII_900[usize::from(*y)]);
                    if x != 0 && y != 0 {
                        return x.cmp(&y);
                    }
                }
                compare_iters(primaries(Uca::V900, charset, a), primaries(Uca::V900, charset, b), pad, space, ask)
            }
            Algorithm::Uca(version, levels) => {
                let weights = |text, l| uca::level(Elements::new(version, charset, text), l);
                let mut order = |l| compare_iters(weights(a, l), weights(b, l), pad, space, ask);
                (0..levels).map(&mut order).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            }
        }
    }

    /// Calls `put` for each primary weight.
    fn for_weights(&self, text: &[u8], mut put: impl FnMut(u16)) {
        match self.algorithm {
            Algorithm::Bytes => text.iter().for_each(|b| put(u16::from(*b))),
            Algorithm::CodePoints => code_points(self.charset, text).for_each(put),
            Algorithm::German2 => german2(text).for_each(put),
            Algorithm::Ascii => ascii(text).for_each(put),
            Algorithm::Table(t) => table(t, text).for_each(put),
            Algorithm::Multi(t) => multi(self.charset, t, text).for_each(put),
            Algorithm::Coded(order, t) => coded(self.charset, order, t, text).for_each(put),
            Algorithm::Whole(whole) => whole.weights(text).into_iter().for_each(|w| put(u16::from(w))),
            Algorithm::General => general(self.charset, text).for_each(put),
            Algorithm::General500 => general500(self.charset, text).for_each(put),
            Algorithm::Uca(Uca::V900, _) => {
                // ASCII is one weight a byte or none.
                let ascii = text.iter().position(|b| *b >= 0x80).unwrap_or(text.len());
                let (front, rest) = text.split_at(ascii);
                front.iter().map(|b| ASCII_900[usize::from(*b)]).filter(|w| *w != 0).for_each(&mut put);
                primaries(Uca::V900, self.charset, rest).for_each(put);
            }
            Algorithm::Uca(version, _) => primaries(version, self.charset, text).for_each(put),
        }
    }

    /// Appends bytes that are the same for equal texts and for no others, levels divided by 0000, as `WEIGHT_STRING`
    /// gives them for NO PAD collations, where their order (shorter first) is the collation's. PAD SPACE ones have no
    /// trailing spaces' weights; their order is that of [`key`](Self::key) only.
    pub fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let text = self.significant(text);
        out.reserve(text.len() * 2);
        match self.algorithm {
            Algorithm::Bytes => out.extend_from_slice(text),
            Algorithm::Ascii => out.extend(text.iter().map(u8::to_ascii_uppercase)),
            Algorithm::Table(t) => out.extend(text.iter().map(|b| t[usize::from(*b)])),
            Algorithm::Multi(t) => out.extend(multi(self.charset, t, text).map(|w| w as u8)),
            Algorithm::German2 => out.extend(german2(text).map(|w| w as u8)),
            Algorithm::Whole(whole) => out.append(&mut whole.weights(text)),
            Algorithm::Uca(Uca::V900, _) if text.is_ascii() => ascii_sort_key(text, out),
            _ => self.for_weights(text, |w| out.extend_from_slice(&w.to_be_bytes())),
        }
        if self.pad == Pad::PadSpace {
            // Characters that weigh as a space does, or nothing, may be behind the last spaces.
            let space = self.space_weight().to_be_bytes();
            let space = if self.byte_weights() { &space[1..] } else { &space[..] };
            while out[start..].ends_with(space) {
                out.truncate(out.len() - space.len());
            }
        }
        if let Algorithm::Uca(version, levels @ 2..) = self.algorithm {
            for l in 1..levels {
                out.extend_from_slice(&[0, 0]);
                let weights = uca::level(Elements::new(version, self.charset, text), l);
                weights.for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
            }
        }
    }

    /// Appends bytes that are the same for equal texts and for no others, and are few.
    pub fn equality_key(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.algorithm {
            Algorithm::Uca(Uca::V900, 1) if self.pad == Pad::NoPad => {
                if !prefix::put_ascii_900(text, out) {
                    self.for_weights(text, |weight| prefix::put_code(code_900(weight), out));
                }
            }
            _ => self.sort_key(text, out),
        }
    }

    /// Eight bytes that order as texts do as far as they go: a smaller prefix is a smaller text, equal prefixes say
    /// nothing.
    pub fn sort_prefix(&self, text: &[u8]) -> u64 {
        // A text that ends counts as followed by spaces, or by nothing.
        let fill = if self.pad == Pad::PadSpace { self.space_weight() } else { 0 };
        match self.algorithm {
            Algorithm::Bytes => prefix_of_bytes(text.iter().copied(), fill as u8),
            Algorithm::Ascii => prefix_of_bytes(text.iter().map(u8::to_ascii_uppercase), fill as u8),
            Algorithm::Table(t) => prefix_of_bytes(text.iter().map(|b| t[usize::from(*b)]), fill as u8),
            Algorithm::Multi(t) => prefix_of_bytes(multi(self.charset, t, text).map(|w| w as u8), fill as u8),
            Algorithm::Coded(order, t) => {
                Prefix::of(coded(self.charset, order, t, text), code_of_point).filled(code_of_point(fill))
            }
            Algorithm::German2 => prefix_of_bytes(german2(text).map(|w| w as u8), fill as u8),
            Algorithm::Whole(whole) => prefix_of_bytes(whole.weights(text).into_iter(), fill as u8),
            Algorithm::CodePoints => {
                Prefix::of(code_points(self.charset, text), code_of_point).filled(code_of_point(fill))
            }
            Algorithm::General => Prefix::of(general(self.charset, text), code_of_point).filled(code_of_point(fill)),
            Algorithm::General500 => {
                Prefix::of(general500(self.charset, text), code_of_point).filled(code_of_point(fill))
            }
            Algorithm::Uca(Uca::V900, _) => Prefix::of_ascii_900(text)
                .unwrap_or_else(|| Prefix::of(primaries(Uca::V900, self.charset, text), code_900))
                .filled(code_900(fill)),
            Algorithm::Uca(version, _) => prefix_of_units(primaries(version, self.charset, text), fill),
        }
    }

    /// A character may have several weights, or several characters one.
    pub fn has_elements(&self) -> bool {
        matches!(self.algorithm, Algorithm::Uca(..))
    }

    /// Bytes of a weight where weights are not one to a character, and of one level.
    pub fn weight_units(&self) -> Option<usize> {
        matches!(self.algorithm, Algorithm::General | Algorithm::General500 | Algorithm::Uca(_, 1)).then_some(2)
    }

    /// Appends the weights of a text as `WEIGHT_STRING` shows them: all of them, those of trailing spaces too.
    pub fn weights(&self, text: &[u8], out: &mut Vec<u8>) {
        match (self.algorithm, self.charset) {
            (Algorithm::CodePoints, _) | (Algorithm::Bytes, Charset::Utf8mb4 | Charset::Utf8mb3)
                if self.pad == Pad::PadSpace =>
            {
                // Code points, of three bytes; of two where there are no others.
                let skip = if matches!(self.charset, Charset::Utf8mb3 | Charset::Ucs2) { 2 } else { 1 };
                for c in self.charset.chars(text) {
                    out.extend_from_slice(&(c as u32).to_be_bytes()[skip..]);
                }
            }
            (Algorithm::Uca(..), _) if self.pad == Pad::PadSpace => {
                self.for_weights(text, |w| out.extend_from_slice(&w.to_be_bytes()));
            }
            // Letters of several characters are together.
            (Algorithm::Uca(Uca::V900For(_), _), _) => self.sort_key(text, out),
            (Algorithm::Uca(version, levels), _) => {
                for l in 0..levels {
                    if l > 0 {
                        out.extend_from_slice(&[0, 0]);
                    }
                    let mut rest = text;
                    while let Some((_, n)) = self.charset.decode(rest) {
                        let elements = Elements::new(version, self.charset, &rest[..n]).take(SHOWN_ELEMENTS);
                        uca::level(elements, l).for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
                        rest = &rest[n..];
                    }
                }
            }
            (Algorithm::Whole(whole), _) => whole.put_shown(text, out),
            (Algorithm::Coded(order, t), _) => {
                // Characters of one byte have a weight of one byte.
                let weights = coded(self.charset, order, t, text).map(u16::to_be_bytes);
                weights.for_each(|w| out.extend_from_slice(if w[0] == 0 { &w[1..] } else { &w }));
            }
            (
                Algorithm::Bytes | Algorithm::Ascii | Algorithm::Table(_) | Algorithm::Multi(_) | Algorithm::German2,
                _,
            ) => {
                Collation { pad: Pad::NoPad, ..*self }.sort_key(text, out);
            }
            _ => self.for_weights(text, |w| out.extend_from_slice(&w.to_be_bytes())),
        }
    }

    /// What of a text counts: not the spaces at its end, where they are ignored, but in Thai, which moves marks behind
    /// them.
    fn significant<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let cut = self.pad == Pad::PadSpace && self.algorithm != Algorithm::Whole(Whole::Thai);
        if cut { self.charset.trim_end(text) } else { text }
    }

    /// Weight of a space, as trailing spaces have it.
    fn space_weight(&self) -> u16 {
        match self.algorithm {
            // Asked for in each comparison.
            Algorithm::Uca(Uca::V900, _) => ASCII_900[0x20],
            Algorithm::Uca(version, _) => version.space(),
            Algorithm::Table(t) | Algorithm::Multi(t) | Algorithm::Coded(_, t) => u16::from(t[0x20]),
            _ => 0x20,
        }
    }

    /// Does every weight fit one byte?
    fn byte_weights(&self) -> bool {
        use Algorithm::*;
        matches!(self.algorithm, Bytes | Ascii | Table(_) | Multi(_) | German2 | Whole(_))
    }
}

/// Collations of MySQL whose order is not there.
const MISSING: &[&str] = &[
    "gb18030_chinese_ci",
    "utf8mb3_tolower_ci",
    "utf8mb4_ja_0900_as_cs",
    "utf8mb4_ja_0900_as_cs_ks",
    "utf8mb4_zh_0900_as_cs",
];

#[cold]
fn missing(name: &str) -> crate::SqlError {
    crate::SqlError::unsupported(format_args!("collation {name}"))
}

fn prefix_of_bytes(weights: impl Iterator<Item = u8>, fill: u8) -> u64 {
    weights.chain(std::iter::repeat(fill)).take(8).fold(0, |key, w| key << 8 | u64::from(w))
}

fn prefix_of_units(weights: impl Iterator<Item = u16>, fill: u16) -> u64 {
    weights.chain(std::iter::repeat(fill)).take(4).fold(0, |key, w| key << 16 | u64::from(w))
}

/// Primary weights of ASCII text, ignorable characters left out.
fn ascii_sort_key(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + text.len() * 2, 0);
    let mut ignorable = 0;
    for (unit, b) in out[start..].chunks_exact_mut(2).zip(text) {
        let w = ASCII_900[usize::from(b & 0x7F)];
        unit.copy_from_slice(&w.to_be_bytes());
        ignorable += usize::from(w == 0);
    }
    if ignorable > 0 {
        let weights = text.iter().map(|b| ASCII_900[usize::from(b & 0x7F)]).filter(|w| *w != 0);
        out[start..].chunks_exact_mut(2).zip(weights).for_each(|(unit, w)| unit.copy_from_slice(&w.to_be_bytes()));
        out.truncate(start + (text.len() - ignorable) * 2);
    }
}

fn ascii(text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    text.iter().map(|b| u16::from(b.to_ascii_uppercase()))
}

fn table<'a>(weights: &'static [u8; 256], text: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
    text.iter().map(|b| u16::from(weights[usize::from(*b)]))
}

/// Weights of a character set of several bytes: those of the table, or the bytes.
fn multi<'a>(charset: Charset, weights: &'static [u8; 256], text: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
    let mut left = 0;
    text.iter().enumerate().map(move |(at, byte)| {
        if left > 0 {
            left -= 1;
            return u16::from(*byte);
        }
        left = if *byte < 0x80 { 0 } else { charset.char_len(&text[at..]) - 1 };
        u16::from(if left > 0 { *byte } else { weights[usize::from(*byte)] })
    })
}

/// Weights of a character set of two bytes: those of the table, or the place of the character in an order.
fn coded<'a>(
    charset: Charset,
    order: Order,
    weights: &'static [u8; 256],
    text: &'a [u8],
) -> impl Iterator<Item = u16> + use<'a> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let n = if first < 0x80 { 1 } else { charset.char_len(rest) };
        let weight = match (rest, order) {
            (_, _) if n == 1 => u16::from(weights[usize::from(first)]),
            ([a, b, ..], Order::Gbk) => gbk_weight(*a, *b),
            ([a, b, ..], Order::Big5) => big5_weight(u16::from_be_bytes([*a, *b])),
            _ => u16::from(first),
        };
        rest = &rest[n..];
        Some(weight)
    })
}

/// Characters of as many strokes have one weight: the code of the first of them, where a run of them begins.
fn big5_weight(code: u16) -> u16 {
    let runs = double_data::BIG5_RUNS;
    let at = runs.partition_point(|run| run.0 <= code);
    runs.get(at.wrapping_sub(1)).map_or(code, |run| run.1)
}

fn general(charset: Charset, text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    charset.chars(text).map(general_weight)
}

fn general500(charset: Charset, text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    charset.chars(text).map(|c| if c == 'ß' { 0xDF } else { general_weight(c) })
}

fn primaries(version: Uca, charset: Charset, text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    uca::level(Elements::new(version, charset, text), 0)
}

/// Length of the common start of two texts in which both are ASCII and the same by `same`.
#[inline]
fn common_ascii(a: &[u8], b: &[u8], same: impl Fn(u8, u8) -> bool) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let word = |c: &[u8]| c.try_into().map_or(HIGH, u64::from_ne_bytes);
    let mut n = 0;
    // Equal words first, then the word in which they differ byte by byte.
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        let (p, q) = (word(x), word(y));
        if p == q && p & HIGH == 0 {
            n += 8;
            continue;
        }
        if (p | q) & HIGH != 0 || !x.iter().zip(y).all(|(x, y)| same(*x, *y)) {
            break;
        }
        n += 8;
    }
    n + a[n..].iter().zip(&b[n..]).take_while(|(x, y)| (**x | **y) < 0x80 && same(**x, **y)).count()
}

/// Collation elements of a character that MySQL's tables have at most: what `WEIGHT_STRING` shows of it.
const SHOWN_ELEMENTS: usize = 8;

/// Weights between two questions whether to stop.
const ASK_EVERY: u32 = 64 << 10;

/// Asked at each weight.
trait Ask {
    /// Whether to give up.
    fn is_stopped(&mut self) -> bool;
}

/// Never to be given up.
struct Unasked;

impl Ask for Unasked {
    #[inline(always)]
    fn is_stopped(&mut self) -> bool {
        false
    }
}

/// Asks now and then.
struct Asking {
    left: u32,
    stopped: Stopped,
    is_stopped: bool,
}

impl Ask for Asking {
    #[inline]
    fn is_stopped(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.left = ASK_EVERY;
            self.is_stopped |= (self.stopped)();
        }
        self.is_stopped
    }
}

fn compare_iters<I: Iterator<Item = u16>>(mut x: I, mut y: I, pad: Pad, space: u16, ask: &mut impl Ask) -> Ordering {
    loop {
        if ask.is_stopped() {
            return Ordering::Equal;
        }
        match (x.next(), y.next()) {
            (Some(p), Some(q)) if p == q => {}
            (Some(p), Some(q)) => return p.cmp(&q),
            (None, None) => return Ordering::Equal,
            (p, q) if pad == Pad::NoPad => return p.is_some().cmp(&q.is_some()),
            (Some(p), None) => return against_spaces(p, x, space),
            (None, Some(q)) => return against_spaces(q, y, space).reverse(),
        }
    }
}

/// Order of the weights `first`, `rest` against an endless run of spaces.
fn against_spaces(first: u16, rest: impl Iterator<Item = u16>, space: u16) -> Ordering {
    std::iter::once(first).chain(rest).map(|w| w.cmp(&space)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// Weights of `latin1_german2_ci` (DIN 5007, variant 2).
fn german2(text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    text.iter().flat_map(|b| {
        let (first, second) = match b {
            0xC4 | 0xC6 | 0xE4 | 0xE6 => (b'A', b'E'),
            0xD6 | 0xF6 => (b'O', b'E'),
            0xDC | 0xFC => (b'U', b'E'),
            0xDF => (b'S', b'S'),
            0xC0..=0xC5 | 0xE0..=0xE5 => (b'A', 0),
            0xC7 | 0xE7 => (b'C', 0),
            0xC8..=0xCB | 0xE8..=0xEB => (b'E', 0),
            0xCC..=0xCF | 0xEC..=0xEF => (b'I', 0),
            0xD0 | 0xF0 => (b'D', 0),
            0xD1 | 0xF1 => (b'N', 0),
            0xD2..=0xD5 | 0xF2..=0xF5 => (b'O', 0),
            0xD9..=0xDB | 0xF9..=0xFB => (b'U', 0),
            0xDD | 0xFD | 0xFF => (b'Y', 0),
            0xF8 | 0xFE => (b - 0x20, 0),
            _ => (b.to_ascii_uppercase(), 0),
        };
        [Some(first), Some(second).filter(|w| *w != 0)].into_iter().flatten().map(u16::from)
    })
}

/// Units whose order is that of code points: those beyond the basic plane are two, and come last.
fn code_points(charset: Charset, text: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    charset.chars(text).flat_map(|c| {
        let code = c as u32;
        match code {
            0..0xD800 => [Some(code as u16), None],
            0xD800..0x10000 => [Some((code - 0x800) as u16), None],
            _ => [Some(0xF800 | ((code - 0x10000) >> 10) as u16), Some((code & 0x3FF) as u16)],
        }
        .into_iter()
        .flatten()
    })
}

fn compare_padded_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    a[..n].cmp(&b[..n]).then_with(|| {
        let rest = |r: &[u8]| r.iter().find(|c| **c != b' ').map_or(Ordering::Equal, |c| c.cmp(&b' '));
        rest(&a[n..]).then(rest(&b[n..]).reverse())
    })
}

#[inline]
fn general_weight(c: char) -> u16 {
    match u16::try_from(c as u32) {
        Ok(c) => match GENERAL_PAGES[usize::from(c >> 8)] {
            0 => c,
            page => GENERAL[usize::from(page - 1) << 8 | usize::from(c & 0xFF)],
        },
        Err(_) => 0xFFFD,
    }
}

#[cfg(test)]
mod tests;
