//! Evaluation of an expression over a whole batch. Comparisons, AND, OR, CASE, LIKE, IN and exact arithmetic have loops
//! over columns (those of DECIMAL and DATE are in [`crate::typed`], of integers in [`crate::integers`]); everything
//! else goes row by row, with what is the same for all rows computed once for a batch.

use crate::{
    batch::{BATCH_BYTES, Batch, Column},
    calls,
    compare::{append_domain_key, compare, holds, truth},
    context::Cx,
    eval::{alternatives, branch_value, constant_date, constant_number, eval as eval_row, fixed, in_set_of, quietly},
    integers, long,
    lookup::InSet,
    typed,
};
use gannet_plan::expr::{CompareOp, Comparison, Expr, ExprKind};
use gannet_types::collation::LikePattern;
use gannet_types::{CollationId, Result, TimeZone, TypeId, Value, ValueRef};
use std::{borrow::Cow, cmp::Ordering};

/// The values of `expr` for every row.
pub fn eval<'p>(expr: &'p Expr, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<Column> {
    match &expr.kind {
        ExprKind::Column(n) if expr.ty.id != TypeId::DateTime && expr.ty.id != TypeId::Timestamp => {
            let column = &batch.columns[*n as usize];
            cx.computing(column.long_bytes(BATCH_BYTES))?;
            Ok(column.clone())
        }
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Register(_) => {
            Ok(Column::Constant(eval_row(expr, batch, 0, cx)?, batch.rows))
        }
        _ => {
            match &expr.kind {
                ExprKind::Call(def, args) => {
                    if let Some(column) = typed::arithmetic(expr, def, args, batch, cx) {
                        return Ok(column);
                    }
                    if expr.ty.id.is_integer()
                        && !expr.ty.unsigned
                        && let Some(column) = integers::column(expr, batch, cx)
                    {
                        return Ok(column);
                    }
                    if let Some(made) = calls::texts(expr, def, args, batch, cx) {
                        return Ok(Column::Text(made));
                    }
                    if calls::is_plain(def) {
                        return calls::eval(expr, def, args, batch, cx);
                    }
                }
                ExprKind::Case { operand: None, whens, otherwise, .. } => {
                    return case(expr, whens, otherwise.as_deref(), batch, cx);
                }
                _ => {}
            }
            let mut column = Column::for_type(&expr.ty);
            let mut counted = 0;
            for row in 0..batch.rows {
                cx.check_killed()?;
                column.push_value(eval_row(expr, batch, row, cx)?);
                let bytes = column.long_bytes(BATCH_BYTES);
                cx.computing(bytes.saturating_sub(counted))?;
                counted = bytes.max(counted);
            }
            Ok(column)
        }
    }
}

/// CASE with conditions: each is looked at for the rows that none before it has taken.
fn case<'p>(
    expr: &'p Expr,
    whens: &'p [(Expr, Expr)],
    otherwise: Option<&'p Expr>,
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Result<Column> {
    gannet_types::check_stack()?;
    let mut chosen = vec![whens.len(); batch.rows];
    let mut rest: Vec<u32> = (0..batch.rows as u32).collect();
    for (branch, (when, _)) in whens.iter().enumerate() {
        if rest.is_empty() {
            break;
        }
        let taken = select_among(when, batch, rest.clone(), cx)?;
        taken.iter().for_each(|row| chosen[*row as usize] = branch);
        rest.retain(|row| chosen[*row as usize] != branch);
    }
    let branches: Vec<Option<&'p Expr>> = whens.iter().map(|(_, then)| Some(then)).chain([otherwise]).collect();
    let steady: Vec<Option<Value>> = branches
        .iter()
        .map(|branch| match branch {
            None => Some(Value::Null),
            Some(branch) => {
                let branch: &'p Expr = branch;
                let constant = matches!(branch.kind, ExprKind::Literal(_) | ExprKind::Param(_));
                constant.then(|| quietly(cx, |cx| branch_value(expr, branch, batch, 0, cx))).flatten()
            }
        })
        .collect();
    let mut column = Column::for_type(&expr.ty);
    let mut counted = 0;
    for (row, chosen) in chosen.into_iter().enumerate() {
        cx.check_killed()?;
        match (&steady[chosen], branches[chosen]) {
            (Some(value), _) => column.push(value.as_ref()),
            (None, Some(branch)) => column.push_value(branch_value(expr, branch, batch, row, cx)?),
            (None, None) => column.push(ValueRef::Null),
        }
        let bytes = column.long_bytes(BATCH_BYTES);
        cx.computing(bytes.saturating_sub(counted))?;
        counted = bytes.max(counted);
    }
    Ok(column)
}

