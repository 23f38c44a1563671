//! Runs of new rows and index entries: those that go into one leaf do so in one mini-transaction, under one latch.
//! Index entries that go into several leaves do so too, and what goes into several trees, which are a table's parts:
//! the leaves are latched in their order, and then changed. (Rows of one tree are others' to wait for, so no more of
//! them are latched at once.) Nobody waits for a latch while another one is held: a leaf that is not to be had at once
//! ends the run.
//!
//! Nothing is different for anybody else: each row and entry has its stamp and its undo record. What is not simple (a
//! key that is there, locks in the tree, a long row) is left to the way of single rows.

use gannet_base::{TreeId, TrxId};
use gannet_btree::{Approach, Leaf, Place};
use gannet_buffer::{Mtr, PageRef, Stop};
use gannet_page::PageOp;
use gannet_page::node::MAX_ENTRY;

use crate::index::{put_deleter, put_stamp};
use crate::row::{ROW_HEADER, RowFlags, RowHeader};
use crate::rows::Scratch;
use crate::store::Store;
use crate::trees::TreeShared;
use crate::undo::record::{self, Body, UndoPtr};
use crate::writer::Writer;
use crate::{EngineError, Result, TreeHandle, TreeKind, Txn};

/// A longer row, or entry, has a way of its own.
const MAX_BYTES: usize = MAX_ENTRY / 2;

/// Leaves of an index that are changed together.
const MAX_LEAVES: usize = 16;
/// Entries that are looked at when those are sought.
const MAX_SOUGHT: usize = 64;

/// A new row, or an index entry: key, and row or carried bytes.
pub type NewEntry<'a> = (&'a [u8], &'a [u8]);

/// The trees of entries: one of all, or one of each.
#[derive(Clone, Copy)]
enum Trees<'a> {
    One(&'a TreeHandle),
    Each(&'a [&'a TreeHandle]),
}

