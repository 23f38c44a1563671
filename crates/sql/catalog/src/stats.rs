//! Statistics of a table, taken from its trees and kept in the dictionary ([`Catalog::save_figures`]).

use crate::catalog::Catalog;
use crate::error::CatalogResult;
use crate::keys::{KIND_FIGURES, KIND_HISTOGRAM, dictionary_key};
use crate::trees::StoredTable;
use gannet_engine::{Cut, Engine, EngineError, Insert, KeyRange, ReadMode, ScanOptions, TreeHandle, Txn, TxnOptions};
use gannet_schema::{Figures, Histogram, IndexFigures, Table};

/// Places sampled in a tree (`innodb_stats_persistent_sample_pages`); one of fewer entries than are read there is read
/// whole.
pub const SAMPLE_PLACES: u64 = 20;
/// Entries read at each: about a leaf of a narrow index.
const SAMPLE_RUN: u64 = 256;
/// Distinct values of a prefix up to which they are counted one by one.
const COUNTED: usize = 100;

/// Takes a table's figures anew by sampling its trees at so many places each. Parks for pages.
pub fn refresh(engine: &Engine, table: &Table, now_seconds: u64, places: u64) -> Result<(), EngineError> {
    let turn = table.statistics.turn();
    let figures = match &table.partitions {
        None => figures_of(engine, table, now_seconds, places)?,
        Some(_) => figures_of_parts(engine, table, now_seconds, places)?,
    };
    table.statistics.replace(turn, figures);
    Ok(())
}

fn figures_of(engine: &Engine, table: &Table, now_seconds: u64, places: u64) -> Result<Figures, EngineError> {
    let trees = table.trees(engine)?;
    let size = engine.tree_stats(&trees.row)?;
    let mut figures = Figures { rows: size.rows, pages: size.pages, indexes: Vec::new(), taken: now_seconds.max(1) };
    let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
    let mut txn = engine.try_begin(options)?;
    for (position, (index, tree)) in table.indexes.iter().zip(&trees.indexes).enumerate() {
        if index.text().is_some() {
            continue;
        }
        let size = engine.tree_stats(tree)?;
        let mut sampler = Sampler::new(engine, table, position, tree);
        let (distinct, sampled) = sampler.distinct(&mut txn, size.rows.max(1), places.max(1))?;
        figures.indexes.push(IndexFigures {
            tree: index.tree,
            pages: size.pages,
            leaves: size.leaf_pages.max(1),
            sampled,
            distinct,
        });
    }
    txn.commit()?;
    Ok(figures)
}

/// The sizes of all parts, and what a sample of the one with most rows says of all.
fn figures_of_parts(engine: &Engine, table: &Table, now_seconds: u64, places: u64) -> Result<Figures, EngineError> {
    let Some(parts) = &table.partitions else { return figures_of(engine, table, now_seconds, places) };
    let (mut rows, mut pages) = (0, 0);
    let mut sizes: Vec<(u64, u64)> = vec![(0, 0); table.indexes.len()];
    let mut largest = (0, 0);
    for (number, part) in parts.shared().trees.iter().enumerate() {
        let size = engine.tree_stats(&engine.tree(part.row)?)?;
        rows += size.rows;
        pages += size.pages;
        if size.rows > largest.1 {
            largest = (number, size.rows);
        }
        for (tree, sum) in part.indexes.iter().zip(&mut sizes) {
            let size = if *tree == part.row { size } else { engine.tree_stats(&engine.tree(*tree)?)? };
            *sum = (sum.0 + size.pages, sum.1 + size.leaf_pages);
        }
    }
    let sample = table.part(largest.0 as u32).ok().map(|part| figures_of(engine, part, now_seconds, places));
    let sampled = sample.transpose()?.map_or_else(Vec::new, |s| s.indexes);
    let scale = rows as f64 / largest.1.max(1) as f64;
    let mut indexes = Vec::with_capacity(table.indexes.len());
    for ((index, size), sampled) in table.indexes.iter().zip(sizes).zip(sampled) {
        // Values of columns that decide about the part are in one part each; others may be in all.
        let spread = |n: usize| {
            let holds = |c: &u32| index.parts.iter().take(n + 1).any(|p| p.column == *c);
            if parts.columns().iter().all(holds) { scale } else { 1.0 }
        };
        let distinct = sampled.distinct.iter().enumerate().map(|(n, d)| d * spread(n)).collect();
        let (pages, leaves) = (size.0, size.1.max(1));
        indexes.push(IndexFigures { tree: index.tree, pages, leaves, sampled: sampled.sampled, distinct });
    }
    Ok(Figures { rows, pages, indexes, taken: now_seconds.max(1) })
}

