//! Power cuts at random moments and failing disks, in the simulation: after each cut the store is opened again and
//! compared with what the clients were told. A failure prints the command that replays its seed.
//!
//! A seed is a disk with a few lives of the engine on it, all but the last cut short. The workloads: rows with an index
//! ([`rows`]), trees that come and go and prepared transactions ([`trees`]), those who follow the log ([`consumers`]).
//! Between two lives bits are flipped on a copy of the disk ([`flips`]).

#[path = "../common/mod.rs"]
mod common;
mod consumers;
mod flips;
mod rows;
mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::rng;
use gannet_engine::EngineError;
use gannet_engine::plant::{Fault, PATHS, Path, plant, taken};
use gannet_runtime::sim::{Faults, Lie, Sim, SimDisk};

/// In every crash.
const FAULTS: Faults = Faults { read_errors: 0, write_errors: 0, sync_errors: 0, late: 0, garbage: true };

/// What goes wrong with the disk in a life, beside the power.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Trouble {
    None,
    /// Operations come late, the disk fills and is given room again.
    Full,
    /// Reads fail now and then.
    Reads,
    /// Writes or syncs fail: nothing can be committed any more.
    Broken,
}

impl Trouble {
    fn begin(self, disk: &SimDisk, seed: u64) {
        match self {
            Trouble::None => {}
            Trouble::Full => {
                disk.set_faults(Faults { late: 20, ..FAULTS });
                disk.set_capacity(Some(disk.used() + (seed % 7) * 100_000));
            }
            Trouble::Reads => disk.set_faults(Faults { read_errors: 8, late: 50, ..FAULTS }),
            Trouble::Broken if seed & 4 == 0 => disk.set_faults(Faults { sync_errors: 60, ..FAULTS }),
            Trouble::Broken => disk.set_faults(Faults { write_errors: 60, ..FAULTS }),
        }
    }

    fn end(self, disk: &SimDisk) {
        disk.set_faults(FAULTS);
        disk.set_capacity(None);
    }

    /// Whether an error is this trouble's.
    fn explains(self, e: &EngineError) -> bool {
        match (self, e) {
            (Trouble::Full, EngineError::DiskFull) => true,
            (Trouble::Reads, EngineError::Corrupt { what, .. }) => what.contains("cannot be read"),
            (Trouble::Reads, EngineError::Io(what)) => what.contains("for sorting"),
            (
                Trouble::Broken,
                EngineError::LogPoisoned | EngineError::NotWrittenBack(_) | EngineError::Io(_) | EngineError::DiskFull,
            ) => true,
            _ => false,
        }
    }
}

/// One life of the engine, from its start to the power cut or its end.
#[derive(Clone)]
struct Life {
    seed: u64,
    /// What was told in the life before is on disk.
    durable: bool,
    trouble: Trouble,
    disk: SimDisk,
}

/// What a workload did.
#[derive(Clone, Copy, Default)]
struct Work {
    transactions: u64,
}

/// A workload with its oracle: begins a seed, lives, and says what was done.
trait Workload: 'static {
    /// How the oracle starts.
    fn new(seed: u64) -> Arc<Self>;
    /// Opens, checks, works. What it finds wrong is a panic.
    fn live(&self, life: &Life);
    /// Transactions acknowledged so far.
    fn work(&self) -> Work;
    /// Whether a commit that is told may be lost all the same.
    fn forgets(_seed: u64) -> bool {
        false
    }
    /// Looks at a damaged copy of the disk.
    fn damaged(&self, _disk: &SimDisk, _seed: u64, _tally: &mut Tally) {}
}

