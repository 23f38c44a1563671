//! The tables of `innodb_memcache`: which table, and which of its columns, a container is.

use crate::{Shared, account_name};
use gannet_core::accounts::Account;
use gannet_core::vars::Live;
use gannet_session::{Answer, OwnSession};
use gannet_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

/// A row of `containers`: names, as they stand there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mapping {
    pub(crate) name: String,
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
    pub(crate) flags: Option<String>,
    pub(crate) cas: Option<String>,
    pub(crate) expiry: Option<String>,
    pub(crate) index: String,
    /// Changes are answered when they are durable; `None`: as the variable says.
    pub(crate) durable: Option<bool>,
}

/// What the row of `cache_policies` allows: get, set, delete, flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policies(pub(crate) [bool; 4]);

/// What a policy is about, and its place in [`Policies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Get,
    Set,
    Delete,
    Flush,
}

impl Policies {
    /// Error 1235 for what is switched off.
    pub(crate) fn allow(self, what: Policy) -> Result<()> {
        if self.0[what as usize] {
            return Ok(());
        }
        let name = ["get", "set", "delete", "flush"][what as usize];
        Err(SqlError::unsupported(format_args!(
            "{name}_policy of innodb_memcache.cache_policies is not innodb_only or caching: {name}"
        )))
    }
}

/// What the tables say.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    /// By name.
    pub(crate) containers: Vec<Mapping>,
    /// Between the values of several columns.
    pub(crate) separator: u8,
    /// Between a container's name and a key.
    pub(crate) delimiter: u8,
    pub(crate) policies: Policies,
}

/// Without any set-up: the container of MySQL's plugin, wide enough for every key and value. The flags have bits beyond
/// those of a client, for items that are stale.
const MAKE_ITEMS: &str = "
CREATE DATABASE IF NOT EXISTS innodb_memcache;
CREATE DATABASE IF NOT EXISTS test;
CREATE TABLE IF NOT EXISTS test.demo_test (
  c1 VARBINARY(250) NOT NULL PRIMARY KEY,
  c2 MEDIUMBLOB,
  c3 BIGINT UNSIGNED,
  c4 BIGINT UNSIGNED,
  c5 BIGINT
);
";

/// The tables as MySQL's plugin has them. `containers` comes last and with its row: where it is, the rest is.
const MAKE_TABLES: &str = "
CREATE TABLE IF NOT EXISTS innodb_memcache.cache_policies (
  policy_name VARCHAR(40) PRIMARY KEY,
  get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL
);
CREATE TABLE IF NOT EXISTS innodb_memcache.config_options (name VARCHAR(50) NOT NULL PRIMARY KEY, value VARCHAR(50));
INSERT IGNORE INTO innodb_memcache.cache_policies
  VALUES ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');
INSERT IGNORE INTO innodb_memcache.config_options VALUES ('separator', '|'), ('table_map_delimiter', '.');
CREATE TABLE IF NOT EXISTS innodb_memcache.containers (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  db_schema VARCHAR(250) NOT NULL,
  db_table VARCHAR(250) NOT NULL,
  key_columns VARCHAR(250) NOT NULL,
  value_columns VARCHAR(250),
  flags VARCHAR(250) NOT NULL DEFAULT '0',
  cas_column VARCHAR(250),
  expire_time_column VARCHAR(250),
  unique_idx_name_on_key VARCHAR(250) NOT NULL,
  durable ENUM('ON', 'OFF') INVISIBLE
) AS SELECT 'aaa' AS name, 'test' AS db_schema, 'demo_test' AS db_table, 'c1' AS key_columns, 'c2' AS value_columns,
  'c3' AS flags, 'c4' AS cas_column, 'c5' AS expire_time_column, 'PRIMARY' AS unique_idx_name_on_key, NULL AS durable;
";

const CONTAINERS: &str = "SELECT name, db_schema, db_table, key_columns, value_columns, flags, cas_column, \
                          expire_time_column, unique_idx_name_on_key, durable FROM innodb_memcache.containers ORDER BY name";
/// Of a table that came from MySQL.
const PLAIN_CONTAINERS: &str = "SELECT name, db_schema, db_table, key_columns, value_columns, flags, cas_column, \
                                expire_time_column, unique_idx_name_on_key, NULL FROM innodb_memcache.containers ORDER BY name";
const OPTIONS: &str = "SELECT name, value FROM innodb_memcache.config_options";
const POLICIES: &str = "SELECT get_policy, set_policy, delete_policy, flush_policy FROM innodb_memcache.cache_policies \
                        ORDER BY policy_name <> 'cache_policy', policy_name LIMIT 1";

