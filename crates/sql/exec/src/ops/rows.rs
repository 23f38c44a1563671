//! Operators over one row at a time: Values, Filter, Project, Limit; and the operator that passes on a batch row by
//! row.

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::{BoxedOperator, Operator};
use crate::{context::Cx, eval, vector};
use gannet_plan::expr::{Expr, ExprKind};
use gannet_plan::plan::Param;
use gannet_types::{Result, SqlType, ValueRef};

/// Constant rows.
pub struct Values<'p> {
    rows: &'p [Box<[Expr]>],
    types: &'p [SqlType],
    at: usize,
}

impl<'p> Values<'p> {
    pub fn new(rows: &'p [Box<[Expr]>], types: &'p [SqlType]) -> Self {
        Values { rows, types, at: 0 }
    }
}

impl<'p> Operator<'p> for Values<'p> {
    fn open(&mut self, _: &mut Cx<'_, 'p>) -> Result<()> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let input = Batch::one_empty_row();
        let mut batch = Batch::for_types(self.types);
        while let Some(row) = self.rows.get(self.at).filter(|_| !batch.is_full(BATCH_ROWS)) {
            let values = row.iter().map(|e| eval::eval(e, &input, 0, cx)).collect::<Result<Vec<_>>>()?;
            batch.push_values(&values);
            self.at += 1;
        }
        Ok((batch.rows > 0).then_some(batch))
    }
}

/// Rows for which a predicate is true.
pub struct Filter<'p> {
    input: BoxedOperator<'p>,
    predicate: &'p Expr,
}

impl<'p> Filter<'p> {
    pub fn new(input: BoxedOperator<'p>, predicate: &'p Expr) -> Self {
        Filter { input, predicate }
    }
}

impl<'p> Operator<'p> for Filter<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.input.open(cx)
    }

    fn want(&mut self, rows: u64) {
        self.input.want(rows);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else { return Ok(None) };
        cx.check_interrupt()?;
        let kept = vector::select(self.predicate, &batch, cx)?;
        Ok(Some(if kept.len() == batch.rows { batch } else { batch.gather(&kept) }))
    }
}

/// All rows, if a condition that reads none of them is true.
pub struct Once<'p> {
    input: BoxedOperator<'p>,
    condition: &'p Expr,
    passes: bool,
}

impl<'p> Once<'p> {
    pub fn new(input: BoxedOperator<'p>, condition: &'p Expr) -> Self {
        Once { input, condition, passes: false }
    }
}

impl<'p> Operator<'p> for Once<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.passes = !vector::select(self.condition, &Batch::one_empty_row(), cx)?.is_empty();
        if self.passes { self.input.open(cx) } else { Ok(()) }
    }

    fn want(&mut self, rows: u64) {
        self.input.want(rows);
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        if self.passes { self.input.skip(rows, cx) } else { Ok(0) }
    }

    fn recycle(&mut self, batch: Batch) {
        self.input.recycle(batch);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.passes { self.input.next(cx) } else { Ok(None) }
    }
}

/// One expression a column.
pub struct Project<'p> {
    input: BoxedOperator<'p>,
    exprs: &'p [Expr],
    stored: bool,
}

impl<'p> Project<'p> {
    pub fn new(input: BoxedOperator<'p>, exprs: &'p [Expr], stored: bool) -> Self {
        Project { input, exprs, stored }
    }
}

impl<'p> Operator<'p> for Project<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.input.open(cx)
    }

    fn want(&mut self, rows: u64) {
        self.input.want(rows);
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        // What is computed may fail or warn, also for rows that nobody sees.
        let passes = |e: &Expr| matches!(e.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Param(_));
        if self.exprs.iter().all(passes) { self.input.skip(rows, cx) } else { Ok(0) }
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else { return Ok(None) };
        let strict = cx.strict;
        cx.strict |= cx.strict_items;
        let projected = vector::project(self.exprs, batch, self.stored, cx);
        cx.strict = strict;
        projected.map(Some)
    }
}

