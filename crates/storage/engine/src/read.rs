//! Reading single rows: snapshots, versions, locking reads.

use gannet_base::TrxId;
use gannet_btree::Place;
use gannet_buffer::Priority;
use gannet_lock::{Cut, Mode, Wait};
use gannet_runtime::yield_if_due;
use gannet_telemetry::{Counter, count};

use crate::row::{CHAIN_REF, ROW_HEADER, RowHeader, chain_of};
use crate::store::{Store, Whose};
use crate::trees::TreeShared;
use crate::trxtable::{TrxState, View};
use crate::undo::diff;
use crate::undo::record::{self, Body, ROW_INSERT};
use crate::undo::stream::{corrupt, read_record};
use crate::uses::Use;
use crate::waiting::LockWait;
use crate::{EngineError, Isolation, LockMode, ReadMode, Result, RowBuf, TreeHandle, TreeKind, Txn, WaitPolicy};

/// Outcome of [`Txn::get`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// The row is in the buffer.
    Found,
    /// No such row in the version asked for.
    Missing,
    /// Locked by another transaction, under SKIP LOCKED.
    Skipped,
}

pub(crate) fn no_header(tree: &TreeShared) -> EngineError {
    corrupt(tree.id.root(), "entry of a row tree has no header")
}

/// Turns an entry into the version that `own` sees with `view`; false when that is none. The entry keeps its form as in
/// the leaf.
#[inline]
pub(crate) fn visible_version(
    store: &Store,
    tree: &TreeShared,
    own: TrxId,
    view: View,
    entry: &mut Vec<u8>,
) -> Result<bool> {
    loop {
        let h = RowHeader::decode(entry).ok_or_else(|| no_header(tree))?;
        if h.writer == own || store.trx.visible(h.writer, view) {
            return Ok(!h.flags.deleted());
        }
        if h.undo.kind() == ROW_INSERT {
            return Ok(false);
        }
        older_version(store, tree, h, entry)?;
    }
}

/// Replaces an entry by the version before it.
#[cold]
fn older_version(store: &Store, tree: &TreeShared, h: RowHeader, entry: &mut Vec<u8>) -> Result<()> {
    count(Counter::VersionsRead);
    let bad = |what| corrupt(h.undo.page(), what);
    let mut bytes = Vec::new();
    read_record(&store.pool, h.undo, &mut bytes)?;
    let record = record::decode(&bytes).map_err(|_| bad("undo record cannot be decoded"))?;
    if record.tree != tree.id || record.kind != h.undo.kind() {
        return Err(bad("undo record belongs to something else"));
    }
    let (older, diff) = match record.body {
        Body::RowModify { older, diff, .. } => (older, diff),
        Body::RowDelete { older, .. } => (older, &[][..]),
        _ => return Err(bad("undo record of a row is of another kind")),
    };
    let header = RowHeader { writer: older.writer, undo: older.undo, flags: older.flags };
    let mut made = Vec::with_capacity(entry.len() + diff.len());
    made.extend_from_slice(&header.encode());
    diff::apply(&entry[ROW_HEADER..], diff, &mut made).map_err(|_| bad("undo record does not fit the row"))?;
    *entry = made;
    Ok(())
}

/// Undo pages read at once.
const PAGES: usize = 64;
/// Versions that are read ahead: what is older may be on its own.
const MOST_STEPS: usize = 256;

