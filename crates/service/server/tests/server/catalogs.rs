//! Virtual tables as a whole: all of them can be read, by everybody as far as they may see, and quickly when there is
//! much to see.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Connection, Options};
use std::time::Instant;

#[test]
fn every_virtual_table_can_be_read() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(10), KEY (b))");
    run(&mut root, "ANALYZE TABLE d.t");
    run(&mut root, "CREATE USER u@localhost");
    let mut u = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    let schemas = "('information_schema', 'performance_schema', 'mysql')";
    let all = rows(
        &mut root,
        &format!("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA IN {schemas}"),
    );
    assert!(all.len() > 100, "{}", all.len());
    let mut empty = Vec::new();
    for t in &all {
        let sql = format!("SELECT * FROM `{}`.`{}`", t[0], t[1]);
        let found = rows(&mut root, &sql);
        // Somebody without rights is told so, or sees nothing of what is not his.
        let mine = error(&mut u, &sql);
        assert!(matches!(mine, 0 | 1142 | 1227), "{sql}: {mine}");
        if mine == 0 && t[0] == "information_schema" {
            let seen = rows(&mut u, &sql);
            assert!(seen.iter().all(|r| !r.contains(&"d".to_string())), "{sql}: {seen:?}");
        }
        if found.is_empty() {
            empty.push(t[1].as_str());
        }
    }
    for name in NEVER_EMPTY {
        assert!(!empty.contains(name), "{name} has no rows");
    }
}

/// Tables that have rows on any server with a table and an account.
const NEVER_EMPTY: &[&str] = &[
    "CHARACTER_SETS",
    "COLLATIONS",
    "COLLATION_CHARACTER_SET_APPLICABILITY",
    "COLUMNS",
    "ENGINES",
    "INNODB_BUFFER_POOL_STATS",
    "INNODB_COLUMNS",
    "INNODB_FIELDS",
    "INNODB_INDEXES",
    "INNODB_METRICS",
    "INNODB_TABLES",
    "INNODB_TABLESTATS",
    "KEYWORDS",
    "KEY_COLUMN_USAGE",
    "PARTITIONS",
    "PLUGINS",
    "PROCESSLIST",
    "RESOURCE_GROUPS",
    "SCHEMATA",
    "SCHEMATA_EXTENSIONS",
    "STATISTICS",
    "TABLES",
    "TABLES_EXTENSIONS",
    "TABLE_CONSTRAINTS",
    "USER_ATTRIBUTES",
    "USER_PRIVILEGES",
    "accounts",
    "events_statements_summary_by_digest",
    "events_waits_summary_global_by_event_name",
    "global_status",
    "global_variables",
    "hosts",
    "innodb_index_stats",
    "innodb_table_stats",
    "processlist",
    "session_status",
    "session_variables",
    "setup_actors",
    "setup_consumers",
    "setup_instruments",
    "setup_objects",
    "threads",
    "user",
    "users",
    "variables_info",
];

fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// `cargo test --release -p gannet-server --test server catalogs:: -- --ignored --nocapture`: figures for
/// docs/benchmarks.md.
#[test]
#[ignore = "a measurement: creates 10,000 tables"]
fn ten_thousand_tables() {
    let mut r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE many");
    run(&mut c, "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let before = resident_kib();
    let started = Instant::now();
    for i in 0..10_000 {
        let columns = "id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL DEFAULT '', n INT, d DATETIME, KEY (name)";
        run(&mut c, &format!("CREATE TABLE many.t{i} ({columns})"));
    }
    println!("create: {:.1?}, {:.1} KiB a table", started.elapsed(), (resident_kib() - before) as f64 / 1e4);
    drop(c);
    let started = Instant::now();
    r.restart();
    println!("restart: {:.1?}", started.elapsed());
    let mut c = r.connect();
    let before = resident_kib();
    for sql in [
        "SHOW COLUMNS FROM many.t7000",
        "SHOW FULL COLUMNS FROM many.t7001",
        "SHOW CREATE TABLE many.t7002",
        "SHOW INDEX FROM many.t7003",
        "SHOW TABLES FROM many",
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'many' AND TABLE_NAME = 't9999'",
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'many'",
        "SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'many'",
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'many'",
        "SELECT * FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'many' AND TABLE_NAME = 't5'",
    ] {
        for _ in 0..2 {
            let started = Instant::now();
            let n = rows(&mut c, sql).len();
            println!("{:>8.2} ms, {n} rows: {sql}", started.elapsed().as_secs_f64() * 1e3);
        }
    }
    println!("after looking at all: {:.1} KiB a table", resident_kib().saturating_sub(before) as f64 / 1e4);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'many'"), "10000");
}
