//! Keeps statistics fresh in the background, so that plans are made for tables as they are, and stores them in the
//! dictionary.
//!
//! Writing rows counts nothing more for this: the engine counts each tree's entries, and their changes, anyway. A table
//! is sampled again when a tenth of its rows have changed, as in InnoDB: inserted, deleted, or updated in an indexed
//! column; or when it or one of its indexes has no figures yet.

use crate::Core;
use crate::release::Release;
use crate::vars::Live;
use gannet_catalog::{StoredTable, Trees, stats};
use gannet_engine::{EngineError, TreeHandle, TreeId};
use gannet_runtime::{Unpark, Wait, WallTime, interrupted, now_ns, park};
use gannet_schema::{IndexFigures, RowSource, Table, TableId};
use gannet_telemetry::{Counter, add};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Pause between two looks at the tables in use.
const PAUSE_NS: u64 = 500_000_000;
/// A table that changes all the time is sampled so often at most, unless it was empty the last time.
const AGAIN_NS: u64 = 2_000_000_000;
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

/// Takes the figures of a table anew.
pub fn refresh(core: &Core, table: &Table, now_seconds: u64, places: u64) -> Result<(), EngineError> {
    stats::refresh(&core.engine, table, now_seconds, places)?;
    // A small index is read from end to end.
    let pages = |i: &IndexFigures| if i.sampled == 0 { i.leaves } else { i.sampled };
    let figures = table.statistics.figures();
    let (read, all) = figures.indexes.iter().fold((0, 0), |(read, all), i| (read + pages(i), all + i.leaves));
    add(Counter::InnodbSampledPagesRead, read);
    add(Counter::InnodbSampledPagesSkipped, all.saturating_sub(read));
    Ok(())
}

/// The background task; ends when the server stops.
pub fn run(shared: &Arc<Core>) {
    let mut watched: HashMap<TableId, Watched> = HashMap::new();
    let mut told = HashSet::new();
    let mut release = Release::default();
    while !shared.shutting_down() && !interrupted() {
        if park(Wait::StatisticsIdle, Some(now_ns() + PAUSE_NS)) == Unpark::Interrupted {
            break;
        }
        release.look(shared);
        // What a crash has left of temporary tables; tried again when it fails.
        let _ = shared.catalog.discard_left_over();
        look_at_all(shared, &mut watched);
        tell_damage(shared, &mut told);
    }
}

/// What is remembered of a table between two looks.
#[derive(Default)]
struct Watched {
    /// Which figures its changes are counted from.
    taking: u64,
    /// Changes of its trees at the last look, the row tree's first.
    last: Vec<u64>,
    /// Changes since the figures were taken.
    changed: Vec<u64>,
    /// When it was sampled.
    sampled_ns: u64,
    /// When its figures were written down.
    saved_ns: u64,
    /// The round in which it was there.
    round: u64,
}

impl Watched {
    /// Counts on. Returns how many rows have changed since the figures were taken.
    fn changed_rows(&mut self, table: &Table) -> u64 {
        let width = 1 + table.indexes.len() - usize::from(table.clustered.is_some());
        let mut now: Vec<u64> = Vec::new();
        for trees in trees_of(table) {
            let Some(trees) = trees else {
                now.extend(std::iter::repeat_n(0, width));
                continue;
            };
            let others = trees.indexes.iter().filter(|t| t.id() != trees.row.id());
            now.extend(std::iter::once(&trees.row).chain(others).map(TreeHandle::changes));
        }
        let taking = table.statistics.taking();
        if self.last.len() != now.len() {
            // Not looked at before: all changes since its trees were opened.
            self.last = vec![0; now.len()];
        }
        if self.taking != taking || self.changed.len() != now.len() {
            // Figures taken between two looks: what has changed between these counts as newer, since it may be.
            (self.taking, self.changed) = (taking, vec![0; now.len()]);
        }
        for (changed, (now, last)) in self.changed.iter_mut().zip(now.iter().zip(&self.last)) {
            *changed += now.wrapping_sub(*last) % TreeHandle::CHANGES;
        }
        self.last = now;
        let of_tree = |n: usize| self.changed.iter().skip(n).step_by(width).sum::<u64>();
        let rows = of_tree(0);
        // An updated row changes an index twice: an entry goes, another one comes.
        rows + (1..width).map(|n| of_tree(n).saturating_sub(rows) / 2).max().unwrap_or(0)
    }
}

/// The trees of each part of a table, or of the table, that somebody has used since the start.
pub(crate) fn trees_of(table: &Table) -> Vec<Option<&Trees>> {
    match &table.partitions {
        None => vec![table.opened_trees()],
        Some(parts) => {
            let part = |n| table.part_in_use(n).and_then(|part| part.opened_trees());
            (0..parts.len() as u32).map(part).collect()
        }
    }
}

fn look_at_all(shared: &Arc<Core>, watched: &mut HashMap<TableId, Watched>) {
    let snapshot = shared.catalog.snapshot();
    let round = now_ns();
    for table in snapshot.all_tables() {
        if shared.shutting_down() || interrupted() {
            return;
        }
        if table.source != RowSource::Engine || trees_of(table).iter().all(Option::is_none) {
            continue;
        }
        let watched = watched.entry(table.id).or_default();
        watched.round = round;
        if is_stale(table, watched) {
            watched.sampled_ns = now_ns();
            let wanted = Wanted::of(shared, table);
            if wanted.automatic || is_unknown(table) {
                // A table that is dropped meanwhile, or damaged, keeps the figures it has; statements report the
                // damage.
                let now = WallTime::now().seconds();
                let _ = refresh(shared, table, now, wanted.places);
            }
        }
        let due = watched.saved_ns == 0 || now_ns() >= watched.saved_ns + SAVE_NS;
        if table.statistics.is_unsaved() && due && is_newest(shared, table) {
            watched.saved_ns = now_ns();
            if Wanted::of(shared, table).persistent {
                // Figures that cannot be saved now are sampled again after the next start.
                let _ = shared.catalog.save_figures(table);
            }
        }
    }
    watched.retain(|_, w| w.round == round);
}

/// Says in the log which tables have pages that the scrubber has found damaged, with the first page of each: once,
/// until all are whole again.
fn tell_damage(shared: &Core, told: &mut HashSet<TreeId>) {
    let mut trees = HashSet::new();
    let mut found = shared.engine.damaged_pages();
    found.retain(|d| trees.insert(d.tree));
    for damage in found.iter().filter(|d| !told.contains(&d.tree)) {
        let snapshot = shared.catalog.snapshot();
        let has = |t: &&Arc<Table>| t.find_tree(damage.tree).is_some();
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

fn is_stale(table: &Table, watched: &mut Watched) -> bool {
    let (trees, figures) = (trees_of(table), table.statistics.figures());
    if trees.iter().all(Option::is_none) {
        return false;
    }
    let mut changed = watched.changed_rows(table);
    // Parts that nobody has used have rows, too.
    if trees.iter().all(Option::is_some) {
        let rows: u64 = trees.iter().flatten().map(|t| t.row.approximate_rows()).sum();
        changed = changed.max(rows.abs_diff(figures.rows));
    }
    let rested = figures.rows == 0 || now_ns() >= watched.sampled_ns + AGAIN_NS;
    is_unknown(table) || changed > figures.rows / 10 && rested
}

/// The table, or one of its indexes, was never looked at.
fn is_unknown(table: &Table) -> bool {
    let figures = table.statistics.figures();
    figures.taken == 0 || table.indexes.iter().any(|i| !figures.indexes.iter().any(|f| f.tree == i.tree))
}
