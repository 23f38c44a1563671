//! Generated columns at a replica have the values that they had at the source, whatever the settings of who wrote them.

use crate::common::{error, run};
use crate::replica::{Following, follow, same, source, with_log, without_log};

#[test]
fn generated_columns_are_the_sources() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(
        &mut c,
        "CREATE TABLE d.g (id INT PRIMARY KEY, ts TIMESTAMP NULL, day DATE AS (DATE(ts)) STORED, a INT UNSIGNED, \
         b INT UNSIGNED, diff BIGINT AS (a - b) STORED, month VARCHAR(20) AS (MONTHNAME(ts)) STORED, \
         v DATE AS (DATE(ts)) VIRTUAL, w BIGINT AS (b - a) VIRTUAL, n INT, KEY (day), UNIQUE (v, id))",
    );
    run(&mut c, "CREATE TABLE d.k (ts TIMESTAMP NULL, day DATE AS (DATE(ts)) STORED NOT NULL PRIMARY KEY, n INT)");
    let (logged, unlogged) = (Following::start(with_log), Following::start(without_log));
    let (mut r, mut q) = (logged.r.connect(), unlogged.r.connect());
    run(&mut q, "SET GLOBAL replica_parallel_workers = 0");
    run(&mut q, "SET GLOBAL time_zone = '-07:00'");
    follow(&mut r, &s, "SOURCE_AUTO_POSITION = 1");
    follow(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    run(&mut c, "SET time_zone = '+09:00', lc_time_names = 'de_DE'");
    run(&mut c, "SET sql_mode = CONCAT(@@sql_mode, ',NO_UNSIGNED_SUBTRACTION')");
    for image in ["FULL", "MINIMAL", "NOBLOB"] {
        run(&mut c, &format!("SET binlog_row_image = {image}"));
        let first = u32::from(image.as_bytes()[0]) * 10;
        let id = |n: u32| first + n;
        for sql in [
            format!("INSERT INTO d.g (id, ts, a, b, n) VALUES ({}, '2026-03-01 03:00:00', 1, 5, 0)", id(1)),
            format!("INSERT INTO d.g (id, ts, a, b, n) VALUES ({}, '2026-03-02 03:00:00', 5, 1, 0)", id(2)),
            format!("INSERT INTO d.g (id, ts, a, b, n) VALUES ({}, NULL, NULL, 1, 0)", id(3)),
            // What they depend on, and what they do not.
            format!("UPDATE d.g SET ts = ts + INTERVAL 1 DAY WHERE id = {}", id(1)),
            format!("UPDATE d.g SET n = 1 WHERE id = {}", id(2)),
            format!("UPDATE d.g SET a = 0 WHERE id = {}", id(2)),
            format!("REPLACE INTO d.k (ts, n) VALUES ('2026-03-{:02} 03:00:00', 0)", first % 28 + 1),
            format!("UPDATE d.k SET n = {first} WHERE day = '2026-03-{:02}'", first % 28 + 1),
        ] {
            run(&mut c, &sql);
        }
        // By who has other settings: nothing moves.
        let mut other = s.connect();
        run(&mut other, &format!("SET binlog_row_image = {image}"));
        run(&mut other, &format!("UPDATE d.g SET n = 2 WHERE id = {}", id(3)));
    }
    for sql in
        ["SELECT id, day, diff, month, v, w, n, a, b FROM d.g ORDER BY id", "SELECT day, n FROM d.k ORDER BY day"]
    {
        same(&mut c, &mut r, sql);
        same(&mut c, &mut q, sql);
    }
    // Keys have the same.
    same(&mut c, &mut r, "SELECT id FROM d.g FORCE INDEX (day) WHERE day = '2026-03-02' ORDER BY id");
    same(&mut c, &mut q, "SELECT id FROM d.g FORCE INDEX (v) WHERE v = '2026-03-02' ORDER BY id");
    run(&mut c, "DELETE FROM d.g");
    run(&mut c, "DELETE FROM d.k");
    same(&mut c, &mut r, "SELECT COUNT(*) FROM d.g");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.k");
    // Nobody else gives them values.
    run(&mut r, "SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00'");
    let text = "PREPARE s FROM 'INSERT INTO `d`.`k` (`ts`,`day`,`n`) VALUES (?,?,?)'";
    assert_eq!(error(&mut r, text), 3105);
}
