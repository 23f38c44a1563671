//! What does not fit into the memory of a statement goes to disk, and the results are those of memory.

use crate::common::{Running, error, one, rows, run, within};
use gannet_wire::client::Connection;
use std::time::{Duration, Instant};

const ROWS: usize = 3000;
/// The least bound there is.
const TINY: &str = "SET gannet_statement_memory = 16384";
const AMPLE: &str = "SET gannet_statement_memory = DEFAULT";

/// Two tables with every kind of value, NULLs, few and many distinct keys.
fn fill(c: &mut Connection) {
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    for table in ["a", "b"] {
        run(
            c,
            &format!(
                "CREATE TABLE {table} (id INT PRIMARY KEY, k INT, u BIGINT UNSIGNED, s VARCHAR(40), n DECIMAL(12,3), \
                 f DOUBLE, g FLOAT, dt DATETIME(3), ts TIMESTAMP NULL, d DATE, tm TIME(2), y YEAR, bt BIT(7), \
                 e ENUM('x','y','z'), st SET('p','q','r'), j JSON, bl BLOB, KEY (k))"
            ),
        );
        let salt = if table == "a" { 17 } else { 29 };
        run(c, "SET cte_max_recursion_depth = 10000");
        run(
            c,
            &format!(
                "INSERT INTO {table} WITH RECURSIVE n (i, h) AS (SELECT 1, CRC32('{salt}') UNION ALL SELECT i + 1, CRC32(CONCAT(h, {salt})) \
                 FROM n WHERE i < {ROWS}) SELECT i, IF(h % 11 = 0, NULL, h % 700), h << 20, \
                 IF(h % 13 = 0, NULL, CONCAT('s', h % 900, REPEAT('é', h % 7))), (h % 100000) / 1000 - 30, h / 7, h % 1000 / 8, \
                 TIMESTAMP('2024-01-01 00:00:00') + INTERVAL h % 5000000 * 1000 MICROSECOND, FROM_UNIXTIME(1 + h % 2000000000), \
                 DATE('2000-01-01') + INTERVAL h % 900 DAY, SEC_TO_TIME(h % 100000 / 10), 1970 + h % 80, h % 128, h % 4, h % 8, \
                 JSON_OBJECT('k', h % 50, 'l', JSON_ARRAY(h % 3)), REPEAT(CHAR(h % 256), h % 90) FROM n"
            )
            .replace("h % 4,", "IF(h % 4 = 0, NULL, h % 4),"),
        );
    }
}

