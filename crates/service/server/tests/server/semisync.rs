//! Semi-synchronous replication: what a client is told, and what others see, while a replica has not acknowledged.

use crate::common::{PATIENCE, Running, error, one, run};
use crate::replica::{Following, change, source, status, with_log};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::com;
use std::time::{Duration, Instant};

fn state(c: &mut Connection, name: &str) -> String {
    let found = c.query(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_{name}'")).unwrap().texts();
    found.into_iter().next().unwrap_or_else(|| panic!("no {name}")).remove(1)
}

fn until(c: &mut Connection, name: &str, value: &str) {
    let end = Instant::now() + PATIENCE;
    while state(c, name) != value {
        assert!(Instant::now() < end, "{name} is {}, not {value}", state(c, name));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a statement in a session of its own; tells how long it took.
fn beside(r: &Running, sql: &'static str) -> std::thread::JoinHandle<Duration> {
    let mut c = r.connect();
    std::thread::spawn(move || {
        let begun = Instant::now();
        run(&mut c, sql);
        begun.elapsed()
    })
}

/// The replica has this row, or gets it.
fn has(q: &mut Connection, n: u64) {
    let end = Instant::now() + PATIENCE;
    while one(q, &format!("SELECT COUNT(*) FROM d.t WHERE a = {n}")) != "1" {
        assert!(Instant::now() < end, "{}", status(q, "Last_SQL_Error") + &status(q, "Last_IO_Error"));
    }
}

#[test]
fn a_commit_waits_for_a_replica() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    // Names of both families; what MySQL has in a plugin is part of the server.
    for role in ["source", "replica", "master", "slave"] {
        run(&mut c, &format!("INSTALL PLUGIN rpl_semi_sync_{role} SONAME 'semisync_{role}.so'"));
    }
    assert_eq!(error(&mut c, "INSTALL PLUGIN other SONAME 'other.so'"), 1235);
    assert_eq!(error(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_point = 'NEVER'"), 1231);
    run(&mut c, "SET GLOBAL rpl_semi_sync_master_timeout = 60000");
    assert_eq!(one(&mut c, "SELECT @@rpl_semi_sync_source_timeout"), "60000");

    let following = Following::start(with_log);
    let mut q = following.r.connect();
    run(&mut q, "SET GLOBAL rpl_semi_sync_replica_enabled = ON");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA");
    until(&mut q, "replica_status", "ON");
    until(&mut c, "source_clients", "1");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_enabled = ON");
    assert_eq!(state(&mut c, "master_status"), "ON");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    // It is there when the client is told.
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "1");
    assert_eq!((state(&mut c, "source_yes_tx"), state(&mut c, "source_no_tx")), ("1".to_owned(), "0".to_owned()));

    // No replica: it waits, and nobody sees it, but who asks for its lock, and that one waits too.
    run(&mut q, "STOP REPLICA");
    until(&mut c, "source_clients", "0");
    assert_eq!(state(&mut q, "replica_status"), "OFF");
    let waits = beside(&s, "INSERT INTO d.t VALUES (2)");
    until(&mut c, "source_wait_sessions", "1");
    let defines = beside(&s, "CREATE TABLE d.u (a INT)");
    let sees = beside(&s, "UPDATE d.t SET a = a + 100 WHERE a = 2");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "1");
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waits.is_finished() && !sees.is_finished() && !defines.is_finished());
    // With AFTER_COMMIT others see it. What was hidden stays so until it is told.
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "2");
    assert!(!waits.is_finished());
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_SYNC");
    run(&mut q, "START REPLICA");
    for thread in [waits, sees, defines] {
        thread.join().unwrap();
    }
    assert_eq!(one(&mut q, "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t"), "1,102");
    assert_eq!(one(&mut c, "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t"), "1,102");
    // A source that is also told to wait by others applies without waiting.
    run(&mut q, "SET GLOBAL rpl_semi_sync_source_enabled = ON");
    run(&mut c, "INSERT INTO d.t VALUES (3)");
    // It is visible there when that server's own log has it.
    has(&mut q, 3);
    run(&mut q, "SET GLOBAL rpl_semi_sync_source_enabled = OFF");

    // It does not wait for ever, and comes back.
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_timeout = 200");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 2");
    let took = beside(&s, "INSERT INTO d.t VALUES (4)").join().unwrap();
    assert!(took >= Duration::from_millis(200), "{took:?}");
    assert_eq!((state(&mut c, "source_status"), state(&mut c, "source_no_times")), ("OFF".into(), "1".into()));
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t WHERE a = 4"), "1");
    run(&mut c, "INSERT INTO d.t VALUES (5)");
    until(&mut c, "source_no_tx", "2");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 1");
    until(&mut c, "source_status", "ON");
    run(&mut c, "INSERT INTO d.t VALUES (6)");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t WHERE a = 6"), "1");
    // Without replicas at all, if that is wanted.
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_timeout = 60000");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_wait_no_replica = OFF");
    run(&mut q, "STOP REPLICA");
    until(&mut c, "source_status", "OFF");
    run(&mut c, "INSERT INTO d.t VALUES (7)");
    run(&mut q, "START REPLICA");
    until(&mut c, "source_status", "ON");
    // Files that begin anew have other places.
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    assert_eq!(state(&mut c, "source_status"), "OFF");
    run(&mut c, "INSERT INTO d.t VALUES (8)");
    has(&mut q, 8);
}

