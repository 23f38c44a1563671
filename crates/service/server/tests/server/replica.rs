//! A replica: what another server's log tells is done here once, whatever stops.

use crate::common::{self, PATIENCE, Running, error, one, run};
use gannet_core::vars::{Live, VarValue};
use gannet_replica::Replica;
use gannet_server::ServerOptions;
use gannet_wire::client::{Address, Connection};
use std::time::{Duration, Instant};

/// A server that may follow another one.
pub(crate) struct Following {
    replica: Option<Replica>,
    pub(crate) r: Running,
}

impl Following {
    pub(crate) fn start(configure: fn(&mut ServerOptions)) -> Following {
        let mut it = Following { replica: None, r: Running::configured(configure) };
        it.begin();
        it
    }

    fn begin(&mut self) {
        let server = self.r.server();
        self.replica = Some(gannet_replica::start(server.core(), server.sessions()).unwrap());
    }

    pub(crate) fn restart(&mut self) {
        self.replica = None;
        self.r.restart();
        self.begin();
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.replica = None;
    }
}

pub(crate) fn source() -> Running {
    let r = Running::configured(|o| {
        o.set(Live::LogBin, VarValue::bool(true));
        o.set(Live::ServerId, VarValue::Int(1));
    });
    let mut c = r.connect();
    run(&mut c, "CREATE USER reader IDENTIFIED BY 'secret'");
    run(&mut c, "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader");
    r
}

/// A source that has `d.t` with these columns, and what is to follow it.
pub(crate) fn pair(columns: &str) -> (Running, Connection, Following, Connection) {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, &format!("CREATE TABLE d.t {columns}"));
    let following = Following::start(with_log);
    let q = following.r.connect();
    (s, c, following, q)
}

pub(crate) fn with_log(o: &mut ServerOptions) {
    o.set(Live::LogBin, VarValue::bool(true));
    o.set(Live::ServerId, VarValue::Int(2));
}

pub(crate) fn without_log(o: &mut ServerOptions) {
    o.set(Live::LogBin, VarValue::bool(false));
    o.set(Live::ServerId, VarValue::Int(3));
}

pub(crate) fn follow(c: &mut Connection, source: &Running, how: &str) {
    change(c, source, how);
    run(c, "START REPLICA");
}

pub(crate) fn change(c: &mut Connection, source: &Running, how: &str) {
    let Address::Tcp(host, port) = source.tcp() else { panic!("TCP") };
    run(
        c,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = 'reader', \
             SOURCE_PASSWORD = 'secret', SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1, {how}"
        ),
    );
}

/// Waits until it applies nothing more; it goes on receiving.
fn stopped(c: &mut Connection) {
    let until = Instant::now() + PATIENCE;
    while status(c, "Replica_SQL_Running") == "Yes" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = status(c, "Last_SQL_Error") + &status(c, "Last_IO_Error");
    assert_eq!((status(c, "Replica_IO_Running"), error), ("Yes".to_owned(), String::new()));
}

pub(crate) fn status(c: &mut Connection, name: &str) -> String {
    let set = c.query("SHOW REPLICA STATUS").unwrap();
    let at = set.columns.iter().position(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}"));
    set.texts().remove(0).remove(at)
}

