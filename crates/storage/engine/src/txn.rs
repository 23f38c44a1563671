//! Transactions.

use std::time::Duration;

use gannet_base::sync::atomic::Ordering::*;
use gannet_btree::{Place, Spot};
use gannet_lock::{LockOwner, Mode};
use gannet_runtime::{Waker, hurry, mask_interrupts, sleep};
use gannet_telemetry::{Counter, count};

use crate::consumer::{self, Parts, Payload};
use crate::plant::{Fault, planted};
use crate::rollback::{For, Orphan, undo_to};
use crate::snapshot::{CellId, Info};
use crate::store::Store;
use crate::trxtable::View;
use crate::undo::record::{COMMITTED, PREPARED, ROLLED_BACK, UndoPtr};
use crate::undo::stream;
use crate::writer::Writer;
use crate::{
    Delete, Engine, EngineError, Insert, Isolation, KeyRange, LockMode, Lsn, Read, ReadMode, Result, RowBuf, RowStamp,
    Scan, ScanOptions, TreeHandle, TreeKind, TrxId, TxnOptions, Update,
};

/// Outcome of [`Txn::index_insert_unique`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexInsert {
    /// Done.
    Inserted,
    /// A live entry has the same leading bytes. It is now locked.
    Duplicate {
        /// Its key (columns + primary key).
        existing: Vec<u8>,
        /// Its carried bytes.
        carried: Vec<u8>,
    },
}

/// From this many record locks on, the end of a transaction returns their memory to the system at once.
const MANY_LOCKS: usize = 100_000;

/// A point inside a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    last: UndoPtr,
}

impl From<LockMode> for Mode {
    fn from(m: LockMode) -> Mode {
        match m {
            LockMode::Shared => Mode::Shared,
            LockMode::Exclusive => Mode::Exclusive,
        }
    }
}

/// What a [`Txn`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Room for a transaction.
    Idle,
    Active,
    /// Undoing its changes, or some of them, has failed on the way.
    HalfUndone,
}

/// A transaction, or the room for one: it is made once for a session and begun, committed and begun again.
/// An active transaction that is dropped is rolled back then and there; while a panic unwinds, in the background.
///
/// After [`EngineError::Deadlock`] the transaction is rolled back and idle. After other errors it is as before the
/// failed call, apart from locks. Two calls are different: a commit that fails has rolled the transaction back, and a
/// rollback that fails leaves it half undone. Nothing but its rollback is possible then, so that no half is ever
/// committed: [`EngineError::HalfUndone`].
pub struct Txn {
    pub(crate) engine: Engine,
    pub(crate) options: TxnOptions,
    state: State,
    pub(crate) cell: CellId,
    pub(crate) owner: LockOwner,
    /// The snapshot in use; zero when none is.
    snapshot: View,
    /// The newest end among transactions whose work this one saw by other than snapshot reads.
    pub(crate) seen: Lsn,
    /// The newest commit among the versions that this transaction has written over.
    pub(crate) overwrote: Lsn,
    pub(crate) writer: Option<Writer>,
    /// The last locking read took a lock; what was held before.
    pub(crate) fresh_lock: Option<Option<Mode>>,
    /// How often this statement has looked again for the end of another transaction.
    pub(crate) looked: u8,
    /// Where the row was that was read last in order to be changed.
    pub(crate) spot: Spot,
    /// Prepared: dropping it leaves it as it is, for the next start.
    prepared: bool,
}

impl std::fmt::Debug for Txn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Txn").field("id", &self.id()).field("state", &self.state).finish_non_exhaustive()
    }
}

/// One that is not begun.
pub(crate) fn made(engine: Engine, options: TxnOptions) -> Result<Txn> {
    let cell = engine.store.snapshots.take().ok_or(EngineError::TooManyTransactions)?;
    let owner = engine.store.locks.owner(options.owner_thread_id);
    let txn = Txn {
        engine,
        options,
        state: State::Idle,
        cell,
        owner,
        snapshot: View::default(),
        seen: Lsn::ZERO,
        overwrote: Lsn::ZERO,
        writer: None,
        fresh_lock: None,
        looked: 0,
        spot: Spot::default(),
        prepared: false,
    };
    count(Counter::TrxAllocations);
    let info = txn.engine.store.snapshots.info(cell);
    info.lock_owner.store(txn.owner.id(), Relaxed);
    info.owner.store(options.owner_thread_id, Relaxed);
    info.kind.store(options.packed(), Relaxed);
    Ok(txn)
}

