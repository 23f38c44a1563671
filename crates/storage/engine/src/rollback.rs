//! Undoing records, newest first. Each step changes the tree and marks its record as done in one mini-transaction, so
//! that it can be repeated after a crash.

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::AcqRel;
use gannet_base::{PageNo, TreeId, TrxId};
use gannet_buffer::{Mtr, Stop};
use gannet_lock::LockOwner;
use gannet_page::node::MAX_KEY;
use gannet_runtime::{hurry, mask_interrupts};

use crate::index::{put_deleter, split_key, split_value};
use crate::plant::{Fault, planted, undo_fails};
use crate::purge::note_chain;
use crate::row::{ROW_HEADER, RowHeader, chain_of};
use crate::rows::header_of;
use crate::store::Store;
use crate::trees::TreeShared;
use crate::trxtable::TrxState;
use crate::undo::diff;
use crate::undo::record::{self, Body, DONE, NO_VERSION, ROLLED_BACK, UndoPtr};
use crate::undo::stream::{corrupt, flag, latch, read_record, set_flags};
use crate::writer::Writer;
use crate::{EngineError, Result, TreeKind};

/// What a rollback is for.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    /// The transaction goes on and keeps its row locks, which so far were the stamps that go.
    Savepoint(&'a LockOwner),
    /// The transaction ends.
    End,
    /// The transaction has no session; a shutdown may interrupt the rollback.
    Nobody,
}

/// An unfinished transaction without a session, with its locks.
pub(crate) struct Orphan {
    pub(crate) writer: Writer,
    pub(crate) owner: LockOwner,
}

impl Orphan {
    /// Rolls the transaction back as far as possible. A shutdown ends this.
    pub(crate) fn roll_back(&mut self, store: &Store) -> Result<()> {
        let (_mask, _hurry) = (mask_interrupts(), hurry());
        undo_to(store, &mut self.writer, UndoPtr::NONE, For::Nobody)?;
        self.writer.end(store, ROLLED_BACK)?;
        Ok(())
    }

    /// It is rolled back: its rows are free.
    pub(crate) fn free(self, store: &Store) {
        gannet_telemetry::count(gannet_telemetry::Counter::TrxRollbackActive);
        store.streams.give(self.writer.tail);
        self.owner.release_all();
        store.losers.fetch_sub(1, AcqRel);
    }
}

/// Undoes a transaction's records down to, not including, `stop`.
pub(crate) fn undo_to(store: &Store, w: &mut Writer, stop: UndoPtr, why: For<'_>) -> Result<()> {
    let keeps = match why {
        For::Savepoint(owner) => Some(owner),
        For::End | For::Nobody => None,
    };
    let (abandoned, mut bytes) = (matches!(why, For::Nobody), Vec::new());
    let mut made = if stop.is_none() && w.makes_trees { trees_made(store, w)? } else { Vec::new() };
    while w.last != stop && !w.last.is_none() {
        if abandoned {
            store.check_running()?;
        }
        let at = w.last;
        read_record(&store.pool, at, &mut bytes)?;
        let record = record::decode(&bytes).map_err(|_| corrupt(at.page(), "undo record cannot be decoded"))?;
        if undo_fails(at) {
            return Err(EngineError::DiskFull);
        }
        let left_out = planted(Fault::DropUndo) && at.offset().is_multiple_of(3);
        let goes = match record.body {
            Body::CreateTree { .. } => {
                // Its number may be another tree's soon.
                if let Some(i) = made.iter().position(|made| *made == record.tree) {
                    made.swap_remove(i);
                }
                false
            }
            Body::DropTree { .. } => {
                // The transaction may still commit, without this drop.
                w.drops.retain(|dropped| *dropped != record.tree);
                false
            }
            _ => made.contains(&record.tree) || abandoned && store.purge.doomed.lock().contains(&record.tree),
        };
        let open = !record.is_done() && !left_out;
        if open && goes {
            // Purge passes only records marked as done: the tree's number and its pages may belong to another tree by
            // then.
            flag(&store.pool, at, record.flags | DONE)?;
        } else if open {
            undo_one(store, w.id, at, &record, keeps)?;
        }
        w.last = record.prev;
        w.records = w.records.saturating_sub(1);
        w.rows = w.rows.saturating_sub(u64::from(record::is_of_row(record.body.kind())));
        // It cannot be stopped, but others of this worker need not wait for its end.
        gannet_runtime::yield_if_due();
    }
    Ok(())
}

