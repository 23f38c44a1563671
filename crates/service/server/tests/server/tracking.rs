//! Session state tracking in OK packets, and connection attributes.

use crate::common::{Running, options, rows, run};
use gannet_wire::client::{Arg, Connection, Options};
use gannet_wire::flags::{cap, com};

fn tracking(r: &Running, without: u32) -> Connection {
    Connection::connect(&r.socket(), &Options { capabilities: cap::SESSION_TRACK, without, ..options() }).unwrap()
}

/// Changes as `kind:what` words.
fn changes(c: &mut Connection, sql: &str) -> String {
    let ok = c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).ok;
    let word = |(kind, said): &(u8, Vec<String>)| format!("{kind}:{}", said.join("="));
    ok.changes.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn schema_and_variables() {
    let r = Running::start();
    let mut c = tracking(&r, 0);
    run(&mut c, "CREATE DATABASE d");
    assert_eq!(changes(&mut c, "USE d"), "1:d");
    c.command(com::INIT_DB, b"d").unwrap();
    assert_eq!(c.receive().unwrap().last(), Some(&b'd'));
    assert_eq!(changes(&mut c, "SET autocommit = 0"), "0:autocommit=OFF");
    assert_eq!(changes(&mut c, "SET time_zone = '+01:00', lock_wait_timeout = 7"), "0:time_zone=+01:00");
    assert_eq!(
        changes(&mut c, "SET NAMES latin1"),
        "0:character_set_client=latin1 0:character_set_connection=latin1 0:character_set_results=latin1"
    );
    run(&mut c, "SET session_track_system_variables = '*'");
    assert_eq!(changes(&mut c, "SET lock_wait_timeout = 8"), "0:lock_wait_timeout=8");
    run(&mut c, "SET session_track_system_variables = '', session_track_schema = OFF");
    assert_eq!(changes(&mut c, "SET autocommit = 1"), "");
    assert_eq!(changes(&mut c, "USE d"), "");
    // Others are told nothing.
    assert_eq!(changes(&mut r.connect(), "USE d"), "");
}

#[test]
fn state_changes() {
    let r = Running::start();
    let mut c = tracking(&r, 0);
    run(&mut c, "CREATE DATABASE d");
    assert_eq!(changes(&mut c, "SET @a = 1"), "");
    run(&mut c, "SET session_track_state_change = ON");
    for (sql, want) in [
        ("SET @a = 1", "2:1"),
        ("SELECT 1", ""),
        ("SET lock_wait_timeout = 9", "2:1"),
        ("PREPARE p FROM 'SELECT 1'", "2:1"),
        ("EXECUTE p", ""),
        ("DEALLOCATE PREPARE p", "2:1"),
        ("DO 1", ""),
        ("CREATE TEMPORARY TABLE d.tt (a INT)", "2:1"),
        ("INSERT INTO d.tt VALUES (1)", ""),
        ("ALTER TABLE d.tt ADD b INT", "2:1"),
        ("DROP TEMPORARY TABLE d.tt", "2:1"),
        ("USE mysql", "1:mysql 2:1"),
    ] {
        assert_eq!(changes(&mut c, sql), want, "{sql}");
    }
}

#[test]
fn transactions() {
    let r = Running::start();
    let mut c = tracking(&r, 0);
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    run(&mut c, "SET session_track_transaction_info = 'STATE'");
    for (sql, want) in [
        ("INSERT INTO d.t VALUES (1)", ""),
        ("START TRANSACTION", "5:T_______"),
        ("SELECT 1", "5:T_____S_"),
        ("SELECT * FROM d.t", "5:T_R___S_"),
        ("SELECT * FROM d.t", ""),
        ("INSERT INTO d.t VALUES (2)", "5:T_R_W_S_"),
        ("COMMIT", "5:________"),
        ("SET autocommit = 0", "0:autocommit=OFF"),
        ("SELECT * FROM d.t", "5:I_R___S_"),
        ("ROLLBACK", "5:________"),
        ("SET autocommit = 1", "0:autocommit=ON"),
        ("LOCK TABLES d.t READ", "5:_______L"),
        ("UNLOCK TABLES", "5:________"),
    ] {
        assert_eq!(changes(&mut c, sql), want, "{sql}");
    }
    run(&mut c, "SET session_track_transaction_info = 'CHARACTERISTICS'");
    let level = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;";
    for (sql, want) in [
        ("START TRANSACTION READ ONLY", "4:START TRANSACTION READ ONLY; 5:T_______".to_string()),
        ("COMMIT", "4: 5:________".to_string()),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", format!("4:{level}")),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
            format!("4:{level} START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE; 5:T_______"),
        ),
        ("ROLLBACK", "4: 5:________".to_string()),
    ] {
        assert_eq!(changes(&mut c, sql), want, "{sql}");
    }
}

