//! Transactions, SET, SHOW, EXPLAIN, accounts, administration, replication.

use super::{Expr, Ident, IndexHint, Limit, ObjectName, Span, Statement, VarScope};

/// BEGIN, START TRANSACTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Begin {
    /// WITH CONSISTENT SNAPSHOT.
    pub consistent_snapshot: bool,
    /// READ ONLY (`Some(true)`) or READ WRITE.
    pub read_only: Option<bool>,
}

/// How COMMIT and ROLLBACK go on; `None` leaves it to `completion_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    /// AND [NO] CHAIN.
    pub chain: Option<bool>,
    /// [NO] RELEASE.
    pub release: Option<bool>,
}

/// Identifier of an XA transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xid {
    /// Global transaction id.
    pub gtrid: Box<[u8]>,
    /// Branch qualifier.
    pub bqual: Box<[u8]>,
    /// Format; 1 if not written.
    pub format_id: u64,
    /// Which of the two were written as text: the session keeps its character set, the bytes here are UTF-8.
    pub texts: [bool; 2],
}

/// XA statements.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Xa {
    Start { xid: Xid, join: bool, resume: bool },
    End { xid: Xid, suspend: bool, for_migrate: bool },
    Prepare(Xid),
    Commit { xid: Xid, one_phase: bool },
    Rollback(Xid),
    Recover { convert_xid: bool },
}

/// One table of LOCK TABLES.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLock {
    /// The table.
    pub table: ObjectName,
    /// Its alias.
    pub alias: Option<Ident>,
    /// READ, READ LOCAL, WRITE.
    pub kind: TableLockKind,
}

/// Kinds of table locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
}

/// One element of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// A system variable or, in a stored program, a local one (scope implicit, no prefix, no `@@`).
    Variable {
        /// The scope in effect: written with the item, or inherited from the items before it where MySQL does so.
        scope: VarScope,
        /// Written with `@@`: cannot be a local variable.
        at_at: bool,
        /// Key cache, component, or NEW / OLD of a trigger.
        prefix: Option<Ident>,
        /// The variable.
        name: Ident,
        /// Its value.
        value: SetValue,
    },
    /// `@name = expr`
    User {
        /// The variable.
        name: Ident,
        /// Its value.
        value: Expr,
    },
    /// `NAMES charset [COLLATE collation]`; `None` is DEFAULT.
    Names {
        /// The character set.
        charset: Option<Ident>,
        /// The collation.
        collation: Option<Ident>,
    },
    /// `CHARACTER SET charset`; `None` is DEFAULT.
    Charset(Option<Ident>),
    /// `[GLOBAL | SESSION] TRANSACTION ...`
    Transaction {
        /// Implicit: the next transaction only.
        scope: VarScope,
        /// ISOLATION LEVEL.
        isolation: Option<Isolation>,
        /// READ ONLY (`Some(true)`) or READ WRITE.
        read_only: Option<bool>,
    },
}

/// Value of a variable in SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// DEFAULT.
    Default,
    /// An expression. A bare word (`SET x = utf8`) is a [`Expr::Column`] without a qualifier; ON, ALL, BINARY, ROW and
    /// SYSTEM, which are reserved, become string literals as MySQL does.
    Expr(Expr),
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// `LIKE 'pattern'` or `WHERE expr` of SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    /// LIKE.
    Like(Box<[u8]>),
    /// WHERE.
    Where(Expr),
}

/// SHOW.
#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    /// What.
    pub kind: ShowKind,
    /// LIKE or WHERE.
    pub filter: Option<ShowFilter>,
}

