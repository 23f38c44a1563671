//! Runs `tests/sql/*.test` against a server in this process, under several settings.
//!
//! | variable | meaning |
//! |---|---|
//! | `GANNET_SQL_FILES` | only files whose names contain this |
//! | `GANNET_REFERENCE` | run against `host:port` or `/path/to/socket` instead (root, no password) |
//! | `GANNET_SQL_UPDATE` | write what came back into the files as the expected results |
//!
//! A file is a list of records separated by blank lines; `#` begins a comment line.
//!
//! ```text
//! statement ok                 the statement succeeds
//! statement count N            it succeeds and affects N rows
//! statement error N            it fails with error number N
//! query [rowsort]              its rows follow behind ----, values separated by |, NULL as NULL, empty text as (empty);
//!                              times of EXPLAIN ANALYZE are left out
//! query settles                the same, of what the server does by itself: asked again until they are as expected
//! onlyif NAME / skipif NAME    before a record: gannet, mysql or mariadb, or text (statements that are not prepared)
//! connection NAME              the following records use this connection
//! restart                      the server is restarted here (not a reference server); connections are made anew
//! ```

mod common;

use common::Running;
use gannet_core::vars::{Live, VarValue};
use gannet_server::ServerOptions;
use gannet_wire::client::{Address, Arg, Connection, Error, ResultSet};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What the server does by itself is done by then, whatever else the machine does.
const SETTLED: Duration = Duration::from_secs(60);

/// How statements are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Text,
    Prepared,
}

#[derive(Debug, Clone)]
enum Expect {
    Ok,
    Count(u64),
    Error(u16),
    Rows { sorted: bool, settles: bool, rows: Vec<String> },
}

#[derive(Debug, Clone)]
enum Item {
    /// Comments and blank lines, kept for rewriting.
    Plain,
    Connection(String),
    Restart,
    Record {
        only: Option<String>,
        skip: Option<String>,
        sql: String,
        expect: Expect,
    },
}

/// An item with its source lines.
struct Placed {
    line: usize,
    source: String,
    item: Item,
}

fn parse(text: &str, path: &Path) -> Vec<Placed> {
    let mut items = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut i = 0;
    let (mut only, mut skip, mut held) = (None, None, String::new());
    while i < lines.len() {
        let start = i;
        let bad = |what: &str| -> ! { panic!("{}:{}: {what}", path.display(), start + 1) };
        let words: Vec<&str> = lines[i].split_whitespace().collect();
        i += 1;
        let item = match words.as_slice() {
            [] => Item::Plain,
            [w, ..] if w.starts_with('#') => Item::Plain,
            ["connection", name] => Item::Connection((*name).into()),
            ["restart"] => Item::Restart,
            ["onlyif", name] => {
                only = Some((*name).to_string());
                let _ = writeln!(held, "{}", lines[start]);
                continue;
            }
            ["skipif", name] => {
                skip = Some((*name).to_string());
                let _ = writeln!(held, "{}", lines[start]);
                continue;
            }
            ["statement" | "query", rest @ ..] => {
                let mut expect = match (words[0], rest) {
                    ("statement", ["ok"]) => Expect::Ok,
                    ("statement", ["count", n]) => Expect::Count(n.parse().unwrap_or_else(|_| bad("a number is due"))),
                    ("statement", ["error", n]) => Expect::Error(n.parse().unwrap_or_else(|_| bad("a number is due"))),
                    ("query", []) => Expect::Rows { sorted: false, settles: false, rows: vec![] },
                    ("query", ["rowsort"]) => Expect::Rows { sorted: true, settles: false, rows: vec![] },
                    ("query", ["settles"]) => Expect::Rows { sorted: false, settles: true, rows: vec![] },
                    _ => bad("what kind of record is this?"),
                };
                let mut sql = Vec::new();
                while i < lines.len() && !lines[i].is_empty() && lines[i] != "----" {
                    sql.push(lines[i]);
                    i += 1;
                }
                if let Expect::Rows { rows, .. } = &mut expect {
                    if lines.get(i) == Some(&"----") {
                        i += 1;
                    }
                    while i < lines.len() && !lines[i].is_empty() {
                        rows.push(lines[i].to_string());
                        i += 1;
                    }
                }
                Item::Record { only: only.take(), skip: skip.take(), sql: sql.join("\n"), expect }
            }
            _ => bad("what is this line?"),
        };
        let source = std::mem::take(&mut held) + &lines[start..i].join("\n") + "\n";
        items.push(Placed { line: start + 1, source, item });
    }
    items
}

