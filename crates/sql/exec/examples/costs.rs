//! What statements cost the executor and all below it, without server, protocol and parser:
//!
//!     cargo run --release -p gannet-exec --example costs [SHAPE [TIMES]]
//!
//! prints microseconds of processor time for each execution; with TIMES, for counting instructions, a shape is executed
//! so often and nothing is printed: the difference of two runs under `valgrind --tool=callgrind` is what that many
//! cost.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Database;
use gannet_engine::FlushPolicy;
use gannet_types::Value;
use std::time::Instant;

/// Rows of the large tables.
const ROWS: i64 = 20_000;

/// Name, statement, and how many parameters from a random key on it has (0: a list of as many as it has marks).
const SHAPES: &[(&str, &str, Params)] = &[
    ("point", "SELECT c FROM t WHERE id = ?", Params::Keys(1)),
    ("range of 10", "SELECT c FROM t WHERE id BETWEEN ? AND ?", Params::Range(10)),
    ("range of 100", "SELECT c FROM t WHERE id BETWEEN ? AND ?", Params::Range(100)),
    ("limit 10", "SELECT c FROM t WHERE id >= ? LIMIT 10", Params::Keys(1)),
    ("secondary range of 10", "SELECT c FROM t WHERE k BETWEEN ? AND ?", Params::Range(10)),
    ("covered range of 10", "SELECT id FROM t WHERE k BETWEEN ? AND ?", Params::Range(10)),
    ("list of 100", "SELECT c FROM t WHERE id IN (#)", Params::Keys(100)),
    ("covered list of 100", "SELECT id FROM t WHERE id IN (#)", Params::Keys(100)),
    ("secondary list of 100", "SELECT c FROM t WHERE k IN (#)", Params::Keys(100)),
    ("covered secondary list of 100", "SELECT k FROM t WHERE k IN (#)", Params::Keys(100)),
    ("sum of 100", "SELECT SUM(k) FROM t WHERE id BETWEEN ? AND ?", Params::Range(100)),
    ("order of 100", "SELECT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c", Params::Range(100)),
    ("distinct of 100", "SELECT DISTINCT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c", Params::Range(100)),
    ("count of 1000", "SELECT COUNT(*) FROM t WHERE id BETWEEN ? AND ?", Params::Range(1000)),
    ("update", "UPDATE t SET c = 'abcdefghijklmnopqrstuvwxyz' , pad = ? WHERE id = ?", Params::Keys(2)),
    ("update indexed", "UPDATE t SET k = k + 1 WHERE id = ?", Params::Keys(1)),
    ("update list of 100", "UPDATE t SET k = k + 1 WHERE id IN (#)", Params::Keys(100)),
    ("update wide", "UPDATE w SET a = a + 1 WHERE id = ?", Params::Keys(1)),
    ("bulk update", "UPDATE w SET a = a + 1", Params::Keys(0)),
    ("insert", "INSERT INTO t (k, c, pad) VALUES (?, 'c', 'pad')", Params::Keys(1)),
    ("delete", "DELETE FROM t WHERE id = ?", Params::Next),
    ("scan", "SELECT COUNT(c) FROM t WHERE k > 0", Params::Keys(0)),
    ("function", "SELECT * FROM t WHERE LENGTH(c) < 0", Params::Keys(0)),
    ("like", "SELECT COUNT(*) FROM t WHERE c LIKE ?", Params::Text("abc%")),
    ("like by cast", "SELECT COUNT(*) FROM t WHERE c LIKE CONCAT(?, '')", Params::Text("abc%")),
    ("not like", "SELECT COUNT(*) FROM t WHERE c NOT LIKE '%xyz%'", Params::Keys(0)),
    ("in two", "SELECT COUNT(*) FROM w WHERE a IN (3, 5)", Params::Keys(0)),
    ("in two texts", "SELECT COUNT(*) FROM w WHERE s IN ('a', 'b')", Params::Keys(0)),
    ("equal text", "SELECT COUNT(*) FROM w WHERE s = 'a'", Params::Keys(0)),
    ("between texts", "SELECT COUNT(*) FROM w WHERE s BETWEEN 'a' AND 'b'", Params::Keys(0)),
    ("two columns", "SELECT COUNT(*) FROM w WHERE d1 < d2", Params::Keys(0)),
    ("two texts", "SELECT COUNT(*) FROM w WHERE s < u", Params::Keys(0)),
    ("dates", "SELECT COUNT(*) FROM w WHERE t1 > '2024-01-01 00:00:00'", Params::Keys(0)),
    ("or", "SELECT COUNT(*) FROM w WHERE a = 3 OR b = 4 OR s = 'x'", Params::Keys(0)),
    ("extract", "SELECT SUM(EXTRACT(YEAR FROM d1)) FROM w", Params::Keys(0)),
    ("date_format", "SELECT MAX(DATE_FORMAT(d1, '%Y-%m')) FROM w", Params::Keys(0)),
    ("case", "SELECT SUM(CASE WHEN a < 5 THEN b ELSE 0 END) FROM w", Params::Keys(0)),
    ("case of text", "SELECT SUM(CASE WHEN s = 'a' OR s = 'b' THEN 1 ELSE 0 END) FROM w", Params::Keys(0)),
    ("modulo", "SELECT COUNT(*) FROM w WHERE a % 10 = 3", Params::Keys(0)),
    ("concat", "SELECT MAX(CONCAT(s, u)) FROM w", Params::Keys(0)),
    ("substring", "SELECT COUNT(*) FROM w WHERE SUBSTRING(s, 1, 2) = 'ab'", Params::Keys(0)),
    ("sum", "SELECT SUM(a) FROM w", Params::Keys(0)),
    ("sum of decimals", "SELECT SUM(n), AVG(n) FROM w", Params::Keys(0)),
    ("min and max", "SELECT MIN(a), MAX(a), MIN(d1), MAX(s) FROM w", Params::Keys(0)),
    ("few groups", "SELECT b, COUNT(*), SUM(a) FROM w GROUP BY b", Params::Keys(0)),
    ("many groups", "SELECT a, COUNT(*) FROM w GROUP BY a", Params::Keys(0)),
    ("text groups", "SELECT s, COUNT(*) FROM w GROUP BY s", Params::Keys(0)),
    ("count distinct", "SELECT COUNT(DISTINCT a) FROM w", Params::Keys(0)),
    ("grouped count distinct", "SELECT b, COUNT(DISTINCT a) FROM w GROUP BY b", Params::Keys(0)),
    ("distinct", "SELECT DISTINCT b, s FROM w", Params::Keys(0)),
    ("hash join", "SELECT /*+ HASH_JOIN(w, v) */ COUNT(*) FROM w JOIN v ON w.a = v.b", Params::Keys(0)),
    ("loop join", "SELECT COUNT(v.s) FROM w JOIN v ON v.id = w.a", Params::Keys(0)),
    ("semijoin", "SELECT COUNT(*) FROM w WHERE a IN (SELECT b FROM v)", Params::Keys(0)),
    ("exists", "SELECT COUNT(*) FROM w WHERE EXISTS (SELECT * FROM v WHERE v.id = w.a AND v.b > 3)", Params::Keys(0)),
    ("correlated", "SELECT COUNT(*) FROM w WHERE a < (SELECT AVG(b) FROM v WHERE v.id < w.b)", Params::Keys(0)),
    ("sort", "SELECT id FROM w ORDER BY s, a", Params::Keys(0)),
    ("offset", "SELECT * FROM t ORDER BY id LIMIT 19000, 10", Params::Keys(0)),
    ("offset after sort", "SELECT * FROM t ORDER BY pad LIMIT 19000, 10", Params::Keys(0)),
];

