//! The metrics: InnoDB's whose thing is here, by its names and words, and the server's own, `gannet_`.

use crate::Core;
use crate::status::PAGE_BYTES;
use Source::{Computed, Counter as Of, Value};
use gannet_engine::EngineStatus;
use gannet_runtime::file_figures;
use gannet_telemetry::{Counter, WaitTotals, longest_row_lock_us, totals, wait_totals};

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Counter(Counter),
    /// What grows like a counter.
    Computed(fn(&Figures) -> u64),
    /// What is now.
    Value(fn(&Figures) -> u64),
    /// How often something was waited for: a place among all waits.
    Waits(usize),
    /// How long, in microseconds.
    Waited(usize),
}

/// All that sources look at, of one moment.
pub(super) struct Figures {
    engine: EngineStatus,
    totals: Vec<(Counter, u64)>,
    waits: Vec<WaitTotals>,
}

impl Figures {
    pub(super) fn of(core: &Core) -> Figures {
        Figures { engine: core.engine.status(), totals: totals(), waits: wait_totals() }
    }

    fn total(&self, counter: Counter) -> u64 {
        self.totals.iter().find(|(c, _)| *c == counter).map_or(0, |(_, n)| *n)
    }

    pub(super) fn read(&self, source: Source) -> i64 {
        let wait = |at: usize| self.waits.get(at);
        let n = match source {
            Source::Counter(counter) => self.total(counter),
            Source::Computed(f) | Source::Value(f) => f(self),
            Source::Waits(at) => wait(at).map_or(0, |w| w.count),
            Source::Waited(at) => wait(at).map_or(0, |w| w.ns / 1000),
        };
        i64::try_from(n).unwrap_or(i64::MAX)
    }
}

