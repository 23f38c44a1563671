//! Tables about the binary log and replicas.

use super::declare::{
    BIGINT, BLOB, FLOAT, INT, JSON, LONGTEXT, NAME, SMALLINT, Spec, TEXT, UBIGINT, UINT, UTINYINT, YES_NO, double,
    enumeration, fixed, timestamp, tinyint, varchar,
};
use super::empty::no_rows;
use super::{Emit, Equals, member, micros, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::binlog::Sized;
use gannet_core::replication::Table;
use gannet_types::{Result, Timestamp, TypeId, Value};

const ALLOWED: Spec = enumeration(&["YES", "NO", "IGNORED"]).not_null();

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    binary_log_transaction_compression_stats by compression, reset by forget_compression {
        LOG_TYPE: enumeration(&["BINARY", "RELAY"]).not_null(), COMPRESSION_TYPE: NAME.not_null(),
        TRANSACTION_COUNTER: UBIGINT.not_null(), COMPRESSED_BYTES_COUNTER: UBIGINT.not_null(),
        UNCOMPRESSED_BYTES_COUNTER: UBIGINT.not_null(), COMPRESSION_PERCENTAGE: SMALLINT.not_null(),
        FIRST_TRANSACTION_ID: TEXT, FIRST_TRANSACTION_COMPRESSED_BYTES: UBIGINT.not_null(),
        FIRST_TRANSACTION_UNCOMPRESSED_BYTES: UBIGINT.not_null(), FIRST_TRANSACTION_TIMESTAMP: timestamp(6),
        LAST_TRANSACTION_ID: TEXT, LAST_TRANSACTION_COMPRESSED_BYTES: UBIGINT.not_null(),
        LAST_TRANSACTION_UNCOMPRESSED_BYTES: UBIGINT.not_null(), LAST_TRANSACTION_TIMESTAMP: timestamp(6),
    }
    replication_connection_configuration by connection_configuration {
        CHANNEL_NAME: fixed(64).not_null(), HOST: fixed(255).ascii().not_null(), PORT: INT.not_null(),
        USER: fixed(32).utf8mb4_bin().not_null(), NETWORK_INTERFACE: fixed(60).utf8mb4_bin().not_null(),
        AUTO_POSITION: enumeration(&["1", "0"]).not_null(), SSL_ALLOWED: ALLOWED,
        SSL_CA_FILE: varchar(512).not_null(), SSL_CA_PATH: varchar(512).not_null(),
        SSL_CERTIFICATE: varchar(512).not_null(), SSL_CIPHER: varchar(512).not_null(),
        SSL_KEY: varchar(512).not_null(), SSL_VERIFY_SERVER_CERTIFICATE: YES_NO.not_null(),
        SSL_CRL_FILE: varchar(255).not_null(), SSL_CRL_PATH: varchar(255).not_null(),
        CONNECTION_RETRY_INTERVAL: INT.not_null(), CONNECTION_RETRY_COUNT: UBIGINT.not_null(),
        HEARTBEAT_INTERVAL: double(10, 3).not_null(), TLS_VERSION: varchar(255).not_null(),
        PUBLIC_KEY_PATH: varchar(512).not_null(), GET_PUBLIC_KEY: YES_NO.not_null(),
        NETWORK_NAMESPACE: varchar(64).not_null(), COMPRESSION_ALGORITHM: fixed(64).utf8mb4_bin().not_null(),
        ZSTD_COMPRESSION_LEVEL: INT.not_null(), TLS_CIPHERSUITES: TEXT.bin(),
        SOURCE_CONNECTION_AUTO_FAILOVER: enumeration(&["1", "0"]).not_null(),
        GTID_ONLY: enumeration(&["1", "0"]).not_null(),
    }
    replication_connection_status by connection_status {
        CHANNEL_NAME: fixed(64).not_null(), GROUP_NAME: fixed(36).utf8mb4_bin().not_null(),
        SOURCE_UUID: fixed(36).utf8mb4_bin().not_null(),
        THREAD_ID: UBIGINT, SERVICE_STATE: enumeration(&["ON", "OFF", "CONNECTING"]).not_null(),
        COUNT_RECEIVED_HEARTBEATS: UBIGINT.not_null().empty(), LAST_HEARTBEAT_TIMESTAMP: timestamp(6).not_null(),
        RECEIVED_TRANSACTION_SET: LONGTEXT.not_null(), LAST_ERROR_NUMBER: INT.not_null(),
        LAST_ERROR_MESSAGE: varchar(1024).not_null(), LAST_ERROR_TIMESTAMP: timestamp(6).not_null(),
        LAST_QUEUED_TRANSACTION: fixed(90), LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP: timestamp(6).not_null(),
        LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP: timestamp(6).not_null(), QUEUEING_TRANSACTION: fixed(90),
        QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP: timestamp(6).not_null(),
    }
    replication_applier_status by applier_status {
        CHANNEL_NAME: fixed(64).not_null(), SERVICE_STATE: enumeration(&["ON", "OFF"]).not_null(),
        REMAINING_DELAY: UINT, COUNT_TRANSACTIONS_RETRIES: UBIGINT.not_null(),
    }
    replication_applier_configuration by applier_configuration {
        CHANNEL_NAME: fixed(64).not_null(), DESIRED_DELAY: INT.not_null(), PRIVILEGE_CHECKS_USER: TEXT.bin(),
        REQUIRE_ROW_FORMAT: YES_NO.not_null(),
        REQUIRE_TABLE_PRIMARY_KEY_CHECK: enumeration(&["STREAM", "ON", "OFF", "GENERATE"]).not_null(),
        ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE: enumeration(&["OFF", "LOCAL", "UUID"]).not_null(),
        ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE: TEXT.bin(),
    }
    replication_applier_status_by_coordinator by coordinator {
        CHANNEL_NAME: fixed(64).not_null(), THREAD_ID: UBIGINT, SERVICE_STATE: enumeration(&["ON", "OFF"]).not_null(),
        LAST_ERROR_NUMBER: INT.not_null(), LAST_ERROR_MESSAGE: varchar(1024).not_null(),
        LAST_ERROR_TIMESTAMP: timestamp(6).not_null(), LAST_PROCESSED_TRANSACTION: fixed(90),
        LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP: timestamp(6).not_null(),
        LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP: timestamp(6).not_null(), PROCESSING_TRANSACTION: fixed(90),
        PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP: timestamp(6).not_null(),
    }
    replication_applier_status_by_worker by workers {
        CHANNEL_NAME: fixed(64).not_null(), WORKER_ID: UBIGINT.not_null(), THREAD_ID: UBIGINT,
        SERVICE_STATE: enumeration(&["ON", "OFF"]).not_null(), LAST_ERROR_NUMBER: INT.not_null(),
        LAST_ERROR_MESSAGE: varchar(1024).not_null(), LAST_ERROR_TIMESTAMP: timestamp(6).not_null(),
        LAST_APPLIED_TRANSACTION: fixed(90),
        LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP: timestamp(6).not_null(),
        LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP: timestamp(6).not_null(), APPLYING_TRANSACTION: fixed(90),
        APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: timestamp(6).not_null(),
        APPLYING_TRANSACTION_START_APPLY_TIMESTAMP: timestamp(6).not_null(),
        LAST_APPLIED_TRANSACTION_RETRIES_COUNT: UBIGINT.not_null(),
        LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER: INT.not_null(),
        LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE: varchar(1024),
        LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP: timestamp(6).not_null(),
        APPLYING_TRANSACTION_RETRIES_COUNT: UBIGINT.not_null(),
        APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER: INT.not_null(),
        APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE: varchar(1024),
        APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP: timestamp(6).not_null(),
    }
    replication_applier_filters by filters {
        CHANNEL_NAME: fixed(64).not_null(), FILTER_NAME: fixed(64).not_null(), FILTER_RULE: LONGTEXT.not_null(),
        CONFIGURED_BY: enumeration(&[
            "STARTUP_OPTIONS", "CHANGE_REPLICATION_FILTER", "STARTUP_OPTIONS_FOR_CHANNEL",
            "CHANGE_REPLICATION_FILTER_FOR_CHANNEL",
        ]).not_null(),
        ACTIVE_SINCE: timestamp(6).not_null(), COUNTER: UBIGINT.not_null().empty(),
    }
    replication_asynchronous_connection_failover by failover {
        CHANNEL_NAME: fixed(64).utf8mb3().not_null(), HOST: fixed(255).ascii().not_null(), PORT: INT.not_null(),
        NETWORK_NAMESPACE: fixed(64), WEIGHT: UINT.not_null(),
        MANAGED_NAME: fixed(64).utf8mb3().not_null().empty(),
    }
    replication_applier_global_filters by global_filters {
        FILTER_NAME: fixed(64).not_null(), FILTER_RULE: LONGTEXT.not_null(),
        CONFIGURED_BY: enumeration(&["STARTUP_OPTIONS", "CHANGE_REPLICATION_FILTER"]).not_null(),
        ACTIVE_SINCE: timestamp(6).not_null(),
    }
}

