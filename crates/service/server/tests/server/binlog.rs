//! The binary log: what is in it, over restarts too, and who reads it over a connection.

use crate::common::{self, Running, error, options, run};
use gannet_binlog::format::Gtid;
use gannet_binlog::query::Query;
use gannet_binlog::{Checksum, Event};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error as ClientFault, Options};
use gannet_wire::flags::{cap, com};

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
    assert_eq!(error(&mut c, "SET GLOBAL gtid_mode = OFF"), 1235);
}

/// A stop does not wait for a disk that takes nothing.
#[test]
fn a_stop_leaves_what_cannot_be_written() {
    let elsewhere = || std::env::temp_dir().join(format!("gannet-elsewhere-{}", std::process::id()));
    std::fs::create_dir_all(elsewhere()).unwrap();
    let r = Running::configured(|o| {
        let base = std::env::temp_dir().join(format!("gannet-elsewhere-{}/b", std::process::id()));
        o.set(Live::LogBin, VarValue::bool(true));
        o.set(Live::LogBinBasename, VarValue::text(base.to_str().unwrap()));
    });
    run(&mut r.connect(), "CREATE DATABASE d");
    std::fs::remove_dir_all(elsewhere()).unwrap();
    run(&mut r.connect(), "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut r.connect(), "INSERT INTO d.t VALUES (1)");
    let begun = std::time::Instant::now();
    drop(r);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

/// The packets of a dump that ends with the log: events, or the error.
fn dump(r: &Running, command: u8, body: &[u8]) -> Result<Vec<Vec<u8>>, u16> {
    dump_with(r, "'CRC32'", command, body)
}

/// The same for a reader that says this of checksums.
fn dump_with(r: &Running, checksum: &str, command: u8, body: &[u8]) -> Result<Vec<Vec<u8>>, u16> {
    let mut c = r.connect();
    run(&mut c, &format!("SET @source_binlog_checksum = {checksum}"));
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
    // Whoever knows of checksums reads the description: what is in a file comes as it is there, as from MySQL.
    let mut other = dump_with(&r, "'NONE'", com::BINLOG_DUMP, &by_position("binlog.000001", 4)).unwrap();
    assert_eq!(other[0].len() + 4, got[0].len());
    assert_eq!(other.split_off(1), got[1..]);
    let unaware = dump_with(&r, "NULL", com::BINLOG_DUMP, &by_position("binlog.000001", 4));
    assert_eq!(unaware, Err(1236));
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

/// A restore to a point in time goes by the times of events.
#[test]
fn events_have_the_time_of_their_statement() {
    let r = logged();
    let statements = [
        "CREATE USER u IDENTIFIED BY 'x'",
        "GRANT SELECT ON *.* TO u",
        "ALTER USER u PASSWORD EXPIRE",
        "SET PASSWORD FOR u = 'y'",
        "REVOKE SELECT ON *.* FROM u",
        "DROP USER u",
        "CREATE ROLE r",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "CREATE VIEW d.v AS SELECT 1",
        "CREATE PROCEDURE d.p() SELECT 1",
        "INSERT INTO d.t VALUES (1)",
        "TRUNCATE d.t",
        "XA START 'x'; INSERT INTO d.t VALUES (2); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'",
        "ANALYZE TABLE d.t",
        "DROP DATABASE d",
    ];
    // Each in a session of its own, which has run nothing before.
    for (i, statement) in statements.iter().enumerate() {
        let mut c = r.connect();
        run(&mut c, &format!("SET timestamp = {}", 1_000_000_000 + i));
        statement.split("; ").for_each(|sql| run(&mut c, sql));
    }
    let got = dump(&r, com::BINLOG_DUMP, &by_position("binlog.000001", 4)).unwrap();
    let time = |e: &Vec<u8>| u32::from_le_bytes([e[0], e[1], e[2], e[3]]);
    // The end of a transaction of rows has the time of its commit.
    let of_statements = got.iter().filter(|e| matches!(e[4], 2 | 33));
    for e in of_statements.clone() {
        let text = String::from_utf8_lossy(e);
        assert!((1_000_000_000..1_000_000_020).contains(&time(e)), "{} {}: {text}", e[4], time(e));
    }
    assert!(of_statements.count() > 30, "{} events", got.len());
    assert!(got.iter().map(time).filter(|t| *t > 0).max() > Some(1_000_000_019), "the description has the time of now");
}

/// The events of the first file from `from` on, with tables by name instead of numbers.
fn named(c: &mut Connection, from: usize) -> Vec<String> {
    let mut tables = std::collections::HashMap::new();
    let mut out = Vec::new();
    for event in events(c, "binlog.000001") {
        let event = event.split(" /* xid").next().unwrap().to_owned();
        let Some((kind, rest)) = event.split_once(" table_id: ") else {
            out.push(event);
            continue;
        };
        let (id, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if kind == "Table_map" {
            tables.insert(id.to_owned(), rest.to_owned());
        } else {
            out.push(format!("{kind} {} {rest}", tables[id]).trim_end().to_owned());
        }
    }
    out.split_off(from)
}

#[test]
fn what_functions_and_triggers_change_is_of_their_statement() {
    let r = logged();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
        "CREATE TABLE u (n INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(20))",
        "CREATE TABLE v (a INT PRIMARY KEY)",
        "CREATE TRIGGER t1 BEFORE INSERT ON t FOR EACH ROW INSERT INTO u (w) VALUES (CONCAT('b', NEW.a))",
        "CREATE TRIGGER t2 AFTER INSERT ON t FOR EACH ROW INSERT INTO u (w) VALUES (CONCAT('a', NEW.a))",
        "CREATE TRIGGER t3 AFTER INSERT ON u FOR EACH ROW INSERT INTO v VALUES (NEW.n)",
        "SET GLOBAL log_bin_trust_function_creators = 1",
        "CREATE FUNCTION f(x INT) RETURNS INT BEGIN INSERT INTO t VALUES (x, 0); RETURN x; END",
        "CREATE PROCEDURE p() BEGIN CREATE TABLE q (a INT); INSERT INTO q VALUES (5); END",
    ] {
        run(&mut c, sql);
    }
    let from = named(&mut c, 0).len();
    run(&mut c, "INSERT INTO t VALUES (1, 1)");
    assert_eq!(error(&mut c, "INSERT INTO t VALUES (2, 2), (1, 1)"), 1062);
    run(&mut c, "SELECT f(3)");
    run(&mut c, "SET sql_log_bin = 0");
    run(&mut c, "SELECT f(4)");
    run(&mut c, "SET sql_log_bin = 1");
    run(&mut c, "CALL p()");
    let rows = |table: &str| format!("Write_rows ({table}) flags: STMT_END_F");
    let group = |tables: &[&str]| {
        let all = tables.iter().map(|t| rows(t));
        ["Query BEGIN".to_owned()].into_iter().chain(all).chain(["Xid COMMIT".to_owned()]).collect::<Vec<_>>()
    };
    let one = ["d.u", "d.v", "d.t", "d.u", "d.v"];
    let mut want = [group(&one), group(&one)].concat();
    want.push("Query use `d`; create table `q` (`a` int)".to_owned());
    want.extend(group(&["d.q"]));
    let got: Vec<String> = named(&mut c, from).into_iter().filter(|e| !e.starts_with("Gtid")).collect();
    assert_eq!(got, want);
    assert_eq!(self::rows(&mut c, "SELECT GROUP_CONCAT(w ORDER BY n) FROM u"), ["b1,a1,b3,a3,b4,a4"]);
}

/// Functions say what they do, and who makes them or triggers has SUPER, unless the server trusts everybody.
#[test]
fn functions_are_made_by_those_who_are_trusted() {
    let r = logged();
    let mut c = r.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "CREATE USER u"] {
        run(&mut c, sql);
    }
    run(&mut c, "GRANT CREATE ROUTINE, TRIGGER ON d.* TO u");
    let mut u = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    let (untold, told) =
        ("CREATE FUNCTION d.f() RETURNS INT RETURN 1", "CREATE FUNCTION d.g() RETURNS INT NO SQL RETURN 1");
    let trigger = "CREATE TRIGGER d.made BEFORE INSERT ON d.t FOR EACH ROW SET @a = 1";
    assert_eq!((error(&mut c, untold), error(&mut u, untold)), (1418, 1418));
    assert_eq!((error(&mut u, told), error(&mut u, trigger)), (1419, 1419));
    for sql in [told, "DROP FUNCTION d.g", "SET GLOBAL log_bin_trust_function_creators = ON"] {
        run(&mut c, sql);
    }
    for sql in [untold, told, trigger] {
        run(&mut u, sql);
    }
}

#[test]
fn branches_tables_of_rows_and_passwords() {
    let mut r = logged();
    let mut c = r.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY)"] {
        run(&mut c, sql);
    }
    let from = named(&mut c, 0).len();
    for sql in [
        "XA START 'x'",
        "INSERT INTO t VALUES (1)",
        "XA END 'x'",
        "XA PREPARE 'x'",
        // Nothing in it, nothing of it.
        "XA START 'e'",
        "XA END 'e'",
        "XA PREPARE 'e'",
        "XA COMMIT 'e'",
        "XA START 'y', 'q', 7",
        "INSERT INTO t VALUES (2)",
        "XA END 'y', 'q', 7",
        "XA PREPARE 'y', 'q', 7",
        "XA ROLLBACK 'y', 'q', 7",
        "XA START 'z'",
        "INSERT INTO t VALUES (3)",
        "XA END 'z'",
        "XA COMMIT 'z' ONE PHASE",
    ] {
        run(&mut c, sql);
    }
    drop(c);
    r.restart();
    let mut c = r.connect();
    assert_eq!(rows(&mut c, "XA RECOVER"), ["1|1|0|x"]);
    run(&mut c, "XA COMMIT 'x'");
    assert_eq!(rows(&mut c, "SELECT a FROM d.t"), ["1", "3"]);
    let branch = |id: &str| {
        ["START", "END", "PREPARE"].map(|verb| match verb {
            "PREPARE" => format!("XA_prepare XA {verb} {id}"),
            _ => format!("Query use `d`; XA {verb} {id}"),
        })
    };
    let (x, y) = ("X'78',X'',1", "X'79',X'71',7");
    let rows_of_t = "Write_rows (d.t) flags: STMT_END_F".to_owned();
    let mut want = Vec::new();
    for [start, end, prepare] in [branch(x), branch(y)] {
        want.extend([start, rows_of_t.clone(), end, prepare]);
    }
    want.push(format!("Query use `d`; XA ROLLBACK {y}"));
    want.extend(["Query BEGIN".to_owned(), rows_of_t, "Xid COMMIT".to_owned(), "Stop ".to_owned()]);
    let got: Vec<String> = named(&mut c, from).into_iter().filter(|e| !e.starts_with("Gtid")).collect();
    assert_eq!(got, want);
    assert_eq!(events(&mut c, "binlog.000002").last().unwrap(), &format!("Query XA COMMIT {x}"));

    run(&mut c, "USE d");
    let next = |c: &mut Connection, sql: &str| -> Vec<String> {
        let before = events(c, "binlog.000002").len();
        run(c, sql);
        let mut all = events(c, "binlog.000002");
        all.split_off((before + 1).min(all.len()))
    };
    let made = next(&mut c, "CREATE TABLE m (b INT DEFAULT 7) SELECT a, 'x' AS s FROM t");
    assert_eq!(made[0], "Query BEGIN");
    assert!(
        made[1].starts_with("Query use `d`; CREATE TABLE `m` (\n  `b` int DEFAULT '7',\n  `a` int NOT NULL"),
        "{made:?}"
    );
    assert!(made[1].ends_with(" START TRANSACTION"), "{made:?}");
    assert_eq!(made.len(), 5, "{made:?}");
    assert!(made[3].starts_with("Write_rows") && made[4].starts_with("Xid"), "{made:?}");
    assert_eq!(next(&mut c, "CREATE TABLE IF NOT EXISTS m SELECT 1"), [""; 0]);
    // A table of another schema than the current one is told with it.
    run(&mut c, "CREATE DATABASE other");
    let made = next(&mut c, "CREATE TABLE other.m SELECT 1 AS a");
    assert!(made[1].starts_with("Query use `d`; CREATE TABLE `other`.`m` ("), "{made:?}");

    let told = next(&mut c, "CREATE USER u IDENTIFIED BY 'hush', w IDENTIFIED WITH mysql_native_password BY 'hush'");
    assert!(
        told[0].starts_with("Query use `d`; create user `u`@`%` identified with 'caching_sha2_password' as '$A$005$")
    );
    assert!(told[0].contains(",`w`@`%` identified with 'mysql_native_password' as '*"), "{told:?}");
    let told = [told, next(&mut c, "SET PASSWORD FOR u = 'hush'")].concat();
    assert!(
        told[1].starts_with("Query use `d`; alter user `u`@`%` identified with 'caching_sha2_password' as '$A$005$")
    );
    assert!(!told.concat().contains("hush"));
    // A text that only looks like one with a password.
    let body = "CREATE DEFINER=`root`@`localhost` PROCEDURE user() SELECT 'identified by', 'x' FROM t";
    assert_eq!(next(&mut c, body), [format!("Query use `d`; {body}")]);
}

