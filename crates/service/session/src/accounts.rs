//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, roles.

use super::reply::Done;
use super::reply::Reply;
use super::reply::{RowsSink, plain_column};
use super::state::text;
use super::{Session, components};
use gannet_catalog::Words;
use gannet_core::accounts::nonce;
use gannet_core::accounts::{Account, Grants, Name, Policy, Previous, Privilege, Privileges, Require, RoleGrant};
use gannet_core::accounts::{Plugin, Secret};
use gannet_core::vars::Live;
use gannet_parser::ast::{self, AuthSecret, RoleSelection, UserOption};
use gannet_telemetry::{Counter, count};
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, Value, sql_err};
use std::sync::Arc;

/// What an IDENTIFIED clause contains.
struct NewSecret {
    secret: Secret,
    /// The password in clear, when it was given so: for the history.
    clear: Option<Vec<u8>>,
    /// It was made here and has to be shown.
    random: bool,
}

impl Session {
    pub(crate) fn account_name(&self, account: &ast::Account) -> Name {
        match account {
            ast::Account::Name { user, host, .. } => Name::new(user, host),
            ast::Account::CurrentUser => self.state.account.id(),
        }
    }
}

fn require_one_of(session: &Session, list: &[Privilege]) -> Result<()> {
    let p = session.state.privileges();
    if list.iter().any(|x| p.has(*x)) {
        return Ok(());
    }
    let names: Vec<String> =
        list.iter().map(|p| gannet_core::accounts::privilege_name(*p).to_ascii_uppercase()).collect();
    Err(sql_err!(SpecificAccessDenied, names.join(" or ")))
}

/// Accounts with SYSTEM_USER are changed by accounts with SYSTEM_USER.
fn guard_system_user(session: &Session, target: &Account) -> Result<()> {
    let guarded = target.grants.global.has(Privilege::SystemUser) && !session.state.account.is(&target.id());
    if guarded { session.state.privileges().require(Privilege::SystemUser) } else { Ok(()) }
}

/// CREATE USER, ALTER USER.
pub(crate) fn user_statement(session: &mut Session, s: &ast::UserStatement, reply: &mut dyn Reply) -> Result<Done> {
    count(if s.alter { Counter::ComAlterUser } else { Counter::ComCreateUser });
    let mut own_password_only =
        s.alter && s.options.is_empty() && s.require.is_none() && s.resources.is_empty() && s.comment.is_none();
    for u in &s.users {
        own_password_only &= session.state.account.is(&session.account_name(&u.account));
    }
    if !own_password_only {
        session.state.privileges().require(Privilege::CreateUser)?;
    }
    refuse_beyond(s)?;
    let roles = match &s.default_role {
        None | Some(RoleSelection::None) => Vec::new(),
        Some(RoleSelection::Roles(list)) => list.iter().map(|r| session.account_name(r)).collect(),
        Some(_) if !s.alter => return Err(sql_err!(Syntax)),
        Some(_) => Vec::new(),
    };
    let (mut put, mut failed, mut shown) = (Vec::<Arc<Account>>::new(), Vec::new(), Vec::new());
    for spec in &s.users {
        let name = session.account_name(&spec.account);
        let twice = put.iter().any(|a| a.is(&name));
        let old = session.server.accounts.get(&name.user, &name.host).filter(|_| !twice);
        if old.is_some() != s.alter || twice {
            failed.push(name);
            continue;
        }
        super::definers::check_user(session, s.alter, &name)?;
        let fresh = || Account::new(&name.user, &name.host, Secret::Empty(Plugin::Sha2), Privileges::NONE);
        let base = match &old {
            Some(old) => {
                guard_system_user(session, old)?;
                (**old).clone()
            }
            None => fresh(),
        };
        let given = new_secret(session, &spec.auth, base.secret.plugin())?;
        match given.as_ref().map(|g| (&g.clear, g.random, &g.secret)) {
            Some((Some(clear), false, _)) => components::check_password(session, clear)?,
            Some((None, _, Secret::Empty(_))) => components::check_password(session, b"")?,
            None if !s.alter => components::check_password(session, b"")?,
            _ => {}
        }
        let mut base = base;
        apply_options(&mut base.policy, s)?;
        if given.is_some() && s.alter {
            check_current(session, &base, spec.replace.as_deref())?;
        }
        let mut next = match given {
            Some(new) => {
                if new.random {
                    let clear = String::from_utf8_lossy(new.clear.as_deref().unwrap_or_default()).into_owned();
                    shown.push(vec![text(&name.user), text(&name.host), text(&clear), Value::UInt(1)]);
                }
                let mut next = with_password(session, &base, new)?;
                if spec.retain_current {
                    retain(session, &base, &mut next)?;
                }
                next
            }
            None => base,
        };
        if spec.discard_old_password {
            require_second_password(session, &next)?;
            next.second = None;
        }
        for option in &s.options {
            match option {
                UserOption::PasswordExpire => next.policy.expired = true,
                UserOption::AccountLock => next.locked = true,
                UserOption::AccountUnlock => {
                    next.locked = false;
                    session.server.accounts.limits.forgive(&name);
                }
                UserOption::FailedLoginAttempts(_) | UserOption::PasswordLockTime(_) => {
                    session.server.accounts.limits.forgive(&name);
                }
                _ => {}
            }
        }
        match (&s.default_role, s.alter) {
            (None, _) => {}
            (Some(_), false) => {
                for role in &roles {
                    require_role(session, role)?;
                    require_role_admin(session, role)?;
                }
                next.grants.roles = roles.iter().map(|r| RoleGrant { role: r.clone(), admin: false }).collect();
                next.grants.default_roles = roles.clone();
            }
            (Some(selection), true) => next.grants.default_roles = default_roles(session, &next, selection)?,
        }
        put.push(Arc::new(next));
    }
    if !failed.is_empty() && !s.existence.if_exists {
        return Err(user_failed(s, &failed));
    }
    for name in failed {
        let code = if s.alter { ErrorCode::UserDoesNotExist } else { ErrorCode::UserAlreadyExists };
        session.note(&SqlError::new(code, &[&name.quoted()]));
    }
    let done = store_users(session, s, put)?;
    if own_password_only {
        session.state.must_change_password = false;
    }
    if shown.is_empty() {
        return Ok(done);
    }
    send_generated(session, shown, reply)
}

