//! Opening a store's files: what is there, what to do about it, and redo.
//!
//! 1. Lock the directory.
//! 2. [`decide`] from what is found: create, recover, or refuse.
//! 3. Repair torn pages from the double-write file.
//! 4. Take the index of the log, as far as there is one ([`crate::redo::chunk`]): it tells which pages have changes, and where. Read
//!    the log from its end on and sort the changes by page: one task finds and verifies the records, others read ahead and sort
//!    ([`crate::redo`]).
//! 5. Make the new epoch durable (INV-CTL-1), open log and pool: transactions may begin.
//! 6. Pages get their changes when first loaded; background tasks read the indexed log into memory and load the rest in order. Until
//!    then the checkpoint stays.
//!
//! Memory: the changes take at most half of `EngineOptions::buffer_pool_bytes` (at least 32 MiB), and the pool does without
//! the frames they take. A longer log is applied in parts during step 4, through a pool of its own for each part; only the
//! last part is left for step 6; the index is of no use then. The buffers for reading come on top: 40 MiB at most, gone when the log is read.
//!
//! INV-REC-1: changes stay until their page is resident with all of them (and dirty): applying one again changes nothing,
//! because a page's LSN tells what it has.

use std::path::Path;

use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use gannet_base::sync::{Arc, RwLock};
use gannet_base::{Lsn, PageNo, TrxId};
use gannet_buffer::{Error, PageBuf, Pool, PoolOptions, Priority, RedoSource, Wal};
use gannet_log::{FIRST_LSN, Log, LogError, LogReader, Start};
use gannet_page::Corrupt;
use gannet_runtime::{JoinHandle, fs, now_ns, random_u64, spawn, unix_micros};
use gannet_telemetry::Events;

use crate::control::{self, Control, ControlData, DirLock, Found, State, damaged, io};
use crate::indexer::IndexState;
use crate::redo::chunk::{self, Chunk};
use crate::redo::indexed::Indexed;
use crate::redo::{self, RedoMap};
use crate::{EngineError, EngineOptions, FlushPolicy, OpenMode, Result};

/// Log directory in the store's directory.
const LOG_DIR: &str = "log";
/// Tasks that apply redo, each with a chunk of reads in flight.
const REDO_TASKS: usize = 4;
/// Pages that a task reads at once.
const CHUNK: usize = 32;
const LEAST_REDO_BYTES: u64 = 32 << 20;
/// Memory that must be left for the changes behind the log's index.
const LEAST_BEHIND_INDEX: u64 = 4 << 20;
/// The disk is left to those who open the store and ask first before the log is read into memory.
const HEAD_START: std::time::Duration = std::time::Duration::from_millis(200);
/// Pause after a page could not be read.
const RETRY_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

mod progress;

use progress::Progress;
pub use progress::{RecoveryPhase, RecoveryStatus, RecoveryStep};

// ---- what to do ----

/// What is in the directory, as far as the decision needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) control: Found,
    /// `data.gnt` exists.
    pub(crate) data: bool,
    /// The log directory has something in it.
    pub(crate) log: bool,
    pub(crate) mode: OpenMode,
}

/// What to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Nothing is there: make a store.
    Create,
    /// A creation was not finished: nobody was told of the store. Remove its files, make a store.
    CreateAgain,
    /// Open it, applying what the log has from the checkpoint on.
    Recover(ControlData, u64),
    /// Touch nothing.
    Refuse(EngineError),
}

