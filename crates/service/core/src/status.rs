//! SHOW STATUS: telemetry's counters, the engine's figures, and what follows from them. O(workers) to collect.

use crate::Core;
use crate::registry::Entry;
use gannet_base::PAGE_SIZE;
use gannet_telemetry::{Counter, Kind, Scope, SessionCounters, longest_row_lock_us, max_connections_seen, totals};

const PAGE_BYTES: u64 = PAGE_SIZE as u64;

/// MySQL's counters of what does not exist here, or is not counted: always 0.
#[rustfmt::skip]
const NEVER: &[&str] = &[
    "Aborted_connects_preauth",
    "Acl_cache_items_count",
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Com_alter_resource_group",
    "Com_alter_server",
    "Com_alter_tablespace",
    "Com_assign_to_keycache",
    "Com_change_repl_filter",
    "Com_change_replication_source",
    "Com_create_resource_group",
    "Com_create_server",
    "Com_create_spatial_reference_system",
    "Com_create_udf",
    "Com_drop_resource_group",
    "Com_drop_server",
    "Com_drop_spatial_reference_system",
    "Com_group_replication_start",
    "Com_group_replication_stop",
    "Com_import",
    "Com_lock_instance",
    "Com_preload_keys",
    "Com_purge",
    "Com_purge_before_date",
    "Com_replica_start",
    "Com_replica_stop",
    "Com_resignal",
    "Com_set_resource_group",
    "Com_show_engine_logs",
    "Com_show_engine_mutex",
    "Com_show_function_code",
    "Com_show_parse_tree",
    "Com_show_procedure_code",
    "Com_show_relaylog_events",
    "Com_signal",
    "Com_unlock_instance",
    "Connection_errors_peer_address",
    "Connection_errors_select",
    "Connection_errors_tcpwrap",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Deprecated_use_i_s_processlist_count",
    "Global_connection_memory",
    "Handler_discover",
    "Handler_mrr_init",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_read_ahead_evicted",
    "Innodb_buffer_pool_read_ahead_rnd",
    "Innodb_data_pending_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",
    "Innodb_num_open_files",
    "Innodb_os_log_pending_fsyncs",
    "Innodb_os_log_pending_writes",
    "Innodb_sampled_pages_read",
    "Innodb_sampled_pages_skipped",
    "Innodb_system_rows_deleted",
    "Innodb_system_rows_inserted",
    "Innodb_system_rows_read",
    "Innodb_system_rows_updated",
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
    "Opened_tables",
    "Performance_schema_accounts_lost",
    "Performance_schema_cond_classes_lost",
    "Performance_schema_cond_instances_lost",
    "Performance_schema_digest_lost",
    "Performance_schema_file_classes_lost",
    "Performance_schema_file_handles_lost",
    "Performance_schema_file_instances_lost",
    "Performance_schema_hosts_lost",
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
    "Performance_schema_session_connect_attrs_longest_seen",
    "Performance_schema_session_connect_attrs_lost",
    "Performance_schema_socket_classes_lost",
    "Performance_schema_socket_instances_lost",
    "Performance_schema_stage_classes_lost",
    "Performance_schema_statement_classes_lost",
    "Performance_schema_table_handles_lost",
    "Performance_schema_table_instances_lost",
    "Performance_schema_table_lock_stat_lost",
    "Performance_schema_thread_classes_lost",
    "Performance_schema_thread_instances_lost",
    "Performance_schema_users_lost",
    "Replica_open_temp_tables",
    "Secondary_engine_execution_count",
    "Select_range_check",
    "Slave_open_temp_tables",
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

/// Names and values, by name; with a session's own counts where MySQL has them.
pub fn rows(server: &Core, session: Option<&SessionCounters>, entry: Option<&Entry>) -> Vec<(String, String)> {
    let encrypted = entry.and_then(|e| e.tls.get());
    let compressed = entry.and_then(|e| e.compression.get());
    let mut rows: Vec<(String, String)> = Vec::with_capacity(Counter::COUNT + 40);
    let base = server.status_base();
    for (c, n) in totals() {
        let own = session.filter(|_| c.scope() == Scope::Both && c != Counter::Queries);
        let shown = match (c.kind(), own) {
            (Kind::Counter, Some(s)) => s.get(c).to_string(),
            (Kind::Gauge, _) => (n as i64).to_string(),
            (Kind::Counter, None) => n.wrapping_sub(base.get(c as usize).copied().unwrap_or(0)).to_string(),
        };
        rows.push((c.name().into(), shown));
    }
    let mut put = |name: &str, value: String| rows.push((name.into(), value));
    let n = |v: u64| v.to_string();
    put("Uptime", n(server.uptime_s()));
    put("Uptime_since_flush_status", n(server.uptime_since_flush_s()));
    put("Max_used_connections", n(max_connections_seen()));
    let running = server.registry.all().iter().filter(|e| e.activity().0 != crate::registry::Activity::Sleep).count();
    put("Threads_running", running.to_string());
    put("Threads_cached", n(0));
    put("Slow_launch_threads", n(0));
    put("Ssl_cipher", encrypted.map_or(String::new(), |a| a.cipher.clone()));
    put("Ssl_version", encrypted.map_or("", |a| a.version).into());
    let acceptor = server.tls.acceptor();
    let facts = acceptor.as_ref().map(|a| a.facts.clone()).unwrap_or_default();
    put("Ssl_server_not_before", facts.not_before);
    put("Ssl_server_not_after", facts.not_after);
    put("Ssl_cipher_list", encrypted.map_or(String::new(), |_| gannet_wire::tls::cipher_list().join(":")));
    put("Ssl_session_cache_mode", if acceptor.is_some() { "SERVER" } else { "DISABLED" }.into());
    put("Compression", if compressed.is_some() { "ON" } else { "OFF" }.into());
    put("Compression_algorithm", compressed.map_or("", |a| a.name()).into());
    put("Compression_level", n(compressed.map_or(0, |a| a.level().into())));
    put("Last_query_cost", "0.000000".into());
    put("Open_table_definitions", n(0));
    put("Innodb_page_size", n(16384));
    let s = server.engine.status();
    put("Innodb_buffer_pool_pages_total", n(s.pool_pages));
    put("Innodb_buffer_pool_pages_data", n(s.pool_resident));
    put("Innodb_buffer_pool_bytes_data", n(s.pool_resident * 16384));
    put("Innodb_buffer_pool_pages_dirty", n(s.pool_dirty));
    put("Innodb_buffer_pool_bytes_dirty", n(s.pool_dirty * 16384));
    put("Innodb_buffer_pool_pages_free", n(s.pool_pages.saturating_sub(s.pool_resident)));
    put("Innodb_redo_log_current_lsn", n(s.log_lsn.0));
    put("Innodb_redo_log_flushed_to_disk_lsn", n(s.durable_lsn.0));
    put("Innodb_redo_log_checkpoint_lsn", n(s.checkpoint_lsn.0));
    put("Innodb_redo_log_logical_size", n(s.log_lsn.0.saturating_sub(s.checkpoint_lsn.0)));
    put("Innodb_redo_log_physical_size", n(s.redo_capacity_bytes));
    put("Innodb_redo_log_capacity_resized", n(s.redo_capacity_bytes));
    put("Innodb_redo_log_read_only", "OFF".into());
    put("Innodb_redo_log_enabled", "ON".into());
    put("Innodb_history_list_length", n(s.history_length));
    let r = server.engine.recovery();
    put("Gannet_recovery_percent", n(r.percent as u64));
    put("Gannet_recovery_phase", format!("{:?}", r.phase));
    put("Gannet_recovery_log_bytes", n(r.log_bytes));
    put("Gannet_recovery_log_bytes_total", n(r.log_bytes_total));
    put("Gannet_recovery_pages", n(r.pages));
    put("Gannet_recovery_pages_total", n(r.pages_total));
    put("Gannet_recovery_pages_per_second", n(r.rate as u64));
    put("Gannet_recovery_eta_seconds", r.eta_seconds.map_or(String::new(), |s| n(s as u64)));
    put("Gannet_recovery_transactions_left", n(s.recovering));
    put("Gannet_log_growth_bytes_per_second", n(s.log_growth));
    put("Gannet_checkpoint_pages_per_second", n(s.checkpoint_pace));
    put("Gannet_checkpoint_round_ms", n(s.checkpoint_round_ns / 1_000_000));
    let space = server.engine.space();
    put("Gannet_space_tables", n(space.others.owned * PAGE_BYTES));
    put("Gannet_space_tables_used", n(space.others.used * PAGE_BYTES));
    put("Gannet_space_undo", n(space.named.owned * PAGE_BYTES));
    put("Gannet_space_undo_used", n(space.named.used * PAGE_BYTES));
    put("Gannet_space_free", n(space.free * PAGE_BYTES));
    let scrub = server.engine.scrub_status();
    put("Gannet_scrub_pages", n(scrub.pages));
    put("Gannet_scrub_errors", n(scrub.errors));
    put("Gannet_scrub_rewritten", n(scrub.rewritten));
    put("Gannet_scrub_rounds", n(scrub.rounds));
    server.service_figures().into_iter().for_each(|(name, value)| put(name, n(value)));
    let waits = rows.iter().find(|(n, _)| n == Counter::InnodbRowLockTimeMicros.name()).map(|(_, v)| v.clone());
    let micros: u64 = waits.and_then(|v| v.parse().ok()).unwrap_or(0);
    let count: u64 = rows
        .iter()
        .find(|(n, _)| n == Counter::InnodbRowLockWaits.name())
        .and_then(|(_, v)| v.parse().ok())
        .unwrap_or(0);
    rows.push(("Innodb_row_lock_time".into(), n(micros / 1000)));
    rows.push(("Innodb_row_lock_time_avg".into(), n((micros / 1000).checked_div(count).unwrap_or(0))));
    rows.push(("Innodb_row_lock_time_max".into(), n(longest_row_lock_us() / 1000)));
    for name in NEVER {
        if !rows.iter().any(|(n, _)| n == name) {
            rows.push(((*name).into(), n(0)));
        }
    }
    for name in ["Resource_group_supported", "Telemetry_traces_supported"] {
        rows.push((name.into(), "OFF".into()));
    }
    rows.sort_by_key(|a| a.0.to_lowercase());
    // What is computed here replaces a counter of the same name.
    rows.dedup_by(|b, a| {
        a.0 == b.0 && {
            a.1 = std::mem::take(&mut b.1);
            true
        }
    });
    rows
}

/// COM_STATISTICS: the line of `mysqladmin status`.
pub fn one_line(server: &Core) -> String {
    let total = |c: Counter| gannet_telemetry::total(c);
    let (uptime, questions) = (server.uptime_s(), total(Counter::Questions));
    format!(
        "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: {}  Open tables: 0  \
         Queries per second avg: {:.3}",
        server.registry.len(),
        total(Counter::SlowQueries),
        total(Counter::FlushCommands),
        questions as f64 / uptime.max(1) as f64
    )
}

/// The number that a transaction is shown under: one that has not written has a number beyond all others, as InnoDB shows it.
pub fn shown_trx(trx: gannet_base::TrxId, lock_owner: u64) -> u64 {
    if trx.0 == 0 { 1 << 48 | lock_owner } else { trx.0 }
}

/// The text of SHOW ENGINE INNODB STATUS, in InnoDB's layout.
pub fn innodb(server: &Core) -> String {
    let s = server.engine.status();
    let now = crate::log::timestamp(gannet_runtime::unix_micros() as i64).replace('T', " ");
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
    if let Some(report) = server.reports.foreign_key() {
        title(&mut out, "LATEST FOREIGN KEY ERROR");
        out.push_str(&report);
    }
    title(&mut out, "LATEST DETECTED DEADLOCK");
    crate::reports::deadlock(server, &mut out);
    title(&mut out, "TRANSACTIONS");
    line(&mut out, format!("Trx id counter {}", s.next_trx_id.0));
    line(&mut out, format!("Purge done for trx's n:o < {} undo n:o < 0 state: running", s.next_trx_id.0));
    line(&mut out, format!("History list length {}", s.history_length));
    line(&mut out, "LIST OF TRANSACTIONS FOR EACH SESSION:".into());
    for t in server.engine.transactions(1000) {
        let entry = server.registry.get(t.owner_thread_id);
        let since = if t.started_us == 0 { entry.as_ref().map_or(0, |e| e.activity().1) } else { t.started_us };
        let state = if t.rolling_back { "ROLLBACK" } else { "ACTIVE" };
        let age = gannet_runtime::unix_micros().saturating_sub(since) / 1_000_000;
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
    line(&mut out, format!("{} log i/o's done", total(Counter::InnodbLogWrites)));
    title(&mut out, "BUFFER POOL AND MEMORY");
    line(&mut out, format!("Buffer pool size   {}", s.pool_pages));
    line(&mut out, format!("Free buffers       {}", s.pool_pages.saturating_sub(s.pool_resident)));
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
