//! Names in metadata and texts of errors go out in `character_set_results`, and names of commands come in in
//! `character_set_client`.

use crate::common::{Running, run};
use gannet_wire::client::Connection;
use gannet_wire::flags::com;
use gannet_wire::reply::read_column;

/// The definition of the first column that a command's reply brings.
fn column(c: &mut Connection, command: u8, body: &[u8], before: usize) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    c.command(command, body).unwrap();
    for _ in 0..before {
        c.receive().unwrap();
    }
    let packet = c.receive().unwrap();
    let column = read_column(&packet).unwrap();
    (column.schema.to_vec(), column.table.to_vec(), column.name.to_vec())
}

/// A session of its own each: the replies are not read to their ends.
fn session(r: &Running, names: &str) -> Connection {
    let mut c = r.connect();
    run(&mut c, &format!("SET NAMES {names}"));
    c
}

fn message(c: &mut Connection, sql: &[u8]) -> Vec<u8> {
    c.command(com::QUERY, sql).unwrap();
    let error = c.receive_raw().unwrap();
    assert_eq!(error[0], 0xFF, "{error:?}");
    error[9..].to_vec()
}

#[test]
fn names_and_messages_are_the_clients() {
    let r = Running::start();
    let mut root = session(&r, "utf8mb4");
    run(&mut root, "CREATE DATABASE `dü`");
    run(&mut root, "CREATE TABLE `dü`.`tü` (`cü` INT DEFAULT 5, `日` INT)");
    let (latin, utf8) =
        (|s: &str| s.chars().map(|c| c as u32 as u8).collect::<Vec<u8>>(), |s: &str| s.as_bytes().to_vec());
    // An alias, and a table's column.
    assert_eq!(column(&mut session(&r, "latin1"), com::QUERY, &latin("SELECT 1 AS ü"), 1).2, latin("ü"));
    assert_eq!(column(&mut session(&r, "utf8mb3"), com::QUERY, &utf8("SELECT 1 AS ü"), 1).2, utf8("ü"));
    let mut c = session(&r, "utf8mb4");
    run(&mut c, "SET character_set_results = latin1");
    assert_eq!(column(&mut c, com::QUERY, &utf8("SELECT 1 AS `ü日`"), 1).2, latin("ü?"));
    let all = (latin("dü"), latin("tü"), latin("cü"));
    assert_eq!(column(&mut session(&r, "latin1"), com::QUERY, &latin("SELECT * FROM `dü`.`tü`"), 1), all);
    assert_eq!(column(&mut session(&r, "latin1"), com::STMT_PREPARE, &latin("SELECT * FROM `dü`.`tü`"), 1), all);
    // Names of commands.
    let mut c = session(&r, "latin1");
    c.command(com::INIT_DB, &latin("dü")).unwrap();
    c.receive().unwrap();
    assert_eq!(column(&mut c, com::FIELD_LIST, &latin("tü\0cü"), 0), all);
    // NULL and binary: as they are.
    for results in ["NULL", "binary"] {
        let mut c = session(&r, "latin1");
        run(&mut c, &format!("SET character_set_results = {results}"));
        assert_eq!(column(&mut c, com::QUERY, &latin("SELECT 1 AS ü"), 1).2, utf8("ü"));
        assert!(
            message(&mut session(&r, "utf8mb4"), &utf8("SELECT * FROM `ü`.`t`")).windows(2).any(|w| w == utf8("ü"))
        );
    }
    // A text's column has the character set of results, and room in it: 255 is utf8mb4's, 63 that of bytes.
    for (results, wanted) in [("utf8mb4", (255, 20)), ("latin1", (8, 5)), ("NULL", (33, 15)), ("binary", (63, 5))] {
        let mut c = session(&r, "utf8mb4");
        run(&mut c, &format!("SET character_set_results = {results}"));
        c.command(com::QUERY, b"SELECT CAST('a' AS CHAR(5) CHARACTER SET utf8mb3)").unwrap();
        c.receive().unwrap();
        let packet = c.receive().unwrap();
        let column = read_column(&packet).unwrap();
        assert_eq!((column.collation, column.length), wanted, "{results}");
    }
    // Messages; what a character set does not have is told by its number.
    let told = |names: &str, sql: &[u8]| {
        let text = message(&mut session(&r, names), sql);
        String::from_utf8_lossy(&text).into_owned()
    };
    let text = message(&mut session(&r, "latin1"), &latin("SELECT ü FROM mysql.user"));
    assert_eq!(text, latin("Unknown column 'ü' in 'field list'"));
    let mut c = session(&r, "utf8mb4");
    run(&mut c, "SET character_set_results = latin1");
    let text = message(&mut c, &utf8("SET time_zone = 'ü日😀'"));
    assert_eq!(text, latin("Unknown or incorrect time zone: 'ü\\65E5\\+01F600'"));
    assert_eq!(told("ascii", b"SELECT `x` FROM mysql.user"), "Unknown column 'x' in 'field list'");
}