impl Config {
    /// Reads the tables; makes them where they are not.
    pub(crate) fn load(shared: &Shared) -> Result<Config> {
        let mut session = shared.sessions.own_of(Arc::new(Account::unchecked()), "memcached")?;
        let rows = match rows(&mut session, CONTAINERS) {
            Err(e) if matches!(e.code(), ErrorCode::NoSuchTable | ErrorCode::BadDb) => {
                set_up(shared, &mut session)?;
                rows(&mut session, CONTAINERS)?
            }
            Err(e) if e.code() == ErrorCode::BadField => rows(&mut session, PLAIN_CONTAINERS)?,
            other => other?,
        };
        let containers = rows.iter().map(|row| Mapping::of(row)).collect();
        let options = rows_or_none(&mut session, OPTIONS)?;
        let option = |name: &str, or: u8| {
            let row = options.iter().find(|row| text(&row[0]).eq_ignore_ascii_case(name));
            row.and_then(|row| text(&row[1]).bytes().next()).unwrap_or(or)
        };
        let policies = rows_or_none(&mut session, POLICIES)?;
        let allowed =
            |i: usize| policies.first().is_none_or(|row| matches!(&*text(&row[i]), "innodb_only" | "caching"));
        Ok(Config {
            containers,
            separator: option("separator", b'|'),
            delimiter: option("table_map_delimiter", b'.'),
            policies: Policies([0, 1, 2, 3].map(allowed)),
        })
    }

    /// The container with this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Mapping> {
        self.containers.iter().find(|c| c.name == name)
    }

    /// The container of a connection that has not named one.
    pub(crate) fn default(&self) -> Option<&Mapping> {
        self.find("default").or_else(|| self.containers.first())
    }
}

/// A table that is not there says nothing.
fn rows_or_none(session: &mut OwnSession, sql: &str) -> Result<Vec<Vec<Value>>> {
    match rows(session, sql) {
        Err(e) if e.code() == ErrorCode::NoSuchTable => Ok(Vec::new()),
        other => other,
    }
}

impl Mapping {
    fn of(row: &[Value]) -> Mapping {
        let name = |i: usize| text(&row[i]);
        let optional = |i: usize| Some(name(i)).filter(|name| !name.is_empty() && name != "0");
        let between = |c: char| matches!(c, ',' | ';' | '|' | ' ');
        let values = name(4).split(between).filter(|v| !v.is_empty()).map(str::to_owned).collect();
        Mapping {
            name: name(0),
            schema: name(1),
            table: name(2),
            key: name(3).trim().to_owned(),
            values,
            flags: optional(5),
            cas: optional(6),
            expiry: optional(7),
            index: name(8),
            durable: optional(9).map(|durable| durable == "ON"),
        }
    }

    /// A table without a row of `containers`: the key is its primary key, the values are all other columns.
    pub(crate) fn of_table(schema: &str, table: &str) -> Mapping {
        let (name, key) = (format!("{schema}.{table}"), String::new());
        let (schema, table, index) = (schema.into(), table.into(), "PRIMARY".into());
        Mapping {
            name,
            schema,
            table,
            key,
            values: Vec::new(),
            flags: None,
            cas: None,
            expiry: None,
            index,
            durable: None,
        }
    }

    /// Its columns are those that the table has.
    pub(crate) fn is_whole_table(&self) -> bool {
        self.key.is_empty()
    }
}

fn text(value: &Value) -> String {
    let mut bytes = Vec::new();
    if !value.is_null() {
        value.write_text(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rows(session: &mut OwnSession, sql: &str) -> Result<Vec<Vec<Value>>> {
    match session.run(sql).pop() {
        Some(Answer::Rows { rows, .. }) => Ok(rows),
        Some(Answer::Failed(e)) => Err(e),
        _ => Err(SqlError::internal("a query without an answer")),
    }
}

/// Makes the tables, and the account that clients without a login have, unless it is there. What was made before a
/// crash is made no more.
fn set_up(shared: &Shared, session: &mut OwnSession) -> Result<()> {
    let mut execute = |sql: &str| session.execute(sql).map(drop).map_err(|(_, e)| e);
    execute(MAKE_ITEMS)?;
    let core = &shared.core;
    let named = core.globals.get(Live::MemcachedAccount);
    let (user, host) = account_name(named.as_str());
    if !core.accounts.skipped() {
        let quoted = |s: &str| format!("'{}'", s.replace('\\', "\\\\").replace('\'', "''"));
        let account = format!("{}@{}", quoted(user), quoted(host));
        if core.accounts.get(user, host).is_none() {
            // Nobody logs in with it.
            let password = format!("{:016x}{:016x}", gannet_runtime::random_u64(), gannet_runtime::random_u64());
            execute(&format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password}' ACCOUNT LOCK"))?;
        }
        execute(&format!("GRANT SELECT, INSERT, UPDATE, DELETE ON test.demo_test TO {account}"))?;
    }
    execute(MAKE_TABLES)
}
