//! `sql_auto_is_null`: `id IS NULL` finds the row that was inserted last, where `id` is an AUTO_INCREMENT column (manual,
//! "Server System Variables"). It does so once for each INSERT.

use super::Binder;
use crate::expr::{CompareOp, Comparison, Expr, ExprKind};
use crate::logical::Label;
use crate::make::{constant, predicate};
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_types::Value;

/// A condition with the first such test replaced.
pub(super) fn last_row_for_null(binder: &Binder<'_>, e: Expr) -> Expr {
    match binder.options.generated {
        Some(id) if id.load(Relaxed) != 0 => replaced(binder, e),
        _ => e,
    }
}

fn replaced(binder: &Binder<'_>, e: Expr) -> Expr {
    let kind = match e.kind {
        ExprKind::And(args) => ExprKind::And(args.into_iter().map(|a| replaced(binder, a)).collect()),
        ExprKind::Or(args) => ExprKind::Or(args.into_iter().map(|a| replaced(binder, a)).collect()),
        ExprKind::IsNull { arg, negated: false } if is_auto_increment(binder, &arg) => {
            match binder.options.generated.map_or(0, |id| id.swap(0, Relaxed)) {
                0 => ExprKind::IsNull { arg, negated: false },
                id => {
                    let id = i64::try_from(id).map_or(Value::UInt(id), Value::Int);
                    let args = Box::new([*arg, constant(id)]);
                    let (op, by) = (CompareOp::Eq, Comparison::Integer);
                    return predicate(ExprKind::Compare { op, by, args }, false);
                }
            }
        }
        kind => kind,
    };
    Expr { kind, ty: e.ty }
}

fn is_auto_increment(binder: &Binder<'_>, e: &Expr) -> bool {
    let ExprKind::Column(id) = e.kind else { return false };
    let Label::Base { table, ordinal } = binder.arena.labels[id as usize] else { return false };
    let columns = &binder.arena.tables[table as usize].table.columns;
    columns.get(ordinal as usize).is_some_and(|c| c.auto_increment)
}
