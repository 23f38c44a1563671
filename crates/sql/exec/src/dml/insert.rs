//! INSERT and REPLACE.

pub(super) mod way;

use self::way::Way;
use super::{
    Affected,
    bulk::{Bulk, ENOUGH},
    complete::{self, Options},
    defaults,
    rows::{self, Conflict},
    triggers,
    update::Touched,
};
use crate::{batch::Batch, codec, context::Cx, convert, error::from_engine, eval, foreign, ops, padding, place};
use gannet_catalog::StoredTable;
use gannet_engine::{Savepoint, TreeHandle};
use gannet_plan::plan::{Assignment, Insert, InsertSource, Intent, PlanTable};
use gannet_schema::{ColumnDefault, Method, Table, TriggerEvent};
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Level, Result, SqlError, SqlMode, TypeId, Value, ValueRef, sql_err};

/// Runs INSERT or REPLACE.
pub fn insert<'p>(insert: &'p Insert, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    run(insert, false, cx)
}

/// Runs the INSERT of CREATE TABLE ... SELECT: the transaction has made the table, which is empty.
pub(crate) fn insert_into_new<'p>(insert: &'p Insert, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    eval::read_constants(cx)?;
    run(insert, true, cx)
}

fn run<'p>(insert: &'p Insert, new: bool, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[insert.table as usize].table;
    cx.ignore = insert.ignore;
    cx.strict = cx.shared.settings.sql_mode.is_strict() && !cx.ignore;
    let mut run = Run::new(insert, table, 1);
    if new && plan.tables[insert.table as usize].links.is_none() {
        run.way = Bulk::begin(insert, table, cx)?.map_or(Way::OneByOne, |bulk| Way::Built(Box::new(bulk)));
    }
    let outcome = source(&mut run, insert, cx);
    way::ended(&mut run, outcome, cx)?;
    Ok(run.finish(cx))
}

/// Puts the rows of the statement's source in.
fn source<'p>(run: &mut Run<'p>, insert: &'p Insert, cx: &mut Cx<'_, 'p>) -> Result<()> {
    match &insert.source {
        InsertSource::Values(lists) => {
            run.expected = lists.len() as u64;
            if lists.len() > 1 {
                way::await_rows(run, lists.len() >= ENOUGH, cx)?;
            }
            for list in lists {
                let row = run.row_from_list(list, cx)?;
                run.store(row, None, cx)?;
            }
            Ok(())
        }
        InsertSource::Query(query) => {
            let mut operator = ops::build(query, false)?;
            if reads_target(insert, &cx.shared.plan.tables) {
                let batches = ops::collect(&mut operator, cx)?;
                run.expected = batches.iter().map(|b| b.rows as u64).sum();
                let many = run.expected >= ENOUGH as u64;
                way::await_rows(run, many, cx)?;
                return batches.iter().try_for_each(|batch| run.store_batch(batch, cx));
            }
            run.expected = 0;
            way::await_rows(run, true, cx)?;
            operator.open(cx)?;
            while let Some(batch) = operator.next(cx)? {
                run.expected += batch.rows as u64;
                run.store_batch(&batch, cx)?;
            }
            Ok(())
        }
    }
}

/// Numbers for the rows to come. Returns the first. Error 1467 when there is none.
fn reserve(run: &mut Run<'_>, counter: &TreeHandle, step: u64, offset: u64, most: u64) -> Result<u64> {
    // Rows that have numbers may not be in yet.
    counter.counter_raise(run.given).map_err(from_engine)?;
    let wanted = run.expected.saturating_sub(run.records).max(1);
    let first = counter.counter_reserve_within(wanted, step, offset, most).map_err(from_engine)?;
    let first = first.ok_or_else(|| sql_err!(AutoincReadFailed))?;
    run.reserved = Some((first.saturating_add(step), wanted - 1));
    // The counter is at its end: its last value again, which is there already.
    Ok(if step == 1 { first.min(most) } else { first })
}

