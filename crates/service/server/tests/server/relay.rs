//! Relay logs, and the two threads of a replica: each starts and stops alone, and nothing is lost or done twice.

use crate::common::{self, PATIENCE, error, one, run};
use crate::replica::{Following, change, follow, pair, same, source, status, with_log, without_log};
use gannet_core::vars::{Live, VarValue};
use gannet_server::ServerOptions;
use gannet_wire::client::Connection;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Waits until a column of SHOW REPLICA STATUS has this value.
pub(crate) fn wait(q: &mut Connection, name: &str, want: &str) {
    let until = Instant::now() + PATIENCE;
    while status(q, name) != want {
        let error = status(q, "Last_SQL_Error") + &status(q, "Last_IO_Error");
        assert!(Instant::now() < until, "{name} is {}, not {want}: {error}", status(q, name));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until it has received all that the source has.
pub(crate) fn received(c: &mut Connection, q: &mut Connection) {
    let end = common::rows(c, "SHOW BINARY LOG STATUS").remove(0);
    wait(q, "Source_Log_File", &end[0]);
    wait(q, "Read_Source_Log_Pos", &end[1]);
}

pub(crate) fn running(q: &mut Connection) -> String {
    status(q, "Replica_IO_Running") + " " + &status(q, "Replica_SQL_Running")
}

pub(crate) fn warned(q: &mut Connection, sql: &str) -> Vec<String> {
    run(q, sql);
    common::rows(q, "SHOW WARNINGS").into_iter().map(|row| row[1].clone()).collect()
}

/// Relay logs of the default channel, by the directory.
fn files(q: &mut Connection) -> Vec<PathBuf> {
    let base = PathBuf::from(one(q, "SELECT @@relay_log_basename"));
    let name = format!("{}.0", base.file_name().unwrap().to_string_lossy());
    let all = std::fs::read_dir(base.parent().unwrap()).unwrap().map(|f| f.unwrap().path());
    let mut found: Vec<_> = all.filter(|f| f.file_name().unwrap().to_string_lossy().starts_with(&name)).collect();
    found.sort();
    found
}

#[test]
fn each_thread_starts_and_stops_alone() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY)");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    assert_eq!(warned(&mut q, "START REPLICA IO_THREAD"), [""; 0]);
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    received(&mut c, &mut q);
    assert_eq!((running(&mut q).as_str(), status(&mut q, "Seconds_Behind_Source")), ("Yes No", "NULL".to_owned()));
    assert!(common::rows(&mut q, "SHOW DATABASES LIKE 'd'").is_empty());
    let executed = one(&mut c, "SELECT @@gtid_executed");
    assert_eq!(status(&mut q, "Retrieved_Gtid_Set"), executed);
    assert_eq!(warned(&mut q, "START REPLICA RELAY_THREAD"), ["3083"]);
    assert_eq!(warned(&mut q, "STOP SLAVE SQL_THREAD"), ["3084"]);
    let until = format!("START REPLICA IO_THREAD UNTIL SQL_AFTER_GTIDS = '{executed}'");
    assert_eq!(warned(&mut q, &until), ["1279", "3083"]);
    for (option, number) in
        [("SOURCE_PORT = 1", 3021), ("SOURCE_DELAY = 1, SOURCE_USER = 'x'", 3021), ("SOURCE_AUTO_POSITION = 0", 3081)]
    {
        assert_eq!(error(&mut q, &format!("CHANGE REPLICATION SOURCE TO {option}")), number, "{option}");
    }
    assert_eq!(error(&mut q, "RESET REPLICA"), 3081);
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0");
    run(&mut q, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (x)");
    let states = "SELECT c.SERVICE_STATE, a.SERVICE_STATE FROM performance_schema.replication_connection_status c, \
                  performance_schema.replication_applier_status a";
    assert_eq!(common::rows(&mut q, states).concat(), ["ON", "OFF"]);
    // What the source sent, in files as MySQL has them.
    let shown = common::rows(&mut q, "SHOW RELAYLOG EVENTS");
    let kinds: Vec<&str> = shown.iter().map(|row| &*row[2]).collect();
    assert_eq!(kinds[..4], ["Format_desc", "Previous_gtids", "Rotate", "Format_desc"]);
    assert_eq!(kinds[kinds.len() - 5..], ["Gtid", "Query", "Table_map", "Write_rows", "Xid"]);
    let relay = one(&mut q, "SELECT @@relay_log");
    assert_eq!(shown[0][0], format!("{relay}.000001"));
    let from = format!("SHOW RELAYLOG EVENTS IN '{relay}.000001' FROM {} LIMIT 1", shown[4][1]);
    assert_eq!(common::rows(&mut q, &from), shown[4..5]);
    assert_eq!(error(&mut q, "SHOW RELAYLOG EVENTS IN 'none'"), 1220);
    let space: u64 = files(&mut q).iter().map(|f| f.metadata().unwrap().len()).sum();
    assert_eq!(status(&mut q, "Relay_Log_Space"), space.to_string());

    // The source is gone: what was received is applied.
    run(&mut q, "STOP REPLICA IO_THREAD");
    assert_eq!(warned(&mut q, "START REPLICA SQL_THREAD"), [""; 0]);
    let until = Instant::now() + PATIENCE;
    while q.query("SELECT * FROM d.t").map_or(0, |set| set.texts().len()) != 1 {
        assert!(Instant::now() < until, "{}", status(&mut q, "Last_SQL_Error"));
    }
    wait(&mut q, "Seconds_Behind_Source", "NULL");
    assert_eq!(running(&mut q), "No Yes");
    assert_eq!(common::rows(&mut q, states).concat(), ["OFF", "ON"]);
    let at = status(&mut q, "Read_Source_Log_Pos");
    assert_eq!(status(&mut q, "Exec_Source_Log_Pos"), at);
    assert_eq!(status(&mut q, "Relay_Log_File"), format!("{relay}.000001"));
    for (sql, number) in [
        ("CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 1", 3085),
        ("CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0", 3081),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB = (x)", 3085),
    ] {
        assert_eq!(error(&mut q, sql), number, "{sql}");
    }
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 2");
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    assert_eq!(warned(&mut q, "START REPLICA"), [""; 0]);
    same(&mut c, &mut q, "SELECT * FROM d.t");
    wait(&mut q, "Seconds_Behind_Source", "0");
    assert_eq!(running(&mut q), "Yes Yes");
    // One that applies later goes on receiving.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 1000");
    run(&mut q, "START REPLICA SQL_THREAD");
    run(&mut c, "INSERT INTO d.t VALUES (3)");
    run(&mut c, "INSERT INTO d.t VALUES (4)");
    received(&mut c, &mut q);
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), "2");
    run(&mut q, "STOP REPLICA SQL_THREAD");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0");
    // Where it stops is about what applies.
    let (set, last) =
        one(&mut c, "SELECT @@gtid_executed").rsplit_once('-').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let last: u64 = last.parse().unwrap();
    run(&mut q, &format!("START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '{set}-{}'", last - 1));
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!((running(&mut q).as_str(), one(&mut q, "SELECT MAX(a) FROM d.t")), ("Yes No", "3".to_owned()));
}

