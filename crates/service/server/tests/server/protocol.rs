//! Sessions through the wire: commands, results, status, kills, long packets.

use crate::common::{PATIENCE, Running, error, one, options, rows, run, wait_for};
use gannet_wire::client::{Arg, Cell, Connection, Error, Options};
use gannet_wire::flags::{cap, com, status, ty};
use std::time::{Duration, Instant};

#[test]
fn status_flags_follow_the_transaction() {
    let r = Running::start();
    let mut c = r.connect();
    let flags = |c: &mut Connection, sql: &str| c.query(sql).unwrap().ok.status;
    assert_eq!(flags(&mut c, "DO 1"), status::AUTOCOMMIT);
    assert_eq!(flags(&mut c, "BEGIN"), status::AUTOCOMMIT | status::IN_TRANS);
    assert_eq!(flags(&mut c, "SELECT 1") & status::IN_TRANS, status::IN_TRANS);
    assert_eq!(flags(&mut c, "COMMIT"), status::AUTOCOMMIT);
    assert_eq!(flags(&mut c, "START TRANSACTION READ ONLY") & status::IN_TRANS_READONLY, status::IN_TRANS_READONLY);
    assert_eq!(flags(&mut c, "ROLLBACK"), status::AUTOCOMMIT);
    assert_eq!(flags(&mut c, "SET autocommit = 0"), 0);
    assert_eq!(flags(&mut c, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"), status::NO_BACKSLASH_ESCAPES);
}

#[test]
fn ok_packets_tell_what_happened() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    let ok = c.query("INSERT INTO t (v) VALUES (1), (2), (3)").unwrap().ok;
    assert_eq!((ok.affected, ok.insert_id, ok.info.as_str()), (3, 1, "Records: 3  Duplicates: 0  Warnings: 0"));
    let ok = c.query("UPDATE t SET v = 2").unwrap().ok;
    assert_eq!((ok.affected, ok.info.as_str()), (2, "Rows matched: 3  Changed: 2  Warnings: 0"));
    // CLIENT_FOUND_ROWS counts matched rows.
    let mut f = Connection::connect(&r.socket(), &Options { capabilities: cap::FOUND_ROWS, ..options() }).unwrap();
    assert_eq!(f.query("UPDATE d.t SET v = 2").unwrap().ok.affected, 3);
    assert_eq!(rows(&mut c, "SELECT ROW_COUNT()"), [["2"]]);
    assert_eq!(rows(&mut c, "SELECT ROW_COUNT()"), [["-1"]]);
    run(&mut c, "DELETE FROM t WHERE id = 1");
    assert_eq!(rows(&mut c, "SELECT ROW_COUNT(), LAST_INSERT_ID()"), [["1", "1"]]);
    let ok = c.query("UPDATE t SET v = LAST_INSERT_ID(77) WHERE id = 2").unwrap().ok;
    assert_eq!(ok.insert_id, 77);
    assert_eq!(one(&mut c, "SELECT LAST_INSERT_ID()"), "77");
    assert_eq!(c.query("DROP TABLE IF EXISTS nope").unwrap().ok.warnings, 1);
    // They are another statement's: Connector/J asks again, without end, while SHOW WARNINGS has warnings itself.
    for _ in 0..2 {
        let shown = c.query("SHOW WARNINGS").unwrap();
        assert_eq!((shown.rows.len(), shown.ok.warnings), (1, 0));
    }
}

/// A row that another transaction has made is waited for, and counts as found only if it stays. A replica that applies
/// transactions beside each other goes by that.
#[test]
fn a_row_whose_maker_is_undone_is_not_found() {
    let r = Running::start();
    let (mut maker, mut c) = (r.connect(), r.connect());
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, k INT UNIQUE, v INT)");
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        for change in ["UPDATE d.t SET k = 2 WHERE id = 1", "UPDATE d.t SET v = 2 WHERE id = 1", "DELETE FROM d.t"] {
            for (end, found) in [("ROLLBACK", 0), ("COMMIT", 1)] {
                run(&mut maker, "BEGIN");
                run(&mut maker, "INSERT INTO d.t VALUES (1, 1, 1)");
                let counts = Options { capabilities: cap::FOUND_ROWS, ..options() };
                let mut other = Connection::connect(&r.socket(), &counts).unwrap();
                run(&mut other, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
                let ok = std::thread::scope(|scope| {
                    let waits = scope.spawn(|| other.query(change).unwrap().ok);
                    while one(&mut c, "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "0" {
                        std::thread::yield_now();
                    }
                    run(&mut maker, end);
                    waits.join().unwrap()
                });
                let told = format!("Rows matched: {found}  Changed: {found}  Warnings: 0");
                let info = if change.starts_with("UPDATE") { told } else { String::new() };
                assert_eq!((ok.affected, ok.info), (found, info), "{change} behind {end} at {level}");
                run(&mut c, "DELETE FROM d.t");
            }
        }
    }
}