#[derive(Clone, Copy)]
enum Params {
    /// So many random keys.
    Keys(usize),
    /// A random range of so many keys.
    Range(i64),
    Text(&'static str),
    /// The next key.
    Next,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as i64
    }
}

fn fill(db: &mut Database) {
    let run = |db: &mut Database, sql: &str| {
        db.run(sql).expect(sql);
    };
    let t = "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY (k)";
    run(db, &format!("CREATE TABLE t ({t}) COLLATE utf8mb4_general_ci"));
    let w = "id INT PRIMARY KEY, a INT NOT NULL, b INT, s VARCHAR(40), u VARCHAR(40), d1 DATE, d2 DATE, t1 DATETIME, \
             n DECIMAL(12, 2), i1 INT, i2 INT, i3 INT, i4 INT, i5 INT, i6 INT, i7 INT, i8 INT";
    run(db, &format!("CREATE TABLE w ({w})"));
    run(db, &format!("CREATE TABLE v ({w})"));
    let mut random = Random(7);
    for from in (0..ROWS).step_by(500) {
        let (mut t, mut w) = (Vec::new(), Vec::new());
        for id in from + 1..=from + 500 {
            let r = random.below(1 << 40);
            t.push(format!("({id}, {}, '{r:0>110}', '{r:0>55}')", r % ROWS));
            let (day, other) = (r % 28 + 1, r / 31 % 28 + 1);
            w.push(format!(
                "({id}, {}, {}, 'text {}', 'text {}', '2024-0{}-{day:02}', '2024-05-{other:02}', '2024-03-{day:02} 12:00:00', {}.25, 1, 2, 3, 4, 5, 6, 7, 8)",
                r % ROWS,
                r % 10,
                r % 300,
                r / 7 % 300,
                r % 9 + 1,
                r % 1000,
            ));
        }
        run(db, &format!("INSERT INTO t VALUES {}", t.join(",")));
        run(db, &format!("INSERT INTO w VALUES {}", w.join(",")));
        if from < ROWS / 4 {
            run(db, &format!("INSERT INTO v VALUES {}", w.join(",")));
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (only, times) = (args.next().unwrap_or_default(), args.next().map(|n| n.parse::<u64>().expect("a number")));
    let mut db = Database::with("costs", |options| {
        options.buffer_pool_bytes = 256 << 20;
        options.flush_policy = FlushPolicy::EverySecond;
    });
    db.recorder = None;
    fill(&mut db);
    for (name, sql, params) in
        SHAPES.iter().filter(|(name, ..)| times.is_none() && name.contains(&only) || *name == only)
    {
        let marks = if let Params::Keys(n) = params { vec!["?"; *n].join(",") } else { String::new() };
        let plan = db.plan(&sql.replace('#', &marks));
        let (mut random, mut next) = (Random(3), 0);
        let mut once = |db: &mut Database| {
            let values = match params {
                Params::Keys(n) => (0..*n).map(|_| Value::Int(random.below(ROWS) + 1)).collect(),
                Params::Range(n) => {
                    let from = random.below(ROWS - n) + 1;
                    vec![Value::Int(from), Value::Int(from + n - 1)]
                }
                Params::Text(text) => vec![Value::text(text)],
                Params::Next => {
                    next += 1;
                    vec![Value::Int(next)]
                }
            };
            db.execute(&plan, &values).unwrap_or_else(|e| panic!("{name}: {e:?}"))
        };
        for _ in 0..3 {
            once(&mut db);
        }
        if let Some(times) = times {
            for _ in 0..times {
                once(&mut db);
            }
            continue;
        }
        let (begin, cpu) = (Instant::now(), cpu_us());
        let mut count = 0;
        while begin.elapsed().as_millis() < 200 {
            once(&mut db);
            count += 1;
        }
        println!("{name:30} {:10.2} us", (cpu_us() - cpu) / f64::from(count));
    }
}

/// Processor time of this thread in microseconds.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
