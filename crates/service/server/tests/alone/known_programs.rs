//! Known work of stored programs, of sorts and groups that go to disk, of LOCK TABLES and several users, and what the
//! tables say of it.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_wire::client::{Connection, Options};
use std::time::{Duration, Instant};

fn login(r: &Running, user: &str) -> Connection {
    let mut c = Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).unwrap();
    run(&mut c, "USE d");
    c
}

fn begin() -> (Running, Connection) {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b VARCHAR(200))",
        "CREATE USER ann@localhost, bob@localhost",
        "GRANT ALL ON d.* TO ann@localhost, bob@localhost",
        "SET cte_max_recursion_depth = 2000",
        "INSERT INTO d.t WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
         SELECT n, n, REPEAT('x', 100) FROM s",
        "CREATE PROCEDURE d.p() BEGIN DECLARE i INT DEFAULT 0;
         WHILE i < 3 DO UPDATE d.t SET a = 7 WHERE id = i; SET i = i + 1; END WHILE; END",
        "CREATE FUNCTION d.f(x INT) RETURNS INT DETERMINISTIC
         BEGIN DECLARE y INT; SELECT a INTO y FROM d.t WHERE id = x; RETURN y; END",
        "CREATE TRIGGER d.tr BEFORE INSERT ON d.t FOR EACH ROW SET NEW.a = NEW.a + 1",
        "CREATE PROCEDURE d.q() BEGIN DECLARE CONTINUE HANDLER FOR 1062 BEGIN END;
         CALL d.p(); INSERT INTO d.t VALUES (1, 1, 'there'); SELECT d.f(3) INTO @x; END",
        "SET GLOBAL gannet_statement_memory = 1048576",
        "TRUNCATE performance_schema.events_statements_summary_by_program",
        "TRUNCATE performance_schema.events_statements_summary_by_digest",
    ] {
        run(&mut root, sql);
    }
    (r, root)
}

#[test]
fn statements_of_programs_count_where_they_run() {
    let _alone = crate::alone();
    let (r, mut root) = begin();
    let mut ann = login(&r, "ann");
    run(&mut ann, "CALL p()");
    assert_eq!(rows(&mut ann, "SELECT f(10), f(11)"), [["10", "11"]]);
    run(&mut ann, "INSERT INTO t VALUES (5000, 1, 'y'), (5001, 2, 'z')");
    run(&mut ann, "UPDATE t SET b = 'found' WHERE f(id) = 4 AND id BETWEEN 3 AND 6");
    run(&mut ann, "CALL q()");
    // `q` calls `p`, inserts in vain and asks `f`; the trigger ran for the row that was there, too.
    let programs =
        "SELECT OBJECT_TYPE, OBJECT_NAME, COUNT_STAR, COUNT_STATEMENTS, SUM_ROWS_AFFECTED, SUM_ROWS_EXAMINED,
                           SUM_ERRORS, SUM_TIMER_WAIT > 0, SUM_TIMER_WAIT >= SUM_STATEMENTS_WAIT
                    FROM performance_schema.events_statements_summary_by_program WHERE OBJECT_SCHEMA = 'd' ORDER BY 2";
    let want = [
        ["FUNCTION", "f", "7", "7", "7", "7", "0", "1", "1"],
        ["PROCEDURE", "p", "2", "6", "2", "4", "0", "1", "1"],
        ["PROCEDURE", "q", "1", "3", "1", "3", "1", "1", "1"],
        ["TRIGGER", "tr", "3", "0", "0", "0", "0", "1", "1"],
    ];
    assert_eq!(rows(&mut root, programs), want);
    // Sums by account are of the accounts that there are.
    let strangers = "SELECT DISTINCT USER, HOST FROM performance_schema.status_by_account
                     WHERE CONCAT(USER, '@', HOST) NOT IN (SELECT CONCAT(USER, '@', HOST) FROM performance_schema.accounts
                                                           WHERE USER IS NOT NULL)";
    assert!(rows(&mut root, strangers).is_empty(), "{:?}", rows(&mut root, strangers));
    // As in MySQL: an error that a handler took counts as handled alone.
    let errors =
        "SELECT SUM_ERROR_RAISED, SUM_ERROR_HANDLED FROM performance_schema.events_errors_summary_by_user_by_error
                  WHERE USER = 'ann' AND ERROR_NUMBER = 1062";
    assert_eq!(rows(&mut root, errors), [["0", "1"]]);
}

