//! One question in two forms that SQL takes for the same: LATERAL as a join, WITH ROLLUP as a union of groups, windows
//! over groups as windows over a derived table, recursive subqueries as tables, nested paths of JSON_TABLE as joined
//! calls, changes of several tables as changes of each, INSERT ... SELECT ... ON DUPLICATE KEY UPDATE as one row after
//! the other. The first form goes to tables with keys, indexes of expressions and partitions, the second to copies that
//! have none.
//!
//! `GANNET_EQUIVALENTS_SEED` begins with another seed, `GANNET_EQUIVALENTS_ROUNDS` makes more rounds,
//! `GANNET_EQUIVALENTS_ONLY` takes pairs of one kind.

mod changes;
mod documents;
mod laterals;
mod nested;
mod rollups;
mod walks;
mod windows;

use super::access_agrees::answer;
use crate::common::random::{Random, setting};
use crate::common::{Running, run};
use gannet_wire::client::{Arg, Connection};

/// Two queries with the same rows, whose columns are c0, c1 and on, c0 a number or NULL. `{x}`, `{y}`, `{z}` are the
/// tables. `ordered`: by all columns.
struct Pair {
    first: String,
    second: String,
    columns: usize,
    ordered: bool,
}

impl Pair {
    fn new(first: String, second: String, columns: usize) -> Pair {
        Pair { first, second, columns, ordered: false }
    }

    /// Both as part of a larger query, the first with derived tables for tables.
    fn within(mut self, r: &mut Random) -> Pair {
        for name in ["x", "y", "z"] {
            let derived = r.of(&[
                "(SELECT * FROM {t}) t",
                "(SELECT id, a, b, s, d, j, a + b g FROM {t}) t",
                "(SELECT * FROM {t} LIMIT 1000) t",
                "(SELECT id, a + 0 a, b, s, d, j, g FROM {t} WHERE id >= 0) t",
            ]);
            if r.percent(20) {
                let derived = derived.replace(" t", &format!(" {name}")).replace("{t}", &format!("{{{name}}}"));
                self.first = self.first.replace(&format!("{{{name}}} {name}"), &derived);
            }
        }
        if self.ordered || r.percent(40) {
            return self;
        }
        let last = self.columns - 1;
        let (around, columns) = match r.below(8) {
            0 => (format!("SELECT w.c0 c0, w.c{last} c1 FROM (<>) w WHERE w.c0 > 1"), 2),
            1 => (format!("SELECT w.c0 c0, w.c{last} c1 FROM (<>) w WHERE w.c0 IS NULL OR w.c{last} = 2"), 2),
            2 => (format!("SELECT COUNT(*) c0, MIN(w.c{last}) c1, MAX(w.c0) c2 FROM (<>) w"), 3),
            3 => (format!("SELECT DISTINCT w.c0 c0, w.c{last} c1 FROM (<>) w"), 2),
            4 => (
                format!("SELECT x.id c0, w.c{last} c1 FROM {{x}} x LEFT JOIN (<>) w ON w.c0 = x.a AND x.b IS NOT NULL"),
                2,
            ),
            5 => ("SELECT x.id c0 FROM {x} x WHERE x.a IN (SELECT w.c0 FROM (<>) w)".into(), 1),
            6 => (format!("WITH w AS (<>) SELECT v.c0 c0, w.c{last} c1 FROM w JOIN w v ON v.c0 <=> w.c0"), 2),
            _ => ("SELECT x.id c0 FROM {x} x WHERE NOT EXISTS (SELECT 1 FROM (<>) w WHERE w.c0 = x.b)".into(), 1),
        };
        Pair::new(around.replace("<>", &self.first), around.replace("<>", &self.second), columns)
    }
}

/// Changes in two forms, after which `shown` has the same rows.
struct Change {
    first: Vec<String>,
    second: Vec<String>,
    shown: &'static str,
}

enum Case {
    Query(Pair),
    Change(Change),
}

