//! The segment files: which part of the log lies where, allocation, recycling.
//!
//! INV-LOG-3: a segment is put to use only when all before it are synced to their end. So a reader that finds a later
//! segment of the running or a later epoch knows that an unreadable place before it is damage and not a torn tail,
//! except for a record that reaches into that segment. (Those of earlier epochs may be left of a tail that a crash has
//! cut.) INV-LOG-4: a segment is recycled only when the durable checkpoint is at or past its end, and the durable
//! position of every consumer that is not cut off.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use gannet_base::Lsn;
use gannet_base::sync::{Arc, Mutex};
use gannet_runtime::{AlignedBuf, File, OpenOptions, fs};

use crate::LogError;
use crate::format::{BLOCK, HeaderBlock, SEGMENT_HEADER, SegmentHeader, block_up};

/// innodb_redo_log_capacity's least value.
pub(crate) const MIN_CAPACITY: u64 = 8 << 20;
const MIN_BODY: u64 = 1 << 20;
const MAX_BODY: u64 = 256 << 20;
// As many files as InnoDB has: a recycled segment is then about 3 % of the capacity.
const SEGMENTS: u64 = 32;
const ZERO_CHUNK: usize = 1 << 20;
/// Longest segment that is prepared while the log is opened.
const PREPARED_AT_OPEN: u64 = 8 << 20;

/// A segment in use.
pub(crate) struct Segment {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) start: u64,
    pub(crate) body: u64,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.body
    }

    /// Writes body bytes at LSN `lsn`; all inside the segment, whole blocks, aligned memory.
    pub(crate) fn write(&self, lsn: u64, bytes: &[u8]) -> Result<(), LogError> {
        debug_assert!(lsn >= self.start && lsn + bytes.len() as u64 <= self.end());
        self.file.write_at(bytes, SEGMENT_HEADER + (lsn - self.start)).map_err(LogError::io("write", &self.path))
    }

    pub(crate) fn sync(&self) -> Result<(), LogError> {
        self.file.sync_data().map_err(LogError::io("sync", &self.path))
    }

    /// File and offset of `lsn`.
    pub(crate) fn place(&self, lsn: u64) -> (&File, u64) {
        (&self.file, SEGMENT_HEADER + (lsn - self.start))
    }

    /// Reads body bytes at `lsn`; fewer at the file's end.
    pub(crate) fn read(&self, lsn: u64, into: &mut [u8]) -> Result<usize, LogError> {
        self.file.read_at(into, SEGMENT_HEADER + (lsn - self.start)).map_err(LogError::io("read", &self.path))
    }
}

/// A file of the log that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    pub path: PathBuf,
    /// The first byte that it has room for, and the one behind the last.
    pub start: Lsn,
    pub end: Lsn,
    /// Its size, with its header.
    pub bytes: u64,
}

/// A segment waiting for use.
struct Free {
    file: File,
    path: PathBuf,
    body: u64,
    /// Its blocks were written once, so that a write does not change the file system's metadata.
    prepared: bool,
}

#[derive(Default)]
struct State {
    /// By start LSN, contiguous; the last is the one being written.
    live: VecDeque<Arc<Segment>>,
    free: VecDeque<Free>,
    /// Taken from `free` to be prepared.
    preparing: usize,
    doomed: Vec<Free>,
    /// Bytes of the bodies of all files but the doomed.
    total: u64,
    capacity: u64,
    /// Bytes beyond the capacity that are wanted while consumers hold the log.
    more: u64,
    next_number: u64,
}

pub(crate) struct Segments {
    dir: PathBuf,
    store: u64,
    epoch: u64,
    state: Mutex<State>,
}

/// A segment file as found in the directory.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) header: HeaderBlock,
    pub(crate) number: u64,
}

impl Found {
    /// Bytes it has room for.
    fn body(&self) -> Result<u64, LogError> {
        let bytes = self.file.len().map_err(LogError::io("look at", &self.path))?;
        Ok(bytes.saturating_sub(SEGMENT_HEADER) / BLOCK * BLOCK)
    }
}

impl State {
    /// Keeps a segment for later use, unless there are enough without it or it is from a time of greater capacity: few
    /// long segments would leave little of the capacity to use ([`Segments::granule`]).
    fn put_back(&mut self, free: Free) {
        if self.total - free.body >= self.capacity + self.more || free.body > body_for(self.capacity) {
            self.total -= free.body;
            self.doomed.push(free);
        } else {
            self.free.push_back(free);
        }
    }

