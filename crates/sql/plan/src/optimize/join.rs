//! Order of joins: dynamic programming over left-deep orders for few units, greedy for many.
//!
//! A block's FROM tree is a list of **units**: base relations and other leaves of inner joins, and one unit for the
//! inner side of each outer, semi- and antijoin. A unit says which relations must come before it; an outer join may
//! follow any inner join as long as those do (its condition reads nothing else, and what comes later filters whole
//! rows).

use super::access::{BaseRel, Path};
use super::cost;
use super::relset::RelSet;
use crate::logical::{From, FromJoin, Semijoin};
use crate::options::Passes;
use crate::physical::{JoinKind, Ranges};

/// Units up to which all orders are compared.
const EXHAUSTIVE: usize = 8;

/// A unit of a join.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) kind: JoinKind,
    pub(super) null_aware: bool,
    pub(super) rels: RelSet,
    /// Must be joined before.
    pub(super) deps: RelSet,
    pub(super) source: UnitSource,
    /// Conditions of an outer, semi- or antijoin: positions in the block's list.
    pub(super) on: Vec<usize>,
    /// All conditions that may be used while the unit is joined: those of its level, or `on`.
    pub(super) applicable: Vec<usize>,
    /// A semijoin whose inner side may also come first, each of its keys once, and be joined by equality.
    pub(super) leads: bool,
}

