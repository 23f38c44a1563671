//! Languages' changes to the table of UCA 9.0.0: the siblings of `utf8mb4_0900_ai_ci` and `_as_cs`, by the rules of
//! CLDR.
//!
//! A rule begins at a letter (`&`), or before it (`&[before 1]`), and places others behind it: at the next primary
//! weight (`<`), secondary (`<<`) or tertiary one (`<<<`). MySQL gives a placed letter the elements of the letter where
//! the rule begins, and further ones with weights that no character has. Letters with more marks follow theirs.

use super::composed_data::COMPOSED;
use super::uca::{Element, Elements, Uca, element};
use crate::charset::Charset;
use std::sync::LazyLock;

/// A language with letters of its own, or with another order of scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language900 {
    GermanPhonebook,
    Icelandic,
    Latvian,
    Romanian,
    Slovenian,
    Polish,
    Estonian,
    Spanish,
    Swedish,
    Turkish,
    Czech,
    Danish,
    Lithuanian,
    Slovak,
    TraditionalSpanish,
    Latin,
    Esperanto,
    Hungarian,
    Croatian,
    Vietnamese,
    Norwegian,
    /// Russian, Bulgarian, Mongolian: the Cyrillic letters come first.
    Cyrillic,
}

const LANGUAGES: usize = Language900::Cyrillic as usize + 1;

