//! The changes that recovery found in the log, by page.
//!
//! The log is read once, in batches, by the caller of [`sort`]; a few sorters take the batches as they come and copy each
//! change behind the others of its *shard* (a share of the pages, a megabyte of neighbours at a time), so that what they
//! write to stays small. Which change lies where is found out for a whole shard when its first page is asked for. Changes
//! from different sorters are put in order by LSN when they are applied; those of one record are in one place.
//!
//! A change: `u32 page's number in the shard, u40 (LSN - from) / 8, u16 length, operation`; length 0xffff: a u32 follows.

pub(crate) mod chunk;
pub(crate) mod indexed;

use std::collections::VecDeque;
use std::ops::Range;

use gannet_base::hash::HashMap;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use gannet_base::{CachePadded, Lsn, PageNo, Reader, Writer};
use gannet_buffer::{Error, PageBuf, RedoSource, decode_payload};
use gannet_log::{Batch, LogReader, RecordKind};
use gannet_page::{Corrupt, PageOp};
use gannet_runtime::{JoinHandle, Monitor, Wait, spawn};

use crate::plant::{Fault, planted};
use crate::{EngineError, Result};

const SHARDS: u64 = 1024;
const SORTERS: usize = 3;
/// Batches read and not sorted.
const BELT: usize = 4;
/// Pages whose changes lie together.
const EXTENT: u64 = 64;
/// Changes are kept in blocks; none ever grows beyond its capacity.
const LEAST_BLOCK: usize = 1 << 10;
const MOST_BLOCK: usize = 64 << 10;
/// Longest head of a change.
const HEAD: usize = 15;
const LONG: u16 = u16::MAX;
/// Memory for the place of a change in the index.
const PLACE: u64 = size_of::<(u32, u32)>() as u64;

/// Changes of the pages of one shard, in the order in which they came.
#[derive(Default)]
struct Part {
    blocks: Vec<Vec<u8>>,
    /// Memory the blocks take, and their index will take.
    bytes: u64,
    /// By extent: a bit for each page with changes.
    pages: HashMap<u64, u64>,
}

impl Part {
    /// Gives the memory taken for it.
    fn push(&mut self, no: PageNo, at: u64, op: &PageOp<'_>, encoded: &[u8]) -> u64 {
        let pages = self.pages.entry(no.0 / EXTENT).or_default();
        let bit = 1 << (no.0 % EXTENT);
        if planted(Fault::DropRedo) && no.0.is_multiple_of(5) && *pages & bit == 0 && !op.is_full() {
            return 0;
        }
        *pages |= bit;
        let (need, before) = (HEAD + encoded.len(), self.bytes);
        self.bytes += PLACE;
        if self.blocks.last().is_none_or(|b| b.capacity() - b.len() < need) {
            let block = Vec::with_capacity((self.bytes as usize / 4).clamp(LEAST_BLOCK, MOST_BLOCK).max(need));
            self.bytes += block.capacity() as u64;
            self.blocks.push(block);
        }
        if let Some(block) = self.blocks.last_mut() {
            let mut w = Writer::new(block);
            w.u32(in_shard(no)).u32(at as u32).u8((at >> 32) as u8);
            match encoded.len() {
                n if n < LONG as usize => w.u16(n as u16),
                n => w.u16(LONG).u32(n as u32),
            };
            w.bytes(encoded);
        }
        self.bytes - before
    }
}

/// What one sorter has: the changes of the batches it took, by shard.
struct Parts {
    from: Lsn,
    shards: Vec<Part>,
}

impl Parts {
    fn new(from: Lsn) -> Parts {
        Parts { from, shards: (0..SHARDS).map(|_| Part::default()).collect() }
    }

