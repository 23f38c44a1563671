//! Derived tables and common table expressions become part of the query around them.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, ColId, From, FromJoin, Query, Rel, RelKind};

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

/// Merges the views among the relations, which is how a statement reaches the tables below them.
pub(crate) fn views(arena: &mut Arena, block: &mut Block) {
    merge_rels(arena, block, |rel| rel.view.is_some());
}

/// The query can be merged where no outer join makes its columns NULL.
pub(crate) fn can_merge(query: &Query) -> bool {
    is_mergeable(query, false)
}

/// Derived tables are merged unless a hint says otherwise.
pub(crate) fn query(arena: &mut Arena, query: &mut Query) {
    query_where(arena, query, unless_refused);
}

/// Only those are merged which a hint names.
pub(super) fn hinted(arena: &mut Arena, query: &mut Query) {
    query_where(arena, query, where_asked);
}

fn unless_refused(rel: &Rel) -> bool {
    rel.hints.merge != Some(false)
}

fn where_asked(rel: &Rel) -> bool {
    rel.hints.merge == Some(true)
}

fn query_where(arena: &mut Arena, query: &mut Query, wanted: fn(&Rel) -> bool) {
    match &mut query.body {
        Body::Block(b) => block_where(arena, b, wanted),
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| query_where(arena, q, wanted)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

/// Merges the derived tables of a block that are plain selections, innermost first.
pub(super) fn block(arena: &mut Arena, block: &mut Block) {
    block_where(arena, block, unless_refused);
}

fn block_where(arena: &mut Arena, block: &mut Block, wanted: fn(&Rel) -> bool) {
    for rel in &mut block.rels {
        if let RelKind::Derived(inner) = &mut rel.kind {
            query_where(arena, inner, wanted);
        }
    }
    merge_rels(arena, block, wanted);
}

fn merge_rels(arena: &mut Arena, block: &mut Block, wanted: fn(&Rel) -> bool) {
    keep_order(block, wanted);
    let Some(from) = block.from.take() else { return };
    let rels = std::mem::take(&mut block.rels);
    let rels = rels.into_iter().map(Some).collect();
    let mut merger = Merger { arena, rels, merged: Vec::new(), filter: Vec::new(), orders: Vec::new(), wanted };
    let mut outer_filter = Vec::new();
    let from = merger.from(from, false, &mut outer_filter);
    block.rels = merger.merged;
    block.orders.append(&mut merger.orders);
    block.filter.append(&mut outer_filter);
    block.from = Some(from);
}

/// The order of an only derived table is the query's, unless that has one of its own or loses it by grouping.
fn keep_order(block: &mut Block, wanted: fn(&Rel) -> bool) {
    let [rel @ Rel { kind: RelKind::Derived(inner), .. }] = &block.rels[..] else { return };
    if !wanted(rel) {
        return;
    }
    let Body::Block(below) = &inner.body else { return };
    let free = block.order.is_empty() && !block.aggregated && !block.distinct && block.windows.is_empty();
    if free && is_mergeable(inner, false) {
        block.order = below.order.clone();
    }
}

struct Merger<'a> {
    arena: &'a mut Arena,
    rels: Vec<Option<Rel>>,
    merged: Vec<Rel>,
    filter: Vec<Expr>,
    orders: Vec<crate::logical::OrderHint>,
    wanted: fn(&Rel) -> bool,
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
                let wanted = (self.wanted)(&rel);
                match rel.kind {
                    RelKind::Derived(inner) if wanted && is_mergeable(&inner, nullable) => {
                        self.merge(*inner, rel.first, filter)
                    }
                    mut kind => {
                        if let RelKind::Derived(inner) = &mut kind {
                            settle(self.arena, inner);
                        }
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
        self.orders.extend(block.orders);
        self.merged.extend(block.rels);
        self.filter.clear();
        match block.from {
            Some(from) => shift(from, base),
            None => unreachable!("is_mergeable saw a FROM"),
        }
    }
}

/// Columns of tables that are kept have their types' digits; expressions that are merged compute with their own.
fn settle(arena: &Arena, query: &mut Query) {
    let block = match &mut query.body {
        Body::Block(block) => block,
        Body::Set { inputs, .. } => return inputs.iter_mut().for_each(|q| settle(arena, q)),
        Body::Values(_) | Body::Json(..) => return,
    };
    for item in &mut block.items {
        let computed = |id: &ColId| arena.replaced.contains_key(id) || block.aggregates.iter().any(|(_, a)| a == id);
        let finer = item.expr.ty.id == gannet_types::TypeId::Decimal
            && item.expr.any(&mut |e| match &e.kind {
                ExprKind::Call(def, _) => def.name == "/" || CHOICES.contains(&def.name),
                ExprKind::Case { .. } => true,
                ExprKind::Column(id) => computed(id),
                ExprKind::Literal(gannet_types::Value::Decimal(d)) => d.scale() > e.ty.scale,
                _ => false,
            });
        if finer && !matches!(item.expr.kind, ExprKind::Cast(_)) {
            let ty = item.expr.ty.clone();
            let inner = std::mem::replace(
                &mut item.expr,
                Expr { kind: ExprKind::Literal(gannet_types::Value::Null), ty: ty.clone() },
            );
            item.expr = Expr { kind: ExprKind::Cast(Box::new(inner)), ty };
        }
    }
}

/// What they choose keeps its own digits.
const CHOICES: [&str; 6] = ["IF", "IFNULL", "COALESCE", "NULLIF", "GREATEST", "LEAST"];

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
        && !block.kept
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
