//! What a table's own expressions make of a row: defaults, generated columns, checks.
//!
//! VIRTUAL columns are computed when the row is written, as STORED ones are, and kept in it: reading them costs
//! nothing, and they are indexed like any other column. What MySQL forbids in generated columns (anything that is not a
//! function of the row alone) is what makes the two the same.

use super::defaults;
use crate::batch::{Batch, Column};
use crate::context::Cx;
use crate::{convert, eval};
use gannet_plan::TableExprs;
use gannet_plan::{Expr, plan::ViewCheck};
use gannet_schema::{ColumnDefault, Table};
use gannet_types::error::WarningMark;
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};

fn exprs<'p>(slot: usize, cx: &Cx<'_, 'p>) -> Option<&'p TableExprs> {
    let plan = cx.shared.plan;
    plan.tables[slot].exprs.as_deref()
}

pub(crate) fn batch_of(row: &[Value]) -> Batch {
    Batch { rows: 1, columns: row.iter().map(|v| Column::Constant(v.clone(), 1)).collect() }
}

/// Value of a column whose default is an expression; other columns that it reads have their values already. `slot` is
/// the table's place in the plan, `number` the row's in the statement, for messages.
pub(crate) fn default<'p>(
    slot: usize,
    column: usize,
    row: &[Value],
    number: u64,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let plan = cx.shared.plan;
    let table = &plan.tables[slot].table;
    let definition = &table.columns[column];
    let Some(expr) = exprs(slot, cx).and_then(|e| e.defaults[column].as_ref()) else {
        return Err(SqlError::internal("a default expression is not bound"));
    };
    let value = eval::eval(expr, &batch_of(row), 0, cx)?;
    if value.is_null() && !definition.nullable {
        return Err(sql_err!(BadNull, definition.name));
    }
    convert::store(value.as_ref(), &table.name, definition, number, cx)
}

/// Fills the generated columns of a row for its BEFORE triggers, which may change what they are made of: what is wrong
/// with them shows behind the triggers.
pub(crate) fn foretell<'p>(slot: usize, row: &mut [Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
    if exprs(slot, cx).is_none_or(|e| e.generated.is_empty()) {
        return Ok(());
    }
    let (warned, strict) = (cx.warnings.mark(), std::mem::replace(&mut cx.strict, false));
    let mut made = row.to_vec();
    let outcome = generate(slot, &mut made, 1, cx);
    cx.strict = strict;
    cx.warnings.back_to(warned);
    match outcome {
        Ok(()) => row.clone_from_slice(&made),
        Err(e) if e.code() == ErrorCode::QueryInterrupted => return Err(e),
        Err(_) => {}
    }
    Ok(())
}

/// Rows of a log were computed under the modes of their statements: what these have warned of is no error now.
fn as_logged<'p, T>(cx: &mut Cx<'_, 'p>, compute: impl FnOnce(&mut Cx<'_, 'p>) -> Result<T>) -> Result<T> {
    let strict = cx.strict;
    cx.strict &= cx.shared.settings.triggers;
    let outcome = compute(cx);
    cx.strict = strict;
    outcome
}

/// Fills the generated columns of a row.
pub(crate) fn generate<'p>(slot: usize, row: &mut [Value], number: u64, cx: &mut Cx<'_, 'p>) -> Result<()> {
    as_logged(cx, |cx| fill(slot, row, number, cx))
}

fn fill<'p>(slot: usize, row: &mut [Value], number: u64, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let Some(exprs) = exprs(slot, cx).filter(|e| !e.generated.is_empty()) else { return Ok(()) };
    let plan = cx.shared.plan;
    let table = &plan.tables[slot].table;
    let mut batch = batch_of(row);
    for (column, expr) in &exprs.generated {
        let column = *column as usize;
        let definition = &table.columns[column];
        let warned = cx.warnings.mark();
        let stored = compute(table, definition, expr, &batch, number, cx);
        let stored = if definition.hidden { of_index(table, column, number, warned, stored, cx) } else { stored }?;
        batch.columns[column] = Column::Constant(stored.clone(), 1);
        row[column] = stored;
    }
    Ok(())
}

/// The value of a generated column in a row.
fn compute<'p>(
    table: &Table,
    definition: &gannet_schema::Column,
    expr: &'p Expr,
    row: &Batch,
    number: u64,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let mut value = eval::eval(expr, row, 0, cx)?;
    if value.is_null() && !definition.nullable {
        if cx.strict {
            return Err(sql_err!(BadNull, definition.name));
        }
        value = convert::zero(&definition.ty);
    }
    convert::store(value.as_ref(), &table.name, definition, number, cx)
}

