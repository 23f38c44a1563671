//! Statements that are not planned: transaction control, SET, USE, DDL, accounts, PREPARE, SHOW and others.

use super::Session;
use super::command::{Done, Io};
use super::state::unsupported;
use crate::accounts::Privilege;
use crate::vars::Live;
use gannet_catalog::CatalogSnapshot;
use gannet_engine::Txn;
use gannet_engine::lock::MdlDuration;
use gannet_exec::ddl::{self, DdlContext};
use gannet_parser::ast::{self, Statement};
use gannet_plan::Plan;
use gannet_runtime::Interrupt;
use gannet_telemetry::{Counter, count};
use gannet_types::{Collation, CollationId, ErrorCode, Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// What a definition statement reports, the snapshot after it, and its query's plan if it was not used.
pub(super) type Defined = (ddl::Done, Arc<CatalogSnapshot>, Option<(Plan, Vec<Value>)>);

/// Statements that go through the planner.
pub(crate) fn is_planned(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_))
}

/// The `Com_...` counter of a statement.
pub(crate) fn counter(statement: &Statement) -> Option<Counter> {
    Some(match statement {
        Statement::Query(_) => Counter::ComSelect,
        Statement::Insert(i) => match (i.replace, matches!(i.source, ast::InsertSource::Query(_))) {
            (false, false) => Counter::ComInsert,
            (false, true) => Counter::ComInsertSelect,
            (true, false) => Counter::ComReplace,
            (true, true) => Counter::ComReplaceSelect,
        },
        Statement::Update(u) if matches!(&*u.tables, [ast::TableRef::Table { .. }]) => Counter::ComUpdate,
        Statement::Update(_) => Counter::ComUpdateMulti,
        Statement::Delete(d) if d.targets.is_empty() => Counter::ComDelete,
        Statement::Delete(_) => Counter::ComDeleteMulti,
        Statement::Load(_) => Counter::ComLoad,
        Statement::Handler(h) => match h.action {
            ast::HandlerAction::Open(_) => Counter::ComHaOpen,
            ast::HandlerAction::Close => Counter::ComHaClose,
            ast::HandlerAction::Read { .. } => Counter::ComHaRead,
        },
        Statement::CreateView(_) => Counter::ComCreateView,
        Statement::DropView { .. } => Counter::ComDropView,
        Statement::CreateTable(_) => Counter::ComCreateTable,
        Statement::AlterTable(_) => Counter::ComAlterTable,
        Statement::DropTable { .. } => Counter::ComDropTable,
        Statement::Truncate(_) => Counter::ComTruncate,
        Statement::RenameTable(_) => Counter::ComRenameTable,
        Statement::CreateIndex(_) => Counter::ComCreateIndex,
        Statement::DropIndex(_) => Counter::ComDropIndex,
        Statement::CreateDatabase { .. } => Counter::ComCreateDb,
        Statement::AlterDatabase { .. } => Counter::ComAlterDb,
        Statement::DropDatabase { .. } => Counter::ComDropDb,
        Statement::Use(_) => Counter::ComChangeDb,
        Statement::Do(_) => Counter::ComDo,
        Statement::Explain(e) => match &e.target {
            ast::ExplainTarget::Statement(explained) => return counter(explained),
            ast::ExplainTarget::Connection(_) => Counter::ComExplainOther,
        },
        Statement::Help(_) => Counter::ComHelp,
        Statement::Show(show) => return counter_of_show(&show.kind),
        Statement::Empty => Counter::ComEmptyQuery,
        Statement::GetDiagnostics(_) => Counter::ComGetDiagnostics,
        Statement::Reset(_) => Counter::ComReset,
        Statement::Restart => Counter::ComRestart,
        Statement::Binlog(_) => Counter::ComBinlog,
        Statement::Clone(_) => Counter::ComClone,
        Statement::Install(i) => match **i {
            ast::Install::Plugin { .. } => Counter::ComInstallPlugin,
            ast::Install::Component { .. } => Counter::ComInstallComponent,
        },
        Statement::Uninstall(u) => match u {
            ast::Uninstall::Plugin(_) => Counter::ComUninstallPlugin,
            ast::Uninstall::Component(_) => Counter::ComUninstallComponent,
        },
        Statement::Storage(s) if s.object == ast::StorageObject::Instance => Counter::ComAlterInstance,
        Statement::CreateRole { .. } => Counter::ComCreateRole,
        Statement::DropRole { .. } => Counter::ComDropRole,
        Statement::SetRole(_) => Counter::ComSetRole,
        Statement::SetDefaultRole { .. } => Counter::ComAlterUserDefaultRole,
        Statement::SetPassword(_) => Counter::ComSetPassword,
        Statement::CreateRoutine(r) => match r.kind {
            ast::RoutineKind::Procedure => Counter::ComCreateProcedure,
            ast::RoutineKind::Function => Counter::ComCreateFunction,
        },
        Statement::CreateTrigger(_) => Counter::ComCreateTrigger,
        Statement::CreateEvent(_) => Counter::ComCreateEvent,
        Statement::AlterEvent(_) => Counter::ComAlterEvent,
        Statement::DropProgram { kind, .. } => match kind {
            ast::ProgramKind::Procedure => Counter::ComDropProcedure,
            ast::ProgramKind::Function => Counter::ComDropFunction,
            ast::ProgramKind::Trigger => Counter::ComDropTrigger,
            ast::ProgramKind::Event => Counter::ComDropEvent,
        },
        Statement::LockTables(_) => Counter::ComLockTables,
        Statement::UnlockTables => Counter::ComUnlockTables,
        _ => return None,
    })
}

