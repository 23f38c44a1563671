//! The indexer: follows the durable log and records where the changes of each page lie ([`crate::redo::chunk`]), so
//! that a start after a crash knows which pages need redo without reading the log.
//!
//! It begins when the checkpoint is some chunks behind the log's end, and lists the changes as the log is written, from
//! memory. A chunk that the checkpoint has not passed when it is a few chunks old is written to a file. A start reads
//! the younger log itself. Where the checkpoint keeps up nothing is ever indexed. An index is valid because it covers
//! durable log only, which no later incarnation takes back.
//!
//! The pages with the most changes in a chunk are written back when it is written, so that a start does not have to
//! gather thousands of changes of one page (space maps, the directory of undo streams).

use std::collections::VecDeque;
use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_buffer::Pool;
use gannet_log::{Log, RecordKind, Tail};
use gannet_runtime::{Unpark, Wait, fs, interrupted, now_ns, park};

use crate::Result;
use crate::control::io;
use crate::plant::{Fault, planted};
use crate::recovery::Recovery;
use crate::redo::chunk::{self, Changes};

/// Between two looks at the log that is not followed.
const PAUSE_NS: u64 = 100_000_000;
/// Between two looks at the checkpoint while the log is followed and little is written.
const LONG_PAUSE_NS: u64 = 1_000_000_000;
/// Chunks' worth of log that has no index behind the log's end.
const BEHIND: u64 = 2;
/// Bytes of log that are listed at once, where there are so many: less than what the log keeps in memory.
const STEP: u64 = 512 << 10;

/// The state of the log's index.
pub(crate) struct IndexState {
    pub(crate) dir: PathBuf,
    pub(crate) store: u64,
    /// The log is indexed up to here, from the checkpoint or before on.
    pub(crate) at: Lsn,
    /// Epoch in force there.
    pub(crate) epoch: u64,
    /// Ends and files of the chunks that make up the index.
    pub(crate) files: VecDeque<(Lsn, PathBuf)>,
}

/// A chunk in memory.
struct Listed {
    start: Lsn,
    end: Lsn,
    epochs: Vec<(Lsn, u64)>,
    changes: Changes,
}

/// The log as it is followed: the chunks behind [`IndexState::at`], the last of which goes on.
struct Following {
    tail: Tail,
    whole: VecDeque<Listed>,
    last: Listed,
}

pub(crate) struct Indexer {
    state: IndexState,
    pool: Arc<Pool>,
    log: Arc<Log>,
    /// Bytes of log in a chunk.
    bytes: u64,
    following: Option<Following>,
}

impl Listed {
    fn new(start: Lsn, epoch: u64) -> Listed {
        Listed { start, end: start, epochs: vec![(start, epoch)], changes: Changes::new() }
    }

    /// Epoch in force at the end.
    fn epoch(&self) -> u64 {
        self.epochs.last().map_or(0, |e| e.1)
    }

    /// An incarnation may have begun.
    fn enter(&mut self, epoch: (Lsn, u64)) {
        if epoch.1 != self.epoch() {
            self.epochs.push(epoch);
        }
    }
}

impl Following {
    fn new(log: &Log, at: Lsn, epoch: u64) -> Following {
        Following { tail: Tail::new(log, at, epoch), whole: VecDeque::new(), last: Listed::new(at, epoch) }
    }

    /// Lists what is durable, up to the end of a chunk of `bytes`: whether there was one.
    fn go_on(&mut self, bytes: u64) -> Result<bool> {
        let Following { tail, whole, last } = self;
        let next = if planted(Fault::IndexAhead) { Tail::next_written } else { Tail::next };
        while let Some((epoch, record)) = next(tail)? {
            last.enter(epoch);
            // A record longer than a chunk gets a chunk that is longer.
            let is_whole = record.lsn.since(last.start) > bytes && record.start > last.start;
            if is_whole {
                last.end = record.start;
                whole.push_back(std::mem::replace(last, Listed::new(record.start, epoch.1)));
            }
            if record.kind == RecordKind::Mtr {
                last.changes.add(last.start, &record)?;
            }
            if is_whole {
                return Ok(true);
            }
        }
        last.enter(tail.epoch());
        last.end = tail.at();
        Ok(false)
    }
}

