//! The binary log: a view of the write-ahead log in MySQL's format.
//!
//! A commit carries its events ([`gannet_binlog::group`]) in the log. One task, the `exporter`, follows the log
//! behind its durable horizon and writes the files; numbers and positions follow from the order of commits. So files
//! may lag, are never ahead of what is durable, and the same log gives the same bytes again, but for write sets, which
//! are of one life of the server.
//!
//! INV-BIN-1: what readers are given (up to [`Place`]) is derived from durable commits only, in files whose beginning
//! is durable. INV-BIN-2: the log's consumer lets go of commits only when they are durably in the files, and the
//! state says so. INV-BIN-3: a file begins durably, with the state that names it, before anything of it, or the end
//! of the file before it, is given away.

mod exporter;
mod files;
mod owned;
mod semisync;
mod sizes;
mod spill;
#[cfg(test)]
mod tests;

pub use files::{Front, Names};
pub use owned::OwnGtid;
pub use semisync::{Figures, Rules, SemiSync};
pub use sizes::{Sized, Sizes};

use crate::log::ErrorLog;
use crate::vars::{GlobalVars, Live};
use gannet_base::Lsn;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::Release};
use gannet_binlog::Checksum;
use gannet_binlog::derive::Writer;
use gannet_binlog::format::put_gtids;
use gannet_binlog::group::ROTATE;
use gannet_binlog::writeset::{Keys, Known, UNKNOWN};
use gannet_engine::{Engine, EngineError, Txn, TxnOptions, commit_gate};
use gannet_exec::error::from_engine;
use gannet_runtime::{Interrupt, JoinHandle, Monitor, Unpark, Wait, Waker, fs, park, waker};
use gannet_types::gtid::{GtidSet, Uuid};
use gannet_types::{ErrorCode, SqlError, sql_err};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// The name under which the log is kept for the exporter.
const CONSUMER: &str = "binlog";
/// Of the log's capacity, what may wait for the exporter before writers do.
fn bound_bytes(capacity: u64) -> u64 {
    capacity / 2
}

/// Transactions whose places are remembered, so that a snapshot's is found.
const REMEMBERED: usize = 1 << 16;
/// How long commits gather, unless they are many, while nobody waits for them.
const PACE_NS: u64 = 50_000_000;

/// A position in the files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    /// Number of the file.
    pub number: u64,
    /// In it.
    pub position: u64,
}

/// `binlog_row_image`: the columns in the images of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum RowImage {
    /// All.
    #[default]
    Full = 0,
    /// Without long columns that have not changed.
    NoBlob = 1,
    /// Before: what a row is found by; after: what has changed.
    Minimal = 2,
}

impl RowImage {
    /// From the variable's value.
    pub fn of(text: &str) -> RowImage {
        match text {
            "MINIMAL" => RowImage::Minimal,
            "NOBLOB" => RowImage::NoBlob,
            _ => RowImage::Full,
        }
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its size, as far as readers are given it.
    pub size: u64,
    /// Transactions in the files before.
    pub previous: Arc<GtidSet>,
}

/// A transaction in the files.
#[derive(Clone, Copy, Debug)]
struct Passed {
    lsn: Lsn,
    /// Behind it.
    place: Place,
    gtid: (Uuid, u64),
    /// The connection.
    thread: u32,
}

/// Who reads the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reader {
    /// Its connection.
    pub connection: u64,
    /// `server_id`
    pub server_id: u32,
    /// `report_host`
    pub host: String,
    /// `report_port`
    pub port: u16,
    /// `server_uuid`; empty: it has not said so.
    pub uuid: String,
}

#[derive(Default)]
struct Shared {
    /// Oldest first. The last one is written.
    files: Vec<LogFile>,
    /// Transactions in the files and before.
    executed: GtidSet,
    /// Of these, they were never in a file.
    foreign: GtidSet,
    /// Commits up to here are in the files.
    lsn: Lsn,
    /// The last ones.
    passed: VecDeque<Passed>,
    /// Chosen by sessions, and not in the files yet.
    owned: Vec<owned::Owned>,
    /// Tasks that wait for more.
    waiting: Vec<Waker>,
    /// The exporter lets commits gather, as nobody waits.
    pacing: Option<Waker>,
    /// Files that are being read: by whom.
    readers: Vec<(u64, u64)>,
    next_reader: u64,
    /// Replicas that have said who they are, and readers.
    replicas: Vec<Reader>,
    dumps: Vec<Reader>,
    /// Connections whose place another reader has taken, until they have ended.
    displaced: Vec<u64>,
    /// The exporter has ended.
    ended: bool,
    /// Why it cannot write the files, which it tries again, and how often that was.
    stuck: Option<String>,
    failures: u64,
}

