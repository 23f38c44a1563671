//! ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS: transactions that their source gave no GTID.

use crate::common::{self, PATIENCE, Running, error, one, run};
use crate::relay::received;
use crate::replica::{Following, change, same, source, status, with_log, without_log};
use crate::replica_damage::closed;
use crate::replica_mariadb::last_log;
use gannet_binlog::event::kind;
use gannet_wire::client::Connection;
use std::time::{Duration, Instant};

const UUID: &str = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";

fn assign(q: &mut Connection, to: &str) {
    run(q, &format!("CHANGE REPLICATION SOURCE TO ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = {to}"));
}

/// The transactions in the last relay log lose their GTIDs.
fn unname(q: &mut Connection) {
    let (file, shown) = last_log(q);
    let mut bytes = std::fs::read(&file).unwrap();
    let place = |i: usize, len: usize| shown.get(i).map_or(len, |row| row[1].parse().unwrap());
    for i in (0..shown.len()).filter(|i| shown[*i][2] == "Gtid") {
        let (at, end) = (place(i, bytes.len()), place(i + 1, bytes.len()));
        bytes[at + 4] = kind::ANONYMOUS_GTID;
        let event = closed(bytes[at..end - 4].to_vec());
        bytes[at..end].copy_from_slice(&event);
    }
    std::fs::write(file, bytes).unwrap();
}

fn stopped(q: &mut Connection) -> String {
    let until = Instant::now() + PATIENCE;
    while status(q, "Replica_SQL_Running") == "Yes" {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    status(q, "Last_SQL_Errno")
}

/// What the source does meanwhile is received without GTIDs, and applied.
fn round(s: &mut Connection, q: &mut Connection, work: &[&str]) {
    run(q, "START REPLICA IO_THREAD");
    work.iter().for_each(|sql| run(s, sql));
    received(s, q);
    run(q, "STOP REPLICA");
    unname(q);
    run(q, "START REPLICA SQL_THREAD");
}

fn follower(s: &Running, c: &mut Connection, workers: u32) -> (Following, Connection) {
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
    change(&mut q, s, &format!("SOURCE_LOG_FILE = '{}'", common::rows(c, "SHOW BINARY LOG STATUS")[0][0]));
    (following, q)
}

fn assigns(workers: u32) {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "RESET BINARY LOGS AND GTIDS");
    let (mut following, mut q) = follower(&s, &mut c, workers);
    assign(&mut q, &format!("'{UUID}'"));
    assert_eq!(common::rows(&mut q, "SHOW WARNINGS")[0][1], "4017");
    // A GTID of it is there already, and a gap behind.
    run(&mut q, &format!("SET gtid_next = '{UUID}:5'"));
    run(&mut q, "COMMIT");
    run(&mut q, "SET gtid_next = AUTOMATIC");
    assert_eq!(error(&mut q, &format!("START REPLICA UNTIL SQL_AFTER_GTIDS = '{UUID}:9'")), 4019);
    let made = ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2)"];
    round(&mut c, &mut q, &made);
    same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
    let executed =
        format!("SELECT GTID_SUBSET('{UUID}:5-8', @@gtid_executed), GTID_SUBSET('{UUID}:9', @@gtid_executed)");
    assert_eq!(common::rows(&mut q, &executed), [["1", "0"]]);
    let shown = "SELECT ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE, ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE FROM \
                 performance_schema.replication_applier_configuration";
    run(&mut q, "STOP REPLICA");
    // It goes on behind them after a start.
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    assert_eq!(common::rows(&mut q, shown), [["UUID", UUID]]);
    round(&mut c, &mut q, &["INSERT INTO d.t VALUES (3)", "INSERT INTO d.t VALUES (4)"]);
    same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
    let executed = format!("SELECT GTID_SUBSET('{UUID}:5-10', @@gtid_executed)");
    assert_eq!(one(&mut q, &executed), "1");
    // Behind one that somebody else has taken.
    run(&mut q, &format!("SET gtid_next = '{UUID}:12'"));
    run(&mut q, "COMMIT");
    run(&mut q, "SET gtid_next = AUTOMATIC");
    run(&mut q, "STOP REPLICA");
    round(&mut c, &mut q, &["INSERT INTO d.t VALUES (5)", "INSERT INTO d.t VALUES (6)"]);
    same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
    run(&mut q, "STOP REPLICA");
    // None may come without, and then this server's own.
    assign(&mut q, "OFF");
    assert_eq!(common::rows(&mut q, shown), [["OFF", "NULL"]]);
    round(&mut c, &mut q, &["INSERT INTO d.t VALUES (7)"]);
    assert_eq!(stopped(&mut q), "1782");
    assign(&mut q, "LOCAL");
    assert_eq!(
        one(&mut q, "SELECT Assign_gtids_to_anonymous_transactions_type FROM mysql.slave_relay_log_info"),
        "LOCAL"
    );
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
    run(&mut q, "STOP REPLICA");
    let own = "SELECT COUNT(*) FROM mysql.gtid_executed WHERE source_uuid = @@server_uuid";
    assert_ne!(one(&mut q, own), "0");
}

#[test]
fn transactions_without_gtids_get_some() {
    assigns(4);
}

#[test]
fn transactions_without_gtids_get_some_without_workers() {
    assigns(0);
}

#[test]
fn gtids_are_given_where_there_is_a_log() {
    let s = source();
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001'");
    for to in ["LOCAL", "'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'"] {
        let sql = format!("CHANGE REPLICATION SOURCE TO ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = {to}");
        assert_eq!(error(&mut q, &sql), 4015, "{to}");
    }
    assign(&mut q, "OFF");
}
