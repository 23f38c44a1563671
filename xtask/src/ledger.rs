//! `cargo xtask ledger`: sysbench against this build, MariaDB where it is installed, and other builds, in turn on one
//! machine; the figures go to the end of `docs/ledger.csv`.
//!
//! Each server has data of its own: 8 tables of 100,000 rows in memory, 2 GiB of pool, 1 GiB of redo, every commit
//! synced. A round runs every workload once on every server before the next round begins, so that a machine whose speed
//! drifts is the same for all. Processor time is that of the server's process, all threads, over the workload.
//!
//! The ledger has a line for each figure: `date,commit,what,figure,unit,command`. `commit` is a short hash, with `+`
//! when the tree has changes. Of the rounds the median is kept, and of rates the least and the greatest, too. Each run
//! adds the size of the stripped binary, and the share of processor time that a virtual machine's host took away
//! meanwhile. `--build` measures a clean release build and one after a change of the binary's own crate, and no
//! workload. `--table` measures nothing: it writes the table of `docs/benchmarks.md` anew, of the newest figures.

use crate::{clients::build_release, figures};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Workload, options, queries of an event.
const WORKLOADS: &[(&str, &str, &[&str], f64)] = &[
    ("point_select", "oltp_point_select", &["--skip-trx=on"], 1.0),
    ("point_select text", "oltp_point_select", &["--skip-trx=on", "--db-ps-mode=disable"], 1.0),
    ("read_only", "oltp_read_only", &[], 16.0),
    ("read_write", "oltp_read_write", &[], 20.0),
    ("write_only", "oltp_write_only", &[], 6.0),
    ("update_index", "oltp_update_index", &[], 1.0),
    ("update_non_index", "oltp_update_non_index", &[], 1.0),
    ("insert", "oltp_insert", &[], 1.0),
];

const HEAD: &str = "date,commit,what,figure,unit,command";

/// What was asked for.
struct Wish {
    seconds: u64,
    rounds: usize,
    threads: u32,
    only: Option<String>,
    build: bool,
    /// Other builds: name and binary.
    beside: Vec<(String, PathBuf)>,
}

