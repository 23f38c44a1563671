//! A log of statements: what MariaDB logs as MIXED, and a MySQL 5.6 by default.

use crate::common::{self, one, run};
use crate::relay::{self, received};
use crate::replica::{source, status, without_log};
use crate::replica_mariadb::{last_log, receiver};
use gannet_binlog::event::{Appender, HEADER, kind};
use gannet_binlog::query::{Query, Settings};
use gannet_binlog::{Checksum, Header};
use gannet_wire::client::Connection;

type Made = (u8, Vec<u8>);

/// A statement of a connection, which ended with an error there.
fn statement(connection: u32, error: u16, text: &str) -> Made {
    let mut body = Vec::new();
    let query = Query {
        thread_id: connection,
        seconds: 0,
        error,
        schema: b"d",
        settings: Settings::default(),
        text: text.as_bytes(),
    };
    query.encode(&mut body);
    (kind::QUERY, body)
}

fn integer(which: u8, value: u64) -> Made {
    (kind::INTVAR, [&[which][..], &value.to_le_bytes()].concat())
}

fn variable(name: &str, value: &[u8]) -> Made {
    (kind::USER_VAR, [&(name.len() as u32).to_le_bytes(), name.as_bytes(), value].concat())
}

/// LOAD DATA of a file, whose name stands in the text from LOCAL or INFILE to INTO.
fn load(duplicates: u8, text: &str) -> Made {
    let (kind, mut body) = (kind::EXECUTE_LOAD_QUERY, statement(1, 0, text).1);
    let start = text.find(" LOCAL").or(text.find(" INFILE")).unwrap() as u32;
    let end = text.find("INTO").unwrap() as u32 + 4;
    let places = [7, start, end].map(u32::to_le_bytes).concat();
    body.splice(13..13, [&places[..], &[duplicates]].concat());
    (kind, body)
}

/// The last transaction that was received has these events between BEGIN and COMMIT.
fn instead(q: &mut Connection, events: &[Made]) {
    let (file, shown) = last_log(q);
    let mut bytes = std::fs::read(&file).unwrap();
    let map = shown.iter().rposition(|row| row[2] == "Table_map").unwrap();
    let place = |i: usize| shown[i][1].parse::<usize>().unwrap();
    let (at, upto) = (place(map), place(map + 2));
    let mut appender = Appender { server_id: 1, checksum: Checksum::Crc32, position: 0 };
    let mut out = Vec::new();
    for (kind, body) in events {
        appender.at(&mut out, Header { kind: *kind, ..Header::default() }, |out| out.extend_from_slice(body));
    }
    let left = upto - at - out.len() - HEADER - Checksum::Crc32.bytes();
    appender.at(&mut out, Header { kind: kind::IGNORABLE, ..Header::default() }, |out| out.resize(out.len() + left, 0));
    bytes[at..upto].copy_from_slice(&out);
    std::fs::write(file, bytes).unwrap();
}

const DEFINITIONS: [&str; 6] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.room (a LONGTEXT)",
    "CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100))",
    "CREATE TABLE d.l (a INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    "CREATE FUNCTION d.f (x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO d.l (v) VALUES (x); RETURN x; END",
    "INSERT INTO d.room VALUES (REPEAT('x', 10000))",
];

