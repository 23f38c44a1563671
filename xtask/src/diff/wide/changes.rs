//! UPDATE and DELETE over every kind of join; user variables in select lists; locking reads in set operations.

use super::{Step, Story};
use crate::diff::Random;
use crate::fuzz::changes;

/// Changes of several tables, with views, derived tables and self joins among them.
pub(super) fn several_tables(random: &mut Random) -> Story {
    let mut setup = changes::definitions();
    setup.extend((1..25).map(|n| changes::row(random, n)));
    let mut steps = Vec::new();
    for n in 0..super::STEPS {
        if let Some(change) = changes::Change::new(random, 100 + n) {
            // Which columns of USING and NATURAL a name means is asked first.
            steps.extend(change.foretold().into_iter().map(Step::new));
            steps.push(Step::new(change.sql));
        }
        steps.push(Step::new(changes::row(random, 1000 + n)));
    }
    Story { theme: "several tables", setup, steps, shown: changes::contents() }
}

/// User variables that a select list reads and sets, row by row.
pub(super) fn variables(random: &mut Random) -> Story {
    let mut setup = vec!["CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10))".to_owned()];
    for id in 1..12 {
        let a = random.below(5);
        setup.push(format!("INSERT INTO t VALUES ({id}, {a}, '{}')", random.pick(&["a", "B", "é", "", "x1"])));
    }
    let mut steps = Vec::new();
    for _ in 0..super::STEPS / 2 {
        // A variable keeps the type that it has when the statement begins.
        let number = random.percent(50);
        let start = *random.pick(if number { &["0", "5", "-1"] } else { &["'x'", "''", "'5'"] });
        steps.push(Step::new(format!("SET @v = {start}, @w = {start}")));
        let first = *random.pick(if number {
            &["@v := @v + a", "@v := @v * 2 - a", "@v := a", "@v := GREATEST(a, @v)"]
        } else {
            &["@v := CONCAT(@v, s)", "@v := s", "@v := CONCAT(s, @v)", "@v := LEFT(CONCAT(@v, s), 3)"]
        });
        let second =
            *random.pick(&["@v", "@w := @v", "IF(@v = @w, 1, 0)", "@w", "CASE WHEN @w IS NULL THEN @v ELSE @w END"]);
        let third = *random.pick(&["s", "a + 1", "@v", "@w"]);
        let filter = *random.pick(&["", " WHERE a > 1", " WHERE id <> 3"]);
        steps.push(Step::ordered(format!("SELECT id, {first}, {second}, {third} FROM t{filter} ORDER BY id")));
        steps.push(Step::new("SELECT @v, @w"));
    }
    Story { theme: "select variables", setup, steps, shown: Vec::new() }
}

/// FOR UPDATE and LOCK IN SHARE MODE in the parts of set operations, in derived tables and subqueries.
pub(super) fn locking(random: &mut Random) -> Story {
    let mut setup = vec![
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a))".to_owned(),
        "CREATE TABLE u (id INT, a INT)".to_owned(),
    ];
    for id in 1..10 {
        setup.push(format!("INSERT INTO t VALUES ({id}, {})", random.below(4)));
        setup.push(format!("INSERT INTO u VALUES ({}, {})", random.below(9), random.below(4)));
    }
    let mut steps = vec![Step::new("START TRANSACTION")];
    for _ in 0..super::STEPS {
        let part = |random: &mut Random| {
            let (table, k) = (*random.pick(&["t", "u"]), random.below(5));
            let filter = *random.pick(&["a = ", "a > ", "id < ", "id <> "]);
            let lock = *random.pick(&[
                "",
                " FOR UPDATE",
                " LOCK IN SHARE MODE",
                " FOR UPDATE SKIP LOCKED",
                " FOR UPDATE NOWAIT",
            ]);
            format!("(SELECT id, a FROM {table} WHERE {filter}{k}{lock})")
        };
        let how = *random.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
        let (a, b) = (part(random), part(random));
        steps.push(match random.below(4) {
            0 | 1 => Step::new(format!("SELECT * FROM ({a} {how} {b}) d")),
            2 => Step::new(format!("SELECT COUNT(*) FROM t WHERE (id, a) IN {a} FOR UPDATE")),
            _ => Step::new(format!("SELECT (SELECT COUNT(*) FROM {a} x), (SELECT COUNT(*) FROM {b} y)")),
        });
    }
    steps.push(Step::new("COMMIT"));
    Story { theme: "locking set operations", setup, steps, shown: Vec::new() }
}