    /// Keeps of the free segments those that are still wanted.
    fn sort_out(&mut self) {
        for free in std::mem::take(&mut self.free) {
            self.put_back(free);
        }
    }
}

fn body_for(capacity: u64) -> u64 {
    block_up(capacity / SEGMENTS).clamp(MIN_BODY, MAX_BODY)
}

/// Opens all segment files of a directory and reads their headers.
pub(crate) fn scan(dir: &Path, write: bool) -> Result<Vec<Found>, LogError> {
    let mut found = Vec::new();
    if !fs::exists(dir).map_err(LogError::io("look at", dir))? {
        return Ok(found);
    }
    let how = if write { OpenOptions::read_write() } else { OpenOptions::read() }.direct();
    for path in fs::read_dir(dir).map_err(LogError::io("list", dir))? {
        let number = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".log"));
        let Some(number) = number.filter(|n| n.len() == 8).and_then(|n| n.parse().ok()) else { continue };
        let file = match File::open(&path, &how) {
            // Removed since the directory was read: the log is in use, and needs it no more. What is needed is missed
            // by `chain`.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            file => file.map_err(LogError::io("open", &path))?,
        };
        let mut block = AlignedBuf::zeroed(SEGMENT_HEADER as usize);
        let n = file.read_at(&mut block, 0).map_err(LogError::io("read", &path))?;
        let header = SegmentHeader::decode(&block[..n]);
        if let HeaderBlock::Newer(version) = header {
            return Err(LogError::NewerFormat { path, version });
        }
        found.push(Found { path, file, header, number });
    }
    Ok(found)
}

/// Indexes of the segments that make up the log from `from` on, in order. Of two that claim a range the one put to use
/// by the later incarnation is right. Empty when nothing holds `from` but a segment ends there (or the log is new).
pub(crate) fn chain(found: &[Found], store: u64, from: u64) -> Result<Vec<usize>, LogError> {
    let mut headers = Vec::new();
    for (i, f) in found.iter().enumerate() {
        if let HeaderBlock::Valid(h) = f.header {
            if h.store != store {
                let what = "the segment belongs to another store".to_owned();
                return Err(LogError::Corrupt { path: f.path.clone(), what });
            }
            if h.start != 0 {
                headers.push((i, h));
            }
        }
    }
    let newest = |fits: &dyn Fn(&SegmentHeader) -> bool| {
        headers.iter().filter(|(_, h)| fits(h)).max_by_key(|(_, h)| h.epoch).copied()
    };
    let mut chain = Vec::new();
    let mut next = newest(&|h| h.start <= from && from < h.start + h.body_bytes);
    while let Some((i, h)) = next {
        chain.push(i);
        let at = h.start + h.body_bytes;
        next = newest(&|h| h.start == at);
    }
    let touches = chain.is_empty() && headers.iter().any(|(_, h)| h.start + h.body_bytes == from);
    let fresh = chain.is_empty() && from <= crate::FIRST_LSN.get() && headers.is_empty();
    if chain.is_empty() && !touches && !fresh {
        return Err(missing(found, from));
    }
    Ok(chain)
}

/// The chain from the least of the `wanted` positions from which on nothing is missing, and that position; else from
/// the checkpoint.
fn chain_with(found: &[Found], store: u64, checkpoint: u64, wanted: &[u64]) -> Result<(Vec<usize>, u64), LogError> {
    let kept = chain(found, store, checkpoint)?;
    let end_of = |i: usize| match found[i].header {
        HeaderBlock::Valid(h) => h.start + h.body_bytes,
        _ => 0,
    };
    for &from in wanted.iter().take_while(|from| **from < checkpoint) {
        let Ok(longer) = chain(found, store, from) else { continue };
        let reaches = longer.last().is_some_and(|&last| end_of(last) >= checkpoint);
        if reaches && kept.iter().all(|i| longer.contains(i)) {
            return Ok((longer, from));
        }
    }
    Ok((kept, checkpoint))
}

