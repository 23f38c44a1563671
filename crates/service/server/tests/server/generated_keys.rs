//! Generated invisible primary keys between servers: who makes a table with one logs it with one, and a replica may have
//! one where its source has none, or none where it has one.

use crate::common::{PATIENCE, Running, one, rows, run};
use crate::replica::{Following, change, follow, pair, same, source, status, with_log, without_log};
use gannet_core::vars::{Live, VarValue};
use gannet_server::ServerOptions;
use gannet_wire::client::Connection;

fn shown(c: &mut Connection, table: &str) -> String {
    rows(c, &format!("SHOW CREATE TABLE {table}")).remove(0).remove(1).replace("AUTO_INCREMENT=4 ", "")
}

fn columns(c: &mut Connection, table: &str) -> String {
    one(
        c,
        &format!(
            "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns \
             WHERE table_schema = 'd' AND table_name = '{table}'"
        ),
    )
}

fn third(o: &mut ServerOptions) {
    without_log(o);
    o.set(Live::BinlogRowMetadata, VarValue::text("FULL"));
}

/// With how many workers it applies.
fn generates(workers: u32) {
    let s = source();
    let mut c = s.connect();
    let middle = Following::start(with_log);
    let mut q = middle.r.connect();
    run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1, REQUIRE_TABLE_PRIMARY_KEY_CHECK = GENERATE");
    same(&mut c, &mut q, "SELECT user FROM mysql.user ORDER BY 1");
    let last = Following::start(third);
    let mut l = last.r.connect();
    follow(&mut l, &middle.r, "SOURCE_AUTO_POSITION = 1");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, b VARCHAR(10), c INT AS (a + 1) STORED, d INT UNSIGNED, UNIQUE KEY (b))",
        "CREATE TABLE keyed (a INT PRIMARY KEY)",
        "INSERT INTO t (a, b, d) VALUES (1, 'x', 4000000000), (2, NULL, 2), (3, NULL, 3)",
        "UPDATE t SET a = 20, d = 3000000000 WHERE a = 2",
        "DELETE FROM t WHERE a = 3",
        "UPDATE t SET b = 'z' WHERE b = 'x'",
        "CREATE TABLE s SELECT a, d FROM t ORDER BY a",
        "CREATE TABLE l LIKE t",
        "INSERT INTO l (a) VALUES (7)",
        "CREATE TABLE ts (a TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, b INT)",
        "INSERT INTO ts VALUES ('2020-01-01', 1)",
        "UPDATE ts SET a = a, b = 2",
        "INSERT INTO keyed VALUES (1)",
    ] {
        run(&mut c, sql);
    }
    for table in ["t", "s", "l", "ts", "keyed"] {
        let all = format!("SELECT * FROM d.{table} ORDER BY a");
        same(&mut c, &mut q, &all);
        same(&mut c, &mut l, &all);
        assert_eq!(shown(&mut q, &format!("d.{table}")), shown(&mut l, &format!("d.{table}")), "{table}");
    }
    for table in ["t", "s", "l", "ts"] {
        assert!(columns(&mut q, table).starts_with("my_row_id,a,"), "{table}");
        assert!(columns(&mut c, table).starts_with('a'), "{table}");
        // What the replica has made goes on with its rows.
        same(&mut q, &mut l, &format!("SELECT my_row_id FROM d.{table} ORDER BY 1"));
    }
    assert_eq!(columns(&mut q, "keyed"), "a");
    let shown = "SELECT REQUIRE_TABLE_PRIMARY_KEY_CHECK FROM performance_schema.replication_applier_configuration";
    assert_eq!(one(&mut q, shown), "GENERATE");
    assert_eq!(one(&mut q, "SELECT Require_table_primary_key_check FROM mysql.slave_relay_log_info"), "GENERATE");
    // That is about new tables; partitioned ones cannot have such a key.
    run(&mut c, "CREATE TABLE d.p (a INT) PARTITION BY HASH (a) PARTITIONS 2");
    let until = std::time::Instant::now() + PATIENCE;
    while status(&mut q, "Replica_SQL_Running") == "Yes" && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "1235");
    run(&mut q, "CHANGE REPLICATION SOURCE TO REQUIRE_TABLE_PRIMARY_KEY_CHECK = STREAM");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.p");
}

#[test]
fn a_replica_generates_keys() {
    generates(4);
}

#[test]
fn a_replica_without_workers_generates_keys() {
    generates(0);
}

#[test]
fn keys_of_the_source_are_its_replicas() {
    let (s, mut c, following, mut q) = pair("(a INT)");
    run(&mut c, "SET sql_generate_invisible_primary_key = ON");
    for sql in [
        "USE d",
        "CREATE TABLE u (a INT, b TEXT)",
        "CREATE TABLE l LIKE t",
        "CREATE TABLE IF NOT EXISTS u (a INT)",
        "CREATE TABLE s (x INT) SELECT 5 AS a",
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "INSERT INTO u VALUES (1, 'x'), (2, 'y'), (3, 'z')",
        "INSERT INTO l VALUES (1)",
        "UPDATE u SET b = 'w' WHERE a = 2",
    ] {
        run(&mut c, sql);
    }
    // The replica's own setting is of no account.
    run(&mut q, "SET GLOBAL sql_generate_invisible_primary_key = ON");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for table in ["t", "u", "l", "s"] {
        let id = if table == "t" { "a" } else { "my_row_id" };
        same(&mut c, &mut q, &format!("SELECT {id}, d.{table}.* FROM d.{table} ORDER BY 1"));
        assert_eq!(shown(&mut c, &format!("d.{table}")), shown(&mut q, &format!("d.{table}")));
    }
    // One that has dropped it, and one that shows it.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "ALTER TABLE d.u DROP COLUMN my_row_id");
    run(&mut q, "ALTER TABLE d.l ALTER COLUMN my_row_id SET VISIBLE");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA");
    for sql in [
        "INSERT INTO u VALUES (4, 'n')",
        "UPDATE u SET b = 'm' WHERE a = 1",
        "DELETE FROM u WHERE a = 3",
        "INSERT INTO l VALUES (2)",
        "UPDATE l SET a = 3 WHERE a = 2",
    ] {
        run(&mut c, sql);
    }
    same(&mut c, &mut q, "SELECT a, b FROM d.u ORDER BY a");
    same(&mut c, &mut q, "SELECT my_row_id, a FROM d.l ORDER BY a");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.u"), "3");
    drop(following);
    let _: Running = s;
}
