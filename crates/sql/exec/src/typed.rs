//! Loops over columns of DECIMAL and DATE: comparison with constants, and sums, differences and products of exact
//! numbers; and comparisons of single values with constants, for scans.
//!
//! They return what the evaluation row by row returns, or nothing, and the caller then evaluates row by row. They
//! return nothing for what their types leave open (a value of another type in the column, an invalid date), and for
//! results out of range, whose error names the expression.

use crate::batch::{Batch, Column};
use crate::bound::{Bound, Test, is_real};
use crate::compare::holds;
use crate::context::Cx;
use crate::eval::{constant_date, fixed, quietly};
use gannet_functions::{FunctionDef, Kernel};
use gannet_plan::expr::{CompareOp, Comparison, Expr, ExprKind};
use gannet_types::convert::arith::{ArithOp, Domain, arith_type};
use gannet_types::{Decimal, ErrorCode, Result, TypeId, Value, ValueRef};
use std::cmp::Ordering;

/// `1999-12-31`: text that is read as a date without any warning.
fn is_plain_date(text: &[u8]) -> bool {
    text.len() == 10
        && text.iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
}

/// The constant that values of `column` are compared with, if there is a loop for them.
fn bound<'p>(by: Comparison, column: &Expr, other: &'p Expr, cx: &mut Cx<'_, 'p>) -> Result<Option<Bound>> {
    let Some(value) = fixed(other, cx) else { return Ok(None) };
    Ok(match (by, &value) {
        (Comparison::Integer, Value::Int(n)) => Some(Bound::Int(*n)),
        (Comparison::Decimal, Value::Decimal(d)) => Some(Bound::Decimal(*d)),
        (Comparison::Decimal, Value::Int(n)) => Some(Bound::Decimal(Decimal::from_i64(*n))),
        (Comparison::Datetime, Value::Date(_) | Value::DateTime(..) | Value::Str(..))
            if column.ty.id == TypeId::Date =>
        {
            if matches!(&value, Value::Str(text, _) if !is_plain_date(text)) {
                return Ok(None);
            }
            let mut value = value.clone();
            constant_date(other, &mut value, column.ty.id, cx)?;
            match value {
                Value::Date(d) if is_real(d) => Some(Bound::Day(d, Ordering::Equal)),
                Value::DateTime(at, _) if is_real(at.date()) => {
                    let midnight = at.date().to_datetime();
                    Some(Bound::Day(at.date(), midnight.cmp(&at)))
                }
                _ => None,
            }
        }
        _ => None,
    })
}

/// The column of `expr`, if it is one whose values have loops.
fn column_of<'b>(expr: &Expr, batch: &'b Batch) -> Option<&'b Column> {
    match &expr.kind {
        ExprKind::Column(n) if expr.ty.id == TypeId::Decimal || expr.ty.id == TypeId::Date => {
            Some(&batch.columns[*n as usize])
        }
        _ => None,
    }
}

/// The conditions that `filter` begins with, as far as they compare a column with a constant: those behind them are not
/// evaluated for rows that fail these.
pub(crate) fn leading_tests<'p>(filter: &'p Expr, cx: &mut Cx<'_, 'p>) -> Vec<Test> {
    let conditions = match &filter.kind {
        ExprKind::And(conditions) => &conditions[..],
        _ => std::slice::from_ref(filter),
    };
    conditions.iter().map_while(|condition| tests(condition, cx)).flatten().collect()
}

fn tests<'p>(condition: &'p Expr, cx: &mut Cx<'_, 'p>) -> Option<Vec<Test>> {
    let mut test = |by, column: &Expr, op, other: &'p Expr| {
        let ExprKind::Column(n) = column.kind else { return None };
        let bound = quietly(cx, |cx| bound(by, column, other, cx))??;
        Some(Test { column: n as usize, op, bound })
    };
    match &condition.kind {
        ExprKind::Compare { op, by, args } => {
            let [left, right] = &**args;
            Some(vec![match left.kind {
                ExprKind::Column(_) => test(*by, left, *op, right)?,
                _ => test(*by, right, op.swapped(), left)?,
            }])
        }
        ExprKind::Between { by, negated: false, args } => {
            let [column, low, high] = &**args;
            Some(vec![test(*by, column, CompareOp::Ge, low)?, test(*by, column, CompareOp::Le, high)?])
        }
        _ => None,
    }
}

/// The rows whose column compares with a constant as `op` says; `None`: this needs to go row by row.
pub(crate) fn select_compared<'p>(
    op: CompareOp,
    by: Comparison,
    args: &'p [Expr; 2],
    batch: &Batch,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Vec<u32>>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let (column, other, op) = match (column_of(&args[0], batch), column_of(&args[1], batch)) {
        (Some(_), None) => (&args[0], &args[1], op),
        (None, Some(_)) => (&args[1], &args[0], op.swapped()),
        _ => return Ok(None),
    };
    let Some(bound) = bound(by, column, other, cx)? else { return Ok(None) };
    Ok(column_of(column, batch).and_then(|values| {
        keep(rows, |row| Ok(bound.order_of(values.get(row))?.is_some_and(|order| holds(op, order))))
    }))
}

