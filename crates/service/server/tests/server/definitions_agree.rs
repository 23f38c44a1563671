//! Whatever ALTER TABLE does to a table, its rows hold what its expressions give, and its indexes hold what its rows
//! hold.
//!
//! `GANNET_DEFINITIONS_SEED` begins with another seed, `GANNET_DEFINITIONS_TABLES` makes more tables.

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

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

const NUMBERS: &[&str] =
    &["INT", "INT UNSIGNED", "BIGINT", "INT(6) ZEROFILL", "INT(4) ZEROFILL", "DECIMAL(8,2)", "DOUBLE", "INT NOT NULL"];
const TEXTS: &[&str] = &[
    "VARCHAR(10)",
    "VARCHAR(30)",
    "VARCHAR(10) COLLATE utf8mb4_bin",
    "VARCHAR(10) COLLATE utf8mb4_general_ci",
    "CHAR(10)",
    "VARCHAR(10) CHARACTER SET latin1",
    "VARBINARY(10)",
];
const ENUMS: &[&str] = &["ENUM('a','b')", "ENUM('a','b','c')", "ENUM('a','B')", "VARCHAR(3)"];
const TIMES: &[&str] = &["DATETIME(2)", "DATETIME(0)", "DATE", "TIMESTAMP(2) NULL"];
const INTEGERS: &[&str] = &["BIGINT", "SMALLINT", "DECIMAL(12,2)"];
const STRINGS: &[&str] = &["VARCHAR(40)", "VARCHAR(4)", "CHAR(40)", "VARCHAR(50) COLLATE utf8mb4_bin"];

struct Shape {
    /// STORED or VIRTUAL.
    kept: &'static str,
    checks: u32,
}

impl Shape {
    fn g(&self, r: &mut Random) -> String {
        let expr =
            r.of(&["n * 10 + m", "IFNULL(n, 0) - m", "DEFAULT(n) + m", "LENGTH(s)", "s = 'AB'", "e = 'B'", "e + 0"]);
        format!("g {} AS ({expr}) {}", r.of(INTEGERS), self.kept)
    }

    fn h(&self, r: &mut Random) -> String {
        let expr =
            r.of(&["CONCAT(n, s)", "CONCAT(s, '.', m)", "UPPER(s)", "CONCAT(e, DEFAULT(s))", "CONCAT(t, n)", "HEX(s)"]);
        format!("h {} AS ({expr}) {}", r.of(STRINGS), self.kept)
    }
}

fn functional(r: &mut Random) -> &'static str {
    r.of(&["n + m", "CONCAT(n, 'x')", "UPPER(s)", "s = 'AB'", "CONCAT(g, h)", "DEFAULT(m) + n"])
}

/// Some actions that belong together.
fn actions(r: &mut Random, shape: &mut Shape) -> String {
    let number = |r: &mut Random| format!("{} DEFAULT {}", r.of(NUMBERS), r.below(9));
    let text = |r: &mut Random| format!("{} DEFAULT '{}'", r.of(TEXTS), r.of(&["ab", "AB", "c"]));
    // An expression must not outlive the names in it.
    let anew = |r: &mut Random, shape: &Shape| {
        format!("MODIFY {}, MODIFY {}, DROP INDEX f, ADD INDEX f (({}))", shape.g(r), shape.h(r), functional(r))
    };
    match r.below(14) {
        0 | 1 => format!("RENAME COLUMN n TO m, RENAME COLUMN m TO n, {}", anew(r, shape)),
        2 => format!("DROP COLUMN m, ADD COLUMN m {} AFTER n, {}", number(r), anew(r, shape)),
        3 => format!("MODIFY n {}", number(r)),
        4 => format!("MODIFY m {} {}", number(r), r.of(&["", "FIRST", "AFTER s"])),
        5 | 6 => format!("MODIFY s {}", text(r)),
        7 => format!("MODIFY e {}", r.of(ENUMS)),
        8 => format!("MODIFY t {}", r.of(TIMES)),
        9 => format!("ALTER n SET DEFAULT {}, ALTER s SET DEFAULT '{}'", r.below(9), r.of(&["x", "AB"])),
        10 => format!("MODIFY {}", shape.g(r)),
        11 => format!("MODIFY {}", shape.h(r)),
        12 => format!("CONVERT TO CHARACTER SET {}", r.of(&["latin1", "utf8mb4 COLLATE utf8mb4_bin", "utf8mb4"])),
        _ => {
            shape.checks += 1;
            let check = r.of(&["m + IFNULL(n, 0) > -9", "s <> 'zz'", "DEFAULT(n) < 9"]);
            format!("ADD CONSTRAINT c{} CHECK ({check})", shape.checks)
        }
    }
}

