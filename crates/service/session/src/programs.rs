//! Definitions of stored programs: CREATE, ALTER, DROP of routines and triggers.

use super::bodies;
use super::calls::collation_of;
use super::compiled::{characterise, kind_of, trigger_rows};
use super::reply::Done;
use super::{Session, accounts, locks};
use gannet_catalog::{CatalogError, CatalogResult, Edit, set_triggers};
use gannet_core::accounts::{Access, Name, Privilege, Privileges, RoutineGrant};
use gannet_core::vars::Live;
use gannet_exec::error::from_catalog;
use gannet_parser::ast::{self, Account, Characteristic, CreateRoutine, CreateTrigger, ObjectName, ProgramKind};
use gannet_plan::physical::Reads;
use gannet_program::{Kind, Source};
use gannet_schema::{DataAccess, Made, Routine, RoutineKind, RowSource, Table, Trigger, TriggerEvent, names};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::sync::Arc;

impl Session {
    /// The database of a stored program. Errors 1046, 1102, 1458 and 1059: the names must be such as could exist.
    pub(super) fn program_schema(&self, name: &ObjectName) -> Result<String> {
        if let Some(schema) = &name.schema {
            names::check_schema_name(schema)?;
        }
        names::check_routine_name(&name.name)?;
        match &name.schema {
            Some(schema) => Ok(schema.text.to_string()),
            None => Ok(self.state.require_database()?.to_string()),
        }
    }

    /// Error 1370.
    pub(super) fn require_routine(&self, need: Privilege, schema: &str, name: &str, function: bool) -> Result<()> {
        if self.state.access.routine(schema, name, function).has(need) {
            return Ok(());
        }
        let a = &self.state.account;
        let word = gannet_core::accounts::privilege_name(need).to_ascii_lowercase();
        Err(sql_err!(ProcaccessDenied, word, a.user, self.state.host(), format_args!("{schema}.{name}")))
    }

    /// Under what a program is made now.
    pub(super) fn made(&self, schema: &str, definer: Option<&Account>) -> Result<Made> {
        let name = match definer {
            Some(account) => self.account_name(account),
            None => self.state.account.id(),
        };
        const USER_CHARS: usize = 32;
        const HOST_CHARS: usize = 255;
        if name.user.chars().count() > USER_CHARS {
            return Err(sql_err!(WrongStringLength, name.user, "user name", USER_CHARS));
        }
        if name.host.chars().count() > HOST_CHARS {
            let beginning: String = name.host.chars().take(70).collect();
            return Err(sql_err!(WrongStringLength, beginning, "host name", HOST_CHARS));
        }
        let now = settings_now(self);
        let database = self.state.snapshot.schema(schema).map_or(gannet_types::CollationId::DEFAULT, |s| s.collation);
        Ok(Made {
            definer: ((&*name.user).into(), (&*name.host).into()),
            sql_mode: self.settings.exec.sql_mode.bits(),
            client: collation_of(self.settings.charsets.client),
            connection: self.settings.charsets.connection,
            database,
            created_us: now,
            changed_us: now,
        })
    }
}