tables! {
    MYSQL in "mysql":
    gtid_executed by gtid_executed {
        source_uuid: fixed(36).not_null(), interval_start: BIGINT.not_null(), interval_end: BIGINT.not_null(),
        gtid_tag: fixed(32).not_null(),
    }
    slave_master_info by master_info {
        Number_of_lines: UINT.not_null(), Master_log_name: TEXT.not_null(), Master_log_pos: UBIGINT.not_null(),
        Host: varchar(255).ascii(), User_name: TEXT, User_password: TEXT, Port: UINT.not_null(),
        Connect_retry: UINT.not_null(), Enabled_ssl: tinyint(1).not_null(), Ssl_ca: TEXT, Ssl_capath: TEXT,
        Ssl_cert: TEXT, Ssl_cipher: TEXT, Ssl_key: TEXT, Ssl_verify_server_cert: tinyint(1).not_null(),
        Heartbeat: FLOAT.not_null(), Bind: TEXT, Ignored_server_ids: TEXT, Uuid: TEXT,
        Retry_count: UBIGINT.not_null(), Ssl_crl: TEXT, Ssl_crlpath: TEXT,
        Enabled_auto_position: tinyint(1).not_null(), Channel_name: NAME.not_null(), Tls_version: TEXT,
        Public_key_path: TEXT, Get_public_key: tinyint(1).not_null(), Network_namespace: TEXT,
        Master_compression_algorithm: NAME.not_null(), Master_zstd_compression_level: UINT.not_null(),
        Tls_ciphersuites: TEXT, Source_connection_auto_failover: tinyint(1).not_null(),
        Gtid_only: tinyint(1).not_null(),
    }
    slave_relay_log_info by relay_log_info {
        Number_of_lines: UINT.not_null(), Relay_log_name: TEXT, Relay_log_pos: UBIGINT, Master_log_name: TEXT,
        Master_log_pos: UBIGINT, Sql_delay: INT, Number_of_workers: UINT, Id: UINT, Channel_name: NAME.not_null(),
        Privilege_checks_username: varchar(32), Privilege_checks_hostname: varchar(255).ascii(),
        Require_row_format: tinyint(1).not_null(),
        Require_table_primary_key_check: enumeration(&["STREAM", "ON", "OFF", "GENERATE"]).not_null(),
        Assign_gtids_to_anonymous_transactions_type: enumeration(&["OFF", "LOCAL", "UUID"]).not_null(),
        Assign_gtids_to_anonymous_transactions_value: TEXT,
    }
    replication_asynchronous_connection_failover by failover {
        Channel_name: fixed(64).not_null(), Host: fixed(255).ascii().not_null(), Port: UINT.not_null(),
        Network_namespace: fixed(64).not_null(), Weight: UTINYINT.not_null(), Managed_name: fixed(64).not_null(),
    }
    replication_asynchronous_connection_failover_managed by no_rows {
        Channel_name: fixed(64).not_null(), Managed_name: fixed(64).not_null(), Managed_type: fixed(64).not_null(),
        Configuration: JSON,
    }
    slave_worker_info by worker_info {
        Id: UINT.not_null(), Relay_log_name: TEXT.not_null(), Relay_log_pos: UBIGINT.not_null(),
        Master_log_name: TEXT.not_null(), Master_log_pos: UBIGINT.not_null(),
        Checkpoint_relay_log_name: TEXT.not_null(), Checkpoint_relay_log_pos: UBIGINT.not_null(),
        Checkpoint_master_log_name: TEXT.not_null(), Checkpoint_master_log_pos: UBIGINT.not_null(),
        Checkpoint_seqno: UINT.not_null(), Checkpoint_group_size: UINT.not_null(),
        Checkpoint_group_bitmap: BLOB.not_null(), Channel_name: NAME.not_null(),
    }
}

