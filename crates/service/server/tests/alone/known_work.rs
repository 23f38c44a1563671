//! A known workload, and what every table says of it that speaks of it: exact counts, from a process that does nothing
//! else.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_wire::client::{Arg, Connection, Options};
use std::time::{Duration, Instant};

fn run_each(c: &mut Connection, statements: &[&str]) {
    statements.iter().for_each(|sql| run(c, sql));
}

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).unwrap()
}

/// A server with a table of two indexes, two users, and nothing counted yet.
fn begin() -> (Running, Connection) {
    let r = Running::start();
    let mut root = r.connect();
    run_each(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY (a))",
            "CREATE USER ann@localhost, bob@localhost",
            "GRANT ALL ON d.* TO ann@localhost, bob@localhost",
            "SET GLOBAL userstat = ON",
            "SET GLOBAL innodb_monitor_enable = 'all'",
            "TRUNCATE performance_schema.events_statements_summary_global_by_event_name",
            "TRUNCATE performance_schema.events_statements_summary_by_digest",
        ],
    );
    (r, root)
}

/// What ann does.
fn work(c: &mut Connection) {
    run_each(c, &["USE d", "INSERT INTO t VALUES (1, 1, 1)", "INSERT INTO t VALUES (2, 2, 2), (3, 3, 3), (4, 4, 4)"]);
    run(c, "INSERT INTO t VALUES (5, 5, 5)");
    assert_eq!(error(c, "INSERT INTO t VALUES (1, 1, 1)"), 1062);
    assert_eq!(error(c, "SELECT * FROM nothere"), 1146);
    assert_eq!(error(c, "SELEC 1"), 1064);
    assert_eq!(rows(c, "SELECT * FROM t WHERE id = 2").len(), 1);
    assert_eq!(rows(c, "SELECT * FROM t WHERE id = 77").len(), 0);
    assert_eq!(rows(c, "SELECT * FROM t ORDER BY b DESC").len(), 5);
    assert_eq!(rows(c, "SELECT b, COUNT(*) FROM t GROUP BY b").len(), 5);
    run_each(c, &["UPDATE t SET b = 9 WHERE id = 1", "UPDATE t SET b = b + 1", "DELETE FROM t WHERE id = 5"]);
    let s = c.prepare("SELECT a FROM t WHERE id = ?").unwrap();
    (1..=2).for_each(|id| assert_eq!(c.execute(&s, &[Arg::Int(id)]).unwrap().rows.len(), 1));
    run_each(c, &["BEGIN", "INSERT INTO t VALUES (10, 1, 1)", "ROLLBACK"]);
    assert_eq!(rows(c, "SELECT * FROM t x JOIN t y").len(), 16);
    assert_eq!(rows(c, "SELECT a FROM t FORCE INDEX (a) WHERE a BETWEEN 2 AND 3").len(), 2);
}

/// By kind of statement: executions, errors, rows changed, sent and examined.
const KINDS: &[[&str; 6]] = &[
    ["statement/com/Execute", "2", "0", "0", "2", "2"],
    ["statement/sql/begin", "1", "0", "0", "0", "0"],
    ["statement/sql/change_db", "1", "0", "0", "0", "0"],
    ["statement/sql/delete", "1", "0", "1", "0", "1"],
    ["statement/sql/error", "1", "1", "0", "0", "0"],
    ["statement/sql/insert", "5", "1", "6", "0", "0"],
    ["statement/sql/rollback", "1", "0", "0", "0", "0"],
    ["statement/sql/select", "7", "1", "0", "29", "21"],
    ["statement/sql/update", "2", "0", "6", "0", "6"],
];

/// Counters of the session that did it.
const COUNTERS: &[(&str, &str)] = &[
    ("Created_tmp_tables", "1"),
    ("Handler_commit", "15"),
    ("Handler_delete", "1"),
    ("Handler_external_lock", "34"),
    ("Handler_read_key", "7"),
    ("Handler_read_next", "2"),
    ("Handler_read_rnd_next", "28"),
    ("Handler_rollback", "2"),
    ("Handler_update", "6"),
    ("Handler_write", "7"),
    ("Select_full_join", "1"),
    ("Select_range", "1"),
    ("Select_scan", "3"),
    ("Sort_rows", "5"),
    ("Sort_scan", "1"),
];

