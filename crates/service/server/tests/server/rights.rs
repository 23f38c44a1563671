//! What an account finds out without a right: nothing, through whatever door it asks.
//!
//! Everything that root makes is called `secret...` or holds that word. Accounts with USAGE alone, with SELECT on one
//! table and with rights on columns read every system table and send every statement: the word never comes back, and
//! errors are the same for what is there and what is not.

use crate::common::{Running, error, options, rows, run};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::com;

const SETUP: &[&str] = &[
    "CREATE DATABASE secret_db",
    "CREATE DATABASE open_db",
    "CREATE TABLE secret_db.secret_t (secret_id INT PRIMARY KEY AUTO_INCREMENT COMMENT 'secret', secret_v VARCHAR(20) \
     DEFAULT 'secret', n INT, CONSTRAINT secret_chk CHECK (n > 0), KEY secret_k (n)) COMMENT 'secret'",
    "CREATE TABLE secret_db.secret_f (a INT, CONSTRAINT secret_fk FOREIGN KEY (a) REFERENCES secret_t (secret_id))",
    "INSERT INTO secret_db.secret_t VALUES (1, 'secret', 5)",
    "ANALYZE TABLE secret_db.secret_t",
    "CREATE VIEW secret_db.secret_view AS SELECT secret_v FROM secret_db.secret_t",
    "CREATE TABLE open_db.t1 (a INT PRIMARY KEY, secret_b INT DEFAULT 7, c INT)",
    "CREATE TABLE open_db.t2 (a INT PRIMARY KEY, b INT)",
    "CREATE TABLE open_db.secret_t2 (a INT PRIMARY KEY)",
    "INSERT INTO open_db.t1 VALUES (1, 2, 3)",
    "CREATE VIEW open_db.v1 AS SELECT n AS v FROM secret_db.secret_t",
    "CREATE SQL SECURITY INVOKER VIEW open_db.v2 AS SELECT n AS v FROM secret_db.secret_t",
    "CREATE USER nobody@localhost, one@localhost, col@localhost, secret_user@localhost",
    "CREATE ROLE secret_role",
    "GRANT ALL ON secret_db.* TO secret_user@localhost",
    "GRANT SELECT ON open_db.t2 TO one@localhost",
    "GRANT SELECT ON open_db.v1 TO one@localhost",
    "GRANT SELECT ON open_db.v2 TO one@localhost",
    "GRANT SELECT (a), INSERT (c) ON open_db.t1 TO col@localhost",
];

/// What another session does meanwhile.
const MEANWHILE: &[&str] = &[
    "USE secret_db",
    "SET @secret_variable = 'secret'",
    "PREPARE secret_statement FROM 'SELECT secret_v FROM secret_t'",
    "DO GET_LOCK('secret_lock', 0)",
    "LOCK TABLES secret_t WRITE",
];

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).expect("it logs in")
}

fn world() -> (Running, Connection, Connection) {
    let r = Running::start();
    let mut root = r.connect();
    SETUP.iter().for_each(|sql| run(&mut root, sql));
    let mut other = login(&r, "secret_user");
    MEANWHILE.iter().for_each(|sql| run(&mut other, sql));
    (r, root, other)
}

/// Error number and text; `None`: it went through.
fn outcome(c: &mut Connection, sql: &str) -> Option<(u16, String)> {
    let e = c.query(sql).err()?;
    Some((e.code().unwrap_or_else(|| panic!("{sql}: {e}")), e.to_string()))
}

#[test]
fn no_system_table_tells() {
    let (r, mut root, _other) = world();
    let all = rows(
        &mut root,
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA IN \
         ('information_schema', 'performance_schema', 'mysql', 'sys')",
    );
    assert!(all.len() > 100, "{}", all.len());
    for user in ["nobody", "one", "col"] {
        let mut c = login(&r, user);
        let mut readable = 0;
        for name in &all {
            let sql = format!("SELECT * FROM `{}`.`{}`", name[0], name[1]);
            match c.query(&sql) {
                Ok(found) => {
                    readable += 1;
                    let told: Vec<_> = found.texts().into_iter().filter(|r| r.join("|").contains("secret")).collect();
                    assert!(told.is_empty(), "{user} {sql}: {told:?}");
                }
                Err(e) => assert!(matches!(e.code(), Some(1142 | 1227)), "{user} {sql}: {e}"),
            }
        }
        assert!(readable > 40, "{user}: {readable}");
    }
}

