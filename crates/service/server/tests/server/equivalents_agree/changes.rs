//! Changes of joined tables beside changes of each, and INSERT ... SELECT beside one INSERT a row.

use super::Change;
use super::laterals::{condition, filter};
use crate::common::random::Random;

const BOTH: &str = "SELECT 1, id, a, b, s, d, g FROM {x} UNION ALL SELECT 2, id, a, b, s, d, g FROM {y}";

/// A condition of both tables, where y's row may be missing.
fn both(r: &mut Random) -> &'static str {
    r.of(&[
        "TRUE",
        "y.id IS NULL",
        "y.id IS NOT NULL",
        "(y.a > x.b OR y.id IS NULL)",
        "y.b <=> x.b",
        "x.a > 1 AND y.d > 0",
        "COALESCE(y.a, 3) = 3",
        "x.id IN (SELECT z.a FROM {z} z WHERE z.b <=> y.b)",
    ])
}

pub(super) fn update(r: &mut Random) -> Change {
    let (w, p) = (filter(r, "x"), both(r));
    let join = r.of(&["LEFT JOIN", "LEFT JOIN", "JOIN"]);
    if r.percent(40) {
        let on = condition(r);
        let (mine, own) =
            r.of(&[("b = x.a + 1", "b = a + 1"), ("s = 'q'", "s = 'q'"), ("id = x.id + 20", "id = id + 20")]);
        return Change {
            first: vec![format!(
                "UPDATE {{x}} x {join} {{y}} y ON {on} SET x.{mine}, y.b = y.a + 5, y.d = y.id WHERE {w} AND {p}"
            )],
            second: vec![
                format!(
                    "CREATE TEMPORARY TABLE kept SELECT x.id xi, y.id yi FROM {{x}} x {join} {{y}} y ON {on} WHERE {w} AND {p}"
                ),
                format!("UPDATE {{x}} SET {own} WHERE id IN (SELECT xi FROM kept)"),
                "UPDATE {y} SET b = a + 5, d = id WHERE id IN (SELECT yi FROM kept)".into(),
            ],
            shown: BOTH,
        };
    }
    // One row of y at most.
    let on = r.of(&["y.id = x.a", "y.id = x.b AND y.a > 1", "y.id = x.a + 1 AND y.s <> x.s", "y.id = x.id"]);
    let first = r.of(&[
        "y.a + x.a",
        "COALESCE(y.id, 7)",
        "IF(y.id IS NULL, x.a, y.d)",
        "(SELECT MAX(z.a) FROM {z} z WHERE z.b = y.a)",
    ]);
    let second = r.of(&["y.s", "CONCAT(x.a, IFNULL(y.s, '-'))", "IF(y.a > x.a, 'gt', NULL)"]);
    let one = |what: &str| format!("(SELECT {what} FROM (SELECT 1 one) o {join} {{y}} y ON {on})");
    let there = if join == "JOIN" { format!(" AND EXISTS {}", one("1")) } else { String::new() };
    Change {
        first: vec![format!(
            "UPDATE {{x}} x {join} {{y}} y ON {on} SET x.d = {first}, x.s = {second} WHERE {w} AND {p}"
        )],
        second: vec![format!(
            "UPDATE {{x}} x SET x.d = {}, x.s = {} WHERE {w} AND {}{there}",
            one(first),
            one(second),
            one(&format!("({p})"))
        )],
        shown: BOTH,
    }
}

pub(super) fn delete(r: &mut Random) -> Change {
    let (w, p, on) = (filter(r, "x"), both(r), condition(r));
    let join = r.of(&["LEFT JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN"]);
    let from = format!("{{x}} x {join} {{y}} y ON {on}");
    let (x, y) = (
        "DELETE FROM {x} WHERE id IN (SELECT xi FROM kept)".to_owned(),
        "DELETE FROM {y} WHERE id IN (SELECT yi FROM kept)".to_owned(),
    );
    let (head, rest) = match r.below(5) {
        0 => ("DELETE x", vec![x]),
        1 => ("DELETE y", vec![y]),
        2 => ("DELETE x, y", vec![x, y]),
        3 => ("DELETE FROM y, x USING", vec![x, y]),
        // The same table on both sides.
        _ => {
            let on = on.replace("{y}", "{x}");
            let from = format!("{{x}} x {join} {{x}} y ON {on}");
            let kept = format!("CREATE TEMPORARY TABLE kept SELECT x.id xi FROM {from} WHERE {w} AND {p}");
            return Change {
                first: vec![format!("DELETE x FROM {from} WHERE {w} AND {p}")],
                second: vec![kept, x],
                shown: BOTH,
            };
        }
    };
    let from_word = if head.ends_with("USING") { "" } else { " FROM" };
    let mut second = vec![format!("CREATE TEMPORARY TABLE kept SELECT x.id xi, y.id yi FROM {from} WHERE {w} AND {p}")];
    second.extend(rest);
    Change { first: vec![format!("{head}{from_word} {from} WHERE {w} AND {p}")], second, shown: BOTH }
}

