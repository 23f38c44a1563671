//! `cargo xtask memcached`: random commands of memcached's protocol to two servers, whose answers must be the same.
//!
//! A round is a list of steps on keys of its own: commands with good and bad arguments, several in one piece or one in
//! several pieces, cas numbers that the server itself has given. Cas numbers are compared by the order in which they
//! appear. What differs is played again, since an item may expire between the two, made small, and printed. What
//! `docs/memcached.md` says to differ is not sent, or made equal before it is compared.

mod bench;
pub mod both;
mod select;

use crate::diff::Random;
use gannet_wire::memcached::base64;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const USAGE: &str = "\
cargo xtask memcached --a HOST:PORT --b HOST:PORT [--seed N] [--rounds N] [--steps N]
  random commands to two servers; differences made small and printed
cargo xtask memcached bench --server NAME=HOST:PORT,PID... [--sql NAME=HOST:PORT,PID]
  [--rounds N] [--seconds S] [--only SHAPE]
  processor time of the servers per operation, by turns: 64 connections, 20,000 values of 100 bytes; --sql: prepared
  SELECTs of the same items, on the MySQL port
cargo xtask memcached both [--seconds S] [--seed N] [--binary PATH]
  SQL and memcached's protocol on the same rows, definitions and locks beside them; a model says what must be there
";

/// Items that most commands name: `k0`, `k1`, ...
const KEYS: usize = 4;
/// A command that asks for an answer, behind each step; none of the steps has it.
const MARK: &[u8] = b"mn\r\n";
/// The mark may be taken for something else: how long to wait for its answer.
const PATIENCE: Duration = Duration::from_millis(600);
/// Differences after which a run ends.
const ENOUGH: usize = 12;
/// How often a difference is played again before it is believed.
const AGAIN: usize = 2;

struct Arguments {
    a: String,
    b: String,
    seed: u64,
    rounds: u64,
    steps: usize,
}

fn arguments(args: &[String]) -> Result<Arguments, String> {
    let mut all = Arguments { a: String::new(), b: String::new(), seed: 1, rounds: 1000, steps: 30 };
    let mut rest = args.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("{name}: {value} is no number"));
        match name.as_str() {
            "--a" => all.a = value.clone(),
            "--b" => all.b = value.clone(),
            "--seed" => all.seed = number()?,
            "--rounds" => all.rounds = number()?,
            "--steps" => all.steps = number()? as usize,
            _ => return Err(USAGE.to_owned()),
        }
    }
    if all.a.is_empty() || all.b.is_empty() { Err(USAGE.to_owned()) } else { Ok(all) }
}

fn options_of_both(root: &Path, args: &[String]) -> Result<both::Options, String> {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |d| d.as_secs());
    let mut options = both::Options { seconds: 60, seed, binary: PathBuf::new() };
    let mut rest = args.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("{name}: {value} is no number"));
        match name.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--binary" => options.binary = value.into(),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if options.binary.as_os_str().is_empty() {
        options.binary = crate::crash::build(root)?;
    }
    Ok(options)
}

/// Runs the verb. The error says what differed.
///
/// # Errors
/// A server that cannot be reached, wrong arguments, differences.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    match args.split_first() {
        Some((verb, rest)) if verb == "bench" => return bench::run(rest),
        Some((verb, rest)) if verb == "both" => return both::go(&options_of_both(root, rest)?),
        _ => {}
    }
    let args = arguments(args)?;
    let mut found = String::new();
    let (mut differences, mut commands) = (0, 0);
    for round in 0..args.rounds {
        let seed = args.seed + round;
        let steps = steps_of(seed, args.steps);
        commands += steps.len();
        if !differs(&args, &steps, AGAIN)? {
            continue;
        }
        let small = made_small(&args, steps)?;
        differences += 1;
        let _ = writeln!(found, "== seed {seed}");
        let (a, b) = (play(&args.a, &small)?, play(&args.b, &small)?);
        for ((step, a), b) in small.iter().zip(&a).zip(&b) {
            let _ = writeln!(found, "> {}", shown(&step.bytes));
            if a == b {
                let _ = writeln!(found, "= {}", shown(a));
            } else {
                let _ = writeln!(found, "a {}\nb {}", shown(a), shown(b));
            }
        }
        if differences == ENOUGH {
            break;
        }
    }
    match differences {
        0 => Ok(format!("{commands} steps in {} rounds, no difference", args.rounds)),
        n => Err(format!("{found}{n} differences")),
    }
}

