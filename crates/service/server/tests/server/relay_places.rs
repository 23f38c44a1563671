//! Places in logs: where an applier begins and ends by its relay logs, and who waits until it has come to one.

use crate::common::{self, error, one, run};
use crate::relay::{received, running, wait, warned};
use crate::replica::{Following, change, follow, same, source, status, with_log, without_log};
use gannet_wire::client::Connection;
use std::time::Duration;

/// File, and the places where transactions begin in it.
fn transactions(q: &mut Connection) -> (String, Vec<u64>) {
    let events = common::rows(q, "SHOW RELAYLOG EVENTS");
    let begins = events.iter().filter(|row| row[2] == "Gtid").map(|row| row[1].parse().unwrap());
    (events[0][0].clone(), begins.collect())
}

/// Without GTIDs what is applied again is done again.
fn anonymous(c: &mut Connection) {
    run(c, "CREATE DATABASE d");
    run(c, "CREATE TABLE d.t (a INT)");
    for n in 1..6 {
        run(c, &format!("INSERT INTO d.t VALUES ({n})"));
    }
}

#[test]
fn an_applier_begins_where_it_is_told() {
    let s = source();
    let mut c = s.connect();
    anonymous(&mut c);
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    let to = "CHANGE REPLICATION SOURCE TO";
    // There is none yet.
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_POS = 4")), 1380);
    run(&mut q, "START REPLICA IO_THREAD");
    received(&mut c, &mut q);
    let (file, begins) = transactions(&mut q);
    let third = begins[begins.len() - 3];
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_FILE = 'none.000001', RELAY_LOG_POS = 4")), 1380);
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = {}", third + 1)), 1380);
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = 100000000")), 1380);
    // In the middle of a transaction.
    let inside = common::rows(&mut q, "SHOW RELAYLOG EVENTS").into_iter().rfind(|row| row[2] == "Table_map").unwrap();
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_POS = {}", inside[1])), 1380);
    assert_eq!(error(&mut q, &format!("{to} SOURCE_AUTO_POSITION = 1, RELAY_LOG_POS = 4")), 3081);
    run(&mut q, "STOP REPLICA");
    assert_eq!(error(&mut q, &format!("{to} SOURCE_AUTO_POSITION = 1, RELAY_LOG_POS = 4")), 1776);
    assert_eq!(error(&mut q, &format!("{to} SOURCE_LOG_POS = 4, RELAY_LOG_POS = 4")), 1221);
    run(&mut q, "CREATE DATABASE d");
    run(&mut q, "CREATE TABLE d.t (a INT)");
    // The last three, after the receiver has ended: relay logs stay.
    run(&mut q, &format!("{to} RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = {third}"));
    assert_eq!((status(&mut q, "Relay_Log_File"), status(&mut q, "Relay_Log_Pos")), (file.clone(), third.to_string()));
    let at = status(&mut q, "Exec_Source_Log_Pos");
    let own =
        common::rows(&mut c, "SHOW BINLOG EVENTS").into_iter().filter(|row| row[2] == "Gtid").map(|r| r[1].clone());
    assert_eq!(at, own.rev().nth(2).unwrap());
    run(&mut q, "START REPLICA SQL_THREAD");
    let rows = "SELECT a FROM d.t ORDER BY a";
    same(&mut c, &mut q, "SELECT COUNT(*) + IF(@@server_id = 1, 0, 2) FROM d.t");
    assert_eq!(common::rows(&mut q, rows).concat(), ["3", "4", "5"]);
    assert_eq!(error(&mut q, &format!("{to} RELAY_LOG_POS = 4")), 3085);
    // It goes on behind them.
    run(&mut q, "START REPLICA IO_THREAD");
    run(&mut c, "INSERT INTO d.t VALUES (6)");
    same(&mut c, &mut q, "SELECT MAX(a) FROM d.t");
    assert_eq!(common::rows(&mut q, rows).concat(), ["3", "4", "5", "6"]);
    // Transactions that are executed are passed over, from wherever it begins.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    run(&mut c, "INSERT INTO d.t VALUES (7)");
    received(&mut c, &mut q);
    let (file, begins) = transactions(&mut q);
    run(&mut q, &format!("{to} RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = {}", begins[0]));
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, "SELECT MAX(a) FROM d.t");
    assert_eq!(common::rows(&mut q, rows).concat(), ["3", "4", "5", "6", "7"]);
}

