//! Which part of a table a row belongs to, and which parts a scan has to read.

use crate::{
    batch::{Batch, Column},
    context::Cx,
    convert, eval,
};
use gannet_plan::TableExprs;
use gannet_plan::expr::{Expr, ExprKind};
use gannet_plan::physical::{Op, PartFilter, PartScan, Physical, TableScan};
use gannet_plan::plan::{Insert, InsertSource, PlanKind};
use gannet_plan::prune::{Evaluate, PartSet, number_of, placing, prune};
use gannet_schema::Table;
use gannet_schema::partition::{Method, Numbers};
use gannet_types::{ErrorCode, Result, SqlError, TimeZone, Value, ValueRef, sql_err};
use std::io::Write;

/// The part that a row of the target at `offset` was read from, as its scan says in the last of the target's columns;
/// of a table without parts none.
pub(crate) fn read_from(table: &Table, offset: usize, batch: &Batch, row: usize) -> Result<Option<u32>> {
    if table.partitions.is_none() {
        return Ok(None);
    }
    let at = offset + table.columns.len() + usize::from(table.has_hidden_key());
    match batch.columns.get(at).map(|column| column.get(row)) {
        Some(ValueRef::UInt(part)) => Ok(u32::try_from(part).ok()),
        _ => Err(SqlError::internal("a row that is to be changed, without its part")),
    }
}

/// The table, or the part of it, that a row is in which has been read to be changed, `from` one part. Errors 1526 and
/// 1748 when it can be in none, or in none that the statement names; 1863 when it is in another part than its values
/// say, where another row may have its key. A row that the statement has written since belongs where its values say.
#[inline]
pub(crate) fn of_read_row<'p>(slot: usize, row: &[Value], from: Option<u32>, cx: &mut Cx<'_, 'p>) -> Result<&'p Table> {
    let table = &*cx.shared.plan.tables[slot].table;
    if table.partitions.is_none() {
        return Ok(table);
    }
    let part = number_of_new_row(slot, row, cx)?;
    match from {
        Some(from) if from != part => Err(misplaced(table, row, from, part)),
        _ => table.part(part),
    }
}

/// The table, or the part of it, that a row is to be written to. Errors 1526 when there is no part for it, 1748 when
/// the statement does not name its part.
#[inline]
pub(crate) fn of_new_row<'p>(slot: usize, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<&'p Table> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    if table.partitions.is_none() {
        return Ok(table);
    }
    let part = number_of_new_row(slot, row, cx)?;
    table.part(part)
}

/// As [`of_new_row`], of a table with parts: which one it is.
pub(crate) fn number_of_new_row<'p>(slot: usize, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<u32> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    let part = match locate(slot, table, row, cx)? {
        (Some(part), _) => part,
        (None, number) => return Err(no_part(table, number)),
    };
    match &plan.tables[slot].only {
        Some(only) if only.binary_search(&part).is_err() => Err(sql_err!(RowDoesNotMatchGivenPartitionSet)),
        _ => Ok(part),
    }
}

/// The part that a row of a table with parts belongs to; there may be none.
pub(crate) fn number_of_row<'p>(slot: usize, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<Option<Option<u32>>> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    match table.partitions {
        None => Ok(None),
        Some(_) => locate(slot, table, row, cx).map(|(part, _)| Some(part)),
    }
}

/// A row for which there is no part: errors that IGNORE makes warnings of.
pub(crate) fn is_unplaced(error: &SqlError) -> bool {
    matches!(error.code(), ErrorCode::NoPartitionForGivenValue | ErrorCode::RowDoesNotMatchGivenPartitionSet)
}

/// Error 1863: a row that was read is not in the part where its values belong.
#[cold]
fn misplaced(table: &Table, row: &[Value], from: u32, part: u32) -> SqlError {
    let text = told(table, 0..table.columns.len(), row);
    sql_err!(RowInWrongPartition, format_args!("{from}. Correct is {part}{text}"))
}

