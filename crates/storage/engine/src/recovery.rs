//! Opening a store's files: finding out what is there, deciding what to do, and redo.
//!
//! 1. Lock the directory.
//! 2. [`decide`] from what is found: create, recover, or refuse.
//! 3. Repair torn pages from the double-write file.
//! 4. Read the index of the log, as far as there is one ([`crate::redo::chunk`]): it says which pages have changes, and
//!    where. Read the rest of the log, and index it in memory: one task finds and verifies the records, others read
//!    ahead and note the places of changes ([`crate::redo::rest`]).
//! 5. Make the new epoch durable (INV-CTL-1), open log and pool: transactions may begin.
//! 6. In *rounds*, in the background: gather the changes of as many pages as memory allows from the log
//!    ([`crate::redo`]), and load these pages. A page that a statement needs before gets its changes by reads of their
//!    own when it is loaded. The checkpoint does not move until all pages are done.
//!
//! Memory: index and gathered changes take at most half of `EngineOptions::buffer_pool_bytes` (at least 32 MiB), and
//! the pool does without the frames they take. Index entries that do not fit stay in their files (except the tables
//! of extents, 24 bytes for each extent that a chunk changes). Changes that do not fit go to a file, sorted by page,
//! from which later rounds read them ([`crate::redo::spill`]): the log is read once. (Where there is no room for the
//! file, each round reads the log again as far as it has changes of the round's pages.) The buffers for reading come
//! on top: 40 MiB at most, freed when a round is gathered.
//!
//! INV-REC-1: changes stay in the log until their page is resident with all of them (and dirty). Applying a change
//! again changes nothing, because a page's LSN says which changes it has.
//! INV-REC-2: a page that is loaded gets all its changes, so that no LSN hides a change that is still to be applied:
//! rounds divide the pages, not the log.
//! INV-REC-3: a page that cannot have its changes is marked as damaged on disk before the checkpoint passes them.

use std::path::{Path, PathBuf};

use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use gannet_base::sync::{Arc, Mutex, RwLock};
use gannet_base::{Lsn, PageNo, TrxId};
use gannet_buffer::{Error, PageBuf, Pool, PoolOptions, Priority, RedoSource};
use gannet_log::{FIRST_LSN, Log, LogError, LogReader, Start};
use gannet_page::Corrupt;
use gannet_runtime::{JoinHandle, Monitor, Wait, WallTime, fs, now_ns, random_u64, spawn};
use gannet_telemetry::Events;

use crate::control::{self, Control, ControlData, DirLock, Found, State, damaged, io};
use crate::indexer::IndexState;
use crate::plant::{Path as Way, note};
use crate::redo::chunk::{self, Chunk};
use crate::redo::indexed::Indexed;
use crate::redo::rest::Rest;
use crate::redo::spill::{self, Spill};
use crate::redo::{self, Gathered, NotGathered};
use crate::{EngineError, EngineOptions, FlushPolicy, OpenMode, Result};

