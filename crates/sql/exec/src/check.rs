//! Comparing a table's indexes with its rows, and its rows with its expressions: CHECK TABLE, `gannet check`.

use std::hash::Hasher;
use std::sync::Arc;

use gannet_catalog::StoredTable;
use gannet_engine::{Cut, Engine, KeyRange, ScanOptions, SnapshotReader, TreeHandle, Txn, TxnOptions};
use gannet_runtime::{LongWork, Stage};
use gannet_schema::{Method, RowSource, Table};
use gannet_types::{ErrorCode, Result, SqlError, Value, Warnings, sql_err};

use crate::codec::{decode_row, encode_row, entries, index_entry};
use crate::context::{Cx, Session, Settings, Shared};
use crate::dml::complete;
use crate::error::from_engine;
use crate::waiting;

/// A number of entries, and a sum over them that does not depend on their order.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    entries: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], carried: &[u8]) {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(key);
        hasher.write_usize(key.len());
        hasher.write(carried);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

fn damaged(table: &Table, what: String) -> SqlError {
    SqlError::with_message(ErrorCode::NotKeyfile, format!("Table '{}.{}': {what}", table.schema, table.name))
}

/// Entries after which a check tells of them.
const TOLD: u64 = 1024;

/// Checks the structure of a table's trees, then in one snapshot that each index has exactly the entries of its rows.
/// The error says what is wrong. Memory does not grow with the table.
pub fn check_table(table: &Table, engine: &Engine) -> Result<()> {
    if table.source != RowSource::Engine {
        return Ok(());
    }
    let work = LongWork::begin();
    work.enter(Stage::Check);
    let secondary = table.indexes.len() - usize::from(table.clustered.is_some());
    for part in table.all_parts() {
        let rows = part?.trees(engine).map_err(from_engine)?.row.approximate_rows();
        work.expect(rows * (1 + secondary as u64));
    }
    check_rows(table, engine, &work)
}

fn check_rows(table: &Table, engine: &Engine, work: &LongWork) -> Result<()> {
    if table.partitions.is_some() {
        for part in table.all_parts() {
            check_rows(part?, engine, work)?;
        }
        return check_empty(table, engine);
    }
    let trees = table.trees(engine).map_err(from_engine)?;
    engine.check_tree(&trees.row).map_err(from_engine)?;
    for tree in &trees.indexes {
        engine.check_tree(tree).map_err(from_engine)?;
    }
    let mut txn = engine.try_begin(TxnOptions { autocommit: true, ..TxnOptions::default() }).map_err(from_engine)?;
    // The clustered index is the rows themselves.
    let secondary = || trees.indexes.iter().enumerate().filter(|(index, _)| table.clustered != Some(*index));
    let mut wanted = vec![Sum::default(); trees.indexes.len()];
    scan(&mut txn, &trees.row, work, |key, row| {
        let values = decode_row(table, row)?;
        for (index, _) in secondary() {
            if !table.indexes[index].is_ordered() {
                entries(table, index, key, &values)?.iter().for_each(|e| wanted[index].add(e.key, e.carried));
                continue;
            }
            let entry = index_entry(table, index, key, &values)?;
            wanted[index].add(&entry.key, &entry.carried);
        }
        Ok(())
    })?;
    // Rows that wait are read at the same snapshot.
    let reader = txn.snapshot_reader().map_err(from_engine)?;
    let reader = reader.ok_or_else(|| SqlError::internal("a check reads without a snapshot"))?;
    for (index, tree) in secondary() {
        let (found, want) = (sum_of(table, index, (&trees.row, tree), &reader, (&mut txn, work))?, wanted[index]);
        let name = &table.indexes[index].name;
        if found.entries != want.entries {
            let (n, rows) = (found.entries, want.entries);
            let of = match table.indexes[index].method {
                Method::Ordered => "rows",
                Method::FullText(_) => "words of rows",
                Method::Array(_) => "elements of rows",
            };
            return Err(damaged(table, format!("index '{name}' has {n} entries for {rows} {of}")));
        }
        if found.sum != want.sum {
            return Err(damaged(table, format!("index '{name}' has entries that no row has")));
        }
    }
    txn.commit().map_err(from_engine)?;
    Ok(())
}

