//! What a channel may do: REQUIRE_ROW_FORMAT, PRIVILEGE_CHECKS_USER, GTID_ONLY.

use crate::common::{self, PATIENCE, error, one, run};
use crate::relay::received;
use crate::replica::{Following, change, follow, pair, same, source, status, with_log};
use crate::replica_mariadb::last_log;
use gannet_binlog::event::{Appender, HEADER, kind};
use gannet_binlog::{Checksum, Header};
use gannet_wire::client::Connection;
use std::time::{Duration, Instant};

/// Waits until the applier has stopped, and tells why.
fn stops(q: &mut Connection) -> String {
    let until = Instant::now() + PATIENCE;
    while status(q, "Replica_SQL_Running") == "Yes" {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    format!("{} {}", status(q, "Last_SQL_Errno"), status(q, "Last_SQL_Error"))
}

fn options(q: &mut Connection, list: &str) {
    run(q, &format!("CHANGE REPLICATION SOURCE TO {list}"));
}

fn refused(q: &mut Connection, list: &str) -> u16 {
    error(q, &format!("CHANGE REPLICATION SOURCE TO {list}"))
}

fn warnings(q: &mut Connection) -> Vec<String> {
    common::rows(q, "SHOW WARNINGS").into_iter().map(|row| row[1].clone()).collect()
}

const APPLIER: &str = "SELECT PRIVILEGE_CHECKS_USER, REQUIRE_ROW_FORMAT FROM \
                       performance_schema.replication_applier_configuration";
const KEPT: &str = "SELECT Privilege_checks_username, Privilege_checks_hostname, Require_row_format FROM \
                    mysql.slave_relay_log_info";

#[test]
fn options_are_kept_and_shown() {
    let s = source();
    let mut following = Following::start(with_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    assert_eq!(common::rows(&mut q, APPLIER), [["NULL", "NO"]]);
    assert_eq!(common::rows(&mut q, KEPT), [["NULL", "NULL", "0"]]);
    assert_eq!(refused(&mut q, "SOURCE_PASSWORD = '123456789012345678901234567890123'"), 3056);
    options(&mut q, "SOURCE_PASSWORD = '12345678901234567890123456789012'");
    assert_eq!(refused(&mut q, "REQUIRE_ROW_FORMAT = 2"), 3945);
    assert_eq!(refused(&mut q, "PRIVILEGE_CHECKS_USER = ''@'%'"), 3925);
    assert_eq!(refused(&mut q, "PRIVILEGE_CHECKS_USER = 'nobody'@'%'"), 3926);
    // GTID_ONLY asks for others, and keeps them.
    assert_eq!(refused(&mut q, "GTID_ONLY = 1"), 4065);
    assert_eq!(refused(&mut q, "GTID_ONLY = 1, REQUIRE_ROW_FORMAT = 1, SOURCE_AUTO_POSITION = 0"), 4065);
    options(&mut q, "GTID_ONLY = 1, REQUIRE_ROW_FORMAT = 1");
    assert_eq!(refused(&mut q, "REQUIRE_ROW_FORMAT = 0"), 4066);
    assert_eq!(refused(&mut q, "SOURCE_AUTO_POSITION = 0"), 4067);
    let only = "SELECT c.GTID_ONLY, m.Gtid_only FROM performance_schema.replication_connection_configuration c, \
                mysql.slave_master_info m";
    run(&mut q, "CREATE USER u@'10.%'");
    options(&mut q, "PRIVILEGE_CHECKS_USER = u@'10.%'");
    // That is no password and no login.
    assert_eq!(warnings(&mut q), ["3928"]);
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    assert_eq!(common::rows(&mut q, APPLIER), [["'u'@'10.%'", "YES"]]);
    assert_eq!(common::rows(&mut q, KEPT), [["u", "10.%", "1"]]);
    assert_eq!(common::rows(&mut q, only), [["1", "1"]]);
    options(&mut q, "GTID_ONLY = 0, REQUIRE_ROW_FORMAT = 0, PRIVILEGE_CHECKS_USER = NULL");
    assert_eq!(common::rows(&mut q, APPLIER), [["NULL", "NO"]]);
    assert_eq!(common::rows(&mut q, only), [["0", "0"]]);
}

#[test]
fn statements_that_change_rows_are_refused() {
    let (s, mut c, following, mut q) = pair("(a INT PRIMARY KEY, b INT)");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1, REQUIRE_ROW_FORMAT = 1");
    for sql in [
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "UPDATE d.t SET b = 3 WHERE a = 1",
        "DELETE FROM d.t WHERE a = 2",
        "CREATE TABLE d.s SELECT * FROM d.t",
        "ALTER TABLE d.t ADD c INT",
        "CREATE TRIGGER d.tr BEFORE INSERT ON d.t FOR EACH ROW SET NEW.c = 5",
        "INSERT INTO d.t (a) VALUES (7)",
        "CREATE USER u",
        "DROP TABLE d.s",
    ] {
        run(&mut c, sql);
    }
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM mysql.user WHERE user = 'u'");
    // A statement that another server would have logged, in the place of rows.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    run(&mut c, "INSERT INTO d.t (a) VALUES (9), (12), (13), (14)");
    received(&mut c, &mut q);
    say_instead(&mut q, "INSERT INTO d.t (a) VALUES (11)");
    run(&mut q, "START REPLICA SQL_THREAD");
    assert!(stops(&mut q).starts_with("3944 "), "{}", stops(&mut q));
    options(&mut q, "REQUIRE_ROW_FORMAT = 0");
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    assert_eq!(one(&mut q, "SELECT GROUP_CONCAT(a) FROM d.t WHERE a > 8"), "11");
    for c in [&mut c, &mut q] {
        run(c, "SET sql_log_bin = 0");
        run(c, "DELETE FROM d.t WHERE a > 8");
        run(c, "SET sql_log_bin = 1");
    }
    // The replica is read only, for others.
    run(&mut q, "SET GLOBAL super_read_only = ON");
    run(&mut c, "INSERT INTO d.t (a) VALUES (8)");
    run(&mut c, "CREATE TABLE d.n (a INT)");
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    same(&mut c, &mut q, "SELECT * FROM d.n");
    assert_eq!(error(&mut q, "INSERT INTO d.n VALUES (1)"), 1290);
    run(&mut q, "SET GLOBAL super_read_only = OFF, read_only = OFF");
    drop(following);
}

/// The last rows in the relay log become a statement.
fn say_instead(q: &mut Connection, text: &str) {
    let (file, shown) = last_log(q);
    let mut bytes = std::fs::read(&file).unwrap();
    let rows = shown.iter().rposition(|row| row[2] == "Write_rows").unwrap();
    let place = |i: usize| shown[i][1].parse::<usize>().unwrap();
    // The table map goes, too.
    let (at, upto) = (place(rows - 1), place(rows + 1));
    let mut appender = Appender { server_id: 1, checksum: Checksum::Crc32, position: 0 };
    let mut out = Vec::new();
    appender.at(&mut out, Header { kind: kind::QUERY, ..Header::default() }, |out| {
        out.extend_from_slice(&[0; 14]);
        out.extend_from_slice(text.as_bytes());
    });
    let left = upto - at - out.len() - HEADER - Checksum::Crc32.bytes();
    let header = Header { kind: kind::IGNORABLE, ..Header::default() };
    appender.at(&mut out, header, |out| out.resize(out.len() + left, 0));
    bytes[at..upto].copy_from_slice(&out);
    std::fs::write(file, bytes).unwrap();
}

/// A statement stops the applier, and goes on when this is granted.
fn next(c: &mut Connection, q: &mut Connection, sql: &str, want: &str, grant: &str) {
    run(c, sql);
    let why = stops(q);
    assert!(why.starts_with(want), "{sql}: {why}");
    run(q, &format!("GRANT {grant} TO applier@localhost"));
    run(q, "START REPLICA");
    same(c, q, "SELECT * FROM d.t ORDER BY a");
}

/// With so many workers.
fn checks(workers: u32) {
    let (s, mut c, following, mut q) = pair("(a INT PRIMARY KEY, b INT)");
    run(&mut c, "CREATE TABLE d.parent (a INT PRIMARY KEY)");
    run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
    run(&mut q, "CREATE USER applier@localhost");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1, PRIVILEGE_CHECKS_USER = applier@localhost");
    assert!(stops(&mut q).starts_with("3928 "), "{}", stops(&mut q));
    run(&mut q, "GRANT REPLICATION_APPLIER, CREATE USER, CREATE ON *.* TO applier@localhost");
    run(&mut q, "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO applier@localhost WITH GRANT OPTION");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    same(&mut c, &mut q, "SELECT * FROM d.parent");
    next(&mut c, &mut q, "INSERT INTO d.t VALUES (1, 1)", "1142 INSERT command denied", "INSERT (a, b) ON d.t");
    next(&mut c, &mut q, "UPDATE d.t SET b = 2", "1142 UPDATE command denied", "UPDATE ON d.t");
    next(&mut c, &mut q, "DELETE FROM d.t", "1142 DELETE command denied", "DELETE ON d.*");
    next(&mut c, &mut q, "ALTER TABLE d.t ADD c INT", "1142 ", "ALTER ON d.*");
    // INSERT on all columns: there is another one.
    next(&mut c, &mut q, "INSERT INTO d.t VALUES (2, 2, 2)", "1142 INSERT", "INSERT ON *.*");
    next(&mut c, &mut q, "CREATE DEFINER = root@localhost VIEW d.v AS SELECT 1", "1142 ", "CREATE VIEW ON d.*");
    let why = stops(&mut q);
    assert!(why.starts_with("1227 "), "{why}");
    run(&mut q, "GRANT SET_ANY_DEFINER, SYSTEM_USER ON *.* TO applier@localhost");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.v");
    // What the source says of primary keys may not be set by everybody.
    run(&mut c, "SET sql_require_primary_key = ON");
    next(&mut c, &mut q, "CREATE TABLE d.n (a INT PRIMARY KEY)", "1227 ", "SESSION_VARIABLES_ADMIN ON *.*");
    same(&mut c, &mut q, "SELECT * FROM d.n");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "DROP USER applier@localhost");
    run(&mut c, "INSERT INTO d.n VALUES (1)");
    run(&mut q, "START REPLICA");
    assert!(stops(&mut q).starts_with("3926 "));
    options(&mut q, "PRIVILEGE_CHECKS_USER = NULL");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.n");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "1");
    drop(following);
}

#[test]
fn an_account_is_checked() {
    checks(4);
}

#[test]
fn an_account_is_checked_without_workers() {
    checks(0);
}
