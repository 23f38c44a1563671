//! Reads the log while it is written: durable records, in order.
//!
//! Unlike [`LogReader`](crate::LogReader) it reads the running log's own segments, as far as the log says that they
//! are on disk. What the log's writer has written just before is taken from memory. A record that does not validate
//! below that is either damage or the torn end of an incarnation, behind which the next incarnation begins.

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::Acquire;
use gannet_runtime::{AlignedBuf, waker};

use crate::core::Core;
use crate::format::{EpochStart, HEADER, MAX_PAYLOAD, RecordKind, block_down, block_up, record_bytes, unword};
use crate::reader::{Record, RecordAt, find_record, header};
use crate::{Log, LogError};

/// Bytes read at once, at most, where there are so many. A megabyte was not measurably faster.
const READ: u64 = 128 << 10;

/// Reads the log behind its durable horizon. It keeps nothing of it: where the checkpoint has passed its place, its
/// reads may fail ([`LogError::SegmentMissing`], [`LogError::Corrupt`]).
pub struct Tail {
    core: Arc<Core>,
    /// Records that begin here, and later, have yet to be handed out.
    at: u64,
    /// In force there, and from where on.
    epoch: u64,
    since: u64,
    /// The log's bytes `[low, high)`, of which those from `own` on were in memory since they were appended: what the
    /// log's writer has left, where a record lies in one of its writes, else put together here.
    written: Option<Arc<Vec<u8>>>,
    gathered: AlignedBuf,
    low: u64,
    high: u64,
    own: u64,
    /// So far the log may be read, as when it was last asked.
    limit: u64,
    /// The task is woken when so much of the log is durable.
    expected: u64,
}

/// An intact record in the buffer.
pub(crate) struct Met {
    start: u64,
    pub(crate) kind: RecordKind,
    len: usize,
    end: u64,
}

impl Tail {
    /// From `at` on, a record boundary of the log; `epoch` is in force there.
    pub fn new(log: &Log, at: Lsn, epoch: u64) -> Tail {
        Tail::of(log.core.clone(), at, epoch)
    }

    pub(crate) fn of(core: Arc<Core>, at: Lsn, epoch: u64) -> Tail {
        let (at, low) = (at.get(), block_down(at.get()));
        // The log's writer keeps what it writes from now on.
        core.recent.enter();
        let (written, gathered) = (None, AlignedBuf::zeroed(0));
        Tail { core, at, epoch, since: at, written, gathered, low, high: low, own: low, limit: 0, expected: 0 }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Where it reads on: all records before were handed out.
    pub fn at(&self) -> Lsn {
        Lsn(self.at)
    }

    /// The epoch in force there, and the LSN from which on it is: where the tail began, or the incarnation did.
    pub fn epoch(&self) -> (Lsn, u64) {
        (Lsn(self.since), self.epoch)
    }

    /// The next record of a kind that users append, with its epoch as [`Tail::epoch`] has it; `None` when no more is
    /// durable. It waits for nothing but the disk.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: the record borrows the buffer")]
    pub fn next(&mut self) -> Result<Option<((Lsn, u64), Record<'_>)>, LogError> {
        self.next_below(|core| core.progress.durable.load(Acquire))
    }

    /// The same with log that is written and perhaps not durable: for tests of what this breaks.
    pub fn next_written(&mut self) -> Result<Option<((Lsn, u64), Record<'_>)>, LogError> {
        self.next_below(|core| core.progress.written.load(Acquire))
    }

    fn next_below(&mut self, limit: impl Fn(&Core) -> u64) -> Result<Option<((Lsn, u64), Record<'_>)>, LogError> {
        loop {
            let Some(met) = self.step(&limit)? else { return Ok(None) };
            if matches!(met.kind, RecordKind::Mtr | RecordKind::Payload) {
                let from = (met.start - self.low) as usize + HEADER;
                let payload = &self.bytes()[from..from + met.len];
                let record = Record { start: Lsn(met.start), lsn: Lsn(met.end), kind: met.kind, payload };
                return Ok(Some(((Lsn(self.since), self.epoch), record)));
            }
            gannet_runtime::yield_if_due();
        }
    }

    /// Passes over changes of pages that are at hand, for whoever waits for none of them.
    pub(crate) fn pass_changes(&mut self) {
        while let Some(met) = self.at_hand()
            && met.kind == RecordKind::Mtr
        {
            self.at = met.end;
        }
    }

    /// True when `bytes` more are durable. Else the task that calls is woken when they are, or when no more will be;
    /// perhaps for nothing.
    pub fn expect(&mut self, bytes: u64) -> bool {
        // An entry that nobody has answered is still in the list.
        if self.expected <= self.core.durable().get() {
            self.expected = self.at + bytes;
            self.core.followers.enter(waker(), self.expected);
        }
        self.expected <= self.core.durable().get()
    }

    /// Goes over the next record; over the boundary between two incarnations too.
    fn step(&mut self, limit: impl Fn(&Core) -> u64) -> Result<Option<Met>, LogError> {
        loop {
            if let Some(met) = self.at_hand() {
                self.at = met.end;
                return Ok(Some(met));
            }
            let limit = limit(&self.core);
            self.limit = limit;
            if self.at >= limit {
                return Ok(None);
            }
            if let Some(met) = self.look(self.at, self.epoch, limit)? {
                self.at = met.end;
                return Ok(Some(met));
            }
            let next = block_up(self.at);
            if next >= limit {
                return Ok(None);
            }
            match self.begin(next, limit)? {
                Some((epoch, end)) => (self.epoch, self.since, self.at) = (epoch, next, end),
                None => {
                    let what = format!("the log is damaged at LSN {}, though it was durable up to {limit}", self.at);
                    return Err(LogError::Corrupt { path: self.core.dir.clone(), what });
                }
            }
        }
    }

    /// The next record, where all of it is in the buffer, is known to be durable, and is what was appended: most are.
    #[inline]
    fn at_hand(&self) -> Option<Met> {
        let start = self.at;
        let end = self.high.min(self.limit);
        if start < self.own.max(self.low) || start + HEADER as u64 > end || self.epoch != self.core.epoch {
            return None;
        }
        let (word, _) = header(self.bytes().get((start - self.low) as usize..)?.first_chunk::<HEADER>()?);
        let (kind, len) = unword(word);
        let met = Met { start, kind: RecordKind::from_u8(kind)?, len, end: start + record_bytes(len) };
        (len <= MAX_PAYLOAD && met.end <= end).then_some(met)
    }

    /// The record at `at`, if it is one of `epoch`.
    fn look(&mut self, at: u64, epoch: u64, limit: u64) -> Result<Option<Met>, LogError> {
        let mut need = HEADER as u64;
        loop {
            // What is durable ends with a record.
            if at + need > limit {
                return Ok(None);
            }
            self.fill(at, need, limit)?;
            let bytes = &self.bytes()[..(self.high - self.low) as usize];
            let checked = at < self.own || epoch != self.core.epoch;
            match find_record(bytes, Lsn(self.low), Lsn(at), checked.then_some(epoch)) {
                RecordAt::Whole(r) => {
                    return Ok(Some(Met { start: at, kind: r.kind, len: r.payload.len(), end: r.lsn.get() }));
                }
                RecordAt::Short(size) => need = size as u64,
                RecordAt::Damaged => return Ok(None),
            }
        }
    }

    /// The incarnation that goes on from here, if its first record lies at `start`: its epoch, and that record's end.
    fn begin(&mut self, start: u64, limit: u64) -> Result<Option<(u64, u64)>, LogError> {
        let need = (HEADER + EpochStart::BYTES) as u64;
        if start + need > limit {
            return Ok(None);
        }
        self.fill(start, need, limit)?;
        let from = (start - self.low) as usize + HEADER;
        let store = self.core.segments.store();
        let begun = EpochStart::decode(&self.bytes()[from..from + EpochStart::BYTES]);
        let Some(begun) = begun.filter(|b| b.follows(store, self.epoch, self.at)) else { return Ok(None) };
        let met = self.look(start, begun.epoch, limit)?;
        Ok(met.filter(|m| m.kind == RecordKind::EpochStart).map(|m| (begun.epoch, m.end)))
    }

    /// From `low` on.
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.written.as_ref().map_or(&self.gathered[..], |bytes| &bytes[..])
    }