/// Log directory in the store's directory.
const LOG_DIR: &str = "log";
/// Tasks that apply redo, each with a chunk of reads in flight.
const REDO_TASKS: usize = 4;
/// Pages that a task reads at once.
const CHUNK: usize = 32;
const LEAST_REDO_BYTES: u64 = 32 << 20;
/// The least for the changes of a round, whatever the index takes.
const LEAST_ROUND_BYTES: u64 = 4 << 20;
/// Most bytes of log in a chunk of the rest's index. A change takes 16 bytes while the chunk is made.
const CHUNK_OF_REST: u64 = 8 << 20;
/// After the store is opened, gathering changes waits this long, so that the first statements have the disk to
/// themselves.
const HEAD_START: std::time::Duration = std::time::Duration::from_millis(200);
/// Up to so many pages are brought up to date without that wait.
const FEW_PAGES: u64 = 64;
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
    /// A creation was not finished, and no client was told of the store. Remove its files, make a store.
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
/// | other | any | any | any | refuse: another format |
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
        Found::Other(found) => {
            return Decision::Refuse(EngineError::OtherFormat { found, known: control::FORMAT_VERSION });
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

// ---- opening ----

/// Redo behind the opened store, and the figures about it.
pub(crate) struct Recovery {
    progress: Progress,
    /// The log's index; `None` when all pages are up to date.
    indexed: RwLock<Option<Arc<Indexed>>>,
    /// The present round, when its changes are gathered.
    round: RwLock<Option<Arc<Round>>>,
    turns: Monitor<Turns>,
    /// Memory that it may take.
    most: u64,
    /// Where changes may go that do not fit the memory.
    spill_dir: Mutex<Option<PathBuf>>,
    /// The changes that did not.
    spill: Mutex<Option<Spill>>,
    /// Extents below have had their round.
    next_extent: AtomicU64,
    /// Pages that cannot be brought up to date because they are damaged.
    damaged: Mutex<Vec<PageNo>>,
    events: Events,
}

/// Pages that are brought up to date together.
struct Round {
    pages: Vec<PageNo>,
    next: AtomicUsize,
    /// Their changes; else each page's are read on their own.
    gathered: Option<Gathered>,
}

/// Which task does what.
#[derive(Default)]
struct Turns {
    /// One of them gathers the next round.
    gathering: bool,
    /// So many load the pages of this round.
    loading: usize,
    over: bool,
}

enum Turn {
    Gather,
    Load(Arc<Round>),
    Over,
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
        most_pool_bytes: options.most_pool_bytes,
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

fn open_log(options: &EngineOptions, start: Start) -> Result<Arc<Log>> {
    // The message has to say that it is the log for which there is no room.
    Log::open(log_options(options), start).map_err(|e| match e {
        LogError::NoSpace { .. } => EngineError::Io(e.to_string()),
        e => e.into(),
    })
}

/// Opens or creates the files. Redo is not done yet: see [`Recovery::spawn`].
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
    store_id[8..].copy_from_slice(&(random_u64() ^ WallTime::now().micros()).to_le_bytes());
    let data = ControlData {
        store_id,
        state: State::Creating,
        checkpoint: FIRST_LSN,
        checkpoint_epoch: 1,
        epoch: 1,
        next_trx: TrxId(1),
        created_us: WallTime::now().micros(),
    };
    let control = Control::create(&options.datadir, data)?;
    let (store, end) = (data.log_store(), FIRST_LSN);
    let log = open_log(options, Start { store, checkpoint: end, end, epochs: Vec::new(), epoch: 1 })?;
    let pool = Pool::open(&pool_options(options, &data), log.clone(), None)?;
    let recovery = Recovery::new(None, 0, None, Progress::default(), options.events.clone());
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
    let most = most_redo_bytes(options);
    let mut chunks = match options.redo_index_bytes {
        0 => Vec::new(),
        _ => chunk::chain(&dir.join(LOG_DIR), data.log_store(), data.checkpoint, data.checkpoint_epoch, most / 4)?,
    };
    let indexed_to = chunks.last().map_or(data.checkpoint, |c| c.end);
    let (end, epochs) = read_rest(options, &data, &mut chunks, most / 4, &progress)?;
    let control = Arc::new(Control::open(dir, sequence, data)?);
    let epoch = data.epoch.max(epochs.last().map_or(0, |e| e.1)) + 1;
    control.update_both(|d| {
        d.epoch = epoch;
        d.state = State::Open;
    })?;
    let start = Start { store: data.log_store(), checkpoint: data.checkpoint, end, epochs, epoch };
    let log = open_log(options, start)?;
    let index = index_state(options, &data, &chunks, data.checkpoint, data.checkpoint_epoch);
    let from = (data.checkpoint, data.checkpoint_epoch);
    let indexed =
        if chunks.is_empty() { None } else { Some(Indexed::new(&dir.join(LOG_DIR), data.log_store(), from, chunks)?) };
    spill::remove(dir);
    let spill_dir = (options.redo_index_bytes != 0).then(|| dir.clone());
    let recovery = Arc::new(Recovery::new(indexed, most, spill_dir, progress, options.events.clone()));
    if end > data.checkpoint {
        options.events.note(format_args!(
            "recovery: log from {} to {end} ({} bytes, of these {} by its index), {} pages to bring up to date",
            data.checkpoint,
            end.since(data.checkpoint),
            indexed_to.since(data.checkpoint),
            recovery.progress.pages_total.load(Relaxed)
        ));
    }
    let pool = Pool::open(&pool_options(options, &data), log.clone(), Some(recovery.clone()))?;
    pool.set_aside(recovery.bytes());
    recovery.progress.enter(RecoveryPhase::Redo);
    Ok(Opened { log, pool, control, recovery, index, next_trx: data.next_trx, is_new: false, dir_lock })
}

/// Where the indexer goes on: behind those of `chunks` that have files, or else at `from`.
fn index_state(options: &EngineOptions, data: &ControlData, chunks: &[Chunk], from: Lsn, epoch: u64) -> IndexState {
    let dir = options.datadir.join(LOG_DIR);
    let written = chunks.iter().take_while(|c| c.is_written).count();
    let chunks = &chunks[..written];
    let (at, epoch) = chunks.last().map_or((from, epoch), |c| (c.end, c.epoch_at(c.end)));
    let files = chunks.iter().map(|c| (c.end, chunk::path(&dir, c.start))).collect();
    IndexState { dir, store: data.log_store(), at, epoch, files }
}

/// Reads the log behind `chunks` and adds its changes to them. Entries take at most `most` bytes of memory. Returns
/// the log's end, and the epochs in force from the checkpoint on.
fn read_rest(
    options: &EngineOptions,
    data: &ControlData,
    chunks: &mut Vec<Chunk>,
    most: u64,
    progress: &Progress,
) -> Result<(Lsn, Vec<(Lsn, u64)>)> {
    let (dir, store, from) = (options.datadir.join(LOG_DIR), data.log_store(), data.checkpoint);
    let (at, epoch) = chunks.last().map_or((from, data.checkpoint_epoch), |c| (c.end, c.epoch_at(c.end)));
    let mut epochs = vec![(from, data.checkpoint_epoch)];
    epochs.extend(chunks.iter().flat_map(|c| &c.epochs[1..]).filter(|e| e.0 >= from));
    let mut reader = LogReader::open(&dir, store, at, epoch)?;
    progress.log_total.store(at.since(from) + reader.span_bytes(), Relaxed);
    let (chunk, may_write) = match options.redo_index_bytes {
        0 => (CHUNK_OF_REST, false),
        bytes => (bytes.min(CHUNK_OF_REST), true),
    };
    redo::rest::index(&mut reader, chunks, Rest { dir, store, chunk, most, may_write }, &|end| {
        progress.log_bytes.store(end.since(from), Relaxed);
        progress.note(&options.events);
    })?;
    progress.log_bytes.store(progress.log_total.load(Relaxed), Relaxed);
    epochs.extend(&reader.epochs()[1..]);
    Ok((reader.end(), epochs))
}

/// Memory that changes may take.
fn most_redo_bytes(options: &EngineOptions) -> u64 {
    match options.redo_memory_bytes {
        0 => (options.buffer_pool_bytes / 2).max(LEAST_REDO_BYTES),
        bytes => bytes,
    }
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

impl Round {
    /// The next few of its pages.
    fn next(&self) -> Option<&[PageNo]> {
        next_chunk(&self.pages, &self.next)
    }

    fn is_taken(&self) -> bool {
        self.next.load(Relaxed) >= self.pages.len()
    }
}

impl RedoSource for Recovery {
    fn pending(&self, page: PageNo) -> bool {
        self.indexed().is_some_and(|i| i.pending(page))
    }

    fn apply(&self, page: PageNo, bytes: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        let round = self.round.read().clone();
        if let Some(gathered) = round.as_ref().and_then(|r| r.gathered.as_ref()).filter(|g| g.covers(page)) {
            return gathered.apply(page, bytes);
        }
        note(Way::Early);
        // `None`: the page was brought up to date meanwhile, as all others.
        self.indexed().map_or(Ok(None), |i| i.apply(page, bytes))
    }
}

impl Recovery {
    fn new(
        indexed: Option<Indexed>,
        most: u64,
        spill_dir: Option<PathBuf>,
        progress: Progress,
        events: Events,
    ) -> Recovery {
        progress.pages_total.store(indexed.as_ref().map_or(0, Indexed::count), Relaxed);
        Recovery {
            progress,
            indexed: RwLock::new(indexed.map(Arc::new)),
            round: RwLock::new(None),
            turns: Monitor::default(),
            most,
            spill_dir: Mutex::new(spill_dir),
            spill: Mutex::new(None),
            next_extent: AtomicU64::new(0),
            damaged: Mutex::default(),
            events,
        }
    }

    fn indexed(&self) -> Option<Arc<Indexed>> {
        self.indexed.read().clone()
    }

    /// Memory that index and changes take, or may take in the next round: what the pool had back in between it could
    /// give up again only by writing pages.
    fn bytes(&self) -> u64 {
        let Some(indexed) = self.indexed() else { return 0 };
        let round = self.round.read().as_ref().and_then(|r| Some(r.gathered.as_ref()?.bytes())).unwrap_or(0);
        let spill = self.spill.lock().as_ref().map_or(0, Spill::bytes);
        indexed.bytes() + spill + round.max(self.most_in_round(&indexed).min(self.weight_left(&indexed)))
    }

    fn most_in_round(&self, indexed: &Indexed) -> u64 {
        self.most.saturating_sub(indexed.bytes()).max(LEAST_ROUND_BYTES.min(self.most))
    }

    fn weight_left(&self, indexed: &Indexed) -> u64 {
        indexed.weight(self.next_extent.load(Relaxed))
    }

    /// Starts the tasks which apply what is pending.
    pub(crate) fn spawn(self: &Arc<Self>, pool: &Arc<Pool>) -> Vec<JoinHandle<()>> {
        if self.redo_is_done() {
            return Vec::new();
        }
        (0..tasks_for(self.progress.pages_total.load(Relaxed) as usize))
            .map(|i| {
                let (recovery, pool) = (self.clone(), pool.clone());
                spawn(&format!("redo-{i}"), move || recovery.work(&pool))
            })
            .collect()
    }

    fn work(&self, pool: &Pool) {
        if self.progress.pages_total.load(Relaxed) > FEW_PAGES {
            let _ = gannet_runtime::sleep(HEAD_START);
        }
        loop {
            match self.turn() {
                Turn::Over => return,
                Turn::Gather => {
                    let more = self.gather_next(pool);
                    if !more && self.give_up_damaged(pool) {
                        self.finish(pool);
                    }
                    self.turns.change(|t| (t.gathering, t.over) = (false, !more));
                }
                Turn::Load(round) => {
                    let done = self.load_pages(&round, pool);
                    self.turns.change(|t| {
                        t.loading -= 1;
                        t.over |= !done;
                    });
                }
            }
        }
    }

    fn turn(&self) -> Turn {
        self.turns.wait(Wait::Background, |t| {
            if t.over {
                return Some(Turn::Over);
            }
            if t.gathering {
                return None;
            }
            if let Some(round) = self.round.read().as_ref().filter(|r| !r.is_taken()) {
                t.loading += 1;
                return Some(Turn::Load(round.clone()));
            }
            (t.loading == 0).then(|| {
                t.gathering = true;
                Turn::Gather
            })
        })
    }

    /// Gathers the changes for the next round; false when there is none, or the task is to end.
    fn gather_next(&self, pool: &Pool) -> bool {
        *self.round.write() = None;
        let Some(indexed) = self.indexed() else { return false };
        pool.set_aside(self.bytes());
        let most = self.most_in_round(&indexed);
        if let Some(more) = self.next_spilled(&indexed, most) {
            pool.set_aside(self.bytes());
            return more;
        }
        let spill_dir = self.spill_dir.lock().take();
        let from = self.next_extent.load(Relaxed);
        let mut extents = indexed.next(from, if spill_dir.is_some() { u64::MAX } else { most / 10 * 9 });
        while !extents.is_empty() && !gannet_runtime::interrupted() {
            let (first, last) = (extents[0].extent, extents[extents.len() - 1].extent);
            let stop = &gannet_runtime::interrupted;
            let gathered = match redo::gather(&indexed, &extents, most, spill_dir.as_deref(), stop) {
                Ok((gathered, Some(spill))) => {
                    *self.spill.lock() = Some(spill);
                    if gathered.extents().is_empty() {
                        return self.next_spilled(&indexed, most).unwrap_or(false);
                    }
                    Some(gathered)
                }
                Ok((gathered, None)) if gathered.extents().is_empty() => {
                    if extents.len() > 1 {
                        extents.truncate(gathered.first_share(&extents));
                        continue;
                    }
                    note(Way::ByRecord);
                    None
                }
                Ok((gathered, None)) => Some(gathered),
                Err(NotGathered::Stopped) => return false,
                Err(NotGathered::Damaged) => None,
                Err(NotGathered::Unreadable(e)) => {
                    if self.progress.failed.swap(1, AcqRel) == 0 {
                        self.events.error(format_args!("recovery: the log cannot be read: {e}; it is tried again"));
                    }
                    let _ = gannet_runtime::sleep(RETRY_AFTER);
                    continue;
                }
            };
            let range = gathered.as_ref().map_or(first..last + 1, Gathered::extents);
            self.begin_round(&indexed, range, gathered);
            pool.set_aside(self.bytes());
            return true;
        }
        false
    }

    /// A round of changes that lie in a file; `None`: there are none.
    fn next_spilled(&self, indexed: &Indexed, most: u64) -> Option<bool> {
        let mut spill = self.spill.lock().take()?;
        if gannet_runtime::interrupted() {
            return Some(false);
        }
        // What the round before took lies with the allocator, in the share of the worker that gathered it.
        gannet_runtime::run_blocking(gannet_runtime::release_free_memory);
        let Some((extents, gathered)) = redo::gather_spilled(indexed.from(), &mut spill, most / 10 * 9) else {
            spill.end();
            // All extents there were had their changes there.
            return Some(false);
        };
        if gathered.is_none() {
            note(Way::ByRecord);
        }
        self.begin_round(indexed, extents, gathered);
        *self.spill.lock() = Some(spill);
        Some(true)
    }

    fn begin_round(&self, indexed: &Indexed, extents: std::ops::Range<u64>, gathered: Option<Gathered>) {
        let pages = indexed.pages(extents.clone());
        if let Some(gathered) = &gathered {
            pages.iter().for_each(|&no| gathered.expect(no));
            note(Way::Round);
        }
        self.next_extent.store(extents.end, Relaxed);
        self.progress.rounds.fetch_add(1, Relaxed);
        if self.weight_left(indexed) > 0 {
            note(Way::PartRound);
        }
        *self.round.write() = Some(Arc::new(Round { pages, next: AtomicUsize::new(0), gathered }));
    }

    /// Loads pages of the round as long as there are any; false when the task is to end.
    fn load_pages(&self, round: &Round, pool: &Pool) -> bool {
        while let Some(chunk) = round.next() {
            if gannet_runtime::interrupted() {
                return false;
            }
            // What the log frees in the end needs no changes: its pages would be given blocks of the file, and be
            // written, for nothing.
            let (free, used): (Vec<_>, Vec<_>) = chunk.iter().partition(|&&no| pool.space().is_free(no));
            for no in free {
                self.done_with(round, no);
            }
            pool.load_many(&used, Priority::Scan);
            for no in used {
                if !self.bring_up_to_date(round, pool, no) {
                    return false;
                }
            }
            pool.set_aside(self.bytes());
            self.progress.note(&self.events);
        }
        true
    }

    /// False when the task is to end.
    fn bring_up_to_date(&self, round: &Round, pool: &Pool, no: PageNo) -> bool {
        while let Err(e) = load(pool, no) {
            if e.is_damage() {
                if pool.space().owner_of(no).is_none() || pool.is_resident(no) {
                    // The page was freed with its extent before it was written back, and its older state does not fit
                    // its changes. It is not read any more, or was made anew meanwhile.
                    break;
                }
                self.damaged.lock().push(no);
                self.events.error(format_args!("recovery: {e}"));
                return true;
            }
            if gannet_runtime::interrupted() {
                return false;
            }
            // The error may pass. Until then the checkpoint does not move.
            if self.progress.failed.swap(1, AcqRel) == 0 {
                self.events.error(format_args!("recovery: {no:?}: {e}; it is tried again"));
            }
            let _ = gannet_runtime::sleep(RETRY_AFTER);
        }
        self.done_with(round, no);
        true
    }

    fn done_with(&self, round: &Round, no: PageNo) {
        // The index forgets the page first: a reader that sees the page pending may still ask `gathered` for its
        // changes.
        if let Some(indexed) = self.indexed() {
            indexed.forget(no);
        }
        if let Some(gathered) = &round.gathered {
            gathered.forget(no);
        }
        self.progress.pages.fetch_add(1, Relaxed);
    }

    /// Marks damaged pages on disk, so that reading one fails now and after every start. Without the mark nothing
    /// would tell that such a page lacks changes once the checkpoint has passed them (INV-REC-3). False when the task
    /// is to end.
    fn give_up_damaged(&self, pool: &Pool) -> bool {
        let Some(indexed) = self.indexed() else { return !gannet_runtime::interrupted() };
        let (all, mut given_up) = (std::mem::take(&mut *self.damaged.lock()), 0);
        for no in all {
            loop {
                if gannet_runtime::interrupted() {
                    return false;
                }
                let Err(e) = load(pool, no) else { break };
                match if e.is_damage() { pool.condemn(no).map_err(EngineError::from) } else { Err(e) } {
                    Ok(()) => {
                        given_up += 1;
                        break;
                    }
                    Err(e) => {
                        if self.progress.failed.swap(1, AcqRel) == 0 {
                            self.events.error(format_args!("recovery: {no:?}: {e}; it is tried again"));
                        }
                        let _ = gannet_runtime::sleep(RETRY_AFTER);
                    }
                }
            }
            indexed.forget(no);
        }
        if given_up > 0 {
            self.events.error(format_args!("recovery: {given_up} damaged pages; what lies in them cannot be read"));
        }
        !gannet_runtime::interrupted()
    }

    /// The last page is dealt with.
    fn finish(&self, pool: &Pool) {
        *self.round.write() = None;
        if let Some(spill) = self.spill.lock().take() {
            spill.end();
        }
        pool.end_redo();
        *self.indexed.write() = None;
        pool.set_aside(self.bytes());
        // What the changes took is free now.
        gannet_runtime::run_blocking(gannet_runtime::release_free_memory);
        self.progress.failed.store(0, Release);
        self.progress.enter(RecoveryPhase::Done);
        let (pages, rounds) = (self.progress.pages_total.load(Relaxed), self.progress.rounds.load(Relaxed));
        if pages > 0 {
            self.events.note(format_args!("recovery: all redo applied, {pages} pages in {rounds} rounds"));
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
