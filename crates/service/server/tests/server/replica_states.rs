//! What a replica says of itself: before it has a source, where it stands, and why it cannot connect.

use crate::common::{self, PATIENCE, error, one, run};
use crate::relay::wait;
use crate::replica::{Following, change, follow, pair, source, status, without_log};
use gannet_wire::client::{Address, Connection};
use gannet_wire::flags::ty;
use std::time::{Duration, Instant};

/// Waits until it has stopped receiving; the number and the text of why.
fn failed(q: &mut Connection) -> (String, String) {
    let until = Instant::now() + PATIENCE;
    while status(q, "Replica_IO_Running") != "No" {
        assert!(Instant::now() < until, "it goes on receiving");
        std::thread::sleep(Duration::from_millis(10));
    }
    (status(q, "Last_IO_Errno"), status(q, "Last_IO_Error"))
}

#[test]
fn the_columns_are_there_without_a_source() {
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    let kinds = |q: &mut Connection| {
        let set = q.query("SHOW REPLICA STATUS").unwrap();
        let kinds: Vec<_> = set.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        (kinds, set.texts().len())
    };
    let (none, rows) = kinds(&mut q);
    assert_eq!((none.len(), rows), (60, 0));
    let kind = |name: &str| none.iter().find(|(n, _)| n == name).map(|(_, kind)| *kind);
    for number in ["Source_Port", "Seconds_Behind_Source", "SQL_Remaining_Delay", "Exec_Source_Log_Pos"] {
        assert_eq!(kind(number), Some(ty::LONGLONG), "{number}");
    }
    assert_eq!(kind("Source_Host"), Some(ty::VAR_STRING));
    assert!(common::rows(&mut q, "SHOW RELAYLOG EVENTS").is_empty());
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h', SOURCE_USER = 'u'");
    assert_eq!(kinds(&mut q), (none, 1));
}

#[test]
fn names_of_channels_and_values_of_options_are_checked() {
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    for (options, number) in [
        ("SOURCE_HOST = 'a\\nb'", 1525),
        ("SOURCE_USER = 'a\\nb'", 1525),
        ("SOURCE_HOST = 'h' FOR CHANNEL ' x'", 3076),
        ("SOURCE_HOST = 'h' FOR CHANNEL 'x '", 3076),
    ] {
        assert_eq!(error(&mut q, &format!("CHANGE REPLICATION SOURCE TO {options}")), number, "{options}");
    }
    // A name is the same in any case, and shown in small letters.
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a' FOR CHANNEL 'Ch One'");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'b' FOR CHANNEL 'CH ONE'");
    let shown = one(
        &mut q,
        "SELECT GROUP_CONCAT(CHANNEL_NAME, '/', HOST) FROM \
                             performance_schema.replication_connection_configuration",
    );
    assert_eq!(shown, "ch one/b");
    let until = "START REPLICA UNTIL SOURCE_LOG_FILE = 'a.000001', SOURCE_LOG_POS = 0 FOR CHANNEL 'ch one'";
    assert_eq!(error(&mut q, until), 1277);
}

/// With what it has already the source tells where its log stands, so that nobody waits for that place for ever.
#[test]
fn a_replica_that_has_all_stands_where_its_source_does() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for begin in ["INSERT INTO d.t VALUES (2)", "INSERT INTO d.t VALUES (3)"] {
        run(&mut c, begin);
        let end = common::rows(&mut c, "SHOW BINARY LOG STATUS").remove(0);
        let place = format!("SELECT SOURCE_POS_WAIT('{}', {}, 30) >= 0", end[0], end[1]);
        assert_eq!(one(&mut q, &place), "1");
        run(&mut q, "STOP REPLICA");
        run(&mut q, "START REPLICA");
        assert_eq!(one(&mut q, &place), "1");
        wait(&mut q, "Replica_IO_State", "Waiting for source to send event");
        let places = [
            ("Source_Log_File", &end[0]),
            ("Read_Source_Log_Pos", &end[1]),
            ("Relay_Source_Log_File", &end[0]),
            ("Exec_Source_Log_Pos", &end[1]),
        ];
        places.iter().for_each(|(name, want)| wait(&mut q, name, want));
        wait(&mut q, "Seconds_Behind_Source", "0");
        assert!(status(&mut q, "Replica_SQL_Running_State").starts_with("Replica has read all relay log"));
    }
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "3");
}

