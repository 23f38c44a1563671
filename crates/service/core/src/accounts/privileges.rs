//! Global privileges, one declaration each.

use gannet_types::{Result, SqlError, sql_err};

macro_rules! privileges {
    ($($id:ident = $name:literal, $context:literal, $comment:literal, $dynamic:literal;)*) => {
        /// A privilege.
        #[expect(missing_docs, reason = "the names are the privileges' names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Privilege { $($id),* }

        /// All privileges: name, context, comment, dynamic; in the order of SHOW PRIVILEGES.
        pub const PRIVILEGES: &[(Privilege, &str, &str, &str, bool)] = &[$((Privilege::$id, $name, $context, $comment, $dynamic)),*];
    };
}

privileges! {
    Alter = "Alter", "Tables", "To alter the table", false;
    AlterRoutine = "Alter routine", "Functions,Procedures", "To alter or drop stored functions/procedures", false;
    Create = "Create", "Databases,Tables,Indexes", "To create new databases and tables", false;
    CreateRoutine = "Create routine", "Databases", "To use CREATE FUNCTION/PROCEDURE", false;
    CreateRole = "Create role", "Server Admin", "To create new roles", false;
    CreateTemporaryTables = "Create temporary tables", "Databases", "To use CREATE TEMPORARY TABLE", false;
    CreateView = "Create view", "Tables", "To create new views", false;
    CreateUser = "Create user", "Server Admin", "To create new users", false;
    Delete = "Delete", "Tables", "To delete existing rows", false;
    Drop = "Drop", "Databases,Tables", "To drop databases, tables, and views", false;
    DropRole = "Drop role", "Server Admin", "To drop roles", false;
    Event = "Event", "Server Admin", "To create, alter, drop and execute events", false;
    Execute = "Execute", "Functions,Procedures", "To execute stored routines", false;
    File = "File", "File access on server", "To read and write files on the server", false;
    GrantOption = "Grant option", "Databases,Tables,Functions,Procedures", "To give to other users those privileges you possess", false;
    Index = "Index", "Tables", "To create or drop indexes", false;
    Insert = "Insert", "Tables", "To insert data into tables", false;
    LockTables = "Lock tables", "Databases", "To use LOCK TABLES (together with SELECT privilege)", false;
    Process = "Process", "Server Admin", "To view the plain text of currently executing queries", false;
    Proxy = "Proxy", "Server Admin", "To make proxy user possible", false;
    References = "References", "Databases,Tables", "To have references on tables", false;
    Reload = "Reload", "Server Admin", "To reload or refresh tables, logs and privileges", false;
    ReplicationClient = "Replication client", "Server Admin", "To ask where the slave or master servers are", false;
    ReplicationSlave = "Replication slave", "Server Admin", "To read binary log events from the master", false;
    Select = "Select", "Tables", "To retrieve rows from table", false;
    ShowDatabases = "Show databases", "Server Admin", "To see all databases with SHOW DATABASES", false;
    ShowView = "Show view", "Tables", "To see views with SHOW CREATE VIEW", false;
    Shutdown = "Shutdown", "Server Admin", "To shut down the server", false;
    Super = "Super", "Server Admin", "To use KILL thread, SET GLOBAL, CHANGE MASTER, etc.", false;
    Trigger = "Trigger", "Tables", "To use triggers", false;
    CreateTablespace = "Create tablespace", "Server Admin", "To create/alter/drop tablespaces", false;
    Update = "Update", "Tables", "To update existing rows", false;
    Usage = "Usage", "Server Admin", "No privileges - allow connect only", false;
    ConnectionAdmin = "CONNECTION_ADMIN", "Server Admin", "", true;
    SystemVariablesAdmin = "SYSTEM_VARIABLES_ADMIN", "Server Admin", "", true;
    BackupAdmin = "BACKUP_ADMIN", "Server Admin", "", true;
    SystemUser = "SYSTEM_USER", "Server Admin", "", true;
    SessionVariablesAdmin = "SESSION_VARIABLES_ADMIN", "Server Admin", "", true;
    AllowNonexistentDefiner = "ALLOW_NONEXISTENT_DEFINER", "Server Admin", "", true;
    ApplicationPasswordAdmin = "APPLICATION_PASSWORD_ADMIN", "Server Admin", "", true;
    AuditAbortExempt = "AUDIT_ABORT_EXEMPT", "Server Admin", "", true;
    AuditAdmin = "AUDIT_ADMIN", "Server Admin", "", true;
    AuthenticationPolicyAdmin = "AUTHENTICATION_POLICY_ADMIN", "Server Admin", "", true;
    BinlogAdmin = "BINLOG_ADMIN", "Server Admin", "", true;
    BinlogEncryptionAdmin = "BINLOG_ENCRYPTION_ADMIN", "Server Admin", "", true;
    CloneAdmin = "CLONE_ADMIN", "Server Admin", "", true;
    EncryptionKeyAdmin = "ENCRYPTION_KEY_ADMIN", "Server Admin", "", true;
    FirewallExempt = "FIREWALL_EXEMPT", "Server Admin", "", true;
    FlushOptimizerCosts = "FLUSH_OPTIMIZER_COSTS", "Server Admin", "", true;
    FlushPrivileges = "FLUSH_PRIVILEGES", "Server Admin", "", true;
    FlushStatus = "FLUSH_STATUS", "Server Admin", "", true;
    FlushTables = "FLUSH_TABLES", "Server Admin", "", true;
    FlushUserResources = "FLUSH_USER_RESOURCES", "Server Admin", "", true;
    GroupReplicationAdmin = "GROUP_REPLICATION_ADMIN", "Server Admin", "", true;
    GroupReplicationStream = "GROUP_REPLICATION_STREAM", "Server Admin", "", true;
    InnodbRedoLogArchive = "INNODB_REDO_LOG_ARCHIVE", "Server Admin", "", true;
    InnodbRedoLogEnable = "INNODB_REDO_LOG_ENABLE", "Server Admin", "", true;
    OptimizeLocalTable = "OPTIMIZE_LOCAL_TABLE", "Server Admin", "", true;
    PasswordlessUserAdmin = "PASSWORDLESS_USER_ADMIN", "Server Admin", "", true;
    PersistRoVariablesAdmin = "PERSIST_RO_VARIABLES_ADMIN", "Server Admin", "", true;
    ReplicationApplier = "REPLICATION_APPLIER", "Server Admin", "", true;
    ReplicationSlaveAdmin = "REPLICATION_SLAVE_ADMIN", "Server Admin", "", true;
    ResourceGroupAdmin = "RESOURCE_GROUP_ADMIN", "Server Admin", "", true;
    ResourceGroupUser = "RESOURCE_GROUP_USER", "Server Admin", "", true;
    RoleAdmin = "ROLE_ADMIN", "Server Admin", "", true;
    SensitiveVariablesObserver = "SENSITIVE_VARIABLES_OBSERVER", "Server Admin", "", true;
    ServiceConnectionAdmin = "SERVICE_CONNECTION_ADMIN", "Server Admin", "", true;
    SetAnyDefiner = "SET_ANY_DEFINER", "Server Admin", "", true;
    ShowRoutine = "SHOW_ROUTINE", "Server Admin", "", true;
    TableEncryptionAdmin = "TABLE_ENCRYPTION_ADMIN", "Server Admin", "", true;
    TelemetryLogAdmin = "TELEMETRY_LOG_ADMIN", "Server Admin", "", true;
    XaRecoverAdmin = "XA_RECOVER_ADMIN", "Server Admin", "", true;
}

