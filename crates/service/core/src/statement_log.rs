//! The general query log and the slow query log: files in MySQL's format (manual, 7.4.3 "The General Query Log" and
//! 7.4.5 "The Slow Query Log"), so that the tools which read them work.
//!
//! An entry is one `write` to a file opened for appending: entries of several threads do not mix, and a line that is
//! there is whole. With `log_output=TABLE` they go to tables: `log_tables`.
//! A statement pays for it when a log is on; else one load says that both are off.

use crate::log::{ErrorLog, timestamp};
use crate::log_entries::writes_to;
pub use crate::log_entries::{Argument, EXTRA_COUNTS, Extra, Sender, Slow};
use crate::log_tables::LogTables;
use crate::vars::{GlobalVars, Live, VarSet, VarValue};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU8, Ordering::Relaxed};
use gannet_runtime::fs::{Readers, plain_file};
use gannet_types::{Result, SqlError, sql_err};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// What is on: bits of one byte, so that a statement looks at one.
const GENERAL: u8 = 1;
const SLOW: u8 = 2;
const NOT_USING_INDEXES: u8 = 4;
const ADMINISTRATION: u8 = 8;
const RAW: u8 = 16;
const EXTRA: u8 = 32;
/// Where to.
const TO_TABLE: u8 = 64;
const TO_FILE: u8 = 128;

/// Both logs.
pub struct StatementLogs {
    on: AtomicU8,
    general: Mutex<LogFile>,
    slow: Mutex<LogFile>,
    /// For the tables of both.
    pub tables: LogTables,
    datadir: PathBuf,
    /// What a file begins with.
    header: String,
}

#[derive(Default)]
struct LogFile {
    path: PathBuf,
    file: Option<File>,
    /// `USE` of the last entry.
    database: String,
}

impl LogFile {
    fn open(&mut self, header: &str) -> io::Result<()> {
        let mut file = plain_file(Readers::Group).append(true).open(&self.path)?;
        file.write_all(header.as_bytes())?;
        self.file = Some(file);
        self.database.clear();
        Ok(())
    }

    /// Opens, closes or opens another file, as the variables say now.
    fn follow(&mut self, on: bool, path: PathBuf, header: &str) -> Result<()> {
        if !on || self.path != path {
            self.file = None;
        }
        self.path = path;
        if on && self.file.is_none() {
            self.open(header).map_err(|e| cannot_open(&self.path, &e))?;
        }
        Ok(())
    }

    fn append(&mut self, entry: &[u8]) {
        if let Some(file) = &mut self.file {
            // A full disk costs entries, not statements.
            let _ = file.write_all(entry);
        }
    }
}

fn cannot_open(path: &Path, e: &io::Error) -> SqlError {
    sql_err!(CantOpenFile, path.display(), e.raw_os_error().unwrap_or(0), e)
}

impl StatementLogs {
    /// Both off until [`StatementLogs::configure`].
    pub fn new(datadir: &Path, header: String) -> Self {
        Self {
            on: AtomicU8::new(0),
            general: Mutex::default(),
            slow: Mutex::default(),
            tables: LogTables::default(),
            datadir: datadir.to_path_buf(),
            header,
        }
    }

    /// Does what the variables say.
    ///
    /// # Errors
    /// 1016 when a file cannot be opened; its log stays off.
    pub fn configure(&self, vars: &GlobalVars) -> Result<()> {
        let is = |id: Live| vars.get(id).as_bool();
        let output = vars.get(Live::LogOutput);
        let [to_file, to_table] = ["FILE", "TABLE"].map(|to| writes_to(output.as_str(), to));
        let path = |id: Live| self.datadir.join(vars.get(id).as_str());
        let (general, slow) = (to_file && is(Live::GeneralLog), to_file && is(Live::SlowQueryLog));
        let opened = [
            (self.general.lock().follow(general, path(Live::GeneralLogFile), &self.header), general, GENERAL),
            (self.slow.lock().follow(slow, path(Live::SlowQueryLogFile), &self.header), slow, SLOW),
        ];
        let mut bits = if to_table { TO_TABLE } else { 0 } | if to_file { TO_FILE } else { 0 };
        for (id, bit) in [
            (Live::LogQueriesNotUsingIndexes, NOT_USING_INDEXES),
            (Live::LogSlowAdminStatements, ADMINISTRATION),
            (Live::LogSlowExtra, EXTRA),
            (Live::LogRaw, RAW),
        ] {
            bits |= if is(id) { bit } else { 0 };
        }
        for ((outcome, on, bit), variable) in opened.iter().zip([Live::GeneralLog, Live::SlowQueryLog]) {
            bits |= if (*on || (to_table && is(variable))) && outcome.is_ok() { *bit } else { 0 };
        }
        self.on.store(bits, Relaxed);
        opened.into_iter().try_for_each(|(outcome, ..)| outcome)
    }

