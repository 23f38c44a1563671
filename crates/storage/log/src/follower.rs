//! Reads the log while it is written: durable records, in order, for a consumer ([`Retention`](crate::Retention)).
//!
//! Unlike [`LogReader`](crate::LogReader) it reads the running log's own segments, as far as the log says that they
//! are on disk, and can wait for more. What the log's writer has written just before is taken from memory. A record
//! that does not validate below that is either damage or the torn end of an incarnation, behind which the next
//! incarnation begins.

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::SeqCst;
use gannet_runtime::{AlignedBuf, Unpark, Wait, park, waker};

use crate::core::Core;
use crate::format::{EpochStart, HEADER, MAX_PAYLOAD, RecordKind, block_down, block_up, record_bytes, unword};
use crate::reader::{Record, RecordAt, find_record, header};
use crate::{LogError, Retention};

/// Bytes read at once, at most, where there are so many. A megabyte was not measurably faster.
const READ: u64 = 128 << 10;

/// Reads the log behind its durable horizon, for one consumer.
pub struct Follower {
    retention: Retention,
    /// Records that begin here, and later, have yet to be handed out.
    at: u64,
    epoch: u64,
    /// The log's bytes `[low, high)`, of which those from `own` on were in memory since they were appended.
    bytes: AlignedBuf,
    low: u64,
    high: u64,
    own: u64,
    /// So far the log is durable, as when it was last asked.
    durable: u64,
    _following: Following,
}

/// Has the log's writer keep what it writes.
struct Following(Arc<Core>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.recent.leave();
    }
}

/// An intact record in the buffer.
struct Met {
    start: u64,
    kind: RecordKind,
    len: usize,
    end: u64,
}

impl Follower {
    pub(crate) fn new(retention: Retention) -> Result<Follower, LogError> {
        let position = retention.position()?;
        let (at, epoch) = (position.from.get(), position.epoch);
        let low = block_down(at);
        let core = retention.core().clone();
        core.recent.enter();
        let bytes = AlignedBuf::zeroed(0);
        Ok(Follower { retention, at, epoch, bytes, low, high: low, own: low, durable: 0, _following: Following(core) })
    }

    /// The place in the log that is kept.
    pub fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Returns the retention, so that it can be forgotten.
    pub fn into_retention(self) -> Retention {
        self.retention
    }

    /// Where it reads on: all records before were handed out.
    pub fn at(&self) -> Lsn {
        Lsn(self.at)
    }

    /// Epoch in force there: what was begun in an earlier one and has not ended never will.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The next record of a kind that users append, with its epoch; `None` when no more is durable. It waits for
    /// nothing but the disk. [`LogError::CutOff`] when the place is lost.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: the record borrows the buffer")]
    pub fn next(&mut self) -> Result<Option<(u64, Record<'_>)>, LogError> {
        loop {
            let Some(met) = self.step()? else { return Ok(None) };
            if matches!(met.kind, RecordKind::Mtr | RecordKind::Payload) {
                let from = (met.start - self.low) as usize + HEADER;
                let payload = &self.bytes[from..from + met.len];
                let record = Record { start: Lsn(met.start), lsn: Lsn(met.end), kind: met.kind, payload };
                return Ok(Some((self.epoch, record)));
            }
            gannet_runtime::yield_if_due();
        }
    }

    /// Passes over changes of pages that are at hand, for whoever waits for none of them.
    pub fn pass_changes(&mut self) {
        while let Some(met) = self.at_hand()
            && met.kind == RecordKind::Mtr
        {
            self.at = met.end;
        }
    }

    /// Waits until more is durable; false when no more will be: the log is closed or poisoned, or the task was
    /// interrupted. [`LogError::CutOff`] when the place is lost.
    pub fn wait(&self) -> Result<bool, LogError> {
        let core = self.retention.core();
        loop {
            if core.durable().get() > self.at {
                self.retention.position()?;
                return Ok(true);
            }
            // Only now, so that hardly ever an entry is left in the list: it would end another wait of this task.
            core.followers.enter(waker());
            self.retention.position()?;
            if core.durable().get() > self.at {
                continue;
            }
            if core.ended.load(SeqCst) || core.poisoned().is_some() {
                return Ok(false);
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return Ok(false);
            }
        }
    }

