//! Per-worker counters, wait events, histograms, statement digests.
//!
//! Counting costs a plain load and store on memory that only the counting thread writes; reading sums over the threads
//! ('slots'), never over sessions. What exists is declared once, in [`Counter`] and [`Wait`]; everything that shows
//! them walks those tables.

mod blocks;
mod counters;
mod digest;
mod events;
mod executions;
mod histogram;
mod session;
mod stages;
mod waits;

pub use blocks::{
    During, WaitSummary, WaitTotals, add, add_all, count, during, latencies, latency, latency_in, longest_log_flush_ns,
    longest_row_lock_us, max_connections_seen, note_connections, note_log_flush, note_row_lock,
    restart_max_connections, sub, total, totals, wait_totals, waited,
};
pub use counters::{Counter, Kind, Scope};
pub use digest::{DigestHandle, DigestKey, DigestPlace, DigestSnapshot, DigestTexts, StatementStats, Sums};
pub use events::{Events, Severity};
pub use executions::{Cells, Did, Execution, Rare, Simple, WORK, Work, WorkCells};
pub use histogram::{BUCKETS, Bucket, Histogram};
pub use session::{
    Current, SessionCounters, cpu_from, cpu_upto, measure_cpu, measures_cpu, put_aside, session_used_file,
    session_waited, take_up,
};
pub use stages::{LongWork, Stage, Staging};
pub use waits::{Event, FileKind, Wait};
