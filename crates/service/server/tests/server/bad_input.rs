//! What no well-behaved client sends: each gives an error or a closed connection, and the server lives on.

use crate::common::{PATIENCE, Running, error, one, options, run, wait_for, within};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Address, Connection, Error, Options};
use gannet_wire::flags::{cap, com, ty};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

fn raw(r: &Running) -> UnixStream {
    let Address::Unix(path) = r.socket() else { unreachable!() };
    let s = UnixStream::connect(path).unwrap();
    s.set_read_timeout(Some(PATIENCE)).unwrap();
    s
}

/// Reads until the server closes; fails when it does not.
fn drain(s: &mut impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    match s.read_to_end(&mut all) {
        Ok(_) => {}
        // A reset is a close too.
        Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {}
        Err(e) => panic!("the server does not close the connection: {e}"),
    }
    all
}

fn alive(r: &Running) {
    assert_eq!(one(&mut r.connect(), "SELECT 1"), "1");
}

#[test]
fn garbage_instead_of_a_handshake() {
    let r = Running::start();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\0", b"\x01\0\0\x01\0", &[0xFF; 5000], b"\xFF\xFF\xFF\x01"] {
        let mut s = raw(&r);
        let mut greeting = [0; 4];
        s.read_exact(&mut greeting).unwrap();
        // The server may close before all is written.
        let _ = s.write_all(bytes);
        let _ = s.shutdown(std::net::Shutdown::Write);
        drain(&mut s);
    }
    alive(&r);
}

#[test]
fn a_handshake_that_never_ends_is_cut_off() {
    let r = Running::configured(|o| o.set(Live::ConnectTimeout, VarValue::Int(2)));
    let mut slow = raw(&r);
    let writer = std::thread::spawn(move || {
        // A byte now and then does not prolong it.
        for _ in 0..1000 {
            if slow.write_all(&[1]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    });
    within(Duration::from_secs(8), "a silent one is cut off", || {
        let started = Instant::now();
        drain(&mut raw(&r));
        let waited = started.elapsed();
        assert!(waited >= Duration::from_millis(1500), "{waited:?}");
        waited
    });
    assert!(writer.join().unwrap(), "the slow one was served for ever");
    alive(&r);
}

#[test]
fn packets_out_of_sequence() {
    let r = Running::start();
    let mut c = r.connect();
    c.send_raw(&[1, 0, 0, 7, com::PING]).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1156));
    assert!(matches!(c.ping(), Err(Error::Io(_))));
    alive(&r);
}

#[test]
fn packets_beyond_the_limit() {
    let r = Running::configured(|o| o.set(Live::MaxAllowedPacket, VarValue::Int(64 << 10)));
    let mut c = r.connect();
    c.send_raw(&[0xFF, 0xFF, 0xFF, 0, com::QUERY]).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1153));
    let mut c = r.connect();
    let long = format!("SELECT '{}'", "x".repeat(100 << 10));
    let got = c.query(&long);
    assert!(matches!(&got, Err(e) if e.code() == Some(1153) || e.code().is_none()), "{got:?}");
    alive(&r);
}

#[test]
fn malformed_commands() {
    let r = Running::start();
    let mut c = r.connect();
    for packet in [
        &[][..],
        &[com::STMT_EXECUTE],
        &[com::STMT_EXECUTE, 1, 0, 0, 0],
        &[com::PROCESS_KILL, 1],
        &[com::SET_OPTION],
        &[com::STMT_RESET, 9],
    ] {
        let len = packet.len() as u8;
        c.send_raw(&[&[len, 0, 0, 0], packet].concat()).unwrap();
        let e = c.receive().unwrap_err();
        assert_eq!(e.code(), Some(1835), "{packet:?}: {e}");
    }
    for byte in [com::SLEEP, com::CONNECT, com::TIME, com::DAEMON, 99, 0xFF] {
        c.command(byte, b"").unwrap();
        assert_eq!(c.receive().unwrap_err().code(), Some(1047), "{byte}");
    }
    assert_eq!(one(&mut c, "SELECT 2"), "2");
}

#[test]
fn wrong_parameters_of_prepared_statements() {
    let r = Running::start();
    let mut c = r.connect();
    let s = c.prepare("SELECT ?, ?").unwrap();
    let head = |id: u32| [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
    for (tail, number) in [
        (&[][..], 1835),
        (&[0], 1835),
        (&[0, 1], 1835),
        (&[0, 0], 1210),
        (&[0, 2, 3, 0, 3, 0], 1835),
        (&[0, 1, ty::LONGLONG, 0, ty::LONGLONG, 0, 1, 2, 3], 1835),
        (&[0, 1, ty::STRING, 0, ty::STRING, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], 1835),
        (&[0, 1, 200, 0, 200, 0, 1, 1], 1835),
        (&[0, 1, ty::DATE, 0, ty::TINY, 0, 4, 0xE8, 7, 99, 99, 1], 1210),
        (&[0, 1, ty::TIME, 0, ty::TINY, 0, 8, 0, 0xFF, 0xFF, 0xFF, 0xFF, 99, 99, 99, 1], 1210),
    ] {
        c.command(com::STMT_EXECUTE, &[&head(s.id)[..], tail].concat()).unwrap();
        let e = c.receive().unwrap_err();
        assert_eq!(e.code(), Some(number), "{tail:?}: {e}");
    }
    c.command(com::STMT_EXECUTE, &head(77)).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1243));
    c.command(com::STMT_SEND_LONG_DATA, &[9, 0, 0, 0, 9, 0, 1]).unwrap();
    c.ping().unwrap();
}

