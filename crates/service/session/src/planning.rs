//! Plans: what the planner is told of the session, and what an account may learn from it.

use super::Session;
use gannet_core::accounts::Privilege;
use gannet_core::vars::Live;
use gannet_parser::ast::{self, Statement};
use gannet_parser::digest::LiteralToken;
use gannet_plan::Plan;
use gannet_plan::options::PlanOptions;
use gannet_plan::plan::LoadField;
use gannet_schema::CatalogSnapshot;
use gannet_types::{ErrorCode, Result, SqlError, SqlType, Value, sql_err};
use std::cell::RefCell;

impl Session {
    /// Binds and optimizes. `markers`: types of the parameters, and their values when they are known. `source`: the
    /// text and its literals, when the plan is to be shared.
    pub(crate) fn make_plan(
        &mut self,
        statement: &Statement,
        markers: (&[SqlType], &[Value]),
        source: Option<(&[u8], &[LiteralToken])>,
    ) -> Result<Plan> {
        let plan = bind_and_optimize(self, statement, markers, source);
        plan.map_err(|e| self.branch.unfound(super::setup::in_own_words(self, statement, e)))
    }

    /// Plans a query inside the statement that runs, which may name that statement's parameters; and the values of the
    /// plan's own.
    pub(crate) fn make_inner_plan(&mut self, statement: &Statement) -> Result<(Plan, Vec<Value>)> {
        let markers = self.running.markers.clone();
        let types: Vec<SqlType> = markers.iter().map(super::variables::type_of).collect();
        let plan = self.make_plan(statement, (&types, &markers), None)?;
        let params = self.bind(&plan, &[], b"", &markers)?;
        Ok((plan, params))
    }

    pub(super) fn plan_options<'a>(&'a self, markers: &'a [SqlType]) -> PlanOptions<'a> {
        PlanOptions {
            sql_mode: self.settings.exec.sql_mode,
            database: self.state.database.as_deref(),
            collation: self.literal_collation(),
            client: self.settings.charsets.client,
            utf8mb4: self.settings.exec.utf8mb4,
            markers,
            div_precision_increment: self.settings.exec.div_precision_increment,
            default_week_format: self.settings.exec.default_week_format,
            group_concat_max_len: self.settings.exec.group_concat_max_len,
            locale: self.settings.exec.locale,
            time_zone: &self.settings.exec.time_zone,
            variables: Some(&self.state),
            locals: self.running.locals.as_ref().map(|names| names as &dyn gannet_plan::options::Locals),
            bind_exprs: Some(gannet_plan::table_exprs),
            remaining_stack: gannet_runtime::remaining_stack,
            stopped: gannet_exec::stopped,
            estimator: Some(self),
            passes: self.settings.passes,
            limited_views: self.state.vars[Live::UpdatableViewsWithLimit].as_str() == "YES",
            generated: self.settings.found_by_null(&self.state),
            logged_rows: !self.settings.exec.triggers,
            ..PlanOptions::new(None)
        }
    }
}

/// The plan of a query whose rows make a table.
pub(crate) fn make_source_plan(session: &mut Session, query: &ast::Query, markers: &[SqlType]) -> Result<Plan> {
    let plan =
        |snapshot: &CatalogSnapshot, options: &PlanOptions<'_>| gannet_plan::plan_source(query, snapshot, options);
    let options = session.plan_options(markers);
    let made = if session.state.access.all {
        plan(&session.state.snapshot, &options)
    } else {
        checked_plan(session, options, Privilege::Select, plan)
    };
    session.opened_once(made?)
}

/// The plan of LOAD DATA, and where the fields go.
pub(crate) fn make_load_plan(session: &mut Session, load: &ast::Load) -> Result<(Plan, Vec<LoadField>)> {
    let mut fields = Vec::new();
    let mut plan = |snapshot: &CatalogSnapshot, options: &PlanOptions<'_>| {
        let (plan, found) = gannet_plan::plan_load(load, snapshot, options)?;
        fields = found;
        Ok(plan)
    };
    let options = session.plan_options(&[]);
    let made = if session.state.access.all {
        plan(&session.state.snapshot, &options)
    } else {
        checked_plan(session, options, Privilege::Insert, plan)
    };
    let plan = session.opened_once(made?)?;
    super::log_tables::refuse_locks(&plan)?;
    Ok((plan, fields))
}

