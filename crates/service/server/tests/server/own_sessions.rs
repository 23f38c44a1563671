//! Sessions without a client: an account's rights, what stays from statement to statement, KILL, and `init_file`.

use crate::common::{Running, one, rows, run, wait_for};
use gannet_server::vars::{Live, VarValue};
use gannet_server::{Answer, OwnSession, Server, ServerOptions};
use gannet_types::Value;
use gannet_wire::client::Connection;
use std::path::Path;

/// The code of the error that the last statement failed with; 0 when it did not.
fn code(s: &mut OwnSession, sql: &str) -> u16 {
    match s.run(sql).pop() {
        Some(Answer::Failed(e)) => e.number(),
        Some(_) => 0,
        None => panic!("{sql}: no answer"),
    }
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    value.write_text(&mut out);
    String::from_utf8(out).unwrap()
}

/// The only value of the last answer, as text.
fn value(s: &mut OwnSession, sql: &str) -> String {
    match s.run(sql).pop() {
        Some(Answer::Rows { rows, .. }) => match &rows[..] {
            [row] => text(&row[0]),
            other => panic!("{sql}: {} rows", other.len()),
        },
        other => panic!("{sql}: {other:?}"),
    }
}

fn fill(c: &mut Connection) {
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE secret",
        "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(20))",
        "CREATE TABLE secret.t (id INT)",
        "CREATE USER app IDENTIFIED BY 'x'",
        "GRANT SELECT, INSERT, CREATE TEMPORARY TABLES ON d.* TO app",
    ] {
        run(c, sql);
    }
}

#[test]
fn it_has_the_rights_of_its_account_and_keeps_what_sessions_keep() {
    let r = Running::start();
    let mut c = r.connect();
    fill(&mut c);
    assert_eq!(r.server().sessions().own("nobody", "%").err().map(|e| e.number()), Some(1698));
    let mut s = r.server().sessions().own("app", "%").unwrap();
    assert_eq!(value(&mut s, "SELECT CURRENT_USER()"), "app@%");
    assert_eq!(code(&mut s, "SELECT * FROM secret.t"), 1142);
    assert_eq!(code(&mut s, "DELETE FROM d.t"), 1142);
    assert_eq!(code(&mut s, "USE secret"), 1044);
    assert_eq!(code(&mut s, "USE d"), 0);

    // Several statements, several answers; the first that fails is the last.
    let answers = s.run("INSERT INTO t (s) VALUES ('a'), ('b'); SELECT s FROM t ORDER BY id; SELECT nothing; SELECT 1");
    assert!(matches!(answers[0], Answer::Done { affected: 2, insert_id: 1, warnings: 0 }), "{answers:?}");
    match &answers[1] {
        Answer::Rows { columns, rows } => {
            assert_eq!(columns, &["s"]);
            assert_eq!(rows.iter().map(|r| text(&r[0])).collect::<Vec<_>>(), ["a", "b"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(&answers[2], Answer::Failed(e) if e.number() == 1054));
    assert_eq!(answers.len(), 3);

    // Variables, prepared statements, temporary tables, a transaction.
    s.run("SET @a = 5; PREPARE p FROM 'SELECT ? + @a'; CREATE TEMPORARY TABLE tt (x INT); INSERT INTO tt VALUES (7)");
    assert_eq!(value(&mut s, "EXECUTE p USING @a"), "10");
    assert_eq!(value(&mut s, "SELECT x FROM tt"), "7");
    s.run("BEGIN; INSERT INTO t (s) VALUES ('c')");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "2");
    s.run("COMMIT");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "3");
    // It has no client that could send a file.
    assert_eq!(code(&mut s, "LOAD DATA LOCAL INFILE 'f' INTO TABLE t"), 3948);

    // It is seen. What it holds goes with it.
    let seen = "SELECT USER, DB FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    assert_eq!(rows(&mut c, seen), [["app", "d"]]);
    s.run("BEGIN; INSERT INTO t (s) VALUES ('gone')");
    drop(s);
    assert_eq!(rows(&mut c, seen), Vec::<Vec<String>>::new());
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "3");
    run(&mut c, "SET lock_wait_timeout = 60");
    run(&mut c, "DROP TABLE d.t");
}

