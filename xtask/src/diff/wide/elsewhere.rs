//! Statements prepared in one database and executed in another: what they name without a database is where they were
//! prepared.

use super::{Random, STEPS, Step, Story, one, small};

/// Statements over a table `t` and its view; `{n}` is a number, `{m}` another.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM t ORDER BY id",
    "SELECT COUNT(*), DATABASE() FROM v",
    "SELECT (SELECT MAX(a) FROM t), SCHEMA()",
    "SELECT x.a FROM t x JOIN t y ON x.id = y.id + 1 ORDER BY 1",
    "WITH c AS (SELECT a FROM t) SELECT COUNT(*) FROM c",
    "SELECT f({n})",
    "INSERT INTO t (id, a) VALUES ({n}, {m})",
    "INSERT INTO t (id, a) VALUES ({n}, {m}) ON DUPLICATE KEY UPDATE a = a + 1",
    "INSERT IGNORE INTO t (id, a) SELECT id + {n}, a FROM v",
    "REPLACE INTO t (id, a) VALUES ({n}, {m})",
    "UPDATE t SET a = {m} WHERE id = {n}",
    "UPDATE v SET a = {m} WHERE id = {n}",
    "UPDATE t x JOIN v y ON x.id = y.id SET x.a = y.a + 1 WHERE y.id = {n}",
    "DELETE FROM t WHERE id = {n}",
    "DELETE x FROM t x JOIN v y ON x.id = y.id WHERE y.a = {m}",
    "CREATE TABLE n{n} (id INT PRIMARY KEY, a INT)",
    "CREATE TABLE n{n} LIKE t",
    "CREATE TABLE n{n} SELECT id, a FROM t",
    "CREATE TEMPORARY TABLE n{n} (id INT)",
    "DROP TABLE IF EXISTS n{n}",
    "DROP TABLE n{n}",
    "RENAME TABLE n{n} TO n{m}",
    "TRUNCATE TABLE t",
    "ALTER TABLE t ADD COLUMN c{n} INT DEFAULT {m}",
    "ALTER TABLE t DROP COLUMN c{n}",
    "CREATE INDEX k{n} ON t (a)",
    "DROP INDEX k{n} ON t",
    "CREATE OR REPLACE VIEW w AS SELECT a FROM t WHERE id > {n}",
    "DROP VIEW IF EXISTS w",
    "CALL p({n})",
    "SET @r = (SELECT COUNT(*) FROM t)",
    "DO (SELECT COUNT(*) FROM t)",
];

/// Two databases with tables of the same names.
pub(super) fn prepared(random: &mut Random) -> Story {
    let number = random.below(1_000_000);
    let names = ["a", "b"].map(|which| format!("gannet_else_{number}_{which}"));
    let mut setup = Vec::new();
    for (at, name) in names.iter().enumerate() {
        setup.push(format!("DROP DATABASE IF EXISTS {name}"));
        setup.push(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"));
        setup.push(format!("CREATE TABLE {name}.t (id INT PRIMARY KEY, a INT)"));
        setup.push(format!("CREATE VIEW {name}.v AS SELECT id, a FROM {name}.t"));
        setup.push(format!("CREATE FUNCTION {name}.f(x INT) RETURNS INT DETERMINISTIC RETURN x * 10 + {at}"));
        setup.push(format!("CREATE PROCEDURE {name}.p(x INT) INSERT INTO t (id, a) VALUES (x + 100, {at})"));
        (0..4).for_each(|id| setup.push(format!("INSERT INTO {name}.t VALUES ({id}, {})", id * (at + 1))));
    }
    let mut steps = vec![Step::new(format!("USE {}", names[0]))];
    for n in 0..STEPS {
        let name = random.pick(&names).clone();
        match random.below(3) {
            0 => {
                let text = one(random, STATEMENTS);
                let text = text.replace("{n}", &random.below(6).to_string()).replace("{m}", &small(random, 6));
                steps.push(Step::new(format!("PREPARE s{} FROM '{text}'", n % 5)));
            }
            1 => steps.push(Step::new(format!("USE {name}"))),
            _ => steps.push(Step::call(format!("EXECUTE s{}", random.below(5)))),
        }
        if random.percent(10) {
            steps.push(Step::new("SELECT DATABASE(), @r"));
        }
    }
    let mut shown = Vec::new();
    for name in &names {
        shown.push(format!("SELECT * FROM {name}.t ORDER BY id"));
        let tables = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA =";
        shown.push(format!("{tables} '{name}' ORDER BY 1"));
    }
    steps.push(Step::new(format!("DROP DATABASE {}", names[0])));
    steps.push(Step::call("EXECUTE s0"));
    steps.push(Step::new("SELECT DATABASE()"));
    steps.push(Step::new(format!("DROP DATABASE {}", names[1])));
    Story { theme: "prepared elsewhere", setup, steps, shown }
}
