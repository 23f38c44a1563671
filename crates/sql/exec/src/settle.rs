//! Gives words that wait in full-text indexes ([`crate::waiting`]) their own entries.

use crate::dml::rows::put_sorted;
use crate::waiting::{range, split, words};
use crate::{codec, error::from_engine};
use gannet_base::sync::atomic::Ordering;
use gannet_engine::{
    LockMode, Read, ReadMode, RowBuf, ScanOptions, SnapshotReader, SnapshotScan, TreeHandle, Txn, WaitPolicy,
};
use gannet_schema::Table;
use gannet_types::Result;

/// Beyond so many waiting entries, those among them that are gone but may be seen by old snapshots, new rows do not
/// wait: each search reads all of them.
const CROWD: u64 = 4096;

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
    let mode = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::SkipLocked };
    let (mut row, found) = (RowBuf::new(), keys.len());
    let mut locked = Vec::with_capacity(keys.len());
    for key in keys {
        if txn.get(rows, &key, mode, &mut row).map_err(from_engine)? == Read::Found {
            locked.push(key);
        }
    }
    // Only now they stay as they are.
    let (mut bytes, mut places, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    let mut scan = newest(tree, txn)?;
    while let Some(entry) = scan.next().map_err(from_engine)? {
        let Some((row_key, _)) = split(entry.key) else { continue };
        if locked.binary_search_by(|key| key[..].cmp(row_key)).is_err() {
            continue;
        }
        gone.push(entry.key.to_vec());
        words(entry.value, |word, carried| {
            let from = bytes.len();
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(row_key);
            let middle = bytes.len();
            bytes.extend_from_slice(carried);
            places.push((from, middle, bytes.len()));
            Ok(())
        })?;
    }
    drop(scan);
    for key in &gone {
        txn.index_delete(tree, key).map_err(from_engine)?;
    }
    let entries = places.iter().map(|&(from, middle, end)| (&bytes[from..middle], &bytes[middle..end])).collect();
    put_sorted(tree, entries, txn)?;
    Ok(match found {
        0 => Settled::All,
        n if n == most && n == locked.len() => Settled::Some,
        _ => Settled::Enough,
    })
}

fn newest(tree: &TreeHandle, txn: &Txn) -> Result<SnapshotScan> {
    let reader = SnapshotReader::of_now(txn, true).map_err(from_engine)?;
    reader.scan(tree, range(), ScanOptions { sequential: true, ..ScanOptions::default() }).map_err(from_engine)
}