impl Indexer {
    pub(crate) fn new(state: IndexState, pool: Arc<Pool>, log: Arc<Log>, bytes: u64) -> Indexer {
        Indexer { state, pool, log, bytes, following: None }
    }

    /// Works until the task is interrupted. After an error it tries again: log without an index is read at the next
    /// start.
    pub(crate) fn run(mut self, recovery: &Recovery) {
        if self.remove_strangers().is_err() {
            return;
        }
        while !interrupted() {
            let worked = if recovery.redo_is_done() { self.step() } else { Ok(()) };
            let pause = match (worked, &mut self.following) {
                (Ok(()), None) => PAUSE_NS,
                (Ok(()), Some(following)) => {
                    if following.tail.expect(STEP) {
                        continue;
                    }
                    LONG_PAUSE_NS
                }
                // The disk may be full, or a file just gone, or the log recycled that was to be read.
                (Err(_), following) => {
                    *following = None;
                    LONG_PAUSE_NS
                }
            };
            if park(Wait::Background, Some(now_ns() + pause)) == Unpark::Interrupted {
                return;
            }
        }
    }

    /// Removes files that are no part of the index.
    fn remove_strangers(&self) -> Result<()> {
        for path in chunk::files(&self.state.dir)? {
            if !self.state.files.iter().any(|f| f.1 == path) {
                fs::remove_file(&path).map_err(io("remove a log index"))?;
            }
        }
        Ok(())
    }

    /// Goes on with the log.
    pub(crate) fn step(&mut self) -> Result<()> {
        let checkpoint = self.log.checkpoint_lsn();
        while self.state.files.front().is_some_and(|f| f.0 <= checkpoint) {
            if let Some((_, path)) = self.state.files.pop_front() {
                fs::remove_file(&path).map_err(io("remove a log index"))?;
            }
        }
        let age = self.log.durable_lsn().since(checkpoint);
        let most = BEHIND * self.bytes;
        let follows = planted(Fault::IndexAhead) || age > if self.following.is_some() { most / 2 } else { most };
        if !follows {
            self.following = None;
            return Ok(());
        }
        if self.following.is_none() && self.state.at < checkpoint {
            (self.state.at, self.state.epoch) = (checkpoint, self.log.epoch_at(checkpoint));
        }
        let (at, epoch) = (self.state.at, self.state.epoch);
        let following = self.following.get_or_insert_with(|| Following::new(&self.log, at, epoch));
        loop {
            let more = following.go_on(self.bytes)?;
            let end = following.tail.at();
            // A chunk that the checkpoint lies in is of use as a whole.
            while following.whole.pop_front_if(|c| c.end <= checkpoint).is_some() {}
            while let Some(chunk) = following.whole.pop_front_if(|c| end.since(c.end) >= most) {
                self.state.write(chunk, &self.pool)?;
            }
            if !more || interrupted() {
                break;
            }
        }
        if planted(Fault::IndexAhead) {
            self.write_all()?;
        }
        Ok(())
    }

    /// Writes all that is listed.
    fn write_all(&mut self) -> Result<()> {
        for chunk in self.following.take().into_iter().flat_map(|f| f.whole.into_iter().chain([f.last])) {
            if chunk.end > chunk.start {
                self.state.write(chunk, &self.pool)?;
            }
        }
        Ok(())
    }

    /// Indexes all that is durable.
    #[cfg(test)]
    pub(crate) fn index_all(&mut self) -> Result<()> {
        let (at, epoch) = (self.state.at, self.state.epoch);
        self.following = Some(Following::new(&self.log, at, epoch));
        self.following.as_mut().map_or(Ok(false), |f| f.go_on(u64::MAX))?;
        self.write_all()
    }
}

impl IndexState {
    fn write(&mut self, chunk: Listed, pool: &Pool) -> Result<()> {
        let epochs = if planted(Fault::IndexOldEpoch) { &chunk.epochs[..1] } else { &chunk.epochs[..] };
        let (start, end, epoch) = (chunk.start, chunk.end, chunk.epoch());
        let built = chunk.changes.chunk(self.store, start, end, epochs);
        let path = chunk::write(&self.dir, start, &built.bytes)?;
        self.files.push_back((end, path));
        (self.at, self.epoch) = (end, epoch);
        pool.write_back(&built.hot)?;
        Ok(())
    }
}