/// Shows the passwords that the server has made.
fn send_generated(session: &mut Session, rows: Vec<Vec<Value>>, reply: &mut dyn Reply) -> Result<Done> {
    let column = |n: &str, len: u32| plain_column(n, SqlType::varchar(len, CollationId::UTF8MB3_GENERAL_CI));
    let columns = vec![
        column("user", 32),
        column("host", 255),
        column("generated password", 255),
        plain_column("auth_factor", SqlType::bigint_unsigned()),
    ];
    session.send_table(&RowsSink { columns, rows }, reply)
}

/// Checks that the account may keep or discard a second password of `target`.
fn require_second_password(session: &Session, target: &Account) -> Result<()> {
    if session.state.account.is(&target.id()) {
        require_one_of(session, &[Privilege::CreateUser, Privilege::ApplicationPasswordAdmin])
    } else {
        session.state.privileges().require(Privilege::CreateUser)
    }
}

/// RETAIN CURRENT PASSWORD. Errors 3878, 3894, 3895.
fn retain(session: &Session, old: &Account, next: &mut Account) -> Result<()> {
    require_second_password(session, old)?;
    if matches!(old.secret, Secret::Empty(_)) {
        return Err(sql_err!(SecondPasswordCannotBeEmpty, old.user, old.host));
    }
    if old.secret.plugin() != next.secret.plugin() {
        return Err(sql_err!(PasswordCannotBeRetainedOnPluginChange, old.user, old.host));
    }
    if matches!(next.secret, Secret::Empty(_)) {
        return Err(sql_err!(CurrentPasswordCannotBeRetained, old.user, old.host));
    }
    next.second = Some(old.secret.clone());
    Ok(())
}

/// REPLACE: the current password, where it has to be given.
fn check_current(session: &Session, target: &Account, given: Option<&[u8]>) -> Result<()> {
    let own = session.state.account.is(&target.id());
    match given {
        Some(_) if !own => Err(sql_err!(CurrentPasswordNotRequired)),
        Some(given) if !gannet_runtime::run_blocking(|| target.secret.verify(given)) => {
            Err(sql_err!(IncorrectCurrentPassword))
        }
        Some(_) => Ok(()),
        None => {
            let wanted = target.policy.require_current;
            let wanted = wanted.unwrap_or_else(|| session.server.globals.get(Live::PasswordRequireCurrent).as_bool());
            let free = !own || session.state.privileges().has(Privilege::CreateUser);
            if wanted && !free && !matches!(target.secret, Secret::Empty(_)) {
                return Err(sql_err!(MissingCurrentPassword));
            }
            Ok(())
        }
    }
}

