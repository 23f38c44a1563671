//! A partitioned table `p` beside the same table `q` without partitions: every change is made to both, every query asks
//! both, on both servers. A third table `x` is exchanged with partitions.

use super::{Outcome, Pair, Random, STEPS, Step, Story, alike, one};
use std::fmt::Write;

/// How rows are divided.
struct Scheme {
    clause: String,
    /// What a UNIQUE key has to name.
    columns: &'static str,
    names: Vec<String>,
    /// The other statements that divide such a table.
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Range,
    List,
    Hash,
    /// Which partition a row is in depends on the server's hash.
    Key,
}

fn scheme(random: &mut Random) -> Scheme {
    let range = |by: &str, bounds: &[&str], random: &mut Random| {
        let mut text = String::new();
        let mut names = Vec::new();
        let most = if random.percent(60) { "MAXVALUE" } else { "" };
        for bound in bounds.iter().copied().chain([most]).filter(|b| !b.is_empty()) {
            let name = format!("p{}", names.len());
            let bound =
                if bound == "MAXVALUE" && !by.contains("COLUMNS") { bound.into() } else { format!("({bound})") };
            let _ =
                write!(text, "{}PARTITION {name} VALUES LESS THAN {bound}", if names.is_empty() { "" } else { ", " });
            names.push(name);
        }
        (text, names)
    };
    let subs = match random.below(5) {
        0 => " SUBPARTITION BY HASH (a) SUBPARTITIONS 2",
        1 => " SUBPARTITION BY KEY (a) SUBPARTITIONS 3",
        _ => "",
    };
    let ranged = |by: &str, columns: &'static str, subs: &str, bounds: &[&str], random: &mut Random| {
        let (parts, names) = range(by, bounds, random);
        let columns = match (subs.is_empty(), columns) {
            (false, "d") => "d, a",
            (false, "s") => "s, a",
            _ => columns,
        };
        Scheme { clause: format!("PARTITION BY {by}{subs} ({parts})"), columns, names, kind: Kind::Range }
    };
    let listed = |by: &str, columns: &'static str, lists: &[&str]| {
        let names: Vec<String> = (0..lists.len()).map(|n| format!("p{n}")).collect();
        let parts: Vec<String> =
            names.iter().zip(lists).map(|(name, list)| format!("PARTITION {name} VALUES IN ({list})")).collect();
        Scheme { clause: format!("PARTITION BY {by} ({})", parts.join(", ")), columns, names, kind: Kind::List }
    };
    let spread = |by: &str, columns: &'static str, random: &mut Random| {
        let count = 1 + random.below(7);
        let kind = if by.contains("KEY") { Kind::Key } else { Kind::Hash };
        let names = (0..count).map(|n| format!("p{n}")).collect();
        Scheme { clause: format!("PARTITION BY {by} PARTITIONS {count}"), columns, names, kind }
    };
    let dates = ["'2019-06-01'", "'2020-01-01'", "'2020-02-29'", "'2021-12-31'"];
    match random.below(16) {
        0 | 1 => ranged("RANGE (a)", "a", subs, &["0", "5", "10", "20"], random),
        2 => ranged("RANGE (YEAR(d))", "d", subs, &["2019", "2020", "2021", "2022"], random),
        3 => {
            let days = ["TO_DAYS('2019-06-01')", "TO_DAYS('2020-01-01')", "TO_DAYS('2021-06-15')"];
            ranged("RANGE (TO_DAYS(d))", "d", subs, &days, random)
        }
        4 => ranged("RANGE COLUMNS (d)", "d", subs, &dates, random),
        5 => ranged("RANGE COLUMNS (s)", "s", subs, &["''", "'ab'", "'c'", "'x'"], random),
        6 => {
            let (parts, names) = range("COLUMNS", &["0, 'b'", "5, 'a'", "5, 'x'", "12, MAXVALUE"], random);
            let parts = parts.replace("(MAXVALUE)", "(MAXVALUE, MAXVALUE)");
            let clause = format!("PARTITION BY RANGE COLUMNS (a, s) ({parts})");
            Scheme { clause, columns: "a, s", names, kind: Kind::Range }
        }
        7 => ranged("RANGE (a % 7)", "a", subs, &["-2", "1", "3", "7"], random),
        8 => listed("LIST (a)", "a", &["NULL, 0, 3, 6", "1, 4, 7", "2, 5, 8, -1", "9, 10, 11, 12", "13, 14, 15, 20"]),
        9 => listed("LIST (MONTH(d))", "d", &["1, 2, 3", "4, 5, 6, NULL", "7, 8, 9", "10, 11, 12"]),
        10 => listed("LIST COLUMNS (s)", "s", &["'a', 'b', NULL", "'ab', 'abc', ''", "'é', 'x1'", "'zz', '10', '2'"]),
        11 => spread("HASH (a)", "a", random),
        12 => spread("LINEAR HASH (a)", "a", random),
        13 => spread("HASH (YEAR(d) + a)", "d, a", random),
        14 => spread("KEY (a, s)", "a, s", random),
        _ => spread("LINEAR KEY (s)", "s", random),
    }
}

