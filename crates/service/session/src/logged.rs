//! What of a session's statements the binary log has.

use super::Session;
use gannet_binlog::rows::flags;
use gannet_core::binlog::RowImage;
use gannet_core::vars::Live;
use gannet_core::work::{LoggedStatement, Told};
use gannet_runtime::WallTime;

impl Session {
    /// The first of these user variables that is set: what the reader of a log says of itself.
    pub fn said(&self, names: &[&str]) -> Option<String> {
        let value = names.iter().find_map(|n| self.state.user_vars.get(*n)).filter(|v| !v.is_null())?;
        let mut text = Vec::new();
        value.write_text(&mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// What the session does now is logged.
pub(crate) fn is_logged(session: &Session) -> bool {
    session.server.binlog().is_some() && session.state.vars[Live::SqlLogBin].as_bool()
}

/// A statement begins; `writes`: it may change rows, itself or by what it calls. Inside another statement it is part of
/// that.
#[inline(always)]
pub(crate) fn log_rows(session: &mut Session, writes: bool) {
    if !writes || session.server.binlog().is_none() {
        return;
    }
    let told = match is_logged(session) {
        _ if session.inside => Told::Part,
        true => Told::Statement(logged_statement(session)),
        false => Told::Not,
    };
    session.work.log_rows(told);
}

pub(crate) fn logged_statement(session: &Session) -> LoggedStatement {
    let vars = &session.state.vars;
    let off = |on: bool, bit: u16| if on { 0 } else { bit };
    let flags = off(session.settings.exec.foreign_key_checks, flags::NO_FOREIGN_KEY_CHECKS)
        | off(vars[Live::UniqueChecks].as_bool(), flags::RELAXED_UNIQUE_CHECKS);
    let text = || session.entry.logged_text();
    let partial = !vars[Live::BinlogRowValueOptions].as_str().is_empty();
    LoggedStatement {
        now_s: (session.state.statement_time() / 1_000_000) as u32,
        flags,
        text: vars[Live::BinlogRowsQueryLogEvents].as_bool().then(text),
        definition: None,
        image: Some((RowImage::of(vars[Live::BinlogRowImage].as_str()), partial)),
    }
}

/// The time of a commit, in microseconds since 1970.
pub(crate) fn commit_time() -> u64 {
    WallTime::now().micros()
}