/// Counts how often each prefix of an index changes from one entry to the next.
struct Sampler<'a> {
    engine: &'a Engine,
    table: &'a Table,
    position: usize,
    tree: &'a TreeHandle,
    seen: u64,
    changes: Vec<u64>,
    last: Vec<u8>,
    bounds: Vec<usize>,
}

impl<'a> Sampler<'a> {
    fn new(engine: &'a Engine, table: &'a Table, position: usize, tree: &'a TreeHandle) -> Self {
        let parts = table.indexes[position].parts.len();
        let (last, bounds) = (Vec::new(), Vec::new());
        Sampler { engine, table, position, tree, seen: 0, changes: vec![0; parts], last, bounds }
    }

    /// Distinct values of each prefix, and the places looked at (0: all). Small trees are read whole; prefixes of few
    /// values are counted by jumping from one to the next; of others the changes at places spread over the tree are
    /// scaled up.
    fn distinct(&mut self, txn: &mut Txn, rows: u64, places: u64) -> Result<(Vec<f64>, u64), EngineError> {
        if rows <= places * SAMPLE_RUN {
            self.read(txn, Cut::Start, u64::MAX)?;
            return Ok((self.changes.iter().map(|c| (*c).max(1) as f64).collect(), 0));
        }
        let parts = self.changes.len();
        let mut distinct = Vec::with_capacity(parts);
        while distinct.len() < parts {
            match self.jump(txn, distinct.len())? {
                Some(n) => distinct.push(n as f64),
                None => break,
            }
        }
        if distinct.len() == parts {
            return Ok((distinct, 0));
        }
        for place in 0..places {
            let key = self.engine.key_at(self.tree, (place as f64 + 0.5) / places as f64)?;
            self.last.clear();
            self.read(txn, Cut::Before(&key), SAMPLE_RUN)?;
        }
        let seen = self.seen.max(1) as f64;
        for part in distinct.len()..parts {
            // A run of n entries shows at most n changes, and one of them is its beginning, which may fall inside a
            // group.
            let inner = self.changes[part].saturating_sub(places) as f64 + 1.0;
            let least = distinct.last().copied().unwrap_or(1.0).max(COUNTED as f64);
            distinct.push((inner / seen * rows as f64).clamp(least.min(rows as f64), rows as f64));
        }
        // Nearly every entry of the whole key differs: that of a unique index always.
        let index = &self.table.indexes[self.position];
        let nullable = index.parts.iter().any(|p| self.table.columns[p.column as usize].nullable);
        if let Some(whole) = distinct.last_mut().filter(|_| index.unique() && !nullable) {
            *whole = rows as f64;
        }
        Ok((distinct, places))
    }

    /// Distinct values of a prefix, when they are few.
    fn jump(&mut self, txn: &mut Txn, part: usize) -> Result<Option<usize>, EngineError> {
        let mut prefix: Vec<u8> = Vec::new();
        for n in 0..=COUNTED {
            let from = if n == 0 { Cut::Start } else { Cut::After(&prefix) };
            let mut scan = txn.scan(self.tree, KeyRange::new(from, Cut::End), look())?;
            let Some(entry) = scan.next(txn)? else { return Ok(Some(n.max(1))) };
            self.table.part_ends(self.position, entry.key, &mut self.bounds);
            let end = self.bounds.get(part).copied().unwrap_or(entry.key.len());
            prefix = entry.key[..end].to_vec();
        }
        Ok(None)
    }

    fn read(&mut self, txn: &mut Txn, from: Cut<'_>, limit: u64) -> Result<(), EngineError> {
        let mut scan = txn.scan(self.tree, KeyRange::new(from, Cut::End), look())?;
        let mut n = 0;
        while n < limit
            && let Some(entry) = scan.next(txn)?
        {
            n += 1;
            self.seen += 1;
            let common = entry.key.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
            let fresh = self.last.is_empty();
            self.table.part_ends(self.position, entry.key, &mut self.bounds);
            for (part, end) in self.bounds.iter().enumerate().take(self.changes.len()) {
                if fresh || common < *end {
                    self.changes[part] += 1;
                }
            }
            self.last.clear();
            self.last.extend_from_slice(entry.key);
        }
        Ok(())
    }
}

