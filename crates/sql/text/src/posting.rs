//! What an index keeps of a word of a row.
//!
//! ```text
//! key       the word's key (self-delimiting), then the row's key
//! carried   varint  times the word is in the row
//!           varint  bytes of the word, and the word as InnoDB keeps it (lower case), in the column's character set
//!           varint  distances of its ordinals, the first one from 0; those that begin in 512 bytes
//! ```
//!
//! Ordinals count all tokens of a row; between two columns [`GAP`] of them are left out, so that no phrase crosses.
//! Their low 32 bits count on: words of two columns may be near each other.

use crate::words::{Analyzer, Token};
use gannet_base::{DecodeError, Reader, Writer};
use std::collections::HashMap;

/// Ordinals between the last token of a column and the first one of the next.
pub(crate) const GAP: u64 = 1 << 32;

/// Bytes of ordinals that are kept.
const ROOM: usize = 512;

/// Bytes of a word's text, at most.
const MAX_TEXT: usize = 1 << 12;

/// A word of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its key.
    pub key: Vec<u8>,
    /// As it stands in the row first.
    pub text: Vec<u8>,
    /// How often.
    pub times: u32,
    /// Ordinals, ascending.
    pub at: Vec<u64>,
}

/// The indexed words of a row's columns, by their keys; NULL has none.
pub fn postings<'t>(analyzer: &Analyzer, columns: impl Iterator<Item = Option<&'t [u8]>>) -> Vec<Word> {
    // The words of the texts met so far: most texts come again, and their keys are dear.
    let mut by_text: HashMap<&[u8], Option<usize>, foldhash::fast::RandomState> = HashMap::default();
    let mut by_key: HashMap<Vec<u8>, usize, foldhash::fast::RandomState> = HashMap::default();
    let mut words: Vec<Word> = Vec::new();
    let mut ordinal = 0;
    for text in columns {
        analyzer.tokens(text.unwrap_or_default(), &mut |token: Token<'t>| {
            let at = ordinal;
            ordinal += 1;
            let known = by_text.entry(token.text).or_insert_with(|| {
                let key = analyzer.indexed(&token)?;
                let place = *by_key.entry(key).or_insert(words.len());
                if place == words.len() {
                    words.push(Word { key: Vec::new(), text: token.text.to_vec(), times: 0, at: Vec::new() });
                }
                Some(place)
            });
            let Some(place) = *known else { return };
            words[place].times = words[place].times.saturating_add(1);
            words[place].at.push(at);
        });
        ordinal += GAP;
    }
    for (key, place) in by_key {
        words[place].key = key;
    }
    words.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    words
}

impl Word {
    /// Appends what an entry carries.
    pub fn carried(&self, analyzer: &Analyzer, out: &mut Vec<u8>) {
        let text = analyzer.folded(&self.text);
        Writer::new(out).varint(u64::from(self.times)).prefixed(&text);
        let (start, mut before) = (out.len(), 0);
        for at in &self.at {
            if out.len() - start >= ROOM {
                break;
            }
            Writer::new(out).varint(at - before);
            before = *at;
        }
    }
}

/// What an entry carries.
#[derive(Clone, Copy, Debug)]
pub struct Posting<'e> {
    /// How often the word is in the row.
    pub times: u32,
    /// The word.
    pub text: &'e [u8],
    /// Ordinals, encoded.
    pub(crate) at: &'e [u8],
}

impl<'e> Posting<'e> {
    /// A word that is in a row so often, wherever.
    pub fn times(times: u32) -> Posting<'static> {
        Posting { times, text: &[], at: &[] }
    }

    /// Reads what an entry carries.
    pub fn read(carried: &'e [u8]) -> Result<Posting<'e>, DecodeError> {
        let mut r = Reader::new(carried);
        let times = u32::try_from(r.varint()?).map_err(|_| r.invalid("times of a word"))?;
        let text = r.prefixed(MAX_TEXT)?;
        Ok(Posting { times, text, at: r.rest() })
    }

    /// The ordinals, and whether they are all.
    pub fn ordinals(&self) -> (Vec<u64>, bool) {
        let mut r = Reader::new(self.at);
        let (mut at, mut before) = (Vec::new(), 0_u64);
        while let Ok(distance) = r.varint() {
            before = before.saturating_add(distance);
            at.push(before);
        }
        let all = at.len() == self.times as usize;
        (at, all)
    }
}
