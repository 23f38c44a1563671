//! Random schemas and data.

use super::Random;
use std::fmt::Write;

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
}

pub(crate) const KINDS: [Kind; 7] =
    [Kind::Int, Kind::Decimal, Kind::Double, Kind::Text, Kind::Date, Kind::DateTime, Kind::Time];

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    ty: String,
    nullable: bool,
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
    pub(crate) tables: Vec<Table>,
}

fn column_type(kind: Kind, random: &mut Random) -> String {
    let collations = ["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci"];
    match kind {
        Kind::Int => {
            (*random.pick(&["INT", "INT", "BIGINT", "SMALLINT", "TINYINT", "INT UNSIGNED", "BIGINT UNSIGNED"])).into()
        }
        Kind::Decimal => (*random.pick(&["DECIMAL(8,2)", "DECIMAL(20,6)", "DECIMAL(5,0)", "DECIMAL(30,10)"])).into(),
        Kind::Double => "DOUBLE".into(),
        Kind::Text => format!("VARCHAR({}) COLLATE {}", random.pick(&[4, 10, 40]), random.pick(&collations)),
        Kind::Date => "DATE".into(),
        Kind::DateTime => (*random.pick(&["DATETIME", "DATETIME(3)", "DATETIME(6)"])).into(),
        Kind::Time => (*random.pick(&["TIME", "TIME(2)"])).into(),
    }
}

/// A literal of a kind, seldom of another.
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
        Kind::Double => (*random.pick(&["0e0", "1.5e0", "-2.25e0", "1e3", "3e0", "2e0", "1.25e-1", "1e15"])).into(),
        Kind::Text => {
            let words =
                ["a", "A", "b", "B ", "", "abc", "ABC", "aB", "é", "e", "x1", "10", "2", "-3", "ab", "abd", "z"];
            format!("'{}'", random.pick(&words))
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
        let tables = (0..2 + random.below(2)).map(|n| Table::new(format!("t{n}"), random)).collect();
        Schema { tables }
    }

    pub(crate) fn create(&self) -> Vec<String> {
        let drop = self.tables.iter().map(|t| format!("DROP TABLE IF EXISTS {}", t.name));
        drop.chain(self.tables.iter().map(Table::create)).collect()
    }

    pub(crate) fn fill(&self, random: &mut Random) -> Vec<String> {
        let mut out = Vec::new();
        for table in &self.tables {
            let rows = *random.pick(&[0, 1, 5, 12, 12, 20, 30]);
            for id in 1..=rows {
                let mut sql = format!("INSERT IGNORE INTO {} VALUES ({id}", table.name);
                for column in &table.columns[1..] {
                    let _ = match column.nullable && random.percent(15) {
                        true => write!(sql, ", NULL"),
                        false => write!(sql, ", {}", literal(column.kind, random)),
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
                Kind::Text,
                Kind::Text,
                Kind::Decimal,
                Kind::Double,
                Kind::Date,
                Kind::DateTime,
                Kind::Time,
            ]);
            let nullable = random.percent(75);
            columns.push(Column { name: format!("c{n}"), kind, ty: column_type(kind, random), nullable });
        }
        let mut indexes = vec![(*random.pick(&["PRIMARY KEY (id)", "PRIMARY KEY (id)", "UNIQUE KEY (id)"])).to_owned()];
        for n in 0..random.below(4) {
            let unique = if random.percent(15) { "UNIQUE " } else { "" };
            let mut parts: Vec<&str> = Vec::new();
            for _ in 0..1 + random.below(3) {
                let name = &*columns[random.below(columns.len())].name;
                if !parts.contains(&name) {
                    parts.push(name);
                }
            }
            indexes.push(format!("{unique}KEY k{n} ({})", parts.join(", ")));
        }
        Table { name, columns, indexes }
    }

    pub(crate) fn create(&self) -> String {
        let mut parts: Vec<String> = self
            .columns
            .iter()
            .map(|c| format!("{} {}{}", c.name, c.ty, if c.nullable { "" } else { " NOT NULL" }))
            .collect();
        parts.extend(self.indexes.iter().cloned());
        format!("CREATE TABLE {} ({}) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci", self.name, parts.join(", "))
    }
}