/// By [`Language900`].
static RULES: [&str; LANGUAGES] = [
    "&AE<<ä<<<Ä &OE<<ö<<<Ö &UE<<ü<<<Ü",
    "&[before 1]b<á<<<Á &d<<đ<<<Đ<ð<<<Ð &[before 1]f<é<<<É &[before 1]j<í<<<Í &[before 1]p<ó<<<Ó &[before 1]v<ú<<<Ú \
     &[before 1]z<ý<<<Ý &[before 1]ǀ<æ<<<Æ<<ä<<<Ä<ö<<<Ö<<ø<<<Ø<å<<<Å",
    "&[before 1]D<č<<<Č &[before 1]H<ģ<<<Ģ &I<<y<<<Y &[before 1]L<ķ<<<Ķ &[before 1]M<ļ<<<Ļ &[before 1]O<ņ<<<Ņ \
     &[before 1]S<ŗ<<<Ŗ &[before 1]T<š<<<Š &[before 1]Ʒ<ž<<<Ž",
    "&A<ă<<<Ă<â<<<Â &I<î<<<Î &S<ş=ș<<<Ş=Ș &T<ţ=ț<<<Ţ=Ț",
    "&C<č<<<Č<ć<<<Ć &D<đ<<<Đ &S<š<<<Š &Z<ž<<<Ž",
    "&A<ą<<<Ą &C<ć<<<Ć &E<ę<<<Ę &L<ł<<<Ł &N<ń<<<Ń &O<ó<<<Ó &S<ś<<<Ś &Z<ź<<<Ź<ż<<<Ż",
    "&[before 1]T<š<<<Š<z<<<Z<ž<<<Ž &[before 1]X<õ<<<Õ<ä<<<Ä<ö<<<Ö<ü<<<Ü",
    "&N<ñ<<<Ñ",
    "&D<<đ<<<Đ<<ð<<<Ð &t<<<þ/h &T<<<Þ/h &Y<<ü<<<Ü<<ű<<<Ű \
     &[before 1]ǀ<å<<<Å<ä<<<Ä<<æ<<<Æ<<ę<<<Ę<ö<<<Ö<<ø<<<Ø<<ő<<<Ő<<œ<<<Œ<<ô<<<Ô",
    "&C<ç<<<Ç &G<ğ<<<Ğ &[before 1]i<ı<<<I &i<<<İ &O<ö<<<Ö &S<ş<<<Ş &U<ü<<<Ü",
    "&C<č<<<Č &H<ch<<<cH<<<Ch<<<CH &R<ř<<<Ř &S<š<<<Š &Z<ž<<<Ž",
    // Capitals first.
    "&D<<Đ<<<đ<<Ð<<<ð &TH<<<Þ &th<<<þ &Y<<Ü<<<ü<<Ű<<<ű \
     &[before 1]ǀ<Æ<<<æ<<Ä<<<ä<Ø<<<ø<<Ö<<<ö<<Ő<<<ő<<Œ<<<œ<Å<<<AA<<<Aa<<<å<<<aa",
    "&\u{300}=\u{307}\u{300} &\u{301}=\u{307}\u{301} &\u{303}=\u{307}\u{303} &A<<ą<<<Ą &C<č<<<Č &E<<ę<<<Ę<<ė<<<Ė \
     &I<<į<<<Į<<y<<<Y &S<š<<<Š &U<<ų<<<Ų<<ū<<<Ū &Z<ž<<<Ž",
    "&A<ä<<<Ä &C<č<<<Č &H<ch<<<cH<<<Ch<<<CH &O<ô<<<Ô &R<ř<<<Ř &S<š<<<Š &Z<ž<<<Ž",
    "&N<ñ<<<Ñ &C<ch<<<Ch<<<CH &l<ll<<<Ll<<<LL",
    "&I<<j<<<J &V<<u<<<U",
    "&C<ĉ<<<Ĉ &G<ĝ<<<Ĝ &H<ĥ<<<Ĥ &J<ĵ<<<Ĵ &S<ŝ<<<Ŝ &U<ŭ<<<Ŭ",
    "&C<cs<<<Cs<<<CS &D<dz<<<Dz<<<DZ &DZ<dzs<<<Dzs<<<DZS &G<gy<<<Gy<<<GY &L<ly<<<Ly<<<LY &N<ny<<<Ny<<<NY \
     &S<sz<<<Sz<<<SZ &T<ty<<<Ty<<<TY &Z<zs<<<Zs<<<ZS &O<ö<<<Ö<<ő<<<Ő &U<ü<<<Ü<<ű<<<Ű \
     &cs<<<ccs/cs &Cs<<<Ccs/cs &CS<<<CCS/CS &dz<<<ddz/dz &Dz<<<Ddz/dz &DZ<<<DDZ/DZ \
     &dzs<<<ddzs/dzs &Dzs<<<Ddzs/dzs &DZS<<<DDZS/DZS &gy<<<ggy/gy &Gy<<<Ggy/gy &GY<<<GGY/GY \
     &ly<<<lly/ly &Ly<<<Lly/ly &LY<<<LLY/LY &ny<<<nny/ny &Ny<<<Nny/ny &NY<<<NNY/NY \
     &sz<<<ssz/sz &Sz<<<Ssz/sz &SZ<<<SSZ/SZ &ty<<<tty/ty &Ty<<<Tty/ty &TY<<<TTY/TY \
     &zs<<<zzs/zs &Zs<<<Zzs/zs &ZS<<<ZZS/ZS",
    "&C<č<<<Č<ć<<<Ć &D<dž<<<ǆ<<<Dž<<<ǅ<<<DŽ<<<Ǆ<đ<<<Đ &L<lj<<<ǉ<<<Lj<<<ǈ<<<LJ<<<Ǉ &N<nj<<<ǌ<<<Nj<<<ǋ<<<NJ<<<Ǌ \
     &S<š<<<Š &Z<ž<<<Ž",
    "&a<ă<<<Ă<â<<<Â &d<đ<<<Đ &e<ê<<<Ê &o<ô<<<Ô<ơ<<<Ơ &u<ư<<<Ư",
    "&D<<đ<<<Đ<<ð<<<Ð &t<<<þ/h &T<<<Þ/h &Y<<ü<<<Ü<<ű<<<Ű \
     &[before 1]ǀ<æ<<<Æ<<ä<<<Ä<<ę<<<Ę<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<<œ<<<Œ<å<<<Å<<aa<<<Aa<<<AA",
    "",
];

/// Weights before the first of those that placed letters have.
const PRIMARY: u32 = 0x54A4;
const SECONDARY: u32 = 0x114;
const TERTIARY: u32 = 0x1A;

/// A letter, and its elements as the tables hold them (little-endian words).
type Letter = (Box<str>, Vec<u8>);

