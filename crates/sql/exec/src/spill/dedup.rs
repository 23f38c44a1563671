//! Each distinct row once, in order of first appearance.
//!
//! Keys are kept in memory until the bound. From then on a row with a key that is not known goes to a partition by that
//! key, with its number; at the end the partitions are treated the same way, each into a run in order of the numbers,
//! and the runs merged. Rows delivered before all come before rows that were put aside.

use super::{BySequence, MAX_LEVEL, Merge, Partitions, Run, RunWriter, SpillFile, reduce};
use crate::{
    batch::{BATCH_ROWS, Batch},
    compare::append_row_key,
    context::Cx,
    numbered::Numbered,
};
use gannet_telemetry::Counter;
use gannet_types::{Result, SqlType};

/// The rows seen so far.
#[derive(Default)]
pub(crate) struct Dedup {
    seen: Numbered,
    held: usize,
    aside: Option<Partitions>,
    merge: Option<Merge<BySequence>>,
    /// Number of the next row.
    number: i64,
}

impl Dedup {
    pub(crate) fn reset(&mut self, cx: &mut Cx<'_, '_>) {
        self.forget(cx);
        *self = Dedup::default();
    }

    fn forget(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(std::mem::take(&mut self.held));
        self.seen = Numbered::default();
    }

    /// The rows of a batch that appear for the first time; some may be put aside.
    pub(crate) fn unseen(&mut self, batch: &Batch, types: &[SqlType], cx: &mut Cx<'_, '_>) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(batch.rows);
        let mut key = Vec::new();
        for row in 0..batch.rows {
            key.clear();
            append_row_key(&batch.columns, row, types, &mut key)?;
            self.number += 1;
            if self.admit(&key, batch, row, Some(self.number), MAX_LEVEL, cx)? {
                kept.push(row as u32);
            }
        }
        Ok(kept)
    }

    /// True when only rows put aside are left.
    pub(crate) fn ended(&self) -> bool {
        self.merge.is_some()
    }

    /// True for a key not seen before. `more`: the row's number, unless it has it as a column.
    fn admit(
        &mut self,
        key: &[u8],
        batch: &Batch,
        row: usize,
        more: Option<i64>,
        levels: u32,
        cx: &mut Cx<'_, '_>,
    ) -> Result<bool> {
        if let Some(aside) = &mut self.aside {
            if !self.seen.contains(key) {
                aside.push(key, batch, row, more)?;
            }
            return Ok(false);
        }
        if !self.seen.insert(key).1 {
            return Ok(false);
        }
        let bytes = Numbered::cost(key.len());
        self.held += bytes;
        if levels == 0 {
            cx.reserve(bytes)?;
            return Ok(true);
        }
        cx.hold(bytes);
        if cx.over(self.held) {
            // Partitions that do not fit either are parts of the same table.
            if levels == MAX_LEVEL {
                gannet_telemetry::count(Counter::CreatedTmpDiskTables);
            }
            self.aside = Some(Partitions::new(cx)?);
        }
        Ok(true)
    }

    /// Rows put aside, once there are no more to come; `None` at the end.
    pub(crate) fn next(&mut self, types: &[SqlType], cx: &mut Cx<'_, '_>) -> Result<Option<Batch>> {
        if let Some(aside) = self.aside.take() {
            self.forget(cx);
            let mut work: Vec<(u32, Run)> = aside.finish()?.into_iter().map(|run| (MAX_LEVEL, run)).collect();
            let file = SpillFile::create(&cx.temp_space()?)?;
            let mut runs = Vec::new();
            while let Some((levels, run)) = work.pop() {
                let mut out = RunWriter::new(&file);
                let mut key = Vec::new();
                for n in 0..run.batches() {
                    cx.check_interrupt()?;
                    let Some(batch) = run.batch(n)? else { break };
                    let mut kept = Vec::with_capacity(batch.rows);
                    for row in 0..batch.rows {
                        key.clear();
                        append_row_key(&batch.columns[..types.len()], row, types, &mut key)?;
                        if self.admit(&key, &batch, row, None, levels - 1, cx)? {
                            kept.push(row as u32);
                        }
                    }
                    out.write(&batch.gather(&kept))?;
                }
                self.forget(cx);
                if let Some(aside) = self.aside.take() {
                    work.extend(aside.finish()?.into_iter().map(|run| (levels - 1, run)));
                }
                if let Some(run) = Some(out.finish()?).filter(|run| run.rows > 0) {
                    runs.push(run);
                }
            }
            let runs = reduce(BySequence, runs, u64::MAX, cx)?;
            self.merge = Some(Merge::new(BySequence, runs)?);
        }
        match &mut self.merge {
            Some(merge) => merge.next(types.len(), BATCH_ROWS, cx),
            None => Ok(None),
        }
    }
}
