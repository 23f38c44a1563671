//! How rows go into the table: one by one, or, where many come to an empty table, into trees that are built from all of
//! them. What a statement says and does is the same.

use super::Run;
use crate::codec;
use crate::context::Cx;
use crate::dml::bulk::{Bulk, ENOUGH, ENOUGH_BYTES, Unbuilt, are_simple, gives_numbers_back, is_for_building};
use crate::dml::rows;
use crate::dml::spread::{Placed, insert_spread};
use crate::error::from_engine;
use crate::place;
use gannet_telemetry::{Counter, add};
use gannet_types::error::WarningMark;
use gannet_types::{ErrorCode, Result, SqlError, Value};

/// How rows go into the table.
pub(super) enum Way<'p> {
    OneByOne,
    /// The first rows of a statement that may build the trees wait until there are enough.
    Waiting(Box<FirstRows>),
    /// Some at a time: those that are neighbours go into their leaf at once.
    Runs(Box<FirstRows>),
    /// Into trees that are built from all of them.
    Built(Box<Bulk<'p>>),
}

/// Rows of a run, and bytes of their texts.
const RUN: usize = 128;
const RUN_BYTES: usize = 64 << 10;

/// Rows that wait.
pub(super) struct FirstRows {
    rows: Vec<Waiting>,
    /// Of their texts.
    bytes: usize,
    /// What was warned of before them.
    warned: WarningMark,
}

/// A row that waits, with what the statement knows of its number.
struct Waiting {
    values: Vec<Value>,
    row_id: (u64, bool),
    last_row_id: u64,
}

/// What is said of the row, and its number, depend on the rows before, if one of them is passed over.
fn is_over(row: &Waiting, warned: WarningMark, cx: &Cx<'_, '_>) -> bool {
    row.row_id.1 || cx.warnings.total() != warned.total()
}

/// The rows to come may be built into the trees of an empty table, if they are many.
pub(in crate::dml) fn await_rows<'p>(to: &mut Run<'p>, many: bool, cx: &mut Cx<'_, 'p>) -> Result<()> {
    if !matches!(to.way, Way::OneByOne) || !are_simple(to.insert, to.table, cx)? {
        return Ok(());
    }
    let first = Box::new(FirstRows { rows: Vec::new(), bytes: 0, warned: cx.warnings.mark() });
    if many && is_for_building(to.insert, to.table, cx)? {
        to.way = Way::Waiting(first);
    } else if !gives_numbers_back(to.insert, to.table) {
        to.way = Way::Runs(first);
    }
    Ok(())
}

/// A row of a run.
pub(super) fn join<'p>(
    to: &mut Run<'p>,
    mut run: Box<FirstRows>,
    values: Vec<Value>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let row = Waiting { last_row_id: to.last_row_id, row_id: std::mem::take(&mut to.row_id), values };
    if to.insert.ignore && is_over(&row, run.warned, cx) {
        put_apart(to, &run, &row, cx)?;
        run.rows.clear();
        run.warned = cx.warnings.mark();
    } else {
        run.bytes += row.values.iter().map(Value::long_bytes).sum::<usize>();
        run.rows.push(row);
    }
    if run.rows.len() >= RUN || run.bytes >= RUN_BYTES {
        put_run(to, &run.rows, cx)?;
        run.rows.clear();
        (run.bytes, run.warned) = (0, cx.warnings.mark());
    }
    to.way = Way::Runs(run);
    Ok(())
}

/// Puts the rows of a run in. What goes wrong is what would go wrong row by row.
fn put_run<'p>(to: &mut Run<'p>, run: &[Waiting], cx: &mut Cx<'_, 'p>) -> Result<()> {
    if to.table.partitions.is_some() {
        return put_spread(to, run, cx);
    }
    let zone = &cx.shared.settings.time_zone;
    let rows: Vec<&[Value]> = run.iter().map(|row| &row.values[..]).collect();
    let mut put = 0;
    while put < rows.len() {
        let before = cx.txn.get()?.savepoint();
        let n = match rows::insert_run(to.table, &rows[put..], zone, &mut cx.row_writer()?) {
            Ok(n) => n,
            // One of the rows is to be passed over: which one shows row by row.
            Err(e) if to.insert.ignore && e.code() == ErrorCode::DupEntry => {
                cx.txn.get()?.rollback_to(before).map_err(from_engine)?;
                return run[put..].iter().try_for_each(|row| put_single(to, row, cx));
            }
            Err(e) => return Err(e),
        };
        are_in(to, &run[put..put + n], cx)?;
        put += n;
        if n == 0 {
            put_single(to, &run[put], cx)?;
            put += 1;
        }
    }
    Ok(())
}

