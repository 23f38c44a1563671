//! Statements that are not planned: transaction control, SET, USE, DDL, accounts, PREPARE, SHOW and others.

use super::Session;
use super::locks::DdlLocks;
use super::reply::{Done, Reply};
use super::setup;
use super::state::unsupported;
use super::{
    accounts, admin, branch, calls, components, diagnostics, events, explain, grants, gtids, handler, help, key_caches,
    load, locks, logged, logs, maintain, partitions, planning, prepared, privileges, programs, query, set, show,
    surroundings, temporary, transaction,
};
use gannet_catalog::{Gate, Words};
use gannet_core::accounts::Privilege;
use gannet_core::kinds;
use gannet_core::vars::Live;
use gannet_core::work::{LoggedStatement, NextGtid, Told};
use gannet_engine::Txn;
use gannet_engine::lock::MdlDuration;
use gannet_exec::ddl::{self, DdlContext};
use gannet_parser::ast::{self, Statement};
use gannet_plan::Plan;
use gannet_plan::physical::Reads;
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

/// Tables of performance_schema that keep what they have, and in MySQL do not.
const KEPT: [&str; 3] = ["global_status", "status_by_thread", "events_waits_current"];

/// TRUNCATE of a table of performance_schema: what was counted is forgotten. It changes no data, so that a server
/// which is read only does it.
fn truncate_virtual(session: &mut Session, name: &ast::ObjectName) -> Result<Done> {
    let table = session.table_for(Some(Privilege::Drop.into()), "performance_schema", &name.name)?;
    session.commit_implicitly()?;
    match table.source {
        RowSource::Virtual(number) if crate::virt::reset(&session.server, number) => Ok(Done::default()),
        // MySQL forgets what these have, too.
        _ if KEPT.iter().any(|kept| name.name.text.eq_ignore_ascii_case(kept)) => {
            let what = format!("TRUNCATE of performance_schema.{}", name.name.text.to_ascii_lowercase());
            Err(SqlError::unsupported(what))
        }
        _ => Err(session.denied(Privilege::Drop.into(), &name.name.text)),
    }
}

