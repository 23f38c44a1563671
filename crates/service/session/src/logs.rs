//! Statements about the binary log: SHOW BINARY LOGS and its kin, FLUSH, PURGE.

use super::Session;
use super::reply::{Done, RowsSink};
use super::show::{column, number, table};
use gannet_binlog::event::{HEADER, MAGIC, kind};
use gannet_binlog::format::FormatDescription;
use gannet_binlog::packed::Packed;
use gannet_binlog::{Checksum, Event, Header, show};
use gannet_core::accounts::Privilege;
use gannet_core::binlog::Binlog;
use gannet_parser::ast;
use gannet_plan::plan::ResultColumn;
use gannet_runtime::{File, OpenOptions};
use gannet_types::{ErrorCode, Result, SqlError, Value, Warnings, sql_err};
use std::io;
use std::sync::Arc;

/// What SHOW BINLOG EVENTS reads at once.
const READ: u64 = 1 << 20;

/// Rows of SHOW BINLOG EVENTS.
struct Shown<'a> {
    name: &'a str,
    /// Events that are passed over yet, and rows at most.
    skip: usize,
    take: usize,
    rows: Vec<Vec<Value>>,
}

impl Shown<'_> {
    fn wants_more(&self) -> bool {
        self.rows.len() < self.take
    }

    fn event(&mut self, begins: u64, end: u64, event: &Event<'_>) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.rows.push(vec![
            Value::text(self.name),
            Value::UInt(begins),
            Value::text(kind::name(event.header.kind)),
            Value::UInt(event.header.server_id.into()),
            Value::UInt(end),
            Value::text(&show::info(event)),
        ]);
    }
}

fn failed(e: io::Error) -> SqlError {
    sql_err!(ErrorWhenExecutingCommand, "SHOW BINLOG EVENTS", e)
}

impl Session {
    /// SHOW BINARY LOGS.
    pub(super) fn show_binary_logs(&mut self) -> Result<RowsSink> {
        let log = require_binlog(self)?;
        log.catch_up(&self.server.engine);
        tell_stuck(&mut self.running.diagnostics.warnings, &log);
        let (files, _) = log.state();
        let row = |f: &gannet_core::binlog::LogFile| {
            vec![Value::text(&log.names().name(f.number)), Value::UInt(f.size), Value::text("No")]
        };
        let columns = vec![column("Log_name", 255), number("File_size"), column("Encrypted", 3)];
        Ok(table(columns, files.iter().map(row).collect()))
    }

    /// SHOW BINARY LOG STATUS.
    pub(super) fn show_binary_log_status(&mut self) -> Result<RowsSink> {
        let columns = vec![
            column("File", 255),
            number("Position"),
            column("Binlog_Do_DB", 255),
            column("Binlog_Ignore_DB", 255),
            column("Executed_Gtid_Set", 65535),
        ];
        let Some(log) = self.server.binlog() else { return Ok(table(columns, vec![])) };
        log.catch_up(&self.server.engine);
        tell_stuck(&mut self.running.diagnostics.warnings, log);
        let (files, executed) = log.state();
        let row = |f: &gannet_core::binlog::LogFile| {
            let name = Value::text(&log.names().name(f.number));
            vec![name, Value::UInt(f.size), Value::text(""), Value::text(""), Value::text(&executed.to_string())]
        };
        Ok(table(columns, files.last().iter().map(|f| row(f)).collect()))
    }

    /// SHOW BINLOG EVENTS and (`relay`, of this channel) SHOW RELAYLOG EVENTS [IN file] [FROM position] [LIMIT n].
    pub(super) fn show_log_events(
        &mut self,
        relay: Option<Option<&str>>,
        file: Option<&str>,
        position: Option<u64>,
        limit: Option<&ast::Limit>,
    ) -> Result<RowsSink> {
        let window = super::show::window(self, limit)?;
        match relay {
            Some(channel) => relayed_events(self, (channel, file), position, window),
            None => logged_events(self, file, position, window),
        }
    }

    /// SHOW REPLICAS.
    pub(super) fn show_replicas(&mut self) -> Result<RowsSink> {
        let source = self.server.globals.get(gannet_core::vars::Live::ServerId).as_u64();
        let replicas = self.server.binlog().map_or(Vec::new(), |log| log.replicas());
        let row = |r: gannet_core::binlog::Reader| {
            vec![
                Value::UInt(r.server_id.into()),
                Value::text(&r.host),
                Value::UInt(r.port.into()),
                Value::UInt(source),
                Value::text(&r.uuid),
            ]
        };
        let columns = vec![
            number("Server_Id"),
            column("Host", 255),
            number("Port"),
            number("Source_Id"),
            column("Replica_UUID", 36),
        ];
        Ok(table(columns, replicas.into_iter().map(row).collect()))
    }
}

