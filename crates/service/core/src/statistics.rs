//! Keeps statistics fresh in the background, so that plans are made for tables as they are, and stores them in the
//! dictionary.
//!
//! Writing rows counts nothing for this: the engine knows each tree's rows anyway. A table is sampled again when its
//! rows differ from the figures by a tenth, as in InnoDB, or when it or one of its indexes has none yet.

use crate::Core;
use crate::vars::Live;
use gannet_catalog::{StoredTable, stats};
use gannet_engine::{EngineError, TreeId};
use gannet_runtime::{Unpark, Wait, WallTime, interrupted, now_ns, park};
use gannet_schema::{RowSource, Table, TableId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Pause between two looks at the tables in use.
const PAUSE_NS: u64 = 500_000_000;
/// Rows by which a small table may change without being looked at.
const SLACK_ROWS: u64 = 50;
/// A growing table's figures are written down so often at most: each time is a commit.
const SAVE_NS: u64 = 10_000_000_000;

/// Whether and how a table's statistics are kept: by the server's variables, or by the table's own options.
pub struct Wanted {
    /// Sampled again in the background.
    pub automatic: bool,
    /// Kept in the dictionary.
    pub persistent: bool,
    /// Places of an index that are looked at.
    pub places: u64,
}

impl Wanted {
    pub fn of(shared: &Core, table: &Table) -> Wanted {
        let option = |name: &str| {
            let found = table.options.create_options.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
            found.and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let switch = |name: &str, id| option(name).map_or_else(|| shared.globals.get(id).as_bool(), |n| n != 0);
        let places = || shared.globals.get(Live::InnodbStatsPersistentSamplePages).as_u64();
        Wanted {
            automatic: switch("STATS_AUTO_RECALC", Live::InnodbStatsAutoRecalc),
            persistent: !table.temporary && switch("STATS_PERSISTENT", Live::InnodbStatsPersistent),
            places: option("STATS_SAMPLE_PAGES").filter(|n| *n > 0).unwrap_or_else(places).min(10_000),
        }
    }
}

/// Memory that statements have given back and that is not left to the allocator; and how often that is seen to.
const MUCH: usize = 32 << 20;
const RELEASE_NS: u64 = 5_000_000_000;
const AFTER_NS: u64 = 1_000_000_000;

/// The background task; ends when the server stops.
pub fn run(shared: &Arc<Core>) {
    let mut saved: HashMap<TableId, u64> = HashMap::new();
    let mut told = HashSet::new();
    let (mut freed, mut release_at) = (0, 0);
    while !shared.shutting_down() && !interrupted() {
        if park(Wait::StatisticsIdle, Some(now_ns() + PAUSE_NS)) == Unpark::Interrupted {
            break;
        }
        let given_back = shared.temp.take_given_back();
        if freed < MUCH && freed + given_back >= MUCH {
            // A statement announces the release of memory shortly before it releases it.
            release_at = release_at.max(now_ns() + AFTER_NS);
        }
        freed += given_back;
        if freed >= MUCH && now_ns() >= release_at {
            gannet_runtime::release_free_memory();
            (freed, release_at) = (0, now_ns() + RELEASE_NS);
        }
        // What a crash has left of temporary tables; tried again when it fails.
        let _ = shared.catalog.discard_left_over();
        look_at_all(shared, &mut saved);
        tell_damage(shared, &mut told);
        saved.retain(|_, at| now_ns() < *at + SAVE_NS);
    }
}

fn look_at_all(shared: &Arc<Core>, saved: &mut HashMap<TableId, u64>) {
    let snapshot = shared.catalog.snapshot();
    for table in snapshot.all_tables() {
        if shared.shutting_down() || interrupted() {
            return;
        }
        if is_stale(table) {
            let wanted = Wanted::of(shared, table);
            if wanted.automatic || is_unknown(table) {
                // A table that is dropped meanwhile, or damaged, keeps the figures it has; statements report the
                // damage.
                let now = WallTime::now().seconds();
                let _ = stats::refresh(&shared.engine, table, now, wanted.places);
            }
        }
        let due = || saved.get(&table.id).is_none_or(|at| now_ns() >= *at + SAVE_NS);
        if table.statistics.is_unsaved() && due() && is_newest(shared, table) {
            saved.insert(table.id, now_ns());
            if Wanted::of(shared, table).persistent {
                // Figures that cannot be saved now are sampled again after the next start.
                let _ = shared.catalog.save_figures(table);
            }
        }
    }
}

/// Says in the log which tables have pages that the scrubber has found damaged, with the first page of each: once, until all are whole
/// again.
fn tell_damage(shared: &Core, told: &mut HashSet<TreeId>) {
    let mut trees = HashSet::new();
    let mut found = shared.engine.damaged_pages();
    found.retain(|d| trees.insert(d.tree));
    for damage in found.iter().filter(|d| !told.contains(&d.tree)) {
        let snapshot = shared.catalog.snapshot();
        let has = |t: &&Arc<Table>| t.row_tree == damage.tree || t.indexes.iter().any(|i| i.tree == damage.tree);
        let table = snapshot.schemas().find_map(|s| snapshot.tables(&s.name).iter().find(has));
        let what = EngineError::from(damage);
        match table {
            Some(t) => shared.log.error(format_args!(
                "table {}.{} is damaged: {what}; drop it and restore it from a dump",
                t.schema, t.name
            )),
            None => shared.log.error(format_args!(
                "a page that belongs to no table is damaged: {what}; 'gannet check' lists the damage of a stopped server"
            )),
        }
    }
    *told = trees;
}

/// The table has not been dropped since the snapshot was taken.
fn is_newest(shared: &Core, table: &Table) -> bool {
    shared.catalog.snapshot().base_table(&table.schema, &table.name).is_some_and(|t| t.id == table.id)
}

fn is_stale(table: &Table) -> bool {
    if table.source != RowSource::Engine {
        return false;
    }
    let Some(trees) = table.opened_trees() else { return false };
    let rows = trees.row.approximate_rows();
    let figures = table.statistics.figures();
    is_unknown(table) || rows.abs_diff(figures.rows) > figures.rows / 10 + SLACK_ROWS
}

/// The table, or one of its indexes, was never looked at.
fn is_unknown(table: &Table) -> bool {
    let figures = table.statistics.figures();
    figures.taken == 0 || table.indexes.iter().any(|i| !figures.indexes.iter().any(|f| f.tree == i.tree))
}