/// What SHOW shows.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ShowKind {
    Databases,
    Tables {
        full: bool,
        extended: bool,
        schema: Option<Ident>,
    },
    TableStatus {
        schema: Option<Ident>,
    },
    OpenTables {
        schema: Option<Ident>,
    },
    Triggers {
        full: bool,
        schema: Option<Ident>,
    },
    Events {
        schema: Option<Ident>,
    },
    Columns {
        full: bool,
        extended: bool,
        table: ObjectName,
    },
    Index {
        extended: bool,
        table: ObjectName,
    },
    CreateDatabase {
        if_not_exists: bool,
        name: Ident,
    },
    CreateTable(ObjectName),
    CreateView(ObjectName),
    CreateProcedure(ObjectName),
    CreateFunction(ObjectName),
    CreateTrigger(ObjectName),
    CreateEvent(ObjectName),
    CreateUser(Account),
    Variables(VarScope),
    Status(VarScope),
    ProcessList {
        full: bool,
    },
    Engines,
    /// `SHOW ENGINE name STATUS | MUTEX | LOGS`; the engine `ALL` too.
    Engine {
        name: Ident,
        what: Ident,
    },
    CharacterSet,
    Collation,
    Warnings(Option<Limit>),
    Errors(Option<Limit>),
    /// `SHOW COUNT(*) WARNINGS`
    CountWarnings,
    /// `SHOW COUNT(*) ERRORS`
    CountErrors,
    Grants {
        user: Option<Account>,
        /// Written `CURRENT_USER`.
        current_user: bool,
        using: Vec<Account>,
    },
    Privileges,
    Plugins,
    ProcedureStatus,
    FunctionStatus,
    ProcedureCode(ObjectName),
    FunctionCode(ObjectName),
    Profiles,
    Profile {
        types: Vec<Box<str>>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    BinaryLogs,
    /// `SHOW BINARY LOG STATUS`, and the older `SHOW MASTER STATUS`.
    BinaryLogStatus,
    /// `SHOW BINLOG EVENTS` and (`relay`) `SHOW RELAYLOG EVENTS`.
    LogEvents {
        relay: bool,
        file: Option<Box<str>>,
        position: Option<u64>,
        limit: Option<Limit>,
        channel: Option<Box<str>>,
    },
    Replicas,
    ReplicaStatus {
        channel: Option<Box<str>>,
        /// MariaDB's `SHOW ALL SLAVES STATUS`.
        all: bool,
    },
    ParseTree(Box<Statement>),
    /// Some of MariaDB's (`SHOW PACKAGE STATUS`, `SHOW USER_STATISTICS`, ...), by their words.
    Other(Vec<Ident>),
}

/// EXPLAIN of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// EXPLAIN ANALYZE.
    pub analyze: bool,
    /// FORMAT.
    pub format: Option<Ident>,
    /// INTO @variable.
    pub into: Option<Ident>,
    /// FOR SCHEMA | DATABASE.
    pub schema: Option<Ident>,
    /// What is explained.
    pub target: ExplainTarget,
}

/// What is explained.
#[derive(Clone, Debug, PartialEq)]
pub enum ExplainTarget {
    /// A statement.
    Statement(Statement),
    /// FOR CONNECTION id.
    Connection(u64),
}

/// Second word of DESCRIBE.
#[derive(Clone, Debug, PartialEq)]
pub enum DescribeColumn {
    /// A column's name.
    Name(Ident),
    /// A pattern.
    Pattern(Box<[u8]>),
}

/// Where PREPARE finds the text.
#[derive(Clone, Debug, PartialEq)]
pub enum PrepareSource {
    /// A string.
    Text(Box<[u8]>),
    /// A user variable.
    Variable(Ident),
}

/// ANALYZE / CHECK / CHECKSUM / OPTIMIZE / REPAIR TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMaintenance {
    /// Which.
    pub kind: MaintenanceKind,
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_write_to_binlog: bool,
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// QUICK, EXTENDED, FOR UPGRADE (as `UPGRADE`), USE_FRM, ...
    pub options: Vec<Ident>,
    /// UPDATE / DROP HISTOGRAM of ANALYZE TABLE.
    pub histogram: Option<Histogram>,
}

/// Kind of maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum MaintenanceKind {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

/// UPDATE / DROP HISTOGRAM.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// DROP.
    pub drop: bool,
    /// The columns.
    pub columns: Vec<Ident>,
    /// WITH n BUCKETS.
    pub buckets: Option<u64>,
    /// AUTO UPDATE (`Some(true)`) or MANUAL UPDATE.
    pub auto_update: Option<bool>,
    /// USING DATA.
    pub data: Option<Box<str>>,
}

