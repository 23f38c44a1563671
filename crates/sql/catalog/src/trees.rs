//! The engine's trees of a table, opened once for each version of it.

use gannet_engine::{Engine, EngineError, TreeHandle, note_open_table};
use gannet_schema::{Index, Table};

/// The engine's handles of a table's trees.
#[derive(Clone)]
pub struct Trees {
    /// The row tree.
    pub row: TreeHandle,
    /// One for each index; the row tree again for the clustered one.
    pub indexes: Box<[TreeHandle]>,
    /// Numbers the AUTO_INCREMENT column.
    auto: Option<TreeHandle>,
    /// Of a part: numbers the hidden rows of all parts.
    above: Option<TreeHandle>,
}

impl Trees {
    /// The tree whose counter numbers rows without a key of their own.
    #[inline]
    pub fn hidden_ids(&self) -> &TreeHandle {
        self.above.as_ref().unwrap_or(&self.row)
    }
}

/// What a table has in the store. The handles stay in [`Table::opened`]: every statement asks for them.
pub trait StoredTable {
    /// The trees' handles; opened at first use.
    fn trees(&self, engine: &Engine) -> Result<&Trees, EngineError>;

    /// The trees' handles if somebody has used the table since the start; only then can it have changed.
    fn opened_trees(&self) -> Option<&Trees>;

    /// The tree whose counter numbers the AUTO_INCREMENT column: see [`Table::auto_tree`].
    fn auto_counter<'t>(&self, trees: &'t Trees) -> Option<&'t TreeHandle>;

    /// The next AUTO_INCREMENT value as SHOW has it: at the end of the column's type its greatest one.
    fn next_auto_value(&self, trees: &Trees) -> Option<u64>;
}

impl StoredTable for Table {
    #[inline]
    fn trees(&self, engine: &Engine) -> Result<&Trees, EngineError> {
        self.opened.get_or_try_init(|| {
            let row = engine.tree(self.row_tree)?;
            let open = |id| if id == self.row_tree { Ok(row.clone()) } else { engine.tree(id) };
            let indexes = self.indexes.iter().map(|i: &Index| open(i.tree)).collect::<Result<_, EngineError>>()?;
            let auto = self.auto_tree().map(open).transpose()?;
            let above = self.part_of.as_ref().map(|above| engine.tree(above.hidden_ids)).transpose()?;
            note_open_table();
            Ok(Trees { row, indexes, auto, above })
        })
    }

    fn opened_trees(&self) -> Option<&Trees> {
        self.opened.get()
    }

    #[inline]
    fn auto_counter<'t>(&self, trees: &'t Trees) -> Option<&'t TreeHandle> {
        trees.auto.as_ref()
    }

    fn next_auto_value(&self, trees: &Trees) -> Option<u64> {
        let (next, most) =
            (self.auto_counter(trees)?.counter_next(), self.columns.get(self.auto_column? as usize)?.most());
        // ALTER TABLE sets it beyond the type, too.
        Some(if next - 1 == most { most } else { next })
    }
}