    /// Closes and opens the files: FLUSH LOGS, when they have been renamed. Takes part in what FLUSH names only.
    ///
    /// # Errors
    /// 1016 when a file cannot be opened; its log is off then.
    pub fn reopen(&self, general: bool, slow: bool) -> Result<()> {
        for (wanted, bit, log) in [(general, GENERAL, &self.general), (slow, SLOW, &self.slow)] {
            if wanted && self.on.load(Relaxed) & (bit | TO_FILE) == bit | TO_FILE {
                let mut log = log.lock();
                log.file = None;
                if let Err(e) = log.open(&self.header) {
                    if self.on.load(Relaxed) & TO_TABLE == 0 {
                        self.on.fetch_and(!bit, Relaxed);
                    }
                    return Err(cannot_open(&log.path, &e));
                }
            }
        }
        Ok(())
    }

    /// Is the general query log on?
    #[inline]
    pub fn general(&self) -> bool {
        self.on.load(Relaxed) & GENERAL != 0
    }

    /// Is the slow query log on?
    #[inline]
    pub fn slow(&self) -> bool {
        self.on.load(Relaxed) & SLOW != 0
    }

    /// Do the logs that are on go to tables?
    #[inline]
    pub fn to_tables(&self) -> bool {
        let on = self.on.load(Relaxed);
        on & TO_TABLE != 0 && on & (GENERAL | SLOW) != 0
    }

    /// Which of [`gannet_schema::LOG_TABLES`] are written.
    pub fn tables_written(&self) -> [bool; 2] {
        let on = self.on.load(Relaxed);
        [GENERAL, SLOW].map(|log| on & (TO_TABLE | log) == TO_TABLE | log)
    }

    /// Are statements without an index slow, too?
    pub fn not_using_indexes(&self) -> bool {
        self.on.load(Relaxed) & NOT_USING_INDEXES != 0
    }

    /// Do ALTER TABLE and the like count?
    pub fn administration(&self) -> bool {
        self.on.load(Relaxed) & ADMINISTRATION != 0
    }

    /// Does the slow query log have the counts of each statement?
    #[inline]
    pub fn extra(&self) -> bool {
        self.on.load(Relaxed) & (SLOW | EXTRA) == SLOW | EXTRA
    }

    /// Are passwords written as they came?
    pub fn raw(&self) -> bool {
        self.on.load(Relaxed) & RAW != 0
    }

    /// Appends to the general query log. `command` as the process list names it.
    pub fn write_general(&self, now_us: u64, sender: &Sender<'_>, command: &str, argument: Argument<'_>) {
        let on = self.on.load(Relaxed);
        if on & TO_TABLE != 0 {
            self.tables.general(now_us, sender, command, argument);
        }
        if on & TO_FILE == 0 {
            return;
        }
        let mut entry = format!("{}\t{:5} {command}\t", timestamp(now_us as i64), sender.id).into_bytes();
        entry.extend_from_slice(argument.bytes());
        entry.push(b'\n');
        self.general.lock().append(&entry);
    }