/// The input's rows one at a time; the input is asked for no more than that.
pub struct OneByOne<'p> {
    input: BoxedOperator<'p>,
    batch: Batch,
    at: usize,
}

impl<'p> OneByOne<'p> {
    pub fn new(input: BoxedOperator<'p>) -> Self {
        OneByOne { input, batch: Batch::default(), at: 0 }
    }
}

impl<'p> Operator<'p> for OneByOne<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.batch, self.at) = (Batch::default(), 0);
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        while self.at >= self.batch.rows {
            self.input.want(1);
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            cx.check_interrupt()?;
            if batch.rows == 1 {
                return Ok(Some(batch));
            }
            (self.batch, self.at) = (batch, 0);
        }
        self.at += 1;
        Ok(Some(self.batch.slice(self.at - 1, self.at)))
    }
}

/// LIMIT and OFFSET.
pub struct Limit<'p> {
    input: BoxedOperator<'p>,
    limit: Option<&'p Expr>,
    offset: Option<&'p Expr>,
    count_all: bool,
    skip: u64,
    left: u64,
    seen: u64,
}

impl<'p> Limit<'p> {
    pub fn new(input: BoxedOperator<'p>, limit: Option<&'p Expr>, offset: Option<&'p Expr>, count_all: bool) -> Self {
        Limit { input, limit, offset, count_all, skip: 0, left: 0, seen: 0 }
    }
}

/// The value of a LIMIT or OFFSET expression.
pub fn limit_value<'p>(expr: Option<&'p Expr>, absent: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
    let Some(expr) = expr else { return Ok(absent) };
    let value = eval::eval(expr, &Batch::one_empty_row(), 0, cx)?;
    let rows = match value.as_ref() {
        // A variable of a stored program.
        ValueRef::Bit(n, _) => Some(n),
        ValueRef::Year(n) => Some(n.into()),
        // A marker's, or a variable's.
        ValueRef::Null => Some(0),
        // A variable's bits are taken as they are: a negative one is beyond all rows.
        ValueRef::Int(n) if n < 0 && is_variable(expr, cx) => Some(n as u64),
        value => number_of_rows(value),
    };
    rows.ok_or_else(|| gannet_types::sql_err!(WrongArguments, "EXECUTE"))
}

fn is_variable(expr: &Expr, cx: &Cx<'_, '_>) -> bool {
    let ExprKind::Param(n) = expr.kind else { return false };
    matches!(cx.shared.plan.params.get(n as usize), Some(Param::Local { .. }))
}

/// A number of rows. Clients send it as text, too: the drivers of languages that know no integers.
pub(super) fn number_of_rows(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Int(n) => u64::try_from(n).ok(),
        ValueRef::UInt(n) => Some(n),
        ValueRef::Str(text, _) => std::str::from_utf8(text).ok()?.trim_matches(' ').parse().ok(),
        _ => None,
    }
}

impl<'p> Operator<'p> for Limit<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.left = limit_value(self.limit, u64::MAX, cx)?;
        self.skip = limit_value(self.offset, 0, cx)?;
        self.seen = 0;
        // Of no rows wanted none is read; a sort or a window would read all of them, and could fail.
        if self.left == 0 && !self.count_all { Ok(()) } else { self.input.open(cx) }
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        loop {
            if self.left == 0 && !self.count_all {
                return Ok(None);
            }
            if !self.count_all {
                self.input.want(self.skip.saturating_add(self.left));
            }
            if self.skip > 0 {
                let skipped = self.input.skip(self.skip, cx)?;
                self.skip -= skipped;
                self.seen += skipped;
            }
            let Some(batch) = self.input.next(cx)? else {
                if self.count_all {
                    cx.found_rows = Some(self.seen);
                }
                return Ok(None);
            };
            let rows = batch.rows as u64;
            self.seen += rows;
            let from = self.skip.min(rows);
            self.skip -= from;
            let take = (rows - from).min(self.left);
            self.left -= take;
            if take == 0 {
                cx.check_interrupt()?;
                continue;
            }
            return Ok(Some(if take == rows { batch } else { batch.slice(from as usize, (from + take) as usize) }));
        }
    }
}