/// C API, `mysql_insert_id()`: the first generated value that is in a row; else what LAST_INSERT_ID(n) was given in an
/// INSERT or UPDATE; else, if any row was put in or changed, the last row's value.
#[test]
fn ok_packets_tell_the_number_of_a_row() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, n INT DEFAULT 0)");
    let mut told = |sql: &str| {
        let id = c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}")).ok.insert_id;
        (id, one(&mut c, "SELECT LAST_INSERT_ID()").parse::<u64>().unwrap())
    };
    assert_eq!(told("INSERT INTO t (u) VALUES (1), (2)"), (1, 1));
    // Given values are told, and not kept for LAST_INSERT_ID().
    assert_eq!(told("INSERT INTO t (id, u) VALUES (60, 60), (55, 55)"), (55, 1));
    // IGNORE: numbers of rows that are not stored are none.
    assert_eq!(told("ALTER TABLE t AUTO_INCREMENT = 100"), (0, 1));
    assert_eq!(told("INSERT IGNORE INTO t (u) VALUES (1)"), (0, 1));
    assert_eq!(told("INSERT IGNORE INTO t (u) VALUES (1), (2)"), (0, 1));
    assert_eq!(told("INSERT IGNORE INTO t (id, u) VALUES (60, 1)"), (0, 1));
    let (id, kept) = told("INSERT IGNORE INTO t (u) VALUES (1), (3)");
    assert!(id >= 100 && kept == id, "{id} {kept}");
    assert_eq!(told("DO LAST_INSERT_ID(7)"), (0, 7));
    // ON DUPLICATE KEY UPDATE: of a row that changed its number; a row that stays as it is has none.
    assert_eq!(told("INSERT INTO t (u) VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1"), (1, 7));
    assert_eq!(told("INSERT INTO t (u) VALUES (1) ON DUPLICATE KEY UPDATE n = n"), (0, 7));
    assert_eq!(told("INSERT INTO t (u) VALUES (1), (2) ON DUPLICATE KEY UPDATE n = n + 1"), (2, 7));
    assert_eq!(told("INSERT INTO t (u) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)"), (1, 1));
    assert_eq!(told("INSERT INTO t (id, u) VALUES (60, 305) ON DUPLICATE KEY UPDATE id = 310"), (310, 1));
    let (id, kept) = told("INSERT INTO t (u) VALUES (1), (900) ON DUPLICATE KEY UPDATE n = n + 1");
    assert!(id > 100 && kept == id, "{id} {kept}");
    assert_eq!(told("UPDATE t SET n = LAST_INSERT_ID(78) WHERE u = 2"), (78, 78));
    assert_eq!(told("UPDATE t SET n = 3 WHERE u = 2"), (0, 78));
    assert_eq!(told("DELETE FROM t WHERE u = LAST_INSERT_ID(12)"), (0, 12));
    assert_eq!(told("CREATE TABLE s (k INT AUTO_INCREMENT PRIMARY KEY) SELECT u FROM t"), (1, 1));
}