    /// Appends to the slow query log.
    pub fn write_slow(&self, s: &Slow<'_>) {
        let on = self.on.load(Relaxed);
        if on & TO_TABLE != 0 {
            self.tables.slow(s);
        }
        if on & TO_FILE == 0 {
            return;
        }
        let Sender { id, user, account, host, address, database } = s.sender;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let mut entry = format!(
            "# Time: {}\n# User@Host: {account}[{user}] @ {host} [{address}]  Id: {id:5}\n\
             # Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  Rows_examined: {}",
            timestamp(s.ended_us as i64),
            seconds(s.latency_ns),
            seconds(s.locks_ns),
            s.rows_sent,
            s.rows_examined
        )
        .into_bytes();
        let started_us = s.ended_us - (s.latency_ns / 1000).min(s.ended_us);
        if let Some(extra) = &s.extra {
            entry.extend_from_slice(extra.text(id, started_us, s.ended_us).as_bytes());
        }
        entry.push(b'\n');
        let mut log = self.slow.lock();
        if !database.is_empty() && log.database != database {
            entry.extend_from_slice(format!("use {database};\n").as_bytes());
            log.database = database.to_string();
        }
        entry.extend_from_slice(format!("SET timestamp={};\n", started_us / 1_000_000).as_bytes());
        entry.extend_from_slice(s.text.bytes());
        entry.extend_from_slice(b";\n");
        log.append(&entry);
    }
}

impl Extra {
    fn text(&self, id: u64, started_us: u64, ended_us: u64) -> String {
        let mut text = format!(" Thread_id: {id} Errno: {} Killed: {}", self.error, self.killed);
        for ((name, _), n) in EXTRA_COUNTS.iter().zip(self.counts) {
            text += &format!(" {name}: {n}");
        }
        text + &format!(" Start: {} End: {}", timestamp(started_us as i64), timestamp(ended_us as i64))
    }
}

/// `log_output`: FILE, TABLE, NONE, in MySQL's order.
///
/// # Errors
/// 1231 for what is no destination.
pub fn check_output(text: &str) -> Result<VarValue> {
    let mut names: Vec<String> = text.split(',').map(|n| n.trim().to_ascii_uppercase()).collect();
    names.sort();
    names.dedup();
    if names.iter().all(|n| matches!(n.as_str(), "FILE" | "NONE" | "TABLE")) {
        Ok(VarValue::text(&names.join(",")))
    } else {
        Err(sql_err!(WrongValueForVar, "log_output", text))
    }
}

/// The name of a log's file as a statement may set it: `NAME.log` in the data directory, or in the directory of
/// `secure_file_priv`. MySQL allows any place, which has served to write programs where web servers run them.
///
/// # Errors
/// 1231 for every other name.
pub fn check_path(variable: &str, text: &str, datadir: &Path, secure: Option<&str>) -> Result<()> {
    let path = datadir.join(text);
    let plain = path.components().all(|c| !matches!(c, Component::ParentDir));
    let parent = path.parent().and_then(|p| p.canonicalize().ok());
    let is = |dir: &Path| parent.is_some() && dir.canonicalize().ok() == parent;
    let there = is(datadir) || secure.is_some_and(|dir| dir.is_empty() || is(Path::new(dir)));
    if plain && there && path.extension().is_some_and(|e| e == "log") && !path.is_symlink() {
        Ok(())
    } else {
        Err(sql_err!(WrongValueForVar, variable, text))
    }
}

/// What a file of a statement log begins with, as MySQL's: tools skip three lines.
pub fn header(vars: &VarSet) -> String {
    let program = std::env::current_exe().map_or_else(|_| "gannet".into(), |p| p.display().to_string());
    let text = |id: Live| vars[id as usize].as_str();
    format!(
        "{program}, Version: {}. started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
        text(Live::Version),
        vars[Live::Port as usize].as_u64(),
        text(Live::Socket)
    )
}

/// Turns the logs on at the start. A log whose file cannot be opened stays off, and the error log says so.
pub fn start(logs: &StatementLogs, vars: &GlobalVars, log: &ErrorLog) {
    if let Err(e) = logs.configure(vars) {
        log.error(format_args!(
            "a log of statements stays off: {e}; SET GLOBAL general_log or slow_query_log opens it again"
        ));
    }
}

/// Default names of the files: the machine's, in the data directory.
pub fn default_names(hostname: &str) -> [(Live, String); 2] {
    let host = hostname.split('.').next().filter(|h| !h.is_empty()).unwrap_or("gannet");
    [(Live::GeneralLogFile, format!("{host}.log")), (Live::SlowQueryLogFile, format!("{host}-slow.log"))]
}
