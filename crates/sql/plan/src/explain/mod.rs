//! EXPLAIN: plans as text, in MySQL's traditional table, as a tree and as JSON.

mod blame;
mod json;
mod print;
mod table;
mod tree;

pub use blame::blamed;
pub use json::json;
pub use table::{ExplainRow, Shown, TRADITIONAL_COLUMNS, traditional};
pub use tree::{analyzed, tree};

/// What an operator did in one execution, all its runs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actual {
    /// Runs.
    pub loops: u64,
    /// Rows delivered.
    pub rows: u64,
    /// Rows it read itself from a table.
    pub examined: u64,
    /// Nanoseconds up to the first row of each run.
    pub first_ns: u64,
    /// Nanoseconds of all, those of its inputs included.
    pub total_ns: u64,
}
