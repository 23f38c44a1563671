//! Changes of row trees: insert, update, delete.
//!
//! One attempt holds the leaf's latch from the decision to the log record. What has to be waited for is waited for
//! between attempts, each of which begins at the root.

use std::cell::Cell;

use gannet_base::{Lsn, PageNo, TrxId};
use gannet_btree::{Leaf, Spot};
use gannet_buffer::{Mtr, Stop};
use gannet_lock::{LockOwner, Mode};
use gannet_page::node::MAX_ENTRY;
use gannet_telemetry::Counter;

use crate::consumer::{self, Parts};
use crate::row::{CHAIN_REF, ROW_HEADER, RowFlags, RowHeader, chain_of};
use crate::store::{Store, Whose};
use crate::trees::TreeShared;
use crate::txn::slow_down;
use crate::undo::diff::{self, Part};
use crate::undo::record::{Body, OlderRow, UndoPtr};
use crate::uses::{TreeUses, Use};
use crate::waiting::LockWait;
use crate::writer::Writer;
use crate::{EngineError, LockMode, Result, RowStamp, TreeHandle, TreeKind, Txn};

/// Bytes of a long row that stay in the leaf.
pub(crate) const INLINE_HEAD: usize = 512;
/// Longest row.
pub(crate) const MAX_ROW: usize = (4 << 30) - 1024;

/// Outcome of [`Txn::insert`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insert {
    /// Done.
    Inserted,
    /// A live row with this key exists; it is now locked (shared, as InnoDB does; by [`Txn::insert_or_lock`]
    /// exclusively).
    Duplicate,
}

/// Outcome of [`Txn::update`] and [`Txn::update_if`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// Done.
    Updated,
    /// No such row (any more).
    Missing,
    /// [`Txn::update_if`]: the row is no longer the version named; read again.
    Changed,
}

/// Outcome of [`Txn::delete`] and [`Txn::delete_if`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delete {
    /// Done.
    Deleted,
    /// No such row (any more).
    Missing,
    /// [`Txn::delete_if`]: the row is no longer the version named; read again.
    Changed,
}

thread_local! {
    /// Buffers for the thread's next write. Buffers of the transaction's own would have left the caches by the time
    /// its client sends the next statement.
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch::NEW) };
}

/// Buffers of one attempt to write.
pub(crate) struct Scratch {
    pub(crate) staged: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) diff: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl Scratch {
    const NEW: Scratch = Scratch { staged: Vec::new(), value: Vec::new(), diff: Vec::new(), key: Vec::new() };

    /// Runs `f` with the thread's buffers. A caller that runs while they are lent gets new ones.
    pub(crate) fn lent<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
        let mut scratch = SCRATCH.replace(Scratch::NEW);
        let result = f(&mut scratch);
        SCRATCH.set(scratch);
        result
    }
}

/// A change wanted.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// The row as it goes into the leaf, and its flags.
    Insert(&'a [u8], RowFlags),
    /// And what the transaction carries, if it is to end with it.
    Update(&'a [u8], RowFlags, Option<RowStamp>, Option<Parts<'a>>),
    Delete(Option<RowStamp>),
}

impl Change<'_> {
    /// It will hardly be refused and has not to wait: what writing needs is had before the first attempt, which then
    /// is the last.
    fn is_certain(self, txn: &Txn) -> bool {
        let free = |stamp: RowStamp| !matches!(txn.store().whose(txn.own_id(), stamp.writer), Whose::Active(_));
        txn.writer.is_none()
            && match self {
                Change::Insert(..) => true,
                Change::Update(_, _, stamp, _) | Change::Delete(stamp) => stamp.is_some_and(free),
            }
    }
}

/// The result of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Done,
    /// A live row has the key. `own`: written by this transaction.
    Duplicate {
        own: bool,
    },
    Missing,
    Changed,
}

