//! The abstract syntax tree of MySQL 8.4's statements.
//!
//! Conventions:
//! * The tree owns its text; nothing borrows from the statement.
//! * [`Span`]s are byte offsets into the statement text. They, and [`SourceText`], compare equal to
//!   anything: two trees are equal when they mean the same, wherever they were written.
//! * Identifiers keep the case they were written in; folding is the binder's business.
//! * Parentheses leave no node behind, and `AND` / `OR` chains are flat lists. The height of an expression is bounded
//!   by [`crate::MAX_HEIGHT`], so recursive visitors and `Drop` are safe on a small stack.

mod admin;
mod ddl;
mod dml;
mod expr;
mod program;
mod query;
mod walk;

pub use admin::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use program::*;
pub use query::*;

/// Byte range of the statement text. Compares equal to every other span.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}
impl Eq for Span {}

/// A piece of source text kept for display (version comments opened). Compares equal to every other one.
#[derive(Clone, Debug, Default)]
pub struct SourceText(pub Box<str>);

impl PartialEq for SourceText {
    fn eq(&self, _: &SourceText) -> bool {
        true
    }
}
impl Eq for SourceText {}

/// An identifier, quotes removed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ident {
    /// The name as written.
    pub text: Box<str>,
    /// Where it stands.
    pub span: Span,
}

impl Ident {
    /// An identifier that stands nowhere in a text.
    pub fn new(text: &str) -> Ident {
        Ident { text: text.into(), span: Span::default() }
    }
}

impl std::ops::Deref for Ident {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Ident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// `[schema.]name` of a table, view, routine, trigger or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Qualifying schema, if written.
    pub schema: Option<Ident>,
    /// The object.
    pub name: Ident,
}

