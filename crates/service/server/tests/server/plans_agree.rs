//! Plans differ in work, not in rows: generated queries give the same rows whichever ways of reading a table are
//! allowed.
//!
//! `GANNET_PLANS_SEED` begins with another seed, `GANNET_PLANS_QUERIES` makes more of them, `GANNET_PLANS_SHOW` prints
//! them.

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

const TABLES: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT NOT NULL, s VARCHAR(10), d DATE, \
     KEY a (a), KEY b (b), KEY c (c), KEY ab (a, b, c), KEY sc (s, c), KEY da (d, a DESC), KEY s2 (s(2)))",
    // Without a primary key rows have hidden numbers.
    "CREATE TABLE h (id INT, a INT, b INT, c INT NOT NULL, s VARCHAR(10), d DATE, \
     KEY a (a), KEY b (b), KEY cab (c, a, b), KEY s (s), KEY d (d))",
];

fn fill(c: &mut Connection) {
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    run(c, "SET cte_max_recursion_depth = 10000");
    for (table, name) in TABLES.iter().zip(["t", "h"]) {
        run(c, table);
        run(
            c,
            &format!(
                "INSERT INTO {name} WITH RECURSIVE n (i, h) AS (SELECT 1, CRC32('{name}') UNION ALL SELECT i + 1, CRC32(CONCAT(h, i)) \
                 FROM n WHERE i < 1500) SELECT i, IF(h % 13 = 0, NULL, h % 23), IF(h DIV 16 % 11 = 0, NULL, h DIV 16 % 37), h DIV 64 % 9, \
                 IF(h % 17 = 0, NULL, CONCAT(ELT(h DIV 128 % 4 + 1, 'a', 'A', 'b', 'é'), h DIV 32 % 6)), \
                 DATE('2024-01-01') + INTERVAL h DIV 256 % 12 DAY FROM n"
            ),
        );
        run(c, &format!("ANALYZE TABLE {name}"));
    }
}

fn condition(r: &mut Random, depth: u32) -> String {
    if depth > 0 && r.below(3) > 0 {
        let word = r.of(&[" AND ", " OR ", " OR "]);
        let parts: Vec<String> = (0..2 + r.below(2)).map(|_| condition(r, depth - 1)).collect();
        return format!("({})", parts.join(word));
    }
    let n = r.below(25);
    match r.below(12) {
        0 => format!("a = {n}"),
        1 => format!("b = {n}"),
        2 => format!("c = {}", n % 10),
        3 => format!("b < {}", n / 4),
        4 => format!("id BETWEEN {} AND {}", n * 10, n * 12),
        5 => format!("s = '{}{}'", r.of(&["a", "B", "é"]), n % 6),
        6 => format!("{} IS NULL", r.of(&["a", "b", "s"])),
        7 => format!("a IN ({n}, {}, NULL, {})", n / 2, n / 3),
        8 => format!("s LIKE '{}%'", r.of(&["a", "b", "_1", "%2"])),
        9 => format!("d = '2024-01-{:02}'", n % 12 + 1),
        10 => format!("c > {}", n % 9),
        _ => format!("b NOT IN ({n}, 3, {})", n / 2),
    }
}

