//! The statements of the shapes.

use super::{Outcome, digits};
use crate::pressure::Random;
use gannet_wire::client::{Arg, Connection, Statement};
use std::collections::HashMap;

/// What one client repeats.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) event: fn(&mut Statements) -> Outcome<()>,
}

const fn shape(name: &'static str, event: fn(&mut Statements) -> Outcome<()>) -> Shape {
    Shape { name, event }
}

/// All shapes; those that insert and delete come last.
pub(super) const SHAPES: &[Shape] = &[
    shape("point", |s| s.by_key("SELECT c FROM t# WHERE id = ?")),
    shape("point covered", |s| s.by_key("SELECT id FROM t# WHERE id = ?")),
    shape("point by secondary key", |s| s.by_key("SELECT c FROM t# WHERE k = ? LIMIT 1")),
    shape("list of 10", |s| s.by_list("SELECT c FROM t# WHERE id IN", 10)),
    shape("list of 100", |s| s.by_list("SELECT c FROM t# WHERE id IN", 100)),
    shape("list of 1000", |s| s.by_list("SELECT c FROM t# WHERE id IN", 1000)),
    shape("hot list of 100", |s| s.by_hot_list("SELECT c FROM t# WHERE id IN", 100)),
    shape("list covered by primary key", |s| s.by_list("SELECT id FROM t# WHERE id IN", 100)),
    shape("list covered by secondary key", |s| s.by_list("SELECT k, id FROM t# WHERE k IN", 100)),
    shape("list by secondary key", |s| s.by_list("SELECT c FROM t# WHERE k IN", 100)),
    shape("range of 10", |s| s.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ?", 10)),
    shape("range of 100", |s| s.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ?", 100)),
    shape("range of 10000", |s| s.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ?", 10_000)),
    shape("range covered by secondary key", |s| s.by_range("SELECT k, id FROM t# WHERE k BETWEEN ? AND ?", 100)),
    shape("sum of 100", |s| s.by_range("SELECT SUM(k) FROM t# WHERE id BETWEEN ? AND ?", 100)),
    shape("order of 100", |s| s.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c", 100)),
    shape("distinct of 100", |s| s.by_range("SELECT DISTINCT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c", 100)),
    shape("count of 1000", |s| s.by_range("SELECT COUNT(*) FROM t# WHERE id BETWEEN ? AND ?", 1000)),
    shape("read_only, ranges of 10", |s| s.read_only(10)),
    shape("read_only, ranges of 100", |s| s.read_only(100)),
    shape("read_only, ranges of 10000", |s| s.read_only(10_000)),
    shape("scan with a function", |s| s.execute("SELECT * FROM t# WHERE LENGTH(c) < 0", &[])),
    shape("update by key", Statements::update_plain),
    shape("update of an indexed column", |s| s.by_key("UPDATE t# SET k = k + 1 WHERE id = ?")),
    shape("update by list of 100", |s| s.by_list("UPDATE t# SET k = k + 1 WHERE id IN", 100)),
    shape("update of one row", |s| s.execute("UPDATE t# SET k = k + 1 WHERE id = 1", &[])),
    shape("update, few rows often", Statements::update_skewed),
    shape("read_write", |s| s.in_transaction(|s| s.reads(100).and_then(|()| s.writes()))),
    shape("write_only", |s| s.in_transaction(Statements::writes)),
    shape("insert", Statements::insert),
    shape("delete and insert", Statements::delete),
];

/// A client's connection with its prepared statements, and its random numbers.
pub(super) struct Statements {
    connection: Connection,
    prepared: HashMap<String, Statement>,
    tables: u64,
    rows: u64,
    random: Random,
    /// Which of the sixteen parts of the keys is the client's own.
    part: u64,
}

impl Statements {
    pub(super) fn new(connection: Connection, tables: u64, rows: u64, number: usize) -> Statements {
        let (random, part) = (Random::new(number + 7), number as u64 % 16);
        Statements { connection, prepared: HashMap::new(), tables, rows, random, part }
    }

    fn table(&mut self) -> u64 {
        self.random.below(self.tables as usize) as u64 + 1
    }

    fn key(&mut self) -> i64 {
        self.random.below(self.rows as usize) as i64 + 1
    }

    /// Executes a statement with `#` in place of a table's number.
    fn execute(&mut self, sql: &str, args: &[Arg<'_>]) -> Outcome<()> {
        let table = self.table();
        self.execute_on(table, sql, args)
    }

    fn execute_on(&mut self, table: u64, sql: &str, args: &[Arg<'_>]) -> Outcome<()> {
        let sql = sql.replace('#', &table.to_string());
        if !self.prepared.contains_key(&sql) {
            let statement = self.connection.prepare(&sql).map_err(|e| format!("{sql}: {e}"))?;
            self.prepared.insert(sql.clone(), statement);
        }
        self.connection.execute(&self.prepared[&sql], args).map(drop).map_err(|e| e.to_string())
    }

    fn by_key(&mut self, sql: &str) -> Outcome<()> {
        let key = self.key();
        self.execute(sql, &[Arg::Int(key)])
    }

    fn by_list(&mut self, sql: &str, keys: usize) -> Outcome<()> {
        let args: Vec<_> = (0..keys).map(|_| Arg::Int(self.key())).collect();
        self.execute(&format!("{sql} ({}?)", "?,".repeat(keys - 1)), &args)
    }

    /// The same keys each time.
    fn by_hot_list(&mut self, sql: &str, keys: usize) -> Outcome<()> {
        let step = self.rows as usize / keys;
        let args: Vec<_> = (0..keys).map(|i| Arg::Int((i * step + 1) as i64)).collect();
        self.execute(&format!("{sql} ({}?)", "?,".repeat(keys - 1)), &args)
    }

    fn by_range(&mut self, sql: &str, rows: usize) -> Outcome<()> {
        let from = self.random.below((self.rows as usize).saturating_sub(rows).max(1)) as i64 + 1;
        self.execute(sql, &[Arg::Int(from), Arg::Int(from + rows as i64 - 1)])
    }

    fn in_transaction(&mut self, work: impl FnOnce(&mut Self) -> Outcome<()>) -> Outcome<()> {
        self.execute("BEGIN", &[])?;
        work(self)?;
        self.execute("COMMIT", &[])
    }

    fn read_only(&mut self, rows: usize) -> Outcome<()> {
        self.in_transaction(|s| s.reads(rows))
    }

    fn reads(&mut self, rows: usize) -> Outcome<()> {
        for _ in 0..10 {
            self.by_key("SELECT c FROM t# WHERE id = ?")?;
        }
        self.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ?", rows)?;
        self.by_range("SELECT SUM(k) FROM t# WHERE id BETWEEN ? AND ?", rows)?;
        self.by_range("SELECT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c", rows)?;
        self.by_range("SELECT DISTINCT c FROM t# WHERE id BETWEEN ? AND ? ORDER BY c", rows)
    }

    fn writes(&mut self) -> Outcome<()> {
        // Each client changes rows of its own, so that none waits for another.
        let (table, key) = (self.table(), self.own_key());
        self.execute_on(table, "UPDATE t# SET k = k + 1 WHERE id = ?", &[Arg::Int(key)])?;
        let c = digits(&mut self.random, 10);
        self.execute_on(table, "UPDATE t# SET c = ? WHERE id = ?", &[Arg::Text(&c), Arg::Int(key)])?;
        self.execute_on(table, "DELETE FROM t# WHERE id = ?", &[Arg::Int(key)])?;
        self.put(table, key)
    }

    fn put(&mut self, table: u64, key: i64) -> Outcome<()> {
        let (k, c, pad) = (self.key(), digits(&mut self.random, 10), digits(&mut self.random, 5));
        let row = [Arg::Int(key), Arg::Int(k), Arg::Text(&c), Arg::Text(&pad)];
        self.execute_on(table, "INSERT INTO t# (id, k, c, pad) VALUES (?, ?, ?, ?)", &row)
    }

    fn own_key(&mut self) -> i64 {
        let rows = self.rows / 16;
        (self.part * rows) as i64 + self.random.below(rows as usize) as i64 + 1
    }

    fn update_plain(&mut self) -> Outcome<()> {
        let (c, key) = (digits(&mut self.random, 10), self.key());
        self.execute("UPDATE t# SET c = ? WHERE id = ?", &[Arg::Text(&c), Arg::Int(key)])
    }

    /// The least of several random keys: a tenth of the rows gets most updates.
    fn update_skewed(&mut self) -> Outcome<()> {
        let key = (0..8).map(|_| self.key()).min().unwrap_or(1);
        let c = digits(&mut self.random, 10);
        self.execute("UPDATE t# SET c = ? WHERE id = ?", &[Arg::Text(&c), Arg::Int(key)])
    }

    fn insert(&mut self) -> Outcome<()> {
        let (k, c, pad) = (self.key(), digits(&mut self.random, 10), digits(&mut self.random, 5));
        self.execute("INSERT INTO t# (k, c, pad) VALUES (?, ?, ?)", &[Arg::Int(k), Arg::Text(&c), Arg::Text(&pad)])
    }

    fn delete(&mut self) -> Outcome<()> {
        let (table, key) = (self.table(), self.own_key());
        self.execute_on(table, "DELETE FROM t# WHERE id = ?", &[Arg::Int(key)])?;
        self.put(table, key)
    }
}
