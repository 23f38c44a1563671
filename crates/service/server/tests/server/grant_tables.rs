//! mysql.user and its kin are written like tables, and what they say holds; a server without accounts has a way in.

use crate::common::{Running, error, one, options, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Arg, Connection, Options};

fn login(r: &Running, user: &str, password: &str) -> Result<Connection, gannet_wire::client::Error> {
    Connection::connect(&r.socket(), &Options { user: user.into(), password: password.into(), ..options() })
}

/// `mysql_native_password`'s hash of 'x'.
const HASH: &str = "*B69027D44F6E5EDC07F1AEAD1477967B16F28227";

#[test]
fn accounts_are_written_as_rows() {
    let r = Running::start();
    let mut root = r.connect();
    let columns = "(Host, User, ssl_cipher, x509_issuer, x509_subject, plugin, authentication_string)";
    let insert = |host: &str, user: &str, plugin: &str, auth: &str| {
        format!("INSERT INTO mysql.user {columns} VALUES ('{host}', '{user}', '', '', '', '{plugin}', '{auth}')")
    };
    run(&mut root, &insert("localhost", "u", "mysql_native_password", HASH));
    run(&mut root, "FLUSH PRIVILEGES");
    let mut u = login(&r, "u", "x").unwrap();
    assert_eq!(login(&r, "u", "y").unwrap_err().code(), Some(1045));
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    assert_eq!(error(&mut u, "SELECT * FROM d.t"), 1142);
    // A database that is written in takes effect with the next statement.
    run(&mut root, "REPLACE INTO mysql.db (Host, Db, User, Select_priv) VALUES ('localhost', 'd', 'u', 'Y')");
    run(&mut u, "SELECT * FROM d.t");
    run(&mut root, "UPDATE mysql.db SET Select_priv = 'N', Insert_priv = 'Y' WHERE User = 'u'");
    assert_eq!(error(&mut u, "SELECT * FROM d.t"), 1142);
    run(&mut u, "INSERT INTO d.t VALUES (1, 1)");
    run(&mut root, "UPDATE mysql.user SET Select_priv = 'Y', Create_role_priv = 'Y' WHERE User = 'u'");
    run(&mut u, "SELECT * FROM d.t");
    run(&mut root, "UPDATE mysql.user SET account_locked = 'Y' WHERE User = 'u'");
    assert_eq!(login(&r, "u", "x").unwrap_err().code(), Some(3118));
    run(&mut root, "UPDATE mysql.user SET account_locked = 'N', authentication_string = '' WHERE User = 'u'");
    login(&r, "u", "").unwrap();
    // USE mysql, prepared statements, a subquery.
    run(&mut root, "USE mysql");
    run(&mut root, "UPDATE user SET max_questions = (SELECT 7) WHERE User = 'u' ORDER BY Host LIMIT 1");
    let s = root.prepare("UPDATE user SET max_updates = ? WHERE User = ?").unwrap();
    root.execute(&s, &[Arg::Int(9), Arg::Text("u")]).unwrap();
    assert_eq!(rows(&mut root, "SELECT max_questions, max_updates FROM user WHERE User = 'u'"), [["7", "9"]]);
    run(&mut root, "UPDATE user SET User = 'moved' WHERE User = 'u'");
    assert_eq!(rows(&mut root, "SELECT User FROM user WHERE User IN ('u', 'moved')"), [["moved"]]);
    // What is wrong is refused as a table's rules would, and nothing is changed.
    let before = rows(&mut root, "SELECT * FROM user");
    for (sql, code) in [
        (insert("localhost", "moved", "", ""), 1062),
        (insert("localhost", "v", "nonesuch", ""), 1524),
        (insert("localhost", "v", "mysql_native_password", "*12"), 1827),
        (insert("localhost", &"v".repeat(33), "", ""), 1406),
        ("INSERT INTO user (Host, User) VALUES ('%', 'v')".into(), 1364),
        ("UPDATE user SET Select_priv = 'maybe' WHERE User = 'moved'".into(), 1265),
        ("UPDATE user SET nonesuch = 1".into(), 1054),
        ("UPDATE user SET Host = NULL WHERE User = 'moved'".into(), 1048),
        ("UPDATE user SET User_attributes = '[1]' WHERE User = 'moved'".into(), 3982),
        ("INSERT INTO db (Host, Db, User) VALUES ('%', 'd', 'nobody')".into(), 1133),
        ("INSERT INTO role_edges VALUES ('%', 'nobody', 'localhost', 'moved', 'N')".into(), 3523),
        ("INSERT INTO global_grants VALUES ('moved', 'localhost', 'SELECT', 'N')".into(), 3619),
        ("INSERT INTO global_grants VALUES ('moved', 'localhost', 'NONESUCH', 'N')".into(), 1149),
    ] {
        assert_eq!(error(&mut root, &sql), code, "{sql}");
    }
    assert_eq!(rows(&mut root, "SELECT * FROM user"), before);
    assert!(
        rows(&mut root, "SHOW TABLES FROM mysql LIKE 'user'").len() == 1
            && error(&mut root, "DROP TEMPORARY TABLE user") == 1051
    );
    // Who may not write them does not.
    run(&mut root, "CREATE USER w");
    let mut w = login(&r, "w", "").unwrap();
    for (need, sql) in [
        ("SELECT", "SELECT User FROM mysql.user"),
        ("INSERT", "INSERT INTO mysql.db (Host, Db, User, Drop_priv) VALUES ('%', 'd', 'w', 'Y')"),
        ("UPDATE", "UPDATE mysql.db SET Select_priv = 'Y' WHERE User = 'w'"),
        ("DELETE", "DELETE FROM mysql.db WHERE User = 'w'"),
    ] {
        assert_eq!(error(&mut w, sql), 1142, "{sql}");
        run(&mut root, &format!("GRANT {need} ON mysql.* TO w"));
        run(&mut w, sql);
    }
}

