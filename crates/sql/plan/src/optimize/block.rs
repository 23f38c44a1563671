//! One block: its conditions, tables and join order. Operators of the joins are in [`joins`] and [`scan`], what comes
//! above them in [`above`].

mod above;
mod computed;
mod joins;
mod loose;
mod members;
mod order;
mod ors;
mod parts;
mod scan;
mod search;
mod texts;

pub(crate) use scan::part_len;

use super::access::{Alternative, BaseRel, PARTS, Path};
use super::build::{Builder, Looked, Node, column_names};
use super::cost;
use super::join::{Condition, Inner, JoinOrder, Method, Search, Step, Unit, UnitSource, assign, units};
use super::relset::RelSet;
use super::sarg::{self, Sarg};
use crate::dive;
use crate::expr::{CompareOp, Comparison, Expr, ExprKind, SortKey};
use crate::fold;
use crate::logical::{Block, ColId, OrderKind, Rel, RelKind, Semijoin, conjuncts};
use crate::make::and;
use crate::options::{Passes, PlanOptions};
use crate::physical::{Access, JoinKind, LockStrength, LockWait, Op, Physical, ROW_ID, ROW_PART, Ranges};
use gannet_functions::AggregateKernel;
use gannet_schema::{RowSource, UNKNOWN_ROWS};
use gannet_types::{Result, SqlError, Value};
use std::sync::Arc;

/// ORs of a relation that may become ranges: each is a path of its own for every index.
const MAX_UNIONS: usize = 100;

/// A block while its operators are made.
pub(super) struct Planned<'b> {
    pub(super) block: &'b Block,
    /// WHERE and all ON conditions, by number.
    conditions: Vec<Expr>,
    infos: Vec<Condition>,
    bases: Vec<Option<BaseRel>>,
    /// Nodes of derived tables, taken when they are placed.
    derived: Vec<Option<Node>>,
    units: Vec<Unit>,
    /// Numbers of the conditions of WHERE and of inner joins.
    level: Vec<usize>,
    lateral: RelSet,
    /// Conditions applied so far.
    applied: Vec<bool>,
    /// The order in which a streaming aggregation delivers its groups.
    group_order: Vec<(ColId, bool)>,
    /// The order of the first relation's rows is relied on.
    ordered: bool,
    /// A loose index scan delivers each row of DISTINCT once.
    unique: bool,
}

impl Planned<'_> {
    /// Conditions that are asked before any row is read, as MySQL does: where one is not true, nothing else is
    /// evaluated, which could fail. They are taken away from the joins.
    fn asked_once(&mut self, arena: &crate::logical::Arena) -> Vec<usize> {
        let asked = |c: &usize| arena.reads_no_row(&self.conditions[*c]);
        let asked: Vec<usize> = self.level.iter().copied().filter(asked).collect();
        asked.iter().for_each(|c| self.applied[*c] = true);
        asked
    }
}