/// The query reads what the statement writes: then all its rows come first.
fn reads_target(insert: &Insert, tables: &[PlanTable]) -> bool {
    let target = tables[insert.table as usize].table.id;
    let others = tables.iter().enumerate().filter(|(i, _)| *i != insert.table as usize);
    others.into_iter().any(|(_, t)| t.table.id == target || t.intent == Intent::ForeignWrite)
}

/// Columns and the values assigned to them.
pub(super) type Assigned<'p> = (&'p [u32], &'p [Option<gannet_plan::expr::Expr>]);

pub(super) struct Run<'p> {
    insert: &'p Insert,
    table: &'p Table,
    affected: u64,
    records: u64,
    /// Rows among them that a CHECK kept out.
    skipped: u64,
    duplicates: u64,
    /// AUTO_INCREMENT value of the row at hand, and whether it was generated.
    row_id: (u64, bool),
    /// First generated AUTO_INCREMENT value that is in a row.
    first_id: u64,
    /// AUTO_INCREMENT value of the last row, stored or not, and whether any row was inserted or changed.
    last_row_id: u64,
    any_stored: bool,
    /// The greatest AUTO_INCREMENT value that a row came with.
    given: u64,
    /// Reserved AUTO_INCREMENT values: next, how many.
    reserved: Option<(u64, u64)>,
    /// `SET insert_id`: what the next value is, whatever the counter says. The session is asked when the first value is
    /// generated: a function or trigger may have taken it before.
    forced: Option<u64>,
    asked: bool,
    /// Rows that will come, for reserving their values at once.
    expected: u64,
    /// BEFORE INSERT triggers.
    before: bool,
    way: Way<'p>,
}