/// As [`counter`], of those SHOWs that are not counted where they are run.
fn counter_of_show(kind: &ast::ShowKind) -> Option<Counter> {
    use ast::ShowKind as Kind;
    Some(match kind {
        Kind::OpenTables { .. } => Counter::ComShowOpenTables,
        Kind::Triggers { .. } => Counter::ComShowTriggers,
        Kind::Events { .. } => Counter::ComShowEvents,
        Kind::CreateProcedure(_) => Counter::ComShowCreateProc,
        Kind::CreateFunction(_) => Counter::ComShowCreateFunc,
        Kind::CreateTrigger(_) => Counter::ComShowCreateTrigger,
        Kind::CreateEvent(_) => Counter::ComShowCreateEvent,
        Kind::CreateUser(_) => Counter::ComShowCreateUser,
        Kind::CreateView(_) => Counter::ComShowCreateTable,
        Kind::Plugins => Counter::ComShowPlugins,
        Kind::ProcedureStatus => Counter::ComShowProcedureStatus,
        Kind::FunctionStatus => Counter::ComShowFunctionStatus,
        Kind::Profiles => Counter::ComShowProfiles,
        Kind::Profile { .. } => Counter::ComShowProfile,
        Kind::BinaryLogs => Counter::ComShowBinlogs,
        Kind::BinaryLogStatus => Counter::ComShowBinaryLogStatus,
        Kind::LogEvents { .. } => Counter::ComShowBinlogEvents,
        Kind::Replicas => Counter::ComShowReplicas,
        Kind::ReplicaStatus { .. } => Counter::ComShowReplicaStatus,
        _ => return None,
    })
}