/// Rows that the replica makes, columns by their names: what a column's type needs is made of texts and numbers here.
fn from_replica(state: &State, of: Table, table: &'static str, emit: Emit<'_>) -> Result<()> {
    let Some(replica) = state.server.replicas() else { return Ok(()) };
    let declared = super::declared().iter().find(|d| d.name == table);
    let columns = declared.map_or(&[][..], |d| &d.columns);
    for row in replica.rows(of) {
        let value = |column: &'static gannet_schema::Column| {
            let found = row.iter().find(|(name, _)| name.eq_ignore_ascii_case(&column.name)).map(|(_, value)| value);
            match (found, column.ty.id) {
                (Some(Value::Str(name, _)), TypeId::Enum) => {
                    member(table, &column.name, &String::from_utf8_lossy(name.as_bytes()))
                }
                (Some(Value::UInt(us)), TypeId::Timestamp) => moment(*us),
                (Some(value), _) => value.clone(),
                (None, TypeId::Timestamp) => moment(0),
                (None, TypeId::Float | TypeId::Double) => Value::Double(0.0),
                (None, id) if id.is_string() => text(""),
                (None, _) => Value::UInt(0),
            }
        };
        emit(&columns.iter().map(value).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Microseconds since 1970; zeros for never.
fn moment(us: u64) -> Value {
    match us {
        0 => Value::Timestamp(Timestamp::ZERO, 6),
        us => micros(us, 6),
    }
}

fn connection_configuration(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::ConnectionConfiguration, "replication_connection_configuration", emit)
}

fn connection_status(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::ConnectionStatus, "replication_connection_status", emit)
}

