//! The Unicode Collation Algorithm (UTS #10) over tables of collation elements, as MySQL applies it: every element
//! counts (alternate "non-ignorable"), no contractions but the languages' ([`super::tailoring`]), no normalisation;
//! Hangul syllables are taken apart for 9.0.0 only.
//!
//! `data/generate.py` documents the table format.

use super::language_900::Language900;
use super::tailoring::Language;
use crate::charset::Charset;

/// Versions of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uca {
    /// 9.0.0: the `_0900_` collations.
    V900,
    /// 9.0.0 with the letters of a language.
    V900For(Language900),
    /// 5.2.0: the `_unicode_520_` collations.
    V520,
    /// 4.0.0, basic plane only: the `_unicode_` collations.
    V400,
    /// 4.0.0 with the letters of a language.
    V400For(Language),
}

static V900: &[u8] = include_bytes!("../../data/uca900.bin");
static V520: &[u8] = include_bytes!("../../data/uca520.bin");
static V400: &[u8] = include_bytes!("../../data/uca400.bin");

const PAGES: usize = 0x110000 / 128;
const IMPLICIT: u32 = u32::MAX;

/// A collation element: primary << 14 | secondary << 5 | tertiary.
pub(super) type Element = u32;

pub(super) const fn element(primary: u32, secondary: u32, tertiary: u32) -> Element {
    primary << 14 | secondary << 5 | tertiary
}

impl Uca {
    const fn table(self) -> &'static [u8] {
        match self {
            Uca::V900 | Uca::V900For(_) => V900,
            Uca::V520 => V520,
            Uca::V400 | Uca::V400For(_) => V400,
        }
    }

    const fn entry(self, c: u32) -> u32 {
        let table = self.table();
        let at = (c >> 7) as usize * 2;
        let page = table[at] as usize | (table[at + 1] as usize) << 8;
        word(table, PAGES * 2 + (page * 128 + (c & 127) as usize) * 4)
    }

    /// Has the version's table elements of the character? Those it does not know get computed ones.
    pub(super) fn knows(self, c: char) -> bool {
        self.entry(c as u32) != IMPLICIT
    }

    /// Its place among the versions.
    fn number(self) -> usize {
        match self {
            Uca::V900 | Uca::V900For(_) => 0,
            Uca::V520 => 1,
            Uca::V400 | Uca::V400For(_) => 2,
        }
    }

    /// Where the elements of expansions start.
    fn elements(self) -> usize {
        let (table, mut last) = (self.table(), 0);
        let mut at = 0;
        while at < PAGES * 2 {
            last = last.max(usize::from(u16::from_le_bytes([table[at], table[at + 1]])));
            at += 2;
        }
        PAGES * 2 + (last + 1) * 128 * 4
    }

    /// Primary weight of a character that has one element.
    pub(super) const fn primary_of(self, c: char) -> u32 {
        self.entry(c as u32) >> 14
    }

    /// Secondary weight of a character that has one element.
    pub(super) const fn secondary_of(self, c: char) -> u32 {
        self.entry(c as u32) >> 5 & 0x1FF
    }

    fn is_900(self) -> bool {
        matches!(self, Uca::V900 | Uca::V900For(_))
    }

    /// Primary weight of a space.
    pub(super) const fn space(self) -> u16 {
        (self.entry(0x20) >> 14) as u16
    }
}

const fn word(table: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
}

/// Primary weights of ASCII in 9.0.0; 0 for ignorable characters.
pub(super) static ASCII_900: [u16; 128] = {
    let mut weights = [0; 128];
    let mut c = 0;
    while c < 128 {
        weights[c] = (Uca::V900.entry(c as u32) >> 14) as u16;
        c += 1;
    }
    weights
};

/// Starts of the expansions, found once.
static EXPANSIONS: [std::sync::LazyLock<usize>; 3] = [
    std::sync::LazyLock::new(|| Uca::V900.elements()),
    std::sync::LazyLock::new(|| Uca::V520.elements()),
    std::sync::LazyLock::new(|| Uca::V400.elements()),
];

/// The collation elements of a text.
#[derive(Clone)]
pub(super) struct Elements<'a> {
    version: Uca,
    charset: Charset,
    rest: &'a [u8],
    /// Bytes of elements of the current character that are still to come.
    pending: &'static [u8],
    /// Elements that are computed: implicit ones, jamo.
    computed: [Element; 3],
    left: u8,
}

