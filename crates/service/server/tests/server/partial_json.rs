//! binlog_row_value_options=PARTIAL_JSON: changes of documents in the log, and at replicas.

use crate::common::{self, error, one, run};
use crate::relay::wait;
use crate::replica::{Following, follow, pair, same, status, with_log};
use gannet_wire::client::Connection;

const ALL: &str = "SELECT * FROM d.t ORDER BY a";

/// Kinds and bytes of the events of rows.
fn events(c: &mut Connection) -> Vec<(String, u64)> {
    let file = common::rows(c, "SHOW BINARY LOG STATUS").remove(0).remove(0);
    let shown = common::rows(c, &format!("SHOW BINLOG EVENTS IN '{file}'"));
    let bytes = |row: &Vec<String>| row[4].parse::<u64>().unwrap() - row[1].parse::<u64>().unwrap();
    shown.iter().filter(|row| row[2].contains("_rows")).map(|row| (row[2].clone(), bytes(row))).collect()
}

fn changes(image: &str, workers: u32) {
    let columns = "(a INT PRIMARY KEY, j JSON, t VARCHAR(10), k JSON, u INT, UNIQUE (u))";
    let (s, mut c, following, mut q) = pair(columns);
    run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
    // A replica of the replica, which logs as the first one does.
    run(&mut q, "SET GLOBAL binlog_row_value_options = 'PARTIAL_JSON'");
    run(&mut q, &format!("SET GLOBAL binlog_row_image = {image}"));
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, &format!("SET binlog_row_image = {image}"));
    run(&mut c, "SET binlog_row_value_options = 'PARTIAL_JSON'");
    let long = "x".repeat(2000);
    run(
        &mut c,
        &format!("INSERT INTO d.t VALUES (1, '{{\"a\": 1, \"l\": \"{long}\", \"c\": [1, 2, 3]}}', 'x', '{{}}', 1)"),
    );
    run(&mut c, &format!("INSERT INTO d.t VALUES (2, '[1, \"{long}\"]', NULL, NULL, 2), (3, NULL, 'z', '7', 3)"));
    let before = events(&mut c).len();
    for sql in [
        "UPDATE d.t SET j = JSON_SET(j, '$.a', 2) WHERE a = 1",
        "UPDATE d.t SET j = JSON_REPLACE(j, '$.c[1]', JSON_OBJECT('deep', TRUE)), k = JSON_SET(k, '$.new', 'v') WHERE a = 1",
        "UPDATE d.t SET j = JSON_REMOVE(j, '$.c[0]', '$.a'), u = 11 WHERE a = 1",
        "UPDATE d.t SET j = JSON_ARRAY_INSERT(j, '$[0]', CAST('1.50' AS DECIMAL(5,2))) WHERE a = 2",
        "UPDATE d.t SET j = JSON_ARRAY_APPEND(j, '$', NOW()), t = 'y' WHERE a = 2",
        // Rows of one event: a document of one is whole, as NULL is.
        "UPDATE d.t SET j = CASE a WHEN 3 THEN '{\"is\": \"new\"}' WHEN 2 THEN JSON_SET(j, '$[0]', 'first') ELSE \
         JSON_SET(j, '$.d', 1.0) END, k = NULL",
        "UPDATE d.t SET j = NULL WHERE a = 2",
        "UPDATE d.t SET t = 'only' WHERE a = 1",
        "UPDATE d.t SET a = 4 WHERE a = 1",
    ] {
        run(&mut c, sql);
    }
    let logged = events(&mut c)[before..].to_vec();
    assert!(logged.iter().all(|(kind, _)| kind == "Update_rows_partial"), "{logged:?}");
    // A document that has not changed is not there, and of others a part.
    let (small, bound) = (logged.iter().filter(|(_, bytes)| *bytes < 300).count(), if image == "FULL" { 0 } else { 6 });
    assert!(small >= bound && logged.iter().all(|(_, bytes)| *bytes < 2 * 2300 + 4200), "{image}: {logged:?}");
    same(&mut c, &mut q, ALL);
    // The same without it.
    run(&mut c, "SET binlog_row_value_options = ''");
    run(&mut c, "UPDATE d.t SET j = JSON_SET(j, '$.a', 9) WHERE a = 4");
    assert_eq!(one(&mut c, "SELECT @@binlog_row_value_options"), "");
    assert_eq!(events(&mut c).last().unwrap().0, "Update_rows", "{:?}", events(&mut c));
    same(&mut c, &mut q, ALL);
    // Compressed, in a transaction, and undone in part.
    for sql in [
        "SET binlog_row_value_options = 'PARTIAL_JSON', binlog_transaction_compression = ON",
        "BEGIN",
        "UPDATE d.t SET j = JSON_SET(j, '$.a', 10) WHERE a = 4",
        "SAVEPOINT s",
        "UPDATE d.t SET j = JSON_SET(j, '$.a', 11) WHERE a = 4",
        "ROLLBACK TO s",
        "UPDATE d.t SET j = JSON_SET(j, '$.b', 12) WHERE a = 4",
        "COMMIT",
    ] {
        run(&mut c, sql);
    }
    same(&mut c, &mut q, ALL);
    assert_eq!(status(&mut q, "Last_SQL_Error"), "");
    let theirs: Vec<_> = events(&mut q).into_iter().filter(|(kind, _)| kind.starts_with("Update")).collect();
    assert!(theirs.iter().any(|(kind, _)| kind == "Update_rows_partial"), "{theirs:?}");
    // A second one that starts from the beginning of the first's log.
    let last = Following::start(with_log_of_third);
    let mut l = last.r.connect();
    run(&mut q, "CREATE USER IF NOT EXISTS reader IDENTIFIED BY 'secret'");
    run(&mut q, "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader");
    follow(&mut l, &following.r, "SOURCE_AUTO_POSITION = 1");
    same(&mut q, &mut l, ALL);
}

