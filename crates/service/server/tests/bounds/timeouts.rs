//! Clients that are slow, silent or too many: the timeouts, and the limit of connections.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error, Options};
use gannet_wire::flags::{cap, com};
use std::time::{Duration, Instant};

/// Both ways to serve connections.
fn servers() -> [Running; 2] {
    [
        Running::start(),
        Running::configured(|o| o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection"))),
    ]
}

/// What the server says before it closes a silent client's connection, and after how long.
fn last_words(c: &mut Connection) -> (Option<u16>, Duration) {
    let start = Instant::now();
    let code = c.receive().expect_err("the connection ends").code();
    (code, start.elapsed())
}

fn about_a_second(took: Duration) {
    assert!(took > Duration::from_millis(700) && took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn idle_clients_are_told() {
    for r in servers() {
        let mut c = r.connect();
        run(&mut c, "SET wait_timeout = 1");
        let (code, took) = last_words(&mut c);
        assert_eq!(code, Some(4031));
        about_a_second(took);
        assert!(matches!(c.ping(), Err(Error::Io(_))));
        // Interactive clients have a timeout of their own.
        let mut root = r.connect();
        run(&mut root, "SET GLOBAL interactive_timeout = 1");
        let o = Options { capabilities: cap::INTERACTIVE, ..options() };
        let mut c = Connection::connect(&r.socket(), &o).unwrap();
        assert_eq!(one(&mut c, "SELECT @@wait_timeout"), "1");
        let (code, took) = last_words(&mut c);
        assert_eq!(code, Some(4031));
        about_a_second(took);
        // What it had begun is undone.
        run(&mut root, "CREATE DATABASE d");
        run(&mut root, "CREATE TABLE d.t (a INT)");
        let mut c = r.connect();
        run(&mut c, "SET wait_timeout = 1");
        run(&mut c, "BEGIN");
        run(&mut c, "INSERT INTO d.t VALUES (1)");
        assert_eq!(last_words(&mut c).0, Some(4031));
        run(&mut root, "SET lock_wait_timeout = 60");
        run(&mut root, "ALTER TABLE d.t ADD b INT");
        assert_eq!(one(&mut root, "SELECT COUNT(*) FROM d.t"), "0");
    }
}

#[test]
fn clients_that_stall_in_a_packet() {
    for r in servers() {
        // A short one, one that is moved as it arrives, one of several packets.
        for (head, body) in [(&[100, 0, 0, 0][..], 1), (&[0, 0, 4, 0], 100_000), (&[0xFF, 0xFF, 0xFF, 0], 300_000)] {
            let mut c = r.connect();
            run(&mut c, "SET net_read_timeout = 1");
            let mut bytes = head.to_vec();
            bytes.push(com::QUERY);
            bytes.resize(4 + body, b' ');
            c.send_raw(&bytes).unwrap();
            let (code, took) = last_words(&mut c);
            assert!(matches!(code, None | Some(1159)), "{code:?}");
            assert!(body == 1 || code == Some(1159), "{body}");
            about_a_second(took);
        }
        // In the middle of LOAD DATA LOCAL.
        let mut root = r.connect();
        run(&mut root, "SET GLOBAL local_infile = ON");
        run(&mut root, "CREATE DATABASE d");
        run(&mut root, "CREATE TABLE d.t (a INT)");
        let o = Options { capabilities: cap::LOCAL_FILES, ..options() };
        let mut c = Connection::connect(&r.socket(), &o).unwrap();
        run(&mut c, "SET net_read_timeout = 1");
        c.command(com::QUERY, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t").unwrap();
        assert_eq!(c.receive().unwrap(), b"\xFBf");
        c.send(b"1\n2\n").unwrap();
        let (code, took) = last_words(&mut c);
        assert_eq!(code, Some(1159));
        about_a_second(took);
        assert_eq!(one(&mut root, "SELECT COUNT(*) FROM d.t"), "0");
    }
}

#[test]
fn clients_that_do_not_read() {
    for r in servers() {
        let mut c = r.connect();
        let id = one(&mut c, "SELECT CONNECTION_ID()");
        run(&mut c, "SET net_write_timeout = 1");
        let endless = "SELECT REPEAT('x', 1000) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b";
        c.command(com::QUERY, endless.as_bytes()).unwrap();
        let mut other = r.connect();
        let until = Instant::now() + PATIENCE;
        while rows(&mut other, "SHOW PROCESSLIST").iter().any(|r| r[0] == id) {
            assert!(Instant::now() < until, "its statement waits for ever");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn clients_that_read_later() {
    for r in servers() {
        // A limit of an exchange long over (the login's, that of a large packet) is no limit for the replies of this
        // one.
        run(&mut r.connect(), "SET GLOBAL connect_timeout = 2");
        // It may take longer than that, beside others.
        let mut c =
            std::iter::repeat_with(|| Connection::connect(&r.socket(), &options())).find_map(Result::ok).unwrap();
        std::thread::sleep(Duration::from_millis(2100));
        for _ in 0..60 {
            c.command(com::QUERY, b"SELECT REPEAT('x', 20000)").unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut replies = 0;
        while replies < 60 {
            replies += (c.receive().unwrap().len() > 20_000) as u32;
        }
    }
}

#[test]
fn one_connection_more_is_for_administrators() {
    let r = Running::configured(|o| {
        o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection"));
        o.set(Live::MaxConnections, VarValue::Int(3));
    });
    let mut root = r.connect();
    run(&mut root, "CREATE USER u@localhost");
    let plain = Options { user: "u".into(), ..options() };
    let held: Vec<Connection> = (0..2).map(|_| Connection::connect(&r.socket(), &plain).unwrap()).collect();
    for _ in 0..20 {
        assert_eq!(Connection::connect(&r.socket(), &plain).unwrap_err().code(), Some(1040));
    }
    let mut admin = r.connect();
    assert_eq!(
        one(&mut admin, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER <> 'event_scheduler'"),
        "4"
    );
    assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), Some(1040));
    assert_eq!(error(&mut admin, "SELECT nope"), 1054);
    drop((held, admin));
    let until = Instant::now() + PATIENCE;
    loop {
        match Connection::connect(&r.socket(), &plain) {
            Ok(_) => break,
            Err(Error::Server { code: 1040, .. }) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => panic!("{e}"),
        }
    }
}