fn number(random: &mut Random) -> String {
    if random.percent(8) { "NULL".into() } else { (random.below(24) as i64 - 3).to_string() }
}

fn date(random: &mut Random) -> String {
    if random.percent(8) {
        return "NULL".into();
    }
    format!("'{}-{:02}-{:02}'", 2018 + random.below(6), 1 + random.below(12), 1 + random.below(28))
}

fn text(random: &mut Random) -> String {
    let words = ["a", "A", "b", "ab", "abc", "é", "e", "", "x1", "10", "2", "c", "zz", "Ab"];
    if random.percent(8) { "NULL".into() } else { format!("'{}'", random.pick(&words)) }
}

fn row(random: &mut Random, id: usize) -> String {
    format!("({id}, {}, {}, {}, {})", number(random), date(random), text(random), random.below(6))
}

/// A condition on one table, whose columns are named with `of` in front.
fn condition(random: &mut Random, of: &str, depth: usize) -> String {
    let op = one(random, &["=", "<", ">", "<=", ">=", "<>", "<=>"]);
    match random.below(if depth == 0 { 9 } else { 13 }) {
        0..=2 => format!("{of}a {op} {}", number(random)),
        3 => format!("{of}d {op} {}", date(random)),
        4 => format!("{of}s {op} {}", text(random)),
        5 => {
            let (a, b) = (random.below(12), random.below(24));
            format!("{of}a BETWEEN {a} AND {b}")
        }
        6 => format!("{of}a IN ({}, {}, {})", number(random), number(random), random.below(20)),
        7 => one(
            random,
            &[
                "{}a IS NULL",
                "{}s IS NULL",
                "{}d IS NOT NULL",
                "YEAR({}d) = 2020",
                "{}d BETWEEN '2019-07-01' AND '2020-06-30'",
                "{}s LIKE 'a%'",
                "{}s IN ('a', 'X1', 'zz')",
                "{}s BETWEEN 'a' AND 'b'",
                "{}a + 1 = 6",
                "{}d > '2021-02-03 04:05:06'",
                "{}a = '7'",
                "{}a < 5.5",
                "({}a, {}s) = (5, 'a')",
                "({}a, {}s) > (4, 'b')",
                "0",
            ],
        )
        .replace("{}", of),
        8 => format!("{of}id {op} {}", random.below(80)),
        9 | 10 => format!("({} AND {})", condition(random, of, depth - 1), condition(random, of, depth - 1)),
        11 => format!("({} OR {})", condition(random, of, depth - 1), condition(random, of, depth - 1)),
        _ => format!("NOT ({})", condition(random, of, depth - 1)),
    }
}

