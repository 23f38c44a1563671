//! Stored programs: procedures that call each other, functions in queries and changes, triggers on tables that are
//! changed in every way.

use super::bodies::{Body, Kind};
use super::{Random, STEPS, Step, Story, one, small};

/// Functions of a round, then procedures.
const FUNCTIONS: usize = 3;
const PROCEDURES: usize = 5;

fn tables(random: &mut Random) -> Vec<String> {
    let mut setup = vec!["CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, txt VARCHAR(100))".to_owned()];
    for table in ["t0", "t1"] {
        let keys = one(random, &["", ", KEY (a)", ", UNIQUE KEY (b)"]);
        setup.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(20){keys})"));
        for id in 0..random.below(8) {
            let (a, s) = (small(random, 5), one(random, &["'a'", "'b'", "NULL", "'xyz'"]));
            setup.push(format!("INSERT INTO {table} VALUES ({id}, {a}, {id}, {s})"));
        }
    }
    setup
}

fn function(random: &mut Random, n: usize) -> Step {
    let text = n == 1;
    let ty = if text { "VARCHAR(30)" } else { "INT" };
    let ending = match (text, random.below(3)) {
        (false, 0) => "RETURN x + 1; ",
        (false, 1) => "RETURN IFNULL(x, 0) * 2; ",
        (false, _) => "RETURN (SELECT COUNT(*) FROM t0 WHERE a = x); ",
        (true, 0) => "RETURN CONCAT('f', x); ",
        (true, _) => "RETURN LEFT(CONCAT_WS('-', x, @u0), 20); ",
    };
    let properties = one(random, &["", "DETERMINISTIC ", "READS SQL DATA ", "NO SQL "]);
    let body = Body::new(random, Kind::Function, 0, n).with("x", false).finish(ending);
    Step::new(format!("CREATE FUNCTION f{n}(x INT) RETURNS {ty} {properties}{body}"))
}

fn procedure(random: &mut Random, n: usize) -> Step {
    let (y, z) = (one(random, &["OUT", "INOUT"]), one(random, &["OUT", "INOUT"]));
    let body = Body::new(random, Kind::Procedure, n, FUNCTIONS);
    let body = body.with("x", false).with("y", false).with("z", true).finish("");
    Step::new(format!("CREATE PROCEDURE p{n}(IN x INT, {y} y INT, {z} z VARCHAR(20)) {body}"))
}

/// All tables by one query. What was written to `log` and rolled back leaves gaps, of which each server has its own.
fn shown() -> Vec<String> {
    let logged = "SELECT 'log', ROW_NUMBER() OVER (ORDER BY id), NULL, NULL, txt FROM log";
    let of = |table: &str| format!("SELECT '{table}' AS t, id, a, b, s FROM {table} UNION ALL ");
    vec![format!("{}{}{logged} ORDER BY 1, 2", of("t0"), of("t1"))]
}

/// Procedures, and functions in queries.
pub(super) fn procedures(random: &mut Random) -> Story {
    let setup = tables(random);
    let mut steps: Vec<Step> = (0..FUNCTIONS).map(|n| function(random, n)).collect();
    steps.extend((0..PROCEDURES).map(|n| procedure(random, n)));
    for _ in 0..STEPS * 3 / 2 {
        let (p, x, f) = (random.below(PROCEDURES), small(random, 9), random.below(FUNCTIONS));
        steps.push(match random.below(12) {
            0 => Step::ordered(format!("SELECT id, f{f}(a) FROM t0 ORDER BY id")),
            1 => Step::ordered(format!("SELECT COUNT(*), SUM(f0(a)) FROM t1 FORCE INDEX (PRIMARY) WHERE id < {x}")),
            2 => Step::new(format!("UPDATE t0 SET b = id + 20, s = LEFT(f{f}({x}), 20) WHERE id < 3")),
            3 => Step::new(format!("INSERT INTO t1 (id, a, s) VALUES ({}, f0({x}), f1({x}))", random.below(12))),
            4 => Step::ordered("SELECT @u0, @u1, @u2, @y, @z"),
            5 => Step::new("SET @y = 3, @z = 'in'"),
            _ => Step::call(format!("CALL p{p}({x}, @y, @z)")),
        });
    }
    Story { theme: "procedures", setup, steps, shown: shown() }
}