/// What all share of the binary log.
pub struct Binlog {
    names: Names,
    uuid: Uuid,
    shared: Mutex<Shared>,
    /// Somebody changes the list of files, here and on disk.
    listing: Monitor<bool>,
    /// Number of the next file with rows.
    next_spill: AtomicU64,
    /// The last commit that asks for all to begin anew.
    reset_at: AtomicU64,
    /// `binlog_row_metadata` is FULL; `binlog_row_image`; `binlog_row_value_options` is PARTIAL_JSON. Copies:
    /// statements read them, and a global variable cannot be read without a write that others see.
    full_metadata: AtomicBool,
    row_image: AtomicU8,
    partial_documents: AtomicBool,
    /// `max_binlog_cache_size`, a copy as well.
    largest: AtomicU64,
    /// Bytes of the write-ahead log.
    capacity: AtomicU64,
    /// Of the tables whose rows were logged.
    keys: Arc<Known>,
    sizes: sizes::AllSizes,
    semi: SemiSync,
    exporter: Mutex<Option<JoinHandle<()>>>,
    /// The log has ended: what cannot be written now is derived by the next start.
    leaving: AtomicBool,
    /// Looks for commits that wait for replicas too long.
    watch: Mutex<Option<JoinHandle<()>>>,
}

impl Binlog {
    /// Opens the files and starts the exporter, which goes on where it stopped. The error is a sentence.
    pub fn open(
        engine: &Engine,
        names: Names,
        globals: Arc<dyn Fn() -> Settings + Send + Sync>,
        log: Arc<ErrorLog>,
    ) -> Result<Arc<Binlog>, String> {
        let failed = |e: io::Error| format!("the binary log {} cannot be opened: {e}", names.basename().display());
        let it = Arc::new(Binlog {
            names: names.clone(),
            uuid: globals().writer.uuid,
            shared: Mutex::default(),
            listing: Monitor::default(),
            next_spill: AtomicU64::new(0),
            reset_at: AtomicU64::new(0),
            full_metadata: AtomicBool::new(false),
            row_image: AtomicU8::new(0),
            partial_documents: AtomicBool::new(false),
            largest: AtomicU64::new(u64::MAX),
            capacity: AtomicU64::new(engine.status().redo_capacity_bytes),
            keys: Arc::default(),
            sizes: Default::default(),
            semi: SemiSync::new(commit_gate(engine), log.clone()),
            watch: Mutex::new(None),
            exporter: Mutex::new(None),
            leaving: AtomicBool::new(false),
        });
        let exporter = Box::new(exporter::Exporter::open(engine, it.clone(), globals, log).map_err(failed)?);
        // Before anything is written: where the log is kept for it up to its bound, which a full disk leads to, writers
        // wait until it has read on.
        *it.exporter.lock() = Some(gannet_runtime::spawn("binlog", move || exporter.run()));
        // The server's life begins a file, before its first statement. Where a disk is full that may be later: a start
        // waits for nobody who makes room.
        let told = |e: EngineError| format!("the binary log cannot begin a file: {e}");
        let hurry = gannet_runtime::hurry();
        let (txn, lsn) = it.begin_request(engine, ROTATE_START, &now().to_le_bytes()).map_err(told)?;
        let until = gannet_runtime::now_ns() + FIRST_FILE_NS;
        while !txn.poll_commit(lsn, &waker()).map_err(told)? && gannet_runtime::now_ns() < until {
            if park(Wait::LogFlush, Some(until)) == Unpark::Interrupted {
                break;
            }
        }
        drop(hurry);
        let semi = it.clone();
        *it.watch.lock() = Some(gannet_runtime::spawn("semi-sync", move || semi.semi.run()));
        Ok(it)
    }

    /// Takes over what the global variables say of rows and of commits that wait for replicas.
    pub(crate) fn configure(&self, globals: &GlobalVars) {
        self.full_metadata.store(globals.get(Live::BinlogRowMetadata).as_str() == "FULL", Relaxed);
        self.row_image.store(RowImage::of(globals.get(Live::BinlogRowImage).as_str()) as u8, Relaxed);
        self.partial_documents.store(!globals.get(Live::BinlogRowValueOptions).as_str().is_empty(), Relaxed);
        self.largest.store(globals.get(Live::MaxBinlogCacheSize).as_u64(), Relaxed);
        self.semi_sync().configure(Rules::of(globals));
    }