/// Statements that look at the diagnostics of the one before.
pub(super) fn keeps_diagnostics(statement: &Statement) -> bool {
    match statement {
        Statement::Show(s) => matches!(
            s.kind,
            ast::ShowKind::Warnings(_)
                | ast::ShowKind::Errors(_)
                | ast::ShowKind::CountWarnings
                | ast::ShowKind::CountErrors
        ),
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}

impl Session {
    /// Runs a statement that is not planned.
    pub(crate) fn run_statement(&mut self, statement: &Statement, io: &mut Io<'_>) -> Result<Done> {
        self.check_password_expired(Some(statement))?;
        self.check_branch(Some(statement))?;
        match statement {
            Statement::Begin(b) => self.begin(b).map(|()| Done::default()),
            Statement::Commit(c) => self.last(|s| s.commit(*c)).map(|()| Done::default()),
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
            Statement::Show(show) => self.show(show, io),
            Statement::Describe { table, column } => self.describe(table, column.as_ref(), io),
            Statement::Explain(explain) => self.explain(explain, io),
            Statement::Kill { query, id } => self.kill_statement(*query, id),
            Statement::Prepare { name, source } => self.prepare_named(name, source),
            Statement::Execute { name, using } => self.execute_named(name, using, io),
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::User(s) => self.user_statement(s, io),
            Statement::DropUser { if_exists, users } => self.drop_users(*if_exists, users, false),
            Statement::RenameUser(pairs) => self.rename_users(pairs),
            Statement::SetPassword(s) => self.set_password(s, io),
            Statement::CreateRole { if_not_exists, roles } => self.create_roles(*if_not_exists, roles),
            Statement::DropRole { if_exists, roles } => self.drop_users(*if_exists, roles, true),
            Statement::SetRole(roles) => self.set_role(roles),
            Statement::SetDefaultRole { roles, users } => self.set_default_role(roles, users),
            Statement::Grant(s) => self.grant(s),
            Statement::Revoke(s) => self.revoke(s),
            Statement::Flush(s) => self.flush(&s.targets),
            Statement::Storage(s) if s.object == ast::StorageObject::Instance => self.alter_instance(s),
            Statement::Shutdown => {
                let done = self.shutdown_server()?;
                self.closing = true;
                Ok(done)
            }
            Statement::LockTables(list) => self.lock_tables_explicitly(list).map(|()| Done::default()),
            Statement::UnlockTables => {
                self.unlock_explicitly()?;
                Ok(Done::default())
            }
            Statement::Delete(d) => self.delete_grants(d),
            Statement::Reset(targets) => self.reset_statement(targets),
            Statement::Load(l) => self.load(l, io),
            Statement::Handler(h) => self.handler(h, io),
            Statement::Xa(xa) => self.xa(xa, io),
            Statement::Install(i) => self.install(i),
            Statement::Uninstall(u) => self.uninstall(u),
            Statement::Help(_) => self.help(io),
            Statement::TableMaintenance(m) => self.maintain(m, io),
            Statement::SetStatement { assignments, statement } => self.set_statement(assignments, statement, io),
            Statement::Empty => Err(sql_err!(EmptyQuery)),
            s if ddl::is_ddl(s) => self.ddl(s, io),
            other => unsupported(name_of(other)),
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
    fn set_statement(&mut self, items: &[ast::SetItem], statement: &Statement, io: &mut Io<'_>) -> Result<Done> {
        for item in items {
            let ast::SetItem::Variable { name, .. } = item else { return unsupported("SET STATEMENT of this form") };
            let known = super::components::variable(&self.server.globals, name)?;
            if known.is(Live::Autocommit) {
                return unsupported("SET STATEMENT autocommit");
            }
        }
        let saved = self.state.vars.clone();
        let outcome = self.set(items).and_then(|()| self.run_any(statement, io));
        self.state.vars = saved;
        self.refresh();
        outcome
    }

    /// DDL: commits what is open, runs in a transaction of its own.
    fn ddl(&mut self, statement: &Statement, io: &mut Io<'_>) -> Result<Done> {
        self.check_ddl_privileges(statement)?;
        match statement {
            Statement::CreateTable(c) if c.temporary => {
                self.require_read_write()?;
                return self.create_temporary(statement, c, io);
            }
            Statement::DropTable { temporary: true, .. } => {
                self.require_read_write()?;
                return self.drop_temporary(statement);
            }
            _ => {}
        }
        // A transaction that only reads ends like others: what it forbids is no matter then.
        self.commit_implicitly()?;
        self.require_read_write()?;
        if !self.only_temporary(statement) {
            self.require_writable()?;
        }
        self.refuse_system_schemas(statement)?;
        let prepared = self.lock_for_ddl(statement).and_then(|()| self.select_of(statement));
        let select = match prepared.and_then(|select| self.begin_statement().map(|_| select)) {
            Ok(select) => select,
            Err(e) => {
                self.unlock_transaction();
                return Err(e);
            }
        };
        self.state.insert_id_given = false;
        let outcome = self.define(statement, None, select).map(|(done, snapshot, _)| (done, snapshot));
        self.idle_transaction();
        self.commit_implicitly()?;
        self.unlock_transaction();
        let (done, snapshot) = outcome?;
        self.take_snapshot(snapshot);
        self.discard_dropped();
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.database.as_deref().is_some_and(|d| gannet_catalog::names::eq_name(d, name))
        {
            self.state.set_database(None);
            self.entry.set_database(None);
            self.extra_status |= gannet_wire::flags::status::DB_DROPPED;
        }
        let insert_id = self.insert_id(done.last_insert_id, done.last_row_id);
        Ok(Done { affected: done.rows, insert_id, info: done.info, ..Done::default() })
    }

    /// Runs a definition statement in a transaction: the session's, or `own`. Gives the query's plan back if it was not used.
    pub(super) fn define(
        &mut self,
        statement: &Statement,
        own: Option<&mut Txn>,
        select: Option<(Plan, Vec<Value>)>,
    ) -> Result<Defined> {
        let server_collation =
            Collation::by_name(self.state.vars[Live::CollationServer].as_str()).map_or(CollationId::DEFAULT, |c| c.id);
        let database = self.state.database.clone();
        self.start_settings();
        let collation = self.definition_collation();
        let restrict_non_standard_keys =
            crate::session::variables::value(&self.state, false, "restrict_fk_on_non_standard_key")?;
        let temporaries = self.state.snapshot.temporaries().cloned();
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
            warnings: &mut self.warnings,
            account: (&account.user, &account.host),
            select,
        };
        let txn = own.unwrap_or(&mut self.txn);
        let (done, snapshot) = ddl::run(statement, &self.server.catalog, txn, temporaries, &mut cx)?;
        Ok((done, snapshot, cx.select.take()))
    }

    /// The plan of CREATE TABLE ... SELECT's query, its tables locked, and the values of its parameters.
    pub(super) fn select_of(&mut self, statement: &Statement) -> Result<Option<(Plan, Vec<Value>)>> {
        let values = std::mem::take(&mut self.definition_params);
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
        let duration = match temporary && self.transaction.is_autocommit() {
            true => MdlDuration::Statement,
            false => MdlDuration::Transaction,
        };
        let mut tries = 0;
        loop {
            self.state.renew_snapshot();
            let markers: Vec<_> = values.iter().map(super::prepared::type_of).collect();
            let plan = match self.make_source_plan(query, &markers) {
                Ok(plan) => plan,
                // What is there already is said before what is wrong with the query, missing tables apart.
                Err(e)
                    if !matches!(
                        e.code(),
                        ErrorCode::NoSuchTable | ErrorCode::BadDb | ErrorCode::TableaccessDenied
                    ) =>
                {
                    let taken = match temporary {
                        true => self.state.snapshot.temporary_table(schema, &name.name),
                        false => self.state.snapshot.base_table(schema, &name.name),
                    };
                    return match taken {
                        Some(_) => Ok(None),
                        None => Err(e),
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

    /// Nobody changes information_schema, performance_schema and their kin.
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
    pub(super) fn final_error(&mut self, error: SqlError) -> SqlError {
        if error.code() != ErrorCode::QueryInterrupted {
            return error;
        }
        match self.entry.context.pending() {
            Some(Interrupt::Shutdown) => sql_err!(ServerShutdown),
            Some(Interrupt::Query) if self.timed_out => {
                count(Counter::MaxExecutionTimeExceeded);
                sql_err!(QueryTimeout)
            }
            _ => error,
        }
    }
}

/// What error 1235 calls a statement.
fn name_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Call { .. } => "CALL",
        Statement::CreateRoutine(_) => "CREATE PROCEDURE and CREATE FUNCTION",
        Statement::AlterRoutine { .. } => "ALTER PROCEDURE and ALTER FUNCTION",
        Statement::CreateLoadableFunction(_) => "CREATE FUNCTION ... SONAME",
        Statement::CreateTrigger(_) => "CREATE TRIGGER",
        Statement::CreateEvent(_) | Statement::AlterEvent(_) => "events",
        Statement::DropProgram { .. } => "DROP of stored programs",
        Statement::Compound(_) => "stored programs",
        Statement::Storage(_) => "tablespaces, servers and resource groups",
        Statement::LockInstance | Statement::UnlockInstance => "LOCK INSTANCE",
        Statement::ExecuteImmediate(_) => "EXECUTE IMMEDIATE",
        Statement::KeyCache(_) => "key caches",
        Statement::Restart => "RESTART",
        Statement::Binlog(_) => "BINLOG",
        Statement::Clone(_) => "CLONE",
        Statement::ImportTable(_) => "IMPORT TABLE",
        Statement::Replication(_) => "replication",
        Statement::Signal(_) => "SIGNAL",
        Statement::GetDiagnostics(_) => "GET DIAGNOSTICS",
        _ => "this statement",
    }
}

/// Refuses a statement by name, for callers outside.
pub(crate) fn refuse(statement: &Statement) -> SqlError {
    SqlError::unsupported(name_of(statement))
}

/// Counts a statement in its `Com_...` counter.
pub(crate) fn count_statement(statement: &Statement) {
    if let Some(c) = counter(statement) {
        count(c);
    }
}
