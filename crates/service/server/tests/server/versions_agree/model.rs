//! Rows and their versions as InnoDB has them: who sees which.

use crate::common::random::Random;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const WORDS: [&str; 5] = ["a", "A", "ab", "b", "B"];

/// A row; `g` is `a + p`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) a: Option<i64>,
    pub(super) b: Option<usize>,
    pub(super) p: i64,
    pub(super) v: i64,
}

impl Row {
    pub(super) fn any(r: &mut Random) -> Row {
        let a = (!r.percent(10)).then(|| r.below(6) as i64);
        let b = (!r.percent(10)).then(|| r.below(WORDS.len()));
        Row { id: r.below(24) as i64, a, b, p: r.below(4) as i64, v: r.below(5) as i64 }
    }

    pub(super) fn g(&self) -> Option<i64> {
        self.a.map(|a| a + self.p)
    }

    pub(super) fn word(&self) -> Option<String> {
        self.b.map(|b| WORDS[b].to_lowercase())
    }

    pub(super) fn values(&self) -> String {
        let b = self.b.map_or("NULL".into(), |b| format!("'{}'", WORDS[b]));
        format!("({}, {}, {b}, {}, {})", self.id, show(self.a), self.p, self.v)
    }

    pub(super) fn texts(&self) -> Vec<String> {
        let b = self.b.map_or("NULL", |b| WORDS[b]);
        vec![self.id.to_string(), show(self.a), b.into(), self.p.to_string(), show(self.g()), self.v.to_string()]
    }
}

pub(super) fn show(n: Option<i64>) -> String {
    n.map_or("NULL".into(), |n| n.to_string())
}

