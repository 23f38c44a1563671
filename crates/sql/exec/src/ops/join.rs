//! Nested loops, and joined rows.

use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_ROWS, Batch, Column},
    context::Cx,
    vector,
};
use gannet_plan::{
    expr::{Bind, Expr},
    physical::JoinKind,
};
use gannet_types::{Result, SqlType, Value, ValueRef};
use std::ops::Range;

/// A joined row under construction: left columns, then right columns.
pub(super) struct Joined {
    pub(super) batch: Batch,
    left_width: usize,
}

impl Joined {
    pub(super) fn new(left: &[SqlType], right: &[SqlType]) -> Joined {
        let mut batch = Batch::for_types(left);
        batch.columns.extend(Batch::for_types(right).columns);
        Joined { batch, left_width: left.len() }
    }

    pub(super) fn push(&mut self, left: &Batch, l: usize, right: Option<(&Batch, usize)>) {
        let (lefts, rights) = self.batch.columns.split_at_mut(self.left_width);
        for (mine, theirs) in lefts.iter_mut().zip(&left.columns) {
            mine.push_from(theirs, l);
        }
        match right {
            Some((right, r)) => {
                for (mine, theirs) in rights.iter_mut().zip(&right.columns) {
                    mine.push_from(theirs, r);
                }
            }
            None => rights.iter_mut().for_each(|c| c.push(ValueRef::Null)),
        }
        self.batch.rows += 1;
    }

    pub(super) fn take(&mut self, left: &[SqlType], right: &[SqlType]) -> Batch {
        std::mem::replace(self, Joined::new(left, right)).batch
    }
}

/// Those of `rows` of the right side that satisfy the condition beside one row of the left side. Columns of the right
/// side are lent to the joined batch meanwhile, so that conditions have their loops over them.
pub(super) fn select_beside<'p>(
    on: &'p Expr,
    left: (&Batch, usize),
    right: &mut Batch,
    rows: Range<u32>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Vec<u32>> {
    select_beside_values(on, &row_values(left), right, rows, cx)
}

fn row_values((batch, row): (&Batch, usize)) -> Vec<Value> {
    batch.columns.iter().map(|c| c.get(row).to_owned()).collect()
}

fn select_beside_values<'p>(
    on: &'p Expr,
    left: &[Value],
    right: &mut Batch,
    rows: Range<u32>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Vec<u32>> {
    let mut columns = Vec::with_capacity(left.len() + right.columns.len());
    columns.extend(left.iter().map(|v| Column::Constant(v.clone(), right.rows)));
    columns.append(&mut right.columns);
    let mut joined = Batch { rows: right.rows, columns };
    let hits = vector::select_among(on, &joined, rows.collect(), cx);
    right.columns.extend(joined.columns.drain(left.len()..));
    hits
}

/// Which rows of a batch match.
enum Hits {
    All(usize),
    Some(Vec<u32>),
}

impl Hits {
    fn len(&self) -> usize {
        match self {
            Hits::All(n) => *n,
            Hits::Some(rows) => rows.len(),
        }
    }

    fn get(&self, at: usize) -> Option<usize> {
        match self {
            Hits::All(n) => (at < *n).then_some(at),
            Hits::Some(rows) => rows.get(at).map(|row| *row as usize),
        }
    }
}

/// For each outer row the inner side is run with its registers bound.
pub struct NestedLoop<'p> {
    outer: BoxedOperator<'p>,
    inner: BoxedOperator<'p>,
    kind: JoinKind,
    binds: &'p [Bind],
    on: Option<&'p Expr>,
    left: &'p [SqlType],
    right: &'p [SqlType],
    batch: Option<Batch>,
    row: usize,
    /// The inner side is open for the present outer row.
    running: bool,
    matched: bool,
    /// Rows of the inner side that match, those before `at` already joined.
    hits: Option<(Batch, Hits, usize)>,
    /// The values of a long outer row that runs: they are shared by the rows that it makes, not copied into each.
    long: Option<Vec<Value>>,
    want: u64,
}

/// Bytes of texts and documents from which an outer row is long.
const LONG_ROW: usize = 4 << 10;

impl<'p> NestedLoop<'p> {
    pub fn new(
        outer: BoxedOperator<'p>,
        inner: BoxedOperator<'p>,
        kind: JoinKind,
        binds: &'p [Bind],
        on: Option<&'p Expr>,
        left: &'p [SqlType],
        right: &'p [SqlType],
    ) -> Self {
        NestedLoop {
            outer,
            inner,
            kind,
            binds,
            on,
            left,
            right,
            batch: None,
            row: 0,
            running: false,
            matched: false,
            hits: None,
            long: None,
            want: BATCH_ROWS as u64,
        }
    }

