//! Statistics kept fresh in the background, so that plans are made for tables as they are.
//!
//! Nothing is counted for this when rows are written: the engine knows each tree's rows anyway. A table is looked at anew when
//! its rows differ from the figures by a tenth, as InnoDB does it, or when it has none yet.

use crate::server::Shared;
use gannet_catalog::{RowSource, Table, stats};
use gannet_runtime::{Unpark, Wait, interrupted, now_ns, park, unix_micros};
use std::sync::Arc;

/// Pause between two looks at the tables in use.
const PAUSE_NS: u64 = 500_000_000;
/// Rows by which a small table may change without being looked at.
const SLACK_ROWS: u64 = 50;

/// The background task; ends when the server stops.
pub(crate) fn run(shared: &Arc<Shared>) {
    while !shared.shutting_down() && !interrupted() {
        if park(Wait::StatisticsIdle, Some(now_ns() + PAUSE_NS)) == Unpark::Interrupted {
            return;
        }
        // What a crash has left of temporary tables; tried again when it fails.
        let _ = shared.catalog.discard_left_over();
        let snapshot = shared.catalog.snapshot();
        for schema in snapshot.schemas() {
            for table in snapshot.tables(&schema.name) {
                if shared.shutting_down() || interrupted() {
                    return;
                }
                if is_stale(table) {
                    // A table that is dropped meanwhile, or damaged, keeps the figures it has; statements say what is wrong.
                    let _ = stats::refresh(&shared.engine, table, (unix_micros() / 1_000_000) as u64);
                }
            }
        }
    }
}

fn is_stale(table: &Table) -> bool {
    if table.source != RowSource::Engine {
        return false;
    }
    let Some(trees) = table.opened_trees() else { return false };
    let rows = trees.row.approximate_rows();
    let figures = table.statistics.figures();
    figures.taken == 0 || rows.abs_diff(figures.rows) > figures.rows / 10 + SLACK_ROWS
}