/// The table of recovery decisions. Every combination has a row; see the test.
///
/// | control | data | log | mode | decision |
/// |---|---|---|---|---|
/// | newer | any | any | any | refuse: newer format |
/// | bad | no | no | existing | refuse: there is no store |
/// | bad | no | no | else | create again: not even the control file was finished |
/// | bad | data or log | | any | refuse: both slots are damaged |
/// | missing | no | no | existing | refuse: there is no store |
/// | missing | no | no | else | create |
/// | missing | data or log | | any | refuse: the control file is missing |
/// | creating | any | any | existing | refuse: there is no store |
/// | creating | any | any | else | create again |
/// | valid | any | any | fresh | refuse: there is a store |
/// | valid | no | any | else | refuse: the data file is missing |
/// | valid | yes | no | else | refuse: the log is missing |
/// | valid | yes | yes | else | recover, one slot bad or not |
///
/// Reading the log then may refuse too: a segment is missing, damaged, newer or another store's.
pub(crate) fn decide(seen: Seen) -> Decision {
    let refuse = |what: &str| Decision::Refuse(damaged(what));
    let absent = || Decision::Refuse(EngineError::Io("there is no store in the data directory".into()));
    let (data, sequence) = match seen.control {
        Found::Newer(found) => {
            return Decision::Refuse(EngineError::NewerFormat { found, known: control::FORMAT_VERSION });
        }
        // The control file is the first file of a store: its creation was cut.
        Found::Bad if !seen.data && !seen.log => {
            return if seen.mode == OpenMode::Existing { absent() } else { Decision::CreateAgain };
        }
        Found::Bad => return refuse("both slots of the control file are damaged"),
        Found::Missing if seen.data || seen.log => {
            return refuse("the control file is missing, but there are data or log files");
        }
        Found::Missing if seen.mode == OpenMode::Existing => return absent(),
        Found::Missing => return Decision::Create,
        Found::Valid { data, sequence, .. } => (data, sequence),
    };
    if data.state == State::Creating {
        return if seen.mode == OpenMode::Existing { absent() } else { Decision::CreateAgain };
    }
    match (seen.mode, seen.data, seen.log) {
        (OpenMode::Fresh, ..) => {
            Decision::Refuse(EngineError::Io("there is a store in the data directory already".into()))
        }
        (_, false, _) => refuse("the data file is missing"),
        (_, true, false) => refuse("the log is missing"),
        (_, true, true) => Decision::Recover(data, sequence),
    }
}

fn look(options: &EngineOptions) -> Result<Seen> {
    let dir = &options.datadir;
    let log = dir.join(LOG_DIR);
    let has_log = fs::exists(&log).map_err(io("look for the log"))?
        && !fs::read_dir(&log).map_err(io("list the log directory"))?.is_empty();
    Ok(Seen {
        control: control::inspect(dir)?,
        data: fs::exists(Pool::data_file(dir)).map_err(io("look for the data file"))?,
        log: has_log,
        mode: options.mode,
    })
}

/// The log while it is only read: what was read is on disk, and nothing is appended.
struct ReadLog {
    end: Lsn,
}

impl Wal for ReadLog {
    fn admit(&self) -> std::result::Result<(), LogError> {
        Err(LogError::Closed)
    }

    fn append(&self, _: &[u8], _: &mut dyn FnMut(Lsn)) -> Lsn {
        unreachable!("nothing is admitted")
    }

    fn tail_lsn(&self) -> Lsn {
        self.end
    }

    fn durable_lsn(&self) -> Lsn {
        self.end
    }

    fn wait_durable(&self, _: Lsn) -> std::result::Result<(), LogError> {
        Ok(())
    }
}

// ---- opening ----

/// Redo behind the opened store, and the figures about it.
pub(crate) struct Recovery {
    progress: Progress,
    /// The part of the log that the index covers; gone when all pages are up to date.
    indexed: RwLock<Option<Arc<Indexed>>>,
    redo: RedoMap,
    pages: Vec<PageNo>,
    next: AtomicUsize,
    left: AtomicUsize,
    /// Pages that cannot be brought up to date because they are damaged: their changes stay, whoever needs one gets the error.
    damaged: AtomicU64,
    events: Events,
}

