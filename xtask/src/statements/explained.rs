//! Differences with a reason. Each names a construct, and the answers that it explains: what fits none is a fault until
//! somebody has looked at it. What a difference leaves behind is followed by table: a table that one side does not
//! have, or with other rows, makes more statements differ.

use super::Answer;
use std::collections::BTreeSet;

/// Why answers may differ.
pub(super) type Reason = &'static str;

const REPLICATION: Reason = "replication and the binary log: refused by name";
const LATER: Reason = "spatial types: refused by name";
const RETURNING: Reason = "MariaDB's: RETURNING";
const SEQUENCES: Reason = "MariaDB's: sequences";
const TYPES: Reason = "MariaDB's: types UUID and INET6, system versioning";
const SYNTAX: Reason =
    "MariaDB's: SET STATEMENT, EXECUTE IMMEDIATE, ANALYZE of statements, FETCH FIRST, VALUES without ROW, packages";
const WORDS: Reason = "MySQL 8.4: reserved words (ROW)";
const TABLES: Reason = "MariaDB's: tables and columns of its system schemas, its accounts and functions";
const VARIABLES: Reason = "MariaDB's or removed: variables and words of sql_mode that MySQL 8.4 does not have";
const NOT_KEPT: Reason = "tables of sys, and of performance_schema for what is not here: unknown";
const ONLY_HERE: Reason = "MySQL 8.4's: syntax, variables, tables that MariaDB does not have";
const NUMBERS: Reason = "both refuse, MySQL 8.4 with another number";
const JSON: Reason = "MySQL 8.4: JSON is a type, not text: spaces, order of members, what is valid";
const READ_ONLY: Reason = "MySQL 8.4: definitions are refused in a READ ONLY transaction, MariaDB ends it";
const FOREIGN_KEYS: Reason = "MySQL 8.4: foreign keys are checked when a missing parent is made";
const ROUNDING: Reason = "MySQL 8.4: fractions of seconds are rounded, MariaDB cuts them off";
const CONVERSION: Reason = "MySQL 8.4: other results or errors of conversions, decimals of DOUBLE, NULL for TIMESTAMP";
const COUNTS: Reason = "MySQL 8.4: CREATE DATABASE IF NOT EXISTS of one that exists counts a row";
const EXPLAIN: Reason = "MySQL 8.4: forms of EXPLAIN, integers without display width";
const FUNCTIONAL: Reason = "MySQL 8.4: functional indexes hold their columns, system schema is not written";
const SESSION: Reason = "names the connection or the server, random";
const ORDER: Reason = "rows of equal rank behind LIMIT: any may come";
const BY_NAME: Reason = "MariaDB's words, which are refused by name and are no syntax in MySQL";
const OLDER: Reason = "words, variables and tables of older versions and of relatives, which are taken here";
const NEWER: Reason = "MySQL 9: columns that 8.4 does not have";
const REMOVED: Reason = "MySQL 9: functions that 8.4 has";
const PLANS: Reason = "plans and what they cost";
const DICTIONARY: Reason = "the dictionary: its tables are hidden in MySQL, and its views are tables here";
const FOLLOWS: Reason = "follows: a table that differs for a reason above";

/// Numbers of both sides for the same refusal.
const PAIRS: &[(u16, u16)] = &[
    // The database does not exist; of what is not there, the first that is noticed.
    (1049, 1146),
    (1049, 1100),
    (1146, 1932),
    // LOCAL is off.
    (3948, 4166),
    // A view that does not exist.
    (1051, 4092),
    // CHECK, and JSON's.
    (3819, 4025),
    // A foreign key that does not fit.
    (1824, 1005),
    (1822, 1005),
    (3734, 1005),
    (3780, 1005),
    (1826, 1005),
    (3780, 1832),
    (3730, 1451),
];

/// Tables of MariaDB's system schemas which MySQL 8.4 does not have.
const THEIR_TABLES: &[&str] = &[
    "all_plugins",
    "applicable_roles",
    "system_variables",
    "client_statistics",
    "user_statistics",
    "index_statistics",
    "table_statistics",
    "innodb_sys_",
    "innodb_tablespaces_",
    "innodb_mutexes",
    "innodb_ft_",
    "geometry_columns",
    "spatial_ref_sys",
    "key_caches",
    "keywords",
    "sql_functions",
    "optimizer_trace",
    "thread_pool",
    "check_constraints",
    "global_priv",
    "roles_mapping",
    "transaction_registry",
    "gtid_slave_pos",
    "column_stats",
    "index_stats",
    "table_stats",
    "mysql.event",
    "`event`",
    "mysql.proc",
    "`proc`",
    "mysql.host",
    "`host`",
    "periods",
    "wsrep_",
    "innodb_cmp",
    "innodb_lock",
    "innodb_buffer_page",
    "innodb_metrics",
    "mariadb.sys",
    "global_status",
    "session_status",
    "global_variables",
    "session_variables",
    "user_variables",
    "tablespaces",
];

