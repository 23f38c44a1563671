//! Expressions that need no context of an execution: of signed integers, as the loops of stored programs compute them.
//!
//! They give what [`crate::eval::eval`] gives, or nothing: for values of other types, and for results out of range.

use crate::{compare::holds, typed};
use gannet_functions::{Kernel, Stability};
use gannet_plan::expr::{CompareOp, Comparison, Expr, ExprKind};
use gannet_types::convert::arith::ArithOp;
use gannet_types::{SqlType, Value};

/// [`integer`] may give its value.
pub fn is_of_integers(expr: &Expr) -> bool {
    let signed = |ty: &SqlType| ty.id.is_integer() && !ty.unsigned;
    let mut fits = match &expr.kind {
        ExprKind::Literal(Value::Int(_)) | ExprKind::Param(_) | ExprKind::And(_) | ExprKind::Or(_) => true,
        ExprKind::Not(_) | ExprKind::IsNull { .. } | ExprKind::Compare { by: Comparison::Integer, .. } => true,
        ExprKind::Call(def, args) => {
            typed::operator(def).is_some() && args.len() == 2 && signed(&expr.ty) && args.iter().all(|a| signed(&a.ty))
        }
        _ => false,
    };
    expr.for_each_child(|child| fits = fits && is_of_integers(child));
    fits
}

/// The value of an expression of signed integers, `Some(None)` for NULL. `None`: it has to be evaluated in a context.
pub fn integer<'v>(expr: &Expr, param: &impl Fn(u32) -> Option<&'v Value>) -> Option<Option<i64>> {
    match &expr.kind {
        ExprKind::Literal(Value::Int(n)) => Some(Some(*n)),
        ExprKind::Param(n) => match param(*n)? {
            Value::Int(n) => Some(Some(*n)),
            Value::Null => Some(None),
            _ => None,
        },
        ExprKind::Call(def, args) => {
            let (op, [left, right]) = (typed::operator(def)?, &args[..]) else { return None };
            match (integer(left, param)?, integer(right, param)?) {
                (Some(a), Some(b)) => arithmetic(op, a, b).map(Some),
                _ => Some(None),
            }
        }
        ExprKind::Compare { op, by: Comparison::Integer, args } => {
            let left = integer(&args[0], param)?;
            // The right side is not computed then: it may be out of range.
            if left.is_none() && *op != CompareOp::NullSafeEq {
                return Some(None);
            }
            let right = integer(&args[1], param)?;
            Some(match (left, right) {
                (Some(a), Some(b)) => Some(i64::from(holds(*op, a.cmp(&b)))),
                (a, b) if *op == CompareOp::NullSafeEq => Some(i64::from(a == b)),
                _ => None,
            })
        }
        ExprKind::And(args) => junction(args, false, param),
        ExprKind::Or(args) => junction(args, true, param),
        ExprKind::IsNull { arg, negated } => Some(Some(i64::from(integer(arg, param)?.is_none() != *negated))),
        ExprKind::Not(arg) => Some(integer(arg, param)?.map(|n| i64::from(n == 0))),
        _ => None,
    }
}