#[test]
fn sql_of_every_bad_kind() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))");
    let deep = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let got = error(&mut c, &deep);
    assert!(got == 0 || got == 1436, "{got}");
    let unary = format!("SELECT {}1", "- ".repeat(100_000));
    assert!(matches!(error(&mut c, &unary), 0 | 1436));
    let nested = format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(2000), ") AS x".repeat(2000));
    assert!(error(&mut c, &nested) != 0);
    // Nesting either works or is refused; it overflows no stack and costs no exponential time.
    for n in [10, 20, 40, 60, 80, 120, 200] {
        let forms = [
            format!("SELECT {}1{}", "(SELECT ".repeat(n), ")".repeat(n)),
            format!("SELECT 1 WHERE 1 IN {}(SELECT 1){}", "(SELECT 1 WHERE 1 IN ".repeat(n), ")".repeat(n)),
            format!("SELECT * FROM {}(SELECT 1) AS x{}", "(SELECT * FROM ".repeat(n), ") AS x".repeat(n)),
            format!("SELECT {}1{}", "ABS(".repeat(n), ")".repeat(n)),
            format!("SELECT 1 WHERE {}1{}", "NOT (1 AND ".repeat(n), ")".repeat(n)),
        ];
        for sql in forms {
            match c.query(&sql) {
                Ok(_) => {}
                Err(Error::Server { code, message, .. }) => {
                    assert!([1436, 1235].contains(&code), "{n}: {sql}: {code} {message}");
                }
                Err(e) => panic!("{n}: {sql}: {e}"),
            }
        }
    }
    let list: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    assert_eq!(one(&mut c, &format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list.join(","))), "0");
    let big = format!("SELECT LENGTH('{}')", "x".repeat(16 << 20));
    assert_eq!(one(&mut c, &big), (16 << 20).to_string());
    for (sql, number) in [
        ("SELEC 1", 1064),
        ("SELECT 'abc", 1064),
        ("SELECT \"abc", 1064),
        ("SELECT /* abc", 1064),
        ("", 1065),
        ("  ;  ", 1065),
        ("SELECT 1; SELECT 2", 1064),
        ("SELECT nope", 1054),
        ("SELECT * FROM nope", 1146),
        ("SELECT * FROM nodb.t", 1049),
        ("USE nodb", 1049),
        ("INSERT INTO t VALUES (99999999999, 'x')", 1264),
        ("INSERT INTO t VALUES (1, 'longer than ten')", 1406),
        ("SELECT @@nonesuch", 1193),
        ("SET nonesuch = 1", 1193),
        ("SET @@version = 'x'", 1238),
        ("SET max_connections = 5", 1229),
        ("SET GLOBAL warning_count = 5", 1238),
        ("SET autocommit = 'maybe'", 1231),
        ("SET SESSION wait_timeout = 'x'", 1232),
        ("SAVEPOINT s; ROLLBACK TO s", 1064),
        ("ROLLBACK TO s", 1305),
        ("KILL 987654", 1094),
        ("EXECUTE s", 1243),
        ("DROP USER nobody", 1396),
        ("SELECT ?", 1064),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    run(&mut c, "INSERT INTO t VALUES (1, 'x')");
    assert_eq!(error(&mut c, "INSERT INTO t VALUES (1, 'x')"), 1062);
    for bytes in [&b"SELECT '\xFF\xFE'"[..], b"SELECT `\xFF`", b"SELECT 1\0", b"\0", b"SELECT '\0'", b"\xF0\x9F"] {
        // An answer, whichever.
        let _ = c.query_bytes(bytes);
        c.ping().unwrap();
    }
    alive(&r);
}

