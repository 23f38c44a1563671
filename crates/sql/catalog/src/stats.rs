//! Statistics of a table: what the optimizer knows of its size and of its values.
//!
//! They are estimates from a few places of each tree, replaced as a whole by whoever refreshes them, and kept in the
//! dictionary ([`Catalog::save_figures`]). Plans remember the **epoch** they were made with; it moves only when the figures
//! changed enough to matter, and a cached plan of an older epoch is made again.

use crate::catalog::{Catalog, KIND_FIGURES, KIND_HISTOGRAM, dictionary_key};
use crate::error::CatalogResult;
use crate::histogram::Histogram;
use crate::model::{Column, Table};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gannet_base::{DecodeError, Reader, TreeId, Writer};
use gannet_engine::{Cut, Engine, EngineError, Insert, KeyRange, ScanOptions, TreeHandle, Txn, TxnOptions};
use std::sync::Arc;

/// Rows assumed of a table nobody has looked at.
const UNKNOWN_ROWS: u64 = 1000;
/// Trees up to this many entries are read whole.
const WHOLE_TREE: u64 = 4000;
/// Places sampled in larger trees (`innodb_stats_persistent_sample_pages`).
pub const SAMPLE_PLACES: u64 = 20;
/// Entries read at each: about a leaf of a narrow index.
const SAMPLE_RUN: u64 = 256;
/// Distinct values of a prefix up to which they are counted one by one.
const COUNTED: usize = 100;

/// Statistics of one table, shared by all its versions.
#[derive(Debug)]
pub struct TableStatistics {
    /// With the turn of whoever took them.
    current: Mutex<(u64, Arc<Figures>)>,
    turns: AtomicU64,
    histograms: Mutex<Arc<[Arc<Histogram>]>>,
    epoch: AtomicU64,
    /// The figures are not in the dictionary yet.
    unsaved: AtomicBool,
}

/// The figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Rows.
    pub rows: u64,
    /// Pages of the row tree.
    pub pages: u64,
    /// Indexes, by tree.
    pub indexes: Vec<IndexFigures>,
    /// Seconds since 1970 when they were taken; 0 = never.
    pub taken: u64,
}

/// Figures of one index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexFigures {
    /// The index's tree.
    pub tree: TreeId,
    /// Its pages.
    pub pages: u64,
    /// Its leaves.
    pub leaves: u64,
    /// Places looked at; 0: all entries.
    pub sampled: u64,
    /// Distinct values of the first part, of the first two, and so on; NULLs count as one value.
    pub distinct: Vec<f64>,
}

impl Default for TableStatistics {
    fn default() -> Self {
        TableStatistics::new(Figures { rows: UNKNOWN_ROWS, pages: 8, indexes: Vec::new(), taken: 0 })
    }
}

impl TableStatistics {
    /// With given figures (fixtures, virtual tables, new tables).
    pub fn new(figures: Figures) -> TableStatistics {
        TableStatistics {
            current: Mutex::new((0, Arc::new(figures))),
            turns: AtomicU64::new(0),
            histograms: Mutex::new(Arc::new([])),
            epoch: AtomicU64::new(1),
            unsaved: AtomicBool::new(false),
        }
    }

    /// Of a table whose rows move to new trees: nothing is known of its indexes; all histograms stay.
    pub fn moved(&self, figures: Figures) -> TableStatistics {
        self.with(figures, |_| true)
    }

    /// These statistics with other figures and some of the histograms.
    fn with(&self, figures: Figures, keep: impl Fn(&Histogram) -> bool) -> TableStatistics {
        let next = TableStatistics::new(figures);
        let kept = self.histograms().iter().filter(|h| keep(h)).cloned().collect();
        *next.histograms.lock() = kept;
        next
    }

