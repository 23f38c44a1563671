//! Memory that sessions hold between statements: values of variables, parameters that come in pieces. It is counted, bounded, and given
//! back.

mod common;

use common::{Running, error, one, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Arg, Connection, Error, Statement};
use gannet_wire::flags::com;

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
