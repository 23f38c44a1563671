//! Where the changes of each page lie in a stretch of the log: a *chunk* of the log's index.
//!
//! One file `<start LSN, 16 hex digits>.idx` in the log's directory, little-endian:
//!
//! ```text
//! 0   8 bytes  "GNTIDX\r\n"
//! 8   u32      format version
//! 12  u32      crc32c of all that follows
//! 16  u64      store id
//! 24  u64      start LSN, a record boundary
//! 32  u64      end LSN, a record boundary
//! 40  u32      epochs, u32 extents
//! 48  ...      epochs: u64 LSN from which on it is in force, u64 epoch (the first: at the start)
//!     ...      extents, ascending: u32 number (64 pages each), u32 place of its entry, u32 crc32c of the entry
//!     ...      entries: u64 mask of pages; for each page u32 end of its list; the lists
//! ```
//!
//! A list: the records that change the page, ascending, as varints: distance of a record's start from that of the one
//! before (from the chunk's start) in units of 8.
//!
//! The files are not synced and nothing depends on them: what no intact chain of chunks covers is read from the log
//! itself.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gannet_base::{Lsn, PageNo, Reader, Writer, crc32c};
use gannet_buffer::decode_payload;
use gannet_log::Record;
use gannet_runtime::{File, OpenOptions, fs};

use super::{EXTENT, undecodable};
use crate::control::{damaged, io};
use crate::plant::{Fault, planted};
use crate::{EngineError, Result};

const MAGIC: [u8; 8] = *b"GNTIDX\r\n";
const VERSION: u32 = 2;
const HEAD: usize = 48;
/// Bytes of an extent in the file's table.
const EXTENT_BYTES: usize = 12;
/// Positions are multiples of this.
const UNIT: u64 = 8;
/// Most pages that [`Built::hot`] names, and the least changes each must have had.
const MOST_HOT: usize = 64;
const LEAST_HOT: usize = 64;

/// A chunk as read back. Its table of extents is in memory; the entries are there too, or in the file.
pub(crate) struct Chunk {
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    /// Epochs in force, each with the LSN from which on; the first is that at the start.
    pub(crate) epochs: Vec<(Lsn, u64)>,
    extents: Vec<Extent>,
    /// End of the last entry.
    len: u32,
    entries: Entries,
    /// It has a file.
    pub(crate) is_written: bool,
}

/// An extent of a chunk: number, its entry's place and checksum, and the pages that the entry has.
#[derive(Clone, Copy)]
struct Extent {
    number: u32,
    place: u32,
    crc: u32,
    mask: u64,
}

enum Entries {
    /// All bytes of the file.
    Memory(Vec<u8>),
    /// It was verified whole before.
    File(File),
}

/// The first part of the file: enough to tell which part of which log it belongs to.
struct Head {
    crc: u32,
    store: u64,
    start: Lsn,
    end: Lsn,
    epochs: usize,
    extents: usize,
}

impl Head {
    fn decode(bytes: &[u8]) -> Option<Head> {
        let mut r = Reader::new(bytes.get(..HEAD)?);
        if r.bytes(8).ok()? != MAGIC || r.u32().ok()? != VERSION {
            return None;
        }
        let (crc, store, start, end) = (r.u32().ok()?, r.u64().ok()?, Lsn(r.u64().ok()?), Lsn(r.u64().ok()?));
        let (epochs, extents) = (r.u32().ok()? as usize, r.u32().ok()? as usize);
        (start < end && epochs > 0).then_some(Head { crc, store, start, end, epochs, extents })
    }
}