#[test]
fn an_applier_ends_at_a_place_of_its_relay_logs() {
    let s = source();
    let mut c = s.connect();
    anonymous(&mut c);
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "SET GLOBAL relay_log_purge = 0");
    run(&mut q, "START REPLICA IO_THREAD");
    received(&mut c, &mut q);
    let (file, begins) = transactions(&mut q);
    for wrong in [
        "RELAY_LOG_FILE = 'x.000001'",
        "RELAY_LOG_POS = 4",
        "RELAY_LOG_FILE = 'x.000001', SOURCE_LOG_POS = 4",
        "SQL_AFTER_MTS_GAPS, RELAY_LOG_POS = 4",
        "SQL_AFTER_MTS_GAPS = 1",
    ] {
        assert_eq!(error(&mut q, &format!("START REPLICA UNTIL {wrong}")), 1277, "{wrong}");
    }
    let until = format!("RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = {}", begins[begins.len() - 2]);
    run(&mut q, &format!("START REPLICA SQL_THREAD UNTIL {until}"));
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!(one(&mut q, "SELECT MAX(a) FROM d.t"), "3");
    let told = ["Until_Condition", "Until_Log_File", "Until_Log_Pos"].map(|name| status(&mut q, name));
    assert_eq!(told, ["Relay", &*file, &*begins[begins.len() - 2].to_string()]);
    // It is there already.
    run(&mut q, &format!("START REPLICA SQL_THREAD UNTIL {until}"));
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!(one(&mut q, "SELECT MAX(a) FROM d.t"), "3");
    // One that lies in a transaction is behind it; and another file.
    let within = format!("RELAY_LOG_FILE = '{file}', RELAY_LOG_POS = {}", begins[begins.len() - 2] + 1);
    run(&mut q, &format!("START REPLICA SQL_THREAD UNTIL {within}"));
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!(one(&mut q, "SELECT MAX(a) FROM d.t"), "4");
    run(&mut q, "FLUSH RELAY LOGS");
    run(&mut c, "INSERT INTO d.t VALUES (6)");
    received(&mut c, &mut q);
    let next = file.replace(".000001", ".000002");
    run(&mut q, &format!("START REPLICA SQL_THREAD UNTIL RELAY_LOG_FILE = '{next}', RELAY_LOG_POS = 4"));
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!(one(&mut q, "SELECT MAX(a) FROM d.t"), "5");
    // Commits are in the source's order: there is no gap to fill.
    run(&mut q, "START REPLICA SQL_THREAD UNTIL SQL_AFTER_MTS_GAPS");
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!(status(&mut q, "Until_Condition"), "SQL_AFTER_MTS_GAPS");
    assert_eq!((status(&mut q, "Last_SQL_Errno"), one(&mut q, "SELECT MAX(a) FROM d.t")), ("0".into(), "5".into()));
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
}

