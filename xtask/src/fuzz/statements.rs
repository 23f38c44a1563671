//! Targets `statements` and `prepared`: what the test files say, slightly wrong, as text and prepared; and parameters
//! wherever an expression may stand.

use super::mutate::{mutant, stories, with_parameters};
use super::served::{Found, Served, Value, is_harmless};
use crate::diff::{Random, change::Statement, generate::Schema};
use gannet_wire::command::{DateTime, Time};

/// Statements of a round.
const ROUND: usize = 150;

/// A test file whose statements are sent with mutants of each before it.
pub(super) fn statements(served: &mut Served, random: &mut Random) -> Result<(), Found> {
    let stories = stories(&served.root);
    let story = &stories[random.below(stories.len())];
    let first = if story.len() > ROUND { random.below(story.len() - ROUND) } else { 0 };
    // Definitions before the part at hand are needed for it.
    let definition = |s: &&String| s.to_uppercase().starts_with("CREATE TABLE");
    for sql in story[..first].iter().filter(definition).filter(|s| is_harmless(s)) {
        let _ = served.query(sql)?;
    }
    let strange = &stories[random.below(stories.len())];
    for sql in story[first..].iter().take(ROUND) {
        for _ in 0..random.below(4) {
            let donors = if random.percent(70) { story } else { strange };
            let other = mutant(sql, donors, random);
            if !is_harmless(&other) {
                continue;
            }
            match random.below(3) {
                0 => {
                    let sql = if random.percent(50) { with_parameters(&other, random) } else { other };
                    let lists = lists(random);
                    served.execute(&sql, &lists)?;
                }
                _ => drop(served.query(&other)?),
            }
        }
        if is_harmless(sql) {
            let _ = served.query(sql)?;
        }
    }
    Ok(())
}

/// Queries and changes over random tables with parameters instead of literals, and forms that have parameters in rare
/// places.
pub(super) fn prepared(served: &mut Served, random: &mut Random) -> Result<(), Found> {
    let schema = Schema::new(random);
    for sql in schema.create().iter().chain(&schema.fill(random)) {
        let _ = served.query(sql)?;
    }
    for sql in TABLE {
        let _ = served.query(sql)?;
    }
    for _ in 0..ROUND {
        let sql = match random.below(10) {
            0..=3 => with_parameters(&Statement::new(&schema, random).text(), random),
            4 => {
                let sql = Statement::new(&schema, random).text();
                let wrong = mutant(&sql, &[Statement::new(&schema, random).text()], random);
                with_parameters(&wrong, random)
            }
            5 => {
                // Two rare places in one statement.
                let a = random.pick(PLACES).trim_start_matches("SELECT ");
                format!("SELECT ({}), {a}", random.pick(EXPRESSIONS))
            }
            6 | 7 => format!("SELECT {}, {}", random.pick(EXPRESSIONS), random.pick(EXPRESSIONS)),
            _ => (*random.pick(PLACES)).to_owned(),
        };
        if is_harmless(&sql) {
            let lists = lists(random);
            served.execute(&sql, &lists)?;
        }
    }
    Ok(())
}

/// Arguments of one to three executions: of other types each time, so that plans are made anew.
fn lists(random: &mut Random) -> Vec<(Vec<Value>, Option<u16>)> {
    let list = |random: &mut Random| -> Vec<Value> { (0..24).map(|_| value(random)).collect() };
    (0..1 + random.below(3)).map(|_| (list(random), random.percent(12).then(|| random.below(4) as u16))).collect()
}