/// CACHE INDEX, LOAD INDEX INTO CACHE.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCache {
    /// LOAD INDEX INTO CACHE.
    pub load: bool,
    /// The tables.
    pub tables: Vec<KeyCacheTable>,
    /// `IN cache`; `None` for LOAD.
    pub cache: Option<Ident>,
}

/// One table of CACHE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCacheTable {
    /// The table.
    pub table: ObjectName,
    /// PARTITION; `ALL` if it holds that word only.
    pub partitions: Vec<Ident>,
    /// Its indexes (a hint without purpose), if written.
    pub indexes: Option<IndexHint>,
    /// IGNORE LEAVES.
    pub ignore_leaves: bool,
}

/// FLUSH.
#[derive(Clone, Debug, PartialEq)]
pub struct Flush {
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_write_to_binlog: bool,
    /// What.
    pub targets: Vec<FlushTarget>,
}

/// What FLUSH flushes.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum FlushTarget {
    Tables {
        names: Vec<ObjectName>,
        with_read_lock: bool,
        for_export: bool,
    },
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    SlowLogs,
    Logs,
    RelayLogs(Option<Box<str>>),
    Hosts,
    OptimizerCosts,
    Privileges,
    Status,
    UserResources,
    /// Some of MariaDB's (`QUERY CACHE`, `USER_STATISTICS`, ...), by their words.
    Other(Vec<Ident>),
}

/// What RESET resets.
#[derive(Clone, Debug, PartialEq)]
pub enum ResetTarget {
    /// `BINARY LOGS AND GTIDS [TO n]`, `MASTER`
    BinaryLogs(Option<u64>),
    /// `REPLICA [ALL] [FOR CHANNEL c]`
    Replica {
        /// ALL.
        all: bool,
        /// FOR CHANNEL.
        channel: Option<Box<str>>,
    },
    /// `PERSIST [[IF EXISTS] name]`
    Persist {
        /// IF EXISTS.
        if_exists: bool,
        /// The variable; all if absent.
        name: Option<Ident>,
    },
    /// `QUERY CACHE`
    QueryCache,
}

/// CLONE.
#[derive(Clone, Debug, PartialEq)]
pub enum CloneStatement {
    /// `CLONE LOCAL DATA DIRECTORY [=] 'dir'`
    Local(Box<str>),
    /// `CLONE INSTANCE FROM user:port IDENTIFIED BY 'pw' [DATA DIRECTORY ..] [REQUIRE [NO] SSL]`
    Instance {
        /// The donor's account.
        donor: Account,
        /// Its port.
        port: u64,
        /// The password.
        password: Box<str>,
        /// DATA DIRECTORY.
        directory: Option<Box<str>>,
        /// REQUIRE SSL (`Some(true)`) or NO SSL.
        ssl: Option<bool>,
    },
}

/// INSTALL.
#[derive(Clone, Debug, PartialEq)]
pub enum Install {
    /// `PLUGIN name SONAME 'library'`
    Plugin {
        /// The plugin.
        name: Ident,
        /// Its library.
        library: Box<str>,
    },
    /// `COMPONENT 'urn', ... [SET var = value, ...]`
    Component {
        /// The components.
        urns: Vec<Box<str>>,
        /// Their variables.
        set: Vec<SetItem>,
    },
}

/// UNINSTALL.
#[derive(Clone, Debug, PartialEq)]
pub enum Uninstall {
    /// `PLUGIN name`
    Plugin(Ident),
    /// `COMPONENT 'urn', ...`
    Component(Vec<Box<str>>),
}

/// An account or a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// `'user'@'host'`; the host is `%` if it was not written.
    Name {
        /// User.
        user: Box<str>,
        /// Host.
        host: Box<str>,
        /// Where it stands.
        span: Span,
    },
    /// `CURRENT_USER[()]`, `USER()`
    CurrentUser,
}

/// CREATE USER and ALTER USER.
#[derive(Clone, Debug, PartialEq)]
pub struct UserStatement {
    /// ALTER.
    pub alter: bool,
    /// IF EXISTS / IF NOT EXISTS (and MariaDB's OR REPLACE).
    pub existence: super::Existence,
    /// The accounts.
    pub users: Vec<UserSpec>,
    /// DEFAULT ROLE.
    pub default_role: Option<RoleSelection>,
    /// REQUIRE.
    pub require: Option<Require>,
    /// WITH resource limits: name and value.
    pub resources: Vec<(Ident, u64)>,
    /// PASSWORD and ACCOUNT options.
    pub options: Vec<UserOption>,
    /// COMMENT (`true`) or ATTRIBUTE and its text.
    pub comment: Option<(bool, Box<str>)>,
}

