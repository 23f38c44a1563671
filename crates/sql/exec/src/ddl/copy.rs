//! The rows of an altered table, from the old trees into the new ones.

use super::DdlContext;
use crate::spill::Allowance;
use crate::{
    codec, convert,
    error::{from_catalog, from_engine},
};
use gannet_catalog::{Edit, Pending, StoredTable};
use gannet_engine::{Insert, KeyRange, ScanOptions};
use gannet_schema::{Column, ColumnDefault, Table};
use gannet_types::convert::{Context, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{Date, DateTime, ErrorCode, Result, SqlError, SqlMode, SqlType, Timestamp, TypeId, Value, sql_err};

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

/// Copies all rows into the pending version's row tree, in the order of the old one. Returns their number and the greatest AUTO_INCREMENT value.
pub(super) fn copy_rows(pending: &Pending, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<(u64, u64)> {
    let engine = edit.txn().engine().clone();
    let (old, new) = (&*pending.old, &*pending.table);
    let from = old.trees(&engine).map_err(from_engine)?.row.clone();
    let to = new.trees(&engine).map_err(from_engine)?.row.clone();
    let sources = sources(pending, cx)?;
    let reader = edit.reader(old).map_err(from_catalog)?;
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = reader.scan(&from, KeyRange::ALL, options).map_err(from_engine)?;
    let mut rows = 0;
    let step = cx.settings.auto_increment_increment.max(1);
    let offset = cx.settings.auto_increment_offset.clamp(1, step);
    let mut numbers = Numbers { used: 0, first: pending.auto_increment.unwrap_or(0), step, offset };
    let (mut key, mut payload) = (Vec::new(), Vec::new());
    let expressions = super::expressions::Compiled::of(&pending.table)?;
    let computed: Vec<bool> = sources.iter().map(|s| matches!(s, Source::Computed)).collect();
    while let Some(entry) = scan.next().map_err(from_engine)? {
        rows += 1;
        if rows % 256 == 0 {
            gannet_runtime::yield_if_due();
            if gannet_runtime::interrupted() {
                return Err(sql_err!(QueryInterrupted));
            }
        }
        if rows == 1 {
            check_zero_dates(pending, cx)?;
        }
        let values = codec::decode_row(old, entry.value)?;
        let hidden = if old.has_hidden_key() { old.row_id_of_key(entry.key) } else { None };
        let mut row = Vec::with_capacity(new.columns.len());
        for (source, column) in sources.iter().zip(&new.columns) {
            row.push(value(source, column, old, &values, rows, &mut numbers, cx)?);
        }
        if let Some(expressions) = &expressions {
            expressions.complete(&mut row, &computed, rows, edit.txn(), cx)?;
        }
        if let Some(column) = new.auto_column {
            numbers.note(&row[column as usize]);
        }
        key.clear();
        payload.clear();
        if !new.has_hidden_key() {
            new.clustered_key(|i| row[i].as_ref(), &mut key)?;
        } else if let Some(id) = hidden {
            new.row_id_key(id, &mut key);
        } else {
            new.row_id_key(rows, &mut key);
        }
        codec::encode_row(new, &row, &mut payload)?;
        if edit.txn().insert(&to, &key, &payload).map_err(from_engine)? == Insert::Duplicate {
            return Err(duplicate(new, &row, cx));
        }
    }
    if new.has_hidden_key() && !old.has_hidden_key() {
        to.counter_raise(rows).map_err(from_engine)?;
    }
    Ok((rows, numbers.used))
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
            None => match &column.default {
                ColumnDefault::Null => Source::Constant(Value::Null),
                ColumnDefault::None if column.nullable => Source::Constant(Value::Null),
                ColumnDefault::Literal(value) => Source::Constant(value.clone()),
                ColumnDefault::None => Source::Constant(convert::zero(&column.ty)),
                ColumnDefault::CurrentTimestamp => {
                    let now = Timestamp::from_unix_micros(cx.settings.now_us)
                        .ok_or_else(|| SqlError::internal("the clock is out of range"))?;
                    Source::Constant(store(Value::Timestamp(now, 6), column, 1, cx)?)
                }
                ColumnDefault::Expression(_) => Source::Computed,
            },
        });
    }
    Ok(sources)
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
            store(value, column, row, cx)
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

/// NULL for a column of the new version. Into NOT NULL: error 1138 when only that changed, 1265 when the type changed too; without strict mode
/// the type's implicit default with warning 1265.
fn null(column: &Column, old: &SqlType, row: u64, cx: &mut DdlContext<'_>) -> Result<Value> {
    if column.nullable {
        return Ok(Value::Null);
    }
    let truncated = sql_err!(WarnDataTruncated, column.name, row);
    if cx.settings.sql_mode.is_strict() {
        let same = SqlType { nullable: true, ..column.ty.clone() } == *old;
        return Err(if same { sql_err!(InvalidUseOfNull) } else { truncated });
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
    let allowance = Allowance::alone(cx.settings.memory_limit);
    let mut context = Context {
        mode: cx.settings.sql_mode,
        zone: &cx.settings.time_zone,
        today: cx.settings.today,
        strict: cx.settings.sql_mode.is_strict(),
        warnings: cx.warnings,
        stopped: crate::context::stopped,
        room: Room::of(&allowance),
    };
    gannet_types::convert::store(value.as_ref(), &column.ty, StoreTarget { column: &column.name, row }, &mut context)
}

/// A new NOT NULL date column without DEFAULT would hold zero dates in the rows there are: error 1292 where the mode forbids them.
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

fn duplicate(table: &Table, row: &[Value], cx: &DdlContext<'_>) -> SqlError {
    let index = table.clustered.unwrap_or(0);
    let text = table.duplicate_text(index, |i| row[i].as_ref().localize(&cx.settings.time_zone));
    sql_err!(DupEntry, text, format_args!("{}.{}", table.name, table.indexes[index].name))
}