    /// Gives the memory taken.
    fn add(&mut self, lsn: Lsn, payload: &[u8]) -> std::result::Result<u64, Error> {
        let (mut taken, at) = (0, lsn.0.wrapping_sub(self.from.0) / 8);
        decode_payload(payload, |no, op, encoded| {
            if no.0 >= MOST_PAGES {
                return Err(Error::page(no, lsn, "page number is too great"));
            }
            taken += self.shards[shard_of(no)].push(no, at, &op, encoded);
            Ok(())
        })?;
        Ok(taken)
    }

    fn add_batch(&mut self, batch: &Batch) -> Result<u64> {
        let mut taken = 0;
        for record in batch.records().filter(|r| r.kind == RecordKind::Mtr) {
            let what =
                |e| EngineError::Corrupt { page: PageNo::ZERO, lsn: record.lsn, what: format!("log record: {e}") };
            taken += self.add(record.lsn, record.payload).map_err(what)?;
        }
        Ok(taken)
    }
}

/// What a page's number in its shard can tell.
const MOST_PAGES: u64 = SHARDS << 32;

fn shard_of(no: PageNo) -> usize {
    (no.0 / EXTENT % SHARDS) as usize
}

fn in_shard(no: PageNo) -> u32 {
    (no.0 / EXTENT / SHARDS * EXTENT + no.0 % EXTENT) as u32
}

/// Where the changes of each page lie: block and offset, ascending by sorter, and in log order in each sorter's.
struct Index {
    blocks: Vec<Vec<u8>>,
    places: Vec<(u32, u32)>,
    /// By number in the shard.
    pages: HashMap<u32, Range<u32>>,
}

impl Index {
    fn new(blocks: Vec<Vec<u8>>) -> std::result::Result<Index, Corrupt> {
        let mut pages: HashMap<u32, Range<u32>> = HashMap::default();
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

    /// Applies `before`, and then the changes it has for the page.
    fn apply(
        &self,
        from: Lsn,
        no: PageNo,
        before: Vec<(Lsn, PageOp<'_>)>,
        page: &mut PageBuf,
    ) -> std::result::Result<Option<Lsn>, Corrupt> {
        let range = self.pages.get(&in_shard(no)).cloned().unwrap_or_default();
        let places = &self.places[range.start as usize..range.end as usize];
        let change = |block: u32, at: u32| take(&mut &self.blocks[block as usize][at as usize..]);
        let mut order = Vec::with_capacity(places.len());
        for &(block, at) in places {
            order.push((change(block, at)?.1, block, at));
        }
        // Stable: the changes of one record have one LSN, and lie in order.
        order.sort_by_key(|c| c.0);
        let mut broken = None;
        let changes = order.into_iter().map_while(|(lsn, block, at)| {
            let decoded = change(block, at).and_then(|(.., op)| PageOp::decode(&mut Reader::new(op)));
            decoded.map(|op| (Lsn(from.0 + lsn * 8), op)).map_err(|e| broken = Some(e)).ok()
        });
        let first = gannet_page::redo(no, page, before.into_iter().chain(changes))?;
        broken.map_or(Ok(first), Err)
    }
}

/// Takes the next change from `rest`: its page's number in the shard, distance of its LSN in units of 8, operation.
fn take<'a>(rest: &mut &'a [u8]) -> std::result::Result<(u32, u64, &'a [u8]), Corrupt> {
    let broken = Corrupt { what: "a change kept for redo cannot be decoded" };
    let Some((&[a, b, c, d, e, f, g, h, i, j, k], mut tail)) = rest.split_first_chunk::<11>() else {
        return Err(broken);
    };
    let mut n = u16::from_le_bytes([j, k]) as usize;
    if n == LONG as usize {
        let Some((&long, after)) = tail.split_first_chunk::<4>() else { return Err(broken) };
        n = u32::from_le_bytes(long) as usize;
        tail = after;
    }
    let Some((op, tail)) = tail.split_at_checked(n) else { return Err(broken) };
    *rest = tail;
    Ok((u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes([e, f, g, h, i, 0, 0, 0]), op))
}

/// A share of the pages.
#[derive(Default)]
struct Shard {
    /// By extent: a bit for each page that is not up to date.
    pending: HashMap<u64, u64>,
    blocks: Vec<Vec<u8>>,
    bytes: u64,
    /// Takes the blocks.
    index: Option<Arc<Index>>,
}

/// Changes by page, for the pool's load hook.
#[derive(Default)]
pub(crate) struct RedoMap {
    from: Lsn,
    bytes: AtomicU64,
    shards: Vec<CachePadded<Mutex<Shard>>>,
}

impl RedoMap {
    fn new(from: Lsn, sorted: Vec<Parts>) -> RedoMap {
        let mut shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        for parts in sorted {
            for (shard, part) in shards.iter_mut().zip(parts.shards) {
                shard.blocks.extend(part.blocks);
                shard.bytes += part.bytes;
                for (extent, pages) in part.pages {
                    *shard.pending.entry(extent).or_default() |= pages;
                }
            }
        }
        for shard in &mut shards {
            shard.pending.retain(|_, pages| *pages != 0);
        }
        let bytes = AtomicU64::new(shards.iter().map(|s| s.bytes).sum());
        RedoMap { from, bytes, shards: shards.into_iter().map(|s| CachePadded::new(Mutex::new(s))).collect() }
    }

