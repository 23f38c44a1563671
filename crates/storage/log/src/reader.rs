//! Reads the log back, for recovery and for consumers.
//!
//! The log ends where no record of the running epoch validates and no later incarnation begins. Where a later segment
//! exists, INV-LOG-3 proves that the rest is a torn tail and not damage in the middle. In the last segment the flush
//! units behind prove it: each says how far the log was durable before it was written. For the last flush there is no
//! proof: damage in it cannot be told from a torn write.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_runtime::{AlignedBuf, File};

use crate::LogError;
use crate::ahead::{Buffers, Chunk, HEADROOM, ReadAhead};
use crate::format::{
    BLOCK, EpochStart, HEADER, HeaderBlock, MAX_PAYLOAD, RecordKind, SEGMENT_HEADER, block_down, block_up, checksum,
    record_bytes, unword,
};
use crate::segments::{Segment, chain, into_segment, scan};

/// One record as read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// First byte of the record.
    pub start: Lsn,
    /// End of the record: the LSN that pages carry.
    pub lsn: Lsn,
    /// What the payload is.
    pub kind: RecordKind,
    /// The payload.
    pub payload: &'a [u8],
}

/// Intact records that lie together in memory, so that another task than the reader can look through them.
pub struct Batch {
    window: Window,
    /// Where they lie, as LSNs: whole records.
    ranges: Vec<Range<u64>>,
    buffers: Arc<Buffers>,
}

/// How far a batch was looked through.
#[derive(Clone, Copy, Default)]
struct Place {
    range: usize,
    at: u64,
}

impl Batch {
    /// The records of kinds that users append, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut place = Place::default();
        std::iter::from_fn(move || self.step(&mut place).map(|(start, valid)| self.record(start, &valid)))
    }

    /// Bytes of log in it.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|r| r.end - r.start).sum()
    }

    /// Where its last record ends.
    pub fn end(&self) -> Lsn {
        Lsn(self.ranges.last().map_or(self.window.low, |r| r.end))
    }

    /// Goes to the next record, from header to header: all are known to be intact.
    #[inline]
    fn step(&self, place: &mut Place) -> Option<(u64, Valid)> {
        while let Some(range) = self.ranges.get(place.range) {
            let start = place.at.max(range.start);
            if start >= range.end {
                place.range += 1;
                continue;
            }
            let (word, _) = header(self.window.slice(start, HEADER));
            let (kind, len) = unword(word);
            place.at = start + record_bytes(len);
            if let Some(kind @ (RecordKind::Mtr | RecordKind::Payload)) = RecordKind::from_u8(kind) {
                return Some((start, Valid { kind, len, end: place.at }));
            }
        }
        None
    }

    fn record(&self, start: u64, valid: &Valid) -> Record<'_> {
        let payload = self.window.slice(start + HEADER as u64, valid.len);
        Record { start: Lsn(start), lsn: Lsn(valid.end), kind: valid.kind, payload }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.buffers.give(std::mem::replace(&mut self.window.bytes, AlignedBuf::zeroed(0)));
    }
}

/// The log's bytes `[low, high)`; `low` is a block boundary.
struct Window {
    bytes: AlignedBuf,
    /// Where in `bytes` it begins.
    skip: usize,
    low: u64,
    high: u64,
}

impl Window {
    #[inline]
    fn slice(&self, at: u64, len: usize) -> &[u8] {
        let from = self.skip + (at - self.low) as usize;
        &self.bytes[from..from + len]
    }
}

/// First word and checksum of a record's header.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> (u32, u32) {
    let word = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
    (word(0), word(4))
}

