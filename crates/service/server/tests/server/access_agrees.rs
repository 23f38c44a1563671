//! The same rows by every way to a table: generated tables, with keys of all shapes over columns of all types, are asked
//! and changed beside tables of the same rows that have no keys.
//!
//! `GANNET_ACCESS_SEED` begins with another seed, `GANNET_ACCESS_TABLES` makes more tables.

use crate::common::{Running, rows, run};
use gannet_wire::client::{Connection, Error};

/// A generator of numbers (xorshift64*), seeded.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n as u64) as usize
    }

    fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A type: what its columns have, and what they are compared with besides.
struct Kind {
    ty: &'static str,
    values: &'static [&'static str],
    others: &'static [&'static str],
    /// Keys may take its first characters; `Always`: no key has more.
    cut: Cut,
}

#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    Mayhap,
    Always,
}

const WORDS: &[&str] = &[
    "''", "'a'", "'A'", "'a '", "'ab'", "'aB'", "'abc'", "'b'", "'ba'", "'á'", "'ß'", "'ss'", "'ab c'", "'a%'", "'10'",
    "'1'", "' a'", "'zz'", "'\\t'", "'a\\t'", "'abcdef'",
];
const BESIDE_WORDS: &[&str] = &["'a  '", "'AB'", "'abcdefghij'", "1", "10", "1e1", "X'61'"];
const LONG: &[&str] =
    &["0", "1", "-1", "5", "9223372036854775807", "-9223372036854775808", "9007199254740992", "9007199254740993"];
const BESIDE_LONG: &[&str] =
    &["9007199254740992e0", "9223372036854775807.5", "9.223372036854775807e18", "18446744073709551615", "0.5", "'1'"];

