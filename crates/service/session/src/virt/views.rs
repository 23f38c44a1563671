//! Views as the tables below them are now: a change of those says nothing to the views.

use crate::state::State;
use gannet_parser::ast::Statement;
use gannet_plan::Plan;
use gannet_plan::options::PlanOptions;
use gannet_schema::{CatalogSnapshot, Column, Table, View, ViewAlgorithm};
use gannet_types::{ErrorCode, Result, SqlError, SqlMode, SqlType, sql_err};

/// A view's columns: types, NULL and defaults. Error 1356 when what it names is gone.
pub(super) fn columns(state: &State, snapshot: &CatalogSnapshot, view: &Table) -> Result<Vec<Column>> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let sql = format!("SELECT * FROM {}.{}", quoted(&view.schema), quoted(&view.name));
    let plan = planned(state, snapshot, &sql)?;
    let mut columns: Vec<Column> = gannet_exec::ddl::columns_of(&plan, SqlMode::DEFAULT).collect();
    for (ordinal, (column, kept)) in columns.iter_mut().zip(&view.columns).enumerate() {
        // The dictionary has another type: its default is of that one.
        let same = SqlType { nullable: kept.ty.nullable, ..column.ty.clone() } == kept.ty;
        if !same
            && let Some(below) = below(state, snapshot, view, ordinal)
            && below.ty.id == column.ty.id
        {
            column.default = below.default;
        }
    }
    Ok(columns)
}

/// It can be updated now: a view below may have become another. `None`: it cannot be read.
pub(super) fn updatable(state: &State, snapshot: &CatalogSnapshot, view: &View) -> Option<bool> {
    let Ok(Statement::Query(query)) = parsed(&view.query) else { return None };
    let definition = gannet_plan::view_definition(&query, &[], snapshot, &options(state)).ok()?;
    Some(definition.updatable && view.algorithm != ViewAlgorithm::Temptable)
}

fn planned(state: &State, snapshot: &CatalogSnapshot, sql: &str) -> Result<Plan> {
    gannet_plan::plan(&parsed(sql)?, snapshot, &options(state))
}

fn parsed(sql: &str) -> Result<Statement> {
    let parsed = gannet_parser::parse(sql.as_bytes(), Default::default());
    Ok(parsed.map_err(|e| SqlError::internal(format_args!("a view's text: {e:?}")))?.statement)
}

fn options(state: &State) -> PlanOptions<'_> {
    PlanOptions {
        variables: Some(state),
        remaining_stack: gannet_runtime::remaining_stack,
        stopped: gannet_exec::stopped,
        ..PlanOptions::new(None)
    }
}

/// The column of a table that a column of a view shows, through as many views as there are.
fn below(state: &State, snapshot: &CatalogSnapshot, view: &Table, ordinal: usize) -> Option<Column> {
    let plan = planned(state, snapshot, &view.view()?.query).ok()?;
    let (table, ordinal) = gannet_exec::ddl::origin(plan.columns.get(ordinal)?, &plan)?;
    match table.view() {
        Some(_) => below(state, snapshot, table, ordinal as usize),
        None => table.columns.get(ordinal as usize).cloned(),
    }
}

/// Why it cannot be read: error 1356.
pub(super) fn error(state: &State, snapshot: &CatalogSnapshot, view: &Table) -> Option<SqlError> {
    // The one that is shown, whichever of those below it is not valid.
    let invalid = |e: &SqlError| e.code() == ErrorCode::ViewInvalid;
    columns(state, snapshot, view).err().filter(invalid).map(|_| sql_err!(ViewInvalid, view.schema, view.name))
}
