//! Packets of every size: from one byte below the limit of a single packet to `max_allowed_packet`, both ways, text and
//! prepared, plain and compressed.

use crate::common::{Running, one, options, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Arg, Connection, Options, ResultSet};
use gannet_wire::flags::{cap, com};

/// The longest payload of one packet.
const FULL: usize = 0xFF_FFFF;

fn only(r: &ResultSet) -> &[u8] {
    r.cell(0, 0).unwrap().bytes().unwrap()
}

/// Requests of exactly `size` bytes, and rows of exactly `size` bytes.
fn exact(c: &mut Connection, size: usize) {
    // COM_QUERY and its text.
    let head = "SELECT LENGTH('";
    let sql = format!("{head}{}')", "q".repeat(size - 1 - head.len() - 2));
    assert_eq!(sql.len() + 1, size);
    assert_eq!(one(c, &sql), (size - 1 - head.len() - 2).to_string());
    // COM_STMT_EXECUTE: id, flags, count, nulls, mark, type, length of nine bytes.
    let s = c.prepare("SELECT LENGTH(?)").unwrap();
    let text = "e".repeat(size - (1 + 4 + 1 + 4 + 1 + 1 + 2) - if size > FULL { 9 } else { 4 });
    let r = c.execute(&s, &[Arg::Text(&text)]).unwrap();
    assert_eq!(r.cell(0, 0).unwrap().int(), Some(text.len() as i64));
    // A row of text: length and value. One of the binary protocol: header, nulls, length, value.
    for (sql, around) in [("SELECT REPEAT('r', ?)", 1 + 1), ("", 0)] {
        let prefix = if size - around - 4 > FULL { 9 } else { 4 };
        let n = size - around - prefix;
        let got = match sql {
            "" => c.query(&format!("SELECT REPEAT('r', {n})")).unwrap(),
            sql => {
                let s = c.prepare(sql).unwrap();
                c.execute(&s, &[Arg::Int(n as i64)]).unwrap()
            }
        };
        assert!(only(&got).len() == n && only(&got).iter().all(|b| *b == b'r'), "{size}: {}", only(&got).len());
    }
    assert_eq!(one(c, "SELECT 'still in step'"), "still in step");
}

#[test]
fn packets_around_the_split() {
    let r = Running::start();
    let mut c = r.connect();
    for size in [FULL - 1, FULL, FULL + 1, 2 * FULL] {
        exact(&mut c, size);
    }
    for capability in [cap::COMPRESS, cap::ZSTD_COMPRESSION] {
        let o = Options { capabilities: capability, ..options() };
        let mut c = Connection::connect(&r.socket(), &o).unwrap();
        exact(&mut c, FULL);
    }
}

#[test]
fn as_long_as_allowed_and_longer() {
    let r = Running::configured(|o| o.set(Live::MaxAllowedPacket, VarValue::Int(64 << 20)));
    let mut c = r.connect();
    exact(&mut c, 64 << 20);
    let sql = format!("SELECT '{}'", "x".repeat(64 << 20));
    let failed = c.query(&sql).unwrap_err();
    assert!(matches!(failed.code(), None | Some(1153)), "{failed}");
    run(&mut r.connect(), "SET GLOBAL max_allowed_packet = 1073741824");
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT LENGTH(REPEAT('x', 300000000))"), "300000000");
}

#[test]
fn long_data_in_many_pieces() {
    let r = Running::start();
    let mut c = r.connect();
    let s = c.prepare("SELECT MD5(?), LENGTH(?), LENGTH(?)").unwrap();
    let send = |c: &mut Connection, parameter: u8, data: &[u8]| {
        let mut body = s.id.to_le_bytes().to_vec();
        body.extend_from_slice(&[parameter, 0]);
        body.extend_from_slice(data);
        c.command(com::STMT_SEND_LONG_DATA, &body).unwrap();
    };
    // One piece longer than a packet, and many short ones.
    send(&mut c, 1, &vec![b'a'; FULL + 10]);
    for _ in 0..1000 {
        send(&mut c, 2, &[b'b'; 999]);
    }
    send(&mut c, 1, b"");
    let r = c.execute(&s, &[Arg::Text("x"), Arg::Text(""), Arg::Text("")]).unwrap();
    assert_eq!(r.cell(0, 1).unwrap().int(), Some(FULL as i64 + 10));
    assert_eq!(r.cell(0, 2).unwrap().int(), Some(999_000));
    assert_eq!(r.cell(0, 0).unwrap().bytes(), Some(&b"9dd4e461268c8034f5c8564e155c67a6"[..]));
}
