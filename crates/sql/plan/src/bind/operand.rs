//! Operands of comparisons.

use super::{Binder, error};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::make::constant;
use crate::typing::{Bound, OwnNumber, is_stringy};
use gannet_functions::FunctionDef;
use gannet_parser::ast;
use gannet_parser::ast::BinaryOp;
use gannet_types::{ErrorCode, Result, SqlError, SqlType, TypeId, Value};

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
        id if id.is_integer() && (b.temporal || b.number.is_some()) => b,
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
    if let Some(number) = b.number {
        return Bound::new(own_number(b.expr, *number));
    }
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

/// As a DOUBLE.
pub(super) fn double(e: Expr) -> Expr {
    let ty = SqlType { nullable: e.ty.nullable, ..SqlType::DOUBLE };
    match e.ty.id {
        TypeId::Double | TypeId::Null => e,
        _ => crate::fold::simplify(Expr { kind: ExprKind::Cast(Box::new(e)), ty }),
    }
}

/// The numbers of texts of which one is chosen, if one of them has another number than its text says.
pub(super) fn own_numbers(of: &[Bound]) -> Option<Vec<Expr>> {
    let own = |b: &Bound| {
        let text = b.ty().id.is_string();
        let id = b.ty().id;
        matches!(id, TypeId::Enum | TypeId::Set)
            || id.is_temporal()
            || b.number.is_some()
            || text && (b.hex || b.temporal)
    };
    of.iter().any(own).then(|| of.iter().map(|b| double(as_number(b.clone()).expr)).collect())
}

/// The number of a function's text where that is not the one the text says: ELT() gives the number of what it chooses
/// (as IF, NULLIF and CASE do, while COALESCE and IFNULL read their text), names of days and months are their numbers.
pub(super) fn number_of_call(def: &FunctionDef, args: &[Bound]) -> Option<Box<OwnNumber>> {
    let call = |name: &str, args: Vec<Expr>| {
        let def = gannet_functions::function(name)?;
        let ty = SqlType { nullable: true, ..SqlType::DOUBLE };
        Some(Box::new(OwnNumber::Is(Expr { kind: ExprKind::Call(def, args.into()), ty })))
    };
    match (def.name, args) {
        ("ELT", [which, rest @ ..]) => {
            let numbers = own_numbers(rest)?;
            call(def.name, std::iter::once(which.expr.clone()).chain(numbers).collect())
        }
        ("DAYNAME", [date]) => call("WEEKDAY", vec![date.expr.clone()]),
        ("MONTHNAME", [date]) => call("MONTH", vec![date.expr.clone()]),
        _ => None,
    }
}

/// What stands among numbers for a text.
fn own_number(text: Expr, number: OwnNumber) -> Expr {
    let results = match number {
        OwnNumber::Is(e) => return e,
        OwnNumber::Results(results) => results,
    };
    let ExprKind::Case { operand, by, whens, otherwise } = text.kind else { return text };
    let mut results = results.into_iter();
    let whens = whens.into_iter().zip(results.by_ref()).map(|((when, _), result)| (when, result)).collect();
    let otherwise = otherwise.and_then(|_| results.next()).map(Box::new);
    let ty = SqlType { nullable: text.ty.nullable, ..SqlType::DOUBLE };
    crate::fold::simplify(Expr { kind: ExprKind::Case { operand, by, whens, otherwise }, ty })
}

/// A value of rows that are kept has the digits of its type.
pub(super) fn keep(value: &mut Bound) {
    value.expr.ty.own_digits &= value.expr.is_execution_constant();
}

/// The least and the greatest of an ENUM or SET are texts.
pub(super) fn aggregated(mut bound: Bound) -> Bound {
    if matches!(bound.ty().id, TypeId::Enum | TypeId::Set) {
        let text = SqlType { nullable: true, ..SqlType::varchar(bound.ty().display_chars(), bound.ty().collation) };
        let text = Expr { kind: ExprKind::Cast(Box::new(bound.expr.clone())), ty: text };
        bound.number = Some(Box::new(OwnNumber::Is(double(text))));
    }
    bound
}

/// The numbers of what IF, NULLIF or CASE chooses.
pub(super) fn chosen_numbers(of: &[Bound], ty: &SqlType) -> Option<Box<OwnNumber>> {
    if !crate::typing::is_stringy(ty) {
        return None;
    }
    own_numbers(of).map(|numbers| Box::new(OwnNumber::Results(numbers)))
}

/// `DEFAULT(column)`
pub(super) fn default_of(b: &mut Binder<'_>, column: &ast::ColumnRef) -> Result<Bound> {
    use crate::logical::Label;
    let bound = b.resolve(column)?;
    let ExprKind::Column(mut id) = bound.expr.kind else {
        return Err(SqlError::unsupported("DEFAULT() of an expression"));
    };
    // The column of a view or derived table has the default of the one that it shows.
    let (table, ordinal) = loop {
        match &b.arena.labels[id as usize] {
            Label::Base { table, ordinal } => break (*table, *ordinal),
            Label::Derived { origin: Some(origin), .. } => id = *origin,
            _ => return Err(error(ErrorCode::NoDefaultForField, &[&column.column.text])),
        }
    };
    let definition = &b.arena.tables[table as usize].table.columns[ordinal as usize];
    let none = matches!(definition.default, gannet_schema::ColumnDefault::None | gannet_schema::ColumnDefault::Dropped);
    if none && !definition.auto_increment {
        return Err(error(ErrorCode::NoDefaultForField, &[&definition.name]));
    }
    let kind = ExprKind::Default { table, column: ordinal };
    Ok(Bound::new(Expr { kind, ty: bound.expr.ty }))
}

/// Beside texts documents are their text, as firm as a column's: it decides the character set.
pub(super) fn json_as_text(binder: &mut Binder<'_>, args: Vec<Bound>, operation: &str) -> Vec<Bound> {
    let own_domain = matches!(operation, "greatest" | "least");
    if own_domain || !args.iter().any(|a| is_stringy(a.ty())) {
        return args;
    }
    let text = |nullable| {
        let collation = gannet_types::CollationId::UTF8MB4_BIN;
        SqlType { collation, nullable, ..SqlType::new(TypeId::LongText) }
    };
    let as_text = |arg: Bound| match arg.ty().id {
        TypeId::Json => {
            let ty = text(arg.ty().nullable);
            binder.cast_to(arg, ty)
        }
        _ => arg,
    };
    args.into_iter().map(as_text).collect()
}
