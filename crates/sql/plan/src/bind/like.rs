//! LIKE.

use super::parameter::parameter_type;
use super::{Binder, error};
use crate::expr::{Expr, ExprKind};
use crate::fold;
use crate::make::not;
use crate::typing::Bound;
use gannet_parser::ast;
use gannet_types::{ErrorCode, Result, Value};

impl Binder<'_> {
    /// `pattern` with what escapes its characters, which is the same for all rows.
    pub(super) fn like(
        &mut self,
        arg: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Bound> {
        let arg = self.expr(arg)?;
        self.hint = parameter_type(arg.ty()).filter(|ty| ty.is_text() && matches!(pattern, ast::Expr::Param(_)));
        let pattern = self.lifted(pattern)?;
        self.hint = None;
        let mut args = self.same_collation(vec![arg, pattern], "like")?;
        if let Some(escape) = escape {
            let escape = self.pinned(|b| b.expr(escape))?;
            if varies(self, &escape.expr) {
                return Err(error(ErrorCode::WrongArguments, &[&"ESCAPE"]));
            }
            if let ExprKind::Literal(Value::Str(text, collation)) = &escape.expr.kind
                && collation.charset().char_count(text) > 1
            {
                return Err(error(ErrorCode::WrongArguments, &[&"ESCAPE"]));
            }
            // NULL is no other escape than there is without the clause.
            if !matches!(escape.expr.kind, ExprKind::Literal(Value::Null)) {
                args.push(if escape.ty().nullable { or_backslash(self, escape)? } else { escape });
            }
        }
        let like = self.call_named("LIKE", args)?;
        Ok(if negated { Bound::new(fold::simplify(not(like.expr))) } else { like })
    }
}

/// An escape that may be NULL, and is the backslash then: one of the same collation, with which it mixes.
fn or_backslash(b: &mut Binder<'_>, escape: Bound) -> Result<Bound> {
    let text = escape.ty().id.is_string();
    let collation = if text { escape.ty().collation } else { gannet_types::CollationId::DEFAULT };
    let backslash = collation.charset().ascii(b"\\");
    let backslash = Bound::new(crate::make::constant(Value::Str((&*backslash).into(), collation)));
    b.call_named("IFNULL", vec![escape, backslash])
}

/// The value is not the same for all rows of the statement. (What is counted without a table is.)
fn varies(b: &Binder<'_>, e: &Expr) -> bool {
    let tables = b.scopes.iter().any(|s| !s.rels.is_empty());
    let mut column = false;
    b.arena.columns_of(e, &mut |_| column |= tables);
    column || e.any(&mut |e| matches!(&e.kind, ExprKind::Call(def, _) if def.stability.varies()))
}