/// Reads the log from a record boundary on until its end. Tasks of its own read ahead.
pub struct LogReader {
    store: u64,
    ahead: ReadAhead,
    window: Window,
    at: u64,
    /// Intact records of the window, not handed out.
    found: Vec<Range<u64>>,
    /// The window before, when the present one began.
    full: Option<Batch>,
    /// What [`LogReader::next`] goes through, and up to where it has.
    current: Option<(Batch, Place)>,
    epochs: Vec<(Lsn, u64)>,
    /// All segments in use, whether they belong to the chain or not: start, epoch, file.
    in_use: Vec<(u64, u64, PathBuf)>,
    /// Files that do not say which part of the log they hold, and what is wrong with them.
    nameless: Vec<(File, PathBuf, &'static str)>,
    done: bool,
    /// To the log's end.
    whole: bool,
}

/// How far behind the end a witness is looked for: a flush unit is no longer than the ring buffer.
const WITNESS_BYTES: u64 = 16 << 20;
/// So many incarnations at most may have begun behind the end, this one among them.
const LATER_EPOCHS: u64 = 8;

/// A record that validates: its kind, payload length, and end.
struct Valid {
    kind: RecordKind,
    len: usize,
    end: u64,
}

impl LogReader {
    /// Opens the segments in `dir` to read from `from` on, a record boundary; `epoch` is the one in force there. A
    /// directory without segments, or none at all, is a log that ends at `from` if that is the first LSN of a new
    /// store.
    pub fn open(dir: &Path, store: u64, from: Lsn, epoch: u64) -> Result<LogReader, LogError> {
        LogReader::open_until(dir, store, from, epoch, Lsn::MAX)
    }

    /// [`LogReader::open`] for a part of a log that may be in use: reads whole records up to `limit` only, which must
    /// be durable.
    pub fn open_until(dir: &Path, store: u64, from: Lsn, epoch: u64, limit: Lsn) -> Result<LogReader, LogError> {
        let found = scan(dir, false)?;
        let order = chain(&found, store, from.get())?;
        let in_use = found.iter().filter_map(|f| match f.header {
            HeaderBlock::Valid(h) if h.start != 0 => Some((h.start, h.epoch, f.path.clone())),
            _ => None,
        });
        let in_use = in_use.collect();
        let mut nameless = Vec::new();
        let mut segments: Vec<_> = found
            .into_iter()
            .enumerate()
            .filter_map(|(i, f)| match f.header {
                HeaderBlock::Bad(why) => {
                    nameless.push((f.file, f.path, why));
                    None
                }
                _ if order.contains(&i) => into_segment(f),
                _ => None,
            })
            .collect();
        segments.sort_by_key(|s| s.start);
        let low = block_down(from.get());
        Ok(LogReader {
            store,
            ahead: ReadAhead::new(segments, low, block_down(limit.get())),
            whole: limit == Lsn::MAX,
            window: Window { bytes: AlignedBuf::zeroed(0), skip: 0, low, high: low },
            at: from.get(),
            found: Vec::new(),
            full: None,
            current: None,
            epochs: vec![(from, epoch)],
            in_use,
            nameless,
            done: false,
        })
    }

    /// The next intact records, all that a read gave, or `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, LogError> {
        while !self.done {
            let start = self.at;
            match self.validate(start, self.epoch())? {
                Some(valid) => {
                    self.at = valid.end;
                    match self.found.last_mut() {
                        Some(range) if range.end == start => range.end = valid.end,
                        _ => self.found.push(start..valid.end),
                    }
                }
                None if self.enter_epoch()? => {}
                None => {
                    self.done = true;
                    if self.whole {
                        self.check_end()?;
                    }
                }
            }
            if let Some(batch) = self.full.take().filter(|b| !b.ranges.is_empty()) {
                return Ok(Some(batch));
            }
        }
        if let Some(batch) = self.full.take().filter(|b| !b.ranges.is_empty()) {
            return Ok(Some(batch));
        }
        if self.found.is_empty() {
            return Ok(None);
        }
        let next = Window { bytes: AlignedBuf::zeroed(0), skip: 0, ..self.window };
        Ok(Some(self.hand_out(next)))
    }