impl Txn {
    /// Begins again after [`commit`](Txn::commit) or [`rollback`](Txn::rollback). An active transaction is rolled back.
    /// Allocates nothing and writes nothing shared.
    pub fn begin(&mut self, options: TxnOptions) -> Result<()> {
        if self.state != State::Idle {
            self.rollback()?;
        }
        self.store().check_running()?;
        let info = self.engine.store.snapshots.info(self.cell);
        if options.packed() != self.options.packed() {
            info.kind.store(options.packed(), Relaxed);
        }
        // A single statement pays for no look at the clock.
        info.started_ns.store(if options.autocommit { 0 } else { gannet_runtime::now_ns() }, Relaxed);
        self.options = options;
        self.state = State::Active;
        self.seen = Lsn::ZERO;
        self.overwrote = Lsn::ZERO;
        count(Counter::TransactionsStarted);
        Ok(())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.engine.store
    }

    /// True between begin and commit or rollback.
    pub fn is_active(&self) -> bool {
        self.state != State::Idle
    }

    /// True when undoing changes has failed on the way: nothing but [`Txn::rollback`] is possible, or
    /// [`Txn::rollback_to`] an older savepoint.
    pub fn is_half_undone(&self) -> bool {
        self.state == State::HalfUndone
    }

    #[inline]
    pub(crate) fn check_active(&self) -> Result<()> {
        match self.state {
            State::Active => Ok(()),
            State::Idle => Err(EngineError::NotActive),
            State::HalfUndone => Err(EngineError::HalfUndone),
        }
    }

    /// It is about to be begun: asks for what that will touch.
    #[inline]
    pub fn prefetch(&self) {
        self.owner.prefetch();
        gannet_base::prefetch(self.engine.store.snapshots.info(self.cell), 0..size_of::<Info>());
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How it was begun.
    pub fn options(&self) -> &TxnOptions {
        &self.options
    }

    /// Its id; `None` until the first write.
    pub fn id(&self) -> Option<TrxId> {
        self.writer.as_ref().map(|w| w.id)
    }

    /// Its id, zero when it has none: no version carries that.
    #[inline]
    pub(crate) fn own_id(&self) -> TrxId {
        self.writer.as_ref().map_or(TrxId::ZERO, |w| w.id)
    }

    /// True when it has changed something that is not rolled back.
    pub fn has_writes(&self) -> bool {
        self.writer.as_ref().is_some_and(|w| w.records > 0)
    }

    /// Number of undo records: what deadlock detection compares.
    pub fn weight(&self) -> u64 {
        self.writer.as_ref().map_or(0, |w| w.records)
    }

    /// `innodb_lock_wait_timeout` from now on.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.options.lock_wait_timeout = timeout;
    }

    /// The session's identity among lock owners: for metadata locks.
    pub fn lock_owner(&self) -> &LockOwner {
        &self.owner
    }

    // ---- snapshots and statements ----

    /// The snapshot of plain reads, if one is open.
    pub fn snapshot_lsn(&self) -> Option<Lsn> {
        (!self.snapshot.at.is_zero()).then_some(self.snapshot.at)
    }

    /// The snapshot of plain reads, taken now if there is none.
    #[inline]
    pub(crate) fn view(&mut self) -> View {
        if self.snapshot.at.is_zero() {
            let store = &*self.engine.store;
            let at = store.snapshots.open(self.cell, || store.log.horizon());
            self.snapshot = store.trx.view(at);
        }
        self.snapshot
    }

    fn close_view(&mut self) {
        if !self.snapshot.at.is_zero() {
            self.engine.store.snapshots.close(self.cell);
            self.snapshot = View::default();
        }
    }

    /// Begins a statement: at READ COMMITTED its snapshot will be new. Returns the mark to roll a failed statement back
    /// to.
    pub fn begin_statement(&mut self) -> Savepoint {
        self.looked = 0;
        if self.options.isolation <= Isolation::ReadCommitted {
            self.close_view();
        }
        self.savepoint()
    }

