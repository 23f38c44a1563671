//! The engine handle.

use gannet_base::sync::atomic::Ordering::*;
use gannet_base::sync::{Arc, Mutex};
use gannet_base::{Lsn, TreeId, TrxId};
use gannet_buffer::SpaceUsage;
use gannet_buffer::resize::{self, ResizeStatus};
use gannet_lock::LockTable;
use gannet_runtime::{Interrupt, JoinHandle};
use std::collections::HashMap;

use crate::open::{Files, Running};
use crate::options::Isolation;
use crate::range::bounds;
use crate::recovery::{RecoveryStatus, RecoveryStep};
use crate::snapshot::SHARED;
use crate::store::Store;
use crate::undo::stream::{UNDO_OWNER, corrupt};
use crate::{
    EngineError, EngineOptions, FlushPolicy, KeyRange, LogFile, Result, TreeHandle, TreeKind, Txn, TxnOptions, meta,
    purge,
};

/// A store, open. Cheap to clone. When the last clone goes without [`Engine::shutdown`] the background tasks stop and
/// the store is left as a crash would leave it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Arc<Store>,
    background: Arc<Background>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

/// Background tasks; stopped when the last engine handle goes.
struct Background {
    store: Arc<Store>,
    files: Files,
    running: Mutex<Option<Running>>,
}

fn stop(tasks: Vec<JoinHandle<()>>) {
    for task in &tasks {
        task.context().interrupt(Interrupt::Shutdown);
    }
    // While unwinding nothing is waited for.
    if !std::thread::panicking() {
        for task in tasks {
            let _ = task.join();
        }
    }
}

impl Background {
    fn stop(&self) {
        self.store.stopped.store(true, Release);
        self.store.forgo_checkpoints();
        self.store.pool.begin_close();
        let running = self.running.lock().take();
        if let Some(running) = running {
            stop(running.writers);
            stop(running.keepers);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            self.store.pool.stop_cleaner();
        }
    }
}

/// Figures for SHOW ENGINE INNODB STATUS and SHOW GLOBAL STATUS. No latch that queries need.
#[derive(Clone, Debug, Default)]
pub struct EngineStatus {
    /// End of the log as reserved.
    pub log_lsn: Lsn,
    /// Bytes of log below the checkpoint that are kept for its consumers.
    pub log_retained_bytes: u64,
    /// Log durable up to here.
    pub durable_lsn: Lsn,
    /// Recovery would start here.
    pub checkpoint_lsn: Lsn,
    /// All changes below are known to be on disk in their pages. At or above [`EngineStatus::checkpoint_lsn`].
    pub swept_lsn: Lsn,
    /// The pages of all records below are marked as changed.
    pub complete_lsn: Lsn,
    /// Bytes the log may grow beyond the checkpoint.
    pub redo_capacity_bytes: u64,
    /// Of these, what can be used before writers are stopped.
    pub redo_usable_bytes: u64,
    /// Ended transactions whose old versions are not purged.
    pub history_length: u64,
    /// Undo streams.
    pub undo_streams: u64,
    /// Of these, such that no transaction uses.
    pub undo_streams_idle: u64,
    /// Trees that were dropped by earlier incarnations and have still to be freed.
    pub drops_waiting: u64,
    /// How long a new writer is held back because purge is behind, in microseconds.
    pub purge_delay_us: u64,
    /// Id the next writer gets.
    pub next_trx_id: TrxId,
    /// Oldest snapshot in use, as purge last saw it.
    pub oldest_snapshot: Lsn,
    /// Transactions of the last run, or abandoned in this one, that are still to be rolled back.
    pub recovering: u64,
    /// Of these, such that it was tried with in vain, for want of room or because of a damaged page. It is tried again.
    pub stuck: u64,
    /// Pages the pool may hold.
    pub pool_pages: u64,
    /// How it comes to another size.
    pub pool_resize: ResizeStatus,
    /// Pages resident.
    pub pool_resident: u64,
    /// Frames that recovery keeps for its own memory.
    pub pool_aside: u64,
    /// Pages changed and not written back.
    pub pool_dirty: u64,
    /// Size of the data file in pages.
    pub data_pages: u64,
    /// Of these, free.
    pub free_pages: u64,
    /// Checkpoints written since the start.
    pub checkpoints: u64,
    /// Growth of the log in bytes a second, averaged over some seconds.
    pub log_growth: u64,
    /// Pages a second the checkpointer aims at; 0 while idle, `u64::MAX` without pauses.
    pub checkpoint_pace: u64,
    /// How hard it is pressed, when it last wrote, by the log's fullness and by the pool's dirtiness: percent.
    pub checkpoint_pressed: [u64; 2],
    /// Length of the checkpointer's last whole round over the pool, in nanoseconds.
    pub checkpoint_round_ns: u64,
    /// Percent of the log's work redone after the start; 100 when recovery is over.
    pub recovery_percent: u8,
    /// What purge last failed with.
    pub purge_error: Option<String>,
}