#[test]
fn every_table_says_the_same() {
    let _alone = crate::alone();
    let (r, mut root) = begin();
    let metric = |c: &mut Connection, name: &str| -> i64 {
        one(c, &format!("SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'")).parse().unwrap()
    };
    const METRICS: [&str; 4] = ["dml_inserts", "dml_updates", "dml_deletes", "dml_reads"];
    let before = METRICS.map(|name| metric(&mut root, name));
    let status = |c: &mut Connection, name: &str| -> u64 {
        rows(c, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).remove(0).remove(1).parse().unwrap()
    };
    let commands = ["Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_rollback", "Com_stmt_execute"];
    let counted = commands.map(|name| status(&mut root, name));
    let mut ann = login(&r, "ann");
    let bob = login(&r, "bob");
    work(&mut ann);
    for (name, want) in COUNTERS {
        let shown = rows(&mut ann, &format!("SHOW SESSION STATUS LIKE '{name}'")).remove(0).remove(1);
        assert_eq!(shown, *want, "SHOW SESSION STATUS: {name}");
    }
    ann.quit().unwrap();
    bob.quit().unwrap();
    // The connection's end is counted when the server has seen it.
    let gone = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'ann'";
    let began = Instant::now();
    while one(&mut root, gone) != "0" {
        assert!(began.elapsed() < PATIENCE);
    }
    for (table, of) in [("user", "USER = 'ann'"), ("account", "USER = 'ann' AND HOST = 'localhost'")] {
        let sql = format!(
            "SELECT EVENT_NAME, COUNT_STAR, SUM_ERRORS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED
             FROM performance_schema.events_statements_summary_by_{table}_by_event_name
             WHERE {of} AND COUNT_STAR > 0 AND EVENT_NAME NOT LIKE '%show%' ORDER BY EVENT_NAME"
        );
        let seen = rows(&mut root, &sql);
        let seen: Vec<_> = seen.iter().filter(|r| !r[0].ends_with("/Quit")).collect();
        assert_eq!(seen, KINDS.iter().collect::<Vec<_>>(), "by {table}");
        let sql = format!(
            "SELECT ERROR_NUMBER, SUM_ERROR_RAISED FROM performance_schema.events_errors_summary_by_{table}_by_error
             WHERE {of} AND SUM_ERROR_RAISED > 0 ORDER BY ERROR_NUMBER"
        );
        assert_eq!(rows(&mut root, &sql), [["1062", "1"], ["1064", "1"], ["1146", "1"]], "by {table}");
        for (name, want) in COUNTERS.iter().filter(|(name, _)| !matches!(*name, "Created_tmp_tables" | "Select_scan")) {
            let sql = format!(
                "SELECT VARIABLE_VALUE FROM performance_schema.status_by_{table} WHERE {of} AND VARIABLE_NAME = '{name}'"
            );
            assert_eq!(one(&mut root, &sql), *want, "status_by_{table}: {name}");
        }
    }
    // By digest: two INSERTs of one row are one, prepared and text are one.
    let digest = |c: &mut Connection, text: &str| {
        let sql = format!(
            "SELECT COUNT_STAR, SUM_ERRORS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, SUM_NO_INDEX_USED
             FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = 'd' AND DIGEST_TEXT = '{text}'"
        );
        rows(c, &sql)
    };
    assert_eq!(digest(&mut root, "INSERT INTO `t` VALUES (...)"), [["4", "1", "3", "0", "0", "0"]]);
    assert_eq!(digest(&mut root, "SELECT `a` FROM `t` WHERE `id` = ?"), [["2", "0", "0", "2", "2", "0"]]);
    assert_eq!(digest(&mut root, "SELECT * FROM `t` `x` JOIN `t` `y`"), [["1", "0", "0", "16", "8", "1"]]);
    // Of what was waited for, the average lies between the shortest and the longest.
    let apart = "SELECT COUNT(*), SUM(MIN_TIMER_WAIT > AVG_TIMER_WAIT OR AVG_TIMER_WAIT > MAX_TIMER_WAIT)
                 FROM performance_schema.events_waits_summary_global_by_event_name WHERE SUM_TIMER_WAIT > 0";
    let seen = rows(&mut root, apart).remove(0);
    assert!(seen[0].parse::<u64>().unwrap() > 3 && seen[1] == "0", "{seen:?}");
    // Rows of the table: five and one inserted (the one that was there already is none), one deleted; found by the
    // primary key by two SELECTs, two executions, UPDATE and DELETE.
    let io = "SELECT COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE
              FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA = 'd'";
    assert_eq!(rows(&mut root, io), [["30", "6", "6", "1"]]);
    let by_index = "SELECT INDEX_NAME, COUNT_FETCH FROM performance_schema.table_io_waits_summary_by_index_usage
                    WHERE OBJECT_SCHEMA = 'd' ORDER BY 1";
    assert_eq!(rows(&mut root, by_index), [["NULL", "23"], ["a", "2"], ["PRIMARY", "5"]]);
    let used = "SELECT ROWS_READ, ROWS_CHANGED, ROWS_CHANGED_X_INDEXES FROM information_schema.TABLE_STATISTICS
                WHERE TABLE_SCHEMA = 'd'";
    assert_eq!(rows(&mut root, used), [["30", "13", "26"]]);
    let after = METRICS.map(|name| metric(&mut root, name));
    let more: Vec<i64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    // The server's own tasks may have written their figures meanwhile.
    assert!(more[0] >= 6 && more[1] >= 6 && more[2] >= 1, "{more:?}");
    assert!(more[3] >= 30, "{more:?}");
    let now = commands.map(|name| status(&mut root, name));
    let more: Vec<u64> = now.iter().zip(counted).map(|(a, b)| a - b).collect();
    assert_eq!(more, [5, 2, 1, 1, 1, 2]);
    let figures =
        "SELECT TOTAL_CONNECTIONS, CONCURRENT_CONNECTIONS, ROWS_READ >= 30, ROWS_SENT >= 31, ROWS_INSERTED, ROWS_UPDATED,
                   ROWS_DELETED FROM information_schema.USER_STATISTICS WHERE USER = 'ann'";
    assert_eq!(rows(&mut root, figures), [["1", "0", "1", "1", "7", "6", "1"]]);
}