/// The account with a new password, which its history must allow.
fn with_password(session: &Session, old: &Account, new: NewSecret) -> Result<Account> {
    let globals = &session.server.globals;
    let history = old.policy.history.map_or(globals.get(Live::PasswordHistory).as_u64(), u64::from) as usize;
    let days = old.policy.reuse_days.map_or(globals.get(Live::PasswordReuseInterval).as_u64(), u64::from);
    let now = gannet_runtime::WallTime::now().seconds();
    let kept = |i: usize, p: &Previous| i < history || now.saturating_sub(p.at) < days * 86_400;
    let clear = new.clear.as_deref().filter(|c| !c.is_empty());
    if let Some(clear) = clear {
        let again = |p: &Previous| {
            let secret = Secret::from_authentication_string(p.plugin, &p.auth);
            secret.is_some_and(|s| s.verify(clear))
        };
        let refused = gannet_runtime::run_blocking(|| {
            old.policy.previous.iter().enumerate().any(|(i, p)| kept(i, p) && again(p))
        });
        if refused {
            return Err(sql_err!(CredentialsContradictToHistory, old.name()));
        }
    }
    let mut next = old.changed(|a| a.secret = new.secret.clone());
    if next.secret.plugin() != old.secret.plugin() || matches!(next.secret, Secret::Empty(_)) {
        next.second = None;
    }
    next.password_changed = now;
    next.policy.expired = false;
    if clear.is_some() {
        let auth = next.secret.to_authentication_string();
        next.policy.previous.insert(0, Previous { at: now, plugin: next.secret.plugin(), auth });
    }
    let mut i = 0;
    next.policy.previous.retain(|p| {
        i += 1;
        kept(i - 1, p)
    });
    Ok(next)
}

/// The secret that an IDENTIFIED clause contains; `None` without one.
fn new_secret(session: &mut Session, auth: &[ast::Authentication], current: Plugin) -> Result<Option<NewSecret>> {
    let Some(auth) = auth.first() else { return Ok(None) };
    let plugin = match &auth.plugin {
        Some(name) => Plugin::by_name(name.as_bytes()).ok_or_else(|| sql_err!(PluginIsNotLoaded, name))?,
        None => current,
    };
    if plugin == Plugin::Sha256 && auth.plugin.is_some() {
        session
            .running
            .diagnostics
            .warnings
            .warn(ErrorCode::WarnDeprecatedSyntax, &[&"sha256_password", &"caching_sha2_password"]);
    }
    if auth.initial.is_some() {
        return Err(SqlError::unsupported("INITIAL AUTHENTICATION"));
    }
    let of = |secret, clear, random| Ok(Some(NewSecret { secret, clear, random }));
    match &auth.secret {
        AuthSecret::None => of(Secret::Empty(plugin), None, false),
        AuthSecret::Random => {
            let clear = random_password(session.state.vars[Live::GeneratedRandomPasswordLength].as_u64());
            of(make_secret(plugin, &clear), Some(clear), true)
        }
        AuthSecret::Password(p) => of(make_secret(plugin, p), Some(p.to_vec()), false),
        AuthSecret::Hash(h) => {
            // MariaDB's IDENTIFIED BY PASSWORD is always a native hash.
            let plugin = if auth.plugin.is_none() && h.starts_with(b"*") { Plugin::Native } else { plugin };
            let secret = Secret::from_authentication_string(plugin, h);
            of(secret.ok_or_else(|| sql_err!(PasswordFormat))?, None, false)
        }
    }
}

