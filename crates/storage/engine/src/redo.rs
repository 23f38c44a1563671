//! The changes of some pages, gathered from the log: what a *round* of redo has in memory.
//!
//! The log's index tells which pages have changes ([`indexed`]). A round reads the log in batches. A few sorters take
//! the batches and copy each change of the round's pages to the end of its *share* (a share is a set of neighbouring
//! pages), so that the memory they write to stays small. Which change lies where is found out for a whole share when
//! its first page is asked for. Changes from different sorters are put in order by LSN when they are applied; those
//! of one record are in one place. Where the changes take more memory than they may, those of the last shares go to a
//! file ([`spill`]), and later rounds read them from there. Where the file cannot be written, the round gives these
//! shares up, and a later round reads the log again.
//!
//! A page gets all its changes or none: no page is ever resident, or on disk, with an LSN that hides changes which it
//! does not have.
//!
//! A change: `page - first page of the share, (LSN - LSN of the change before in its block, or the round's) / 8,
//! length, operation`, the numbers as varints.

pub(crate) mod chunk;
mod crew;
pub(crate) mod indexed;
pub(crate) mod rest;
pub(crate) mod spill;

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
use spill::Spill;

const MOST_SHARES: usize = 1024;
const SORTERS: usize = 3;
/// Pages whose changes lie together.
const EXTENT: u64 = 64;
/// Changes are kept in blocks; none ever grows beyond its capacity.
const LEAST_BLOCK: usize = 1 << 8;
const MOST_BLOCK: usize = 64 << 10;
/// Longest head of a change.
const HEAD: usize = 30;

/// Which share has a page. Shares are contiguous.
struct Shares {
    /// The first extent of each; last, the end.
    bounds: Vec<u64>,
    /// How many of the shares the round keeps.
    kept: AtomicUsize,
}

/// A change in a block.
struct Change<'a> {
    page: u64,
    /// In units of 8 behind the round's.
    lsn: u64,
    op: &'a [u8],
}