#[test]
fn it_says_why_it_cannot_connect() {
    let s = source();
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    let (closed, _held) = crate::replica_failover::nobodys_port();
    change(&mut q, &s, &format!("SOURCE_AUTO_POSITION = 1, SOURCE_RETRY_COUNT = 2, SOURCE_PORT = {closed}"));
    run(&mut q, "START REPLICA IO_THREAD");
    let (number, text) = failed(&mut q);
    assert_eq!(number, "2003");
    assert!(text.contains("This was attempt 2/2, with a delay of 1 seconds"), "{text}");
    assert!(text.ends_with(&format!(":{closed}' (111)")), "{text}");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'no.such.host.invalid', SOURCE_RETRY_COUNT = 1");
    run(&mut q, "START REPLICA IO_THREAD");
    let (number, text) = failed(&mut q);
    assert_eq!(number, "2005");
    assert!(
        text.contains("attempt 1/1") && text.contains("Unknown MySQL server host 'no.such.host.invalid'"),
        "{text}"
    );
    // An account that may sign in, and not read.
    run(&mut s.connect(), "REVOKE REPLICATION SLAVE ON *.* FROM reader");
    let Address::Tcp(host, port) = s.tcp() else { panic!("TCP") };
    run(&mut q, &format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}"));
    run(&mut q, "START REPLICA IO_THREAD");
    let (number, text) = failed(&mut q);
    assert_eq!(number, "13120");
    assert!(text.starts_with("Source command COM_REGISTER_REPLICA failed: Access denied for user 'reader'"), "{text}");
    assert!(text.ends_with("(Errno: 1045)"), "{text}");
}

/// A row that is there already is no obstacle that passes: it is not counted as one.
#[test]
fn what_cannot_be_applied_is_no_retry() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY)");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    crate::replica::same(&mut c, &mut q, "SELECT * FROM d.t");
    run(&mut q, "SET sql_log_bin = 0");
    run(&mut q, "INSERT INTO d.t VALUES (1)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Last_SQL_Errno") != "1062" {
        assert!(Instant::now() < until, "it was applied");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sums = "SELECT SUM(COUNT_TRANSACTIONS_RETRIES) FROM performance_schema.replication_applier_status";
    assert_eq!(one(&mut q, sums), "0");
    let last = "SELECT MAX(APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER) FROM \
                performance_schema.replication_applier_status_by_worker";
    assert_eq!(one(&mut q, last), "0");
}

/// As in MySQL these end a transaction, whether or not they can do what they say.
#[test]
fn statements_about_replication_commit() {
    let (_s, _c, following, mut q) = pair("(a INT PRIMARY KEY)");
    run(&mut q, "CREATE DATABASE own");
    run(&mut q, "CREATE TABLE own.t (a INT)");
    let mut other = following.r.connect();
    for (statement, number) in [
        ("START REPLICA", Some(1200)),
        ("STOP REPLICA", None),
        ("RESET REPLICA", None),
        ("CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 60", None),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB = ()", None),
        ("RESET BINARY LOGS AND GTIDS", None),
        ("INSTALL PLUGIN x SONAME 'x.so'", Some(1235)),
        ("INSTALL COMPONENT 'file://x'", Some(3529)),
    ] {
        run(&mut q, "TRUNCATE own.t");
        run(&mut q, "BEGIN");
        run(&mut q, "INSERT INTO own.t VALUES (1)");
        assert_eq!(q.query(statement).err().and_then(|e| e.code()), number, "{statement}");
        run(&mut q, "ROLLBACK");
        assert_eq!(one(&mut other, "SELECT COUNT(*) FROM own.t"), "1", "{statement}");
        run(&mut q, "XA START 'x'");
        assert_eq!(error(&mut q, statement), 1399, "{statement}");
        run(&mut q, "XA END 'x'");
        run(&mut q, "XA ROLLBACK 'x'");
    }
    // What applies may wait for tables that are locked here.
    run(&mut q, "LOCK TABLES own.t READ");
    assert_eq!(error(&mut q, "STOP REPLICA"), 1192);
    assert_eq!(error(&mut q, "RESET BINARY LOGS AND GTIDS"), 1192);
    run(&mut q, "RESET REPLICA");
}
