//! Transactions that begin as a MariaDB's: its GTIDs take the place of BEGIN and of XA START.

use crate::common::{self, Running, one, run};
use crate::relay::{self, received};
use crate::replica::{Following, change, same, source, status, with_log, without_log};
use gannet_binlog::event::{Appender, HEADER, kind};
use gannet_binlog::{Checksum, Event, Header};
use gannet_server::ServerOptions;
use gannet_wire::client::Connection;

const STANDALONE: u8 = 1;
const TRANSACTIONAL: u8 = 12;
const PREPARED_XA: u8 = 64;
const COMPLETED_XA: u8 = 128;

/// `length` bytes of a MariaDB's GTID, and an event that is passed over.
fn begins(flags: u8, length: usize) -> Vec<u8> {
    let mut appender = Appender { server_id: 1, checksum: Checksum::Crc32, position: 0 };
    let (mut out, header) = (Vec::new(), |kind| Header { kind, ..Header::default() });
    appender.at(&mut out, header(kind::MARIADB_GTID), |out| {
        out.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, flags]);
        if flags & (PREPARED_XA | COMPLETED_XA) != 0 {
            out.extend_from_slice(b"\x01\0\0\0\x01\0b");
        } else {
            out.extend_from_slice(&[0; 6]);
        }
    });
    let left = length - out.len() - HEADER - Checksum::Crc32.bytes();
    appender.at(&mut out, header(kind::IGNORABLE), |out| out.resize(out.len() + left, 0));
    assert_eq!(out.len(), length);
    out
}

/// The last relay log, and its events.
pub(crate) fn last_log(q: &mut Connection) -> (String, Vec<Vec<String>>) {
    let index = std::fs::read_to_string(one(q, "SELECT @@relay_log_index")).unwrap();
    let file = index.lines().last().unwrap().to_owned();
    let name = file.rsplit_once('/').unwrap().1;
    let shown = common::rows(q, &format!("SHOW RELAYLOG EVENTS IN '{name}'"));
    (file, shown)
}

/// The rows before the first end of a transaction that comes behind event `from` become a ROLLBACK in its place.
fn undo(q: &mut Connection, from: &str) {
    let (file, shown) = last_log(q);
    let mut bytes = std::fs::read(&file).unwrap();
    let begun = shown.iter().position(|row| row[5].contains(from)).unwrap();
    let end = (begun..shown.len()).find(|i| shown[*i][2] == "Xid").unwrap();
    let place = |i: usize, bytes: &[u8]| shown.get(i).map_or(bytes.len(), |row| row[1].parse().unwrap());
    let (at, upto) = (place(end - 1, &bytes), place(end + 1, &bytes));
    let position = Event::first(&bytes[place(end, &bytes)..], Checksum::Crc32).unwrap().unwrap().header.end_position;
    let mut appender = Appender { server_id: 1, checksum: Checksum::Crc32, position: 0 };
    let (mut query, mut out) = (Vec::new(), Vec::new());
    let header = |kind, end_position| Header { kind, end_position, ..Header::default() };
    appender.at(&mut query, header(kind::QUERY, position), |out| {
        out.extend_from_slice(&[0; 14]);
        out.extend_from_slice(b"ROLLBACK");
    });
    let left = upto - at - query.len() - HEADER - Checksum::Crc32.bytes();
    appender.at(&mut out, header(kind::IGNORABLE, 0), |out| out.resize(out.len() + left, 0));
    out.extend_from_slice(&query);
    bytes[at..upto].copy_from_slice(&out);
    std::fs::write(file, bytes).unwrap();
}

/// A replica that receives from where the source's log stands, and applies nothing yet.
pub(crate) fn receiver(
    s: &Running,
    c: &mut Connection,
    configure: fn(&mut ServerOptions),
    workers: u32,
) -> (Following, Connection) {
    let following = Following::start(configure);
    let mut q = following.r.connect();
    run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
    change(&mut q, s, &format!("SOURCE_LOG_FILE = '{}'", common::rows(c, "SHOW BINARY LOG STATUS")[0][0]));
    run(&mut q, "START REPLICA IO_THREAD");
    (following, q)
}