/// DROP USER and DROP ROLE.
pub(crate) fn drop_users(session: &mut Session, if_exists: bool, users: &[ast::Account], roles: bool) -> Result<Done> {
    count(Counter::ComDropUser);
    if roles {
        require_one_of(session, &[Privilege::DropRole, Privilege::CreateUser])?
    } else {
        session.state.privileges().require(Privilege::CreateUser)?
    }
    let (mut remove, mut missing) = (Vec::new(), Vec::new());
    for account in users {
        let name = session.account_name(account);
        match session.server.accounts.get(&name.user, &name.host) {
            Some(_) if remove.contains(&name) => missing.push(name),
            Some(a) => {
                guard_system_user(session, &a)?;
                if roles && !a.locked {
                    // It could be logged in with: a user, not just a role.
                    session.state.privileges().require(Privilege::CreateUser)?;
                }
                if session.server.accounts.is_mandatory(&name) {
                    return Err(sql_err!(MandatoryRole, name.ticked()));
                }
                super::definers::check(session, if roles { "DROP ROLE" } else { "DROP USER" }, &name)?;
                remove.push(name);
            }
            None => missing.push(name),
        }
    }
    if !missing.is_empty() && !if_exists {
        let list: Vec<String> = missing.iter().map(Name::quoted).collect();
        let verb = if roles { "DROP ROLE" } else { "DROP USER" };
        return Err(sql_err!(CannotUser, verb, list.join(",")));
    }
    for name in missing {
        session.note(&sql_err!(UserDoesNotExist, name.quoted()));
    }
    let put = rewrite_roles(session, |role| (!remove.contains(role)).then(|| role.clone()), &remove);
    store_accounts(session, put, &remove)
}

/// The accounts whose roles change when names do. `None`: the role is gone.
fn rewrite_roles(session: &Session, map: impl Fn(&Name) -> Option<Name>, except: &[Name]) -> Vec<Arc<Account>> {
    let mut changed = Vec::new();
    for a in session.server.accounts.list().iter().filter(|a| !except.contains(&a.id())) {
        let mut next = (**a).clone();
        next.grants.roles =
            (a.grants.roles.iter()).filter_map(|r| Some(RoleGrant { role: map(&r.role)?, admin: r.admin })).collect();
        next.grants.default_roles = a.grants.default_roles.iter().filter_map(&map).collect();
        if next.grants != a.grants {
            changed.push(Arc::new(next));
        }
    }
    changed
}

/// Accounts that are not there for ALTER USER, or are there for CREATE USER.
fn user_failed(s: &ast::UserStatement, failed: &[Name]) -> SqlError {
    if let (true, Some(_), Some(first)) = (s.alter, &s.default_role, failed.first()) {
        return sql_err!(UnknownAuthid, first.user, first.host);
    }
    let list: Vec<String> = failed.iter().map(Name::quoted).collect();
    sql_err!(CannotUser, if s.alter { "ALTER USER" } else { "CREATE USER" }, list.join(","))
}

/// RENAME USER.
pub(crate) fn rename_users(session: &mut Session, pairs: &[(ast::Account, ast::Account)]) -> Result<Done> {
    count(Counter::ComRenameUser);
    session.state.privileges().require(Privilege::CreateUser)?;
    let (mut renamed, mut failed) = (Vec::<(Name, Name)>::new(), Vec::new());
    let mut put: Vec<Arc<Account>> = Vec::new();
    for (from, to) in pairs {
        let (from, to) = (session.account_name(from), session.account_name(to));
        // A list may pass names on: a name that an earlier pair made exists for a later one.
        let pending = put.iter().position(|a| a.is(&from));
        let gone = |n: &Name| renamed.iter().any(|(f, _)| f == n);
        let old = match pending {
            Some(at) => Some(put.remove(at)),
            None => session.server.accounts.get(&from.user, &from.host).filter(|_| !gone(&from)),
        };
        let taken =
            put.iter().any(|a| a.is(&to)) || session.server.accounts.get(&to.user, &to.host).is_some() && !gone(&to);
        let Some(old) = old.filter(|_| !taken) else {
            failed.push(from);
            continue;
        };
        guard_system_user(session, &old)?;
        if session.server.accounts.is_mandatory(&from) {
            return Err(sql_err!(MandatoryRole, from.ticked()));
        }
        let granted = |a: &Arc<Account>| a.grants.roles.iter().any(|r| r.role == from);
        if session.server.accounts.list().iter().any(granted) {
            return Err(sql_err!(RenameRole));
        }
        super::definers::check(session, "RENAME USER", &from)?;
        super::definers::check(session, "RENAME USER", &to)?;
        put.push(Arc::new(old.changed(|a| {
            a.user.clone_from(&to.user);
            a.host.clone_from(&to.host);
        })));
        renamed.push((from, to));
    }
    if !failed.is_empty() {
        let list: Vec<String> = failed.iter().map(Name::quoted).collect();
        return Err(sql_err!(CannotUser, "RENAME USER", list.join(",")));
    }
    let remove: Vec<Name> = renamed.iter().map(|(f, _)| f.clone()).filter(|f| !put.iter().any(|a| a.is(f))).collect();
    store_accounts(session, put, &remove)
}

