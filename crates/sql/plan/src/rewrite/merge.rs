//! Derived tables and common table expressions become part of the query around them.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, ColId, From, FromJoin, Measure, Query, Rel, RelKind};
use std::collections::HashMap;

/// Common table expressions inside of each other that become derived tables: the others stay what they are, so that a
/// long list in which each reads the one before is no deep tree.
const MAX_INLINED: u32 = 32;
/// Relations of a block at most, as in MySQL: more are not merged into it.
const MAX_RELATIONS: usize = 61;
/// Greatest height of an expression that replaces a merged column. It adds to the height of each expression which
/// reads the column.
const MAX_HEIGHT: u32 = 64;
/// Nodes of such an expression that are repeated wherever the column is read.
const MAX_SIZE: u64 = 64;
/// Nodes that larger ones may add to a block.
const MAX_ADDED: u64 = 100_000;

/// Common table expressions with one user become derived tables of it.
pub(super) fn inline_ctes(arena: &mut Arena, query: &mut Query) {
    inline_below(arena, query, 0);
}

fn inline_below(arena: &mut Arena, query: &mut Query, depth: u32) {
    match &mut query.body {
        Body::Block(block) => {
            for rel in &mut block.rels {
                let mut below = depth;
                if let RelKind::Cte(number) = rel.kind
                    && depth < MAX_INLINED
                {
                    let cte = &mut arena.ctes[number as usize];
                    if cte.uses == 1
                        && cte.recursive.is_none()
                        && let Some(base) = cte.base.take()
                    {
                        rel.kind = RelKind::Derived(Box::new(base));
                        below += 1;
                    }
                }
                if let RelKind::Derived(inner) = &mut rel.kind {
                    inline_below(arena, inner, below);
                }
            }
        }
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| inline_below(arena, q, depth)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

/// Merges the views among the relations, which is how a statement reaches the tables below them.
pub(crate) fn views(arena: &mut Arena, block: &mut Block) {
    merge_rels(arena, block, |_, rel| rel.view.is_some(), true);
}

/// The query can be merged where no outer join makes its columns NULL.
pub(crate) fn can_merge(query: &Query) -> bool {
    selects_plainly(query, |_, e| e.is_steady())
}

/// The query can be merged into an UPDATE or DELETE, which reach its tables only so. What its columns compute may vary,
/// and may be a subquery that depends on nothing.
pub(crate) fn can_change(arena: &Arena, query: &Query) -> bool {
    is_changeable(arena, query, false)
}

/// The query does nothing but select rows, whatever its columns are.
pub(crate) fn selects_rows(query: &Query) -> bool {
    selects_plainly(query, |_, _| true)
}

/// Derived tables are merged unless a hint says otherwise.
pub(crate) fn query(arena: &mut Arena, query: &mut Query) {
    query_where(arena, query, unless_refused, false);
}

/// Only those are merged which a hint names.
pub(super) fn hinted(arena: &mut Arena, query: &mut Query) {
    query_where(arena, query, where_asked, false);
}

/// As [`query`] for the query of a view that is changed: nothing but merging leads to the tables. Those in derived
/// tables are not reached. `inserted`: rows are made, of which no column is computed.
pub(crate) fn view(arena: &mut Arena, query: &mut Query, inserted: bool) {
    query_where(arena, query, |_, rel| rel.view.is_some() && rel.hints.merge != Some(false), !inserted);
}

/// Whether a derived table is to be merged, if it can be.
type Wanted = fn(&Arena, &Rel) -> bool;

fn unless_refused(arena: &Arena, rel: &Rel) -> bool {
    rel.hints.merge != Some(false) && !order_tells(arena, rel)
}

fn where_asked(arena: &Arena, rel: &Rel) -> bool {
    rel.hints.merge == Some(true) && !order_tells(arena, rel)
}

fn query_where(arena: &mut Arena, query: &mut Query, wanted: Wanted, changed: bool) {
    match &mut query.body {
        Body::Block(b) => block_where(arena, b, wanted, changed),
        Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| query_where(arena, q, wanted, changed)),
        Body::Values(_) | Body::Json(..) => {}
    }
}

/// Merges the derived tables of a block that are plain selections, innermost first.
pub(super) fn block(arena: &mut Arena, block: &mut Block) {
    block_where(arena, block, unless_refused, false);
}

fn block_where(arena: &mut Arena, block: &mut Block, wanted: Wanted, changed: bool) {
    for rel in &mut block.rels {
        if let RelKind::Derived(inner) = &mut rel.kind {
            query_where(arena, inner, wanted, changed);
        }
    }
    merge_rels(arena, block, wanted, changed);
}

fn merge_rels(arena: &mut Arena, block: &mut Block, wanted: Wanted, changed: bool) {
    keep_order(arena, block, wanted);
    let uses = uses(arena, block);
    let Some(from) = block.from.take() else { return };
    let rels = std::mem::take(&mut block.rels);
    let total = rels.len();
    let rels = rels.into_iter().map(Some).collect();
    let (merged, filter, orders) = (Vec::new(), Vec::new(), Vec::new());
    let mut merger = Merger { arena, rels, merged, filter, orders, wanted, changed, uses, total, added: 0 };
    let mut outer_filter = Vec::new();
    let from = merger.from(from, false, &mut outer_filter);
    block.rels = merger.merged;
    block.orders.append(&mut merger.orders);
    block.filter.append(&mut outer_filter);
    block.from = Some(from);
}

/// The order of an only derived table is the query's, unless that has one of its own or loses it by grouping.
fn keep_order(arena: &Arena, block: &mut Block, wanted: Wanted) {
    let [rel @ Rel { kind: RelKind::Derived(inner), .. }] = &block.rels[..] else { return };
    if !wanted(arena, rel) {
        return;
    }
    let Body::Block(below) = &inner.body else { return };
    let free = block.order.is_empty() && !block.aggregated && !block.distinct && block.windows.is_empty();
    if free && can_merge(inner) {
        block.order = below.order.clone();
    }
}

struct Merger<'a> {
    arena: &'a mut Arena,
    rels: Vec<Option<Rel>>,
    merged: Vec<Rel>,
    filter: Vec<Expr>,
    orders: Vec<crate::logical::OrderHint>,
    wanted: Wanted,
    /// The statement changes rows of what is merged.
    changed: bool,
    /// How often the block reads columns of derived tables.
    uses: HashMap<ColId, u64>,
    /// Relations that the block has.
    total: usize,
    /// Nodes that merged columns of some size have added to the block.
    added: u64,
}