/// Sorted; what begins alike stands together.
type Letters = Vec<Letter>;

static LETTERS: [LazyLock<Letters>; LANGUAGES] = {
    macro_rules! compiled {
        ($($i:literal)*) => { [$(LazyLock::new(|| compile(RULES[$i]))),*] };
    }
    compiled!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21)
};

/// Elements of a text by the letters so far.
fn elements_of(letters: &Letters, text: &str) -> Vec<Element> {
    let mut rest = text;
    let mut all = Vec::new();
    while let Some(first) = rest.chars().next() {
        let n = match longest(letters, rest.as_bytes()) {
            Some((bytes, n)) => {
                all.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
                n
            }
            None => {
                let own = &rest.as_bytes()[..first.len_utf8()];
                all.extend(Elements::new(Uca::V900, Charset::Utf8mb4, own));
                own.len()
            }
        };
        rest = &rest[n..];
    }
    all
}

fn put(letters: &mut Letters, name: &str, elements: &[Element]) {
    let bytes = elements.iter().flat_map(|e| e.to_le_bytes()).collect();
    match letters.binary_search_by(|l| (*l.0).cmp(name)) {
        Ok(at) => letters[at].1 = bytes,
        Err(at) => letters.insert(at, (name.into(), bytes)),
    }
}

fn compile(rules: &str) -> Letters {
    let mut letters = Vec::new();
    for rule in rules.split('&').map(str::trim_end).filter(|r| !r.is_empty()) {
        place(rule, &mut letters);
    }
    for (c, letter, marks) in COMPOSED {
        let mut name = [0; 4];
        let own = longest(&letters, letter.encode_utf8(&mut name).as_bytes()).is_some();
        // A letter that the rules place themselves stays there.
        if own && !rules.contains(*c) {
            let elements = elements_of(&letters, &format!("{letter}{marks}"));
            put(&mut letters, c.encode_utf8(&mut name), &elements);
        }
    }
    letters
}

/// Places the letters of a rule.
fn place(rule: &str, letters: &mut Letters) {
    let (before, rule) = match rule.strip_prefix("[before 1]") {
        Some(rest) => (1, rest),
        None => (0, rule),
    };
    let start = rule.find(['<', '=']).unwrap_or(rule.len());
    let (base, mut rest) = rule.split_at(start);
    let whole = elements_of(letters, base);
    let primary = |e: &Element| e >> 14;
    let mut plain: Vec<Element> =
        whole.iter().filter(|e| primary(e) != 0).map(|e| element(primary(e), 0x20, 2)).collect();
    if let Some(last) = plain.last_mut() {
        *last -= before << 14;
    }
    let mut place = [0u32; 3];
    while !rest.is_empty() {
        let level = rest.chars().take_while(|c| *c == '<').count();
        rest = rest.trim_start_matches(['<', '=']);
        let end = rest.find(['<', '=']).unwrap_or(rest.len());
        let (letter, behind) = rest.split_at(end);
        rest = behind;
        if let Some(weights) = level.checked_sub(1).and_then(|l| place.get_mut(l..)) {
            weights[0] += 1;
            weights[1..].fill(0);
        }
        let (name, tail) = letter.split_once('/').unwrap_or((letter, ""));
        // Where the rule changes the last level only, the others are those of its beginning.
        let mut elements = if place[..2] == [0, 0] { whole.clone() } else { plain.clone() };
        for (weight, more) in place.iter().zip([
            element(PRIMARY + place[0], 0x20, 2),
            element(0, SECONDARY + place[1], 2),
            element(0, 0, TERTIARY + place[2]),
        ]) {
            elements.extend((*weight > 0).then_some(more));
        }
        elements.extend(elements_of(letters, tail));
        put(letters, name, &elements);
    }
}

