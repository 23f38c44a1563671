//! `cargo xtask atomics`: atomic read-modify-writes of the server per point select and per commit, by place.
//!
//! callgrind counts how often each instruction ran; those with a `lock` prefix (and `xchg` with memory) are what takes
//! a cache line away from other cores. Reference counts, mutexes and libraries are seen like everything else. Two runs
//! that differ only in their events are subtracted, as in `instructions`. A place that is not listed, or counts more
//! than it may, is an error. Wants valgrind, sysbench and binutils.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
};

use crate::clients::build;
use crate::instructions::{Bench, EVENTS, in_scratch};

/// What a workload may do.
struct Workload {
    name: &'static str,
    protocol: &'static str,
    /// Place (a file below `crates/`, or the function where no file of ours is involved), at most per event, whose line
    /// it is.
    places: &'static [(&'static str, f64, &'static str)],
}

/// On lines that only the session or the worker itself writes, and that others read at most when a table changes or
/// work is waiting.
const OWN: &[(&str, f64, &str)] = &[
    ("(libc) __GI___libc_malloc", 1.0, "the thread's arena"),
    ("(libc) __GI___libc_realloc", 1.0, "the thread's arena"),
    ("(libc) _int_malloc", 1.0, "the thread's arena"),
    ("(libc) _int_free", 1.0, "the thread's arena"),
    ("(libc) malloc_consolidate", 1.0, "the thread's arena"),
    ("storage/lock/src/mdl.rs", 6.1, "the session's list of the tables it uses"),
    ("foundation/runtime/src/worker/mod.rs", 4.1, "the worker's flag that it sleeps"),
    ("(libc) __GI___pthread_enable_asynccancel", 5.0, "the thread's own"),
    ("(libc) __GI___pthread_disable_asynccancel", 5.0, "the thread's own"),
];

const WORKLOADS: &[Workload] = &[
    Workload { name: "oltp_point_select", protocol: "auto", places: OWN },
    Workload { name: GETS, protocol: "memcached", places: OWN },
    Workload { name: "oltp_point_select", protocol: "disable", places: OWN },
    Workload {
        name: "oltp_update_non_index",
        protocol: "auto",
        places: &[
            ("storage/lock/src/mdl.rs", 10.1, "the session's list of the tables it uses"),
            ("foundation/runtime/src/worker/mod.rs", 5.1, "the worker's flag that it sleeps, its mail"),
            ("foundation/runtime/src/task.rs", 5.1, "the session's park and wake-up by the log writer"),
            ("storage/buffer/src/state.rs", 3.2, "exclusive latches: the row's leaf, the transaction's undo page"),
            ("storage/buffer/src/pool.rs", 0.5, "frames in use: pages of undo, pages read in"),
            ("storage/log/src/ring.rs", 1.1, "log space: the change, which commits too"),
            ("foundation/telemetry/src/digest.rs", 1.1, "the count of the thread's own figures of the digest"),
            ("service/session/src/later.rs", 3.1, "the same, and the prepared statement's own, when the reply leaves"),
            ("foundation/telemetry/src/session.rs", 2.1, "the session's own list of what it waited for"),
            ("storage/log/src/idle.rs", 1.1, "the log writer's flag that it is wanted"),
            ("storage/log/src/waiters.rs", 2.1, "the list of those who wait for the log"),
            ("storage/log/src/log.rs", 1.1, "a waker's count"),
            ("storage/engine/src/trxtable.rs", 3.1, "the transaction's number, its slot"),
            ("storage/engine/src/undo/stream.rs", 6.1, "the worker's pool of undo streams; the end noted for purge"),
            ("sql/types/src/value.rs", 7.1, "counts of the statement's own strings"),
            ("(gannet) drop", 19.1, "counts of the statement's own strings, of the waker"),
            // An allocation that the thread's cache has no room for; whether one is depends on what the run began with.
            ("(libc) __GI___libc_malloc", 4.0, "the thread's arena"),
            ("(libc) __GI___libc_realloc", 1.0, "the thread's arena"),
            ("(libc) _int_malloc", 1.0, "the thread's arena"),
            ("(libc) _int_free", 4.0, "the thread's arena"),
            ("(libc) malloc_consolidate", 1.0, "the thread's arena"),
            ("(libc) __GI___pthread_enable_asynccancel", 6.0, "the thread's own"),
            ("(libc) __GI___pthread_disable_asynccancel", 6.0, "the thread's own"),
        ],
    },
];