fn trigger(random: &mut Random, n: usize) -> Step {
    let on = one(random, &["t0", "t1"]);
    let (time, event) = (one(random, &["BEFORE", "AFTER"]), one(random, &["INSERT", "UPDATE", "DELETE"]));
    let sets_new = time == "BEFORE" && event != "DELETE";
    let mut body = Body::new(random, Kind::Trigger { on, sets_new }, 0, FUNCTIONS);
    for (row, there) in [("NEW", event != "DELETE"), ("OLD", event != "INSERT")] {
        if there {
            body = body.with(&format!("{row}.id"), false).with(&format!("{row}.a"), false);
            body = body.with(&format!("{row}.s"), true);
        }
    }
    let body = body.finish("");
    Step::new(format!("CREATE TRIGGER tr{n} {time} {event} ON {on} FOR EACH ROW {body}"))
}

/// Triggers on two tables, which are changed in every way.
pub(super) fn triggers(random: &mut Random) -> Story {
    let setup = tables(random);
    let mut steps: Vec<Step> = (0..FUNCTIONS).map(|n| function(random, n)).collect();
    let count = 2 + random.below(6);
    steps.extend((0..count).map(|n| trigger(random, n)));
    for _ in 0..STEPS * 3 / 2 {
        let (table, other) = if random.percent(50) { ("t0", "t1") } else { ("t1", "t0") };
        let (x, id, a) = (small(random, 12), random.below(12), small(random, 5));
        let ignore = if random.percent(15) { "IGNORE " } else { "" };
        let text = match random.below(14) {
            0 | 1 => format!("INSERT {ignore}INTO {table} (id, a, s) VALUES ({id}, {a}, 'n'), ({}, {x}, 'm')", id + 1),
            2 => format!("INSERT {ignore}INTO {table} (id, a) SELECT id + {x}, a FROM {other} ORDER BY id LIMIT 3"),
            3 => {
                format!("INSERT INTO {table} VALUES ({id}, {a}, {id}, NULL) ON DUPLICATE KEY UPDATE a = {x}, s = 'dup'")
            }
            4 => format!("REPLACE INTO {table} VALUES ({id}, {a}, {id}, 'rep')"),
            5 | 6 => format!("UPDATE {ignore}{table} SET a = {a} WHERE id <= {id} ORDER BY id"),
            7 => format!("UPDATE {table} SET id = id + 20, s = 'moved' WHERE id = {id}"),
            8 if random.percent(20) => {
                // In which order the triggers have set variables is open.
                let anew = "SET @u0 = 1, @u1 = 2, @u2 = 3";
                let set = format!("SET t0.a = {a}, t1.s = 'both' WHERE t0.id < {id}");
                steps.push(Step::new(format!("UPDATE t0 JOIN t1 ON t0.id = t1.id {set}")));
                anew.to_owned()
            }
            8 => format!("UPDATE {table} x JOIN {other} y ON x.id = y.id SET x.a = {a}, x.s = y.s WHERE y.id < {id}"),
            9 | 10 => format!("DELETE FROM {table} WHERE a = {a} ORDER BY id"),
            11 => format!("DELETE FROM {table} WHERE id = {id}"),
            12 => format!("SET @u0 = {a}, @u1 = {x}"),
            _ => one(random, &["BEGIN", "COMMIT", "ROLLBACK", "SELECT @u0, @u1, @u2"]).to_owned(),
        };
        steps.push(Step::new(text));
    }
    Story { theme: "triggers", setup, steps, shown: shown() }
}