    /// Sees to it that the bytes at hand have `[at, at + need)`, which may be read; and all from [`Tail::at`] on.
    fn fill(&mut self, at: u64, need: u64, limit: u64) -> Result<(), LogError> {
        if at >= self.low && at + need <= self.high {
            return Ok(());
        }
        if at == self.at
            && let Some((start, bytes)) = self.core.recent.holding(at, need)
        {
            (self.low, self.high, self.own) = (start, start + bytes.len() as u64, start);
            self.written = Some(bytes);
            return Ok(());
        }
        let low = block_down(self.at);
        let high = block_up(at + need).max((low + READ).min(block_down(limit)));
        self.make_room(low, (high - low) as usize);
        while self.high < high {
            let from = self.high;
            let out = &mut self.gathered[(from - low) as usize..(high - low) as usize];
            let there = self.core.recent.copy(from, out);
            if there > 0 {
                self.high += there as u64;
                continue;
            }
            let Some(segment) = self.core.segments.holding(from) else {
                return Err(LogError::SegmentMissing { lsn: Lsn(from) });
            };
            let n = (high - from).min(segment.end() - from) as usize;
            let got = segment.read(from, &mut out[..n])?;
            if got < n {
                return Err(LogError::SegmentMissing { lsn: Lsn(from + got as u64) });
            }
            self.high += n as u64;
            self.own = self.high;
        }
        Ok(())
    }

    /// The gathered bytes begin with `low`, keep what is at hand from there on, and have room for so many.
    fn make_room(&mut self, low: u64, room: usize) {
        let there = self.low <= low && low < self.high;
        let kept = if there { (low - self.low) as usize..(self.high - self.low) as usize } else { 0..0 };
        let end = low + kept.len() as u64;
        let written = self.written.take();
        if self.gathered.len() < room {
            let mut bytes = AlignedBuf::zeroed(room.max(READ as usize));
            let from = written.as_ref().map_or(&self.gathered[..], |bytes| &bytes[..]);
            bytes[..kept.len()].copy_from_slice(&from[kept]);
            self.gathered = bytes;
        } else if let Some(written) = written {
            self.gathered[..kept.len()].copy_from_slice(&written[kept]);
        } else {
            self.gathered.copy_within(kept, 0);
        }
        if !there {
            self.own = low;
        }
        (self.low, self.high) = (low, end);
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.core.recent.leave();
    }
}