impl Chunk {
    /// `None` when the bytes are not what was written.
    pub(crate) fn decode(store: u64, bytes: Vec<u8>) -> Option<Chunk> {
        let head = Head::decode(&bytes)?;
        if head.store != store || crc32c(0, bytes.get(16..)?) != head.crc {
            return None;
        }
        let mut r = Reader::new(&bytes[HEAD..]);
        let mut epochs = Vec::new();
        for _ in 0..head.epochs {
            epochs.push((Lsn(r.u64().ok()?), r.u64().ok()?));
        }
        let table = r.bytes(head.extents.checked_mul(EXTENT_BYTES)?).ok()?;
        let base = (bytes.len() - r.remaining()) as u32;
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let extent = |e: &[u8]| {
            let (number, place, crc) = (word(e), base.saturating_add(word(&e[4..])), word(&e[8..]));
            let mask = bytes.get(place as usize..)?.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))?;
            Some(Extent { number, place, crc, mask })
        };
        let extents = table.chunks_exact(EXTENT_BYTES).map(extent).collect::<Option<Vec<_>>>()?;
        let (len, entries) = (bytes.len() as u32, Entries::Memory(bytes));
        Some(Chunk { start: head.start, end: head.end, epochs, extents, len, entries, is_written: false })
    }

    /// Its extents, ascending: number, mask of pages, bytes of the entry.
    pub(crate) fn extents(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        (0..self.extents.len()).map(|i| {
            let e = &self.extents[i];
            (e.number.into(), e.mask, u64::from(self.entry_end(i).saturating_sub(e.place)))
        })
    }

    /// Whether pages of extents in the range are changed.
    pub(crate) fn changes_any(&self, extents: std::ops::Range<u64>) -> bool {
        let i = self.extents.partition_point(|e| u64::from(e.number) < extents.start);
        self.extents.get(i).is_some_and(|e| u64::from(e.number) < extents.end)
    }

    fn entry_end(&self, i: usize) -> u32 {
        self.extents.get(i + 1).map_or(self.len, |e| e.place)
    }

    /// Its entries are read from the file from now on.
    pub(crate) fn leave_in(&mut self, file: File) {
        (self.entries, self.is_written) = (Entries::File(file), true);
    }

    /// The bytes of its file, if they are in memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.entries {
            Entries::Memory(bytes) => Some(bytes),
            Entries::File(_) => None,
        }
    }

    /// The entry of an extent; `None` when the file cannot be read, or not as it was written.
    fn entry(&self, i: usize) -> Option<Cow<'_, [u8]>> {
        let (from, to) = (self.extents[i].place as usize, self.entry_end(i) as usize);
        match &self.entries {
            Entries::Memory(bytes) => bytes.get(from..to).map(Cow::Borrowed),
            Entries::File(file) => {
                let mut entry = vec![0; to.checked_sub(from)?];
                let n = file.read_at(&mut entry, from as u64).ok()?;
                (n == entry.len() && crc32c(0, &entry) == self.extents[i].crc).then_some(Cow::Owned(entry))
            }
        }
    }

    /// Adds the starts of those records, at or above `from`, that change the page; with the epoch of each. `None`: its
    /// entry cannot be read.
    pub(crate) fn positions(&self, no: PageNo, from: Lsn, out: &mut Vec<(Lsn, u64)>) -> Option<()> {
        if from >= self.end {
            return Some(());
        }
        let (extent, bit) = (no.0 / EXTENT, no.0 % EXTENT);
        let found = self.extents.binary_search_by_key(&extent, |e| e.number.into());
        let Some((at, mask)) = found.ok().map(|i| (i, self.extents[i].mask)).filter(|e| e.1 >> bit & 1 == 1) else {
            return Some(());
        };
        let i = (mask & ((1 << bit) - 1)).count_ones() as usize;
        let entry = self.entry(at)?;
        let (ends, lists) = entry.get(8..)?.split_at_checked(4 * mask.count_ones() as usize)?;
        let end =
            |i: usize| u32::from_le_bytes([ends[4 * i], ends[4 * i + 1], ends[4 * i + 2], ends[4 * i + 3]]) as usize;
        let begin = i.checked_sub(1).map_or(0, end);
        let mut list = Reader::new(lists.get(begin..end(i))?);
        let (mut at, mut epoch) = (self.start.0, 0);
        while let Ok(gap) = list.varint() {
            at = at.saturating_add(gap.saturating_mul(UNIT));
            if at < from.0 {
                continue;
            }
            while self.epochs.get(epoch + 1).is_some_and(|e| e.0.0 <= at) {
                epoch += 1;
            }
            out.push((Lsn(at), self.epochs[epoch].1));
        }
        Some(())
    }

    /// The epoch in force at `lsn`.
    pub(crate) fn epoch_at(&self, lsn: Lsn) -> u64 {
        self.epochs.iter().rev().find(|e| e.0 <= lsn).map_or(0, |e| e.1)
    }

    /// Memory it takes.
    pub(crate) fn memory(&self) -> u64 {
        (self.bytes().map_or(0, <[u8]>::len) + self.extents.len() * size_of::<Extent>()) as u64
    }
}

/// The changes of a stretch of the log: for each the page's number, and behind it the place of its record from the
/// stretch's start on, in units of 8 bytes, as the lower half. In the order of the log, or in any.
#[derive(Default)]
pub(crate) struct Changes(Vec<u64>);

/// A chunk to be written.
pub(crate) struct Built {
    pub(crate) bytes: Vec<u8>,
    /// The pages that were changed most: better written back than redone change by change.
    pub(crate) hot: Vec<PageNo>,
}