fn value(random: &mut Random) -> Value {
    const INTEGERS: [i64; 10] = [0, 1, 2, -1, 5, 100, i64::MAX, i64::MIN, 20_240_229, 4_294_967_296];
    const DOUBLES: [f64; 8] = [0.0, -0.0, 1.5, -2.25, 1e300, f64::MAX, f64::MIN_POSITIVE, 9.2e18];
    const DECIMALS: [&str; 6] = [
        "0",
        "1.50",
        "-99.995",
        "99999999999999999999999999999999999999999999999999999999999999999",
        "0.000000000000000000000000000001",
        "x",
    ];
    const TEXTS: [&str; 22] = [
        "",
        "a",
        "A ",
        "abc",
        "id",
        "t",
        "2024-02-29",
        "2024-02-30 25:00:00",
        "12:30:00.5",
        "[1, 2]",
        "{\"a\": null}",
        "$.a",
        "$[0]",
        "%",
        "_b%\\",
        "é",
        "日本",
        "utf8mb4",
        "1e5",
        " 7 ",
        "+00:00",
        "(a|b)*",
    ];
    match random.below(16) {
        0 | 1 => Value::Null,
        2..=4 => Value::Int(*random.pick(&INTEGERS)),
        5 => Value::UInt(*random.pick(&[0, 7, u64::MAX, 1 << 63])),
        6 => Value::Tiny(*random.pick(&[0, 1, -128, 127])),
        7 => Value::Double(*random.pick(&DOUBLES)),
        8 => Value::Float(*random.pick(&[0.5, -1e30, 3.0])),
        9 => Value::Decimal((*random.pick(&DECIMALS)).into()),
        10 => Value::Bytes(random.pick(&[&b""[..], b"\xFF\x00", b"abc", b"[1]"]).to_vec()),
        11 => Value::DateTime(DateTime {
            year: *random.pick(&[0, 1, 1970, 2024, 9999]),
            month: random.below(13) as u8,
            day: random.below(32) as u8,
            hour: random.below(24) as u8,
            date_only: random.percent(50),
            ..DateTime::default()
        }),
        12 => Value::Time(Time {
            negative: random.percent(30),
            days: random.below(40) as u32,
            hours: random.below(24) as u8,
            ..Time::default()
        }),
        _ => Value::Text((*random.pick(&TEXTS)).into()),
    }
}

const TABLE: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(20), j JSON, d DATETIME(3), e DECIMAL(20,5), f DOUBLE, KEY (a), KEY (b, a), UNIQUE KEY (e))",
    "INSERT INTO t VALUES (1, 1, 'x', '[1]', '2024-01-01', 1, 1), (2, 2, 'y', '{\"a\": 1}', '2024-02-01', 2.5, NULL), (3, NULL, NULL, NULL, NULL, NULL, -1e9)",
    "CREATE VIEW v AS SELECT id, a, b FROM t WHERE a < 100 WITH CHECK OPTION",
    "CREATE VIEW w AS SELECT t.id, u.b FROM t JOIN t u ON t.id = u.a",
];

/// Lists of expressions.
const EXPRESSIONS: &[&str] = &[
    "DATE_ADD(?, INTERVAL ? DAY)",
    "? LIKE ? ESCAPE ?",
    "? IN (?, ?)",
    "(?, ?) = (?, ?)",
    "(1, ?) IN (SELECT 1, ?)",
    "CASE ? WHEN ? THEN ? ELSE ? END",
    "IF(?, ?, ?)",
    "CAST(? AS DECIMAL(10,2))",
    "CONVERT(? USING latin1)",
    "? collate utf8mb4_bin",
    "_latin1 ?",
    "CHAR(? USING utf8mb4)",
    "? -> '$'",
    "? MEMBER OF (?)",
    "WEIGHT_STRING(? AS CHAR(3))",
    "? REGEXP ?",
    "? BETWEEN ? AND ?",
    "EXISTS (SELECT ?)",
    "? > ALL (SELECT ?)",
    "DEFAULT(?)",
    "VALUES(?)",
    "INTERVAL(?, ?, ?)",
    "get_format(date, ?)",
    "TIMESTAMPDIFF(DAY, ?, ?)",
    "? DIV ?, ? % ?, ? | ?, ~?, -?, !?, NOT ?",
    "uuid_to_bin(?), inet_aton(?), aes_encrypt(?, ?), compress(?)",
    "round(?, ?), truncate(?, ?), FORMAT(?, ?), lpad(?, ?, ?), repeat(?, ?), space(?), substr(?, ?, ?)",
    "str_to_date(?, ?), date_format(?, ?), makedate(?, ?), maketime(?, ?, ?), sec_to_time(?), from_unixtime(?, ?)",
    "json_extract(?, ?), json_set(?, ?, ?), json_search(?, 'one', ?), json_contains(?, ?), json_schema_valid(?, ?), json_merge_patch(?, ?)",
    "extractvalue(?, ?), updatexml(?, ?, ?)",
    "regexp_replace(?, ?, ?, ?, ?, ?), regexp_substr(?, ?, ?), regexp_instr(?, ?)",
    "find_in_set(?, ?), field(?, ?, ?), elt(?, ?, ?), make_set(?, ?, ?), export_set(?, ?, ?, ?, ?), conv(?, ?, ?)",
    "convert_tz(?, ?, ?), timestamp(?, ?), addtime(?, ?), period_add(?, ?), week(?, ?), yearweek(?, ?)",
];

