//! Full-text searches as conditions.

use crate::expr::{CompareOp, Expr, ExprKind, Match};
use crate::logical::Rel;
use crate::physical::SearchAccess;

/// Searches that find the rows of a relation, plan table `slot`, which may satisfy one of the conditions.
pub(super) fn of_conditions<'e>(conditions: impl Iterator<Item = &'e Expr>, rel: &Rel, slot: u32) -> Vec<SearchAccess> {
    conditions.filter_map(|e| of_condition(e, rel, slot)).collect()
}

/// The search that finds the rows of a relation, plan table `slot`, which may satisfy a condition: `MATCH`,
/// `MATCH > x`, `MATCH >= x`.
fn of_condition(e: &Expr, rel: &Rel, slot: u32) -> Option<SearchAccess> {
    let (search, above) = match &e.kind {
        ExprKind::Match(search) => (search, None),
        ExprKind::Compare { op, args, .. } => {
            let (search, other, op) = match (&args[0].kind, &args[1].kind) {
                (ExprKind::Match(search), _) => (search, &args[1], *op),
                (_, ExprKind::Match(search)) => (search, &args[0], op.swapped()),
                _ => return None,
            };
            let inclusive = match op {
                CompareOp::Gt => false,
                CompareOp::Ge => true,
                _ => return None,
            };
            if !other.is_execution_constant() {
                return None;
            }
            (search, Some((other.clone(), inclusive)))
        }
        _ => return None,
    };
    if !is_of(search, rel, slot) {
        return None;
    }
    let (index, against) = (search.index?, search.args.first()?.clone());
    Some(SearchAccess { index, mode: search.mode, against, above, sorted: false })
}

/// It searches the relation.
fn is_of(search: &Match, rel: &Rel, slot: u32) -> bool {
    let own = |e: &Expr| matches!(e.kind, ExprKind::Column(id) if rel.has(id));
    search.table == slot && search.args.iter().skip(1).all(own)
}
