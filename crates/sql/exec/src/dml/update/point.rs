//! UPDATE of one row by its whole primary key: see [`crate::dml::point`].

use super::Run;
use crate::dml::{
    complete::Options,
    point::{self, Found, Tried},
    rows::{self, Conflict, Write},
};
use crate::{batch::Batch, codec, context::Cx, convert, error::from_engine, eval, foreign};
use gannet_engine::Update as Outcome;
use gannet_plan::{
    expr::{Expr, ExprKind},
    physical::TableScan,
    plan::{Assignment, Update, UpdateTarget},
};
use gannet_schema::Table;
use gannet_telemetry::{Counter, add_all};
use gannet_types::{Result, Value, rowref::RowRef};

/// The scan of an UPDATE that can take this path.
pub(crate) fn of<'p>(update: &'p Update, cx: &Cx<'_, 'p>) -> Option<(&'p TableScan, &'p Table)> {
    let [target] = &*update.targets else { return None };
    if target.offset != 0 || update.ignore || update.collect_first || target.moves {
        return None;
    }
    point::of(&update.input, target.table, cx)
}

/// Runs it. False: nothing was done, the general path has to.
pub(crate) fn run<'p>(
    run: &mut Run<'p>,
    (scan, table): (&'p TableScan, &'p Table),
    cx: &mut Cx<'_, 'p>,
) -> Result<bool> {
    let target = &run.update.targets[0];
    // Nothing but the change sink has to hear of the change: the transaction may end with it.
    let own = |i: &u32| Some(*i as usize) == table.clustered;
    let linked = foreign::matters(target.table as usize, cx);
    let alone = target.indexes.iter().all(own) && !linked && table.row_log.is_none();
    // In a function or trigger the statement around goes on, and may fail: the change is undone with it.
    let ends = alone && !cx.inner && cx.txn.get()?.options().autocommit;
    let mut payload = Vec::new();
    let ordered = |i: &u32| table.indexes[*i as usize].is_ordered();
    let mut in_place = !linked && target.indexes.iter().all(ordered) && takes_patches(target, table, cx);
    point::run((scan, table), cx, |found, cx| {
        let &Found { tree, key, stamp, .. } = found;
        if in_place {
            let warned = cx.warnings.mark();
            match patched(target, table, found, &mut payload, cx)? {
                Some(false) => return Ok(Tried::Not),
                Some(true) => {
                    let written = write_stored(target, (table, alone, ends), found, &payload, cx)?;
                    if written == Outcome::Updated {
                        (run.matched, run.changed) = (1, 1);
                    }
                    return Ok(tried(written));
                }
                None => {
                    in_place = false;
                    cx.warnings.back_to(warned);
                }
            }
        }
        let (old, batch) = (found.old()?, found.batch()?);
        run.matched = 1;
        let mut new = run.assign(target, table, old, batch, 0, cx)?;
        let options = Options { checks: &target.checks, inside: Some((batch, 0, 0)), refuses_null: false };
        let touched = super::touch(target.table as usize, old, &mut new, (&target.assignments, options), false, cx)?;
        if touched != super::Touched::Changed {
            // Unchanged rows are locked too: the general path does that.
            run.matched = 0;
            return Ok(Tried::Not);
        }
        payload.clear();
        codec::encode_row(table, &new, &mut payload)?;
        let mut to = cx.row_writer()?;
        let mark = to.mark();
        let written = if alone {
            to.rewrite(table, (tree, key, stamp), (found.payload, &payload), ends)?
        } else {
            to.txn.update_if(tree, key, stamp, &payload).map_err(from_engine)?
        };
        if written != Outcome::Updated {
            // The next look may find no row: the transaction that had made this one has undone it.
            run.matched = 0;
        } else {
            counted(cx);
            if alone {
                rows::pass_counter(table, old, &new, cx.txn.get()?)?;
                run.changed = 1;
            } else {
                follow(run, table, key, (old, &new), mark, cx)?;
            }
        }
        Ok(tried(written))
    })
}

/// A row was found and changed.
fn counted(cx: &mut Cx<'_, '_>) {
    cx.counts.examined += 1;
    add_all([(Counter::HandlerReadKey, 1), (Counter::HandlerUpdate, 1)]);
}