impl Builder<'_> {
    /// Operators of a block, delivering `columns` (the ids of its items, in order).
    pub(super) fn block(&mut self, block: &Block, columns: &[ColId]) -> Result<Node> {
        let block = &*computed::with_columns(self, block);
        let mut planned = self.prepare(block)?;
        self.options.check_stopped()?;
        if let Some(node) = self.impossible(&planned, columns)? {
            return Ok(node);
        }
        texts::note(self, block);
        let asked = planned.asked_once(self.arena);
        let (node, ordered) = self.joined(&mut planned)?;
        let node = self.filtered(&mut planned, node, &asked)?;
        self.options.check_stopped()?;
        self.finish(&planned, node, ordered, columns)
    }

    /// A WHERE that is never true: no rows, or one group of none.
    fn impossible(&mut self, planned: &Planned<'_>, columns: &[ColId]) -> Result<Option<Node>> {
        let never = |c: &usize| fold::is_never(&planned.conditions[*c]);
        let reason = if planned.level.iter().any(never) {
            "Impossible WHERE"
        } else if planned.block.having.iter().any(fold::is_never) {
            "Impossible HAVING"
        } else {
            return Ok(None);
        };
        let block = planned.block;
        if !block.aggregated || !block.groups.is_empty() || reason == "Impossible HAVING" {
            let op = Op::Values { rows: Box::new([]), reason: Some(reason) };
            return Ok(Some(self.node(op, columns.to_vec(), 0.0, 0.0)));
        }
        let schema: Vec<ColId> = block
            .rels
            .iter()
            .flat_map(|r| r.first..r.first + r.width)
            .filter(|id| self.used[*id as usize] > 0)
            .collect();
        let op = Op::Values { rows: Box::new([]), reason: Some(reason) };
        let node = self.node(op, schema, 0.0, 0.0);
        Ok(Some(self.finish(planned, node, false, columns)?))
    }

    fn set_of(&self, block: &Block, e: &Expr) -> RelSet {
        let mut set = RelSet::EMPTY;
        self.arena.columns_of(e, &mut |id| {
            if let Some(rel) = block.rel_of(id) {
                set = set.union(RelSet::one(rel));
            }
        });
        set
    }

    /// The conditions of WHERE, and of the inner joins at the top: both imply equalities together.
    fn top_conditions(&mut self, block: &Block) -> Vec<Expr> {
        let mut top = block.filter.clone();
        if let Some(from) = &block.from {
            inner_conditions(from, &mut top);
        }
        if top.iter().any(|e| matches!(e.kind, ExprKind::Or(_))) {
            ors::factor(&mut top);
        }
        if self.options.passes.has(Passes::EQUALITIES) {
            crate::rewrite::propagate(&mut top);
        }
        if block.rels.len() > 1 && top.iter().any(|e| matches!(e.kind, ExprKind::Or(_))) {
            self.demands_of_ors(block, &mut top);
        }
        top.iter_mut().for_each(|e| members::as_indexed(self, block, e));
        top
    }

    pub(super) fn prepare<'b>(&mut self, block: &'b Block) -> Result<Planned<'b>> {
        let mut conditions: Vec<Expr> = Vec::new();
        let mut level = Vec::new();
        let mut list: Vec<usize> = Vec::new();
        let equalities = self.options.passes.has(Passes::EQUALITIES);
        for e in self.top_conditions(block) {
            level.push(conditions.len());
            conditions.push(e);
        }
        let mut found_units = Vec::new();
        if let Some(from) = &block.from {
            let mut number = |on: &[Expr], null_aware: bool| -> (Vec<usize>, RelSet) {
                let start = conditions.len();
                let mut all = Vec::new();
                on.iter().cloned().for_each(|e| conjuncts(e, &mut all));
                let reads = all.iter().fold(RelSet::EMPTY, |s, e| s.union(self.set_of(block, e)));
                // NOT IN asks which of its conditions is unknown, not only whether all are true.
                if equalities && !null_aware {
                    crate::rewrite::propagate(&mut all);
                }
                conditions.extend(all);
                ((start..conditions.len()).collect(), reads)
            };
            // The conditions of inner joins of the top level are in `level` already.
            let mut from = without_inner_conditions(from);
            members::in_semijoins(self, block, &mut from);
            (found_units, list) = units(&from, &mut number);
        }
        level.extend(list);
        let infos = conditions.iter().map(|e| self.condition(block, e, self.set_of(block, e))).collect();
        let infos = behind_others(self.arena, &found_units, &level, block, &conditions, infos);
        let applied = vec![false; conditions.len()];
        let mut planned = Planned {
            block,
            conditions,
            infos,
            bases: Vec::new(),
            derived: Vec::new(),
            units: found_units,
            level,
            lateral: RelSet::EMPTY,
            applied,
            group_order: Vec::new(),
            ordered: false,
            unique: false,
        };
        self.find_leaders(&mut planned);
        let mut of_rel: Vec<Vec<usize>> = vec![Vec::new(); block.rels.len()];
        let level = planned.level.clone();
        assign(&mut planned.units, &level, &mut |rel, conditions| of_rel[rel] = conditions.to_vec());
        for (i, rel) in block.rels.iter().enumerate() {
            let base = match rel.kind {
                RelKind::Base(slot) => Some(self.base(&planned, i, rel, slot, &of_rel[i])),
                _ => None,
            };
            planned.bases.push(base);
        }
        self.derived_nodes(&mut planned)?;
        self.order_hints(&mut planned);
        Ok(planned)
    }

    /// Semijoins over an uncorrelated inner side, joined by equality with plain columns of it, may also come first.
    fn find_leaders(&self, planned: &mut Planned<'_>) {
        if !self.options.passes.has(Passes::SEMIJOIN) {
            return;
        }
        let mut extra = Vec::new();
        for unit in &mut planned.units {
            let strategies = planned.block.rels[unit.rels.first()].hints.semijoin;
            if unit.kind != JoinKind::Semi || strategies & self.strategies() & Semijoin::LEADING == 0 {
                continue;
            }
            let inside = |c: &usize| planned.infos[*c].rels.within(unit.rels);
            let crossing = |c: &usize| {
                let ExprKind::Compare { op: CompareOp::Eq, by, args } = &planned.conditions[*c].kind else {
                    return false;
                };
                let Some((a, b)) = planned.infos[*c].equal else { return false };
                let column = |e: &Expr| matches!(e.kind, ExprKind::Column(_)) && same_equality(*by, &e.ty);
                a.within(unit.rels) && column(&args[0]) && !b.intersects(unit.rels)
                    || b.within(unit.rels) && column(&args[1]) && !a.intersects(unit.rels)
            };
            let alone = match &unit.source {
                UnitSource::Rel(_) => true,
                UnitSource::Nest(inner, conditions) => {
                    conditions.iter().all(inside) && inner.iter().all(|u| u.kind == JoinKind::Inner)
                }
            };
            let cross: Vec<usize> = unit.on.iter().copied().filter(|c| !inside(c)).collect();
            if alone && !cross.is_empty() && cross.iter().all(crossing) {
                unit.leads = true;
                extra.extend(cross);
            }
        }
        planned.level.extend(extra);
    }

    /// Ways of running semijoins that are switched on.
    fn strategies(&self) -> u8 {
        let passes = self.options.passes;
        let bit = |pass, bit| if passes.has(pass) { bit } else { 0 };
        let leading = Passes::MATERIALIZATION.0 | Passes::LOOSE_SCAN.0 | Passes::WEEDOUT.0;
        bit(Passes::FIRST_MATCH, Semijoin::FIRST_MATCH)
            | bit(Passes::MATERIALIZATION, Semijoin::MATERIALIZATION)
            | if passes.0 & leading == 0 { 0 } else { Semijoin::LEADING }
    }

    /// JOIN_ORDER and its like: units wait for those that are to come before them. A hint that cannot be followed, with
    /// what the joins themselves need and the hints before it, is told and left out.
    fn order_hints(&self, planned: &mut Planned<'_>) {
        starts_first(self.arena, planned);
        let block = planned.block;
        for hint in &block.orders {
            let unit_of = |(name, of): &(Box<str>, Option<Box<str>>)| {
                let origin = crate::logical::block_of(&self.arena.blocks, of.as_deref(), hint.block)?;
                let rel = block.rels.iter().position(|r| r.alias == *name && r.origin == origin)?;
                planned.units.iter().position(|u| u.rels.intersects(RelSet::one(rel)))
            };
            // A name that is not there was told when the statement was bound.
            let Some(mut chain) = hint.tables.iter().map(unit_of).collect::<Option<Vec<usize>>>() else { continue };
            chain.dedup();
            let mut units = planned.units.clone();
            let rels: Vec<RelSet> = units.iter().map(|u| u.rels).collect();
            for pair in chain.windows(2) {
                units[pair[1]].deps = units[pair[1]].deps.union(rels[pair[0]]);
            }
            for other in (0..units.len()).filter(|i| !chain.contains(i)) {
                for &named in &chain {
                    match hint.kind {
                        OrderKind::Order => {}
                        OrderKind::Prefix => units[other].deps = units[other].deps.union(rels[named]),
                        OrderKind::Suffix => units[named].deps = units[named].deps.union(rels[other]),
                    }
                }
            }
            // A leading semijoin is placed first or where its needs are met.
            for (unit, before) in units.iter_mut().zip(&planned.units) {
                unit.leads &= unit.deps.within(before.deps);
            }
            if block.straight || !can_be_ordered(&units) {
                let code = gannet_types::ErrorCode::WarnConflictingHint;
                let warning = gannet_types::Warning::new(gannet_types::Level::Warning, code, &[&hint.text]);
                self.warnings.borrow_mut().push(warning);
                continue;
            }
            planned.units = units;
        }
    }

    fn condition(&self, block: &Block, e: &Expr, rels: RelSet) -> Condition {
        let mut equal = None;
        if let ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, args, .. } = &e.kind {
            let (a, b) = (self.set_of(block, &args[0]), self.set_of(block, &args[1]));
            if !a.is_empty() && !b.is_empty() && !a.intersects(b) {
                equal = Some((a, b));
            }
        }
        Condition { rels, equal, share: share(e) }
    }

    fn base(&self, planned: &Planned<'_>, i: usize, rel: &Rel, slot: u32, applicable: &[usize]) -> BaseRel {
        let table = self.arena.tables[slot as usize].table.clone();
        let figures = table.statistics.figures();
        let virtual_source = table.source != RowSource::Engine;
        let (rows, empty) = rows_of(self.options, &table);
        let own = RelSet::one(i);
        let set_of = |e: &Expr| self.set_of(planned.block, e);
        let mut sargs: Vec<Sarg> = Vec::new();
        let mut unions = Vec::new();
        let mut filters = Vec::new();
        for c in applicable {
            let e = &planned.conditions[*c];
            let rels = planned.infos[*c].rels;
            if !rels.intersects(own) {
                continue;
            }
            let before = sargs.len();
            sarg::extract(self.arena, rel, own, e, *c, &set_of, &mut sargs);
            let share = self.share_by_values(&table, rel, e, &sargs[before..]);
            filters.push((*c, share.unwrap_or_else(|| self.share_on(&table, rel, e, rows)), rels.minus(own)));
            if let ExprKind::Or(alternatives) = &e.kind
                && unions.len() < MAX_UNIONS
            {
                let mut all = Vec::with_capacity(alternatives.len());
                for alternative in alternatives {
                    let (mut parts, mut says) = (Vec::new(), Vec::new());
                    conjuncts(alternative.clone(), &mut parts);
                    for (number, part) in (PARTS..).zip(&parts) {
                        sarg::extract(self.arena, rel, own, part, number, &set_of, &mut says);
                    }
                    all.push(Alternative { says, parts: parts.len() });
                }
                if all.iter().all(|a| !a.says.is_empty()) {
                    unions.push((*c, all, rels.minus(own)));
                }
            }
        }
        let mut columns: Vec<u32> = (0..rel.width).filter(|c| self.used[(rel.first + c) as usize] > 0).collect();
        for hidden in columns.iter_mut().filter(|c| **c as usize >= table.columns.len()) {
            *hidden = if *hidden as usize == table.columns.len() { ROW_ID } else { ROW_PART };
        }
        let locking = rel.lock.strength != LockStrength::None;
        let exclusive = rel.lock.strength == LockStrength::Exclusive;
        let skips_locked = locking && rel.lock.wait == LockWait::SkipLocked;
        let mut hints = rel.hints.clone();
        hints.join &= !hidden_indexes(&table, self.options.passes);
        let block = planned.block;
        let conditions: Vec<(usize, &Expr)> = applicable.iter().map(|c| (*c, &planned.conditions[*c])).collect();
        let members = members::of_conditions(self, (rel, own), &table, &conditions, &set_of);
        let alone = block.rels.len() == 1 && !block.aggregated && !block.distinct && block.windows.is_empty();
        let read = BaseRel {
            table,
            figures,
            hints,
            rows,
            empty,
            sargs,
            unions,
            members,
            searches: search::of_conditions(applicable.iter().map(|c| &planned.conditions[*c]), rel, slot),
            columns,
            filters,
            virtual_source,
            alone,
            locking,
            exclusive,
            skips_locked,
            reads: Default::default(),
            known: Default::default(),
        };
        parts::read(self, slot, read)
    }

    /// Share of a table's rows that satisfy a condition on one column, by the column's histogram.
    fn share_by_values(&self, table: &gannet_schema::Table, rel: &Rel, e: &Expr, says: &[Sarg]) -> Option<f64> {
        if table.statistics.histograms().is_empty() {
            return None;
        }
        let value = |e: &Expr| self.seen(e);
        let share = |column: u32, ranges: &Ranges| {
            let column = table.columns.get(column as usize)?;
            dive::share_in(column, ranges, self.options.time_zone, &value, &table.statistics)
        };
        let equal = |key: &crate::physical::KeyValue| Ranges::of_key(std::slice::from_ref(key));
        if let [sarg] = says {
            let ranges = match &sarg.says {
                sarg::Says::Equals(key) => equal(key),
                sarg::Says::AnyOf(keys) => Ranges::one([keys.clone()].into(), None),
                sarg::Says::Within(interval) => Ranges::one([].into(), Some(interval.clone())),
            };
            return share(sarg.column, &ranges);
        }
        // What is not equal is the rest of what is not NULL.
        let ExprKind::Compare { op: CompareOp::Ne, by, args } = &e.kind else { return None };
        let (id, other) = match (&args[0].kind, &args[1].kind) {
            (ExprKind::Column(id), _) if rel.has(*id) => (*id, &args[1]),
            (_, ExprKind::Column(id)) if rel.has(*id) => (*id, &args[0]),
            _ => return None,
        };
        let key = crate::physical::KeyValue { value: other.clone(), by: *by, null_safe: false };
        let there = Ranges::one([].into(), Some(crate::physical::Interval::KNOWN));
        let column = id - rel.first;
        Some((share(column, &there)? - share(column, &equal(&key))?).max(0.0))
    }

    /// Share of a table's rows that satisfy a condition, by the statistics of an index on the column, or by its
    /// histogram.
    fn share_on(&self, table: &gannet_schema::Table, rel: &Rel, e: &Expr, rows: f64) -> f64 {
        if let ExprKind::Compare { op: CompareOp::Eq, args, .. } = &e.kind {
            let own = args.iter().find_map(|a| match a.kind {
                ExprKind::Column(id) if rel.has(id) => Some(id - rel.first),
                _ => None,
            });
            if let Some(column) = own {
                let figures = table.statistics.figures();
                for index in table.indexes.iter().filter(|i| i.is_ordered() && i.parts[0].column == column) {
                    if index.unique() && index.parts.len() == 1 {
                        return 1.0 / rows.max(1.0);
                    }
                    if let Some(distinct) = figures.distinct(index.tree, 1, rows) {
                        return 1.0 / distinct.max(1.0);
                    }
                }
                let column = table.columns.get(column as usize);
                if let Some(histogram) = column.and_then(|c| table.statistics.histogram(c)) {
                    return (1.0 - histogram.nulls) / histogram.distinct();
                }
            }
        }
        share(e)
    }

    /// Plans derived tables and common table expressions ahead, so that their sizes are known. A lateral one is planned
    /// in its place.
    fn derived_nodes(&mut self, planned: &mut Planned<'_>) -> Result<()> {
        let block = planned.block;
        for (i, rel) in block.rels.iter().enumerate() {
            let free = match &rel.kind {
                RelKind::Base(_) => Vec::new(),
                RelKind::Cte(number) => self.arena.ctes[*number as usize].free.clone(),
                RelKind::Derived(query) => self.arena.free_columns(query),
            };
            let deps =
                free.iter().filter_map(|id| block.rel_of(*id)).fold(RelSet::EMPTY, |s, of| s.union(RelSet::one(of)));
            let node = if deps != RelSet::EMPTY {
                planned.lateral = planned.lateral.union(RelSet::one(i));
                add_deps(&mut planned.units, i, deps);
                None
            } else {
                match &rel.kind {
                    RelKind::Base(_) => None,
                    RelKind::Cte(_) => Some(named_or_derived(self, rel)?),
                    RelKind::Derived(query) => {
                        let node = named_or_derived(self, rel)?;
                        Some(if self.arena.query_is_ordered(query) { self.kept(block, i, node) } else { node })
                    }
                }
            };
            planned.derived.push(node);
        }
        Ok(())
    }

    /// A filter of numbered conditions, cheap ones first.
    fn filtered(&mut self, planned: &mut Planned<'_>, node: Node, numbers: &[usize]) -> Result<Node> {
        if numbers.is_empty() {
            return Ok(node);
        }
        let exprs: Vec<Expr> = numbers.iter().map(|c| planned.conditions[*c].clone()).collect();
        let share: f64 = numbers.iter().map(|c| planned.infos[*c].share).product();
        numbers.iter().for_each(|c| planned.applied[*c] = true);
        self.filter(node, exprs, share)
    }

    pub(super) fn filter(&mut self, node: Node, exprs: Vec<Expr>, share: f64) -> Result<Node> {
        let mut exprs: Vec<Expr> = exprs.into_iter().filter(|e| !fold::is_true(e)).collect();
        if exprs.is_empty() {
            return Ok(node);
        }
        if !exprs.iter().any(|e| self.arena.is_ordered(e)) {
            exprs.sort_by_cached_key(|e| e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_))));
        }
        let (once, each): (Vec<Expr>, Vec<Expr>) = exprs.into_iter().partition(|e| self.arena.reads_no_row(e));
        let rows = node.physical.rows * share;
        let mut node = node;
        if !each.is_empty() {
            let predicate = and(self.lower_all(&each, &node.schema)?);
            let cost = node.physical.cost + node.physical.rows * cost::ROW;
            let op = Op::Filter { input: Box::new(node.physical), predicate, once: false };
            node = self.node(op, node.schema, rows, cost);
        }
        if !once.is_empty() {
            let predicate = and(self.lower_all(&once, &[])?);
            let cost = node.physical.cost;
            let op = Op::Filter { input: Box::new(node.physical), predicate, once: true };
            node = self.node(op, node.schema, rows, cost);
        }
        Ok(node)
    }
}

