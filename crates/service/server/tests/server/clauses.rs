//! What stands in a clause is bound or refused: for every clause of every kind of statement, and everything that has
//! its place in some of them only, the answer is rows or an error of MySQL's, never an internal one, and the connection
//! stays.

use crate::common::{Running, run};
use gannet_wire::client::{Connection, Error};

/// Aggregates, window functions, forms and subqueries that belong to some clauses.
const FORMS: &[&str] = &[
    "SUM(a)",
    "COUNT(*)",
    "MAX(s.b)",
    "GROUP_CONCAT(c ORDER BY b)",
    "JSON_ARRAYAGG(b)",
    "SUM(SUM(a))",
    "SUM((SELECT b))",
    "MAX(a) + b",
    "ROW_NUMBER() OVER ()",
    "SUM(a) OVER (ORDER BY b)",
    "SUM(a) OVER (ROWS b PRECEDING)",
    "SUM(a) + RANK() OVER (ORDER BY SUM(b))",
    "SUM(RANK() OVER ()) OVER ()",
    "RANK() OVER (ORDER BY RANK() OVER ())",
    "LAG(b, b) OVER (ORDER BY a)",
    "NTILE(b) OVER ()",
    "RANK() OVER w",
    "ANY_VALUE(b)",
    "ANY_VALUE(SUM(b))",
    "SUM(ANY_VALUE(b))",
    "ANY_VALUE(RANK() OVER ())",
    "GROUPING(b)",
    "VALUES(b)",
    "DEFAULT(b)",
    "DEFAULT",
    "b",
    "nosuch",
    "s.*",
    "*",
    "@v := b",
    "(SELECT SUM(s.b))",
    "(SELECT MAX(s.b) FROM r)",
    "(SELECT r.b + s.b FROM r LIMIT 1)",
    "(SELECT COUNT(*) FROM r WHERE r.a = s.a)",
    "(SELECT ANY_VALUE(s.b))",
    "(SELECT GROUPING(s.b))",
    "(SELECT DEFAULT(s.b))",
    "(SELECT RANK() OVER (ORDER BY s.b))",
    "(SELECT SUM(s.b) OVER ())",
    "(SELECT r.a FROM r ORDER BY SUM(s.b) LIMIT 1)",
    "(SELECT r.a FROM r WHERE r.a = MAX(s.a) LIMIT 1)",
    "(SELECT r.a FROM r HAVING r.a < SUM(s.a) LIMIT 1)",
    "(SELECT 1 FROM r LIMIT b)",
    "(SELECT 1 FROM r LIMIT 1 OFFSET b)",
    "(SELECT 1 FROM r GROUP BY s.b LIMIT 1)",
    "(SELECT COUNT(*) FROM r GROUP BY s.b + 1 ORDER BY s.b + 1 LIMIT 1)",
    "(SELECT 1 ORDER BY s.b)",
    "(SELECT b UNION SELECT b)",
    "(SELECT b FROM r UNION SELECT s.a LIMIT 1)",
    "(VALUES ROW(s.b))",
    "(TABLE r LIMIT 1)",
    "(WITH q AS (SELECT s.b x) SELECT q1.x + q2.x FROM q q1, q q2)",
    "(WITH RECURSIVE q AS (SELECT 1 n UNION ALL SELECT n + 1 FROM q WHERE n < s.b) SELECT COUNT(*) FROM q)",
    "(SELECT MAX(z.y) FROM LATERAL (SELECT s.b y) z)",
    "EXISTS (SELECT * FROM DUAL WHERE b = 1)",
    "b IN (SELECT SUM(s.b) FROM r)",
];

