//! What keeps beginners from harm: `sql_safe_updates`, `max_join_size`.

use gannet_plan::physical::{Access, Op, Physical};
use gannet_plan::{Plan, PlanKind};
use gannet_types::{Result, sql_err};

/// `sql_safe_updates`: UPDATE and DELETE find their targets by a key, or stop at a LIMIT.
pub(super) fn is_safe_update(plan: &Plan) -> bool {
    let (input, targets): (_, Vec<u32>) = match &plan.kind {
        PlanKind::Update(update) => (&update.input, update.targets.iter().map(|t| t.table).collect()),
        PlanKind::Delete(delete) => (&delete.input, delete.targets.iter().map(|t| t.0).collect()),
        _ => return true,
    };
    fn scans_all(node: &Physical, targets: &[u32]) -> bool {
        let mut found = match &node.op {
            Op::TableScan(scan) => matches!(scan.access, Access::Full) && targets.contains(&scan.table),
            _ => false,
        };
        node.for_each_input(|input| found |= scans_all(input, targets));
        found
    }
    let limited = match &input.op {
        Op::Limit { .. } => true,
        Op::Sort { limit, .. } => limit.is_some(),
        _ => false,
    };
    limited || !scans_all(input, &targets)
}

/// Error 1104 for a plan that is expected to look at more than `limit` rows.
#[cold]
pub(super) fn check_rows(plan: &Plan, limit: u64) -> Result<()> {
    let root = match &plan.kind {
        PlanKind::Query(query) => Some(&**query),
        PlanKind::Update(update) => Some(&update.input),
        PlanKind::Delete(delete) => Some(&delete.input),
        _ => None,
    };
    let parts = plan.ctes.iter().flat_map(|c| std::iter::once(&c.base).chain(&c.recursive));
    let most = root.into_iter().chain(parts).map(examined).fold(0.0, f64::max);
    if most > limit as f64 { Err(sql_err!(TooBigSelect)) } else { Ok(()) }
}

/// Rows, or combinations of rows, that an operator and those below it look at by the optimizer's estimate.
fn examined(node: &Physical) -> f64 {
    match &node.op {
        Op::NestedLoop { outer, inner, .. } => examined(outer) * examined(inner).max(1.0),
        Op::HashJoin { left, right, keys, .. } if keys.is_empty() => examined(left) * examined(right).max(1.0),
        Op::Values { rows, .. } => rows.len() as f64,
        _ => {
            let mut most = node.rows;
            node.for_each_input(|input| most = most.max(examined(input)));
            most
        }
    }
}
