//! Accounts through the wire: authentication in every combination, privileges, locks, passwords that change.

mod common;

use common::{Running, error, one, options, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_server::{Server, ServerOptions};
use gannet_wire::auth::Plugin;
use gannet_wire::client::{Address, Connection, Options};
use gannet_wire::flags::com;

fn login(at: &Address, user: &str, password: &str, plugin: Option<Plugin>) -> Result<Connection, Option<u16>> {
    let o = Options { user: user.into(), password: password.into(), plugin, ..options() };
    Connection::connect(at, &o).map_err(|e| e.code())
}

#[test]
fn every_plugin_over_every_transport() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER native@localhost IDENTIFIED WITH mysql_native_password BY 'pw1'");
    run(&mut root, "CREATE USER sha2@localhost IDENTIFIED BY 'pw2'");
    run(&mut root, "CREATE USER open@localhost");
    for at in [r.socket(), r.tcp()] {
        for plugin in [None, Some(Plugin::Native), Some(Plugin::Sha2)] {
            // Twice: the second login may take the fast path.
            for _ in 0..2 {
                for (user, password) in [("native", "pw1"), ("sha2", "pw2"), ("open", "")] {
                    let mut c =
                        login(&at, user, password, plugin).unwrap_or_else(|e| panic!("{user} {plugin:?}: {e:?}"));
                    assert_eq!(one(&mut c, "SELECT CURRENT_USER()"), format!("{user}@localhost"));
                }
            }
            for (user, password) in [
                ("native", "x"),
                ("native", ""),
                ("sha2", "pw1"),
                ("sha2", ""),
                ("open", "x"),
                ("nobody", "x"),
                ("nobody", ""),
            ] {
                assert_eq!(login(&at, user, password, plugin).err(), Some(Some(1045)), "{user} {plugin:?}");
            }
        }
    }
    let e = Connection::connect(&r.socket(), &Options { user: "eve".into(), password: "x".into(), ..options() })
        .unwrap_err();
    assert!(e.to_string().contains("Access denied for user 'eve'@'localhost' (using password: YES)"), "{e}");
}

#[test]
fn accounts_change_and_survive() {
    let mut r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER u@localhost IDENTIFIED BY 'one'");
    run(&mut root, "ALTER USER u@localhost IDENTIFIED BY 'two'");
    assert!(login(&r.socket(), "u", "one", None).is_err());
    let mut u = login(&r.socket(), "u", "two", None).unwrap();
    run(&mut u, "SET PASSWORD = 'three'");
    assert_eq!(error(&mut u, "ALTER USER root@localhost IDENTIFIED BY 'x'"), 1227);
    assert_eq!(error(&mut u, "CREATE USER v@localhost"), 1227);
    run(&mut root, "ALTER USER u@localhost ACCOUNT LOCK");
    assert_eq!(login(&r.socket(), "u", "three", None).err(), Some(Some(3118)));
    run(&mut root, "ALTER USER u@localhost ACCOUNT UNLOCK");
    run(&mut root, "RENAME USER u@localhost TO w@localhost");
    assert_eq!(error(&mut root, "CREATE USER w@localhost"), 1396);
    run(&mut root, "CREATE USER IF NOT EXISTS w@localhost");
    assert_eq!(one(&mut root, "SHOW COUNT(*) WARNINGS"), "1");
    drop((root, u));
    r.restart();
    let mut w = login(&r.socket(), "w", "three", None).unwrap();
    assert_eq!(rows(&mut w, "SHOW GRANTS"), [["GRANT USAGE ON *.* TO `w`@`localhost`"]]);
    let mut root = r.connect();
    run(&mut root, "DROP USER w@localhost");
    assert!(login(&r.socket(), "w", "three", None).is_err());
    assert_eq!(error(&mut root, "DROP USER w@localhost"), 1396);
    run(&mut root, "DROP USER IF EXISTS w@localhost");
    let users = rows(&mut root, "SELECT User, Host, plugin FROM mysql.user");
    assert_eq!(users, [["root", "localhost", "caching_sha2_password"]]);
}

