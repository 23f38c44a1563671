//! The parts of a table, as tables of their own.

use crate::constraint::Constraints;
use crate::partition::{PartOf, PartTrees, Parts};
use crate::row_log::RowLog;
use crate::table::{Table, TableParts, assemble};
use gannet_base::{TreeId, TrxId};
use gannet_types::{Result, SqlError};
use std::sync::Arc;

impl Table {
    /// A part, as a table: the same columns and indexes over its own trees.
    pub fn part(&self, number: u32) -> Result<&Table> {
        let missing = || SqlError::internal(format_args!("{self:?} has no part {number}"));
        let parts = self.partitions.as_deref().ok_or_else(missing)?;
        let (trees, place) = parts.place(number).ok_or_else(missing)?;
        let table = place.get_or_try_init(|| Ok::<_, SqlError>(Arc::new(self.make_part(number, trees))))?;
        Ok(table)
    }

    /// As [`Table::part`], if somebody has asked for it since the definition was made.
    pub fn part_in_use(&self, number: u32) -> Option<&Arc<Table>> {
        self.partitions.as_deref()?.place(number)?.1.get()
    }

    /// All parts; the table itself where it has none.
    pub fn all_parts(&self) -> impl Iterator<Item = Result<&Table>> {
        let parts = self.partitions.as_deref().map_or(0, Parts::len);
        let own = self.partitions.is_none().then_some(Ok(self));
        own.into_iter().chain((0..parts as u32).map(|n| self.part(n)))
    }

    /// The tree whose counter numbers the AUTO_INCREMENT column: the row tree, unless that one numbers hidden rows;
    /// then it is that of the first index which begins with the column.
    pub fn auto_tree(&self) -> Option<TreeId> {
        let column = self.auto_column?;
        if let Some(above) = &self.part_of {
            return above.auto_counter;
        }
        if self.clustered.is_some() {
            return Some(self.row_tree);
        }
        let index =
            self.indexes.iter().find(|i| i.is_ordered() && i.parts.first().is_some_and(|p| p.column == column))?;
        Some(index.tree)
    }

    /// The part, if there are parts, and the index whose tree this is; no index is the row tree of hidden ids.
    pub fn find_tree(&self, tree: TreeId) -> Option<(Option<u32>, Option<usize>)> {
        if let Some(index) = self.indexes.iter().position(|i| i.tree == tree) {
            return Some((None, Some(index)));
        }
        if self.row_tree == tree {
            return Some((None, None));
        }
        let parts = &self.partitions.as_deref()?.shared().trees;
        parts.iter().enumerate().find_map(|(number, part)| {
            let index = part.indexes.iter().position(|t| *t == tree);
            (index.is_some() || part.row == tree).then_some((Some(number as u32), index))
        })
    }

    fn make_part(&self, number: u32, trees: &PartTrees) -> Table {
        let mut indexes = self.indexes.to_vec();
        for (index, tree) in indexes.iter_mut().zip(&trees.indexes) {
            index.tree = *tree;
        }
        let parts = TableParts {
            row_tree: trees.row,
            constraints: Constraints::default(),
            triggers: Box::default(),
            partitioned: None,
            ..self.parts()
        };
        let (schema, name) = (self.schema.clone(), self.name.clone());
        let columns = self.columns.to_vec();
        let made = assemble(parts, schema, name, columns, indexes, self.clustered, self.statistics.clone());
        let parts = self.partitions.as_deref();
        let file_name = parts.map_or(String::new(), |p| p.definition().file_name(number as usize)).into();
        let above = PartOf { number, file_name, hidden_ids: self.row_tree, auto_counter: self.auto_tree() };
        Table { part_of: Some(Box::new(above)), row_log: self.row_log.clone(), ..made }
    }

    /// Notes a changed row for those who make something of all rows beside their writers; of a part with its number in
    /// front.
    pub fn note(&self, log: &RowLog, trx: TrxId, key: &[u8]) {
        match &self.part_of {
            None => log.note(trx, key),
            Some(part) => log.note(trx, &[&part.number.to_be_bytes(), key].concat()),
        }
    }

    /// The part, and the row's key, of what was noted.
    pub fn noted<'k>(&self, noted: &'k [u8]) -> Result<(&Table, &'k [u8])> {
        if self.partitions.is_none() {
            return Ok((self, noted));
        }
        let (part, key) =
            noted.split_first_chunk().ok_or_else(|| SqlError::internal("a noted row without its part"))?;
        Ok((self.part(u32::from_be_bytes(*part))?, key))
    }
}
