//! `cargo xtask fuzz`: the fuzz targets of `fuzz/` on the stable compiler. No coverage leads it: valid inputs are
//! mutated, from a seed. A finding is kept in `target/fuzz/` and the line that replays it is printed.
//!
//! The targets `statements`, `prepared` and `changes` send their inputs to a server that is started for them (see
//! `served`).

pub(crate) mod changes;
mod mutate;
mod served;
mod statements;

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A target: its name as in `fuzz/Cargo.toml`, what it calls, and valid inputs.
struct Target {
    name: &'static str,
    check: fn(&[u8]),
    seeds: fn(&Path) -> Vec<Vec<u8>>,
}

const TARGETS: &[Target] = &[
    Target { name: "wire_frames", check: gannet_wire::fuzzing::frames, seeds: |_| gannet_wire::fuzzing::seeds() },
    Target { name: "wire_handshake", check: gannet_wire::fuzzing::handshake, seeds: |_| gannet_wire::fuzzing::seeds() },
    Target { name: "wire_command", check: gannet_wire::fuzzing::command, seeds: |_| gannet_wire::fuzzing::seeds() },
    Target {
        name: "wire_replies",
        check: gannet_wire::fuzzing::replies,
        seeds: |_| gannet_wire::fuzzing::reply_seeds(),
    },
    Target {
        name: "wire_compressed",
        check: gannet_wire::fuzzing::compressed,
        seeds: |_| gannet_wire::fuzzing::compressed_seeds(),
    },
    Target {
        name: "memcached",
        check: gannet_wire::memcached::fuzzing::check,
        seeds: |_| gannet_wire::memcached::fuzzing::seeds(),
    },
    Target { name: "binlog", check: gannet_binlog::fuzzing::check, seeds: |_| gannet_binlog::fuzzing::seeds() },
    Target { name: "parser", check: gannet_parser::fuzz::check, seeds: statements },
    Target {
        name: "load_lines",
        check: gannet_exec::file::fuzzing::check,
        seeds: |_| gannet_exec::file::fuzzing::seeds(),
    },
    Target { name: "page", check: gannet_page::fuzzing::page, seeds: |_| gannet_engine::fuzzing::page_seeds() },
    Target {
        name: "page_operations",
        check: gannet_page::fuzzing::operations_on_blank,
        seeds: |_| gannet_engine::fuzzing::operation_seeds(),
    },
    Target { name: "log_segments", check: gannet_log::fuzzing::segments, seeds: |_| gannet_log::fuzzing::seeds() },
    Target { name: "log_redo", check: gannet_engine::fuzzing::redo, seeds: |_| gannet_engine::fuzzing::redo_seeds() },
    Target { name: "full_text", check: gannet_text::fuzzing::check, seeds: |_| gannet_text::fuzzing::seeds() },
    Target { name: "values", check: gannet_types::fuzzing::check, seeds: |_| gannet_types::fuzzing::seeds() },
    Target { name: "dictionary", check: gannet_schema::fuzzing::check, seeds: |_| gannet_schema::fuzzing::seeds() },
    Target { name: "undo", check: gannet_engine::fuzzing::undo, seeds: |_| gannet_engine::fuzzing::undo_seeds() },
];

/// Targets that need a server.
const SERVED: &[(&str, served::Round)] =
    &[("statements", statements::statements), ("prepared", statements::prepared), ("changes", changes::round)];

/// How long, from where and how far rounds on a server go.
struct Options {
    span: Duration,
    seed: u64,
    rounds: u64,
    /// Different findings after which a target ends.
    findings: usize,
    /// The binary to start; without one, that of a development build.
    server: Option<PathBuf>,
}

/// An input that takes longer counts as a hang.
const HANG: Duration = Duration::from_secs(20);

/// The statements of the parser's own tests, each after a byte of sql_mode bits.
fn statements(root: &Path) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(root.join("crates/sql/parser/tests/rows")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let rows = text.lines().filter(|l| !l.is_empty() && !l.starts_with(['=', '!', '#']));
        out.extend(rows.map(|l| [b"\0", l.replace("\\n", "\n").as_bytes()].concat()));
    }
    out.sort();
    out
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// One to eight changes; half of them near the beginning, where headers are.
fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    const NUMBERS: [u64; 10] = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x4000, 0xFFFF_FFFF, u64::MAX];
    let mut data = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(8) {
        let span = if random.below(2) == 0 { data.len().min(96) } else { data.len() };
        let at = random.below(span);
        let some = 1 + random.below(8);
        let end = (at + some).min(data.len());
        match random.below(9) {
            0 | 1 if at < data.len() => data[at] = random.next() as u8,
            2 if at < data.len() => data[at] ^= 1 << random.below(8),
            3 => {
                let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                data[at..end].copy_from_slice(&number[..end - at]);
            }
            4 => drop(data.splice(at..at, (0..some).map(|_| random.next() as u8))),
            5 => drop(data.drain(at..end)),
            6 => data.truncate(at.max(1)),
            7 => {
                let from = random.below(data.len());
                let piece = data[from..(from + 1 + random.below(64)).min(data.len())].to_vec();
                data.splice(at..at, piece);
            }
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
        }
    }
    data
}

