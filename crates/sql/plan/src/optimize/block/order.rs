//! The order of a block's joins, and whether it serves ORDER BY or GROUP BY.

use super::*;
use crate::logical::Arena;

/// What the rows of a join are wanted in.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Relation and its columns with directions.
    rel: usize,
    pub(super) columns: Vec<(u32, bool)>,
}

impl Builder<'_> {
    /// The join of all relations; whether it delivers rows in the order wanted by ORDER BY (or grouped as GROUP BY
    /// needs).
    pub(super) fn joined(&mut self, planned: &mut Planned<'_>) -> Result<(Node, bool)> {
        if planned.units.is_empty() {
            // No FROM: one row without columns.
            let op = Op::Values { rows: Box::new([Box::new([])]), reason: None };
            let mut node = self.node(op, Vec::new(), 1.0, 0.0);
            let all: Vec<usize> = planned.level.iter().copied().filter(|c| !planned.applied[*c]).collect();
            node = self.filtered(planned, node, &all)?;
            return Ok((node, false));
        }
        let limit = self.streaming_limit(planned);
        let wanted = self.wanted(planned);
        let mut order = self.search(planned, None, None);
        if let (None, Some(limit)) = (&wanted, limit) {
            order = self.streaming(planned, order, None, limit);
        }
        let mut chosen_cost = order.cost + self.sort_or_hash(planned, order.rows, limit);
        let mut chosen = (order, false);
        let mut group_order = Vec::new();
        if let Some(wanted) = &wanted {
            let sorted_cost = if follows_order(self.arena, &planned.conditions) { f64::INFINITY } else { chosen_cost };
            let fixed = self.fixed_columns(planned, wanted.rel);
            let base = planned.bases[wanted.rel].as_ref();
            let paths: Vec<Path> = match base {
                Some(base) => {
                    let rel = &planned.block.rels[wanted.rel];
                    let estimate = |index: usize, ranges: &Ranges| self.estimate(rel, &base.table, index, ranges);
                    let all = base.paths_after(RelSet::EMPTY, self.options.passes, &estimate);
                    let hints = &rel.hints;
                    let usable = if planned.block.aggregated { hints.group } else { hints.order };
                    all.iter()
                        .filter_map(|p| {
                            if p.index.is_some_and(|i| usable >> i & 1 == 0) {
                                return None;
                            }
                            let reverse = self.order_of(planned, base, p, wanted, &fixed)?;
                            Some(Path { reverse, ..p.clone() })
                        })
                        .collect()
                }
                None => Vec::new(),
            };
            if !paths.is_empty() {
                let first = (wanted.rel, paths);
                let mut ordered = self.search(planned, Some(first.clone()), None);
                let mut cost = ordered.cost;
                if let Some(limit) = limit {
                    // The joins stop early too.
                    ordered = self.streaming(planned, ordered, Some(first), limit);
                    cost = ordered.until(limit);
                }
                let streams = order_is_kept(planned, &ordered, wanted.rel);
                let preferred = limit.is_none() || self.options.passes.has(Passes::PREFER_ORDER);
                if streams && preferred && cost <= sorted_cost {
                    chosen_cost = cost;
                    if let Some(Step { method: Method::Loop(Inner::Path(path)), .. }) = ordered.steps.first()
                        && let Some(base) = base
                    {
                        let first = planned.block.rels[wanted.rel].first;
                        let columns = self.group_columns(base, path, wanted, &fixed);
                        group_order = columns.into_iter().map(|(c, descending)| (first + c, descending)).collect();
                    }
                    chosen = (ordered, true);
                }
            }
        }
        if let Some(loose) = self.loose(planned)
            && loose.order.cost < chosen_cost
        {
            planned.unique = loose.unique;
            group_order = loose.group_order;
            chosen = (loose.order, loose.ordered);
        }
        let (order, is_ordered) = chosen;
        planned.group_order = group_order;
        planned.ordered = is_ordered;
        let few = limit.is_some() && (is_ordered || wanted.is_none());
        let units = planned.units.clone();
        let level = planned.level.clone();
        let mut node = self.build_order(planned, &units, &order, &level, RelSet::EMPTY, few)?;
        let left: Vec<usize> = planned.level.iter().copied().filter(|c| !planned.applied[*c]).collect();
        node = self.filtered(planned, node, &left)?;
        Ok((node, is_ordered))
    }

    /// The order that has the first `limit` rows sooner: the one given, or one without hash tables, which take time to
    /// build.
    fn streaming(
        &self,
        planned: &Planned<'_>,
        order: JoinOrder,
        first: Option<(usize, Vec<Path>)>,
        limit: f64,
    ) -> JoinOrder {
        if order.startup == 0.0 || limit >= order.rows {
            return order;
        }
        let other = self.search(planned, first, Some(self.options.passes.without(Passes::HASH_JOIN)));
        if other.until(limit) < order.until(limit) { other } else { order }
    }

    pub(super) fn search(
        &self,
        planned: &Planned<'_>,
        first: Option<(usize, Vec<Path>)>,
        passes: Option<Passes>,
    ) -> JoinOrder {
        let others: Vec<(f64, f64)> = planned
            .derived
            .iter()
            .map(|n| n.as_ref().map_or((10.0, 10.0), |n| (n.physical.rows, n.physical.cost)))
            .collect();
        let estimate = |rel: usize, index: usize, ranges: &Ranges| {
            let base = planned.bases[rel].as_ref()?;
            self.estimate(&planned.block.rels[rel], &base.table, index, ranges)
        };
        let recursive = |rel: &Rel| match rel.kind {
            RelKind::Cte(n) => self.arena.ctes[n as usize].recursive.is_some(),
            _ => false,
        };
        let rels = planned.block.rels.iter().enumerate();
        let guessed = rels.filter(|(_, r)| recursive(r)).fold(RelSet::EMPTY, |s, (i, _)| s.union(RelSet::one(i)));
        let nests = Default::default();
        let search = Search {
            bases: &planned.bases,
            others: &others,
            conditions: &planned.infos,
            passes: passes.unwrap_or(self.options.passes),
            straight: planned.block.straight,
            strategies: self.strategies(),
            lateral: planned.lateral,
            guessed,
            estimate: &estimate,
            first,
            nests: &nests,
        };
        search.order(&planned.units, RelSet::EMPTY)
    }

    /// Rows in ranges whose bounds are all known from the statement at hand: looked up once for each.
    pub(super) fn estimate(
        &self,
        rel: &Rel,
        table: &gannet_schema::Table,
        index: usize,
        ranges: &Ranges,
    ) -> Option<f64> {
        let estimator = self.options.estimator?;
        let RelKind::Base(slot) = rel.kind else { return None };
        let known = |(s, i, r, _): &&Looked| *s == slot && *i == index && r == ranges;
        if let Some((_, _, _, rows)) = self.dives.borrow().iter().find(known) {
            return *rows;
        }
        let mut complete = true;
        ranges.for_each_value(&mut |e| complete &= self.seen(e).is_some());
        if !complete {
            return None;
        }
        let value = |e: &Expr| self.seen(e);
        let stopped = self.options.stopped;
        let rows = dive::rows_in(estimator, table, index, ranges, self.options.time_zone, &value, stopped);
        self.dives.borrow_mut().push((slot, index, ranges.clone(), rows));
        rows
    }

    /// LIMIT + OFFSET when the rows of the join flow to it without a stop.
    fn streaming_limit(&self, planned: &Planned<'_>) -> Option<f64> {
        let block = planned.block;
        if block.aggregated || !block.windows.is_empty() || block.calc_found_rows || block.distinct {
            return None;
        }
        let limit = self.seen_count(block.limit.as_ref()?)?;
        let offset = block.offset.as_ref().map_or(Some(0.0), |o| self.seen_count(o))?;
        Some((limit + offset).max(1.0))
    }

    /// The order in which rows would be useful: that of GROUP BY, else of ORDER BY, when it is columns of one base
    /// relation.
    pub(super) fn wanted(&self, planned: &Planned<'_>) -> Option<Wanted> {
        if !self.options.passes.has(Passes::INDEX_ORDER) {
            return None;
        }
        let block = planned.block;
        let keys: Vec<(&Expr, bool)> = if block.aggregated {
            if block.groups.is_empty() || block.rollup || !self.options.passes.has(Passes::STREAM_GROUP) {
                return None;
            }
            block.groups.iter().map(|(e, _)| (e, false)).collect()
        } else {
            if !block.windows.is_empty() {
                return None;
            }
            block.order.iter().map(|k| (&k.expr, k.descending)).collect()
        };
        let mut wanted: Option<Wanted> = None;
        for (e, descending) in keys {
            let ExprKind::Column(id) = e.kind else { return None };
            let rel = block.rel_of(id)?;
            planned.bases[rel].as_ref()?;
            let wanted = wanted.get_or_insert(Wanted { rel, columns: Vec::new() });
            if wanted.rel != rel {
                return None;
            }
            wanted.columns.push((id - block.rels[rel].first, descending));
        }
        let wanted = wanted?;
        // Only a relation that may come first keeps its order.
        let unit = planned.units.iter().find(|u| u.rels == RelSet::one(wanted.rel))?;
        (unit.kind == JoinKind::Inner && unit.deps.is_empty()).then_some(wanted)
    }

    /// Columns of a relation that WHERE binds to one value.
    pub(super) fn fixed_columns(&self, planned: &Planned<'_>, rel: usize) -> Vec<u32> {
        let Some(base) = &planned.bases[rel] else { return Vec::new() };
        let bound = |s: &&sarg::Sarg| s.needs.is_empty() && base.binds(s) && planned.level.contains(&s.condition);
        let constant = base.sargs.iter().filter(bound);
        constant.map(|s| s.column).collect()
    }

    pub(super) fn order_of(
        &self,
        planned: &Planned<'_>,
        base: &BaseRel,
        path: &Path,
        wanted: &Wanted,
        fixed: &[u32],
    ) -> Option<bool> {
        if !planned.block.aggregated {
            return base.order_of(path, &wanted.columns, fixed);
        }
        // Groups may come in any order of their columns: the index decides.
        let columns = self.group_columns(base, path, wanted, fixed);
        let all = wanted.columns.iter().all(|(c, _)| columns.iter().any(|(p, _)| p == c) || fixed.contains(c));
        if !all {
            return None;
        }
        base.order_of(path, &columns, fixed)
    }

    /// The wanted columns in the order in which the path's index has them.
    fn group_columns(&self, base: &BaseRel, path: &Path, wanted: &Wanted, fixed: &[u32]) -> Vec<(u32, bool)> {
        let mut columns: Vec<(u32, bool)> = Vec::new();
        let Some(index) = path.index else { return columns };
        let bound: Vec<u32> = base.table.indexes[index].parts.iter().take(path.bound).map(|p| p.column).collect();
        for part in &base.table.indexes[index].parts {
            if wanted.columns.iter().any(|(c, _)| *c == part.column) {
                columns.push((part.column, part.descending));
            } else if !bound.contains(&part.column) && !fixed.contains(&part.column) {
                break;
            }
        }
        columns
    }

    /// What grouping, DISTINCT or sorting costs beside the joins.
    pub(super) fn sort_or_hash(&self, planned: &Planned<'_>, rows: f64, limit: Option<f64>) -> f64 {
        let block = planned.block;
        if block.aggregated {
            return if block.groups.is_empty() { rows * cost::ROW } else { rows * cost::BUILD };
        }
        let distinct = if block.distinct { rows * cost::BUILD } else { 0.0 };
        distinct + if block.order.is_empty() { 0.0 } else { cost::sort(rows, limit) }
    }
}

/// Every step after the first keeps the order of what is joined on its left.
fn order_is_kept(planned: &Planned<'_>, order: &JoinOrder, wanted: usize) -> bool {
    let first = order.steps.first().map(|s| &planned.units[s.unit]);
    first.is_some_and(|u| u.kind == JoinKind::Inner && matches!(u.source, UnitSource::Rel(i) if i == wanted))
}

/// Conditions see what is assigned for the rows before: rows are taken in the order of ORDER BY where an index has it,
/// not sorted when the conditions have been asked.
fn follows_order(arena: &Arena, conditions: &[Expr]) -> bool {
    conditions.iter().any(|c| arena.is_ordered(c))
}
