//! The error log: lines `time [Level] text` on stderr or in a file, or JSON beside them (MySQL's manual, 7.4.2.7 "Error
//! Logging in JSON Format"), as `log_error_services` says.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU8, Ordering};
use gannet_runtime::fs::{Readers, plain_file};
use gannet_telemetry::Events;
use gannet_types::json::write_quoted;
use gannet_types::temporal::DateTime;
use gannet_types::{Result, SqlError, sql_err};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How bad it is, or how important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The server begins or ends: always written.
    System = 0,
    /// Something failed.
    Error = 1,
    /// Something is not as it should be.
    Warning = 2,
    /// For information.
    Note = 3,
}

/// Where the server says what happens to it. `log_error_verbosity` bounds what is written.
pub struct ErrorLog {
    file: Mutex<Option<File>>,
    /// The file's path; `None`: all goes to stderr.
    path: Option<PathBuf>,
    /// JSON, where it is written to a file.
    json: Mutex<Option<File>>,
    services: AtomicU8,
    verbosity: AtomicU8,
    /// The last lines, for performance_schema.
    last: Mutex<VecDeque<Line>>,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Line {
    /// Microseconds since 1970.
    pub unix_us: u64,
    pub severity: Severity,
    pub text: String,
}

/// What `log_error_services` may name, and the bit of each.
const SERVICES: [(&str, u8); 3] =
    [("log_filter_internal", FILTER), ("log_sink_internal", LINES), ("log_sink_json", JSON)];
const FILTER: u8 = 1;
const LINES: u8 = 2;
const JSON: u8 = 4;

/// The bits of a list of services, which `;` or `,` separate. Error 1231 for others and for one that is named twice.
fn services(list: &str) -> Result<u8> {
    let mut bits = 0;
    for name in list.split([';', ',']).map(str::trim).filter(|name| !name.is_empty()) {
        let known = SERVICES.iter().find(|(known, _)| *known == name).filter(|(_, bit)| bits & bit == 0);
        let (_, bit) = known.ok_or_else(|| sql_err!(WrongValueForVar, "log_error_services", list))?;
        bits |= bit;
    }
    Ok(bits)
}

/// Lines that are kept.
const KEPT: usize = 1000;
/// Bytes of a line that are kept.
const KEPT_BYTES: usize = 2000;

impl ErrorLog {
    /// Writes to stderr.
    pub fn to_stderr() -> Self {
        Self::to(None)
    }

    /// Appends to a file.
    pub fn to_file(path: &Path) -> std::io::Result<Self> {
        let file = plain_file(Readers::Group).append(true).open(path)?;
        gannet_runtime::last_words_to(file.as_raw_fd());
        Ok(Self { path: Some(path.to_owned()), ..Self::to(Some(file)) })
    }

    fn to(file: Option<File>) -> Self {
        Self {
            file: Mutex::new(file),
            path: None,
            json: Mutex::default(),
            services: AtomicU8::new(FILTER | LINES),
            verbosity: AtomicU8::new(Severity::Note as u8),
            last: Mutex::default(),
        }
    }

    /// Does what `log_error_services` says.
    ///
    /// # Errors
    /// 1231 for a list that is none, 1016 when the file of JSON cannot be opened; all stays as it was.
    pub fn set_services(&self, list: &str) -> Result<()> {
        let bits = services(list)?;
        let mut json = self.json.lock();
        match (bits & JSON != 0, json.is_some()) {
            (true, false) => *json = self.open_json()?,
            (false, true) => *json = None,
            _ => {}
        }
        self.services.store(bits, Ordering::Relaxed);
        Ok(())
    }

    /// The file beside the log's, as MySQL names it; `None`: stderr.
    fn open_json(&self) -> Result<Option<File>> {
        let Some(path) = &self.path else { return Ok(None) };
        let mut path = path.clone().into_os_string();
        path.push(".00.json");
        let cannot = |e: std::io::Error| -> SqlError {
            sql_err!(CantOpenFile, path.to_string_lossy(), e.raw_os_error().unwrap_or(0), e)
        };
        plain_file(Readers::Group).append(true).open(&path).map(Some).map_err(cannot)
    }

    /// Closes and opens the files: FLUSH ERROR LOGS, when they have been renamed. Where one cannot be opened, the log
    /// goes on in what it had.
    pub fn reopen(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let opened = plain_file(Readers::Group).append(true).open(path);
        let file = opened
            .map_err(|e| -> SqlError { sql_err!(CantOpenFile, path.display(), e.raw_os_error().unwrap_or(0), e) })?;
        gannet_runtime::last_words_to(file.as_raw_fd());
        *self.file.lock() = Some(file);
        let mut json = self.json.lock();
        if json.is_some() {
            *json = self.open_json()?;
        }
        Ok(())
    }

    /// The last lines, the oldest first.
    pub fn last(&self) -> Vec<Line> {
        self.last.lock().iter().cloned().collect()
    }

    fn keep(&self, unix_us: u64, severity: Severity, mut text: String) {
        text.truncate(text.floor_char_boundary(KEPT_BYTES));
        let mut last = self.last.lock();
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(Line { unix_us, severity, text });
    }

    /// Sets `log_error_verbosity`: 1 errors, 2 and warnings, 3 and notes.
    pub fn set_verbosity(&self, n: u64) {
        self.verbosity.store(n.clamp(1, 3) as u8, Ordering::Relaxed);
    }

    /// What the storage engine has to tell goes here.
    pub fn events(log: &Arc<ErrorLog>) -> Events {
        let log = log.clone();
        Events::to(move |severity, text| match severity {
            gannet_telemetry::Severity::Error => log.error(text),
            gannet_telemetry::Severity::Warning => log.warning(text),
            gannet_telemetry::Severity::Note => log.note(text),
        })
    }