    /// The next intact record of a kind that users append, or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: the record borrows the window")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, LogError> {
        loop {
            if let Some((batch, place)) = &mut self.current
                && let Some((start, valid)) = batch.step(place)
            {
                // Borrowed anew: what is given out lives as long as the reader's borrow.
                return Ok(self.current.as_ref().map(|(batch, _)| batch.record(start, &valid)));
            }
            self.current = None;
            match self.next_batch()? {
                Some(batch) => self.current = Some((batch, Place::default())),
                None => return Ok(None),
            }
        }
    }

    /// End of the last intact record found so far, which may not be handed out yet; after `next` gave `None`: the end
    /// of the log.
    pub fn end(&self) -> Lsn {
        Lsn(self.at)
    }

    /// Epoch of the records at [`LogReader::end`].
    pub fn epoch(&self) -> u64 {
        self.epochs.last().map_or(0, |e| e.1)
    }

    /// The epochs met so far, each with the LSN from which on it is in force. For [`crate::Start`].
    pub fn epochs(&self) -> &[(Lsn, u64)] {
        &self.epochs
    }

    /// Makes what was read durable, so that pages changed by it may be written.
    pub fn sync(&self) -> Result<(), LogError> {
        self.ahead.segments().iter().try_for_each(Segment::sync)
    }

    /// The segments that it reads, to read from anywhere.
    pub fn open_files(dir: &Path, store: u64, from: Lsn) -> Result<LogFiles, LogError> {
        let found = scan(dir, false)?;
        let order = chain(&found, store, from.get())?;
        let chosen = found.into_iter().enumerate().filter(|(i, _)| order.contains(i));
        let mut segments: Vec<_> = chosen.filter_map(|(_, f)| into_segment(f)).collect();
        segments.sort_by_key(|s| s.start);
        Ok(LogFiles { segments })
    }

    /// Bytes from the present position to the end of the last segment: an upper bound of what is left, for progress.
    pub fn span_bytes(&self) -> u64 {
        self.ahead.segments().last().map_or(0, |s| s.end().saturating_sub(self.at))
    }

    /// The record at `at`, if it validates in `epoch`.
    fn validate(&mut self, at: u64, epoch: u64) -> Result<Option<Valid>, LogError> {
        if !self.ensure(at, HEADER)? {
            return Ok(None);
        }
        let (word, crc) = header(self.window.slice(at, HEADER));
        let (kind, len) = unword(word);
        let Some(kind) = RecordKind::from_u8(kind) else { return Ok(None) };
        let size = record_bytes(len) as usize;
        if len > MAX_PAYLOAD || !self.ensure(at, size)? {
            return Ok(None);
        }
        let body = self.window.slice(at + HEADER as u64, size - HEADER);
        let intact = crc == checksum(epoch, at, word, body) && body[len..].iter().all(|&b| b == 0);
        Ok(intact.then_some(Valid { kind, len, end: at + size as u64 }))
    }

    /// Steps over to the incarnation that went on from here, if there is one.
    fn enter_epoch(&mut self) -> Result<bool, LogError> {
        let end = self.at;
        let at = block_up(end);
        if !self.ensure(at, HEADER + EpochStart::BYTES)? {
            return Ok(false);
        }
        let payload = self.window.slice(at + HEADER as u64, EpochStart::BYTES);
        let Some(begin) = EpochStart::decode(payload) else { return Ok(false) };
        if !begin.follows(self.store, self.epoch(), end) {
            return Ok(false);
        }
        match self.validate(at, begin.epoch)? {
            Some(Valid { kind: RecordKind::EpochStart, end: after, .. }) => {
                self.epochs.push((Lsn(at), begin.epoch));
                self.at = after;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The log ends here; it must not go on in a later segment (INV-LOG-3).
    fn check_end(&mut self) -> Result<(), LogError> {
        let end = self.at;
        let seen = self.ensure(end, HEADER)?;
        let head = seen.then(|| header(self.window.slice(end, HEADER)).0);
        if let Some((at, durable)) = self.witness(end)? {
            let holder = self.ahead.segments().iter().find(|s| s.start <= end && end < s.end());
            return Err(LogError::Corrupt {
                path: holder.map_or_else(PathBuf::new, |s| s.path.clone()),
                what: format!(
                    "the log is damaged at LSN {end}; a record at {at} says that it was on disk up to {durable}"
                ),
            });
        }
        self.check_nameless(end)?;
        // A segment that begins at the next block may be a later incarnation's first, torn.
        let later = |s: &&(u64, u64, PathBuf)| s.0 > block_up(end) && s.1 >= self.epoch();
        let Some((start, _, path)) = self.in_use.iter().filter(later).min_by_key(|s| s.0) else { return Ok(()) };
        let Some(holder) = self.ahead.segments().iter().find(|s| s.start <= end && end < s.end()) else {
            return Err(LogError::SegmentMissing { lsn: Lsn(end) });
        };
        // The record may reach into segments that were not synced.
        if let Some(word) = head {
            let (kind, len) = unword(word);
            let torn = RecordKind::from_u8(kind).is_some() && len <= MAX_PAYLOAD;
            if torn && end + record_bytes(len) > holder.end() {
                return Ok(());
            }
        }
        Err(LogError::Corrupt {
            path: holder.path.clone(),
            what: format!("the log is damaged at LSN {end}, but goes on at {start} in {}", path.display()),
        })
    }

    /// None of the files with a damaged header holds what follows the last segment: there, too, a flush unit would say
    /// that the log was durable behind the segment's beginning, and the header with it.
    fn check_nameless(&self, end: u64) -> Result<(), LogError> {
        let Some(base) = self.ahead.segments().last().map(Segment::end) else { return Ok(()) };
        for (file, path, why) in &self.nameless {
            let mut bytes = AlignedBuf::zeroed(WITNESS_BYTES as usize);
            let n = file.read_at(&mut bytes, SEGMENT_HEADER).map_err(LogError::io("read", path))?;
            let epochs = self.epoch()..=self.epoch().saturating_add(LATER_EPOCHS);
            let says = |at: u64| epochs.clone().any(|epoch| durable_beyond(&bytes[..n], base, at, epoch));
            if (base..base + n as u64).step_by(BLOCK as usize).any(says) {
                let what = format!("{why}; it holds the log from LSN {base} on, which would end at {end} without it");
                return Err(LogError::Corrupt { path: path.clone(), what });
            }
        }
        Ok(())
    }

    /// A flush unit behind `end` which says that the log was durable beyond: its LSN and what it says. Units begin at
    /// blocks. One of a later incarnation says it too, if that had more on disk than its beginning: its first record is
    /// what is damaged then.
    fn witness(&mut self, end: u64) -> Result<Option<(u64, u64)>, LogError> {
        let mut block = block_up(end + 1);
        let mut found = None;
        while found.is_none() && block < end + WITNESS_BYTES {
            // What lies before need not stay in the window.
            self.at = block;
            if !self.ensure(block, HEADER)? {
                break;
            }
            for epoch in self.epoch()..=self.epoch().saturating_add(LATER_EPOCHS) {
                let beyond = if epoch == self.epoch() { end } else { block_up(end) };
                found = self.witness_in(block, epoch, beyond)?;
                // The walk may have gone on to other blocks.
                if found.is_some() || self.at != block {
                    break;
                }
            }
            block = block_up(self.at.max(block + 1));
        }
        self.at = end;
        Ok(found)
    }

    /// Goes through the records from `at` on for one which says that the log was durable beyond `beyond`.
    fn witness_in(&mut self, mut at: u64, epoch: u64, beyond: u64) -> Result<Option<(u64, u64)>, LogError> {
        while let Some(valid) = self.validate(at, epoch)? {
            if valid.kind == RecordKind::Pad && valid.len >= 8 {
                let said = self.window.slice(at + HEADER as u64, 8);
                let durable = said.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b));
                if durable > beyond {
                    return Ok(Some((at, durable)));
                }
            }
            at = valid.end;
            self.at = at;
        }
        Ok(None)
    }

    /// Sees to it that the window holds `[at, at + len)`; false when the segments end before. All from
    /// [`LogReader::end`] on stays in the window.
    fn ensure(&mut self, at: u64, len: usize) -> Result<bool, LogError> {
        while at + len as u64 > self.window.high {
            let Some(chunk) = self.ahead.next()? else { return Ok(false) };
            self.go_on_with(chunk);
        }
        Ok(at >= self.window.low)
    }

    /// The next window: the chunk, and before it what is still needed of the present window.
    fn go_on_with(&mut self, mut chunk: Chunk) {
        let old = &self.window;
        let low = block_down(self.at).clamp(old.low, old.high);
        let kept = (old.high - low) as usize;
        // At most HEADROOM: a wish for more bytes than a record has is not made.
        chunk.bytes[HEADROOM - kept..HEADROOM].copy_from_slice(old.slice(low, kept));
        let next = Window { bytes: chunk.bytes, skip: HEADROOM - kept, low, high: chunk.low + chunk.len as u64 };
        let batch = self.hand_out(next);
        // The records of a window are handed out before its successor needs a successor, else they are kept together.
        match self.full.take() {
            Some(before) if batch.ranges.is_empty() => self.full = Some(before),
            _ => self.full = Some(batch),
        }
    }

    fn hand_out(&mut self, next: Window) -> Batch {
        Batch {
            window: std::mem::replace(&mut self.window, next),
            ranges: std::mem::take(&mut self.found),
            buffers: self.ahead.buffers().clone(),
        }
    }
}

