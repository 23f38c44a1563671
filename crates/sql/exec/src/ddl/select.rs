//! CREATE TABLE ... SELECT: columns made from a query's, and its rows.
//!
//! A column that shows a base table's keeps its type, default and comment; AUTO_INCREMENT and the expression of a
//! generated column stay behind. Any other column gets the type in which MySQL keeps such a value in a table: integers
//! of few digits are INT, texts VARCHAR up to 512 characters, then TEXT; a value that is never NULL makes a NOT NULL
//! column with the type's zero as default.

use super::{DdlContext, Done};
use crate::changes::ChangeSink;
use crate::context::{Cx, Shared};
use crate::{convert, dml};
use gannet_catalog::Edit;
use gannet_parser::ast::OnDuplicate;
use gannet_plan::plan::ResultColumn;
use gannet_plan::{Colliding, Plan, PlanKind, insert_rows_of};
use gannet_schema::names::eq_name;
use gannet_schema::show::{ShowOptions, show_create_table};
use gannet_schema::{CatalogSnapshot, Column, ColumnDefault as Default, ColumnDefinition, Table};
use gannet_types::{CollationId, Result, SqlError, SqlMode, SqlType, TypeId, Value, sql_err};
use std::sync::Arc;

/// Characters of the longest text that becomes a VARCHAR.
const LONGEST_VARCHAR: u32 = 512;
/// Digits before the point of a DOUBLE with a fixed number behind it.
const DOUBLE_DIGITS: u32 = 17;
/// Digits of the longest integer that becomes an INT.
const INT_DIGITS: u32 = 9;

/// The columns of the query, as a definition.
pub(super) fn columns(cx: &DdlContext<'_>) -> Result<Vec<ColumnDefinition>> {
    let Some((plan, _)) = &cx.select else { return Ok(Vec::new()) };
    let columns = columns_of(plan, cx.settings.sql_mode);
    Ok(columns.map(|column| ColumnDefinition { column, explicit_null: false }).collect())
}

/// Columns that keep what a query gives.
pub fn columns_of(plan: &Plan, mode: SqlMode) -> impl Iterator<Item = Column> {
    plan.columns.iter().map(move |c| column(c, plan, mode))
}

/// Columns written and columns of the query: those of the query come last, in its order, in the type that was written
/// for their name.
pub(super) fn merge(
    mut written: Vec<ColumnDefinition>,
    selected: Vec<ColumnDefinition>,
) -> Result<Vec<ColumnDefinition>> {
    let mut tail: Vec<ColumnDefinition> = Vec::with_capacity(selected.len());
    for column in selected {
        let name = column.column.name.clone();
        if tail.iter().any(|c| eq_name(&c.column.name, &name)) {
            return Err(sql_err!(DupFieldname, name));
        }
        match written.iter().position(|c| eq_name(&c.column.name, &name)) {
            Some(at) => tail.push(written.remove(at)),
            None => tail.push(column),
        }
    }
    written.extend(tail);
    Ok(written)
}

/// The table or view that a column of a result is of, and its ordinal there.
pub fn origin<'a>(result: &ResultColumn, plan: &'a Plan) -> Option<(&'a Arc<Table>, u32)> {
    if result.org_table.is_empty() {
        return None;
    }
    let of =
        |t: &&gannet_plan::plan::PlanTable| *t.table.schema == *result.schema && *t.table.name == *result.org_table;
    let table = &plan.tables.iter().find(of)?.table;
    Some((table, table.column(&result.org_name)?))
}

fn base_column<'a>(result: &ResultColumn, plan: &'a Plan) -> Option<&'a Column> {
    let (table, ordinal) = origin(result, plan)?;
    let column = &table.columns[ordinal as usize];
    // Virtual tables of the server have types of their own making; what a view keeps of its columns may be of before
    // the tables below it were changed.
    let is_so = |c: &Column| SqlType { nullable: c.nullable, ..c.ty.clone() } == result.ty;
    (column.ty.id == result.ty.id && (table.view().is_none() || is_so(column))).then_some(column)
}

fn column(result: &ResultColumn, plan: &Plan, mode: SqlMode) -> Column {
    let mut made = match base_column(result, plan) {
        Some(base) => {
            Column { auto_increment: false, generated: None, invisible: false, hidden: false, ..base.clone() }
        }
        None => {
            let ty = column_type(&result.ty);
            let default = if ty.nullable { Default::Null } else { zero(&ty, mode) };
            Column::new("", ty.clone(), ty.nullable, default)
        }
    };
    made.name = (&*result.name).into();
    made.explicit_collation = false;
    if let Some(base) = base_column(result, plan) {
        made.nullable = result.ty.nullable;
        made.ty.nullable = made.nullable;
        if base.generated.is_some() || base.auto_increment {
            made.default = if made.nullable { Default::Null } else { zero(&made.ty, mode) };
        }
        if made.nullable && made.default == Default::None {
            made.default = Default::Null;
        }
    }
    made
}

