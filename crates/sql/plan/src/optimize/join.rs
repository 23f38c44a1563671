//! Join order and join methods.
//!
//! FROM is cut into units that are joined one after another, left-deep. Units of inner joins may change places; a unit
//! of an outer, semi- or anti-join comes after the relations its condition reads. The order is found greedily from every
//! possible first unit; the cheapest result is built.

use super::{Node, Optimizer, access};
use crate::expr::{CompareOp, Expr, ExprKind, SortKey};
use crate::logical::{Block, ColId, From, FromJoin, Rel, RelKind};
use crate::options::Passes;
use crate::physical::{HashKey, JoinKind, Op, Physical, ScanExplain, TableScan};
use gannet_types::{Result, SqlError};

/// A step of the join sequence.
struct Unit {
    /// Its relations: one, or those of a nested join.
    from: From,
    rels: Vec<usize>,
    join: FromJoin,
    /// Condition of a join that is not inner. (Inner conditions go to the block's conjuncts.)
    on: Vec<Expr>,
    /// Relations that have to be there before.
    needs: Vec<usize>,
}

/// What the rows of a block's FROM are wanted for.
pub(super) struct Goal<'g> {
    pub(super) order: &'g [SortKey],
    pub(super) limit: Option<f64>,
}

/// Rows of FROM with WHERE applied; says whether they come in the wanted order.
pub(super) struct Joined {
    pub(super) node: Node,
    pub(super) ordered: bool,
}

struct State<'b> {
    rels: &'b [Rel],
    conjuncts: &'b [Expr],
    /// Relations each conjunct reads.
    reads: Vec<Vec<usize>>,
    needed: &'b dyn Fn(ColId) -> bool,
}