/// The columns of a projection; a column that is merely passed on is moved.
/// With `stored` columns pass as they are stored.
pub fn project<'p>(exprs: &'p [Expr], mut batch: Batch, stored: bool, cx: &mut Cx<'_, 'p>) -> Result<Batch> {
    cx.begin_computing();
    let mut uses = vec![0u32; batch.columns.len()];
    for expr in exprs {
        count_uses(expr, &mut uses);
    }
    let mut columns: Vec<Option<Column>> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        columns.push(match &expr.kind {
            ExprKind::Column(n) if uses[*n as usize] == 1 && (stored || is_plain(expr)) => None,
            ExprKind::Column(n) if stored => {
                let column = &batch.columns[*n as usize];
                cx.computing(column.long_bytes(BATCH_BYTES))?;
                Some(column.clone())
            }
            _ => Some(eval(expr, &batch, cx)?),
        });
    }
    let moved = columns
        .into_iter()
        .zip(exprs)
        .map(|(column, expr)| match (column, &expr.kind) {
            (Some(column), _) => column,
            (None, ExprKind::Column(n)) => {
                std::mem::replace(&mut batch.columns[*n as usize], Column::Values(Vec::new()))
            }
            (None, _) => Column::Values(Vec::new()),
        })
        .collect();
    Ok(Batch { rows: batch.rows, columns: moved })
}

/// Passing the column on changes nothing: stored timestamps have to be localised first.
fn is_plain(expr: &Expr) -> bool {
    !matches!(expr.ty.id, TypeId::DateTime | TypeId::Timestamp)
}

/// Counts direct references; anything nested counts twice, so that it never is the only use.
fn count_uses(expr: &Expr, uses: &mut [u32]) {
    match &expr.kind {
        ExprKind::Column(n) => uses[*n as usize] += 1,
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Register(_) => {}
        _ => uses.iter_mut().for_each(|n| *n += 2),
    }
}

/// The rows for which the predicate is neither 0 nor NULL.
pub fn select<'p>(predicate: &'p Expr, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    select_among(predicate, batch, (0..batch.rows as u32).collect(), cx)
}