/// The rows of a common table expression or a derived table.
fn named_or_derived(builder: &mut Builder<'_>, rel: &Rel) -> Result<Node> {
    let schema: Vec<ColId> = (rel.first..rel.first + rel.width).collect();
    match &rel.kind {
        RelKind::Cte(number) => {
            let (cte, rows) = builder.cte(*number)?;
            let columns = column_names(builder.arena, &schema);
            let op = Op::CteScan { cte, name: rel.alias.clone(), columns };
            Ok(builder.node(op, schema, rows, rows * cost::KEEP))
        }
        RelKind::Derived(query) => Ok(Node { schema, ..builder.query(query)? }),
        RelKind::Base(_) => Err(SqlError::internal("a table in the place of a derived one")),
    }
}

/// Those that find no rows for this statement but by a search: invisible ones, and full-text ones.
fn hidden_indexes(table: &gannet_schema::Table, passes: Passes) -> u128 {
    let invisible = passes.has(Passes::HIDE_INVISIBLE);
    let hidden = table.indexes.iter().enumerate().filter(|(_, i)| i.invisible && invisible || !i.is_ordered());
    hidden.fold(0, |mask, (i, _)| mask | 1u128 << i)
}

/// What varies is evaluated where all relations of its level are there: on the rows which the other conditions let
/// through.
fn behind_others(
    arena: &crate::logical::Arena,
    units: &[Unit],
    level: &[usize],
    block: &Block,
    conditions: &[Expr],
    mut infos: Vec<Condition>,
) -> Vec<Condition> {
    fn place(units: &[Unit], level: &[usize], at: RelSet, varies: &dyn Fn(usize) -> bool, infos: &mut [Condition]) {
        for c in level.iter().copied().filter(|c| varies(*c)) {
            infos[c] = Condition { rels: infos[c].rels.union(at), equal: None, ..infos[c] };
        }
        for unit in units {
            if let UnitSource::Nest(inner, own) = &unit.source {
                place(inner, own, unit.rels, varies, infos);
            }
            if unit.kind != JoinKind::Inner {
                place(&[], &unit.on, unit.rels.union(unit.deps), varies, infos);
            }
        }
    }
    let varies: Vec<bool> = conditions.iter().map(|e| arena.varies(e)).collect();
    if varies.contains(&true) {
        let all = (0..block.rels.len()).fold(RelSet::EMPTY, |set, rel| set.union(RelSet::one(rel)));
        place(units, level, all, &|c| varies[c], &mut infos);
    }
    infos
}

