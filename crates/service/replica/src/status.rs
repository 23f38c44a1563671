//! SHOW REPLICA STATUS.

use super::encryption::Encryption;
use super::filter::Filter;
use super::source::{Position, Source};
use super::until::Until;
use gannet_binlog::format::Gtid;
use gannet_binlog::group::{First, UNKNOWN_VERSION};
use gannet_core::binlog::OwnGtid;
use gannet_core::replication::Row;
use gannet_engine::Lsn;
use gannet_runtime::{Waker, WallTime};
use gannet_types::gtid::GtidSet;
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};

/// An error, and when it came (microseconds since 1970).
#[derive(Clone, Default)]
pub(crate) struct Failed {
    pub(crate) number: u16,
    pub(crate) text: String,
    pub(crate) at_us: u64,
}

/// A transaction, by the GTID that it has; times are microseconds since 1970, 0 where it has not come to that.
#[derive(Clone, Default)]
pub(crate) struct Transaction {
    pub(crate) gtid: Option<OwnGtid>,
    /// Its GTID is one that this server gave: nobody else's transaction is passed over for it.
    pub(crate) assigned: bool,
    /// When the first server committed it, and when the source did.
    pub(crate) original_us: u64,
    pub(crate) immediate_us: u64,
    /// The version of the first server; 0: it is not said.
    pub(crate) original_version: u32,
    /// When this server began and ended to apply it.
    pub(crate) begun_us: u64,
    pub(crate) ended_us: u64,
    /// How often it was applied anew, and why last.
    pub(crate) retries: u64,
    pub(crate) obstacle: Failed,
}

/// One that applies: a worker, or the task that reads.
#[derive(Clone, Default)]
pub(crate) struct Applying {
    /// What it has applied last, and what it applies.
    pub(crate) last: Transaction,
    pub(crate) current: Transaction,
    pub(crate) error: Failed,
    /// The end of what it has applied last.
    pub(crate) file: String,
    pub(crate) position: u64,
}

impl Transaction {
    pub(crate) fn of(gtid: &Gtid) -> Transaction {
        Transaction {
            gtid: Some((gtid.uuid, gtid.number)),
            original_us: gtid.first_committed_us,
            immediate_us: gtid.committed_us,
            original_version: gtid.first_server_version,
            ..Transaction::default()
        }
    }

    /// Whether it is to be applied; `begun`: its GTID was not executed. Error 1593 where another transaction took a
    /// GTID that was given to this one.
    pub(crate) fn applies(&self, begun: bool) -> Result<bool> {
        match (begun, self.assigned) {
            (false, true) => Err(sql_err!(ReplicaFatalError, format_args!("{} is another one's GTID", self.name()))),
            _ => Ok(begun),
        }
    }

    /// What this server's binary log says of the first one.
    pub(crate) fn first(&self) -> First {
        let version = if self.original_version == 0 { UNKNOWN_VERSION } else { self.original_version };
        First { committed_us: Some(self.original_us), version: Some(version) }
    }

    pub(crate) fn name(&self) -> String {
        self.gtid.map(|(uuid, number)| format!("{uuid}:{number}")).unwrap_or_default()
    }
}

