//! Conditions that an index can serve: `column op value`, with the value known before the scan opens.

use super::relset::RelSet;
use crate::expr::{CompareOp, Comparison, Expr, ExprKind};
use crate::fold::literal;
use crate::logical::{Arena, ColId, Rel};
use crate::physical::{Hole, Interval, IntervalBound, KeyValue, LikeRange};
use crate::range::{is_sargable, is_total};
use gannet_types::{TypeId, Value};
use std::sync::Arc;

/// What a condition says of one column.
#[derive(Clone, Debug)]
pub(super) enum Says {
    /// `=`, `<=>`, IS NULL.
    Equals(KeyValue),
    /// IN: each of them.
    AnyOf(Arc<[KeyValue]>),
    /// Bounds.
    Within(Interval),
}

/// A condition on one column of a relation.
#[derive(Clone, Debug)]
pub(super) struct Sarg {
    /// Column ordinal.
    pub(super) column: u32,
    pub(super) says: Says,
    /// Relations that must be read before.
    pub(super) needs: RelSet,
    /// Position of the condition.
    pub(super) condition: usize,
    /// An access by it makes the condition superfluous.
    pub(super) exact: bool,
    /// The column the value comes from when it is a plain column: for EXPLAIN.
    pub(super) source: Option<ColId>,
}

/// Finds what `e`, condition number `condition`, says of columns of `rel`. `set_of` gives the relations an expression
/// reads.
pub(super) fn extract(
    arena: &Arena,
    rel: &Rel,
    own: RelSet,
    e: &Expr,
    condition: usize,
    set_of: &dyn Fn(&Expr) -> RelSet,
    out: &mut Vec<Sarg>,
) {
    let mut push = |column: ColId, says: Says, values: &[&Expr], exact: bool| {
        let mut needs = RelSet::EMPTY;
        for value in values {
            needs = needs.union(set_of(value));
        }
        if needs.intersects(own) || values.iter().any(|v| !is_key_value(arena, v)) {
            return;
        }
        let source = match values {
            [Expr { kind: ExprKind::Column(id), .. }] => Some(*id),
            _ => None,
        };
        out.push(Sarg { column: column - rel.first, says, needs, condition, exact, source });
    };
    let own_column = |e: &Expr| match e.kind {
        ExprKind::Column(id) if rel.has(id) => Some(id),
        _ => None,
    };
    match &e.kind {
        ExprKind::Compare { op, by, args } => {
            let [a, b] = &**args;
            for (column, value, op) in [(a, b, *op), (b, a, op.swapped())] {
                let Some(id) = own_column(column) else { continue };
                let equality = matches!(op, CompareOp::Eq | CompareOp::NullSafeEq);
                if op == CompareOp::Ne {
                    if is_constant(value) && is_sargable(&column.ty, *by, true) {
                        let low = IntervalBound { value: value.clone(), by: *by, inclusive: true };
                        push(id, outside(vec![Hole { low, high: None }]), &[value], false);
                    }
                    continue;
                }
                if !is_sargable(&column.ty, *by, equality) {
                    continue;
                }
                let total = is_total(&column.ty, *by, &value.ty);
                let says = compare(op, *by, value);
                push(id, says, &[value], total);
            }
        }
        ExprKind::Between { by, negated: false, args } => {
            let [arg, low, high] = &**args;
            if let Some(id) = own_column(arg)
                && is_sargable(&arg.ty, *by, false)
            {
                let bound = |e: &Expr| Some(IntervalBound { value: e.clone(), by: *by, inclusive: true });
                let says = Says::Within(Interval { low: bound(low), high: bound(high), ..Interval::KNOWN });
                let total = is_total(&arg.ty, *by, &low.ty) && is_total(&arg.ty, *by, &high.ty);
                push(id, says, &[low, high], total);
            }
        }
        ExprKind::Between { by, negated: true, args } => {
            let [arg, low, high] = &**args;
            if let Some(id) = own_column(arg)
                && is_sargable(&arg.ty, *by, false)
                && is_constant(low)
                && is_constant(high)
            {
                let bound = |e: &Expr| IntervalBound { value: e.clone(), by: *by, inclusive: true };
                let hole = Hole { low: bound(low), high: Some(bound(high)) };
                push(id, outside(vec![hole]), &[low, high], false);
            }
        }
        ExprKind::In { by, negated: true, arg, list, .. } if list.len() <= MAX_HOLES => {
            if let Some(id) = own_column(arg)
                && is_sargable(&arg.ty, *by, true)
                && list.iter().all(is_constant)
            {
                let bound = |e: &Expr| IntervalBound { value: e.clone(), by: *by, inclusive: true };
                let holes = list.iter().map(|e| Hole { low: bound(e), high: None }).collect();
                let values: Vec<&Expr> = list.iter().collect();
                push(id, outside(holes), &values, false);
            }
        }
        ExprKind::In { by, negated: false, arg, list, .. } => {
            if let Some(id) = own_column(arg)
                && is_sargable(&arg.ty, *by, true)
            {
                let key = |e: &Expr| KeyValue { value: e.clone(), by: *by, null_safe: false };
                let total = list.iter().all(|e| is_total(&arg.ty, *by, &e.ty));
                let values: Vec<&Expr> = list.iter().collect();
                push(id, Says::AnyOf(list.iter().map(key).collect()), &values, total);
            }
        }
        ExprKind::IsNull { arg, negated } => {
            let Some(id) = own_column(arg).filter(|_| arg.ty.nullable) else { return };
            if *negated {
                push(id, Says::Within(Interval::KNOWN), &[], true);
            } else {
                let value = Expr { kind: ExprKind::Literal(Value::Null), ty: arg.ty.clone() };
                let by = crate::typing::natural(&arg.ty);
                push(id, Says::Equals(KeyValue { value, by, null_safe: true }), &[], true);
            }
        }
        ExprKind::Call(def, args) if def.name == "LIKE" => {
            let (arg, pattern) = (&args[0], &args[1]);
            let Some(id) = own_column(arg) else { return };
            let escape = match args.get(2).map(literal) {
                None => Some('\\'),
                Some(Some(Value::Str(text, c))) => c.charset().decode(text).map(|(c, _)| c),
                _ => None,
            };
            let text = arg.ty.id.is_string() && pattern.ty.id.is_string() && pattern.ty.collation == arg.ty.collation;
            if let Some(escape) = escape.filter(|_| text) {
                let like = Some(Box::new(LikeRange { pattern: pattern.clone(), escape }));
                push(id, Says::Within(Interval { like, ..Interval::KNOWN }), &[pattern], false);
            }
        }
        _ => {}
    }
}