    /// Of the next version of a table. `origins` says of each column which one of the old version it was. Histograms of columns that are
    /// gone, or have another name or type, are gone too. `fresh`: the rows move to new trees.
    pub(crate) fn altered(
        &self,
        old: &[Column],
        new: &[Column],
        origins: &[Option<u32>],
        fresh: bool,
    ) -> Arc<TableStatistics> {
        let mut figures = (*self.figures()).clone();
        if fresh {
            (figures.indexes, figures.taken) = (Vec::new(), 0);
        }
        let stays = |h: &Histogram| {
            let same = |(c, origin): (&Column, &Option<u32>)| {
                h.fits(c) && origin.and_then(|o| old.get(o as usize)).is_some_and(|o| o.name == c.name)
            };
            new.iter().zip(origins).any(same)
        };
        Arc::new(self.with(figures, stays))
    }

    /// The figures now.
    pub fn figures(&self) -> Arc<Figures> {
        self.current.lock().1.clone()
    }

    /// Histograms, by column name.
    pub fn histograms(&self) -> Arc<[Arc<Histogram>]> {
        self.histograms.lock().clone()
    }

    /// The histogram of a column, if one was made of it as it is now.
    pub fn histogram(&self, column: &Column) -> Option<Arc<Histogram>> {
        self.histograms().iter().find(|h| h.fits(column)).cloned()
    }

    /// Moves when the figures changed enough to plan anew.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// The figures are newer than those in the dictionary.
    pub fn is_unsaved(&self) -> bool {
        self.unsaved.load(Ordering::Relaxed)
    }

