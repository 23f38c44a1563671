//! Recorded statements of real clients, replayed against two servers side by side: what one refuses or answers
//! differently, most frequent first, but for what has a reason (`explained`), which is only counted. The files are an
//! argument: one statement after the other, each ended by `;`, as a general log gives them. Beside MySQL, whose answers
//! are the right ones, types of columns and warnings are compared too.

mod explained;

use explained::History;
use gannet_wire::client::{Address, Cell, ColumnInfo, Connection, Error, Options, ResultSet};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const USAGE: &str = "\
cargo xtask statements --server ADDRESS --reference ADDRESS [--show N] [--skip TEXT]... FILE...

  ADDRESS   host:port or the path of a socket; root without password. All their databases are dropped.
  --show    kinds of difference to print (default 40)
  --skip    leave statements out that contain the text";

/// A statement that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What both sides start a file with.
const MODES: &[u8] =
    b"SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', \
    timestamp = 1700000000, time_zone = '+00:00', character_set_server = 'utf8mb4', foreign_key_checks = 1";

struct Arguments {
    server: Address,
    reference: Address,
    show: usize,
    skip: Vec<String>,
    files: Vec<String>,
}

fn address(text: &str) -> Result<Address, String> {
    if text.starts_with('/') {
        return Ok(Address::Unix(text.into()));
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("{text}: host:port or a path is due"))?;
    Ok(Address::Tcp(host.into(), port.parse().map_err(|_| format!("{port}: no port"))?))
}

fn arguments(args: &[String]) -> Result<Arguments, String> {
    let (mut server, mut reference, mut show, mut skip, mut files) = (None, None, 40, Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg}: a value is due"));
        match arg.as_str() {
            "--server" => server = Some(address(value()?)?),
            "--reference" => reference = Some(address(value()?)?),
            "--show" => show = value()?.parse().map_err(|_| "--show: a number is due".to_owned())?,
            "--skip" => skip.push(value()?.to_lowercase()),
            other if other.starts_with("--") => return Err(USAGE.into()),
            file => files.push(file.to_owned()),
        }
    }
    match (server, reference) {
        (Some(server), Some(reference)) if !files.is_empty() => Ok(Arguments { server, reference, show, skip, files }),
        _ => Err(USAGE.into()),
    }
}

/// Runs the verb.
pub fn run(args: &[String]) -> Result<String, String> {
    let args = arguments(args)?;
    let mut report = Report::default();
    for file in &args.files {
        let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        let name = Path::new(file).file_stem().map_or_else(|| file.clone(), |n| n.to_string_lossy().into_owned());
        replay(&name, &split(&bytes), &args, &mut report)?;
    }
    Ok(report.text(args.show))
}

/// The statements of a text: up to a `;` outside of quotes and comments.
fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let mut statements = Vec::new();
    let (mut start, mut i) = (0, 0);
    while i < text.len() {
        match text[i] {
            quote @ (b'\'' | b'"' | b'`') => {
                i += 1;
                while i < text.len() && text[i] != quote {
                    i += 1 + usize::from(text[i] == b'\\' && quote != b'`');
                }
            }
            b'/' if text.get(i + 1) == Some(&b'*') => {
                let end = text[i + 2..].windows(2).position(|w| w == b"*/");
                i = end.map_or(text.len(), |n| i + n + 3);
            }
            b'#' => i = line_end(text, i),
            b'-' if text[i..].starts_with(b"-- ") => i = line_end(text, i),
            b';' => {
                statements.push(text[start..i].to_vec());
                start = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    statements.push(text[start.min(text.len())..].to_vec());
    let blank = |s: &Vec<u8>| {
        let lines = s.split(|b| *b == b'\n');
        lines.into_iter().all(|l| l.starts_with(b"-- ") || l.iter().all(u8::is_ascii_whitespace))
    };
    statements.retain(|s| !blank(s));
    statements
}

fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|b| *b == b'\n').map_or(text.len(), |n| from + n)
}

