//! Redo through the log's index: which pages need it is known before the log is read.
//!
//! A page that is wanted at once gets the records that change it by reads of their own. In the background the whole stretch of the log
//! is read into memory, a piece at a time; from then on records come from there.

use gannet_base::hash::HashMap;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use gannet_base::sync::{Arc, OnceLock};
use gannet_base::{Lsn, PageNo};
use gannet_buffer::decode_payload;
use gannet_log::{LogFiles, LogReader, Record, RecordAt, record_at};
use gannet_page::{Corrupt, PageOp};
use gannet_runtime::{ALIGN, AlignedBuf, Monitor, Wait};

use super::EXTENT;
use super::chunk::Chunk;
use crate::Result;

const BLOCK: u64 = ALIGN as u64;
/// Bytes of a piece of the log in memory.
const PIECE: u64 = 4 << 20;
/// Bytes read around a record whose length is not known.
const AROUND: u64 = 2 * BLOCK;
/// Begins as [`crate::recovery`] expects of failures that may pass.
const UNREADABLE: Corrupt = Corrupt { what: "cannot be read: its changes in the log" };
const DAMAGED: Corrupt = Corrupt { what: "its changes in the log are damaged" };

/// 64 pages: which are not up to date, and where their entries are: chunk and place.
#[derive(Default)]
struct Extent {
    pending: AtomicU64,
    places: Vec<(u32, u32)>,
}

/// How the reading of the log into memory goes.
struct Reading {
    left: usize,
    /// A task was interrupted: nobody waits any more.
    given_up: bool,
}

/// The indexed stretch of the log.
pub(crate) struct Indexed {
    chunks: Vec<Chunk>,
    extents: HashMap<u64, Extent>,
    files: LogFiles,
    from: Lsn,
    /// The block that holds `from`: the first piece begins there.
    base: u64,
    end: u64,
    pieces: Vec<OnceLock<AlignedBuf>>,
    next: AtomicUsize,
    reading: Monitor<Reading>,
}

/// Where a record is found.
enum Place<'a> {
    Here(Record<'a>),
    Fetched(usize),
}

impl Indexed {
    /// From the checkpoint `from` to the end of the last of `chunks`, which must be a chain that holds `from`.
    pub(crate) fn new(dir: &std::path::Path, store: u64, from: Lsn, chunks: Vec<Chunk>) -> Result<Indexed> {
        let mut extents: HashMap<u64, Extent> = HashMap::default();
        for (i, chunk) in chunks.iter().enumerate() {
            for (extent, place, mask) in chunk.extents() {
                let entry = extents.entry(extent).or_default();
                *entry.pending.get_mut() |= mask;
                entry.places.push((i as u32, place));
            }
        }
        let base = from.0 / BLOCK * BLOCK;
        let end = chunks.last().map_or(base, |c| c.end.0.next_multiple_of(BLOCK));
        let pieces = (end - base).div_ceil(PIECE) as usize;
        Ok(Indexed {
            chunks,
            extents,
            files: LogReader::open_files(dir, store, from)?,
            from,
            base,
            end,
            pieces: (0..pieces).map(|_| OnceLock::new()).collect(),
            next: AtomicUsize::new(0),
            reading: Monitor::new(Reading { left: pieces, given_up: false }),
        })
    }

    /// Memory that `chunks` and their stretch of the log take.
    pub(crate) fn memory(from: Lsn, chunks: &[Chunk]) -> u64 {
        let log = chunks.last().map_or(0, |c| c.end.since(from));
        log + 2 * BLOCK + chunks.iter().map(Chunk::memory).sum::<u64>()
    }

    /// Memory it takes in the end.
    pub(crate) fn bytes(&self) -> u64 {
        Indexed::memory(self.from, &self.chunks)
    }

    pub(crate) fn pending(&self, no: PageNo) -> bool {
        let extent = self.extents.get(&(no.0 / EXTENT));
        extent.is_some_and(|e| e.pending.load(Acquire) >> (no.0 % EXTENT) & 1 == 1)
    }

    /// The page is up to date.
    pub(crate) fn forget(&self, no: PageNo) {
        if let Some(extent) = self.extents.get(&(no.0 / EXTENT)) {
            extent.pending.fetch_and(!(1 << (no.0 % EXTENT)), AcqRel);
        }
    }

    /// The pages that are not up to date, in no order.
    pub(crate) fn pages(&self) -> impl Iterator<Item = PageNo> {
        self.extents.iter().flat_map(|(&extent, e)| {
            let pending = e.pending.load(Acquire);
            (0..EXTENT).filter(move |i| pending >> i & 1 == 1).map(move |i| PageNo(extent * EXTENT + i))
        })
    }

    /// The next piece of the log to be read into memory with [`Indexed::read_piece`].
    pub(crate) fn take_piece(&self) -> Option<usize> {
        let i = self.next.fetch_add(1, Relaxed);
        (i < self.pieces.len()).then_some(i)
    }

    /// Reads the piece. After an error it is still to be read.
    pub(crate) fn read_piece(&self, i: usize) -> Result<()> {
        let low = self.base + i as u64 * PIECE;
        let mut bytes = AlignedBuf::zeroed(PIECE.min(self.end - low) as usize);
        self.files.read_many(&mut [(Lsn(low), &mut bytes[..])])?;
        let _ = self.pieces[i].set(bytes);
        self.reading.change(|r| r.left -= 1);
        Ok(())
    }

