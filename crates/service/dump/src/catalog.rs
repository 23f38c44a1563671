//! What a server holds: schemas, tables with their columns and keys, views, programs.

use crate::fault::{Outcome, wrong};
use crate::names::{file_part, literal, literals};
use crate::peer::{Session, text};
use crate::rows::Form;
use std::collections::{BTreeMap, BTreeSet};

/// Schemas that every server has of its own.
const OWN: [&str; 5] = ["information_schema", "performance_schema", "mysql", "sys", crate::ledger::SCHEMA];

/// What is to be dumped.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) schemas: Vec<Schema>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) views: Vec<String>,
    pub(crate) procedures: Vec<String>,
    pub(crate) functions: Vec<String>,
    pub(crate) events: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// Rows and bytes, as the server estimates them.
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// The columns whose values are dumped: not the generated ones.
    pub(crate) columns: Vec<Column>,
    /// Columns of the primary key.
    pub(crate) primary: Vec<String>,
    pub(crate) triggers: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// `DATA_TYPE`.
    pub(crate) ty: String,
    pub(crate) form: Form,
}

impl Table {
    /// The beginning of its files' names.
    pub(crate) fn base(&self) -> String {
        format!("{}@{}", file_part(&self.schema), file_part(&self.name))
    }
}

/// What of a server is asked for; empty lists ask for all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice<'a> {
    pub(crate) schemas: &'a [String],
    /// `schema.table`, or `table` where one schema is chosen.
    pub(crate) tables: &'a [String],
    pub(crate) without: &'a [String],
    /// Routines and events, too.
    pub(crate) programs: bool,
}

impl Choice<'_> {
    fn names(list: &[String], schema: &str, table: &str) -> bool {
        list.iter().any(|t| t == table || t.strip_prefix(schema).and_then(|t| t.strip_prefix('.')) == Some(table))
    }

    fn takes(&self, schema: &str, table: &str) -> bool {
        (self.tables.is_empty() || Self::names(self.tables, schema, table)) && !Self::names(self.without, schema, table)
    }
}

/// Reads the catalog.
pub(crate) fn read(db: &mut Session, choice: &Choice<'_>) -> Outcome<Catalog> {
    let names = schemas(db, choice)?;
    if names.is_empty() {
        return wrong("there is no schema to dump");
    }
    let mut catalog = Catalog::default();
    let list = literals(&names);
    let mut tables = tables(db, choice, &list, &mut catalog.notes)?;
    columns(db, &list, &mut tables)?;
    primary_keys(db, &list, &mut tables)?;
    triggers(db, &list, &mut tables)?;
    let views = grouped(
        db,
        &format!("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN {list}"),
    )?;
    let routines = |kind: &str| {
        format!(
            "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES \
             WHERE ROUTINE_SCHEMA IN {list} AND ROUTINE_TYPE = '{kind}'"
        )
    };
    let events = format!("SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA IN {list}");
    let (mut procedures, mut functions, mut events) = match choice.programs && choice.tables.is_empty() {
        true => (grouped(db, &routines("PROCEDURE"))?, grouped(db, &routines("FUNCTION"))?, grouped(db, &events)?),
        false => Default::default(),
    };
    let mut views = views;
    for name in names {
        let of = |all: &mut BTreeMap<String, BTreeSet<String>>| -> Vec<String> {
            all.remove(&name).unwrap_or_default().into_iter().collect()
        };
        let (views, procedures, functions, events) =
            (of(&mut views), of(&mut procedures), of(&mut functions), of(&mut events));
        let views = views.into_iter().filter(|v| choice.takes(&name, v)).collect();
        let of_schema = tables.extract_if(.., |(schema, _), _| *schema == name).map(|(_, t)| t).collect();
        catalog.schemas.push(Schema { name, tables: of_schema, views, procedures, functions, events });
    }
    missing(choice, &catalog)?;
    Ok(catalog)
}

/// A table that was asked for by name has to be there.
fn missing(choice: &Choice<'_>, catalog: &Catalog) -> Outcome<()> {
    for wanted in choice.tables {
        let found = catalog.schemas.iter().any(|s| {
            let named = |n: &str| Choice::names(std::slice::from_ref(wanted), &s.name, n);
            s.tables.iter().any(|t| named(&t.name)) || s.views.iter().any(|v| named(v))
        });
        if !found {
            return wrong(format!("there is no table {wanted}"));
        }
    }
    Ok(())
}

fn schemas(db: &mut Session, choice: &Choice<'_>) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for row in db.rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")? {
        names.extend(row.into_iter().flatten());
    }
    if choice.schemas.is_empty() {
        names.retain(|n| !OWN.contains(&n.to_ascii_lowercase().as_str()));
        return Ok(names);
    }
    for wanted in choice.schemas {
        if !names.contains(wanted) {
            return wrong(format!("there is no schema {wanted}"));
        }
        if OWN.contains(&wanted.to_ascii_lowercase().as_str()) {
            return wrong(format!("schema {wanted} is the server's own; accounts are dumped by --users"));
        }
    }
    Ok(choice.schemas.to_vec())
}

type Tables = BTreeMap<(String, String), Table>;

