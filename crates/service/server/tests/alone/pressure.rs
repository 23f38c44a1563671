//! Many who want the same thing, and what others see of it. `gannet bench pressure` does the same at size.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_wire::client::Connection;
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn id(c: &mut Connection) -> String {
    one(c, "SELECT CONNECTION_ID()")
}

/// A row of INNODB_TRX: state, level, rows locked, rows changed, whether it has a wanted lock and since when.
fn shown(control: &mut Connection, thread: &str) -> Vec<Vec<String>> {
    let sql = format!(
        "SELECT trx_state, trx_isolation_level, trx_rows_locked, trx_rows_modified, trx_requested_lock_id IS NOT NULL, \
         trx_wait_started IS NOT NULL, trx_started > NOW() - INTERVAL 1 HOUR FROM information_schema.innodb_trx \
         WHERE trx_mysql_thread_id = {thread}"
    );
    rows(control, &sql)
}

#[test]
fn transactions_that_only_read_are_listed() {
    let _alone = crate::alone();
    let r = Running::start();
    let (mut control, mut a, mut b) = (r.connect(), r.connect(), r.connect());
    run(&mut control, "CREATE DATABASE d");
    run(&mut control, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    run(&mut control, "INSERT INTO d.t VALUES (1, 1), (2, 2)");
    let (of_a, of_b) = (id(&mut a), id(&mut b));
    let row = |words: &str| vec![words.split(' ').map(|w| w.replace('-', " ")).collect::<Vec<String>>()];
    run(&mut a, "BEGIN");
    assert!(shown(&mut control, &of_a).is_empty(), "nothing is read yet");
    run(&mut a, "SELECT * FROM d.t");
    assert_eq!(shown(&mut control, &of_a), row("RUNNING REPEATABLE-READ 0 0 0 0 1"));
    run(&mut a, "COMMIT");
    assert!(shown(&mut control, &of_a).is_empty());
    // Locks without a snapshot.
    run(&mut a, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run(&mut a, "BEGIN");
    run(&mut a, "SELECT * FROM d.t WHERE id = 1 FOR UPDATE");
    assert_eq!(shown(&mut control, &of_a), row("RUNNING READ-COMMITTED 1 0 0 0 1"));
    let status = rows(&mut control, "SHOW ENGINE INNODB STATUS")[0][2].clone();
    assert!(status.contains("1 lock struct(s), 1 row lock(s), undo log entries 0"), "{status}");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            run(&mut b, "BEGIN");
            run(&mut b, "UPDATE d.t SET v = 5 WHERE id = 1");
        });
        let begin = Instant::now();
        while shown(&mut control, &of_b).first().is_none_or(|s| s[0] != "LOCK WAIT") {
            assert!(begin.elapsed() < PATIENCE, "{:?}", shown(&mut control, &of_b));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(shown(&mut control, &of_b)[0][4..], ["1", "1", "1"]);
        run(&mut a, "ROLLBACK");
        waiter.join().expect("the waiter goes on");
    });
    assert_eq!(shown(&mut control, &of_b)[0][0], "RUNNING");
    run(&mut b, "ROLLBACK");
    assert!(shown(&mut control, &of_a).is_empty() && shown(&mut control, &of_b).is_empty());
}

#[test]
fn a_queue_gives_every_row_once() {
    let _alone = crate::alone();
    const ROWS: usize = 200;
    let r = Running::start();
    let mut control = r.connect();
    run(&mut control, "CREATE DATABASE d");
    run(&mut control, "CREATE TABLE d.q (id INT PRIMARY KEY)");
    let ids: Vec<String> = (0..ROWS).map(|n| format!("({n})")).collect();
    run(&mut control, &format!("INSERT INTO d.q VALUES {}", ids.join(",")));
    // One takes the first, the next takes the second: nothing beyond the LIMIT is locked.
    let (mut a, mut b) = (r.connect(), r.connect());
    let find = "SELECT id FROM d.q ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    for (c, first) in [(&mut a, "0"), (&mut b, "1")] {
        run(c, "BEGIN");
        assert_eq!(one(c, find), first);
    }
    run(&mut a, "ROLLBACK");
    run(&mut b, "ROLLBACK");
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut c = r.connect();
                loop {
                    run(&mut c, "BEGIN");
                    let Some(row) = rows(&mut c, find).pop() else { return };
                    run(&mut c, &format!("DELETE FROM d.q WHERE id = {}", row[0]));
                    run(&mut c, "COMMIT");
                    taken.lock().expect("taken").push(row[0].parse::<usize>().expect("a number"));
                }
            });
        }
    });
    let mut taken = taken.into_inner().expect("taken");
    taken.sort_unstable();
    assert_eq!(taken, (0..ROWS).collect::<Vec<_>>());
}

#[test]
fn a_ring_has_one_victim_at_once() {
    let _alone = crate::alone();
    const RING: usize = 100;
    let r = Running::start();
    let mut control = r.connect();
    // It is no timeout that ends it.
    run(&mut control, "SET GLOBAL innodb_lock_wait_timeout = 100000");
    run(&mut control, "CREATE DATABASE d");
    run(&mut control, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)");
    let ids: Vec<String> = (0..RING).map(|n| format!("({n}, 0)")).collect();
    run(&mut control, &format!("INSERT INTO d.t VALUES {}", ids.join(",")));
    let mut ring: Vec<Connection> = (0..RING)
        .map(|n| {
            let mut c = Connection::connect(&r.socket(), &options()).expect("root connects");
            run(&mut c, "BEGIN");
            run(&mut c, &format!("UPDATE d.t SET v = v + 1 WHERE id = {n}"));
            c
        })
        .collect();
    let errors: Vec<u16> = std::thread::scope(|scope| {
        let step = |(n, c): (usize, &'_ mut Connection)| {
            let code = error(c, &format!("UPDATE d.t SET v = v + 1 WHERE id = {}", (n + 1) % RING));
            run(c, "COMMIT");
            code
        };
        let all: Vec<_> = ring.iter_mut().enumerate().map(|at| scope.spawn(move || step(at))).collect();
        all.into_iter().map(|c| c.join().expect("it ends")).collect()
    });
    assert_eq!(errors.iter().filter(|e| **e == 1213).count(), 1, "{errors:?}");
    assert_eq!(errors.iter().filter(|e| **e == 0).count(), RING - 1);
    // The victim's first change is gone, and it made no second.
    assert_eq!(one(&mut control, "SELECT SUM(v) FROM d.t"), (2 * (RING - 1)).to_string());
}
