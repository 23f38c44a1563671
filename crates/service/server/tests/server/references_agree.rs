//! Foreign keys beside a model: statements of all kinds on tables that refer to one another and to themselves, with
//! checks on and off, leave the rows, or give the error, that a row after row model of InnoDB's checks and actions does.
//!
//! `GANNET_REFERENCES_SEED` begins with another seed, `GANNET_REFERENCES_ROUNDS` makes more rounds;
//! `GANNET_REFERENCES_AT=host:port` asks another server, to try the model.

use crate::common::random::{Random, setting};
use crate::common::{Running, options, rows, run};
use gannet_wire::client::{Address, Connection, Error};

const TABLES: [&str; 3] = ["p", "c", "e"];
const NAMES: [&str; 4] = ["id", "x", "y", "s"];
/// Values of `s`, as numbers; the second and the third are equal where the collation says so.
const WORDS: [&str; 4] = ["'b'", "'a'", "'A'", "'c'"];

type Row = [Option<i64>; 4];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
    Restrict,
    Cascade,
    Null,
}

#[derive(Clone, Debug)]
struct Reference {
    child: usize,
    columns: Vec<usize>,
    parent: usize,
    to: Vec<usize>,
    on_delete: Action,
    on_update: Action,
}

/// How a statement ends, if not well.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    Duplicate,
    Parent,
    Child,
    /// More than one may be told of.
    Any,
}

impl Fault {
    fn is(self, code: u16) -> bool {
        match self {
            Fault::Duplicate => code == 1062,
            Fault::Parent => code == 1452,
            Fault::Child => code == 1451,
            Fault::Any => matches!(code, 1062 | 1451 | 1452 | 1761 | 1762),
        }
    }
}

#[derive(Clone)]
struct Model {
    rows: [Vec<Row>; 3],
    /// Columns that no two rows share, the first of each table those of its primary key.
    unique: [Vec<Vec<usize>>; 3],
    /// Columns of other indexes.
    keys: [Vec<Vec<usize>>; 3],
    references: Vec<Reference>,
    folded: bool,
    checks: bool,
}

impl Model {
    fn fold(&self, column: usize, v: Option<i64>) -> Option<i64> {
        if column == 3 && self.folded && v == Some(2) { Some(1) } else { v }
    }

    /// The values of columns; none if one is NULL.
    fn key(&self, row: &Row, columns: &[usize]) -> Option<Vec<i64>> {
        columns.iter().map(|c| self.fold(*c, row[*c])).collect()
    }

    /// The same, for columns of another name.
    fn key_as(&self, row: &Row, columns: &[usize], as_columns: &[usize]) -> Option<Vec<i64>> {
        columns.iter().zip(as_columns).map(|(c, a)| self.fold(*a, row[*c])).collect()
    }

    fn clashing(&self, t: usize, row: &Row, but: Option<i64>) -> Vec<i64> {
        let mut found = Vec::new();
        for columns in &self.unique[t] {
            let key = self.key(row, columns);
            let same = |other: &&Row| other[0] != but && key.is_some() && self.key(other, columns) == key;
            found.extend(self.rows[t].iter().find(same).and_then(|r| r[0]));
        }
        found
    }

    /// The references to a table as they act: by its keys, then by name.
    fn referring(&self, t: usize) -> Vec<Reference> {
        let mut all: Vec<Reference> = self.references.iter().filter(|f| f.parent == t).cloned().collect();
        all.sort_by_key(|f| self.unique[t].iter().position(|u| *u == f.to));
        all
    }

    /// The place and the columns of the child's index for a reference: its own, where no other begins with them.
    fn index(&self, f: &Reference) -> (usize, Vec<usize>) {
        let all = self.unique[f.child].iter().chain(&self.keys[f.child]);
        let found = all.enumerate().find(|(_, columns)| columns.starts_with(&f.columns));
        found.map_or((usize::MAX, f.columns.clone()), |(place, columns)| (place, columns.clone()))
    }

    /// The index for the reference is written before that of the key which it refers to, in the same table.
    fn is_first(&self, f: &Reference) -> bool {
        self.unique[f.parent].iter().position(|u| *u == f.to).is_some_and(|to| self.index(f).0 < to)
    }

