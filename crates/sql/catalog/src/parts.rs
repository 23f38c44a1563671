//! The trees of a table's parts.

use crate::edit::{Edit, new_part, new_parts};
use crate::error::CatalogResult;
use crate::trees::StoredTable;
use gannet_engine::{TreeId, TreeKind};
use gannet_schema::{Figures, Index, PartTrees, Partitioned, Partitioning, Table, TableParts, assemble};
use std::collections::HashSet;
use std::sync::Arc;

/// The parts of a table's next version, whose rows stay. `kept` says of each index which one it was, if its entries
/// stay; the others get new trees.
pub(crate) fn kept_parts(
    edit: &mut Edit<'_>,
    old: &Partitioned,
    kept: &[Option<usize>],
    clustered: Option<usize>,
) -> CatalogResult<Arc<Partitioned>> {
    let mut trees = Vec::with_capacity(old.trees.len());
    for part in &old.trees {
        let mut indexes = Vec::with_capacity(kept.len());
        for (position, origin) in kept.iter().enumerate() {
            indexes.push(match origin.and_then(|o| part.indexes.get(o)) {
                _ if Some(position) == clustered => part.row,
                Some(tree) if *tree != part.row => *tree,
                _ => edit.new_tree(TreeKind::Index, false)?.id(),
            });
        }
        trees.push(PartTrees { row: part.row, indexes: indexes.into() });
    }
    Ok(Arc::new(Partitioned { definition: old.definition.clone(), trees: trees.into() }))
}

/// Gives up the trees of parts that the next version of a table has no more.
pub(crate) fn drop_left_parts(edit: &mut Edit<'_>, old: &Table, table: &Table) -> CatalogResult<()> {
    let Some(parts) = &old.partitions else { return Ok(()) };
    let mut stays: HashSet<TreeId> = HashSet::new();
    for part in table.partitions.iter().flat_map(|p| p.shared().trees.iter()) {
        stays.insert(part.row);
        stays.extend(part.indexes.iter());
    }
    for part in &parts.shared().trees {
        for tree in part.indexes.iter().filter(|t| **t != part.row).chain([&part.row]) {
            if !stays.contains(tree) {
                let tree = edit.catalog.engine().tree(*tree)?;
                edit.txn.drop_tree(&tree)?;
            }
        }
    }
    Ok(())
}

/// The next version of a table with other parts, whose trees are there and whose rows, where they have to be copied,
/// are not.
pub struct PendingParts {
    /// Before.
    pub old: Arc<Table>,
    /// After; not in the dictionary yet.
    pub table: Arc<Table>,
    /// For each part of the next version: which one it was, if it stays as it is.
    pub kept: Vec<Option<usize>>,
}

impl PendingParts {
    /// Parts of the old version that do not stay.
    pub fn leaving(&self) -> Vec<u32> {
        let parts = self.old.partitions.as_ref().map_or(0, |p| p.len());
        (0..parts).filter(|n| !self.kept.contains(&Some(*n))).map(|n| n as u32).collect()
    }
}

/// Makes the next version of a table with another list of parts: `kept` says of each which one it was, those that
/// are new get new, empty trees.
pub fn begin_parts(
    edit: &mut Edit<'_>,
    old: &Arc<Table>,
    definition: Partitioning,
    kept: Vec<Option<usize>>,
) -> CatalogResult<PendingParts> {
    let parts = old.partitions.as_ref().map(|p| p.shared().clone());
    let mut trees = Vec::with_capacity(kept.len());
    for origin in &kept {
        trees.push(match origin.and_then(|o| parts.as_ref()?.trees.get(o).cloned()) {
            Some(part) => part,
            None => new_part(edit, &old.indexes, old.clustered)?,
        });
    }
    let definition = if kept.iter().all(Option::is_none) { definition.placed_anew() } else { definition };
    let partitioned = Arc::new(Partitioned { definition, trees: trees.into() });
    let table = Arc::new(with_parts(old, partitioned));
    Ok(PendingParts { old: old.clone(), table, kept })
}