/// Syntax of MySQL 8.4 that MariaDB 10.11 does not have (its manual, "Incompatibilities and Feature Differences"):
/// error 1064 there.
const NOT_THEIRS: &[&str] = &[
    // Operators and functions of JSON.
    "->",
    " member of",
    // Constraints by name or kind.
    "drop check",
    "alter check",
    "alter constraint",
    " enforced",
    // Derived tables that see their neighbours; rows by name; locks that share.
    "lateral",
    " as new on duplicate",
    " for share",
    "for update of ",
    "values row(",
    // What LEAD and LAG give beyond the edge; AUTO_INCREMENT of what is that already.
    "lead(",
    "lag(",
    "serial auto_increment",
    // Statistics, invisible indexes, replication by GTID.
    " histogram on ",
    " alter index ",
    "using gtid",
    "binary log status",
];

/// Statements of MySQL 8.4 that MariaDB 10.11 does not have.
const NOT_THEIR_STATEMENTS: &[&str] = &[
    "explain analyze",
    "explain format=tree",
    "explain format = tree",
    "explain for connection",
    "show extended",
    "show parse_tree",
    "set persist",
    "reset persist",
    "alter instance",
    "lock instance",
    "unlock instance",
    "install component",
    "uninstall component",
    "clone ",
    "restart",
    "table ",
];

/// What has differed so far.
#[derive(Default)]
pub(super) struct History {
    /// The reference is MySQL: what MariaDB does otherwise explains nothing.
    mysql: bool,
    tables: BTreeSet<String>,
    inserted: bool,
    /// A definition was refused in a READ ONLY transaction, which goes on here and has ended there.
    read_only: bool,
}

/// The tables that a statement defines or changes, by their last name.
fn changed_tables(sql: &str) -> Vec<String> {
    let first = sql.split_whitespace().next().unwrap_or_default();
    if !["create", "alter", "insert", "replace", "update", "delete", "drop", "truncate", "rename", "load", "lock"]
        .contains(&first)
    {
        return Vec::new();
    }
    let before =
        ["table", "tables", "into", "update", "from", "view", "replace", "ignore", "sequence", "on", "exists", "to"];
    let skipped = ["if", "not", "exists", "into", "ignore", "table", "low_priority"];
    let words: Vec<&str> =
        sql.split(|c: char| c.is_whitespace() || c == '(' || c == ',').filter(|w| !w.is_empty()).collect();
    let mut names = Vec::new();
    for (i, word) in words.iter().enumerate().filter(|(_, w)| before.contains(w)) {
        let Some(name) = words[i + 1..].iter().find(|w| !skipped.contains(w)) else { continue };
        let name = name.rsplit('.').next().unwrap_or(name).trim_matches(['`', '"', ';']);
        let _ = word;
        if !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    names
}

impl History {
    /// Nothing has differed yet from a reference that is MySQL or MariaDB.
    pub(super) fn beside(mysql: bool) -> Self {
        Self { mysql, ..Self::default() }
    }

    /// A difference was explained: the tables it changes differ from now on.
    pub(super) fn note(&mut self, sql: &str) {
        self.tables.extend(changed_tables(sql));
        self.inserted |= sql.starts_with("insert");
    }

    /// Takes notice of a difference's reason.
    pub(super) fn because(&mut self, reason: Reason) {
        self.read_only |= reason == READ_ONLY;
    }

    /// A table was made or dropped on both sides alike: it is the same again.
    pub(super) fn settle(&mut self, sql: &str) {
        if sql.starts_with("drop table") || sql.starts_with("create table") || sql.starts_with("truncate") {
            for name in changed_tables(sql) {
                self.tables.remove(&name);
            }
        }
    }

    fn touches(&self, sql: &str) -> bool {
        if self.inserted && sql.contains("last_insert_id()") {
            return true;
        }
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let mut words = sql.split(|c: char| !plain(c));
        words.any(|w| self.tables.contains(w))
            || self.tables.iter().any(|t| !t.chars().all(plain) && sql.contains(t.as_str()))
    }
}

fn has(sql: &str, words: &[&str]) -> bool {
    words.iter().any(|w| sql.contains(w))
}

/// Does the statement have syntax that MariaDB does not?
fn is_not_theirs(sql: &str) -> bool {
    // Keys of expressions.
    let functional = sql.contains("((") && starts(sql, &["create", "alter"]);
    functional || has(sql, NOT_THEIRS) || starts(sql, NOT_THEIR_STATEMENTS)
}

fn starts(sql: &str, words: &[&str]) -> bool {
    words.iter().any(|w| sql.starts_with(w))
}

fn sorted(rows: &[String], change: impl Fn(&str) -> String) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|r| change(r)).collect();
    rows.sort();
    rows
}

