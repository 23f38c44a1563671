//! SHOW STATUS: telemetry's counters, the engine's figures, and what follows from them. O(workers) to collect.

use crate::Core;
use crate::registry::Entry;
use crate::tallies::By;
use crate::vars::Live;
use gannet_base::PAGE_SIZE;
use gannet_engine::{Beyond, ConsumerStatus, Engine, EngineStatus, RecoveryStatus, ScrubStatus, SpaceUsage, TreeUses};
use gannet_telemetry::{Counter, Kind, Scope, SessionCounters, longest_row_lock_us, max_connections_seen, totals};
use gannet_wire::compress::Algorithm;
use gannet_wire::tls::{Agreed, Facts};
use std::cell::LazyCell;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::OnceLock;

pub(crate) const PAGE_BYTES: u64 = PAGE_SIZE as u64;

/// MySQL's counters of what does not exist here, or is not counted: always 0.
#[rustfmt::skip]
const NEVER: &[&str] = &[
    "Acl_cache_items_count",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Com_alter_tablespace",
    "Com_create_spatial_reference_system",
    "Com_create_udf",
    "Com_drop_spatial_reference_system",
    "Com_group_replication_start",
    "Com_group_replication_stop",
    "Com_import",
    "Com_show_engine_logs",
    "Com_show_engine_mutex",
    "Com_show_function_code",
    "Com_show_parse_tree",
    "Com_show_procedure_code",
    "Com_show_relaylog_events",
    "Connection_errors_peer_address",
    "Connection_errors_select",
    "Connection_errors_tcpwrap",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Global_connection_memory",
    "Handler_discover",
    "Handler_mrr_init",
    "Innodb_buffer_pool_read_ahead_evicted",
    "Innodb_buffer_pool_read_ahead_rnd",
    "Innodb_truncated_status_writes",
    "Innodb_undo_tablespaces_active",
    "Innodb_undo_tablespaces_explicit",
    "Innodb_undo_tablespaces_implicit",
    "Innodb_undo_tablespaces_total",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Last_query_partial_plans",
    "Locked_connects",
    "Max_execution_time_set_failed",
    "Not_flushed_delayed_rows",
    "Ongoing_anonymous_transaction_count",
    "Open_files",
    "Open_streams",
    "Open_tables",
    "Opened_files",
    "Opened_table_definitions",
    "Opened_tables",
    "Performance_schema_cond_classes_lost",
    "Performance_schema_cond_instances_lost",
    "Performance_schema_file_classes_lost",
    "Performance_schema_file_handles_lost",
    "Performance_schema_file_instances_lost",
    "Performance_schema_index_stat_lost",
    "Performance_schema_locker_lost",
    "Performance_schema_memory_classes_lost",
    "Performance_schema_metadata_lock_lost",
    "Performance_schema_mutex_classes_lost",
    "Performance_schema_mutex_instances_lost",
    "Performance_schema_nested_statement_lost",
    "Performance_schema_prepared_statements_lost",
    "Performance_schema_program_lost",
    "Performance_schema_rwlock_classes_lost",
    "Performance_schema_rwlock_instances_lost",
    "Performance_schema_socket_classes_lost",
    "Performance_schema_socket_instances_lost",
    "Performance_schema_stage_classes_lost",
    "Performance_schema_statement_classes_lost",
    "Performance_schema_table_handles_lost",
    "Performance_schema_table_instances_lost",
    "Performance_schema_table_lock_stat_lost",
    "Performance_schema_thread_classes_lost",
    "Performance_schema_thread_instances_lost",
    "Secondary_engine_execution_count",
    "Select_range_check",
    "Ssl_accept_renegotiates",
    "Ssl_callback_cache_hits",
    "Ssl_client_connects",
    "Ssl_connect_renegotiates",
    "Ssl_ctx_verify_depth",
    "Ssl_ctx_verify_mode",
    "Ssl_default_timeout",
    "Ssl_finished_connects",
    "Ssl_session_cache_hits",
    "Ssl_session_cache_misses",
    "Ssl_session_cache_overflows",
    "Ssl_session_cache_size",
    "Ssl_session_cache_timeouts",
    "Ssl_used_session_cache_entries",
    "Ssl_verify_depth",
    "Ssl_verify_mode",
    "Table_locks_immediate",
    "Table_locks_waited",
    "Table_open_cache_hits",
    "Table_open_cache_misses",
    "Table_open_cache_overflows",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Tc_log_page_waits",
];

