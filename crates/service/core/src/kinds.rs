//! The properties of each kind of statement, one declaration each: how it is run, its counter, whether it commits the
//! open transaction, whether it may be prepared or stand in a stored program, how those who follow the log learn of it,
//! whether its text may hold a secret.
//!
//! `of` names every statement of the tree and has no wildcard: a new statement does not compile until it is declared
//! here.

use gannet_parser::ast::{self, Statement};
use gannet_telemetry::{Counter, count};

/// How a statement is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the planner and the executor.
    Planned,
    /// As a definition.
    Definition,
    /// By the session itself.
    Session,
    /// Not at all: error 1235 with its name.
    Missing,
}

/// Where the text of a statement may hold a password; [`crate::kept`] puts `<secret>` in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// Nowhere.
    Never,
    /// Its literals may be passwords, those apart that are known to be something else (names, comments).
    Literals,
    /// Its literals may be statements, or parts of one.
    Texts,
}

/// Where a statement may stand in a stored program. What commits may not stand in functions and triggers anyway (error
/// 1422). The words are those of the errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// In all.
    All,
    /// Not in functions and triggers: error 1336.
    Procedures(&'static str),
    /// Not in functions and triggers, as it returns rows: error 1415.
    Rows,
    /// In none: error 1314.
    Nowhere(&'static str),
    /// In none, as it makes a program: error 1303.
    Makes(&'static str),
    /// In none, as it changes one: error 1357.
    Changes(&'static str),
    /// In none, as it is about an event's body: error 1576.
    Event,
}

/// How those who follow the log learn of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    /// Not by itself.
    Never,
    /// By the rows that it changes.
    Rows,
    /// By its text, secrets left out, with its commit (`catalog::Words`).
    Text,
}

/// A kind of statement.
#[derive(Debug)]
pub struct Kind {
    /// What error 1235 calls it.
    pub name: &'static str,
    pub way: Way,
    /// Its `Com_...`; `None`: counted where it is run.
    pub counter: Option<Counter>,
    /// It ends an open transaction: a branch of XA does not allow it.
    pub commits: bool,
    /// PREPARE takes it.
    pub prepared: bool,
    /// It looks at the diagnostics of the statement before.
    pub keeps_diagnostics: bool,
    pub programs: Programs,
    pub logged: Logged,
    pub secrets: Secrets,
}

impl Kind {
    const fn of(name: &'static str, way: Way) -> Self {
        Kind {
            name,
            way,
            counter: None,
            commits: false,
            prepared: true,
            keeps_diagnostics: false,
            programs: Programs::All,
            logged: Logged::Never,
            secrets: Secrets::Never,
        }
    }

    const fn counted(mut self, counter: Counter) -> Self {
        self.counter = Some(counter);
        self
    }

    const fn commits(mut self) -> Self {
        self.commits = true;
        self
    }

    const fn not_prepared(mut self) -> Self {
        self.prepared = false;
        self
    }

    const fn keeps_diagnostics(mut self) -> Self {
        self.keeps_diagnostics = true;
        self
    }

    const fn in_programs(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }

    const fn logged(mut self, logged: Logged) -> Self {
        self.logged = logged;
        self
    }

    const fn with(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }
}

const fn planned(name: &'static str, counter: Counter) -> Kind {
    Kind::of(name, Way::Planned).counted(counter)
}

const fn change(name: &'static str, counter: Counter) -> Kind {
    planned(name, counter).logged(Logged::Rows)
}

const fn definition(name: &'static str, counter: Counter) -> Kind {
    Kind::of(name, Way::Definition).counted(counter).commits().logged(Logged::Text)
}

const fn session(name: &'static str) -> Kind {
    Kind::of(name, Way::Session)
}

const fn missing(name: &'static str) -> Kind {
    Kind::of(name, Way::Missing)
}

macro_rules! kinds {
    ($($id:ident = $kind:expr;)*) => {
        $(pub static $id: Kind = $kind;)*

        /// All of them.
        pub static ALL: &[&Kind] = &[$(&$id),*];
    };
}

kinds! {
    SELECT = planned("SELECT", Counter::ComSelect);
    INSERT = change("INSERT", Counter::ComInsert);
    INSERT_SELECT = change("INSERT ... SELECT", Counter::ComInsertSelect);
    REPLACE = change("REPLACE", Counter::ComReplace);
    REPLACE_SELECT = change("REPLACE ... SELECT", Counter::ComReplaceSelect);
    UPDATE = change("UPDATE", Counter::ComUpdate);
    UPDATE_MULTI = change("UPDATE of several tables", Counter::ComUpdateMulti);
    DELETE = change("DELETE", Counter::ComDelete);
    DELETE_MULTI = change("DELETE of several tables", Counter::ComDeleteMulti);

    CREATE_DATABASE = definition("CREATE DATABASE", Counter::ComCreateDb);
    ALTER_DATABASE = definition("ALTER DATABASE", Counter::ComAlterDb);
    DROP_DATABASE = definition("DROP DATABASE", Counter::ComDropDb);
    CREATE_TABLE = definition("CREATE TABLE", Counter::ComCreateTable);
    ALTER_TABLE = definition("ALTER TABLE", Counter::ComAlterTable);
    DROP_TABLE = definition("DROP TABLE", Counter::ComDropTable);
    TRUNCATE = definition("TRUNCATE TABLE", Counter::ComTruncate);
    RENAME_TABLE = definition("RENAME TABLE", Counter::ComRenameTable);
    CREATE_INDEX = definition("CREATE INDEX", Counter::ComCreateIndex);
    DROP_INDEX = definition("DROP INDEX", Counter::ComDropIndex);
    CREATE_VIEW = definition("CREATE VIEW", Counter::ComCreateView);
    DROP_VIEW = definition("DROP VIEW", Counter::ComDropView);

    LOAD = session("LOAD DATA").counted(Counter::ComLoad).not_prepared().in_programs(Programs::Nowhere("LOAD DATA")).logged(Logged::Rows);
    DO = session("DO").counted(Counter::ComDo);
    HANDLER_OPEN = session("HANDLER ... OPEN").counted(Counter::ComHaOpen).in_programs(Programs::Nowhere("HANDLER"));
    HANDLER_CLOSE = session("HANDLER ... CLOSE").counted(Counter::ComHaClose).in_programs(Programs::Nowhere("HANDLER"));
    HANDLER_READ = session("HANDLER ... READ").counted(Counter::ComHaRead).in_programs(Programs::Nowhere("HANDLER"));
    BEGIN = session("START TRANSACTION").commits();
    COMMIT = session("COMMIT").commits();
    ROLLBACK = session("ROLLBACK").commits();
    SAVEPOINT = session("SAVEPOINT");
    ROLLBACK_TO = session("ROLLBACK TO SAVEPOINT");
    RELEASE_SAVEPOINT = session("RELEASE SAVEPOINT");
    XA = session("XA");
    LOCK_TABLES = session("LOCK TABLES").counted(Counter::ComLockTables).commits().in_programs(Programs::Nowhere("LOCK"));
    LOCK_INSTANCE = session("LOCK INSTANCE").counted(Counter::ComLockInstance).in_programs(Programs::Nowhere("LOCK INSTANCE"));
    UNLOCK_INSTANCE = session("UNLOCK INSTANCE").counted(Counter::ComUnlockInstance).in_programs(Programs::Nowhere("UNLOCK INSTANCE"));
    UNLOCK_TABLES = session("UNLOCK TABLES").counted(Counter::ComUnlockTables).in_programs(Programs::Nowhere("UNLOCK"));
    SET = session("SET").with(Secrets::Texts);
    SET_STATEMENT = session("SET STATEMENT").with(Secrets::Texts);
    SHOW = session("SHOW").in_programs(Programs::Rows);
    SHOW_DIAGNOSTICS = session("SHOW WARNINGS").keeps_diagnostics().in_programs(Programs::Rows);
    EXPLAIN = session("EXPLAIN").in_programs(Programs::Rows);
    EXPLAIN_CONNECTION = session("EXPLAIN FOR CONNECTION").counted(Counter::ComExplainOther).in_programs(Programs::Rows);
    DESCRIBE = session("DESCRIBE").in_programs(Programs::Rows);
    HELP = session("HELP").counted(Counter::ComHelp).in_programs(Programs::Nowhere("HELP"));
    USE = session("USE").not_prepared().counted(Counter::ComChangeDb).in_programs(Programs::Nowhere("USE"));
    KILL = session("KILL");
    PREPARE = session("PREPARE").not_prepared().with(Secrets::Texts).in_programs(Programs::Procedures("Dynamic SQL"));
    EXECUTE = session("EXECUTE").not_prepared().in_programs(Programs::Procedures("Dynamic SQL"));
    DEALLOCATE = session("DEALLOCATE PREPARE").not_prepared().in_programs(Programs::Procedures("Dynamic SQL"));
    CHECKSUM_TABLE = session("CHECKSUM TABLE").in_programs(Programs::Rows);
    TABLE_MAINTENANCE = session("ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE").commits().in_programs(Programs::Rows);
    FLUSH = session("FLUSH").in_programs(Programs::Procedures("FLUSH"));
    RESET = session("RESET").counted(Counter::ComReset).in_programs(Programs::Procedures("RESET"));
    SHUTDOWN = session("SHUTDOWN");
    INSTALL_PLUGIN = session("INSTALL PLUGIN").counted(Counter::ComInstallPlugin);
    INSTALL_COMPONENT = session("INSTALL COMPONENT").counted(Counter::ComInstallComponent).with(Secrets::Texts);
    UNINSTALL_PLUGIN = session("UNINSTALL PLUGIN").counted(Counter::ComUninstallPlugin);
    UNINSTALL_COMPONENT = session("UNINSTALL COMPONENT").counted(Counter::ComUninstallComponent);
    ALTER_INSTANCE = session("ALTER INSTANCE").counted(Counter::ComAlterInstance);
    USER = session("CREATE USER and ALTER USER").commits().with(Secrets::Literals).logged(Logged::Text);
    DROP_USER = session("DROP USER").commits().logged(Logged::Text);
    RENAME_USER = session("RENAME USER").commits().logged(Logged::Text);
    CREATE_ROLE = session("CREATE ROLE").counted(Counter::ComCreateRole).commits().logged(Logged::Text);
    DROP_ROLE = session("DROP ROLE").counted(Counter::ComDropRole).commits().logged(Logged::Text);
    GRANT = session("GRANT").commits().with(Secrets::Literals).logged(Logged::Text);
    REVOKE = session("REVOKE").commits().with(Secrets::Literals).logged(Logged::Text);
    SET_PASSWORD = session("SET PASSWORD").counted(Counter::ComSetPassword).commits().with(Secrets::Literals).logged(Logged::Text);
    SET_ROLE = session("SET ROLE").counted(Counter::ComSetRole);
    SET_DEFAULT_ROLE = session("SET DEFAULT ROLE").counted(Counter::ComAlterUserDefaultRole).commits().logged(Logged::Text);
    GET_DIAGNOSTICS = session("GET DIAGNOSTICS").not_prepared().counted(Counter::ComGetDiagnostics).keeps_diagnostics();
    EMPTY = session("an empty statement").counted(Counter::ComEmptyQuery).with(Secrets::Literals);

    CALL = session("CALL").counted(Counter::ComCallProcedure);
    CREATE_PROCEDURE =
        session("CREATE PROCEDURE").counted(Counter::ComCreateProcedure).not_prepared().with(Secrets::Literals).commits().logged(Logged::Text).in_programs(Programs::Makes("PROCEDURE"));
    CREATE_FUNCTION =
        session("CREATE FUNCTION").counted(Counter::ComCreateFunction).not_prepared().with(Secrets::Literals).commits().logged(Logged::Text).in_programs(Programs::Makes("FUNCTION"));
    ALTER_PROCEDURE = session("ALTER PROCEDURE").counted(Counter::ComAlterProcedure).commits().in_programs(Programs::Changes("PROCEDURE")).logged(Logged::Text);
    ALTER_FUNCTION = session("ALTER FUNCTION").counted(Counter::ComAlterFunction).commits().in_programs(Programs::Changes("FUNCTION")).logged(Logged::Text);
    CREATE_LOADABLE_FUNCTION = missing("CREATE FUNCTION ... SONAME");
    CREATE_TRIGGER = session("CREATE TRIGGER").counted(Counter::ComCreateTrigger).not_prepared().with(Secrets::Literals).commits().logged(Logged::Text).in_programs(Programs::Makes("TRIGGER"));
    CREATE_EVENT = session("CREATE EVENT").counted(Counter::ComCreateEvent).not_prepared().with(Secrets::Literals).commits().logged(Logged::Text).in_programs(Programs::Event);
    ALTER_EVENT = session("ALTER EVENT").counted(Counter::ComAlterEvent).commits().with(Secrets::Literals).logged(Logged::Text);
    DROP_PROCEDURE = session("DROP PROCEDURE").counted(Counter::ComDropProcedure).commits().in_programs(Programs::Changes("PROCEDURE")).logged(Logged::Text);
    DROP_FUNCTION = session("DROP FUNCTION").counted(Counter::ComDropFunction).commits().in_programs(Programs::Changes("FUNCTION")).logged(Logged::Text);
    DROP_TRIGGER = session("DROP TRIGGER").counted(Counter::ComDropTrigger).commits().logged(Logged::Text);
    DROP_EVENT = session("DROP EVENT").counted(Counter::ComDropEvent).commits().logged(Logged::Text);
    COMPOUND = missing("stored programs").with(Secrets::Literals);
    STORAGE = missing("tablespaces, log file groups and spatial reference systems").with(Secrets::Literals);
    SERVER = session("CREATE SERVER and its kin").commits().with(Secrets::Literals).logged(Logged::Text);
    RESOURCE_GROUP = session("CREATE RESOURCE GROUP and its kin").commits();
    SET_RESOURCE_GROUP = session("SET RESOURCE GROUP");
    EXECUTE_IMMEDIATE = missing("EXECUTE IMMEDIATE").with(Secrets::Texts).in_programs(Programs::Procedures("Dynamic SQL"));
    KEY_CACHE = session("CACHE INDEX and LOAD INDEX INTO CACHE").commits().in_programs(Programs::Rows);
    RESTART = session("RESTART").counted(Counter::ComRestart);
    BINLOG = session("BINLOG").counted(Counter::ComBinlog).in_programs(Programs::Procedures("BINLOG"));
    CLONE = missing("CLONE").counted(Counter::ComClone).with(Secrets::Literals);
    IMPORT_TABLE = missing("IMPORT TABLE");
    PURGE_LOGS = session("PURGE BINARY LOGS").in_programs(Programs::All);
    REPLICATION = session("replication").in_programs(Programs::Procedures("replication")).with(Secrets::Literals);
    SIGNAL = session("SIGNAL").not_prepared().counted(Counter::ComSignal);
    RESIGNAL = session("RESIGNAL").not_prepared().counted(Counter::ComResignal).keeps_diagnostics();
}

fn of_storage(s: &ast::StorageStatement) -> &'static Kind {
    match s.object {
        ast::StorageObject::Instance => &ALTER_INSTANCE,
        ast::StorageObject::Server => &SERVER,
        ast::StorageObject::ResourceGroup if s.verb == ast::StorageVerb::Set => &SET_RESOURCE_GROUP,
        ast::StorageObject::ResourceGroup => &RESOURCE_GROUP,
        _ => &STORAGE,
    }
}

/// The kind of a statement.
#[inline]
pub fn of(statement: &Statement) -> &'static Kind {
    match statement {
        Statement::Query(_) => &SELECT,
        Statement::Insert(i) => match (i.replace, matches!(i.source, ast::InsertSource::Query(_))) {
            (false, false) => &INSERT,
            (false, true) => &INSERT_SELECT,
            (true, false) => &REPLACE,
            (true, true) => &REPLACE_SELECT,
        },
        Statement::Update(u) if matches!(&*u.tables, [ast::TableRef::Table { .. }]) => &UPDATE,
        Statement::Update(_) => &UPDATE_MULTI,
        Statement::Delete(d) if d.targets.is_empty() => &DELETE,
        Statement::Delete(_) => &DELETE_MULTI,
        Statement::Load(_) => &LOAD,
        Statement::Do(_) => &DO,
        Statement::Call { .. } => &CALL,
        Statement::Handler(h) => match h.action {
            ast::HandlerAction::Open(_) => &HANDLER_OPEN,
            ast::HandlerAction::Close => &HANDLER_CLOSE,
            ast::HandlerAction::Read { .. } => &HANDLER_READ,
        },
        Statement::CreateTable(_) => &CREATE_TABLE,
        Statement::AlterTable(_) => &ALTER_TABLE,
        Statement::DropTable { .. } => &DROP_TABLE,
        Statement::Truncate(_) => &TRUNCATE,
        Statement::RenameTable { .. } => &RENAME_TABLE,
        Statement::CreateIndex(_) => &CREATE_INDEX,
        Statement::DropIndex(_) => &DROP_INDEX,
        Statement::CreateDatabase { .. } => &CREATE_DATABASE,
        Statement::AlterDatabase { .. } => &ALTER_DATABASE,
        Statement::DropDatabase { .. } => &DROP_DATABASE,
        Statement::CreateView(_) => &CREATE_VIEW,
        Statement::DropView { .. } => &DROP_VIEW,
        Statement::CreateRoutine(r) => match r.kind {
            ast::RoutineKind::Procedure => &CREATE_PROCEDURE,
            ast::RoutineKind::Function => &CREATE_FUNCTION,
        },
        Statement::AlterRoutine { kind, .. } => match kind {
            ast::RoutineKind::Procedure => &ALTER_PROCEDURE,
            ast::RoutineKind::Function => &ALTER_FUNCTION,
        },
        Statement::CreateLoadableFunction(_) => &CREATE_LOADABLE_FUNCTION,
        Statement::CreateTrigger(_) => &CREATE_TRIGGER,
        Statement::CreateEvent(_) => &CREATE_EVENT,
        Statement::AlterEvent(_) => &ALTER_EVENT,
        Statement::DropProgram { kind, .. } => match kind {
            ast::ProgramKind::Procedure => &DROP_PROCEDURE,
            ast::ProgramKind::Function => &DROP_FUNCTION,
            ast::ProgramKind::Trigger => &DROP_TRIGGER,
            ast::ProgramKind::Event => &DROP_EVENT,
        },
        Statement::Compound(_) => &COMPOUND,
        Statement::Storage(s) => of_storage(s),
        Statement::Begin(_) => &BEGIN,
        Statement::Commit(_) => &COMMIT,
        Statement::Rollback(_) => &ROLLBACK,
        Statement::Savepoint(_) => &SAVEPOINT,
        Statement::RollbackTo(_) => &ROLLBACK_TO,
        Statement::ReleaseSavepoint(_) => &RELEASE_SAVEPOINT,
        Statement::Xa(_) => &XA,
        Statement::LockTables(_) => &LOCK_TABLES,
        Statement::UnlockTables => &UNLOCK_TABLES,
        Statement::LockInstance => &LOCK_INSTANCE,
        Statement::UnlockInstance => &UNLOCK_INSTANCE,
        Statement::Set(_) => &SET,
        Statement::SetStatement { .. } => &SET_STATEMENT,
        Statement::Show(s) => match s.kind {
            ast::ShowKind::Warnings(_)
            | ast::ShowKind::Errors(_)
            | ast::ShowKind::CountWarnings
            | ast::ShowKind::CountErrors => &SHOW_DIAGNOSTICS,
            _ => &SHOW,
        },
        Statement::Explain(e) => match &e.target {
            ast::ExplainTarget::Statement(_) => &EXPLAIN,
            ast::ExplainTarget::Connection(_) => &EXPLAIN_CONNECTION,
        },
        Statement::Describe { .. } => &DESCRIBE,
        Statement::Help(_) => &HELP,
        Statement::Use(_) => &USE,
        Statement::Kill { .. } => &KILL,
        Statement::Prepare { .. } => &PREPARE,
        Statement::Execute { .. } => &EXECUTE,
        Statement::ExecuteImmediate(_) => &EXECUTE_IMMEDIATE,
        Statement::Deallocate(_) => &DEALLOCATE,
        Statement::TableMaintenance(m) if m.kind == ast::MaintenanceKind::Checksum => &CHECKSUM_TABLE,
        Statement::TableMaintenance(_) => &TABLE_MAINTENANCE,
        Statement::KeyCache(_) => &KEY_CACHE,
        Statement::Flush(_) => &FLUSH,
        Statement::Reset(_) => &RESET,
        Statement::Shutdown => &SHUTDOWN,
        Statement::Restart => &RESTART,
        Statement::Binlog(_) => &BINLOG,
        Statement::Clone(_) => &CLONE,
        Statement::ImportTable(_) => &IMPORT_TABLE,
        Statement::Install(i) => match **i {
            ast::Install::Plugin { .. } => &INSTALL_PLUGIN,
            ast::Install::Component { .. } => &INSTALL_COMPONENT,
        },
        Statement::Uninstall(u) => match u {
            ast::Uninstall::Plugin(_) => &UNINSTALL_PLUGIN,
            ast::Uninstall::Component(_) => &UNINSTALL_COMPONENT,
        },
        Statement::User(_) => &USER,
        Statement::DropUser { .. } => &DROP_USER,
        Statement::RenameUser(_) => &RENAME_USER,
        Statement::CreateRole { .. } => &CREATE_ROLE,
        Statement::DropRole { .. } => &DROP_ROLE,
        Statement::Grant(_) => &GRANT,
        Statement::Revoke(_) => &REVOKE,
        Statement::SetPassword(_) => &SET_PASSWORD,
        Statement::SetRole(_) => &SET_ROLE,
        Statement::SetDefaultRole { .. } => &SET_DEFAULT_ROLE,
        Statement::Replication(r) => match **r {
            ast::Replication::PurgeLogs { .. } => &PURGE_LOGS,
            _ => &REPLICATION,
        },
        Statement::Signal(s) => [&SIGNAL, &RESIGNAL][usize::from(s.resignal)],
        Statement::GetDiagnostics(_) => &GET_DIAGNOSTICS,
        Statement::Empty => &EMPTY,
    }
}