/// The events of a file: kinds, bodies and bytes.
fn in_file(bytes: &[u8]) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let (mut out, mut rest) = (Vec::new(), &bytes[4..]);
    while let Some(e) = Event::first(rest, Checksum::Crc32).unwrap() {
        out.push((e.header.kind, e.body.to_vec(), e.bytes.to_vec()));
        rest = &rest[e.bytes.len()..];
    }
    out
}

fn binlog_statement(c: &mut Connection, event: &[u8]) -> String {
    let hex: String = event.iter().map(|b| format!("{b:02x}")).collect();
    let text = &rows(c, &format!("SELECT TO_BASE64(x'{hex}')"))[0];
    format!("BINLOG '\n{text}\n'")
}

/// Drops the database `d`, and does all that the events of a file say, with GTIDs of its own.
fn replay(c: &mut Connection, events: &[(u8, Vec<u8>, Vec<u8>)]) {
    run(c, "DROP DATABASE d");
    for (kind, body, bytes) in events {
        match *kind {
            15 | 19 | 30 | 31 | 32 | 40 => {
                let statement = binlog_statement(c, bytes);
                run(c, &statement);
            }
            16 => run(c, "COMMIT"),
            2 => {
                let query = Query::decode(body).unwrap();
                if !query.schema.is_empty() && rows(c, "SHOW DATABASES LIKE 'd'").len() == 1 {
                    run(c, "USE d");
                }
                run(c, std::str::from_utf8(query.text).unwrap());
            }
            33 => {
                let gtid = Gtid::decode(body).unwrap();
                run(c, &format!("SET gtid_next = '{}:{}'", gtid.uuid, gtid.number + 1000));
            }
            _ => {}
        }
    }
    run(c, "SET gtid_next = AUTOMATIC");
}

