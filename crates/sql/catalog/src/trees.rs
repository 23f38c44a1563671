//! The engine's trees of a table, opened once for each version of it.

use gannet_engine::{Engine, EngineError, TreeHandle};
use gannet_schema::{Index, Table};

/// The engine's handles of a table's trees.
#[derive(Clone)]
pub struct Trees {
    /// The row tree.
    pub row: TreeHandle,
    /// One for each index; the row tree again for the clustered one.
    pub indexes: Box<[TreeHandle]>,
}

/// What a table has in the store. The handles stay in [`Table::opened`]: every statement asks for them.
pub trait StoredTable {
    /// The trees' handles; opened at first use.
    fn trees(&self, engine: &Engine) -> Result<&Trees, EngineError>;

    /// The trees' handles if somebody has used the table since the start; only then can it have changed.
    fn opened_trees(&self) -> Option<&Trees>;

    /// The tree whose counter numbers the AUTO_INCREMENT column. It is the row tree's, unless that one numbers hidden
    /// row ids: then it is the first index which begins with the column.
    fn auto_counter<'t>(&self, trees: &'t Trees) -> Option<&'t TreeHandle>;
}

impl StoredTable for Table {
    #[inline]
    fn trees(&self, engine: &Engine) -> Result<&Trees, EngineError> {
        self.opened.get_or_try_init(|| {
            let row = engine.tree(self.row_tree)?;
            let open = |i: &Index| if i.tree == self.row_tree { Ok(row.clone()) } else { engine.tree(i.tree) };
            let indexes = self.indexes.iter().map(open).collect::<Result<_, EngineError>>()?;
            Ok(Trees { row, indexes })
        })
    }

    fn opened_trees(&self) -> Option<&Trees> {
        self.opened.get()
    }

    fn auto_counter<'t>(&self, trees: &'t Trees) -> Option<&'t TreeHandle> {
        let column = self.auto_column?;
        if self.clustered.is_some() {
            return Some(&trees.row);
        }
        let position =
            self.indexes.iter().position(|i| i.is_ordered() && i.parts.first().is_some_and(|p| p.column == column))?;
        trees.indexes.get(position)
    }
}
