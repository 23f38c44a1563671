//! What the storage engine does below, as SQL shows it.

use crate::common::{PATIENCE, Running, error, one, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::Connection;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const PAGE: usize = 16384;

#[test]
fn a_checkpoint_that_is_disabled_stays_while_there_is_room() {
    let r = Running::start();
    let mut c = r.connect();
    let at = |c: &mut Connection| -> u64 {
        let sql = "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'log_lsn_last_checkpoint'";
        one(c, sql).parse().expect("a number")
    };
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)",
        "SET GLOBAL innodb_monitor_enable = 'log_lsn_last_checkpoint'",
        "SET GLOBAL innodb_checkpoint_disabled = ON",
    ] {
        run(&mut c, sql);
    }
    assert_eq!(one(&mut c, "SELECT @@GLOBAL.innodb_checkpoint_disabled"), "1");
    let mut seen = Vec::new();
    let held = loop {
        let held = at(&mut c);
        for _ in 0..100 {
            run(&mut c, "INSERT INTO d.t (b) VALUES (REPEAT('x', 1000))");
        }
        std::thread::sleep(Duration::from_millis(1500));
        if at(&mut c) == held {
            break held;
        }
        // A step that was under way has ended: the last one.
        seen.push(held);
        assert!(seen.len() < 2, "{seen:?}");
    };
    let status = rows(&mut c, "SHOW ENGINE INNODB STATUS")[0][2].clone();
    assert!(
        status.lines().any(|l| l.starts_with("Last checkpoint at") && l.ends_with(&format!(" {held}"))),
        "{status}"
    );
    // A log of 32 MiB that fills: writers go on.
    let mut megabytes = 0;
    while at(&mut c) == held {
        run(&mut c, "INSERT INTO d.t (b) VALUES (REPEAT('x', 1048576))");
        megabytes += 1;
        assert!(megabytes < 40, "the log is full");
    }
    assert!(megabytes > 12, "{megabytes} MiB");
    run(&mut c, "SET GLOBAL innodb_checkpoint_disabled = OFF");
    let (free, begin) = (at(&mut c), Instant::now());
    while at(&mut c) == free {
        run(&mut c, "INSERT INTO d.t (b) VALUES (REPEAT('x', 1000))");
        assert!(begin.elapsed() < PATIENCE, "it stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The page of a tree with the greatest number, in the data file of a server that does not run.
fn last_page(r: &Running, tree: u64) -> u64 {
    let file = std::fs::read(r.dir.join("data.gnt")).expect("the data file");
    let owner = |page: &[u8]| u64::from_le_bytes(page[24..32].try_into().expect("8 bytes"));
    let found = file.chunks_exact(PAGE).rposition(|page| page[4] != 0 && owner(page) == tree);
    found.expect("pages of the tree") as u64
}

#[test]
fn a_table_with_a_damaged_page_is_refused_and_the_others_go_on() {
    let mut r = Running::start();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(600))",
        "CREATE TABLE d.u (id INT PRIMARY KEY)",
        "INSERT INTO d.u VALUES (1), (2)",
        "INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) \
         SELECT i, REPEAT(MD5(i), 16) FROM n",
    ] {
        run(&mut c, sql);
    }
    let tree = one(&mut c, "SELECT SPACE FROM information_schema.INNODB_TABLES WHERE NAME = 'd/t'");
    drop(c);
    r.server = None;
    let page = last_page(&r, tree.parse().expect("a number"));
    let file = std::fs::File::options().read(true).write(true).open(r.dir.join("data.gnt")).expect("the data file");
    let (mut byte, at) = ([0], page * PAGE as u64 + 8000);
    file.read_exact_at(&mut byte, at).expect("a byte");
    file.write_all_at(&[byte[0] ^ 4], at).expect("a byte");
    r.up();
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT id FROM d.t WHERE id = 1"), "1", "it lies elsewhere");
    run(&mut c, "SET GLOBAL gannet_scrub_pages_per_second = 100000");
    let begin = Instant::now();
    while one(
        &mut c,
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Gannet_scrub_errors'",
    ) == "0"
    {
        assert!(begin.elapsed() < PATIENCE, "the scrubber finds nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Whoever reads or writes around the page would act on a part of the table.
    for sql in [
        "SELECT id FROM d.t WHERE id = 1",
        "SELECT COUNT(*) FROM d.t",
        "INSERT INTO d.t VALUES (-1, '')",
        "UPDATE d.t SET s = '' WHERE id = 1",
        "DELETE FROM d.t WHERE id = 1",
        "SELECT * FROM d.u JOIN d.t USING (id)",
    ] {
        let refused = c.query(sql).expect_err(sql).to_string();
        assert!(refused.contains(&format!("page {page} (LSN ")), "{sql}: {refused}");
    }
    let checked = rows(&mut c, "CHECK TABLE d.t");
    assert!(checked.iter().any(|row| row[3].contains(&format!("page {page} "))), "{checked:?}");
    run(&mut c, "INSERT INTO d.u VALUES (3)");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.u"), "3");
    assert!(rows(&mut c, "SHOW TABLE STATUS FROM d").len() == 2);
    run(&mut c, "DROP TABLE d.t");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (1)"), 0);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "1");
}

/// `innodb_buffer_pool_size` changes while clients read and write: in whole chunks, with MySQL's warnings.
#[test]
fn the_buffer_pool_grows_and_shrinks_under_load() {
    const MIB: u64 = 1 << 20;
    let r = Running::configured(|o| {
        o.set(Live::InnodbBufferPoolSize, VarValue::uint(10 * MIB));
        o.set(Live::InnodbBufferPoolChunkSize, VarValue::uint(4 * MIB));
    });
    let mut c = r.connect();
    let size = |c: &mut Connection| one(c, "SELECT @@innodb_buffer_pool_size").parse::<u64>().unwrap();
    assert_eq!(size(&mut c), 12 * MIB, "whole chunks");
    let done = |c: &mut Connection| {
        let end = Instant::now() + PATIENCE;
        let code = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                    WHERE VARIABLE_NAME = 'Innodb_buffer_pool_resize_status_code'";
        while one(c, code) != "0" {
            assert!(Instant::now() < end, "the pool is not resized");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pages = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                     WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_total'";
        assert_eq!(one(c, pages).parse::<u64>().unwrap() * 16384, size(c));
    };
    run(&mut c, "CREATE DATABASE w");
    run(
        &mut c,
        "CREATE TABLE w.p(id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL, t VARCHAR(4000) NOT NULL, KEY(n))",
    );
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|who| {
                let (r, stop) = (&r, &stop);
                scope.spawn(move || {
                    let mut c = r.connect();
                    let mut rows = 0;
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        run(&mut c, &format!("INSERT INTO w.p(n, t) SELECT {who}, REPEAT('x', 3000) FROM (VALUES ROW(1), ROW(2), ROW(3), ROW(4), ROW(5)) v"));
                        rows += 5;
                        assert_eq!(one(&mut c, &format!("SELECT COUNT(*) FROM w.p WHERE n = {who}")), rows.to_string());
                        run(&mut c, &format!("UPDATE w.p SET t = REPEAT('y', 3000) WHERE n = {who} ORDER BY id LIMIT 7"));
                    }
                    rows
                })
            })
            .collect();
        for mib in [40, 4, 24, 4, 12] {
            run(&mut c, &format!("SET GLOBAL innodb_buffer_pool_size = {}", mib * MIB));
            assert_eq!(size(&mut c), mib * MIB, "the new size is shown at once");
            done(&mut c);
            std::thread::sleep(Duration::from_millis(200));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let rows: u64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
        assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w.p WHERE LENGTH(t) = 3000"), rows.to_string());
        assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w.p IGNORE INDEX(n)"), rows.to_string());
    });
    let status = one(
        &mut c,
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                              WHERE VARIABLE_NAME = 'Innodb_buffer_pool_resize_status'",
    );
    assert!(status.starts_with("Completed resizing buffer pool at "), "{status}");
    let warned = |c: &mut Connection, value: &str| {
        run(c, &format!("SET GLOBAL innodb_buffer_pool_size = {value}"));
        rows(c, "SHOW WARNINGS").into_iter().map(|w| format!("{} {}", w[1], w[2])).collect::<Vec<_>>()
    };
    assert_eq!(warned(&mut c, "13000000"), ["1292 Truncated incorrect innodb_buffer_pool_size value: '13000000'"]);
    done(&mut c);
    assert_eq!(size(&mut c), 16 * MIB);
    assert_eq!(
        warned(&mut c, "15000000"),
        ["1210 InnoDB: Cannot resize buffer pool to lesser than chunk size of 4194304 bytes."]
    );
    assert_eq!(warned(&mut c, "16777216"), [""; 0]);
    assert_eq!(error(&mut c, "SET GLOBAL innodb_buffer_pool_size = 'a'"), 1232);
    assert_eq!(error(&mut c, "SET GLOBAL innodb_buffer_pool_size = 1 << 60"), 1231);
    assert_eq!(error(&mut c, "SET innodb_buffer_pool_size = 8388608"), 1229);
    assert_eq!(error(&mut c, "SET GLOBAL innodb_buffer_pool_chunk_size = 8388608"), 1238);
    assert_eq!(size(&mut c), 16 * MIB);
}