impl Optimizer<'_> {
    /// Joins the relations of a block. `needed` says which columns are read later.
    pub(super) fn join_block(
        &mut self,
        block: &mut Block,
        needed: &dyn Fn(ColId) -> bool,
        goal: &Goal<'_>,
    ) -> Result<Joined> {
        let mut conjuncts = std::mem::take(&mut block.filter);
        let Some(from) = block.from.take() else {
            return Ok(Joined { node: self.one_row(&conjuncts), ordered: true });
        };
        let mut units = Vec::new();
        let mut straight = block.straight || !self.options.passes.has(Passes::JOIN_ORDER);
        flatten(from, &mut units, &mut conjuncts, &mut straight);
        for unit in &mut units {
            let mut needs: Vec<usize> = unit.on.iter().flat_map(|e| self.rels_read(&block.rels, e)).collect();
            needs.retain(|r| !unit.rels.contains(r));
            unit.needs = needs;
        }
        let reads = conjuncts.iter().map(|e| self.rels_read(&block.rels, e)).collect();
        let mut rels = std::mem::take(&mut block.rels);
        for rel in &mut rels {
            if let RelKind::Derived(query) = &mut rel.kind {
                let query = std::mem::replace(&mut **query, super::no_query());
                self.derived.insert(rel.first, query);
            }
        }
        let state = State { rels: &rels, conjuncts: &conjuncts, reads, needed };
        let order = self.order_units(&state, &units, straight, goal);
        let mut units: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
        let mut joined: Option<Joined> = None;
        let mut applied = vec![false; conjuncts.len()];
        let mut there: Vec<usize> = Vec::new();
        for number in order {
            let Some(unit) = units[number].take() else { continue };
            let next = match joined.take() {
                None => self.first_unit(&state, unit, &mut applied, &mut there, goal)?,
                Some(before) => self.next_unit(&state, before, unit, &mut applied, &mut there)?,
            };
            joined = Some(next);
        }
        let Some(mut joined) = joined else { return Ok(Joined { node: self.one_row(&conjuncts), ordered: true }) };
        let rest: Vec<&Expr> = conjuncts.iter().zip(&applied).filter(|(_, done)| !**done).map(|(e, _)| e).collect();
        joined.node = self.filter(joined.node, &rest);
        Ok(joined)
    }

    /// The single row of a SELECT without FROM.
    fn one_row(&mut self, conjuncts: &[Expr]) -> Node {
        let op = Op::Values { rows: Box::new([Box::new([])]), reason: None };
        let node = Node { physical: Physical { op, types: Box::new([]), rows: 1.0, cost: 0.0 }, columns: Vec::new() };
        let all: Vec<&Expr> = conjuncts.iter().collect();
        self.filter(node, &all)
    }

    fn rels_read(&self, rels: &[Rel], e: &Expr) -> Vec<usize> {
        let mut read = Vec::new();
        self.arena.columns_of(e, &mut |id| {
            if let Some(rel) = rels.iter().position(|r| r.has(id))
                && !read.contains(&rel)
            {
                read.push(rel);
            }
        });
        read
    }

    /// The order of units by estimated cost.
    fn order_units(&self, state: &State<'_>, units: &[Unit], straight: bool, goal: &Goal<'_>) -> Vec<usize> {
        let written: Vec<usize> = (0..units.len()).collect();
        if straight || units.len() < 2 {
            return written;
        }
        let mut best: Option<(f64, Vec<usize>)> = None;
        for first in 0..units.len() {
            if units[first].join != FromJoin::Inner || !units[first].needs.is_empty() {
                continue;
            }
            let found = self.greedy(state, units, first, goal);
            if let Some(found) = found
                && best.as_ref().is_none_or(|b| found.0 < b.0)
            {
                best = Some(found);
            }
        }
        best.map_or(written, |(_, order)| order)
    }

    /// Goes on from a first unit with the unit that adds least.
    fn greedy(&self, state: &State<'_>, units: &[Unit], first: usize, goal: &Goal<'_>) -> Option<(f64, Vec<usize>)> {
        let mut order = vec![first];
        let mut there = units[first].rels.clone();
        let (mut rows, mut cost) = self.estimate(state, &units[first], &[], goal);
        while order.len() < units.len() {
            let mut next: Option<(f64, f64, usize)> = None;
            for (number, unit) in units.iter().enumerate() {
                if order.contains(&number) || !unit.needs.iter().all(|r| there.contains(r)) {
                    continue;
                }
                let none = Goal { order: &[], limit: None };
                let (each, run) = self.estimate(state, unit, &there, &none);
                let each = match unit.join {
                    FromJoin::Left => each.max(1.0),
                    FromJoin::Semi | FromJoin::Anti { .. } => each.min(0.7),
                    _ => each,
                };
                let scan = self.scan_cost(state, unit);
                let step = (rows * run).min(scan + rows * 0.15);
                let weight = step + rows * each * 0.1;
                if next.is_none_or(|(w, _, _)| weight < w) {
                    next = Some((weight, rows * each, number));
                }
            }
            let (weight, after, number) = next?;
            cost += weight;
            rows = after;
            there.extend(&units[number].rels);
            order.push(number);
        }
        Some((cost, order))
    }

    /// Rows and cost of one run of a unit beside the relations that are there.
    fn estimate(&self, state: &State<'_>, unit: &Unit, there: &[usize], goal: &Goal<'_>) -> (f64, f64) {
        match &unit.from {
            From::Rel(rel) if matches!(state.rels[*rel].kind, RelKind::Base(_)) => {
                let applicable = self.applicable(state, unit, there, &[]);
                let columns = self.ordinals(state, &state.rels[*rel]);
                let wish = access::Wish {
                    conjuncts: &applicable.iter().map(|(_, e)| *e).collect::<Vec<_>>(),
                    columns: &columns,
                    order: if there.is_empty() { goal.order } else { &[] },
                    limit: None,
                };
                let path = access::choose(&self.arena, &state.rels[*rel], &wish);
                (path.rows, path.cost)
            }
            _ => (100.0, 100.0),
        }
    }

    /// Cost of reading a unit once without the other relations' values.
    fn scan_cost(&self, state: &State<'_>, unit: &Unit) -> f64 {
        let none = Goal { order: &[], limit: None };
        self.estimate(state, unit, &[], &none).1
    }

    /// Conditions that can be checked when the unit joins `there`: (position among the block's conjuncts, if it is one).
    fn applicable<'s>(
        &self,
        state: &'s State<'_>,
        unit: &'s Unit,
        there: &[usize],
        applied: &[bool],
    ) -> Vec<(Option<usize>, &'s Expr)> {
        let own = |r: &usize| unit.rels.contains(r);
        let reachable = |reads: &[usize]| reads.iter().all(|r| own(r) || there.contains(r)) && reads.iter().any(own);
        if !matches!(unit.join, FromJoin::Inner | FromJoin::Straight) {
            let on = unit.on.iter().filter(|e| reachable(&self.rels_read(state.rels, e)));
            return on.map(|e| (None, e)).collect();
        }
        let open = |n: usize| !applied.get(n).copied().unwrap_or(false);
        let all = state.conjuncts.iter().enumerate();
        all.filter(|(n, _)| open(*n) && reachable(&state.reads[*n])).map(|(n, e)| (Some(n), e)).collect()
    }

    /// Ordinals of the relation's columns that are needed, ascending.
    fn ordinals(&self, state: &State<'_>, rel: &Rel) -> Vec<u32> {
        (0..rel.width).filter(|n| (state.needed)(rel.first + n)).collect()
    }

    fn first_unit(
        &mut self,
        state: &State<'_>,
        unit: Unit,
        applied: &mut [bool],
        there: &mut Vec<usize>,
        goal: &Goal<'_>,
    ) -> Result<Joined> {
        let joined = match unit.from {
            From::Rel(rel) => {
                let applicable = self.applicable(state, &unit, &[], applied);
                mark(&applicable, applied);
                let conjuncts: Vec<&Expr> = applicable.iter().map(|(_, e)| *e).collect();
                self.relation(state, &state.rels[rel], &conjuncts, goal)?
            }
            ref nested => {
                let node = self.nested(state, nested.clone())?;
                Joined { node, ordered: false }
            }
        };
        there.extend(&unit.rels);
        Ok(joined)
    }

    /// A relation's rows under conditions over it, over registers and constants.
    fn relation(&mut self, state: &State<'_>, rel: &Rel, conjuncts: &[&Expr], goal: &Goal<'_>) -> Result<Joined> {
        if !matches!(rel.kind, RelKind::Base(_)) {
            let node = self.derived(rel)?;
            let node = self.filter(node, conjuncts);
            return Ok(Joined { node, ordered: goal.order.is_empty() });
        }
        let columns = self.ordinals(state, rel);
        let wish = access::Wish { conjuncts, columns: &columns, order: goal.order, limit: goal.limit };
        let path = access::choose(&self.arena, rel, &wish);
        let ordered = path.ordered;
        Ok(Joined { node: self.table_scan(rel, columns, conjuncts, path), ordered })
    }

    /// The rows of a derived table or common table expression, under the relation's column numbers.
    fn derived(&mut self, rel: &Rel) -> Result<Node> {
        let columns: Vec<ColId> = (rel.first..rel.first + rel.width).collect();
        match &rel.kind {
            RelKind::Cte(number) => {
                let types = columns.iter().map(|id| self.arena.types[*id as usize].clone()).collect();
                let op = Op::CteScan { cte: *number };
                Ok(Node { physical: Physical { op, types, rows: 100.0, cost: 10.0 }, columns })
            }
            _ => {
                let Some(query) = self.derived.remove(&rel.first) else {
                    return Err(SqlError::internal("a derived table without its query"));
                };
                let node = self.query(query)?;
                let Physical { types, rows, cost, .. } = &node.physical;
                let (types, rows, cost) = (types.clone(), *rows, *cost);
                let depends = Box::new([]);
                let op = Op::Materialize { input: Box::new(node.physical), depends, name: Some(rel.alias.clone()) };
                Ok(Node { physical: Physical { op, types, rows, cost }, columns })
            }
        }
    }

    fn table_scan(&mut self, rel: &Rel, columns: Vec<u32>, conjuncts: &[&Expr], path: access::Path) -> Node {
        let RelKind::Base(table_number) = rel.kind else { unreachable!("only base tables have access paths") };
        let table = self.arena.tables[table_number as usize].table.clone();
        let ids: Vec<ColId> = columns.iter().map(|c| rel.first + c).collect();
        let hidden = table.columns.len() as u32;
        let types = ids.iter().map(|id| self.arena.types[*id as usize].clone()).collect();
        let columns: Box<[u32]> =
            columns.iter().map(|c| if *c == hidden { crate::physical::ROW_ID } else { *c }).collect();
        let rest: Vec<&Expr> =
            conjuncts.iter().enumerate().filter(|(n, _)| !path.consumed.contains(n)).map(|(_, e)| *e).collect();
        // Conditions over an index's own columns are checked before the row is fetched.
        let secondary = path.index.map(|i| i as usize).filter(|i| Some(*i) != table.clustered && !path.covering);
        let pushes = self.options.passes.has(Passes::INDEX_CONDITION);
        let (early, late): (Vec<&Expr>, Vec<&Expr>) = rest.into_iter().partition(|e| {
            secondary.filter(|_| pushes).is_some_and(|index| {
                let mut own = false;
                let mut foreign = false;
                self.arena.columns_of(e, &mut |id| {
                    if rel.has(id) {
                        own = true;
                        foreign |= id - rel.first >= hidden || !table.index_has(index, id - rel.first);
                    }
                });
                own && !foreign && !e.any(&mut |x| matches!(x.kind, ExprKind::Subquery(_)))
            })
        });
        let refs = access::refs(&self.arena, &path.access);
        let key_len = path.index.map_or(0, |i| key_len(&table, i as usize, path.parts));
        let mut access = path.access;
        access::for_each_expr_mut(&mut access, &mut |e| *e = self.lower(e, &[]));
        let filter = self.lower_and(&late, &ids);
        let index_filter = self.lower_and(&early, &ids);
        let filtered = if path.examined > 0.0 { (path.rows / path.examined * 100.0).min(100.0) } else { 100.0 };
        let explain = ScanExplain {
            select: self.select,
            name: rel.alias.clone(),
            possible: path.possible.into(),
            refs,
            examined: path.examined,
            filtered,
            key_len,
            extra: Box::new([]),
        };
        let scan = TableScan {
            table: table_number,
            index: path.index,
            covering: path.covering,
            access,
            reverse: path.reverse,
            columns,
            filter,
            index_filter,
            lock: rel.lock,
            expects_few: false,
            explain: Box::new(explain),
        };
        let physical = Physical { op: Op::TableScan(Box::new(scan)), types, rows: path.rows, cost: path.cost };
        Node { physical, columns: ids }
    }

    /// A join in parentheses as a unit of its own.
    fn nested(&mut self, state: &State<'_>, from: From) -> Result<Node> {
        let mut units = Vec::new();
        let mut conjuncts = Vec::new();
        flatten(from, &mut units, &mut conjuncts, &mut true);
        let reads = conjuncts.iter().map(|e| self.rels_read(state.rels, e)).collect();
        let inner = State { rels: state.rels, conjuncts: &conjuncts, reads, needed: state.needed };
        let mut applied = vec![false; conjuncts.len()];
        let mut there = Vec::new();
        let mut joined: Option<Joined> = None;
        let none = Goal { order: &[], limit: None };
        for unit in units {
            joined = Some(match joined.take() {
                None => self.first_unit(&inner, unit, &mut applied, &mut there, &none)?,
                Some(before) => self.next_unit(&inner, before, unit, &mut applied, &mut there)?,
            });
        }
        let node = match joined {
            Some(joined) => joined.node,
            None => self.one_row(&[]),
        };
        let rest: Vec<&Expr> = conjuncts.iter().zip(&applied).filter(|(_, done)| !**done).map(|(e, _)| e).collect();
        Ok(self.filter(node, &rest))
    }

    fn next_unit(
        &mut self,
        state: &State<'_>,
        before: Joined,
        unit: Unit,
        applied: &mut [bool],
        there: &mut Vec<usize>,
    ) -> Result<Joined> {
        let kind = match unit.join {
            FromJoin::Inner | FromJoin::Straight => JoinKind::Inner,
            FromJoin::Left => JoinKind::Left,
            FromJoin::Semi => JoinKind::Semi,
            FromJoin::Anti { .. } => JoinKind::Anti,
        };
        let null_aware = matches!(unit.join, FromJoin::Anti { null_aware: true });
        let applicable = self.applicable(state, &unit, there, applied);
        if kind == JoinKind::Inner {
            mark(&applicable, applied);
        }
        let conditions: Vec<&Expr> = applicable.iter().map(|(_, e)| *e).collect();
        // Conditions of an outer join that do not read its right side decide whether there is a match at all.
        let outer_only: Vec<&Expr> = match kind {
            JoinKind::Inner => Vec::new(),
            _ => unit.on.iter().filter(|e| !conditions.iter().any(|c| std::ptr::eq(*c, *e))).collect(),
        };
        let is_own = |r: &usize| unit.rels.contains(r);
        let (local, joining): (Vec<&Expr>, Vec<&Expr>) =
            conditions.iter().partition(|e| self.rels_read(state.rels, e).iter().all(is_own));
        let none = Goal { order: &[], limit: None };
        let rows = before.node.physical.rows.max(1.0);
        let equi: Vec<&Expr> = joining.iter().copied().filter(|e| self.hash_key(state, &unit, e).is_some()).collect();
        let base = match &unit.from {
            From::Rel(rel) if matches!(state.rels[*rel].kind, RelKind::Base(_)) => Some(&state.rels[*rel]),
            _ => None,
        };
        if let Some(rel) = base {
            let columns = self.ordinals(state, rel);
            let wish = |conjuncts| access::Wish { conjuncts, columns: &columns, order: &[], limit: None };
            let looked_up = access::choose(&self.arena, rel, &wish(&conditions));
            let alone = access::choose(&self.arena, rel, &wish(&local));
            let by_lookup = rows * looked_up.cost;
            let by_hash = alone.cost + alone.rows * 0.2 + rows * 0.15;
            let full = matches!(looked_up.access, crate::physical::Access::Full);
            let hashes = self.options.passes.has(Passes::HASH_JOIN) || full || null_aware;
            let locks = rel.lock.strength != crate::physical::LockStrength::None;
            if !null_aware && (!hashes || (!full && (by_lookup <= by_hash || locks))) {
                let (inner, used) = self.collect_used(|o| o.table_scan(rel, columns.clone(), &conditions, looked_up));
                there.extend(&unit.rels);
                let ordered = before.ordered;
                let node = self.nested_loop(before.node, inner, kind, &used, &outer_only);
                return Ok(Joined { node, ordered });
            }
        }
        let (right, used) = match &unit.from {
            From::Rel(rel) => {
                let (joined, used) = self.collect_used(|o| o.relation(state, &state.rels[*rel], &local, &none));
                (joined?.node, used)
            }
            nested => {
                let (node, used) = self.collect_used(|o| o.nested(state, nested.clone()));
                let node = node?;
                (self.filter(node, &local), used)
            }
        };
        there.extend(&unit.rels);
        let lateral = used.iter().any(|id| before.node.columns.contains(id));
        if lateral {
            let on: Vec<&Expr> = joining.iter().chain(&outer_only).copied().collect();
            let ordered = before.ordered;
            let node = self.nested_loop(before.node, right, kind, &used, &on);
            return Ok(Joined { node, ordered });
        }
        self.used.extend(used);
        let ordered = before.ordered;
        let node = self.hash_join(state, before.node, right, &unit, kind, null_aware, (&joining, &equi, &outer_only));
        Ok(Joined { node, ordered })
    }

    /// The sides of an equality that a hash join can use: expression over the left rows, over the unit's rows.
    fn hash_key<'e>(&self, state: &State<'_>, unit: &Unit, e: &'e Expr) -> Option<(&'e Expr, &'e Expr, bool)> {
        let ExprKind::Compare { op: op @ (CompareOp::Eq | CompareOp::NullSafeEq), args, .. } = &e.kind else {
            return None;
        };
        let of_unit = |e: &Expr| {
            let read = self.rels_read(state.rels, e);
            (!read.is_empty() && read.iter().all(|r| unit.rels.contains(r)), read.iter().any(|r| unit.rels.contains(r)))
        };
        if e.any(&mut |x| matches!(x.kind, ExprKind::Subquery(_) | ExprKind::Row(_))) {
            return None;
        }
        let null_safe = *op == CompareOp::NullSafeEq;
        match (of_unit(&args[0]), of_unit(&args[1])) {
            ((true, _), (_, false)) => Some((&args[1], &args[0], null_safe)),
            ((_, false), (true, _)) => Some((&args[0], &args[1], null_safe)),
            _ => None,
        }
    }

    fn nested_loop(&mut self, outer: Node, inner: Node, kind: JoinKind, used: &[ColId], on: &[&Expr]) -> Node {
        let binds = self.binds(used, &outer.columns);
        let all: Vec<ColId> = outer.columns.iter().chain(&inner.columns).copied().collect();
        let on = self.lower_and(on, &all);
        let left_rows = outer.physical.rows.max(1.0);
        let each = match kind {
            JoinKind::Left => inner.physical.rows.max(1.0),
            JoinKind::Semi | JoinKind::Anti => inner.physical.rows.min(0.7),
            JoinKind::Inner => inner.physical.rows,
        };
        let cost = outer.physical.cost + left_rows * inner.physical.cost;
        let rows = outer.physical.rows * each;
        let columns = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { outer.columns } else { all };
        let types = joined_types(&outer.physical, &inner.physical, kind);
        let op = Op::NestedLoop { outer: Box::new(outer.physical), inner: Box::new(inner.physical), kind, binds, on };
        Node { physical: Physical { op, types, rows, cost }, columns }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one join")]
    fn hash_join(
        &mut self,
        state: &State<'_>,
        left: Node,
        right: Node,
        unit: &Unit,
        kind: JoinKind,
        null_aware: bool,
        (joining, equi, outer_only): (&[&Expr], &[&Expr], &[&Expr]),
    ) -> Node {
        let all: Vec<ColId> = left.columns.iter().chain(&right.columns).copied().collect();
        let mut keys = Vec::new();
        for e in equi {
            if let (Some((l, r, null_safe)), ExprKind::Compare { by, .. }) = (self.hash_key(state, unit, e), &e.kind) {
                let (l, r) = (self.lower(l, &left.columns), self.lower(r, &right.columns));
                keys.push(HashKey { left: l, right: r, by: *by, null_safe });
            }
        }
        let residual: Vec<&Expr> =
            joining.iter().chain(outer_only).copied().filter(|e| !equi.iter().any(|k| std::ptr::eq(*k, *e))).collect();
        let on = self.lower_and(&residual, &all);
        let (l, r) = (left.physical.rows.max(1.0), right.physical.rows.max(1.0));
        let matched = if keys.is_empty() { l * r } else { (l * r / l.max(r)).max(1.0) };
        let rows = match kind {
            JoinKind::Left => matched.max(l),
            JoinKind::Semi | JoinKind::Anti => l * 0.7,
            JoinKind::Inner => matched * access::selectivity(&residual, &[]),
        };
        let cost = left.physical.cost + right.physical.cost + r * 0.2 + l * 0.15;
        let types = joined_types(&left.physical, &right.physical, kind);
        let columns = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left.columns } else { all };
        let op = Op::HashJoin {
            left: Box::new(left.physical),
            right: Box::new(right.physical),
            kind,
            keys: keys.into(),
            on,
            null_aware,
        };
        Node { physical: Physical { op, types, rows, cost }, columns }
    }
}

