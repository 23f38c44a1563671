//! The part of the log that has no index: it is read once at the start, and indexed in memory.

use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::{Arc, Mutex};
use gannet_log::{Batch, LogReader, RecordKind};
use gannet_runtime::{File, OpenOptions};

use super::SORTERS;
use super::chunk::{self, Changes, Chunk};
use super::crew::Crew;
use crate::Result;
use crate::control::{damaged, io};
use crate::plant::{Path, note};

/// How the rest of the log is to be indexed.
pub(crate) struct Rest {
    /// The log's directory.
    pub(crate) dir: PathBuf,
    pub(crate) store: u64,
    /// Bytes of log in a chunk.
    pub(crate) chunk: u64,
    /// Memory that entries may take, in all.
    pub(crate) most: u64,
    /// Entries beyond that may be written to files.
    pub(crate) may_write: bool,
}

/// A chunk in the making.
struct Making {
    start: Lsn,
    /// The changes of the batches that were looked through.
    changes: Changes,
    /// How many batches are still to be looked through; plus one as long as batches may be added.
    open: usize,
    /// Its end and epochs, when all its batches are known.
    end: Option<(Lsn, Vec<(Lsn, u64)>)>,
}

/// Chunks in the making and made, by start.
#[derive(Default)]
struct Chunks {
    making: Vec<Making>,
    made: Vec<Chunk>,
    /// The chunk that each batch under way belongs to, by the end of its last record.
    batches: Vec<(Lsn, Lsn)>,
}

/// What the tasks that look through the log share.
struct Bench {
    store: u64,
    chunks: Mutex<Chunks>,
}

impl Bench {
    /// A batch of the chunk at `start`, which is made if it is new.
    fn announce(&self, start: Lsn, batch: &Batch) {
        let mut chunks = self.chunks.lock();
        chunks.batches.push((batch.end(), start));
        match chunks.making.iter_mut().find(|m| m.start == start) {
            Some(making) => making.open += 1,
            None => chunks.making.push(Making { start, changes: Changes::new(), open: 2, end: None }),
        }
    }

    /// Lists what a batch changes.
    fn look(&self, batch: &Batch) -> Result<()> {
        let start = {
            let mut chunks = self.chunks.lock();
            let at = chunks.batches.iter().position(|b| b.0 == batch.end());
            at.map(|at| chunks.batches.swap_remove(at).1).ok_or_else(|| damaged("a batch of the log came twice"))?
        };
        let changes = changes_in(batch, start)?;
        self.done(start, |making| making.changes.append(changes))
    }

    /// The chunk at `start` has no more batches.
    fn close(&self, start: Lsn, end: Lsn, epochs: Vec<(Lsn, u64)>) -> Result<()> {
        self.done(start, |making| making.end = Some((end, epochs)))
    }

    /// Applies `change`, and counts one open part less. The caller that finishes the last part makes the chunk.
    fn done(&self, start: Lsn, change: impl FnOnce(&mut Making)) -> Result<()> {
        let mut chunks = self.chunks.lock();
        let Some(at) = chunks.making.iter().position(|m| m.start == start) else { return Ok(()) };
        let making = &mut chunks.making[at];
        change(making);
        making.open -= 1;
        if making.open > 0 {
            return Ok(());
        }
        let Making { changes, end, .. } = chunks.making.swap_remove(at);
        drop(chunks);
        let (end, epochs) = end.unwrap_or((start, Vec::new()));
        let chunk = Chunk::decode(self.store, changes.chunk(self.store, start, end, &epochs).bytes);
        let chunk = chunk.ok_or_else(|| damaged("a chunk of the log's index was made wrong"))?;
        self.chunks.lock().made.push(chunk);
        Ok(())
    }
}

/// Adds chunks from the reader's position to the end of the log. Reports to `progress` how far it has read.
pub(crate) fn index(
    reader: &mut LogReader,
    chunks: &mut Vec<Chunk>,
    mut rest: Rest,
    progress: &dyn Fn(Lsn),
) -> Result<()> {
    let bench = Arc::new(Bench { store: rest.store, chunks: Mutex::default() });
    let b = bench.clone();
    // Reading, listing and making chunks go on side by side.
    let crew = Crew::new("log-index", SORTERS, move |_, batch| b.look(batch));
    let (mut start, mut fed) = (reader.end(), 0);
    let mut end = start;
    while let Some(batch) = reader.next_batch()? {
        progress(batch.end());
        (end, fed) = (batch.end(), fed + batch.bytes());
        bench.announce(start, &batch);
        crew.give(batch)?;
        if fed >= rest.chunk {
            bench.close(start, end, epochs_of(reader, start, end))?;
            (start, fed) = (end, 0);
            let kept: u64 = bench.chunks.lock().made.iter().map(Chunk::memory).sum();
            if kept > rest.most / 4 {
                crew.idle()?;
                take_made(&bench, chunks);
                keep_within(reader, chunks, &mut rest)?;
            }
        }
    }
    if end > start {
        bench.close(start, end, epochs_of(reader, start, end))?;
    }
    crew.idle()?;
    take_made(&bench, chunks);
    keep_within(reader, chunks, &mut rest)
}

/// Takes the chunks over in order: all that were begun are made.
fn take_made(bench: &Bench, chunks: &mut Vec<Chunk>) {
    let mut made = std::mem::take(&mut bench.chunks.lock().made);
    made.sort_by_key(|c| c.start);
    chunks.append(&mut made);
}

fn changes_in(batch: &Batch, start: Lsn) -> Result<Changes> {
    let mut changes = Changes::new();
    for record in batch.records().filter(|r| r.kind == RecordKind::Mtr) {
        changes.add(start, &record)?;
    }
    Ok(changes)
}

/// The epochs in force in a stretch of the log, as [`LogReader::epochs`] of a reader that began there would return
/// them.
fn epochs_of(reader: &LogReader, start: Lsn, end: Lsn) -> Vec<(Lsn, u64)> {
    let all = reader.epochs();
    // An incarnation that begins at the start is the stretch's to enter.
    let before = all[1..].iter().take_while(|e| e.0 < start).last().unwrap_or(&all[0]);
    let mut epochs = vec![(start, before.1)];
    epochs.extend(all[1..].iter().filter(|e| start <= e.0 && e.0 < end));
    epochs
}

/// Where entries take too much memory they go to files, which a later start may use as well: what they tell of is made
/// durable first.
fn keep_within(reader: &LogReader, chunks: &mut [Chunk], rest: &mut Rest) -> Result<()> {
    let kept: u64 = chunks.iter().filter_map(Chunk::bytes).map(|b| b.len() as u64).sum();
    if kept <= rest.most || !rest.may_write {
        return Ok(());
    }
    reader.sync()?;
    note(Path::IndexWritten);
    for chunk in chunks {
        let Some(bytes) = chunk.bytes() else { continue };
        let path = chunk::path(&rest.dir, chunk.start);
        if !chunk.is_written && chunk::write(&rest.dir, chunk.start, bytes).is_err() {
            // The disk may be full: the entries then stay in memory.
            rest.may_write = false;
            return Ok(());
        }
        chunk.leave_in(File::open(&path, &OpenOptions::read()).map_err(io("open a log index"))?);
    }
    Ok(())
}
