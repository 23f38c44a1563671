//! Rows whose words wait in a full-text index.
//!
//! An entry for each word of a row goes to a leaf of its own, which no cache holds, and to find the words takes as long
//! as all else that an INSERT does. So a new row makes one entry, which says that its words are to be had from itself:
//!
//! ```text
//! key       MARK, which no word's key begins with · the row's key · u8 0
//! carried   u8 255
//! ```
//!
//! A transaction of the background ([`crate::settle`]) replaces those of many rows by the words' own entries, in their
//! order; a search before that takes the rows that wait apart. Both are entries like others: at every snapshot the
//! words of a row are in one of the two places. That transaction locks each row, and leaves out those that are locked,
//! so that a writer that changes a row finds its words in one place.
//!
//! Long rows, and many rows of one statement, do not wait.
//!
//! Builds of before kept the words in such entries, up to four for a row, numbered by the last byte of their keys.
//! Their row has the same words, so the first of them says all. Those builds take what is carried now for damage.

use crate::error::from_engine;
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_engine::{KeyRange, TreeHandle, Txn};
use gannet_schema::Table;
use gannet_types::{Result, Value, ValueRef};

/// No word's key begins with this: such a character is no letter.
const MARK: [u8; 4] = [0, 0x80, 0, 0x80];

/// What a waiting entry carries.
pub(crate) const CARRIED: [u8; 1] = [0xff];

/// Bytes of text beyond which a row does not wait: each search takes it apart.
const LONG: usize = 16 << 10;

/// Rows of one statement that do not wait: there are enough words for their leaves.
pub(crate) const MANY: usize = 32;

/// Rows that have waited since the start.
static WAITED: AtomicU64 = AtomicU64::new(0);

/// Grows when rows wait.
pub fn waited() -> u64 {
    WAITED.load(Ordering::Relaxed)
}

/// `n` more rows wait.
pub(crate) fn note(n: usize) {
    WAITED.fetch_add(n as u64, Ordering::Relaxed);
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

/// The key of a row's waiting entry.
pub(crate) fn key_of(row_key: &[u8]) -> Vec<u8> {
    [&MARK, row_key, &[0]].concat()
}

/// A new row with these values waits in the index. One without a text has no words.
pub(crate) fn waits(table: &Table, index: usize, values: &[Value]) -> bool {
    let index = &table.indexes[index];
    let bytes = |part: &gannet_schema::IndexPart| match values[part.column as usize].as_ref() {
        ValueRef::Str(bytes, _) => bytes.len(),
        _ => 0,
    };
    index.text().is_some_and(|text| text.waits()) && (1..=LONG).contains(&index.parts.iter().map(bytes).sum())
}

/// Takes the row's waiting entry away. False: it has none, its words are in their own places.
pub(crate) fn remove(tree: &TreeHandle, row_key: &[u8], txn: &mut Txn) -> Result<bool> {
    let mut key = key_of(row_key);
    let mut removed = false;
    while txn.index_delete_if(tree, &key).map_err(from_engine)? {
        removed = true;
        if let Some(number) = key.last_mut() {
            *number += 1;
        }
    }
    Ok(removed)
}
