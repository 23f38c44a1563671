//! SHOW REPLICA STATUS.

use super::filter::Filter;
use super::source::{Position, Source};
use super::until::Until;
use gannet_runtime::WallTime;
use gannet_types::{SqlError, Value};

/// The last columns: none of it is here.
const LAST: [&str; 5] =
    ["Channel_Name", "Source_TLS_Version", "Source_public_key_path", "Get_Source_public_key", "Network_Namespace"];

/// An error, and when it came (seconds since 1970).
#[derive(Clone, Default)]
struct Failed {
    number: u16,
    text: String,
    at_s: u64,
}

/// Columns and their values.
pub(crate) type Row = Vec<(&'static str, Value)>;

/// What the task is at.
#[derive(Default)]
pub(crate) struct Status {
    /// It runs.
    pub(crate) running: bool,
    /// The source sends.
    connected: bool,
    pub(crate) source_uuid: String,
    pub(crate) source_id: u64,
    /// Where it stops.
    pub(crate) until: Until,
    /// Seconds until a delayed transaction is due.
    pub(crate) remaining_s: Option<u64>,
    /// Transactions that were applied since the start.
    pub(crate) applied: u64,
    file: String,
    position: u64,
    retrieved: String,
    /// When the source committed what was applied last, and when it was heard of last: seconds since 1970.
    source_s: u64,
    heard_s: u64,
    applying: bool,
    source_error: Failed,
    applying_error: Failed,
}

fn failed(e: &SqlError) -> Failed {
    Failed { number: e.number(), text: e.message().to_string(), at_s: WallTime::now().seconds() }
}

impl Status {
    /// The task begins.
    pub(crate) fn begun(until: Until) -> Status {
        Status { running: true, until, ..Status::default() }
    }

    pub(crate) fn connected(&mut self) {
        (self.connected, self.source_error) = (true, Failed::default());
        self.heard();
    }

    /// A sign of life, and everything is applied.
    pub(crate) fn heard(&mut self) {
        self.heard_s = WallTime::now().seconds();
        self.applying = false;
    }

    pub(crate) fn at(&mut self, position: &Position, timestamp: u32) {
        (self.file, self.position) = (position.file.clone(), position.at);
        if timestamp != 0 {
            self.source_s = timestamp.into();
        }
    }

    pub(crate) fn applied(&mut self, position: &Position, timestamp: u32) {
        self.at(position, timestamp);
        self.applied += 1;
        self.retrieved = position.applied.to_string();
        self.heard_s = WallTime::now().seconds();
        self.applying = true;
    }

    pub(crate) fn source_failed(&mut self, e: &SqlError) {
        (self.connected, self.source_error) = (false, failed(e));
    }

    /// Where in the source's log that was.
    pub(crate) fn applying_failed(&mut self, e: &SqlError) -> String {
        (self.connected, self.applying_error) = (false, failed(e));
        format!("{}:{}", self.file, self.position)
    }

    pub(crate) fn ended(&mut self) {
        (self.running, self.connected) = (false, false);
    }

    /// Seconds that what is applied lies behind the source, as far as it tells; NULL while nothing is applied.
    fn behind(&self) -> Value {
        if !self.connected {
            return Value::Null;
        }
        let behind = if self.applying { self.heard_s.saturating_sub(self.source_s) } else { 0 };
        Value::UInt(behind)
    }

    fn doing(&self) -> &'static str {
        match self.remaining_s {
            None => "Reading event from the source",
            Some(_) => "Waiting until SOURCE_DELAY seconds after source executed event",
        }
    }

    pub(crate) fn row(&self, source: &Source, kept: &Position, executed: &str, filter: &Filter) -> Row {
        let text = |text: &str| Value::text(text);
        let number = Value::UInt;
        let (io, state) = match (self.running, self.connected) {
            (true, true) => ("Yes", "Waiting for source to send event"),
            (true, false) => ("Connecting", "Connecting to source"),
            (false, _) => ("No", ""),
        };
        let shown = &self.file;
        let (file, at) = if shown.is_empty() { (&kept.file, kept.at) } else { (shown, self.position) };
        let (last, empty) = (&self.applying_error, || Value::text(""));
        let applies = self.running && last.number == 0;
        let mut row = vec![
            ("Replica_IO_State", text(state)),
            ("Source_Host", text(&source.host)),
            ("Source_User", text(&source.user)),
            ("Source_Port", number(source.port.into())),
            ("Connect_Retry", number(source.retry_s)),
            ("Source_Log_File", text(file)),
            ("Read_Source_Log_Pos", number(at)),
            ("Relay_Log_File", empty()),
            ("Relay_Log_Pos", number(0)),
            ("Relay_Source_Log_File", text(file)),
            ("Replica_IO_Running", text(io)),
            ("Replica_SQL_Running", text(if applies { "Yes" } else { "No" })),
        ];
        row.extend(filter.shown().map(|(name, rules)| (name, text(&rules))));
        row.extend([
            ("Last_Errno", number(last.number.into())),
            ("Last_Error", text(&last.text)),
            ("Skip_Counter", number(0)),
            ("Exec_Source_Log_Pos", number(at)),
            ("Relay_Log_Space", number(0)),
            ("Until_Condition", text(self.until.name())),
            ("Until_Log_File", text(self.until.place().0)),
            ("Until_Log_Pos", number(self.until.place().1)),
        ]);
        row.extend(tls(source));
        row.extend([
            ("Seconds_Behind_Source", self.behind()),
            ("Source_SSL_Verify_Server_Cert", text("No")),
            ("Last_IO_Errno", number(self.source_error.number.into())),
            ("Last_IO_Error", text(&self.source_error.text)),
            ("Last_SQL_Errno", number(last.number.into())),
            ("Last_SQL_Error", text(&last.text)),
            ("Replicate_Ignore_Server_Ids", empty()),
            ("Source_Server_Id", number(self.source_id)),
            ("Source_UUID", text(&self.source_uuid)),
            ("Source_Info_File", text("the dictionary")),
            ("SQL_Delay", number(source.delay_s)),
            ("SQL_Remaining_Delay", self.remaining_s.map_or(Value::Null, number)),
            ("Replica_SQL_Running_State", text(if applies { self.doing() } else { "" })),
            ("Source_Retry_Count", number(source.retries)),
            ("Source_Bind", empty()),
            ("Last_IO_Error_Timestamp", text(&moment(self.source_error.at_s))),
            ("Last_SQL_Error_Timestamp", text(&moment(last.at_s))),
            ("Source_SSL_Crl", empty()),
            ("Source_SSL_Crlpath", empty()),
            ("Retrieved_Gtid_Set", text(&self.retrieved)),
            ("Executed_Gtid_Set", text(executed)),
            ("Auto_Position", number(u64::from(source.auto_position))),
            ("Replicate_Rewrite_DB", empty()),
        ]);
        row.extend(LAST.map(|name| (name, empty())));
        row
    }
}

fn tls(source: &Source) -> [(&'static str, Value); 6] {
    let empty = || Value::text("");
    [
        ("Source_SSL_Allowed", Value::text(if source.tls { "Yes" } else { "No" })),
        ("Source_SSL_CA_File", empty()),
        ("Source_SSL_CA_Path", empty()),
        ("Source_SSL_Cert", empty()),
        ("Source_SSL_Cipher", empty()),
        ("Source_SSL_Key", empty()),
    ]
}

/// `YYMMDD hh:mm:ss` in UTC; empty for never.
fn moment(at_s: u64) -> String {
    if at_s == 0 {
        return String::new();
    }
    let stamp = gannet_types::Timestamp::from_unix_micros(at_s as i64 * 1_000_000);
    let shown = stamp.map(|t| t.to_local(&gannet_types::TimeZone::UTC).to_string()).unwrap_or_default();
    shown.get(2..19).unwrap_or_default().replace('-', "")
}