/// `(SELECT @n := 0) start`: a derived table without tables of its own is MySQL's first one to be computed.
fn starts_first(arena: &crate::logical::Arena, planned: &mut Planned<'_>) {
    let starts = |q: &crate::logical::Query| {
        matches!(&q.body, crate::logical::Body::Block(b) if b.from.is_none()) && arena.query_is_ordered(q)
    };
    let rels = &planned.block.rels;
    let first = |unit: &Unit| match unit.source {
        UnitSource::Rel(i) => unit.kind == JoinKind::Inner && rels[i].kind.derived().is_some_and(starts),
        UnitSource::Nest(..) => false,
    };
    let (starts, others): (Vec<usize>, Vec<usize>) = (0..planned.units.len()).partition(|i| first(&planned.units[*i]));
    if starts.is_empty() {
        return;
    }
    let mut units = planned.units.clone();
    for other in others {
        for start in &starts {
            units[other].deps = units[other].deps.union(planned.units[*start].rels);
        }
    }
    // STRAIGHT_JOIN, or a lateral derived table, may want it otherwise.
    if can_be_ordered(&units) {
        planned.units = units;
    }
}

/// Share of rows that satisfy a condition, by its form.
pub(super) fn share(e: &Expr) -> f64 {
    match &e.kind {
        ExprKind::And(args) => args.iter().map(share).product(),
        ExprKind::Or(args) => 1.0 - args.iter().map(|a| 1.0 - share(a)).product::<f64>(),
        ExprKind::Compare { op, .. } => match op {
            CompareOp::Eq | CompareOp::NullSafeEq => cost::EQUAL,
            CompareOp::Ne => 1.0 - cost::EQUAL,
            _ => cost::INEQUALITY,
        },
        ExprKind::Between { negated, .. } => {
            if *negated {
                1.0 - cost::BETWEEN
            } else {
                cost::BETWEEN
            }
        }
        ExprKind::In { list, negated, .. } => {
            let share = (cost::EQUAL * list.len() as f64).min(0.5);
            if *negated { 1.0 - share } else { share }
        }
        ExprKind::IsNull { negated, .. } => {
            if *negated {
                0.9
            } else {
                cost::EQUAL
            }
        }
        ExprKind::Call(def, _) if def.name == "LIKE" => cost::BETWEEN,
        ExprKind::Literal(_) => {
            if fold::is_never(e) {
                0.0
            } else {
                1.0
            }
        }
        _ => cost::OTHER,
    }
}

