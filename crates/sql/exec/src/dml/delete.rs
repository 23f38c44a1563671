//! DELETE.

use super::{
    Affected,
    point::{self, Tried},
    rows, triggers,
};
use crate::{
    batch::{Batch, Column},
    codec,
    context::{BoxedOperator, Cx},
    eval, foreign, ops, padding, place,
};
use gannet_base::hash::HashSet;
use gannet_plan::{physical::Op, plan::Delete};
use gannet_schema::TriggerEvent;
use gannet_telemetry::{Counter, add_all, count};
use gannet_types::{ErrorCode, Level, Result, Value};

/// Runs DELETE.
pub fn delete<'p>(delete: &'p Delete, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    cx.ignore = delete.ignore;
    cx.strict = cx.shared.settings.sql_mode.is_strict() && !cx.ignore;
    if let Some(one) = delete_point(delete, cx)? {
        return Ok(Affected { rows: one, ..Affected::default() });
    }
    let (mut deleted, mut most) = (0, u64::MAX);
    let mut input = &delete.input;
    if let (true, Op::Limit { input: rows, limit, .. }) = (delete.counts_deleted, &input.op) {
        most = ops::limit_value(limit.as_ref(), u64::MAX, cx)?;
        input = rows;
    }
    let mut operator = ops::build(input, false)?;
    let plan = cx.shared.plan;
    let fires = |(t, _): &(u32, u32)| plan.tables[*t as usize].table.fires(TriggerEvent::Delete);
    if delete.collect_first || delete.targets.len() > 1 || delete.targets.iter().any(fires) {
        let mut batches = collect(delete, &mut operator, cx)?;
        for batch in &batches {
            deleted += delete_batch(delete, batch, most - deleted, cx)?;
        }
        ops::release(&mut batches, cx);
    } else {
        operator.open(cx)?;
        while deleted < most
            && let Some(batch) = operator.next(cx)?
        {
            deleted += delete_batch(delete, &batch, most - deleted, cx)?;
        }
    }
    Ok(Affected { rows: deleted, ..Affected::default() })
}

/// Deletes one row by its whole primary key; `None`: nothing was done, the general path has to.
fn delete_point<'p>(delete: &'p Delete, cx: &mut Cx<'_, 'p>) -> Result<Option<u64>> {
    let [(slot, 0)] = *delete.targets else { return Ok(None) };
    if delete.ignore || delete.collect_first {
        return Ok(None);
    }
    let Some((scan, table)) = point::of(&delete.input, slot, cx) else { return Ok(None) };
    let mut deleted = 0;
    let done = point::run((scan, table), cx, |found, cx| {
        match rows::delete_if(table, found, &mut cx.row_writer()?)? {
            Tried::Done => {}
            other => return Ok(other),
        }
        cx.counts.examined += 1;
        add_all([(Counter::HandlerReadKey, 1), (Counter::HandlerDelete, 1)]);
        deleted = 1;
        foreign::deleted(slot as usize, found.old()?, cx).map(|()| Tried::Done)
    })?;
    Ok(done.then_some(deleted))
}

/// A row to delete.
struct Target {
    values: Vec<Value>,
    /// The key of a table without one of its own.
    hidden: Option<Value>,
    key: Vec<u8>,
}

/// The target's row in a joined row; `None` where an outer join has none.
fn target(slot: usize, offset: u32, batch: &Batch, row: usize, cx: &mut Cx<'_, '_>) -> Result<Option<Target>> {
    let (table, offset) = (&*cx.shared.plan.tables[slot].table, offset as usize);
    let mut values: Vec<Value> =
        (0..table.columns.len()).map(|i| batch.columns[offset + i].get(row).to_owned()).collect();
    padding::strip_row(&mut values, table, cx);
    let hidden = table.has_hidden_key().then(|| batch.columns[offset + table.columns.len()].get(row).to_owned());
    let mut key = Vec::new();
    let exists = codec::existing_row_key(table, &values, hidden.as_ref(), &mut key)?;
    Ok(exists.then_some(Target { values, hidden, key }))
}

