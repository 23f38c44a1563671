//! GRANT, REVOKE, SHOW GRANTS, SHOW CREATE USER.

use super::Session;
use super::reply::Done;
use super::text::show_options;
use gannet_core::accounts::{
    self, Account, COLUMN_LEVEL, ColumnGrant, Grants, Name, Privilege, Privileges, ProxyGrant, ROUTINE_LEVEL, Require,
    RoleGrant, RoutineGrant, SCHEMA_LEVEL, TABLE_LEVEL,
};
use gannet_core::vars::Live;
use gannet_parser::ast::{self, GrantItems, GrantLevel, GrantObject};
use gannet_schema::RoutineKind;
use gannet_schema::show::requoted;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// On what.
enum Target {
    Global,
    Schema(String),
    Table(String, String),
    Routine(String, String, bool),
}

/// Privileges, resolved.
struct Wanted {
    target: Target,
    /// On the whole target.
    set: Privileges,
    /// ALL was written.
    all: bool,
    columns: Vec<(String, Privileges)>,
}

impl Wanted {
    fn everything(&self) -> Privileges {
        self.columns.iter().fold(self.set, |p, (_, c)| p.with(*c))
    }
}

impl Session {
    /// Error 1142 naming the privileges.
    pub(crate) fn denied(&self, missing: Privileges, table: &str) -> SqlError {
        sql_err!(TableaccessDenied, missing.words(), self.state.account.user, self.state.host(), table)
    }
}

fn wanted(session: &Session, privileges: &[ast::Privilege], object: GrantObject, level: &GrantLevel) -> Result<Wanted> {
    let routine = match object {
        GrantObject::Function => Some(true),
        GrantObject::Procedure => Some(false),
        _ => None,
    };
    let default_schema = || session.state.require_database().map(|d| d.to_string());
    let target = match level {
        GrantLevel::Global => Target::Global,
        GrantLevel::Schema(s) => Target::Schema(s.text.to_string()),
        GrantLevel::CurrentSchema => Target::Schema(default_schema()?),
        GrantLevel::Object(name) => {
            let schema = name.schema.as_ref().map_or_else(default_schema, |s| Ok(s.text.to_string()))?;
            match routine {
                Some(function) => Target::Routine(schema, name.name.text.to_string(), function),
                None => Target::Table(schema, name.name.text.to_string()),
            }
        }
    };
    let allowed = match &target {
        Target::Global => Privileges::all(),
        Target::Schema(_) => SCHEMA_LEVEL,
        Target::Table(..) => TABLE_LEVEL,
        Target::Routine(..) => ROUTINE_LEVEL,
    };
    let mut wanted = Wanted { target, set: Privileges::NONE, all: false, columns: Vec::new() };
    for p in privileges {
        if p.name.eq_ignore_ascii_case("ALL") {
            wanted.all = true;
            wanted.set = wanted.set.with(allowed.without(Privilege::GrantOption.into()));
            continue;
        }
        let id = accounts::by_name(&p.name)?;
        let set = Privileges::from(id);
        if !p.columns.is_empty() {
            if !matches!(wanted.target, Target::Table(..)) {
                return Err(sql_err!(WrongUsage, "COLUMN GRANT", "NON-COLUMN PRIVILEGES"));
            }
            if !COLUMN_LEVEL.contains(set) {
                return Err(sql_err!(WrongUsage, "COLUMN GRANT", "NON-COLUMN PRIVILEGES"));
            }
            for c in &p.columns {
                match wanted.columns.iter_mut().find(|(n, _)| gannet_schema::names::eq_name(n, c)) {
                    Some((_, have)) => *have = have.with(set),
                    None => wanted.columns.push((c.text.to_string(), set)),
                }
            }
            continue;
        }
        if !allowed.contains(set) {
            return Err(match &wanted.target {
                _ if accounts::is_dynamic(id) => sql_err!(IllegalPrivilegeLevel, p.name),
                Target::Schema(_) => sql_err!(WrongUsage, "DB GRANT", "GLOBAL PRIVILEGES"),
                _ => sql_err!(IllegalGrantForTable),
            });
        }
        wanted.set = wanted.set.with(set);
    }
    Ok(wanted)
}

