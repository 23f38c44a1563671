//! The rows of an altered table, from the old trees into the new ones.

use super::DdlContext;
use super::expressions::Placing;
use crate::spill::Allowance;
use crate::{
    codec, convert,
    error::{from_catalog, from_engine},
};
use gannet_catalog::{Edit, Load, NotLoaded, Pending, StoredTable};
use gannet_engine::{Item, KeyRange, ScanOptions, SortSpace, Sorter};
use gannet_runtime::{LongWork, Stage};
use gannet_schema::{Column, ColumnDefault, Table};
use gannet_types::convert::{Context, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{
    Date, DateTime, ErrorCode, Result, SqlError, SqlMode, SqlType, Timestamp, TypeId, Value, ValueRef, sql_err,
};
use std::sync::Arc;

/// Where a column of the new version gets its values.
enum Source {
    /// From an old column, as they are.
    Same(usize),
    /// From an old column, converted.
    Converted(usize),
    /// New: the same value in every row.
    Constant(Value),
    /// AUTO_INCREMENT of a column that is new or had none: rows without a value are numbered.
    Numbered(Option<usize>),
    /// By an expression, when the others are there.
    Computed,
}

/// At which stages an alteration is while it reads and sorts, fills trees, and ends.
#[derive(Clone, Copy)]
pub(super) struct Stages {
    pub(super) read: Stage,
    pub(super) insert: Stage,
    pub(super) end: Stage,
}

impl Stages {
    /// Of one for which InnoDB makes rows or indexes in place.
    pub(super) const IN_PLACE: Stages =
        Stages { read: Stage::AlterRead, insert: Stage::AlterInsert, end: Stage::AlterEnd };
    /// Of one that copies: MySQL has a single stage for all of it.
    const COPY: Stages = Stages { read: Stage::Copy, insert: Stage::Copy, end: Stage::Copy };

    pub(super) fn of(pending: &Pending, counted: bool) -> Stages {
        if pending.copy && counted { Stages::COPY } else { Stages::IN_PLACE }
    }
}

/// Copies all rows into the pending version's trees, indexes included. Returns their number and the greatest
/// AUTO_INCREMENT value. Error 1062 for two rows with one key. `expected`: units of work.
pub(super) fn copy_rows(
    pending: &Pending,
    (stages, expected): (Stages, u64),
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<(u64, u64)> {
    let engine = edit.txn().engine().clone();
    let (old, new) = (&*pending.old, &*pending.table);
    let to = new.trees(&engine).map_err(from_engine)?.hidden_ids().clone();
    let sources = sources(pending, cx)?;
    let mut load = Loading::begin(edit, pending)?;
    edit.work.enter(stages.read);
    let how = Kept::of(&sources, old, new);
    let mut rows = 0;
    let mut numbers = Numbers::of(pending, cx);
    let (mut key, mut payload) = (Vec::new(), Vec::new());
    let expressions = super::expressions::Compiled::of(&pending.table)?;
    let computes = expressions.as_ref().is_some_and(|e| e.computes());
    let computed: Vec<bool> = sources.iter().map(|s| matches!(s, Source::Computed)).collect();
    for part in old.all_parts() {
        let from = part?.trees(&engine).map_err(from_engine)?.row.clone();
        let reader = edit.reader(old).map_err(from_catalog)?;
        let options = ScanOptions { sequential: true, whole: true, ..ScanOptions::default() };
        let mut scan = reader.scan(&from, KeyRange::ALL, options).map_err(from_engine)?;
        while let Some(entry) = scan.next().map_err(from_engine)? {
            rows += 1;
            look_up(rows, &edit.work)?;
            if rows == 1 {
                check_zero_dates(pending, cx)?;
            }
            payload.clear();
            match how {
                Kept::Rows | Kept::Values if !computes => {
                    take_over(pending, how, &sources, entry.value, &mut payload)?;
                }
                _ => {
                    let values = codec::decode_row(old, entry.value)?;
                    let mut row = Vec::with_capacity(new.columns.len());
                    for (source, column) in sources.iter().zip(&new.columns) {
                        row.push(value(source, column, old, &values, rows, &mut numbers, cx)?);
                    }
                    if let Some(expressions) = &expressions {
                        expressions.complete(&mut row, &computed, rows, edit.txn(), cx)?;
                    }
                    codec::encode_row(new, &row, &mut payload)?;
                }
            }
            let stored = |i: usize| new.layout().get(&payload, i).unwrap_or(ValueRef::Null);
            if let Some(column) = new.auto_column {
                numbers.note(&stored(column as usize).to_owned());
            }
            key.clear();
            if new.has_hidden_key() {
                new.row_id_key(hidden_id(old, entry.key).unwrap_or(rows), &mut key);
            } else {
                new.clustered_key(stored, &mut key)?;
            }
            load.row(&key, &payload, edit, cx)?;
        }
    }
    edit.work.done(rows % LOOK);
    edit.work.expect_instead(expected, rows + load.rest());
    load.finish(stages.insert, edit, cx)?;
    if new.has_hidden_key() && !old.has_hidden_key() {
        to.counter_raise(rows).map_err(from_engine)?;
    }
    Ok((rows, numbers.used))
}

/// The hidden number of a row, where its table has such.
fn hidden_id(table: &Table, key: &[u8]) -> Option<u64> {
    if table.has_hidden_key() { table.row_id_of_key(key) } else { None }
}

/// How a row that stays as it is, or whose values do, is stored in the new version.
fn take_over(pending: &Pending, how: Kept, sources: &[Source], row: &[u8], payload: &mut Vec<u8>) -> Result<()> {
    let (old, new) = (&*pending.old, &*pending.table);
    if how == Kept::Rows {
        payload.extend_from_slice(row);
        return Ok(());
    }
    let value = |i: usize| match &sources[i] {
        Source::Same(o) => old.layout().get(row, *o).unwrap_or(ValueRef::Null),
        Source::Constant(value) => value.as_ref(),
        _ => ValueRef::Null,
    };
    (0..old.columns.len()).try_for_each(|i| old.layout().get(row, i).map(drop))?;
    new.layout().encode_with(value, payload)
}

/// Where the rows go.
enum Loading<'t> {
    /// A table without parts.
    One(&'t Table, Box<Load<'t>>),
    /// The parts one after the other: the rows are sorted by part and key before.
    Parts(Spreading<'t>),
}

/// Rows on their way to the parts of a table.
pub(super) struct Spreading<'t> {
    table: &'t Arc<Table>,
    fresh: Vec<usize>,
    rows: Sorter,
    placing: Placing,
    /// Parts that have their rows already.
    kept: Vec<Option<usize>>,
    key: Vec<u8>,
}

impl<'t> Loading<'t> {
    fn begin(edit: &mut Edit<'_>, pending: &'t Pending) -> Result<Loading<'t>> {
        if pending.table.partitions.is_none() {
            let ordered = keeps_order(pending) && pending.old.partitions.is_none();
            let load = Load::of(edit, pending, ordered).map_err(from_catalog)?;
            return Ok(Loading::One(&pending.table, Box::new(load)));
        }
        Ok(Loading::Parts(Spreading::begin(edit, &pending.table, pending.fresh_indexes().to_vec())?))
    }

    fn row(&mut self, key: &[u8], row: &[u8], edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
        match self {
            Loading::One(table, load) => load.row(key, row).map_err(|e| not_loaded(e, table, cx)),
            Loading::Parts(spreading) => spreading.row(key, row, edit, cx),
        }
    }

    /// Units of work that are left when all rows have come.
    fn rest(&self) -> u64 {
        match self {
            Loading::One(_, load) => load.entries(),
            Loading::Parts(spreading) => spreading.rest(),
        }
    }

    fn finish(self, insert: Stage, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
        match self {
            Loading::One(table, load) => load.finish_in(edit, insert).map_err(|e| not_loaded(e, table, cx)),
            Loading::Parts(spreading) => spreading.finish(insert, edit, cx),
        }
    }
}