impl Merger<'_> {
    /// Rebuilds the tree. `nullable`: below the inner side of an outer join. Conditions of merged tables go to
    /// `filter`.
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
                let wanted = (self.wanted)(self.arena, &rel);
                match rel.kind {
                    RelKind::Derived(inner)
                        if wanted && self.fits(&inner, nullable) && self.takes(&inner, rel.first) =>
                    {
                        self.merge(*inner, rel.first, nullable, filter)
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

    fn fits(&self, inner: &Query, nullable: bool) -> bool {
        if self.changed {
            is_changeable(self.arena, inner, nullable)
        } else {
            is_mergeable(self.arena, inner, nullable)
        }
    }

    /// What the columns of a query stand for is no more than the block can take.
    fn takes(&mut self, inner: &Query, first: u32) -> bool {
        let Body::Block(below) = &inner.body else { return false };
        let (mut added, mut measures) = (self.added, Vec::with_capacity(below.items.len()));
        for (id, item) in (first..).zip(&below.items) {
            let measure = measure(self.arena, &item.expr);
            if measure.height > MAX_HEIGHT {
                return false;
            }
            if measure.size > MAX_SIZE {
                let uses = self.uses.get(&id).copied().unwrap_or(0);
                added = added.saturating_add(uses.max(1).saturating_mul(measure.size));
            }
            measures.push(((id, item.id), measure));
        }
        let total = self.total - 1 + below.rels.len();
        if added > MAX_ADDED || total > MAX_RELATIONS {
            return false;
        }
        (self.added, self.total) = (added, total);
        for ((outside, inside), measure) in measures {
            self.arena.measures.insert(outside, measure);
            self.arena.measures.insert(inside, measure);
        }
        true
    }

    fn merge(&mut self, inner: Query, first: u32, nullable: bool, filter: &mut Vec<Expr>) -> From {
        let Body::Block(block) = inner.body else { unreachable!("is_mergeable saw a block") };
        let mut block = *block;
        if nullable {
            absent_is_null(self.arena, &mut block);
        }
        for (i, item) in block.items.into_iter().enumerate() {
            keep_subqueries(self.arena, &item.expr);
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

/// The subqueries of a column are read in several places: none of these turns them into a join of its block.
fn keep_subqueries(arena: &mut Arena, item: &Expr) {
    if let ExprKind::Subquery(subquery) = &item.kind
        && let Body::Block(block) = &mut arena.subqueries[subquery.subplan as usize].query.body
    {
        block.semijoin.off = true;
    }
    item.for_each_child(|c| keep_subqueries(arena, c));
}

/// How often a block reads each column of its derived tables.
fn uses(arena: &Arena, block: &Block) -> HashMap<ColId, u64> {
    let mut uses = HashMap::new();
    if block.rels.iter().any(|r| matches!(r.kind, RelKind::Derived(_))) {
        let own = |id: ColId| block.rels.iter().any(|r| r.has(id) && matches!(r.kind, RelKind::Derived(_)));
        block.for_each_own_expr(&mut |e| {
            arena.columns_of(e, &mut |id| {
                if own(id) {
                    *uses.entry(id).or_default() += 1;
                }
            });
        });
    }
    uses
}

/// Height and size of an expression when what merged columns stand for is in their places.
fn measure(arena: &Arena, e: &Expr) -> Measure {
    if let ExprKind::Column(id) = e.kind
        && let Some(known) = arena.measures.get(&id)
    {
        return *known;
    }
    let mut whole = Measure { height: 0, size: 1 };
    e.for_each_child(|c| {
        let part = measure(arena, c);
        whole.height = whole.height.max(part.height);
        whole.size = whole.size.saturating_add(part.size);
    });
    whole.height += 1;
    whole
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

/// The query's conditions vary, or the order of its rows is one in which the statement is to see them: `@sum := @sum +
/// d.x`.
fn order_tells(arena: &Arena, rel: &Rel) -> bool {
    let Some(inner) = rel.kind.derived() else { return false };
    let ordered = matches!(&inner.body, Body::Block(block) if !block.order.is_empty());
    arena.effects.any() && ordered || arena.query_varies(inner)
}

fn shift(from: From, by: usize) -> From {
    match from {
        From::Rel(i) => From::Rel(i + by),
        From::Join { left, right, kind, on } => {
            From::Join { left: Box::new(shift(*left, by)), right: Box::new(shift(*right, by)), kind, on }
        }
    }
}

fn is_mergeable(arena: &Arena, query: &Query, nullable: bool) -> bool {
    selects_plainly(query, |block, e| e.is_steady() && (!nullable || can_be_absent(arena, block, e)))
}

/// The item can be made NULL where an outer join has no row, by a CASE around it: which would show the number that a
/// function of bits gives as bits.
fn can_be_absent(arena: &Arena, block: &Block, e: &Expr) -> bool {
    shows_column(arena, block, e) || e.ty.id != gannet_types::TypeId::Bit && present(arena, block).is_some()
}

/// A column that is NULL only where the block has no row: one that the block reads and that is NOT NULL.
fn present(arena: &Arena, block: &Block) -> Option<Expr> {
    let tells = |id: ColId| {
        let rel = block.rel_of(id).filter(|rel| !super::is_nullable_side(block, *rel));
        rel.is_some_and(|rel| matches!(block.rels[rel].kind, RelKind::Base(_))) && !arena.types[id as usize].nullable
    };
    let mut found = None;
    for e in block.items.iter().map(|i| &i.expr).chain(&block.filter) {
        e.any(&mut |part| {
            if let ExprKind::Column(id) = part.kind
                && found.is_none()
                && tells(id)
            {
                found = Some(id);
            }
            found.is_some()
        });
    }
    let mut column = arena.expr(found?);
    column.ty.nullable = true;
    Some(column)
}

/// What is computed from the rows of a block is NULL where an outer join has none.
fn absent_is_null(arena: &Arena, block: &mut Block) {
    let Some(present) = present(arena, block) else { return };
    for place in 0..block.items.len() {
        if shows_column(arena, block, &block.items[place].expr) {
            continue;
        }
        let null = Expr {
            kind: ExprKind::Literal(gannet_types::Value::Null),
            ty: gannet_types::SqlType::new(gannet_types::TypeId::Null),
        };
        let item = std::mem::replace(&mut block.items[place].expr, null.clone());
        let ty = gannet_types::SqlType { nullable: true, ..item.ty.clone() };
        let absent = crate::make::predicate(ExprKind::IsNull { arg: Box::new(present.clone()), negated: false }, false);
        let (whens, otherwise) = (Box::new([(absent, null)]), Some(Box::new(item)));
        let by = crate::expr::Comparison::Integer;
        block.items[place].expr = Expr { kind: ExprKind::Case { operand: None, by, whens, otherwise }, ty };
    }
}

fn is_changeable(arena: &Arena, query: &Query, nullable: bool) -> bool {
    let fits = |e: &Expr| {
        let (mut constant, mut reads) = (true, false);
        e.any(&mut |part| {
            match &part.kind {
                ExprKind::Subquery(s) => {
                    reads = true;
                    constant &= arena.subqueries[s.subplan as usize].free.is_empty();
                }
                ExprKind::Column(_) => constant = false,
                _ => {}
            }
            false
        });
        !reads || constant
    };
    selects_plainly(query, |block, e| fits(e) && (!nullable || shows_column(arena, block, e)))
}

/// The item is a column of a table of the block: NULLs of an outer join come from these only. The column of a derived
/// table that was merged already stands for an expression, and one of a block around it has its value in any case.
fn shows_column(arena: &Arena, block: &Block, e: &Expr) -> bool {
    let mut shown = e;
    loop {
        let ExprKind::Column(id) = shown.kind else { return false };
        match arena.replaced.get(&id) {
            Some(by) => shown = by,
            None => return block.rels.iter().any(|rel| rel.has(id)),
        }
    }
}

/// The query does nothing but select rows, and its columns are such as `fits` takes.
fn selects_plainly(query: &Query, fits: impl Fn(&Block, &Expr) -> bool) -> bool {
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
    plain && block.items.iter().all(|i| fits(block, &i.expr))
}
