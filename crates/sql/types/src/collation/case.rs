//! Upper and lower case, one character for one, as far as MySQL's tables of the collation reach: those of the UCA 9.0.0
//! and 5.2.0 collations to the letters of their versions, all others to those of Unicode 3.0.

use super::{Algorithm, Collation, Language, Pad, Uca};
use crate::charset::{Charset, decode_utf8};

/// Upper-cases text of a collation, appending to `out`.
pub fn to_upper(collation: &Collation, text: &[u8], out: &mut Vec<u8>) {
    if is_turkish(collation) {
        return change_letters(collation, text, out, |c| if c == 'i' { '\u{130}' } else { upper(c) });
    }
    // The lunate sigma has had a capital of its own since Unicode 4.0.
    let lunate = if is_known(collation, '\u{3F9}') { '\u{3F9}' } else { '\u{3A3}' };
    let map = |c| if c == '\u{3F2}' { lunate } else { upper(c) };
    change_case(collation, text, out, map, |b| b.make_ascii_uppercase());
}

/// Lower-cases text of a collation, appending to `out`.
pub fn to_lower(collation: &Collation, text: &[u8], out: &mut Vec<u8>) {
    if is_turkish(collation) {
        return change_letters(collation, text, out, |c| if c == 'I' { '\u{131}' } else { lower(c) });
    }
    change_case(collation, text, out, lower, |b| b.make_ascii_lowercase());
}

fn upper(c: char) -> char {
    let above = |n: u32| char::from_u32(c as u32 + n).unwrap_or(c);
    match c {
        // These have one letter for a title, and two for capitals.
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => above(8),
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => above(9),
        _ => single(c.to_uppercase(), c),
    }
}

fn lower(c: char) -> char {
    // The capital dotted I has one small letter in MySQL, two characters in Unicode.
    if c == '\u{130}' { 'i' } else { single(c.to_lowercase(), c) }
}

/// A mapping to several characters leaves one as it is.
fn single(mut mapped: impl Iterator<Item = char>, c: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(m), None) => m,
        _ => c,
    }
}

/// Had the character a case when the collation's tables were made?
fn is_known(collation: &Collation, c: char) -> bool {
    match (collation.algorithm, collation.charset) {
        (Algorithm::Uca(version @ (Uca::V900 | Uca::V900For(_) | Uca::V520), _), _) => version.knows(c),
        (Algorithm::Bytes, Charset::Utf8mb4) if collation.pad == Pad::NoPad => Uca::V900.knows(c),
        // The table of latin1 leaves what cp1252 has in place of controls, and the one small letter whose capital is
        // there.
        (_, Charset::Latin1) => c < '\u{FF}',
        _ => is_of_unicode_3(c),
    }
}

/// Letters with case of Unicode 3.0, and some of its others.
fn is_of_unicode_3(c: char) -> bool {
    matches!(u32::from(c), 0..=0x21F | 0x222..=0x233 | 0x250..=0x2AD | 0x345 | 0x386..=0x3CE | 0x3D0..=0x3D7 | 0x3DA..=0x3F2
        | 0x400..=0x481 | 0x48C..=0x4C4 | 0x4C7..=0x4C8 | 0x4CB..=0x4CC | 0x4D0..=0x4F5 | 0x4F8..=0x4F9 | 0x531..=0x587
        | 0x1E00..=0x1E9B | 0x1EA0..=0x1EF9 | 0x1F00..=0x1FFC | 0x2126..=0x212B | 0x2160..=0x217F | 0x24B6..=0x24E9
        | 0xFF21..=0xFF5A)
}

fn change_case(
    collation: &Collation,
    text: &[u8],
    out: &mut Vec<u8>,
    map: impl Fn(char) -> char,
    ascii: impl Fn(&mut [u8]),
) {
    let charset = collation.charset;
    if charset == Charset::Binary {
        out.extend_from_slice(text);
        return;
    }
    if charset.shares_ascii(Charset::Utf8mb4, text) {
        let start = out.len();
        out.extend_from_slice(text);
        ascii(&mut out[start..]);
        return;
    }
    change_letters(collation, text, out, map);
}

/// The old Turkish collations of Unicode pair `i` with a dotted capital and `I` with a dotless small letter.
fn is_turkish(collation: &Collation) -> bool {
    matches!(collation.algorithm, Algorithm::Uca(Uca::V400For(Language::Turkish), _))
}

fn change_letters(collation: &Collation, text: &[u8], out: &mut Vec<u8>, map: impl Fn(char) -> char) {
    let charset = collation.charset;
    let mut rest = text;
    while let Some((c, n)) = charset.decode(rest) {
        let legible = || charset.is_multi() && c != '\u{FFFD}' || decode_utf8(rest).is_some();
        let valid = charset.is_single_byte() || charset.is_wide() || legible();
        let mapped = map(c);
        if let Some(numeral) = numeral(charset, &rest[..n], mapped < c).filter(|_| mapped != c) {
            out.extend_from_slice(&numeral);
            rest = &rest[n..];
            continue;
        }
        // What stays as it is keeps its bytes: a character may have two codes.
        let changes = valid && mapped != c && is_known(collation, c) && is_known(collation, mapped);
        if !changes || !charset.encode(mapped, out) {
            out.extend_from_slice(&rest[..n]);
        }
        rest = &rest[n..];
    }
}

/// Roman numerals that a character set has twice: the other case of one of their codes.
fn numeral(charset: Charset, code: &[u8], upper: bool) -> Option<Vec<u8>> {
    match (charset, code, upper) {
        (Charset::Cp932, [0xFA, b @ 0x40..=0x49], true) => Some(vec![0xFA, b + 10]),
        (Charset::Cp932, [0x87, b @ 0x54..=0x5D], false) => Some(vec![0xEE, b + 0x9B]),
        (Charset::Eucjpms, [0x8F, 0xF3, b @ 0xF3..=0xFC], true) => {
            Some(if *b < 0xF5 { vec![0x8F, 0xF3, b + 10] } else { vec![0x8F, 0xF4, b - 0x54] })
        }
        _ => None,
    }
}