/// What was run.
#[derive(Default)]
struct Tally {
    seeds: u64,
    lives: u64,
    /// Lives ended by a power cut.
    crashes: u64,
    /// Of these, at a moment drawn by chance, and not when the work was done.
    cuts: u64,
    transactions: u64,
    troubles: BTreeMap<Trouble, u64>,
    flips: flips::Flips,
    /// Ways through recovery that were taken.
    paths: [u64; PATHS],
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let trouble = |t| self.troubles.get(&t).copied().unwrap_or(0);
        write!(
            f,
            "{} seeds, {} lives, {} crash points ({} in the middle of something), {} transactions acknowledged; \
             disk full in {} lives, failing reads in {}, failing writes or syncs in {}; {}; \
             redo: {} rounds ({} followed by another, {} cut short, {} with a file), {} extents record by record, {} pages wanted early, \
             {} indexes written at a start; {} sorts with a file, {} in parts",
            self.seeds,
            self.lives,
            self.crashes,
            self.cuts,
            self.transactions,
            trouble(Trouble::Full),
            trouble(Trouble::Reads),
            trouble(Trouble::Broken),
            self.flips,
            self.paths[Path::Round as usize],
            self.paths[Path::PartRound as usize],
            self.paths[Path::SharesGivenUp as usize],
            self.paths[Path::Spilled as usize],
            self.paths[Path::ByRecord as usize],
            self.paths[Path::Early as usize],
            self.paths[Path::IndexWritten as usize],
            self.paths[Path::SortSpilled as usize],
            self.paths[Path::SortParted as usize],
        )
    }
}

fn run<W: Workload>(seed: u64, tally: &mut Tally) {
    run_on::<W>(&SimDisk::new(), seed, tally);
}

fn run_on<W: Workload>(disk: &SimDisk, seed: u64, tally: &mut Tally) {
    disk.set_faults(FAULTS);
    let workload = W::new(seed);
    let mut rnd = rng(seed);
    let mut durable = true;
    let steps = number("GANNET_STEPS");
    let before = taken();
    tally.seeds += 1;
    for round in 0..4 {
        let seed = seed * 10 + round;
        // Short lives cut recovery itself; the last one is not cut.
        let cut = steps.unwrap_or([200, 1_000, 4_000, 10_000][rnd(4) as usize]);
        let trouble = [Trouble::None, Trouble::None, Trouble::Full, Trouble::Reads, Trouble::Broken][rnd(5) as usize];
        let trouble = if round == 3 { Trouble::None } else { trouble };
        let mut sim = Sim::new(seed).disk(disk);
        let cut = (round < 3).then(|| rnd(cut));
        if let Some(cut) = cut {
            sim = sim.crash_after(cut);
        }
        let (w, life) = (workload.clone(), Life { seed, durable, trouble, disk: disk.clone() });
        let outcome = sim.run_outcome(move || w.live(&life));
        trouble.end(disk);
        tally.lives += 1;
        *tally.troubles.entry(trouble).or_default() += 1;
        if outcome.value.is_none() {
            tally.crashes += 1;
            tally.cuts += u64::from(cut.is_some_and(|cut| outcome.steps >= cut));
        }
        if seed.is_multiple_of(4) && disk_is_honest(disk) {
            workload.damaged(disk, seed, tally);
        }
        durable = !W::forgets(seed / 10);
    }
    tally.transactions += workload.work().transactions;
    tally.paths.iter_mut().zip(taken().iter().zip(before)).for_each(|(sum, (now, before))| *sum += now - before);
}

/// Half of the lives have less memory for redo than they need, most of these so little that even the index of the log
/// does not fit.
fn redo_memory_bytes(seed: u64) -> u64 {
    [0, 20_000, 0, 60_000, 200_000, 0][(seed / 10 + seed % 10) as usize % 6]
}

/// Some lives do not touch all pages before the first round of redo.
fn let_redo_begin(seed: u64) {
    if seed % 10 % 2 == 1 {
        let _ = gannet_runtime::sleep(Duration::from_millis(150 + seed / 10 % 8 * 30));
    }
}

/// Most seeds index the log after a few records; a life in between may do without.
fn index_bytes(seed: u64) -> u64 {
    match seed / 10 % 4 {
        0 => [8 << 10, 0][usize::from(seed % 10 == 2)],
        1 => 8 << 10,
        2 => 64 << 10,
        _ => 32 << 20,
    }
}

fn disk_is_honest(disk: &SimDisk) -> bool {
    disk.lie().is_none()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|s| s.parse().expect("a number"))
}

struct Replay(&'static str, u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: cargo xtask sim --workload {} --seed {}", self.0, self.1);
        }
    }
}