/// These rows are in.
fn are_in<'p>(to: &mut Run<'p>, rows: &[Waiting], cx: &mut Cx<'_, 'p>) -> Result<()> {
    add(Counter::HandlerWrite, rows.len() as u64);
    for row in rows {
        (to.row_id, to.last_row_id) = (row.row_id, row.last_row_id);
        to.affected += 1;
        to.raise_counter(cx)?;
        to.stored();
    }
    Ok(())
}

/// Puts the rows of a run into the parts of a table. Where one of them is in the way of another one, or has no part,
/// what becomes of it shows row by row.
fn put_spread<'p>(to: &mut Run<'p>, run: &[Waiting], cx: &mut Cx<'_, 'p>) -> Result<()> {
    let (slot, mut rest) = (to.insert.table as usize, run);
    while !rest.is_empty() {
        let mut placed = Vec::with_capacity(rest.len());
        for row in rest {
            let Ok(number) = place::number_of_new_row(slot, &row.values, cx) else { break };
            let part = to.table.part(number)?;
            // What the row's way will ask of the definition itself.
            gannet_base::prefetch(&part.opened, 0..1);
            gannet_base::prefetch(&part.row_log, 0..1);
            placed.push(Placed { number, part, values: &row.values });
        }
        let (rows, next) = rest.split_at(placed.len());
        let before = cx.txn.get()?.savepoint();
        if insert_spread(&placed, &mut cx.row_writer()?)? {
            are_in(to, rows, cx)?;
        } else {
            cx.txn.get()?.rollback_to(before).map_err(from_engine)?;
            rows.iter().try_for_each(|row| put_single(to, row, cx))?;
        }
        rest = next;
        if let [unplaced, next @ ..] = rest {
            put_single(to, unplaced, cx)?;
            rest = next;
        }
    }
    Ok(())
}

fn put_single<'p>(to: &mut Run<'p>, row: &Waiting, cx: &mut Cx<'_, 'p>) -> Result<()> {
    (to.row_id, to.last_row_id) = (row.row_id, row.last_row_id);
    to.put(row.values.clone(), None, cx)
}

/// Puts the rows in that wait, and then one of which something was said: what is said of them goes before that.
fn put_apart<'p>(to: &mut Run<'p>, before: &FirstRows, row: &Waiting, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let mut own = cx.warnings.take_since(before.warned);
    put_run(to, &before.rows, cx)?;
    cx.warnings.append(&mut own);
    put_single(to, row, cx)
}

/// A row comes while others wait.
pub(super) fn wait<'p>(
    to: &mut Run<'p>,
    mut first: Box<FirstRows>,
    values: Vec<Value>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let row = Waiting { last_row_id: to.last_row_id, row_id: std::mem::take(&mut to.row_id), values };
    if to.insert.ignore && is_over(&row, first.warned, cx) {
        return put_apart(to, &first, &row, cx);
    }
    first.bytes += row.values.iter().map(Value::long_bytes).sum::<usize>();
    first.rows.push(row);
    if first.rows.len() < ENOUGH && first.bytes < ENOUGH_BYTES {
        to.way = Way::Waiting(first);
        return Ok(());
    }
    let Some(bulk) = Bulk::of_empty(to.insert, to.table, cx)? else {
        put_run(to, &first.rows, cx)?;
        first.rows.clear();
        (first.bytes, first.warned) = (0, cx.warnings.mark());
        to.way = Way::Runs(first);
        return Ok(());
    };
    to.way = Way::Built(Box::new(bulk));
    first.rows.into_iter().try_for_each(|row| put_waiting(to, row, cx))
}

