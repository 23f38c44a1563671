//! What a session writes to the general and the slow query log.

use super::Session;
use super::query::{Figures, lex_mode};
use crate::statement_log::{Sender, Slow};
use crate::vars::{Live, VarValue};
use gannet_parser::LexMode;
use gannet_parser::lexer::{Lexer, Tok, Token};
use gannet_runtime::unix_micros;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, Value};
use std::borrow::Cow;

/// Stands for a password.
const SECRET: &[u8] = b"<secret>";

impl Session {
    /// Notes a command in the general query log, when that is on.
    #[inline]
    pub(crate) fn note_command(&self, command: &str, argument: &[u8]) {
        if self.server.logs.general() {
            self.write_command(command, argument);
        }
    }

    #[cold]
    fn write_command(&self, command: &str, argument: &[u8]) {
        if self.state.vars[Live::SqlLogOff].as_bool() {
            return;
        }
        let argument = self.without_secrets(argument);
        self.server.logs.write_general(unix_micros(), self.entry.id, command, &argument);
    }

    /// Notes who has logged in, and how.
    pub(super) fn note_login(&self, command: &str, socket: bool) {
        if self.server.logs.general() {
            let who = self.entry.who();
            let transport = match self.entry.tls.get() {
                Some(_) => "SSL/TLS",
                None if socket => "Socket",
                None => "TCP/IP",
            };
            let (user, host) = (&who.user, self.state.host());
            let database = who.database.as_deref().unwrap_or("");
            self.write_command(command, format!("{user}@{host} on {database} using {transport}").as_bytes());
        }
    }

    /// Notes the first statement of `text`.
    #[inline]
    pub(super) fn note_query(&self, text: &[u8]) {
        if self.server.logs.general() {
            self.write_query(text);
        }
    }

    #[cold]
    fn write_query(&self, text: &[u8]) {
        let mode = lex_mode(self.settings.sql_mode);
        let consumed = match self.multi_statements {
            true => gannet_parser::parse_one(text, mode).map_or(text.len(), |p| p.consumed.min(text.len())),
            false => text.len(),
        };
        self.write_command("Query", trimmed(&text[..consumed]));
    }

    /// Notes an execution of a prepared statement, with its values in place of the markers.
    #[inline]
    pub(super) fn note_execution(&self, text: &[u8], values: &[Value]) {
        if self.server.logs.general() {
            self.write_command("Execute", &with_values(text, lex_mode(self.settings.sql_mode), values));
        }
    }

    /// Counts a statement that took long or used no index, and writes it to the slow query log, when that is on. `values`: of
    /// its markers.
    pub(super) fn check_slow(
        &mut self,
        latency_ns: u64,
        locks_ns: u64,
        figures: &Figures,
        values: &[Value],
        outcome: &Result<super::command::Done>,
    ) {
        let logs = &self.server.logs;
        let long = match &self.state.vars[Live::LongQueryTime] {
            VarValue::Double(seconds) => latency_ns as f64 > seconds * 1e9,
            _ => false,
        };
        let scanned = figures.no_index && logs.slow() && logs.not_using_indexes();
        if !(long || scanned) {
            return;
        }
        let broken = outcome.as_ref().is_err_and(|e| e.code() == ErrorCode::Parse);
        if broken || figures.examined < self.state.vars[Live::MinExaminedRowLimit].as_u64() {
            return;
        }
        count(Counter::SlowQueries);
        if logs.slow() {
            self.write_slow(latency_ns, locks_ns, figures, values);
        }
    }

    #[cold]
    fn write_slow(&self, latency_ns: u64, locks_ns: u64, figures: &Figures, values: &[Value]) {
        let Some(text) = self.entry.info() else { return };
        let text = trimmed(&text);
        let mode = lex_mode(self.settings.sql_mode);
        if !self.server.logs.administration() && is_administration(text, mode) {
            return;
        }
        let text = with_values(text, mode, values);
        let who = self.entry.who();
        let host = who.host.rsplit_once(':').map_or(who.host.as_str(), |(host, _)| host);
        self.server.logs.write_slow(&Slow {
            sender: Sender {
                id: self.entry.id,
                user: &who.user,
                account: &self.state.account.user,
                host,
                database: self.state.database.as_deref().unwrap_or(""),
            },
            ended_us: unix_micros(),
            latency_ns,
            locks_ns,
            rows_sent: figures.sent,
            rows_examined: figures.examined,
            text: &self.without_secrets(&text),
        });
    }

