//! `sql_auto_is_null`: `id IS NULL` finds the row that was inserted last, where `id` is an AUTO_INCREMENT column
//! (manual, "Server System Variables"): the one of LAST_INSERT_ID().

use super::Binder;
use crate::expr::{CompareOp, Comparison, Expr, ExprKind};
use crate::logical::Label;
use crate::make::{constant, predicate};
use gannet_types::Value;

/// `arg IS NULL` of a condition, or what stands for it.
pub(super) fn null_test(binder: &Binder<'_>, arg: Expr) -> Expr {
    let id = binder.options.generated;
    // Of an outer join's inner side NULL means that there is no row.
    if id == 0 || arg.ty.nullable || !is_auto_increment(binder, &arg) {
        return predicate(ExprKind::IsNull { arg: Box::new(arg), negated: false }, false);
    }
    let id = i64::try_from(id).map_or(Value::UInt(id), Value::Int);
    let args = Box::new([arg, constant(id)]);
    predicate(ExprKind::Compare { op: CompareOp::Eq, by: Comparison::Integer, args }, false)
}

fn is_auto_increment(binder: &Binder<'_>, e: &Expr) -> bool {
    let ExprKind::Column(id) = e.kind else { return false };
    let Label::Base { table, ordinal } = binder.arena.labels[id as usize] else { return false };
    let columns = &binder.arena.tables[table as usize].table.columns;
    columns.get(ordinal as usize).is_some_and(|c| c.auto_increment)
}