/// What goes wrong with the hidden column of a functional key part is told of its index.
fn of_index<T>(
    table: &Table,
    column: usize,
    number: u64,
    warned: WarningMark,
    stored: Result<T>,
    cx: &mut Cx<'_, '_>,
) -> Result<T> {
    let has = |index: &&gannet_schema::Index| index.parts.iter().any(|part| part.column as usize == column);
    let Some(index) = table.indexes.iter().find(has) else { return stored };
    let told = |code: ErrorCode| match code {
        ErrorCode::WarnDataOutOfRange => Some(sql_err!(WarnDataOutOfRangeFunctionalIndex, index.name, number)),
        ErrorCode::WarnDataTruncated | ErrorCode::TruncatedWrongValue => {
            Some(sql_err!(WarnDataTruncatedFunctionalIndex, index.name, number))
        }
        ErrorCode::InvalidJsonValueForCast => Some(sql_err!(InvalidJsonValueForFuncIndex, index.name)),
        _ => None,
    };
    cx.warnings.replace_since(warned, |w| Some(told(w.code)?.to_warning(w.level)));
    stored.map_err(|e| told(e.code()).unwrap_or(e))
}

/// WITH CHECK OPTION of the views that a row is written through.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a, 'p> {
    pub(crate) checks: &'p [ViewCheck],
    /// The row inside which the conditions see the one that is written, behind so many columns.
    pub(crate) inside: Option<(&'a Batch, usize, usize)>,
    /// NULL that BEFORE triggers leave in a NOT NULL column is an error without strict mode too.
    pub(crate) refuses_null: bool,
}

impl Options<'_, '_> {
    fn row(&self, row: &[Value]) -> Batch {
        let Some((around, number, offset)) = self.inside else { return batch_of(row) };
        let value = |(i, c): (usize, &Column)| match i.checked_sub(offset).and_then(|i| row.get(i)) {
            Some(new) => Column::Constant(new.clone(), 1),
            None => Column::Constant(c.get(number).to_owned(), 1),
        };
        Batch { rows: 1, columns: around.columns.iter().enumerate().map(value).collect() }
    }
}

/// Error 3819 of the first check that the row violates, or 1369 of the first WITH CHECK OPTION whose condition it does
/// not meet.
pub(crate) fn violated<'p>(
    slot: usize,
    row: &[Value],
    options: Options<'_, 'p>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<SqlError>> {
    let plan = cx.shared.plan;
    let checks = exprs(slot, cx).map_or(&[][..], |e| &e.checks);
    let seen = if options.checks.is_empty() { Batch::default() } else { options.row(row) };
    for option in options.checks {
        let value = eval::eval(&option.condition, &seen, 0, cx)?;
        if crate::compare::truth(value.as_ref(), cx)? != Some(true) {
            return Ok(Some(sql_err!(ViewCheckFailed, option.view.0, option.view.1)));
        }
    }
    if checks.is_empty() {
        return Ok(None);
    }
    let batch = batch_of(row);
    for (position, expr) in checks {
        if is_false(expr, &batch, cx)? {
            let name = &plan.tables[slot].table.constraints.checks[*position as usize].name;
            return Ok(Some(sql_err!(CheckConstraintViolated, name)));
        }
    }
    Ok(None)
}

/// The row violates the check.
pub(crate) fn violates<'p>(check: &'p Expr, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<bool> {
    is_false(check, &batch_of(row), cx)
}

fn is_false<'p>(check: &'p Expr, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<bool> {
    as_logged(cx, |cx| {
        let value = eval::eval(check, batch, 0, cx)?;
        Ok(crate::compare::truth(value.as_ref(), cx)? == Some(false))
    })
}

/// DEFAULT assigned to a column of the row `row`; an expression is computed over it.
pub(crate) fn assigned<'p>(slot: usize, column: usize, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<Value> {
    let plan = cx.shared.plan;
    let table = &plan.tables[slot].table;
    if table.columns[column].generated.is_some() {
        return Ok(row[column].clone());
    }
    match table.columns[column].default {
        ColumnDefault::Expression(_) => default(slot, column, row, 1, cx),
        _ => defaults::written_value(table, column, cx),
    }
}
