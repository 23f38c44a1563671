//! Texts of several character sets in one operation: each is brought into the one that was agreed on, and what has no
//! counterpart there is the error of texts that do not go together (1267, 1270, 1271), never a `?`.

use super::Binder;
use crate::expr::{Expr, ExprKind};
use crate::fold;
use crate::make::constant;
use crate::plan::{LiteralClass, Param};
use crate::typing::{Bound, info, is_stringy};
use gannet_types::collation::mixed;
use gannet_types::{CollationId, Result, SqlError, SqlType, TypeId, Value};

/// The operands of one operation in the character set of `to`, on which they agreed.
pub(super) fn fit_all(
    b: &mut Binder<'_>,
    operands: Vec<Bound>,
    to: CollationId,
    operation: &str,
) -> Result<Vec<Bound>> {
    if !operands.iter().any(|o| may_lose(o.ty(), to)) {
        return Ok(operands);
    }
    let error = mix(b, &operands, operation);
    operands.into_iter().map(|operand| fit(b, operand, to, &error)).collect()
}

/// The error that texts which do not go together are.
pub(super) fn mix(b: &Binder<'_>, operands: &[Bound], operation: &str) -> SqlError {
    let cx = b.rule_context();
    let sources: Vec<_> = operands.iter().map(|o| gannet_functions::argument_source(cx, &info(o))).collect();
    mixed(&sources, operation)
}

/// One operand in the character set of `to`; `error` is that of the operation.
pub(super) fn fit(b: &mut Binder<'_>, operand: Bound, to: CollationId, error: &SqlError) -> Result<Bound> {
    if !may_lose(operand.ty(), to) {
        return Ok(operand);
    }
    if let ExprKind::Param(n) = operand.expr.kind {
        // Of a literal that is ASCII the plan is for others that are; any other is converted where it is used.
        if operand.ascii
            && let Some(Param::Literal { class, .. }) = b.arena.params.get_mut(n as usize)
        {
            *class = LiteralClass::Ascii;
            return Ok(operand);
        }
        if let Some(Some(Value::Str(text, from))) = b.arena.seen.get(n as usize)
            && from.charset().convert(text, to.charset()).lossy
        {
            return Err(error.clone());
        }
    } else if operand.ascii {
        return Ok(operand);
    }
    Ok(Bound { expr: fitting(operand.expr, to, error)?, ..operand })
}

/// There are texts of the type which the character set of `to` has no place for.
pub(super) fn may_lose(ty: &SqlType, to: CollationId) -> bool {
    is_stringy(ty) && !ty.collation.charset().fits_in(to.charset())
}

/// A text, or bytes, as an argument of another type of text. `must`: bytes that are no text are error 3854.
pub(super) fn converted(text: Expr, ty: SqlType, must: bool) -> Expr {
    let kind = match gannet_functions::function("FIT BYTES") {
        Some(def) if must && text.ty.id.is_binary_string() => ExprKind::Call(def, [text].into()),
        _ => ExprKind::Cast(Box::new(text)),
    };
    fold::simplify(Expr { kind, ty })
}

/// Bytes as the text that they become beside a firmer one; anything else as it is.
pub(super) fn bytes_as(operand: Bound, to: CollationId) -> Bound {
    let own = operand.ty();
    if !own.id.is_binary_string() || to.is_binary() {
        return operand;
    }
    let ty = SqlType { nullable: own.nullable, ..SqlType::varchar(own.length, to) };
    Bound { expr: converted(operand.expr, ty, true), ..operand }
}

/// A text in the character set of `to`, or `error`: at once for a literal, else where it is evaluated.
pub(super) fn fitting(text: Expr, to: CollationId, error: &SqlError) -> Result<Expr> {
    if let ExprKind::Literal(Value::Str(bytes, from)) = &text.kind {
        let converted = from.charset().convert(bytes, to.charset());
        if converted.lossy {
            return Err(error.clone());
        }
        let value = constant(Value::Str((&*converted.bytes).into(), to));
        return Ok(Expr { ty: SqlType { nullable: text.ty.nullable, ..value.ty.clone() }, ..value });
    }
    let Some(def) = gannet_functions::function("FITTING TEXT") else { return Ok(text) };
    let ty = match text.ty.id {
        TypeId::Enum | TypeId::Set => {
            SqlType { nullable: text.ty.nullable, ..SqlType::varchar(text.ty.display_chars(), to) }
        }
        _ => SqlType { collation: to, ..text.ty.clone() },
    };
    let number = constant(Value::UInt(error.number().into()));
    let message = constant(Value::text(error.message()));
    Ok(fold::simplify(Expr { kind: ExprKind::Call(def, [text, number, message].into()), ty }))
}
