//! Batches with fewer rows where long values are computed from them, so that a statement holds a few megabytes of those
//! at once.

use crate::batch::{BATCH_BYTES, BATCH_ROWS, Batch};
use crate::context::Cx;
use crate::context::{BoxedOperator, Operator};
use gannet_plan::expr::{Aggregate, Expr, ExprKind};
use gannet_plan::physical::Window;
use gannet_types::{Result, TypeId};
use std::collections::HashSet;

/// Bytes of a value from which on a batch of them counts as long.
const LONG_VALUE: u64 = 16 << 10;

/// True when `exprs`, over rows of one operator, make values that may be long: by a computation, or by taking a column
/// twice.
pub(super) fn make_long<'p>(exprs: impl IntoIterator<Item = &'p Expr>) -> bool {
    let mut seen = HashSet::new();
    exprs.into_iter().filter(|e| (e.ty.id.is_string() || e.ty.id == TypeId::Json) && e.ty.max_bytes() > LONG_VALUE).any(
        |e| match e.kind {
            ExprKind::Column(n) => !seen.insert(n),
            ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Register(_) => false,
            _ => true,
        },
    )
}

/// What aggregates compute from a row.
pub(super) fn of_aggregates(all: &[Aggregate]) -> impl Iterator<Item = &Expr> {
    all.iter().flat_map(|a| a.args.iter().chain(a.order.iter().map(|k| &k.expr)))
}

/// What a window computes from a row.
pub(super) fn of_window(window: &Window) -> impl Iterator<Item = &Expr> {
    let keys = window.order.iter().map(|k| &k.expr).chain(&window.partition);
    keys.chain(window.functions.iter().flat_map(|f| &f.args))
}

/// The input's rows, fewer at a time while the values computed from them are long.
pub(super) struct Narrow<'p> {
    input: BoxedOperator<'p>,
    batch: Batch,
    at: usize,
    /// Rows of the last batch that was given, and what had been computed until then.
    rows: usize,
    computed: u64,
}

impl<'p> Narrow<'p> {
    /// `input`, narrowed if `needed`.
    pub(super) fn over(input: BoxedOperator<'p>, needed: bool) -> BoxedOperator<'p> {
        if !needed {
            return input;
        }
        Box::new(Narrow { input, batch: Batch::default(), at: 0, rows: 0, computed: 0 })
    }

    /// Rows of the next batch: as many as would have made [`BATCH_BYTES`], twice as many as last time at most.
    fn next_rows(&self, made: u64) -> usize {
        let fit = (self.rows as u64 * BATCH_BYTES as u64).checked_div(made).unwrap_or(u64::MAX);
        usize::try_from(fit).unwrap_or(usize::MAX).min(self.rows * 2).clamp(1, BATCH_ROWS)
    }
}

impl<'p> Operator<'p> for Narrow<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.batch, self.at, self.rows) = (Batch::default(), 0, 0);
        self.input.open(cx)
    }

    fn want(&mut self, rows: u64) {
        self.input.want(rows);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        while self.at >= self.batch.rows {
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            (self.batch, self.at) = (batch, 0);
        }
        cx.check_interrupt()?;
        self.rows = self.next_rows(cx.computed - self.computed);
        self.computed = cx.computed;
        let (from, to) = (self.at, self.batch.rows.min(self.at + self.rows));
        self.at = to;
        if to - from == self.batch.rows {
            return Ok(Some(std::mem::take(&mut self.batch)));
        }
        Ok(Some(self.batch.slice(from, to)))
    }
}
