//! The optimizer: from bound queries to operators.
//!
//! Each query becomes a tree of operators bottom-up: joins with access paths ([`join`], [`access`]), aggregation, HAVING,
//! window functions, projection, DISTINCT, ORDER BY, LIMIT. A [`Node`] says which column each slot of its rows holds.

mod access;
mod dml;
mod join;
mod lower;

use crate::expr::{Expr, ExprKind, SortKey};
use crate::fold;
use crate::logical::{Arena, Block, Body, ColId, Item, Query};
use crate::options::{Passes, PlanOptions};
use crate::physical::{Access, LockStrength, Op, Physical, ROW_ID, TopN, Window};
use crate::plan::{Cte, Plan, PlanKind, PointSelect, ResultColumn, Subplan};
use gannet_types::{Result, SqlType, Value};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Rows expected of a LIMIT whose value is not known.
const UNKNOWN_LIMIT: f64 = 10.0;

/// Operators and the columns of their rows.
pub(crate) struct Node {
    pub(crate) physical: Physical,
    pub(crate) columns: Vec<ColId>,
}

/// One statement's optimization.
pub(crate) struct Optimizer<'a> {
    arena: Arena,
    options: &'a PlanOptions<'a>,
    registers: HashMap<ColId, u32>,
    /// Columns read through registers by what was built since the set was last emptied.
    used: BTreeSet<ColId>,
    /// Queries of derived tables, by their relation's first column.
    derived: HashMap<ColId, Query>,
    /// Number of the SELECT at hand.
    select: u32,
}

/// What stands where a query was taken out.
fn no_query() -> Query {
    Query {
        body: Body::Values(Vec::new()),
        columns: Vec::new(),
        order: Vec::new(),
        limit: None,
        offset: None,
        select: 0,
    }
}

