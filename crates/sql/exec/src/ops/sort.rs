//! Sort, with and without a limit.
//!
//! Each row's keys are encoded once into bytes that compare as the rows do; sorting compares bytes only.

use super::{BoxedOperator, Operator, rows::limit_value};
use crate::{
    batch::{BATCH_ROWS, Batch},
    compare::append_sort_key,
    context::Cx,
    eval,
};
use gannet_plan::{expr::SortKey, physical::TopN};
use gannet_types::{Result, SqlType};

/// Sorted rows.
pub struct Sort<'p> {
    input: BoxedOperator<'p>,
    keys: &'p [SortKey],
    limit: Option<&'p TopN>,
    types: &'p [SqlType],
    rows: Vec<Batch>,
    /// Encoded keys back to back.
    arena: Vec<u8>,
    /// The rows in order, once sorted.
    order: Vec<Entry>,
    at: usize,
    reserved: usize,
}

/// A row: its key in the arena, its place among the batches.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    batch: u32,
    row: u32,
}

impl<'p> Sort<'p> {
    pub fn new(input: BoxedOperator<'p>, keys: &'p [SortKey], limit: Option<&'p TopN>, types: &'p [SqlType]) -> Self {
        Sort { input, keys, limit, types, rows: Vec::new(), arena: Vec::new(), order: Vec::new(), at: 0, reserved: 0 }
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.reserved));
        self.rows.clear();
        self.arena.clear();
        self.order.clear();
        self.at = 0;
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        // Rows with equal keys keep their order of arrival.
        self.order.sort_by(|a, b| arena[a.start..a.end].cmp(&arena[b.start..b.end]));
    }

    /// Keeps the first `wanted` rows only, so that a top-N never holds more than twice that and a batch.
    fn shrink(&mut self, wanted: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.sort();
        self.order.truncate(wanted);
        let mut kept = Batch::for_types(self.types);
        let mut arena = Vec::new();
        for (i, entry) in self.order.iter_mut().enumerate() {
            kept.push_row(&self.rows[entry.batch as usize], entry.row as usize);
            let start = arena.len();
            arena.extend_from_slice(&self.arena[entry.start..entry.end]);
            *entry = Entry { start, end: arena.len(), batch: 0, row: i as u32 };
        }
        cx.release(std::mem::take(&mut self.reserved));
        self.take_memory(kept.memory_bytes() + arena.len(), cx)?;
        self.arena = arena;
        self.rows = vec![kept];
        Ok(())
    }

    fn take_memory(&mut self, bytes: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.reserve(bytes)?;
        self.reserved += bytes;
        Ok(())
    }

    fn take_batch(&mut self, batch: Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let number = self.rows.len() as u32;
        let before = self.arena.len();
        for row in 0..batch.rows {
            let start = self.arena.len();
            for key in self.keys {
                let value = eval::eval(&key.expr, &batch, row, cx)?;
                append_sort_key(value.as_ref(), &key.expr.ty, key.descending, &mut self.arena)?;
            }
            self.order.push(Entry { start, end: self.arena.len(), batch: number, row: row as u32 });
        }
        let bytes = batch.memory_bytes() + self.arena.len() - before + batch.rows * size_of::<Entry>();
        self.rows.push(batch);
        self.take_memory(bytes, cx)
    }
}

impl<'p> Operator<'p> for Sort<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reset(cx);
        let wanted = match self.limit {
            Some(top) => {
                let offset = limit_value(top.offset.as_ref(), 0, cx)?;
                Some(limit_value(Some(&top.limit), u64::MAX, cx)?.saturating_add(offset))
            }
            None => None,
        };
        let wanted = wanted.and_then(|n| usize::try_from(n).ok());
        self.input.open(cx)?;
        while let Some(batch) = self.input.next(cx)? {
            cx.check_interrupt()?;
            if batch.rows == 0 {
                continue;
            }
            self.take_batch(batch, cx)?;
            if let Some(wanted) = wanted
                && self.order.len() > wanted.saturating_mul(2).max(BATCH_ROWS)
            {
                self.shrink(wanted, cx)?;
            }
        }
        self.sort();
        if let Some(wanted) = wanted {
            self.order.truncate(wanted);
        }
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.at == self.order.len() {
            self.reset(cx);
            return Ok(None);
        }
        let end = (self.at + BATCH_ROWS).min(self.order.len());
        let mut out = Batch::for_types(self.types);
        for entry in &self.order[self.at..end] {
            out.push_row(&self.rows[entry.batch as usize], entry.row as usize);
        }
        self.at = end;
        Ok(Some(out))
    }
}