/// A row without the spaces that JSON text may have.
fn squeezed(row: &str) -> String {
    row.replace(": ", ":").replace(", ", ",").replace("\\/", "/")
}

/// A row with numbers without zeros at their ends.
fn shortened(row: &str) -> String {
    let number = |cell: &str| match cell.parse::<f64>() {
        Ok(n) if cell.contains('.') => n.to_string(),
        _ => cell.to_owned(),
    };
    row.split('|').map(number).collect::<Vec<_>>().join("|")
}

/// A row with times of day without their seconds: a test value's fraction never goes over a minute.
fn to_minutes(row: &str) -> String {
    let time = |cell: &str| match cell.rfind(':') {
        Some(at) if cell.len() >= 8 && cell[..at].contains(':') => cell[..at].to_owned(),
        _ => cell.to_owned(),
    };
    row.split('|').map(time).collect::<Vec<_>>().join("|")
}

/// Names of constructs which are out of scope, when our side refused.
fn out_of_scope(sql: &str, code: u16) -> Option<Reason> {
    let replication =
        ["slave", "master", "replica", "binlog", "binary log", "relaylog", "gtid", "semi_sync", "group_replication"];
    match code {
        1235 | 1064 | 1305 | 1227 | 1193 | 1146 | 1381 if has(sql, &replication) => Some(REPLICATION),
        1235 | 1305 if has(sql, &["geometry", "linestring", "polygon", " point", "st_", "geomfromtext"]) => Some(LATER),
        _ => None,
    }
}

/// Constructs that MySQL 8.4 refuses as we do.
fn of_mariadb(sql: &str, code: u16, message: &str) -> Option<Reason> {
    match code {
        1235 | 1064 if sql.contains(" returning ") => Some(RETURNING),
        1235 | 1064 | 1305
            if has(sql, &["sequence", "nextval", "lastval", "setval", "next value for", "previous value for"]) =>
        {
            Some(SEQUENCES)
        }
        1064 | 1235
            if has(sql, &[" uuid", " inet6", "system versioning", "system_time"])
                && starts(sql, &["create", "alter", "select"]) =>
        {
            Some(TYPES)
        }
        1064 | 1235
            if starts(
                sql,
                &["set statement", "execute immediate", "analyze format", "analyze select", "show package"],
            ) =>
        {
            Some(SYNTAX)
        }
        1064 | 1235 if has(sql, &["package", "rows only", "row only", "with ties"]) => Some(SYNTAX),
        1064 if message.contains("near 'row ") => Some(WORDS),
        // A list of rows without the word ROW.
        1064 if sql.contains("(values (") => Some(SYNTAX),
        1054 if sql.contains("`password`") && sql.contains("`mysql`.`user`") => Some(TABLES),
        1193 => Some(VARIABLES),
        1231 if message.contains("sql_mode") => Some(VARIABLES),
        1109 | 1146 | 1054 | 1141 | 1142 | 1288 | 1347 if has(sql, THEIR_TABLES) => Some(TABLES),
        // Accounts that MariaDB's installation makes.
        1141 if sql.starts_with("show grants for") => Some(TABLES),
        1305 if has(sql, &["binlog_gtid_pos", "column_", "json_detailed", "last_gtid", "natural_sort_key"]) => {
            Some(TABLES)
        }
        1146 | 1109 if has(sql, &["performance_schema", "sys.", "`sys`"]) => Some(NOT_KEPT),
        _ => None,
    }
}