/// The longest of the letters with which a text begins: its elements, its bytes.
fn longest<'l>(letters: &'l Letters, text: &[u8]) -> Option<(&'l [u8], usize)> {
    let first = *text.first()?;
    let from = letters.partition_point(|l| l.0.as_bytes()[0] < first);
    let own = letters[from..].iter().take_while(|l| l.0.as_bytes()[0] == first);
    own.filter(|l| text.starts_with(l.0.as_bytes())).last().map(|l| (&l.1[..], l.0.len()))
}

/// The weights that a text has in no language.
fn primaries(text: &str) -> Vec<u16> {
    super::uca::level(Elements::new(Uca::V900, Charset::Utf8mb4, text.as_bytes()), 0).collect()
}

/// Least primary weights of scripts: Latin, Greek, Cyrillic, and what follows.
static SCRIPTS: [u32; 4] = {
    const fn least(c: char) -> u32 {
        Uca::V900.primary_of(c)
    }
    [least('a'), least('α'), least('а'), least('ⰰ')]
};

impl Language900 {
    /// The letter with which a text begins: its elements, its bytes.
    #[inline]
    pub(super) fn letter(self, text: &[u8]) -> Option<(&'static [u8], usize)> {
        longest(&LETTERS[self as usize], text)
    }

    /// An element as the language orders scripts and marks.
    #[inline]
    pub(super) fn ordered(self, e: Element) -> Element {
        let (primary, [latin, greek, cyrillic, others]) = (e >> 14, SCRIPTS);
        let moved = match self {
            Language900::Cyrillic if (cyrillic..others).contains(&primary) => primary - cyrillic + latin,
            Language900::Cyrillic if (latin..cyrillic).contains(&primary) => primary + others - cyrillic,
            Language900::Croatian if (cyrillic..others).contains(&primary) => primary - cyrillic + greek,
            Language900::Croatian if (greek..cyrillic).contains(&primary) => primary + others - cyrillic,
            Language900::Vietnamese => return tone(e),
            Language900::Danish => return capitals_first(e),
            _ => return e,
        };
        moved << 14 | e & 0x3FFF
    }

    /// Proper beginnings of letters of several characters.
    fn beginnings(self) -> impl Iterator<Item = &'static str> {
        let letters: &'static Letters = &LETTERS[self as usize];
        letters.iter().flat_map(|l| l.0.char_indices().skip(1).map(move |(at, _)| &l.0[..at]))
    }

    /// Characters that weigh as much as `c` may begin a letter of several ones.
    pub(super) fn may_begin(self, c: char) -> bool {
        let weight = primaries(c.encode_utf8(&mut [0; 4]));
        self.beginnings().any(|b| b.chars().next().is_some_and(|f| primaries(f.encode_utf8(&mut [0; 4])) == weight))
    }

    /// The weights of what a cut may leave of such letters.
    pub(super) fn first_parts(self) -> Vec<Vec<u16>> {
        let version = Uca::V900For(self);
        let weights = |b: &str| super::uca::level(Elements::new(version, Charset::Utf8mb4, b.as_bytes()), 0).collect();
        let mut parts: Vec<Vec<u16>> = self.beginnings().map(weights).collect();
        parts.sort();
        parts.dedup();
        parts
    }
}

/// Secondary weights of the grave accent, hook, tilde, acute accent and dot below: the tones of Vietnamese, in their
/// order, which stand at the place of the first.
fn tone(e: Element) -> Element {
    static TONES: [u32; 5] = {
        const fn secondary(c: char) -> u32 {
            Uca::V900.secondary_of(c)
        }
        [secondary('\u{300}'), secondary('\u{309}'), secondary('\u{303}'), secondary('\u{301}'), secondary('\u{323}')]
    };
    let secondary = e >> 5 & 0x1FF;
    if secondary <= 0x20 {
        return e;
    }
    let moved = match TONES.iter().position(|t| *t == secondary) {
        Some(n) => TONES[0] + n as u32,
        None if secondary > TONES[0] => secondary + 4,
        None => secondary,
    };
    e & !(0x1FF << 5) | moved << 5
}

/// Tertiary weights of capitals are less than those of small letters.
fn capitals_first(e: Element) -> Element {
    match e & 0x1F {
        8..=0xC => e & !0x1F | 1,
        _ => e,
    }
}