fn mark(applicable: &[(Option<usize>, &Expr)], applied: &mut [bool]) {
    for (number, _) in applicable {
        if let Some(number) = number {
            applied[*number] = true;
        }
    }
}

fn joined_types(left: &Physical, right: &Physical, kind: JoinKind) -> Box<[gannet_types::SqlType]> {
    let right = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { &[][..] } else { &right.types };
    left.types.iter().chain(right).cloned().collect()
}

/// Cuts a tree of joins into units; conditions of inner joins join the block's conjuncts.
fn flatten(from: From, units: &mut Vec<Unit>, conjuncts: &mut Vec<Expr>, straight: &mut bool) {
    match from {
        From::Rel(rel) => {
            let unit = Unit {
                from: From::Rel(rel),
                rels: vec![rel],
                join: FromJoin::Inner,
                on: Vec::new(),
                needs: Vec::new(),
            };
            units.push(unit);
        }
        From::Join { left, right, kind, on } => {
            flatten(*left, units, conjuncts, straight);
            match kind {
                FromJoin::Inner | FromJoin::Straight => {
                    *straight |= kind == FromJoin::Straight;
                    flatten(*right, units, conjuncts, straight);
                    conjuncts.extend(on);
                }
                _ => {
                    let mut rels = Vec::new();
                    right.rels(&mut rels);
                    units.push(Unit { from: *right, rels, join: kind, on, needs: Vec::new() });
                }
            }
        }
    }
}