impl Wish {
    fn parse(args: &[String]) -> Result<Wish, String> {
        let mut wish = Wish { seconds: 6, rounds: 3, threads: 64, only: None, build: false, beside: Vec::new() };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            if option == "--build" {
                wish.build = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{option} wants a value"))?;
            let number = || value.parse::<u64>().map_err(|e| format!("{option} {value}: {e}"));
            match option.as_str() {
                "--seconds" => wish.seconds = number()?.max(1),
                "--rounds" => wish.rounds = number()?.max(1) as usize,
                "--threads" => wish.threads = number()?.max(1) as u32,
                "--only" => wish.only = Some(value.clone()),
                "--beside" => {
                    let (name, path) = value.split_once('=').ok_or("--beside NAME=BINARY")?;
                    wish.beside.push((name.to_owned(), path.into()));
                }
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(wish)
    }
}

/// One figure of a run.
#[derive(Clone, Copy)]
struct Run {
    tps: f64,
    cpu_us_per_query: f64,
}

/// Lines of the ledger that one run adds.
pub(crate) struct Entries {
    date: String,
    commit: String,
    command: String,
    lines: String,
}

impl Entries {
    pub(crate) fn new(root: &Path, verb: &str, args: &[String]) -> Result<Entries, String> {
        // Where a binary lies says nothing to others.
        let shown = |arg: &String| arg.split_once("=/").map_or(arg.clone(), |(name, _)| format!("{name}=BINARY"));
        let shown: Vec<String> = args.iter().map(shown).collect();
        let command = format!("cargo xtask {verb} {}", shown.join(" ")).trim_end().to_owned();
        Ok(Entries { date: output("date", &["+%F"], root)?, commit: build_name(root)?, command, lines: String::new() })
    }

    pub(crate) fn add(&mut self, what: &str, figure: impl std::fmt::Display, unit: &str) {
        let fields = [&self.date, &self.commit, what, &figure.to_string(), unit, &self.command].map(field);
        self.lines.push_str(&fields.join(","));
        self.lines.push('\n');
    }

    pub(crate) fn append_to(&self, path: &Path) -> Result<(), String> {
        let mut text = fs::read_to_string(path).unwrap_or_else(|_| format!("{HEAD}\n"));
        text.push_str(&self.lines);
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// A field of CSV (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Measures, prints a table, and appends to the ledger.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    if args == ["--table"] {
        return figures::write_table(root);
    }
    let wish = Wish::parse(args)?;
    let mut entries = Entries::new(root, "ledger", args)?;
    let dir = std::env::temp_dir().join(format!("gannet-ledger-{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let outcome = match wish.build {
        true => time_builds(root, &dir, &mut entries),
        false => build_release(root).and_then(|bin| measure(&bin, &dir, &wish, &mut entries)),
    };
    let _ = fs::remove_dir_all(&dir);
    let report = outcome?;
    entries.append_to(&root.join("docs/ledger.csv"))?;
    Ok(report)
}

/// A release build in an empty target folder, and one after the binary's own source has changed its time.
fn time_builds(root: &Path, dir: &Path, entries: &mut Entries) -> Result<String, String> {
    let target = dir.join("target");
    let build = ["build", "--release", "--bin", "gannet", "--target-dir", &target.to_string_lossy()];
    let seconds = || -> Result<f64, String> {
        let start = Instant::now();
        output("cargo", &build, root)?;
        Ok(start.elapsed().as_secs_f64())
    };
    let clean = seconds()?;
    output("touch", &["crates/gannet/src/main.rs"], root)?;
    let again = seconds()?;
    entries.add("release build, clean", format_args!("{clean:.0}"), "s");
    entries.add("release build after a change of the binary's crate", format_args!("{again:.0}"), "s");
    let bytes = stripped_bytes(&target.join("release/gannet"), dir)?;
    entries.add("stripped binary", bytes, "bytes");
    Ok(format!("clean {clean:.0} s, again {again:.0} s, stripped binary {bytes} bytes"))
}

fn measure(bin: &Path, dir: &Path, wish: &Wish, entries: &mut Entries) -> Result<String, String> {
    let mut servers = vec![Server::gannet("gannet", bin, dir)?];
    for (name, other) in &wish.beside {
        servers.push(Server::gannet(name, other, dir)?);
    }
    if let Some(mariadb) = Server::mariadb(dir)? {
        servers.push(mariadb);
    }
    for server in &servers {
        server.mysql("CREATE DATABASE sbtest")?;
        server.sysbench("oltp_common", &["--threads=4"], "prepare")?;
    }
    let chosen: Vec<_> =
        WORKLOADS.iter().filter(|w| wish.only.as_ref().is_none_or(|only| w.0.contains(only.as_str()))).collect();
    let mut runs = vec![vec![Vec::new(); servers.len()]; chosen.len()];
    let steal = Steal::now();
    for _ in 0..wish.rounds {
        for ((_, test, options, queries), runs) in chosen.iter().zip(&mut runs) {
            for (server, runs) in servers.iter().zip(runs) {
                runs.push(server.load(test, options, *queries, wish)?);
            }
        }
    }
    let taken = steal.percent();
    let mut table = String::from("| workload | server | TPS | least-most | CPU us/query |\n|---|---|--:|--:|--:|\n");
    for ((name, ..), runs) in chosen.iter().zip(&runs) {
        for (server, runs) in servers.iter().zip(runs) {
            let (tps, least, most) = spread(runs.iter().map(|r| r.tps));
            let (cpu, ..) = spread(runs.iter().map(|r| r.cpu_us_per_query));
            let server = &server.name;
            table.push_str(&format!("| {name} | {server} | {tps:.0} | {least:.0}-{most:.0} | {cpu:.1} |\n"));
            for (kind, rate) in [("", tps), (", least", least), (", most", most)] {
                entries.add(&format!("{name}, {server}{kind}"), format_args!("{rate:.0}"), "transactions/s");
            }
            entries.add(&format!("{name}, {server}"), format_args!("{cpu:.1}"), "CPU us/query");
        }
    }
    let bytes = stripped_bytes(bin, dir)?;
    entries.add("stripped binary", bytes, "bytes");
    entries.add("processors taken by the host", format_args!("{taken:.1}"), "%");
    Ok(format!("{table}\nstripped binary {bytes} bytes; the host took {taken:.1} % of the processors"))
}

/// Median, least, greatest.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    match (all.get(all.len() / 2), all.first(), all.last()) {
        (Some(median), Some(least), Some(most)) => (*median, *least, *most),
        _ => (0.0, 0.0, 0.0),
    }
}

fn build_name(root: &Path) -> Result<String, String> {
    let hash = output("git", &["rev-parse", "--short", "HEAD"], root)?;
    let clean = output("git", &["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"], root)?.is_empty();
    Ok(if clean { hash } else { format!("{hash}+") })
}

fn stripped_bytes(bin: &Path, dir: &Path) -> Result<u64, String> {
    let to = dir.join("stripped");
    output("objcopy", &["--strip-all", &bin.to_string_lossy(), &to.to_string_lossy()], dir)?;
    fs::metadata(&to).map(|m| m.len()).map_err(|e| e.to_string())
}

fn output(command: &str, args: &[&str], dir: &Path) -> Result<String, String> {
    let done = Command::new(command).args(args).current_dir(dir).output().map_err(|e| format!("{command}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{command}: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// A server under load.
struct Server {
    name: String,
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn gannet(name: &str, bin: &Path, dir: &Path) -> Result<Server, String> {
        let mut command = Command::new(bin);
        command.args(["serve", "--skip-networking", "--max-connections=2000", "--max-prepared-stmt-count=1000000"]);
        command.args(["--innodb-buffer-pool-size=2G", "--innodb-redo-log-capacity=1G"]);
        Server::start(name, command, &dir.join(name))
    }

    /// `None` where MariaDB is not installed.
    fn mariadb(dir: &Path) -> Result<Option<Server>, String> {
        let dir = dir.join("mariadb");
        let data = format!("--datadir={}", dir.join("data").display());
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let install = ["--no-defaults", "--user=root", "--auth-root-authentication-method=normal", &data];
        match Command::new("mariadb-install-db").args(install).stdout(Stdio::null()).stderr(Stdio::null()).status() {
            Err(_) => return Ok(None),
            Ok(status) if !status.success() => return Err("mariadb-install-db failed".to_owned()),
            Ok(_) => {}
        }
        let mut command = Command::new("mariadbd");
        command.args(["--no-defaults", "--user=root", "--skip-networking", "--max-connections=2000"]);
        command.args(["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G", "--innodb-flush-method=O_DIRECT"]);
        command.args(["--max-prepared-stmt-count=1000000", "--table-open-cache=4000", "--back-log=1000"]);
        Server::start("mariadb", command, &dir).map(Some)
    }

    fn start(name: &str, mut command: Command, dir: &Path) -> Result<Server, String> {
        fs::create_dir_all(dir).map_err(|e| e.to_string())?;
        let socket = dir.join("s.sock");
        command.arg(format!("--datadir={}", dir.join("data").display()));
        command.arg(format!("--socket={}", socket.display())).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        let mut server = Server { name: name.to_owned(), child, socket };
        let deadline = Instant::now() + Duration::from_secs(60);
        while server.mysql("SELECT 1").is_err() {
            if Instant::now() > deadline || server.child.try_wait().is_ok_and(|s| s.is_some()) {
                return Err(format!("{name} does not answer"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn mysql(&self, sql: &str) -> Result<(), String> {
        let socket = self.socket.to_string_lossy();
        output("mysql", &["--no-defaults", "-uroot", "-S", &socket, "-e", sql], Path::new("/")).map(drop)
    }

    fn sysbench(&self, test: &str, options: &[&str], command: &str) -> Result<String, String> {
        let socket = format!("--mysql-socket={}", self.socket.display());
        let fixed = ["--mysql-user=root", "--mysql-db=sbtest", "--mysql-ssl=off", "--tables=8", "--table-size=100000"];
        let args: Vec<&str> = [&[test, &socket][..], &fixed, &["--rand-type=uniform"], options, &[command]].concat();
        output("sysbench", &args, Path::new("/"))
    }

    fn load(&self, test: &str, options: &[&str], queries: f64, wish: &Wish) -> Result<Run, String> {
        let (time, threads) = (format!("--time={}", wish.seconds), format!("--threads={}", wish.threads));
        let before = self.cpu_us()?;
        let report = self.sysbench(test, &[&[&*time, &*threads][..], options].concat(), "run")?;
        let spent = self.cpu_us()? - before;
        let field = |name: &str| {
            let line = report.lines().find(|l| l.trim_start().starts_with(name))?;
            line.split(':').nth(1)?.split_whitespace().next()?.parse::<f64>().ok()
        };
        let events = field("total number of events").ok_or_else(|| format!("no events in\n{report}"))?;
        let seconds = report
            .lines()
            .find_map(|l| l.trim().strip_prefix("total time:")?.trim().strip_suffix('s')?.parse::<f64>().ok())
            .ok_or("no time in sysbench's report")?;
        Ok(Run { tps: events / seconds, cpu_us_per_query: spent / (events * queries) })
    }

    /// Processor time that the process has used, microseconds.
    fn cpu_us(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or_default();
        // utime and stime, in hundredths of a second.
        Ok((ticks(11) + ticks(12)) * 10_000.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time that the host of a virtual machine gave to others.
struct Steal {
    total: u64,
    taken: u64,
}

impl Steal {
    fn now() -> Steal {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let all: Vec<u64> = line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
        Steal { total: all.iter().take(8).sum(), taken: all.get(7).copied().unwrap_or(0) }
    }

    /// Of the time since.
    fn percent(&self) -> f64 {
        let now = Steal::now();
        100.0 * (now.taken - self.taken) as f64 / (now.total - self.total).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_medians() {
        let args = ["--rounds", "5", "--beside", "old=/x/gannet"].map(str::to_owned);
        let wish = Wish::parse(&args).expect("options");
        assert_eq!((wish.rounds, wish.seconds, wish.beside.len()), (5, 6, 1));
        assert_eq!(Wish::parse(&["--rounds".to_owned()]).err().as_deref(), Some("--rounds wants a value"));
        assert_eq!(spread([3.0, 1.0, 2.0].into_iter()), (2.0, 1.0, 3.0));
    }

    #[test]
    fn entries_are_lines_of_csv_under_the_head() {
        let (date, commit) = ("2026-11-23".to_owned(), "abc".to_owned());
        let mut entries = Entries { date, commit, command: "cargo xtask ledger".to_owned(), lines: String::new() };
        entries.add("insert, gannet", format_args!("{:.1}", 17.25), "CPU us/query");
        entries.add("stripped \"binary\"", 7, "bytes");
        let lines = "2026-11-23,abc,\"insert, gannet\",17.2,CPU us/query,cargo xtask ledger\n\
                     2026-11-23,abc,\"stripped \"\"binary\"\"\",7,bytes,cargo xtask ledger\n";
        assert_eq!(entries.lines, lines);
        let path = std::env::temp_dir().join(format!("gannet-ledger-test-{}.csv", std::process::id()));
        entries.append_to(&path).expect("a new ledger");
        entries.append_to(&path).expect("the same ledger");
        let text = fs::read_to_string(&path).expect("a ledger");
        fs::remove_file(&path).expect("to be removed");
        assert_eq!(text, format!("{HEAD}\n{lines}{lines}"));
        let kept = fs::read_to_string(crate::root().join("docs/ledger.csv")).expect("docs/ledger.csv");
        assert_eq!(kept.lines().next(), Some(HEAD));
    }
}
