//! What of a session's statements the binary log has.

use super::Session;
use gannet_binlog::rows::flags;
use gannet_core::vars::Live;
use gannet_core::work::LoggedStatement;
use gannet_runtime::WallTime;
use gannet_types::{Result, SqlError};

impl Session {
    /// What the session does now is logged.
    pub(super) fn is_logged(&self) -> bool {
        self.server.binlog().is_some() && self.state.vars[Live::SqlLogBin].as_bool()
    }

    /// A statement begins; `writes`: it may change rows.
    #[inline]
    pub(super) fn log_rows(&mut self, writes: bool) {
        if writes && self.server.binlog().is_some() {
            let statement = self.is_logged().then(|| self.logged_statement());
            self.work.log_rows(statement);
        }
    }

    /// Error 1235 for changes of a function or trigger: its rows would not be in the log.
    pub(super) fn refuse_unlogged(&self) -> Result<()> {
        if self.inside && self.is_logged() {
            return Err(SqlError::unsupported("changes by functions and triggers with --log-bin"));
        }
        Ok(())
    }

    fn logged_statement(&self) -> LoggedStatement {
        let vars = &self.state.vars;
        let off = |on: bool, bit: u16| if on { 0 } else { bit };
        let flags = off(self.settings.foreign_key_checks, flags::NO_FOREIGN_KEY_CHECKS)
            | off(vars[Live::UniqueChecks].as_bool(), flags::RELAXED_UNIQUE_CHECKS);
        let text = || self.entry.statement().map_or(Vec::new(), |text| text.bytes().to_vec());
        LoggedStatement {
            now_s: (self.state.statement_time() / 1_000_000) as u32,
            flags,
            text: vars[Live::BinlogRowsQueryLogEvents].as_bool().then(text),
        }
    }

    /// The first of these user variables that is set: what the reader of a log says of itself.
    pub fn said(&self, names: &[&str]) -> Option<String> {
        let value = names.iter().find_map(|n| self.state.user_vars.get(*n)).filter(|v| !v.is_null())?;
        let mut text = Vec::new();
        value.write_text(&mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The time of a commit, in microseconds since 1970.
    pub(super) fn commit_time(&self) -> u64 {
        WallTime::now().micros()
    }
}
