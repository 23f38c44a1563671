//! What `gtid_next` may say, and when.

use crate::common::{Running, error, one, run};
use gannet_core::vars::{Live, VarValue};

const ID: &str = "ABCDEFAB-1111-1111-1111-111111111111";

#[test]
fn gtid_next_is_refused_where_mysql_refuses_it() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    for (value, number) in [("AUTOMATIC:tag", 1235), ("x", 1774)] {
        assert_eq!(error(&mut c, &format!("SET gtid_next = '{value}'")), number, "{value}");
        assert_eq!(one(&mut c, "SELECT @@gtid_next"), "AUTOMATIC");
    }
    run(&mut c, &format!("SET gtid_next = '{ID}:1'"));
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), format!("{}:1", ID.to_lowercase()));
    // Nothing ends the transaction in the middle.
    run(&mut c, "BEGIN");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    for sql in
        ["CREATE TABLE d.u (a INT)", "DROP TABLE d.t", "CREATE USER u", "TRUNCATE d.t", "ALTER TABLE d.t ADD b INT"]
    {
        assert_eq!(error(&mut c, sql), 1778, "{sql}");
    }
    run(&mut c, "COMMIT");
    assert!(one(&mut c, "SELECT @@gtid_executed").contains(&format!("{}:1", ID.to_lowercase())));
    // As in a log of a server without GTIDs.
    run(&mut c, "SET gtid_next = 'anonymous'");
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), "ANONYMOUS");
    run(&mut c, "SET gtid_next = 'automatic'");
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), "AUTOMATIC");
    run(&mut c, "BEGIN");
    run(&mut c, "CREATE TABLE d.u (a INT)");
    assert_eq!(error(&mut c, "BINLOG ''"), 1149);
}

#[test]
fn there_are_no_gtids_without_a_log() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(false)));
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT @@gtid_mode"), "OFF");
    assert_eq!(error(&mut c, &format!("SET gtid_next = '{ID}:1'")), 1781);
    run(&mut c, "SET gtid_next = 'anonymous'");
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), "ANONYMOUS");
}
