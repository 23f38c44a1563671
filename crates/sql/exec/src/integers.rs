//! Loops over signed integers: comparisons and BETWEEN of columns, constants, what functions make of columns, and sums,
//! differences, products and remainders of these.
//!
//! As in [`crate::typed`] they return what the evaluation row by row returns, or nothing, and the caller then
//! evaluates row by row. They return nothing for other types, and for results out of range, whose error names the
//! expression.

use crate::{
    batch::{Batch, Column, Nulls},
    calls,
    compare::holds,
    context::Cx,
    eval::fixed,
    typed,
};
use gannet_plan::expr::{CompareOp, Expr, ExprKind};
use gannet_types::ValueRef;
use gannet_types::convert::arith::{ArithOp, Domain, arith_type};
use std::borrow::Cow;

/// An operand, for all rows of a batch.
enum Operand<'b> {
    Column(Cow<'b, [i64]>, Cow<'b, Nulls>),
    /// `None`: NULL.
    Constant(Option<i64>),
}

impl Operand<'_> {
    #[inline]
    fn get(&self, row: usize) -> Option<i64> {
        match self {
            Operand::Column(values, nulls) => (!nulls.get(row)).then(|| values[row]),
            Operand::Constant(value) => *value,
        }
    }
}

fn constant<'b>(value: ValueRef<'_>) -> Option<Operand<'b>> {
    match value {
        ValueRef::Int(v) => Some(Operand::Constant(Some(v))),
        ValueRef::UInt(v) => Some(Operand::Constant(Some(i64::try_from(v).ok()?))),
        ValueRef::Null => Some(Operand::Constant(None)),
        _ => None,
    }
}

fn operand<'b, 'p>(expr: &'p Expr, batch: &'b Batch, cx: &mut Cx<'_, 'p>) -> Option<Operand<'b>> {
    match &expr.kind {
        ExprKind::Column(n) => match &batch.columns[*n as usize] {
            Column::Int(values, nulls) => Some(Operand::Column(Cow::Borrowed(values), Cow::Borrowed(nulls))),
            Column::Constant(value, _) => constant(value.as_ref()),
            _ => None,
        },
        ExprKind::Call(def, args) if typed::operator(def).is_some() => {
            let (op, [left, right]) = (typed::operator(def)?, &args[..]) else { return None };
            let settings = cx.shared.settings;
            let (mode, increment) = (settings.sql_mode, settings.div_precision_increment);
            if gannet_types::check_stack().is_err()
                || arith_type(op, &left.ty, &right.ty, mode, increment).1 != Domain::Signed
            {
                return None;
            }
            arithmetic(op, &operand(left, batch, cx)?, &operand(right, batch, cx)?, batch.rows)
        }
        ExprKind::Call(def, args) if expr.ty.id.is_integer() && !expr.ty.unsigned => {
            match calls::of_column(def, args, batch, cx) {
                Some(Column::Int(values, nulls)) => Some(Operand::Column(Cow::Owned(values), Cow::Owned(nulls))),
                _ => constant(fixed(expr, cx)?.as_ref()),
            }
        }
        _ => constant(fixed(expr, cx)?.as_ref()),
    }
}

/// `None`: a result is out of range.
fn arithmetic<'b>(op: ArithOp, a: &Operand<'_>, b: &Operand<'_>, rows: usize) -> Option<Operand<'b>> {
    let mut values = Vec::with_capacity(rows);
    let mut nulls = Nulls::NONE;
    for row in 0..rows {
        let value = match (a.get(row), b.get(row)) {
            (Some(a), Some(b)) => Some(match op {
                ArithOp::Add => a.checked_add(b)?,
                ArithOp::Sub => a.checked_sub(b)?,
                ArithOp::Mul => a.checked_mul(b)?,
                // Division by zero warns.
                ArithOp::Mod if b == 0 => return None,
                ArithOp::Mod => a.wrapping_rem(b),
                ArithOp::Div | ArithOp::IntDiv => return None,
            }),
            _ => None,
        };
        nulls.push(value.is_none(), row);
        values.push(value.unwrap_or(0));
    }
    Some(Operand::Column(Cow::Owned(values), Cow::Owned(nulls)))
}

/// Calls that make signed integers for every row; `None`: this needs to go row by row.
pub(crate) fn column<'p>(expr: &'p Expr, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Option<Column> {
    match (&expr.kind, operand(expr, batch, cx)?) {
        (ExprKind::Call(..), Operand::Column(values, nulls)) => {
            Some(Column::Int(values.into_owned(), nulls.into_owned()))
        }
        _ => None,
    }
}

/// The rows for which a comparison of signed integers holds.
pub(crate) fn select_compared<'p>(
    op: CompareOp,
    args: &'p [Expr; 2],
    batch: &Batch,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Option<Vec<u32>> {
    // The loops compute values for all rows of the batch.
    if op == CompareOp::NullSafeEq || rows.is_empty() {
        return None;
    }
    let (a, b) = (operand(&args[0], batch, cx)?, operand(&args[1], batch, cx)?);
    Some(match (&a, &b) {
        (Operand::Constant(None), _) | (_, Operand::Constant(None)) => Vec::new(),
        (Operand::Column(values, nulls), Operand::Constant(Some(wanted))) => {
            kept(rows, |row| !nulls.get(row) && holds(op, values[row].cmp(wanted)))
        }
        (Operand::Constant(Some(wanted)), Operand::Column(values, nulls)) => {
            kept(rows, |row| !nulls.get(row) && holds(op, wanted.cmp(&values[row])))
        }
        _ => kept(rows, |row| match (a.get(row), b.get(row)) {
            (Some(a), Some(b)) => holds(op, a.cmp(&b)),
            _ => false,
        }),
    })
}

/// The rows for which a signed integer is (not) between two others.
pub(crate) fn select_between<'p>(
    negated: bool,
    args: &'p [Expr; 3],
    batch: &Batch,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Option<Vec<u32>> {
    if rows.is_empty() {
        return None;
    }
    let [value, low, high] =
        [operand(&args[0], batch, cx)?, operand(&args[1], batch, cx)?, operand(&args[2], batch, cx)?];
    Some(kept(rows, |row| {
        let (value, low, high) = (value.get(row), low.get(row), high.get(row));
        let from = value.zip(low).map(|(v, low)| v >= low);
        let to = value.zip(high).map(|(v, high)| v <= high);
        if negated { from == Some(false) || to == Some(false) } else { from == Some(true) && to == Some(true) }
    }))
}

fn kept(rows: &[u32], test: impl Fn(usize) -> bool) -> Vec<u32> {
    rows.iter().copied().filter(|row| test(*row as usize)).collect()
}
