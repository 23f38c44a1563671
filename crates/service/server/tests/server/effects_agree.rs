//! Statements with effects: generated queries give what a model of MySQL's order gives, which is the rows one after the
//! other, in each the conditions, then the select list from left to right.
//!
//! `GANNET_EFFECTS_SEED` begins with another seed, `GANNET_EFFECTS_QUERIES` makes more of them.

use crate::common::{Running, rows, run};
use gannet_wire::client::Connection;

/// A generator of numbers (xorshift64*), seeded.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// An expression over the row and two variables, `@p` and `@q`.
enum Form {
    Id,
    X,
    Number(i64),
    Read(usize),
    Assign(usize, Box<Form>),
    Sum(Box<Form>, Box<Form>),
    /// `IF(a < b, c, d)`
    If(Box<[Form; 4]>),
}

const NAMES: [&str; 2] = ["@p", "@q"];

impl Form {
    fn any(r: &mut Random, depth: u32) -> Form {
        if depth == 0 {
            return match r.below(5) {
                0 => Form::Id,
                1 => Form::X,
                2 => Form::Number(r.below(5) as i64),
                _ => Form::Read(r.below(2) as usize),
            };
        }
        match r.below(5) {
            0 | 1 => Form::Assign(r.below(2) as usize, Box::new(Form::any(r, depth - 1))),
            2 | 3 => Form::Sum(Box::new(Form::any(r, depth - 1)), Box::new(Form::any(r, depth - 1))),
            _ => Form::If(Box::new([(); 4].map(|()| Form::any(r, depth - 1)))),
        }
    }

    fn text(&self) -> String {
        match self {
            Form::Id => "id".into(),
            Form::X => "x".into(),
            Form::Number(n) => n.to_string(),
            Form::Read(v) => NAMES[*v].into(),
            Form::Assign(v, e) => format!("({} := {})", NAMES[*v], e.text()),
            // Kept small, so that all values stay exact.
            Form::Sum(a, b) => format!("(({} + {}) % 1000)", a.text(), b.text()),
            Form::If(parts) => {
                let [a, b, c, d] = &**parts;
                format!("IF({} < {}, {}, {})", a.text(), b.text(), c.text(), d.text())
            }
        }
    }

    fn value(&self, row: (i64, i64), variables: &mut [i64; 2]) -> i64 {
        match self {
            Form::Id => row.0,
            Form::X => row.1,
            Form::Number(n) => *n,
            Form::Read(v) => variables[*v],
            Form::Assign(v, e) => {
                let value = e.value(row, variables);
                variables[*v] = value;
                value
            }
            Form::Sum(a, b) => {
                let left = a.value(row, variables);
                (left + b.value(row, variables)) % 1000
            }
            Form::If(parts) => {
                let [a, b, c, d] = &**parts;
                let left = a.value(row, variables);
                let less = left < b.value(row, variables);
                if less { c.value(row, variables) } else { d.value(row, variables) }
            }
        }
    }
}

/// How the rows come: FROM, ORDER BY, and whether that is the order of `x` or of `id`.
const SOURCES: [(&str, &str, bool); 11] = [
    ("t", "ORDER BY id", false),
    ("t", "ORDER BY x, id", true),
    ("t FORCE INDEX (x)", "ORDER BY x, id", true),
    ("(SELECT id, x FROM t ORDER BY x, id) d", "", true),
    ("(SELECT id, x FROM t) d", "ORDER BY id", false),
    ("t JOIN (SELECT 1 one) o", "ORDER BY id", false),
    ("t LEFT JOIN y USING (id)", "ORDER BY id", false),
    ("y RIGHT JOIN t USING (id)", "ORDER BY x, id", true),
    ("t NATURAL JOIN y", "ORDER BY x, id", true),
    ("(SELECT id, x FROM t LIMIT 1000) d LEFT JOIN (SELECT DISTINCT id k FROM y) e ON k = id", "ORDER BY id", false),
    ("t STRAIGHT_JOIN (SELECT 1 one UNION SELECT 1) o", "ORDER BY x, id", true),
];

fn fill(c: &mut Connection) -> Vec<(i64, i64)> {
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    run(c, "CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY x (x))");
    run(c, "CREATE TABLE y (id INT PRIMARY KEY, z INT)");
    run(c, "CREATE TABLE made (n INT AUTO_INCREMENT PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT)");
    let table: Vec<(i64, i64)> = (1..=150).map(|id| (id, id * 7919 % 13)).collect();
    let values: Vec<String> = table.iter().map(|(id, x)| format!("({id}, {x})")).collect();
    run(c, &format!("INSERT INTO t VALUES {}", values.join(", ")));
    run(c, "INSERT INTO y SELECT id, x + 1 FROM t");
    table
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn rows_are_evaluated_one_after_the_other() {
    let server = Running::start();
    let mut c = server.connect();
    let table = fill(&mut c);
    let first = setting("GANNET_EFFECTS_SEED", 1);
    for seed in first..first + setting("GANNET_EFFECTS_QUERIES", 300) {
        let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let items: Vec<Form> = (0..3).map(|_| Form::any(&mut r, 3)).collect();
        let (from, by, by_x) = r.of(&SOURCES);
        let bound = r.of(&[None, Some(40), Some(100)]);
        let limit = r.of(&[None, Some((0, 7)), Some((3, 20))]);
        let mut order = table.clone();
        if by_x {
            order.sort_by_key(|(id, x)| (*x, *id));
        }
        let mut variables = [1, 2];
        let (skip, most) = limit.unwrap_or((0, usize::MAX));
        let wanted: Vec<Vec<String>> = order
            .into_iter()
            .filter(|row| bound.is_none_or(|b| row.0 < b))
            .skip(skip)
            .take(most)
            .map(|row| items.iter().map(|e| e.value(row, &mut variables).to_string()).collect())
            .collect();
        let list: Vec<String> = items.iter().enumerate().map(|(i, e)| format!("{} AS c{i}", e.text())).collect();
        let condition = bound.map_or(String::new(), |b| format!("WHERE id < {b}"));
        let limit = limit.map_or(String::new(), |(skip, most)| format!("LIMIT {skip}, {most}"));
        let sql = format!("SELECT {} FROM {from} {condition} {by} {limit}", list.join(", "));
        run(&mut c, "SET @p = 1, @q = 2");
        assert_eq!(rows(&mut c, &sql), wanted, "seed {seed}: {sql}");
        let after = vec![variables.map(|v| v.to_string()).to_vec()];
        assert_eq!(rows(&mut c, "SELECT @p, @q"), after, "seed {seed}: variables behind {sql}");
        run(&mut c, "SET @p = 1, @q = 2");
        run(&mut c, "TRUNCATE TABLE made");
        run(&mut c, &format!("INSERT INTO made (a, b, c) {sql}"));
        assert_eq!(rows(&mut c, "SELECT a, b, c FROM made ORDER BY n"), wanted, "seed {seed}: INSERT ... {sql}");
        run(&mut c, "SET @p = 1, @q = 2");
        let counted = format!("SELECT COUNT(*) FROM ({sql}) e");
        assert_eq!(rows(&mut c, &counted), [[wanted.len().to_string()]], "seed {seed}: {counted}");
        assert_eq!(rows(&mut c, "SELECT @p, @q"), after, "seed {seed}: variables behind {counted}");
    }
}
