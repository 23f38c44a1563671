//! Operators over sets of rows: Distinct, UNION/INTERSECT/EXCEPT, Materialize, common table expressions.

use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{Batch, Column},
    compare::append_row_key,
    context::Cx,
    order::compare_values,
    spill::{Dedup, Kept, MAX_LEVEL, Partitions, Run},
};
use gannet_base::hash::HashMap;
use gannet_plan::physical::SetOperation as Kind;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlType, Value, ValueRef};

/// Each distinct row once.
pub struct Distinct<'p> {
    input: BoxedOperator<'p>,
    streaming: bool,
    types: &'p [SqlType],
    dedup: Dedup,
    /// The last row delivered, while streaming.
    last: Option<Batch>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: BoxedOperator<'p>, streaming: bool, types: &'p [SqlType]) -> Self {
        Distinct { input, streaming, types, dedup: Dedup::default(), last: None }
    }

    fn reset(&mut self, cx: &mut Cx<'_, '_>) {
        self.dedup.reset(cx);
        self.last = None;
    }

    /// Rows that differ from the one before.
    fn changes(&mut self, batch: &Batch) -> Vec<u32> {
        let same = |a: &Batch, i: usize, j: usize| {
            let mut columns = a.columns.iter().zip(&batch.columns).zip(self.types);
            columns.all(|((a, b), ty)| compare_values(a.get(i), b.get(j), ty).is_eq())
        };
        let kept = (0..batch.rows).filter(|row| match row {
            0 => !self.last.as_ref().is_some_and(|last| same(last, 0, 0)),
            row => !same(batch, row - 1, *row),
        });
        let kept = kept.map(|row| row as u32).collect();
        if batch.rows > 0 {
            self.last = Some(batch.slice(batch.rows - 1, batch.rows));
        }
        kept
    }
}

impl<'p> Operator<'p> for Distinct<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if !self.streaming {
            count(Counter::CreatedTmpTables);
        }
        self.reset(cx);
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.dedup.ended() {
            return self.dedup.next(self.types, cx);
        }
        let Some(batch) = self.input.next(cx)? else {
            let more = self.dedup.next(self.types, cx)?;
            if more.is_none() {
                self.reset(cx);
            }
            return Ok(more);
        };
        cx.check_interrupt()?;
        let kept = if self.streaming { self.changes(&batch) } else { self.dedup.unseen(&batch, self.types, cx)? };
        Ok(Some(if kept.len() == batch.rows { batch } else { batch.gather(&kept) }))
    }
}

/// UNION, INTERSECT, EXCEPT.
pub fn combination<'p>(
    inputs: Vec<BoxedOperator<'p>>,
    kind: Kind,
    distinct: bool,
    types: &'p [SqlType],
) -> BoxedOperator<'p> {
    match kind {
        Kind::Union => Box::new(Union::new(inputs, distinct, types)),
        Kind::Intersect | Kind::Except => Box::new(SetOperation::new(inputs, kind, distinct, types)),
    }
}

/// UNION: the inputs one after the other.
pub struct Union<'p> {
    inputs: Vec<BoxedOperator<'p>>,
    distinct: bool,
    types: &'p [SqlType],
    at: usize,
    dedup: Dedup,
}

impl<'p> Union<'p> {
    pub fn new(inputs: Vec<BoxedOperator<'p>>, distinct: bool, types: &'p [SqlType]) -> Self {
        Union { inputs, distinct, types, at: 0, dedup: Dedup::default() }
    }
}

impl<'p> Operator<'p> for Union<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.distinct {
            count(Counter::CreatedTmpTables);
        }
        self.dedup.reset(cx);
        self.at = 0;
        self.inputs[0].open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        loop {
            let batch = match self.inputs.get_mut(self.at) {
                Some(input) => input.next(cx)?,
                None => {
                    let more = self.dedup.next(self.types, cx)?;
                    if more.is_none() {
                        self.dedup.reset(cx);
                    }
                    return Ok(more);
                }
            };
            let Some(batch) = batch else {
                self.at += 1;
                if let Some(input) = self.inputs.get_mut(self.at) {
                    input.open(cx)?;
                }
                continue;
            };
            cx.check_interrupt()?;
            if !self.distinct {
                return Ok(Some(batch));
            }
            let kept = self.dedup.unseen(&batch, self.types, cx)?;
            return Ok(Some(batch.gather(&kept)));
        }
    }
}

