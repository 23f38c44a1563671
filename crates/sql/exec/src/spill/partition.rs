//! Rows divided by the hash of a key, so that equal keys meet in one run.

use super::{CHUNK_BYTES, Run, RunWriter, SpillFile};
use crate::{
    batch::{Batch, Column},
    context::Cx,
};
use gannet_base::hash::Seed;
use gannet_types::{Result, ValueRef};
use std::hash::BuildHasher;

/// Partitions of one level.
pub(crate) const FAN_OUT: usize = 16;
/// Levels of partitioning: a key's hash is divided anew at each. What is still too large then is all one key.
pub(crate) const MAX_LEVEL: u32 = 5;
/// Rows collected before they are encoded.
const PENDING_ROWS: usize = 256;

struct Part {
    pending: Batch,
    pending_bytes: usize,
    writer: RunWriter,
}

/// Writers of one level.
pub(crate) struct Partitions {
    parts: Vec<Part>,
    seed: Seed,
}

impl Partitions {
    pub(crate) fn new(cx: &mut Cx<'_, '_>) -> Result<Partitions> {
        let file = SpillFile::create(&cx.temp_space()?)?;
        let part = |_| Part { pending: Batch::default(), pending_bytes: 0, writer: RunWriter::small(&file) };
        Ok(Partitions { parts: (0..FAN_OUT).map(part).collect(), seed: Seed::default() })
    }

    /// Partitions that put equal keys where `self` puts them.
    pub(crate) fn sibling(&self, cx: &mut Cx<'_, '_>) -> Result<Partitions> {
        Ok(Partitions { seed: self.seed.clone(), ..Partitions::new(cx)? })
    }

    /// Appends a row, with a last column of `more` if there is one, to the partition of its key.
    pub(crate) fn push(&mut self, key: &[u8], batch: &Batch, row: usize, more: Option<i64>) -> Result<()> {
        let part = (self.seed.hash_one(key) >> 7) as usize % FAN_OUT;
        self.push_to(part, batch, row, more)
    }

    /// As [`push`](Self::push), into a partition of the caller's choice.
    pub(crate) fn push_to(&mut self, part: usize, batch: &Batch, row: usize, more: Option<i64>) -> Result<()> {
        let part = &mut self.parts[part];
        if part.pending.columns.is_empty() {
            part.pending.columns = batch.columns.iter().map(Column::same_kind).collect();
            part.pending.columns.extend(more.map(|_| Column::for_type(&gannet_types::SqlType::BIGINT)));
        }
        part.pending.push_row(batch, row);
        if let (Some(more), Some(last)) = (more, part.pending.columns.last_mut()) {
            last.push(ValueRef::Int(more));
        }
        part.pending_bytes += batch.columns.iter().map(|c| value_len(c.get(row))).sum::<usize>();
        if part.pending.rows >= PENDING_ROWS || part.pending_bytes >= CHUNK_BYTES {
            part.flush()?;
        }
        Ok(())
    }

    /// The partitions' rows; empty ones are left out only by having none.
    pub(crate) fn finish(self) -> Result<Vec<Run>> {
        let finish = |mut part: Part| {
            part.flush()?;
            part.writer.finish()
        };
        self.parts.into_iter().map(finish).collect()
    }
}

impl Part {
    fn flush(&mut self) -> Result<()> {
        self.pending_bytes = 0;
        let pending = std::mem::take(&mut self.pending);
        self.writer.write(&pending)
    }
}

fn value_len(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Str(text, _) | ValueRef::Json(text) => text.len() + 8,
        _ => 16,
    }
}