impl<'t> Spreading<'t> {
    /// To the new, empty parts of a table, with the indexes at `fresh`.
    pub(super) fn begin(edit: &mut Edit<'_>, table: &'t Arc<Table>, fresh: Vec<usize>) -> Result<Spreading<'t>> {
        let space = SortSpace::of_builds(edit.txn().engine());
        Ok(Spreading {
            table,
            fresh,
            rows: Sorter::new(space),
            placing: Placing::of(table)?,
            kept: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Takes a row. Errors 1526, 1863.
    pub(super) fn row(&mut self, key: &[u8], row: &[u8], edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
        let values = codec::decode_row(self.table, row)?;
        let part = self.placing.part(&values, edit.txn(), cx)?;
        if let Some(Some(was)) = self.kept.get(part as usize) {
            let text = crate::place::told(self.table, 0..self.table.columns.len(), &values);
            let from = "from REBUILD/REORGANIZED partition";
            let to = format_args!("{from}: {part} to non included partition (new definition): {was}{text}");
            return Err(sql_err!(RowInWrongPartition, to));
        }
        self.put(part, key, row)
    }

    /// Takes a row of this part.
    pub(super) fn put(&mut self, part: u32, key: &[u8], row: &[u8]) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(&part.to_be_bytes());
        self.key.extend_from_slice(key);
        self.rows.push(Item { key: &self.key, unique: 0, value: row }).map_err(from_engine)
    }

    /// Parts that one of the old version stays as get no rows: a row that belongs there is error 1863.
    pub(super) fn keep(&mut self, kept: &[Option<usize>]) {
        self.kept = kept.to_vec();
    }

    /// Units of work that are left when all rows have come: each goes to its part, and its entries to the indexes.
    pub(super) fn rest(&self) -> u64 {
        self.rows.entries() * (1 + self.fresh.len() as u64)
    }

    /// Fills the parts.
    pub(super) fn finish(self, insert: Stage, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
        let Spreading { table, fresh, rows, .. } = self;
        edit.work.enter(insert);
        let mut merge = Sorter::merge(vec![rows]).map_err(from_engine)?;
        let mut loading: Option<(u32, Load<'_>)> = None;
        let mut done = 0;
        while let Some(item) = merge.next().map_err(from_engine)? {
            done += 1;
            look_up(done, &edit.work)?;
            let (part, key) = item.key.split_at(4);
            let part = u32::from_be_bytes(part.try_into().unwrap_or_default());
            if loading.as_ref().is_none_or(|(n, _)| *n != part) {
                if let Some((_, load)) = loading.take() {
                    load.finish_in(edit, insert).map_err(|e| not_loaded(e, table, cx))?;
                }
                let begun = Load::begin(edit.txn(), table.part(part)?, &fresh, true).map_err(from_catalog)?;
                loading = Some((part, begun));
            }
            if let Some((_, load)) = &mut loading {
                load.row(key, item.value).map_err(|e| not_loaded(e, table, cx))?;
            }
        }
        edit.work.done(done % LOOK);
        match loading {
            Some((_, load)) => load.finish_in(edit, insert).map_err(|e| not_loaded(e, table, cx)),
            None => Ok(()),
        }
    }
}

/// Rows after which a copy looks up.
pub(super) const LOOK: u64 = 256;

/// Now and then lets others run, and tells how far it is. Error 1317 when the statement was killed.
pub(super) fn look_up(rows: u64, work: &LongWork) -> Result<()> {
    if rows.is_multiple_of(LOOK) {
        work.done(LOOK);
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
    }
    Ok(())
}

/// What of a row can be taken over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Its bytes.
    Rows,
    /// The bytes of its values.
    Values,
    /// Some values are made anew.
    Nothing,
}

impl Kept {
    fn of(sources: &[Source], old: &Table, new: &Table) -> Kept {
        if !sources.iter().all(|s| matches!(s, Source::Same(_) | Source::Constant(_))) {
            return Kept::Nothing;
        }
        let places = sources.iter().enumerate().all(|(i, s)| matches!(s, Source::Same(o) if *o == i));
        let same = places && old.columns.len() == new.columns.len() && old.history.number == 0;
        if same { Kept::Rows } else { Kept::Values }
    }
}

/// Rows that are read in the order of the old key are in the order of the new one.
fn keeps_order(pending: &Pending) -> bool {
    let (old, new) = (&*pending.old, &*pending.table);
    if new.has_hidden_key() {
        return true;
    }
    let part = |table: &Table, i: usize| {
        table.clustered_index().and_then(|index| index.parts.get(i)).map(|p| (p.column, p.prefix, p.descending))
    };
    let parts = new.clustered_index().map_or(0, |index| index.parts.len());
    let same = |i| match (part(old, i), part(new, i)) {
        (Some(a), Some(b)) => {
            pending.columns[b.0 as usize] == Some(a.0)
                && (a.1, a.2) == (b.1, b.2)
                && old.columns[a.0 as usize].ty == new.columns[b.0 as usize].ty
        }
        _ => false,
    };
    old.clustered_columns().len() == parts && (0..parts).all(same)
}

fn not_loaded(error: NotLoaded, table: &Table, cx: &DdlContext<'_>) -> SqlError {
    match error {
        NotLoaded::Duplicate(row) => {
            let index = table.clustered.unwrap_or(0);
            let zone = &cx.settings.time_zone;
            let value = |i| table.layout().get(&row, i).unwrap_or(ValueRef::Null).localize(zone);
            let text = table.duplicate_text(index, value);
            sql_err!(DupEntry, text, format_args!("{}.{}", table.name, table.indexes[index].name))
        }
        NotLoaded::Other(error) => from_catalog(error),
    }
}

struct Numbers {
    /// Greatest so far.
    used: u64,
    /// AUTO_INCREMENT of the statement.
    first: u64,
    /// `auto_increment_increment`, `auto_increment_offset`
    step: u64,
    offset: u64,
}

impl Numbers {
    fn of(pending: &Pending, cx: &DdlContext<'_>) -> Numbers {
        let step = cx.settings.auto_increment_increment.max(1);
        let offset = cx.settings.auto_increment_offset.clamp(1, step);
        Numbers { used: 0, first: pending.auto_increment.unwrap_or(0), step, offset }
    }