impl Changes {
    pub(crate) fn new() -> Changes {
        Changes::default()
    }

    /// Adds the pages that a record changes; the stretch begins at `start`.
    pub(crate) fn add(&mut self, start: Lsn, record: &Record<'_>) -> Result<()> {
        let at = record.start.since(start) / UNIT;
        let mut indexable = u32::try_from(at).is_ok();
        let decoded = decode_payload(record.payload, |no, _, _| {
            if planted(Fault::IndexLeavesOut) && at.is_multiple_of(3) {
                return Ok(());
            }
            indexable &= no.0 >> 32 == 0;
            let change = no.0 << 32 | at;
            if self.0.last() != Some(&change) {
                self.0.push(change);
            }
            Ok(())
        });
        decoded.map_err(|e| undecodable(record.lsn, &e))?;
        // A page's number takes the other half: 64 TiB of pages.
        if indexable { Ok(()) } else { Err(damaged("the log changes pages that cannot be")) }
    }

    pub(crate) fn append(&mut self, other: Changes) {
        if self.0.is_empty() {
            *self = other;
        } else {
            self.0.extend_from_slice(&other.0);
        }
    }

    /// The chunk of the stretch from `start` to `end`.
    pub(crate) fn chunk(mut self, store: u64, start: Lsn, end: Lsn, epochs: &[(Lsn, u64)]) -> Built {
        self.0.sort_unstable();
        self.0.dedup();
        let page = |change: &u64| change >> 32;
        let (mut table, mut entries, mut count) = (Vec::new(), Vec::new(), 0u32);
        let mut hot: Vec<(usize, PageNo)> = Vec::new();
        let (mut ends, mut lists) = (Vec::new(), Vec::new());
        for extent in self.0.chunk_by(|a, b| page(a) / EXTENT == page(b) / EXTENT) {
            let place = entries.len();
            count += 1;
            let mut mask = 0u64;
            ends.clear();
            lists.clear();
            for changes in extent.chunk_by(|a, b| page(a) == page(b)) {
                let no = page(&changes[0]);
                mask |= 1 << (no % EXTENT);
                if changes.len() >= LEAST_HOT {
                    hot.push((changes.len(), PageNo(no)));
                }
                let mut before = 0;
                for change in changes {
                    let at = change & u64::from(u32::MAX);
                    Writer::new(&mut lists).varint(at - before);
                    before = at;
                }
                Writer::new(&mut ends).u32(lists.len() as u32);
            }
            Writer::new(&mut entries).u64(mask).bytes(&ends).bytes(&lists);
            let number = (page(&extent[0]) / EXTENT) as u32;
            Writer::new(&mut table).u32(number).u32(place as u32).u32(crc32c(0, &entries[place..]));
        }
        let mut rest = Vec::with_capacity(HEAD + table.len() + entries.len());
        Writer::new(&mut rest).u64(store).u64(start.0).u64(end.0).u32(epochs.len() as u32).u32(count);
        for (from, epoch) in epochs {
            Writer::new(&mut rest).u64(from.0).u64(*epoch);
        }
        rest.extend_from_slice(&table);
        rest.extend_from_slice(&entries);
        let mut bytes = Vec::with_capacity(16 + rest.len());
        Writer::new(&mut bytes).bytes(&MAGIC).u32(VERSION).u32(crc32c(0, &rest)).bytes(&rest);
        hot.sort_unstable_by(|a, b| b.cmp(a));
        let hot = hot.into_iter().take(MOST_HOT).map(|h| h.1).collect();
        Built { bytes, hot }
    }
}

/// The file of the chunk that begins at `start`.
pub(crate) fn path(dir: &Path, start: Lsn) -> PathBuf {
    dir.join(format!("{:016x}.idx", start.0))
}

/// Writes a chunk's file. It is not synced.
pub(crate) fn write(dir: &Path, start: Lsn, bytes: &[u8]) -> Result<PathBuf> {
    let path = path(dir, start);
    let file = File::open(&path, &OpenOptions::read_write().create().truncate()).map_err(io("create a log index"))?;
    file.write_at(bytes, 0).map_err(io("write a log index"))?;
    if planted(Fault::IndexAhead) {
        // On disk before the log is.
        file.sync_data().map_err(io("sync a log index"))?;
        fs::sync_dir(dir).map_err(io("sync the log directory"))?;
    }
    Ok(path)
}

/// The files of chunks in the log's directory, in order.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let all = fs::read_dir(dir).map_err(io("list the log directory"))?;
    let mut found: Vec<_> = all.into_iter().filter(|p| p.extension().is_some_and(|e| e == "idx")).collect();
    found.sort();
    Ok(found)
}