/// The `Com_...` counter of a statement: EXPLAIN counts as the explained statement, SHOW by its subject.
pub fn counter(statement: &Statement) -> Option<Counter> {
    match statement {
        Statement::Explain(e) => match &e.target {
            ast::ExplainTarget::Statement(explained) => counter(explained),
            ast::ExplainTarget::Connection(_) => of(statement).counter,
        },
        Statement::Show(show) => counter_of_show(&show.kind),
        Statement::Storage(s) => counter_of_storage(s).or(of(statement).counter),
        Statement::Replication(r) => counter_of_replication(r),
        other => of(other).counter,
    }
}

/// Counts a statement in its `Com_...` counter.
pub fn count_statement(statement: &Statement) {
    if let Some(c) = counter(statement) {
        count(c);
    }
}

fn counter_of_storage(s: &ast::StorageStatement) -> Option<Counter> {
    use ast::{StorageObject as Object, StorageVerb as Verb};
    Some(match (s.object, s.verb) {
        (Object::Server, Verb::Create) => Counter::ComCreateServer,
        (Object::Server, Verb::Alter) => Counter::ComAlterServer,
        (Object::Server, Verb::Drop) => Counter::ComDropServer,
        (Object::ResourceGroup, Verb::Create) => Counter::ComCreateResourceGroup,
        (Object::ResourceGroup, Verb::Alter) => Counter::ComAlterResourceGroup,
        (Object::ResourceGroup, Verb::Drop) => Counter::ComDropResourceGroup,
        (Object::ResourceGroup, Verb::Set) => Counter::ComSetResourceGroup,
        _ => return None,
    })
}