/// The table agrees with itself, and with a table of the same definition into which the plain columns are inserted.
fn agrees(c: &mut Connection, what: &str) {
    let checked = rows(c, "CHECK TABLE t");
    assert_eq!(checked, [["d.t", "check", "status", "OK"]], "{what}");
    run(c, "CREATE TABLE again LIKE t");
    run(c, "INSERT INTO again (id, n, m, s, e, t) SELECT id, n, m, s, e, t FROM t");
    let columns = "SELECT id, n, m, s, e, t, g, h FROM";
    let held = rows(c, &format!("{columns} t ORDER BY id"));
    assert_eq!(held, rows(c, &format!("{columns} again ORDER BY id")), "{what}");
    assert_eq!(held.len() as u64, rows(c, "SELECT id FROM t FORCE INDEX (f)").len() as u64, "{what}");
    run(c, "DROP TABLE again");
}

fn insert(c: &mut Connection, r: &mut Random) {
    let text = r.of(&["'ab'", "'AB'", "'long text'", "NULL", "'Ab '"]);
    let sql = format!(
        "INSERT INTO t (n, m, s, e, t) VALUES ({}, {}, {text}, '{}', '2024-01-0{} 10:11:12.345')",
        r.of(&["1", "22", "NULL", "300"]),
        r.below(99),
        r.of(&["a", "b"]),
        1 + r.below(9)
    );
    // A check or a type may refuse it.
    let _ = c.query(&sql);
}

#[test]
fn rows_hold_what_expressions_give() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (seed, count) = (number("GANNET_DEFINITIONS_SEED", 1), number("GANNET_DEFINITIONS_TABLES", 12));
    let server = Running::start();
    let mut c = server.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    // Values that do not fit are cut, so that most alterations succeed.
    run(&mut c, "SET sql_mode = ''");
    let (mut done, mut refused) = (0, 0);
    for n in seed..seed + count {
        let r = &mut Random(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut shape = Shape { kept: r.of(&["STORED", "VIRTUAL"]), checks: 0 };
        let sql = format!(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT DEFAULT 5, m INT DEFAULT 7, s VARCHAR(10) DEFAULT 'ab', \
             e ENUM('a','b'), t DATETIME(2), {}, {}, KEY g (g), KEY h (h(3), g), KEY f (({})))",
            shape.g(r),
            shape.h(r),
            functional(r)
        );
        run(&mut c, &sql);
        for _ in 0..6 {
            insert(&mut c, r);
        }
        for _ in 0..8 {
            let actions: Vec<String> = (0..1 + r.below(2)).map(|_| actions(r, &mut shape)).collect();
            let alter = format!("ALTER TABLE t {}", actions.join(", "));
            match c.query(&alter) {
                Ok(_) => done += 1,
                Err(e) => {
                    refused += 1;
                    // An error of the server's own, which no definition may cause.
                    assert_ne!(e.code(), Some(1815), "seed {n}: {alter}: {e}");
                }
            }
            agrees(&mut c, &format!("seed {n}: {alter}"));
            insert(&mut c, r);
            let _ = c.query("UPDATE t SET n = n + 1 ORDER BY id LIMIT 2");
            agrees(&mut c, &format!("seed {n}, changed after {alter}"));
        }
        run(&mut c, "DROP TABLE t");
    }
    println!("{done} alterations done, {refused} refused");
    assert!(done * 3 > refused, "too few alterations: {done} done, {refused} refused");
}
