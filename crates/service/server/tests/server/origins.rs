//! What transactions tell of the server that committed them first: over replicas, and from a session that does again
//! what `mysqlbinlog` prints.

use crate::common::{PATIENCE, Running, error, one, options, run};
use crate::replica::{Following, follow, same, source, status, with_log};
use gannet_binlog::format::Gtid;
use gannet_binlog::{Checksum, Event};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::com;
use std::time::{Duration, Instant};

/// The first events of a server's transactions; of its first file.
fn gtids(r: &Running, c: &mut Connection) -> Vec<Gtid> {
    // They are in the file.
    run(c, "SHOW BINARY LOG STATUS");
    let bytes = std::fs::read(r.dir.join("binlog.000001")).unwrap();
    let (mut out, mut rest) = (Vec::new(), &bytes[4..]);
    while let Some(e) = Event::first(rest, Checksum::Crc32).unwrap() {
        if e.header.kind == 33 {
            out.push(Gtid::decode(e.body).unwrap());
        }
        rest = &rest[e.bytes.len()..];
    }
    out
}

/// What the last transaction says of its first server: `own`, or time and version.
fn last(r: &Running, c: &mut Connection) -> (Option<u64>, Option<u32>) {
    let gtid = gtids(r, c).pop().unwrap();
    assert_eq!(gtid.server_version, 80400);
    assert!(gtid.committed_us > 1_700_000_000_000_000);
    let time = (gtid.first_committed_us != gtid.committed_us).then_some(gtid.first_committed_us);
    (time, (gtid.first_server_version != 80400).then_some(gtid.first_server_version))
}

const SHOWN: &str = "SELECT CONCAT_WS(' ', @@original_commit_timestamp, @@session.original_server_version, \
                     @@immediate_server_version)";
const NOTHING: &str = "36028797018963968 999999 999999";

