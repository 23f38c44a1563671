//! Shutting down while statements run, in the simulation: what was told to be committed is there afterwards, and every
//! tree is whole.

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use common::rng;
use gannet_engine::*;
use gannet_runtime::sim::{Sim, SimDisk};

type Told = Arc<Mutex<BTreeSet<u64>>>;

fn options() -> EngineOptions {
    let mut o = EngineOptions::new("/store");
    (o.buffer_pool_bytes, o.redo_capacity_bytes, o.max_data_bytes) = (4 << 20, 8 << 20, 256 << 20);
    o
}

/// Inserts rows in transactions of a few until the engine refuses.
fn write(engine: &Engine, tree: &TreeHandle, told: &Told, first: u64, seed: u64) -> Result<()> {
    let mut rnd = rng(seed);
    let mut t = engine.try_begin(TxnOptions::default())?;
    for n in (first..).step_by(16) {
        t.begin(TxnOptions::default())?;
        for part in 0..1 + rnd(12) {
            let size = if rnd(20) == 0 { 30_000 } else { 200 + rnd(3000) };
            t.insert(tree, &(n + part).to_be_bytes(), &vec![n as u8; size as usize])?;
        }
        // The first row of a transaction stands for it.
        t.commit()?;
        told.lock().unwrap().insert(n);
    }
    Ok(())
}

fn life(seed: u64, told: &Told, id: &Mutex<Option<TreeId>>, last: bool) {
    let engine = Engine::open(options()).unwrap();
    let known = *id.lock().unwrap();
    let tree = match known {
        Some(id) => engine.tree(id).unwrap(),
        None => common::create(&engine, TreeKind::Row),
    };
    *id.lock().unwrap() = Some(tree.id());
    engine.check_tree(&tree).unwrap();
    let have: BTreeSet<u64> =
        common::dump(&engine, &tree).iter().map(|(k, _)| u64::from_be_bytes(k[..].try_into().unwrap())).collect();
    for n in told.lock().unwrap().iter() {
        assert!(have.contains(n), "row {n} was committed and is lost");
    }
    if last {
        return;
    }
    let mut rnd = rng(seed);
    let base = (1 + seed) << 32;
    let tasks: Vec<_> = (0..3)
        .map(|i| {
            let (engine, tree, told) = (engine.clone(), tree.clone(), told.clone());
            gannet_runtime::spawn("writer", move || {
                let _ = write(&engine, &tree, &told, base + (i << 24), seed * 3 + i);
            })
        })
        .collect();
    let _ = gannet_runtime::sleep(std::time::Duration::from_millis(1 + rnd(400)));
    // Statements that run are not waited for.
    let _ = engine.shutdown();
    match rnd(3) {
        0 => gannet_runtime::sim::crash(),
        _ => tasks.into_iter().for_each(|t| t.join().unwrap()),
    }
}

#[test]
fn a_shutdown_beside_running_statements_loses_nothing() {
    let seeds = match std::env::var("GANNET_SEED").ok().and_then(|s| s.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..24u64,
    };
    for seed in seeds {
        eprintln!("replay: GANNET_SEED={seed} cargo test -p gannet-engine --test shutdown");
        let (disk, told, id) = (SimDisk::new(), Told::default(), Arc::new(Mutex::new(None)));
        for round in 0..3 {
            let (told, id) = (told.clone(), id.clone());
            Sim::new(seed * 10 + round)
                .disk(&disk)
                .run_outcome(move || life(seed * 10 + round, &told, &id, round == 2));
        }
        assert!(!told.lock().unwrap().is_empty(), "seed {seed}: nothing was committed");
    }
}

/// Rows that take so much log.
fn rows(megabytes: u64) -> u64 {
    megabytes * 320
}

/// Writes `megabytes` of log into a store whose log may be 64 MiB, and cuts the power before a checkpoint.
fn leave_a_long_log(disk: &SimDisk, megabytes: u64) -> TreeId {
    let made = Arc::new(Mutex::new(None));
    let m = made.clone();
    Sim::new(megabytes).disk(disk).max_steps(20_000_000).run_outcome(move || {
        let engine = Engine::open(EngineOptions { redo_capacity_bytes: 64 << 20, ..options() }).unwrap();
        engine.hold_checkpoint(true);
        let tree = common::create(&engine, TreeKind::Row);
        *m.lock().unwrap() = Some(tree.id());
        let mut t = engine.begin(TxnOptions::default());
        for n in 0..rows(megabytes) {
            t.insert(&tree, &n.to_be_bytes(), &[n as u8; 3000]).unwrap();
            if n % 16 == 15 {
                t.commit().unwrap();
                t.begin(TxnOptions::default()).unwrap();
            }
        }
        gannet_runtime::sim::crash();
    });
    let id = made.lock().unwrap().take();
    id.expect("a tree")
}

/// A tool opens a store, waits for recovery and closes it at once: what was in the log may be far more than the log it
/// asked for, and no checkpointer has moved the checkpoint yet.
fn opened_and_closed(megabytes: u64, capacities: &[u64]) {
    let disk = SimDisk::new();
    let id = leave_a_long_log(&disk, megabytes);
    for &capacity in capacities {
        let copy = disk.copy();
        for round in 0..if capacity == 0 { 2 } else { 1 } {
            let closed = Arc::new(Mutex::new(false));
            let c = closed.clone();
            Sim::new(capacity + round).disk(&copy).max_steps(5_000_000).run_outcome(move || {
                let engine = Engine::open(EngineOptions {
                    redo_capacity_bytes: capacity,
                    mode: OpenMode::Existing,
                    ..options()
                })
                .unwrap();
                while engine.recovery().percent < 100.0 {
                    let _ = gannet_runtime::sleep(std::time::Duration::from_millis(1));
                }
                let tree = engine.tree(id).unwrap();
                assert_eq!(common::dump(&engine, &tree).len() as u64, rows(megabytes));
                engine.shutdown().unwrap();
                *c.lock().unwrap() = true;
            });
            assert!(*closed.lock().unwrap(), "{megabytes} MiB, capacity {capacity}, round {round}: does not end");
        }
    }
}

#[test]
fn a_store_with_a_long_log_is_opened_and_closed_whatever_capacity_is_asked_for() {
    opened_and_closed(4, &[0, 8 << 20, 16 << 20, 64 << 20]);
}

#[test]
fn a_store_with_a_longer_log_is_opened_with_little_capacity() {
    opened_and_closed(24, &[0, 8 << 20]);
}

#[test]
fn a_store_with_a_longer_log_is_opened_with_more_capacity() {
    opened_and_closed(24, &[16 << 20, 64 << 20]);
}