/// The joined rows, without those whose targets were in earlier rows: a join may have far more rows than there are to
/// delete.
fn collect<'p>(delete: &'p Delete, operator: &mut BoxedOperator<'p>, cx: &mut Cx<'_, 'p>) -> Result<Vec<Batch>> {
    let (mut batches, mut held) = (Vec::new(), 0);
    let mut met: Vec<HashSet<Box<[u8]>>> = delete.targets.iter().map(|_| HashSet::default()).collect();
    operator.open(cx)?;
    while let Some(batch) = operator.next(cx)? {
        let mut kept = Vec::new();
        for row in 0..batch.rows {
            cx.check_interrupt()?;
            let mut new = false;
            for ((table, offset), met) in delete.targets.iter().zip(&mut met) {
                let Some(target) = target(*table as usize, *offset, &batch, row, cx)? else { continue };
                if !met.contains(&target.key[..]) {
                    cx.reserve(target.key.len() + 48)?;
                    held += target.key.len() + 48;
                    met.insert(target.key.into());
                    new = true;
                }
            }
            if new {
                kept.push(row as u32);
            }
        }
        if !kept.is_empty() {
            let batch = if kept.len() == batch.rows { batch } else { batch.gather(&kept) };
            cx.reserve(batch.memory_bytes())?;
            batches.push(batch);
        }
    }
    cx.release(held);
    Ok(batches)
}

/// Deletes the targets of rows, `most` of them.
fn delete_batch<'p>(delete: &'p Delete, batch: &Batch, most: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
    let plan = cx.shared.plan;
    let mut deleted = 0;
    for row in 0..batch.rows {
        cx.check_interrupt()?;
        if deleted == most {
            break;
        }
        for (table, offset) in &delete.targets {
            let slot = *table as usize;
            let Some(Target { mut values, hidden, key }) = target(slot, *offset, batch, row, cx)? else { continue };
            let table = &*plan.tables[slot].table;
            let from = place::read_from(table, *offset as usize, batch, row)?;
            let place = place::of_read_row(slot, &values, from, cx)?;
            // Rows before it may have changed it, or taken it along; with several targets a row comes again, and no
            // trigger may fire for it.
            let again = delete.targets.len() > 1 && table.fires(TriggerEvent::Delete);
            if again || foreign::follows(table, cx) {
                let Some(now) = codec::current(place, &key, cx.txn.get()?)? else { continue };
                if now != values {
                    values = now;
                    if !wanted_still(delete, &values, hidden.as_ref(), cx)? {
                        continue;
                    }
                }
            }
            triggers::fire(slot, (TriggerEvent::Delete, false), Some(&values), None, cx)?;
            count(Counter::HandlerDelete);
            // What the trigger has done stays where IGNORE passes over the row, as in MySQL.
            let before = cx.begin_row()?;
            let savepoint = (delete.ignore && plan.tables[slot].links.is_some()).then_some(before);
            if !rows::delete_row(place, &key, &values, &mut cx.row_writer()?)? {
                cx.end_row();
                continue;
            }
            match (foreign::deleted(slot, &values, cx), savepoint) {
                (Ok(()), _) => {
                    cx.end_row();
                    triggers::fire(slot, (TriggerEvent::Delete, true), Some(&values), None, cx)?;
                    deleted += 1;
                }
                (Err(error), Some(savepoint)) if error.code() == ErrorCode::RowIsReferenced2 => {
                    cx.undo_row(savepoint)?;
                    cx.warnings.push(error.to_warning(Level::Warning));
                }
                (Err(error), _) => return Err(error),
            }
        }
    }
    Ok(deleted)
}

/// A row as it is now meets the statement's condition.
fn wanted_still<'p>(delete: &'p Delete, row: &[Value], hidden: Option<&Value>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
    let columns = row.iter().chain(hidden).map(|v| Column::Constant(v.clone(), 1)).collect();
    let batch = Batch { rows: 1, columns };
    for condition in &delete.recheck {
        if !eval::is_true(condition, &batch, 0, cx)? {
            return Ok(false);
        }
    }
    Ok(true)
}
