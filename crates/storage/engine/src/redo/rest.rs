//! The part of the log that has no index: it is read once at the start, and indexed in memory.

use std::path::PathBuf;

use gannet_base::Lsn;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use gannet_log::{Batch, LogReader, RecordKind};
use gannet_runtime::{File, OpenOptions};

use super::chunk::{self, Builder, Chunk, list_changes};
use super::crew::Crew;
use super::{SORTERS, undecodable};
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
    /// What is more may be written to files.
    pub(crate) may_write: bool,
}

/// Adds chunks from where `reader` stands to the end of the log. `progress` is told up to where it is read.
pub(crate) fn index(
    reader: &mut LogReader,
    chunks: &mut Vec<Chunk>,
    mut rest: Rest,
    progress: &dyn Fn(Lsn),
) -> Result<()> {
    let listed: Arc<Mutex<Vec<(u64, u32)>>> = Arc::default();
    let mut start = reader.end();
    let base = Arc::new(AtomicU64::new(start.0));
    let (l, b) = (listed.clone(), base.clone());
    let crew = Crew::new("log-index", SORTERS, move |_, batch| {
        let changes = changes_in(batch, Lsn(b.load(Relaxed)))?;
        l.lock().extend_from_slice(&changes);
        Ok(())
    });
    let (mut end, mut fed) = (start, 0);
    loop {
        let batch = reader.next_batch()?;
        let over = batch.is_none();
        if let Some(batch) = batch {
            progress(batch.end());
            (end, fed) = (batch.end(), fed + batch.bytes());
            crew.give(batch)?;
        }
        if !over && fed < rest.chunk {
            continue;
        }
        crew.idle()?;
        if end > start {
            let changes = std::mem::take(&mut *listed.lock());
            let built = Builder::of(rest.store, start, changes).finish(end, &epochs_of(reader, start, end));
            let chunk = built.and_then(|b| Chunk::decode(rest.store, b.bytes));
            chunks.push(chunk.ok_or_else(|| damaged("the log changes pages that cannot be"))?);
            keep_within(reader, chunks, &mut rest)?;
            (start, fed) = (end, 0);
            base.store(start.0, Relaxed);
        }
        if over {
            return Ok(());
        }
    }
}

fn changes_in(batch: &Batch, start: Lsn) -> Result<Vec<(u64, u32)>> {
    let mut changes = Vec::new();
    for record in batch.records().filter(|r| r.kind == RecordKind::Mtr) {
        list_changes(start, &record, &mut changes).map_err(|e| undecodable(record.lsn, &e))?;
    }
    Ok(changes)
}

/// The epochs in force in a stretch of what was read: as [`LogReader::epochs`] of a reader that began there would give.
fn epochs_of(reader: &LogReader, start: Lsn, end: Lsn) -> Vec<(Lsn, u64)> {
    let all = reader.epochs();
    // An incarnation that begins at the start is the stretch's to enter.
    let before = all[1..].iter().take_while(|e| e.0 < start).last().unwrap_or(&all[0]);
    let mut epochs = vec![(start, before.1)];
    epochs.extend(all[1..].iter().filter(|e| start <= e.0 && e.0 < end));
    epochs
}

/// Where entries take too much memory they go to files, which a later start may use as well: what they tell of is made durable first.
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
            // The disk may be full: then they stay in memory.
            rest.may_write = false;
            return Ok(());
        }
        chunk.leave_in(File::open(&path, &OpenOptions::read()).map_err(io("open a log index"))?);
    }
    Ok(())
}