/// A get of memcached's protocol.
const GETS: &str = "memcached get";
/// Its items.
const ITEMS: u64 = 100;

/// Counts below this are what now and then happens, not what an event costs.
const RARE: f64 = 0.05;

/// Measures every workload whose name contains the first word, of this build or of `--binary PATH`. Places are files:
/// the binary needs its tables of lines, which the release profile leaves out.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let (mut filter, mut binary) = (None, None);
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--binary" => binary = Some(PathBuf::from(rest.next().ok_or("--binary takes a path")?)),
            other => filter = Some(other),
        }
    }
    let bin = binary.map_or_else(|| build(root, "profiling"), Ok)?;
    in_scratch("atomics", |dir| measure(&bin, dir, filter))
}

/// Gets of one key each, one after the other.
fn gets(dir: &Path, events: u64) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("memcached's protocol: {e}");
    let mut to = UnixStream::connect(dir.join("keys.sock")).map_err(failed)?;
    let mut from = BufReader::new(to.try_clone().map_err(failed)?);
    let mut ask = |text: String, lines: usize| {
        to.write_all(text.as_bytes()).map_err(failed)?;
        let mut said = String::new();
        (0..lines).try_for_each(|_| from.read_line(&mut said).map(drop)).map_err(failed)?;
        let good = said == "STORED\r\n" || said.starts_with("VALUE ") && said.ends_with("\r\nEND\r\n");
        if good { Ok(()) } else { Err(format!("{text:?}: {said:?}")) }
    };
    (0..ITEMS).try_for_each(|n| ask(format!("set key-{n} 0 0 100\r\n{n:0100}\r\n"), 1))?;
    (0..events).try_for_each(|n| ask(format!("get key-{}\r\n", n % ITEMS), 3))
}

fn measure(bin: &Path, dir: &Path, filter: Option<&str>) -> Result<String, String> {
    let with = [format!("--memcached-socket={}", dir.join("keys.sock").display())];
    let bench = Bench::prepare(bin, None, dir, &with)?;
    let mut table = String::from("| workload | protocol | place | an event | line |\n|---|---|---|--:|---|\n");
    let mut faults = String::new();
    for w in WORKLOADS.iter().filter(|w| filter.is_none_or(|f| w.name.contains(f))) {
        let mut runs = Vec::new();
        for events in EVENTS {
            let options = ["--dump-instr=yes", "--compress-strings=no", "--compress-pos=no"];
            let report = match w.name {
                GETS => bench.beside(&options, |dir| gets(dir, events))?,
                name => bench.run(name, w.protocol, events, &options)?,
            };
            runs.push(executions(&report)?);
        }
        let protocol = match w.protocol {
            "auto" => "prepared",
            "disable" => "text",
            other => other,
        };
        for (place, n) in places(&runs[0], &runs[1])?.into_iter().filter(|(_, n)| *n >= RARE) {
            let known = w.places.iter().find(|(p, ..)| *p == place);
            let _ = writeln!(table, "| {} | {protocol} | {place} | {n:.2} | {} |", w.name, known.map_or("?", |k| k.2));
            if known.is_none_or(|(_, most, _)| n > *most) {
                let most = known.map_or(0.0, |k| k.1);
                let _ = writeln!(faults, "{} ({protocol}): {n:.2} an event at {place}, at most {most}", w.name);
            }
        }
    }
    if faults.is_empty() { Ok(table) } else { Err(format!("{table}\n{faults}")) }
}

/// How often the instruction at an address of an object file ran.
type Executions = HashMap<(String, u64), u64>;

