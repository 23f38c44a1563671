//! What the optimizer knows of tables and columns: persistent statistics and histograms.

use super::declare::{JSON, NAME, UBIGINT, timestamp, varchar};
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_core::accounts::{Privilege, Privileges};
use gannet_schema::{IndexKind, RowSource, Table};
use gannet_types::{Result, Timestamp, Value, json};

tables! {
    INFORMATION_SCHEMA in "information_schema":
    COLUMN_STATISTICS by column_statistics {
        SCHEMA_NAME: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(), COLUMN_NAME: NAME.not_null(),
        HISTOGRAM: JSON.not_null(),
    }
}

tables! {
    MYSQL in "mysql":
    innodb_table_stats by table_stats {
        database_name: NAME.bin().not_null(), table_name: varchar(199).bin().not_null(),
        last_update: timestamp(0).not_null(), n_rows: UBIGINT.not_null(), clustered_index_size: UBIGINT.not_null(),
        sum_of_other_index_sizes: UBIGINT.not_null(),
    }
    innodb_index_stats by index_stats {
        database_name: NAME.bin().not_null(), table_name: varchar(199).bin().not_null(),
        index_name: NAME.bin().not_null(), last_update: timestamp(0).not_null(), stat_name: NAME.bin().not_null(),
        stat_value: UBIGINT.not_null(), sample_size: UBIGINT, stat_description: varchar(1024).bin().not_null(),
    }
}

pub(super) fn column_statistics(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let access = &state.access;
    super::metadata::each_table(state, equals, ("SCHEMA_NAME", "TABLE_NAME"), |_, t| {
        for h in t.statistics.histograms().iter() {
            let Some(c) = t.columns.iter().find(|c| h.fits(c)) else { continue };
            if !access.all
                && access.column(&t.schema, &t.name, &c.name).and(Privilege::Select.into()) == Privileges::NONE
            {
                continue;
            }
            let Ok(json) = json::parse(h.json.as_bytes()) else { continue };
            emit(&[
                text(&t.schema),
                text(&t.name),
                text(&c.name),
                Value::Json(json.to_text(gannet_types::room::Room::FREE)?),
            ])?;
        }
        Ok(())
    })
}

fn analysed(
    state: &State,
    equals: &Equals<'_>,
    mut each: impl FnMut(&Table, &gannet_schema::Figures, Value) -> Result<()>,
) -> Result<()> {
    super::metadata::each_table(state, equals, ("database_name", "table_name"), |_, t| {
        let figures = t.statistics.figures();
        if t.source != RowSource::Engine || t.temporary || figures.taken == 0 {
            return Ok(());
        }
        let taken = Timestamp::from_unix_micros(figures.taken as i64 * 1_000_000);
        each(t, &figures, taken.map_or(Value::Null, |at| Value::Timestamp(at, 0)))
    })
}

pub(super) fn table_stats(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    analysed(state, equals, |t, figures, taken| {
        let others = figures.indexes.iter().filter(|i| i.tree != t.row_tree).map(|i| i.pages).sum();
        emit(&[
            text(&t.schema),
            text(&t.name),
            taken,
            Value::UInt(figures.rows),
            Value::UInt(figures.pages.max(1)),
            Value::UInt(others),
        ])
    })
}

pub(super) fn index_stats(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    analysed(state, equals, |t, figures, taken| {
        let mut indexes: Vec<_> = t.indexes.iter().collect();
        indexes.sort_by_key(|i| i.name.to_lowercase());
        for index in indexes {
            let Some(of) = figures.indexes.iter().find(|f| f.tree == index.tree) else { continue };
            let mut line = |name: &str, value: u64, sampled: Value, description: &str| {
                emit(&[
                    text(&t.schema),
                    text(&t.name),
                    text(&index.name),
                    taken.clone(),
                    text(name),
                    Value::UInt(value),
                    sampled,
                    text(description),
                ])
            };
            let mut names: Vec<&str> = Vec::new();
            let places = if of.sampled == 0 { of.leaves } else { of.sampled };
            for (n, (part, distinct)) in index.parts.iter().zip(&of.distinct).enumerate() {
                names.push(&t.columns[part.column as usize].name);
                line(&format!("n_diff_pfx{:02}", n + 1), *distinct as u64, Value::UInt(places), &names.join(","))?;
            }
            // With the row's key every entry is another.
            if index.kind == IndexKind::Plain && t.clustered.is_some() {
                let more = t.clustered_columns().iter().map(|c| &*t.columns[*c as usize].name);
                let more: Vec<&str> = more.filter(|c| !names.contains(c)).collect();
                names.extend(more);
                let name = format!("n_diff_pfx{:02}", names.len());
                if names.len() > index.parts.len() {
                    line(&name, figures.rows, Value::UInt(places), &names.join(","))?;
                }
            }
            line("n_leaf_pages", of.leaves, Value::Null, "Number of leaf pages in the index")?;
            line("size", of.pages, Value::Null, "Number of pages in the index")?;
        }
        Ok(())
    })
}
