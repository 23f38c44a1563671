//! What is taken from an account, or the account itself, is gone for its open sessions with their next statement.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::com;

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).unwrap()
}

const SCENE: &[&str] = &[
    "DROP USER IF EXISTS u, moved",
    "DROP ROLE IF EXISTS reader, outer_role",
    "DROP DATABASE IF EXISTS d",
    "CREATE DATABASE d",
    "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
    "INSERT INTO d.t VALUES (1, 1), (2, 2)",
    "CREATE USER u",
    "CREATE ROLE reader, outer_role",
];

/// How the right to read comes, and how it goes.
const WAYS: &[(&[&str], &str)] = &[
    (&["GRANT SELECT ON *.* TO u"], "DROP USER u"),
    (&["GRANT SELECT ON d.* TO u"], "DROP USER u"),
    (&["GRANT SELECT ON d.t TO u"], "DROP USER u"),
    (&["GRANT SELECT (a, b) ON d.t TO u"], "DROP USER u"),
    (&["GRANT ALL ON *.* TO u WITH GRANT OPTION"], "DROP USER u"),
    (&["GRANT SELECT ON d.t TO reader", "GRANT reader TO u", "SET DEFAULT ROLE ALL TO u"], "DROP USER u"),
    (&["GRANT SELECT ON d.t TO u"], "RENAME USER u TO moved"),
    (&["GRANT SELECT ON *.* TO u"], "RENAME USER u TO moved"),
    (&["GRANT SELECT ON d.t TO u"], "REVOKE SELECT ON d.t FROM u"),
    (&["GRANT SELECT ON d.t TO u"], "REVOKE ALL, GRANT OPTION FROM u"),
    (&["GRANT SELECT ON *.* TO u"], "REVOKE SELECT ON *.* FROM u"),
    (&["GRANT SELECT ON d.t TO u"], "DELETE FROM mysql.tables_priv WHERE User = 'u'"),
    (&["GRANT SELECT ON d.* TO u"], "DELETE FROM mysql.user WHERE User = 'u'"),
    (&["SET GLOBAL partial_revokes = ON", "GRANT SELECT ON *.* TO u"], "REVOKE SELECT ON d.* FROM u"),
    (&["GRANT SELECT ON d.t TO reader", "GRANT reader TO u", "SET DEFAULT ROLE ALL TO u"], "REVOKE reader FROM u"),
    (&["GRANT SELECT ON d.t TO reader", "GRANT reader TO u", "SET DEFAULT ROLE ALL TO u"], "DROP ROLE reader"),
    (
        &[
            "GRANT SELECT ON d.t TO reader",
            "GRANT reader TO outer_role",
            "GRANT outer_role TO u",
            "SET DEFAULT ROLE ALL TO u",
        ],
        "DROP ROLE reader",
    ),
    (
        &[
            "GRANT SELECT ON d.t TO reader",
            "GRANT reader TO outer_role",
            "GRANT outer_role TO u",
            "SET DEFAULT ROLE ALL TO u",
        ],
        "REVOKE reader FROM outer_role",
    ),
    (
        &["GRANT SELECT ON d.t TO reader", "SET GLOBAL mandatory_roles = 'reader'", "SET DEFAULT ROLE ALL TO u"],
        "DROP USER u",
    ),
];

#[test]
fn open_sessions_lose_what_is_taken() {
    let r = Running::start();
    let mut root = r.connect();
    for (given, taken) in WAYS {
        run(&mut root, "SET GLOBAL mandatory_roles = ''");
        SCENE.iter().chain(*given).for_each(|sql| run(&mut root, sql));
        let mut u = login(&r, "u");
        // Plans are at hand, of the text and of a prepared statement, and a handler is open.
        let prepared = u.prepare("SELECT b FROM d.t WHERE a = ?").unwrap();
        let args = [gannet_wire::client::Arg::Int(1)];
        for sql in
            ["SELECT b FROM d.t WHERE a = 1", "SELECT a, b FROM d.t", "PREPARE p FROM 'SELECT a FROM d.t'", "EXECUTE p"]
        {
            (0..2).for_each(|_| run(&mut u, sql));
        }
        (0..2).for_each(|_| drop(u.execute(&prepared, &args).unwrap()));
        let handler = u.query("HANDLER d.t OPEN AS h").is_ok();
        run(&mut root, taken);
        for sql in [
            "SELECT b FROM d.t WHERE a = 1",
            "SELECT a, b FROM d.t",
            "EXECUTE p",
            "DESCRIBE d.t",
            "INSERT INTO d.t VALUES (3, 3)",
        ] {
            assert!(matches!(error(&mut u, sql), 1142 | 1143), "{given:?} {taken}: {sql}: {}", error(&mut u, sql));
        }
        let outcome = u.execute(&prepared, &args);
        assert!(
            matches!(outcome.as_ref().err().and_then(|e| e.code()), Some(1142 | 1143)),
            "{given:?} {taken}: {outcome:?}"
        );
        if handler {
            assert_eq!(error(&mut u, "HANDLER h READ FIRST"), 1142, "{given:?} {taken}");
        }
        for sql in ["SET GLOBAL max_error_count = 64", "CREATE USER other", "FLUSH PRIVILEGES"] {
            assert_eq!(error(&mut u, sql), 1227, "{given:?} {taken}: {sql}");
        }
        assert_eq!(error(&mut u, "USE d"), 1044, "{given:?} {taken}");
        assert_eq!(rows(&mut u, "SHOW DATABASES LIKE 'd'").len(), 0, "{given:?} {taken}");
        // The session itself goes on.
        run(&mut u, "SELECT 1");
    }
}

#[test]
fn sessions_of_locked_accounts_go_on() {
    let r = Running::start();
    let mut root = r.connect();
    SCENE.iter().for_each(|sql| run(&mut root, sql));
    run(&mut root, "GRANT SELECT ON d.t TO u");
    let mut u = login(&r, "u");
    run(&mut root, "ALTER USER u ACCOUNT LOCK");
    assert_eq!(one(&mut u, "SELECT b FROM d.t WHERE a = 2"), "2");
    assert_eq!(
        Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap_err().code(),
        Some(3118)
    );
}

#[test]
fn commands_of_a_dropped_account_are_refused() {
    let r = Running::start();
    let mut root = r.connect();
    let id: u32 = one(&mut root, "SELECT CONNECTION_ID()").parse().unwrap();
    run(&mut root, "CREATE USER u");
    run(&mut root, "GRANT ALL ON *.* TO u WITH GRANT OPTION");
    let mut u = login(&r, "u");
    run(&mut root, "DROP USER u");
    let mut told = |byte: u8, body: &[u8]| {
        u.command(byte, body).unwrap();
        u.receive().err().and_then(|e| e.code())
    };
    // The first thing that the session does: nothing else has looked for newer rights.
    assert_eq!(told(com::PROCESS_KILL, &id.to_le_bytes()), Some(1095));
    assert_eq!(told(com::REFRESH, &[1]), Some(1227));
    assert_eq!(told(com::SHUTDOWN, b""), Some(1227));
    assert_eq!(one(&mut root, "SELECT 1"), "1");
    let mut u_roles = rows(&mut u, "SELECT CURRENT_ROLE()");
    assert_eq!(u_roles.remove(0)[0], "NONE");
    assert_eq!(error(&mut u, "SHOW GRANTS"), 1141);
    assert_eq!(error(&mut u, "SET PASSWORD = 'x'"), 1133);
}