/// The answers differ each time.
fn differs(args: &Arguments, steps: &[Step], again: usize) -> Result<bool, String> {
    for _ in 0..=again {
        if play(&args.a, steps)? == play(&args.b, steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Leaves out what is not needed for a difference.
fn made_small(args: &Arguments, mut steps: Vec<Step>) -> Result<Vec<Step>, String> {
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + size).min(steps.len()));
            if differs(args, &fewer, 1)? {
                steps = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    Ok(steps)
}

fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for b in bytes.iter().take(400) {
        match b {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b' '..=b'~' => text.push(char::from(*b)),
            b => drop(write!(text, "\\x{b:02x}")),
        }
    }
    if bytes.len() > 400 {
        let _ = write!(text, "... ({} bytes)", bytes.len());
    }
    text
}

/// What is sent at once; `{cas}` in it is the number that the server gave last.
#[derive(Clone)]
struct Step {
    bytes: Vec<u8>,
    /// Sent in pieces that end here.
    pieces: Vec<usize>,
}

struct Player {
    stream: TcpStream,
    /// Numbers by the order in which they appeared.
    seen: BTreeMap<u64, usize>,
    last: u64,
    ended: bool,
}

/// What a server answers to each step.
fn play(address: &str, steps: &[Step]) -> Result<Vec<Vec<u8>>, String> {
    let stream = TcpStream::connect(address).map_err(|e| format!("{address}: {e}"))?;
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    let mut player = Player { stream, seen: BTreeMap::new(), last: 1, ended: false };
    player.ask(b"flush_all\r\n", &[])?;
    let mut answers = Vec::new();
    for step in steps {
        if player.ended {
            break;
        }
        let bytes = replaced(&step.bytes, player.last);
        let raw = player.ask(&bytes, &step.pieces)?;
        // Who is closed upon may not get what was said before.
        let answer = if player.ended { b"(closed)".to_vec() } else { player.compared(&raw) };
        if [&b"incr "[..], b"decr ", b"ma "].iter().any(|name| step.bytes.windows(name.len()).any(|w| w == *name)) {
            player.trim_counters()?;
            // What was trimmed has another number, at one of both.
            player.last = 1;
        }
        answers.push(answer);
    }
    answers.resize(steps.len(), b"(closed)".to_vec());
    Ok(answers)
}

fn replaced(bytes: &[u8], cas: u64) -> Vec<u8> {
    const NAME: &[u8] = b"{cas}";
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(NAME.len()).position(|w| w == NAME) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(cas.to_string().as_bytes());
        rest = &rest[at + NAME.len()..];
    }
    out.extend_from_slice(rest);
    out
}