/// One account of CREATE USER.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSpec {
    /// The account.
    pub account: Account,
    /// How it authenticates: one factor or several (AND).
    pub auth: Vec<Authentication>,
    /// Other factor clauses of ALTER USER, as words.
    pub factors: Vec<FactorAction>,
    /// DISCARD OLD PASSWORD.
    pub discard_old_password: bool,
    /// REPLACE 'current password'.
    pub replace: Option<Box<[u8]>>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
}

/// `ADD | MODIFY | DROP n FACTOR [IDENTIFIED ...]`
#[derive(Clone, Debug, PartialEq)]
pub struct FactorAction {
    /// ADD, MODIFY, DROP, INITIATE, FINISH, UNREGISTER.
    pub verb: Ident,
    /// Which factor.
    pub factor: u64,
    /// Its authentication.
    pub auth: Option<Authentication>,
}

/// `IDENTIFIED [WITH plugin] [BY ..| AS ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Authentication {
    /// WITH.
    pub plugin: Option<Box<str>>,
    /// BY, AS, BY PASSWORD, or nothing.
    pub secret: AuthSecret,
    /// INITIAL AUTHENTICATION IDENTIFIED ...
    pub initial: Option<Box<Authentication>>,
}

/// Secret of an account.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthSecret {
    /// Not written.
    None,
    /// `BY 'password'`
    Password(Box<[u8]>),
    /// `BY RANDOM PASSWORD`
    Random,
    /// `AS 'hash'`, `BY PASSWORD 'hash'`
    Hash(Box<[u8]>),
}

/// REQUIRE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Require {
    None,
    Ssl,
    X509,
    /// SUBJECT, ISSUER, CIPHER and their texts.
    Attributes(Vec<(Ident, Box<str>)>),
}

/// PASSWORD and ACCOUNT options; numbers are `None` for DEFAULT.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum UserOption {
    PasswordExpire,
    PasswordExpireDefault,
    PasswordExpireNever,
    PasswordExpireInterval(u64),
    PasswordHistory(Option<u64>),
    PasswordReuseInterval(Option<u64>),
    /// `Some(true)` CURRENT, `Some(false)` CURRENT OPTIONAL, `None` CURRENT DEFAULT
    PasswordRequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// `None` is UNBOUNDED.
    PasswordLockTime(Option<u64>),
    AccountLock,
    AccountUnlock,
}

/// Roles chosen by SET ROLE and DEFAULT ROLE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum RoleSelection {
    None,
    Default,
    All,
    AllExcept(Vec<Account>),
    Roles(Vec<Account>),
}

/// A privilege: its words (`SELECT`, `CREATE TEMPORARY TABLES`, `ALL PRIVILEGES` as `ALL`, dynamic ones), and its
/// columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    /// Words in upper case, separated by one space; a dynamic privilege as written.
    pub name: Box<str>,
    /// Columns it is limited to.
    pub columns: Vec<Ident>,
}

/// What privileges are granted on.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `schema.*`
    Schema(Ident),
    /// `*`: the current schema.
    CurrentSchema,
    /// `[schema.]table`
    Object(ObjectName),
}

/// Kind of the object granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum GrantObject {
    /// Nothing written.
    Unspecified,
    Table,
    Function,
    Procedure,
}

/// What is granted or revoked.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantItems {
    /// Privileges on something.
    Privileges {
        /// The privileges.
        privileges: Vec<Privilege>,
        /// TABLE, FUNCTION, PROCEDURE.
        object: GrantObject,
        /// On what.
        level: GrantLevel,
    },
    /// Roles.
    Roles(Vec<Account>),
    /// PROXY ON account.
    Proxy(Account),
    /// REVOKE ALL [PRIVILEGES], GRANT OPTION FROM ...
    AllAndGrantOption,
}