impl<'a> Optimizer<'a> {
    pub(crate) fn new(arena: Arena, options: &'a PlanOptions<'a>) -> Optimizer<'a> {
        Optimizer {
            arena,
            options,
            registers: HashMap::new(),
            used: BTreeSet::new(),
            derived: HashMap::new(),
            select: 1,
        }
    }

    /// The plan of a query statement.
    pub(crate) fn select(mut self, query: Query, columns: Vec<ResultColumn>) -> Result<Plan> {
        let node = self.query(query)?;
        let kind = self.point_select(node.physical);
        self.finish(kind, columns)
    }

    /// Adds what belongs to the whole statement: subqueries, common table expressions, parameters.
    pub(crate) fn finish(mut self, kind: PlanKind, columns: Vec<ResultColumn>) -> Result<Plan> {
        let mut subplans = Vec::new();
        let mut number = 0;
        while number < self.arena.subqueries.len() {
            let query = std::mem::replace(&mut self.arena.subqueries[number].query, no_query());
            let free = self.arena.subqueries[number].free.clone();
            let root = self.query(query)?.physical;
            let depends = free.iter().map(|id| self.register(*id)).collect();
            subplans.push(Subplan { root, correlated: !free.is_empty(), depends });
            number += 1;
        }
        let mut ctes = Vec::new();
        for number in 0..self.arena.ctes.len() {
            ctes.push(self.cte(number)?);
        }
        let mut tables = std::mem::take(&mut self.arena.tables);
        used_columns(&kind, &subplans, &ctes, &mut tables);
        Ok(Plan {
            kind,
            columns: columns.into(),
            tables: tables.into(),
            subplans: subplans.into(),
            ctes: ctes.into(),
            params: std::mem::take(&mut self.arena.params).into(),
            pins: std::mem::take(&mut self.arena.pins).into(),
            registers: self.registers.len() as u32,
            uses: self.arena.uses,
        })
    }

    fn cte(&mut self, number: usize) -> Result<Cte> {
        let cte = &mut self.arena.ctes[number];
        let (name, distinct) = (cte.name.clone(), cte.distinct);
        let (base, recursive, limit) = (cte.base.take(), cte.recursive.take(), cte.limit.take());
        let base = match base {
            Some(query) => self.query(query)?.physical,
            // Merged into its only user: nobody reads it.
            None => nothing(Box::new([])),
        };
        let recursive = recursive.map(|query| self.query(query)).transpose()?.map(|node| node.physical);
        let limit =
            limit.map(|(limit, offset)| (limit.map(|e| self.lower(&e, &[])), offset.map(|e| self.lower(&e, &[]))));
        Ok(Cte { name, base, recursive, distinct, limit })
    }

    /// A query expression.
    pub(crate) fn query(&mut self, query: Query) -> Result<Node> {
        let outer = std::mem::replace(&mut self.select, query.select);
        let node = self.query_in(query);
        self.select = outer;
        node
    }

    fn query_in(&mut self, query: Query) -> Result<Node> {
        let Query { body, columns, order, limit, offset, .. } = query;
        let ids: Vec<ColId> = columns.iter().map(|c| c.id).collect();
        let node = match body {
            Body::Block(block) => return self.block(*block, ids),
            Body::Set { inputs, kind, distinct } => {
                let inputs = inputs.into_iter().map(|q| self.query(q)).collect::<Result<Vec<Node>>>()?;
                let rows = inputs.iter().map(|n| n.physical.rows).sum();
                let cost = inputs.iter().map(|n| n.physical.cost).sum();
                let inputs = inputs.into_iter().map(|n| n.physical).collect();
                let op = Op::SetOperation { inputs, kind, distinct };
                Node { physical: Physical { op, types: self.types(&ids), rows, cost }, columns: ids }
            }
            Body::Values(rows) => {
                let count = rows.len() as f64;
                let rows = rows.iter().map(|row| self.lower_all(row, &[])).collect();
                let op = Op::Values { rows, reason: None };
                Node { physical: Physical { op, types: self.types(&ids), rows: count, cost: 0.1 }, columns: ids }
            }
        };
        let node = self.sort(node, &order, limit.as_ref(), offset.as_ref());
        Ok(self.limit(node, limit.as_ref(), offset.as_ref(), false))
    }

    fn types(&self, ids: &[ColId]) -> Box<[SqlType]> {
        ids.iter().map(|id| self.arena.types[*id as usize].clone()).collect()
    }

    /// One SELECT, delivering the columns `ids`.
    fn block(&mut self, mut block: Block, ids: Vec<ColId>) -> Result<Node> {
        if let Some(reason) = impossible(&block) {
            return Ok(Node {
                physical: Physical {
                    op: Op::Values { rows: Box::new([]), reason: Some(reason) },
                    ..nothing(self.types(&ids))
                },
                columns: ids,
            });
        }
        let needed = self.needed(&block);
        let plain = !block.aggregated && !block.distinct && block.windows.is_empty();
        let (limit, offset) = (block.limit.take(), block.offset.take());
        let order = std::mem::take(&mut block.order);
        let wanted = if plain && self.options.passes.has(Passes::INDEX_ORDER) {
            base_order(&order, &block.items)
        } else {
            Vec::new()
        };
        let rows = limit.as_ref().map(|e| self.limit_rows(e) + offset.as_ref().map_or(0.0, |o| self.limit_rows(o)));
        // The whole input is read when rows are counted or grouped, or sorted by something else.
        let rows = rows.filter(|_| plain && !block.calc_found_rows && (order.is_empty() || !wanted.is_empty()));
        let goal = join::Goal { order: &wanted, limit: rows };
        let joined = self.join_block(&mut block, &|id| needed.contains(&id), &goal)?;
        let in_order = !wanted.is_empty() && joined.ordered;
        let mut node = joined.node;
        if block.aggregated {
            node = self.aggregate(node, &block);
        }
        let having: Vec<&Expr> = block.having.iter().collect();
        node = self.filter(node, &having);
        for window in &block.windows {
            node = self.window(node, window);
        }
        let order = if in_order { Vec::new() } else { order };
        node = self.project(node, &block.items, &ids, &order);
        if block.distinct {
            node = distinct(node);
        }
        node = self.sort(node, &order, limit.as_ref(), offset.as_ref());
        node = self.limit(node, limit.as_ref(), offset.as_ref(), block.calc_found_rows);
        Ok(self.trim(node, &ids))
    }

    /// Columns of the block's relations that are read by anything but the relations themselves.
    fn needed(&self, block: &Block) -> HashSet<ColId> {
        let mut needed = HashSet::new();
        block.for_each_expr(&mut |e| {
            self.arena.columns_of(e, &mut |id| {
                needed.insert(id);
            })
        });
        needed
    }

    fn limit_rows(&self, e: &Expr) -> f64 {
        let value = match &e.kind {
            ExprKind::Param(n) => self.arena.seen.get(*n as usize).and_then(Option::as_ref),
            _ => fold::literal(e),
        };
        match value {
            Some(Value::Int(n)) => *n as f64,
            Some(Value::UInt(n)) => *n as f64,
            _ => UNKNOWN_LIMIT,
        }
    }

    /// A filter over a node; conditions that are true vanish.
    fn filter(&mut self, node: Node, conjuncts: &[&Expr]) -> Node {
        let conjuncts: Vec<&Expr> = conjuncts.iter().copied().filter(|e| !fold::is_true(e)).collect();
        match self.lower_and(&conjuncts, &node.columns) {
            None => node,
            Some(predicate) => {
                let rows = node.physical.rows * access::selectivity(&conjuncts, &[]);
                let (cost, types) = (node.physical.cost + node.physical.rows * 0.05, node.physical.types.clone());
                let op = Op::Filter { input: Box::new(node.physical), predicate };
                Node { physical: Physical { op, types, rows, cost }, columns: node.columns }
            }
        }
    }

    fn aggregate(&mut self, node: Node, block: &Block) -> Node {
        let mut columns: Vec<ColId> = block.groups.iter().map(|(_, id)| *id).collect();
        let groups: Box<[Expr]> = block.groups.iter().map(|(e, _)| self.lower(e, &node.columns)).collect();
        // Columns of the input that are read behind the aggregation.
        let mut carried_ids = Vec::new();
        let mut carry = |arena: &Arena, e: &Expr| {
            arena.columns_of(e, &mut |id| {
                if node.columns.contains(&id) && !columns.contains(&id) && !carried_ids.contains(&id) {
                    carried_ids.push(id);
                }
            });
        };
        block.having.iter().for_each(|e| carry(&self.arena, e));
        block.items.iter().for_each(|i| carry(&self.arena, &i.expr));
        block.order.iter().for_each(|k| carry(&self.arena, &k.expr));
        for window in &block.windows {
            window.partition.iter().for_each(|e| carry(&self.arena, e));
            window.order.iter().for_each(|k| carry(&self.arena, &k.expr));
            window.functions.iter().flat_map(|(f, _)| &f.args).for_each(|e| carry(&self.arena, e));
        }
        let carried: Vec<Expr> = carried_ids.iter().map(|id| self.arena.expr(*id)).collect();
        let carried = self.lower_all(&carried, &node.columns);
        let aggregates = block.aggregates.iter().map(|(a, _)| self.lower_aggregate(a, &node.columns)).collect();
        columns.extend(carried_ids);
        columns.extend(block.aggregates.iter().map(|(_, id)| *id));
        let rows = if block.groups.is_empty() { 1.0 } else { node.physical.rows.max(1.0).sqrt() };
        let cost = node.physical.cost + node.physical.rows * 0.1;
        let op = Op::Aggregate {
            input: Box::new(node.physical),
            groups,
            carried,
            aggregates,
            streaming: false,
            rollup: block.rollup,
        };
        Node { physical: Physical { op, types: self.types(&columns), rows, cost }, columns }
    }

    fn window(&mut self, node: Node, window: &crate::logical::WindowBlock) -> Node {
        let functions = window.functions.iter().map(|(f, _)| {
            let args = self.lower_all(&f.args, &node.columns);
            crate::physical::WindowFunction { kind: f.kind.clone(), args, ty: f.ty.clone() }
        });
        let functions = functions.collect::<Vec<_>>().into();
        let definition = Window {
            partition: self.lower_all(&window.partition, &node.columns),
            order: self.lower_keys(&window.order, &node.columns),
            frame: window.frame.clone(),
            functions,
        };
        let partition = window.partition.iter().map(|e| SortKey { expr: e.clone(), descending: false });
        let keys: Vec<SortKey> = partition.chain(window.order.iter().cloned()).collect();
        let node = self.sort(node, &keys, None, None);
        let mut columns = node.columns;
        columns.extend(window.functions.iter().map(|(_, id)| *id));
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * 0.1);
        let op = Op::Window { input: Box::new(node.physical), window: Box::new(definition) };
        Node { physical: Physical { op, types: self.types(&columns), rows, cost }, columns }
    }

    /// The select list, and behind it what ORDER BY reads beyond it.
    fn project(&mut self, node: Node, items: &[Item], ids: &[ColId], order: &[SortKey]) -> Node {
        let mut columns = ids.to_vec();
        let mut exprs: Vec<Expr> = Vec::with_capacity(items.len());
        for id in ids {
            match items.iter().find(|i| i.id == *id) {
                Some(item) => exprs.push(self.lower(&item.expr, &node.columns)),
                None => exprs.push(self.lower(&self.arena.expr(*id), &node.columns)),
            }
        }
        let mut extra = Vec::new();
        for key in order {
            self.arena.columns_of(&key.expr, &mut |id| {
                if !columns.contains(&id) && !extra.contains(&id) && node.columns.contains(&id) {
                    extra.push(id);
                }
            });
        }
        for id in extra {
            exprs.push(self.lower(&self.arena.expr(id), &node.columns));
            columns.push(id);
        }
        let same = exprs.len() == node.columns.len()
            && exprs.iter().enumerate().all(|(i, e)| matches!(e.kind, ExprKind::Column(n) if n as usize == i));
        let types: Box<[SqlType]> = exprs.iter().map(|e| e.ty.clone()).collect();
        if same {
            return Node { physical: Physical { types, ..node.physical }, columns };
        }
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * 0.02);
        let op = Op::Project { input: Box::new(node.physical), exprs: exprs.into() };
        Node { physical: Physical { op, types, rows, cost }, columns }
    }

    fn sort(&mut self, node: Node, order: &[SortKey], limit: Option<&Expr>, offset: Option<&Expr>) -> Node {
        let order: Vec<SortKey> = order.iter().filter(|k| !k.expr.is_execution_constant()).cloned().collect();
        if order.is_empty() {
            return node;
        }
        let keys = self.lower_keys(&order, &node.columns);
        let limit = limit.map(|l| TopN { limit: self.lower(l, &[]), offset: offset.map(|o| self.lower(o, &[])) });
        let (rows, types) = (node.physical.rows, node.physical.types.clone());
        let cost = node.physical.cost + rows * rows.max(2.0).log2() * 0.05;
        let op = Op::Sort { input: Box::new(node.physical), keys, limit };
        Node { physical: Physical { op, types, rows, cost }, columns: node.columns }
    }

    fn limit(&mut self, node: Node, limit: Option<&Expr>, offset: Option<&Expr>, count_all: bool) -> Node {
        if limit.is_none() && offset.is_none() && !count_all {
            return node;
        }
        let rows = limit.map_or(node.physical.rows, |l| node.physical.rows.min(self.limit_rows(l)));
        let (limit, offset) = (limit.map(|e| self.lower(e, &[])), offset.map(|e| self.lower(e, &[])));
        let (cost, types) = (node.physical.cost, node.physical.types.clone());
        let op = Op::Limit { input: Box::new(node.physical), limit, offset, count_all };
        Node { physical: Physical { op, types, rows, cost }, columns: node.columns }
    }

    /// Drops the columns that only ORDER BY needed.
    fn trim(&mut self, node: Node, ids: &[ColId]) -> Node {
        if node.columns == ids {
            return node;
        }
        let items: Vec<Expr> = ids.iter().map(|id| self.arena.expr(*id)).collect();
        let exprs = self.lower_all(&items, &node.columns);
        let types = node.physical.types.iter().take(ids.len()).cloned().collect();
        let (rows, cost) = (node.physical.rows, node.physical.cost);
        let op = Op::Project { input: Box::new(node.physical), exprs };
        Node { physical: Physical { op, types, rows, cost }, columns: ids.to_vec() }
    }

    /// The direct path for a query that is one look-up of plain columns.
    fn point_select(&self, root: Physical) -> PlanKind {
        if !self.options.passes.has(Passes::POINT_SELECT) || !self.arena.subqueries.is_empty() {
            return PlanKind::Query(Box::new(root));
        }
        let (scan, picked) = match &root.op {
            Op::TableScan(scan) => (scan, None),
            Op::Project { input, exprs } => match &input.op {
                Op::TableScan(scan) => (scan, Some(exprs)),
                _ => return PlanKind::Query(Box::new(root)),
            },
            _ => return PlanKind::Query(Box::new(root)),
        };
        let Access::Point { key } = &scan.access else { return PlanKind::Query(Box::new(root)) };
        let slots: Option<Vec<u32>> = match picked {
            None => Some((0..scan.columns.len() as u32).collect()),
            Some(exprs) => {
                exprs.iter().map(|e| if let ExprKind::Column(n) = e.kind { Some(n) } else { None }).collect()
            }
        };
        let table = &self.arena.tables[scan.table as usize].table;
        let simple = scan.filter.is_none()
            && scan.index_filter.is_none()
            && !scan.columns.contains(&ROW_ID)
            && scan.lock.strength == LockStrength::None
            && key.iter().all(|k| matches!(k.value.kind, ExprKind::Literal(_) | ExprKind::Param(_)));
        let (Some(slots), Some(index), true) = (slots, scan.index, simple) else {
            return PlanKind::Query(Box::new(root));
        };
        let columns = slots.iter().map(|s| scan.columns[*s as usize]).collect();
        let clustered = Some(index as usize) == table.clustered;
        let (key, lock) = (key.clone(), scan.lock);
        PlanKind::PointSelect(PointSelect { index, clustered, key, columns, lock, query: Box::new(root) })
    }
}