/// Everything that an account can have, one way or another.
const RICH: &[&str] = &[
    "CREATE DATABASE d",
    "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
    "CREATE ROLE r1, r2",
    "SET GLOBAL partial_revokes = ON",
    "CREATE USER rich@localhost IDENTIFIED WITH mysql_native_password BY 'x' REQUIRE SUBJECT '/CN=a' AND CIPHER 'b' \
     WITH MAX_QUERIES_PER_HOUR 5 MAX_USER_CONNECTIONS 3 PASSWORD HISTORY 4 PASSWORD REUSE INTERVAL 9 DAY \
     PASSWORD REQUIRE CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 ATTRIBUTE '{\"k\": [1, \"v\"]}'",
    "ALTER USER rich@localhost IDENTIFIED BY 'y' RETAIN CURRENT PASSWORD",
    "ALTER USER rich@localhost PASSWORD EXPIRE INTERVAL 90 DAY",
    "GRANT SELECT, CREATE TEMPORARY TABLES, REPLICATION SLAVE, CREATE ROLE ON *.* TO rich@localhost",
    "REVOKE SELECT ON mysql.* FROM rich@localhost",
    "GRANT BACKUP_ADMIN, ROLE_ADMIN ON *.* TO rich@localhost",
    "GRANT CLONE_ADMIN ON *.* TO rich@localhost WITH GRANT OPTION",
    "GRANT INSERT, SHOW VIEW, LOCK TABLES ON d.* TO rich@localhost WITH GRANT OPTION",
    "GRANT UPDATE, CREATE VIEW ON d.t TO rich@localhost",
    "GRANT SELECT (a, b), REFERENCES (b) ON d.t TO rich@localhost",
    "GRANT r1 TO rich@localhost WITH ADMIN OPTION",
    "GRANT r2 TO rich@localhost",
    "SET DEFAULT ROLE r1 TO rich@localhost",
    "GRANT PROXY ON root@localhost TO rich@localhost",
];

const TABLES: &[&str] = &[
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "role_edges",
    "default_roles",
    "global_grants",
    "password_history",
];

fn shown(c: &mut Connection) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for sql in
        ["SHOW CREATE USER rich@localhost", "SHOW GRANTS FOR rich@localhost", "SHOW GRANTS FOR rich@localhost USING r1"]
    {
        all.extend(rows(c, sql));
    }
    for table in TABLES {
        all.extend(rows(c, &format!("SELECT * FROM mysql.{table} ORDER BY 1, 2, 3, 4")));
    }
    all
}

#[test]
fn an_account_is_its_rows() {
    let mut r = Running::start();
    let mut root = r.connect();
    // Times are the session's.
    run(&mut root, "SET time_zone = '+05:00'");
    RICH.iter().for_each(|sql| run(&mut root, sql));
    let before = shown(&mut root);
    std::thread::sleep(std::time::Duration::from_secs(1));
    run(&mut root, "CREATE DATABASE saved");
    for table in TABLES {
        run(&mut root, &format!("CREATE TABLE saved.{table} SELECT * FROM mysql.{table}"));
    }
    // Taken away whole and put back from its rows.
    run(&mut root, "DELETE FROM mysql.user WHERE User = 'rich'");
    assert_eq!(error(&mut root, "SHOW GRANTS FOR rich@localhost"), 1141);
    for table in TABLES {
        run(&mut root, &format!("INSERT IGNORE INTO mysql.{table} SELECT * FROM saved.{table}"));
    }
    assert_eq!(shown(&mut root), before);
    // Table by table.
    for table in TABLES.iter().filter(|t| **t != "user" && **t != "tables_priv") {
        let user = if *table == "role_edges" { "TO_USER" } else { "User" };
        run(&mut root, &format!("DELETE FROM mysql.{table} WHERE {user} = 'rich'"));
        run(&mut root, &format!("REPLACE INTO mysql.{table} SELECT * FROM saved.{table}"));
        assert_eq!(shown(&mut root), before, "{table}");
    }
    drop(root);
    r.restart();
    let mut root = r.connect();
    run(&mut root, "SET time_zone = '+05:00'");
    assert_eq!(shown(&mut root), before);
}