    fn shard(&self, no: PageNo) -> Option<&Mutex<Shard>> {
        self.shards.get(shard_of(no)).map(|s| &**s)
    }

    /// Shard by shard, ascending in each.
    pub(crate) fn pages(&self) -> Vec<PageNo> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let first = all.len();
            for (&extent, &pages) in &shard.lock().pending {
                all.extend((0..EXTENT).filter(|i| pages >> i & 1 == 1).map(|i| PageNo(extent * EXTENT + i)));
            }
            all[first..].sort_unstable();
        }
        all
    }

    /// The page is up to date.
    pub(crate) fn forget(&self, no: PageNo) {
        let Some(mut shard) = self.shard(no).map(Mutex::lock) else { return };
        let extent = no.0 / EXTENT;
        if let Some(pages) = shard.pending.get_mut(&extent) {
            *pages &= !(1 << (no.0 % EXTENT));
            if *pages == 0 {
                shard.pending.remove(&extent);
            }
        }
        if shard.pending.is_empty() {
            self.bytes.fetch_sub(shard.bytes, Relaxed);
            *shard = Shard::default();
        }
    }

    /// Memory the changes take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

impl RedoSource for RedoMap {
    fn pending(&self, page: PageNo) -> bool {
        let of = |s: &Mutex<Shard>| s.lock().pending.get(&(page.0 / EXTENT)).copied().unwrap_or(0);
        self.shard(page).map_or(0, of) >> (page.0 % EXTENT) & 1 == 1
    }

    fn apply(&self, page: PageNo, bytes: &mut PageBuf) -> std::result::Result<Option<Lsn>, Corrupt> {
        self.apply_after(Vec::new(), page, bytes)
    }
}

