//! The changes of some pages, gathered from the log: what a *round* of redo has in memory.
//!
//! The log's index tells which pages have changes ([`indexed`]). A round reads the log in batches; a few sorters take them as they come
//! and copy each change of the round's pages behind the others of its *share* (neighbouring pages), so that what they write to stays
//! small. Which change lies where is found out for a whole share when its first page is asked for. Changes from different sorters are
//! put in order by LSN when they are applied; those of one record are in one place. Where the changes take more memory than they may,
//! the round gives up its last shares: a later round has them.
//!
//! A page gets all its changes or none: no page is ever resident, or on disk, with an LSN that hides changes which it does not have.
//!
//! A change: `u40 page, u40 (LSN - from) / 8, u16 length, operation`; length 0xffff: a u32 follows.

pub(crate) mod chunk;
mod crew;
pub(crate) mod indexed;
pub(crate) mod rest;

use std::ops::Range;

use gannet_base::hash::HashMap;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use gannet_base::{CachePadded, Lsn, PageNo, Reader, Writer};
use gannet_buffer::{Error, PageBuf, decode_payload};
use gannet_log::{Batch, RecordKind};
use gannet_page::{Corrupt, PageOp};

use crate::plant::{Fault, planted};
use crate::{EngineError, Result};
use crew::Crew;
use indexed::{Indexed, Run, Weight};

const MOST_SHARES: usize = 1024;
const SORTERS: usize = 3;
/// Pages whose changes lie together.
const EXTENT: u64 = 64;
/// Changes are kept in blocks; none ever grows beyond its capacity.
const LEAST_BLOCK: usize = 1 << 8;
const MOST_BLOCK: usize = 64 << 10;
/// Longest head of a change.
const HEAD: usize = 16;
const LONG: u16 = u16::MAX;
/// Memory for the place of a change in the index.
const PLACE: u64 = size_of::<(u32, u32)>() as u64;

/// Which share has a page. Shares are contiguous.
struct Shares {
    /// The first extent of each; last, the end.
    bounds: Vec<u64>,
    /// So many of them are wanted.
    kept: AtomicUsize,
}

impl Shares {
    /// Shares of about equal weight for extents in ascending order, not none.
    fn new(extents: &[Weight]) -> Shares {
        let n = extents.len().min(MOST_SHARES);
        let each = extents.iter().map(|w| w.bytes).sum::<u64>() / n as u64 + 1;
        let (mut bounds, mut sum) = (Vec::with_capacity(n + 1), each);
        for w in extents {
            if sum >= each && bounds.len() < n {
                bounds.push(w.extent);
                sum = 0;
            }
            sum += w.bytes;
        }
        bounds.extend(extents.last().map(|w| w.extent + 1));
        let kept = AtomicUsize::new(bounds.len() - 1);
        Shares { bounds, kept }
    }

    #[inline]
    fn of(&self, no: PageNo) -> Option<usize> {
        let (extent, kept) = (no.0 / EXTENT, self.kept.load(Relaxed));
        if extent < self.bounds[0] || extent >= self.bounds[kept] {
            return None;
        }
        Some(self.bounds[..kept].partition_point(|&b| b <= extent) - 1)
    }
}

/// Changes of the pages of one share, in the order in which they came.
#[derive(Default)]
struct Part {
    blocks: Vec<Vec<u8>>,
    /// Memory the blocks take, and their index will take.
    bytes: u64,
}

impl Part {
    /// Gives the memory taken for it.
    fn push(&mut self, no: PageNo, at: u64, encoded: &[u8]) -> u64 {
        let (need, before) = (HEAD + encoded.len(), self.bytes);
        self.bytes += PLACE;
        if self.blocks.last().is_none_or(|b| b.capacity() - b.len() < need) {
            let block = Vec::with_capacity((self.bytes as usize / 4).clamp(LEAST_BLOCK, MOST_BLOCK).max(need));
            self.bytes += block.capacity() as u64;
            self.blocks.push(block);
        }
        if let Some(block) = self.blocks.last_mut() {
            let mut w = Writer::new(block);
            w.u32(no.0 as u32).u8((no.0 >> 32) as u8).u32(at as u32).u8((at >> 32) as u8);
            match encoded.len() {
                n if n < LONG as usize => w.u16(n as u16),
                n => w.u16(LONG).u32(n as u32),
            };
            w.bytes(encoded);
        }
        self.bytes - before
    }
}