#[test]
fn several_statements_in_one_packet() {
    let r = Running::start();
    let mut plain = r.connect();
    assert_eq!(error(&mut plain, "SELECT 1; SELECT 2"), 1064);
    run(&mut plain, "SELECT 1;");
    let mut c =
        Connection::connect(&r.socket(), &Options { capabilities: cap::MULTI_STATEMENTS, ..options() }).unwrap();
    let all = c.query_multi("SELECT 1; SET @a = 2; SELECT @a; ").unwrap();
    let texts: Vec<_> = all.iter().map(|s| s.texts()).collect();
    assert_eq!(texts, [vec![vec!["1".to_string()]], vec![], vec![vec!["2".to_string()]]]);
    // White space and semicolons at the end are no statement, nor part of the last one.
    for text in ["SELECT 1;;", "SELECT 1; ;\n;", "DO 1; SELECT 1;;\t"] {
        assert_eq!(c.query_multi(text).unwrap().last().unwrap().texts(), [["1"]], "{text:?}");
    }
    run(&mut c, "SET profiling = 1");
    c.query_multi("SELECT 71 ;;").unwrap();
    assert_eq!(c.query("SHOW PROFILES").unwrap().texts()[0][2], "SELECT 71");
    run(&mut c, "SET profiling = 0");
    for (text, code) in [(";", 1065), (" ;; ", 1065), ("SELECT 1;;SELECT 2", 1064), (";SELECT 3", 1064)] {
        assert_eq!(c.query_multi(text).unwrap_err().code(), Some(code), "{text:?}");
    }
    // An error ends the list; what came before has happened.
    let e = c.query_multi("SET @a = 3; SELECT nope; SET @a = 4").unwrap_err();
    assert_eq!(e.code(), Some(1054));
    assert_eq!(one(&mut c, "SELECT @a"), "3");
    // COM_SET_OPTION turns it on and off.
    plain.command(com::SET_OPTION, &[0, 0]).unwrap();
    plain.receive().unwrap();
    assert_eq!(plain.query_multi("SELECT 1; SELECT 2").unwrap().len(), 2);
}

#[test]
fn prepared_statements_and_their_types() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(
        &mut c,
        "CREATE TABLE t (a TINYINT, b SMALLINT UNSIGNED, c INT, d BIGINT, e DOUBLE, f DECIMAL(10,3), g VARCHAR(20), h BLOB, \
         i DATE, j DATETIME(6), k TIME, PRIMARY KEY (c))",
    );
    let ins = c.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").unwrap();
    assert_eq!(ins.params, 11);
    let args = [
        Arg::Int(-5),
        Arg::UInt(65535),
        Arg::Int(1),
        Arg::Int(i64::MIN),
        Arg::Double(1.5),
        Arg::Text("12.3456"),
        Arg::Text("héllo"),
        Arg::Bytes(&[0, 255]),
        Arg::Text("2024-02-29"),
        Arg::Text("2024-02-29 12:34:56.789"),
        Arg::Text("-12:34:56"),
    ];
    assert_eq!(c.execute(&ins, &args).unwrap().ok.affected, 1);
    assert_eq!(c.execute(&ins, &args).unwrap_err().code(), Some(1062));
    let mut nulls = [Arg::Null; 11];
    nulls[2] = Arg::Int(2);
    c.execute(&ins, &nulls).unwrap();
    let sel = c.prepare("SELECT * FROM t WHERE c = ?").unwrap();
    let types: Vec<u8> = sel.columns.iter().map(|c| c.ty).collect();
    assert_eq!(
        types,
        [
            ty::TINY,
            ty::SHORT,
            ty::LONG,
            ty::LONGLONG,
            ty::DOUBLE,
            ty::NEWDECIMAL,
            ty::VAR_STRING,
            ty::BLOB,
            ty::DATE,
            ty::DATETIME,
            ty::TIME
        ]
    );
    let row = c.execute(&sel, &[Arg::Int(1)]).unwrap();
    assert_eq!(
        row.texts(),
        [[
            "-5",
            "65535",
            "1",
            "-9223372036854775808",
            "1.5",
            "12.346",
            "héllo",
            "\0\u{FFFD}",
            "2024-02-29",
            "2024-02-29 12:34:56.789000",
            "-12:34:56"
        ]]
    );
    assert_eq!(row.cell(0, 7), Some(&Cell::Bytes(vec![0, 255])));
    let row = c.execute(&sel, &[Arg::Text("2")]).unwrap();
    assert!(row.rows[0].iter().enumerate().all(|(i, v)| i == 2 || *v == Cell::Null));
    assert!(c.execute(&sel, &[Arg::Null]).unwrap().rows.is_empty());
    // A table that changes under the statement.
    run(&mut c, "DROP TABLE t");
    run(&mut c, "CREATE TABLE t (c INT PRIMARY KEY, z INT)");
    assert_eq!(c.execute(&sel, &[Arg::Int(1)]).unwrap().columns.len(), 2);
    run(&mut c, "DROP TABLE t");
    assert_eq!(c.execute(&sel, &[Arg::Int(1)]).unwrap_err().code(), Some(1146));
    c.close(&sel).unwrap();
    assert_eq!(c.execute(&sel, &[Arg::Int(1)]).unwrap_err().code(), Some(1243));
    assert_eq!(c.prepare("SELECT * FROM nope").unwrap_err().code(), Some(1146));
    assert_eq!(c.prepare("PREPARE x FROM 'SELECT 1'").unwrap_err().code(), Some(1295));
}