/// Checks that the account has what it grants or revokes, with GRANT OPTION.
fn require_grantable(session: &Session, w: &Wanted) -> Result<()> {
    let access = &session.state.access;
    if access.all {
        return Ok(());
    }
    let a = &session.state.account;
    let need = w.everything().with(Privilege::GrantOption.into());
    match &w.target {
        Target::Global => {
            let fixed = Privileges::all_dynamic();
            let (dynamic, rest) = (need.and(fixed), need.without(fixed));
            let dynamic_ok = access.grantable().contains(dynamic) || w.all;
            if access.global.contains(rest.without(if w.all { fixed } else { Privileges::NONE })) && dynamic_ok {
                return Ok(());
            }
            Err(sql_err!(AccessDenied, a.user, a.host, a.used_password()))
        }
        Target::Schema(s) => {
            if access.schema_pattern(s).contains(need) {
                Ok(())
            } else {
                Err(sql_err!(DbaccessDenied, a.user, a.host, s))
            }
        }
        Target::Table(s, t) => {
            let have = access.table(s, t);
            let missing = w.set.with(Privilege::GrantOption.into()).without(have);
            if missing != Privileges::NONE {
                return Err(session.denied(missing, t));
            }
            for (column, set) in &w.columns {
                let missing = set.without(access.column(s, t, column));
                if missing != Privileges::NONE {
                    let host = session.state.host();
                    return Err(sql_err!(ColumnaccessDenied, missing.words(), a.user, host, column, t));
                }
            }
            Ok(())
        }
        Target::Routine(s, name, function) => {
            if access.routine(s, name, *function).contains(need) {
                Ok(())
            } else {
                Err(sql_err!(ProcaccessDenied, "grant", a.user, session.state.host(), name))
            }
        }
    }
}

/// GRANT.
pub(crate) fn grant(session: &mut Session, s: &ast::Grant) -> Result<Done> {
    count(if matches!(s.items, ast::GrantItems::Roles(_)) { Counter::ComGrantRoles } else { Counter::ComGrant });
    if s.as_user.is_some() || s.require.is_some() || !s.resources.is_empty() {
        return Err(SqlError::unsupported("GRANT with AS, REQUIRE or resource limits"));
    }
    let names: Vec<Name> = s.to.iter().map(|t| session.account_name(&t.account)).collect();
    match &s.items {
        GrantItems::Roles(roles) => return grant_roles(session, roles, &names, s.with_option),
        GrantItems::Proxy(proxied) => return grant_proxy(session, proxied, s, &names),
        GrantItems::AllAndGrantOption => return Err(sql_err!(Syntax)),
        GrantItems::Privileges { .. } => {}
    }
    let GrantItems::Privileges { privileges, object, level } = &s.items else { return Err(sql_err!(Syntax)) };
    let w = wanted(session, privileges, *object, level)?;
    require_grantable(session, &w)?;
    check_target(session, &w)?;
    let mut put: Vec<Arc<Account>> = Vec::new();
    for (spec, name) in s.to.iter().zip(&names) {
        let old = session.server.accounts.get(&name.user, &name.host);
        let pending = put.iter().position(|a| a.is(name)).map(|at| put.remove(at));
        let Some(old) = pending.or(old).filter(|_| spec.auth.is_empty()) else {
            return Err(sql_err!(CantCreateUserWithGrant));
        };
        put.push(Arc::new(old.changed(|a| add(session, &mut a.grants, &w, s.with_option))));
    }
    super::accounts::store_accounts(session, put, &[])
}