/// The value of a status variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A count, a size, a time.
    Number(u64),
    /// A gauge that may be below zero for a moment.
    Signed(i64),
    /// A text.
    Text(String),
}

impl From<u64> for Shown {
    fn from(n: u64) -> Self {
        Shown::Number(n)
    }
}

impl From<&str> for Shown {
    fn from(s: &str) -> Self {
        Shown::Text(s.into())
    }
}

impl From<String> for Shown {
    fn from(s: String) -> Self {
        Shown::Text(s)
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shown::Number(n) => n.fmt(f),
            Shown::Signed(n) => n.fmt(f),
            Shown::Text(s) => s.fmt(f),
        }
    }
}

/// What the computed figures are made from, each taken when it is first asked for.
struct Taken<'a> {
    server: &'a Core,
    /// Whose counts are shown where it has them.
    session: Option<&'a SessionCounters>,
    base: Vec<u64>,
    totals: Vec<(Counter, u64)>,
    engine: LazyCell<EngineStatus, Box<dyn Fn() -> EngineStatus + 'a>>,
    recovery: LazyCell<RecoveryStatus, Box<dyn Fn() -> RecoveryStatus + 'a>>,
    space: LazyCell<SpaceUsage, Box<dyn Fn() -> SpaceUsage + 'a>>,
    scrub: LazyCell<ScrubStatus, Box<dyn Fn() -> ScrubStatus + 'a>>,
    /// The session's own connection.
    tls: Option<&'a Agreed>,
    compression: Option<&'a Algorithm>,
    /// The certificate that is offered; `None`: there is no TLS.
    certificate: LazyCell<Option<Facts>, Box<dyn Fn() -> Option<Facts> + 'a>>,
}

impl<'a> Taken<'a> {
    fn new(server: &'a Core, session: Option<&'a SessionCounters>, entry: Option<&'a Entry>) -> Taken<'a> {
        Taken {
            server,
            session,
            base: server.status_base(),
            totals: totals(),
            engine: LazyCell::new(Box::new(|| server.engine.status())),
            recovery: LazyCell::new(Box::new(|| server.engine.recovery())),
            space: LazyCell::new(Box::new(|| server.engine.space())),
            scrub: LazyCell::new(Box::new(|| server.engine.scrub_status())),
            tls: entry.and_then(|e| e.tls.get()),
            compression: entry.and_then(|e| e.compression.get()),
            certificate: LazyCell::new(Box::new(|| server.tls.acceptor().map(|a| a.facts.clone()))),
        }
    }

    /// A counter as it is shown.
    fn shown(&self, c: Counter) -> Shown {
        let n = self.totals.get(c as usize).map_or(0, |(_, n)| *n);
        let own = self.session.filter(|_| c.scope() == Scope::Both && c != Counter::Queries);
        match (c.kind(), own) {
            (Kind::Counter, Some(s)) => Shown::Number(s.get(c)),
            (Kind::Gauge, _) => Shown::Signed(n as i64),
            (Kind::Counter, None) => Shown::Number(n.wrapping_sub(self.base.get(c as usize).copied().unwrap_or(0))),
        }
    }

    /// What is now: a gauge, which may be below zero for a moment while it is read.
    fn total(&self, c: Counter) -> u64 {
        self.totals.get(c as usize).map_or(0, |(_, n)| u64::try_from(*n as i64).unwrap_or(0))
    }

    fn count(&self, c: Counter) -> u64 {
        match self.shown(c) {
            Shown::Number(n) => n,
            Shown::Signed(_) | Shown::Text(_) => 0,
        }
    }

    /// Rows of the dictionary.
    fn system(&self) -> TreeUses {
        gannet_catalog::uses(&self.server.catalog)
    }

    fn semi_sync(&self) -> crate::binlog::Figures {
        self.server.binlog().map_or_else(Default::default, |log| log.semi_sync().figures())
    }

    /// A time in the server's time zone.
    fn local(&self, unix_us: u64) -> String {
        let zone = self.server.globals.get(Live::TimeZone);
        let zone = match zone.as_str() {
            name if name.eq_ignore_ascii_case("SYSTEM") => Some(self.server.facts.system_zone.clone()),
            name => gannet_types::TimeZone::parse(name).ok(),
        };
        let at = gannet_types::Timestamp::current(unix_us as i64, 0);
        match (zone, at) {
            (Some(zone), Some(at)) => at.to_local(&zone).to_string(),
            _ => String::new(),
        }
    }

    fn fact(&self, of: impl Fn(&Facts) -> &String) -> Shown {
        self.certificate.as_ref().map_or(String::new(), |f| of(f).clone()).into()
    }

    fn value(&self, source: Source) -> Shown {
        match source {
            Source::Counter(c) => self.shown(c),
            Source::Figure(f) => (f.value)(self),
            Source::Never => Shown::Number(0),
        }
    }
}

fn on(is: bool) -> &'static str {
    if is { "ON" } else { "OFF" }
}

