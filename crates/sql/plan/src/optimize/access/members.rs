//! Multi-valued indexes: rows by elements of an array.

use super::{BaseRel, Path};
use crate::expr::{Expr, ExprKind};
use crate::logical::ColId;
use crate::optimize::array::Members;
use crate::optimize::cost;
use crate::optimize::relset::RelSet;
use crate::optimize::sarg::{Sarg, Says};
use crate::options::Passes;
use crate::physical::{Access, KeyValue, MembersAccess, Ranges};
use crate::typing::natural;
use gannet_types::Value;
use std::sync::Arc;

/// Elements of which the rarest is looked for while planning.
const MAX_DIVES: usize = 8;

/// A column's value.
fn equal(rel: &BaseRel, column: u32, available: RelSet) -> Option<(&Sarg, &KeyValue)> {
    rel.sargs.iter().filter(|s| s.column == column && s.needs.within(available)).find_map(|s| match &s.says {
        Says::Equals(key) => Some((s, key)),
        _ => None,
    })
}

/// Values of the parts in front of the array. A row with an empty array has no entry, so there is no use of these
/// alone.
fn before<'r>(rel: &'r BaseRel, members: &Members, available: RelSet) -> Option<Vec<(&'r Sarg, &'r KeyValue)>> {
    let at = rel.table.array_part(members.index)?;
    let parts = rel.table.indexes[members.index].parts.iter();
    parts.take(at).map(|p| equal(rel, p.column, available)).collect()
}

impl BaseRel {
    /// The ways to read the relation by elements of arrays.
    pub(super) fn member_paths(
        &self,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
        paths: &mut Vec<Path>,
    ) {
        for members in self.members.iter().filter(|m| m.needs.within(available)) {
            if !members.single && !passes.has(Passes::RANGES) {
                continue;
            }
            if let Some(before) = before(self, members, available) {
                paths.push(path(self, members, &before, available, estimate));
            }
        }
    }
}

fn path(
    rel: &BaseRel,
    members: &Members,
    before: &[(&Sarg, &KeyValue)],
    available: RelSet,
    estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
) -> Path {
    let index = members.index;
    let behind = rel.table.indexes[index].parts.iter().skip(before.len() + 1);
    let after: Vec<(&Sarg, &KeyValue)> = behind.map_while(|p| equal(rel, p.column, available)).collect();
    let parts = before.len() + 1 + after.len();
    let keys = |of: &[(&Sarg, &KeyValue)]| of.iter().map(|(_, key)| (*key).clone()).collect::<Box<[KeyValue]>>();
    let (keys_before, keys_after) = (keys(before), keys(&after));
    let dived = members.seen.as_ref().and_then(|seen| {
        let ranges = |elements: &[Value]| {
            let ty = &rel.table.key_parts(index)[before.len()].ty;
            let element = |v: &Value| KeyValue {
                value: Expr { kind: ExprKind::Literal(v.clone()), ty: ty.clone() },
                by: natural(ty),
                null_safe: true,
            };
            let of_key = |k: &KeyValue| Arc::from([k.clone()]);
            let all = keys_before.iter().map(of_key);
            let all = all.chain(std::iter::once(elements.iter().map(element).collect()));
            Ranges::one(all.chain(keys_after.iter().map(of_key)).collect(), None)
        };
        if !members.all {
            return estimate(index, &ranges(seen));
        }
        let each = seen.chunks(1).take(MAX_DIVES).map(|one| estimate(index, &ranges(one)));
        each.collect::<Option<Vec<f64>>>().map(|rows| rows.into_iter().fold(f64::INFINITY, f64::min))
    });
    let wanted = if members.all || members.single { 1 } else { members.seen.as_ref().map_or(4, Vec::len) };
    let guess = rel.rows_per_key(index, parts) * wanted as f64;
    let examined = dived.filter(|rows| rows.is_finite()).unwrap_or(guess).clamp(1.0, rel.rows.max(1.0));
    let mut served: Vec<usize> = before.iter().chain(&after).map(|(s, _)| s.condition).collect();
    served.push(members.condition);
    served.sort_unstable();
    let mut sources: Vec<Option<ColId>> = before.iter().map(|(s, _)| s.source).collect();
    sources.push(members.source);
    sources.extend(after.iter().map(|(s, _)| s.source));
    Path {
        index: Some(index),
        covering: false,
        access: Access::Members(Box::new(MembersAccess {
            document: members.document.clone(),
            all: members.all,
            single: members.single,
            exact: members.exact,
            before: keys_before,
            after: keys_after,
        })),
        reverse: false,
        ensured: Vec::new(),
        sources,
        parts,
        bound: 0,
        examined,
        seen: dived.is_some(),
        rows: (examined * rel.selectivity(available, &served)).max(0.01),
        cost: wanted as f64 * cost::DESCEND + examined * (cost::NEXT + rel.row_cost(false)) - 0.001 * parts as f64,
    }
}
