//! Redo through the log's index: which pages need it is known before their changes are read.
//!
//! A page that is wanted before its changes are gathered gets the records that change it by reads of their own.

use std::ops::Range;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::{Lsn, PageNo};
use gannet_buffer::{PageBuf, decode_payload};
use gannet_log::{LogFiles, LogReader, Record, RecordAt, record_at};
use gannet_page::{Corrupt, Redo};
use gannet_runtime::{ALIGN, AlignedBuf};

use super::chunk::Chunk;
use super::{EXTENT, is_dropped};
use crate::Result;
use crate::plant::{Fault, planted};

const BLOCK: u64 = ALIGN as u64;
/// Bytes read around a record whose length is not known.
const AROUND: u64 = 2 * BLOCK;
/// Records so near to each other are read at once, up to so many bytes.
const NEAR: u64 = 16 << 10;
const MOST_AT_ONCE: u64 = 1 << 20;
/// Records of a page read at once.
const RECORDS: usize = 256;
/// Memory that changes take, as a guess, in parts of what they take in the log.
const IN_MEMORY: f64 = 1.25;
/// Begins as [`crate::recovery`] expects of failures that may pass.
const UNREADABLE: Corrupt = Corrupt { what: "cannot be read: its changes in the log" };
const DAMAGED: Corrupt = Corrupt { what: "its changes in the log are damaged" };

/// An extent, and an estimate of the memory that the changes of its pages take.
#[derive(Clone, Copy)]
pub(crate) struct Weight {
    pub(crate) extent: u64,
    pub(crate) bytes: u64,
}

/// 64 pages: which are not up to date.
struct Extent {
    weight: Weight,
    pending: AtomicU64,
}

/// The log from the checkpoint on, by its index.
pub(crate) struct Indexed {
    chunks: Vec<Chunk>,
    /// Ascending.
    extents: Vec<Extent>,
    files: LogFiles,
    dir: std::path::PathBuf,
    store: u64,
    from: Lsn,
    /// Epoch in force there.
    epoch: u64,
}

/// Chunks in a row with changes of wanted pages.
pub(super) struct Run {
    from: Lsn,
    epoch: u64,
    pub(super) end: Lsn,
}

impl Run {
    pub(super) fn bytes(&self) -> u64 {
        self.end.since(self.from)
    }
}

impl Indexed {
    /// From the checkpoint `from` to the end of the last of `chunks`, which must be a chain that holds `from`.
    pub(crate) fn new(
        dir: &std::path::Path,
        store: u64,
        (from, epoch): (Lsn, u64),
        chunks: Vec<Chunk>,
    ) -> Result<Indexed> {
        let mut all = Vec::new();
        for chunk in &chunks {
            let entries: u64 = chunk.extents().map(|e| e.2).sum();
            let each = chunk.end.since(chunk.start) as f64 / entries.max(1) as f64 * IN_MEMORY;
            all.extend(chunk.extents().map(|(extent, mask, bytes)| (extent, mask, (bytes as f64 * each) as u64 + 1)));
        }
        all.sort_unstable();
        let merge = |same: &[(u64, u64, u64)]| Extent {
            weight: Weight { extent: same[0].0, bytes: same.iter().map(|e| e.2).sum() },
            pending: AtomicU64::new(same.iter().fold(0, |mask, e| mask | e.1)),
        };
        let extents = all.chunk_by(|a, b| a.0 == b.0).map(merge).collect();
        let files = LogReader::open_files(dir, store, from)?;
        Ok(Indexed { chunks, extents, files, dir: dir.to_owned(), store, from, epoch })
    }

    pub(crate) fn from(&self) -> Lsn {
        self.from
    }