/// Conditions of the inner joins at the top of the tree.
fn inner_conditions(from: &crate::logical::From, out: &mut Vec<Expr>) {
    use crate::logical::{From, FromJoin};
    if let From::Join { left, right, kind, on } = from {
        match kind {
            FromJoin::Inner | FromJoin::Straight => {
                inner_conditions(left, out);
                inner_conditions(right, out);
                on.iter().cloned().for_each(|e| conjuncts(e, out));
            }
            _ => inner_conditions(left, out),
        }
    }
}

fn without_inner_conditions(from: &crate::logical::From) -> crate::logical::From {
    use crate::logical::{From, FromJoin};
    match from {
        From::Rel(i) => From::Rel(*i),
        From::Join { left, right, kind, on } => {
            let inner = matches!(kind, FromJoin::Inner | FromJoin::Straight);
            let left = Box::new(without_inner_conditions(left));
            let right = if inner { Box::new(without_inner_conditions(right)) } else { right.clone() };
            From::Join { left, right, kind: *kind, on: if inner { Vec::new() } else { on.clone() } }
        }
    }
}

fn add_deps(units: &mut [Unit], rel: usize, deps: RelSet) {
    for unit in units {
        if unit.rels.intersects(RelSet::one(rel)) {
            unit.deps = unit.deps.union(deps.minus(unit.rels));
        }
        if let UnitSource::Nest(inner, _) = &mut unit.source {
            add_deps(inner, rel, deps);
        }
    }
}