impl End {
    /// The error of a change that cannot have this result.
    #[cold]
    fn is_foreign_to(self, change: &str) -> EngineError {
        EngineError::Damaged(format!("{change} of a row came to {self:?}"))
    }
}

/// The result of an attempt: an end, or what is needed before the next attempt.
enum Step {
    End(End),
    /// The row's active writer must end first.
    Writer(TrxId),
    /// Another's explicit lock on the key must go first.
    Record,
    /// Another's gap lock must go first.
    Gap,
    /// The transaction needs an id and a stream.
    Start,
    /// The stream needs another page.
    Extend,
}

struct Attempt<'a> {
    store: &'a Store,
    tree: &'a TreeShared,
    owner: &'a LockOwner,
    writer: &'a mut Option<Writer>,
    seen: &'a mut Lsn,
    overwrote: &'a mut Lsn,
    scratch: &'a mut Scratch,
    key: &'a [u8],
    spot: Spot,
}

impl Attempt<'_> {
    fn run(&mut self, change: Change<'_>) -> std::result::Result<Step, Stop> {
        let mut mtr = self.store.pool.mtr()?;
        let room = match change {
            Change::Insert(row, _) | Change::Update(row, ..) => ROW_HEADER + row.len(),
            Change::Delete(_) => 0,
        };
        let leaf = match change {
            Change::Insert(..) => self.tree.tree.leaf_for_write(&mut mtr, self.key, room)?,
            _ => Leaf::at_spot(&self.tree.tree, &mut mtr, self.key, room, self.spot)?,
        };
        let header = if leaf.found() { Some(header_of(&mtr, leaf)?) } else { None };
        if let Some(no) = self.may_not(header, change) {
            return Ok(no);
        }
        let before = header.map_or(Lsn::ZERO, |h| match self.store.whose(TrxId::ZERO, h.writer) {
            Whose::Committed(lsn) => lsn,
            _ => Lsn::ZERO,
        });
        let step = match change {
            Change::Insert(row, flags) => match header {
                None => self.insert_new(mtr, leaf, row, flags),
                Some(h) => self.replace(mtr, leaf, h, (row, flags), 1, None),
            },
            Change::Update(row, flags, _, ends) => match header {
                Some(h) => self.replace(mtr, leaf, h, (row, flags), 0, ends),
                None => Ok(Step::End(End::Missing)),
            },
            Change::Delete(_) => match header {
                Some(h) => self.delete(mtr, leaf, h),
                None => Ok(Step::End(End::Missing)),
            },
        };
        if matches!(step, Ok(Step::End(End::Done))) {
            *self.overwrote = (*self.overwrote).max(before);
        }
        step
    }

    /// Whether the change has to wait or is refused. Under the leaf's latch, which orders this with lockers: they enter
    /// their lock before they read the row.
    fn may_not(&mut self, header: Option<RowHeader>, change: Change<'_>) -> Option<Step> {
        let own_id = self.writer.as_ref().map_or(TrxId::ZERO, |w| w.id);
        let whose = header.map(|h| self.store.whose(own_id, h.writer));
        if let Some(Whose::Active(trx)) = whose {
            return Some(Step::Writer(trx));
        }
        if let Some(Whose::Committed(lsn)) = whose {
            *self.seen = (*self.seen).max(lsn);
        }
        let live = header.is_some_and(|h| !h.flags.deleted());
        let inserting = match change {
            Change::Insert(..) if live => return Some(Step::End(End::Duplicate { own: whose == Some(Whose::Own) })),
            Change::Insert(..) => true,
            Change::Update(_, _, stamp, _) | Change::Delete(stamp) => {
                if let (Some(want), Some(h)) = (stamp, header)
                    && (want.writer != h.writer || want.undo != h.undo.0)
                {
                    return Some(Step::End(End::Changed));
                }
                if !live {
                    return Some(if stamp.is_some() { Step::End(End::Changed) } else { Step::End(End::Missing) });
                }
                false
            }
        };
        let locks = &self.tree.locks;
        // An own stamp is this transaction's lock: another owner with an explicit lock on the record waits for this
        // transaction.
        if whose != Some(Whose::Own) && !locks.no_records() {
            let blocked = if inserting {
                self.owner.record_blocked(locks, self.key, Mode::Exclusive)
            } else {
                self.owner.row_blocked(locks, self.key, Mode::Exclusive)
            };
            if blocked {
                return Some(Step::Record);
            }
        }
        if inserting && !locks.no_gaps() && self.owner.insert_blocked(locks, self.key) {
            return Some(Step::Gap);
        }
        None
    }

    fn insert_new(
        &mut self,
        mut mtr: Mtr<'_>,
        leaf: Leaf,
        row: &[u8],
        flags: RowFlags,
    ) -> std::result::Result<Step, Stop> {
        let Some(w) = self.writer.as_mut() else { return Ok(Step::Start) };
        let body = Body::RowInsert { key: self.key };
        let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
        let page = mtr.latch(w.tail.page)?;
        let value = &mut self.scratch.value;
        value.clear();
        value.extend_from_slice(&RowHeader { writer: w.id, undo: at, flags }.encode());
        value.extend_from_slice(row);
        leaf.insert(&mut mtr, self.key, value);
        w.append(&mut mtr, page, &self.scratch.staged, at);
        mtr.commit();
        self.tree.count_rows(1);
        Ok(Step::End(End::Done))
    }

    /// Writes a new version over the present one; `rows`: what the tree gains by it; `ends`: the transaction commits
    /// with it, and with this payload, if it is all that it has written.
    fn replace(
        &mut self,
        mut mtr: Mtr<'_>,
        leaf: Leaf,
        h: RowHeader,
        (row, flags): (&[u8], RowFlags),
        rows: i64,
        ends: Option<Parts<'_>>,
    ) -> std::result::Result<Step, Stop> {
        let Some(w) = self.writer.as_mut() else { return Ok(Step::Start) };
        let old = &leaf.value(&mtr)[ROW_HEADER..];
        self.scratch.diff.clear();
        let part = Part::of(old, row);
        diff::encode(old, row, part, &mut self.scratch.diff);
        let old_chain = chain_of(leaf.value(&mtr)).map_or(PageNo::ZERO, |c| c.0);
        let body = Body::RowModify {
            older: OlderRow { writer: h.writer, undo: h.undo, flags: h.flags },
            ended_chain: old_chain,
            key: self.key,
            diff: &self.scratch.diff,
        };
        let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
        // Two splices: the header, which always changes, and the stretch of the row that does.
        let page = mtr.latch(w.tail.page)?;
        if !part.is_empty() {
            leaf.splice(&mut mtr, ROW_HEADER + part.front, part.older - part.front, &row[part.front..part.newer]);
        }
        leaf.splice(&mut mtr, 0, ROW_HEADER, &RowHeader { writer: w.id, undo: at, flags }.encode());
        let ends = ends.filter(|_| w.stage_end(&mut self.scratch.staged));
        w.append(&mut mtr, page, &self.scratch.staged, at);
        match ends {
            Some(parts) => w.committed = consumer::commit_change(self.store, w, mtr, parts),
            None => drop(mtr.commit()),
        }
        self.tree.count_rows(rows);
        Ok(Step::End(End::Done))
    }

    /// Marks the row as deleted; purge takes it out.
    fn delete(&mut self, mut mtr: Mtr<'_>, leaf: Leaf, h: RowHeader) -> std::result::Result<Step, Stop> {
        let Some(w) = self.writer.as_mut() else { return Ok(Step::Start) };
        let older = OlderRow { writer: h.writer, undo: h.undo, flags: h.flags };
        let body = Body::RowDelete { older, ended_chain: PageNo::ZERO, key: self.key };
        let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
        let page = mtr.latch(w.tail.page)?;
        let flags = RowFlags(h.flags.0 | RowFlags::DELETED);
        leaf.splice(&mut mtr, 0, ROW_HEADER, &RowHeader { writer: w.id, undo: at, flags }.encode());
        w.append(&mut mtr, page, &self.scratch.staged, at);
        mtr.commit();
        self.tree.count_rows(-1);
        Ok(Step::End(End::Done))
    }
}