/// Whether the records from `at` on, in bytes that are the log's from `base` on, say that it was durable beyond `base`.
fn durable_beyond(bytes: &[u8], base: u64, mut at: u64, epoch: u64) -> bool {
    while let RecordAt::Whole(record) = record_at(bytes, Lsn(base), Lsn(at), epoch) {
        let said = record.payload.first_chunk().filter(|_| record.kind == RecordKind::Pad);
        if said.is_some_and(|b| u64::from_le_bytes(*b) > base) {
            return true;
        }
        at = record.lsn.get();
    }
    false
}

/// What lies at a place of the log.
#[derive(Debug)]
pub enum RecordAt<'a> {
    /// An intact record.
    Whole(Record<'a>),
    /// The bytes end before the record does: it needs so many from its start on.
    Short(usize),
    /// No intact record of the epoch.
    Damaged,
}

/// The record at `start` in `bytes`, which are the log's from `base` on.
pub fn record_at(bytes: &[u8], base: Lsn, start: Lsn, epoch: u64) -> RecordAt<'_> {
    find_record(bytes, base, start, Some(epoch))
}

/// The same; `epoch`: `None` where the bytes are known to be what was appended.
pub(crate) fn find_record(bytes: &[u8], base: Lsn, start: Lsn, epoch: Option<u64>) -> RecordAt<'_> {
    let rest = bytes.get(start.since(base) as usize..).unwrap_or_default();
    if rest.len() < HEADER {
        return RecordAt::Short(HEADER);
    }
    let (word, crc) = header(rest);
    let (kind, len) = unword(word);
    let Some(kind) = RecordKind::from_u8(kind).filter(|_| len <= MAX_PAYLOAD) else { return RecordAt::Damaged };
    let size = record_bytes(len) as usize;
    let Some(body) = rest.get(HEADER..size) else { return RecordAt::Short(size) };
    if epoch.is_some_and(|epoch| crc != checksum(epoch, start.get(), word, body)) {
        return RecordAt::Damaged;
    }
    RecordAt::Whole(Record { start, lsn: Lsn(start.get() + size as u64), kind, payload: &body[..len] })
}

