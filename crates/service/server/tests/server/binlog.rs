//! The binary log: what is in it, over restarts too, and who reads it over a connection.

use crate::common::{self, Running, error, options, run};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error as ClientFault, Options};
use gannet_wire::flags::com;

fn logged() -> Running {
    Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)))
}

/// Rows, their values joined by `|`.
fn rows(c: &mut Connection, sql: &str) -> Vec<String> {
    common::rows(c, sql).iter().map(|r| r.join("|")).collect()
}

/// Kinds and infos of a file's events, with the server's uuid as `U`.
fn events(c: &mut Connection, file: &str) -> Vec<String> {
    let uuid = rows(c, "SELECT @@server_uuid")[0].clone();
    let shown = c.query(&format!("SHOW BINLOG EVENTS IN '{file}'")).unwrap().texts();
    shown.iter().map(|r| format!("{} {}", r[2], r[5]).replace(&uuid, "U")).collect()
}

#[test]
fn what_commits_is_there_and_nothing_else() {
    let mut r = logged();
    let mut c = r.connect();
    assert_eq!(rows(&mut c, "SELECT @@log_bin, @@gtid_mode, @@gtid_executed"), ["1|ON|"]);
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))");
    run(&mut c, "CREATE TEMPORARY TABLE tt (a INT)");
    run(&mut c, "INSERT INTO tt VALUES (1)");
    run(&mut c, "INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    assert_eq!(error(&mut c, "INSERT INTO t VALUES (3, 'z'), (1, 'x')"), 1062);
    run(&mut c, "BEGIN");
    assert_eq!(error(&mut c, "SET sql_log_bin = 0"), 1694);
    for sql in ["INSERT INTO t VALUES (4, '')", "ROLLBACK", "SET sql_log_bin = 0", "DELETE FROM t WHERE a = 2"] {
        run(&mut c, sql);
    }
    run(&mut c, "SET sql_log_bin = 1, binlog_rows_query_log_events = 1");
    for sql in ["BEGIN", "UPDATE t SET b = 'q'", "SAVEPOINT s", "DELETE FROM t", "ROLLBACK TO s"] {
        run(&mut c, sql);
    }
    run(&mut c, "INSERT INTO t VALUES (5, NULL)");
    run(&mut c, "COMMIT");
    let table: String = rows(&mut c, "SHOW BINLOG EVENTS IN 'binlog.000001' FROM 4")
        .iter()
        .find_map(|e| e.split_once("table_id: ").and_then(|(_, rest)| Some(rest.split_once(' ')?.0.to_owned())))
        .unwrap();
    let want = [
        "Format_desc Server ver: 8.4.0-gannet, Binlog ver: 4",
        "Previous_gtids ",
        "Gtid SET @@SESSION.GTID_NEXT= 'U:1'",
        "Query CREATE DATABASE d",
        "Gtid SET @@SESSION.GTID_NEXT= 'U:2'",
        "Query use `d`; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))",
        "Gtid SET @@SESSION.GTID_NEXT= 'U:3'",
        "Query BEGIN",
        "Table_map table_id: T (d.t)",
        "Write_rows table_id: T flags: STMT_END_F",
        "Xid COMMIT",
        "Gtid SET @@SESSION.GTID_NEXT= 'U:4'",
        "Query BEGIN",
        "Rows_query # UPDATE t SET b = 'q'",
        "Table_map table_id: T (d.t)",
        "Update_rows table_id: T flags: STMT_END_F",
        "Rows_query # INSERT INTO t VALUES (5, NULL)",
        "Table_map table_id: T (d.t)",
        "Write_rows table_id: T flags: STMT_END_F",
        "Xid COMMIT",
    ];
    let got = |c: &mut Connection| -> Vec<String> {
        let all = events(c, "binlog.000001");
        let short = |e: &String| e.replace(&format!("table_id: {table} "), "table_id: T ");
        all.iter().map(short).map(|e| e.split(" /* xid").next().unwrap().to_owned()).collect()
    };
    assert_eq!(got(&mut c), want);
    assert!(rows(&mut c, "SELECT @@gtid_executed")[0].ends_with(":1-4"));
    run(&mut c, "FLUSH BINARY LOGS");
    assert_eq!(events(&mut c, "binlog.000002")[1], "Previous_gtids U:1-4");
    drop(c);
    r.restart();
    let mut c = r.connect();
    assert_eq!(got(&mut c)[..want.len()], want);
    assert_eq!(events(&mut c, "binlog.000002").last().unwrap(), "Stop ");
    run(&mut c, "DELETE FROM d.t");
    assert!(rows(&mut c, "SHOW BINARY LOG STATUS")[0].starts_with("binlog.000003|"));
    assert!(rows(&mut c, "SELECT @@gtid_executed")[0].ends_with(":1-5"));
    run(&mut c, "PURGE BINARY LOGS TO 'binlog.000003'");
    assert_eq!(rows(&mut c, "SHOW BINARY LOGS").len(), 1);
    assert!(rows(&mut c, "SELECT @@gtid_purged")[0].ends_with(":1-4"));
    assert_eq!(error(&mut c, "PURGE BINARY LOGS TO 'binlog.000001'"), 1373);
    assert_eq!(error(&mut c, "SHOW BINLOG EVENTS IN 'binlog.000001'"), 1220);
    assert_eq!(error(&mut c, "CREATE TABLE d.u SELECT 1"), 1786);
    assert_eq!(error(&mut c, "SET GLOBAL gtid_mode = OFF"), 1235);
}