/// SET PASSWORD.
pub(crate) fn set_password(session: &mut Session, s: &ast::SetPassword, reply: &mut dyn Reply) -> Result<Done> {
    let name = session.account_name(s.user.as_ref().unwrap_or(&ast::Account::CurrentUser));
    let own = session.state.account.is(&name);
    if own && session.state.account.user.is_empty() {
        return Err(sql_err!(PasswordAnonymousUser));
    }
    if !own {
        session.state.privileges().require(Privilege::CreateUser)?;
    }
    let old = session.server.accounts.get(&name.user, &name.host).ok_or_else(|| sql_err!(PasswordNoMatch))?;
    guard_system_user(session, &old)?;
    let plugin = old.secret.plugin();
    let (clear, random) = match &s.password {
        Some(p) => (p.to_vec(), false),
        None => (random_password(session.state.vars[Live::GeneratedRandomPasswordLength].as_u64()), true),
    };
    check_current(session, &old, s.replace.as_deref())?;
    if !random {
        components::check_password(session, &clear)?;
    }
    let secret = make_secret(plugin, &clear);
    let mut next = with_password(session, &old, NewSecret { secret, clear: Some(clear.clone()), random })?;
    if s.retain_current {
        retain(session, &old, &mut next)?;
    }
    let told = super::words::set_password(s, &next);
    let done = store_accounts_told(session, vec![Arc::new(next)], &[], Some(told))?;
    if own {
        session.state.must_change_password = false;
    }
    if !random {
        return Ok(done);
    }
    let row = vec![text(&name.user), text(&name.host), text(&String::from_utf8_lossy(&clear)), Value::UInt(1)];
    send_generated(session, vec![row], reply)
}

/// Error 1819 for an account without a password where others than this machine can reach it.
pub(crate) fn refuse_open(session: &Session, put: &[Arc<Account>]) -> Result<()> {
    if session.server.listens_beyond_loopback()
        && let Some(open) = put.iter().find(|a| a.is_open())
    {
        return Err(SqlError::with_message(
            ErrorCode::NotValidPassword,
            format!("{} needs a password: the server listens beyond loopback", open.id().quoted()),
        ));
    }
    Ok(())
}

/// Writes accounts, which were read [alone](super::lists::alone), behind the gates which FLUSH TABLES WITH READ LOCK
/// and LOCK INSTANCE close. `words`: for the binary log.
pub(crate) fn write_accounts(
    session: &mut Session,
    words: Option<Words>,
    put: Vec<Arc<Account>>,
    remove: &[Name],
) -> Result<()> {
    session.work.locks().pass_definition_gates()?;
    debug_assert!(session.work.locks().has_lists());
    session.server.accounts.store(&session.server.catalog, words.as_ref(), put, remove)
}

/// Stores accounts; ends the transaction that is open.
pub(crate) fn store_accounts(session: &mut Session, put: Vec<Arc<Account>>, remove: &[Name]) -> Result<Done> {
    store_accounts_told(session, put, remove, None)
}

/// Stores accounts as a part of what the statement does, of which the binary log has been told.
pub(crate) fn store_accounts_silently(session: &mut Session, put: Vec<Arc<Account>>) -> Result<()> {
    store_accounts_told(session, put, &[], Some(Vec::new())).map(drop)
}

/// The accounts of CREATE USER or ALTER USER.
fn store_users(session: &mut Session, s: &ast::UserStatement, put: Vec<Arc<Account>>) -> Result<Done> {
    let told = super::words::user_statement(session, s, &put);
    store_accounts_told(session, put, &[], Some(told))
}

