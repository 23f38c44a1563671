//! The types of parameters: what stands beside a `?` says its kind (manual, "PREPARE Statement").

use super::Binder;
use super::operand::Operand;
use crate::typing::{Bound, is_stringy};
use gannet_parser::ast::{self, BinaryOp};
use gannet_types::{Coercibility, Result, SqlType, TypeId};

/// Bytes of a `?` that is a text.
pub(super) const LONGEST_PARAMETER: u32 = 65_535;

/// The type of a `?` beside an operand.
pub(super) fn hint_of(operand: &Operand) -> Option<SqlType> {
    match operand {
        Operand::Scalar(b) => parameter_type(b.ty()),
        Operand::Row(_) => None,
    }
}

/// The type of a `?` beside a value: the widest of the value's kind.
pub(super) fn parameter_type(beside: &SqlType) -> Option<SqlType> {
    Some(match beside.id {
        TypeId::Null => return None,
        id if id.is_integer() => SqlType { unsigned: beside.unsigned, ..whole_parameter() },
        TypeId::Decimal => SqlType::any_decimal(),
        TypeId::Float | TypeId::Double => real_parameter(),
        TypeId::Bit => SqlType { length: 64, ..SqlType::new(TypeId::Bit) },
        TypeId::DateTime | TypeId::Timestamp => SqlType::temporal(TypeId::DateTime, 6),
        TypeId::Time => SqlType::temporal(TypeId::Time, 6),
        TypeId::Date | TypeId::Year | TypeId::Json => SqlType::new(beside.id),
        id if id.is_lob() && id.is_binary_string() => SqlType::new(TypeId::LongBlob),
        id if id.is_lob() => SqlType::new(TypeId::LongText).with_collation(beside.collation),
        id if id.is_binary_string() => SqlType::varbinary(LONGEST_PARAMETER),
        _ => SqlType::varchar(LONGEST_PARAMETER / beside.collation.charset().max_len(), beside.collation),
    })
}

/// A `?` among whole numbers.
pub(super) fn whole_parameter() -> SqlType {
    SqlType { length: 21, ..SqlType::BIGINT }
}

/// A `?` among numbers of which nothing is known.
pub(super) fn real_parameter() -> SqlType {
    SqlType { length: 23, ..SqlType::DOUBLE }
}

/// The type of a `?`, where the expression is one.
pub(super) fn hint_number(b: &mut Binder<'_>, e: &ast::Expr, ty: SqlType) {
    b.hint = is_marker(e).then_some(ty);
}

fn is_marker(e: &ast::Expr) -> bool {
    matches!(e, ast::Expr::Param(_))
}

/// Binds both operands of an arithmetic operator.
pub(super) fn numbers<'b>(
    b: &mut Binder<'b>,
    op: BinaryOp,
    (left, right): (&ast::Expr, &ast::Expr),
    bind: impl Fn(&mut Binder<'b>, &ast::Expr) -> Result<Bound>,
) -> Result<(Bound, Bound)> {
    let whole = matches!(op, BinaryOp::Xor | BinaryOp::BitOr | BinaryOp::BitAnd | BinaryOp::BitXor);
    let beside = |bound: &Bound| if whole { Some(whole_parameter()) } else { parameter_type(bound.ty()) };
    if is_marker(left) && !is_marker(right) {
        let second = bind(b, right)?;
        b.hint = beside(&second);
        return Ok((bind(b, left)?, second));
    }
    hint_number(b, left, real_parameter());
    let first = bind(b, left)?;
    if is_marker(right) {
        b.hint = if is_marker(left) { Some(real_parameter()) } else { beside(&first) };
    }
    Ok((first, bind(b, right)?))
}

impl Binder<'_> {
    /// `?`
    pub(super) fn marker(&mut self, n: u32) -> Bound {
        let hint = self.hint.take();
        let known = self.options.markers.get(n as usize).cloned();
        let text = SqlType::varchar(LONGEST_PARAMETER / 4, self.collation);
        let mut ty = known.or(hint).unwrap_or(text);
        ty.nullable = true;
        if ty.id == TypeId::Null {
            ty = SqlType::varchar(1, self.collation);
        }
        let seen = self.options.values.get(n as usize).cloned();
        let mut bound = Bound::new(self.add_param(crate::plan::Param::Marker { index: n, ty }, seen));
        if is_stringy(bound.ty()) {
            bound.coercibility = Coercibility::Coercible;
        }
        bound
    }
}
