//! Operators: the running form of a physical plan.
//!
//! A plan node is immutable and shared; an [`Operator`] is its state in one execution. [`build`] makes the tree, `open`
//! (re)starts it, `next` delivers batches until `None`. Inner sides of nested loops and correlated subqueries are
//! opened many times.

mod aggregate;
mod hash_join;
mod join;
mod json;
mod narrow;
mod parallel;
mod rows;
mod scan;
mod set;
mod sort;
mod timed;
mod window;
mod window_rows;

pub(crate) use rows::limit_value;
pub(crate) use scan::Direct;

use crate::{
    batch::Batch,
    context::{BoxedOperator, Cx, Operator},
};
use gannet_plan::physical::{Op, Physical};
use gannet_types::Result;
use narrow::{Narrow, make_long};

/// Makes the operators of a plan tree; `timed`: for EXPLAIN ANALYZE.
pub fn build<'p>(node: &'p Physical, timed: bool) -> Result<BoxedOperator<'p>> {
    build_at(node, timed, 1)
}

/// Levels of operators that call each other before one asks whether the stack holds more.
const CHECKED: u32 = 16;

fn build_at<'p>(node: &'p Physical, timed: bool, depth: u32) -> Result<BoxedOperator<'p>> {
    let mut operator = operator(node, timed, depth)?;
    if timed {
        operator = Box::new(timed::Timed::new(node, operator));
    }
    if node.one_by_one {
        operator = Box::new(rows::OneByOne::new(operator));
    }
    Ok(if depth.is_multiple_of(CHECKED) { Box::new(Checked(operator)) } else { operator })
}

/// An operator deep in a tree: error 1436 where the stack does not hold the operators below.
struct Checked<'p>(BoxedOperator<'p>);

impl<'p> Operator<'p> for Checked<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        gannet_types::check_stack()?;
        self.0.open(cx)
    }

    fn want(&mut self, rows: u64) {
        self.0.want(rows);
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        self.0.skip(rows, cx)
    }

    fn recycle(&mut self, batch: Batch) {
        self.0.recycle(batch);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        gannet_types::check_stack()?;
        self.0.next(cx)
    }
}

fn operator<'p>(node: &'p Physical, timed: bool, depth: u32) -> Result<BoxedOperator<'p>> {
    gannet_types::check_stack()?;
    let build = |node: &'p Physical| build_at(node, timed, depth + 1);
    Ok(match &node.op {
        Op::TableScan(scan) => scan::build(scan, &node.types),
        Op::Values { rows, .. } => Box::new(rows::Values::new(rows, &node.types)),
        Op::JsonTable { document, table } => Box::new(json::JsonRows::new(document, table, &node.types)),
        Op::NestedLoop { outer, inner, kind, binds, on } => Box::new(join::NestedLoop::new(
            build(outer)?,
            build(inner)?,
            *kind,
            binds,
            on.as_ref(),
            &outer.types,
            &inner.types,
        )),
        Op::HashJoin { left, right, kind, keys, on, null_aware, keeps_order } => Box::new(hash_join::HashJoin::new(
            build(left)?,
            build(right)?,
            hash_join::HashJoinPlan {
                kind: *kind,
                keys,
                on: on.as_ref(),
                null_aware: *null_aware,
                keeps_order: *keeps_order,
            },
            &left.types,
            &right.types,
        )),
        Op::Filter { input, predicate, once: true } => Box::new(rows::Once::new(build(input)?, predicate)),
        Op::Filter { input, predicate, once: false } => Box::new(rows::Filter::new(build(input)?, predicate)),
        Op::Project { input, exprs, stored } => {
            Box::new(rows::Project::new(Narrow::over(build(input)?, make_long(exprs)), exprs, *stored))
        }
        Op::Sort { input, keys, limit } => {
            let rows = Narrow::over(build(input)?, make_long(keys.iter().map(|k| &k.expr)));
            let from = (rows, input.starts_with_range());
            Box::new(sort::Sort::new(from, keys, limit.as_ref(), &node.types).with_ranks(scan::ranked(input, keys)))
        }
        Op::Limit { input, limit, offset, count_all } => {
            Box::new(rows::Limit::new(build(input)?, limit.as_ref(), offset.as_ref(), *count_all))
        }
        Op::Aggregate { input, groups, carried, aggregates, streaming, rollup, groupings } => {
            let long = make_long(groups.iter().chain(carried).chain(narrow::of_aggregates(aggregates)));
            let plan = aggregate::AggregationPlan {
                groups,
                carried,
                aggregates,
                streaming: *streaming,
                rollup: *rollup,
                groupings,
            };
            let input = Narrow::over(build(input)?, long);
            let serial = Box::new(aggregate::Aggregation::new(input, plan, &node.types));
            if timed { serial } else { parallel::over(serial, node) }
        }
        Op::Distinct { input, streaming } => Box::new(set::Distinct::new(build(input)?, *streaming, &node.types)),
        Op::SetOperation { inputs, kind, distinct } => {
            set::combination(inputs.iter().map(build).collect::<Result<_>>()?, *kind, *distinct, &node.types)
        }
        Op::Materialize { input, depends, name, .. } => {
            Box::new(set::Materialize::new(build(input)?, depends, name.is_some()))
        }
        Op::CteScan { cte, .. } => Box::new(set::CteScan::new(*cte)),
        Op::Window { input, window } => {
            let input = Narrow::over(build(input)?, make_long(narrow::of_window(window)));
            Box::new(window::Window::new(input, window, &node.types))
        }
    })
}

/// Runs an operator to its end and keeps its rows.
pub fn collect<'p>(operator: &mut BoxedOperator<'p>, cx: &mut Cx<'_, 'p>) -> Result<Vec<Batch>> {
    operator.open(cx)?;
    let mut batches = Vec::new();
    while let Some(batch) = operator.next(cx)? {
        if batch.rows > 0 {
            cx.reserve(batch.memory_bytes())?;
            batches.push(batch);
        }
        cx.check_interrupt()?;
    }
    Ok(batches)
}

/// Releases the memory that [`collect`] reserved.
pub fn release(batches: &mut Vec<Batch>, cx: &mut Cx<'_, '_>) {
    let bytes: usize = batches.iter().map(Batch::memory_bytes).sum();
    cx.release(bytes);
    batches.clear();
}
