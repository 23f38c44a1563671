//! The general and the slow query log.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Arg, Connection, Options};
use gannet_wire::flags::{cap, com};
use std::time::Duration;

/// The lines of a log in the data directory, without times and their header.
fn lines(r: &Running, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(r.dir.join(name)).unwrap_or_default();
    let header = |l: &str| l.starts_with("Tcp port:") || l.contains("started with:") || l.starts_with("Time    ");
    let without_time = |l: &str| match l.split_once("Z\t") {
        Some((_, rest)) => rest.trim_start().split_once(' ').map_or(rest, |(_, said)| said).to_string(),
        None => l.to_string(),
    };
    text.lines().filter(|l| !header(l)).map(without_time).collect()
}

fn run_each(c: &mut Connection, statements: &[&str]) {
    statements.iter().for_each(|sql| run(c, sql));
}

fn general(c: &mut Connection) {
    run_each(c, &["SET GLOBAL general_log_file = 'g.log'", "SET GLOBAL general_log = ON"]);
}

#[test]
fn what_clients_send() {
    let r = Running::start();
    let mut c = r.connect();
    general(&mut c);
    {
        let with = Options { capabilities: cap::MULTI_STATEMENTS, ..options() };
        let mut other = Connection::connect(&r.socket(), &with).unwrap();
        other.query_multi("DO 1; SELECT 'a;b' ; DO 2;").unwrap();
        let s = other.prepare("SELECT ?, '?', ?").unwrap();
        other.execute(&s, &[Arg::Int(7), Arg::Text("it's")]).unwrap();
        other.close(&s).unwrap();
        other.ping().unwrap();
        assert_eq!(error(&mut other, "SELEC 1"), 1064);
        run(&mut other, "CREATE USER u IDENTIFIED BY 'hush'");
        run(&mut other, "SET sql_log_off = ON");
        run(&mut other, "DO 'not seen'");
        run(&mut other, "SET sql_log_off = OFF");
        other.quit().unwrap();
    }
    let wrong = Options { user: "u".into(), password: "x".into(), ..options() };
    assert_eq!(Connection::connect(&r.socket(), &wrong).unwrap_err().code(), Some(1045));
    run(&mut c, "SET GLOBAL general_log = OFF");
    run(&mut c, "DO 'not seen either'");
    let seen = lines(&r, "g.log");
    let want = [
        "Connect\troot@localhost on  using Socket",
        "Query\tDO 1",
        "Query\tSELECT 'a;b'",
        "Query\tDO 2",
        "Prepare\tSELECT ?, '?', ?",
        "Execute\tSELECT 7, '?', 'it''s'",
        "Close stmt\t",
        "Ping\t",
        "Query\tSELEC 1",
        "Query\tCREATE USER u IDENTIFIED BY <secret>",
        "Query\tSET sql_log_off = ON",
        "Quit\t",
        "Connect\tAccess denied for user 'u'@'localhost' (using password: YES)",
        "Query\tSET GLOBAL general_log = OFF",
    ];
    assert_eq!(seen, want);
}

