//! Statements that are stopped while their rows are on the way: the error stands in the place of the next row, and the
//! connection goes on. Over every kind of transport, in both protocols, to clients that read late.

use crate::common::{Running, one, options, run, wait_for};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error, Options, Tls};
use gannet_wire::flags::{cap, com};
use std::time::Duration;

/// More than what sockets and buffers take while nobody reads.
const ROWS: &str = "SELECT a.ID, REPEAT('x', 900) FROM information_schema.COLLATIONS a, \
                    information_schema.COLLATIONS b, information_schema.COLLATIONS c";
/// `max_execution_time`, or when it is killed.
const STOP_MS: u64 = 30;
/// The client does not read before.
const LATE: Duration = Duration::from_millis(90);

fn servers() -> [Running; 2] {
    [
        Running::configured(|o| o.set(Live::LocalInfile, VarValue::Int(1))),
        Running::configured(|o| {
            o.set(Live::LocalInfile, VarValue::Int(1));
            o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection"));
        }),
    ]
}

/// Over which a client may come.
fn ways() -> Vec<Options> {
    let mut ways = Vec::new();
    for capabilities in [0, cap::COMPRESS, cap::ZSTD_COMPRESSION] {
        for tls in [None, Some(Tls::default())] {
            let capabilities = capabilities | cap::MULTI_STATEMENTS | cap::LOCAL_FILES;
            ways.push(Options { capabilities, tls, ..options() });
        }
    }
    ways.push(Options { without: cap::DEPRECATE_EOF, ..options() });
    ways
}

/// Waits until a session runs a statement, and stops it a moment later: KILL QUERY spares those that run none.
fn kill_query(r: &Running, id: &str, later: Duration) {
    let mut c = r.connect();
    let runs = format!("SELECT COMMAND <> 'Sleep' FROM information_schema.PROCESSLIST WHERE ID = {id}");
    wait_for("the statement", || one(&mut c, &runs) == "1");
    std::thread::sleep(later);
    run(&mut c, &format!("KILL QUERY {id}"));
}

/// Packets up to the error, and its number.
fn read_to_error(c: &mut Connection) -> (usize, u16) {
    for n in 0.. {
        match c.receive() {
            Ok(_) => {}
            Err(Error::Server { code, .. }) => return (n, code),
            Err(e) => panic!("after {n} packets: {e}"),
        }
    }
    unreachable!("it ends")
}

/// Sends what `begin` sends, reads late, and goes on. On a busy machine it may be stopped before its first row: not
/// always.
fn stopped(r: &Running, way: &Options, by_limit: bool, begin: impl Fn(&mut Connection)) {
    let among_rows = (0..10).any(|_| packets_until_stopped(r, way, by_limit, &begin) > 10);
    assert!(among_rows, "it was to be stopped among the rows");
}

fn packets_until_stopped(r: &Running, way: &Options, by_limit: bool, begin: impl Fn(&mut Connection)) -> usize {
    let mut c = Connection::connect(&r.socket(), way).unwrap();
    let id = one(&mut c, "SELECT CONNECTION_ID()");
    if by_limit {
        run(&mut c, &format!("SET max_execution_time = {STOP_MS}"));
    }
    begin(&mut c);
    if by_limit {
        std::thread::sleep(LATE);
    } else {
        kill_query(r, &id, Duration::from_millis(STOP_MS));
        std::thread::sleep(LATE - Duration::from_millis(STOP_MS));
    }
    let (packets, code) = read_to_error(&mut c);
    assert_eq!(code, if by_limit { 3024 } else { 1317 });
    run(&mut c, "SET max_execution_time = 0");
    assert_eq!(one(&mut c, "SELECT CONNECTION_ID()"), id, "the connection goes on");
    packets
}

