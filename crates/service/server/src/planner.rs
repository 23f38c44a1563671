//! The planner as this crate calls it.

use gannet_catalog::CatalogSnapshot;
use gannet_parser::ast::{LiteralValue, Statement};
use gannet_plan::Plan;
use gannet_plan::options::PlanOptions;
use gannet_plan::plan::LiteralClass;
use gannet_types::{CollationId, Result, SqlError, Value, sql_err};

pub(crate) fn plan(statement: &Statement, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Plan> {
    let _ = (statement, snapshot, options);
    Err(SqlError::unsupported("planning"))
}

pub(crate) fn literal_class(value: &LiteralValue) -> LiteralClass {
    let _ = value;
    LiteralClass::Other
}

pub(crate) fn literal_value(value: &LiteralValue, collation: CollationId) -> Result<Value> {
    let _ = (value, collation);
    Err(sql_err!(WrongArguments, "literal"))
}