#[test]
fn slow_statements() {
    let r = Running::start();
    let mut c = r.connect();
    run_each(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
            "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)",
            "SET GLOBAL slow_query_log_file = 's.log'",
            "SET GLOBAL slow_query_log = ON",
            "USE d",
        ],
    );
    let slow: u64 = rows(&mut c, "SHOW STATUS LIKE 'Slow_queries'")[0][1].parse().unwrap();
    run(&mut c, "SET long_query_time = 0.01");
    run(&mut c, "SELECT SLEEP(0.02), id FROM t WHERE id = 2");
    // A row that another holds: the wait is told apart.
    let mut holder = r.connect();
    run(&mut holder, "BEGIN");
    run(&mut holder, "UPDATE d.t SET a = 5 WHERE id = 1");
    let waiter = std::thread::spawn({
        let mut c = r.connect();
        move || {
            run(&mut c, "SET long_query_time = 0.05");
            let s = c.prepare("UPDATE d.t SET a = a + ? WHERE id = 1").unwrap();
            c.execute(&s, &[Arg::Int(9)]).unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(150));
    run(&mut holder, "COMMIT");
    waiter.join().unwrap();
    run(&mut c, "SET long_query_time = 0");
    // Too few rows; administration; errors of syntax.
    run_each(
        &mut c,
        &[
            "SET min_examined_row_limit = 100",
            "SELECT SLEEP(0.01)",
            "SET min_examined_row_limit = 0, long_query_time = 10",
            "SET GLOBAL log_queries_not_using_indexes = ON",
            "SELECT COUNT(*) FROM t WHERE a > 1",
            "SELECT a FROM t WHERE id = 1",
            "SET GLOBAL log_queries_not_using_indexes = OFF",
            "SET long_query_time = 0",
            "ALTER TABLE t ADD b INT",
        ],
    );
    assert_eq!(error(&mut c, "SELEC 1"), 1064);
    run(&mut c, "SET GLOBAL slow_query_log = OFF");

    let seen = lines(&r, "s.log");
    let set = |l: &&str| l.starts_with("SET ");
    let statements: Vec<&str> =
        seen.iter().map(String::as_str).filter(|l| !l.starts_with('#')).filter(|l| !set(l)).collect();
    let want = [
        "use d;",
        "SELECT SLEEP(0.02), id FROM t WHERE id = 2;",
        "UPDATE d.t SET a = a + 9 WHERE id = 1;",
        "SELECT COUNT(*) FROM t WHERE a > 1;",
    ];
    assert_eq!(statements, want);
    let figures = |of: &str| {
        let at = seen.iter().position(|l| l.starts_with(of)).unwrap();
        let line = seen[..at].iter().rev().find(|l| l.starts_with("# Query_time")).unwrap();
        line.split_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<f64>>()
    };
    let slept = figures("SELECT SLEEP(0.02)");
    assert!(slept[0] >= 0.02 && slept[1] == 0.0 && slept[2..] == [1.0, 1.0], "{slept:?}");
    let waited = figures("UPDATE d.t");
    assert!(waited[1] > 0.05 && waited[0] >= waited[1], "{waited:?}");
    assert!(seen.iter().any(|l| l.starts_with("# User@Host: root[root] @ localhost []  Id: ")), "{seen:?}");
    let after: u64 = rows(&mut c, "SHOW STATUS LIKE 'Slow_queries'")[0][1].parse().unwrap();
    assert!(after >= slow + 2);
    let locked = one(
        &mut c,
        "SELECT SUM(SUM_LOCK_TIME) > 50000000000 FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE 'UPDATE%'",
    );
    assert_eq!(locked, "1");
}

/// `use` where the schema is another than that of the entry before, whoever's it was; where the client is.
#[test]
fn schema_and_address() {
    let r = Running::start();
    let mut c = r.connect();
    run_each(&mut c, &["CREATE DATABASE d1", "CREATE DATABASE d2", "SET GLOBAL slow_query_log_file = 's.log'"]);
    run_each(&mut c, &["SET GLOBAL slow_query_log = ON", "SET long_query_time = 0"]);
    let mut tcp = Connection::connect(&r.tcp(), &Options { database: Some("d1".into()), ..options() }).unwrap();
    run(&mut tcp, "SET long_query_time = 0");
    run_each(&mut tcp, &["DO 1", "DO 2"]);
    run(&mut c, "DO 'no schema'");
    run_each(&mut tcp, &["DO 3", "USE d2", "DO 4"]);
    run(&mut c, "USE d2");
    run(&mut c, "DO 5");
    run_each(&mut tcp, &["USE d1", "DO 6"]);
    // A new file begins anew.
    run(&mut c, "FLUSH SLOW LOGS");
    run(&mut c, "DO 7");
    run(&mut c, "SET GLOBAL slow_query_log = OFF");
    let seen = lines(&r, "s.log");
    let told = |l: &&String| l.starts_with("DO ") || l.starts_with("use ");
    let told: Vec<&str> = seen.iter().filter(told).map(|l| l.trim_end_matches(';')).collect();
    let want = ["use d1", "DO 1", "DO 2", "DO 'no schema'", "DO 3", "use d2", "DO 4", "DO 5", "use d1", "DO 6"];
    assert_eq!(told, [&want[..], &["use d2", "DO 7"]].concat());
    let sender = |statement: &str| {
        let at = seen.iter().position(|l| *l == statement).unwrap();
        let line = seen[..at].iter().rev().find(|l| l.starts_with("# User@Host")).unwrap();
        line.split("  Id:").next().unwrap().to_string()
    };
    assert_eq!(sender("DO 1;"), "# User@Host: root[root] @ localhost [127.0.0.1]");
    assert_eq!(sender("DO 5;"), "# User@Host: root[root] @ localhost []");
}

#[test]
fn counts_of_each_statement() {
    let r = Running::start();
    let mut c = r.connect();
    run_each(
        &mut c,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
            "SET GLOBAL slow_query_log_file = 's.log', GLOBAL slow_query_log = ON",
            "SET long_query_time = 0",
            "DO 'plain'",
            "SET GLOBAL log_slow_extra = ON",
            "DO 'extra'",
            "SELECT * FROM t ORDER BY a",
            "SELECT * FROM t WHERE id = 2",
        ],
    );
    let s = c.prepare("SELECT a, COUNT(*) FROM t WHERE id > ? GROUP BY a").unwrap();
    c.execute(&s, &[Arg::Int(1)]).unwrap();
    assert_eq!(error(&mut c, "SELECT nothing FROM t"), 1054);
    run(&mut c, "SET max_execution_time = 50");
    assert_eq!(
        error(&mut c, "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m, t n, t o"),
        3024
    );
    run(&mut c, "SET max_execution_time = 0, GLOBAL log_slow_extra = OFF");
    run(&mut c, "DO 'plain again'");
    run(&mut c, "SET GLOBAL slow_query_log = OFF");
    let seen = lines(&r, "s.log");
    let figures = |of: &str| {
        let at = seen.iter().position(|l| l.starts_with(of)).unwrap();
        let line = seen[..at].iter().rev().find(|l| l.starts_with("# Query_time")).unwrap();
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        words.chunks(2).map(|w| (w[0].trim_end_matches(':').to_string(), w[1].to_string())).collect::<Vec<_>>()
    };
    for plain in ["DO 'plain'", "DO 'plain again'"] {
        assert_eq!(figures(plain).len(), 4, "{:?}", figures(plain));
    }
    let id = one(&mut c, "SELECT CONNECTION_ID()");
    let of = |statement: &str, name: &str| {
        let all = figures(statement);
        all.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name} in {all:?}")).1.clone()
    };
    let sorted = "SELECT * FROM t ORDER BY a";
    assert_eq!(
        ["Thread_id", "Errno", "Killed", "Sort_rows", "Sort_scan_count"].map(|n| of(sorted, n)),
        [&*id, "0", "0", "3", "1"]
    );
    assert_eq!(of(sorted, "Bytes_received"), (sorted.len() + 5).to_string());
    let keyed = "SELECT * FROM t WHERE id = 2";
    assert_eq!(["Read_key", "Read_rnd_next", "Sort_rows"].map(|n| of(keyed, n)), ["1", "0", "0"]);
    assert_eq!(of("SELECT a, COUNT", "Created_tmp_tables"), "1");
    assert_eq!(["Errno", "Killed"].map(|n| of("SELECT nothing", n)), ["1054", "0"]);
    assert_eq!(["Errno", "Killed"].map(|n| of("SELECT COUNT(*) FROM t a", n)), ["3024", "3024"]);
    assert!(of(keyed, "Start") <= of(keyed, "End") && of(keyed, "End").ends_with('Z'));
}