/// `IF [NOT] EXISTS` and `OR REPLACE` of a CREATE or DROP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Existence {
    /// `IF EXISTS` of a DROP, `IF NOT EXISTS` of a CREATE.
    pub if_exists: bool,
    /// `OR REPLACE`.
    pub or_replace: bool,
}

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, set operations, with or without parentheses.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// LOAD DATA and LOAD XML.
    Load(Box<Load>),
    /// `DO expr, ...`
    Do(Vec<Expr>),
    /// `CALL p(...)`
    Call {
        /// The procedure.
        name: ObjectName,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// HANDLER ... OPEN / READ / CLOSE.
    Handler(Box<Handler>),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// DROP [TEMPORARY] TABLE.
    DropTable {
        /// `TEMPORARY`.
        temporary: bool,
        /// `IF EXISTS`.
        if_exists: bool,
        /// The tables.
        names: Vec<ObjectName>,
    },
    /// TRUNCATE [TABLE].
    Truncate(ObjectName),
    /// RENAME TABLE a TO b, ...
    RenameTable {
        /// `IF EXISTS`, which MariaDB has.
        if_exists: bool,
        /// Old names and new ones.
        pairs: Vec<(ObjectName, ObjectName)>,
    },
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// DROP INDEX.
    DropIndex(Box<DropIndex>),
    /// CREATE DATABASE / SCHEMA.
    CreateDatabase {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The name.
        name: Ident,
        /// Charset, collation, encryption.
        options: Vec<DatabaseOption>,
    },
    /// ALTER DATABASE / SCHEMA.
    AlterDatabase {
        /// The name; the current database if absent.
        name: Option<Ident>,
        /// Charset, collation, encryption, read only.
        options: Vec<DatabaseOption>,
    },
    /// DROP DATABASE / SCHEMA.
    DropDatabase {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The name.
        name: Ident,
    },
    /// CREATE VIEW and ALTER VIEW.
    CreateView(Box<CreateView>),
    /// DROP VIEW.
    DropView {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The views.
        names: Vec<ObjectName>,
    },
    /// CREATE PROCEDURE / FUNCTION.
    CreateRoutine(Box<CreateRoutine>),
    /// ALTER PROCEDURE / FUNCTION.
    AlterRoutine {
        /// Procedure or function.
        kind: RoutineKind,
        /// The name.
        name: ObjectName,
        /// Characteristics.
        characteristics: Vec<Characteristic>,
    },
    /// CREATE FUNCTION ... SONAME (loadable function).
    CreateLoadableFunction(Box<LoadableFunction>),
    /// CREATE TRIGGER.
    CreateTrigger(Box<CreateTrigger>),
    /// CREATE EVENT.
    CreateEvent(Box<CreateEvent>),
    /// ALTER EVENT.
    AlterEvent(Box<AlterEvent>),
    /// DROP PROCEDURE / FUNCTION / TRIGGER / EVENT.
    DropProgram {
        /// What it is.
        kind: ProgramKind,
        /// `IF EXISTS`.
        if_exists: bool,
        /// The name.
        name: ObjectName,
    },
    /// A statement of a stored program's body (only inside one).
    Compound(Box<Compound>),
    /// Tablespaces, undo tablespaces, log file groups, servers, resource groups, spatial reference systems, instance.
    Storage(Box<StorageStatement>),

    /// BEGIN, START TRANSACTION.
    Begin(Begin),
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK (of the whole transaction).
    Rollback(Completion),
    /// SAVEPOINT name.
    Savepoint(Ident),
    /// ROLLBACK TO [SAVEPOINT] name.
    RollbackTo(Ident),
    /// RELEASE SAVEPOINT name.
    ReleaseSavepoint(Ident),
    /// XA ...
    Xa(Xa),
    /// LOCK TABLES.
    LockTables(Vec<TableLock>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    /// UNLOCK INSTANCE.
    UnlockInstance,

    /// SET of variables, names, charset, transaction characteristics, in the order written.
    Set(Vec<SetItem>),
    /// SET STATEMENT var = value, ... FOR statement (MariaDB).
    SetStatement {
        /// The variables.
        assignments: Vec<SetItem>,
        /// The statement they hold for.
        statement: Box<Statement>,
    },
    /// SHOW.
    Show(Box<Show>),
    /// EXPLAIN, DESCRIBE, DESC of a statement.
    Explain(Box<Explain>),
    /// DESCRIBE table [column | 'pattern'].
    Describe {
        /// The table.
        table: ObjectName,
        /// Column name or pattern.
        column: Option<DescribeColumn>,
    },
    /// HELP 'topic'.
    Help(Box<str>),
    /// USE database.
    Use(Ident),
    /// KILL [CONNECTION | QUERY] id.
    Kill {
        /// Only the statement, not the connection.
        query: bool,
        /// The connection id.
        id: Expr,
    },
    /// PREPARE name FROM 'text' | @var.
    Prepare {
        /// Name of the statement.
        name: Ident,
        /// Its text.
        source: PrepareSource,
    },
    /// EXECUTE name [USING @a, ...].
    Execute {
        /// Name of the statement.
        name: Ident,
        /// User variables bound to the parameters.
        using: Vec<Ident>,
    },
    /// EXECUTE IMMEDIATE expr (MariaDB).
    ExecuteImmediate(Expr),
    /// DEALLOCATE / DROP PREPARE.
    Deallocate(Ident),

    /// ANALYZE / CHECK / CHECKSUM / OPTIMIZE / REPAIR TABLE.
    TableMaintenance(Box<TableMaintenance>),
    /// CACHE INDEX, LOAD INDEX INTO CACHE.
    KeyCache(Box<KeyCache>),
    /// FLUSH.
    Flush(Flush),
    /// RESET.
    Reset(Vec<ResetTarget>),
    /// SHUTDOWN.
    Shutdown,
    /// RESTART.
    Restart,
    /// BINLOG 'base64'.
    Binlog(Box<[u8]>),
    /// CLONE.
    Clone(Box<CloneStatement>),
    /// IMPORT TABLE FROM 'file', ...
    ImportTable(Vec<Box<[u8]>>),
    /// INSTALL PLUGIN / COMPONENT.
    Install(Box<Install>),
    /// UNINSTALL PLUGIN / COMPONENT.
    Uninstall(Uninstall),

    /// CREATE USER / ALTER USER.
    User(Box<UserStatement>),
    /// DROP USER.
    DropUser {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The accounts.
        users: Vec<Account>,
    },
    /// RENAME USER.
    RenameUser(Vec<(Account, Account)>),
    /// CREATE ROLE.
    CreateRole {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The roles.
        roles: Vec<Account>,
    },
    /// DROP ROLE.
    DropRole {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The roles.
        roles: Vec<Account>,
    },
    /// GRANT.
    Grant(Box<Grant>),
    /// REVOKE.
    Revoke(Box<Revoke>),
    /// SET PASSWORD.
    SetPassword(Box<SetPassword>),
    /// SET ROLE.
    SetRole(RoleSelection),
    /// SET DEFAULT ROLE ... TO ...
    SetDefaultRole {
        /// What becomes the default.
        roles: RoleSelection,
        /// For whom.
        users: Vec<Account>,
    },
    /// CHANGE REPLICATION SOURCE, START/STOP REPLICA, PURGE BINARY LOGS and their kin.
    Replication(Box<Replication>),

    /// SIGNAL / RESIGNAL.
    Signal(Box<Signal>),
    /// GET DIAGNOSTICS.
    GetDiagnostics(Box<GetDiagnostics>),
    /// Nothing but comments and white space (error 1065 when sent as a statement).
    Empty,
}
