//! Statements that want more time, memory or depth than there is: each ends in bounds, with MySQL's error or warning.

use crate::common::{Running, one, rows, run, wait_for, within};
use gannet_wire::client::Connection;
use std::time::{Duration, Instant};

/// Memory that this process may reach, all other tests of this file included.
const MOST_BYTES: usize = 1200 << 20;
/// A debug build on a busy machine; the statements themselves are stopped after 250 ms.
const PATIENCE: Duration = Duration::from_secs(6);

fn most_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() << 10
}

/// What a statement ended with: its error, else the warning it gave, else 0.
fn outcome(c: &mut Connection, sql: &str) -> u16 {
    let mut code = 0;
    within(PATIENCE, sql, || {
        let start = Instant::now();
        code = ended_with(c, sql);
        start.elapsed()
    });
    assert!(most_memory() < MOST_BYTES, "{sql}: {} MiB", most_memory() >> 20);
    code
}

fn ended_with(c: &mut Connection, sql: &str) -> u16 {
    match c.query(sql) {
        Ok(set) if set.ok.warnings == 0 => 0,
        Ok(_) => rows(c, "SHOW WARNINGS")[0][1].parse().unwrap(),
        Err(e) => e.code().unwrap_or_else(|| panic!("{sql}: {e}")),
    }
}

