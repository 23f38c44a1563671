//! Rows taken apart into words.
//!
//! The words of a language come again and again, and a word's key is dear: a [`Splitter`] knows the words that it has
//! met, in whatever row, by their texts. It works in buffers that it keeps.

use crate::posting::{self, GAP};
use crate::words::{Analyzer, Token};
use std::hash::BuildHasher;
use std::ops::Range;

/// The word of a text that is not indexed.
const NOT_INDEXED: u32 = u32::MAX;

/// Bytes of the longest text that may be indexed: its characters are counted in a byte.
const LONGEST: usize = 255 * 4;

/// Takes rows of one index apart.
#[derive(Debug, Default)]
pub struct Splitter {
    hasher: foldhash::fast::RandomState,
    /// Texts as they stand in rows.
    by_text: Numbers,
    texts: Vec<Text>,
    /// Words by their keys.
    by_key: Numbers,
    words: Vec<Word>,
    /// Keys of words, texts, folded texts.
    bytes: Vec<u8>,
    /// Rows so far.
    rows: u64,
    /// Tokens of this row that are indexed: a place in `found`, and an ordinal.
    tokens: Vec<(u32, u64)>,
    found: Vec<Place>,
    ordinals: Vec<u64>,
}

/// A text. All of it that is of use each time lies close together: there are more texts than a cache holds.
#[derive(Debug)]
struct Text {
    at: usize,
    len: u16,
    /// Folded it follows; 0: that is the text itself, as mostly.
    folded_len: u16,
    word: u32,
    /// The number of the text by which its word was met first: that one tells of the word's last row, and of its place
    /// in `found` then.
    first: u32,
    place: u32,
    row: u64,
}

/// A word that some row has: where its key lies, and its first text.
#[derive(Debug)]
struct Word {
    key: Range<usize>,
    first: u32,
}

/// Numbers of things by their hashes.
#[derive(Debug, Default)]
struct Numbers {
    /// The hash, below it a number and 1; 0: free. A power of two of them, at most half of them in use.
    slots: Vec<u64>,
    used: usize,
}

impl Numbers {
    /// The number of the thing with this hash for which `is` holds.
    #[inline]
    fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots.get(at).filter(|slot| **slot != 0) {
            let number = *slot as u32 - 1;
            if (slot >> 32) as u32 == hash && is(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    fn add(&mut self, hash: u32, number: u32) {
        if self.used * 2 >= self.slots.len() {
            let more = vec![0; (self.slots.len() * 2).max(64)];
            let old = std::mem::replace(&mut self.slots, more);
            old.into_iter().filter(|slot| *slot != 0).for_each(|slot| self.put(slot));
        }
        self.put(u64::from(hash) << 32 | u64::from(number + 1));
        self.used += 1;
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = (slot >> 32) as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.used = 0;
    }
}

/// A word of this row.
#[derive(Clone, Debug)]
struct Place {
    word: u32,
    text: u32,
    times: u32,
    /// Where its ordinals end.
    end: usize,
}

/// A word of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'s> {
    /// Its number: of words in the order in which the splitter has met them.
    pub word: u32,
    /// Its key.
    pub key: &'s [u8],
    /// As it stands in the row first, [folded](Analyzer::folded).
    pub text: &'s [u8],
    /// How often.
    pub times: u32,
    /// Ordinals, ascending.
    pub at: &'s [u64],
}

impl Found<'_> {
    /// Appends what an entry carries.
    pub fn carried(&self, out: &mut Vec<u8>) {
        posting::write(self.times, self.text, self.at, out);
    }
}

