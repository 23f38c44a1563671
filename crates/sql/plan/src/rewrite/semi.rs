//! IN and EXISTS subqueries of WHERE become semijoins, their negations antijoins, where the subquery is a plain
//! selection.

use crate::expr::{CompareOp, Expr, ExprKind, Subquery, SubqueryKind};
use crate::logical::{Arena, Block, Body, From, FromJoin, Query, RelKind};
use crate::make::predicate;
use crate::physical::LockStrength;

/// Relations a block may have after the rewrite.
const MAX_RELS: usize = 60;

pub(super) fn block(arena: &mut Arena, block: &mut Block) {
    if block.from.is_none() {
        return;
    }
    let filter = std::mem::take(&mut block.filter);
    for e in filter {
        match e.kind {
            ExprKind::Subquery(subquery) => {
                if let Err(subquery) = convert(arena, block, *subquery) {
                    let kind = ExprKind::Subquery(Box::new(subquery));
                    block.filter.push(Expr { kind, ty: e.ty });
                }
            }
            kind => block.filter.push(Expr { kind, ty: e.ty }),
        }
    }
}

/// Adds the join, or gives the subquery back.
fn convert(arena: &mut Arena, block: &mut Block, subquery: Subquery) -> Result<(), Subquery> {
    let kind = match &subquery.kind {
        SubqueryKind::Exists { negated: false } | SubqueryKind::In { negated: false, .. } => FromJoin::Semi,
        SubqueryKind::Exists { negated: true } => FromJoin::Anti { null_aware: false },
        SubqueryKind::In { negated: true, needle, .. } => {
            let sub = &arena.subqueries[subquery.subplan as usize];
            let Body::Block(inner) = &sub.query.body else { return Err(subquery) };
            let nullable = needle.iter().any(|n| n.ty.nullable) || inner.items.iter().any(|i| i.expr.ty.nullable);
            // NULLs make NOT IN unknown; only a hash join over an uncorrelated single column knows how. Either side
            // without columns of its own (those of a query around are none) would make the equality a condition of one
            // side, not a key of the join.
            let constant = |e: &Expr, of: &Block| !arena.reads(e, |id| of.rel_of(id).is_some());
            let keyless =
                needle.iter().any(|n| constant(n, block)) || inner.items.iter().any(|i| constant(&i.expr, inner));
            if nullable && (needle.len() > 1 || !sub.free.is_empty() || keyless) {
                return Err(subquery);
            }
            FromJoin::Anti { null_aware: nullable }
        }
        _ => return Err(subquery),
    };
    let sub = &arena.subqueries[subquery.subplan as usize];
    let off = matches!(&sub.query.body, Body::Block(b) if b.semijoin.off);
    let varies = arena.query_varies(&sub.query)
        || matches!(&subquery.kind, SubqueryKind::In { needle, .. } if needle.iter().any(|n| arena.varies(n)));
    if off || varies || !is_plain(&sub.query, block) || nested_subquery(&subquery) {
        return Err(subquery);
    }
    let place = subquery.subplan as usize;
    let Body::Block(inner) = std::mem::replace(&mut arena.subqueries[place].query.body, Body::Values(Vec::new()))
    else {
        return Err(subquery);
    };
    arena.subqueries[place].free.clear();
    let inner = *inner;
    let mut on = inner.filter;
    if let SubqueryKind::In { needle, by, .. } = subquery.kind {
        for ((needle, by), item) in needle.into_iter().zip(by).zip(inner.items) {
            let nullable = needle.ty.nullable || item.expr.ty.nullable;
            let args = Box::new([needle, item.expr]);
            on.push(predicate(ExprKind::Compare { op: CompareOp::Eq, by, args }, nullable));
        }
    }
    let base = block.rels.len();
    block.orders.extend(inner.orders);
    let strategies = inner.semijoin.strategies;
    block.rels.extend(inner.rels.into_iter().map(|mut rel| {
        rel.hints.semijoin = strategies;
        rel
    }));
    let (Some(left), Some(right)) = (block.from.take(), inner.from) else { return Ok(()) };
    block.from = Some(From::Join { left: Box::new(left), right: Box::new(shift(right, base)), kind, on });
    Ok(())
}

fn shift(from: From, by: usize) -> From {
    match from {
        From::Rel(i) => From::Rel(i + by),
        From::Join { left, right, kind, on } => {
            From::Join { left: Box::new(shift(*left, by)), right: Box::new(shift(*right, by)), kind, on }
        }
    }
}

fn is_plain(query: &Query, outer: &Block) -> bool {
    let Body::Block(block) = &query.body else { return false };
    let locks = block.rels.iter().any(|r| matches!(r.lock.strength, LockStrength::Exclusive | LockStrength::Shared));
    let derived = block.rels.iter().any(|r| !matches!(r.kind, RelKind::Base(_)));
    block.from.is_some()
        && !block.aggregated
        && block.limit.is_none()
        && query.limit.is_none()
        && block.windows.is_empty()
        && block.having.is_empty()
        && !block.straight
        && !locks
        && !derived
        && block.rels.len() + outer.rels.len() <= MAX_RELS
}

/// The needle holds a subquery of its own: left alone.
fn nested_subquery(subquery: &Subquery) -> bool {
    match &subquery.kind {
        SubqueryKind::In { needle, .. } => {
            needle.iter().any(|n| n.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_))))
        }
        _ => false,
    }
}
