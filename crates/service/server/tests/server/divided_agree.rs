//! A table by RANGE COLUMNS, LIST COLUMNS, KEY or a function of a column, and the same table without partitions: the
//! same statements on both give the same, whatever ALTER TABLE does to the partitions in between, in any time zone.
//!
//! `GANNET_DIVIDED_SEED` begins with another seed, `GANNET_DIVIDED_ROUNDS` makes more rounds.

use crate::common::random::{Random, setting};
use crate::common::{Running, rows, run};
use gannet_wire::client::{Arg, Connection, Error};

const COLUMNS: &str = "a INT NOT NULL, b INT, d DATE, m DATETIME, ts TIMESTAMP NULL, s VARCHAR(10), l VARCHAR(5) CHARACTER \
                       SET latin1, y YEAR, v INT, g INT AS (b + 1) VIRTUAL, e ENUM('x', 'y', 'z')";
const NAMES: &[&str] = &["a", "b", "d", "m", "ts", "s", "l", "y", "v", "e"];

/// Where summer time begins and ends, and around.
const MOMENTS: &[&str] = &[
    "'2023-03-25 23:59:59'",
    "'2023-03-26 00:30:00'",
    "'2023-03-26 01:59:59'",
    "'2023-03-26 03:00:00'",
    "'2023-10-28 22:00:00'",
    "'2023-10-29 01:30:00'",
    "'2023-10-29 02:30:00'",
    "'2023-10-29 03:00:00'",
    "'2023-10-30 00:00:00'",
    "'2023-12-31 23:59:59'",
    "'2024-01-01 00:00:00'",
    "NULL",
];

/// A way to divide: PARTITION BY up to its parts, the parts, the columns that a unique key needs; what adds a part.
struct Way {
    by: &'static str,
    parts: &'static [&'static str],
    key: &'static str,
}

const WAYS: &[Way] = &[
    Way {
        by: "RANGE COLUMNS (b, s)",
        parts: &["(0, 'b')", "(3, MAXVALUE)", "(6, 'a')", "(MAXVALUE, MAXVALUE)"],
        key: "b, s, a",
    },
    Way {
        by: "RANGE COLUMNS (m)",
        parts: &["('2023-03-26 01:00:00')", "('2023-10-29')", "('2024-01-01')", "(MAXVALUE)"],
        key: "m, a",
    },
    Way {
        by: "RANGE COLUMNS (d, b)",
        parts: &["('2023-03-26', 2)", "('2023-10-29', 0)", "('2023-10-29', 4)", "(MAXVALUE, MAXVALUE)"],
        key: "d, b, a",
    },
    Way {
        by: "RANGE COLUMNS (b, a, s)",
        parts: &["(1, 5, MAXVALUE)", "(3, 10, 'b')", "(3, 20, MAXVALUE)", "(6, 10, MAXVALUE)", "(MAXVALUE, 0, 'a')"],
        key: "b, a, s",
    },
    Way { by: "RANGE COLUMNS (l)", parts: &["('a')", "('b')", "('c')", "(MAXVALUE)"], key: "l, a" },
    Way { by: "RANGE COLUMNS (s)", parts: &["('a')", "('B')", "('bb')", "(MAXVALUE)"], key: "s, a" },
    Way {
        by: "RANGE (UNIX_TIMESTAMP(ts))",
        parts: &[
            "(UNIX_TIMESTAMP('2023-03-26 00:00:00'))",
            "(UNIX_TIMESTAMP('2023-10-29 00:30:00'))",
            "(UNIX_TIMESTAMP('2023-12-31 00:00:00'))",
            "MAXVALUE",
        ],
        key: "ts, a",
    },
    Way {
        by: "RANGE (TO_DAYS(m))",
        parts: &["(TO_DAYS('2023-03-26'))", "(TO_DAYS('2023-10-29'))", "(TO_DAYS('2023-10-30'))", "MAXVALUE"],
        key: "m, a",
    },
    Way { by: "RANGE (YEAR(d))", parts: &["(2023)", "(2024)", "(2025)", "MAXVALUE"], key: "d, a" },
    Way {
        by: "RANGE (TO_SECONDS(m))",
        parts: &["(TO_SECONDS('2023-03-26 01:00:00'))", "(TO_SECONDS('2023-10-29'))", "MAXVALUE"],
        key: "m, a",
    },
    Way { by: "RANGE (MONTH(m))", parts: &["(4)", "(11)", "(12)", "MAXVALUE"], key: "m, a" },
    Way { by: "RANGE (b DIV 2)", parts: &["(0)", "(1)", "(3)", "MAXVALUE"], key: "b, a" },
    Way { by: "RANGE (y)", parts: &["(2000)", "(2020)", "(2024)", "MAXVALUE"], key: "y, a" },
    Way { by: "LIST COLUMNS (b)", parts: &["(NULL, 1, -1)", "(0, 2, 3)", "(4, 5, 6)", "(7, 8, 9)"], key: "b, a" },
    Way {
        by: "LIST COLUMNS (s)",
        parts: &["('a', 'c', NULL)", "('b', 'ab')", "('bb', 'é', 'z')", "('', 'x')"],
        key: "s, a",
    },
    Way {
        by: "LIST COLUMNS (l, b)",
        parts: &[
            "(('a', 1), ('b', 2), (NULL, NULL))",
            "(('a', 2), ('a', NULL), ('c', 0))",
            "(('b', 1), ('b', 0), ('b', 3))",
        ],
        key: "l, b, a",
    },
    Way { by: "LIST (WEEKDAY(d))", parts: &["(0, 1, NULL)", "(2, 3, 4)", "(5)", "(6)"], key: "d, a" },
    Way { by: "LIST (MOD(b, 3))", parts: &["(0, NULL)", "(1, -1)", "(2, -2)"], key: "b, a" },
    Way { by: "KEY (s)", parts: &[], key: "s, a" },
    Way { by: "KEY (l, d)", parts: &[], key: "l, d, a" },
    Way { by: "KEY (ts)", parts: &[], key: "ts, a" },
    Way { by: "LINEAR KEY (e, b)", parts: &[], key: "e, b, a" },
    Way { by: "KEY ALGORITHM=1 (m)", parts: &[], key: "m, a" },
    Way { by: "HASH (UNIX_TIMESTAMP(ts))", parts: &[], key: "ts, a" },
    Way { by: "HASH (TIME_TO_SEC(m))", parts: &[], key: "m, a" },
    Way { by: "LINEAR HASH (DAYOFYEAR(d))", parts: &[], key: "d, a" },
    Way { by: "HASH (b * 2 + a)", parts: &[], key: "b, a" },
];