#[test]
fn relay_logs_go_and_come_again() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT, b VARCHAR(500))");
    let fill = |c: &mut Connection, n: u64| {
        (0..20).for_each(|i| run(c, &format!("INSERT INTO d.t VALUES ({}, REPEAT('x', 400))", n * 100 + i)))
    };
    let mut following = Following::start(without_log);
    let mut q = following.r.connect();
    assert_eq!(error(&mut q, "SET GLOBAL relay_log_space_limit = 1"), 1238);
    run(&mut q, "SET GLOBAL max_relay_log_size = 4096");
    change(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    run(&mut q, "START REPLICA IO_THREAD");
    fill(&mut c, 1);
    received(&mut c, &mut q);
    assert!(files(&mut q).len() > 2, "{:?}", files(&mut q));
    let index = std::fs::read_to_string(one(&mut q, "SELECT @@relay_log_index")).unwrap();
    assert_eq!(index.lines().map(PathBuf::from).collect::<Vec<_>>(), files(&mut q));
    run(&mut q, "START REPLICA SQL_THREAD");
    let rows = "SELECT a, COUNT(*) FROM d.t GROUP BY a ORDER BY a";
    same(&mut c, &mut q, rows);
    assert_eq!(files(&mut q).len(), 1);
    // What was received and not applied is thrown away at a start, and asked for again.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    fill(&mut c, 2);
    received(&mut c, &mut q);
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    wait(&mut q, "Replica_IO_Running", "Yes");
    assert_eq!(running(&mut q), "Yes No");
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, rows);
    // A byte is another one: that is noticed, and it comes again.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    fill(&mut c, 3);
    received(&mut c, &mut q);
    let path = files(&mut q).pop().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 200;
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    run(&mut q, "START REPLICA SQL_THREAD");
    wait(&mut q, "Replica_SQL_Running", "No");
    assert_eq!((status(&mut q, "Last_SQL_Errno"), running(&mut q)), ("13121".to_owned(), "Yes No".to_owned()));
    run(&mut q, "START REPLICA SQL_THREAD");
    same(&mut c, &mut q, rows);
    // One that is cut short.
    run(&mut q, "STOP REPLICA SQL_THREAD");
    fill(&mut c, 4);
    received(&mut c, &mut q);
    let path = files(&mut q).pop().unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 10).unwrap();
    run(&mut q, "START REPLICA SQL_THREAD");
    wait(&mut q, "Last_SQL_Errno", "13121");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, rows);
    run(&mut q, "STOP REPLICA");
    run(&mut q, "RESET REPLICA ALL");
    assert!(files(&mut q).is_empty(), "{:?}", files(&mut q));
}

