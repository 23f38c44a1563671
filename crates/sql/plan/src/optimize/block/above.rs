//! Above the joins of a block: grouping, windows, order, projection, limit.

use super::*;
use crate::expr::Aggregate;

impl Builder<'_> {
    /// Grouping, windows, order, projection, limit.
    pub(super) fn finish(
        &mut self,
        planned: &Planned<'_>,
        mut node: Node,
        ordered: bool,
        columns: &[ColId],
    ) -> Result<Node> {
        let mut block = std::borrow::Cow::Borrowed(planned.block);
        let mut ordered = ordered;
        if block.aggregated {
            node = match &ends(self, planned)[..] {
                [] => self.aggregated(planned, node, ordered)?,
                [path] => {
                    let entry = self.min_max(planned, path)?;
                    self.aggregated(planned, entry, ordered)?
                }
                paths => side_by_side(self, planned, paths)?,
            };
            ordered = ordered && group_order_serves(planned);
        }
        node = self.computed_once(node, &mut block, |block| block.having.iter().collect())?;
        if !block.having.is_empty() {
            let share = block.having.iter().map(share).product();
            node = self.filter(node, block.having.clone(), share)?;
        }
        for window in &block.windows {
            node = self.window(node, window)?;
            ordered = false;
        }
        node = self.computed_once(node, &mut block, |block| block.order.iter().map(|k| &k.expr).collect())?;
        let block = &*block;
        let rows = node.physical.rows;
        let single = block.aggregated && block.groups.is_empty();
        let sorts = !block.order.is_empty() && !ordered && !single && !at_most_one(&node.physical);
        if block.distinct && !single {
            return self.distinct(planned, block, node, sorts, columns);
        }
        if sorts {
            let keys = self.lower_keys(&block.order, &node.schema)?;
            let top = if block.calc_found_rows { None } else { self.top(block.limit.as_ref(), block.offset.as_ref())? };
            node = self.sorted(node, keys, top, block.limit.as_ref());
        }
        // Of rows that LIMIT leaves out nothing is seen.
        if block.items.iter().any(|i| self.arena.is_ordered(&i.expr)) {
            node = self.limited(node, block.limit.as_ref(), block.offset.as_ref(), block.calc_found_rows)?;
            return self.projected(block, node, columns);
        }
        node = self.projected(block, node, columns)?;
        node.physical.rows = node.physical.rows.min(rows);
        self.limited(node, block.limit.as_ref(), block.offset.as_ref(), block.calc_found_rows)
    }

    /// An expression of the select list that varies and is named by HAVING or ORDER BY is computed once, before
    /// these; so are its neighbours.
    fn computed_once(
        &mut self,
        node: Node,
        block: &mut std::borrow::Cow<'_, Block>,
        read: fn(&Block) -> Vec<&Expr>,
    ) -> Result<Node> {
        let varying: Vec<Expr> =
            block.items.iter().filter(|i| self.arena.varies(&i.expr)).map(|i| i.expr.clone()).collect();
        let named = read(block).iter().any(|e| e.any(&mut |e| varying.contains(e)));
        if !named {
            return Ok(node);
        }
        // What windows compute is not there before HAVING.
        let there = |e: &Expr| {
            let windows = block.windows.iter().flat_map(|w| &w.functions);
            let missing: Vec<ColId> = windows.map(|(_, id)| *id).filter(|id| !node.schema.contains(id)).collect();
            !self.arena.reads(e, |id| missing.contains(&id))
        };
        let computed: Vec<(Expr, ColId)> = block
            .items
            .iter()
            .filter(|i| !matches!(i.expr.kind, ExprKind::Column(_)) && there(&i.expr))
            .map(|i| (i.expr.clone(), i.id))
            .collect();
        let mut schema = node.schema.clone();
        let mut exprs: Vec<Expr> = schema.iter().map(|id| self.arena.expr(*id)).collect();
        exprs.extend(computed.iter().map(|(e, _)| e.clone()));
        schema.extend(computed.iter().map(|(_, id)| *id));
        let exprs = self.lower_all(&exprs, &node.schema)?;
        let block = block.to_mut();
        let types = &self.arena.types;
        let mut replace = |e: &mut Expr| crate::bind::replace_keys(e, &computed, types);
        block.items.iter_mut().for_each(|i| replace(&mut i.expr));
        block.having.iter_mut().for_each(&mut replace);
        block.order.iter_mut().for_each(|k| replace(&mut k.expr));
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * cost::ROW * 0.2);
        let op = Op::Project { input: Box::new(node.physical), exprs: exprs.into(), stored: true };
        Ok(self.node(op, schema, rows, cost))
    }

    fn distinct(
        &mut self,
        planned: &Planned<'_>,
        block: &Block,
        mut node: Node,
        sorts: bool,
        columns: &[ColId],
    ) -> Result<Node> {
        // Order keys that are items can be sorted behind DISTINCT, on fewer rows; others must be before.
        let key_of = |e: &Expr| block.items.iter().position(|i| i.expr == *e);
        let behind: Option<Vec<SortKey>> = block
            .order
            .iter()
            .map(|k| key_of(&k.expr).map(|i| SortKey { expr: self.arena.expr(columns[i]), descending: k.descending }))
            .collect();
        if sorts && behind.is_none() {
            let keys = self.lower_keys(&block.order, &node.schema)?;
            node = self.sorted(node, keys, None, None);
        }
        node = self.projected(block, node, columns)?;
        if planned.unique && !sorts {
            return self.limited(node, block.limit.as_ref(), block.offset.as_ref(), block.calc_found_rows);
        }
        // Sorting by all columns makes equal rows neighbours: no hash table. A top-N gains more by sorting distinct
        // rows only.
        let neighbours = block.limit.is_none()
            && behind.as_ref().is_some_and(|keys| {
                let is_key = |id: &ColId| keys.iter().any(|k| k.expr.kind == ExprKind::Column(*id));
                sorts && columns.iter().all(is_key)
            });
        let behind = if neighbours {
            let keys = self.lower_keys(&behind.unwrap_or_default(), &node.schema)?;
            node = self.sorted(node, keys, None, None);
            None
        } else {
            behind
        };
        let rows = (node.physical.rows * 0.5).max(1.0).min(node.physical.rows);
        let cost = node.physical.cost + if neighbours { 0.0 } else { node.physical.rows * cost::BUILD };
        let op = Op::Distinct { input: Box::new(node.physical), streaming: neighbours };
        node = self.node(op, node.schema, rows, cost);
        if sorts && let Some(keys) = behind {
            let keys = self.lower_keys(&keys, &node.schema)?;
            let top = if block.calc_found_rows { None } else { self.top(block.limit.as_ref(), block.offset.as_ref())? };
            node = self.sorted(node, keys, top, block.limit.as_ref());
        }
        self.limited(node, block.limit.as_ref(), block.offset.as_ref(), block.calc_found_rows)
    }

    /// The select list; left out when the row is the list already.
    fn projected(&mut self, block: &Block, node: Node, columns: &[ColId]) -> Result<Node> {
        let plain = block.items.len() == node.schema.len()
            && block.items.iter().zip(&node.schema).all(|(i, id)| i.expr.kind == ExprKind::Column(*id));
        if plain {
            return Ok(Node { physical: node.physical, schema: columns.to_vec() });
        }
        let list: Vec<Expr> = block.items.iter().map(|i| i.expr.clone()).collect();
        let exprs = self.lower_all(&list, &node.schema)?;
        let types = exprs.iter().map(|e| e.ty.clone()).collect();
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * cost::ROW * 0.2);
        let op = Op::Project { input: Box::new(node.physical), exprs: exprs.into(), stored: false };
        Ok(Node { physical: Physical { op, types, rows, cost, one_by_one: false }, schema: columns.to_vec() })
    }

    fn aggregated(&mut self, planned: &Planned<'_>, node: Node, grouped: bool) -> Result<Node> {
        let block = planned.block;
        let keys: Vec<Expr> = block.groups.iter().map(|(e, _)| e.clone()).collect();
        let mut schema: Vec<ColId> = block.groups.iter().map(|(_, id)| *id).collect();
        let groups = self.lower_all(&keys, &node.schema)?;
        // Columns beside the aggregates that are no keys: their values are taken from any row of the group.
        let mut loose: Vec<ColId> = Vec::new();
        let made = |id: ColId| {
            schema.contains(&id)
                || block.aggregates.iter().any(|(_, a)| *a == id)
                || block.carried.iter().any(|(_, a)| *a == id)
        };
        let mut note = |e: &Expr| {
            self.arena.columns_of(e, &mut |id| {
                if !made(id) && node.schema.contains(&id) && !loose.contains(&id) {
                    loose.push(id);
                }
            });
        };
        block.items.iter().for_each(|i| note(&i.expr));
        block.having.iter().for_each(&mut note);
        block.order.iter().for_each(|k| note(&k.expr));
        for window in &block.windows {
            window.partition.iter().for_each(&mut note);
            window.order.iter().for_each(|k| note(&k.expr));
            window.functions.iter().flat_map(|(f, _)| &f.args).for_each(&mut note);
        }
        let mut carried = Vec::new();
        for id in loose {
            carried.push(self.lower(&self.arena.expr(id), &node.schema)?);
            schema.push(id);
        }
        for (e, id) in &block.carried {
            carried.push(self.lower(e, &node.schema)?);
            schema.push(*id);
        }
        let mut aggregates = Vec::with_capacity(block.aggregates.len());
        for (aggregate, id) in &block.aggregates {
            let mut lowered = aggregate.clone();
            for arg in lowered.args.iter_mut() {
                self.lower_in_place(arg, &node.schema)?;
            }
            for key in lowered.order.iter_mut() {
                self.lower_in_place(&mut key.expr, &node.schema)?;
            }
            aggregates.push(lowered);
            schema.push(*id);
        }
        let rows_in = node.physical.rows;
        let rows = if groups.is_empty() { 1.0 } else { self.group_count(planned, rows_in) };
        let streaming = grouped && !groups.is_empty();
        let work = if streaming || groups.is_empty() { cost::ROW * 0.5 } else { cost::BUILD };
        let cost = node.physical.cost + rows_in * work;
        let mut input = node.physical;
        if block.rollup && !groups.is_empty() {
            let keys = groups.iter().map(|e| SortKey { expr: e.clone(), descending: false }).collect();
            let sorted = self.sorted(Node { physical: input, schema: node.schema.clone() }, keys, None, None);
            input = sorted.physical;
        }
        let op = Op::Aggregate {
            input: Box::new(input),
            groups: groups.into(),
            carried: carried.into(),
            aggregates: aggregates.into(),
            streaming: streaming || block.rollup,
            rollup: block.rollup,
            groupings: block.groupings.iter().map(|(places, _)| places.clone()).collect(),
        };
        schema.extend(block.groupings.iter().map(|(_, id)| *id));
        Ok(self.node(op, schema, rows, cost))
    }

    fn group_count(&self, planned: &Planned<'_>, rows: f64) -> f64 {
        let mut count = 1.0;
        for (key, _) in &planned.block.groups {
            let mut distinct = rows.sqrt().max(1.0);
            if let ExprKind::Column(id) = key.kind
                && let Some(rel) = planned.block.rel_of(id)
                && let Some(base) = &planned.bases[rel]
            {
                let column = id - planned.block.rels[rel].first;
                let known = base.table.indexes.iter().filter(|i| i.is_ordered() && i.parts[0].column == column);
                let by_index = known.filter_map(|i| base.figures.distinct(i.tree, 1, base.rows)).reduce(f64::max);
                let histogram =
                    base.table.columns.get(column as usize).and_then(|c| base.table.statistics.histogram(c));
                if let Some(d) = by_index.or(histogram.map(|h| h.distinct())) {
                    distinct = d;
                }
            }
            count *= distinct;
        }
        count.clamp(1.0, rows.max(1.0))
    }

    /// The first entry of a path of the only table.
    fn min_max(&mut self, planned: &Planned<'_>, path: &Path) -> Result<Node> {
        let mut again = self.prepare(planned.block)?;
        again.ordered = true;
        let own = again.level.clone();
        let scan = self.scan(&mut again, 0, path, own, true)?;
        let one = crate::make::constant(Value::Int(1));
        let cost = scan.physical.cost;
        let op = Op::Limit { input: Box::new(scan.physical), limit: Some(one), offset: None, count_all: false };
        Ok(self.node(op, scan.schema, 1.0, cost))
    }

    /// The rows an UPDATE or DELETE changes: joins, order and limit, without a select list.
    pub(in crate::optimize) fn changed_rows(&mut self, block: &Block) -> Result<Node> {
        let block = &*super::computed::with_columns(self, block);
        let mut planned = self.prepare(block)?;
        let schema: Vec<ColId> = block
            .rels
            .iter()
            .flat_map(|r| r.first..r.first + r.width)
            .filter(|id| self.used[*id as usize] > 0)
            .collect();
        if planned.level.iter().any(|c| fold::is_never(&planned.conditions[*c])) {
            let op = Op::Values { rows: Box::new([]), reason: Some("Impossible WHERE") };
            return Ok(self.node(op, schema, 0.0, 0.0));
        }
        super::texts::note(self, block);
        let asked = planned.asked_once(self.arena);
        let (node, ordered) = self.joined(&mut planned)?;
        let mut node = self.filtered(&mut planned, node, &asked)?;
        if !block.order.is_empty() && !ordered {
            let keys = self.lower_keys(&block.order, &node.schema)?;
            let top = self.top(block.limit.as_ref(), None)?;
            node = self.sorted(node, keys, top, block.limit.as_ref());
        }
        self.limited(node, block.limit.as_ref(), None, false)
    }
}