fn logged_events(
    session: &Session,
    file: Option<&str>,
    position: Option<u64>,
    window: (usize, usize),
) -> Result<RowsSink> {
    let log = require_binlog(session)?;
    log.catch_up(&session.server.engine);
    let (files, _) = log.state();
    let found = match file {
        Some(name) => log.names().number(name).and_then(|n| files.iter().find(|f| f.number == n)),
        None => files.first(),
    };
    let found = found.ok_or_else(|| missing("SHOW BINLOG EVENTS"))?;
    let name = log.names().name(found.number);
    let checksum = log.names().front(found.number).map_err(failed)?.checksum;
    let open = File::open(log.names().path(found.number), &OpenOptions::read()).map_err(failed)?;
    let from = position.unwrap_or(0).max(MAGIC.len() as u64);
    let scan = Scan { file: &open, checksum, at: from, end: found.size, bytes: Vec::new(), used: 0 };
    shown_events(scan, &name, from, window)
}

fn relayed_events(
    session: &Session,
    (channel, file): (Option<&str>, Option<&str>),
    position: Option<u64>,
    window: (usize, usize),
) -> Result<RowsSink> {
    let logs = session.server.replicas().map_or(Ok(Vec::new()), |replica| replica.relay_logs(channel))?;
    let found = match file {
        Some(name) => logs.iter().find(|log| log.name == name),
        None => logs.first(),
    };
    if logs.is_empty() {
        return Ok(table(event_columns(), Vec::new()));
    }
    let found = found.ok_or_else(|| missing("SHOW RELAYLOG EVENTS"))?;
    let open = File::open(&found.path, &OpenOptions::read()).map_err(failed)?;
    // What events end with is said by the descriptions before them.
    let (begins, checksum) = (MAGIC.len() as u64, Checksum::Crc32);
    let scan = Scan { file: &open, checksum, at: begins, end: found.size, bytes: Vec::new(), used: 0 };
    shown_events(scan, &found.name, position.unwrap_or(0), window)
}

fn missing(what: &str) -> SqlError {
    sql_err!(ErrorWhenExecutingCommand, what, "Could not find target log")
}

/// The events of a file that begin there or behind.
fn shown_events(mut scan: Scan<'_>, name: &str, from: u64, (skip, take): (usize, usize)) -> Result<RowsSink> {
    let mut shown = Shown { name, skip, take, rows: Vec::new() };
    while shown.wants_more() {
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
        let begins = scan.at;
        let Some(event) = scan.next()? else { break };
        let end = begins + event.bytes.len() as u64;
        if begins >= from {
            shown.event(begins, end, &event);
        }
        if begins >= from
            && event.header.kind == kind::TRANSACTION_PAYLOAD
            && let Ok(packed) = Packed::decode(event.body)
        {
            // As in MySQL, those within stand where it ends. What is damaged ends them.
            let mut events = packed.events();
            while shown.wants_more()
                && let Ok(Some(event)) = events.next_event()
            {
                shown.event(end, end, &event);
            }
        }
        if event.header.kind == kind::FORMAT_DESCRIPTION
            && let Ok(described) = FormatDescription::decode(event.body)
        {
            scan.checksum = described.checksum;
        }
    }
    Ok(table(event_columns(), shown.rows))
}

fn event_columns() -> Vec<ResultColumn> {
    vec![
        column("Log_name", 255),
        number("Pos"),
        column("Event_type", 20),
        number("Server_id"),
        number("End_log_pos"),
        column("Info", 65535),
    ]
}

/// Warning 1598 while the files cannot be written, which lack what was committed since.
fn tell_stuck(warnings: &mut Warnings, log: &Binlog) {
    if let Some(why) = log.is_stuck() {
        warnings.warn(ErrorCode::BinlogLoggingImpossible, &[&format_args!("{why}; this is what is in the files")]);
    }
}

/// The binary log; error 1381 where there is none.
fn require_binlog(session: &Session) -> Result<Arc<Binlog>> {
    session.server.binlog().cloned().ok_or_else(|| sql_err!(NoBinaryLogging))
}

/// FLUSH BINARY LOGS; nothing where there are none.
pub(crate) fn flush_binary_logs(session: &mut Session) -> Result<()> {
    match session.server.binlog() {
        Some(log) => log.flush(&session.server.engine),
        None => Ok(()),
    }
}

