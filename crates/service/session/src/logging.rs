//! What a session writes to the general and the slow query log.

use super::Session;
use super::running::Figures;
use super::text::lex_mode;
use gannet_core::kept::{KeptText, tokens, trimmed, word};
use gannet_core::registry::Who;
use gannet_core::statement_log::{Argument, EXTRA_COUNTS, Extra, Sender, Slow};
use gannet_core::vars::{Live, VarValue};
use gannet_parser::LexMode;
use gannet_parser::lexer::{Tok, Token};
use gannet_runtime::WallTime;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, Value};
use std::borrow::Cow;

impl Session {
    /// Notes a command in the general query log, when that is on: `words` of the server's own, or a name.
    #[inline]
    pub fn note_command(&self, command: &str, words: &str) {
        if self.server.logs.general() {
            write_command(self, command, Argument::Words(words));
        }
    }

    /// Notes a command with the text of a statement.
    #[inline]
    pub fn note_text(&self, command: &str, text: &[u8]) {
        if self.server.logs.general() {
            write_text(self, command, text);
        }
    }

    /// Logs which account has logged in, and how.
    pub fn note_login(&self, command: &str, socket: bool) {
        if self.server.logs.general() {
            let who = self.entry.who();
            let transport = match self.entry.tls.get() {
                Some(_) => "SSL/TLS",
                None if socket => "Socket",
                None => "TCP/IP",
            };
            let (user, host) = (&who.user, self.state.host());
            let database = who.database.as_deref().unwrap_or("");
            write_command(self, command, Argument::Words(&format!("{user}@{host} on {database} using {transport}")));
        }
    }
}

#[cold]
fn write_text(session: &Session, command: &str, text: &[u8]) {
    let kept = if session.server.logs.raw() {
        KeptText::raw(text)
    } else {
        KeptText::of(text, lex_mode(session.settings.exec.sql_mode))
    };
    write_command(session, command, Argument::Text(&kept));
}

#[cold]
fn write_command(session: &Session, command: &str, argument: Argument<'_>) {
    if !session.state.vars[Live::SqlLogOff].as_bool() {
        let who = session.entry.who();
        session.server.logs.write_general(WallTime::now().micros(), &sender(session, &who), command, argument);
    }
}

fn sender<'a>(session: &'a Session, who: &'a Who) -> Sender<'a> {
    Sender {
        id: session.entry.id,
        user: &who.user,
        account: &session.state.account.user,
        // Addresses have no names here.
        host: if who.host.starts_with("localhost") { "localhost" } else { "" },
        address: &session.entry.address,
        database: session.state.database.as_deref().unwrap_or(""),
    }
}

/// Notes the first statement of `text`.
#[inline]
pub(crate) fn note_query(session: &Session, text: &[u8]) {
    if session.server.logs.general() {
        write_query(session, text);
    }
}

#[cold]
fn write_query(session: &Session, text: &[u8]) {
    let mode = lex_mode(session.settings.exec.sql_mode);
    let consumed = if session.multi_statements {
        gannet_parser::parse_one(text, mode).map_or(text.len(), |p| p.consumed.min(text.len()))
    } else {
        text.len()
    };
    write_text(session, "Query", trimmed(&text[..consumed]));
}

/// Notes an execution of a prepared statement, with its values in place of the markers.
#[inline]
pub(crate) fn note_execution(session: &Session, text: &[u8], values: &[Value]) {
    if session.server.logs.general() {
        write_text(session, "Execute", &with_values(text, lex_mode(session.settings.exec.sql_mode), values));
    }
}

/// Counts a statement that took long or used no index, and writes it to the slow query log, when that is on.
/// `values`: of its markers.
#[inline(always)]
pub(crate) fn check_slow(
    session: &mut Session,
    latency_ns: u64,
    locks_ns: u64,
    figures: &Figures,
    values: &[Value],
    outcome: &Result<super::reply::Done>,
) {
    let extra = if session.server.logs.extra() { extra(session, outcome.as_ref().err()) } else { None };
    let logs = &session.server.logs;
    let long = match &session.state.vars[Live::LongQueryTime] {
        VarValue::Double(seconds) => latency_ns as f64 > seconds * 1e9,
        _ => false,
    };
    let scanned = figures.no_index && logs.slow() && logs.not_using_indexes();
    if !(long || scanned) || session.never_slow {
        return;
    }
    let broken = outcome.as_ref().is_err_and(|e| e.code() == ErrorCode::Parse);
    if broken || figures.examined < session.state.vars[Live::MinExaminedRowLimit].as_u64() {
        return;
    }
    count(Counter::SlowQueries);
    if logs.slow() {
        let insert_id = outcome.as_ref().map_or(0, |done| done.insert_id);
        write_slow(session, latency_ns, locks_ns, figures, values, (insert_id, extra));
    }
}