/// The type in which a table keeps values of an expression.
fn column_type(ty: &SqlType) -> SqlType {
    let mut made = ty.clone();
    match ty.id {
        TypeId::Null => made = SqlType { length: 0, nullable: ty.nullable, ..SqlType::new(TypeId::Binary) },
        id if id.is_integer() => {
            if id == TypeId::BigInt && (1..=INT_DIGITS).contains(&ty.length) {
                made.id = TypeId::Int;
            }
            made.length = 0;
            made.zerofill = false;
        }
        TypeId::Decimal => {
            // Digits that a column does not have after the point are none of its precision.
            made.length = (ty.length - u32::from(ty.scale.saturating_sub(30)).min(ty.length)).clamp(1, 65);
            made.scale = ty.scale.min(30).min(made.length as u8);
        }
        TypeId::Float | TypeId::Double if ty.scale == SqlType::NOT_FIXED => made.length = 0,
        TypeId::Float | TypeId::Double if ty.length == 0 => made.length = DOUBLE_DIGITS + u32::from(ty.scale),
        TypeId::Date | TypeId::Time | TypeId::DateTime | TypeId::Timestamp | TypeId::Year => {
            made.length = SqlType::new(ty.id).length
        }
        id if id.is_string() => made = string(ty),
        _ => {}
    }
    made
}

fn string(ty: &SqlType) -> SqlType {
    let binary = ty.id.is_binary_string() || ty.collation == CollationId::BINARY;
    let bytes = ty.max_bytes();
    let chars = if ty.id.is_lob() { ty.length / ty.collation.charset().max_len() } else { ty.length };
    let id = match (ty.id.is_lob() || chars > LONGEST_VARCHAR, bytes) {
        (false, 0) => TypeId::Char,
        (false, _) => TypeId::VarChar,
        (true, ..=255) => TypeId::TinyText,
        (true, ..=65_535) => TypeId::Text,
        // What is computed and too long for a VARCHAR is kept as the longest of texts.
        (true, _) if ty.has_own_length() && matches!(ty.id, TypeId::MediumText | TypeId::MediumBlob) => {
            TypeId::LongText
        }
        (true, ..=16_777_215) => TypeId::MediumText,
        (true, _) => TypeId::LongText,
    };
    let id = if binary { super::binary_twin(id) } else { id };
    let length = if id.is_lob() { SqlType::new(id).length } else { ty.length };
    SqlType { length, collation: ty.collation, nullable: ty.nullable, ..SqlType::new(id) }
}

/// The default of a NOT NULL column without a DEFAULT clause.
fn zero(ty: &SqlType, mode: SqlMode) -> Default {
    let zero_dates = !(mode.is_strict() && mode.contains(SqlMode::NO_ZERO_DATE));
    match ty.id {
        id if id.is_lob() => Default::None,
        id if id.is_string() => Default::Literal(Value::Str(b""[..].into(), ty.collation)),
        TypeId::Json | TypeId::Enum | TypeId::Set | TypeId::Null => Default::None,
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp if !zero_dates => Default::None,
        _ => Default::Literal(convert::zero(ty)),
    }
}

/// Turns the query's plan into one that puts its rows into the new table.
pub fn insert_plan(
    table: &Arc<Table>,
    plan: Plan,
    on_duplicate: OnDuplicate,
    snapshot: &CatalogSnapshot,
) -> Result<Plan> {
    let mut columns = Vec::with_capacity(plan.columns.len());
    for column in &plan.columns {
        let ordinal = table.column(&column.name).ok_or_else(|| SqlError::internal("a selected column is missing"))?;
        if table.columns[ordinal as usize].generated.is_some() {
            return Err(sql_err!(NonDefaultValueForGeneratedColumn, column.name, table.name));
        }
        columns.push(ordinal);
    }
    let colliding = match on_duplicate {
        OnDuplicate::Error => Colliding::Refused,
        OnDuplicate::Ignore => Colliding::Skipped,
        OnDuplicate::Replace => Colliding::Replacing,
    };
    insert_rows_of(plan, table, columns, colliding, snapshot)
}

/// CREATE TABLE for a table that is there, as the binary log has it.
pub fn statement_of(table: &Table, database: Option<&str>) -> String {
    let with_schema = database.is_none_or(|current| *current != *table.schema);
    show_create_table(table, &ShowOptions { with_schema, ..ShowOptions::default() })
}

/// Runs it.
pub(super) fn fill(plan: &Plan, params: &[Value], edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    let PlanKind::Insert(insert) = &plan.kind else { return Err(SqlError::internal("not an INSERT")) };
    let shared = Shared::new(plan, cx.settings, params);
    let mut run = Cx::new(&shared, edit.txn(), cx.session, cx.warnings);
    run.changes = cx.changes.as_mut().map(|sink| &mut **sink as &mut dyn ChangeSink);
    let affected = dml::insert_into_new(insert, &mut run)?;
    if let Some(sink) = &mut cx.changes {
        let table = &plan.tables[insert.table as usize].table;
        let definition = statement_of(table, cx.database);
        edit.words = Some(sink.made(edit.txn(), &definition)?);
    }
    let dml::Affected { rows, last_insert_id, last_row_id, info } = affected;
    Ok(Done { rows, info, last_insert_id, last_row_id })
}