#[test]
fn errors_have_mysqls_number_state_and_words() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10), d DATE)");
    run(&mut c, "INSERT INTO t VALUES (1, 'x', '2024-02-29')");
    for (sql, number, state, words) in [
        (
            "INSERT INTO t VALUES (2, 'x', '2024-02-30')",
            1292,
            "22007",
            "Incorrect date value: '2024-02-30' for column 'd' at row 1",
        ),
        ("INSERT INTO t VALUES (99999999999, 'x', NULL)", 1264, "22003", "Out of range value for column 'id' at row 1"),
        ("INSERT INTO t VALUES (2, 'longer than ten', NULL)", 1406, "22001", "Data too long for column 'v' at row 1"),
        ("INSERT INTO t VALUES (1, 'x', NULL)", 1062, "23000", "Duplicate entry '1' for key 't.PRIMARY'"),
        ("INSERT INTO t VALUES (NULL, 'x', NULL)", 1048, "23000", "Column 'id' cannot be null"),
        ("INSERT INTO t VALUES (1)", 1136, "21S01", "Column count doesn't match value count at row 1"),
        ("SELECT nope FROM t", 1054, "42S22", "Unknown column 'nope' in 'field list'"),
        ("SELECT * FROM nope", 1146, "42S02", "Table 'd.nope' doesn't exist"),
        (
            "SELECT 9223372036854775807 + 1",
            1690,
            "22003",
            "BIGINT value is out of range in '(9223372036854775807 + 1)'",
        ),
        ("SELECT 1e400", 1367, "22007", "Illegal double '1e400' value found during parsing"),
        (
            "SELEC 1",
            1064,
            "42000",
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1",
        ),
    ] {
        match c.query(sql) {
            Err(Error::Server { code, sqlstate, message }) => {
                let got = String::from_utf8_lossy(&sqlstate);
                assert_eq!((code, &*got, message.as_str()), (number, state, words), "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn clients_that_vanish() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    run(&mut c, "INSERT INTO d.t VALUES (1, 0)");
    // In the middle of a transaction: rolled back, and its lock goes.
    let mut gone = r.connect();
    run(&mut gone, "BEGIN");
    run(&mut gone, "UPDATE d.t SET v = 1 WHERE id = 1");
    drop(gone);
    run(&mut c, "UPDATE d.t SET v = v + 10 WHERE id = 1");
    assert_eq!(one(&mut c, "SELECT v FROM d.t"), "10");
    // In the middle of a packet, and of a result.
    let mut s = r.connect();
    s.send_raw(&[100, 0, 0, 0, com::QUERY, b'S']).unwrap();
    drop(s);
    let mut s = r.connect();
    s.command(com::QUERY, b"SELECT SLEEP(1000)").unwrap();
    wait_for("the statement", || sleepers(&mut c) == 1);
    drop(s);
    // A tenth of a second, when the machine is free.
    wait_for("the end of a statement whose client has vanished", || sleepers(&mut c) == 0);
}

fn sleepers(c: &mut Connection) -> usize {
    let rows = crate::common::rows(c, "SHOW PROCESSLIST");
    rows.iter().filter(|r| r[7].contains("SLEEP(1000)")).count()
}

#[test]
fn too_many_connections() {
    let r = Running::configured(|o| o.set(Live::MaxConnections, VarValue::Int(3)));
    let mut root = r.connect();
    run(&mut root, "CREATE USER u@localhost");
    let plain = Options { user: "u".into(), ..options() };
    let held: Vec<Connection> = (0..2).map(|_| Connection::connect(&r.socket(), &plain).unwrap()).collect();
    // One more than the limit is for administrators.
    assert_eq!(Connection::connect(&r.socket(), &plain).unwrap_err().code(), Some(1040));
    let admin = r.connect();
    assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), Some(1040));
    drop((held, admin));
    let until = Instant::now() + PATIENCE;
    while Connection::connect(&r.socket(), &plain).is_err() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn tcp_and_old_protocols() {
    let r = Running::start();
    let mut c = Connection::connect(&r.tcp(), &options()).unwrap();
    assert_eq!(one(&mut c, "SELECT USER()"), "root@localhost");
    // Without DEPRECATE_EOF, and with everything optional.
    for (more, without) in [(0, cap::DEPRECATE_EOF), (cap::SESSION_TRACK | cap::OPTIONAL_RESULTSET_METADATA, 0)] {
        let o = Options { capabilities: more, without, ..options() };
        let mut c = Connection::connect(&r.tcp(), &o).unwrap();
        assert_eq!(one(&mut c, "SELECT 1 + 1"), "2");
        let s = c.prepare("SELECT ? + 1").unwrap();
        assert_eq!(c.execute(&s, &[gannet_wire::client::Arg::Int(41)]).unwrap().cell(0, 0).unwrap().int(), Some(42));
    }
    // The protocol before 4.1.
    let Address::Tcp(host, port) = r.tcp() else { unreachable!() };
    let mut s = TcpStream::connect((host, port)).unwrap();
    s.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = [0; 4];
    s.read_exact(&mut head).unwrap();
    let mut greeting = vec![0; head[0] as usize];
    s.read_exact(&mut greeting).unwrap();
    s.write_all(&[8, 0, 0, 1, 5, 0, 0, 0, 0, b'r', 0, 0]).unwrap();
    let reply = drain(&mut s);
    assert_eq!(reply.get(4), Some(&0xFF));
}
