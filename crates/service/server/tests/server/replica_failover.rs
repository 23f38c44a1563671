//! A replica whose source is gone follows another one.

use crate::common::{self, error, one, run};
use crate::relay::wait;
use crate::replica::{Following, follow, same, source, status, with_log, without_log};
use gannet_wire::client::{Address, Connection};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

const ADD: &str = "SELECT asynchronous_connection_failover_add_source";
const DELETE: &str = "SELECT asynchronous_connection_failover_delete_source";

fn known(q: &mut Connection, schema: &str) -> Vec<String> {
    let columns = "Channel_name, Host, Port, Network_namespace, Weight, Managed_name";
    let sql = format!("SELECT {columns} FROM {schema}.replication_asynchronous_connection_failover");
    common::rows(q, &sql).iter().map(|row| row.join("|")).collect()
}

/// The port of a listener that closes each connection, and how many there were.
fn hanging_up() -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            drop(client);
            counted.fetch_add(1, Relaxed);
        }
    });
    (port, asked)
}

/// A port on which nobody listens, nor will while the streams are there: it is one's own end.
pub(crate) fn nobodys_port() -> (u16, [TcpStream; 2]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let other_end = listener.accept().unwrap().0;
    (one_end.local_addr().unwrap().port(), [one_end, other_end])
}

#[test]
fn another_source_is_followed() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    // The other one is a replica of the first.
    let middle = Following::start(with_log);
    let mut m = middle.r.connect();
    follow(&mut m, &s, "SOURCE_AUTO_POSITION = 1");
    let mut last = Following::start(without_log);
    let mut q = last.r.connect();
    follow(&mut q, &s, "SOURCE_AUTO_POSITION = 1, SOURCE_CONNECTION_AUTO_FAILOVER = 1, SOURCE_RETRY_COUNT = 1");
    run(&mut c, "INSERT INTO d.t VALUES (1)");
    for replica in [&mut m, &mut q] {
        same(&mut c, replica, "SELECT * FROM d.t");
    }
    let (Address::Tcp(_, port), Address::Tcp(_, first)) = (middle.r.tcp(), s.tcp()) else { panic!("TCP") };
    // One of more weight that hangs up.
    let (hangs_up, asked) = hanging_up();
    run(&mut q, &format!("{ADD}('', '127.0.0.1', {port}, '', 40)"));
    run(&mut q, &format!("{ADD}('', '127.0.0.1', {hangs_up}, '', 90)"));
    run(&mut q, &format!("{ADD}('other', '127.0.0.1', {first}, '', 100)"));
    drop((m, c, s));
    wait(&mut q, "Source_Port", &port.to_string());
    assert!(asked.load(Relaxed) > 0, "the one of more weight is asked first");
    let mut m = middle.r.connect();
    run(&mut m, "INSERT INTO d.t VALUES (2)");
    same(&mut m, &mut q, "SELECT * FROM d.t");
    assert_eq!(status(&mut q, "Replica_IO_Running"), "Yes");
    // It stays so.
    drop(q);
    last.restart();
    let mut q = last.r.connect();
    let kept = "SELECT Port, Source_connection_auto_failover FROM mysql.slave_master_info";
    assert_eq!(common::rows(&mut q, kept), [[port.to_string(), "1".to_owned()]]);
    run(&mut m, "INSERT INTO d.t VALUES (3)");
    same(&mut m, &mut q, "SELECT * FROM d.t");
    // What is no fault of the network stops it.
    run(&mut m, "ALTER USER reader IDENTIFIED BY 'another'");
    run(&mut q, "STOP REPLICA IO_THREAD");
    run(&mut q, "START REPLICA IO_THREAD");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!((status(&mut q, "Last_IO_Errno"), status(&mut q, "Source_Port")), ("1045".to_owned(), port.to_string()));
    // So does it when there is no other.
    run(&mut q, "SELECT asynchronous_connection_failover_reset()");
    assert_eq!(known(&mut q, "performance_schema"), [""; 0]);
    let (nobody, _held) = nobodys_port();
    run(&mut q, &format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT = {nobody}"));
    run(&mut q, "START REPLICA IO_THREAD");
    wait(&mut q, "Replica_IO_Running", "No");
    assert_eq!(
        (status(&mut q, "Last_IO_Errno"), status(&mut q, "Source_Port")),
        ("2003".to_owned(), nobody.to_string())
    );
}