/// A query of one table in the place of `{}`.
fn query(random: &mut Random) -> (bool, String) {
    let filter = condition(random, "", 2);
    match random.below(10) {
        0..=2 => (false, format!("SELECT * FROM {{}} WHERE {filter}")),
        3 => (true, format!("SELECT id, a, s FROM {{}} WHERE {filter} ORDER BY a DESC, id, s, d, v LIMIT 7")),
        4 => (false, format!("SELECT COUNT(*), SUM(a), MIN(d), MAX(s) FROM {{}} WHERE {filter}")),
        5 => (false, format!("SELECT a, COUNT(*), MAX(v) FROM {{}} WHERE {filter} GROUP BY a")),
        6 => {
            let both = one(random, &["l.a = r.a", "l.d = r.d", "l.id = r.v", "l.s = r.s AND l.a >= r.a"]);
            let filter = condition(random, "l.", 1);
            let join = one(random, &["JOIN", "LEFT JOIN"]);
            (false, format!("SELECT l.id, r.id, r.a FROM {{}} l {join} {{}} r ON {both} WHERE {filter}"))
        }
        7 => (false, format!("SELECT id FROM {{}} o WHERE a IN (SELECT v FROM {{}} WHERE {filter})")),
        8 => (false, format!("SELECT id FROM x WHERE EXISTS (SELECT 1 FROM {{}} i WHERE i.a = x.a AND {filter})")),
        _ => (false, format!("SELECT DISTINCT s FROM {{}} WHERE {filter}")),
    }
}

/// A change of one table in the place of `{}`. Which rows are taken is fixed.
fn change(random: &mut Random, id: usize) -> String {
    let filter = condition(random, "", 1);
    let set = match random.below(6) {
        0 => format!("a = {}", number(random)),
        // In an order in which no row meets another.
        1 => {
            let filter = condition(random, "", 1);
            return format!("UPDATE {{}} SET a = a + 1 WHERE {filter} ORDER BY a DESC, id");
        }
        2 => format!("d = {}", date(random)),
        3 => format!("s = {}", text(random)),
        4 => "d = d + INTERVAL 1 YEAR, v = v + 1".into(),
        _ => format!("v = {}", random.below(9)),
    };
    let ignore = if random.percent(15) { "IGNORE " } else { "" };
    // Which of several rows that become equal is passed over is open.
    let passed = if set.starts_with("v =") { ignore } else { "" };
    let old = random.below(40);
    match random.below(14) {
        0..=3 => format!("INSERT {ignore}INTO {{}} VALUES {}, {}", row(random, id), row(random, id + 1)),
        4 => format!("INSERT {ignore}INTO {{}} VALUES {}", row(random, old)),
        5 => format!("INSERT INTO {{}} VALUES {} ON DUPLICATE KEY UPDATE {set}", row(random, old)),
        6 => format!("REPLACE INTO {{}} VALUES {}, {}", row(random, old), row(random, id)),
        7..=9 => format!("UPDATE {passed}{{}} SET {set} WHERE {filter}"),
        10 => format!("UPDATE {{}} SET {set} WHERE {filter} ORDER BY id, a, d, s, v LIMIT 3"),
        11 => format!("DELETE FROM {{}} WHERE {filter} ORDER BY id, a, d, s, v LIMIT 3"),
        12 => format!("DELETE FROM {{}} WHERE {filter} AND v = {}", random.below(6)),
        _ => format!("INSERT {ignore}INTO {{}} SELECT id + {id}, a, d, s, v FROM x WHERE {filter} ORDER BY id"),
    }
}

