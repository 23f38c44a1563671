//! UPDATE of one row by its whole primary key, without the lock table.
//!
//! The newest version is read without a lock, the new row is computed, and the engine writes it only if that version
//! is still the newest and committed (or own): the write's stamp is the row's lock. When another transaction has
//! changed the row, the engine waits for it and the row is read again. A row that is missing or does not match may be
//! another transaction's uncommitted change: then the general path decides, with a locking read.

use super::Run;
use crate::dml::{
    complete::Options,
    rows::{self, Conflict, Write},
};
use crate::{
    batch::{Batch, Column},
    codec,
    context::Cx,
    error::from_engine,
    eval, foreign, padding,
};
use gannet_engine::{Read, ReadMode, RowBuf, Update as Outcome};
use gannet_plan::{
    physical::{Access, LockWait, Op, TableScan},
    plan::Update,
    range::encode_point,
};
use gannet_schema::Table;
use gannet_telemetry::{Counter, add_all};
use gannet_types::{Result, Value};

/// The scan of an UPDATE that can take this path.
pub(crate) fn of<'p>(update: &'p Update, cx: &Cx<'_, 'p>) -> Option<(&'p TableScan, &'p Table)> {
    let [target] = &*update.targets else { return None };
    let Op::TableScan(scan) = &update.input.op else { return None };
    let table = &*cx.shared.plan.tables[target.table as usize].table;
    let point = matches!(scan.access, Access::Point { .. })
        && table.clustered.is_some()
        && scan.index.map(|i| i as usize) == table.clustered
        && matches!(scan.lock.wait, LockWait::Wait | LockWait::IfMatched)
        && scan.columns.len() == table.columns.len()
        && target.offset == 0
        && !update.ignore
        && !padding::is_on(cx)
        && !update.collect_first
        && table.triggers.is_empty()
        && !target.moves;
    point.then_some((scan, table))
}

/// Runs it. False: nothing was done, the general path has to.
pub(crate) fn run<'p>(
    run: &mut Run<'p>,
    (scan, table): (&'p TableScan, &'p Table),
    cx: &mut Cx<'_, 'p>,
) -> Result<bool> {
    let Access::Point { key: wanted } = &scan.access else { return Ok(false) };
    let mut key = Vec::with_capacity(32);
    let index = table.clustered.unwrap_or_default();
    let (empty, zone) = (Batch::default(), &cx.shared.settings.time_zone);
    if !encode_point(table.key_parts(index), wanted, zone, |expr| eval::eval(expr, &empty, 0, cx), &mut key)? {
        return Ok(true);
    }
    let mut waited = false;
    let warned = cx.warnings.mark();
    let done = attempts(run, (scan, table), &key, &mut waited, cx)?;
    if !done {
        cx.warnings.back_to(warned);
    }
    if waited && !done {
        let tree = codec::row_tree(table, cx.txn.get()?)?;
        cx.txn.get()?.unlock_row(tree, &key);
    }
    Ok(done)
}

/// So often another may have been faster between the reading of a row and its change; then it is locked before.
const LATE: u32 = 1;

/// As [`run`]; `waited` says whether the row may be locked because of an attempt that came too late.
fn attempts<'p>(
    run: &mut Run<'p>,
    (scan, table): (&'p TableScan, &'p Table),
    key: &[u8],
    waited: &mut bool,
    cx: &mut Cx<'_, 'p>,
) -> Result<bool> {
    let target = &run.update.targets[0];
    let tree = codec::row_tree(table, cx.txn.get()?)?;
    let mut buffer = RowBuf::new();
    let mut payload = Vec::new();
    let warned = cx.warnings.mark();
    // At READ COMMITTED a row that does not match is not waited for.
    if scan.filter.is_none() || matches!(scan.lock.wait, LockWait::Wait) {
        *waited = cx.txn.get()?.queue_up(tree, key).map_err(from_engine)?;
    }
    // Nothing follows the change, and nobody has to hear of it before the commit: the transaction ends with it.
    let own = |i: &u32| Some(*i as usize) == table.clustered;
    let ends = cx.txn.get()?.options().autocommit
        && target.indexes.iter().all(own)
        && !foreign::matters(target.table as usize, cx)
        && cx.changes.is_none()
        && table.row_log.is_none();
    let mut late = 0;
    loop {
        cx.check_interrupt()?;
        if cx.txn.get()?.get(tree, key, ReadMode::Newest, &mut buffer).map_err(from_engine)? != Read::Found {
            return Ok(false);
        }
        let old = codec::decode_row(table, buffer.row())?;
        let columns = old.iter().map(|v: &Value| Column::Constant(v.clone(), 1)).collect();
        let batch = Batch { rows: 1, columns };
        if let Some(filter) = &scan.filter
            && !eval::is_true(filter, &batch, 0, cx)?
        {
            return Ok(false);
        }
        run.matched = 1;
        let mut new = run.assign(target, table, &old, &batch, 0, cx)?;
        let options = Options { checks: &target.checks, inside: Some((&batch, 0, 0)) };
        if !super::touch(target.table as usize, &old, &mut new, (&target.assignments, options), false, cx)? {
            // Unchanged rows are locked too: the general path does that.
            run.matched = 0;
            return Ok(false);
        }
        payload.clear();
        codec::encode_row(table, &new, &mut payload)?;
        let mark = cx.row_writer()?.mark();
        let written = if ends {
            cx.txn.get()?.update_and_commit_if(tree, key, buffer.stamp(), &payload)
        } else {
            cx.txn.get()?.update_if(tree, key, buffer.stamp(), &payload)
        };
        match written.map_err(from_engine)? {
            Outcome::Updated => {
                follow(run, table, key, (&old, &new), mark, cx)?;
                return Ok(true);
            }
            Outcome::Changed => {
                *waited = true;
                cx.warnings.back_to(warned);
                late += 1;
                if late > LATE {
                    cx.txn.get()?.lock_first(tree, key).map_err(from_engine)?;
                }
            }
            Outcome::Missing => {
                run.matched = 0;
                return Ok(false);
            }
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
    cx.counts.examined += 1;
    add_all([(Counter::HandlerReadKey, 1), (Counter::HandlerUpdate, 1)]);
    match rows::change_row(table, key, (old, new), &target.indexes, Write::Done(mark), &mut cx.row_writer()?)? {
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
