//! Long ORs of conjunctions of equalities, above all `(a, b) IN ((1, 2), ...)`, and of intervals of integers: a row is
//! looked up in a set instead of being compared with each alternative.

use crate::{
    batch::Batch,
    compare::{append_domain_key, truth},
    context::Cx,
    eval::{constant_date, eval},
    lookup::{Alternatives, Intervals, Shape},
    numbered::Numbered,
};
use gannet_plan::expr::{CompareOp, Comparison, Expr, ExprKind};
use gannet_types::{Result, TypeId, Value, ValueRef};
use std::collections::HashMap;

/// ORs with at least as many alternatives are looked up.
pub(crate) const LONG_OR: usize = 32;

/// The rows for which an OR is true.
pub(crate) fn select<'p>(args: &'p [Expr], batch: &Batch, rows: Vec<u32>, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    let all = taken(args, cx)?;
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        cx.check_killed()?;
        if all.hold(args, batch, row as usize, true, cx)? == Some(true) {
            kept.push(row);
        }
    }
    put_back(args, all, cx);
    Ok(kept)
}

/// The value of an OR.
pub(crate) fn value<'p>(args: &'p [Expr], batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    let all = taken(args, cx)?;
    let value = all.hold(args, batch, row, false, cx)?;
    put_back(args, all, cx);
    Ok(value.map_or(Value::Null, Value::from))
}

/// Those made before in this execution, taken out of where they are kept, or new ones. The list's address names it:
/// plans do not move while they run.
fn taken<'p>(args: &'p [Expr], cx: &mut Cx<'_, 'p>) -> Result<Alternatives> {
    match cx.alternatives.as_mut().and_then(|all| all.remove(&(args.as_ptr() as usize))) {
        Some(all) => Ok(all),
        None => Alternatives::new(args, cx),
    }
}

fn put_back(args: &[Expr], all: Alternatives, cx: &mut Cx<'_, '_>) {
    cx.alternatives.get_or_insert_default().insert(args.as_ptr() as usize, all);
}