    /// Goes over the next record; over the boundary between two incarnations too.
    fn step(&mut self) -> Result<Option<Met>, LogError> {
        loop {
            if let Some(met) = self.at_hand() {
                self.at = met.end;
                return Ok(Some(met));
            }
            let durable = self.retention.core().durable().get();
            self.durable = durable;
            if self.at >= durable {
                return Ok(None);
            }
            if let Some(met) = self.look(self.at, self.epoch, durable)? {
                self.at = met.end;
                return Ok(Some(met));
            }
            let next = block_up(self.at);
            if next >= durable {
                return Ok(None);
            }
            match self.begin(next, durable)? {
                Some((epoch, end)) => (self.epoch, self.at) = (epoch, end),
                None => {
                    let what = format!("the log is damaged at LSN {}, though it was durable up to {durable}", self.at);
                    return Err(LogError::Corrupt { path: self.retention.core().dir.clone(), what });
                }
            }
        }
    }

    /// The next record, where all of it is in the buffer, is known to be durable, and is what was appended: most are.
    #[inline]
    fn at_hand(&self) -> Option<Met> {
        let start = self.at;
        let end = self.high.min(self.durable);
        if start < self.own.max(self.low) || start + HEADER as u64 > end || self.epoch != self.retention.core().epoch {
            return None;
        }
        let (word, _) = header(self.bytes.get((start - self.low) as usize..)?.first_chunk::<HEADER>()?);
        let (kind, len) = unword(word);
        let met = Met { start, kind: RecordKind::from_u8(kind)?, len, end: start + record_bytes(len) };
        (len <= MAX_PAYLOAD && met.end <= end).then_some(met)
    }

    /// The record at `at`, if it is one of `epoch`.
    fn look(&mut self, at: u64, epoch: u64, durable: u64) -> Result<Option<Met>, LogError> {
        let mut need = HEADER as u64;
        loop {
            // What is durable ends with a record.
            if at + need > durable {
                return Ok(None);
            }
            self.fill(at, need, durable)?;
            let bytes = &self.bytes[..(self.high - self.low) as usize];
            let checked = at < self.own || epoch != self.retention.core().epoch;
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
    fn begin(&mut self, start: u64, durable: u64) -> Result<Option<(u64, u64)>, LogError> {
        let need = (HEADER + EpochStart::BYTES) as u64;
        if start + need > durable {
            return Ok(None);
        }
        self.fill(start, need, durable)?;
        let from = (start - self.low) as usize + HEADER;
        let store = self.retention.core().segments.store();
        let begun = EpochStart::decode(&self.bytes[from..from + EpochStart::BYTES]);
        let Some(begun) = begun.filter(|b| b.follows(store, self.epoch, self.at)) else { return Ok(None) };
        let met = self.look(start, begun.epoch, durable)?;
        Ok(met.filter(|m| m.kind == RecordKind::EpochStart).map(|m| (begun.epoch, m.end)))
    }

    /// Sees to it that the buffer holds `[at, at + need)`, which are durable; all from [`Follower::at`] on stays in it.
    fn fill(&mut self, at: u64, need: u64, durable: u64) -> Result<(), LogError> {
        if at >= self.low && at + need <= self.high {
            return Ok(());
        }
        let low = block_down(self.at);
        let high = block_up(at + need).max((low + READ).min(block_down(durable)));
        self.make_room(low, (high - low) as usize);
        while self.high < high {
            let (from, core) = (self.high, self.retention.core());
            let out = &mut self.bytes[(from - low) as usize..(high - low) as usize];
            let there = core.recent.copy(from, out);
            if there > 0 {
                self.high += there as u64;
                continue;
            }
            let Some(segment) = core.segments.holding(from) else {
                self.retention.position()?;
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

    /// The buffer begins with `low`, keeps what it has from there on, and takes so many bytes.
    fn make_room(&mut self, low: u64, room: usize) {
        let there = self.low <= low && low < self.high;
        let kept = if there { (low - self.low) as usize..(self.high - self.low) as usize } else { 0..0 };
        let end = low + kept.len() as u64;
        if self.bytes.len() < room {
            let mut bytes = AlignedBuf::zeroed(room.max(READ as usize));
            bytes[..kept.len()].copy_from_slice(&self.bytes[kept]);
            self.bytes = bytes;
        } else {
            self.bytes.copy_within(kept, 0);
        }
        if !there {
            self.own = low;
        }
        (self.low, self.high) = (low, end);
    }
}