fn query(r: &mut Random) -> String {
    let table = r.of(&["t", "h"]);
    let filter = match r.below(4) {
        0 => String::new(),
        n => format!(" WHERE {}", condition(r, n as u32 - 1)),
    };
    let group = r.of(&["a", "b", "c", "s", "a, b", "d", "c, a", "s, c", "d, a"]);
    let simple = match r.below(4) {
        0 => String::new(),
        1 => format!(" WHERE a = {}", r.below(23)),
        2 => format!(" WHERE c > {} AND b = {}", r.below(9), r.below(37)),
        _ => format!(" WHERE b < {}", r.below(37)),
    };
    match r.below(10) {
        0 => format!("SELECT DISTINCT {group} FROM {table}{simple}"),
        1 => format!("SELECT {group}, MIN(b), MAX(b) FROM {table}{simple} GROUP BY {group}"),
        2 => format!("SELECT {group}, MIN(c) FROM {table}{simple} GROUP BY {group}"),
        3 => format!("SELECT {group}, MAX(a) FROM {table}{simple} GROUP BY {group}"),
        4 => format!("SELECT COUNT(DISTINCT {group}) FROM {table}{simple}"),
        5 => format!("SELECT a, COUNT(DISTINCT b) FROM {table}{simple} GROUP BY a"),
        6 => format!("SELECT a, b, c FROM {table}{simple}"),
        7 => format!(
            "SELECT t.id, h.id FROM t JOIN h ON t.a = h.b AND t.id = h.c * 20 OR t.id = h.id AND h.a = 3 WHERE t.id < 40{filter}"
        )
        .replace("40 WHERE ", "40 AND ")
        .replace(" a ", " t.a ")
        .replace("(a ", "(t.a ")
        .replace(" b ", " h.b ")
        .replace("(b ", "(h.b ")
        .replace(" c ", " t.c ")
        .replace("(c ", "(t.c ")
        .replace(" id ", " t.id ")
        .replace("(id ", "(t.id ")
        .replace(" s ", " h.s ")
        .replace("(s ", "(h.s ")
        .replace(" d ", " h.d ")
        .replace("(d ", "(h.d "),
        _ => format!("SELECT * FROM {table}{filter}"),
    }
}

/// Each, alone or together, leaves another way of reading.
const SWITCHES: &[&str] = &[
    "index_merge=off,skip_scan=off",
    "index_merge_union=off",
    "index_merge_union=off,index_merge_sort_union=off,index_merge_intersection=off",
    "block_nested_loop=off,index_condition_pushdown=off,prefer_ordering_index=off",
];
const HINTS: &[&str] = &[
    "INDEX_MERGE(t) INDEX_MERGE(h)",
    "NO_INDEX_MERGE(t) NO_SKIP_SCAN(h)",
    "SKIP_SCAN(t) SKIP_SCAN(h)",
    "NO_INDEX(t) NO_INDEX(h)",
];

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    // Of texts that are equal any may stand for its group.
    rows.iter_mut().flatten().for_each(|v| *v = v.to_lowercase());
    rows.sort();
    rows
}

#[test]
fn other_plans_give_the_same_rows() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (seed, count) = (number("GANNET_PLANS_SEED", 1), number("GANNET_PLANS_QUERIES", 30));
    let server = Running::start();
    let mut c = server.connect();
    fill(&mut c);
    let (mut merged, mut skipped, mut loose) = (0, 0, 0);
    for n in seed..seed + count {
        let sql = query(&mut Random(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
        let extra: String = rows(&mut c, &format!("EXPLAIN {sql}")).into_iter().filter_map(|mut r| r.pop()).collect();
        merged += u32::from(["union(", "intersect("].iter().any(|w| extra.contains(w)));
        skipped += u32::from(extra.contains("skip scan"));
        loose += u32::from(extra.contains("group-by"));
        if std::env::var_os("GANNET_PLANS_SHOW").is_some() {
            println!("{n}: {sql}: {extra}");
        }
        let expected = sorted(rows(&mut c, &sql));
        for switch in SWITCHES {
            run(&mut c, &format!("SET optimizer_switch = '{switch}'"));
            assert_eq!(sorted(rows(&mut c, &sql)), expected, "seed {n}, {switch}: {sql}");
            run(&mut c, "SET optimizer_switch = DEFAULT");
        }
        for hint in HINTS {
            let hinted = sql.replacen("SELECT", &format!("SELECT /*+ {hint} */"), 1);
            assert_eq!(sorted(rows(&mut c, &hinted)), expected, "seed {n}: {hinted}");
        }
    }
    assert!(
        merged > 0 && skipped > 0 && loose > 1,
        "too few plans: {merged} merges, {skipped} skip scans, {loose} loose"
    );
}
