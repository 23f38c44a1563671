//! `gannet sql`: a small client, for a machine without one.

mod options;
mod print;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_dump::split::{Command, Piece, Splitter};
use gannet_runtime::fs::{Readers, open_plain, read_plain, write_plain};
use gannet_wire::client::{Connection, Error, ResultSet};
use options::{Settings, help};
use print::Style;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use signal_hook::{consts::SIGINT, iterator::Signals};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines that are remembered.
const HISTORY: usize = 2000;
/// Files within files.
const MAX_SOURCES: usize = 16;

const COMMANDS: &str = "\
Statements end with ; or with \\G, which shows a line for each value.
  \\c           forget what was typed
  source FILE  run the statements of a file (\\. FILE)
  delimiter X  statements end with X
  status       the connection (\\s)
  help TOPIC;  what the server knows of a function
  quit         (\\q, Ctrl-D)
";

/// Runs `gannet sql` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    let Some(settings) = Settings::parse(args)? else {
        print!("{}", help());
        return Ok(());
    };
    let connection = Connection::connect(&settings.address, &settings.login).map_err(|e| e.to_string())?;
    let interactive = settings.execute.is_none() && io::stdin().is_terminal();
    let style = match (settings.style, interactive) {
        (Some(style), _) => style,
        (None, true) => Style::Table,
        (None, false) => Style::Tabs,
    };
    let mut client =
        Client { settings, connection, style, interactive, running: Arc::new(AtomicBool::new(false)), sources: 0 };
    if let Some(text) = client.settings.execute.clone() {
        return client.feed(&mut text.as_bytes()).map(drop);
    }
    if interactive { client.converse() } else { client.feed(&mut BufReader::new(io::stdin().lock())).map(drop) }
}

struct Client {
    settings: Settings,
    connection: Connection,
    style: Style,
    interactive: bool,
    /// A statement runs: Ctrl-C is for it.
    running: Arc<AtomicBool>,
    sources: usize,
}

/// Goes on, or ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Continue,
    Quit,
}

impl Client {
    /// Runs what a file or pipe has. Ends at the first error, unless told to go on.
    fn feed(&mut self, input: &mut dyn BufRead) -> Result<Then, String> {
        let mut splitter = Splitter::default();
        let mut line = Vec::new();
        let mut begins = true;
        loop {
            line.clear();
            let n = input.read_until(b'\n', &mut line).map_err(|e| format!("cannot read the input: {e}"))?;
            let pieces = match n {
                0 => splitter.finish().into_iter().collect(),
                _ => {
                    let end = line.strip_suffix(b"\n").unwrap_or(&line);
                    // Editors begin files with a mark that they are UTF-8.
                    let end = if begins { end.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(end) } else { end };
                    begins = false;
                    splitter.line(end.strip_suffix(b"\r").unwrap_or(end))
                }
            };
            for piece in pieces {
                match self.piece(piece) {
                    Ok(Then::Quit) => return Ok(Then::Quit),
                    Ok(Then::Continue) => {}
                    Err(e) if self.settings.force => eprintln!("{e}"),
                    Err(e) => return Err(e),
                }
            }
            if n == 0 {
                return Ok(Then::Continue);
            }
        }
    }