const LIMITED: &[(&str, u16)] = &[
    // Time.
    ("SELECT COUNT(*) FROM t a, t b, t c", 3024),
    ("SELECT a.s, b.s FROM t a, t b ORDER BY a.s, b.s LIMIT 60000, 1", 3024),
    ("SELECT COUNT(*) FROM t a JOIN t b ON SHA2(a.s, 512) = SHA2(CONCAT(b.s, a.id), 512)", 3024),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT a.id * 30000 + b.id FROM t a, t b) x", 3024),
    ("SELECT COUNT(DISTINCT a.id, b.id) FROM t a, t b", 3024),
    ("SELECT a.id, b.id, COUNT(*) FROM t a, t b GROUP BY a.id, b.id LIMIT 1", 3024),
    ("SELECT COUNT(*) OVER (ORDER BY a.id) FROM t a, t b", 3024),
    ("SELECT MAX(a.s) OVER (PARTITION BY a.k ORDER BY a.id ROWS 5 PRECEDING) FROM t a, t b", 3024),
    ("SELECT (SELECT COUNT(*) FROM t b WHERE b.s > a.s) FROM t a", 3024),
    ("SELECT COUNT(*) FROM t a WHERE a.s > ALL (SELECT b.s FROM t b WHERE b.id <> a.id)", 3024),
    ("SELECT BENCHMARK(1000000000, MD5('a'))", 3024),
    ("SELECT SLEEP(0.01) FROM t", 3024),
    (
        "SELECT COUNT(*) FROM t a, t b WHERE REPEAT(CONCAT(a.s, b.s), 50) LIKE '%a%b%c%d%e%f%0%1%2%3%4%5%6%7%8%9%zz'",
        3024,
    ),
    // One call over little.
    ("SELECT REPEAT('a', 2000000) LIKE CONCAT('%', REPEAT('a', 100000), 'b%')", 3024),
    ("SELECT REPEAT('a', 100000) LIKE CONCAT('%', REPEAT('_', 50000), 'b%')", 3024),
    ("SELECT JSON_SEARCH(JSON_QUOTE(REPEAT('a', 2000000)), 'all', CONCAT('%', REPEAT('_', 50000), 'b%'))", 3024),
    ("SELECT CAST(REPEAT('a', 2000000) AS BINARY) LIKE CONCAT('%', REPEAT('a', 100000), 'b%')", 0),
    ("SELECT FIND_IN_SET('x', REPEAT('a,', 30000000))", 3024),
    ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n", 3024),
    ("WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT MAX(i) FROM n", 3024),
    (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n UNION ALL SELECT i + 2 FROM n) SELECT MAX(i) FROM n",
        3024,
    ),
    ("SELECT /*+ MAX_EXECUTION_TIME(100) */ COUNT(*) FROM t a, t b, t c", 3024),
    ("SELECT LENGTH(JSON_ARRAYAGG(a.s)) FROM t a, t b", 1038),
    ("SELECT LENGTH(COMPRESS(REPEAT(s, 100000))) FROM t", 3024),
    // Lengths.
    ("SELECT REPEAT('x', 1000000000)", 1301),
    ("SELECT LPAD('x', 1000000000, 'y')", 1301),
    ("SELECT RPAD('x', 4000000000, 'y')", 1301),
    ("SELECT SPACE(1000000000)", 1301),
    ("SELECT CONCAT(REPEAT('x', 40000000), REPEAT('x', 40000000))", 1301),
    ("SELECT REPLACE(REPEAT('x', 10000000), 'x', 'yyyyyyyyyyyyyyyy')", 1301),
    ("SELECT HEX(REPEAT('x', 40000000))", 1301),
    ("SELECT CONCAT_WS(REPEAT('x', 40000000), 'a', 'b', 'c')", 1301),
    ("SELECT EXPORT_SET(-1, REPEAT('x', 1000000), REPEAT('y', 1000000), REPEAT('z', 10000000), 64)", 1301),
    ("SELECT LENGTH(GROUP_CONCAT(s)) FROM t", 1260),
    ("SELECT LENGTH(GROUP_CONCAT(s ORDER BY s)) FROM t", 1260),
    // Depth.
    ("SELECT JSON_DEPTH(CONCAT(REPEAT('[', 101), REPEAT(']', 101)))", 3157),
    ("SELECT JSON_VALID(REPEAT('[', 1000000))", 3157),
    ("SELECT JSON_ARRAY(CAST(CONCAT(REPEAT('[', 100), REPEAT(']', 100)) AS JSON))", 3157),
    // Much of little: documents whose trees, copies or texts are many times as long as they are.
    ("SELECT LENGTH(JSON_MERGE_PRESERVE(j, j, j, j)) FROM d", 1038),
    ("SELECT LENGTH(JSON_MERGE_PATCH('[]', j)) FROM d", 1038),
    ("SELECT JSON_VALID(j) FROM d", 1038),
    ("SELECT LENGTH(JSON_EXTRACT(j, '$[1]')) FROM d", 1038),
    ("SELECT j -> '$[1]' FROM (SELECT CAST(j AS JSON) j FROM d) e", 1038),
    ("SELECT LENGTH(JSON_SET(j, '$[0]', 2)) FROM d", 1038),
    ("SELECT JSON_CONTAINS(j, '5') FROM d", 1038),
    ("SELECT JSON_OVERLAPS('[5]', j) FROM d", 1038),
    ("SELECT 5 MEMBER OF (j) FROM d", 1038),
    ("SELECT JSON_STORAGE_SIZE(j) FROM d", 1038),
    ("SELECT JSON_VALUE(j, '$[0]') FROM d", 1038),
    ("SELECT JSON_SCHEMA_VALID('{}', j) FROM d", 1038),
    ("SELECT LENGTH(JSON_PRETTY(CONCAT(REPEAT('[', 90), REPEAT('1,', 200000), '1', REPEAT(']', 90))))", 1038),
    (
        "SELECT LENGTH(JSON_EXTRACT(j, '$**', '$', '$', '$', '$', '$', '$', '$', '$', '$')) FROM (SELECT CONCAT('[', REPEAT('1,', 150000), '1]') j) e",
        3143,
    ),
    (
        "SELECT LENGTH(JSON_EXTRACT(j, '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$', '$')) FROM (SELECT CONCAT('[', REPEAT('1,', 150000), '1]') j) e",
        1038,
    ),
    ("SELECT LENGTH(JSON_SEARCH(CONCAT('[', REPEAT('\"a\",', 150000), '1]'), 'all', 'a'))", 1038),
    ("SELECT COUNT(*) FROM d, JSON_TABLE(d.j, '$[*]' COLUMNS (a INT PATH '$')) e", 1038),
    ("SELECT LENGTH(CAST(j AS JSON)) FROM d", 1038),
    ("SELECT LENGTH(EXTRACTVALUE(REPEAT('<a/>', 800000), '/a'))", 1038),
    ("SELECT REGEXP_LIKE('a', REPEAT('ab', 100000))", 1038),
    ("SELECT LENGTH(MAX(v)) FROM (SELECT FIRST_VALUE(REPEAT(s, 1000)) OVER (ORDER BY id) v FROM t) e", 1038),
    ("SELECT MAX(v) FROM (SELECT LENGTH(JSON_ARRAYAGG(s) OVER (ORDER BY id)) v FROM t) e", 1038),
    (
        "SELECT LENGTH(JSON_OBJECTAGG(i, s)) FROM (SELECT a.id * 10000 + b.id i, a.s FROM t a JOIN t b ON b.k < 10) e",
        1038,
    ),
    // What only passes through is not refused.
    ("SELECT JSON_UNQUOTE(JSON_EXTRACT(j, '$[1]')) FROM (SELECT CONCAT('[', REPEAT('1,', 100000), '1]') j) e", 0),
    ("SELECT MIN(s) FROM t GROUP BY id % 10", 0),
    // Regular expressions.
    ("SELECT REGEXP_LIKE(REPEAT('a', 100000), '(.*)(.*)(.*)\\\\1\\\\2\\\\3b')", 3699),
    ("SELECT REGEXP_LIKE('a', REPEAT('(a{1,1000}){1,1000}', 100))", 3700),
    ("SELECT REGEXP_LIKE(REPEAT('a', 40), '^(a+)+$b')", 0),
];

