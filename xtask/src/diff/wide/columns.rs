//! Columns: generated ones, defaults and CHECK; types that ALTER TABLE changes under data; ENUM, SET, BIT and YEAR.

use super::{Random, STEPS, Step, Story, one, small, word};
use std::fmt::Write;

/// Generated columns, expressions as defaults, CHECK.
pub(super) fn generated(random: &mut Random) -> Story {
    let kept = |random: &mut Random| one(random, &["VIRTUAL", "STORED"]);
    let number =
        one(random, &["a + b", "a * 2", "IFNULL(a, 0) - b", "a DIV 2", "a % 3", "CASE WHEN a > b THEN a ELSE b END"]);
    let text =
        one(random, &["CONCAT(s, '-', a)", "UPPER(s)", "LEFT(s, 2)", "REPLACE(s, 'a', 'xx')", "IF(a > 3, s, 'few')"]);
    let date = one(random, &["d + INTERVAL 1 MONTH", "LAST_DAY(d)", "DATE(d)", "d - INTERVAL 3 DAY"]);
    let check =
        one(random, &["a < 9", "a <> b", "b >= 0 OR a IS NULL", "CHAR_LENGTH(s) < 3", "v1 < 12", "d > '2020-02-01'"]);
    let second = one(random, &["", ", CONSTRAINT positive CHECK (b > -1)", ", CHECK (a + b < 14)"]);
    let (x, y, z) = (kept(random), kept(random), kept(random));
    let keys = one(random, &["", ", KEY (v1)", ", KEY (v2, v1)", ", UNIQUE KEY (v1, v2)", ", KEY (v3)"]);
    let default = one(random, &["(1 + 2)", "(a + 1)", "5", "(CHAR_LENGTH('abc'))"]);
    let setup = vec![format!(
        "CREATE TABLE g (id INT PRIMARY KEY, a INT, b INT NOT NULL DEFAULT 3, s VARCHAR(10), d DATE, v1 INT AS ({number}) {x}, \
         v2 VARCHAR(20) AS ({text}) {y}, v3 DATE AS ({date}) {z}, v4 INT AS (v1 + 1) {z}, x INT DEFAULT {default}, CHECK ({check}){second}{keys})"
    )];
    let steps = (0..STEPS).map(|_| generated_step(random)).collect();
    Story { theme: "generated", setup, steps, shown: vec!["SELECT * FROM g ORDER BY id".into()] }
}

fn day(random: &mut Random) -> String {
    format!("'2020-{:02}-{:02}'", 1 + random.below(4), 1 + random.below(28))
}

fn generated_step(random: &mut Random) -> Step {
    let id = 1 + random.below(15);
    let ignore = if random.percent(4) { "IGNORE " } else { "" };
    let (a, b, s, d) = (small(random, 11), random.below(6), word(random), day(random));
    let set = match random.below(7) {
        0 => format!("a = {a}"),
        1 => format!("b = {b}, a = a + 1"),
        2 => format!("s = {s}"),
        3 => format!("d = {d}"),
        4 => "v1 = DEFAULT, b = b + 1".into(),
        5 => format!("x = DEFAULT, s = {s}"),
        _ if random.percent(20) => format!("v2 = {s}"),
        _ => "b = b + 1, s = CONCAT(s, 'q')".into(),
    };
    let filter = one(
        random,
        &[
            "v1 > 4",
            "v2 LIKE '%a%'",
            "v3 < '2020-03-01'",
            "v1 = 3",
            "v2 = 'A'",
            "id < 6",
            "v4 IS NULL",
            "v2 IN ('ab', 'few')",
        ],
    );
    match random.below(18) {
        0..=4 => Step::new(format!("INSERT {ignore}INTO g (id, a, b, s, d) VALUES ({id}, {a}, {b}, {s}, {d})")),
        5 => Step::new(format!(
            "INSERT {ignore}INTO g VALUES ({id}, {a}, DEFAULT, {s}, {d}, DEFAULT, DEFAULT, DEFAULT, DEFAULT, {b})"
        )),
        6 => Step::new(format!("INSERT INTO g (id, a, v1) VALUES ({id}, {a}, {b})")),
        7 => Step::new(format!("REPLACE INTO g (id, a, s) VALUES ({id}, {a}, {s})")),
        8 => Step::new(format!("INSERT INTO g (id, a, s) VALUES ({id}, {a}, {s}) ON DUPLICATE KEY UPDATE {set}")),
        9..=11 => Step::new(format!("UPDATE {ignore}g SET {set} WHERE {filter} ORDER BY id")),
        12 => Step::new(format!("DELETE FROM g WHERE {filter} ORDER BY id LIMIT 2")),
        13 => Step::new(format!(
            "INSERT {ignore}INTO g (id, a, b, s, d) SELECT id + 7, v1, b, v2, v3 FROM g WHERE {filter} ORDER BY id"
        )),
        14 => Step::ordered(format!("SELECT id, v1, v2, v3 FROM g WHERE {filter} ORDER BY id")),
        15 => Step::ordered(format!("SELECT v1, COUNT(*), MIN(v4) FROM g WHERE {filter} GROUP BY v1 ORDER BY v1")),
        16 => Step::ordered("SELECT x.id, y.id FROM g x JOIN g y ON x.v1 = y.v4 ORDER BY x.id, y.id"),
        _ => Step::new(one(
            random,
            &[
                "ALTER TABLE g ADD COLUMN w INT AS (a + x) VIRTUAL",
                "ALTER TABLE g DROP COLUMN w",
                "ALTER TABLE g ADD COLUMN w INT AS (b * 2) STORED",
                "ALTER TABLE g ADD KEY kw (v4)",
                "ALTER TABLE g DROP KEY kw",
                "ALTER TABLE g MODIFY s VARCHAR(30)",
            ],
        )),
    }
}

