//! Index dives: a descent to each end of a range finds out how many rows the range has; and what that means for
//! cached plans.
//!
//! A plan that is shared by all values of its parameters was made for the values of one statement. Where these decided
//! between paths, the plan remembers the ranges it looked at ([`Dive`](crate::plan::Dive)) and the **class** of their
//! row counts: powers of 16. A statement that runs an expensive plan, or a plan that has read far more rows than it was
//! made for, first dives again ([`Plan::selectivity`]), and takes the plan of that class, or makes it. Cheap plans are
//! run without a dive.

use crate::expr::{Expr, ExprKind};
use crate::options::RangeEstimator;
use crate::physical::{Op, Physical, Ranges};
use crate::plan::{Plan, PlanKind};
use crate::range::{Bounds, Limit, encode_ranges, encode_values};
use gannet_schema::histogram::{KeyCut, key_part};
use gannet_schema::{Column, Table, TableStatistics};
use gannet_types::convert::never;
use gannet_types::{SqlError, TimeZone, Value};

/// Dives remembered by a plan.
pub(crate) const MAX_DIVES: usize = 8;
/// Tables up to this many rows are not worth another plan.
pub(crate) const SMALL_TABLE: f64 = 256.0;
/// Plans of at least this cost are asked before they run: a dive costs a few microseconds, as reading some dozen rows
/// does.
const DEAR: f64 = 100.0;
/// Rows that even the cheapest plan may read before it is looked at more closely.
const EXCESS_ROWS: f64 = 1000.0;
/// Rows read for each unit of estimated cost before a plan counts as made for other values: ten times what a unit buys.
const EXCESS_PER_COST: f64 = 100.0;

/// Values of more are too many ranges, even if most of them are the same.
const MOST_ENCODED: usize = 64 << 10;

/// From so many whole keys of a unique index on, each counts as one row, without a dive.
const MANY_KEYS: usize = 8;

/// How many whole keys of a unique index the ranges are, if they are nothing else. One that is there twice counts
/// twice.
fn unique_keys(table: &Table, index: usize, ranges: &Ranges) -> Option<usize> {
    let [part] = table.key_parts(index) else { return None };
    let whole = table.indexes[index].unique()
        && !part.ty.nullable
        && ranges.0.iter().all(|product| product.last.is_none() && product.parts.len() == 1);
    whole.then(|| ranges.alternatives())
}

/// Rows in some ranges of an index; `value` gives constants and parameters. `None`: not known, too many ranges to look
/// at each, or `stopped`.
pub(crate) fn rows_in(
    estimator: &dyn RangeEstimator,
    table: &Table,
    index: usize,
    ranges: &Ranges,
    zone: &TimeZone,
    value: &dyn Fn(&Expr) -> Option<Value>,
    stopped: fn() -> bool,
) -> Option<f64> {
    if let Some(keys) = unique_keys(table, index, ranges).filter(|n| *n >= MANY_KEYS) {
        return Some(keys as f64);
    }
    let mut bounds = Bounds::default();
    let mut eval = |e: &Expr| value(e).ok_or_else(|| SqlError::internal("a value that is not known yet"));
    let limit = estimator.dive_limit();
    if limit > 0 && ranges.alternatives() > limit.max(MOST_ENCODED) {
        return None;
    }
    encode_ranges(table, index, ranges, zone, &mut eval, &mut bounds).ok()?;
    let equal = |n: &usize| match bounds.get(*n) {
        (Limit::Before(low), Limit::After(high)) => low == high,
        _ => false,
    };
    if limit > 0 && bounds.len() >= limit && (0..bounds.len()).filter(equal).count() >= limit {
        return None;
    }
    let mut rows = 0.0;
    for n in 0..bounds.len() {
        if stopped() {
            return None;
        }
        let (low, high) = bounds.get(n);
        rows += estimator.rows(table, index, low, high)?;
    }
    Some(rows)
}