fn value(r: &mut Random, column: &str) -> String {
    match column {
        "a" => r.below(30).to_string(),
        "d" => r
            .of(&[
                "'2023-03-25'",
                "'2023-03-26'",
                "'2023-10-29'",
                "'2023-10-30'",
                "'2022-12-31'",
                "'2024-01-01'",
                "NULL",
            ])
            .into(),
        "m" | "ts" => r.of(MOMENTS).into(),
        "s" => r.of(&["'a'", "'A'", "'b'", "'B'", "'bb'", "'ab'", "'é'", "'E'", "''", "'z'", "NULL"]).into(),
        "l" => r.of(&["'a'", "'A'", "'b'", "'c'", "'C'", "NULL"]).into(),
        "y" => r.of(&["2000", "2019", "2023", "1999", "NULL", "0"]).into(),
        "e" => r.of(&["'x'", "'y'", "'z'", "NULL"]).into(),
        _ => {
            if r.percent(10) {
                "NULL".into()
            } else {
                (r.below(11) as i64 - 1).to_string()
            }
        }
    }
}

fn row(r: &mut Random) -> String {
    let all: Vec<String> = NAMES.iter().map(|n| value(r, n)).collect();
    format!("({})", all.join(", "))
}

/// A column, one of those that divide more often.
fn column(r: &mut Random, way: &Way) -> &'static str {
    let own: Vec<&str> = way.key.split(", ").filter(|c| *c != "a").collect();
    if r.percent(60) { r.of(&own) } else { r.of(NAMES) }
}

