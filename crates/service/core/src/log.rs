//! The error log: lines `time [Level] text` on stderr or in a file.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU8, Ordering};
use gannet_runtime::fs::{Readers, plain_file};
use gannet_telemetry::Events;
use gannet_types::temporal::DateTime;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
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
        Ok(Self::to(Some(file)))
    }

    fn to(file: Option<File>) -> Self {
        Self { file: Mutex::new(file), verbosity: AtomicU8::new(Severity::Note as u8), last: Mutex::default() }
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
        if severity as u8 > self.verbosity.load(Ordering::Relaxed) {
            return;
        }
        let unix_us = gannet_runtime::WallTime::now().micros();
        let text = text.to_string();
        let mut line = timestamp(unix_us as i64);
        line.push_str(match severity {
            Severity::System => " [System] ",
            Severity::Error => " [ERROR] ",
            Severity::Warning => " [Warning] ",
            Severity::Note => " [Note] ",
        });
        line.push_str(&text.replace('\n', "\\n"));
        line.push('\n');
        self.keep(unix_us, severity, text);
        // When the log cannot be written, there is no place to report that.
        let _ = match &mut *self.file.lock() {
            Some(file) => file.write_all(line.as_bytes()),
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }
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
    #[test]
    fn timestamps() {
        assert_eq!(super::timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(super::timestamp(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
    }
}
