//! INSERT, REPLACE, UPDATE and DELETE of mysql.user and the other grant tables, which old programs use in place of
//! account statements.
//!
//! The tables are views of the accounts. A statement that changes one runs on a temporary copy with the table's
//! columns and key, so that all of a table's rules hold. Then the accounts whose rows differ are built from the rows
//! and stored. As with account statements, an open transaction is committed first, and the change holds at once:
//! FLUSH PRIVILEGES has nothing left to do.

use super::Session;
use super::reply::Done;
use super::reply::Reply;
use super::reply::RowsSink;
use super::variables::type_of;
use gannet_core::accounts::{
    self, Account, ColumnGrant, DB_ORDER, GRANT_ORDER, Name, Previous, Privilege, Privileges, ProxyGrant, Require,
    Restriction, RoleGrant, RoutineGrant,
};
use gannet_core::accounts::{Plugin, Secret};
use gannet_parser::ast::{self, Statement};
use gannet_types::json::{self, Json};
use gannet_types::{Result, SqlType, TimeZone, Timestamp, Value, sql_err};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A grant table.
pub(crate) struct GrantTable {
    name: &'static str,
    /// Columns that name the account a row belongs to: user, host.
    account: (&'static str, &'static str),
    key: &'static str,
    /// Columns whose defaults differ from those of the view.
    columns: &'static str,
}

const fn of(name: &'static str, key: &'static str, columns: &'static str) -> GrantTable {
    GrantTable { name, account: ("User", "Host"), key, columns }
}

const STAMP: &str = "`Timestamp` TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP";

static TABLES: &[GrantTable] = &[
    of(
        "user",
        "PRIMARY KEY (Host, User)",
        "ssl_type ENUM('', 'ANY', 'X509', 'SPECIFIED') NOT NULL DEFAULT '', \
         plugin CHAR(64) COLLATE utf8mb3_bin NOT NULL DEFAULT 'caching_sha2_password'",
    ),
    of("db", "PRIMARY KEY (Host, User, Db)", ""),
    of(
        "tables_priv",
        "PRIMARY KEY (Host, User, Db, Table_name)",
        "Table_priv SET('Select', 'Insert', 'Update', 'Delete', 'Create', 'Drop', 'Grant', 'References', 'Index', 'Alter', \
         'Create View', 'Show view', 'Trigger') NOT NULL DEFAULT '', \
         Column_priv SET('Select', 'Insert', 'Update', 'References') NOT NULL DEFAULT ''",
    ),
    of(
        "columns_priv",
        "PRIMARY KEY (Host, User, Db, Table_name, Column_name)",
        "Column_priv SET('Select', 'Insert', 'Update', 'References') NOT NULL DEFAULT ''",
    ),
    of(
        "procs_priv",
        "PRIMARY KEY (Host, User, Db, Routine_name, Routine_type)",
        "Proc_priv SET('Execute', 'Alter Routine', 'Grant') NOT NULL DEFAULT ''",
    ),
    of("proxies_priv", "PRIMARY KEY (Host, User, Proxied_host, Proxied_user)", "With_grant TINYINT NOT NULL DEFAULT 0"),
    GrantTable {
        account: ("TO_USER", "TO_HOST"),
        ..of("role_edges", "PRIMARY KEY (FROM_HOST, FROM_USER, TO_HOST, TO_USER)", "")
    },
    of("default_roles", "PRIMARY KEY (HOST, USER, DEFAULT_ROLE_HOST, DEFAULT_ROLE_USER)", ""),
    of("global_grants", "PRIMARY KEY (USER, HOST, PRIV)", ""),
    // Times are kept in seconds: several passwords may have the same.
    of("password_history", "KEY (Host, User)", ""),
];

/// The table of what CREATE SERVER makes.
pub(super) const SERVERS: &str = "servers";

/// Tables of performance_schema that may be changed, and whether rows come and go: see `setup`.
const SETUP: [(&str, bool); 6] = [
    ("setup_consumers", false),
    ("setup_instruments", false),
    ("setup_actors", true),
    ("setup_objects", true),
    ("threads", false),
    ("setup_threads", false),
];