/// The tree delivers one row at most.
pub(super) fn at_most_one(root: &Physical) -> bool {
    match &root.op {
        Op::TableScan(scan) => matches!(scan.access, Access::Point { .. }),
        Op::Project { input, .. } | Op::Filter { input, .. } | Op::Sort { input, .. } => at_most_one(input),
        Op::Aggregate { groups, .. } => groups.is_empty(),
        _ => false,
    }
}

/// Makes a path that walks an index in the order of `column` begin behind its NULLs.
fn without_nulls(path: &mut Path, table: &gannet_schema::Table, column: u32) -> bool {
    let Some(index) = path.index else { return false };
    let key: &[crate::physical::KeyValue] = match &path.access {
        Access::Full => &[],
        Access::Ref { key } => key,
        Access::Ranges { .. } => return true,
        _ => return false,
    };
    if table.indexes[index].parts.get(key.len()).is_none_or(|p| p.column != column) {
        return false;
    }
    let parts = key.iter().map(|k| Arc::from([k.clone()])).collect();
    path.parts = key.len() + 1;
    path.access = Access::Ranges { ranges: Ranges::one(parts, Some(crate::physical::Interval::KNOWN)) };
    true
}

/// Whether values of the type are equal in the comparison exactly when they are equal as values of a column, so that
/// one of each is enough.
fn same_equality(by: Comparison, ty: &gannet_types::SqlType) -> bool {
    use gannet_types::TypeId as T;
    match by {
        Comparison::Integer => ty.id.is_integer(),
        Comparison::Decimal => ty.id.is_integer() || ty.id == T::Decimal,
        Comparison::Double => matches!(ty.id, T::TinyInt | T::SmallInt | T::MediumInt | T::Int | T::Float | T::Double),
        Comparison::String(collation) => ty.id.is_string() && ty.collation == collation,
        Comparison::Datetime => matches!(ty.id, T::Date | T::DateTime | T::Timestamp),
        Comparison::Time => ty.id == T::Time,
        Comparison::Json => false,
    }
}

