//! Languages' changes to the table of UCA 4.0.0: the `_unicode_` collations' siblings (`_swedish_ci`, `_esperanto_ci`,
//! ...).
//!
//! A rule places characters, or pairs of them that sort as one letter, after others: at the primary weights of `base`,
//! the last of them raised by `plus`. MySQL numbers a language's letters in the same way, so a letter may share its
//! weight with a rare character of another script that stands at that place in the table.

use super::uca::{Element, Elements, Uca, element};
use crate::charset::Charset;
use std::sync::LazyLock;

/// A language with letters of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
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
    GermanPhonebook,
    Croatian,
    Vietnamese,
    Persian,
    Sinhala,
}

const LANGUAGES: usize = Language::Sinhala as usize + 1;

/// Base, what is added to its last weight, letters divided by spaces. Without base: the first letter's weight, and
/// letters of which each weighs one more than the one before.
type Rule = (&'static str, u32, &'static str);

/// By [`Language`].
static RULES: [&[Rule]; LANGUAGES] = [
    &[
        ("a", 1, "á Á"),
        ("d", 1, "ð Ð"),
        ("e", 1, "é É"),
        ("i", 1, "í Í"),
        ("o", 1, "ó Ó"),
        ("u", 1, "ú Ú"),
        ("y", 1, "ý Ý"),
        ("z", 1, "þ Þ"),
        ("z", 2, "ä Ä æ Æ"),
        ("z", 3, "ö Ö ø Ø"),
        ("z", 4, "å Å"),
    ],
    &[
        ("c", 1, "č Č"),
        ("g", 1, "ģ Ģ"),
        ("i", 1, "y Y"),
        ("k", 1, "ķ Ķ"),
        ("l", 1, "ļ Ļ"),
        ("n", 1, "ņ Ņ"),
        ("r", 1, "ŗ Ŗ"),
        ("s", 1, "š Š"),
        ("z", 1, "ž Ž"),
    ],
    &[("a", 1, "ă Ă"), ("a", 2, "â Â"), ("i", 1, "î Î"), ("s", 1, "ş Ş ș Ș"), ("t", 1, "ţ Ţ ț Ț")],
    &[("c", 1, "č Č"), ("s", 1, "š Š"), ("z", 1, "ž Ž")],
    &[
        ("a", 1, "ą Ą"),
        ("c", 1, "ć Ć"),
        ("e", 1, "ę Ę"),
        ("l", 1, "ł Ł"),
        ("n", 1, "ń Ń"),
        ("o", 1, "ó Ó"),
        ("s", 1, "ś Ś"),
        ("z", 1, "ź Ź"),
        ("z", 2, "ż Ż"),
    ],
    &[
        ("s", 1, "š Š"),
        ("s", 2, "z Z"),
        ("s", 3, "ž Ž"),
        ("w", 1, "õ Õ"),
        ("w", 2, "ä Ä"),
        ("w", 3, "ö Ö"),
        ("w", 4, "ü Ü"),
    ],
    &[("n", 1, "ñ Ñ")],
    &[("y", 0, "ü Ü"), ("z", 1, "å Å"), ("z", 2, "ä Ä æ Æ"), ("z", 3, "ö Ö ø Ø")],
    &[("c", 1, "ç Ç"), ("g", 1, "ğ Ğ"), ("h", 1, "ı I"), ("o", 1, "ö Ö"), ("s", 1, "ş Ş"), ("u", 1, "ü Ü")],
    &[("c", 1, "č Č"), ("h", 1, "ch Ch CH"), ("r", 1, "ř Ř"), ("s", 1, "š Š"), ("z", 1, "ž Ž")],
    &[("y", 0, "ü Ü ű Ű"), ("z", 1, "ä Ä æ Æ"), ("z", 2, "ö Ö ø Ø ő Ő"), ("z", 3, "å Å aa Aa AA")],
    &[("c", 0, "ch Ch CH"), ("c", 1, "č Č"), ("i", 0, "y Y"), ("s", 1, "š Š"), ("z", 1, "ž Ž")],
    &[("a", 1, "ä Ä"), ("c", 1, "č Č"), ("h", 1, "ch Ch CH"), ("o", 1, "ô Ô"), ("s", 1, "š Š"), ("z", 1, "ž Ž")],
    &[("c", 1, "ch Ch CH"), ("l", 1, "ll Ll LL"), ("n", 1, "ñ Ñ")],
    &[("i", 0, "j J"), ("v", 0, "u U")],
    &[("c", 1, "ĉ Ĉ"), ("g", 1, "ĝ Ĝ"), ("h", 1, "ĥ Ĥ"), ("j", 1, "ĵ Ĵ"), ("s", 1, "ŝ Ŝ"), ("u", 1, "ŭ Ŭ")],
    &[("o", 1, "ö Ö ő Ő"), ("u", 1, "ü Ü ű Ű")],
    &[("ae", 0, "ä Ä æ Æ"), ("oe", 0, "ö Ö œ Œ"), ("ue", 0, "ü Ü")],
    &[
        ("c", 1, "č Č"),
        ("c", 2, "ć Ć"),
        ("d", 1, "ǆ ǅ Ǆ dž Dž DŽ"),
        ("d", 2, "đ Đ"),
        ("l", 1, "ǉ ǈ Ǉ lj Lj LJ"),
        ("n", 1, "ǌ ǋ Ǌ nj Nj NJ"),
        ("s", 1, "š Š"),
        ("z", 1, "ž Ž"),
    ],
    &[
        ("a", 1, "ă Ă ắ Ắ ằ Ằ ẳ Ẳ ẵ Ẵ ặ Ặ"),
        ("a", 2, "â Â ấ Ấ ầ Ầ ẩ Ẩ ẫ Ẫ ậ Ậ"),
        ("d", 1, "đ Đ"),
        ("e", 1, "ê Ê ế Ế ề Ề ể Ể ễ Ễ ệ Ệ"),
        ("o", 1, "ô Ô ố Ố ồ Ồ ổ Ổ ỗ Ỗ ộ Ộ"),
        ("o", 2, "ơ Ơ ớ Ớ ờ Ờ ở Ở ỡ Ỡ ợ Ợ"),
        ("u", 1, "ư Ư ứ Ứ ừ Ừ ử Ử ữ Ữ ự Ự"),
    ],
    &[
        ("", 0x1, "\u{653}\u{654}\u{655}\u{670}"),
        (
            "",
            0x2CC,
            "\u{64E}\u{FE76}\u{FE77}\u{650}\u{FE7A}\u{FE7B}\u{64F}\u{FE78}\u{FE79}\u{64B}\u{FE70}\u{FE71}\
             \u{64D}\u{FE74}\u{64C}\u{FE72}",
        ),
        ("", 0xE33, "\u{622}\u{627}\u{671}\u{621}\u{623}\u{625}\u{624}\u{626}"),
        (
            "",
            0x1349,
            "\u{FE82}\u{FE8D}\u{FE8E}\u{FB50}\u{FB51}\u{FE80}\u{FE83}\u{FE84}\u{FE87}\u{FE88}\u{FE85}\u{FE86}\
             \u{689}\u{68A}",
        ),
        ("", 0x1376, "\u{FDFC}"),
        ("", 0x139C, "\u{6A9}\u{643}"),
        ("", 0x139C, "\u{FB8E}\u{FB8F}\u{FB90}"),
        ("", 0x13A0, "\u{FED9}\u{FEDA}\u{FEDB}\u{FEDC}"),
        ("", 0x13BE, "\u{647}\u{629}\u{6C0}\u{6CC}\u{649}\u{64A}"),
        ("", 0x13BE, "\u{FEE9}\u{FEEA}\u{FEEB}\u{FEEC}\u{FE93}\u{FE94}\u{FBA4}\u{FBA5}\u{FBFC}\u{FBFD}\u{FBFE}"),
        (
            "",
            0x13CA,
            "\u{FEEF}\u{FEF0}\u{FEF1}\u{FEF2}\u{FEF3}\u{FEF4}\u{FEF5}\u{FEF6}\u{FEF7}\u{FEF8}\u{FEF9}\u{FEFA}\
             \u{FEFB}\u{FEFC}",
        ),
    ],
    &[(
        "",
        0x17A9,
        "\u{D82}\u{D83}\u{D9A}\u{D9B}\u{D9C}\u{D9D}\u{D9E}\u{D9F}\u{DA0}\u{DA1}\u{DA2}\u{DA3}\u{DA5}\u{DA4}\
             \u{DA6}\u{DA7}\u{DA8}\u{DA9}\u{DAA}\u{DAB}\u{DAC}\u{DAD}\u{DAE}\u{DAF}\u{DB0}\u{DB1}\u{DB3}\u{DB4}\
             \u{DB5}\u{DB6}\u{DB7}\u{DB8}\u{DB9}\u{DBA}\u{DBB}\u{DBD}\u{DC0}\u{DC1}\u{DC2}\u{DC3}\u{DC4}\u{DC5}\
             \u{DC6}\u{DCF}\u{DD0}\u{DD1}\u{DD2}\u{DD3}\u{DD4}\u{DD6}\u{DD8}\u{DF2}\u{DDF}\u{DF3}\u{DD9}\u{DDA}\
             \u{DDB}\u{DDC}\u{DDD}\u{DDE}\u{DCA}",
    )],
];