fn junction<'v>(args: &[Expr], stop: bool, param: &impl Fn(u32) -> Option<&'v Value>) -> Option<Option<i64>> {
    let mut unknown = false;
    for arg in args {
        match integer(arg, param)? {
            Some(n) if (n != 0) == stop => return Some(Some(i64::from(stop))),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Some((!unknown).then_some(i64::from(!stop)))
}

fn arithmetic(op: ArithOp, a: i64, b: i64) -> Option<i64> {
    match op {
        ArithOp::Add => a.checked_add(b),
        ArithOp::Sub => a.checked_sub(b),
        ArithOp::Mul => a.checked_mul(b),
        // Division by zero warns.
        ArithOp::Mod if b != 0 => Some(a.wrapping_rem(b)),
        ArithOp::Mod | ArithOp::Div | ArithOp::IntDiv => None,
    }
}

/// It gives the same value for the same parameters and user variables, does nothing else, and asks nothing else of the
/// session but settings.
pub fn is_pure(expr: &Expr) -> bool {
    let mut pure = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::UserVar(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::Compare { .. }
        | ExprKind::Between { .. }
        | ExprKind::In { .. }
        | ExprKind::Case { .. }
        | ExprKind::Cast(_) => true,
        ExprKind::Call(def, _) => def.stability == Stability::Pure && def.kernel != Kernel::Repeat,
        ExprKind::Column(_)
        | ExprKind::Register(_)
        | ExprKind::Row(_)
        | ExprKind::Subquery(_)
        | ExprKind::SetUserVar(..)
        | ExprKind::SysVar { .. }
        | ExprKind::Routine(..)
        | ExprKind::Match(_)
        | ExprKind::OfElements(_)
        | ExprKind::Default { .. } => false,
    };
    expr.for_each_child(|child| pure = pure && is_pure(child));
    pure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(n: u32) -> Box<Expr> {
        Box::new(Expr { kind: ExprKind::Param(n), ty: SqlType::BIGINT })
    }

    fn of(kind: ExprKind) -> Expr {
        Expr { kind, ty: SqlType::BIGINT }
    }

    fn value(expr: &Expr, params: &[Value]) -> Option<Option<i64>> {
        integer(expr, &|n| params.get(n as usize))
    }

    #[test]
    fn what_is_out_of_range_or_no_integer_is_left_alone() {
        let add = gannet_functions::functions().find(|def| def.kernel == Kernel::Add).expect("addition");
        let sum = of(ExprKind::Call(add, Box::new([*param(0), *param(1)])));
        assert!(is_of_integers(&sum) && is_pure(&sum));
        assert_eq!(value(&sum, &[Value::Int(2), Value::Int(3)]), Some(Some(5)));
        assert_eq!(value(&sum, &[Value::Int(2), Value::Null]), Some(None));
        assert_eq!(value(&sum, &[Value::Int(i64::MAX), Value::Int(1)]), None);
        assert_eq!(value(&sum, &[Value::UInt(2), Value::Int(1)]), None);
        let unsigned = Expr { ty: SqlType::bigint_unsigned(), ..sum };
        assert!(!is_of_integers(&unsigned));
    }

    #[test]
    fn logic_has_three_values() {
        let both = [*param(0), *param(1)];
        let (zero, one, null) = (Value::Int(0), Value::Int(7), Value::Null);
        let (and, or) = (of(ExprKind::And(Box::new(both.clone()))), of(ExprKind::Or(Box::new(both.clone()))));
        let given = [[&zero, &null], [&null, &zero], [&one, &null], [&null, &one], [&one, &one]];
        let values = |e: &Expr| given.map(|[a, b]| value(e, &[a.clone(), b.clone()]));
        assert_eq!(values(&and), [Some(Some(0)), Some(Some(0)), Some(None), Some(None), Some(Some(1))]);
        assert_eq!(values(&or), [Some(None), Some(None), Some(Some(1)), Some(Some(1)), Some(Some(1))]);
        let same =
            of(ExprKind::Compare { op: CompareOp::NullSafeEq, by: Comparison::Integer, args: Box::new(both.clone()) });
        assert_eq!(values(&same), [Some(Some(0)), Some(Some(0)), Some(Some(0)), Some(Some(0)), Some(Some(1))]);
        let less = of(ExprKind::Compare { op: CompareOp::Lt, by: Comparison::Integer, args: Box::new(both) });
        assert_eq!(values(&less), [Some(None), Some(None), Some(None), Some(None), Some(Some(0))]);
        let known = of(ExprKind::IsNull { arg: param(0), negated: true });
        assert_eq!(values(&known), [Some(Some(1)), Some(Some(0)), Some(Some(1)), Some(Some(0)), Some(Some(1))]);
        assert_eq!(value(&of(ExprKind::Not(param(0))), &[one]), Some(Some(0)));
    }
}