/// Statements with a place for each of them; `?` is that place.
const STATEMENTS: &[&str] = &[
    "SELECT ? FROM s",
    "SELECT DISTINCT ? FROM s",
    "SELECT 1 FROM s WHERE ?",
    "SELECT 1 FROM s GROUP BY ?",
    "SELECT b FROM s GROUP BY b HAVING ?",
    "SELECT 1 FROM s HAVING ?",
    "SELECT a FROM s ORDER BY ?",
    "SELECT b FROM s GROUP BY b ORDER BY SUM(b), ?",
    "SELECT b, SUM(a) FROM s GROUP BY b WITH ROLLUP HAVING ?",
    "SELECT b, ? FROM s GROUP BY b WITH ROLLUP",
    "SELECT b FROM s GROUP BY b WITH ROLLUP ORDER BY ?",
    "SELECT 1 FROM s LIMIT ?",
    "SELECT 1 FROM s LIMIT 1 OFFSET ?",
    "SELECT 1 FROM s JOIN r ON ?",
    "SELECT 1 FROM s LEFT JOIN r ON ? WHERE r.a IS NULL",
    "SELECT a FROM s UNION SELECT 1 ORDER BY ?",
    "SELECT a FROM s UNION SELECT 1 LIMIT ?",
    "(SELECT a FROM s) ORDER BY ?",
    "SELECT SUM(?) FROM s",
    "SELECT GROUP_CONCAT(b ORDER BY ?) FROM s",
    "SELECT SUM(b) OVER (PARTITION BY ?) FROM s",
    "SELECT SUM(b) OVER (ORDER BY ?) FROM s",
    "SELECT SUM(?) OVER () FROM s",
    "SELECT SUM(SUM(b)) OVER (ORDER BY ?) FROM s GROUP BY b",
    "SELECT RANK() OVER w FROM s WINDOW w AS (ORDER BY ?)",
    "SELECT * FROM s, JSON_TABLE(?, '$' COLUMNS (x INT PATH '$')) j",
    "SELECT * FROM s, LATERAL (SELECT ? x) l",
    "SELECT * FROM s, LATERAL (SELECT ? x FROM r) l",
    "SELECT * FROM (SELECT ? x FROM s) d",
    "WITH q AS (SELECT ? x FROM s) SELECT * FROM q q1 JOIN q q2",
    "SELECT a FROM s WHERE a IN (SELECT ? FROM r)",
    "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM r WHERE ?)",
    "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM r HAVING ?)",
    "SELECT (SELECT 1 FROM r ORDER BY ? LIMIT 1) FROM s",
    "SELECT (SELECT ? FROM r LIMIT 1) FROM s",
    "SELECT (SELECT 1 FROM r GROUP BY ? LIMIT 1) FROM s",
    "VALUES ROW(?, 1)",
    "VALUES ROW(1) ORDER BY ?",
    "VALUES ROW(1) LIMIT ?",
    "UPDATE s SET b = ?",
    "UPDATE s SET b = b WHERE ?",
    "UPDATE s SET b = b ORDER BY ?",
    "UPDATE s SET b = b LIMIT ?",
    "UPDATE s JOIN r ON ? SET s.b = s.b",
    "UPDATE s JOIN r USING (a) SET s.b = ?",
    "DELETE FROM s WHERE ? AND 0",
    "DELETE FROM s WHERE 0 ORDER BY ?",
    "DELETE FROM s WHERE 0 LIMIT ?",
    "DELETE s FROM s JOIN r ON ? AND 0",
    "INSERT INTO r VALUES (10, ?, 1) ON DUPLICATE KEY UPDATE b = 0",
    "INSERT IGNORE INTO r SET a = 11, b = ?",
    "INSERT INTO r VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE b = ?",
    "INSERT INTO r SELECT a, b, c FROM s ON DUPLICATE KEY UPDATE b = ?",
    "INSERT INTO r SELECT a + 10, ?, c FROM s ON DUPLICATE KEY UPDATE r.b = 1",
    "REPLACE INTO r VALUES (12, ?, 1)",
    "DO ?",
    "SET @x = ?",
    "SET SESSION max_execution_time = ?",
    "SHOW TABLES WHERE ?",
    "HANDLER s READ FIRST WHERE ?",
    "HANDLER s READ FIRST LIMIT ?",
    "EXPLAIN SELECT ? FROM s GROUP BY b",
];

/// Internal errors.
const INTERNAL: [u16; 2] = [1105, 1815];

fn prepare(c: &mut Connection) {
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE s (a INT PRIMARY KEY, b INT, c VARCHAR(10) DEFAULT 'q', KEY (b))",
        "INSERT INTO s VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, 'z')",
        "CREATE TABLE r (a INT PRIMARY KEY, b INT DEFAULT 5, c VARCHAR(10))",
        "INSERT INTO r VALUES (1, 1, 'x'), (2, 5, 'y')",
        "HANDLER s OPEN",
    ] {
        run(c, sql);
    }
}

#[test]
fn nothing_stands_where_no_operator_computes_it() {
    let server = Running::start();
    let mut c = server.connect();
    prepare(&mut c);
    let (mut failures, mut good) = (Vec::new(), 0);
    for mode in ["DEFAULT", "''"] {
        run(&mut c, &format!("SET sql_mode = {mode}"));
        for statement in STATEMENTS {
            for form in FORMS {
                let sql = statement.replacen('?', form, 1);
                match c.query(&sql) {
                    Ok(_) => good += 1,
                    Err(Error::Io(e)) => panic!("{sql}: {e}"),
                    Err(e) if e.code().is_none_or(|code| INTERNAL.contains(&code)) => {
                        failures.push(format!("{sql}: {e}"))
                    }
                    Err(_) => {}
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    // The places are real ones: many of the statements have an answer.
    assert!(good > 1000, "{good} statements succeeded");
}
