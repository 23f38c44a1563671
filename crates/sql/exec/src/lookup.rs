//! Sets in which values are looked up that an execution compares with many constants.

use crate::numbered::Numbered;
use gannet_plan::expr::Comparison;
use gannet_types::Value;

/// The rows of a subquery.
pub(crate) struct Answer {
    /// Versions of the registers for which they were computed.
    pub(crate) versions: Vec<u64>,
    pub(crate) rows: Vec<Vec<Value>>,
    /// They are not asked for the first time.
    pub(crate) asked_again: bool,
    /// What IN looks up, then.
    pub(crate) members: Option<Members>,
}

/// Rows by their bytes in the domains of IN.
pub(crate) struct Members {
    /// Those without NULL.
    pub(crate) keys: Numbered,
    /// Positions of the others.
    pub(crate) open: Vec<u32>,
}

/// The members of a constant IN list by their bytes in the list's domain.
pub(crate) struct InSet {
    pub(crate) keys: Numbered,
    pub(crate) null: bool,
    /// The members, sorted, when all are integers that fit.
    pub(crate) integers: Option<Vec<i64>>,
}

/// The alternatives of one OR, made once for an execution.
pub(crate) struct Alternatives {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) intervals: Vec<Intervals>,
    /// Positions of the alternatives that are no equalities of columns with constants.
    pub(crate) rest: Vec<u32>,
}

/// Alternatives that compare the same columns.
pub(crate) struct Shape {
    pub(crate) columns: Vec<(u32, Comparison)>,
    /// The constants of each alternative, none of them NULL.
    pub(crate) keys: Numbered,
    /// Positions of the alternatives.
    pub(crate) members: Vec<u32>,
}

/// Alternatives that bound one integer column.
pub(crate) struct Intervals {
    pub(crate) column: u32,
    /// From the first to the last value, ascending, none overlapping another.
    pub(crate) within: Vec<(i128, i128)>,
    /// Positions of the alternatives.
    pub(crate) members: Vec<u32>,
}