/// Name, subsystem, where the value comes from, comment.
pub(super) type Row = (&'static str, &'static str, Source, &'static str);

impl Figures {
    fn age(&self) -> u64 {
        self.engine.log_lsn.0.saturating_sub(self.engine.checkpoint_lsn.0)
    }

    fn average_row_lock(&self) -> u64 {
        let ms = self.total(Counter::InnodbRowLockTimeMicros) / 1000;
        ms.checked_div(self.total(Counter::InnodbRowLockWaits)).unwrap_or(0)
    }
}

fn open_files() -> u64 {
    file_figures().iter().map(|f| f.open).sum()
}

fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// All but those of waits.
pub(super) const ROWS: &[Row] = &[
    (
        "buffer_pool_reads",
        "buffer",
        Of(Counter::InnodbBufferPoolReads),
        "Number of reads directly from disk (innodb_buffer_pool_reads)",
    ),
    (
        "buffer_pool_read_requests",
        "buffer",
        Of(Counter::InnodbBufferPoolReadRequests),
        "Number of logical read requests (innodb_buffer_pool_read_requests)",
    ),
    (
        "buffer_pool_write_requests",
        "buffer",
        Of(Counter::InnodbBufferPoolWriteRequests),
        "Number of write requests (innodb_buffer_pool_write_requests)",
    ),
    (
        "buffer_pool_wait_free",
        "buffer",
        Of(Counter::InnodbBufferPoolWaitFree),
        "Number of times waited for free buffer (innodb_buffer_pool_wait_free)",
    ),
    (
        "buffer_pool_read_ahead",
        "buffer",
        Of(Counter::InnodbBufferPoolReadAhead),
        "Number of pages read as read ahead (innodb_buffer_pool_read_ahead)",
    ),
    (
        "buffer_pages_created",
        "buffer",
        Of(Counter::InnodbPagesCreated),
        "Number of pages created (innodb_pages_created)",
    ),
    (
        "buffer_pages_written",
        "buffer",
        Of(Counter::InnodbPagesWritten),
        "Number of pages written (innodb_pages_written)",
    ),
    ("buffer_pages_read", "buffer", Of(Counter::InnodbPagesRead), "Number of pages read (innodb_pages_read)"),
    ("buffer_data_reads", "buffer", Of(Counter::InnodbDataRead), "Amount of data read in bytes (innodb_data_reads)"),
    (
        "buffer_data_written",
        "buffer",
        Of(Counter::InnodbDataWritten),
        "Amount of data written in bytes (innodb_data_written)",
    ),
    ("os_data_reads", "os", Of(Counter::InnodbDataReads), "Number of reads initiated (innodb_data_reads)"),
    ("os_data_writes", "os", Of(Counter::InnodbDataWrites), "Number of writes initiated (innodb_data_writes)"),
    ("os_data_fsyncs", "os", Of(Counter::InnodbDataFsyncs), "Number of fsync() calls (innodb_data_fsyncs)"),
    ("os_log_bytes_written", "os", Of(Counter::InnodbOsLogWritten), "Bytes of log written (innodb_os_log_written)"),
    ("os_log_fsyncs", "os", Of(Counter::InnodbOsLogFsyncs), "Number of fsync log writes (innodb_os_log_fsyncs)"),
    ("log_waits", "log", Of(Counter::InnodbLogWaits), "Number of log waits due to small log buffer (innodb_log_waits)"),
    (
        "log_write_requests",
        "log",
        Of(Counter::InnodbLogWriteRequests),
        "Number of log write requests (innodb_log_write_requests)",
    ),
    ("log_writes", "log", Of(Counter::InnodbLogWrites), "Number of log writes (innodb_log_writes)"),
    ("lock_deadlocks", "lock", Of(Counter::InnodbDeadlocks), "Number of deadlocks"),
    ("lock_timeouts", "lock", Of(Counter::LockTimeouts), "Number of lock timeouts"),
    (
        "lock_row_lock_waits",
        "lock",
        Of(Counter::InnodbRowLockWaits),
        "Number of times a row lock had to be waited for (innodb_row_lock_waits)",
    ),
    (
        "trx_rw_commits",
        "transaction",
        Of(Counter::TransactionsCommitted),
        "Number of read-write transactions  committed",
    ),
    ("trx_rollbacks", "transaction", Of(Counter::TransactionsRolledBack), "Number of transactions rolled back"),
    ("index_page_splits", "index", Of(Counter::PageSplits), "Number of index page splits"),
    ("index_page_merge_successful", "index", Of(Counter::PageMerges), "Number of successful index page merges"),
    ("dml_reads", "dml", Of(Counter::InnodbRowsRead), "Number of rows read"),
    ("dml_inserts", "dml", Of(Counter::InnodbRowsInserted), "Number of rows inserted"),
    ("dml_deletes", "dml", Of(Counter::InnodbRowsDeleted), "Number of rows deleted"),
    ("dml_updates", "dml", Of(Counter::InnodbRowsUpdated), "Number of rows updated"),
    (
        "buffer_pool_size",
        "server",
        Value(|f| f.engine.pool_pages * PAGE_BYTES),
        "Server buffer pool size (all buffer pools) in bytes",
    ),
    (
        "buffer_pool_pages_total",
        "buffer",
        Value(|f| f.engine.pool_pages),
        "Total buffer pool size in pages (innodb_buffer_pool_pages_total)",
    ),
    (
        "buffer_pool_pages_data",
        "buffer",
        Value(|f| f.engine.pool_resident),
        "Buffer pages containing data (innodb_buffer_pool_pages_data)",
    ),
    (
        "buffer_pool_pages_dirty",
        "buffer",
        Value(|f| f.engine.pool_dirty),
        "Buffer pages currently dirty (innodb_buffer_pool_pages_dirty)",
    ),
    (
        "buffer_pool_bytes_dirty",
        "buffer",
        Value(|f| f.engine.pool_dirty * PAGE_BYTES),
        "Buffer bytes currently dirty (innodb_buffer_pool_bytes_dirty)",
    ),
    (
        "buffer_pool_pages_free",
        "buffer",
        Value(|f| f.engine.pool_pages.saturating_sub(f.engine.pool_resident)),
        "Buffer pages currently free (innodb_buffer_pool_pages_free)",
    ),
    ("log_lsn_current", "log", Value(|f| f.engine.log_lsn.0), "Current LSN value"),
    ("log_lsn_last_flush", "log", Value(|f| f.engine.durable_lsn.0), "LSN of Last flush"),
    ("log_lsn_last_checkpoint", "log", Value(|f| f.engine.checkpoint_lsn.0), "LSN at last checkpoint"),
    ("log_lsn_checkpoint_age", "log", Value(|f| f.age()), "Current LSN value minus LSN at last checkpoint"),
    (
        "log_max_modified_age_async",
        "log",
        Value(|f| f.engine.redo_capacity_bytes / 8 * 7),
        "Maximum LSN difference; when exceeded, start asynchronous preflush",
    ),
    ("log_checkpoints", "log", Computed(|f| f.engine.checkpoints), "Number of checkpoints"),
    ("trx_rseg_history_len", "transaction", Value(|f| f.engine.history_length), "Length of the TRX_RSEG_HISTORY list"),
    ("trx_active_transactions", "transaction", Value(|f| f.engine.active_writers), "Number of active transactions"),
    (
        "buffer_pool_bytes_data",
        "buffer",
        Value(|f| f.engine.pool_resident * PAGE_BYTES),
        "Buffer bytes containing data (innodb_buffer_pool_bytes_data)",
    ),
    (
        "buffer_flush_batch_total_pages",
        "buffer",
        Of(Counter::InnodbBufferPoolPagesFlushed),
        "Total pages flushed as part of flush batch",
    ),
    (
        "lock_row_lock_current_waits",
        "lock",
        Value(|f| f.total(Counter::InnodbRowLockCurrentWaits)),
        "Number of row locks currently being waited for (innodb_row_lock_current_waits)",
    ),
    (
        "lock_row_lock_time",
        "lock",
        Computed(|f| f.total(Counter::InnodbRowLockTimeMicros) / 1000),
        "Time spent in acquiring row locks, in milliseconds (innodb_row_lock_time)",
    ),
    (
        "lock_row_lock_time_max",
        "lock",
        Value(|_| longest_row_lock_us() / 1000),
        "The maximum time to acquire a row lock, in milliseconds (innodb_row_lock_time_max)",
    ),
    (
        "lock_row_lock_time_avg",
        "lock",
        Value(Figures::average_row_lock),
        "The average time to acquire a row lock, in milliseconds (innodb_row_lock_time_avg)",
    ),
    (
        "lock_rec_lock_waits",
        "lock",
        Of(Counter::InnodbRowLockWaits),
        "Number of times enqueued into record lock wait queue",
    ),
    ("purge_del_mark_records", "purge", Of(Counter::RowsPurged), "Number of delete-marked rows purged"),
    (
        "innodb_dblwr_writes",
        "server",
        Of(Counter::InnodbDblwrWrites),
        "Number of doublewrite operations that have been performed (innodb_dblwr_writes)",
    ),
    (
        "innodb_dblwr_pages_written",
        "server",
        Of(Counter::InnodbDblwrPagesWritten),
        "Number of pages that have been written for doublewrite operations (innodb_dblwr_pages_written)",
    ),
    ("innodb_page_size", "server", Value(|_| PAGE_BYTES), "InnoDB page size in bytes (innodb_page_size)"),
    (
        "file_num_open_files",
        "file_system",
        Value(|_| open_files()),
        "Number of files currently open (innodb_num_open_files)",
    ),
    ("cpu_n", "cpu", Value(|_| cores()), "Number of cpus"),
    (
        "gannet_optimistic_restarts",
        "index",
        Of(Counter::OptimisticRestarts),
        "Descents of a tree that began anew because a page had changed",
    ),
    ("gannet_pages_evicted", "buffer", Of(Counter::PagesEvicted), "Pages that made room for others"),
    (
        "gannet_torn_pages_repaired",
        "buffer",
        Of(Counter::PageFaultsRepaired),
        "Pages that were restored from the double-write file or the log",
    ),
    (
        "gannet_space_given_back",
        "file_system",
        Of(Counter::SpaceGivenBack),
        "Bytes of the data file that were given back to the file system",
    ),
    ("gannet_versions_read", "transaction", Of(Counter::VersionsRead), "Older versions of rows that were read"),
    ("gannet_transactions_started", "transaction", Of(Counter::TransactionsStarted), "Transactions that have begun"),
    ("gannet_lock_memory", "lock", Value(|f| f.total(Counter::LockMemory)), "Bytes that locks take"),
    ("gannet_cpu_usec", "cpu", Computed(|_| gannet_runtime::cpu_ns() / 1000), "CPU time of the server in microseconds"),
];