/// Runs the seeds that the environment names, or `default` many, each through all workloads.
fn seeds(default: u64, workloads: &[(&str, fn(u64, &mut Tally))]) {
    let seeds = match number("GANNET_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let first = number("GANNET_FIRST_SEED").unwrap_or(0);
            first..first + number("GANNET_SEEDS").unwrap_or(default)
        }
    };
    let started = Instant::now();
    let until = number("GANNET_SECONDS").map(|s| started + Duration::from_secs(s));
    let mut said = started;
    let mut tallies: Vec<Tally> = workloads.iter().map(|_| Tally::default()).collect();
    let first = seeds.start;
    let say = |tallies: &[Tally], to: u64, end: &str| {
        for ((name, _), tally) in workloads.iter().zip(tallies) {
            println!("{} s, {name}, seeds from {first} to {to}: {tally}{end}", started.elapsed().as_secs());
        }
    };
    let mut last = first;
    for seed in seeds {
        workloads.iter().zip(&mut tallies).for_each(|((_, run), tally)| run(seed, tally));
        last = seed;
        if until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        if said.elapsed() > Duration::from_secs(60) {
            said = Instant::now();
            say(&tallies, seed, "");
        }
    }
    say(&tallies, last, "; nothing lost, nothing torn");
    for ((name, _), tally) in workloads.iter().zip(tallies) {
        assert!(tally.transactions > 4 * tally.lives / 4 || tally.lives <= 8, "the runs are too short");
        // Rounds are cut short only where the file for what does not fit cannot be made or written: rare.
        // So are logs whose index does not fit, where trees are built past the log.
        let rare = [(Path::SharesGivenUp as usize, 400), (Path::IndexWritten as usize, 100)];
        let needed = |path: usize| rare.iter().find(|r| r.0 == path).map_or(20, |r| r.1);
        let here = (0..PATHS).filter(|&path| path <= Path::IndexWritten as usize || *name == "trees");
        let missing = { here }.find(|&path| tally.paths[path] == 0 && tally.seeds >= needed(path));
        // Those who follow the log take what recovery leaves, by whatever way.
        let missing = missing.filter(|_| *name != "consumers");
        assert_eq!(missing, None, "a way through recovery was not taken: {tally}");
    }
}

fn run_rows(seed: u64, tally: &mut Tally) {
    let _replay = Replay("rows", seed);
    run::<rows::RowsWorkload>(seed, tally);
}

fn run_trees(seed: u64, tally: &mut Tally) {
    let _replay = Replay("trees", seed);
    run::<trees::Trees>(seed, tally);
}

fn run_consumers(seed: u64, tally: &mut Tally) {
    let _replay = Replay("consumers", seed);
    run::<consumers::Consumers>(seed, tally);
}

#[test]
fn consumers_are_given_what_has_committed() {
    seeds(20, &[("consumers", run_consumers)]);
}

#[test]
fn rows_told_are_not_lost() {
    seeds(25, &[("rows", run_rows)]);
}

#[test]
fn trees_come_and_go_whole() {
    seeds(25, &[("trees", run_trees)]);
}

/// A transaction that could not be rolled back for want of room is rolled back when there is some, without a restart.
#[test]
fn a_rollback_without_room_is_done_later() {
    use gannet_engine::*;
    let disk = SimDisk::new();
    let d = disk.clone();
    Sim::new(1).disk(&disk).run(move || {
        let engine = Engine::open(EngineOptions {
            buffer_pool_bytes: 4 << 20,
            redo_capacity_bytes: 8 << 20,
            purge_tasks: 0,
            ..EngineOptions::new("/store")
        });
        let engine = engine.unwrap();
        let begin = || engine.begin(TxnOptions { lock_wait_timeout: Duration::ZERO, ..TxnOptions::default() });
        let mut t = begin();
        let tree = t.create_tree(TreeKind::Row).unwrap();
        // A leaf full of long rows; they become short, and others take their place.
        let long = vec![7; 2400];
        for k in 0..6 {
            t.insert(&tree, &common::key(k * 1000), &long).unwrap();
        }
        t.commit().unwrap();
        let mut lost = begin();
        for k in 0..6 {
            lost.update(&tree, &common::key(k * 1000), b"short").unwrap();
        }
        let put = |k: u64, bytes: &[u8]| {
            let mut t = begin();
            t.insert(&tree, &common::key(k), bytes).and_then(|_| t.commit()).map(drop)
        };
        for k in 1..120 {
            put(k, &[7; 70]).unwrap();
        }
        d.set_capacity(Some(d.used()));
        // The first may have found no room for undo, which purge makes.
        for _ in 0..3 {
            let full = (10_000..20_000).find(|&k| put(k, &long) == Err(EngineError::DiskFull));
            assert!(full.is_some(), "the disk does not fill");
            engine.purge_now().unwrap();
        }
        drop(lost);
        let change = || begin().update(&tree, &common::key(0), b"other");
        assert_eq!(change(), Err(EngineError::LockWaitTimeout), "there was room for the rollback");
        engine.purge_now().unwrap();
        assert_eq!(change(), Err(EngineError::LockWaitTimeout), "there was room for the rollback");
        d.set_capacity(None);
        engine.purge_now().unwrap();
        let mut row = RowBuf::new();
        assert_eq!(begin().get(&tree, &common::key(0), ReadMode::FOR_UPDATE, &mut row), Ok(Read::Found));
        assert!(row.row() == long);
        assert_eq!(change(), Ok(Update::Updated));
        engine.shutdown().unwrap();
    });
}

