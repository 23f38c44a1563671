//! The file of a sort: runs of entries, one behind the other.
//!
//! An entry: `varint` length of the key, key; `varint` of how much of it is unique; `varint` length of the value,
//! value. Nothing depends on the file: it is not synced, and has no name any more when it is used.

use std::ops::Range;
use std::path::PathBuf;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_base::{Reader, Writer};
use gannet_runtime::{File, OpenOptions, fs};

use crate::plant::{Path, note};
use crate::{EngineError, Result};

/// Bytes written at once.
const WRITE: usize = 1 << 20;
/// Bytes of a run that are read at once, if memory allows.
pub(super) const READ: usize = 256 << 10;
/// The fewest.
pub(super) const LEAST_READ: usize = 16 << 10;
/// Bytes of a run after which an entry's place is kept: there the run can be divided.
const MARK: u64 = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 20 };
/// What the files of all sorts may take on disk.
pub trait SortDisk: Send + Sync + std::fmt::Debug {
    /// Takes bytes; false: that would be too many, and none are taken.
    fn take(&self, bytes: u64) -> bool;
    /// Gives bytes back.
    fn give_back(&self, bytes: u64);
}

/// Memory and place of a sort.
#[derive(Clone, Debug)]
pub struct SortSpace {
    /// Directory of its file.
    pub dir: PathBuf,
    /// Bytes of memory.
    pub memory: usize,
    /// Where the bytes of the file count.
    pub disk: Option<Arc<dyn SortDisk>>,
}

impl SortSpace {
    /// The same with a part of the memory.
    pub fn share(&self, parts: usize) -> SortSpace {
        SortSpace { dir: self.dir.clone(), memory: self.memory / parts.max(1), disk: self.disk.clone() }
    }
}

/// An entry that a merge delivers.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Leading bytes of the key that no other entry may have; zero: the key may repeat.
    pub unique: usize,
    /// What goes with it.
    pub value: &'a [u8],
}

/// A run in the file.
pub(super) struct Spilled {
    pub(super) at: u64,
    pub(super) len: u64,
    /// Its first entry, and one of each [`MARK`] bytes.
    pub(super) marks: Vec<Mark>,
}

/// Where an entry of a run lies in the file.
pub(super) struct Mark {
    key: Vec<u8>,
    unique: usize,
    at: u64,
}

impl Mark {
    /// What parts are divided by.
    pub(super) fn cut(&self) -> &[u8] {
        if self.unique > 0 { &self.key[..self.unique] } else { &self.key }
    }
}

/// The file of a sort.
pub(super) struct Spill {
    pub(super) file: Arc<Counted>,
    len: u64,
    buf: Vec<u8>,
    /// Of the run that is written.
    marks: Vec<Mark>,
}

/// A file whose bytes count until it is closed.
pub(super) struct Counted {
    file: File,
    bytes: AtomicU64,
    disk: Option<Arc<dyn SortDisk>>,
}

impl Counted {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        if self.disk.as_ref().is_some_and(|disk| !disk.take(bytes.len() as u64)) {
            return Err(EngineError::DiskFull);
        }
        self.bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.file.write_at(bytes, at).map_err(failed)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            disk.give_back(self.bytes.load(Relaxed));
        }
    }
}

fn failed(error: std::io::Error) -> EngineError {
    match error.raw_os_error() {
        Some(28 | 122) => EngineError::DiskFull,
        _ => EngineError::Io(format!("cannot use a file for sorting: {error}")),
    }
}

