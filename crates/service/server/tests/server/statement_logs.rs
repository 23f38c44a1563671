//! The general and the slow query log.

use crate::common::{PATIENCE, Running, error, one, options, rows, run, wait_for};
use gannet_wire::client::{Arg, Connection, Options};
use gannet_wire::flags::{cap, com};
use std::time::{Duration, Instant};

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
    let waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
    wait_for("the wait for a row", || one(&mut holder, waits) == "1");
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
        error(
            &mut c,
            "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m, t n, t o, t p, t q, t r, t s, t u"
        ),
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

/// What a reader of a log table sees. It waits two seconds at most for what was logged before: `None` where it took as
/// long, as it may beside others, and what it has seen need not be all.
fn prompt(c: &mut Connection, sql: &str) -> Option<Vec<Vec<String>>> {
    let begun = Instant::now();
    let seen = rows(c, sql);
    (begun.elapsed() < Duration::from_secs(2)).then_some(seen)
}

/// Waits until the general log's table has a statement, without being logged itself.
fn logged(r: &Running, what: &str) {
    let mut watcher = r.connect();
    run(&mut watcher, "SET SESSION sql_log_off = ON");
    let until = Instant::now() + PATIENCE;
    let quoted = what.replace('\'', "''");
    while one(&mut watcher, &format!("SELECT COUNT(*) FROM mysql.general_log WHERE argument = '{quoted}'")) == "0" {
        assert!(Instant::now() < until, "{what} is not in the log");
    }
}

