//! What a replica makes of statements and rows that say less than they mean: whose a program is, which bytes a BINARY
//! has, what did not move.

use crate::common::{PATIENCE, error, one, options, rows, run};
use crate::replica::{Following, follow, same, source, status, with_log, without_log};
use gannet_wire::client::{Connection, Options};

#[test]
fn rows_that_no_statement_says() {
    let s = source();
    let mut c = s.connect();
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    for image in ["FULL", "MINIMAL", "NOBLOB"] {
        for sql in [
            format!("SET binlog_row_image = {image}"),
            "DROP TABLE IF EXISTS e, k, b, m".into(),
            // The empty member of an ENUM.
            "SET sql_mode = ''".into(),
            "CREATE TABLE e (a INT, b ENUM('x', 'y'))".into(),
            "INSERT INTO e VALUES (1, 'z'), (2, 'x'), (3, 'y')".into(),
            "UPDATE e SET b = 'z' WHERE a = 2".into(),
            "UPDATE e SET b = 'x' WHERE a = 1".into(),
            "DELETE FROM e WHERE a = 2".into(),
            "SET sql_mode = DEFAULT".into(),
            // Zeros at the end of a BINARY.
            "CREATE TABLE k (a BINARY(4) PRIMARY KEY, b INT)".into(),
            "INSERT INTO k VALUES ('a', 1), (x'00', 2), (x'62000000', 3), ('abcd', 4)".into(),
            "UPDATE k SET b = b + 10".into(),
            "UPDATE k SET a = 'c' WHERE a = x'62000000'".into(),
            "DELETE FROM k WHERE a = x'00000000'".into(),
            "CREATE TABLE b (a BINARY(3), b INT)".into(),
            "INSERT INTO b VALUES ('a', 1), ('', 2), (NULL, 3)".into(),
            "UPDATE b SET b = b + 10".into(),
            "DELETE FROM b WHERE b = 12".into(),
            // What would move by itself.
            "CREATE TABLE m (a INT PRIMARY KEY, b INT, t TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6), \
             u DATETIME(6) ON UPDATE CURRENT_TIMESTAMP(6))"
                .into(),
            "INSERT INTO m (a, b) VALUES (1, 1), (2, 2), (3, 3)".into(),
            "UPDATE m SET b = 10, t = t WHERE a = 1".into(),
            "UPDATE m SET b = 20 WHERE a = 2".into(),
            "UPDATE m SET u = '2026-01-02 03:04:05' WHERE a = 3".into(),
            "UPDATE m SET a = 30, t = t, u = u WHERE a = 3".into(),
        ] {
            run(&mut c, &sql);
        }
        for table in ["d.e", "d.k", "d.b", "d.m"] {
            same(&mut c, &mut q, &format!("SELECT * FROM {table} ORDER BY 1, 2"));
        }
    }
}

#[test]
fn programs_are_of_who_has_made_them() {
    let s = source();
    let mut c = s.connect();
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    // It is asked of functions at each server.
    run(&mut q, "SET GLOBAL log_bin_trust_function_creators = ON");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for sql in [
        "SET GLOBAL log_bin_trust_function_creators = ON",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE USER maker, other",
        "GRANT CREATE ROUTINE, TRIGGER, EVENT, CREATE VIEW, DROP, SELECT, INSERT ON d.* TO maker",
        "GRANT PROXY ON other TO maker",
        "REVOKE PROXY ON other FROM maker",
        // What is there already is passed over, at the replica as well.
        "CREATE USER IF NOT EXISTS other",
        "ALTER USER IF EXISTS nobody ACCOUNT LOCK",
    ] {
        run(&mut c, sql);
    }
    let user = Options { user: "maker".into(), ..options() };
    let mut maker = Connection::connect(&s.socket(), &user).unwrap();
    for sql in [
        "USE d",
        "CREATE PROCEDURE p() INSERT INTO t VALUES (1)",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "CREATE FUNCTION g() RETURNS INT RETURN 1",
        "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.a = NEW.a + 1",
        "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO t VALUES (5)",
        "CREATE EVENT e2 ON SCHEDULE EVERY 1 DAY DISABLE DO INSERT INTO t VALUES (5)",
        "CREATE ALGORITHM = MERGE VIEW v AS SELECT * FROM t",
        "CREATE SQL SECURITY INVOKER VIEW w AS SELECT * FROM t",
        "CREATE OR REPLACE VIEW w AS SELECT 1",
        "DROP FUNCTION g",
    ] {
        run(&mut maker, sql);
    }
    run(&mut c, "ALTER EVENT d.e ON SCHEDULE EVERY 2 DAY");
    run(&mut c, "ALTER EVENT d.e2 ENABLE");
    run(&mut c, "DROP USER other");
    same(&mut c, &mut q, "SELECT user, host FROM mysql.user ORDER BY 1");
    for sql in [
        "SELECT routine_name, definer FROM information_schema.routines WHERE routine_schema = 'd' ORDER BY 1",
        "SELECT trigger_name, definer FROM information_schema.triggers WHERE trigger_schema = 'd' ORDER BY 1",
        "SELECT event_name, definer FROM information_schema.events WHERE event_schema = 'd' ORDER BY 1",
        "SELECT table_name, definer FROM information_schema.views WHERE table_schema = 'd' ORDER BY 1",
        "SELECT user, db, routine_name, proc_priv FROM mysql.procs_priv ORDER BY 3",
        "SELECT * FROM d.t ORDER BY 1",
    ] {
        same(&mut c, &mut q, sql);
    }
    // An event's changes come from the source.
    let states = rows(&mut q, "SELECT DISTINCT status FROM information_schema.events WHERE event_schema = 'd'");
    assert_eq!(states, [["REPLICA_SIDE_DISABLED"]]);
    // Nothing was told twice, and the log that others read says whose each is.
    let texts = rows(&mut c, "SHOW BINLOG EVENTS");
    let said = |what: &str| texts.iter().filter(|row| row[5].contains(what)).count();
    assert_eq!((said("PROCEDURE p"), said("FUNCTION g()"), said("DROP FUNCTION g")), (1, 1, 1));
    assert_eq!(said("DEFINER=`maker`@`%`"), 9);
    run(&mut q, "STOP REPLICA");
    assert_eq!(error(&mut q, "CALL d.nothing"), 1305);
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM mysql.procs_priv"), "2");
}

