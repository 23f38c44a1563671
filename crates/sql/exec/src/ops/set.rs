//! Operators over sets of rows: Distinct, UNION/INTERSECT/EXCEPT, Materialize, common table expressions.

use super::{BoxedOperator, Operator, collect, release};
use crate::{batch::Batch, compare::append_row_key, context::Cx, order::compare_values};
use gannet_base::hash::{HashMap, HashSet};
use gannet_plan::physical::SetOperation as Kind;
use gannet_types::{Result, SqlType};

/// Each distinct row once.
pub struct Distinct<'p> {
    input: BoxedOperator<'p>,
    streaming: bool,
    types: &'p [SqlType],
    seen: HashSet<Box<[u8]>>,
    reserved: usize,
    /// The last row delivered, while streaming.
    last: Option<Batch>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: BoxedOperator<'p>, streaming: bool, types: &'p [SqlType]) -> Self {
        Distinct { input, streaming, types, seen: HashSet::default(), reserved: 0, last: None }
    }

    fn reset(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(std::mem::take(&mut self.reserved));
        self.seen.clear();
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

    /// Rows not delivered yet.
    fn unseen(&mut self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(batch.rows);
        let mut key = Vec::new();
        for row in 0..batch.rows {
            key.clear();
            append_row_key(&batch.columns, row, self.types, &mut key)?;
            if !self.seen.contains(&key[..]) {
                cx.reserve(key.len() + 48)?;
                self.reserved += key.len() + 48;
                self.seen.insert(key.as_slice().into());
                kept.push(row as u32);
            }
        }
        Ok(kept)
    }
}

impl<'p> Operator<'p> for Distinct<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reset(cx);
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else {
            self.reset(cx);
            return Ok(None);
        };
        cx.check_interrupt()?;
        let kept = if self.streaming { self.changes(&batch) } else { self.unseen(&batch, cx)? };
        Ok(Some(if kept.len() == batch.rows { batch } else { batch.gather(&kept) }))
    }
}

/// UNION, INTERSECT, EXCEPT. The first input streams, except for UNION's, where all do; the others are counted by key first.
pub struct SetOperation<'p> {
    inputs: Vec<BoxedOperator<'p>>,
    kind: Kind,
    distinct: bool,
    types: &'p [SqlType],
    at: usize,
    /// Key → copies: in the other inputs, or (UNION DISTINCT) delivered so far.
    counts: HashMap<Box<[u8]>, u64>,
    reserved: usize,
}

impl<'p> SetOperation<'p> {
    pub fn new(inputs: Vec<BoxedOperator<'p>>, kind: Kind, distinct: bool, types: &'p [SqlType]) -> Self {
        SetOperation { inputs, kind, distinct, types, at: 0, counts: HashMap::default(), reserved: 0 }
    }

    fn count(&mut self, key: &[u8], cx: &mut Cx<'_, '_>) -> Result<u64> {
        if let Some(n) = self.counts.get_mut(key) {
            *n += 1;
            return Ok(*n);
        }
        cx.reserve(key.len() + 56)?;
        self.reserved += key.len() + 56;
        self.counts.insert(key.into(), 1);
        Ok(1)
    }

    /// Counts the rows of inputs after the first. For INTERSECT with several inputs the counts are combined by minimum,
    /// for EXCEPT they add up.
    fn count_others(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut total: Option<HashMap<Box<[u8]>, u64>> = None;
        for i in 1..self.inputs.len() {
            self.inputs[i].open(cx)?;
            let mut key = Vec::new();
            while let Some(batch) = self.inputs[i].next(cx)? {
                cx.check_interrupt()?;
                for row in 0..batch.rows {
                    key.clear();
                    append_row_key(&batch.columns, row, self.types, &mut key)?;
                    self.count(&key, cx)?;
                }
            }
            if self.kind == Kind::Intersect {
                let mine = std::mem::take(&mut self.counts);
                total = Some(match total {
                    None => mine,
                    Some(before) => {
                        before.into_iter().filter_map(|(key, n)| mine.get(&key).map(|m| (key, n.min(*m)))).collect()
                    }
                });
            }
        }
        if let Some(total) = total {
            self.counts = total;
        }
        Ok(())
    }

    /// True when a row of the first input (of any input, for UNION) is delivered.
    fn keeps(&mut self, key: &[u8], cx: &mut Cx<'_, '_>) -> Result<bool> {
        Ok(match (self.kind, self.distinct) {
            (Kind::Union, false) => true,
            (Kind::Union, true) => self.count(key, cx)? == 1,
            (Kind::Intersect, true) => self.counts.remove(key).is_some(),
            (Kind::Intersect, false) => match self.counts.get_mut(key) {
                Some(n) if *n > 0 => {
                    *n -= 1;
                    true
                }
                _ => false,
            },
            (Kind::Except, true) => self.count(key, cx)? == 1,
            (Kind::Except, false) => match self.counts.get_mut(key) {
                Some(n) if *n > 0 => {
                    *n -= 1;
                    false
                }
                _ => true,
            },
        })
    }
}

impl<'p> Operator<'p> for SetOperation<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.release(std::mem::take(&mut self.reserved));
        self.counts.clear();
        self.at = 0;
        if self.kind != Kind::Union {
            self.count_others(cx)?;
        }
        self.inputs[0].open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        loop {
            let Some(batch) = self.inputs[self.at].next(cx)? else {
                self.at += 1;
                if self.kind != Kind::Union || self.at == self.inputs.len() {
                    self.at = self.inputs.len() - 1;
                    cx.release(std::mem::take(&mut self.reserved));
                    self.counts.clear();
                    return Ok(None);
                }
                self.inputs[self.at].open(cx)?;
                continue;
            };
            cx.check_interrupt()?;
            if self.kind == Kind::Union && !self.distinct {
                return Ok(Some(batch));
            }
            let (mut kept, mut key) = (Vec::new(), Vec::new());
            for row in 0..batch.rows {
                key.clear();
                append_row_key(&batch.columns, row, self.types, &mut key)?;
                if self.keeps(&key, cx)? {
                    kept.push(row as u32);
                }
            }
            return Ok(Some(batch.gather(&kept)));
        }
    }
}

/// Rows kept for several runs.
pub struct Materialize<'p> {
    input: BoxedOperator<'p>,
    depends: &'p [u32],
    kept: Option<(Vec<u64>, Vec<Batch>)>,
    at: usize,
}

impl<'p> Materialize<'p> {
    pub fn new(input: BoxedOperator<'p>, depends: &'p [u32]) -> Self {
        Materialize { input, depends, kept: None, at: 0 }
    }
}

impl<'p> Operator<'p> for Materialize<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.at = 0;
        let versions = cx.register_versions(self.depends);
        if let Some((kept_for, batches)) = &mut self.kept {
            if *kept_for == versions {
                return Ok(());
            }
            release(batches, cx);
        }
        self.kept = None;
        let batches = collect(&mut self.input, cx)?;
        self.kept = Some((versions, batches));
        Ok(())
    }

    fn next(&mut self, _: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let batch = self.kept.as_ref().and_then(|(_, batches)| batches.get(self.at)).cloned();
        self.at += 1;
        Ok(batch)
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
        let batch = crate::cte::batch(self.cte, self.at, cx);
        self.at += 1;
        Ok(batch)
    }
}