/// A set of global privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Privileges(u128);

impl Privileges {
    /// None: may connect.
    pub const NONE: Privileges = Privileges(0);

    /// All, GRANT OPTION included.
    pub fn all() -> Self {
        Self(
            PRIVILEGES
                .iter()
                .filter(|p| !matches!(p.0, Privilege::Usage | Privilege::Proxy))
                .fold(0, |a, p| a | 1 << p.0 as u8),
        )
    }

    /// All dynamic ones.
    pub fn all_dynamic() -> Self {
        PRIVILEGES.iter().filter(|p| p.4).fold(Self::NONE, |all, p| all.with(p.0.into()))
    }

    /// ALL PRIVILEGES, which leaves GRANT OPTION out.
    pub fn all_but_grant() -> Self {
        Self::all().without(Privilege::GrantOption.into())
    }

    /// From stored bits; bits of unknown privileges are dropped.
    pub fn from_bits(bits: u128) -> Self {
        Self(bits & Self::all().0)
    }

    /// To be stored.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// True when the privilege is in the set.
    #[inline]
    pub fn has(self, p: Privilege) -> bool {
        p == Privilege::Usage || self.0 >> p as u8 & 1 == 1
    }

    /// True when all of `other` are in the set.
    pub fn contains(self, other: Privileges) -> bool {
        other.0 & !self.0 == 0
    }