/// INTERSECT, EXCEPT. The first input streams; the others are counted by key first. When memory does not hold the
/// counts, keys with their counts and the rows of the first input go to partitions by key, which are taken one by one.
pub struct SetOperation<'p> {
    inputs: Vec<BoxedOperator<'p>>,
    kind: Kind,
    distinct: bool,
    types: &'p [SqlType],
    counts: Counts,
    /// EXCEPT DISTINCT: rows delivered.
    dedup: Dedup,
    /// Partitions to come.
    work: Option<Vec<Part>>,
    /// The first input's rows of the present partition, and the next batch.
    rows: Option<(Run, usize)>,
    /// The input that the first tag among the partitions names.
    first_tag: usize,
}

/// A partition: levels of partitioning left, counts, rows of the first input.
type Part = (u32, Run, Run);

/// Key → copies.
#[derive(Default)]
struct Counts {
    of: HashMap<Box<[u8]>, u64>,
    held: usize,
}

impl Counts {
    fn add(&mut self, key: &[u8], n: u64, cx: &mut Cx<'_, '_>) {
        if let Some(count) = self.of.get_mut(key) {
            *count += n;
            return;
        }
        self.held += key.len() + 56;
        cx.hold(key.len() + 56);
        self.of.insert(key.into(), n);
    }

    /// The lesser count of both: keys that are not in both are dropped.
    fn intersect(&mut self, other: &mut Counts, cx: &mut Cx<'_, '_>) {
        self.of.retain(|key, n| {
            *n = (*n).min(other.of.get(key).copied().unwrap_or(0));
            *n > 0
        });
        other.clear(cx);
    }

    fn clear(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(self.held);
        *self = Counts::default();
    }

    /// Moves all to partitions, marked as those of an input.
    fn put_aside(&mut self, to: &mut Partitions, tag: usize, cx: &mut Cx<'_, '_>) -> Result<()> {
        for (key, n) in self.of.drain() {
            let columns = [Value::bytes(&key), Value::UInt(n), Value::UInt(tag as u64)];
            let row = Batch { rows: 1, columns: columns.map(|v| Column::Values(vec![v])).into() };
            to.push(&key, &row, 0, None)?;
        }
        self.clear(cx);
        Ok(())
    }
}

/// The key of a row of counts, its number, its tag.
fn count_of(batch: &Batch, row: usize) -> Option<(&[u8], u64, u64)> {
    match [0, 1, 2].map(|c| batch.columns.get(c).map(|c| c.get(row))) {
        [Some(ValueRef::Str(key, _)), Some(ValueRef::UInt(n)), Some(ValueRef::UInt(tag))] => Some((key, n, tag)),
        _ => None,
    }
}

impl<'p> SetOperation<'p> {
    pub fn new(inputs: Vec<BoxedOperator<'p>>, kind: Kind, distinct: bool, types: &'p [SqlType]) -> Self {
        SetOperation {
            inputs,
            kind,
            distinct,
            types,
            counts: Counts::default(),
            dedup: Dedup::default(),
            work: None,
            rows: None,
            first_tag: 1,
        }
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        self.counts.clear(cx);
        self.dedup.reset(cx);
        (self.work, self.rows, self.first_tag) = (None, None, 1);
    }