/// A table of the server's own that a statement changes.
pub(crate) enum Made {
    Grants(&'static GrantTable),
    /// mysql.servers.
    Servers,
    /// One of performance_schema's that say what is collected.
    Setup(&'static str),
    /// One that a dump makes again: it takes no rows.
    Own,
}

/// Rows of a grant table, and the session's time zone.
struct Rows<'a>(&'a RowsSink, &'a TimeZone);

/// One of the grant tables.
#[derive(Clone, Copy)]
struct Row<'a> {
    columns: &'a RowsSink,
    values: &'a [Value],
    zone: &'a TimeZone,
}

impl<'a> Rows<'a> {
    fn iter(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let Rows(columns, zone) = *self;
        columns.rows.iter().map(move |values| Row { columns, values, zone })
    }
}

impl Row<'_> {
    fn get(&self, name: &str) -> &Value {
        let at = self.columns.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
        at.and_then(|at| self.values.get(at)).unwrap_or(&Value::Null)
    }

    /// A name, or words: without the spaces that a CHAR may be filled up with.
    fn text(&self, name: &str) -> String {
        let mut out = Vec::new();
        if !self.get(name).is_null() {
            self.get(name).write_text(&mut out);
        }
        String::from_utf8_lossy(&out).trim_end_matches(' ').to_owned()
    }

    fn number<T: TryFrom<u64>>(&self, name: &str) -> Option<T> {
        let n = self.text(name).parse().ok()?;
        T::try_from(n).ok()
    }

    fn is_on(&self, name: &str) -> bool {
        self.text(name) == "Y"
    }

    /// Seconds since 1970; now where there is no time.
    fn seconds(&self, name: &str) -> u64 {
        let stamp = match self.get(name) {
            Value::Timestamp(t, _) => Some(*t),
            Value::DateTime(d, _) => Timestamp::from_local(*d, self.zone).map(|(t, _)| t),
            _ => None,
        };
        let us = stamp.map_or(0, Timestamp::unix_micros);
        let given = u64::try_from(us).ok().filter(|us| *us > 0);
        given.map_or_else(|| gannet_runtime::WallTime::now().seconds(), |us| us / 1_000_000)
    }

    fn account(&self, table: &GrantTable) -> Name {
        Name::new(&self.text(table.account.0), &self.text(table.account.1))
    }

    /// The members of a SET that are privileges.
    fn privileges(&self, name: &str) -> Result<Privileges> {
        let text = self.text(name);
        let mut words = text.split(',').filter(|w| !w.is_empty());
        words.try_fold(Privileges::NONE, |all, word| {
            Ok(all.with(match word {
                "Grant" => Privilege::GrantOption.into(),
                word => accounts::by_name(word)?.into(),
            }))
        })
    }
}

/// The table of the server's own that a statement changes by a copy.
#[inline]
pub(crate) fn made_table(session: &Session, statement: &Statement) -> Option<Made> {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => made_of_changed(session, statement),
        _ => None,
    }
}

/// The only table of a list.
pub(super) fn single(refs: &[ast::TableRef]) -> Option<&ast::ObjectName> {
    match refs {
        [ast::TableRef::Table(t)] => Some(&t.name),
        _ => None,
    }
}

fn made_of_changed(session: &Session, statement: &Statement) -> Option<Made> {
    let name = match statement {
        Statement::Insert(i) => &i.table,
        Statement::Update(u) => single(&u.tables)?,
        Statement::Delete(d) if d.targets.is_empty() => single(&d.tables)?,
        _ => return None,
    };
    let schema = name.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref());
    match (schema?, statement) {
        ("mysql", Statement::Insert(i)) if takes_no_rows(session, &i.table) => Some(Made::Own),
        // A dump's rows are collected.
        ("mysql", _) if is_restored(session, name) => None,
        ("mysql", _) if *name.name.text == *SERVERS => Some(Made::Servers),
        ("mysql", _) => TABLES.iter().find(|t| *t.name == *name.name.text).map(Made::Grants),
        ("performance_schema", _) => {
            let may = |open: bool| open || matches!(statement, Statement::Update(_));
            let is = |(table, open): &&(&str, bool)| name.name.text.eq_ignore_ascii_case(table) && may(*open);
            SETUP.iter().find(is).map(|(table, _)| Made::Setup(table))
        }
        _ => None,
    }
}

