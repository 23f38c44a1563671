//! UPDATE.

mod point;

use super::{
    Affected,
    complete::{self, Options},
    defaults,
    rows::{self, Conflict, Write},
    triggers,
};
use crate::{
    batch::{Batch, Column},
    changes::RowWriter,
    codec,
    context::Cx,
    convert, eval, foreign, ops, padding, place,
    spill::Kept,
};
use gannet_engine::Savepoint;
use gannet_plan::{
    expr::{Expr, ExprKind},
    plan::{Assignment, Update, UpdateTarget},
};
use gannet_schema::{Table, TriggerEvent};
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Level, Result, SqlError, Value, sql_err};
use std::collections::{HashMap, HashSet};

/// Runs UPDATE.
pub fn update<'p>(update: &'p Update, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    cx.ignore = update.ignore;
    cx.strict = cx.shared.settings.sql_mode.is_strict() && !cx.ignore;
    let mut run = Run { update, matched: 0, changed: 0, seen: HashSet::new(), current: HashMap::new() };
    if let Some(point) = point::of(update, cx)
        && point::run(&mut run, point, cx)?
    {
        return Ok(run.finish(cx));
    }
    let mut operator = ops::build(&update.input, false)?;
    let plan = cx.shared.plan;
    let fires = |t: &UpdateTarget| plan.tables[t.table as usize].table.fires(TriggerEvent::Update);
    if update.collect_first || update.targets.iter().any(fires) {
        let mut kept = Kept::collect(&mut operator, cx)?;
        let mut at = 0;
        while let Some(batch) = kept.batch(at)? {
            run.batch(&batch, cx)?;
            at += 1;
        }
        kept.clear(cx);
    } else {
        operator.open(cx)?;
        while let Some(batch) = operator.next(cx)? {
            run.batch(&batch, cx)?;
        }
    }
    Ok(run.finish(cx))
}

pub(crate) struct Run<'p> {
    pub(crate) update: &'p Update,
    pub(crate) matched: u64,
    pub(crate) changed: u64,
    /// From a join a row may come several times: (target, key) changed already.
    seen: HashSet<(usize, Vec<u8>)>,
    /// When one table is several targets: its rows as an earlier target left them, by table and the key they were read
    /// with.
    current: HashMap<(u64, Vec<u8>), (Vec<u8>, Vec<Value>)>,
}

impl<'p> Run<'p> {
    fn finish(self, cx: &Cx<'_, 'p>) -> Affected {
        let rows = if cx.shared.settings.count_found_rows { self.matched } else { self.changed };
        let [matched, changed, warnings] = &mut [itoa::Buffer::new(); 3];
        let info = [
            "Rows matched: ",
            matched.format(self.matched),
            "  Changed: ",
            changed.format(self.changed),
            "  Warnings: ",
            warnings.format(cx.warnings.total()),
        ]
        .concat();
        Affected { rows, info, ..Affected::default() }
    }

    fn batch(&mut self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        for row in 0..batch.rows {
            cx.check_interrupt()?;
            for (number, target) in self.update.targets.iter().enumerate() {
                self.target(number, target, batch, row, cx)?;
            }
        }
        Ok(())
    }

