//! Calls of stored functions.

use super::types::{TypeContext, column_type};
use super::{Binder, error};
use crate::expr::{Called, Expr, ExprKind};
use crate::typing::{Bound, is_stringy};
use gannet_parser::ast;
use gannet_schema::{Routine, Table};
use gannet_types::{Coercibility, ErrorCode, Result, SqlError, SqlType};
use std::sync::Arc;

/// A call of a stored function. Error 1318.
pub(super) fn call(binder: &mut Binder<'_>, routine: &Arc<Routine>, args: &[ast::Expr]) -> Result<Bound> {
    let known = known(routine)?;
    if known.params != args.len() {
        let name = format!("{}.{}", routine.schema, routine.name);
        return Err(error(ErrorCode::SpWrongNoOfArgs, &[&"FUNCTION", &name, &known.params, &args.len()]));
    }
    let args = args.iter().map(|a| Ok(binder.expr(a)?.expr)).collect::<Result<_>>()?;
    binder.arena.uses.programs = true;
    if !binder.arena.routines.iter().any(|known| Arc::ptr_eq(known, routine)) {
        binder.arena.routines.push(routine.clone());
    }
    binder.arena.uses.non_deterministic |= !routine.deterministic;
    binder.arena.effects.note_routine(routine);
    let mut ty = known.returns.clone();
    ty.nullable = true;
    let mut bound = Bound::new(Expr {
        kind: ExprKind::Routine(Called { routine: routine.clone(), view: definer_view(binder) }, args),
        ty,
    });
    if is_stringy(bound.ty()) {
        bound.coercibility = Coercibility::Coercible;
    }
    Ok(bound)
}

/// The view by whose definer's rights the current expression is evaluated: the nearest one around it that is not the
/// invoker's.
pub(super) fn definer_view(binder: &Binder<'_>) -> Option<Arc<Table>> {
    let mut slot = binder.through?;
    loop {
        let around = binder.arena.tables.get(slot as usize)?;
        match around.table.view() {
            Some(view) if !view.invoker => return Some(around.table.clone()),
            _ => slot = around.through?,
        }
    }
}

/// What a call of a stored function has to know of it.
struct Known {
    /// How many parameters it has.
    params: usize,
    /// The type of its value.
    returns: SqlType,
}

/// What a stored function takes and gives, read once from its text.
fn known(routine: &Routine) -> Result<&Known> {
    routine.called.get_or_try_init(|| {
        let text = format!("CREATE FUNCTION f({}) RETURNS {} RETURN 1", routine.params, routine.returns);
        let mode = gannet_types::SqlMode::from_bits(routine.made.sql_mode).unwrap_or_default();
        let lex = gannet_parser::LexMode {
            ansi_quotes: mode.contains(gannet_types::SqlMode::ANSI_QUOTES),
            ..gannet_parser::LexMode::default()
        };
        let damaged = || SqlError::internal("the text of a stored function cannot be read");
        let parsed = gannet_parser::parse(text.as_bytes(), lex).map_err(|_| damaged())?;
        let gannet_parser::Statement::CreateRoutine(r) = parsed.statement else { return Err(damaged()) };
        let (ty, collation) = r.returns.as_ref().ok_or_else(damaged)?;
        let context = TypeContext {
            column: "",
            collation: routine.made.database,
            utf8mb4: gannet_types::CollationId::DEFAULT,
            sql_mode: mode,
            notes: None,
        };
        let returns = column_type(ty, collation.as_ref().map(|c| &*c.text), context)?;
        Ok(Known { params: r.params.len(), returns })
    })
}