/// Those of the given rows for which the predicate is neither 0 nor NULL.
pub(crate) fn select_among<'p>(
    predicate: &'p Expr,
    batch: &Batch,
    rows: Vec<u32>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Vec<u32>> {
    match &predicate.kind {
        ExprKind::And(args) => {
            let mut rows = rows;
            for arg in args {
                rows = select_among(arg, batch, rows, cx)?;
            }
            Ok(rows)
        }
        ExprKind::Or(args) if args.len() >= alternatives::LONG_OR => alternatives::select(args, batch, rows, cx),
        ExprKind::Or(args) => select_any(args, batch, rows, cx),
        ExprKind::Compare { op, by: Comparison::Integer, args } => {
            match integers::select_compared(*op, args, batch, &rows, cx) {
                Some(kept) => Ok(kept),
                None => select_compared(predicate, batch, rows, cx),
            }
        }
        ExprKind::Between { by: Comparison::Integer, negated, args } => {
            match integers::select_between(*negated, args, batch, &rows, cx) {
                Some(kept) => Ok(kept),
                None => select_rows(predicate, batch, rows, cx),
            }
        }
        ExprKind::Compare { op, by, args } => match typed::select_compared(*op, *by, args, batch, &rows, cx)? {
            Some(kept) => Ok(kept),
            None => select_compared(predicate, batch, rows, cx),
        },
        ExprKind::Between { by, negated, args } => {
            match typed::select_between(*by, *negated, args, batch, &rows, cx)? {
                Some(kept) => Ok(kept),
                None => select_between(predicate, batch, rows, cx),
            }
        }
        ExprKind::Call(def, args) if def.name == "LIKE" => match select_like(args, false, batch, &rows, cx)? {
            Some(kept) => Ok(kept),
            None => select_rows(predicate, batch, rows, cx),
        },
        ExprKind::Not(arg) => {
            let kept = match &arg.kind {
                ExprKind::Call(def, args) if def.name == "LIKE" => select_like(args, true, batch, &rows, cx)?,
                _ => None,
            };
            match kept {
                Some(kept) => Ok(kept),
                None => select_rows(predicate, batch, rows, cx),
            }
        }
        ExprKind::In { by, negated, arg, list, constant_list: true } if !rows.is_empty() => {
            let Some(column) = looked_up(arg, *by, batch, cx) else {
                return select_rows(predicate, batch, rows, cx);
            };
            if list.len() <= FEW
                && let Some(kept) = select_in_few(*by, list, *negated, &column, &rows, cx)?
            {
                return Ok(kept);
            }
            let set = in_set_of(*by, arg, list, cx)?;
            let kept = select_in(*by, &set, *negated, &column, rows, cx);
            cx.in_sets.get_or_insert_default().insert(list.as_ptr() as usize, set);
            kept
        }
        _ => select_rows(predicate, batch, rows, cx),
    }
}

/// The rows for which one of the conditions is true: each is looked at for the rows that none before it has taken.
fn select_any<'p>(args: &'p [Expr], batch: &Batch, rows: Vec<u32>, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    let (mut rest, mut kept) = (rows, Vec::new());
    for arg in args {
        if rest.is_empty() {
            break;
        }
        let taken = select_among(arg, batch, rest.clone(), cx)?;
        if taken.is_empty() {
            continue;
        }
        // Both are in ascending order.
        let mut next = taken.iter().peekable();
        rest.retain(|row| next.next_if_eq(&row).is_none());
        kept.extend(taken);
    }
    kept.sort_unstable();
    Ok(kept)
}

/// The values that are looked for in a list: a column, or what a loop makes of columns; `None`: this needs to go row by
/// row.
fn looked_up<'b, 'p>(arg: &'p Expr, by: Comparison, batch: &'b Batch, cx: &mut Cx<'_, 'p>) -> Option<Cow<'b, Column>> {
    match (&arg.kind, by) {
        (ExprKind::Column(n), Comparison::Integer | Comparison::String(_)) => {
            Some(Cow::Borrowed(&batch.columns[*n as usize]))
        }
        (ExprKind::Call(def, args), Comparison::String(_)) => {
            calls::texts(arg, def, args, batch, cx).map(|made| Cow::Owned(Column::Text(made)))
        }
        (ExprKind::Call(..), Comparison::Integer) if arg.ty.id.is_integer() && !arg.ty.unsigned => {
            integers::column(arg, batch, cx).map(Cow::Owned)
        }
        _ => None,
    }
}

/// Values of IN lists that short are compared one by one.
const FEW: usize = 4;

