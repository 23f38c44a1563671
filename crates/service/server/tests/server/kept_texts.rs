//! No password is kept or shown: not in any table of the system schemas, not in a list, not in a log.

use crate::common::{PATIENCE, Running, options, rows, run};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::cap;

/// Statements with a password in it, as clients send them; some fail.
const STATEMENTS: &[&str] = &[
    "CREATE USER k1 IDENTIFIED BY 'HUSH'",
    "ALTER USER k1 IDENTIFIED BY 'HUSH' COMMENT 'seen'",
    "SET PASSWORD FOR k1 = 'HUSH'",
    "/*!80000 ALTER USER k1 IDENTIFIED BY 'HUSH' */",
    "CREATE USER k1 IDENTIFIED BY 'HUSH'",
    "CREATE USER k2 IDENTIFIED BY HUSH",
    "ALTER USER k1 IDENTIFIED BY 'HUSH",
    "CREATE USER k2 IDENTIFED BY 'HUSH'",
    "PREPARE p FROM 'ALTER USER k1 IDENTIFIED BY ''HUSH'''",
    "EXECUTE p",
    "SET @t = 'ALTER USER k1 IDENTIFIED BY ''HUSH'''",
    "PREPARE p FROM @t",
    "GRANT SELECT ON *.* TO k1 IDENTIFIED BY 'HUSH'",
    "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'HUSH'",
    "START REPLICA USER = 'u' PASSWORD = 'HUSH'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'HUSH')",
    "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY 'HUSH'",
    "SELECT 1; ALTER USER k1 IDENTIFIED BY 'HUSH'",
    "SELECT 1; ALTER USER k1 IDENTIFIED BY HUSH",
];

/// Every row of every table that the system schemas have.
fn everything(c: &mut Connection) -> Vec<String> {
    let tables = "SELECT CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '`') FROM information_schema.TABLES \
                  WHERE TABLE_SCHEMA IN ('information_schema', 'performance_schema', 'mysql', 'sys') \
                  AND TABLE_NAME NOT IN ('user_variables_by_thread', 'servers')";
    let mut queries: Vec<String> = rows(c, tables).iter().map(|r| format!("SELECT * FROM {}", r[0])).collect();
    assert!(queries.len() > 80, "{} tables", queries.len());
    let lists = ["SHOW FULL PROCESSLIST", "SHOW PROCESSLIST", "SHOW ENGINE INNODB STATUS", "SHOW PROFILES"];
    queries.extend(lists.map(String::from));
    let mut seen = Vec::new();
    for query in queries {
        let of_table = c.query(&query).unwrap_or_else(|e| panic!("{query}: {e}")).texts();
        seen.extend(of_table.into_iter().map(|row| format!("{query}: {}", row.join("|"))));
    }
    seen
}

fn assert_hushed(seen: &[String]) {
    for row in seen {
        assert!(!row.to_uppercase().contains("HUSH"), "{row}");
    }
}

#[test]
fn no_password_is_shown_or_written() {
    let r = Running::start();
    let with = Options { capabilities: cap::MULTI_STATEMENTS, ..options() };
    let mut c = Connection::connect(&r.socket(), &with).unwrap();
    for sql in [
        "SET GLOBAL general_log_file = 'g.log', GLOBAL slow_query_log_file = 's.log'",
        "SET GLOBAL general_log = ON, GLOBAL slow_query_log = ON",
        "SET long_query_time = 0, profiling = 1, profiling_history_size = 100",
    ] {
        run(&mut c, sql);
    }
    for sql in STATEMENTS {
        let _ = c.query_multi(sql);
        let _ = c.prepare(sql).map(|s| c.execute(&s, &[]));
    }
    let seen = everything(&mut c);
    assert_hushed(&seen);
    let digest = |text: &str| seen.iter().any(|row| row.contains("events_statements_summary") && row.contains(text));
    assert!(digest("CREATE USER k1 IDENTIFIED BY <secret>") && digest("<a text with an error"));
    for (log, text) in [("g.log", "SET PASSWORD FOR k1 = <secret>"), ("s.log", "SET PASSWORD FOR k1 = <secret>")] {
        let text_of = std::fs::read_to_string(r.dir.join(log)).unwrap();
        assert!(text_of.contains(text), "{log}: {text_of}");
        assert_hushed(&text_of.lines().map(String::from).collect::<Vec<_>>());
    }
}

#[test]
fn no_password_is_shown_while_its_statement_runs() {
    let r = Running::start();
    let (mut c, mut waiting) = (r.connect(), r.connect());
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY) SELECT 1 AS a");
    let id = crate::common::one(&mut waiting, "SELECT CONNECTION_ID()");
    let running = std::thread::spawn(move || {
        run(&mut waiting, "BEGIN");
        run(&mut waiting, "SELECT * FROM d.t FOR UPDATE");
        let _ = waiting.query("SET @t = CONCAT('ALTER USER k1 IDENTIFIED BY ''HUSH''', SLEEP(60))");
    });
    let list = format!("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'SET%'");
    let until = std::time::Instant::now() + PATIENCE;
    while rows(&mut c, &list).is_empty() {
        assert!(std::time::Instant::now() < until, "the statement never ran");
    }
    assert_eq!(rows(&mut c, &list)[0][0], "SET @t = CONCAT(<secret>, SLEEP(60))");
    let seen = everything(&mut c);
    for place in ["performance_schema`.`threads", "INNODB_TRX", "SHOW FULL PROCESSLIST", "SHOW ENGINE INNODB STATUS"] {
        assert!(seen.iter().any(|row| row.contains(place) && row.contains("<secret>")), "{place}");
    }
    assert_hushed(&seen);
    run(&mut c, &format!("KILL QUERY {id}"));
    running.join().unwrap();
}