/// A statement that changes a grant table.
pub(crate) fn change_grants(
    session: &mut Session,
    table: &'static GrantTable,
    statement: &Statement,
    reply: &mut dyn Reply,
) -> Result<Done> {
    require_to_change(session, statement, table.name)?;
    let values = session.running.markers.clone();
    session.commit_implicitly()?;
    session.require_writable()?;
    super::lists::alone(session, |session| {
        let copy = copy_grant_table(session, table, true, reply)?;
        let outcome = change_copy(session, statement, table, &values, reply);
        if outcome.is_err() {
            session.abandon_transaction();
        }
        session.forget_temporary(&copy);
        session.discard_dropped();
        outcome
    })
}

/// The rights that a statement needs which changes a table of schema mysql.
fn require_to_change(session: &Session, statement: &Statement, table: &str) -> Result<()> {
    let mut need = vec![Privilege::Select];
    match statement {
        Statement::Insert(i) => {
            need.push(Privilege::Insert);
            need.extend(i.replace.then_some(Privilege::Delete));
            need.extend((!i.on_duplicate.is_empty()).then_some(Privilege::Update));
        }
        Statement::Update(_) => need.push(Privilege::Update),
        _ => need.push(Privilege::Delete),
    }
    session.require_on_table(Privileges::of(&need), "mysql", table)
}

/// A statement that changes mysql.servers.
pub(crate) fn change_servers(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    require_to_change(session, statement, SERVERS)?;
    let values = session.running.markers.clone();
    session.commit_implicitly()?;
    session.require_writable()?;
    super::lists::alone(session, |session| {
        let copy = copy_servers(session, true, reply)?;
        let outcome = run_on_copy(session, statement, &values, reply).and_then(|done| {
            let rows = session.own_rows(ALL_SERVERS)?;
            session.commit_implicitly()?;
            super::objects::replace_servers(session, &rows)?;
            Ok(done)
        });
        if outcome.is_err() {
            session.abandon_transaction();
        }
        session.forget_temporary(&copy);
        session.discard_dropped();
        outcome
    })
}

/// The servers, with their fields as they are kept.
pub(super) const ALL_SERVERS: &str =
    "SELECT Server_name, Host, Db, Username, Password, Port, Socket, Wrapper, Owner FROM mysql.servers";

/// A temporary table in the place of mysql.servers, with its rows or without.
pub(super) fn copy_servers(
    session: &mut Session,
    rows: bool,
    reply: &mut dyn Reply,
) -> Result<Arc<gannet_schema::Table>> {
    let columns = ["Server_name", "Host", "Db", "Username", "Password", "Socket", "Wrapper", "Owner"];
    let columns: String = columns
        .iter()
        .zip([64, 255, 64, 64, 64, 64, 64, 64])
        .map(|(name, chars)| format!("{name} CHAR({chars}) NOT NULL DEFAULT '', "))
        .collect();
    let definition = format!("{columns}Port INT NOT NULL DEFAULT 0, PRIMARY KEY (Server_name)");
    copy_table(session, ("mysql", SERVERS), &definition, if rows { "" } else { " LIMIT 0" }, reply)
}

/// A temporary table of a grant table's name, with its rows or without: statements find it in the table's place.
pub(crate) fn copy_grant_table(
    session: &mut Session,
    table: &GrantTable,
    rows: bool,
    reply: &mut dyn Reply,
) -> Result<Arc<gannet_schema::Table>> {
    let GrantTable { name, key, columns, .. } = table;
    let stamped = matches!(*name, "tables_priv" | "columns_priv" | "procs_priv" | "proxies_priv");
    let columns: String = [*columns, if stamped { STAMP } else { "" }]
        .iter()
        .filter(|c| !c.is_empty())
        .map(|c| format!("{c}, "))
        .collect();
    let some = if rows { "" } else { " LIMIT 0" };
    copy_table(session, ("mysql", name), &format!("{columns}{key}"), some, reply)
}