fn tables(db: &mut Session, choice: &Choice<'_>, list: &str, notes: &mut Vec<String>) -> Outcome<Tables> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA IN {list}"
    );
    let rows = db.rows(&sql)?;
    let mut tables = Tables::new();
    for (i, row) in rows.iter().enumerate() {
        let (schema, name, kind) = (text(&rows, i, 0)?, text(&rows, i, 1)?, text(&rows, i, 2)?);
        if !choice.takes(&schema, &name) {
            continue;
        }
        let number = |at: usize| row.get(at).and_then(|v| v.as_ref()?.parse().ok()).unwrap_or(0);
        match kind.as_str() {
            "BASE TABLE" | "SYSTEM VERSIONED" => {}
            "VIEW" => continue,
            other => {
                notes.push(format!("{schema}.{name} is left out: it is a {}", other.to_ascii_lowercase()));
                continue;
            }
        }
        let table = Table {
            rows: number(3),
            bytes: number(4),
            columns: Vec::new(),
            primary: Vec::new(),
            triggers: Vec::new(),
            schema: schema.clone(),
            name: name.clone(),
        };
        tables.insert((schema, name), table);
    }
    Ok(tables)
}

fn columns(db: &mut Session, list: &str, tables: &mut Tables) -> Outcome<()> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, EXTRA, CHARACTER_SET_NAME \
         FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA IN {list} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
    );
    let rows = db.rows(&sql)?;
    for i in 0..rows.len() {
        let of = (text(&rows, i, 0)?, text(&rows, i, 1)?);
        let Some(table) = tables.get_mut(&of) else { continue };
        let (name, ty) = (text(&rows, i, 2)?, text(&rows, i, 3)?.to_ascii_lowercase());
        if !is_generated(&text(&rows, i, 4).unwrap_or_default()) {
            let form = Form::of(&ty, &text(&rows, i, 5).unwrap_or_default());
            table.columns.push(Column { form, name, ty });
        }
    }
    Ok(())
}

/// `EXTRA` of a column that is computed. (`DEFAULT_GENERATED` is a default that is an expression.)
fn is_generated(extra: &str) -> bool {
    extra.to_ascii_uppercase().split([' ', ',']).any(|word| matches!(word, "VIRTUAL" | "STORED" | "PERSISTENT"))
}

fn primary_keys(db: &mut Session, list: &str, tables: &mut Tables) -> Outcome<()> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA IN {list} AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_SCHEMA, TABLE_NAME, SEQ_IN_INDEX"
    );
    let rows = db.rows(&sql)?;
    for i in 0..rows.len() {
        if let Some(table) = tables.get_mut(&(text(&rows, i, 0)?, text(&rows, i, 1)?)) {
            table.primary.push(text(&rows, i, 2)?);
        }
    }
    Ok(())
}

fn triggers(db: &mut Session, list: &str, tables: &mut Tables) -> Outcome<()> {
    let sql = format!(
        "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS \
         WHERE TRIGGER_SCHEMA IN {list}"
    );
    let mut rows = db.rows(&format!("{sql} ORDER BY 1, 2, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"))?;
    for row in &mut rows {
        if let [Some(schema), Some(table), Some(name)] = row.as_mut_slice()
            && let Some(t) = tables.get_mut(&(std::mem::take(schema), std::mem::take(table)))
        {
            t.triggers.push(std::mem::take(name));
        }
    }
    Ok(())
}

/// Names by schema.
fn grouped(db: &mut Session, sql: &str) -> Outcome<BTreeMap<String, BTreeSet<String>>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in db.rows(sql)? {
        if let [Some(schema), Some(name)] = row.as_slice() {
            all.entry(schema.clone()).or_default().insert(name.clone());
        }
    }
    Ok(all)
}

/// The columns of a table on the server that loads: those that rows can be written to, and
/// the places of the generated ones among all.
pub(crate) fn columns_of(db: &mut Session, schema: &str, table: &str) -> Outcome<(Vec<Column>, Vec<usize>)> {
    let sql = format!(
        "SELECT COLUMN_NAME, DATA_TYPE, EXTRA, CHARACTER_SET_NAME FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
        literal(schema),
        literal(table)
    );
    let rows = db.rows(&sql)?;
    let (mut columns, mut generated) = (Vec::new(), Vec::new());
    for i in 0..rows.len() {
        let (name, ty) = (text(&rows, i, 0)?, text(&rows, i, 1)?.to_ascii_lowercase());
        match is_generated(&text(&rows, i, 2).unwrap_or_default()) {
            true => generated.push(i),
            false => {
                let form = Form::of(&ty, &text(&rows, i, 3).unwrap_or_default());
                columns.push(Column { form, name, ty });
            }
        }
    }
    Ok((columns, generated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_columns_are_known_by_their_extra() {
        for yes in ["VIRTUAL GENERATED", "STORED GENERATED", "PERSISTENT", "VIRTUAL GENERATED INVISIBLE", "VIRTUAL"] {
            assert!(is_generated(yes), "{yes}");
        }
        for no in
            ["", "auto_increment", "DEFAULT_GENERATED", "DEFAULT_GENERATED on update CURRENT_TIMESTAMP", "INVISIBLE"]
        {
            assert!(!is_generated(no), "{no}");
        }
    }

    #[test]
    fn tables_are_chosen_by_name() {
        let (tables, without) = (vec!["a.t".to_owned(), "u".to_owned()], vec!["b.u".to_owned()]);
        let c = Choice { tables: &tables, without: &without, ..Choice::default() };
        assert!(
            c.takes("a", "t") && c.takes("a", "u") && !c.takes("b", "t") && !c.takes("b", "u") && !c.takes("a", "v")
        );
    }
}