/// The same, of which the binary log has other words than the statement's own; none at all, where they are empty.
fn store_accounts_told(
    session: &mut Session,
    put: Vec<Arc<Account>>,
    remove: &[Name],
    told: Option<Vec<u8>>,
) -> Result<Done> {
    if session.server.accounts.skipped() {
        return Err(sql_err!(OptionPreventsStatement, "--skip-grant-tables"));
    }
    for name in put.iter().map(|a| a.id()).chain(remove.iter().cloned()) {
        if let Some(old) = session.server.accounts.get(&name.user, &name.host) {
            guard_system_user(session, &old)?;
        }
    }
    session.commit_implicitly()?;
    session.require_writable()?;
    refuse_open(session, &put)?;
    if put.is_empty() && told.as_ref().is_some_and(Vec::is_empty) {
        session.told_nothing = true;
        return Ok(Done::default());
    }
    let words = match told {
        Some(text) => super::words::words_of(session, || text),
        None => super::words::words(session),
    };
    write_accounts(session, words, put, remove)?;
    session.state.renew_access();
    Ok(Done::default())
}

/// CREATE ROLE: accounts that no client logs in to.
pub(crate) fn create_roles(session: &mut Session, if_not_exists: bool, roles: &[ast::Account]) -> Result<Done> {
    require_one_of(session, &[Privilege::CreateRole, Privilege::CreateUser])?;
    let (mut put, mut failed) = (Vec::<Arc<Account>>::new(), Vec::new());
    for role in roles {
        let name = session.account_name(role);
        if session.server.accounts.get(&name.user, &name.host).is_some() || put.iter().any(|a| a.is(&name)) {
            failed.push(name);
            continue;
        }
        super::definers::check(session, "CREATE ROLE", &name)?;
        let mut a = Account::new(&name.user, &name.host, Secret::Empty(Plugin::Sha2), Privileges::NONE);
        a.locked = true;
        a.policy.expired = true;
        put.push(Arc::new(a));
    }
    if !failed.is_empty() && !if_not_exists {
        let list: Vec<String> = failed.iter().map(Name::quoted).collect();
        return Err(sql_err!(CannotUser, "CREATE ROLE", list.join(",")));
    }
    for name in failed {
        session.note(&sql_err!(UserAlreadyExists, name.quoted()));
    }
    store_accounts(session, put, &[])
}

/// Error 3523 for a role that is not there.
pub(crate) fn require_role(session: &Session, name: &Name) -> Result<Arc<Account>> {
    let found = session.server.accounts.get(&name.user, &name.host);
    found.ok_or_else(|| sql_err!(UnknownAuthid, name.user, name.host))
}

/// Error 1227 for an account that may not grant the role.
pub(crate) fn require_role_admin(session: &Session, role: &Name) -> Result<()> {
    let p = session.state.privileges();
    if p.has(Privilege::RoleAdmin) || p.has(Privilege::Super) || session.state.access.administers(role) {
        return Ok(());
    }
    Err(sql_err!(SpecificAccessDenied, "WITH ADMIN, ROLE_ADMIN, SUPER"))
}