    /// Ends a statement: lets a READ COMMITTED snapshot go and waits until what its locking reads and writes have seen
    /// is durable. Call it before the reply is sent; a commit right after makes it unnecessary.
    pub fn end_statement(&mut self) -> Result<()> {
        if self.options.isolation <= Isolation::ReadCommitted {
            self.close_view();
        }
        self.wait_seen()
    }

    #[inline(always)]
    fn wait_seen(&mut self) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        if seen > self.store().log.horizon() {
            self.store().log.wait_commit(seen)?;
        }
        Ok(())
    }

    /// Takes the snapshot now: START TRANSACTION WITH CONSISTENT SNAPSHOT (repeatable read and above).
    pub fn consistent_snapshot(&mut self) {
        if self.state == State::Active && self.options.isolation >= Isolation::RepeatableRead {
            self.view();
        }
    }

    /// The present point.
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint { last: self.writer.as_ref().map_or(UndoPtr::NONE, |w| w.last) }
    }

    /// Undoes everything after the savepoint. Locks stay, as in InnoDB, but those of rows inserted since go with the
    /// rows. [`EngineError::NotActive`] for a transaction that has committed together with its only change, which
    /// cannot be undone any more. After another error the transaction is half undone; it may be tried again with the
    /// same savepoint or an older one.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let store = &*self.engine.store;
        if let Some(w) = self.writer.as_mut()
            && w.last != savepoint.last
        {
            if !w.committed.is_zero() {
                return Err(EngineError::NotActive);
            }
            let (_mask, _hurry) = (mask_interrupts(), hurry());
            self.state = State::HalfUndone;
            undo_to(store, w, savepoint.last, For::Savepoint(&self.owner))?;
            count(Counter::TrxRollbacksSavepoint);
            self.state = State::Active;
            self.owner.set_weight(w.records);
        }
        Ok(())
    }

    /// Commits; returns when the commit is as durable as the flush policy says, with its LSN (`None`: nothing was
    /// written). On [`EngineError::LogPoisoned`] the outcome is unknown until the restart. After any other error the
    /// transaction is rolled back, or half undone; one that is prepared stays so. [`EngineError::HalfUndone`]: it was
    /// half undone before.
    pub fn commit(&mut self) -> Result<Option<Lsn>> {
        let lsn = self.commit_unsynced()?;
        if let Some(lsn) = lsn
            && !planted(Fault::TellEarly)
        {
            self.store().log.wait_commit(lsn)?;
        }
        Ok(lsn)
    }

    /// Commits without waiting for the log: other transactions see it, its locks are released, and a crash may still
    /// undo it. Its client must not be told, nor this session go on, before [`Txn::poll_commit`] says so. `None`:
    /// there is nothing to wait for.
    pub fn commit_unsynced(&mut self) -> Result<Option<Lsn>> {
        if self.state == State::Idle {
            return Ok(None);
        }
        self.commit_now(None)
    }

    /// [`Txn::commit`] with a payload for the consumers of the log ([`Engine::consumer`](crate::Engine::consumer)).
    /// After a crash the whole payload is there if and only if the transaction is committed. A transaction without
    /// changes commits its payload too, and has an LSN.
    ///
    /// Its errors mean what those of [`Txn::commit`] do: [`EngineError::PayloadTooLong`], and an error of the reader
    /// ([`EngineError::Io`]), too. [`EngineError::NotActive`] for a transaction that has ended or has committed
    /// together with its only change, which stays as it is.
    pub fn commit_with(&mut self, payload: &mut dyn std::io::Read) -> Result<Lsn> {
        let lsn = self.commit_with_unsynced(payload)?;
        self.wait_commit(lsn)?;
        Ok(lsn)
    }

    /// Waits for a commit that was left unsynced, as [`Txn::commit`] does.
    pub fn wait_commit(&self, lsn: Lsn) -> Result<()> {
        if !planted(Fault::TellEarly) {
            self.store().log.wait_commit(lsn)?;
        }
        Ok(())
    }

    /// [`Txn::commit_with`] without waiting for the log: see [`Txn::commit_unsynced`].
    pub fn commit_with_unsynced(&mut self, payload: &mut dyn std::io::Read) -> Result<Lsn> {
        self.commit_payload(Payload::Read(payload))
    }

    /// [`Txn::commit_with_unsynced`] with a payload in memory, which is not copied on its way to the log when it is
    /// short.
    pub fn commit_parts_unsynced(&mut self, payload: Parts<'_>) -> Result<Lsn> {
        self.commit_payload(Payload::Parts(payload))
    }

    fn commit_payload(&mut self, payload: Payload<'_>) -> Result<Lsn> {
        self.check_active()?;
        if self.has_ended() {
            return Err(EngineError::NotActive);
        }
        if self.writer.is_none() {
            self.begin_writing()?;
        }
        self.commit_now(Some(payload)).map(Option::unwrap_or_default)
    }

    fn commit_now(&mut self, payload: Option<Payload<'_>>) -> Result<Option<Lsn>> {
        if self.state == State::HalfUndone {
            self.rollback()?;
            return Err(EngineError::HalfUndone);
        }
        let mut lsn = Lsn::ZERO;
        if let Some(w) = self.writer.take() {
            let (_mask, _hurry) = (mask_interrupts(), hurry());
            let store = &*self.engine.store;
            let ended = match payload {
                None => w.end(store, COMMITTED),
                Some(payload) => consumer::commit(store, &w, payload),
            };
            match ended {
                Ok(end) => {
                    lsn = end;
                    count(Counter::TrxRwCommits);
                    self.forget_writer(w);
                }
                Err(e) => {
                    self.writer = Some(w);
                    if !self.prepared {
                        // Whoever is told that the commit failed will not look for it in the next transaction. An error
                        // of the rollback is kept as the state.
                        let _half_undone = self.rollback();
                    }
                    return Err(e);
                }
            }
        }
        self.finish();
        count(Counter::TransactionsCommitted);
        if lsn.is_zero() {
            if !self.options.autocommit {
                count(Counter::TrxRoCommits);
            }
            self.wait_seen()?;
            return Ok(None);
        }
        self.seen = Lsn::ZERO;
        Ok(Some(lsn))
    }

    /// Whether what [`Txn::commit_unsynced`] has committed is as safe as `innodb_flush_log_at_trx_commit` says.
    /// `false`: not yet; `waker` will be used when it is time to ask again, or before. For an error see
    /// [`Txn::commit`].
    pub fn poll_commit(&self, lsn: Lsn, waker: &Waker) -> Result<bool> {
        Ok(planted(Fault::TellEarly) || self.store().log.poll_commit(lsn, waker)?)
    }

    /// Makes what [`Txn::commit_unsynced`] has committed durable on this thread, unless the log's writer is at work:
    /// [`gannet_log::hasten`].
    pub fn hasten_commit(&self, lsn: Lsn) {
        gannet_log::hasten(&self.store().log, lsn);
    }

    /// First phase of a commit in two phases. When this returns, the transaction outlives crashes until it is
    /// committed or rolled back ([`Engine::take_prepared`]). Its rows stay locked; its other locks last as long as
    /// this process. Returns its id, or `None` when it has written nothing: then there is nothing to keep.
    pub fn prepare(&mut self) -> Result<Option<TrxId>> {
        self.prepare_with(None)
    }

    /// [`Txn::prepare`] with a payload for the consumers of the log, who are told of it in the order of commits. After
    /// a crash the whole payload is there if and only if the transaction is prepared, or was. After an error the
    /// transaction is as it was. One that has written nothing has no payload.
    pub fn prepare_with(&mut self, payload: Option<&mut dyn std::io::Read>) -> Result<Option<TrxId>> {
        self.check_active()?;
        let Some(w) = self.writer.as_ref().filter(|w| !w.begin.is_none()) else {
            self.wait_seen()?;
            return Ok(None);
        };
        let id = w.id;
        let store = &*self.engine.store;
        let lsn = match payload {
            None => stream::flag(&store.pool, w.begin, PREPARED)?,
            Some(payload) => {
                consumer::carry(store, w, payload, |last| stream::flag_behind(&store.pool, w.begin, PREPARED, last))?
            }
        };
        store.log.wait_commit(lsn)?;
        self.seen = Lsn::ZERO;
        self.prepared = true;
        self.owner.set_weight(u64::MAX);
        Ok(Some(id))
    }

    /// Takes over a prepared transaction of before the start.
    pub(crate) fn resume(&mut self, w: Writer) {
        self.owner.set_trx(w.id);
        self.owner.set_weight(u64::MAX);
        self.engine.store.snapshots.info(self.cell).trx.store(w.id.0, Release);
        self.writer = Some(w);
        self.prepared = true;
    }

    /// Undoes everything, and ends the transaction.
    ///
    /// A transaction that has committed together with its only change ([`Txn::update_and_commit_if`] returned
    /// [`Update::Updated`]) has ended for all readers, and there is nothing left to undo: this ends it as
    /// [`Txn::commit`] does, and the change stays. A caller that may have to undo its change uses [`Txn::update_if`].
    ///
    /// After an error it is half undone, and its rows stay locked; this may be tried again, and is when the `Txn` is
    /// dropped, in the background. A crash makes no difference: it is rolled back at the next start.
    pub fn rollback(&mut self) -> Result<()> {
        if self.state == State::Idle {
            return Ok(());
        }
        if self.has_ended() {
            return self.commit().map(drop);
        }
        if let Some(mut w) = self.writer.take() {
            let (_mask, _hurry) = (mask_interrupts(), hurry());
            let store = &*self.engine.store;
            if self.prepared {
                // From here on it cannot be committed, neither by this server nor by one that starts after a crash.
                if let Err(e) = stream::flag(&store.pool, w.begin, 0) {
                    self.writer = Some(w);
                    return Err(e);
                }
                self.prepared = false;
            }
            self.state = State::HalfUndone;
            store.snapshots.info(self.cell).rolling_back.store(1, Relaxed);
            let undone = undo_to(store, &mut w, UndoPtr::NONE, For::End).and_then(|()| w.end(store, ROLLED_BACK));
            match undone {
                Ok(_) => self.forget_writer(w),
                Err(e) => {
                    self.writer = Some(w);
                    return Err(e);
                }
            }
        }
        self.finish();
        count(Counter::TransactionsRolledBack);
        self.seen = Lsn::ZERO;
        Ok(())
    }

    /// Returns the undo stream of a transaction that has ended in the table.
    fn forget_writer(&mut self, w: Writer) {
        let store = &*self.engine.store;
        store.snapshots.info(self.cell).trx.store(0, Release);
        store.streams.give(w.tail);
    }

    /// Releases locks and snapshot.
    fn finish(&mut self) {
        if self.owner.release_all() > MANY_LOCKS && !std::thread::panicking() {
            gannet_runtime::run_blocking(gannet_runtime::release_free_memory);
        }
        self.close_view();
        self.state = State::Idle;
        self.prepared = false;
    }

    /// What an operation's error means for the transaction: a deadlock's victim is rolled back.
    pub(crate) fn failed(&mut self, e: EngineError) -> EngineError {
        if e == EngineError::Deadlock
            && let Err(worse) = self.rollback()
        {
            return worse;
        }
        e
    }

    // ---- writing ----

    /// Begins the transaction's writing: slows it down if purge lags behind, allocates an id and an undo stream.
    pub(crate) fn start_writing(&mut self) -> Result<()> {
        if let Some(writer) = &self.writer {
            // What it wrote after its end would be committed whatever comes, and would never be undone.
            return if writer.committed.is_zero() { Ok(()) } else { Err(EngineError::NotActive) };
        }
        slow_down(self);
        self.begin_writing()
    }

    /// As [`Txn::start_writing`], for a transaction that has been slowed down already.
    pub(crate) fn begin_writing(&mut self) -> Result<()> {
        let store = &*self.engine.store;
        store.check_running()?;
        let tail = match store.streams.take() {
            Some(tail) => tail,
            None => store.streams.create(&store.pool)?,
        };
        let id = store.trx.begin(store.snapshots.oldest());
        self.owner.set_trx(id);
        let info = store.snapshots.info(self.cell);
        info.owner.store(self.options.owner_thread_id, Relaxed);
        if self.options.autocommit {
            info.started_ns.store(gannet_runtime::now_ns(), Relaxed);
        }
        info.rolling_back.store(0, Relaxed);
        info.undo_records.store(0, Relaxed);
        info.rows.store(0, Relaxed);
        info.trx.store(id.0, Release);
        self.writer = Some(Writer::new(id, tail));
        Ok(())
    }

    pub(crate) fn extend_undo(&mut self) -> Result<()> {
        self.show_progress();
        let store = &*self.engine.store;
        match self.writer.as_mut() {
            Some(w) => w.extend(store),
            None => Ok(()),
        }
    }

    // ---- row trees ----

    /// Reads one row. With [`ReadMode::Snapshot`] the hot path of the server: no allocation (once the buffer has
    /// grown), no shared write.
    #[inline]
    pub fn get(&mut self, tree: &TreeHandle, key: &[u8], mode: ReadMode, row: &mut RowBuf) -> Result<Read> {
        self.get_row(tree, key, mode, None, row, true)
    }

    /// As [`get`](Txn::get), for keys that may be close to the one before, which was read with the same place. The tree
    /// must not be dropped while the place is in use. `counts`: as a row that is read; one that an index entry leads to
    /// was counted there.
    #[inline]
    pub fn get_near(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        mode: ReadMode,
        place: Option<&mut Place>,
        row: &mut RowBuf,
        counts: bool,
    ) -> Result<Read> {
        self.get_row(tree, key, mode, place, row, counts)
    }

    /// Inserts a row. Waits for an active transaction that has inserted, or deleted, a row with this key.
    pub fn insert(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Insert> {
        self.insert_row(tree, key, row, LockMode::Shared)
    }

    /// As [`insert`](Txn::insert), but a duplicate is locked exclusively: REPLACE, ON DUPLICATE KEY UPDATE.
    pub fn insert_or_lock(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Insert> {
        self.insert_row(tree, key, row, LockMode::Exclusive)
    }

    /// Replaces the newest row with this key (waits for its active writer first).
    pub fn update(&mut self, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<Update> {
        self.update_row(tree, key, row, None, None)
    }

    /// As [`update`](Txn::update) if the row is still the version `stamp` (from a read with [`ReadMode::Newest`]) and
    /// that version is committed or own. Otherwise waits for its active writer and returns [`Update::Changed`]. A
    /// transaction that had to wait has the row locked on return, so that its next attempt is the last.
    pub fn update_if(&mut self, tree: &TreeHandle, key: &[u8], stamp: RowStamp, row: &[u8]) -> Result<Update> {
        self.update_row(tree, key, row, Some(stamp), None)
    }

    /// [`update_if`](Txn::update_if) for a transaction that changes nothing else: it is committed together with the
    /// row and with a payload for the consumers of the log (empty: none), so that no other transaction ever finds the
    /// row locked. After [`Update::Updated`] it has ended for all readers, if [`Txn::has_ended`] says so; the caller
    /// has to call [`Txn::commit`] or [`Txn::commit_unsynced`], and [`Txn::rollback`] commits too.
    ///
    /// For a transaction that has written before, a row that takes several pages, and a payload of a mebibyte this is
    /// `update_if`: nothing has ended, and the payload is not in the log.
    pub fn update_and_commit_if(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        stamp: RowStamp,
        row: &[u8],
        payload: Parts<'_>,
    ) -> Result<Update> {
        let ends = consumer::is_short(&payload).then_some(payload);
        self.update_row(tree, key, row, Some(stamp), ends)
    }

    /// It has committed together with its only change ([`Txn::update_and_commit_if`]).
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.writer.as_ref().is_some_and(|w| !w.committed.is_zero())
    }

    /// Called before a row is read in order to be changed by [`update_if`](Txn::update_if). If other owners wait for
    /// the row, this waits too and returns true with the row locked. Otherwise the statement would compute a new row
    /// that is out of date by its turn. Only for a transaction's first change.
    pub fn queue_up(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<bool> {
        self.queue_for_row(tree, key, false)
    }

    /// As [`Txn::queue_up`], whether other owners wait or not: for a statement that found the row changed more than
    /// once.
    pub fn lock_first(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<bool> {
        self.queue_for_row(tree, key, true)
    }

    /// Deletes the newest row with this key (waits for its active writer first).
    pub fn delete(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<Delete> {
        self.delete_row(tree, key, None)
    }

    /// As [`delete`](Txn::delete), under the condition of [`update_if`](Txn::update_if).
    pub fn delete_if(&mut self, tree: &TreeHandle, key: &[u8], stamp: RowStamp) -> Result<Delete> {
        self.delete_row(tree, key, Some(stamp))
    }

    /// Opens a scan over a row tree or an index tree. Bounds of an index scan are prefixes of (columns + primary key).
    /// A locking scan of an index locks the index entries; the caller then locks the rows by [`get`](Txn::get).
    pub fn scan(&mut self, tree: &TreeHandle, range: KeyRange<'_>, options: ScanOptions) -> Result<Scan> {
        Scan::open(self, tree, range, options)
    }

    // ---- index trees ----

    /// Adds an entry; `key` = index columns + primary key columns. At most one live entry has this key, which the
    /// caller's lock on the row assures.
    pub fn index_insert(&mut self, tree: &TreeHandle, key: &[u8], carried: &[u8]) -> Result<()> {
        self.insert_entry(tree, key, carried)
    }

    /// Adds an entry unless a live one begins with the same `prefix_len` bytes (the unique columns; the caller uses
    /// [`index_insert`](Txn::index_insert) when one of them is NULL). Waits for active transactions that have inserted
    /// or deleted such an entry. The duplicate is locked shared, or exclusively with `lock_exclusive` (REPLACE, ON
    /// DUPLICATE KEY).
    pub fn index_insert_unique(
        &mut self,
        tree: &TreeHandle,
        prefix_len: usize,
        key: &[u8],
        carried: &[u8],
        lock_exclusive: bool,
    ) -> Result<IndexInsert> {
        let dup = if lock_exclusive { LockMode::Exclusive } else { LockMode::Shared };
        self.insert_unique_entry(tree, prefix_len, key, carried, dup)
    }

    /// Ends the live entry with this key. Missing = [`EngineError::Corrupt`]: index and row tree disagree.
    pub fn index_delete(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<()> {
        if self.delete_entry(tree, key)? {
            return Ok(());
        }
        Err(self.failed(crate::index::missing_entry(tree)))
    }

    // ---- trees ----

    /// Creates an empty tree; it goes away if the transaction rolls back.
    pub fn create_tree(&mut self, kind: TreeKind) -> Result<TreeHandle> {
        self.make_tree(kind)
    }

    /// Drops a tree: its pages are freed when the transaction has committed and no snapshot can need them. The caller's
    /// metadata lock keeps others away.
    pub fn drop_tree(&mut self, tree: &TreeHandle) -> Result<()> {
        self.end_tree(tree)
    }
}

/// Makes a transaction wait a little before its first write while purge lags behind. A transaction that others wait
/// for is not slowed down: a queue of a thousand would wait a thousand times as long.
pub(crate) fn slow_down(txn: &Txn) {
    let store = txn.store();
    if let Some(pause) = store.purge.brake()
        && !txn.owner.is_awaited()
    {
        let _ = sleep(pause);
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if self.prepared {
            self.writer = None;
            self.finish();
        }
        if self.state != State::Idle {
            // Nothing may be waited for while unwinding.
            let undone = if std::thread::panicking() { None } else { Some(self.rollback()) };
            if undone != Some(Ok(())) {
                // The disk may be full now and have room later. Rows stay locked until then, or until a restart.
                if let Some(w) = self.writer.take() {
                    let store = &*self.engine.store;
                    if let Some(Err(e)) = undone {
                        let id = w.id;
                        store
                            .events
                            .warning(format_args!("transaction {id} cannot be rolled back: {e}; it is tried again"));
                    }
                    let owner = std::mem::replace(&mut self.owner, store.locks.owner(0));
                    store.losers.fetch_add(1, AcqRel);
                    store.orphans.lock().push(Orphan { writer: w, owner });
                }
                self.finish();
            }
        }
        self.engine.store.snapshots.give(self.cell);
    }
}

/// Takes the snapshot of plain reads now, of all that is committed, whether it is durable or not, and at least up to
/// the commit `least`. Who is told what it shows must wait for the LSN that this returns, unless a crash may take that
/// back.
pub fn snapshot_of_committed(txn: &mut Txn, least: Lsn) -> Result<Lsn> {
    txn.check_active()?;
    txn.close_view();
    let store = &*txn.engine.store;
    store.log.wait_complete(least)?;
    let at = store.snapshots.open(txn.cell, || store.log.complete_lsn());
    txn.snapshot = store.trx.view(at);
    Ok(at)
}

/// Waits until what was committed at `lsn` is as safe as `innodb_flush_log_at_trx_commit` says.
pub fn wait_commit(engine: &Engine, lsn: Lsn) -> Result<()> {
    Ok(engine.store.log.wait_commit(lsn)?)
}