/// RESET BINARY LOGS AND GTIDS: of the next file `first` is the number. Errors 3567, and 1192 under LOCK TABLES.
pub(crate) fn reset_binary_logs(session: &mut Session, first: Option<u64>) -> Result<()> {
    /// The largest number of a file.
    const MOST: u64 = 2_000_000_000;
    let first = first.unwrap_or(1);
    if first == 0 || first > MOST {
        return Err(sql_err!(ResetMasterToValueOutOfRange, first, MOST));
    }
    if !session.locked.is_empty() {
        return Err(sql_err!(LockOrActiveTransaction));
    }
    match session.server.binlog() {
        Some(log) => log.reset(&session.server.engine, first),
        None => Err(sql_err!(FlushSourceBinlogClosed)),
    }
}

/// PURGE BINARY LOGS.
pub(crate) fn purge_binary_logs(session: &mut Session, to: Option<&str>, before: Option<&ast::Expr>) -> Result<Done> {
    let have = session.state.privileges();
    if !have.has(Privilege::BinlogAdmin) && !have.has(Privilege::Super) {
        return Err(sql_err!(SpecificAccessDenied, "SUPER or BINLOG_ADMIN"));
    }
    let before = before.map(|e| session.evaluate(e)).transpose()?;
    let Some(log) = session.server.binlog().cloned() else { return Ok(Done::default()) };
    log.catch_up(&session.server.engine);
    let (files, _) = log.state();
    let upto = match (to, before) {
        (Some(name), _) => {
            let number = log.names().number(name).filter(|n| files.iter().any(|f| f.number == *n));
            number.ok_or_else(|| sql_err!(UnknownTargetBinlog))?
        }
        (None, Some(time)) => {
            let at = moment(session, &time)?;
            // A file is as old as its last event: the beginning of the next.
            let mut upto = 0;
            for pair in files.windows(2) {
                if i64::from(log.names().begun(pair[1].number).map_err(failed)?) >= at {
                    break;
                }
                upto = pair[1].number;
            }
            upto
        }
        (None, None) => 0,
    };
    log.purge(upto).map_err(|e| sql_err!(ErrorWhenExecutingCommand, "PURGE BINARY LOGS", e))?;
    Ok(Done::default())
}

/// The seconds since 1970 of a time in the session's zone. Error 1525 for what is none.
fn moment(session: &mut Session, time: &Value) -> Result<i64> {
    let mut text = Vec::new();
    time.write_text(&mut text);
    let shown = String::from_utf8_lossy(&text).replace('\'', "''");
    let parsed = gannet_parser::parse(format!("DO UNIX_TIMESTAMP('{shown}')").as_bytes(), Default::default());
    let wrong = || sql_err!(WrongValue, "DATETIME", shown);
    let Ok(parsed) = parsed else { return Err(wrong()) };
    let ast::Statement::Do(expressions) = &parsed.statement else { return Err(wrong()) };
    let Some(expression) = expressions.first() else { return Err(wrong()) };
    match session.evaluate(expression)? {
        Value::Int(n) => Ok(n),
        Value::UInt(n) => Ok(n as i64),
        Value::Decimal(d) => Ok(d.to_f64() as i64),
        _ => Err(wrong()),
    }
}

/// Reads events one after the other.
struct Scan<'f> {
    file: &'f File,
    checksum: Checksum,
    /// Where the next event begins.
    at: u64,
    /// Where the file ends.
    end: u64,
    bytes: Vec<u8>,
    /// Of the bytes, these are passed.
    used: usize,
}

impl Scan<'_> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let wrong = |e: &dyn std::fmt::Display| {
            let text = format!("Wrong offset or I/O error ({e})");
            sql_err!(ErrorWhenExecutingCommand, "SHOW BINLOG EVENTS", text)
        };
        if self.at >= self.end {
            return Ok(None);
        }
        let rest = self.bytes.get(self.used..).unwrap_or_default();
        let header = (rest.len() >= HEADER).then(|| Header::decode(rest)).transpose().map_err(|e| wrong(&e))?;
        let need = header.map_or(HEADER, |h| h.size as usize);
        if rest.len() < need {
            let left = self.end - self.at;
            let mut n = left.min(READ.max(need as u64)) as usize;
            self.bytes.resize(n, 0);
            self.file.read_exact_at(&mut self.bytes, self.at).map_err(failed)?;
            let size = Header::decode(&self.bytes).map_err(|e| wrong(&e))?.size;
            if size as usize > n {
                n = left.min(u64::from(size)) as usize;
                self.bytes.resize(n, 0);
                self.file.read_exact_at(&mut self.bytes, self.at).map_err(failed)?;
            }
            self.used = 0;
        }
        let event = Event::first(&self.bytes[self.used..], self.checksum).map_err(|e| wrong(&e))?;
        let event = event.ok_or_else(|| wrong(&"the event is cut off"))?;
        self.used += event.bytes.len();
        self.at += event.bytes.len() as u64;
        Ok(Some(event))
    }
}