#[test]
fn privileges_are_enforced() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, "CREATE TABLE d.t (a INT PRIMARY KEY)");
    run(&mut root, "INSERT INTO d.t VALUES (1)");
    run(&mut root, "CREATE USER u@localhost");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    for (sql, number) in [
        ("SELECT * FROM d.t", 1142),
        ("INSERT INTO d.t VALUES (2)", 1142),
        ("UPDATE d.t SET a = 3", 1142),
        ("DELETE FROM d.t", 1142),
        ("DROP TABLE d.t", 1142),
        ("CREATE DATABASE e", 1044),
        ("SET GLOBAL wait_timeout = 5", 1227),
        ("SHUTDOWN", 1227),
        ("GRANT SELECT ON *.* TO u@localhost", 1045),
        ("SHOW ENGINE INNODB STATUS", 1227),
        ("FLUSH STATUS", 1227),
    ] {
        assert_eq!(error(&mut u, sql), number, "{sql}");
    }
    assert_eq!(one(&mut u, "SELECT 1"), "1");
    run(&mut root, "GRANT SELECT, INSERT ON *.* TO u@localhost");
    // Rights are those of the login, as MySQL has it for global ones.
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    run(&mut u, "INSERT INTO d.t VALUES (2)");
    assert_eq!(one(&mut u, "SELECT COUNT(*) FROM d.t"), "2");
    assert_eq!(error(&mut u, "UPDATE d.t SET a = 3"), 1142);
    assert_eq!(error(&mut root, "GRANT SELECT ON d.* TO u@localhost"), 1235);
    assert_eq!(error(&mut root, "GRANT SELECT ON *.* TO stranger@localhost"), 1410);
    run(&mut root, "REVOKE SELECT ON *.* FROM u@localhost");
    assert_eq!(rows(&mut root, "SHOW GRANTS FOR u@localhost"), [["GRANT INSERT ON *.* TO `u`@`localhost`"]]);
    run(&mut root, "GRANT ALL ON *.* TO u@localhost WITH GRANT OPTION");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    run(&mut u, "CREATE DATABASE e");
    // One sees one's own sessions only without PROCESS.
    run(&mut root, "REVOKE PROCESS ON *.* FROM u@localhost");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    assert!(rows(&mut u, "SHOW PROCESSLIST").iter().all(|p| p[1] == "u"));
}

#[test]
fn change_user_and_reset() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, "CREATE USER u@localhost IDENTIFIED WITH mysql_native_password BY 'pw'");
    let mut c = r.connect();
    run(&mut c, "SET @a = 1, autocommit = 0, NAMES latin1");
    c.command(com::RESET_CONNECTION, b"").unwrap();
    c.receive().unwrap();
    assert_eq!(rows(&mut c, "SELECT @a, @@autocommit, @@character_set_client"), [["NULL", "1", "utf8mb4"]]);
    // To a passwordless account and a database.
    run(&mut root, "CREATE USER open@localhost");
    c.command(com::CHANGE_USER, b"open\0\0d\0\x2d\0mysql_native_password\0").unwrap();
    c.receive().unwrap();
    assert_eq!(rows(&mut c, "SELECT CURRENT_USER(), DATABASE()"), [["open@localhost", "d"]]);
    // To one with a password, which is asked for anew; the wrong one ends the connection.
    c.command(com::CHANGE_USER, b"u\0\x14xxxxxxxxxxxxxxxxxxxx\0\x2d\0mysql_native_password\0").unwrap();
    let switch = c.receive().unwrap();
    assert_eq!(switch[0], 0xFE);
    c.send(&[7; 20]).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1045));
    assert!(c.ping().is_err());
}

#[test]
fn an_open_account_keeps_the_server_on_loopback() {
    let dir = std::env::temp_dir().join(format!("gannet-open-{}", std::process::id()));
    let start = |bind: &str| {
        let mut o = ServerOptions::new(&dir);
        o.set(Live::Port, VarValue::Int(0));
        o.set(Live::BindAddress, VarValue::text(bind));
        o.set(Live::InnodbBufferPoolSize, VarValue::Int(16 << 20));
        o.set(Live::InnodbRedoLogCapacity, VarValue::Int(16 << 20));
        o.set(Live::LogErrorVerbosity, VarValue::Int(1));
        Server::start(o)
    };
    let refused = start("0.0.0.0").err().expect("root has no password");
    assert!(refused.contains("'root'@'localhost'") && refused.contains("ALTER USER"), "{refused}");
    let server = start("127.0.0.1").unwrap();
    assert!(server.banner().contains("no password"));
    // A second server on the same data is refused.
    let second = start("127.0.0.1").err().expect("the directory is taken");
    assert!(second.contains("in use"), "{second}");
    let at = Address::Unix(server.socket().unwrap().into());
    let mut c = Connection::connect(&at, &options()).unwrap();
    run(&mut c, "ALTER USER root@localhost IDENTIFIED BY 'secret'");
    drop((c, server));
    let server = start("0.0.0.0").unwrap();
    let at = Address::Unix(server.socket().unwrap().into());
    let mut c = login(&at, "root", "secret", None).unwrap();
    assert_eq!(error(&mut c, "CREATE USER late@localhost"), 1819);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    drop((c, server));
    std::fs::remove_dir_all(&dir).unwrap();
}