/// The rows of a column that are (not) in a short list; `None`: not for this loop.
fn select_in_few<'p>(
    by: Comparison,
    list: &'p [Expr],
    negated: bool,
    column: &Column,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Vec<u32>>> {
    let (Comparison::String(collation), Column::Text(_)) = (by, column) else { return Ok(None) };
    let mut wanted = Vec::with_capacity(list.len());
    for expr in list {
        match fixed(expr, cx) {
            Some(Value::Str(text, own)) if own.charset() == collation.charset() && text.len() < long::LONG => {
                // Most texts are told apart by a prefix.
                wanted.push((collation.get().sort_prefix(&text), text));
            }
            _ => return Ok(None),
        }
    }
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        match column.get(*row as usize) {
            ValueRef::Null => {}
            ValueRef::Str(text, own) if own.charset() == collation.charset() => {
                cx.check_killed()?;
                let prefix = collation.get().sort_prefix(text);
                let mut alike = wanted.iter().filter(|(other, _)| *other == prefix);
                if alike.any(|(_, w)| collation.compare(text, w).is_eq()) != negated {
                    kept.push(*row);
                }
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(kept))
}

/// The rows of a column that are (not) in a list. What is NULL, or is not found where the list has a NULL, is neither.
fn select_in(
    by: Comparison,
    set: &InSet,
    negated: bool,
    column: &Column,
    mut rows: Vec<u32>,
    cx: &mut Cx<'_, '_>,
) -> Result<Vec<u32>> {
    if negated && set.null {
        return Ok(Vec::new());
    }
    if let (Column::Int(values, nulls), Some(wanted)) = (column, &set.integers) {
        let found = |v: &i64| if wanted.len() <= 8 { wanted.contains(v) } else { wanted.binary_search(v).is_ok() };
        rows.retain(|row| !nulls.get(*row as usize) && found(&values[*row as usize]) != negated);
        return Ok(rows);
    }
    let (mut kept, mut key) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        cx.check_killed()?;
        key.clear();
        let value = column.get(row as usize).localize(&cx.shared.settings.time_zone);
        if append_domain_key(by, value, cx, &mut key)? && set.keys.contains(&key[..]) != negated {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The rows of a text column that are (not) like a pattern which is the same for all; `None`: this needs to go row by
/// row.
fn select_like<'p>(
    args: &'p [Expr],
    negated: bool,
    batch: &Batch,
    rows: &[u32],
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Vec<u32>>> {
    let [text, pattern] = args else { return Ok(None) };
    let (ExprKind::Column(n), true) = (&text.kind, text.ty.id.is_string() && pattern.ty.id.is_string()) else {
        return Ok(None);
    };
    let binary = text.ty.id.is_binary_string() || pattern.ty.id.is_binary_string();
    let collation = if binary { CollationId::BINARY } else { text.ty.collation };
    // Texts of another character set are converted first.
    let as_they_are = |c: CollationId| binary || c.charset() == collation.charset();
    let Some(pattern) = fixed(pattern, cx) else { return Ok(None) };
    let pattern = match pattern.as_ref() {
        ValueRef::Str(pattern, own) if as_they_are(own) => LikePattern::new(pattern, Some('\\'), collation),
        ValueRef::Null => return Ok(Some(Vec::new())),
        _ => return Ok(None),
    };
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        match batch.columns[*n as usize].get(*row as usize) {
            ValueRef::Null => {}
            ValueRef::Str(text, own) if as_they_are(own) => {
                cx.check_killed()?;
                match pattern.matches_unless(text, crate::context::stopped) {
                    Some(matches) if matches != negated => kept.push(*row),
                    Some(_) => {}
                    None => return Err(gannet_types::sql_err!(QueryInterrupted)),
                }
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(kept))
}

fn select_rows<'p>(predicate: &'p Expr, batch: &Batch, rows: Vec<u32>, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        cx.check_killed()?;
        let value = eval_row(predicate, batch, row as usize, cx)?;
        if truth(value.as_ref(), cx)? == Some(true) {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// What a comparison has on one side, where that needs no evaluation for each row.
enum Operand<'b> {
    Column(&'b Column),
    /// Of TIMESTAMPs, seen in the session's time zone.
    Local(&'b Column, &'b TimeZone),
    /// Computed for all rows of the batch.
    Computed(Column),
    Constant(Value),
}

impl Operand<'_> {
    #[inline]
    fn get(&self, row: usize) -> ValueRef<'_> {
        match self {
            Operand::Column(column) => column.get(row),
            Operand::Local(column, zone) => column.get(row).localize(zone),
            Operand::Computed(column) => column.get(row),
            Operand::Constant(value) => value.as_ref(),
        }
    }
}

fn operand<'b, 'p>(expr: &'p Expr, batch: &'b Batch, zone: &'b TimeZone, cx: &mut Cx<'_, 'p>) -> Option<Operand<'b>> {
    match &expr.kind {
        ExprKind::Column(n) if is_plain(expr) => Some(Operand::Column(&batch.columns[*n as usize])),
        ExprKind::Column(n) => Some(Operand::Local(&batch.columns[*n as usize], zone)),
        _ => fixed(expr, cx).map(Operand::Constant),
    }
}

/// Longest texts, in characters, that are computed for all rows of a batch.
const SHORT_TEXT: u32 = 1024;

/// The values of a call for all rows, where these are what an evaluation row by row would look at anyway, in a domain
/// in which comparing them tells nothing. `all`: all rows are looked at.
fn computed<'b, 'p>(
    (expr, by): (&'p Expr, Comparison),
    batch: &'b Batch,
    all: bool,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Operand<'b>>> {
    let ExprKind::Call(def, _) = &expr.kind else { return Ok(None) };
    let silent = match by {
        Comparison::Integer | Comparison::Decimal | Comparison::Double => expr.ty.id.is_numeric(),
        Comparison::String(collation) => {
            expr.ty.id.is_string() && expr.ty.length <= SHORT_TEXT && expr.ty.collation.charset() == collation.charset()
        }
        Comparison::Datetime | Comparison::Time | Comparison::Json => false,
    };
    if !all || !silent || !calls::is_plain(def) {
        return Ok(None);
    }
    eval(expr, batch, cx).map(|column| Some(Operand::Computed(column)))
}

/// The operands of a comparison of two; `None`: they have to be evaluated row by row.
fn operands<'b, 'p>(
    by: Comparison,
    args: &'p [Expr; 2],
    (batch, all): (&'b Batch, bool),
    zone: &'b TimeZone,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<[Operand<'b>; 2]>> {
    let (mut a, mut b) = match (operand(&args[0], batch, zone, cx), operand(&args[1], batch, zone, cx)) {
        (Some(a), Some(b)) => (a, b),
        // The right side is not computed where the left one is NULL.
        (None, Some(b)) => match computed((&args[0], by), batch, all, cx)? {
            Some(a) => (a, b),
            None => return Ok(None),
        },
        (Some(a @ Operand::Constant(_)), None) if !a.get(0).is_null() => {
            match computed((&args[1], by), batch, all, cx)? {
                Some(b) => (a, b),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    if by == Comparison::Datetime {
        // Texts that are compared as dates are read in ways of their own: text that stands in the statement once, text
        // in a column row by row.
        let total = cx.warnings.total();
        for (mine, of, other) in [(&mut a, &args[0], &args[1]), (&mut b, &args[1], &args[0])] {
            match mine {
                Operand::Constant(value) => constant_date(of, value, other.ty.id, cx)?,
                _ if of.ty.id.is_string() => return Ok(None),
                _ => {}
            }
        }
        if cx.warnings.total() != total {
            return Ok(None);
        }
    }
    Ok(Some([a, b]))
}

/// The rows for which a comparison holds: of columns and constants without copies of their values.
fn select_compared<'p>(predicate: &'p Expr, batch: &Batch, rows: Vec<u32>, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    let ExprKind::Compare { op, by, args } = &predicate.kind else { return select_rows(predicate, batch, rows, cx) };
    if rows.is_empty() {
        return Ok(rows);
    }
    let (zone, warned, computed) = (&cx.shared.settings.time_zone, cx.warnings.mark(), cx.computed_now());
    let all = rows.len() == batch.rows;
    let Some([mut a, mut b]) = operands(*by, args, (batch, all), zone, cx)? else {
        cx.warnings.back_to(warned);
        return select_rows(predicate, batch, rows, cx);
    };
    cx.forget_computed(computed);
    if let Some(kept) = select_by_constant(*op, *by, [&a, &b], &rows) {
        return Ok(kept);
    }
    let mut kept = Vec::with_capacity(rows.len());
    // Text among numbers is read when the first row needs it.
    let mut unread = matches!(by, Comparison::Double | Comparison::Decimal);
    for row in rows {
        cx.check_killed()?;
        if unread && !a.get(row as usize).is_null() && !b.get(row as usize).is_null() {
            for (operand, of, with) in [(&mut a, &args[0], &args[1]), (&mut b, &args[1], &args[0])] {
                if let Operand::Constant(value) = operand {
                    constant_number(*by, of, value, with, cx)?;
                }
            }
            unread = false;
        }
        let (a, b) = (a.get(row as usize), b.get(row as usize));
        let holds = match (op, a, b) {
            (CompareOp::NullSafeEq, ValueRef::Null, ValueRef::Null) => true,
            (_, ValueRef::Null, _) | (_, _, ValueRef::Null) => false,
            _ => compare(*by, a, b, cx)?.is_some_and(|order| holds(*op, order)),
        };
        if holds {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The rows for which a comparison with a constant holds, of a column of texts, or of dates with a time; `None`: not
/// for these loops.
fn select_by_constant(op: CompareOp, by: Comparison, operands: [&Operand<'_>; 2], rows: &[u32]) -> Option<Vec<u32>> {
    let (column, constant, op) = match operands {
        [Operand::Column(column) | Operand::Local(column, _), Operand::Constant(constant)] => (column, constant, op),
        [Operand::Constant(constant), Operand::Column(column) | Operand::Local(column, _)] => {
            (column, constant, op.swapped())
        }
        _ => return None,
    };
    let mut kept = Vec::with_capacity(rows.len());
    match (by, column, constant) {
        _ if op == CompareOp::NullSafeEq => return None,
        (Comparison::Datetime, Column::Values(values), Value::DateTime(wanted, _)) => {
            for row in rows {
                match &values[*row as usize] {
                    Value::DateTime(value, _) if holds(op, value.cmp(wanted)) => kept.push(*row),
                    Value::DateTime(..) | Value::Null => {}
                    _ => return None,
                }
            }
        }
        (Comparison::String(by), Column::Text(texts), Value::Str(wanted, own))
            if [texts.collation, *own].iter().all(|c| c.charset() == by.charset()) && wanted.len() < long::LONG =>
        {
            let by = by.get();
            let holds = |row: usize| !texts.nulls.get(row) && holds(op, by.compare(texts.get(row), wanted));
            kept.extend(rows.iter().copied().filter(|row| holds(*row as usize)));
        }
        _ => return None,
    }
    Some(kept)
}

/// The rows for which a value is (not) between two others, of columns and constants.
fn select_between<'p>(predicate: &'p Expr, batch: &Batch, rows: Vec<u32>, cx: &mut Cx<'_, 'p>) -> Result<Vec<u32>> {
    let zone = &cx.shared.settings.time_zone;
    let (by, negated, args) = match &predicate.kind {
        ExprKind::Between { by, negated, args } if *by != Comparison::Datetime && !rows.is_empty() => {
            (*by, *negated, args)
        }
        _ => return select_rows(predicate, batch, rows, cx),
    };
    let (Some(value), Some(low), Some(high)) =
        (operand(&args[0], batch, zone, cx), operand(&args[1], batch, zone, cx), operand(&args[2], batch, zone, cx))
    else {
        return select_rows(predicate, batch, rows, cx);
    };
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        cx.check_killed()?;
        let value = value.get(row as usize);
        let above = compare(by, value, low.get(row as usize), cx)?.map(|o| o != Ordering::Less);
        let below = compare(by, value, high.get(row as usize), cx)?.map(|o| o != Ordering::Greater);
        let holds = if negated {
            above == Some(false) || below == Some(false)
        } else {
            above == Some(true) && below == Some(true)
        };
        if holds {
            kept.push(row);
        }
    }
    Ok(kept)
}