/// Checks that the object exists; with CREATE a table may come later. Errors 1146, 1054, 1305.
fn check_target(session: &Session, w: &Wanted) -> Result<()> {
    if let Target::Routine(schema, name, function) = &w.target {
        let kind = if *function { RoutineKind::Function } else { RoutineKind::Procedure };
        return match session.state.snapshot.routine(schema, kind, name) {
            Some(_) => Ok(()),
            None => Err(sql_err!(SpDoesNotExist, "FUNCTION or PROCEDURE", name)),
        };
    }
    let Target::Table(schema, name) = &w.target else { return Ok(()) };
    if w.set.has(Privilege::Create) && w.columns.is_empty() {
        return Ok(());
    }
    let table = session.state.snapshot.require_table(schema, name)?;
    match w.columns.iter().find(|(c, _)| table.column(c).is_none()) {
        Some((c, _)) => Err(sql_err!(BadField, c, name)),
        None => Ok(()),
    }
}

fn add(session: &Session, g: &mut Grants, w: &Wanted, option: bool) {
    let mut granted = if option { w.set.with(Privilege::GrantOption.into()) } else { w.set };
    match &w.target {
        Target::Global => {
            // A restricted account passes its restrictions on with the privileges; an account without
            // restrictions lifts them.
            let fresh = granted.without(g.global);
            g.restrictions.iter_mut().for_each(|r| r.privileges = r.privileges.without(granted));
            g.restrictions.retain(|r| r.privileges != Privileges::NONE);
            for own in session.state.access.restrictions() {
                g.restrict(&own.schema, |p| *p = p.with(own.privileges.and(fresh)));
            }
            let dynamic = w.set.and(Privileges::all_dynamic());
            // GRANT OPTION of dynamic privileges belongs to each one by itself.
            let fixed = granted.without(Privileges::all_dynamic());
            let only_dynamic = dynamic != Privileges::NONE && w.set.without(dynamic) == Privileges::NONE;
            g.global = g.global.with(dynamic).with(if only_dynamic { Privileges::NONE } else { fixed });
            if option {
                g.grantable = g.grantable.with(dynamic);
            }
        }
        Target::Schema(s) => {
            let lifted = g.global.and(granted).without(g.global_in(s));
            if lifted != Privileges::NONE {
                g.restrict(s, |p| *p = p.without(lifted));
                granted = granted.without(lifted);
            }
            if granted != Privileges::NONE {
                let _ = g.edit_schema(s, true, |p| *p = p.with(granted));
            }
        }
        Target::Table(s, t) => {
            let grantor = session.state.account.name();
            let _ = g.edit_table(s, t, true, |t| {
                t.privileges = t.privileges.with(granted);
                (t.grantor, t.at) = (grantor, gannet_runtime::WallTime::now().seconds());
                for (column, set) in &w.columns {
                    match t.columns.iter_mut().find(|c| gannet_schema::names::eq_name(&c.column, column)) {
                        Some(c) => c.privileges = c.privileges.with(*set),
                        None => t.columns.push(ColumnGrant { column: column.clone(), privileges: *set }),
                    }
                }
            });
        }
        Target::Routine(s, n, function) => {
            match g.routines.iter_mut().find(|r| r.schema == *s && r.name == *n && r.function == *function) {
                Some(r) => r.privileges = r.privileges.with(granted),
                None => g.routines.push(RoutineGrant {
                    schema: s.clone(),
                    name: n.clone(),
                    function: *function,
                    privileges: granted,
                }),
            }
            g.routines.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        }
    }
}

