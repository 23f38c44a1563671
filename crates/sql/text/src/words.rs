//! Tokens of a text.
//!
//! A word is a run of letters, digits, marks that combine with letters, and `_`. All else ends it, a hyphen and an
//! apostrophe too, as with InnoDB. Each token has an ordinal; those that are not indexed (stopwords, too short, too
//! long) have one, too, so that a phrase finds its words side by side.

use crate::definition::{Definition, Tokens};
use gannet_types::Collation;
use gannet_types::charset::Charset;
use std::collections::HashSet;

/// Bytes of a word's key, at most; a longer one is not indexed. A key of the tree holds it and the row's key.
pub(crate) const MAX_KEY: usize = 600;

/// A definition, ready to use.
#[derive(Debug)]
pub struct Analyzer {
    pub(crate) tokens: Tokens,
    pub(crate) collation: &'static Collation,
    charset: Charset,
    /// Keys of stopwords.
    stopwords: HashSet<Box<[u8]>>,
    /// Ngrams: the stopwords themselves, folded; a token that contains one is left out.
    inside: Vec<Box<[u8]>>,
}

/// A token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// As it stands there.
    pub text: &'t [u8],
    /// Byte offset.
    pub at: usize,
    /// Characters.
    pub chars: usize,
}

impl Analyzer {
    /// Prepares a definition.
    pub fn new(definition: &Definition) -> Analyzer {
        let collation = definition.collation.get();
        let charset = definition.collation.charset();
        let mut made =
            Analyzer { tokens: definition.tokens, collation, charset, stopwords: HashSet::new(), inside: Vec::new() };
        for word in definition.stopwords() {
            let word = Charset::Utf8mb4.convert(word.as_bytes(), charset).bytes.into_owned();
            if let Tokens::Ngrams { .. } = definition.tokens {
                made.inside.push(made.folded(&word).into());
            }
            made.stopwords.insert(made.key(&word).into());
        }
        made
    }

    /// Of the texts.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// The key by which words are equal. It delimits itself.
    pub fn key(&self, word: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(word.len() * 2 + 4);
        self.collation.key(word, &mut key);
        key
    }

    /// What the keys of words begin with that begin with `start`.
    pub(crate) fn stem(&self, start: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(start.len() * 2);
        self.collation.stem_key(start, &mut key);
        key
    }

    /// The word begins with `start`, by the collation.
    pub(crate) fn begins_with(&self, word: &[u8], start: &[u8]) -> bool {
        let n = self.charset.char_count(start);
        self.collation.equal(&word[..self.charset.prefix_len(word, n)], start)
    }

    /// The word as InnoDB keeps it: in lower case, unless case tells words apart.
    pub fn folded(&self, word: &[u8]) -> Vec<u8> {
        if self.collation.is_bin() {
            return word.to_vec();
        }
        let mut out = Vec::with_capacity(word.len());
        gannet_types::collation::to_lower(self.collation, word, &mut out);
        out
    }

    pub(crate) fn is_short(&self, token: &Token<'_>) -> bool {
        matches!(self.tokens, Tokens::Words { min, .. } if token.chars < min.into())
    }

    pub(crate) fn is_long(&self, token: &Token<'_>) -> bool {
        matches!(self.tokens, Tokens::Words { max, .. } if token.chars > max.into())
    }

    /// Its key, if the token is indexed.
    pub fn indexed(&self, token: &Token<'_>) -> Option<Vec<u8>> {
        match self.tokens {
            Tokens::Words { .. } if self.is_short(token) || self.is_long(token) => return None,
            Tokens::Words { .. } => {}
            Tokens::Ngrams { .. } if self.inside.is_empty() => {}
            Tokens::Ngrams { .. } => {
                let folded = self.folded(token.text);
                let within = |stop: &[u8]| !stop.is_empty() && folded.windows(stop.len()).any(|w| w == stop);
                if self.inside.iter().any(|stop| within(stop)) {
                    return None;
                }
            }
        }
        let key = self.key(token.text);
        (key.len() <= MAX_KEY && !self.stopwords.contains(&*key)).then_some(key)
    }

    /// The key of a word by itself, if it is indexed.
    pub(crate) fn keyed(&self, word: &[u8]) -> Option<Vec<u8>> {
        self.indexed(&Token { text: word, at: 0, chars: self.charset.char_count(word) })
    }

