//! Opening and closing a store: files and redo ([`recovery`]), then trees, undo streams, losers, background work.

use gannet_base::TrxId;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use gannet_base::sync::{Arc, Mutex, OnceLock};
use gannet_buffer::Pool;
use gannet_lock::LockTable;
use gannet_runtime::{JoinHandle, spawn};

use crate::checkpoint::{self, CheckpointFigures, Checkpointer};
use crate::control::Control;
use crate::indexer::{IndexState, Indexer};
use crate::purge::{self, PurgeState};
use crate::recovery::{self, Opened, Recovery};
use crate::rollback::Orphan;
use crate::scrub::{self, Scrub};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::trees::Trees;
use crate::trxtable::TrxTable;
use crate::undo::stream::{Streams, Tail, Unfinished};
use crate::writer::Writer;
use crate::{EngineError, EngineOptions, Result, meta};

/// What an engine has beside its store.
pub(crate) struct Files {
    pub(crate) recovery: Arc<Recovery>,
    pub(crate) figures: Arc<CheckpointFigures>,
    control: Arc<Control>,
    /// Keeps other servers out of the directory.
    _dir_lock: crate::control::DirLock,
}

/// Background tasks, in the order in which they are to end.
pub(crate) struct Running {
    /// Purge, rollback of losers: they write.
    pub(crate) writers: Vec<JoinHandle<()>>,
    /// Redo and checkpoint.
    pub(crate) keepers: Vec<JoinHandle<()>>,
}

/// How many ids are skipped beyond the greatest one seen in the log: transactions may have used ids that left no
/// trace.
const ID_SLACK: u64 = 1 << 16;

pub(crate) fn open(options: &EngineOptions) -> Result<(Arc<Store>, Files, Running)> {
    let opened = recovery::open(options)?;
    let pool = opened.pool.clone();
    pool.start_cleaner();
    let made = prepare(options, &opened);
    let (store, losers) = match made {
        Ok(made) => made,
        Err(e) => {
            pool.stop_cleaner();
            return Err(e);
        }
    };
    let Opened { control, recovery, index, dir_lock, .. } = opened;
    let figures = Arc::new(CheckpointFigures::default());
    let files = Files { recovery, figures, control, _dir_lock: dir_lock };
    let running = start(options, &store, &files, index, losers);
    Ok((store, files, running))
}

fn prepare(options: &EngineOptions, opened: &Opened) -> Result<(Arc<Store>, Vec<(Tail, Unfinished)>)> {
    let (pool, log) = (opened.pool.clone(), opened.log.clone());
    if opened.is_new {
        meta::create(&pool)?;
    }
    let locks = LockTable::new();
    let trees = Trees::new(locks.clone());
    trees.open_table(&pool)?;
    let streams = Streams::new();
    let mut losers = Vec::new();
    let greatest = streams.open(&pool, |tail, unfinished| losers.push((tail, unfinished)))?;
    if opened.is_new {
        opened.created()?;
    }
    let next = if opened.is_new { opened.next_trx } else { TrxId(opened.next_trx.0.max(greatest.0 + 1) + ID_SLACK) };
    let store = Arc::new(Store {
        pool,
        log,
        locks,
        trx: TrxTable::new(next),
        snapshots: Snapshots::new(),
        streams,
        trees,
        purge: PurgeState::new(),
        scrub: Scrub::new(options.scrub_pages_per_second),
        losers: AtomicU64::new(losers.len() as u64),
        prepared: Mutex::new(Vec::new()),
        orphans: Mutex::new(Vec::new()),
        chains: Mutex::new(Vec::new()),
        events: options.events.clone(),
        sort_disk: OnceLock::new(),
        sort_dir: options.sort_dir.clone().unwrap_or_else(|| options.datadir.clone()),
        stopped: AtomicBool::new(false),
    });
    // The losers are entered before any reader runs, because their stamps are their locks.
    for (_, loser) in &losers {
        store.trx.begin_recovered(loser.trx);
    }
    let (prepared, losers): (Vec<_>, Vec<_>) = losers.into_iter().partition(|(_, l)| l.prepared);
    store.losers.fetch_sub(prepared.len() as u64, AcqRel);
    store.prepared.lock().extend(prepared.into_iter().map(|(tail, l)| unfinished_writer(tail, &l)));
    Ok((store, losers))
}