/// The packets of a dump that ends with the log: events, or the error.
fn dump(r: &Running, command: u8, body: &[u8]) -> Result<Vec<Vec<u8>>, u16> {
    let mut c = r.connect();
    run(&mut c, "SET @source_binlog_checksum = 'CRC32'");
    c.command(command, body).unwrap();
    let mut all = Vec::new();
    loop {
        let packet = match c.receive() {
            Err(ClientFault::Server { code, .. }) => return Err(code),
            other => other.unwrap(),
        };
        match packet[0] {
            0 => all.push(packet[1..].to_vec()),
            0xFE => return Ok(all),
            _ => return Err(u16::from_le_bytes([packet[1], packet[2]])),
        }
    }
}

fn by_position(file: &str, position: u32) -> Vec<u8> {
    let mut body = position.to_le_bytes().to_vec();
    body.extend_from_slice(&[1, 0, 77, 0, 0, 0]);
    body.extend_from_slice(file.as_bytes());
    body
}

#[test]
fn readers_get_the_bytes_of_the_files() {
    let r = logged();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b LONGTEXT)");
    run(&mut c, "INSERT INTO d.t VALUES (1, REPEAT('x', 700000)), (2, '')");
    run(&mut c, "FLUSH BINARY LOGS");
    run(&mut c, "INSERT INTO d.t VALUES (3, '')");
    run(&mut c, "SHOW BINARY LOG STATUS");
    let files = ["binlog.000001", "binlog.000002"].map(|f| std::fs::read(r.dir.join(f)).unwrap());
    let got = dump(&r, com::BINLOG_DUMP, &by_position("binlog.000001", 4)).unwrap();
    // A rotation to the file comes before each.
    let kinds: Vec<u8> = got.iter().map(|e| e[4]).collect();
    assert_eq!((kinds[0], &kinds[1..3]), (4, &[15, 35][..]));
    let second = kinds.iter().skip(2).position(|k| *k == 15).unwrap() + 2;
    assert_eq!(got[1..second - 1].concat(), files[0][4..]);
    let mut last = got[second..].concat();
    // The file says that it is open.
    last[17] = files[1][21];
    assert_eq!(last, files[1][4..]);
    for (file, position) in [("binlog.000009", 4), ("binlog.000001", 3), ("binlog.000001", 4_000_000_000)] {
        assert_eq!(dump(&r, com::BINLOG_DUMP, &by_position(file, position)), Err(1236), "{file} {position}");
    }
    // By GTIDs: what the reader has is left out.
    let uuid = rows(&mut c, "SELECT HEX(UUID_TO_BIN(@@server_uuid))")[0].clone();
    let uuid: Vec<u8> = (0..16).map(|i| u8::from_str_radix(&uuid[2 * i..2 * i + 2], 16).unwrap()).collect();
    let having = |upto: u64| {
        let mut set = 1u64.to_le_bytes().to_vec();
        set.extend_from_slice(&uuid);
        for n in [1, 1, upto] {
            set.extend_from_slice(&u64::to_le_bytes(n));
        }
        let mut body = vec![1, 0, 77, 0, 0, 0, 0, 0, 0, 0];
        body.extend_from_slice(&4u64.to_le_bytes());
        body.extend_from_slice(&(set.len() as u32).to_le_bytes());
        [body, set].concat()
    };
    let kinds = |upto| -> Vec<u8> {
        dump(&r, com::BINLOG_DUMP_GTID, &having(upto)).unwrap().iter().map(|e| e[4]).filter(|k| *k == 33).collect()
    };
    assert_eq!([2, 3, 4, 5].map(|upto| kinds(upto).len()), [3, 2, 1, 0]);
    assert_eq!(dump(&r, com::BINLOG_DUMP_GTID, &having(99)), Err(1236));
    run(&mut c, "CREATE USER u");
    let mut u = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    u.command(com::BINLOG_DUMP, &by_position("binlog.000001", 4)).unwrap();
    assert!(matches!(u.receive(), Err(ClientFault::Server { code: 1227, .. })));
}
