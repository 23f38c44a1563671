//! What performance_schema tells of single statements, seen from other sessions while they run.

use crate::common::{Running, one, options, rows, run};
use gannet_wire::client::{Connection, Options};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const CURRENT: &str = "SELECT SQL_TEXT, END_EVENT_ID IS NULL, TIMER_WAIT > 150000000000, ROWS_SENT, EVENT_NAME, CURRENT_SCHEMA \
                       FROM performance_schema.events_statements_current WHERE SQL_TEXT LIKE '%marker%' AND THREAD_ID <> CONNECTION_ID()";

#[test]
fn a_statement_is_seen_while_it_runs_and_when_it_has_ended() {
    let r = Running::start();
    let (mut a, mut b) = (r.connect(), r.connect());
    let sleeps = "SELECT SLEEP(1000), 'marker'";
    run(&mut a, "CREATE DATABASE d");
    run(&mut a, "USE d");
    let id = one(&mut a, "SELECT CONNECTION_ID()");
    std::thread::scope(|s| {
        s.spawn(|| run(&mut a, sleeps));
        let mut seen: Vec<Vec<String>> = Vec::new();
        while seen.is_empty() || seen[0][2] == "0" {
            std::thread::sleep(Duration::from_millis(10));
            seen = rows(&mut b, CURRENT);
        }
        assert_eq!(seen, [[sleeps, "1", "1", "0", "statement/sql/select", "d"]]);
        // SLEEP reports it by its value.
        run(&mut b, &format!("KILL QUERY {id}"));
    });
    assert_eq!(rows(&mut b, CURRENT), [[sleeps, "0", "1", "1", "statement/sql/select", "d"]]);
    drop(a);
    while !rows(&mut b, CURRENT).is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The join that monitoring agents ask for: sessions, what they run, what they wait for.
#[test]
fn waits_name_what_is_waited_for() {
    let r = Running::start();
    let (mut holder, mut watcher) = (r.connect(), r.connect());
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, KEY k (b))",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "CREATE TABLE d.u (a INT)",
        "BEGIN",
        "UPDATE d.t SET b = 5 WHERE a = 1",
        "SELECT * FROM d.u",
    ] {
        run(&mut holder, sql);
    }
    let waits = "SELECT s.SQL_TEXT, w.EVENT_NAME, w.OBJECT_SCHEMA, w.OBJECT_NAME, w.INDEX_NAME, w.OBJECT_TYPE, w.OPERATION, \
                 w.NESTING_EVENT_ID = s.EVENT_ID, w.TIMER_WAIT <= s.TIMER_WAIT FROM performance_schema.threads t \
                 JOIN performance_schema.events_statements_current s USING (THREAD_ID) \
                 JOIN performance_schema.events_waits_current w USING (THREAD_ID) \
                 WHERE t.PROCESSLIST_COMMAND <> 'Sleep' AND w.EVENT_NAME LIKE 'wait/lock/%' ORDER BY s.SQL_TEXT";
    assert!(rows(&mut watcher, waits).is_empty());
    run(
        &mut watcher,
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'",
    );
    let (delete, alter) = ("DELETE FROM d.t WHERE a = 1", "ALTER TABLE d.u ADD b INT, ALGORITHM = COPY");
    std::thread::scope(|s| {
        for sql in [delete, alter] {
            let mut c = r.connect();
            s.spawn(move || run(&mut c, sql));
        }
        let mut seen: Vec<Vec<String>> = Vec::new();
        while seen.len() < 2 {
            std::thread::sleep(Duration::from_millis(10));
            seen = rows(&mut watcher, waits);
        }
        let metadata = [alter, "wait/lock/metadata", "d", "u", "NULL", "TABLE", "metadata lock", "1", "1"];
        let row = [delete, "wait/lock/row", "d", "t", "PRIMARY", "TABLE", "lock", "1", "1"];
        assert_eq!(seen, [metadata, row]);
        let idle =
            "SELECT COUNT(*), MIN(OPERATION) FROM performance_schema.events_waits_current WHERE EVENT_NAME = 'idle'";
        assert_eq!(rows(&mut watcher, idle), [["1", "idle"]]);
        run(&mut holder, "COMMIT");
    });
    run(
        &mut watcher,
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'events_waits_current'",
    );
    assert_eq!(rows(&mut watcher, "SELECT COUNT(*) FROM performance_schema.events_waits_current"), [["0"]]);
}