fn change_copy(
    session: &mut Session,
    statement: &Statement,
    table: &GrantTable,
    values: &[Value],
    reply: &mut dyn Reply,
) -> Result<Done> {
    let all = format!("SELECT * FROM mysql.{}", table.name);
    let before = session.own_rows(&all)?;
    let done = run_on_copy(session, statement, values, reply)?;
    let after = session.own_rows(&all)?;
    session.commit_implicitly()?;
    let list = session.server.accounts.list();
    let zone = &session.settings.exec.time_zone;
    let (put, remove) = changed(table, &list, &Rows(&before, zone), &Rows(&after, zone), None)?;
    super::accounts::refuse_open(session, &put)?;
    let words = super::words::words(session);
    super::accounts::write_accounts(session, words, put, &remove)?;
    if remove.iter().any(|name| session.state.account.is(name)) {
        session.state.account = Arc::new(session.state.account.kept());
    }
    session.state.renew_access();
    Ok(done)
}

/// The rows of grant tables become others, all at once. The session's own account stays as it is if the rows do not
/// have it. Rows without an account are passed over.
pub(super) fn replace_grants(session: &mut Session, mut tables: Vec<(&'static GrantTable, RowsSink)>) -> Result<()> {
    tables.sort_by_key(|(table, _)| TABLES.iter().position(|t| t.name == table.name));
    let own = session.state.account.id();
    let mut before = Vec::with_capacity(tables.len());
    for (table, _) in &tables {
        before.push(session.own_rows(&format!("SELECT * FROM mysql.{}", table.name))?);
    }
    session.commit_implicitly()?;
    let zone = &session.settings.exec.time_zone;
    let mut list: Vec<Arc<Account>> = session.server.accounts.list().to_vec();
    let (mut touched, mut removed): (Vec<Name>, Vec<Name>) = (Vec::new(), Vec::new());
    let mut kept = None;
    for ((table, after), before) in tables.iter().zip(&before) {
        if table.name == "user" && !Rows(after, zone).iter().any(|r| r.account(table) == own) {
            kept = Some(&own);
        }
        let (put, remove) = changed(table, &list, &Rows(before, zone), &Rows(after, zone), Some(kept))?;
        for account in put {
            touched.push(account.id());
            match list.iter_mut().find(|a| a.is(&account.id())) {
                Some(old) => *old = account,
                None => list.push(account),
            }
        }
        list.retain(|a| !remove.iter().any(|name| a.is(name)));
        removed.extend(remove);
    }
    let put: Vec<Arc<Account>> = list.into_iter().filter(|a| touched.contains(&a.id())).collect();
    super::accounts::refuse_open(session, &put)?;
    let words = super::words::words(session);
    super::accounts::write_accounts(session, words, put, &removed)?;
    session.state.renew_access();
    Ok(())
}

/// Tables of schema mysql that the session has dropped.
#[derive(Default)]
pub(crate) struct Restoring(pub(super) BTreeMap<String, Again>);

/// What became of one.
pub(super) enum Again {
    Dropped,
    /// A grant table, with what collects its rows.
    Staged(&'static GrantTable, Arc<gannet_schema::Table>),
    /// mysql.servers, with the same.
    Servers(Arc<gannet_schema::Table>),
    /// A table whose rows are the server's own.
    Own,
}

/// The table's name, if it is in schema mysql.
pub(super) fn in_mysql<'n>(session: &Session, name: &'n ast::ObjectName) -> Option<&'n str> {
    let schema = name.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref());
    // The tables of the logs are stored like a user's.
    let own = schema == Some("mysql") && !gannet_schema::is_log_beside("mysql", &name.name.text);
    own.then_some(&*name.name.text)
}

pub(super) fn made_again<'s>(session: &'s Session, name: &str) -> Option<&'s Again> {
    session.restoring.as_ref()?.0.get(name)
}

/// A table that a dump makes again: there is nothing to lock.
pub(super) fn is_restored(session: &Session, name: &ast::ObjectName) -> bool {
    session.restoring.is_some() && in_mysql(session, name).is_some_and(|name| made_again(session, name).is_some())
}

/// A table that a dump makes again, whose rows are the server's own.
pub(super) fn takes_no_rows(session: &Session, name: &ast::ObjectName) -> bool {
    let again = session.restoring.as_ref().and_then(|_| made_again(session, in_mysql(session, name)?));
    matches!(again, Some(Again::Own))
}

