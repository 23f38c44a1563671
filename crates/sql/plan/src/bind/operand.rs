//! Operands of comparisons.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::make::constant;
use crate::typing::Bound;
use gannet_parser::ast::BinaryOp;
use gannet_types::{SqlType, Value};

/// Either one value or a row of them.
#[derive(Clone)]
pub(super) enum Operand {
    Scalar(Bound),
    Row(Vec<Operand>),
}

impl Operand {
    pub(super) fn columns(&self) -> usize {
        match self {
            Operand::Scalar(_) => 1,
            Operand::Row(items) => items.len(),
        }
    }
}

/// The comparison that an operator is.
pub(crate) fn compare_op(op: BinaryOp) -> Option<CompareOp> {
    Some(match op {
        BinaryOp::Eq => CompareOp::Eq,
        BinaryOp::NullSafeEq => CompareOp::NullSafeEq,
        BinaryOp::Ne => CompareOp::Ne,
        BinaryOp::Lt => CompareOp::Lt,
        BinaryOp::Le => CompareOp::Le,
        BinaryOp::Gt => CompareOp::Gt,
        BinaryOp::Ge => CompareOp::Ge,
        _ => return None,
    })
}

/// An operand that is true or false: as [`as_number`] where the text of a computed date is.
pub(super) fn as_truth(b: Bound) -> Bound {
    if b.temporal { as_number(b) } else { b }
}

/// An operand among numbers: hexadecimal and bit literals are unsigned integers, the text of a computed date is
/// the date's number.
pub(super) fn as_number(b: Bound) -> Bound {
    if b.temporal
        && b.ty().id.is_string()
        && let Some(def) = gannet_functions::function("TEMPORAL NUMBER")
    {
        let ty = SqlType { nullable: b.ty().nullable, ..SqlType::DOUBLE };
        return Bound::new(Expr { kind: ExprKind::Call(def, [b.expr].into()), ty });
    }
    if !b.hex {
        return b;
    }
    let ExprKind::Literal(Value::Str(bytes, _)) = &b.expr.kind else { return b };
    // More than 64 bits are all of them.
    let significant = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
    let number = match bytes.len() - significant {
        0..=8 => bytes.iter().rev().take(8).rev().fold(0u64, |n, b| n << 8 | u64::from(*b)),
        // The executor warns of it, or fails.
        _ => {
            let Some(def) = gannet_functions::function("HEX NUMBER") else { return b };
            let ty = SqlType::bigint_unsigned().not_null();
            return Bound::new(Expr { kind: ExprKind::Call(def, [b.expr].into()), ty });
        }
    };
    Bound::new(constant(Value::UInt(number)))
}
