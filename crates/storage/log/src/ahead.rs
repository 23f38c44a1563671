//! Reading segments ahead: a few tasks fill buffers with large reads, in any order; the reader takes them in log order.

use std::collections::BTreeMap;

use gannet_base::sync::Arc;
use gannet_runtime::{AlignedBuf, JoinHandle, Monitor, Wait, spawn};

use crate::LogError;
use crate::format::{BLOCK, HEADER, MAX_PAYLOAD, block_up, record_bytes};
use crate::segments::Segment;

/// Free bytes before what is read into a buffer: room for the rest of the chunk before it, which ends in a record that
/// reaches into this one. (A record begins at most one block behind where it was looked for.)
pub(crate) const HEADROOM: usize = block_up(record_bytes(MAX_PAYLOAD) + HEADER as u64 + 2 * BLOCK) as usize;
/// Bytes of a read. A long log is read in pieces of the greatest size.
const LEAST_CHUNK: u64 = 64 << 10;
const MOST_CHUNK: u64 = 2 << 20;
/// A log is cut into at least so many pieces.
const PIECES: u64 = 16;
/// Reads in flight, and chunks read and not taken.
const TASKS: u64 = 4;
const DEPTH: u64 = 8;

/// A stretch of the log: `bytes[HEADROOM..HEADROOM + len]` are the log's from `low` on.
pub(crate) struct Chunk {
    pub(crate) low: u64,
    pub(crate) bytes: AlignedBuf,
    pub(crate) len: usize,
}

#[derive(Default)]
struct State {
    /// How many chunks a task reads or has read; how many the reader has taken.
    claimed: u64,
    taken: u64,
    ready: BTreeMap<u64, Result<Chunk, LogError>>,
    stopped: bool,
}

/// Buffers that are not in use: fresh ones cost a page fault each 4 KiB.
#[derive(Default)]
pub(crate) struct Buffers(gannet_base::sync::Mutex<Vec<AlignedBuf>>);

impl Buffers {
    const KEPT: usize = 2 * DEPTH as usize;

    fn get(&self, len: usize) -> AlignedBuf {
        self.0.lock().pop().filter(|b| b.len() == len).unwrap_or_else(|| AlignedBuf::zeroed(len))
    }

    pub(crate) fn give(&self, buf: AlignedBuf) {
        let mut free = self.0.lock();
        if free.len() < Buffers::KEPT {
            free.push(buf);
        }
    }
}

struct Shared {
    segments: Vec<Segment>,
    low: u64,
    end: u64,
    chunk: u64,
    buffers: Arc<Buffers>,
    state: Monitor<State>,
}

/// The chunks of `[low, end of the last segment)`, in order.
pub(crate) struct ReadAhead {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    /// A file was shorter than it should be, or could not be read: no further chunk is read.
    ended: bool,
}

impl ReadAhead {
    /// `segments` by start LSN, contiguous; the first holds `low`. Nothing is read from `limit` on, a block boundary.
    pub(crate) fn new(segments: Vec<Segment>, low: u64, limit: u64) -> ReadAhead {
        let end = segments.last().map_or(low, Segment::end).min(limit).max(low);
        let chunk = block_up((end - low) / PIECES).clamp(LEAST_CHUNK, MOST_CHUNK);
        let (buffers, state) = (Arc::default(), Monitor::default());
        let shared = Arc::new(Shared { segments, low, end, chunk, buffers, state });
        ReadAhead { shared, tasks: Vec::new(), ended: false }
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.shared.segments
    }

    pub(crate) fn buffers(&self) -> &Arc<Buffers> {
        &self.shared.buffers
    }

    /// The next chunk; `None` behind the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, LogError> {
        let shared = &self.shared;
        let i = shared.state.change(|s| s.taken);
        if self.ended || i >= shared.chunks() {
            return Ok(None);
        }
        // A short log needs no help.
        if i == 0 {
            shared.state.change(|s| (s.claimed, s.taken) = (i + 1, i + 1));
            return self.took(self.shared.read(i));
        }
        if self.tasks.is_empty() {
            let tasks = 0..TASKS.min(shared.chunks() - 1);
            self.tasks = tasks
                .map(|n| {
                    let shared = self.shared.clone();
                    spawn(&format!("log-read-{n}"), move || shared.work())
                })
                .collect();
        }
        let chunk = shared.state.wait(Wait::FileRead, |s| {
            let chunk = s.ready.remove(&i)?;
            s.taken = i + 1;
            Some(chunk)
        });
        self.took(chunk)
    }

    fn took(&mut self, chunk: Result<Chunk, LogError>) -> Result<Option<Chunk>, LogError> {
        let low = chunk.as_ref().map_or(0, |c| c.low);
        self.ended = chunk.as_ref().map_or(true, |c| c.len < self.shared.size(low));
        chunk.map(Some)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.shared.state.change(|s| s.stopped = true);
        if !std::thread::panicking() {
            for task in self.tasks.drain(..) {
                let _ = task.join();
            }
        }
    }
}

impl Shared {
    fn chunks(&self) -> u64 {
        (self.end - self.low).div_ceil(self.chunk)
    }

    /// Bytes of the chunk at `low`.
    fn size(&self, low: u64) -> usize {
        self.chunk.min(self.end - low) as usize
    }

    fn work(&self) {
        loop {
            let next = self.state.wait(Wait::Background, |s| {
                if s.stopped || s.claimed >= self.chunks() {
                    return Some(None);
                }
                (s.claimed < s.taken + DEPTH).then(|| {
                    s.claimed += 1;
                    Some(s.claimed - 1)
                })
            });
            let Some(i) = next else { return };
            let chunk = self.read(i);
            self.state.change(|s| s.ready.insert(i, chunk));
        }
    }

    /// Reads a chunk; it is short where a file is. Of a file cut short only whole blocks are of use.
    fn read(&self, i: u64) -> Result<Chunk, LogError> {
        let low = self.low + i * self.chunk;
        let size = self.size(low);
        let mut bytes = self.buffers.get(HEADROOM + self.chunk as usize);
        let mut len = 0;
        while len < size {
            let at = low + len as u64;
            let Some(segment) = self.segments.iter().find(|s| s.start <= at && at < s.end()) else { break };
            let n = (size - len).min((segment.end() - at) as usize);
            let got = segment.read(at, &mut bytes[HEADROOM + len..HEADROOM + len + n])?;
            let whole = got / BLOCK as usize * BLOCK as usize;
            len += whole;
            if whole < n {
                break;
            }
        }
        Ok(Chunk { low, bytes, len })
    }
}
