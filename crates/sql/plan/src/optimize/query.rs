//! Query expressions: set operations, VALUES, common table expressions, LIMIT.

use super::build::{Builder, Node};
use super::cost;
use crate::expr::Expr;
use crate::logical::{Body, ColId, Query};
use crate::physical::{Op, Physical, SetOperation, TopN};
use crate::plan::Cte;
use gannet_types::{Result, SqlError};

/// Rounds that recursion is taken to have.
const ROUNDS: f64 = 10.0;

impl Builder<'_> {
    /// Marks every column that something reads, in all parts of the statement.
    pub(crate) fn mark_used(&mut self, query: Option<&Query>) {
        let arena = self.arena;
        let mut used = std::mem::take(&mut self.used);
        let mut mark = |e: &Expr| arena.columns_of(e, &mut |id| used[id as usize] += 1);
        if let Some(query) = query {
            query.for_each_expr(&mut |e| mark(e));
        }
        for sub in &arena.subqueries {
            sub.query.for_each_expr(&mut |e| mark(e));
        }
        for cte in &arena.ctes {
            cte.base.iter().chain(&cte.recursive).for_each(|q| q.for_each_expr(&mut |e| mark(e)));
        }
        self.used = used;
    }

    pub(super) fn mark(&mut self, e: &Expr) {
        let arena = self.arena;
        arena.columns_of(e, &mut |id| self.used[id as usize] += 1);
    }

    pub(super) fn mark_column(&mut self, id: ColId) {
        self.used[id as usize] += 1;
    }

    /// Operators of a query; they deliver its columns in order.
    pub(crate) fn query_plan(&mut self, query: &Query) -> Result<Physical> {
        Ok(self.query(query)?.physical)
    }

    pub(super) fn query(&mut self, query: &Query) -> Result<Node> {
        self.options.check_depth(self.depth)?;
        self.options.check_stopped()?;
        self.depth += 1;
        let node = self.query_inner(query);
        self.depth -= 1;
        node
    }

    fn query_inner(&mut self, query: &Query) -> Result<Node> {
        let columns: Vec<ColId> = query.columns.iter().map(|c| c.id).collect();
        let count_all = matches!(query.body, Body::Set { count_all: true, .. });
        let mut node = match &query.body {
            Body::Block(block) => return self.block(block, &columns),
            Body::Set { inputs, kind, distinct, .. } => self.set_operation(inputs, *kind, *distinct, &columns)?,
            Body::Values(rows) => {
                let count = rows.len() as f64;
                let lower = |row: &Vec<Expr>| Ok(self.lower_all(row, &[])?.into());
                let rows = rows.iter().map(lower).collect::<Result<_>>()?;
                self.node(Op::Values { rows, reason: None }, columns, count, count * cost::ROW)
            }
            Body::Json(document, table) => {
                // MySQL's guess of a document's rows.
                const ROWS: f64 = 2.0;
                let document = self.lower(document, &[])?;
                let op = Op::JsonTable { document: Box::new(document), table: table.clone() };
                self.node(op, columns, ROWS, ROWS * cost::ROW)
            }
        };
        if !query.order.is_empty() {
            let keys = self.lower_keys(&query.order, &node.schema)?;
            let limit = if count_all { None } else { self.top(query.limit.as_ref(), query.offset.as_ref())? };
            node = self.sorted(node, keys, limit, query.limit.as_ref());
        }
        self.limited(node, query.limit.as_ref(), query.offset.as_ref(), count_all)
    }

    pub(super) fn top(&mut self, limit: Option<&Expr>, offset: Option<&Expr>) -> Result<Option<TopN>> {
        let Some(limit) = limit else { return Ok(None) };
        let limit = self.lower(limit, &[])?;
        let offset = offset.map(|o| self.lower(o, &[])).transpose()?;
        Ok(Some(TopN { limit, offset }))
    }

    pub(super) fn sorted(
        &mut self,
        node: Node,
        keys: Box<[crate::expr::SortKey]>,
        limit: Option<TopN>,
        count: Option<&Expr>,
    ) -> Node {
        let (rows, before) = (node.physical.rows, node.physical.cost);
        let kept = count.and_then(|c| self.seen_count(c)).filter(|_| limit.is_some());
        let total = before + cost::sort(rows, kept);
        let op = Op::Sort { input: Box::new(node.physical), keys, limit };
        self.node(op, node.schema, kept.map_or(rows, |k| k.min(rows)), total)
    }

    pub(super) fn limited(
        &mut self,
        node: Node,
        limit: Option<&Expr>,
        offset: Option<&Expr>,
        count_all: bool,
    ) -> Result<Node> {
        if limit.is_none() && offset.is_none() {
            return Ok(node);
        }
        let count = limit.and_then(|c| self.seen_count(c));
        // One row at most needs no limit. The literal is not lifted then, hence pinned: another value means another
        // plan.
        let literal = limit.is_some_and(|l| match l.kind {
            crate::expr::ExprKind::Param(n) => {
                matches!(self.arena.params[n as usize], crate::plan::Param::Literal { .. })
            }
            _ => true,
        });
        if offset.is_none()
            && literal
            && !count_all
            && count.is_some_and(|c| c >= 1.0)
            && super::block::at_most_one(&node.physical)
        {
            return Ok(node);
        }
        let limit = limit.map(|l| self.lower(l, &[])).transpose()?;
        let offset = offset.map(|o| self.lower(o, &[])).transpose()?;
        let rows = count.map_or(node.physical.rows, |c| c.min(node.physical.rows));
        let cost = node.physical.cost;
        let op = Op::Limit { input: Box::new(node.physical), limit, offset, count_all };
        Ok(self.node(op, node.schema, rows, cost))
    }

    fn set_operation(
        &mut self,
        inputs: &[Query],
        kind: SetOperation,
        distinct: bool,
        columns: &[ColId],
    ) -> Result<Node> {
        let mut parts = Vec::with_capacity(inputs.len());
        let (mut rows, mut cost) = (0.0, 0.0);
        for input in inputs {
            let node = self.query(input)?;
            rows += node.physical.rows;
            cost += node.physical.cost;
            parts.push(node.physical);
        }
        if let [_] = &parts[..]
            && !distinct
            && let Some(only) = parts.pop()
        {
            return Ok(Node { physical: only, schema: columns.to_vec() });
        }
        if kind != SetOperation::Union {
            rows = parts.first().map_or(0.0, |p| p.rows);
        }
        if distinct {
            cost += rows * cost::BUILD;
        }
        let op = Op::SetOperation { inputs: parts.into(), kind, distinct };
        Ok(self.node(op, columns.to_vec(), rows, cost))
    }

    /// The plan's number of a common table expression; planned at its first mention, and anew where what it reads from
    /// outside arrives in other registers.
    pub(super) fn cte(&mut self, number: u32) -> Result<(u32, f64)> {
        let free = &self.arena.ctes[number as usize].free;
        let registers = free.iter().map(|id| self.register(*id)).collect::<Result<Vec<u32>>>()?;
        if let Some(place) = self.cte_map.get(&(number, registers.clone())) {
            let rounds = |c: &Cte| if c.recursive.is_some() { ROUNDS } else { 1.0 };
            let rows = self.ctes.get(*place as usize).map_or(10.0, |c| c.base.rows * rounds(c));
            return Ok((*place, rows));
        }
        let arena = self.arena;
        let source = &arena.ctes[number as usize];
        let Some(base) = &source.base else {
            return Err(SqlError::internal("a common table expression without a query"));
        };
        let node = self.query(base)?;
        let depends = super::build::free_registers(&node.physical, &self.subplans, &self.ctes);
        let place = self.ctes.len() as u32;
        self.cte_map.insert((number, registers), place);
        let rows = node.physical.rows;
        self.ctes.push(Cte {
            name: source.name.clone(),
            base: node.physical,
            recursive: None,
            distinct: source.distinct,
            limit: None,
            depends: depends.into_iter().collect(),
        });
        if let Some(recursive) = &source.recursive {
            let node = self.query(recursive)?;
            let limit = match &source.limit {
                None => None,
                Some((limit, offset)) => {
                    let limit = limit.as_ref().map(|l| self.lower(l, &[])).transpose()?;
                    let offset = offset.as_ref().map(|o| self.lower(o, &[])).transpose()?;
                    Some((limit, offset))
                }
            };
            let more = super::build::free_registers(&node.physical, &self.subplans, &self.ctes);
            let cte = &mut self.ctes[place as usize];
            cte.depends = more
                .into_iter()
                .chain(cte.depends.iter().copied())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect();
            (cte.recursive, cte.limit) = (Some(node.physical), limit);
        }
        let factor = if source.recursive.is_some() { ROUNDS } else { 1.0 };
        Ok((place, rows * factor))
    }
}
