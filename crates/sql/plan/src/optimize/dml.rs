//! INSERT, UPDATE and DELETE.

use super::{Node, Optimizer, join};
use crate::bind::{BoundDelete, BoundInsert, BoundSource, BoundUpdate};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, ColId, Rel, RelKind};
use crate::physical::{Op, Physical};
use crate::plan::{Assignment, Delete, Insert, InsertSource, Plan, PlanKind, Update, UpdateTarget};
use gannet_catalog::Table;
use gannet_types::{Result, SqlError};
use std::collections::HashSet;
use std::sync::Arc;

/// A target's place in the block, kept from before the block is taken apart.
struct Target {
    table: u32,
    first: ColId,
    definition: Arc<Table>,
}

impl Optimizer<'_> {
    pub(crate) fn insert(mut self, bound: BoundInsert) -> Result<Plan> {
        let source = match bound.source {
            BoundSource::Values(rows) => {
                let rows = rows
                    .iter()
                    .map(|row| row.iter().map(|e| e.as_ref().map(|e| self.lower(e, &bound.value_row))).collect());
                InsertSource::Values(rows.collect())
            }
            BoundSource::Query(query) => InsertSource::Query(Box::new(self.query(*query)?.physical)),
        };
        let on_duplicate = self.assignments(&bound.on_duplicate, &bound.update_row);
        let insert = Insert {
            table: bound.table,
            columns: bound.columns.into(),
            source,
            replace: bound.replace,
            ignore: bound.ignore,
            on_duplicate,
            self_reference: bound.self_reference,
        };
        self.finish(PlanKind::Insert(Box::new(insert)), Vec::new())
    }

    fn assignments(&mut self, all: &[(u32, Option<Expr>)], columns: &[ColId]) -> Box<[Assignment]> {
        let lowered = all.iter().map(|(column, value)| Assignment {
            column: *column,
            value: value.as_ref().map(|e| self.lower(e, columns)),
        });
        lowered.collect()
    }

    fn target(&self, rel: &Rel) -> Result<Target> {
        match rel.kind {
            RelKind::Base(table) => {
                let definition = self.arena.tables[table as usize].table.clone();
                Ok(Target { table, first: rel.first, definition })
            }
            _ => Err(SqlError::internal("a target which is no table")),
        }
    }

    pub(crate) fn update(mut self, bound: BoundUpdate) -> Result<Plan> {
        let targets =
            bound.targets.iter().map(|t| self.target(&bound.block.rels[t.rel])).collect::<Result<Vec<_>>>()?;
        let read: Vec<&Expr> =
            bound.targets.iter().flat_map(|t| &t.assignments).filter_map(|(_, e)| e.as_ref()).collect();
        let node = self.target_rows(bound.block, &targets, &read)?;
        let several = targets.len() > 1;
        let mut made = Vec::new();
        let mut collect_first = several;
        for (target, bound) in targets.iter().zip(&bound.targets) {
            let assigned: Vec<u32> = bound.assignments.iter().map(|(c, _)| *c).collect();
            let touched = with_on_update(&target.definition, &assigned);
            let indexes = indexes_with(&target.definition, &touched);
            let clustered = target.definition.clustered_columns();
            collect_first |= walks(&node.physical, target, &touched);
            made.push(UpdateTarget {
                table: target.table,
                offset: offset(&node, target.first)?,
                assignments: self.assignments(&bound.assignments, &node.columns),
                indexes,
                moves: clustered.iter().any(|c| touched.contains(c)),
            });
        }
        let update = Update { input: node.physical, targets: made.into(), ignore: bound.ignore, collect_first };
        self.finish(PlanKind::Update(Box::new(update)), Vec::new())
    }

    pub(crate) fn delete(mut self, bound: BoundDelete) -> Result<Plan> {
        let targets = bound.targets.iter().map(|t| self.target(&bound.block.rels[*t])).collect::<Result<Vec<_>>>()?;
        let node = self.target_rows(bound.block, &targets, &[])?;
        let places = targets.iter().map(|t| Ok((t.table, offset(&node, t.first)?))).collect::<Result<_>>()?;
        let collect_first = targets.len() > 1;
        let delete = Delete { input: node.physical, targets: places, ignore: bound.ignore, collect_first };
        self.finish(PlanKind::Delete(Box::new(delete)), Vec::new())
    }

    /// The rows to change: whole rows of the targets, after ORDER BY and LIMIT. `read`: what assignments read besides.
    fn target_rows(&mut self, mut block: Block, targets: &[Target], read: &[&Expr]) -> Result<Node> {
        let mut needed: HashSet<ColId> = self.needed(&block);
        for e in read {
            self.arena.columns_of(e, &mut |id| {
                needed.insert(id);
            });
        }
        for target in targets {
            let width = target.definition.columns.len() as u32 + u32::from(target.definition.has_hidden_key());
            needed.extend(target.first..target.first + width);
        }
        let (order, limit) = (std::mem::take(&mut block.order), block.limit.take());
        let rows = limit.as_ref().map(|e| self.limit_rows(e));
        let wanted = super::base_order(&order, &block.items);
        let rows = rows.filter(|_| order.is_empty() || !wanted.is_empty());
        let goal = join::Goal { order: &wanted, limit: rows };
        let joined = self.join_block(&mut block, &|id| needed.contains(&id), &goal)?;
        let node = joined.node;
        let node =
            if joined.ordered && !wanted.is_empty() { node } else { self.sort(node, &order, limit.as_ref(), None) };
        Ok(self.limit(node, limit.as_ref(), None, false))
    }
}

fn offset(node: &Node, first: ColId) -> Result<u32> {
    let place = node.columns.iter().position(|c| *c == first);
    place.map(|p| p as u32).ok_or_else(|| SqlError::internal("a target's columns are missing"))
}

/// Assigned columns, and those that change by ON UPDATE CURRENT_TIMESTAMP.
fn with_on_update(table: &Table, assigned: &[u32]) -> Vec<u32> {
    let by_time = table.columns.iter().enumerate().filter(|(_, c)| c.on_update_now).map(|(i, _)| i as u32);
    assigned.iter().copied().chain(by_time).collect()
}

/// Indexes that hold one of the columns; all of them when the row's own key changes.
fn indexes_with(table: &Table, columns: &[u32]) -> Box<[u32]> {
    let moved = table.clustered_columns().iter().any(|c| columns.contains(c));
    let holds = |i: &usize| moved || table.indexes[*i].parts.iter().any(|p| columns.contains(&p.column));
    (0..table.indexes.len()).filter(holds).map(|i| i as u32).collect()
}

/// The scan of the target walks an index whose key the statement changes: a changed row could be met again.
fn walks(root: &Physical, target: &Target, touched: &[u32]) -> bool {
    let mut found = false;
    if let Op::TableScan(scan) = &root.op
        && scan.table == target.table
    {
        let parts = match scan.index {
            Some(index) => target.definition.indexes[index as usize].parts.iter().map(|p| p.column).collect(),
            None => Vec::new(),
        };
        let point = matches!(scan.access, crate::physical::Access::Point { .. });
        found = !point && parts.iter().chain(target.definition.clustered_columns()).any(|c| touched.contains(c));
    }
    // Below a sort everything is read before the first change.
    if !matches!(root.op, Op::Sort { .. }) {
        root.for_each_input(|input| found |= walks(input, target, touched));
    }
    // A subquery in a condition may read the target as well; it is evaluated row by row.
    root.for_each_expr(|e| found |= e.any(&mut |x| matches!(x.kind, ExprKind::Subquery(_))));
    found
}