impl EngineStatus {
    /// Frames of the pool that nothing has.
    pub fn pool_free(&self) -> u64 {
        self.pool_pages.saturating_sub(self.pool_resident + self.pool_aside)
    }
}

/// A transaction as shown to a person: information_schema.innodb_trx.
#[derive(Clone, Debug)]
pub struct TransactionInfo {
    /// Its id; zero when it has not written.
    pub id: TrxId,
    /// The owner of its locks: [`gannet_lock::Party::owner`].
    pub lock_owner: u64,
    /// Its level.
    pub isolation: Isolation,
    /// Begun READ ONLY.
    pub read_only: bool,
    /// It is one statement.
    pub autocommit: bool,
    /// It has a snapshot open.
    pub snapshot: bool,
    /// Its row and gap locks and what it waits for. Rows it has changed are not counted.
    pub locks: Option<gannet_lock::Standing>,
    /// `owner_thread_id` of its options.
    pub owner_thread_id: u64,
    /// Undo records written, as [`Txn::show_progress`] has published.
    pub undo_records: u64,
    /// Of these, those of rows: rows inserted, updated and deleted.
    pub rows_changed: u64,
    /// It is being rolled back.
    pub rolling_back: bool,
    /// When it was begun, as `runtime::now_ns` tells; 0: a single statement that has not written.
    pub started_ns: u64,
}

/// Size of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeStats {
    /// Approximate rows (live entries).
    pub rows: u64,
    /// Leaf pages, approximately.
    pub leaf_pages: u64,
    /// All pages (overflow included).
    pub pages: u64,
    /// Levels, 1 = the root is a leaf.
    pub height: u32,
}

/// Estimate for a range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeEstimate {
    /// Entries, approximately; dead ones that wait for purge included.
    pub rows: u64,
    /// The whole range lay in one leaf and was counted.
    pub exact: bool,
}

/// The log's files that are in use, in the order of what they hold.
pub fn log_files(engine: &Engine) -> Vec<LogFile> {
    gannet_log::files(&engine.store.log)
}

impl Engine {
    /// Opens or creates the store. Returns as soon as transactions can begin; the rest of the redo and the rollback
    /// of losers go on in the background (their rows stay locked).
    pub fn open(options: EngineOptions) -> Result<Engine> {
        let (store, files, running) = crate::open::open(&options)?;
        let background = Background { store: store.clone(), files, running: Mutex::new(Some(running)) };
        Ok(Engine { store, background: Arc::new(background) })
    }

    /// Stops background work, writes everything back and closes the store. Active transactions are rolled back at the
    /// next start. Calls on other clones fail with [`EngineError::ShutDown`] from then on.
    pub fn shutdown(&self) -> Result<()> {
        if self.store.stopped.swap(true, AcqRel) {
            return Ok(());
        }
        self.background.stop();
        crate::open::close(&self.store, &self.background.files)
    }

    /// From now on no task waits for a checkpoint: the server is stopping, and its sessions had their time. A task
    /// that finds the log full gets [`EngineError::ShutDown`]. The next start rolls back what that leaves unfinished.
    pub fn forgo_checkpoints(&self) {
        self.store.forgo_checkpoints();
    }