/// A kind of pairs, by its name.
type Maker = (&'static str, fn(&mut Random) -> Case);

const MAKERS: &[Maker] = &[
    ("laterals", |r| Case::Query(laterals::pair(r).within(r))),
    ("rollups", |r| Case::Query(rollups::pair(r).within(r))),
    ("windows", |r| Case::Query(windows::pair(r).within(r))),
    ("walks", |r| Case::Query(walks::pair(r).within(r))),
    ("nested", |r| Case::Query(nested::pair(r).within(r))),
    ("documents", |r| Case::Query(documents::pair(r).within(r))),
    ("changes by walks", |r| Case::Change(walks::change(r))),
    ("changes by rows", |r| Case::Change(nested::change(r))),
    ("updates", |r| Case::Change(changes::update(r))),
    ("deletes", |r| Case::Change(changes::delete(r))),
    ("upserts", |r| Case::Change(changes::upsert(r))),
];

const COLUMNS: &str = "a INT, b INT, s VARCHAR(4), d DECIMAL(6,2), j JSON, g INT AS (a + b)";

/// A value of a column, NULL now and then.
fn value(r: &mut Random, column: &str) -> String {
    if r.percent(12) {
        return "NULL".into();
    }
    match column {
        "s" => r.of(&["'a'", "'b'", "'ab'", "''", "'x'", "'1'"]).into(),
        "d" => r.of(&["0", "1", "1.5", "2", "-1.25", "3"]).into(),
        "j" => documents::document(r),
        _ => r.below(5).to_string(),
    }
}

/// A table with keys, maybe partitions, and its copy without.
fn table(r: &mut Random, name: &str) -> Vec<String> {
    let mut keys = vec![r.of(&["PRIMARY KEY (id)", "PRIMARY KEY (id)", "UNIQUE KEY (id)", "KEY (id)"])];
    for key in ["KEY (a)", "KEY (b, a)", "KEY (s, id)", "KEY ((a % 3))", "KEY (g)", "KEY ((a + 1), b)", "KEY (d DESC)"]
    {
        if r.percent(35) {
            keys.push(key);
        }
    }
    let parts = [
        "PARTITION BY HASH (id) PARTITIONS 3",
        "PARTITION BY KEY (id) PARTITIONS 2",
        "PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (3), PARTITION q VALUES LESS THAN (9), PARTITION m VALUES \
         LESS THAN MAXVALUE)",
        "PARTITION BY RANGE COLUMNS (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN (5), \
         PARTITION m VALUES LESS THAN (MAXVALUE))",
    ];
    let parts = if r.percent(40) { r.of(&parts) } else { "" };
    let stored = r.of(&["", " STORED"]);
    let mut all = vec![
        format!("CREATE TABLE {name} (id INT NOT NULL, {COLUMNS}{stored}, {}) {parts}", keys.join(", ")),
        format!("CREATE TABLE p{name} (id INT NOT NULL PRIMARY KEY, {COLUMNS})"),
    ];
    for id in 0..r.of(&[0, 2, 7, 12, 12]) {
        let row = ["a", "b", "s", "d", "j"].map(|c| value(r, c)).join(", ");
        for copy in ["", "p"] {
            all.push(format!("INSERT INTO {copy}{name} (id, a, b, s, d, j) VALUES ({id}, {row})"));
        }
    }
    all
}

/// With the tables of a form.
fn filled(text: &str, plain: bool) -> String {
    let mut text = text.to_owned();
    for name in ["x", "y", "z", "u"] {
        text = text.replace(&format!("{{{name}}}"), &if plain { format!("p{name}") } else { name.into() });
    }
    text
}

type Answer = Result<Vec<Vec<String>>, u16>;

/// The query as a prepared statement, which runs twice, and as its plan: what is not as before.
fn repeated(c: &mut Connection, sql: &str, before: &Answer, ordered: bool) -> Option<String> {
    let statement = c.prepare(sql).ok()?;
    let mut faults = Vec::new();
    for n in ["first", "second"] {
        let mut rows = c.execute(&statement, &[] as &[Arg<'_>]).map(|set| set.texts());
        if let (Ok(rows), false) = (&mut rows, ordered) {
            rows.sort();
        }
        if rows.as_ref().ok() != before.as_ref().ok() {
            faults.push(format!("prepared, {n} time: {sql};\n{before:?}\n{rows:?}"));
        }
    }
    c.close(&statement).unwrap();
    for how in ["EXPLAIN", "EXPLAIN FORMAT=TREE", "EXPLAIN FORMAT=JSON", "EXPLAIN ANALYZE"] {
        faults.extend(answer(c, &format!("{how} {sql}"), true).err().map(|code| format!("{how} {sql}: error {code}")));
    }
    faults.into_iter().next()
}

/// What the two forms show, when it is not the same. An error may be that of a change's values, as both find it.
/// `full` counts those that have shown rows.
fn fault(c: &mut Connection, case: &Case, full: &mut usize) -> Option<String> {
    let has_rows = |answer: &Answer| answer.as_ref().is_ok_and(|rows| !rows.is_empty());
    match case {
        Case::Query(pair) => {
            let (first, second) = (filled(&pair.first, false), filled(&pair.second, true));
            let [a, b] = [&first, &second].map(|sql| answer(c, sql, pair.ordered));
            *full += usize::from(has_rows(&a));
            let again = repeated(c, &first, &a, pair.ordered);
            (a != b || a.is_err()).then(|| format!("{first};\n{a:?}\n{second};\n{b:?}")).or(again)
        }
        Case::Change(change) => {
            let mut shown = Vec::new();
            for (plain, statements) in [(false, &change.first), (true, &change.second)] {
                run(c, "BEGIN");
                let texts: Vec<String> = statements.iter().map(|sql| filled(sql, plain)).collect();
                let failed = texts.iter().find_map(|sql| answer(c, sql, false).err());
                let rows = failed.map_or_else(|| answer(c, &filled(change.shown, plain), false), Err);
                run(c, "ROLLBACK");
                run(c, "DROP TEMPORARY TABLE IF EXISTS kept");
                shown.push((texts.join(";\n"), rows));
            }
            *full += usize::from(has_rows(&shown[0].1));
            let alike = shown[0].1 == shown[1].1 && !matches!(shown[0].1, Err(1064 | 1054 | 1235));
            let told: Vec<String> = shown.iter().map(|(texts, rows)| format!("{texts};\n{rows:?}")).collect();
            (!alike).then(|| told.join("\n"))
        }
    }
}

#[test]
fn equivalent_forms_give_the_same() {
    let server = Running::start();
    let mut c = server.connect();
    let first = setting("GANNET_EQUIVALENTS_SEED", 1);
    let only = std::env::var("GANNET_EQUIVALENTS_ONLY").ok();
    let (mut compared, mut full, mut faults) = (0, 0, Vec::new());
    for seed in first..first + setting("GANNET_EQUIVALENTS_ROUNDS", 4) {
        let mut r = Random::new(seed);
        for sql in ["DROP DATABASE IF EXISTS d", "CREATE DATABASE d", "USE d"] {
            run(&mut c, sql);
        }
        let mut setup: Vec<String> = ["x", "y", "z"].iter().flat_map(|name| table(&mut r, name)).collect();
        setup.extend(changes::table(&mut r));
        setup.iter().for_each(|sql| run(&mut c, sql));
        let before = faults.len();
        for _ in 0..10 {
            for (name, make) in MAKERS {
                let case = make(&mut r);
                if only.as_deref().is_none_or(|only| only == *name) {
                    compared += 1;
                    faults.extend(fault(&mut c, &case, &mut full).map(|fault| format!("seed {seed}, {name}: {fault}")));
                }
            }
        }
        if faults.len() > before {
            faults.push(setup.join(";\n"));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
    assert!(full * 2 > compared, "{full} of {compared} show rows");
}
