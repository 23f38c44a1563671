//! Target `changes`: UPDATE and DELETE over random joins. What they have to change is asked by a SELECT over the same
//! joins before: after the statement every row of every table is as that says.

use super::served::{Found, Served};
use crate::diff::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Statements of a round.
const ROUND: usize = 60;

/// Errors that a change may give where the query does not: of targets that may not be changed, names that are not one
/// table's, and a plan that is expected to look at more rows than the tool allows.
const REFUSALS: [u16; 10] = [1052, 1054, 1066, 1093, 1104, 1109, 1288, 1393, 1443, 1706];

/// Definitions of the tables: keys of every kind, and other numbers of columns. `n` is unique among all rows of all
/// tables.
const TABLES: [&str; 5] = [
    "(id INT PRIMARY KEY, v INT, w INT, n INT NOT NULL)",
    "(n INT NOT NULL, id INT, more VARCHAR(20) DEFAULT 'm', w INT, v INT, KEY (id))",
    "(id INT NOT NULL, v INT, x DECIMAL(10,2) DEFAULT 1, w INT, n INT NOT NULL, UNIQUE KEY (n), KEY (v, id))",
    "(v INT, w INT, n INT NOT NULL, id INT, y INT DEFAULT 9, PRIMARY KEY (n, y))",
    "(w INT, id INT NOT NULL, n INT NOT NULL, v INT, UNIQUE KEY (n))",
];

/// A source of rows in FROM.
struct Leaf {
    alias: String,
    /// The table below, if rows of it can be changed through the source.
    table: Option<usize>,
    columns: &'static [&'static str],
}

struct Joins {
    text: String,
    leaves: Vec<Leaf>,
}

/// Rows of all tables by `n`: the table's number, and the row with its `w` apart.
type Rows = BTreeMap<String, (usize, Vec<String>, String)>;

pub(super) fn round(served: &mut Served, random: &mut Random) -> Result<(), Found> {
    for sql in definitions() {
        must(served, &sql)?;
    }
    let mut fresh = 0;
    for _ in 0..ROUND {
        for _ in 0..random.below(2 * TABLES.len()) {
            fresh += 1;
            must(served, &row(random, fresh))?;
        }
        if let Some(change) = Change::new(random, fresh) {
            one(served, &change)?;
        }
    }
    Ok(())
}

/// The tables, and views of them.
pub(crate) fn definitions() -> Vec<String> {
    let each = |(number, definition): (usize, &&str)| {
        [
            format!("CREATE TABLE x{number} {definition}"),
            format!("CREATE VIEW y{number} AS SELECT id, n, w, v FROM x{number}"),
            format!("CREATE VIEW z{number} AS SELECT v, w, id, n FROM y{number} WHERE v < 4 OR id > 2"),
        ]
    };
    TABLES.iter().enumerate().flat_map(each).collect()
}

/// A row of any of the tables; `n` is its own.
pub(crate) fn row(random: &mut Random, n: usize) -> String {
    let (number, id, v) = (random.below(TABLES.len()), random.below(6), random.below(6));
    format!("INSERT IGNORE INTO x{number} (id, v, w, n) VALUES ({id}, {v}, 0, {n})")
}

/// Queries of all rows.
pub(crate) fn contents() -> Vec<String> {
    let each = |(number, definition): (usize, &&str)| {
        let others: Vec<&str> =
            ["more", "x", "y"].into_iter().filter(|c| definition.contains(&format!(" {c} "))).collect();
        let list = ["n", "w", "id", "v"].iter().chain(&others).copied().collect::<Vec<_>>().join(", ");
        format!("SELECT {list} FROM x{number}")
    };
    TABLES.iter().enumerate().map(each).collect()
}

/// An UPDATE or DELETE.
pub(crate) struct Change {
    pub(crate) sql: String,
    joins: Joins,
    filter: String,
    /// Positions of the leaves that it changes.
    changed: Vec<usize>,
    /// What `w` becomes; DELETE has none.
    constant: Option<String>,
}

