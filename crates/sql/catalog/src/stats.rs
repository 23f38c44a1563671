//! Statistics of a table: what the optimizer knows of its size.
//!
//! They are estimates from a few places of each tree, replaced as a whole by whoever refreshes them. Plans remember the
//! **epoch** they were made with; it moves only when the figures changed enough to matter, and a cached plan of an older
//! epoch is made again.

use crate::model::Table;
use gannet_base::TreeId;
use gannet_engine::{Cut, Engine, EngineError, KeyRange, ScanOptions, Txn, TxnOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows assumed of a table nobody has looked at.
const UNKNOWN_ROWS: u64 = 1000;
/// Trees up to this many entries are read whole.
const WHOLE_TREE: u64 = 4000;
/// Places sampled in larger trees, and entries read at each.
const SAMPLE_PLACES: u64 = 24;
const SAMPLE_RUN: u64 = 128;

/// Statistics of one table, shared by all its versions.
#[derive(Debug)]
pub struct TableStatistics {
    current: Mutex<Arc<Figures>>,
    epoch: AtomicU64,
    /// Rows changed since the figures were taken. Workers add in batches.
    changes: AtomicU64,
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
    /// Distinct values of the first part, of the first two, and so on; NULLs count as one value.
    pub distinct: Vec<f64>,
}

impl Default for TableStatistics {
    fn default() -> Self {
        TableStatistics::new(Figures { rows: UNKNOWN_ROWS, pages: 8, indexes: Vec::new(), taken: 0 })
    }
}

impl TableStatistics {
    /// With given figures (fixtures, virtual tables, persisted statistics).
    pub fn new(figures: Figures) -> TableStatistics {
        TableStatistics { current: Mutex::new(Arc::new(figures)), epoch: AtomicU64::new(1), changes: AtomicU64::new(0) }
    }

    /// The figures now.
    pub fn figures(&self) -> Arc<Figures> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves when the figures changed enough to plan anew.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Notes changed rows (call with sums, not for each row). True when it is time to refresh: a tenth of the table changed,
    /// as InnoDB does, or the figures were never taken.
    pub fn note_changes(&self, rows: u64) -> bool {
        let changed = self.changes.fetch_add(rows, Ordering::Relaxed) + rows;
        let figures = self.figures();
        figures.taken == 0 || changed > figures.rows / 10 + 200
    }

    /// The figures were never taken.
    pub fn is_unknown(&self) -> bool {
        self.figures().taken == 0
    }

    /// Puts new figures in place.
    pub fn replace(&self, figures: Figures) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = differs(current.rows, figures.rows)
            || current.indexes.len() != figures.indexes.len()
            || current.indexes.iter().zip(&figures.indexes).any(|(a, b)| {
                let pairs = a.distinct.iter().zip(&b.distinct);
                a.tree != b.tree || pairs.into_iter().any(|(x, y)| differs(*x as u64, *y as u64))
            });
        *current = Arc::new(figures);
        self.changes.store(0, Ordering::Relaxed);
        if moved {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
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

/// Takes a table's figures anew by sampling its trees. Parks for pages; run it in the background.
pub fn refresh(engine: &Engine, table: &Table, now_seconds: u64) -> Result<(), EngineError> {
    let trees = table.trees(engine)?;
    let size = engine.tree_stats(&trees.row)?;
    let mut figures = Figures { rows: size.rows, pages: size.pages, indexes: Vec::new(), taken: now_seconds.max(1) };
    let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
    let mut txn = engine.begin(options);
    for (index, tree) in table.indexes.iter().zip(&trees.indexes) {
        let size = engine.tree_stats(tree)?;
        let counts = sample(engine, &mut txn, table, index.tree, tree, size.rows.max(1))?;
        figures.indexes.push(IndexFigures { tree: index.tree, pages: size.pages, distinct: counts });
    }
    txn.commit()?;
    table.statistics.replace(figures);
    Ok(())
}

/// Counts how often each prefix changes from one entry to the next, in the whole tree or at places spread over its key
/// space, and scales up.
fn sample(
    engine: &Engine,
    txn: &mut Txn,
    table: &Table,
    id: TreeId,
    tree: &gannet_engine::TreeHandle,
    rows: u64,
) -> Result<Vec<f64>, EngineError> {
    let _ = engine;
    let position = table.indexes.iter().position(|i| i.tree == id).unwrap_or(0);
    let parts = table.indexes[position].parts.len();
    let mut run = Run { table, position, seen: 0, changes: vec![0; parts], last: Vec::new(), bounds: Vec::new() };
    if rows <= WHOLE_TREE {
        run.read(txn, tree, Cut::Start, u64::MAX)?;
        return Ok(run.changes.iter().map(|c| (*c).max(1) as f64).collect());
    }
    let first = edge(txn, tree, gannet_engine::Direction::Forward)?;
    let last = edge(txn, tree, gannet_engine::Direction::Backward)?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(vec![1.0; parts]) };
    for place in 0..SAMPLE_PLACES {
        let key = between(&first, &last, place, SAMPLE_PLACES);
        run.last.clear();
        run.read(txn, tree, Cut::Before(&key), SAMPLE_RUN)?;
    }
    let seen = run.seen.max(1) as f64;
    // A run of n entries shows at most n changes, and one of them is its beginning, which may fall inside a group.
    let scale = |c: &u64| {
        let inner = c.saturating_sub(SAMPLE_PLACES) as f64 + 1.0;
        (inner / seen * rows as f64).clamp(1.0, rows as f64)
    };
    Ok(run.changes.iter().map(scale).collect())
}

struct Run<'a> {
    table: &'a Table,
    position: usize,
    seen: u64,
    changes: Vec<u64>,
    last: Vec<u8>,
    bounds: Vec<usize>,
}

impl Run<'_> {
    fn read(
        &mut self,
        txn: &mut Txn,
        tree: &gannet_engine::TreeHandle,
        from: Cut<'_>,
        limit: u64,
    ) -> Result<(), EngineError> {
        let mut scan = txn.scan(tree, KeyRange::new(from, Cut::End), ScanOptions::default())?;
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

fn edge(
    txn: &mut Txn,
    tree: &gannet_engine::TreeHandle,
    direction: gannet_engine::Direction,
) -> Result<Option<Vec<u8>>, EngineError> {
    let options = ScanOptions { direction, ..ScanOptions::default() };
    let mut scan = txn.scan(tree, KeyRange::ALL, options)?;
    Ok(scan.next(txn)?.map(|e| e.key.to_vec()))
}

/// The key at `place`/`places` of the way, reading the eight bytes after the common prefix as a number.
fn between(first: &[u8], last: &[u8], place: u64, places: u64) -> Vec<u8> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0u8; 8];
        for (to, from) in bytes.iter_mut().zip(key.get(common..).unwrap_or_default()) {
            *to = *from;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let step = (u128::from(high.saturating_sub(low)) * u128::from(place) / u128::from(places.max(1))) as u64;
    let mut key = first.get(..common).unwrap_or_default().to_vec();
    key.extend_from_slice(&low.saturating_add(step).to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_moves_only_when_it_matters() {
        let s = TableStatistics::default();
        let figures = |rows| Figures { rows, pages: 1, indexes: Vec::new(), taken: 1 };
        s.replace(figures(1100));
        assert_eq!(s.epoch(), 1);
        s.replace(figures(9000));
        assert_eq!(s.epoch(), 2);
        assert!(!s.note_changes(500));
        assert!(s.note_changes(900));
    }

    #[test]
    fn places_are_in_order_and_inside() {
        let (first, last) = (b"abc\x00\x01".to_vec(), b"abd\xff".to_vec());
        let keys: Vec<_> = (0..24).map(|i| between(&first, &last, i, 24)).collect();
        assert!(keys.is_sorted());
        assert!(keys.iter().all(|k| k[..] >= b"ab"[..] && k[..] < last[..]));
        assert_eq!(between(&last, &first, 3, 24).len(), 10);
    }
}