/// Every operator that keeps rows. `true`: ORDER BY makes the order total.
const QUERIES: &[(&str, bool)] = &[
    ("SELECT * FROM a ORDER BY s, id", true),
    ("SELECT id, UPPER(s) FROM a ORDER BY LENGTH(s) DESC, dt DESC, id", true),
    ("SELECT id, e, st, j FROM a ORDER BY e DESC, st, j, id", true),
    ("SELECT id FROM a ORDER BY n, id LIMIT 2000", true),
    ("SELECT id FROM a ORDER BY f DESC LIMIT 700 OFFSET 900", true),
    ("SELECT a.id, b.id FROM a, b WHERE a.id < 60 ORDER BY b.f, a.id LIMIT 5000, 3", true),
    ("SELECT DISTINCT k FROM a", false),
    ("SELECT DISTINCT s, e FROM a ORDER BY ANY_VALUE(f)", false),
    ("SELECT DISTINCT u FROM a ORDER BY ANY_VALUE(id)", true),
    ("SELECT k, COUNT(*), SUM(n), MIN(s), MAX(dt), AVG(n), BIT_XOR(u) FROM a GROUP BY k", false),
    ("SELECT s, e, COUNT(DISTINCT k), MAX(j), ANY_VALUE(y) FROM a GROUP BY s, e", false),
    ("SELECT u, COUNT(*) FROM a GROUP BY u", false),
    ("SELECT COUNT(DISTINCT u), COUNT(DISTINCT s, k), SUM(DISTINCT n), COUNT(*) FROM a", true),
    ("SELECT e, COUNT(DISTINCT u), SUM(DISTINCT id), GROUP_CONCAT(DISTINCT y ORDER BY y) FROM a GROUP BY e", false),
    ("SELECT k, GROUP_CONCAT(id ORDER BY f DESC SEPARATOR '-'), SUM(id) FROM a GROUP BY k HAVING COUNT(*) > 1", false),
    ("SELECT k, e, SUM(id) FROM a GROUP BY k, e WITH ROLLUP", true),
    ("SELECT id, COUNT(DISTINCT s) FROM a GROUP BY id", false),
    ("SELECT a.id, b.id, a.s, b.j FROM a JOIN b ON a.s = b.s", false),
    ("SELECT a.id, b.id, b.e, b.dt FROM a LEFT JOIN b ON a.u = b.u + 1", false),
    ("SELECT a.id, b.id FROM a LEFT JOIN b ON a.s = b.s AND a.n < b.n", false),
    ("SELECT a.id, b.bl FROM a STRAIGHT_JOIN b ON a.e <=> b.e AND a.y = b.y ORDER BY a.id, b.id", true),
    ("SELECT COUNT(*), SUM(a.id * b.id) FROM a JOIN b ON a.e = b.e", true),
    ("SELECT COUNT(*), SUM(a.id), MAX(b.f) FROM a JOIN b ON a.f < b.f AND a.id < 200", true),
    ("SELECT id FROM a WHERE s IN (SELECT s FROM b)", false),
    ("SELECT id FROM a WHERE s NOT IN (SELECT s FROM b)", false),
    ("SELECT id FROM a WHERE s NOT IN (SELECT s FROM b WHERE s IS NOT NULL)", false),
    ("SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.s = a.s)", false),
    ("SELECT s, k FROM a UNION SELECT s, k FROM b", false),
    ("SELECT s FROM a UNION ALL SELECT s FROM b ORDER BY 1", true),
    ("SELECT s FROM a INTERSECT SELECT s FROM b", false),
    ("SELECT s FROM a INTERSECT ALL SELECT s FROM b", false),
    ("SELECT k FROM a INTERSECT SELECT k FROM b INTERSECT SELECT id FROM a", false),
    ("SELECT s FROM a EXCEPT SELECT s FROM b", false),
    ("SELECT s FROM a EXCEPT ALL SELECT s FROM b", false),
    ("SELECT u FROM a EXCEPT SELECT u FROM b WHERE id < 20", false),
    ("SELECT s FROM a EXCEPT SELECT s FROM b EXCEPT SELECT s FROM a WHERE id < 900", false),
    (
        "WITH t AS (SELECT * FROM a WHERE id % 3 > 0) SELECT COUNT(*), SUM(x.id) FROM t x JOIN t y ON x.id = y.id + 1",
        true,
    ),
    (
        "WITH RECURSIVE t (i, x) AS (SELECT 1, REPEAT('x', 300) UNION ALL SELECT i + 1, x FROM t WHERE i < 900) SELECT SUM(i), SUM(LENGTH(x)) FROM t",
        true,
    ),
    ("WITH RECURSIVE t (i) AS (SELECT 1 UNION SELECT (i * 7 + 3) % 3000 FROM t) SELECT COUNT(*), SUM(i) FROM t", true),
    (
        "SELECT SUM(x.id + y.id) FROM (SELECT id, k FROM a ORDER BY f LIMIT 1000) x, (SELECT id, k FROM b ORDER BY f LIMIT 900) y WHERE x.k = y.k",
        true,
    ),
    ("SELECT id, ROW_NUMBER() OVER (ORDER BY f), SUM(n) OVER (PARTITION BY k ORDER BY id) FROM a ORDER BY id", true),
    (
        "SELECT id, LAG(s, 3) OVER (ORDER BY f, id), MAX(s) OVER (ORDER BY f, id ROWS BETWEEN 20 PRECEDING AND 5 FOLLOWING), COUNT(*) OVER () FROM a ORDER BY id",
        true,
    ),
    (
        "SELECT id, RANK() OVER w, NTILE(7) OVER w, LAST_VALUE(id) OVER w, SUM(k) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM a WINDOW w AS (PARTITION BY e ORDER BY d, id) ORDER BY id",
        true,
    ),
    ("SELECT id, (SELECT COUNT(DISTINCT s) FROM b WHERE b.k < a.k) FROM a WHERE id < 12 ORDER BY id", true),
];

fn answer(c: &mut Connection, sql: &str, ordered: bool) -> Vec<Vec<String>> {
    let mut found = c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}")).texts();
    if !ordered {
        found.sort();
    }
    found
}

#[test]
fn results_are_those_of_memory() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    fill(&mut c);
    run(&mut c, "SET group_concat_max_len = 1000000");
    run(&mut c, "ANALYZE TABLE a, b");
    let files = |c: &mut Connection| {
        one(c, "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Created_tmp_files'")
    };
    let mut silent = Vec::new();
    for (sql, ordered) in QUERIES {
        run(&mut c, AMPLE);
        let wanted = answer(&mut c, sql, *ordered);
        let before = files(&mut c);
        run(&mut c, TINY);
        let found = answer(&mut c, sql, *ordered);
        assert!(
            wanted == found,
            "{sql}: {} and {} rows; first {:?}",
            wanted.len(),
            found.len(),
            wanted.iter().zip(&found).find(|(a, b)| a != b)
        );
        run(&mut c, AMPLE);
        if before == files(&mut c) {
            silent.push(sql);
        }
    }
    // Those have little to keep, or nothing that can go to disk.
    assert!(silent.len() < 8, "did not go to disk: {silent:#?}");
    let left = std::fs::read_dir(one(&mut c, "SELECT CONCAT(@@tmpdir, '/#tmp')")).unwrap().count();
    assert_eq!(left, 0, "files without a name");
}

#[test]
fn a_kill_ends_a_join_on_disk_and_a_full_disk_an_error() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    fill(&mut c);
    run(&mut c, TINY);
    run(&mut c, "SET max_execution_time = 400");
    let sql = "SELECT x.s FROM a x JOIN b y ON x.e = y.e JOIN a z ON y.y = z.y ORDER BY x.f";
    within(Duration::from_millis(4000), sql, || {
        let start = Instant::now();
        assert_eq!(error(&mut c, sql), 3024);
        start.elapsed()
    });
    run(&mut c, "SET max_execution_time = 0");
    run(&mut c, "SET GLOBAL gannet_tmp_disk_limit = 1048576");
    assert_eq!(error(&mut c, sql), 1114);
    assert_eq!(r.server().core().temp_disk_used(), 0);
    run(&mut c, "SET GLOBAL gannet_tmp_disk_limit = DEFAULT");
    assert_eq!(rows(&mut c, "SELECT COUNT(DISTINCT u) FROM a").len(), 1);
}