/// The files of a store, open.
pub(crate) struct Opened {
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) control: Arc<Control>,
    pub(crate) recovery: Arc<Recovery>,
    /// What there is of the log's index.
    pub(crate) index: IndexState,
    /// At least the next transaction id as of the checkpoint.
    pub(crate) next_trx: TrxId,
    /// The store is new: it has its space, and no trees. Call [`Opened::created`] when what it needs is in it.
    pub(crate) is_new: bool,
    pub(crate) dir_lock: DirLock,
}

fn pool_options(options: &EngineOptions, data: &ControlData) -> PoolOptions {
    PoolOptions {
        dir: options.datadir.clone(),
        pool_bytes: options.buffer_pool_bytes,
        max_data_bytes: options.max_data_bytes,
        direct_io: true,
        store_id: data.store_id,
    }
}

fn log_options(options: &EngineOptions) -> gannet_log::Options {
    gannet_log::Options {
        capacity: options.redo_capacity_bytes,
        policy: match options.flush_policy {
            FlushPolicy::EverySecond => gannet_log::FlushPolicy::EverySecond,
            FlushPolicy::AtCommit => gannet_log::FlushPolicy::Durable,
            FlushPolicy::WriteAtCommit => gannet_log::FlushPolicy::Written,
        },
        events: options.events.clone(),
        ..gannet_log::Options::new(options.datadir.join(LOG_DIR))
    }
}

/// Opens or creates the files. Redo of the last part of the log is not done yet: see [`Recovery::spawn`].
pub(crate) fn open(options: &EngineOptions) -> Result<Opened> {
    let dir_lock = DirLock::take(&options.datadir)?;
    match decide(look(options)?) {
        Decision::Refuse(e) => Err(e),
        Decision::Create => create(options, dir_lock),
        Decision::CreateAgain => {
            remove_unfinished(&options.datadir)?;
            create(options, dir_lock)
        }
        Decision::Recover(data, sequence) => recover(options, dir_lock, data, sequence),
    }
}

fn remove_unfinished(dir: &Path) -> Result<()> {
    for path in fs::read_dir(dir).map_err(io("list the data directory"))? {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if name == LOG_DIR {
            fs::remove_dir_all(&path).map_err(io("remove an unfinished log"))?;
        } else if matches!(name, "data.gnt" | "double.gnt") {
            fs::remove_file(&path).map_err(io("remove an unfinished data file"))?;
        }
    }
    fs::sync_dir(dir).map_err(io("sync the data directory"))
}

fn create(options: &EngineOptions, dir_lock: DirLock) -> Result<Opened> {
    let mut store_id = [0; 16];
    store_id[..8].copy_from_slice(&random_u64().to_le_bytes());
    store_id[8..].copy_from_slice(&(random_u64() ^ unix_micros()).to_le_bytes());
    let data = ControlData {
        store_id,
        state: State::Creating,
        checkpoint: FIRST_LSN,
        checkpoint_epoch: 1,
        epoch: 1,
        next_trx: TrxId(1),
        created_us: unix_micros(),
    };
    let control = Control::create(&options.datadir, data)?;
    let (store, end) = (data.log_store(), FIRST_LSN);
    let log = Log::open(log_options(options), Start { store, checkpoint: end, end, epochs: Vec::new(), epoch: 1 })?;
    let pool = Pool::open(&pool_options(options, &data), log.clone(), None)?;
    let recovery = Recovery::new(None, RedoMap::default(), Progress::default(), options.events.clone());
    recovery.progress.enter(RecoveryPhase::Done);
    let (control, recovery) = (Arc::new(control), Arc::new(recovery));
    let index = index_state(options, &data, &[], end, 1);
    Ok(Opened { log, pool, control, recovery, index, next_trx: TrxId(1), is_new: true, dir_lock })
}

impl Opened {
    /// The new store has all it needs: from now on it exists, also after a crash.
    pub(crate) fn created(&self) -> Result<()> {
        self.log.wait_durable(self.log.tail_lsn())?;
        self.control.update_both(|data| data.state = State::Open)
    }
}

