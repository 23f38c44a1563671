//! What functions and the executor see of a session.

use super::UserVariables;
use super::running::Seen;
use super::user_locks::NamedLocks;
use gannet_core::Core;
use gannet_core::accounts::{Access, Account, Name, Usage};
use gannet_core::registry::Entry;
use gannet_core::vars::{Live, SessionVars};
use gannet_exec::spill::{Held, SessionSpace};
use gannet_functions::Generator;
use gannet_schema::CatalogSnapshot;
use gannet_types::{CollationId, Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// Identity and variables; separate from the transaction so that both can be borrowed at once.
///
/// In this order in memory, as [`Session`](super::Session) says: first what few statements need.
#[repr(C)]
pub struct State {
    /// Active roles.
    pub(crate) roles: Vec<Name>,
    /// What RAND() goes on with, if `rand_seed1` or `rand_seed2` was set.
    pub(crate) random: Option<Generator>,
    /// `USER()`.
    pub user: String,
    /// `CURRENT_USER()`.
    pub(crate) current_user: String,
    pub database: Option<Arc<str>>,
    pub(crate) user_vars: UserVariables,
    /// Memory of the user variables, and of parameters that were sent in pieces.
    pub held: Held,
    pub(crate) named_locks: NamedLocks,
    /// Sessions for the functions and triggers of its statements.
    #[expect(clippy::vec_box, reason = "they are large, and move in and out for each call")]
    pub(crate) inside: Vec<Box<super::Session>>,
    /// A function or trigger has set a variable: what follows from it is for the session around it to see to.
    pub(crate) changed_inside: bool,
    /// Routines that run, outermost first.
    pub(crate) calls: Vec<Arc<gannet_schema::Routine>>,
    /// Tables of the statements whose functions and triggers run, outermost first.
    pub(crate) using: Vec<Box<[gannet_schema::TableId]>>,
    /// The table that CREATE TABLE ... SELECT makes.
    pub(crate) creating: Option<Box<str>>,
    /// What account and roles allow.
    pub access: Access,
    // The second part.
    pub(crate) server: Arc<Core>,
    pub(crate) entry: Arc<Entry>,
    pub account: Arc<Account>,
    pub(crate) snapshot: Arc<CatalogSnapshot>,
    /// Use of limited resources, when the account has limits.
    pub usage: Option<Arc<Usage>>,
    /// Keeps plans of a session with temporary tables apart from all others; 0 without.
    pub(crate) plan_salt: u64,
    /// The default database's number, for the plan cache's keys. A number is never reused after a drop, so a stale
    /// one finds no plan.
    database_id: u32,
    /// The password has expired: it has to be changed before anything else.
    pub(crate) must_change_password: bool,
    pub(crate) vars: SessionVars,
    /// Of the statement that runs.
    pub running: Seen,
    /// `SET timestamp`, microseconds.
    pub(crate) fixed_time_us: Option<i64>,
    /// `sql_if_exists` of a MariaDB's log: what is to go or get another name need not be there.
    pub(crate) if_exists: bool,
    pub(crate) statement_id: u64,
    /// The collation by which `character_set_results` was chosen, where one was named.
    pub(crate) results: Option<CollationId>,
    /// `SET pseudo_thread_id`: what CONNECTION_ID() says.
    pub(crate) pseudo_thread_id: u64,
    /// Of the next transaction, once something was said of that.
    pub(crate) origin: Option<Arc<gannet_core::work::Origin>>,
    pub(crate) last_insert_id: u64,
    /// `SET insert_id`, for the next INSERT.
    pub(crate) next_insert_id: u64,
    /// Estimated cost of the last statement that was planned for tables (`Last_query_cost`).
    pub(crate) last_query_cost: f64,
    /// Stages of the last statements, while `profiling` is on.
    pub(crate) profiles: super::profiles::Profiles,
    pub(crate) known: super::known::Known,
}

impl State {
    /// Takes memory that outlives the statement: at most what a statement may hold, and all sessions together no more
    /// than all statements.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let limit = self.vars[Live::StatementMemory].as_u64();
        self.held.take(bytes, usize::try_from(limit.saturating_mul(2)).unwrap_or(usize::MAX))
    }

    pub fn new(server: Arc<Core>, entry: Arc<Entry>, account: Arc<Account>, vars: SessionVars, user: &str) -> Self {
        let host = entry.who().host;
        let host = match host.rsplit_once(':') {
            Some((h, port)) if port.bytes().all(|b| b.is_ascii_digit()) => h.trim_matches(['[', ']']).to_string(),
            _ => host,
        };
        let granted = server.accounts.roles_of(&account);
        let roles = if server.globals.get(Live::ActivateAllRolesOnLogin).as_bool() {
            granted
        } else {
            account.grants.default_roles.iter().filter(|r| granted.contains(r)).cloned().collect()
        };
        Self {
            user: format!("{user}@{host}"),
            current_user: account.name(),
            database: None,
            database_id: 0,
            access: Access::new(&server.accounts, &account, &roles),
            roles,
            must_change_password: account
                .must_change_password(server.globals.get(Live::DefaultPasswordLifetime).as_u64()),
            usage: None,
            inside: Vec::new(),
            changed_inside: false,
            calls: Vec::new(),
            using: Vec::new(),
            creating: None,
            snapshot: server.catalog.snapshot(),
            plan_salt: 0,
            vars,
            user_vars: UserVariables::new(),
            held: Held::new(Arc::new(SessionSpace::new(server.temp.clone(), entry.memory.clone()))),
            running: Seen::now(),
            fixed_time_us: None,
            if_exists: false,
            last_insert_id: 0,
            random: None,
            next_insert_id: 0,
            statement_id: 0,
            results: None,
            pseudo_thread_id: entry.id,
            origin: None,
            named_locks: NamedLocks::default(),
            last_query_cost: 0.0,
            profiles: super::profiles::Profiles::default(),
            known: super::known::Known::default(),
            account,
            entry,
            server,
        }
    }

    /// The global privileges in force.
    pub fn privileges(&self) -> gannet_core::accounts::Privileges {
        self.access.global
    }

    /// Recomputes the rights.
    pub fn renew_access(&mut self) {
        self.access = Access::new(&self.server.accounts, &self.account, &self.roles);
        let now = self.server.accounts.get(&self.account.user, &self.account.host);
        if let Some(now) = now.filter(|_| !self.account.is_unchecked()) {
            self.account = now;
        }
    }

    /// Roles that are no longer granted are no longer active.
    pub fn drop_lost_roles(&mut self) {
        let now = self.server.accounts.get(&self.account.user, &self.account.host);
        let granted = now.map_or(Vec::new(), |now| self.server.accounts.roles_of(&now));
        self.roles.retain(|r| granted.contains(r));
        self.renew_access();
    }

    /// Host of the client.
    pub fn host(&self) -> &str {
        self.user.rsplit_once('@').map_or("", |(_, h)| h)
    }

    /// Takes the newest dictionary: one load when nothing changed.
    #[inline(always)]
    pub fn renew_snapshot(&mut self) {
        if self.snapshot.version() != self.server.catalog.version() {
            let newest = self.server.catalog.snapshot();
            self.snapshot = match self.snapshot.temporaries().cloned() {
                None => newest,
                own => Arc::new(newest.with_temporaries(own)),
            };
        }
        if self.access.version != self.server.accounts.version() {
            self.renew_access();
            self.drop_lost_roles();
        }
    }

    /// Changes the default database.
    pub fn set_database(&mut self, database: Option<Arc<str>>) {
        self.database_id = self.snapshot.schema_id(database.as_deref()).0;
        self.database = database;
    }

    /// Number of the default database; 0 without one.
    pub fn database_id(&self) -> u32 {
        self.database_id
    }

    /// Start of the statement, microseconds since 1970.
    pub fn statement_time(&self) -> i64 {
        self.fixed_time_us.unwrap_or(self.running.clock.unix_us as i64)
    }

    /// The default database, or error 1046.
    pub fn require_database(&self) -> Result<&Arc<str>> {
        self.database.as_ref().ok_or_else(|| sql_err!(NoDb))
    }

    /// The session gives up its place among the account's connections.
    pub fn leave_account(&mut self) {
        if let Some(usage) = self.usage.take() {
            usage.disconnect();
        }
    }

    /// All of GET_LOCK.
    pub(crate) fn release_user_locks(&mut self) {
        self.named_locks.release_all(&self.server, self.entry.id);
    }
}

/// Text of the server's own: utf8mb4 in its default collation, or utf8mb3 where MySQL's dictionary has it.
pub fn text(s: &str) -> Value {
    Value::Str(s.into(), CollationId::UTF8MB3_GENERAL_CI)
}

/// The value of a system variable as SQL sees it.
pub fn to_sql(value: &gannet_core::vars::VarValue) -> Value {
    use gannet_core::vars::VarValue;
    match value {
        VarValue::Null => Value::Null,
        VarValue::Int(n) => Value::Int(*n),
        VarValue::UInt(n) => Value::UInt(*n),
        VarValue::Double(d) => Value::Double(*d),
        VarValue::Text(s) => Value::Str(s.as_bytes().into(), CollationId::UTF8MB3_GENERAL_CI),
    }
}

/// Error 1235 with a name.
pub fn unsupported<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(SqlError::unsupported(what))
}