/// The error when no intact segment holds `lsn`; it names the file whose header is damaged, if there is one.
fn missing(found: &[Found], lsn: u64) -> LogError {
    let damaged = found.iter().find_map(|f| match f.header {
        HeaderBlock::Bad(why) => Some((f.path.clone(), why)),
        _ => None,
    });
    match damaged {
        None => LogError::SegmentMissing { lsn: gannet_base::Lsn(lsn) },
        Some((path, why)) => LogError::Corrupt { path, what: format!("{why}, and no other segment holds LSN {lsn}") },
    }
}

impl Segments {
    /// Opens the files for writing from `end` on; what lies in `[checkpoint, end)` is kept and synced, and what lies
    /// before as far as `wanted` names positions, ascending, from which on nothing is missing: the least of them is
    /// given back. Allocates up to the capacity (0: what the files take that are there); where much of it is kept, as
    /// much more.
    pub(crate) fn open(
        dir: &Path,
        (store, epoch): (u64, u64),
        (checkpoint, end): (u64, u64),
        capacity: u64,
        wanted: &[u64],
    ) -> Result<(Segments, u64), LogError> {
        fs::create_dir_all(dir).map_err(LogError::io("create", dir))?;
        let found = scan(dir, true)?;
        let capacity = match capacity {
            0 => found.iter().try_fold(0, |sum, f| f.body().map(|body| sum + body))?,
            capacity => capacity,
        };
        let capacity = capacity.max(MIN_CAPACITY);
        let (mut kept, floor) = chain_with(&found, store, checkpoint, wanted)?;
        let start_of = |i: usize| match found[i].header {
            HeaderBlock::Valid(h) => (h.start, h.body_bytes),
            _ => (0, 0),
        };
        kept.retain(|&i| start_of(i).0 < end);
        let covered = kept.last().map_or(checkpoint, |&i| start_of(i).0 + start_of(i).1);
        if covered < end && checkpoint < end {
            return Err(missing(&found, covered));
        }
        let next_number = found.iter().map(|f| f.number + 1).max().unwrap_or(0);
        let mut state = State { capacity, next_number, ..State::default() };
        let places: Vec<_> = (0..found.len()).map(|i| kept.iter().position(|&k| k == i).map(|_| start_of(i))).collect();
        let mut live = Vec::new();
        for (f, place) in found.into_iter().zip(places) {
            if let Some((start, body)) = place {
                let segment = Segment { file: f.file, path: f.path, start, body };
                // What recovery read must not vanish in the next crash.
                segment.sync()?;
                state.total += body;
                live.push(Arc::new(segment));
                continue;
            }
            let body = f.body()?;
            let prepared = matches!(f.header, HeaderBlock::Valid(_));
            let free = Free { file: f.file, path: f.path, body, prepared };
            if body < MIN_BODY || body > body_for(capacity) || state.total + body > capacity.max(MIN_CAPACITY) {
                state.doomed.push(free);
            } else {
                state.total += body;
                state.free.push_back(free);
            }
        }
        live.sort_by_key(|s| s.start);
        state.live = live.into();
        let segments = Segments { dir: dir.to_owned(), store, epoch, state: Mutex::new(state) };
        segments.remove_doomed()?;
        // Room to write beside what an earlier incarnation left (`Core::age_from`); more than the capacity only where
        // there is space.
        let old = block_up(end.saturating_sub(checkpoint)).min(capacity);
        let wanted = if old > capacity / 2 { capacity + old } else { capacity } + (checkpoint - floor);
        if (wanted == capacity || segments.grow(wanted, body_for(capacity)).is_err())
            && let Err(e) = segments.grow(capacity, body_for(capacity))
        {
            let total = segments.state.lock().total;
            if !e.is_no_space() || total < MIN_CAPACITY {
                return Err(e);
            }
            segments.state.lock().capacity = total;
        }
        // A long one is left to the task beside the writer: a start must not wait for it.
        if body_for(capacity) <= PREPARED_AT_OPEN && !segments.state.lock().free.iter().any(|f| f.prepared) {
            segments.prepare_one()?;
        }
        Ok((segments, floor))
    }

    /// The store that the log belongs to.
    pub(crate) fn store(&self) -> u64 {
        self.store
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.state.lock().capacity
    }

    /// Bytes of segments beyond the capacity.
    pub(crate) fn surplus(&self) -> u64 {
        let state = self.state.lock();
        state.total.saturating_sub(state.capacity)
    }

