//! Tables that are made, changed, renamed, emptied and dropped, each client's by itself: a statement that was not
//! answered, because the connection or the power went, has happened as a whole or not at all.

use std::collections::BTreeMap;

use gannet_wire::client::{Connection, Error};

use crate::{Shared, texts};

/// The log could not be written.
const LOG_FAILED: u16 = 1026;

/// Rows of a table when it is made.
const ROWS: i64 = 5;

/// What a table looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// In order.
    columns: Vec<String>,
    indexes: Vec<String>,
    rows: i64,
    /// Partitions, 0 without.
    parts: usize,
}

/// A client's tables by name.
pub type Tables = BTreeMap<String, Shape>;

/// What a client's tables may be: as they were before its last statement, and after it while its outcome is not known.
#[derive(Clone, Default, Debug)]
pub struct Known {
    now: Tables,
    perhaps: Option<Tables>,
}

fn name(client: u64, n: u64) -> String {
    format!("x{client}_{n}")
}

/// A statement for these tables, and what they are after it.
fn statement(client: u64, tables: &Tables, rnd: &mut impl FnMut(u64) -> u64) -> (String, Tables) {
    let (one, other) = (name(client, rnd(3)), name(client, rnd(3)));
    let mut after = tables.clone();
    let Some(shape) = after.get_mut(&one) else {
        let shape = Shape { columns: vec!["a".into(), "b".into()], indexes: vec!["b".into()], rows: ROWS, parts: 0 };
        after.insert(one.clone(), shape);
        let rows: Vec<String> = (1..=ROWS).map(|a| format!("SELECT {a} AS a, 'row {a}' AS b")).collect();
        let rows = rows.join(" UNION ALL ");
        return (format!("CREATE TABLE s.{one} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) AS {rows}"), after);
    };
    let c = format!("c{}", rnd(3));
    let has = |list: &[String], name: &str| list.iter().any(|n| n == name);
    let sql = match rnd(11) {
        8 | 9 if shape.parts == 0 => {
            shape.parts = 1 + rnd(3) as usize;
            format!("ALTER TABLE s.{one} PARTITION BY HASH (a) PARTITIONS {}", shape.parts)
        }
        8 => {
            shape.parts = 0;
            format!("ALTER TABLE s.{one} REMOVE PARTITIONING")
        }
        9 if shape.parts > 1 => {
            shape.parts -= 1;
            format!("ALTER TABLE s.{one} COALESCE PARTITION 1")
        }
        9 => {
            shape.parts += 2;
            format!("ALTER TABLE s.{one} ADD PARTITION PARTITIONS 2")
        }
        10 if shape.parts > 0 => format!("ALTER TABLE s.{one} REBUILD PARTITION ALL"),
        0 => {
            shape.rows = 0;
            format!("TRUNCATE TABLE s.{one}")
        }
        1 if has(&shape.columns, &c) => {
            shape.columns.retain(|n| *n != c);
            shape.indexes.retain(|n| *n != c);
            format!("ALTER TABLE s.{one} DROP COLUMN {c}")
        }
        1 | 2 if !has(&shape.columns, &c) => {
            shape.columns.push(c.clone());
            format!("ALTER TABLE s.{one} ADD COLUMN {c} INT NOT NULL DEFAULT 7")
        }
        2 | 3 if has(&shape.indexes, &c) => {
            shape.indexes.retain(|n| *n != c);
            format!("ALTER TABLE s.{one} DROP INDEX {c}")
        }
        3 | 4 if has(&shape.columns, &c) && !has(&shape.indexes, &c) => {
            shape.indexes.push(c.clone());
            shape.indexes.sort();
            format!("ALTER TABLE s.{one} ADD INDEX {c} ({c})")
        }
        // Two at once, or the table anew.
        4 => format!("ALTER TABLE s.{one} ENGINE = InnoDB, ALGORITHM = COPY"),
        5 if one != other && !tables.contains_key(&other) => {
            let shape = after.remove(&one).expect("there");
            after.insert(other.clone(), shape);
            format!("RENAME TABLE s.{one} TO s.{other}")
        }
        5 if one != other => {
            let (x, y) = (after.remove(&one).expect("there"), after.remove(&other).expect("there"));
            after.extend([(one.clone(), y), (other.clone(), x)]);
            format!("RENAME TABLE s.{one} TO s.t{client}, s.{other} TO s.{one}, s.t{client} TO s.{other}")
        }
        6 if one != other && tables.contains_key(&other) => {
            after.remove(&one);
            after.remove(&other);
            format!("DROP TABLE s.{one}, s.{other}")
        }
        _ => {
            after.remove(&one);
            format!("DROP TABLE s.{one}")
        }
    };
    (sql, after)
}

