//! What `gtid_next` may say, and when.

use crate::common::{self, Running, error, one, run};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::Connection;

const ID: &str = "ABCDEFAB-1111-1111-1111-111111111111";

#[test]
fn gtid_next_is_refused_where_mysql_refuses_it() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    for (value, number) in [("AUTOMATIC:tag", 1235), ("x", 1774)] {
        assert_eq!(error(&mut c, &format!("SET gtid_next = '{value}'")), number, "{value}");
        assert_eq!(one(&mut c, "SELECT @@gtid_next"), "AUTOMATIC");
    }
    run(&mut c, &format!("SET gtid_next = '{ID}:1'"));
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), format!("{}:1", ID.to_lowercase()));
    // Nothing ends the transaction in the middle.
    run(&mut c, "BEGIN");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    for sql in
        ["CREATE TABLE d.u (a INT)", "DROP TABLE d.t", "CREATE USER u", "TRUNCATE d.t", "ALTER TABLE d.t ADD b INT"]
    {
        assert_eq!(error(&mut c, sql), 1778, "{sql}");
    }
    run(&mut c, "COMMIT");
    assert!(one(&mut c, "SELECT @@gtid_executed").contains(&format!("{}:1", ID.to_lowercase())));
    // Of a log of a server without GTIDs.
    assert_eq!(error(&mut c, "SET gtid_next = 'anonymous'"), 1782);
    run(&mut c, "SET gtid_next = 'automatic'");
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), "AUTOMATIC");
    run(&mut c, "BEGIN");
    run(&mut c, "CREATE TABLE d.u (a INT)");
    assert_eq!(error(&mut c, "BINLOG ''"), 1149);
}

#[test]
fn there_are_no_gtids_without_a_log() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(false)));
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT @@gtid_mode"), "OFF");
    assert_eq!(error(&mut c, &format!("SET gtid_next = '{ID}:1'")), 1781);
    run(&mut c, "SET gtid_next = 'anonymous'");
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), "ANONYMOUS");
}

/// The server, a session, and a statement that chooses a GTID for it.
fn chosen() -> (Running, Connection, impl Fn(&mut Connection, u32)) {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    (r, c, |c, n| run(c, &format!("SET gtid_next = '{ID}:{n}'")))
}

