//! Operators that get one row at a time: see [`crate::effects`].

use super::Builder;
use crate::expr::{Expr, ExprKind};
use crate::physical::{Op, Physical};
use crate::plan::{InsertSource, PlanKind};

/// Makes the operators below ordered expressions of a plan deliver one row at a time.
pub(crate) fn one_by_one(kind: &mut PlanKind, builder: &mut Builder<'_>) {
    let effects = &builder.arena.effects;
    if !effects.any() {
        return;
    }
    let subplans: Vec<bool> = builder.subplans.iter().map(|s| s.ordered).collect();
    let ordered = |e: &Expr| {
        e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => subplans.get(s.subplan as usize).is_some_and(|ordered| *ordered),
            kind => effects.ordered(kind),
        })
    };
    for root in builder.subplans.iter_mut().map(|s| &mut s.root) {
        feed(root, &ordered);
    }
    for cte in &mut builder.ctes {
        cte.recursive.iter_mut().chain([&mut cte.base]).for_each(|root| feed(root, &ordered));
    }
    let assigned = |all: &[crate::plan::Assignment]| all.iter().filter_map(|a| a.value.as_ref()).any(ordered);
    let (root, above) = match kind {
        PlanKind::Query(root) => (root, false),
        PlanKind::PointSelect(_) => return,
        PlanKind::Insert(insert) => {
            let above = assigned(&insert.on_duplicate);
            match &mut insert.source {
                InsertSource::Query(root) => (root, above),
                InsertSource::Values(_) => return,
            }
        }
        PlanKind::Update(update) => {
            let above = update.targets.iter().any(|t| assigned(&t.assignments));
            feed(&mut update.input, &ordered);
            update.input.one_by_one |= above && !gives_one(&update.input);
            return;
        }
        PlanKind::Delete(delete) => return feed(&mut delete.input, &ordered),
    };
    feed(root, &ordered);
    root.one_by_one |= above && !gives_one(root);
}

/// Gives the operators with ordered expressions one row at a time.
fn feed(node: &mut Physical, ordered: &dyn Fn(&Expr) -> bool) {
    let mut own = false;
    node.for_each_expr(|e| own |= ordered(e));
    node.for_each_input_mut(|input| {
        feed(input, ordered);
        input.one_by_one |= own && !gives_one(input);
    });
}

/// The operator never has more than one row in a batch.
fn gives_one(node: &Physical) -> bool {
    node.one_by_one
        || match &node.op {
            Op::Values { rows, .. } => rows.len() <= 1,
            Op::Filter { input, .. } | Op::Project { input, .. } | Op::Limit { input, .. } => gives_one(input),
            _ => false,
        }
}
