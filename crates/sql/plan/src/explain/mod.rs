//! EXPLAIN: plans as text, in MySQL's traditional table, as a tree and as JSON.

mod json;
mod print;
mod table;
mod tree;

pub use json::json;
pub use table::{ExplainRow, TRADITIONAL_COLUMNS, traditional};
pub use tree::tree;