fn recover(options: &EngineOptions, dir_lock: DirLock, data: ControlData, sequence: u64) -> Result<Opened> {
    let dir = &options.datadir;
    let repaired = gannet_buffer::repair(dir, data.checkpoint)?;
    if repaired.restored > 0 {
        options.events.note(format_args!("recovery: {} torn pages restored", repaired.restored));
    }
    let progress = Progress::default();
    progress.noted.store(now_ns(), Relaxed);
    progress.enter(RecoveryPhase::Scan);
    let (chunks, redo, reader) = match read_indexed(options, &data, &progress)? {
        Some(read) => read,
        None => read_all(options, &data, &progress)?,
    };
    let (end, epochs) = (reader.end(), all_epochs(&data, &chunks, &reader));
    drop(reader);
    let control = Arc::new(Control::open(dir, sequence, data)?);
    let epoch = data.epoch.max(epochs.last().map_or(0, |e| e.1)) + 1;
    control.update_both(|d| {
        d.epoch = epoch;
        d.state = State::Open;
    })?;
    let start = Start { store: data.log_store(), checkpoint: data.checkpoint, end, epochs, epoch };
    let log = Log::open(log_options(options), start)?;
    let indexed_to = chunks.last().map_or(data.checkpoint, |c| c.end);
    let index = index_state(options, &data, &chunks, data.checkpoint, data.checkpoint_epoch);
    let indexed = match chunks.is_empty() {
        true => None,
        false => Some(Indexed::new(&dir.join(LOG_DIR), data.log_store(), data.checkpoint, chunks)?),
    };
    let recovery = Arc::new(Recovery::new(indexed, redo, progress, options.events.clone()));
    if end > data.checkpoint {
        options.events.note(format_args!(
            "recovery: log from {} to {end} ({} bytes, of these {} by its index), {} pages to bring up to date",
            data.checkpoint,
            end.since(data.checkpoint),
            indexed_to.since(data.checkpoint),
            recovery.pages.len()
        ));
    }
    let pool = Pool::open(&pool_options(options, &data), log.clone(), Some(recovery.clone()))?;
    pool.set_aside(recovery.bytes());
    recovery.progress.enter(RecoveryPhase::Redo);
    Ok(Opened { log, pool, control, recovery, index, next_trx: data.next_trx, is_new: false, dir_lock })
}

/// Where the indexer goes on: behind `chunks`, or else at `from`.
fn index_state(options: &EngineOptions, data: &ControlData, chunks: &[Chunk], from: Lsn, epoch: u64) -> IndexState {
    let dir = options.datadir.join(LOG_DIR);
    let (at, epoch) = chunks.last().map_or((from, epoch), |c| (c.end, c.epoch_at(c.end)));
    let files = chunks.iter().map(|c| (c.end, chunk::path(&dir, c.start))).collect();
    IndexState { dir, store: data.log_store(), at, epoch, files }
}

/// The epochs in force from the checkpoint on.
fn all_epochs(data: &ControlData, chunks: &[Chunk], reader: &LogReader) -> Vec<(Lsn, u64)> {
    let mut epochs = vec![(data.checkpoint, data.checkpoint_epoch)];
    let indexed = chunks.iter().flat_map(|c| &c.epochs[1..]).filter(|e| e.0 >= data.checkpoint);
    epochs.extend(indexed);
    epochs.extend(&reader.epochs()[1..]);
    epochs
}

type ReadBack = (Vec<Chunk>, RedoMap, LogReader);