    /// Counts the rows of inputs after the first: for INTERSECT the least of all inputs, for EXCEPT the sum.
    fn count_others(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let intersect = self.kind == Kind::Intersect;
        let mut total = Counts::default();
        let mut aside: Option<Partitions> = None;
        let mut key = Vec::new();
        for i in 1..self.inputs.len() {
            self.inputs[i].open(cx)?;
            let tag = if intersect { i } else { 1 };
            let mut mine = if intersect { Counts::default() } else { std::mem::take(&mut total) };
            while let Some(batch) = self.inputs[i].next(cx)? {
                cx.check_interrupt()?;
                for row in 0..batch.rows {
                    key.clear();
                    append_row_key(&batch.columns, row, self.types, &mut key)?;
                    mine.add(&key, 1, cx);
                }
                if cx.over(total.held + mine.held) {
                    if aside.is_none() {
                        count(Counter::CreatedTmpDiskTables);
                        // The result so far takes the place of the inputs before.
                        self.first_tag = if intersect { (i - 1).max(1) } else { 1 };
                    }
                    let to = match &mut aside {
                        Some(aside) => aside,
                        none => none.insert(Partitions::new(cx)?),
                    };
                    total.put_aside(to, self.first_tag, cx)?;
                    mine.put_aside(to, tag, cx)?;
                }
            }
            match &mut aside {
                Some(to) => mine.put_aside(to, tag, cx)?,
                None if intersect && i > 1 => total.intersect(&mut mine, cx),
                None => total = mine,
            }
        }
        self.counts = total;
        self.inputs[0].open(cx)?;
        if let Some(aside) = aside {
            self.partition_first(aside, cx)?;
        }
        Ok(())
    }

    /// Takes the first input to partitions beside those of the counts.
    fn partition_first(&mut self, counts: Partitions, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut rows = counts.sibling(cx)?;
        let mut key = Vec::new();
        while let Some(batch) = self.inputs[0].next(cx)? {
            cx.check_interrupt()?;
            for row in 0..batch.rows {
                key.clear();
                append_row_key(&batch.columns, row, self.types, &mut key)?;
                rows.push(&key, &batch, row, None)?;
            }
        }
        let pairs = counts.finish()?.into_iter().zip(rows.finish()?);
        self.work = Some(pairs.map(|(counts, rows)| (MAX_LEVEL, counts, rows)).collect());
        Ok(())
    }

    /// Loads the next partition's counts; false when there is none.
    fn next_partition(&mut self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        self.counts.clear(cx);
        let tags = if self.kind == Kind::Intersect { self.inputs.len() - self.first_tag } else { 1 };
        while let Some((levels, counts, rows)) = self.work.as_mut().and_then(Vec::pop) {
            if counts.memory_bytes() > cx.share() && levels > 0 {
                self.divide(levels - 1, &counts, &rows, cx)?;
                continue;
            }
            // For INTERSECT the copies in each input, of which the least counts.
            let mut by_tag: Vec<Counts> = (0..tags).map(|_| Counts::default()).collect();
            for n in 0..counts.batches() {
                cx.check_interrupt()?;
                let Some(batch) = counts.batch(n)? else { break };
                for row in 0..batch.rows {
                    let found = count_of(&batch, row);
                    let Some((key, n, tag)) = found else { continue };
                    let place = (tag as usize).saturating_sub(self.first_tag).min(tags - 1);
                    by_tag[place].add(key, n, cx);
                }
                cx.reserve(0)?;
            }
            let mut by_tag = by_tag.into_iter();
            self.counts = by_tag.next().unwrap_or_default();
            by_tag.for_each(|mut other| self.counts.intersect(&mut other, cx));
            self.rows = Some((rows, 0));
            return Ok(true);
        }
        Ok(false)
    }

    /// Divides a partition by another hash.
    fn divide(&mut self, levels: u32, counts: &Run, rows: &Run, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut parts = Partitions::new(cx)?;
        let mut row_parts = parts.sibling(cx)?;
        for n in 0..counts.batches() {
            cx.check_interrupt()?;
            let Some(batch) = counts.batch(n)? else { break };
            for row in 0..batch.rows {
                if let Some((key, ..)) = count_of(&batch, row) {
                    parts.push(key, &batch, row, None)?;
                }
            }
        }
        let mut key = Vec::new();
        for n in 0..rows.batches() {
            cx.check_interrupt()?;
            let Some(batch) = rows.batch(n)? else { break };
            for row in 0..batch.rows {
                key.clear();
                append_row_key(&batch.columns, row, self.types, &mut key)?;
                row_parts.push(&key, &batch, row, None)?;
            }
        }
        let pairs = parts.finish()?.into_iter().zip(row_parts.finish()?);
        self.work.get_or_insert_default().extend(pairs.map(|(counts, rows)| (levels, counts, rows)));
        Ok(())
    }

