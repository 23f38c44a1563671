//! Rows on disk: what the memory bound of a statement does not hold.
//!
//! An operator that outgrows its share writes batches to `Run`s of a `SpillFile` and reads them back once or often. The
//! file has no name (it is unlinked as soon as it is open), so that neither KILL nor a crash leaves one behind; a crash
//! between the two steps leaves a name in the directory, which [`TempSpace::open`] empties. Nothing is synced: the rows
//! die with the statement. All I/O goes through `runtime`: a fiber parks, its worker goes on.
//!
//! What a spilling operator needs beside its bound: one batch and one write buffer a partition, one batch a run that is
//! merged; each at most `CHUNK_BYTES`, or one row.

mod codec;
mod dedup;
mod kept;
mod merge;
mod partition;
mod taken;

pub(crate) use dedup::Dedup;
pub(crate) use kept::Kept;
pub(crate) use merge::{BySequence, Merge, MergeOrder, reduce};
pub(crate) use partition::{MAX_LEVEL, Partitions};
pub use taken::{Around, Figures, SessionSpace, Taken};

use crate::batch::{BATCH_ROWS, Batch};
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_runtime::{File, OpenOptions, fs};
use gannet_telemetry::Counter;
use gannet_types::{ErrorCode, Result, SqlError, members::Members, room::Grants, sql_err};
use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

/// Bytes that a batch in a file should have; a row may be longer.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
/// Bytes collected before they are written.
const WRITE_BYTES: usize = 128 << 10;

/// Memory and disk that all statements of a server share. Statements take memory in grants of a megabyte, files grow by
/// whole writes: nothing here is touched row by row.
#[derive(Debug)]
pub struct TempSpace {
    directory: PathBuf,
    memory_used: AtomicUsize,
    /// The same, with what was given back.
    taken: Taken,
    memory_limit: AtomicUsize,
    /// Bytes returned since this figure was last read: the allocator may still have them.
    given_back: AtomicUsize,
    disk_used: AtomicU64,
    disk_limit: AtomicU64,
    next_name: AtomicU64,
}

impl TempSpace {
    /// Makes the directory if need be, and removes what a crash may have left in it.
    pub fn open(directory: PathBuf) -> io::Result<TempSpace> {
        fs::create_dir_all(&directory)?;
        for left in fs::read_dir(&directory)? {
            if left.extension().is_some_and(|e| e == "spill") {
                fs::remove_file(left)?;
            }
        }
        Ok(TempSpace {
            directory,
            memory_used: AtomicUsize::new(0),
            taken: Taken::default(),
            memory_limit: AtomicUsize::new(usize::MAX),
            given_back: AtomicUsize::new(0),
            disk_used: AtomicU64::new(0),
            disk_limit: AtomicU64::new(u64::MAX),
            next_name: AtomicU64::new(0),
        })
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bounds in bytes: memory of all statements together, disk of all files together.
    pub fn set_limits(&self, memory: u64, disk: u64) {
        self.memory_limit.store(usize::try_from(memory).unwrap_or(usize::MAX), Relaxed);
        self.disk_limit.store(disk, Relaxed);
    }

    /// Bytes granted to running statements.
    pub fn memory_used(&self) -> usize {
        self.memory_used.load(Relaxed)
    }

    /// Memory that was granted and given back so far.
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// Bytes that statements have given back since this was asked last.
    pub fn take_given_back(&self) -> usize {
        self.given_back.swap(0, Relaxed)
    }

    /// Bytes of files.
    pub fn disk_used(&self) -> u64 {
        self.disk_used.load(Relaxed)
    }

    /// Takes memory.
    fn grant(&self, bytes: usize) -> Pressure {
        self.taken.take(bytes);
        self.pressure(self.memory_used.fetch_add(bytes, Relaxed) + bytes)
    }

    /// Gives memory back.
    fn give_back(&self, bytes: usize) -> Pressure {
        self.taken.give(bytes);
        self.given_back.fetch_add(bytes, Relaxed);
        self.pressure(self.memory_used.fetch_sub(bytes, Relaxed) - bytes)
    }

    fn pressure(&self, used: usize) -> Pressure {
        let limit = self.memory_limit.load(Relaxed);
        if used <= limit {
            return Pressure::None;
        }
        // What cannot go to disk is refused to whoever holds a good part of it, and to nearly everybody when that
        // does not help.
        Pressure::Over { most: if used / 2 > limit { LEAST_PRESSED } else { LEAST_HARD.max(limit / 16) } }
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        if self.disk_used.fetch_add(bytes, Relaxed) + bytes > self.disk_limit.load(Relaxed) {
            self.disk_used.fetch_sub(bytes, Relaxed);
            return Err(full());
        }
        Ok(())
    }
}

/// The files of sorted builds count with those of statements.
impl gannet_engine::SortDisk for TempSpace {
    fn take(&self, bytes: u64) -> bool {
        self.grow(bytes).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.disk_used.fetch_sub(bytes, Relaxed);
    }
}

/// Statements ask the server for memory in pieces of this size.
const GRANT: usize = 1 << 20;
/// What a statement may hold of what cannot go to disk, whatever its own bound, and unless others hold far too much.
const LEAST_HARD: usize = 16 << 20;
/// What it may hold even then.
const LEAST_PRESSED: usize = 4 << 20;

/// How much all statements together hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pressure {
    /// Within the bound.
    None,
    /// Beyond it.
    Over {
        /// What one of them may hold of what cannot go to disk.
        most: usize,
    },
}

