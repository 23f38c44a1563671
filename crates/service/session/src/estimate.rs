//! What the planner may ask of the trees.

use super::Session;
use gannet_catalog::StoredTable;
use gannet_core::vars::Live;
use gannet_engine::{Cut, KeyRange};
use gannet_plan::options::RangeEstimator;
use gannet_plan::range::Limit;
use gannet_schema::{RowSource, Table};

/// Parts of a table up to which each of them is looked into.
const MOST_PARTS: usize = 64;

impl RangeEstimator for Session {
    fn table_rows(&self, table: &Table) -> Option<f64> {
        if table.source != RowSource::Engine {
            return None;
        }
        let figures = table.statistics.figures();
        if table.partitions.as_ref().is_some_and(|p| p.len() > MOST_PARTS) && figures.taken != 0 {
            return Some(figures.rows as f64);
        }
        let rows = |t: &Table| Some(t.trees(&self.server.engine).ok()?.row.approximate_rows() as f64);
        table.all_parts().map(|part| rows(part.ok()?)).sum()
    }

    fn rows(&self, table: &Table, index: usize, low: Limit<'_>, high: Limit<'_>) -> Option<f64> {
        if let Some(parts) = &table.partitions {
            let few = parts.len() <= MOST_PARTS;
            return few.then(|| table.all_parts().map(|part| self.rows(part.ok()?, index, low, high)).sum()).flatten();
        }
        let trees = table.trees(&self.server.engine).ok()?;
        let tree = if table.clustered == Some(index) { &trees.row } else { trees.indexes.get(index)? };
        let range = KeyRange::new(cut(low, Cut::Start), cut(high, Cut::End));
        Some(self.server.engine.estimate_rows(tree, range).ok()?.rows as f64)
    }

    fn dive_limit(&self) -> usize {
        self.state.vars[Live::EqRangeIndexDiveLimit].as_u64() as usize
    }
}

fn cut<'a>(limit: Limit<'a>, open: Cut<'static>) -> Cut<'a> {
    match limit {
        Limit::Open => open,
        Limit::Before(key) => Cut::Before(key),
        Limit::After(key) => Cut::After(key),
    }
}
