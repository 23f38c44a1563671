//! Range scans.

use crate::{EngineError, Result, RowStamp, Txn};

/// One visible entry of a scan; valid until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key: of a row tree as stored; of an index tree the columns (without the engine's stamp).
    pub key: &'a [u8],
    /// The row, or an index entry's carried bytes.
    pub value: &'a [u8],
    /// The version, for [`Txn::update_if`] (row trees).
    pub stamp: RowStamp,
}

/// A scan in progress. Holds private copies only: no latch and no borrow of the transaction between calls, so several
/// scans and writes of one transaction may interleave. Under [`ReadMode::Snapshot`](crate::ReadMode::Snapshot) it
/// returns the state at the statement's snapshot, with the transaction's own changes up to the moment the leaf was
/// copied; a statement that changes the keys it scans must collect them first.
#[derive(Debug)]
pub struct Scan {
    _private: (),
}

impl Scan {
    /// The next visible entry, or `None` at the end. Locks it first when the scan locks.
    pub fn next<'a>(&'a mut self, txn: &mut Txn) -> Result<Option<Entry<'a>>> {
        let _ = txn;
        Err(EngineError::ShutDown)
    }

    /// At READ COMMITTED and below: releases the lock of the entry last returned, for a row that did not match.
    /// Without effect at higher levels and when the lock was held before.
    pub fn unlock_row(&mut self, txn: &mut Txn) {
        let _ = txn;
    }
}