impl<'p> Run<'p> {
    pub(super) fn new(insert: &'p Insert, table: &'p Table, expected: u64) -> Run<'p> {
        Run {
            insert,
            table,
            affected: 0,
            records: 0,
            skipped: 0,
            duplicates: 0,
            row_id: (0, false),
            first_id: 0,
            last_row_id: 0,
            any_stored: false,
            given: 0,
            reserved: None,
            forced: None,
            asked: false,
            expected,
            before: triggers::before(table, TriggerEvent::Insert),
            way: Way::OneByOne,
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn affected(&self) -> u64 {
        self.affected
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(super) fn finish(self, cx: &Cx<'_, 'p>) -> Affected {
        let several = self.expected > 1 || matches!(self.insert.source, InsertSource::Query(_));
        let info = if several {
            format!(
                "Records: {}  Duplicates: {}  Warnings: {}",
                self.records - self.skipped,
                self.duplicates,
                cx.warnings.total()
            )
        } else {
            String::new()
        };
        let (mut last_insert_id, mut last_row_id) = (self.first_id, if self.any_stored { self.last_row_id } else { 0 });
        if self.insert.hides_counter {
            (last_insert_id, last_row_id) = (0, 0);
        }
        Affected { rows: self.affected, last_insert_id, last_row_id, info }
    }

    fn store_batch(&mut self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        for r in 0..batch.rows {
            let source = batch.row_values(r);
            let row = self.row_from_values(&source, cx)?;
            self.store(row, Some(&source), cx)?;
            cx.check_interrupt()?;
        }
        Ok(())
    }

    /// A row from a VALUES list. Its expressions may read columns assigned before them.
    fn row_from_list(
        &mut self,
        list: &'p [Option<gannet_plan::expr::Expr>],
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Vec<Value>> {
        let row = vec![None; self.table.columns.len()];
        self.row_from_fields(row, (&self.insert.columns, list), cx)
    }

    /// Completes a row of which some columns have values; the rest is assigned.
    pub(super) fn row_from_fields(
        &mut self,
        mut row: Vec<Option<Value>>,
        (columns, list): Assigned<'p>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Vec<Value>> {
        let mut under_construction = Batch::one_empty_row();
        for (expr, column) in list.iter().zip(columns) {
            let column = *column as usize;
            let value = match expr {
                Some(expr) => {
                    if self.insert.self_reference {
                        under_construction = self.visible_row(&row);
                    }
                    let value = eval::eval(expr, &under_construction, 0, cx)?;
                    self.convert(value.as_ref(), column, false, cx)?
                }
                // Filled when the other columns are there.
                None if self.table.columns[column].generated.is_some() => continue,
                None if matches!(self.table.columns[column].default, ColumnDefault::Expression(_)) => continue,
                None if self.before && self.is_missing(column) => continue,
                None => defaults::written_value(self.table, column, cx)?,
            };
            row[column] = Some(value);
        }
        self.complete(row, cx)
    }

    /// The row as expressions of a self-referring VALUES list see it: a column without a value yet has its default,
    /// if that is a literal, or else its type's implicit default.
    fn visible_row(&self, row: &[Option<Value>]) -> Batch {
        let mut values = Vec::with_capacity(row.len());
        for (value, column) in row.iter().zip(&self.table.columns) {
            values.push(match (value, &column.default) {
                (Some(value), _) | (None, ColumnDefault::Literal(value)) => value.clone(),
                (None, _) => defaults::implicit(column),
            });
        }
        Batch { rows: 1, columns: values.into_iter().map(|v| crate::batch::Column::Constant(v, 1)).collect() }
    }

    fn row_from_values(&mut self, source: &[Value], cx: &mut Cx<'_, 'p>) -> Result<Vec<Value>> {
        let mut row: Vec<Option<Value>> = vec![None; self.table.columns.len()];
        for (value, column) in source.iter().zip(&self.insert.columns) {
            let column = *column as usize;
            row[column] = Some(self.convert(value.as_ref(), column, false, cx)?);
        }
        self.complete(row, cx)
    }

    /// Converts a given value into its column's type; NULL into NOT NULL is error 1048, or the implicit default where
    /// MySQL is lenient. `updates`: by ON DUPLICATE KEY UPDATE.
    pub(super) fn convert(
        &mut self,
        value: ValueRef<'_>,
        column: usize,
        updates: bool,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Value> {
        if value.is_null() {
            return self.null(column, updates, cx);
        }
        // A row that is changed counts already.
        let row = self.records + u64::from(!updates);
        convert::store(value, &self.table.name, &self.table.columns[column], row, cx)
    }

    /// What NULL becomes.
    fn null(&mut self, column: usize, updates: bool, cx: &mut Cx<'_, 'p>) -> Result<Value> {
        let definition = &self.table.columns[column];
        if !definition.nullable && definition.auto_increment && updates {
            // NULL asks for the next number in an INSERT's own row; where the row is there already it is 0, as in
            // MySQL.
            return Ok(defaults::implicit(definition));
        }
        let before = if updates { triggers::before(self.table, TriggerEvent::Update) } else { self.before };
        if before {
            // What NOT NULL says comes behind the triggers.
            return Ok(Value::Null);
        }
        if !definition.nullable && !definition.auto_increment {
            // Elsewhere, without strict mode: a warning and the implicit default.
            if cx.strict || refuses_null(self, updates) {
                return Err(sql_err!(BadNull, definition.name));
            }
            cx.warn_of_column(ErrorCode::BadNull, &definition.name);
            return Ok(defaults::emptied(definition));
        }
        // Into AUTO_INCREMENT it asks for a value.
        Ok(Value::Null)
    }

    pub(super) fn complete(&mut self, row: Vec<Option<Value>>, cx: &mut Cx<'_, 'p>) -> Result<Vec<Value>> {
        let mut missing = Vec::new();
        let mut values = if row.iter().all(Option::is_some) {
            row.into_iter().flatten().collect()
        } else {
            let mut values = Vec::with_capacity(row.len());
            let mut computed: smallvec::SmallVec<[usize; 8]> = smallvec::SmallVec::new();
            for (i, value) in row.into_iter().enumerate() {
                let column = &self.table.columns[i];
                values.push(match value {
                    Some(value) => value,
                    None if column.generated.is_some() => Value::Null,
                    // Left out is NULL and so generated in every sql_mode; only a written DEFAULT is 0.
                    None if column.auto_increment => Value::Null,
                    None if matches!(column.default, ColumnDefault::Expression(_)) => {
                        computed.push(i);
                        Value::Null
                    }
                    None if self.before && self.is_missing(i) => {
                        missing.push(i);
                        Value::Null
                    }
                    None => defaults::missing_value(self.table, i, cx)?,
                });
            }
            for i in computed {
                values[i] = complete::default(self.insert.table as usize, i, &values, self.records + 1, cx)?;
            }
            values
        };
        if self.before {
            self.fire_before(&mut values, &missing, cx)?;
        }
        if let Some(column) = self.table.auto_column {
            let column = column as usize;
            values[column] = self.auto_increment(&values[column], column, cx)?;
        }
        complete::generate(self.insert.table as usize, &mut values, self.records + 1, cx)?;
        Ok(values)
    }

    /// The column has no value but the one that MySQL makes up.
    fn is_missing(&self, column: usize) -> bool {
        let c = &self.table.columns[column];
        let none = match c.default {
            ColumnDefault::None => !c.nullable && !c.auto_increment,
            ColumnDefault::Dropped => true,
            _ => false,
        };
        none && c.ty.id != TypeId::Enum
    }

    /// BEFORE INSERT. The AUTO_INCREMENT column without a value is 0 for them.
    fn fire_before(&self, values: &mut [Value], missing: &[usize], cx: &mut Cx<'_, 'p>) -> Result<()> {
        let auto = self.table.auto_column.map(|c| c as usize).filter(|c| values[*c].is_null());
        if let Some(column) = auto {
            values[column] = Value::Int(0);
        }
        let slot = self.insert.table as usize;
        complete::foretell(slot, values, cx)?;
        let nulled = triggers::fire(slot, (TriggerEvent::Insert, false), None, Some(values), cx)?;
        if let Some(column) = auto
            && convert::to_i128(&values[column]) == Some(0)
        {
            values[column] = Value::Null;
        }
        // What a trigger has set to NULL is not missing.
        let missing: Vec<usize> = missing.iter().copied().filter(|i| !nulled.contains(&(*i as u32))).collect();
        triggers::check_nulls(self.table, values, &missing, refuses_null(self, false), cx)
    }

    /// The AUTO_INCREMENT column's value: generated for NULL and (without NO_AUTO_VALUE_ON_ZERO) 0.
    fn auto_increment(&mut self, given: &Value, column: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
        let definition = &self.table.columns[column];
        let step = cx.shared.settings.auto_increment_increment.max(1);
        let number = convert::to_i128(given);
        let generates = given.is_null()
            || number == Some(0) && !cx.shared.settings.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let tree = self.table.auto_counter(codec::trees(self.table, cx.txn.get()?)?);
        let tree = tree.ok_or_else(|| SqlError::internal("an AUTO_INCREMENT column without a counter"))?;
        let (integer, most) = (definition.ty.id.is_integer(), definition.most());
        if !generates {
            if let Some(used) = number.and_then(|n| u64::try_from(n).ok()) {
                self.row_id = (used, false);
                self.given = self.given.max(used);
                self.pass(used, step);
            }
            return Ok(given.clone());
        }
        if !std::mem::replace(&mut self.asked, true) {
            self.forced = Some(cx.session.take_insert_id()).filter(|n| *n != 0);
        }
        let id = match self.reserved {
            _ if let Some(next) = self.forced => {
                self.forced = next.checked_add(step);
                tree.counter_raise(next.min(most)).map_err(from_engine)?;
                next
            }
            Some((next, left)) if left > 0 => {
                self.reserved = Some((next.saturating_add(step), left - 1));
                if next == u64::MAX {
                    return Err(sql_err!(AutoincReadFailed));
                }
                next
            }
            _ => {
                let offset = cx.shared.settings.auto_increment_offset.clamp(1, step);
                reserve(self, tree, step, offset, most)?
            }
        };
        let id = match integer.then_some(most) {
            // What was reserved beyond it. In steps of more than one the last value of the series that the type holds
            // comes again.
            Some(most) if id > most => {
                if cx.strict {
                    return Err(sql_err!(WarnDataOutOfRange, definition.name, self.records + 1));
                }
                cx.warnings
                    .push(sql_err!(WarnDataOutOfRange, definition.name, self.records + 1).to_warning(Level::Warning));
                let offset = cx.shared.settings.auto_increment_offset.clamp(1, step);
                most.checked_sub(offset).map_or(most, |beyond| beyond / step * step + offset)
            }
            _ => id,
        };
        self.row_id = (id, true);
        // A value beyond the column's type becomes its largest value, whose second use is a duplicate.
        let value =
            if definition.ty.unsigned { Value::UInt(id) } else { Value::Int(i64::try_from(id).unwrap_or(i64::MAX)) };
        let strict = std::mem::replace(&mut cx.strict, false);
        let stored = convert::store(value.as_ref(), &self.table.name, definition, self.records + 1, cx);
        cx.strict = strict;
        match stored {
            // The counter of a narrow column stops at its greatest value, which is there already.
            Ok(stored) if definition.ty.id.is_integer() && definition.ty.id != TypeId::BigInt => {
                self.row_id.0 = convert::to_i128(&stored).and_then(|n| u64::try_from(n).ok()).unwrap_or(id);
                Ok(stored)
            }
            Ok(stored) if convert::to_i128(&stored) == Some(i128::from(id)) => Ok(stored),
            Ok(_) => Err(sql_err!(AutoincReadFailed)),
            Err(error) => Err(error),
        }
    }

    /// Puts one row in, as the statement says what to do about duplicates.
    pub(super) fn store(&mut self, values: Vec<Value>, source: Option<&[Value]>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.records += 1;
        if let Some(error) = complete::violated(self.insert.table as usize, &values, self.options(), cx)? {
            if self.insert.ignore {
                // Passed over before it counts, and before it gets a number.
                self.skipped += 1;
                self.last_row_id = if self.row_id.1 { 0 } else { self.number_of(&values) };
                cx.warnings.push(error.to_warning(Level::Warning));
                return Ok(());
            }
            return Err(error);
        }
        self.last_row_id = self.number_of(&values);
        match std::mem::replace(&mut self.way, Way::OneByOne) {
            Way::OneByOne => self.put(values, source, cx),
            Way::Waiting(first) => way::wait(self, first, values, cx),
            Way::Runs(run) => way::join(self, run, values, cx),
            Way::Built(bulk) => way::put_built(self, bulk, values, cx),
        }
    }

    /// Inserts a row that no check refuses.
    fn put(&mut self, values: Vec<Value>, source: Option<&[Value]>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let on_conflict = self.insert.replace || !self.insert.on_duplicate.is_empty();
        let place = match place::of_new_row(self.insert.table as usize, &values, cx) {
            Ok(place) => place,
            Err(error) if place::is_unplaced(&error) => return self.refuse(error, cx),
            Err(error) => return Err(error),
        };
        let mut key = Vec::new();
        loop {
            // A new savepoint for each try: rows that REPLACE has removed stay removed.
            let savepoint = (on_conflict || self.insert.ignore).then_some(cx.begin_row()?);
            codec::new_row_key(place, &values, cx.txn.get()?, &mut key)?;
            count(Counter::HandlerWrite);
            let conflict = rows::insert_row(place, &key, &values, on_conflict, &mut cx.row_writer()?)?;
            let slot = self.insert.table as usize;
            let parents = match &conflict {
                Conflict::None => foreign::inserted(slot, &values, cx),
                Conflict::Duplicate { index, .. } => foreign::not_inserted(slot, *index, &values, cx),
            };
            if let Err(error) = parents {
                if error.code() != ErrorCode::NoReferencedRow2 {
                    return Err(error);
                }
                if let Some(savepoint) = savepoint.filter(|_| self.insert.ignore) {
                    cx.undo_row(savepoint)?;
                }
                return self.refuse(error, cx);
            }
            match conflict {
                Conflict::None => {
                    cx.end_row();
                    self.affected += 1;
                    self.raise_counter(cx)?;
                    self.stored();
                    return self.fire_after(&values, cx);
                }
                Conflict::Duplicate { index, row_key } => {
                    if let Some(savepoint) = savepoint {
                        cx.undo_row(savepoint)?;
                    }
                    let error = rows::duplicate_error(self.table, index, &values, &cx.shared.settings.time_zone);
                    if on_conflict || matches!(self.insert.source, InsertSource::Query(_)) {
                        self.raise_counter(cx)?;
                    }
                    if self.insert.replace && !(self.row_id.1 && leads(self.table, index)) {
                        if !replaces_in_place(self, cx) {
                            self.makes_way(place, &row_key, cx)?;
                        } else if self.takes_place(place, &row_key, &values, cx)? {
                            return self.fire_after(&values, cx);
                        }
                        self.duplicates += 1;
                        continue;
                    }
                    if !self.insert.on_duplicate.is_empty() {
                        self.restore_id(cx);
                        return self.change(place, &row_key, &values, source, cx);
                    }
                    if self.insert.ignore {
                        self.duplicates += 1;
                        self.restore_id(cx);
                        cx.warnings.push(error.to_warning(Level::Warning));
                        return Ok(());
                    }
                    return Err(error);
                }
            }
        }
    }

    fn fire_after(&self, values: &[Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.table.triggers.is_empty() {
            return Ok(());
        }
        let mut new = values.to_vec();
        let slot = self.insert.table as usize;
        triggers::fire(slot, (TriggerEvent::Insert, true), None, Some(&mut new), cx)?;
        Ok(())
    }

    fn options(&self) -> Options<'static, 'p> {
        Options { checks: &self.insert.checks, inside: None, refuses_null: refuses_null(self, true) }
    }

    /// A row is in: its number, if it was generated, may be the statement's first.
    fn stored(&mut self) {
        self.any_stored = true;
        let (id, generated) = std::mem::take(&mut self.row_id);
        if generated && self.first_id == 0 {
            self.first_id = id;
        }
    }

    /// The row's AUTO_INCREMENT value, 0 without.
    fn number_of(&self, row: &[Value]) -> u64 {
        let id = self.table.auto_column.and_then(|c| convert::to_i128(&row[c as usize]));
        id.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
    }

    /// Moves the statement's next generated value beyond one that a row has.
    fn pass(&mut self, used: u64, step: u64) {
        if let Some((next, left)) = self.reserved.filter(|(next, _)| used >= *next) {
            let passed = (used - next) / step + 1;
            self.reserved =
                left.checked_sub(passed).map(|left| (next.saturating_add(passed.saturating_mul(step)), left));
        }
    }

    /// As [`Run::pass`], of a row that was updated instead.
    fn pass_of(&mut self, row: &[Value], cx: &Cx<'_, 'p>) {
        let id = self.table.auto_column.and_then(|c| convert::to_i128(&row[c as usize]));
        if let Some(id) = id.and_then(|n| u64::try_from(n).ok()) {
            self.pass(id, cx.shared.settings.auto_increment_increment.max(1));
        }
    }

    /// A given AUTO_INCREMENT value moves the counter when its row is in, or was to be.
    fn raise_counter(&self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (used, generated) = self.row_id;
        if generated || used == 0 {
            return Ok(());
        }
        let tree = self.table.auto_counter(codec::trees(self.table, cx.txn.get()?)?);
        tree.map_or(Ok(()), |tree| tree.counter_raise(used)).map_err(from_engine)
    }

    /// The generated AUTO_INCREMENT value of a row that is not stored is the next row's.
    fn restore_id(&mut self, cx: &Cx<'_, 'p>) {
        let (id, generated) = std::mem::take(&mut self.row_id);
        if let Some((next, left)) = self.reserved.filter(|_| generated)
            && next == id.saturating_add(cx.shared.settings.auto_increment_increment.max(1))
        {
            self.reserved = Some((id, left + 1));
        }
    }

    /// A row that may not be: an error, or with IGNORE a warning.
    fn refuse(&mut self, error: SqlError, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if !self.insert.ignore {
            return Err(error);
        }
        self.duplicates += 1;
        cx.warnings.push(error.to_warning(Level::Warning));
        Ok(())
    }

    /// REPLACE through a view: a row that goes is one that the view shows. Error 3059.
    fn is_shown(&self, old: &[Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
        for condition in &self.insert.shown {
            if !eval::is_true(condition, &complete::batch_of(old), 0, cx)? {
                return Err(sql_err!(ReplaceInaccessibleRows));
            }
        }
        Ok(())
    }

    /// REPLACE: deletes the row in the way.
    fn makes_way(&mut self, place: &'p Table, row_key: &[u8], cx: &mut Cx<'_, 'p>) -> Result<()> {
        let slot = self.insert.table as usize;
        count(Counter::HandlerReadKey);
        let Some(old) = codec::current(place, row_key, cx.txn.get()?)? else { return Ok(()) };
        self.is_shown(&old, cx)?;
        count(Counter::HandlerDelete);
        triggers::fire(slot, (TriggerEvent::Delete, false), Some(&old), None, cx)?;
        cx.begin_row()?;
        rows::delete_row(place, row_key, &old, &mut cx.row_writer()?)?;
        foreign::deleted(slot, &old, cx)?;
        cx.end_row();
        triggers::fire(slot, (TriggerEvent::Delete, true), Some(&old), None, cx)?;
        self.affected += 1;
        Ok(())
    }

    /// REPLACE where [`replaces_in_place`] holds: the row in the way becomes the new one, by an update, so that
    /// entries of indexes that stay are not touched, nor the gaps around them. `false`: it is gone.
    fn takes_place(&mut self, place: &'p Table, row_key: &[u8], values: &[Value], cx: &mut Cx<'_, 'p>) -> Result<bool> {
        count(Counter::HandlerReadKey);
        let Some(old) = codec::current(place, row_key, cx.txn.get()?)? else { return Ok(false) };
        self.is_shown(&old, cx)?;
        count(Counter::HandlerUpdate);
        self.affected += 1;
        if old != values {
            cx.begin_row()?;
            match super::update::write((place, place), row_key, (&old, values), None, &mut cx.row_writer()?)? {
                Conflict::None => foreign::updated(self.insert.table as usize, &old, values, cx)?,
                Conflict::Duplicate { .. } => return Err(SqlError::internal("a second unique key of REPLACE")),
            }
            cx.end_row();
            self.affected += 1;
            self.duplicates += 1;
        }
        self.raise_counter(cx)?;
        self.stored();
        Ok(true)
    }

    /// ON DUPLICATE KEY UPDATE: changes the row in the way. It counts 2 when it changed, 0 (1 with CLIENT_FOUND_ROWS)
    /// when not.
    fn change(
        &mut self,
        place: &'p Table,
        row_key: &[u8],
        wanted: &[Value],
        source: Option<&[Value]>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        count(Counter::HandlerReadKey);
        let Some(old) = codec::current(place, row_key, cx.txn.get()?)? else {
            return Err(SqlError::internal("the duplicate disappeared while it was locked"));
        };
        let (mut new, assignments): (_, &'p [Assignment]) = (old.clone(), &self.insert.on_duplicate);
        for assignment in assignments {
            let column = assignment.column as usize;
            let value = match &assignment.value {
                None => complete::assigned(self.insert.table as usize, column, &new, cx)?,
                Some(expr) => {
                    let mut all: Vec<Value> =
                        new.iter().chain(wanted).chain(source.unwrap_or_default()).cloned().collect();
                    padding::fill_row(&mut all, self.table, cx);
                    let columns = all.into_iter().map(|v| crate::batch::Column::Constant(v, 1)).collect();
                    let value = eval::eval(expr, &Batch { rows: 1, columns }, 0, cx)?;
                    self.convert(value.as_ref(), column, true, cx)?
                }
            };
            new[column] = value;
        }
        let slot = self.insert.table as usize;
        self.last_row_id = self.number_of(&new);
        let changes = (assignments, self.options());
        let touched = super::update::touch(slot, &old, &mut new, changes, self.insert.ignore, cx)?;
        self.pass_of(&new, cx);
        if touched != Touched::Changed {
            self.affected += u64::from(cx.shared.settings.count_found_rows);
            self.duplicates += u64::from(self.insert.ignore);
            return touched.fire_after(slot, &old, &new, cx);
        }
        count(Counter::HandlerUpdate);
        let savepoint = self.insert.ignore.then_some(cx.begin_row()?);
        let into = match super::update::place_of(slot, place, (&old, &new), cx) {
            Ok(into) => into,
            Err(error) => return self.leave(error, savepoint, cx),
        };
        let refused =
            match super::update::write((place, into), row_key, (&old, &new), None, &mut cx.row_writer()?)? {
                Conflict::None => foreign::updated(slot, &old, &new, cx).err(),
                Conflict::Duplicate { index, .. } => {
                    let kept = foreign::kept(slot, index, (&old, &new), cx).err();
                    Some(kept.unwrap_or_else(|| {
                        rows::duplicate_error(self.table, index, &new, &cx.shared.settings.time_zone)
                    }))
                }
            };
        if let Some(error) = refused {
            return self.leave(error, savepoint, cx);
        }
        cx.end_row();
        // With IGNORE a changed row counts as a new one.
        self.duplicates += u64::from(!self.insert.ignore);
        self.affected += 2;
        self.any_stored = true;
        if let Some(column) = self.table.auto_column.map(|c| c as usize)
            && new[column] != old[column]
        {
            let tree = self.table.auto_counter(codec::trees(self.table, cx.txn.get()?)?);
            tree.map_or(Ok(()), |t| t.counter_raise(self.last_row_id)).map_err(from_engine)?;
        }
        super::update::fire_after(slot, &old, &new, cx)
    }

    /// A row that may not change as ON DUPLICATE KEY UPDATE says: an error, or with IGNORE a warning and the row as it
    /// was.
    fn leave(&mut self, error: SqlError, savepoint: Option<Savepoint>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let of_row =
            matches!(error.code(), ErrorCode::DupEntry | ErrorCode::NoReferencedRow2 | ErrorCode::RowIsReferenced2);
        match savepoint {
            Some(savepoint) if of_row || place::is_unplaced(&error) => {
                cx.undo_row(savepoint)?;
                self.refuse(error, cx)
            }
            _ => Err(error),
        }
    }
}

/// Whether the table has one unique key, of which one row may be in the way, no foreign key refers to it, and no
/// trigger is to see the row go.
fn replaces_in_place<'p>(run: &Run<'p>, cx: &Cx<'_, 'p>) -> bool {
    let links = cx.shared.plan.tables[run.insert.table as usize].links.as_ref();
    let mut unique = run.table.indexes.iter().filter(|i| i.unique());
    let only = unique.next().filter(|_| unique.next().is_none());
    // Each element of an array may be in another row.
    only.is_some_and(|index| matches!(index.method, Method::Ordered))
        && links.is_none_or(|l| l.children.is_empty())
        && !run.table.fires(TriggerEvent::Delete)
}

/// The AUTO_INCREMENT column is the index's first: for a generated number that is there REPLACE lets no row go.
fn leads(table: &Table, index: usize) -> bool {
    table.auto_column.is_some() && table.indexes[index].parts.first().map(|p| p.column) == table.auto_column
}

/// NULL in NOT NULL is an error in every sql_mode: of a single row without IGNORE. What a query's row changes by ON
/// DUPLICATE KEY UPDATE is as strict.
fn refuses_null(run: &Run<'_>, updates: bool) -> bool {
    let single = match run.insert.source {
        InsertSource::Values(_) => run.expected == 1,
        InsertSource::Query(_) => updates,
    };
    single && !run.insert.ignore
}