/// Waits until `sql` gives the same at both.
pub(crate) fn same(source: &mut Connection, replica: &mut Connection, sql: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let want = common::rows(source, sql);
        // What names a table that is not there yet is tried again.
        let got = replica.query(sql).map(|set| set.texts());
        if got.as_ref().is_ok_and(|got| *got == want) {
            return;
        }
        if Instant::now() > until {
            let error = status(replica, "Last_SQL_Error") + &status(replica, "Last_IO_Error");
            panic!("{sql}: {want:?}, and at the replica {got:?}: {error}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

const TABLES: [&str; 8] = ["d.t", "d.u", "d.made", "d.parent", "d.child", "d.audit", "d.built", "d.copied"];

fn all_same(source: &mut Connection, replica: &mut Connection) {
    run(source, "REPLACE INTO d.mark SELECT 1, UUID()");
    same(source, replica, "SELECT * FROM d.mark");
    for table in TABLES {
        same(source, replica, &format!("SELECT * FROM {table} ORDER BY 1"));
    }
}

#[test]
fn what_the_source_tells_is_done_once() {
    let mut s = source();
    let mut c = s.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE mark (n INT PRIMARY KEY, id CHAR(36))",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), c JSON, d TIMESTAMP(3) NULL, e ENUM('x', 'y'), f DECIMAL(9,2), \
         g INT AS (a * 2) STORED, KEY (b))",
        "CREATE TABLE u (a VARCHAR(10) COLLATE utf8mb4_bin, b TEXT)",
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES parent (a) ON DELETE CASCADE)",
        "CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(20))",
        "CREATE TRIGGER tg AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (w) VALUES (NEW.b)",
        "SET time_zone = '+05:00'",
        "INSERT INTO t (a, b, c, d, e, f) VALUES (1, 'é', '{\"a\": 1}', '2026-01-02 03:04:05.678', 'y', -1.25), \
         (0, '', NULL, NULL, NULL, NULL)",
        "SET time_zone = DEFAULT",
        "INSERT INTO u VALUES ('a', 'x'), ('A', 'x'), (NULL, NULL)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
        "CREATE TABLE made SELECT a, b FROM t",
        // Trees of empty tables are built from sorted rows; the log has the rows all the same, or none.
        "CREATE TABLE built (a INT PRIMARY KEY, b VARCHAR(20), c INT, UNIQUE (b))",
        "CREATE TABLE copied (a INT PRIMARY KEY, b VARCHAR(20), c INT, UNIQUE (c))",
        "SET cte_max_recursion_depth = 3000",
        "INSERT INTO built WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 2500) \
         SELECT i * 7 % 2503, CONCAT('b', i), i DIV 2 FROM r",
        "CREATE INDEX k ON built (c)",
        "INSERT IGNORE INTO copied SELECT * FROM built",
        "TRUNCATE TABLE copied",
        "BEGIN",
        "INSERT INTO copied SELECT a, b, a FROM built WHERE a > 2000",
        "SAVEPOINT s",
        "DELETE FROM copied WHERE a < 2100",
        "ROLLBACK TO s",
        "COMMIT",
    ] {
        run(&mut c, sql);
    }
    assert_eq!(error(&mut c, "INSERT INTO copied SELECT a - 5000, b, c FROM built"), 1062);
    assert_eq!(error(&mut c, "CREATE TABLE again (a INT, UNIQUE (a)) SELECT c AS a FROM built"), 1062);
    let mut by_gtids = Following::start(with_log);
    let mut unlogged = Following::start(without_log);
    let (mut r, mut q) = (by_gtids.r.connect(), unlogged.r.connect());
    assert_eq!(error(&mut r, "START REPLICA"), 1200);
    follow(&mut r, &s, "SOURCE_AUTO_POSITION = 1");
    follow(&mut q, &s, "SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    all_same(&mut c, &mut r);
    all_same(&mut c, &mut q);
    assert_eq!(status(&mut r, "Replica_IO_Running") + &status(&mut r, "Replica_SQL_Running"), "YesYes");
    assert_eq!(error(&mut r, "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1"), 3021);
    assert_eq!(error(&mut r, "RESET REPLICA"), 3081);
    for sql in [
        "SET binlog_transaction_compression = ON",
        "DELETE FROM parent WHERE a = 1",
        "UPDATE u SET b = 'y' WHERE BINARY a = 'A'",
        "BEGIN",
        "INSERT INTO t (a, b) VALUES (7, 'seven')",
        "SAVEPOINT x",
        "INSERT INTO t (a, b) VALUES (8, 'eight')",
        "ROLLBACK TO x",
        "UPDATE t SET b = 'changed' WHERE a = 1",
        "COMMIT",
        "XA START 'p'",
        "INSERT INTO t (a, b) VALUES (20, 'branch')",
        "XA END 'p'",
        "XA PREPARE 'p'",
        "ALTER TABLE t ADD z INT DEFAULT 3",
        "UPDATE t SET z = a",
        "CREATE USER w IDENTIFIED BY 'other'",
    ]
    .into_iter()
    .filter(|sql| !sql.starts_with("ALTER") && !sql.contains(" z "))
    {
        run(&mut c, sql);
    }
    all_same(&mut c, &mut r);
    // Each of them begins again.
    drop(r);
    by_gtids.restart();
    run(&mut c, "XA COMMIT 'p'");
    run(&mut c, "ALTER TABLE t ADD z INT DEFAULT 3");
    run(&mut c, "UPDATE t SET z = a");
    let mut r = by_gtids.r.connect();
    all_same(&mut c, &mut r);
    all_same(&mut c, &mut q);
    drop((c, q));
    s.restart();
    unlogged.restart();
    let (mut c, mut q) = (s.connect(), unlogged.r.connect());
    // The source has another port now, if it was given one by the system.
    for r in [&mut r, &mut q] {
        run(r, "STOP REPLICA");
        assert_eq!(status(r, "Replica_IO_Running"), "No");
        let Address::Tcp(_, port) = s.tcp() else { panic!("TCP") };
        let place = status(r, "Source_Log_File");
        let at = status(r, "Exec_Source_Log_Pos");
        let how = match status(r, "Auto_Position").as_str() {
            "1" => String::new(),
            _ => format!(", SOURCE_LOG_FILE = '{place}', SOURCE_LOG_POS = {at}"),
        };
        run(r, &format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT = {port}{how}"));
        run(r, "START REPLICA");
    }
    run(&mut c, "INSERT INTO d.t (a, b) VALUES (30, 'after')");
    all_same(&mut c, &mut r);
    all_same(&mut c, &mut q);
    let executed = "SELECT @@gtid_executed";
    same(&mut c, &mut r, executed);
    let login = common::options();
    let other = gannet_wire::client::Options { user: "w".into(), password: "other".into(), ..login };
    Connection::connect(&by_gtids.r.socket(), &other).unwrap();

    // What cannot be done stops it, and is done when it can.
    run(&mut q, "INSERT INTO d.parent VALUES (50)");
    run(&mut c, "SET binlog_transaction_compression = ON");
    run(&mut c, "INSERT INTO d.parent VALUES (49), (50)");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Replica_SQL_Running") == "Yes" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "1062");
    assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.parent WHERE a = 49"), "0");
    run(&mut q, "DELETE FROM d.parent WHERE a = 50");
    run(&mut q, "START REPLICA");
    all_same(&mut c, &mut q);
    run(&mut q, "STOP REPLICA");
    run(&mut q, "RESET REPLICA ALL");
    assert!(common::rows(&mut q, "SHOW REPLICA STATUS").is_empty());
    // A source that is not one.
    assert_eq!(error(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1, SOURCE_LOG_POS = 4"), 1776);
    follow(&mut q, &by_gtids.r, "SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'nobody'");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Last_IO_Errno") == "0" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(&mut q, "Last_IO_Errno"), "1045", "{}", status(&mut q, "Last_IO_Error"));
}

#[test]
fn a_replica_stops_where_it_is_told_and_waits() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let executed = one(&mut c, "SELECT @@gtid_executed");
    let (uuid, last) = (one(&mut c, "SELECT @@server_uuid"), executed.rsplit_once('-').unwrap().1.to_owned());
    let last: u64 = last.parse().unwrap();
    let mut place = String::new();
    for n in 1..=4 {
        run(&mut c, &format!("INSERT INTO d.t VALUES ({n})"));
        if n == 3 {
            let found = common::rows(&mut c, "SHOW BINARY LOG STATUS").remove(0);
            place = format!("SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = {}", found[0], found[1]);
        }
    }
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    let rows = "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t";
    for (until, shown, want) in [
        (format!("SQL_BEFORE_GTIDS = '{uuid}:{}'", last + 2), "SQL_BEFORE_GTIDS", "1"),
        (format!("SQL_AFTER_GTIDS = '{uuid}:1-{}'", last + 2), "SQL_AFTER_GTIDS", "1,2"),
        // All of them are there.
        (format!("SQL_AFTER_GTIDS = '{uuid}:1-{}'", last + 2), "SQL_AFTER_GTIDS", "1,2"),
        (place, "Source", "1,2,3"),
    ] {
        run(&mut q, &format!("START REPLICA UNTIL {until}"));
        stopped(&mut q);
        assert_eq!(status(&mut q, "Until_Condition"), shown);
        assert_eq!(one(&mut q, rows), want);
    }
    for (until, number) in [
        ("SOURCE_LOG_FILE = 'binlog.000001'", 1277),
        ("SQL_BEFORE_GTIDS = 'nonsense'", 1277),
        ("RELAY_LOG_FILE = 'x'", 1277),
    ] {
        assert_eq!(error(&mut q, &format!("START REPLICA UNTIL {until}")), number, "{until}");
    }
    assert_eq!(error(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 2147483648"), 1729);
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 2");
    let begun = Instant::now();
    run(&mut c, "INSERT INTO d.t VALUES (5)");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, rows);
    assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((status(&mut q, "SQL_Delay"), status(&mut q, "SQL_Remaining_Delay")), ("2".into(), "NULL".into()));
    assert_eq!((status(&mut q, "Source_Server_Id"), status(&mut q, "Until_Condition")), ("1".into(), "None".into()));
    // One that waits is stopped at once.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 1000");
    run(&mut c, "INSERT INTO d.t VALUES (6)");
    run(&mut q, "START REPLICA");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "SQL_Remaining_Delay") == "NULL" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(status(&mut q, "Replica_SQL_Running_State").starts_with("Waiting until SOURCE_DELAY"));
    run(&mut q, "STOP REPLICA");
    assert_eq!((one(&mut q, rows).as_str(), status(&mut q, "SQL_Remaining_Delay")), ("1,2,3,4,5", "NULL".to_owned()));
}

#[test]
fn a_filter_leaves_out_what_it_says() {
    let s = source();
    let mut c = s.connect();
    let mut following = Following::start(with_log);
    let mut q = following.r.connect();
    run(
        &mut q,
        "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (gone), REPLICATE_IGNORE_TABLE = (d.`no`), \
         REPLICATE_WILD_IGNORE_TABLE = ('d.tmp\\_%')",
    );
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE gone",
        // Definitions go by the default database.
        "USE gone",
        "CREATE TABLE t (a INT)",
        "USE d",
        "CREATE TABLE no (a INT)",
        "CREATE TABLE tmp_1 (a INT)",
        "CREATE TABLE tmp1 (a INT)",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "INSERT INTO no VALUES (1)",
        "INSERT INTO gone.t VALUES (1)",
        "BEGIN",
        "INSERT INTO tmp_1 VALUES (1)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO gone.t VALUES (2)",
        "INSERT INTO tmp1 VALUES (1)",
        "COMMIT",
        "ALTER TABLE no ADD b INT",
        "DROP TABLE tmp_1",
        "INSERT INTO t VALUES (2)",
    ] {
        run(&mut c, sql);
    }
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    same(&mut c, &mut q, "SELECT * FROM d.tmp1");
    // What was left out counts as executed.
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    let there =
        common::rows(&mut q, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1");
    assert_eq!(there.concat(), ["t", "tmp1"]);
    assert!(common::rows(&mut q, "SHOW DATABASES LIKE 'gone'").is_empty());
    let shown = ["Replicate_Ignore_DB", "Replicate_Ignore_Table", "Replicate_Wild_Ignore_Table", "Replicate_Do_DB"];
    assert_eq!(shown.map(|name| status(&mut q, name)), ["gone", "d.no", "d.tmp\\_%", ""]);
    assert_eq!(error(&mut q, "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (x)"), 3085);
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    run(&mut c, "INSERT INTO no VALUES (2, 2)");
    run(&mut c, "INSERT INTO t VALUES (3)");
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    run(&mut q, "STOP REPLICA");
    for (rule, number) in [
        ("REPLICATE_ALL = (a)", 1235),
        ("REPLICATE_REWRITE_DB = (a)", 1210),
        ("REPLICATE_DO_TABLE = (t)", 1210),
        ("REPLICATE_WILD_DO_TABLE = ('x')", 1210),
    ] {
        assert_eq!(error(&mut q, &format!("CHANGE REPLICATION FILTER {rule}")), number, "{rule}");
    }
    run(&mut q, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (), REPLICATE_DO_DB = (d)");
    assert_eq!(status(&mut q, "Replicate_Ignore_DB") + &status(&mut q, "Replicate_Do_DB"), "d");
    run(&mut q, "RESET REPLICA ALL");
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    assert_eq!(status(&mut q, "Replicate_Do_DB"), "");
}

/// Two sources whose transactions go to databases of their own.
#[test]
fn channels_follow_sources_of_their_own() {
    let sources = [source(), source()];
    let mut c = sources.each_ref().map(|s| s.connect());
    run(&mut c[1], "SET GLOBAL server_id = 7");
    for (c, n) in c.iter_mut().zip([1, 2]) {
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "CREATE TABLE d.no (a INT PRIMARY KEY)",
            &format!("INSERT INTO d.t VALUES ({n})"),
            "INSERT INTO d.no VALUES (1)",
        ] {
            run(c, sql);
        }
    }
    let mut following = Following::start(with_log);
    let mut q = following.r.connect();
    assert_eq!(error(&mut q, "START REPLICA"), 1200);
    for (sql, number) in [
        ("START REPLICA FOR CHANNEL 'one'", 3074),
        ("STOP REPLICA FOR CHANNEL 'one'", 3074),
        ("RESET REPLICA ALL FOR CHANNEL 'one'", 3074),
        ("SHOW REPLICA STATUS FOR CHANNEL 'one'", 3074),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a) FOR CHANNEL 'one'", 3074),
        ("CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1 FOR CHANNEL 'group_replication_applier'", 3139),
        (&format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1 FOR CHANNEL '{}'", "x".repeat(65)), 3076),
    ] {
        assert_eq!(error(&mut q, sql), number, "{sql}");
    }
    // What every channel leaves out, and what is of one.
    run(&mut q, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = (d.no)");
    run(&mut q, "CREATE DATABASE second");
    change(&mut q, &sources[0], "SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'One'");
    assert_eq!(common::rows(&mut q, "SHOW WARNINGS").iter().map(|w| &*w[1]).collect::<Vec<_>>(), ["1759", "1760"]);
    change(&mut q, &sources[1], "SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'two'");
    run(
        &mut q,
        "CHANGE REPLICATION FILTER REPLICATE_REWRITE_DB = ((d, second)), REPLICATE_IGNORE_TABLE = (second.no) \
         FOR CHANNEL 'TWO'",
    );
    for sql in [
        "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1",
        "START REPLICA UNTIL SQL_AFTER_GTIDS = '3E11FA47-71CA-11E1-9E33-C80AA9429562:1'",
    ] {
        assert_eq!(error(&mut q, sql), 3079, "{sql}");
    }
    // The definitions of the second one name the database.
    run(&mut q, "CREATE TABLE second.t (a INT PRIMARY KEY)");
    let two = one(&mut c[1], "SELECT @@server_uuid");
    let defined = one(&mut c[1], "SELECT REGEXP_REPLACE(@@gtid_executed, '.*-', '') - 2");
    run(&mut q, &format!("SET GLOBAL gtid_purged = '+{two}:1-{defined}'"));
    run(&mut q, "START REPLICA");
    let wait = |q: &mut Connection, c: &mut Connection| {
        let executed = one(c, "SELECT @@gtid_executed");
        assert_eq!(one(q, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 30)")), "0");
    };
    c.iter_mut().for_each(|c| wait(&mut q, c));
    let read = |q: &mut Connection, sql: &str| {
        common::rows(q, sql).iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(read(&mut q, "SELECT * FROM d.t"), "1");
    assert_eq!(read(&mut q, "SELECT * FROM second.t"), "2");
    let tables = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_name = 'no'";
    assert_eq!(read(&mut q, tables), "");
    run(&mut q, "START REPLICA FOR CHANNEL 'one'");
    assert_eq!(common::rows(&mut q, "SHOW WARNINGS")[0][1], "3083");
    for sql in ["RESET REPLICA FOR CHANNEL 'one'", "RESET REPLICA ALL"] {
        assert_eq!(error(&mut q, sql), 3081, "{sql}");
    }
    run(&mut q, "STOP REPLICA FOR CHANNEL 'one'");
    run(&mut q, "STOP REPLICA FOR CHANNEL 'one'");
    assert_eq!(common::rows(&mut q, "SHOW WARNINGS")[0][1], "3084");
    let schema = "performance_schema.replication";
    let states = format!("SELECT CHANNEL_NAME, SERVICE_STATE FROM {schema}_connection_status");
    assert_eq!(read(&mut q, &states), "one|OFF two|ON");
    let rules = format!("SELECT CHANNEL_NAME, FILTER_RULE, CONFIGURED_BY, COUNTER > 0 FROM {schema}_applier_filters");
    assert_eq!(
        read(&mut q, &rules),
        "one|d.no|CHANGE_REPLICATION_FILTER|1 \
         two|second.no|CHANGE_REPLICATION_FILTER_FOR_CHANNEL|1 \
         two|(d,second)|CHANGE_REPLICATION_FILTER_FOR_CHANNEL|1"
    );
    let shown = q.query("SHOW REPLICA STATUS FOR CHANNEL 'Two'").unwrap();
    let at = |name: &str| shown.columns.iter().position(|column| column.name == name).unwrap();
    let row = shown.texts().remove(0);
    assert_eq!([&row[at("Channel_Name")], &row[at("Replicate_Rewrite_DB")]], ["two", "(d,second)"]);
    assert_eq!(common::rows(&mut q, "SHOW REPLICA STATUS").len(), 2);
    // Where each stands.
    let kept = "SELECT Channel_name, Host, User_name, User_password, Enabled_auto_position, Ignored_server_ids, \
                Heartbeat, Master_log_name, Master_log_pos > 4, Uuid FROM mysql.slave_master_info \
                WHERE Channel_name = 'two'";
    let Address::Tcp(host, _) = sources[1].tcp() else { panic!("TCP") };
    assert_eq!(read(&mut q, kept), format!("two|{host}|reader|secret|1|0|30|binlog.000002|1|{two}"));
    let kept = "SELECT Channel_name, Relay_log_name, Master_log_name, Sql_delay, Require_table_primary_key_check FROM \
                mysql.slave_relay_log_info";
    let relay = one(&mut q, "SELECT @@relay_log");
    let want = format!("one|{relay}-one.000001|binlog.000001|0|STREAM two|{relay}-two.000001|binlog.000002|0|STREAM");
    assert_eq!(read(&mut q, kept), want);
    // Both, and their filters, are there after a restart; the one that was stopped stays so.
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    c.iter_mut().for_each(|c| run(c, "INSERT INTO d.t VALUES (10)"));
    wait(&mut q, &mut c[1]);
    assert_eq!(read(&mut q, "SELECT * FROM second.t"), "2 10");
    assert_eq!(read(&mut q, &states), "one|OFF two|ON");
    // Transactions of servers that are not listened to are passed over.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "CHANGE REPLICATION SOURCE TO IGNORE_SERVER_IDS = (9, 7, 7) FOR CHANNEL 'two'");
    let ids = "SELECT Ignored_server_ids FROM mysql.slave_master_info WHERE Channel_name = 'two'";
    assert_eq!(read(&mut q, ids), "2 7 9");
    c.iter_mut().for_each(|c| run(c, "INSERT INTO d.t VALUES (11)"));
    run(&mut q, "START REPLICA");
    wait(&mut q, &mut c[0]);
    assert_eq!(read(&mut q, "SELECT * FROM d.t"), "1 10 11");
    run(&mut c[1], "SET GLOBAL server_id = 8");
    run(&mut c[1], "FLUSH BINARY LOGS");
    run(&mut c[1], "INSERT INTO d.t VALUES (12)");
    let until = Instant::now() + PATIENCE;
    while read(&mut q, "SELECT * FROM second.t") != "2 10 12" {
        assert!(Instant::now() < until, "{}", read(&mut q, "SELECT * FROM second.t"));
        std::thread::sleep(Duration::from_millis(10));
    }
    // One is forgotten, with its filter.
    run(&mut q, "STOP REPLICA");
    run(&mut q, "RESET REPLICA ALL FOR CHANNEL 'two'");
    assert_eq!(read(&mut q, &states), "one|OFF");
    run(&mut q, "RESET REPLICA ALL");
    assert_eq!(read(&mut q, &states) + &read(&mut q, "SELECT * FROM mysql.slave_master_info"), "");
    change(&mut q, &sources[0], "SOURCE_AUTO_POSITION = 1");
    assert_eq!(read(&mut q, &rules), "");
}

/// The second of two transactions has a row that the first one wants, and may not commit before it.
#[test]
fn workers_commit_in_order_and_make_way() {
    let s = source();
    let mut c = s.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT UNIQUE)",
        "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)",
    ] {
        run(&mut c, sql);
    }
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    let mut holder = following.r.connect();
    run(&mut holder, "BEGIN");
    run(&mut holder, "SELECT * FROM d.t WHERE a = 1 FOR UPDATE");
    for sql in [
        // Waits for the row that is held here.
        "BEGIN",
        "UPDATE d.t SET b = 10 WHERE a = 1",
        "UPDATE d.t SET b = b + 10 WHERE a = 2",
        "COMMIT",
        // Has a row of the first one, and waits for its turn.
        "UPDATE d.t SET b = 100 WHERE a = 2",
        // Does not find what the first one is to write.
        "INSERT INTO d.t VALUES (4, 12)",
        "DELETE FROM d.t WHERE a = 4",
        "INSERT INTO d.t VALUES (1001, 1)",
    ] {
        run(&mut c, sql);
    }
    let schema = "performance_schema.replication_applier_status";
    let busy = format!("SELECT COUNT(*) FROM {schema}_by_worker WHERE APPLYING_TRANSACTION <> ''");
    let until = Instant::now() + PATIENCE;
    while one(&mut q, &busy) != "4" {
        assert!(Instant::now() < until, "{}", one(&mut q, &busy));
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(common::rows(&mut q, "SELECT * FROM d.t ORDER BY a").concat(), ["1", "1", "2", "2", "3", "3"]);
    run(&mut holder, "COMMIT");
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
    same(&mut c, &mut q, "SELECT @@gtid_executed");
    let retries: u64 = one(&mut q, &format!("SELECT COUNT_TRANSACTIONS_RETRIES FROM {schema}")).parse().unwrap();
    assert!(retries >= 2, "{retries}");
    // What is an error in its turn stops the replica: nothing behind it is there.
    run(&mut q, "SET sql_log_bin = OFF");
    run(&mut q, "DELETE FROM d.t WHERE a = 3");
    run(&mut c, "UPDATE d.t SET b = 33 WHERE a = 3");
    run(&mut c, "INSERT INTO d.t VALUES (5, 5)");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Replica_SQL_Running") == "Yes" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "1032");
    assert_eq!(common::rows(&mut q, "SELECT a FROM d.t WHERE a IN (3, 5)").len(), 0);
    run(&mut q, "INSERT INTO d.t VALUES (3, 3)");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.t ORDER BY a");
}

#[test]
fn options_and_tables_say_what_is() {
    let s = source();
    let mut c = s.connect();
    let following = Following::start(with_log);
    let mut q = following.r.connect();
    let schema = "performance_schema.replication_";
    let read = |q: &mut Connection, what: &str, table: &str| -> Vec<String> {
        common::rows(q, &format!("SELECT {what} FROM {schema}{table}")).iter().map(|r| r.join("|")).collect()
    };
    let all = [
        "connection_configuration",
        "connection_status",
        "applier_configuration",
        "applier_status",
        "applier_status_by_worker",
        "applier_status_by_coordinator",
        "applier_filters",
        "applier_global_filters",
    ];
    for table in all {
        assert_eq!(read(&mut q, "*", table), [""; 0], "{table}");
    }
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1, SOURCE_HEARTBEAT_PERIOD = 0.05, SOURCE_RETRY_COUNT = 7");
    // What is so anyway is taken; what is not there is refused by name.
    run(
        &mut q,
        "CHANGE REPLICATION SOURCE TO SOURCE_BIND = '', NETWORK_NAMESPACE = '', PRIVILEGE_CHECKS_USER = NULL, \
         SOURCE_SSL_VERIFY_SERVER_CERT = 0, SOURCE_COMPRESSION_ALGORITHMS = 'uncompressed', GTID_ONLY = 0, \
         REQUIRE_ROW_FORMAT = 0, REQUIRE_TABLE_PRIMARY_KEY_CHECK = STREAM, SOURCE_CONNECTION_AUTO_FAILOVER = 0, \
         ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = OFF, IGNORE_SERVER_IDS = (), SOURCE_SSL_CA = '/nowhere/ca.pem'",
    );
    for (option, number) in [
        ("NETWORK_NAMESPACE = 'x'", 1235),
        ("SOURCE_COMPRESSION_ALGORITHMS = 'lz4'", 3920),
        ("SOURCE_HOST = ''", 1210),
        ("SOURCE_NONSENSE = 1", 1064),
        ("GTID_ONLY = 1", 4065),
        ("REQUIRE_TABLE_PRIMARY_KEY_CHECK = GENERATION", 1231),
        ("REQUIRE_TABLE_PRIMARY_KEY_CHECK = NEVER", 1231),
        ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = LOCAL", 4014),
        ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = 'x'", 1525),
        ("IGNORE_SERVER_IDS = (4294967296)", 1210),
        ("SOURCE_HEARTBEAT_PERIOD = 4294968", 1624),
        ("RELAY_LOG_FILE = 'x', RELAY_LOG_POS = 4", 1776),
    ] {
        assert_eq!(error(&mut q, &format!("CHANGE REPLICATION SOURCE TO {option}")), number, "{option}");
    }
    // A certificate's file that is not there stops it.
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_SSL = 1");
    run(&mut q, "START REPLICA");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Last_IO_Errno") == "0" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(status(&mut q, "Last_IO_Error").contains("/nowhere/ca.pem"));
    assert_eq!(status(&mut q, "Source_SSL_CA_File"), "/nowhere/ca.pem");
    let failed =
        read(&mut q, "LAST_ERROR_NUMBER > 0, LAST_ERROR_TIMESTAMP > NOW() - INTERVAL 1 DAY", "connection_status");
    assert_eq!(failed, ["1|1"]);
    run(&mut q, "STOP REPLICA");
    run(
        &mut q,
        "CHANGE REPLICATION SOURCE TO SOURCE_SSL = 0, SOURCE_SSL_CA = '', REQUIRE_TABLE_PRIMARY_KEY_CHECK = ON",
    );
    run(&mut q, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (x, y)");
    run(&mut q, "START REPLICA");
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    same(&mut c, &mut q, "SELECT * FROM d.t");
    let Address::Tcp(host, port) = s.tcp() else { panic!("TCP") };
    let columns = "CHANNEL_NAME, HOST, PORT, USER, AUTO_POSITION, SSL_ALLOWED, CONNECTION_RETRY_INTERVAL, \
                   CONNECTION_RETRY_COUNT, HEARTBEAT_INTERVAL, GET_PUBLIC_KEY, GTID_ONLY";
    let want = format!("|{host}|{port}|reader|1|NO|1|7|0.050|YES|0");
    assert_eq!(read(&mut q, columns, "connection_configuration"), [want]);
    assert_eq!(status(&mut q, "Get_Source_public_key"), "1");
    let (uuid, executed) = (one(&mut c, "SELECT @@server_uuid"), one(&mut c, "SELECT @@gtid_executed"));
    let last = format!("{uuid}:{}", executed.rsplit_once('-').unwrap().1);
    let until = Instant::now() + PATIENCE;
    while read(&mut q, "COUNT_RECEIVED_HEARTBEATS > 0", "connection_status") != ["1"] {
        assert!(Instant::now() < until, "no heartbeat");
    }
    let columns = "SOURCE_UUID, SERVICE_STATE, LAST_HEARTBEAT_TIMESTAMP > NOW() - INTERVAL 1 DAY, \
                   RECEIVED_TRANSACTION_SET, LAST_ERROR_NUMBER, LAST_QUEUED_TRANSACTION, QUEUEING_TRANSACTION";
    assert_eq!(read(&mut q, columns, "connection_status"), [format!("{uuid}|ON|1|{executed}|0|{last}|")]);
    let columns = "WORKER_ID, SERVICE_STATE, LAST_ERROR_NUMBER, LAST_APPLIED_TRANSACTION, \
                   LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP = LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP, \
                   LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP >= LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP, \
                   LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP > LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP, \
                   APPLYING_TRANSACTION, APPLYING_TRANSACTION_START_APPLY_TIMESTAMP";
    let workers = read(&mut q, columns, "applier_status_by_worker");
    let want = format!("|ON|0|{last}|1|1|1||0000-00-00 00:00:00.000000");
    assert_eq!((workers.len(), workers.iter().filter(|row| row.ends_with(&want)).count()), (4, 1), "{workers:?}");
    assert_eq!(read(&mut q, "*", "applier_status"), ["|ON|NULL|0"]);
    assert_eq!(read(&mut q, "*", "applier_configuration"), ["|0|NULL|NO|ON|OFF|NULL"]);
    let columns = "SERVICE_STATE, LAST_ERROR_NUMBER, LAST_PROCESSED_TRANSACTION, PROCESSING_TRANSACTION";
    assert_eq!(read(&mut q, columns, "applier_status_by_coordinator"), [format!("ON|0|{last}|")]);
    let kept = common::rows(&mut q, "SELECT Id, Channel_name FROM mysql.slave_worker_info").concat();
    assert_eq!(kept.concat(), "1234");
    let columns = "FILTER_NAME, FILTER_RULE, CONFIGURED_BY, ACTIVE_SINCE > NOW() - INTERVAL 1 DAY";
    for table in ["applier_filters", "applier_global_filters"] {
        assert_eq!(read(&mut q, columns, table), ["REPLICATE_IGNORE_DB|x,y|CHANGE_REPLICATION_FILTER|1"]);
    }
    let intervals = "SELECT source_uuid, interval_start, interval_end FROM mysql.gtid_executed";
    same(&mut c, &mut q, intervals);
    assert_eq!(common::rows(&mut q, intervals)[0][..2], [uuid, "1".to_owned()]);
    // A table without a primary key is refused where that was asked for.
    run(&mut c, "CREATE TABLE d.without (a INT)");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Replica_SQL_Running") == "Yes" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status(&mut q, "Last_SQL_Errno"), "3750");
    assert_eq!(read(&mut q, "SERVICE_STATE, LAST_ERROR_NUMBER", "applier_status_by_coordinator"), ["OFF|3750"]);
    // One that reads and applies.
    run(&mut q, "SET GLOBAL replica_parallel_workers = 0");
    run(&mut q, "START REPLICA");
    let until = Instant::now() + PATIENCE;
    while status(&mut q, "Replica_SQL_Running") == "Yes" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(read(&mut q, "WORKER_ID, LAST_ERROR_NUMBER", "applier_status_by_worker"), ["0|3750"]);
    assert_eq!(read(&mut q, "*", "applier_status_by_coordinator"), [""; 0]);
    assert_eq!(error(&mut q, "SET GLOBAL replica_preserve_commit_order = OFF"), 1235);
    run(&mut q, "CHANGE REPLICATION SOURCE TO REQUIRE_TABLE_PRIMARY_KEY_CHECK = OFF");
    run(&mut q, "START REPLICA");
    same(&mut c, &mut q, "SELECT * FROM d.without");
}