/// Values left out of a range at most; MySQL has the same bound for NOT IN.
const MAX_HOLES: usize = 1000;

fn outside(holes: Vec<Hole>) -> Says {
    Says::Within(Interval { holes, ..Interval::KNOWN })
}

/// What is left out must not depend on other relations: such ranges are rarely worth their descents.
fn is_constant(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_))
}

fn compare(op: CompareOp, by: Comparison, value: &Expr) -> Says {
    let bound = |inclusive| Some(IntervalBound { value: value.clone(), by, inclusive });
    let within = |low, high| Says::Within(Interval { low, high, ..Interval::KNOWN });
    match op {
        CompareOp::Lt => within(None, bound(false)),
        CompareOp::Le => within(None, bound(true)),
        CompareOp::Gt => within(bound(false), None),
        CompareOp::Ge => within(bound(true), None),
        _ => Says::Equals(KeyValue { value: value.clone(), by, null_safe: op == CompareOp::NullSafeEq }),
    }
}

/// The expression may be computed when a scan opens: nothing volatile, no assignment, no subquery but one of a single
/// value.
fn is_key_value(arena: &Arena, e: &Expr) -> bool {
    !arena.varies(e)
        && !e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => !matches!(s.kind, crate::expr::SubqueryKind::Scalar),
            ExprKind::SetUserVar(..) | ExprKind::Default { .. } | ExprKind::Row(_) => true,
            _ => e.ty.id == TypeId::Json && !matches!(e.kind, ExprKind::Literal(_)),
        })
}
