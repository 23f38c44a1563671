//! Random schemas and data.

use super::Random;
use std::{fmt::Write, rc::Rc};

/// What an expression's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int,
    Decimal,
    Double,
    Text,
    Date,
    DateTime,
    Time,
    /// Only as an argument of JSON functions: the servers print documents differently.
    Json,
}

/// Kinds whose values may be shown and compared.
pub(crate) const KINDS: [Kind; 7] =
    [Kind::Int, Kind::Decimal, Kind::Double, Kind::Text, Kind::Date, Kind::DateTime, Kind::Time];

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    ty: String,
    nullable: bool,
}

impl Column {
    /// A column of a derived table.
    pub(crate) fn derived(name: &str, kind: Kind) -> Column {
        Column { name: name.into(), kind, ty: String::new(), nullable: true }
    }

    /// A column of a derived table that may be a table's column: of ENUM, SET or YEAR it stays one.
    pub(crate) fn derived_from(name: &str, kind: Kind, source: Option<&Column>) -> Column {
        let ty = source.filter(|c| c.is_member() || c.is_year()).map_or(String::new(), |c| c.ty.clone());
        Column { ty, ..Column::derived(name, kind) }
    }

    /// The column as a value. What a BIT column shows depends on where it stands: on one server a number, on the other
    /// its bytes.
    pub(crate) fn value(&self, alias: &str) -> String {
        let bits = self.ty.starts_with("BIT");
        if bits { format!("({alias}.{} + 0)", self.name) } else { format!("{alias}.{}", self.name) }
    }

    /// ENUM or SET.
    pub(crate) fn is_member(&self) -> bool {
        self.ty.starts_with("ENUM") || self.ty.starts_with("SET")
    }

    pub(crate) fn is_year(&self) -> bool {
        self.ty == "YEAR"
    }