#[test]
fn attributes_of_connections_are_shown() {
    let r = Running::start();
    let with = |value: &str| {
        let attributes = vec![("program_name".into(), "test".into()), ("x".into(), value.into())];
        Connection::connect(&r.socket(), &Options { attributes, ..options() }).unwrap()
    };
    let mut c = with("y");
    let own = "SELECT ATTR_NAME, ATTR_VALUE, ORDINAL_POSITION FROM performance_schema.session_account_connect_attrs \
               WHERE PROCESSLIST_ID = CONNECTION_ID() ORDER BY 3";
    assert_eq!(rows(&mut c, own), [["program_name", "test", "0"], ["x", "y", "1"]]);
    let mut long = with(&"y".repeat(600));
    assert_eq!(rows(&mut long, own), [["program_name", "test", "0"], ["_truncated", "603", "1"]]);
    assert_eq!(
        rows(
            &mut r.connect(),
            "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE ATTR_NAME = 'program_name'"
        ),
        [["2"]]
    );
}

#[test]
fn attributes_of_queries_can_be_read() {
    let r = Running::start();
    let options = Options { capabilities: cap::QUERY_ATTRIBUTES, ..options() };
    let mut c = Connection::connect(&r.socket(), &options).unwrap();
    let read = "SELECT mysql_query_attribute_string('a'), mysql_query_attribute_string('n'), \
                MYSQL_QUERY_ATTRIBUTE_STRING(CONCAT('', 'z')), mysql_query_attribute_string('none')";
    let mut ask = |attributes: &[(&str, Arg<'_>)]| {
        let result = c.query_with(attributes, read.as_bytes()).unwrap().swap_remove(0);
        result.texts().remove(0).join("|")
    };
    // The same text each time: the plan is kept, the attributes are not.
    assert_eq!(ask(&[("a", Arg::Text("é")), ("n", Arg::Int(-7)), ("z", Arg::Null)]), "é|-7|NULL|NULL");
    assert_eq!(ask(&[]), "NULL|NULL|NULL|NULL");
    assert_eq!(ask(&[("a", Arg::Double(1.5)), ("a", Arg::Text("second")), ("z", Arg::Bytes(b"b"))]), "1.5|NULL|b|NULL");
    assert_eq!(ask(&[]), "NULL|NULL|NULL|NULL");
    // Without the capability there are none.
    assert_eq!(rows(&mut r.connect(), "SELECT mysql_query_attribute_string('a')"), [["NULL"]]);
    // Names are compared as texts.
    assert_eq!(
        ask(&[("N", Arg::Text("1")), ("Z", Arg::Text("2")), ("á", Arg::Text("3")), ("", Arg::Int(4))]),
        "3|1|2|NULL"
    );
    // EXECUTE: a parameter with a name is an attribute, too.
    let s = c.prepare("SELECT mysql_query_attribute_string('p'), ? + 1").unwrap();
    let mut body = s.id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0, 1, 0, 1, 0xFE, 0, 1, b'p', 2, b'4', b'1']);
    c.command(com::STMT_EXECUTE, &body).unwrap();
    let packets: Vec<Vec<u8>> = (0..5).map(|_| c.receive().unwrap()).collect();
    assert!(packets.iter().any(|p| p.starts_with(b"\0\0\x0241")), "{packets:?}");
    // Fewer parameters than the statement has, and no types.
    for (sent, function) in [(&[0][..], "COM_STMT_EXECUTE"), (&[1, 0, 0], "mysqld_stmt_execute")] {
        let s = c.prepare("SELECT ?").unwrap();
        let body = [&s.id.to_le_bytes()[..], &[0, 1, 0, 0, 0], sent].concat();
        c.command(com::STMT_EXECUTE, &body).unwrap();
        let e = c.receive().unwrap_err();
        assert_eq!((e.code(), e.to_string().contains(function)), (Some(1210), true), "{e}");
    }
    // The types are there with every flag but 0.
    let odd =
        [&[1, 1, 0, 2, 0xFE, 0, 1, b'a', 2, b'o', b'k'][..], b"SELECT mysql_query_attribute_string('a')"].concat();
    c.command(com::QUERY, &odd).unwrap();
    let packets: Vec<Vec<u8>> = (0..4).map(|_| c.receive().unwrap()).collect();
    assert!(packets.iter().any(|p| p == b"\x02ok"), "{packets:?}");
    // EXECUTE: no parameters, one attribute.
    let s = c.prepare("SELECT mysql_query_attribute_string('a')").unwrap();
    let mut body = s.id.to_le_bytes().to_vec();
    body.extend([8, 1, 0, 0, 0, 1, 0, 1, 0xFE, 0, 1, b'a', 2, b'o', b'k']);
    c.command(com::STMT_EXECUTE, &body).unwrap();
    let packets: Vec<Vec<u8>> = (0..4).map(|_| c.receive().unwrap()).collect();
    assert!(packets.iter().any(|p| p.ends_with(b"\x02ok")), "{packets:?}");
    // What does not fit together is refused, and the connection goes on.
    for bad in [&[0xFC, 0xFF, 0xFF, 1][..], &[1, 0, b'S'], &[1, 1, 0], &[1, 1, 0, 1, 0xFE, 0, 9, b'a'], &[1, 1, 0, 0]] {
        c.command(com::QUERY, bad).unwrap();
        assert_eq!(c.receive().unwrap_err().code(), Some(1835), "{bad:?}");
        assert_eq!(c.query("SELECT 1").unwrap().rows.len(), 1);
    }
    let dates = [&[1, 1, 0, 1, 12, 0, 1, b'a', 4, 0xFF, 0xFF, 13, 40][..], b"SELECT 1"].concat();
    c.command(com::QUERY, &dates).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1210), "no such date");
    assert_eq!(c.query("SELECT 1").unwrap().rows.len(), 1);
}

