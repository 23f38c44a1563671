//! EXPLAIN: plans as text, in MySQL's traditional table and as a tree.

mod print;
mod table;
mod tree;

pub use table::{ExplainRow, TRADITIONAL_COLUMNS, traditional};
pub use tree::tree;
