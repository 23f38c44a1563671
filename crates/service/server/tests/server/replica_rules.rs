//! Variables and options of a replica: how long it waits, what it takes, whom it tells of itself.

use crate::common::{self, PATIENCE, Running, error, one, run, within};
use crate::relay::{running, wait};
use crate::replica::{Following, change, follow, pair, same, source, status, with_log, without_log};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Address, Connection};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn warnings(c: &mut Connection, sql: &str) -> String {
    run(c, sql);
    let rows = common::rows(c, "SHOW WARNINGS");
    rows.iter().map(|row| row[..2].join(" ")).filter(|w| w.starts_with("Warning")).collect::<Vec<_>>().join(", ")
}

fn heartbeat(c: &mut Connection) -> String {
    one(c, "SELECT HEARTBEAT_INTERVAL FROM performance_schema.replication_connection_configuration")
}

/// Half of replica_net_timeout, unless it is said; another source has the usual one again.
#[test]
fn heartbeats_come_twice_as_often_as_they_must() {
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1");
    assert_eq!(heartbeat(&mut q), "30.000");
    assert_eq!(warnings(&mut q, "SET GLOBAL replica_net_timeout = 30"), "");
    assert_eq!(warnings(&mut q, "SET GLOBAL slave_net_timeout = 7"), "Warning 1287, Warning 1704");
    // What is there stays, until another source is named.
    assert_eq!(heartbeat(&mut q), "30.000");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u'");
    assert_eq!(heartbeat(&mut q), "30.000");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 2");
    assert_eq!(heartbeat(&mut q), "3.500");
    for (period, warns, is) in [
        ("7", "", "7.000"),
        ("7.001", "Warning 1704", "7.001"),
        ("0.0005", "Warning 1703", "0.000"),
        ("0.001", "", "0.001"),
        ("0.029", "", "0.029"),
        ("0", "", "0.000"),
        ("4294967", "Warning 1704", "4294967.000"),
    ] {
        let sql = format!("CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD = {period}");
        assert_eq!((warnings(&mut q, &sql).as_str(), heartbeat(&mut q).as_str()), (warns, is), "{period}");
    }
    assert_eq!(error(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD = 4294967.1"), 1624);
    run(&mut q, "RESET REPLICA");
    assert_eq!(heartbeat(&mut q), "3.500");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD = 0, SOURCE_HOST = 'localhost'");
    assert_eq!(heartbeat(&mut q), "0.000");
}

/// Sessions that change a channel at once: what one says stays, and the channel is one.
#[test]
fn channels_are_changed_by_one_session_at_a_time() {
    let following = Following::start(without_log);
    let sessions: Vec<_> = (0..4).map(|n| (n, following.r.connect())).collect();
    let change = |(n, mut c): (usize, Connection)| {
        let option = ["USER = 'u'", "PORT = 1234", "CONNECT_RETRY = 77", "RETRY_COUNT = 5"][n];
        for round in 0..8 {
            let source = format!("SOURCE_HOST = '127.0.0.1', SOURCE_{option}");
            run(&mut c, &format!("CHANGE REPLICATION SOURCE TO {source} FOR CHANNEL 'c{round}'"));
            let database = format!("REPLICATE_DO_DB = (d{n})");
            run(&mut c, &format!("CHANGE REPLICATION FILTER {database} FOR CHANNEL 'c{round}'"));
        }
    };
    std::thread::scope(|scope| sessions.into_iter().for_each(|session| _ = scope.spawn(move || change(session))));
    let whole = "SELECT COUNT(*) FROM performance_schema.replication_connection_configuration \
                 WHERE USER = 'u' AND PORT = 1234 AND CONNECTION_RETRY_INTERVAL = 77 AND CONNECTION_RETRY_COUNT = 5";
    assert_eq!(one(&mut following.r.connect(), whole), "8");
}

/// What stands between a replica and its source: passes bytes on, or keeps those of connections that are there, and
/// counts both.
struct Between {
    port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The first connections, which are silent.
    silent: AtomicU32,
    connections: AtomicU32,
    bytes: AtomicU64,
}

fn pass(mut from: TcpStream, mut to: TcpStream, number: u32, seen: Arc<Seen>) {
    let mut bytes = [0; 4096];
    while let Ok(n) = from.read(&mut bytes) {
        if n == 0 {
            break;
        }
        seen.bytes.fetch_add(n as u64, Ordering::Relaxed);
        if number > seen.silent.load(Ordering::Relaxed) && to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ended = to.shutdown(Shutdown::Both);
}

impl Between {
    fn start(source: Option<&Running>) -> Between {
        let to = source.map(|s| s.tcp());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let it = Between { port, seen: seen.clone() };
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for client in listener.incoming() {
                let client = client.unwrap();
                let number = seen.connections.fetch_add(1, Ordering::Relaxed) + 1;
                let Some(Address::Tcp(host, port)) = &to else {
                    silent.push(client);
                    continue;
                };
                let Ok(server) = TcpStream::connect((host.as_str(), *port)) else { return };
                let (c, s, counted) = (client.try_clone().unwrap(), server.try_clone().unwrap(), seen.clone());
                std::thread::spawn(move || pass(c, s, number, counted));
                let counted = seen.clone();
                std::thread::spawn(move || pass(server, client, number, counted));
            }
        });
        it
    }

    fn connections(&self) -> u32 {
        self.seen.connections.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::Relaxed)
    }

    /// What is connected now does not get through any more.
    fn silence(&self) {
        self.seen.silent.store(self.connections(), Ordering::Relaxed);
    }
}

