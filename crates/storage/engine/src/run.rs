//! Runs of new rows and index entries: those that go into one leaf do so in one mini-transaction, under one latch.
//!
//! Nothing is different for anybody else: each row and entry has its stamp and its undo record. What is not simple (a
//! key that is there, locks in the tree, a long row) is left to the way of single rows.

use gannet_base::TrxId;
use gannet_btree::{Leaf, Place};
use gannet_buffer::{Mtr, Stop};
use gannet_page::PageOp;
use gannet_page::node::MAX_ENTRY;
use gannet_telemetry::{Counter, add};

use crate::index::{put_deleter, put_stamp};
use crate::row::{ROW_HEADER, RowFlags, RowHeader};
use crate::rows::Scratch;
use crate::undo::record::{self, Body, UndoPtr};
use crate::writer::Writer;
use crate::{EngineError, Result, TreeHandle, TreeKind, Txn};

/// Bytes of rows that one mini-transaction inserts at most.
const MOST_BYTES: usize = 32 << 10;

/// A new row, or an index entry: key, and row or carried bytes.
pub type NewEntry<'a> = (&'a [u8], &'a [u8]);

enum Step {
    Done(usize),
    Start,
    Extend,
}

/// Undo records that are written together.
struct Records<'w> {
    writer: &'w mut Writer,
    staged: &'w mut Vec<u8>,
    last: UndoPtr,
    count: u64,
}

impl Records<'_> {
    /// Adds a record, if the undo page has room for it: where it will lie.
    fn stage(&mut self, tree: gannet_base::TreeId, body: &Body<'_>) -> Option<UndoPtr> {
        let from = self.staged.len();
        if self.writer.begin.is_none() && from == 0 {
            Body::Begin { trx: self.writer.id }.encode(gannet_base::TreeId::ZERO, UndoPtr::NONE, self.staged);
        }
        let at = self.staged.len();
        body.encode(tree, self.last, self.staged);
        if !self.writer.tail.fits(self.staged.len()) {
            self.staged.truncate(from);
            return None;
        }
        self.last = UndoPtr::new(self.writer.tail.page, self.writer.tail.free + at, body.kind());
        self.count += 1;
        Some(self.last)
    }

    /// Writes them.
    fn append(self, mtr: &mut Mtr<'_>, page: gannet_buffer::PageRef) {
        let w = self.writer;
        mtr.apply(page, &PageOp::Append { at: w.tail.free as u16, bytes: self.staged });
        if w.begin.is_none() {
            w.begin = UndoPtr::new(w.tail.page, w.tail.free, record::BEGIN);
        }
        w.tail.free += self.staged.len();
        w.last = self.last;
        w.records += self.count;
    }
}

impl Txn {
    /// Inserts the first of these rows, or index entries whose keys may repeat, whose keys ascend: as many as go into
    /// one leaf at once. Returns how many; 0: the first one needs [`Txn::insert`] or [`Txn::index_insert`].
    pub fn insert_run(&mut self, tree: &TreeHandle, entries: &[NewEntry<'_>]) -> Result<usize> {
        self.check_active()?;
        if self.options.read_only {
            return Err(EngineError::ReadOnly);
        }
        tree.check(tree.kind())?;
        let overhead = if tree.kind() == TreeKind::Row { ROW_HEADER } else { crate::index::OVERHEAD };
        if entries.first().is_none_or(|(key, value)| key.len() + overhead + value.len() > MAX_ENTRY / 2) {
            return Ok(0);
        }
        let mut place = Place::new();
        loop {
            let step = Scratch::lent(|scratch| {
                let (store, writer) = (&*self.engine.store, &mut self.writer);
                store.pool.run(|| run(store, tree, writer, entries, &mut place, scratch))
            })?;
            match step {
                Step::Done(n) => {
                    if tree.kind() == TreeKind::Row {
                        add(Counter::InnodbRowsInserted, n as u64);
                    }
                    tree.shared.count_entries(n as u64);
                    return Ok(n);
                }
                Step::Start => self.start_writing()?,
                Step::Extend => self.extend_undo()?,
            }
        }
    }
}

fn run(
    store: &crate::store::Store,
    tree: &TreeHandle,
    writer: &mut Option<Writer>,
    entries: &[NewEntry<'_>],
    place: &mut Place,
    scratch: &mut Scratch,
) -> std::result::Result<Step, Stop> {
    let Some(w) = writer else { return Ok(Step::Start) };
    let (kind, shared) = (tree.kind(), &tree.shared);
    let (id, mut bytes, mut n) = (w.id, 0, 0);
    let Scratch { staged, value, key, .. } = scratch;
    staged.clear();
    let mut mtr = store.pool.mtr()?;
    let mut leaf: Option<Leaf> = None;
    let (tail, last) = (w.tail.page, w.last);
    let mut records = Records { writer: w, staged, last, count: 0 };
    let mut undo = None;
    for (name, content) in entries {
        key.clear();
        key.extend_from_slice(name);
        value.clear();
        let len = match kind {
            TreeKind::Row => ROW_HEADER + content.len(),
            TreeKind::Index => {
                put_stamp(id, key);
                put_deleter(TrxId(0), content.is_empty(), value);
                value.extend_from_slice(content);
                value.len()
            }
        };
        if bytes > MOST_BYTES || key.len() + len > MAX_ENTRY / 2 {
            break;
        }
        let at = match &leaf {
            None => {
                let first = shared.tree.leaf_for_run(&mut mtr, key, len, place)?;
                if first.found() || !shared.locks.no_records() || !shared.locks.no_gaps() {
                    return Ok(Step::Done(0));
                }
                Some(first)
            }
            Some(leaf) => leaf.next(&mtr, key, len, place),
        };
        let Some(at) = at else { break };
        let body = match kind {
            TreeKind::Row => Body::RowInsert { key },
            TreeKind::Index => Body::IndexInsert { key },
        };
        let Some(pointer) = records.stage(tree.id(), &body) else {
            if n == 0 {
                return Ok(Step::Extend);
            }
            break;
        };
        // Nothing may fail after the first change.
        if undo.is_none() {
            undo = Some(mtr.latch(tail)?);
        }
        if kind == TreeKind::Row {
            value.extend_from_slice(&RowHeader { writer: id, undo: pointer, flags: RowFlags::default() }.encode());
            value.extend_from_slice(content);
        }
        at.insert(&mut mtr, key, value);
        bytes += key.len() + value.len();
        leaf = Some(at);
        n += 1;
    }
    if let Some(page) = undo {
        records.append(&mut mtr, page);
    }
    mtr.commit();
    Ok(Step::Done(n))
}
