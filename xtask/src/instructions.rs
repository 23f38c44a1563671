//! `cargo xtask instructions`: user-mode instructions of the server per event of sysbench's workloads, one connection,
//! by callgrind.
//!
//! Two runs of a server under valgrind on copies of the same data differ only in the number of events; the difference
//! divided by the difference of events is what one costs. Start, stop and preparing cancel out, and so does the first
//! reading of the pages, which a query does before. Wants valgrind and sysbench.
//!
//! `--accept` appends the figures to the ledger; `--gate` compares with its newest ones, and fails where a workload
//! needs more than 2 % above.

use crate::{
    clients::build_release,
    figures::{newest, rows},
    ledger::Entries,
};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Workloads: name in sysbench, its protocol option, name in the ledger.
const WORKLOADS: &[(&str, &str, &str)] = &[
    ("oltp_point_select", "auto", "point_select"),
    ("oltp_point_select", "disable", "point_select text"),
    ("oltp_read_only", "auto", "read_only"),
    ("oltp_update_index", "auto", "update_index"),
    ("oltp_update_non_index", "auto", "update_non_index"),
    ("oltp_insert", "auto", "insert"),
];

/// What a workload may need above the accepted figure.
const MARGIN: f64 = 1.02;

/// Events of the two runs.
pub(crate) const EVENTS: [u64; 2] = [500, 2500];

/// Measures every workload whose name contains the filter, and with `--accept` or `--gate` all of them.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let option = args.first().map(String::as_str);
    let filter = option.filter(|o| !matches!(*o, "--accept" | "--gate"));
    if !WORKLOADS.iter().any(|(name, ..)| filter.is_none_or(|f| name.contains(f))) {
        let names: Vec<&str> = WORKLOADS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("cargo xtask instructions [WORKLOAD | --accept | --gate]: a part of {}", names.join(", ")));
    }
    let mut counted = Vec::new();
    let table = in_scratch(root, "instructions", |bin, dir| measure(bin, dir, filter, &mut counted))?;
    match option {
        Some("--accept") => {
            let mut entries = Entries::new(root, "instructions", args)?;
            counted.iter().for_each(|(what, n)| entries.add(what, n, "instructions"));
            entries.append_to(&root.join("docs/ledger.csv"))?;
        }
        Some("--gate") => {
            let ledger = rows(root)?;
            let accepted = |what: &str| newest(&ledger, what, "instructions")?.figure.parse::<u64>().ok();
            let above: Vec<String> = counted.iter().filter_map(|(what, n)| beyond(what, *n, accepted(what))).collect();
            if !above.is_empty() {
                return Err(format!("{table}\n{}", above.join("\n")));
            }
        }
        _ => {}
    }
    Ok(table)
}

/// What there is to say of a workload that needs more than was accepted.
fn beyond(what: &str, now: u64, accepted: Option<u64>) -> Option<String> {
    match accepted {
        None => Some(format!("{what}: no figure was accepted (cargo xtask instructions --accept)")),
        Some(then) if now as f64 > then as f64 * MARGIN => Some(format!("{what}: {now} instructions, accepted {then}")),
        Some(_) => None,
    }
}

