//! Expressions as the binder and the passes make them: literals, predicates.

use crate::expr::{Expr, ExprKind};
use gannet_types::{SqlType, TypeId, Value};

/// The type a literal of this value has.
pub(crate) fn literal_type(value: &Value) -> SqlType {
    let digits = |n: u64| n.checked_ilog10().unwrap_or(0) + 1;
    let ty = match value {
        Value::Null => return SqlType::NULL,
        Value::Int(v) => SqlType { length: digits(v.unsigned_abs()) + 1, ..SqlType::BIGINT },
        Value::UInt(v) => SqlType { length: digits(*v), ..SqlType::bigint_unsigned() },
        Value::Decimal(v) => SqlType::decimal(v.precision().max(1), v.scale()),
        Value::Float(_) => SqlType::new(TypeId::Float),
        Value::Double(_) => SqlType::DOUBLE,
        Value::Str(text, collation) if collation.is_binary() => SqlType::varbinary(text.len() as u32),
        Value::Str(text, collation) => SqlType::varchar(collation.charset().char_count(text) as u32, *collation),
        Value::Date(_) => SqlType::new(TypeId::Date),
        Value::Time(_, fsp) => SqlType::temporal(TypeId::Time, *fsp),
        Value::DateTime(_, fsp) => SqlType::temporal(TypeId::DateTime, *fsp),
        Value::Timestamp(_, fsp) => SqlType::temporal(TypeId::Timestamp, *fsp),
        Value::Year(_) => SqlType::new(TypeId::Year),
        Value::Bit(_, n) => SqlType { length: u32::from(*n), ..SqlType::new(TypeId::Bit) },
        Value::Enum(_, m) => SqlType::enumeration(TypeId::Enum, m.clone()),
        Value::Set(_, m) => SqlType::enumeration(TypeId::Set, m.clone()),
        Value::Json(_) => SqlType::new(TypeId::Json),
    };
    ty.not_null()
}

/// A literal expression.
pub(crate) fn constant(value: Value) -> Expr {
    Expr { ty: literal_type(&value), kind: ExprKind::Literal(value) }
}

/// Type of predicates.
pub(crate) fn boolean(nullable: bool) -> SqlType {
    let mut ty = SqlType::BIGINT;
    (ty.length, ty.nullable) = (1, nullable);
    ty
}

/// A predicate.
pub(crate) fn predicate(kind: ExprKind, nullable: bool) -> Expr {
    Expr { kind, ty: boolean(nullable) }
}

/// A conjunction; a single operand stays as it is.
pub(crate) fn and(mut args: Vec<Expr>) -> Expr {
    match args.len() {
        0 => constant(Value::TRUE),
        1 => args.swap_remove(0),
        _ => {
            let nullable = args.iter().any(|a| a.ty.nullable);
            predicate(ExprKind::And(args.into()), nullable)
        }
    }
}

/// A disjunction.
pub(crate) fn or(mut args: Vec<Expr>) -> Expr {
    if args.len() == 1 {
        return args.swap_remove(0);
    }
    let nullable = args.iter().any(|a| a.ty.nullable);
    predicate(ExprKind::Or(args.into()), nullable)
}

/// NOT
pub(crate) fn not(e: Expr) -> Expr {
    let nullable = e.ty.nullable;
    predicate(ExprKind::Not(Box::new(e)), nullable)
}