    /// The text with `<secret>` in place of passwords, unless `log_raw` is on.
    fn without_secrets<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.server.logs.raw() {
            true => Cow::Borrowed(text),
            false => hide_secrets(text, lex_mode(self.settings.sql_mode)),
        }
    }
}

/// Without the blanks and semicolons around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let blank = |b: &u8| b.is_ascii_whitespace() || *b == b';' || *b == 0;
    let start = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !blank(b)).map_or(start, |e| e + 1);
    &text[start..end]
}

fn tokens(text: &[u8], mode: LexMode) -> impl Iterator<Item = Token> + '_ {
    let mut lexer = Lexer::new(text, mode);
    std::iter::from_fn(move || Some(lexer.next()).filter(|t| t.kind != Tok::End && t.end > t.start))
}

fn word<'t>(text: &'t [u8], t: &Token) -> &'t [u8] {
    &text[t.start as usize..t.end as usize]
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

/// Puts `<secret>` for the literals of statements about accounts and replication that may be passwords: behind BY, AS, REPLACE, an
/// equals sign and an opening parenthesis. Of PREPARE, which holds a statement in a text, the whole text goes.
fn hide_secrets(text: &[u8], mode: LexMode) -> Cow<'_, [u8]> {
    let holds = |what: &[u8]| text.windows(what.len()).any(|w| w.eq_ignore_ascii_case(what));
    if !holds(b"PASSWORD") && !holds(b"IDENTIFIED") {
        return Cow::Borrowed(text);
    }
    let mut all = tokens(text, mode).peekable();
    let first = all.peek().copied();
    let starts = |words: &[&str]| first.is_some_and(|t| is_word(text, &t, words));
    let nested = starts(&["PREPARE"]);
    if !nested && !starts(&["CREATE", "ALTER", "SET", "GRANT", "CHANGE", "START"]) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut done) = (Vec::with_capacity(text.len()), 0);
    let mut before: Option<Token> = None;
    for t in all {
        let secret = |b: &Token| {
            matches!(b.kind, Tok::Eq | Tok::Assign | Tok::LParen) || is_word(text, b, &["BY", "AS", "REPLACE"])
        };
        if matches!(t.kind, Tok::Str | Tok::NStr | Tok::Hex | Tok::Quoted)
            && (nested || before.is_some_and(|b| secret(&b)))
        {
            out.extend_from_slice(&text[done..t.start as usize]);
            out.extend_from_slice(SECRET);
            done = t.end as usize;
        }
        before = Some(t);
    }
    out.extend_from_slice(&text[done..]);
    Cow::Owned(out)
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
            gannet_catalog::names::quote_text(&mut quoted, &String::from_utf8_lossy(&text));
            out.extend_from_slice(quoted.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        String::from_utf8(hide_secrets(text.as_bytes(), LexMode::default()).into_owned()).unwrap()
    }

    #[test]
    fn passwords_are_not_written() {
        for (given, written) in [
            ("CREATE USER a@'%' IDENTIFIED BY 'x'", "CREATE USER a@'%' IDENTIFIED BY <secret>"),
            (
                "alter user a identified with 'mysql_native_password' as '*00' comment 'c'",
                "alter user a identified with 'mysql_native_password' as <secret> comment 'c'",
            ),
            (
                "ALTER USER USER() IDENTIFIED BY \"new\" REPLACE 'old'",
                "ALTER USER USER() IDENTIFIED BY <secret> REPLACE <secret>",
            ),
            ("SET PASSWORD FOR a@b = 'x'", "SET PASSWORD FOR a@b = <secret>"),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='x', SOURCE_PORT=3",
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD=<secret>, SOURCE_PORT=3",
            ),
            ("PREPARE s FROM 'ALTER USER a IDENTIFIED BY ''x'''", "PREPARE s FROM <secret>"),
            (
                "/* x */ CREATE USER a IDENTIFIED /* 'y' */ BY 'x'",
                "/* x */ CREATE USER a IDENTIFIED /* 'y' */ BY <secret>",
            ),
            ("SELECT id FROM users WHERE password = 'x'", "SELECT id FROM users WHERE password = 'x'"),
            ("CREATE USER a", "CREATE USER a"),
        ] {
            assert_eq!(hidden(given), written);
        }
    }

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
