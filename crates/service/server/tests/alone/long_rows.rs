//! Rows of megabytes, stored and computed, and millions of short ones: a statement holds a few of them at once, however
//! many it goes through.

use crate::common::{Running, run};
use gannet_types::{Value, sql_err};
use gannet_wire::client::Connection;
use gannet_wire::flags::com;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What a statement may add to the memory of this process.
const MOST_BYTES: usize = 48 << 20;

/// Memory of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Reads the answer packet by packet, keeping nothing. Returns its bytes.
fn drain(c: &mut Connection, sql: &str) -> usize {
    c.command(com::QUERY, sql.as_bytes()).unwrap();
    let mut bytes = 0;
    loop {
        let packet = c.receive().unwrap();
        assert_ne!(packet.first(), Some(&0xFF), "{sql}: {}", String::from_utf8_lossy(&packet));
        if packet.first() == Some(&0xFE) && packet.len() < 64 {
            return bytes;
        }
        bytes += packet.len();
    }
}

/// Ends what watches, also when the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn few_are_held_at_once() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE n (id INT PRIMARY KEY)",
        "SET cte_max_recursion_depth = 2000",
        "INSERT INTO n WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1200) SELECT i FROM r",
        "CREATE TABLE big (id INT PRIMARY KEY, b LONGTEXT)",
        "INSERT INTO big SELECT id, REPEAT('b', 1000000) FROM n WHERE id <= 100",
        "CREATE TABLE j (id INT PRIMARY KEY, d JSON)",
        "INSERT INTO j SELECT id, JSON_ARRAY(REPEAT('j', 1000000)) FROM n WHERE id <= 15",
        "SET max_execution_time = 0",
    ] {
        run(&mut c, sql);
    }
    let (most, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(resident(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let _done = Done(&done);
        let mut greedy = Vec::new();
        for (sql, least) in [
            // Computed.
            ("SELECT REPEAT('x', 1000000 + id) FROM n WHERE id <= 100", 100_000_000),
            ("SELECT MAX(REPEAT('x', 1000000 + id)) FROM n WHERE id <= 100", 1_000_000),
            ("SELECT COUNT(DISTINCT REPEAT('x', 1000000 + id % 3)) FROM n WHERE id <= 100", 1),
            ("SELECT MAX(id) FROM n WHERE id <= 100 GROUP BY REPEAT('x', 1000000 + id % 3)", 1),
            ("SELECT LENGTH(x) FROM (SELECT REPEAT('x', 1000000 + id) x FROM n WHERE id <= 100 LIMIT 100) t", 100),
            ("SELECT JSON_ARRAY(REPEAT('x', 1000000 + id)) FROM n WHERE id <= 100", 100_000_000),
            // Stored.
            ("SELECT b FROM big", 100_000_000),
            ("SELECT b, LENGTH(b), b FROM big WHERE id <= 50", 100_000_000),
            // Joined: rows of a megabyte or two.
            ("SELECT x.b, y.b FROM big x, big y WHERE x.id <= 6 AND y.id <= 8", 96_000_000),
            ("SELECT x.b, n.id FROM big x, n WHERE x.id = 1 AND n.id <= 100", 100_000_000),
            ("SELECT x.b, n.id FROM big x JOIN n ON x.id % 2 = n.id % 2 WHERE x.id = 1 AND n.id <= 200", 100_000_000),
            (
                "SELECT STRAIGHT_JOIN n.id, x.b FROM n JOIN big x ON x.id = n.id % 3 + 1 WHERE n.id <= 100 AND x.id <= 3",
                100_000_000,
            ),
            ("SELECT x.d, n.id FROM j x JOIN n ON n.id <= x.id", 100_000_000),
        ] {
            let before = resident();
            most.store(before, Ordering::Relaxed);
            let bytes = drain(&mut c, sql);
            assert!(bytes >= least, "{sql}: {bytes} bytes");
            let more = most.load(Ordering::Relaxed).saturating_sub(before);
            eprintln!("{:>5} MiB  {sql}", more >> 20);
            if more > MOST_BYTES {
                greedy.push(sql);
            }
        }
        assert!(greedy.is_empty(), "{greedy:#?}");
    });
}

#[test]
fn rows_come_one_by_one_and_none_is_kept() {
    let _alone = crate::alone();
    let r = Running::start();
    let digits = "(VALUES ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), ROW(8), ROW(9))";
    let from = |n: usize| (0..n).map(|i| format!("{digits} t{i}")).collect::<Vec<_>>().join(" CROSS JOIN ");
    // More rows than a session keeps.
    let sql = format!("SELECT t0.column_0 FROM {} CROSS JOIN (VALUES ROW(0), ROW(1)) AS twice", from(6));
    let sessions = r.server().sessions().clone();
    let task = gannet_runtime::spawn("rows", move || {
        let mut s = sessions.own("root", "localhost").unwrap();
        let (before, mut most, mut rows, mut sum) = (resident(), 0, 0u64, 0i64);
        let ended = s.each_row(&sql, |row| {
            rows += 1;
            sum += i64::from(row[0] != Value::Int(0));
            if rows % 100_000 == 0 {
                most = most.max(resident());
            }
            Ok(())
        });
        assert_eq!(ended.unwrap(), 1);
        assert_eq!((rows, sum), (2_000_000, 1_800_000));
        assert!(most < before + MOST_BYTES, "{before} bytes, then {most}");
        // Whoever takes the rows may end the statement, and the session goes on.
        let mut left = 10;
        let stopped = s.each_row("SELECT 1; SELECT 2 UNION ALL SELECT 3", |_| {
            left -= 1;
            if left == 7 { Err(sql_err!(OutOfResources)) } else { Ok(()) }
        });
        assert_eq!(stopped.map_err(|(ended, e)| (ended, e.number())), Err((1, 1041)));
        assert_eq!(s.execute("SELECT 4").unwrap(), 1);
    });
    task.join().unwrap();
}