/// A reader that acknowledges from the end of the log on.
fn reader(s: &Running, at: (&str, u32)) -> Connection {
    let options = Options { user: "reader".into(), password: "secret".into(), ..crate::common::options() };
    let mut c = Connection::connect(&s.tcp(), &options).unwrap();
    c.query("SET @source_binlog_checksum = 'CRC32', @rpl_semi_sync_replica = 1").unwrap();
    let mut body = at.1.to_le_bytes().to_vec();
    body.extend_from_slice(&[0, 0, 88, 0, 0, 0]);
    body.extend_from_slice(at.0.as_bytes());
    c.command(com::BINLOG_DUMP, &body).unwrap();
    c
}

#[test]
fn what_no_reader_has_is_not_acknowledged() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_timeout = 60000");
    let place = c.query("SHOW BINARY LOG STATUS").unwrap().texts().remove(0);
    let (file, at) = (place[0].clone(), place[1].parse::<u32>().unwrap());
    let mut r = reader(&s, (&file, at));
    until(&mut c, "source_clients", "1");
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_enabled = ON");
    let acknowledge = |r: &mut Connection, file: &str, at: u64| {
        r.command(0xef, &[&at.to_le_bytes()[..], file.as_bytes()].concat()).unwrap();
    };
    // Places that are not there yet, files that are none, and other packets are no acknowledgements of what follows.
    acknowledge(&mut r, &file, u64::MAX);
    acknowledge(&mut r, "other.000001", 1 << 40);
    acknowledge(&mut r, "binlog.000099", 4);
    r.command(0xef, b"short").unwrap();
    r.command(com::PING, b"").unwrap();
    let waits = beside(&s, "INSERT INTO d.t VALUES (1)");
    until(&mut c, "source_wait_sessions", "1");
    let (mut asked, mut end) = (Vec::new(), 0);
    while asked.last() != Some(&1) {
        let packet = r.receive().unwrap();
        assert_eq!(&packet[..2], &[0, 0xef]);
        asked.push(packet[2]);
        end = u32::from_le_bytes(packet[3 + 13..3 + 17].try_into().unwrap());
    }
    // Only the last event asks.
    assert_eq!(asked.iter().filter(|asks| **asks == 1).count(), 1, "{asked:?}");
    acknowledge(&mut r, &file, u64::from(end) - 1);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waits.is_finished());
    acknowledge(&mut r, &file, end.into());
    waits.join().unwrap();
    // MySQL's replicas count packets anew from their acknowledgement on, and take no other number.
    let waits = beside(&s, "INSERT INTO d.t VALUES (3)");
    let mut packet = r.receive().unwrap();
    assert_eq!(r.sequence, 2);
    while packet[2] == 0 {
        packet = r.receive().unwrap();
    }
    end = u32::from_le_bytes(packet[3 + 13..3 + 17].try_into().unwrap());
    acknowledge(&mut r, &file, end.into());
    waits.join().unwrap();
    // A reader that goes in between leaves the commit waiting; one that sends what is no packet is sent away.
    let waits = beside(&s, "INSERT INTO d.t VALUES (2)");
    until(&mut c, "source_wait_sessions", "1");
    drop(r);
    until(&mut c, "source_clients", "0");
    let mut r = reader(&s, (&file, end));
    until(&mut c, "source_clients", "1");
    r.send_raw(&[0xff, 0xff, 0xff, 0, 1, 2, 3]).unwrap();
    let gone = loop {
        if let Err(e) = r.receive() {
            break e;
        }
    };
    assert!(gone.to_string().contains("1835") || gone.to_string().contains("Malformed"), "{gone}");
    until(&mut c, "source_clients", "0");
    assert!(!waits.is_finished());
    run(&mut c, "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    waits.join().unwrap();
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "3");
}
