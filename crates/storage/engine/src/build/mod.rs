//! Trees filled from sorted entries, bottom-up, without undo and without redo of their content.
//!
//! [`Sorter`] brings entries into key order in bounded memory, [`Merge`] delivers them, [`Fill`] makes a tree of them.
//! Where all entries are in memory, several tasks each merge a part of them and make that part of the tree.
//! The tree has been made by the same transaction and is empty; the undo record of its creation is all there is to
//! undo: a rollback, or a crash before the commit, frees the tree as a whole. Its pages are on disk before the log
//! tells of them (`btree::Builder`), so also before the commit.
//!
//! Entries carry the stamp of the transaction, like any others: once it has committed, snapshots from then on see them.
//! Older snapshots are refused a tree that the transaction has made ([`EngineError::TreeTooNew`]).
//!
//! A tree that was there, and is empty, can be filled too ([`Fill::of_empty`]), while the caller's metadata lock keeps
//! all other writers out. Its undo record tells of all its entries at once. A rollback takes out what has the
//! transaction's stamp (`rollback::take_back`), leaf by leaf, and leaves alone what others have put in after a
//! restart, when the lock is gone. Older snapshots go on seeing an empty tree.

mod groups;
mod sort;
mod spill;

use gannet_base::sync::Arc;
use gannet_base::{PAGE_SIZE, PageNo, TrxId};
use gannet_page::node::MAX_ENTRY;
use gannet_runtime::{now_ns, park};

pub use sort::{Merge, MergePart, Sorter};
pub use spill::{Item, SortDisk, SortSpace};

/// From now on the files of sorts count there.
pub fn count_sorts(engine: &Engine, disk: Arc<dyn SortDisk>) {
    // Once is enough: it is the same one each time.
    let _ = engine.store.sort_disk.set(disk);
}

use crate::index::{MAX_STAMP, put_deleter, put_stamp};
use crate::row::{CHAIN_REF, ROW_HEADER, RowFlags, RowHeader};
use crate::rows::{INLINE_HEAD, MAX_ROW};
use crate::undo::record::{Body, NO_VERSION};
use crate::{Engine, EngineError, Result, TreeHandle, TreeKind, Txn};

/// Memory that a build sorts in.
const LEAST_BUILD_BYTES: usize = 64 << 20;
const MOST_BUILD_BYTES: usize = 512 << 20;

/// How long a tree waits that others have locks in, before it looks again.
const LOOK_AGAIN_NS: u64 = 1_000_000;

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

    /// Begins to fill a tree that was there before; `None`: it has entries, or somebody has locks in it. The caller
    /// keeps other writers out of the tree until the transaction ends, and writes nothing to it otherwise before it is
    /// filled.
    pub fn of_empty(txn: &mut Txn, tree: &TreeHandle) -> Result<Option<Fill>> {
        txn.check_active()?;
        if txn.options.read_only {
            return Err(EngineError::ReadOnly);
        }
        tree.check_there()?;
        let locks = &tree.shared.locks;
        if !locks.no_gaps() || !locks.no_records() || !tree.is_empty()? {
            return Ok(None);
        }
        note_build(txn, tree)?;
        let builder = gannet_btree::Builder::new(&tree.shared.tree);
        let writer = txn.own_id();
        Ok(Some(Fill { tree: tree.clone(), writer, builder, key: Vec::new(), value: Vec::new() }))
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
        let undo = NO_VERSION;
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

    /// Begins to fill the part of the tree whose keys are not below `lower`.
    pub fn part(&self, lower: &[u8]) -> Result<Fill> {
        let builder = gannet_btree::Builder::part(&self.tree.shared.tree, lower)?;
        Ok(Fill { tree: self.tree.clone(), writer: self.writer, builder, key: Vec::new(), value: Vec::new() })
    }

    /// Ends such a part, which has entries; `next` is where the one behind it begins, none behind the last one.
    pub fn finish_part(self, next: Option<&[u8]>) -> Result<FilledPart> {
        Ok(FilledPart(self.builder.close_part(next)?))
    }

    /// Makes all of the tree but its root. What it has is on disk, or in the log.
    pub fn finish(self) -> Result<Filled> {
        self.finish_with(Vec::new())
    }

    /// The same with parts, in order, which are behind its own entries, of which there are some.
    pub fn finish_with(self, parts: Vec<FilledPart>) -> Result<Filled> {
        let parts = parts.into_iter().map(|part| part.0).collect();
        Ok(Filled { built: self.builder.close_all(parts)?, tree: self.tree })
    }
}

/// A part of a tree that is filled.
pub struct FilledPart(gannet_btree::Part);

/// A tree that is filled, and not [attached](Filled::attach) yet.
pub struct Filled {
    tree: TreeHandle,
    built: gannet_btree::Built,
}

impl Filled {
    /// Shows the entries: their number. The transaction's commit makes them durable. Waits for readers that have locked
    /// the gap in which all of them are.
    pub fn attach(mut self, txn: &mut Txn) -> Result<u64> {
        let shared = &self.tree.shared;
        let timeout = u64::try_from(txn.options.lock_wait_timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline = now_ns().saturating_add(timeout);
        let free = |_: &gannet_btree::Tree| shared.locks.no_gaps() && shared.locks.no_records();
        while !self.built.attach(free)? {
            if gannet_runtime::interrupted() {
                return Err(EngineError::Interrupted);
            }
            if now_ns() >= deadline {
                return Err(EngineError::LockWaitTimeout);
            }
            let _ = park(gannet_runtime::Wait::RowLock, Some(now_ns() + LOOK_AGAIN_NS));
        }
        shared.count_entries(self.built.entries());
        Ok(self.built.entries())
    }
}

/// The transaction is one statement's, which commits by itself.
pub fn is_autocommit(txn: &Txn) -> bool {
    txn.options.autocommit
}

impl TreeHandle {
    /// Whether the tree has no entries at all, not even dead ones.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(gannet_btree::Builder::may_fill(&self.shared.tree)?)
    }
}

/// The undo record of a tree that is about to be filled.
fn note_build(txn: &mut Txn, tree: &TreeHandle) -> Result<()> {
    txn.start_writing()?;
    let store = &*txn.engine.store;
    let Some(w) = txn.writer.as_mut() else { return Err(EngineError::NotActive) };
    let staged = &mut Vec::new();
    loop {
        let body = Body::Build { chain: PageNo::ZERO };
        let Some(at) = w.stage(tree.id(), &body, staged) else {
            w.extend(store)?;
            continue;
        };
        store.pool.run(|| {
            let mut mtr = store.pool.mtr()?;
            let page = mtr.latch(w.tail.page)?;
            w.append(&mut mtr, page, staged, at);
            mtr.commit();
            Ok::<(), gannet_buffer::Stop>(())
        })?;
        return Ok(());
    }
}

impl SortSpace {
    /// For what is built of a whole table: a quarter of what the pool has, within bounds.
    pub fn of_builds(engine: &Engine) -> SortSpace {
        let pool = engine.store.pool.status().pages_total as usize * PAGE_SIZE;
        engine.sort_space((pool / 4).clamp(LEAST_BUILD_BYTES, MOST_BUILD_BYTES))
    }
}

impl Engine {
    /// Where sorts put what the memory does not hold.
    pub fn sort_space(&self, memory: usize) -> SortSpace {
        SortSpace { dir: self.store.sort_dir.clone(), memory, disk: self.store.sort_disk.get().cloned() }
    }
}
