//! `cargo xtask isolation`: what each isolation level gives, as named steps in all orders against running servers.
//!
//! For each level, anomaly and way of reading (plain, sharing, for update, NOWAIT, SKIP LOCKED) the sessions' steps are
//! taken in every order; what each step gives, whether it has to wait, and what is left in the end, makes a line. The
//! lines of InnoDB (MariaDB 10.11) are in `tests/isolation/innodb.txt`; two running servers can be compared too.
//! Differences with a reason are in `explained`.

mod play;
mod random;
mod scenarios;

use gannet_wire::client::Address;
use play::{Play, Played, Stage};
use scenarios::{LEVELS, Read, SCENARIOS, Scenario, TABLE};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const USAGE: &str = "\
cargo xtask isolation --port-a A [--port-b B] [--only TEXT] [--record]     (or --socket-a, --socket-b)
  compares server A with server B, without B with the lines of InnoDB in tests/isolation/innodb.txt;
  --record writes these lines from server A; --only: cases whose name contains TEXT
cargo xtask isolation --port-a A --port-b B --random N [--seed S]
  N plays of random steps, levels, savepoints and locks in a random order; a difference is made small
";

/// Everybody has to stand still for so long to be taken for waiting: at first, and for those that differ.
const PATIENCE: [Duration; 3] = [Duration::from_millis(2), Duration::from_millis(30), Duration::from_millis(120)];

/// A level, an anomaly and a way of reading.
struct Case {
    level: &'static str,
    scenario: &'static Scenario,
    read: Read,
}

impl Case {
    fn name(&self) -> String {
        format!("{}, {} reads, {}", self.level, self.read.0, self.scenario.name)
    }
}

fn cases() -> Vec<Case> {
    let of = |level| {
        SCENARIOS
            .iter()
            .flat_map(move |scenario| scenario.reads.iter().map(move |&read| Case { level, scenario, read }))
    };
    LEVELS.into_iter().flat_map(of).collect()
}

/// All orders in which sessions of these numbers of steps may take them, smallest first.
fn orders(left: &mut [usize], order: &mut Vec<u8>, out: &mut Vec<Vec<u8>>) {
    if left.iter().all(|&n| n == 0) {
        out.push(order.clone());
    }
    for who in 0..left.len() {
        if left[who] > 0 {
            left[who] -= 1;
            order.push(who as u8);
            orders(left, order, out);
            order.pop();
            left[who] += 1;
        }
    }
}

fn letters(order: &[u8]) -> String {
    order.iter().map(|&who| char::from(b'A' + who)).collect()
}

/// What a case gives, by order. Orders that cannot be taken, because their session waits, are not in it.
type Lines = BTreeMap<String, String>;

fn perform(
    stage: &mut Stage,
    case: &Case,
    patience: Duration,
    only: Option<&dyn Fn(&str) -> bool>,
) -> Result<Lines, String> {
    let mut all = Vec::new();
    orders(&mut case.scenario.sessions.iter().map(|s| s.len()).collect::<Vec<_>>(), &mut Vec::new(), &mut all);
    stage.level(case.level)?;
    let mut lines = Lines::new();
    let mut stuck: Option<Vec<u8>> = None;
    for order in all {
        let name = letters(&order);
        if stuck.as_ref().is_some_and(|s| order.starts_with(s)) || only.is_some_and(|only| !only(&name)) {
            continue;
        }
        let played = stage.play(
            &Play { scene: &TABLE, sessions: case.scenario.sessions, read: case.read.1, later: false },
            &order,
            patience,
        );
        match played.map_err(|e| format!("{}, {name}: {e}", case.name()))? {
            Played::Whole(line) => _ = lines.insert(name, line),
            Played::Stuck(at) => stuck = Some(order[..=at].to_vec()),
        }
    }
    Ok(lines)
}

/// Why a difference from InnoDB is meant to be.
fn explained(case: &Case, theirs: Option<&String>, ours: Option<&String>) -> Option<&'static str> {
    // A holds the row shared, B waits for it, and A wants more of it.
    let raises = case.scenario.name == "read skew by a writing predicate"
        && (case.read.0 == "share" || case.level == "SERIALIZABLE")
        && theirs.is_some_and(|l| l.contains("B1 waits; A2 1 changed; B1 error 1213"))
        && ours.is_none_or(|l| l.contains("B1 waits; A2 1 changed; ") && !l.contains("error"));
    raises.then_some("who raises his shared lock goes in front of those who wait for the row: no deadlock")
}

/// What is compared with.
enum Reference {
    Server(Box<Stage>),
    Recorded(BTreeMap<String, Lines>),
}

/// What a comparison found.
#[derive(Default)]
pub struct Comparison {
    /// Cases performed.
    pub cases: usize,
    /// Orders performed.
    pub orders: usize,
    /// Explained differences by their reason.
    pub explained: BTreeMap<&'static str, usize>,
    /// The others, as text.
    pub differences: Vec<String>,
}