/// REVOKE.
pub(crate) fn revoke(session: &mut Session, s: &ast::Revoke) -> Result<Done> {
    count(match s.items {
        ast::GrantItems::Roles(_) => Counter::ComRevokeRoles,
        ast::GrantItems::AllAndGrantOption => Counter::ComRevokeAll,
        _ => Counter::ComRevoke,
    });
    let names: Vec<Name> = s.from.iter().map(|a| session.account_name(a)).collect();
    let w = match &s.items {
        GrantItems::Roles(roles) => return revoke_roles(session, roles, &names, s),
        GrantItems::Proxy(proxied) => return revoke_proxy(session, proxied, s, &names),
        GrantItems::AllAndGrantOption => return revoke_everything(session, &names, s),
        GrantItems::Privileges { privileges, object, level } => wanted(session, privileges, *object, level)?,
    };
    require_grantable(session, &w)?;
    let mut put = Vec::new();
    for name in &names {
        let Some(old) = session.server.accounts.get(&name.user, &name.host) else {
            if s.ignore_unknown_user {
                session
                    .running
                    .diagnostics
                    .warnings
                    .push(sql_err!(UserDoesNotExist, name.quoted()).to_warning(gannet_types::Level::Warning));
                continue;
            }
            return Err(nonexisting(&w.target, name));
        };
        let mut next = (*old).clone();
        match remove(&mut next.grants, &w, session.server.accounts.partial_revokes()) {
            Some(()) => put.push(Arc::new(next)),
            None if s.if_exists => {
                let e = nonexisting(&w.target, name);
                session.running.diagnostics.warnings.push(e.to_warning(gannet_types::Level::Warning));
            }
            None => return Err(nonexisting(&w.target, name)),
        }
    }
    super::accounts::store_accounts(session, put, &[])
}

/// Error 1698 for an account that lacks PROXY with GRANT OPTION on the other account. On itself every account has
/// it.
fn require_proxy(session: &Session, proxied: &Name) -> Result<()> {
    let a = &session.state.account;
    if a.is_unchecked() || a.is(proxied) || session.state.access.passes_proxy_on(proxied) {
        Ok(())
    } else {
        Err(sql_err!(AccessDeniedNoPassword, a.user, session.state.host()))
    }
}

/// GRANT PROXY ON account TO accounts.
fn grant_proxy(session: &mut Session, proxied: &ast::Account, s: &ast::Grant, names: &[Name]) -> Result<Done> {
    let proxied = session.account_name(proxied);
    require_proxy(session, &proxied)?;
    let grantor = session.state.account.name();
    let mut put: Vec<Arc<Account>> = Vec::new();
    for (spec, name) in s.to.iter().zip(names) {
        let old = session.server.accounts.get(&name.user, &name.host).filter(|_| spec.auth.is_empty());
        let Some(old) = old else { return Err(sql_err!(CantCreateUserWithGrant)) };
        put.retain(|a| !a.is(name));
        put.push(Arc::new(old.changed(|a| {
            let list = &mut a.grants.proxies;
            let option = s.with_option || list.iter().any(|p| p.proxied == proxied && p.option);
            list.retain(|p| p.proxied != proxied);
            let at = gannet_runtime::WallTime::now().seconds();
            list.push(ProxyGrant { proxied: proxied.clone(), option, grantor: grantor.clone(), at });
        })));
    }
    super::accounts::store_accounts(session, put, &[])
}

