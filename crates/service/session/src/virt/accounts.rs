//! Rows about accounts: mysql.user and its kin, privileges and roles in information_schema.

use super::declare::{
    BLOB, JSON, LONGTEXT, N_Y, NAME, TEXT, UINT, USMALLINT, enumeration, fixed, set, timestamp, tinyint, varchar,
};
use super::{Emit, Equals, member, members, micros, seconds, text, yes_no};
use crate::state::State;
use gannet_core::accounts::{
    Account, DB_ORDER, GRANT_ORDER, Privilege, Privileges, Require, Restriction, RoleGrant, privilege_name,
};
use gannet_types::{Result, Value};
use std::sync::Arc;

tables! {
    INFORMATION_SCHEMA in "information_schema":
    APPLICABLE_ROLES by applicable_roles {
        USER: varchar(97), HOST: varchar(256), GRANTEE: varchar(97).utf8mb4(), GRANTEE_HOST: varchar(256).utf8mb4(),
        ROLE_NAME: varchar(255).utf8mb4(), ROLE_HOST: varchar(256).utf8mb4(),
        IS_GRANTABLE: varchar(3).not_null().empty(), IS_DEFAULT: varchar(3),
        IS_MANDATORY: varchar(3).not_null().empty(),
    }
    ADMINISTRABLE_ROLE_AUTHORIZATIONS by administrable_roles {
        USER: varchar(97), HOST: varchar(256), GRANTEE: varchar(97).utf8mb4(), GRANTEE_HOST: varchar(256).utf8mb4(),
        ROLE_NAME: varchar(255).utf8mb4(), ROLE_HOST: varchar(256).utf8mb4(),
        IS_GRANTABLE: varchar(3).not_null().empty(), IS_DEFAULT: varchar(3),
        IS_MANDATORY: varchar(3).not_null().empty(),
    }
    ENABLED_ROLES by enabled_roles {
        ROLE_NAME: varchar(255).utf8mb4(), ROLE_HOST: varchar(255).utf8mb4(), IS_DEFAULT: varchar(3),
        IS_MANDATORY: varchar(3).not_null().empty(),
    }
    ROLE_TABLE_GRANTS by role_table_grants {
        GRANTOR: varchar(97), GRANTOR_HOST: varchar(256), GRANTEE: fixed(32).bin().not_null().empty(),
        GRANTEE_HOST: fixed(255).ascii().not_null().empty(), TABLE_CATALOG: varchar(3).not_null().empty(),
        TABLE_SCHEMA: fixed(64).bin().not_null().empty(), TABLE_NAME: fixed(64).bin().not_null().empty(),
        PRIVILEGE_TYPE: set(&["Select", "Insert", "Update", "Delete", "Create", "Drop", "Grant", "References", "Index", "Alter", "Create View", "Show view", "Trigger"]).not_null().empty(),
        IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    ROLE_COLUMN_GRANTS by role_column_grants {
        GRANTOR: varchar(97), GRANTOR_HOST: varchar(256), GRANTEE: fixed(32).bin().not_null().empty(),
        GRANTEE_HOST: fixed(255).ascii().not_null().empty(), TABLE_CATALOG: varchar(3).not_null().empty(),
        TABLE_SCHEMA: fixed(64).bin().not_null().empty(), TABLE_NAME: fixed(64).bin().not_null().empty(),
        COLUMN_NAME: fixed(64).bin().not_null().empty(),
        PRIVILEGE_TYPE: set(&["Select", "Insert", "Update", "References"]).not_null().empty(),
        IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    ROLE_ROUTINE_GRANTS by role_routine_grants {
        GRANTOR: varchar(97), GRANTOR_HOST: varchar(256), GRANTEE: fixed(32).bin().not_null().empty(),
        GRANTEE_HOST: fixed(255).ascii().not_null().empty(), SPECIFIC_CATALOG: varchar(3).not_null().empty(),
        SPECIFIC_SCHEMA: fixed(64).bin().not_null().empty(), SPECIFIC_NAME: fixed(64).not_null().empty(),
        ROUTINE_CATALOG: varchar(3).not_null().empty(), ROUTINE_SCHEMA: fixed(64).bin().not_null().empty(),
        ROUTINE_NAME: fixed(64).not_null().empty(),
        PRIVILEGE_TYPE: set(&["Execute", "Alter Routine", "Grant"]).not_null().empty(),
        IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    USER_ATTRIBUTES by user_attributes {
        USER: fixed(32).bin().not_null().empty(), HOST: fixed(255).ascii().not_null().empty(),
        ATTRIBUTE: LONGTEXT.utf8mb4_bin(),
    }
    USER_PRIVILEGES by user_privileges {
        GRANTEE: varchar(292).not_null().empty(), TABLE_CATALOG: varchar(512).not_null().empty(),
        PRIVILEGE_TYPE: NAME.not_null().empty(), IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    SCHEMA_PRIVILEGES by schema_privileges {
        GRANTEE: varchar(292).not_null().empty(), TABLE_CATALOG: varchar(512).not_null().empty(),
        TABLE_SCHEMA: NAME.not_null().empty(), PRIVILEGE_TYPE: NAME.not_null().empty(),
        IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    TABLE_PRIVILEGES by table_privileges {
        GRANTEE: varchar(292).not_null().empty(), TABLE_CATALOG: varchar(512).not_null().empty(),
        TABLE_SCHEMA: NAME.not_null().empty(), TABLE_NAME: NAME.not_null().empty(),
        PRIVILEGE_TYPE: NAME.not_null().empty(), IS_GRANTABLE: varchar(3).not_null().empty(),
    }
    COLUMN_PRIVILEGES by column_privileges {
        GRANTEE: varchar(292).not_null().empty(), TABLE_CATALOG: varchar(512).not_null().empty(),
        TABLE_SCHEMA: NAME.not_null().empty(), TABLE_NAME: NAME.not_null().empty(),
        COLUMN_NAME: NAME.not_null().empty(), PRIVILEGE_TYPE: NAME.not_null().empty(),
        IS_GRANTABLE: varchar(3).not_null().empty(),
    }
}

tables! {
    MYSQL in "mysql":
    db by mysql_db {
        Host: fixed(255).ascii().not_null().empty(), Db: fixed(64).bin().not_null().empty(),
        User: fixed(32).bin().not_null().empty(), Select_priv: N_Y.not_null().empty(),
        Insert_priv: N_Y.not_null().empty(), Update_priv: N_Y.not_null().empty(), Delete_priv: N_Y.not_null().empty(),
        Create_priv: N_Y.not_null().empty(), Drop_priv: N_Y.not_null().empty(), Grant_priv: N_Y.not_null().empty(),
        References_priv: N_Y.not_null().empty(), Index_priv: N_Y.not_null().empty(), Alter_priv: N_Y.not_null().empty(),
        Create_tmp_table_priv: N_Y.not_null().empty(), Lock_tables_priv: N_Y.not_null().empty(),
        Create_view_priv: N_Y.not_null().empty(), Show_view_priv: N_Y.not_null().empty(),
        Create_routine_priv: N_Y.not_null().empty(), Alter_routine_priv: N_Y.not_null().empty(),
        Execute_priv: N_Y.not_null().empty(), Event_priv: N_Y.not_null().empty(), Trigger_priv: N_Y.not_null().empty(),
    }
    tables_priv by tables_priv {
        Host: fixed(255).ascii().not_null().empty(), Db: fixed(64).bin().not_null().empty(),
        User: fixed(32).bin().not_null().empty(), Table_name: fixed(64).bin().not_null().empty(),
        Grantor: varchar(288).bin().not_null().empty(), Timestamp: timestamp(0).not_null(),
        Table_priv: set(&["Select", "Insert", "Update", "Delete", "Create", "Drop", "Grant", "References", "Index", "Alter", "Create View", "Show view", "Trigger"]).not_null(),
        Column_priv: set(&["Select", "Insert", "Update", "References"]).not_null(),
    }
    columns_priv by columns_priv {
        Host: fixed(255).ascii().not_null().empty(), Db: fixed(64).bin().not_null().empty(),
        User: fixed(32).bin().not_null().empty(), Table_name: fixed(64).bin().not_null().empty(),
        Column_name: fixed(64).bin().not_null().empty(), Timestamp: timestamp(0).not_null(),
        Column_priv: set(&["Select", "Insert", "Update", "References"]).not_null(),
    }
    procs_priv by procs_priv {
        Host: fixed(255).ascii().not_null().empty(), Db: fixed(64).bin().not_null().empty(),
        User: fixed(32).bin().not_null().empty(), Routine_name: fixed(64).not_null().empty(),
        Routine_type: enumeration(&["FUNCTION", "PROCEDURE"]).not_null(),
        Grantor: varchar(288).bin().not_null().empty(),
        Proc_priv: set(&["Execute", "Alter Routine", "Grant"]).not_null(), Timestamp: timestamp(0).not_null(),
    }
    proxies_priv by proxies_priv {
        Host: fixed(255).ascii().not_null().empty(), User: fixed(32).bin().not_null().empty(),
        Proxied_host: fixed(255).ascii().not_null().empty(), Proxied_user: fixed(32).bin().not_null().empty(),
        With_grant: tinyint(0).not_null(), Grantor: varchar(288).bin().not_null().empty(),
        Timestamp: timestamp(0).not_null(),
    }
    role_edges by role_edges {
        FROM_HOST: fixed(255).ascii().not_null().empty(), FROM_USER: fixed(32).bin().not_null().empty(),
        TO_HOST: fixed(255).ascii().not_null().empty(), TO_USER: fixed(32).bin().not_null().empty(),
        WITH_ADMIN_OPTION: N_Y.not_null().empty(),
    }
    default_roles by default_roles {
        HOST: fixed(255).ascii().not_null().empty(), USER: fixed(32).bin().not_null().empty(),
        DEFAULT_ROLE_HOST: fixed(255).ascii().not_null().empty(), DEFAULT_ROLE_USER: fixed(32).bin().not_null().empty(),
    }
    global_grants by global_grants {
        USER: fixed(32).bin().not_null().empty(), HOST: fixed(255).ascii().not_null().empty(),
        PRIV: fixed(32).not_null(), WITH_GRANT_OPTION: N_Y.not_null().empty(),
    }
    password_history by password_history {
        Host: fixed(255).ascii().not_null().empty(), User: fixed(32).bin().not_null().empty(),
        Password_timestamp: timestamp(6).not_null(), Password: TEXT.bin(),
    }
    user by mysql_user {
        Host: fixed(255).ascii().not_null().empty(), User: fixed(32).bin().not_null().empty(),
        Select_priv: N_Y.not_null().empty(), Insert_priv: N_Y.not_null().empty(), Update_priv: N_Y.not_null().empty(),
        Delete_priv: N_Y.not_null().empty(), Create_priv: N_Y.not_null().empty(), Drop_priv: N_Y.not_null().empty(),
        Reload_priv: N_Y.not_null().empty(), Shutdown_priv: N_Y.not_null().empty(),
        Process_priv: N_Y.not_null().empty(), File_priv: N_Y.not_null().empty(), Grant_priv: N_Y.not_null().empty(),
        References_priv: N_Y.not_null().empty(), Index_priv: N_Y.not_null().empty(), Alter_priv: N_Y.not_null().empty(),
        Show_db_priv: N_Y.not_null().empty(), Super_priv: N_Y.not_null().empty(),
        Create_tmp_table_priv: N_Y.not_null().empty(), Lock_tables_priv: N_Y.not_null().empty(),
        Execute_priv: N_Y.not_null().empty(), Repl_slave_priv: N_Y.not_null().empty(),
        Repl_client_priv: N_Y.not_null().empty(), Create_view_priv: N_Y.not_null().empty(),
        Show_view_priv: N_Y.not_null().empty(), Create_routine_priv: N_Y.not_null().empty(),
        Alter_routine_priv: N_Y.not_null().empty(), Create_user_priv: N_Y.not_null().empty(),
        Event_priv: N_Y.not_null().empty(), Trigger_priv: N_Y.not_null().empty(),
        Create_tablespace_priv: N_Y.not_null().empty(),
        ssl_type: enumeration(&["", "ANY", "X509", "SPECIFIED"]).not_null(), ssl_cipher: BLOB.not_null(),
        x509_issuer: BLOB.not_null(), x509_subject: BLOB.not_null(), max_questions: UINT.not_null().empty(),
        max_updates: UINT.not_null().empty(), max_connections: UINT.not_null().empty(),
        max_user_connections: UINT.not_null().empty(), plugin: fixed(64).bin().not_null().empty(),
        authentication_string: TEXT.bin(), password_expired: N_Y.not_null().empty(),
        password_last_changed: timestamp(0), password_lifetime: USMALLINT, account_locked: N_Y.not_null().empty(),
        Create_role_priv: N_Y.not_null().empty(), Drop_role_priv: N_Y.not_null().empty(),
        Password_reuse_history: USMALLINT, Password_reuse_time: USMALLINT, Password_require_current: N_Y,
        User_attributes: JSON,
    }
    component by components {
        component_id: UINT.not_null(), component_group_id: UINT.not_null(), component_urn: TEXT.not_null(),
    }
}

fn upper(p: Privilege) -> String {
    privilege_name(p).to_ascii_uppercase()
}

/// The accounts that the session may know of: all with SELECT on mysql, else its own and its roles.
fn known(state: &State) -> Vec<Arc<Account>> {
    if state.access.schema("mysql").has(Privilege::Select) {
        return state.server.accounts.list().to_vec();
    }
    state.access.members().to_vec()
}

fn grantee(a: &Account) -> Value {
    text(&format!("'{}'@'{}'", a.user, a.host))
}

/// Emits one row a privilege; `USAGE` when there is none.
fn each_privilege(set: Privileges, mut row: impl FnMut(&str, Value) -> Result<()>) -> Result<()> {
    let option = yes_no(set.has(Privilege::GrantOption));
    for p in set.without(Privilege::GrantOption.into()).list() {
        row(&upper(p), option.clone())?;
    }
    Ok(())
}

pub(super) fn user_privileges(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in known(state) {
        let g = &a.grants;
        let fixed = g.global.without(Privileges::all_dynamic());
        if fixed.without(Privilege::GrantOption.into()) == Privileges::NONE {
            let option = yes_no(g.global.has(Privilege::GrantOption));
            emit(&[grantee(&a), text("def"), text("USAGE"), option])?;
        }
        each_privilege(fixed, |p, option| emit(&[grantee(&a), text("def"), text(p), option]))?;
        for p in g.global.and(Privileges::all_dynamic()).list() {
            emit(&[grantee(&a), text("def"), text(&upper(p)), yes_no(g.grantable.has(p))])?;
        }
    }
    Ok(())
}

pub(super) fn schema_privileges(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in known(state) {
        for s in &a.grants.schemas {
            if s.privileges == Privileges::from(Privilege::GrantOption) {
                emit(&[grantee(&a), text("def"), text(&s.schema), text("USAGE"), yes_no(true)])?;
            }
            each_privilege(s.privileges, |p, option| {
                emit(&[grantee(&a), text("def"), text(&s.schema), text(p), option])
            })?;
        }
    }
    Ok(())
}

pub(super) fn table_privileges(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in known(state) {
        for t in &a.grants.tables {
            each_privilege(t.privileges, |p, option| {
                emit(&[grantee(&a), text("def"), text(&t.schema), text(&t.table), text(p), option])
            })?;
        }
    }
    Ok(())
}

pub(super) fn column_privileges(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in known(state) {
        for t in &a.grants.tables {
            let option = yes_no(t.privileges.has(Privilege::GrantOption));
            for c in &t.columns {
                each_privilege(c.privileges, |p, _| {
                    let (schema, table, column) = (text(&t.schema), text(&t.table), text(&c.column));
                    emit(&[grantee(&a), text("def"), schema, table, column, text(p), option.clone()])
                })?;
            }
        }
    }
    Ok(())
}

/// Role rows: of the current account and of what its roles are granted.
fn roles(state: &State, admin_only: bool, emit: Emit<'_>) -> Result<()> {
    let server = &state.server;
    let own = &state.account;
    let all = server.accounts.roles_of(own);
    for m in server.accounts.with_roles(own, &all) {
        let granted =
            if m.is(&own.id()) { all.clone() } else { m.grants.roles.iter().map(|r| r.role.clone()).collect() };
        for role in granted {
            let edge = m.grants.roles.iter().find(|r| r.role == role);
            let admin = edge.is_some_and(|r| r.admin);
            if admin_only && !admin {
                continue;
            }
            emit(&[
                text(&own.user),
                text(&own.host),
                text(&m.user),
                text(&m.host),
                text(&role.user),
                text(&role.host),
                yes_no(admin),
                yes_no(m.grants.default_roles.contains(&role)),
                yes_no(edge.is_none() || server.accounts.is_mandatory(&role)),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn applicable_roles(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    roles(state, false, emit)
}

pub(super) fn administrable_roles(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    roles(state, true, emit)
}

pub(super) fn enabled_roles(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let own = state.account.clone();
    for m in state.access.members().iter().filter(|m| !m.is(&own.id())) {
        let name = m.id();
        let default = own.grants.default_roles.contains(&name);
        let mandatory = state.server.accounts.is_mandatory(&name);
        emit(&[text(&m.user), text(&m.host), yes_no(default), yes_no(mandatory)])?;
    }
    Ok(())
}

/// The active roles, without the account itself.
fn active(state: &State) -> Vec<Arc<Account>> {
    state.access.members().iter().skip(1).cloned().collect()
}

fn grantor(name: &str) -> (Value, Value) {
    let (user, host) = name.rsplit_once('@').unwrap_or((name, ""));
    (text(user), text(host))
}

fn words(set: Privileges) -> Vec<String> {
    let word = |p: Privilege| if p == Privilege::GrantOption { "Grant".into() } else { privilege_name(p).to_string() };
    set.list().into_iter().map(word).collect()
}

pub(super) fn role_table_grants(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in active(state) {
        for t in a.grants.tables.iter().filter(|t| t.privileges != Privileges::NONE) {
            let (user, host) = grantor(&t.grantor);
            emit(&[
                user,
                host,
                text(&a.user),
                text(&a.host),
                text("def"),
                text(&t.schema),
                text(&t.table),
                members("ROLE_TABLE_GRANTS", "PRIVILEGE_TYPE", &words(t.privileges)),
                yes_no(t.privileges.has(Privilege::GrantOption)),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn role_column_grants(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in active(state) {
        for t in &a.grants.tables {
            for c in &t.columns {
                let (user, host) = grantor(&t.grantor);
                emit(&[
                    user,
                    host,
                    text(&a.user),
                    text(&a.host),
                    text("def"),
                    text(&t.schema),
                    text(&t.table),
                    text(&c.column),
                    members("ROLE_COLUMN_GRANTS", "PRIVILEGE_TYPE", &words(c.privileges)),
                    yes_no(t.privileges.has(Privilege::GrantOption)),
                ])?;
            }
        }
    }
    Ok(())
}

pub(super) fn role_routine_grants(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in active(state) {
        for r in &a.grants.routines {
            emit(&[
                Value::Null,
                Value::Null,
                text(&a.user),
                text(&a.host),
                text("def"),
                text(&r.schema),
                text(&r.name),
                text("def"),
                text(&r.schema),
                text(&r.name),
                members("ROLE_ROUTINE_GRANTS", "PRIVILEGE_TYPE", &words(r.privileges)),
                yes_no(r.privileges.has(Privilege::GrantOption)),
            ])?;
        }
    }
    Ok(())
}

/// `mysql.user.User_attributes`: what has no column of its own.
fn user_attributes_of(a: &Account) -> Result<Value> {
    let p = &a.policy;
    let mut parts = Vec::new();
    if !p.attributes.is_empty() {
        parts.push(format!("\"metadata\": {}", p.attributes));
    }
    if p.attempts != 0 || p.lock_days != 0 {
        let (n, days) = (p.attempts, p.lock_days);
        let locking = format!("{{\"failed_login_attempts\": {n}, \"password_lock_time_days\": {days}}}");
        parts.push(format!("\"Password_locking\": {locking}"));
    }
    if !a.grants.restrictions.is_empty() {
        let quoted = |text: &str| {
            let mut out = Vec::new();
            gannet_types::json::write_quoted(text, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let one = |r: &Restriction| {
            let names: Vec<String> = r.privileges.list().into_iter().map(|p| quoted(&upper(p))).collect();
            format!("{{\"Database\": {}, \"Privileges\": [{}]}}", quoted(&r.schema), names.join(", "))
        };
        let all: Vec<String> = a.grants.restrictions.iter().map(one).collect();
        parts.push(format!("\"Restrictions\": [{}]", all.join(", ")));
    }
    if let Some(second) = &a.second {
        let mut quoted = Vec::new();
        gannet_types::json::write_quoted(&String::from_utf8_lossy(&second.to_authentication_string()), &mut quoted);
        parts.push(format!("\"additional_password\": {}", String::from_utf8_lossy(&quoted)));
    }
    if parts.is_empty() {
        return Ok(Value::Null);
    }
    match gannet_types::json::parse(format!("{{{}}}", parts.join(", ")).as_bytes()) {
        Ok(json) => Ok(Value::Json(json.to_text(gannet_types::room::Room::FREE)?)),
        Err(_) => Ok(Value::Null),
    }
}

/// `mysql.component`: what is installed.
pub(super) fn components(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (number, urn) in crate::components::installed(&state.server.globals).iter().enumerate() {
        emit(&[Value::UInt(number as u64 + 1), Value::UInt(1), text(urn)])?;
    }
    Ok(())
}

pub(super) fn user_attributes(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let all = state.privileges().has(Privilege::CreateUser) || state.access.schema("mysql").has(Privilege::Select);
    let list = if all { state.server.accounts.list().to_vec() } else { vec![state.account.clone()] };
    for a in list {
        let attributes = &a.policy.attributes;
        let shown = if attributes.is_empty() { Value::Null } else { text(attributes) };
        emit(&[text(&a.user), text(&a.host), shown])?;
    }
    Ok(())
}

/// All accounts in the order of mysql.user's key.
fn by_name(state: &State) -> Vec<Arc<Account>> {
    let mut all = state.server.accounts.list().to_vec();
    all.sort_by(|a, b| (&a.host, &a.user).cmp(&(&b.host, &b.user)));
    all
}

fn flag(on: bool) -> Value {
    member("user", "Select_priv", if on { "Y" } else { "N" })
}

fn optional(n: Option<u16>) -> Value {
    n.map_or(Value::Null, |n| Value::Int(n.into()))
}

pub(super) fn mysql_user(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        let p = &a.policy;
        let has = |x: Privilege| flag(a.grants.global.has(x));
        let mut row = vec![text(&a.host), text(&a.user)];
        // CREATE ROLE and DROP ROLE have their columns further on.
        row.extend(GRANT_ORDER[..29].iter().map(|p| has(*p)));
        let (kind, cipher, issuer, subject) = match &p.require {
            Require::None => ("", "", "", ""),
            Require::Ssl => ("ANY", "", "", ""),
            Require::X509 => ("X509", "", "", ""),
            Require::Attributes { cipher, issuer, subject } => ("SPECIFIED", &**cipher, &**issuer, &**subject),
        };
        row.push(member("user", "ssl_type", kind));
        row.extend([cipher, issuer, subject].map(|s| Value::bytes(s.as_bytes())));
        row.extend(p.limits.map(|n| Value::UInt(n.into())));
        row.push(text(a.secret.plugin().name()));
        row.push(Value::Str(a.secret.to_authentication_string()[..].into(), super::TEXT));
        row.push(flag(p.expired));
        row.push(seconds(a.password_changed));
        row.push(optional(p.lifetime));
        row.push(flag(a.locked));
        row.push(has(Privilege::CreateRole));
        row.push(has(Privilege::DropRole));
        row.push(optional(p.history));
        row.push(optional(p.reuse_days));
        row.push(p.require_current.map_or(Value::Null, flag));
        row.push(user_attributes_of(&a)?);
        emit(&row)?;
    }
    Ok(())
}

pub(super) fn mysql_db(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for s in &a.grants.schemas {
            let mut row = vec![text(&a.host), text(&s.schema), text(&a.user)];
            row.extend(DB_ORDER.map(|p| flag(s.privileges.has(p))));
            emit(&row)?;
        }
    }
    Ok(())
}

pub(super) fn tables_priv(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for t in &a.grants.tables {
            let columns = t.columns.iter().fold(Privileges::NONE, |p, c| p.with(c.privileges));
            emit(&[
                text(&a.host),
                text(&t.schema),
                text(&a.user),
                text(&t.table),
                text(&t.grantor),
                seconds(t.at),
                members("tables_priv", "Table_priv", &words(t.privileges)),
                members("tables_priv", "Column_priv", &words(columns)),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn columns_priv(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for t in &a.grants.tables {
            for c in &t.columns {
                emit(&[
                    text(&a.host),
                    text(&t.schema),
                    text(&a.user),
                    text(&t.table),
                    text(&c.column),
                    seconds(t.at),
                    members("columns_priv", "Column_priv", &words(c.privileges)),
                ])?;
            }
        }
    }
    Ok(())
}

pub(super) fn procs_priv(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for r in &a.grants.routines {
            emit(&[
                text(&a.host),
                text(&r.schema),
                text(&a.user),
                text(&r.name),
                member("procs_priv", "Routine_type", if r.function { "FUNCTION" } else { "PROCEDURE" }),
                text(""),
                members("procs_priv", "Proc_priv", &words(r.privileges)),
                seconds(a.password_changed),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn proxies_priv(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for p in &a.grants.proxies {
            emit(&[
                text(&a.host),
                text(&a.user),
                text(&p.proxied.host),
                text(&p.proxied.user),
                Value::Int(p.option.into()),
                text(&p.grantor),
                seconds(p.at),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn role_edges(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let mut edges = Vec::new();
    for a in by_name(state) {
        let of = |r: &RoleGrant| (r.role.host.clone(), r.role.user.clone(), a.host.clone(), a.user.clone(), r.admin);
        edges.extend(a.grants.roles.iter().map(of));
    }
    edges.sort();
    edges.iter().try_for_each(|(fh, fu, th, tu, admin)| emit(&[text(fh), text(fu), text(th), text(tu), flag(*admin)]))
}

pub(super) fn default_roles(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for r in &a.grants.default_roles {
            emit(&[text(&a.host), text(&a.user), text(&r.host), text(&r.user)])?;
        }
    }
    Ok(())
}

pub(super) fn global_grants(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for p in a.grants.global.and(Privileges::all_dynamic()).list() {
            emit(&[text(&a.user), text(&a.host), text(privilege_name(p)), flag(a.grants.grantable.has(p))])?;
        }
    }
    Ok(())
}

pub(super) fn password_history(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for a in by_name(state) {
        for p in &a.policy.previous {
            let auth = Value::Str(p.auth[..].into(), super::TEXT);
            emit(&[text(&a.host), text(&a.user), micros(p.at.saturating_mul(1_000_000), 6), auth])?;
        }
    }
    Ok(())
}