#[test]
fn no_show_tells() {
    let (r, _root, _other) = world();
    let shows = [
        "DATABASES",
        "TABLES FROM open_db",
        "FULL TABLES FROM open_db",
        "TABLE STATUS FROM open_db",
        "OPEN TABLES",
        "OPEN TABLES FROM secret_db",
        "COLUMNS FROM open_db.t1",
        "FULL COLUMNS FROM open_db.t1",
        "INDEX FROM open_db.t1",
        "CREATE TABLE open_db.t1",
        "CREATE VIEW open_db.v1",
        "CREATE TABLE open_db.v1",
        "GRANTS",
        "PROCESSLIST",
        "FULL PROCESSLIST",
        "PROCEDURE STATUS",
        "FUNCTION STATUS",
        "TRIGGERS FROM open_db",
        "EVENTS FROM open_db",
        "PROFILES",
        "STATUS",
        "VARIABLES",
        "ENGINE INNODB STATUS",
        "BINARY LOG STATUS",
        "BINARY LOGS",
        "REPLICA STATUS",
        "REPLICAS",
    ];
    for user in ["nobody", "one", "col"] {
        let mut c = login(&r, user);
        for show in shows {
            match c.query(&format!("SHOW {show}")) {
                Ok(found) => {
                    let told: Vec<_> = found.texts().into_iter().filter(|r| r.join("|").contains("secret")).collect();
                    assert!(told.is_empty(), "{user} SHOW {show}: {told:?}");
                }
                Err(e) => assert!(matches!(e.code(), Some(1142 | 1044 | 1227)), "{user} SHOW {show}: {e}"),
            }
        }
    }
}

/// `{}` is a table which is there, one which is not, one in a schema that is not there: the answer is the same.
const OF_TABLES: &[&str] = &[
    "SELECT * FROM {}",
    "SELECT nonesuch FROM {}",
    "SELECT 1 FROM {} WHERE nonesuch = 1",
    "SELECT EXISTS (SELECT 1 FROM {})",
    "DO (SELECT 1 FROM {} LIMIT 1)",
    "SET @a = (SELECT 1 FROM {} LIMIT 1)",
    "WITH x AS (SELECT * FROM {}) SELECT 1",
    "TABLE {}",
    "EXPLAIN SELECT * FROM {}",
    "EXPLAIN ANALYZE SELECT * FROM {}",
    "PREPARE s FROM 'SELECT * FROM {}'",
    "DESCRIBE {}",
    "SHOW COLUMNS FROM {}",
    "SHOW INDEX FROM {}",
    "SHOW CREATE TABLE {}",
    "SHOW CREATE VIEW {}",
    "HANDLER {} OPEN",
    "INSERT INTO {} VALUES (1)",
    "INSERT INTO {} (nonesuch) VALUES (1)",
    "INSERT INTO open_db.t1 SELECT * FROM {}",
    "REPLACE INTO {} VALUES (1)",
    "UPDATE {} SET n = 1",
    "UPDATE {} SET nonesuch = 1",
    "DELETE FROM {}",
    "DELETE x FROM {} AS x JOIN open_db.t2",
    "TRUNCATE {}",
    "DROP TABLE {}",
    "DROP TABLE IF EXISTS {}",
    "DROP VIEW {}",
    "ALTER TABLE {} ADD x INT",
    "RENAME TABLE {} TO open_db.x",
    "CREATE TABLE {} (a INT)",
    "CREATE TABLE IF NOT EXISTS {} (a INT)",
    "CREATE TABLE open_db.x LIKE {}",
    "CREATE TEMPORARY TABLE open_db.x AS SELECT * FROM {}",
    "CREATE VIEW open_db.x AS SELECT * FROM {}",
    "CREATE VIEW {} AS SELECT 1",
    "CREATE INDEX i ON {} (n)",
    "DROP INDEX secret_k ON {}",
    "ANALYZE TABLE {}",
    "CHECK TABLE {}",
    "CHECKSUM TABLE {}",
    "CHECKSUM TABLE {} QUICK",
    "OPTIMIZE TABLE {}",
    "REPAIR TABLE {}",
    "LOCK TABLES {} READ",
    "LOCK TABLES {} WRITE",
    "FLUSH TABLES {}",
    "FLUSH TABLES {} WITH READ LOCK",
    "GRANT SELECT ON {} TO nobody@localhost",
    "REVOKE SELECT ON {} FROM nobody@localhost",
    "SELECT * FROM {} INTO OUTFILE '/nowhere'",
    "LOAD DATA INFILE '/nowhere' INTO TABLE {}",
];