/// Entries are read as they are now, committed or not, as the trees' counts of rows are: what a long transaction has
/// written would else be rows without values when it commits, and a commit changes nothing for which figures are taken
/// anew.
fn look() -> ScanOptions {
    ScanOptions { mode: ReadMode::Newest, unseen: true, ..ScanOptions::default() }
}

fn figures_key(table: &Table) -> Vec<u8> {
    dictionary_key(KIND_FIGURES, &[&table.id.0.to_string()])
}

fn histogram_key(table: &Table, column: &str) -> Vec<u8> {
    dictionary_key(KIND_HISTOGRAM, &[&table.id.0.to_string(), column])
}

fn put(txn: &mut Txn, tree: &TreeHandle, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
    if txn.insert_or_lock(tree, key, row)? == Insert::Duplicate {
        txn.update(tree, key, row)?;
    }
    Ok(())
}

/// Takes what the dictionary says of a table's statistics out again, with the table.
pub(crate) fn forget(catalog: &Catalog, txn: &mut Txn, table: &Table) -> CatalogResult<()> {
    txn.delete(catalog.tree(), &figures_key(table))?;
    for histogram in table.statistics.histograms().iter() {
        txn.delete(catalog.tree(), &histogram_key(table, &histogram.column))?;
    }
    Ok(())
}

/// Takes histograms out of the dictionary which the next version of a table has no more.
pub(crate) fn forget_columns(catalog: &Catalog, txn: &mut Txn, old: &Table, table: &Table) -> CatalogResult<()> {
    let kept = table.statistics.histograms();
    for histogram in old.statistics.histograms().iter() {
        if !kept.iter().any(|h| h.column == histogram.column) {
            txn.delete(catalog.tree(), &histogram_key(old, &histogram.column))?;
        }
    }
    Ok(())
}

/// Gives a table the statistics of a dictionary row. What is damaged is as if it had never been taken.
pub(crate) fn load(table: &Table, kind: u8, row: &[u8]) {
    match kind {
        KIND_FIGURES => Figures::decode(row).into_iter().for_each(|f| table.statistics.restore(f)),
        _ => Histogram::decode(row).into_iter().for_each(|h| {
            let column = h.column.clone();
            table.statistics.put_histogram(&column, Some(h));
        }),
    }
}

impl Catalog {
    /// Keeps a table's figures in the dictionary, in a transaction of its own.
    pub fn save_figures(&self, table: &Table) -> CatalogResult<()> {
        table.statistics.saved();
        let mut row = Vec::new();
        table.statistics.figures().encode(&mut row);
        self.change_statistics(|txn| put(txn, self.tree(), &figures_key(table), &row))
    }

    /// Gives a column a histogram, durably.
    pub fn put_histogram(&self, table: &Table, histogram: Histogram) -> CatalogResult<()> {
        let mut row = Vec::new();
        histogram.encode(&mut row);
        let column = histogram.column.clone();
        self.change_statistics(|txn| put(txn, self.tree(), &histogram_key(table, &column), &row))?;
        table.statistics.put_histogram(&column, Some(histogram));
        Ok(())
    }

    /// Takes a column's histogram away, durably; false when there was none.
    pub fn drop_histogram(&self, table: &Table, column: &str) -> CatalogResult<bool> {
        let key = histogram_key(table, column);
        self.change_statistics(|txn| txn.delete(self.tree(), &key).map(drop))?;
        Ok(table.statistics.put_histogram(column, None))
    }

    fn change_statistics(&self, change: impl FnOnce(&mut Txn) -> Result<(), EngineError>) -> CatalogResult<()> {
        let mut txn = self.engine().try_begin(TxnOptions::default())?;
        match change(&mut txn) {
            Ok(()) => Ok(txn.commit().map(drop)?),
            Err(e) => {
                if txn.is_active() {
                    txn.rollback()?;
                }
                Err(e.into())
            }
        }
    }
}