/// The source has no more rows, or has failed: then what is wrong with a row before comes first.
pub(in crate::dml) fn ended<'p>(to: &mut Run<'p>, outcome: Result<()>, cx: &mut Cx<'_, 'p>) -> Result<()> {
    match std::mem::replace(&mut to.way, Way::OneByOne) {
        Way::OneByOne => outcome,
        Way::Runs(run) => put_run(to, &run.rows, cx).and(outcome),
        Way::Waiting(first) => put_run(to, &first.rows, cx).and(outcome),
        Way::Built(bulk) => {
            if let Err(error) = outcome {
                // What a trigger refuses comes behind what is wrong with the rows before.
                let refused = to.before && error.code() != ErrorCode::QueryInterrupted;
                let before = if refused { bulk.finish(cx).err() } else { None };
                return Err(before.unwrap_or(error));
            }
            let count = bulk.rows();
            match bulk.finish(cx)? {
                None => {
                    add(Counter::HandlerWrite, count);
                    codec::row_tree(to.table, cx.txn.get()?)?.count_inserted(count);
                }
                Some(rows) => put_unbuilt(to, rows, cx)?,
            }
            Ok(())
        }
    }
}

/// A row that has waited goes where the others go now.
fn put_waiting<'p>(to: &mut Run<'p>, row: Waiting, cx: &mut Cx<'_, 'p>) -> Result<()> {
    (to.row_id, to.last_row_id) = (row.row_id, row.last_row_id);
    match std::mem::replace(&mut to.way, Way::OneByOne) {
        Way::Built(bulk) => put_built(to, bulk, row.values, cx),
        Way::OneByOne | Way::Waiting(_) | Way::Runs(_) => to.put(row.values, None, cx),
    }
}

/// Gives a row to the trees that are built.
pub(super) fn put_built<'p>(
    to: &mut Run<'p>,
    mut bulk: Box<Bulk<'p>>,
    values: Vec<Value>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    if bulk.is_over(to.row_id.1, cx) {
        let number = to.row_id;
        let rows = bulk.leave(cx)?;
        let mut own = cx.warnings.take_since(rows.warned);
        put_unbuilt(to, rows, cx)?;
        cx.warnings.append(&mut own);
        to.row_id = number;
        return to.put(values, None, cx);
    }
    bulk.row(&values, cx)?;
    to.way = Way::Built(bulk);
    to.affected += 1;
    to.raise_counter(cx)?;
    to.stored();
    Ok(())
}

/// Rows are built into trees.
pub(in crate::dml) fn is_built(to: &Run<'_>) -> bool {
    matches!(to.way, Way::Built(_))
}

/// The rows so far are of so many bytes, of so many in all: what is to be done can be guessed.
pub(in crate::dml) fn foresee(to: &mut Run<'_>, bytes: (u64, u64)) {
    if let Way::Built(bulk) = &mut to.way {
        bulk.foresee(bytes);
    }
}

/// Gives the trees a row that is encoded, with its AUTO_INCREMENT value, 0 without; only where they
/// [are built](is_built). Afterwards [`raise_to`] has to be told of the greatest value.
pub(in crate::dml) fn put_made<'p>(
    to: &mut Run<'p>,
    row: (&[u8], &[u8]),
    number: u64,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let Way::Built(bulk) = &mut to.way else {
        return Err(SqlError::internal("an encoded row for a table that is not built"));
    };
    to.records += 1;
    to.last_row_id = number;
    bulk.made(row, cx)?;
    to.affected += 1;
    to.any_stored = true;
    Ok(())
}

/// Rows have AUTO_INCREMENT values up to this one.
pub(in crate::dml) fn raise_to<'p>(to: &mut Run<'p>, number: u64, cx: &mut Cx<'_, 'p>) -> Result<()> {
    if number == 0 {
        return Ok(());
    }
    to.given = to.given.max(number);
    to.pass(number, cx.shared.settings.auto_increment_increment.max(1));
    to.row_id = (number, false);
    to.raise_counter(cx)?;
    to.row_id = (0, false);
    Ok(())
}

/// Puts rows in one by one that were to be built into trees. All that the statement has put in so far is among
/// them.
fn put_unbuilt<'p>(to: &mut Run<'p>, rows: Unbuilt, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let last = to.last_row_id;
    (to.affected, to.any_stored) = (0, false);
    rows.each(to.table, |values| {
        to.row_id = (to.number_of(&values), false);
        to.put(values, None, cx)
    })?;
    to.last_row_id = last;
    Ok(())
}