#[test]
fn a_flush_begins_another_file() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT)");
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    // Nothing is received, so no file is written.
    run(&mut q, "FLUSH RELAY LOGS");
    assert_eq!(error(&mut q, "FLUSH RELAY LOGS FOR CHANNEL 'other'"), 3074);
    run(&mut q, "SET GLOBAL relay_log_purge = 0");
    change(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    run(&mut q, "START REPLICA");
    for n in 1..4 {
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n})"));
        received(&mut c, &mut q);
        let before = files(&mut q).len();
        run(&mut q, "FLUSH RELAY LOGS FOR CHANNEL ''");
        assert_eq!(files(&mut q).len(), before + 1);
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n})"));
        run(&mut c, "INSERT INTO d.t VALUES (0)");
        received(&mut c, &mut q);
        assert_eq!(files(&mut q).len(), before + 1);
    }
    // What receives need not run.
    run(&mut q, "STOP REPLICA IO_THREAD");
    let before = files(&mut q).len();
    run(&mut q, "FLUSH RELAY LOGS");
    assert_eq!(files(&mut q).len(), before + 1);
    run(&mut q, "START REPLICA IO_THREAD");
    run(&mut c, "INSERT INTO d.t VALUES (9)");
    same(&mut c, &mut q, "SELECT a, COUNT(*) FROM d.t GROUP BY a ORDER BY a");
}

#[test]
fn a_start_names_an_account_for_this_time() {
    let s = source();
    let mut c = s.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE USER copy@'%' IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO copy@'%'",
    ] {
        run(&mut c, sql);
    }
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1, SOURCE_USER = 'nobody', SOURCE_CONNECT_RETRY = 1");
    assert_eq!(error(&mut q, "START REPLICA SQL_THREAD USER = 'copy'"), 1763);
    assert_eq!(error(&mut q, "START REPLICA USER = 'copy' DEFAULT_AUTH = 'x'"), 1524);
    assert_eq!(error(&mut q, "START REPLICA SQL_THREAD DEFAULT_AUTH = 'sha256_password'"), 1763);
    assert_eq!(running(&mut q), "No No");
    run(&mut q, "START REPLICA USER = 'copy' PASSWORD = 'wrong'");
    wait(&mut q, "Last_IO_Errno", "1045");
    let error = status(&mut q, "Last_IO_Error");
    assert!(error.starts_with("Error connecting to source 'copy@127.0.0.1:"), "{error}");
    assert!(error.contains("with a delay of 1 seconds between attempts. Message: Access denied for user"), "{error}");
    // It is tried again.
    assert_eq!(status(&mut q, "Replica_IO_Running"), "Connecting");
    run(&mut q, "STOP REPLICA");
    assert_eq!(warned(&mut q, "START REPLICA USER = 'copy' PASSWORD = 'secret'"), ["1759"]);
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    assert_eq!(one(&mut q, "SELECT User_name FROM mysql.slave_master_info"), "nobody");
    // Begun as another plugin's, the login is switched to the account's.
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        run(&mut q, "STOP REPLICA");
        let how = format!("DEFAULT_AUTH = '{plugin}' PLUGIN_DIR = '/nowhere'");
        run(&mut q, &format!("START REPLICA USER = 'copy' PASSWORD = 'secret' {how}"));
        run(&mut c, "INSERT INTO d.t VALUES (2)");
        same(&mut c, &mut q, "SELECT * FROM d.t");
    }
    // The next start goes back to what is stored.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Last_IO_Errno", "1045");
}