/// Why a view cannot be read any more: error 1356 when what it names is gone. Rights are not looked at.
pub(crate) fn view_error(session: &Session, view: &gannet_schema::Table) -> Option<SqlError> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let sql = format!("SELECT * FROM {}.{}", quoted(&view.schema), quoted(&view.name));
    let parsed = gannet_parser::parse(sql.as_bytes(), Default::default()).ok()?;
    let planned = gannet_plan::plan(&parsed.statement, &session.state.snapshot, &session.plan_options(&[]));
    planned.err().filter(|e| e.code() == ErrorCode::ViewInvalid)
}

/// As an account with restrictions sees it: an error about a table it has no right on says only that.
#[cold]
fn checked_plan(
    session: &Session,
    options: PlanOptions<'_>,
    need: Privilege,
    plan: impl FnOnce(&CatalogSnapshot, &PlanOptions<'_>) -> Result<Plan>,
) -> Result<Plan> {
    let hidden = RefCell::new(None);
    let told = |schema: &str, table: &str| {
        let schema = gannet_schema::names::canonical_schema(schema);
        if !session.state.access.sees_table(&schema, table) {
            hidden.borrow_mut().get_or_insert_with(|| table.to_string());
        }
    };
    let options = PlanOptions { on_table: Some(&told), ..options };
    let planned = plan(&session.state.snapshot, &options);
    match (planned, hidden.take()) {
        (Ok(plan), _) => session.check_plan_privileges(&plan).map(|()| plan),
        (Err(_), Some(table)) => Err(session.denied(need.into(), &table)),
        (Err(e), None) => Err(routine_denied(session, &e).unwrap_or(e)),
    }
}

/// Error 1370 in place of 1305: a function that the session could not execute is not said to be missing.
fn routine_denied(session: &Session, e: &SqlError) -> Option<SqlError> {
    if e.code() != ErrorCode::SpDoesNotExist {
        return None;
    }
    let name = e.message().strip_prefix("FUNCTION ")?.strip_suffix(" does not exist")?;
    let (schema, function) = name.split_once('.')?;
    let a = &session.state.account;
    let may = session.state.access.routine(schema, function, true).has(Privilege::Execute);
    (!may).then(|| sql_err!(ProcaccessDenied, "execute", a.user, a.host, name))
}

fn bind_and_optimize(
    session: &mut Session,
    statement: &Statement,
    (markers, values): (&[SqlType], &[Value]),
    source: Option<(&[u8], &[LiteralToken])>,
) -> Result<Plan> {
    let options = PlanOptions { source, values, ..session.plan_options(markers) };
    if session.state.access.all {
        let plan =
            gannet_plan::plan(statement, &session.state.snapshot, &options).map_err(|e| not_locked(session, e))?;
        // Below views the definers' rights count.
        if plan.uses.views {
            session.check_plan_privileges(&plan)?;
        }
        super::log_tables::refuse_locks(&plan)?;
        return session.opened_once(plan);
    }
    let need = match statement {
        Statement::Insert(_) => Privilege::Insert,
        Statement::Update(_) => Privilege::Update,
        Statement::Delete(_) => Privilege::Delete,
        _ => Privilege::Select,
    };
    let plan =
        checked_plan(session, options, need, |snapshot, options| gannet_plan::plan(statement, snapshot, options))
            .map_err(|e| not_locked(session, e))?;
    super::log_tables::refuse_locks(&plan)?;
    session.opened_once(plan)
}

/// Error 1100 in place of 1146 while tables are locked: one that is not there is not among them.
fn not_locked(session: &Session, e: SqlError) -> SqlError {
    let name = || e.message().strip_prefix("Table '")?.strip_suffix("' doesn't exist")?.split_once('.');
    match name() {
        Some((_, name)) if e.code() == ErrorCode::NoSuchTable && !session.locked.is_empty() => {
            sql_err!(TableNotLocked, name)
        }
        _ => e,
    }
}
