//! What is kept of the recent past, beside work that is known.

use crate::common::{PATIENCE, Running, one, rows, run};
use std::time::{Duration, Instant};

#[test]
fn latencies_of_digests_are_kept_by_the_second() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    let history = "SELECT DIGEST_TEXT, SUM(COUNT_BUCKET), SUM(IF(BUCKET_TIMER_HIGH >= 50000000000, COUNT_BUCKET, 0)),
                          SUM(IF(BUCKET_TIMER_LOW > 90000000000, COUNT_BUCKET, 0))
                   FROM performance_schema.gannet_digest_latency_history
                   WHERE SCHEMA_NAME = 'd' AND DIGEST_TEXT LIKE 'SELECT%' AND DIGEST_TEXT NOT LIKE '%gannet_digest%'
                   GROUP BY 1 ORDER BY 1";
    // The first look tells what was there before: work is known from the second on.
    let began = Instant::now();
    while one(&mut c, "SELECT COUNT(*) FROM performance_schema.gannet_history") == "0" {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..5 {
        assert_eq!(one(&mut c, "SELECT SLEEP(0.06)"), "0");
    }
    let mut late = 0;
    for n in 0..40 {
        let begun = Instant::now();
        assert_eq!(one(&mut c, &format!("SELECT {n} + {n}")), (n + n).to_string());
        late += u64::from(begun.elapsed() > Duration::from_millis(90));
    }
    let seen = |rows: &[Vec<String>]| rows.iter().map(|r| r[1].parse::<u64>().unwrap()).sum::<u64>();
    let mut found = rows(&mut c, history);
    while seen(&found) < 45 {
        assert!(began.elapsed() < PATIENCE, "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
        found = rows(&mut c, history);
    }
    let slow = found.iter().find(|r| r[0] == "SELECT `SLEEP` (?)").unwrap();
    assert_eq!(slow[1..3], ["5", "5"], "{found:?}");
    let quick = found.iter().find(|r| r[0] == "SELECT ? + ?").unwrap();
    // None is said to have taken longer than it did.
    assert!(quick[1] == "40" && quick[3].parse::<u64>().unwrap() <= late, "{late} {found:?}");
    // By digest, without reading the others; each second's time is in its rows.
    let digest = "SELECT DIGEST FROM performance_schema.events_statements_summary_by_digest
                  WHERE DIGEST_TEXT = 'SELECT `SLEEP` (?)'";
    let digest = one(&mut c, digest);
    let sums = format!(
        "SELECT SUM(s) DIV 1000000000 >= 300 FROM (SELECT DISTINCT END_TIME, SUM_TIMER_WAIT s
         FROM performance_schema.gannet_digest_latency_history WHERE DIGEST = '{digest}') x"
    );
    assert_eq!(one(&mut c, &sums), "1");
    // TRUNCATE of the digests leaves the past; its own TRUNCATE forgets it.
    run(&mut c, "TRUNCATE performance_schema.events_statements_summary_by_digest");
    let left = format!(
        "SELECT SUM(COUNT_BUCKET) FROM performance_schema.gannet_digest_latency_history WHERE DIGEST = '{digest}'"
    );
    assert_eq!(one(&mut c, &left), "5");
    run(&mut c, "TRUNCATE performance_schema.gannet_digest_latency_history");
    assert_eq!(one(&mut c, &left), "NULL");
}
