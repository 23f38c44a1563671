//! Memory that sessions hold between statements: values of variables, parameters that come in pieces. It is counted,
//! bounded, and given back.

use crate::common::{Running, error, one, options, run, wait_for};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Arg, Connection, Error, Options, Statement};
use gannet_wire::flags::com;
use std::time::Duration;

fn long_data(c: &mut Connection, s: &Statement, bytes: usize) {
    let head = [&s.id.to_le_bytes()[..], &[0, 0]].concat();
    for _ in 0..bytes.div_ceil(1 << 20) {
        c.command(com::STMT_SEND_LONG_DATA, &[&head[..], &vec![b'x'; 1 << 20]].concat()).unwrap();
    }
    c.ping().unwrap();
}

#[test]
fn what_is_reset_or_closed_is_given_back() {
    let r = Running::configured(|o| o.set(Live::StatementMemory, VarValue::Int(10 << 20)));
    let mut c = r.connect();
    let large = "SET @a = REPEAT('a', 12 << 20)";
    for end in [com::STMT_RESET, com::STMT_CLOSE] {
        let s = c.prepare("SELECT LENGTH(?)").unwrap();
        long_data(&mut c, &s, 12 << 20);
        assert_eq!(error(&mut c, large), 1041);
        c.command(end, &s.id.to_le_bytes()).unwrap();
        if end == com::STMT_RESET {
            c.receive().unwrap();
        }
        run(&mut c, large);
        run(&mut c, "SET @a = NULL");
    }
    run(&mut c, large);
    c.command(com::RESET_CONNECTION, &[]).unwrap();
    c.receive().unwrap();
    run(&mut c, "SET @b = REPEAT('b', 12 << 20)");
}

#[test]
fn a_session_holds_so_much() {
    let r = Running::configured(|o| o.set(Live::StatementMemory, VarValue::Int(10 << 20)));
    let mut c = r.connect();
    run(&mut c, "SET @a = REPEAT('a', 12 << 20)");
    assert_eq!(error(&mut c, "SET @b = REPEAT('b', 12 << 20)"), 1041);
    assert_eq!(one(&mut c, "SELECT LENGTH(@a), @b"), (12 << 20).to_string());
    let s = c.prepare("SELECT LENGTH(?)").unwrap();
    long_data(&mut c, &s, 12 << 20);
    match c.execute(&s, &[Arg::Text("")]) {
        Err(Error::Server { code: 1041, .. }) => {}
        other => panic!("{other:?}"),
    }
    run(&mut c, "SET @a = NULL");
    run(&mut c, "SET @b = REPEAT('b', 12 << 20)");
    // Replacing a value needs both for a moment.
    run(&mut c, "SET @b = 1");
    run(&mut c, "SET @b = REPEAT('b', 18 << 20)");
}

/// The start of a packet of 40 MiB, of which 20 MiB have arrived.
fn half_a_packet(c: &mut Connection) -> Result<(), Error> {
    const FULL: usize = (1 << 24) - 1;
    let mut bytes = vec![0xFF, 0xFF, 0xFF, 0, com::QUERY];
    bytes.resize(4 + FULL, b' ');
    bytes.extend([0xFF, 0xFF, 0xFF, 1]);
    bytes.resize(8 + (20 << 20), b' ');
    c.send_raw(&bytes)
}

#[test]
fn packets_under_way_count_with_the_memory_of_statements() {
    let r = Running::configured(|o| {
        o.set(Live::TemptableMaxRam, VarValue::Int(48 << 20));
        o.set(Live::WaitTimeout, VarValue::Int(600));
    });
    let patient = Options { timeout: Some(Duration::from_secs(2)), ..options() };
    let mut clients: Vec<Connection> = (0..6).map(|_| Connection::connect(&r.socket(), &patient).unwrap()).collect();
    // A server that refuses one reads no more of it.
    clients.iter_mut().for_each(|c| drop(half_a_packet(c)));
    let mut refused = 0;
    for c in &mut clients {
        match c.receive() {
            Err(e) if e.code() == Some(1041) => refused += 1,
            // Its end was cut off, or it waits for the rest.
            Err(_) => {}
            Ok(_) => panic!("there is no whole packet"),
        }
    }
    let mut db = r.connect();
    let sessions = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER <> 'event_scheduler'";
    let what = format!("the end of those that are refused, {refused} of whom have been told");
    wait_for(&what, || one(&mut db, sessions).parse::<usize>().unwrap() <= 4);
    drop(clients);
    // What they held is free again.
    wait_for("the end of all", || one(&mut db, sessions) == "1");
    assert_eq!(one(&mut db, &format!("SELECT LENGTH('{}')", "x".repeat(40 << 20))), (40 << 20).to_string());
}

/// What functions and aggregates of documents build is counted: each of these fails by the statement's bound, and by
/// nothing else.
#[test]
fn documents_under_way_count_with_the_memory_of_statements() {
    let r = Running::configured(|o| {
        o.set(Live::StatementMemory, VarValue::Int(8 << 20));
        o.set(Live::TemptableMaxRam, VarValue::Int(1 << 30));
    });
    let mut c = r.connect();
    run(&mut c, "SET @list = CONCAT('[', REPEAT('1,', 200000), '1]')");
    run(&mut c, "SET @texts = CONCAT('[', REPEAT('\"abc\",', 110000), '1]')");
    let three = "FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3) t";
    let statements = [
        "SELECT LENGTH(JSON_EXTRACT(@list, '$[*]', '$[*]'))".to_owned(),
        "SELECT LENGTH(JSON_EXTRACT(@list, '$**[0]'))".to_owned(),
        "SELECT LENGTH(JSON_SEARCH(@texts, 'all', 'a%'))".to_owned(),
        "SELECT LENGTH(JSON_SEARCH(@texts, 'all', 'a%', NULL, '$**[0]', '$[*]'))".to_owned(),
        "SELECT LENGTH(JSON_MERGE_PRESERVE(@list, @list))".to_owned(),
        "SELECT LENGTH(JSON_MERGE_PATCH(@list, @list))".to_owned(),
        "SELECT LENGTH(JSON_ARRAY(CAST(@list AS JSON), CAST(@list AS JSON), CAST(@list AS JSON)))".to_owned(),
        "SELECT LENGTH(JSON_SET(@list, '$[0]', CAST(@list AS JSON), '$[1]', CAST(@list AS JSON)))".to_owned(),
        "SELECT JSON_OVERLAPS(@list, @list)".to_owned(),
        format!("SELECT LENGTH(JSON_ARRAYAGG(CAST(@list AS JSON))) {three}"),
        format!("SELECT LENGTH(JSON_OBJECTAGG(n, CAST(@list AS JSON))) {three}"),
        format!("SELECT MAX(x) FROM (SELECT LENGTH(JSON_ARRAYAGG(CAST(@list AS JSON)) OVER ()) x {three}) u"),
    ];
    for sql in &statements {
        assert_eq!(error(&mut c, sql), 1038, "{sql}");
    }
    run(&mut c, "SET gannet_statement_memory = 1073741824");
    for sql in &statements {
        one(&mut c, sql);
    }
}
