//! Cursors: COM_STMT_EXECUTE with CURSOR_TYPE_READ_ONLY, COM_STMT_FETCH, and results without metadata.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Arg, Connection, Options, Statement};
use gannet_wire::flags::{cap, com, status};

fn multi(r: &Running, capabilities: u32, without: u32) -> Connection {
    Connection::connect(&r.socket(), &Options { capabilities, without, database: Some("d".into()), ..options() })
        .unwrap()
}

fn fetch_error(c: &mut Connection, s: &Statement) -> Option<u16> {
    c.fetch(s, 1).unwrap_err().code()
}

#[test]
fn rows_come_as_they_are_asked_for() {
    let r = Running::start();
    {
        let mut c = r.connect();
        run(&mut c, "CREATE DATABASE d");
        run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY)");
        run(&mut c, "INSERT INTO d.t VALUES (1), (2), (3), (4), (5)");
    }
    for without in [0, cap::DEPRECATE_EOF] {
        let mut c = multi(&r, 0, without);
        let s = c.prepare("SELECT id FROM t WHERE id > ? ORDER BY id").unwrap();
        assert_eq!(fetch_error(&mut c, &s), Some(1421));
        let ok = c.open_cursor(&s, &[Arg::Int(1)]).unwrap();
        assert_eq!(ok.status & status::LAST_ROW_SENT, 0);
        // Other statements go on in between, changes of the rows too: the cursor does not see them.
        run(&mut c, "UPDATE t SET id = id + 10 WHERE id = 5");
        let got = c.fetch(&s, 3).unwrap();
        assert_eq!(
            (got.texts().concat().join(" ").as_str(), got.ok.status & status::CURSOR_EXISTS != 0),
            ("2 3 4", true)
        );
        let got = c.fetch(&s, 1).unwrap();
        assert_eq!((got.texts().concat().join(" ").as_str(), got.ok.status & status::LAST_ROW_SENT), ("5", 0));
        let got = c.fetch(&s, 1).unwrap();
        assert!(got.rows.is_empty() && got.ok.status & status::LAST_ROW_SENT != 0);
        assert_eq!(fetch_error(&mut c, &s), Some(1421));
        run(&mut c, "UPDATE t SET id = 5 WHERE id = 15");

        // COM_STMT_RESET, a new execution and COM_RESET_CONNECTION close it; COMMIT does not.
        c.open_cursor(&s, &[Arg::Int(0)]).unwrap();
        c.command(com::STMT_RESET, &s.id.to_le_bytes()).unwrap();
        c.receive().unwrap();
        assert_eq!(fetch_error(&mut c, &s), Some(1421));
        c.open_cursor(&s, &[Arg::Int(0)]).unwrap();
        assert_eq!(c.execute(&s, &[Arg::Int(3)]).unwrap().rows.len(), 2);
        assert_eq!(fetch_error(&mut c, &s), Some(1421));
        run(&mut c, "BEGIN");
        c.open_cursor(&s, &[Arg::Int(3)]).unwrap();
        run(&mut c, "COMMIT");
        assert_eq!(c.fetch(&s, 100).unwrap().rows.len(), 2);
        // What has no rows opens none, and fails as ever.
        let u = c.prepare("UPDATE t SET id = id WHERE id = ?").unwrap();
        assert_eq!(c.open_cursor(&u, &[Arg::Int(3)]).unwrap().status & status::CURSOR_EXISTS, 0);
        assert_eq!(fetch_error(&mut c, &u), Some(1421));
        let e = c.prepare("SELECT id FROM t WHERE id = (SELECT id FROM t WHERE id > ?)").unwrap();
        assert_eq!(c.open_cursor(&e, &[Arg::Int(1)]).unwrap_err().code(), Some(1242));
        c.close(&s).unwrap();
        assert_eq!(fetch_error(&mut c, &s), Some(1243));
        assert_eq!(one(&mut c, "SELECT 1"), "1");
    }
}

#[test]
fn long_results_lie_in_a_file() {
    let r = Running::start();
    run(&mut r.connect(), "CREATE DATABASE d");
    let mut c = multi(&r, cap::MULTI_STATEMENTS, 0);
    run(&mut c, "SET cte_max_recursion_depth = 1000000");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300), d DATETIME(3))");
    run(
        &mut c,
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) \
         SELECT i, IF(i % 7 = 0, NULL, REPEAT(CHAR(65 + i % 26), i % 300)), '2026-01-02 03:04:05.678' FROM n",
    );
    let s = c.prepare("SELECT * FROM t ORDER BY id").unwrap();
    let whole = c.execute(&s, &[]).unwrap();
    for step in [1000, 1, 7, 999, 100_000] {
        c.open_cursor(&s, &[]).unwrap();
        let mut got = Vec::new();
        loop {
            let part = c.fetch(&s, step).unwrap();
            got.extend(part.rows);
            if part.ok.status & status::LAST_ROW_SENT != 0 {
                break;
            }
            // One row at a time of all takes long.
            if step == 1 && got.len() == 50 {
                break;
            }
        }
        assert_eq!(got[..], whole.rows[..got.len()], "{step}");
        assert!(step == 1 || got.len() == 8000);
    }
    // A row longer than what is read at once.
    let s = c.prepare("SELECT REPEAT('x', 500000) UNION ALL SELECT 'y'").unwrap();
    c.open_cursor(&s, &[]).unwrap();
    let got = c.fetch(&s, 10).unwrap().texts();
    assert_eq!((got[0][0].len(), got[1][0].as_str()), (500_000, "y"));
    assert_eq!(rows(&mut c, "SELECT COUNT(*) FROM t"), [["8000"]]);
}

#[test]
fn metadata_can_be_left_out() {
    let r = Running::start();
    {
        let mut c = r.connect();
        run(&mut c, "CREATE DATABASE d");
        // A client that does not know of it gets everything.
        assert_eq!(error(&mut c, "SET resultset_metadata = NONE"), 3640);
        assert_eq!(c.query("SELECT 1 AS a").unwrap().columns[0].name, "a");
    }
    for without in [0, cap::DEPRECATE_EOF] {
        let mut c = multi(&r, cap::OPTIONAL_RESULTSET_METADATA, without);
        assert_eq!(c.query("SELECT 1 AS a, 2").unwrap().columns[0].name, "a");
        run(&mut c, "SET resultset_metadata = NONE");
        for sql in ["SELECT 1 AS a, 2", "SELECT 1 AS a, 2", "SHOW VARIABLES LIKE 'port'"] {
            let got = c.query(sql).unwrap();
            assert_eq!((got.columns[0].name.as_str(), got.rows[0].len()), ("", 2));
        }
        run(&mut c, "SET resultset_metadata = FULL");
        assert_eq!(c.query("SELECT 1 AS a, 2").unwrap().columns[0].name, "a");
    }
}
