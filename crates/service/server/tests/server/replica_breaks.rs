//! A replica beside what goes wrong: it says so, and nothing is lost or done twice.

use crate::common::{self, PATIENCE, Running, error, one, run};
use crate::relay::{received, running, wait};
use crate::replica::{self, Following, change, follow, same, source, status, with_log, without_log};
use gannet_wire::client::Connection;
use gannet_wire::flags::com;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SUM: &str = "SELECT COUNT(*), SUM(a), SUM(CRC32(b)) FROM d.t";

/// A source with a table, and a server that may follow it, each with a connection.
fn pair() -> (Running, Connection, Following, Connection) {
    replica::pair("(a INT PRIMARY KEY, b VARCHAR(2000))")
}

/// Rows of a recursive expression.
fn fill(c: &mut Connection, from: u32, n: u32, bytes: u32) {
    run(c, "SET cte_max_recursion_depth = 1000000");
    let rows = format!(
        "INSERT INTO d.t WITH RECURSIVE r AS (SELECT {from} AS i UNION ALL SELECT i + 1 FROM r WHERE i < {from} + {n} - 1) \
         SELECT i, REPEAT(CHAR(65 + i % 26), {bytes}) FROM r"
    );
    run(c, &rows);
}

/// One that is stopped in the middle of a transaction undoes it, and that is no error.
#[test]
fn a_stop_in_a_long_transaction_is_no_error() {
    let (s, mut c, _following, mut q) = pair();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA IO_THREAD");
    let mut first = 0;
    // Applied by a worker, in pieces by the one that reads, and by that one alone.
    for (workers, bytes) in [(4, 100), (4, 1000), (0, 100)] {
        run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
        fill(&mut c, first, 15_000, bytes);
        first += 15_000;
        received(&mut c, &mut q);
        for round in 1..4 {
            run(&mut q, "START REPLICA SQL_THREAD");
            std::thread::sleep(Duration::from_millis(60 * round));
            run(&mut q, "STOP REPLICA SQL_THREAD");
            let told = status(&mut q, "Last_SQL_Errno") + &status(&mut q, "Last_SQL_Error");
            assert_eq!((told.as_str(), running(&mut q).as_str()), ("0", "Yes No"), "{workers} {bytes}");
        }
        run(&mut q, "START REPLICA SQL_THREAD");
        same(&mut c, &mut q, SUM);
        run(&mut q, "STOP REPLICA SQL_THREAD");
    }
}

/// Relay logs of the default channel.
fn last_file(q: &mut Connection) -> PathBuf {
    let index = std::fs::read_to_string(one(q, "SELECT @@relay_log_index")).unwrap();
    PathBuf::from(index.lines().last().unwrap())
}

