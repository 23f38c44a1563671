//! Views as the tables below them are now: a change of those says nothing to the views.

use crate::state::State;
use gannet_plan::options::PlanOptions;
use gannet_schema::{CatalogSnapshot, Column, Table};
use gannet_types::{ErrorCode, Result, sql_err};

/// A view's columns: types, NULL and defaults. Error 1356 when what it names is gone.
pub(super) fn columns(state: &State, snapshot: &CatalogSnapshot, view: &Table) -> Result<Vec<Column>> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let sql = format!("SELECT * FROM {}.{}", quoted(&view.schema), quoted(&view.name));
    let parsed = gannet_parser::parse(sql.as_bytes(), Default::default())
        .map_err(|e| gannet_types::SqlError::internal(format_args!("a view's name: {e:?}")))?;
    let options = PlanOptions {
        variables: Some(state),
        remaining_stack: gannet_runtime::remaining_stack,
        stopped: gannet_exec::stopped,
        ..PlanOptions::new(None)
    };
    let plan = gannet_plan::plan(&parsed.statement, snapshot, &options)?;
    Ok(gannet_exec::ddl::columns_of(&plan, options.sql_mode).collect())
}

/// What its comment says: `VIEW`, or why it cannot be read.
pub(super) fn comment(state: &State, snapshot: &CatalogSnapshot, view: &Table) -> String {
    match columns(state, snapshot, view) {
        // The one that is shown, whichever of those below it is not valid.
        Err(e) if e.code() == ErrorCode::ViewInvalid => {
            sql_err!(ViewInvalid, view.schema, view.name).message().to_string()
        }
        _ => "VIEW".to_owned(),
    }
}
