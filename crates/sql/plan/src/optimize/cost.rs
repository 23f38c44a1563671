//! Costs, in MySQL's unit (1.0 = one page read, or ten rows evaluated), for a buffer pool that holds the working set.

/// Evaluating the conditions of a row.
pub(super) const ROW: f64 = 0.1;
/// Reading the next row of a clustered tree, or the next entry of an index.
pub(super) const NEXT: f64 = 0.03;
/// Descending a tree.
pub(super) const DESCEND: f64 = 0.35;
/// Fetching a row by its key from a secondary index entry.
pub(super) const FETCH: f64 = 0.3;
/// Locking a row: also what it costs others.
pub(super) const LOCK: f64 = 0.6;
/// Locking all rows of a table and all gaps between them, so that nobody else can insert: where the costs are close,
/// an index is taken.
pub(super) const LOCK_ALL: f64 = 30.0;
/// Opening an inner side once more.
pub(super) const REOPEN: f64 = 0.1;
/// Putting a row into a hash table.
pub(super) const BUILD: f64 = 0.15;
/// Looking a row up in a hash table.
pub(super) const PROBE: f64 = 0.06;
/// Comparing two rows of a sort.
pub(super) const COMPARE: f64 = 0.02;
/// Keeping a row for another run.
pub(super) const KEEP: f64 = 0.05;

/// Share of rows that satisfy a condition nothing is known of (manual, "Estimating Query Performance": the filtered
/// column).
pub(super) const EQUAL: f64 = 0.1;
pub(super) const INEQUALITY: f64 = 0.3333;
pub(super) const BETWEEN: f64 = 0.1111;
pub(super) const OTHER: f64 = 0.5;

/// Cost of sorting.
pub(super) fn sort(rows: f64, limit: Option<f64>) -> f64 {
    let kept = limit.map_or(rows, |l| l.min(rows)).max(2.0);
    rows * kept.log2() * COMPARE + rows * KEEP
}