/// Events that are whole and stand in a wrong order end the applier, between transactions; with the right ones it goes
/// on.
#[test]
fn events_in_a_wrong_order_end_the_applier() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(2000))");
    for (configure, workers) in [(with_log as fn(&mut _), 0), (without_log, 4)] {
        let following = Following::start(configure);
        let mut q = following.r.connect();
        run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
        change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
        run(&mut q, "START REPLICA");
        same(&mut c, &mut q, SUM);
        let mut wrong = 0;
        // A commit before its rows looks like one without: nobody can tell.
        for round in [1, 2, 3, 4, 6, 7, 8, 9] {
            run(&mut q, "STOP REPLICA SQL_THREAD");
            run(&mut q, "FLUSH RELAY LOGS");
            let first: u32 = one(&mut c, "SELECT COALESCE(MAX(a), 0) + 1 FROM d.t").parse().unwrap();
            for n in [first, first + 2, first + 4] {
                run(&mut c, &format!("INSERT INTO d.t VALUES ({n}, 'x'), ({}, 'y')", n + 1));
            }
            received(&mut c, &mut q);
            // Behind the beginning there are three transactions of five events: two that follow each other change places.
            let file = last_file(&mut q);
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let shown = common::rows(&mut q, &format!("SHOW RELAYLOG EVENTS IN '{name}'"));
            let begins: Vec<usize> = shown.iter().map(|row| row[1].parse().unwrap()).collect();
            let whole = std::fs::read(&file).unwrap();
            let at = shown.iter().position(|row| row[2] == "Gtid").unwrap() + 3 + round;
            let end = begins.get(at + 2).copied().unwrap_or(whole.len());
            let swapped =
                [&whole[..begins[at]], &whole[begins[at + 1]..end], &whole[begins[at]..begins[at + 1]], &whole[end..]]
                    .concat();
            std::fs::write(&file, &swapped).unwrap();
            run(&mut q, "START REPLICA SQL_THREAD");
            let until = Instant::now() + PATIENCE;
            let want = one(&mut c, "SELECT COUNT(*) FROM d.t");
            while status(&mut q, "Replica_SQL_Running") == "Yes" && one(&mut q, "SELECT COUNT(*) FROM d.t") != want {
                assert!(Instant::now() < until, "round {round}");
                std::thread::sleep(Duration::from_millis(5));
            }
            // Whole transactions, and the error's number.
            let count: u32 = one(&mut q, "SELECT COUNT(*) FROM d.t").parse().unwrap();
            assert_eq!(count % 2, 0, "round {round}");
            let number = status(&mut q, "Last_SQL_Errno");
            assert!(["0", "13121", "1610"].contains(&&*number), "round {round}: {number}");
            wrong += u32::from(number != "0");
            run(&mut q, "STOP REPLICA SQL_THREAD");
            std::fs::write(&file, &whole).unwrap();
            run(&mut q, "START REPLICA SQL_THREAD");
            same(&mut c, &mut q, SUM);
        }
        assert_eq!(wrong, 8);
    }
}

/// A replica of a replica has all of it, whatever stops.
#[test]
fn a_replica_follows_a_replica() {
    let s = source();
    let mut c = s.connect();
    let (middle, last) = (Following::start(with_log), Following::start(without_log));
    let (mut m, mut q) = (middle.r.connect(), last.r.connect());
    follow(&mut m, &s, "SOURCE_AUTO_POSITION = 1");
    // The accounts are there by then.
    same(&mut c, &mut m, "SELECT COUNT(*) FROM mysql.user");
    follow(&mut q, &middle.r, "SOURCE_AUTO_POSITION = 1");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(2000), g DATE AS (DATE(ts)) STORED, ts TIMESTAMP NULL)",
        "SET time_zone = '+11:00'",
        "INSERT INTO d.t (a, b, ts) VALUES (1, 'x', '2026-05-01 05:00:00')",
        "SET binlog_transaction_compression = ON",
        "INSERT INTO d.t (a, b, ts) VALUES (2, 'y', '2026-05-02 05:00:00'), (3, 'z', NULL)",
        "SET binlog_transaction_compression = OFF, binlog_row_image = MINIMAL",
        "UPDATE d.t SET b = 'changed' WHERE a = 1",
        "XA START 'b'",
        "INSERT INTO d.t (a, b) VALUES (4, 'branch')",
        "XA END 'b'",
        "XA PREPARE 'b'",
        "CREATE TABLE d.u SELECT a, g FROM d.t",
    ]
    .into_iter()
    .filter(|sql| !sql.starts_with("CREATE TABLE d.u"))
    {
        run(&mut c, sql);
    }
    run(&mut m, "STOP REPLICA IO_THREAD");
    run(&mut c, "XA COMMIT 'b'");
    run(&mut c, "CREATE TABLE d.u SELECT a, g FROM d.t");
    run(&mut c, "CREATE VIEW d.v AS SELECT a FROM d.u");
    run(&mut m, "START REPLICA IO_THREAD");
    for sql in ["SELECT * FROM d.v ORDER BY a", "SELECT a, b, g FROM d.t ORDER BY a", "SELECT * FROM d.u ORDER BY a"] {
        same(&mut c, &mut q, sql);
        same(&mut c, &mut m, sql);
    }
    same(&mut c, &mut m, "SELECT @@gtid_executed");
    run(&mut m, "STOP REPLICA");
    run(&mut q, "STOP REPLICA");
}