    /// `max_binlog_cache_size`
    pub(crate) fn largest(&self) -> u64 {
        self.largest.load(Relaxed)
    }

    /// Bytes of the write-ahead log, of which commits and what waits for the exporter take parts.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.load(Relaxed)
    }

    /// `binlog_row_metadata` is FULL.
    pub(crate) fn has_full_metadata(&self) -> bool {
        self.full_metadata.load(Relaxed)
    }

    /// `binlog_row_image`, the server's.
    pub(crate) fn row_image(&self) -> RowImage {
        match self.row_image.load(Relaxed) {
            1 => RowImage::NoBlob,
            2 => RowImage::Minimal,
            _ => RowImage::Full,
        }
    }

    /// `binlog_row_value_options` is PARTIAL_JSON, the server's.
    pub(crate) fn has_partial_documents(&self) -> bool {
        self.partial_documents.load(Relaxed)
    }

    /// The number of a table's keys in its table maps.
    pub(crate) fn number_of(&self, keys: Option<Keys>) -> u16 {
        keys.map_or(UNKNOWN, |keys| self.keys.add(keys))
    }

    /// Where the files are.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Waits for the exporter's end, after that of the log.
    pub(crate) fn join(&self) {
        self.leaving.store(true, Relaxed);
        let task = self.exporter.lock().take();
        if let Some(task) = task {
            let _ = task.join();
        }
        let task = self.watch.lock().take();
        if let Some(task) = task {
            task.context().interrupt(Interrupt::Shutdown);
            let _ = task.join();
        }
    }

    /// Semi-synchronous replication.
    pub fn semi_sync(&self) -> &SemiSync {
        &self.semi
    }

    /// Has a new file begin behind all commits so far. Returns the commit that says so.
    fn request_file(&self, engine: &Engine, why: u8) -> Result<Lsn, EngineError> {
        self.request(engine, why, now())
    }

    /// Asks the exporter for something, behind all commits so far. Returns the commit that says so.
    fn request(&self, engine: &Engine, what: u8, number: u64) -> Result<Lsn, EngineError> {
        self.request_with(engine, what, &number.to_le_bytes())
    }

    fn request_with(&self, engine: &Engine, what: u8, body: &[u8]) -> Result<Lsn, EngineError> {
        let (txn, lsn) = self.begin_request(engine, what, body)?;
        txn.wait_commit(lsn).map(|()| lsn)
    }

    /// The same, without waiting for the log.
    fn begin_request(&self, engine: &Engine, what: u8, body: &[u8]) -> Result<(Txn, Lsn), EngineError> {
        let payload = [&[ROTATE, what][..], body].concat();
        let mut txn = engine.try_begin(TxnOptions::default())?;
        let lsn = txn.commit_with_unsynced(&mut &payload[..])?;
        Ok((txn, lsn))
    }

    /// FLUSH BINARY LOGS. Errors 1317, 1598.
    pub fn flush(&self, engine: &Engine) -> gannet_types::Result<()> {
        let lsn = self.request_file(engine, ROTATE_FLUSH).map_err(from_engine)?;
        self.wait_done(lsn)
    }

    /// Waits until what a statement has asked for is done. Error 1598 where the files cannot be written: it is done
    /// when they can. Error 1317.
    fn wait_done(&self, lsn: Lsn) -> gannet_types::Result<()> {
        // What has failed before may be mended by now.
        let before = self.shared.lock().failures;
        if self.wait_until(lsn, |shared| shared.ended || shared.failures > before) {
            return Ok(());
        }
        let shared = self.shared.lock();
        Err(match &shared.stuck {
            _ if gannet_runtime::interrupted() => sql_err!(QueryInterrupted),
            Some(why) if shared.failures > before => sql_err!(
                BinlogLoggingImpossible,
                format_args!("{why}; it is tried again, and what was asked for is done then")
            ),
            _ if shared.ended => SqlError::internal("the binary log has ended"),
            _ => sql_err!(QueryInterrupted),
        })
    }

    /// Waits until the commits up to `lsn` are in the files; false when the task is interrupted or the exporter has
    /// ended.
    pub fn wait_for(&self, lsn: Lsn) -> bool {
        self.wait_until(lsn, |shared| shared.ended)
    }

    fn wait_until(&self, lsn: Lsn, over: impl Fn(&Shared) -> bool) -> bool {
        loop {
            {
                let mut shared = self.shared.lock();
                if shared.lsn >= lsn {
                    return true;
                }
                if over(&shared) {
                    return false;
                }
                shared.wait();
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return false;
            }
        }
    }

    /// Lets commits gather for a moment, or until they are many, unless somebody waits for them: each round of the
    /// exporter costs as much as a hundred transactions, since nothing that it needs is in the processor's caches.
    fn pace(&self, mut are_many: impl FnMut() -> bool) {
        if self.semi.is_on() {
            return;
        }
        let deadline = gannet_runtime::now_ns() + PACE_NS;
        loop {
            {
                let mut shared = self.shared.lock();
                shared.pacing = shared.waiting.is_empty().then(waker);
                if shared.pacing.is_none() {
                    return;
                }
            }
            // The log may wake it for what it has asked before, too: commits go on gathering.
            if are_many() || park(Wait::LogFollow, Some(deadline)) != Unpark::Woken {
                break;
            }
        }
        self.shared.lock().pacing = None;
    }

    /// Waits until more than up to `place` can be read, or until `deadline` (of `now_ns`). False when the task is
    /// interrupted or the exporter has ended.
    pub fn wait_beyond(&self, place: Place, deadline: Option<u64>) -> bool {
        match self.listen_beyond(place) {
            Some(true) => true,
            Some(false) => park(Wait::LogFollow, deadline) != Unpark::Interrupted,
            None => false,
        }
    }

    /// Whether more than up to `place` can be read; `false`: not yet, and the task is woken then. `None`: there will be
    /// no more.
    pub fn listen_beyond(&self, place: Place) -> Option<bool> {
        let mut shared = self.shared.lock();
        if shared.end() > place {
            return Some(true);
        }
        if shared.ended {
            return None;
        }
        shared.wait();
        Some(false)
    }

    /// The files, oldest first, and the transactions in them and before.
    pub fn state(&self) -> (Vec<LogFile>, GtidSet) {
        let shared = self.shared.lock();
        (shared.files.clone(), shared.executed.clone())
    }

    /// Up to where can be read.
    pub fn end(&self) -> Place {
        self.shared.lock().end()
    }

    /// Size of a file, and whether another follows; `None` when there is none of that number.
    pub fn file(&self, number: u64) -> Option<(u64, bool)> {
        let shared = self.shared.lock();
        let at = shared.files.iter().position(|f| f.number == number)?;
        Some((shared.files[at].size, at + 1 < shared.files.len()))
    }

    /// `gtid_executed`, as it is shown: all that was durable when this was called, but while the files cannot be
    /// written what they have.
    pub fn executed(&self, engine: &Engine) -> GtidSet {
        self.catch_up(engine);
        self.shared.lock().executed.clone()
    }

    /// The same for one who relies on it. Errors 1317, 1598.
    pub fn all_executed(&self, engine: &Engine) -> gannet_types::Result<GtidSet> {
        self.wait_done(engine.horizon())?;
        Ok(self.shared.lock().executed.clone())
    }

    /// Waits until all that is durable now is in the files; while these cannot be written nobody waits: whoever looks
    /// for what to purge makes room.
    pub fn catch_up(&self, engine: &Engine) {
        self.wait_until(engine.horizon(), |shared| shared.ended || shared.stuck.is_some());
    }

    /// Why the files cannot be written.
    pub fn is_stuck(&self) -> Option<String> {
        self.shared.lock().stuck.clone()
    }

    /// The files cannot be written, or can again.
    fn set_stuck(&self, why: Option<String>) {
        let waiting = {
            let mut shared = self.shared.lock();
            shared.failures += u64::from(why.is_some());
            shared.stuck = why;
            if shared.stuck.is_some() { std::mem::take(&mut shared.waiting) } else { Vec::new() }
        };
        waiting.iter().for_each(Waker::wake);
    }

    /// `gtid_purged`
    pub fn purged(&self) -> GtidSet {
        let shared = self.shared.lock();
        let mut purged = shared.files.first().map_or_else(|| shared.executed.clone(), |f| (*f.previous).clone());
        purged.add_all(&shared.foreign);
        purged
    }

    /// These transactions count as executed, and as purged: they came with a copy of another server's data. They are
    /// those before the file that begins then. Errors 1317, 1598.
    pub fn add_purged(&self, engine: &Engine, set: &GtidSet) -> gannet_types::Result<()> {
        let mut body = Vec::new();
        put_gtids(set, &mut body);
        let lsn = self.request_with(engine, ADD_PURGED, &body).map_err(from_engine)?;
        self.wait_done(lsn)
    }

    /// The place and the transactions of a snapshot of the tables at `lsn`; `None` when it is too long ago.
    pub fn at_snapshot(&self, lsn: Lsn) -> Option<(Place, GtidSet)> {
        self.wait_for(lsn);
        let shared = self.shared.lock();
        let at = shared.passed.partition_point(|p| p.lsn <= lsn);
        let place = match at.checked_sub(1).and_then(|i| shared.passed.get(i)) {
            Some(before) => before.place,
            None if shared.passed.is_empty() => shared.end(),
            None => return None,
        };
        let mut executed = shared.executed.clone();
        let mut later = GtidSet::default();
        for p in shared.passed.range(at..) {
            later.add(&p.gtid.0.into(), p.gtid.1..p.gtid.1 + 1);
        }
        executed.subtract(&later);
        Some((place, executed))
    }

    /// A reader of the files from this one on: they are not purged before it has passed them.
    pub fn reader(self: &Arc<Self>, number: u64) -> FileReader {
        let mut shared = self.shared.lock();
        shared.next_reader += 1;
        let id = shared.next_reader;
        shared.readers.push((id, number));
        FileReader { log: self.clone(), id }
    }

    /// This server's own transactions have it.
    pub fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// A replica says who it is.
    pub fn register(&self, reader: Reader) {
        let mut shared = self.shared.lock();
        shared.replicas.retain(|r| r.connection != reader.connection);
        shared.replicas.push(reader);
    }

    /// A reader begins. Returns the connections of others that are the same one: by their uuid, or else their number.
    pub fn begin_dump(&self, reader: Reader) -> Vec<u64> {
        let mut shared = self.shared.lock();
        let same = |r: &&Reader| {
            let other = r.connection != reader.connection;
            other && if reader.uuid.is_empty() { r.server_id == reader.server_id } else { r.uuid == reader.uuid }
        };
        let former: Vec<u64> = shared.dumps.iter().filter(same).map(|r| r.connection).collect();
        shared.dumps.push(reader);
        shared.displaced.extend(&former);
        former
    }

    /// A connection's reading has ended. True: another reader has taken its place.
    pub fn unregister(&self, connection: u64) -> bool {
        let mut shared = self.shared.lock();
        let displaced = shared.displaced.contains(&connection);
        shared.displaced.retain(|c| *c != connection);
        shared.dumps.retain(|r| r.connection != connection);
        shared.replicas.retain(|r| r.connection != connection);
        displaced
    }

    /// SHOW REPLICAS: those that have said who they are.
    pub fn replicas(&self) -> Vec<Reader> {
        self.shared.lock().replicas.clone()
    }

    /// RESET BINARY LOGS AND GTIDS: all files go, no transaction was executed, and the next file has this number.
    /// Errors 1317, 1598.
    pub fn reset(&self, engine: &Engine, first: u64) -> gannet_types::Result<()> {
        let lsn = self.request(engine, RESET, first).map_err(from_engine)?;
        self.reset_at.fetch_max(lsn.get(), Release);
        match self.wait_done(lsn) {
            // What is to go anyway makes room.
            Err(e) if e.code() == ErrorCode::BinlogLoggingImpossible && self.purge(u64::MAX).is_ok() => {
                self.wait_done(lsn)
            }
            outcome => outcome,
        }
    }

    /// No other task changes the list of files while the result lives.
    fn list(&self) -> Listing<'_> {
        self.listing.wait(Wait::FileMeta, |busy| (!std::mem::replace(busy, true)).then_some(()));
        Listing(self)
    }

    /// Drops the files before `number`, as far as nobody reads them. It needs no log and nothing of the exporter, which
    /// may wait for the room that this makes.
    pub fn purge(&self, number: u64) -> io::Result<()> {
        let _listing = self.list();
        let (gone, left): (Vec<u64>, Vec<u64>) = {
            let shared = self.shared.lock();
            let current = shared.files.last().map_or(0, |f| f.number);
            let read = shared.readers.iter().map(|(_, n)| *n).min().unwrap_or(u64::MAX);
            let upto = number.min(current).min(read);
            shared.files.iter().map(|f| f.number).partition(|n| *n < upto)
        };
        if gone.is_empty() {
            return Ok(());
        }
        let remove = |number: &u64| match fs::remove_file(self.names.path(*number)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        match self.names.store_index(left.iter().copied()) {
            // Without room for the new index the oldest go first, which a start after a crash does not miss.
            Err(e) if e.kind() == io::ErrorKind::StorageFull => {
                gone.iter().try_for_each(remove)?;
                // Only now the room is free.
                self.names.sync_dir()?;
                self.names.store_index(left.iter().copied())?;
            }
            stored => stored?,
        }
        self.shared.lock().files.retain(|f| !gone.contains(&f.number));
        gone.iter().try_for_each(remove)
    }
}

