//! Functional dependencies, for ONLY_FULL_GROUP_BY (manual, "Detection of Functional Dependence"): which columns have
//! one value where others have one.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Arena, Block, Body, ColId, From, FromJoin, Query, RelKind};

/// What a condition of a FROM clause says, once all of `guard` is known: the side that may be missing is then missing
/// in all rows of a group or in none.
struct Fact<'b> {
    guard: Vec<ColId>,
    /// Relations of the side that may be missing; `None`: equalities hold in both directions everywhere.
    within: Option<Vec<usize>>,
    condition: &'b Expr,
}

/// Columns that depend on `known`: by unique keys, by equalities in WHERE and ON, and by what holds inside of derived
/// tables, views and common table expressions. `outer`: columns of queries around are constant.
pub(super) fn determined(arena: &Arena, block: &Block, known: Vec<ColId>, outer: bool) -> Vec<ColId> {
    let mut facts = Vec::new();
    for condition in &block.filter {
        facts.push(Fact { guard: Vec::new(), within: None, condition });
    }
    let mut missing = vec![false; block.rels.len()];
    if let Some(from) = &block.from {
        collect(arena, block, from, &[], None, &mut facts, &mut missing);
    }
    let mut rejected = Vec::new();
    for fact in &facts {
        not_null(fact.condition, &mut |id| {
            if fact.within.as_ref().is_none_or(|w| block.rel_of(id).is_some_and(|r| w.contains(&r))) {
                rejected.push(id);
            }
        });
    }
    let mut closure = Closure { arena, block, known, rejected, outer };
    loop {
        let before = closure.known.len();
        facts.iter().for_each(|fact| closure.equality(fact));
        for (rel, weak) in missing.iter().enumerate() {
            closure.relation(rel, *weak);
        }
        for (key, id) in &block.groups {
            if let (ExprKind::Column(column), false) = (&key.kind, block.rollup) {
                closure.link(*column, *id);
            }
        }
        if closure.known.len() == before {
            return closure.known;
        }
    }
}

fn collect<'b>(
    arena: &Arena,
    block: &Block,
    from: &'b From,
    guard: &[ColId],
    within: Option<&[usize]>,
    facts: &mut Vec<Fact<'b>>,
    missing: &mut [bool],
) {
    let From::Join { left, right, kind, on } = from else { return };
    collect(arena, block, left, guard, within, facts, missing);
    let mut side = Vec::new();
    right.rels(&mut side);
    match kind {
        FromJoin::Inner | FromJoin::Straight => {
            collect(arena, block, right, guard, within, facts, missing);
            for condition in on {
                facts.push(Fact { guard: guard.to_vec(), within: within.map(<[usize]>::to_vec), condition });
            }
        }
        FromJoin::Left => {
            side.iter().for_each(|r| missing[*r] = true);
            if !on.iter().all(Expr::is_steady) {
                return;
            }
            let mut guard = guard.to_vec();
            for condition in on {
                arena.columns_of(condition, &mut |id| {
                    if block.rel_of(id).is_some_and(|r| !side.contains(&r)) {
                        guard.push(id);
                    }
                });
            }
            for condition in on {
                facts.push(Fact { guard: guard.clone(), within: Some(side.clone()), condition });
            }
            collect(arena, block, right, &guard, Some(&side), facts, missing);
        }
        FromJoin::Semi | FromJoin::Anti { .. } => {}
    }
}

/// Columns that are not NULL where the condition holds.
fn not_null(e: &Expr, f: &mut impl FnMut(ColId)) {
    match &e.kind {
        ExprKind::And(list) => list.iter().for_each(|e| not_null(e, f)),
        ExprKind::IsNull { arg, negated: true } => strict(arg, f),
        ExprKind::Not(arg) => match &arg.kind {
            ExprKind::IsNull { arg, negated: false } => strict(arg, f),
            _ => strict(e, f),
        },
        // IS TRUE, IS FALSE.
        ExprKind::Case { operand: None, whens, otherwise: Some(other), .. } => {
            let says =
                |e: &Expr, value: i64| matches!(&e.kind, ExprKind::Literal(gannet_types::Value::Int(v)) if *v == value);
            if let [(condition, then)] = &**whens
                && says(then, 1)
                && says(other, 0)
            {
                not_null(condition, f);
            }
        }
        // The operand of IN.
        ExprKind::Subquery(_) => e.for_each_child(|c| strict(c, f)),
        _ => strict(e, f),
    }
}

/// Columns for whose NULL the expression is NULL.
fn strict(e: &Expr, f: &mut impl FnMut(ColId)) {
    match &e.kind {
        ExprKind::Column(id) => f(*id),
        ExprKind::Cast(arg) | ExprKind::Not(arg) => strict(arg, f),
        ExprKind::Compare { op, args, .. } if *op != CompareOp::NullSafeEq => args.iter().for_each(|a| strict(a, f)),
        ExprKind::Between { args, negated: false, .. } => args.iter().for_each(|a| strict(a, f)),
        ExprKind::Between { args, .. } => strict(&args[0], f),
        ExprKind::In { arg, .. } => strict(arg, f),
        ExprKind::Call(def, args) if def.null_propagates => args.iter().for_each(|a| strict(a, f)),
        _ => {}
    }
}

/// The expression is NULL where one of those columns is NULL.
fn is_strict(e: &Expr, of: impl Fn(ColId) -> bool) -> bool {
    let mut found = false;
    strict(e, &mut |id| found |= of(id));
    found
}