/// Loads the undo pages that lie between entries and the versions of them that `own` sees. It loads the pages of all
/// rows at once, version after version; without this, each row would wait for one page after another. A page that
/// cannot be read is left to the reader that needs it.
#[cold]
pub(crate) fn load_older<'a>(store: &Store, own: TrxId, view: View, entries: impl Iterator<Item = &'a [u8]>) {
    let older = |h: RowHeader| {
        let hidden = h.writer != own && !store.trx.visible(h.writer, view);
        (hidden && h.undo.kind() != ROW_INSERT).then_some(h.undo)
    };
    let mut wave: Vec<_> = entries.filter_map(RowHeader::decode).filter_map(older).collect();
    let (mut pages, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..MOST_STEPS {
        if wave.is_empty() {
            return;
        }
        // In the order of the file, so that one load finds pages that are side by side.
        wave.sort_unstable_by_key(|at| at.0);
        pages.clear();
        pages.extend(wave.iter().map(|at| at.page()).filter(|&no| !store.pool.is_resident(no)));
        pages.dedup();
        for some in pages.chunks(PAGES) {
            store.pool.load_many(some, Priority::Scan);
        }
        wave.retain_mut(|at| {
            let next =
                read_record(&store.pool, *at, &mut bytes).ok().and_then(|()| match record::decode(&bytes).ok()?.body {
                    Body::RowModify { older: o, .. } | Body::RowDelete { older: o, .. } => {
                        older(RowHeader { writer: o.writer, undo: o.undo, flags: o.flags })
                    }
                    _ => None,
                });
            next.is_some_and(|next| {
                *at = next;
                true
            })
        });
        yield_if_due();
    }
}

/// Fetches the tail of a long row into its entry, in place of the reference to it.
#[inline(always)]
pub(crate) fn complete(tree: &TreeShared, entry: &mut Vec<u8>) -> Result<()> {
    match chain_of(entry) {
        None => Ok(()),
        Some((first, len)) => {
            entry.drain(ROW_HEADER..ROW_HEADER + CHAIN_REF);
            let want = entry.len() + len;
            tree.tree.read_chain(first, len, entry)?;
            if entry.len() == want { Ok(()) } else { Err(corrupt(first, "overflow chain is too short")) }
        }
    }
}

#[inline(always)]
fn lookup(tree: &TreeShared, key: &[u8], place: &mut Option<&mut Place>, out: &mut Vec<u8>) -> Result<bool> {
    Ok(match place {
        None => tree.tree.lookup(key, out)?,
        Some(place) => tree.tree.lookup_near(key, place, out)?,
    })
}

/// The newest version, committed or not. A long row's chain may be freed while it is read: then the entry has
/// changed too.
pub(crate) fn newest(tree: &TreeShared, key: &[u8], row: &mut RowBuf) -> Result<Read> {
    newest_by(tree, key, row, |out| Ok(tree.tree.lookup(key, out)?))
}

/// As [`newest`], with a look-up of one's own.
#[inline]
fn newest_by(
    tree: &TreeShared,
    key: &[u8],
    row: &mut RowBuf,
    mut lookup: impl FnMut(&mut Vec<u8>) -> Result<bool>,
) -> Result<Read> {
    loop {
        row.entry.clear();
        if !lookup(&mut row.entry)? {
            return Ok(Read::Missing);
        }
        let h = RowHeader::decode(&row.entry).ok_or_else(|| no_header(tree))?;
        if h.flags.deleted() {
            return Ok(Read::Missing);
        }
        if !h.flags.overflow() {
            return Ok(Read::Found);
        }
        let complete = complete(tree, &mut row.entry);
        let mut again = Vec::new();
        if tree.tree.lookup(key, &mut again)? && RowHeader::decode(&again) == Some(h) {
            return complete.map(|()| Read::Found);
        }
    }
}

/// Refuses a tree to a plain read at a snapshot: for what [`TreeHandle::check`] refuses it, and with
/// [`EngineError::TreeTooNew`] when it was made after the snapshot. Such a tree has newer rows or entries only, so that
/// the snapshot's would be missing. (InnoDB: `row_merge_is_index_usable`.)
#[inline]
pub(crate) fn check_at(tree: &TreeHandle, kind: TreeKind, by: (&Store, TrxId, View)) -> Result<()> {
    match tree.check_young(kind)? {
        None => Ok(()),
        Some(maker) => refuse_young(tree, maker, by),
    }
}

#[cold]
fn refuse_young(tree: &TreeHandle, maker: TrxId, (store, own, view): (&Store, TrxId, View)) -> Result<()> {
    if maker != own && !store.trx.visible(maker, view) {
        return Err(EngineError::TreeTooNew(tree.id()));
    }
    let for_all = match store.trx.state(maker) {
        TrxState::Active => false,
        TrxState::Ended(lsn) => lsn <= store.snapshots.oldest(),
        TrxState::Old => true,
    };
    if for_all {
        tree.show_to_all();
    }
    Ok(())
}

/// The lock that a transaction has taken on a row, by [`Txn::get`] or by a change that returned
/// [`Update::Changed`](crate::Update::Changed), to let it go when the row does not match.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreshLock(Option<Option<Mode>>);

impl FreshLock {
    /// Notes the lock that was taken last, if any: before anything else is read, which may lock, too.
    #[inline]
    pub fn note(&mut self, txn: &mut Txn) {
        if let Some(before) = txn.fresh_lock.take() {
            self.0 = Some(before);
        }
    }

    /// At READ COMMITTED and below: releases the lock, which is on the row with this key. Without effect at higher
    /// levels, and when it was held before.
    pub fn release(self, txn: &mut Txn, tree: &TreeHandle, key: &[u8]) {
        if let Some(before) = self.0
            && txn.options.isolation <= Isolation::ReadCommitted
        {
            txn.owner.unlock_record(&tree.shared.locks, key, before);
        }
    }
}

impl Txn {
    /// Whether the plain reads of a statement lock at SERIALIZABLE where it is a transaction by itself: of all but
    /// SELECT.
    pub fn lock_plain_reads(&mut self, lock: bool) {
        self.options.plain_reads_lock = lock;
    }

    /// The mode a read is done with at this transaction's level.
    pub(crate) fn effective(&self, mode: ReadMode) -> ReadMode {
        match (mode, self.options.isolation) {
            (ReadMode::Snapshot, Isolation::Serializable)
                if !self.options.autocommit || self.options.plain_reads_lock =>
            {
                ReadMode::FOR_SHARE
            }
            (ReadMode::Snapshot, Isolation::ReadUncommitted) => ReadMode::Newest,
            (mode, _) => mode,
        }
    }

    #[inline]
    pub(crate) fn get_row(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        mode: ReadMode,
        mut place: Option<&mut Place>,
        row: &mut RowBuf,
        counts: bool,
    ) -> Result<Read> {
        self.check_active()?;
        let read = match self.effective(mode) {
            ReadMode::Snapshot => self.get_visible(tree, key, &mut place, row),
            ReadMode::Newest => {
                let (shared, spot) = (&*tree.shared, &mut self.spot);
                tree.check(TreeKind::Row).and_then(|()| match &mut place {
                    // It may be about to change the row.
                    None => newest_by(shared, key, row, |out| Ok(spot.lookup(&shared.tree, key, out)?)),
                    Some(place) => newest_by(shared, key, row, |out| Ok(shared.tree.lookup_near(key, place, out)?)),
                })
            }
            ReadMode::Locking { mode, wait } => {
                tree.check(TreeKind::Row).and_then(|()| self.get_locking(tree, key, mode, wait, row))
            }
        };
        match read {
            Ok(Read::Found) if counts => {
                tree.shared.count_among_all(Counter::InnodbRowsRead, 1);
                tree.shared.uses.add(Use::Read, 1);
            }
            Ok(Read::Found) => {}
            _ => row.entry.clear(),
        }
        read
    }

    #[inline]
    fn get_visible(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        place: &mut Option<&mut Place>,
        row: &mut RowBuf,
    ) -> Result<Read> {
        let view = self.view();
        check_at(tree, TreeKind::Row, (&self.engine.store, self.own_id(), view))?;
        let (store, tree) = (&*self.engine.store, &*tree.shared);
        row.entry.clear();
        if !lookup(tree, key, place, &mut row.entry)? {
            return Ok(Read::Missing);
        }
        if !visible_version(store, tree, self.own_id(), view, &mut row.entry)? {
            return Ok(Read::Missing);
        }
        complete(tree, &mut row.entry)?;
        Ok(Read::Found)
    }

    fn get_locking(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
        row: &mut RowBuf,
    ) -> Result<Read> {
        self.fresh_lock = None;
        let mut fresh = None;
        let result = self.lock_and_read(tree, key, mode, policy, row, &mut fresh);
        match (&result, fresh) {
            (Ok(Read::Found), _) => self.fresh_lock = fresh,
            (_, Some(before)) => self.owner.unlock_record(&tree.shared.locks, key, before),
            _ => {}
        }
        match result {
            Err(EngineError::NoWait) if policy == WaitPolicy::SkipLocked => Ok(Read::Skipped),
            Err(e) => Err(self.failed(e)),
            ok => ok,
        }
    }

    /// `fresh` says on return whether a lock was taken on the key, and what was held before.
    fn lock_and_read(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
        row: &mut RowBuf,
        fresh: &mut Option<Option<Mode>>,
    ) -> Result<Read> {
        let wait = LockWait::new(self.options.lock_wait_timeout);
        let left = |wait: &LockWait| if policy == WaitPolicy::Wait { wait.left() } else { Wait::No };
        let mut locked = false;
        // A transaction that has written nothing cannot find a version of its own, which must not be locked: so it
        // locks before the first look. An exception is a tree where an interval may lock all rows around a key that
        // has none (INV-LOCK-7).
        if self.writer.is_none() && policy == WaitPolicy::Wait && tree.shared.locks.no_ranges() {
            locked = self.take_lock(tree, key, mode, left(&wait), fresh)?;
        }
        loop {
            row.entry.clear();
            let found = self.spot.lookup(&tree.shared.tree, key, &mut row.entry)?;
            let header =
                if found { Some(RowHeader::decode(&row.entry).ok_or_else(|| no_header(&tree.shared))?) } else { None };
            let whose = header.map(|h| (h, self.store().whose(self.own_id(), h.writer)));
            match whose {
                Some((h, Whose::Own)) if h.flags.deleted() => return Ok(Read::Missing),
                Some((_, Whose::Own)) => {
                    complete(&tree.shared, &mut row.entry)?;
                    return Ok(Read::Found);
                }
                Some((h, Whose::Committed(lsn))) if !h.flags.deleted() => {
                    if !locked {
                        locked = self.take_lock(tree, key, mode, left(&wait), fresh)?;
                        continue; // the lock first, then the row
                    }
                    self.seen = self.seen.max(lsn);
                    complete(&tree.shared, &mut row.entry)?;
                    return Ok(Read::Found);
                }
                Some((_, Whose::Active(trx))) => {
                    if !locked {
                        locked = self.take_lock(tree, key, mode, left(&wait), fresh)?;
                        continue;
                    }
                    self.wait_trx(tree, key, trx, left(&wait))?;
                }
                Some((_, Whose::Committed(_))) | None => {
                    if let Some((_, Whose::Committed(lsn))) = whose {
                        self.seen = self.seen.max(lsn);
                    }
                    if let Some(before) = fresh.take() {
                        self.owner.unlock_record(&tree.shared.locks, key, before);
                        locked = false;
                    }
                    if self.options.isolation <= Isolation::ReadCommitted || self.lock_missing(tree, key)? {
                        return Ok(Read::Missing);
                    }
                }
            }
        }
    }

    fn take_lock(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        mode: LockMode,
        wait: Wait,
        fresh: &mut Option<Option<Mode>>,
    ) -> Result<bool> {
        *fresh = Some(self.lock_key(tree, key, mode, wait)?.before);
        Ok(true)
    }

    /// Locks the gap in which `key` is missing, from the entry below to the one above; false when the key is there now.
    fn lock_missing(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<bool> {
        let mut cursor = tree.shared.tree.cursor();
        cursor.set_range(None, Some(key));
        let below = cursor.prev()?.then(|| cursor.key().to_vec());
        cursor.set_range(Some(key), None);
        let mut above = cursor.next()?;
        if above && cursor.key() == key {
            above = cursor.next()?;
        }
        let low = below.as_deref().map_or(Cut::Min, Cut::After);
        let high = if above { Cut::Before(cursor.key()) } else { Cut::Max };
        self.owner.lock_gap(&tree.shared.locks, low, high);
        // An insert that did not see the gap lock is seen here.
        let mut entry = Vec::new();
        if !tree.shared.tree.lookup(key, &mut entry)? {
            return Ok(true);
        }
        let h = RowHeader::decode(&entry).ok_or_else(|| no_header(&tree.shared))?;
        Ok(h.flags.deleted() && matches!(self.store().whose(self.own_id(), h.writer), Whose::Committed(_)))
    }
}