#[test]
fn what_mysqlbinlog_prints_is_done_again() {
    let r = logged();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) COLLATE utf8mb4_bin, c DECIMAL(20,5), d DATETIME(3), \
         e TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6), f ENUM('x','y'), g SET('p','q','r'), h BIT(10), i JSON, \
         j DOUBLE, k BIGINT UNSIGNED, l BLOB, m TIME(2), n YEAR, o DATE, p CHAR(5) CHARSET latin1, \
         q INT AS (a + 1) STORED, r FLOAT)",
        "CREATE TABLE u (a VARCHAR(5) COLLATE utf8mb4_bin, b TEXT, c DOUBLE)",
        "CREATE TABLE v (x INT NOT NULL, y TEXT, UNIQUE KEY (x))",
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES parent (a) ON DELETE CASCADE)",
        "CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(20))",
        "CREATE TRIGGER tg AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (w) VALUES (NEW.b)",
        "INSERT INTO t (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, r) VALUES \
         (0, 'a', -1.5, '2026-01-02 03:04:05.678', '2026-01-02 03:04:05.6', 'y', 'p,r', b'1010101010', \
          '{\"k\": [1, 2.5, null]}', 0.1, 18446744073709551615, x'00ff', '-12:34:56.78', 2026, '2026-02-03', 'é', 0.1), \
         (-7, 'A', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO u VALUES ('a', 'x', 1), ('A', 'x', 1), ('a', 'x', 1), (NULL, NULL, NULL)",
        "INSERT INTO v VALUES (1, 'one'), (2, 'two')",
        "CREATE TABLE w SELECT a, b FROM u",
        "UPDATE u SET c = 2 WHERE BINARY a = 'A'",
        "DELETE FROM u WHERE BINARY a = 'a' LIMIT 1",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
        "DELETE FROM parent WHERE a = 1",
        "UPDATE t SET b = 'changed', j = 2 WHERE a = 0",
        "SET binlog_row_image = 'MINIMAL'",
        "UPDATE t SET a = 3, l = 'long' WHERE a = -7",
        "UPDATE v SET y = 'deux' WHERE x = 2",
        "DELETE FROM v WHERE x = 1",
        "UPDATE u SET b = 'y' WHERE c = 2",
        "SET binlog_row_image = 'NOBLOB'",
        "UPDATE t SET h = 3, i = '[]' WHERE a = 3",
        "INSERT INTO t (a, b) VALUES (99, 'gone')",
        "DELETE FROM t WHERE a = 99",
        "SET binlog_row_image = 'FULL'",
        "FLUSH BINARY LOGS",
    ] {
        run(&mut c, sql);
    }
    let tables = ["t", "u", "v", "w", "parent", "child", "audit"];
    let sums = |c: &mut Connection| -> Vec<Vec<String>> {
        tables.iter().map(|t| rows(c, &format!("SELECT * FROM d.{t} ORDER BY 1"))).collect()
    };
    let before = sums(&mut c);
    let events = in_file(&std::fs::read(r.dir.join("binlog.000001")).unwrap());
    replay(&mut c, &events);
    assert_eq!(sums(&mut c), before);
    let executed = rows(&mut c, "SELECT @@gtid_executed");
    let groups = events.iter().filter(|e| e.0 == 33).count() as u64;
    assert!(executed[0].ends_with(&format!(":1001-{}", 1000 + groups)), "{executed:?}");
    // What is executed is passed over.
    let uuid = rows(&mut c, "SELECT @@server_uuid")[0].clone();
    run(&mut c, &format!("SET gtid_next = '{uuid}:1001'"));
    for sql in ["BEGIN", "INSERT INTO d.v VALUES (70, '')", "COMMIT"] {
        run(&mut c, sql);
    }
    assert_eq!(error(&mut c, "INSERT INTO d.v VALUES (71, '')"), 1837);
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert_eq!(rows(&mut c, "SELECT COUNT(*) FROM d.v WHERE x > 69"), ["0"]);
    // An empty transaction, and one that is rolled back.
    for sql in ["SET gtid_next = '{}:5000'", "BEGIN", "COMMIT", "SET gtid_next = '{}:5001'", "BEGIN", "ROLLBACK"] {
        run(&mut c, &sql.replace("{}", &uuid));
    }
    // Statements that are transactions by themselves and change nothing; one that only reads leaves the GTID to the next.
    let nothing = [
        "UPDATE d.v SET x = 1 WHERE x = -1",
        "DELETE FROM d.v WHERE x = -1",
        "INSERT IGNORE INTO d.v SELECT * FROM d.v WHERE x = -1",
    ];
    for (sql, number) in nothing.into_iter().zip(5001..) {
        let own = format!("{uuid}:{number}");
        run(&mut c, &format!("SET gtid_next = '{own}'"));
        let owner = rows(&mut c, "SELECT CONNECTION_ID()").remove(0);
        assert_eq!(rows(&mut c, "SELECT @@gtid_owned, @@global.gtid_owned"), [format!("{own}|{own}#{owner}")]);
        run(&mut c, "SELECT COUNT(*) FROM d.v");
        run(&mut c, sql);
        assert_eq!(rows(&mut c, "SELECT @@gtid_owned, @@global.gtid_owned"), ["|"]);
        assert_eq!(error(&mut c, sql), 1837);
    }
    assert_eq!(error(&mut c, "SET gtid_owned = ''"), 1238);
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert!(rows(&mut c, "SELECT @@gtid_executed")[0].ends_with(":5000-5003"));
    assert_eq!(error(&mut c, "SET gtid_next = 'x'"), 1774);

    let (description, map) = (&events[0].2, &events.iter().find(|e| e.0 == 19).unwrap().2);
    assert_eq!(error(&mut c, "BINLOG 'x'"), 1575);
    let mut other = r.connect();
    let statement = binlog_statement(&mut c, map);
    assert_eq!(error(&mut other, &statement), 1609);
    let statement = binlog_statement(&mut c, description);
    run(&mut other, &statement);
    let xid = &events.iter().find(|e| e.0 == 16).unwrap().2;
    let statement = binlog_statement(&mut c, xid);
    assert_eq!(error(&mut other, &statement), 1730);
    // A row that is not there.
    run(&mut c, "DELETE FROM d.v");
    let at = events.iter().rposition(|e| e.0 == 32).unwrap();
    run(&mut c, "DELETE FROM d.t");
    let together = [&events[at - 1].2[..], &events[at].2].concat();
    let statement = binlog_statement(&mut c, &together);
    assert_eq!(error(&mut c, &statement), 1032);

    run(&mut c, "RESET BINARY LOGS AND GTIDS TO 7");
    assert_eq!(rows(&mut c, "SELECT @@gtid_executed"), [""]);
    let left = rows(&mut c, "SHOW BINARY LOGS");
    assert!(left.len() == 1 && left[0].starts_with("binlog.000007|"), "{left:?}");
    run(&mut c, "CREATE DATABASE again");
    assert!(rows(&mut c, "SELECT @@gtid_executed")[0].ends_with(":1"));
    assert_eq!(error(&mut c, "RESET BINARY LOGS AND GTIDS TO 0"), 3567);
}

