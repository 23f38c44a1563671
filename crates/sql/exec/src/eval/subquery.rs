//! Subqueries in expressions.

use crate::{
    batch::Batch,
    compare::{compare, holds},
    context::{Cx, SubqueryState},
    eval, ops,
};
use gannet_plan::expr::{CompareOp, Comparison, ExprKind, Subquery, SubqueryKind};
use gannet_types::{Level, Result, Value, sql_err};
use std::cmp::Ordering;

/// Evaluates a subquery expression over a row of its owner.
pub(crate) fn eval<'p>(query: &'p Subquery, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    cx.bind(&query.binds, batch, row)?;
    let enough = match query.kind {
        SubqueryKind::Exists { .. } => 1,
        SubqueryKind::Scalar | SubqueryKind::Column(_) => 2,
        SubqueryKind::In { .. } | SubqueryKind::Quantified { .. } => usize::MAX,
    };
    let number = query.subplan as usize;
    let mut state = std::mem::take(&mut cx.subqueries[number]);
    let outcome = run(&mut state, query, enough, cx).and_then(|()| {
        let rows = state.result.as_ref().map_or(&[][..], |(_, rows)| rows.as_slice());
        fold(&query.kind, rows, batch, row, cx)
    });
    cx.subqueries[number] = state;
    outcome
}

/// The values of `(SELECT a, b ...)` as a row operand; `None` without a row.
pub(crate) fn eval_row<'p>(
    query: &'p Subquery,
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Vec<Value>>> {
    cx.bind(&query.binds, batch, row)?;
    let number = query.subplan as usize;
    let mut state = std::mem::take(&mut cx.subqueries[number]);
    let outcome = run(&mut state, query, 2, cx).and_then(|()| {
        let rows = state.result.as_ref().map_or(&[][..], |(_, rows)| rows.as_slice());
        if rows.len() > 1 { too_many(cx).map(|()| None) } else { Ok(rows.first().cloned()) }
    });
    cx.subqueries[number] = state;
    outcome
}

/// Makes sure that `state.result` is the subplan's result for the present registers (its first `enough` rows).
fn run<'p>(state: &mut SubqueryState<'p>, query: &'p Subquery, enough: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let plan = cx.shared.plan;
    let subplan = &plan.subplans[query.subplan as usize];
    let versions = cx.register_versions(&subplan.depends);
    if subplan.steady && state.result.as_ref().is_some_and(|(kept_for, _)| *kept_for == versions) {
        return Ok(());
    }
    gannet_types::check_stack()?;
    let held: usize = state.result.take().map_or(0, |(_, rows)| bytes(&rows));
    cx.release(held);
    let operator = match &mut state.operator {
        Some(operator) => operator,
        none => none.insert(ops::build(&subplan.root, cx.profile.is_some())?),
    };
    operator.open(cx)?;
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(cx)? {
        cx.check_interrupt()?;
        for r in 0..batch.rows {
            rows.push(batch.row_values(r));
        }
        cx.reserve(batch.memory_bytes())?;
        if rows.len() >= enough {
            break;
        }
    }
    state.result = Some((versions, rows));
    Ok(())
}

/// The error of a scalar subquery that returned two rows: 1242, under IGNORE a warning.
#[cold]
fn too_many(cx: &mut Cx<'_, '_>) -> Result<()> {
    let error = sql_err!(SubqueryNo1Row);
    if !cx.ignore {
        return Err(error);
    }
    cx.warnings.push(error.to_warning(Level::Warning));
    Ok(())
}

fn bytes(rows: &[Vec<Value>]) -> usize {
    rows.iter().flatten().map(crate::batch::value_bytes).sum()
}

fn fold<'p>(
    kind: &'p SubqueryKind,
    rows: &[Vec<Value>],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    match kind {
        SubqueryKind::Scalar | SubqueryKind::Column(_) => match rows {
            [] => Ok(Value::Null),
            [one] => {
                let column = if let SubqueryKind::Column(i) = kind { *i as usize } else { 0 };
                Ok(one.get(column).cloned().unwrap_or(Value::Null))
            }
            _ => too_many(cx).map(|()| Value::Null),
        },
        SubqueryKind::Exists { negated } => Ok(Value::from(rows.is_empty() == *negated)),
        SubqueryKind::In { needle, by, negated } => {
            let mut wanted = Vec::with_capacity(needle.len());
            for expr in needle {
                wanted.push(eval::eval(expr, batch, row, cx)?);
            }
            let mut answer = Some(false);
            for candidate in rows {
                match row_equal(&wanted, candidate, by, cx)? {
                    Some(true) => {
                        answer = Some(true);
                        break;
                    }
                    None => answer = None,
                    Some(false) => {}
                }
            }
            Ok(answer.map_or(Value::Null, |yes| Value::from(yes != *negated)))
        }
        SubqueryKind::Quantified { needle, by, op, all } => {
            let wanted = eval::eval(needle, batch, row, cx)?;
            quantified(&wanted, rows, *by, *op, *all, cx)
        }
    }
}

/// `wanted op ANY|ALL (rows)` in three-valued logic.
fn quantified(
    wanted: &Value,
    rows: &[Vec<Value>],
    by: Comparison,
    op: CompareOp,
    all: bool,
    cx: &mut Cx<'_, '_>,
) -> Result<Value> {
    let mut unknown = false;
    for candidate in rows {
        let Some(right) = candidate.first() else { continue };
        match compare(by, wanted.as_ref(), right.as_ref(), cx)? {
            None => unknown = true,
            Some(order) if holds(op, order) != all => return Ok(Value::from(!all)),
            Some(_) => {}
        }
    }
    Ok(if unknown { Value::Null } else { Value::from(all) })
}

/// Row equality: false beats unknown.
pub(crate) fn row_equal(a: &[Value], b: &[Value], by: &[Comparison], cx: &mut Cx<'_, '_>) -> Result<Option<bool>> {
    let mut answer = Some(true);
    for ((x, y), by) in a.iter().zip(b).zip(by) {
        match compare(*by, x.as_ref(), y.as_ref(), cx)? {
            Some(Ordering::Equal) => {}
            Some(_) => return Ok(Some(false)),
            None => answer = None,
        }
    }
    Ok(answer)
}

/// The subquery of an expression, if it is one.
pub(crate) fn of(kind: &ExprKind) -> Option<&Subquery> {
    match kind {
        ExprKind::Subquery(query) => Some(query),
        _ => None,
    }
}