    /// The server begins or ends.
    pub fn system(&self, text: impl std::fmt::Display) {
        self.write(Severity::System, &text);
    }

    /// Something failed.
    pub fn error(&self, text: impl std::fmt::Display) {
        self.write(Severity::Error, &text);
    }

    /// Something is not as it should be.
    pub fn warning(&self, text: impl std::fmt::Display) {
        self.write(Severity::Warning, &text);
    }

    /// For information.
    pub fn note(&self, text: impl std::fmt::Display) {
        self.write(Severity::Note, &text);
    }

    fn write(&self, severity: Severity, text: &dyn std::fmt::Display) {
        let services = self.services.load(Ordering::Relaxed);
        let is_filtered = services & FILTER != 0 && severity as u8 > self.verbosity.load(Ordering::Relaxed);
        if is_filtered || services & (LINES | JSON) == 0 {
            return;
        }
        let unix_us = gannet_runtime::WallTime::now().micros();
        let text = text.to_string();
        // When the log cannot be written, there is no place to report that.
        if services & LINES != 0 {
            let _ = written(&self.file, &as_line(unix_us, severity, &text));
        }
        if services & JSON != 0 {
            let _ = written(&self.json, &as_json(unix_us, severity, &text));
        }
        self.keep(unix_us, severity, text);
    }
}

/// Writes to a file, or to stderr.
fn written(to: &Mutex<Option<File>>, bytes: &[u8]) -> std::io::Result<()> {
    match &mut *to.lock() {
        Some(file) => file.write_all(bytes),
        None => std::io::stderr().write_all(bytes),
    }
}

fn as_line(unix_us: u64, severity: Severity, text: &str) -> Vec<u8> {
    let mut line = timestamp(unix_us as i64);
    line.push_str(match severity {
        Severity::System => " [System] ",
        Severity::Error => " [ERROR] ",
        Severity::Warning => " [Warning] ",
        Severity::Note => " [Note] ",
    });
    line.push_str(&text.replace('\n', "\\n"));
    line.push('\n');
    line.into_bytes()
}

/// The fields of MySQL's that there are here, in its order: `ts` counts milliseconds since 1970.
fn as_json(unix_us: u64, severity: Severity, text: &str) -> Vec<u8> {
    let label = match severity {
        Severity::System => "System",
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    };
    let mut out = format!("{{ \"prio\" : {}, \"subsystem\" : \"Server\", \"msg\" : ", severity as u8).into_bytes();
    write_quoted(text, &mut out);
    let (time, ms) = (timestamp(unix_us as i64), unix_us / 1000);
    let rest = format!(", \"time\" : \"{time}\", \"ts\" : {ms}, \"thread\" : 0, \"label\" : \"{label}\" }}\n");
    out.extend_from_slice(rest.as_bytes());
    out
}

/// `YYYY-MM-DDThh:mm:ss.ffffffZ`.
pub fn timestamp(unix_us: i64) -> String {
    let mut text = Vec::new();
    // DateTime counts from year 0; the epoch is that many microseconds later.
    let epoch = DateTime::new(1970, 1, 1, 0, 0, 0, 0).to_micros();
    if let Some(d) = DateTime::from_micros(epoch + unix_us) {
        d.write(6, &mut text);
    }
    let mut text = String::from_utf8_lossy(&text).replacen(' ', "T", 1);
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named() {
        let of = |list: &str| services(list).map_err(|e| e.number());
        assert_eq!(of(" log_sink_json,log_filter_internal; "), Ok(FILTER | JSON));
        assert_eq!(of(""), Ok(0));
        assert_eq!([of("log_sink_xml"), of("log_sink_json; log_sink_json")], [Err(1231), Err(1231)]);
    }

    #[test]
    fn lines_and_json() {
        let dir = std::env::temp_dir().join(format!("gannet-error-log-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (path, beside) = (dir.join("e.log"), dir.join("e.log.00.json"));
        let log = ErrorLog::to_file(&path).unwrap();
        log.set_verbosity(1);
        log.warning("not told");
        assert_eq!(log.set_services("log_sink_json; nothing").map_err(|e| e.number()), Err(1231));
        log.set_services("log_filter_internal; log_sink_internal; log_sink_json").unwrap();
        log.error("both \"of\"\nthem");
        log.set_services("log_sink_json").unwrap();
        log.note("not filtered");
        log.set_services("").unwrap();
        log.error("nowhere");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let lines = read(&path);
        assert!(lines.lines().count() == 1 && lines.contains("[ERROR] both \"of\"\\nthem"), "{lines}");
        let text = read(&beside);
        let told: Vec<&str> = text.lines().collect();
        assert!(
            told[0].starts_with(r#"{ "prio" : 1, "subsystem" : "Server", "msg" : "both \"of\"\nthem", "time" : ""#)
        );
        assert!(told[1].contains(r#""msg" : "not filtered""#) && told[1].ends_with(r#""label" : "Note" }"#));
        assert!(told.len() == 2 && told.iter().all(|t| gannet_types::json::parse(t.as_bytes()).is_ok()), "{text}");
        // Rotated as tools do it.
        std::fs::rename(&path, dir.join("old")).unwrap();
        log.set_services("log_sink_internal").unwrap();
        log.reopen().unwrap();
        log.error("anew");
        assert!(read(&path).contains("anew") && !read(&dir.join("old")).contains("anew"));
        assert_eq!(
            log.last().iter().map(|l| &*l.text).collect::<Vec<_>>(),
            ["both \"of\"\nthem", "not filtered", "anew"]
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn timestamps() {
        assert_eq!(super::timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(super::timestamp(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
    }
}
