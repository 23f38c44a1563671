//! Texts of the statement that conditions compare with numbers. As MySQL, whose optimizer makes numbers of them, they
//! are read once, whether rows are found or not.

use super::inner_conditions;
use crate::expr::{Comparison, Expr, ExprKind};
use crate::logical::{Block, Label};
use crate::optimize::build::Builder;
use crate::plan::NumberText;
use gannet_types::TypeId;

/// Notes those of WHERE, HAVING, and ON of inner joins.
pub(super) fn note(builder: &mut Builder<'_>, block: &Block) {
    let mut joined = Vec::new();
    if let Some(from) = &block.from {
        inner_conditions(from, &mut joined);
    }
    let mut found = Vec::new();
    for condition in block.filter.iter().chain(&joined).chain(&block.having) {
        condition.any(&mut |e| {
            if let ExprKind::Compare { by: Comparison::Double | Comparison::Decimal, args, .. } = &e.kind {
                let [a, b] = &**args;
                let number = |e: &Expr| e.ty.id.is_numeric() && e.ty.id != TypeId::Bit && is_stored(builder, block, e);
                found.extend(match () {
                    () if number(a) && builder.arena.is_written_text(b) => {
                        Some((b.clone(), a.ty.id == TypeId::Decimal))
                    }
                    () if number(b) && builder.arena.is_written_text(a) => {
                        Some((a.clone(), b.ty.id == TypeId::Decimal))
                    }
                    () => None,
                });
            }
            false
        });
    }
    let limit = &block.limit;
    let found = found.into_iter().map(|(text, decimal)| NumberText { text, decimal, limit: limit.clone() });
    builder.number_texts.extend(found);
}

/// A column of a table, or of a derived one.
fn is_stored(builder: &Builder<'_>, block: &Block, e: &Expr) -> bool {
    let ExprKind::Column(id) = e.kind else { return false };
    let of_group = block.groups.iter().find(|(_, group)| *group == id);
    let computed = |id: u32| matches!(builder.arena.labels.get(id as usize), None | Some(Label::Computed));
    match of_group {
        Some((key, _)) => matches!(key.kind, ExprKind::Column(id) if !computed(id)),
        None => !computed(id),
    }
}
