//! UPDATE of one row by its whole primary key: see [`crate::dml::point`].

use super::Run;
use crate::dml::{
    complete::Options,
    point::{self, Found, Tried},
    rows::{self, Conflict, Write},
};
use crate::{codec, context::Cx, error::from_engine, foreign};
use gannet_engine::Update as Outcome;
use gannet_plan::{physical::TableScan, plan::Update};
use gannet_schema::Table;
use gannet_telemetry::{Counter, add_all};
use gannet_types::{Result, Value};

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
    // Nothing follows the change, and nobody has to hear of it before the commit: the transaction ends with it.
    let own = |i: &u32| Some(*i as usize) == table.clustered;
    let ends = cx.txn.get()?.options().autocommit
        && target.indexes.iter().all(own)
        && !foreign::matters(target.table as usize, cx)
        && cx.changes.is_none()
        && table.row_log.is_none();
    let mut payload = Vec::new();
    point::run((scan, table), cx, |found, cx| {
        let &Found { tree, key, stamp, old, batch } = found;
        run.matched = 1;
        let mut new = run.assign(target, table, old, batch, 0, cx)?;
        let options = Options { checks: &target.checks, inside: Some((batch, 0, 0)) };
        if !super::touch(target.table as usize, old, &mut new, (&target.assignments, options), false, cx)? {
            // Unchanged rows are locked too: the general path does that.
            run.matched = 0;
            return Ok(Tried::Not);
        }
        payload.clear();
        codec::encode_row(table, &new, &mut payload)?;
        let mark = cx.row_writer()?.mark();
        let written = if ends {
            cx.txn.get()?.update_and_commit_if(tree, key, stamp, &payload)
        } else {
            cx.txn.get()?.update_if(tree, key, stamp, &payload)
        };
        match written.map_err(from_engine)? {
            Outcome::Updated => follow(run, table, key, (old, &new), mark, cx).map(|()| Tried::Done),
            Outcome::Changed => Ok(Tried::Late),
            Outcome::Missing => {
                run.matched = 0;
                Ok(Tried::Not)
            }
        }
    })
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