#[test]
fn a_statement_that_changes_nothing_uses_its_gtid() {
    const ID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let s = source();
    let mut c = s.connect();
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    run(&mut q, "SET sql_log_bin = OFF");
    run(&mut q, "CREATE USER there");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for (n, sql) in [
        "CREATE USER IF NOT EXISTS reader",
        "ALTER USER IF EXISTS nobody ACCOUNT LOCK",
        "DROP USER IF EXISTS nobody",
        "CREATE USER IF NOT EXISTS there",
    ]
    .iter()
    .enumerate()
    {
        run(&mut c, &format!("SET gtid_next = '{ID}:{}'", n + 1));
        run(&mut c, sql);
        assert_eq!(error(&mut c, sql), 1837, "{sql}");
    }
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert_eq!(one(&mut c, &format!("SELECT GTID_SUBSET('{ID}:1-4', @@gtid_executed)")), "1");
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    // The transaction that is open has begun without it.
    run(&mut c, "BEGIN");
    assert_eq!(error(&mut c, &format!("SET gtid_next = '{ID}:9'")), 1766);
    run(&mut c, "ROLLBACK");
    run(&mut c, &format!("SET gtid_next = '{ID}:9'"));
    run(&mut c, "BEGIN");
    assert_eq!(error(&mut c, "SET gtid_next = AUTOMATIC"), 1766);
    run(&mut c, "COMMIT");
}

/// Whoever reads of an error sees all that was committed before it.
#[test]
fn commits_before_an_error_are_seen_with_it() {
    let s = source();
    let mut c = s.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "CREATE TABLE d.gone (a INT)"] {
        run(&mut c, sql);
    }
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    run(&mut q, "SET sql_log_bin = OFF");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for n in 0..12 {
        same(&mut c, &mut q, "SELECT @@gtid_executed");
        run(&mut q, "STOP REPLICA SQL_THREAD");
        run(&mut q, "DROP TABLE d.gone");
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n})"));
        run(&mut c, "INSERT INTO d.gone VALUES (1)");
        run(&mut q, "START REPLICA SQL_THREAD");
        while status(&mut q, "Last_SQL_Errno") == "0" {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // It says at which transaction, and where that is.
        let (error, at) = (status(&mut q, "Last_SQL_Error"), status(&mut q, "Exec_Source_Log_Pos"));
        let gtid = one(&mut c, "SELECT CONCAT(@@server_uuid, ':', REGEXP_SUBSTR(@@gtid_executed, '[0-9]+$'))");
        let place = format!("; transaction '{gtid}' at binlog.000001:{at} of the source's log");
        assert!(error.ends_with(&place), "{error}, {place}");
        let seen = one(&mut q, &format!("SELECT COUNT(*) FROM d.t WHERE a = {n}"));
        assert_eq!(seen, "1", "{n}: {}", status(&mut q, "Last_SQL_Error"));
        run(&mut q, "CREATE TABLE d.gone (a INT)");
        run(&mut c, "TRUNCATE d.gone");
        run(&mut q, "START REPLICA SQL_THREAD");
    }
}