/// What one sorter has: the wanted changes of the batches it took, by share.
struct Parts {
    from: Lsn,
    shares: Arc<Shares>,
    parts: Vec<Part>,
}

impl Parts {
    fn new(from: Lsn, shares: Arc<Shares>) -> Parts {
        let parts = (1..shares.bounds.len()).map(|_| Part::default()).collect();
        Parts { from, shares, parts }
    }

    /// Gives the memory taken.
    fn add(&mut self, lsn: Lsn, payload: &[u8]) -> std::result::Result<u64, Error> {
        let (mut taken, at) = (0, lsn.0.wrapping_sub(self.from.0) / 8);
        decode_payload(payload, |no, op, encoded| {
            if let Some(share) = self.shares.of(no)
                && !is_dropped(no, lsn, &op)
            {
                taken += self.parts[share].push(no, at, encoded);
            }
            Ok(())
        })?;
        Ok(taken)
    }

    fn add_batch(&mut self, batch: &Batch) -> Result<u64> {
        let mut taken = 0;
        for record in batch.records().filter(|r| r.kind == RecordKind::Mtr) {
            taken += self.add(record.lsn, record.payload).map_err(|e| undecodable(record.lsn, &e))?;
        }
        Ok(taken)
    }
}

fn undecodable(lsn: Lsn, e: &Error) -> EngineError {
    EngineError::Corrupt { page: PageNo::ZERO, lsn, what: format!("log record: {e}") }
}

/// See [`Fault::DropRedo`].
fn is_dropped(no: PageNo, lsn: Lsn, op: &PageOp<'_>) -> bool {
    planted(Fault::DropRedo) && no.0.is_multiple_of(5) && (lsn.0 / 8).is_multiple_of(3) && !op.is_full()
}

/// Where the changes of each page lie: block and offset, ascending by sorter, and in log order in each sorter's.
struct Index {
    blocks: Vec<Vec<u8>>,
    places: Vec<(u32, u32)>,
    pages: HashMap<u64, Range<u32>>,
}

impl Index {
    fn new(blocks: Vec<Vec<u8>>) -> std::result::Result<Index, Corrupt> {
        let mut pages: HashMap<u64, Range<u32>> = HashMap::default();
        let mut found = Vec::new();
        for (i, block) in blocks.iter().enumerate() {
            let mut rest = &block[..];
            while !rest.is_empty() {
                let at = block.len() - rest.len();
                let (page, ..) = take(&mut rest)?;
                pages.entry(page).or_default().end += 1;
                found.push((page, i as u32, at as u32));
            }
        }
        // Each page's places get a range of their own; `end` grows again as they come in.
        let mut next = 0;
        for range in pages.values_mut() {
            let n = range.end;
            *range = next..next;
            next += n;
        }
        let mut places = vec![(0, 0); found.len()];
        for (page, block, at) in found {
            if let Some(range) = pages.get_mut(&page) {
                places[range.end as usize] = (block, at);
                range.end += 1;
            }
        }
        Ok(Index { blocks, places, pages })
    }

    /// Applies the changes it has for the page.
    fn apply(&self, from: Lsn, no: PageNo, page: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        let range = self.pages.get(&no.0).cloned().unwrap_or_default();
        let places = &self.places[range.start as usize..range.end as usize];
        let change = |block: u32, at: u32| take(&mut &self.blocks[block as usize][at as usize..]);
        let mut order = Vec::with_capacity(places.len());
        for &(block, at) in places {
            order.push((change(block, at)?.1, block, at));
        }
        // Stable: the changes of one record have one LSN, and lie in order.
        order.sort_by_key(|c| c.0);
        let mut redo = gannet_page::Redo::of(page);
        for (lsn, block, at) in order {
            let (.., op) = change(block, at)?;
            redo.add(no, page, Lsn(from.0 + lsn * 8), &PageOp::decode(&mut Reader::new(op))?)?;
        }
        redo.finish(page)
    }
}