/// A status variable that is computed on request: its name, and how.
struct Figure {
    name: &'static str,
    value: fn(&Taken<'_>) -> Shown,
}

macro_rules! figures {
    ($($name:ident: |$t:ident| $value:expr;)*) => {
        &[$(Figure { name: stringify!($name), value: |$t| Shown::from($value) }),*]
    };
}

/// All of them. What only counts up is a [`Counter`].
const FIGURES: &[Figure] = figures! {
    Uptime: |t| t.server.uptime_s();
    Uptime_since_flush_status: |t| t.server.uptime_since_flush_s();
    Max_used_connections: |_t| max_connections_seen().0;
    Max_used_connections_time: |t| t.local(max_connections_seen().1);
    Threads_running: |t| t.server.registry.running();
    Performance_schema_accounts_lost: |t| t.server.registry.tallies.lost(By::Account);
    Performance_schema_users_lost: |t| t.server.registry.tallies.lost(By::User);
    Performance_schema_hosts_lost: |t| t.server.registry.tallies.lost(By::Host);
    Gannet_log_table_rows: |t| t.server.logs.tables.counts().0;
    Gannet_log_table_lost: |t| t.server.logs.tables.counts().1;
    Performance_schema_digest_lost: |t| t.server.stats.lost();
    Threads_cached: |_t| 0;
    Slow_launch_threads: |_t| 0;
    Current_tls_ca: |t| t.server.tls.current(Live::SslCa);
    Current_tls_capath: |_t| "";
    Current_tls_cert: |t| t.server.tls.current(Live::SslCert);
    Current_tls_cipher: |t| t.server.tls.current(Live::SslCipher);
    Current_tls_ciphersuites: |t| t.server.tls.current(Live::TlsCiphersuites);
    Current_tls_crl: |_t| "";
    Current_tls_crlpath: |_t| "";
    Current_tls_key: |t| t.server.tls.current(Live::SslKey);
    Current_tls_version: |t| t.server.tls.current(Live::TlsVersion);
    Caching_sha2_password_rsa_public_key: |t| t.server.rsa.get().and_then(Option::as_ref).map_or("", |key| key.public_pem());
    Ssl_cipher: |t| t.tls.map_or("", |a| &*a.cipher);
    Ssl_version: |t| t.tls.map_or("", |a| a.version);
    Ssl_server_not_before: |t| t.fact(|f| &f.not_before);
    Ssl_server_not_after: |t| t.fact(|f| &f.not_after);
    Ssl_cipher_list: |t| t.tls.map_or(String::new(), |_| gannet_wire::tls::cipher_list().join(":"));
    Ssl_session_cache_mode: |t| if t.certificate.is_some() { "SERVER" } else { "DISABLED" };
    Compression: |t| if t.compression.is_some() { "ON" } else { "OFF" };
    Compression_algorithm: |t| t.compression.map_or("", |a| a.name());
    Compression_level: |t| t.compression.map_or(0, |a| u64::from(a.level()));
    Replica_open_temp_tables: |t| t.server.replicas().map_or(0, |replicas| replicas.open_tables());
    Slave_open_temp_tables: |t| t.server.replicas().map_or(0, |replicas| replicas.open_tables());
    Last_query_cost: |_t| "0.000000";
    Open_table_definitions: |_t| 0;
    Innodb_page_size: |_t| PAGE_BYTES;
    Innodb_num_open_files: |_t| gannet_runtime::open_files();
    Innodb_system_rows_read: |t| t.system().read + t.system().scanned;
    Innodb_system_rows_inserted: |t| t.system().inserted;
    Innodb_system_rows_updated: |t| t.system().updated;
    Innodb_system_rows_deleted: |t| t.system().deleted;
    Performance_schema_session_connect_attrs_longest_seen: |t| t.server.registry.longest_attributes();
    Innodb_data_pending_reads: |t| t.total(Counter::OsPendingReads);
    Innodb_data_pending_writes: |t| t.total(Counter::OsPendingWrites);
    Innodb_data_pending_fsyncs: |t| t.total(Counter::OsPendingSyncs);
    Innodb_os_log_pending_fsyncs: |t| t.total(Counter::OsLogPendingFsyncs);
    Innodb_os_log_pending_writes: |t| t.total(Counter::OsLogPendingWrites);
    Innodb_buffer_pool_pages_total: |t| t.engine.pool_pages;
    Innodb_buffer_pool_pages_data: |t| t.engine.pool_resident;
    Innodb_buffer_pool_bytes_data: |t| t.engine.pool_resident * PAGE_BYTES;
    Innodb_buffer_pool_pages_dirty: |t| t.engine.pool_dirty;
    Innodb_buffer_pool_bytes_dirty: |t| t.engine.pool_dirty * PAGE_BYTES;
    Innodb_buffer_pool_pages_free: |t| t.engine.pool_free();
    Innodb_buffer_pool_pages_misc: |t| t.engine.pool_aside;
    Innodb_buffer_pool_resize_status: |t| crate::pool::resize_text(&t.engine.pool_resize);
    Innodb_buffer_pool_resize_status_code: |t| crate::pool::resize_code(&t.engine.pool_resize);
    Innodb_buffer_pool_resize_status_progress: |t| u64::from(t.engine.pool_resize.percent);
    Innodb_redo_log_current_lsn: |t| t.engine.log_lsn.0;
    Innodb_redo_log_flushed_to_disk_lsn: |t| t.engine.durable_lsn.0;
    Innodb_redo_log_checkpoint_lsn: |t| t.engine.checkpoint_lsn.0;
    Innodb_redo_log_logical_size: |t| t.engine.log_lsn.0.saturating_sub(t.engine.checkpoint_lsn.0);
    Innodb_redo_log_physical_size: |t| t.engine.redo_capacity_bytes;
    Innodb_redo_log_capacity_resized: |t| t.engine.redo_capacity_bytes;
    Innodb_redo_log_read_only: |_t| "OFF";
    Innodb_redo_log_enabled: |_t| "ON";
    Innodb_history_list_length: |t| t.engine.history_length;
    Gannet_recovery_percent: |t| t.recovery.percent as u64;
    Gannet_recovery_phase: |t| format!("{:?}", t.recovery.phase);
    Gannet_recovery_log_bytes: |t| t.recovery.log_bytes;
    Gannet_recovery_log_bytes_total: |t| t.recovery.log_bytes_total;
    Gannet_recovery_pages: |t| t.recovery.pages;
    Gannet_recovery_pages_total: |t| t.recovery.pages_total;
    Gannet_recovery_pages_per_second: |t| t.recovery.rate as u64;
    Gannet_recovery_eta_seconds: |t| t.recovery.eta_seconds.map_or(String::new(), |s| (s as u64).to_string());
    Gannet_recovery_transactions_left: |t| t.engine.recovering;
    Gannet_log_growth_bytes_per_second: |t| t.engine.log_growth;
    Gannet_log_retained_bytes: |t| t.engine.log_retained_bytes;
    Gannet_checkpoint_pages_per_second: |t| t.engine.checkpoint_pace;
    Gannet_checkpoint_round_ms: |t| t.engine.checkpoint_round_ns / 1_000_000;
    Gannet_space_tables: |t| t.space.others.owned * PAGE_BYTES;
    Gannet_space_tables_used: |t| t.space.others.used * PAGE_BYTES;
    Gannet_space_undo: |t| t.space.named.owned * PAGE_BYTES;
    Gannet_space_undo_used: |t| t.space.named.used * PAGE_BYTES;
    Gannet_space_free: |t| t.space.free * PAGE_BYTES;
    Gannet_scrub_pages: |t| t.scrub.pages;
    Gannet_scrub_errors: |t| t.scrub.errors;
    Gannet_scrub_rewritten: |t| t.scrub.rewritten;
    Gannet_scrub_rounds: |t| t.scrub.rounds;
    Innodb_row_lock_time: |t| t.count(Counter::InnodbRowLockTimeMicros) / 1000;
    Innodb_row_lock_time_avg: |t| {
        let micros = t.count(Counter::InnodbRowLockTimeMicros);
        (micros / 1000).checked_div(t.count(Counter::InnodbRowLockWaits)).unwrap_or(0)
    };
    Innodb_row_lock_time_max: |_t| longest_row_lock_us() / 1000;
    Rpl_semi_sync_source_clients: |t| t.semi_sync().clients;
    Rpl_semi_sync_source_net_avg_wait_time: |_t| 0;
    Rpl_semi_sync_source_net_wait_time: |_t| 0;
    Rpl_semi_sync_source_net_waits: |t| t.semi_sync().acknowledgements;
    Rpl_semi_sync_source_no_times: |t| t.semi_sync().no_times;
    Rpl_semi_sync_source_no_tx: |t| t.semi_sync().no_tx;
    Rpl_semi_sync_source_status: |t| on(t.semi_sync().on);
    Rpl_semi_sync_source_timefunc_failures: |_t| 0;
    Rpl_semi_sync_source_tx_avg_wait_time: |t| t.semi_sync().average_us();
    Rpl_semi_sync_source_tx_wait_time: |t| t.semi_sync().waited_us;
    Rpl_semi_sync_source_tx_waits: |t| t.semi_sync().yes_tx;
    Rpl_semi_sync_source_wait_pos_backtraverse: |_t| 0;
    Rpl_semi_sync_source_wait_sessions: |t| t.semi_sync().waiting;
    Rpl_semi_sync_source_yes_tx: |t| t.semi_sync().yes_tx;
    Rpl_semi_sync_master_clients: |t| t.semi_sync().clients;
    Rpl_semi_sync_master_net_avg_wait_time: |_t| 0;
    Rpl_semi_sync_master_net_wait_time: |_t| 0;
    Rpl_semi_sync_master_net_waits: |t| t.semi_sync().acknowledgements;
    Rpl_semi_sync_master_no_times: |t| t.semi_sync().no_times;
    Rpl_semi_sync_master_no_tx: |t| t.semi_sync().no_tx;
    Rpl_semi_sync_master_status: |t| on(t.semi_sync().on);
    Rpl_semi_sync_master_timefunc_failures: |_t| 0;
    Rpl_semi_sync_master_tx_avg_wait_time: |t| t.semi_sync().average_us();
    Rpl_semi_sync_master_tx_wait_time: |t| t.semi_sync().waited_us;
    Rpl_semi_sync_master_tx_waits: |t| t.semi_sync().yes_tx;
    Rpl_semi_sync_master_wait_pos_backtraverse: |_t| 0;
    Rpl_semi_sync_master_wait_sessions: |t| t.semi_sync().waiting;
    Rpl_semi_sync_master_yes_tx: |t| t.semi_sync().yes_tx;
    Rpl_semi_sync_replica_status: |t| on(t.server.replicas().is_some_and(|r| r.acknowledges()));
    Rpl_semi_sync_slave_status: |t| on(t.server.replicas().is_some_and(|r| r.acknowledges()));
    Resource_group_supported: |_t| "OFF";
    Telemetry_metrics_supported: |_t| "OFF";
    Telemetry_traces_supported: |_t| "OFF";
};

/// Where the value of a name comes from.
#[derive(Clone, Copy)]
enum Source {
    Counter(Counter),
    Figure(&'static Figure),
    Never,
}

/// Names as they are sorted: without regard to case.
fn by_name(a: &str, b: &str) -> std::cmp::Ordering {
    let folded = |s: &str| s.bytes().map(|b| b.to_ascii_lowercase()).collect::<Vec<_>>();
    folded(a).cmp(&folded(b))
}

/// All names but those of services, in order.
fn sources() -> &'static [(&'static str, Source)] {
    static SORTED: OnceLock<Vec<(&'static str, Source)>> = OnceLock::new();
    SORTED.get_or_init(|| {
        let shown = Counter::ALL.iter().filter(|c| c.scope() != Scope::Metrics);
        let counters = shown.map(|c| (c.name(), Source::Counter(*c)));
        let figures = FIGURES.iter().map(|f| (f.name, Source::Figure(f)));
        let never = NEVER.iter().map(|name| (*name, Source::Never));
        let mut all: Vec<_> = counters.chain(figures).chain(never).collect();
        all.sort_by(|(a, _), (b, _)| by_name(a, b));
        all
    })
}

/// Calls `emit` for each name that is wanted, by name, with its value; with a session's own counts where MySQL has
/// them.
fn each_shown<E>(
    server: &Core,
    session: Option<&SessionCounters>,
    entry: Option<&Entry>,
    wanted: impl Fn(&str) -> bool,
    mut emit: impl FnMut(&'static str, Shown) -> Result<(), E>,
) -> Result<(), E> {
    let taken = Taken::new(server, session, entry);
    let mut services = server.service_figures();
    services.retain(|(name, _)| wanted(name));
    services.sort_by(|(a, _), (b, _)| by_name(a, b));
    let mut services = services.into_iter().peekable();
    for (name, source) in sources().iter().filter(|(name, _)| wanted(name)) {
        while let Some((service, n)) = services.next_if(|(service, _)| by_name(service, name).is_lt()) {
            emit(service, Shown::Number(n))?;
        }
        emit(name, taken.value(*source))?;
    }
    services.try_for_each(|(service, n)| emit(service, Shown::Number(n)))
}

/// Names and values, by name, of those that are wanted.
pub fn shown(
    server: &Core,
    session: Option<&SessionCounters>,
    entry: Option<&Entry>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<(&'static str, Shown)> {
    let mut all = Vec::new();
    let done: Result<(), Infallible> = each_shown(server, session, entry, wanted, |name, value| {
        all.push((name, value));
        Ok(())
    });
    match done {
        Ok(()) => all,
    }
}

/// The same one by one, values as text.
pub fn each<E>(
    server: &Core,
    session: Option<&SessionCounters>,
    entry: Option<&Entry>,
    wanted: impl Fn(&str) -> bool,
    emit: &mut dyn FnMut(&'static str, &str) -> Result<(), E>,
) -> Result<(), E> {
    let mut text = String::new();
    each_shown(server, session, entry, wanted, |name, value| {
        text.clear();
        // Writing to a text does not fail.
        let _ = write!(text, "{value}");
        emit(name, &text)
    })
}

/// COM_STATISTICS: the line of `mysqladmin status`.
pub fn one_line(server: &Core) -> String {
    let total = |c: Counter| gannet_telemetry::total(c);
    let (uptime, questions) = (server.uptime_s(), total(Counter::Questions));
    let connections = server.registry.all().iter().filter(|e| !e.is_own()).count();
    format!(
        "Uptime: {uptime}  Threads: {connections}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: {}  Open tables: 0  \
         Queries per second avg: {:.3}",
        total(Counter::SlowQueries),
        total(Counter::FlushCommands),
        questions as f64 / uptime.max(1) as f64
    )
}

/// The number that a transaction is shown under. A transaction that has not written gets a number beyond all others,
/// as in InnoDB.
pub fn shown_trx(trx: gannet_base::TrxId, lock_owner: u64) -> u64 {
    if trx.0 == 0 { 1 << 48 | lock_owner } else { trx.0 }
}

/// A line for each consumer of the log.
fn consumers(engine: &Engine) -> String {
    let line = |c: ConsumerStatus| {
        let beyond = match c.hold.beyond {
            _ if c.cut_off => "cut off beyond",
            Beyond::Brake => "brakes writers beyond",
            Beyond::CutOff => "is cut off beyond",
        };
        format!("Consumer '{}' is {} bytes behind, {beyond} {}\n", c.name, c.behind_bytes, c.hold.bound_bytes)
    };
    engine.consumers().into_iter().map(line).collect()
}

/// The text of SHOW ENGINE INNODB STATUS, in InnoDB's layout.
pub fn innodb(server: &Core) -> String {
    let s = server.engine.status();
    let now = crate::log::timestamp(gannet_runtime::WallTime::now().micros() as i64).replace('T', " ");
    let total = |c: Counter| gannet_telemetry::total(c);
    let uptime = server.uptime_s().max(1) as f64;
    let mut out = String::with_capacity(4096);
    let line = |out: &mut String, text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let title = |out: &mut String, text: &str| {
        let rule = "-".repeat(text.len());
        out.push_str(&format!("{rule}\n{text}\n{rule}\n"));
    };
    out.push_str("\n=====================================\n");
    line(&mut out, format!("{} INNODB MONITOR OUTPUT", now.get(..19).unwrap_or(&now)));
    out.push_str("=====================================\n");
    line(&mut out, format!("Per second averages calculated from the last {uptime:.0} seconds"));
    title(&mut out, "BACKGROUND THREAD");
    line(&mut out, format!("Gannet: recovery {} percent", s.recovery_percent));
    let r = server.engine.recovery();
    if r.percent < 100.0 || s.recovering > 0 {
        let eta = r.eta_seconds.map_or(String::new(), |eta| format!(", {eta:.0} s to go"));
        let log = format!("log {} of {} bytes", r.log_bytes, r.log_bytes_total);
        let pages = format!("pages {} of {}, {:.0} pages/s{eta}", r.pages, r.pages_total, r.rate);
        line(&mut out, format!("Gannet: {log}, {pages}; {} transactions to roll back", s.recovering));
    }
    title(&mut out, "SEMAPHORES");
    line(&mut out, format!("Optimistic read restarts {}", total(Counter::OptimisticRestarts)));
    let latest = [server.reports.foreign_key(), crate::reports::deadlock(server)];
    for (report, what) in latest.into_iter().zip(["LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK"]) {
        let Some(report) = report else { continue };
        title(&mut out, what);
        out.push_str(&report);
    }
    title(&mut out, "TRANSACTIONS");
    line(&mut out, format!("Trx id counter {}", s.next_trx_id.0));
    line(&mut out, format!("Purge done for trx's n:o < {} undo n:o < 0 state: running", s.next_trx_id.0));
    line(&mut out, format!("History list length {}", s.history_length));
    line(&mut out, "LIST OF TRANSACTIONS FOR EACH SESSION:".into());
    for t in server.engine.transactions(1000) {
        let entry = server.registry.get(t.owner_thread_id);
        let since = if t.started_ns == 0 { entry.as_ref().map_or(0, |e| e.activity().1) } else { t.started_ns };
        let state = if t.rolling_back { "ROLLBACK" } else { "ACTIVE" };
        let age = gannet_runtime::now_ns().saturating_sub(since) / 1_000_000_000;
        line(&mut out, format!("---TRANSACTION {}, {state} {age} sec", shown_trx(t.id, t.lock_owner)));
        let (rows, trees) = t.locks.as_ref().map_or((0, 0), |l| (l.records, l.gap_trees));
        line(
            &mut out,
            format!("{} lock struct(s), {rows} row lock(s), undo log entries {}", rows + trees, t.undo_records),
        );
        if t.snapshot {
            line(&mut out, "Trx read view is open".into());
        }
        if let Some(e) = entry {
            let who = e.who();
            line(&mut out, format!("MySQL thread id {}, query id 0 {} {} {}", e.id, who.host, who.user, e.state()));
            if let Some(info) = e.info() {
                line(&mut out, info.to_string());
            }
            if let Some((gannet_runtime::Wait::RowLock, since)) = e.context.waiting() {
                let seconds = gannet_runtime::now_ns().saturating_sub(since) / 1_000_000_000;
                line(&mut out, format!("------- TRX HAS BEEN WAITING {seconds} SEC FOR THIS LOCK TO BE GRANTED"));
            }
        }
    }
    title(&mut out, "FILE I/O");
    line(
        &mut out,
        format!(
            "{} OS file reads, {} OS file writes, {} OS fsyncs",
            total(Counter::InnodbDataReads),
            total(Counter::InnodbDataWrites),
            total(Counter::InnodbDataFsyncs)
        ),
    );
    title(&mut out, "LOG");
    line(&mut out, format!("Log sequence number          {}", s.log_lsn.0));
    line(&mut out, format!("Log buffer assigned up to    {}", s.log_lsn.0));
    line(&mut out, format!("Log buffer completed up to   {}", s.log_lsn.0));
    line(&mut out, format!("Log written up to            {}", s.durable_lsn.0));
    line(&mut out, format!("Log flushed up to            {}", s.durable_lsn.0));
    line(&mut out, format!("Pages flushed up to          {}", s.checkpoint_lsn.0));
    line(&mut out, format!("Last checkpoint at           {}", s.checkpoint_lsn.0));
    line(
        &mut out,
        format!(
            "Log grows by {} bytes/s, checkpointer writes {} pages/s, last round {} ms",
            s.log_growth,
            if s.checkpoint_pace == u64::MAX { "all".to_owned() } else { s.checkpoint_pace.to_string() },
            s.checkpoint_round_ns / 1_000_000
        ),
    );
    line(&mut out, format!("{}{} log i/o's done", consumers(&server.engine), total(Counter::InnodbLogWrites)));
    title(&mut out, "BUFFER POOL AND MEMORY");
    line(&mut out, format!("Buffer pool size   {}", s.pool_pages));
    line(&mut out, format!("Free buffers       {}", s.pool_free()));
    line(&mut out, format!("Database pages     {}", s.pool_resident));
    line(&mut out, format!("Modified db pages  {}", s.pool_dirty));
    let (read, made, written) =
        (total(Counter::InnodbPagesRead), total(Counter::InnodbPagesCreated), total(Counter::InnodbPagesWritten));
    line(&mut out, format!("Pages read {read}, created {made}, written {written}"));
    title(&mut out, "ROW OPERATIONS");
    let rows =
        [Counter::InnodbRowsInserted, Counter::InnodbRowsUpdated, Counter::InnodbRowsDeleted, Counter::InnodbRowsRead]
            .map(total);
    line(
        &mut out,
        format!("Number of rows inserted {}, updated {}, deleted {}, read {}", rows[0], rows[1], rows[2], rows[3]),
    );
    let per = rows.map(|n| n as f64 / uptime);
    line(
        &mut out,
        format!("{:.2} inserts/s, {:.2} updates/s, {:.2} deletes/s, {:.2} reads/s", per[0], per[1], per[2], per[3]),
    );
    out.push_str("----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_variable_is_declared_once() {
        let counters = Counter::ALL.iter().map(|c| c.name());
        let mut names: Vec<&str> =
            counters.chain(FIGURES.iter().map(|f| f.name)).chain(NEVER.iter().copied()).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|w| w[0].eq_ignore_ascii_case(w[1])).map(|w| w[0]).collect();
        assert_eq!(twice, Vec::<&str>::new());
    }
}