/// What the tasks are at.
#[derive(Default)]
pub(crate) struct Status {
    /// They run.
    pub(crate) receives: bool,
    pub(crate) applies: bool,
    /// Which attempt to follow this is, since something was received.
    pub(crate) attempt: u64,
    /// The source sends.
    pub(crate) connected: bool,
    /// And asks for acknowledgements.
    semi: bool,
    /// The receiver waits until relay logs are applied.
    pub(crate) lacks_space: bool,
    pub(crate) source_uuid: String,
    pub(crate) source_id: u64,
    /// Where the applier stops.
    pub(crate) until: Until,
    /// Seconds until a delayed transaction is due.
    pub(crate) remaining_s: Option<u64>,
    /// Transactions that were received since the start.
    pub(crate) received: u64,
    /// Up to where the source's log was received.
    read_file: String,
    read_position: u64,
    /// Up to where it is applied.
    pub(crate) file: String,
    pub(crate) position: u64,
    /// When the source committed what was applied last: seconds since 1970.
    source_s: u64,
    /// Seconds that this server's clock is ahead of the source's, as it was when they were connected.
    pub(crate) ahead_s: i64,
    pub(crate) source_error: Failed,
    pub(crate) applying_error: Failed,
    pub(crate) heartbeats: u64,
    pub(crate) heartbeat_us: u64,
    /// The one that was received last, and the one that was handed to those that apply.
    pub(crate) queued: Transaction,
    pub(crate) processed: Transaction,
    /// Temporary tables of the source's connections.
    pub(crate) open_tables: usize,
    /// Those that apply; `workers` of them, or the one that reads.
    pub(crate) applying: Vec<Applying>,
    workers: usize,
    /// Transactions that were applied anew.
    pub(crate) retries: u64,
    /// Transactions that were applied, the last commit of one that has not waited for the log, and who waits for more.
    pub(crate) transactions: u64,
    pub(crate) last: Lsn,
    pub(crate) watching: Vec<Waker>,
}

/// What the relay logs are at.
#[derive(Default)]
pub(crate) struct Relayed {
    /// The file that is applied, and the place in it.
    pub(crate) file: String,
    pub(crate) at: u64,
    /// Bytes of all of them.
    pub(crate) space: u64,
    /// All that was received is applied.
    pub(crate) caught_up: bool,
    pub(crate) retrieved: GtidSet,
}

fn failed(e: &SqlError) -> Failed {
    Failed { number: e.number(), text: e.message().to_string(), at_us: WallTime::now().micros() }
}

impl Status {
    /// The receiver begins.
    pub(crate) fn receiver_begins(&mut self) {
        (self.receives, self.connected, self.received) = (true, false, 0);
        self.source_error = Failed::default();
    }