    /// Length of the longest segment: the granule of recycling.
    pub(crate) fn granule(&self) -> u64 {
        let state = self.state.lock();
        let live = state.live.iter().map(|s| s.body);
        live.chain(state.free.iter().map(|f| f.body)).max().unwrap_or(MIN_BODY)
    }

    /// The segment that holds `lsn`, if it is in use.
    pub(crate) fn holding(&self, lsn: u64) -> Option<Arc<Segment>> {
        let state = self.state.lock();
        state.live.iter().rev().find(|s| s.start <= lsn && lsn < s.end()).cloned()
    }

    /// The files in use, in the order of what they hold.
    pub(crate) fn files(&self) -> Vec<LogFile> {
        let state = self.state.lock();
        let file = |s: &Arc<Segment>| LogFile {
            path: s.path.clone(),
            start: Lsn(s.start),
            end: Lsn(s.end()),
            bytes: SEGMENT_HEADER + s.body,
        };
        state.live.iter().map(file).collect()
    }

    fn create(&self, body: u64) -> Result<Free, LogError> {
        let number = {
            let mut state = self.state.lock();
            state.next_number += 1;
            state.next_number - 1
        };
        let path = self.dir.join(format!("{number:08}.log"));
        let how = OpenOptions::read_write().create_new().direct();
        let file = File::open(&path, &how).map_err(LogError::io("create", &path))?;
        if let Err(error) = file.allocate(0, SEGMENT_HEADER + body) {
            drop(file);
            let _ = fs::remove_file(&path);
            return Err(LogError::io("allocate", &path)(error));
        }
        file.sync_all().map_err(LogError::io("sync", &path))?;
        Ok(Free { file, path, body, prepared: false })
    }

    /// Allocates files for `body` bytes until all hold `wanted` bytes. On failure nothing has changed.
    fn grow(&self, wanted: u64, body: u64) -> Result<(), LogError> {
        let mut made = Vec::new();
        let have = self.state.lock().total;
        let mut want = wanted.saturating_sub(have);
        // Asked first, so that a wish far too great does not fill the disk for a moment.
        let free = fs::free_space(&self.dir).map_err(LogError::io("look at", &self.dir))?;
        if free < want {
            return Err(LogError::NoSpace { dir: self.dir.clone(), need: want });
        }
        while want > 0 {
            match self.create(body) {
                Ok(segment) => made.push(segment),
                Err(e) => {
                    made.iter().for_each(|s| drop(fs::remove_file(&s.path)));
                    let full = e.is_no_space();
                    return Err(if full {
                        LogError::NoSpace { dir: self.dir.clone(), need: wanted - have }
                    } else {
                        e
                    });
                }
            }
            want = want.saturating_sub(body);
        }
        if !made.is_empty() {
            fs::sync_dir(&self.dir).map_err(LogError::io("sync", &self.dir))?;
        }
        let mut state = self.state.lock();
        state.total += made.iter().map(|s| s.body).sum::<u64>();
        state.free.extend(made);
        Ok(())
    }