const OF_SCHEMAS: &[&str] = &[
    "USE {}",
    "SHOW TABLES FROM {}",
    "SHOW TABLE STATUS FROM {}",
    "SHOW TRIGGERS FROM {}",
    "SHOW EVENTS FROM {}",
    "SHOW OPEN TABLES FROM {}",
    "SHOW CREATE DATABASE {}",
    "CREATE DATABASE {}",
    "CREATE DATABASE IF NOT EXISTS {}",
    "ALTER DATABASE {} CHARACTER SET latin1",
    "DROP DATABASE {}",
    "DROP DATABASE IF EXISTS {}",
    "GRANT SELECT ON {}.* TO nobody@localhost",
    "SELECT {}.f(1)",
    "EXPLAIN FOR SCHEMA {} SELECT 1",
];

const OF_ACCOUNTS: &[&str] = &[
    "SHOW GRANTS FOR {}",
    "SHOW CREATE USER {}",
    "ALTER USER {} IDENTIFIED BY 'x'",
    "ALTER USER IF EXISTS {} IDENTIFIED BY 'x'",
    "DROP USER {}",
    "DROP USER IF EXISTS {}",
    "RENAME USER {} TO x@localhost",
    "CREATE USER {}",
    "SET PASSWORD FOR {} = 'x'",
    "GRANT SELECT ON *.* TO {}",
    "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}",
    "SET DEFAULT ROLE NONE TO {}",
    "SET ROLE {}",
];

#[test]
fn errors_do_not_tell_what_exists() {
    let (r, _root, _other) = world();
    let kinds: [(&[&str], &[&str]); 3] = [
        (OF_TABLES, &["secret_db.secret_t", "secret_db.nonesuch", "nonesuch_db.secret_t"]),
        (OF_SCHEMAS, &["secret_db", "nonesuch_db"]),
        (OF_ACCOUNTS, &["secret_user@localhost", "nonesuch@localhost"]),
    ];
    for user in ["nobody", "one"] {
        let mut c = login(&r, user);
        for (statements, names) in kinds {
            for sql in statements {
                let answers = names.iter().map(|name| {
                    let answer = outcome(&mut c, &sql.replace("{}", name));
                    answer.map(|(n, text)| {
                        (
                            n,
                            text.replace("secret", "X")
                                .replace("nonesuch", "X")
                                .replace("X_t", "X")
                                .replace("X_user", "X"),
                        )
                    })
                });
                let answers: Vec<_> = answers.collect();
                assert!(answers.windows(2).all(|w| w[0] == w[1]), "{user} {sql}: {answers:#?}");
                let silent = *sql == "SHOW OPEN TABLES FROM {}";
                assert!(answers[0].is_some() != silent, "{user}: {sql} went through");
            }
        }
    }
}

