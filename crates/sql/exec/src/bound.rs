//! Constants that values are compared with, one after the other, without evaluating an expression.

use crate::compare::holds;
use gannet_plan::expr::CompareOp;
use gannet_types::temporal::DateFlags;
use gannet_types::{Date, Decimal, ValueRef};
use std::cmp::Ordering;

/// A constant, as a loop compares with it.
pub(crate) enum Bound {
    Int(i64),
    Decimal(Decimal),
    /// A day, and how that day's midnight compares with the constant: one with a time of day is behind it.
    Day(Date, Ordering),
}

impl Bound {
    /// `Err`: not for this loop; `Ok(None)`: NULL.
    #[inline]
    pub(crate) fn order_of(&self, value: ValueRef<'_>) -> std::result::Result<Option<Ordering>, ()> {
        match (self, value) {
            (_, ValueRef::Null) => Ok(None),
            (Bound::Int(bound), ValueRef::Int(v)) => Ok(Some(v.cmp(bound))),
            (Bound::Decimal(bound), ValueRef::Decimal(v)) => Ok(Some(v.cmp(bound))),
            (Bound::Decimal(bound), ValueRef::Int(v)) => Ok(Some(Decimal::from_i64(v).cmp(bound))),
            // Every month has 28 days; what is later may be no date.
            (Bound::Day(day, at_midnight), ValueRef::Date(v)) if v.day() <= 28 || is_real(v) => {
                Ok(Some(v.cmp(day).then(*at_midnight)))
            }
            _ => Err(()),
        }
    }
}

/// There is such a day.
pub(crate) fn is_real(d: Date) -> bool {
    DateFlags::LAX.accepts(d.year(), d.month(), d.day())
}

/// A condition that compares a column with a constant: a scan asks it of a row before it takes the row.
pub(crate) struct Test {
    /// Of the delivered columns.
    pub(crate) column: usize,
    pub(crate) op: CompareOp,
    pub(crate) bound: Bound,
}

impl Test {
    /// False where a row with this value in the column fails the condition.
    #[inline]
    pub(crate) fn may_pass(&self, value: ValueRef<'_>) -> bool {
        self.bound.order_of(value).map_or(true, |order| order.is_some_and(|order| holds(self.op, order)))
    }
}
