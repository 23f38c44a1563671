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

use gannet_base::{DecodeError, Reader, Writer};

/// Ordinals between the last token of a column and the first one of the next.
pub(crate) const GAP: u64 = 1 << 32;

/// Bytes of ordinals that are kept.
const ROOM: usize = 512;

/// Bytes of a word's text, at most.
const MAX_TEXT: usize = 1 << 12;

/// Appends what an entry of a word carries: how often the row has it, its folded text, its ordinals.
pub(crate) fn write(times: u32, text: &[u8], at: &[u64], out: &mut Vec<u8>) {
    Writer::new(out).varint(u64::from(times)).prefixed(text);
    let (start, mut before) = (out.len(), 0);
    for at in at {
        if out.len() - start >= ROOM {
            break;
        }
        Writer::new(out).varint(at - before);
        before = *at;
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