/// What an index has, with the words of rows that wait, which `reader` reads at the same snapshot.
fn sum_of(
    table: &Table,
    index: usize,
    (rows, tree): (&TreeHandle, &TreeHandle),
    reader: &SnapshotReader,
    (txn, work): (&mut Txn, &LongWork),
) -> Result<Sum> {
    let mut found = Sum::default();
    let waits = table.indexes[index].text().is_some();
    scan(txn, tree, work, |key, carried| {
        let Some((row_key, number)) = waiting::split(key).filter(|_| waits) else {
            found.add(key, carried);
            return Ok(());
        };
        if number > 0 {
            return Ok(());
        }
        let only = KeyRange::new(Cut::Before(row_key), Cut::After(row_key));
        let mut row = reader.scan(rows, only, ScanOptions::default()).map_err(from_engine)?;
        let Some(row) = row.next().map_err(from_engine)? else {
            let name = &table.indexes[index].name;
            return Err(damaged(table, format!("a row waits in index '{name}' that is not there")));
        };
        let values = decode_row(table, row.value)?;
        entries(table, index, row_key, &values)?.iter().for_each(|e| found.add(e.key, e.carried));
        Ok(())
    })?;
    Ok(found)
}

/// The own trees of a table with parts have no rows.
fn check_empty(table: &Table, engine: &Engine) -> Result<()> {
    let trees = table.trees(engine).map_err(from_engine)?;
    let mut txn = engine.try_begin(TxnOptions { autocommit: true, ..TxnOptions::default() }).map_err(from_engine)?;
    for tree in std::iter::once(&trees.row).chain(&trees.indexes) {
        engine.check_tree(tree).map_err(from_engine)?;
        scan(&mut txn, tree, &LongWork::default(), |_, _| {
            Err(damaged(table, "rows outside of its partitions".into()))
        })?;
    }
    txn.commit().map_err(from_engine)?;
    Ok(())
}

/// What a session's evaluation needs.
pub struct Evaluation<'a> {
    /// What functions may ask.
    pub session: &'a mut dyn Session,
    /// Variables.
    pub settings: &'a Settings,
}

/// What is wrong with rows beyond their indexes.
#[derive(Default)]
pub struct Stale {
    /// What expressions give otherwise: some depend on the session's time zone and sql_mode.
    pub warnings: Vec<String>,
    /// Of the first partition that has rows of others.
    pub errors: Vec<String>,
    /// Rows that belong into other partitions, or into none.
    pub misplaced: u64,
}

