//! Dumps that cannot be given, with MySQL's texts, and a network that cuts or spoils them.

use crate::common::{self, Running, one, run};
use crate::relay::wait;
use crate::replica::{Following, change, same, source, status, with_log, without_log};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Address, Connection, Error};
use gannet_wire::flags::com;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a dump that ends with the log comes to: how many events, or the error.
fn dump(r: &Running, command: u8, body: &[u8]) -> Result<usize, String> {
    let mut c = r.connect();
    run(&mut c, "SET @source_binlog_checksum = 'CRC32'");
    c.command(command, body).unwrap();
    let mut events = 0;
    loop {
        match c.receive() {
            Ok(packet) if packet[0] == 0 => events += 1,
            Ok(_) => return Ok(events),
            Err(Error::Server { code: 1236, message, .. }) => return Err(message),
            Err(e) => panic!("{e}"),
        }
    }
}

fn from(r: &Running, file: &str, position: u32) -> Result<usize, String> {
    let mut body = position.to_le_bytes().to_vec();
    body.extend_from_slice(&[1, 0, 77, 0, 0, 0]);
    body.extend_from_slice(file.as_bytes());
    dump(r, com::BINLOG_DUMP, &body)
}

/// By the body of a set.
fn having(r: &Running, set: &[u8]) -> Result<usize, String> {
    let mut body = vec![1, 0, 77, 0, 0, 0, 0, 0, 0, 0];
    body.extend_from_slice(&4u64.to_le_bytes());
    body.extend_from_slice(&(set.len() as u32).to_le_bytes());
    dump(r, com::BINLOG_DUMP_GTID, &[&body[..], set].concat())
}

/// A set of one interval.
fn set_of(uuid: &str, first: u64, behind: u64) -> Vec<u8> {
    let hex = uuid.replace('-', "");
    let mut set = 1u64.to_le_bytes().to_vec();
    set.extend((0..16).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()));
    [1, first, behind].iter().for_each(|n| set.extend_from_slice(&n.to_le_bytes()));
    set
}

#[test]
fn requests_that_no_log_answers() {
    let r = source();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(2000))");
    for n in 0..20 {
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n}, REPEAT('\u{7f}', {}))", 100 * n));
    }
    run(&mut c, "FLUSH BINARY LOGS");
    run(&mut c, "INSERT INTO d.t VALUES (100, 'x')");
    let uuid = one(&mut c, "SELECT @@server_uuid");
    let file = "binlog.000001";
    let says = |result: Result<usize, String>| result.unwrap_err();
    for name in ["binlog.000009", "other.000001", "binlog.1", "../binlog.000001", "binlog.000001\0"] {
        assert_eq!(says(from(&r, name, 4)), "Could not find first log file name in binary log index file", "{name}");
    }
    assert_eq!(says(from(&r, file, 3)), "Client requested source to start replication from position < 4");
    assert_eq!(says(from(&r, file, 0)), "Client requested source to start replication from position < 4");
    let beyond = says(from(&r, file, u32::MAX));
    assert_eq!(beyond, "Client requested source to start replication from position > file size");
    // Within an event, everywhere: what is there is no event, and is not sent as one.
    let shown = common::rows(&mut c, "SHOW BINLOG EVENTS");
    let begins: Vec<u32> = shown.iter().map(|row| row[1].parse().unwrap()).collect();
    let size = std::fs::metadata(r.dir.join(file)).unwrap().len() as u32;
    for at in (5..size).step_by(7).filter(|at| !begins.contains(at)) {
        let text = says(from(&r, file, at));
        let known = [
            "bogus data in log event",
            "binlog truncated in the middle of event; consider out of disk space on source",
            "event read from binlog did not pass crc check",
        ];
        assert!(known.iter().any(|k| text.starts_with(k)), "{at}: {text}");
        let place = format!("; the first event '{file}' at {at}, the last event read from '{file}' at ");
        assert!(text.contains(&place) && text.contains(", the last byte read from '"), "{text}");
    }
    assert!(from(&r, file, begins[3]).is_ok());
    assert!(from(&r, file, size).is_ok());
    // Transactions that the source has not, of its own and of others.
    let more = says(having(&r, &set_of(&uuid, 1, 1000)));
    assert!(more.starts_with("Replica has more GTIDs than the source has"), "{more}");
    assert!(having(&r, &set_of("3e11fa47-71ca-11e1-9e33-c80aa9429562", 1, 1000)).unwrap() > 60);
    for (first, behind) in [(0, 5), (5, 5), (7, 5), (1, u64::MAX)] {
        assert!(says(having(&r, &set_of(&uuid, first, behind))).contains("alformed"), "{first} {behind}");
    }
    for wrong in [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0xFF; 40], &[0, 0], &[]] {
        assert!(says(having(&r, wrong)).contains("alformed"), "{wrong:?}");
    }
    run(&mut c, "PURGE BINARY LOGS TO 'binlog.000002'");
    assert_eq!(says(from(&r, file, 4)), "Could not find first log file name in binary log index file");
    let purged = says(having(&r, &set_of(&uuid, 1, 3)));
    let start = "Cannot replicate because the source purged required binary logs.";
    assert!(purged.starts_with(start), "{purged}");
    assert!(purged.contains(&format!("'{uuid}:1-2', and the missing transactions are '{uuid}:3-24'")), "{purged}");
}