/// Bytes of the bound key parts in MySQL's arithmetic: a byte for NULL, two for a length.
fn key_len(table: &gannet_catalog::Table, index: usize, parts: usize) -> u32 {
    let of = |p: &gannet_catalog::IndexPart| {
        let ty = &table.columns[p.column as usize].ty;
        let variable = ty.id.is_string() && !matches!(ty.id, gannet_types::TypeId::Char | gannet_types::TypeId::Binary);
        let chars = p.prefix.unwrap_or(ty.length);
        let bytes = match ty.id {
            id if id.is_integer() => id.int_width() as u32,
            id if id.is_binary_string() => chars,
            id if id.is_string() => chars.saturating_mul(ty.collation.charset().max_len()),
            gannet_types::TypeId::Decimal => gannet_types::Decimal::encoded_len(ty.length.min(65) as u8) as u32,
            gannet_types::TypeId::Float => 4,
            gannet_types::TypeId::Date => 3,
            gannet_types::TypeId::Time => 3 + u32::from(ty.scale.div_ceil(2)),
            gannet_types::TypeId::Timestamp => 4 + u32::from(ty.scale.div_ceil(2)),
            gannet_types::TypeId::DateTime => 5 + u32::from(ty.scale.div_ceil(2)),
            gannet_types::TypeId::Year => 1,
            gannet_types::TypeId::Enum => 2,
            _ => 8,
        };
        bytes + u32::from(ty.nullable) + if variable { 2 } else { 0 }
    };
    table.indexes[index].parts.iter().take(parts).map(of).sum()
}