impl Spill {
    pub(super) fn open(space: &SortSpace) -> Result<Spill> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        gannet_telemetry::count(gannet_telemetry::Counter::DdlSortFileAlterTable);
        let path = space.dir.join(format!("sort-{}.spill", NEXT.fetch_add(1, Relaxed)));
        let file = File::open(&path, &OpenOptions::read_write().create().truncate()).map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        note(Path::SortSpilled);
        let file = Counted { file, bytes: AtomicU64::new(0), disk: space.disk.clone() };
        Ok(Spill { file: Arc::new(file), len: 0, buf: Vec::with_capacity(WRITE + LEAST_READ), marks: Vec::new() })
    }

    pub(super) fn put(&mut self, item: Item<'_>) -> Result<()> {
        let at = self.len + self.buf.len() as u64;
        if self.marks.last().is_none_or(|mark| at - mark.at >= MARK) {
            self.marks.push(Mark { key: item.key.to_vec(), unique: item.unique, at });
        }
        Writer::new(&mut self.buf).varint(item.key.len() as u64).bytes(item.key);
        put_rest(item, &mut self.buf);
        if self.buf.len() >= WRITE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.buf, self.len)?;
        self.len += self.buf.len() as u64;
        self.buf.clear();
        Ok(())
    }

    /// Writes a whole run.
    pub(super) fn run(&mut self, mut each: impl FnMut(&mut Spill) -> Result<()>) -> Result<Spilled> {
        let at = self.len;
        each(self)?;
        self.flush()?;
        Ok(Spilled { at, len: self.len - at, marks: std::mem::take(&mut self.marks) })
    }
}

/// What follows a key.
pub(super) fn put_rest(item: Item<'_>, out: &mut Vec<u8>) {
    Writer::new(out).varint(item.unique as u64).varint(item.value.len() as u64).bytes(item.value);
}

impl Spilled {
    /// Where the first entry lies that is not below `cut`.
    pub(super) fn place(&self, file: &Arc<Counted>, cut: &[u8]) -> Result<u64> {
        let below = self.marks.partition_point(|mark| mark.key[..] < *cut);
        let Some(mark) = below.checked_sub(1).map(|i| &self.marks[i]) else { return Ok(self.at) };
        let mut run = FileRun::new(file.clone(), mark.at..self.at + self.len, READ);
        loop {
            let at = run.at - (run.buf.len() - run.next) as u64;
            if !run.advance()? || run.item().key >= cut {
                return Ok(at);
            }
        }
    }
}

/// Where parts of an entry lie in a buffer.
#[derive(Clone, Copy, Default)]
struct Parts {
    key: (usize, usize),
    unique: usize,
    value: (usize, usize),
}

/// A run that is read from the file, piece by piece.
pub(super) struct FileRun {
    file: Arc<Counted>,
    /// What has not been read.
    at: u64,
    end: u64,
    at_once: usize,
    buf: Vec<u8>,
    /// Where the next entry begins in the buffer.
    next: usize,
    parts: Parts,
}

impl FileRun {
    pub(super) fn new(file: Arc<Counted>, Range { start: at, end }: Range<u64>, at_once: usize) -> FileRun {
        FileRun { file, at, end, at_once, buf: Vec::new(), next: 0, parts: Parts::default() }
    }

    /// Goes to the next entry; false: there is none.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            let rest = &self.buf[self.next..];
            if let Some((parts, len)) = decode(rest, self.next) {
                self.parts = parts;
                self.next += len;
                return Ok(true);
            }
            if self.at == self.end {
                return if rest.is_empty() {
                    Ok(false)
                } else {
                    Err(EngineError::Damaged("a sort's file is cut short".into()))
                };
            }
            // Twice as much where one entry takes more than was read.
            let want = self.at_once.max(2 * rest.len()).min((self.end - self.at) as usize);
            self.buf.drain(..self.next);
            self.next = 0;
            let old = self.buf.len();
            self.buf.resize(old + want, 0);
            self.file.file.read_exact_at(&mut self.buf[old..], self.at).map_err(failed)?;
            self.at += want as u64;
        }
    }

    pub(super) fn item(&self) -> Item<'_> {
        let part = |(at, len): (usize, usize)| &self.buf[at..at + len];
        Item { key: part(self.parts.key), unique: self.parts.unique, value: part(self.parts.value) }
    }
}

/// The entry that `bytes` begin with, which lie at `at` of a buffer, and its length; `None`: they have not all of it.
fn decode(bytes: &[u8], at: usize) -> Option<(Parts, usize)> {
    let mut r = Reader::new(bytes);
    let whole = bytes.len();
    let key = r.prefixed(usize::MAX).ok()?.len();
    let key_at = at + whole - r.remaining() - key;
    let unique = r.varint().ok()? as usize;
    let value = r.prefixed(usize::MAX).ok()?.len();
    let len = whole - r.remaining();
    Some((Parts { key: (key_at, key), unique, value: (at + len - value, value) }, len))
}