fn in_a_directory(o: &mut ServerOptions) {
    with_log(o);
    o.set(Live::RelayLog, VarValue::text("later/relay"));
}

/// Where relay logs cannot be written, it is tried again.
#[test]
fn a_receiver_waits_for_its_disk() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    let following = Following::start(in_a_directory);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    wait(&mut q, "Last_IO_Errno", "13122");
    assert_eq!(running(&mut q), "Connecting Yes");
    let base = PathBuf::from(one(&mut q, "SELECT @@relay_log_basename"));
    std::fs::create_dir(base.parent().unwrap()).unwrap();
    same(&mut c, &mut q, "SELECT * FROM d.t");
    assert_eq!((running(&mut q).as_str(), status(&mut q, "Last_IO_Errno")), ("Yes Yes", "0".to_owned()));
    assert_eq!(files(&mut q).len(), 1);
}

fn limited(o: &mut ServerOptions) {
    with_log(o);
    o.set(Live::RelayLogSpaceLimit, VarValue::Int(20_000));
}

/// It receives no more than it may keep, and all in the end, whenever its threads are stopped.
#[test]
fn nothing_is_lost_or_done_twice() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT, b VARCHAR(500))");
    let (few, all) = (Following::start(limited), Following::start(without_log));
    let (mut q, mut p) = (few.r.connect(), all.r.connect());
    run(&mut p, "SET GLOBAL max_relay_log_size = 4096");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA IO_THREAD");
    follow(&mut p, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    let mut writer = s.connect();
    let writes = std::thread::spawn(move || {
        for n in 0..300 {
            run(&mut writer, &format!("INSERT INTO d.t VALUES ({n}, REPEAT('x', 400))"));
            if n % 100 == 50 {
                run(&mut writer, "FLUSH BINARY LOGS");
            }
        }
    });
    wait(&mut q, "Replica_IO_State", "Waiting for the replica SQL thread to free enough relay log space");
    let space: u64 = status(&mut q, "Relay_Log_Space").parse().unwrap();
    assert!((20_000..25_000).contains(&space), "{space}");
    for n in 0..12 {
        let thread = ["SQL_THREAD", "IO_THREAD", ""][n % 3];
        run(&mut p, &format!("STOP REPLICA {thread}"));
        run(&mut p, &format!("START REPLICA {thread}"));
        std::thread::sleep(Duration::from_millis(20));
    }
    writes.join().unwrap();
    run(&mut q, "START REPLICA SQL_THREAD");
    let rows = "SELECT a, COUNT(*) FROM d.t GROUP BY a ORDER BY a";
    same(&mut c, &mut q, rows);
    same(&mut c, &mut p, rows);
    same(&mut c, &mut q, "SELECT @@gtid_executed");
}

#[test]
fn the_status_of_logs_has_the_channels() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY)");
    let channels = "SELECT REPLICATION FROM performance_schema.log_status";
    assert_eq!(one(&mut q, channels), r#"{"channels": []}"#);
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA IO_THREAD");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    received(&mut c, &mut q);
    let last = files(&mut q).pop().unwrap();
    let (name, size) = (last.file_name().unwrap().to_string_lossy().into_owned(), last.metadata().unwrap().len());
    let of = |name: &str, file: &str, size: u64| {
        format!(r#"{{"channel_name": "{name}", "relay_log_file": "{file}", "relay_log_position": {size}}}"#)
    };
    assert_eq!(one(&mut q, channels), format!(r#"{{"channels": [{}]}}"#, of("", &name, size)));
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x' FOR CHANNEL 'other'");
    assert_eq!(one(&mut q, "SELECT JSON_LENGTH(REPLICATION, '$.channels') FROM performance_schema.log_status"), "2");
}