fn tried(written: Outcome) -> Tried {
    match written {
        Outcome::Updated => Tried::Done,
        Outcome::Changed => Tried::Late,
        Outcome::Missing => Tried::Not,
    }
}

/// The row may be changed in its stored form: its values stand for themselves, and nobody looks at the others.
fn takes_patches(target: &UpdateTarget, table: &Table, cx: &Cx<'_, '_>) -> bool {
    cx.shared.plan.tables[target.table as usize].exprs.is_none()
        && target.checks.is_empty()
        && !table.columns.iter().any(|c| c.on_update_now)
        && target.assignments.iter().all(|a| a.value.as_ref().is_some_and(Expr::is_steady))
        && !super::reads_assigned(target)
}

/// Makes the new row of the stored old one. `None`: it takes more than that; false: the row stays as it is.
fn patched<'p>(
    target: &'p UpdateTarget,
    table: &Table,
    found: &Found<'_>,
    payload: &mut Vec<u8>,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<bool>> {
    payload.clear();
    payload.extend_from_slice(found.payload);
    let mut row = None;
    for Assignment { column, value } in &target.assignments {
        let Some(expr) = value else { return Ok(None) };
        let definition = &table.columns[*column as usize];
        let constant = matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_));
        let value = if constant {
            eval::eval(expr, &Batch::default(), 0, cx)?
        } else {
            // Most statements read one column or two, of a row of many.
            let row = match &row {
                Some(row) => row,
                None => {
                    let read = target.assignments.iter().filter_map(|a| a.value.as_ref());
                    row.insert(found.batch_for(read)?)
                }
            };
            eval::eval(expr, row, 0, cx)?
        };
        if value.is_null() || expr.kind == ExprKind::Column(*column) {
            return Ok(None);
        }
        let value = convert::store(value.as_ref(), &table.name, definition, 1, cx)?;
        if !table.layout().patch(payload, *column as usize, value.as_ref())? {
            return Ok(None);
        }
    }
    Ok(Some(payload[..] != *found.payload))
}

/// Writes a row in its stored form, which no foreign key is about, and its index entries, if it is still the version
/// that was found. `alone`: it has no entries that change.
fn write_stored(
    target: &UpdateTarget,
    (table, alone, ends): (&Table, bool, bool),
    found: &Found<'_>,
    new: &[u8],
    cx: &mut Cx<'_, '_>,
) -> Result<Outcome> {
    let &Found { tree, key, stamp, payload: old, .. } = found;
    let mut to = cx.row_writer()?;
    let mark = to.mark();
    let written = if alone {
        to.rewrite(table, (tree, key, stamp), (old, new), ends)?
    } else {
        to.txn.update_if(tree, key, stamp, new).map_err(from_engine)?
    };
    if written != Outcome::Updated {
        return Ok(written);
    }
    counted(cx);
    if alone {
        return Ok(written);
    }
    let stored = |row| RowRef::Stored(table.layout(), row);
    let rows = (stored(old), stored(new));
    match rows::change_row(table, key, rows, &target.indexes, Write::Done(mark), &mut cx.row_writer()?)? {
        Conflict::None => Ok(written),
        Conflict::Duplicate { index, .. } => {
            let new = codec::decode_row(table, new)?;
            Err(rows::duplicate_error(table, index, &new, &cx.shared.settings.time_zone))
        }
    }
}

/// What follows the change of the row: index entries and foreign keys.
fn follow<'p>(
    run: &mut Run<'p>,
    table: &Table,
    key: &[u8],
    (old, new): (&[Value], &[Value]),
    mark: u64,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let target = &run.update.targets[0];
    let slot = target.table as usize;
    let rows = (old.into(), new.into());
    match rows::change_row(table, key, rows, &target.indexes, Write::Done(mark), &mut cx.row_writer()?)? {
        Conflict::None => {
            foreign::updated(slot, old, new, cx)?;
            run.changed = 1;
            Ok(())
        }
        Conflict::Duplicate { index, .. } => {
            foreign::kept(slot, index, (old, new), cx)?;
            Err(rows::duplicate_error(table, index, new, &cx.shared.settings.time_zone))
        }
    }
}