fn show(r: &ResultSet) -> Vec<String> {
    let value = |v: String| match v.as_str() {
        "" => "(empty)".to_string(),
        _ => timeless(v).replace('\\', "\\\\").replace('\n', "\\n").replace('|', "\\|").replace('\0', "\\0"),
    };
    let row = |r: Vec<String>| r.into_iter().map(value).collect::<Vec<_>>().join("|");
    r.texts().into_iter().map(row).collect()
}

/// Without the times of EXPLAIN ANALYZE.
fn timeless(text: String) -> String {
    let mut parts = text.split("actual time=");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("actual time=");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    }
    out
}

/// Where the statements go.
enum Target {
    Ours(Box<Running>),
    Reference { address: Address, name: String },
}

impl Target {
    fn name(&self) -> &str {
        match self {
            Target::Ours(_) => "gannet",
            Target::Reference { name, .. } => name,
        }
    }

    fn connect(&self) -> Connection {
        match self {
            Target::Ours(r) => r.connect(),
            Target::Reference { address, .. } => {
                Connection::connect(address, &common::options()).expect("the reference server answers")
            }
        }
    }
}

fn send(c: &mut Connection, way: Way, sql: &str) -> Result<ResultSet, Error> {
    if way == Way::Text {
        return c.query(sql);
    }
    let statement = match c.prepare(sql) {
        // Not everything can be prepared.
        Err(e) if e.code() == Some(1295) => return c.query(sql),
        prepared => prepared?,
    };
    let result = c.execute(&statement, &[] as &[Arg<'_>]);
    c.close(&statement)?;
    result
}

fn run_file(path: &Path, target: &mut Target, way: Way, update: bool) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let mut connections: HashMap<String, Connection> = HashMap::new();
    let mut at = "main".to_string();
    let mut failures = Vec::new();
    let mut rewritten = String::new();
    // Each file starts from the same place.
    {
        let mut c = target.connect();
        c.query("DROP DATABASE IF EXISTS sqltest").expect("drop");
        c.query("CREATE DATABASE sqltest").expect("create");
    }
    for placed in parse(&text, path) {
        let mut source = placed.source;
        match placed.item {
            Item::Plain => {}
            Item::Connection(name) => at = name,
            Item::Restart => {
                connections.clear();
                if let Target::Ours(r) = target {
                    r.restart();
                }
            }
            Item::Record { only, skip, sql, expect } => {
                let here = |n: &String| n == target.name() || n == "text" && way == Way::Text;
                if only.is_some_and(|n| !here(&n)) || skip.is_some_and(|n| here(&n)) {
                    rewritten.push_str(&source);
                    continue;
                }
                let c = connections.entry(at.clone()).or_insert_with(|| {
                    let mut c = target.connect();
                    c.query("USE sqltest").expect("use");
                    c
                });
                let mut got = send(c, way, &sql);
                if let Expect::Rows { settles: true, rows, .. } = &expect {
                    let until = Instant::now() + SETTLED;
                    while !update && got.as_ref().is_ok_and(|r| show(r) != *rows) && Instant::now() < until {
                        std::thread::sleep(Duration::from_millis(100));
                        got = send(c, way, &sql);
                    }
                }
                let mut fail = |what: String| {
                    failures.push(format!(
                        "{}:{} ({way:?}): {what}\n    {}",
                        path.display(),
                        placed.line,
                        sql.replace('\n', "\n    ")
                    ));
                };
                match (&expect, &got) {
                    (Expect::Ok, Ok(_)) => {}
                    (Expect::Count(n), Ok(r)) if r.ok.affected == *n => {}
                    (Expect::Count(n), Ok(r)) => fail(format!("{} rows affected, {n} expected", r.ok.affected)),
                    (Expect::Error(n), Err(e)) if e.code() == Some(*n) => {}
                    (Expect::Error(n), Ok(_)) => fail(format!("no error, {n} expected")),
                    (Expect::Error(n), Err(e)) => fail(format!("error {n} expected, got: {e}")),
                    (Expect::Rows { sorted, rows, .. }, Ok(r)) => {
                        let mut shown = show(r);
                        let mut wanted = rows.clone();
                        if *sorted {
                            shown.sort();
                            wanted.sort();
                        }
                        if update {
                            let head: String = source.split_inclusive('\n').take_while(|l| *l != "----\n").collect();
                            source = format!("{head}----\n{}\n", shown.join("\n"));
                            if shown.is_empty() {
                                source.pop();
                            }
                        } else if shown != wanted {
                            fail(format!(
                                "expected:\n      {}\n  got:\n      {}",
                                wanted.join("\n      "),
                                shown.join("\n      ")
                            ));
                        }
                    }
                    (_, Err(e)) => fail(format!("{e}")),
                }
                if matches!(&got, Err(Error::Io(_))) {
                    connections.remove(&at);
                }
            }
        }
        rewritten.push_str(&source);
    }
    if update {
        std::fs::write(path, rewritten).expect("a writable file");
    }
    failures
}

fn files() -> Vec<PathBuf> {
    let wanted = std::env::var("GANNET_SQL_FILES").unwrap_or_default();
    let dir = common::repository().join("tests/sql");
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("tests/sql").filter_map(|e| Some(e.ok()?.path())).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "test") && p.to_string_lossy().contains(&wanted));
    all.sort();
    assert!(!all.is_empty(), "no files match");
    all
}