    /// A new transaction, begun. For speed keep it and use [`Txn::begin`] for the next one.
    ///
    /// # Panics
    /// When a million transactions exist or the engine was shut down: use [`Engine::try_begin`] where that may be.
    pub fn begin(&self, options: TxnOptions) -> Txn {
        match self.try_begin(options) {
            Ok(txn) => txn,
            Err(e) => panic!("cannot begin a transaction: {e}"),
        }
    }

    /// A new transaction, begun.
    pub fn try_begin(&self, options: TxnOptions) -> Result<Txn> {
        let mut txn = crate::txn::made(self.clone(), options)?;
        txn.begin(options)?;
        Ok(txn)
    }

    /// Ids of the prepared transactions found at the start that [`Engine::take_prepared`] has not returned yet.
    pub fn prepared(&self) -> Vec<TrxId> {
        self.store.prepared.lock().iter().map(|w| w.id).collect()
    }

    /// A prepared transaction found at the start, to be committed or rolled back. Its rows are locked as before; the
    /// undo records it has are not counted.
    pub fn take_prepared(&self, id: TrxId, options: TxnOptions) -> Result<Option<Txn>> {
        let mut txn = self.try_begin(options)?;
        let mut all = self.store.prepared.lock();
        let Some(at) = all.iter().position(|w| w.id == id) else { return Ok(None) };
        txn.resume(all.swap_remove(at));
        Ok(Some(txn))
    }

    /// The table of row, gap and metadata locks.
    pub fn lock_table(&self) -> &Arc<LockTable> {
        &self.store.locks
    }

    /// Changes the durability of later commits.
    pub fn set_flush_policy(&self, policy: FlushPolicy) {
        self.store.log.set_policy(policy.into());
    }

    /// The durability of commits.
    pub fn flush_policy(&self) -> FlushPolicy {
        self.store.log.policy().into()
    }

    /// Changes `innodb_redo_log_capacity`.
    pub fn set_redo_capacity(&self, bytes: u64) -> Result<()> {
        Ok(self.store.log.set_capacity(bytes)?)
    }

    /// Waits until everything in the log so far is on disk.
    pub fn sync(&self) -> Result<()> {
        Ok(self.store.log.wait_durable(self.store.log.tail_lsn())?)
    }

    /// All commits up to here are visible to new snapshots.
    pub fn horizon(&self) -> Lsn {
        self.store.log.horizon()
    }

    /// Figures.
    pub fn status(&self) -> EngineStatus {
        let (s, pool) = (&*self.store, self.store.pool.status());
        let figures = &self.background.files.figures;
        EngineStatus {
            log_lsn: s.log.tail_lsn(),
            durable_lsn: s.log.durable_lsn(),
            log_retained_bytes: s.log.retained_bytes(),
            checkpoint_lsn: s.log.checkpoint_lsn(),
            swept_lsn: Lsn(figures.swept.load(Relaxed)).max(s.log.checkpoint_lsn()),
            complete_lsn: s.log.complete_lsn(),
            redo_capacity_bytes: s.log.capacity(),
            redo_usable_bytes: s.log.usable_bytes(),
            history_length: s.streams.history(),
            undo_streams: s.streams.all().len() as u64,
            undo_streams_idle: s.streams.idle(),
            drops_waiting: s.purge.drops_waiting(),
            purge_delay_us: s.purge.brake().map_or(0, |d| d.as_micros() as u64),
            next_trx_id: s.trx.next(),
            oldest_snapshot: s.snapshots.oldest(),
            recovering: s.losers.load(Relaxed),
            stuck: s.orphans.lock().len() as u64,
            pool_pages: pool.pages_total,
            pool_resize: resize::resized(&s.pool),
            pool_resident: pool.pages_data,
            pool_aside: pool.pages_aside,
            pool_dirty: pool.pages_dirty,
            data_pages: pool.file_pages,
            free_pages: pool.file_free_pages,
            recovery_percent: self.recovery().percent as u8,
            checkpoints: figures.count.load(Relaxed),
            log_growth: figures.growth.load(Relaxed),
            checkpoint_pace: figures.pace.load(Relaxed),
            checkpoint_pressed: figures.pressed.each_ref().map(|n| n.load(Relaxed)),
            checkpoint_round_ns: figures.round_ns.load(Relaxed),
            purge_error: s.purge.error.lock().as_ref().map(EngineError::to_string),
        }
    }