impl Player {
    /// Writes counters anew: memcached leaves blanks behind one that got shorter.
    fn trim_counters(&mut self) -> Result<(), String> {
        for key in (0..KEYS).map(|n| format!("k{n}")) {
            let got = self.ask(format!("get {key}\r\n").as_bytes(), &[])?;
            let mut lines = got.splitn(2, |b| *b == b'\n');
            let (Some(head), Some(rest)) = (lines.next(), lines.next()) else { continue };
            let flags = head.split(|b| *b == b' ').nth(2).unwrap_or_default();
            let n: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_digit).collect();
            // At both servers, though only one may have left blanks: a set makes more of an item new than its value.
            let behind = rest[n.len()..].iter().find(|b| **b != b' ');
            if n.is_empty() || behind != Some(&b'\r') {
                continue;
            }
            let mut set = format!("set {key} {} 0 {}\r\n", String::from_utf8_lossy(flags), n.len()).into_bytes();
            set.extend_from_slice(&n);
            set.extend_from_slice(b"\r\n");
            self.ask(&set, &[])?;
        }
        Ok(())
    }

    /// Sends a step and a mark, and gives what comes before the mark's answer.
    fn ask(&mut self, bytes: &[u8], pieces: &[usize]) -> Result<Vec<u8>, String> {
        let mut at = 0;
        for &piece in pieces {
            let _ = self.stream.write_all(&bytes[at..piece.min(bytes.len())]);
            at = piece.min(bytes.len());
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut rest = bytes[at..].to_vec();
        rest.extend_from_slice(MARK);
        // The other end may have closed: what it said shows that.
        let _ = self.stream.write_all(&rest);
        let (mut got, begun) = (Vec::new(), Instant::now());
        loop {
            let left = PATIENCE.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
            let mut some = [0; 65536];
            match self.stream.read(&mut some) {
                Ok(0) => self.ended = true,
                Ok(n) => got.extend_from_slice(&some[..n]),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => self.ended = true,
                Err(_) => return Ok(got),
            }
            if self.ended {
                got.extend_from_slice(b"(closed)");
                return Ok(got);
            }
            if got.ends_with(b"MN\r\n") && (got.len() == 4 || got[..got.len() - 4].ends_with(b"\r\n")) {
                got.truncate(got.len() - 4);
                return Ok(got);
            }
        }
    }

    /// The answer with cas numbers by their order.
    fn compared(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for line in raw.split_inclusive(|b| *b == b'\n') {
            let mut words: Vec<&[u8]> = line.trim_ascii_end().split(|b| *b == b' ').collect();
            let is_answer = [&b"HD"[..], b"VA", b"EN", b"NS", b"NF", b"EX"].contains(&words[0]);
            // A key comes back as the request had it, memcached's as the item has it: both plain.
            let plain;
            if let Some(at) = words.iter().position(|w| *w == b"b").filter(|at| is_answer && *at > 1) {
                words.remove(at);
                plain = words[at - 1].strip_prefix(b"k").and_then(base64::decode).map(|key| [b"k", &*key].concat());
                if let Some(plain) = &plain {
                    words[at - 1] = plain;
                }
            }
            for (i, word) in words.iter().enumerate() {
                let text = match (words[0], i) {
                    (b"VALUE", 4) => Some(*word),
                    (b"HD" | b"VA", 1..) => word.strip_prefix(b"c"),
                    _ => None,
                };
                if i > 0 {
                    out.push(b' ');
                }
                match text.and_then(|t| str::from_utf8(t).ok()?.parse::<u64>().ok()) {
                    Some(n) => {
                        let next = self.seen.len();
                        let order = *self.seen.entry(n).or_insert(next);
                        self.last = n;
                        out.extend_from_slice(format!("cas#{order}").as_bytes());
                    }
                    // The time left of what is gone, without a sign.
                    None if is_answer && word.len() == 11 && word.starts_with(b"t42949") => {
                        out.extend_from_slice(b"t0")
                    }
                    None => out.extend_from_slice(word),
                }
            }
            out.extend_from_slice(&line[line.trim_ascii_end().len()..]);
        }
        out
    }
}

/// The steps of a round.
fn steps_of(seed: u64, n: usize) -> Vec<Step> {
    let mut r = Random::new(seed);
    let r = &mut r;
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..n {
        let mut bytes = Vec::new();
        let several = if r.percent(15) { 1 + r.below(4) } else { 1 };
        for _ in 0..several {
            let mut command = command(r);
            // One that counts comes last: it is followed by a look at the counters. One with a key that is too long
            // comes alone: memcached drops the answers before it.
            let counts = [&b"incr"[..], b"decr", b"ma "].iter().any(|name| command.starts_with(name));
            if r.percent(12) {
                spoil(r, &mut command);
            }
            let line = command.split(|b| *b == b'\n').next().unwrap_or_default();
            let too_long = line.split(|b| *b == b' ').any(|word| word.len() > 250);
            if too_long && !bytes.is_empty() {
                break;
            }
            bytes.extend_from_slice(&command);
            if counts || too_long {
                break;
            }
        }
        let mut pieces = Vec::new();
        if r.percent(10) && bytes.len() > 2 && !bytes.contains(&b'{') {
            pieces = (0..1 + r.below(3)).map(|_| 1 + r.below(bytes.len() - 1)).collect();
            pieces.sort_unstable();
            pieces.dedup();
        }
        steps.push(Step { bytes, pieces });
    }
    steps
}