/// The trees that the transaction's records create. Such a tree is freed as a whole, so its entries need not be
/// undone. After a crash in the middle of the rollback they must not be undone: entries whose later changes were
/// passed over do not fit the older records.
fn trees_made(store: &Store, w: &Writer) -> Result<Vec<TreeId>> {
    let (mut made, mut bytes, mut at) = (Vec::new(), Vec::new(), w.last);
    while !at.is_none() {
        read_record(&store.pool, at, &mut bytes)?;
        let record = record::decode(&bytes).map_err(|_| corrupt(at.page(), "undo record cannot be decoded"))?;
        if let Body::CreateTree { .. } = record.body {
            made.push(record.tree);
        }
        at = record.prev;
        gannet_runtime::yield_if_due();
    }
    Ok(made)
}

fn undo_one(
    store: &Store,
    trx: TrxId,
    at: UndoPtr,
    record: &record::Record<'_>,
    keeps: Option<&LockOwner>,
) -> Result<()> {
    if let Body::CreateTree { .. } = record.body {
        store.trees.remove(record.tree)?;
        store.pool.free_tree(record.tree, |mtr| {
            let page = latch(mtr, at)?;
            set_flags(mtr, page, at, record.flags | DONE);
            Ok(())
        })?;
        return Ok(());
    }
    let Some(tree) = store.trees.get(record.tree)? else {
        // Another transaction has dropped it, and it is freed: nothing is left that could be undone.
        return Ok(store.pool.run(|| {
            let mut mtr = store.pool.mtr()?;
            let page = latch(&mut mtr, at)?;
            set_flags(&mut mtr, page, at, record.flags | DONE);
            mtr.commit();
            Ok(())
        })?);
    };
    if let (Some(owner), Body::RowModify { older, key, .. } | Body::RowDelete { older, key, .. }) = (keeps, record.body)
        && older.writer != trx
        && !older.flags.deleted()
    {
        owner.keep_record(&tree.locks, key);
    }
    let undo = Undo { store, tree: &tree, trx, at, flags: record.flags };
    match record.body {
        Body::RowInsert { key } => undo.row_insert(key),
        Body::RowModify { older, key, diff, ended_chain } => {
            if undo.row_change(key, older, Some(diff))? {
                Ok(())
            } else {
                undo.row_remove(key, ended_chain)
            }
        }
        Body::RowDelete { older, key, .. } => undo.row_change(key, older, None).map(drop),
        Body::IndexInsert { key } => undo.index_insert(key),
        Body::IndexDelete { key } => undo.index_delete(key),
        Body::IndexRevive { key, carried } => undo.index_revive(key, carried),
        Body::Chain { first, pages } => undo.chain(first, pages),
        Body::Build { chain } => {
            take_back((store, &tree, trx), at, chain)?;
            store.pool.run(|| undo.finish(store.pool.mtr()?))?;
            Ok(())
        }
        Body::DropTree { .. } => {
            tree.set_gone(false);
            store.pool.run(|| undo.finish(store.pool.mtr()?))?;
            Ok(())
        }
        Body::CreateTree { .. } | Body::Begin { .. } | Body::Continue { .. } => Ok(()),
    }
}

struct Undo<'a> {
    store: &'a Store,
    tree: &'a Arc<TreeShared>,
    trx: TrxId,
    at: UndoPtr,
    flags: u8,
}

