//! Reading the log back: recovery, and later whoever follows the log.
//!
//! The end is where no record of the running epoch validates and no later incarnation begins. That the rest is a torn
//! tail, not damage in the middle, follows from INV-LOG-3 wherever a later segment exists.

use std::path::{Path, PathBuf};

use gannet_base::Lsn;
use gannet_runtime::AlignedBuf;

use crate::LogError;
use crate::format::{
    BLOCK, EpochStart, HEADER, HeaderBlock, MAX_PAYLOAD, RecordKind, block_down, block_up, checksum, record_bytes,
    unword,
};
use crate::segments::{Segment, chain, into_segment, scan};

/// Bytes read at once, and kept; less for a short log, but always room for two of the longest records.
const WINDOW: u64 = 8 << 20;
const LEAST_WINDOW: u64 = block_up(2 * (MAX_PAYLOAD as u64 + BLOCK));
const _: () = assert!(WINDOW > LEAST_WINDOW);

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

/// Reads the log from a record boundary on until its end.
pub struct LogReader {
    store: u64,
    segments: Vec<Segment>,
    window: AlignedBuf,
    /// The window holds the log's bytes `[low, high)`; `low` is a block boundary.
    low: u64,
    high: u64,
    at: u64,
    epochs: Vec<(Lsn, u64)>,
    /// All segments in use, whether they belong to the chain or not: start, epoch, file.
    in_use: Vec<(u64, u64, PathBuf)>,
    done: bool,
}

/// A record that validates: its kind, payload length, and end.
struct Valid {
    kind: RecordKind,
    len: usize,
    end: u64,
}

impl LogReader {
    /// Opens the segments in `dir` to read from `from` on, a record boundary; `epoch` is the one in force there. A
    /// directory without segments, or none at all, is a log that ends at `from` if that is the first LSN of a new store.
    pub fn open(dir: &Path, store: u64, from: Lsn, epoch: u64) -> Result<LogReader, LogError> {
        let found = scan(dir, false)?;
        let order = chain(&found, store, from.get())?;
        let in_use = found.iter().filter_map(|f| match f.header {
            HeaderBlock::Valid(h) if h.start != 0 => Some((h.start, h.epoch, f.path.clone())),
            _ => None,
        });
        let in_use = in_use.collect();
        let mut segments: Vec<_> = found
            .into_iter()
            .enumerate()
            .filter(|(i, _)| order.contains(i))
            .filter_map(|(_, f)| into_segment(f))
            .collect();
        segments.sort_by_key(|s| s.start);
        let low = block_down(from.get());
        let window = segments.last().map_or(0, |s| s.end() - low).clamp(LEAST_WINDOW, WINDOW);
        Ok(LogReader {
            store,
            segments,
            window: AlignedBuf::zeroed(window as usize),
            low,
            high: low,
            at: from.get(),
            epochs: vec![(from, epoch)],
            in_use,
            done: false,
        })
    }

    /// The next intact record of a kind that users append, or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: the record borrows the window")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, LogError> {
        while !self.done {
            let start = self.at;
            let Some(valid) = self.validate(start, self.epoch())? else {
                if !self.enter_epoch()? {
                    self.done = true;
                    self.check_end()?;
                }
                continue;
            };
            self.at = valid.end;
            if matches!(valid.kind, RecordKind::Pad | RecordKind::EpochStart) {
                continue;
            }
            let payload = (start - self.low) as usize + HEADER;
            return Ok(Some(Record {
                start: Lsn(start),
                lsn: Lsn(valid.end),
                kind: valid.kind,
                payload: &self.window[payload..payload + valid.len],
            }));
        }
        Ok(None)
    }

    /// End of the last intact record so far; after `next` gave `None`: the end of the log.
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
        self.segments.iter().try_for_each(Segment::sync)
    }

    /// Bytes from the present position to the end of the last segment: an upper bound of what is left, for progress.
    pub fn span_bytes(&self) -> u64 {
        self.segments.last().map_or(0, |s| s.end().saturating_sub(self.at))
    }

    /// The record at `at`, if it validates in `epoch`.
    fn validate(&mut self, at: u64, epoch: u64) -> Result<Option<Valid>, LogError> {
        if !self.ensure(at, HEADER)? {
            return Ok(None);
        }
        let i = (at - self.low) as usize;
        let header = &self.window[i..i + HEADER];
        let word = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let crc = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let (kind, len) = unword(word);
        let Some(kind) = RecordKind::from_u8(kind) else { return Ok(None) };
        if len > MAX_PAYLOAD || !self.ensure(at, record_bytes(len) as usize)? {
            return Ok(None);
        }
        let i = (at - self.low) as usize;
        let size = record_bytes(len) as usize;
        let body = &self.window[i + HEADER..i + size];
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
        let i = (at - self.low) as usize + HEADER;
        let Some(begin) = EpochStart::decode(&self.window[i..i + EpochStart::BYTES]) else { return Ok(false) };
        let follows = begin.store == self.store
            && begin.prev_end == end
            && begin.prev_epoch == self.epoch()
            && begin.epoch > self.epoch();
        if !follows {
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
        // A segment that begins at the next block may be a later incarnation's first, torn.
        let later = |s: &&(u64, u64, PathBuf)| s.0 > block_up(end) && s.1 >= self.epoch();
        let Some((start, _, path)) = self.in_use.iter().filter(later).min_by_key(|s| s.0) else { return Ok(()) };
        let Some(holder) = self.segments.iter().find(|s| s.start <= end && end < s.end()) else {
            return Err(LogError::SegmentMissing { lsn: Lsn(end) });
        };
        // The record may reach into segments that were not synced.
        let i = end.wrapping_sub(self.low) as usize;
        if seen && let Some(&[a, b, c, d]) = self.window.get(i..i + 4) {
            let (kind, len) = unword(u32::from_le_bytes([a, b, c, d]));
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

    /// Sees to it that the window holds `[at, at + len)`; false when the segments end before.
    fn ensure(&mut self, at: u64, len: usize) -> Result<bool, LogError> {
        let want = at + len as u64;
        if want <= self.high && at >= self.low {
            return Ok(true);
        }
        self.slide(block_down(at));
        while self.high < want {
            let room = self.window.len() - (self.high - self.low) as usize;
            let Some(segment) = self.segments.iter().find(|s| s.start <= self.high && self.high < s.end()) else {
                return Ok(false);
            };
            let n = room.min((segment.end() - self.high) as usize);
            let into = (self.high - self.low) as usize;
            let got = segment.read(self.high, &mut self.window[into..into + n])?;
            // A file cut short: only whole blocks are of use, the rest never gets a reader.
            let whole = got / BLOCK as usize * BLOCK as usize;
            self.high += whole as u64;
            if whole < n {
                return Ok(self.high >= want);
            }
        }
        Ok(true)
    }

    /// Moves the window's start up to `low`, keeping what it holds from there on.
    fn slide(&mut self, low: u64) {
        if low >= self.high || low < self.low {
            self.high = low;
        } else {
            let (from, to) = ((low - self.low) as usize, (self.high - self.low) as usize);
            self.window.copy_within(from..to, 0);
        }
        self.low = low;
    }
}