/// The grant table of a name.
pub(super) fn by_name(name: &str) -> Option<&'static GrantTable> {
    TABLES.iter().find(|t| t.name == name)
}

/// A temporary table with the rows of a table of the server's own, and of its name. `some`: which of them.
pub(super) fn copy_table(
    session: &mut Session,
    (schema, name): (&str, &str),
    definition: &str,
    some: &str,
    reply: &mut dyn Reply,
) -> Result<Arc<gannet_schema::Table>> {
    let sql = format!("CREATE TEMPORARY TABLE {schema}.{name} ({definition}) SELECT * FROM {schema}.{name}{some}");
    let parsed = gannet_parser::parse(sql.as_bytes(), gannet_parser::LexMode::default());
    let statement = parsed.map_err(super::text::parse_error)?.statement;
    let Statement::CreateTable(create) = &statement else { return Err(sql_err!(Syntax)) };
    session.make_temporary(&statement, create, reply)?;
    let made = session.state.snapshot.temporary_table(schema, name).cloned();
    made.ok_or_else(|| sql_err!(NoSuchTable, schema, name))
}

/// Runs the statement, which finds the copy in the table's place.
pub(super) fn run_on_copy(
    session: &mut Session,
    statement: &Statement,
    values: &[Value],
    reply: &mut dyn Reply,
) -> Result<Done> {
    let markers: Vec<SqlType> = values.iter().map(type_of).collect();
    let plan = session.make_plan(statement, (&markers, values), None)?;
    let params = session.bind(&plan, &[], b"", values)?;
    session.run_plan(&plan, None, &params, reply)
}

/// The accounts that a statement has changed by their rows, and those that are gone. `restored`: the rows are a dump's,
/// and which account stays as it is.
fn changed(
    table: &GrantTable,
    list: &[Arc<Account>],
    before: &Rows<'_>,
    after: &Rows<'_>,
    restored: Option<Option<&Name>>,
) -> Result<(Vec<Arc<Account>>, Vec<Name>)> {
    let differs = |a: &Row<'_>, rows: &Rows<'_>| !rows.iter().any(|b| b.values == a.values);
    let new = after.iter().filter(|r| differs(r, before));
    let gone = before.iter().filter(|r| differs(r, after));
    let mut names: Vec<Name> = new.chain(gone).map(|r| r.account(table)).collect();
    names.sort();
    names.dedup();
    let (mut put, mut remove) = (Vec::new(), Vec::new());
    for name in names.into_iter().filter(|n| restored.flatten() != Some(n)) {
        let rows: Vec<Row<'_>> = after.iter().filter(|r| r.account(table) == name).collect();
        let old = list.iter().find(|a| a.is(&name));
        let account = match (old, table.name, rows.is_empty()) {
            (_, "user", true) => {
                remove.push(name);
                continue;
            }
            (Some(old), ..) => (**old).clone(),
            (None, "user", false) => {
                Account::new(&name.user, &name.host, Secret::Empty(Plugin::Sha2), Privileges::NONE)
            }
            // Rows without an account of their own: MySQL keeps them, without effect.
            (None, _, true) => continue,
            (None, _, false) if restored.is_some() => continue,
            (None, _, false) => return Err(sql_err!(PasswordNoMatch)),
        };
        put.push(Arc::new(rebuilt(table, account, &rows, list)?));
    }
    Ok((put, remove))
}

