//! `cargo xtask crash`: the real binary under load, killed with -9 again and again; each time what clients were told
//! must be there.
//!
//! A round starts the server on the directory of the round before, compares every table with the ledger of its client
//! (rows, indexes, columns, names), waits until the data file takes no more blocks than it says, lets the clients go
//! on, kills the server, and runs `gannet check` with a time limit. Its kinds:
//!
//! - `definitions`: CREATE, ALTER, DROP, RENAME and TRUNCATE beside transactions, on tables with parts, with a
//!   full-text index, and plain ones;
//! - `recovery`: the same, and the next starts are killed too, some of them before the server answers;
//! - `full-disk`: the same on a small file system of its own (needs the right to mount), which fills up;
//! - `builds`: tables that are filled and rebuilt, indexes that are built, also two at once, under KILL and DROP;
//! - `full-builds`: these on the small file system.

mod builds;
mod ledger;
pub(crate) mod server;
mod verify;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use builds::Builds;
use ledger::{Client, Random};
use server::{Disk, Server};

const USAGE: &str = "cargo xtask crash [--kind definitions|recovery|full-disk|builds|full-builds] [--rounds N] [--seed N] [--binary PATH] [--dir PATH]";
const CLIENTS: u64 = 5;
/// Size of the file system that fills up.
const SMALL_DISK_MIB: u64 = 160;

/// Rows of which clients make theirs.
const NUMBERS: &str = "INSERT INTO crash.numbers WITH RECURSIVE d AS (SELECT 0 i UNION ALL SELECT i + 1 FROM d WHERE i < 99) \
                       SELECT a.i * 100 + b.i + 1 FROM d a, d b";
/// What is left of it while clients write.
const LEFT_BYTES: u64 = 3 << 20;

/// What is done to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Kills beside definitions.
    Definitions,
    /// Kills while it recovers, too.
    Recovery,
    /// On a file system that is full.
    FullDisk,
    /// Kills beside builds and loads.
    Builds,
    /// These on a file system that is full.
    FullBuilds,
}

impl Kind {
    fn is_full(self) -> bool {
        matches!(self, Kind::FullDisk | Kind::FullBuilds)
    }

    fn builds(self) -> bool {
        matches!(self, Kind::Builds | Kind::FullBuilds)
    }
}

/// A client that knows what there has to be.
trait Party: Send {
    /// Works until the server goes away. The error: it answered what it should not.
    fn load(&mut self, server: &Server, full: bool, random: &mut Random) -> Result<(), String>;
    /// All is there that was acknowledged.
    fn verify(&mut self, db: &mut gannet_wire::client::Connection) -> Result<(), String>;
    /// Transactions and definitions that were acknowledged, statements that were refused.
    fn counts(&self) -> [u64; 3];
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is done to the server.
    pub kind: Kind,
    /// Kills after load.
    pub rounds: u64,
    /// Of all that is drawn by chance; the moment of each kill depends on the machine too.
    pub seed: u64,
    /// The server.
    pub binary: PathBuf,
    /// Where the store goes. It is removed when nothing was found.
    pub dir: PathBuf,
}

/// Runs `cargo xtask crash` with these arguments.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |d| d.as_secs());
    let mut options = Options {
        kind: Kind::Definitions,
        rounds: 10,
        seed,
        binary: PathBuf::new(),
        dir: std::env::temp_dir().join(format!("gannet-crash-{}", std::process::id())),
    };
    let mut words = args.iter();
    while let Some(name) = words.next() {
        let word = words.next().ok_or_else(|| format!("{name} takes a value\n{USAGE}"))?;
        let number = || word.parse().map_err(|_| format!("{name} takes a number\n{USAGE}"));
        match name.as_str() {
            "--kind" => {
                options.kind = match word.as_str() {
                    "definitions" => Kind::Definitions,
                    "recovery" => Kind::Recovery,
                    "full-disk" => Kind::FullDisk,
                    "builds" => Kind::Builds,
                    "full-builds" => Kind::FullBuilds,
                    _ => return Err(format!("unknown kind {word}\n{USAGE}")),
                }
            }
            "--rounds" => options.rounds = number()?,
            "--seed" => options.seed = number()?,
            "--binary" => options.binary = word.into(),
            "--dir" => options.dir = word.into(),
            other => return Err(format!("unknown option {other}\n{USAGE}")),
        }
    }
    if options.binary.as_os_str().is_empty() {
        options.binary = build(root)?;
    }
    rounds(&options)
}

/// Builds the server with optimizations.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let built = Command::new("cargo").args(["build", "--profile", "sim", "-p", "gannet"]).current_dir(root).status();
    match built {
        Ok(status) if status.success() => Ok(root.join("target/sim/gannet")),
        Ok(status) => Err(format!("cargo build: {status}")),
        Err(e) => Err(format!("cargo: {e}")),
    }
}