#[test]
fn everything_ends_in_bounds() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(200))");
    run(&mut c, "SET cte_max_recursion_depth = 4294967295");
    run(
        &mut c,
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) \
         SELECT i, i % 100, REPEAT(MD5(i), 3) FROM n",
    );
    run(&mut c, "CREATE VIEW d AS SELECT CONCAT('[', REPEAT('1,', 600000), '1]') j");
    run(&mut c, "SET gannet_statement_memory = 16777216");
    for (sql, wanted) in LIMITED {
        run(&mut c, &format!("SET max_execution_time = {}", if *wanted == 3024 { 250 } else { 600_000 }));
        let got = outcome(&mut c, sql);
        // What gets along without the memory is answered.
        assert!(got == *wanted || *wanted == 1038 && got == 0, "{sql}: {got}, not {wanted}");
        assert_eq!(one(&mut c, "SELECT 1"), "1");
    }
    run(&mut c, "SET cte_max_recursion_depth = DEFAULT, max_execution_time = 0");
    // Arguments are kept until their call is made, also in calls within calls.
    let long = |n: usize| format!("REPEAT('{n}', {})", 20_000_000 + n);
    let all = (10..40).map(long).collect::<Vec<_>>().join(", ");
    for call in ["FIELD('x', ", "GREATEST(", "LENGTH(CONCAT_WS('', ", "INTERVAL(1, ", "ELT(3, "] {
        let sql = format!("SELECT {call}{all}{}", if call.starts_with("LENGTH") { "))" } else { ")" });
        assert_eq!(outcome(&mut c, &sql), 1038, "{call}");
    }
    let nested = (10..40).fold("'x'".to_string(), |inner, n| format!("GREATEST({}, {inner})", long(n)));
    assert_eq!(outcome(&mut c, &format!("SELECT LENGTH({nested})")), 1038);
    assert_eq!(outcome(&mut c, "SELECT LENGTH(CONCAT(REPEAT('a', 30000000), REPEAT('b', 30000000)))"), 0);
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n";
    assert_eq!(outcome(&mut c, endless), 3636);
    // A long sliding frame over doubles is linear.
    let sliding = "SELECT SUM(x) OVER (ORDER BY id ROWS 4000 PRECEDING) FROM (SELECT id, 0.5e0 x FROM t) d ORDER BY id DESC LIMIT 1";
    assert_eq!(outcome(&mut c, sliding), 0);
    assert_eq!(one(&mut c, sliding), "2000.5");
}

#[test]
fn kill_query_is_seen_at_once() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(200))");
    run(&mut c, "SET cte_max_recursion_depth = 10000");
    run(
        &mut c,
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i, MD5(i) FROM n",
    );
    for sql in [
        "SELECT COUNT(*) FROM t a, t b, t c",
        "DELETE FROM t WHERE BENCHMARK(1000000, MD5(s)) > 1",
        "INSERT INTO t SELECT a.id + b.id * 10000 + 1000000, a.s FROM t a, t b WHERE MD5(CONCAT(a.s, b.s)) = 'x'",
        "DO BENCHMARK(1000000000, SHA1('x'))",
        "SELECT SUM(a.id) OVER (ORDER BY b.id, a.id) FROM t a, t b",
    ] {
        let id = one(&mut c, "SELECT CONNECTION_ID()");
        within(Duration::from_millis(1500), sql, || {
            let (mut other, id) = (r.connect(), id.clone());
            let killer = std::thread::spawn(move || {
                let runs = format!("SELECT COMMAND <> 'Sleep' FROM information_schema.PROCESSLIST WHERE ID = {id}");
                wait_for("the statement", || one(&mut other, &runs) == "1");
                std::thread::sleep(Duration::from_millis(150));
                let at = Instant::now();
                run(&mut other, &format!("KILL QUERY {id}"));
                at
            });
            let e = c.query(sql).expect_err(sql);
            assert_eq!(e.code(), Some(1317), "{sql}: {e}");
            killer.join().unwrap().elapsed()
        });
    }
}
