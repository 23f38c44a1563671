//! Whatever runs is stopped within a tenth of a second: by KILL QUERY, KILL, the end of its client, its own time limit.

use crate::common::{PATIENCE, Running, one, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is promised, and what a debug build on a busy machine is granted.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1500 } else { 100 });
/// The machine may do something else meanwhile: the best of so many counts.
const TRIES: u32 = 10;
/// How long a statement runs before it is stopped, the first time. One that has ended by then gets less the next time.
const HEAD_START: Duration = Duration::from_millis(40);

/// Rows of `t`.
const ROWS: usize = 6000;

fn start() -> Running {
    // One worker serves everybody: a statement that does not let others run is not killed.
    let r = Running::configured(|o| {
        o.set(Live::Workers, VarValue::Int(1));
        o.set(Live::InnodbLockWaitTimeout, VarValue::Int(30));
        o.set(Live::SecureFilePriv, VarValue::text(""));
        o.set(Live::LocalInfile, VarValue::Int(1));
    });
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "SET cte_max_recursion_depth = 4294967295",
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(200), KEY (k))",
        "CREATE TABLE u (id BIGINT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(600))",
        "CREATE TABLE one (id INT PRIMARY KEY, j JSON, b LONGBLOB)",
        "INSERT INTO one VALUES (1, '[1, 2]', 'b')",
    ] {
        run(&mut c, sql);
    }
    run(
        &mut c,
        &format!(
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
             SELECT i, i % 100, REPEAT(MD5(i), 3) FROM n"
        ),
    );
    r
}

/// A session of a victim.
fn victim(r: &Running) -> Connection {
    let mut c = r.connect();
    run(&mut c, "USE d");
    run(
        &mut c,
        "SET cte_max_recursion_depth = 4294967295, gannet_statement_memory = 33554432, group_concat_max_len = 1073741824, lock_wait_timeout = 30",
    );
    c
}

/// How it is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    KillQuery,
    Kill,
    Vanish,
    Limit,
}