/// Gives up the trees of the parts that are gone, and puts the next version into the dictionary.
pub fn finish_parts(edit: &mut Edit<'_>, pending: PendingParts) -> CatalogResult<Arc<Table>> {
    drop_left_parts(edit, &pending.old, &pending.table)?;
    edit.replace_table(&pending.old, pending.table)
}

/// Exchanges a part's trees with those of a table that has the same columns and indexes. The counters of both are
/// beyond all numbers of both afterwards. Returns the next version of the table with parts.
pub fn exchange_part(
    edit: &mut Edit<'_>,
    table: &Arc<Table>,
    part: usize,
    other: &Arc<Table>,
) -> CatalogResult<Arc<Table>> {
    let Some(parts) = &table.partitions else { return Ok(table.clone()) };
    let mut trees = parts.shared().trees.to_vec();
    let Some(place) = trees.get_mut(part) else { return Ok(table.clone()) };
    let own = PartTrees { row: other.row_tree, indexes: other.indexes.iter().map(|i| i.tree).collect() };
    let theirs = std::mem::replace(place, own);
    let engine = edit.catalog.engine().clone();
    let counters = |t: &Table| -> CatalogResult<(u64, u64)> {
        let trees = t.trees(&engine)?;
        Ok((trees.hidden_ids().counter_next(), t.auto_counter(trees).map_or(0, |c| c.counter_next())))
    };
    let (of_table, of_other) = (counters(table)?, counters(other)?);
    let next = (of_table.0.max(of_other.0), of_table.1.max(of_other.1));
    let partitioned = Partitioned { definition: parts.definition().clone(), trees: trees.into() };
    let table_after = Arc::new(with_parts(table, Arc::new(partitioned)));
    let mut indexes = other.indexes.to_vec();
    for (index, tree) in indexes.iter_mut().zip(&theirs.indexes) {
        index.tree = *tree;
    }
    let made = TableParts { row_tree: theirs.row, ..other.parts() };
    let (columns, statistics) = (other.columns.to_vec(), Arc::new(other.statistics.moved(unknown())));
    let (schema, name) = (other.schema.clone(), other.name.clone());
    let other_after = Arc::new(assemble(made, schema, name, columns, indexes, other.clustered, statistics));
    for t in [&table_after, &other_after] {
        let trees = t.trees(&engine)?;
        if t.clustered.is_none() {
            trees.hidden_ids().counter_raise(next.0.saturating_sub(1))?;
        }
        if let Some(counter) = t.auto_counter(trees) {
            counter.counter_raise(next.1.saturating_sub(1))?;
        }
    }
    let after = edit.replace_table(table, table_after)?;
    edit.replace_table(other, other_after)?;
    Ok(after)
}

/// Figures of trees that nobody has looked at.
fn unknown() -> Figures {
    Figures { rows: 0, pages: 1, indexes: Vec::new(), taken: 0 }
}

/// The same table with other parts.
fn with_parts(old: &Table, partitioned: Arc<Partitioned>) -> Table {
    let parts = TableParts { partitioned: Some(partitioned), ..old.parts() };
    let (columns, indexes) = (old.columns.to_vec(), old.indexes.to_vec());
    let (schema, name) = (old.schema.clone(), old.name.clone());
    assemble(parts, schema, name, columns, indexes, old.clustered, old.statistics.clone())
}

/// The parts of the next version of a table. Where its rows stay, `kept` says of each index which one it was, if its
/// entries stay.
pub(crate) fn parts_after(
    edit: &mut Edit<'_>,
    of: Option<&Partitioning>,
    old: &Table,
    (indexes, clustered): (&[Index], Option<usize>),
    kept: Option<Vec<Option<usize>>>,
) -> CatalogResult<Option<Arc<Partitioned>>> {
    let Some(of) = of else { return Ok(None) };
    match (&old.partitions, kept) {
        (Some(parts), Some(kept)) => kept_parts(edit, parts.shared(), &kept, clustered).map(Some),
        _ => new_parts(edit, of, indexes, clustered).map(Some),
    }
}
