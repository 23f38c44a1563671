//! Every dynamic privilege is asked for somewhere: without it a statement is refused, with it it is not. Definers of
//! views are accounts that the session may name.

use crate::common::{Running, error, one, options, rows, run};
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Options};

/// A privilege, a statement that needs it, what the account has besides (GRANT's words), and the error that is left
/// with it (0: none).
#[rustfmt::skip]
const ASKED: &[(&str, &str, &[&str], u16)] = &[
    ("ALLOW_NONEXISTENT_DEFINER", "CREATE DEFINER = nobody@nowhere VIEW w.made AS SELECT 1", &["SET_ANY_DEFINER ON *.*", "CREATE VIEW ON w.*"], 0),
    ("APPLICATION_PASSWORD_ADMIN", "ALTER USER fit DISCARD OLD PASSWORD", &[], 0),
    ("AUTHENTICATION_POLICY_ADMIN", "SET GLOBAL authentication_policy = '*,,'", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("BACKUP_ADMIN", "LOCK INSTANCE FOR BACKUP", &[], 0),
    ("BACKUP_ADMIN", "UNLOCK INSTANCE", &[], 0),
    ("BACKUP_ADMIN", "CLONE LOCAL DATA DIRECTORY '/nowhere'", &[], 1235),
    ("BINLOG_ADMIN", "PURGE BINARY LOGS TO 'binlog.000001'", &[], 0),
    ("BINLOG_ADMIN", "BINLOG 'AAAA'", &[], 1149),
    ("BINLOG_ENCRYPTION_ADMIN", "SET GLOBAL binlog_encryption = OFF", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("BINLOG_ENCRYPTION_ADMIN", "ALTER INSTANCE ROTATE BINLOG MASTER KEY", &[], 1235),
    ("CLONE_ADMIN", "CLONE INSTANCE FROM a@b:3306 IDENTIFIED BY 'x'", &[], 1235),
    ("CONNECTION_ADMIN", "KILL QUERY {other}", &[], 0),
    ("CONNECTION_ADMIN", "ALTER INSTANCE RELOAD TLS", &[], 0),
    ("ENCRYPTION_KEY_ADMIN", "ALTER INSTANCE ROTATE INNODB MASTER KEY", &[], 1235),
    ("ENCRYPTION_KEY_ADMIN", "ALTER INSTANCE RELOAD KEYRING", &[], 1235),
    ("FLUSH_OPTIMIZER_COSTS", "FLUSH OPTIMIZER_COSTS", &[], 0),
    ("FLUSH_PRIVILEGES", "FLUSH PRIVILEGES", &[], 0),
    ("FLUSH_STATUS", "FLUSH STATUS", &[], 0),
    ("FLUSH_TABLES", "FLUSH TABLES", &[], 0),
    ("FLUSH_USER_RESOURCES", "FLUSH USER_RESOURCES", &[], 0),
    ("GROUP_REPLICATION_ADMIN", "START GROUP_REPLICATION", &[], 1235),
    ("INNODB_REDO_LOG_ENABLE", "ALTER INSTANCE DISABLE INNODB REDO_LOG", &[], 1235),
    ("OPTIMIZE_LOCAL_TABLE", "OPTIMIZE LOCAL TABLE w.t", &["SELECT, INSERT ON w.t"], 0),
    ("OPTIMIZE_LOCAL_TABLE", "OPTIMIZE NO_WRITE_TO_BINLOG TABLE w.t", &["SELECT, INSERT ON w.t"], 0),
    ("PASSWORDLESS_USER_ADMIN", "CREATE USER made IDENTIFIED WITH authentication_webauthn INITIAL AUTHENTICATION IDENTIFIED BY RANDOM PASSWORD", &["CREATE USER ON *.*"], 1524),
    ("PERSIST_RO_VARIABLES_ADMIN", "SET PERSIST_ONLY back_log = 1024", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("REPLICATION_APPLIER", "BINLOG 'AAAA'", &[], 1149),
    ("REPLICATION_APPLIER", "SET gtid_next = 'AUTOMATIC'", &[], 0),
    ("REPLICATION_SLAVE_ADMIN", "START REPLICA", &[], 1235),
    ("REPLICATION_SLAVE_ADMIN", "STOP REPLICA", &[], 1235),
    ("REPLICATION_SLAVE_ADMIN", "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x'", &[], 1235),
    ("RESOURCE_GROUP_ADMIN", "CREATE RESOURCE GROUP made TYPE = USER", &[], 0),
    ("RESOURCE_GROUP_USER", "SET RESOURCE GROUP USR_default", &[], 0),
    ("ROLE_ADMIN", "GRANT role TO other", &[], 0),
    ("SESSION_VARIABLES_ADMIN", "SET SESSION sql_log_off = OFF", &[], 0),
    ("SET_ANY_DEFINER", "CREATE DEFINER = other VIEW w.made AS SELECT 1", &["CREATE VIEW ON w.*"], 0),
    ("SYSTEM_USER", "ALTER USER root@localhost ACCOUNT UNLOCK", &["CREATE USER ON *.*"], 0),
    ("SYSTEM_USER", "GRANT SELECT ON w.t TO root@localhost", &["SELECT ON w.t", "GRANT OPTION ON w.t"], 0),
    ("SYSTEM_USER", "CREATE DEFINER = root@localhost VIEW w.made AS SELECT 1", &["SET_ANY_DEFINER ON *.*", "CREATE VIEW ON w.*"], 0),
    ("SYSTEM_USER", "KILL QUERY {root}", &["CONNECTION_ADMIN ON *.*"], 0),
    // Whoever may not see a routine is told that there is none.
    ("SHOW_ROUTINE", "SHOW CREATE PROCEDURE w.p", &[], 0),
    ("SYSTEM_VARIABLES_ADMIN", "SET GLOBAL max_error_count = 64", &[], 0),
    ("XA_RECOVER_ADMIN", "XA RECOVER", &[], 0),
];

/// What nothing here can need, and why.
const NOTHING: &[(&str, &str)] = &[
    ("AUDIT_ABORT_EXEMPT", "no audit log"),
    ("AUDIT_ADMIN", "no audit log"),
    ("FIREWALL_EXEMPT", "no firewall"),
    ("GROUP_REPLICATION_STREAM", "no groups"),
    ("INNODB_REDO_LOG_ARCHIVE", "its functions are not there"),
    ("SENSITIVE_VARIABLES_OBSERVER", "no variable is sensitive"),
    ("SERVICE_CONNECTION_ADMIN", "no administrative address"),
    ("TABLE_ENCRYPTION_ADMIN", "no encryption"),
    ("TELEMETRY_LOG_ADMIN", "no telemetry log"),
];

const DENIED: &[u16] = &[1044, 1045, 1095, 1142, 1227, 1305, 1401, 1410];

const SCENE: &[&str] = &["DROP VIEW IF EXISTS w.made", "DROP USER IF EXISTS fit, made", "CREATE USER fit"];

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).expect("it logs in")
}

#[test]
fn every_dynamic_privilege_is_asked_for() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE w",
        "CREATE TABLE w.t (a INT PRIMARY KEY)",
        "CREATE PROCEDURE w.p() SELECT 1",
        "CREATE USER other",
        "CREATE ROLE role",
    ] {
        run(&mut root, sql);
    }
    let mut other = login(&r, "other");
    let ids = [one(&mut root, "SELECT CONNECTION_ID()"), one(&mut other, "SELECT CONNECTION_ID()")];
    let mut wrong = Vec::new();
    for (privilege, sql, besides, left) in ASKED {
        let sql = sql.replace("{root}", &ids[0]).replace("{other}", &ids[1]);
        SCENE.iter().for_each(|s| run(&mut root, s));
        besides.iter().for_each(|need| run(&mut root, &format!("GRANT {need} TO fit")));
        let without = error(&mut login(&r, "fit"), &sql);
        if !DENIED.contains(&without) {
            wrong.push(format!("{sql}: {without} without {privilege}"));
        }
        run(&mut root, &format!("GRANT {privilege} ON *.* TO fit"));
        let with = error(&mut login(&r, "fit"), &sql);
        if with != *left {
            wrong.push(format!("{sql}: {with} with {privilege}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let known = |p: &str| ASKED.iter().any(|(n, ..)| *n == p) != NOTHING.iter().any(|(n, _)| *n == p);
    let dynamic = rows(&mut root, "SHOW PRIVILEGES").into_iter().map(|row| row[0].clone()).filter(|p| p.contains('_'));
    let missed: Vec<String> = dynamic.filter(|p| !known(p)).collect();
    assert!(missed.is_empty(), "asked for nowhere: {missed:?}");
}

/// The ways by which an account comes to the rights of another through a view.
#[test]
fn definers_are_no_way_to_more_rights() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE esc",
        "CREATE DATABASE d",
        "CREATE TABLE esc.t (a INT)",
        "INSERT INTO esc.t VALUES (1)",
        "CREATE USER u@localhost, owner@localhost, strong@localhost",
        "GRANT SELECT ON esc.t TO u@localhost",
        "GRANT CREATE VIEW, SELECT, INSERT, DELETE, DROP ON d.* TO u@localhost",
        "GRANT ALL ON esc.* TO owner@localhost",
        "GRANT ALL ON d.* TO owner@localhost",
        "GRANT SYSTEM_USER ON *.* TO strong@localhost",
        "CREATE DEFINER = owner@localhost VIEW d.owned AS SELECT a FROM esc.t",
        "CREATE DEFINER = root@localhost VIEW d.rooted AS SELECT a FROM esc.t",
    ] {
        run(&mut root, sql);
    }
    let mut u = login(&r, "u");
    let refused = [
        "CREATE DEFINER = root@localhost VIEW d.v AS SELECT * FROM esc.t",
        "CREATE OR REPLACE DEFINER = root@localhost VIEW d.v AS SELECT * FROM esc.t",
        "CREATE DEFINER = root@localhost SQL SECURITY INVOKER VIEW d.v AS SELECT * FROM esc.t",
        "CREATE DEFINER = owner@localhost VIEW d.v AS SELECT * FROM esc.t",
        "CREATE DEFINER = nobody@nowhere VIEW d.v AS SELECT * FROM esc.t",
        "CREATE DEFINER = u@'%' VIEW d.v AS SELECT * FROM esc.t",
        "ALTER VIEW d.owned AS SELECT a + 1 FROM esc.t",
        "ALTER VIEW d.rooted AS SELECT * FROM esc.t",
        "ALTER DEFINER = owner@localhost VIEW d.owned AS SELECT * FROM esc.t",
        "ALTER SQL SECURITY INVOKER VIEW d.owned AS SELECT * FROM esc.t",
    ];
    for sql in refused {
        assert_eq!(error(&mut u, sql), 1227, "{sql}");
        assert_eq!(error(&mut u, &format!("PREPARE s FROM '{}'", sql.replace('\'', "''"))), 0, "{sql}");
        assert_eq!(error(&mut u, "EXECUTE s"), 1227, "{sql}");
    }
    // Its own views are its own.
    for sql in [
        "CREATE DEFINER = u@localhost VIEW d.v AS SELECT * FROM esc.t",
        "CREATE OR REPLACE DEFINER = CURRENT_USER() VIEW d.v AS SELECT * FROM esc.t",
        "ALTER VIEW d.v AS SELECT a FROM esc.t",
        "ALTER DEFINER = CURRENT_USER VIEW d.owned AS SELECT a FROM esc.t",
    ] {
        run(&mut u, sql);
    }
    assert_eq!(error(&mut u, "INSERT INTO d.v VALUES (2)"), 1356);
    run(&mut root, "REVOKE SELECT ON esc.t FROM u@localhost");
    assert_eq!(error(&mut u, "SELECT * FROM d.v"), 1356);
    run(&mut root, "GRANT SELECT ON esc.t TO u@localhost");
    // What each privilege opens, and what it does not.
    run(&mut root, "GRANT SET_ANY_DEFINER ON *.* TO u@localhost");
    for (sql, number) in [
        ("CREATE OR REPLACE DEFINER = owner@localhost VIEW d.v AS SELECT * FROM esc.t", 0),
        ("ALTER VIEW d.v AS SELECT * FROM esc.t", 0),
        ("CREATE OR REPLACE DEFINER = nobody@nowhere VIEW d.v AS SELECT * FROM esc.t", 1227),
        ("CREATE OR REPLACE DEFINER = strong@localhost VIEW d.v AS SELECT * FROM esc.t", 1227),
        ("CREATE OR REPLACE DEFINER = root@localhost VIEW d.v AS SELECT * FROM esc.t", 1227),
        ("ALTER VIEW d.rooted AS SELECT * FROM esc.t", 1227),
    ] {
        assert_eq!(error(&mut u, sql), number, "{sql}");
    }
    run(&mut root, "GRANT ALLOW_NONEXISTENT_DEFINER ON *.* TO u@localhost");
    run(&mut u, "CREATE OR REPLACE DEFINER = nobody@nowhere VIEW d.v AS SELECT * FROM esc.t");
    let note = "The user specified as a definer ('nobody'@'nowhere') does not exist";
    assert_eq!(rows(&mut u, "SHOW WARNINGS"), [["Note", "1449", note]]);
    // Who makes an account of a lost definer's name would have what it left.
    run(&mut root, "CREATE USER maker@localhost");
    run(&mut root, "GRANT CREATE USER ON *.* TO maker@localhost");
    let mut maker = login(&r, "maker");
    let adopt =
        ["CREATE USER nobody@nowhere", "CREATE ROLE nobody@nowhere", "RENAME USER strong@localhost TO nobody@nowhere"];
    for (sql, number) in adopt.into_iter().zip([4006, 4006, 1227]) {
        assert_eq!(error(&mut maker, sql), number, "{sql}");
    }
    run(&mut root, "CREATE USER weak@localhost");
    assert_eq!(error(&mut maker, "RENAME USER weak@localhost TO nobody@nowhere"), 4006);
    run(&mut root, "CREATE USER nobody@nowhere");
    assert_eq!(rows(&mut root, "SHOW WARNINGS")[0][1], "4005");
    run(&mut root, "DROP USER nobody@nowhere");
    run(&mut root, "GRANT SYSTEM_USER ON *.* TO u@localhost");
    run(&mut u, "ALTER VIEW d.rooted AS SELECT * FROM esc.t");
    // SUPER is enough for all but the last.
    run(&mut root, "REVOKE ALL, GRANT OPTION FROM u@localhost");
    run(&mut root, "GRANT SUPER, SELECT, CREATE VIEW, DROP ON *.* TO u@localhost");
    for (sql, number) in [
        ("CREATE OR REPLACE DEFINER = owner@localhost VIEW d.v AS SELECT * FROM esc.t", 0),
        ("CREATE OR REPLACE DEFINER = nobody@nowhere VIEW d.v AS SELECT * FROM esc.t", 0),
        ("CREATE OR REPLACE DEFINER = root@localhost VIEW d.v AS SELECT * FROM esc.t", 1227),
    ] {
        assert_eq!(error(&mut u, sql), number, "{sql}");
    }
}

/// The same through stored programs.
#[test]
fn programs_are_no_way_either() {
    // Beside the binary log, functions and triggers ask for SUPER, too.
    let r = Running::configured(|o| o.set(Live::LogBinTrustFunctionCreators, VarValue::bool(true)));
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE USER u@localhost, owner@localhost",
        "GRANT ALL ON d.* TO u@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut u = login(&r, "u");
    let made = |u: &mut Connection, definer: &str| {
        let programs = [
            "PROCEDURE d.p() SELECT 1",
            "FUNCTION d.f() RETURNS INT DETERMINISTIC RETURN 1",
            "TRIGGER d.r BEFORE INSERT ON d.t FOR EACH ROW SET @a = 1",
            "EVENT d.e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
        ];
        let made = programs.map(|p| error(u, &format!("CREATE DEFINER = {definer} {p}")));
        for drop in ["PROCEDURE d.p", "FUNCTION d.f", "TRIGGER d.r", "EVENT d.e"] {
            run(u, &format!("DROP {}", drop.replacen(' ', " IF EXISTS ", 1)));
        }
        made
    };
    assert_eq!(made(&mut u, "u@localhost"), [0; 4]);
    for definer in ["owner@localhost", "root@localhost", "nobody@nowhere"] {
        assert_eq!(made(&mut u, definer), [1227; 4], "{definer}");
    }
    run(&mut root, "GRANT SET_ANY_DEFINER ON *.* TO u@localhost");
    assert_eq!(made(&mut u, "owner@localhost"), [0; 4]);
    for definer in ["root@localhost", "nobody@nowhere"] {
        assert_eq!(made(&mut u, definer), [1227; 4], "{definer}");
    }
    run(&mut root, "GRANT ALLOW_NONEXISTENT_DEFINER, SYSTEM_USER ON *.* TO u@localhost");
    for definer in ["root@localhost", "nobody@nowhere"] {
        assert_eq!(made(&mut u, definer), [0; 4], "{definer}");
    }
}