    fn target(
        &mut self,
        number: usize,
        target: &'p UpdateTarget,
        batch: &Batch,
        row: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        let plan = cx.shared.plan;
        let table = &*plan.tables[target.table as usize].table;
        let offset = target.offset as usize;
        let mut old: Vec<Value> =
            (0..table.columns.len()).map(|i| batch.columns[offset + i].get(row).to_owned()).collect();
        padding::strip_row(&mut old, table, cx);
        let hidden = table.has_hidden_key().then(|| batch.columns[offset + table.columns.len()].get(row).to_owned());
        let mut key = Vec::new();
        // The right side of a left join without a match has no row to change.
        let exists = codec::existing_row_key(table, &old, hidden.as_ref(), &mut key)?;
        if !exists || self.update.joined && !self.seen.insert((number, key.clone())) {
            return Ok(());
        }
        self.matched += 1;
        let twin = |t: &UpdateTarget| t.table != target.table && plan.tables[t.table as usize].table.id == table.id;
        let read_key = self.update.targets.iter().any(twin).then(|| (table.id.0, key.clone()));
        let mut from = place::read_from(table, offset, batch, row)?;
        if let Some((current_key, row)) = read_key.as_ref().and_then(|k| self.current.get(k)) {
            (key, old, from) = (current_key.clone(), row.clone(), None);
        }
        let place = place::of_read_row(target.table as usize, &old, from, cx)?;
        // Rows before it may have changed it, or taken it along.
        if foreign::follows(table, cx) {
            let Some(now) = codec::current(place, &key, cx.txn.get()?)? else { return Ok(()) };
            old = now;
        }
        let mut new = self.assign(target, table, &old, batch, row, cx)?;
        let options = Options { checks: &target.checks, inside: Some((batch, row, offset)), refuses_null: false };
        match touch(target.table as usize, &old, &mut new, (&target.assignments, options), self.update.ignore, cx)? {
            Touched::Changed => count(Counter::HandlerUpdate),
            touched => return touched.fire_after(target.table as usize, &old, &new, cx),
        }
        let savepoint = self.update.ignore.then_some(cx.begin_row()?);
        let written = place_of(target.table as usize, place, (&old, &new), cx)
            .and_then(|into| write((place, into), &key, (&old, &new), known(target, table), &mut cx.row_writer()?));
        match written {
            Ok(Conflict::None) => match foreign::updated(target.table as usize, &old, &new, cx) {
                Ok(()) => {
                    cx.end_row();
                    self.changed += 1;
                    fire_after(target.table as usize, &old, &new, cx)?;
                    if let Some(read_key) = read_key {
                        if table.clustered.is_some() {
                            key.clear();
                            codec::existing_row_key(table, &new, None, &mut key)?;
                        }
                        self.current.insert(read_key, (key, new));
                    }
                    Ok(())
                }
                Err(error) => self.refused(error, savepoint, cx),
            },
            Err(error) => self.refused(error, savepoint, cx),
            Ok(Conflict::Duplicate { index, .. }) => {
                let kept = foreign::kept(target.table as usize, index, (&old, &new), cx).err();
                let error =
                    kept.unwrap_or_else(|| rows::duplicate_error(table, index, &new, &cx.shared.settings.time_zone));
                self.refused(error, savepoint, cx)
            }
        }
    }

    /// A row that may not change as it should: an error, or with IGNORE a warning and the row as it was.
    fn refused(&self, error: SqlError, savepoint: Option<Savepoint>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let row =
            matches!(error.code(), ErrorCode::DupEntry | ErrorCode::NoReferencedRow2 | ErrorCode::RowIsReferenced2);
        match savepoint {
            Some(savepoint) if row || place::is_unplaced(&error) => {
                cx.undo_row(savepoint)?;
                cx.warnings.push(error.to_warning(Level::Warning));
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// The new row: assignments in order, each sees those before it.
    pub(crate) fn assign(
        &mut self,
        target: &'p UpdateTarget,
        table: &Table,
        old: &[Value],
        batch: &Batch,
        row: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Vec<Value>> {
        let mut new = old.to_vec();
        let offset = target.offset as usize;
        // The row with what was assigned so far, where a later assignment reads that.
        let mut seen = reads_assigned(target).then(|| Batch {
            rows: 1,
            columns: batch.columns.iter().map(|c| Column::Constant(c.get(row).to_owned(), 1)).collect(),
        });
        for assignment in &target.assignments {
            let column = assignment.column as usize;
            let definition = &table.columns[column];
            let value = match &assignment.value {
                None => complete::assigned(target.table as usize, column, &new, cx)?,
                // `SET c = c`: the value stays, even where it could not be stored anew.
                Some(expr) if expr.kind == ExprKind::Column((offset + column) as u32) => new[column].clone(),
                Some(expr) => {
                    let value = match &seen {
                        Some(seen) => eval::eval(expr, seen, 0, cx)?,
                        None => eval::eval(expr, batch, row, cx)?,
                    };
                    if value.is_null() && triggers::before(table, TriggerEvent::Update) {
                        value
                    } else if value.is_null() && !definition.nullable {
                        if cx.strict {
                            return Err(sql_err!(BadNull, definition.name));
                        }
                        cx.warnings.push(sql_err!(BadNull, definition.name).to_warning(Level::Warning));
                        defaults::emptied(definition)
                    } else {
                        convert::store(value.as_ref(), &table.name, definition, self.matched, cx)?
                    }
                }
            };
            if let Some(seen) = &mut seen {
                seen.columns[offset + column] = Column::Constant(value.clone(), 1);
            }
            new[column] = value;
        }
        Ok(new)
    }
}

/// One of the assignments reads a column that one before it has assigned, or may do so.
fn reads_assigned(target: &UpdateTarget) -> bool {
    fn reads(expr: &Expr, assigned: &dyn Fn(u32) -> bool) -> bool {
        let mut found = match expr.kind {
            ExprKind::Column(n) => assigned(n),
            ExprKind::Subquery(_) => true,
            _ => false,
        };
        expr.for_each_child(|child| found = found || reads(child, assigned));
        found
    }
    let later = target.assignments.iter().enumerate().skip(1);
    later.filter_map(|(n, a)| Some((n, a.value.as_ref()?))).any(|(n, expr)| {
        let assigned = |column: u32| target.assignments[..n].iter().any(|a| a.column + target.offset == column);
        reads(expr, &assigned)
    })
}

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touched {
    Changed,
    /// Its values are those that it has.
    Same,
    /// A check says no, and IGNORE passes over the row.
    Refused,
}

impl Touched {
    /// AFTER triggers of a row that does not change: of one that is refused there are none.
    pub(crate) fn fire_after<'p>(self, slot: usize, old: &[Value], new: &[Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self == Touched::Refused { Ok(()) } else { fire_after(slot, old, new, cx) }
    }
}

/// When the row changes, ON UPDATE CURRENT_TIMESTAMP columns that were not assigned get the statement's time, and
/// generated columns their values. Errors 3819 and 1369 for a violated check; with `ignore` the row stays as it is.
pub(crate) fn touch<'p>(
    slot: usize,
    old: &[Value],
    new: &mut [Value],
    (assignments, options): (&[Assignment], Options<'_, 'p>),
    ignore: bool,
    cx: &mut Cx<'_, 'p>,
) -> Result<Touched> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    let stamped = |i: usize| table.columns[i].on_update_now && !assignments.iter().any(|a| a.column as usize == i);
    let before = triggers::before(table, TriggerEvent::Update);
    // A BEFORE trigger sees the time of a row that the statement changes, and may set another.
    let changes = old != &*new;
    for i in (0..table.columns.len()).filter(|i| changes && stamped(*i)) {
        new[i] = defaults::now(&table.columns[i], cx)?;
    }
    if before {
        complete::foretell(slot, new, cx)?;
        triggers::fire(slot, (TriggerEvent::Update, false), Some(old), Some(new), cx)?;
        triggers::check_nulls(table, new, &[], options.refuses_null, cx)?;
        // What it saw in the generated columns is not what they are once it has set others.
        complete::foretell(slot, new, cx)?;
    }
    if old == &*new {
        return Ok(Touched::Same);
    }
    for i in (0..table.columns.len()).filter(|i| !changes && stamped(*i)) {
        if new[i] == old[i] {
            new[i] = defaults::now(&table.columns[i], cx)?;
        }
    }
    complete::generate(slot, new, 1, cx)?;
    if let Some(error) = complete::violated(slot, new, options, cx)? {
        if !ignore {
            return Err(error);
        }
        cx.warnings.push(error.to_warning(Level::Warning));
        return Ok(Touched::Refused);
    }
    Ok(Touched::Changed)
}

/// What is known of the columns that change: a trigger may have changed any.
fn known<'p>(target: &'p UpdateTarget, table: &Table) -> Option<&'p UpdateTarget> {
    Some(target).filter(|_| !triggers::before(table, TriggerEvent::Update))
}