#[test]
fn columns_without_a_right_stay_closed() {
    let (r, mut root, _other) = world();
    let mut c = login(&r, "col");
    for (sql, number) in [
        ("SELECT a FROM open_db.t1", 0),
        ("SELECT COUNT(*) FROM open_db.t1", 0),
        ("SELECT * FROM open_db.t1", 1142),
        ("SELECT t.* FROM open_db.t1 AS t", 1142),
        ("SELECT secret_b FROM open_db.t1", 1143),
        ("SELECT a FROM open_db.t1 WHERE secret_b = 2", 1143),
        ("SELECT a FROM open_db.t1 ORDER BY secret_b", 1143),
        ("SELECT a FROM open_db.t1 GROUP BY a HAVING MAX(secret_b)", 1143),
        ("SELECT t.a FROM open_db.t1 t JOIN open_db.t1 u USING (secret_b)", 1143),
        ("SELECT DEFAULT(secret_b) FROM open_db.t1", 1143),
        ("SELECT DEFAULT(a) FROM open_db.t1", 1364),
        ("INSERT INTO open_db.t1 (a) VALUES (9)", 1143),
        ("INSERT INTO open_db.t1 VALUES (1, 2, 3)", 1142),
        ("INSERT INTO open_db.t1 (c) VALUES (1) ON DUPLICATE KEY UPDATE c = secret_b", 1142),
        ("INSERT INTO open_db.t1 (c) SELECT secret_b FROM open_db.t1", 1143),
        ("REPLACE INTO open_db.t1 (c) VALUES (1)", 1142),
        ("UPDATE open_db.t1 SET c = 1", 1142),
        ("DELETE FROM open_db.t1", 1142),
        ("SHOW CREATE TABLE open_db.t1", 1142),
        ("CHECKSUM TABLE open_db.t1", 1142),
        ("HANDLER open_db.t1 OPEN", 1142),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    assert_eq!(rows(&mut c, "SHOW COLUMNS FROM open_db.t1").len(), 2);
    run(&mut root, "GRANT UPDATE (c) ON open_db.t1 TO col@localhost");
    for (sql, number) in [
        ("UPDATE open_db.t1 SET c = 1", 0),
        ("UPDATE open_db.t1 SET c = secret_b", 1143),
        ("UPDATE open_db.t1 SET secret_b = 1", 1143),
        ("UPDATE open_db.t1 SET c = 1 WHERE secret_b = 2", 1143),
        ("UPDATE open_db.t1 SET c = 1 ORDER BY secret_b LIMIT 1", 1143),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
}

#[test]
fn views_ask_for_the_rights_of_their_definer_or_invoker() {
    let (r, mut root, mut other) = world();
    run(&mut other, "UNLOCK TABLES");
    let mut one = login(&r, "one");
    assert_eq!(rows(&mut one, "SELECT v FROM open_db.v1"), [["5"]]);
    for (sql, number) in [
        ("SELECT v FROM open_db.v2", 1356),
        ("EXPLAIN SELECT v FROM open_db.v1", 1345),
        ("SHOW CREATE VIEW open_db.v1", 1142),
        ("UPDATE open_db.v1 SET v = 1", 1142),
        ("SELECT a FROM open_db.t2 FOR UPDATE", 1142),
    ] {
        assert_eq!(error(&mut one, sql), number, "{sql}");
    }
    // The definer's rights are looked at when the view is read.
    run(&mut root, "CREATE USER definer@localhost");
    run(&mut root, "GRANT SELECT ON secret_db.* TO definer@localhost");
    run(&mut root, "CREATE DEFINER = definer@localhost VIEW open_db.v3 AS SELECT n AS v FROM secret_db.secret_t");
    run(&mut root, "GRANT SELECT ON open_db.v3 TO one@localhost");
    assert_eq!(error(&mut one, "SELECT * FROM open_db.v3"), 0);
    run(&mut root, "REVOKE SELECT ON secret_db.* FROM definer@localhost");
    assert_eq!(error(&mut one, "SELECT * FROM open_db.v3"), 1356);
    run(&mut root, "DROP USER definer@localhost");
    // Who is missing is told to administrators.
    assert_eq!(error(&mut one, "SELECT * FROM open_db.v3"), 1045);
    assert_eq!(error(&mut root, "SELECT * FROM open_db.v3"), 1449);
    // What is assigned through a view is not read.
    run(&mut root, "CREATE SQL SECURITY INVOKER VIEW open_db.v4 AS SELECT a, b FROM open_db.t2");
    run(&mut root, "GRANT UPDATE ON open_db.v4 TO nobody@localhost");
    run(&mut root, "GRANT UPDATE ON open_db.t2 TO nobody@localhost");
    let mut nobody = login(&r, "nobody");
    assert_eq!(error(&mut nobody, "UPDATE open_db.v4 SET b = 5"), 0);
    assert_eq!(error(&mut nobody, "UPDATE open_db.v4 SET b = a"), 1142);
    assert_eq!(error(&mut nobody, "UPDATE open_db.v4 SET b = 5 WHERE a = 1"), 1142);
}

#[test]
fn what_is_prepared_asks_again() {
    let (r, mut root, _other) = world();
    let mut one = login(&r, "one");
    let statement = one.prepare("SELECT a FROM open_db.t2").unwrap();
    run(&mut one, "PREPARE s FROM 'SELECT a FROM open_db.t2'");
    run(&mut one, "HANDLER open_db.t2 OPEN");
    one.execute(&statement, &[]).unwrap();
    run(&mut one, "EXECUTE s");
    run(&mut root, "REVOKE SELECT ON open_db.t2 FROM one@localhost");
    assert_eq!(one.execute(&statement, &[]).unwrap_err().code(), Some(1142));
    assert_eq!(error(&mut one, "EXECUTE s"), 1142);
    assert_eq!(error(&mut one, "SELECT a FROM open_db.t2"), 1142);
    assert_eq!(error(&mut one, "HANDLER t2 READ FIRST"), 1142);
}

#[test]
fn commands_of_the_protocol_ask_too() {
    let (r, mut root, mut other) = world();
    let mut nobody = login(&r, "nobody");
    let mut told = |byte: u8, body: &[u8]| {
        nobody.command(byte, body).unwrap();
        nobody.receive().err().and_then(|e| e.code())
    };
    assert_eq!(told(com::INIT_DB, b"secret_db"), Some(1044));
    assert_eq!(told(com::INIT_DB, b"nonesuch_db"), Some(1044));
    let id: u32 = rows(&mut root, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'secret_user'")[0][0]
        .parse()
        .unwrap();
    assert_eq!(told(com::PROCESS_KILL, &id.to_le_bytes()), Some(1095));
    assert_eq!(told(com::STATISTICS, b""), None);
    assert_eq!(told(com::INIT_DB, b"information_schema"), None);
    run(&mut other, "UNLOCK TABLES");
    // COM_FIELD_LIST shows the columns that SHOW COLUMNS does.
    let mut col = login(&r, "col");
    run(&mut col, "USE open_db");
    for (table, number) in [(&b"t2\0"[..], Some(1142)), (b"nonesuch\0", Some(1142))] {
        col.command(com::FIELD_LIST, table).unwrap();
        assert_eq!(col.receive().err().and_then(|e| e.code()), number);
    }
    col.command(com::FIELD_LIST, b"t1\0").unwrap();
    let mut columns = Vec::new();
    loop {
        let packet = col.receive().unwrap();
        if matches!(packet.first(), Some(0xFE)) {
            break;
        }
        columns.push(String::from_utf8_lossy(&packet).into_owned());
    }
    assert_eq!(columns.len(), 2);
    assert!(columns.iter().all(|c| !c.contains("secret")), "{columns:?}");
    let denied = Connection::connect(
        &r.socket(),
        &Options { user: "nobody".into(), database: Some("nonesuch_db".into()), ..options() },
    );
    assert_eq!(denied.err().and_then(|e| e.code()), Some(1044));
}

#[test]
fn what_administrators_do_is_refused() {
    let (r, mut root, _other) = world();
    let mut c = login(&r, "nobody");
    let id = rows(&mut root, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'secret_user'").remove(0);
    for (sql, number) in [
        (format!("KILL {}", id[0]), 1095),
        (format!("KILL QUERY {}", id[0]), 1095),
        (format!("EXPLAIN FOR CONNECTION {}", id[0]), 1227),
        ("KILL 999999".into(), 1094),
        ("FLUSH TABLES".into(), 1227),
        ("FLUSH PRIVILEGES".into(), 1227),
        ("FLUSH STATUS".into(), 1227),
        ("FLUSH LOGS".into(), 1227),
        ("FLUSH USER_RESOURCES".into(), 1227),
        ("FLUSH TABLES WITH READ LOCK".into(), 1227),
        ("RESET PERSIST".into(), 1227),
        ("SET GLOBAL max_connections = 10".into(), 1227),
        ("SET PERSIST max_connections = 10".into(), 1227),
        ("SET PERSIST_ONLY max_connections = 10".into(), 1227),
        ("SET SESSION sql_log_bin = 0".into(), 1227),
        ("SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED".into(), 1227),
        ("ALTER INSTANCE RELOAD TLS".into(), 1227),
        ("SHUTDOWN".into(), 1227),
        ("XA RECOVER".into(), 1401),
        ("CREATE ROLE x".into(), 1227),
        ("GRANT secret_role TO nobody@localhost".into(), 1227),
        ("SET DEFAULT ROLE secret_role TO nobody@localhost".into(), 3530),
        ("SET ROLE secret_role".into(), 3530),
        ("SHOW GRANTS FOR CURRENT_USER() USING secret_role".into(), 3530),
        ("SELECT 1 INTO OUTFILE '/nowhere'".into(), 1045),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE open_db.t1".into(), 1045),
        ("DELETE FROM mysql.user".into(), 1142),
    ] {
        assert_eq!(error(&mut c, &sql), number, "{sql}");
    }
    assert_eq!(rows(&mut c, "SELECT LOAD_FILE('/etc/passwd')"), [["NULL"]]);
    assert_eq!(rows(&mut c, "SELECT RELEASE_LOCK('secret_lock')"), [["0"]]);
}

#[test]
fn definitions_ask_for_what_they_touch_elsewhere() {
    let (r, mut root, _other) = world();
    run(&mut root, "CREATE USER maker@localhost");
    run(&mut root, "GRANT ALL ON open_db.* TO maker@localhost");
    let mut c = login(&r, "maker");
    run(&mut c, "USE open_db");
    run(&mut c, "CREATE TABLE own (a INT, b INT)");
    for (sql, number) in [
        ("CREATE TABLE x (a INT, FOREIGN KEY (a) REFERENCES secret_db.secret_t (secret_id))", 1142),
        ("CREATE TABLE x (a INT, FOREIGN KEY (a) REFERENCES secret_db.nonesuch (secret_id))", 1142),
        ("ALTER TABLE own ADD FOREIGN KEY (a) REFERENCES secret_db.secret_t (secret_id)", 1142),
        ("ALTER TABLE own ADD (c INT, FOREIGN KEY (a) REFERENCES secret_db.secret_t (secret_id))", 1142),
        ("ALTER TABLE own RENAME secret_db.own", 1142),
        ("ALTER TABLE own ADD c INT, RENAME TO secret_db.secret_t", 1142),
        ("RENAME TABLE own TO secret_db.own", 1142),
        ("CREATE TABLE secret_db.x LIKE own", 1142),
        ("CREATE TABLE x LIKE secret_db.secret_t", 1142),
        ("DROP TABLE own, secret_db.secret_t", 1142),
        ("LOCK TABLES own READ, secret_db.secret_t READ", 1044),
        ("CREATE TABLE x (a INT, FOREIGN KEY (a) REFERENCES t2 (a))", 0),
        ("ALTER TABLE x RENAME y", 0),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    run(&mut root, "GRANT REFERENCES (secret_id) ON secret_db.secret_t TO maker@localhost");
    let key = |column: &str| format!("ALTER TABLE own ADD FOREIGN KEY (a) REFERENCES secret_db.secret_t ({column})");
    assert_eq!(error(&mut c, &key("n")), 1142);
    run(&mut root, "REVOKE DROP ON open_db.* FROM maker@localhost");
    assert_eq!(error(&mut c, "ALTER TABLE own RENAME other"), 1142);
}

#[test]
fn stored_programs_ask_for_their_rights_first() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE other",
        "CREATE USER nobody@localhost, some@localhost",
        "GRANT EXECUTE, ALTER ROUTINE, EVENT ON d.* TO some@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut some = login(&r, "some");
    let mut nobody = login(&r, "nobody");
    let statements = [
        ("CALL d.p()", 1305, 1370),
        ("DROP PROCEDURE d.p", 1305, 1370),
        ("DROP FUNCTION IF EXISTS d.f", 0, 1370),
        ("ALTER FUNCTION d.f COMMENT ''", 1305, 1370),
        ("DROP EVENT d.e", 1539, 1044),
        ("ALTER EVENT d.e DISABLE", 1539, 1044),
        ("SHOW CREATE EVENT d.e", 1539, 1044),
        ("DROP TRIGGER d.t", 1360, 1360),
        ("SHOW CREATE PROCEDURE d.p", 1305, 1305),
    ];
    for (sql, with, without) in statements {
        assert_eq!((error(&mut some, sql), error(&mut nobody, sql)), (with, without), "{sql}");
        // Neither tells whether there is such a database.
        for schema in ["other.", "none."] {
            let elsewhere = sql.replace("d.", schema);
            assert_eq!(
                (error(&mut some, &elsewhere), error(&mut nobody, &elsewhere)),
                (without, without),
                "{elsewhere}"
            );
        }
    }
    let denied = outcome(&mut nobody, "CALL d.p()").expect("an error").1;
    assert!(denied.contains("execute command denied to user 'nobody'@'localhost' for routine 'd.p'"), "{denied}");
}

/// An index over an expression answers for the columns that the statement names, whichever it reads.
#[test]
fn rights_are_asked_for_the_columns_of_an_expression() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, g INT AS (b * 2), KEY f ((a + 1)), KEY (g))",
        "INSERT INTO d.t (id, a, b) VALUES (1, 1, 1), (2, 2, 2)",
        "CREATE USER with_a@localhost, without_a@localhost",
        "GRANT SELECT (id, a, b), UPDATE (id) ON d.t TO with_a@localhost",
        "GRANT SELECT (id, g) ON d.t TO without_a@localhost",
    ] {
        run(&mut root, sql);
    }
    let (mut with, mut without) = (login(&r, "with_a"), login(&r, "without_a"));
    for sql in [
        "SELECT id FROM d.t WHERE a + 1 = 2",
        "SELECT id FROM d.t WHERE b * 2 = 4",
        "SELECT id FROM d.t ORDER BY a + 1",
        "UPDATE d.t SET id = 3 WHERE a + 1 = 2",
    ] {
        assert_eq!(outcome(&mut with, sql), None, "{sql}");
        assert_eq!(
            outcome(&mut without, sql).map(|e| e.0),
            Some(if sql.starts_with('U') { 1142 } else { 1143 }),
            "{sql}"
        );
    }
    assert_eq!(outcome(&mut with, "SELECT id FROM d.t WHERE b * 2 = 4 AND g > 1").map(|e| e.0), Some(1143));
}

/// What becomes of an expression while it is planned opens no column that it names.
#[test]
fn a_column_is_asked_for_where_it_is_named() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, n INT NOT NULL, w TEXT, KEY (n), FULLTEXT (w))",
        "CREATE TABLE d.u (id INT)",
        "CREATE VIEW d.v AS SELECT id, w AS words FROM d.t",
        "INSERT INTO d.t VALUES (1, 1, 'hello')",
        "CREATE USER some@localhost",
        "GRANT SELECT (id), INSERT (id, n), UPDATE (n) ON d.t TO some@localhost",
        "GRANT SELECT (id) ON d.v TO some@localhost",
        "GRANT SELECT ON d.u TO some@localhost",
    ] {
        run(&mut root, sql);
    }
    let mut some = login(&r, "some");
    for sql in [
        "SELECT id FROM d.t WHERE MATCH (w) AGAINST ('hello')",
        "SELECT MATCH (w) AGAINST ('hello') FROM d.t",
        "SELECT id FROM d.v WHERE MATCH (words) AGAINST ('hello')",
        "SELECT id FROM (SELECT id, w FROM d.t) s WHERE MATCH (w) AGAINST ('hello')",
        "SELECT id FROM d.t WHERE n IS NULL",
        "SELECT id FROM d.t WHERE n IS NOT NULL",
        "SELECT id FROM d.t WHERE 0 AND n = 5",
        "SELECT 0 AND n FROM d.t",
        "SELECT 1 FROM (SELECT n FROM d.t) s",
        "WITH s AS (SELECT id, n FROM d.t) SELECT id FROM s",
        "SELECT u.id FROM d.u LEFT JOIN d.t ON 0 AND t.n = 1",
        "SELECT id FROM d.t WINDOW x AS (ORDER BY n)",
        "SELECT n FROM d.t LIMIT 0",
        "SELECT EXISTS (SELECT n FROM d.t)",
    ] {
        assert_eq!(outcome(&mut some, sql).map(|e| e.0), Some(1143), "{sql}");
    }
    for sql in [
        "SELECT id, COUNT(*) FROM d.t GROUP BY id",
        "SELECT 1 FROM d.t",
        "UPDATE d.t SET n = 2",
        "UPDATE d.t SET n = id WHERE id = 1",
        "INSERT INTO d.t (id, n) VALUES (1, 3) ON DUPLICATE KEY UPDATE n = VALUES(n)",
        "INSERT INTO d.t (id, n) VALUES (1, 3) AS new ON DUPLICATE KEY UPDATE n = new.n",
        "SELECT id FROM d.v",
    ] {
        assert_eq!(outcome(&mut some, sql), None, "{sql}");
    }
}