/// The right to change the list of files.
struct Listing<'a>(&'a Binlog);

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        self.0.listing.change(|busy| *busy = false);
    }
}

/// Microseconds since 1970.
fn now() -> u64 {
    gannet_runtime::WallTime::now().micros()
}

/// How long a start waits for its first file, in nanoseconds.
const FIRST_FILE_NS: u64 = 1_000_000_000;

/// What the exporter is asked for, in the order of commits: a file begins, all begins anew. By 2 earlier builds asked
/// for what [`Binlog::purge`] does.
const ROTATE_FLUSH: u8 = 0;
const ROTATE_START: u8 = 1;
const PURGED: u8 = 2;
const RESET: u8 = 3;
/// Transactions are executed elsewhere; a number of this server is chosen by a session, or is free again.
const ADD_PURGED: u8 = 4;
const RESERVE: u8 = 5;
const RELEASE: u8 = 6;

impl Shared {
    /// The task waits for more: the exporter does not let commits gather meanwhile.
    fn wait(&mut self) {
        self.waiting.push(waker());
        if let Some(exporter) = self.pacing.take() {
            exporter.wake();
        }
    }

    fn end(&self) -> Place {
        self.files.last().map_or_else(Place::default, |f| Place { number: f.number, position: f.size })
    }
}

