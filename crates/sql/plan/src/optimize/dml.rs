//! INSERT, UPDATE, DELETE.

use super::build::{Builder, Node};
use crate::bind::{BoundCheck, BoundDelete, BoundInsert, BoundSource, BoundUpdate};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, ColId, RelKind};
use crate::physical::{Op, Physical};
use crate::plan::{Assignment, Delete, Insert, InsertSource, Update, UpdateTarget, ViewCheck};
use gannet_schema::Table;
use gannet_types::{Result, SqlError};
use std::sync::Arc;

/// A table that an UPDATE or DELETE changes.
struct Target {
    /// Plan table.
    slot: u32,
    table: Arc<Table>,
    first: ColId,
}

impl Target {
    /// All columns, the hidden row id where that is the table's key, and the part where there are parts.
    fn columns(&self) -> impl Iterator<Item = ColId> {
        let (first, behind) = (self.first, self.first + self.table.columns.len() as u32);
        let id = self.table.clustered.is_none().then_some(behind);
        let part = self.table.partitions.is_some().then_some(behind + 1);
        (first..behind).chain(id).chain(part)
    }
}

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
        // Asked of what was lowered, where the columns that subqueries read are there as their binds.
        let self_reference = match &source {
            InsertSource::Values(rows) => {
                let reads = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Column(_)));
                rows.iter().flatten().flatten().any(reads)
            }
            InsertSource::Query(_) => false,
        };
        let on_duplicate = self.assignments(&bound.on_duplicate, &bound.update_row)?;
        let shown: Vec<Expr> = bound.checks.iter().flat_map(|c| &c.shown).cloned().collect();
        let shown = self.lower_all(&shown, &bound.value_row)?.into();
        Ok(Insert {
            table: bound.table,
            columns: bound.columns.into(),
            source,
            replace: bound.replace,
            ignore: bound.ignore,
            on_duplicate,
            checks: self.checks(&bound.checks, &bound.value_row)?,
            shown,
            self_reference,
            hides_counter: bound.checks.iter().any(|c| c.hides_counter),
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
    fn mark_targets(&mut self, targets: &[Target]) {
        // The rest is carried along, not read: privileges do not ask for it.
        let used = &self.used;
        self.read.get_or_insert_with(|| used.clone());
        targets.iter().flat_map(Target::columns).for_each(|id| self.mark_column(id));
    }

    /// The relation of a block that has `first` as its first column, wherever the rewrites have put it.
    fn target(&self, block: &Block, first: ColId) -> Result<Target> {
        match block.rels.iter().find(|r| r.first == first).map(|r| &r.kind) {
            Some(RelKind::Base(slot)) => {
                let table = self.arena.tables[*slot as usize].table.clone();
                Ok(Target { slot: *slot, table, first })
            }
            _ => Err(SqlError::internal("a target is no table of the statement")),
        }
    }

    /// Rows with the targets' columns side by side, in the order of `targets`; their offsets.
    fn target_rows(&mut self, block: &Block, targets: &[Target]) -> Result<(Node, Vec<u32>)> {
        let node = self.changed_rows(block)?;
        let mut schema = Vec::new();
        let mut offsets = Vec::new();
        for target in targets {
            offsets.push(schema.len() as u32);
            schema.extend(target.columns());
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
        let tables = bound.targets.iter().map(|t| self.target(&bound.block, t.first));
        let tables = tables.collect::<Result<Vec<Target>>>()?;
        for (_, value) in bound.targets.iter().flat_map(|t| &t.assignments) {
            if let Some(e) = value {
                self.mark(e);
            }
        }
        bound.block.for_each_expr(&mut |e| self.mark(e));
        self.mark_targets(&tables);
        let conditions = bound.targets.iter().flat_map(|t| &t.checks).flat_map(|c| &c.conditions);
        conditions.for_each(|e| self.mark(e));
        let (node, offsets) = self.target_rows(&bound.block, &tables)?;
        let mut targets = Vec::with_capacity(tables.len());
        let joined = bound.block.rels.len() > 1;
        let mut collect_first = joined;
        for ((target, Target { slot, table, .. }), offset) in bound.targets.iter().zip(tables).zip(offsets) {
            let assignments = self.assignments(&target.assignments, &node.schema)?;
            let assigned = |c: u32| target.assignments.iter().any(|(a, _)| *a == c) || changes_by_itself(&table, c);
            let touched = |i: &gannet_schema::Index| i.parts.iter().any(|p| assigned(p.column));
            // An entry carries texts of the row's key, too, which may change while the key stays.
            let carries = |i: usize| table.carried_columns(i).iter().any(|c| assigned(*c));
            let changes = |i: &usize| touched(&table.indexes[*i]) || carries(*i);
            let indexes: Box<[u32]> = (0..table.indexes.len()).filter(changes).map(|i| i as u32).collect();
            let moves = table.clustered.is_some_and(|c| touched(&table.indexes[c]));
            // A row that goes to another part may be met there again.
            let parts = table.partitions.as_ref().is_some_and(|p| p.columns().iter().any(|c| assigned(*c)));
            collect_first |= walks(&node.physical, slot, &table, &indexes, moves || parts);
            let checks = self.checks(&target.checks, &node.schema)?;
            targets.push(UpdateTarget { table: slot, offset, assignments, indexes, moves, checks });
        }
        Ok(Update { input: node.physical, targets: targets.into(), ignore: bound.ignore, collect_first, joined })
    }

    pub(crate) fn delete(&mut self, bound: BoundDelete) -> Result<Delete> {
        let tables = bound.targets.iter().map(|first| self.target(&bound.block, *first));
        let tables = tables.collect::<Result<Vec<Target>>>()?;
        bound.block.for_each_expr(&mut |e| self.mark(e));
        self.mark_targets(&tables);
        let (node, offsets) = self.target_rows(&bound.block, &tables)?;
        let targets: Vec<(u32, u32)> = tables.iter().map(|t| t.slot).zip(offsets).collect();
        let collect_first = bound.block.rels.len() > 1;
        let plain = |e: &&Expr| !collect_first && !e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_)));
        let recheck = bound.block.filter.iter().filter(plain).map(|e| self.lower(e, &node.schema));
        let recheck = recheck.collect::<Result<Box<[_]>>>()?;
        let (input, targets, ignore, counts_deleted) = (node.physical, targets.into(), bound.ignore, false);
        Ok(Delete { input, targets, ignore, collect_first, recheck, counts_deleted })
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
