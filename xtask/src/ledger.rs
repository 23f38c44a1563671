//! `cargo xtask ledger`: sysbench against this build, MariaDB where it is installed, and other builds, in turn on one machine; the
//! figures go to the end of `docs/ledger.csv`.
//!
//! Each server has data of its own: 8 tables of 100,000 rows in memory, 2 GiB of pool, 1 GiB of redo, every commit synced. A round runs
//! every workload once on every server before the next round begins, so that a machine whose speed drifts is the same for all. Processor
//! time is that of the server's process, all threads, over the workload.
//!
//! Columns: date, build (short hash, `+` when the tree has changes), server, workload, threads, rounds, transactions per second (median,
//! least, greatest), microseconds of processor time per query (median). A last line per build has the size of the stripped binary in bytes and
//! the share of processor time that a virtual machine's host took away meanwhile, in percent.

use crate::clients::build_release;
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

const HEAD: &str = "date,build,server,workload,threads,rounds,tps,tps_least,tps_most,cpu_us_per_query";

/// What was asked for.
struct Wish {
    seconds: u64,
    rounds: usize,
    threads: u32,
    only: Option<String>,
    /// Other builds: name and binary.
    beside: Vec<(String, PathBuf)>,
}

impl Wish {
    fn parse(args: &[String]) -> Result<Wish, String> {
        let mut wish = Wish { seconds: 6, rounds: 3, threads: 64, only: None, beside: Vec::new() };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
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

/// Measures, prints a table, and appends to the ledger.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let wish = Wish::parse(args)?;
    let bin = build_release(root)?;
    let dir = std::env::temp_dir().join(format!("gannet-ledger-{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let outcome = measure(root, &bin, &dir, &wish);
    let _ = fs::remove_dir_all(&dir);
    outcome
}

fn measure(root: &Path, bin: &Path, dir: &Path, wish: &Wish) -> Result<String, String> {
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
    let (date, build) = (output("date", &["+%F"], root)?, build_name(root)?);
    let (mut lines, mut table) = (
        String::new(),
        String::from("| workload | server | TPS | least-most | CPU us/query |\n|---|---|--:|--:|--:|\n"),
    );
    for ((name, ..), runs) in chosen.iter().zip(&runs) {
        for (server, runs) in servers.iter().zip(runs) {
            let (tps, least, most) = spread(runs.iter().map(|r| r.tps));
            let (cpu, ..) = spread(runs.iter().map(|r| r.cpu_us_per_query));
            let who = &server.name;
            table.push_str(&format!("| {name} | {who} | {tps:.0} | {least:.0}-{most:.0} | {cpu:.1} |\n"));
            let (threads, rounds) = (wish.threads, wish.rounds);
            lines.push_str(&format!(
                "{date},{build},{who},{name},{threads},{rounds},{tps:.0},{least:.0},{most:.0},{cpu:.1}\n"
            ));
        }
    }
    let bytes = stripped_bytes(bin, dir)?;
    lines.push_str(&format!("{date},{build},gannet,stripped binary bytes; host took percent,,,{bytes},,,{taken:.1}\n"));
    append(&root.join("docs/ledger.csv"), &lines)?;
    Ok(format!("{table}\nstripped binary {bytes} bytes; the host took {taken:.1} % of the processors"))
}

fn append(path: &Path, lines: &str) -> Result<(), String> {
    let mut text = fs::read_to_string(path).unwrap_or_else(|_| format!("{HEAD}\n"));
    text.push_str(lines);
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
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
        assert!(Wish::parse(&["--rounds".to_owned()]).is_err());
        assert_eq!(spread([3.0, 1.0, 2.0].into_iter()), (2.0, 1.0, 3.0));
    }
}