    /// The applier begins, with so many workers.
    pub(crate) fn applier_begins(&mut self, until: Until, workers: usize) {
        (self.applies, self.until, self.workers) = (true, until, workers);
        self.applying = vec![Applying::default(); workers.max(1)];
        (self.applying_error, self.retries, self.remaining_s) = (Failed::default(), 0, None);
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// `semi`: it asks for acknowledgements.
    pub(crate) fn connected(&mut self, semi: bool) {
        (self.connected, self.semi, self.source_error) = (true, semi, Failed::default());
    }

    /// Changes whenever the source has sent a transaction, or a sign of life.
    pub(crate) fn heard(&self) -> (u64, u64) {
        (self.received, self.heartbeats)
    }

    /// The source says that it has nothing.
    pub(crate) fn heartbeat(&mut self) {
        self.heartbeats += 1;
        self.heartbeat_us = WallTime::now().micros();
    }

    /// The source's log was received up to here.
    pub(crate) fn reads(&mut self, file: &str, position: u64) {
        if self.read_file != file {
            file.clone_into(&mut self.read_file);
        }
        self.read_position = position;
    }

    /// A transaction was received.
    pub(crate) fn receives(&mut self, it: &Transaction) {
        self.received += 1;
        if it.gtid.is_some() {
            self.queued = Transaction { ended_us: WallTime::now().micros(), ..it.clone() };
        }
    }

    /// A transaction was read from a relay log, which the source wrote then; `at_once`: and is applied by the one that
    /// reads.
    pub(crate) fn processes(&mut self, it: &Transaction, at_once: bool, timestamp: u32) {
        self.processed = Transaction { begun_us: WallTime::now().micros(), ..it.clone() };
        if self.source_s == 0 || self.applying.iter().all(|by| by.current.gtid.is_none()) {
            // Nothing older is under way: it counts from here, also while it waits.
            self.source_s = timestamp.into();
        }
        if at_once {
            self.begins(0, it);
        }
    }

    /// One begins to apply a transaction.
    pub(crate) fn begins(&mut self, by: usize, it: &Transaction) {
        if let Some(applying) = self.applying.get_mut(by) {
            applying.current = Transaction { begun_us: WallTime::now().micros(), ..it.clone() };
        }
    }

    /// It has been undone, and is applied anew. Counted, as in MySQL, where others held what it needs; what one that
    /// ran ahead did not find yet is no error.
    pub(crate) fn again(&mut self, by: usize, e: &SqlError) {
        if !matches!(e.code(), ErrorCode::LockWaitTimeout | ErrorCode::LockDeadlock) {
            return;
        }
        self.retries += 1;
        if let Some(applying) = self.applying.get_mut(by) {
            applying.current.retries += 1;
            applying.current.obstacle = failed(e);
        }
    }

    /// What was received is thrown away, and another place was given.
    pub(crate) fn forgets_place(&mut self) {
        (self.read_file, self.file) = Default::default();
    }

    /// The applier stands at or behind this place of the source's log, by the numbers of the files. `None`: their names
    /// are others.
    pub(crate) fn has_passed(&self, file: &str, at: u64) -> Option<bool> {
        let parts = |file: &str| {
            let (base, number) = file.rsplit_once('.')?;
            Some((base.to_owned(), number.parse::<u64>().ok()?))
        };
        let (base, number) = parts(file)?;
        // Nothing was applied since the start.
        let Some((own_base, own)) = parts(&self.file) else { return Some(false) };
        (base == own_base).then(|| (own, self.position) >= (number, at.max(4)))
    }

    pub(crate) fn at(&mut self, position: &Position, timestamp: u32) {
        self.watching.drain(..).for_each(|w| w.wake());
        self.file.clone_from(&position.file);
        self.position = position.at;
        if timestamp != 0 {
            self.source_s = timestamp.into();
        }
    }

    /// One has committed its transaction.
    pub(crate) fn applied(&mut self, by: usize, position: &Position, timestamp: u32, lsn: Lsn) {
        self.transactions += 1;
        self.last = self.last.max(lsn);
        self.at(position, timestamp);
        if let Some(applying) = self.applying.get_mut(by) {
            applying.last = std::mem::take(&mut applying.current);
            applying.last.ended_us = WallTime::now().micros();
            applying.file.clone_from(&position.file);
            applying.position = position.at;
        }
    }

    /// The error with which one has stopped: at which transaction, and where that begins.
    pub(crate) fn failed_at(&mut self, by: usize, e: &SqlError) {
        let Some(applying) = self.applying.get_mut(by) else { return };
        applying.error = failed(e);
        let (name, text) = (applying.current.name(), &mut applying.error.text);
        if !self.file.is_empty() {
            let transaction = if name.is_empty() { String::new() } else { format!("transaction '{name}' ") };
            text.push_str(&format!("; {transaction}at {}:{} of the source's log", self.file, self.position));
        }
    }

    pub(crate) fn source_failed(&mut self, e: &SqlError) {
        (self.connected, self.source_error) = (false, failed(e));
    }

    /// The applier has ended by this: whoever reads of the error may start it again. Gives where in the source's log.
    pub(crate) fn applying_failed(&mut self, e: &SqlError) -> String {
        let worker = self.applying.iter().position(|a| a.error.number == e.number());
        if worker.is_none() {
            self.failed_at(0, e);
        }
        self.applying_error = self.applying.get(worker.unwrap_or(0)).map_or_else(|| failed(e), |a| a.error.clone());
        self.applier_ended();
        format!("{}:{}", self.file, self.position)
    }

    pub(crate) fn acknowledges(&self) -> bool {
        self.connected && self.semi
    }

    pub(crate) fn receiver_ended(&mut self) {
        (self.receives, self.connected, self.lacks_space) = (false, false, false);
    }

    pub(crate) fn applier_ended(&mut self) {
        (self.applies, self.remaining_s) = (false, None);
        self.watching.drain(..).for_each(|w| w.wake());
    }

    /// Seconds that what is applied lies behind the source, as far as is known here: NULL while nothing is applied, and
    /// when all is of what nothing more comes.
    fn behind(&self, caught_up: bool) -> Value {
        match (self.applies, caught_up) {
            (false, _) => Value::Null,
            (true, true) if self.connected => Value::UInt(0),
            (true, true) => Value::Null,
            (true, false) if self.source_s == 0 => Value::UInt(0),
            (true, false) => Value::UInt(self.lag(WallTime::now().seconds())),
        }
    }

    fn lag(&self, now_s: u64) -> u64 {
        now_s.saturating_add_signed(self.ahead_s.saturating_neg()).saturating_sub(self.source_s)
    }

    /// Up to where the source's log was received; before anything was, where it goes on.
    pub(crate) fn read_place<'a>(&'a self, kept: &'a Position) -> (&'a str, u64) {
        if self.read_file.is_empty() { self.place(kept) } else { (&self.read_file, self.read_position) }
    }

