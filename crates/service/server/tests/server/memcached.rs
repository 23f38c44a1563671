//! memcached's protocol: exchanges that memcached itself has answered, and what SQL and it see of each other.
//!
//! The files in `memcached/` hold what is sent (`>`) and what memcached 1.6.18 answers (`<`); `!` in place of that is
//! what this server answers otherwise. `{cas1}` is a number that is the same wherever it stands and differs from the
//! others. With `GANNET_MEMCACHED=127.0.0.1:11211` the exchanges are made with the memcached there, and what it answers
//! is written into the files.

use crate::common::{Running, one, run};
use gannet_server::vars::{Live, VarValue};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that speaks memcached's protocol on a socket, too.
pub(crate) struct Both {
    // Before the server, as it has to go.
    pub(crate) memcached: Option<gannet_memcache::Served>,
    pub(crate) r: Running,
}

impl Both {
    pub(crate) fn start(configure: fn(&mut gannet_server::ServerOptions)) -> Both {
        let r = Running::configured(configure);
        let mut both = Both { memcached: None, r };
        both.serve();
        both
    }

    fn serve(&mut self) {
        let server = self.r.server();
        let served = gannet_memcache::start(server.instance(), server.sessions());
        self.memcached = Some(served.unwrap_or_else(|e| panic!("{e}")));
    }

    pub(crate) fn restart(&mut self) {
        self.memcached = None;
        self.r.restart();
        self.serve();
    }
}

pub(crate) fn with_socket(o: &mut gannet_server::ServerOptions) {
    let path = o.datadir().with_extension("mc");
    let _ = std::fs::remove_file(&path);
    o.set(Live::MemcachedSocket, VarValue::text(path.to_str().expect("a path of text")));
}

/// A client: bytes out, lines in.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

trait Stream: Read + Write {
    fn patience(&self, time: Duration);
}

