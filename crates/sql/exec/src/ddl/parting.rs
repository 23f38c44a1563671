//! ALTER TABLE ... PARTITION: what changes the parts of a table and leaves its columns and indexes alone.
//!
//! DROP and TRUNCATE give trees up and read no row. REORGANIZE, COALESCE, REBUILD, and ADD of a HASH or KEY copy the
//! rows of the partitions concerned. EXCHANGE swaps trees, and reads rows only to validate them.

use super::copy::{LOOK, Spreading, Stages, look_up};
use super::expressions::Placing;
use super::online::Asked;
use super::partition::{self, Maker, Subs};
use super::{DdlContext, Done, sql};
use crate::codec;
use crate::error::{from_catalog, from_engine};
use gannet_catalog::{Edit, PendingParts, StoredTable, begin_parts, exchange_part, finish_parts};
use gannet_engine::{KeyRange, ScanOptions};
use gannet_parser::ast::{AlterAction, AlterTable, Ident, ObjectName, PartitionDef};
use gannet_runtime::LongWork;
use gannet_schema::partition::{Method, PartOptions, Partition, Partitioning, Values};
use gannet_schema::{Column, Table, TableDefinition};
use gannet_types::{Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// Carries out an ALTER TABLE that is about parts alone; `None`: it is about something else.
pub(super) fn alter(
    alter: &AlterTable,
    asked: Asked,
    old: &Arc<Table>,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<Option<Done>> {
    let Some(action) = alter.actions.iter().find(|a| a.is_of_partitions()) else { return Ok(None) };
    if alter.partition.is_some() {
        return Err(match &old.partitions {
            None => sql_err!(PartitionMgmtOnNonpartitioned),
            Some(_) => SqlError::unsupported("PARTITION BY beside another change of partitions"),
        });
    }
    let Some(parts) = &old.partitions else { return Err(sql_err!(PartitionMgmtOnNonpartitioned)) };
    let definition = parts.definition().clone();
    asked.check_partitions(action, matches!(definition.spread.method, Method::Hash | Method::Key))?;
    let rows = match action {
        AlterAction::DropPartition(names) => drop_partitions(old, definition, names, edit)?,
        AlterAction::AddPartition { partitions, count, .. } => add(old, definition, partitions, *count, edit, cx)?,
        AlterAction::CoalescePartition { count, .. } => coalesce(old, definition, *count, edit, cx)?,
        AlterAction::ReorganizePartition { names, into, .. } => reorganize(old, definition, names, into, edit, cx)?,
        AlterAction::ExchangePartition { name, table, validation } => {
            exchange(old, name, table, validation.unwrap_or(true), edit, cx)?
        }
        AlterAction::Partitions { verb, names, options, .. } => {
            verbs(old, definition, (verb, names, options), edit, cx)?
        }
        _ => return Ok(None),
    };
    // What moves no row of its own tells nothing of rows.
    let silent = match action {
        AlterAction::ExchangePartition { .. } => true,
        AlterAction::Partitions { verb, .. } => verb.text.eq_ignore_ascii_case("TRUNCATE"),
        _ => false,
    };
    let info = match silent {
        true => String::new(),
        false => format!("Records: {rows}  Duplicates: 0  Warnings: {}", cx.warnings.total()),
    };
    Ok(Some(Done { rows, info, ..Done::default() }))
}

/// Leaves of a definition of which `kept` partitions stay: which one each was.
fn origins(of: &Partitioning, kept: &[Option<usize>]) -> Vec<Option<usize>> {
    let subs = of.subs();
    kept.iter().flat_map(|p| (0..subs).map(move |s| p.map(|p| p * subs + s))).collect()
}

/// Positions of partitions by name. Error 1507.
fn positions(of: &Partitioning, names: &[Ident], verb: &str) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let at = of.partition(name).ok_or_else(|| sql_err!(DropPartitionNonExistent, verb))?;
        if !found.contains(&at) {
            found.push(at);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn drop_partitions(old: &Arc<Table>, of: Partitioning, names: &[Ident], edit: &mut Edit<'_>) -> Result<u64> {
    if !matches!(of.spread.method, Method::Range | Method::List) {
        return Err(sql_err!(OnlyOnRangeListPartition, "DROP"));
    }
    let gone = positions(&of, names, "DROP")?;
    if gone.len() == of.partitions.len() {
        return Err(sql_err!(DropLastPartition));
    }
    let stays: Vec<usize> = (0..of.partitions.len()).filter(|n| !gone.contains(n)).collect();
    let partitions = stays.iter().map(|n| of.partitions[*n].clone()).collect();
    let kept: Vec<Option<usize>> = stays.into_iter().map(Some).collect();
    let leaves = origins(&of, &kept);
    let next = Partitioning { partitions, ..of };
    let pending = sql(begin_parts(edit, old, next, leaves))?;
    sql(finish_parts(edit, pending))?;
    Ok(0)
}

/// Leaves that a list of partitions and subpartitions names; all without names. Error 1735.
fn leaves(old: &Table, of: &Partitioning, names: &[Ident]) -> Result<Vec<usize>> {
    if names.is_empty() || matches!(names, [all] if all.text.eq_ignore_ascii_case("ALL") && of.named(all).is_none()) {
        return Ok((0..of.leaves()).collect());
    }
    let mut found = Vec::new();
    for name in names {
        let leaves = of.named(name).ok_or_else(|| sql_err!(UnknownPartition, name, old.name))?;
        found.extend(leaves.filter(|n| !found.contains(n)).collect::<Vec<_>>());
    }
    Ok(found)
}

fn verbs(
    old: &Arc<Table>,
    of: Partitioning,
    (verb, names, options): (&Ident, &[Ident], &[Ident]),
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    let rebuilds = verb.text.eq_ignore_ascii_case("REBUILD");
    let named = leaves(old, &of, names).map_err(|e| match rebuilds {
        true => sql_err!(DropPartitionNonExistent, "REBUILD"),
        false => e,
    })?;
    let kept: Vec<Option<usize>> = (0..of.leaves()).map(|n| (!named.contains(&n)).then_some(n)).collect();
    match &*verb.text.to_ascii_uppercase() {
        "TRUNCATE" => {
            let pending = sql(begin_parts(edit, old, of, kept))?;
            sql(finish_parts(edit, pending))?;
            Ok(0)
        }
        "REBUILD" => {
            let pending = sql(begin_parts(edit, old, of, kept))?;
            refill(pending, None, edit, cx)?;
            Ok(0)
        }
        other => {
            let words: Vec<&str> = options.iter().map(|o| &*o.text).collect();
            let what = format!("ALTER TABLE: {other} PARTITION {}", words.join(" "));
            Err(SqlError::unsupported(what.trim()))
        }
    }
}

/// Copies the rows of the parts that do not stay into the new ones, and finishes. Error 1526 for a row without a part
/// among them. `into`: all of them into this part, with new hidden ids.
fn refill(pending: PendingParts, into: Option<u32>, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<u64> {
    let engine = edit.txn().engine().clone();
    let table = pending.table.clone();
    let fresh: Vec<usize> = (0..table.indexes.len()).filter(|i| Some(*i) != table.clustered).collect();
    let fresh_indexes = fresh.len() as u64;
    let mut spreading = Spreading::begin(edit, &table, fresh)?;
    spreading.keep(&pending.kept);
    let stages = Stages::IN_PLACE;
    edit.work = LongWork::begin();
    edit.work.enter(stages.read);
    let (mut rows, mut key) = (0, Vec::new());
    let mut expected = 0;
    for part in pending.leaving() {
        let rows = pending.old.part(part)?.trees(&engine).map_err(from_engine)?.row.approximate_rows();
        expected += rows * (2 + fresh_indexes);
    }
    edit.work.expect(expected);
    for part in pending.leaving() {
        let from = pending.old.part(part)?.trees(&engine).map_err(from_engine)?.row.clone();
        let reader = edit.reader(&pending.old).map_err(from_catalog)?;
        let options = ScanOptions { sequential: true, whole: true, ..ScanOptions::default() };
        let mut scan = reader.scan(&from, KeyRange::ALL, options).map_err(from_engine)?;
        while let Some(entry) = scan.next().map_err(from_engine)? {
            rows += 1;
            look_up(rows, &edit.work)?;
            match into {
                None => spreading.row(entry.key, entry.value, edit, cx)?,
                Some(part) => {
                    codec::new_row_key(&table, &[], edit.txn(), &mut key)?;
                    spreading.put(part, &key, entry.value)?;
                }
            }
        }
    }
    edit.work.done(rows % LOOK);
    edit.work.expect_instead(expected, rows + spreading.rest());
    spreading.finish(stages.insert, edit, cx)?;
    edit.work.enter(stages.end);
    sql(finish_parts(edit, pending))?;
    Ok(rows)
}

/// Partitions of a statement, for a table that has others.
fn written(
    old: &Table,
    of: &Partitioning,
    list: &[PartitionDef],
    (edit, cx): (&mut Edit<'_>, &mut DdlContext<'_>),
) -> Result<Vec<Partition>> {
    let columns: Vec<Column> = old.columns.to_vec();
    partition::check_engines(list, Some(partition::engine_of(&old.options)))?;
    let named = list.iter().any(|p| !p.sub.is_empty());
    if named && of.sub.is_none() {
        return Err(sql_err!(Subpartition));
    }
    let subs = Subs { of: of.sub.is_some(), count: of.subs(), named };
    Maker { columns: &columns, table: &old.name, txn: edit.txn(), cx }.partitions(list, &of.spread, &subs)
}

fn add(
    old: &Arc<Table>,
    of: Partitioning,
    list: &[PartitionDef],
    count: Option<u64>,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    let hashed = matches!(of.spread.method, Method::Hash | Method::Key);
    if count == Some(0) || count.is_none() && list.is_empty() {
        return Err(sql_err!(AddPartitionNoNewPartition));
    }
    if !hashed && list.is_empty() {
        let word = if of.spread.method == Method::Range { "RANGE" } else { "LIST" };
        return Err(sql_err!(PartitionsMustBeDefined, word));
    }
    let more = count.unwrap_or(list.len() as u64);
    if of.leaves() as u64 + more.saturating_mul(of.subs() as u64) > gannet_schema::MAX_PARTS as u64 {
        return Err(sql_err!(TooManyPartitions));
    }
    let mut partitions = of.partitions.to_vec();
    if list.is_empty() {
        let first = partitions.len();
        partitions.extend((first..first + more as usize).map(|n| partition::unnamed(&format!("p{n}"))));
    } else {
        let beyond = |p: &Partition| matches!(&p.values, Values::LessThan(b) if b.iter().all(Option::is_none));
        if of.partitions.last().is_some_and(beyond) && !of.spread.by_columns() {
            return Err(sql_err!(PartitionMaxvalue));
        }
        if list.iter().any(|p| !p.sub.is_empty() && p.sub.len() != of.subs()) {
            return Err(sql_err!(AddPartitionSubpart));
        }
        partitions.extend(written(old, &of, list, (edit, cx))?);
    }
    let before = of.partitions.len();
    let counted = of.counted && list.is_empty();
    let subs_counted = of.subs_counted && list.iter().all(|p| p.sub.is_empty());
    let next = Partitioning { partitions: partitions.into(), counted, subs_counted, count_written: true, ..of };
    partition::check_partitions(&next, &old.columns)?;
    let kept: Vec<Option<usize>> = (0..next.partitions.len()).map(|n| (!hashed && n < before).then_some(n)).collect();
    let leaves = origins(&next, &kept);
    let pending = sql(begin_parts(edit, old, next, leaves))?;
    if hashed {
        return refill(pending, None, edit, cx).map(|_| 0);
    }
    sql(finish_parts(edit, pending))?;
    Ok(0)
}

fn coalesce(
    old: &Arc<Table>,
    of: Partitioning,
    count: u64,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    if !matches!(of.spread.method, Method::Hash | Method::Key) {
        return Err(sql_err!(CoalesceOnlyOnHashPartition));
    }
    if count == 0 {
        return Err(sql_err!(CoalescePartitionNoPartition));
    }
    if count >= of.partitions.len() as u64 {
        return Err(sql_err!(DropLastPartition));
    }
    let left = of.partitions.len() - count as usize;
    let next = Partitioning { partitions: of.partitions[..left].into(), count_written: true, ..of };
    let leaves = vec![None; next.leaves()];
    let pending = sql(begin_parts(edit, old, next, leaves))?;
    refill(pending, None, edit, cx).map(|_| 0)
}

fn reorganize(
    old: &Arc<Table>,
    of: Partitioning,
    names: &[Ident],
    into: &[PartitionDef],
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    if into.is_empty() {
        // As many as there are: nothing is to be done.
        let hashed = matches!(of.spread.method, Method::Hash | Method::Key);
        return if hashed && (of.count_written || !of.counted) { Ok(0) } else { Err(sql_err!(ReorgNoParam)) };
    }
    if names.len() > of.partitions.len() {
        return Err(sql_err!(ReorgPartitionNotExist));
    }
    let hashed = matches!(of.spread.method, Method::Hash | Method::Key);
    if hashed && names.len() != into.len() {
        return Err(sql_err!(ReorgHashOnlyOnSameNo));
    }
    let gone = positions(&of, names, "REORGANIZE")?;
    let (Some(first), Some(last)) = (gone.first().copied(), gone.last().copied()) else {
        return Err(sql_err!(ReorgNoParam));
    };
    if last - first + 1 != gone.len() {
        return Err(sql_err!(ConsecutiveReorgPartitions));
    }
    let fresh = written(old, &of, into, (edit, cx))?;
    if fresh.iter().any(|p| p.subs.len() != of.partitions[first].subs.len()) {
        return Err(sql_err!(PartitionWrongNoSubpart));
    }
    let mut partitions = of.partitions[..first].to_vec();
    partitions.extend(fresh.iter().cloned());
    partitions.extend_from_slice(&of.partitions[last + 1..]);
    let subs_counted = of.subs_counted && into.iter().all(|p| p.sub.is_empty());
    let (partitions, counted) = (partitions.into(), false);
    let next = Partitioning { partitions, counted, subs_counted, ..of.clone() };
    partition::check_partitions(&next, &old.columns)?;
    if of.spread.method == Method::Range {
        let (was, is) = (&of.partitions[last].values, &fresh[fresh.len() - 1].values);
        let single = |values: &Values| {
            let one = Partition { values: values.clone(), ..partition::unnamed("p") };
            Partitioning { partitions: [one].into(), sub: None, ..of.clone() }
        };
        let less = single(is).below(&single(was), &old.columns);
        let grows = last + 1 == of.partitions.len();
        if is != was && (less || !grows) {
            return Err(sql_err!(ReorgOutsideRange));
        }
    }
    let mut kept: Vec<Option<usize>> = (0..first).map(Some).collect();
    kept.extend(fresh.iter().map(|_| None));
    kept.extend((last + 1..of.partitions.len()).map(Some));
    let leaves = origins(&next, &kept);
    let pending = sql(begin_parts(edit, old, next, leaves))?;
    refill(pending, None, edit, cx).map(|_| 0)
}

fn exchange(
    old: &Arc<Table>,
    name: &Ident,
    with: &ObjectName,
    validate: bool,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    let (schema, other) = cx.resolve(with)?;
    let other = edit.snapshot().require_table(schema, other)?.clone();
    if other.view().is_some() {
        return Err(sql_err!(WrongObject, other.schema, other.name, "BASE TABLE"));
    }
    if other.temporary {
        return Err(sql_err!(PartitionExchangeTempTable, other.name));
    }
    if other.id == old.id {
        return Err(sql_err!(NonuniqTable, with.name));
    }
    if other.partitions.is_some() {
        return Err(sql_err!(PartitionExchangePartTable, other.name));
    }
    let children = edit.snapshot().children(&other.schema, &other.name);
    if !other.constraints.foreign_keys.is_empty() || !children.is_empty() {
        return Err(sql_err!(PartitionExchangeForeignKey, other.name));
    }
    let Some(parts) = &old.partitions else { return Err(sql_err!(PartitionMgmtOnNonpartitioned)) };
    let leaves = parts.definition().named(name).ok_or_else(|| sql_err!(UnknownPartition, name, old.name))?;
    if leaves.len() > 1 || parts.definition().sub.is_some() && parts.definition().partition(name).is_some() {
        return Err(sql_err!(PartitionInsteadOfSubpartition));
    }
    let format = match cx.session.system_variable(true, "innodb_default_row_format")? {
        Value::Str(word, _) => String::from_utf8_lossy(&word).to_ascii_uppercase(),
        _ => "DYNAMIC".into(),
    };
    alike(old, &other, &format)?;
    let part = leaves.start;
    if let Some((partition, of_sub)) = parts.definition().leaf(part) {
        alike_in_rows(of_sub.map_or(&partition.options, |s| &s.options), &other)?;
    }
    if validate {
        validate_rows(old, part as u32, &other, edit, cx)?;
    }
    let after = sql(exchange_part(edit, old, part, &other))?;
    if after.has_hidden_key() {
        number_anew(&after, part, edit, cx)?;
    }
    Ok(0)
}

/// Gives the rows of a part other hidden ids. Those of a table that came by EXCHANGE are numbers of that table, which
/// rows of other parts may have, too, and a row is known by its id in whichever part it is.
fn number_anew(old: &Arc<Table>, part: usize, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    let Some(parts) = &old.partitions else { return Ok(()) };
    let kept = (0..parts.len()).map(|n| (n != part).then_some(n)).collect();
    let pending = sql(begin_parts(edit, old, parts.definition().clone(), kept))?;
    refill(pending, Some(part as u32), edit, cx).map(drop)
}

/// Error 1737 for a row of the table that does not belong into the part, 1526 for one that belongs into none.
fn validate_rows(
    old: &Arc<Table>,
    part: u32,
    other: &Arc<Table>,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<()> {
    let engine = edit.txn().engine().clone();
    let placing = Placing::of(old)?;
    let from = other.trees(&engine).map_err(from_engine)?.row.clone();
    let reader = edit.reader(other).map_err(from_catalog)?;
    let options = ScanOptions { sequential: true, whole: true, ..ScanOptions::default() };
    let mut scan = reader.scan(&from, KeyRange::ALL, options).map_err(from_engine)?;
    let mut rows = 0;
    while let Some(entry) = scan.next().map_err(from_engine)? {
        rows += 1;
        look_up(rows, &edit.work)?;
        let values = codec::decode_row(other, entry.value)?;
        match placing.part(&values, edit.txn(), cx) {
            Ok(place) if place == part => {}
            Ok(_) => return Err(sql_err!(RowDoesNotMatchPartition)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A part and a table are for equally many rows. Error 1731.
fn alike_in_rows(part: &PartOptions, other: &Table) -> Result<()> {
    for name in ["MAX_ROWS", "MIN_ROWS"] {
        let of =
            |options: &[(Box<str>, Box<str>)]| options.iter().find(|o| *o.0 == *name).map_or("0", |o| &*o.1).to_owned();
        if of(&part.others) != of(&other.options.create_options) {
            return Err(sql_err!(PartitionExchangeDifferentOption, name));
        }
    }
    Ok(())
}

/// The trees of both may be exchanged. Errors 3106, 1736, 1731.
fn alike(table: &Table, other: &Table, default_format: &str) -> Result<()> {
    let (a, b) = (TableDefinition::of(table), TableDefinition::of(other));
    let column = |c: &Column| (c.name.to_lowercase(), c.ty.clone(), c.generated.clone(), c.hidden, c.auto_increment);
    let columns = |t: &Table| t.columns.iter().map(column).collect::<Vec<_>>();
    let indexes = |d: &TableDefinition| {
        let name = |n: &Option<Box<str>>| n.as_ref().map(|n| n.to_lowercase());
        let part = |p: &(Box<str>, Option<u32>, bool)| (p.0.to_lowercase(), p.1, p.2);
        let of =
            |i: &gannet_schema::IndexDefinition| (name(&i.name), i.kind, i.parts.iter().map(part).collect::<Vec<_>>());
        d.indexes.iter().map(of).collect::<Vec<_>>()
    };
    let virtually = |c: &Column| c.generated.as_ref().is_some_and(|g| !g.stored);
    let both = || table.columns.iter().zip(&*other.columns);
    if table.columns.len() == other.columns.len() && both().any(|(a, b)| virtually(a) != virtually(b)) {
        let what = "Exchanging partitions for non-generated columns";
        return Err(sql_err!(UnsupportedActionOnGeneratedColumn, what));
    }
    if columns(table) != columns(other) || indexes(&a) != indexes(&b) || table.clustered != other.clustered {
        return Err(sql_err!(TablesDifferentMetadata));
    }
    let option = |t: &Table, name: &str| t.options.create_options.iter().find(|o| *o.0 == *name).map(|o| o.1.clone());
    // Rows have one format, whatever is written of others. A table that says nothing has the default one.
    let said = |t: &Table| option(t, "ROW_FORMAT").filter(|f| &**f != "DEFAULT");
    let format = |t: &Table| said(t).unwrap_or_else(|| default_format.into());
    if format(table) != format(other) {
        return Err(sql_err!(PartitionExchangeDifferentOption, "ROW_FORMAT"));
    }
    if option(table, "AVG_ROW_LENGTH").unwrap_or("0".into()) != option(other, "AVG_ROW_LENGTH").unwrap_or("0".into()) {
        return Err(sql_err!(PartitionExchangeDifferentOption, "AVG_ROW_LENGTH"));
    }
    let differs = |name: &&str| {
        let of = |t: &Table| option(t, name).filter(|v| &**v != "DEFAULT");
        of(table) != of(other)
    };
    if ["PACK_KEYS", "CHECKSUM", "DELAY_KEY_WRITE", "STATS_PERSISTENT"].iter().any(differs) {
        return Err(sql_err!(PartitionExchangeDifferentOption, "TABLE OPTION"));
    }
    if table.options.collation != other.options.collation {
        return Err(sql_err!(PartitionExchangeDifferentOption, "CHARACTER SET"));
    }
    let both = option(table, "KEY_BLOCK_SIZE").zip(option(other, "KEY_BLOCK_SIZE"));
    if both.is_some_and(|(a, b)| a != b) {
        return Err(sql_err!(PartitionExchangeDifferentOption, "KEY_BLOCK_SIZE"));
    }
    // Rows name the definition that they were written with.
    if *table.history != *other.history {
        return Err(sql_err!(PartitionExchangeDifferentOption, "INSTANT COLUMN(s)"));
    }
    Ok(())
}