/// CREATE PROCEDURE, CREATE FUNCTION.
pub(crate) fn create_routine(session: &mut Session, create: &CreateRoutine) -> Result<Done> {
    bodies::check(&create.body.statement, create.kind.into())?;
    let schema = session.program_schema(&create.name)?;
    let kind = kind_of(create.kind);
    let made = session.made(&schema, create.definer.as_ref())?;
    gannet_program::compile(&Source {
        kind: if kind == RoutineKind::Procedure { Kind::Procedure } else { Kind::Function },
        name: &create.name.name,
        params: &create.params,
        returns: create.returns.as_ref(),
        body: &create.body.statement,
        mode: session.settings.exec.sql_mode,
        collation: made.database,
        rows: None,
    })
    .map_err(|e| match e.code() {
        ErrorCode::SpNoreturn => sql_err!(SpNoreturn, format_args!("{schema}.{}", create.name.name)),
        _ => e,
    })?;
    session.require_on_schema(Privilege::CreateRoutine.into(), &schema)?;
    check_definer(session, &made.definer)?;
    if let Some(done) = super::owned::routine(session, &schema, kind, &create.name.name) {
        return Ok(done);
    }
    if kind == RoutineKind::Function {
        check_logged_function(session, &create.characteristics)?;
    }
    let known = session.state.snapshot.schema(&schema).ok_or_else(|| names::missing_schema(&schema))?;
    let mut routine = Routine {
        schema: known.name.clone(),
        name: (&*create.name.name.text).into(),
        kind,
        made,
        params: create.params_text.0.clone(),
        returns: create.returns_text.0.clone(),
        body: create.body.text.0.clone(),
        deterministic: false,
        access: DataAccess::Contains,
        invoker: false,
        comment: "".into(),
        compiled: Default::default(),
        ran: Default::default(),
        called: Default::default(),
    };
    characterise(&mut routine, &create.characteristics)?;
    let (name, existence) = (routine.name.clone(), &create.existence);
    begin_definition(session)?;
    locks::refuse_under_locks(session)?;
    let exists = |s: &Session| s.state.snapshot.routine(&schema, kind, &name).cloned();
    define_program(session, &schema, kind.word(), &name, |s, edit| match exists(s) {
        Some(old) if existence.or_replace => {
            edit.drop_routine(&old)?;
            edit.put_routine(routine)
        }
        Some(_) if existence.if_exists => {
            s.note(&sql_err!(SpAlreadyExists, kind.word(), name));
            Ok(())
        }
        Some(_) => Err(CatalogError::Sql(sql_err!(SpAlreadyExists, kind.word(), name))),
        None => edit.put_routine(routine),
    })?;
    if kind == RoutineKind::Function && gannet_functions::function(&name.to_ascii_uppercase()).is_some() {
        session.note(&sql_err!(NativeFctNameCollision, name));
    }
    super::lists::alone(session, |s| grant_to_creator(s, &schema, &name, kind))?;
    Ok(Done::default())
}

/// ALTER PROCEDURE, ALTER FUNCTION.
pub(crate) fn alter_routine(
    session: &mut Session,
    kind: ast::RoutineKind,
    name: &ObjectName,
    list: &[Characteristic],
) -> Result<Done> {
    let (schema, kind) = (session.program_schema(name)?, kind_of(kind));
    session.require_routine(Privilege::AlterRoutine, &schema, &name.name, kind == RoutineKind::Function)?;
    begin_definition(session)?;
    locks::refuse_under_locks(session)?;
    if let Some(done) = super::owned::routine(session, &schema, kind, &name.name) {
        return Ok(done);
    }
    let now = settings_now(session);
    define_program(session, &schema, kind.word(), &name.name, |s, edit| {
        let Some(old) = s.state.snapshot.routine(&schema, kind, &name.name).cloned() else {
            let full = format_args!("{schema}.{}", name.name).to_string();
            return Err(CatalogError::Sql(sql_err!(SpDoesNotExist, kind.word(), full)));
        };
        super::powers::check_guarded(s, &old.made.definer).map_err(CatalogError::Sql)?;
        let mut routine = old.copy();
        characterise(&mut routine, list).map_err(CatalogError::Sql)?;
        routine.made.changed_us = now;
        edit.put_routine(routine)
    })?;
    Ok(Done::default())
}

/// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
pub(crate) fn drop_program(
    session: &mut Session,
    kind: ProgramKind,
    if_exists: bool,
    name: &ObjectName,
) -> Result<Done> {
    let loadable = kind == ProgramKind::Function && name.schema.is_none() && session.state.database.is_none();
    if loadable {
        return absent(session, if_exists, sql_err!(SpDoesNotExist, "FUNCTION (UDF)", name.name));
    }
    let schema = session.program_schema(name)?;
    let full = format!("{schema}.{}", name.name);
    match kind {
        ProgramKind::Procedure | ProgramKind::Function => {
            let function = kind == ProgramKind::Function;
            let kind = if function { RoutineKind::Function } else { RoutineKind::Procedure };
            begin_definition(session)?;
            session.require_routine(Privilege::AlterRoutine, &schema, &name.name, function)?;
            locks::refuse_under_locks(session)?;
            if let Some(done) = super::owned::routine(session, &schema, kind, &name.name) {
                return Ok(done);
            }
            let mut missing = false;
            define_program(session, &schema, kind.word(), &name.name, |s, edit| {
                match s.state.snapshot.routine(&schema, kind, &name.name).cloned() {
                    Some(routine) => {
                        super::powers::check_guarded(s, &routine.made.definer).map_err(CatalogError::Sql)?;
                        edit.drop_routine(&routine)
                    }
                    None => {
                        missing = true;
                        Ok(())
                    }
                }
            })?;
            if missing {
                return absent(session, if_exists, sql_err!(SpDoesNotExist, kind.word(), full));
            }
            super::lists::alone(session, |s| forget_grants(s, &schema, &name.name, function))?;
            Ok(Done::default())
        }
        ProgramKind::Trigger => drop_trigger(session, &schema, if_exists, name),
        ProgramKind::Event => session.drop_event(&schema, if_exists, name),
    }
}