    /// Where it stands; before it has read anything, where that is kept.
    pub(crate) fn place<'a>(&'a self, kept: &'a Position) -> (&'a str, u64) {
        if self.file.is_empty() { (&kept.file, kept.at) } else { (&self.file, self.position) }
    }

    fn doing(&self, caught_up: bool) -> &'static str {
        match self.remaining_s {
            None if caught_up => "Replica has read all relay log; waiting for more updates",
            None => "Reading event from the relay log",
            Some(_) => "Waiting until SOURCE_DELAY seconds after source executed event",
        }
    }

    /// What SHOW REPLICA STATUS has of a channel without a source.
    pub(crate) fn default_row() -> Row {
        let none = ("", &Source::default());
        Status::default().row(none, &Position::default(), ("", &Relayed::default()), &Filter::default())
    }

    pub(crate) fn row(
        &self,
        (channel, source): (&str, &Source),
        kept: &Position,
        (executed, relayed): (&str, &Relayed),
        filter: &Filter,
    ) -> Row {
        let text = |text: &str| Value::text(text);
        let number = Value::UInt;
        let (io, state) = match (self.receives, self.connected) {
            (true, true) if self.lacks_space => {
                ("Yes", "Waiting for the replica SQL thread to free enough relay log space")
            }
            (true, true) => ("Yes", "Waiting for source to send event"),
            (true, false) => ("Connecting", "Connecting to source"),
            (false, _) => ("No", ""),
        };
        let ((file, at), read) = (self.place(kept), self.read_place(kept));
        let last = &self.applying_error;
        let mut row = vec![
            ("Replica_IO_State", text(state)),
            ("Source_Host", text(&source.host)),
            ("Source_User", text(&source.user)),
            ("Source_Port", number(source.port.into())),
            ("Connect_Retry", number(source.retry_s)),
            ("Source_Log_File", text(read.0)),
            ("Read_Source_Log_Pos", number(read.1)),
            ("Relay_Log_File", text(&relayed.file)),
            ("Relay_Log_Pos", number(relayed.at)),
            ("Relay_Source_Log_File", text(file)),
            ("Replica_IO_Running", text(io)),
            ("Replica_SQL_Running", text(if self.applies { "Yes" } else { "No" })),
        ];
        let [rules @ .., rewrites] = filter.shown().map(|(name, rules)| (name, text(&rules)));
        row.extend(rules);
        row.extend([
            ("Last_Errno", number(last.number.into())),
            ("Last_Error", text(&last.text)),
            ("Skip_Counter", number(0)),
            ("Exec_Source_Log_Pos", number(at)),
            ("Relay_Log_Space", number(relayed.space)),
            ("Until_Condition", text(self.until.name())),
            ("Until_Log_File", text(self.until.place().0)),
            ("Until_Log_Pos", number(self.until.place().1)),
        ]);
        row.extend(tls(&source.tls));
        row.extend(self.errors(source, relayed));
        row.extend([
            ("SQL_Delay", number(source.delay_s)),
            ("SQL_Remaining_Delay", self.remaining_s.map_or(Value::Null, number)),
            ("Replica_SQL_Running_State", text(if self.applies { self.doing(relayed.caught_up) } else { "" })),
            ("Source_Retry_Count", number(source.retries)),
            ("Source_Bind", text(&source.bind)),
            ("Last_IO_Error_Timestamp", text(&moment(self.source_error.at_us))),
            ("Last_SQL_Error_Timestamp", text(&moment(last.at_us))),
            ("Source_SSL_Crl", text(&source.tls.crl)),
            ("Source_SSL_Crlpath", text(&source.tls.crl_path)),
            ("Retrieved_Gtid_Set", text(&relayed.retrieved.to_string())),
            ("Executed_Gtid_Set", text(executed)),
            ("Auto_Position", number(u64::from(source.auto_position))),
            rewrites,
            ("Channel_Name", text(channel)),
            ("Source_TLS_Version", text(&source.tls.versions)),
            ("Source_public_key_path", text(&source.public_key_path)),
            ("Get_Source_public_key", number(source.public_key.into())),
            ("Network_Namespace", text("")),
        ]);
        row
    }

    fn errors(&self, source: &Source, relayed: &Relayed) -> [(&'static str, Value); 10] {
        let (text, number) = (|text: &str| Value::text(text), Value::UInt);
        let last = &self.applying_error;
        [
            ("Seconds_Behind_Source", self.behind(relayed.caught_up)),
            ("Source_SSL_Verify_Server_Cert", text(if source.tls.verify { "Yes" } else { "No" })),
            ("Last_IO_Errno", number(self.source_error.number.into())),
            ("Last_IO_Error", text(&self.source_error.text)),
            ("Last_SQL_Errno", number(last.number.into())),
            ("Last_SQL_Error", text(&last.text)),
            ("Replicate_Ignore_Server_Ids", text(&source.shown_ignored())),
            ("Source_Server_Id", number(self.source_id)),
            ("Source_UUID", text(&self.source_uuid)),
            ("Source_Info_File", text("mysql.slave_master_info")),
        ]
    }
}

