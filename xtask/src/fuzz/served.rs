//! A server that statements are sent to until it breaks: a lost connection, no answer, or an internal error is a
//! finding.

use crate::diff::Random;
use gannet_wire::client::{Address, Arg, Connection, Error, Options, ResultSet};
use gannet_wire::flags::com;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A statement that takes longer has no answer.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Error of the server's own faults: a plan that does not fit, a case that nobody thought of.
const INTERNAL: u16 = 1815;

/// What a target does with a server: one round from its seed.
pub(super) type Round = fn(&mut Served, &mut Random) -> Result<(), Found>;

/// What is wrong.
pub(super) struct Found {
    /// In words, with the statement.
    text: String,
    /// The same for findings of one cause.
    cause: String,
}

impl Found {
    pub(super) fn new(cause: &str, text: String) -> Found {
        Found { cause: cause.into(), text }
    }
}

/// A server of its own directory, and a connection to it.
pub(super) struct Served {
    child: Child,
    dir: PathBuf,
    connection: Option<Connection>,
    /// What was sent since the round began.
    history: Vec<String>,
    pub(super) statements: u64,
    /// Of the repository.
    pub(super) root: PathBuf,
}

impl Served {
    fn start(root: &Path, bin: &Path) -> Result<Served, String> {
        let dir = std::env::temp_dir().join(format!("gannet-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let log = fs::File::create(dir.join("server.log")).map_err(|e| e.to_string())?;
        let child = Command::new(bin)
            .arg("serve")
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", dir.join("s.sock").display()))
            .args(["--skip-networking", "--innodb-buffer-pool-size=134217728", "--innodb-redo-log-capacity=67108864"])
            .env("RUST_BACKTRACE", "1")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", bin.display()))?;
        let (connection, history) = (None, Vec::new());
        let mut served = Served { child, dir, connection, history, statements: 0, root: root.into() };
        let until = Instant::now() + Duration::from_secs(30);
        while served.connect().is_err() {
            if Instant::now() > until || !matches!(served.child.try_wait(), Ok(None)) {
                return Err(format!("the server did not start:\n{}", served.log()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(served)
    }

    fn log(&self) -> String {
        fs::read(self.dir.join("server.log")).map_or_else(|e| e.to_string(), |b| String::from_utf8_lossy(&b).into())
    }

    fn connect(&mut self) -> Result<(), String> {
        let options = Options { timeout: Some(TIMEOUT), ..Options::default() };
        let address = Address::Unix(self.dir.join("s.sock"));
        self.connection = Some(Connection::connect(&address, &options).map_err(|e| e.to_string())?);
        Ok(())
    }

    /// An empty database, and a session without settings.
    fn begin(&mut self) -> Result<(), Found> {
        self.history.clear();
        self.connect().map_err(|e| Found::new("connect", format!("no connection: {e}")))?;
        for sql in [
            "SET SESSION max_execution_time = 3000, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
            "SET SESSION cte_max_recursion_depth = 50, max_join_size = 3000000, sql_big_selects = 0",
            "SET SESSION foreign_key_checks = 0",
            "DROP DATABASE IF EXISTS fuzz",
            "CREATE DATABASE fuzz",
            "USE fuzz",
            "SET SESSION foreign_key_checks = 1",
        ] {
            let _ = self.query(sql)?;
        }
        Ok(())
    }

    /// What a statement answers: rows, or the number of an error of its own.
    pub(super) fn query(&mut self, sql: &str) -> Result<Result<ResultSet, u16>, Found> {
        self.history.push(sql.to_owned());
        let answer = match &mut self.connection {
            Some(connection) => connection.query(sql),
            None => return Err(Found::new("connect", "no connection".into())),
        };
        self.judge(answer, sql)
    }

    /// A prepared statement, executed once for each list of arguments; the one whose number is given comes in pieces.
    pub(super) fn execute(&mut self, sql: &str, lists: &[(Vec<Value>, Option<u16>)]) -> Result<(), Found> {
        self.history.push(format!("-- prepared: {sql}"));
        let Some(connection) = &mut self.connection else { return Err(Found::new("connect", "no connection".into())) };
        let prepared = connection.prepare(sql);
        let Ok(statement) = self.judge(prepared, sql)? else { return Ok(()) };
        for (list, long) in lists {
            self.history.push(format!("--   with {list:?}, in pieces: {long:?}"));
            let mut args: Vec<Arg<'_>> = list.iter().take(statement.params.into()).map(Value::arg).collect();
            args.resize(statement.params.into(), Arg::Null);
            // What comes in pieces is not in the execution's packet.
            if let Some(arg) = long.and_then(|at| args.get_mut(usize::from(at))) {
                *arg = Arg::Null;
            }
            let Some(connection) = &mut self.connection else { break };
            if let Some(at) = long {
                for piece in [&b"12"[..], b"345", b""] {
                    let body = [&statement.id.to_le_bytes()[..], &at.to_le_bytes(), piece].concat();
                    let _ = connection.command(com::STMT_SEND_LONG_DATA, &body);
                }
            }
            let answer = connection.execute(&statement, &args);
            let _ = self.judge(answer, &format!("{sql}\n  with {list:?}, in pieces: {long:?}"))?;
        }
        if let Some(connection) = &mut self.connection {
            let _ = connection.close(&statement);
        }
        Ok(())
    }

    fn judge<T>(&mut self, answer: Result<T, Error>, sql: &str) -> Result<Result<T, u16>, Found> {
        self.statements += 1;
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(Error::Server { code: INTERNAL, message, .. }) => {
                let cause: String = message.chars().filter(|c| !c.is_ascii_digit()).collect();
                Err(Found::new(&cause, format!("error {INTERNAL}: {message}\n  {sql}")))
            }
            Err(Error::Server { code, .. }) => Ok(Err(code)),
            Err(e) => {
                self.connection = None;
                // Where it broke is in the log.
                let log = self.log();
                let panic = log.lines().rev().find(|l| l.contains("panicked at")).unwrap_or_default();
                let place = panic.rsplit_once("panicked at ").map_or("no panic in the log", |(_, place)| place);
                Err(Found::new(place, format!("{e} ({place})\n  {sql}")))
            }
        }
    }

    /// Keeps what led to a finding.
    fn keep(&self, target: &str, seed: u64) -> PathBuf {
        let dir = self.root.join("target/fuzz");
        let file = dir.join(format!("{target}-{seed}.sql"));
        let text = self.history.iter().map(|s| format!("{s};\n")).collect::<String>();
        let _ = fs::create_dir_all(&dir).and_then(|()| fs::write(&file, text));
        file
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// An argument that owns what it is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Tiny(i8),
    Float(f32),
    Double(f64),
    Decimal(String),
    Text(String),
    Bytes(Vec<u8>),
    DateTime(gannet_wire::command::DateTime),
    Time(gannet_wire::command::Time),
}

impl Value {
    fn arg(&self) -> Arg<'_> {
        match self {
            Value::Null => Arg::Null,
            Value::Int(n) => Arg::Int(*n),
            Value::UInt(n) => Arg::UInt(*n),
            Value::Tiny(n) => Arg::Tiny(*n),
            Value::Float(x) => Arg::Float(*x),
            Value::Double(x) => Arg::Double(*x),
            Value::Decimal(text) => Arg::Decimal(text),
            Value::Text(text) => Arg::Text(text),
            Value::Bytes(bytes) => Arg::Bytes(bytes),
            Value::DateTime(d) => Arg::DateTime(*d),
            Value::Time(t) => Arg::Time(*t),
        }
    }
}

/// Rounds until the time is over, or as many different findings as are enough. Each round has a seed, which replays it.
pub(super) fn run(root: &Path, name: &str, round: Round, options: &super::Options) -> Result<String, String> {
    let bin = match &options.server {
        Some(bin) => bin.clone(),
        None => build(root)?,
    };
    let mut served = Served::start(root, &bin)?;
    let begin = Instant::now();
    let (mut seed, mut causes, mut found) = (options.seed, Vec::new(), Vec::new());
    while begin.elapsed() < options.span && seed - options.seed < options.rounds {
        let outcome = served.begin().and_then(|()| round(&mut served, &mut Random::new(seed)));
        if let Err(Found { text, cause }) = outcome
            && !causes.contains(&cause)
        {
            let kept = served.keep(name, seed);
            let line = format!(
                "fuzz {name}: seed {seed}: {text}\n  all of the round: {}; replay: cargo xtask fuzz --target {name} --seed {seed} --rounds 1",
                kept.display()
            );
            println!("{line}\n");
            causes.push(cause);
            found.push(line);
            if found.len() >= options.findings {
                break;
            }
        }
        if !matches!(served.child.try_wait(), Ok(None)) {
            found.push(format!("fuzz {name}: seed {seed}: the server ended:\n{}", served.log()));
            break;
        }
        seed += 1;
    }
    let line = format!(
        "fuzz {name}: {} statements in {:.0} s, {} rounds from seed {}: {} findings",
        served.statements,
        begin.elapsed().as_secs_f64(),
        seed - options.seed,
        options.seed,
        found.len()
    );
    if found.is_empty() { Ok(line) } else { Err(line) }
}

/// The binary with the checks of a development build.
fn build(root: &Path) -> Result<PathBuf, String> {
    let built = Command::new("cargo").args(["build", "--package", "gannet"]).current_dir(root).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the build failed".to_owned());
    }
    Ok(root.join("target/debug/gannet"))
}

/// Statements that end the server, lock it, fill the disk or change how the round reaches it.
pub(super) fn is_harmless(sql: &str) -> bool {
    const WORDS: &[&str] = &[
        "shutdown",
        "restart",
        "kill",
        "password",
        "identified",
        "sleep",
        "benchmark",
        "_lock",
        "outfile",
        "dumpfile",
        "load_file",
        "persist",
        "global",
        "revoke",
        "lock instance",
        "clone",
        "xa ",
        "user ",
        "role",
        "flush",
        "read_only",
        "mysql.",
        "max_execution_time",
        "database ",
        "install",
        "read lock",
    ];
    let lower = sql.to_lowercase();
    !WORDS.iter().any(|w| lower.contains(w))
}