#[test]
fn files_and_destinations() {
    let r = Running::start();
    let mut c = r.connect();
    for name in ["/tmp/gannet-elsewhere.log", "../g.log", "data.gnt", "g.txt", "no/such/g.log", ""] {
        assert_eq!(error(&mut c, &format!("SET GLOBAL general_log_file = '{name}'")), 1231, "{name}");
        assert_eq!(error(&mut c, &format!("SET GLOBAL slow_query_log_file = '{name}'")), 1231, "{name}");
    }
    std::os::unix::fs::symlink("/tmp/gannet-elsewhere.log", r.dir.join("link.log")).unwrap();
    assert_eq!(error(&mut c, "SET GLOBAL general_log_file = 'link.log'"), 1231);
    assert_eq!(error(&mut c, "SET GLOBAL log_output = 'TABLE'"), 1235);
    assert_eq!(error(&mut c, "SET GLOBAL log_output = 'PIPE'"), 1231);
    // A file that cannot be opened: the log stays off.
    std::fs::create_dir(r.dir.join("dir.log")).unwrap();
    run(&mut c, "SET GLOBAL general_log_file = 'dir.log'");
    assert_eq!(error(&mut c, "SET GLOBAL general_log = ON"), 1016);
    assert_eq!(one(&mut c, "SELECT @@general_log"), "0");
    general(&mut c);
    run(&mut c, "DO 1");
    run(&mut c, "SET GLOBAL log_output = 'file,none'");
    assert_eq!(one(&mut c, "SELECT @@log_output"), "FILE,NONE");
    run(&mut c, "DO 2");
    run(&mut c, "SET GLOBAL log_output = DEFAULT");
    // Rotated as tools do it.
    std::fs::rename(r.dir.join("g.log"), r.dir.join("g.1.log")).unwrap();
    run_each(&mut c, &["DO 3", "FLUSH GENERAL LOGS", "DO 4"]);
    let count = |name: &str, what: &str| lines(&r, name).iter().filter(|l| l.contains(what)).count();
    assert_eq!([count("g.1.log", "DO 1"), count("g.1.log", "DO 2"), count("g.1.log", "DO 3")], [1, 0, 1]);
    assert_eq!([count("g.log", "DO 3"), count("g.log", "DO 4")], [0, 1]);
    assert!(std::fs::read_to_string(r.dir.join("g.log")).unwrap().contains("started with:"));
    // `mysqladmin flush-logs`.
    std::fs::rename(r.dir.join("g.log"), r.dir.join("g.2.log")).unwrap();
    c.command(com::REFRESH, &[2]).unwrap();
    c.receive().unwrap();
    run(&mut c, "DO 5");
    assert_eq!([count("g.2.log", "DO 5"), count("g.log", "DO 5")], [0, 1]);
}