    /// Transactions with an id (writers) that are active: asks each session's place.
    pub fn active_writers(&self) -> u64 {
        let mut active = 0;
        self.store.snapshots.for_each(|info, _| active += u64::from(info.trx.load(Acquire) != 0));
        active
    }

    /// What the data file's blocks are used for: undo (`named`), trees (`others`), nothing.
    pub fn space(&self) -> SpaceUsage {
        self.store.pool.space().usage(UNDO_OWNER)
    }

    /// Holds the checkpoint back, and the writing of pages for its sake, while the log is not three quarters full. For
    /// tests and measurements of recovery.
    pub fn hold_checkpoint(&self, held: bool) {
        self.background.files.figures.held.store(held, Relaxed);
    }

    /// How far recovery is.
    pub fn recovery(&self) -> RecoveryStatus {
        self.background.files.recovery.status()
    }

    /// The steps of recovery: reading the log, redo, rollback.
    pub fn recovery_steps(&self) -> [RecoveryStep; 3] {
        self.background.files.recovery.steps(self.store.losers.load(Relaxed))
    }

    /// Transactions that have written, have a snapshot open, hold locks or wait, at most `limit`: writers first, oldest
    /// first.
    pub fn transactions(&self, limit: usize) -> Vec<TransactionInfo> {
        let mut standing: HashMap<u64, _> =
            self.store.locks.standings().into_iter().map(|s| (s.party.owner, s)).collect();
        let mut all = Vec::new();
        self.store.snapshots.for_each(|info, snapshot| {
            let (id, lock_owner) = (TrxId(info.trx.load(Acquire)), info.lock_owner.load(Relaxed));
            let locks = standing.remove(&lock_owner);
            if id.is_zero() && !snapshot && locks.is_none() {
                return;
            }
            let kind = info.kind.load(Relaxed);
            if kind == SHARED {
                return;
            }
            all.push(TransactionInfo {
                id,
                lock_owner,
                isolation: Isolation::of(kind & 3),
                read_only: kind & 4 != 0,
                autocommit: kind & 8 != 0,
                snapshot,
                locks,
                owner_thread_id: info.owner.load(Relaxed),
                undo_records: if id.is_zero() { 0 } else { info.undo_records.load(Relaxed) },
                rows_changed: if id.is_zero() { 0 } else { info.rows.load(Relaxed) },
                rolling_back: !id.is_zero() && info.rolling_back.load(Relaxed) != 0,
                started_ns: info.started_ns.load(Relaxed),
            });
        });
        all.sort_by_key(|t| (t.id.is_zero(), t.id, t.started_ns));
        all.truncate(limit);
        all
    }

    /// Opens a tree by the id the catalog kept. Handles of the same tree share state.
    pub fn tree(&self, id: TreeId) -> Result<TreeHandle> {
        match self.store.trees.get(id)? {
            Some(shared) => Ok(TreeHandle { shared }),
            None => Err(EngineError::NoSuchTree(id)),
        }
    }

    /// A number kept in the store beside the trees, slots 0..32: slot 0 is the catalog's root tree. 0 = never set.
    pub fn meta(&self, slot: usize) -> Result<u64> {
        let at = meta::number(slot).ok_or_else(|| corrupt(meta::PAGE, "there are 32 numbers"))?;
        meta::read_u64(&self.store.pool, meta::PAGE, at as usize)
    }

    /// Sets a number at once, outside any transaction, durably.
    pub fn set_meta(&self, slot: usize, value: u64) -> Result<()> {
        self.store.check_running()?;
        let at = meta::number(slot).ok_or_else(|| corrupt(meta::PAGE, "there are 32 numbers"))?;
        let lsn = meta::write_u64(&self.store.pool, at, value)?;
        Ok(self.store.log.wait_durable(lsn)?)
    }

    /// Entries in a range, estimated from the branches at its two ends.
    pub fn estimate_rows(&self, tree: &TreeHandle, range: KeyRange<'_>) -> Result<RangeEstimate> {
        tree.check(tree.kind())?;
        let Some((lower, upper)) = bounds(range) else { return Ok(RangeEstimate { rows: 0, exact: true }) };
        let e = tree.shared.tree.estimate_rows(lower.as_deref(), upper.as_deref())?;
        Ok(RangeEstimate { rows: e.rows as u64, exact: e.exact })
    }