pub(crate) fn header_of(mtr: &Mtr<'_>, leaf: Leaf) -> std::result::Result<RowHeader, Stop> {
    RowHeader::decode(leaf.value(mtr)).ok_or_else(|| {
        gannet_buffer::Error::page(mtr.page_no(leaf.page()), Lsn::ZERO, "entry of a row tree has no header").into()
    })
}

impl Txn {
    fn attempt(&mut self, tree: &TreeHandle, key: &[u8], change: Change<'_>) -> Result<Step> {
        let store = &*self.engine.store;
        Scratch::lent(|scratch| {
            let mut attempt = Attempt {
                store,
                tree: &tree.shared,
                owner: &self.owner,
                writer: &mut self.writer,
                seen: &mut self.seen,
                overwrote: &mut self.overwrote,
                scratch,
                key,
                spot: self.spot,
            };
            Ok(store.pool.run(|| attempt.run(change))?)
        })
    }

    /// Repeats an attempt until nothing is to be waited for.
    fn write_row(&mut self, tree: &TreeHandle, key: &[u8], change: Change<'_>, wait: &mut LockWait) -> Result<End> {
        if change.is_certain(self) {
            self.start_writing()?;
        }
        loop {
            let step = self.attempt(tree, key, change)?;
            match step {
                Step::Start => self.start_writing()?,
                Step::Extend => self.extend_undo()?,
                Step::Writer(trx) => self.wait_for_writer(tree, key, trx, wait)?,
                Step::Record => self.wait_for_record(tree, key, wait)?,
                Step::Gap => self.wait_for_gap(tree, key, wait)?,
                Step::End(end) => return Ok(end),
            }
        }
    }