impl<'a> Elements<'a> {
    pub(super) fn new(version: Uca, charset: Charset, text: &'a [u8]) -> Elements<'a> {
        Elements { version, charset, rest: text, pending: &[], computed: [0; 3], left: 0 }
    }

    /// The elements of a character that is not one table entry: the first, and the rest for later.
    #[cold]
    fn special(&mut self, c: u32, entry: u32) -> Element {
        if entry != IMPLICIT {
            let (index, len) = ((entry & 0xF_FFFF) as usize, (entry >> 20 & 0x7FF) as usize);
            let at = *EXPANSIONS[self.version.number()] + index * 4;
            let bytes = &self.version.table()[at..at + len * 4];
            self.pending = &bytes[4..];
            return word(bytes, 0);
        }
        if matches!(self.version, Uca::V400 | Uca::V400For(_)) && c > 0xFFFF {
            return element(0xFFFD, 0x20, 2);
        }
        if self.version.is_900() && (0xAC00..=0xD7A3).contains(&c) {
            return self.hangul(c - 0xAC00);
        }
        let base = self.implicit_base(c);
        let low = if base == 0xFB00 { c - 0x17000 } else { c & 0x7FFF };
        let high = if base == 0xFB00 { base } else { base + (c >> 15) };
        self.computed[0] = element(low | 0x8000, 0, 0);
        self.left = 1;
        element(high, 0x20, 2)
    }

    /// The first element of a language's letter that begins with `c`; the rest for later.
    fn letter(&mut self, language: Language, c: char) -> Option<Element> {
        let next = self.charset.decode(self.rest);
        let (bytes, pair) = language.letter(c, || next.map(|(c, _)| c))?;
        if let (true, Some((_, n))) = (pair, next) {
            self.rest = &self.rest[n..];
        }
        self.pending = &bytes[4..];
        Some(word(bytes, 0))
    }

    fn implicit_base(&self, c: u32) -> u32 {
        if !self.version.is_900() {
            return match c {
                0x3400..=0x4DB5 => 0xFB80,
                0x4E00..=0x9FA5 => 0xFB40,
                _ => 0xFBC0,
            };
        }
        match c {
            0x17000..=0x18AFF => 0xFB00,
            0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => 0xFB80,
            0x4E00..=0x9FD5 | 0xFA0E..=0xFA29 => 0xFB40,
            _ => 0xFBC0,
        }
    }

    /// A syllable as its two or three jamo, each of which has one element.
    fn hangul(&mut self, index: u32) -> Element {
        let (lead, vowel, trail) = (0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28);
        let version = self.version;
        if index.is_multiple_of(28) {
            self.computed[0] = version.entry(vowel);
            self.left = 1;
        } else {
            // Taken from the end.
            self.computed[1] = version.entry(vowel);
            self.computed[0] = version.entry(trail);
            self.left = 2;
        }
        version.entry(lead)
    }
}

impl Iterator for Elements<'_> {
    type Item = Element;

    #[inline]
    fn next(&mut self) -> Option<Element> {
        match self.version {
            Uca::V900For(language) => Some(language.ordered(self.next_of_table()?)),
            _ => self.next_of_table(),
        }
    }
}

impl Elements<'_> {
    #[inline]
    fn next_of_table(&mut self) -> Option<Element> {
        if !self.pending.is_empty() {
            let e = word(self.pending, 0);
            self.pending = &self.pending[4..];
            return Some(e);
        }
        if self.left > 0 {
            self.left -= 1;
            return Some(self.computed[usize::from(self.left)]);
        }
        loop {
            if let Uca::V900For(language) = self.version
                && let Some((bytes, n)) = language.letter(self.rest)
            {
                self.rest = &self.rest[n..];
                self.pending = &bytes[4..];
                return Some(word(bytes, 0));
            }
            let (c, n) = self.charset.decode(self.rest)?;
            self.rest = &self.rest[n..];
            if let Uca::V400For(language) = self.version
                && let Some(e) = self.letter(language, c)
            {
                return Some(e);
            }
            let entry = self.version.entry(c as u32);
            if entry != 0 {
                return Some(if entry >> 31 == 0 { entry } else { self.special(c as u32, entry) });
            }
        }
    }
}

/// The weights of one level (0 primary, 1 secondary, 2 tertiary) that are not zero.
pub(super) fn level<E: Iterator<Item = Element> + Clone>(elements: E, level: u8) -> impl Iterator<Item = u16> + Clone {
    elements.map(move |e| weight(e, level)).filter(|w| *w != 0)
}

#[inline]
fn weight(e: Element, level: u8) -> u16 {
    (match level {
        0 => e >> 14,
        1 => e >> 5 & 0x1FF,
        _ => e & 0x1F,
    }) as u16
}