#[test]
fn rows_that_are_stopped_end_with_the_error() {
    for r in servers() {
        for way in &ways() {
            for by_limit in [true, false] {
                stopped(&r, way, by_limit, |c| c.command(com::QUERY, ROWS.as_bytes()).unwrap());
                stopped(&r, way, by_limit, |c| {
                    let s = c.prepare(ROWS).unwrap();
                    let body = [&s.id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
                    c.command(com::STMT_EXECUTE, &body).unwrap();
                });
                if way.capabilities & cap::MULTI_STATEMENTS != 0 {
                    let text = format!("SELECT 1; {ROWS}; SELECT 2");
                    stopped(&r, way, by_limit, |c| c.command(com::QUERY, text.as_bytes()).unwrap());
                }
            }
        }
    }
}

#[test]
fn long_rows_are_sent_piece_by_piece() {
    const MOST: usize = (1 << 24) - 1;
    for r in servers() {
        for way in &ways()[..3] {
            let mut c = Connection::connect(&r.socket(), way).unwrap();
            // Payloads that fill a packet, or two, and their neighbours. Four bytes, or nine, are the text's length.
            let lengths: Vec<usize> = [MOST - 4, 2 * MOST - 9]
                .iter()
                .flat_map(|n| n - 1..=n + 1)
                .chain([300_000, 20_000_000])
                .filter(|n| way.capabilities & cap::COMPRESS == 0 && way.tls.is_none() || *n == 2 * MOST - 9)
                .collect();
            for n in lengths {
                let rows = c.query(&format!("SELECT REPEAT('a', {n}) UNION ALL SELECT 'b'")).unwrap().texts();
                assert!(rows[0][0] == "a".repeat(n), "{n}");
                assert_eq!(rows[1][0], "b");
            }
            let s = c
                .prepare("SELECT 1, REPEAT(x'616263', ?), 'x', CAST(JSON_ARRAY(REPEAT('j', 400000)) AS JSON)")
                .unwrap();
            let rows = c.execute(&s, &[gannet_wire::client::Arg::Int(7_000_000)]).unwrap().texts();
            assert_eq!((&rows[0][0][..], rows[0][1].len(), &rows[0][2][..]), ("1", 21_000_000, "x"));
            assert_eq!(rows[0][3].len(), 400_004);
            let latin =
                c.query("SELECT CONVERT(REPEAT('ä', 700000) USING latin1), REPEAT('ß', 700000)").unwrap().texts();
            assert_eq!((latin[0][0].chars().count(), latin[0][1].chars().count()), (700_000, 700_000));
        }
        // A kill in the middle of one takes its effect behind it.
        for way in &ways() {
            let mut c = Connection::connect(&r.socket(), way).unwrap();
            let id = one(&mut c, "SELECT CONNECTION_ID()");
            // What cannot be compressed.
            run(&mut c, "SET group_concat_max_len = 1000000");
            run(&mut c, "SET @r = (SELECT GROUP_CONCAT(RANDOM_BYTES(1000)) FROM information_schema.COLLATIONS)");
            run(&mut c, "SET @r = REPEAT(@r, 15)");
            c.command(com::QUERY, b"SELECT @r UNION ALL SELECT @r UNION ALL SELECT @r").unwrap();
            kill_query(&r, &id, Duration::from_millis(50));
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(read_to_error(&mut c).1, 1317);
            assert_eq!(one(&mut c, "SELECT CONNECTION_ID()"), id);
        }
    }
}

#[test]
fn fetched_rows_too() {
    for r in servers() {
        for way in &ways() {
            stopped(&r, way, false, |c| {
                // They are all there: only the client can be slow, whatever compression makes of them.
                let s = c
                    .prepare(&format!("{} LIMIT 5000", ROWS.replace("REPEAT('x', 900)", "RANDOM_BYTES(900)")))
                    .unwrap();
                c.open_cursor(&s, &[]).unwrap();
                let body = [s.id.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
                c.command(com::STMT_FETCH, &body).unwrap();
            });
        }
    }
}

#[test]
fn a_limit_that_passes_as_the_statement_ends_is_not_the_next_ones() {
    let r = Running::start();
    let mut c =
        Connection::connect(&r.socket(), &Options { capabilities: cap::MULTI_STATEMENTS, ..options() }).unwrap();
    run(&mut c, "SET max_execution_time = 1000");
    // SLEEP ends at its limit with 1, and no error.
    for _ in 0..3 {
        let all = c.query_multi("SELECT SLEEP(50); DO SLEEP(0.01); SELECT 7").unwrap();
        assert_eq!(all[2].texts(), [["7"]]);
    }
}

#[test]
fn kill_query_spares_idle_clients_and_packets_on_their_way() {
    for r in servers() {
        let mut c = r.connect();
        let id = one(&mut c, "SELECT CONNECTION_ID()");
        let mut killer = r.connect();
        for _ in 0..3 {
            run(&mut killer, &format!("KILL QUERY {id}"));
        }
        assert_eq!(one(&mut c, "SELECT 1"), "1");
        // A long command of which half has arrived when it is killed: there is no statement yet.
        let text = format!("SELECT LENGTH('{}')", "x".repeat(400_000));
        let mut bytes = (text.len() as u32 + 1).to_le_bytes()[..3].to_vec();
        bytes.extend([0, com::QUERY]);
        bytes.extend(text.as_bytes());
        c.send_raw(&bytes[..200_000]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        run(&mut killer, &format!("KILL QUERY {id}"));
        std::thread::sleep(Duration::from_millis(50));
        c.send_raw(&bytes[200_000..]).unwrap();
        let mut packets = 0;
        while !c.receive().unwrap().ends_with(b"400000") {
            packets += 1;
            assert!(packets < 5);
        }
        c.receive().unwrap();
        assert_eq!(one(&mut c, "SELECT 2"), "2");
    }
}

#[test]
fn a_killed_load_takes_the_rest_of_the_file() {
    for r in servers() {
        let mut root = r.connect();
        run(&mut root, "CREATE DATABASE d");
        run(&mut root, "CREATE TABLE d.t (a INT)");
        for way in ways().iter().filter(|w| w.capabilities & cap::LOCAL_FILES != 0) {
            let mut c = Connection::connect(&r.socket(), way).unwrap();
            let id = one(&mut c, "SELECT CONNECTION_ID()");
            c.command(com::QUERY, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t").unwrap();
            assert_eq!(c.receive().unwrap(), b"\xFBf");
            c.send(b"1\n2\n").unwrap();
            std::thread::sleep(Duration::from_millis(20));
            run(&mut root, &format!("KILL QUERY {id}"));
            std::thread::sleep(Duration::from_millis(20));
            c.send(&b"3\n".repeat(100_000)).unwrap();
            c.send(b"").unwrap();
            assert_eq!(c.receive().unwrap_err().code(), Some(1317));
            assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "0");
        }
    }
}
