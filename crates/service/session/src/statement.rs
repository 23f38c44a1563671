//! Statements that are not planned: transaction control, SET, USE, DDL, accounts, PREPARE, SHOW and others.

use super::Session;
use super::locks::DdlLocks;
use super::reply::{Done, Reply};
use super::setup;
use super::state::unsupported;
use super::{branch, explain, grants, maintain, partitions};
use gannet_catalog::Gate;
use gannet_core::accounts::Privilege;
use gannet_core::kinds;
use gannet_core::vars::Live;
use gannet_engine::Txn;
use gannet_engine::lock::MdlDuration;
use gannet_exec::ddl::{self, DdlContext};
use gannet_parser::ast::{self, Statement};
use gannet_plan::Plan;
use gannet_runtime::Interrupt;
use gannet_schema::{CatalogSnapshot, RowSource};
use gannet_telemetry::{Counter, count};
use gannet_types::{Collation, CollationId, ErrorCode, Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// What a definition statement reports, the snapshot after it, and its query's plan if it was not used.
pub(super) type Defined = (ddl::Done, Arc<CatalogSnapshot>, Option<(Plan, Vec<Value>)>);

fn is_virtual(session: &Session, name: &ast::ObjectName) -> bool {
    let schema = name.schema.as_ref().map_or(session.state.database.as_deref().unwrap_or_default(), |s| s);
    gannet_schema::names::canonical_schema(schema) == "performance_schema"
}

/// TRUNCATE of a table of performance_schema: what was counted is forgotten. It changes no data, so that a server
/// which is read only does it.
fn truncate_virtual(session: &mut Session, name: &ast::ObjectName) -> Result<Done> {
    let table = session.table_for(Some(Privilege::Drop.into()), "performance_schema", &name.name)?;
    session.commit_implicitly()?;
    match table.source {
        RowSource::Virtual(number) if crate::virt::reset(&session.server, number) => Ok(Done::default()),
        _ => Err(sql_err!(WrongPerfschemaUsage)),
    }
}

impl Session {
    /// Runs a statement that is not planned.
    pub(crate) fn perform(&mut self, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
        self.check_password_expired(Some(statement))?;
        self.check_branch(Some(statement))?;
        super::powers::check_powers(self, statement)?;
        super::restore::go_on(self, statement)?;
        match statement {
            Statement::Begin(b) => self.begin(b).map(|()| Done::default()),
            Statement::Commit(c) => self.last(reply.resumes(), |s| s.commit(*c)).map(|()| Done::default()),
            Statement::Rollback(c) => self.rollback(*c).map(|()| Done::default()),
            Statement::Savepoint(name) => self.savepoint(name).map(|()| Done::default()),
            Statement::RollbackTo(name) => self.rollback_to(name).map(|()| Done::default()),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name).map(|()| Done::default()),
            Statement::Set(items) => self.set(items).map(|()| Done::default()),
            Statement::Use(name) => self.use_database(name).map(|()| Done::default()),
            Statement::Do(exprs) => {
                for e in exprs {
                    self.evaluate(e)?;
                }
                Ok(Done::default())
            }
            Statement::Show(show) => self.show(show, reply),
            Statement::Describe { table, column } => self.describe(table, column.as_ref(), reply),
            Statement::Explain(explain) => explain::explain(self, explain, reply),
            Statement::Kill { query, id } => self.kill_statement(*query, id),
            Statement::Prepare { name, source } => self.prepare_named(name, source),
            Statement::Execute { name, using } => self.execute_named(name, using, reply),
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::User(s) => self.user_statement(s, reply),
            Statement::DropUser { if_exists, users } => self.drop_users(*if_exists, users, false),
            Statement::RenameUser(pairs) => self.rename_users(pairs),
            Statement::SetPassword(s) => self.set_password(s, reply),
            Statement::CreateRole { if_not_exists, roles } => self.create_roles(*if_not_exists, roles),
            Statement::DropRole { if_exists, roles } => self.drop_users(*if_exists, roles, true),
            Statement::SetRole(roles) => self.set_role(roles),
            Statement::SetDefaultRole { roles, users } => self.set_default_role(roles, users),
            Statement::Grant(s) => grants::grant(self, s),
            Statement::Revoke(s) => grants::revoke(self, s),
            Statement::Flush(s) => self.flush(&s.targets),
            Statement::Storage(s) if s.object == ast::StorageObject::Instance => self.alter_instance(s),
            Statement::Shutdown => {
                let done = self.shutdown_server()?;
                self.closing = true;
                Ok(done)
            }
            Statement::LockTables(list) => self.lock_tables_explicitly(list).map(|()| Done::default()),
            Statement::UnlockTables => self.unlock_explicitly().map(|()| Done::default()),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => setup::change(self, statement, reply),
            Statement::Reset(targets) => self.reset_statement(targets),
            Statement::Load(l) => self.load(l, reply),
            Statement::Handler(h) => self.handler(h, reply),
            Statement::Xa(xa) => branch::xa(self, xa, reply),
            Statement::Install(i) => self.install(i),
            Statement::Uninstall(u) => self.uninstall(u),
            Statement::Help(mask) => self.help(mask, reply),
            Statement::TableMaintenance(m) => maintain::maintain(self, m, reply),
            Statement::AlterTable(a) if partitions::maintains(a).is_some() => partitions::maintain(self, a, reply),
            Statement::SetStatement { assignments, statement } => self.set_statement(assignments, statement, reply),
            Statement::DropProgram { kind, if_exists, name } => self.drop_program(*kind, *if_exists, name),
            Statement::AlterRoutine { kind, name, characteristics } => self.alter_routine(*kind, name, characteristics),
            Statement::AlterEvent(e) => self.alter_event(e),
            Statement::Call { name, args } => self.call(name, args, reply),
            Statement::LockInstance => super::locks::instance(self, true),
            Statement::UnlockInstance => super::locks::instance(self, false),
            Statement::Empty => Err(sql_err!(EmptyQuery)),
            Statement::Replication(r) => match &**r {
                ast::Replication::PurgeLogs { to, before } => self.purge_binary_logs(to.as_deref(), before.as_ref()),
                _ => unsupported(kinds::of(statement).name),
            },
            Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable { .. }
            | Statement::Truncate(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_)
            | Statement::CreateView(_)
            | Statement::DropView { .. } => self.ddl(statement, reply),
            Statement::Query(_) => Err(SqlError::internal("a statement for the planner came past it")),
            Statement::CreateRoutine(r) => self.create_routine(r),
            Statement::CreateTrigger(t) => self.create_trigger(t),
            Statement::CreateEvent(e) => self.create_event(e),
            Statement::Signal(s) => self.signal(s),
            Statement::GetDiagnostics(get) => self.get_diagnostics(get),
            Statement::CreateLoadableFunction(_)
            | Statement::Compound(_)
            | Statement::Storage(_)
            | Statement::ExecuteImmediate(_)
            | Statement::KeyCache(_)
            | Statement::Restart
            | Statement::Binlog(_)
            | Statement::Clone(_)
            | Statement::ImportTable(_) => unsupported(kinds::of(statement).name),
        }
    }

    /// RESET.
    fn reset_statement(&mut self, targets: &[ast::ResetTarget]) -> Result<Done> {
        for target in targets {
            match target {
                ast::ResetTarget::Persist { if_exists, name } => {
                    let p = self.state.privileges();
                    if !p.has(Privilege::SystemVariablesAdmin) && !p.has(Privilege::Super) {
                        return Err(sql_err!(SpecificAccessDenied, "SYSTEM_VARIABLES_ADMIN or SUPER"));
                    }
                    let read_only = |n: &str| gannet_core::vars::find(n).is_some_and(|id| !id.def().dynamic);
                    let named = name.as_ref().map(|n| &*n.text);
                    let some =
                        self.server.persisted.all().keys().any(|n| named.is_none_or(|own| own == *n) && read_only(n));
                    if some && !p.has(Privilege::Super) && !p.has(Privilege::PersistRoVariablesAdmin) {
                        let need = "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN";
                        return Err(sql_err!(SpecificAccessDenied, need));
                    }
                    self.reset_persist(name.as_ref().map(|n| &*n.text), *if_exists)?;
                }
                ast::ResetTarget::BinaryLogs(_) => return unsupported("RESET BINARY LOGS AND GTIDS"),
                ast::ResetTarget::Replica { .. } => return unsupported("RESET REPLICA"),
                ast::ResetTarget::QueryCache => return unsupported("RESET QUERY CACHE"),
            }
        }
        Ok(Done::default())
    }

    fn kill_statement(&mut self, query_only: bool, id: &ast::Expr) -> Result<Done> {
        let id = match self.evaluate(id)? {
            Value::Int(n) => u64::try_from(n).unwrap_or(0),
            Value::UInt(n) => n,
            Value::Str(s, _) => std::str::from_utf8(&s).ok().and_then(|s| s.trim().parse().ok()).unwrap_or(0),
            _ => 0,
        };
        self.kill(id, query_only).map(|()| Done::default())
    }

    /// MariaDB's SET STATEMENT ... FOR: the variables hold for one statement.
    fn set_statement(&mut self, items: &[ast::SetItem], statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
        for item in items {
            let ast::SetItem::Variable { name, .. } = item else { return unsupported("SET STATEMENT of this form") };
            let known = super::components::variable(&self.server.globals, name)?;
            if known.is(Live::Autocommit) {
                return unsupported("SET STATEMENT autocommit");
            }
        }
        let saved = self.state.vars.clone();
        let outcome = self.set(items).and_then(|()| self.run_statement(statement, reply));
        self.state.vars = saved;
        self.refresh();
        outcome
    }

    /// DDL: commits the open transaction, and runs in a transaction of its own.
    fn ddl(&mut self, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
        self.check_ddl_privileges(statement)?;
        if let Some(done) = super::restore::definition(self, statement, reply)? {
            return Ok(done);
        }
        match statement {
            Statement::CreateTable(c) if c.temporary => {
                self.work.require_read_write()?;
                return self.create_temporary(statement, c, reply);
            }
            Statement::DropTable { temporary: true, .. } => {
                self.work.require_read_write()?;
                return self.drop_temporary(statement);
            }
            Statement::Truncate(name) if is_virtual(self, name) => return truncate_virtual(self, name),
            Statement::CreateTable(c) if makes_rows(c) && self.is_logged() => {
                return Err(sql_err!(GtidUnsafeCreateSelect));
            }
            _ => {}
        }
        // A READ ONLY transaction ends like others: its restriction does not matter then.
        self.commit_implicitly()?;
        self.work.require_read_write()?;
        if !self.only_temporary(statement) {
            self.require_writable()?;
        }
        self.refuse_system_schemas(statement)?;
        let prepared = self.lock_for_ddl(statement).and_then(|locks| {
            super::powers::check_view_definer(self, statement)?;
            Ok((locks, self.select_of(statement)?))
        });
        let (locks, select) = match prepared.and_then(|prepared| self.begin_statement().map(|_| prepared)) {
            Ok(prepared) => prepared,
            Err(e) => {
                self.work.unlock_transaction();
                return Err(e);
            }
        };
        self.state.running.insert_id_given = false;
        let mut gate = self.locked.is_empty().then_some(locks);
        let outcome = self.define(statement, None, select, gate.as_mut()).map(|(done, snapshot, _)| (done, snapshot));
        self.work.rest();
        self.commit_implicitly()?;
        if let Ok((_, snapshot)) = &outcome {
            super::locks::follow_locked(self, snapshot);
        }
        self.work.unlock_transaction();
        let (done, snapshot) = outcome?;
        self.take_snapshot(snapshot);
        self.discard_dropped();
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.database.as_deref().is_some_and(|d| gannet_schema::names::eq_name(d, name))
        {
            self.state.set_database(None);
            self.entry.set_database(None);
            self.running.database_dropped = true;
        }
        let insert_id = self.insert_id(done.last_insert_id, done.last_row_id);
        Ok(Done { affected: done.rows, insert_id, info: done.info, ..Done::default() })
    }

    /// Runs a definition statement in a transaction: the session's, or `own`. Returns the query's plan if it was not
    /// used. `gate` has the table's locks, where they may be loosened meanwhile.
    pub(super) fn define(
        &mut self,
        statement: &Statement,
        own: Option<&mut Txn>,
        select: Option<(Plan, Vec<Value>)>,
        gate: Option<&mut DdlLocks>,
    ) -> Result<Defined> {
        let server_collation =
            Collation::by_name(self.state.vars[Live::CollationServer].as_str()).map_or(CollationId::DEFAULT, |c| c.id);
        let database = self.state.database.clone();
        self.start_settings();
        let collation = self.definition_collation();
        let restrict_non_standard_keys =
            crate::variables::value(&self.state, false, "restrict_fk_on_non_standard_key")?;
        let temporaries = self.state.snapshot.temporaries().cloned();
        // A temporary table is the session's own.
        let words = if own.is_some() || self.only_temporary(statement) { None } else { super::words::words(self) };
        let account = self.state.account.clone();
        let mut cx = DdlContext {
            database: database.as_deref(),
            settings: &self.settings,
            server_collation,
            collation,
            foreign_key_checks: self.settings.foreign_key_checks,
            require_primary_key: self.state.vars[Live::SqlRequirePrimaryKey].as_bool(),
            restrict_non_standard_keys: restrict_non_standard_keys == Value::Int(1),
            session: &mut self.state,
            warnings: &mut self.running.warnings,
            account: (&account.user, &account.host),
            gate: gate.map(|gate| gate as &mut dyn Gate),
            words,
            select,
        };
        let txn = own.unwrap_or(self.work.txn_mut());
        let (done, snapshot) = ddl::run(statement, &self.server.catalog, txn, temporaries, &mut cx)?;
        Ok((done, snapshot, cx.select.take()))
    }

    /// The plan of CREATE TABLE ... SELECT's query, its tables locked, and the values of its parameters.
    pub(super) fn select_of(&mut self, statement: &Statement) -> Result<Option<(Plan, Vec<Value>)>> {
        let values = self.running.markers.clone();
        let (name, query) = match statement {
            Statement::CreateView(view) => (&view.name, &view.query),
            Statement::CreateTable(create) => match &create.body {
                ast::CreateTableBody::Define { query: Some(query), .. } if query.into.is_some() => {
                    return Err(sql_err!(WrongUsage, "CREATE TABLE ... SELECT", "INTO"));
                }
                ast::CreateTableBody::Define { query: Some(query), .. } => (&create.name, &**query),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let database = self.state.database.clone().unwrap_or_default();
        let schema = name.schema.as_ref().map_or(&*database, |s| s);
        let temporary = matches!(statement, Statement::CreateTable(c) if c.temporary);
        let duration =
            if temporary && self.work.is_autocommit() { MdlDuration::Statement } else { MdlDuration::Transaction };
        let mut tries = 0;
        loop {
            self.state.renew_snapshot();
            let markers: Vec<_> = values.iter().map(super::variables::type_of).collect();
            let plan = match self.make_source_plan(query, &markers) {
                Ok(plan) => plan,
                // That the table exists already is reported before errors in the query, except missing tables.
                Err(e)
                    if !matches!(
                        e.code(),
                        ErrorCode::NoSuchTable | ErrorCode::BadDb | ErrorCode::TableaccessDenied
                    ) =>
                {
                    let taken = if temporary {
                        self.state.snapshot.temporary_table(schema, &name.name)
                    } else {
                        self.state.snapshot.base_table(schema, &name.name)
                    };
                    // A view that replaces what is there is not refused for that.
                    let replaces = matches!(statement, Statement::CreateView(v) if v.alter || v.existence.or_replace);
                    return match taken {
                        Some(_) if !replaces => Ok(None),
                        _ => Err(e),
                    };
                }
                Err(e) => return Err(e),
            };
            let locks = self.plan_locks(&plan);
            match self.lock_tables_for(&plan, &locks, duration) {
                Ok(()) => {
                    let params = self.bind(&plan, &[], b"", &values)?;
                    return Ok(Some((plan, params)));
                }
                Err(e) if super::locks::is_stale(&e) && tries < 10 => tries += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Refuses changes of information_schema, performance_schema and the other system schemas.
    pub(super) fn refuse_system_schemas(&self, statement: &Statement) -> Result<()> {
        let database = self.state.database.as_deref().unwrap_or_default();
        let names = ddl::locked_tables(statement);
        let schemas = names.iter().map(|n| n.schema.as_ref().map_or(database, |s| s));
        let named = match statement {
            Statement::DropDatabase { name, .. } => Some(&*name.text),
            Statement::AlterDatabase { name, .. } => Some(name.as_ref().map_or(database, |n| n)),
            _ => None,
        };
        for schema in schemas.chain(named) {
            let system = self.state.snapshot.schema(schema).is_some_and(|s| s.system);
            if system {
                let a = &self.state.account;
                return Err(sql_err!(DbaccessDenied, a.user, a.host, schema));
            }
        }
        Ok(())
    }

    /// An interruption becomes the error that fits its reason.
    pub fn final_error(&mut self, error: SqlError) -> SqlError {
        if error.code() != ErrorCode::QueryInterrupted {
            return error;
        }
        match self.entry.context.pending() {
            Some(Interrupt::Shutdown) => sql_err!(ServerShutdown),
            Some(Interrupt::Query) if self.running.timed_out => {
                count(Counter::MaxExecutionTimeExceeded);
                sql_err!(QueryTimeout)
            }
            _ => error,
        }
    }
}

/// CREATE TABLE ... SELECT.
fn makes_rows(create: &ast::CreateTable) -> bool {
    matches!(&create.body, ast::CreateTableBody::Define { query: Some(_), .. })
}