/// Gives every unit, and the units in nests, the conditions of its level.
pub(super) fn assign(units: &mut [Unit], level: &[usize], of_rel: &mut dyn FnMut(usize, &[usize])) {
    for unit in units {
        unit.applicable = if unit.kind == JoinKind::Inner { level.to_vec() } else { unit.on.clone() };
        match &mut unit.source {
            UnitSource::Rel(i) => of_rel(*i, &unit.applicable),
            UnitSource::Nest(inner, conditions) => {
                let mut both = unit.on.clone();
                both.extend(conditions.iter());
                assign(inner, &both, of_rel);
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum UnitSource {
    /// One relation.
    Rel(usize),
    /// A join of its own, with its conditions.
    Nest(Vec<Unit>, Vec<usize>),
}

/// How a unit joins what came before.
#[derive(Clone, Debug)]
pub(super) enum Method {
    /// Run once for each outer row, by this path (base relations) or plan (nests).
    Loop(Inner),
    /// Read once into a hash table.
    Hash(Inner),
}

/// The inner side.
#[derive(Clone, Debug)]
pub(super) enum Inner {
    Path(Path),
    /// A relation that is not a base table.
    Other,
    Nest(Box<JoinOrder>),
}

/// A step of an order.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Position among the units.
    pub(super) unit: usize,
    pub(super) method: Method,
    /// Rows after the step.
    pub(super) rows: f64,
}

/// A complete order with its estimates.
#[derive(Clone, Debug)]
pub(super) struct JoinOrder {
    pub(super) steps: Vec<Step>,
    pub(super) rows: f64,
    pub(super) cost: f64,
    /// What of the cost comes before the first row: hash tables.
    pub(super) startup: f64,
}

impl JoinOrder {
    /// The cost of the first `limit` rows. What conditions let through is often overestimated: a thousandth at least is
    /// read.
    pub(super) fn until(&self, limit: f64) -> f64 {
        self.startup + (self.cost - self.startup).max(0.0) * (limit / self.rows.max(1.0)).clamp(0.001, 1.0)
    }
}

/// A condition as the search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    /// Relations of the block it reads.
    pub(super) rels: RelSet,
    /// `left = right` with disjoint relations on both sides: can be a hash key.
    pub(super) equal: Option<(RelSet, RelSet)>,
    /// Share of the pairs that satisfy it, for a join of two relations.
    pub(super) share: f64,
}

/// What the search knows.
pub(super) struct Search<'a> {
    pub(super) bases: &'a [Option<BaseRel>],
    /// Rows and cost of one run of the other relations.
    pub(super) others: &'a [(f64, f64)],
    pub(super) conditions: &'a [Condition],
    pub(super) passes: Passes,
    pub(super) straight: bool,
    /// Ways of running semijoins.
    pub(super) strategies: u8,
    /// Derived tables that read their neighbours.
    pub(super) lateral: RelSet,
    /// Recursive common table expressions: their number of rows is not known.
    pub(super) guessed: RelSet,
    pub(super) estimate: &'a dyn Fn(usize, usize, &Ranges) -> Option<f64>,
    /// The first relation has to be read by one of these paths (for its order).
    pub(super) first: Option<(usize, Vec<Path>)>,
    /// Orders of nests found so far: nests in nests would be searched exponentially often.
    pub(super) nests: &'a Nests,
}

/// Orders of nests by their relations and those read before.
pub(super) type Nests = std::cell::RefCell<std::collections::HashMap<(RelSet, RelSet), JoinOrder>>;

#[derive(Clone)]
struct State {
    done: RelSet,
    units: u64,
    steps: Vec<Step>,
    rows: f64,
    cost: f64,
    startup: f64,
}

/// Numbers conditions. Returns the relations they read too.
pub(super) type Number<'n> = dyn FnMut(&[crate::expr::Expr], bool) -> (Vec<usize>, RelSet) + 'n;

/// Splits a FROM tree into units. Conditions of its inner joins are numbered into the second result.
pub(super) fn units(from: &From, number: &mut Number<'_>) -> (Vec<Unit>, Vec<usize>) {
    let (mut out, mut conditions, mut reads) = (Vec::new(), Vec::new(), RelSet::EMPTY);
    add_units(from, number, &mut conditions, &mut reads, &mut out);
    (out, conditions)
}

fn add_units(
    from: &From,
    number: &mut Number<'_>,
    conditions: &mut Vec<usize>,
    reads: &mut RelSet,
    out: &mut Vec<Unit>,
) {
    let all = |units: &[Unit]| units.iter().fold(RelSet::EMPTY, |s, u| s.union(u.rels));
    match from {
        From::Rel(i) => out.push(Unit {
            kind: JoinKind::Inner,
            null_aware: false,
            rels: RelSet::one(*i),
            deps: RelSet::EMPTY,
            source: UnitSource::Rel(*i),
            on: Vec::new(),
            applicable: Vec::new(),
            leads: false,
        }),
        From::Join { left, right, kind: kind @ (FromJoin::Inner | FromJoin::Straight), on } => {
            let start = out.len();
            add_units(left, number, conditions, reads, out);
            let before = all(&out[start..]);
            let middle = out.len();
            add_units(right, number, conditions, reads, out);
            if *kind == FromJoin::Straight {
                for unit in &mut out[middle..] {
                    unit.deps = unit.deps.union(before);
                }
            }
            let (numbers, read) = number(on, false);
            conditions.extend(numbers);
            *reads = reads.union(read);
        }
        From::Join { left, right, kind, on } => {
            let start = out.len();
            add_units(left, number, conditions, reads, out);
            let before = all(&out[start..]);
            let (mut inner, mut inner_conditions, mut inner_reads) = (Vec::new(), Vec::new(), RelSet::EMPTY);
            add_units(right, number, &mut inner_conditions, &mut inner_reads, &mut inner);
            let (on, read) = number(on, matches!(kind, FromJoin::Anti { null_aware: true }));
            let mut deps = read.union(inner_reads).intersect(before);
            if deps.is_empty() {
                deps = before;
            }
            let rels = all(&inner);
            let source = match (&inner[..], inner_conditions.is_empty()) {
                ([Unit { kind: JoinKind::Inner, source: UnitSource::Rel(i), .. }], true) => UnitSource::Rel(*i),
                _ => UnitSource::Nest(inner, inner_conditions),
            };
            let (kind, null_aware) = match kind {
                FromJoin::Left => (JoinKind::Left, false),
                FromJoin::Semi => (JoinKind::Semi, false),
                FromJoin::Anti { null_aware } => (JoinKind::Anti, *null_aware),
                FromJoin::Inner | FromJoin::Straight => (JoinKind::Inner, false),
            };
            out.push(Unit { kind, null_aware, rels, deps, source, on, applicable: Vec::new(), leads: false });
        }
    }
}

impl Search<'_> {
    /// The cheapest order of the units, when `outer` has been read already (for nests, by registers).
    pub(super) fn order(&self, units: &[Unit], outer: RelSet) -> JoinOrder {
        let start = State { done: outer, units: 0, steps: Vec::new(), rows: 1.0, cost: 0.0, startup: 0.0 };
        let best = if self.straight || !self.passes.has(Passes::JOIN_ORDER) {
            self.in_order(units, start)
        } else if units.len() <= EXHAUSTIVE {
            self.exhaustive(units, start)
        } else {
            self.greedy(units, start)
        };
        JoinOrder { steps: best.steps, rows: best.rows, cost: best.cost, startup: best.startup }
    }

    fn in_order(&self, units: &[Unit], mut state: State) -> State {
        // Outer joins written before what they depend on cannot happen: the tree gives them behind it.
        for i in 0..units.len() {
            state = self.extend(units, i, &state);
        }
        state
    }

    fn candidates<'u>(&'u self, units: &'u [Unit], state: &'u State) -> impl Iterator<Item = usize> + 'u {
        (0..units.len()).filter(move |i| {
            let unit = &units[*i];
            let start = state.steps.is_empty() && state.done.is_empty();
            let free = state.units >> i & 1 == 0 && (unit.deps.within(state.done) || start && unit.leads);
            let first = match &self.first {
                Some((rel, _)) if state.steps.is_empty() => {
                    unit.rels == RelSet::one(*rel) && unit.kind == JoinKind::Inner
                }
                _ => true,
            };
            let leads = !start || unit.kind == JoinKind::Inner || unit.leads;
            free && first && leads
        })
    }

    fn exhaustive(&self, units: &[Unit], start: State) -> State {
        let all = (1u64 << units.len()) - 1;
        let mut best: Vec<Option<State>> = vec![None; all as usize + 1];
        best[0] = Some(start.clone());
        for mask in 0..all {
            let Some(state) = best[mask as usize].take() else { continue };
            let next: Vec<usize> = self.candidates(units, &state).collect();
            for i in next {
                let extended = self.extend(units, i, &state);
                let slot = &mut best[(mask | 1 << i) as usize];
                if slot.as_ref().is_none_or(|s| extended.cost < s.cost) {
                    *slot = Some(extended);
                }
            }
        }
        match best[all as usize].take() {
            Some(state) => state,
            None => self.in_order(units, start),
        }
    }

    fn greedy(&self, units: &[Unit], start: State) -> State {
        let mut state = start;
        for _ in 0..units.len() {
            let candidates: Vec<usize> = self.candidates(units, &state).collect();
            let extended = candidates.into_iter().map(|i| self.extend(units, i, &state));
            // Few rows now make everything after it cheap.
            let weight = |s: &State| s.cost + s.rows * cost::ROW * 4.0;
            let Some(next) = extended.min_by(|a, b| weight(a).total_cmp(&weight(b))) else { break };
            state = next;
        }
        let missing: Vec<usize> = (0..units.len()).filter(|i| state.units >> i & 1 == 0).collect();
        for i in missing {
            state = self.extend(units, i, &state);
        }
        state
    }

    fn extend(&self, units: &[Unit], i: usize, state: &State) -> State {
        let unit = &units[i];
        let first = state.steps.is_empty();
        let (method, inner_rows, mut cost) = self.method(unit, state, first);
        let leading = first && unit.kind == JoinKind::Semi && !unit.deps.within(state.done);
        if leading {
            cost += inner_rows * cost::BUILD;
        }
        let rows = match unit.kind {
            JoinKind::Semi if leading => (inner_rows * 0.9).max(1.0).min(inner_rows),
            JoinKind::Inner => state.rows * inner_rows,
            JoinKind::Left => state.rows * inner_rows.max(1.0),
            JoinKind::Semi => state.rows * inner_rows.clamp(0.1, 1.0),
            JoinKind::Anti => state.rows * (1.0 - inner_rows.min(0.9)),
        };
        let mut next = state.clone();
        next.done = state.done.union(unit.rels);
        next.units |= 1 << i;
        next.rows = rows.max(0.001);
        next.cost += cost;
        next.startup += match &method {
            // All but the probes.
            Method::Hash(_) => cost - state.rows * cost::PROBE,
            Method::Loop(Inner::Nest(order)) if first => order.startup,
            Method::Loop(_) => 0.0,
        };
        next.steps.push(Step { unit: i, method, rows: next.rows });
        next
    }

    /// The cheapest way to join a unit: method, matching rows for each outer row, cost of the whole step.
    fn method(&self, unit: &Unit, state: &State, first: bool) -> (Method, f64, f64) {
        let (loop_inner, loop_rows, loop_cost) = self.inner(unit, state.done, first);
        let runs = if first { 1.0 } else { state.rows };
        // A semijoin stops at the first match.
        let early = match unit.kind {
            JoinKind::Semi | JoinKind::Anti if loop_rows > 1.0 => (1.0 / loop_rows).max(0.1),
            _ => 1.0,
        };
        let looped = runs * (loop_cost * early + if first { 0.0 } else { cost::REOPEN });
        let hint = self.hash_hint(unit).filter(|_| !unit.null_aware);
        if first || hint == Some(false) || hint.is_none() && !self.passes.has(Passes::HASH_JOIN) && !unit.null_aware {
            return (Method::Loop(loop_inner), loop_rows, looped);
        }
        // Hash: the inner side by itself, once.
        if !self.can_stand_alone(unit) {
            return (Method::Loop(loop_inner), loop_rows, looped);
        }
        let (inner, rows, run) = self.inner(unit, RelSet::EMPTY, false);
        let keyed = self.has_hash_key(unit, state.done);
        let pairs = if keyed { 0.0 } else { state.rows * rows * cost::ROW };
        let hashed = run + rows * cost::BUILD + state.rows * cost::PROBE + pairs + 0.5;
        // Of many rows only hashing is bearable, of few it costs next to nothing.
        let safer = keyed && self.guessed.intersects(unit.rels);
        if unit.null_aware || hint == Some(true) && keyed || hint.is_none() && (hashed < looped || safer) {
            let matches = if keyed { loop_rows } else { rows };
            return (Method::Hash(inner), matches.min(rows.max(loop_rows)), hashed);
        }
        (Method::Loop(loop_inner), loop_rows, looped)
    }

    /// What hints say about hashing a unit.
    fn hash_hint(&self, unit: &Unit) -> Option<bool> {
        let base = self.bases[unit.rels.first()].as_ref();
        if unit.kind == JoinKind::Semi {
            let allowed = base.map_or(u8::MAX, |b| b.hints.semijoin) & self.strategies;
            match (allowed & Semijoin::FIRST_MATCH != 0, allowed & Semijoin::MATERIALIZATION != 0) {
                (true, false) => return Some(false),
                (false, true) => return Some(true),
                _ => {}
            }
        }
        match unit.source {
            UnitSource::Rel(_) => base.and_then(|b| b.hints.hash),
            UnitSource::Nest(..) => None,
        }
    }

    /// The unit does not read what came before through anything but its join conditions.
    fn can_stand_alone(&self, unit: &Unit) -> bool {
        self.reads_within(unit, unit.rels)
    }

    /// Neither lateral derived tables of the unit nor the conditions inside of it read anything but `reach`.
    fn reads_within(&self, unit: &Unit, reach: RelSet) -> bool {
        match &unit.source {
            UnitSource::Rel(i) => !self.lateral.intersects(RelSet::one(*i)) || unit.deps.within(reach),
            UnitSource::Nest(inner, conditions) => {
                let inside = |c: &usize| self.conditions[*c].rels.within(reach);
                conditions.iter().all(inside)
                    && inner.iter().all(|u| u.on.iter().all(inside) && self.reads_within(u, reach))
            }
        }
    }

    fn has_hash_key(&self, unit: &Unit, done: RelSet) -> bool {
        unit.applicable.iter().any(|c| self.hash_key(*c, unit.rels, done).is_some())
    }

    /// Condition `c` can be a hash key between `done` and `inner`; whether its left operand is the outer side's.
    pub(super) fn hash_key(&self, c: usize, inner: RelSet, done: RelSet) -> Option<bool> {
        let (a, b) = self.conditions[c].equal?;
        if a.within(done) && b.within(inner) && !b.is_empty() {
            Some(true)
        } else if b.within(done) && a.within(inner) && !a.is_empty() {
            Some(false)
        } else {
            None
        }
    }

    /// The inner side when `available` is known: plan, rows, cost of one run.
    fn inner(&self, unit: &Unit, available: RelSet, first: bool) -> (Inner, f64, f64) {
        match &unit.source {
            UnitSource::Nest(units, _) => {
                let key = (unit.rels, available);
                let known = self.nests.borrow().get(&key).cloned();
                let order = known.unwrap_or_else(|| {
                    let order = self.order_of_nest(units, available);
                    self.nests.borrow_mut().insert(key, order.clone());
                    order
                });
                let (rows, cost) = (order.rows, order.cost);
                (Inner::Nest(Box::new(order)), rows, cost)
            }
            UnitSource::Rel(i) => match &self.bases[*i] {
                None => {
                    let (rows, cost) = self.others[*i];
                    let share = self.share_of(unit, *i, available);
                    // Kept after the first run.
                    let run = if first { cost } else { rows * cost::KEEP };
                    (Inner::Other, rows * share, run)
                }
                Some(base) => {
                    let cheapest = |paths: &[Path]| paths.iter().min_by(|a, b| a.cost.total_cmp(&b.cost)).cloned();
                    let best = match &self.first {
                        // Where the order of joins is fixed, another relation may come first.
                        Some((wanted, ordered)) if first && wanted == i => cheapest(ordered),
                        _ => {
                            let estimate = |index: usize, ranges: &Ranges| (self.estimate)(*i, index, ranges);
                            cheapest(&base.paths_after(available, self.passes, &estimate))
                        }
                    };
                    match best {
                        Some(path) => {
                            let (rows, cost) = (path.rows, path.cost);
                            (Inner::Path(path), rows, cost)
                        }
                        None => (Inner::Other, base.rows, base.rows),
                    }
                }
            },
        }
    }

    fn order_of_nest(&self, units: &[Unit], available: RelSet) -> JoinOrder {
        let nested = Search {
            bases: self.bases,
            others: self.others,
            conditions: self.conditions,
            passes: self.passes,
            straight: self.straight,
            strategies: self.strategies,
            lateral: self.lateral,
            guessed: self.guessed,
            estimate: self.estimate,
            first: None,
            nests: self.nests,
        };
        nested.order(units, available)
    }

    /// Share of a derived table's rows that pass the conditions which become checkable with it.
    fn share_of(&self, unit: &Unit, rel: usize, available: RelSet) -> f64 {
        let own = RelSet::one(rel);
        let all = available.union(own);
        let checkable = |c: &Condition| c.rels.intersects(own) && c.rels.within(all);
        let conditions = unit.applicable.iter().map(|c| self.conditions[*c]);
        conditions.filter(|c| checkable(c)).fold(1.0, |s, c| s * c.share)
    }
}