/// A transaction that is one change of a row commits with it in one record of the log, and so do its events.
#[test]
fn a_change_that_is_all_of_its_transaction_is_there() {
    let r = logged();
    let mut c = Connection::connect(&r.socket(), &Options { capabilities: cap::SESSION_TRACK, ..options() }).unwrap();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), n INT, l LONGBLOB)",
        "CREATE TABLE s (a INT PRIMARY KEY, n INT, e TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6))",
        "INSERT INTO t VALUES (1, 'one', 0, NULL), (2, 'two', 0, x'00'), (3, '', 0, NULL)",
        "INSERT INTO s VALUES (1, 1, NULL)",
    ] {
        run(&mut c, sql);
    }
    // The rows that each of these has in the log.
    let told = |c: &mut Connection, sql: &str| {
        let before = rows(c, "SHOW BINARY LOG STATUS")[0].clone();
        let position = before.split('|').nth(1).unwrap().to_owned();
        run(c, sql);
        let shown = rows(c, &format!("SHOW BINLOG EVENTS FROM {position}"));
        shown.iter().map(|e| e.split('|').nth(2).unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let one = "Gtid Query Table_map Update_rows Xid";
    for (sql, want) in [
        ("UPDATE t SET n = n + 1 WHERE a = 1", one),
        ("UPDATE t SET b = 'ONE' WHERE a = 1", one),
        ("UPDATE t SET b = 'longer' WHERE a = 1", one),
        ("UPDATE t SET b = NULL WHERE a = 2", one),
        ("UPDATE s SET n = 2 WHERE a = 1", one),
        ("UPDATE t SET n = n WHERE a = 1", ""),
        ("UPDATE t SET n = 1 WHERE a = 77", ""),
        ("UPDATE t SET l = REPEAT('x', 40000) WHERE a = 2", one),
        ("UPDATE t SET l = REPEAT('y', 100000) WHERE a = 2", one),
        ("UPDATE t SET n = 5 WHERE a = 2", one),
        ("SET binlog_row_image = MINIMAL", ""),
        ("UPDATE t SET n = n + 1 WHERE a = 1", one),
        ("UPDATE t SET l = '' WHERE a = 1", one),
        ("SET binlog_row_image = NOBLOB, binlog_rows_query_log_events = ON", ""),
        ("UPDATE t SET n = n + 1 WHERE a = 2", "Gtid Query Rows_query Table_map Update_rows Xid"),
        ("SET binlog_row_image = FULL, binlog_rows_query_log_events = OFF", ""),
        ("SET binlog_transaction_compression = ON", ""),
        ("UPDATE t SET n = n + 1 WHERE a = 1", "Gtid Transaction_payload Query Table_map Update_rows Xid"),
        ("UPDATE t SET n = n - 1 WHERE a = 1", "Gtid Transaction_payload Query Table_map Update_rows Xid"),
        ("SET binlog_transaction_compression = OFF", ""),
        ("CREATE TEMPORARY TABLE own (a INT PRIMARY KEY, n INT)", ""),
        ("INSERT INTO own VALUES (1, 1)", ""),
        ("UPDATE own SET n = 2 WHERE a = 1", ""),
        ("BEGIN", ""),
        ("UPDATE t SET n = 100 WHERE a = 1", ""),
        ("SAVEPOINT s", ""),
        ("UPDATE t SET n = 200 WHERE a = 1", ""),
        ("ROLLBACK TO s", ""),
        ("UPDATE t SET b = 'spared' WHERE a = 1", ""),
        ("COMMIT", "Gtid Query Table_map Update_rows Table_map Update_rows Xid"),
        ("BEGIN", ""),
        ("UPDATE t SET n = 300 WHERE a = 1", ""),
        ("ROLLBACK", ""),
        ("SET GLOBAL log_bin_trust_function_creators = ON", ""),
        ("CREATE FUNCTION f() RETURNS INT BEGIN UPDATE s SET n = n + 10 WHERE a = 1; RETURN 7; END", "Gtid Query"),
    ] {
        assert_eq!(told(&mut c, sql), want, "{sql}");
    }
    // A function has changed another row before.
    run(&mut c, "UPDATE t SET n = f() WHERE a = 1");
    // Who waits for the row, and finds another version.
    let writers: Vec<Connection> = (0..4).map(|_| r.connect()).collect();
    std::thread::scope(|scope| {
        for mut c in writers {
            scope.spawn(move || (0..25).for_each(|_| run(&mut c, "UPDATE d.t SET n = n + 1 WHERE a = 3")));
        }
    });
    assert_eq!(rows(&mut c, "SELECT n FROM t WHERE a = 3"), ["100"]);
    // GTIDs: told, chosen, and asked for.
    run(&mut c, "SET session_track_gtids = OWN_GTID");
    let uuid = rows(&mut c, "SELECT @@server_uuid").remove(0);
    let ok = c.query("UPDATE t SET n = n + 1 WHERE a = 1").unwrap().ok;
    let last = events(&mut c, "binlog.000001").into_iter().rfind(|e| e.starts_with("Gtid ")).unwrap();
    let gtid = last.split('\'').nth(1).unwrap().replace('U', &uuid);
    assert!(ok.changes.iter().any(|(_, said)| said.contains(&gtid)), "{:?} without {gtid}", ok.changes);
    run(&mut c, &format!("SET gtid_next = '{uuid}:900'"));
    run(&mut c, "UPDATE t SET n = n + 1 WHERE a = 1");
    assert_eq!(error(&mut c, "UPDATE t SET n = n + 1 WHERE a = 1"), 1837);
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert!(rows(&mut c, "SELECT @@gtid_executed")[0].ends_with(":900"));
    // Not logged at all.
    run(&mut c, "SET sql_log_bin = 0");
    assert_eq!(told(&mut c, "UPDATE t SET n = n + 1 WHERE a = 1"), "");
    assert_eq!(told(&mut c, "UPDATE t SET n = n - 1 WHERE a = 1"), "");
    run(&mut c, "SET sql_log_bin = 1");
    run(&mut c, "FLUSH BINARY LOGS");
    let all = |c: &mut Connection| [rows(c, "SELECT * FROM d.t"), rows(c, "SELECT * FROM d.s")];
    let before = all(&mut c);
    let events = in_file(&std::fs::read(r.dir.join("binlog.000001")).unwrap());
    replay(&mut c, &events);
    assert_eq!(all(&mut c), before);
}

/// Trees that are built from the rows of a statement, and rows that go in together: the log has each row once.
#[test]
fn rows_of_many_are_there_once() {
    let r = Running::configured(|o| {
        o.set(Live::LogBin, VarValue::bool(true));
        o.set(Live::SecureFilePriv, VarValue::text(""));
    });
    let mut c = r.connect();
    let file = r.dir.join("rows.txt");
    std::fs::write(&file, (0..1000).map(|n| format!("{n}\tx{n}\n")).collect::<String>()).unwrap();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    for t in ["literals", "loaded", "selected", "again", "spared", "unkeyed"] {
        let key = if t == "unkeyed" { "KEY" } else { "PRIMARY KEY" };
        run(&mut c, &format!("CREATE TABLE {t} (a INT, b VARCHAR(20), {key} (a), KEY (b))"));
    }
    let literals = (0..1000).map(|n| format!("({}, 'y{n}')", n * 7 % 1000)).collect::<Vec<_>>().join(", ");
    for (sql, rows) in [
        (format!("INSERT INTO literals VALUES {literals}"), 1000),
        (format!("LOAD DATA INFILE '{}' INTO TABLE loaded", file.display()), 1000),
        ("INSERT INTO selected SELECT * FROM literals".into(), 1000),
        // Without duplicates, and with some: then the rows are inserted one by one.
        ("INSERT IGNORE INTO spared SELECT * FROM literals".into(), 1000),
        ("INSERT IGNORE INTO again SELECT a DIV 2, b FROM literals".into(), 500),
        ("INSERT INTO unkeyed SELECT * FROM loaded".into(), 1000),
        // Behind others.
        ("INSERT INTO loaded SELECT a + 1000, b FROM literals".into(), 1000),
        ("DELETE FROM selected WHERE a < 10".into(), 10),
    ] {
        assert_eq!(c.query(&sql).unwrap().ok.affected, rows, "{}", &sql[..sql.len().min(60)]);
    }
    assert_eq!(error(&mut c, "INSERT INTO literals SELECT a + 5000 - 5000, b FROM selected"), 1062);
    run(&mut c, "FLUSH BINARY LOGS");
    let tables = ["literals", "loaded", "selected", "again", "spared", "unkeyed"];
    let all = |c: &mut Connection| tables.map(|t| rows(c, &format!("SELECT * FROM d.{t} ORDER BY a")));
    let before = all(&mut c);
    let events = in_file(&std::fs::read(r.dir.join("binlog.000001")).unwrap());
    replay(&mut c, &events);
    assert_eq!(all(&mut c), before);
}

#[test]
fn large_transactions_go_through_files() {
    let mut r = Running::configured(|o| {
        o.set(Live::LogBin, VarValue::bool(true));
        o.set(Live::InnodbRedoLogCapacity, VarValue::Int(8 << 20));
    });
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)",
        "CREATE TABLE n (i INT PRIMARY KEY)",
        // One row of more than a quarter.
        "INSERT INTO t VALUES (-1, REPEAT('e', 5000000)), (-2, 'f')",
        "INSERT INTO n WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 500) SELECT i FROM r",
        // More than a thirty-second of the log, of which a part is rolled back; in all more than a quarter.
        "BEGIN",
        "INSERT INTO t SELECT i, REPEAT('a', 1000) FROM n",
        "SAVEPOINT s",
        "INSERT INTO t SELECT i + 20000, REPEAT('b', 1500) FROM n",
        "UPDATE t SET b = 'gone'",
        "ROLLBACK TO s",
        "INSERT INTO t SELECT i + 40000, REPEAT('c', 2000) FROM n",
        "UPDATE t SET b = REPEAT('d', 2000) WHERE a > 40000",
        "COMMIT",
        "BEGIN",
        "UPDATE t SET b = CONCAT(b, 'x') WHERE a > 40000",
        "ROLLBACK",
        "FLUSH BINARY LOGS",
    ] {
        run(&mut c, sql);
    }
    let want = rows(&mut c, "SELECT COUNT(*), SUM(CRC32(b)), SUM(a) FROM t WHERE a > 0");
    let spilled = |r: &Running| -> Vec<String> {
        let names = std::fs::read_dir(&r.dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|n| n.contains(".rows-")).collect()
    };
    assert_eq!(spilled(&r), [""; 0]);
    let events = in_file(&std::fs::read(r.dir.join("binlog.000001")).unwrap());
    let groups: Vec<usize> = (0..events.len()).filter(|i| events[*i].0 == 33).collect();
    let last = &events[*groups.last().unwrap()..];
    let size: u64 = last.iter().take_while(|e| e.0 != 4).map(|e| e.2.len() as u64).sum();
    assert_eq!(Gtid::decode(&last[0].1).unwrap().size, size);
    assert!(size > 2 << 20, "{size}");
    run(&mut c, "TRUNCATE TABLE t");
    let description = binlog_statement(&mut c, &events[0].2);
    run(&mut c, &description);
    run(&mut c, "BEGIN");
    let changes: Vec<&[u8]> = last.iter().filter(|e| matches!(e.0, 19 | 30..=32)).map(|e| &e.2[..]).collect();
    for some in changes.chunks(10) {
        let statement = binlog_statement(&mut c, &some.concat());
        run(&mut c, &statement);
    }
    run(&mut c, "COMMIT");
    assert_eq!(rows(&mut c, "SELECT COUNT(*), SUM(CRC32(b)), SUM(a) FROM t WHERE a > 0"), want);
    // What no commit has named goes with the next start.
    std::fs::write(r.dir.join("binlog.rows-99"), b"left").unwrap();
    drop(c);
    r.restart();
    let mut c = r.connect();
    rows(&mut c, "SHOW BINARY LOG STATUS");
    assert_eq!(spilled(&r), [""; 0]);
}

