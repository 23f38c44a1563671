//! INSERT, UPDATE, DELETE.

use super::build::{Builder, Node};
use crate::bind::{BoundCheck, BoundDelete, BoundInsert, BoundSource, BoundUpdate};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, ColId, RelKind};
use crate::physical::{Op, Physical};
use crate::plan::{Assignment, Delete, Insert, InsertSource, Update, UpdateTarget, ViewCheck};
use gannet_catalog::Table;
use gannet_types::{Result, SqlError};
use std::sync::Arc;

impl Builder<'_> {
    pub(crate) fn insert(&mut self, bound: BoundInsert) -> Result<Insert> {
        let source = match &bound.source {
            BoundSource::Values(rows) => {
                let mut lowered = Vec::with_capacity(rows.len());
                for row in rows {
                    let values = row.iter().map(|v| v.as_ref().map(|e| self.lower(e, &bound.value_row)).transpose());
                    lowered.push(values.collect::<Result<Box<[_]>>>()?);
                }
                InsertSource::Values(lowered.into())
            }
            BoundSource::Query(query) => InsertSource::Query(Box::new(self.query_plan(query)?)),
        };
        let on_duplicate = self.assignments(&bound.on_duplicate, &bound.update_row)?;
        Ok(Insert {
            table: bound.table,
            columns: bound.columns.into(),
            source,
            replace: bound.replace,
            ignore: bound.ignore,
            on_duplicate,
            checks: self.checks(&bound.checks, &bound.value_row)?,
            self_reference: bound.self_reference,
        })
    }

    fn assignments(&mut self, bound: &[(u32, Option<Expr>)], schema: &[ColId]) -> Result<Box<[Assignment]>> {
        let lower = |(column, value): &(u32, Option<Expr>)| {
            let value = value.as_ref().map(|e| self.lower(e, schema)).transpose()?;
            Ok(Assignment { column: *column, value })
        };
        bound.iter().map(lower).collect()
    }

    fn checks(&mut self, bound: &[BoundCheck], schema: &[ColId]) -> Result<Box<[ViewCheck]>> {
        let mut checks = Vec::new();
        for check in bound {
            let table = self.arena.tables[check.view as usize].table.clone();
            for condition in &check.conditions {
                let condition = self.lower(condition, schema)?;
                checks.push(ViewCheck { view: ((&*table.schema).into(), (&*table.name).into()), condition });
            }
        }
        Ok(checks.into())
    }

    /// Whole rows of the targets are wanted.
    pub(crate) fn mark_targets(&mut self, block: &Block, targets: &[usize]) {
        block.for_each_expr(&mut |e| self.mark(e));
        // The rest is carried along, not read: privileges do not ask for it.
        self.read = Some(self.used.clone());
        for target in targets {
            let rel = &block.rels[*target];
            let hidden = self.target(block, *target).is_none_or(|t| t.clustered.is_none());
            let width = if hidden { rel.width } else { rel.width - 1 };
            (rel.first..rel.first + width).for_each(|id| self.mark_column(id));
        }
    }

    fn target(&self, block: &Block, rel: usize) -> Option<Arc<Table>> {
        match block.rels[rel].kind {
            RelKind::Base(slot) => Some(self.arena.tables[slot as usize].table.clone()),
            _ => None,
        }
    }

    /// Rows with the targets' columns side by side, in the order of `targets`; their offsets.
    fn target_rows(&mut self, block: &Block, targets: &[usize]) -> Result<(Node, Vec<u32>)> {
        let node = self.changed_rows(block)?;
        let mut schema = Vec::new();
        let mut offsets = Vec::new();
        for target in targets {
            let rel = &block.rels[*target];
            offsets.push(schema.len() as u32);
            let hidden = self.target(block, *target).is_none_or(|t| t.clustered.is_none());
            let width = if hidden { rel.width } else { rel.width - 1 };
            schema.extend(rel.first..rel.first + width);
        }
        // What assignments read of other tables comes behind.
        schema.extend(node.schema.iter().copied().filter(|id| !schema.contains(id)).collect::<Vec<_>>());
        if schema == node.schema {
            return Ok((node, offsets));
        }
        let exprs: Vec<Expr> = schema.iter().map(|id| self.arena.expr(*id)).collect();
        let exprs = self.lower_all(&exprs, &node.schema)?;
        let (rows, cost) = (node.physical.rows, node.physical.cost);
        let op = Op::Project { input: Box::new(node.physical), exprs: exprs.into(), stored: true };
        Ok((self.node(op, schema, rows, cost), offsets))
    }

    pub(crate) fn update(&mut self, bound: BoundUpdate) -> Result<Update> {
        let rels: Vec<usize> = bound.targets.iter().map(|t| t.rel).collect();
        for (_, value) in bound.targets.iter().flat_map(|t| &t.assignments) {
            if let Some(e) = value {
                self.mark(e);
            }
        }
        self.mark_targets(&bound.block, &rels);
        let conditions = bound.targets.iter().flat_map(|t| &t.checks).flat_map(|c| &c.conditions);
        conditions.for_each(|e| self.mark(e));
        let (node, offsets) = self.target_rows(&bound.block, &rels)?;
        let mut targets = Vec::with_capacity(rels.len());
        let joined = bound.block.rels.len() > 1;
        let mut collect_first = joined;
        for (target, offset) in bound.targets.iter().zip(offsets) {
            let table =
                self.target(&bound.block, target.rel).ok_or_else(|| SqlError::internal("update of no table"))?;
            let RelKind::Base(slot) = bound.block.rels[target.rel].kind else {
                return Err(SqlError::internal("update of no table"));
            };
            let assignments = self.assignments(&target.assignments, &node.schema)?;
            let assigned = |c: u32| target.assignments.iter().any(|(a, _)| *a == c) || changes_by_itself(&table, c);
            let touched = |i: &gannet_catalog::Index| i.parts.iter().any(|p| assigned(p.column));
            let indexes: Box<[u32]> =
                (0..table.indexes.len()).filter(|i| touched(&table.indexes[*i])).map(|i| i as u32).collect();
            let moves = table.clustered.is_some_and(|c| touched(&table.indexes[c]));
            collect_first |= walks(&node.physical, slot, &table, &indexes, moves);
            let checks = self.checks(&target.checks, &node.schema)?;
            targets.push(UpdateTarget { table: slot, offset, assignments, indexes, moves, checks });
        }
        Ok(Update { input: node.physical, targets: targets.into(), ignore: bound.ignore, collect_first, joined })
    }

    pub(crate) fn delete(&mut self, bound: BoundDelete) -> Result<Delete> {
        self.mark_targets(&bound.block, &bound.targets);
        let (node, offsets) = self.target_rows(&bound.block, &bound.targets)?;
        let mut targets = Vec::with_capacity(offsets.len());
        for (rel, offset) in bound.targets.iter().zip(offsets) {
            let RelKind::Base(slot) = bound.block.rels[*rel].kind else {
                return Err(SqlError::internal("delete from no table"));
            };
            targets.push((slot, offset));
        }
        let collect_first = bound.block.rels.len() > 1;
        let plain = |e: &&Expr| !collect_first && !e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_)));
        let recheck = bound.block.filter.iter().filter(plain).map(|e| self.lower(e, &node.schema));
        let recheck = recheck.collect::<Result<Box<[_]>>>()?;
        Ok(Delete { input: node.physical, targets: targets.into(), ignore: bound.ignore, collect_first, recheck })
    }
}