/// The intact chunks, without a gap, beginning with the one that holds `from`; none when `epoch` was not in force
/// there. Entries stay in memory as long as all take no more than `most` bytes.
pub(crate) fn chain(dir: &Path, store: u64, from: Lsn, epoch: u64, most: u64) -> Result<Vec<Chunk>> {
    let mut kept = 0;
    let mut chain: Vec<Chunk> = Vec::new();
    let cannot = |e: std::io::Error| EngineError::Io(format!("read a log index: {e}"));
    for path in files(dir)? {
        let file = File::open(&path, &OpenOptions::read()).map_err(cannot)?;
        let mut head = vec![0; HEAD];
        let n = file.read_at(&mut head, 0).map_err(cannot)?;
        let Some(head) = Head::decode(&head[..n]) else { continue };
        let follows = match chain.last() {
            None => head.start <= from && from < head.end,
            Some(last) => head.start == last.end,
        };
        if !follows || head.store != store {
            continue;
        }
        let mut bytes = vec![0; file.len().map_err(cannot)? as usize];
        let n = file.read_at(&mut bytes, 0).map_err(cannot)?;
        bytes.truncate(n);
        let size = bytes.len() as u64;
        let Some(mut chunk) = Chunk::decode(store, bytes) else { break };
        let joins = match chain.last() {
            // At a start that is also the first LSN of an incarnation the epoch before it counts, as in the control
            // file.
            None if chunk.start == from => chunk.epochs[0].1 == epoch,
            None => chunk.epoch_at(from) == epoch,
            Some(last) => chunk.epochs[0].1 == last.epoch_at(last.end),
        };
        if !joins {
            break;
        }
        chunk.is_written = true;
        if kept + size > most {
            chunk.leave_in(file);
        } else {
            kept += size;
        }
        chain.push(chunk);
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use gannet_log::RecordKind;
    use gannet_page::PageOp;

    use super::*;

    fn payload(pages: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        for &no in pages {
            Writer::new(&mut out).varint(no);
            PageOp::Remove { pos: 1 }.encode(&mut out);
        }
        out
    }

    #[test]
    fn finds_what_was_added_and_refuses_what_was_not_written() {
        let start = Lsn(4096);
        let mut changes = Changes::new();
        let mut want = std::collections::BTreeMap::<u64, Vec<u64>>::new();
        let mut at = start.0;
        for i in 0..2000u64 {
            let pages = [3, i % 97 * 11, (i * i) % 5000, 3];
            let payload = payload(&pages);
            let record = Record { start: Lsn(at), lsn: Lsn(at + 80), kind: RecordKind::Mtr, payload: &payload };
            changes.add(start, &record).unwrap();
            for no in pages {
                let list = want.entry(no).or_default();
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
            at += 80;
        }
        let middle = Lsn(start.0 + 80_000);
        let built = changes.chunk(7, start, Lsn(at), &[(start, 5), (middle, 6)]);
        assert!(built.hot[0] == PageNo(3) && built.hot.len() <= MOST_HOT);
        let chunk = Chunk::decode(7, built.bytes.clone()).unwrap();
        assert_eq!((chunk.start, chunk.end, chunk.epoch_at(middle)), (start, Lsn(at), 6));
        let mut seen = 0;
        for (extent, mask, _) in chunk.extents() {
            for no in (0..EXTENT).filter(|i| mask >> i & 1 == 1).map(|i| extent * EXTENT + i) {
                let (mut all, mut some) = (Vec::new(), Vec::new());
                chunk.positions(PageNo(no), Lsn::ZERO, &mut all).unwrap();
                chunk.positions(PageNo(no), middle, &mut some).unwrap();
                assert_eq!(all.iter().map(|p| p.0.0).collect::<Vec<_>>(), want[&no]);
                assert!(all.iter().all(|p| p.1 == if p.0 < middle { 5 } else { 6 }));
                assert_eq!(some, all.iter().copied().filter(|p| p.0 >= middle).collect::<Vec<_>>());
                seen += 1;
            }
        }
        assert_eq!(seen, want.len());
        assert!(Chunk::decode(8, built.bytes.clone()).is_none());
        for i in (0..built.bytes.len()).step_by(37) {
            let mut bad = built.bytes.clone();
            bad[i] ^= 4;
            assert!(Chunk::decode(7, bad).is_none(), "byte {i}");
            assert!(Chunk::decode(7, built.bytes[..i].to_vec()).is_none(), "cut at {i}");
        }
    }
}