/// An account with the properties that a table has of it.
fn rebuilt(table: &GrantTable, mut a: Account, rows: &[Row<'_>], list: &[Arc<Account>]) -> Result<Account> {
    let role = |r: &Row<'_>, user: &str, host: &str| {
        let name = Name::new(&r.text(user), &r.text(host));
        if list.iter().any(|a| a.is(&name)) { Ok(name) } else { Err(sql_err!(UnknownAuthid, name.user, name.host)) }
    };
    let g = &mut a.grants;
    match table.name {
        "user" => return rows.last().map_or(Ok(a.clone()), |r| of_user(&a, r)),
        "db" => {
            g.schemas.clear();
            for r in rows {
                let set = DB_ORDER.iter().filter(|p| r.is_on(&column_of(**p)));
                let set = set.fold(Privileges::NONE, |all, p| all.with((*p).into()));
                let _ = g.edit_schema(&r.text("Db"), true, |p| *p = set);
            }
        }
        "tables_priv" => {
            let former = std::mem::take(&mut g.tables);
            for r in rows {
                let (schema, name, set) = (r.text("Db"), r.text("Table_name"), r.privileges("Table_priv")?);
                let old = former.iter().find(|t| t.schema == schema && t.table == name);
                let _ = g.edit_table(&schema, &name, true, |t| {
                    t.columns = old.map_or(Vec::new(), |t| t.columns.clone());
                    t.privileges = set;
                    (t.grantor, t.at) = (r.text("Grantor"), r.seconds("Timestamp"));
                });
            }
        }
        "columns_priv" => {
            g.tables.iter_mut().for_each(|t| t.columns.clear());
            for r in rows {
                let column = ColumnGrant { column: r.text("Column_name"), privileges: r.privileges("Column_priv")? };
                let at = r.seconds("Timestamp");
                let _ = g.edit_table(&r.text("Db"), &r.text("Table_name"), true, |t| {
                    t.columns.push(column);
                    t.at = at;
                });
            }
            g.tables.retain(|t| t.privileges != Privileges::NONE || !t.columns.is_empty());
        }
        "procs_priv" => {
            g.routines.clear();
            for r in rows {
                g.routines.push(RoutineGrant {
                    schema: r.text("Db"),
                    name: r.text("Routine_name"),
                    function: r.text("Routine_type") == "FUNCTION",
                    privileges: r.privileges("Proc_priv")?,
                });
            }
        }
        "proxies_priv" => {
            let proxy = |r: &Row<'_>| ProxyGrant {
                proxied: Name::new(&r.text("Proxied_user"), &r.text("Proxied_host")),
                option: r.number::<u64>("With_grant").unwrap_or(0) != 0,
                grantor: r.text("Grantor"),
                at: r.seconds("Timestamp"),
            };
            g.proxies = rows.iter().map(proxy).collect();
        }
        "role_edges" => {
            let edge = |r: &Row<'_>| {
                Ok(RoleGrant { role: role(r, "FROM_USER", "FROM_HOST")?, admin: r.is_on("WITH_ADMIN_OPTION") })
            };
            g.roles = rows.iter().map(edge).collect::<Result<_>>()?;
        }
        "default_roles" => {
            let names = rows.iter().map(|r| role(r, "DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST"));
            g.default_roles = names.collect::<Result<_>>()?;
        }
        "global_grants" => {
            let dynamic = Privileges::all_dynamic();
            (g.global, g.grantable) = (g.global.without(dynamic), Privileges::NONE);
            for r in rows {
                let privilege = accounts::by_name(&r.text("PRIV"))?;
                if !accounts::is_dynamic(privilege) {
                    return Err(sql_err!(IllegalPrivilegeLevel, r.text("PRIV")));
                }
                g.global = g.global.with(privilege.into());
                if r.is_on("WITH_GRANT_OPTION") {
                    g.grantable = g.grantable.with(privilege.into());
                }
            }
        }
        _ => {
            let plugin = a.secret.plugin();
            let previous = |r: &Row<'_>| Previous {
                at: r.seconds("Password_timestamp"),
                plugin,
                auth: r.text("Password").into_bytes(),
            };
            a.policy.previous = rows.iter().map(previous).collect();
        }
    }
    Ok(a)
}

/// The column of mysql.user and mysql.db for a privilege.
fn column_of(p: Privilege) -> String {
    match p {
        Privilege::GrantOption => "Grant_priv".into(),
        Privilege::ShowDatabases => "Show_db_priv".into(),
        Privilege::CreateTemporaryTables => "Create_tmp_table_priv".into(),
        Privilege::ReplicationSlave => "Repl_slave_priv".into(),
        Privilege::ReplicationClient => "Repl_client_priv".into(),
        other => format!("{}_priv", accounts::privilege_name(other).replace(' ', "_")),
    }
}