/// The reason, when there is one. `sql` is in lower case, without comments, with single spaces.
pub(super) fn reason(ours: &Answer, theirs: &Answer, sql: &str, history: &History) -> Option<Reason> {
    if history.mysql {
        return beside_mysql(ours, theirs, sql).or_else(|| history.touches(sql).then_some(FOLLOWS));
    }
    if let Answer::Refused(code, message) = ours
        && let Some(reason) = out_of_scope(sql, *code).or_else(|| of_mariadb(sql, *code, message))
    {
        return Some(reason);
    }
    let known = match (ours, theirs) {
        (Answer::Refused(a, _), Answer::Refused(b, _)) => both_refuse(*a, *b, sql),
        (Answer::Refused(code, message), _) => only_we_refuse(*code, message, sql),
        (_, Answer::Refused(code, _)) => only_they_refuse(*code, sql, history),
        (Answer::Rows(a, x), Answer::Rows(b, y)) => other_rows((a, x), (b, y), sql),
        (Answer::Ok(1), Answer::Ok(0)) if starts(sql, &["create database if not", "create schema if not"]) => {
            Some(COUNTS)
        }
        _ => None,
    };
    known.or_else(|| history.touches(sql).then_some(FOLLOWS))
}

/// Why answers may differ from those of MySQL 9.7.
fn beside_mysql(ours: &Answer, theirs: &Answer, sql: &str) -> Option<Reason> {
    match (ours, theirs) {
        (Answer::Refused(1235, message), _) if message.contains("spatial") => Some(LATER),
        (Answer::Refused(1235 | 1146, _), Answer::Refused(1064, _)) => Some(BY_NAME),
        (Answer::Refused(1044 | 1146, _), Answer::Refused(3554, _)) => Some(DICTIONARY),
        (Answer::Refused(1044, _), Answer::Ok(_)) if sql.contains("engine=myisam") => Some(DICTIONARY),
        (Answer::Ok(_) | Answer::Rows(..), Answer::Refused(1064, _))
            if has(sql, &["master status", "slave status", "slave hosts", "slaves status", " if exists "]) =>
        {
            Some(OLDER)
        }
        (Answer::Ok(_) | Answer::Rows(..), Answer::Refused(1193, _))
            if has(sql, &["tx_isolation", "storage_engine", "rpl_semi_sync_"]) =>
        {
            Some(OLDER)
        }
        (_, Answer::Refused(1109 | 1146, _)) if has(sql, USERSTAT) => Some(OLDER),
        (Answer::Rows(..), Answer::Refused(1305, _)) if has(sql, &["sha1(", "sha(", "md5("]) => Some(REMOVED),
        (Answer::Rows(..), Answer::Rows(..)) => other_rows_of_mysql(sql),
        _ => None,
    }
}

/// Tables of `userstat`, which MariaDB and Percona have.
const USERSTAT: &[&str] = &["client_statistics", "user_statistics", "index_statistics", "table_statistics"];

fn other_rows_of_mysql(sql: &str) -> Option<Reason> {
    let session = ["connection_id()", "rand()", "uuid()", "current_user", "session_user", "system_user"];
    match () {
        () if has(sql, &session) => Some(SESSION),
        () if sql.starts_with("explain") => Some(PLANS),
        () if has(sql, &["mysql`.`user", "mysql.user"]) => Some(TABLES),
        () if sql.starts_with("show create table `information_schema`") => Some(DICTIONARY),
        () if has(sql, &["function status", "procedure status", "`partitions`"]) => Some(NEWER),
        () if has(sql, &["slaves status", "slave status", "replica status"]) => Some(OLDER),
        // Types and character sets of the dictionary's columns, which are views in MySQL.
        () if has(sql, &["information_schema", "show "]) => Some(DICTIONARY),
        () if sql.contains(" limit ") => Some(ORDER),
        () => None,
    }
}

fn both_refuse(ours: u16, theirs: u16, sql: &str) -> Option<Reason> {
    match (ours, theirs) {
        pair if PAIRS.contains(&pair) => Some(NUMBERS),
        (3140..=3160, 4025 | 4038) => Some(JSON),
        // What MariaDB does not know was understood here, and refused for another reason: a table that is not there.
        (1054 | 1062 | 1146 | 3758 | 3821, 1064) if is_not_theirs(sql) => Some(ONLY_HERE),
        (1146, 1128) if sql.contains("with parser") => Some(ONLY_HERE),
        (3837, _) => Some(FUNCTIONAL),
        (1044, _) => Some(FUNCTIONAL),
        _ => None,
    }
}

fn only_we_refuse(code: u16, message: &str, sql: &str) -> Option<Reason> {
    match code {
        // SHOW of a database that does not exist has no rows there.
        1049 if starts(sql, &["show events", "show triggers", "show procedure", "show function"]) => Some(NUMBERS),
        3140..=3160 => Some(JSON),
        1824 => Some(FOREIGN_KEYS),
        1525 => Some(CONVERSION),
        1292 if sql.starts_with("delete") || sql.starts_with("update") => Some(CONVERSION),
        1048 if sql.contains("timestamp") => Some(CONVERSION),
        3837 => Some(FUNCTIONAL),
        1044 if message.contains("'mysql'") || message.contains("'sys'") => Some(FUNCTIONAL),
        1792 if starts(sql, &["create", "alter", "drop", "truncate", "rename"]) => Some(READ_ONLY),
        _ => None,
    }
}