/// Runs a statement on the client's tables. `Err`: the connection failed, or the server refused for a reason of its
/// own.
pub fn define(
    db: &mut Connection,
    oracle: &Shared,
    client: u64,
    rnd: &mut impl FnMut(u64) -> u64,
) -> Result<(), Error> {
    let sql = {
        let mut o = oracle.lock().unwrap();
        o.statements += 1;
        let known = o.tables.entry(client).or_default();
        if known.perhaps.is_some() {
            // A statement whose outcome nobody knows is perhaps still at work.
            return Ok(());
        }
        let (sql, after) = statement(client, &known.now, rnd);
        known.perhaps = Some(after);
        sql
    };
    let outcome = db.query(&sql);
    let mut o = oracle.lock().unwrap();
    let known = o.tables.entry(client).or_default();
    match outcome {
        Ok(_) => {
            known.now = known.perhaps.take().expect("set above");
            o.defined += 1;
            Ok(())
        }
        Err(e) => {
            // Refused: as it was. After a failed sync of the log nobody knows.
            if matches!(e.code(), Some(code) if code != LOG_FAILED) {
                known.perhaps = None;
            }
            if matches!(e.code(), Some(1205 | 1213)) { Ok(()) } else { Err(e) }
        }
    }
}

/// Compares the tables there are with what they may be.
pub fn verify(db: &mut Connection, oracle: &Shared) {
    let mut found: BTreeMap<u64, Tables> = (0..crate::CLIENTS).map(|client| (client, Tables::new())).collect();
    let names = texts(db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 's'");
    for table in
        names.into_iter().map(|mut row| row.remove(0)).filter(|t| !["r", "tags", "mirror"].contains(&t.as_str()))
    {
        let client = table[1..2].parse().unwrap_or_else(|_| panic!("a table nobody made: {table}"));
        let shape = look(db, &table);
        found.entry(client).or_default().insert(table, shape);
    }
    let mut oracle = oracle.lock().unwrap();
    for (client, found) in found {
        let known = oracle.tables.entry(client).or_default();
        assert!(
            known.now == found || known.perhaps.as_ref() == Some(&found),
            "tables of client {client}: {found:?}\nmust be {:?}\nor {:?}",
            known.now,
            known.perhaps
        );
        *known = Known { now: found, perhaps: None };
    }
}

fn look(db: &mut Connection, table: &str) -> Shape {
    let of = |view: &str, what: &str| {
        format!("SELECT {what} FROM information_schema.{view} WHERE TABLE_SCHEMA = 's' AND TABLE_NAME = '{table}'")
    };
    let first = |rows: Vec<Vec<String>>| rows.into_iter().map(|mut row| row.remove(0)).collect::<Vec<_>>();
    let columns = first(texts(db, &format!("{} ORDER BY ORDINAL_POSITION", of("COLUMNS", "COLUMN_NAME"))));
    let mut indexes = first(texts(db, &of("STATISTICS", "INDEX_NAME")));
    indexes.retain(|n| n != "PRIMARY");
    let numbers = |rows: Vec<Vec<String>>| -> Vec<i64> { rows[0].iter().map(|n| n.parse().unwrap_or(0)).collect() };
    let sums: Vec<String> = columns.iter().filter(|c| c.as_str() != "b").map(|c| format!("SUM({c})")).collect();
    let seen = numbers(texts(db, &format!("SELECT COUNT(*), {} FROM s.{table}", sums.join(", "))));
    let rows = seen[0];
    assert!(rows == 0 || rows == ROWS, "table {table} has {rows} rows");
    assert_eq!(seen[1], rows * (rows + 1) / 2, "column a of {table}");
    assert!(seen[2..].iter().all(|&sum| sum == 7 * rows), "columns of {table}: {columns:?} {seen:?}");
    for index in &indexes {
        let range = if index == "b" { "b >= ''" } else { &format!("{index} > 0") };
        let sql = format!("SELECT COUNT(*) FROM s.{table} FORCE INDEX ({index}) WHERE {range}");
        assert_eq!(numbers(texts(db, &sql))[0], rows, "index {index} of {table}");
    }
    for row in texts(db, &format!("CHECK TABLE s.{table}")) {
        assert_eq!(row[3], "OK", "{row:?}");
    }
    indexes.sort();
    let parts = texts(db, &of("PARTITIONS", "PARTITION_NAME"));
    let parts = parts.iter().filter(|row| row[0].starts_with('p')).count();
    Shape { columns, indexes, rows, parts }
}