/// A source that is not heard of is connected to again: at once, and then at SOURCE_CONNECT_RETRY. One that gives signs
/// of life is not.
#[test]
fn a_source_that_falls_silent_is_left() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let between = Between::start(Some(&s));
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    let port = between.port;
    change(&mut q, &s, &format!("SOURCE_AUTO_POSITION = 1, SOURCE_PORT = {port}, SOURCE_CONNECT_RETRY = 1000"));
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    run(&mut q, "STOP REPLICA");
    // The first login takes long.
    run(&mut q, "SET GLOBAL replica_net_timeout = 8");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD = 1");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_IO_Running", "Yes");
    std::thread::sleep(Duration::from_millis(9500));
    assert_eq!((between.connections(), running(&mut q).as_str()), (2, "Yes Yes"));
    // The network swallows all.
    between.silence();
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    // Error 2013 stands in the status only until it is connected again: at once, not after SOURCE_CONNECT_RETRY, for
    // which nobody waits here.
    same(&mut c, &mut q, "SELECT * FROM d.t");
    let before = between.connections();
    assert!(before >= 3);
    // Without signs of life it is taken for lost while nothing happens there, and is connected to again.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HEARTBEAT_PERIOD = 0");
    run(&mut q, "START REPLICA");
    let until = Instant::now() + PATIENCE;
    while between.connections() < before + 2 {
        assert!(Instant::now() < until, "{}", between.connections());
        std::thread::sleep(Duration::from_millis(20));
    }
    run(&mut c, "INSERT INTO d.t VALUES (2)");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    run(&mut q, "STOP REPLICA");
}

/// A receiver that waits for the first word of a source ends when it is told to.
#[test]
fn a_source_that_says_nothing_does_not_hold_stop_replica() {
    let silent = Between::start(None);
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    let port = silent.port;
    run(&mut q, &format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}"));
    // MySQL does not try without a name.
    run(&mut q, "START REPLICA");
    wait(&mut q, "Last_IO_Errno", "13117");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'reader'");
    run(&mut q, "START REPLICA");
    while silent.connections() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    // rpl_stop_replica_timeout is a year.
    run(&mut q, "STOP REPLICA");
    assert_eq!(running(&mut q), "No No");
}