/// A statement on partitions of `p`, and what does the same to `q`, where something has to be done.
fn parts(random: &mut Random, scheme: &Scheme) -> Vec<String> {
    let name = random.pick(&scheme.names).clone();
    let alter = |what: String| vec![format!("ALTER TABLE p {what}")];
    let mut out = match (scheme.kind, random.below(9)) {
        (_, 0) => alter(format!("{} PARTITION {name}", one(random, &["REBUILD", "OPTIMIZE", "ANALYZE", "CHECK"]))),
        (_, 1) => alter(scheme.clause.clone()),
        (Kind::Range | Kind::List | Kind::Hash, 2) => alter(format!("TRUNCATE PARTITION {name}")),
        (Kind::Range | Kind::List, 3) => alter(format!("DROP PARTITION {name}")),
        (Kind::Range, 4) if scheme.clause.contains("RANGE (a)") => {
            let with = format!(
                "PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN ({}), PARTITION pn VALUES LESS THAN (5))",
                random.below(7)
            );
            alter(format!("REORGANIZE {with}"))
        }
        (Kind::Range, 4) if scheme.clause.contains("RANGE (YEAR(d))") => {
            alter("REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (2020))".into())
        }
        (Kind::Range, 5) if scheme.clause.contains("RANGE (a)") => {
            alter(format!("ADD PARTITION (PARTITION pz VALUES LESS THAN ({}))", 15 + random.below(30)))
        }
        (Kind::List, 4) if scheme.clause.contains("LIST (a)") => {
            alter(format!("ADD PARTITION (PARTITION pz VALUES IN ({}, {}))", 15 + random.below(5), random.below(30)))
        }
        (Kind::Hash | Kind::Key, 3 | 4) => alter(format!("COALESCE PARTITION {}", 1 + random.below(2))),
        (Kind::Hash | Kind::Key, 5) => alter(format!("ADD PARTITION PARTITIONS {}", 1 + random.below(2))),
        (Kind::Range | Kind::List | Kind::Hash, 6) => alter(format!("EXCHANGE PARTITION {name} WITH TABLE x")),
        _ => alter(
            one(
                random,
                &["ENGINE = InnoDB", "ADD KEY extra (v)", "DROP KEY extra", "ADD COLUMN w INT", "DROP COLUMN w"],
            )
            .into(),
        ),
    };
    let keeps = ["REBUILD", "OPTIMIZE", "ANALYZE", "CHECK", "PARTITION BY", "ENGINE"];
    if out[0].contains(" KEY ") && out[0].contains("extra") || out[0].contains("COLUMN w") {
        out.push(out[0].replace("TABLE p ", "TABLE q "));
    } else if !keeps.iter().any(|k| out[0].contains(k)) {
        // The rows of a partition are no longer those of the other table.
        out.extend(REFILL.map(str::to_owned));
    }
    out
}

/// The columns and keys of all tables.
fn columns(random: &mut Random, scheme: &Scheme, unique: &str) -> String {
    let mut columns = format!(
        "(id INT NOT NULL, a INT, d {}, s VARCHAR(10), v INT{}{})",
        one(random, &["DATE", "DATE", "DATETIME"]),
        unique.replace("{}", scheme.columns),
        one(random, &["", ", KEY (a)", ", KEY (s, a)", ", KEY (d), KEY (v, id)"]),
    );
    // Columns of a primary key are NOT NULL, which is said, so that the tables are alike. NULL in HASH is 0, in MariaDB
    // the least BIGINT.
    if unique.contains("PRIMARY") || scheme.clause.contains("HASH (") {
        for column in scheme.columns.split(", ") {
            let at = columns.find(&format!(" {column} ")).map(|at| at + column.len() + 2).unwrap_or_default();
            let end = columns[at..].find(',').map(|n| at + n).unwrap_or_default();
            columns.insert_str(end, " NOT NULL");
        }
    }
    columns
}

/// The statement on both tables, the plain one first.
fn beside(text: &str, ordered: bool) -> [Step; 2] {
    let folded = text.starts_with("SELECT");
    let plain = Step { ordered, folded, ..Step::new(text.replace("{}", "q")) };
    let beside = Some(plain.sql.clone());
    [plain, Step { ordered, folded, beside, ..Step::new(text.replace("{}", "p")) }]
}