/// Keeps the files that are read.
pub struct FileReader {
    log: Arc<Binlog>,
    id: u64,
}

impl FileReader {
    /// It has come to another file.
    pub fn at(&self, number: u64) {
        let mut shared = self.log.shared.lock();
        if let Some(own) = shared.readers.iter_mut().find(|(id, _)| *id == self.id) {
            own.1 = number;
        }
    }
}

impl Drop for FileReader {
    fn drop(&mut self) {
        self.log.shared.lock().readers.retain(|(id, _)| *id != self.id);
    }
}

/// The binary log is off: its commits are not kept.
pub fn forget(engine: &Engine) -> Result<(), EngineError> {
    engine.forget_consumer(CONSUMER).map(drop)
}

/// The write-ahead log has another capacity.
pub(crate) fn log_is_resized(log: &Binlog, engine: &Engine, capacity: u64) {
    log.capacity.store(capacity, Relaxed);
    gannet_engine::bound_consumer(engine, CONSUMER, bound_bytes(capacity));
}

/// What the exporter needs of the variables: read where a file begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who writes.
    pub writer: Writer,
    /// `max_binlog_size`
    pub max_size: u64,
    /// `binlog_expire_logs_seconds`; `None`: files stay.
    pub expire_s: Option<u64>,
    /// `binlog_transaction_dependency_history_size`
    pub history: usize,
}

impl Settings {
    /// From the variables.
    pub fn of(globals: &GlobalVars, version: &str) -> Settings {
        let get = |id| globals.get(id);
        let uuid = Uuid::parse(get(Live::ServerUuid).as_str().as_bytes()).unwrap_or_default();
        let checksum = if get(Live::BinlogChecksum).as_str() == "NONE" { Checksum::None } else { Checksum::Crc32 };
        let expire = get(Live::BinlogExpireLogsSeconds).as_u64();
        Settings {
            writer: Writer {
                server_id: get(Live::ServerId).as_u64() as u32,
                uuid,
                version: version.to_owned(),
                checksum,
            },
            max_size: get(Live::MaxBinlogSize).as_u64(),
            history: get(Live::BinlogTransactionDependencyHistorySize).as_u64() as usize,
            expire_s: (expire > 0 && get(Live::BinlogExpireLogsAutoPurge).as_bool()).then_some(expire),
        }
    }
}
