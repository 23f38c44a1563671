//! Outer joins whose NULLs a condition rejects are inner joins.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Arena, Block, ColId, From, FromJoin};

pub(super) fn block(arena: &Arena, block: &mut Block) {
    let Some(mut from) = block.from.take() else { return };
    // A simplified join gives conditions that may simplify another one.
    while simplify(arena, block, &mut from, &block.filter.clone()) {}
    block.from = Some(from);
}

/// `above`: conditions every result row satisfies.
fn simplify(arena: &Arena, block: &Block, from: &mut From, above: &[Expr]) -> bool {
    let From::Join { left, right, kind, on } = from else { return false };
    let mut changed = false;
    if *kind == FromJoin::Left {
        let mut inner = Vec::new();
        right.rels(&mut inner);
        let of_inner = |id: ColId| inner.iter().any(|r| block.rels[*r].has(id));
        if above.iter().any(|e| rejects_null(arena, e, &of_inner)) {
            *kind = FromJoin::Inner;
            changed = true;
        }
    }
    let mut both = above.to_vec();
    if matches!(kind, FromJoin::Inner | FromJoin::Straight) {
        both.extend(on.iter().cloned());
    }
    changed |= simplify(arena, block, left, &both);
    // Below an outer join's inner side its own condition is what every matching row satisfies.
    let below = if *kind == FromJoin::Left { on.clone() } else { both };
    changed | simplify(arena, block, right, &below)
}

/// The condition is not TRUE when all columns of the relations are NULL.
pub(crate) fn rejects_null(arena: &Arena, e: &Expr, of_inner: &impl Fn(ColId) -> bool) -> bool {
    match &e.kind {
        ExprKind::And(args) => args.iter().any(|a| rejects_null(arena, a, of_inner)),
        ExprKind::Or(args) => args.iter().all(|a| rejects_null(arena, a, of_inner)),
        ExprKind::Compare { op: CompareOp::NullSafeEq, .. } => false,
        ExprKind::IsNull { arg, negated: true } => is_null_with(arg, of_inner),
        ExprKind::Not(arg) => is_null_with(arg, of_inner),
        ExprKind::Literal(_) => crate::fold::is_never(e),
        _ => is_null_with(e, of_inner),
    }
}

/// The expression is NULL when all columns of the relations are.
fn is_null_with(e: &Expr, of_inner: &impl Fn(ColId) -> bool) -> bool {
    match &e.kind {
        ExprKind::Column(id) => of_inner(*id),
        ExprKind::Compare { op, args, .. } => {
            *op != CompareOp::NullSafeEq && args.iter().any(|a| is_null_with(a, of_inner))
        }
        ExprKind::Between { args, .. } => is_null_with(&args[0], of_inner),
        ExprKind::In { arg, .. } => is_null_with(arg, of_inner),
        ExprKind::Cast(arg) => is_null_with(arg, of_inner),
        // What a merged table computes, where it has a row.
        ExprKind::Case { operand: None, whens, .. } => whens.first().is_some_and(|(when, then)| {
            let absent = matches!(&when.kind, ExprKind::IsNull { arg, negated: false } if is_null_with(arg, of_inner));
            absent && matches!(then.kind, ExprKind::Literal(gannet_types::Value::Null))
        }),
        ExprKind::Call(def, args) => def.null_propagates && args.iter().any(|a| is_null_with(a, of_inner)),
        _ => false,
    }
}