fn key(r: &mut Random) -> String {
    match r.below(40) {
        0 => "k".repeat(250),
        1 => "k".repeat(251),
        2 => "käse".into(),
        3 => "k,.:;*".into(),
        _ => format!("k{}", r.below(KEYS)),
    }
}

fn number(r: &mut Random) -> String {
    const ODD: &[&str] = &[
        "-1",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-2147483648",
        "-9223372036854775808",
        "1.5",
        "1e3",
        "0x10",
        "x",
        "00012",
        "+7",
        "-0",
        "1x",
        "2592000",
        "2592001",
        "99999999999999999999999",
    ];
    if r.percent(12) { r.pick::<&str>(ODD).to_string() } else { r.below(12).to_string() }
}

fn expiry(r: &mut Random) -> String {
    match r.below(12) {
        0 => "-1".into(),
        1 => number(r),
        2 => "1000".into(),
        3 => "4000000000".into(),
        _ => "0".into(),
    }
}

fn value(r: &mut Random) -> Vec<u8> {
    match r.below(14) {
        0 => Vec::new(),
        1 => b"99".to_vec(),
        2 => b"18446744073709551615".to_vec(),
        3 => b"18446744073709551616".to_vec(),
        4 => b" 12".to_vec(),
        5 => b"12 ".to_vec(),
        6 => b"-5".to_vec(),
        7 => b"a\r\nb".to_vec(),
        8 if r.percent(5) => vec![b'x'; (1 << 20) + r.below(8)],
        8 => vec![b'x'; 1 + r.below(3000)],
        9 => vec![0, 255, 13, 10, 32],
        10 => b"get k1\r\nversion\r\nEND".to_vec(),
        11 => b"000000000000000000000".to_vec(),
        _ => r.below(2000).to_string().into_bytes(),
    }
}

/// The stated length, mostly the true one.
fn length(r: &mut Random, value: &[u8]) -> String {
    match r.below(60) {
        0 => (value.len() + 1).to_string(),
        1 => value.len().saturating_sub(1).to_string(),
        2 => number(r),
        4 => format!("0{}", value.len()),
        _ => value.len().to_string(),
    }
}

fn noreply(r: &mut Random) -> &'static str {
    if r.percent(8) { " noreply" } else { "" }
}

fn command(r: &mut Random) -> Vec<u8> {
    let key = key(r);
    let text = match r.below(26) {
        0..=5 => return store(r, &key),
        6 | 7 => format!("get {key}\r\n"),
        8 => format!("gets {key}\r\n"),
        9 => format!("{} {key} {}\r\n", r.pick(&["get", "gets"]), self::key(r)),
        10 => format!("{} {} {key}\r\n", r.pick(&["gat", "gats"]), expiry(r)),
        11 => format!("{} {} {key} k{}\r\n", r.pick(&["gat", "gats"]), expiry(r), r.below(KEYS)),
        12 => format!("touch {key} {}{}\r\n", expiry(r), noreply(r)),
        13 => format!("delete {key}{}{}\r\n", r.pick(&["", "", "", " 0", " 5"]), noreply(r)),
        14 => format!("incr {key} {}\r\n", number(r)),
        15 => format!("decr {key} {}\r\n", number(r)),
        16 => r.pick::<&str>(&ODD_LINES).to_string() + "\r\n",
        17..=20 => return meta_set(r, &key),
        21..=23 => meta(r, "mg", &key, b"vkcfstOqTNRbE"),
        24 => meta(r, "md", &key, b"qITCOkbx"),
        _ => meta(r, "ma", &key, b"vtckONJDMTCqb"),
    };
    text.into_bytes()
}

