//! Collations in which a text's weights are not those of its characters one after the other: Thai moves vowels and
//! marks, Czech weighs a text several times.

use super::czech_data::{CP1250, LATIN2};

/// Orders of whole texts. All weights are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// `tis620_thai_ci`.
    Thai,
    /// `latin2_czech_cs`: each word by its letters, then by their marks, and so the next word; then the whole text by
    /// letters that are capitals; then with what counted for nothing before.
    Czech,
    /// `cp1250_czech_cs`: the whole text by letters, then by capitals.
    CzechWindows,
}

impl Whole {
    /// The weights of a text. Those of Czech end with a weight that no other has, so that no text's begin another's.
    pub(super) fn weights(self, text: &[u8]) -> Vec<u8> {
        match self {
            Whole::Thai => thai(text),
            Whole::Czech => czech(text),
            Whole::CzechWindows => {
                let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
                let mut out = windows(&text[..end]);
                out.push(0);
                out
            }
        }
    }

    /// Appends what WEIGHT_STRING shows.
    pub(super) fn put_shown(self, text: &[u8], out: &mut Vec<u8>) {
        out.append(&mut if self == Whole::CzechWindows { windows(text) } else { self.weights(text) });
    }

    /// Weights with which those of all texts begin that begin with `text`.
    pub(super) fn stem(self, text: &[u8]) -> Vec<u8> {
        match self {
            Whole::Thai => {
                let plain = text.iter().take_while(|b| b.is_ascii() || is_consonant(**b));
                plain.map(u8::to_ascii_lowercase).collect()
            }
            // A `c` may be half of a letter, and spaces at the end of a text are none.
            Whole::Czech | Whole::CzechWindows => {
                let table = if self == Whole::Czech { &LATIN2[0] } else { &CP1250[0] };
                let plain = text.iter().take_while(|b| !matches!(b, b'c' | b'C' | b' ' | b'\t'));
                plain.map(|b| table[usize::from(*b)]).filter(|w| *w != 0).collect()
            }
        }
    }

    /// Are two characters the same to LIKE?
    pub(super) fn alike(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self == Whole::Thai && a.eq_ignore_ascii_case(b)
    }
}

fn is_consonant(byte: u8) -> bool {
    (0xA1..=0xCE).contains(&byte)
}

/// Consonants change places with the vowels written before them; the last of the marks above letters is moved to the
/// end, where it weighs the more the fewer letters are before it. MySQL lets the last character stand there for each
/// further mark.
fn thai(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut marks, mut mark, mut bias) = (0, 0, 248u8);
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let rank = match byte {
            0xEC => 1,
            0xE7 => 2,
            0xE8..=0xEB => byte - 0xE5,
            _ => 0,
        };
        if rank > 0 {
            marks += 1;
            mark = bias.wrapping_add(rank);
            continue;
        }
        if byte.is_ascii() || is_consonant(byte) {
            bias = bias.wrapping_sub(8);
        }
        if let 0xE0..=0xE4 = byte
            && let Some(consonant) = rest.next_if(|next| is_consonant(*next))
        {
            out.push(consonant);
        }
        out.push(byte.to_ascii_lowercase());
    }
    if let (1.., Some(last)) = (marks, text.last()) {
        out.resize(text.len() - 1, *last);
        out.push(mark);
    }
    out
}

/// A letter of Czech: a byte, or `ch` with the number of its capitals.
#[derive(Clone, Copy)]
enum Letter {
    Byte(u8),
    Ch(u8),
}

impl Letter {
    fn of_latin2(self, level: usize) -> u8 {
        match self {
            Letter::Byte(b) => LATIN2[level][usize::from(b)],
            Letter::Ch(capitals) => [0x0C, 0x19, 0x2F + capitals, 0x2F + capitals][level],
        }
    }

    fn of_windows(self, level: usize) -> u8 {
        match self {
            Letter::Byte(b) => CP1250[level][usize::from(b)],
            Letter::Ch(capitals) => [0xAD, 3 - capitals][level],
        }
    }
}

fn letters(text: &[u8]) -> impl Iterator<Item = Letter> + use<'_> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (letter, n) = match rest {
            [b'c', b'h', ..] => (Letter::Ch(0), 2),
            [b'C', b'h', ..] => (Letter::Ch(1), 2),
            [b'C', b'H', ..] => (Letter::Ch(2), 2),
            [b, ..] => (Letter::Byte(*b), 1),
            [] => return None,
        };
        rest = &rest[n..];
        Some(letter)
    })
}

fn windows(text: &[u8]) -> Vec<u8> {
    (0..2).flat_map(|level| letters(text).map(move |letter| letter.of_windows(level))).collect()
}

/// Ends a level.
const LEVEL: u8 = 1;
/// Between words.
const GAP: u8 = 2;

fn czech(text: &[u8]) -> Vec<u8> {
    let is_gap = |b: &u8| matches!(b, b' ' | b'\t');
    let end = text.iter().rposition(|b| !is_gap(b)).map_or(0, |i| i + 1);
    let text = &text[..end];
    let mut out = Vec::with_capacity(text.len() * 4 + 4);
    let put = |out: &mut Vec<u8>, text: &[u8], level: usize| {
        out.extend(letters(text).map(|letter| letter.of_latin2(level)).filter(|w| *w != 0));
    };
    // Several spaces are one, at first.
    let mut rest = text;
    let mut third = Vec::with_capacity(text.len() + 1);
    loop {
        let n = rest.iter().position(is_gap);
        let word = &rest[..n.unwrap_or(rest.len())];
        let mark = if n.is_some() { GAP } else { LEVEL };
        for level in 0..2 {
            put(&mut out, word, level);
            out.push(mark);
        }
        put(&mut third, word, 2);
        third.push(mark);
        rest = &rest[word.len()..];
        let Some(next) = rest.iter().position(|b| !is_gap(b)) else { break };
        rest = &rest[next..];
    }
    out.append(&mut third);
    put(&mut out, text, 3);
    out.push(0);
    out
}
