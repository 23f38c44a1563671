//! Accounts through the wire: authentication in every combination, privileges, locks, passwords that change.

use crate::common::{PATIENCE, Running, error, one, options, rows, run, wait_for};
use gannet_server::vars::{Live, VarValue};
use gannet_server::{Server, ServerOptions};
use gannet_wire::auth::Plugin;
use gannet_wire::client::{Address, Connection, Error, Options};
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
    run(&mut root, "CREATE USER sha256@localhost IDENTIFIED WITH sha256_password BY 'pw3'");
    run(&mut root, "CREATE USER open@localhost");
    for at in [r.socket(), r.tcp()] {
        for plugin in [None, Some(Plugin::Native), Some(Plugin::Sha2), Some(Plugin::Sha256)] {
            // Twice: the second login may take the fast path.
            for _ in 0..2 {
                for (user, password) in [("native", "pw1"), ("sha2", "pw2"), ("sha256", "pw3"), ("open", "")] {
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
                ("sha256", "pw2"),
                ("sha256", ""),
                ("open", "x"),
                ("nobody", "x"),
                ("nobody", ""),
            ] {
                assert_eq!(login(&at, user, password, plugin).err(), Some(Some(1045)), "{user} {plugin:?}");
            }
            // Or wrong passwords are answered later and later.
            run(&mut root, "FLUSH PRIVILEGES");
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
    assert_eq!(login(&r.socket(), "u", "one", None).unwrap_err(), Some(1045));
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
    assert_eq!(login(&r.socket(), "w", "three", None).unwrap_err(), Some(1045));
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
    // What is granted and revoked holds from the next statement on.
    run(&mut u, "INSERT INTO d.t VALUES (3)");
    run(&mut root, "DELETE FROM d.t WHERE a = 3");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    run(&mut u, "INSERT INTO d.t VALUES (2)");
    assert_eq!(one(&mut u, "SELECT COUNT(*) FROM d.t"), "2");
    assert_eq!(error(&mut u, "UPDATE d.t SET a = 3"), 1142);
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
fn privileges_below_the_global_level_are_enforced() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE e",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c INT)",
        "CREATE TABLE d.hidden (x INT)",
        "CREATE TABLE e.t (a INT)",
        "INSERT INTO d.t VALUES (1, 2, 3)",
        "CREATE USER u@localhost",
        "GRANT SELECT (a, b), UPDATE (b) ON d.t TO u@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    assert_eq!(rows(&mut u, "SELECT a, b FROM d.t"), [["1", "2"]]);
    run(&mut u, "UPDATE d.t SET b = 5 WHERE a = 1");
    run(&mut u, "USE d");
    for (sql, number) in [
        ("SELECT c FROM d.t", 1143),
        ("SELECT a FROM d.t WHERE c = 3", 1143),
        ("SELECT a FROM d.t ORDER BY c", 1143),
        ("UPDATE d.t SET c = 5", 1143),
        ("UPDATE d.t SET b = c", 1143),
        ("INSERT INTO d.t (a) VALUES (9)", 1142),
        ("INSERT INTO d.t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 1", 1142),
        ("DELETE FROM d.t", 1142),
        ("SELECT * FROM d.hidden", 1142),
        ("SELECT nonesuch FROM d.hidden", 1142),
        ("SELECT * FROM d.nonesuch", 1142),
        ("PREPARE s FROM 'SELECT * FROM d.hidden'", 1142),
        ("SELECT * FROM e.t", 1142),
        ("EXPLAIN SELECT * FROM d.hidden", 1142),
        ("SHOW CREATE TABLE d.hidden", 1142),
        ("SHOW COLUMNS FROM d.hidden", 1142),
        ("DESCRIBE e.t", 1142),
        ("SHOW TABLES FROM e", 1044),
        ("USE e", 1044),
        ("DROP TABLE d.t", 1142),
        ("ALTER TABLE d.t RENAME d.t2", 1142),
        ("CREATE TABLE d.n (a INT)", 1142),
        ("CREATE TABLE e.n LIKE d.t", 1142),
        ("TRUNCATE d.t", 1142),
        ("CREATE INDEX i ON d.t (b)", 1142),
        ("LOCK TABLES d.t READ", 1044),
        ("DROP DATABASE e", 1044),
        ("SELECT * FROM mysql.user", 1142),
        ("SHOW GRANTS FOR root@localhost", 1044),
        ("SHOW CREATE USER root@localhost", 1044),
        ("GRANT SELECT ON d.t TO u@localhost", 1142),
        ("CREATE ROLE r", 1227),
    ] {
        assert_eq!(error(&mut u, sql), number, "{sql}");
    }
    assert_eq!(rows(&mut u, "SHOW DATABASES"), [["d"], ["information_schema"]]);
    assert_eq!(rows(&mut u, "SHOW TABLES"), [["t"]]);
    assert_eq!(one(&mut u, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('d', 'e')"), "1");
    let seen = rows(&mut u, "SELECT COLUMN_NAME, PRIVILEGES FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd'");
    assert_eq!(seen, [["a", "select"], ["b", "select,update"]]);
    // Roles.
    run(&mut root, "CREATE ROLE r");
    run(&mut root, "GRANT SELECT ON d.* TO r");
    run(&mut root, "GRANT r TO u@localhost");
    assert_eq!(error(&mut u, "SELECT c FROM d.t"), 1143);
    run(&mut u, "SET ROLE r");
    assert_eq!(rows(&mut u, "SELECT c, CURRENT_ROLE() FROM d.t"), [["3", "`r`@`%`"]]);
    run(&mut u, "SET ROLE NONE");
    assert_eq!(error(&mut u, "SELECT c FROM d.t"), 1143);
    run(&mut root, "SET DEFAULT ROLE r TO u@localhost");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    assert_eq!(one(&mut u, "SELECT COUNT(*) FROM d.hidden"), "0");
    assert_eq!(error(&mut u, "SELECT * FROM d.t FOR UPDATE"), 0);
    // Revoking the role takes its rights from those who use it.
    run(&mut root, "REVOKE r FROM u@localhost");
    assert_eq!(error(&mut u, "SELECT COUNT(*) FROM d.hidden"), 1142);
    // A prepared statement is checked when it runs.
    run(&mut root, "GRANT SELECT ON d.hidden TO u@localhost");
    run(&mut u, "PREPARE s FROM 'SELECT * FROM d.hidden'");
    run(&mut u, "EXECUTE s");
    run(&mut root, "REVOKE SELECT ON d.hidden FROM u@localhost");
    assert_eq!(error(&mut u, "EXECUTE s"), 1142);
}

#[test]
fn expiry_locking_and_limits() {
    let r = Running::start();
    let mut root = r.connect();
    // Expired: out without the client's word that it knows what to do.
    run(&mut root, "CREATE USER old@localhost IDENTIFIED BY 'pw' PASSWORD EXPIRE");
    assert_eq!(login(&r.socket(), "old", "pw", None).err(), Some(Some(1862)));
    let knows = gannet_wire::flags::cap::CAN_HANDLE_EXPIRED_PASSWORDS;
    let mut o = Options { user: "old".into(), password: "pw".into(), ..options() };
    o.capabilities |= knows;
    let mut c = Connection::connect(&r.socket(), &o).unwrap();
    for sql in ["SELECT 1", "SHOW DATABASES", "CREATE DATABASE x", "PREPARE s FROM 'SELECT 1'"] {
        assert_eq!(error(&mut c, sql), 1820, "{sql}");
    }
    run(&mut c, "ALTER USER USER() IDENTIFIED BY 'new'");
    assert_eq!(one(&mut c, "SELECT 1"), "1");
    assert!(login(&r.socket(), "old", "new", None).is_ok());
    // Three wrong passwords close the account until somebody opens it.
    run(&mut root, "CREATE USER shut@localhost IDENTIFIED BY 'pw' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2");
    for n in [1045, 1045, 3955] {
        assert_eq!(login(&r.socket(), "shut", "x", None).err(), Some(Some(n)));
    }
    assert_eq!(login(&r.socket(), "shut", "pw", None).err(), Some(Some(3955)));
    run(&mut root, "ALTER USER shut@localhost ACCOUNT UNLOCK");
    assert!(login(&r.socket(), "shut", "pw", None).is_ok());
    // REQUIRE SSL on a transport without.
    run(&mut root, "CREATE USER tls@localhost IDENTIFIED BY 'pw' REQUIRE SSL");
    assert_eq!(login(&r.socket(), "tls", "pw", None).err(), Some(Some(1045)));
    // Resources.
    run(&mut root, "CREATE USER few@localhost WITH MAX_QUERIES_PER_HOUR 2 MAX_USER_CONNECTIONS 1");
    let mut few = login(&r.socket(), "few", "", None).unwrap();
    assert_eq!(login(&r.socket(), "few", "", None).err(), Some(Some(1226)));
    run(&mut few, "DO 1");
    run(&mut few, "DO 1");
    assert_eq!(error(&mut few, "DO 1"), 1226);
    run(&mut root, "FLUSH USER_RESOURCES");
    run(&mut few, "DO 1");
    // One's own password, with the current one.
    run(&mut root, "CREATE USER own@localhost IDENTIFIED BY 'pw' PASSWORD REQUIRE CURRENT");
    let mut own = login(&r.socket(), "own", "pw", None).unwrap();
    assert_eq!(error(&mut own, "SET PASSWORD = 'b'"), 3892);
    assert_eq!(error(&mut own, "SET PASSWORD = 'b' REPLACE 'a'"), 3891);
    run(&mut own, "SET PASSWORD = 'b' REPLACE 'pw'");
    assert!(login(&r.socket(), "own", "b", None).is_ok());
    run(&mut root, "SET GLOBAL offline_mode = ON");
    assert_eq!(login(&r.socket(), "own", "b", None).err(), Some(Some(3032)));
    run(&mut root, "SET GLOBAL offline_mode = OFF");
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
    run(&mut root, "GRANT SELECT ON d.* TO open@localhost");
    c.command(com::CHANGE_USER, b"open\0\0d\0\x2d\0mysql_native_password\0").unwrap();
    c.receive().unwrap();
    assert_eq!(rows(&mut c, "SELECT CURRENT_USER(), DATABASE()"), [["open@localhost", "d"]]);
    // To one with a password, which is asked for anew; the wrong one ends the connection.
    c.command(com::CHANGE_USER, b"u\0\x14xxxxxxxxxxxxxxxxxxxx\0\x2d\0mysql_native_password\0").unwrap();
    let switch = c.receive().unwrap();
    assert_eq!(switch[0], 0xFE);
    c.send(&[7; 20]).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1045));
    assert!(matches!(c.ping(), Err(Error::Io(_))));
    // No password is so long.
    let mut c = r.connect();
    c.command(com::CHANGE_USER, b"u\0\x14xxxxxxxxxxxxxxxxxxxx\0\x2d\0mysql_native_password\0").unwrap();
    assert_eq!(c.receive().unwrap()[0], 0xFE);
    c.send_raw(&[0, 0xB0, 4, 2, 7]).unwrap();
    assert_eq!(c.receive().unwrap_err().code(), Some(1153));
    assert!(matches!(c.ping(), Err(Error::Io(_))));
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

/// A plan tells of what is below a view: error 1345 without the rights on that.
#[test]
fn views_are_not_explained_to_everybody() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE app",
        "CREATE TABLE app.t (a INT)",
        "CREATE VIEW app.v AS SELECT a FROM app.t",
        "CREATE USER u@localhost",
        "GRANT SELECT ON app.v TO u@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    run(&mut u, "SELECT * FROM app.v");
    assert_eq!(error(&mut u, "EXPLAIN SELECT * FROM app.v"), 1345);
    assert_eq!(error(&mut u, "EXPLAIN ANALYZE SELECT * FROM app.v"), 1345);
    run(&mut root, "GRANT SHOW VIEW ON app.v TO u@localhost");
    assert_eq!(error(&mut u, "EXPLAIN SELECT * FROM app.v"), 1345);
    run(&mut root, "GRANT SELECT ON app.t TO u@localhost");
    run(&mut u, "EXPLAIN SELECT * FROM app.v");
    let id = one(&mut root, "SELECT CONNECTION_ID()");
    assert_eq!(error(&mut u, &format!("EXPLAIN FOR CONNECTION {id}")), 1227);
}

/// What another connection runs is explained while it runs, and nothing when it waits.
#[test]
fn a_running_statement_is_explained() {
    let r = Running::start();
    let (mut root, mut other) = (r.connect(), r.connect());
    run(&mut root, "CREATE DATABASE app");
    run(&mut root, "CREATE TABLE app.t (a INT)");
    run(&mut other, "USE app");
    let id = one(&mut other, "SELECT CONNECTION_ID()");
    let explain = format!("EXPLAIN FOR CONNECTION {id}");
    run(&mut root, &explain);
    let busy =
        std::thread::spawn(move || drop(other.query("SELECT a, SLEEP(1000) FROM t UNION SELECT 1, SLEEP(1000)")));
    wait_for("the plan of what runs", || {
        let shown = root.query(&explain).unwrap();
        shown.texts().iter().any(|row| row.iter().any(|v| v == "t"))
    });
    run(&mut root, &format!("KILL {id}"));
    busy.join().unwrap();
}

#[test]
fn two_passwords_at_a_time() {
    let mut r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER s@localhost IDENTIFIED BY 'one'");
    run(&mut root, "CREATE USER n@localhost IDENTIFIED WITH mysql_native_password BY 'one'");
    let enters = |r: &Running, user: &str, password: &str| login(&r.socket(), user, password, None).is_ok();
    for user in ["s", "n"] {
        let alter = |what: &str| format!("ALTER USER {user}@localhost {what}");
        run(&mut root, &alter("IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD"));
        // Twice: the second login may take the fast path.
        for password in ["one", "two", "one", "two"] {
            assert!(enters(&r, user, password), "{user} {password}");
        }
        assert!(!enters(&r, user, "three"));
        // A new password leaves the second one alone, unless it takes its place.
        run(&mut root, &alter("IDENTIFIED BY 'three'"));
        assert!(enters(&r, user, "one") && enters(&r, user, "three") && !enters(&r, user, "two"));
        run(&mut root, &format!("SET PASSWORD FOR {user}@localhost = 'four' RETAIN CURRENT PASSWORD"));
        assert!(enters(&r, user, "three") && enters(&r, user, "four") && !enters(&r, user, "one"));
    }
    assert_eq!(
        error(&mut root, "ALTER USER n@localhost IDENTIFIED WITH caching_sha2_password BY 'x' RETAIN CURRENT PASSWORD"),
        3894
    );
    assert_eq!(error(&mut root, "ALTER USER n@localhost IDENTIFIED BY '' RETAIN CURRENT PASSWORD"), 3895);
    run(&mut root, "CREATE USER e@localhost");
    assert_eq!(error(&mut root, "ALTER USER e@localhost IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD"), 3878);
    let mut s = login(&r.socket(), "s", "four", None).unwrap();
    assert_eq!(error(&mut s, "ALTER USER s@localhost DISCARD OLD PASSWORD"), 1227);
    run(&mut root, "GRANT APPLICATION_PASSWORD_ADMIN ON *.* TO s@localhost");
    let has = "SELECT User_attributes LIKE '%additional_password%' FROM mysql.user WHERE User = 's'";
    assert_eq!(one(&mut root, has), "1");
    drop((root, s));
    r.restart();
    assert!(enters(&r, "s", "three") && enters(&r, "n", "three"));
    let mut s = login(&r.socket(), "s", "four", None).unwrap();
    run(&mut s, "ALTER USER s@localhost DISCARD OLD PASSWORD");
    assert!(enters(&r, "s", "four") && !enters(&r, "s", "three"));
}

#[test]
fn attributes_are_merged() {
    let mut r = Running::start();
    let mut root = r.connect();
    let shown = "SELECT ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER = 'u'";
    run(&mut root, "CREATE USER u@localhost ATTRIBUTE '{\"a\": 1, \"b\": {\"c\": 2}}'");
    run(&mut root, "ALTER USER u@localhost ATTRIBUTE '{\"b\": {\"d\": 3}, \"a\": null}'");
    assert_eq!(one(&mut root, shown), r#"{"b": {"c": 2, "d": 3}}"#);
    run(&mut root, "ALTER USER u@localhost COMMENT 'it is \"his\"'");
    assert_eq!(one(&mut root, shown), r#"{"b": {"c": 2, "d": 3}, "comment": "it is \"his\""}"#);
    for bad in ["[1]", "x", "1", ""] {
        assert_eq!(error(&mut root, &format!("ALTER USER u@localhost ATTRIBUTE '{bad}'")), 3982, "{bad}");
    }
    drop(root);
    r.restart();
    let mut root = r.connect();
    run(&mut root, "ALTER USER u@localhost ATTRIBUTE '{\"b\": null}'");
    assert_eq!(one(&mut root, shown), r#"{"comment": "it is \"his\""}"#);
}

#[test]
fn names_that_nobody_has_are_answered_as_late() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER there@localhost IDENTIFIED BY 'x'");
    for user in ["there", "nobody"] {
        let mut last = std::time::Duration::ZERO;
        for _ in 0..5 {
            let start = std::time::Instant::now();
            assert_eq!(login(&r.socket(), user, "wrong", None).err(), Some(Some(1045)));
            last = start.elapsed();
        }
        assert!(last.as_millis() >= 500, "{user}: {last:?}");
    }
}

#[test]
fn passwords_are_validated_once_the_component_is_installed() {
    let mut r = Running::start();
    let mut root = r.connect();
    let urn = "'file://component_validate_password'";
    assert_eq!(error(&mut root, "SELECT @@validate_password.policy"), 1193);
    assert_eq!(error(&mut root, "SET GLOBAL validate_password.policy = LOW"), 1193);
    assert_eq!(error(&mut root, "INSTALL COMPONENT 'file://component_nonesuch'"), 3529);
    assert_eq!(error(&mut root, &format!("UNINSTALL COMPONENT {urn}")), 3537);
    run(&mut root, "CREATE USER weak@localhost IDENTIFIED BY 'x'");
    run(&mut root, &format!("INSTALL COMPONENT {urn}"));
    assert_eq!(rows(&mut root, "SELECT component_urn FROM mysql.component").len(), 1);
    assert_eq!(rows(&mut root, "SHOW VARIABLES LIKE 'validate_password.%'").len(), 8);
    assert_eq!(one(&mut root, "SELECT VALIDATE_PASSWORD_STRENGTH('N0Tweak$_@123!')"), "100");
    for weak in ["", "short1!A", "nouppercase1!", "NOLOWERCASE1!", "NoDigitAtAll!", "NoSpecial11"] {
        let want = if weak == "short1!A" { 0 } else { 1819 };
        assert_eq!(error(&mut root, &format!("ALTER USER weak@localhost IDENTIFIED BY '{weak}'")), want, "{weak}");
    }
    assert_eq!(error(&mut root, "CREATE USER bare@localhost"), 1819);
    assert_eq!(error(&mut root, "SET PASSWORD FOR weak@localhost = 'weak'"), 1819);
    run(&mut root, "ALTER USER weak@localhost ACCOUNT LOCK");
    run(&mut root, "SET PERSIST validate_password.policy = LOW, GLOBAL validate_password.length = 5");
    run(&mut root, "ALTER USER weak@localhost IDENTIFIED BY 'abcde'");
    assert_eq!(error(&mut root, "ALTER USER weak@localhost IDENTIFIED BY 'toor'"), 1819);
    assert_eq!(error(&mut root, "SET GLOBAL validate_password.dictionary_file = '/etc/passwd'"), 1235);
    run(&mut root, "CREATE USER u@localhost IDENTIFIED BY 'abcdefgh'");
    let mut u = login(&r.socket(), "u", "abcdefgh", None).unwrap();
    assert_eq!(error(&mut u, &format!("UNINSTALL COMPONENT {urn}")), 1142);
    run(&mut root, "RESET PERSIST");
    drop((root, u));
    r.restart();
    let mut root = r.connect();
    assert_eq!(one(&mut root, "SELECT @@validate_password.policy"), "MEDIUM");
    assert_eq!(error(&mut root, "CREATE USER v@localhost IDENTIFIED BY 'abcde'"), 1819);
    run(&mut root, &format!("UNINSTALL COMPONENT {urn}"));
    run(&mut root, "CREATE USER v@localhost");
    assert_eq!(error(&mut root, "SELECT @@validate_password.policy"), 1193);
}

#[test]
fn logins_stand_in_for_others() {
    let mut r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, "CREATE USER staff@localhost ACCOUNT LOCK");
    run(&mut root, "GRANT CREATE, SELECT ON d.* TO staff@localhost");
    run(&mut root, "CREATE USER n@localhost IDENTIFIED WITH mysql_native_password BY 'pw'");
    run(&mut root, "CREATE USER s@localhost IDENTIFIED WITH sha256_password BY 'pw'");
    run(&mut root, "CREATE USER c@localhost IDENTIFIED BY 'pw'");
    for user in ["n", "s", "c"] {
        run(&mut root, &format!("GRANT PROXY ON staff@localhost TO {user}@localhost"));
    }
    let who = "SELECT CURRENT_USER(), USER(), @@proxy_user";
    let mut n = login(&r.socket(), "n", "pw", None).unwrap();
    assert_eq!(rows(&mut n, who), [["n@localhost", "n@localhost", "NULL"]]);
    // PROXY is passed on by who may.
    assert_eq!(error(&mut n, "GRANT PROXY ON staff@localhost TO c@localhost"), 1698);
    run(&mut n, "GRANT PROXY ON n@localhost TO c@localhost");
    run(&mut root, "SET GLOBAL check_proxy_users = ON");
    run(&mut root, "SET GLOBAL mysql_native_password_proxy_users = ON");
    let mut n = login(&r.socket(), "n", "pw", None).unwrap();
    assert_eq!(rows(&mut n, who), [["staff@localhost", "n@localhost", "'n'@'localhost'"]]);
    run(&mut n, "CREATE TABLE d.t (a INT)");
    let mut s = login(&r.tcp(), "s", "pw", None).unwrap();
    assert_eq!(one(&mut s, "SELECT CURRENT_USER()"), "s@localhost");
    run(&mut root, "SET GLOBAL sha256_password_proxy_users = ON");
    let mut s = login(&r.tcp(), "s", "pw", None).unwrap();
    assert_eq!(one(&mut s, "SELECT CURRENT_USER()"), "staff@localhost");
    let mut c = login(&r.socket(), "c", "pw", None).unwrap();
    assert_eq!(one(&mut c, "SELECT CURRENT_USER()"), "c@localhost");
    drop((root, n, s, c));
    r.restart();
    let mut root = r.connect();
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM mysql.proxies_priv"), "5");
}

#[test]
fn partial_revokes_are_enforced() {
    let mut r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE dx",
        "CREATE TABLE d.t (a INT)",
        "CREATE TABLE dx.t (a INT)",
        "CREATE USER u@localhost",
        "CREATE USER v@localhost",
        "GRANT ALL ON *.* TO u@localhost WITH GRANT OPTION",
        "SET GLOBAL partial_revokes = ON",
        "REVOKE INSERT, DROP ON d.* FROM u@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    assert_eq!(error(&mut u, "INSERT INTO d.t VALUES (1)"), 1142);
    assert_eq!(error(&mut u, "DROP TABLE d.t"), 1142);
    assert_eq!(error(&mut u, "DROP DATABASE d"), 1044);
    run(&mut u, "INSERT INTO dx.t VALUES (1)");
    run(&mut u, "SELECT * FROM d.t");
    // Who is restricted passes no more on, and lifts nothing.
    assert_eq!(error(&mut u, "GRANT INSERT ON d.* TO v@localhost"), 1044);
    run(&mut u, "GRANT INSERT, SELECT ON *.* TO v@localhost");
    let mut v = login(&r.socket(), "v", "", None).unwrap();
    assert_eq!(error(&mut v, "INSERT INTO d.t VALUES (1)"), 1142);
    run(&mut v, "INSERT INTO dx.t VALUES (1)");
    // Patterns are names.
    run(&mut root, "CREATE USER w@localhost");
    run(&mut root, "GRANT SELECT ON `d%`.* TO w@localhost");
    let mut w = login(&r.socket(), "w", "", None).unwrap();
    assert_eq!(error(&mut w, "SELECT * FROM d.t"), 1142);
    drop((root, u, v, w));
    r.restart();
    let mut root = r.connect();
    assert_eq!(one(&mut root, "SELECT @@partial_revokes"), "1");
    let mut u = login(&r.socket(), "u", "", None).unwrap();
    assert_eq!(error(&mut u, "INSERT INTO d.t VALUES (1)"), 1142);
    run(&mut root, "GRANT INSERT, DROP ON *.* TO u@localhost");
    run(&mut u, "INSERT INTO d.t VALUES (1)");
    assert_eq!(error(&mut root, "SET GLOBAL partial_revokes = OFF"), 3896);
    run(&mut root, "DROP USER v@localhost");
    run(&mut root, "SET GLOBAL partial_revokes = OFF");
}

/// Each session reads accounts and writes what follows: none writes over what another has written meanwhile.
#[test]
fn sessions_that_change_accounts_at_once_lose_nothing() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER shared@localhost");
    run(&mut root, "CREATE DATABASE d");
    let sessions: Vec<_> = (0..4).map(|n| (n, r.connect())).collect();
    let change = |(n, mut c): (usize, Connection)| {
        for round in 0..10 {
            run(&mut c, &format!("CREATE USER own{n}@localhost"));
            run(&mut c, &format!("GRANT SELECT ON d{n}_{round}.* TO shared@localhost"));
            run(&mut c, &format!("RENAME USER own{n}@localhost TO other{n}@localhost"));
            run(&mut c, &format!("GRANT SELECT ON *.* TO other{n}@localhost"));
            run(&mut c, &format!("CREATE PROCEDURE d.p{n}() DO 1"));
            run(&mut c, &format!("GRANT EXECUTE ON PROCEDURE d.p{n} TO other{n}@localhost"));
            run(&mut c, &format!("DROP PROCEDURE d.p{n}"));
            run(&mut c, &format!("DROP USER other{n}@localhost"));
        }
    };
    std::thread::scope(|scope| sessions.into_iter().for_each(|session| _ = scope.spawn(move || change(session))));
    let names = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'own%' OR user LIKE 'other%'";
    assert_eq!(one(&mut root, names), "0");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM mysql.db WHERE user = 'shared'"), "40");
    // Whoever waits for others who change accounts ends with its connection, and holds nothing up.
    run(&mut root, "FLUSH TABLES WITH READ LOCK");
    assert_eq!(error(&mut root, "CREATE USER late@localhost"), 1223);
    let mut waiting = r.connect();
    let id = one(&mut waiting, "SELECT CONNECTION_ID()");
    let waits = std::thread::spawn(move || error(&mut waiting, "CREATE USER late@localhost"));
    let began = std::time::Instant::now();
    let found = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE 'CREATE%'");
    while one(&mut root, &found) == "0" {
        assert!(began.elapsed() < PATIENCE);
    }
    run(&mut root, &format!("KILL QUERY {id}"));
    assert_eq!(waits.join().unwrap(), 1317);
    run(&mut root, "UNLOCK TABLES");
    run(&mut root, "CREATE USER late@localhost");
}

/// The same of the other lists that are read and written as a whole.
#[test]
fn sessions_that_change_lists_at_once_lose_nothing() {
    let r = Running::start();
    let mut root = r.connect();
    let sessions: Vec<_> = (0..4).map(|n| (n, r.connect())).collect();
    let components = ["file://component_validate_password", "file://component_log_sink_json"];
    run(&mut root, "CREATE SERVER shared FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')");
    let options = ["HOST 'changed'", "USER 'changed'", "PASSWORD 'changed'", "DATABASE 'changed'"];
    let change = |(n, mut c): (usize, Connection)| {
        for round in 0..8 {
            run(&mut c, &format!("CREATE SERVER s{n}_{round} FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')"));
            run(&mut c, &format!("UPDATE mysql.servers SET Port = Port + 1 WHERE Server_name = 's{n}_{round}'"));
            run(&mut c, &format!("ALTER SERVER shared OPTIONS ({})", options[n]));
            run(&mut c, &format!("CREATE RESOURCE GROUP g{n}_{round} TYPE = USER"));
            let actors = "performance_schema.setup_actors";
            run(&mut c, &format!("INSERT INTO {actors} VALUES ('h{n}', 'u{round}', '%', 'YES', 'YES')"));
            let objects = "performance_schema.setup_objects";
            run(&mut c, &format!("INSERT INTO {objects} VALUES ('TABLE', 's{n}', 't{round}', 'YES', 'YES')"));
            if let Some(component) = components.get(n) {
                run(&mut c, &format!("INSTALL COMPONENT '{component}'"));
                run(&mut c, &format!("UNINSTALL COMPONENT '{component}'"));
            }
            run(&mut c, &format!("DROP RESOURCE GROUP g{n}_{round}"));
        }
    };
    std::thread::scope(|scope| sessions.into_iter().for_each(|session| _ = scope.spawn(move || change(session))));
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM mysql.servers WHERE Port = 1"), "32");
    let fields = "SELECT CONCAT_WS(',', Host, Username, Password, Db) FROM mysql.servers WHERE Server_name = 'shared'";
    assert_eq!(one(&mut root, fields), "changed,changed,changed,changed");
    let groups = "SELECT COUNT(*) FROM information_schema.RESOURCE_GROUPS WHERE RESOURCE_GROUP_NAME LIKE 'g%'";
    assert_eq!(one(&mut root, groups), "0");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM performance_schema.setup_actors WHERE HOST LIKE 'h%'"), "32");
    let objects = "SELECT COUNT(*) FROM performance_schema.setup_objects WHERE OBJECT_NAME LIKE 't%'";
    assert_eq!(one(&mut root, objects), "32");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM mysql.component"), "0");
}