/// What a server answered, as far as it is compared.
#[derive(PartialEq)]
enum Answer {
    Ok(u64),
    /// Names of the columns, and the rows in order of their text: what is not ordered may come in any.
    Rows(Vec<String>, Vec<String>),
    Refused(u16, String),
    Lost(String),
}

struct Side {
    address: Address,
    connection: Option<Connection>,
    /// The columns of the last answer.
    columns: Vec<ColumnInfo>,
}

impl Side {
    fn connect(&mut self) -> Result<&mut Connection, String> {
        let options = Options { timeout: Some(TIMEOUT), ..Options::default() };
        let connection = match self.connection.take() {
            Some(c) => c,
            None => Connection::connect(&self.address, &options).map_err(|e| format!("{:?}: {e}", self.address))?,
        };
        Ok(self.connection.insert(connection))
    }

    /// A new connection with the modes that both servers know, one clock and one character set, and no database but
    /// `test`.
    fn prepare(&mut self) -> Result<(), String> {
        self.connection = None;
        self.ask(MODES)?;
        self.ask(b"SET foreign_key_checks = 0")?;
        if let Answer::Rows(_, names) = self.ask(b"SHOW DATABASES")? {
            let own = ["mysql", "sys", "information_schema", "performance_schema"];
            for name in names.iter().filter(|n| !own.contains(&n.as_str())) {
                self.ask(format!("DROP DATABASE `{name}`").as_bytes())?;
            }
        }
        self.ask(b"SET foreign_key_checks = 1")?;
        self.ask(b"CREATE DATABASE test CHARACTER SET utf8mb4")?;
        self.ask(b"USE test")?;
        Ok(())
    }

    fn ask(&mut self, sql: &[u8]) -> Result<Answer, String> {
        Ok(match self.connect()?.query_bytes(sql) {
            Ok(results) => {
                let result = results.into_iter().next().unwrap_or_default();
                let answer = answer(&result);
                self.columns = result.columns;
                answer
            }
            Err(Error::Server { code, message, .. }) => Answer::Refused(code, message),
            Err(e) => {
                self.connection = None;
                Answer::Lost(e.to_string())
            }
        })
    }
}