impl Shares {
    /// Shares of about equal weight for extents in ascending order, not none.
    fn new(extents: &[Weight]) -> Shares {
        let n = extents.len().min(MOST_SHARES);
        let each = extents.iter().map(|w| w.bytes).sum::<u64>().div_ceil(n as u64).max(1);
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

    fn all(&self) -> usize {
        self.bounds.len() - 1
    }

    fn part(&self, shares: Range<usize>) -> Shares {
        let kept = AtomicUsize::new(shares.len());
        Shares { bounds: self.bounds[shares.start..=shares.end].to_vec(), kept }
    }

    fn first_page(&self, share: usize) -> u64 {
        self.bounds[share] * EXTENT
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

/// Changes of the pages of one share, in the order of the log.
#[derive(Default)]
struct Part {
    blocks: Vec<Vec<u8>>,
    /// Memory the blocks take.
    bytes: u64,
    /// LSN of the last change.
    last: u64,
}

impl Part {
    /// Adds a change of page `no` of the share. Returns how much memory that took.
    fn push(&mut self, no: u64, at: u64, encoded: &[u8]) -> u64 {
        let (need, before) = (HEAD + encoded.len(), self.bytes);
        if self.blocks.last().is_none_or(|b| b.capacity() - b.len() < need) {
            let block = Vec::with_capacity((self.bytes as usize / 4).clamp(LEAST_BLOCK, MOST_BLOCK).max(need));
            self.bytes += block.capacity() as u64;
            self.blocks.push(block);
            self.last = 0;
        }
        if let Some(block) = self.blocks.last_mut() {
            // A sorter gets its batches in order.
            Writer::new(block)
                .varint(no)
                .varint(at.wrapping_sub(self.last))
                .varint(encoded.len() as u64)
                .bytes(encoded);
            self.last = at;
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

    /// Returns how much memory was taken.
    fn add(&mut self, lsn: Lsn, payload: &[u8]) -> std::result::Result<u64, Error> {
        let (mut taken, at) = (0, lsn.0.wrapping_sub(self.from.0) / 8);
        decode_payload(payload, |no, op, encoded| {
            if let Some(share) = self.shares.of(no)
                && !is_dropped(no, lsn, &op)
            {
                taken += self.parts[share].push(no.0 - self.shares.first_page(share), at, encoded);
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

/// Where the changes of each page of a share lie.
struct Index {
    blocks: Vec<Vec<u8>>,
    places: Vec<Place>,
    pages: HashMap<u64, Range<u32>>,
}

/// Of a change: its LSN, and its operation's block and range there.
#[derive(Clone, Copy, Default)]
struct Place {
    lsn: u64,
    block: u32,
    at: u32,
    len: u32,
}

impl Index {
    fn new(blocks: Vec<Vec<u8>>) -> std::result::Result<Index, Corrupt> {
        let mut pages: HashMap<u64, Range<u32>> = HashMap::default();
        let each = |found: &mut dyn FnMut(u64, Place)| {
            for (i, block) in blocks.iter().enumerate() {
                let (mut rest, mut lsn) = (&block[..], 0);
                while !rest.is_empty() {
                    let c = take(&mut rest, lsn)?;
                    let at = block.len() - rest.len() - c.op.len();
                    found(c.page, Place { lsn: c.lsn, block: i as u32, at: at as u32, len: c.op.len() as u32 });
                    lsn = c.lsn;
                }
            }
            Ok::<(), Corrupt>(())
        };
        let mut count = 0;
        each(&mut |page, _| {
            pages.entry(page).or_default().end += 1;
            count += 1;
        })?;
        // Each page's places get a range of their own; `end` grows again as they come in.
        let mut next = 0;
        for range in pages.values_mut() {
            let n = range.end;
            *range = next..next;
            next += n;
        }
        let mut places = vec![Place::default(); count];
        each(&mut |page, place| {
            if let Some(range) = pages.get_mut(&page) {
                places[range.end as usize] = place;
                range.end += 1;
            }
        })?;
        // Stable: the changes of one record have one LSN, and lie in order.
        pages.values().for_each(|r| places[r.start as usize..r.end as usize].sort_by_key(|p| p.lsn));
        Ok(Index { blocks, places, pages })
    }

    /// Memory it takes beside the blocks.
    fn bytes(&self) -> u64 {
        (self.places.len() * size_of::<Place>() + self.pages.len() * 2 * size_of::<(u64, Range<u32>)>()) as u64
    }

    /// Applies the changes it has for the page, `at` behind the first of the share.
    fn apply(&self, from: Lsn, at: u64, no: PageNo, page: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        let range = self.pages.get(&at).cloned().unwrap_or_default();
        let mut redo = gannet_page::Redo::of(page);
        for p in &self.places[range.start as usize..range.end as usize] {
            let op = &self.blocks[p.block as usize][p.at as usize..][..p.len as usize];
            redo.add(no, page, Lsn(from.0 + p.lsn * 8), &PageOp::decode(&mut Reader::new(op))?);
        }
        redo.finish(page)
    }
}

/// Takes the next change from `rest`; `before`: LSN of the one before it.
fn take<'a>(rest: &mut &'a [u8], before: u64) -> std::result::Result<Change<'a>, Corrupt> {
    let broken = |_| Corrupt { what: "a change kept for redo cannot be decoded" };
    let mut r = Reader::new(rest);
    let (page, lsn) = (r.varint().map_err(broken)?, before.wrapping_add(r.varint().map_err(broken)?));
    let len = r.varint().map_err(broken)? as usize;
    let op = r.bytes(len).map_err(broken)?;
    *rest = &rest[rest.len() - r.remaining()..];
    Ok(Change { page, lsn, op })
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

impl Share {
    fn add(&mut self, block: Vec<u8>) {
        self.bytes += block.capacity() as u64;
        self.blocks.push(block);
    }
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
        Gathered::of(from, which, shares)
    }

    fn of(from: Lsn, which: Arc<Shares>, shares: Vec<Share>) -> Gathered {
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

    /// Announces that the page is to be brought up to date: its changes stay until [`Gathered::forget`] is called
    /// once for each announcement.
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
        let Some(i) = self.which.of(no) else { return Ok(None) };
        let index = {
            let Some(mut share) = self.shares.get(i).map(|s| s.lock()) else { return Ok(None) };
            let share = &mut *share;
            if share.index.is_none() {
                let made = Index::new(std::mem::take(&mut share.blocks));
                let bytes = made.as_ref().map_or(0, Index::bytes);
                share.bytes += bytes;
                self.bytes.fetch_add(bytes, Relaxed);
                share.index = Some(made.map(Arc::new));
            }
            match &share.index {
                Some(index) => index.clone()?,
                None => return Ok(None),
            }
        };
        // Kept until the page is known to be resident (INV-REC-1).
        index.apply(self.from, no.0 - self.which.first_page(i), no, page)
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

/// Gathers the changes of the pages of `extents` (ascending, at least one) in at most `most` bytes of memory: of the
/// first extents if not of all. Changes of the others go to a file in directory `spill`. If there is none, or it
/// cannot be written, they are left to a later round; even the changes of the first extent may be too many. Memory
/// beyond `most`: a batch for each sorter.
pub(crate) fn gather(
    indexed: &Indexed,
    extents: &[Weight],
    most: u64,
    spill: Option<&std::path::Path>,
    stop: &dyn Fn() -> bool,
) -> std::result::Result<(Gathered, Option<Spill>), NotGathered> {
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
    let mut over = Over { shares: &shares, parts: &parts, held: shares.all(), spill: None, dir: spill, expected: all };
    for run in runs {
        let mut reader = indexed.reader(&run).map_err(NotGathered::Unreadable)?;
        while let Some(batch) = reader.next_batch().map_err(|e| NotGathered::Unreadable(e.into()))? {
            if stop() {
                return Err(NotGathered::Stopped);
            }
            if taken.load(Relaxed) + crew.bytes() >= most {
                crew.idle().map_err(damaged)?;
                if taken.load(Relaxed) >= most {
                    // The changes that stay in memory have to fit when all is read, with room for those on their way
                    // to the file.
                    let part = (read as f64 / all.max(1) as f64).clamp(0.1, 1.0);
                    taken.store(over.make_room((most as f64 * 0.7 * part) as u64), Relaxed);
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
    if over.spill.is_some() {
        over.write_out();
        shares.kept.store(over.held, Relaxed);
    }
    let spill = over.spill.take();
    let sorted = parts.iter().map(|p| std::mem::take(&mut p.lock().parts));
    Ok((Gathered::new(from, shares, sorted), spill))
}

/// The next round of changes from the file, in at most `most` bytes of memory: the extents, and their changes if
/// these could be read. `None`: there are no more.
pub(crate) fn gather_spilled(from: Lsn, spill: &mut Spill, most: u64) -> Option<(Range<u64>, Option<Gathered>)> {
    let (which, shares) = spill.take(most)?;
    let extents = which.bounds[0]..which.bounds[which.all()];
    Some((extents, shares.map(|shares| Gathered::of(from, Arc::new(which), shares))))
}

/// What to do with changes that are too many for the memory. No sorter is at work then.
struct Over<'a> {
    shares: &'a Arc<Shares>,
    parts: &'a [CachePadded<Mutex<Parts>>],
    /// Shares below stay in memory.
    held: usize,
    spill: Option<Spill>,
    /// Where there may be a file.
    dir: Option<&'a std::path::Path>,
    /// Bytes of log to be read.
    expected: u64,
}

impl Over<'_> {
    /// Keeps the first shares in memory, at most `most` bytes of them. Returns how much they take.
    fn make_room(&mut self, most: u64) -> u64 {
        if self.spill.is_none()
            && let Some(dir) = self.dir.take()
        {
            self.spill = Spill::create(dir, self.shares.clone(), self.expected);
        }
        let (mut kept, mut bytes) = (0, 0);
        while kept < self.held.min(self.shares.kept.load(Relaxed)) {
            let share: u64 = self.parts.iter().map(|p| p.lock().parts[kept].bytes).sum();
            if bytes + share > most {
                break;
            }
            (kept, bytes) = (kept + 1, bytes + share);
        }
        self.held = kept;
        match self.spill {
            Some(_) => self.write_out(),
            None => self.give_up(),
        }
        bytes
    }

    /// Writes the shares that are not held to the file.
    fn write_out(&mut self) {
        let mut guards: Vec<_> = self.parts.iter().map(|p| p.lock()).collect();
        let mut sorted: Vec<Vec<Part>> = guards.iter_mut().map(|g| std::mem::take(&mut g.parts)).collect();
        drop(guards);
        let mut each: Vec<&mut Vec<Part>> = sorted.iter_mut().collect();
        let written = self.spill.as_mut().is_some_and(|s| s.write(self.held, &mut each));
        self.parts.iter().zip(sorted).for_each(|(p, parts)| p.lock().parts = parts);
        if !written && let Some(spill) = self.spill.take() {
            spill.end();
            self.give_up();
        }
    }

    /// Drops the changes of the shares that are not held.
    fn give_up(&mut self) {
        crate::plant::note(crate::plant::Path::SharesGivenUp);
        self.shares.kept.store(self.held, Relaxed);
        self.parts.iter().for_each(|p| p.lock().parts.truncate(self.held));
    }
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