/// Statements about definitions and accounts reach those who follow the log, without the passwords; temporary tables do
/// not.
#[test]
fn definitions_and_accounts_arrive_at_those_who_follow_the_log() {
    use gannet_core::kinds::{Logged, logged};
    use gannet_core::vars::{Live, VarValue};
    use gannet_engine::{Beyond, Hold};
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut root = r.connect();
    run(&mut root, "CREATE DATABASE untold");
    let engine = &r.server().shared().engine;
    let mut consumer = engine.consumer("c", Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake }).unwrap();
    let told = [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY) COMMENT 'x'",
        "ALTER TABLE d.t ADD b INT",
        "CREATE USER u",
        "GRANT SELECT ON d.* TO u",
        "DROP USER u",
        "DROP DATABASE d",
    ];
    run(&mut root, "CREATE TEMPORARY TABLE untold.t (a INT)");
    // Nor do statements that are not told by their text.
    run(&mut root, "CREATE TABLE untold.r (a INT)");
    consumer.poll().unwrap().unwrap();
    for sql in ["SELECT * FROM untold.r", "ANALYZE TABLE untold.r", "FLUSH TABLES"] {
        assert_ne!(logged(sql), Some(Logged::Text), "{sql}");
        run(&mut root, sql);
    }
    for sql in told {
        run(&mut root, sql);
    }
    engine.sync().unwrap();
    for sql in told {
        assert_eq!(logged(sql), Some(Logged::Text), "{sql}");
        let got = consumer.poll().unwrap().unwrap();
        // What sets passwords is told of in words of its own.
        let words = if sql.starts_with("CREATE USER") { "create user `u`@`%`" } else { sql };
        assert!(got.payload.ends_with(words.as_bytes()), "{sql}");
    }
    assert!(consumer.poll().unwrap().is_none());
}
