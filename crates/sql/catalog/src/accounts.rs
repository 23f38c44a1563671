//! Accounts and prepared transactions: small key-value stores in the dictionary's tree. What a value means is the
//! server's.

use crate::keys::dictionary_key;
use crate::words::{self, Words};
use gannet_engine::{EngineError, KeyRange, Read, ReadMode, RowBuf, ScanOptions, TreeHandle, Txn};

/// Access to the accounts inside a transaction.
#[derive(Clone, Copy)]
pub struct Accounts<'a> {
    pub(crate) tree: &'a TreeHandle,
    pub(crate) kind: u8,
}

impl Accounts<'_> {
    /// The record of an account.
    pub fn get(&self, txn: &mut Txn, name: &str) -> Result<Option<Vec<u8>>, EngineError> {
        let mut row = RowBuf::new();
        let key = dictionary_key(self.kind, &[name]);
        match txn.get(self.tree, &key, ReadMode::Snapshot, &mut row)? {
            Read::Found => Ok(Some(row.row().to_vec())),
            Read::Missing | Read::Skipped => Ok(None),
        }
    }

    /// Writes the record of an account.
    pub fn put(&self, txn: &mut Txn, name: &str, record: &[u8]) -> Result<(), EngineError> {
        let key = dictionary_key(self.kind, &[name]);
        if txn.insert_or_lock(self.tree, &key, record)? == gannet_engine::Insert::Duplicate {
            txn.update(self.tree, &key, record)?;
        }
        Ok(())
    }

    /// Commits `txn` and tells those who follow the log of `words`, if there are any.
    pub fn commit(&self, txn: &mut Txn, words: Option<&Words>) -> Result<(), EngineError> {
        words::commit(self.tree, txn, words).map(drop)
    }

    /// Removes an account; false when there was none.
    pub fn remove(&self, txn: &mut Txn, name: &str) -> Result<bool, EngineError> {
        let key = dictionary_key(self.kind, &[name]);
        Ok(txn.delete(self.tree, &key)? == gannet_engine::Delete::Deleted)
    }

    /// All accounts by name.
    pub fn all(&self, txn: &mut Txn) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        let prefix = dictionary_key(self.kind, &[]);
        let mut scan = txn.scan(self.tree, KeyRange::prefix(&prefix), ScanOptions::default())?;
        let mut all = Vec::new();
        while let Some(entry) = scan.next(txn)? {
            let name = entry.key.get(1..).and_then(|k| k.strip_suffix(&[0])).unwrap_or_default();
            all.push((String::from_utf8_lossy(name).into_owned(), entry.value.to_vec()));
        }
        Ok(all)
    }
}