    /// The turn of one who begins to take figures.
    fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Puts new figures in place, unless somebody has who began later: ANALYZE TABLE beside the background.
    fn replace(&self, turn: u64, figures: Figures) {
        let mut place = self.current.lock();
        let (newest, current) = &mut *place;
        if turn < *newest {
            return;
        }
        *newest = turn;
        let moved = differs(current.rows, figures.rows)
            || current.indexes.len() != figures.indexes.len()
            || current.indexes.iter().zip(&figures.indexes).any(|(a, b)| {
                let pairs = a.distinct.iter().zip(&b.distinct);
                a.tree != b.tree || pairs.into_iter().any(|(x, y)| differs(*x as u64, *y as u64))
            });
        *current = Arc::new(figures);
        self.unsaved.store(true, Ordering::Relaxed);
        if moved {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the dictionary holds, at start.
    pub(crate) fn restore(&self, figures: Figures) {
        self.current.lock().1 = Arc::new(figures);
    }

    /// Puts a histogram in the place of the column's last one, or (`None`) takes that away; false when there was none.
    pub(crate) fn put_histogram(&self, column: &str, histogram: Option<Histogram>) -> bool {
        let mut current = self.histograms.lock();
        let mut all: Vec<Arc<Histogram>> = current.iter().filter(|h| *h.column != *column).cloned().collect();
        let found = all.len() < current.len();
        all.extend(histogram.map(Arc::new));
        all.sort_by(|a, b| a.column.cmp(&b.column));
        *current = all.into();
        self.epoch.fetch_add(1, Ordering::Relaxed);
        found
    }
}

/// Different enough that another plan may be better: more than a factor of two, small numbers apart.
fn differs(a: u64, b: u64) -> bool {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high > 50 && low.saturating_mul(2) < high
}

impl Figures {
    /// Distinct values of the first `parts` parts of the index with that tree; a guess when nothing is known.
    pub fn distinct(&self, tree: TreeId, parts: usize) -> Option<f64> {
        let index = self.indexes.iter().find(|i| i.tree == tree)?;
        index.distinct.get(parts.checked_sub(1)?).copied()
    }
}

/// Takes a table's figures anew by sampling its trees at so many places each. Parks for pages.
pub fn refresh(engine: &Engine, table: &Table, now_seconds: u64, places: u64) -> Result<(), EngineError> {
    let turn = table.statistics.turn();
    let trees = table.trees(engine)?;
    let size = engine.tree_stats(&trees.row)?;
    let mut figures = Figures { rows: size.rows, pages: size.pages, indexes: Vec::new(), taken: now_seconds.max(1) };
    let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
    let mut txn = engine.begin(options);
    for (position, (index, tree)) in table.indexes.iter().zip(&trees.indexes).enumerate() {
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
    table.statistics.replace(turn, figures);
    Ok(())
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

    /// Distinct values of each prefix, and the places looked at (0: all). Small trees are read whole; prefixes of few values are counted
    /// by jumping from one to the next; of others the changes at places spread over the tree are scaled up.
    fn distinct(&mut self, txn: &mut Txn, rows: u64, places: u64) -> Result<(Vec<f64>, u64), EngineError> {
        if rows <= WHOLE_TREE {
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
            // A run of n entries shows at most n changes, and one of them is its beginning, which may fall inside a group.
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
            let mut scan = txn.scan(self.tree, KeyRange::new(from, Cut::End), ScanOptions::default())?;
            let Some(entry) = scan.next(txn)? else { return Ok(Some(n.max(1))) };
            self.table.part_ends(self.position, entry.key, &mut self.bounds);
            let end = self.bounds.get(part).copied().unwrap_or(entry.key.len());
            prefix = entry.key[..end].to_vec();
        }
        Ok(None)
    }

    fn read(&mut self, txn: &mut Txn, from: Cut<'_>, limit: u64) -> Result<(), EngineError> {
        let mut scan = txn.scan(self.tree, KeyRange::new(from, Cut::End), ScanOptions::default())?;
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

// ---- in the dictionary ----

/// Format of the figures' row: version, rows, pages, taken, indexes (tree, pages, leaves, places, distinct values of each prefix).
const VERSION: u8 = 1;

impl Figures {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(VERSION).varint(self.rows).varint(self.pages).varint(self.taken).varint(self.indexes.len() as u64);
        for index in &self.indexes {
            w.u64(index.tree.0).varint(index.pages).varint(index.leaves).varint(index.sampled);
            w.varint(index.distinct.len() as u64);
            for d in &index.distinct {
                w.u64(d.to_bits());
            }
        }
    }

    fn decode(bytes: &[u8]) -> Result<Figures, DecodeError> {
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Err(r.invalid("version of statistics"));
        }
        let (rows, pages, taken) = (r.varint()?, r.varint()?, r.varint()?);
        let mut indexes = Vec::new();
        for _ in 0..r.varint()?.min(crate::define::MAX_INDEXES as u64 + 1) {
            let tree = TreeId(r.u64()?);
            let (pages, leaves, sampled) = (r.varint()?, r.varint()?, r.varint()?);
            let mut distinct = Vec::new();
            for _ in 0..r.varint()?.min(crate::define::MAX_KEY_PARTS as u64) {
                let d = f64::from_bits(r.u64()?);
                if !d.is_finite() || d < 0.0 {
                    return Err(r.invalid("number of distinct values"));
                }
                distinct.push(d);
            }
            indexes.push(IndexFigures { tree, pages, leaves, sampled, distinct });
        }
        r.finish()?;
        Ok(Figures { rows, pages, indexes, taken })
    }
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
        table.statistics.unsaved.store(false, Ordering::Relaxed);
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
        let mut txn = self.engine().begin(TxnOptions::default());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_moves_only_when_it_matters() {
        let s = TableStatistics::default();
        let figures = |rows| Figures { rows, pages: 1, indexes: Vec::new(), taken: 1 };
        s.replace(s.turn(), figures(1100));
        assert_eq!(s.epoch(), 1);
        s.replace(s.turn(), figures(9000));
        assert_eq!(s.epoch(), 2);
    }

    #[test]
    fn who_began_later_is_not_overwritten() {
        let s = TableStatistics::default();
        let figures = |rows| Figures { rows, pages: 1, indexes: Vec::new(), taken: 1 };
        let (early, late) = (s.turn(), s.turn());
        s.replace(late, figures(10));
        s.replace(early, figures(20));
        assert_eq!(s.figures().rows, 10);
    }

    #[test]
    fn figures_come_back_and_damage_is_an_error() {
        let index = IndexFigures { tree: TreeId(7), pages: 3, leaves: 2, sampled: 20, distinct: vec![3.0, 1000.5] };
        let figures = Figures { rows: 70_000, pages: 99, indexes: vec![index], taken: 12 };
        let mut bytes = Vec::new();
        figures.encode(&mut bytes);
        assert_eq!(Figures::decode(&bytes).unwrap(), figures);
        for cut in 0..bytes.len() {
            assert!(Figures::decode(&bytes[..cut]).is_err());
        }
    }
}