/// Takes the index of the log, and reads the log behind it. `None` when there is no index, or not the memory for both.
fn read_indexed(options: &EngineOptions, data: &ControlData, progress: &Progress) -> Result<Option<ReadBack>> {
    let (dir, store, from) = (options.datadir.join(LOG_DIR), data.log_store(), data.checkpoint);
    let chunks = match options.redo_index_bytes {
        0 => Vec::new(),
        _ => chunk::chain(&dir, store, from, data.checkpoint_epoch)?,
    };
    let most = most_redo_bytes(options).saturating_sub(Indexed::memory(from, &chunks));
    let Some(last) = chunks.last().filter(|_| most >= LEAST_BEHIND_INDEX) else { return Ok(None) };
    let mut reader = LogReader::open(&dir, store, last.end, last.epoch_at(last.end))?;
    progress.log_total.store(last.end.since(from) + reader.span_bytes(), Relaxed);
    let (redo, more) = scan(&mut reader, from, most, progress, &options.events)?;
    Ok((!more).then_some((chunks, redo, reader)))
}

/// Reads the whole log from the checkpoint on; where it is too long for the memory, all but the last part of it is applied at once.
fn read_all(options: &EngineOptions, data: &ControlData, progress: &Progress) -> Result<ReadBack> {
    let (dir, from) = (options.datadir.join(LOG_DIR), data.checkpoint);
    let mut reader = LogReader::open(&dir, data.log_store(), from, data.checkpoint_epoch)?;
    progress.log_total.store(reader.span_bytes(), Relaxed);
    loop {
        let (part, more) = scan(&mut reader, from, most_redo_bytes(options), progress, &options.events)?;
        if !more {
            return Ok((Vec::new(), part, reader));
        }
        reader.sync()?;
        apply_part(options, data, part, reader.end(), progress)?;
    }
}

/// Memory that changes may take.
fn most_redo_bytes(options: &EngineOptions) -> u64 {
    (options.buffer_pool_bytes / 2).max(LEAST_REDO_BYTES)
}

/// Sorts records until the end of the log, or until their changes take `most` bytes: then there is more.
fn scan(reader: &mut LogReader, from: Lsn, most: u64, progress: &Progress, events: &Events) -> Result<(RedoMap, bool)> {
    let (map, more) = redo::sort(reader, from, most, &|end| {
        progress.log_bytes.store(end.since(from), Relaxed);
        progress.note(events);
    })?;
    if !more {
        progress.log_bytes.store(progress.log_total.load(Relaxed), Relaxed);
    }
    Ok((map, more))
}

/// Applies one part of a long log before the store is opened: every page it names is loaded, changed, written back.
fn apply_part(options: &EngineOptions, data: &ControlData, part: RedoMap, end: Lsn, progress: &Progress) -> Result<()> {
    let pages = Arc::new(part.pages());
    progress.pages_total.fetch_add(pages.len() as u64, Relaxed);
    let part = Arc::new(part);
    let pool = Pool::open(&pool_options(options, data), Arc::new(ReadLog { end }), Some(part.clone()))?;
    pool.set_aside(part.bytes());
    pool.start_cleaner();
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..tasks_for(pages.len()))
        .map(|i| {
            let (pages, part, pool, next) = (pages.clone(), part.clone(), pool.clone(), next.clone());
            spawn(&format!("redo-{i}"), move || {
                while let Some(chunk) = next_chunk(&pages, &next) {
                    pool.load_many(chunk, Priority::Scan);
                    chunk.iter().try_for_each(|&no| load(&pool, no))?;
                    chunk.iter().for_each(|&no| part.forget(no));
                    pool.set_aside(part.bytes());
                }
                Ok(())
            })
        })
        .collect();
    let ended = || damaged("a task that applies redo ended by itself");
    // All are waited for, whatever the first says.
    let outcomes: Vec<Result<()>> = tasks.into_iter().map(|t| t.join().unwrap_or_else(|_| Err(ended()))).collect();
    pool.stop_cleaner();
    outcomes.into_iter().collect::<Result<()>>()?;
    progress.pages.fetch_add(pages.len() as u64, Relaxed);
    pool.flush_all()?;
    Ok(())
}

