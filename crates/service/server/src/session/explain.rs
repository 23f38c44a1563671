//! EXPLAIN's result.

use super::sink::RowsSink;
use gannet_plan::Plan;
use gannet_types::{Result, SqlError};

/// The rows for a plan in a format.
pub(crate) fn rows(plan: &Plan, format: Option<&str>) -> Result<RowsSink> {
    let _ = (plan, format);
    Err(SqlError::unsupported("EXPLAIN"))
}
