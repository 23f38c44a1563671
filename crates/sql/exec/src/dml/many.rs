//! INSERT and REPLACE of many rows of literals, which go from the text into the table without a tree of syntax.

use super::Affected;
use super::bulk::ENOUGH;
use super::insert::{Run, way};
use crate::context::Cx;
use gannet_parser::LexMode;
use gannet_parser::rows::{Cell, CellKind, ManyRows};
use gannet_plan::cell_value;
use gannet_plan::plan::{Insert, InsertSource};
use gannet_plan::{Plan, PlanKind};
use gannet_schema::Table;
use gannet_types::{CollationId, Result, SqlError, Value};

/// Rows of literals.
pub struct Literals<'a> {
    /// Where they are.
    pub rows: &'a ManyRows,
    /// The statement.
    pub text: &'a [u8],
    /// How it is read.
    pub mode: LexMode,
    /// Of its literals.
    pub collation: CollationId,
}

/// The insertion of a plan that was made for one row of as many values.
fn target(plan: &Plan, width: usize) -> Option<&Insert> {
    let PlanKind::Insert(insert) = &plan.kind else { return None };
    let InsertSource::Values(lists) = &insert.source else { return None };
    let whole = matches!(&**lists, [list] if list.len() == width && list.iter().all(Option::is_some));
    (whole && insert.columns.len() == width).then_some(insert)
}

/// Whether the rows can be put in by this plan: a hexadecimal literal is a number to a column of numbers, for which it
/// needs an expression.
pub fn takes_rows(plan: &Plan, rows: &ManyRows) -> bool {
    let Some(insert) = target(plan, rows.width) else { return false };
    let table = &plan.tables[insert.table as usize].table;
    let number: Vec<bool> = insert.columns.iter().map(|c| table.columns[*c as usize].ty.id.is_numeric()).collect();
    !rows.hex || !rows.rows().any(|row| row.iter().zip(&number).any(|(c, n)| *n && c.kind == CellKind::Hex))
}

/// Puts rows of literals in by a plan that [`takes_rows`].
pub fn insert_rows<'p>(literals: &Literals<'_>, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    let plan: &'p Plan = cx.shared.plan;
    let Some(insert) = target(plan, literals.rows.width) else {
        return Err(SqlError::internal("rows of literals for another plan"));
    };
    let table = &*plan.tables[insert.table as usize].table;
    cx.ignore = insert.ignore;
    cx.strict = cx.shared.settings.sql_mode.is_strict() && !cx.ignore;
    let mut run = Run::new(insert, table, literals.rows.count() as u64);
    way::await_rows(&mut run, literals.rows.count() >= ENOUGH, cx)?;
    let outcome = each_row(literals, (table, insert), &mut run, cx);
    way::ended(&mut run, outcome, cx)?;
    Ok(run.finish(cx))
}

fn each_row<'p>(
    literals: &Literals<'_>,
    target: (&Table, &Insert),
    run: &mut Run<'p>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let mut buffer = Vec::new();
    for cells in literals.rows.rows() {
        let row = row_from_cells(run, target, cells, literals, &mut buffer, cx)?;
        run.store(row, None, cx)?;
        cx.check_interrupt()?;
    }
    Ok(())
}

/// A row from literals, one for each column that the statement names.
fn row_from_cells<'p>(
    run: &mut Run<'p>,
    (table, insert): (&Table, &Insert),
    cells: &[Cell],
    literals: &Literals<'_>,
    buffer: &mut Vec<u8>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Vec<Value>> {
    let mut row = vec![None; table.columns.len()];
    for (cell, column) in cells.iter().zip(&insert.columns) {
        let value = cell_value(cell, literals.text, (literals.mode, literals.collation), buffer);
        row[*column as usize] = Some(run.convert(value, *column as usize, false, cx)?);
    }
    run.complete(row, cx)
}