fn tasks_for(pages: usize) -> usize {
    REDO_TASKS.min(pages / (2 * CHUNK) + 1)
}

/// The next few of `pages`, for one of the tasks that share `next`.
fn next_chunk<'a>(pages: &'a [PageNo], next: &AtomicUsize) -> Option<&'a [PageNo]> {
    let first = next.fetch_add(CHUNK, Relaxed).min(pages.len());
    let chunk = &pages[first..(first + CHUNK).min(pages.len())];
    (!chunk.is_empty()).then_some(chunk)
}

/// Makes a page resident with its changes. A page that turns out to be blank has none left: it was freed.
fn load(pool: &Pool, no: PageNo) -> Result<()> {
    match pool.load(no, Priority::Scan) {
        Err(Error::Page(e)) if e.what == gannet_buffer::NEVER_WRITTEN => Ok(()),
        other => Ok(other?),
    }
}

/// The page itself is damaged: trying again does not help. (That a read fails may pass.)
fn is_damage(e: &EngineError) -> bool {
    matches!(e, EngineError::Corrupt { what, .. } if !what.starts_with("cannot be read"))
}

impl RedoSource for Recovery {
    fn pending(&self, page: PageNo) -> bool {
        self.redo.pending(page) || self.indexed().is_some_and(|i| i.pending(page))
    }

    fn apply(&self, page: PageNo, bytes: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        match self.indexed() {
            Some(i) => i.changes(page, bytes.lsn(), |before| self.redo.apply_after(before, page, bytes))?,
            None => self.redo.apply(page, bytes),
        }
    }
}

impl Recovery {
    fn new(indexed: Option<Indexed>, redo: RedoMap, progress: Progress, events: Events) -> Recovery {
        let mut pages = redo.pages();
        if let Some(indexed) = &indexed {
            pages.extend(indexed.pages());
            pages.sort_unstable();
            pages.dedup();
        }
        progress.pages_total.fetch_add(pages.len() as u64, Relaxed);
        Recovery {
            progress,
            indexed: RwLock::new(indexed.map(Arc::new)),
            redo,
            pages,
            next: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            damaged: AtomicU64::new(0),
            events,
        }
    }

    fn indexed(&self) -> Option<Arc<Indexed>> {
        self.indexed.read().clone()
    }

    /// Memory that the changes take, or will take.
    fn bytes(&self) -> u64 {
        self.redo.bytes() + self.indexed().map_or(0, |i| i.bytes())
    }

    /// Reads the indexed part of the log into memory, this task its share; false when the task is to end.
    fn read_log(&self, indexed: &Indexed) -> bool {
        let _ = gannet_runtime::sleep(HEAD_START);
        while let Some(piece) = indexed.take_piece() {
            while let Err(e) = indexed.read_piece(piece) {
                if self.progress.failed.swap(1, AcqRel) == 0 {
                    self.events.error(format_args!("recovery: the log cannot be read: {e}; it is tried again"));
                }
                let _ = gannet_runtime::sleep(RETRY_AFTER);
                if gannet_runtime::interrupted() {
                    break;
                }
            }
            if gannet_runtime::interrupted() {
                indexed.give_up();
                return false;
            }
        }
        indexed.wait_read()
    }

    /// Starts the tasks which apply what is pending.
    pub(crate) fn spawn(self: &Arc<Self>, pool: &Arc<Pool>) -> Vec<JoinHandle<()>> {
        if self.redo_is_done() {
            return Vec::new();
        }
        let n = tasks_for(self.pages.len());
        self.left.store(n, Relaxed);
        (0..n)
            .map(|i| {
                let (recovery, pool) = (self.clone(), pool.clone());
                spawn(&format!("redo-{i}"), move || recovery.work(&pool))
            })
            .collect()
    }