/// An empty result.
fn nothing(types: Box<[SqlType]>) -> Physical {
    Physical { op: Op::Values { rows: Box::new([]), reason: None }, types, rows: 0.0, cost: 0.0 }
}

fn distinct(node: Node) -> Node {
    let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * 0.1);
    let types = node.physical.types.clone();
    let op = Op::Distinct { input: Box::new(node.physical), streaming: false };
    Node { physical: Physical { op, types, rows, cost }, columns: node.columns }
}

/// EXPLAIN's words when a block can have no rows.
fn impossible(block: &Block) -> Option<&'static str> {
    if block.aggregated && block.groups.is_empty() {
        return None;
    }
    if block.filter.iter().any(fold::is_never) {
        return Some("Impossible WHERE");
    }
    if block.having.iter().any(fold::is_never) {
        return Some("Impossible HAVING");
    }
    None
}

/// ORDER BY over columns of relations, where select items stand for them; empty when it is over something else.
fn base_order(order: &[SortKey], items: &[Item]) -> Vec<SortKey> {
    let mut keys = Vec::with_capacity(order.len());
    for key in order {
        let ExprKind::Column(id) = key.expr.kind else { return Vec::new() };
        let expr = match items.iter().find(|i| i.id == id) {
            Some(item) if matches!(item.expr.kind, ExprKind::Column(_)) => item.expr.clone(),
            Some(_) => return Vec::new(),
            None => key.expr.clone(),
        };
        keys.push(SortKey { expr, descending: key.descending });
    }
    keys
}