/// A text's column tells the collation by which the character set of results was chosen, whatever literals have; also
/// where clients of others share the plan.
#[test]
fn columns_tell_the_collation_of_results() {
    let r = Running::start();
    run(&mut r.connect(), "CREATE DATABASE test");
    run(&mut r.connect(), "CREATE TABLE test.t (a VARCHAR(9) CHARACTER SET latin1)");
    let cases: &[(&[&str], u16)] = &[
        (&["SET NAMES utf8mb4"], 255),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin"], 46),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET collation_connection = utf8mb4_unicode_ci"], 46),
        (&["SET NAMES utf8mb4", "SET collation_connection = utf8mb4_bin"], 255),
        (&["SET NAMES utf8mb4", "SET collation_connection = utf8mb4_unicode_ci"], 255),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci", "SET collation_connection = utf8mb4_bin"], 224),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_connection = utf8mb4"], 46),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_client = utf8mb4"], 46),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_results = utf8mb4"], 255),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_results = DEFAULT"], 255),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET CHARACTER SET utf8mb4"], 255),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES utf8mb4"], 255),
        (&["SET character_set_results = 45"], 45),
        (&["SET NAMES latin1 COLLATE latin1_bin"], 47),
        (&["SET NAMES latin1 COLLATE latin1_bin", "SET collation_connection = latin1_german1_ci"], 47),
        (&["SET NAMES latin1", "SET character_set_results = 47"], 47),
        (&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_results = NULL"], 8),
    ];
    let told = |c: &mut Connection, sql: &str, before: usize| {
        c.command(if before > 1 { com::STMT_PREPARE } else { com::QUERY }, sql.as_bytes()).unwrap();
        (0..before.min(1)).for_each(|_| drop(c.receive().unwrap()));
        let packet = c.receive().unwrap();
        read_column(&packet).unwrap().collation
    };
    for (sets, wanted) in cases.iter().chain(cases) {
        for (sql, before) in [("SELECT a FROM test.t", 1), ("SELECT a FROM test.t", 2), ("SHOW GRANTS", 1)] {
            let mut c = r.connect();
            sets.iter().for_each(|set| run(&mut c, set));
            let wanted = if sql == "SHOW GRANTS" && *wanted == 8 { 33 } else { *wanted };
            assert_eq!(told(&mut c, sql, before), wanted, "{sets:?} {sql}");
        }
    }
}

#[test]
fn a_reset_gives_locks_up() {
    let r = Running::start();
    let (mut a, mut b) = (r.connect(), r.connect());
    run(&mut a, "DO GET_LOCK('one', 0), GET_LOCK('two', 0), GET_LOCK('two', 0)");
    assert_eq!(crate::common::one(&mut b, "SELECT GET_LOCK('two', 0)"), "0");
    a.command(com::RESET_CONNECTION, b"").unwrap();
    a.receive().unwrap();
    assert_eq!(crate::common::rows(&mut b, "SELECT IS_FREE_LOCK('one'), GET_LOCK('two', 0)"), [["1", "1"]]);
    // So does it with the locks of tables and of the whole server.
    run(&mut a, "CREATE DATABASE held");
    run(&mut a, "CREATE TABLE held.t (a INT)");
    run(&mut b, "SET lock_wait_timeout = 1");
    for lock in ["LOCK TABLES held.t WRITE", "FLUSH TABLES WITH READ LOCK", "LOCK INSTANCE FOR BACKUP"] {
        run(&mut a, lock);
        a.command(com::RESET_CONNECTION, b"").unwrap();
        a.receive().unwrap();
        run(&mut a, "INSERT INTO held.t VALUES (1)");
        run(&mut b, "ALTER TABLE held.t COMMENT = 'free'");
    }
    // The limits of an account are not locks: they stay with RELEASE_ALL_LOCKS and with a reset.
    run(&mut b, "CREATE USER limited@localhost WITH MAX_USER_CONNECTIONS 1");
    let options = gannet_wire::client::Options { user: "limited".into(), ..crate::common::options() };
    let login = || Connection::connect(&r.socket(), &options);
    let mut own = login().unwrap();
    run(&mut own, "DO GET_LOCK('mine', 0)");
    assert_eq!(crate::common::one(&mut own, "SELECT RELEASE_ALL_LOCKS()"), "1");
    assert_eq!(login().err().and_then(|e| e.code()), Some(1226));
    own.command(com::RESET_CONNECTION, b"").unwrap();
    own.receive().unwrap();
    assert_eq!(login().err().and_then(|e| e.code()), Some(1226));
}