/// A note with IF EXISTS, else the error.
pub(crate) fn absent(session: &mut Session, if_exists: bool, error: SqlError) -> Result<Done> {
    if !if_exists {
        return Err(error);
    }
    session.note(&error);
    Ok(Done::default())
}

/// CREATE TRIGGER.
pub(crate) fn create_trigger(session: &mut Session, create: &CreateTrigger) -> Result<Done> {
    bodies::check(&create.body.statement, bodies::Program::Trigger)?;
    create.name.schema.as_ref().map_or(Ok(()), |schema| names::check_schema_name(schema))?;
    let database = || session.state.require_database().map(|d| d.to_string());
    let table_schema = create.table.schema.as_ref().map_or_else(database, |s| Ok(s.text.to_string()))?;
    let schema = match &create.name.schema {
        Some(schema) => schema.text.to_string(),
        None => table_schema.clone(),
    };
    names::check_routine_name(&create.name.name)?;
    if schema != table_schema {
        return Err(sql_err!(TrgInWrongSchema));
    }
    if gannet_schema::names::canonical_schema(&schema) == "mysql" {
        return Err(sql_err!(NoTriggersOnSystemSchema));
    }
    let table_name = create.table.name.text.to_string();
    session.require_on_table(Privilege::Trigger.into(), &schema, &table_name)?;
    let made = session.made(&schema, create.definer.as_ref())?;
    check_definer(session, &made.definer)?;
    check_logged_function(session, &[Characteristic::Deterministic(true)])?;
    begin_definition(session)?;
    let event = match create.event {
        ast::TriggerEvent::Insert => TriggerEvent::Insert,
        ast::TriggerEvent::Update => TriggerEvent::Update,
        ast::TriggerEvent::Delete => TriggerEvent::Delete,
    };
    let temporary = session.state.snapshot.temporary_table(&schema, &table_name).is_some();
    define_on_table(session, &schema, &table_name, |s, edit| {
        let table = match s.state.snapshot.require_table(&schema, &table_name) {
            Ok(table) if !temporary && table.view().is_some() => {
                return Err(CatalogError::Sql(sql_err!(WrongObject, table.schema, table.name, "BASE TABLE")));
            }
            Ok(table) if temporary || table.temporary || table.source != RowSource::Engine => {
                return Err(CatalogError::Sql(sql_err!(TrgOnViewOrTempTable, table_name)));
            }
            Ok(table) => table.clone(),
            Err(e) => return Err(CatalogError::Sql(e)),
        };
        if let Some((on, found)) = s.state.snapshot.trigger(&schema, &create.name.name) {
            return Err(CatalogError::Sql(match create.existence.if_exists {
                true if on.id == table.id => {
                    let note = sql_err!(TriggerAlreadyExists, found.name, on.schema, on.name);
                    s.note(&note);
                    return Ok(());
                }
                true => sql_err!(TriggerOnOtherTable, on.schema, found.name),
                false => sql_err!(TrgAlreadyExists),
            }));
        }
        check_trigger(s, &table, event, create).map_err(CatalogError::Sql)?;
        let trigger = Trigger {
            name: (&*create.name.name.text).into(),
            made,
            event,
            after: create.after,
            body: create.body.text.0.clone(),
            compiled: Default::default(),
            ran: Default::default(),
        };
        let triggers = ordered(&table, trigger, create).map_err(CatalogError::Sql)?;
        set_triggers(edit, &table, triggers)
    })?;
    Ok(Done::default())
}