struct Closure<'a> {
    arena: &'a Arena,
    block: &'a Block,
    known: Vec<ColId>,
    /// Columns that conditions keep from being NULL.
    rejected: Vec<ColId>,
    outer: bool,
}

impl Closure<'_> {
    fn has(&self, id: ColId) -> bool {
        self.known.contains(&id)
    }

    fn add(&mut self, id: ColId) {
        if !self.has(id) {
            self.known.push(id);
        }
    }

    fn link(&mut self, a: ColId, b: ColId) {
        if self.has(a) || self.has(b) {
            self.add(a);
            self.add(b);
        }
    }

    fn equality(&mut self, fact: &Fact<'_>) {
        if !fact.guard.iter().all(|id| self.has(*id)) {
            return;
        }
        if let ExprKind::IsNull { arg, negated: false } = &fact.condition.kind
            && let ExprKind::Column(id) = arg.kind
            && fact.within.is_none()
        {
            self.add(id);
        }
        let ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, args, .. } = &fact.condition.kind else {
            return;
        };
        let [a, b] = &**args;
        for (x, y) in [(a, b), (b, a)] {
            let ExprKind::Column(target) = x.kind else { continue };
            let Some(rel) = self.block.rel_of(target) else { continue };
            if fact.within.as_ref().is_some_and(|w| !w.contains(&rel)) {
                continue;
            }
            let fixed = match &y.kind {
                ExprKind::Column(source) => self.has(*source) || (self.outer && self.block.rel_of(*source).is_none()),
                _ => y.is_execution_constant(),
            };
            if fixed {
                self.add(target);
            }
        }
    }

    /// What the columns of one relation say of its others. `weak`: an outer join may leave it out.
    fn relation(&mut self, position: usize, weak: bool) {
        let rel = &self.block.rels[position];
        let whole = rel.first..rel.first + rel.width;
        if whole.clone().all(|id| self.has(id)) {
            return;
        }
        let query = match &rel.kind {
            RelKind::Base(slot) => {
                self.generated(*slot, rel.first, weak);
                let table = &self.arena.tables[*slot as usize].table;
                let fixes = |index: &gannet_schema::Index| {
                    index.unique()
                        && index.parts.iter().all(|part| {
                            let id = rel.first + part.column;
                            let nullable = table.columns[part.column as usize].nullable;
                            part.prefix.is_none() && self.has(id) && (!nullable || self.rejected.contains(&id))
                        })
                };
                if table.indexes.iter().any(fixes) {
                    whole.for_each(|id| self.add(id));
                }
                return;
            }
            RelKind::Derived(query) => &**query,
            RelKind::Cte(number) => match &self.arena.ctes[*number as usize] {
                cte if cte.recursive.is_some() => return,
                cte => match &cte.base {
                    Some(query) => query,
                    None => return,
                },
            },
        };
        for id in self.inside(query, rel.first, weak) {
            self.add(id);
        }
    }

    /// Generated columns of a table whose columns are known that they are made of. Each is made of earlier ones only.
    fn generated(&mut self, slot: u32, first: ColId, weak: bool) {
        let table = &self.arena.tables[slot as usize].table;
        if !table.columns.iter().any(|c| c.generated.is_some()) {
            return;
        }
        // What cannot be bound any more is an error of the statements that compute it.
        let Some(Ok(exprs)) = self.arena.bind_exprs.map(|bind| bind(table)) else { return };
        for (column, expr) in &exprs.generated {
            let mut fixed = expr.is_steady();
            self.arena.columns_of(expr, &mut |c| fixed &= self.has(first + c));
            if fixed && (!weak || is_strict(expr, |_| true)) {
                self.add(first + *column);
            }
        }
    }

    /// Columns of a query in FROM that are fixed when the known ones of its columns are.
    fn inside(&self, query: &Query, first: ColId, weak: bool) -> Vec<ColId> {
        let Body::Block(inner) = &query.body else { return Vec::new() };
        if inner.rollup || inner.items.len() != query.columns.len() {
            return Vec::new();
        }
        let mut known = Vec::new();
        let mut tells_missing = !weak;
        for (i, item) in inner.items.iter().enumerate() {
            if self.has(first + i as ColId) {
                // A row that the outer join made up is then told from others.
                tells_missing |= !item.expr.ty.nullable;
                known.push(item.id);
                if let ExprKind::Column(id) = item.expr.kind {
                    known.push(id);
                }
            }
        }
        // Else only what is NULL where a known column is NULL is the same in rows that the outer join made up.
        let given = known.clone();
        let told = |e: &Expr| tells_missing || is_strict(e, |id| given.contains(&id));
        if !tells_missing && given.is_empty() {
            return Vec::new();
        }
        let known = determined(self.arena, inner, known, false);
        let one = inner.aggregated && inner.groups.iter().all(|(_, id)| known.contains(id));
        let fixed = |e: &Expr| {
            let mut all = e.is_steady();
            self.arena.columns_of(e, &mut |id| all &= known.contains(&id));
            all
        };
        let items = inner.items.iter().enumerate();
        items
            .filter(|(_, item)| ((one && item.expr.is_steady()) || fixed(&item.expr)) && told(&item.expr))
            .map(|(i, _)| first + i as ColId)
            .collect()
    }
}