impl RedoMap {
    /// Applies `before`, changes that come before all of these, and then the page's changes.
    pub(crate) fn apply_after(
        &self,
        before: Vec<(Lsn, PageOp<'_>)>,
        page: PageNo,
        bytes: &mut PageBuf,
    ) -> std::result::Result<Option<Lsn>, Corrupt> {
        let index = {
            let Some(mut shard) = self.shard(page).map(Mutex::lock) else {
                return gannet_page::redo(page, bytes, before);
            };
            if shard.index.is_none() {
                let blocks = std::mem::take(&mut shard.blocks);
                shard.index = Some(Arc::new(Index::new(blocks)?));
            }
            shard.index.clone()
        };
        // Kept until the page is known to be resident (INV-REC-1).
        match index {
            Some(index) => index.apply(self.from, page, before, bytes),
            None => gannet_page::redo(page, bytes, before),
        }
    }
}

// ---- sorting ----

/// Batches on their way from the log's reader to the sorters.
#[derive(Default)]
struct Belt {
    batches: VecDeque<Batch>,
    /// Bytes of log that are not sorted yet.
    bytes: u64,
    /// Memory the sorted changes take.
    taken: u64,
    closed: bool,
    /// A sorter found a record that cannot be decoded.
    failed: Option<EngineError>,
}

/// Sorts the changes in the log until its end, or until they take `most` bytes: then there is more. `progress` is told up to
/// where the log is read. Memory beyond `most`: a batch for each sorter.
pub(crate) fn sort(reader: &mut LogReader, from: Lsn, most: u64, progress: &dyn Fn(Lsn)) -> Result<(RedoMap, bool)> {
    let belt: Arc<Monitor<Belt>> = Arc::default();
    let sorters: Vec<_> = (0..SORTERS)
        .map(|i| {
            let belt = belt.clone();
            spawn(&format!("redo-sort-{i}"), move || sorter(&belt, from))
        })
        .collect();
    let more = feed(reader, most, &belt, progress);
    belt.change(|b| b.closed = true);
    let ended = || crate::control::damaged("a task that sorts the log's changes ended by itself");
    let sorted: Vec<_> = sorters.into_iter().map(|s: JoinHandle<Parts>| s.join().map_err(|_| ended())).collect();
    let more = more?;
    if let Some(e) = belt.change(|b| b.failed.take()) {
        return Err(e);
    }
    Ok((RedoMap::new(from, sorted.into_iter().collect::<Result<_>>()?), more))
}

/// Puts batches on the belt; true when `most` is reached before the end of the log.
fn feed(reader: &mut LogReader, most: u64, belt: &Monitor<Belt>, progress: &dyn Fn(Lsn)) -> Result<bool> {
    loop {
        let full = belt.wait(Wait::Background, |b| {
            if b.failed.is_some() || b.bytes == 0 {
                return Some(b.failed.is_some() || b.taken >= most);
            }
            (b.batches.len() < BELT && b.taken + b.bytes < most).then_some(false)
        });
        if full {
            return Ok(true);
        }
        let Some(batch) = reader.next_batch()? else { return Ok(false) };
        progress(reader.end());
        belt.change(|b| {
            b.bytes += batch.bytes();
            b.batches.push_back(batch);
        });
    }
}

/// Tells the others when a sorter panics: they would wait for it.
struct Watch<'a>(&'a Monitor<Belt>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !gannet_runtime::sim::active() {
            let ended = || crate::control::damaged("a task that sorts the log's changes ended by itself");
            self.0.change(|b| b.failed = b.failed.take().or_else(|| Some(ended())));
        }
    }
}

fn sorter(belt: &Monitor<Belt>, from: Lsn) -> Parts {
    let _watch = Watch(belt);
    let mut parts = Parts::new(from);
    while let Some(batch) =
        belt.wait(Wait::Background, |b| b.batches.pop_front().map(Some).or_else(|| b.closed.then_some(None)))
    {
        let sorted = parts.add_batch(&batch);
        belt.change(|b| {
            b.bytes -= batch.bytes();
            match sorted {
                Ok(taken) => b.taken += taken,
                Err(e) => b.failed = b.failed.take().or(Some(e)),
            }
        });
    }
    parts
}

/// See [`crate::fuzzing::redo`].
pub(crate) fn fuzz(data: &[u8]) {
    let mut parts = Parts::new(Lsn::ZERO);
    for (lsn, payload) in crate::fuzzing::payloads(data) {
        if parts.add(lsn, payload).is_err() {
            break;
        }
    }
    let map = RedoMap::new(Lsn::ZERO, vec![parts]);
    for no in map.pages() {
        let mut page = crate::fuzzing::blank();
        if map.apply(no, &mut page).is_ok() {
            let _ = gannet_page::check(&page);
            let again = map.apply(no, &mut page);
            assert_eq!(again, Ok(None), "redo of {no:?} is not done once it was done");
        }
    }
}