/// A row as errors name it: columns and their values.
pub(crate) fn told(table: &Table, columns: impl Iterator<Item = usize>, row: &[Value]) -> String {
    let mut out = Vec::new();
    for column in columns.filter(|column| !table.columns[*column].hidden) {
        let _ = write!(out, " {}:", table.columns[column].name);
        match &row[column] {
            Value::Null => out.extend_from_slice(b"NULL"),
            value => value.write_text(&mut out),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Error 1526.
fn no_part(table: &Table, number: Option<i128>) -> SqlError {
    let spread = table.partitions.as_ref().map(|p| &p.definition().spread);
    let columns = spread.is_some_and(|s| matches!(s.method, Method::Range | Method::List) && s.expression().is_none());
    match number {
        _ if columns => sql_err!(NoPartitionForGivenValue, "from column_list"),
        Some(n) => sql_err!(NoPartitionForGivenValue, n),
        None => sql_err!(NoPartitionForGivenValue, "NULL"),
    }
}

/// The part of a row, and the number by which PARTITION BY places it.
#[inline]
fn locate<'p>(
    slot: usize,
    table: &'p Table,
    row: &[Value],
    cx: &mut Cx<'_, 'p>,
) -> Result<(Option<u32>, Option<i128>)> {
    let Some(parts) = &table.partitions else { return Ok((None, None)) };
    let mut numbers = Numbers::default();
    if parts.definition().is_by_expression() {
        numbers.main = number(slot, 0, row, cx)?;
        if parts.locator().sub().is_some() {
            numbers.sub = number(slot, 1, row, cx)?;
        }
    }
    let place = parts.locator().locate(|i| row.get(i).map_or(ValueRef::Null, Value::as_ref), numbers)?;
    Ok((place, numbers.main))
}

/// The columns of a row that place it, in their places.
fn batch_of(table: &Table, row: &[Value]) -> Batch {
    let mut columns = vec![Column::Constant(Value::Null, 1); row.len()];
    for column in table.partitions.iter().flat_map(|p| p.columns()) {
        columns[*column as usize] = Column::Constant(placing(&row[*column as usize]), 1);
    }
    Batch { rows: 1, columns }
}

fn exprs<'p>(slot: usize, cx: &Cx<'_, 'p>) -> Option<&'p TableExprs> {
    let plan = cx.shared.plan;
    plan.tables[slot].exprs.as_deref()
}

/// What the expression of PARTITION BY (0) or SUBPARTITION BY (1) gives.
#[inline]
fn number<'p>(slot: usize, which: usize, row: &[Value], cx: &mut Cx<'_, 'p>) -> Result<Option<i128>> {
    let Some(expr) = exprs(slot, cx).and_then(|e| e.places[which].as_ref()) else { return Ok(None) };
    if let ExprKind::Column(n) = expr.kind {
        return Ok(row.get(n as usize).and_then(number_of));
    }
    let plan = cx.shared.plan;
    let row = batch_of(&plan.tables[slot].table, row);
    // A value that the expression cannot be computed of counts as NULL, and nobody hears of it.
    let warned = cx.warnings.mark();
    let value = eval::eval(expr, &row, 0, cx);
    cx.warnings.back_to(warned);
    Ok(number_of(&value?))
}

/// The parts that a scan has to read, with the registers and parameters as they are now.
pub(crate) fn wanted<'p>(slot: usize, scan: &'p PartScan, cx: &mut Cx<'_, 'p>) -> Result<PartSet> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    let zone: &TimeZone = &cx.shared.settings.time_zone;
    let only = plan.tables[slot].only.as_deref();
    prune(table, scan, only, zone, &mut Pruning { slot, running: true, cx })
}