/// The paths whose first entries are what a block's aggregates ask for, all of them MIN or MAX of columns that indexes
/// order; none where another aggregate has to read the rows.
fn ends(builder: &Builder<'_>, planned: &Planned<'_>) -> Vec<Path> {
    let block = planned.block;
    let only = |e: &Expr| !builder.arena.reads(e, |c| block.rels[0].has(c));
    let single = block.rels.len() == 1 && block.groups.is_empty() && block.carried.is_empty();
    if !single || !builder.options.passes.has(Passes::MIN_MAX) || !block.items.iter().all(|i| only(&i.expr)) {
        return Vec::new();
    }
    // Several of them stand side by side, without a row of the table.
    let beside = block.having.iter().chain(block.order.iter().map(|k| &k.expr)).all(only);
    if block.aggregates.len() > 1 && !(beside && block.windows.is_empty() && block.groupings.is_empty()) {
        return Vec::new();
    }
    let paths = block.aggregates.iter().map(|(aggregate, _)| end(builder, planned, aggregate));
    paths.collect::<Option<Vec<Path>>>().unwrap_or_default()
}

/// MIN or MAX of a column that an index orders: its first or last entry.
fn end(builder: &Builder<'_>, planned: &Planned<'_>, aggregate: &Aggregate) -> Option<Path> {
    let maximum = match aggregate.def.kernel {
        AggregateKernel::Min => false,
        AggregateKernel::Max => true,
        _ => return None,
    };
    let rel = &planned.block.rels[0];
    let ([Expr { kind: ExprKind::Column(id), .. }], Some(base)) = (&aggregate.args[..], &planned.bases[0]) else {
        return None;
    };
    let column = id.checked_sub(rel.first).filter(|_| rel.has(*id))?;
    let fixed = builder.fixed_columns(planned, 0);
    let nullable = base.table.columns[column as usize].nullable;
    // All conditions have to be served by the access: otherwise the first entry may fail them, and many after it.
    let mut best: Option<Path> = None;
    for mut path in base.paths(RelSet::EMPTY, builder.options.passes, &|_, _| None) {
        if path.index.is_none() || base.virtual_source || !planned.level.iter().all(|c| path.ensured.contains(c)) {
            continue;
        }
        let Some(reverse) = base.order_of(&path, &[(column, maximum)], &fixed) else { continue };
        // NULLs come first and do not count: an interval leaves them out.
        if !maximum && nullable && !without_nulls(&mut path, &base.table, column) {
            continue;
        }
        path.reverse = reverse;
        path.cost = cost::DESCEND + cost::ROW;
        path.examined = 1.0;
        path.rows = 1.0;
        if best.as_ref().is_none_or(|b| !b.covering & path.covering) {
            best = Some(path);
        }
    }
    best
}