fn only_they_refuse(code: u16, sql: &str, history: &History) -> Option<Reason> {
    match code {
        1305 if history.read_only && starts(sql, &["release savepoint", "rollback to"]) => Some(FOLLOWS),
        1064 if is_not_theirs(sql) => Some(ONLY_HERE),
        // Generated columns with a condition behind them.
        1064 if has(sql, &[" stored not null", " virtual not null", " stored null", " virtual null"]) => {
            Some(ONLY_HERE)
        }
        1193 => Some(ONLY_HERE),
        1791 if sql.starts_with("explain") => Some(ONLY_HERE),
        1054 | 1146 | 1109 if has(sql, &["information_schema", "performance_schema", "mysql."]) => Some(ONLY_HERE),
        4025 | 4038 => Some(JSON),
        _ => None,
    }
}

type Rows<'a> = (&'a Vec<String>, &'a Vec<String>);

fn other_rows((names, ours): Rows<'_>, (their_names, theirs): Rows<'_>, sql: &str) -> Option<Reason> {
    if has(sql, &["user()", "connection_id()", "rand()", "uuid()", "current_user", "session_user", "system_user"]) {
        return Some(SESSION);
    }
    if starts(sql, &["explain", "describe", "desc "]) {
        return Some(EXPLAIN);
    }
    // Tables of accounts have other columns, and the accounts that an installation makes.
    if has(sql, &["mysql`.`user`", "mysql`.`db`", "mysql.user", "mysql.db"]) {
        return Some(TABLES);
    }
    if names != their_names {
        return None;
    }
    if sorted(ours, squeezed) == sorted(theirs, squeezed) {
        return Some(JSON);
    }
    if sorted(ours, shortened) == sorted(theirs, shortened) {
        return Some(CONVERSION);
    }
    if sorted(ours, to_minutes) == sorted(theirs, to_minutes) {
        return Some(ROUNDING);
    }
    // A text that is no time: '00:00:00' here, NULL there.
    if has(sql, &[" as time", "time('"]) && theirs.iter().any(|r| r.contains("NULL")) {
        return Some(CONVERSION);
    }
    let limited = sql.contains(" limit ") && ours.len() == theirs.len();
    (limited && !sql.contains(" where id = ")).then_some(ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16) -> Answer {
        Answer::Refused(code, "This version of MySQL doesn't yet support 'x'".into())
    }

    #[test]
    fn what_an_explained_difference_leaves_is_followed() {
        let mut history = History::default();
        let sql = "insert into `t` (a) values (1) returning `t`.`id`";
        assert_eq!(reason(&refused(1235), &Answer::Ok(1), sql, &history), Some(RETURNING));
        let (few, many) = (Answer::Rows(vec![], vec![]), Answer::Rows(vec![], vec!["1".into()]));
        assert_eq!(reason(&few, &many, "select * from t", &history), None);
        history.note(sql);
        assert_eq!(reason(&few, &many, "select * from t", &history), Some(FOLLOWS));
        assert_eq!(reason(&few, &many, "select * from tt", &history), None);
        history.settle("drop table if exists `d`.`t`");
        assert_eq!(reason(&few, &many, "select * from t", &history), None);
    }

    #[test]
    fn what_has_no_reason_is_open() {
        let history = History::default();
        let rows = |r: &str| Answer::Rows(vec!["x".into()], vec![r.into()]);
        for (ours, theirs, sql) in [
            (refused(1064), Answer::Ok(0), "create table t (a int)"),
            (refused(1235), Answer::Ok(0), "create table t (a int)"),
            (refused(1146), rows("1"), "select * from t"),
            (refused(1292), Answer::Ok(1), "insert into t values ('x')"),
            (rows("1"), rows("2"), "select a from t"),
            (Answer::Ok(1), Answer::Ok(2), "update t set a = 1"),
            (Answer::Ok(1), refused(1062), "insert into t values (1)"),
        ] {
            assert_eq!(reason(&ours, &theirs, sql, &history), None, "{sql}");
        }
        assert_eq!(reason(&rows("{\"a\": 1}"), &rows("{\"a\":1}"), "select j from t", &history), Some(JSON));
        assert_eq!(reason(&rows("1|2"), &rows("1.0000|2"), "select a from t", &history), Some(CONVERSION));
    }
}
