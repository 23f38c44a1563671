//! What sessions see of one another, by every index: random transactions at all isolation levels beside a model of
//! InnoDB's versions of rows, of snapshots, of own changes and of what savepoints take back.
//!
//! `GANNET_VERSIONS_SEED` begins with another seed, `GANNET_VERSIONS_ROUNDS` makes more rounds.

mod model;

use crate::common::random::{Random, setting};
use crate::common::{Running, rows, run};
use gannet_wire::client::{Connection, Error};
use model::{Cond, LEVELS, Level, Model, Open, Row, Session, WORDS, show};
use std::collections::BTreeMap;

const SESSIONS: usize = 3;
/// One change of UPDATE.
#[derive(Clone, Copy, Debug)]
enum Set {
    A(Option<i64>),
    More,
    B(usize),
    P(i64),
    V,
    Id,
}

impl Set {
    fn any(r: &mut Random) -> Set {
        match r.below(12) {
            0..=2 => Set::A((!r.percent(10)).then(|| r.below(6) as i64)),
            3 => Set::More,
            4..=6 => Set::B(r.below(WORDS.len())),
            7 => Set::P(r.below(4) as i64),
            8 => Set::Id,
            _ => Set::V,
        }
    }

    fn sql(self) -> String {
        match self {
            Set::A(a) => format!("a = {}", show(a)),
            Set::More => "a = a + 1".into(),
            Set::B(b) => format!("b = '{}'", WORDS[b]),
            Set::P(p) => format!("p = {p}"),
            Set::V => "v = v + 1".into(),
            Set::Id => "id = id + 100".into(),
        }
    }

    fn to(self, row: Row) -> Row {
        match self {
            Set::A(a) => Row { a, ..row },
            Set::More => Row { a: row.a.map(|a| a + 1), ..row },
            Set::B(b) => Row { b: Some(b), ..row },
            Set::P(p) => Row { p, ..row },
            Set::V => Row { v: row.v + 1, ..row },
            Set::Id => Row { id: row.id + 100, ..row },
        }
    }
}

fn without_last(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.iter_mut().for_each(|row| drop(row.pop()));
    rows
}

struct World {
    r: Random,
    model: Model,
    sessions: Vec<Session>,
    connections: Vec<Connection>,
    indexes: Vec<String>,
    create: String,
    /// What was done, for a fault's report.
    story: Vec<String>,
    seed: u64,
    refused: usize,
}

type Answer = Result<Vec<Vec<String>>, u16>;

impl World {
    fn ask(&mut self, s: usize, sql: &str) -> Answer {
        if let Some(open) = &mut self.sessions[s].open {
            // A savepoint is none of these.
            open.used = true;
        }
        self.story.push(format!("{s}: {sql}"));
        match self.connections[s].query(sql) {
            Ok(set) => Ok(set.texts()),
            Err(Error::Server { code, .. }) => {
                self.story.push(format!("-- error {code}"));
                Err(code)
            }
            Err(e) => panic!("seed {}: {sql}: {e}", self.seed),
        }
    }

    fn must(&mut self, s: usize, sql: &str) -> Vec<Vec<String>> {
        let answer = self.ask(s, sql);
        answer.unwrap_or_else(|e| self.fail(&format!("error {e} of {sql}")))
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {}: {what}\n{};\n{}", self.seed, self.create, self.story.join(";\n"))
    }

    fn others_lock(&self, s: usize) -> bool {
        (0..SESSIONS).any(|o| o != s && self.sessions[o].open.as_ref().is_some_and(|t| t.locks))
    }

    /// Runs `f` in the session's transaction, or in one of its own that it commits.
    fn within<T>(&mut self, s: usize, f: impl FnOnce(&mut Self, &mut Open) -> T) -> T {
        let open = self.sessions[s].open.take();
        let own = open.is_none();
        let mut open = open.unwrap_or_else(|| self.model.begin());
        open.used = true;
        let result = f(self, &mut open);
        if own {
            self.model.end(open, true);
        } else {
            self.sessions[s].open = Some(open);
        }
        result
    }

    fn hint(&mut self) -> String {
        let n = self.r.below(self.indexes.len() + 3);
        self.indexes.get(n).map(|k| format!(" FORCE INDEX ({k})")).unwrap_or_default()
    }

