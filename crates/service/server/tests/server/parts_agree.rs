//! A table with partitions does what the same table without them does: seeded statements on both, the same answers, the
//! same rows, and in the end sound indexes.
//!
//! `GANNET_PARTS_AGREE=n` runs so many statements for each way to partition.

use crate::common::{Running, rows, run};
use gannet_wire::client::Connection;

const STATEMENTS: u64 = 60;

const COLUMNS: &str = "a INT NOT NULL, b INT NOT NULL, d DATE, s VARCHAR(10), v INT, KEY (v, a), KEY (s), KEY (d)";

/// Keys and PARTITION BY.
const WAYS: &[(&str, &str)] = &[
    ("PRIMARY KEY (a, b)", "HASH (a) PARTITIONS 5"),
    ("PRIMARY KEY (a, b)", "KEY () PARTITIONS 3"),
    ("UNIQUE (b, a)", "LINEAR HASH (a + b) PARTITIONS 6"),
    ("KEY (a)", "KEY (s, d) PARTITIONS 4"),
    (
        "PRIMARY KEY (a, b)",
        "RANGE (b) SUBPARTITION BY KEY (a) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS \
         THAN (20), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ),
    (
        "KEY (b)",
        "RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2024-02-01')), PARTITION p1 VALUES LESS THAN \
         (TO_DAYS('2024-03-01')), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ),
    (
        "KEY (b)",
        "RANGE COLUMNS (s, a) (PARTITION p0 VALUES LESS THAN ('c', 10), PARTITION p1 VALUES LESS THAN ('c', MAXVALUE), \
         PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
    ),
    (
        "KEY (b)",
        "LIST (v % 4) (PARTITION p0 VALUES IN (0, NULL, -1), PARTITION p1 VALUES IN (1, 3), PARTITION p2 VALUES IN (2, -2, -3))",
    ),
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn int(&mut self) -> String {
        self.below(30).to_string()
    }

    fn value(&mut self, column: &str) -> String {
        match column {
            "d" if self.below(8) == 0 => "NULL".into(),
            "d" => format!("'2024-0{}-{:02}'", 1 + self.below(4), 1 + self.below(28)),
            "s" if self.below(8) == 0 => "NULL".into(),
            "s" => format!("'{}'", ["a", "B", "c", "C", "d", "dd", "é"][self.below(7) as usize]),
            "v" if self.below(8) == 0 => "NULL".into(),
            "v" => (self.below(30) as i64 - 10).to_string(),
            _ => self.int(),
        }
    }

    fn column(&mut self) -> &'static str {
        ["a", "b", "d", "s", "v"][self.below(5) as usize]
    }

    fn condition(&mut self) -> String {
        let column = self.column();
        let (x, y) = (self.value(column), self.value(column));
        match self.below(9) {
            0 => format!("{column} = {x}"),
            1 => format!("{column} IN ({x}, {y})"),
            2 => format!("{column} < {x}"),
            3 => format!("{column} >= {x}"),
            4 => format!("{column} BETWEEN {x} AND {y}"),
            5 => format!("{column} IS NULL"),
            6 => format!("{column} <> {x}"),
            7 => format!("({} OR {})", self.condition(), self.condition()),
            _ => format!("{} AND {}", self.condition(), self.condition()),
        }
    }

    fn row(&mut self) -> String {
        let values: Vec<String> = ["a", "b", "d", "s", "v"].iter().map(|c| self.value(c)).collect();
        format!("({})", values.join(", "))
    }

    /// A statement over table `t`.
    fn statement(&mut self) -> String {
        let (column, condition) = (self.column(), self.condition());
        // Of equal texts any may be shown.
        let shown = if column == "s" { "LOWER(s)" } else { column };
        match self.below(14) {
            0..4 => format!("INSERT INTO t VALUES {}, {}", self.row(), self.row()),
            4 => format!("INSERT IGNORE INTO t VALUES {}, {}", self.row(), self.row()),
            5 => format!("REPLACE INTO t VALUES {}", self.row()),
            6 => {
                let row = self.row();
                format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE {column} = {}", self.value(column))
            }
            7 => format!("UPDATE t SET {column} = {} WHERE {condition}", self.value(column)),
            8 => format!(
                "UPDATE t SET a = a + 1, v = v + 1 WHERE {condition} ORDER BY a DESC, b DESC, v, d, HEX(s) LIMIT 3"
            ),
            9 => format!("DELETE FROM t WHERE {condition} AND a < 15"),
            10 => format!("SELECT a, b, d, s, v FROM t WHERE {condition} ORDER BY v, a, b, d, HEX(s) LIMIT 7"),
            11 => format!("SELECT COUNT(*), SUM(a), MIN({shown}), MAX({shown}) FROM t WHERE {condition}"),
            12 => format!("SELECT {shown}, COUNT(*) FROM t GROUP BY {shown} ORDER BY {shown}"),
            _ => format!(
                "SELECT x.a, y.b FROM (SELECT * FROM t WHERE {condition}) x JOIN t y ON y.{column} = x.{column} ORDER BY 1, 2 LIMIT 20"
            ),
        }
    }
}

/// What a statement answers: rows in their order, or how many it changed, or its error's number.
fn answer(db: &mut Connection, sql: &str) -> String {
    match db.query(sql) {
        Ok(result) if result.columns.is_empty() => format!("changed {}", result.ok.affected),
        Ok(result) => format!("{:?}", result.texts()),
        Err(e) => format!("error {:?}", e.code()),
    }
}

#[test]
fn a_table_with_partitions_does_what_one_without_does() {
    let server = Running::start();
    let mut db = server.connect();
    let statements = std::env::var("GANNET_PARTS_AGREE").ok().and_then(|n| n.parse().ok()).unwrap_or(STATEMENTS);
    for (number, (key, by)) in WAYS.iter().enumerate() {
        for database in ["plain", "parted"] {
            run(&mut db, &format!("DROP DATABASE IF EXISTS {database}"));
            run(&mut db, &format!("CREATE DATABASE {database}"));
        }
        run(&mut db, &format!("CREATE TABLE plain.t ({COLUMNS}, {key})"));
        run(&mut db, &format!("CREATE TABLE parted.t ({COLUMNS}, {key}) PARTITION BY {by}"));
        let mut random = Random(number as u64 + 1);
        for n in 0..statements {
            let sql = random.statement();
            run(&mut db, "USE plain");
            let want = answer(&mut db, &sql);
            run(&mut db, "USE parted");
            let got = answer(&mut db, &sql);
            assert_eq!(got, want, "statement {n} on a table by {by}: {sql}");
        }
        let all = "SELECT a, b, d, s, v FROM t ORDER BY a, b, d, v, HEX(s)";
        run(&mut db, "USE plain");
        let want = answer(&mut db, all);
        run(&mut db, "USE parted");
        assert_eq!(answer(&mut db, all), want, "rows of a table by {by}");
        for row in rows(&mut db, "CHECK TABLE t") {
            assert_eq!(row[3], "OK", "a table by {by}: {row:?}");
        }
    }
}