/// A query of a partition, or a change of its rows.
fn of_partition(random: &mut Random, scheme: &Scheme, id: usize) -> Vec<Step> {
    let name = random.pick(&scheme.names).clone();
    let text = match random.below(6) {
        0 | 1 => format!("SELECT * FROM p PARTITION ({name}) WHERE {}", condition(random, "", 1)),
        2 => format!("SELECT MAX(a), MIN(s), COUNT(*) FROM p PARTITION (p0, {name})"),
        // MariaDB finds no partition for NULL where HASH takes it for 0.
        3 => {
            let row = row(random, id).replace("NULL", "'2020-02-02'");
            format!("INSERT INTO p PARTITION ({name}) VALUES {row}")
        }
        4 => format!("UPDATE p PARTITION ({name}) SET a = {} WHERE v = 2", random.below(20)),
        _ => format!("DELETE FROM p PARTITION ({name}) WHERE v = 3"),
    };
    let mut steps = vec![Step::folded(text)];
    if !steps[0].is_query() {
        steps.extend(REFILL.map(Step::new));
    }
    steps
}

/// The plain table gets the rows of the other.
const REFILL: [&str; 2] = ["DELETE FROM q", "INSERT INTO q SELECT * FROM p"];

/// Partitioned tables beside plain ones.
pub(super) fn partitions(random: &mut Random) -> Story {
    let scheme = scheme(random);
    let unique = one(random, &["", ", UNIQUE KEY u (id, {})", ", PRIMARY KEY (id, {})", ", PRIMARY KEY (id, {})"]);
    let columns = columns(random, &scheme, unique);
    let mut setup = vec![
        format!("CREATE TABLE p {columns} {}", scheme.clause),
        format!("CREATE TABLE q {columns}"),
        format!("CREATE TABLE x {columns}"),
    ];
    let keyed = unique.contains("PRIMARY");
    // Without NULL, of which IGNORE makes zero dates.
    let never_null = |row: String| if keyed { row.replace("NULL", "'2020-02-02'") } else { row };
    setup.extend((0..6).map(|n| format!("INSERT IGNORE INTO x VALUES {}", never_null(row(random, 200 + n)))));
    let bounded = scheme.kind == Kind::List || scheme.kind == Kind::Range && !scheme.clause.contains("MAXVALUE");
    let mut steps = Vec::new();
    for n in 0..12 {
        let rows: Vec<String> = (0..3).map(|k| never_null(row(random, n * 3 + k))).collect();
        steps.push(Step::new(format!("INSERT IGNORE INTO p VALUES {}", rows.join(", "))));
    }
    steps.push(Step::new(REFILL[1]));
    for id in (40..).step_by(2).take(STEPS * 3 / 2) {
        match random.below(20) {
            0..=10 => {
                let (ordered, text) = query(random);
                steps.extend(beside(&text, ordered));
            }
            11..=16 => {
                steps.extend(beside(&change(random, id), false));
                // What p refuses, for want of a partition, q has taken.
                if bounded {
                    steps.extend(REFILL.map(Step::new));
                }
            }
            17 | 18 if scheme.kind != Kind::Key => steps.extend(of_partition(random, &scheme, id)),
            17 | 18 => {}
            _ => steps.extend(parts(random, &scheme).into_iter().map(Step::new)),
        }
    }
    let all = |table: &str| format!("SELECT '{table}' AS tab, id, a, d, s, v FROM {table}");
    let shown = vec![format!("{} UNION ALL {} UNION ALL {}", all("p"), all("q"), all("x"))];
    Story { theme: "partitions", setup, steps, shown }
}

/// The first server does to `p` what both did to `q` in the step before.
pub(super) fn is_as_without(
    step: &Step,
    outcomes: &[Outcome; 2],
    before: &[Outcome; 2],
    pair: &mut Pair,
) -> Result<bool, String> {
    let as_before = alike(step, &[outcomes[0].clone(), before[0].clone()]) && alike(step, before);
    if !as_before || step.is_query() {
        return Ok(as_before);
    }
    let apart = "(SELECT * FROM p EXCEPT ALL SELECT * FROM q) UNION ALL (SELECT * FROM q EXCEPT ALL SELECT * FROM p)";
    Ok(matches!(pair.one(false, apart)?, Outcome::Done(rows) if rows.rows.is_empty()))
}