#[test]
fn every_number_is_given_once() {
    let mut r = logged();
    let (mut c, mut d) = (r.connect(), r.connect());
    let uuid = rows(&mut c, "SELECT @@server_uuid").remove(0);
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY)");
    run(&mut c, &format!("SET gtid_next = '{uuid}:4'"));
    run(&mut d, "INSERT INTO d.t VALUES ()");
    run(&mut d, "INSERT INTO d.t VALUES ()");
    run(&mut c, "INSERT INTO d.t VALUES ()");
    // One that is given back.
    run(&mut c, &format!("SET gtid_next = '{uuid}:7'"));
    run(&mut c, "ROLLBACK");
    run(&mut c, "SET gtid_next = 'AUTOMATIC'");
    run(&mut d, "INSERT INTO d.t VALUES ()");
    run(&mut d, "INSERT INTO d.t VALUES ()");
    assert_eq!(rows(&mut d, "SELECT @@gtid_executed"), [format!("{uuid}:1-7")]);
    let given = events(&mut c, "binlog.000001");
    let given: Vec<&str> =
        given.iter().filter_map(|e| e.split_once("'U:")).map(|(_, n)| n.trim_end_matches('\'')).collect();
    assert_eq!(given, ["1", "2", "3", "5", "4", "6", "7"]);
    // One whose session does not live to use it.
    run(&mut c, &format!("SET gtid_next = '{uuid}:9'"));
    run(&mut d, "INSERT INTO d.t VALUES ()");
    run(&mut d, "INSERT INTO d.t VALUES ()");
    assert_eq!(rows(&mut d, "SELECT @@gtid_executed"), [format!("{uuid}:1-8:10")]);
    drop((c, d));
    r.restart();
    let mut c = r.connect();
    run(&mut c, "INSERT INTO d.t VALUES ()");
    assert_eq!(rows(&mut c, "SELECT @@gtid_executed"), [format!("{uuid}:1-10")]);
}