/// An account as its row of mysql.user says.
fn of_user(old: &Account, r: &Row<'_>) -> Result<Account> {
    let name = match r.text("plugin") {
        none if none.is_empty() => Plugin::Sha2.name().to_owned(),
        name => name,
    };
    let plugin = Plugin::by_name(name.as_bytes()).ok_or_else(|| sql_err!(PluginIsNotLoaded, name))?;
    let mut auth = Vec::new();
    if !r.get("authentication_string").is_null() {
        r.get("authentication_string").write_text(&mut auth);
    }
    let secret = Secret::from_authentication_string(plugin, &auth).ok_or_else(|| sql_err!(PasswordFormat))?;
    let fixed = GRANT_ORDER.iter().filter(|p| r.is_on(&column_of(**p)));
    let fixed = fixed.fold(Privileges::NONE, |all, p| all.with((*p).into()));
    let mut a = old.changed(|a| a.secret = secret);
    if a.second.as_ref().is_some_and(|s| s.plugin() != plugin) {
        a.second = None;
    }
    a.grants.global = a.grants.global.and(Privileges::all_dynamic()).with(fixed);
    a.locked = r.is_on("account_locked");
    a.password_changed = r.seconds("password_last_changed");
    let p = &mut a.policy;
    p.require = match &*r.text("ssl_type") {
        "ANY" => Require::Ssl,
        "X509" => Require::X509,
        "SPECIFIED" => Require::Attributes {
            cipher: r.text("ssl_cipher"),
            issuer: r.text("x509_issuer"),
            subject: r.text("x509_subject"),
        },
        _ => Require::None,
    };
    let limits = ["max_questions", "max_updates", "max_connections", "max_user_connections"];
    p.limits = limits.map(|limit| r.number(limit).unwrap_or(0));
    p.expired = r.is_on("password_expired");
    (p.lifetime, p.history) = (r.number("password_lifetime"), r.number("Password_reuse_history"));
    p.reuse_days = r.number("Password_reuse_time");
    p.require_current = (!r.get("Password_require_current").is_null()).then(|| r.is_on("Password_require_current"));
    set_attributes(&mut a, &r.text("User_attributes"))?;
    a.grants.drop_idle_restrictions();
    Ok(a)
}

/// `User_attributes`: a document of the properties without a column of their own. Error 3982 for another text.
fn set_attributes(a: &mut Account, text: &str) -> Result<()> {
    let wrong = || sql_err!(InvalidUserAttributeJson);
    (a.policy.attributes, a.second, a.grants.restrictions) = (String::new(), None, Vec::new());
    (a.policy.attempts, a.policy.lock_days) = (0, 0);
    if text.is_empty() {
        return Ok(());
    }
    let Ok(Json::Object(all)) = json::parse(text.as_bytes()) else { return Err(wrong()) };
    let words = |it: &Json| -> String {
        let mut out = Vec::new();
        it.write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    if let Some(metadata) = all.get("metadata") {
        a.policy.merge_attributes(&words(metadata))?;
    }
    if let Some(Json::Object(locking)) = all.get("Password_locking") {
        let number = |key: &str| locking.get(key).and_then(|n| words(n).parse::<i32>().ok());
        a.policy.attempts = number("failed_login_attempts").and_then(|n| u16::try_from(n).ok()).unwrap_or(0);
        a.policy.lock_days = number("password_lock_time_days").unwrap_or(0);
    }
    if let Some(Json::String(second)) = all.get("additional_password") {
        let secret = Secret::from_authentication_string(a.secret.plugin(), second.as_bytes());
        a.second = Some(secret.ok_or_else(|| sql_err!(PasswordFormat))?);
    }
    if let Some(Json::Array(restrictions)) = all.get("Restrictions") {
        for r in restrictions {
            let Json::Object(r) = r else { return Err(wrong()) };
            let (Some(Json::String(schema)), Some(Json::Array(list))) = (r.get("Database"), r.get("Privileges")) else {
                return Err(wrong());
            };
            let mut privileges = Privileges::NONE;
            for word in list {
                let Json::String(word) = word else { return Err(wrong()) };
                privileges = privileges.with(accounts::by_name(word)?.into());
            }
            a.grants.restrictions.push(Restriction { schema: schema.to_string(), privileges });
        }
    }
    Ok(())
}