/// SERVER_QUERY_NO_INDEX_USED is told of the statement that read a whole table, and of no other.
#[test]
fn whole_tables_that_are_read_are_told() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE whole");
    run(&mut c, "CREATE TABLE whole.t (a INT PRIMARY KEY, b INT)");
    run(&mut c, "INSERT INTO whole.t VALUES (1, 1)");
    let mut told = |sql: &str, packets: usize| {
        c.command(com::QUERY, sql.as_bytes()).unwrap();
        let last = (0..packets).map(|_| c.receive().unwrap()).last().unwrap();
        // Behind the kind and two lengths that are 0 or 1.
        u16::from_le_bytes([last[3], last[4]]) & 1 << 5 != 0
    };
    for (sql, packets, scans) in [
        ("SELECT b FROM whole.t", 4, true),
        ("SELECT 1", 4, false),
        ("SELECT b FROM whole.t WHERE b = 1", 4, true),
        ("SET @a = 1", 1, false),
        ("UPDATE whole.t SET b = 2 WHERE b = 1", 1, true),
        ("UPDATE whole.t SET b = 1 WHERE a = 1", 1, false),
        ("SELECT b FROM whole.t WHERE a = 1", 4, false),
    ] {
        assert_eq!(told(sql, packets), scans, "{sql}");
    }
}