/// STOP REPLICA waits for rpl_stop_replica_timeout seconds at most; what it has asked to stop does so later.
#[test]
fn stop_replica_waits_no_longer_than_it_may() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY)");
    run(&mut q, "SET GLOBAL rpl_stop_replica_timeout = 2");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    within(Duration::from_secs(2), "STOP REPLICA", || {
        let begun = Instant::now();
        run(&mut q, "STOP REPLICA");
        let took = begun.elapsed();
        wait(&mut q, "Replica_IO_Running", "No");
        wait(&mut q, "Replica_SQL_Running", "No");
        run(&mut q, "START REPLICA");
        wait(&mut q, "Replica_IO_Running", "Yes");
        took
    });
}

/// Events that are longer than replica_max_allowed_packet end the receiver, before their bytes are here.
#[test]
fn an_event_that_is_too_long_is_refused() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY, b LONGBLOB)");
    run(&mut q, "SET GLOBAL replica_max_allowed_packet = 65536");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "INSERT INTO d.t VALUES (1, REPEAT('a', 60000))");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    run(&mut c, "INSERT INTO d.t VALUES (2, REPEAT('b', 70000))");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!(status(&mut q, "Last_IO_Errno"), "1153");
    assert!(status(&mut q, "Last_IO_Error").contains("'replica_max_allowed_packet'"));
    run(&mut q, "SET GLOBAL replica_max_allowed_packet = DEFAULT");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.t");
}

/// The connection is compressed as it is asked for, and refused where the source does none of that.
#[test]
fn the_source_compresses() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY, b TEXT)");
    let between = Between::start(Some(&s));
    change(&mut q, &s, &format!("SOURCE_AUTO_POSITION = 1, SOURCE_PORT = {}", between.port));
    for (n, (algorithms, protocol)) in [
        ("uncompressed", "OFF"),
        ("zlib", "OFF"),
        ("ZSTD", "OFF"),
        ("zstd,uncompressed", "OFF"),
        ("uncompressed", "ON"),
    ]
    .into_iter()
    .enumerate()
    {
        let before = between.bytes();
        run(&mut q, &format!("CHANGE REPLICATION SOURCE TO SOURCE_COMPRESSION_ALGORITHMS = '{algorithms}'"));
        let shown = "SELECT COMPRESSION_ALGORITHM FROM performance_schema.replication_connection_configuration";
        assert_eq!(one(&mut q, shown), algorithms.to_lowercase());
        run(&mut q, &format!("SET GLOBAL replica_compressed_protocol = {protocol}"));
        run(&mut q, "START REPLICA");
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n}, REPEAT('abc', 20000))"));
        same(&mut c, &mut q, "SELECT a, CRC32(b) FROM d.t");
        let bytes = between.bytes() - before;
        assert_eq!(bytes < 60_000, n > 0, "{algorithms} {protocol}: {bytes}");
        let stored = "SELECT Master_compression_algorithm FROM mysql.slave_master_info";
        assert_eq!(one(&mut q, stored), algorithms.to_lowercase());
        run(&mut q, "STOP REPLICA");
    }
    assert_eq!(error(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_COMPRESSION_ALGORITHMS = 'lz4'"), 3920);
    run(
        &mut q,
        "CHANGE REPLICATION SOURCE TO SOURCE_COMPRESSION_ALGORITHMS = 'zstd', SOURCE_ZSTD_COMPRESSION_LEVEL = 7",
    );
    run(&mut q, "SET GLOBAL replica_compressed_protocol = OFF");
    run(&mut c, "SET GLOBAL protocol_compression_algorithms = 'uncompressed'");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!(status(&mut q, "Last_IO_Errno"), "2066");
    assert!(status(&mut q, "Last_IO_Error").contains("zstd"));
}

fn reporting(o: &mut gannet_server::ServerOptions) {
    with_log(o);
    o.set(Live::ReportHost, VarValue::text("replica.example"));
    o.set(Live::SkipReplicaStart, VarValue::bool(true));
}

/// The source lists its replicas as they say; with skip_replica_start a restart follows nobody.
#[test]
fn a_replica_reports_itself_and_waits_to_be_started() {
    let s = source();
    let mut c = s.connect();
    let mut following = Following::start(reporting);
    let mut q = following.r.connect();
    let Address::Tcp(_, port) = following.r.tcp() else { panic!("TCP") };
    assert_eq!(one(&mut q, "SELECT @@report_port"), port.to_string());
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "CREATE DATABASE d");
    same(&mut c, &mut q, "SHOW DATABASES LIKE 'd'");
    let listed = common::rows(&mut c, "SHOW REPLICAS");
    assert_eq!(listed[0][..3], ["2".to_owned(), "replica.example".to_owned(), port.to_string()]);
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    assert_eq!(running(&mut q), "No No");
    run(&mut q, "START REPLICA");
    run(&mut c, "CREATE DATABASE e");
    same(&mut c, &mut q, "SHOW DATABASES LIKE 'e'");
}

