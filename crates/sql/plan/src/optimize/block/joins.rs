//! Operators of a join order: first relation, nested loops, hash joins.

use super::{Planned, named_or_derived};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Block, ColId};
use crate::make::and;
use crate::optimize::build::{Builder, Node, column_names, free_registers};
use crate::optimize::cost;
use crate::optimize::join::{Inner, JoinOrder, Method, Step, Unit, UnitSource};
use crate::optimize::relset::RelSet;
use crate::physical::{HashKey, JoinKind, Op};
use gannet_types::{Result, SqlError};

impl Builder<'_> {
    pub(super) fn build_order(
        &mut self,
        planned: &mut Planned<'_>,
        units: &[Unit],
        order: &JoinOrder,
        level: &[usize],
        outer: RelSet,
        few: bool,
    ) -> Result<Node> {
        let mut node: Option<Node> = None;
        let mut done = outer;
        for step in &order.steps {
            let unit = &units[step.unit];
            let mut next = match node.take() {
                None => self.first_step(planned, unit, step, done, few)?,
                Some(left) => self.join_step(planned, left, unit, step, done)?,
            };
            done = done.union(unit.rels);
            // Conditions that have become checkable.
            let ready: Vec<usize> =
                level.iter().copied().filter(|c| !planned.applied[*c] && planned.infos[*c].rels.within(done)).collect();
            next = self.filtered(planned, next, &ready)?;
            next.physical.rows = step.rows;
            node = Some(next);
        }
        node.ok_or_else(|| SqlError::internal("a join without relations"))
    }

    fn first_step(
        &mut self,
        planned: &mut Planned<'_>,
        unit: &Unit,
        step: &Step,
        done: RelSet,
        few: bool,
    ) -> Result<Node> {
        let (Method::Loop(inner) | Method::Hash(inner)) = &step.method;
        let node = self.inner_node(planned, unit, inner, done, false, few)?;
        if unit.kind == JoinKind::Semi && unit.leads && done.is_empty() {
            return self.keys_once(planned, unit, node);
        }
        Ok(node)
    }

    /// The inner side of a semijoin that comes first: the columns it is joined by, each combination once.
    fn keys_once(&mut self, planned: &Planned<'_>, unit: &Unit, node: Node) -> Result<Node> {
        let mut schema: Vec<ColId> = Vec::new();
        for c in &unit.on {
            let ExprKind::Compare { args, .. } = &planned.conditions[*c].kind else { continue };
            if planned.infos[*c].rels.within(unit.rels) {
                continue;
            }
            for arg in args.iter() {
                if let ExprKind::Column(id) = arg.kind
                    && self.set_of(planned.block, arg).within(unit.rels)
                    && !schema.contains(&id)
                {
                    schema.push(id);
                }
            }
        }
        let exprs: Vec<Expr> = schema.iter().map(|id| self.arena.expr(*id)).collect();
        let exprs = self.lower_all(&exprs, &node.schema)?;
        let (rows, cost) = (node.physical.rows, node.physical.cost);
        let op = Op::Project { input: Box::new(node.physical), exprs: exprs.into(), stored: false };
        let projected = self.node(op, schema, rows, cost);
        let op = Op::Distinct { input: Box::new(projected.physical), streaming: false };
        Ok(self.node(op, projected.schema, rows * 0.9, cost + rows * cost::BUILD))
    }

    /// Marks and gives the conditions of `unit` that are checkable on it alone (with what registers bring of `done`).
    fn own_conditions(&self, planned: &Planned<'_>, unit: &Unit, done: RelSet, registers: bool) -> Vec<usize> {
        let reach = if registers { unit.rels.union(done) } else { unit.rels };
        let usable = |c: &usize| !planned.applied[*c] && planned.infos[*c].rels.within(reach);
        unit.applicable.iter().copied().filter(usable).collect()
    }

    /// The inner side of a unit. `registers`: columns of `done` may be read through registers.
    fn inner_node(
        &mut self,
        planned: &mut Planned<'_>,
        unit: &Unit,
        inner: &Inner,
        done: RelSet,
        keep: bool,
        few: bool,
    ) -> Result<Node> {
        match (&unit.source, inner) {
            (UnitSource::Rel(i), Inner::Path(path)) => {
                let own = self.own_conditions(planned, unit, RelSet::EMPTY, false);
                self.scan(planned, *i, path, own, few)
            }
            (UnitSource::Rel(i), _) => {
                let node = match planned.derived[*i].take() {
                    Some(node) => node,
                    // A lateral one.
                    None => named_or_derived(self, &planned.block.rels[*i])?,
                };
                let own = self.own_conditions(planned, unit, RelSet::EMPTY, false);
                let node = self.filtered(planned, node, &own)?;
                Ok(if keep && !planned.lateral.intersects(unit.rels) {
                    self.kept(planned.block, *i, node)
                } else {
                    node
                })
            }
            (UnitSource::Nest(units, conditions), Inner::Nest(order)) => {
                let mut level = conditions.clone();
                level.extend(&unit.on);
                let units = units.clone();
                self.build_order(planned, &units, order, &level, done, false)
            }
            _ => Err(SqlError::internal("a join step that fits no relation")),
        }
    }

    pub(super) fn kept(&mut self, block: &Block, i: usize, node: Node) -> Node {
        if matches!(node.physical.op, Op::Materialize { .. }) {
            return node;
        }
        let depends = free_registers(&node.physical, &self.subplans, &self.ctes).into_iter().collect();
        let name = Some(block.rels[i].alias.clone());
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * cost::KEEP);
        let columns = column_names(self.arena, &node.schema);
        let op = Op::Materialize { input: Box::new(node.physical), depends, name, columns };
        self.node(op, node.schema, rows, cost)
    }

    fn join_step(
        &mut self,
        planned: &mut Planned<'_>,
        left: Node,
        unit: &Unit,
        step: &Step,
        done: RelSet,
    ) -> Result<Node> {
        // A hash join looks at all pairs of a row at once.
        let ordered = unit.applicable.iter().any(|c| {
            !planned.applied[*c]
                && planned.infos[*c].rels.intersects(unit.rels)
                && self.arena.is_ordered(&planned.conditions[*c])
        });
        match &step.method {
            Method::Hash(inner) if ordered && unit.kind != JoinKind::Inner => {
                self.loop_join(planned, left, unit, inner, step, done)
            }
            Method::Loop(inner) => self.loop_join(planned, left, unit, inner, step, done),
            Method::Hash(inner) => self.hash_join(planned, left, unit, inner, step, done),
        }
    }

    pub(super) fn loop_join(
        &mut self,
        planned: &mut Planned<'_>,
        left: Node,
        unit: &Unit,
        inner: &Inner,
        step: &Step,
        done: RelSet,
    ) -> Result<Node> {
        self.push_frame(left.schema.clone());
        let built = self.inner_node(planned, unit, inner, done, true, false);
        let binds = self.pop_frame();
        let right = built?;
        let mut schema = left.schema.clone();
        schema.extend(&right.schema);
        let on = self.join_condition(planned, unit, done, &schema)?;
        let (rows, cost) = (step.rows, left.physical.cost + left.physical.rows * (right.physical.cost + cost::REOPEN));
        let op = Op::NestedLoop {
            outer: Box::new(left.physical),
            inner: Box::new(right.physical),
            kind: unit.kind,
            binds,
            on,
        };
        let delivered = if matches!(unit.kind, JoinKind::Semi | JoinKind::Anti) { left.schema } else { schema };
        Ok(self.node(op, delivered, rows, cost))
    }

    /// Conditions of the unit over the joined row.
    fn join_condition(
        &mut self,
        planned: &mut Planned<'_>,
        unit: &Unit,
        done: RelSet,
        schema: &[ColId],
    ) -> Result<Option<Expr>> {
        let ready = self.own_conditions(planned, unit, done, true);
        if ready.is_empty() {
            return Ok(None);
        }
        let mut exprs = Vec::with_capacity(ready.len());
        for c in ready {
            planned.applied[c] = true;
            exprs.push(self.lower(&planned.conditions[c], schema)?);
        }
        Ok(Some(and(exprs)))
    }

    fn hash_join(
        &mut self,
        planned: &mut Planned<'_>,
        left: Node,
        unit: &Unit,
        inner: &Inner,
        step: &Step,
        done: RelSet,
    ) -> Result<Node> {
        let right = match (&unit.source, inner) {
            (UnitSource::Nest(units, conditions), Inner::Nest(order)) => {
                let units = units.clone();
                let conditions = conditions.clone();
                let right = self.build_order(planned, &units, order, &conditions, RelSet::EMPTY, false)?;
                // Rows of the inner side alone decide these. NOT IN must not see the NULLs of rows that they refuse.
                let own = self.own_conditions(planned, unit, RelSet::EMPTY, false);
                self.filtered(planned, right, &own)?
            }
            _ => self.inner_node(planned, unit, inner, RelSet::EMPTY, false, false)?,
        };
        let mut keys = Vec::new();
        for c in &unit.applicable {
            if planned.applied[*c] {
                continue;
            }
            let Some((a, b)) = planned.infos[*c].equal else { continue };
            let (left_first, fits) = (
                a.within(done) && b.within(unit.rels),
                a.within(done) && b.within(unit.rels) || b.within(done) && a.within(unit.rels),
            );
            let ExprKind::Compare { op, by, args } = &planned.conditions[*c].kind else { continue };
            if !fits {
                continue;
            }
            let (op, by) = (*op, *by);
            let (x, y) = if left_first { (&args[0], &args[1]) } else { (&args[1], &args[0]) };
            let (x, y) = (self.lower(x, &left.schema)?, self.lower(y, &right.schema)?);
            planned.applied[*c] = true;
            keys.push(HashKey { left: x, right: y, by, null_safe: op == CompareOp::NullSafeEq });
        }
        let mut schema = left.schema.clone();
        schema.extend(&right.schema);
        let on = self.join_condition(planned, unit, done, &schema)?;
        let rows = step.rows;
        let pairs = if keys.is_empty() { left.physical.rows * right.physical.rows * cost::ROW } else { 0.0 };
        let cost = left.physical.cost
            + right.physical.cost
            + right.physical.rows * cost::BUILD
            + left.physical.rows * cost::PROBE
            + pairs;
        let op = Op::HashJoin {
            left: Box::new(left.physical),
            right: Box::new(right.physical),
            kind: unit.kind,
            keys: keys.into(),
            on,
            null_aware: unit.null_aware,
            keeps_order: planned.ordered,
        };
        let delivered = if matches!(unit.kind, JoinKind::Semi | JoinKind::Anti) { left.schema } else { schema };
        Ok(self.node(op, delivered, rows, cost))
    }
}