/// Kills the server so many times; the error says what was lost, and where the store lies that shows it.
pub fn rounds(options: &Options) -> Result<String, String> {
    println!("crash: {:?}, {} rounds, seed {}", options.kind, options.rounds, options.seed);
    let small = options.kind.is_full().then_some(SMALL_DISK_MIB);
    let disk = Disk::new(&options.dir, small)?;
    let mut random = Random::new(options.seed);
    let files = disk.dir().join("files");
    std::fs::create_dir_all(&files).map_err(|e| format!("{}: {e}", files.display()))?;
    let client = |n: u64| -> Mutex<Box<dyn Party>> {
        if options.kind.builds() {
            Mutex::new(Box::new(Builds::new(n, &files)))
        } else {
            Mutex::new(Box::new(Client::new(n)))
        }
    };
    let clients: Vec<Mutex<Box<dyn Party>>> = (0..CLIENTS).map(client).collect();
    let replay =
        format!("--kind {:?} --seed {} (the store is in {})", options.kind, options.seed, disk.dir().display());
    for round in 0..options.rounds {
        let outcome = one(options, &disk, round, &clients, &mut random);
        outcome.map_err(|e| format!("crash: round {round}: {e}\nreplay with {replay}"))?;
    }
    let outcome =
        last(options, &disk, &clients).map_err(|e| format!("crash: at the end: {e}\nreplay with {replay}"))?;
    disk.remove();
    let sum = |of: usize| clients.iter().map(|c| c.lock().expect("a client").counts()[of]).sum::<u64>();
    Ok(format!(
        "crash: {:?}: {} kills, {} transactions and {} definitions acknowledged, {} statements refused; nothing lost, {outcome}",
        options.kind,
        options.rounds,
        sum(0),
        sum(1),
        sum(2),
    ))
}

fn start(options: &Options, disk: &Disk, round: u64) -> Result<Server, String> {
    let files = format!("--secure-file-priv={}", disk.dir().join("files").display());
    Server::start_with(&options.binary, disk, round, &[files])
}

fn one(
    options: &Options,
    disk: &Disk,
    round: u64,
    clients: &[Mutex<Box<dyn Party>>],
    random: &mut Random,
) -> Result<(), String> {
    let server = start(options, disk, round)?;
    let mut db = server.connect()?;
    if round == 0 {
        for sql in ["CREATE DATABASE crash", "CREATE TABLE crash.numbers (n INT PRIMARY KEY)", NUMBERS] {
            db.query(sql).map_err(|e| e.to_string())?;
        }
    }
    for client in clients {
        client.lock().expect("a client").verify(&mut db)?;
    }
    verify::space(&mut db, disk)?;
    let full = options.kind.is_full();
    if full {
        disk.fill(LEFT_BYTES)?;
    }
    let time = Duration::from_millis(200 + random.below(if full { 2500 } else { 1200 }));
    let refusal = std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter()
            .map(|client| {
                let (server, mut own) = (&server, random.fork());
                scope.spawn(move || client.lock().expect("a client").load(server, full, &mut own))
            })
            .collect();
        std::thread::sleep(time);
        server.kill_soon();
        running.into_iter().map(|r| r.join().expect("a client's thread")).find(Result::is_err).unwrap_or(Ok(()))
    });
    server.kill();
    refusal?;
    // Every third time recovery finds the disk full, too.
    if full && round % 3 != 2 {
        disk.make_room();
    }
    if options.kind == Kind::Recovery {
        for _ in 0..random.below(4) {
            server::start_and_kill(&options.binary, disk, Duration::from_millis(random.below(500)))?;
        }
    }
    // In place the next start has nothing to recover: every other time a copy is checked.
    let copy = if round % 2 == 1 { None } else { Some(disk.copy()?) };
    let began = Instant::now();
    let checked = server::check(&options.binary, disk, copy.as_deref().unwrap_or(&disk.data()));
    if let Some(copy) = &copy {
        let _ = std::fs::remove_dir_all(copy);
    }
    let said = checked?;
    println!("round {round}: killed after {time:?}, checked in {:?}: {said}", began.elapsed());
    Ok(())
}

/// All is there, and when it is dropped the space is, too.
fn last(options: &Options, disk: &Disk, clients: &[Mutex<Box<dyn Party>>]) -> Result<String, String> {
    disk.make_room();
    let server = start(options, disk, 0)?;
    let mut db = server.connect()?;
    for client in clients {
        client.lock().expect("a client").verify(&mut db)?;
    }
    db.query("DROP DATABASE crash").map_err(|e| e.to_string())?;
    let left = verify::empty(&mut db, disk)?;
    drop(db);
    server.kill();
    server::check(&options.binary, disk, &disk.data())?;
    Ok(format!("{} KiB left in the data file when all is dropped", left >> 10))
}