#[test]
fn long_data_and_long_packets() {
    let r = Running::start();
    let mut c = r.connect();
    let s = c.prepare("SELECT ?").unwrap();
    for _ in 0..3 {
        let mut body = s.id.to_le_bytes().to_vec();
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&[b'x'; 1000]);
        c.command(com::STMT_SEND_LONG_DATA, &body).unwrap();
    }
    let length = |r: gannet_wire::client::ResultSet| r.cell(0, 0).unwrap().bytes().unwrap().len();
    assert_eq!(length(c.execute(&s, &[Arg::Text("")]).unwrap()), 3000);
    // The next execution begins anew.
    assert_eq!(length(c.execute(&s, &[Arg::Text("ab")]).unwrap()), 2);
    // A packet, and a row, longer than 16 MiB.
    let long = "y".repeat(20 << 20);
    assert_eq!(length(c.execute(&s, &[Arg::Text(&long)]).unwrap()), 20 << 20);
    let got = c.query(&format!("SELECT '{long}', 1")).unwrap();
    assert_eq!(got.cell(0, 0).unwrap().bytes().unwrap().len(), 20 << 20);
    assert_eq!(got.cell(0, 1).unwrap().bytes().unwrap(), b"1");
}

#[test]
fn parameters_that_are_no_text_are_in_no_column_of_texts() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (v VARCHAR(20), l LONGTEXT, b VARBINARY(20))");
    for column in ["v", "l"] {
        let s = c.prepare(&format!("INSERT INTO t ({column}) VALUES (?)")).unwrap();
        for bytes in [&b"\xff\xfe"[..], b"a\xc3"] {
            // One parameter, not NULL, with a type: a text of so many bytes.
            let given = [&[0, 1, 0xfd, 0, bytes.len() as u8], bytes].concat();
            let in_pieces = [0, 1, 0xfd, 0];
            for (pieces, values) in [(None, &given[..]), (Some(bytes), &in_pieces[..])] {
                if let Some(piece) = pieces {
                    let body = [&s.id.to_le_bytes()[..], &[0, 0], piece].concat();
                    c.command(com::STMT_SEND_LONG_DATA, &body).unwrap();
                }
                let body = [&s.id.to_le_bytes()[..], &[0, 1, 0, 0, 0], values].concat();
                c.command(com::STMT_EXECUTE, &body).unwrap();
                assert_eq!(c.receive().unwrap_err().code(), Some(1366), "{column} {bytes:?} {pieces:?}");
            }
        }
    }
    let s = c.prepare("INSERT INTO t (b, v) VALUES (?, 'é')").unwrap();
    let body = [&s.id.to_le_bytes()[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0, 2, 0xff, 0xfe]].concat();
    c.command(com::STMT_EXECUTE, &body).unwrap();
    c.receive().unwrap();
    assert_eq!(rows(&mut c, "SELECT HEX(v), l, HEX(b) FROM t"), [["C3A9", "NULL", "FFFE"]]);
}

