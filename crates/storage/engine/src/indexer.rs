//! The indexer: follows the durable log and records where the changes of each page lie ([`crate::redo::chunk`]), so
//! that a start after a crash knows which pages need redo without reading the log.
//!
//! It stays a few chunks behind the end of the log. A start reads the younger log itself, and where the checkpoint
//! keeps up with the log nothing is ever indexed. An index is valid because it covers durable log only, which no
//! later incarnation takes back.
//!
//! The pages with the most changes in a chunk are written back when it is done, so that a start does not have to gather
//! thousands of changes of one page (space maps, the directory of undo streams).

use std::collections::VecDeque;
use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_buffer::Pool;
use gannet_log::{Log, LogReader, RecordKind};
use gannet_runtime::{Unpark, Wait, fs, interrupted, now_ns, park};

use crate::Result;
use crate::control::io;
use crate::plant::{Fault, planted};
use crate::recovery::Recovery;
use crate::redo::chunk::{self, Builder};

/// Between two looks at the log.
const PAUSE_NS: u64 = 100_000_000;
/// Chunks' worth of log that is left alone behind its end.
const BEHIND: u64 = 2;

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

pub(crate) struct Indexer {
    state: IndexState,
    pool: Arc<Pool>,
    log: Arc<Log>,
    /// Bytes of log in a chunk.
    bytes: u64,
}

impl Indexer {
    pub(crate) fn new(state: IndexState, pool: Arc<Pool>, log: Arc<Log>, bytes: u64) -> Indexer {
        Indexer { state, pool, log, bytes }
    }

    /// Works until the task is interrupted. After an error it tries again: log without an index is read at the next
    /// start.
    pub(crate) fn run(mut self, recovery: &Recovery) {
        if self.remove_strangers().is_err() {
            return;
        }
        while !interrupted() {
            let worked = if recovery.redo_is_done() { self.step() } else { Ok(false) };
            match worked {
                Ok(true) => {}
                Ok(false) if park(Wait::Background, Some(now_ns() + PAUSE_NS)) == Unpark::Interrupted => return,
                Ok(false) => {}
                // The disk may be full, or a file just gone.
                Err(_) if park(Wait::Background, Some(now_ns() + 10 * PAUSE_NS)) == Unpark::Interrupted => return,
                Err(_) => {}
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

    /// Indexes one chunk; false when there is nothing to do.
    pub(crate) fn step(&mut self) -> Result<bool> {
        let checkpoint = self.log.checkpoint_lsn();
        while self.state.files.front().is_some_and(|f| f.0 <= checkpoint) {
            if let Some((_, path)) = self.state.files.pop_front() {
                fs::remove_file(&path).map_err(io("remove a log index"))?;
            }
        }
        if self.state.at < checkpoint {
            (self.state.at, self.state.epoch) = (checkpoint, self.log.epoch_at(checkpoint));
        }
        if planted(Fault::IndexAhead) {
            return self.index(self.log.complete_lsn());
        }
        let durable = self.log.durable_lsn();
        if durable.since(self.state.at) < (1 + BEHIND) * self.bytes {
            return Ok(false);
        }
        // A record longer than a chunk gets a chunk that is longer.
        let limit = Lsn(self.state.at.0 + self.bytes);
        Ok(self.index(limit)? || self.index(durable)?)
    }

    /// Indexes from where the index ends up to the last record that ends at or below `limit`; false when there is none.
    fn index(&mut self, limit: Lsn) -> Result<bool> {
        let s = &mut self.state;
        let mut reader = LogReader::open_at_ease(&s.dir, s.store, s.at, s.epoch, limit)?;
        let mut builder = Builder::new(s.store, s.at);
        while let Some(batch) = reader.next_batch()? {
            for record in batch.records().filter(|r| r.kind == RecordKind::Mtr) {
                builder.add(&record)?;
            }
            if interrupted() {
                return Ok(false);
            }
        }
        let (end, epoch) = (reader.end(), reader.epoch());
        if end <= s.at || self.log.checkpoint_lsn() > s.at {
            // Segments may have been recycled meanwhile.
            return Ok(self.log.checkpoint_lsn() > s.at);
        }
        let mut epochs = reader.epochs().to_vec();
        if planted(Fault::IndexOldEpoch) {
            epochs.truncate(1);
        }
        drop(reader);
        let Some(built) = builder.finish(end, &epochs) else { return Ok(false) };
        let path = chunk::write(&s.dir, s.at, &built.bytes)?;
        s.files.push_back((end, path));
        (s.at, s.epoch) = (end, epoch);
        self.pool.write_back(&built.hot)?;
        Ok(true)
    }
}