/// There is an order in which every unit comes behind what it needs.
fn can_be_ordered(units: &[Unit]) -> bool {
    let (mut done, mut placed) = (RelSet::EMPTY, vec![false; units.len()]);
    while let Some(i) = (0..units.len()).find(|i| {
        let first = done.is_empty();
        !placed[*i]
            && (units[*i].deps.within(done) && (!first || units[*i].kind == JoinKind::Inner)
                || first && units[*i].leads)
    }) {
        placed[i] = true;
        done = done.union(units[i].rels);
    }
    placed.iter().all(|p| *p)
}

/// The order in which a streaming aggregation delivers its groups is the one ORDER BY wants.
fn group_order_serves(planned: &Planned<'_>) -> bool {
    let order = &planned.block.order;
    let same =
        |(key, made): (&SortKey, &(ColId, bool))| key.expr.kind == ExprKind::Column(made.0) && key.descending == made.1;
    order.len() <= planned.group_order.len() && order.iter().zip(&planned.group_order).all(same)
}

/// Rows that a table has now; and whether it has none: then so many are assumed.
fn rows_of(options: &PlanOptions<'_>, table: &gannet_schema::Table) -> (f64, bool) {
    if table.source != RowSource::Engine {
        return (100.0, false);
    }
    let now = options.estimator.and_then(|e| e.table_rows(table));
    let counted = now.unwrap_or_else(|| table.statistics.figures().rows as f64);
    if counted < 1.0 { (UNKNOWN_ROWS as f64, true) } else { (counted, false) }
}