/// From callgrind's format (manual, "Callgrind Format Specification") with addresses, uncompressed: `ob=` lines name
/// the object, cost lines are `0xADDRESS line count`; the one after a `calls=` line belongs to the callee.
fn executions(report: &str) -> Result<Executions, String> {
    let mut all = Executions::new();
    let (mut object, mut callee) = (String::new(), false);
    for line in report.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = name.trim().to_owned();
        } else if line.starts_with("calls=") {
            callee = true;
        } else if let Some(cost) = line.strip_prefix("0x")
            && !std::mem::take(&mut callee)
        {
            let mut fields = cost.split_ascii_whitespace();
            let address = fields.next().and_then(|a| u64::from_str_radix(a, 16).ok());
            let count = fields.nth(1).and_then(|n| n.parse::<u64>().ok());
            let (Some(address), Some(count)) = (address, count) else {
                return Err(format!("callgrind's report has the line '{line}'"));
            };
            *all.entry((object.clone(), address)).or_default() += count;
        }
    }
    Ok(all)
}

/// Read-modify-writes an event, by place.
fn places(few: &Executions, many: &Executions) -> Result<BTreeMap<String, f64>, String> {
    let mut objects: Vec<&String> = many.keys().map(|(object, _)| object).filter(|o| o.starts_with('/')).collect();
    objects.sort();
    objects.dedup();
    let mut all = BTreeMap::new();
    for object in objects {
        for address in locked(object)? {
            let key = (object.clone(), address);
            let more = many.get(&key).copied().unwrap_or(0).saturating_sub(few.get(&key).copied().unwrap_or(0));
            if more > 0 {
                *all.entry(place(object, address)?).or_default() += more as f64 / (EVENTS[1] - EVENTS[0]) as f64;
            }
        }
    }
    Ok(all)
}

/// The addresses of the read-modify-writes of an object. `lock or` of nothing to the stack is how a fence is written.
fn locked(object: &str) -> Result<Vec<u64>, String> {
    let text = output(Command::new("objdump").args(["-d", "--no-show-raw-insn", object]))?;
    let is_locked = |code: &str| {
        (code.contains("lock ") && !(code.contains("$0x0,") && code.contains("(%rsp)")))
            || (code.trim_start().starts_with("xchg") && code.contains("("))
    };
    let lines = text.lines().filter_map(|line| line.split_once(":\t"));
    Ok(lines.filter(|(_, code)| is_locked(code)).filter_map(|(a, _)| u64::from_str_radix(a.trim(), 16).ok()).collect())
}

/// The innermost file of ours among the functions inlined at an address; without one, the function.
fn place(object: &str, address: u64) -> Result<String, String> {
    let text = output(Command::new("addr2line").args(["-Cfie", object, &format!("{address:#x}")]))?;
    let lines: Vec<&str> = text.lines().collect();
    let ours = |file: &&&str| !file.contains("/registry/") && !file.contains("base/src/sync.rs");
    let file = lines.iter().skip(1).step_by(2).filter(ours).find_map(|file| file.split_once("/crates/"));
    if let Some((_, file)) = file {
        return Ok(file.split(':').next().unwrap_or(file).to_owned());
    }
    let name = lines.len().checked_sub(2).map_or("?", |i| lines[i]);
    let name = if name.contains("drop") { "drop" } else { name };
    let object = if object.contains("libc") { "libc" } else { object.rsplit('/').next().unwrap_or(object) };
    Ok(format!("({object}) {name}"))
}

fn output(command: &mut Command) -> Result<String, String> {
    let out = command.output().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if !out.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr)));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_behind_a_call_is_the_callees() {
        let report = "ob=/a\nfn=f\n0x10 3 5\n0x14 3 2\ncob=/b\ncfn=g\ncalls=1 0x20 9\n0x14 3 700\nob=/b\n0x20 9 700\n";
        let all = executions(report).unwrap();
        assert_eq!(all[&("/a".to_owned(), 0x14)], 2);
        assert_eq!(all[&("/b".to_owned(), 0x20)], 700);
        assert_eq!(all.len(), 3);
        assert_eq!(executions("0xzz 1 1").unwrap_err(), "callgrind's report has the line '0xzz 1 1'");
    }
}