/// Other constants than columns of the type hold.
fn constant(r: &mut Random, c: &str) -> String {
    let other = r.percent(25);
    match c {
        "d" if other => r
            .of(&["'2023-10-29 12:00:00'", "20231029", "'2023-10-29 00:00:00'", "TIMESTAMP'2023-10-29 01:00:00'"])
            .into(),
        "m" if other => r
            .of(&[
                "'2023-10-29'",
                "20231029",
                "DATE'2023-10-29'",
                "'2023-10-29 01:30:00.5'",
                "FROM_UNIXTIME(1698541200)",
            ])
            .into(),
        "ts" if other => {
            r.of(&["FROM_UNIXTIME(1698541200)", "FROM_UNIXTIME(1698537600)", "'2023-10-29'", "20231029013000"]).into()
        }
        "b" | "y" | "v" | "a" if other => r.of(&["1.5", "'2'", "2e0", "-0.5", "'2023'", "23"]).into(),
        "s" | "l" if other => r.of(&["'A '", "'b '", "_latin1'a'", "'e'", "'zz'"]).into(),
        "e" if other => r.of(&["2", "'Y'"]).into(),
        _ => value(r, c),
    }
}

fn condition(r: &mut Random, way: &Way, depth: u32) -> String {
    let c = column(r, way);
    let v = |r: &mut Random| constant(r, c);
    match r.below(if depth > 0 { 16 } else { 12 }) {
        0..=2 => format!("{c} = {}", v(r)),
        3 => format!("{c} IN ({}, {})", v(r), v(r)),
        4 | 5 => format!("{c} {} {}", r.of(&["<", "<=", ">", ">=", "<>", "<=>"]), v(r)),
        6 | 7 => format!("{c} BETWEEN {} AND {}", v(r), v(r)),
        8 => format!("{c} IS {}NULL", r.of(&["", "NOT "])),
        9 => r
            .of(&[
                "YEAR(m) = 2023",
                "UNIX_TIMESTAMP(ts) < 1698541200",
                "TO_DAYS(m) = TO_DAYS('2023-10-29')",
                "MONTH(m) = 10",
                "WEEKDAY(d) = 6",
                "b DIV 2 = 1",
                "DATE(m) = '2023-10-29'",
                "DATE(ts) = '2023-10-29'",
                "MOD(b, 3) = 1",
            ])
            .into(),
        10 => format!("({c}, a) {} ({}, {})", r.of(&["=", "<", ">="]), v(r), r.below(30)),
        11 => format!("({c}, a) IN (({}, {}), ({}, 3))", v(r), r.below(30), v(r)),
        12 | 13 => format!("({} OR {})", condition(r, way, depth - 1), condition(r, way, depth - 1)),
        14 => format!("NOT ({})", condition(r, way, depth - 1)),
        _ => format!("{} AND {}", condition(r, way, depth - 1), condition(r, way, depth - 1)),
    }
}

/// A statement over `t`; `k` is the columns of its key.
fn statement(r: &mut Random, way: &Way, keyed: bool) -> String {
    let (c, w) = (column(r, way), condition(r, way, 2));
    let columns = NAMES.join(", ");
    let all = "a, b, d, m, UNIX_TIMESTAMP(ts), HEX(s), HEX(l), y + 0, v, e, g";
    let order = "a, b, d, m, UNIX_TIMESTAMP(ts), HEX(s), HEX(l), y, v, e";
    match r.below(20) {
        0..=3 => format!("INSERT IGNORE INTO t ({columns}) VALUES {}, {}, {}", row(r), row(r), row(r)),
        4 => format!("INSERT INTO t ({columns}) VALUES {}, {}", row(r), row(r)),
        5 if keyed => format!("REPLACE INTO t ({columns}) VALUES {}", row(r)),
        6 if keyed => {
            format!("INSERT INTO t ({columns}) VALUES {} AS n ON DUPLICATE KEY UPDATE {c} = n.{c}, v = t.v + 1", row(r))
        }
        7 if keyed => format!(
            "INSERT INTO t ({columns}) VALUES {}, {} ON DUPLICATE KEY UPDATE {c} = {}, v = v + 1",
            row(r),
            row(r),
            value(r, c)
        ),
        8 => format!("UPDATE t SET {c} = {} WHERE {w}", value(r, c)),
        9 => format!("UPDATE IGNORE t SET {c} = {}, v = v + 1 WHERE {w} ORDER BY {order} LIMIT 3", value(r, c)),
        10 => format!(
            "UPDATE t SET m = m + INTERVAL 1 HOUR, ts = ts + INTERVAL 1 HOUR, b = b + 1 WHERE {w} ORDER BY {order} LIMIT 2"
        ),
        11 => format!("DELETE FROM t WHERE {w} AND a < 12"),
        12 => format!("DELETE FROM t WHERE {w} ORDER BY {order} LIMIT 2"),
        13 => format!(
            "UPDATE t x JOIN t z ON x.{c} = z.{c} AND x.a < z.a SET x.v = 99 WHERE x.{}",
            condition(r, way, 0).replace("UNIX_TIMESTAMP(ts)", "a").trim_start_matches('(')
        ),
        14 => format!("SELECT COUNT(*), SUM(a), MIN({c} IS NULL), COUNT(DISTINCT {c}) FROM t WHERE {w}"),
        15 => format!("SELECT x.a, z.a FROM t x JOIN t z ON x.{c} = z.{c} AND z.a < 10 ORDER BY 1, 2"),
        16 => format!("SELECT {all} FROM t WHERE {w} ORDER BY {c} DESC, {order} LIMIT 4"),
        17 => format!("SELECT MIN({c}) = MIN({c}), MAX(a), MIN(a) FROM t WHERE {w}"),
        _ => format!("SELECT {all} FROM t WHERE {w} ORDER BY {order}"),
    }
}