fn answer(result: &ResultSet) -> Answer {
    if result.columns.is_empty() {
        return Answer::Ok(result.ok.affected);
    }
    let cell = |c: &Cell| match c {
        Cell::Null => "NULL".to_owned(),
        Cell::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        other => format!("{other:?}"),
    };
    let mut rows: Vec<String> = result.rows.iter().map(|r| r.iter().map(cell).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    Answer::Rows(result.columns.iter().map(|c| c.name.clone()).collect(), rows)
}

/// Differences of one kind.
#[derive(Default)]
struct Kind {
    count: usize,
    files: BTreeMap<String, usize>,
    example: String,
}

#[derive(Default)]
struct Report {
    statements: usize,
    same: usize,
    kinds: BTreeMap<String, Kind>,
    /// Differences with a reason, by reason.
    explained: BTreeMap<explained::Reason, usize>,
}

fn replay(file: &str, statements: &[Vec<u8>], args: &Arguments, report: &mut Report) -> Result<(), String> {
    let mut sides =
        [&args.server, &args.reference].map(|a| Side { address: a.clone(), connection: None, columns: Vec::new() });
    for side in &mut sides {
        side.prepare()?;
    }
    let mysql = !sides[1].connect()?.greeting.version.contains("MariaDB");
    let mut history = History::beside(mysql);
    for sql in statements {
        let text = String::from_utf8_lossy(sql);
        let lower = text.to_lowercase();
        if args.skip.iter().any(|s| lower.contains(s.as_str())) {
            continue;
        }
        let [server, reference] = &mut sides;
        let (mine, theirs) = (server.ask(sql)?, reference.ask(sql)?);
        if let Answer::Refused(1231, _) = mine
            && lower.contains("no_auto_create_user")
        {
            // What follows is to run in the same modes, but for the word that only one side knows.
            for side in sides.iter_mut().take(if mysql { 2 } else { 1 }) {
                side.ask(lower.replace("no_auto_create_user", "").as_bytes())?;
            }
        }
        let ours = mine;
        report.statements += 1;
        let found = difference(&ours, &theirs, &lower, mysql);
        let found = if found.is_none() && mysql { finer(&mut sides, &ours, &lower)? } else { found };
        match found {
            None => {
                if matches!(ours, Answer::Ok(_)) {
                    history.settle(&plain(&lower));
                }
                report.same += 1;
            }
            Some(kind) => {
                let sql = plain(&lower);
                if let Some(reason) = explained::reason(&ours, &theirs, &sql, &history) {
                    history.note(&sql);
                    history.because(reason);
                    *report.explained.entry(reason).or_default() += 1;
                    continue;
                }
                history.note(&sql);
                let entry = report.kinds.entry(kind).or_default();
                entry.count += 1;
                *entry.files.entry(file.to_owned()).or_default() += 1;
                if entry.example.is_empty() {
                    entry.example =
                        format!("{}{}", text.trim().chars().take(300).collect::<String>(), detail(&ours, &theirs));
                }
            }
        }
    }
    Ok(())
}

/// A statement without comments, with single spaces.
fn plain(sql: &str) -> String {
    let mut text = String::new();
    for (i, part) in sql.split("/*").enumerate() {
        // A comment for versions holds part of the statement.
        let kept = match part.split_once("*/") {
            Some((inside, rest)) if i > 0 && !inside.starts_with('!') && !inside.starts_with("m!") => rest.to_owned(),
            Some((inside, rest)) if i > 0 => {
                format!(
                    " {} {rest}",
                    inside.trim_start_matches(['m', '!']).trim_start_matches(|c: char| c.is_ascii_digit())
                )
            }
            _ => part.to_owned(),
        };
        text.push_str(&kept);
    }
    let lines = text.lines().filter(|l| !l.starts_with("-- "));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The kind of difference; `None` when the answers are as good as the same.
fn difference(ours: &Answer, theirs: &Answer, sql: &str, mysql: bool) -> Option<String> {
    // What a server says of itself differs between any two.
    let own = ["@@", "version", "show ", "information_schema", "performance_schema", "mysql.", "now()", "sys."];
    let about_itself = own.iter().any(|w| sql.contains(w));
    match (ours, theirs) {
        (Answer::Lost(e), _) => Some(format!("1 connection lost: {e}")),
        (Answer::Refused(code, message), Answer::Ok(_) | Answer::Rows(..)) => {
            Some(format!("2 refused: {code} {}", masked(message)))
        }
        (Answer::Ok(_) | Answer::Rows(..), Answer::Refused(code, message)) => {
            let start = sql.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            Some(format!("4 accepted {start}, reference: {code} {}", masked(message)))
        }
        (Answer::Refused(a, x), Answer::Refused(b, y)) if a != b => {
            Some(format!("5 error {a} {} instead of {b} {}", masked(x), masked(y)))
        }
        (Answer::Refused(_, x), Answer::Refused(_, y)) if mysql && x != y => {
            Some(format!("5 text {} instead of {}", masked(x), masked(y)))
        }
        (Answer::Rows(names, _), Answer::Rows(their_names, _))
            if ours != theirs && (!about_itself || mysql && names != their_names) =>
        {
            Some(format!("3 {}", what(ours, theirs, sql)))
        }
        (Answer::Ok(a), Answer::Ok(b)) if a != b => {
            Some(format!("3 affected rows of {}", sql.split_whitespace().next().unwrap_or_default()))
        }
        (Answer::Ok(_), Answer::Rows(..)) | (Answer::Rows(..), Answer::Ok(_)) => {
            Some("3 a result set or none".to_owned())
        }
        _ => None,
    }
}

/// How two equal answers differ in the types of their columns and in their warnings.
fn finer(sides: &mut [Side; 2], answer: &Answer, sql: &str) -> Result<Option<String>, String> {
    let [server, reference] = sides;
    let start = sql.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    if matches!(answer, Answer::Rows(..)) {
        for (a, b) in server.columns.iter().zip(&reference.columns) {
            let told = |c: &ColumnInfo| format!("type {} collation {} decimals {}", c.ty, c.collation, c.decimals);
            if told(a) != told(b) {
                return Ok(Some(format!("6 {} of {}: {} instead of {}", start, a.name, told(a), told(b))));
            }
        }
    }
    if sql.contains("diagnostics") || sql.starts_with("show warnings") || sql.starts_with("show errors") {
        return Ok(None);
    }
    // That another engine is used; that SHOW PROCESSLIST reads a deprecated table, which is an option.
    let told = |answer: Answer| match answer {
        Answer::Rows(names, mut rows) => {
            rows.retain(|r| !r.contains("|1266|") && !r.contains("INFORMATION_SCHEMA.PROCESSLIST"));
            Answer::Rows(names, rows)
        }
        other => other,
    };
    let (ours, theirs) = (told(server.ask(b"SHOW WARNINGS")?), told(reference.ask(b"SHOW WARNINGS")?));
    Ok((ours != theirs).then(|| format!("7 warnings of {}", masked(&detail(&ours, &theirs)))))
}

fn what(ours: &Answer, theirs: &Answer, sql: &str) -> String {
    let part = match (ours, theirs) {
        (Answer::Rows(a, _), Answer::Rows(b, _)) if a != b => "columns",
        _ => "rows",
    };
    format!("{part}: {}", sql.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
}

fn detail(ours: &Answer, theirs: &Answer) -> String {
    let show = |a: &Answer| match a {
        Answer::Ok(n) => format!("OK, {n}"),
        Answer::Rows(names, rows) => {
            let mut text = format!("{names:?} {} rows: {:?}", rows.len(), rows.first());
            text.truncate(text.char_indices().nth(300).map_or(text.len(), |(i, _)| i));
            text
        }
        Answer::Refused(code, message) => format!("{code} {message}"),
        Answer::Lost(e) => e.clone(),
    };
    format!("\n      server:    {}\n      reference: {}", show(ours), show(theirs))
}

/// A message without what is between quotes, and without numbers.
fn masked(message: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in message.chars() {
        match c {
            '\'' | '`' => {
                quoted = !quoted;
                out.push(c);
            }
            _ if quoted => {}
            c if c.is_ascii_digit() || c == '\n' => {}
            c => out.push(c),
        }
    }
    // The name of what is not supported says more than that something is not.
    if let Some((_, name)) = message.split_once("yet support ")
        && !message.contains("Level")
    {
        return format!("not supported: {name}");
    }
    out.chars().take(300).collect()
}

impl Report {
    fn text(&self, show: usize) -> String {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(name, k)| (name[..1].to_owned(), std::cmp::Reverse(k.count)));
        let mut out = String::new();
        let known: usize = self.explained.values().sum();
        let open = self.statements - self.same - known;
        let _ = writeln!(out, "{} statements, {} the same, {known} explained, {open} open", self.statements, self.same);
        for (reason, count) in &self.explained {
            let _ = writeln!(out, "{count:5}  {reason}");
        }
        for (name, kind) in kinds.iter().take(show) {
            let files: Vec<String> = kind.files.iter().map(|(f, n)| format!("{f} {n}")).collect();
            let _ = writeln!(out, "{:5}  {}  ({})\n      {}", kind.count, &name[2..], files.join(", "), kind.example);
        }
        if kinds.len() > show {
            let _ = writeln!(out, "and {} kinds more", kinds.len() - show);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn statements_end_outside_of_quotes_and_comments() {
        let text = b"-- a; comment\nSELECT ';', \"a\\\";\", `;` /* ; */;\n\n  SELECT 2 # ;\n;\n-- the end\n";
        let found = super::split(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].windows(8).any(|w| w == b"SELECT 2"));
    }

    #[test]
    fn messages_are_masked() {
        assert_eq!(super::masked("Unknown column 'a' in 'b'"), "Unknown column '' in ''");
        assert_eq!(super::masked("This version of MySQL doesn't yet support 'XA'"), "not supported: 'XA'");
    }
}