/// A type, and what may be written into it.
type Filled = (&'static str, &'static [&'static str]);

/// Groups of types that ALTER TABLE changes into each other. Across groups MariaDB converts by other rules than a
/// store.
const GROUPS: &[&[Filled]] = &[
    &[
        ("INT", &["1", "-5", "2147483647", "127", "128", "70000", "0"]),
        ("TINYINT", &["1", "-5", "127", "0"]),
        ("SMALLINT UNSIGNED", &["1", "65535", "0", "255"]),
        ("INT UNSIGNED", &["1", "4294967295", "300", "0"]),
        ("BIGINT", &["1", "-9223372036854775808", "99999999999", "0", "20210304"]),
        ("BIGINT UNSIGNED", &["1", "18446744073709551615", "0"]),
        ("DECIMAL(8,2)", &["1.50", "-0.05", "123456.78", "99.99", "0"]),
        ("DECIMAL(20,6)", &["1.000001", "-12345678901.5", "0.5"]),
        ("DECIMAL(4,0)", &["9999", "-1", "0"]),
        ("DOUBLE", &["1.75", "-2.25", "1e5", "0"]),
        ("BIT(10)", &["1", "65", "1023", "0"]),
    ],
    &[
        ("VARCHAR(20)", &["'a'", "'12'", "'-3.7'", "''", "'b'", "'10:11:12'", "'abc def'", "'a,b'", "'é'"]),
        ("VARCHAR(3)", &["'a'", "'12'", "'-3'", "''", "'abc'"]),
        ("CHAR(5)", &["'a'", "'12'", "'abcde'", "''"]),
        ("TEXT", &["'a'", "'12'", "'some longer text'", "''", "'x1'"]),
        ("VARCHAR(10) CHARACTER SET latin1", &["'a'", "'é'", "'12'", "''"]),
        ("ENUM('a','b','12')", &["'a'", "'b'", "'12'"]),
        ("ENUM('12','a','é','b')", &["'a'", "'b'", "'12'"]),
        ("SET('a','b','12')", &["'a'", "'a,b'", "''", "'b,12'"]),
    ],
    &[
        ("VARBINARY(10)", &["'a'", "'12'", "'abcdefghij'", "''"]),
        ("BINARY(4)", &["'a'", "'12'", "'abcd'"]),
        ("BLOB", &["'a'", "'12'", "'abcdefghijklm'", "''"]),
    ],
    &[
        ("DATE", &["'2021-03-04'", "'1999-12-31'", "'2000-01-01'"]),
        ("DATETIME", &["'2021-03-04 10:11:12'", "'1999-12-31 23:59:59'"]),
        ("DATETIME(3)", &["'2021-03-04 10:11:12'", "'1999-12-31 23:59:59'"]),
        ("TIMESTAMP(2) NULL", &["'2021-03-04 10:11:12'", "'1999-12-31 23:59:59'"]),
        ("VARCHAR(30)", &["'2021-03-04'", "'1999-12-31 23:59:59'"]),
    ],
    &[("TIME", &["'10:11:12'", "'-01:00:00'", "'30:00:00'"]), ("TIME(2)", &["'10:11:12'", "'-01:00:00'"])],
];

/// A column that changes its type, over and over.
pub(super) fn altered(random: &mut Random) -> Story {
    let modes = ["", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"];
    let mut steps = vec![Step::new(format!("SET sql_mode = '{}'", one(random, &modes)))];
    let group = *random.pick(GROUPS);
    let (ty, values) = *random.pick(group);
    let null =
        |random: &mut Random, ty: &str| if ty.ends_with("NULL") { "" } else { one(random, &["", "", "", " NOT NULL"]) };
    let first = null(random, ty);
    let keys: &[&str] = if ty == "TEXT" || ty == "BLOB" { &[""] } else { &["", "", ", KEY (c)", ", KEY (o, c)"] };
    steps.push(Step::new(format!(
        "CREATE TABLE t (id INT PRIMARY KEY, c {ty}{first}, o INT DEFAULT 4{})",
        one(random, keys)
    )));
    let mut rows = String::new();
    for id in 1..=4 + random.below(4) {
        let value = if first.is_empty() && random.percent(10) { "NULL" } else { random.pick(values) };
        let _ = write!(rows, "{}({id}, {value})", if id > 1 { ", " } else { "" });
    }
    steps.push(Step::new(format!("INSERT INTO t (id, c) VALUES {rows}")));
    let mut name = "c";
    for n in 0..12 {
        let (to, _) = *random.pick(group);
        let null = null(random, to);
        let position = one(random, &["", "", " FIRST", " AFTER o"]);
        steps.push(Step::new(match random.below(10) {
            0..=5 => format!("ALTER TABLE t MODIFY {name} {to}{null}{position}"),
            6 => {
                let other = if name == "c" { "e" } else { "c" };
                let from = std::mem::replace(&mut name, other);
                format!("ALTER TABLE t CHANGE {from} {name} {to}{null}{position}")
            }
            7 => format!("ALTER TABLE t ADD COLUMN a{n} {to}{null}{position}"),
            8 => format!("INSERT INTO t (id, {name}) VALUES ({}, {})", 10 + n, random.pick(values)),
            _ => one(
                random,
                &[
                    "ALTER TABLE t DROP COLUMN o, ADD COLUMN o INT DEFAULT 5",
                    "ALTER TABLE t ALTER o SET DEFAULT 9",
                    "ALTER TABLE t ADD KEY (o, id)",
                    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (o, id)",
                    "ALTER TABLE t ADD UNIQUE KEY (id, o)",
                ],
            )
            .into(),
        }));
    }
    Story { theme: "altered", setup: Vec::new(), steps, shown: vec!["SELECT * FROM t ORDER BY id".into()] }
}

/// Members of a list beside a YEAR: MariaDB makes years of all of them, MySQL of those that compare in one domain, but
/// not as integers.
fn one_of_years(random: &mut Random) -> &'static [&'static str] {
    const LISTS: &[&[&str]] = &[&["'2001'", "'69'", "'0'", "'1999'", "NULL"], &["2020", "1999", "2155", "NULL"]];
    let list: &&[&str] = random.pick(LISTS);
    list
}

/// Comparisons and conversions of ENUM, SET, BIT and YEAR.
pub(super) fn enumerated(random: &mut Random) -> Story {
    let collation = one(random, &["", " COLLATE utf8mb4_bin", " CHARACTER SET latin1"]);
    let setup = vec![format!(
        "CREATE TABLE n (id INT PRIMARY KEY, e ENUM('b','a','C','10','2'){collation}, s SET('x','Y','z','1'){collation}, b BIT(7), w BIT(40), y YEAR, i INT, t VARCHAR(8){collation}{})",
        one(random, &["", ", KEY (e), KEY (s)", ", KEY (y), KEY (b)", ", KEY (e, s), KEY (w)"])
    )];
    let value = |random: &mut Random, column: &str| -> String {
        if random.percent(8) {
            return "NULL".into();
        }
        let of: &[&str] = match column {
            "e" => &["'a'", "'b'", "'C'", "'c'", "'10'", "'2'", "1", "3", "'A'"],
            "s" => &["'x'", "'x,Y'", "''", "'z,1'", "5", "15", "'Y,x'", "'1'"],
            "b" => &["1", "65", "127", "0", "42"],
            "w" => &["1", "0", "1099511627775", "65536"],
            "y" => &["2020", "1999", "'2001'", "70", "'69'", "'0'", "2155", "1901"],
            "i" => &["0", "1", "2", "3", "5", "10", "2020", "65"],
            _ => &["'a'", "'b'", "'x'", "'x,Y'", "'10'", "'2'", "'C'", "'2020'", "''"],
        };
        (*random.pick(of)).into()
    };
    const COLUMNS: [&str; 7] = ["e", "s", "b", "w", "y", "i", "t"];
    let mut steps = Vec::new();
    for id in 1..=14 {
        let row: Vec<String> = COLUMNS.iter().map(|c| value(random, c)).collect();
        steps.push(Step::warns(format!("INSERT INTO n VALUES ({id}, {})", row.join(", "))));
    }
    for _ in 0..STEPS {
        let (a, b) = (*random.pick(&COLUMNS), *random.pick(&COLUMNS));
        // MariaDB finds no YEAR equal to or less than a BIT.
        let b = if (a == "b" || a == "w") && b == "y" || (b == "b" || b == "w") && a == "y" { "i" } else { b };
        let v = value(random, a);
        let op = one(random, &["=", "<", ">", "<=", ">=", "<>", "<=>"]);
        // BIT columns show as bytes: as numbers where they are shown.
        let show = |c: &str| if c == "b" || c == "w" { format!("{c} + 0") } else { c.to_owned() };
        let (sa, sb) = (show(a), show(b));
        steps.push(match random.below(20) {
            0..=3 => Step::ordered(format!("SELECT id, {a} {op} {v} FROM n ORDER BY id")),
            4 | 5 => Step::ordered(format!("SELECT id FROM n WHERE {a} {op} {v} ORDER BY id")),
            6 => Step::ordered(format!("SELECT id, {a} {op} {b} FROM n ORDER BY id")),
            7 => Step::ordered(format!("SELECT x.id, y.id FROM n x JOIN n y ON x.{a} {op} y.{b} ORDER BY x.id, y.id")),
            8 => Step::ordered(format!("SELECT {sa}, COUNT(*), MIN({sb}), MAX({sb}) FROM n GROUP BY {a} ORDER BY {a}")),
            9 => Step::ordered(format!("SELECT {sa}, id FROM n ORDER BY {a}{}, id", one(random, &["", " DESC"]))),
            10 => Step::ordered(format!("SELECT id, {a} + 0, {a} * 2, -{a}, {a} DIV 2, {a} % 3 FROM n ORDER BY id")),
            11 => {
                Step::ordered(format!("SELECT id, CONCAT({sa}, '/', {sb}), LENGTH({sa}), HEX({a}) FROM n ORDER BY id"))
            }
            12 => Step::ordered(format!(
                "SELECT id, CAST({a} AS {}) FROM n ORDER BY id",
                one(random, &["SIGNED", "UNSIGNED", "DECIMAL(10,2)", "CHAR", "DOUBLE"])
                    .replace("CHAR", if a == "b" || a == "w" { "SIGNED" } else { "CHAR" })
            )),
            13 => {
                let of = if a != "y" { None } else { Some(one_of_years(random)) };
                let member = |random: &mut Random| match of {
                    Some(years) => (*random.pick(years)).into(),
                    None => value(random, a),
                };
                let list = [member(random), member(random), member(random)];
                Step::ordered(format!("SELECT id, {a} IN ({}) FROM n ORDER BY id", list.join(", ")))
            }
            14 => {
                Step::ordered(format!("SELECT id, IF({a}, 1, 0), {a} IS TRUE, NOT {a}, {a} AND {b} FROM n ORDER BY id"))
            }
            15 => Step::ordered(format!(
                "SELECT id, COALESCE({sa}, {v}), IFNULL({sa}, {sb}), NULLIF({sa}, {sb}) FROM n ORDER BY id"
            )),
            16 => Step::ordered(format!(
                "SELECT SUM({a} + 0), AVG({a} + 0e0), BIT_OR({a}), COUNT(DISTINCT {a}), MAX({sa}) FROM n WHERE id {op} 7"
            )),
            17 => Step::ordered(format!(
                "SELECT id, FIND_IN_SET('x', {sa}), FIELD({sa}, {v}), {sa} LIKE '%1%' FROM n ORDER BY id"
            )),
            18 => Step::warns(format!("UPDATE n SET {a} = {b} WHERE id = {}", 1 + random.below(14))),
            _ => Step::warns(format!("UPDATE n SET {a} = {v} WHERE {b} {op} {} ORDER BY id LIMIT 2", value(random, b))),
        });
    }
    let shown = vec!["SELECT id, e, s, b + 0, w + 0, y, i, t FROM n ORDER BY id".into()];
    Story { theme: "enumerated", setup, steps, shown }
}