    fn check_write(&mut self, tree: &TreeHandle, kind: TreeKind) -> Result<()> {
        self.check_active()?;
        if self.options.read_only {
            return Err(EngineError::ReadOnly);
        }
        tree.check(kind)
    }

    /// Runs a change of a row tree. When the change does not happen, the transaction leaves the queue that it waited
    /// in, unless the row has another version now, which the caller wants to see: a transaction that left the queue
    /// would go to its end, and find yet another version at its next turn. `fresh_lock` then says whether the row was
    /// locked for that.
    fn change_row(&mut self, tree: &TreeHandle, key: &[u8], change: Change<'_>) -> Result<End> {
        let mut wait = LockWait::new(self.options.lock_wait_timeout);
        let result = self.write_row(tree, key, change, &mut wait);
        match result {
            Ok(End::Done) => {
                let (counter, what) = match change {
                    Change::Insert(..) => (Counter::InnodbRowsInserted, Use::Inserted),
                    Change::Update(..) => (Counter::InnodbRowsUpdated, Use::Updated),
                    Change::Delete(..) => (Counter::InnodbRowsDeleted, Use::Deleted),
                };
                tree.shared.count_among_all(counter, 1);
                tree.shared.uses.add(what, 1);
                self.owner.stamped(&tree.shared.locks, key);
                Ok(End::Done)
            }
            Ok(end @ (End::Changed | End::Duplicate { own: false })) => {
                self.fresh_lock = wait.queued.take();
                Ok(end)
            }
            Ok(end @ (End::Missing | End::Duplicate { own: true })) => {
                self.leave_queue(tree, key, &mut wait);
                Ok(end)
            }
            Err(e) => {
                self.leave_queue(tree, key, &mut wait);
                Err(self.failed(e))
            }
        }
    }