    pub(crate) fn is_bits(&self) -> bool {
        self.ty.starts_with("BIT")
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Int | Kind::Decimal | Kind::Double) && !self.ty.starts_with("BIT")
    }

    /// A literal for the column.
    pub(crate) fn literal(&self, random: &mut Random) -> String {
        let own = |random: &mut Random, of: &[&str]| (*random.pick(of)).to_owned();
        match &self.ty[..] {
            "YEAR" => own(random, &["2020", "2021", "1999", "1970", "2155", "1901"]),
            "BIT(1)" => own(random, &["b'0'", "b'1'", "0", "1"]),
            "BIT(8)" => own(random, &["b'0'", "b'101'", "65", "66", "255"]),
            "BIT(20)" => own(random, &["b'0'", "1048575", "65", "77777"]),
            // Whose pieces are texts in any character set.
            "BLOB" | "VARBINARY(12)" => own(random, &["'a'", "'A'", "'B '", "''", "'abc'", "'10'", "'x1'", "'z'"]),
            ty if ty.starts_with("ENUM") => own(random, &["'a'", "'B'", "'abc'", "'z'", "1", "2"]),
            ty if ty.starts_with("SET") => own(random, &["'a'", "'a,B'", "''", "'abc,z'", "3", "'z'"]),
            ty if ty.starts_with("DECIMAL(65,0)") && random.percent(30) => {
                own(random, &["999999999999999999999999999999999999999999999999999", "-18446744073709551616"])
            }
            ty if ty.starts_with("DECIMAL(60,10)") && random.percent(30) => own(
                random,
                &[
                    "999999999999999999999999999999999999999999999999.9999999999",
                    "-0.0000000001",
                    "9223372036854775808.5",
                ],
            ),
            _ => literal(self.kind, random),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The first is `id`, unique.
    pub(crate) columns: Vec<Column>,
    indexes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Rc<Table>>,
}

fn column_type(kind: Kind, random: &mut Random) -> String {
    let collations = ["utf8mb4_general_ci", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci"];
    let own: &[&str] = match kind {
        Kind::Int => &[
            "INT",
            "INT",
            "BIGINT",
            "SMALLINT",
            "TINYINT",
            "MEDIUMINT",
            "INT UNSIGNED",
            "BIGINT UNSIGNED",
            "TINYINT UNSIGNED",
            "YEAR",
            "BIT(1)",
            "BIT(8)",
            "BIT(20)",
        ],
        Kind::Decimal => {
            &["DECIMAL(8,2)", "DECIMAL(20,6)", "DECIMAL(5,0)", "DECIMAL(30,10)", "DECIMAL(65,0)", "DECIMAL(60,10)"]
        }
        Kind::Double => &["DOUBLE", "DOUBLE", "FLOAT"],
        Kind::Date => &["DATE"],
        Kind::DateTime => &["DATETIME", "DATETIME(3)", "DATETIME(6)", "TIMESTAMP", "TIMESTAMP(3)"],
        Kind::Time => &["TIME", "TIME(2)"],
        Kind::Json => &["JSON"],
        Kind::Text => {
            let collation = random.pick(&collations);
            return match random.below(12) {
                0 => format!("CHAR(6) COLLATE {collation}"),
                1 => format!("TEXT COLLATE {collation}"),
                2 => "VARCHAR(10) CHARACTER SET latin1".into(),
                3 => "VARBINARY(12)".into(),
                4 => "BLOB".into(),
                5 => format!("ENUM('a', 'B', 'abc', 'z') COLLATE {collation}"),
                6 => format!("SET('a', 'B', 'abc', 'z') COLLATE {collation}"),
                _ => format!("VARCHAR({}) COLLATE {collation}", random.pick(&[4, 10, 40])),
            };
        }
    };
    (*random.pick(own)).to_owned()
}

/// A literal of a kind.
pub(crate) fn literal(kind: Kind, random: &mut Random) -> String {
    let r = random.below(10);
    match kind {
        Kind::Int => match r {
            0 => (*random.pick(&["127", "128", "255", "32767", "65535", "2147483647", "-2147483648"])).into(),
            1 => format!("-{}", 1 + random.below(9)),
            _ => random.below(8).to_string(),
        },
        Kind::Decimal => match r {
            0 => format!("-{}.{}", random.below(9), random.below(99)),
            1 => (*random.pick(&["0.5", "1.50", "2.0", "99.995", "0.0000"])).into(),
            _ => format!("{}.{:02}", random.below(6), random.pick(&[0, 0, 5, 25, 50, 99])),
        },
        // Sums of them are exact in any order.
        Kind::Double => (*random.pick(&["0e0", "1.5e0", "-2.25e0", "1e3", "3e0", "2e0", "1.25e-1", "1e5"])).into(),
        Kind::Text => {
            let words =
                ["a", "A", "b", "B ", "", "abc", "ABC", "aB", "é", "e", "x1", "10", "2", "-3", "ab", "abd", "z"];
            format!("'{}'", random.pick(&words))
        }
        Kind::Json => {
            let documents = [
                r#"{"a": 1, "b": [1, 2, 3]}"#,
                r#"{"a": "x", "c": null}"#,
                "[1, 2, \"a\"]",
                "5",
                "\"abc\"",
                r#"{"a": {"b": 2}}"#,
                "[]",
                "true",
            ];
            format!("'{}'", random.pick(&documents))
        }
        Kind::Date => {
            format!("'20{:02}-{:02}-{:02}'", 20 + random.below(3), 1 + random.below(12), 1 + random.below(28))
        }
        Kind::DateTime => format!(
            "'20{:02}-{:02}-{:02} {:02}:{:02}:{:02}'",
            20 + random.below(3),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60),
            random.below(60)
        ),
        Kind::Time => format!(
            "'{}{:02}:{:02}:{:02}'",
            if r == 0 { "-" } else { "" },
            random.below(30),
            random.below(60),
            random.below(60)
        ),
    }
}

impl Schema {
    pub(crate) fn new(random: &mut Random) -> Schema {
        let tables = (0..2 + random.below(2)).map(|n| Rc::new(Table::new(format!("t{n}"), random))).collect();
        Schema { tables }
    }

    pub(crate) fn table(&self, random: &mut Random) -> Rc<Table> {
        self.tables[random.below(self.tables.len())].clone()
    }

    pub(crate) fn create(&self) -> Vec<String> {
        let drop = self.tables.iter().map(|t| format!("DROP TABLE IF EXISTS {}", t.name));
        drop.chain(self.tables.iter().map(|t| t.create())).collect()
    }

    pub(crate) fn fill(&self, random: &mut Random) -> Vec<String> {
        let mut out = Vec::new();
        for table in &self.tables {
            let rows = *random.pick(&[0, 1, 5, 12, 12, 20, 30]);
            for id in 1..=rows {
                let mut sql = format!("INSERT IGNORE INTO {} VALUES ({id}", table.name);
                for column in &table.columns[1..] {
                    let _ = if column.nullable && random.percent(15) {
                        write!(sql, ", NULL")
                    } else {
                        write!(sql, ", {}", column.literal(random))
                    };
                }
                out.push(sql + ")");
            }
        }
        out
    }
}

impl Table {
    fn new(name: String, random: &mut Random) -> Table {
        let id = Column { name: "id".into(), kind: Kind::Int, ty: "INT".into(), nullable: false };
        let mut columns = vec![id];
        for n in 0..2 + random.below(5) {
            let kind = *random.pick(&[
                Kind::Int,
                Kind::Int,
                Kind::Int,
                Kind::Text,
                Kind::Text,
                Kind::Text,
                Kind::Decimal,
                Kind::Decimal,
                Kind::Double,
                Kind::Date,
                Kind::DateTime,
                Kind::Time,
                Kind::Json,
            ]);
            let ty = column_type(kind, random);
            // NULL is the current time for TIMESTAMP NOT NULL in MariaDB.
            let nullable = random.percent(75) || kind == Kind::Json || ty.starts_with("TIMESTAMP");
            columns.push(Column { name: format!("c{n}"), kind, ty, nullable });
        }
        let mut indexes = vec![(*random.pick(&["PRIMARY KEY (id)", "PRIMARY KEY (id)", "UNIQUE KEY (id)"])).to_owned()];
        for n in 0..random.below(4) {
            let unique = if random.percent(15) { "UNIQUE " } else { "" };
            let mut parts: Vec<String> = Vec::new();
            for _ in 0..1 + random.below(3) {
                let column = &columns[random.below(columns.len())];
                let part = match &column.ty[..] {
                    "JSON" => continue,
                    "BLOB" => format!("{}(4)", column.name),
                    ty if ty.starts_with("TEXT") => format!("{}(4)", column.name),
                    _ => column.name.clone(),
                };
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            if !parts.is_empty() {
                indexes.push(format!("{unique}KEY k{n} ({})", parts.join(", ")));
            }
        }
        Table { name, columns, indexes }
    }

    /// A column without NULL that has a unique index of its own.
    pub(crate) fn is_unique(&self, column: &str) -> bool {
        let own = |index: &String| {
            (index.contains("UNIQUE") || index.contains("PRIMARY")) && index.ends_with(&format!(" ({column})"))
        };
        self.columns.iter().any(|c| c.name == column && !c.nullable) && self.indexes.iter().any(own)
    }

    /// Names of the indexes that may be left out: all but the primary key.
    pub(crate) fn index_names(&self) -> impl Iterator<Item = &str> {
        self.indexes.iter().filter_map(|index| match index.strip_prefix("UNIQUE KEY (id)") {
            Some(_) => Some("id"),
            None => index.split_once("KEY k").and_then(|_| index.split(' ').find(|w| w.starts_with('k'))),
        })
    }

    /// The table of a derived table's columns.
    pub(crate) fn derived(columns: Vec<Column>) -> Table {
        Table { name: String::new(), columns, indexes: Vec::new() }
    }

    pub(crate) fn create(&self) -> String {
        let mut parts: Vec<String> = self
            .columns
            .iter()
            .map(|c| format!("{} {}{}", c.name, c.ty, if c.nullable { " NULL" } else { " NOT NULL" }))
            .collect();
        parts.extend(self.indexes.iter().cloned());
        format!("CREATE TABLE {} ({}) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci", self.name, parts.join(", "))
    }

    /// Columns of dates.
    pub(crate) fn dates(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|c| matches!(c.kind, Kind::Date | Kind::DateTime))
    }
}