impl Undo<'_> {
    /// Marks the record as done and ends the mini-transaction.
    fn finish(&self, mut mtr: Mtr<'_>) -> std::result::Result<(), Stop> {
        self.mark(&mut mtr)?;
        mtr.commit();
        Ok(())
    }

    /// The undo page must be latched before the first change: nothing may fail after that.
    fn mark(&self, mtr: &mut Mtr<'_>) -> std::result::Result<(), Stop> {
        let page = latch(mtr, self.at)?;
        set_flags(mtr, page, self.at, self.flags | DONE);
        Ok(())
    }

    fn mismatch(&self) -> Stop {
        let what = format!(
            "tree {} does not have what undo record {:?} of transaction {} says",
            self.tree.id, self.at, self.trx
        );
        gannet_buffer::Error::page(self.at.page(), gannet_base::Lsn::ZERO, what).into()
    }

    fn row_insert(&self, key: &[u8]) -> Result<()> {
        let underfull = self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() || header_of(&mtr, leaf)?.undo != self.at {
                return Err(self.mismatch());
            }
            self.mark(&mut mtr)?;
            let underfull = leaf.remove(&mut mtr);
            mtr.commit();
            Ok(underfull)
        })?;
        self.tree.count_rows(-1);
        self.tidy(underfull, key)
    }

    /// Whether the older version is a deleted row that no snapshot needs. Purge, which would remove it, may have
    /// passed its record while a newer version was in its place. Called under the leaf's latch: purge moves the
    /// horizon before it looks, so if this is false, purge has not looked yet, and will find the row.
    fn is_garbage(&self, older: record::OlderRow) -> bool {
        older.flags.deleted()
            && match self.store.trx.state(older.writer) {
                TrxState::Active => false,
                TrxState::Ended(lsn) => lsn <= self.store.snapshots.oldest(),
                TrxState::Old => true,
            }
    }

    /// Takes the row out altogether; `chain` is the overflow chain of the deleted version.
    fn row_remove(&self, key: &[u8], chain: PageNo) -> Result<()> {
        let removed = self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() || header_of(&mtr, leaf)?.undo != self.at {
                // Removed before a crash; what is left of the chain is in the record.
                return Ok(None);
            }
            if chain.is_zero() {
                self.mark(&mut mtr)?;
            }
            let underfull = leaf.remove(&mut mtr);
            mtr.commit();
            Ok(Some(underfull))
        })?;
        if removed.is_some() {
            self.tree.count_rows(-1);
        }
        if !chain.is_zero() {
            self.tree.tree.free_chain(chain, |mtr, next| {
                note_chain(mtr, self.at, next)?;
                if next.is_zero() { self.mark(mtr) } else { Ok(()) }
            })?;
        } else if removed.is_none() {
            self.store.pool.run(|| self.finish(self.store.pool.mtr()?))?;
        }
        self.tidy(removed.unwrap_or(false), key)
    }

    /// Puts the older version back; without `diff` only its header differs. False: it is garbage, and nothing was done.
    fn row_change(&self, key: &[u8], older: record::OlderRow, diff: Option<&[u8]>) -> Result<bool> {
        let mut value = Vec::new();
        let deleted = self.store.pool.run(|| {
            // First the older version, from a read; then the leaf with room for it.
            value.clear();
            let mut newer = Vec::new();
            if !self.tree.tree.lookup(key, &mut newer).map_err(Stop::from)? {
                return if self.is_garbage(older) { Ok(None) } else { Err(self.mismatch()) };
            }
            let h = RowHeader::decode(&newer).filter(|h| h.undo == self.at).ok_or_else(|| self.mismatch())?;
            value.extend_from_slice(&RowHeader { writer: older.writer, undo: older.undo, flags: older.flags }.encode());
            match diff {
                Some(diff) => diff::apply(&newer[ROW_HEADER..], diff, &mut value).map_err(|_| self.mismatch())?,
                None => value.extend_from_slice(&newer[ROW_HEADER..]),
            }
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, value.len())?;
            if !leaf.found() || leaf.value(&mtr) != newer {
                return Err(Stop::Restart);
            }
            if self.is_garbage(older) {
                return Ok(None);
            }
            self.mark(&mut mtr)?;
            leaf.replace(&mut mtr, &value);
            mtr.commit();
            Ok(Some(h.flags.deleted()))
        })?;
        let Some(deleted) = deleted else { return Ok(false) };
        self.tree.count_rows(deleted as i64 - older.flags.deleted() as i64);
        Ok(true)
    }

    fn index_insert(&self, key: &[u8]) -> Result<()> {
        let underfull = self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() {
                return Err(self.mismatch());
            }
            self.mark(&mut mtr)?;
            let underfull = leaf.remove(&mut mtr);
            mtr.commit();
            Ok(underfull)
        })?;
        self.tree.count_rows(-1);
        self.tidy(underfull, key)
    }

    fn index_delete(&self, key: &[u8]) -> Result<()> {
        self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() {
                return Err(self.mismatch());
            }
            let value = leaf.value(&mtr);
            let Some((_, carried)) = split_value(value).filter(|(deleter, _)| *deleter == self.trx) else {
                return Err(self.mismatch());
            };
            let (cut, mut live) = (value.len() - carried.len(), Vec::new());
            put_deleter(TrxId(0), carried.is_empty(), &mut live);
            self.mark(&mut mtr)?;
            leaf.splice(&mut mtr, 0, cut, &live);
            mtr.commit();
            Ok(())
        })?;
        self.tree.count_rows(1);
        Ok(())
    }

    fn index_revive(&self, key: &[u8], carried: &[u8]) -> Result<()> {
        let mut value = Vec::new();
        put_deleter(self.trx, carried.is_empty(), &mut value);
        value.extend_from_slice(carried);
        self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, value.len())?;
            if !leaf.found() {
                return Err(self.mismatch());
            }
            self.mark(&mut mtr)?;
            leaf.replace(&mut mtr, &value);
            mtr.commit();
            Ok(())
        })?;
        self.tree.count_rows(-1);
        Ok(())
    }

    /// Frees pages of an overflow chain, one after the other from `first` on.
    fn chain(&self, first: PageNo, pages: u16) -> Result<()> {
        Ok(self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let mut held = Vec::new();
            let mut no = first;
            for _ in 0..pages {
                let page = mtr.latch(no)?;
                no = gannet_page::raw::overflow(mtr.page(page)).map_err(|_| self.mismatch())?.0;
                held.push(page);
            }
            self.mark(&mut mtr)?;
            held.into_iter().for_each(|page| mtr.free(page));
            mtr.commit();
            Ok(())
        })?)
    }

    fn tidy(&self, underfull: bool, key: &[u8]) -> Result<()> {
        if underfull { Ok(self.tree.tree.merge(key)?) } else { Ok(()) }
    }
}