/// Takes the next change from `rest`: its page, distance of its LSN in units of 8, operation.
fn take<'a>(rest: &mut &'a [u8]) -> std::result::Result<(u64, u64, &'a [u8]), Corrupt> {
    let broken = Corrupt { what: "a change kept for redo cannot be decoded" };
    let Some((&[a, b, c, d, e, f, g, h, i, j, k, l], mut tail)) = rest.split_first_chunk::<12>() else {
        return Err(broken);
    };
    let mut n = u16::from_le_bytes([k, l]) as usize;
    if n == LONG as usize {
        let Some((&long, after)) = tail.split_first_chunk::<4>() else { return Err(broken) };
        n = u32::from_le_bytes(long) as usize;
        tail = after;
    }
    let Some((op, tail)) = tail.split_at_checked(n) else { return Err(broken) };
    *rest = tail;
    Ok((u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]), u64::from_le_bytes([f, g, h, i, j, 0, 0, 0]), op))
}

/// A share of a round's pages.
#[derive(Default)]
struct Share {
    blocks: Vec<Vec<u8>>,
    bytes: u64,
    /// Takes the blocks.
    index: Option<std::result::Result<Arc<Index>, Corrupt>>,
    /// Pages that need the changes.
    left: usize,
}

/// The changes of a round's pages.
pub(crate) struct Gathered {
    from: Lsn,
    which: Arc<Shares>,
    bytes: AtomicU64,
    shares: Vec<CachePadded<Mutex<Share>>>,
}

impl Gathered {
    fn new(from: Lsn, which: Arc<Shares>, sorted: impl Iterator<Item = Vec<Part>>) -> Gathered {
        let mut shares: Vec<Share> = (0..which.kept.load(Relaxed)).map(|_| Share::default()).collect();
        for parts in sorted {
            for (share, part) in shares.iter_mut().zip(parts) {
                share.blocks.extend(part.blocks);
                share.bytes += part.bytes;
            }
        }
        let bytes = AtomicU64::new(shares.iter().map(|s| s.bytes).sum());
        let shares = shares.into_iter().map(|s| CachePadded::new(Mutex::new(s))).collect();
        Gathered { from, which, bytes, shares }
    }

    fn share(&self, no: PageNo) -> Option<&Mutex<Share>> {
        self.which.of(no).and_then(|i| self.shares.get(i)).map(|s| &**s)
    }

    /// Whether all changes of the page are here.
    pub(crate) fn covers(&self, no: PageNo) -> bool {
        self.which.of(no).is_some()
    }

    /// The extents of the pages whose changes are here.
    pub(crate) fn extents(&self) -> Range<u64> {
        self.which.bounds[0]..self.which.bounds[self.shares.len()]
    }

    /// How many of the extents that were asked for make up the first share.
    pub(crate) fn first_share(&self, extents: &[Weight]) -> usize {
        extents.partition_point(|w| w.extent < self.which.bounds[1])
    }

    /// The page is to be brought up to date: its changes stay until [`Gathered::forget`] is called once for each page so named.
    pub(crate) fn expect(&self, no: PageNo) {
        if let Some(share) = self.share(no) {
            share.lock().left += 1;
        }
    }

    /// The page is up to date.
    pub(crate) fn forget(&self, no: PageNo) {
        let Some(mut share) = self.share(no).map(Mutex::lock) else { return };
        share.left = share.left.saturating_sub(1);
        if share.left == 0 {
            self.bytes.fetch_sub(share.bytes, Relaxed);
            *share = Share::default();
        }
    }

    /// Memory the changes take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Applies the changes of a page that it covers.
    pub(crate) fn apply(&self, no: PageNo, page: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        let index = {
            let Some(mut share) = self.share(no).map(Mutex::lock) else { return Ok(None) };
            let share = &mut *share;
            let blocks = &mut share.blocks;
            share.index.get_or_insert_with(|| Index::new(std::mem::take(blocks)).map(Arc::new)).clone()?
        };
        // Kept until the page is known to be resident (INV-REC-1).
        index.apply(self.from, no, page)
    }
}

/// Why the changes of a round were not gathered.
pub(crate) enum NotGathered {
    /// `stop` said so.
    Stopped,
    /// It may pass.
    Unreadable(EngineError),
    /// The log is not as its index says: what pages lack is to be read change by change.
    Damaged,
}

