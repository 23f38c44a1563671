//! From bound queries to operators: access paths, join order, aggregation, order, and the operators themselves.

mod access;
mod array;
mod block;
mod build;
mod cost;
mod dml;
mod join;
mod ordered;
mod point;
mod query;
mod relset;
mod sarg;
mod window;

pub(crate) use block::part_len;
pub(crate) use build::Builder;
pub(crate) use ordered::one_by_one;
pub(crate) use point::point_select;