    /// The next rows of the first input, wherever they are.
    fn first_input(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.work.is_none() {
            return self.inputs[0].next(cx);
        }
        loop {
            if let Some((run, at)) = &mut self.rows {
                *at += 1;
                if let Some(batch) = run.batch(*at - 1)? {
                    return Ok(Some(batch));
                }
                self.rows = None;
            }
            if !self.next_partition(cx)? {
                return Ok(None);
            }
        }
    }

    /// True when a row of the first input is delivered.
    fn keeps(&mut self, key: &[u8]) -> bool {
        let left = match self.counts.of.get_mut(key) {
            Some(n) if *n > 0 => n,
            _ => return self.kind == Kind::Except,
        };
        match (self.kind, self.distinct) {
            (Kind::Except, true) => false,
            // The first copy takes all.
            (_, true) => {
                *left = 0;
                true
            }
            (kind, false) => {
                *left -= 1;
                kind == Kind::Intersect
            }
        }
    }
}

impl<'p> Operator<'p> for SetOperation<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        count(Counter::CreatedTmpTables);
        self.reset(cx);
        self.count_others(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let batch = if self.dedup.ended() { None } else { self.first_input(cx)? };
        let Some(batch) = batch else {
            let more = self.dedup.next(self.types, cx)?;
            if more.is_none() {
                self.reset(cx);
            }
            return Ok(more);
        };
        cx.check_interrupt()?;
        let (mut kept, mut key) = (Vec::new(), Vec::new());
        for row in 0..batch.rows {
            key.clear();
            append_row_key(&batch.columns, row, self.types, &mut key)?;
            if self.keeps(&key) {
                kept.push(row as u32);
            }
        }
        let batch = batch.gather(&kept);
        if self.kind != Kind::Except || !self.distinct {
            return Ok(Some(batch));
        }
        let kept = self.dedup.unseen(&batch, self.types, cx)?;
        Ok(Some(batch.gather(&kept)))
    }
}

/// Rows kept for several runs.
pub struct Materialize<'p> {
    input: BoxedOperator<'p>,
    /// A table of the statement's, not rows kept only to be read again.
    derived: bool,
    depends: &'p [u32],
    kept: Option<(Vec<u64>, Kept)>,
    at: usize,
}

impl<'p> Materialize<'p> {
    pub fn new(input: BoxedOperator<'p>, depends: &'p [u32], derived: bool) -> Self {
        Materialize { input, depends, derived, kept: None, at: 0 }
    }
}

impl<'p> Operator<'p> for Materialize<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.at = 0;
        let versions = cx.register_versions(self.depends);
        if let Some((kept_for, kept)) = &mut self.kept {
            if *kept_for == versions {
                return Ok(());
            }
            kept.clear(cx);
        }
        self.kept = None;
        if self.derived {
            count(Counter::CreatedTmpTables);
        }
        let kept = Kept::collect(&mut self.input, cx)?;
        self.kept = Some((versions, kept));
        Ok(())
    }

    fn next(&mut self, _: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some((_, kept)) = &self.kept else { return Ok(None) };
        self.at += 1;
        kept.batch(self.at - 1)
    }
}

/// Rows of a common table expression; see [`crate::cte`].
pub struct CteScan {
    cte: u32,
    at: usize,
}

impl CteScan {
    pub fn new(cte: u32) -> Self {
        CteScan { cte, at: 0 }
    }
}

impl<'p> Operator<'p> for CteScan {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.at = 0;
        crate::cte::materialise(self.cte, cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        self.at += 1;
        crate::cte::batch(self.cte, self.at - 1, cx)
    }
}
