//! Rewrites of bound queries, before orders of execution are compared. Each is a pass with a name and a switch.

mod equal;
pub(crate) mod merge;
mod outer;
mod semi;

use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, ColId, Query, RelKind};
use crate::options::{Passes, PlanOptions};

pub(crate) use equal::propagate;

/// Runs the passes over a query and everything inside it.
pub(crate) fn query(arena: &mut Arena, query: &mut Query, options: &PlanOptions<'_>) {
    merge::inline_ctes(arena, query);
    inline_in_subqueries(arena);
    let merging = if options.passes.has(Passes::DERIVED_MERGE) { merge::query } else { merge::hinted };
    merging(arena, query);
    for_each_part(arena, merging);
    substitute_all(arena, query);
    blocks(arena, query, options);
    for_each_part(arena, |arena, q| blocks(arena, q, options));
}

/// Runs the passes over the block of an UPDATE or DELETE.
pub(crate) fn block(arena: &mut Arena, block: &mut Block, options: &PlanOptions<'_>) {
    inline_in_subqueries(arena);
    if options.passes.has(Passes::DERIVED_MERGE) {
        merge::block(arena, block);
        for_each_part(arena, merge::query);
    }
    let replaced = std::mem::take(&mut arena.replaced);
    block.for_each_expr_mut(&mut |e| substitute(e, &replaced));
    arena.replaced = replaced;
    substitute_parts(arena);
    one_block(arena, block, options);
    for_each_part(arena, |arena, q| blocks(arena, q, options));
}

/// Runs the passes over the subqueries of a statement whose own part has none (INSERT ... VALUES).
pub(crate) fn parts(arena: &mut Arena, options: &PlanOptions<'_>) {
    inline_in_subqueries(arena);
    if options.passes.has(Passes::DERIVED_MERGE) {
        for_each_part(arena, merge::query);
    }
    substitute_parts(arena);
    for_each_part(arena, |arena, q| blocks(arena, q, options));
}

/// A common table expression that reads a row outside of its subquery can only run in the place of its one user.
fn inline_in_subqueries(arena: &mut Arena) {
    let mut subqueries = std::mem::take(&mut arena.subqueries);
    for sub in &mut subqueries {
        merge::inline_ctes(arena, &mut sub.query);
    }
    arena.subqueries = subqueries;
}

/// Runs `f` on each subquery and common table expression; the part is taken out of the arena meanwhile.
fn for_each_part(arena: &mut Arena, mut f: impl FnMut(&mut Arena, &mut Query)) {
    for i in 0..arena.subqueries.len() {
        let mut query = std::mem::replace(&mut arena.subqueries[i].query, nothing());
        f(arena, &mut query);
        arena.subqueries[i].query = query;
        let free = arena.free_columns(&arena.subqueries[i].query);
        arena.subqueries[i].free = free;
    }
    for i in 0..arena.ctes.len() {
        for recursive in [false, true] {
            let part = |a: &mut Arena| {
                let cte = &mut a.ctes[i];
                if recursive { cte.recursive.take() } else { cte.base.take() }
            };
            if let Some(mut query) = part(arena) {
                f(arena, &mut query);
                let cte = &mut arena.ctes[i];
                if recursive {
                    cte.recursive = Some(query);
                } else {
                    cte.base = Some(query);
                }
            }
        }
    }
}

fn nothing() -> Query {
    Query {
        body: Body::Values(Vec::new()),
        columns: Vec::new(),
        order: Vec::new(),
        limit: None,
        offset: None,
        select: 0,
    }
}

pub(crate) type Replaced = std::collections::HashMap<ColId, Expr>;

/// Puts what merged columns stand for in their place.
pub(crate) fn substitute(e: &mut Expr, replaced: &Replaced) {
    if let ExprKind::Column(id) = e.kind
        && let Some(by) = replaced.get(&id)
    {
        let nullable = e.ty.nullable;
        *e = by.clone();
        e.ty.nullable |= nullable;
        return substitute(e, replaced);
    }
    e.for_each_child_mut(|c| substitute(c, replaced));
}