fn counter_of_replication(r: &ast::Replication) -> Option<Counter> {
    Some(match r {
        ast::Replication::ChangeSource { .. } => Counter::ComChangeReplicationSource,
        ast::Replication::ChangeFilter { .. } => Counter::ComChangeReplFilter,
        ast::Replication::Replica { start: true, .. } => Counter::ComReplicaStart,
        ast::Replication::Replica { start: false, .. } => Counter::ComReplicaStop,
        ast::Replication::PurgeLogs { before: Some(_), .. } => Counter::ComPurgeBeforeDate,
        ast::Replication::PurgeLogs { .. } => Counter::ComPurge,
        ast::Replication::Group { .. } => return None,
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

/// The names of the kinds that can be run, for tests that walk over all of them.
#[doc(hidden)]
pub fn runnable() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|k| k.way != Way::Missing).map(|k| k.name)
}

/// The name of a statement's kind; `None` when the text cannot be read.
#[doc(hidden)]
pub fn name_of(sql: &str) -> Option<&'static str> {
    let parsed = gannet_parser::parse(sql.as_bytes(), gannet_parser::LexMode::default());
    parsed.ok().map(|p| of(&p.statement).name)
}

/// How a statement is logged; `None` when the text cannot be read.
#[doc(hidden)]
pub fn logged(sql: &str) -> Option<Logged> {
    let parsed = gannet_parser::parse(sql.as_bytes(), gannet_parser::LexMode::default());
    parsed.ok().map(|p| of(&p.statement).logged)
}