/// Fills in which columns of each table the plan reads.
fn used_columns(kind: &PlanKind, subplans: &[Subplan], ctes: &[Cte], tables: &mut [crate::plan::PlanTable]) {
    let mut used: Vec<BTreeSet<u32>> = tables.iter().map(|_| BTreeSet::new()).collect();
    let mut note = |root: &Physical| note_columns(root, &mut used);
    match kind {
        PlanKind::Query(root) => note(root),
        PlanKind::PointSelect(point) => note(&point.query),
        PlanKind::Insert(insert) => {
            if let crate::plan::InsertSource::Query(query) = &insert.source {
                note(query);
            }
        }
        PlanKind::Update(update) => note(&update.input),
        PlanKind::Delete(delete) => note(&delete.input),
    }
    subplans.iter().for_each(|s| note(&s.root));
    for cte in ctes {
        note(&cte.base);
        cte.recursive.iter().for_each(&mut note);
    }
    if let PlanKind::Insert(insert) = kind {
        used[insert.table as usize].extend(insert.columns.iter());
    }
    for (table, used) in tables.iter_mut().zip(used) {
        table.columns_used = used.into_iter().collect();
    }
}

fn note_columns(root: &Physical, used: &mut [BTreeSet<u32>]) {
    if let Op::TableScan(scan) = &root.op {
        used[scan.table as usize].extend(scan.columns.iter().filter(|c| **c != ROW_ID));
    }
    root.for_each_input(|input| note_columns(input, used));
}