    /// A key about `fraction` of the way through a tree, for sampling; empty when there is none.
    pub fn key_at(&self, tree: &TreeHandle, fraction: f64) -> Result<Vec<u8>> {
        tree.check(tree.kind())?;
        Ok(tree.shared.tree.key_at(fraction)?)
    }

    /// Size of a tree: from counts kept, no scan.
    pub fn tree_stats(&self, tree: &TreeHandle) -> Result<TreeStats> {
        tree.check_there()?;
        let s = tree.shared.tree.stats()?;
        // After a crash the count kept may be far off; the branches say how much the tree can hold.
        let (kept, seen) = (tree.shared.rows(), s.rows as u64);
        let rows = if kept > 4 * seen + 1000 || seen > 4 * kept + 1000 { seen } else { kept };
        Ok(TreeStats { rows, leaf_pages: s.leaf_pages as u64, pages: s.pages, height: s.height })
    }

    /// Purges all that may be purged now; returns the transactions dealt with.
    pub fn purge_now(&self) -> Result<u64> {
        let store = &*self.store;
        store.check_running()?;
        // Ends that no client waited for count as well, so make them durable.
        store.log.wait_durable(store.log.tail_lsn())?;
        let mut all = 0;
        loop {
            let done = purge::round(store, true)?;
            all += done;
            // A drop waits for the other streams. Another task may have purged them after this round met the drop,
            // and left this round nothing to do.
            let again = store.purge.drop_waits.swap(false, AcqRel) && !gannet_runtime::interrupted();
            if done == 0 && !again {
                return Ok(all);
            }
        }
    }

    /// Checks a tree's structure and order (CHECK TABLE); returns its entries, those that wait for purge included.
    pub fn check_tree(&self, tree: &TreeHandle) -> Result<u64> {
        tree.check(tree.kind())?;
        self.walk_tree(tree)
    }

    /// As [`Engine::check_tree`]; the tree may also be one whose drop is not purged yet.
    pub(crate) fn walk_tree(&self, tree: &TreeHandle) -> Result<u64> {
        let mut bad = None;
        let kind = tree.kind();
        let checked = tree.shared.tree.check_tree(|key, value| {
            let well_formed = match kind {
                TreeKind::Row => crate::row::RowHeader::decode(value).is_some(),
                TreeKind::Index => crate::index::split_key(key).is_some() && crate::index::split_value(value).is_some(),
            };
            if !well_formed && bad.is_none() {
                bad = Some(corrupt(tree.id().root(), &format!("entry with key {key:02x?} is malformed")));
            }
        });
        let checked = match checked {
            Err(gannet_buffer::Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::Interrupted => {
                return Err(EngineError::Interrupted);
            }
            checked => checked?,
        };
        bad.map_or(Ok(checked.entries), Err)
    }
}

impl From<FlushPolicy> for gannet_log::FlushPolicy {
    fn from(p: FlushPolicy) -> Self {
        match p {
            FlushPolicy::EverySecond => Self::EverySecond,
            FlushPolicy::AtCommit => Self::Durable,
            FlushPolicy::WriteAtCommit => Self::Written,
        }
    }
}

impl From<gannet_log::FlushPolicy> for FlushPolicy {
    fn from(p: gannet_log::FlushPolicy) -> Self {
        match p {
            gannet_log::FlushPolicy::EverySecond => Self::EverySecond,
            gannet_log::FlushPolicy::Durable => Self::AtCommit,
            gannet_log::FlushPolicy::Written => Self::WriteAtCommit,
        }
    }
}

/// A new transaction that is not begun. There is one when the engine was shut down, too.
///
/// # Panics
/// When a million transactions exist.
pub fn idle(engine: &Engine, options: TxnOptions) -> Txn {
    match crate::txn::made(engine.clone(), options) {
        Ok(txn) => txn,
        Err(e) => panic!("there can be no transaction: {e}"),
    }
}
