//! `cargo xtask instructions`: user-mode instructions of the server per event of sysbench's workloads and of shapes of
//! `gannet bench micro`, one connection, by callgrind.
//!
//! Two runs of a server under valgrind on copies of the same data differ only in the number of events; the difference
//! divided by the difference of events is what one costs. Connecting, preparing and stopping cancel out; the start, and
//! the first reading of the pages, are not counted. Wants valgrind and sysbench.
//!
//! `--accept` appends the figures to the ledger; `--gate` compares with its newest ones, and fails where a workload
//! needs more than 2 % above. `--binary` measures a server that is built, `--client` takes the shapes of another
//! binary than the server's, and `--with=OPTION` gives the server an option. The binary log is off, which the accepted
//! figures go by; `--with=--log-bin` counts what it costs.

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

/// A workload.
struct Workload {
    /// Of sysbench's script, or of the shape.
    name: &'static str,
    client: Client,
    /// In the ledger.
    what: &'static str,
    /// Events of the two runs.
    events: [u64; 2],
}

/// What sends the statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    /// With prepared statements.
    Prepared,
    /// With texts.
    Text,
    /// `gannet bench micro`, one shape.
    Shape,
}

impl Client {
    /// The name of the protocol in the table, and sysbench's option.
    fn protocol(self) -> (&'static str, &'static str) {
        match self {
            Client::Prepared | Client::Shape => ("prepared", "auto"),
            Client::Text => ("text", "disable"),
        }
    }
}

const fn sysbench(name: &'static str, client: Client, what: &'static str) -> Workload {
    Workload { name, client, what, events: EVENTS }
}

const fn shape(name: &'static str) -> Workload {
    Workload { name, client: Client::Shape, what: name, events: [100, 500] }
}

const WORKLOADS: &[Workload] = &[
    sysbench("oltp_point_select", Client::Prepared, "point_select"),
    sysbench("oltp_point_select", Client::Text, "point_select text"),
    sysbench("oltp_read_only", Client::Prepared, "read_only"),
    sysbench("oltp_update_index", Client::Prepared, "update_index"),
    sysbench("oltp_update_non_index", Client::Prepared, "update_non_index"),
    sysbench("oltp_insert", Client::Prepared, "insert"),
    sysbench("oltp_delete", Client::Prepared, "delete"),
    shape("range of 10"),
    shape("list of 1000"),
    shape("update by list of 100"),
    shape("scan with a function"),
];

/// What a workload may need above the accepted figure.
const MARGIN: f64 = 1.02;

/// Events of the two runs.
pub(crate) const EVENTS: [u64; 2] = [500, 2500];

/// What was asked for.
#[derive(Default)]
struct Wish {
    filter: Option<String>,
    accept: bool,
    gate: bool,
    binary: Option<PathBuf>,
    client: Option<PathBuf>,
    with: Vec<String>,
}

impl Wish {
    fn parse(args: &[String]) -> Result<Wish, String> {
        let mut wish = Wish::default();
        let mut rest = args.iter();
        let path = |value: Option<&String>| {
            let path = PathBuf::from(value.ok_or("a binary is missing")?);
            path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
        };
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--accept" => wish.accept = true,
                "--gate" => wish.gate = true,
                "--binary" => wish.binary = Some(path(rest.next())?),
                "--client" => wish.client = Some(path(rest.next())?),
                option if option.starts_with("--with=") => wish.with.push(option["--with=".len()..].to_owned()),
                option if option.starts_with("--") => return Err(format!("unknown option {option}")),
                filter => wish.filter = Some(filter.to_owned()),
            }
        }
        if wish.accept && (wish.binary.is_some() || wish.filter.is_some() || !wish.with.is_empty()) {
            return Err("--accept is for all workloads of the tree's own build, without options".into());
        }
        if !WORKLOADS.iter().any(|w| wish.wants(w)) {
            let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).collect();
            return Err(format!("a part of a workload's name: {}", names.join(", ")));
        }
        Ok(wish)
    }

    fn wants(&self, workload: &Workload) -> bool {
        self.filter.as_ref().is_none_or(|f| workload.name.contains(f.as_str()))
    }
}