type Answer = Result<(Vec<Vec<String>>, u64), u16>;

fn answer(c: &mut Connection, sql: &str) -> Answer {
    match c.query(sql) {
        Ok(set) => Ok((set.texts(), set.ok.affected)),
        Err(Error::Server { code, .. }) => Err(code),
        Err(e) => panic!("{sql}: {e}"),
    }
}

/// With the first constant text as a parameter.
fn executed(c: &mut Connection, sql: &str) -> Option<Answer> {
    let before = ["= '", "> '", "< '", "BETWEEN '"];
    let from = before.iter().filter_map(|b| sql.find(b).map(|at| at + b.len() - 1)).min()?;
    let to = from + 1 + sql[from + 1..].find('\'')?;
    let statement = c.prepare(&format!("{}?{}", &sql[..from], &sql[to + 1..])).ok()?;
    let answer = match c.execute(&statement, &[Arg::Text(&sql[from + 1..to])]) {
        Ok(set) => Ok((set.texts(), set.ok.affected)),
        Err(Error::Server { code, .. }) => Err(code),
        Err(e) => panic!("{sql}: {e}"),
    };
    c.close(&statement).unwrap();
    Some(answer)
}

struct Round<'c> {
    c: &'c mut Connection,
    r: Random,
    way: &'static Way,
    keyed: bool,
    parts: Vec<String>,
    story: Vec<String>,
    seed: u64,
}

