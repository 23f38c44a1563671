//! Subqueries in expressions.

use crate::{
    batch::Batch,
    compare::{append_domain_key, compare, holds},
    context::{Cx, SubqueryState},
    eval,
    lookup::{Answer, Members},
    numbered::Numbered,
    ops,
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
    let outcome = run(&mut state, query, enough, cx).and_then(|answer| fold(&query.kind, answer, batch, row, cx));
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
    let outcome = run(&mut state, query, 2, cx).and_then(|answer| match &answer.rows[..] {
        [_, _, ..] => too_many(cx).map(|()| None),
        rows => Ok(rows.first().cloned()),
    });
    cx.subqueries[number] = state;
    outcome
}

/// The subplan's answer for the present registers (its first `enough` rows): the one that is kept, or a new one.
fn run<'p, 's>(
    state: &'s mut SubqueryState<'p>,
    query: &'p Subquery,
    enough: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<&'s mut Answer> {
    let plan = cx.shared.plan;
    let subplan = &plan.subplans[query.subplan as usize];
    let versions = cx.register_versions(&subplan.depends);
    let SubqueryState { operator, answer } = state;
    if subplan.steady && answer.as_ref().is_some_and(|kept| kept.versions == versions) {
        let kept = answer.as_mut().expect("there is one, as was just seen");
        kept.asked_again = true;
        return Ok(kept);
    }
    gannet_types::check_stack()?;
    let held = answer.take().map_or(0, |old| bytes(&old.rows) + old.members.map_or(0, |m| m.keys.held()));
    cx.release(held);
    let operator = match operator {
        Some(operator) => operator,
        none => none.insert(ops::build(&subplan.root, cx.profile.is_some())?),
    };
    operator.open(cx)?;
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(cx)? {
        cx.check_interrupt()?;
        for r in 0..batch.rows {
            let mut row = batch.row_values(r);
            // Outside they are local times, as columns are.
            let instants = row.iter_mut().filter(|v| matches!(v, Value::Timestamp(..)));
            instants.for_each(|v| *v = v.as_ref().localize(&cx.shared.settings.time_zone).to_owned());
            rows.push(row);
        }
        cx.reserve(batch.memory_bytes())?;
        if rows.len() >= enough {
            break;
        }
    }
    Ok(answer.insert(Answer { versions, rows, asked_again: false, members: None }))
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
    answer: &mut Answer,
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    match kind {
        SubqueryKind::Scalar | SubqueryKind::Column(_) => match &answer.rows[..] {
            [] => Ok(Value::Null),
            [one] => {
                let column = if let SubqueryKind::Column(i) = kind { *i as usize } else { 0 };
                Ok(one.get(column).cloned().unwrap_or(Value::Null))
            }
            _ => too_many(cx).map(|()| Value::Null),
        },
        SubqueryKind::Exists { negated } => Ok(Value::from(answer.rows.is_empty() == *negated)),
        SubqueryKind::In { needle, by, negated } => {
            let mut wanted = Vec::with_capacity(needle.len());
            for expr in needle {
                wanted.push(eval::eval(expr, batch, row, cx)?);
            }
            let found = is_in(&wanted, answer, by, cx)?;
            Ok(found.map_or(Value::Null, |yes| Value::from(yes != *negated)))
        }
        SubqueryKind::Quantified { needle, by, op, all } => {
            let wanted = eval::eval(needle, batch, row, cx)?;
            if answer.asked_again && answer.rows.len() > FEW {
                keep_extremes(answer, *by, (*op, *all), cx)?;
            }
            quantified(&wanted, &answer.rows, *by, *op, *all, cx)
        }
    }
}

/// So many rows are compared one by one.
const FEW: usize = 8;

/// `wanted IN (rows)` in three-valued logic. Rows that are asked again are looked up by their keys.
fn is_in(wanted: &[Value], answer: &mut Answer, by: &[Comparison], cx: &mut Cx<'_, '_>) -> Result<Option<bool>> {
    if answer.asked_again && answer.members.is_none() && answer.rows.len() > FEW {
        answer.members = Some(members(&answer.rows, by, cx)?);
    }
    let Some(members) = &answer.members else { return any_equal(wanted, answer.rows.iter(), by, cx) };
    match (key_of(wanted, by, cx)?, by) {
        (Some(key), _) if members.keys.contains(&key) => Ok(Some(true)),
        // Where nothing else is compared, one NULL says what many do.
        (Some(_), [_]) => Ok(if members.open.is_empty() { Some(false) } else { None }),
        (None, [_]) => Ok(None),
        (Some(_), _) => any_equal(wanted, members.open.iter().map(|n| &answer.rows[*n as usize]), by, cx),
        (None, _) => any_equal(wanted, answer.rows.iter(), by, cx),
    }
}

fn any_equal<'r>(
    wanted: &[Value],
    rows: impl Iterator<Item = &'r Vec<Value>>,
    by: &[Comparison],
    cx: &mut Cx<'_, '_>,
) -> Result<Option<bool>> {
    let mut answer = Some(false);
    for candidate in rows {
        match row_equal(wanted, candidate, by, cx)? {
            Some(true) => return Ok(Some(true)),
            None => answer = None,
            Some(false) => {}
        }
    }
    Ok(answer)
}

/// The bytes of a row in the domains of its comparisons; `None` where it has a NULL there.
fn key_of(row: &[Value], by: &[Comparison], cx: &mut Cx<'_, '_>) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::new();
    for (value, by) in row.iter().zip(by) {
        if !append_domain_key(*by, value.as_ref(), cx, &mut key)? {
            return Ok(None);
        }
    }
    Ok(Some(key))
}

fn members(rows: &[Vec<Value>], by: &[Comparison], cx: &mut Cx<'_, '_>) -> Result<Members> {
    let mut members = Members { keys: Numbered::default(), open: Vec::new() };
    for (n, row) in rows.iter().enumerate() {
        match key_of(row, by, cx)? {
            Some(key) => {
                cx.worked(key.len() + 32)?;
                if members.keys.insert(&key).1 {
                    cx.reserve(Numbered::cost(key.len()))?;
                }
            }
            None => members.open.push(n as u32),
        }
    }
    Ok(members)
}

/// Keeps of many rows that are asked again the least, the greatest, and one that is not known: whether a value is
/// below, above, all of them or another than one of them is told by these.
fn keep_extremes(answer: &mut Answer, by: Comparison, (op, all): (CompareOp, bool), cx: &mut Cx<'_, '_>) -> Result<()> {
    let told = match op {
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => true,
        CompareOp::Eq => all,
        CompareOp::Ne => !all,
        CompareOp::NullSafeEq => false,
    };
    if !told {
        return Ok(());
    }
    let mut kept: [Option<usize>; 3] = [None; 3];
    for (n, row) in answer.rows.iter().enumerate() {
        let Some(value) = row.first().map(Value::as_ref) else { continue };
        cx.worked(value.long_bytes() + 32)?;
        if compare(by, value, value, cx)?.is_none() {
            kept[2] = Some(n);
            continue;
        }
        for (place, further) in [(0, Ordering::Less), (1, Ordering::Greater)] {
            let beyond = match kept[place] {
                Some(other) => compare(by, value, answer.rows[other][0].as_ref(), cx)? == Some(further),
                None => true,
            };
            if beyond {
                kept[place] = Some(n);
            }
        }
    }
    let rows: Vec<Vec<Value>> = kept.into_iter().flatten().map(|n| answer.rows[n].clone()).collect();
    cx.release(bytes(&answer.rows).saturating_sub(bytes(&rows)));
    answer.rows = rows;
    Ok(())
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
