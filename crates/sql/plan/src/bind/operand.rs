//! Operands of comparisons.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::make::constant;
use crate::typing::Bound;
use gannet_parser::ast::BinaryOp;
use gannet_types::{SqlType, TypeId, Value};

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

/// The text of a computed date as the date's number; a hexadecimal literal stays.
pub(super) fn as_number_of_date(b: Bound) -> Bound {
    if b.temporal { as_number(b) } else { b }
}

/// The text of a computed date as the date's number of that type, DOUBLE or DECIMAL.
fn temporal_number(b: Bound, ty: SqlType) -> Bound {
    let Some(def) = gannet_functions::function("TEMPORAL NUMBER") else { return b };
    let ty = SqlType { nullable: b.ty().nullable, ..ty };
    Bound::new(Expr { kind: ExprKind::Call(def, [b.expr].into()), ty })
}

/// What CAST converts to a type. To an integer it reads the text of a computed date, as it does any text.
pub(super) fn as_cast(b: Bound, to: &SqlType) -> Bound {
    match to.id {
        // Fourteen digits and six behind the point.
        TypeId::Decimal if b.temporal && b.ty().id.is_string() => temporal_number(b, SqlType::decimal(20, 6)),
        id if id.is_integer() && b.temporal => b,
        id if id.is_numeric() => as_number(b),
        _ => b,
    }
}

/// A bit operator works on binary strings: beside one of them a hexadecimal literal is a string, too.
pub(super) fn bits_of_strings(operator: &str, a: &Bound, b: &Bound) -> bool {
    let strings = a.ty().id.is_binary_string() && b.ty().id.is_binary_string();
    matches!(operator, "|" | "&" | "^") && strings && !(a.hex && b.hex)
}

/// An operand among numbers: hexadecimal and bit literals are unsigned integers, the text of a computed date is
/// the date's number.
pub(super) fn as_number(b: Bound) -> Bound {
    if b.temporal && b.ty().id.is_string() {
        return temporal_number(b, SqlType::DOUBLE);
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