/// IDEMPOTENT: rows take the place of those that are there, and those that are not there are passed over.
#[test]
fn an_idempotent_replica_passes_over_what_differs() {
    let (s, mut c, _following, mut q) = pair("(a INT PRIMARY KEY, b INT, UNIQUE (b))");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut c, "INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30)");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "SET sql_log_bin = 0");
    run(&mut q, "DELETE FROM d.t WHERE a IN (1, 3)");
    run(&mut q, "INSERT INTO d.t VALUES (4, 50), (5, 40)");
    run(&mut c, "UPDATE d.t SET b = 11 WHERE a = 1");
    run(&mut c, "INSERT INTO d.t VALUES (4, 40)");
    run(&mut c, "DELETE FROM d.t WHERE a = 3");
    run(&mut c, "UPDATE d.t SET b = 21 WHERE a = 2");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Last_SQL_Errno", "1032");
    run(&mut q, "STOP REPLICA");
    run(&mut q, "SET GLOBAL replica_exec_mode = IDEMPOTENT");
    run(&mut q, "START REPLICA");
    run(&mut c, "INSERT INTO d.t VALUES (9, 90)");
    let until = Instant::now() + PATIENCE;
    while one(&mut q, "SELECT COUNT(*) FROM d.t WHERE a = 9") != "1" {
        assert!(Instant::now() < until, "{}", status(&mut q, "Last_SQL_Error"));
        std::thread::sleep(Duration::from_millis(10));
    }
    let rows = common::rows(&mut q, "SELECT * FROM d.t ORDER BY a");
    assert_eq!(rows, [["2", "21"], ["4", "40"], ["9", "90"]]);
}

/// init_replica runs when what applies begins; its error ends that.
#[test]
fn init_replica_runs_before_the_first_transaction() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "SET GLOBAL init_replica = 'SELECT 1; CREATE DATABASE made_by_init'");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SHOW DATABASES LIKE 'd'");
    assert_eq!(common::rows(&mut q, "SHOW DATABASES LIKE 'made%'").len(), 1);
    run(&mut q, "STOP REPLICA");
    run(&mut q, "START REPLICA");
    wait(&mut q, "Last_SQL_Errno", "1007");
    assert_eq!(status(&mut q, "Replica_SQL_Running"), "No");
}

/// What asks a store that has been shut down for something gets an error.
#[test]
fn a_store_that_is_closed_is_no_panic() {
    let s = source();
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    same(&mut c, &mut q, "SHOW DATABASES LIKE 'd'");
    following.r.server().core().engine.shutdown().unwrap();
    for sql in [
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u' FOR CHANNEL 'other'",
        "START REPLICA",
        "CREATE USER u",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')",
        "CREATE TEMPORARY TABLE d.t (a INT)",
        "CREATE TABLE d.t (a INT)",
        "FLUSH BINARY LOGS",
    ] {
        assert_eq!(error(&mut q, sql), 1053, "{sql}");
    }
    // The receiver's source goes: it looks for it again, and finds its own store closed.
    drop(c);
    drop(s);
    std::thread::sleep(Duration::from_millis(1500));
}

fn small_events(o: &mut gannet_server::ServerOptions) {
    with_log(o);
    o.set(Live::BinlogRowEventMaxSize, VarValue::Int(256));
}