    /// Allocates what is missing to the capacity, and `more`, since segments were deleted or put to use. Gives up what
    /// was more before and is no longer.
    pub(crate) fn refill(&self, more: u64) -> Result<(), LogError> {
        let (total, capacity) = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.more, more) > more {
                state.sort_out();
            }
            (state.total, state.capacity)
        };
        // Files of the length that is kept: longer ones would be removed and made again, without end.
        if total < capacity + more { self.grow(capacity + more, body_for(capacity)) } else { Ok(()) }
    }

    /// Changes the capacity: growing allocates first, shrinking takes effect as segments are recycled.
    pub(crate) fn set_capacity(&self, capacity: u64) -> Result<(), LogError> {
        self.grow(capacity, body_for(capacity))?;
        let mut state = self.state.lock();
        state.capacity = capacity;
        state.sort_out();
        Ok(())
    }

    /// Puts a segment to use from `start` on, its header written but not synced. `None`: all are in use and the disk is
    /// full; the checkpoint must advance first.
    pub(crate) fn activate(&self, start: u64) -> Result<Option<Arc<Segment>>, LogError> {
        let taken = {
            let mut state = self.state.lock();
            let best = state.free.iter().position(|f| f.prepared);
            match best {
                Some(i) => state.free.remove(i),
                None => state.free.pop_front(),
            }
        };
        let free = match taken {
            Some(free) => free,
            None => {
                // The bound is soft: one more file rather than a stop.
                let capacity = self.capacity();
                match self.create(body_for(capacity)) {
                    Ok(free) => {
                        fs::sync_dir(&self.dir).map_err(LogError::io("sync", &self.dir))?;
                        self.state.lock().total += free.body;
                        free
                    }
                    Err(e) if e.is_no_space() => return Ok(None),
                    Err(e) => return Err(e),
                }
            }
        };
        let header = SegmentHeader { store: self.store, start, body_bytes: free.body, epoch: self.epoch };
        let mut block = AlignedBuf::zeroed(SEGMENT_HEADER as usize);
        header.encode(&mut block);
        free.file.write_at(&block, 0).map_err(LogError::io("write", &free.path))?;
        let segment = Arc::new(Segment { file: free.file, path: free.path, start, body: free.body });
        self.state.lock().live.push_back(segment.clone());
        Ok(Some(segment))
    }

    /// Recycles what lies wholly below `floor`; true if a segment became free.
    pub(crate) fn recycle(&self, floor: u64) -> bool {
        let mut state = self.state.lock();
        let mut any = false;
        while state.live.len() > 1 && state.live.front().is_some_and(|s| s.end() <= floor) {
            let Some(segment) = state.live.pop_front() else { break };
            // The writer keeps the segment it writes, which is never the front; a follower keeps the one it reads.
            match Arc::try_unwrap(segment) {
                Ok(s) => {
                    let free = Free { file: s.file, path: s.path, body: s.body, prepared: true };
                    state.put_back(free);
                    any = true;
                }
                Err(kept) => {
                    state.live.push_front(kept);
                    break;
                }
            }
        }
        any
    }

    /// Deletes files that are no longer wanted.
    pub(crate) fn remove_doomed(&self) -> Result<(), LogError> {
        let doomed = std::mem::take(&mut self.state.lock().doomed);
        for f in &doomed {
            fs::remove_file(&f.path).map_err(LogError::io("remove", &f.path))?;
        }
        if !doomed.is_empty() {
            fs::sync_dir(&self.dir).map_err(LogError::io("sync", &self.dir))?;
        }
        Ok(())
    }

    /// Writes zeros over one free segment that was only allocated: a later write then changes no metadata of the file
    /// system, and its fdatasync is one flush. False when there is none.
    pub(crate) fn prepare_one(&self) -> Result<bool, LogError> {
        let mut free = {
            let mut state = self.state.lock();
            let Some(i) = state.free.iter().position(|f| !f.prepared) else { return Ok(false) };
            let Some(free) = state.free.remove(i) else { return Ok(false) };
            state.preparing += 1;
            free
        };
        let outcome = self.zero(&free);
        free.prepared = outcome.is_ok();
        let mut state = self.state.lock();
        state.preparing -= 1;
        // The capacity may have become less meanwhile.
        state.put_back(free);
        outcome.map(|()| true)
    }

    fn zero(&self, free: &Free) -> Result<(), LogError> {
        let zeros = AlignedBuf::zeroed(ZERO_CHUNK);
        let mut at = 0;
        while at < free.body {
            let n = (free.body - at).min(ZERO_CHUNK as u64);
            free.file.write_at(&zeros[..n as usize], SEGMENT_HEADER + at).map_err(LogError::io("write", &free.path))?;
            at += n;
        }
        free.file.sync_data().map_err(LogError::io("sync", &free.path))?;
        let mut block = AlignedBuf::zeroed(SEGMENT_HEADER as usize);
        SegmentHeader { store: self.store, start: 0, body_bytes: free.body, epoch: self.epoch }.encode(&mut block);
        free.file.write_at(&block, 0).map_err(LogError::io("write", &free.path))?;
        free.file.sync_data().map_err(LogError::io("sync", &free.path))
    }

    /// True while a segment is being prepared: it will be free again.
    pub(crate) fn is_preparing(&self) -> bool {
        self.state.lock().preparing > 0
    }
}

/// Turns a found file into a segment to read from.
pub(crate) fn into_segment(found: Found) -> Option<Segment> {
    match found.header {
        HeaderBlock::Valid(h) => {
            Some(Segment { file: found.file, path: found.path, start: h.start, body: h.body_bytes })
        }
        _ => None,
    }
}