#[test]
fn transactions_of_a_copy_count_as_executed() {
    let mut r = logged();
    let mut c = r.connect();
    let (uuid, other) = (rows(&mut c, "SELECT @@server_uuid").remove(0), "3e11fa47-71ca-11e1-9e33-c80aa9429562");
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, &format!("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{other}:1-5,\n{other}:9'"));
    let state = |c: &mut Connection| rows(c, "SELECT @@gtid_executed, @@gtid_purged").remove(0).replace('\n', "");
    let both = |others: &str, own: &str| {
        let mut sets = [format!("{other}:{others}"), format!("{uuid}:{own}")];
        sets.sort();
        format!("{}|{other}:{others}", sets.join(","))
    };
    assert_eq!(state(&mut c), both("1-5:9", "1"));
    assert_eq!(error(&mut c, &format!("SET GLOBAL gtid_purged = '+{other}:5-6'")), 3546);
    assert_eq!(error(&mut c, &format!("SET GLOBAL gtid_purged = '{other}:1-8'")), 3546);
    assert_eq!(error(&mut c, &format!("SET GLOBAL gtid_purged = '{other}:1-9,{uuid}:1'")), 3546);
    run(&mut c, "BEGIN");
    assert_eq!(error(&mut c, &format!("SET GLOBAL gtid_purged = '{other}:1-9'")), 1766);
    run(&mut c, "COMMIT");
    run(&mut c, &format!("SET GLOBAL gtid_purged = '{other}:1-9'"));
    run(&mut c, "CREATE DATABASE e");
    let want = both("1-9", "1-2");
    assert_eq!(state(&mut c), want);
    drop(c);
    r.restart();
    let mut c = r.connect();
    assert_eq!(state(&mut c), want);
    // A reader that does not have them cannot get them here.
    let mut without = vec![1, 0, 77, 0, 0, 0, 0, 0, 0, 0];
    without.extend_from_slice(&4u64.to_le_bytes());
    without.extend_from_slice(&8u32.to_le_bytes());
    without.extend_from_slice(&[0; 8]);
    assert_eq!(dump(&r, com::BINLOG_DUMP_GTID, &without), Err(1236));
    // And one of them is not done again.
    run(&mut c, &format!("SET gtid_next = '{other}:9'"));
    run(&mut c, "CREATE DATABASE f");
    run(&mut c, "SET gtid_next = 'AUTOMATIC'");
    assert_eq!(rows(&mut c, "SHOW DATABASES LIKE 'f'"), [""; 0]);
    run(&mut c, "RESET BINARY LOGS AND GTIDS");
    assert_eq!(state(&mut c), "|");
}