/// REVOKE PROXY ON account FROM accounts.
fn revoke_proxy(session: &mut Session, proxied: &ast::Account, s: &ast::Revoke, names: &[Name]) -> Result<Done> {
    let proxied = session.account_name(proxied);
    require_proxy(session, &proxied)?;
    let mut put = Vec::new();
    for name in names {
        let missing = sql_err!(NonexistingGrant, name.user, name.host);
        match session.server.accounts.get(&name.user, &name.host) {
            Some(old) if old.grants.proxies.iter().any(|p| p.proxied == proxied) => {
                put.push(Arc::new(old.changed(|a| a.grants.proxies.retain(|p| p.proxied != proxied))));
            }
            Some(_) if s.if_exists => {
                session.running.diagnostics.warnings.push(missing.to_warning(gannet_types::Level::Warning))
            }
            None if s.ignore_unknown_user => {
                let unknown = sql_err!(UserDoesNotExist, name.quoted());
                session.running.diagnostics.warnings.push(unknown.to_warning(gannet_types::Level::Warning));
            }
            _ => return Err(missing),
        }
    }
    super::accounts::store_accounts(session, put, &[])
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION: everything but roles and PROXY.
fn revoke_everything(session: &mut Session, names: &[Name], s: &ast::Revoke) -> Result<Done> {
    if !session.state.privileges().has(Privilege::CreateUser) {
        let p = session.state.privileges();
        if !p.has(Privilege::Update) {
            return Err(sql_err!(SpecificAccessDenied, "CREATE USER"));
        }
    }
    let mut put = Vec::new();
    for name in names {
        match session.server.accounts.get(&name.user, &name.host) {
            Some(old) => put.push(Arc::new(old.changed(|a| {
                let g = &mut a.grants;
                *g = Grants {
                    roles: std::mem::take(&mut g.roles),
                    default_roles: std::mem::take(&mut g.default_roles),
                    proxies: std::mem::take(&mut g.proxies),
                    ..Grants::default()
                };
            }))),
            None if s.ignore_unknown_user => session.note(&sql_err!(UserDoesNotExist, name.quoted())),
            None => return Err(sql_err!(RevokeGrants)),
        }
    }
    super::accounts::store_accounts(session, put, &[])
}

fn grant_roles(session: &mut Session, roles: &[ast::Account], to: &[Name], admin: bool) -> Result<Done> {
    let roles: Vec<Name> = roles.iter().map(|r| session.account_name(r)).collect();
    for role in &roles {
        super::accounts::require_role_admin(session, role)?;
        super::accounts::require_role(session, role)?;
    }
    let mut put = Vec::new();
    for name in to {
        let old = super::accounts::require_role(session, name)?;
        for role in &roles {
            if role == name || session.server.accounts.would_loop(role, name) {
                return Err(sql_err!(RoleGrantedToItself, name.ticked(), role.ticked()));
            }
        }
        put.push(Arc::new(old.changed(|a| {
            let list = &mut a.grants.roles;
            for role in &roles {
                match list.iter_mut().find(|r| r.role == *role) {
                    Some(r) => r.admin |= admin,
                    None => list.push(RoleGrant { role: role.clone(), admin }),
                }
            }
            list.sort_by(|a, b| a.role.cmp(&b.role));
        })));
    }
    super::accounts::store_accounts(session, put, &[])
}

fn revoke_roles(session: &mut Session, roles: &[ast::Account], from: &[Name], s: &ast::Revoke) -> Result<Done> {
    let roles: Vec<Name> = roles.iter().map(|r| session.account_name(r)).collect();
    for role in &roles {
        super::accounts::require_role_admin(session, role)?;
        if session.server.accounts.is_mandatory(role) {
            return Err(sql_err!(MandatoryRole, role.ticked()));
        }
        if !s.if_exists {
            super::accounts::require_role(session, role)?;
        }
    }
    let mut put = Vec::new();
    for name in from {
        let Some(old) = session.server.accounts.get(&name.user, &name.host) else {
            if s.ignore_unknown_user {
                session.note(&sql_err!(UserDoesNotExist, name.quoted()));
                continue;
            }
            return Err(sql_err!(UnknownAuthid, name.user, name.host));
        };
        put.push(Arc::new(old.changed(|a| {
            a.grants.roles.retain(|r| !roles.contains(&r.role));
            a.grants.default_roles.retain(|r| !roles.contains(r));
        })));
    }
    let done = super::accounts::store_accounts(session, put, &[])?;
    session.state.drop_lost_roles();
    Ok(done)
}

/// SHOW GRANTS: its lines for an account with roles.
pub(crate) fn grant_lines(session: &Session, account: &Arc<Account>, roles: &[Name]) -> Vec<String> {
    let access = accounts::Access::new(&session.server.accounts, account, roles);
    let name = account.id().ticked();
    let mut merged = Grants::default();
    for m in access.members() {
        merge(&mut merged, &m.grants);
    }
    merged.restrictions = access.restrictions();
    let granted = session.server.accounts.roles_of(account);
    let lines = lines(&merged, &name, &granted, &account.grants.roles);
    if session.settings.exec.sql_mode.contains(gannet_types::SqlMode::ANSI_QUOTES) {
        lines.into_iter().map(|l| l.replace('"', "\"\"").replace('`', "\"")).collect()
    } else {
        lines
    }
}

/// SHOW CREATE USER.
pub(crate) fn show_create_user(session: &Session, a: &Account) -> String {
    let auth = a.secret.to_authentication_string();
    let hash = match auth.is_empty() {
        true => String::new(),
        false if session.state.vars[Live::PrintIdentifiedWithAsHex].as_bool() => {
            format!(" AS 0x{}", auth.iter().map(|b| format!("{b:02X}")).collect::<String>())
        }
        false => format!(" AS '{}'", quote(&String::from_utf8_lossy(&auth))),
    };
    requoted(&create_user(a, &hash), &show_options(session))
}

fn quote(s: &str) -> String {
    s.replace('\\', "\\\\").replace('\'', "''")
}

fn nonexisting(target: &Target, name: &Name) -> SqlError {
    match target {
        Target::Table(_, t) => sql_err!(NonexistingTableGrant, name.user, name.host, t),
        Target::Routine(_, r, _) => sql_err!(NonexistingProcGrant, name.user, name.host, r),
        _ => sql_err!(NonexistingGrant, name.user, name.host),
    }
}

/// Takes privileges away. `None`: one of them was not granted there. Of ALL on a schema or table some are enough, and
/// on all of the server none has to be.
fn remove(g: &mut Grants, w: &Wanted, partially: bool) -> Option<()> {
    let taken = w.set;
    let granted = |held: Privileges| w.all || held.contains(taken);
    match &w.target {
        Target::Global => {
            g.global = g.global.without(taken);
            g.grantable = g.grantable.without(taken);
            g.drop_idle_restrictions();
            Some(())
        }
        Target::Schema(s) => {
            let restricted = g.global.and(taken);
            let restricts = partially && restricted != Privileges::NONE;
            let mut all = true;
            let found = g.edit_schema(s, false, |p| {
                all = granted(*p);
                *p = p.without(taken);
            });
            if !restricts {
                return found.filter(|()| all);
            }
            g.restrict(s, |p| *p = p.with(restricted));
            Some(())
        }
        Target::Table(s, t) => {
            let mut found = true;
            g.edit_table(s, t, false, |t| {
                let of_columns = t.columns.iter().fold(t.privileges, |all, c| all.with(c.privileges));
                found &= granted(of_columns);
                t.privileges = t.privileges.without(taken);
                // Privileges revoked from the table are revoked from its columns, too.
                t.columns.iter_mut().for_each(|c| c.privileges = c.privileges.without(taken));
                for (column, set) in &w.columns {
                    match t.columns.iter_mut().find(|c| gannet_schema::names::eq_name(&c.column, column)) {
                        Some(c) => {
                            found &= c.privileges.contains(*set);
                            c.privileges = c.privileges.without(*set);
                        }
                        None => found = false,
                    }
                }
            })?;
            found.then_some(())
        }
        Target::Routine(s, n, function) => {
            let here = |r: &&mut RoutineGrant| r.schema == *s && r.name == *n && r.function == *function;
            let r = g.routines.iter_mut().find(here)?;
            let all = r.privileges.contains(taken);
            r.privileges = r.privileges.without(taken);
            g.routines.retain(|r| r.privileges != Privileges::NONE);
            all.then_some(())
        }
    }
}

fn merge(to: &mut Grants, from: &Grants) {
    to.global = to.global.with(from.global);
    to.grantable = to.grantable.with(from.grantable);
    for s in &from.schemas {
        let _ = to.edit_schema(&s.schema, true, |p| *p = p.with(s.privileges));
    }
    for t in &from.tables {
        let _ = to.edit_table(&t.schema, &t.table, true, |have| {
            have.privileges = have.privileges.with(t.privileges);
            for c in &t.columns {
                match have.columns.iter_mut().find(|h| h.column == c.column) {
                    Some(h) => h.privileges = h.privileges.with(c.privileges),
                    None => have.columns.push(c.clone()),
                }
            }
        });
    }
    for r in &from.routines {
        let same = |h: &&mut RoutineGrant| h.schema == r.schema && h.name == r.name && h.function == r.function;
        match to.routines.iter_mut().find(same) {
            Some(h) => h.privileges = h.privileges.with(r.privileges),
            None => to.routines.push(r.clone()),
        }
    }
    to.proxies.extend(from.proxies.iter().cloned());
    for r in &from.roles {
        match to.roles.iter_mut().find(|h| h.role == r.role) {
            Some(h) => h.admin |= r.admin,
            None => to.roles.push(r.clone()),
        }
    }
}

/// `ALL PRIVILEGES`, `USAGE` or the names.
fn set_words(set: Privileges, all: Privileges) -> String {
    let all = all.without(Privilege::GrantOption.into());
    let shown = set.without(Privilege::GrantOption.into());
    if shown.contains(all) {
        return "ALL PRIVILEGES".into();
    }
    if shown == Privileges::NONE { "USAGE".into() } else { shown.words() }
}

fn tick(s: &str) -> String {
    s.replace('`', "``")
}

fn lines(g: &Grants, name: &str, granted: &[Name], own: &[RoleGrant]) -> Vec<String> {
    let option = |p: Privileges| if p.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    let names = g.global.static_names();
    let list = if names.is_empty() { "USAGE".to_string() } else { names.join(", ") };
    let mut lines = vec![format!("GRANT {list} ON *.* TO {name}{}", option(g.global))];
    let dynamic = g.global.and(Privileges::all_dynamic());
    for (set, option) in [(dynamic.without(g.grantable), ""), (dynamic.and(g.grantable), " WITH GRANT OPTION")] {
        if set != Privileges::NONE {
            lines.push(format!("GRANT {} ON *.* TO {name}{option}", set.dynamic_names().join(",")));
        }
    }
    let mut schemas: Vec<_> = g.schemas.iter().collect();
    schemas.sort_by(|a, b| a.schema.cmp(&b.schema));
    for s in schemas {
        let words = set_words(s.privileges, SCHEMA_LEVEL);
        lines.push(format!("GRANT {words} ON `{}`.* TO {name}{}", tick(&s.schema), option(s.privileges)));
    }
    for r in &g.restrictions {
        lines.push(format!("REVOKE {} ON `{}`.* FROM {name}", r.privileges.words(), tick(&r.schema)));
    }
    for t in &g.tables {
        let on = format!("ON `{}`.`{}` TO {name}{}", tick(&t.schema), tick(&t.table), option(t.privileges));
        lines.push(format!("GRANT {} {on}", table_words(t)));
    }
    for r in &g.routines {
        let kind = if r.function { "FUNCTION" } else { "PROCEDURE" };
        let words = r.privileges.without(Privilege::GrantOption.into());
        let words = if words == Privileges::NONE { "USAGE".into() } else { words.words() };
        let on = format!("ON {kind} `{}`.`{}`", tick(&r.schema), tick(&r.name));
        lines.push(format!("GRANT {words} {on} TO {name}{}", option(r.privileges)));
    }
    for p in &g.proxies {
        let option = if p.option { " WITH GRANT OPTION" } else { "" };
        lines.push(format!("GRANT PROXY ON {} TO {name}{option}", p.proxied.ticked()));
    }
    let admin = |n: &Name| g.roles.iter().any(|r| r.role == *n && r.admin);
    let mut shown: Vec<Name> = granted.to_vec();
    // Roles that active roles pass on with ADMIN OPTION are shown, too.
    shown.extend(g.roles.iter().filter(|r| r.admin && !own.iter().any(|o| o.role == r.role)).map(|r| r.role.clone()));
    shown.sort();
    shown.dedup();
    for (with, option) in [(false, ""), (true, " WITH ADMIN OPTION")] {
        let roles: Vec<String> = shown.iter().filter(|n| admin(n) == with).map(Name::ticked).collect();
        if !roles.is_empty() {
            lines.push(format!("GRANT {} TO {name}{option}", roles.join(",")));
        }
    }
    lines
}

/// `SELECT, INSERT (a, b), UPDATE`: privileges on the table and on its columns, in one order.
fn table_words(t: &accounts::TableGrant) -> String {
    let whole = t.privileges.without(Privilege::GrantOption.into());
    if whole.contains(TABLE_LEVEL.without(Privilege::GrantOption.into())) {
        return "ALL PRIVILEGES".into();
    }
    let of_columns = t.columns.iter().fold(Privileges::NONE, |p, c| p.with(c.privileges));
    let mut parts = Vec::new();
    for p in whole.with(of_columns).list() {
        let word = accounts::privilege_name(p).to_ascii_uppercase();
        let columns: Vec<String> =
            t.columns.iter().filter(|c| c.privileges.has(p)).map(|c| format!("`{}`", tick(&c.column))).collect();
        if whole.has(p) {
            parts.push(word.clone());
        }
        if !columns.is_empty() {
            parts.push(format!("{word} ({})", columns.join(", ")));
        }
    }
    if parts.is_empty() { "USAGE".into() } else { parts.join(", ") }
}

fn create_user(a: &Account, hash: &str) -> String {
    let p = &a.policy;
    let mut out = format!("CREATE USER {} IDENTIFIED WITH '{}'{hash}", a.id().ticked(), a.secret.plugin().name());
    if !a.grants.default_roles.is_empty() {
        let roles: Vec<String> = a.grants.default_roles.iter().map(Name::ticked).collect();
        out.push_str(&format!(" DEFAULT ROLE {}", roles.join(",")));
    }
    out.push_str(" REQUIRE");
    match &p.require {
        Require::None => out.push_str(" NONE"),
        Require::Ssl => out.push_str(" SSL"),
        Require::X509 => out.push_str(" X509"),
        Require::Attributes { cipher, issuer, subject } => {
            for (word, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                if !value.is_empty() {
                    out.push_str(&format!(" {word} '{}'", quote(value)));
                }
            }
        }
    }
    let names = ["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];
    if p.limits.iter().any(|n| *n != 0) {
        out.push_str(" WITH");
        for (name, n) in names.iter().zip(p.limits).filter(|(_, n)| *n != 0) {
            out.push_str(&format!(" {name} {n}"));
        }
    }
    match (p.expired, p.lifetime) {
        (true, _) => out.push_str(" PASSWORD EXPIRE"),
        (false, None) => out.push_str(" PASSWORD EXPIRE DEFAULT"),
        (false, Some(0)) => out.push_str(" PASSWORD EXPIRE NEVER"),
        (false, Some(n)) => out.push_str(&format!(" PASSWORD EXPIRE INTERVAL {n} DAY")),
    }
    out.push_str(if a.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    let number = |n: Option<u16>, unit: &str| n.map_or("DEFAULT".to_string(), |n| format!("{n}{unit}"));
    out.push_str(&format!(" PASSWORD HISTORY {}", number(p.history, "")));
    out.push_str(&format!(" PASSWORD REUSE INTERVAL {}", number(p.reuse_days, " DAY")));
    out.push_str(match p.require_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if p.attempts != 0 || p.lock_days != 0 {
        out.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", p.attempts));
        match p.lock_days {
            -1 => out.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
            n => out.push_str(&format!(" PASSWORD_LOCK_TIME {n}")),
        }
    }
    if !p.attributes.is_empty() {
        out.push_str(&format!(" ATTRIBUTE '{}'", quote(&p.attributes)));
    }
    out
}
