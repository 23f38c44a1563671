//! Values for columns that the statement does not give.

use crate::{
    context::{Cx, Told},
    convert,
};
use gannet_plan::plan::{Intent, PlanTable};
use gannet_schema::{Column, ColumnDefault as Default, Table};
use gannet_types::{Date, DateTime, Level, Result, SqlError, SqlMode, Value, ValueRef, sql_err};

/// DEFAULT of a column, as `DEFAULT(col)` gives it: error 1364 when there is none.
pub(crate) fn default_value(table: &Table, column: usize, cx: &mut Cx<'_, '_>) -> Result<Value> {
    let column = &table.columns[column];
    declared(column, cx)?.ok_or_else(|| sql_err!(NoDefaultForField, column.name))
}

/// DEFAULT of a column that an INSERT leaves out. Without one: error 1364 in strict mode, else the type's implicit
/// default with a warning, once a statement.
pub(crate) fn missing_value(table: &Table, column: usize, cx: &mut Cx<'_, '_>) -> Result<Value> {
    declared_or(&table.columns[column], cx, warn_of_no_default)
}

/// DEFAULT that is written for a column, which is told of in each row where the column has none.
pub(crate) fn written_value(table: &Table, column: usize, cx: &mut Cx<'_, '_>) -> Result<Value> {
    declared_or(&table.columns[column], cx, |column, cx| {
        let warning = no_default(column, cx).to_warning(Level::Warning);
        cx.warnings.push(warning);
    })
}

fn declared_or(column: &Column, cx: &mut Cx<'_, '_>, warn: impl Fn(&Column, &mut Cx<'_, '_>)) -> Result<Value> {
    if let Some(value) = declared(column, cx)? {
        return Ok(value);
    }
    // The first member is the default of an ENUM.
    if column.ty.id == gannet_types::TypeId::Enum {
        return Ok(implicit(column));
    }
    if cx.strict {
        return Err(no_default(column, cx));
    }
    warn(column, cx);
    Ok(implicit(column))
}

/// Error 1364, or 1423 where rows go through a view.
pub(crate) fn no_default(column: &Column, cx: &Cx<'_, '_>) -> SqlError {
    let inserts = |t: &&PlanTable| matches!(t.intent, Intent::Insert | Intent::Replace) && t.table.view().is_some();
    match cx.shared.plan.tables.iter().find(inserts) {
        Some(view) => sql_err!(NoDefaultForViewField, view.table.schema, view.table.name),
        None => sql_err!(NoDefaultForField, column.name),
    }
}

/// The same as a warning, once a statement and column.
pub(crate) fn warn_of_no_default(column: &Column, cx: &mut Cx<'_, '_>) {
    let warning = no_default(column, cx);
    if cx.shared.tells_first(warning.code(), Told::Name((&*column.name).into())) {
        cx.warnings.push(warning.to_warning(Level::Warning));
    }
}

fn declared(column: &Column, cx: &mut Cx<'_, '_>) -> Result<Option<Value>> {
    match &column.default {
        // Zero stands for the next number where a row is inserted, else for itself.
        Default::None if column.auto_increment => Ok(Some(convert::zero(&column.ty))),
        Default::None | Default::Dropped => Ok(None),
        Default::Null => Ok(Some(Value::Null)),
        Default::Literal(value) => {
            if cx.strict && cx.shared.settings.sql_mode.contains(SqlMode::NO_ZERO_DATE) && is_zero_date(value) {
                return convert::store(as_text(value).as_ref(), "", column, 1, cx).map(Some);
            }
            Ok(Some(value.clone()))
        }
        Default::CurrentTimestamp => now(column, cx).map(Some),
        Default::Expression(_) => Err(sql_err!(DefaultAsValGenerated)),
    }
}

fn is_zero_date(value: &Value) -> bool {
    match value {
        Value::Date(d) => *d == Date::ZERO,
        Value::DateTime(d, _) => *d == DateTime::ZERO,
        _ => false,
    }
}

fn as_text(value: &Value) -> Value {
    let mut text = Vec::new();
    value.write_text(&mut text);
    Value::Str(text.into(), gannet_types::CollationId::DEFAULT)
}

/// The statement's time in the column's type.
pub(crate) fn now(column: &Column, cx: &mut Cx<'_, '_>) -> Result<Value> {
    let now = gannet_types::Timestamp::current(cx.shared.settings.now_us, column.ty.scale);
    let now = now.ok_or_else(|| gannet_types::SqlError::internal("the clock is out of range"))?;
    convert::store(ValueRef::Timestamp(now, 6), "", column, 1, cx)
}

/// What a type holds when nothing is given: 0, an empty string, a zero date, the first ENUM member.
pub(crate) fn implicit(column: &Column) -> Value {
    if column.nullable {
        return Value::Null;
    }
    convert::zero(&column.ty)
}

/// The value whose bytes are all zero, which NULL becomes where it may not stay. An ENUM has none of its members then.
pub(crate) fn emptied(column: &Column) -> Value {
    match convert::zero(&column.ty) {
        Value::Enum(_, members) => Value::Enum(0, members),
        other => other,
    }
}