#[test]
fn what_goes_to_disk_is_said_of_its_statement_and_user() {
    let _alone = crate::alone();
    let (r, mut root) = begin();
    let (mut ann, mut bob) = (login(&r, "ann"), login(&r, "bob"));
    let group = "SELECT COUNT(*) FROM (SELECT CONCAT(REPEAT(b, 20), id) k, COUNT(*) FROM t GROUP BY k) x";
    assert_eq!(one(&mut ann, group), "2000");
    assert_eq!(one(&mut ann, "SELECT COUNT(*) FROM (SELECT DISTINCT REPEAT(b, 20), id FROM t) x"), "2000");
    assert_eq!(rows(&mut ann, "SELECT REPEAT(b, 20) c, id FROM t ORDER BY c, id LIMIT 1990, 1")[0][1], "1991");
    // What fits stays in memory.
    assert_eq!(rows(&mut bob, "SELECT a % 10, COUNT(*) FROM t GROUP BY 1").len(), 10);
    assert_eq!(rows(&mut bob, "SELECT id FROM t ORDER BY a DESC LIMIT 3").len(), 3);
    for sql in ["CREATE TEMPORARY TABLE tt (a INT PRIMARY KEY)", "INSERT INTO tt SELECT id FROM t"] {
        run(&mut bob, sql);
    }
    assert_eq!(one(&mut bob, "SELECT COUNT(*) FROM tt"), "2000");
    let digests = "SELECT LEFT(DIGEST_TEXT, 30), SUM_CREATED_TMP_TABLES, SUM_CREATED_TMP_DISK_TABLES, SUM_SORT_MERGE_PASSES > 0,
                          SUM_SORT_ROWS, SUM_ROWS_EXAMINED
                   FROM performance_schema.events_statements_summary_by_digest
                   WHERE SCHEMA_NAME = 'd' AND SUM_ROWS_EXAMINED > 0 ORDER BY SUM_CREATED_TMP_DISK_TABLES DESC, DIGEST_TEXT";
    let want = [
        ["SELECT COUNT ( * ) FROM ( SELE", "1", "1", "0", "0", "2000"],
        ["SELECT COUNT ( * ) FROM ( SELE", "1", "1", "0", "0", "2000"],
        ["INSERT INTO `tt` SELECT `id` F", "0", "0", "0", "0", "2000"],
        ["SELECT `a` % ? , COUNT ( * ) F", "1", "0", "0", "0", "2000"],
        ["SELECT COUNT ( * ) FROM `tt`", "0", "0", "0", "0", "2000"],
        ["SELECT `id` FROM `t` ORDER BY ", "0", "0", "0", "3", "2000"],
        ["SELECT REPEAT ( `b` , ? ) `c` ", "0", "0", "1", "1991", "2000"],
    ];
    let mut found = rows(&mut root, digests);
    found.sort();
    let mut want = want.map(|row| row.map(String::from).to_vec());
    want.sort();
    assert_eq!(found, want);
    let names = "'Created_tmp_disk_tables', 'Created_tmp_tables', 'Sort_rows'";
    for (user, want) in [("ann", ["2", "2", "1991"]), ("bob", ["0", "1", "3"])] {
        let sql = format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.status_by_user
             WHERE USER = '{user}' AND VARIABLE_NAME IN ({names}) ORDER BY VARIABLE_NAME"
        );
        assert_eq!(rows(&mut root, &sql).concat(), want, "{user}");
    }
}

#[test]
fn who_waits_for_a_locked_table_is_seen() {
    let _alone = crate::alone();
    let (r, mut root) = begin();
    let (mut ann, mut bob) = (login(&r, "ann"), login(&r, "bob"));
    run(&mut ann, "LOCK TABLES t WRITE");
    assert_eq!(error(&mut ann, "SELECT * FROM d.other"), 1100);
    let waiting = std::thread::spawn(move || {
        assert_eq!(one(&mut bob, "SELECT COUNT(*) FROM t"), "2000");
        bob
    });
    let locks = "SELECT DISTINCT t.PROCESSLIST_USER, m.LOCK_STATUS FROM performance_schema.metadata_locks m
                 JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
                 WHERE m.OBJECT_SCHEMA = 'd' AND m.OBJECT_NAME = 't' ORDER BY 1";
    let began = Instant::now();
    let want = [["ann", "GRANTED"], ["bob", "PENDING"]];
    while rows(&mut root, locks) != want {
        assert!(began.elapsed() < PATIENCE, "{:?}", rows(&mut root, locks));
    }
    std::thread::sleep(Duration::from_millis(200));
    run(&mut ann, "UNLOCK TABLES");
    let _bob = waiting.join().unwrap();
    assert!(rows(&mut root, locks).is_empty());
    let times = "SELECT COUNT_STAR, SUM_LOCK_TIME DIV 1000000000 >= 195, SUM_LOCK_TIME <= SUM_TIMER_WAIT
                 FROM performance_schema.events_statements_summary_by_digest
                 WHERE DIGEST_TEXT = 'SELECT COUNT ( * ) FROM `t`'";
    assert_eq!(rows(&mut root, times), [["1", "1", "1"]]);
    let errors = "SELECT USER, HOST, ERROR_NUMBER, SUM_ERROR_RAISED FROM performance_schema.events_errors_summary_by_account_by_error
                  WHERE SUM_ERROR_RAISED > 0 AND USER IN ('ann', 'bob')";
    assert_eq!(rows(&mut root, errors), [["ann", "localhost", "1100", "1"]]);
}
