//! Every kind of statement, run by an account without any privilege and by one with exactly those that it needs.

use crate::common::{Running, options, run};
use gannet_core::vars::{Live, VarValue};
use gannet_server::kinds;
use gannet_wire::client::{Connection, Error, Options};

/// What there is for each statement: made anew before each.
const SCENE: &[&str] = &[
    "DROP DATABASE IF EXISTS made",
    "DROP DATABASE IF EXISTS w",
    "CREATE DATABASE w",
    "CREATE TABLE w.t (a INT PRIMARY KEY, b INT)",
    "CREATE TABLE w.s (a INT PRIMARY KEY, b INT, KEY k (b))",
    "INSERT INTO w.t VALUES (1, 1), (2, 2)",
    "CREATE VIEW w.v AS SELECT a FROM w.t",
    "DROP USER IF EXISTS other, made, fit, bare",
    "DROP ROLE IF EXISTS role",
    "CREATE USER other, bare, fit",
    "CREATE ROLE role",
];

/// Numbers of errors that say 'you may not'.
const DENIED: &[u16] = &[1044, 1045, 1095, 1142, 1143, 1227, 1370, 1401, 1410, 1698, 3879];

/// A statement, what an account needs for it (GRANT's words), and the error that is left then (0: none).
/// Without any need it is allowed to everybody.
#[rustfmt::skip]
const STATEMENTS: &[(&str, &[&str], u16)] = &[
    ("SELECT a FROM w.t", &["SELECT ON w.t"], 0),
    ("INSERT INTO w.t VALUES (3, 3)", &["INSERT ON w.t"], 0),
    ("INSERT INTO w.t SELECT a + 5, b FROM w.s", &["INSERT ON w.t", "SELECT ON w.s"], 0),
    ("REPLACE INTO w.t VALUES (1, 3)", &["INSERT, DELETE ON w.t"], 0),
    ("REPLACE INTO w.t SELECT a, b FROM w.s", &["INSERT, DELETE ON w.t", "SELECT ON w.s"], 0),
    ("UPDATE w.t SET b = 3", &["UPDATE ON w.t"], 0),
    ("UPDATE w.t JOIN w.s ON t.a = s.a SET t.b = 3", &["SELECT, UPDATE ON w.t", "SELECT ON w.s"], 0),
    ("DELETE FROM w.t", &["DELETE ON w.t"], 0),
    ("DELETE w.t FROM w.t JOIN w.s ON t.a = s.a", &["SELECT, DELETE ON w.t", "SELECT ON w.s"], 0),
    ("CREATE DATABASE made", &["CREATE ON made.*"], 0),
    ("ALTER DATABASE w CHARACTER SET latin1", &["ALTER ON w.*"], 0),
    ("DROP DATABASE w", &["DROP ON w.*"], 0),
    ("CREATE TABLE w.made (a INT)", &["CREATE ON w.made"], 0),
    ("CREATE TABLE w.made LIKE w.t", &["CREATE ON w.made", "SELECT ON w.t"], 0),
    ("CREATE TABLE w.made SELECT a FROM w.t", &["CREATE, INSERT ON w.made", "SELECT ON w.t"], 0),
    ("CREATE TABLE w.made (a INT, FOREIGN KEY (a) REFERENCES w.t (a))", &["CREATE ON w.made", "REFERENCES ON w.t"], 0),
    ("CREATE TEMPORARY TABLE w.made (a INT)", &["CREATE TEMPORARY TABLES ON w.*"], 0),
    ("ALTER TABLE w.t ADD c INT", &["ALTER ON w.t"], 0),
    ("ALTER TABLE w.t RENAME w.made", &["ALTER, DROP ON w.t", "CREATE, INSERT ON w.made"], 0),
    ("DROP TABLE w.t", &["DROP ON w.t"], 0),
    ("TRUNCATE TABLE w.t", &["DROP ON w.t"], 0),
    ("RENAME TABLE w.t TO w.made", &["ALTER, DROP ON w.t", "CREATE, INSERT ON w.made"], 0),
    ("CREATE INDEX made ON w.t (b)", &["INDEX ON w.t"], 0),
    ("DROP INDEX k ON w.s", &["INDEX ON w.s"], 0),
    ("CREATE VIEW w.made AS SELECT a FROM w.t", &["CREATE VIEW ON w.*", "SELECT ON w.t"], 0),
    ("CREATE OR REPLACE VIEW w.v AS SELECT b FROM w.t", &["CREATE VIEW, DROP ON w.v", "SELECT ON w.t"], 0),
    ("ALTER VIEW w.v AS SELECT b FROM w.t", &["CREATE VIEW, DROP ON w.v", "SELECT ON w.t", "SET_ANY_DEFINER ON *.*", "SYSTEM_USER ON *.*"], 0),
    ("DROP VIEW w.v", &["DROP ON w.v", "SYSTEM_USER ON *.*"], 0),
    // `secure_file_priv` is NULL: 1290.
    ("LOAD DATA INFILE '/tmp/nothing' INTO TABLE w.t", &["FILE ON *.*", "INSERT ON w.t"], 1290),
    ("SELECT a FROM w.t INTO OUTFILE '/tmp/nothing'", &["FILE ON *.*", "SELECT ON w.t"], 1290),
    ("CREATE PROCEDURE w.made() SELECT 1", &["CREATE ROUTINE ON w.*"], 0),
    ("CREATE FUNCTION w.made() RETURNS INT NO SQL RETURN 1", &["CREATE ROUTINE ON w.*"], 0),
    ("CREATE TRIGGER w.made BEFORE INSERT ON w.t FOR EACH ROW SET @a = 1", &["TRIGGER ON w.t"], 0),
    ("CREATE EVENT w.made ON SCHEDULE EVERY 1 DAY DO SELECT 1", &["EVENT ON w.*"], 0),
    ("SIGNAL SQLSTATE '45000'", &[], 1644),
    ("RESIGNAL", &[], 1645),
    ("GET DIAGNOSTICS @a = NUMBER", &[], 0),
    ("CALL w.nothing()", &["EXECUTE ON w.*"], 1305),
    ("ALTER PROCEDURE w.nothing COMMENT ''", &["ALTER ROUTINE ON w.*"], 1305),
    ("ALTER FUNCTION w.nothing COMMENT ''", &["ALTER ROUTINE ON w.*"], 1305),
    ("ALTER EVENT w.nothing COMMENT ''", &["EVENT ON w.*"], 1539),
    ("DROP PROCEDURE w.nothing", &["ALTER ROUTINE ON w.*"], 1305),
    ("DROP FUNCTION w.nothing", &["ALTER ROUTINE ON w.*"], 1305),
    ("DROP TRIGGER w.nothing", &[], 1360),
    ("DROP EVENT w.nothing", &["EVENT ON w.*"], 1539),
    ("DO 1", &[], 0),
    ("HANDLER w.t OPEN", &["SELECT ON w.t"], 0),
    ("HANDLER t READ FIRST", &[], 1109),
    ("HANDLER t CLOSE", &[], 1109),
    ("START TRANSACTION", &[], 0),
    ("COMMIT", &[], 0),
    ("ROLLBACK", &[], 0),
    ("SAVEPOINT a", &[], 0),
    ("ROLLBACK TO SAVEPOINT a", &[], 1305),
    ("RELEASE SAVEPOINT a", &[], 1305),
    ("XA RECOVER", &["XA_RECOVER_ADMIN ON *.*"], 0),
    ("LOCK TABLES w.t READ", &["LOCK TABLES ON w.*", "SELECT ON w.t"], 0),
    ("UNLOCK TABLES", &[], 0),
    ("LOCK INSTANCE FOR BACKUP", &["BACKUP_ADMIN ON *.*"], 0),
    ("UNLOCK INSTANCE", &["BACKUP_ADMIN ON *.*"], 0),
    ("SET max_error_count = 3", &["SESSION_VARIABLES_ADMIN ON *.*"], 0),
    ("SET GLOBAL max_error_count = 64", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("SET PERSIST max_error_count = 64", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("SET SESSION sql_log_off = ON", &["SESSION_VARIABLES_ADMIN ON *.*"], 0),
    ("SET SESSION gannet_statement_memory = 1099511627776", &["SESSION_VARIABLES_ADMIN ON *.*"], 0),
    ("SET SESSION gannet_parallel_workers = 1024", &["SESSION_VARIABLES_ADMIN ON *.*"], 0),
    ("SET STATEMENT max_error_count = 3 FOR SELECT a FROM w.t", &["SELECT ON w.t", "SESSION_VARIABLES_ADMIN ON *.*"], 0),
    ("SHOW CREATE TABLE w.t", &["SELECT ON w.t"], 0),
    ("SHOW CREATE VIEW w.v", &["SHOW VIEW, SELECT ON w.v"], 0),
    ("SHOW COLUMNS FROM w.t", &["SELECT ON w.t"], 0),
    ("SHOW TABLES FROM w", &["SELECT ON w.*"], 0),
    ("SHOW CREATE DATABASE w", &["SELECT ON w.*"], 0),
    ("SHOW ENGINE INNODB STATUS", &["PROCESS ON *.*"], 0),
    ("SHOW GRANTS FOR other", &["SELECT ON mysql.*"], 0),
    ("SHOW CREATE USER other", &["SELECT ON mysql.*"], 0),
    ("SHOW WARNINGS", &[], 0),
    ("EXPLAIN SELECT a FROM w.t", &["SELECT ON w.t"], 0),
    ("EXPLAIN FOR CONNECTION {root}", &["PROCESS ON *.*"], 0),
    ("DESCRIBE w.t", &["SELECT ON w.t"], 0),
    ("HELP 'contents'", &[], 0),
    ("USE w", &["SELECT ON w.t"], 0),
    ("KILL QUERY {root}", &["CONNECTION_ADMIN, SYSTEM_USER ON *.*"], 0),
    ("PREPARE p FROM 'SELECT a FROM w.t'", &["SELECT ON w.t"], 0),
    ("EXECUTE p", &[], 1243),
    ("DEALLOCATE PREPARE p", &[], 1243),
    ("ANALYZE TABLE w.t", &["SELECT, INSERT ON w.t"], 0),
    ("OPTIMIZE TABLE w.t", &["SELECT, INSERT ON w.t"], 0),
    ("CHECK TABLE w.t", &["SELECT ON w.t"], 0),
    ("CHECKSUM TABLE w.t", &["SELECT ON w.t"], 0),
    ("LOAD INDEX INTO CACHE w.t", &["INDEX ON w.t"], 0),
    ("RESTART", &["SHUTDOWN ON *.*"], 3707),
    ("FLUSH PRIVILEGES", &["RELOAD ON *.*"], 0),
    ("FLUSH STATUS", &["FLUSH_STATUS ON *.*"], 0),
    ("FLUSH TABLES", &["FLUSH_TABLES ON *.*"], 0),
    ("PURGE BINARY LOGS TO 'binlog.000001'", &["BINLOG_ADMIN ON *.*"], 0),
    ("BINLOG 'AAAA'", &["BINLOG_ADMIN ON *.*"], 1149),
    ("STOP REPLICA", &["REPLICATION_SLAVE_ADMIN ON *.*"], 1235),
    ("RESET PERSIST", &["SYSTEM_VARIABLES_ADMIN ON *.*"], 0),
    ("INSTALL COMPONENT 'file://nothing'", &["INSERT ON mysql.component"], 3529),
    ("INSTALL PLUGIN nothing SONAME 'nothing.so'", &["INSERT ON mysql.plugin"], 1235),
    ("UNINSTALL COMPONENT 'file://nothing'", &["DELETE ON mysql.component"], 3537),
    ("UNINSTALL PLUGIN nothing", &["DELETE ON mysql.plugin"], 1305),
    ("ALTER INSTANCE RELOAD TLS", &["CONNECTION_ADMIN ON *.*"], 0),
    ("CREATE SERVER made FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')", &["SUPER ON *.*"], 0),
    ("CREATE RESOURCE GROUP made TYPE = USER", &["RESOURCE_GROUP_ADMIN ON *.*"], 0),
    ("SET RESOURCE GROUP USR_default", &["RESOURCE_GROUP_USER ON *.*"], 0),
    ("CREATE USER made", &["CREATE USER ON *.*"], 0),
    ("ALTER USER other ACCOUNT LOCK", &["CREATE USER ON *.*"], 0),
    ("DROP USER other", &["CREATE USER ON *.*"], 0),
    ("RENAME USER other TO made", &["CREATE USER ON *.*"], 0),
    ("CREATE ROLE made", &["CREATE ROLE ON *.*"], 0),
    ("DROP ROLE role", &["DROP ROLE ON *.*"], 0),
    ("GRANT SELECT ON w.t TO other", &["SELECT, GRANT OPTION ON w.t"], 0),
    ("GRANT role TO other", &["ROLE_ADMIN ON *.*"], 0),
    ("REVOKE SELECT ON *.* FROM other", &["SELECT, GRANT OPTION ON *.*"], 0),
    ("REVOKE ALL, GRANT OPTION FROM other", &["CREATE USER ON *.*"], 0),
    ("SET PASSWORD FOR other = 'x'", &["CREATE USER ON *.*"], 0),
    ("SET ROLE NONE", &[], 0),
    ("SET ROLE role", &[], 3530),
    ("SET DEFAULT ROLE NONE TO other", &["CREATE USER ON *.*"], 0),
    ("/* nothing */", &[], 0),
    // The last one: nothing comes behind it.
    ("SHUTDOWN", &["SHUTDOWN ON *.*"], 0),
];

fn outcome(r: &Running, user: &str, sql: &str) -> u16 {
    let login = Options { user: user.into(), ..options() };
    let mut c = Connection::connect(&r.socket(), &login).unwrap();
    match c.query(sql) {
        Ok(_) => 0,
        Err(Error::Server { code, .. }) => code,
        Err(e) => panic!("{user}: {sql}: {e}"),
    }
}

#[test]
fn every_kind_of_statement_asks_for_what_it_needs() {
    // Beside the binary log, functions and triggers ask for SUPER too: `binlog.rs` has that.
    let r = Running::configured(|o| o.set(Live::LogBinTrustFunctionCreators, VarValue::bool(true)));
    let mut root = r.connect();
    let id = crate::common::one(&mut root, "SELECT CONNECTION_ID()");
    let mut wrong = Vec::new();
    for (sql, needs, left) in STATEMENTS {
        let sql = &sql.replace("{root}", &id);
        SCENE.iter().for_each(|s| run(&mut root, s));
        let bare = outcome(&r, "bare", sql);
        let refused = if needs.is_empty() { bare == *left } else { DENIED.contains(&bare) };
        if !refused {
            wrong.push(format!("{sql}: {bare} without any privilege"));
        }
        for (i, _) in needs.iter().enumerate().filter(|_| needs.len() > 1) {
            // Each of several is needed.
            run(&mut root, "REVOKE ALL, GRANT OPTION FROM fit");
            for (_, need) in needs.iter().enumerate().filter(|(j, _)| *j != i) {
                run(&mut root, &format!("GRANT {need} TO fit"));
            }
            let part = outcome(&r, "fit", sql);
            if !DENIED.contains(&part) {
                wrong.push(format!("{sql}: {part} without {}", needs[i]));
            }
        }
        needs.iter().for_each(|need| run(&mut root, &format!("GRANT {need} TO fit")));
        let fit = outcome(&r, "fit", sql);
        if fit != *left {
            wrong.push(format!("{sql}: {fit} with {needs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_statement_is_tried() {
    let tried: Vec<&str> = STATEMENTS
        .iter()
        .map(|(sql, ..)| kinds::name_of(&sql.replace("{root}", "1")).unwrap_or_else(|| panic!("{sql}")))
        .collect();
    let missed: Vec<&str> = kinds::runnable().filter(|k| !tried.contains(k)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
