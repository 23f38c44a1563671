//! Random statements, and among them changes: INSERT, REPLACE, UPDATE, DELETE.

use super::Random;
use super::expr::Maker;
use super::generate::{Column, Kind, Schema};
use super::query::Query;

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Query(Query),
    Change(String),
}

impl Statement {
    pub(crate) fn new(schema: &Schema, random: &mut Random) -> Statement {
        if random.percent(80) {
            return Statement::Query(Query::new(schema, random, 2));
        }
        Statement::Change(change(schema, random))
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Statement::Query(query) => query.text(),
            Statement::Change(sql) => sql.clone(),
        }
    }

    pub(crate) fn ordered(&self) -> bool {
        matches!(self, Statement::Query(q) if q.is_ordered())
    }

    pub(crate) fn folds(&self) -> bool {
        matches!(self, Statement::Query(q) if q.folds())
    }
}

/// INSERT, REPLACE, UPDATE, DELETE.
pub(super) fn change(schema: &Schema, random: &mut Random) -> String {
    let table = schema.table(random);
    let other = schema.table(random);
    let mut m = Maker::new(schema, random);
    m.depth = 2;
    let ignore = if m.random.percent(20) { "IGNORE " } else { "" };
    let target =
        |m: &mut Maker<'_, '_>| -> Column { table.columns[1 + m.random.below(table.columns.len() - 1)].clone() };
    let row = |m: &mut Maker<'_, '_>| {
        let mut values = vec![(1 + m.random.below(40)).to_string()];
        for column in &table.columns[1..] {
            let null = m.random.percent(8);
            values.push(if null { "NULL".into() } else { column.literal(m.random) });
        }
        format!("({})", values.join(", "))
    };
    match m.random.below(14) {
        0..=1 => {
            let rows: Vec<String> = (0..1 + m.random.below(3)).map(|_| row(&mut m)).collect();
            format!("INSERT {ignore}INTO {} VALUES {}", table.name, rows.join(", "))
        }
        2 => format!("REPLACE INTO {} VALUES {}, {}", table.name, row(&mut m), row(&mut m)),
        3..=4 => {
            let values = row(&mut m);
            m.scope.push((table.name.clone(), table.clone()));
            let (column, second) = (target(&mut m), target(&mut m));
            let value = m.expr(column.kind, 1);
            let value = if m.random.percent(50) { format!("VALUES({})", column.name) } else { value.text() };
            let more = match m.random.percent(30) && second.name != column.name {
                true => format!(", {} = {}", second.name, second.literal(m.random)),
                false => String::new(),
            };
            format!(
                "INSERT INTO {} VALUES {values} ON DUPLICATE KEY UPDATE {} = {value}{more}",
                table.name, column.name
            )
        }
        5..=7 => {
            m.scope.push((table.name.clone(), table.clone()));
            let column = target(&mut m);
            let (value, filter) = (m.expr(column.kind, 1).text(), m.condition(1));
            // Of integers of both signs MariaDB makes a DECIMAL, whose negative ones are 0 as bits.
            let value = if column.is_bits() { column.literal(m.random) } else { value };
            // In the order of `id`: which row is a duplicate of which depends on it.
            let order = [" ORDER BY id", " ORDER BY id LIMIT 3", " ORDER BY id DESC LIMIT 2"][m.random.below(3)];
            let set = format!("{} = {value}", column.name);
            format!("UPDATE {ignore}{} SET {set} WHERE {}{order}", table.name, filter.text())
        }
        8 => {
            m.scope.push((table.name.clone(), table.clone()));
            m.depth = if other.name == table.name { 2 } else { 1 };
            let filter = m.condition(1);
            let order = [" ORDER BY id LIMIT 2", " ORDER BY id DESC LIMIT 1"][m.random.below(2)];
            format!("DELETE FROM {} WHERE {}{order}", table.name, filter.text())
        }
        9 | 10 => {
            // Rows of another table: those of the same go through a temporary table, which rounds.
            let other = schema.tables.iter().find(|t| t.name != table.name).unwrap_or(&other).clone();
            m.scope.push(("x".into(), other.clone()));
            let values: Vec<String> = table.columns[1..]
                .iter()
                .map(|c| match c.kind {
                    Kind::Json | Kind::Text => c.literal(m.random),
                    _ if c.is_bits() => c.literal(m.random),
                    kind => m.expr(kind, 1).text(),
                })
                .collect();
            let filter = m.condition(1).text();
            let verb = *m.random.pick(&["INSERT", "INSERT IGNORE", "REPLACE"]);
            format!(
                "{verb} INTO {} SELECT x.id + {}, {} FROM {} x WHERE {filter} AND x.id < {}",
                table.name,
                30 + m.random.below(30),
                values.join(", "),
                other.name,
                2 + m.random.below(6)
            )
        }
        11 => {
            let column = target(&mut m);
            let second = target(&mut m);
            let id = 1 + m.random.below(60);
            let (a, b) = (column.literal(m.random), second.literal(m.random));
            let more = if column.name == second.name { String::new() } else { format!(", {} = {b}", second.name) };
            let verb = *m.random.pick(&["INSERT IGNORE", "REPLACE"]);
            format!("{verb} INTO {} SET id = {id}, {} = {a}{more}", table.name, column.name)
        }
        _ => {
            m.scope.push(("x".into(), table.clone()));
            m.scope.push(("y".into(), other.clone()));
            let column = target(&mut m);
            let value = column.literal(m.random);
            let filter = m.condition(1).text();
            let join = *m.random.pick(&["JOIN", "JOIN", "LEFT JOIN"]);
            match m.random.below(10) {
                0..=4 => format!(
                    "UPDATE {} x {join} {} y ON x.id = y.id SET x.{} = {value} WHERE {filter}",
                    table.name, other.name, column.name
                ),
                5..=6 if table.name != other.name => {
                    let second = other.columns[1 + m.random.below(other.columns.len() - 1)].clone();
                    let b = second.literal(m.random);
                    format!(
                        "UPDATE {} x, {} y SET x.{} = {value}, y.{} = {b} WHERE x.id = y.id AND {filter}",
                        table.name, other.name, column.name, second.name
                    )
                }
                7 if table.name != other.name => format!(
                    "DELETE x, y FROM {} x JOIN {} y ON x.id = y.id WHERE x.id > 25 AND {filter}",
                    table.name, other.name
                ),
                _ => format!(
                    "DELETE x FROM {} x {join} {} y ON x.id = y.id WHERE x.id > 20 AND {filter}",
                    table.name, other.name
                ),
            }
        }
    }
}