impl Round<'_> {
    fn make(&mut self) {
        let key = if self.keyed { format!(", UNIQUE KEY u ({})", self.way.key) } else { ", KEY (a)".into() };
        let index = self.r.of(&["", ", KEY (m, b)", ", KEY (s, l)", ", KEY (ts), KEY (d)", ", KEY (b, v), KEY (l(1))"]);
        let by = self.definition();
        for (database, by) in [("plain", ""), ("parted", &*by)] {
            run(self.c, &format!("DROP DATABASE IF EXISTS {database}"));
            run(self.c, &format!("CREATE DATABASE {database}"));
            let create = format!("CREATE TABLE {database}.t ({COLUMNS}{key}{index}){by}");
            run(self.c, &create);
            self.story.push(create);
        }
        run(self.c, &format!("CREATE TABLE parted.x ({COLUMNS}{key}{index})"));
    }

    fn definition(&mut self) -> String {
        if self.way.parts.is_empty() {
            return format!(" PARTITION BY {} PARTITIONS {}", self.way.by, 2 + self.r.below(4));
        }
        let values = if self.way.by.starts_with("LIST") { "IN" } else { "LESS THAN" };
        let subs = match self.r.below(6) {
            0 if !self.keyed => " SUBPARTITION BY HASH (a) SUBPARTITIONS 2",
            1 if !self.keyed => " SUBPARTITION BY KEY (s) SUBPARTITIONS 3",
            _ => "",
        };
        self.parts = (0..self.way.parts.len()).map(|n| format!("p{n}")).collect();
        let parts: Vec<String> =
            self.way.parts.iter().enumerate().map(|(n, p)| format!("PARTITION p{n} VALUES {values} {p}")).collect();
        format!(" PARTITION BY {}{subs} ({})", self.way.by, parts.join(", "))
    }

    /// A change of the partitions that keeps all rows.
    fn alter(&mut self) {
        let mut all = Vec::new();
        match self.r.below(8) {
            0 | 1 if self.parts.is_empty() => {
                all.push(format!("ALTER TABLE t ADD PARTITION PARTITIONS {}", 1 + self.r.below(2)))
            }
            2 if self.parts.is_empty() => all.push("ALTER TABLE t COALESCE PARTITION 1".into()),
            3 => all.push("ALTER TABLE t REMOVE PARTITIONING".into()),
            4 if !self.parts.is_empty() => {
                let p = self.parts[self.r.below(self.parts.len())].clone();
                all.push(format!("ALTER TABLE t {} PARTITION {p}", self.r.of(&["REBUILD", "ANALYZE", "OPTIMIZE"])));
            }
            5 if !self.parts.is_empty() => {
                // Out and in again, so that the rows are the same.
                let p = self.parts[self.r.below(self.parts.len())].clone();
                let with = self.r.of(&["", " WITH VALIDATION", " WITHOUT VALIDATION"]);
                all.extend([
                    format!("ALTER TABLE t EXCHANGE PARTITION {p} WITH TABLE x{with}"),
                    format!("ALTER TABLE t EXCHANGE PARTITION {p} WITH TABLE x"),
                ]);
            }
            6 => all.push(r#"ALTER TABLE t ADD z INT DEFAULT 7, ALGORITHM=COPY"#.into()),
            _ => {}
        }
        if all.is_empty() || all[0].contains("REMOVE") {
            all.push(format!("ALTER TABLE t{}", self.definition()));
        }
        if all[0].contains("ADD z") {
            all.push("ALTER TABLE t DROP z".into());
        }
        for sql in all {
            self.story.push(sql.clone());
            if let Err(e) = answer(self.c, &sql) {
                self.story.push(format!("-- error {e}"));
            }
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let sql = statement(&mut self.r, self.way, self.keyed);
        if self.r.percent(10) {
            let zone = self.r.of(&["Europe/Berlin", "+00:00", "America/New_York", "-05:30"]);
            run(self.c, &format!("SET time_zone = '{zone}'"));
            self.story.push(format!("SET time_zone = '{zone}'"));
        }
        self.story.push(sql.clone());
        run(self.c, "USE plain");
        let wanted = answer(self.c, &sql);
        run(self.c, "USE parted");
        if self.r.percent(6) {
            self.alter();
        }
        let found = answer(self.c, &sql);
        // A list has no place for every row.
        let nowhere = found == Err(1526);
        if nowhere
            || self.way.by.starts_with("LIST") && sql.contains("IGNORE")
            || self.way.by.starts_with("LIST") && sql.starts_with("UPDATE")
        {
            self.same_again();
            return Ok(());
        }
        self.story.push(format!("-- {found:?}"));
        if found != wanted {
            return Err(format!("{sql}\nplain  {wanted:?}\nparted {found:?}"));
        }
        if sql.starts_with("SELECT")
            && let Some(found) = executed(self.c, &sql)
            && found != wanted
        {
            return Err(format!("prepared {sql}\nplain  {wanted:?}\nparted {found:?}"));
        }
        Ok(())
    }

    /// The plain table gets the other's rows.
    fn same_again(&mut self) {
        let columns = NAMES.join(", ");
        run(self.c, "DELETE FROM plain.t");
        run(self.c, &format!("INSERT INTO plain.t ({columns}) SELECT {columns} FROM parted.t"));
    }
}

#[test]
fn a_divided_table_does_what_a_plain_one_does() {
    let server = Running::start();
    let mut c = server.connect();
    let first = setting("GANNET_DIVIDED_SEED", 1);
    let mut faults = Vec::new();
    for seed in first..first + setting("GANNET_DIVIDED_ROUNDS", 26) {
        let mut r = Random::new(seed);
        run(&mut c, "SET time_zone = 'Europe/Berlin'");
        run(&mut c, "SET sql_mode = ''");
        let way = &WAYS[seed as usize % WAYS.len()];
        let keyed = r.percent(60);
        let mut round = Round { c: &mut c, r, way, keyed, parts: Vec::new(), story: Vec::new(), seed };
        round.make();
        for _ in 0..60 {
            if let Err(e) = round.step() {
                faults.push(format!("seed {}: {e}\n{}", round.seed, round.story.join(";\n")));
                break;
            }
        }
        for row in rows(&mut c, "CHECK TABLE parted.t") {
            if row[3] != "OK" {
                faults.push(format!("seed {seed} {}: {row:?}", way.by));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}