/// The part of a table that a changed row belongs to, which was in `place`.
pub(crate) fn place_of<'p>(
    slot: usize,
    place: &'p Table,
    (old, new): (&[Value], &[Value]),
    cx: &mut Cx<'_, 'p>,
) -> Result<&'p Table> {
    let plan = cx.shared.plan;
    match &plan.tables[slot].table.partitions {
        Some(parts) if parts.columns().iter().any(|c| old[*c as usize] != new[*c as usize]) => {
            place::of_new_row(slot, new, cx)
        }
        _ => Ok(place),
    }
}

/// Fires AFTER UPDATE: for every row that matched, changed or not.
pub(crate) fn fire_after(slot: usize, old: &[Value], new: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    if cx.shared.plan.tables[slot].table.triggers.is_empty() {
        return Ok(());
    }
    let mut new = new.to_vec();
    triggers::fire(slot, (TriggerEvent::Update, true), Some(old), Some(&mut new), cx)?;
    Ok(())
}

/// Writes a changed row: in place, or moved when its key or its part of the table changed.
pub(crate) fn write(
    (table, into): (&Table, &Table),
    key: &[u8],
    (old, new): (&[Value], &[Value]),
    target: Option<&UpdateTarget>,
    to: &mut RowWriter<'_>,
) -> Result<Conflict> {
    let elsewhere = !std::ptr::eq(table, into);
    if table.clustered.is_some() && (elsewhere || target.is_none_or(|t| t.moves)) {
        let mut new_key = Vec::new();
        codec::existing_row_key(table, new, None, &mut new_key)?;
        if elsewhere || new_key != key {
            return rows::move_row((table, key, old), (into, &new_key, new), to);
        }
    } else if elsewhere {
        return rows::move_row((table, key, old), (into, key, new), to);
    }
    let all: Vec<u32>;
    let indexes = match target {
        Some(target) => &*target.indexes,
        None => {
            all = (0..table.indexes.len() as u32).collect();
            &all
        }
    };
    rows::change_row(table, key, (old.into(), new.into()), indexes, Write::Here, to)
}