#[cold]
fn write_slow(
    session: &Session,
    latency_ns: u64,
    locks_ns: u64,
    figures: &Figures,
    values: &[Value],
    (insert_id, extra): (u64, Option<Extra>),
) {
    let administration = session.server.logs.administration();
    let text = session.entry.kept(|text, mode| {
        let text = trimmed(text);
        (administration || !is_administration(text, mode)).then(|| with_values(text, mode, values).into_owned().into())
    });
    let Some(text) = text else { return };
    let who = session.entry.who();
    session.server.logs.write_slow(&Slow {
        sender: sender(session, &who),
        ended_us: WallTime::now().micros(),
        latency_ns,
        locks_ns,
        rows_sent: figures.sent,
        rows_examined: figures.examined,
        last_insert_id: session.state.last_insert_id,
        insert_id,
        extra,
        text: &text,
    });
}

/// A session's counters when it had run so many statements.
pub(crate) type ExtraSeen = Option<Box<(u64, [u64; EXTRA_COUNTS.len()])>>;

/// What the statement that ends has counted. `None`: it is not known, because the statement before it did not ask.
#[cold]
fn extra(session: &mut Session, error: Option<&SqlError>) -> Option<Extra> {
    let (id, counters) = (session.state.statement_id, &session.entry.counters);
    let now = EXTRA_COUNTS.map(|(_, c)| counters.get(c));
    let (seen_id, seen) = session.extra_seen.replace(Box::new((id, now))).map_or_else(Default::default, |seen| *seen);
    let number = error.map_or(0, SqlError::number);
    let stopped = [ErrorCode::QueryInterrupted, ErrorCode::QueryTimeout, ErrorCode::ServerShutdown];
    let killed = error.is_some_and(|e| stopped.contains(&e.code()));
    (seen_id + 1 == id).then(|| Extra {
        error: number,
        killed: if killed { number } else { 0 },
        counts: std::array::from_fn(|i| now[i].wrapping_sub(seen[i])),
    })
}

fn is_word(text: &[u8], t: &Token, words: &[&str]) -> bool {
    t.kind == Tok::Word && words.iter().any(|w| word(text, t).eq_ignore_ascii_case(w.as_bytes()))
}

/// Statements that `log_slow_admin_statements` is about.
fn is_administration(text: &[u8], mode: LexMode) -> bool {
    let first: Vec<Token> = tokens(text, mode).take(4).collect();
    let starts = |i: usize, words: &[&str]| first.get(i).is_some_and(|t| is_word(text, t, words));
    let of_index = |from: usize| starts(from, &["INDEX"]) || starts(from + 1, &["INDEX"]);
    starts(0, &["ANALYZE", "CHECK", "OPTIMIZE", "REPAIR"])
        || starts(0, &["ALTER"]) && starts(1, &["TABLE"])
        || starts(0, &["CREATE", "DROP"]) && of_index(1)
}

/// The text of a prepared statement with literals in place of its markers.
fn with_values<'t>(text: &'t [u8], mode: LexMode, values: &[Value]) -> Cow<'t, [u8]> {
    if values.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut done) = (Vec::with_capacity(text.len() + 16 * values.len()), 0);
    let markers = tokens(text, mode).filter(|t| t.kind == Tok::Param);
    for (t, v) in markers.zip(values) {
        out.extend_from_slice(&text[done..t.start as usize]);
        literal(v, &mut out);
        done = t.end as usize;
    }
    out.extend_from_slice(&text[done..]);
    Cow::Owned(out)
}

/// A value as a statement would write it.
fn literal(v: &Value, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) | Value::Year(_) => {
            v.write_text(out);
        }
        Value::Str(bytes, _) if std::str::from_utf8(bytes).is_err() => {
            out.extend_from_slice(b"x'");
            for b in bytes.iter() {
                out.extend_from_slice(format!("{b:02x}").as_bytes());
            }
            out.push(b'\'');
        }
        v => {
            let (mut text, mut quoted) = (Vec::new(), String::new());
            v.write_text(&mut text);
            gannet_schema::names::quote_text(&mut quoted, &String::from_utf8_lossy(&text));
            out.extend_from_slice(quoted.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_become_values() {
        let values =
            [Value::Int(-1), Value::Null, Value::Str(b"it's".as_slice().into(), gannet_types::CollationId::DEFAULT)];
        let text = with_values(b"SELECT ?, '?', /* ? */ ?, ?", LexMode::default(), &values);
        assert_eq!(&*text, b"SELECT -1, '?', /* ? */ NULL, 'it''s'");
        let binary = [Value::Str([0xff, 0x0a].as_slice().into(), gannet_types::CollationId::BINARY)];
        assert_eq!(&*with_values(b"DO ?", LexMode::default(), &binary), b"DO x'ff0a'");
    }

    #[test]
    fn what_is_administration() {
        let is = |text: &str| is_administration(text.as_bytes(), LexMode::default());
        for text in
            ["ALTER TABLE t ENGINE=InnoDB", "create unique index i on t (a)", "DROP INDEX i ON t", "CHECK TABLE t"]
        {
            assert!(is(text), "{text}");
        }
        for text in ["ALTER USER a ACCOUNT LOCK", "CREATE TABLE `index` (a INT)", "SELECT 1", "DROP TABLE t"] {
            assert!(!is(text), "{text}");
        }
    }
}