#[test]
fn a_place_of_the_source_is_waited_for() {
    let s = source();
    let mut c = s.connect();
    anonymous(&mut c);
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    let place = |c: &mut Connection| {
        let end = common::rows(c, "SHOW BINARY LOG STATUS").remove(0);
        format!("'{}', {}", end[0], end[1])
    };
    let wait_for = |q: &mut Connection, args: &str| one(q, &format!("SELECT SOURCE_POS_WAIT({args})"));
    // No source, or nothing that applies.
    let at = place(&mut c);
    assert_eq!(wait_for(&mut q, &at), "NULL");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    assert_eq!(wait_for(&mut q, &at), "NULL");
    run(&mut q, "START REPLICA");
    let waited: u64 = wait_for(&mut q, &at).parse().unwrap();
    assert!(waited <= 20, "{waited}");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "5");
    assert_eq!(wait_for(&mut q, &at), "0");
    assert_eq!(wait_for(&mut q, "'binlog.000001', 0"), "0");
    // Other names of files, and none.
    for wrong in ["'other.000001', 4", "'binlog', 4", "'', 4", "NULL, 4", "'binlog.000001', -1"] {
        assert_eq!(wait_for(&mut q, wrong), "NULL", "{wrong}");
    }
    assert_eq!(error(&mut q, &format!("SELECT SOURCE_POS_WAIT({at}, -1)")), 1210);
    run(&mut q, "SET sql_mode = ''");
    assert_eq!(warned(&mut q, &format!("SELECT SOURCE_POS_WAIT({at}, -1)")), ["1210"]);
    assert_eq!(warned(&mut q, &format!("SELECT MASTER_POS_WAIT({at})")), ["1287"]);
    assert_eq!(wait_for(&mut q, "'binlog.000009', 4, 0.1"), "-1");
    // Channels.
    assert_eq!(wait_for(&mut q, &format!("{at}, 1, ''")), "0");
    assert_eq!(wait_for(&mut q, &format!("{at}, 1, 'none'")), "NULL");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'other'");
    assert_eq!(error(&mut q, &format!("SELECT SOURCE_POS_WAIT({at})")), 3079);
    assert_eq!(wait_for(&mut q, &format!("{at}, 1, 'OTHER'")), "NULL");
    run(&mut q, "RESET REPLICA ALL FOR CHANNEL 'other'");

    let (mut p, mut look) = (following.r.connect(), following.r.connect());
    let id = one(&mut p, "SELECT CONNECTION_ID()");
    let mut waits = |p: &mut Connection, sql: &'static str, meanwhile: &mut dyn FnMut()| {
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| p.query(sql).map(|set| set.texts().concat().concat()));
            let runs =
                format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'SELECT %'");
            crate::common::wait_for("the wait", || one(&mut look, &runs) == "1" || waiter.is_finished());
            std::thread::sleep(Duration::from_millis(200));
            meanwhile();
            waiter.join().unwrap().map_err(|e| e.code().unwrap_or(0))
        })
    };
    // What is waited for comes: one transaction.
    let comes = waits(&mut p, "SELECT SOURCE_POS_WAIT('binlog.000001', 99999999)", &mut || {
        run(&mut c, "INSERT INTO d.t VALUES (6)");
        run(&mut c, "FLUSH BINARY LOGS");
    });
    assert_eq!(comes, Ok("1".to_owned()));
    let killed = waits(&mut p, "SELECT SOURCE_POS_WAIT('binlog.000009', 4)", &mut || {
        run(&mut q, &format!("KILL QUERY {id}"));
    });
    assert_eq!(killed, Err(1317));
    let slow = "SELECT /*+ MAX_EXECUTION_TIME(100) */ SOURCE_POS_WAIT('binlog.000009', 4)";
    assert_eq!(waits(&mut p, slow, &mut || {}), Err(3024));
    let ended = waits(&mut p, "SELECT SOURCE_POS_WAIT('binlog.000009', 4)", &mut || {
        run(&mut q, "STOP REPLICA SQL_THREAD");
    });
    assert_eq!(ended, Ok("NULL".to_owned()));
    assert_eq!(running(&mut q), "Yes No");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "RESET REPLICA ALL");
}

#[test]
fn a_statement_begins_a_file_while_much_comes() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(2000))");
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    let mut writer = s.connect();
    let writes = std::thread::spawn(move || {
        for n in 0..200 {
            run(&mut writer, &format!("INSERT INTO d.t VALUES ({n}, REPEAT('x', 2000)), ({n} + 1000, 'y')"));
        }
    });
    while !writes.is_finished() {
        run(&mut q, "FLUSH RELAY LOGS");
        std::thread::sleep(Duration::from_millis(3));
    }
    writes.join().unwrap();
    same(&mut c, &mut q, "SELECT COUNT(*), SUM(a), SUM(LENGTH(b)) FROM d.t");
    assert_eq!(status(&mut q, "Last_IO_Errno") + &status(&mut q, "Last_SQL_Errno"), "00");
}