    pub(crate) fn insert_row(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8], dup: LockMode) -> Result<Insert> {
        self.check_write(tree, TreeKind::Row)?;
        self.with_long_row(tree, key, row, |t, row, flags| {
            let mut locked = false;
            loop {
                match t.change_row(tree, key, Change::Insert(row, flags))? {
                    End::Duplicate { own: true } => return Ok((false, Insert::Duplicate)),
                    End::Duplicate { own: false } if locked => return Ok((false, Insert::Duplicate)),
                    End::Duplicate { own: false } => {
                        // A transaction that waited has the row locked already, and may have to share it.
                        if let Some(before) = t.fresh_lock.take() {
                            let keep = before.max(Some(dup.into()));
                            if keep == Some(Mode::Shared) {
                                t.owner.unlock_record(&tree.shared.locks, key, keep);
                            }
                            return Ok((false, Insert::Duplicate));
                        }
                        let timeout = t.options.lock_wait_timeout;
                        let wait = LockWait::new(timeout);
                        let _again = t.lock_key(tree, key, dup, wait.left()).map_err(|e| t.failed(e))?;
                        locked = true;
                    }
                    End::Done => return Ok((true, Insert::Inserted)),
                    end @ (End::Missing | End::Changed) => return Err(end.is_foreign_to("an insert")),
                }
            }
        })
    }

    pub(crate) fn update_row(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        row: &[u8],
        stamp: Option<RowStamp>,
        ends: Option<Parts<'_>>,
    ) -> Result<Update> {
        self.check_write(tree, TreeKind::Row)?;
        self.with_long_row(tree, key, row, |t, row, flags| {
            Ok(match t.change_row(tree, key, Change::Update(row, flags, stamp, ends))? {
                End::Done => (true, Update::Updated),
                End::Changed => (false, Update::Changed),
                End::Missing => (false, Update::Missing),
                end @ End::Duplicate { .. } => return Err(end.is_foreign_to("an update")),
            })
        })
    }

    /// See [`Txn::queue_up`].
    pub(crate) fn queue_for_row(&mut self, tree: &TreeHandle, key: &[u8], always: bool) -> Result<bool> {
        self.check_write(tree, TreeKind::Row)?;
        let locks = &tree.shared.locks;
        // A transaction that has written may have its stamp on the row, which is its lock: the holder of the explicit
        // lock then waits for it.
        let wrote = self.writer.as_ref().is_some_and(|w| !w.begin.is_none());
        let free = || locks.no_records() || !self.owner.record_blocked(locks, key, Mode::Exclusive);
        if wrote || !always && (free() || self.comes_free(tree, key)) {
            return Ok(false);
        }
        if self.writer.is_none() {
            slow_down(self);
        }
        let mut wait = LockWait::new(self.options.lock_wait_timeout);
        let _again = self.queue(tree, key, &mut wait).map_err(|e| self.failed(e))?;
        self.fresh_lock = wait.queued;
        if self.writer.is_none() {
            self.begin_writing()?;
        }
        Ok(true)
    }

    pub(crate) fn delete_row(&mut self, tree: &TreeHandle, key: &[u8], stamp: Option<RowStamp>) -> Result<Delete> {
        self.check_write(tree, TreeKind::Row)?;
        Ok(match self.change_row(tree, key, Change::Delete(stamp))? {
            End::Done => Delete::Deleted,
            End::Changed => Delete::Changed,
            End::Missing => Delete::Missing,
            end @ End::Duplicate { .. } => return Err(end.is_foreign_to("a delete")),
        })
    }

    /// Runs `write` with the row as it goes into the leaf. A row too long for one has its tail written into an overflow
    /// chain first, which is taken back if `write` says that it was not needed.
    fn with_long_row<T>(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        row: &[u8],
        write: impl FnOnce(&mut Txn, &[u8], RowFlags) -> Result<(bool, T)>,
    ) -> Result<T> {
        if key.len() > TreeHandle::MAX_KEY_BYTES {
            return Err(EngineError::KeyTooLong { bytes: key.len() });
        }
        if key.len() + ROW_HEADER + row.len() <= MAX_ENTRY {
            return write(self, row, RowFlags::default()).map(|r| r.1);
        }
        if row.len() > MAX_ROW {
            return Err(EngineError::RowTooLong { bytes: row.len() });
        }
        let room = MAX_ENTRY.saturating_sub(key.len() + ROW_HEADER + CHAIN_REF);
        let (head, tail) = row.split_at(row.len().min(room.min(INLINE_HEAD)));
        let mark = self.savepoint();
        let first = self.write_chain(tree, tail).map_err(|e| self.failed(e))?;
        let mut inline = Vec::with_capacity(CHAIN_REF + head.len());
        inline.extend_from_slice(&first.0.to_le_bytes());
        inline.extend_from_slice(&(tail.len() as u32).to_le_bytes());
        inline.extend_from_slice(head);
        let result = write(self, &inline, RowFlags(RowFlags::OVERFLOW));
        if self.is_active() && !matches!(result, Ok((true, _))) {
            self.rollback_to(mark)?;
        }
        result.map(|r| r.1)
    }

    /// Writes an overflow chain, each page with its undo record.
    fn write_chain(&mut self, tree: &TreeHandle, bytes: &[u8]) -> Result<PageNo> {
        if self.writer.is_none() {
            self.start_writing()?;
        }
        let store = &*self.engine.store;
        let staged = &mut Vec::new();
        let Some(w) = self.writer.as_mut() else { return Err(EngineError::TooManyTransactions) };
        let mut next = PageNo::ZERO;
        // A page a call: between them the undo stream may get another page.
        let mut parts: Vec<&[u8]> = bytes.chunks(gannet_page::raw::OVERFLOW_SPACE).collect();
        while let Some(part) = parts.pop() {
            loop {
                let probe = Body::Chain { first: PageNo::MAX, pages: 1 };
                if w.stage(tree.id(), &probe, staged).is_some() {
                    break;
                }
                w.extend(store)?;
            }
            next = tree.shared.tree.write_chain_page(part, next, |mtr, first| {
                let body = Body::Chain { first, pages: 1 };
                let Some(at) = w.stage(tree.id(), &body, staged) else { return Err(Stop::Restart) };
                let page = mtr.latch(w.tail.page)?;
                w.append(mtr, page, staged, at);
                Ok(())
            })?;
        }
        Ok(next)
    }
}