#[test]
fn who_owns_a_gtid_ends_its_transaction_first() {
    let (_r, mut c, own) = chosen();
    for body in [
        "FUNCTION d.f() RETURNS INT DETERMINISTIC BEGIN SET gtid_next = AUTOMATIC; RETURN 1; END",
        "PROCEDURE d.p() BEGIN INSERT INTO d.t VALUES (50); COMMIT; INSERT INTO d.t VALUES (51); END",
    ] {
        run(&mut c, &format!("CREATE {body}"));
    }
    own(&mut c, 1);
    for (sql, number) in [
        ("SET gtid_next = AUTOMATIC", 1790),
        (&*format!("SET gtid_next = '{ID}:1'"), 1790),
        (&*format!("SET gtid_next = '{ID}:2'"), 1790),
        ("SET gtid_next = 'ANONYMOUS'", 1790),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    assert_eq!(one(&mut c, "SELECT @@gtid_owned"), format!("{}:1", ID.to_lowercase()));
    // Nothing has begun that could end; a transaction of several statements goes on behind an error.
    assert_eq!(error(&mut c, "no statement"), 1064);
    run(&mut c, "BEGIN");
    for (sql, number) in [
        (&*format!("SET gtid_next = '{ID}:2'"), 1766),
        ("SET gtid_next = AUTOMATIC", 1766),
        ("SELECT d.f()", 1765),
        ("INSERT INTO d.t VALUES (1), (1)", 1062),
        ("BEGIN", 1778),
        ("LOCK TABLES d.t READ", 1778),
        ("FLUSH TABLES", 1778),
        ("ANALYZE TABLE d.t", 1778),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    run(&mut c, "CREATE TEMPORARY TABLE d.own (a INT)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    run(&mut c, "COMMIT");
    // Between two transactions only what ends and begins them, and what reads.
    for sql in ["INSERT INTO d.t VALUES (2)", "SAVEPOINT s", "CALL d.p()", "PREPARE s FROM 'DO 1'", "XA START 'x'"] {
        assert_eq!(error(&mut c, sql), 1837, "{sql}");
    }
    for sql in ["BEGIN", "SELECT * FROM d.t", "ROLLBACK", "COMMIT", "DO 1", "SHOW TABLES FROM d", "USE d"] {
        run(&mut c, sql);
    }
    // The end of its transaction in the middle of a program.
    own(&mut c, 2);
    assert_eq!(error(&mut c, "CALL d.p()"), 1837);
    run(&mut c, "SET gtid_next = AUTOMATIC");
    run(&mut c, "SET autocommit = 0");
    run(&mut c, "SELECT * FROM d.t");
    assert_eq!(error(&mut c, "SET gtid_next = AUTOMATIC"), 1766);
    run(&mut c, "COMMIT");
    run(&mut c, "XA START 'x'");
    assert_eq!(error(&mut c, "SET gtid_next = AUTOMATIC"), 1766);
    run(&mut c, "XA END 'x'");
    run(&mut c, "XA ROLLBACK 'x'");
    assert_eq!(one(&mut c, &format!("SELECT GTID_SUBSET('{ID}:1-2', @@gtid_executed)")), "1");
    assert_eq!(one(&mut c, "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t"), "1,50");
}

#[test]
fn a_statement_that_fails_gives_its_gtid_back() {
    let (_r, mut c, own) = chosen();
    for (n, (sql, number)) in [
        ("INSERT INTO d.t VALUES (1), (1)", 1062),
        ("INSERT INTO d.nosuch VALUES (1)", 1146),
        ("CREATE TABLE d.t (a INT)", 1050),
        ("DROP TABLE d.nosuch", 1051),
        ("CREATE USER root@localhost", 1396),
        ("CALL d.nosuch()", 1305),
    ]
    .into_iter()
    .enumerate()
    {
        own(&mut c, n as u32 + 1);
        assert_eq!(error(&mut c, sql), number, "{sql}");
        assert_eq!(one(&mut c, "SELECT @@gtid_owned"), "", "{sql}");
        assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (1)"), 1837, "{sql}");
    }
    // Another try.
    own(&mut c, 1);
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert_eq!(one(&mut c, &format!("SELECT GTID_SUBSET('{ID}:1', @@gtid_executed)")), "1");
}

#[test]
fn the_victim_of_a_deadlock_gives_its_gtid_back() {
    let (r, mut c, own) = chosen();
    let mut d = r.connect();
    run(&mut c, "INSERT INTO d.t VALUES (1), (2), (3), (4), (5), (6)");
    own(&mut c, 1);
    run(&mut c, "BEGIN");
    run(&mut c, "DELETE FROM d.t WHERE a = 1");
    run(&mut d, "BEGIN");
    run(&mut d, "DELETE FROM d.t WHERE a > 1");
    let waiting = std::thread::spawn(move || {
        run(&mut d, "DELETE FROM d.t WHERE a = 1");
        run(&mut d, "ROLLBACK");
    });
    while one(&mut r.connect(), "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "0" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(error(&mut c, "DELETE FROM d.t WHERE a = 2"), 1213);
    waiting.join().unwrap();
    assert_eq!(one(&mut c, "SELECT @@gtid_owned"), "");
    assert_eq!(error(&mut c, "DELETE FROM d.t WHERE a = 3"), 1837);
}

#[test]
fn what_is_executed_is_passed_over_to_its_end() {
    let (_r, mut c, own) = chosen();
    own(&mut c, 1);
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    own(&mut c, 1);
    assert_eq!(one(&mut c, "SELECT @@gtid_owned"), "");
    // Nobody owns it, so that another may follow at once.
    own(&mut c, 2);
    run(&mut c, "ROLLBACK");
    own(&mut c, 1);
    for sql in ["CREATE TABLE d.u (a INT)", "INSERT INTO d.t VALUES (1)", "DROP TABLE d.t", "XA START 'x'"] {
        run(&mut c, sql);
    }
    run(&mut c, "BEGIN");
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    // What it is about need not be there.
    for sql in
        ["INSERT INTO d.u VALUES (1)", "UPDATE d.u SET a = 1", "DELETE FROM e.u", "REPLACE INTO d.t (z) VALUES (1)"]
    {
        run(&mut c, sql);
    }
    assert_eq!(error(&mut c, "SELECT * FROM d.u"), 1146);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "1");
    assert_eq!(error(&mut c, "SET gtid_next = AUTOMATIC"), 1766);
    assert_eq!(error(&mut c, "DROP TABLE d.t"), 1778);
    run(&mut c, "COMMIT");
    assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
    assert_eq!(error(&mut c, "INSERT INTO d.u VALUES (2)"), 1837);
}

/// Maintenance and FLUSH are in the log, unless they say LOCAL, lock tables or begin files; a GTID is used up by each.
#[test]
fn upkeep_is_logged() {
    let (_r, mut c, own) = chosen();
    run(&mut c, "SET gtid_next = AUTOMATIC");
    let logged = |c: &mut Connection| {
        let shown = common::rows(c, "SHOW BINLOG EVENTS IN 'binlog.000001'");
        shown.into_iter().filter(|row| row[2] == "Query").map(|row| row[5].clone()).collect::<Vec<_>>()
    };
    let before = logged(&mut c).len();
    let told = [
        "ANALYZE TABLE d.t",
        "OPTIMIZE TABLE d.t",
        "REPAIR TABLE d.t",
        "ANALYZE TABLE d.nowhere",
        "FLUSH TABLES",
        "FLUSH TABLES d.t",
        "FLUSH PRIVILEGES",
        "FLUSH STATUS, HOSTS",
    ];
    told.iter().for_each(|sql| run(&mut c, sql));
    for sql in ["ANALYZE LOCAL TABLE d.t", "FLUSH NO_WRITE_TO_BINLOG TABLES", "CHECK TABLE d.t", "CHECKSUM TABLE d.t"] {
        run(&mut c, sql);
    }
    run(&mut c, "FLUSH TABLES WITH READ LOCK");
    run(&mut c, "UNLOCK TABLES");
    assert_eq!(logged(&mut c)[before..], told);
    // What locks out others' commits does not lock out one's own.
    run(&mut c, "FLUSH TABLES WITH READ LOCK");
    run(&mut c, "FLUSH STATUS");
    run(&mut c, "UNLOCK TABLES");
    assert_eq!(logged(&mut c).len(), before + told.len() + 1);
    for (n, sql) in
        ["ANALYZE TABLE d.t", "FLUSH PRIVILEGES", "FLUSH LOCAL TABLES", "CHECK TABLE d.t", "FLUSH BINARY LOGS"]
            .into_iter()
            .enumerate()
    {
        own(&mut c, n as u32 + 10);
        run(&mut c, sql);
        assert_eq!(one(&mut c, "SELECT @@gtid_owned"), "", "{sql}");
        let has = format!("SELECT GTID_SUBSET('{ID}:{}', @@gtid_executed)", n + 10);
        assert_eq!(one(&mut c, &has), "1", "{sql}");
    }
}

#[test]
fn who_wants_what_another_owns_waits() {
    let (r, mut c, own) = chosen();
    for (end, passes) in [("ROLLBACK", false), ("INSERT INTO d.t VALUES (1)", true)] {
        own(&mut c, 1);
        let mut d = r.connect();
        let waiting = std::thread::spawn(move || {
            run(&mut d, &format!("SET gtid_next = '{ID}:1'"));
            let owned = one(&mut d, "SELECT @@gtid_owned");
            run(&mut d, "ROLLBACK");
            owned
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(!waiting.is_finished());
        run(&mut c, end);
        let owned = waiting.join().unwrap();
        assert_eq!(owned.is_empty(), passes, "{end}: {owned}");
    }
    // One that is killed meanwhile.
    own(&mut c, 2);
    let mut d = r.connect();
    let id = one(&mut d, "SELECT CONNECTION_ID()");
    let waiting = std::thread::spawn(move || error(&mut d, &format!("SET gtid_next = '{ID}:2'")));
    // A statement that has not begun yet is spared.
    while !waiting.is_finished() {
        run(&mut c, &format!("KILL QUERY {id}"));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(waiting.join().unwrap(), 1317);
}

/// RESET BINARY LOGS AND GTIDS, and who wants a GTID that was executed right before it: nobody owns it any more.
#[test]
fn a_reset_frees_what_was_executed() {
    let (_r, mut c, own) = chosen();
    // Commit and reset are taken from the log together, or one after the other.
    for round in 0..20 {
        own(&mut c, 5);
        run(&mut c, "BEGIN");
        run(&mut c, if round % 2 == 0 { "COMMIT" } else { "COMMIT AND CHAIN" });
        run(&mut c, "ROLLBACK");
        run(&mut c, "SET gtid_next = 'AUTOMATIC'");
        run(&mut c, "RESET BINARY LOGS AND GTIDS");
    }
}
