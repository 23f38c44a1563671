//! Ranges of keys: what the connections of a dump read side by side.

use crate::catalog::{Column, Table};
use crate::fault::Outcome;
use crate::names::{literal, qualified, quoted};
use crate::peer::Session;

/// A table is cut where its rows take more than this, for each connection to have a part.
const WORTH_CUTTING: u64 = 4 << 20;
/// Most ranges of a table: each costs a statement, and at least one file.
const MOST: u64 = 4096;

/// The conditions that cut a table into ranges, in the order of its key; one that is empty for a table as a whole.
///
/// A table without a primary key, or one whose key begins with a column of another type than those below, is not cut.
pub(crate) fn of(db: &mut Session, table: &Table, threads: usize, chunk_bytes: u64) -> Outcome<Vec<String>> {
    let whole = vec![String::new()];
    let wanted = (table.bytes / chunk_bytes).max((table.bytes / WORTH_CUTTING).min(threads as u64)).min(MOST);
    let Some(first) = table.primary.first().and_then(|k| table.columns.iter().find(|c| c.name == *k)) else {
        return Ok(whole);
    };
    if wanted < 2 || table.rows < wanted {
        return Ok(whole);
    }
    let borders = match first.ty.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => numbers(db, table, first, wanted)?,
        "char" | "varchar" | "decimal" | "date" | "datetime" | "timestamp" | "time" | "binary" | "varbinary"
        | "uuid" => steps(db, table, first, wanted)?,
        _ => return Ok(whole),
    };
    let key = quoted(&first.name);
    let mut ranges = Vec::new();
    for i in 0..=borders.len() {
        let from = i.checked_sub(1).map(|i| format!("{key} >= {}", borders[i]));
        let to = borders.get(i).map(|border| format!("{key} < {border}"));
        ranges.push(from.into_iter().chain(to).collect::<Vec<_>>().join(" AND "));
    }
    Ok(ranges)
}

/// Borders of equal distance between the least number and the greatest.
fn numbers(db: &mut Session, table: &Table, key: &Column, wanted: u64) -> Outcome<Vec<String>> {
    let key = quoted(&key.name);
    let sql = format!("SELECT MIN({key}), MAX({key}) FROM {}", qualified(&table.schema, &table.name));
    let rows = db.rows(&sql)?;
    let ends = rows.first().map(|r| r.iter().flatten().filter_map(|v| v.parse::<i128>().ok()).collect::<Vec<_>>());
    let Some([least, most]) = ends.as_deref() else { return Ok(Vec::new()) };
    Ok(between(*least, *most, i128::from(wanted)).iter().map(i128::to_string).collect())
}

fn between(least: i128, most: i128, wanted: i128) -> Vec<i128> {
    let span = most - least + 1;
    let wanted = wanted.min(span);
    (1..wanted).map(|i| least + span * i / wanted).collect()
}

/// Borders found by walking the index: every n-th value of the key's first column.
fn steps(db: &mut Session, table: &Table, key: &Column, wanted: u64) -> Outcome<Vec<String>> {
    let (name, from) = (quoted(&key.name), qualified(&table.schema, &table.name));
    let step = (table.rows / wanted).max(1);
    let (shown, of_bytes) = match key.ty.as_str() {
        "binary" | "varbinary" => (format!("HEX({name})"), Some("")),
        "char" | "varchar" => (format!("HEX(CONVERT({name} USING utf8mb4))"), Some("_utf8mb4 ")),
        _ => (name.clone(), None),
    };
    let mut borders: Vec<String> = Vec::new();
    while (borders.len() as u64) < 2 * wanted {
        let after = borders.last().map_or(String::new(), |b| format!("WHERE {name} > {b} "));
        let sql = format!("SELECT {shown} FROM {from} {after}ORDER BY {name} LIMIT {step}, 1");
        let Some(value) = db.value(&sql)? else { break };
        let border = match of_bytes {
            // An empty text is the least of all: nothing is in front of it.
            Some(_) if value.is_empty() => break,
            Some(introducer) => format!("{introducer}0x{value}"),
            None => literal(&value),
        };
        borders.push(border);
    }
    Ok(borders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_cover_all_numbers_once() {
        assert_eq!(between(1, 10, 2), [6]);
        assert_eq!(between(i64::MIN.into(), i64::MAX.into(), 4), [-(1i128 << 62), 0, 1i128 << 62]);
        assert_eq!(between(0, u64::MAX.into(), 2), [1i128 << 63]);
        assert_eq!(between(5, 6, 100), [6]);
        assert_eq!(between(7, 7, 3), [] as [i128; 0]);
    }
}