#[test]
fn transactions_are_waited_for() {
    let r = logged();
    let mut c = r.connect();
    let uuid = rows(&mut c, "SELECT @@server_uuid").remove(0);
    run(&mut c, "CREATE DATABASE d");
    let wait =
        |c: &mut Connection, args: &str| rows(c, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET({args})")).remove(0);
    assert_eq!(wait(&mut c, &format!("'{uuid}:1'")), "0");
    assert_eq!(wait(&mut c, "''"), "0");
    assert_eq!(wait(&mut c, &format!("'{uuid}:2', 0.05")), "1");
    assert_eq!(error(&mut c, "SELECT WAIT_FOR_EXECUTED_GTID_SET(NULL)"), 1772);
    assert_eq!(error(&mut c, "SELECT WAIT_FOR_EXECUTED_GTID_SET('nonsense')"), 1772);
    assert_eq!(error(&mut c, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}:1', -1)")), 1210);
    let mut d = r.connect();
    let id = rows(&mut d, "SELECT CONNECTION_ID()").remove(0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(&mut d, &format!("'{uuid}:1-2', 30")));
        run(&mut c, "CREATE DATABASE e");
        assert_eq!(waiting.join().unwrap(), "0");
    });
    std::thread::scope(|scope| {
        let killed = scope.spawn(|| error(&mut d, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}:9')")));
        let waits = format!("SELECT COUNT(*) FROM performance_schema.processlist WHERE id = {id} AND info LIKE '%:9%'");
        while rows(&mut c, &waits) != ["1"] {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        run(&mut c, &format!("KILL QUERY {id}"));
        assert_eq!(killed.join().unwrap(), 1317);
    });
    let unlogged = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(false)));
    let mut c = unlogged.connect();
    assert_eq!(error(&mut c, "SELECT WAIT_FOR_EXECUTED_GTID_SET('')"), 1235);
}