/// A reader never sees the text of one statement with the figures of another.
#[test]
fn what_is_read_beside_writers_is_of_one_statement() {
    let r = Running::start();
    let stop = AtomicBool::new(false);
    let statement = |k: usize| {
        // Some fit the words, some do not.
        let padding = "p".repeat(k * 40);
        format!("SELECT /*{k} {padding}*/ a FROM ({}) t", vec!["SELECT 1 AS a"; k].join(" UNION ALL "))
    };
    std::thread::scope(|s| {
        for n in 0..3 {
            let (mut c, stop, statement) = (r.connect(), &stop, &statement);
            s.spawn(move || {
                let mut k = n;
                while !stop.load(Relaxed) {
                    k = k % 7 + 1;
                    run(&mut c, &statement(k));
                }
            });
        }
        let mut c = r.connect();
        let mut checked = 0;
        while checked < 5000 {
            let sql = "SELECT SQL_TEXT, ROWS_SENT FROM performance_schema.events_statements_history WHERE SQL_TEXT LIKE 'SELECT /*%'";
            for row in rows(&mut c, sql) {
                let k: usize = row[1].parse().unwrap();
                assert_eq!(row[0], statement(k)[..statement(k).len().min(1024)]);
                checked += 1;
            }
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn long_texts_are_cut_and_hide_what_they_hid() {
    let r = Running::start();
    let (mut a, mut b) = (r.connect(), r.connect());
    let id = rows(&mut a, "SELECT CONNECTION_ID()")[0][0].clone();
    let last = |b: &mut Connection| {
        let sql = format!(
            "SELECT h.EVENT_NAME, h.SQL_TEXT, h.MESSAGE_TEXT, s.COUNT_STAR FROM performance_schema.events_statements_current h \
             LEFT JOIN performance_schema.events_statements_summary_by_digest s ON s.DIGEST = h.DIGEST WHERE THREAD_ID = {id}"
        );
        rows(b, &sql).remove(0)
    };
    let long = format!("SELECT LENGTH('{}')", "é".repeat(1000));
    run(&mut a, &long);
    let row = last(&mut b);
    assert_eq!([&*row[0], &*row[3]], ["statement/sql/select", "1"]);
    assert!(row[1].len() >= 1023 && long.starts_with(&row[1]), "{}", row[1]);
    let huge = format!("SELECT LENGTH('{}')", "x".repeat(3 << 20));
    run(&mut a, &huge);
    assert_eq!(last(&mut b)[1], huge[..1024]);
    // A password that the cut goes through, and one in the text of an error.
    let secret = "s3cret".repeat(200);
    for sql in
        [format!("CREATE USER u IDENTIFIED BY '{secret}'"), format!("CREATE USER v IDENTIFIED BY '{secret}' NO SUCH")]
    {
        let _may_fail = a.query(&sql);
        let row = last(&mut b);
        assert!(row.iter().all(|cell| !cell.contains("s3cret")), "{row:?}");
    }
    // Sessions without the right to see others see their own.
    run(&mut a, "CREATE USER w");
    run(&mut a, "GRANT SELECT ON performance_schema.* TO w");
    let mut w = Connection::connect(&r.socket(), &Options { user: "w".into(), ..options() }).unwrap();
    let seen =
        rows(&mut w, "SELECT DISTINCT THREAD_ID = CONNECTION_ID() FROM performance_schema.events_statements_current");
    assert_eq!(seen, [["1"]]);
}