    /// The tokens of a text in order.
    pub fn tokens<'t>(&self, text: &'t [u8], each: &mut dyn FnMut(Token<'t>)) {
        match self.tokens {
            Tokens::Words { .. } => self.words(text, each),
            Tokens::Ngrams { size } => self.ngrams(text, usize::from(size), each),
        }
    }

    /// Words, whatever the index is made of.
    pub(crate) fn words<'t>(&self, text: &'t [u8], each: &mut dyn FnMut(Token<'t>)) {
        let (mut at, mut start, mut chars) = (0, 0, 0);
        let plain = !self.charset.is_wide();
        while let Some(first) = text.get(at) {
            if plain && *first < 0x80 {
                // Mostly such letters follow each other, as long as a word is.
                let run = text[at..].iter().take_while(|b| PLAIN_LETTERS[usize::from(**b)]).count();
                (at, chars) = (at + run, chars + run);
                if run > 0 {
                    continue;
                }
            }
            let (inside, n) = match first {
                b if plain && *b < 0x80 => (false, 1),
                _ => self.charset.decode(&text[at..]).map_or((false, 1), |(c, n)| (is_letter(c), n)),
            };
            if inside {
                chars += 1;
            } else {
                if chars > 0 {
                    each(Token { text: &text[start..at], at: start, chars });
                }
                (start, chars) = (at + n, 0);
            }
            at += n;
        }
        if chars > 0 {
            each(Token { text: &text[start..], at: start, chars });
        }
    }

    fn ngrams<'t>(&self, text: &'t [u8], size: usize, each: &mut dyn FnMut(Token<'t>)) {
        // Where the last characters without a blank between them begin.
        let mut starts: Vec<usize> = Vec::with_capacity(size + 1);
        let mut at = 0;
        while at < text.len() {
            let (c, n) = self.charset.decode(&text[at..]).unwrap_or((' ', 1));
            if c.is_whitespace() || c == '\0' {
                starts.clear();
                at += n;
                continue;
            }
            starts.push(at);
            at += n;
            if starts.len() == size {
                let from = starts.remove(0);
                each(Token { text: &text[from..at.min(text.len())], at: from, chars: size });
            }
        }
    }
}

const fn is_plain_letter(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Bytes that are letters by themselves, in character sets whose first half is ASCII.
static PLAIN_LETTERS: [bool; 256] = {
    let mut letters = [false; 256];
    let mut b = 0;
    while b < 0x80 {
        letters[b] = is_plain_letter(b as u8);
        b += 1;
    }
    letters
};

/// Letters, numbers, and the marks that stand on letters (MySQL's tables count them as letters).
pub(crate) fn is_letter(c: char) -> bool {
    // Marks without the property "alphabetic", which those that are vowels have.
    const MARKS: [(u32, u32); 38] = [
        (0x300, 0x36F),
        (0x483, 0x489),
        (0x591, 0x5C7),
        (0x610, 0x61A),
        (0x64B, 0x65F),
        (0x6D6, 0x6DC),
        (0x6DF, 0x6E4),
        (0x6EA, 0x6ED),
        (0x730, 0x74A),
        (0x7EB, 0x7F3),
        (0x816, 0x82D),
        (0x8E3, 0x8FF),
        (0x93C, 0x93C),
        (0x94D, 0x954),
        (0x9BC, 0x9BC),
        (0x9CD, 0x9CD),
        (0xA3C, 0xA3C),
        (0xA4D, 0xA4D),
        (0xABC, 0xABC),
        (0xACD, 0xACD),
        (0xB3C, 0xB3C),
        (0xB4D, 0xB4D),
        (0xBCD, 0xBCD),
        (0xC4D, 0xC4D),
        (0xCBC, 0xCBC),
        (0xCCD, 0xCCD),
        (0xD4D, 0xD4D),
        (0xDCA, 0xDCA),
        (0xE38, 0xE3A),
        (0xE47, 0xE4E),
        (0xEC8, 0xECD),
        (0x1037, 0x1037),
        (0x1039, 0x103A),
        (0x17C6, 0x17D3),
        (0x1DC0, 0x1DFF),
        (0x20D0, 0x20F0),
        (0x3099, 0x309A),
        (0xFE20, 0xFE2F),
    ];
    if c.is_ascii() {
        return is_plain_letter(c as u8);
    }
    let code = c as u32;
    c.is_alphanumeric() || MARKS.iter().any(|(from, to)| (*from..=*to).contains(&code))
}