const fn kind(ty: &'static str, values: &'static [&'static str], others: &'static [&'static str], cut: Cut) -> Kind {
    Kind { ty, values, others, cut }
}

const KINDS: &[Kind] = &[
    kind("TINYINT", &["0", "1", "-1", "7", "127", "-128"], &["128", "-129", "0.5", "1e300", "'7'"], Cut::Never),
    kind("INT UNSIGNED", &["0", "1", "2", "5", "4294967295"], &["-1", "4294967295.5", "4294967296"], Cut::Never),
    kind("BIGINT", LONG, BESIDE_LONG, Cut::Never),
    kind("BIGINT UNSIGNED", &["0", "1", "9007199254740993", "18446744073709551615"], BESIDE_LONG, Cut::Never),
    kind("DECIMAL(6,2)", &["0", "1", "-1.25", "1.25", "9999.99"], &["1.255", "1e4", "0.005", "1.25e0"], Cut::Never),
    kind("DOUBLE", &["0", "1", "-0e0", "0.1", "1.7e308", "5e-324"], &["0.1", "1e0", "9007199254740993"], Cut::Never),
    kind("FLOAT", &["0", "1", "-1", "0.1", "3.4e38"], &["0.1", "3.5e38", "0.10000000149011612"], Cut::Never),
    kind("BIT(5)", &["0", "1", "3", "31"], &["32", "-1"], Cut::Never),
    kind("YEAR", &["0", "1901", "2000", "2155"], &["20", "1900", "0.5"], Cut::Never),
    kind("DATE", &["'2020-01-01'", "'2020-02-29'", "'1000-01-01'"], &["20200101", "'2020-01-01 12:00:00'"], Cut::Never),
    kind(
        "DATETIME(1)",
        &["'2020-01-01'", "'2020-01-01 12:00:00.5'", "'9999-12-31 23:59:59'"],
        &["DATE'2020-01-01'", "'2020-01-01 12:00:00.55'", "20200101120000"],
        Cut::Never,
    ),
    kind("TIMESTAMP", &["'2020-01-01'", "'2038-01-19 03:14:07'"], &["'1969-01-01'", "20200101"], Cut::Never),
    kind("TIME", &["'00:00:00'", "'-12:00:00'", "'838:59:59'"], &["'839:00:00'", "'12:00:00.5'", "120000"], Cut::Never),
    kind("ENUM('b','a','C','10')", &["'b'", "'a'", "'C'", "'10'"], &["3", "'B'", "'x'"], Cut::Never),
    kind("CHAR(4) COLLATE utf8mb4_0900_ai_ci", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("VARCHAR(10) COLLATE utf8mb4_0900_ai_ci", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("VARCHAR(10) COLLATE utf8mb4_0900_as_cs", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("VARCHAR(10) COLLATE utf8mb4_0900_bin", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("VARCHAR(10) COLLATE utf8mb4_general_ci", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("VARCHAR(10) COLLATE latin1_swedish_ci", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("TEXT COLLATE utf8mb4_unicode_ci", WORDS, BESIDE_WORDS, Cut::Always),
    kind("VARBINARY(10)", WORDS, BESIDE_WORDS, Cut::Mayhap),
    kind("BLOB", WORDS, BESIDE_WORDS, Cut::Always),
];

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A table, and beside it `NAME_plain`.
struct Table {
    name: &'static str,
    create: String,
    kinds: [&'static Kind; 3],
    /// The values of its rows, by column.
    values: [Vec<&'static str>; 3],
    /// Names of keys, and their columns in order.
    keys: Vec<(String, Vec<usize>)>,
}

/// Some columns as parts of a key, and which they are.
fn parts(r: &mut Random, kinds: &[&Kind; 3], of: &[usize], with_id: bool) -> (String, Vec<usize>) {
    let mut left = of.to_vec();
    let (mut parts, mut columns) = (Vec::new(), Vec::new());
    for _ in 0..1 + r.below(left.len()) {
        let i = left.swap_remove(r.below(left.len()));
        columns.push(i);
        let cut = kinds[i].cut == Cut::Always || kinds[i].cut == Cut::Mayhap && r.percent(50);
        let cut = if cut { format!("({})", 1 + r.below(3)) } else { String::new() };
        parts.push(format!("{}{cut}{}", NAMES[i], r.of(&["", "", " DESC"])));
    }
    if with_id {
        parts.insert(r.below(parts.len() + 1), "id".into());
    }
    (parts.join(", "), columns)
}

impl Table {
    fn any(r: &mut Random, name: &'static str) -> Table {
        let pool = [(); 2].map(|()| r.below(KINDS.len()));
        let few = r.percent(50);
        let kinds: [&Kind; 3] = [(); 3].map(|()| if few { &KINDS[r.of(&pool)] } else { &KINDS[r.below(KINDS.len())] });
        let known = [(); 3].map(|()| r.percent(50));
        let columns: Vec<String> = (0..3)
            .map(|i| format!("{} {} {}", NAMES[i], kinds[i].ty, if known[i] { "NOT NULL" } else { "NULL" }))
            .collect();
        let never_null: Vec<usize> = (0..3).filter(|i| known[*i]).collect();
        let mut definitions = Vec::new();
        match r.below(4) {
            0 if !never_null.is_empty() => {
                let with_id = r.percent(50);
                definitions.push(format!("PRIMARY KEY ({})", parts(r, &kinds, &never_null, with_id).0));
            }
            1 => {}
            _ => definitions.push("PRIMARY KEY (id)".into()),
        }
        let mut keys = Vec::new();
        for n in 0..1 + r.below(3) {
            let (unique, with_id) = (r.of(&["", "", "", "UNIQUE "]), r.percent(15));
            let (parts, columns) = parts(r, &kinds, &[0, 1, 2], with_id);
            definitions.push(format!("{unique}KEY k{n} ({parts})"));
            keys.push((format!("k{n}"), columns));
        }
        let placed = definitions.iter().all(|d| d.starts_with("KEY") || d == "PRIMARY KEY (id)");
        let parted = if placed && r.percent(40) {
            r.of(&[
                " PARTITION BY HASH (id) PARTITIONS 3",
                " PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (20), PARTITION q VALUES LESS THAN MAXVALUE)",
            ])
        } else if !definitions.iter().any(|d| d.contains("UNIQUE") || d.contains("PRIMARY"))
            && kinds[0].cut != Cut::Always
            && r.percent(50)
        {
            " PARTITION BY KEY (a) PARTITIONS 3"
        } else {
            ""
        };
        let create = format!(
            "CREATE TABLE {name} (id INT NOT NULL, {}, {}){parted}",
            columns.join(", "),
            definitions.join(", ")
        );
        let values = [0, 1, 2].map(|i: usize| (0..2 + r.below(6)).map(|_| r.of(kinds[i].values)).collect());
        Table { name, create, kinds, values, keys }
    }

    fn make(&self, r: &mut Random, c: &mut Connection) {
        let plain = format!("{}_plain", self.name);
        run(c, &format!("DROP TABLE IF EXISTS {}, {plain}", self.name));
        run(c, &self.create);
        run(c, &format!("CREATE TABLE {plain} AS SELECT * FROM {}", self.name));
        let count = r.of(&[1, 30, 30, 80]);
        for id in 1..=count {
            run(c, &format!("INSERT IGNORE INTO {} VALUES ({id}, {})", self.name, self.row(r)));
        }
        self.copy(c);
        if r.percent(30) {
            run(c, &format!("ANALYZE TABLE {}", self.name));
        }
    }

    fn row(&self, r: &mut Random) -> String {
        [0, 1, 2].map(|i| if r.percent(12) { "NULL" } else { r.of(&self.values[i]) }).join(", ")
    }

    fn copy(&self, c: &mut Connection) {
        run(c, &format!("TRUNCATE TABLE {}_plain", self.name));
        run(c, &format!("INSERT INTO {0}_plain SELECT * FROM {0}", self.name));
    }

    fn constant(&self, r: &mut Random, column: usize) -> &'static str {
        match r.below(20) {
            0..=12 => r.of(&self.values[column]),
            13 | 14 => r.of(self.kinds[column].values),
            15..=18 => r.of(self.kinds[column].others),
            _ => r.of(&["NULL", "(SELECT 1)", "(SELECT 9007199254740992e0)"]),
        }
    }

    /// A comparison of a column of `of`, the table's name in the query, with constants or columns of `beside`.
    fn atom(&self, r: &mut Random, of: &str, beside: Option<&str>) -> String {
        let i = r.below(3);
        let column = format!("{of}.{}", NAMES[i]);
        let value = |r: &mut Random| match beside {
            Some(t) if r.percent(50) => format!("{t}.{}", if r.percent(60) { NAMES[i] } else { r.of(&NAMES) }),
            _ => self.constant(r, i).to_owned(),
        };
        match r.below(20) {
            0..=5 => format!("{column} = {}", value(r)),
            6 | 7 => format!("{column} {} {}", r.of(&["<", "<=", ">", ">=", "<>", "<=>"]), value(r)),
            8 | 9 => format!("{column} {} ({}, {}, {})", r.of(&["IN", "IN", "NOT IN"]), value(r), value(r), value(r)),
            10 | 11 => format!("{column} {}BETWEEN {} AND {}", r.of(&["", "", "NOT "]), value(r), value(r)),
            12 | 13 => {
                format!("{column} LIKE {}", r.of(&["'a%'", "'ab%'", "'a'", "'A_'", "'%b'", "'ss%'", "'10%'", "''"]))
            }
            14 => format!("{column} IS {}NULL", r.of(&["", "NOT "])),
            15 => format!("{of}.id {} {}", r.of(&["=", "<", ">="]), r.below(60)),
            16 => format!("{column} = {of}.{}", r.of(&NAMES)),
            _ => {
                let j = (i + 1 + r.below(2)) % 3;
                let (x, y) = (value(r), self.constant(r, j));
                let (z, u) = (self.constant(r, i), self.constant(r, j));
                let pair = format!("({column}, {of}.{})", NAMES[j]);
                match r.below(3) {
                    0 => format!("{pair} IN (({x}, {y}), ({z}, {u}))"),
                    1 => format!("{pair} {} ({x}, {y})", r.of(&["=", ">", "<="])),
                    _ => format!("{column} = {x} AND {of}.{} {} {y}", NAMES[j], r.of(&["=", "=", ">", "<"])),
                }
            }
        }
    }

    /// Values of a key's first columns, and of the last of them a range or none.
    fn along(&self, r: &mut Random, of: &str, beside: Option<&str>) -> String {
        let columns = &self.keys[r.below(self.keys.len())].1;
        let mut all = Vec::new();
        for &i in columns {
            let column = format!("{of}.{}", NAMES[i]);
            let value = |r: &mut Random| match beside {
                Some(t) if r.percent(50) => format!("{t}.{}", NAMES[i]),
                _ => self.constant(r, i).to_owned(),
            };
            match r.below(10) {
                0..=5 => all.push(format!("{column} = {}", value(r))),
                6 | 7 => all.push(format!("{column} IN ({}, {})", value(r), value(r))),
                8 => {
                    all.push(format!("{column} {} {}", r.of(&["<", ">="]), value(r)));
                    break;
                }
                _ if all.is_empty() => all.push(format!("{column} = {}", value(r))),
                _ => break,
            }
        }
        all.join(" AND ")
    }

    fn condition(&self, r: &mut Random, depth: u32, of: &str, beside: Option<&str>) -> String {
        match r.below(if depth == 0 { 5 } else { 10 }) {
            0 | 1 => self.atom(r, of, beside),
            2..=4 => self.along(r, of, beside),
            n => {
                let (a, b) = (self.condition(r, depth - 1, of, beside), self.condition(r, depth - 1, of, beside));
                format!("({a} {} {b})", if n < 8 { "AND" } else { "OR" })
            }
        }
    }
}

/// An order in which no two rows are equal.
fn order(r: &mut Random, of: &str) -> String {
    let way = r.of(&["", " DESC"]);
    let (x, y) = (r.of(&NAMES), r.of(&NAMES));
    format!("{of}.{x}{way}, {of}.{y}{}, {of}.id{way}", if r.percent(70) { way } else { "" })
}

/// A query over `{T}` and `{U}`; its rows have an order.
fn query(r: &mut Random, t: &Table, u: &Table) -> (String, bool) {
    let w = t.condition(r, 2, "t", None);
    let (x, y) = (r.of(&NAMES), r.of(&NAMES));
    let on = u.condition(r, 1, "u", Some("t"));
    match r.below(16) {
        0..=4 => (format!("SELECT * FROM {{T}} t WHERE {w}"), false),
        5 | 6 => {
            let limit = r.of(&["", " LIMIT 1", " LIMIT 3", " LIMIT 2, 5"]);
            (format!("SELECT t.id FROM {{T}} t WHERE {w} ORDER BY {}{limit}", order(r, "t")), true)
        }
        7 => (format!("SELECT COUNT(*), SUM(t.id), MIN(t.id) FROM {{T}} t WHERE {w} GROUP BY t.{x}, t.{y}"), false),
        8 => (format!("SELECT COUNT(*), SUM(t.id) FROM {{T}} t WHERE {w} GROUP BY t.{x} WITH ROLLUP"), false),
        9 => (format!("SELECT COUNT(*) FROM (SELECT DISTINCT t.{x}, t.{y} FROM {{T}} t WHERE {w}) d"), false),
        10 => (format!("SELECT t.id, u.id FROM {{T}} t {}JOIN {{U}} u ON {on} WHERE {w}", r.of(&["", "LEFT "])), false),
        11 => (
            format!("SELECT t.id FROM {{T}} t WHERE {}EXISTS (SELECT 1 FROM {{U}} u WHERE {on})", r.of(&["", "NOT "])),
            false,
        ),
        12 => (format!("SELECT t.id, u.id FROM {{T}} t STRAIGHT_JOIN {{U}} u ON {on} WHERE t.id < 20"), false),
        13 => {
            let inside = format!("SELECT u.id FROM {{U}} u WHERE {on} ORDER BY {} LIMIT 1", order(r, "u"));
            (format!("SELECT t.id, ({inside}) FROM {{T}} t WHERE t.id < 20"), false)
        }
        14 => (
            format!(
                "(SELECT t.id FROM {{T}} t WHERE {w}) {} (SELECT u.id FROM {{U}} u WHERE u.id < 9)",
                r.of(&["UNION", "EXCEPT", "INTERSECT"])
            ),
            false,
        ),
        _ => (
            format!(
                "SELECT t.id FROM {{T}} t WHERE t.id IN (SELECT {}(u.id) FROM {{U}} u GROUP BY u.{x})",
                r.of(&["MIN", "MAX"])
            ),
            false,
        ),
    }
}

/// What a query gives: rows, or an error's number.
pub(crate) fn answer(c: &mut Connection, sql: &str, ordered: bool) -> Result<Vec<Vec<String>>, u16> {
    match c.query(sql) {
        Ok(set) => {
            let mut rows = set.texts();
            if !ordered {
                rows.sort();
            }
            Ok(rows)
        }
        Err(Error::Server { code, .. }) => Err(code),
        Err(e) => panic!("{sql}: {e}"),
    }
}

/// Errors of values that are met in the rows that one way reads and another does not.
fn depends_on_rows(answer: &Result<Vec<Vec<String>>, u16>) -> bool {
    matches!(answer, Err(1690 | 1525 | 1292))
}

fn change(r: &mut Random, t: &Table) -> String {
    let (name, i) = (t.name, r.below(3));
    let value = if r.percent(70) { r.of(&t.values[i]) } else { r.of(&NAMES) };
    let w = t.condition(r, 1, name, None);
    match r.below(8) {
        0..=3 => format!("UPDATE IGNORE {name} SET {} = {value} WHERE {w}", NAMES[i]),
        4 => format!("UPDATE IGNORE {name} SET id = id + 100, {} = {value} WHERE {w}", NAMES[i]),
        5 => format!("DELETE FROM {name} WHERE {w} LIMIT 3"),
        6 => format!("REPLACE INTO {name} VALUES ({}, {})", r.below(40), t.row(r)),
        _ => format!(
            "INSERT IGNORE INTO {name} VALUES ({}, {}) ON DUPLICATE KEY UPDATE {} = {value}",
            r.below(40),
            t.row(r),
            NAMES[i]
        ),
    }
}

/// Asks the tables and those beside them; in a snapshot that others have changed behind.
fn compare(r: &mut Random, c: &mut Connection, tables: &[Table; 2], seed: u64) {
    for _ in 0..25 {
        let n = r.below(2);
        let (t, u) = (&tables[n], &tables[if r.percent(70) { 1 - n } else { n }]);
        let (query, ordered) = query(r, t, u);
        let hint = |r: &mut Random, t: &Table| match r.below(3) {
            0 => format!(" FORCE INDEX ({})", t.keys[r.below(t.keys.len())].0),
            _ => String::new(),
        };
        let (by_t, by_u) = (hint(r, t), hint(r, u));
        let with =
            query.replace("{T} t", &format!("{} t{by_t}", t.name)).replace("{U} u", &format!("{} u{by_u}", u.name));
        let plain = query.replace("{T}", &format!("{}_plain", t.name)).replace("{U}", &format!("{}_plain", u.name));
        let (found, wanted) = (answer(c, &with, ordered), answer(c, &plain, ordered));
        if !depends_on_rows(&found) && !depends_on_rows(&wanted) {
            assert_eq!(found, wanted, "seed {seed}\n{};\n{};\n{with}", t.create, u.create);
        }
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn every_way_to_a_table_finds_the_same_rows() {
    let server = Running::start();
    let (mut c, mut writer) = (server.connect(), server.connect());
    run(&mut c, "CREATE DATABASE d");
    for c in [&mut c, &mut writer] {
        run(c, "USE d");
        run(c, "SET sql_mode = ''");
    }
    let first = setting("GANNET_ACCESS_SEED", 1);
    for seed in first..first + setting("GANNET_ACCESS_TABLES", 25) {
        let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let tables = ["t0", "t1"].map(|name| Table::any(&mut r, name));
        tables.iter().for_each(|t| t.make(&mut r, &mut c));
        compare(&mut r, &mut c, &tables, seed);
        run(&mut c, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        let mut changes = Vec::new();
        for _ in 0..6 {
            let t = &tables[r.below(2)];
            let change = change(&mut r, t);
            let _ = answer(&mut writer, &change, true);
            changes.push(change);
        }
        compare(&mut r, &mut c, &tables, seed);
        run(&mut c, "COMMIT");
        for t in &tables {
            let checked = rows(&mut c, &format!("CHECK TABLE {}", t.name));
            assert_eq!(checked[0][3], "OK", "seed {seed}: {checked:?}\n{};\n{}", t.create, changes.join(";\n"));
            t.copy(&mut c);
        }
        compare(&mut r, &mut c, &tables, seed);
    }
}