impl<'a> Trees<'a> {
    /// That of entry `n`.
    #[inline]
    fn of(self, n: usize) -> &'a TreeHandle {
        match self {
            Trees::One(tree) => tree,
            Trees::Each(trees) => trees[n],
        }
    }

    /// Entry `n`, which is not the first one, is for the tree of the one before it.
    #[inline]
    fn goes_on(self, n: usize) -> bool {
        match self {
            Trees::One(_) => true,
            Trees::Each(trees) => trees[n].id() == trees[n - 1].id(),
        }
    }

    /// The tree of entry `n`, if it may be another one than those of the entries before.
    #[inline]
    fn ahead(self, n: usize) -> Option<&'a TreeShared> {
        match self {
            Trees::One(_) => None,
            Trees::Each(trees) => trees.get(n).map(|tree| &*tree.shared),
        }
    }

    /// How many leaves may be latched at once, and how many entries are looked at for that.
    fn most(self) -> (usize, usize) {
        match self {
            Trees::One(tree) if tree.kind() == TreeKind::Row => (1, 1),
            _ => (MAX_LEAVES, MAX_SOUGHT),
        }
    }

    /// Counts the first `n` entries, which are in.
    fn count(self, n: usize) {
        let mut from = 0;
        while from < n {
            let tree = self.of(from);
            let more = match self {
                Trees::One(_) => n - from,
                Trees::Each(_) => 1 + (from + 1..n).take_while(|n| self.goes_on(*n)).count(),
            };
            if tree.kind() == TreeKind::Row {
                tree.count_inserted(more as u64);
            }
            tree.shared.count_entries(more as u64);
            from += more;
        }
    }
}

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
    fn stage(&mut self, tree: TreeId, body: &Body<'_>) -> Option<UndoPtr> {
        let from = self.staged.len();
        if self.writer.begin.is_none() && from == 0 {
            Body::Begin { trx: self.writer.id }.encode(TreeId::ZERO, UndoPtr::NONE, self.staged);
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
    fn append(self, mtr: &mut Mtr<'_>, page: PageRef) {
        let w = self.writer;
        mtr.apply(page, &PageOp::Append { at: w.tail.free as u16, bytes: self.staged });
        if w.begin.is_none() {
            w.begin = UndoPtr::new(w.tail.page, w.tail.free, record::BEGIN);
        }
        w.tail.free += self.staged.len();
        w.last = self.last;
        w.records += self.count;
        w.rows += if record::is_of_row(self.last.kind()) { self.count } else { 0 };
    }
}

impl TreeHandle {
    /// Inserts the first of these rows, or index entries whose keys may repeat, whose keys ascend: as many as go into
    /// one leaf at once. Returns how many; 0: the first one needs [`Txn::insert`] or [`Txn::index_insert`].
    pub fn insert_run(&self, entries: &[NewEntry<'_>], txn: &mut Txn) -> Result<usize> {
        insert_first(Trees::One(self), entries, txn)
    }

    /// As [`TreeHandle::insert_run`], with a tree for each entry. All are row trees or all are index trees; the entries
    /// of a tree stand together. Each tree is likely to have left the processor's caches, which costs more than all
    /// the rest: what will be touched is asked for long before, step by step, while entries before it are inserted
    /// (`Attempt`). For those that have none before them, `first`, it is done here, a step of all trees at a time.
    pub fn insert_spread(trees: &[&TreeHandle], entries: &[NewEntry<'_>], first: bool, txn: &mut Txn) -> Result<usize> {
        if first {
            let (next, near) = (&trees[..trees.len().min(2 * MAX_LEAVES)], &trees[..trees.len().min(MAX_LEAVES)]);
            next.iter().for_each(|tree| tree.shared.approach());
            next.iter().for_each(|tree| tree.shared.approach_behind());
            next.iter().for_each(|tree| Approach::State.take(&tree.shared.tree));
            near.iter().for_each(|tree| Approach::Head.take(&tree.shared.tree));
            near.iter().for_each(|tree| Approach::Slots.take(&tree.shared.tree));
        }
        insert_first(Trees::Each(trees), entries, txn)
    }
}

fn insert_first(trees: Trees<'_>, entries: &[NewEntry<'_>], txn: &mut Txn) -> Result<usize> {
    txn.check_active()?;
    if txn.options.read_only {
        return Err(EngineError::ReadOnly);
    }
    let Some((key, value)) = entries.first() else { return Ok(0) };
    let first = trees.of(0);
    first.check(first.kind())?;
    if key.len() + value.len() > MAX_BYTES {
        return Ok(0);
    }
    let mut place = Place::new();
    loop {
        let step = Scratch::lent(|scratch| {
            let (store, writer) = (&*txn.engine.store, &mut txn.writer);
            store.pool.run(|| match writer {
                Some(w) => Attempt { trees, kind: first.kind(), place: &mut place, scratch }.run(store, w, entries),
                None => Ok(Step::Start),
            })
        })?;
        match step {
            Step::Done(n) => {
                trees.count(n);
                return Ok(n);
            }
            Step::Start => txn.start_writing()?,
            Step::Extend => txn.extend_undo()?,
        }
    }
}

impl TreeHandle {
    /// Nobody has a lock in the tree.
    fn is_unlocked(&self) -> bool {
        self.shared.locks.no_records() && self.shared.locks.no_gaps()
    }
}

struct Attempt<'a> {
    trees: Trees<'a>,
    kind: TreeKind,
    place: &'a mut Place,
    scratch: &'a mut Scratch,
}

impl Attempt<'_> {
    fn run(&mut self, store: &Store, w: &mut Writer, entries: &[NewEntry<'_>]) -> std::result::Result<Step, Stop> {
        let (trees, kind, id, tail, last) = (self.trees, self.kind, w.id, w.tail.page, w.last);
        let mut mtr = store.pool.mtr()?;
        let mut leaves = Vec::with_capacity(trees.most().0);
        let mut end = self.latch(&mut mtr, id, entries, &mut leaves)?;
        // A gap that lies in a further leaf may have been locked since the first leaf was latched. Whoever locks one
        // from here on sees what is inserted.
        if let Some((first, _)) = leaves.iter().find(|(n, _)| !trees.of(*n).is_unlocked()) {
            end = *first;
        }
        let Scratch { staged, value, key, .. } = &mut *self.scratch;
        staged.clear();
        let mut records = Records { writer: w, staged, last, count: 0 };
        let mut undo: Option<PageRef> = None;
        let (mut leaf, mut leaves) = (None::<Leaf>, leaves.into_iter().peekable());
        for (n, (name, content)) in entries[..end].iter().enumerate() {
            if let Some(far) = trees.ahead(n + 2 * MAX_LEAVES) {
                far.approach_behind();
                Approach::State.take(&far.tree);
            }
            if let Some(near) = trees.ahead(n + MAX_LEAVES) {
                Approach::Slots.take(&near.tree);
            }
            if key_and_value(kind, id, (name, content), (key, value)) > MAX_BYTES {
                break;
            }
            let at = match (&leaf, leaves.next_if(|(first, _)| *first == n)) {
                (_, Some((_, next))) => Some(next),
                (None, None) => None,
                // The bounds are those of the last leaf.
                (Some(leaf), None) if leaves.peek().is_none() => leaf.next(&mtr, key, value.len(), self.place),
                (Some(leaf), None) => leaf.next_here(&mtr, key, value.len()),
            };
            let Some(at) = at else { break };
            let body = match kind {
                TreeKind::Row => Body::RowInsert { key },
                TreeKind::Index => Body::IndexInsert { key },
            };
            let Some(pointer) = records.stage(trees.of(n).id(), &body) else {
                match leaf {
                    None => return Ok(Step::Extend),
                    Some(_) => break,
                }
            };
            // Nothing may fail after the first change.
            if undo.is_none() {
                undo = Some(mtr.latch(tail)?);
            }
            if kind == TreeKind::Row {
                let header = RowHeader { writer: id, undo: pointer, flags: RowFlags::default() };
                value[..ROW_HEADER].copy_from_slice(&header.encode());
            }
            at.insert(&mut mtr, key, value);
            leaf = Some(at);
        }
        let n = records.count as usize;
        if let Some(page) = undo {
            records.append(&mut mtr, page);
        }
        mtr.commit();
        Ok(Step::Done(n))
    }

    /// Latches the leaves of the first entries, each with the number of its first one; `place` has the last one's
    /// bounds. Returns how many entries may be for them. None: the first entry is not simple.
    fn latch<'p>(
        &mut self,
        mtr: &mut Mtr<'p>,
        id: TrxId,
        entries: &[NewEntry<'_>],
        leaves: &mut Vec<(usize, Leaf)>,
    ) -> std::result::Result<usize, Stop>
    where
        Self: 'p,
    {
        let Scratch { value, key, .. } = &mut *self.scratch;
        let (most, sought) = self.trees.most();
        for (n, (name, content)) in entries.iter().enumerate().take(sought) {
            if let Some(far) = self.trees.ahead(n + 2 * MAX_LEAVES) {
                far.approach();
            }
            if let Some(near) = self.trees.ahead(n + MAX_LEAVES) {
                Approach::Head.take(&near.tree);
            }
            let (key, len) = match self.kind {
                TreeKind::Row => (*name, ROW_HEADER + content.len()),
                TreeKind::Index => {
                    key_and_value(self.kind, id, (name, content), (key, value));
                    (&key[..], value.len())
                }
            };
            if key.len() + len > MAX_BYTES {
                return Ok(n);
            }
            let tree = self.trees.of(n);
            let leaf = match leaves.is_empty() {
                true => {
                    let first = Leaf::for_run(&tree.shared.tree, mtr, key, len, self.place)?;
                    if first.found() || !tree.is_unlocked() {
                        return Ok(0);
                    }
                    Some(first)
                }
                false if self.trees.goes_on(n) && self.place.is_below_end(key) => continue,
                false if leaves.len() == most || tree.check(self.kind).is_err() => return Ok(n),
                false => Leaf::beside(&tree.shared.tree, mtr, key, len, self.place),
            };
            // The bounds are not those of the last leaf any more.
            let Some(leaf) = leaf else { return Ok(n) };
            leaves.push((n, leaf));
        }
        Ok(match self.trees {
            // Those that were not looked at are bounded by the last leaf.
            Trees::One(_) => entries.len(),
            Trees::Each(_) => entries.len().min(sought),
        })
    }
}

/// Writes key and value as they go into the leaf, but for a row's header; how long both are.
fn key_and_value(kind: TreeKind, id: TrxId, (name, content): NewEntry<'_>, to: (&mut Vec<u8>, &mut Vec<u8>)) -> usize {
    let (key, value) = to;
    key.clear();
    key.extend_from_slice(name);
    value.clear();
    match kind {
        TreeKind::Row => value.resize(ROW_HEADER, 0),
        TreeKind::Index => {
            put_stamp(id, key);
            put_deleter(TrxId(0), content.is_empty(), value);
        }
    }
    value.extend_from_slice(content);
    key.len() + value.len()
}
