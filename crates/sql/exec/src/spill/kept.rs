//! Rows that are read again: in memory, then on disk.

use super::{Run, RunWriter, SpillFile};
use crate::{
    batch::Batch,
    context::{BoxedOperator, Cx},
};
use gannet_telemetry::Counter;
use gannet_types::Result;

/// Batches in order: those of the run, then those in memory. Once one went to disk all that come do.
#[derive(Default)]
pub(crate) struct Kept {
    writer: Option<RunWriter>,
    run: Option<Run>,
    memory: Vec<Batch>,
    held: usize,
    rows: u64,
}

impl Kept {
    /// Runs an operator to its end and keeps its rows.
    pub(crate) fn collect<'p>(operator: &mut BoxedOperator<'p>, cx: &mut Cx<'_, 'p>) -> Result<Kept> {
        Kept::collect_some(operator, u64::MAX, cx)
    }

    /// The same until there are so many rows, or a batch more.
    pub(crate) fn collect_some<'p>(operator: &mut BoxedOperator<'p>, most: u64, cx: &mut Cx<'_, 'p>) -> Result<Kept> {
        operator.open(cx)?;
        let mut kept = Kept::default();
        while kept.rows < most {
            let Some(batch) = operator.next(cx)? else { break };
            cx.check_interrupt()?;
            kept.push(batch, cx)?;
        }
        kept.seal()?;
        Ok(kept)
    }

    /// Appends rows.
    pub(crate) fn push(&mut self, batch: Batch, cx: &mut Cx<'_, '_>) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        self.rows += batch.rows as u64;
        if let Some(writer) = &mut self.writer {
            return writer.write(&batch);
        }
        let bytes = batch.memory_bytes();
        self.held += bytes;
        cx.hold(bytes);
        match self.memory.last_mut() {
            Some(last) if last.has_room_for(&batch) => (0..batch.rows).for_each(|row| last.push_row(&batch, row)),
            _ => self.memory.push(batch),
        }
        if cx.over(self.held) {
            gannet_telemetry::count(Counter::CreatedTmpDiskTables);
            let mut writer = RunWriter::new(&SpillFile::create(&cx.temp_space()?)?);
            for batch in self.memory.drain(..) {
                writer.write(&batch)?;
            }
            cx.release(std::mem::take(&mut self.held));
            self.writer = Some(writer);
        }
        Ok(())
    }

    /// Ends the writing.
    pub(crate) fn seal(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.run = Some(writer.finish()?);
        }
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Batch number `n`, `None` behind the last.
    pub(crate) fn batch(&self, n: usize) -> Result<Option<Batch>> {
        match &self.run {
            Some(run) => run.batch(n),
            None => Ok(self.memory.get(n).cloned()),
        }
    }

    /// Appends the rows of another one.
    pub(crate) fn append(&mut self, mut other: Kept, cx: &mut Cx<'_, '_>) -> Result<()> {
        cx.release(std::mem::take(&mut other.held));
        for batch in other.memory.drain(..) {
            self.push(batch, cx)?;
        }
        if let Some(run) = &other.run {
            for n in 0..run.batches() {
                cx.check_interrupt()?;
                if let Some(batch) = run.batch(n)? {
                    self.push(batch, cx)?;
                }
            }
        }
        Ok(())
    }

    /// Only rows `from..to` stay.
    pub(crate) fn cut(mut self, from: u64, to: u64, cx: &mut Cx<'_, '_>) -> Result<Kept> {
        let (mut kept, mut n, mut at) = (Kept::default(), 0, 0);
        while at < to
            && let Some(batch) = self.batch(n)?
        {
            cx.check_interrupt()?;
            let rows = batch.rows as u64;
            let (first, last) = (from.clamp(at, at + rows) - at, to.min(at + rows) - at);
            if first < last {
                kept.push(batch.slice(first as usize, last as usize), cx)?;
            }
            at += rows;
            n += 1;
        }
        kept.seal()?;
        self.clear(cx);
        Ok(kept)
    }

    /// Gives the memory back.
    pub(crate) fn clear(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(self.held);
        *self = Kept::default();
    }
}
