//! What tables, indexes, users and clients were used for: `userstat`, and performance_schema's table I/O.
//!
//! The counts only grow; FLUSH and TRUNCATE note what they were.

use gannet_base::sync::Mutex;
use gannet_engine::{TreeId, TreeUses};
use gannet_schema::Table;
use std::collections::HashMap;

/// Counts of trees at the last reset of a list.
#[derive(Default)]
pub struct TreesSince(Mutex<HashMap<TreeId, TreeUses>>);

/// Figures of users or clients at the last FLUSH, by name.
#[derive(Default)]
pub struct FiguresSince(Mutex<HashMap<String, Vec<u64>>>);

/// What each list counts from.
#[derive(Default)]
pub struct Uses {
    /// TABLE_STATISTICS.
    pub tables: TreesSince,
    /// INDEX_STATISTICS.
    pub indexes: TreesSince,
    /// table_io_waits_summary_by_table.
    pub io_by_table: TreesSince,
    /// table_io_waits_summary_by_index_usage.
    pub io_by_index: TreesSince,
    /// objects_summary_global_by_type.
    pub objects: TreesSince,
    /// socket_summary_by_instance.
    pub sockets: FiguresSince,
    /// socket_summary_by_event_name.
    pub all_sockets: FiguresSince,
    /// USER_STATISTICS.
    pub users: FiguresSince,
    /// CLIENT_STATISTICS.
    pub clients: FiguresSince,
}

/// What a table was used for.
#[derive(Clone, Debug, Default)]
pub struct TableUses {
    /// Its rows: by the primary key, or by none.
    pub rows: TreeUses,
    /// Entries of its secondary indexes, by number; zero for the clustered one.
    pub secondary: Vec<u64>,
}

impl TableUses {
    /// Rows that were read, whatever way.
    pub fn read(&self) -> u64 {
        self.rows.read + self.rows.scanned + self.secondary.iter().sum::<u64>()
    }

    /// Rows that were changed.
    pub fn changed(&self) -> u64 {
        self.rows.inserted + self.rows.updated + self.rows.deleted
    }

    /// Rows that were read by index number `index`.
    pub fn by_index(&self, table: &Table, index: usize) -> u64 {
        if table.clustered == Some(index) { self.rows.read } else { self.secondary.get(index).copied().unwrap_or(0) }
    }
}

impl TreesSince {
    /// What a table was used for since the last reset; nothing if nobody has used it since the start.
    pub fn of(&self, table: &Table) -> TableUses {
        let since = self.0.lock();
        let of = |id: TreeId, uses: TreeUses| uses.since(since.get(&id).copied().unwrap_or_default());
        let mut all = TableUses { rows: TreeUses::default(), secondary: vec![0; table.indexes.len()] };
        for trees in crate::statistics::trees_of(table).into_iter().flatten() {
            all.rows = all.rows.and(of(trees.row.id(), trees.row.uses()));
            for (sum, tree) in all.secondary.iter_mut().zip(&trees.indexes) {
                if tree.id() != trees.row.id() {
                    *sum += of(tree.id(), tree.uses()).read;
                }
            }
        }
        all
    }

    /// Rows of all tables that were read or changed since the last reset.
    pub fn sum(&self, core: &crate::Core) -> u64 {
        let of = |table: &Table| {
            let uses = self.of(table);
            uses.read() + uses.changed()
        };
        core.catalog.snapshot().all_tables().map(|table| of(table)).sum()
    }

    /// Counts from zero again.
    pub fn reset(&self, core: &crate::Core) {
        let mut now = HashMap::new();
        for table in core.catalog.snapshot().all_tables() {
            for trees in crate::statistics::trees_of(table).into_iter().flatten() {
                now.extend(trees.indexes.iter().chain([&trees.row]).map(|t| (t.id(), t.uses())));
            }
        }
        *self.0.lock() = now;
    }
}

impl FiguresSince {
    /// The figures since the last FLUSH.
    pub fn of(&self, name: &str, mut figures: Vec<u64>) -> Vec<u64> {
        if let Some(before) = self.0.lock().get(name) {
            figures.iter_mut().zip(before).for_each(|(n, b)| *n = n.saturating_sub(*b));
        }
        figures
    }

    /// They are counted from these on.
    pub fn reset(&self, now: HashMap<String, Vec<u64>>) {
        *self.0.lock() = now;
    }
}