#[test]
fn transactions_are_compressed() {
    let r = logged();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b TEXT)",
        "FLUSH BINARY LOGS",
        "INSERT INTO d.t VALUES (0, 'plain')",
        "SET binlog_transaction_compression = ON",
        "INSERT INTO d.t VALUES (1, REPEAT('x', 5000)), (2, REPEAT('y', 5000))",
        "BEGIN",
        "UPDATE d.t SET b = CONCAT(b, '!')",
        "DELETE FROM d.t WHERE a = 1",
        // The session's value at the commit counts.
        "SET binlog_transaction_compression = OFF",
        "COMMIT",
        "SET binlog_transaction_compression = ON",
        // A definition is not compressed.
        "CREATE TABLE d.u (a INT)",
    ] {
        run(&mut c, sql);
    }
    let shown = events(&mut c, "binlog.000002");
    let kinds: Vec<&str> = shown.iter().map(|e| e.split_once(' ').map_or(&**e, |(kind, _)| kind)).collect();
    let rows_of = ["Gtid", "Query", "Table_map", "Write_rows", "Xid"];
    let packed = ["Gtid", "Transaction_payload", "Query", "Table_map", "Write_rows", "Xid"];
    let changed = ["Gtid", "Query", "Table_map", "Update_rows", "Update_rows", "Table_map", "Delete_rows", "Xid"];
    let want = [&["Format_desc", "Previous_gtids"][..], &rows_of, &packed, &changed, &["Gtid", "Query"]].concat();
    assert_eq!(kinds, want, "{shown:?}");
    let payload = &shown[8];
    assert!(payload.starts_with("Transaction_payload compression='ZSTD', decompressed_size=10"), "{payload}");
    let stats = "SELECT LOG_TYPE, COMPRESSION_TYPE, TRANSACTION_COUNTER, COMPRESSED_BYTES_COUNTER < 500, \
                 UNCOMPRESSED_BYTES_COUNTER > 10000, COMPRESSION_PERCENTAGE > 90, \
                 FIRST_TRANSACTION_ID = LAST_TRANSACTION_ID, LAST_TRANSACTION_COMPRESSED_BYTES < 500, \
                 LAST_TRANSACTION_TIMESTAMP > NOW() - INTERVAL 1 DAY \
                 FROM performance_schema.binary_log_transaction_compression_stats ORDER BY 2";
    let found = rows(&mut c, stats);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("BINARY|NONE|5|"), "{found:?}");
    assert_eq!(found[1], "BINARY|ZSTD|1|1|1|1|1|1|1");
    run(&mut c, "TRUNCATE performance_schema.binary_log_transaction_compression_stats");
    assert_eq!(rows(&mut c, stats), [""; 0]);

    // Done again by BINLOG; what is damaged is refused, and nothing of it stays.
    let file = in_file(&std::fs::read(r.dir.join("binlog.000002")).unwrap());
    run(&mut c, "DELETE FROM d.t");
    let description = binlog_statement(&mut c, &file[0].2);
    run(&mut c, &description);
    let event = &file.iter().find(|e| e.0 == 40).unwrap().2;
    let statement = binlog_statement(&mut c, event);
    run(&mut c, &statement);
    assert_eq!(rows(&mut c, "SELECT a, LENGTH(b) FROM d.t"), ["1|5000", "2|5000"]);
    assert_eq!(error(&mut c, &statement), 1062);
    run(&mut c, "DELETE FROM d.t");
    run(&mut c, "SET GLOBAL binlog_checksum = NONE");
    let file = std::fs::read(r.dir.join("binlog.000003")).unwrap();
    let description = &file[4..];
    let size = u32::from_le_bytes(description[9..13].try_into().unwrap()) as usize;
    let statement = binlog_statement(&mut c, &description[..size]);
    run(&mut c, &statement);
    let mut cut = event[..event.len() - 44].to_vec();
    let size = cut.len() as u32;
    cut[9..13].copy_from_slice(&size.to_le_bytes());
    let statement = binlog_statement(&mut c, &cut);
    assert_eq!(error(&mut c, &statement), 1149);
    assert_eq!(rows(&mut c, "SELECT COUNT(*) FROM d.t"), ["0"]);
}