    /// The next number: of those that are `offset` more than a multiple of `step`.
    fn take(&mut self) -> u64 {
        let least = self.used.saturating_add(1).max(self.first).max(self.offset);
        self.used = least.saturating_add((self.step - (least - self.offset) % self.step) % self.step);
        self.used
    }

    fn note(&mut self, value: &Value) {
        if let Some(n) = convert::to_i128(value).and_then(|n| u64::try_from(n).ok()) {
            self.used = self.used.max(n);
        }
    }
}

fn sources(pending: &Pending, cx: &mut DdlContext<'_>) -> Result<Vec<Source>> {
    let mut sources = Vec::with_capacity(pending.columns.len());
    for (origin, column) in pending.columns.iter().zip(&pending.table.columns) {
        let old = origin.map(|o| (o as usize, &pending.old.columns[o as usize]));
        sources.push(match old {
            _ if column.generated.is_some() => Source::Computed,
            Some((o, old)) if column.auto_increment && !old.auto_increment => Source::Numbered(Some(o)),
            None if column.auto_increment => Source::Numbered(None),
            Some((o, old)) if old.ty == column.ty => Source::Same(o),
            Some((o, _)) => Source::Converted(o),
            None => constant(column, cx)?.map_or(Source::Computed, Source::Constant),
        });
    }
    Ok(sources)
}

/// What a new column is in all rows that there are; `None`: that has to be computed.
pub(super) fn constant(column: &Column, cx: &mut DdlContext<'_>) -> Result<Option<Value>> {
    if column.generated.is_some() || column.auto_increment {
        return Ok(None);
    }
    Ok(match &column.default {
        ColumnDefault::Null | ColumnDefault::Dropped => Some(Value::Null),
        ColumnDefault::None if column.nullable => Some(Value::Null),
        ColumnDefault::Literal(value) => Some(value.clone()),
        ColumnDefault::None => Some(convert::zero(&column.ty)),
        ColumnDefault::CurrentTimestamp => {
            let now = Timestamp::current(cx.settings.now_us, column.ty.scale)
                .ok_or_else(|| SqlError::internal("the clock is out of range"))?;
            Some(store(Value::Timestamp(now, 6), column, 1, cx)?)
        }
        ColumnDefault::Expression(_) => None,
    })
}

fn value(
    source: &Source,
    column: &Column,
    old: &Table,
    values: &[Value],
    row: u64,
    numbers: &mut Numbers,
    cx: &mut DdlContext<'_>,
) -> Result<Value> {
    match source {
        Source::Same(o) => Ok(values[*o].clone()),
        Source::Constant(value) => Ok(value.clone()),
        Source::Computed => Ok(Value::Null),
        Source::Converted(o) if values[*o].is_null() => null(column, &old.columns[*o].ty, row, cx),
        Source::Converted(o) => {
            let mut value = values[*o].clone();
            value.settle(&old.columns[*o].ty);
            // A column's text is what it shows; of an assigned FLOAT it would be the DOUBLE's, of a YEAR its number.
            if column.ty.id.is_string() && matches!(value, Value::Float(_) | Value::Double(_) | Value::Year(_)) {
                let text = gannet_types::convert::to_text(&value.as_ref()).into_owned();
                value = Value::Str(text.into(), column.ty.collation);
            }
            // A column's integer is the nearest one, where an assigned DOUBLE loses its fraction.
            if column.ty.id == TypeId::Bit {
                value = match value {
                    Value::Double(x) => Value::Double(x.round_ties_even()),
                    Value::Float(x) => Value::Float(x.round_ties_even()),
                    other => other,
                };
            }
            let old = &old.columns[*o].ty;
            store(value, column, row, cx).map_err(|e| match e.code() {
                ErrorCode::DataTooLong if are_alike(&column.ty, old) => sql_err!(WarnDataTruncated, column.name, row),
                _ => e,
            })
        }
        Source::Numbered(o) => {
            let given = o.map(|o| values[o].clone()).filter(|v| !v.is_null());
            let given = given.map(|v| store(v, column, row, cx)).transpose()?;
            let zero_counts = cx.settings.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
            match given {
                Some(v) if zero_counts || convert::to_i128(&v) != Some(0) => Ok(v),
                _ => {
                    let number = numbers.take();
                    store(Value::UInt(number), column, row, cx)
                }
            }
        }
    }
}

/// VARCHARs of one character set, which differ in their lengths.
fn are_alike(new: &SqlType, old: &SqlType) -> bool {
    let variable = matches!(new.id, TypeId::VarChar | TypeId::VarBinary);
    variable && new.id == old.id && new.collation.charset() == old.collation.charset()
}

/// InnoDB need not copy a row: the type is the same, or a VARCHAR that became longer, in as many bytes of its length.
fn stays(new: &SqlType, old: &SqlType) -> bool {
    let of_one_byte = |ty: &SqlType| ty.max_bytes() < 256;
    let longer = new.length >= old.length && of_one_byte(new) == of_one_byte(old);
    let same = SqlType { nullable: true, ..new.clone() } == SqlType { nullable: true, ..old.clone() };
    same || are_alike(new, old) && new.collation == old.collation && longer
}

/// NULL for a column of the new version. Into NOT NULL: error 1138 when only that changed, 1265 when the type changed
/// too; without strict mode the type's implicit default with warning 1265.
fn null(column: &Column, old: &SqlType, row: u64, cx: &mut DdlContext<'_>) -> Result<Value> {
    if column.nullable {
        return Ok(Value::Null);
    }
    let truncated = sql_err!(WarnDataTruncated, column.name, row);
    if cx.settings.sql_mode.is_strict() {
        return Err(if stays(&column.ty, old) { sql_err!(InvalidUseOfNull) } else { truncated });
    }
    cx.warnings.push(truncated.to_warning(gannet_types::Level::Warning));
    // Not the first member of an ENUM, which is what INSERT invents.
    Ok(match &column.ty.members {
        Some(members) if column.ty.id == TypeId::Enum => Value::Enum(0, members.clone()),
        _ => convert::zero(&column.ty),
    })
}

/// Converts a value by the session's sql_mode.
pub(super) fn store(value: Value, column: &Column, row: u64, cx: &mut DdlContext<'_>) -> Result<Value> {
    let mode = cx.settings.sql_mode;
    store_in(value, column, row, mode, cx)
}

/// As [`store`], by another sql_mode.
pub(super) fn store_in(
    value: Value,
    column: &Column,
    row: u64,
    mode: SqlMode,
    cx: &mut DdlContext<'_>,
) -> Result<Value> {
    let allowance = Allowance::alone(cx.settings.memory_limit);
    let mut context = Context {
        mode,
        zone: &cx.settings.time_zone,
        today: cx.settings.today,
        strict: mode.is_strict(),
        warnings: cx.warnings,
        stopped: crate::context::stopped,
        room: Room::of(&allowance),
    };
    gannet_types::convert::store(value.as_ref(), &column.ty, StoreTarget { column: &column.name, row }, &mut context)
}

/// What [`copy_rows`] refuses of new columns, where the rows stay as they are.
pub(super) fn check_kept_rows(pending: &Pending, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    if pending.columns.iter().all(Option::is_some) {
        return Ok(());
    }
    let engine = edit.txn().engine().clone();
    for part in pending.old.all_parts() {
        let rows = part?.trees(&engine).map_err(from_engine)?.row.clone();
        let reader = edit.reader(&pending.old).map_err(from_catalog)?;
        let mut scan = reader.scan(&rows, KeyRange::ALL, ScanOptions::default()).map_err(from_engine)?;
        if scan.next().map_err(from_engine)?.is_some() {
            return check_zero_dates(pending, cx);
        }
    }
    Ok(())
}

/// A new NOT NULL date column without DEFAULT would hold zero dates in the rows there are: error 1292 where the mode
/// forbids them.
fn check_zero_dates(pending: &Pending, cx: &mut DdlContext<'_>) -> Result<()> {
    let mode = cx.settings.sql_mode;
    if !mode.contains(SqlMode::NO_ZERO_DATE) || !mode.is_strict() {
        return Ok(());
    }
    for (origin, column) in pending.columns.iter().zip(&pending.table.columns) {
        let zero =
            origin.is_none() && !column.nullable && column.default == ColumnDefault::None && column.generated.is_none();
        let (word, text) = match column.ty.id {
            TypeId::Date => ("date", Value::Date(Date::ZERO)),
            TypeId::DateTime | TypeId::Timestamp => ("datetime", Value::DateTime(DateTime::ZERO, column.ty.scale)),
            _ => continue,
        };
        if zero {
            let mut bytes = Vec::new();
            text.write_text(&mut bytes);
            let text = String::from_utf8_lossy(&bytes);
            let message = format!("Incorrect {word} value: '{text}' for column '{}' at row 1", column.name);
            return Err(SqlError::with_message(ErrorCode::TruncatedWrongValue, message));
        }
    }
    Ok(())
}