/// The table of upserts, with a second unique key or partitions, and its copy.
pub(super) fn table(r: &mut Random) -> Vec<String> {
    let columns = "id INT PRIMARY KEY, k INT, a INT, b INT, g INT AS (a + b)";
    let (keys, more) = match r.below(3) {
        0 => ("", ", KEY (a) ) PARTITION BY HASH (id) PARTITIONS 3"),
        1 => (", UNIQUE KEY (k)", ", KEY (g), KEY ((a % 2)))"),
        _ => (", UNIQUE KEY (k), UNIQUE KEY (a, k)", ", KEY (b))"),
    };
    let mut all = vec![format!("CREATE TABLE u ({columns}{keys}{more}"), format!("CREATE TABLE pu ({columns}{keys})")];
    for id in 0..4 {
        for copy in ["", "p"] {
            all.push(format!("INSERT INTO {copy}u (id, k, a, b) VALUES ({id}, {id}, {}, {})", id + 1, 4 - id));
        }
    }
    all
}

pub(super) fn upsert(r: &mut Random) -> Change {
    let cell = |r: &mut Random| if r.percent(10) { "NULL".to_owned() } else { r.below(8).to_string() };
    let rows: Vec<[String; 4]> =
        (0..1 + r.below(6)).map(|_| [r.below(8).to_string(), cell(r), cell(r), cell(r)]).collect();
    let sets = [
        "a = {u}.a + [a]",
        "b = IF([a] > {u}.a, [b], {u}.b)",
        "a = [b], b = {u}.a",
        "k = {u}.k",
        "b = COALESCE([k], 0) + {u}.b, a = {u}.a + 1",
        "id = {u}.id + 50",
        "k = {u}.k + 10, b = [id]",
        "a = [a], b = [b], k = [k]",
    ];
    let set = if r.percent(50) { r.of(&sets).to_owned() } else { format!("{}, {}", r.of(&sets[..4]), r.of(&sets)) };
    // The new row's columns, by a name of theirs.
    let named = |how: &str| {
        ["id", "k", "a", "b"].iter().fold(set.clone(), |t, c| t.replace(&format!("[{c}]"), &how.replace('?', c)))
    };
    let list: Vec<String> = rows.iter().enumerate().map(|(o, row)| format!("({o}, {})", row.join(", "))).collect();
    let ignore = r.of(&["", "", "", "IGNORE "]);
    let head = format!("INSERT {ignore}INTO {{u}} (id, k, a, b)");
    let then = "ON DUPLICATE KEY UPDATE";
    let plain = "SELECT kept.id, kept.k, kept.a, kept.b FROM kept";
    let text = match r.below(7) {
        0 => format!("{head} {plain} ORDER BY o {then} {}", named("VALUES(?)")),
        1 => format!("{head} {plain} ORDER BY o {then} {}", named("kept.?")),
        2 => format!(
            "{head} SELECT n.id, n.k, n.a, n.b FROM kept n LEFT JOIN (SELECT 1 one) j ON TRUE ORDER BY n.o {then} {}",
            named("n.?")
        ),
        3 => format!(
            "{head} SELECT * FROM (SELECT id, k, a, b FROM kept ORDER BY o LIMIT 100) n {then} {}",
            named("n.?")
        ),
        4 => format!(
            "{head} SELECT id, k, a, b FROM (SELECT * FROM kept UNION SELECT 0, 1, NULL, 1, 1 WHERE FALSE) n ORDER BY o {then} {}",
            named("n.?")
        ),
        5 => format!(
            "{head} SELECT n.id, n.k, n.a, n.b FROM kept n, LATERAL (SELECT n.a + 1 e) l WHERE l.e IS NULL OR l.e > 0 ORDER BY o {then} {}",
            named("n.?")
        ),
        _ => {
            let all: Vec<String> = rows.iter().map(|row| format!("({})", row.join(", "))).collect();
            format!("{head} VALUES {} AS n (id, k, a, b) {then} {}", all.join(", "), named("n.?"))
        }
    };
    let once = |row: &[String; 4]| format!("{head} VALUES ({}) {then} {}", row.join(", "), named("VALUES(?)"));
    Change {
        first: vec![
            "CREATE TEMPORARY TABLE kept (o INT, id INT, k INT, a INT, b INT)".into(),
            format!("INSERT INTO kept VALUES {}", list.join(", ")),
            text,
        ],
        second: rows.iter().map(once).collect(),
        shown: "SELECT * FROM {u}",
    }
}