#[test]
fn long_data_beyond_the_limit_fails_the_execution() {
    let r = Running::start();
    run(&mut r.connect(), "SET GLOBAL max_allowed_packet = 1048576");
    let mut c = r.connect();
    let s = c.prepare("SELECT LENGTH(?)").unwrap();
    for _ in 0..2 {
        let mut body = s.id.to_le_bytes().to_vec();
        body.extend_from_slice(&[0, 0]);
        body.resize(700_000, b'x');
        c.command(com::STMT_SEND_LONG_DATA, &body).unwrap();
    }
    // What went wrong is told by every execution until the statement is reset.
    for _ in 0..2 {
        let failed = c.execute(&s, &[Arg::Text("ab")]).unwrap_err();
        assert_eq!(failed.code(), Some(1105), "{failed}");
    }
    let reset = |c: &mut Connection| {
        c.command(com::STMT_RESET, &s.id.to_le_bytes()).unwrap();
        c.receive().unwrap();
    };
    reset(&mut c);
    assert_eq!(c.execute(&s, &[Arg::Text("ab")]).unwrap().cell(0, 0).unwrap().int(), Some(2));
    // There is no second parameter.
    c.command(com::STMT_SEND_LONG_DATA, &[&s.id.to_le_bytes()[..], &[1, 0, b'x']].concat()).unwrap();
    for _ in 0..2 {
        let failed = c.execute(&s, &[Arg::Text("ab")]).unwrap_err();
        assert_eq!(failed.code(), Some(1210), "{failed}");
        assert!(failed.to_string().contains("mysql_stmt_send_long_data"), "{failed}");
    }
    reset(&mut c);
    assert_eq!(c.execute(&s, &[Arg::Text("ab")]).unwrap().cell(0, 0).unwrap().int(), Some(2));
}