/// One who waits for a row and one who waits for a definition, as the lists of locks, sessions and waits have them.
#[test]
fn who_waits_for_whom() {
    let _alone = crate::alone();
    let (r, mut root) = begin();
    run_each(&mut root, &["INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2)"]);
    let on = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'";
    run(&mut root, on);
    let waits = |c: &mut Connection| -> Vec<u64> {
        let sql =
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_current_waits')";
        rows(c, sql).iter().map(|r| r[1].parse().unwrap()).collect()
    };
    let before = waits(&mut root);
    let (mut holder, mut waiter) = (login(&r, "ann"), login(&r, "bob"));
    let ids = [&mut holder, &mut waiter].map(|c| one(c, "SELECT CONNECTION_ID()"));
    // What a transaction has changed shows between its statements: rows, and not entries of indexes.
    let changed = |c: &mut Connection, id: &str| {
        let sql = format!(
            "SELECT trx_state, trx_rows_modified, trx_is_read_only FROM information_schema.INNODB_TRX
             WHERE trx_mysql_thread_id = {id}"
        );
        rows(c, &sql)
    };
    run_each(&mut holder, &["BEGIN", "UPDATE d.t SET a = 8 WHERE id = 1", "SAVEPOINT s", "UPDATE d.t SET a = 8"]);
    assert_eq!(changed(&mut root, &ids[0]), [["RUNNING", "2", "0"]]);
    run(&mut holder, "ROLLBACK TO s");
    assert_eq!(changed(&mut root, &ids[0]), [["RUNNING", "1", "0"]]);
    run_each(&mut holder, &["ROLLBACK", "BEGIN", "UPDATE d.t SET b = 7 WHERE id = 1"]);
    assert_eq!(changed(&mut root, &ids[0]), [["RUNNING", "1", "0"]]);
    let sql = "UPDATE d.t SET b = b + 1 WHERE id = 1";
    let waiting = std::thread::spawn(move || {
        run(&mut waiter, sql);
        waiter
    });
    let began = Instant::now();
    while one(&mut root, "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "0" {
        assert!(began.elapsed() < PATIENCE);
    }
    let names = "SELECT r.PROCESSLIST_ID, b.PROCESSLIST_ID FROM performance_schema.data_lock_waits w
                 JOIN performance_schema.threads r ON r.THREAD_ID = w.REQUESTING_THREAD_ID
                 JOIN performance_schema.threads b ON b.THREAD_ID = w.BLOCKING_THREAD_ID";
    assert_eq!(rows(&mut root, names), [[&*ids[1], &*ids[0]]]);
    let locks = "SELECT PROCESSLIST_USER, LOCK_STATUS, LOCK_MODE, LOCK_DATA FROM performance_schema.data_locks
                 JOIN performance_schema.threads USING (THREAD_ID) WHERE LOCK_TYPE = 'RECORD' ORDER BY 1";
    let want = [["ann", "GRANTED", "X,REC_NOT_GAP", "1"], ["bob", "WAITING", "X,REC_NOT_GAP", "1"]];
    assert_eq!(rows(&mut root, locks), want);
    let trx = "SELECT TRX_MYSQL_THREAD_ID, TRX_STATE FROM information_schema.INNODB_TRX ORDER BY 2";
    assert_eq!(rows(&mut root, trx), [[&*ids[1], "LOCK WAIT"], [&*ids[0], "RUNNING"]]);
    assert_eq!(changed(&mut root, &ids[1]), [["LOCK WAIT", "0", "0"]]);
    // Five tables, of one moment.
    let view = "SELECT waiting_pid, blocking_pid, waiting_query, blocking_query, locked_table, locked_index,
                       waiting_lock_mode, blocking_lock_mode FROM sys.innodb_lock_waits";
    let want = [&*ids[1], &*ids[0], sql, "NULL", "`d`.`t`", "PRIMARY", "X,REC_NOT_GAP", "X,REC_NOT_GAP"];
    assert_eq!(rows(&mut root, view), [want]);
    let list = "SELECT USER, COMMAND, INFO FROM information_schema.PROCESSLIST WHERE USER IN ('ann', 'bob') ORDER BY 1";
    assert_eq!(rows(&mut root, list), [["ann", "Sleep", "NULL"], ["bob", "Query", sql]]);
    let event = format!(
        "SELECT EVENT_NAME, w.TIMER_WAIT > 0 FROM performance_schema.events_waits_current w
         JOIN performance_schema.threads t USING (THREAD_ID) WHERE t.PROCESSLIST_ID = {}",
        ids[1]
    );
    assert_eq!(rows(&mut root, &event), [["wait/lock/row", "1"]]);
    assert_eq!(waits(&mut root)[0], before[0] + 1);
    std::thread::sleep(Duration::from_millis(200));
    run(&mut holder, "COMMIT");
    let mut waiter = waiting.join().unwrap();
    assert_eq!(waits(&mut root), [before[0], before[1] + 1]);
    assert!(rows(&mut root, view).is_empty());
    // It has waited as long as the other has kept it waiting, and worked for a while.
    let times = "SELECT SUM_LOCK_TIME DIV 1000000000 >= 195, SUM_LOCK_TIME <= SUM_TIMER_WAIT
                 FROM performance_schema.events_statements_summary_by_user_by_event_name
                 WHERE USER = 'bob' AND EVENT_NAME = 'statement/sql/update'";
    assert_eq!(rows(&mut root, times), [["1", "1"]]);

    // A definition waits for a reader's transaction.
    run_each(&mut holder, &["BEGIN", "SELECT * FROM d.t"]);
    let altering = std::thread::spawn(move || run(&mut waiter, "ALTER TABLE d.t ADD c INT"));
    let pending = "SELECT PROCESSLIST_USER, LOCK_STATUS FROM performance_schema.metadata_locks m
                   JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
                   WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 't' AND (LOCK_STATUS = 'PENDING' OR PROCESSLIST_USER = 'ann') ORDER BY 1";
    while rows(&mut root, pending).len() < 2 {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(rows(&mut root, pending), [["ann", "GRANTED"], ["bob", "PENDING"]]);
    run(&mut holder, "COMMIT");
    altering.join().unwrap();

    // A deadlock has one victim, wherever it is counted.
    let deadlocks = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
    let count: u64 = one(&mut root, deadlocks).parse().unwrap();
    let mut other = login(&r, "bob");
    run_each(&mut holder, &["BEGIN", "UPDATE d.t SET b = 1 WHERE id = 1"]);
    run_each(&mut other, &["BEGIN", "UPDATE d.t SET b = 1 WHERE id = 2"]);
    let crossing = std::thread::spawn(move || (error(&mut other, "UPDATE d.t SET b = 2 WHERE id = 1"), other));
    while one(&mut root, "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "0" {
        assert!(began.elapsed() < PATIENCE);
    }
    let one_end = error(&mut holder, "UPDATE d.t SET b = 2 WHERE id = 2");
    let (other_end, _other) = crossing.join().unwrap();
    assert_eq!([one_end.min(other_end), one_end.max(other_end)], [0, 1213]);
    assert_eq!(one(&mut root, deadlocks), (count + 1).to_string());
    let raised = "SELECT SUM(SUM_ERROR_RAISED) FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER = 1213";
    assert_eq!(one(&mut root, raised), "1");
}

/// What a table says of files, sockets and rows, the table of waits says too.
#[test]
fn waits_are_the_same_everywhere() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    run_each(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(300))",
            "TRUNCATE performance_schema.events_waits_summary_global_by_event_name",
            "INSERT INTO d.t (s) VALUES (REPEAT('x', 300)), (REPEAT('y', 300))",
        ],
    );
    // TRUNCATE of the waits was one of the others, too.
    assert_eq!(
        rows(
            &mut c,
            "SELECT COUNT_STAR FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 't'"
        ),
        [["2"]]
    );
    let counted = |c: &mut Connection, table: &str, like: &str| {
        let sql = format!(
            "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT, MAX_TIMER_WAIT FROM performance_schema.{table}
             WHERE EVENT_NAME LIKE '{like}' ORDER BY EVENT_NAME"
        );
        let numbers = |row: Vec<String>| (row[0].clone(), [1, 2, 3].map(|n| row[n].parse::<u64>().unwrap()));
        rows(c, &sql).into_iter().map(numbers).collect::<Vec<_>>()
    };
    let waits = "events_waits_summary_global_by_event_name";
    for (table, like) in
        [("file_summary_by_event_name", "wait/io/file/%"), ("socket_summary_by_event_name", "wait/io/socket/%")]
    {
        // The server goes on writing.
        let [before, between, after] = [table, waits, table].map(|table| counted(&mut c, table, like));
        assert!(!between.is_empty(), "{like}");
        assert!(between.iter().any(|(_, n)| n[0] > 0), "{between:?}");
        assert_eq!((before.len(), after.len()), (between.len(), between.len()), "{between:?}");
        for ((a, b), c) in before.iter().zip(&between).zip(&after) {
            assert_eq!((&a.0, &c.0), (&b.0, &b.0));
            assert!((0..3).all(|n| a.1[n] <= b.1[n] && b.1[n] <= c.1[n]), "{a:?} {b:?} {c:?}");
        }
    }
    let sum = "SELECT SUM(COUNT_STAR) FROM performance_schema.table_io_waits_summary_by_table";
    let rows_of_all = counted(&mut c, waits, "wait/io/table/%").remove(0).1[0];
    assert!(rows_of_all >= 2 && one(&mut c, sum).parse::<u64>().unwrap() >= rows_of_all);
    // No event is there twice, and the one for files goes by the file alone.
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT EVENT_NAME), SUM(EVENT_NAME LIKE 'wait/io/file\\_%')
                 FROM performance_schema.events_waits_summary_global_by_event_name";
    assert_eq!(rows(&mut c, twice), [["0", "0"]]);

    // Files and tablespaces are for those who may see sessions.
    run(&mut c, "CREATE USER ann@localhost");
    let mut ann = login(&r, "ann");
    for table in ["FILES", "INNODB_TABLESPACES", "INNODB_TABLESPACES_BRIEF", "INNODB_DATAFILES", "INNODB_FOREIGN"] {
        assert_eq!(error(&mut ann, &format!("SELECT * FROM information_schema.{table}")), 1227, "{table}");
    }

    // A session's own files: what it sorts has no room in memory.
    run_each(
        &mut c,
        &[
            "SET SESSION cte_max_recursion_depth = 100000",
            "SET GLOBAL temptable_max_ram = 2097152",
            "INSERT INTO d.t (s) WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 40000)
             SELECT RPAD(SHA1(n), 300, n) FROM n",
        ],
    );
    assert_eq!(
        rows(&mut c, "SELECT COUNT(*) FROM (SELECT s FROM d.t ORDER BY s LIMIT 100000) AS sorted")[0][0],
        "40002"
    );
    let own = "SELECT COUNT_STAR > 0, SUM_TIMER_WAIT > 0
               FROM performance_schema.events_waits_summary_by_thread_by_event_name
               WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'";
    assert_eq!(rows(&mut c, own), [["1", "1"]]);
    let by_thread = "SELECT user, total > 0 FROM sys.io_by_thread_by_latency WHERE processlist_id = CONNECTION_ID()";
    assert_eq!(rows(&mut c, by_thread), [["root@localhost", "1"]]);
}