#[test]
fn a_server_without_accounts_has_a_way_in() {
    let mut r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER other");
    run(&mut root, "DELETE FROM mysql.user");
    // The session that did it goes on with what it had.
    assert_eq!(rows(&mut root, "SELECT 1 FROM mysql.user"), Vec::<Vec<String>>::new());
    drop(root);
    assert_eq!(login(&r, "root", "").unwrap_err().code(), Some(1045));
    // Nobody gets the first account of a new server again.
    r.restart();
    assert_eq!(login(&r, "root", "").unwrap_err().code(), Some(1045));
    r.server = None;
    let start = |dir: &std::path::Path, skip: bool| {
        let mut args = vec![format!("--datadir={}", dir.display()), "--port=0".into(), "--gannet-workers=2".into()];
        args.extend(["--innodb-buffer-pool-size=32M".into(), "--innodb-redo-log-capacity=32M".into()]);
        args.extend(skip.then(|| "--skip-grant-tables".to_string()));
        match gannet_server::ServerOptions::parse(&args).unwrap() {
            gannet_server::Request::Serve(o) => gannet_server::Server::start(*o).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    r.server = Some(start(&r.dir, true));
    assert!(r.server().tcp().is_none(), "nobody comes from elsewhere");
    let mut c = login(&r, "anybody", "whatever").unwrap();
    assert_eq!(one(&mut c, "SELECT CURRENT_USER()"), "skip-grants user@skip-grants host");
    run(&mut c, "CREATE DATABASE d");
    for sql in ["CREATE USER a", "GRANT SELECT ON *.* TO a", "SET PASSWORD FOR a = 'x'", "DROP USER a", "CREATE ROLE a"]
    {
        assert!(matches!(error(&mut c, sql), 1290 | 1133 | 1396 | 1410), "{sql}");
    }
    assert_eq!(error(&mut c, "CREATE USER a"), 1290);
    // The tables can be written all the same, and FLUSH PRIVILEGES takes them up.
    run(&mut c, "FLUSH PRIVILEGES");
    run(&mut c, "CREATE USER root@localhost IDENTIFIED BY 'new'");
    run(&mut c, "GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION");
    assert_eq!(login(&r, "anybody", "whatever").unwrap_err().code(), Some(1045));
    login(&r, "root", "new").unwrap();
    drop(c);
    r.server = Some({
        r.server = None;
        start(&r.dir, false)
    });
    let mut root = login(&r, "root", "new").unwrap();
    run(&mut root, "CREATE USER someone");
    assert_eq!(error(&mut root, "SELECT 1 FROM mysql.nonesuch"), 1146);
}

#[test]
fn accounts_are_checked_unless_that_is_skipped() {
    let r = Running::configured(|o| o.set(Live::MaxConnections, VarValue::Int(20)));
    let mut root = r.connect();
    // An account of the name that such sessions show has no more than it is granted.
    run(&mut root, "CREATE USER 'skip-grants user'@'localhost', 'skip-grants user'@'skip-grants host'");
    let mut c = login(&r, "skip-grants user", "").unwrap();
    assert_eq!(error(&mut c, "CREATE DATABASE d"), 1044);
}

/// What MySQL's own suite and old tools do: the accounts are saved, deleted, and put back by the session that is one of
/// them.
#[test]
fn who_deletes_its_own_account_from_the_tables_can_put_it_back() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.saved AS SELECT * FROM mysql.user");
    run(&mut c, "DELETE FROM mysql.user WHERE Host = 'localhost'");
    run(&mut c, "INSERT IGNORE INTO mysql.user (Host, User) VALUES ('%', 'other')");
    run(&mut c, "FLUSH PRIVILEGES");
    run(&mut c, "CREATE DATABASE e");
    assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), Some(1045));
    run(&mut c, "DELETE FROM mysql.user");
    run(&mut c, "INSERT INTO mysql.user SELECT * FROM d.saved");
    run(&mut c, "FLUSH PRIVILEGES");
    assert_eq!(one(&mut r.connect(), "SELECT CURRENT_USER()"), "root@localhost");
    run(&mut r.connect(), "DROP DATABASE e");
    // A session that does not do it itself loses its rights.
    run(&mut c, "CREATE USER u");
    run(&mut c, "GRANT SELECT ON *.* TO u");
    let mut u = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    run(&mut c, "DELETE FROM mysql.user WHERE User = 'u'");
    assert_eq!(error(&mut u, "SELECT * FROM d.saved"), 1142);
}