/// Statements with parameters wherever an expression may stand, and where none may.
const PLACES: &[&str] = &[
    "SHOW TABLES WHERE tables_in_ch = ?",
    "SHOW TABLES LIKE ?",
    "SHOW VARIABLES WHERE variable_name = ?",
    "SHOW COLUMNS FROM t WHERE field = ?",
    "SHOW INDEX FROM t WHERE key_name = ?",
    "SHOW STATUS WHERE variable_name IN (?, 'x')",
    "SHOW DATABASES WHERE `database` = (SELECT ?)",
    "SHOW TABLE STATUS WHERE name = ?",
    "SHOW CHARACTER SET WHERE charset = ?",
    "SHOW COLLATION WHERE COLLATION = ?",
    "SHOW WARNINGS LIMIT ?",
    "SHOW VARIABLES LIKE ?",
    "SET @x = ?",
    "SET @x = (SELECT ? + 1)",
    "SET autocommit = ?",
    "SET session sort_buffer_size = ?",
    "SET sql_mode = ?",
    "SET @@session.sql_select_limit = ?",
    "DO ?",
    "EXPLAIN SELECT ? FROM t",
    "EXPLAIN SELECT * FROM t WHERE id = ?",
    "EXPLAIN FORMAT=JSON SELECT * FROM t WHERE id = ?",
    "EXPLAIN FORMAT=TREE SELECT * FROM t WHERE a > ? LIMIT ?",
    "EXPLAIN ANALYZE SELECT * FROM t WHERE a > ?",
    "EXPLAIN UPDATE t SET a = ? WHERE id = ?",
    "EXPLAIN DELETE FROM t WHERE id = ?",
    "EXPLAIN INSERT INTO t (a) VALUES (?)",
    "DESCRIBE t ?",
    "HANDLER t OPEN",
    "HANDLER t READ FIRST WHERE a = ?",
    "HANDLER t READ `primary` = (?)",
    "HANDLER t READ FIRST LIMIT ?",
    "HANDLER t CLOSE",
    "CREATE TABLE c1 (a INT DEFAULT (?))",
    "CREATE TABLE c1 (a INT CHECK (a > ?))",
    "CREATE TABLE c1 (a INT, b INT AS (a + ?))",
    "CREATE TABLE c1 (a INT DEFAULT ?)",
    "CREATE TABLE c1 (a INT, KEY ((a + ?)))",
    "CREATE TABLE c1 AS SELECT ? a",
    "CREATE TABLE c2 (a INT) comment ?",
    "CREATE TABLE c3 SELECT ? b FROM t WHERE a < ?",
    "ALTER TABLE t ADD z INT DEFAULT (?)",
    "ALTER TABLE t ALTER a SET DEFAULT (?)",
    "ALTER TABLE t ADD CHECK (a < ?)",
    "ALTER TABLE t ADD z INT AS (a + ?)",
    "CREATE VIEW v AS SELECT ?",
    "CREATE VIEW v AS SELECT * FROM t LIMIT ?",
    "SELECT * FROM t LIMIT ?",
    "SELECT * FROM t LIMIT ?, ?",
    "SELECT * FROM t ORDER BY ?",
    "SELECT * FROM t GROUP BY ?",
    "SELECT COUNT(*) FROM t HAVING ? > 0",
    "SELECT a, SUM(a) OVER (ORDER BY id ROWS ? PRECEDING) FROM t",
    "SELECT a, SUM(a) OVER (ORDER BY a RANGE ? PRECEDING) FROM t",
    "SELECT a, SUM(a) OVER (ORDER BY a RANGE BETWEEN ? PRECEDING AND ? FOLLOWING) FROM t",
    "SELECT LAG(a, ?) OVER () FROM t",
    "SELECT NTILE(?) OVER () FROM t",
    "SELECT NTH_VALUE(a, ?) OVER () FROM t",
    "SELECT LEAD(a, 1, ?) OVER () FROM t",
    "SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (x INT PATH '$')) j",
    "SELECT * FROM JSON_TABLE('[1]', ? COLUMNS (x INT PATH '$')) j",
    "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (x INT PATH '$' DEFAULT ? ON EMPTY)) j",
    "SELECT JSON_VALUE(j, ?) FROM t",
    "SELECT JSON_VALUE(j, '$' DEFAULT ? ON EMPTY) FROM t",
    "SELECT GROUP_CONCAT(a SEPARATOR ?) FROM t",
    "SELECT GROUP_CONCAT(? ORDER BY ? SEPARATOR ',') FROM t",
    "SELECT DATE_ADD(d, INTERVAL ? DAY) FROM t",
    "SELECT EXTRACT(YEAR FROM ?)",
    "SELECT j -> ? FROM t",
    "SELECT MATCH(b) AGAINST (?) FROM t",
    "SELECT TRIM(? FROM ?)",
    "SELECT @v := ?",
    "SELECT DISTINCT ?",
    "SELECT ? UNION SELECT ?",
    "SELECT ? UNION SELECT ? ORDER BY ? LIMIT ?",
    "(SELECT ? ORDER BY ?) LIMIT ?",
    "VALUES ROW(?, ?), ROW(?, ?)",
    "TABLE t LIMIT ?",
    "WITH c AS (SELECT ? x) SELECT * FROM c WHERE x = ?",
    "WITH RECURSIVE c AS (SELECT ? x UNION ALL SELECT x + ? FROM c WHERE x < ?) SELECT * FROM c LIMIT 5",
    "SELECT * FROM (SELECT ? x) d WHERE x = ?",
    "SELECT * FROM t NATURAL JOIN (SELECT ? id) d",
    "SELECT * FROM t LEFT JOIN t u ON u.a = ? WHERE t.b = ?",
    "SELECT * FROM t FOR UPDATE",
    "SELECT * FROM t INTO @q",
    "SELECT ? INTO @q",
    "INSERT INTO t (a) VALUES (?)",
    "INSERT INTO t SET a = ?",
    "INSERT INTO t (a) SELECT ?",
    "INSERT INTO t (id, a) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = ?",
    "INSERT INTO t (id, a) VALUES (?, ?) AS n ON DUPLICATE KEY UPDATE a = n.a + ?",
    "REPLACE INTO t VALUES (?, ?, ?, ?, ?)",
    "INSERT INTO t VALUES ROW(?, ?, ?, ?, ?)",
    "INSERT INTO t (a) TABLE t LIMIT ?",
    "UPDATE t SET a = ? WHERE id = ? ORDER BY ? LIMIT ?",
    "UPDATE t, t u SET t.a = ?, u.b = ? WHERE t.id = u.id AND t.a = ?",
    "DELETE FROM t WHERE a = ? ORDER BY ? LIMIT ?",
    "DELETE t FROM t JOIN t u ON t.id = u.id + ? WHERE u.a > ?",
    "SHOW CREATE TABLE ?",
    "SELECT ? FROM dual WHERE ? GROUP BY ? HAVING ? ORDER BY ? LIMIT ?",
    "SELECT SUM(?), avg(?), COUNT(DISTINCT ?), std(?), bit_or(?), json_arrayagg(?), json_objectagg(?, ?) FROM t",
    "SELECT RANK() OVER (PARTITION BY ? ORDER BY ?) FROM t",
    "SELECT FIRST_VALUE(?) OVER (ORDER BY id) FROM t",
    "SELECT a FROM t GROUP BY a WITH ROLLUP HAVING GROUPING(a) = ?",
    "SELECT STRAIGHT_JOIN ? FROM t",
    "SELECT SQL_CALC_FOUND_ROWS ? FROM t LIMIT ?",
    "SELECT /*+ max_execution_time(?) */ 1",
    "SELECT * FROM t WHERE (a, b) IN ((?, ?), (?, ?))",
    "SELECT * FROM t WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "SELECT * FROM t WHERE a = ANY (SELECT ? UNION SELECT ?)",
    "INSERT INTO v (id, a) VALUES (?, ?)",
    "UPDATE v SET a = ? WHERE id = ?",
    "DELETE FROM v WHERE a = ?",
    "UPDATE t RIGHT JOIN v ON t.id = v.a + ? SET v.a = ?, t.b = ? WHERE t.a IS NULL OR t.a > ?",
    "DELETE t FROM v RIGHT JOIN t USING (id) WHERE v.a = ? OR t.f < ?",
    "UPDATE w SET b = ? WHERE id = ?",
    "INSERT INTO t (a, b) SELECT ?, b FROM t WHERE a = ? ON DUPLICATE KEY UPDATE a = VALUES(a) + ?",
    "INSERT INTO t VALUES (?, (SELECT id + ?), (SELECT ?), ?, ?, ?, ?)",
    "WITH c AS (SELECT ? x) UPDATE t JOIN c ON t.a = c.x SET t.b = ?",
    "WITH c AS (SELECT a FROM t WHERE a > ?) DELETE FROM t WHERE a IN (SELECT a FROM c)",
    "SELECT * FROM t WHERE a = ? AND b LIKE ? AND d > ? AND e BETWEEN ? AND ? ORDER BY f + ? LIMIT ?",
    "SELECT b, COUNT(*) FROM t WHERE a <> ? GROUP BY b, a + ? HAVING COUNT(*) > ? ORDER BY ?",
    "SELECT * FROM t WHERE (a, b) > (?, ?) OR (a, e) IN (SELECT ?, e FROM t WHERE f < ?)",
    "SELECT * FROM t, LATERAL (SELECT ? + t.a AS x) l WHERE l.x = ?",
    "SELECT * FROM t LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (x INT PATH '$')) k ON k.x = t.a + ?",
    "SELECT FIRST_VALUE(b) OVER (PARTITION BY a + ? ORDER BY e RANGE BETWEEN ? PRECEDING AND ? FOLLOWING) FROM t",
    "SELECT JSON_ARRAYAGG(a + ?), GROUP_CONCAT(DISTINCT b, ? ORDER BY a DESC) FROM t WHERE JSON_EXTRACT(j, ?) = ?",
    "SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE ?",
    "SELECT * FROM performance_schema.global_variables WHERE VARIABLE_NAME = ?",
    "SELECT (SELECT a FROM t WHERE id = ?) + (SELECT MAX(a) FROM t u WHERE u.a < t.a + ?) FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.b = ? AND x.a = t.a)",
];