/// Builds the server and gives the work a directory that is removed after it.
pub(crate) fn in_scratch(
    root: &Path,
    name: &str,
    work: impl FnOnce(&Path, &Path) -> Result<String, String>,
) -> Result<String, String> {
    let bin = build_release(root)?;
    let dir = std::env::temp_dir().join(format!("gannet-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let outcome = work(&bin, &dir);
    let _ = fs::remove_dir_all(&dir);
    outcome
}

fn measure(bin: &Path, dir: &Path, filter: Option<&str>, all: &mut Vec<(&'static str, u64)>) -> Result<String, String> {
    let bench = Bench::prepare(bin, dir)?;
    let mut table = String::from("| workload | protocol | instructions an event |\n|---|---|--:|\n");
    for (workload, protocol, what) in WORKLOADS.iter().filter(|(name, ..)| filter.is_none_or(|f| name.contains(f))) {
        let mut counted = [0u64; 2];
        for (events, counted) in EVENTS.into_iter().zip(&mut counted) {
            let report = bench.run(workload, protocol, events, &[])?;
            let total = report.lines().find_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok());
            *counted = total.ok_or("callgrind's report has no summary")?;
        }
        let each = counted[1].saturating_sub(counted[0]) / (EVENTS[1] - EVENTS[0]);
        all.push((*what, each));
        let protocol = if *protocol == "auto" { "prepared" } else { "text" };
        let _ = writeln!(table, "| {workload} | {protocol} | {each} |");
    }
    Ok(table)
}

/// sysbench's tables, prepared once, and servers under callgrind on copies of them.
pub(crate) struct Bench<'a> {
    bin: &'a Path,
    dir: &'a Path,
    fresh: PathBuf,
}

impl<'a> Bench<'a> {
    pub(crate) fn prepare(bin: &'a Path, dir: &'a Path) -> Result<Bench<'a>, String> {
        let fresh = dir.join("fresh");
        let server = Server::start(Command::new(bin), &fresh, dir)?;
        server.sysbench("oltp_common", "auto", 0, "prepare")?;
        server.stop()?;
        Ok(Bench { bin, dir, fresh })
    }

    /// callgrind's report of what the workers did in a run of so many events.
    pub(crate) fn run(&self, workload: &str, protocol: &str, events: u64, options: &[&str]) -> Result<String, String> {
        let (data, out) = (self.dir.join("data"), self.dir.join("callgrind.out"));
        let _ = fs::remove_dir_all(&data);
        copy(&self.fresh, &data)?;
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=callgrind", "--toggle-collect=gannet_runtime::worker::Worker::run"])
            .args(options)
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(self.bin);
        let server = Server::start(valgrind, &data, self.dir)?;
        server.mysql("SELECT SUM(LENGTH(pad)), COUNT(*) FROM sbtest.sbtest1 IGNORE INDEX (k_1)")?;
        server.mysql("SELECT SUM(k) FROM sbtest.sbtest1 FORCE INDEX (k_1)")?;
        server.sysbench(workload, protocol, events, "run")?;
        server.stop()?;
        fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let done = Command::new("cp").arg("-r").arg(from).arg(to).status();
    if done.is_ok_and(|s| s.success()) { Ok(()) } else { Err(format!("cannot copy {}", from.display())) }
}

struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    /// `launcher` is the binary, or what runs it. valgrind does not know that waiting in a ring blocks: workers use
    /// epoll.
    fn start(mut launcher: Command, data: &Path, dir: &Path) -> Result<Server, String> {
        let socket = dir.join("gannet.sock");
        let child = launcher
            .arg("serve")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .args(["--port=0", "--innodb-buffer-pool-size=128M"])
            .env("GANNET_IO", "epoll")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start {launcher:?}: {e}"))?;
        let server = Server { child, socket };
        let began = Instant::now();
        while server.mysql("SELECT 1").is_err() {
            if began.elapsed() > Duration::from_secs(60) {
                return Err("the server does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    fn mysql(&self, sql: &str) -> Result<(), String> {
        let mut client = Command::new("mysql");
        client.args(["--no-defaults", "-uroot", "-e", sql]).arg("-S").arg(&self.socket);
        quiet(client)
    }

    fn sysbench(&self, workload: &str, protocol: &str, events: u64, command: &str) -> Result<(), String> {
        if command == "prepare" {
            self.mysql("CREATE DATABASE sbtest")?;
        }
        let mut client = Command::new("sysbench");
        client
            .arg(workload)
            .arg(format!("--mysql-socket={}", self.socket.display()))
            .args(["--mysql-user=root", "--mysql-db=sbtest", "--mysql-ssl=off", "--tables=1", "--table-size=10000"])
            .args(["--threads=1", "--time=0", "--rand-seed=1", "--rand-type=uniform"])
            .arg(format!("--db-ps-mode={protocol}"))
            .arg(format!("--events={events}"))
            .arg(command);
        quiet(client)
    }

    fn stop(mut self) -> Result<(), String> {
        self.mysql("SHUTDOWN")?;
        let status = self.child.wait().map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quiet(mut command: Command) -> Result<(), String> {
    let out = command.output().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)))
}

#[cfg(test)]
mod tests {
    use super::beyond;

    #[test]
    fn two_percent_above_the_accepted_figure_fail() {
        assert_eq!(beyond("insert", 1020, Some(1000)), None);
        assert_eq!(beyond("insert", 1021, Some(1000)).as_deref(), Some("insert: 1021 instructions, accepted 1000"));
        assert!(beyond("insert", 1, None).is_some_and(|fault| fault.contains("no figure was accepted")));
    }
}