/// Compiles a new trigger's body: what it says of OLD and NEW is checked, the rest when it fires.
fn check_trigger(session: &Session, table: &Arc<Table>, event: TriggerEvent, create: &CreateTrigger) -> Result<()> {
    let rows = trigger_rows(table, event);
    bodies::check_rows(&create.body.statement, &rows.0, create.after)?;
    for (row, column) in &create.rows {
        gannet_program::row_slot(&rows.0, &row.text, &column.text)?;
    }
    gannet_program::compile(&Source {
        kind: Kind::Trigger,
        name: &create.name.name,
        params: &[],
        returns: None,
        body: &create.body.statement,
        mode: session.settings.exec.sql_mode,
        collation: table.options.collation,
        rows: Some(rows),
    })
    .map(drop)
}

fn drop_trigger(session: &mut Session, schema: &str, if_exists: bool, name: &ObjectName) -> Result<Done> {
    begin_definition(session)?;
    session.state.renew_snapshot();
    let told = session.state.access.enters_schema(schema);
    if session.state.snapshot.schema(schema).is_none() && told {
        return Err(sql_err!(BadDb, schema));
    }
    let Some(table) = session.state.snapshot.trigger(schema, &name.name).map(|(t, _)| t.name.to_string()) else {
        return absent(session, if_exists, sql_err!(TrgDoesNotExist));
    };
    session.require_on_table(Privilege::Trigger.into(), schema, &table)?;
    define_on_table(session, schema, &table, |s, edit| {
        let Some((table, trigger)) = s.state.snapshot.trigger(schema, &name.name) else {
            return Err(CatalogError::Sql(sql_err!(TrgDoesNotExist)));
        };
        let others = table.triggers.iter().filter(|t| !Arc::ptr_eq(t, trigger));
        let others = others.map(|t| Arc::new(t.copy())).collect();
        set_triggers(edit, &table.clone(), others)
    })?;
    Ok(Done::default())
}

/// The time of the statement, microseconds since 1970 UTC.
pub(crate) fn settings_now(session: &Session) -> u64 {
    u64::try_from(session.state.statement_time()).unwrap_or(0)
}

/// Error 1227 for another definer without the right to name it; note 1449 for one that there is not.
pub(crate) fn check_definer(session: &mut Session, definer: &(Box<str>, Box<str>)) -> Result<()> {
    super::powers::check_definer(session, &Name::new(&definer.0, &definer.1))
}

/// A definition ends the open transaction; what forbids it is said then.
pub(crate) fn begin_definition(session: &mut Session) -> Result<()> {
    session.commit_implicitly()?;
    session.work.require_read_write()?;
    session.require_writable()?;
    session.state.renew_snapshot();
    Ok(())
}

