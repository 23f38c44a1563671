//! INNODB_METRICS: work that is known, and the figures that it moves.

use crate::common::{PATIENCE, Running, error, one, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::Connection;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn metrics(c: &mut Connection) -> BTreeMap<String, i64> {
    let all = rows(c, "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS");
    all.into_iter().map(|mut r| (r.swap_remove(0), r[0].parse().unwrap())).collect()
}

fn metric(c: &mut Connection, name: &str) -> i64 {
    one(c, &format!("SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'")).parse().unwrap()
}

fn wait_until(c: &mut Connection, what: &str, mut is_so: impl FnMut(&mut Connection) -> bool) {
    let began = Instant::now();
    while !is_so(c) {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What the work does exactly so often, and nobody else in this process.
const EXACT: &[(&str, i64)] = &[
    ("lock_deadlocks", 1),
    ("lock_timeouts", 1),
    ("lock_row_lock_waits", 3),
    ("lock_rec_lock_waits", 3),
    ("trx_rollbacks_savepoint", 2),
    ("trx_ro_commits", 1),
    ("icp_attempts", 100),
    ("icp_match", 10),
    ("icp_no_match", 90),
    ("dml_updates", 47),
    ("ddl_pending_alter_table", 0),
    ("ddl_online_create_index", 0),
    ("lock_row_lock_current_waits", 0),
    ("os_log_pending_fsyncs", 0),
    // Two tables, one of them with three definitions one after another.
    ("metadata_table_handles_opened", 4),
    ("metadata_table_handles_closed", 2),
    ("buffer_pool_pages_misc", 0),
];

/// What it does at least so often; others, too.
const AT_LEAST: &[(&str, i64)] = &[
    ("lock_deadlock_rounds", 1),
    ("lock_rec_lock_requests", 100),
    ("lock_rec_lock_created", 100),
    ("lock_rec_lock_removed", 100),
    ("lock_rec_release_attempts", 5),
    ("lock_rec_grant_attempts", 1),
    ("dml_inserts", 3000),
    ("dml_deletes", 2999),
    ("dml_reads", 3000),
    ("trx_rw_commits", 4),
    ("trx_commits_insert_update", 4),
    ("trx_rollbacks", 1),
    ("trx_nl_ro_commits", 1),
    ("trx_allocations", 2),
    ("trx_on_log_waits", 1),
    ("log_on_flush_waits", 1),
    ("log_write_requests", 100),
    ("log_writes", 4),
    ("log_padded", 1),
    ("log_lsn_current", 100_000),
    ("log_lsn_last_flush", 100_000),
    ("log_lsn_last_checkpoint", 1),
    ("log_checkpoints", 1),
    ("log_writer_no_waits", 1),
    ("os_log_fsyncs", 4),
    ("os_log_bytes_written", 100_000),
    ("index_page_splits", 10),
    ("index_page_merge_attempts", 5),
    ("index_page_merge_successful", 5),
    ("buffer_pages_created", 10),
    ("buffer_pages_written", 10),
    ("buffer_page_written_index_leaf", 10),
    ("buffer_page_written_undo_log", 1),
    ("buffer_page_written_blob", 1),
    ("buffer_page_written_xdes", 1),
    ("buffer_page_read_index_leaf", 1),
    ("buffer_pages_read", 1),
    ("buffer_LRU_batch_scanned", 1),
    ("buffer_LRU_batch_num_scan", 1),
    ("buffer_LRU_batch_evict_total_pages", 1),
    ("buffer_flush_batches", 1),
    ("buffer_flush_batch_total_pages", 10),
    ("buffer_flush_batch_scanned", 10),
    ("buffer_flush_batch_num_scan", 1),
    ("innodb_dblwr_writes", 1),
    ("dblwr_flush_requests", 1),
    ("purge_invoked", 1),
    ("purge_del_mark_records", 2999),
    ("purge_upd_exist_or_extern_records", 1),
    ("cpu_utime_abs", 1),
    ("dml_system_inserts", 1),
    ("dml_system_reads", 1),
    ("log_on_buffer_space_no_waits", 100),
    ("log_on_file_space_no_waits", 100),
    ("log_writer_waits", 1),
    ("dblwr_async_requests", 1),
    ("index_page_discards", 1),
    ("index_page_reorg_attempts", 1),
    ("log_on_flush_no_waits", 1),
    ("log_lsn_buf_dirty_pages_added", 100_000),
    ("log_lsn_buf_pool_oldest_approx", 1),
];

fn locks(root: &mut Connection, a: &mut Connection, mut b: Connection) -> Connection {
    run(a, "BEGIN");
    assert_eq!(rows(a, "SELECT id FROM d.t WHERE id BETWEEN 1 AND 100 FOR UPDATE").len(), 100);
    run(&mut b, "SET innodb_lock_wait_timeout = 1");
    assert_eq!(error(&mut b, "UPDATE d.t SET b = 1 WHERE id = 1"), 1205);
    run(&mut b, "BEGIN");
    run(&mut b, "UPDATE d.t SET b = 2 WHERE id = 200");
    run(&mut b, "SET innodb_lock_wait_timeout = 50");
    let waiting = std::thread::spawn(move || (error(&mut b, "UPDATE d.t SET b = 2 WHERE id = 2"), b));
    wait_until(root, "a session waits", |c| metric(c, "lock_threads_waiting") == 1);
    // Locks on neighbouring rows are folded, and are none of their own then.
    assert!((1..=100).contains(&metric(root, "lock_rec_locks")));
    // Both use the table.
    assert_eq!(metric(root, "lock_table_locks"), 2);
    // Whoever has changed less is the victim: it holds locks alone.
    let a_end = error(a, "UPDATE d.t SET b = 3 WHERE id = 200");
    run(a, "ROLLBACK");
    let (b_end, mut b) = waiting.join().unwrap();
    assert_eq!([a_end.min(b_end), a_end.max(b_end)], [0, 1213]);
    run(&mut b, "ROLLBACK");
    b
}

#[test]
fn work_moves_the_metrics_of_what_it_does() {
    let _alone = crate::alone();
    // A pool that the table does not fit into: pages are written and evicted soon.
    let r = Running::configured(|o| o.set(Live::InnodbBufferPoolSize, VarValue::uint(5 << 20)));
    let mut root = r.connect();
    let default = "SELECT NAME, STATUS FROM information_schema.INNODB_METRICS
                   WHERE NAME IN ('dml_inserts', 'dml_reads', 'trx_rw_commits', 'gannet_cpu_usec') ORDER BY NAME";
    let want = [
        ["dml_inserts", "enabled"],
        ["dml_reads", "disabled"],
        ["gannet_cpu_usec", "enabled"],
        ["trx_rw_commits", "disabled"],
    ];
    assert_eq!(rows(&mut root, default), want);
    for sql in [
        "SET GLOBAL innodb_monitor_enable = 'all'",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(2000), KEY (a, b))",
        "CREATE TABLE d.n (n INT PRIMARY KEY, v LONGTEXT)",
    ] {
        run(&mut root, sql);
    }
    let before = metrics(&mut root);
    let (mut a, mut b) = (r.connect(), r.connect());
    let numbers = "WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 3000) SELECT n FROM s";
    run(&mut a, "SET cte_max_recursion_depth = 5000");
    // Into a table that has a row, so that the rows go into the tree one by one.
    run(&mut a, "INSERT INTO d.t VALUES (0, 0, 0, '')");
    run(&mut a, &format!("INSERT INTO d.t SELECT n, n DIV 100, n % 10, REPEAT('x', 2000) FROM ({numbers}) x"));
    run(&mut a, "INSERT INTO d.n VALUES (1, REPEAT('long', 20000))");
    run(&mut a, "UPDATE d.n SET v = REPEAT('more', 20000)");
    // A condition that the index can answer, on the hundred entries of a range.
    let sql = "SELECT COUNT(c) FROM d.t FORCE INDEX (a) WHERE a = 5 AND b = 3";
    assert_eq!(one(&mut a, sql), "10");
    let sql = "SELECT COUNT(c) FROM d.t FORCE INDEX (a) WHERE a BETWEEN 7 AND 7 AND b % 10 = 3";
    assert_eq!(one(&mut a, sql), "10");
    for sql in ["START TRANSACTION READ ONLY", "SELECT * FROM d.t WHERE id = 1", "COMMIT"] {
        match sql.starts_with("SELECT") {
            true => assert_eq!(rows(&mut a, sql).len(), 1),
            false => run(&mut a, sql),
        }
    }
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE d.t SET b = 5 WHERE id = 1");
    run(&mut a, "SAVEPOINT s");
    run(&mut a, "UPDATE d.t SET b = 6 WHERE id IN (2, 3)");
    run(&mut a, "ROLLBACK TO s");
    // A statement that fails on its second row is undone.
    assert_eq!(error(&mut a, "UPDATE d.t SET id = id + 1 WHERE id IN (4, 5) ORDER BY id"), 1062);
    run(&mut a, "COMMIT");
    b = locks(&mut root, &mut a, b);
    // Every second row of some leaves goes, and longer ones take their places.
    run(&mut a, "UPDATE d.t SET c = REPEAT('y', 1900) WHERE id BETWEEN 1000 AND 1020");
    run(&mut a, "UPDATE d.t SET c = REPEAT('z', 2000) WHERE id BETWEEN 1000 AND 1020");
    run(&mut b, "CREATE INDEX i ON d.t (b, c(10))");
    // A leaf holds seven of the rows at most, and one place of an index is looked at.
    run(&mut a, "ALTER TABLE d.t STATS_SAMPLE_PAGES = 1");
    let sampled = |c: &mut Connection| ["sampled_pages_read", "sampled_pages_skipped"].map(|name| metric(c, name));
    let looked = sampled(&mut root);
    assert_eq!(rows(&mut a, "ANALYZE TABLE d.t").len(), 1);
    let [read, skipped] = sampled(&mut root);
    assert!(read > looked[0] && skipped - looked[1] >= 3000 / 7 - 20, "{looked:?} {read} {skipped}");
    run(&mut a, "DELETE FROM d.t WHERE id > 1");
    let (began, mut missing) = (Instant::now(), Vec::new());
    wait_until(&mut root, "purge and a checkpoint", |c| {
        let now = metrics(c);
        let grown = |(name, least): &(&str, i64)| now[*name] - before[*name] >= *least;
        missing = AT_LEAST.iter().filter(|m| !grown(m)).map(|m| (m.0, now[m.0])).collect();
        missing.is_empty() || began.elapsed() > PATIENCE
    });
    assert!(missing.is_empty(), "{missing:?}");
    let after = metrics(&mut root);
    let grown = |name: &str| after[name] - before[name];
    // The server keeps statistics meanwhile, which count for themselves.
    let all: Vec<_> = EXACT.iter().map(|(name, _)| (*name, grown(name))).collect();
    assert_eq!(all, EXACT);
    assert_eq!(after["index_page_reorg_attempts"], after["index_page_reorg_successful"]);
    let lsns = ["last_checkpoint", "buf_pool_oldest_approx", "buf_dirty_pages_added", "current"];
    assert!(lsns.map(|lsn| after[&format!("log_lsn_{lsn}")]).is_sorted(), "{after:?}");
    // Parts and sums agree.
    let sum = |names: [&str; 3]| names.iter().map(|name| after[*name]).sum::<i64>();
    let batches = ["buffer_flush_adaptive", "buffer_flush_sync", "buffer_flush_background"];
    assert!(sum(batches) >= 1 && sum(batches) <= after["buffer_flush_batches"] + 64, "{after:?}");
    assert!(after["trx_undo_slots_used"] >= 0 && after["trx_rseg_current_size"] > 0);
    assert!(after["log_concurrency_margin"] > 0 && after["metadata_table_reference_count"] >= 2);
    assert!((0..=100).contains(&(after["cpu_utime_pct"] + after["cpu_stime_pct"])));
    assert_eq!(rows(&mut a, "ANALYZE TABLE d.t").len(), 1);
    assert!(metric(&mut root, "sampled_pages_read") > after["sampled_pages_read"]);
    assert!(metric(&mut root, "dml_system_updates") > after["dml_system_updates"]);
    // The sampler has looked at some of these seconds.
    wait_until(&mut root, "pages a second", |c| metric(c, "buffer_flush_avg_pass") >= 1);
    let now = metrics(&mut root);
    assert!(now["buffer_flush_avg_page_rate"] >= 1 && now["log_flush_lsn_avg_rate"] >= 1, "{now:?}");
    // A commit at least has waited for the log in the last half minute.
    assert!((1..=30_000_000).contains(&now["log_write_to_file_requests_interval"]), "{now:?}");
    assert_eq!(after["buffer_pool_pages_data"] + after["buffer_pool_pages_free"], after["buffer_pool_pages_total"]);
    // What is asked for by status has the same figures.
    let status = |c: &mut Connection, name: &str| rows(c, &format!("SHOW GLOBAL STATUS LIKE '{name}'"))[0][1].clone();
    assert_eq!(status(&mut root, "Innodb_os_log_pending_fsyncs"), "0");
    assert!(status(&mut root, "Innodb_num_open_files").parse::<u64>().unwrap() >= 3);
    // Counters of metrics alone are no status variables.
    assert!(rows(&mut root, "SHOW GLOBAL STATUS LIKE 'lock_rec%'").is_empty());
}