/// A letter: its character, the second one of a pair, its elements as the tables hold them (little-endian words).
type Letter = (char, Option<char>, Vec<u8>);

/// Sorted by characters, so that a pair stands beside its first character.
static LETTERS: [LazyLock<Vec<Letter>>; LANGUAGES] = {
    macro_rules! compiled {
        ($($i:literal)*) => { [$(LazyLock::new(|| compile(RULES[$i]))),*] };
    }
    compiled!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21)
};

fn compile(rules: &[Rule]) -> Vec<Letter> {
    let mut letters = Vec::new();
    for (base, plus, names) in rules {
        if base.is_empty() {
            let weights = (*plus..).map(|weight| element(weight, 0x20, 2).to_le_bytes().to_vec());
            letters.extend(names.chars().zip(weights).map(|(letter, weight)| (letter, None, weight)));
            continue;
        }
        let mut elements: Vec<Element> = Elements::new(Uca::V400, Charset::Utf8mb4, base.as_bytes()).collect();
        if let Some(last) = elements.last_mut() {
            *last += plus << 14;
        }
        let bytes: Vec<u8> = elements.iter().flat_map(|e| e.to_le_bytes()).collect();
        for name in names.split(' ') {
            let mut chars = name.chars();
            if let Some(first) = chars.next() {
                letters.push((first, chars.next(), bytes.clone()));
            }
        }
    }
    letters.sort();
    letters
}