/// What a transaction may have in the log, and an event of its rows.
#[test]
fn transactions_and_events_are_as_large_as_they_may_be() {
    let r = Running::configured(small_events);
    let mut c = r.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(9000))"] {
        run(&mut c, sql);
    }
    run(&mut c, "INSERT INTO d.t VALUES (1, REPEAT('a', 100)), (2, REPEAT('a', 100)), (3, REPEAT('a', 100)), (4, 'd')");
    let shown = common::rows(&mut c, "SHOW BINLOG EVENTS");
    assert_eq!(shown.iter().filter(|row| row[2] == "Write_rows").count(), 2, "{shown:?}");
    run(&mut c, "SET GLOBAL max_binlog_cache_size = 8192");
    run(&mut c, "INSERT INTO d.t VALUES (5, REPEAT('a', 8000))");
    assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (6, REPEAT('a', 9000))"), 1197);
    // The statement is undone, and the transaction goes on.
    run(&mut c, "BEGIN");
    run(&mut c, "INSERT INTO d.t VALUES (7, REPEAT('a', 4000))");
    assert_eq!(error(&mut c, "INSERT INTO d.t VALUES (8, 'x'), (9, REPEAT('a', 5000))"), 1197);
    run(&mut c, "INSERT INTO d.t VALUES (10, 'x')");
    run(&mut c, "COMMIT");
    // What is not logged has no bound.
    run(&mut c, "SET sql_log_bin = 0");
    run(&mut c, "INSERT INTO d.t VALUES (11, REPEAT('a', 9000))");
    assert_eq!(common::rows(&mut c, "SELECT GROUP_CONCAT(a) FROM d.t"), [["1,2,3,4,5,7,10,11"]]);
}

/// The statement that does an event of a file again.
fn again(c: &mut Connection, event: &[u8]) -> String {
    let hex: String = event.iter().map(|b| format!("{b:02x}")).collect();
    format!("BINLOG '{}'", one(c, &format!("SELECT TO_BASE64(X'{hex}')")))
}

/// BINLOG under rbr_exec_mode and require_row_format, as mysqlbinlog sets them.
#[test]
fn binlog_statements_obey_the_session() {
    let r = Running::configured(with_log);
    let mut c = r.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)", "FLUSH BINARY LOGS"] {
        run(&mut c, sql);
    }
    run(&mut c, "INSERT INTO d.t VALUES (1, 1), (2, 2)");
    run(&mut c, "DELETE FROM d.t WHERE a = 2");
    let shown = common::rows(&mut c, "SHOW BINLOG EVENTS IN 'binlog.000002'");
    let bytes = std::fs::read(r.dir.join("binlog.000002")).unwrap();
    let of = |kinds: &[&str]| -> Vec<u8> {
        let place = |row: &[String], i: usize| row[i].parse::<usize>().unwrap();
        let rows = shown.iter().filter(|row| kinds.contains(&&*row[2]));
        rows.flat_map(|row| bytes[place(row, 1)..place(row, 4)].to_vec()).collect()
    };
    let described = again(&mut c, &of(&["Format_desc"]));
    run(&mut c, &described);
    let all = again(&mut c, &of(&["Table_map", "Write_rows", "Delete_rows"]));
    run(&mut c, "UPDATE d.t SET b = 9");
    assert_eq!(error(&mut c, &all), 1062);
    run(&mut c, "SET rbr_exec_mode = IDEMPOTENT");
    run(&mut c, &all);
    assert_eq!(common::rows(&mut c, "SELECT a, b FROM d.t"), [["1", "1"]]);
    run(&mut c, "SET require_row_format = ON");
    for sql in [
        "INSERT INTO d.t VALUES (3, 3)",
        "UPDATE d.t SET b = 5",
        "DELETE FROM d.t",
        "REPLACE INTO d.t VALUES (1, 4)",
        "LOAD DATA INFILE 'x' INTO TABLE d.t",
        "CREATE TEMPORARY TABLE d.u (a INT)",
        "DROP TEMPORARY TABLE IF EXISTS d.u",
    ] {
        assert_eq!(error(&mut c, sql), 3944, "{sql}");
    }
    run(&mut c, "SELECT * FROM d.t");
    run(&mut c, &all);
    run(&mut c, "CREATE TABLE d.u (a INT)");
    run(&mut c, "SET require_row_format = OFF");
    run(&mut c, "UPDATE d.t SET b = 5");
    assert_eq!(common::rows(&mut c, "SELECT a, b FROM d.t"), [["1", "5"]]);
    // What cannot be had is refused by name.
    for sql in ["SET GLOBAL binlog_error_action = IGNORE_ERROR", "SET GLOBAL xa_detach_on_prepare = OFF"] {
        assert_eq!(error(&mut c, sql), 1235, "{sql}");
    }
    assert_eq!(error(&mut c, "SET GLOBAL replica_type_conversions = 'ALL'"), 1231);
    // Whole pages, as in MySQL.
    run(&mut c, "SET GLOBAL max_binlog_size = 9000, max_relay_log_size = 9000");
    assert_eq!(common::rows(&mut c, "SELECT @@max_binlog_size, @@max_relay_log_size"), [["8192", "8192"]]);
}