/// Runs `cargo xtask fuzz` with these arguments.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    const KNOWN: &[&str] =
        &["--target", "--minutes", "--seed", "--rounds", "--findings", "--server", "--input", "--corpus"];
    if let Some(other) = args.chunks(2).find(|a| a.len() != 2 || !KNOWN.contains(&a[0].as_str())) {
        return Err(format!("{}: unknown, or without a value; known are {}", other[0], KNOWN.join(", ")));
    }
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let number = |name: &str, default: f64| match value(name) {
        Some(v) => v.parse::<f64>().map_err(|_| format!("{name} takes a number, not '{v}'")),
        None => Ok(default),
    };
    let wanted = value("--target").map(String::as_str);
    let chosen: Vec<&Target> = TARGETS.iter().filter(|t| wanted.is_none_or(|name| name == t.name)).collect();
    let span = Duration::from_secs_f64(number("--minutes", 1.0)? * 60.0);
    let seed = number("--seed", std::time::UNIX_EPOCH.elapsed().map_or(1.0, |d| d.as_secs() as f64))? as u64;
    if let Some((name, round)) = SERVED.iter().find(|(name, _)| wanted == Some(name)) {
        let rounds = number("--rounds", f64::MAX)? as u64;
        let findings = number("--findings", 1.0)? as usize;
        let options = Options { span, seed, rounds, findings, server: value("--server").map(PathBuf::from) };
        return served::run(root, name, *round, &options);
    }
    if chosen.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|t| t.name).chain(SERVED.iter().map(|s| s.0)).collect();
        return Err(format!("the targets are: {}", names.join(", ")));
    }
    if let (Some(file), [target]) = (value("--input"), &chosen[..]) {
        let data = fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        (target.check)(&data);
        return Ok(format!("fuzz {}: {file} does no harm", target.name));
    }
    if let (Some(dir), [target]) = (value("--corpus"), &chosen[..]) {
        return corpus(root, target, Path::new(dir));
    }
    let mut lines = Vec::new();
    for target in chosen {
        lines.push(one(root, target, span, seed)?);
        println!("{}", lines[lines.len() - 1]);
    }
    Ok(format!("fuzz: {} targets without a finding", lines.len()))
}

/// Writes a target's valid inputs, a file each, from which `cargo fuzz` goes on.
fn corpus(root: &Path, target: &Target, dir: &Path) -> Result<String, String> {
    let seeds = (target.seeds)(root);
    let file = |n: usize| dir.join(format!("{}-{n}", target.name));
    let written = fs::create_dir_all(dir)
        .and_then(|()| seeds.iter().enumerate().try_for_each(|(n, data)| fs::write(file(n), data)));
    written.map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(format!("fuzz {}: {} inputs in {}", target.name, seeds.len(), dir.display()))
}

fn one(root: &Path, target: &Target, span: Duration, seed: u64) -> Result<String, String> {
    let seeds = (target.seeds)(root);
    let seeds: Vec<_> = seeds.into_iter().filter(|s| !s.is_empty()).collect();
    if seeds.is_empty() {
        return Err(format!("fuzz {}: no valid inputs", target.name));
    }
    let now: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let (runs, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| watch(root, target, &now, &runs, &ended));
        let mut random = Random(seed);
        let mut outcome = Ok(());
        // The seeds themselves first.
        for data in &seeds {
            outcome = outcome.and_then(|()| check(root, target, data, &now));
        }
        while outcome.is_ok() && begin.elapsed() < span {
            let data = mutate(&mut random, &seeds);
            outcome = check(root, target, &data, &now);
            runs.fetch_add(1, Ordering::Relaxed);
        }
        ended.store(1, Ordering::Release);
        outcome
    })?;
    let n = runs.load(Ordering::Relaxed);
    Ok(format!(
        "fuzz {}: {n} inputs in {:.0} s from seed {seed}, no finding",
        target.name,
        begin.elapsed().as_secs_f64()
    ))
}

fn check(root: &Path, target: &Target, data: &[u8], now: &Mutex<Vec<u8>>) -> Result<(), String> {
    if let Ok(mut kept) = now.lock() {
        kept.clear();
        kept.extend_from_slice(data);
    }
    let check = target.check;
    match catch_unwind(|| check(data)) {
        Ok(()) => Ok(()),
        Err(_) => Err(keep(root, target, data, "a panic")),
    }
}

/// Writes a finding to a file; how to replay it.
fn keep(root: &Path, target: &Target, data: &[u8], what: &str) -> String {
    let dir = root.join("target/fuzz");
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let file = dir.join(format!("{}-{hash:016x}", target.name));
    let kept = fs::create_dir_all(&dir).and_then(|()| fs::write(&file, data));
    let name = target.name;
    format!("fuzz {name}: {what} ({kept:?}); replay: cargo xtask fuzz --target {name} --input {}", file.display())
}

/// Ends the process when one input takes too long.
fn watch(root: &Path, target: &Target, now: &Mutex<Vec<u8>>, runs: &AtomicU64, ended: &AtomicU64) {
    let (mut seen, mut since) = (u64::MAX, Instant::now());
    while ended.load(Ordering::Acquire) == 0 {
        std::thread::sleep(Duration::from_millis(50));
        let n = runs.load(Ordering::Relaxed);
        if n != seen {
            (seen, since) = (n, Instant::now());
        } else if since.elapsed() > HANG {
            let data = now.lock().map(|d| d.clone()).unwrap_or_default();
            eprintln!("{}", keep(root, target, &data, "a hang"));
            std::process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a coverage-guided fuzzer runs, this command runs too.
    #[test]
    fn every_target_is_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for entry in fs::read_dir(root.join("fuzz/fuzz_targets")).expect("the targets").flatten() {
            let file = entry.path();
            let name = file.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
            let target = TARGETS.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("{name} is no target"));
            let seeds = (target.seeds)(&root);
            assert!(!seeds.is_empty() && seeds.iter().any(|s| !s.is_empty()), "{name} has no inputs");
            seeds.iter().for_each(|s| (target.check)(s));
        }
    }
}