/// The memory of one statement.
///
/// Operators that can spill `hold` and ask `over`; everything else `reserve`s, and is refused at twice the bound. An
/// operator that holds less than a sixteenth of the bound need not spill: others are to blame.
pub(crate) struct Memory {
    held: usize,
    granted: usize,
    limit: usize,
    pressure: Pressure,
    space: Option<Arc<SessionSpace>>,
    /// Bytes of long values that were computed: they are not counted against a bound, but given back with the rest.
    made: usize,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Memory {
        Memory { held: 0, granted: GRANT, limit, pressure: Pressure::None, space: None, made: 0 }
    }

    /// Accounts for memory. True: more has to be granted first.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        self.held += bytes;
        self.held > self.granted
    }

    /// Takes grants for the memory that is held. `space`: the server's, called once.
    #[cold]
    pub(crate) fn grant(&mut self, space: impl FnOnce() -> Option<Arc<SessionSpace>>) {
        let wanted = (self.held - self.granted).next_multiple_of(GRANT);
        self.granted += wanted;
        if self.space.is_none() {
            self.space = space();
        }
        if let Some(space) = &self.space {
            self.pressure = space.grant(wanted);
        }
    }

    /// Takes note of a long value.
    #[cold]
    pub(crate) fn made(&mut self, bytes: usize, space: impl FnOnce() -> Option<Arc<SessionSpace>>) {
        self.made += bytes;
        if self.space.is_none() {
            self.space = space();
        }
    }

    pub(crate) fn release(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        if self.granted > self.held + 4 * GRANT {
            let kept = self.held.next_multiple_of(GRANT).max(GRANT);
            let surplus = std::mem::replace(&mut self.granted, kept) - kept;
            if let Some(space) = &self.space {
                self.pressure = space.give_back(surplus);
            }
        }
    }

    /// True when an operator which holds `own` bytes has to spill them.
    #[inline]
    pub(crate) fn over(&self, own: usize) -> bool {
        let share = self.limit / 16;
        (self.held > self.limit && own > share) || (self.pressed() && own > share.min(GRANT))
    }

    /// True beyond the bound of what cannot be spilled.
    pub(crate) fn beyond(&self) -> bool {
        refuses(self.limit, self.pressure, self.held)
    }

    fn pressed(&self) -> bool {
        self.pressure != Pressure::None
    }

    /// What one evaluation may take besides, over values of `beside` bytes. `space`: the server's, called once.
    pub(crate) fn allowance(&mut self, beside: usize, space: impl FnOnce() -> Option<Arc<SessionSpace>>) -> Allowance {
        if self.space.is_none() {
            self.space = space();
        }
        Allowance::of(self.limit, self.held + beside, self.space.clone())
    }

    /// What an operator may load back at once.
    pub(crate) fn share(&self) -> usize {
        if self.pressed() { self.limit.min(4 * GRANT) } else { self.limit / 2 }
    }
}

/// True when a statement of this bound may not hold so much of what cannot be spilled.
fn refuses(limit: usize, pressure: Pressure, held: usize) -> bool {
    let hard = limit.saturating_mul(2).max(LEAST_HARD);
    match pressure {
        Pressure::Over { most } if held > most.min(LEAST_HARD.max(limit / 4)) => true,
        _ => held > hard,
    }
}

/// Memory that one evaluation takes for what it builds: counted against the statement's bound and all statements'
/// together, and given back as a whole when it is dropped.
pub struct Allowance {
    /// What the statement holds besides.
    held: usize,
    limit: usize,
    taken: AtomicUsize,
    granted: AtomicUsize,
    space: Option<Arc<SessionSpace>>,
}

