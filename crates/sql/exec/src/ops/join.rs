//! Joins.

use super::{BoxedOperator, Operator, collect, release};
use crate::{
    batch::{BATCH_ROWS, Batch},
    compare::append_domain_key,
    context::Cx,
    eval, vector,
};
use gannet_base::hash::HashMap;
use gannet_plan::{
    expr::{Bind, Expr},
    physical::{HashKey, JoinKind},
};
use gannet_types::{Result, SqlType, ValueRef};

/// A joined row under construction: left columns, then right columns.
struct Joined {
    batch: Batch,
    left_width: usize,
}

impl Joined {
    fn new(left: &[SqlType], right: &[SqlType]) -> Joined {
        let mut batch = Batch::for_types(left);
        batch.columns.extend(Batch::for_types(right).columns);
        Joined { batch, left_width: left.len() }
    }

    fn push(&mut self, left: &Batch, l: usize, right: Option<(&Batch, usize)>) {
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

    fn take(&mut self, left: &[SqlType], right: &[SqlType]) -> Batch {
        std::mem::replace(self, Joined::new(left, right)).batch
    }
}

/// True when the joined row satisfies the condition.
fn matches<'p>(
    on: Option<&'p Expr>,
    scratch: &mut Joined,
    (left, l): (&Batch, usize),
    (right, r): (&Batch, usize),
    types: (&[SqlType], &[SqlType]),
    cx: &mut Cx<'_, 'p>,
) -> Result<bool> {
    let Some(on) = on else { return Ok(true) };
    scratch.push(left, l, Some((right, r)));
    let row = scratch.take(types.0, types.1);
    eval::is_true(on, &row, 0, cx)
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
}

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
        NestedLoop { outer, inner, kind, binds, on, left, right, batch: None, row: 0, running: false, matched: false }
    }

    /// Takes one batch of the inner side for the present outer row. True when that row is finished.
    fn step(&mut self, out: &mut Joined, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some(outer) = &self.batch else { return Ok(true) };
        let Some(inner) = self.inner.next(cx)? else {
            match self.kind {
                JoinKind::Left if !self.matched => out.push(outer, self.row, None),
                JoinKind::Anti if !self.matched => out.push(outer, self.row, None),
                _ => {}
            }
            return Ok(true);
        };
        let hits = match self.on {
            None => (0..inner.rows as u32).collect(),
            Some(on) => {
                let mut joined = Joined::new(self.left, self.right);
                for r in 0..inner.rows {
                    joined.push(outer, self.row, Some((&inner, r)));
                }
                vector::select(on, &joined.batch, cx)?
            }
        };
        if hits.is_empty() {
            return Ok(false);
        }
        self.matched = true;
        match self.kind {
            JoinKind::Inner | JoinKind::Left => {
                for r in hits {
                    out.push(outer, self.row, Some((&inner, r as usize)));
                }
                Ok(false)
            }
            JoinKind::Semi => {
                out.push(outer, self.row, None);
                Ok(true)
            }
            JoinKind::Anti => Ok(true),
        }
    }
}

impl<'p> Operator<'p> for NestedLoop<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.batch, self.row, self.running) = (None, 0, false);
        self.outer.open(cx)
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
            }
            if self.step(&mut out, cx)? {
                self.running = false;
                self.row += 1;
            }
            if out.batch.rows >= BATCH_ROWS {
                return Ok(Some(out.batch));
            }
        }
    }
}

/// What a hash join does, from its plan node.
pub struct HashJoinPlan<'p> {
    pub kind: JoinKind,
    pub keys: &'p [HashKey],
    pub on: Option<&'p Expr>,
    pub null_aware: bool,
}

/// Builds a table of the right side, probes it with the left.
pub struct HashJoin<'p> {
    left: BoxedOperator<'p>,
    right: BoxedOperator<'p>,
    plan: HashJoinPlan<'p>,
    left_types: &'p [SqlType],
    right_types: &'p [SqlType],
    rows: Vec<Batch>,
    /// Key → (batch, row) of the build side.
    table: HashMap<Box<[u8]>, Vec<(u32, u32)>>,
    /// The build side has a row whose key has a NULL.
    null_key: bool,
    reserved: usize,
}

impl<'p> HashJoin<'p> {
    pub fn new(
        left: BoxedOperator<'p>,
        right: BoxedOperator<'p>,
        plan: HashJoinPlan<'p>,
        left_types: &'p [SqlType],
        right_types: &'p [SqlType],
    ) -> Self {
        HashJoin {
            left,
            right,
            plan,
            left_types,
            right_types,
            rows: Vec::new(),
            table: HashMap::default(),
            null_key: false,
            reserved: 0,
        }
    }

    /// Appends the key of a row; false when a NULL makes it match nothing.
    fn key(&self, right: bool, batch: &Batch, row: usize, key: &mut Vec<u8>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        key.clear();
        for part in self.plan.keys {
            let value = eval::eval(if right { &part.right } else { &part.left }, batch, row, cx)?;
            if !append_domain_key(part.by, value.as_ref(), cx, key)? && !part.null_safe {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn build_table(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        release(&mut self.rows, cx);
        cx.release(std::mem::take(&mut self.reserved));
        self.table.clear();
        self.null_key = false;
        let rows = collect(&mut self.right, cx)?;
        let mut key = Vec::new();
        for (b, batch) in rows.iter().enumerate() {
            for row in 0..batch.rows {
                if !self.key(true, batch, row, &mut key, cx)? {
                    self.null_key = true;
                    continue;
                }
                let place = (b as u32, row as u32);
                if let Some(places) = self.table.get_mut(&key[..]) {
                    places.push(place);
                } else {
                    cx.reserve(key.len() + 64)?;
                    self.reserved += key.len() + 64;
                    self.table.insert(key.as_slice().into(), vec![place]);
                }
            }
        }
        self.rows = rows;
        Ok(())
    }

    fn probe(&self, batch: &Batch, row: usize, out: &mut Joined, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut key = Vec::new();
        let known = self.key(false, batch, row, &mut key, cx)?;
        let places = if known { self.table.get(&key[..]).map_or(&[][..], Vec::as_slice) } else { &[] };
        let mut scratch = Joined::new(self.left_types, self.right_types);
        let types = (self.left_types, self.right_types);
        let mut matched = false;
        for (b, r) in places {
            let right = (&self.rows[*b as usize], *r as usize);
            if !matches(self.plan.on, &mut scratch, (batch, row), right, types, cx)? {
                continue;
            }
            matched = true;
            match self.plan.kind {
                JoinKind::Inner | JoinKind::Left => out.push(batch, row, Some(right)),
                JoinKind::Semi | JoinKind::Anti => break,
            }
        }
        match self.plan.kind {
            JoinKind::Left if !matched => out.push(batch, row, None),
            JoinKind::Semi if matched => out.push(batch, row, None),
            JoinKind::Anti if !matched => {
                // NOT IN: with a NULL on either side the answer is unknown, unless the set is empty.
                let empty = self.rows.iter().all(|b| b.rows == 0);
                let unknown = self.plan.null_aware && !empty && (self.null_key || !known);
                if !unknown {
                    out.push(batch, row, None);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl<'p> Operator<'p> for HashJoin<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.build_table(cx)?;
        self.left.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some(batch) = self.left.next(cx)? else { return Ok(None) };
        let only_left = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        let mut out = Joined::new(self.left_types, if only_left { &[] } else { self.right_types });
        for row in 0..batch.rows {
            if row % 64 == 0 {
                cx.check_interrupt()?;
            }
            self.probe(&batch, row, &mut out, cx)?;
        }
        Ok(Some(out.batch))
    }
}
