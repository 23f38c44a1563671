//! What full-text searches of a statement have found: row keys with ranks.

use gannet_text::{Mode, Query, Weigher};
use gannet_types::{CollationId, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Searches of a statement.
#[derive(Default)]
pub(crate) struct Searches(pub(crate) Vec<Search>, pub(crate) Vec<Weighed>);

/// A search that needs no index.
pub(crate) struct Weighed {
    /// Of the first column.
    pub(crate) collation: CollationId,
    pub(crate) against: Value,
    /// None: the query is NULL.
    pub(crate) weigher: Option<Weigher>,
}

/// One of them.
pub(crate) struct Search {
    /// Plan table, index and mode.
    pub(crate) of: (u32, u32, Mode),
    /// The query.
    pub(crate) against: Value,
    /// What it has found.
    pub(crate) found: Arc<Found>,
    /// Ranks of rows that were judged again.
    pub(crate) judged: HashMap<Box<[u8]>, f32>,
}

/// What a search has found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) query: Option<Query>,
    /// Rows in the table, and those with each term.
    pub(crate) total: u64,
    pub(crate) counts: Vec<u64>,
    pub(crate) keys: Keys,
    /// The number of a key, its rank; ascending.
    pub(crate) rows: Vec<(u32, f32)>,
    /// Positions in `rows`, the highest rank first.
    pub(crate) order: Vec<u32>,
}

/// Row keys, ascending and each once.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn get(&self, n: usize) -> &[u8] {
        &self.bytes[n.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[n]]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All have this length.
    pub(crate) fn are_all(&self, width: usize) -> bool {
        self.ends.iter().zip(1..).all(|(end, n)| *end == n * width)
    }

    fn find(&self, key: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.get(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle as u32),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Found {
    /// Rows found.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The key of the row with the `n`th highest rank.
    pub(crate) fn key(&self, n: usize) -> &[u8] {
        self.keys.get(self.rows[self.order[n] as usize].0 as usize)
    }

    pub(crate) fn rank(&self, key: &[u8]) -> f32 {
        let at = self.keys.find(key).and_then(|n| self.rows.binary_search_by_key(&n, |(row, _)| *row).ok());
        at.map_or(0.0, |at| self.rows[at].1)
    }
}
