//! Loose index scans: what GROUP BY and DISTINCT of one table need of an index.

use super::Planned;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, ColId};
use crate::optimize::access::{Grouping, Path};
use crate::optimize::build::Builder;
use crate::optimize::join::{Inner, JoinOrder, Method, Step};
use crate::physical::JoinKind;
use gannet_functions::AggregateKernel;

/// A loose index scan of a block's only table.
pub(super) struct Loose {
    pub(super) order: JoinOrder,
    /// Rows come in the order that the block wants; grouped, if it groups.
    pub(super) ordered: bool,
    /// The order in which a streaming aggregation delivers its groups.
    pub(super) group_order: Vec<(ColId, bool)>,
    /// The rows delivered differ in the columns of DISTINCT.
    pub(super) unique: bool,
}

impl Builder<'_> {
    /// The cheapest loose index scan, when the block is one that can use it.
    pub(super) fn loose(&self, planned: &Planned<'_>) -> Option<Loose> {
        let block = planned.block;
        let ([unit], [Some(base)]) = (&planned.units[..], &planned.bases[..]) else { return None };
        if unit.kind != JoinKind::Inner || !planned.conditions.iter().all(Expr::is_steady) {
            return None;
        }
        let mut need = grouping(block)?;
        need.read.clone_from(&base.columns);
        let rel = &block.rels[0];
        let estimate = |index: usize, ranges: &_| self.estimate(rel, &base.table, index, ranges);
        let paths = base.loose_paths(&need, self.options.passes, &estimate);
        let (path, columns) = paths.into_iter().min_by(|a, b| a.0.cost.total_cmp(&b.0.cost))?;
        let id = |c: u32| rel.first + c;
        let groups = |c: u32| block.groups.iter().any(|(e, _)| e.kind == ExprKind::Column(id(c)));
        let ordered = if block.aggregated {
            // Columns of DISTINCT aggregates must not stand between those of the groups.
            let grouped = columns.iter().take_while(|(c, _)| groups(*c)).count();
            columns[grouped..].iter().all(|(c, _)| !groups(*c))
        } else {
            let fixed = self.fixed_columns(planned, 0);
            let wanted = self.wanted(planned);
            wanted.is_some_and(|w| base.order_of(&path, &w.columns, &fixed) == Some(false))
        };
        let exact = |(c, _): &(u32, bool)| {
            let ty = &base.table.columns[*c as usize].ty;
            !matches!(ty.id, gannet_types::TypeId::Float | gannet_types::TypeId::Double)
        };
        let unique = !block.aggregated && columns.len() == need.columns.len() && columns.iter().all(exact);
        let group_order =
            if block.aggregated { columns.iter().map(|(c, down)| (id(*c), *down)).collect() } else { Vec::new() };
        Some(Loose { order: single(path), ordered, group_order, unique })
    }
}

fn single(path: Path) -> JoinOrder {
    let (rows, cost) = (path.rows, path.cost);
    JoinOrder { steps: vec![Step { unit: 0, method: Method::Loop(Inner::Path(path)), rows }], rows, cost, startup: 0.0 }
}

/// What a block needs of the rows of its only table, if that is some of them only.
fn grouping(block: &Block) -> Option<Grouping> {
    if block.rels.len() != 1 || block.rollup || !block.windows.is_empty() || block.calc_found_rows {
        return None;
    }
    let rel = &block.rels[0];
    let column = |e: &Expr| match e.kind {
        ExprKind::Column(id) if rel.has(id) => Some(id - rel.first),
        _ => None,
    };
    let mut need = Grouping::default();
    let mut extremes = Vec::new();
    if block.aggregated {
        for (e, _) in &block.groups {
            need.columns.push(column(e)?);
        }
        for (aggregate, _) in &block.aggregates {
            match (aggregate.def.kernel, aggregate.distinct) {
                (AggregateKernel::Min, _) => need.minimum = true,
                (AggregateKernel::Max, _) => need.maximum = true,
                (AggregateKernel::Count | AggregateKernel::Sum | AggregateKernel::Avg, true) => {
                    for arg in &aggregate.args {
                        need.columns.push(column(arg)?);
                    }
                    continue;
                }
                _ => return None,
            }
            extremes.push(column(aggregate.args.first()?)?);
        }
    } else if block.distinct {
        for item in &block.items {
            need.columns.push(column(&item.expr)?);
        }
        let item = |e: &Expr| block.items.iter().any(|i| i.expr == *e);
        if !block.order.iter().all(|k| item(&k.expr)) {
            return None;
        }
    } else {
        return None;
    }
    need.columns.sort_unstable();
    need.columns.dedup();
    extremes.retain(|c| !need.columns.contains(c));
    extremes.dedup();
    match extremes[..] {
        [] => {}
        [one] => need.extreme = Some(one),
        _ => return None,
    }
    Some(need)
}
