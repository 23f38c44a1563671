//! Accounts and administration: CREATE USER and its kin, GRANT, KILL, FLUSH, SHUTDOWN.

use super::Session;
use super::command::Done;
use super::login::nonce;
use crate::accounts::{self, Account, Privilege, Privileges};
use gannet_parser::ast::{self, AuthSecret, FlushTarget, GrantItems, GrantLevel, GrantObject, UserOption};
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use gannet_wire::auth::{Plugin, Secret};
use std::sync::Arc;

/// `'user'@'host'` as error messages quote it.
fn quoted(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

impl Session {
    fn account_name(&self, account: &ast::Account) -> (String, String) {
        match account {
            ast::Account::Name { user, host, .. } => (user.to_string(), host.to_ascii_lowercase()),
            ast::Account::CurrentUser => (self.state.account.user.clone(), self.state.account.host.clone()),
        }
    }

    fn is_self(&self, user: &str, host: &str) -> bool {
        self.state.account.user == user && self.state.account.host == host
    }

    /// CREATE USER, ALTER USER.
    pub(crate) fn user_statement(&mut self, s: &ast::UserStatement) -> Result<Done> {
        count(if s.alter { Counter::ComAlterUser } else { Counter::ComCreateUser });
        let mut own_password_only = s.alter && s.options.is_empty();
        for u in &s.users {
            let (user, host) = self.account_name(&u.account);
            own_password_only &= self.is_self(&user, &host);
        }
        if !own_password_only {
            self.state.account.privileges.require(Privilege::CreateUser)?;
        }
        self.refuse_beyond(s)?;
        let mut put = Vec::new();
        let mut failed = Vec::new();
        for spec in &s.users {
            let (user, host) = self.account_name(&spec.account);
            let old = self.server.accounts.get(&user, &host);
            match (s.alter, old) {
                (true, None) | (false, Some(_)) => failed.push((user, host)),
                (true, Some(old)) => {
                    let secret = self.new_secret(&spec.auth, old.secret.plugin())?;
                    put.push(Arc::new(old.changed(|a| {
                        if let Some(secret) = secret {
                            a.secret = secret;
                        }
                        apply_options(a, &s.options);
                    })));
                }
                (false, None) => {
                    let secret = self.new_secret(&spec.auth, Plugin::Sha2)?.unwrap_or(Secret::Empty(Plugin::Sha2));
                    let mut a = Account::new(&user, &host, secret, Privileges::NONE);
                    apply_options(&mut a, &s.options);
                    put.push(Arc::new(a));
                }
            }
        }
        if !failed.is_empty() && !s.existence.if_exists {
            let list: Vec<String> = failed.iter().map(|(u, h)| quoted(u, h)).collect();
            return Err(sql_err!(CannotUser, if s.alter { "ALTER USER" } else { "CREATE USER" }, list.join(",")));
        }
        for (user, host) in failed {
            let code = if s.alter { ErrorCode::UserDoesNotExist } else { ErrorCode::UserAlreadyExists };
            self.note(&SqlError::new(code, &[&quoted(&user, &host)]));
        }
        self.store_accounts(put, &[])
    }

    /// What of CREATE USER is not there yet.
    fn refuse_beyond(&self, s: &ast::UserStatement) -> Result<()> {
        let refuse = |what: &str| Err(SqlError::unsupported(what));
        if s.existence.or_replace {
            return refuse("CREATE OR REPLACE USER");
        }
        if s.default_role.is_some() {
            return refuse("DEFAULT ROLE");
        }
        if !matches!(s.require, None | Some(ast::Require::None)) {
            return refuse("REQUIRE of TLS properties");
        }
        if !s.resources.is_empty() {
            return refuse("resource limits");
        }
        if s.comment.is_some() {
            return refuse("COMMENT and ATTRIBUTE of accounts");
        }
        for option in &s.options {
            match option {
                UserOption::AccountLock
                | UserOption::AccountUnlock
                | UserOption::PasswordExpireDefault
                | UserOption::PasswordExpireNever
                | UserOption::PasswordHistory(None)
                | UserOption::PasswordReuseInterval(None)
                | UserOption::PasswordRequireCurrent(None) => {}
                _ => return refuse("password expiry, history and lock options"),
            }
        }
        for u in &s.users {
            if !u.factors.is_empty() || u.auth.len() > 1 {
                return refuse("multi-factor authentication");
            }
            if u.retain_current || u.discard_old_password {
                return refuse("dual passwords");
            }
        }
        Ok(())
    }

    /// The secret that an IDENTIFIED clause gives; `None` without one.
    fn new_secret(&self, auth: &[ast::Authentication], current: Plugin) -> Result<Option<Secret>> {
        let Some(auth) = auth.first() else { return Ok(None) };
        let plugin = match &auth.plugin {
            Some(name) => Plugin::by_name(name.as_bytes()).ok_or_else(|| sql_err!(PluginIsNotLoaded, name))?,
            None => current,
        };
        if auth.initial.is_some() {
            return Err(SqlError::unsupported("INITIAL AUTHENTICATION"));
        }
        match &auth.secret {
            AuthSecret::None => Ok(Some(Secret::Empty(plugin))),
            AuthSecret::Random => Err(SqlError::unsupported("RANDOM PASSWORD")),
            AuthSecret::Password(p) => Ok(Some(make_secret(plugin, p))),
            AuthSecret::Hash(h) => {
                // MariaDB's IDENTIFIED BY PASSWORD is always a native hash.
                let plugin = if auth.plugin.is_none() && h.starts_with(b"*") { Plugin::Native } else { plugin };
                let secret = Secret::from_authentication_string(plugin, h);
                secret.map(Some).ok_or_else(|| sql_err!(PasswordFormat))
            }
        }
    }

    /// DROP USER.
    pub(crate) fn drop_users(&mut self, if_exists: bool, users: &[ast::Account]) -> Result<Done> {
        count(Counter::ComDropUser);
        self.state.account.privileges.require(Privilege::CreateUser)?;
        let mut remove = Vec::new();
        let mut missing = Vec::new();
        for account in users {
            let (user, host) = self.account_name(account);
            match self.server.accounts.get(&user, &host) {
                Some(_) => remove.push((user, host)),
                None => missing.push(quoted(&user, &host)),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(sql_err!(CannotUser, "DROP USER", missing.join(",")));
        }
        for name in missing {
            self.note(&sql_err!(UserDoesNotExist, name));
        }
        self.store_accounts(Vec::new(), &remove)
    }

    /// RENAME USER.
    pub(crate) fn rename_users(&mut self, pairs: &[(ast::Account, ast::Account)]) -> Result<Done> {
        count(Counter::ComRenameUser);
        self.state.account.privileges.require(Privilege::CreateUser)?;
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        for (from, to) in pairs {
            let ((user, host), (new_user, new_host)) = (self.account_name(from), self.account_name(to));
            let old = self.server.accounts.get(&user, &host);
            let taken = self.server.accounts.get(&new_user, &new_host).is_some();
            let Some(old) = old.filter(|_| !taken) else {
                return Err(sql_err!(CannotUser, "RENAME USER", quoted(&user, &host)));
            };
            put.push(Arc::new(old.changed(|a| {
                a.user = new_user;
                a.host = new_host;
            })));
            remove.push((user, host));
        }
        self.store_accounts(put, &remove)
    }

    /// SET PASSWORD.
    pub(crate) fn set_password(&mut self, s: &ast::SetPassword) -> Result<Done> {
        let (user, host) = self.account_name(s.user.as_ref().unwrap_or(&ast::Account::CurrentUser));
        if !self.is_self(&user, &host) {
            self.state.account.privileges.require(Privilege::CreateUser)?;
        }
        if s.retain_current {
            return Err(SqlError::unsupported("dual passwords"));
        }
        let password = s.password.as_deref().ok_or_else(|| SqlError::unsupported("SET PASSWORD TO RANDOM"))?;
        let old = self.server.accounts.get(&user, &host).ok_or_else(|| sql_err!(PasswordNoMatch))?;
        let plugin = old.secret.plugin();
        let secret = match &s.function {
            Some(f) if !f.eq_ignore_ascii_case("PASSWORD") => return Err(SqlError::unsupported(f)),
            _ => make_secret(plugin, password),
        };
        self.store_accounts(vec![Arc::new(old.changed(|a| a.secret = secret))], &[])
    }

    fn store_accounts(&mut self, put: Vec<Arc<Account>>, remove: &[(String, String)]) -> Result<Done> {
        self.commit_implicitly()?;
        self.require_writable()?;
        if self.server.listens_beyond_loopback()
            && let Some(open) = put.iter().find(|a| a.is_open())
        {
            let name = quoted(&open.user, &open.host);
            return Err(SqlError::with_message(
                ErrorCode::NotValidPassword,
                format!("{name} needs a password: the server listens beyond loopback"),
            ));
        }
        self.server.accounts.store(&self.server.catalog, put, remove)?;
        Ok(Done::default())
    }

    /// GRANT: global privileges.
    pub(crate) fn grant(&mut self, s: &ast::Grant) -> Result<Done> {
        count(Counter::ComGrant);
        if s.as_user.is_some() || s.require.is_some() || !s.resources.is_empty() {
            return Err(SqlError::unsupported("GRANT with AS, REQUIRE or resource limits"));
        }
        let given = self.global_privileges(&s.items, "GRANT")?;
        let given = if s.with_option { given.with(Privilege::GrantOption.into()) } else { given };
        self.require_grantable(given)?;
        let mut put = Vec::new();
        for spec in &s.to {
            if !spec.auth.is_empty() {
                return Err(sql_err!(CantCreateUserWithGrant));
            }
            let (user, host) = self.account_name(&spec.account);
            let old = self.server.accounts.get(&user, &host).ok_or_else(|| sql_err!(CantCreateUserWithGrant))?;
            put.push(Arc::new(old.changed(|a| a.privileges = a.privileges.with(given))));
        }
        self.store_accounts(put, &[])
    }

    /// REVOKE.
    pub(crate) fn revoke(&mut self, s: &ast::Revoke) -> Result<Done> {
        count(Counter::ComRevoke);
        let taken = match &s.items {
            GrantItems::AllAndGrantOption => Privileges::all(),
            items => self.global_privileges(items, "REVOKE")?,
        };
        self.require_grantable(taken)?;
        let mut put = Vec::new();
        for account in &s.from {
            let (user, host) = self.account_name(account);
            match self.server.accounts.get(&user, &host) {
                Some(old) => put.push(Arc::new(old.changed(|a| a.privileges = a.privileges.without(taken)))),
                None if s.ignore_unknown_user => self.note(&sql_err!(UserDoesNotExist, quoted(&user, &host))),
                None => return Err(sql_err!(NonexistingGrant, user, host)),
            }
        }
        self.store_accounts(put, &[])
    }

    fn require_grantable(&self, wanted: Privileges) -> Result<()> {
        let own = self.state.account.privileges;
        if own.has(Privilege::GrantOption) && own.contains(wanted) {
            return Ok(());
        }
        Err(sql_err!(AccessDenied, self.state.account.user, self.state.account.host, "YES"))
    }

    fn global_privileges(&self, items: &GrantItems, verb: &str) -> Result<Privileges> {
        let GrantItems::Privileges { privileges, object, level } = items else {
            return Err(SqlError::unsupported(format_args!("{verb} of roles and proxies")));
        };
        if *level != GrantLevel::Global || !matches!(object, GrantObject::Unspecified) {
            return Err(SqlError::unsupported(format_args!("{verb} on anything but *.*")));
        }
        let mut all = Privileges::NONE;
        for p in privileges {
            if !p.columns.is_empty() {
                return Err(SqlError::unsupported("column privileges"));
            }
            all = all.with(accounts::by_name(&p.name)?);
        }
        Ok(all)
    }

    /// KILL.
    pub(crate) fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        count(Counter::ComKill);
        let entry = self.server.registry.get(id).ok_or_else(|| sql_err!(NoSuchThread, id))?;
        let user = self.state.user.rsplit_once('@').map_or("", |(u, _)| u);
        if entry.who().user != user && !self.state.account.privileges.may_administer_connections() {
            return Err(sql_err!(KillDenied, id));
        }
        self.server.registry.kill(id, query_only);
        if id == self.entry.id {
            // Killing oneself: MySQL answers with 1317.
            return Err(sql_err!(QueryInterrupted));
        }
        Ok(())
    }

    /// SHUTDOWN, COM_SHUTDOWN.
    pub(crate) fn shutdown_server(&mut self) -> Result<Done> {
        count(Counter::ComShutdown);
        self.state.account.privileges.require(Privilege::Shutdown)?;
        self.server.log.note(format_args!("shutdown asked for by {}", self.state.user));
        self.server.request_stop();
        Ok(Done::default())
    }

    /// FLUSH.
    pub(crate) fn flush(&mut self, s: &ast::Flush) -> Result<Done> {
        count(Counter::ComFlush);
        self.state.account.privileges.require(Privilege::Reload)?;
        for target in &s.targets {
            match target {
                // Nothing is cached that could be stale, and no file is kept open for these.
                FlushTarget::Privileges
                | FlushTarget::Hosts
                | FlushTarget::OptimizerCosts
                | FlushTarget::UserResources
                | FlushTarget::EngineLogs
                | FlushTarget::ErrorLogs
                | FlushTarget::GeneralLogs
                | FlushTarget::SlowLogs
                | FlushTarget::Logs => self.commit_implicitly()?,
                FlushTarget::Status => {
                    self.server.flush_status();
                    self.state.counters.reset();
                }
                FlushTarget::Tables { with_read_lock: false, for_export: false, .. } => self.commit_implicitly()?,
                FlushTarget::Tables { .. } => return Err(SqlError::unsupported("FLUSH TABLES WITH READ LOCK")),
                FlushTarget::BinaryLogs | FlushTarget::RelayLogs(_) => {
                    return Err(SqlError::unsupported("FLUSH of binary and relay logs"));
                }
                FlushTarget::Other(words) => {
                    let words: Vec<&str> = words.iter().map(|w| &*w.text).collect();
                    return Err(SqlError::unsupported(format_args!("FLUSH {}", words.join(" "))));
                }
            }
        }
        Ok(Done::default())
    }
}

fn apply_options(a: &mut Account, options: &[UserOption]) {
    for option in options {
        match option {
            UserOption::AccountLock => a.locked = true,
            UserOption::AccountUnlock => a.locked = false,
            _ => {}
        }
    }
}

/// Hashing takes milliseconds on purpose: not on the worker itself.
fn make_secret(plugin: Plugin, password: &[u8]) -> Secret {
    let salt = nonce();
    gannet_runtime::run_blocking(|| Secret::from_password(plugin, password, salt))
}

/// SHOW GRANTS: its lines for an account.
pub(crate) fn grants(account: &Account) -> Vec<String> {
    let name = format!("`{}`@`{}`", account.user, account.host);
    let option = if account.privileges.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    let names = account.privileges.static_names();
    let list = if names.is_empty() { "USAGE".to_string() } else { names.join(", ") };
    let mut lines = vec![format!("GRANT {list} ON *.* TO {name}{option}")];
    let dynamic = account.privileges.dynamic_names();
    if !dynamic.is_empty() {
        lines.push(format!("GRANT {} ON *.* TO {name}{option}", dynamic.join(",")));
    }
    lines
}

/// SHOW CREATE USER.
pub(crate) fn show_create_user(a: &Account) -> String {
    let auth = a.secret.to_authentication_string();
    let hash = if auth.is_empty() {
        String::new()
    } else {
        format!(" AS '{}'", String::from_utf8_lossy(&auth).replace('\\', "\\\\").replace('\'', "''"))
    };
    let lock = if a.locked { "LOCK" } else { "UNLOCK" };
    format!(
        "CREATE USER `{}`@`{}` IDENTIFIED WITH '{}'{hash} REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT {lock} \
         PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        a.user,
        a.host,
        a.secret.plugin().name()
    )
}