#[test]
fn a_session_says_where_a_transaction_comes_from() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    assert_eq!(one(&mut c, SHOWN), NOTHING);
    assert_eq!(last(&r, &mut c), (None, None));
    let say = |c: &mut Connection| {
        run(c, "/*!80001 SET @@session.original_commit_timestamp=1577836800000001*/");
        run(c, "/*!80014 SET @@session.original_server_version=80036*/");
        run(c, "/*!80014 SET @@session.immediate_server_version=80037*/");
    };
    let told = (Some(1_577_836_800_000_001), Some(80036));
    // A definition, a row with its commit, a transaction, an empty one, a table with its rows, an account.
    let uuid = "11111111-1111-1111-1111-111111111111";
    let both = ["SET binlog_transaction_compression = ON", "BEGIN", "INSERT INTO d.t VALUES (2)", "COMMIT"];
    let empty = [&*format!("SET gtid_next = '{uuid}:1'"), "BEGIN", "COMMIT", "SET gtid_next = AUTOMATIC"];
    let branch = ["XA START 'b'", "INSERT INTO d.t VALUES (7)", "XA END 'b'", "XA PREPARE 'b'"];
    for statements in [
        &["CREATE TABLE d.t (a INT PRIMARY KEY)"][..],
        &["INSERT INTO d.t VALUES (1)"],
        &both,
        &["SET binlog_transaction_compression = OFF", "INSERT INTO d.t VALUES (3), (4)"],
        &empty,
        &["CREATE TABLE d.u AS SELECT * FROM d.t"],
        &["CREATE USER u IDENTIFIED BY 'p'"],
        &["GRANT SELECT ON d.* TO u"],
        &branch,
        &["XA ROLLBACK 'b'"],
        &["ALTER TABLE d.t ADD b INT"],
        &["SET sql_log_bin = 0", "DELETE FROM d.u", "SET sql_log_bin = 1", "DELETE FROM d.t WHERE a = 4"],
    ] {
        say(&mut c);
        assert_eq!(one(&mut c, SHOWN), "1577836800000001 80036 80037");
        statements.iter().for_each(|sql| run(&mut c, sql));
        assert_eq!(last(&r, &mut c), told, "{statements:?}");
        assert_eq!(one(&mut c, SHOWN), NOTHING, "{statements:?}");
        // It is said of one transaction.
        run(&mut c, "CREATE DATABASE e");
        assert_eq!(last(&r, &mut c), (None, None), "{statements:?}");
        run(&mut c, "DROP DATABASE e");
    }
    // What is rolled back was not it.
    say(&mut c);
    for sql in ["BEGIN", "INSERT INTO d.t VALUES (5, 5)", "ROLLBACK"] {
        run(&mut c, sql);
    }
    assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (1, 5)"), 1062);
    assert_eq!(error(&mut c, "CREATE DATABASE d"), 1007);
    run(&mut c, "INSERT INTO d.t VALUES (5, 5)");
    assert_eq!(last(&r, &mut c), told);
    // One of the two; a time of 0 is one that nobody knows.
    run(&mut c, "SET original_server_version = 50744");
    run(&mut c, "INSERT INTO d.t VALUES (6, 5)");
    assert_eq!(last(&r, &mut c), (None, Some(50744)));
    run(&mut c, "SET original_commit_timestamp = 0");
    run(&mut c, "INSERT INTO d.t VALUES (7, 5)");
    assert_eq!(last(&r, &mut c), (Some(0), None));
    say(&mut c);
    run(&mut c, "SET original_commit_timestamp = DEFAULT, original_server_version = DEFAULT");
    run(&mut c, "INSERT INTO d.t VALUES (8, 5)");
    assert_eq!(last(&r, &mut c), (None, None));
    // Nothing is left for who has the connection next.
    say(&mut c);
    c.command(com::RESET_CONNECTION, b"").unwrap();
    c.receive().unwrap();
    assert_eq!(one(&mut c, SHOWN), NOTHING);
    run(&mut c, "INSERT INTO d.t VALUES (9, 5)");
    assert_eq!(last(&r, &mut c), (None, None));
}

#[test]
fn who_may_say_where_a_transaction_comes_from() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE USER u IDENTIFIED BY 'p'");
    let user = Options { user: "u".into(), password: "p".into(), ..options() };
    let mut u = Connection::connect(&r.socket(), &user).unwrap();
    let names = ["original_commit_timestamp", "original_server_version", "immediate_server_version"];
    for name in names {
        assert_eq!(error(&mut u, &format!("SET {name} = 1")), 1227);
        assert_eq!(error(&mut c, &format!("SET GLOBAL {name} = 1")), 1228);
        assert_eq!(error(&mut c, &format!("SELECT @@global.{name}")), 1238);
        assert_eq!(error(&mut c, &format!("SET {name} = 'x'")), 1232);
        run(&mut c, &format!("SET {name} = -1"));
        assert_eq!(one(&mut c, "SHOW WARNINGS"), "Warning");
        assert_eq!(one(&mut c, &format!("SELECT @@{name}")), "0");
    }
    run(&mut c, "SET original_commit_timestamp = 36028797018963969");
    assert_eq!(one(&mut c, "SHOW WARNINGS"), "Warning");
    assert_eq!(one(&mut c, "SELECT @@original_commit_timestamp"), "36028797018963968");
    run(&mut c, "GRANT REPLICATION_APPLIER ON *.* TO u");
    let mut u = Connection::connect(&r.socket(), &user).unwrap();
    names.iter().for_each(|name| run(&mut u, &format!("SET {name} = 1")));
    assert_eq!(one(&mut u, SHOWN), "1 1 1");
}