/// Share of a table's rows in ranges of one column's values, by its histogram.
pub(crate) fn share_in(
    column: &Column,
    ranges: &Ranges,
    zone: &TimeZone,
    value: &dyn Fn(&Expr) -> Option<Value>,
    statistics: &TableStatistics,
) -> Option<f64> {
    let histogram = statistics.histogram(column)?;
    let mut bounds = Bounds::default();
    let mut eval = |e: &Expr| value(e).ok_or_else(|| SqlError::internal("a value that is not known yet"));
    encode_values(&key_part(&column.ty), ranges, zone, &mut eval, &mut bounds).ok()?;
    let cut = |limit, open| match limit {
        Limit::Open => open,
        Limit::Before(key) => KeyCut::Before(key),
        Limit::After(key) => KeyCut::After(key),
    };
    let one = |n| {
        let (low, high) = bounds.get(n);
        histogram.share(&column.ty, cut(low, KeyCut::Start), cut(high, KeyCut::End))
    };
    Some((0..bounds.len()).map(one).sum::<f64>().min(1.0))
}

/// Adds one dive's class to a signature.
pub(crate) fn add_class(signature: u64, rows: Option<f64>) -> u64 {
    let class = match rows {
        None => 15,
        Some(rows) => (64 - (rows.max(0.0) as u64 + 1).leading_zeros() - 1) / 4,
    };
    signature << 4 | u64::from(class.min(15))
}

/// A row is read when it is asked for, and not before.
fn streams(input: &Physical) -> bool {
    match &input.op {
        Op::TableScan(_) => true,
        Op::Filter { input, .. } | Op::Project { input, .. } => streams(input),
        _ => false,
    }
}

impl Plan {
    /// The class of the plan that is right for these parameters: compare with the plan's own.
    pub fn class_of(&self, params: &[Value], estimator: &dyn RangeEstimator, zone: &TimeZone) -> u64 {
        let value = |e: &Expr| match &e.kind {
            ExprKind::Literal(v) => Some(v.clone()),
            ExprKind::Param(n) => params.get(*n as usize).cloned(),
            _ => None,
        };
        self.dives.iter().fold(0, |signature, dive| {
            let table = &self.tables[dive.table as usize].table;
            add_class(signature, rows_in(estimator, table, dive.index as usize, &dive.ranges, zone, &value, never))
        })
    }

    /// Estimated cost of one execution.
    pub fn cost(&self) -> f64 {
        match &self.kind {
            PlanKind::Query(root) => root.cost,
            PlanKind::PointSelect(point) => point.query.cost,
            PlanKind::Update(update) => update.input.cost,
            PlanKind::Delete(delete) => delete.input.cost,
            PlanKind::Insert(insert) => match &insert.source {
                crate::plan::InsertSource::Query(root) => root.cost,
                crate::plan::InsertSource::Values(_) => 0.0,
            },
        }
    }

    /// Estimated cost of the rows that one execution takes: a LIMIT ends what makes its rows one by one.
    fn effort(&self) -> f64 {
        let PlanKind::Query(root) = &self.kind else { return self.cost() };
        match &root.op {
            Op::Limit { input, limit: Some(_), offset: None, count_all: false } if streams(input) => {
                root.cost * (root.rows / input.rows.max(1.0)).min(1.0)
            }
            _ => root.cost,
        }
    }

    /// Dear enough to be asked before each execution whether it is right for the values.
    pub(crate) fn is_dear(&self) -> bool {
        !self.dives.is_empty() && self.effort() >= DEAR
    }

    /// An execution read so many rows that the plan was not made for its values.
    pub fn is_exceeded_by(&self, examined: u64) -> bool {
        !self.dives.is_empty() && examined as f64 > EXCESS_ROWS + self.effort() * EXCESS_PER_COST
    }
}

#[cfg(test)]
mod tests {
    use super::add_class;

    #[test]
    fn classes_are_powers_of_sixteen() {
        let class = |rows: f64| add_class(0, Some(rows));
        assert_eq!([0.0, 1.0, 14.0, 15.0, 254.0, 255.0, 1e6].map(class), [0, 0, 0, 1, 1, 2, 4]);
        assert_eq!(add_class(add_class(0, Some(300.0)), None), 0x2f);
    }
}
