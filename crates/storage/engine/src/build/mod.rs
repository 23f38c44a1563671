//! Trees filled from sorted entries, bottom-up, without undo and without redo of their content.
//!
//! [`Sorter`] brings entries into key order in bounded memory, [`Merge`] delivers them, [`Fill`] makes a tree of them.
//! The tree has been made by the same transaction and is empty; the undo record of its creation is all there is to
//! undo: a rollback, or a crash before the commit, frees the tree as a whole. Its pages are on disk before the log
//! tells of them (`btree::Builder`), so also before the commit.
//!
//! Entries carry the stamp of the transaction, like any others: once it has committed, snapshots from then on see them.
//! Older snapshots are refused the tree ([`EngineError::TreeTooNew`]).

mod sort;

use gannet_base::sync::Arc;
use gannet_base::{PageNo, TrxId};
use gannet_page::node::MAX_ENTRY;

pub use sort::{Item, Merge, SortDisk, SortSpace, Sorter};

/// From now on the files of sorts count there.
pub fn count_sorts(engine: &Engine, disk: Arc<dyn SortDisk>) {
    // Once is enough: it is the same one each time.
    let _ = engine.store.sort_disk.set(disk);
}

use crate::index::{MAX_STAMP, put_deleter, put_stamp};
use crate::row::{CHAIN_REF, ROW_HEADER, RowFlags, RowHeader};
use crate::rows::{INLINE_HEAD, MAX_ROW};
use crate::undo::record::{ROW_INSERT, UndoPtr};
use crate::{Engine, EngineError, Result, TreeHandle, TreeKind, Txn};

/// Fills a tree that its transaction has made. Any task may use it, beside others that fill other trees, but none after
/// the transaction's end. What is not [finished](Fill::finish) leaves an empty tree; the transaction must roll its
/// creation back or drop it.
pub struct Fill {
    tree: TreeHandle,
    writer: TrxId,
    builder: gannet_btree::Builder,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Fill {
    /// Begins to fill a tree that the transaction has made and that has no entries.
    ///
    /// # Panics
    /// When another transaction has made it.
    pub fn begin(txn: &mut Txn, tree: &TreeHandle) -> Result<Fill> {
        txn.check_active()?;
        tree.check_there()?;
        let writer = txn.own_id();
        gannet_base::check!(
            !writer.is_zero() && tree.shared.maker() == writer,
            "a tree is filled that the transaction has not made"
        );
        let builder = gannet_btree::Builder::new(&tree.shared.tree);
        Ok(Fill { tree: tree.clone(), writer, builder, key: Vec::new(), value: Vec::new() })
    }

    /// The next entry of an index tree: the caller's key and the carried bytes. Keys ascend.
    pub fn entry(&mut self, key: &[u8], carried: &[u8]) -> Result<()> {
        self.tree.check(TreeKind::Index)?;
        let bytes = key.len() + carried.len();
        if key.len() + MAX_STAMP > TreeHandle::MAX_KEY_BYTES || bytes > TreeHandle::MAX_INDEX_ENTRY_BYTES {
            return Err(EngineError::KeyTooLong { bytes });
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        put_stamp(self.writer, &mut self.key);
        self.value.clear();
        put_deleter(TrxId(0), carried.is_empty(), &mut self.value);
        self.value.extend_from_slice(carried);
        if self.builder.push(&self.key, &self.value)? {
            return Ok(());
        }
        Err(EngineError::Damaged(format!("entries of index tree {} are not in order", self.tree.id())))
    }

    /// The next row of a row tree. False: its key is not above the one before, and the row is not taken.
    pub fn row(&mut self, key: &[u8], row: &[u8]) -> Result<bool> {
        self.tree.check(TreeKind::Row)?;
        if key.len() > TreeHandle::MAX_KEY_BYTES {
            return Err(EngineError::KeyTooLong { bytes: key.len() });
        }
        // No version is older: where it would be is no record.
        let undo = UndoPtr::new(PageNo::ZERO, 0, ROW_INSERT);
        let long = key.len() + ROW_HEADER + row.len() > MAX_ENTRY;
        let flags = RowFlags(if long { RowFlags::OVERFLOW } else { 0 });
        self.value.clear();
        self.value.extend_from_slice(&RowHeader { writer: self.writer, undo, flags }.encode());
        if !long {
            self.value.extend_from_slice(row);
            return Ok(self.builder.push(key, &self.value)?);
        }
        if row.len() > MAX_ROW {
            return Err(EngineError::RowTooLong { bytes: row.len() });
        }
        let room = MAX_ENTRY.saturating_sub(key.len() + ROW_HEADER + CHAIN_REF);
        let (head, tail) = row.split_at(row.len().min(room.min(INLINE_HEAD)));
        let first = self.builder.chain(tail)?;
        self.value.extend_from_slice(&first.0.to_le_bytes());
        self.value.extend_from_slice(&(tail.len() as u32).to_le_bytes());
        self.value.extend_from_slice(head);
        Ok(self.builder.push(key, &self.value)?)
    }

    /// Completes the tree. What it has is on disk, or in the log; the transaction's commit makes it durable.
    pub fn finish(self) -> Result<u64> {
        let entries = self.builder.finish()?;
        self.tree.shared.count_rows(entries as i64);
        Ok(entries)
    }
}

impl Engine {
    /// Where sorts put what the memory does not hold.
    pub fn sort_space(&self, memory: usize) -> SortSpace {
        SortSpace { dir: self.store.sort_dir.clone(), memory, disk: self.store.sort_disk.get().cloned() }
    }
}
