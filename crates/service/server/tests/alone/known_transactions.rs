//! Known transactions and prepared statements, and what performance_schema says of them by user, account and host,
//! while their sessions are there and when they have gone.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_wire::client::{Arg, Connection, Options};
use std::time::{Duration, Instant};

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).unwrap()
}

/// Of the sum by user, account or host: all, READ WRITE, READ ONLY.
fn counts(c: &mut Connection, by: &str, whose: &str) -> [u64; 3] {
    let sql = format!(
        "SELECT SUM(COUNT_STAR), SUM(COUNT_READ_WRITE), SUM(COUNT_READ_ONLY)
         FROM performance_schema.events_transactions_summary_by_{by}_by_event_name WHERE {whose}"
    );
    let row = rows(c, &sql).remove(0);
    [0, 1, 2].map(|i| row[i].parse().unwrap())
}

#[test]
fn transactions_of_users_are_counted_and_remembered() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, b INT)",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "CREATE USER ann@localhost, bob@localhost",
        "GRANT ALL ON d.* TO ann@localhost, bob@localhost",
        "TRUNCATE performance_schema.events_transactions_summary_global_by_event_name",
    ] {
        run(&mut root, sql);
    }
    let (mut ann, mut bob) = (login(&r, "ann"), login(&r, "bob"));
    (0..5).for_each(|_| run(&mut ann, "UPDATE d.t SET b = b + 1 WHERE id = 1"));
    assert_eq!(error(&mut ann, "INSERT INTO d.t VALUES (1, 1)"), 1062);
    for sql in ["START TRANSACTION READ ONLY", "SELECT * FROM d.t", "COMMIT", "BEGIN", "DELETE FROM d.t", "ROLLBACK"] {
        run(&mut ann, sql);
    }
    // Prepared: each execution is one, and is counted for its statement.
    let s = bob.prepare("SELECT b FROM d.t WHERE id = ?").unwrap();
    let u = bob.prepare("UPDATE d.t SET b = ? WHERE id = 2").unwrap();
    (0..7).for_each(|_| assert_eq!(bob.execute(&s, &[Arg::Int(2)]).unwrap().rows.len(), 1));
    (0..3).for_each(|n| assert_eq!(bob.execute(&u, &[Arg::Int(70 + n)]).unwrap().ok.affected, 1));
    assert_eq!(counts(&mut root, "user", "USER = 'ann'"), [8, 7, 1]);
    assert_eq!(counts(&mut root, "account", "USER = 'bob' AND HOST = 'localhost'"), [10, 10, 0]);
    let prepared = "SELECT STATEMENT_ID, STATEMENT_NAME, SQL_TEXT, COUNT_EXECUTE, SUM_ROWS_SENT, SUM_ROWS_AFFECTED, COUNT_REPREPARE
                    FROM performance_schema.prepared_statements_instances i JOIN performance_schema.threads t
                    ON t.THREAD_ID = i.OWNER_THREAD_ID WHERE PROCESSLIST_USER = 'bob' ORDER BY 1";
    let want = [
        ["1", "NULL", "SELECT b FROM d.t WHERE id = ?", "7", "7", "0", "0"],
        ["2", "NULL", "UPDATE d.t SET b = ? WHERE id = 2", "3", "0", "3", "0"],
    ];
    assert_eq!(rows(&mut root, prepared), want);
    // The time of a transaction is what passes between its statements, too, and a single statement's what that takes.
    run(&mut root, "TRUNCATE performance_schema.events_transactions_summary_by_thread_by_event_name");
    let begun = Instant::now();
    run(&mut ann, "BEGIN");
    std::thread::sleep(Duration::from_millis(200));
    run(&mut ann, "COMMIT");
    let (of_two, begun) = (begun.elapsed(), Instant::now());
    run(&mut ann, "SELECT SLEEP(0.1) FROM d.t WHERE id = 1");
    let of_one = begun.elapsed();
    let id = one(&mut ann, "SELECT CONNECTION_ID()");
    let times = format!(
        "SELECT MAX_TIMER_WAIT, MIN_TIMER_WAIT
                 FROM performance_schema.events_transactions_summary_by_thread_by_event_name WHERE THREAD_ID = {id}"
    );
    let times = rows(&mut root, &times).remove(0);
    let [longest, shortest] = [0, 1].map(|n| Duration::from_nanos(times[n].parse::<u64>().unwrap() / 1000));
    // No longer than their client has seen them take, whatever held it up.
    let most = of_two.max(of_one);
    assert!(longest >= Duration::from_millis(195) && longest <= most, "{longest:?} {of_two:?} {of_one:?}");
    assert!(shortest >= Duration::from_millis(98) && shortest <= of_one, "{shortest:?} {of_two:?} {of_one:?}");
    // One that is open when its session ends is rolled back.
    run(&mut ann, "BEGIN");
    run(&mut ann, "UPDATE d.t SET b = 5 WHERE id = 1");
    ann.quit().unwrap();
    bob.quit().unwrap();
    let began = Instant::now();
    while one(&mut root, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER IN ('ann', 'bob')") != "0" {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(counts(&mut root, "user", "USER = 'ann'"), [11, 10, 1]);
    assert_eq!(counts(&mut root, "account", "USER = 'ann'"), [11, 10, 1]);
    assert_eq!(counts(&mut root, "user", "USER = 'bob'"), [10, 10, 0]);
    assert!(counts(&mut root, "host", "HOST = 'localhost'")[0] >= 21);
    assert_eq!(rows(&mut root, prepared).len(), 0);
    run(&mut root, "TRUNCATE performance_schema.events_transactions_summary_by_account_by_event_name");
    assert_eq!(counts(&mut root, "account", "USER = 'ann'"), [0, 0, 0]);
    assert_eq!(counts(&mut root, "user", "USER = 'ann'"), [11, 10, 1]);
    // Users that are forgotten take their sums with them.
    run(&mut root, "TRUNCATE performance_schema.users");
    assert_eq!(counts(&mut root, "user", "USER IN ('ann', 'bob')"), [0, 0, 0]);
    assert!(counts(&mut root, "host", "HOST = 'localhost'")[0] >= 21);
}