impl Change {
    /// `None`: no source of the joins can be changed.
    pub(crate) fn new(random: &mut Random, constant: usize) -> Option<Change> {
        let mut leaves = Vec::new();
        let depth = 1 + random.below(3);
        let text = tree(random, depth, &mut leaves);
        let joins = Joins { text, leaves };
        let mut changed: Vec<usize> = Vec::new();
        for (i, leaf) in joins.leaves.iter().enumerate() {
            let again = changed.iter().any(|c| joins.leaves[*c].table == leaf.table);
            if leaf.table.is_some() && !again && (changed.is_empty() || random.percent(40)) {
                changed.push(i);
            }
        }
        if random.percent(30) {
            changed.reverse();
        }
        if changed.is_empty() {
            return None;
        }
        let filter = condition(random, &joins.leaves);
        let aliases: Vec<&str> = changed.iter().map(|c| &*joins.leaves[*c].alias).collect();
        let update = random.percent(60);
        let sql = if update {
            let set: Vec<String> = aliases.iter().map(|a| format!("{a}.w = {constant}")).collect();
            format!("UPDATE {} SET {} WHERE {filter}", joins.text, set.join(", "))
        } else if random.percent(50) {
            format!("DELETE {} FROM {} WHERE {filter}", aliases.join(", "), joins.text)
        } else {
            format!("DELETE FROM {} USING {} WHERE {filter}", aliases.join(", "), joins.text)
        };
        Some(Change { sql, joins, filter, changed, constant: update.then(|| constant.to_string()) })
    }

    /// Queries of the rows that it changes, by `n`.
    pub(crate) fn foretold(&self) -> Vec<String> {
        let each = |target: &usize| {
            let n = format!("{}.n", self.joins.leaves[*target].alias);
            format!("SELECT DISTINCT {n} FROM {} WHERE ({}) AND {n} IS NOT NULL", self.joins.text, self.filter)
        };
        self.changed.iter().map(each).collect()
    }
}

fn must(served: &mut Served, sql: &str) -> Result<Vec<Vec<String>>, Found> {
    match served.query(sql)? {
        Ok(rows) => Ok(rows.texts()),
        Err(code) => Err(Found::new(&format!("refused: {code}"), format!("error {code}\n  {sql}"))),
    }
}

/// A change, compared with what queries say of it.
fn one(served: &mut Served, change: &Change) -> Result<(), Found> {
    let before = rows(served)?;
    let mut hit: BTreeSet<String> = BTreeSet::new();
    for sql in change.foretold() {
        match served.query(&sql)? {
            Ok(rows) => hit.extend(rows.texts().into_iter().flatten()),
            // Names that are not unique below USING and NATURAL.
            Err(_) => return Ok(()),
        }
    }
    let sql = &change.sql;
    let affected = match served.query(sql)? {
        Ok(done) => done.ok.affected as usize,
        Err(code) if REFUSALS.contains(&code) => return Ok(()),
        Err(code) => return Err(Found::new(&format!("refused: {code}"), format!("error {code}\n  {sql}"))),
    };
    let mut wanted = before.clone();
    let mut number = 0;
    for n in &hit {
        match (wanted.get_mut(n), &change.constant) {
            (Some((_, _, w)), Some(constant)) => {
                number += usize::from(w != constant);
                w.clone_from(constant);
            }
            _ => number += usize::from(wanted.remove(n).is_some()),
        }
    }
    let after = rows(served)?;
    if after != wanted || affected != number {
        let wrong: Vec<&String> = before.keys().filter(|n| after.get(*n) != wanted.get(*n)).collect();
        let text = format!("{affected} rows affected, {number} expected; rows that are wrong: {wrong:?}\n  {sql}");
        return Err(Found::new(if change.constant.is_some() { "a wrong update" } else { "a wrong delete" }, text));
    }
    Ok(())
}