/// A row of several aggregates, each by a path of its own.
fn side_by_side(builder: &mut Builder<'_>, planned: &Planned<'_>, paths: &[Path]) -> Result<Node> {
    let mut all: Option<Node> = None;
    for ((aggregate, id), path) in planned.block.aggregates.iter().zip(paths) {
        let entry = builder.min_max(planned, path)?;
        let mut aggregate = aggregate.clone();
        for arg in aggregate.args.iter_mut() {
            builder.lower_in_place(arg, &entry.schema)?;
        }
        let cost = entry.physical.cost;
        let op = Op::Aggregate {
            input: Box::new(entry.physical),
            groups: Box::new([]),
            carried: Box::new([]),
            aggregates: Box::new([aggregate]),
            streaming: false,
            rollup: false,
            groupings: Box::new([]),
        };
        let next = builder.node(op, vec![*id], 1.0, cost);
        all = Some(match all {
            None => next,
            Some(left) => {
                let cost = left.physical.cost + next.physical.cost;
                let schema = [left.schema, next.schema].concat();
                let op = Op::NestedLoop {
                    outer: Box::new(left.physical),
                    inner: Box::new(next.physical),
                    kind: JoinKind::Inner,
                    binds: Box::new([]),
                    on: None,
                };
                builder.node(op, schema, 1.0, cost)
            }
        });
    }
    all.ok_or_else(|| gannet_types::SqlError::internal("aggregates without a path"))
}