/// Changes the dictionary, with the program's name locked.
pub(crate) fn define_program(
    session: &mut Session,
    schema: &str,
    kind: &str,
    name: &str,
    change: impl FnOnce(&mut Session, &mut Edit<'_>) -> CatalogResult<()>,
) -> Result<()> {
    let label = format!("{kind} {}", names::fold_name(name));
    let locked = locks::lock_program(session, schema, &label).and_then(|()| refuse_read_only(session, schema));
    define_locked(session, locked, change)?;
    if kind == "EVENT" {
        session.server.registry.wake_events();
    }
    Ok(())
}

/// The same with a table locked, as for any definition of it.
fn define_on_table(
    session: &mut Session,
    schema: &str,
    table: &str,
    change: impl FnOnce(&mut Session, &mut Edit<'_>) -> CatalogResult<()>,
) -> Result<()> {
    let locked =
        locks::lock_program(session, schema, "").and_then(|()| locks::lock_for_trigger(session, schema, table));
    let locked = locked.and_then(|()| refuse_read_only(session, schema));
    define_locked(session, locked, change)
}

/// Error 3989 for what would be made, changed or dropped in a schema that is read only.
fn refuse_read_only(session: &Session, schema: &str) -> Result<()> {
    match session.state.snapshot.schema(schema) {
        Some(s) if s.read_only => Err(sql_err!(SchemaReadOnly, s.name)),
        _ => Ok(()),
    }
}

fn define_locked(
    session: &mut Session,
    locked: Result<()>,
    change: impl FnOnce(&mut Session, &mut Edit<'_>) -> CatalogResult<()>,
) -> Result<()> {
    let begun = locked.and_then(|()| session.begin_statement(Reads::Snapshot).map(drop));
    if let Err(e) = begun {
        session.work.unlock_transaction();
        return Err(e);
    }
    session.settings.begin(session.state.statement_time());
    session.state.renew_snapshot();
    let words = super::words::words(session);
    let server = session.server.clone();
    let temporaries = session.state.snapshot.temporaries().cloned();
    // The change looks at the session while the dictionary has its transaction.
    let idle = gannet_engine::idle(&server.engine, gannet_engine::TxnOptions::default());
    let mut txn = std::mem::replace(session.work.txn_mut(), idle);
    session.work.rest();
    let outcome = server.catalog.ddl_with(&mut txn, words, temporaries, |edit| change(session, edit));
    *session.work.txn_mut() = txn;
    session.work.rest();
    session.commit_implicitly()?;
    session.work.unlock_transaction();
    let ((), snapshot) = outcome.map_err(from_catalog)?;
    session.take_snapshot(snapshot);
    Ok(())
}

/// `automatic_sp_privileges`: who makes a routine may execute and change it.
fn grant_to_creator(session: &mut Session, schema: &str, name: &str, kind: RoutineKind) -> Result<()> {
    let own = Privileges::of(&[Privilege::Execute, Privilege::AlterRoutine]);
    let function = kind == RoutineKind::Function;
    if !session.server.globals.get(Live::AutomaticSpPrivileges).as_bool() {
        return Ok(());
    }
    let id = session.state.account.id();
    let Some(account) = session.server.accounts.get(&id.user, &id.host) else { return Ok(()) };
    // What follows another server may do everything: what counts is what the creator may.
    let has = match session.follows {
        true => Access::new(&session.server.accounts, &account, &[]).routine(schema, name, function),
        false => session.state.access.routine(schema, name, function),
    };
    if has.contains(own) {
        return Ok(());
    }
    let grant = RoutineGrant { schema: schema.into(), name: name.into(), function, privileges: own };
    let put = account.changed(|a| a.grants.routines.push(grant));
    accounts::store_accounts_silently(session, vec![Arc::new(put)])
}

/// What was granted on a routine goes with it.
fn forget_grants(session: &mut Session, schema: &str, name: &str, function: bool) -> Result<()> {
    if !session.server.globals.get(Live::AutomaticSpPrivileges).as_bool() {
        return Ok(());
    }
    let of = |r: &RoutineGrant| r.schema == schema && r.function == function && names::eq_name(&r.name, name);
    let list = session.server.accounts.list();
    let with = list.iter().filter(|a| a.grants.routines.iter().any(of));
    let put: Vec<_> = with.map(|account| Arc::new(account.changed(|a| a.grants.routines.retain(|r| !of(r))))).collect();
    if put.is_empty() { Ok(()) } else { accounts::store_accounts_silently(session, put) }
}

/// What a binary log asks of functions and triggers, unless `log_bin_trust_function_creators` says otherwise. Errors
/// 1418, 1419.
fn check_logged_function(session: &Session, list: &[Characteristic]) -> Result<()> {
    let trusts = session.server.globals.get(Live::LogBinTrustFunctionCreators).as_bool();
    if session.server.binlog().is_none() || trusts {
        return Ok(());
    }
    let tame = |c: &Characteristic| {
        matches!(c, Characteristic::Deterministic(true) | Characteristic::NoSql | Characteristic::ReadsSqlData)
    };
    if !list.iter().any(tame) {
        return Err(sql_err!(BinlogUnsafeRoutine));
    }
    match session.state.privileges().has(Privilege::Super) {
        true => Ok(()),
        false => Err(sql_err!(BinlogCreateRoutineNeedSuper)),
    }
}

/// A table's triggers with a new one: behind those of its event and time, or where FOLLOWS or PRECEDES wants it.
/// Error 3011.
fn ordered(table: &Table, trigger: Trigger, create: &CreateTrigger) -> Result<Vec<Arc<Trigger>>> {
    let same = |t: &Trigger| t.event == trigger.event && t.after == trigger.after;
    let mut all: Vec<Arc<Trigger>> = table.triggers.iter().map(|t| Arc::new(t.copy())).collect();
    let at = match &create.order {
        None => all.len(),
        Some((follows, other)) => {
            let found = all.iter().position(|t| same(t) && names::eq_name(&t.name, &other.text));
            let found = found.ok_or_else(|| SqlError::new(ErrorCode::ReferencedTrgDoesNotExist, &[&other.text]))?;
            found + usize::from(*follows)
        }
    };
    all.insert(at, Arc::new(trigger));
    Ok(all)
}