/// GRANT.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// What.
    pub items: GrantItems,
    /// To whom, with authentication clauses (MariaDB, old MySQL).
    pub to: Vec<UserSpec>,
    /// WITH GRANT OPTION / WITH ADMIN OPTION.
    pub with_option: bool,
    /// REQUIRE (MariaDB, old MySQL).
    pub require: Option<Require>,
    /// WITH resource limits (MariaDB, old MySQL).
    pub resources: Vec<(Ident, u64)>,
    /// AS user [WITH ROLE ...].
    pub as_user: Option<(Account, Option<RoleSelection>)>,
}

/// REVOKE.
#[derive(Clone, Debug, PartialEq)]
pub struct Revoke {
    /// IF EXISTS.
    pub if_exists: bool,
    /// What.
    pub items: GrantItems,
    /// From whom.
    pub from: Vec<Account>,
    /// IGNORE UNKNOWN USER.
    pub ignore_unknown_user: bool,
}

/// SET PASSWORD.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPassword {
    /// FOR; the current user if absent.
    pub user: Option<Account>,
    /// The password; `None` is TO RANDOM.
    pub password: Option<Box<[u8]>>,
    /// REPLACE 'current password'.
    pub replace: Option<Box<[u8]>>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
}

/// Replication statements.
#[derive(Clone, Debug, PartialEq)]
pub enum Replication {
    /// `CHANGE REPLICATION SOURCE TO` / `CHANGE MASTER TO`: options as written.
    ChangeSource {
        /// Name (upper case) and value.
        options: Vec<(Ident, ReplicationValue)>,
        /// FOR CHANNEL, or MariaDB's connection name.
        channel: Option<Box<str>>,
    },
    /// `CHANGE REPLICATION FILTER`: name of the rule and its words.
    ChangeFilter {
        /// Rules: name and list of values as text.
        rules: Vec<(Ident, Vec<Box<str>>)>,
        /// FOR CHANNEL.
        channel: Option<Box<str>>,
    },
    /// `START REPLICA` / `START SLAVE`, `STOP ...`
    Replica {
        /// START; otherwise STOP.
        start: bool,
        /// IO_THREAD, SQL_THREAD.
        threads: Vec<Ident>,
        /// UNTIL: name and value.
        until: Vec<(Ident, ReplicationValue)>,
        /// USER, PASSWORD, DEFAULT_AUTH, PLUGIN_DIR.
        credentials: Vec<(Ident, Box<str>)>,
        /// FOR CHANNEL, or MariaDB's connection name.
        channel: Option<Box<str>>,
        /// MariaDB's ALL SLAVES.
        all: bool,
    },
    /// `START | STOP GROUP_REPLICATION [USER = '..', ...]`
    Group {
        /// START; otherwise STOP.
        start: bool,
        /// USER, PASSWORD, DEFAULT_AUTH.
        credentials: Vec<(Ident, Box<str>)>,
    },
    /// `PURGE BINARY LOGS TO 'file' | BEFORE expr`
    PurgeLogs {
        /// TO.
        to: Option<Box<str>>,
        /// BEFORE.
        before: Option<Expr>,
    },
}

/// Value of a replication option.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ReplicationValue {
    Text(Box<str>),
    Number(Box<str>),
    Word(Ident),
    Account(Account),
    List(Vec<u64>),
    Null,
}

/// Tablespaces, log file groups, servers, resource groups, spatial reference systems, instance.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageStatement {
    /// CREATE, ALTER or DROP.
    pub verb: StorageVerb,
    /// On what.
    pub object: StorageObject,
    /// IF [NOT] EXISTS and OR REPLACE.
    pub existence: super::Existence,
    /// Its name (number of a spatial reference system; empty for ALTER INSTANCE).
    pub name: Ident,
    /// The rest of the statement: its tokens, separated by spaces.
    pub rest: super::SourceText,
}

/// Verb of [`StorageStatement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum StorageVerb {
    Create,
    Alter,
    Drop,
    /// SET RESOURCE GROUP.
    Set,
}

/// Object of [`StorageStatement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum StorageObject {
    Tablespace,
    UndoTablespace,
    LogfileGroup,
    Server,
    ResourceGroup,
    SpatialReferenceSystem,
    Instance,
    /// MariaDB's SEQUENCE.
    Sequence,
}
