//! Tables of performance_schema and mysql about the replica.

use super::source::{Assigned, Position, Source};
use super::status::{Applying, Failed, Relayed, Status};
use gannet_core::replication::{Row, Table};
use gannet_types::Value;

/// What MySQL 8.4 has in `Number_of_lines`: the fields of each.
const MASTER_INFO_LINES: u64 = 33;
const RELAY_LOG_INFO_LINES: u64 = 14;

fn text(text: &str) -> Value {
    Value::text(text)
}

fn number(n: u64) -> Value {
    Value::UInt(n)
}

fn yes_no(is: bool) -> Value {
    text(if is { "YES" } else { "NO" })
}

fn error(failed: &Failed) -> [(&'static str, Value); 3] {
    [
        ("LAST_ERROR_NUMBER", number(failed.number.into())),
        ("LAST_ERROR_MESSAGE", text(&failed.text)),
        ("LAST_ERROR_TIMESTAMP", number(failed.at_us)),
    ]
}

fn connection_configuration(source: &Source) -> Row {
    let tls = &source.tls;
    vec![
        ("HOST", text(&source.host)),
        ("PORT", number(source.port.into())),
        ("USER", text(&source.user)),
        ("NETWORK_INTERFACE", text(&source.bind)),
        ("AUTO_POSITION", text(if source.auto_position { "1" } else { "0" })),
        ("SSL_ALLOWED", yes_no(tls.on)),
        ("SSL_CA_FILE", text(&tls.ca)),
        ("SSL_CA_PATH", text(&tls.ca_path)),
        ("SSL_CERTIFICATE", text(&tls.cert)),
        ("SSL_CIPHER", text(&tls.ciphers)),
        ("SSL_KEY", text(&tls.key)),
        ("SSL_VERIFY_SERVER_CERTIFICATE", yes_no(tls.verify)),
        ("SSL_CRL_FILE", text(&tls.crl)),
        ("SSL_CRL_PATH", text(&tls.crl_path)),
        ("CONNECTION_RETRY_INTERVAL", number(source.retry_s)),
        ("CONNECTION_RETRY_COUNT", number(source.retries)),
        ("HEARTBEAT_INTERVAL", Value::Double(source.heartbeat_ms as f64 / 1000.0)),
        ("TLS_VERSION", text(&tls.versions)),
        ("PUBLIC_KEY_PATH", text(&source.public_key_path)),
        ("GET_PUBLIC_KEY", yes_no(source.public_key)),
        ("COMPRESSION_ALGORITHM", text(&source.compression)),
        ("ZSTD_COMPRESSION_LEVEL", number(source.zstd_level.into())),
        ("TLS_CIPHERSUITES", tls.shown_suites()),
        ("SOURCE_CONNECTION_AUTO_FAILOVER", text(if source.failover { "1" } else { "0" })),
        ("GTID_ONLY", text(if source.gtid_only { "1" } else { "0" })),
    ]
}

/// Kind and value of ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS.
fn assigned(source: &Source) -> (Value, Value) {
    match source.assigned {
        Assigned::Off => (text("OFF"), Value::Null),
        Assigned::Local => (text("LOCAL"), Value::Null),
        Assigned::Uuid(uuid) => (text("UUID"), text(&uuid.to_string())),
    }
}

fn applier_configuration(source: &Source) -> Row {
    let checked = source.checked.as_ref();
    vec![
        ("DESIRED_DELAY", number(source.delay_s)),
        ("PRIVILEGE_CHECKS_USER", checked.map_or(Value::Null, |(user, host)| text(&format!("'{user}'@'{host}'")))),
        ("REQUIRE_ROW_FORMAT", yes_no(source.row_format)),
        ("REQUIRE_TABLE_PRIMARY_KEY_CHECK", text(&source.key_check)),
        ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE", assigned(source).0),
        ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE", assigned(source).1),
    ]
}

impl Status {
    /// A row of `of` for this source.
    pub(crate) fn table(&self, of: Table, source: &Source, (kept, relayed): (&Position, &Relayed)) -> Row {
        match of {
            Table::ConnectionConfiguration => connection_configuration(source),
            Table::ConnectionStatus => self.connection(relayed),
            Table::ApplierConfiguration => applier_configuration(source),
            Table::ApplierStatus => vec![
                ("SERVICE_STATE", self.state(false)),
                ("REMAINING_DELAY", self.remaining_s.map_or(Value::Null, number)),
                ("COUNT_TRANSACTIONS_RETRIES", number(self.retries)),
            ],
            Table::MasterInfo => self.master_info(source, kept),
            Table::RelayLogInfo => self.relay_log_info(source, kept, relayed),
            Table::Filters
            | Table::GlobalFilters
            | Table::Workers
            | Table::Coordinator
            | Table::WorkerInfo
            | Table::Failover => Vec::new(),
        }
    }

    fn state(&self, reads: bool) -> Value {
        text(match (if reads { self.receives } else { self.applies }, self.connected) {
            (true, false) if reads => "CONNECTING",
            (true, _) => "ON",
            (false, _) => "OFF",
        })
    }

    fn connection(&self, relayed: &Relayed) -> Row {
        let last = &self.queued;
        let mut row = vec![
            ("SOURCE_UUID", text(&self.source_uuid)),
            ("THREAD_ID", Value::Null),
            ("SERVICE_STATE", self.state(true)),
            ("COUNT_RECEIVED_HEARTBEATS", number(self.heartbeats)),
            ("LAST_HEARTBEAT_TIMESTAMP", number(self.heartbeat_us)),
            ("RECEIVED_TRANSACTION_SET", text(&relayed.retrieved.to_string())),
            ("LAST_QUEUED_TRANSACTION", text(&last.name())),
            ("LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", number(last.original_us)),
            ("LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", number(last.immediate_us)),
            ("LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP", number(last.begun_us)),
            ("LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP", number(last.ended_us)),
        ];
        row.extend(error(&self.source_error));
        row
    }

    /// Those that apply. The one that reads is number 0, others are counted from 1 on.
    pub(crate) fn worker_rows(&self) -> Vec<Row> {
        let (none, first) = ([Applying::default()], u64::from(self.workers() > 0));
        let all = if self.applying.is_empty() { &none[..] } else { &self.applying };
        all.iter().zip(first..).map(|(it, number)| self.worker(it, number)).collect()
    }

    fn worker(&self, it: &Applying, id: u64) -> Row {
        let (last, current) = (&it.last, &it.current);
        let mut row = vec![
            ("WORKER_ID", number(id)),
            ("THREAD_ID", Value::Null),
            ("SERVICE_STATE", self.state(false)),
            ("LAST_APPLIED_TRANSACTION", text(&last.name())),
            ("LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", number(last.original_us)),
            ("LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", number(last.immediate_us)),
            ("LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP", number(last.begun_us)),
            ("LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP", number(last.ended_us)),
            ("APPLYING_TRANSACTION", text(&current.name())),
            ("APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", number(current.original_us)),
            ("APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", number(current.immediate_us)),
            ("APPLYING_TRANSACTION_START_APPLY_TIMESTAMP", number(current.begun_us)),
            ("LAST_APPLIED_TRANSACTION_RETRIES_COUNT", number(last.retries)),
            ("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER", number(last.obstacle.number.into())),
            ("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE", text(&last.obstacle.text)),
            ("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP", number(last.obstacle.at_us)),
            ("APPLYING_TRANSACTION_RETRIES_COUNT", number(current.retries)),
            ("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER", number(current.obstacle.number.into())),
            ("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE", text(&current.obstacle.text)),
            ("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP", number(current.obstacle.at_us)),
        ];
        row.extend(error(&it.error));
        row
    }

    /// The one that hands transactions on to workers, where there are any.
    pub(crate) fn coordinator(&self) -> Vec<Row> {
        if self.workers() == 0 {
            return Vec::new();
        }
        let last = &self.processed;
        let mut row = vec![
            ("THREAD_ID", Value::Null),
            ("SERVICE_STATE", self.state(false)),
            ("LAST_PROCESSED_TRANSACTION", text(&last.name())),
            ("LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", number(last.original_us)),
            ("LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", number(last.immediate_us)),
            ("LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP", number(last.begun_us)),
            ("LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP", number(last.begun_us)),
        ];
        row.extend(error(&self.applying_error));
        vec![row]
    }

    /// Where each worker stands. They commit in order, so there is no gap to describe.
    pub(crate) fn worker_info(&self) -> Vec<Row> {
        let row = |(it, id): (&Applying, u64)| {
            vec![
                ("Id", number(id)),
                ("Master_log_name", text(&it.file)),
                ("Master_log_pos", number(it.position)),
                ("Checkpoint_master_log_name", text(&self.file)),
                ("Checkpoint_master_log_pos", number(self.position)),
            ]
        };
        if self.workers() == 0 { Vec::new() } else { self.applying.iter().zip(1..).map(row).collect() }
    }

    /// Whom it follows, and what was received.
    fn master_info(&self, source: &Source, kept: &Position) -> Row {
        let (file, at) = self.read_place(kept);
        let (flag, tls) = (|on: bool| number(on.into()), &source.tls);
        let ids = source.ignored.iter().map(|id| format!(" {id}")).collect::<String>();
        vec![
            ("Number_of_lines", number(MASTER_INFO_LINES)),
            ("Master_log_name", text(file)),
            ("Master_log_pos", number(at)),
            ("Host", text(&source.host)),
            ("User_name", text(&source.user)),
            ("User_password", text(&source.password)),
            ("Port", number(source.port.into())),
            ("Connect_retry", number(source.retry_s)),
            ("Enabled_ssl", flag(tls.on)),
            ("Ssl_ca", text(&tls.ca)),
            ("Ssl_capath", text(&tls.ca_path)),
            ("Ssl_cert", text(&tls.cert)),
            ("Ssl_cipher", text(&tls.ciphers)),
            ("Ssl_key", text(&tls.key)),
            ("Ssl_verify_server_cert", flag(tls.verify)),
            ("Heartbeat", Value::Double(source.heartbeat_ms as f64 / 1000.0)),
            ("Bind", text(&source.bind)),
            ("Ignored_server_ids", text(&format!("{}{ids}", source.ignored.len()))),
            ("Uuid", text(&self.source_uuid)),
            ("Retry_count", number(source.retries)),
            ("Ssl_crl", text(&tls.crl)),
            ("Ssl_crlpath", text(&tls.crl_path)),
            ("Enabled_auto_position", flag(source.auto_position)),
            ("Tls_version", text(&tls.versions)),
            ("Public_key_path", text(&source.public_key_path)),
            ("Get_public_key", flag(source.public_key)),
            ("Master_compression_algorithm", text(&source.compression)),
            ("Master_zstd_compression_level", number(source.zstd_level.into())),
            ("Tls_ciphersuites", tls.shown_suites()),
            ("Source_connection_auto_failover", flag(source.failover)),
            ("Gtid_only", flag(source.gtid_only)),
        ]
    }

    /// What is applied.
    fn relay_log_info(&self, source: &Source, kept: &Position, relayed: &Relayed) -> Row {
        let (file, at) = self.place(kept);
        let checked = source.checked.as_ref();
        vec![
            ("Number_of_lines", number(RELAY_LOG_INFO_LINES)),
            ("Relay_log_name", text(&relayed.file)),
            ("Relay_log_pos", number(relayed.at)),
            ("Master_log_name", text(file)),
            ("Master_log_pos", number(at)),
            ("Sql_delay", number(source.delay_s)),
            ("Number_of_workers", number(self.workers() as u64)),
            ("Id", number(1)),
            ("Privilege_checks_username", checked.map_or(Value::Null, |(user, _)| text(user))),
            ("Privilege_checks_hostname", checked.map_or(Value::Null, |(_, host)| text(host))),
            ("Require_row_format", number(source.row_format.into())),
            ("Require_table_primary_key_check", text(&source.key_check)),
            ("Assign_gtids_to_anonymous_transactions_type", assigned(source).0),
            ("Assign_gtids_to_anonymous_transactions_value", assigned(source).1),
        ]
    }
}
