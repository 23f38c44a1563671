//! From a statement's tree to an executable plan: binder, optimizer, plan cache. Pure: no I/O; a catalog snapshot goes in, a
//! [`plan::Plan`] comes out.

pub mod cache;
pub mod expr;
pub mod options;
pub mod physical;
pub mod plan;
pub mod range;
mod walk;

pub use cache::{CacheCounters, Entry, FrontCache, Local, PlanCache, PlanKey};
pub use expr::{Aggregate, Bind, CompareOp, Comparison, Expr, ExprKind, SortKey, Subquery, SubqueryKind};
pub use plan::{Plan, PlanKind};