impl Alternatives {
    fn new<'p>(args: &'p [Expr], cx: &mut Cx<'_, 'p>) -> Result<Alternatives> {
        let mut places: HashMap<Vec<(u32, Comparison)>, usize> = HashMap::new();
        let mut bounded: HashMap<u32, usize> = HashMap::new();
        let mut all = Alternatives { shapes: Vec::new(), intervals: Vec::new(), rest: Vec::new() };
        for (position, alternative) in (0..).zip(args) {
            cx.check_killed()?;
            let parts = match &alternative.kind {
                ExprKind::And(parts) => parts,
                _ => std::slice::from_ref(alternative),
            };
            let (mut columns, mut key) = (Vec::with_capacity(parts.len()), Vec::new());
            for part in parts {
                let Some((column, by, constant, of)) = equality(part) else { break };
                let mut value = eval(constant, &Batch::one_empty_row(), 0, cx)?;
                if by == Comparison::Datetime {
                    constant_date(constant, &mut value, of.ty.id, cx)?;
                }
                if !append_domain_key(by, value.as_ref(), cx, &mut key)? {
                    break;
                }
                columns.push((column, by));
            }
            if columns.len() < parts.len() {
                let Some((column, low, high)) = interval(parts, cx) else {
                    all.rest.push(position);
                    continue;
                };
                let place = *bounded.entry(column).or_insert_with(|| {
                    all.intervals.push(Intervals { column, within: Vec::new(), members: Vec::new() });
                    all.intervals.len() - 1
                });
                cx.reserve(size_of::<(i128, i128)>() + size_of::<u32>())?;
                all.intervals[place].members.push(position);
                if low <= high {
                    all.intervals[place].within.push((low, high));
                }
                continue;
            }
            cx.reserve(Numbered::cost(key.len()))?;
            let place = *places.entry(columns).or_insert_with_key(|columns| {
                let columns = columns.clone();
                all.shapes.push(Shape { columns, keys: Numbered::default(), members: Vec::new() });
                all.shapes.len() - 1
            });
            all.shapes[place].keys.insert(&key);
            all.shapes[place].members.push(position);
        }
        all.intervals.iter_mut().for_each(Intervals::settle);
        Ok(all)
    }

    /// Whether one of them holds for a row. With `truth_only` NULL may be false.
    fn hold<'p>(
        &self,
        args: &'p [Expr],
        batch: &Batch,
        row: usize,
        truth_only: bool,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Option<bool>> {
        let (mut key, mut unknown) = (Vec::new(), false);
        for shape in &self.shapes {
            key.clear();
            let mut null = false;
            for (column, by) in &shape.columns {
                let value = batch.columns[*column as usize].get(row).localize(&cx.shared.settings.time_zone);
                null |= !append_domain_key(*by, value, cx, &mut key)?;
            }
            if !null && shape.keys.contains(&key[..]) {
                return Ok(Some(true));
            }
            // None of them is true; each is false or NULL.
            if null && !truth_only {
                unknown |= one_of(args, &shape.members, batch, row, cx)?.is_none();
            }
        }
        for set in &self.intervals {
            let found = match batch.columns[set.column as usize].get(row) {
                ValueRef::Int(v) => Some(set.contain(i128::from(v))),
                ValueRef::UInt(v) => Some(set.contain(i128::from(v))),
                ValueRef::Null if truth_only => Some(false),
                _ => one_of(args, &set.members, batch, row, cx)?,
            };
            match found {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        let rest = one_of(args, &self.rest, batch, row, cx)?;
        Ok(if unknown && rest == Some(false) { None } else { rest })
    }
}

impl Intervals {
    /// Brings the intervals into order and joins those that overlap.
    fn settle(&mut self) {
        self.within.sort_unstable();
        self.within.dedup_by(|next, last| {
            let overlaps = next.0 <= last.1;
            if overlaps {
                last.1 = last.1.max(next.1);
            }
            overlaps
        });
    }

    fn contain(&self, value: i128) -> bool {
        let behind = self.within.partition_point(|(low, _)| *low <= value);
        behind > 0 && value <= self.within[behind - 1].1
    }
}

/// The values between which a conjunction of comparisons with constants puts one integer column.
fn interval(parts: &[Expr], cx: &Cx<'_, '_>) -> Option<(u32, i128, i128)> {
    let integer = |e: &Expr| match &e.kind {
        ExprKind::Literal(Value::Int(v)) => Some(i128::from(*v)),
        ExprKind::Literal(Value::UInt(v)) => Some(i128::from(*v)),
        ExprKind::Param(n) => match cx.shared.params[*n as usize] {
            Value::Int(v) => Some(i128::from(v)),
            Value::UInt(v) => Some(i128::from(v)),
            _ => None,
        },
        _ => None,
    };
    let column = |e: &Expr| match e.kind {
        ExprKind::Column(n) if e.ty.id.is_integer() => Some(n),
        _ => None,
    };
    let (mut of, mut low, mut high) = (None, i128::MIN, i128::MAX);
    for part in parts {
        let (n, from, to) = match &part.kind {
            ExprKind::Compare { op, by: Comparison::Integer, args } => {
                let (n, value, op) = match (column(&args[0]), column(&args[1])) {
                    (Some(n), None) => (n, integer(&args[1])?, *op),
                    (None, Some(n)) => (n, integer(&args[0])?, op.swapped()),
                    _ => return None,
                };
                match op {
                    CompareOp::Eq => (n, value, value),
                    CompareOp::Lt => (n, i128::MIN, value - 1),
                    CompareOp::Le => (n, i128::MIN, value),
                    CompareOp::Gt => (n, value + 1, i128::MAX),
                    CompareOp::Ge => (n, value, i128::MAX),
                    CompareOp::Ne | CompareOp::NullSafeEq => return None,
                }
            }
            ExprKind::Between { by: Comparison::Integer, negated: false, args } => {
                (column(&args[0])?, integer(&args[1])?, integer(&args[2])?)
            }
            _ => return None,
        };
        if *of.get_or_insert(n) != n {
            return None;
        }
        (low, high) = (low.max(from), high.min(to));
    }
    Some((of?, low, high))
}

/// OR of some alternatives.
fn one_of<'p>(
    args: &'p [Expr],
    positions: &[u32],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<bool>> {
    let mut answer = Some(false);
    for position in positions {
        let value = eval(&args[*position as usize], batch, row, cx)?;
        match truth(value.as_ref(), cx)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}

/// `column = constant` where the column compares in its own domain, so that a comparison neither warns nor fails:
/// column, domain, constant, and the column as an expression.
fn equality(e: &Expr) -> Option<(u32, Comparison, &Expr, &Expr)> {
    let ExprKind::Compare { op: CompareOp::Eq, by, args } = &e.kind else { return None };
    let constant = |e: &Expr| matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_));
    let (column, value) = if constant(&args[1]) { (&args[0], &args[1]) } else { (&args[1], &args[0]) };
    let ExprKind::Column(n) = column.kind else { return None };
    let id = column.ty.id;
    let own = match by {
        Comparison::Integer => id.is_integer(),
        Comparison::Decimal => id == TypeId::Decimal,
        Comparison::String(collation) => id.is_string() && column.ty.collation == *collation,
        Comparison::Datetime => matches!(id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp),
        Comparison::Double | Comparison::Time | Comparison::Json => false,
    };
    (own && constant(value)).then_some((n, *by, value, column))
}
