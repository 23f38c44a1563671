//! Reads the log while it is written: durable records, in order, for a consumer ([`Retention`](crate::Retention)).
//!
//! Unlike [`LogReader`](crate::LogReader) it reads the running log's own segments, as far as the log says that they
//! are on disk, and can wait for more. A record that does not validate below that is either damage or the torn end of
//! an incarnation, behind which the next incarnation begins.

use gannet_base::Lsn;
use gannet_base::sync::atomic::Ordering::SeqCst;
use gannet_runtime::{AlignedBuf, Unpark, Wait, park, waker};

use crate::format::{EpochStart, HEADER, RecordKind, block_down, block_up};
use crate::reader::{Record, RecordAt, record_at};
use crate::{LogError, Retention};

/// Bytes read at once, at most, where there are so many.
const READ: u64 = 1 << 20;

/// Reads the log behind its durable horizon, for one consumer.
pub struct Follower {
    retention: Retention,
    /// Records that begin here, and later, have yet to be handed out.
    at: u64,
    epoch: u64,
    /// The log's bytes `[low, high)`.
    bytes: AlignedBuf,
    low: u64,
    high: u64,
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
        Ok(Follower { retention, at, epoch, bytes: AlignedBuf::zeroed(0), low, high: low })
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

    /// Waits until more is durable; false when no more will be: the log is closed or poisoned, or the task was
    /// interrupted. [`LogError::CutOff`] when the place is lost.
    pub fn wait(&self) -> Result<bool, LogError> {
        let core = self.retention.core();
        loop {
            core.followers.enter(waker());
            self.retention.position()?;
            if core.durable().get() > self.at {
                return Ok(true);
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
            let durable = self.retention.core().durable().get();
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
            match record_at(bytes, Lsn(self.low), Lsn(at), epoch) {
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
        let mut bytes = AlignedBuf::zeroed((high - low) as usize);
        let mut from = low;
        if self.low <= low && low < self.high {
            let kept = (self.high - low) as usize;
            let skipped = (low - self.low) as usize;
            bytes[..kept].copy_from_slice(&self.bytes[skipped..skipped + kept]);
            from = self.high;
        }
        while from < high {
            let core = self.retention.core();
            let Some(segment) = core.segments.holding(from) else {
                self.retention.position()?;
                return Err(LogError::SegmentMissing { lsn: Lsn(from) });
            };
            let n = (high - from).min(segment.end() - from) as usize;
            let into = (from - low) as usize;
            let got = segment.read(from, &mut bytes[into..into + n])?;
            if got < n {
                return Err(LogError::SegmentMissing { lsn: Lsn(from + got as u64) });
            }
            from += n as u64;
        }
        (self.bytes, self.low, self.high) = (bytes, low, high);
        Ok(())
    }
}