impl Allowance {
    /// Of a statement that holds nothing else and is not counted with others.
    pub fn alone(limit: usize) -> Allowance {
        Allowance::of(limit, 0, None)
    }

    fn of(limit: usize, held: usize, space: Option<Arc<SessionSpace>>) -> Allowance {
        Allowance { held, limit, taken: AtomicUsize::new(0), granted: AtomicUsize::new(0), space }
    }
}

impl Grants for Allowance {
    fn take(&self, bytes: usize) -> bool {
        let taken = self.taken.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let mut pressure = Pressure::None;
        // One task takes at a time.
        let granted = self.granted.load(Relaxed);
        if let Some(space) = &self.space
            && taken > granted
        {
            let wanted = (taken - granted).next_multiple_of(GRANT);
            self.granted.store(granted + wanted, Relaxed);
            pressure = space.grant(wanted);
        }
        !refuses(self.limit, pressure, self.held.saturating_add(taken))
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        let granted = self.granted.load(Relaxed);
        if let Some(space) = self.space.as_ref().filter(|_| granted > 0) {
            space.give_back(granted);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(space) = &self.space else { return };
        if self.granted > GRANT {
            space.give_back(self.granted - GRANT);
        }
        if self.made > 0 {
            space.space.given_back.fetch_add(self.made, Relaxed);
        }
    }
}

/// Memory that a session holds from one statement to the next: values of its variables, parameters that came in pieces.
/// It counts with that of statements.
pub struct Held {
    held: usize,
    granted: usize,
    space: Arc<SessionSpace>,
}

impl Held {
    /// Nothing yet.
    pub fn new(space: Arc<SessionSpace>) -> Held {
        Held { held: 0, granted: GRANT, space }
    }

    /// Where it is taken from.
    pub fn space(&self) -> &Arc<SessionSpace> {
        &self.space
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.held
    }

    /// Takes memory. False: the session holds `limit`, or more than its share while all together hold too much; then
    /// nothing is taken.
    pub fn take(&mut self, bytes: usize, limit: usize) -> bool {
        let held = self.held.saturating_add(bytes);
        if held > limit.max(LEAST_HARD) {
            return false;
        }
        if held > self.granted {
            let wanted = (held - self.granted).next_multiple_of(GRANT);
            if self.space.grant(wanted) != Pressure::None && held > LEAST_HARD {
                self.space.give_back(wanted);
                return false;
            }
            self.granted += wanted;
        }
        self.held = held;
        true
    }

    /// Gives memory back.
    pub fn give(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        if self.granted > self.held + 4 * GRANT {
            let kept = self.held.next_multiple_of(GRANT).max(GRANT);
            self.space.give_back(std::mem::replace(&mut self.granted, kept) - kept);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.granted > GRANT {
            self.space.give_back(self.granted - GRANT);
        }
    }
}

#[cold]
fn full() -> SqlError {
    sql_err!(RecordFileFull, "#tmp")
}

/// A failed operation on a file of ours, as the client sees it.
#[cold]
fn from_io(e: io::Error) -> SqlError {
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => full(),
        _ => sql_err!(ErrorOnWrite, "#tmp", e.raw_os_error().unwrap_or(0), e),
    }
}

/// Bytes of ours that do not read as they were written.
#[cold]
pub fn damaged() -> SqlError {
    SqlError::with_message(ErrorCode::NotKeyfile, "A temporary file does not hold what was written to it")
}

/// A file without a name. Space is not used again before it is closed.
#[derive(Debug)]
pub struct TempFile {
    file: File,
    end: AtomicU64,
    space: Arc<TempSpace>,
}

impl TempFile {
    /// An empty one.
    pub fn create(space: &Arc<TempSpace>) -> Result<TempFile> {
        let name = format!("{}-{}.spill", std::process::id(), space.next_name.fetch_add(1, Relaxed));
        let path = space.directory.join(name);
        let file = File::open(&path, &OpenOptions::read_write().create_new()).map_err(from_io)?;
        match fs::remove_file(&path) {
            // Another server that shares the directory was started just now.
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(from_io(e)),
            _ => {}
        }
        gannet_telemetry::count(Counter::CreatedTmpFiles);
        Ok(TempFile { file, end: AtomicU64::new(0), space: space.clone() })
    }