#[test]
fn sources_are_added_and_removed() {
    let mut following = Following::start(with_log);
    let mut q = following.r.connect();
    let done = one(&mut q, &format!("{ADD}('', 'h', 3306)"));
    assert_eq!(done, "The UDF asynchronous_connection_failover_add_source() executed successfully.");
    run(&mut q, &format!("{ADD}('C', 'H2', 1, NULLIF('', 'x'), 100)"));
    assert_eq!(error(&mut q, &format!("{ADD}('c', 'h2', 1, '', 1)")), 1062);
    run(&mut q, &format!("{ADD}('C', 'h', 65535, 'space', 1)"));
    let warnings = common::rows(&mut q, "SHOW WARNINGS");
    assert_eq!((warnings.len(), warnings[0][1].as_str()), (1, "4030"));
    for arguments in [
        "'', 'h'",
        "'', 'h', 1, '', 50, 1",
        "NULL, 'h', 1",
        "'', '', 1",
        "'', 'h', '1'",
        "'', 'h', 65536",
        "'', 'h', 0",
        "'', 'h', 1, NULL",
        "'', 'h', 1, '', 0",
        "'', 'h', 1, '', 101",
        "'', 'h', 1, '', '50'",
    ] {
        assert_eq!(error(&mut q, &format!("{ADD}({arguments})")), 1123, "{arguments}");
    }
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    let want = ["|h|3306||50|", "C|h|65535||1|", "C|H2|1||100|"];
    assert_eq!(
        (known(&mut q, "performance_schema"), known(&mut q, "mysql")),
        (want.map(str::to_owned).into(), want.map(str::to_owned).into())
    );
    let e = q.query(&format!("{DELETE}('', 'nobody', 3306, '')")).unwrap_err();
    let what =
        "asynchronous_connection_failover_delete_source UDF failed; Error no matching row was found to be deleted.";
    assert!(e.code() == Some(3200) && e.to_string().ends_with(what), "{e}");
    run(&mut q, &format!("{DELETE}('c', 'h2', 1, '')"));
    assert_eq!(known(&mut q, "mysql"), ["|h|3306||50|", "C|h|65535||1|"]);
    assert_eq!(error(&mut q, "SELECT asynchronous_connection_failover_reset(1)"), 1123);
    run(&mut q, "CREATE USER u@localhost");
    let mut u = Connection::connect(
        &following.r.socket(),
        &gannet_wire::client::Options { user: "u".into(), ..common::options() },
    )
    .unwrap();
    assert_eq!(error(&mut u, "SELECT asynchronous_connection_failover_reset()"), 1227);
    run(&mut q, "GRANT REPLICATION_SLAVE_ADMIN ON *.* TO u@localhost");
    run(&mut u, "SELECT asynchronous_connection_failover_reset()");
    assert_eq!(known(&mut q, "mysql"), [""; 0]);
    for managed in ["add_managed('', 'GroupReplication', UUID(), 'h', 1, '', 80, 60)", "delete_managed('', UUID())"] {
        assert_eq!(error(&mut q, &format!("SELECT asynchronous_connection_failover_{managed}")), 1235);
    }
    let managed = "SELECT COUNT(*) FROM mysql.replication_asynchronous_connection_failover_managed";
    assert_eq!(one(&mut q, managed), "0");
    for (options, number) in [
        ("SOURCE_HOST = 'h', SOURCE_CONNECTION_AUTO_FAILOVER = 1", 3991),
        ("SOURCE_CONNECTION_AUTO_FAILOVER = 1, SOURCE_AUTO_POSITION = 1, SOURCE_HOST = 'h'", 0),
        ("SOURCE_AUTO_POSITION = 0", 3993),
        ("SOURCE_AUTO_POSITION = 0, SOURCE_CONNECTION_AUTO_FAILOVER = 0", 0),
    ] {
        match (q.query(&format!("CHANGE REPLICATION SOURCE TO {options}")), number) {
            (Ok(_), 0) => {}
            (outcome, number) => assert_eq!(outcome.unwrap_err().code(), Some(number), "{options}"),
        }
    }
}