/// What an account with SYSTEM_USER has defined is changed and dropped by such accounts alone; replacing a view and
/// dropping a trigger or the whole database are not about definers.
#[test]
fn definitions_of_system_users_are_guarded() {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE guarded",
        "CREATE TABLE guarded.t (a INT)",
        "CREATE USER keeper, other",
        "GRANT ALL ON guarded.* TO keeper, other",
        "GRANT SET_ANY_DEFINER ON *.* TO keeper",
        "CREATE VIEW guarded.v AS SELECT 1",
        "CREATE PROCEDURE guarded.p() SELECT 1",
        "CREATE FUNCTION guarded.f() RETURNS INT DETERMINISTIC RETURN 1",
        "CREATE EVENT guarded.e ON SCHEDULE EVERY 1 DAY DISABLE DO SET @x = 1",
        "CREATE TRIGGER guarded.g BEFORE INSERT ON guarded.t FOR EACH ROW SET @x = 1",
        "CREATE DEFINER = other VIEW guarded.ov AS SELECT 1",
        "CREATE DEFINER = other PROCEDURE guarded.op() SELECT 1",
        "CREATE DEFINER = other EVENT guarded.oe ON SCHEDULE EVERY 1 DAY DISABLE DO SET @x = 1",
    ] {
        run(&mut root, sql);
    }
    let mut keeper = Connection::connect(&r.socket(), &Options { user: "keeper".into(), ..options() }).unwrap();
    for sql in [
        "DROP VIEW guarded.v",
        "ALTER VIEW guarded.v AS SELECT 2",
        "DROP VIEW guarded.ov, guarded.v",
        "ALTER PROCEDURE guarded.p COMMENT 'x'",
        "DROP PROCEDURE guarded.p",
        "DROP FUNCTION guarded.f",
        "ALTER EVENT guarded.e COMMENT 'x'",
        "DROP EVENT guarded.e",
    ] {
        assert_eq!(error(&mut keeper, sql), 1227, "{sql}");
    }
    for sql in [
        "DROP VIEW guarded.ov",
        "ALTER PROCEDURE guarded.op COMMENT 'x'",
        "DROP PROCEDURE guarded.op",
        "ALTER EVENT guarded.oe COMMENT 'x'",
        "DROP EVENT guarded.oe",
        "DROP TRIGGER guarded.g",
        "CREATE OR REPLACE VIEW guarded.v AS SELECT 3",
        "DROP VIEW guarded.v",
    ] {
        run(&mut keeper, sql);
    }
    run(&mut root, "GRANT SYSTEM_USER ON *.* TO keeper");
    let mut keeper = Connection::connect(&r.socket(), &Options { user: "keeper".into(), ..options() }).unwrap();
    for sql in ["DROP PROCEDURE guarded.p", "DROP FUNCTION guarded.f", "DROP EVENT guarded.e"] {
        run(&mut keeper, sql);
    }
    run(&mut root, "DROP DATABASE guarded");
}

