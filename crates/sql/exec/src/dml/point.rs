//! One row by its whole primary key, changed without the lock table.
//!
//! The newest version is read without a lock, it is decided what becomes of it, and the engine writes that only if the
//! version is still the newest and committed (or own): the write's stamp is the row's lock. When another transaction
//! has changed the row, the engine waits for it and the row is read again. A row that is missing or does not match may
//! be another transaction's uncommitted change: then the general path decides, with a locking read. So what is
//! evaluated for the row may be evaluated again: statements whose expressions have effects do not come here.

use crate::{
    batch::{Batch, Column},
    codec,
    context::Cx,
    error::from_engine,
    eval, padding,
};
use gannet_engine::{FreshLock, Read, ReadMode, RowBuf, RowStamp, TreeHandle};
use gannet_plan::{
    expr::{Expr, ExprKind},
    physical::{Access, LockWait, Op, Physical, TableScan},
    range::encode_point,
};
use gannet_schema::Table;
use gannet_types::{Result, Value, row::StoredRow};
use std::cell::OnceCell;

/// The newest version of the row, which matches.
pub(super) struct Found<'a> {
    pub(super) tree: &'a TreeHandle,
    pub(super) key: &'a [u8],
    pub(super) stamp: RowStamp,
    /// The row as it is stored.
    pub(super) payload: &'a [u8],
    table: &'a Table,
    /// Its values, and the same as a batch of one, where somebody has asked for them.
    old: OnceCell<Vec<Value>>,
    batch: OnceCell<Batch>,
}

impl Found<'_> {
    /// The values of the row.
    pub(super) fn old(&self) -> Result<&[Value]> {
        if self.old.get().is_none() {
            let _ = self.old.set(codec::decode_row(self.table, self.payload)?);
        }
        Ok(self.old.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// The row as a batch.
    pub(super) fn batch(&self) -> Result<&Batch> {
        let columns = self.old()?.iter().map(|v| Column::Constant(v.clone(), 1));
        Ok(self.batch.get_or_init(|| Batch { rows: 1, columns: columns.collect() }))
    }

    /// The row as a batch for expressions without subqueries: only the columns that they read are in it.
    pub(super) fn batch_for<'e>(&self, mut exprs: impl Iterator<Item = &'e Expr>) -> Result<Batch> {
        let row = self.table.layout().open(self.payload)?;
        let absent = || Column::Constant(Value::Null, 1);
        let mut batch = Batch { rows: 1, columns: (0..self.table.columns.len()).map(|_| absent()).collect() };
        exprs.try_for_each(|expr| fill(expr, &row, &mut batch.columns))?;
        Ok(batch)
    }
}

/// Puts the columns that `expr` reads in their places.
fn fill(expr: &Expr, row: &StoredRow<'_>, columns: &mut [Column]) -> Result<()> {
    if let ExprKind::Column(n) = expr.kind
        && let Some(column) = columns.get_mut(n as usize)
    {
        *column = Column::Constant(row.get(n as usize)?.to_owned(), 1);
    }
    let mut outcome = Ok(());
    expr.for_each_child(|child| {
        if outcome.is_ok() {
            outcome = fill(child, row, columns);
        }
    });
    outcome
}

/// What came of an attempt to change it.
pub(super) enum Tried {
    Done,
    /// Another transaction has changed the row; it may be locked now.
    Late,
    /// The general path has to do it.
    Not,
}

/// The scan of a statement that changes rows of the table in place `slot` of the plan, and the table, if it reads one
/// row by its whole primary key.
pub(super) fn of<'p>(input: &'p Physical, slot: u32, cx: &Cx<'_, 'p>) -> Option<(&'p TableScan, &'p Table)> {
    let Op::TableScan(scan) = &input.op else { return None };
    let table = &*cx.shared.plan.tables[slot as usize].table;
    let point = matches!(scan.access, Access::Point { .. })
        && scan.table == slot
        && table.clustered.is_some()
        && scan.index.map(|i| i as usize) == table.clustered
        && matches!(scan.lock.wait, LockWait::Wait | LockWait::IfMatched)
        && scan.columns.len() == table.columns.len()
        && table.triggers.is_empty()
        && table.partitions.is_none()
        && !padding::is_on(cx)
        // The row may be looked at several times.
        && !cx.shared.plan.uses.effects;
    point.then_some((scan, table))
}

/// Tries `change` on the row. False: nothing was done, the general path has to.
pub(super) fn run<'p>(
    (scan, table): (&'p TableScan, &'p Table),
    cx: &mut Cx<'_, 'p>,
    mut change: impl FnMut(&Found<'_>, &mut Cx<'_, 'p>) -> Result<Tried>,
) -> Result<bool> {
    let Access::Point { key: wanted } = &scan.access else { return Ok(false) };
    let mut key = Vec::with_capacity(32);
    let index = table.clustered.unwrap_or_default();
    let (empty, zone) = (Batch::default(), &cx.shared.settings.time_zone);
    if !encode_point(table.key_parts(index), wanted, zone, |expr| eval::eval(expr, &empty, 0, cx), &mut key)? {
        return Ok(true);
    }
    cx.begin_row()?;
    let mut fresh = FreshLock::default();
    let warned = cx.warnings.mark();
    let done = attempts((scan, table), &key, &mut fresh, cx, &mut change)?;
    if !done {
        cx.warnings.back_to(warned);
        let tree = codec::row_tree(table, cx.txn.get()?)?;
        fresh.release(cx.txn.get()?, tree, &key);
    }
    Ok(done)
}

/// So often another may have been faster between the reading of a row and its change; then it is locked before.
const LATE: u32 = 1;

/// As [`run`]; `fresh` notes the row's lock because of an attempt that came too late.
fn attempts<'p>(
    (scan, table): (&'p TableScan, &'p Table),
    key: &[u8],
    fresh: &mut FreshLock,
    cx: &mut Cx<'_, 'p>,
    change: &mut impl FnMut(&Found<'_>, &mut Cx<'_, 'p>) -> Result<Tried>,
) -> Result<bool> {
    let tree = codec::row_tree(table, cx.txn.get()?)?;
    let mut buffer = RowBuf::new();
    let warned = cx.warnings.mark();
    // At READ COMMITTED a row that does not match is not waited for.
    if scan.filter.is_none() || matches!(scan.lock.wait, LockWait::Wait) {
        let txn = cx.txn.get()?;
        if txn.queue_up(tree, key).map_err(from_engine)? {
            fresh.note(txn);
        }
    }
    let mut late = 0;
    loop {
        cx.check_interrupt()?;
        // It counts as read when this way has done it, not by each look.
        let read = cx.txn.get()?.get_near(tree, key, ReadMode::Newest, None, &mut buffer, false);
        if read.map_err(from_engine)? != Read::Found {
            return Ok(false);
        }
        let (stamp, payload) = (buffer.stamp(), buffer.row());
        let found = Found { tree, key, stamp, payload, table, old: OnceCell::new(), batch: OnceCell::new() };
        if let Some(filter) = &scan.filter
            && !eval::is_true(filter, found.batch()?, 0, cx)?
        {
            return Ok(false);
        }
        match change(&found, cx)? {
            Tried::Done => {
                tree.count_found();
                return Ok(true);
            }
            Tried::Not => return Ok(false),
            Tried::Late => {
                cx.warnings.back_to(warned);
                late += 1;
                let txn = cx.txn.get()?;
                fresh.note(txn);
                if late > LATE {
                    txn.lock_first(tree, key).map_err(from_engine)?;
                    fresh.note(txn);
                }
            }
        }
    }
}