impl Session {
    /// Runs a statement that is not planned.
    pub(crate) fn perform(&mut self, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
        self.check_password_expired(Some(statement))?;
        branch::check_branch(self, Some(statement))?;
        super::powers::check_powers(self, statement)?;
        super::restore::go_on(self, statement)?;
        if NextGtid::of(&self.work) != NextGtid::Automatic && gtids::passes_over(self, statement)? {
            return Ok(Done::default());
        }
        self.told_nothing = false;
        let done = perform_now(self, statement, reply)?;
        if self.told_nothing {
            gtids::end_nothing(self)?;
        } else if self.server.binlog().is_some() || self.position.is_some() {
            gtids::end_definition(self, statement);
            gtids::tell_upkeep(self, statement)?;
        }
        Ok(done)
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
        self.settings.begin(self.state.statement_time());
        let collation = self.definition_collation();
        let restrict_non_standard_keys =
            crate::variables::value(&self.state, false, "restrict_fk_on_non_standard_key")?;
        let temporaries = self.state.snapshot.temporaries().cloned();
        // A temporary table is the session's own.
        let words =
            if own.is_some() || temporary::only_temporary(self, statement) { None } else { super::words::words(self) };
        let account = self.state.account.clone();
        // The rows of a new table go into one group with it.
        let filled = logged::is_logged(self)
            && words.is_some()
            && matches!(statement, Statement::CreateTable(c) if makes_rows(c));
        if filled {
            let logged = logged::logged_statement(self);
            let definition = Some(super::words::query(self, b""));
            self.work.log_rows(Told::Statement(LoggedStatement { definition, ..logged }));
        }
        let generate_primary_key = self.state.vars[Live::SqlGenerateInvisiblePrimaryKey].as_bool();
        let words_for = (generate_primary_key && words.is_some()).then(|| super::words::words_for(self));
        let (txn, changes) = self.work.writing();
        let mut cx = DdlContext {
            database: database.as_deref(),
            settings: &self.settings.exec,
            server_collation,
            collation,
            foreign_key_checks: self.settings.exec.foreign_key_checks,
            require_primary_key: self.state.vars[Live::SqlRequirePrimaryKey].as_bool(),
            generate_primary_key,
            words_for: words_for.as_ref().map(|f| f as &dyn Fn(&str) -> Words),
            restrict_non_standard_keys: restrict_non_standard_keys == Value::Int(1),
            session: &mut self.state,
            warnings: &mut self.running.diagnostics.warnings,
            account: (&account.user, &account.host),
            gate: gate.map(|gate| gate as &mut dyn Gate),
            words,
            changes: changes.filter(|_| filled),
            select,
        };
        let txn = own.unwrap_or(txn);
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
            let plan = match planning::make_source_plan(self, query, &markers) {
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
            match locks::lock_tables_for(self, &plan, &locks, duration) {
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
        // In sys, users may have objects of their own, in mysql older logs.
        let own = |n: &&&ast::ObjectName| match n.schema.as_ref().map_or(database, |s| s) {
            super::owned::SCHEMA => super::owned::protects(self, super::owned::SCHEMA, &n.name),
            "mysql" => !super::log_tables::defines(self, statement, n),
            _ => true,
        };
        let schemas = names.iter().filter(own).map(|n| n.schema.as_ref().map_or(database, |s| s));
        let named = match statement {
            Statement::DropDatabase { name, .. } => Some(&*name.text),
            Statement::AlterDatabase { name, .. } => Some(name.as_ref().map_or(database, |n| n)),
            _ => None,
        };
        for schema in schemas.chain(named) {
            let Some(schema) = self.state.snapshot.schema(schema) else { continue };
            if schema.system {
                let a = &self.state.account;
                return Err(sql_err!(DbaccessDenied, a.user, a.host, schema.name));
            }
            // Whether ALTER DATABASE may change it depends on what it asks for.
            let free = match statement {
                Statement::AlterDatabase { .. } => true,
                Statement::CreateTable(c) => c.temporary,
                _ => false,
            };
            if schema.read_only && !free {
                return Err(sql_err!(SchemaReadOnly, schema.name));
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

/// A statement that changes accounts.
fn change_accounts(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    match statement {
        Statement::User(s) => accounts::user_statement(session, s, reply),
        Statement::DropUser { if_exists, users } => accounts::drop_users(session, *if_exists, users, false),
        Statement::RenameUser(pairs) => accounts::rename_users(session, pairs),
        Statement::SetPassword(s) => accounts::set_password(session, s, reply),
        Statement::CreateRole { if_not_exists, roles } => accounts::create_roles(session, *if_not_exists, roles),
        Statement::DropRole { if_exists, roles } => accounts::drop_users(session, *if_exists, roles, true),
        Statement::SetDefaultRole { roles, users } => accounts::set_default_role(session, roles, users),
        Statement::Grant(s) => grants::grant(session, s),
        Statement::Revoke(s) => grants::revoke(session, s),
        _ => Err(gannet_types::SqlError::internal("a statement that changes no account")),
    }
}

/// Does what the kind of statement does.
fn perform_now(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    match statement {
        Statement::Begin(b) => session.begin(b).map(|()| Done::default()),
        Statement::Commit(c) => session.last(reply.resumes(), |s| s.commit(*c)).map(|()| Done::default()),
        Statement::Rollback(c) => session.rollback(*c).map(|()| Done::default()),
        Statement::Savepoint(name) => transaction::savepoint(session, name).map(|()| Done::default()),
        Statement::RollbackTo(name) => transaction::rollback_to(session, name).map(|()| Done::default()),
        Statement::ReleaseSavepoint(name) => transaction::release_savepoint(session, name).map(|()| Done::default()),
        Statement::Set(items) => session.set(items).map(|()| Done::default()),
        Statement::Use(name) => session.use_database(name).map(|()| Done::default()),
        Statement::Do(exprs) => exprs.iter().try_for_each(|e| session.evaluate(e).map(drop)).map(|()| Done::default()),
        Statement::Show(show) => show::show(session, show, reply),
        Statement::Describe { table, column } => show::describe(session, table, column.as_ref(), reply),
        Statement::Explain(explain) => explain::explain(session, explain, reply),
        Statement::Kill { query, id } => kill_statement(session, *query, id),
        Statement::Prepare { name, source } => prepared::prepare_named(session, name, source),
        Statement::Execute { name, using } => prepared::execute_named(session, name, using, reply),
        Statement::Deallocate(name) => prepared::deallocate(session, name),
        Statement::User(_)
        | Statement::DropUser { .. }
        | Statement::RenameUser(_)
        | Statement::SetPassword(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::SetDefaultRole { .. }
        | Statement::Grant(_)
        | Statement::Revoke(_) => super::lists::alone(session, |session| change_accounts(session, statement, reply)),
        Statement::SetRole(roles) => accounts::set_role(session, roles),
        Statement::Flush(s) => session.flush(&s.targets),
        Statement::Storage(s) if s.object == ast::StorageObject::Instance => admin::alter_instance(session, s),
        Statement::Storage(s) => super::objects::storage(session, s),
        Statement::Shutdown => {
            let done = session.shutdown_server()?;
            session.closing = true;
            Ok(done)
        }
        Statement::LockTables(list) => locks::lock_tables_explicitly(session, list).map(|()| Done::default()),
        Statement::UnlockTables => locks::unlock_explicitly(session).map(|()| Done::default()),
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => setup::change(session, statement, reply),
        Statement::Reset(targets) => reset_statement(session, targets),
        Statement::Load(l) => load::load(session, l, reply),
        Statement::Handler(h) => handler::handler(session, h, reply),
        Statement::Xa(xa) => branch::xa(session, xa, reply),
        Statement::Install(i) => components::install(session, i),
        Statement::Uninstall(u) => components::uninstall(session, u),
        Statement::Help(mask) => help::help(session, mask, reply),
        Statement::TableMaintenance(m) => maintain::maintain(session, m, reply),
        Statement::KeyCache(k) => key_caches::key_caches(session, k, reply),
        Statement::SetStatement { assignments, statement } => set_statement(session, assignments, statement, reply),
        Statement::DropProgram { kind, if_exists, name } => programs::drop_program(session, *kind, *if_exists, name),
        Statement::AlterRoutine { kind, name, characteristics } => {
            programs::alter_routine(session, *kind, name, characteristics)
        }
        Statement::AlterEvent(e) => events::alter_event(session, e),
        Statement::Call { name, args } => calls::call(session, name, args, reply),
        Statement::LockInstance => super::locks::instance(session, true),
        Statement::UnlockInstance => super::locks::instance(session, false),
        Statement::Empty => Err(sql_err!(EmptyQuery)),
        Statement::Binlog(text) => super::apply::binlog(session, text).map(|()| Done::default()),
        Statement::Replication(r) => match &**r {
            ast::Replication::PurgeLogs { to, before } => {
                logs::purge_binary_logs(session, to.as_deref(), before.as_ref())
            }
            other => super::replicas::replication(session, other),
        },
        Statement::CreateDatabase { .. }
        | Statement::AlterDatabase { .. }
        | Statement::DropDatabase { .. }
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::DropTable { .. }
        | Statement::Truncate(_)
        | Statement::RenameTable { .. }
        | Statement::CreateIndex(_)
        | Statement::DropIndex(_)
        | Statement::DropView { .. } => ddl(session, statement, reply),
        Statement::CreateView(view) => create_view(session, view, statement, reply),
        Statement::Query(_) => Err(SqlError::internal("a statement for the planner came past it")),
        Statement::CreateRoutine(r) => programs::create_routine(session, r),
        Statement::CreateTrigger(t) => programs::create_trigger(session, t),
        Statement::CreateEvent(e) => events::create_event(session, e),
        Statement::Signal(s) => diagnostics::signal(session, s),
        Statement::GetDiagnostics(get) => diagnostics::get_diagnostics(session, get),
        Statement::Restart => Err(sql_err!(RestartServerFailed, "mysqld is not managed by supervisor process")),
        Statement::CreateLoadableFunction(_)
        | Statement::Compound(_)
        | Statement::ExecuteImmediate(_)
        | Statement::Clone(_)
        | Statement::ImportTable(_) => unsupported(kinds::of(statement).name),
    }
}

/// RESET.
fn reset_statement(session: &mut Session, targets: &[ast::ResetTarget]) -> Result<Done> {
    if !targets.iter().all(|target| matches!(target, ast::ResetTarget::Persist { .. })) {
        session.commit_implicitly()?;
    }
    for target in targets {
        match target {
            ast::ResetTarget::Persist { if_exists, name } => {
                let p = session.state.privileges();
                if !p.has(Privilege::SystemVariablesAdmin) && !p.has(Privilege::Super) {
                    return Err(sql_err!(SpecificAccessDenied, "SYSTEM_VARIABLES_ADMIN or SUPER"));
                }
                let read_only = |n: &str| gannet_core::vars::find(n).is_some_and(|id| !id.def().dynamic);
                let named = name.as_ref().map(|n| &*n.text);
                let some =
                    session.server.persisted.all().keys().any(|n| named.is_none_or(|own| own == *n) && read_only(n));
                if some && !p.has(Privilege::Super) && !p.has(Privilege::PersistRoVariablesAdmin) {
                    let need = "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN";
                    return Err(sql_err!(SpecificAccessDenied, need));
                }
                set::reset_persist(session, name.as_ref().map(|n| &*n.text), *if_exists)?;
            }
            ast::ResetTarget::BinaryLogs(first) => logs::reset_binary_logs(session, *first)?,
            ast::ResetTarget::Replica { all, channel } => super::replicas::reset(session, *all, channel.as_deref())?,
            ast::ResetTarget::QueryCache => return unsupported("RESET QUERY CACHE"),
        }
    }
    Ok(Done::default())
}

fn kill_statement(session: &mut Session, query_only: bool, id: &ast::Expr) -> Result<Done> {
    let id = match session.evaluate(id)? {
        Value::Int(n) => u64::try_from(n).unwrap_or(0),
        Value::UInt(n) => n,
        Value::Str(s, _) => std::str::from_utf8(&s).ok().and_then(|s| s.trim().parse().ok()).unwrap_or(0),
        _ => 0,
    };
    session.kill(id, query_only).map(|()| Done::default())
}

/// MariaDB's SET STATEMENT ... FOR: the variables hold for one statement.
fn set_statement(
    session: &mut Session,
    items: &[ast::SetItem],
    statement: &Statement,
    reply: &mut dyn Reply,
) -> Result<Done> {
    for item in items {
        let ast::SetItem::Variable { name, .. } = item else { return unsupported("SET STATEMENT of this form") };
        let known = super::components::variable(&session.server.globals, name)?;
        if known.is(Live::Autocommit) {
            return unsupported("SET STATEMENT autocommit");
        }
    }
    let saved = session.state.vars.clone();
    let outcome = session.set(items).and_then(|()| session.run_statement(statement, reply));
    session.state.vars = saved;
    session.refresh();
    outcome
}

/// CREATE VIEW, with names of its columns that nobody chose made unique.
fn create_view(
    session: &mut Session,
    view: &ast::CreateView,
    statement: &Statement,
    reply: &mut dyn Reply,
) -> Result<Done> {
    match gannet_plan::uniquely_named(view) {
        Some(named) => ddl(session, &Statement::CreateView(Box::new(named)), reply),
        None => ddl(session, statement, reply),
    }
}

/// DDL: commits the open transaction, and runs in a transaction of its own.
fn ddl(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    ddl::check_names(statement)?;
    privileges::check_ddl_privileges(session, statement)?;
    // They get past writers who wait for room in the binary log.
    let _hurry = makes_room(statement).then(gannet_runtime::hurry);
    if let Some(done) = super::restore::definition(session, statement, reply)? {
        return Ok(done);
    }
    match statement {
        Statement::AlterTable(a) if partitions::maintains(a).is_some() => {
            return partitions::maintain(session, a, reply);
        }
        Statement::CreateTable(c) if c.temporary => {
            super::transaction::refuse_statements(session)?;
            session.work.require_read_write()?;
            return temporary::create_temporary(session, statement, c, reply);
        }
        Statement::DropTable { temporary: true, .. } => {
            super::transaction::refuse_statements(session)?;
            session.work.require_read_write()?;
            return temporary::drop_temporary(session, statement);
        }
        Statement::Truncate(name) if is_virtual(session, name) => return truncate_virtual(session, name),
        Statement::CreateTable(c) if super::gtids::has_rows_following(c) => {
            return super::follow::new_table(session, c, reply);
        }
        _ => {}
    }
    session.carry_out(statement)
}

impl Session {
    /// Carries a definition out, which may be there and is allowed.
    pub(crate) fn carry_out(&mut self, statement: &Statement) -> Result<Done> {
        defined(self, statement)
    }
}

fn defined(session: &mut Session, statement: &Statement) -> Result<Done> {
    // A READ ONLY transaction ends like others: its restriction does not matter then.
    session.commit_implicitly()?;
    if let Statement::CreateTable(create) = statement {
        temporary::refuse_foreign_keys(create)?;
    }
    session.work.require_read_write()?;
    if !temporary::only_temporary(session, statement) {
        session.require_writable()?;
    }
    session.refuse_system_schemas(statement)?;
    super::log_tables::check_definition(session, statement)?;
    let prepared = locks::lock_for_ddl(session, statement).and_then(|locks| {
        super::powers::check_view_definer(session, statement)?;
        Ok((locks, session.select_of(statement)?))
    });
    let (locks, select) = match prepared.and_then(|(locks, select)| Ok((locks, begin_over(session, select)?))) {
        Ok(prepared) => prepared,
        Err(e) => {
            session.work.unlock_transaction();
            return Err(e);
        }
    };
    session.state.running.insert_id_given = false;
    let mut gate = session.locked.is_empty().then_some(locks);
    let outcome = define_and_fill(session, statement, select, gate.as_mut());
    session.work.rest();
    session.commit_implicitly()?;
    if let Ok((_, snapshot)) = &outcome {
        super::locks::follow_locked(session, snapshot);
    }
    session.work.unlock_transaction();
    let (done, snapshot) = outcome?;
    session.take_snapshot(snapshot);
    session.discard_dropped();
    if let Statement::DropDatabase { name, .. } = statement
        && session.state.database.as_deref().is_some_and(|d| gannet_schema::names::eq_name(d, name))
    {
        session.state.set_database(None);
        session.entry.set_database(None);
        session.running.database_dropped = true;
    }
    let insert_id = query::insert_id(session, done.last_insert_id, done.last_row_id);
    Ok(Done { affected: done.rows, insert_id, info: done.info, ..Done::default() })
}

/// The statement begins that reads so.
fn begin_over(session: &mut Session, select: Option<(Plan, Vec<Value>)>) -> Result<Option<(Plan, Vec<Value>)>> {
    let reads = select.as_ref().map_or(Reads::Snapshot, |(plan, _)| plan.reads);
    session.begin_statement(reads).map(|_| select)
}

/// Changes the dictionary, and fills the table that CREATE TABLE ... SELECT makes.
fn define_and_fill(
    session: &mut Session,
    statement: &Statement,
    select: Option<(Plan, Vec<Value>)>,
    gate: Option<&mut DdlLocks>,
) -> Result<(ddl::Done, Arc<CatalogSnapshot>)> {
    let (Statement::CreateTable(create), Some((plan, _))) = (statement, &select) else {
        return session.define(statement, None, select, gate).map(|(done, snapshot, _)| (done, snapshot));
    };
    let programs = plan.uses.programs;
    calls::begin_using(session, plan);
    let outcome = surroundings::creating(session, &create.name.name, |s| s.define(statement, None, select, gate));
    calls::end_using(session, programs);
    outcome.map(|(done, snapshot, _)| (done, snapshot))
}

/// What frees space and takes hardly any.
fn makes_room(statement: &Statement) -> bool {
    matches!(statement, Statement::DropTable { .. } | Statement::DropDatabase { .. } | Statement::Truncate(_))
}

/// CREATE TABLE ... SELECT.
fn makes_rows(create: &ast::CreateTable) -> bool {
    matches!(&create.body, ast::CreateTableBody::Define { query: Some(_), .. })
}