#[test]
fn replicas_of_replicas_tell_the_first_server() {
    let s = source();
    let mut c = s.connect();
    let a = Following::start(with_log);
    let mut p = a.r.connect();
    follow(&mut p, &s, "SOURCE_AUTO_POSITION = 1");
    let b = Following::start(|o| {
        o.set(Live::LogBin, VarValue::bool(true));
        o.set(Live::ServerId, VarValue::Int(4));
    });
    let mut q = b.r.connect();
    same(&mut c, &mut p, "SELECT COUNT(*) FROM mysql.user WHERE user = 'reader'");
    follow(&mut q, &a.r, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    run(&mut c, "SET original_commit_timestamp = 1577836800000001, original_server_version = 50744");
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    for sql in ["XA START 'b'", "INSERT INTO d.t VALUES (3)", "XA END 'b'", "XA PREPARE 'b'", "XA COMMIT 'b'"] {
        run(&mut c, sql);
    }
    run(&mut c, "SET binlog_transaction_compression = ON");
    run(&mut c, "CREATE TABLE d.u AS SELECT * FROM d.t");
    run(&mut c, "INSERT INTO d.u VALUES (7)");
    same(&mut c, &mut p, "SELECT * FROM d.u ORDER BY 1");
    same(&mut c, &mut q, "SELECT * FROM d.u ORDER BY 1");
    let all = [gtids(&s, &mut c), gtids(&a.r, &mut p), gtids(&b.r, &mut q)];
    let first = |g: &Gtid| (g.number, g.first_committed_us, g.first_server_version);
    let firsts = all.each_ref().map(|gtids| gtids.iter().map(first).collect::<Vec<_>>());
    assert!(firsts[0].len() >= 10);
    assert!(firsts[0].iter().any(|f| (f.1, f.2) == (1_577_836_800_000_001, 50744)));
    assert_eq!(firsts[0], firsts[1]);
    assert_eq!(firsts[0], firsts[2]);
    for (i, own) in all[0].iter().enumerate() {
        let times = all.each_ref().map(|gtids| gtids[i].committed_us);
        assert!(times.is_sorted() && times[0] < times[2], "{own:?} {times:?}");
        assert!(all.iter().all(|gtids| gtids[i].server_version == 80400));
    }
    // The tables of the last one: when the first server committed it, and when the one that it follows did.
    let last = all[0].last().unwrap().committed_us;
    let shown = |what: &str| {
        format!(
            "SELECT MAX(CAST(UNIX_TIMESTAMP(LAST_APPLIED_TRANSACTION_{what}_COMMIT_TIMESTAMP) * 1000000 AS UNSIGNED)) \
             FROM performance_schema.replication_applier_status_by_worker"
        )
    };
    assert_eq!(one(&mut q, &shown("ORIGINAL")), last.to_string());
    assert_eq!(one(&mut q, &shown("IMMEDIATE")), all[1].last().unwrap().committed_us.to_string());
    assert_eq!((status(&mut p, "Last_SQL_Errno"), status(&mut q, "Last_SQL_Errno")), ("0".into(), "0".into()));
}

#[test]
fn a_delay_counts_from_the_commit() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.t");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 3");
    run(&mut q, "START REPLICA");
    // It began long before.
    run(&mut c, "BEGIN");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    std::thread::sleep(Duration::from_secs(3));
    let committed = Instant::now();
    run(&mut c, "COMMIT");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.t");
    // Its time is that of a clock that may be set, and is told in seconds.
    assert!(committed.elapsed() >= Duration::from_millis(1900), "{:?}", committed.elapsed());
}