impl Comparison {
    fn case(&mut self, stage: &mut Stage, case: &Case, reference: &mut Reference) -> Result<(), String> {
        let mut ours = perform(stage, case, PATIENCE[0], None)?;
        let mut theirs = match reference {
            Reference::Server(other) => perform(other, case, PATIENCE[0], None)?,
            Reference::Recorded(all) => {
                all.get(&case.name()).cloned().ok_or(format!("not recorded: {}", case.name()))?
            }
        };
        let differ = |ours: &Lines, theirs: &Lines| -> Vec<String> {
            let mut names: Vec<String> = ours.keys().chain(theirs.keys()).cloned().collect();
            names.sort();
            names.dedup();
            names.retain(|n| ours.get(n) != theirs.get(n));
            names
        };
        for patience in &PATIENCE[1..] {
            let names = differ(&ours, &theirs);
            if names.is_empty() {
                break;
            }
            let again = |name: &str| names.iter().any(|n| n == name);
            names.iter().for_each(|n| _ = ours.remove(n));
            ours.extend(perform(stage, case, *patience, Some(&again))?);
            if let Reference::Server(other) = reference {
                names.iter().for_each(|n| _ = theirs.remove(n));
                theirs.extend(perform(other, case, *patience, Some(&again))?);
            }
        }
        self.cases += 1;
        self.orders += ours.len();
        for name in differ(&ours, &theirs) {
            let (theirs, ours) = (theirs.get(&name), ours.get(&name));
            match explained(case, theirs, ours) {
                Some(reason) => *self.explained.entry(reason).or_default() += 1,
                None => {
                    let text = |line: Option<&String>| line.map_or("(a step cannot be taken)", |l| l).to_owned();
                    let (theirs, ours) = (text(theirs), text(ours));
                    self.differences.push(format!("{}, {name}\n  InnoDB {theirs}\n  Gannet {ours}", case.name()));
                }
            }
        }
        Ok(())
    }
}

/// The file with the lines of InnoDB.
pub fn recorded(root: &Path) -> PathBuf {
    root.join("tests/isolation/innodb.txt")
}

fn read(path: &Path) -> Result<BTreeMap<String, Lines>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut all: BTreeMap<String, Lines> = BTreeMap::new();
    let mut at = String::new();
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        match line.split_once(": ").filter(|_| line.starts_with(' ')) {
            Some((order, line)) => {
                _ = all.entry(at.clone()).or_default().insert(order.trim().to_owned(), line.to_owned())
            }
            None => {
                at = line.to_owned();
                all.entry(at.clone()).or_default();
            }
        }
    }
    Ok(all)
}

fn write(path: &Path, stage: &mut Stage) -> Result<String, String> {
    let mut text = String::from(
        "# What InnoDB gives: MariaDB 10.11, by `cargo xtask isolation --record`. The steps are in xtask/src/isolation/scenarios.rs.\n\
         # ABAB: A1 10; B1 waits; A2 ok; B1 20 | 1/1/10: the order, what each step gave, the rows left (id/k/v).\n",
    );
    let mut count = 0;
    for case in cases() {
        // The greatest patience: a record is made once.
        let lines = perform(stage, &case, PATIENCE[1], None)?;
        text += &format!("{}\n", case.name());
        lines.iter().for_each(|(order, line)| text += &format!("  {order}: {line}\n"));
        count += lines.len();
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(format!("{count} orders recorded in {}", path.display()))
}

/// Compares a running server with the recorded lines of InnoDB: the scenarios with one way of reading, and every
/// `part`th of the other cases.
pub fn check(address: &Address, path: &Path, part: usize) -> Result<Comparison, String> {
    let mut stage = Stage::open(address, "gannet_isolation")?;
    let mut reference = Reference::Recorded(read(path)?);
    let mut found = Comparison::default();
    let one = |case: &Case| case.scenario.reads.len() == 1;
    for (_, case) in cases().iter().enumerate().filter(|(n, case)| one(case) || n.is_multiple_of(part)) {
        found.case(&mut stage, case, &mut reference)?;
    }
    Ok(found)
}

/// Runs `cargo xtask isolation`. Server A is the one at `GANNET_SOCKET` where none is named.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let (mut a, mut b, mut only, mut record, mut plays, mut seed) = (None, None, None, false, None, 1);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--record" {
            record = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} wants a value\n\n{USAGE}"))?;
        let tcp = || value.parse().map(|p| Address::Tcp("127.0.0.1".to_owned(), p)).map_err(|e| format!("{arg}: {e}"));
        match arg.as_str() {
            "--port-a" => a = Some(tcp()?),
            "--port-b" => b = Some(tcp()?),
            "--socket-a" => a = Some(Address::Unix(value.into())),
            "--socket-b" => b = Some(Address::Unix(value.into())),
            "--only" => only = Some(value.as_str()),
            "--random" => plays = Some(value.parse::<u64>().map_err(|e| format!("{arg}: {e}"))?),
            "--seed" => seed = value.parse::<u64>().map_err(|e| format!("{arg}: {e}"))?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let begin = Instant::now();
    let a = a.or_else(|| std::env::var_os("GANNET_SOCKET").map(|socket| Address::Unix(socket.into())));
    let mut stage = Stage::open(&a.ok_or(USAGE)?, "gannet_isolation")?;
    if record {
        return write(&recorded(root), &mut stage);
    }
    if let Some(plays) = plays {
        let mut other = Stage::open(&b.ok_or(USAGE)?, "gannet_isolation")?;
        return random::compare(&mut stage, &mut other, seed, plays);
    }
    let mut reference = match b {
        Some(b) => Reference::Server(Box::new(Stage::open(&b, "gannet_isolation")?)),
        None => Reference::Recorded(read(&recorded(root))?),
    };
    let mut found = Comparison::default();
    for case in cases().iter().filter(|c| only.is_none_or(|only| c.name().contains(only))) {
        found.case(&mut stage, case, &mut reference)?;
    }
    let mut text: String = found.differences.iter().map(|d| format!("{d}\n")).collect();
    text += &format!(
        "{} cases, {} orders in {:.1} s: {} differences without a reason",
        found.cases,
        found.orders,
        begin.elapsed().as_secs_f64(),
        found.differences.len()
    );
    found.explained.iter().for_each(|(reason, n)| text += &format!("\n  {n} explained: {reason}"));
    if found.differences.is_empty() { Ok(text) } else { Err(text) }
}