/// Gathers the changes of the pages of `extents` (ascending, not none) in memory of at most `most` bytes: of the first of them if not of
/// all, of none if even these are too many. Memory beyond `most`: a batch for each sorter.
pub(crate) fn gather(
    indexed: &Indexed,
    extents: &[Weight],
    most: u64,
    stop: &dyn Fn() -> bool,
) -> std::result::Result<Gathered, NotGathered> {
    let shares = Arc::new(Shares::new(extents));
    let from = indexed.from();
    let parts: Arc<Vec<_>> =
        Arc::new((0..SORTERS).map(|_| CachePadded::new(Mutex::new(Parts::new(from, shares.clone())))).collect());
    let taken = Arc::new(AtomicU64::new(0));
    let (p, t) = (parts.clone(), taken.clone());
    let crew = Crew::new("redo-sort", SORTERS, move |i, batch| {
        let bytes = p[i].lock().add_batch(batch)?;
        t.fetch_add(bytes, Relaxed);
        Ok(())
    });
    let damaged = |_| NotGathered::Damaged;
    let runs = indexed.runs(shares.bounds[0]..*shares.bounds.last().unwrap_or(&0));
    let (mut read, all) = (0, runs.iter().map(Run::bytes).sum::<u64>());
    for run in runs {
        let mut reader = indexed.reader(&run).map_err(NotGathered::Unreadable)?;
        while let Some(batch) = reader.next_batch().map_err(|e| NotGathered::Unreadable(e.into()))? {
            if stop() {
                return Err(NotGathered::Stopped);
            }
            if taken.load(Relaxed) + crew.bytes() >= most {
                crew.idle().map_err(damaged)?;
                if taken.load(Relaxed) >= most {
                    // What is left of them when all is read is to fit.
                    let part = (read as f64 / all.max(1) as f64).clamp(0.1, 1.0);
                    taken.store(give_up_shares(&shares, &parts, (most as f64 * 0.8 * part) as u64), Relaxed);
                }
            }
            read += batch.bytes();
            crew.give(batch).map_err(damaged)?;
        }
        if reader.end() < run.end {
            return Err(NotGathered::Damaged);
        }
    }
    crew.idle().map_err(damaged)?;
    drop(crew);
    let sorted = parts.iter().map(|p| std::mem::take(&mut p.lock().parts));
    Ok(Gathered::new(from, shares, sorted))
}

/// Leaves the last shares out, so that the others take at most `most` bytes. Gives what these take. No sorter is at work.
fn give_up_shares(shares: &Shares, parts: &[CachePadded<Mutex<Parts>>], most: u64) -> u64 {
    crate::plant::note(crate::plant::Path::SharesGivenUp);
    let (mut kept, mut bytes) = (0, 0);
    while kept < shares.kept.load(Relaxed) {
        let share: u64 = parts.iter().map(|p| p.lock().parts[kept].bytes).sum();
        if bytes + share > most {
            break;
        }
        (kept, bytes) = (kept + 1, bytes + share);
    }
    shares.kept.store(kept, Relaxed);
    parts.iter().for_each(|p| p.lock().parts.truncate(kept));
    bytes
}

/// See [`crate::fuzzing::redo`].
pub(crate) fn fuzz(data: &[u8]) {
    let mut pages = std::collections::BTreeSet::new();
    for (_, payload) in crate::fuzzing::payloads(data) {
        let _ = decode_payload(payload, |no, _, _| {
            // No index has more.
            if no.0 < 1 << 38 {
                pages.insert(no);
            }
            Ok(())
        });
    }
    let mut extents: Vec<_> = pages.iter().map(|no| Weight { extent: no.0 / EXTENT, bytes: 1 }).collect();
    extents.dedup_by_key(|w| w.extent);
    if extents.is_empty() {
        return;
    }
    let shares = Arc::new(Shares::new(&extents));
    let mut parts = Parts::new(Lsn::ZERO, shares.clone());
    for (lsn, payload) in crate::fuzzing::payloads(data) {
        if parts.add(lsn, payload).is_err() {
            break;
        }
    }
    let gathered = Gathered::new(Lsn::ZERO, shares, std::iter::once(parts.parts));
    for no in pages {
        let mut page = crate::fuzzing::blank();
        if gathered.apply(no, &mut page).is_ok() {
            let _ = gannet_page::check(&page);
            let again = gathered.apply(no, &mut page);
            assert_eq!(again, Ok(None), "redo of {no:?} is not done once it was done");
        }
    }
}