    /// Both.
    pub fn with(self, other: Privileges) -> Self {
        Self(self.0 | other.0)
    }

    /// Those not in `other`.
    pub fn without(self, other: Privileges) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those in both.
    pub const fn and(self, other: Privileges) -> Self {
        Self(self.0 & other.0)
    }

    /// True when they share one.
    pub const fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// These privileges.
    pub const fn of(list: &[Privilege]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < list.len() {
            bits |= 1 << list[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// The privileges of the set in GRANT's order, dynamic ones by name behind the static ones.
    pub fn list(self) -> Vec<Privilege> {
        let mut dynamic: Vec<_> = PRIVILEGES.iter().filter(|p| p.4).collect();
        dynamic.sort_by_key(|p| p.1);
        let all = GRANT_ORDER.iter().copied().chain(dynamic.into_iter().map(|p| p.0));
        all.filter(|p| self.has(*p)).collect()
    }

    /// Their names as error messages list them: `SELECT, INSERT`.
    pub fn words(self) -> String {
        let word =
            |p: Privilege| if p == Privilege::GrantOption { "GRANT".into() } else { name(p).to_ascii_uppercase() };
        self.list().into_iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// SET GLOBAL and its kin.
    pub fn may_administer_variables(self) -> bool {
        self.has(Privilege::Super) || self.has(Privilege::SystemVariablesAdmin)
    }

    /// SET of session variables that are restricted.
    pub fn may_set_restricted_variables(self) -> bool {
        self.may_administer_variables() || self.has(Privilege::SessionVariablesAdmin)
    }

    /// KILL of others, the extra connection.
    pub fn may_administer_connections(self) -> bool {
        self.has(Privilege::Super) || self.has(Privilege::ConnectionAdmin)
    }

    /// Error 1227 without the privilege.
    pub fn require(self, p: Privilege) -> Result<()> {
        if self.has(p) { Ok(()) } else { Err(sql_err!(SpecificAccessDenied, name(p).to_ascii_uppercase())) }
    }

    /// As GRANT and SHOW GRANTS print the static ones.
    pub fn static_names(self) -> Vec<String> {
        self.names(false)
    }

    /// As GRANT and SHOW GRANTS print the dynamic ones.
    pub fn dynamic_names(self) -> Vec<String> {
        self.names(true)
    }

    fn names(self, dynamic: bool) -> Vec<String> {
        let wanted = |p: &Privilege| *p != Privilege::GrantOption && is_dynamic(*p) == dynamic;
        self.list().into_iter().filter(wanted).map(|p| name(p).to_ascii_uppercase()).collect()
    }
}

impl From<Privilege> for Privileges {
    fn from(p: Privilege) -> Self {
        if p == Privilege::Usage { Self::NONE } else { Self(1 << p as u8) }
    }
}

/// Order of the columns of mysql.user, which SHOW GRANTS follows.
pub const GRANT_ORDER: [Privilege; 31] = [
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Create,
    Privilege::Drop,
    Privilege::Reload,
    Privilege::Shutdown,
    Privilege::Process,
    Privilege::File,
    Privilege::GrantOption,
    Privilege::References,
    Privilege::Index,
    Privilege::Alter,
    Privilege::ShowDatabases,
    Privilege::Super,
    Privilege::CreateTemporaryTables,
    Privilege::LockTables,
    Privilege::Execute,
    Privilege::ReplicationSlave,
    Privilege::ReplicationClient,
    Privilege::CreateView,
    Privilege::ShowView,
    Privilege::CreateRoutine,
    Privilege::AlterRoutine,
    Privilege::CreateUser,
    Privilege::Event,
    Privilege::Trigger,
    Privilege::CreateTablespace,
    Privilege::CreateRole,
    Privilege::DropRole,
];

/// Order of the columns of mysql.db.
pub const DB_ORDER: [Privilege; 19] = [
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Create,
    Privilege::Drop,
    Privilege::GrantOption,
    Privilege::References,
    Privilege::Index,
    Privilege::Alter,
    Privilege::CreateTemporaryTables,
    Privilege::LockTables,
    Privilege::CreateView,
    Privilege::ShowView,
    Privilege::CreateRoutine,
    Privilege::AlterRoutine,
    Privilege::Execute,
    Privilege::Event,
    Privilege::Trigger,
];

/// Privileges on schemas.
pub const SCHEMA_LEVEL: Privileges = Privileges::of(&[
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Create,
    Privilege::Drop,
    Privilege::GrantOption,
    Privilege::References,
    Privilege::Index,
    Privilege::Alter,
    Privilege::CreateTemporaryTables,
    Privilege::LockTables,
    Privilege::Execute,
    Privilege::CreateView,
    Privilege::ShowView,
    Privilege::CreateRoutine,
    Privilege::AlterRoutine,
    Privilege::Event,
    Privilege::Trigger,
]);

/// Privileges on tables.
pub const TABLE_LEVEL: Privileges = Privileges::of(&[
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Create,
    Privilege::Drop,
    Privilege::GrantOption,
    Privilege::References,
    Privilege::Index,
    Privilege::Alter,
    Privilege::CreateView,
    Privilege::ShowView,
    Privilege::Trigger,
]);

/// Privileges on columns.
pub const COLUMN_LEVEL: Privileges =
    Privileges::of(&[Privilege::Select, Privilege::Insert, Privilege::Update, Privilege::References]);

/// Privileges on routines.
pub const ROUTINE_LEVEL: Privileges =
    Privileges::of(&[Privilege::Execute, Privilege::AlterRoutine, Privilege::GrantOption]);

/// Granted by name, without a place in MySQL's tables.
pub fn is_dynamic(p: Privilege) -> bool {
    PRIVILEGES.iter().any(|x| x.0 == p && x.4)
}

/// Name of a privilege.
pub fn name(p: Privilege) -> &'static str {
    PRIVILEGES.iter().find(|x| x.0 == p).map_or("", |x| x.1)
}

/// A privilege by GRANT's words. An unknown one is error 1149.
pub fn by_name(words: &str) -> Result<Privilege> {
    let found = PRIVILEGES.iter().find(|p| p.1.eq_ignore_ascii_case(words) && p.0 != Privilege::Proxy);
    found.map(|p| p.0).ok_or_else(|| SqlError::new(gannet_types::ErrorCode::Syntax, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let all = Privileges::all();
        assert!(all.has(Privilege::Select) && all.has(Privilege::GrantOption));
        assert!(!Privileges::all_but_grant().has(Privilege::GrantOption));
        assert!(Privileges::NONE.has(Privilege::Usage) && !Privileges::NONE.has(Privilege::Select));
        assert_eq!(Privileges::from_bits(all.bits() | 1 << 127), all);
        assert_eq!(by_name("create temporary tables").unwrap(), Privilege::CreateTemporaryTables);
        assert_eq!(by_name("nonsense").unwrap_err().number(), 1149);
        assert_eq!(Privileges::NONE.require(Privilege::Shutdown).unwrap_err().number(), 1227);
    }
}
