//! Words of new rows that wait in a full-text index.
//!
//! An entry for each word of a row goes to a leaf of its own, which no cache holds. So the words of a new row go into
//! the index's tree together, in one entry or a few:
//!
//! ```text
//! key       MARK, which no word's key begins with · the row's key · u8 which of the row's entries
//! carried   each word: varint and its key, varint and what its own entry carries; ascending
//! ```
//!
//! A transaction of the background ([`crate::settle`]) replaces those of many rows by the words' own entries, in their
//! order. Both are entries like others: at every snapshot the words of a row are in one of the two places. It locks
//! each row, and leaves out those that are locked, so that who changes a row finds its words in one place.
//!
//! Rows with very many words, and many rows of one statement, do not wait.

use crate::codec::Entries;
use crate::error::from_engine;
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_base::{DecodeError, Reader, Writer};
use gannet_engine::{KeyRange, NewEntry, TreeHandle, Txn};
use gannet_types::{Result, SqlError};

/// No word's key begins with this: such a character is no letter.
const MARK: [u8; 4] = [0, 0x80, 0, 0x80];

/// Bytes of words in an entry, and entries of a row.
const ROOM: usize = 3 << 10;
const MOST_ENTRIES: usize = 4;

/// Rows of one statement that do not wait: there are enough words for their leaves.
pub(crate) const MANY: usize = 32;

/// Rows that have waited since the start.
static WAITED: AtomicU64 = AtomicU64::new(0);

/// Grows when words of rows wait.
pub fn waited() -> u64 {
    WAITED.load(Ordering::Relaxed)
}

/// All waiting entries of an index.
pub(crate) fn range() -> KeyRange<'static> {
    KeyRange::prefix(&MARK)
}

/// The row's key, if it is the key of a waiting entry, and which of the row's it is.
pub(crate) fn split(key: &[u8]) -> Option<(&[u8], u8)> {
    let (number, row_key) = key.strip_prefix(&MARK)?.split_last()?;
    Some((row_key, *number))
}

fn key_of(row_key: &[u8], number: u8) -> Vec<u8> {
    [&MARK, row_key, &[number]].concat()
}

/// Words of a row as waiting entries. `None`: there are too many.
pub(crate) struct Packed(Vec<(Vec<u8>, Vec<u8>)>);

impl Packed {
    pub(crate) fn new(entries: &Entries, row_key: &[u8]) -> Option<Packed> {
        let mut packed: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for entry in entries.iter() {
            let word = entry.key.strip_suffix(row_key)?;
            let bytes = word.len() + entry.carried.len() + 4;
            if packed.last().is_none_or(|(_, words)| words.len() + bytes > ROOM) {
                if packed.len() == MOST_ENTRIES || bytes > ROOM {
                    return None;
                }
                packed.push((key_of(row_key, packed.len() as u8), Vec::with_capacity(ROOM)));
            }
            let (_, words) = packed.last_mut()?;
            Writer::new(words).prefixed(word).prefixed(entry.carried);
        }
        Some(Packed(packed))
    }

    pub(crate) fn entries(&self) -> Vec<NewEntry<'_>> {
        self.0.iter().map(|(key, words)| (&key[..], &words[..])).collect()
    }

    /// Takes the row's waiting entries away. False: it has none, its words are in their own places.
    pub(crate) fn remove(&self, tree: &TreeHandle, txn: &mut Txn) -> Result<bool> {
        for (number, (key, _)) in self.0.iter().enumerate() {
            if number > 0 {
                txn.index_delete(tree, key).map_err(from_engine)?;
            } else if !txn.index_delete_if(tree, key).map_err(from_engine)? {
                return Ok(false);
            }
        }
        Ok(!self.0.is_empty())
    }
}

/// The row's words are to wait.
pub(crate) fn note() {
    WAITED.fetch_add(1, Ordering::Relaxed);
}

/// Gives `each` the words of a waiting entry: a word's key, and what its own entry carries.
pub(crate) fn words<'e>(carried: &'e [u8], mut each: impl FnMut(&'e [u8], &'e [u8]) -> Result<()>) -> Result<()> {
    let mut r = Reader::new(carried);
    while !r.is_empty() {
        let (word, carried) = (|| Ok::<_, DecodeError>((r.prefixed(ROOM)?, r.prefixed(ROOM)?)))()
            .map_err(|e| SqlError::internal(format_args!("words that wait in a full-text index: {e}")))?;
        each(word, carried)?;
    }
    Ok(())
}