/// An error says what could not be done, as MySQL has it.
#[test]
fn errors_have_the_words_that_others_look_for() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    run(&mut c, "CREATE TABLE d.mark (n INT)");
    // Without a log of its own a replica does not tell which transactions it has.
    let arrived = |c: &mut Connection, q: &mut Connection| {
        run(c, "INSERT INTO d.mark VALUES (1)");
        same(c, q, "SELECT COUNT(*) FROM d.mark");
    };
    for (configure, workers) in [(with_log as fn(&mut _), 4), (without_log, 0)] {
        let replica = Following::start(configure);
        let mut q = replica.r.connect();
        run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
        follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
        // Its table is empty at the source, and was before all that the last one has met.
        arrived(&mut c, &mut q);
        run(&mut q, "SET sql_log_bin = OFF");
        for (before, sql, says, then) in [
            (
                "INSERT INTO d.t VALUES (1, 1)",
                "INSERT INTO d.t VALUES (1, 2)",
                "Could not execute Write_rows event on table d.t; Duplicate entry '1' for key 't.PRIMARY', Error_code: 1062; \
                 handler error HA_ERR_FOUND_DUPP_KEY; ",
                "DELETE FROM d.t",
            ),
            (
                "DELETE FROM d.t",
                "UPDATE d.t SET b = 3",
                "Could not execute Update_rows event on table d.t; Can't find record in 't', Error_code: 1032; handler error \
                 HA_ERR_KEY_NOT_FOUND; ",
                "INSERT INTO d.t VALUES (1, 2)",
            ),
            (
                "CREATE TABLE d.u (a INT)",
                "CREATE TABLE d.u (b INT)",
                "Error 'Table 'u' already exists' on query. Default database: ''. Query: 'CREATE TABLE d.u (b INT)'; ",
                "DROP TABLE d.u",
            ),
        ] {
            run(&mut q, before);
            run(&mut c, sql);
            while status(&mut q, "Last_SQL_Errno") == "0" {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            // It is over by then, and may be started again.
            assert_eq!(status(&mut q, "Replica_SQL_Running"), "No");
            let said = status(&mut q, "Last_SQL_Error");
            assert!(said.starts_with(says), "{said}");
            run(&mut q, then);
            run(&mut q, "START REPLICA SQL_THREAD");
            arrived(&mut c, &mut q);
            same(&mut c, &mut q, "SELECT * FROM d.t");
        }
        run(&mut q, "STOP REPLICA");
        run(&mut c, "DROP TABLE d.u");
        run(&mut c, "DELETE FROM d.t");
    }
}

/// A connection by GTIDs leaves out what is executed, of which the place is not known then.
#[test]
fn an_error_has_its_place_after_another_connection() {
    let s = source();
    let mut c = s.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "CREATE TABLE d.gone (a INT)"] {
        run(&mut c, sql);
    }
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    run(&mut q, "SET sql_log_bin = OFF");
    run(&mut q, "DROP TABLE d.gone");
    run(&mut c, "INSERT INTO d.gone VALUES (1)");
    let events = crate::common::rows(&mut c, "SHOW BINLOG EVENTS");
    let at = events.iter().rfind(|row| row[2] == "Gtid").map(|row| row[1].clone()).unwrap();
    for _ in 0..2 {
        let end = std::time::Instant::now() + PATIENCE;
        while status(&mut q, "Last_SQL_Errno") == "0" && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (error, place) = (status(&mut q, "Last_SQL_Error"), format!(" at binlog.000001:{at} of the source's log"));
        assert!(error.ends_with(&place), "{error}, {place}");
        assert_eq!(status(&mut q, "Exec_Source_Log_Pos"), at);
        run(&mut q, "STOP REPLICA");
        run(&mut q, "START REPLICA");
    }
}

/// Rows without a key are found by all they have, which the transaction before may just have changed.
#[test]
fn rows_without_a_key_are_found_one_after_the_other() {
    let s = source();
    let mut c = s.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT, b INT, c JSON)",
        "INSERT INTO d.t VALUES (1, 0, '{}'), (2, 0, '[]'), (3, 0, NULL)",
    ] {
        run(&mut c, sql);
    }
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    run(&mut q, "STOP REPLICA SQL_THREAD");
    for n in 1..400 {
        run(&mut c, &format!("UPDATE d.t SET b = {n} WHERE a = {}", n / 2 % 3 + 1));
    }
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, "SELECT a, b FROM d.t ORDER BY a");
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "0");
}

/// What the source has only warned of, while it computed generated columns and checks, is no error at the replica.
#[test]
fn generated_columns_are_computed_as_leniently() {
    let s = source();
    let mut c = s.connect();
    let replica = Following::start(with_log);
    let mut q = replica.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "SET sql_mode = ''",
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10), g INT AS (a + 0) STORED, v TINYINT AS (a * 100), KEY (v), \
         CHECK (a + 0 < 1000))",
        "INSERT INTO t (id, a) VALUES (1, 'abc'), (2, '12x'), (3, '7')",
        "UPDATE t SET a = 'zz' WHERE id = 3",
        "DELETE FROM t WHERE id = 2",
    ] {
        run(&mut c, sql);
    }
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY id");
    // A value that this table refuses is an error.
    run(&mut q, "SET sql_log_bin = OFF");
    run(&mut q, "SET sql_mode = ''");
    run(&mut q, "ALTER TABLE d.t ADD CHECK (a <> 'abcde')");
    run(&mut c, "INSERT INTO t (id, a) VALUES (4, 'abcde')");
    while status(&mut q, "Last_SQL_Errno") == "0" {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "3819");
}