fn target() -> Target {
    let Ok(at) = std::env::var("GANNET_REFERENCE") else {
        // Functions that do not say what they do are made beside the binary log.
        let trusting = |o: &mut ServerOptions| o.set(Live::LogBinTrustFunctionCreators, VarValue::bool(true));
        return Target::Ours(Box::new(Running::configured(trusting)));
    };
    let address = match at.rsplit_once(':') {
        Some((host, port)) => Address::Tcp(host.into(), port.parse().expect("a port")),
        None => Address::Unix(at.into()),
    };
    let mut c = Connection::connect(&address, &common::options()).expect("the reference server answers");
    let version = common::one(&mut c, "SELECT VERSION()");
    let name = match () {
        () if version.contains("gannet") => "gannet",
        () if version.contains("MariaDB") => "mariadb",
        () => "mysql",
    };
    Target::Reference { address, name: name.into() }
}

/// Servers of our own that share the files: half of its time a file waits for locks, sleeps and restarts.
const SERVERS: usize = 3;

fn run_all(way: Way) {
    let update = std::env::var_os("GANNET_SQL_UPDATE").is_some() && way == Way::Text;
    let files = files();
    let reference = std::env::var_os("GANNET_REFERENCE").is_some();
    let servers = if reference { 1 } else { SERVERS.min(files.len()) };
    let files = Mutex::new(files.into_iter());
    let run = || {
        let (mut target, mut failures) = (target(), Vec::new());
        loop {
            let Some(file) = files.lock().unwrap().next() else { return failures };
            failures.extend(run_file(&file, &mut target, way, update));
            if let Target::Ours(r) = &mut target {
                // Each file meets a server that has just started on the data of the ones before.
                r.restart();
            }
        }
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..servers).map(|_| scope.spawn(run)).collect();
        running.into_iter().flat_map(|r| r.join().expect("files are run")).collect()
    });
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn text_protocol() {
    run_all(Way::Text);
}

#[test]
fn prepared_statements() {
    run_all(Way::Prepared);
}