    /// Memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let chunks: u64 = self.chunks.iter().map(Chunk::memory).sum();
        chunks + (self.extents.len() * size_of::<Extent>()) as u64
    }

    fn extent(&self, no: PageNo) -> Option<&Extent> {
        let found = self.extents.binary_search_by_key(&(no.0 / EXTENT), |e| e.weight.extent);
        found.ok().map(|i| &self.extents[i])
    }

    pub(crate) fn pending(&self, no: PageNo) -> bool {
        self.extent(no).is_some_and(|e| e.pending.load(Acquire) >> (no.0 % EXTENT) & 1 == 1)
    }

    /// The page is up to date.
    pub(crate) fn forget(&self, no: PageNo) {
        if let Some(extent) = self.extent(no) {
            extent.pending.fetch_and(!(1 << (no.0 % EXTENT)), AcqRel);
        }
    }

    /// How many pages are not up to date.
    pub(crate) fn count(&self) -> u64 {
        self.extents.iter().map(|e| u64::from(e.pending.load(Acquire).count_ones())).sum()
    }

    /// The pages of some extents that are not up to date, ascending.
    pub(crate) fn pages(&self, extents: Range<u64>) -> Vec<PageNo> {
        let of = |e: &Extent| {
            let (first, pending) = (e.weight.extent * EXTENT, e.pending.load(Acquire));
            (0..EXTENT).filter(move |i| pending >> i & 1 == 1).map(move |i| PageNo(first + i))
        };
        self.slice(extents).iter().flat_map(of).collect()
    }

    fn slice(&self, extents: Range<u64>) -> &[Extent] {
        let at = |bound: u64| self.extents.partition_point(|e| e.weight.extent < bound);
        &self.extents[at(extents.start)..at(extents.end)]
    }

    /// The next extents, from number `from` on, that have pages which are not up to date. Their changes may take
    /// `most` bytes; but at least one extent is returned if there is any.
    pub(crate) fn next(&self, from: u64, most: u64) -> Vec<Weight> {
        let mut next = Vec::new();
        let mut bytes = 0;
        for e in self.slice(from..u64::MAX).iter().filter(|e| e.pending.load(Acquire) != 0) {
            bytes += e.weight.bytes;
            if bytes > most && !next.is_empty() {
                break;
            }
            next.push(e.weight);
        }
        next
    }

    /// What all changes that are still to be applied may take in memory, from extent `from` on.
    pub(crate) fn weight(&self, from: u64) -> u64 {
        self.slice(from..u64::MAX).iter().map(|e| e.weight.bytes).sum()
    }

    /// The stretches of the log that have changes of pages of these extents.
    pub(super) fn runs(&self, extents: Range<u64>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let chunks = match self.chunks.split_last() {
            Some((_, before)) if planted(Fault::RoundLeavesOut) && !before.is_empty() => before,
            _ => &self.chunks[..],
        };
        for chunk in chunks.iter().filter(|c| c.changes_any(extents.clone())) {
            match runs.last_mut() {
                Some(last) if last.end == chunk.start => last.end = chunk.end,
                // The first chunk may begin before the checkpoint, where the log may be gone.
                _ if chunk.start <= self.from => runs.push(Run { from: self.from, epoch: self.epoch, end: chunk.end }),
                _ => runs.push(Run { from: chunk.start, epoch: chunk.epochs[0].1, end: chunk.end }),
            }
        }
        runs
    }

    pub(super) fn reader(&self, run: &Run) -> Result<LogReader> {
        let limit = Lsn(run.end.0.next_multiple_of(BLOCK));
        Ok(LogReader::open_until(&self.dir, self.store, run.from, run.epoch, limit)?)
    }

    /// Applies the changes that a page lacks, reading the records that have them.
    pub(crate) fn apply(&self, no: PageNo, page: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        let from = self.from.max(page.lsn());
        let mut positions = Vec::new();
        for chunk in &self.chunks {
            chunk.positions(no, from, &mut positions).ok_or(UNREADABLE)?;
        }
        let mut redo = Redo::of(page);
        for some in positions.chunks(RECORDS) {
            for ((base, bytes), &(start, epoch)) in self.fetch(some)?.iter().zip(some) {
                let RecordAt::Whole(record) = record_at(bytes, *base, start, epoch) else { return Err(DAMAGED) };
                add_changes(&record, no, page, &mut redo)?;
            }
        }
        redo.finish(page)
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
                Some(last) if low <= last.1 + NEAR && high - last.0 <= MOST_AT_ONCE => last.1 = last.1.max(high),
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

fn add_changes(
    record: &Record<'_>,
    no: PageNo,
    page: &mut PageBuf,
    redo: &mut Redo,
) -> std::result::Result<(), Corrupt> {
    let decoded = decode_payload(record.payload, |of, op, _| {
        if of == no && !is_dropped(no, record.lsn, &op) {
            redo.add(no, page, record.lsn, &op);
        }
        Ok(())
    });
    decoded.map_err(|_| DAMAGED)
}