#[test]
fn executions_without_names_count_their_parameters() {
    let r = Running::start();
    let mut c =
        Connection::connect(&r.socket(), &Options { capabilities: cap::QUERY_ATTRIBUTES, ..options() }).unwrap();
    let s = c.prepare("SELECT ?").unwrap();
    let head = [&s.id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
    for (flag, value) in [(1, 7), (2, 8), (255, 9)] {
        c.command(com::STMT_EXECUTE, &[&head[..], &[1, 0, flag, 3, 0, 0, value, 0, 0, 0]].concat()).unwrap();
        // Columns, the column, (their end), the row: a byte 0, the NULL bits, the number.
        let row = loop {
            let packet = c.receive().unwrap();
            if packet[0] == 0 {
                break packet;
            }
        };
        assert_eq!(row[..3], [0, 0, value]);
        c.receive().unwrap();
    }
}

#[test]
fn many_rows_are_streamed() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100))");
    let values: Vec<String> = (0..1000).map(|i| format!("({i}, '{}')", "v".repeat(100))).collect();
    run(&mut c, &format!("INSERT INTO d.t VALUES {}", values.join(",")));
    let all = c.query("SELECT a.id, b.v FROM d.t a, d.t b WHERE a.id < 50").unwrap();
    assert_eq!(all.rows.len(), 50_000);
    let s = c.prepare("SELECT * FROM d.t WHERE id >= ?").unwrap();
    assert_eq!(c.execute(&s, &[Arg::Int(10)]).unwrap().rows.len(), 990);
    // What was sent on the way counts too.
    let sent = |c: &mut Connection| rows(c, "SHOW SESSION STATUS LIKE 'Bytes_sent'")[0][1].parse::<u64>().unwrap();
    let before = sent(&mut c);
    c.query("SELECT a.id, b.v FROM d.t a, d.t b WHERE a.id < 50").unwrap();
    let bytes = sent(&mut c) - before;
    assert!((5_000_000..6_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn kill_ends_statements_and_connections() {
    let r = Running::start();
    let mut root = r.connect();
    let mut victim = r.connect();
    let id = one(&mut victim, "SELECT CONNECTION_ID()");
    let started = Instant::now();
    let sleeping = std::thread::spawn(move || (victim.query("SELECT SLEEP(1000)").map(|r| r.texts()), victim));
    wait_for_sleep(&mut root, "SLEEP(1000)");
    run(&mut root, &format!("KILL QUERY {id}"));
    let (outcome, mut victim) = sleeping.join().unwrap();
    // SLEEP reports the interruption by its value.
    assert_eq!(outcome.unwrap(), [["1"]]);
    assert!(started.elapsed() < Duration::from_secs(1000));
    assert_eq!(one(&mut victim, "SELECT 1"), "1");
    run(&mut root, &format!("KILL {id}"));
    wait_for("the end of a killed connection", || victim.ping().is_err());
    assert_eq!(error(&mut root, "KILL 123456"), 1094);
    // COM_PROCESS_KILL.
    let mut victim = r.connect();
    let id: u32 = one(&mut victim, "SELECT CONNECTION_ID()").parse().unwrap();
    root.command(com::PROCESS_KILL, &id.to_le_bytes()).unwrap();
    root.receive().unwrap();
    let mut last = Ok(());
    wait_for("the end of a killed connection", || {
        last = victim.ping();
        last.is_err()
    });
    assert!(matches!(last, Err(Error::Io(_))), "{last:?}");
}

/// Waits until the statement is in its SLEEP: killed on the way there it would be error 1317.
fn wait_for_sleep(c: &mut Connection, text: &str) {
    let until = Instant::now() + PATIENCE;
    while !rows(c, "SHOW PROCESSLIST").iter().any(|r| r[7].contains(text) && r[6] == "User sleep") {
        assert!(Instant::now() < until, "{text} never ran");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn statements_have_a_time_limit() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT)");
    let values = vec!["(1)"; 300].join(",");
    run(&mut c, &format!("INSERT INTO d.t VALUES {values}"));
    run(&mut c, "SET max_execution_time = 50");
    let e = error(&mut c, "SELECT COUNT(*) FROM d.t a, d.t b, d.t c, d.t d WHERE a.a + b.a + c.a + d.a = 0");
    assert_eq!(e, 3024);
    assert_eq!(one(&mut c, "SELECT 1"), "1");
}

/// What a result says of its columns' origin, as in MySQL.
#[test]
fn columns_know_where_they_are_from() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(5))");
    run(&mut c, "CREATE VIEW plain AS SELECT id AS a, v FROM t");
    run(&mut c, "CREATE VIEW kept AS SELECT DISTINCT id AS a FROM t");
    let mut told = |sql: &str| {
        let result = c.query(sql).unwrap();
        let text = |i: &gannet_wire::client::ColumnInfo| {
            format!("{}.{}.{} {}.{} {}", i.schema, i.org_table, i.org_name, i.table, i.name, i.decimals)
        };
        result.columns.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told("SELECT id AS n, v FROM t AS x"), "d.t.id x.n 0, d.t.v x.v 0");
    assert_eq!(told("SELECT a AS n FROM plain AS x"), "d.plain.a x.n 0");
    assert_eq!(told("SELECT a FROM kept"), "d.t.a kept.a 0");
    assert_eq!(told("SELECT * FROM (SELECT id AS a FROM t AS x) AS y"), "d.x.a y.a 0");
    assert_eq!(told("SELECT v FROM t UNION SELECT 'x'"), "..v .v 0");
    // Texts that are no column have no fixed number of digits.
    assert_eq!(told("SELECT 'x' AS a, CONCAT(v, 'x') AS b, 1.5 AS c FROM t"), ".. .a 31, .. .b 31, .. .c 1");
    run(&mut c, "CREATE FUNCTION f() RETURNS VARCHAR(5) DETERMINISTIC RETURN 'x'");
    let mut told = |sql: &str| {
        let result = c.query(sql).unwrap();
        let text = |i: &gannet_wire::client::ColumnInfo| format!("{} {} {}", i.org_name, i.ty, i.decimals);
        result.columns.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    // What a function returns is a column; GROUP_CONCAT that is no VARCHAR is a LONG_BLOB.
    assert_eq!(told("SELECT f() AS a, CONCAT(f()) AS b"), "a 253 0,  253 31");
    assert_eq!(told("SELECT GROUP_CONCAT(v) AS a FROM t"), " 251 31");
    run(&mut c, "SET group_concat_max_len = 512");
    let result = c.query("SELECT GROUP_CONCAT(v) AS a, @@autocommit, @@sql_mode FROM t").unwrap();
    let sizes: Vec<_> = result.columns.iter().map(|i| (i.ty, i.length)).collect();
    assert_eq!(sizes, [(253, 2048), (8, 1), (253, 87_380)]);
}

/// The types that are told when a statement is prepared: what stands beside a parameter says its kind.
#[test]
fn parameters_are_of_the_kind_beside_them() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (i INT, d DECIMAL(10,2), f FLOAT, s VARCHAR(5))");
    let mut told = |sql: &str| {
        let made = c.prepare(sql).unwrap();
        made.columns.iter().map(|i| (i.ty, i.decimals)).collect::<Vec<_>>()
    };
    let (whole, decimal, real) = ((8, 0), (246, 30), (5, 31));
    assert_eq!(told("SELECT i + ?, ? + d, f - ?, s * ? FROM t"), [whole, decimal, real, real]);
    assert_eq!(told("SELECT ? + ?, -?, ? * 1.5, ? - 1"), [real, real, decimal, whole]);
}