    /// Nobody is to wait for the pieces: a task that reads some was interrupted.
    pub(crate) fn give_up(&self) {
        self.reading.change(|r| r.given_up = true);
    }

    /// Waits until all pieces are in memory; false when a task gave up.
    pub(crate) fn wait_read(&self) -> bool {
        self.reading.wait(Wait::FileRead, |r| (r.left == 0 || r.given_up).then_some(!r.given_up))
    }

    /// Calls `then` with the changes of a page that has all up to `has`, in order.
    pub(crate) fn changes<R>(
        &self,
        no: PageNo,
        has: Lsn,
        then: impl FnOnce(Vec<(Lsn, PageOp<'_>)>) -> R,
    ) -> std::result::Result<R, Corrupt> {
        let mut positions = Vec::new();
        if let Some(extent) = self.extents.get(&(no.0 / EXTENT)) {
            for &(chunk, place) in &extent.places {
                self.chunks[chunk as usize].positions(place, no, self.from.max(has), &mut positions);
            }
        }
        self.touch(&positions);
        let (mut places, mut wanted) = (Vec::with_capacity(positions.len()), Vec::new());
        for &(start, epoch) in &positions {
            let i = ((start.0 - self.base) / PIECE) as usize;
            let bytes = self.pieces.get(i).and_then(OnceLock::get);
            places.push(match bytes.map(|bytes| record_at(bytes, self.piece_base(i), start, epoch)) {
                Some(RecordAt::Whole(record)) => Place::Here(record),
                Some(RecordAt::Damaged) => return Err(DAMAGED),
                // Not in memory, or not all of it.
                Some(RecordAt::Short(_)) | None => {
                    wanted.push((start, epoch));
                    Place::Fetched(wanted.len() - 1)
                }
            });
        }
        let fetched = if wanted.is_empty() { Vec::new() } else { self.fetch(&wanted)? };
        let mut changes = Vec::with_capacity(positions.len() + 8);
        for place in places {
            let record = match place {
                Place::Here(record) => record,
                Place::Fetched(i) => match record_at(&fetched[i].1, fetched[i].0, wanted[i].0, wanted[i].1) {
                    RecordAt::Whole(record) => record,
                    RecordAt::Short(_) | RecordAt::Damaged => return Err(DAMAGED),
                },
            };
            add_changes(&record, no, &mut changes)?;
        }
        Ok(then(changes))
    }

    /// Reads a byte of each record that is in memory, so that the processor waits for many of them at once and not for one after the
    /// other.
    fn touch(&self, positions: &[(Lsn, u64)]) {
        let mut sum = 0u8;
        for (start, _) in positions {
            let at = start.0 - self.base;
            if let Some(bytes) = self.pieces.get((at / PIECE) as usize).and_then(OnceLock::get) {
                sum ^= bytes.get((at % PIECE) as usize).copied().unwrap_or_default();
            }
        }
        std::hint::black_box(sum);
    }

    fn piece_base(&self, i: usize) -> Lsn {
        Lsn(self.base + i as u64 * PIECE)
    }

    /// Reads records from the log's files, all at once: for each the bytes around it, with the LSN at which they begin.
    fn fetch(&self, wanted: &[(Lsn, u64)]) -> std::result::Result<Vec<(Lsn, Arc<AlignedBuf>)>, Corrupt> {
        let stretch = |start: Lsn, bytes: u64| {
            let low = start.0 / BLOCK * BLOCK;
            (low, (start.0 + bytes).next_multiple_of(BLOCK).max(low + AROUND).min(self.files.end().0))
        };
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        let mut of = Vec::with_capacity(wanted.len());
        for &(start, _) in wanted {
            let (low, high) = stretch(start, 0);
            match stretches.last_mut() {
                Some(last) if low <= last.1 && high - last.0 <= PIECE => last.1 = last.1.max(high),
                _ => stretches.push((low, high)),
            }
            of.push(stretches.len() - 1);
        }
        let buffers = self.read_stretches(&stretches)?;
        let mut fetched: Vec<_> = of.iter().map(|&i| (Lsn(stretches[i].0), buffers[i].clone())).collect();
        for ((base, bytes), &(start, epoch)) in fetched.iter_mut().zip(wanted) {
            if let RecordAt::Short(need) = record_at(bytes, *base, start, epoch) {
                let longer = stretch(start, need as u64);
                (*base, *bytes) = (Lsn(longer.0), self.read_stretches(&[longer])?.swap_remove(0));
            }
        }
        Ok(fetched)
    }

    fn read_stretches(&self, stretches: &[(u64, u64)]) -> std::result::Result<Vec<Arc<AlignedBuf>>, Corrupt> {
        let mut buffers: Vec<_> = stretches.iter().map(|s| AlignedBuf::zeroed((s.1 - s.0) as usize)).collect();
        let mut parts: Vec<_> = stretches.iter().zip(&mut buffers).map(|(s, b)| (Lsn(s.0), &mut b[..])).collect();
        self.files.read_many(&mut parts).map_err(|_| UNREADABLE)?;
        Ok(buffers.into_iter().map(Arc::new).collect())
    }
}

fn add_changes<'a>(
    record: &Record<'a>,
    no: PageNo,
    out: &mut Vec<(Lsn, PageOp<'a>)>,
) -> std::result::Result<(), Corrupt> {
    let decoded = decode_payload(record.payload, |page, op, _| {
        if page == no {
            out.push((record.lsn, op));
        }
        Ok(())
    });
    decoded.map_err(|_| DAMAGED)
}