/// The parts that the scans of a statement read, and those that an INSERT may write to: their names, by place in the
/// plan. What depends on rows of other tables leaves all. Error 1525 as when the statement runs.
pub fn shown_parts<'p>(cx: &mut Cx<'_, 'p>) -> Result<gannet_plan::explain::Shown> {
    crate::eval::read_dates(cx)?;
    let plan = cx.shared.plan;
    let mut scans: Vec<&'p TableScan> = Vec::new();
    plan.for_each_tree(&mut |root| collect(root, &mut scans));
    let mut shown = gannet_plan::explain::Shown::new();
    let insert = match &plan.kind {
        PlanKind::Insert(insert) => Some(insert.table),
        _ => None,
    };
    for (slot, set) in scans
        .iter()
        .filter_map(|s| s.parts.as_ref().map(|how| (s.table, Some(how))))
        .chain(insert.map(|slot| (slot, None)))
    {
        let Some(parts) = &plan.tables[slot as usize].table.partitions else { continue };
        let set = match set {
            Some(how) => {
                let table = &*plan.tables[slot as usize].table;
                let zone: &TimeZone = &cx.shared.settings.time_zone;
                prune(table, how, None, zone, &mut Pruning { slot: slot as usize, running: false, cx })?
            }
            None => inserted(slot, cx).unwrap_or_else(|| PartSet::all(parts.len())),
        };
        let only = plan.tables[slot as usize].only.as_deref();
        let named = |n: &u32| only.is_none_or(|only| only.contains(n));
        let names = set.iter().filter(named).map(|n| parts.definition().leaf_name(n as usize));
        shown.insert(slot, names.collect());
    }
    Ok(shown)
}

/// The parts of an INSERT's rows, where the statement has all values that place them.
fn inserted<'p>(slot: u32, cx: &mut Cx<'_, 'p>) -> Option<PartSet> {
    let plan = cx.shared.plan;
    let PlanKind::Insert(insert) = &plan.kind else { return None };
    let InsertSource::Values(rows) = &insert.source else { return None };
    let table = &*plan.tables[slot as usize].table;
    if !insert.on_duplicate.is_empty() || !table.triggers.is_empty() {
        return None;
    }
    let warned = cx.warnings.mark();
    let parts = each_part(slot, insert, rows, cx);
    cx.warnings.back_to(warned);
    parts
}

fn each_part<'p>(
    slot: u32,
    insert: &'p Insert,
    rows: &'p [Box<[Option<Expr>]>],
    cx: &mut Cx<'_, 'p>,
) -> Option<PartSet> {
    let table = &*cx.shared.plan.tables[slot as usize].table;
    let parts = table.partitions.as_ref()?;
    let mut set = PartSet::none(parts.len());
    for list in rows {
        let mut row = vec![Value::Null; table.columns.len()];
        for column in parts.columns() {
            let place = insert.columns.iter().position(|c| c == column)?;
            let value = list[place].as_ref().filter(|e| e.is_execution_constant())?;
            let value = eval::eval(value, &Batch::one_empty_row(), 0, cx).ok()?;
            let column = *column as usize;
            if !value.is_null() {
                row[column] = convert::store(value.as_ref(), &table.name, &table.columns[column], 1, cx).ok()?;
            }
        }
        set.insert(number_of_row(slot as usize, &row, cx).ok()???);
    }
    Some(set)
}

fn collect<'p>(node: &'p Physical, scans: &mut Vec<&'p TableScan>) {
    if let Op::TableScan(scan) = &node.op {
        scans.push(scan);
    }
    node.for_each_input(|input| collect(input, scans));
}

struct Pruning<'c, 'e, 'p> {
    slot: usize,
    /// Registers have their values.
    running: bool,
    cx: &'c mut Cx<'e, 'p>,
}

impl<'p> Evaluate<'p> for Pruning<'_, '_, 'p> {
    fn value(&mut self, e: &'p Expr) -> Result<Value> {
        eval::eval(e, &Batch::one_empty_row(), 0, self.cx)
    }

    fn number(&mut self, which: usize, row: &[Value]) -> Result<Option<i128>> {
        number(self.slot, which, row, self.cx)
    }

    fn knows(&self, filter: &PartFilter) -> bool {
        let mut known = true;
        let varies = |e: &Expr| matches!(e.kind, ExprKind::Register(_) | ExprKind::Subquery(_));
        filter.ranges.for_each_value(&mut |e| known &= !e.any(&mut |e| varies(e)));
        self.running || known
    }

    fn expression(&self, which: usize) -> Option<&Expr> {
        exprs(self.slot, self.cx)?.places[which].as_ref()
    }
}