// ---- trees that the transaction has filled ----

/// Takes out what the transaction's record at `at` tells of, entries that are found by their stamps. All changes that
/// the transaction has made to the tree since are undone by then. After a restart others may have put entries between
/// them: these stay. `chain`: an overflow chain that was to be freed before a
/// crash. Repeatable; it does not mark the record.
fn take_back(by: (&Store, &TreeShared, TrxId), at: UndoPtr, chain: PageNo) -> Result<()> {
    let (_, tree, trx) = by;
    free_chain(by, at, chain)?;
    let mut cursor = tree.tree.cursor();
    let mut from = Vec::new();
    loop {
        cursor.set_range(Some(&from), None);
        loop {
            if !cursor.next()? {
                return Ok(());
            }
            if is_filled(tree.kind, trx, cursor.key(), cursor.value()) {
                break;
            }
            gannet_runtime::yield_if_due();
        }
        from = take_run(by, at, cursor.key())?;
        gannet_runtime::yield_if_due();
    }
}

/// An entry that the transaction has filled the tree with.
fn is_filled(kind: TreeKind, trx: TrxId, key: &[u8], value: &[u8]) -> bool {
    match kind {
        TreeKind::Row => RowHeader::decode(value).is_some_and(|h| h.writer == trx && h.undo == NO_VERSION),
        TreeKind::Index => split_key(key).is_some_and(|(_, inserter)| inserter == trx),
    }
}

/// Takes entries out, from `key` on as far as the leaf goes, and gives a key behind them, from which to look on. A row
/// with an overflow chain goes alone, so that the record can tell of its chain.
fn take_run((store, tree, trx): (&Store, &TreeShared, TrxId), at: UndoPtr, key: &[u8]) -> Result<Vec<u8>> {
    let (mut last, row) = (Vec::new(), tree.kind == TreeKind::Row);
    let (n, underfull, chain) = store.pool.run(|| {
        let mut mtr = store.pool.mtr()?;
        let leaf = tree.tree.leaf_for_write(&mut mtr, key, 0)?;
        last.clear();
        last.extend_from_slice(key);
        if !leaf.found() {
            return Ok((0, false, PageNo::ZERO));
        }
        let first = if row { chain_of(leaf.value(&mtr)).map_or(PageNo::ZERO, |c| c.0) } else { PageNo::ZERO };
        let n = if first.is_zero() {
            leaf.run(&mtr, &mut last, |k, v| is_filled(tree.kind, trx, k, v) && !(row && chain_of(v).is_some()))
        } else {
            note_chain(&mut mtr, at, first)?;
            1
        };
        let underfull = leaf.remove_run(&mut mtr, n);
        mtr.commit();
        Ok((n, underfull, first))
    })?;
    tree.count_rows(-(n as i64));
    free_chain((store, tree, trx), at, chain)?;
    if underfull {
        tree.tree.merge(&last)?;
    }
    // The next key there can be; the longest one has none but its neighbour in order.
    if last.len() < MAX_KEY {
        last.push(0);
    } else {
        while last.pop_if(|b| *b == u8::MAX).is_some() {}
        if let Some(b) = last.last_mut() {
            *b += 1;
        }
    }
    Ok(last)
}

fn free_chain((_, tree, _): (&Store, &TreeShared, TrxId), at: UndoPtr, chain: PageNo) -> Result<()> {
    if chain.is_zero() {
        return Ok(());
    }
    Ok(tree.tree.free_chain(chain, |mtr, next| note_chain(mtr, at, next))?)
}