    fn work(&self, pool: &Pool) {
        if let Some(indexed) = self.indexed()
            && !self.read_log(&indexed)
        {
            return;
        }
        while !gannet_runtime::interrupted() {
            let Some(chunk) = next_chunk(&self.pages, &self.next) else {
                if self.left.fetch_sub(1, AcqRel) == 1 {
                    self.finish(pool);
                }
                return;
            };
            pool.load_many(chunk, Priority::Scan);
            for &no in chunk {
                if !self.bring_up_to_date(pool, no) {
                    return;
                }
            }
            pool.set_aside(self.bytes());
            self.progress.note(&self.events);
        }
    }

    /// False when the task is to end.
    fn bring_up_to_date(&self, pool: &Pool, no: PageNo) -> bool {
        while let Err(e) = load(pool, no) {
            if is_damage(&e) {
                if pool.space().owner_of(no).is_none() || pool.is_resident(no) {
                    // Freed with its extent before it was written back: its older state does not fit its changes. Nobody reads it, or
                    // it was made anew meanwhile.
                    break;
                }
                self.damaged.fetch_add(1, Relaxed);
                self.events.error(format_args!("recovery: {e}"));
                return true;
            }
            if gannet_runtime::interrupted() {
                return false;
            }
            // It may pass; until then the checkpoint stays where it is.
            if self.progress.failed.swap(1, AcqRel) == 0 {
                self.events.error(format_args!("recovery: {no:?}: {e}; it is tried again"));
            }
            let _ = gannet_runtime::sleep(RETRY_AFTER);
        }
        self.redo.forget(no);
        if let Some(indexed) = self.indexed() {
            indexed.forget(no);
        }
        self.progress.pages.fetch_add(1, Relaxed);
        true
    }

    /// The last page is dealt with.
    fn finish(&self, pool: &Pool) {
        let damaged = self.damaged.load(Relaxed);
        if damaged == 0 {
            pool.end_redo();
            *self.indexed.write() = None;
        } else {
            self.events.error(format_args!("recovery: {damaged} damaged pages; what lies in them cannot be read"));
        }
        pool.set_aside(self.bytes());
        // What the changes took is free now.
        gannet_runtime::run_blocking(gannet_runtime::release_free_memory);
        self.progress.failed.store(0, Release);
        self.progress.enter(RecoveryPhase::Done);
        if !self.pages.is_empty() {
            self.events.note(format_args!("recovery: all redo applied, {} pages", self.pages.len()));
        }
    }

    /// All pages have their changes: the checkpoint may move.
    pub(crate) fn redo_is_done(&self) -> bool {
        self.progress.phase.load(Acquire) == RecoveryPhase::Done as u8
    }

    /// How far it is.
    pub(crate) fn status(&self) -> RecoveryStatus {
        self.progress.status()
    }

    /// So many transactions are to be rolled back, from now on.
    pub(crate) fn begin_rollback(&self, losers: u64) {
        self.progress.losers.store(losers, Relaxed);
        self.progress.rollback.begin();
    }

    /// All that can be are rolled back.
    pub(crate) fn end_rollback(&self) {
        self.progress.rollback.end();
    }

    /// Its steps, in order; `left`: transactions still to be rolled back.
    pub(crate) fn steps(&self, left: u64) -> [RecoveryStep; 3] {
        let (p, get) = (&self.progress, |a: &AtomicU64| a.load(Relaxed));
        let losers = get(&p.losers);
        let over = self.redo_is_done();
        let mut steps = [
            p.scan.step("log", "bytes", get(&p.log_bytes), get(&p.log_total)),
            p.redo.step("redo", "pages", get(&p.pages), get(&p.pages_total)),
            p.rollback.step("rollback", "transactions", losers.saturating_sub(left), losers),
        ];
        // A new store has read no log; where nothing is unfinished nothing is rolled back.
        steps[0].ended |= over;
        steps[2].ended |= losers == 0 && over;
        steps
    }
}

#[cfg(test)]
mod tests;