impl TreeHandle {
    /// Rows, or live entries, as counted while they were written: one load, right up to a crash.
    pub fn approximate_rows(&self) -> u64 {
        self.shared.rows()
    }

    /// [`TreeHandle::changes`] begins again at 0 there.
    pub const CHANGES: u64 = 1 << 24;

    /// Entries inserted and deleted since the tree was opened, modulo [`TreeHandle::CHANGES`]. A change of an entry's
    /// key is both; a row that changes in place is neither.
    pub fn changes(&self) -> u64 {
        self.shared.changes()
    }

    /// How often its rows were read and changed since it was opened.
    pub fn uses(&self) -> TreeUses {
        self.shared.uses.sum()
    }

    /// Counts a row that was found by its key while it was changed.
    pub fn count_found(&self) {
        self.shared.count_among_all(Counter::InnodbRowsRead, 1);
        self.shared.uses.add(Use::Read, 1);
    }

    /// Counts rows that were inserted as a tree built from them.
    pub fn count_inserted(&self, rows: u64) {
        self.shared.count_among_all(Counter::InnodbRowsInserted, rows);
        self.shared.uses.add(Use::Inserted, rows);
    }

    /// Its rows do not count among those of tables (`Innodb_rows_*`), but for themselves only ([`TreeHandle::uses`]).
    pub fn count_apart(&self) {
        self.shared.set_apart();
    }
}

/// The pointer by which a version is known in [`RowStamp`].
pub(crate) fn stamp_of(h: RowHeader) -> RowStamp {
    RowStamp { writer: h.writer, undo: UndoPtr(h.undo.0).0 }
}