#[test]
fn statements_have_what_they_had_of_their_session() {
    let s = source();
    let mut c = s.connect();
    for workers in [4, 0] {
        let (_following, mut q) = receiver(&s, &mut c, without_log, workers);
        run(&mut q, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = (d.no)");
        DEFINITIONS.iter().for_each(|sql| run(&mut c, sql));
        received(&mut c, &mut q);
        instead(
            &mut q,
            &[
                variable("v", b"\0\x00\xFF\0\0\0\x02\0\0\0\xC3\xA9"),
                integer(2, 100),
                statement(1, 0, "INSERT INTO t (v) VALUES (@v), (CHARSET(@v))"),
                integer(1, 55),
                statement(1, 0, "INSERT INTO t VALUES (LAST_INSERT_ID(), 'last')"),
                (kind::RAND, [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat()),
                statement(1, 0, "INSERT INTO t VALUES (1, RAND() * 1e12)"),
                // The first value that is generated is the function's.
                integer(2, 30),
                statement(1, 0, "INSERT INTO t (v) VALUES (f(8))"),
                // Left out with what was for it.
                integer(2, 500),
                statement(1, 0, "INSERT INTO no VALUES (NULL)"),
                statement(1, 0, "INSERT INTO t (v) VALUES ('behind')"),
                // Tables of two connections.
                statement(1, 0, "CREATE TEMPORARY TABLE w SELECT 'of 1' AS a"),
                statement(2, 0, "CREATE TEMPORARY TABLE w SELECT 'of 2' AS a"),
                statement(1, 0, "INSERT INTO t SELECT 201, a FROM w"),
                statement(2, 0, "INSERT INTO t SELECT 202, a FROM w"),
                // It failed there, too.
                statement(1, 1062, "INSERT INTO t VALUES (1, 'twice')"),
                (kind::BEGIN_LOAD_QUERY, b"\x07\0\0\x003,one\n1,".to_vec()),
                (kind::APPEND_BLOCK, b"\x07\0\0\x00two\n".to_vec()),
                load(2, "LOAD DATA LOCAL INFILE '/gone' INTO TABLE t FIELDS TERMINATED BY ','"),
            ],
        );
        run(&mut q, "START REPLICA SQL_THREAD");
        relay::wait(&mut q, "Exec_Source_Log_Pos", &common::rows(&mut c, "SHOW BINARY LOG STATUS")[0][1]);
        run(&mut q, "STOP REPLICA");
        assert_eq!(status(&mut q, "Last_SQL_Error"), "");
        let rows = common::rows(&mut q, "SELECT CONCAT(a, ' ', v) FROM d.t ORDER BY a").concat();
        assert_eq!(
            rows,
            ["1 two", "3 one", "55 last", "100 é", "101 utf8mb4", "102 8", "103 behind", "201 of 1", "202 of 2"]
        );
        assert_eq!(common::rows(&mut q, "SELECT a, v FROM d.l"), [["30", "8"]]);
        assert_eq!(common::rows(&mut q, "SELECT * FROM d.room"), [[""; 0]; 0]);
        run(&mut c, "DROP DATABASE d");
        run(&mut c, "FLUSH BINARY LOGS");
    }
}

/// Temporary tables are there behind a stop, as they were before a transaction that comes again, until RESET REPLICA.
#[test]
fn temporary_tables_outlive_a_stop() {
    let s = source();
    let mut c = s.connect();
    for workers in [4, 0] {
        let (_following, mut q) = receiver(&s, &mut c, without_log, workers);
        DEFINITIONS.iter().for_each(|sql| run(&mut c, sql));
        let open = |q: &mut Connection| common::rows(q, "SHOW STATUS LIKE '%_open_temp_tables'").concat().join(" ");
        let shown = |n: u32| format!("Replica_open_temp_tables {n} Slave_open_temp_tables {n}");
        // Statements in the place of a transaction, which are applied up to a stop.
        let apply = |c: &mut Connection, q: &mut Connection, events: &[Made]| {
            received(c, q);
            instead(q, events);
            run(q, "START REPLICA SQL_THREAD");
            relay::wait(q, "Exec_Source_Log_Pos", &common::rows(c, "SHOW BINARY LOG STATUS")[0][1]);
            run(q, "STOP REPLICA SQL_THREAD");
            assert_eq!(status(q, "Last_SQL_Error"), "");
        };
        let made = [
            statement(1, 0, "CREATE TEMPORARY TABLE w SELECT 'of 1' AS a"),
            statement(2, 0, "CREATE TEMPORARY TABLE w SELECT 'of 2' AS a"),
            statement(2, 0, "INSERT INTO w VALUES ('more')"),
        ];
        apply(&mut c, &mut q, &made);
        assert_eq!(open(&mut q), shown(2));
        run(&mut c, "INSERT INTO d.room VALUES (REPEAT('x', 10000))");
        let used = [
            statement(1, 0, "INSERT INTO t SELECT 201, a FROM w"),
            statement(2, 0, "INSERT INTO t SELECT 202, GROUP_CONCAT(a) FROM w"),
            statement(2, 0, "DROP TEMPORARY TABLE w"),
        ];
        apply(&mut c, &mut q, &used);
        assert_eq!(open(&mut q), shown(1));
        // A transaction that fails behind them.
        run(&mut c, "INSERT INTO d.room VALUES (REPEAT('x', 10000))");
        received(&mut c, &mut q);
        let file = last_log(&mut q).0;
        let bytes = std::fs::read(&file).unwrap();
        let failing = [
            statement(1, 0, "INSERT INTO w VALUES ('lost')"),
            statement(1, 0, "DROP TEMPORARY TABLE w"),
            statement(1, 0, "CREATE TEMPORARY TABLE x (a INT)"),
            statement(3, 0, "CREATE TEMPORARY TABLE w (b INT)"),
            statement(1, 0, "INSERT INTO t VALUES (1)"),
        ];
        instead(&mut q, &failing);
        run(&mut q, "START REPLICA SQL_THREAD");
        relay::wait(&mut q, "Last_SQL_Errno", "1136");
        assert_eq!(open(&mut q), shown(1));
        std::fs::write(&file, bytes).unwrap();
        let again = [
            statement(1, 0, "INSERT INTO t SELECT 203, GROUP_CONCAT(a) FROM w"),
            statement(1, 0, "DROP TEMPORARY TABLE w"),
            statement(1, 0, "CREATE TEMPORARY TABLE x (a INT)"),
            statement(3, 0, "CREATE TEMPORARY TABLE w (b INT)"),
        ];
        apply(&mut c, &mut q, &again);
        assert_eq!(open(&mut q), shown(2));
        let rows = common::rows(&mut q, "SELECT CONCAT(a, ' ', v) FROM d.t ORDER BY a").concat();
        assert_eq!(rows, ["201 of 1", "202 of 2,more", "203 of 1"]);
        run(&mut q, "STOP REPLICA");
        run(&mut q, "RESET REPLICA");
        assert_eq!(open(&mut q), shown(0));
        run(&mut c, "DROP DATABASE d");
        run(&mut c, "FLUSH BINARY LOGS");
    }
}

/// Errors of a statement that ends otherwise, and of a file that lacks a part.
#[test]
fn statements_end_as_at_their_server() {
    let s = source();
    let mut c = s.connect();
    let file = "LOAD DATA INFILE 'f' INTO TABLE t";
    for (events, number) in [
        (vec![statement(1, 1062, "INSERT INTO t VALUES (1, 'once')")], "3002"),
        (vec![statement(1, 1364, "INSERT INTO t VALUES (1, 'a'), (1, 'b')")], "3002"),
        (vec![statement(1, 1317, "UPDATE t SET v = SLEEP(1)")], "3001"),
        (vec![load(0, file)], "13121"),
        (vec![(kind::APPEND_BLOCK, b"\x07\0\0\x00x".to_vec())], "13121"),
        (vec![variable("v", b"\0\x03")], "13121"),
    ] {
        let (_following, mut q) = receiver(&s, &mut c, without_log, 4);
        DEFINITIONS.iter().for_each(|sql| run(&mut c, sql));
        received(&mut c, &mut q);
        instead(&mut q, &events);
        run(&mut q, "START REPLICA SQL_THREAD");
        relay::wait(&mut q, "Replica_SQL_Running", "No");
        assert_eq!(status(&mut q, "Last_SQL_Errno"), number, "{}", status(&mut q, "Last_SQL_Error"));
        assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "0");
        run(&mut q, "STOP REPLICA");
        run(&mut c, "DROP DATABASE d");
        run(&mut c, "FLUSH BINARY LOGS");
    }
}