/// The replica has the source's text once, under its own number.
#[test]
fn a_replica_says_what_its_source_says() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "FLUSH BINARY LOGS");
    run(&mut c, "PURGE BINARY LOGS TO 'binlog.000002'");
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    let got = "Got fatal error 1236 from source when reading data from binary log: '";
    for (how, text) in [
        ("SOURCE_AUTO_POSITION = 1", "Cannot replicate because the source purged required binary logs."),
        (
            "SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4",
            "Could not find first log file name in binary log index file'",
        ),
        (
            "SOURCE_LOG_FILE = 'binlog.000002', SOURCE_LOG_POS = 99999",
            "Client requested source to start replication from position > file size'",
        ),
        ("SOURCE_LOG_FILE = 'binlog.000002', SOURCE_LOG_POS = 21", "bogus data in log event; the first event "),
    ] {
        change(&mut q, &s, how);
        run(&mut q, "START REPLICA");
        wait(&mut q, "Replica_IO_Running", "No");
        assert_eq!(status(&mut q, "Last_IO_Errno"), "13114");
        let said = status(&mut q, "Last_IO_Error");
        assert!(said.starts_with(&format!("{got}{text}")), "{said}");
        run(&mut q, "STOP REPLICA");
    }
}

/// Passes a source's bytes on until it has passed so many of one connection, which it cuts then; or changes one.
struct Network {
    port: u16,
    /// What happens to the next connections.
    next: Arc<Mutex<Vec<Harm>>>,
}

#[derive(Clone, Copy)]
enum Harm {
    Cut(usize),
    Spoil(usize),
}

fn pass(mut from: TcpStream, mut to: TcpStream, harm: Option<Harm>) {
    let (mut bytes, mut passed) = (vec![0; 1024], 0);
    while let Ok(n) = from.read(&mut bytes) {
        let mut end = n;
        match harm {
            Some(Harm::Cut(at)) if passed + n >= at => end = at - passed,
            Some(Harm::Spoil(at)) if (passed..passed + n).contains(&at) => bytes[at - passed] ^= 1,
            _ => {}
        }
        passed += n;
        if n == 0 || to.write_all(&bytes[..end]).is_err() || end < n {
            break;
        }
    }
    let _ended = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

impl Network {
    fn before(source: &Running) -> Network {
        let Address::Tcp(host, to) = source.tcp() else { panic!("TCP") };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let it = Network { port: listener.local_addr().unwrap().port(), next: Arc::default() };
        let next = it.next.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, Ok(server)) = (client.unwrap(), TcpStream::connect((host.as_str(), to))) else { return };
                let harm = next.lock().unwrap().pop();
                let (c, s) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(c, s, None));
                std::thread::spawn(move || pass(server, client, harm));
            }
        });
        it
    }
}

/// Rows that say it when one was done twice.
fn fill(c: &mut Connection, n: u32) {
    run(c, "UPDATE d.t SET n = n + 1");
    for i in 0..20 {
        run(c, &format!("INSERT INTO d.t VALUES ({}, 0, REPEAT('x', {}))", n * 100 + i, 150 * i));
    }
    run(c, &format!("CREATE TABLE d.u{n} AS SELECT a FROM d.t WHERE a < 50"));
}

#[test]
fn a_network_that_cuts_and_spoils() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, n INT, b TEXT)");
    let network = Network::before(&s);
    for (configure, how) in [
        (with_log as fn(&mut _), "SOURCE_AUTO_POSITION = 1"),
        (without_log, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4"),
    ] {
        let following = Following::start(configure);
        let mut q = following.r.connect();
        // In the login, among the first events, within large ones.
        let cuts = [40, 300, 900, 1300, 1800, 2500, 9000, 20_000, 21_001].map(Harm::Cut);
        *network.next.lock().unwrap() = cuts.into_iter().rev().collect();
        fill(&mut c, if how.len() > 30 { 5 } else { 1 });
        change(&mut q, &s, &format!("{how}, SOURCE_PORT = {}, SOURCE_RETRY_COUNT = 100", network.port));
        run(&mut q, "START REPLICA");
        same(&mut c, &mut q, "SELECT COUNT(*), SUM(a), SUM(n), SUM(CRC32(b)) FROM d.t");
        // One byte of an event.
        run(&mut q, "STOP REPLICA IO_THREAD");
        network.next.lock().unwrap().push(Harm::Spoil(9000));
        fill(&mut c, if how.len() > 30 { 6 } else { 2 });
        run(&mut q, "START REPLICA IO_THREAD");
        wait(&mut q, "Replica_IO_Running", "No");
        let said = status(&mut q, "Last_IO_Errno") + " " + &status(&mut q, "Last_IO_Error");
        assert!(said.starts_with("13122 Relay log write failure: could not queue event from source"), "{said}");
        run(&mut q, "START REPLICA IO_THREAD");
        same(&mut c, &mut q, "SELECT COUNT(*), SUM(a), SUM(n), SUM(CRC32(b)) FROM d.t");
        same(&mut c, &mut q, "SHOW TABLES IN d");
        run(&mut q, "STOP REPLICA");
    }
}

/// A source that is no source: it has no log, or is the same server.
#[test]
fn a_source_without_a_log() {
    let s = Running::configured(|o| {
        o.set(Live::LogBin, VarValue::bool(false));
        o.set(Live::ServerId, VarValue::Int(1));
    });
    let mut c = s.connect();
    run(&mut c, "CREATE USER reader IDENTIFIED BY 'secret'");
    run(&mut c, "GRANT REPLICATION SLAVE ON *.* TO reader");
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_IO_Running", "No");
    let said = status(&mut q, "Last_IO_Error");
    assert!(said.ends_with("'Binary log is not open'"), "{said}");
    run(&mut q, "STOP REPLICA");
    std::thread::sleep(Duration::from_millis(1));
    // With the same number.
    run(&mut c, "SET GLOBAL server_id = 2");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!(status(&mut q, "Last_IO_Errno"), "13117");
    let said = status(&mut q, "Last_IO_Error");
    assert!(said.contains("source and replica have equal MySQL server ids"), "{said}");
}