    /// Takes one batch of the inner side for the present outer row. True when that row is finished.
    fn step(&mut self, out: &mut Joined, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some(outer) = &self.batch else { return Ok(true) };
        if let Some((inner, hits, at)) = &mut self.hits {
            // Of long rows not all may find room at once.
            while let Some(r) = hits.get(*at).filter(|_| !out.batch.is_full(usize::MAX)) {
                out.push(outer, self.row, Some((inner, r)));
                *at += 1;
            }
            if *at == hits.len()
                && let Some((inner, ..)) = self.hits.take()
            {
                self.inner.recycle(inner);
            }
            return Ok(false);
        }
        let Some(mut inner) = self.inner.next(cx)? else {
            match self.kind {
                JoinKind::Left if !self.matched => out.push(outer, self.row, None),
                JoinKind::Anti if !self.matched => out.push(outer, self.row, None),
                _ => {}
            }
            return Ok(true);
        };
        let hits = match self.on {
            None => Hits::All(inner.rows),
            Some(on) => {
                let all = 0..inner.rows as u32;
                Hits::Some(match &self.long {
                    Some(values) => select_beside_values(on, values, &mut inner, all, cx)?,
                    None => select_beside(on, (outer, self.row), &mut inner, all, cx)?,
                })
            }
        };
        if hits.len() == 0 {
            self.inner.recycle(inner);
            return Ok(false);
        }
        self.matched = true;
        match self.kind {
            JoinKind::Inner | JoinKind::Left => {
                self.hits = Some((inner, hits, 0));
                return if self.long.is_some() { Ok(false) } else { self.step(out, cx) };
            }
            JoinKind::Semi => out.push(outer, self.row, None),
            JoinKind::Anti => {}
        }
        self.inner.recycle(inner);
        Ok(true)
    }

    /// The rows that a long outer row makes with what was found beside it.
    fn beside_long(&mut self) -> Option<Batch> {
        let values = self.long.as_ref()?;
        let (inner, hits, _) = self.hits.take()?;
        let inner = match hits {
            Hits::All(_) => inner,
            Hits::Some(rows) => inner.gather(&rows),
        };
        let mut columns: Vec<Column> = values.iter().map(|v| Column::Constant(v.clone(), inner.rows)).collect();
        columns.extend(inner.columns);
        Some(Batch { rows: inner.rows, columns })
    }
}

impl<'p> Operator<'p> for NestedLoop<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.batch, self.row, self.running, self.hits) = (None, 0, false, None);
        self.outer.open(cx)
    }

    fn want(&mut self, rows: u64) {
        self.want = rows.clamp(1, BATCH_ROWS as u64);
        // One row of the outer side may be enough.
        self.outer.want(1);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let right: &[SqlType] = if matches!(self.kind, JoinKind::Semi | JoinKind::Anti) { &[] } else { self.right };
        let mut out = Joined::new(self.left, right);
        loop {
            let Some(batch) = self.batch.as_ref().filter(|b| self.row < b.rows) else {
                (self.batch, self.row) = (self.outer.next(cx)?, 0);
                if self.batch.is_none() {
                    return Ok((out.batch.rows > 0).then_some(out.batch));
                }
                continue;
            };
            if !self.running {
                cx.check_interrupt()?;
                cx.bind(self.binds, batch, self.row)?;
                self.inner.open(cx)?;
                (self.running, self.matched) = (true, false);
                let bytes = |c: &Column| c.get(self.row).long_bytes();
                let is_long = batch.columns.iter().map(bytes).sum::<usize>() >= LONG_ROW;
                self.long = is_long.then(|| row_values((batch, self.row)));
            }
            if self.long.is_some() && self.hits.is_some() {
                let ready = if out.batch.rows > 0 { Some(out.batch) } else { self.beside_long() };
                return Ok(ready);
            }
            // The first match settles it.
            let once = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
            self.inner.want(if once { 1 } else { self.want.saturating_sub(out.batch.rows as u64).max(1) });
            if self.step(&mut out, cx)? {
                self.running = false;
                self.row += 1;
            }
            if out.batch.is_full(self.want as usize) {
                return Ok(Some(out.batch));
            }
        }
    }
}