impl Splitter {
    /// Takes a row's columns apart; NULL has no words.
    pub fn split<'t>(&mut self, analyzer: &Analyzer, columns: impl Iterator<Item = Option<&'t [u8]>>) {
        self.split_those(analyzer, columns, |_| true);
    }

    /// Takes a row's columns apart, but for tokens that are not wanted: they count as words in between.
    pub(crate) fn split_those<'t>(
        &mut self,
        analyzer: &Analyzer,
        columns: impl Iterator<Item = Option<&'t [u8]>>,
        mut wanted: impl FnMut(&Token<'t>) -> bool,
    ) {
        self.rows += 1;
        self.tokens.clear();
        self.found.clear();
        let mut ordinal = 0;
        for text in columns {
            analyzer.tokens(text.unwrap_or_default(), &mut |token: Token<'t>| {
                if wanted(&token)
                    && let Some(place) = self.place(analyzer, &token)
                {
                    self.tokens.push((place, ordinal));
                }
                ordinal += 1;
            });
            ordinal += GAP;
        }
        // Each word's ordinals side by side.
        let mut start = 0;
        for place in &mut self.found {
            place.end = start;
            start += place.times as usize;
        }
        self.ordinals.clear();
        self.ordinals.resize(start, 0);
        for (place, ordinal) in &self.tokens {
            let place = &mut self.found[*place as usize];
            self.ordinals[place.end] = *ordinal;
            place.end += 1;
        }
    }

    /// The place of a token's word in `found`, where it is counted.
    fn place(&mut self, analyzer: &Analyzer, token: &Token<'_>) -> Option<u32> {
        if token.text.len() > LONGEST {
            return None;
        }
        let hash = self.hasher.hash_one(token.text) as u32;
        let number = match self.by_text.find(hash, |n| self.text(n) == token.text) {
            Some(number) => number,
            None => self.learn(analyzer, token, hash),
        };
        let Text { word, first, .. } = self.texts[number as usize];
        if word == NOT_INDEXED {
            return None;
        }
        let known = &mut self.texts[first as usize];
        if known.row != self.rows {
            (known.row, known.place) = (self.rows, self.found.len() as u32);
            self.found.push(Place { word, text: number, times: 0, end: 0 });
        }
        self.found[known.place as usize].times += 1;
        Some(known.place)
    }

    /// The number of a text that is met for the first time.
    fn learn(&mut self, analyzer: &Analyzer, token: &Token<'_>, hash: u32) -> u32 {
        let number = self.texts.len() as u32;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(token.text);
        let len = token.text.len() as u16;
        let (word, first) = (NOT_INDEXED, number);
        let mut text = Text { at, len, folded_len: 0, word, first, place: 0, row: 0 };
        if let Some(key) = analyzer.indexed(token) {
            let folded = analyzer.folded(token.text);
            if folded != token.text {
                text.folded_len = folded.len() as u16;
                self.bytes.extend_from_slice(&folded);
            }
            let hash = self.hasher.hash_one(&*key) as u32;
            text.word = match self.by_key.find(hash, |n| self.key(n) == key) {
                Some(word) => word,
                None => {
                    let (word, at) = (self.words.len() as u32, self.bytes.len());
                    self.bytes.extend_from_slice(&key);
                    self.words.push(Word { key: at..at + key.len(), first: number });
                    self.by_key.add(hash, word);
                    word
                }
            };
            text.first = self.words[text.word as usize].first;
        }
        self.texts.push(text);
        self.by_text.add(hash, number);
        number
    }

    #[inline]
    fn text(&self, number: u32) -> &[u8] {
        let text = &self.texts[number as usize];
        &self.bytes[text.at..][..text.len.into()]
    }

    #[inline]
    fn folded(&self, number: u32) -> &[u8] {
        let text = &self.texts[number as usize];
        match text.folded_len {
            0 => self.text(number),
            len => &self.bytes[text.at + usize::from(text.len)..][..len.into()],
        }
    }

    /// The words of the row, in the order in which they stand in it first.
    pub fn found(&self) -> impl Iterator<Item = Found<'_>> {
        self.found.iter().map(|place| Found {
            word: place.word,
            key: self.key(place.word),
            text: self.folded(place.text),
            times: place.times,
            at: &self.ordinals[place.end - place.times as usize..place.end],
        })
    }

    /// From now on the words of the row are in the order of their keys.
    pub fn sort(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable_by_key(|place| self.key(place.word));
        self.found = found;
    }

    /// Words met so far.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// A word's key.
    pub fn key(&self, word: u32) -> &[u8] {
        &self.bytes[self.words[word as usize].key.clone()]
    }

    /// Bytes of memory that the words take, about.
    pub fn size(&self) -> usize {
        let slots = (self.by_text.slots.len() + self.by_key.slots.len()) * size_of::<u64>();
        slots + self.texts.len() * size_of::<Text>() + self.words.len() * size_of::<Word>() + self.bytes.len()
    }

    /// Forgets all words. The memory is kept.
    pub fn clear(&mut self) {
        self.by_text.clear();
        self.by_key.clear();
        self.texts.clear();
        self.words.clear();
        self.bytes.clear();
        self.found.clear();
    }
}