fn tls(tls: &Encryption) -> [(&'static str, Value); 6] {
    let text = |text: &str| Value::text(text);
    [
        ("Source_SSL_Allowed", text(if tls.on { "Yes" } else { "No" })),
        ("Source_SSL_CA_File", text(&tls.ca)),
        ("Source_SSL_CA_Path", text(&tls.ca_path)),
        ("Source_SSL_Cert", text(&tls.cert)),
        ("Source_SSL_Cipher", text(&tls.ciphers)),
        ("Source_SSL_Key", text(&tls.key)),
    ]
}

/// `YYMMDD hh:mm:ss` in UTC; empty for never.
fn moment(at_us: u64) -> String {
    if at_us == 0 {
        return String::new();
    }
    let stamp = gannet_types::Timestamp::from_unix_micros((at_us - at_us % 1_000_000) as i64);
    let shown = stamp.map(|t| t.to_local(&gannet_types::TimeZone::UTC).to_string()).unwrap_or_default();
    shown.get(2..19).unwrap_or_default().replace('-', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source's clock may be another one than this server's.
    #[test]
    fn the_lag_is_by_the_clock_of_the_source() {
        let lag = |ahead_s, source_s| Status { ahead_s, source_s, ..Status::default() }.lag(1_000_000);
        assert_eq!(lag(0, 999_990), 10);
        // One hour behind this one, and one hour ahead.
        assert_eq!(lag(3600, 996_390), 10);
        assert_eq!(lag(-3600, 1_003_590), 10);
        // It was set back or forth since.
        assert_eq!(lag(0, 1_000_100), 0);
        assert_eq!([lag(i64::MAX, 5), lag(i64::MIN, 5)], [0, 999_995 + i64::MAX as u64]);
    }
}
