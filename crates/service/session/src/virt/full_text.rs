//! information_schema.INNODB_FT_*: the words of the table that `innodb_ft_aux_table` names.

use super::{Emit, Equals};
use crate::full_text::{each_row, named};
use crate::state::State;
use gannet_schema::Table;
use gannet_types::charset::Charset;
use gannet_types::{Result, Value, ValueRef, sql_err};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Places of words that one read of INNODB_FT_INDEX_TABLE collects, at most.
const MAX_PLACES: usize = 1_000_000;

pub(super) fn default_stopwords(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    gannet_text::DEFAULT_STOPWORDS.iter().try_for_each(|word| emit(&[Value::text(word)]))
}

/// The table that `innodb_ft_aux_table` names.
fn shown(state: &State) -> Option<Arc<Table>> {
    match crate::variables::value(state, true, "innodb_ft_aux_table").ok()? {
        Value::Str(name, _) => named(state, &String::from_utf8_lossy(&name)).cloned(),
        _ => None,
    }
}

pub(super) fn config(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let Some(table) = shown(state) else { return Ok(()) };
    let Some(text) = table.indexes.iter().find_map(|i| i.text()) else { return Ok(()) };
    let stops = !matches!(text.definition.stopwords, gannet_text::Stopwords::None);
    let mut rows = 0_u64;
    each_row(state, &table, &mut |_, _| {
        rows += 1;
        Ok(())
    })?;
    emit(&[Value::text("optimize_checkpoint_limit"), Value::text("180")])?;
    emit(&[Value::text("synced_doc_id"), Value::text(&rows.to_string())])?;
    emit(&[Value::text("stopword_table_name"), Value::text("")])?;
    emit(&[Value::text("use_stopword"), Value::text(if stops { "1" } else { "0" })])
}

/// Words with their places: a row for each, by words and documents. A document is a row's FTS_DOC_ID, or its number in
/// the order of the rows.
pub(super) fn index_table(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let Some(table) = shown(state) else { return Ok(()) };
    let by_column = table.column("FTS_DOC_ID");
    for index in table.indexes.iter() {
        let Some(text) = index.text() else { continue };
        let mut words: BTreeMap<Vec<u8>, (Vec<u8>, Vec<(u64, u64)>)> = BTreeMap::new();
        let (mut document, mut places) = (0_u64, 0);
        each_row(state, &table, &mut |_, row| {
            document += 1;
            let id = match by_column.map(|c| table.layout().get(row, c as usize)).transpose()? {
                Some(ValueRef::UInt(id)) => id,
                _ => document,
            };
            let mut before = 0;
            for part in &index.parts {
                let ValueRef::Str(bytes, _) = table.layout().get(row, part.column as usize)? else { continue };
                text.analyzer.tokens(bytes, &mut |token| {
                    let Some(key) = text.analyzer.indexed(&token) else { return };
                    let entry = words.entry(key).or_insert_with(|| (text.analyzer.folded(token.text), Vec::new()));
                    entry.1.push((id, before + token.at as u64));
                    places += 1;
                });
                before += bytes.len() as u64 + 1;
            }
            if places > MAX_PLACES { Err(sql_err!(OutOfResources)) } else { Ok(()) }
        })?;
        let charset = text.definition.collation.charset();
        for (word, places) in words.into_values() {
            let word = charset.convert(&word, Charset::Utf8mb4).bytes.into_owned();
            let word = Value::text(&String::from_utf8_lossy(&word));
            let mut documents: Vec<u64> = places.iter().map(|p| p.0).collect();
            documents.dedup();
            let (first, last) = (documents.first().copied(), documents.last().copied());
            let bounds = [first.unwrap_or(0), last.unwrap_or(0), documents.len() as u64];
            for (document, at) in places {
                let [first, last, count] = bounds.map(Value::UInt);
                emit(&[word.clone(), first, last, count, Value::UInt(document), Value::UInt(at)])?;
            }
        }
    }
    Ok(())
}