/// ON UPDATE CURRENT_TIMESTAMP, generated columns.
fn changes_by_itself(table: &Table, column: u32) -> bool {
    let column = &table.columns[column as usize];
    column.on_update_now || column.generated.is_some()
}

/// The rows are found by walking something that the update changes.
fn walks(root: &Physical, slot: u32, table: &Table, indexes: &[u32], moves: bool) -> bool {
    match &root.op {
        Op::TableScan(scan) if scan.table == slot => match &scan.access {
            crate::physical::Access::Point { .. } => false,
            crate::physical::Access::Merge { parts, .. } => moves || parts.iter().any(|p| indexes.contains(&p.index)),
            _ => {
                let secondary = scan.index.filter(|i| Some(*i as usize) != table.clustered);
                match secondary {
                    Some(index) => indexes.contains(&index) || moves,
                    None => moves,
                }
            }
        },
        // A sort has read everything before it delivers.
        Op::Sort { .. } => false,
        _ => {
            let mut found = false;
            root.for_each_input(|i| found |= walks(i, slot, table, indexes, moves));
            found
        }
    }
}

/// A plain column of a row.
pub(super) fn column(e: &Expr) -> Option<u32> {
    match e.kind {
        ExprKind::Column(slot) => Some(slot),
        _ => None,
    }
}
