//! `cargo xtask crash`: the real binary under load, killed with -9 again and again; each time what clients were told
//! must be there.
//!
//! A round starts the server on the directory of the round before, compares every table with the ledger of its client
//! (rows, indexes, columns, names), waits until the data file takes no more blocks than it says, lets the clients go
//! on, kills the server, and runs `gannet check` with a time limit. Three kinds:
//!
//! - `definitions`: CREATE, ALTER, DROP, RENAME and TRUNCATE beside transactions;
//! - `recovery`: the same, and the next starts are killed too, some of them before the server answers;
//! - `full-disk`: the same on a small file system of its own (needs the right to mount), which fills up.

mod ledger;
pub(crate) mod server;
mod verify;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ledger::{Client, Random};
use server::{Disk, Server};

const USAGE: &str =
    "cargo xtask crash [--kind definitions|recovery|full-disk] [--rounds N] [--seed N] [--binary PATH] [--dir PATH]";
const CLIENTS: u64 = 5;
/// Size of the file system that fills up.
const SMALL_DISK_MIB: u64 = 160;

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
    let small = (options.kind == Kind::FullDisk).then_some(SMALL_DISK_MIB);
    let disk = Disk::new(&options.dir, small)?;
    let mut random = Random::new(options.seed);
    let clients: Vec<Mutex<Client>> = (0..CLIENTS).map(|n| Mutex::new(Client::new(n))).collect();
    let replay =
        format!("--kind {:?} --seed {} (the store is in {})", options.kind, options.seed, disk.dir().display());
    for round in 0..options.rounds {
        let outcome = one(options, &disk, round, &clients, &mut random);
        outcome.map_err(|e| format!("crash: round {round}: {e}\nreplay with {replay}"))?;
    }
    let outcome =
        last(options, &disk, &clients).map_err(|e| format!("crash: at the end: {e}\nreplay with {replay}"))?;
    disk.remove();
    let sum = |of: fn(&Client) -> u64| clients.iter().map(|c| of(&c.lock().expect("a client"))).sum::<u64>();
    Ok(format!(
        "crash: {:?}: {} kills, {} transactions and {} definitions acknowledged, {} statements refused; nothing lost, {outcome}",
        options.kind,
        options.rounds,
        sum(|c| c.commits),
        sum(|c| c.definitions),
        sum(|c| c.refused),
    ))
}

fn one(
    options: &Options,
    disk: &Disk,
    round: u64,
    clients: &[Mutex<Client>],
    random: &mut Random,
) -> Result<(), String> {
    let server = Server::start(&options.binary, disk, round)?;
    let mut db = server.connect()?;
    if round == 0 {
        db.query("CREATE DATABASE crash").map_err(|e| e.to_string())?;
    }
    for client in clients {
        verify::client(&mut db, &mut client.lock().expect("a client"))?;
    }
    verify::space(&mut db, disk)?;
    let full = options.kind == Kind::FullDisk;
    if full {
        disk.fill(LEFT_BYTES)?;
    }
    let time = Duration::from_millis(200 + random.below(if full { 2500 } else { 1200 }));
    let refusal = std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter()
            .map(|client| {
                let (server, mut own) = (&server, random.fork());
                scope.spawn(move || {
                    let mut client = client.lock().expect("a client");
                    match server.connect() {
                        Ok(mut db) => client.load(&mut db, full, &mut own),
                        Err(_) => Ok(()),
                    }
                })
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
fn last(options: &Options, disk: &Disk, clients: &[Mutex<Client>]) -> Result<String, String> {
    disk.make_room();
    let server = Server::start(&options.binary, disk, 0)?;
    let mut db = server.connect()?;
    for client in clients {
        verify::client(&mut db, &mut client.lock().expect("a client"))?;
    }
    db.query("DROP DATABASE crash").map_err(|e| e.to_string())?;
    let left = verify::empty(&mut db, disk)?;
    drop(db);
    server.kill();
    server::check(&options.binary, disk, &disk.data())?;
    Ok(format!("{} KiB left in the data file when all is dropped", left >> 10))
}
