//! From a statement's tree to an executable plan: binder, optimizer, plan cache. Pure: no I/O; a catalog snapshot goes
//! in, a [`plan::Plan`] comes out.

pub mod accesses;
mod bind;
pub mod cache;
pub mod dive;
mod effects;
pub mod explain;
pub mod expr;
pub mod fold;
pub mod foreign;
mod logical;
mod make;
mod optimize;
pub mod options;
mod params;
pub mod physical;
pub mod plan;
mod planner;
pub mod prune;
pub mod range;
mod rewrite;
mod source;
pub mod table_exprs;
mod typing;
mod walk;

pub use bind::literal::{literal_class, literal_value, text_value};
pub use bind::types::{TypeContext, column_type};
pub use bind::{
    Definition as ViewDefinition, definition as view_definition, explained, uniquely_named, view_tables, view_text_in,
};
pub use cache::{CacheCounters, Entry, FrontCache, Local, PlanCache, PlanKey};
pub use expr::{Aggregate, Bind, CompareOp, Comparison, Expr, ExprKind, SortKey, Subquery, SubqueryKind};
pub use options::PlanOptions;
pub use params::cell_value;
pub use plan::{Plan, PlanKind, TableExprs};
pub use planner::{column_flags, plan, plan_expressions, plan_load, plan_query};
pub use source::{Colliding, insert_rows_of, plan_source};
pub use table_exprs::{array_outside, bind_over, rows_keep, table_exprs};