/// Computes the generated columns of each row again and evaluates the checks: a line for each whose rows do not
/// agree. Indexes hold the same values as rows, so [`check_table`] cannot see it. `parts` are those that are looked at;
/// all, if none is named.
pub fn stale_values(table: &Arc<Table>, parts: &[usize], engine: &Engine, evaluation: Evaluation<'_>) -> Result<Stale> {
    if table.source != RowSource::Engine || !table.has_expressions() && table.partitions.is_none() {
        return Ok(Stale::default());
    }
    let exprs = gannet_plan::table_exprs(table)?;
    let plan = crate::ddl::plan_over(table, Some(exprs.clone()));
    let mut stale = vec![0u64; exprs.generated.len()];
    let mut violated = vec![0u64; exprs.checks.len()];
    let options = TxnOptions { autocommit: true, ..TxnOptions::default() };
    let mut reading = engine.try_begin(options).map_err(from_engine)?;
    let mut txn = engine.try_begin(options).map_err(from_engine)?;
    let mut warnings = Warnings::default();
    let shared = Shared::new(&plan, evaluation.settings, &[]);
    let mut cx = Cx::new(&shared, &mut txn, evaluation.session, &mut warnings);
    let mut encoded = Vec::new();
    let mut found = Stale::default();
    for (number, part) in table.all_parts().enumerate().filter(|(n, _)| parts.is_empty() || parts.contains(n)) {
        let row_tree = part?.trees(engine).map_err(from_engine)?.row.clone();
        scan(&mut reading, &row_tree, &LongWork::default(), |_, payload| {
            let row = decode_row(table, payload)?;
            let place = crate::place::number_of_row(0, &row, &mut cx)?;
            if let Some(place) = place.filter(|place| *place != Some(number as u32)) {
                if found.errors.is_empty() {
                    found.errors = misplaced(table, number, place, &row);
                }
                found.misplaced += 1;
            }
            let mut again = row.clone();
            // A value that cannot be computed is stale too: a statement that wrote the row would have failed, or stored
            // another value.
            let computed = complete::generate(0, &mut again, 1, &mut cx);
            cx.warnings.clear();
            encoded.clear();
            if computed.is_ok() {
                encode_row(table, &again, &mut encoded)?;
                again = decode_row(table, &encoded)?;
            }
            for ((column, _), n) in exprs.generated.iter().zip(&mut stale) {
                *n += u64::from(computed.is_err() || row[*column as usize] != again[*column as usize]);
            }
            for ((_, check), n) in exprs.checks.iter().zip(&mut violated) {
                *n += u64::from(complete::violates(check, &row, &mut cx)?);
            }
            Ok(())
        })?;
    }
    let lines = &mut found.warnings;
    for ((column, _), n) in exprs.generated.iter().zip(stale).filter(|(_, n)| *n > 0) {
        let definition = &table.columns[*column as usize];
        let index = table.indexes.iter().find(|i| i.parts.iter().any(|p| p.column == *column));
        let what = match index.filter(|_| definition.hidden) {
            Some(index) => format!("Functional index '{}'", index.name),
            None => format!("Generated column '{}'", definition.name),
        };
        lines.push(format!("{what}: {n} rows hold another value than its expression gives in this session"));
    }
    for ((position, _), n) in exprs.checks.iter().zip(violated).filter(|(_, n)| *n > 0) {
        let name = &table.constraints.checks[*position as usize].name;
        lines.push(format!("Check constraint '{name}': {n} rows violate it"));
    }
    Ok(found)
}

/// What CHECK says of the first row that is in a part where it does not belong, with the columns that say so.
fn misplaced(table: &Table, part: usize, place: Option<u32>, row: &[Value]) -> Vec<String> {
    let Some(parts) = &table.partitions else { return Vec::new() };
    let mut columns = parts.columns().to_vec();
    columns.sort_unstable();
    let mut first = match place {
        Some(place) => format!("Found a misplaced row in part {part} should be in part {place}:\n"),
        None => format!("Found a row in part {part} that belongs into none:\n"),
    };
    first.push_str(&crate::place::told(table, columns.into_iter().map(|c| c as usize), row));
    let which = match parts.definition().leaf(part) {
        Some((_, Some(sub))) => format!("Subpartition {}", sub.name),
        Some((partition, None)) => format!("Partition {}", partition.name),
        None => String::new(),
    };
    let upgrade: SqlError = sql_err!(TableNeedsUpgrade, table.name);
    vec![first, format!("{which} returned error"), upgrade.message().to_owned()]
}

fn scan(
    txn: &mut Txn,
    tree: &TreeHandle,
    work: &LongWork,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut entries = 0_u64;
    let options = ScanOptions { sequential: true, ..ScanOptions::default() };
    let mut scan = txn.scan(tree, KeyRange::ALL, options).map_err(from_engine)?;
    while let Some(entry) = scan.next(txn).map_err(from_engine)? {
        each(entry.key, entry.value)?;
        entries += 1;
        if entries.is_multiple_of(TOLD) {
            work.done(TOLD);
        }
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
    }
    work.done(entries % TOLD);
    Ok(())
}