    fn step(&mut self) {
        let s = self.r.below(SESSIONS);
        match (self.r.below(24), self.sessions[s].open.is_some()) {
            (0, true) => self.finish(s, true),
            (1, true) => self.finish(s, false),
            (0..=2, false) => self.start(s),
            (2, true) => self.savepoint(s),
            (3, true) => self.back(s),
            (3..=11, _) => self.read(s),
            (12..=14, _) => self.locking(s),
            (15, _) => self.skipping(s),
            (16..=19, _) => self.update(s),
            (20, _) => self.delete(s),
            (21, _) => self.copy(s),
            _ => self.add(s),
        }
    }

    fn start(&mut self, s: usize) {
        let (level, name) = self.r.of(&LEVELS);
        self.must(s, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {name}"));
        self.sessions[s].level = level;
        let mut open = self.model.begin();
        if level == Level::Repeatable && self.r.percent(40) {
            self.must(s, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
            open.snapshot = Some(self.model.clock);
            open.used = true;
        } else {
            self.must(s, "BEGIN");
        }
        self.sessions[s].open = Some(open);
    }

    fn finish(&mut self, s: usize, commit: bool) {
        self.must(s, if commit { "COMMIT" } else { "ROLLBACK" });
        let open = self.sessions[s].open.take().unwrap();
        self.model.end(open, commit);
    }

    fn savepoint(&mut self, s: usize) {
        let name = self.r.below(2);
        let used = self.sessions[s].open.as_ref().unwrap().used;
        self.must(s, &format!("SAVEPOINT s{name}"));
        let open = self.sessions[s].open.as_mut().unwrap();
        open.used = used;
        open.savepoints.retain(|p| p.0 != name);
        open.savepoints.push((name, open.log.len(), open.used));
    }

    fn back(&mut self, s: usize) {
        let open = self.sessions[s].open.as_ref().unwrap();
        if open.savepoints.is_empty() {
            return;
        }
        let n = self.r.below(open.savepoints.len());
        let (name, to, used) = open.savepoints[n];
        self.must(s, &format!("ROLLBACK TO s{name}"));
        let mut open = self.sessions[s].open.take().unwrap();
        open.savepoints.truncate(n + 1);
        self.model.undo(&mut open, to);
        if !used {
            // All of the engine's transaction is rolled back.
            open.held.clear();
            (open.snapshot, open.locks, open.used) = (None, false, false);
        }
        self.sessions[s].open = Some(open);
    }

    /// A consistent read.
    fn read(&mut self, s: usize) {
        let level = self.sessions[s].level;
        let locking = level == Level::Serializable && self.sessions[s].open.is_some();
        let (hint, w) = (self.hint(), Cond::any(&mut self.r, 2));
        let visible = self.within(s, |me, open| {
            if level == Level::Repeatable && open.snapshot.is_none() {
                open.snapshot = Some(me.model.clock);
            }
            open.locks |= locking;
            let all =
                me.model.all(|c| if locking { me.model.current(c, open.by) } else { me.model.seen(c, level, open) });
            all.into_iter().map(|(_, row)| row).collect::<Vec<Row>>()
        });
        let rows: Vec<Row> = visible.iter().copied().filter(|row| w.holds(row)).collect();
        let (mut sql, mut wanted) = self.query(&hint, &w, &rows, &visible);
        // The words at a query's end are not for its subqueries.
        if locking && sql.contains("EXISTS") && self.others_lock(s) {
            return;
        } else if locking {
            sql += " FOR SHARE NOWAIT";
        }
        match self.ask(s, &sql) {
            Err(3572) if locking && self.others_lock(s) => {}
            Ok(mut found) => {
                if !sql.contains("ORDER BY") {
                    found.sort();
                    wanted.sort();
                }
                if found != wanted {
                    self.fail(&format!("{level:?} {sql}\nfound  {found:?}\nwanted {wanted:?}"));
                }
            }
            Err(e) => self.fail(&format!("error {e}")),
        }
    }

    fn query(&mut self, hint: &str, w: &Cond, rows: &[Row], visible: &[Row]) -> (String, Vec<Vec<String>>) {
        let condition = w.sql("t.");
        match self.r.below(10) {
            0 => (format!("SELECT COUNT(*) FROM t{hint} WHERE {condition}"), vec![vec![rows.len().to_string()]]),
            1 => {
                let (min, max) = (rows.iter().filter_map(|x| x.a).min(), rows.iter().filter_map(|x| x.a).max());
                (format!("SELECT MIN(a), MAX(a) FROM t{hint} WHERE {condition}"), vec![vec![show(min), show(max)]])
            }
            2 => {
                let mut counts: BTreeMap<Option<i64>, usize> = BTreeMap::new();
                rows.iter().for_each(|row| *counts.entry(row.g()).or_default() += 1);
                let wanted = counts.iter().map(|(g, n)| vec![show(*g), n.to_string()]).collect();
                (format!("SELECT g, COUNT(*) FROM t{hint} WHERE {condition} GROUP BY g ORDER BY g"), wanted)
            }
            3 => {
                let mut rows = rows.to_vec();
                rows.sort_by_key(|x| std::cmp::Reverse((x.a, x.p, x.id, x.v, x.b)));
                let wanted = rows.iter().take(3).map(|x| vec![show(x.a), x.p.to_string(), x.id.to_string()]).collect();
                (
                    format!("SELECT a, p, id FROM t{hint} WHERE {condition} ORDER BY a DESC, p DESC, id DESC LIMIT 3"),
                    wanted,
                )
            }
            4 => {
                let pairs = rows
                    .iter()
                    .flat_map(|x| visible.iter().filter(|y| y.a.is_some() && y.a == x.g()).map(|y| (x.id, y.id)));
                let wanted = pairs.map(|(x, y)| vec![x.to_string(), y.to_string()]).collect();
                (format!("SELECT t.id, y.id FROM t{hint} JOIN t y ON y.a = t.g WHERE {condition}"), wanted)
            }
            5 => {
                let wanted =
                    rows.iter().filter(|x| !visible.iter().any(|y| y.a.is_some() && y.a == Some(x.p) && y.v > x.v));
                let wanted = wanted.map(|x| vec![x.id.to_string()]).collect();
                (
                    format!(
                        "SELECT t.id FROM t{hint} WHERE {condition} AND NOT EXISTS (SELECT 1 FROM t y WHERE y.a = t.p AND y.v > t.v)"
                    ),
                    wanted,
                )
            }
            6 => {
                let wanted =
                    rows.iter().map(|x| vec![show(x.a), x.b.map_or("NULL", |b| WORDS[b]).to_owned()]).collect();
                (format!("SELECT a, b FROM t{hint} WHERE {condition}"), wanted)
            }
            _ => (
                format!("SELECT id, a, b, p, g, v FROM t{hint} WHERE {condition}"),
                rows.iter().map(Row::texts).collect(),
            ),
        }
    }

    /// Locks what a condition finds, or is told at once that it cannot.
    fn lock(&mut self, s: usize, hint: &str, w: &Cond, exclusively: bool) -> Option<Vec<(usize, Row)>> {
        let sql = format!(
            "SELECT id, a, b, p, g, v, w FROM t{hint} WHERE {} FOR {} NOWAIT",
            w.sql(""),
            if exclusively { "UPDATE" } else { "SHARE" }
        );
        // No index has `w`: both would lock entries of different indexes.
        let answer = self.ask(s, &sql).map(without_last);
        let others = self.others_lock(s);
        self.within(s, |me, open| {
            open.locks = true;
            let model = &me.model;
            let matching: Vec<(usize, Row)> =
                model.all(|c| model.current(c, open.by)).into_iter().filter(|(_, row)| w.holds(row)).collect();
            match answer {
                Ok(mut found) => {
                    let mut wanted: Vec<Vec<String>> = matching.iter().map(|(_, row)| row.texts()).collect();
                    found.sort();
                    wanted.sort();
                    let held = (0..SESSIONS)
                        .filter_map(|o| me.sessions[o].open.as_ref())
                        .any(|o| o.by != open.by && matching.iter().any(|(c, _)| o.held.contains(c)));
                    if held || found != wanted {
                        me.fail(&format!("{sql}\nheld by others: {held}\nfound  {found:?}\nwanted {wanted:?}"));
                    }
                    if exclusively {
                        open.held.extend(matching.iter().map(|(c, _)| *c));
                    }
                    Some(matching)
                }
                Err(3572) if others => {
                    me.refused += 1;
                    None
                }
                Err(e) => me.fail(&format!("error {e}")),
            }
        })
    }

    fn locking(&mut self, s: usize) {
        let (hint, w, exclusively) = (self.hint(), Cond::any(&mut self.r, 2), self.r.percent(60));
        self.lock(s, &hint, &w, exclusively);
    }

    fn skipping(&mut self, s: usize) {
        let (hint, w) = (self.hint(), Cond::any(&mut self.r, 1));
        let sql = format!("SELECT id, a, b, p, g, v, w FROM t{hint} WHERE {} FOR UPDATE SKIP LOCKED", w.sql(""));
        let found = without_last(self.must(s, &sql));
        let others = self.others_lock(s);
        self.within(s, |me, open| {
            open.locks = true;
            let model = &me.model;
            let held = |c: usize| {
                (0..SESSIONS)
                    .filter_map(|o| me.sessions[o].open.as_ref())
                    .any(|o| o.by != open.by && o.held.contains(&c))
            };
            let free: Vec<(usize, Row)> = model
                .all(|c| model.current(c, open.by))
                .into_iter()
                .filter(|(c, row)| w.holds(row) && !held(*c))
                .collect();
            let mut left: Vec<Vec<String>> = free.iter().map(|(_, row)| row.texts()).collect();
            for row in &found {
                match left.iter().position(|x| x == row) {
                    Some(n) => drop(left.swap_remove(n)),
                    None => me.fail(&format!("{sql}\nfound {row:?}\nfree {free:?}")),
                }
            }
            if !others && !left.is_empty() {
                me.fail(&format!("{sql}\nnot found {left:?}"));
            }
            if left.is_empty() {
                open.held.extend(free.iter().map(|(c, _)| *c));
            }
        });
    }

    /// Whether a change of keys would likely wait for gaps that others hold.
    fn would_wait(&mut self, s: usize) -> bool {
        let gaps = (0..SESSIONS).any(|o| {
            let t = &self.sessions[o];
            let held = matches!(t.level, Level::Repeatable | Level::Serializable) || self.model.unique;
            o != s && held && t.open.as_ref().is_some_and(|t| t.locks)
        });
        gaps && !self.r.percent(3)
    }

    /// What a changing statement did: its rows are there, or nothing is.
    fn changed(&mut self, s: usize, sql: &str) -> bool {
        match self.ask(s, sql) {
            Ok(_) => true,
            Err(1205) if self.others_lock(s) => false,
            Err(e) => self.fail(&format!("error {e}")),
        }
    }

    fn update(&mut self, s: usize) {
        let (hint, w) = (self.hint(), Cond::any(&mut self.r, 1));
        let sets: Vec<Set> = (0..1 + self.r.below(2)).map(|_| Set::any(&mut self.r)).collect();
        if !sets.iter().all(|x| matches!(x, Set::V)) && self.would_wait(s) {
            return;
        }
        let Some(mut rows) = self.lock(s, &hint, &w, true) else { return };
        let mut tail = String::new();
        if self.r.percent(20) {
            rows.sort_by_key(|(_, x)| (x.id, x.p, x.v, x.a, x.b));
            let same = rows.windows(2).any(|x| (x[0].1.id, x[0].1.p) == (x[1].1.id, x[1].1.p));
            if !same {
                rows.truncate(2);
                tail = " ORDER BY id, p LIMIT 2".into();
            }
        }
        let new: Vec<(usize, Row)> =
            rows.iter().map(|(c, row)| (*c, sets.iter().fold(*row, |row, s| s.to(row)))).collect();
        let by = self.sessions[s].open.as_ref().map_or(0, |t| t.by);
        let others = self.model.all(|c| self.model.current(c, by));
        let clash = new.iter().any(|(c, row)| {
            others.iter().chain(&new).any(|(d, other)| c != d && self.model.clash(row, other))
                || self.model.unsure(row, by)
        });
        if clash {
            return;
        }
        let list: Vec<String> = sets.iter().map(|x| x.sql()).collect();
        if self.changed(s, &format!("UPDATE t{hint} SET {} WHERE {}{tail}", list.join(", "), w.sql(""))) {
            self.within(s, |me, open| {
                for ((c, old), (_, row)) in rows.iter().zip(new) {
                    if me.model.moves(&row, old) {
                        me.model.write(open, *c, None);
                        me.model.insert(open, row);
                    } else if row != *old {
                        me.model.write(open, *c, Some(row));
                    }
                }
            });
        }
    }

    fn delete(&mut self, s: usize) {
        let (hint, w) = (self.hint(), Cond::any(&mut self.r, 1));
        let Some(rows) = self.lock(s, &hint, &w, true) else { return };
        if rows.len() > 8 {
            return;
        }
        if self.changed(s, &format!("DELETE t FROM t{hint} WHERE {}", w.sql("t."))) {
            self.within(s, |me, open| rows.iter().for_each(|(c, _)| me.model.write(open, *c, None)));
        }
    }

    /// INSERT of one row, REPLACE, INSERT ... ON DUPLICATE KEY UPDATE.
    fn add(&mut self, s: usize) {
        if self.would_wait(s) {
            return;
        }
        let row = Row::any(&mut self.r);
        let by = self.sessions[s].open.as_ref().map_or(0, |t| t.by);
        let clashing: Vec<(usize, Row)> = self
            .model
            .all(|c| self.model.current(c, by))
            .into_iter()
            .filter(|(_, x)| self.model.clash(x, &row))
            .collect();
        if self.model.unsure(&row, by) || clashing.len() > 1 {
            return;
        }
        let held = (0..SESSIONS)
            .filter_map(|o| self.sessions[o].open.as_ref())
            .any(|o| o.by != by && clashing.iter().any(|(c, _)| o.held.contains(c)));
        if held {
            return;
        }
        let values = row.values();
        let (sql, word) = match self.r.below(3) {
            0 => (format!("INSERT IGNORE INTO t (id, a, b, p, v) VALUES {values}"), 'i'),
            1 => (format!("REPLACE INTO t (id, a, b, p, v) VALUES {values}"), 'r'),
            _ => (
                format!("INSERT INTO t (id, a, b, p, v) VALUES {values} ON DUPLICATE KEY UPDATE v = v + 1, b = 'ab'"),
                'u',
            ),
        };
        if !self.changed(s, &sql) {
            return;
        }
        self.within(s, |me, open| match (word, clashing.first()) {
            ('i', Some(_)) => open.locks = true,
            ('u', Some((c, old))) => me.model.write(open, *c, Some(Row { v: old.v + 1, b: Some(2), ..*old })),
            (_, Some((c, _))) => {
                me.model.write(open, *c, None);
                me.model.insert(open, row);
            }
            (_, None) => me.model.insert(open, row),
        });
    }

    /// INSERT ... SELECT from the same table.
    fn copy(&mut self, s: usize) {
        if self.would_wait(s) {
            return;
        }
        let (hint, w) = (self.hint(), Cond::any(&mut self.r, 1));
        let Some(rows) = self.lock(s, &hint, &w, true) else { return };
        let new: Vec<Row> = rows.iter().map(|(_, x)| Row { id: x.id + 200, p: x.p + 4, ..*x }).collect();
        let by = self.sessions[s].open.as_ref().map_or(0, |t| t.by);
        let there = self.model.all(|c| self.model.current(c, by));
        let clash = new.iter().enumerate().any(|(n, row)| {
            self.model.unsure(row, by)
                || there.iter().map(|x| &x.1).chain(&new[..n]).any(|other| self.model.clash(row, other))
        });
        if clash || rows.len() > 4 {
            return;
        }
        let sql =
            format!("INSERT INTO t (id, a, b, p, v) SELECT id + 200, a, b, p + 4, v FROM t{hint} WHERE {}", w.sql(""));
        if self.changed(s, &sql) {
            self.within(s, |me, open| new.iter().for_each(|row| me.model.insert(open, *row)));
        }
    }
}

/// PARTITION BY, and where a row is by it.
const PARTS: [(&str, Option<fn(i64) -> i64>); 4] = [
    ("", None),
    (" PARTITION BY HASH (p) PARTITIONS 3", Some(|p| p % 3)),
    (
        " PARTITION BY RANGE (p) (PARTITION x VALUES LESS THAN (1), PARTITION y VALUES LESS THAN (3), PARTITION z VALUES \
         LESS THAN MAXVALUE)",
        Some(|p| i64::from(p >= 1) + i64::from(p >= 3)),
    ),
    (
        " PARTITION BY LIST COLUMNS (p) (PARTITION x VALUES IN (0, 2, 4, 6, 8), PARTITION y VALUES IN (1, 3, 5, 7, 9, 10, \
         11, 12, 13, 14, 15, 16, 17, 18, 19))",
        Some(|p| i64::from(p < 9 && p % 2 == 0)),
    ),
];

/// A table of the round, and its indexes.
fn table(r: &mut Random, model: &mut Model) -> (String, Vec<String>) {
    let parted = r.below(4);
    model.keyed = r.percent(75);
    model.parted = PARTS[parted].1;
    let mut keys = Vec::new();
    let mut definitions = Vec::new();
    if model.keyed {
        definitions.push(if model.parted.is_some() { "PRIMARY KEY (id, p)" } else { "PRIMARY KEY (id)" }.to_owned());
        keys.push("PRIMARY".into());
    }
    if r.percent(20) {
        model.unique = true;
        definitions.push(format!("UNIQUE KEY u ({})", r.of(&["a, p", "p, a"])));
        keys.push("u".into());
    }
    let all = [
        "a",
        "b",
        "g",
        "a, b",
        "b, a, v",
        "b(1)",
        "g DESC, b",
        "p, g",
        "a, b, p, v, g, id",
        "v, a DESC",
        "(a * 2 + v)",
        "(CAST(JSON_ARRAY(COALESCE(a, 99), p) AS UNSIGNED ARRAY))",
        "b, (CAST(JSON_ARRAY(COALESCE(a, 99), p) AS UNSIGNED ARRAY)), v",
    ];
    for n in 0..1 + r.below(4) {
        definitions.push(format!("KEY k{n} ({})", r.of(&all)));
        keys.push(format!("k{n}"));
    }
    let generated = r.of(&["VIRTUAL", "STORED"]);
    let by = PARTS[parted].0;
    let create = format!(
        "CREATE TABLE t (id INT NOT NULL, a INT, b VARCHAR(4), p INT NOT NULL, v INT, w INT, g INT AS (a + p) {generated}, {}){by}",
        definitions.join(", ")
    );
    (create, keys)
}

#[test]
fn sessions_see_the_versions_that_are_theirs_by_every_index() {
    let server = Running::start();
    let mut connections: Vec<Connection> = (0..SESSIONS).map(|_| server.connect()).collect();
    let mut refused = 0;
    let first = setting("GANNET_VERSIONS_SEED", 1);
    for seed in first..first + setting("GANNET_VERSIONS_ROUNDS", 15) {
        let mut r = Random::new(seed);
        let mut model = Model::default();
        let (create, indexes) = table(&mut r, &mut model);
        run(&mut connections[0], "DROP DATABASE IF EXISTS d");
        run(&mut connections[0], "CREATE DATABASE d");
        for c in &mut connections {
            run(c, "USE d");
            run(c, "SET innodb_lock_wait_timeout = 1");
            run(c, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
        run(&mut connections[0], &create);
        let sessions = (0..SESSIONS).map(|_| Session { level: Level::Repeatable, open: None }).collect();
        let story = Vec::new();
        let mut w = World { r, model, sessions, connections, indexes, create, story, seed, refused: 0 };
        (0..10).for_each(|_| w.add(0));
        (0..150).for_each(|_| w.step());
        for s in 0..SESSIONS {
            if w.sessions[s].open.is_some() {
                w.finish(s, true);
            }
        }
        let checked = rows(&mut w.connections[0], "CHECK TABLE t");
        assert_eq!(checked[0][3], "OK", "seed {seed}: {checked:?}");
        (0..10).for_each(|_| w.read(0));
        refused += w.refused;
        connections = w.connections;
    }
    assert!(refused > 0, "no locks met");
}