#[test]
fn tables() {
    let mut r = Running::start();
    let mut c = r.connect();
    let columns = |c: &mut Connection, t: &str| {
        let sql = format!(
            "SELECT GROUP_CONCAT(CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE) ORDER BY ORDINAL_POSITION)
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = '{t}'"
        );
        one(c, &sql)
    };
    let general = "event_time timestamp(6),user_host mediumtext,thread_id bigint unsigned,server_id int unsigned,\
                   command_type varchar(64),argument mediumblob";
    assert_eq!(columns(&mut c, "general_log"), general);
    let slow = "start_time timestamp(6),user_host mediumtext,query_time time(6),lock_time time(6),rows_sent int,\
                rows_examined int,db varchar(512),last_insert_id int,insert_id int,server_id int unsigned,\
                sql_text mediumblob,thread_id bigint unsigned";
    assert_eq!(columns(&mut c, "slow_log"), slow);

    // A statement finds what was logged before it, itself as well.
    run(&mut c, "SET GLOBAL server_id = 7");
    run_each(&mut c, &["SET GLOBAL log_output = 'table'", "SET GLOBAL general_log = ON", "DO 'here'"]);
    assert_eq!(one(&mut c, "SELECT @@log_output"), "TABLE");
    run(&mut c, "CREATE USER u IDENTIFIED BY 'hush'");
    let said =
        "SELECT command_type, CONVERT(argument USING utf8mb4), server_id, user_host, thread_id = CONNECTION_ID(),
                ABS(TIMESTAMPDIFF(SECOND, event_time, NOW())) < 60 FROM mysql.general_log";
    if let Some(seen) = prompt(&mut c, said) {
        let want = ["DO 'here'", "SELECT @@log_output", "CREATE USER u IDENTIFIED BY <secret>", said];
        assert_eq!(seen.iter().map(|r| &*r[1]).collect::<Vec<_>>(), want);
        let rest =
            |r: &[String]| r.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, v)| v.clone()).collect::<Vec<_>>();
        assert_eq!(rest(&seen[0]), ["Query", "7", "root[root] @ localhost []", "1", "1"]);
    }
    assert!(!r.dir.join("g.log").exists());
    logged(&r, said);
    run(&mut c, "TRUNCATE mysql.general_log");
    if let Some(seen) = prompt(&mut c, "SELECT COUNT(*) FROM mysql.general_log") {
        assert_eq!(seen, [["1"]]);
    }

    // Nobody else writes it, and it is not taken away.
    for (sql, number) in [
        ("INSERT INTO mysql.general_log SELECT * FROM mysql.general_log", 1556),
        ("UPDATE mysql.general_log SET thread_id = 1", 1556),
        ("DELETE FROM mysql.slow_log", 1556),
        ("SELECT * FROM mysql.general_log FOR UPDATE", 1556),
        ("LOAD DATA INFILE 'x' INTO TABLE mysql.general_log", 1556),
        ("LOCK TABLES mysql.general_log READ", 1556),
        ("DROP TABLE mysql.general_log", 1580),
        ("ALTER TABLE mysql.general_log ADD x INT", 1580),
        ("RENAME TABLE mysql.general_log TO mysql.general_log_old", 1581),
        ("CREATE TABLE mysql.other (a INT)", 1044),
        ("CREATE VIEW mysql.general_log_v AS SELECT 1", 1044),
        ("SET GLOBAL log_output = 'TABLE,PIPE'", 1231),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }

    // The manual's rotation.
    run(&mut c, "USE mysql");
    logged(&r, "USE mysql");
    run_each(
        &mut c,
        &[
            "DROP TABLE IF EXISTS general_log2",
            "CREATE TABLE general_log2 LIKE general_log",
            "RENAME TABLE general_log TO general_log_backup, general_log2 TO general_log",
            "DO 'after'",
        ],
    );
    let count = |c: &mut Connection, t: &str, what: &str| {
        one(c, &format!("SELECT COUNT(*) FROM mysql.{t} WHERE argument = {what}"))
    };
    logged(&r, "DO 'after'");
    assert_eq!(count(&mut c, "general_log", "'DO \\'after\\''"), "1");
    assert_eq!(count(&mut c, "general_log_backup", "'USE mysql'"), "1");
    run(&mut c, "DROP TABLE general_log_backup");

    // What keeps others from writing does not keep the logs.
    run_each(&mut c, &["FLUSH TABLES WITH READ LOCK", "SET GLOBAL read_only = ON", "DO 'locked'"]);
    logged(&r, "DO 'locked'");
    assert_eq!(count(&mut c, "general_log", "'DO \\'locked\\''"), "1");
    run_each(&mut c, &["UNLOCK TABLES", "SET GLOBAL read_only = OFF"]);

    // Both at once, the slow one with its figures.
    run_each(&mut c, &["SET GLOBAL slow_query_log_file = 's.log'", "SET GLOBAL log_output = 'TABLE,FILE'"]);
    assert_eq!(one(&mut c, "SELECT @@log_output"), "FILE,TABLE");
    run_each(&mut c, &["SET GLOBAL general_log = OFF", "SET GLOBAL slow_query_log = ON", "CREATE DATABASE d", "USE d"]);
    run_each(&mut c, &["CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)", "SET long_query_time = 0"]);
    run_each(&mut c, &["INSERT INTO t (b) VALUES (1), (2), (3)", "SELECT SLEEP(0.1), b FROM t"]);
    run(&mut c, "SET long_query_time = 10");
    let until = Instant::now() + PATIENCE;
    while one(&mut c, "SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE 'SELECT SLEEP%'") == "0" {
        assert!(Instant::now() < until, "the slow statement is not in the log");
    }
    let figures = rows(
        &mut c,
        "SELECT CONVERT(sql_text USING utf8mb4), rows_sent, rows_examined, db, insert_id, query_time > '00:00:00.25',
         user_host FROM mysql.slow_log ORDER BY start_time",
    );
    let of = |what: &str| figures.iter().find(|r| r[0].starts_with(what)).unwrap()[1..].to_vec();
    assert_eq!(of("INSERT"), ["0", "0", "d", "1", "0", "root[root] @ localhost []"]);
    assert_eq!(of("SELECT"), ["3", "3", "d", "0", "1", "root[root] @ localhost []"]);
    assert!(lines(&r, "s.log").iter().any(|l| l.starts_with("INSERT INTO t")));
    assert_eq!(
        one(
            &mut c,
            "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Gannet_log_table_lost'"
        ),
        "0"
    );

    // Without its table a log cannot be turned on.
    run_each(&mut c, &["SET GLOBAL slow_query_log = OFF", "DROP TABLE mysql.slow_log"]);
    assert_eq!(error(&mut c, "SET GLOBAL slow_query_log = ON"), 1146);
    run(&mut c, "CREATE TABLE mysql.slow_log (a INT)");
    assert_eq!(error(&mut c, "SET GLOBAL slow_query_log = ON"), 1728);
    assert_eq!(one(&mut c, "SELECT @@slow_query_log"), "0");
    // The next start makes it again.
    run(&mut c, "DROP TABLE mysql.slow_log");
    drop(c);
    r.restart();
    assert_eq!(one(&mut r.connect(), "SELECT COUNT(*) FROM mysql.slow_log"), "0");
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
    for sql in ["SELECT * FROM untold.r", "ANALYZE LOCAL TABLE untold.r", "FLUSH LOCAL TABLES"] {
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