/// Statements beside each other leave a channel in one state or the other.
#[test]
fn statements_about_a_channel_beside_each_other() {
    let (s, mut c, following, mut q) = pair();
    std::thread::scope(|scope| {
        for number in 0..4u64 {
            let mut own = following.r.connect();
            let s = &s;
            scope.spawn(move || {
                let gannet_wire::client::Address::Tcp(host, port) = s.tcp() else { panic!("TCP") };
                for n in 0..40u64 {
                    let sql = match (number * 7 + n * 3) % 6 {
                        0 => format!(
                            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = \
                             'reader', SOURCE_PASSWORD = 'secret', SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'x'"
                        ),
                        1 | 2 => "START REPLICA FOR CHANNEL 'x'".to_owned(),
                        3 => "STOP REPLICA FOR CHANNEL 'x'".to_owned(),
                        4 => "RESET REPLICA ALL FOR CHANNEL 'x'".to_owned(),
                        _ => "FLUSH RELAY LOGS".to_owned(),
                    };
                    if let Err(e) = own.query(&sql) {
                        // It runs, is not there, or has no source.
                        let code = e.code().unwrap_or(0);
                        assert!([1200, 3021, 3074, 3081, 3085].contains(&code), "{sql}: {e}");
                    }
                }
            });
        }
        for n in 0..50 {
            run(&mut c, &format!("INSERT INTO d.t VALUES ({n}, 'x')"));
        }
    });
    let _there = q.query("STOP REPLICA FOR CHANNEL 'x'");
    let _there = q.query("RESET REPLICA ALL FOR CHANNEL 'x'");
    assert_eq!(error(&mut q, "START REPLICA FOR CHANNEL 'x'"), 3074);
    assert!(common::rows(&mut q, "SELECT * FROM performance_schema.replication_connection_status").is_empty());
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'x'");
    run(&mut q, "START REPLICA FOR CHANNEL 'x'");
    same(&mut c, &mut q, SUM);
    run(&mut q, "STOP REPLICA");
}

/// Of two readers with one name the former one is told, and does not come again.
#[test]
fn two_replicas_with_one_uuid() {
    let s = source();
    let dump = |name: &str| {
        let mut c = s.connect();
        run(&mut c, &format!("SET @replica_uuid = '{name}', @source_binlog_checksum = 'CRC32'"));
        let body = [&4u32.to_le_bytes()[..], &[0, 0], &99u32.to_le_bytes(), b"binlog.000001"].concat();
        c.command(com::BINLOG_DUMP, &body).unwrap();
        c.receive().unwrap();
        c
    };
    let mut first = dump("3e11fa47-71ca-11e1-9e33-c80aa9429562");
    let mut other = dump("3e11fa47-71ca-11e1-9e33-c80aa9429563");
    let mut second = dump("3e11fa47-71ca-11e1-9e33-c80aa9429562");
    let end = loop {
        if let Err(e) = first.receive() {
            break e;
        }
    };
    assert_eq!(end.code(), Some(1236), "{end}");
    assert!(end.to_string().contains("same server_uuid/server_id"), "{end}");
    // The others read on.
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    for reader in [&mut second, &mut other] {
        while !reader.receive().unwrap().windows(15).any(|w| w == b"CREATE DATABASE") {}
    }
    drop((second, other));

    // Oneself.
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    change(&mut q, &following.r, "SOURCE_AUTO_POSITION = 1, SOURCE_USER = 'root', SOURCE_PASSWORD = ''");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!(status(&mut q, "Last_IO_Errno"), "13117");
    run(&mut q, "STOP REPLICA");
    assert_eq!(error(&mut q, "SET GLOBAL sql_replica_skip_counter = 1"), 1858);
    assert_eq!(error(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 65536"), 1210);
}