#[test]
fn it_is_killed_like_others() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE USER app");
    let mut s = r.server().sessions().own("app", "%").unwrap();
    let id = value(&mut s, "SELECT CONNECTION_ID()");
    let killer = std::thread::spawn(move || {
        let runs =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'SELECT B%'");
        wait_for("the statement", || one(&mut c, &runs) == "1");
        run(&mut c, &format!("KILL QUERY {id}"));
    });
    assert_eq!(code(&mut s, "SELECT BENCHMARK(10000000000, MD5('a'))"), 1317);
    killer.join().unwrap();
    assert_eq!(value(&mut s, "SELECT 1"), "1");
    // A statement's end does not leave its kill to the next one.
    assert!(matches!(s.run("SELECT 2").pop(), Some(Answer::Rows { rows, .. }) if rows[0][0] == Value::Int(2)));
}

#[test]
fn a_statement_inside_leaves_the_outer_ones_diagnostics() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT, b VARCHAR(10))");
    run(&mut c, "INSERT INTO d.t VALUES (1, 'x'), (2, 'y'), (3, 'z')");
    rows(&mut c, "SELECT SQL_CALC_FOUND_ROWS * FROM d.t LIMIT 1");
    // Reads the table by a query of its own.
    rows(&mut c, "CHECKSUM TABLE d.t");
    assert_eq!(one(&mut c, "SELECT FOUND_ROWS()"), "3");
}

fn start(dir: &Path, init_file: &Path) -> Result<Server, String> {
    let mut o = ServerOptions::new(dir);
    o.set(Live::SkipNetworking, VarValue::Int(1));
    o.set(Live::InnodbBufferPoolSize, VarValue::Int(32 << 20));
    o.set(Live::InnodbRedoLogCapacity, VarValue::Int(32 << 20));
    o.set(Live::InitFile, VarValue::text(init_file.to_str().unwrap()));
    Server::start(o)
}

#[test]
fn init_file_runs_before_anybody_can_connect_with_all_rights() {
    let dir = std::env::temp_dir().join(format!("gannet-init-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("init.sql");
    let data = dir.join("data");
    std::fs::write(
        &file,
        "-- A comment; with a semicolon.\nCREATE DATABASE made;\n# Another.\nUSE made; CREATE TABLE t (s VARCHAR(20));\n\
         INSERT INTO t\n  VALUES ('a;b');\nSET GLOBAL max_connections = 77;\nALTER USER root@localhost IDENTIFIED BY 'new';\n\
         SELECT * FROM t;\n/* the end */\n",
    )
    .unwrap();
    {
        let server = start(&data, &file).unwrap();
        let mut s = server.sessions().own("root", "localhost").unwrap();
        assert_eq!(value(&mut s, "SELECT s FROM made.t"), "a;b");
        assert_eq!(value(&mut s, "SELECT @@max_connections"), "77");
        assert_eq!(value(&mut s, "SELECT LENGTH(authentication_string) > 0 FROM mysql.user WHERE user = 'root'"), "1");
        assert_eq!(value(&mut s, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'boot'"), "0");
        drop(s);
        server.stop();
    }
    // The first that fails keeps the server from starting, and is named.
    std::fs::write(&file, "INSERT INTO made.t VALUES ('c');\nINSERT INTO made.nothing VALUES (1);\nDROP TABLE made.t;")
        .unwrap();
    let error = start(&data, &file).err().expect("it does not start");
    assert!(error.contains("init.sql: statement 2: ERROR 1146:"), "{error}");
    let error = start(&data, &dir.join("no such file")).err().expect("it does not start");
    assert!(error.contains("cannot read --init-file="), "{error}");
    // What ran before it stays, and the store is well.
    std::fs::write(&file, "").unwrap();
    let server = start(&data, &file).unwrap();
    let mut s = server.sessions().own("root", "localhost").unwrap();
    assert_eq!(value(&mut s, "SELECT COUNT(*) FROM made.t"), "2");
    drop((s, server));
    std::fs::remove_dir_all(&dir).unwrap();
}