    /// Writes behind what is there. Returns where.
    pub fn append(&self, bytes: &[u8]) -> Result<u64> {
        self.space.grow(bytes.len() as u64)?;
        let at = self.end.fetch_add(bytes.len() as u64, Relaxed);
        self.file.write_at(bytes, at).map_err(from_io)?;
        Ok(at)
    }

    /// Reads bytes that were written.
    pub fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(to, at).map_err(from_io)
    }

    /// Bytes written.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u64 {
        self.end.load(Relaxed)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.space.disk_used.fetch_sub(self.len(), Relaxed);
    }
}

/// The file of an operator; each level of an algorithm takes its own.
#[derive(Debug)]
pub(crate) struct SpillFile {
    file: TempFile,
    /// Lists of ENUM and SET values, by number.
    members: RefCell<Vec<Arc<Members>>>,
}

impl SpillFile {
    pub(crate) fn create(space: &Arc<SessionSpace>) -> Result<Rc<SpillFile>> {
        Ok(Rc::new(SpillFile { file: TempFile::create(&space.space)?, members: RefCell::new(Vec::new()) }))
    }
}

/// Batches written to a file, in order.
#[derive(Debug)]
pub(crate) struct Run {
    file: Rc<SpillFile>,
    /// Where each batch is: offset, bytes.
    places: Vec<(u64, u32)>,
    /// Rows of all batches.
    pub(crate) rows: u64,
    /// Bytes of all batches.
    pub(crate) bytes: u64,
}

impl Run {
    /// Batch number `n`, `None` behind the last.
    pub(crate) fn batch(&self, n: usize) -> Result<Option<Batch>> {
        let Some((offset, len)) = self.places.get(n) else { return Ok(None) };
        let mut bytes = vec![0; *len as usize];
        self.file.file.read(&mut bytes, *offset)?;
        codec::decode(&bytes, &self.file.members.borrow()).map(Some)
    }

    pub(crate) fn batches(&self) -> usize {
        self.places.len()
    }

    /// Memory that the run's rows take, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        usize::try_from(self.bytes * 2 + self.rows * 96).unwrap_or(usize::MAX)
    }
}

/// Writes a [`Run`].
#[derive(Debug)]
pub(crate) struct RunWriter {
    run: Run,
    buffer: Vec<u8>,
    /// Lengths of the batches in the buffer.
    lengths: Vec<u32>,
    flush_at: usize,
}

impl RunWriter {
    pub(crate) fn new(file: &Rc<SpillFile>) -> RunWriter {
        let run = Run { file: file.clone(), places: Vec::new(), rows: 0, bytes: 0 };
        RunWriter { run, buffer: Vec::new(), lengths: Vec::new(), flush_at: WRITE_BYTES }
    }

    /// One of many writers: a smaller buffer.
    fn small(file: &Rc<SpillFile>) -> RunWriter {
        RunWriter { flush_at: CHUNK_BYTES / 2, ..RunWriter::new(file) }
    }

    /// Appends a batch, in pieces if it is large.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        let rows = chunk_rows(batch.memory_bytes(), batch.rows);
        if rows >= batch.rows {
            return self.write_one(batch);
        }
        for from in (0..batch.rows).step_by(rows) {
            self.write_one(&batch.slice(from, (from + rows).min(batch.rows)))?;
        }
        Ok(())
    }

    /// Rows written so far.
    pub(crate) fn rows(&self) -> u64 {
        self.run.rows
    }

    /// Appends a batch as it is.
    pub(crate) fn write_one(&mut self, batch: &Batch) -> Result<()> {
        let start = self.buffer.len();
        codec::encode(batch, &mut self.run.file.members.borrow_mut(), &mut self.buffer);
        let len = self.buffer.len() - start;
        // One row of four gigabytes cannot be: packets are smaller.
        self.lengths.push(u32::try_from(len).map_err(|_| full())?);
        self.run.rows += batch.rows as u64;
        self.run.bytes += len as u64;
        if self.buffer.len() >= self.flush_at { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut at = self.run.file.file.append(&self.buffer)?;
        for len in self.lengths.drain(..) {
            self.run.places.push((at, len));
            at += u64::from(len);
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<Run> {
        self.flush()?;
        Ok(self.run)
    }
}

/// How many of `rows` rows, `bytes` long together, make a batch of [`CHUNK_BYTES`].
pub(crate) fn chunk_rows(bytes: usize, rows: usize) -> usize {
    (CHUNK_BYTES * 2 / (bytes / rows.max(1)).max(1)).clamp(1, BATCH_ROWS)
}