/// The roles a selection names among those of an account.
fn default_roles(session: &Session, account: &Account, selection: &RoleSelection) -> Result<Vec<Name>> {
    let granted = session.server.accounts.roles_of(account);
    let mut chosen = match selection {
        RoleSelection::None => Vec::new(),
        RoleSelection::Default => account.grants.default_roles.clone(),
        RoleSelection::All => granted,
        RoleSelection::AllExcept(list) => {
            let out: Vec<Name> = list.iter().map(|r| session.account_name(r)).collect();
            granted.into_iter().filter(|r| !out.contains(r)).collect()
        }
        RoleSelection::Roles(list) => {
            let names: Vec<Name> = list.iter().map(|r| session.account_name(r)).collect();
            for n in &names {
                if !granted.contains(n) {
                    return Err(sql_err!(RoleNotGranted, n.user, n.host, account.user, account.host));
                }
            }
            names
        }
    };
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

/// SET ROLE.
pub(crate) fn set_role(session: &mut Session, selection: &RoleSelection) -> Result<Done> {
    let own = session.state.account.id();
    let now = session.server.accounts.get(&own.user, &own.host);
    // An account that is gone has no roles.
    let now = now.unwrap_or_else(|| Arc::new(session.state.account.changed(|a| a.grants = Grants::default())));
    session.state.roles = default_roles(session, &now, selection)?;
    session.state.renew_access();
    Ok(Done::default())
}

/// SET DEFAULT ROLE.
pub(crate) fn set_default_role(
    session: &mut Session,
    selection: &RoleSelection,
    users: &[ast::Account],
) -> Result<Done> {
    let mut put = Vec::new();
    for user in users {
        let name = session.account_name(user);
        if !session.state.account.is(&name) {
            session.state.privileges().require(Privilege::CreateUser)?;
        }
        let old = require_role(session, &name)?;
        let roles = default_roles(session, &old, selection)?;
        put.push(Arc::new(old.changed(|a| a.grants.default_roles = roles)));
    }
    store_accounts(session, put, &[])
}

/// What of CREATE USER is not there yet.
fn refuse_beyond(s: &ast::UserStatement) -> Result<()> {
    let refuse = |what: &str| Err(SqlError::unsupported(what));
    if s.existence.or_replace {
        return refuse("CREATE OR REPLACE USER");
    }
    for u in &s.users {
        if !u.factors.is_empty() || u.auth.len() > 1 {
            return refuse("multi-factor authentication");
        }
    }
    Ok(())
}

fn apply_options(p: &mut Policy, s: &ast::UserStatement) -> Result<()> {
    let days = |n: u64| u16::try_from(n).map_err(|_| sql_err!(WrongValue, "DAY", n));
    for option in &s.options {
        match option {
            UserOption::PasswordExpire => p.expired = true,
            UserOption::PasswordExpireDefault => (p.expired, p.lifetime) = (false, None),
            UserOption::PasswordExpireNever => (p.expired, p.lifetime) = (false, Some(0)),
            UserOption::PasswordExpireInterval(0) => return Err(sql_err!(WrongValue, "DAY", 0)),
            UserOption::PasswordExpireInterval(n) => (p.expired, p.lifetime) = (false, Some(days(*n)?)),
            UserOption::PasswordHistory(n) => p.history = n.map(days).transpose()?,
            UserOption::PasswordReuseInterval(n) => p.reuse_days = n.map(days).transpose()?,
            UserOption::PasswordRequireCurrent(on) => p.require_current = *on,
            UserOption::FailedLoginAttempts(n) => p.attempts = days(*n)?.min(32767),
            UserOption::PasswordLockTime(None) => p.lock_days = -1,
            UserOption::PasswordLockTime(Some(n)) => p.lock_days = days(*n)?.min(32767).into(),
            UserOption::AccountLock | UserOption::AccountUnlock => {}
        }
    }
    match &s.require {
        None => {}
        Some(ast::Require::None) => p.require = Require::None,
        Some(ast::Require::Ssl) => p.require = Require::Ssl,
        Some(ast::Require::X509) => p.require = Require::X509,
        Some(ast::Require::Attributes(list)) => {
            let get = |name: &str| {
                let found = list.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
                found.map_or(String::new(), |(_, v)| v.to_string())
            };
            p.require = Require::Attributes { cipher: get("CIPHER"), issuer: get("ISSUER"), subject: get("SUBJECT") };
        }
    }
    for (name, n) in &s.resources {
        let at = match name.to_ascii_uppercase().as_str() {
            "MAX_QUERIES_PER_HOUR" => 0,
            "MAX_UPDATES_PER_HOUR" => 1,
            "MAX_CONNECTIONS_PER_HOUR" => 2,
            _ => 3,
        };
        p.limits[at] = u32::try_from(*n).unwrap_or(u32::MAX);
    }
    match &s.comment {
        Some((true, comment)) => p.set_comment(comment)?,
        Some((false, patch)) => p.merge_attributes(patch)?,
        None => {}
    }
    Ok(())
}

/// Hashing takes milliseconds on purpose: not on the worker itself.
fn make_secret(plugin: Plugin, password: &[u8]) -> Secret {
    let salt = nonce();
    gannet_runtime::run_blocking(|| Secret::from_password(plugin, password, salt))
}

/// Letters, digits and signs, in equal shares.
fn random_password(length: u64) -> Vec<u8> {
    const SIGNS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~";
    let limit = u64::MAX - u64::MAX % SIGNS.len() as u64;
    let mut out = Vec::new();
    while (out.len() as u64) < length.clamp(5, 255) {
        let n = gannet_runtime::random_u64();
        if n < limit {
            out.push(SIGNS[(n % SIGNS.len() as u64) as usize]);
        }
    }
    out
}