#[test]
fn the_smaller_commands() {
    let r = Running::start();
    let mut c = r.connect();
    c.ping().unwrap();
    c.command(com::STATISTICS, b"").unwrap();
    let line = String::from_utf8(c.receive().unwrap()).unwrap();
    assert!(line.starts_with("Uptime: ") && line.contains("Threads: 1"), "{line}");
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(5) DEFAULT 'x')");
    c.command(com::INIT_DB, b"d").unwrap();
    c.receive().unwrap();
    assert_eq!(one(&mut c, "SELECT DATABASE()"), "d");
    c.command(com::FIELD_LIST, b"t\0").unwrap();
    assert!(c.receive().unwrap().len() > 20);
    assert!(c.receive().unwrap().ends_with(b"\x01x"));
    c.receive().unwrap();
    c.command(com::INIT_DB, b"nope").unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1049));
    c.command(com::PROCESS_INFO, b"").unwrap();
    while c.receive().unwrap().first() != Some(&0xFE) {}
    c.command(com::DEBUG, b"").unwrap();
    c.receive().unwrap();
    c.quit().unwrap();
}

#[test]
fn digests_and_status_count_statements() {
    let r = Running::start();
    let mut c = r.connect();
    for i in 0..5 {
        run(&mut c, &format!("SELECT {i} + 0, 'digest me'"));
    }
    error(&mut c, "SELECT 7 + nope, 'digest me'");
    let sql = "SELECT DIGEST_TEXT, COUNT_STAR, SUM_ERRORS, SUM_ROWS_SENT FROM performance_schema.events_statements_summary_by_digest \
               WHERE DIGEST_TEXT LIKE 'SELECT ? + ?, ...'";
    assert_eq!(rows(&mut c, sql), [["SELECT ? + ?, ...", "5", "0", "5"]]);
    let before: u64 = rows(&mut c, "SHOW GLOBAL STATUS LIKE 'Com_select'")[0][1].parse().unwrap();
    run(&mut c, "SELECT 1");
    let after: u64 = rows(&mut c, "SHOW GLOBAL STATUS LIKE 'Com_select'")[0][1].parse().unwrap();
    assert!(after > before);
    let text = rows(&mut c, "SHOW ENGINE INNODB STATUS")[0][2].clone();
    for part in ["Log sequence number", "Last checkpoint at", "TRANSACTIONS", "END OF INNODB MONITOR OUTPUT"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn shutdown_by_statement() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "SHUTDOWN");
    r.server().wait();
    r.server().stop();
    assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), None);
}