/// Stops a statement after it has run for a time; how long that took, or what went wrong.
fn stop(r: &Running, sql: &str, how: How, head_start: Duration) -> Result<Duration, String> {
    let sql = sql.replace("{dir}", r.dir.to_str().unwrap());
    let sql = sql.as_str();
    let _ = std::fs::remove_file(r.dir.join("outfile"));
    let mut c = victim(r);
    let id = one(&mut c, "SELECT CONNECTION_ID()");
    let mut other = r.connect();
    match how {
        How::Limit => {
            run(&mut c, &format!("SET max_execution_time = {}", head_start.as_millis().max(1)));
            let start = Instant::now();
            let outcome = c.query(sql);
            match outcome {
                Err(e) if e.code() == Some(3024) => Ok(start.elapsed().saturating_sub(head_start)),
                Err(e) => Err(e.to_string()),
                Ok(_) => Err(format!("ended by itself after {:?}", start.elapsed())),
            }
        }
        How::Vanish => {
            c.command(gannet_wire::flags::com::QUERY, sql.as_bytes()).unwrap();
            std::thread::sleep(head_start);
            let start = Instant::now();
            drop(c);
            while rows(&mut other, "SHOW PROCESSLIST").iter().any(|r| r[0] == id) {
                if start.elapsed() > PATIENCE {
                    return Err("runs on without its client".into());
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(start.elapsed())
        }
        How::KillQuery | How::Kill => {
            let word = if how == How::Kill { "CONNECTION" } else { "QUERY" };
            let ended = AtomicBool::new(false);
            let (outcome, end, at) = std::thread::scope(|scope| {
                let killer = scope.spawn(|| {
                    // A long text is read for a while before it is a statement that can be killed.
                    let runs = |row: &Vec<String>| row[0] == id && row[4] != "Sleep";
                    while !ended.load(Relaxed) && !rows(&mut other, "SHOW PROCESSLIST").iter().any(runs) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    std::thread::sleep(head_start);
                    let at = Instant::now();
                    run(&mut other, &format!("KILL {word} {id}"));
                    at
                });
                let outcome = c.query(sql);
                let end = Instant::now();
                ended.store(true, Relaxed);
                (outcome, end, killer.join().unwrap())
            });
            let code = match &outcome {
                Ok(_) if sql.starts_with("SELECT SLEEP") || sql.starts_with("DO SLEEP") => 1317,
                Ok(_) => return Err("ended by itself".to_string()),
                Err(Error::Io(_)) if how == How::Kill => 1317,
                Err(e) => e.code().unwrap_or(0),
            };
            if code != 1317 {
                return Err(format!("{outcome:?}"));
            }
            match end.checked_duration_since(at) {
                Some(took) => Ok(took),
                None => Err("ended before it was killed".to_string()),
            }
        }
    }
}

/// Stops each; those that take too long are named, all of them.
fn stop_all(r: &Running, statements: &[&str], how: How) {
    let mut slow = Vec::new();
    for sql in statements {
        let (mut best, mut head_start) = (Err(String::new()), HEAD_START);
        for _ in 0..TRIES {
            let now = stop(r, sql, how, head_start);
            if now.is_err() {
                head_start /= 4;
            }
            best = match (best, now) {
                (Ok(a), Ok(b)) => Ok(Duration::min(a, b)),
                (Ok(a), Err(_)) => Ok(a),
                (_, b) => b,
            };
            if matches!(best, Ok(d) if d < BOUND) {
                break;
            }
        }
        match best {
            Ok(took) if took < BOUND => {}
            other => slow.push(format!("{}: {other:?}", sql.get(..200).unwrap_or(sql))),
        }
    }
    assert!(slow.is_empty(), "{how:?}:\n{}", slow.join("\n"));
}

/// Operators, joins, changes of rows.
const OVER_ROWS: &[&str] = &[
    "SELECT COUNT(*) FROM t a, t b, t c",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.k < b.k JOIN t c ON c.k < b.k WHERE a.s > c.s",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.k = b.k JOIN t c ON c.k = b.k",
    "SELECT COUNT(*) FROM t a JOIN t b ON CONCAT(a.s, '') = CONCAT(b.s, '') JOIN t c JOIN t d",
    "SELECT COUNT(*) FROM t a LEFT JOIN t b ON a.s < b.s LEFT JOIN t c ON b.s < c.s",
    "SELECT a.s, b.s FROM t a, t b ORDER BY a.s, b.s LIMIT 20000000, 1",
    "SELECT a.id, b.id FROM t a, t b ORDER BY MD5(a.id + b.id) LIMIT 10",
    "SELECT COUNT(*) FROM (SELECT DISTINCT a.id * 30000 + b.id FROM t a, t b) x",
    "SELECT COUNT(DISTINCT a.id, b.s) FROM t a, t b",
    "SELECT a.s, b.s, COUNT(*) FROM t a, t b GROUP BY a.s, b.s ORDER BY NULL LIMIT 1",
    "SELECT a.s, b.s, COUNT(*) FROM t a, t b GROUP BY a.s, b.s WITH ROLLUP",
    "SELECT SUM(x) FROM (SELECT a.id x FROM t a, t b UNION SELECT a.id * b.id FROM t a, t b) y",
    "SELECT COUNT(*) FROM (SELECT a.id, b.id x FROM t a, t b INTERSECT SELECT a.id, b.id FROM t a, t b) y",
    "SELECT COUNT(*) FROM (SELECT a.id, b.id x FROM t a, t b EXCEPT SELECT b.id, a.id FROM t a, t b) y",
    "SELECT COUNT(*) OVER (ORDER BY a.id) FROM t a, t b",
    "SELECT MAX(a.s) OVER (PARTITION BY a.k ORDER BY a.id ROWS 5 PRECEDING) FROM t a, t b",
    "SELECT SUM(a.id) OVER w, RANK() OVER w FROM t a, t b WINDOW w AS (PARTITION BY b.k ORDER BY a.s)",
    "SELECT JSON_ARRAYAGG(a.id) OVER (ORDER BY a.id ROWS 4000 PRECEDING) FROM t a",
    "SELECT (SELECT COUNT(*) FROM t b WHERE b.s > a.s) FROM t a",
    "SELECT COUNT(*) FROM t a WHERE a.s > ALL (SELECT b.s FROM t b WHERE b.id <> a.id)",
    "SELECT COUNT(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.s = CONCAT(a.s, a.id))",
    "SELECT GROUP_CONCAT(a.s ORDER BY b.s) FROM t a, t b",
    "SELECT GROUP_CONCAT(DISTINCT a.id * 10000 + b.id) FROM t a, t b",
    "SELECT JSON_ARRAYAGG(a.id) FROM t a, t b",
    "SELECT JSON_OBJECTAGG(a.id * 10000 + b.id, b.s) FROM t a, t b",
    "SELECT BIT_XOR(CRC32(CONCAT(a.s, b.s))), STD(a.id * b.id) FROM t a, t b",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT MAX(i) FROM n",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n UNION ALL SELECT i + 2 FROM n) SELECT MAX(i) FROM n",
    "WITH c AS (SELECT a.id x, b.s y FROM t a, t b) SELECT COUNT(*) FROM c p JOIN c q ON p.y = q.y",
    "SELECT COUNT(*) FROM t, JSON_TABLE(CONCAT('[', REPEAT('1,', 20000), '1]'), '$[*]' COLUMNS (x INT PATH '$')) j",
    "SELECT SLEEP(30)",
    "DO SLEEP(30)",
    "SELECT SLEEP(0.01) FROM t",
    "SELECT BENCHMARK(1000000000, MD5('a'))",
    "DO BENCHMARK(1000000000, 1 + 1)",
    "SET @x = BENCHMARK(1000000000, SHA1('a'))",
    "SELECT COUNT(*) INTO @n FROM t a, t b, t c",
    "TABLE t UNION ALL SELECT a.* FROM t a, t b, t c ORDER BY 3, 2, 1",
    "UPDATE t a JOIN t b ON a.id <> b.id JOIN t c ON c.id <> b.id SET a.s = a.s WHERE a.s = 'q'",
    "UPDATE t SET s = s WHERE BENCHMARK(1000000, MD5(s)) > 1",
    "DELETE FROM t WHERE BENCHMARK(1000000, MD5(s)) > 1",
    "DELETE a FROM t a, t b, t c WHERE a.s = CONCAT(b.s, c.s)",
    "INSERT INTO u (s) SELECT a.s FROM t a, t b WHERE MD5(CONCAT(a.s, b.s)) = 'x'",
    "REPLACE INTO u (s) SELECT a.s FROM t a, t b WHERE MD5(CONCAT(a.s, b.s)) = 'x'",
    "INSERT INTO u (s) SELECT a.s FROM t a, t b",
    "INSERT INTO u (id, s) SELECT 1, a.s FROM t a, t b ON DUPLICATE KEY UPDATE s = VALUES(s)",
    "CREATE TABLE v SELECT a.id x, b.* FROM t a, t b",
    "CREATE TEMPORARY TABLE v SELECT a.id x, b.* FROM t a, t b",
    "SELECT a.s FROM t a, t b, t c WHERE a.s > b.s INTO OUTFILE '{dir}/outfile'",
];

#[test]
fn kill_query_stops_operators() {
    let _alone = crate::alone();
    let r = start();
    stop_all(&r, OVER_ROWS, How::KillQuery);
}

#[test]
fn others_stop_operators_too() {
    let _alone = crate::alone();
    let r = start();
    let every =
        |n: usize| OVER_ROWS.iter().skip(n).step_by(5).copied().filter(|s| !s.contains("OUTFILE")).collect::<Vec<_>>();
    stop_all(&r, &every(0), How::Kill);
    stop_all(&r, &every(1), How::Vanish);
    let selects: Vec<&str> =
        every(2).into_iter().filter(|s| s.starts_with("SELECT") || s.starts_with("WITH")).collect();
    stop_all(&r, &selects, How::Limit);
}

/// Over `big`, or waiting for what another session holds.
const DEFINITIONS: &[&str] = &[
    "ALTER TABLE big ADD c INT NOT NULL DEFAULT 7 FIRST, ALGORITHM=COPY",
    "ALTER TABLE big MODIFY s VARCHAR(250) CHARACTER SET latin1",
    "ALTER TABLE big ENGINE = InnoDB",
    "ALTER TABLE big ADD UNIQUE KEY (s, id)",
    "ALTER TABLE big ADD CHECK (LENGTH(s) + id > 0)",
    "CREATE INDEX s ON big (s)",
    "CREATE INDEX f ON big ((CONCAT(s, 'x')))",
    "CHECK TABLE big",
    "CHECKSUM TABLE big",
    "LOAD DATA INFILE '{dir}/rows' INTO TABLE u (s)",
    "LOAD DATA INFILE '{dir}/rows' IGNORE INTO TABLE big (id)",
    "CREATE TABLE copy AS SELECT * FROM big",
    "INSERT INTO u (s) SELECT s FROM big",
    "DELETE FROM big",
    "UPDATE big SET s = CONCAT(s, 'y')",
];

#[test]
fn definitions_and_files() {
    let _alone = crate::alone();
    let r = start();
    let mut c = victim(&r);
    run(&mut c, "CREATE TABLE big (id INT PRIMARY KEY, s VARCHAR(200))");
    run(&mut c, "INSERT INTO big SELECT a.id * 10 + b.id, a.s FROM t a JOIN t b ON b.id < 10");
    let lines: String = (0..200_000).map(|i| format!("{i}\n")).collect();
    std::fs::write(r.dir.join("rows"), lines).unwrap();
    stop_all(&r, DEFINITIONS, How::KillQuery);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM big"), "54000");
}

/// One call over tens of megabytes. (A row beside, so that the plan does not compute it.)
const LONG_CALLS: &[&str] = &[
    "SELECT JSON_LENGTH(CONCAT('[', REPEAT('1,', 15000000), id, ']')) FROM one",
    "SELECT JSON_VALID(CONCAT('{\"a\": [', REPEAT('\"x\", ', 7000000), id, ']}')) FROM one",
    "SELECT CAST(CONCAT('[', REPEAT('[],', 10000000), id, ']') AS JSON) IS NULL FROM one",
    "UPDATE one SET j = CONCAT('[', REPEAT('1.5,', 7500000), id, ']')",
    "SELECT CONCAT(REPEAT('ä', 15000000), id) COLLATE utf8mb4_unicode_ci = CONCAT(REPEAT('Ä', 15000000), id) FROM one",
    "SELECT CONCAT(REPEAT('ж', 15000000), id) < CONCAT(REPEAT('Ж', 15000000), id) FROM one",
    "SELECT STRCMP(CONCAT(REPEAT('ä', 15000000), id) COLLATE utf8mb4_0900_as_cs, CONCAT(REPEAT('ä', 15000000), id)) FROM one",
    "SELECT STR_TO_DATE(CONCAT(REPEAT('1 ', 15000000), id), CONCAT(REPEAT('%d ', 10000000), id)) FROM one",
];

#[test]
fn calls_over_long_values() {
    let _alone = crate::alone();
    let r = start();
    stop_all(&r, LONG_CALLS, How::KillQuery);
}

/// Texts of a million values: reading and planning them takes long, before anything runs.
#[test]
fn long_texts() {
    let _alone = crate::alone();
    let r = start();
    let list = |f: fn(usize) -> String| (0..1_000_000).map(f).collect::<Vec<_>>().join(",");
    let numbers = list(|n| n.to_string());
    for sql in [
        format!("SELECT COUNT(*) FROM t WHERE id IN ({numbers})"),
        format!("EXPLAIN SELECT COUNT(*) FROM t WHERE k NOT IN ({numbers})"),
        format!("INSERT INTO u (id) VALUES {}", list(|n| format!("({n})"))),
        format!("PREPARE p FROM 'SELECT COUNT(*) FROM t WHERE id IN ({numbers})'"),
        format!("SELECT COUNT(*) FROM t WHERE id IN ({numbers}"),
    ] {
        stop_all(&r, &[&sql], How::KillQuery);
    }
}

/// The statement of a session that is in the way, and the one that waits for it.
const WAITING: &[(&str, &str)] = &[
    ("SELECT GET_LOCK('l', 0)", "SELECT GET_LOCK('l', 30)"),
    ("BEGIN; SELECT * FROM t WHERE id = 5 FOR UPDATE", "UPDATE t SET k = 1 WHERE id = 5"),
    ("BEGIN; SELECT * FROM t WHERE id = 5 FOR UPDATE", "SELECT * FROM t FOR SHARE"),
    ("BEGIN; SELECT * FROM t WHERE id = 5 FOR UPDATE", "DELETE FROM t WHERE k = 5"),
    ("BEGIN; INSERT INTO u VALUES (9, 'x')", "INSERT INTO u VALUES (9, 'y')"),
    ("BEGIN; INSERT INTO u VALUES (9, 'x')", "REPLACE INTO u VALUES (9, 'y')"),
    ("BEGIN; SELECT * FROM t LIMIT 1", "ALTER TABLE t ADD z INT"),
    ("BEGIN; SELECT * FROM t LIMIT 1", "DROP TABLE t"),
    ("BEGIN; SELECT * FROM t LIMIT 1", "TRUNCATE t"),
    ("BEGIN; SELECT * FROM t LIMIT 1", "RENAME TABLE t TO tt"),
    ("BEGIN; SELECT * FROM t LIMIT 1", "LOCK TABLES t WRITE"),
    ("LOCK TABLES t WRITE", "SELECT * FROM t LIMIT 1"),
    ("LOCK TABLES t WRITE", "INSERT INTO t VALUES (-1, 1, '')"),
    ("LOCK TABLES t READ", "UPDATE t SET k = 1 WHERE id = 5"),
    ("LOCK TABLES t WRITE", "FLUSH TABLES t WITH READ LOCK"),
    ("FLUSH TABLES WITH READ LOCK", "INSERT INTO u VALUES (9, 'y')"),
    ("FLUSH TABLES WITH READ LOCK", "CREATE TABLE w (a INT)"),
    ("XA START 'x'; INSERT INTO u VALUES (8, 'x'); XA END 'x'; XA PREPARE 'x'", "UPDATE u SET s = 'z' WHERE id = 8"),
];

#[test]
fn waits() {
    let _alone = crate::alone();
    let r = start();
    for (hold, wait) in WAITING {
        let mut holder = victim(&r);
        for sql in hold.split("; ") {
            run(&mut holder, sql);
        }
        for how in [How::KillQuery, How::Vanish] {
            stop_all(&r, &[wait], how);
        }
        if hold.starts_with("XA") {
            run(&mut holder, "XA ROLLBACK 'x'");
        }
    }
}