fn applier_configuration(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::ApplierConfiguration, "replication_applier_configuration", emit)
}

fn applier_status(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::ApplierStatus, "replication_applier_status", emit)
}

fn coordinator(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::Coordinator, "replication_applier_status_by_coordinator", emit)
}

fn workers(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::Workers, "replication_applier_status_by_worker", emit)
}

fn filters(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::Filters, "replication_applier_filters", emit)
}

fn global_filters(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::GlobalFilters, "replication_applier_global_filters", emit)
}

fn failover(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::Failover, "replication_asynchronous_connection_failover", emit)
}

fn master_info(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::MasterInfo, "slave_master_info", emit)
}

fn relay_log_info(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::RelayLogInfo, "slave_relay_log_info", emit)
}

fn worker_info(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    from_replica(state, Table::WorkerInfo, "slave_worker_info", emit)
}

/// The transactions of the binary log, by server.
fn gtid_executed(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let Some(log) = state.server.binlog() else { return Ok(()) };
    for (source, intervals) in log.executed(&state.server.engine).iter() {
        for interval in intervals {
            let [from, to] = [interval.start, interval.end - 1].map(|n| Value::Int(n as i64));
            emit(&[text(&source.uuid.to_string()), from, to, text("")])?;
        }
    }
    Ok(())
}

/// Of the binary log: what comes in relay logs is not counted.
fn compression(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let Some(log) = state.server.binlog() else { return Ok(()) };
    for (name, sizes) in ["NONE", "ZSTD"].into_iter().zip(log.sizes()) {
        let Some(sizes) = sizes else { continue };
        let saved = 100.0 * (1.0 - sizes.bytes as f64 / sizes.plain_bytes.max(1) as f64);
        let one = |s: &Sized| {
            let id = text(&format!("{}:{}", s.gtid.0, s.gtid.1));
            [id, Value::UInt(s.bytes), Value::UInt(s.plain_bytes), micros(s.committed_us, 6)]
        };
        let mut row = vec![
            member("binary_log_transaction_compression_stats", "LOG_TYPE", "BINARY"),
            text(name),
            Value::UInt(sizes.count),
            Value::UInt(sizes.bytes),
            Value::UInt(sizes.plain_bytes),
            Value::Int(saved.round() as i64),
        ];
        row.extend(one(&sizes.first));
        row.extend(one(&sizes.last));
        emit(&row)?;
    }
    Ok(())
}

fn forget_compression(server: &Core) {
    if let Some(log) = server.binlog() {
        log.forget_sizes();
    }
}