    /// Reads from a person.
    fn converse(&mut self) -> Result<(), String> {
        self.listen_for_interrupts()?;
        println!("Server {}. Type 'help' for help, 'quit' to end.", self.connection.greeting.version);
        let config = rustyline::Config::builder().max_history_size(HISTORY).map_err(|e| e.to_string())?.build();
        let history = MemHistory::with_config(&config);
        let mut editor: rustyline::Editor<(), MemHistory> =
            rustyline::Editor::with_history(config, history).map_err(|e| format!("cannot use the terminal: {e}"))?;
        let remembered = history_file();
        for line in remembered.iter().filter_map(|path| read_plain(path).ok()).flat_map(|text| entries(&text)) {
            let _ = editor.add_history_entry(line);
        }
        let mut splitter = Splitter::default();
        loop {
            let prompt = match splitter.continues() {
                None => "gannet> ".to_owned(),
                Some(c) => format!("     {c}> "),
            };
            let line = match editor.readline(&prompt) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    splitter.clear();
                    continue;
                }
                Err(ReadlineError::Eof) => break,
                Err(e) => return Err(format!("cannot read: {e}")),
            };
            if !line.trim().is_empty() && !is_secret(&line) {
                let _ = editor.add_history_entry(&line);
            }
            let mut quit = false;
            for piece in splitter.line(line.as_bytes()) {
                match self.piece(piece) {
                    Ok(then) => quit |= then == Then::Quit,
                    Err(e) => eprintln!("{e}"),
                }
            }
            if quit {
                break;
            }
        }
        if let Some(path) = remembered {
            remember(&path, editor.history());
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece) -> Result<Then, String> {
        match piece {
            Piece::Statement { text, vertical, line } => self.statement(&text, vertical, line).map(|()| Then::Continue),
            Piece::Command(Command::Quit, _) => Ok(Then::Quit),
            Piece::Command(Command::Help, _) => {
                print!("{COMMANDS}");
                Ok(Then::Continue)
            }
            Piece::Command(Command::Status, _) => {
                let sql = "SELECT CONNECTION_ID() id, CURRENT_USER() account, DATABASE() `database`, VERSION() version, \
                           @@character_set_client `character set`";
                self.statement(sql.as_bytes(), true, 0).map(|()| Then::Continue)
            }
            Piece::Command(Command::Source, path) => {
                if self.sources >= MAX_SOURCES {
                    return Err(format!("{path}: too many files within files"));
                }
                let file = open_plain(&path).map_err(|e| format!("cannot open {path}: {e}"))?;
                self.sources += 1;
                let outcome = self.feed(&mut BufReader::new(file));
                self.sources -= 1;
                outcome
            }
        }
    }

    fn statement(&mut self, text: &[u8], vertical: bool, line: u64) -> Result<(), String> {
        let begin = Instant::now();
        self.running.store(true, Relaxed);
        let outcome = self.connection.query_bytes(text);
        self.running.store(false, Relaxed);
        let elapsed = begin.elapsed();
        match outcome {
            Ok(results) => {
                let mut out = io::stdout().lock();
                let shown = results.iter().try_for_each(|r| self.show(&mut out, r, vertical, elapsed));
                shown.and_then(|()| out.flush()).map_err(|e| format!("cannot write: {e}"))
            }
            Err(Error::Server { code, sqlstate, message }) => {
                let place = if self.interactive { String::new() } else { format!(" at line {line}") };
                Err(format!("ERROR {code} ({}){place}: {message}", String::from_utf8_lossy(&sqlstate)))
            }
            Err(e) if self.interactive => {
                // The connection is of no more use; what the session had is gone, and said to be.
                self.connection = Connection::connect(&self.settings.address, &self.settings.login)
                    .map_err(|again| format!("{e}; connecting again: {again}"))?;
                Err(format!("{e}; connected again, as a new session"))
            }
            Err(e) => Err(e.to_string()),
        }
    }

    fn show(&self, out: &mut dyn Write, result: &ResultSet, vertical: bool, elapsed: Duration) -> io::Result<()> {
        let style = if vertical { Style::Vertical } else { self.style };
        if !result.columns.is_empty() {
            print::rows(out, result, style, self.settings.names)?;
        }
        if !self.interactive {
            return Ok(());
        }
        let some = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let done = match (result.columns.is_empty(), result.rows.len() as u64) {
            (true, _) => format!("Query OK, {} affected", some(result.ok.affected, "row")),
            (false, 0) => "Empty set".to_owned(),
            (false, n) => format!("{} in set", some(n, "row")),
        };
        let warnings = match u64::from(result.ok.warnings) {
            0 => String::new(),
            n => format!(", {}", some(n, "warning")),
        };
        writeln!(out, "{done}{warnings} ({:.2} sec)", elapsed.as_secs_f64())?;
        if !result.ok.info.is_empty() {
            writeln!(out, "{}", result.ok.info)?;
        }
        writeln!(out)
    }

    /// Ctrl-C ends the statement that runs, and not the client.
    fn listen_for_interrupts(&self) -> Result<(), String> {
        let mut signals = Signals::new([SIGINT]).map_err(|e| format!("cannot handle signals: {e}"))?;
        let (running, id) = (self.running.clone(), self.connection.greeting.connection_id);
        let (address, login) = (self.settings.address.clone(), self.settings.login.clone());
        let thread = gannet_runtime::start_thread("interrupts", None, move || {
            for _ in signals.forever() {
                if running.load(Relaxed)
                    && let Ok(mut other) = Connection::connect(&address, &login)
                {
                    let _ = other.query(&format!("KILL QUERY {id}"));
                }
            }
        });
        thread.map(drop).map_err(|e| format!("cannot start a thread: {e}"))
    }
}

/// Where lines are remembered; nowhere without a home.
fn history_file() -> Option<PathBuf> {
    std::env::var_os("GANNET_HISTFILE")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".gannet_history")))
        .filter(|path| !path.as_os_str().is_empty())
}

fn entries(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// A line that may hold a password is not remembered.
fn is_secret(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["identified", "password"].iter().any(|word| line.contains(word))
}

/// Writes the lines down, for their owner's eyes. A history that cannot be kept is no reason to fail.
fn remember(path: &Path, history: &MemHistory) {
    let text = history.into_iter().fold(String::new(), |text, line| text + line + "\n");
    let _ = write_plain(path, Readers::Owner, text.as_bytes());
}
