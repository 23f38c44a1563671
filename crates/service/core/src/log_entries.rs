//! What is logged of a statement.

use crate::kept::KeptText;
use gannet_telemetry::Counter;

/// What `log_slow_extra` adds of a session's counters, in MySQL's order and under MySQL's names.
pub const EXTRA_COUNTS: [(&str, Counter); 14] = [
    ("Bytes_received", Counter::BytesReceived),
    ("Read_first", Counter::HandlerReadFirst),
    ("Read_last", Counter::HandlerReadLast),
    ("Read_key", Counter::HandlerReadKey),
    ("Read_next", Counter::HandlerReadNext),
    ("Read_prev", Counter::HandlerReadPrev),
    ("Read_rnd", Counter::HandlerReadRnd),
    ("Read_rnd_next", Counter::HandlerReadRndNext),
    ("Sort_merge_passes", Counter::SortMergePasses),
    ("Sort_range_count", Counter::SortRange),
    ("Sort_rows", Counter::SortRows),
    ("Sort_scan_count", Counter::SortScan),
    ("Created_tmp_disk_tables", Counter::CreatedTmpDiskTables),
    ("Created_tmp_tables", Counter::CreatedTmpTables),
];

/// The session that sent a statement.
#[derive(Clone, Copy, Default)]
pub struct Sender<'a> {
    pub id: u64,
    /// As the client called itself, and the account that it is.
    pub user: &'a str,
    pub account: &'a str,
    /// A name, and an address where it has one.
    pub host: &'a str,
    pub address: &'a str,
    pub database: &'a str,
}

/// What `log_slow_extra` adds.
pub struct Extra {
    /// The error that the statement ended with; 0 without one.
    pub error: u16,
    /// That error, if it was stopped.
    pub killed: u16,
    /// What the statement counted of [`EXTRA_COUNTS`].
    pub counts: [u64; EXTRA_COUNTS.len()],
}

/// A statement for the slow query log.
pub struct Slow<'a> {
    pub sender: Sender<'a>,
    /// Microseconds since 1970.
    pub ended_us: u64,
    pub latency_ns: u64,
    /// Of these, waiting for locks of rows and tables.
    pub locks_ns: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// LAST_INSERT_ID() before, and the first value that AUTO_INCREMENT gave in it.
    pub last_insert_id: u64,
    pub insert_id: u64,
    pub extra: Option<Extra>,
    pub text: &'a KeptText,
}

/// What follows a command in the general query log.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// The text of a statement.
    Text(&'a KeptText),
    /// A name, or words of the server's own.
    Words(&'a str),
}

impl<'a> Argument<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Argument::Text(text) => text.bytes(),
            Argument::Words(words) => words.as_bytes(),
        }
    }
}

/// Of this value of `log_output` the destination is one. NONE wins.
pub(crate) fn writes_to(output: &str, to: &str) -> bool {
    output.split(',').any(|o| o == to) && !output.split(',').any(|o| o == "NONE")
}