fn substitute_parts(arena: &mut Arena) {
    let replaced = std::mem::take(&mut arena.replaced);
    if !replaced.is_empty() {
        for sub in &mut arena.subqueries {
            sub.query.for_each_expr_mut(&mut |e| substitute(e, &replaced));
        }
        for cte in &mut arena.ctes {
            for part in cte.base.iter_mut().chain(&mut cte.recursive) {
                part.for_each_expr_mut(&mut |e| substitute(e, &replaced));
            }
        }
        arena.find_free();
    }
    arena.replaced = replaced;
}

fn substitute_all(arena: &mut Arena, query: &mut Query) {
    let replaced = std::mem::take(&mut arena.replaced);
    if !replaced.is_empty() {
        query.for_each_expr_mut(&mut |e| substitute(e, &replaced));
    }
    arena.replaced = replaced;
    substitute_parts(arena);
}

/// Runs the passes over single blocks.
fn blocks(arena: &mut Arena, query: &mut Query, options: &PlanOptions<'_>) {
    match &mut query.body {
        Body::Block(block) => one_block(arena, block, options),
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| blocks(arena, q, options)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

fn one_block(arena: &mut Arena, block: &mut Block, options: &PlanOptions<'_>) {
    for rel in &mut block.rels {
        if let RelKind::Derived(query) = &mut rel.kind {
            blocks(arena, query, options);
        }
    }
    if options.passes.has(Passes::OUTER_TO_INNER) {
        outer::block(arena, block);
    }
    if options.passes.has(Passes::SEMIJOIN) {
        semi::block(arena, block);
    }
    push_into_derived(arena, block, options);
}

/// Conditions on a derived table alone move into it where that changes nothing but the work: below a GROUP BY when they
/// read keys only, below windows when they read what all of these partition by, into every part of a UNION.
fn push_into_derived(arena: &mut Arena, block: &mut Block, options: &PlanOptions<'_>) {
    if !options.passes.has(Passes::PUSHDOWN) {
        return;
    }
    for (rel, e) in equal::demands_of_derived(block) {
        let first = block.rels[rel].first;
        if is_nullable_side(block, rel) {
            continue;
        }
        if let RelKind::Derived(query) = &mut block.rels[rel].kind {
            push(arena, query, &e, first);
        }
    }
    let filter = std::mem::take(&mut block.filter);
    for e in filter {
        let mut rels = Vec::new();
        arena.columns_of(&e, &mut |id| rels.push(block.rel_of(id)));
        let single = match rels.first() {
            Some(Some(first)) if rels.iter().all(|r| *r == Some(*first)) => Some(*first),
            _ => None,
        };
        let pushed = match single {
            Some(rel) if e.is_steady() && !is_nullable_side(block, rel) => {
                let first = block.rels[rel].first;
                match &mut block.rels[rel].kind {
                    RelKind::Derived(query) => push(arena, query, &e, first),
                    _ => false,
                }
            }
            _ => false,
        };
        if !pushed {
            block.filter.push(e);
        }
    }
}

/// The relation is on the inner side of an outer join.
fn is_nullable_side(block: &Block, rel: usize) -> bool {
    use crate::logical::{From, FromJoin};
    fn inside(from: &From, rel: usize) -> bool {
        let From::Join { left, right, kind, .. } = from else { return false };
        let mut below = Vec::new();
        right.rels(&mut below);
        let on_right = below.contains(&rel);
        if on_right && !matches!(kind, FromJoin::Inner | FromJoin::Straight) {
            return true;
        }
        inside(left, rel) || inside(right, rel)
    }
    block.from.as_ref().is_some_and(|f| inside(f, rel))
}

/// Adds a condition over a query's columns (`first` + position) to the query; false when it has to stay outside.
fn push(arena: &mut Arena, query: &mut Query, e: &Expr, first: ColId) -> bool {
    // What varies in the query is computed for all of its rows, once for each.
    if query.limit.is_some() || arena.query_varies(query) {
        return false;
    }
    let width = query.columns.len() as u32;
    match &mut query.body {
        Body::Block(block) => {
            if block.limit.is_some() || block.rollup || block.calc_found_rows {
                return false;
            }
            let moved = over_items(block, e, first, width);
            if !below_windows(arena, block, &moved) || block.distinct && !same_for_equals(e) {
                return false;
            }
            let mut moved = moved;
            if !block.aggregated {
                if block.distinct || block.from.is_some() {
                    crate::logical::conjuncts(moved, &mut block.filter);
                    return true;
                }
                return false;
            }
            let mut keys_only = same_for_equals(&moved);
            arena.columns_of(&moved, &mut |id| keys_only &= block.groups.iter().any(|(_, k)| *k == id));
            if !keys_only || block.groups.is_empty() {
                crate::logical::conjuncts(moved, &mut block.having);
                return true;
            }
            let keys: Replaced = block.groups.iter().map(|(k, id)| (*id, k.clone())).collect();
            // A key that is a plain column keeps its id: nothing to replace.
            let computed = keys.into_iter().filter(|(id, k)| k.kind != ExprKind::Column(*id)).collect();
            substitute(&mut moved, &computed);
            crate::logical::conjuncts(moved, &mut block.filter);
            true
        }
        Body::Set { inputs, kind: crate::physical::SetOperation::Union, distinct, .. } if query.offset.is_none() => {
            if *distinct && !same_for_equals(e) {
                return false;
            }
            // All or none: a part that cannot take it would need it outside.
            let takes = |q: &Query| match &q.body {
                Body::Block(b) => {
                    let plain = q.limit.is_none() && b.limit.is_none() && !b.rollup && b.from.is_some();
                    plain
                        && !b.calc_found_rows
                        && below_windows(arena, b, &over_items(b, e, first, width))
                        && (!b.distinct || same_for_equals(e))
                }
                _ => false,
            };
            if !inputs.iter().all(takes) {
                return false;
            }
            inputs.iter_mut().all(|q| push(arena, q, e, first))
        }
        _ => false,
    }
}

/// A condition over a query's columns (`first` + position) over what these are in its block.
fn over_items(block: &Block, e: &Expr, first: ColId, width: u32) -> Expr {
    let mut moved = e.clone();
    let replaced: Replaced = (0..width).zip(&block.items).map(|(i, item)| (first + i, item.expr.clone())).collect();
    substitute(&mut moved, &replaced);
    moved
}

/// The condition keeps or drops whole partitions of all windows: it may be asked before they are computed.
fn below_windows(arena: &Arena, block: &Block, e: &Expr) -> bool {
    if block.windows.is_empty() {
        return true;
    }
    let mut whole = same_for_equals(e);
    arena.columns_of(e, &mut |id| {
        let by = |key: &Expr| key.kind == ExprKind::Column(id);
        whole &= block.windows.iter().all(|w| w.partition.iter().any(by));
    });
    whole
}

/// The condition says the same of values that are equal in groups, partitions and distinct rows, though they may differ
/// (`'a'` and `'A'` under a collation, 0 and -0): it reads none that differ, or compares them as these do.
fn same_for_equals(e: &Expr) -> bool {
    let compared = |by: &crate::expr::Comparison, arg: &Expr| match arg.kind {
        ExprKind::Column(_) => *by == crate::typing::natural(&arg.ty) || is_exact(&arg.ty),
        _ => same_for_equals(arg),
    };
    match &e.kind {
        ExprKind::Column(_) => is_exact(&e.ty),
        ExprKind::Compare { by, args, .. } => args.iter().all(|a| compared(by, a)),
        ExprKind::Between { by, args, .. } => args.iter().all(|a| compared(by, a)),
        ExprKind::In { by, arg, list, .. } => compared(by, arg) && list.iter().all(|a| compared(by, a)),
        ExprKind::IsNull { arg, .. } if matches!(arg.kind, ExprKind::Column(_)) => true,
        _ => {
            let mut all = true;
            e.for_each_child(|c| all = all && same_for_equals(c));
            all
        }
    }
}

/// Equal values of the type are the same in every respect.
fn is_exact(ty: &gannet_types::SqlType) -> bool {
    use gannet_types::TypeId as T;
    let number = ty.id.is_integer() || matches!(ty.id, T::Decimal | T::Bit | T::Year);
    number || ty.id.is_binary_string() || matches!(ty.id, T::Date | T::DateTime | T::Timestamp | T::Time)
}