fn with_log_of_third(o: &mut gannet_server::ServerOptions) {
    with_log(o);
    o.set(gannet_core::vars::Live::ServerId, gannet_core::vars::VarValue::Int(3));
}

#[test]
fn changes_of_documents_go_on_with_whole_images() {
    changes("FULL", 4);
}

#[test]
fn changes_of_documents_go_on_with_images_of_what_has_changed() {
    changes("MINIMAL", 4);
}

#[test]
fn changes_of_documents_go_on_without_long_columns() {
    changes("NOBLOB", 0);
}

/// The replica has another document, in which the place is not.
#[test]
fn changes_that_do_not_fit_stop_a_replica() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY, j JSON)");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "SET GLOBAL binlog_row_value_options = 'PARTIAL_JSON', binlog_row_image = MINIMAL");
    let mut c = s.connect();
    let long = "x".repeat(500);
    run(&mut c, &format!("INSERT INTO d.t VALUES (1, '{{\"a\": {{\"b\": 1}}, \"l\": \"{long}\"}}')"));
    same(&mut c, &mut q, ALL);
    run(&mut q, "SET sql_log_bin = 0");
    run(&mut q, "UPDATE d.t SET j = '{\"a\": 5}'");
    run(&mut c, "UPDATE d.t SET j = JSON_SET(j, '$.a.b', 2)");
    wait(&mut q, "Last_SQL_Errno", "3648");
    assert!(status(&mut q, "Last_SQL_Error").contains("Could not apply JSON diff in table t, column j."));
    run(&mut q, "UPDATE d.t SET j = '{\"a\": {\"b\": 0}, \"own\": 1}'");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_SQL_Running", "Yes");
    run(&mut c, "INSERT INTO d.t VALUES (2, NULL)");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.t");
    assert_eq!(one(&mut q, "SELECT j FROM d.t WHERE a = 1"), "{\"a\": {\"b\": 2}, \"own\": 1}");
    for wrong in ["'PARTIAL'", "2", "NULL"] {
        assert_eq!(error(&mut c, &format!("SET binlog_row_value_options = {wrong}")), 1231, "{wrong}");
    }
    for (value, shown) in [("0", ""), ("1", "PARTIAL_JSON"), ("''", ""), ("DEFAULT", "PARTIAL_JSON")] {
        run(&mut c, &format!("SET SESSION binlog_row_value_options = {value}"));
        assert_eq!(one(&mut c, "SELECT @@binlog_row_value_options"), shown, "{value}");
    }
}