/// For `cargo xtask sim --minutes N`.
#[test]
#[ignore = "runs for as long as it is told to"]
fn all_workloads() {
    seeds(40, &[("rows", run_rows), ("trees", run_trees), ("consumers", run_consumers)]);
}

/// A test that would not notice these would be worth nothing.
#[test]
fn planted_faults_are_found() {
    // Faults of the engine, and a disk which does as if syncs were not called or the double-write file were not
    // written. The number: a seed that once found it, tried first (`--nocapture` shows which one it was, for when it has
    // become another one, and the search takes long).
    let cases: [(&str, Option<Fault>, Option<Lie>, u64); 15] = [
        ("undo records dropped", Some(Fault::DropUndo), None, 0),
        ("rows released before the commit", Some(Fault::ReleaseEarly), None, 519),
        ("redo dropped", Some(Fault::DropRedo), None, 0),
        ("versions purged that a snapshot sees", Some(Fault::PurgeEarly), None, 1),
        ("the log's index leaves entries out", Some(Fault::IndexLeavesOut), None, 0),
        ("the log is indexed before it is durable", Some(Fault::IndexAhead), None, 10),
        ("the log's index mixes incarnations up", Some(Fault::IndexOldEpoch), None, 22),
        ("rounds of redo leave the end of the log out", Some(Fault::RoundLeavesOut), None, 2),
        ("what redo puts into a file lacks something", Some(Fault::SpillLeavesOut), None, 2),
        ("a payload and its commit lie apart", Some(Fault::PayloadApart), None, 0),
        ("a consumer lets go of what was begun", Some(Fault::LetGoEarly), None, 102),
        ("a built tree is told of before it is on disk", Some(Fault::BuildUnsynced), None, 21),
        ("the log is not synced", None, Some(Lie::Syncs("/log/")), 0),
        ("the data file is not synced", None, Some(Lie::Syncs("data")), 0),
        ("the double-write file is not written", None, Some(Lie::Writes("double")), 202),
    ];
    let from_zero = number("GANNET_FIRST_SEED") == Some(0);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for (what, fault, lie, hint) in cases {
        let started = Instant::now();
        let hint = if from_zero { 0 } else { hint };
        let found = (hint..1000).chain(0..hint).find(|&seed| {
            let disk = SimDisk::new();
            disk.set_lie(lie.clone());
            plant(fault);
            let tally = &mut Tally::default();
            let work = || match fault {
                Some(Fault::PayloadApart | Fault::LetGoEarly) => run_on::<consumers::Consumers>(&disk, seed, tally),
                Some(Fault::BuildUnsynced) => run_on::<trees::Trees>(&disk, seed, tally),
                _ => run_on::<rows::RowsWorkload>(&disk, seed, tally),
            };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            plant(None);
            outcome.is_err()
        });
        match found {
            Some(seed) => println!("{what}: found with seed {seed}, {} ms", started.elapsed().as_millis()),
            None => missed.push(what),
        }
    }
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}