/// Measures every workload whose name contains the filter, and with `--accept` all of them.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let wish = Wish::parse(args)?;
    let mut counted = Vec::new();
    let bin = wish.binary.clone().map_or_else(|| build_release(root), Ok)?;
    let table = in_scratch("instructions", |dir| measure(&bin, dir, &wish, &mut counted))?;
    if wish.accept {
        let mut entries = Entries::new(root, "instructions", args)?;
        counted.iter().for_each(|(what, n)| entries.add(what, n, "instructions"));
        entries.append_to(&root.join("docs/ledger.csv"))?;
    }
    if wish.gate {
        let ledger = rows(root)?;
        let accepted = |what: &str| newest(&ledger, what, "instructions")?.figure.parse::<u64>().ok();
        let above: Vec<String> = counted.iter().filter_map(|(what, n)| beyond(what, *n, accepted(what))).collect();
        if !above.is_empty() {
            return Err(format!("{table}\n{}", above.join("\n")));
        }
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

/// Gives the work a directory that is removed after it.
pub(crate) fn in_scratch(name: &str, work: impl FnOnce(&Path) -> Result<String, String>) -> Result<String, String> {
    let dir = std::env::temp_dir().join(format!("gannet-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let outcome = work(&dir);
    let _ = fs::remove_dir_all(&dir);
    outcome
}

fn measure(bin: &Path, dir: &Path, wish: &Wish, all: &mut Vec<(&'static str, u64)>) -> Result<String, String> {
    let chosen: Vec<&Workload> = WORKLOADS.iter().filter(|w| wish.wants(w)).collect();
    let shapes = chosen.iter().any(|w| w.client == Client::Shape);
    let client = shapes.then(|| wish.client.as_deref().unwrap_or(bin));
    let bench = Bench::prepare(bin, client, dir, &wish.with)?;
    let mut table = String::from("| workload | protocol | instructions an event |\n|---|---|--:|\n");
    for Workload { name, client, what, events } in chosen {
        let mut counted = [0u64; 2];
        for (events, counted) in events.iter().zip(&mut counted) {
            let report = || match client {
                Client::Shape => bench.run_shape(name, *events),
                _ => bench.run(name, client.protocol().1, *events, &[]),
            };
            *counted = whole(*events, report)?;
        }
        let more = counted[1].checked_sub(counted[0]).ok_or("more events took fewer instructions")?;
        let each = more / (events[1] - events[0]);
        all.push((*what, each));
        let line = format!("| {name} | {} | {each} |", client.protocol().0);
        eprintln!("{line}");
        let _ = writeln!(table, "{line}");
    }
    Ok(table)
}

/// The instructions of a run. Callgrind at times counts nothing behind the command that sets its counts to zero: such a
/// run is made again.
fn whole(events: u64, run: impl Fn() -> Result<String, String>) -> Result<u64, String> {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let total = run()?.lines().find_map(|line| line.strip_prefix("summary: ")?.trim().parse::<u64>().ok());
        let total = total.ok_or("callgrind's report has no summary")?;
        // No event takes so few: the shortest, a point select, takes 6,600.
        if total > events * 2000 {
            return Ok(total);
        }
    }
    Err(format!("callgrind counted next to nothing of {events} events, {TRIES} times"))
}

/// The tables, prepared once, and servers under callgrind on copies of them.
pub(crate) struct Bench<'a> {
    bin: &'a Path,
    /// Whose `bench micro` is the client of shapes, if there are any.
    client: Option<&'a Path>,
    dir: &'a Path,
    /// Options of the server.
    with: &'a [String],
    fresh: PathBuf,
}

impl<'a> Bench<'a> {
    pub(crate) fn prepare(
        bin: &'a Path,
        client: Option<&'a Path>,
        dir: &'a Path,
        with: &'a [String],
    ) -> Result<Bench<'a>, String> {
        let fresh = dir.join("fresh");
        let server = Server::start(Command::new(bin), &fresh, dir, with)?;
        server.sysbench("oltp_common", "auto", 0, "prepare")?;
        if let Some(client) = client {
            server.micro(client, &["prepare"])?;
        }
        server.stop()?;
        Ok(Bench { bin, client, dir, with, fresh })
    }

    /// callgrind's report of what the workers did in a run of so many events.
    pub(crate) fn run(&self, workload: &str, protocol: &str, events: u64, options: &[&str]) -> Result<String, String> {
        self.under_callgrind(options, |server| server.sysbench(workload, protocol, events, "run"))
    }

    /// The same of a shape.
    fn run_shape(&self, shape: &str, events: u64) -> Result<String, String> {
        let client = self.client.ok_or("no client was prepared")?;
        let events = events.to_string();
        self.under_callgrind(&[], |server| server.micro(client, &["run", "--only", shape, "--events", &events]))
    }

    /// callgrind's report of what the workers did beside `work`, which is told the server's directory.
    pub(crate) fn beside(
        &self,
        options: &[&str],
        work: impl Fn(&Path) -> Result<(), String>,
    ) -> Result<String, String> {
        self.under_callgrind(options, |_| work(self.dir))
    }

    fn under_callgrind(
        &self,
        options: &[&str],
        work: impl FnOnce(&Server) -> Result<(), String>,
    ) -> Result<String, String> {
        let (data, out) = (self.dir.join("data"), self.dir.join("callgrind.out"));
        let _ = fs::remove_dir_all(&data);
        copy(&self.fresh, &data)?;
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=callgrind", "--toggle-collect=gannet_runtime::worker::Worker::run"])
            .args(options)
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(self.bin);
        let server = Server::start(valgrind, &data, self.dir, self.with)?;
        let mut tables = vec![("sbtest.sbtest1", "k_1")];
        tables.extend(self.client.map(|_| ("gannet_micro.t1", "k")));
        for (table, key) in tables {
            server.mysql(&format!("SELECT SUM(LENGTH(pad)), COUNT(*) FROM {table} IGNORE INDEX ({key})"))?;
            server.mysql(&format!("SELECT SUM(k) FROM {table} FORCE INDEX ({key})"))?;
        }
        // What the pages' first reading costs depends on who else reads them at the time.
        let mut zero = Command::new("callgrind_control");
        zero.arg("-z").arg(server.child.id().to_string());
        quiet(zero)?;
        work(&server)?;
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
    fn start(mut launcher: Command, data: &Path, dir: &Path, with: &[String]) -> Result<Server, String> {
        let socket = dir.join("gannet.sock");
        let child = launcher
            .arg("serve")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .args(["--port=0", "--innodb-buffer-pool-size=128M", "--skip-log-bin"])
            .args(with)
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

    fn micro(&self, client: &Path, args: &[&str]) -> Result<(), String> {
        let mut command = Command::new(client);
        command.args(["bench", "micro"]).args(args);
        command.args(["--tables", "1", "--rows", "10000", "--server"]);
        command.arg(format!("gannet={}", self.socket.display()));
        quiet(command)
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
    use super::{beyond, whole};

    #[test]
    fn a_run_that_was_not_counted_is_made_again() {
        let totals = std::cell::RefCell::new(vec![7_000_000, 30, 0]);
        let run = || Ok(format!("events: Ir\nsummary: {}\n", totals.borrow_mut().pop().unwrap_or(0)));
        assert_eq!(whole(1000, run), Ok(7_000_000));
        assert!(whole(1000, run).is_err_and(|e| e.contains("next to nothing")));
    }

    #[test]
    fn two_percent_above_the_accepted_figure_fail() {
        assert_eq!(beyond("insert", 1020, Some(1000)), None);
        assert_eq!(beyond("insert", 1021, Some(1000)).as_deref(), Some("insert: 1021 instructions, accepted 1000"));
        assert!(beyond("insert", 1, None).is_some_and(|fault| fault.contains("no figure was accepted")));
    }
}