    /// `old`: the row before it is changed; it is not among the rows.
    fn has_parent(&self, f: &Reference, old: Option<&Row>, row: &Row) -> bool {
        let Some(key) = self.key_as(row, &f.columns, &f.to) else { return true };
        let visible = if self.is_first(f) { old } else { Some(row) };
        let own = f.parent == f.child && visible.is_some_and(|r| self.key(r, &f.to) == Some(key.clone()));
        own || self.rows[f.parent].iter().any(|p| self.key(p, &f.to) == Some(key.clone()))
    }

    fn insert(&mut self, t: usize, row: Row) -> Result<(), Fault> {
        let clash = !self.clashing(t, &row, None).is_empty();
        let lost = self.checks && self.references.iter().any(|f| f.child == t && !self.has_parent(f, None, &row));
        match (clash, lost) {
            (true, true) => Err(Fault::Any),
            (true, false) => Err(Fault::Duplicate),
            (false, true) => Err(Fault::Parent),
            _ => {
                self.rows[t].push(row);
                self.rows[t].sort();
                Ok(())
            }
        }
    }

    fn children(&self, f: &Reference, key: &[i64]) -> Vec<i64> {
        let refers = |r: &&Row| self.key_as(r, &f.columns, &f.to).as_deref() == Some(key);
        self.rows[f.child].iter().filter(refers).filter_map(|r| r[0]).collect()
    }

