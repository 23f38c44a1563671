//! Gives the words of rows that wait in full-text indexes ([`crate::waiting`]) their own entries.

use crate::dml::rows::put_entries;
use crate::waiting::{range, remove, split};
use crate::{codec, error::from_engine};
use gannet_base::sync::atomic::Ordering;
use gannet_engine::{
    LockMode, NewEntry, Read, ReadMode, RowBuf, ScanOptions, SnapshotReader, SnapshotScan, TreeHandle, Txn, WaitPolicy,
};
use gannet_schema::{FullText, Table};
use gannet_text::Splitter;
use gannet_types::{Result, SqlError, ValueRef};
use std::ops::Range;

/// Beyond so many waiting entries, those among them that are gone but may be seen by old snapshots, new rows do not
/// wait: each search reads all of them.
const CROWD: u64 = 4096;

/// Bytes of entries of a transaction, about: its rows are locked as long as it lasts.
const MOST_BYTES: usize = 2 << 20;

/// What [`settle`] has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    /// No row waits.
    All,
    /// More rows wait.
    Some,
    /// Rows that wait still are locked, or new.
    Enough,
}

/// Gives the words of up to `most` rows of a full-text index their own entries, in a transaction that has done nothing
/// yet; the caller holds the table's metadata lock and commits.
pub fn settle(table: &Table, index: usize, most: usize, txn: &mut Txn) -> Result<Settled> {
    let Some(text) = table.indexes[index].text().filter(|text| text.may_have_waiting()) else {
        return Ok(Settled::All);
    };
    let (tree, rows) = (codec::index_tree(table, index, txn)?, codec::row_tree(table, txn)?);
    let estimate = txn.engine().estimate_rows(tree, range()).map_err(from_engine)?;
    text.crowded.store(estimate.rows > CROWD, Ordering::Relaxed);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    // Whoever has made them: rows of those who have not ended are locked.
    let mut scan = newest(tree, txn)?;
    while let Some(entry) = scan.next().map_err(from_engine)? {
        if let Some((row_key, 0)) = split(entry.key) {
            if keys.len() == most {
                break;
            }
            keys.push(row_key.to_vec());
        }
    }
    drop(scan);
    let found = keys.len();
    let settled = text.with_splitter(|splitter| {
        let mut words = Words::new(splitter);
        let taken = words.take(keys, (table, index, text), (tree, rows), txn)?;
        let (bytes, places) = words.sorted();
        let entries: Vec<NewEntry<'_>> =
            places.iter().map(|&(from, key, end)| (&bytes[from..key], &bytes[key..end])).collect();
        put_entries(tree, &entries, txn)?;
        Ok::<Taken, SqlError>(taken)
    })?;
    Ok(match found {
        0 => Settled::All,
        n if settled.full || n == most && n == settled.rows => Settled::Some,
        _ => Settled::Enough,
    })
}

/// What a transaction has taken from those that waited.
struct Taken {
    rows: usize,
    /// As much as it may: more wait.
    full: bool,
}

/// Words of rows whose keys ascend.
struct Words<'s> {
    splitter: &'s mut Splitter,
    /// Keys of rows, and what entries carry.
    bytes: Vec<u8>,
    row_keys: Vec<Range<usize>>,
    found: Vec<Word>,
}

/// A word of a row, both by their numbers, and where that is which its entry carries.
struct Word {
    word: u32,
    row: u32,
    carried: Range<usize>,
}

impl<'s> Words<'s> {
    fn new(splitter: &'s mut Splitter) -> Words<'s> {
        Words { splitter, bytes: Vec::new(), row_keys: Vec::new(), found: Vec::new() }
    }

    /// Takes rows apart that wait still and are not locked, and their waiting entries away.
    fn take(
        &mut self,
        keys: Vec<Vec<u8>>,
        (table, index, text): (&Table, usize, &FullText),
        (tree, rows): (&TreeHandle, &TreeHandle),
        txn: &mut Txn,
    ) -> Result<Taken> {
        let mode = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::SkipLocked };
        let (mut row, mut taken) = (RowBuf::new(), Taken { rows: 0, full: false });
        for key in keys {
            if self.bytes.len() >= MOST_BYTES {
                taken.full = true;
                break;
            }
            if txn.get(rows, &key, mode, &mut row).map_err(from_engine)? != Read::Found {
                continue;
            }
            // Only now it stays as it is.
            taken.rows += 1;
            if !remove(tree, &key, txn)? {
                continue;
            }
            let parts = table.indexes[index].parts.iter();
            let texts = parts.map(|part| match table.layout().get(row.row(), part.column as usize)? {
                ValueRef::Str(bytes, _) => Ok(Some(bytes)),
                _ => Ok(None),
            });
            self.splitter.split(&text.analyzer, texts.collect::<Result<Vec<_>>>()?.into_iter());
            let number = self.row_keys.len() as u32;
            let from = self.bytes.len();
            self.bytes.extend_from_slice(&key);
            self.row_keys.push(from..self.bytes.len());
            for word in self.splitter.found() {
                let from = self.bytes.len();
                word.carried(&mut self.bytes);
                self.found.push(Word { word: word.word, row: number, carried: from..self.bytes.len() });
            }
        }
        Ok(taken)
    }

    /// The entries in their order: bytes, and where in them each begins, ends its key, and ends.
    fn sorted(self) -> (Vec<u8>, Vec<(usize, usize, usize)>) {
        // Only words are sorted: their rows come in order.
        let mut places = vec![0_usize; self.splitter.words()];
        self.found.iter().for_each(|found| places[found.word as usize] += 1);
        let mut words: Vec<u32> = (0..places.len() as u32).filter(|word| places[*word as usize] > 0).collect();
        words.sort_unstable_by_key(|word| self.splitter.key(*word));
        let mut start = 0;
        for word in words {
            start += std::mem::replace(&mut places[word as usize], start);
        }
        let mut order = vec![0_usize; self.found.len()];
        for (n, found) in self.found.iter().enumerate() {
            let place = &mut places[found.word as usize];
            order[*place] = n;
            *place += 1;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() * 2);
        let entry = |n: &usize| {
            let (from, found) = (bytes.len(), &self.found[*n]);
            bytes.extend_from_slice(self.splitter.key(found.word));
            bytes.extend_from_slice(&self.bytes[self.row_keys[found.row as usize].clone()]);
            let key = bytes.len();
            bytes.extend_from_slice(&self.bytes[found.carried.clone()]);
            (from, key, bytes.len())
        };
        let places = order.iter().map(entry).collect();
        (bytes, places)
    }
}

fn newest(tree: &TreeHandle, txn: &Txn) -> Result<SnapshotScan> {
    let reader = SnapshotReader::of_now(txn, true).map_err(from_engine)?;
    reader.scan(tree, range(), ScanOptions { sequential: true, ..ScanOptions::default() }).map_err(from_engine)
}
