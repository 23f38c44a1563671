//! Equality propagation: `a = b AND b = 5` also says `a = 5`; `a = b AND b = c` also says `a = c`.

use crate::expr::{CompareOp, Comparison, Expr, ExprKind};
use crate::logical::{Block, ColId, From, FromJoin, RelKind};
use crate::make::predicate;
use crate::typing::natural;
use gannet_types::SqlType;

/// Most members of a class for which all pairs are written out.
const MAX_CLASS: usize = 8;

struct Class {
    members: Vec<Expr>,
    constant: Option<Expr>,
    by: Comparison,
}

/// Adds to a conjunction the equalities that follow from it. Only columns of one type take part, so that equal means
/// the same for all.
pub(crate) fn propagate(conditions: &mut Vec<Expr>) {
    let mut classes: Vec<Class> = Vec::new();
    for e in conditions.iter() {
        let ExprKind::Compare { op: CompareOp::Eq, by, args } = &e.kind else { continue };
        let [a, b] = &**args;
        match (column(a), column(b)) {
            (Some(_), Some(_)) if same_type(&a.ty, &b.ty) && *by == natural(&a.ty) => union(&mut classes, a, b, *by),
            (Some(_), None) if b.is_execution_constant() => fix(&mut classes, a, b, *by),
            (None, Some(_)) if a.is_execution_constant() => fix(&mut classes, b, a, *by),
            _ => {}
        }
    }
    for class in classes {
        if class.members.len() < 2 {
            continue;
        }
        if let Some(constant) = &class.constant {
            // Two columns that both equal the constant need no comparison with each other.
            conditions.retain(|e| !joins_members(e, &class));
            for member in &class.members {
                add(conditions, member, constant, class.by);
            }
        } else if class.members.len() <= MAX_CLASS {
            for (i, a) in class.members.iter().enumerate() {
                for b in &class.members[i + 1..] {
                    add(conditions, a, b, class.by);
                }
            }
        }
    }
}

/// `d.x = t.y AND t.y < 5` says `d.x < 5`: what the conditions of a block say so of the columns of its derived tables,
/// by relation.
pub(crate) fn demands_of_derived(block: &Block) -> Vec<(usize, Expr)> {
    let mut found = Vec::new();
    if !block.rels.iter().any(|r| matches!(r.kind, RelKind::Derived(_))) {
        return found;
    }
    let mut all: Vec<&Expr> = block.filter.iter().collect();
    if let Some(from) = &block.from {
        inner_conditions(from, &mut all);
    }
    for e in &all {
        let ExprKind::Compare { op: CompareOp::Eq, by, args } = &e.kind else { continue };
        for (a, b) in [(&args[0], &args[1]), (&args[1], &args[0])] {
            let (Some(own), Some(other)) = (column(a), column(b)) else { continue };
            let Some(rel) = block.rel_of(own) else { continue };
            let derived = matches!(block.rels[rel].kind, RelKind::Derived(_));
            if !derived || block.rel_of(other) == Some(rel) || !same_type(&a.ty, &b.ty) || *by != natural(&a.ty) {
                continue;
            }
            for e in &all {
                if let Some(of) = ranged(e, *by)
                    && of == other
                {
                    let mut copy = (*e).clone();
                    super::substitute(&mut copy, &[(other, a.clone())].into_iter().collect());
                    found.push((rel, copy));
                }
            }
        }
    }
    found
}

/// The column of which a condition says how it compares with constants in the given domain.
fn ranged(e: &Expr, domain: Comparison) -> Option<ColId> {
    let (of, by, values): (&Expr, Comparison, &[Expr]) = match &e.kind {
        ExprKind::Compare { op, by, args } if *op != CompareOp::NullSafeEq => match column(&args[0]) {
            Some(_) => (&args[0], *by, &args[1..]),
            None => (&args[1], *by, &args[..1]),
        },
        ExprKind::Between { by, negated: false, args } => (&args[0], *by, &args[1..]),
        ExprKind::In { by, negated: false, arg, list, .. } => (arg, *by, list),
        _ => return None,
    };
    (by == domain && values.iter().all(Expr::is_execution_constant)).then(|| column(of))?
}

/// Conditions of the inner joins at the top of a FROM tree.
fn inner_conditions<'f>(from: &'f From, out: &mut Vec<&'f Expr>) {
    if let From::Join { left, right, kind, on } = from {
        inner_conditions(left, out);
        if matches!(kind, FromJoin::Inner | FromJoin::Straight) {
            inner_conditions(right, out);
            out.extend(on);
        }
    }
}

fn column(e: &Expr) -> Option<ColId> {
    match e.kind {
        ExprKind::Column(id) => Some(id),
        _ => None,
    }
}

fn same_type(a: &SqlType, b: &SqlType) -> bool {
    a.id == b.id
        && a.unsigned == b.unsigned
        && a.collation == b.collation
        && a.scale == b.scale
        && a.members == b.members
}

fn find(classes: &[Class], e: &Expr) -> Option<usize> {
    classes.iter().position(|c| c.members.iter().any(|m| column(m) == column(e)))
}

fn union(classes: &mut Vec<Class>, a: &Expr, b: &Expr, by: Comparison) {
    match (find(classes, a), find(classes, b)) {
        (Some(x), Some(y)) if x == y => {}
        (Some(x), Some(y)) if classes[x].by == classes[y].by => {
            let moved = classes.remove(x.max(y));
            let kept = &mut classes[x.min(y)];
            kept.members.extend(moved.members);
            kept.constant = kept.constant.take().or(moved.constant);
        }
        (Some(x), None) if classes[x].by == by => classes[x].members.push(b.clone()),
        (None, Some(y)) if classes[y].by == by => classes[y].members.push(a.clone()),
        (None, None) => classes.push(Class { members: vec![a.clone(), b.clone()], constant: None, by }),
        _ => {}
    }
}

fn fix(classes: &mut Vec<Class>, member: &Expr, constant: &Expr, by: Comparison) {
    // Only a comparison in the column's own domain says what the others equal.
    if by != natural(&member.ty) {
        return;
    }
    match find(classes, member) {
        Some(x) if classes[x].by == by => {
            classes[x].constant.get_or_insert_with(|| constant.clone());
        }
        Some(_) => {}
        None => classes.push(Class { members: vec![member.clone()], constant: Some(constant.clone()), by }),
    }
}

fn joins_members(e: &Expr, class: &Class) -> bool {
    let ExprKind::Compare { op: CompareOp::Eq, args, .. } = &e.kind else { return false };
    let member = |e: &Expr| column(e).is_some() && class.members.iter().any(|m| column(m) == column(e));
    member(&args[0]) && member(&args[1])
}

fn add(conditions: &mut Vec<Expr>, a: &Expr, b: &Expr, by: Comparison) {
    let present = |e: &Expr| match &e.kind {
        ExprKind::Compare { op: CompareOp::Eq, args, .. } => {
            (args[0] == *a && args[1] == *b) || (args[0] == *b && args[1] == *a)
        }
        _ => false,
    };
    if !conditions.iter().any(present) {
        let nullable = a.ty.nullable || b.ty.nullable;
        let args = Box::new([a.clone(), b.clone()]);
        conditions.push(predicate(ExprKind::Compare { op: CompareOp::Eq, by, args }, nullable));
    }
}