/// The rows whose column is (not) between two constants; `None`: this needs to go row by row.
pub(crate) fn select_between<'p>(
    by: Comparison,
    negated: bool,
    args: &'p [Expr; 3],
    batch: &Batch,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Vec<u32>>> {
    let Some(values) = column_of(&args[0], batch).filter(|_| !rows.is_empty()) else { return Ok(None) };
    // Text that is no date gets its warning, and counts as the zero date, row by row.
    let mut known = |other: &'p Expr| match bound(by, &args[0], other, cx) {
        Err(error) if error.code() == ErrorCode::WrongValue => Ok(None),
        outcome => outcome,
    };
    let Some(low) = known(&args[1])? else { return Ok(None) };
    let Some(high) = known(&args[2])? else { return Ok(None) };
    Ok(keep(rows, |row| {
        let value = values.get(row);
        let (Some(from), Some(to)) = (low.order_of(value)?, high.order_of(value)?) else { return Ok(false) };
        Ok((from != Ordering::Less && to != Ordering::Greater) != negated)
    }))
}

fn keep(rows: &[u32], test: impl Fn(usize) -> std::result::Result<bool, ()>) -> Option<Vec<u32>> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        if test(*row as usize).ok()? {
            kept.push(*row);
        }
    }
    Some(kept)
}

/// An operand of exact arithmetic.
enum Operand<'b> {
    Column(&'b Column),
    Made(Vec<Option<Decimal>>),
    Constant(Decimal),
}

impl Operand<'_> {
    /// `Err`: not for this loop; `Ok(None)`: NULL.
    #[inline]
    fn get(&self, row: usize) -> std::result::Result<Option<Decimal>, ()> {
        match self {
            Operand::Constant(d) => Ok(Some(*d)),
            Operand::Made(values) => Ok(values[row]),
            Operand::Column(column) => match column.get(row) {
                ValueRef::Null => Ok(None),
                ValueRef::Decimal(d) => Ok(Some(d)),
                ValueRef::Int(n) => Ok(Some(Decimal::from_i64(n))),
                _ => Err(()),
            },
        }
    }
}

fn operand<'b, 'p>(expr: &'p Expr, batch: &'b Batch, cx: &mut Cx<'_, 'p>) -> Option<Operand<'b>> {
    match &expr.kind {
        ExprKind::Column(n) if expr.ty.id == TypeId::Decimal || expr.ty.id.is_integer() => {
            Some(Operand::Column(&batch.columns[*n as usize]))
        }
        ExprKind::Call(def, args) if operator(def).is_some() => {
            Some(Operand::Made(compute(expr, def, args, batch, cx)?))
        }
        _ => match fixed(expr, cx)? {
            Value::Decimal(d) => Some(Operand::Constant(d)),
            Value::Int(n) => Some(Operand::Constant(Decimal::from_i64(n))),
            _ => None,
        },
    }
}

/// Sums, differences and products of exact numbers for every row; `None`: this needs to go row by row.
pub(crate) fn arithmetic<'p>(
    expr: &Expr,
    def: &FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Option<Column> {
    let values = compute(expr, def, args, batch, cx)?;
    Some(Column::Values(values.into_iter().map(|v| v.map_or(Value::Null, Value::Decimal)).collect()))
}

/// Arithmetic that has loops.
pub(crate) fn operator(def: &FunctionDef) -> Option<ArithOp> {
    match def.kernel {
        Kernel::Add => Some(ArithOp::Add),
        Kernel::Subtract => Some(ArithOp::Sub),
        Kernel::Multiply => Some(ArithOp::Mul),
        Kernel::Remainder => Some(ArithOp::Mod),
        Kernel::General | Kernel::FirstKnown | Kernel::Repeat => None,
    }
}

fn compute<'p>(
    expr: &Expr,
    def: &FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Option<Vec<Option<Decimal>>> {
    let (op, [left, right]) = (operator(def)?, args) else { return None };
    let settings = cx.shared.settings;
    if expr.ty.id != TypeId::Decimal
        || op == ArithOp::Mod
        || gannet_types::check_stack().is_err()
        || arith_type(op, &left.ty, &right.ty, settings.sql_mode, settings.div_precision_increment).1 != Domain::Decimal
    {
        return None;
    }
    let (a, b) = (operand(left, batch, cx)?, operand(right, batch, cx)?);
    let mut values = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        values.push(match (a.get(row).ok()?, b.get(row).ok()?) {
            (Some(a), Some(b)) => Some(match op {
                ArithOp::Add => a.checked_add(&b)?,
                ArithOp::Sub => a.checked_sub(&b)?,
                ArithOp::Mul => a.checked_mul(&b)?,
                ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod => return None,
            }),
            _ => None,
        });
    }
    Some(values)
}