    fn delete(&mut self, t: usize, id: i64, depth: usize) -> Result<(), Fault> {
        let Some(at) = self.rows[t].iter().position(|r| r[0] == Some(id)) else { return Ok(()) };
        if depth > 14 {
            return Err(Fault::Any);
        }
        let row = self.rows[t].remove(at);
        if !self.checks {
            return Ok(());
        }
        for f in &self.referring(t) {
            let Some(key) = self.key(&row, &f.to) else { continue };
            let refers = f.child == t && self.key_as(&row, &f.columns, &f.to).as_ref() == Some(&key);
            let own = refers && !self.is_first(f);
            if own && f.on_delete == Action::Restrict {
                return Err(Fault::Child);
            }
            for child in self.children(f, &key) {
                match f.on_delete {
                    Action::Restrict => return Err(Fault::Child),
                    Action::Cascade => self.delete(f.child, child, depth + 1)?,
                    Action::Null => {
                        let Some(old) = self.rows[f.child].iter().find(|r| r[0] == Some(child)).copied() else {
                            continue;
                        };
                        let mut new = old;
                        f.columns.iter().for_each(|c| new[*c] = None);
                        self.change(f.child, old, new, &mut vec![], Some(f), depth + 1)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One row's change with all that follows; `updated` are the tables that the chain has changed.
    fn change(
        &mut self,
        t: usize,
        old: Row,
        new: Row,
        updated: &mut Vec<usize>,
        by: Option<&Reference>,
        depth: usize,
    ) -> Result<(), Fault> {
        if old == new {
            return Ok(());
        }
        let clash = !self.clashing(t, &new, old[0]).is_empty();
        // Which of the two is told of, with a key that rows refer to?
        let referred = self.checks && self.references.iter().any(|f| f.parent == t);
        let changed = |columns: &[usize]| columns.iter().any(|c| old[*c] != new[*c]);
        let at = self.rows[t].iter().position(|r| *r == old).expect("it is there");
        self.rows[t].remove(at);
        // With the primary key every entry is another one.
        let mine = |f: &&Reference| {
            f.child == t
                && (changed(&[0]) || changed(&self.index(f).1))
                && by.is_none_or(|b| b.columns != f.columns || b.child != t)
        };
        let lost = self.checks && self.references.iter().filter(mine).any(|f| !self.has_parent(f, Some(&old), &new));
        let mut fault = match (clash, lost) {
            (true, true) => Some(Fault::Any),
            (true, false) => Some(if by.is_some() || referred { Fault::Any } else { Fault::Duplicate }),
            (false, true) => Some(Fault::Parent),
            _ => None,
        };
        self.rows[t].push(new);
        self.rows[t].sort();
        if !self.checks {
            return fault.map_or(Ok(()), Err);
        }
        updated.push(t);
        for f in self.referring(t).iter().filter(|f| changed(&f.to)) {
            let Some(key) = self.key(&old, &f.to) else { continue };
            let refers = if self.is_first(f) { &new } else { &old };
            if f.child == t && self.key_as(refers, &f.columns, &f.to).as_ref() == Some(&key) {
                fault = Some(fault.map_or(Fault::Child, |_| Fault::Any));
            }
            for child in self.children(f, &key) {
                let again = updated.contains(&f.child);
                let Some(row) = self.rows[f.child].iter().find(|r| r[0] == Some(child)).copied() else { continue };
                let mut other = row;
                match f.on_update {
                    _ if again || depth > 14 => fault = Some(fault.map_or(Fault::Child, |_| Fault::Any)),
                    Action::Restrict => fault = Some(fault.map_or(Fault::Child, |_| Fault::Any)),
                    Action::Cascade => f.columns.iter().zip(&f.to).for_each(|(c, to)| other[*c] = new[*to]),
                    Action::Null => f.columns.iter().for_each(|c| other[*c] = None),
                }
                if let Some(fault) = fault {
                    return Err(fault);
                }
                if other[0].is_none() {
                    return Err(Fault::Child);
                }
                let mut chain = updated.clone();
                self.change(f.child, row, other, &mut chain, Some(f), depth + 1)?;
            }
        }
        fault.map_or(Ok(()), Err)
    }

    /// One row's part of a statement: nothing of it, if it fails.
    fn part(&mut self, of: impl FnOnce(&mut Model) -> Result<(), Fault>) -> Result<(), Fault> {
        let before = self.rows.clone();
        let result = of(self);
        if result.is_err() {
            self.rows = before;
        }
        result
    }
}

/// A condition, and whether a row meets it.
fn condition(r: &mut Random, columns: usize) -> (String, Box<dyn Fn(&Row) -> bool>) {
    let (c, n) = (r.below(columns), r.below(9) as i64);
    match r.below(6) {
        0 => ("TRUE".into(), Box::new(|_| true)),
        1 => (format!("{} >= {n}", NAMES[c]), Box::new(move |row| row[c].is_some_and(|v| v >= n))),
        2 => (format!("{} IS NULL", NAMES[c]), Box::new(move |row| row[c].is_none())),
        3 => (format!("id IN ({n}, {})", n + 2), Box::new(move |row| row[0] == Some(n) || row[0] == Some(n + 2))),
        _ => (format!("{} = {n}", NAMES[c]), Box::new(move |row| row[c] == Some(n))),
    }
}

fn text(column: usize, v: Option<i64>) -> String {
    match v {
        None => "NULL".into(),
        Some(v) if column == 3 => WORDS[v as usize].into(),
        Some(v) => v.to_string(),
    }
}

fn value(r: &mut Random, column: usize) -> Option<i64> {
    match column {
        0 => Some(r.below(9) as i64),
        _ if r.percent(25) => None,
        3 => Some(r.below(4) as i64),
        _ => Some(r.below(9) as i64),
    }
}

fn any_row(r: &mut Random) -> Row {
    [0, 1, 2, 3].map(|c| value(r, c))
}

fn shown(row: &Row) -> String {
    let all: Vec<String> = row.iter().enumerate().map(|(c, v)| text(c, *v)).collect();
    format!("({})", all.join(", "))
}

/// Which rows an assignment changes to what.
#[derive(Clone, Debug)]
struct Sets(Vec<(usize, Option<i64>, bool)>);

impl Sets {
    fn any(r: &mut Random) -> Sets {
        Sets(
            (0..1 + r.below(2))
                .map(|_| {
                    let c = r.below(4);
                    (c, value(r, c), c < 3 && r.percent(30))
                })
                .collect(),
        )
    }

    fn sql(&self, t: &str) -> String {
        let all: Vec<String> = self
            .0
            .iter()
            .map(|(c, v, more)| match more {
                true => format!("{t}{0} = {t}{0} + 3", NAMES[*c]),
                false => format!("{t}{} = {}", NAMES[*c], text(*c, *v)),
            })
            .collect();
        all.join(", ")
    }

    fn of(&self, row: &Row) -> Row {
        let mut new = *row;
        for (c, v, more) in &self.0 {
            new[*c] = if *more { new[*c].map(|v| v + 3) } else { *v };
        }
        new
    }
}

struct Round<'c> {
    c: &'c mut Connection,
    r: Random,
    model: Model,
    story: Vec<String>,
}

impl Round<'_> {
    /// Tables and references between them.
    fn make(&mut self) {
        let collation = self.r.of(&["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "utf8mb4_unicode_ci"]);
        self.model.folded = collation != "utf8mb4_bin";
        for (t, name) in TABLES.iter().enumerate() {
            let mut keys = vec!["PRIMARY KEY (id)".to_owned()];
            self.model.unique[t] = vec![vec![0]];
            for (columns, text) in [(vec![1], "x"), (vec![2, 3], "y, s")] {
                if self.r.percent(50) {
                    keys.push(format!("UNIQUE KEY ({text})"));
                    self.model.unique[t].push(columns);
                }
            }
            let another = self.r.of(&[None, Some("KEY (x, y)"), Some("KEY (s(1), x)"), Some("KEY (y, x, s)")]);
            self.model.keys[t] = match another {
                Some("KEY (x, y)") => vec![vec![1, 2]],
                Some("KEY (y, x, s)") => vec![vec![2, 1, 3]],
                _ => Vec::new(),
            };
            keys.extend(another.map(str::to_owned));
            let create = format!(
                "CREATE TABLE {name} (id INT NOT NULL, x INT, y INT, s VARCHAR(4) COLLATE {collation}, {})",
                keys.join(", ")
            );
            self.must(&create);
        }
        for n in 0..1 + self.r.below(4) {
            let (child, parent) = (self.r.below(3), self.r.below(3));
            let columns: Vec<usize> = self.r.of(&[&[1][..], &[2], &[2, 3], &[1], &[0]]).to_vec();
            let targets: Vec<Vec<usize>> =
                self.model.unique[parent].iter().filter(|u| u.len() == columns.len()).cloned().collect();
            let taken = |f: &Reference| f.child == child && f.columns.iter().any(|c| columns.contains(c));
            if targets.is_empty() || self.model.references.iter().any(taken) {
                continue;
            }
            let to = targets[self.r.below(targets.len())].clone();
            let actions = [Action::Restrict, Action::Cascade, Action::Cascade, Action::Null];
            let any = |r: &mut Random| match r.of(&actions) {
                Action::Null if columns == [0] => Action::Cascade,
                action => action,
            };
            let (on_delete, on_update) = (any(&mut self.r), any(&mut self.r));
            // A row would be its own parent.
            if parent == child && (columns == to || columns == [0]) {
                continue;
            }
            let names = |of: &[usize]| of.iter().map(|c| NAMES[*c]).collect::<Vec<_>>().join(", ");
            let action = |r: &mut Random, a: Action| match a {
                Action::Restrict => r.of(&["RESTRICT", "NO ACTION"]),
                Action::Cascade => "CASCADE",
                Action::Null => "SET NULL",
            };
            let sql = format!(
                "ALTER TABLE {} ADD CONSTRAINT f{n} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {} ON UPDATE {}",
                TABLES[child],
                names(&columns),
                TABLES[parent],
                names(&to),
                action(&mut self.r, on_delete),
                action(&mut self.r, on_update)
            );
            self.must(&sql);
            self.model.references.push(Reference { child, columns, parent, to, on_delete, on_update });
        }
    }

    fn must(&mut self, sql: &str) {
        self.story.push(sql.to_owned());
        run(self.c, sql);
    }

    fn step(&mut self) -> Result<(), String> {
        if self.r.percent(5) {
            self.model.checks = !self.model.checks;
            let sql = format!("SET foreign_key_checks = {}", u8::from(self.model.checks));
            self.must(&sql);
        }
        let before = self.model.rows.clone();
        let undone = self.r.percent(10);
        if undone {
            self.must("BEGIN");
        }
        let t = self.r.below(3);
        let (sql, wanted) = match self.r.below(12) {
            0..=3 => self.insert(t),
            4..=7 => self.update(t),
            8 | 9 => self.delete(t),
            10 => self.update_joined(t),
            _ => self.delete_joined(t),
        };
        self.story.push(sql.clone());
        let code = match self.c.query(&sql) {
            Ok(_) => None,
            Err(Error::Server { code, .. }) => Some(code),
            Err(e) => panic!("{sql}: {e}"),
        };
        if code.is_some() || wanted.is_err() {
            self.story.push(format!("-- error {code:?}, expected {wanted:?}"));
        }
        let as_wanted = match (&wanted, code) {
            (Ok(()), None) => true,
            (Err(fault), Some(code)) => fault.is(code),
            _ => false,
        };
        if wanted.is_err() {
            self.model.rows = before.clone();
        }
        if !as_wanted {
            return Err(format!("{sql}: error {code:?}, expected {wanted:?}"));
        }
        self.compare(&sql)?;
        if undone {
            self.must("ROLLBACK");
            self.model.rows = before;
            self.compare("ROLLBACK")?;
        }
        Ok(())
    }

    fn compare(&mut self, what: &str) -> Result<(), String> {
        for (t, name) in TABLES.iter().enumerate() {
            let found = rows(self.c, &format!("SELECT id, x, y, s FROM {name} ORDER BY id"));
            let texts = |row: &Row| -> Vec<String> {
                row.iter().enumerate().map(|(c, v)| text(c, *v).trim_matches('\'').to_owned()).collect()
            };
            let wanted: Vec<Vec<String>> = self.model.rows[t].iter().map(texts).collect();
            if found != wanted {
                return Err(format!("{what}: {name}\nfound  {found:?}\nwanted {wanted:?}"));
            }
        }
        Ok(())
    }

    fn insert(&mut self, t: usize) -> (String, Result<(), Fault>) {
        let (count, word) = (1 + self.r.below(2), self.r.of(&["INSERT", "INSERT IGNORE", "REPLACE", "ODKU", "INSERT"]));
        let all: Vec<Row> = (0..count).map(|_| any_row(&mut self.r)).collect();
        let texts: Vec<String> = all.iter().map(shown).collect();
        let sets = Sets::any(&mut self.r);
        let (head, tail) = match word {
            "ODKU" => ("INSERT", format!(" ON DUPLICATE KEY UPDATE {}", sets.sql(""))),
            word => (word, String::new()),
        };
        let sql = format!("{head} INTO {} VALUES {}{tail}", TABLES[t], texts.join(", "));
        let mut result = Ok(());
        for row in all {
            let clashing = self.model.clashing(t, &row, None);
            let one = self.model.part(|m| match word {
                "REPLACE" => {
                    clashing.iter().try_for_each(|id| m.delete(t, *id, 0))?;
                    m.insert(t, row)
                }
                "ODKU" if !clashing.is_empty() => {
                    let old = *m.rows[t].iter().find(|r| r[0] == Some(clashing[0])).expect("a row");
                    m.change(t, old, sets.of(&old), &mut vec![], None, 0)
                }
                _ => m.insert(t, row),
            });
            if word != "INSERT IGNORE" && result.is_ok() {
                result = one;
            }
        }
        (sql, result)
    }

    fn picked(&mut self, t: usize) -> (String, Vec<Row>) {
        // Whether an action changes a row before or after it is found depends on the plan.
        let referring = self.model.references.iter().any(|f| f.child == t);
        let (w, holds) = condition(&mut self.r, if referring { 1 } else { 3 });
        let mut rows: Vec<Row> = self.model.rows[t].iter().filter(|row| holds(row)).copied().collect();
        let mut tail = " ORDER BY id".to_owned();
        if self.r.percent(30) {
            rows.reverse();
            tail += " DESC";
        }
        if self.r.percent(30) {
            tail += " LIMIT 2";
        }
        (format!(" WHERE {w}{tail}"), rows)
    }

    /// UPDATE counts rows that are found, DELETE those that go.
    fn each(&mut self, t: usize, rows: &[Row], ignore: bool, sets: Option<&Sets>, limit: usize) -> Result<(), Fault> {
        let (mut result, mut gone) = (Ok(()), 0);
        for row in rows.iter().take(if sets.is_some() { limit } else { usize::MAX }) {
            if gone == limit {
                break;
            }
            let there = |m: &Model| m.rows[t].iter().any(|r| r[0] == row[0]);
            let before = there(&self.model);
            // What an action has changed meanwhile is met as it is now.
            let one = self.model.part(|m| {
                let Some(now) = m.rows[t].iter().find(|r| r[0] == row[0]).copied() else { return Ok(()) };
                match sets {
                    Some(sets) => m.change(t, now, sets.of(&now), &mut vec![], None, 0),
                    None => m.delete(t, row[0].expect("a key"), 0),
                }
            });
            gone += usize::from(before && !there(&self.model));
            if !ignore && result.is_ok() {
                result = one;
            }
        }
        result
    }

    fn update(&mut self, t: usize) -> (String, Result<(), Fault>) {
        let (tail, rows) = self.picked(t);
        let (sets, ignore) = (Sets::any(&mut self.r), self.r.percent(35));
        let sql = format!("UPDATE {}{} SET {}{tail}", if ignore { "IGNORE " } else { "" }, TABLES[t], sets.sql(""));
        let limit = if tail.contains("LIMIT") { 2 } else { usize::MAX };
        let result = self.each(t, &rows, ignore, Some(&sets), limit);
        (sql, result)
    }

    fn delete(&mut self, t: usize) -> (String, Result<(), Fault>) {
        let (tail, rows) = self.picked(t);
        let ignore = self.r.percent(35);
        let sql = format!("DELETE {}FROM {}{tail}", if ignore { "IGNORE " } else { "" }, TABLES[t]);
        let limit = if tail.contains("LIMIT") { 2 } else { usize::MAX };
        let result = self.each(t, &rows, ignore, None, limit);
        (sql, result)
    }

    /// One row, found by a join.
    fn joined(&mut self, t: usize) -> (String, Vec<Row>) {
        let (u, id) = (self.r.below(3), self.r.below(9) as i64);
        let rows = self.model.rows[t]
            .iter()
            .filter(|a| a[0] == Some(id) && self.model.rows[u].iter().any(|b| b[0] == a[1]))
            .copied()
            .collect();
        (format!("{} a JOIN {} b ON b.id = a.x", TABLES[t], TABLES[u]) + &format!(" WHERE a.id = {id}"), rows)
    }

    fn update_joined(&mut self, t: usize) -> (String, Result<(), Fault>) {
        let (from, rows) = self.joined(t);
        let (sets, ignore) = (Sets::any(&mut self.r), self.r.percent(35));
        let (tables, w) = from.split_once(" WHERE").expect("a condition");
        let sql = format!("UPDATE {}{tables} SET {} WHERE{w}", if ignore { "IGNORE " } else { "" }, sets.sql("a."));
        let result = self.each(t, &rows, ignore, Some(&sets), usize::MAX);
        (sql, result)
    }

    fn delete_joined(&mut self, t: usize) -> (String, Result<(), Fault>) {
        let (from, rows) = self.joined(t);
        let ignore = self.r.percent(35);
        let sql = format!("DELETE {}a FROM {from}", if ignore { "IGNORE " } else { "" });
        let result = self.each(t, &rows, ignore, None, usize::MAX);
        (sql, result)
    }
}

#[test]
fn references_do_what_the_model_does() {
    let server = Running::start();
    let at = std::env::var("GANNET_REFERENCES_AT").ok();
    let mut c = match &at {
        None => server.connect(),
        Some(at) => {
            let (host, port) = at.split_once(':').expect("host:port");
            Connection::connect(&Address::Tcp(host.into(), port.parse().expect("a port")), &options())
                .expect("it is there")
        }
    };
    let first = setting("GANNET_REFERENCES_SEED", 1);
    let mut faults = Vec::new();
    for seed in first..first + setting("GANNET_REFERENCES_ROUNDS", 25) {
        run(&mut c, "SET foreign_key_checks = 1");
        run(&mut c, "DROP DATABASE IF EXISTS d");
        run(&mut c, "CREATE DATABASE d");
        run(&mut c, "USE d");
        let model = Model {
            rows: Default::default(),
            unique: Default::default(),
            keys: Default::default(),
            references: Vec::new(),
            folded: false,
            checks: true,
        };
        let mut round = Round { c: &mut c, r: Random::new(seed), model, story: Vec::new() };
        round.make();
        for _ in 0..50 {
            if let Err(e) = round.step() {
                let state = format!("{:?}", round.model.references);
                faults.push(format!("seed {seed}: {e}\n{state}\n{}", round.story.join(";\n")));
                break;
            }
        }
        if at.is_none() {
            for t in TABLES {
                let checked = rows(&mut c, &format!("CHECK TABLE {t}"));
                assert_eq!(checked[0][3], "OK", "seed {seed}: {checked:?}");
            }
        }
        run(&mut c, "ROLLBACK");
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}