/// Columns of another type take a source's values as far as `replica_type_conversions` allows it.
#[test]
fn types_that_differ_are_converted_if_they_may() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    same(&mut c, &mut q, "SHOW DATABASES LIKE 'd'");
    run(&mut q, "SET sql_log_bin = 0");
    let wide = "(id INT, a INT, b VARCHAR(10), c DECIMAL(10,2), d FLOAT, PRIMARY KEY (b))";
    let narrow = "(id INT, a TINYINT, b CHAR(3), c DECIMAL(4,1), d DOUBLE, PRIMARY KEY (b))";
    for (n, (here, there, allowed, row)) in [
        (wide, narrow, "ALL_LOSSY,ALL_NON_LOSSY", "2|127|abc|999.9|1.5"),
        (narrow, wide, "ALL_LOSSY,ALL_NON_LOSSY", "2|100|abc|12.50|1.5"),
        (narrow, wide, "ALL_NON_LOSSY", ""),
        (wide, narrow, "", ""),
    ]
    .into_iter()
    .enumerate()
    {
        run(&mut c, "SET sql_log_bin = 0");
        run(&mut c, &format!("CREATE TABLE d.t{n} {here}"));
        run(&mut c, "SET sql_log_bin = 1");
        run(&mut q, &format!("CREATE TABLE d.t{n} {there}"));
        run(&mut q, &format!("SET GLOBAL replica_type_conversions = '{allowed}'"));
        let (a, b, d) = if here == wide { (300, "abcdef", "12345678.9") } else { (100, "abc", "12.5") };
        run(&mut c, &format!("INSERT INTO d.t{n} VALUES (1, {a}, '{b}', {d}, 1.5)"));
        run(&mut c, &format!("UPDATE d.t{n} SET id = 2"));
        if row.is_empty() {
            wait(&mut q, "Last_SQL_Errno", "13146");
            let said = status(&mut q, "Last_SQL_Error");
            let types = if here == wide { "'int' to type 'tinyint'" } else { "'double' to type 'float'" };
            assert!(said.contains(&format!("of table 'd.t{n}' cannot be converted from type {types}")), "{said}");
            run(&mut q, "SET GLOBAL replica_type_conversions = 'ALL_LOSSY,ALL_NON_LOSSY'");
            run(&mut q, "START REPLICA SQL_THREAD");
        }
        let until = Instant::now() + PATIENCE;
        let shown = format!("SELECT CONCAT_WS('|', id, a, b, c, d) FROM d.t{n}");
        while !common::rows(&mut q, &shown).first().is_some_and(|r| r[0].starts_with('2')) {
            assert!(Instant::now() < until, "{}", status(&mut q, "Last_SQL_Error"));
            std::thread::sleep(Duration::from_millis(5));
        }
        if !row.is_empty() {
            assert_eq!(one(&mut q, &shown), row);
        }
        run(&mut c, &format!("DELETE FROM d.t{n}"));
        same(&mut c, &mut q, &format!("SELECT COUNT(*) FROM d.t{n}"));
    }
}