#[test]
fn statements_of_a_source_may_be_slow() {
    let s = source();
    let mut c = s.connect();
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    run(&mut q, "SET GLOBAL long_query_time = 0, GLOBAL log_output = 'TABLE', GLOBAL slow_query_log = ON");
    run(&mut c, "CREATE DATABASE d");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "CREATE TABLE d.t (a INT)");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.t");
    let told = "SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE 'CREATE TABLE d.%'";
    run(&mut q, "SET GLOBAL log_slow_replica_statements = ON");
    run(&mut c, "CREATE TABLE d.u (a INT)");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.u");
    // It is asked when it starts.
    assert_eq!(one(&mut q, told), "0");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "START REPLICA");
    run(&mut c, "CREATE TABLE d.v (a INT)");
    run(&mut c, "INSERT INTO d.v VALUES (1)");
    same(&mut c, &mut q, "SELECT COUNT(*) FROM d.v");
    let until = Instant::now() + PATIENCE;
    while one(&mut q, told) == "0" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(one(&mut q, told), "1");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE 'INSERT%'"), "0");
    run(&mut q, "SET GLOBAL slow_query_log = OFF");
}

#[test]
fn a_branch_ends_the_transaction_with_its_gtid() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let uuid = "11111111-1111-1111-1111-111111111111";
    let before = gtids(&r, &mut c).len();
    let next = |c: &mut Connection, n: u32| run(c, &format!("SET gtid_next = '{uuid}:{n}'"));
    for (n, row, end) in [(1, "INSERT INTO d.t VALUES (1)", "COMMIT"), (3, "DO 1", "ROLLBACK")] {
        next(&mut c, n);
        for sql in ["XA START 'b'", row, "XA END 'b'", "XA PREPARE 'b'"] {
            run(&mut c, sql);
        }
        assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
        next(&mut c, n + 1);
        run(&mut c, &format!("XA {end} 'b'"));
        assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
    }
    // A definition that is kept out of the log lets go of it.
    next(&mut c, 5);
    run(&mut c, "SET sql_log_bin = 0");
    run(&mut c, "CREATE TABLE d.u (a INT)");
    assert_eq!(one(&mut c, "SELECT @@gtid_owned"), "");
    run(&mut c, "SET gtid_next = AUTOMATIC");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "1");
    let shown = gtids(&r, &mut c);
    let own: Vec<u64> = shown[before..].iter().map(|g| g.number).collect();
    assert_eq!(own, [1, 2, 3, 4]);
    assert!(one(&mut c, "SELECT @@gtid_executed").contains(&format!("{uuid}:1-4")));
}

/// What BINLOG does with `pseudo_replica_mode`, as mysqlbinlog sets it, comes from a server that is not known.
#[test]
fn what_is_done_again_comes_from_elsewhere() {
    let r = Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)));
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut c, "SHOW BINARY LOG STATUS");
    let bytes = std::fs::read(r.dir.join("binlog.000001")).unwrap();
    let described = Event::first(&bytes[4..], Checksum::Crc32).unwrap().unwrap();
    let hex: String = described.bytes.iter().map(|b| format!("{b:02x}")).collect();
    let text = one(&mut c, &format!("SELECT TO_BASE64(x'{hex}')"));
    let binlog = format!("BINLOG '{text}'");
    let own = (None, None);
    run(&mut c, &binlog);
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    assert_eq!(last(&r, &mut c), own);
    run(&mut c, "SET pseudo_replica_mode = ON");
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    assert_eq!(last(&r, &mut c), own);
    run(&mut c, &binlog);
    for sql in ["INSERT INTO d.t VALUES (3)", "INSERT INTO d.t VALUES (4)", "CREATE TABLE d.u (a INT)"] {
        run(&mut c, sql);
        assert_eq!(last(&r, &mut c), (Some(0), Some(0)), "{sql}");
    }
    run(&mut c, "SET original_commit_timestamp = 5, original_server_version = 80036");
    run(&mut c, "INSERT INTO d.t VALUES (5)");
    assert_eq!(last(&r, &mut c), (Some(5), Some(80036)));
    run(&mut c, "INSERT INTO d.t VALUES (6)");
    assert_eq!(last(&r, &mut c), (Some(0), Some(0)));
    run(&mut c, "SET pseudo_replica_mode = OFF");
    run(&mut c, "INSERT INTO d.t VALUES (7)");
    assert_eq!(last(&r, &mut c), own);
}
