//! Derived tables and common table expressions become part of the query around them.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, From, FromJoin, Query, Rel, RelKind};

/// Common table expressions with one user become derived tables of it.
pub(super) fn inline_ctes(arena: &mut Arena, query: &mut Query) {
    match &mut query.body {
        Body::Block(block) => {
            for rel in &mut block.rels {
                if let RelKind::Cte(number) = rel.kind {
                    let cte = &mut arena.ctes[number as usize];
                    if cte.uses == 1
                        && cte.recursive.is_none()
                        && let Some(base) = cte.base.take()
                    {
                        rel.kind = RelKind::Derived(Box::new(base));
                    }
                }
                if let RelKind::Derived(inner) = &mut rel.kind {
                    inline_ctes(arena, inner);
                }
            }
        }
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| inline_ctes(arena, q)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

pub(super) fn query(arena: &mut Arena, query: &mut Query) {
    match &mut query.body {
        Body::Block(b) => block(arena, b),
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| self::query(arena, q)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

/// Merges the derived tables of a block that are plain selections, innermost first.
pub(super) fn block(arena: &mut Arena, block: &mut Block) {
    for rel in &mut block.rels {
        if let RelKind::Derived(inner) = &mut rel.kind {
            query(arena, inner);
        }
    }
    let Some(from) = block.from.take() else { return };
    let rels = std::mem::take(&mut block.rels);
    let mut merger =
        Merger { arena, rels: rels.into_iter().map(Some).collect(), merged: Vec::new(), filter: Vec::new() };
    let mut outer_filter = Vec::new();
    let from = merger.from(from, false, &mut outer_filter);
    block.rels = merger.merged;
    block.filter.append(&mut outer_filter);
    block.from = Some(from);
}

struct Merger<'a> {
    arena: &'a mut Arena,
    rels: Vec<Option<Rel>>,
    merged: Vec<Rel>,
    filter: Vec<Expr>,
}

impl Merger<'_> {
    /// Rebuilds the tree. `nullable`: below the inner side of an outer join. Conditions of merged tables go to `filter`.
    fn from(&mut self, from: From, nullable: bool, filter: &mut Vec<Expr>) -> From {
        match from {
            From::Join { left, right, kind, mut on } => {
                let left = Box::new(self.from(*left, nullable, filter));
                let right = match kind {
                    FromJoin::Inner | FromJoin::Straight => self.from(*right, nullable, filter),
                    _ => self.from(*right, true, &mut on),
                };
                From::Join { left, right: Box::new(right), kind, on }
            }
            From::Rel(i) => {
                let Some(rel) = self.rels[i].take() else { return From::Rel(i) };
                match rel.kind {
                    RelKind::Derived(inner) if is_mergeable(&inner, nullable) => self.merge(*inner, rel.first, filter),
                    kind => {
                        self.merged.push(Rel { kind, ..rel });
                        From::Rel(self.merged.len() - 1)
                    }
                }
            }
        }
    }

    fn merge(&mut self, inner: Query, first: u32, filter: &mut Vec<Expr>) -> From {
        let Body::Block(block) = inner.body else { unreachable!("is_mergeable saw a block") };
        let block = *block;
        for (i, item) in block.items.into_iter().enumerate() {
            self.arena.replaced.insert(first + i as u32, item.expr.clone());
            self.arena.replaced.insert(item.id, item.expr);
        }
        filter.extend(block.filter);
        let base = self.merged.len();
        self.merged.extend(block.rels);
        self.filter.clear();
        match block.from {
            Some(from) => shift(from, base),
            None => unreachable!("is_mergeable saw a FROM"),
        }
    }
}

fn shift(from: From, by: usize) -> From {
    match from {
        From::Rel(i) => From::Rel(i + by),
        From::Join { left, right, kind, on } => {
            From::Join { left: Box::new(shift(*left, by)), right: Box::new(shift(*right, by)), kind, on }
        }
    }
}

fn is_mergeable(query: &Query, nullable: bool) -> bool {
    let Body::Block(block) = &query.body else { return false };
    let plain = block.from.is_some()
        && !block.aggregated
        && !block.distinct
        && !block.straight
        && !block.calc_found_rows
        && block.limit.is_none()
        && block.windows.is_empty()
        && block.having.is_empty()
        && query.limit.is_none();
    let steady = |e: &Expr| {
        !e.any(&mut |e| match &e.kind {
            ExprKind::Call(def, _) => def.stability == gannet_functions::Stability::Volatile,
            ExprKind::UserVar(_) | ExprKind::SetUserVar(..) | ExprKind::Subquery(_) => true,
            _ => false,
        })
    };
    // NULLs of an outer join come from columns only.
    let column = |e: &Expr| matches!(e.kind, ExprKind::Column(_));
    plain && block.items.iter().all(|i| steady(&i.expr) && (!nullable || column(&i.expr)))
}
