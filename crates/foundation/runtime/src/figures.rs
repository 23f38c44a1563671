//! What was read and written of each file, how often and how long it took.
//!
//! Operations on files cost microseconds at least, so that a file's figures are shared by all who use it. Those of
//! files that are closed are kept by name, without the numbers in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_telemetry::{Counter, FileKind, during, session_used_file};

use crate::now_ns;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum FileUse {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Syncs, and changes of its length and blocks.
    Other,
}

impl FileUse {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// The gauge of those that are under way.
    fn pending(self) -> Counter {
        match self {
            FileUse::Read => Counter::OsPendingReads,
            FileUse::Write => Counter::OsPendingWrites,
            FileUse::Other => Counter::OsPendingSyncs,
        }
    }
}

/// Figures of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCount {
    /// Operations.
    pub count: u64,
    /// Bytes that they were asked to read or write.
    pub bytes: u64,
    /// How long all of them took; of several at once the time that all took together.
    pub total_ns: u64,
    /// The shortest, of several at once a share of each; `u64::MAX` without any.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Default for FileCount {
    fn default() -> Self {
        FileCount { count: 0, bytes: 0, total_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl FileCount {
    /// Adds another one's.
    pub fn add(&mut self, other: &FileCount) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A file's figures, by [`FileUse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFigures {
    /// Where it is; of closed ones the name alone.
    pub path: PathBuf,
    /// What it is for.
    pub kind: FileKind,
    /// How often it is open; 0: the sum of closed ones.
    pub open: u64,
    /// Reads, writes, others.
    pub uses: [FileCount; FileUse::COUNT],
}

impl FileFigures {
    fn new(path: PathBuf, kind: FileKind) -> FileFigures {
        FileFigures { path, kind, open: 0, uses: Default::default() }
    }

    fn add(&mut self, uses: &[FileCount; FileUse::COUNT]) {
        self.uses.iter_mut().zip(uses).for_each(|(sum, n)| sum.add(n));
    }
}

#[derive(Debug)]
struct Cell {
    count: AtomicU64,
    bytes: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// The figures of an open file.
#[derive(Debug)]
pub(crate) struct Tally {
    path: PathBuf,
    kind: FileKind,
    cells: [Cell; FileUse::COUNT],
}

static OPEN: Mutex<Vec<Weak<Tally>>> = Mutex::new(Vec::new());
static CLOSED: Mutex<BTreeMap<(String, FileKind), FileFigures>> = Mutex::new(BTreeMap::new());

/// Names of closed files that are kept at most.
const MOST_CLOSED: usize = 256;

impl Tally {
    /// Of a file that was opened.
    pub(crate) fn of(path: &Path) -> Arc<Tally> {
        let zero = || AtomicU64::new(0);
        let cell = || Cell {
            count: zero(),
            bytes: zero(),
            total_ns: zero(),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: zero(),
        };
        let tally =
            Arc::new(Tally { path: path.into(), kind: FileKind::of(path), cells: std::array::from_fn(|_| cell()) });
        let mut open = OPEN.lock();
        if open.len() == open.capacity() {
            open.retain(|t| t.strong_count() > 0);
        }
        open.push(Arc::downgrade(&tally));
        tally
    }

    /// Runs an operation, or `count` of them at once, on `bytes`.
    pub(crate) fn timed<R>(&self, what: FileUse, count: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        let _pending = during(what.pending(), count as u64);
        let begin = now_ns();
        let result = run();
        let ns = now_ns().saturating_sub(begin);
        let cell = &self.cells[what as usize];
        cell.count.fetch_add(count as u64, Relaxed);
        cell.bytes.fetch_add(bytes as u64, Relaxed);
        cell.total_ns.fetch_add(ns, Relaxed);
        // So the least is below the average, which is one of shares, too.
        cell.min_ns.fetch_min(ns / (count as u64).max(1), Relaxed);
        cell.max_ns.fetch_max(ns, Relaxed);
        session_used_file(self.kind, count as u64, ns);
        result
    }

    fn uses(&self) -> [FileCount; FileUse::COUNT] {
        self.cells.each_ref().map(|c| FileCount {
            count: c.count.load(Relaxed),
            bytes: c.bytes.load(Relaxed),
            total_ns: c.total_ns.load(Relaxed),
            min_ns: c.min_ns.load(Relaxed),
            max_ns: c.max_ns.load(Relaxed),
        })
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
        let mut closed = CLOSED.lock();
        let (path, key) = (PathBuf::from(&name), (name, self.kind));
        if closed.len() < MOST_CLOSED || closed.contains_key(&key) {
            closed.entry(key).or_insert_with(|| FileFigures::new(path, self.kind)).add(&self.uses());
        }
    }
}

/// Counts from zero again. An operation that ends meanwhile may be lost or kept.
pub fn forget_file_figures() {
    let open: Vec<Arc<Tally>> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    for cell in open.iter().flat_map(|tally| &tally.cells) {
        [&cell.count, &cell.bytes, &cell.total_ns, &cell.max_ns].iter().for_each(|n| n.store(0, Relaxed));
        cell.min_ns.store(u64::MAX, Relaxed);
    }
    CLOSED.lock().clear();
}

/// Files that are open; one opened twice counts twice.
pub fn open_files() -> u64 {
    OPEN.lock().iter().filter(|tally| tally.strong_count() > 0).count() as u64
}

/// The figures of all open files, in order of their paths, and then the sums of those that are closed.
pub fn file_figures() -> Vec<FileFigures> {
    let open: Vec<Arc<Tally>> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    let mut by_path: BTreeMap<&Path, FileFigures> = BTreeMap::new();
    for tally in &open {
        let made = || FileFigures::new(tally.path.clone(), tally.kind);
        let figures = by_path.entry(&tally.path).or_insert_with(made);
        figures.open += 1;
        figures.add(&tally.uses());
    }
    let mut all: Vec<FileFigures> = by_path.into_values().collect();
    all.extend(CLOSED.lock().values().cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, OpenOptions};

    #[test]
    fn what_is_done_to_a_file_is_counted() {
        let dir = std::env::temp_dir().join(format!("gannet-figures-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("counted-17.x");
        let file = File::open(&path, &OpenOptions::read_write().create().truncate()).unwrap();
        let again = File::open(&path, &OpenOptions::read()).unwrap();
        file.write_at(&[7; 100], 0).unwrap();
        file.write_many(&[(100, &[1; 50]), (150, &[2; 50])]).unwrap();
        file.sync_data().unwrap();
        again.read_exact_at(&mut [0; 200], 0).unwrap();
        let of = |open: u64| {
            let found = file_figures().into_iter().find(|f| {
                f.open == open && if open > 0 { f.path == path } else { f.path.as_path() == Path::new("counted-.x") }
            });
            found.map(|f| f.uses.map(|u| (u.count, u.bytes, u.total_ns > 0 && u.min_ns <= u.max_ns)))
        };
        let counted = [(1, 200, true), (3, 200, true), (1, 0, true)];
        assert_eq!(of(2), Some(counted));
        drop((file, again));
        assert_eq!((of(2), of(0)), (None, Some(counted)));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