/// Session variables that take memory or change what others see need a privilege of their own.
#[test]
fn restricted_session_variables_need_a_privilege() {
    const NAMES: &str = "bulk_insert_buffer_size character_set_filesystem connection_memory_chunk_size \
         connection_memory_limit global_connection_memory_tracking innodb_strict_mode internal_tmp_mem_storage_engine \
         low_priority_updates max_delayed_threads max_error_count max_insert_delayed_threads min_examined_row_limit \
         preload_buffer_size select_into_buffer_size select_into_disk_sync_delay xa_detach_on_prepare";
    let r = Running::start();
    run(&mut r.connect(), "CREATE USER plain");
    let login = Options { user: "plain".into(), ..options() };
    let mut plain = Connection::connect(&r.socket(), &login).unwrap();
    for name in NAMES.split_whitespace() {
        assert_eq!(error(&mut plain, &format!("SET SESSION {name} = DEFAULT")), 1227, "{name}");
    }
    run(&mut plain, "SET SESSION select_into_disk_sync = DEFAULT");
    run(&mut plain, "SELECT /*+ SET_VAR(bulk_insert_buffer_size = 5) */ 1");
    assert_eq!(rows(&mut plain, "SHOW WARNINGS")[0][1], "1227");
    run(&mut r.connect(), "GRANT SESSION_VARIABLES_ADMIN ON *.* TO plain");
    let mut plain = Connection::connect(&r.socket(), &login).unwrap();
    for name in NAMES.split_whitespace() {
        run(&mut plain, &format!("SET SESSION {name} = DEFAULT"));
    }
}