/// A condition on one row.
#[derive(Clone, Debug)]
pub(super) enum Cond {
    All,
    Column(char, &'static str, i64),
    In(char, [i64; 2]),
    Between(char, i64, i64),
    Null(char, bool),
    Word(&'static str, usize),
    Like(&'static str),
    /// One of `a` and `p` is the number.
    Member(i64),
    Overlaps([i64; 2]),
    And(Box<[Cond; 2]>),
    Or(Box<[Cond; 2]>),
}

impl Cond {
    pub(super) fn any(r: &mut Random, depth: u32) -> Cond {
        let column = r.of(&['a', 'a', 'g', 'p', 'i', 'i', 'v', 'f']);
        let n = if column == 'i' { r.below(26) } else { r.below(8) } as i64;
        match r.below(if depth > 0 { 18 } else { 13 }) {
            0 => Cond::All,
            1..=3 => Cond::Column(column, r.of(&["=", "=", "=", "<", ">="]), n),
            4 => Cond::In(column, [n, r.below(8) as i64]),
            5 | 6 => Cond::Between(column, n, n + r.below(4) as i64),
            7 => Cond::Null(r.of(&['a', 'g']), r.percent(50)),
            8 | 9 => Cond::Word(r.of(&["=", "=", "<", ">="]), r.below(WORDS.len())),
            10 => Cond::Like(r.of(&["a", "b"])),
            11 => Cond::Member(r.below(7) as i64),
            12 => Cond::Overlaps([r.below(7) as i64, r.below(7) as i64]),
            n => {
                let both = Box::new([Cond::any(r, depth - 1), Cond::any(r, depth - 1)]);
                if n < 16 { Cond::And(both) } else { Cond::Or(both) }
            }
        }
    }

    pub(super) fn sql(&self, t: &str) -> String {
        let name = |c: &char| match c {
            'i' => format!("{t}id"),
            'f' => format!("({t}a * 2 + {t}v)"),
            c => format!("{t}{c}"),
        };
        let array = format!("JSON_ARRAY(COALESCE({t}a, 99), {t}p)");
        match self {
            Cond::All => "TRUE".into(),
            Cond::Column(c, op, n) => format!("{} {op} {n}", name(c)),
            Cond::In(c, n) => format!("{} IN ({}, {})", name(c), n[0], n[1]),
            Cond::Between(c, x, y) => format!("{} BETWEEN {x} AND {y}", name(c)),
            Cond::Null(c, is) => format!("{} IS {}NULL", name(c), if *is { "" } else { "NOT " }),
            Cond::Word(op, w) => format!("{t}b {op} '{}'", WORDS[*w]),
            Cond::Like(w) => format!("{t}b LIKE '{w}%'"),
            Cond::Member(n) => format!("{n} MEMBER OF ({array})"),
            Cond::Overlaps(n) => format!("JSON_OVERLAPS({array}, '[{}, {}]')", n[0], n[1]),
            Cond::And(both) => format!("({} AND {})", both[0].sql(t), both[1].sql(t)),
            Cond::Or(both) => format!("({} OR {})", both[0].sql(t), both[1].sql(t)),
        }
    }

    pub(super) fn holds(&self, row: &Row) -> bool {
        let value = |c: &char| match c {
            'a' => row.a,
            'g' => row.g(),
            'p' => Some(row.p),
            'f' => row.a.map(|a| a * 2 + row.v),
            'v' => Some(row.v),
            _ => Some(row.id),
        };
        match self {
            Cond::All => true,
            Cond::Column(c, op, n) => value(c).is_some_and(|v| compare(op, &v, n)),
            Cond::In(c, n) => value(c).is_some_and(|v| n.contains(&v)),
            Cond::Between(c, x, y) => value(c).is_some_and(|v| (*x..=*y).contains(&v)),
            Cond::Null(c, is) => value(c).is_none() == *is,
            Cond::Word(op, w) => row.word().is_some_and(|b| compare(op, &b, &WORDS[*w].to_lowercase())),
            Cond::Like(w) => row.word().is_some_and(|b| b.starts_with(w)),
            Cond::Member(n) => row.a == Some(*n) || row.p == *n,
            Cond::Overlaps(n) => n.iter().any(|n| row.a == Some(*n) || row.p == *n),
            Cond::And(both) => both[0].holds(row) && both[1].holds(row),
            Cond::Or(both) => both[0].holds(row) || both[1].holds(row),
        }
    }
}

pub(super) fn compare<T: PartialOrd>(op: &str, x: &T, y: &T) -> bool {
    match op {
        "=" => x == y,
        "<" => x < y,
        _ => x >= y,
    }
}

/// A version of a row, or that it is gone; whose.
pub(super) struct Version {
    pub(super) row: Option<Row>,
    pub(super) by: usize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Level {
    Uncommitted,
    Committed,
    Repeatable,
    Serializable,
}

pub(super) const LEVELS: [(Level, &str); 4] = [
    (Level::Uncommitted, "READ UNCOMMITTED"),
    (Level::Committed, "READ COMMITTED"),
    (Level::Repeatable, "REPEATABLE READ"),
    (Level::Serializable, "SERIALIZABLE"),
];

/// A session's transaction.
pub(super) struct Open {
    pub(super) by: usize,
    pub(super) snapshot: Option<usize>,
    /// The rows of its versions, in order.
    pub(super) log: Vec<usize>,
    /// Name, what was done before, and whether a statement had used tables.
    pub(super) savepoints: Vec<(usize, usize, bool)>,
    pub(super) used: bool,
    /// Rows that it surely holds exclusively.
    pub(super) held: BTreeSet<usize>,
    /// It may hold locks, also on gaps.
    pub(super) locks: bool,
}

pub(super) struct Session {
    pub(super) level: Level,
    pub(super) open: Option<Open>,
}

/// The rows of the table, with all of their versions; when transactions committed.
#[derive(Default)]
pub(super) struct Model {
    pub(super) chains: Vec<Vec<Version>>,
    pub(super) committed: BTreeMap<usize, usize>,
    pub(super) clock: usize,
    pub(super) transactions: usize,
    pub(super) keyed: bool,
    /// In which partition a row is.
    pub(super) parted: Option<fn(i64) -> i64>,
    pub(super) unique: bool,
}

impl Model {
    pub(super) fn begin(&mut self) -> Open {
        self.transactions += 1;
        let (log, savepoints, held) = Default::default();
        Open { by: self.transactions, snapshot: None, log, savepoints, used: false, held, locks: false }
    }

    pub(super) fn version(&self, chain: usize, sees: impl Fn(&Version) -> bool) -> Option<Row> {
        self.chains[chain].iter().rev().find(|v| sees(v)).and_then(|v| v.row)
    }

    /// What a transaction sees of a row by a consistent read.
    pub(super) fn seen(&self, chain: usize, level: Level, open: &Open) -> Option<Row> {
        let snapshot = open.snapshot.unwrap_or(self.clock);
        self.version(chain, |v| {
            let at = self.committed.get(&v.by);
            match level {
                Level::Uncommitted => true,
                Level::Committed => v.by == open.by || at.is_some(),
                _ => v.by == open.by || at.is_some_and(|at| *at <= snapshot),
            }
        })
    }

    /// What it would lock.
    pub(super) fn current(&self, chain: usize, by: usize) -> Option<Row> {
        self.version(chain, |v| v.by == by || self.committed.contains_key(&v.by))
    }

    pub(super) fn all(&self, of: impl Fn(usize) -> Option<Row>) -> Vec<(usize, Row)> {
        (0..self.chains.len()).filter_map(|c| of(c).map(|row| (c, row))).collect()
    }

    /// Somebody else has changed the row and may take it back.
    pub(super) fn taken(&self, chain: usize, by: usize) -> bool {
        self.chains[chain].last().is_some_and(|v| v.by != by && !self.committed.contains_key(&v.by))
    }

    pub(super) fn write(&mut self, open: &mut Open, chain: usize, row: Option<Row>) {
        self.chains[chain].push(Version { row, by: open.by });
        open.log.push(chain);
        open.held.insert(chain);
        open.locks = true;
    }

    pub(super) fn insert(&mut self, open: &mut Open, row: Row) {
        let same = |v: &Version| v.row.is_some_and(|x| x.id == row.id && (self.parted.is_none() || x.p == row.p));
        // A key's versions are one chain, also where the row was gone between.
        let chain = self.chains.iter().position(|chain| self.keyed && chain.iter().any(same));
        let chain = chain.unwrap_or_else(|| {
            self.chains.push(Vec::new());
            self.chains.len() - 1
        });
        self.write(open, chain, Some(row));
    }

    pub(super) fn undo(&mut self, open: &mut Open, to: usize) {
        for chain in open.log.drain(to..).rev() {
            self.chains[chain].pop();
        }
    }

    pub(super) fn end(&mut self, mut open: Open, commit: bool) {
        if commit {
            self.clock += 1;
            self.committed.insert(open.by, self.clock);
        } else {
            self.undo(&mut open, 0);
        }
    }

    /// Two rows that a key lets not stand together.
    pub(super) fn clash(&self, x: &Row, y: &Row) -> bool {
        let primary = self.keyed && x.id == y.id && (self.parted.is_none() || x.p == y.p);
        primary || self.unique && x.a.is_some() && (x.a, x.p) == (y.a, y.p)
    }

    /// A changed row is another one: its key is another, or its partition.
    pub(super) fn moves(&self, x: &Row, y: &Row) -> bool {
        let key = self.keyed && (x.id != y.id || self.parted.is_some() && x.p != y.p);
        key || self.parted.is_some_and(|part| part(x.p) != part(y.p))
    }

    /// Somebody else's change may come to clash with the row, or not.
    pub(super) fn unsure(&self, row: &Row, by: usize) -> bool {
        (0..self.chains.len()).any(|c| {
            self.taken(c, by) && self.chains[c].iter().any(|v| v.row.is_some_and(|other| self.clash(row, &other)))
        })
    }
}