/// The weights that a character has in no language.
fn primaries(c: char) -> Vec<u16> {
    let mut bytes = [0; 4];
    let text = c.encode_utf8(&mut bytes).as_bytes();
    super::uca::level(Elements::new(Uca::V400, Charset::Utf8mb4, text), 0).collect()
}

impl Language {
    /// Characters that weigh as much as `c` and the one behind it may be one letter together; `None`: with some
    /// character.
    pub(super) fn may_be_pair(self, c: char, next: Option<char>) -> bool {
        let (first, second) = (primaries(c), next.map(primaries));
        LETTERS[self as usize].iter().any(|l| {
            l.1.is_some_and(|two| primaries(l.0) == first && second.as_ref().is_none_or(|s| *s == primaries(two)))
        })
    }

    /// The weights of the characters with which letters of two characters begin.
    pub(super) fn first_halves(self) -> Vec<Vec<u16>> {
        let mut halves: Vec<_> =
            LETTERS[self as usize].iter().filter(|l| l.1.is_some()).map(|l| primaries(l.0)).collect();
        halves.sort();
        halves.dedup();
        halves
    }

    /// The letter that begins with `c`, before `next`: its elements, and whether `next` belongs to it.
    pub(super) fn letter(self, c: char, next: impl FnOnce() -> Option<char>) -> Option<(&'static [u8], bool)> {
        let letters: &'static [Letter] = &LETTERS[self as usize];
        let from = letters.partition_point(|l| l.0 < c);
        let own = &letters[from..];
        let own = &own[..own.iter().take_while(|l| l.0 == c).count()];
        let last = own.last()?;
        if last.1.is_some()
            && let Some(next) = next()
            && let Some(pair) = own.iter().find(|l| l.1 == Some(next))
        {
            return Some((&pair.2, true));
        }
        own.first().filter(|l| l.1.is_none()).map(|l| (&l.2[..], false))
    }
}