fn start(
    options: &EngineOptions,
    store: &Arc<Store>,
    files: &Files,
    index: IndexState,
    losers: Vec<(Tail, Unfinished)>,
) -> Running {
    let mut keepers = files.recovery.spawn(&store.pool);
    let checkpointer = Checkpointer::new(
        store.pool.clone(),
        store.log.clone(),
        files.control.clone(),
        files.figures.clone(),
        options.events.clone(),
    );
    let (recovery, s) = (files.recovery.clone(), store.clone());
    keepers.push(spawn("checkpoint", move || checkpointer.run(&recovery, || s.trx.next())));
    if options.redo_index_bytes > 0 {
        let indexer = Indexer::new(index, store.pool.clone(), store.log.clone(), options.redo_index_bytes);
        let recovery = files.recovery.clone();
        keepers.push(spawn("log-index", move || indexer.run(&recovery)));
    }
    let (recovery, figures, s) = (files.recovery.clone(), files.figures.clone(), store.clone());
    keepers.push(spawn("scrubber", move || scrub::run(&s, &recovery, &figures)));
    let mut writers = Vec::new();
    if !losers.is_empty() {
        let (s, recovery) = (store.clone(), files.recovery.clone());
        recovery.begin_rollback(losers.len() as u64);
        writers.push(spawn("rollback", move || {
            roll_back(&s, losers);
            recovery.end_rollback();
        }));
    }
    for n in 0..options.purge_tasks {
        let s = store.clone();
        writers.push(spawn(&format!("purge-{n}"), move || purge::task(&s)));
    }
    Running { writers, keepers }
}

fn unfinished_writer(tail: Tail, of: &Unfinished) -> Writer {
    let mut w = Writer::new(of.trx, tail);
    (w.makes_trees, w.drops_trees) = (true, true);
    (w.begin, w.last) = (of.begin, of.last);
    w
}

/// Rolls back what was unfinished when the server ended. Until then its stamps keep its rows locked.
fn roll_back(store: &Store, losers: Vec<(Tail, Unfinished)>) {
    let count = losers.len();
    store.events.note(format_args!("recovery: {count} unfinished transactions to roll back"));
    for (tail, loser) in losers {
        let owner = store.locks.owner(0);
        owner.set_trx(loser.trx);
        owner.set_weight(u64::MAX);
        let mut orphan = Orphan { writer: unfinished_writer(tail, &loser), owner };
        match orphan.roll_back(store) {
            Ok(()) => orphan.free(store),
            Err(EngineError::ShutDown) => return,
            // Its rows stay locked; the other rollbacks go on.
            Err(e) => {
                let id = loser.trx;
                store.events.error(format_args!("rollback of transaction {id}: {e}; it is tried again"));
                store.orphans.lock().push(orphan);
            }
        }
    }
    if store.losers.load(Acquire) == 0 {
        store.events.note("recovery: all unfinished transactions are rolled back");
    }
}

/// Writes everything back. All tasks that write have ended.
pub(crate) fn close(store: &Store, files: &Files) -> Result<()> {
    let pool: &Pool = &store.pool;
    if !files.recovery.redo_is_done() {
        // Pending changes stay in the log for the next start.
        pool.stop_cleaner();
        return Ok(store.log.close()?);
    }
    // The checkpointer has ended.
    let make_room = || checkpoint::make_room(pool, &store.log, &files.control, store.trx.next());
    let saved = store.trees.save(true, make_room);
    pool.stop_cleaner();
    saved?;
    checkpoint::close(pool, &store.log, &files.control, store.trx.next())
}
