//! Statistics of a table: what the optimizer knows of its size and of its values.
//!
//! They are estimates, replaced as a whole by whoever takes them anew. Plans remember the **epoch** they were made
//! with; it moves only when the figures changed enough to matter, and a cached plan of an older epoch is made again.

use crate::column::Column;
use crate::histogram::Histogram;
use crate::index::{MAX_INDEXES, MAX_KEY_PARTS};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gannet_base::{DecodeError, Reader, TreeId, Writer};
use std::sync::Arc;

/// Rows assumed of a table nobody has looked at, and of one that is empty: it will not stay so, and plans are kept.
pub const UNKNOWN_ROWS: u64 = 1000;
/// From this factor on a table has grown since its figures were taken.
const GROWN: f64 = 1.2;

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

    /// Of the next version of a table. `origins` says of each column which one of the old version it was. Histograms of
    /// columns that are gone, or have another name or type, are gone too. `fresh`: the rows move to new trees.
    pub fn altered(
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

    /// The figures as they are now go into the dictionary.
    pub fn saved(&self) {
        self.unsaved.store(false, Ordering::Relaxed);
    }

    /// The turn of one who begins to take figures.
    pub fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The turn of the figures there are now: which taking they are from.
    pub fn taking(&self) -> u64 {
        self.current.lock().0
    }

    /// So many rows are there now, and no more is known: of a table that the background does not look at.
    pub fn recount(&self, rows: u64) {
        let turn = self.turn();
        let pages = self.figures().pages;
        self.replace(turn, Figures { rows, pages, indexes: Vec::new(), taken: 0 });
        self.saved();
    }

    /// Puts new figures in place, unless somebody has who began later: ANALYZE TABLE beside the background.
    pub fn replace(&self, turn: u64, figures: Figures) {
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
        let same = figures.rows == current.rows && figures.pages == current.pages && figures.indexes == current.indexes;
        *current = Arc::new(figures);
        self.unsaved.fetch_or(!same, Ordering::Relaxed);
        if moved {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the dictionary holds, at start.
    pub fn restore(&self, figures: Figures) {
        self.current.lock().1 = Arc::new(figures);
    }

    /// Puts a histogram in the place of the column's last one, or (`None`) takes that away; false when there was none.
    pub fn put_histogram(&self, column: &str, histogram: Option<Histogram>) -> bool {
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

/// Different enough that another plan may be better: more than a factor of two, a handful of rows apart.
fn differs(a: u64, b: u64) -> bool {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high > 8 && low.saturating_mul(2) < high
}

impl Figures {
    /// Distinct values of the first `parts` parts of the index with that tree, now that the table has so many rows.
    /// `None`: not known, as of a table that was empty when it was looked at.
    ///
    /// A table that has grown has more values than were counted, if it had many: of *n* rows with *n^x* values, *x*
    /// stays.
    pub fn distinct(&self, tree: TreeId, parts: usize, rows: f64) -> Option<f64> {
        let index = self.indexes.iter().find(|i| i.tree == tree)?;
        let counted = index.distinct.get(parts.checked_sub(1)?).copied()?;
        let then = self.rows as f64;
        if rows <= then * GROWN {
            return Some(counted);
        }
        (then >= 2.0).then(|| counted.max(1.0).powf(rows.ln() / then.ln()).clamp(counted.min(rows), rows))
    }
}

/// Format of the figures' row: version, rows, pages, taken, indexes (tree, pages, leaves, places, distinct values of
/// each prefix).
const VERSION: u8 = 1;

impl Figures {
    /// Appends the row.
    pub fn encode(&self, out: &mut Vec<u8>) {
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

    /// From a row; refuses what is damaged.
    pub fn decode(bytes: &[u8]) -> Result<Figures, DecodeError> {
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Err(r.invalid("version of statistics"));
        }
        let (rows, pages, taken) = (r.varint()?, r.varint()?, r.varint()?);
        let mut indexes = Vec::new();
        for _ in 0..r.varint()?.min(MAX_INDEXES as u64 + 1) {
            let tree = TreeId(r.u64()?);
            let (pages, leaves, sampled) = (r.varint()?, r.varint()?, r.varint()?);
            let mut distinct = Vec::new();
            for _ in 0..r.varint()?.min(MAX_KEY_PARTS as u64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_grow_with_the_table() {
        let index = |distinct| IndexFigures { tree: TreeId(7), pages: 1, leaves: 1, sampled: 0, distinct };
        let of = |rows, distinct| Figures { rows, pages: 1, indexes: vec![index(vec![distinct])], taken: 1 };
        // Nothing is known from an empty table, nor from one row.
        assert_eq!(of(0, 1.0).distinct(TreeId(7), 1, 40.0), None);
        assert_eq!(of(1, 1.0).distinct(TreeId(7), 1, 40.0), None);
        // One value stays one, all different stay all different.
        assert_eq!(of(10, 1.0).distinct(TreeId(7), 1, 1000.0), Some(1.0));
        assert!((of(10, 10.0).distinct(TreeId(7), 1, 1000.0).unwrap() - 1000.0).abs() < 1e-6);
        assert_eq!(of(100, 30.0).distinct(TreeId(7), 1, 100.0), Some(30.0));
        // Parts were counted at different times: there may be more values than rows.
        assert_eq!(of(3, 45.0).distinct(TreeId(7), 1, 8.0), Some(8.0));
    }

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
            assert!(matches!(Figures::decode(&bytes[..cut]), Err(DecodeError::Short { .. })), "cut at {cut}");
        }
    }
}