impl Stream for TcpStream {
    fn patience(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

impl Stream for UnixStream {
    fn patience(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

impl Client {
    pub(crate) fn of(r: &Running) -> Client {
        let stream = UnixStream::connect(r.dir.with_extension("mc")).expect("a client connects");
        stream.patience(crate::common::PATIENCE);
        Client { stream: Box::new(stream), read: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // The other end may have closed: what it said shows that.
        let _ = self.stream.write_all(bytes);
    }

    /// The next line without its end; `None` at the end of the stream.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        let mut seen = 0;
        loop {
            let end = self.read[seen..].windows(2).position(|w| w == b"\r\n");
            if let Some(end) = end.map(|end| seen + end) {
                let line = self.read[..end].to_vec();
                self.read.drain(..end + 2);
                return Some(line);
            }
            seen = self.read.len().saturating_sub(1);
            let mut some = [0; 65536];
            match self.stream.read(&mut some) {
                Ok(0) => return None,
                Ok(n) => self.read.extend_from_slice(&some[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => return None,
                Err(e) => return Some(format!("(no answer: {e})").into_bytes()),
            }
        }
    }

    /// Sends a line and gives the line that answers.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.send(text.as_bytes());
        self.send(b"\r\n");
        shown(&self.line().expect("an answer"))
    }

    /// Reads the answer to a get of one item, and gives the length of its value.
    pub(crate) fn get_length(&mut self) -> usize {
        let head = shown(&self.line().expect("an item"));
        let length = self.line().expect("its value").len();
        assert_eq!(head.rsplit(' ').next(), Some(&*length.to_string()), "{head}");
        assert_eq!(self.line().as_deref(), Some(&b"END"[..]));
        length
    }

    /// Sends and gives all lines up to `END`.
    pub(crate) fn get(&mut self, text: &str) -> Vec<String> {
        self.send(text.as_bytes());
        self.send(b"\r\n");
        let mut all = Vec::new();
        loop {
            let line = shown(&self.line().expect("an answer"));
            if line == "END" || line.contains("ERROR") {
                all.extend(Some(line).filter(|l| l != "END"));
                return all;
            }
            all.push(line);
        }
    }
}

/// Bytes as the files have them.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut out = String::new();
    for b in bytes {
        match b {
            b'\\' => out.push_str("\\\\"),
            b'\r' => out.push_str("\\r"),
            b'\n' => out.push_str("\\n"),
            0x20..0x7f => out.push(*b as char),
            _ => write!(out, "\\x{b:02x}").unwrap(),
        }
    }
    out
}

/// The bytes of a line of a file. `{a*300}` is 300 times `a`, `\c` at the end leaves the line end out.
fn meant(text: &str, vars: &BTreeMap<String, String>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut ended = true;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let kind = rest.chars().next().expect("something behind a backslash");
                rest = &rest[1..];
                match kind {
                    'r' => out.push(b'\r'),
                    'n' => out.push(b'\n'),
                    'c' => ended = false,
                    'x' => {
                        out.push(u8::from_str_radix(&rest[..2], 16).expect("two digits"));
                        rest = &rest[2..];
                    }
                    other => out.push(other as u8),
                }
            }
            '{' => {
                let (word, behind) = rest.split_once('}').expect("a closing brace");
                rest = behind;
                match word.rsplit_once('*') {
                    Some((what, times)) => out.extend(what.repeat(times.parse().expect("a number")).bytes()),
                    None => out.extend_from_slice(vars.get(word).unwrap_or_else(|| panic!("no {word} yet")).as_bytes()),
                }
            }
            c => out.extend_from_slice(c.to_string().as_bytes()),
        }
    }
    if ended {
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// A line of an answer with its cas number named.
fn named(line: &str, vars: &mut BTreeMap<String, String>) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let token = match words[..] {
        ["VALUE", _, _, _, cas] => cas,
        ["HD" | "VA", ..] => {
            let found = words[1..]
                .iter()
                .find(|w| w.len() > 1 && w.starts_with('c') && w[1..].bytes().all(|b| b.is_ascii_digit()));
            found.map_or("", |w| &w[1..])
        }
        _ => "",
    };
    if token.is_empty() || token == "0" {
        return line.into();
    }
    let known = vars.iter().find(|(_, v)| *v == token).map(|(name, _)| name.clone());
    let name = known.unwrap_or_else(|| {
        let name = format!("cas{}", vars.len() + 1);
        vars.insert(name.clone(), token.into());
        name
    });
    // It is the last number of a text answer, and unlike any other in a meta answer.
    let at = line.rfind(token).expect("the token");
    format!("{}{{{name}}}{}", &line[..at], &line[at + token.len()..])
}

/// What is sent, what memcached answers, what is answered in place of that.
struct Exchange {
    sent: String,
    answer: Vec<String>,
    ours: Vec<String>,
}

/// The exchanges of a file by section, and the comments at its head.
fn read_file(path: &Path) -> (String, Vec<(String, Vec<Exchange>)>) {
    let (mut head, mut sections) = (String::new(), Vec::<(String, Vec<Exchange>)>::new());
    for line in std::fs::read_to_string(path).expect("the file").lines() {
        if let Some(name) = line.strip_prefix("== ") {
            sections.push((name.into(), Vec::new()));
        } else if let Some(sent) = line.strip_prefix("> ") {
            let section = &mut sections.last_mut().expect("a section").1;
            section.push(Exchange { sent: sent.into(), answer: Vec::new(), ours: Vec::new() });
        } else if let Some((kind @ ("<" | "!"), text)) =
            line.split_at_checked(1).map(|(k, t)| (k, t.strip_prefix(' ').unwrap_or(t)))
        {
            let last = sections.last_mut().and_then(|s| s.1.last_mut()).expect("something sent");
            if kind == "<" { last.answer.push(text.into()) } else { last.ours.push(text.into()) }
        } else if line.starts_with('#') {
            writeln!(head, "{line}").unwrap();
        }
    }
    (head, sections)
}

/// Makes the exchanges with a memcached and writes down what it answers.
fn record(path: &Path, address: &str) {
    let (head, sections) = read_file(path);
    let mut out = head;
    for (name, exchanges) in sections {
        write!(out, "\n== {name}\n").unwrap();
        let connect = || {
            let stream = TcpStream::connect(address).expect("memcached");
            stream.patience(Duration::from_millis(60));
            stream
        };
        connect().write_all(b"flush_all\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(1100));
        let (mut stream, mut vars) = (connect(), BTreeMap::new());
        for e in exchanges {
            writeln!(out, "> {}", e.sent).unwrap();
            let _ = stream.write_all(&meant(&e.sent, &vars));
            let mut all = Vec::new();
            let closed = loop {
                let mut some = [0; 65536];
                match stream.read(&mut some) {
                    Ok(0) => break true,
                    Ok(n) => all.extend_from_slice(&some[..n]),
                    Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break true,
                    Err(_) => break false,
                }
            };
            for line in all.split_inclusive(|b| *b == b'\n') {
                let line = line.strip_suffix(b"\r\n").expect("whole lines");
                writeln!(out, "< {}", named(&shown(line), &mut vars)).unwrap();
            }
            if closed {
                writeln!(out, "< (closed)").unwrap();
                stream = connect();
            }
            e.ours.iter().for_each(|line| writeln!(out, "! {line}").unwrap());
        }
    }
    std::fs::write(path, out).expect("the file is written");
}

/// Makes the exchanges of a file with a server, and compares.
fn exchange(r: &Running, path: &Path) {
    let (_, sections) = read_file(path);
    let mut wrong = String::new();
    for (name, exchanges) in sections {
        assert_eq!(Client::of(r).ask("flush_all"), "OK");
        let (mut client, mut vars) = (Client::of(r), BTreeMap::new());
        for e in exchanges {
            client.send(&meant(&e.sent, &vars));
            for expected in if e.ours.is_empty() { &e.answer } else { &e.ours } {
                let got = client.line().map_or("(closed)".into(), |line| named(&shown(&line), &mut vars));
                if got == "(closed)" {
                    client = Client::of(r);
                }
                if !same(&got, expected) {
                    writeln!(wrong, "{name}: {}\n  expected {expected}\n  got      {got}", e.sent).unwrap();
                }
            }
        }
        // Nothing more was said.
        let last = client.ask("version");
        if last != "VERSION 1.6.18" {
            writeln!(wrong, "{name}: at its end: {last}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}:\n{wrong}", path.display());
}

/// Lines are the same; the seconds that an item has left may have gone on.
fn same(got: &str, expected: &str) -> bool {
    let seconds = |word: &str| word.strip_prefix('t').and_then(|n| n.parse::<i64>().ok());
    let near = |(a, b): (&str, &str)| match (seconds(a), seconds(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= 2,
        _ => a == b,
    };
    got == expected
        || got.split(' ').count() == expected.split(' ').count() && got.split(' ').zip(expected.split(' ')).all(near)
}

fn file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/memcached").join(name);
    match std::env::var("GANNET_MEMCACHED") {
        Ok(address) => record(&path, &address),
        Err(_) => exchange(&Both::start(with_socket).r, &path),
    }
}

#[test]
fn the_text_protocol_is_that_of_memcached() {
    file("text.txt");
}

#[test]
fn the_meta_protocol_is_that_of_memcached() {
    file("meta.txt");
}

#[test]
fn both_protocols_see_the_same_rows() {
    let both = Both::start(with_socket);
    let r = &both.r;
    let mut sql = r.connect();
    let mut c = Client::of(r);
    assert_eq!(c.ask("set a 5 0 3\r\nabc"), "STORED");
    assert_eq!(one(&mut sql, "SELECT CONCAT(c1, c2, c3, c5) FROM test.demo_test"), "aabc50");
    run(&mut sql, "UPDATE test.demo_test SET c2 = 'xyz'");
    assert_eq!(c.get("get a"), ["VALUE a 5 3", "xyz"]);
    run(&mut sql, "INSERT INTO test.demo_test (c1, c2) VALUES ('b', 'from SQL'), ('n', '41')");
    assert_eq!(c.get("get b a"), ["VALUE b 0 8", "from SQL", "VALUE a 5 3", "xyz"]);
    assert_eq!(c.ask("incr n 1"), "42");
    assert_eq!(c.ask("delete a"), "DELETED");
    assert_eq!(one(&mut sql, "SELECT GROUP_CONCAT(c1, c2 ORDER BY c1) FROM test.demo_test"), "bfrom SQL,n42");
    // A change of SQL is one for cas, too.
    let token = |c: &mut Client| c.get("gets n")[0].rsplit(' ').next().unwrap().to_owned();
    let before = token(&mut c);
    run(&mut sql, "UPDATE test.demo_test SET c3 = 7 WHERE c1 = 'n'");
    assert_eq!(c.ask(&format!("cas n 0 0 1 {before}\r\n1")), "EXISTS");
    let now = token(&mut c);
    assert_eq!(c.ask(&format!("cas n 0 0 1 {now}\r\n1")), "STORED");
    // A pipeline reads what it wrote, and its answers come in order.
    c.send(b"set p 0 0 1\r\n1\r\nget p\r\nset p 0 0 1\r\n2\r\nget p\r\ndelete p\r\nget p\r\n");
    let lines: Vec<String> = (0..10).map(|_| shown(&c.line().unwrap())).collect();
    assert_eq!(lines, ["STORED", "VALUE p 0 1", "1", "END", "STORED", "VALUE p 0 1", "2", "END", "DELETED", "END"]);
    // Nobody logs in as the account that it runs with, which may do nothing else.
    assert_eq!(one(&mut sql, "SELECT account_locked FROM mysql.user WHERE user = 'memcached'"), "Y");
}
