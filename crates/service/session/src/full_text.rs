//! What full-text indexes ask of tables that variables name.

use crate::Session;
use crate::state::State;
use gannet_catalog::StoredTable;
use gannet_core::vars::{Live, VarId};
use gannet_engine::{KeyRange, ScanOptions, SnapshotReader, TxnOptions};
use gannet_schema::Table;
use gannet_types::charset::Charset;
use gannet_types::{Result, SqlError, TypeId, ValueRef, sql_err};
use std::sync::Arc;

/// A variable does not take the name of a table that is not what it wants.
pub(crate) fn no_list(variable: &str, table: &str) -> SqlError {
    sql_err!(WrongValueForVar, variable, table)
}

/// Checks the name of a table that a variable is to have. Error 1231.
pub(crate) fn check(session: &Session, id: VarId, text: &str) -> Result<()> {
    let state = &session.state;
    let lists = id.is(Live::InnodbFtUserStopwordTable) || id.is(Live::InnodbFtServerStopwordTable);
    let takes = if text.is_empty() {
        true
    } else if lists {
        list(state, text).is_some()
    } else if id.is(Live::InnodbFtAuxTable) {
        named(state, text).is_some_and(|t| t.indexes.iter().any(|i| i.text().is_some()))
    } else if id.def().name == "ft_boolean_syntax" {
        is_boolean_syntax(text.as_bytes())
    } else {
        true
    };
    if takes { Ok(()) } else { Err(no_list(id.def().name, text)) }
}

/// As many signs as MyISAM has operators, one of the first two a space, none twice but the two quotes.
fn is_boolean_syntax(signs: &[u8]) -> bool {
    let sign = |b: &u8| b.is_ascii() && !b.is_ascii_alphanumeric();
    let twice =
        |at: usize| signs[..at].iter().position(|b| *b == signs[at]).is_some_and(|first| (first, at) != (10, 11));
    signs.len() == 14 && signs[..2].contains(&b' ') && signs.iter().all(sign) && !(0..14).any(twice)
}

/// A table by `schema/table`.
pub(crate) fn named<'s>(state: &'s State, name: &str) -> Option<&'s Arc<Table>> {
    let (schema, table) = name.split_once('/')?;
    state.snapshot.table(schema, table).filter(|t| t.source.is_engine())
}

/// A table of stopwords: its first column is `value`, a VARCHAR.
fn list<'s>(state: &'s State, name: &str) -> Option<&'s Arc<Table>> {
    let one = |t: &&Arc<Table>| matches!(&t.columns[..], [column, ..] if &*column.name == "value" && column.ty.id == TypeId::VarChar);
    named(state, name).filter(one)
}

/// Calls `each` with the rows of a table that are committed.
pub(crate) fn each_row(state: &State, table: &Table, each: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let engine = &state.server.engine;
    let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
    let mut txn = engine.try_begin(options).map_err(gannet_exec::error::from_engine)?;
    let reader = SnapshotReader::of_now(&txn, false).map_err(gannet_exec::error::from_engine)?;
    let parts = table.partitions.as_deref().map_or(0, |parts| parts.len() as u32);
    for place in 0..parts.max(1) {
        let place = if parts == 0 { table } else { table.part(place)? };
        each_in_tree(state, place, &reader, each)?;
    }
    txn.commit().map_err(gannet_exec::error::from_engine)?;
    Ok(())
}

fn each_in_tree(
    state: &State,
    table: &Table,
    reader: &SnapshotReader,
    each: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let tree = &table.trees(&state.server.engine).map_err(gannet_exec::error::from_engine)?.row;
    let mut scan = reader.scan(tree, KeyRange::ALL, ScanOptions::default()).map_err(gannet_exec::error::from_engine)?;
    while let Some(entry) = scan.next().map_err(gannet_exec::error::from_engine)? {
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
        each(entry.key, entry.value)?;
    }
    Ok(())
}

/// The words of a table of stopwords, in UTF-8; `None`: it is no such table.
pub(crate) fn stopwords(state: &State, name: &str) -> Result<Option<Vec<Box<str>>>> {
    let Some(table) = list(state, name) else { return Ok(None) };
    let mut words = Vec::new();
    each_row(state, table, &mut |_, row| {
        if let ValueRef::Str(word, collation) = table.layout().get(row, 0)? {
            let word = collation.charset().convert(word, Charset::Utf8mb4);
            words.push(String::from_utf8_lossy(&word.bytes).into());
        }
        Ok(())
    })?;
    Ok(Some(words))
}