/// Segments of the log to read from in any order. The checkpoint must not pass what is read.
pub struct LogFiles {
    segments: Vec<Segment>,
}

impl LogFiles {
    /// Reads several stretches at once: LSN of each, whole blocks, into aligned memory. An error where the log has no
    /// such bytes.
    pub fn read_many(&self, parts: &mut [(Lsn, &mut [u8])]) -> Result<(), LogError> {
        let mut pieces = Vec::with_capacity(parts.len());
        for (lsn, bytes) in parts.iter_mut() {
            let (mut at, mut rest) = (lsn.get(), &mut **bytes);
            while !rest.is_empty() {
                let i = self.segments.partition_point(|s| s.end() <= at);
                let Some(segment) = self.segments.get(i).filter(|s| s.start <= at) else {
                    return Err(LogError::SegmentMissing { lsn: Lsn(at) });
                };
                let n = rest.len().min((segment.end() - at) as usize);
                let (now, later) = rest.split_at_mut(n);
                let (file, offset) = segment.place(at);
                pieces.push((file, offset, now));
                (at, rest) = (at + n as u64, later);
            }
        }
        let path = self.segments.first().map(|s| s.path.clone()).unwrap_or_default();
        gannet_runtime::File::read_parts(&mut pieces).map_err(LogError::io("read", &path))
    }

    /// End of the last segment.
    pub fn end(&self) -> Lsn {
        Lsn(self.segments.last().map_or(0, Segment::end))
    }
}