const ODD_LINES: [&str; 30] = [
    "",
    " ",
    "get",
    "gets ",
    "gat",
    "gat 0",
    "gat k1",
    "gat 0 ",
    "set",
    "set k1",
    "set k1 0 0",
    "set k1 0 0 0 0 0",
    "touch",
    "touch k1",
    "incr k1",
    "incr",
    "delete",
    "flush_all 0",
    "flush_all x",
    "flush_all -1 noreply",
    "verbosity",
    "verbosity 1",
    "verbosity 1 noreply",
    "verbosity x y z",
    "GET k1",
    "bogus k1",
    "mnx",
    "mg",
    "ma",
    "cas k1 0 0 1",
];

fn store(r: &mut Random, key: &str) -> Vec<u8> {
    let verb = *r.pick::<&str>(&["set", "set", "set", "add", "replace", "append", "prepend", "cas", "cas"]);
    let (flags, expiry, value) = (number(r), expiry(r), value(r));
    let cas = match (verb, r.below(4)) {
        ("cas", 0) => format!(" {}", number(r)),
        ("cas", _) => " {cas}".into(),
        _ => String::new(),
    };
    let head = format!("{verb} {key} {flags} {expiry} {}{cas}{}\r\n", length(r, &value), noreply(r));
    with_value(r, head, &value)
}

fn with_value(r: &mut Random, head: String, value: &[u8]) -> Vec<u8> {
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(if r.percent(2) { b"\n" } else { b"\r\n" });
    bytes
}

/// Flags of a meta command.
fn flags_of(r: &mut Random, letters: &[u8]) -> String {
    let mut text = String::new();
    for _ in 0..r.below(6) {
        let letter = *r.pick(letters);
        let _ = match letter {
            b'O' => write!(text, " O{}", r.pick(&["", "1", "opaque", "0123456789012345678901234567890", "x k"])),
            b'T' | b'N' | b'R' => write!(text, " {}{}", char::from(letter), expiry(r)),
            b'C' if r.percent(70) => write!(text, " C{{cas}}"),
            b'C' | b'F' | b'D' | b'J' => write!(text, " {}{}", char::from(letter), number(r)),
            b'M' => {
                write!(text, " M{}", r.pick(&["S", "E", "A", "P", "R", "I", "D", "+", "-", "X", "", "SS", "i", "a"]))
            }
            // A later version has these, this server too.
            b'E' | b'x' => continue,
            letter if r.percent(4) => write!(text, " {}{}", char::from(letter), number(r)),
            letter => write!(text, " {}", char::from(letter)),
        };
    }
    if r.percent(2) {
        text.push_str(r.pick::<&str>(&[" S", " a", " 5", " -", " z", " G1"]));
    }
    text
}

fn meta(r: &mut Random, name: &str, key: &str, letters: &[u8]) -> String {
    let flags = flags_of(r, letters);
    let key = if flags.contains(" b") {
        *r.pick::<&str>(&["azE=", "azI=", "azF=", "azE=azE=", "a==", "!!", "k1"])
    } else {
        key
    };
    format!("{name} {key}{flags}\r\n")
}

fn meta_set(r: &mut Random, key: &str) -> Vec<u8> {
    let value = value(r);
    let mut flags = flags_of(r, b"TFMCqOkbcI");
    if flags.contains(" C") {
        // Which of two numbers is older is not known here.
        flags = flags.replace(" I", "");
    }
    let key = if flags.contains(" b") { *r.pick::<&str>(&["azE=", "azI=", "azF=", "a==", "k1"]) } else { key };
    let head = format!("ms {key} {}{flags}\r\n", length(r, &value));
    with_value(r, head, &value)
}

/// Changes some bytes.
fn spoil(r: &mut Random, bytes: &mut Vec<u8>) {
    const BYTES: &[u8] = b" \r\n\t\0x0-9k\xff{}bqO";
    for _ in 0..1 + r.below(2) {
        let at = r.below(bytes.len().max(1));
        match r.below(4) {
            0 => bytes.insert(at.min(bytes.len()), *r.pick(BYTES)),
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 if !bytes.is_empty() => bytes[at] = *r.pick(BYTES),
            _ => {
                // A word twice.
                let end = bytes[at..].iter().position(|b| *b == b' ').map_or(at, |n| at + n);
                let word = bytes[at..end].to_vec();
                bytes.splice(end..end, word);
            }
        }
    }
}