fn rows(served: &mut Served) -> Result<Rows, Found> {
    let mut all = Rows::new();
    for (number, sql) in contents().iter().enumerate() {
        for mut row in must(served, sql)? {
            let rest = row.split_off(2);
            let (Some(w), Some(n)) = (row.pop(), row.pop()) else { continue };
            all.insert(n, (number, rest, w));
        }
    }
    Ok(all)
}

/// A join of up to `2^depth` sources.
fn tree(random: &mut Random, depth: usize, leaves: &mut Vec<Leaf>) -> String {
    if depth == 0 || random.percent(15) {
        return leaf(random, leaves);
    }
    let first = leaves.len();
    let left = tree(random, depth - 1, leaves);
    let middle = leaves.len();
    let right = tree(random, depth - 1, leaves);
    // MariaDB does not read a join inside the right side of another without them.
    let right = if leaves.len() - middle > 1 { format!("({right})") } else { right };
    let kinds = ["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "RIGHT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"];
    let kind = *random.pick(&kinds);
    let plain = kind.ends_with("JOIN") && kind != "STRAIGHT_JOIN";
    let text = match random.below(10) {
        0 if plain => format!("{left} NATURAL {kind} {right}"),
        1 | 2 if plain => format!("{left} {kind} {right} USING (id)"),
        3 if plain => format!("{left} {kind} {right} USING (v, id)"),
        4 if kind == "JOIN" => format!("{left} CROSS JOIN {right}"),
        _ => {
            let a = column(random, &leaves[first..middle]);
            let b = column(random, &leaves[middle..]);
            let more = match random.below(4) {
                0 => format!(" AND {a} > 1"),
                1 => format!(" OR {b} IS NULL"),
                _ => String::new(),
            };
            format!("{left} {kind} {right} ON {a} = {b}{more}")
        }
    };
    if random.percent(60) { format!("({text})") } else { text }
}

fn leaf(random: &mut Random, leaves: &mut Vec<Leaf>) -> String {
    let number = random.below(TABLES.len());
    let alias = format!("a{}", leaves.len());
    let other = random.below(TABLES.len());
    let (text, table, columns): (String, bool, &[&str]) = match random.below(12) {
        0..=5 => (format!("x{number} {alias}"), true, &["id", "v"]),
        6 => (format!("y{number} {alias}"), true, &["id", "v"]),
        7 => (format!("z{number} AS {alias}"), true, &["id", "v"]),
        8 => (format!("(SELECT id FROM x{number}) {alias}"), false, &["id"]),
        9 => {
            (format!("(SELECT p.id, q.v FROM x{number} p JOIN x{other} q ON p.id = q.v) {alias}"), false, &["id", "v"])
        }
        10 => (
            format!("(SELECT p.id, q.v FROM x{number} p RIGHT JOIN x{other} q ON p.id = q.id) {alias}"),
            false,
            &["id", "v"],
        ),
        _ => (format!("(SELECT v, COUNT(*) AS id FROM x{number} GROUP BY v) {alias}"), false, &["id", "v"]),
    };
    leaves.push(Leaf { alias, table: table.then_some(number), columns });
    text
}

fn column(random: &mut Random, leaves: &[Leaf]) -> String {
    let leaf = random.pick(leaves);
    format!("{}.{}", leaf.alias, random.pick(leaf.columns))
}

fn condition(random: &mut Random, leaves: &[Leaf]) -> String {
    let a = column(random, leaves);
    let b = column(random, leaves);
    let k = random.below(6);
    match random.below(9) {
        0 => "1".into(),
        1 => format!("{a} = {k}"),
        2 => format!("{a} > {k} OR {b} IS NULL"),
        3 => format!("{a} IS NULL"),
        4 => format!("{a} IN (1, 2, {k}) AND {b} IS NOT NULL"),
        5 => format!("COALESCE({a}, {b}, 3) < {k}"),
        6 => format!("EXISTS (SELECT 1 FROM (SELECT DISTINCT v FROM x{k} s) d WHERE d.v = {a})", k = k.min(4)),
        7 => format!("{a} <=> {b}"),
        _ => format!("NOT {a} <> {b} AND {a} < {k} + 2"),
    }
}