/// As a MariaDB logs it where a temporary table was made in it.
#[test]
fn nothing_stays_of_a_transaction_that_ends_with_rollback() {
    let s = source();
    let mut c = s.connect();
    for (configure, workers) in [(with_log as fn(&mut _), 4), (without_log, 0), (with_log, 0)] {
        let (_following, mut q) = receiver(&s, &mut c, configure, workers);
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(1000))",
            "CREATE TABLE d.u (a INT PRIMARY KEY)",
            "BEGIN",
            "INSERT INTO d.u VALUES (7)",
            "INSERT INTO d.t VALUES (1, REPEAT('x', 200))",
            "COMMIT",
            "INSERT INTO d.t VALUES (2, 'y')",
        ] {
            run(&mut c, sql);
        }
        received(&mut c, &mut q);
        undo(&mut q, "CREATE TABLE d.u");
        run(&mut q, "START REPLICA SQL_THREAD");
        relay::wait(&mut q, "Exec_Source_Log_Pos", &common::rows(&mut c, "SHOW BINARY LOG STATUS")[0][1]);
        assert_eq!(status(&mut q, "Last_SQL_Errno"), "0");
        assert_eq!(common::rows(&mut q, "SELECT a FROM d.t"), [["2"]]);
        assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.u"), "0");
        if one(&mut q, "SELECT @@log_bin") == "1" {
            same(&mut c, &mut q, "SELECT @@gtid_executed");
        }
        run(&mut q, "STOP REPLICA");
        run(&mut c, "DROP DATABASE d");
        run(&mut c, "RESET BINARY LOGS AND GTIDS");
    }
}

/// Makes what was received a MariaDB's. Gives the flags of the transactions.
fn as_mariadb(q: &mut Connection) -> Vec<u8> {
    let (file, shown) = last_log(q);
    let mut bytes = std::fs::read(&file).unwrap();
    let mut all = Vec::new();
    let place = |i: usize| shown.get(i).map_or(bytes.len(), |row| row[1].parse().unwrap());
    let made: Vec<(usize, Vec<u8>)> = (0..shown.len())
        .filter(|i| shown[*i][2] == "Gtid")
        .map(|i| {
            let text = &*shown[i + 1][5];
            let (flags, end) = match text {
                "BEGIN" => (TRANSACTIONAL, i + 2),
                text if text.starts_with("XA START") => (TRANSACTIONAL | PREPARED_XA, i + 2),
                text if text.starts_with("XA ") => (STANDALONE | COMPLETED_XA, i + 1),
                _ => (STANDALONE, i + 1),
            };
            all.push(flags);
            (place(i), begins(flags, place(end) - place(i)))
        })
        .collect();
    for (at, made) in made {
        bytes[at..at + made.len()].copy_from_slice(&made);
    }
    std::fs::write(file, bytes).unwrap();
    all
}

#[test]
fn transactions_of_a_mariadb_are_applied() {
    let s = source();
    let mut c = s.connect();
    for (configure, workers) in [(with_log as fn(&mut _), 4), (without_log, 0)] {
        let (mut following, mut q) = receiver(&s, &mut c, configure, workers);
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "INSERT INTO d.t VALUES (1), (2)",
            "XA START 'b'",
            "INSERT INTO d.t VALUES (3)",
            "XA END 'b'",
            "XA PREPARE 'b'",
        ] {
            run(&mut c, sql);
        }
        let mut other = s.connect();
        run(&mut other, "INSERT INTO d.t VALUES (4)");
        received(&mut c, &mut q);
        let flags = as_mariadb(&mut q);
        assert!(flags.ends_with(&[1, 1, 12, 76, 12]), "{flags:?}");
        run(&mut q, "START REPLICA SQL_THREAD");
        same(&mut other, &mut q, "SELECT a FROM d.t ORDER BY a");
        same(&mut other, &mut q, "XA RECOVER");
        assert_eq!(status(&mut q, "Last_SQL_Errno"), "0");
        run(&mut q, "STOP REPLICA");
        drop(q);
        // The branch is there after a start, and ends as another transaction.
        following.restart();
        let mut q = following.r.connect();
        same(&mut other, &mut q, "XA RECOVER");
        run(&mut q, "START REPLICA IO_THREAD");
        run(&mut c, "XA COMMIT 'b'");
        received(&mut c, &mut q);
        assert_eq!(as_mariadb(&mut q), [129]);
        run(&mut q, "START REPLICA SQL_THREAD");
        same(&mut c, &mut q, "SELECT a FROM d.t ORDER BY a");
        same(&mut c, &mut q, "XA RECOVER");
        assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "4");
        run(&mut q, "STOP REPLICA");
        run(&mut c, "DROP DATABASE d");
        run(&mut c, "FLUSH BINARY LOGS");
    }
}
