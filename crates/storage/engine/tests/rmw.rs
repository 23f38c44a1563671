//! Atomic read-modify-writes per point select and per commit: each takes its cache line away from every other core.
//! Counted by `base::sync` in debug builds, on the thread that runs the statement.

#![cfg(debug_assertions)]

mod common;

use std::collections::BTreeMap;

use common::{TempDir, create, key, open};
use gannet_base::sync::tally;
use gannet_engine::*;

const ROUNDS: u64 = 1000;

/// By file (behind `crates/`), per round.
fn by_file(work: impl FnOnce()) -> BTreeMap<String, f64> {
    let mut files = BTreeMap::new();
    for ((file, line), n) in tally(work) {
        let file = file.rsplit("crates/").next().unwrap_or(file);
        println!("{:8.3}  {file}:{line}", n as f64 / ROUNDS as f64);
        *files.entry(file.to_owned()).or_default() += n as f64 / ROUNDS as f64;
    }
    files
}

fn store() -> (TempDir, Engine, TreeHandle, TreeHandle) {
    let dir = TempDir::new();
    let engine = open(&dir);
    let (rows, index) = (create(&engine, TreeKind::Row), create(&engine, TreeKind::Index));
    let mut t = engine.begin(TxnOptions::default());
    for n in 0..5000 {
        t.insert(&rows, &key(n), &[n as u8; 100]).unwrap();
        t.index_insert(&index, &[key(n / 7), key(n)].concat(), b"").unwrap();
    }
    t.commit().unwrap();
    // Old enough to be visible to all, nothing left to purge.
    engine.purge_now().unwrap();
    (dir, engine, rows, index)
}

#[test]
fn a_point_select_writes_nothing_shared() {
    let (_dir, engine, rows, index) = store();
    let mut t = engine.begin(TxnOptions::default());
    let mut row = RowBuf::new();
    let options = TxnOptions { autocommit: true, ..TxnOptions::default() };
    let mut select = |n: u64| {
        t.begin(options).unwrap();
        assert_eq!(t.get(&rows, &key(n * 37 % 5000), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
        t.commit().unwrap();
    };
    (0..ROUNDS).for_each(&mut select);
    let counts = by_file(|| (0..ROUNDS).for_each(&mut select));
    assert!(counts.is_empty(), "{counts:?}");
    // Nor does a short range of an index.
    let mut range = |n: u64| {
        t.begin(options).unwrap();
        let (lo, hi) = (key(n % 700), key(n % 700));
        let range = KeyRange::new(Cut::Before(&lo), Cut::After(&hi));
        let mut scan = t.scan(&index, range, ScanOptions::default()).unwrap();
        let mut seen = 0;
        while scan.next(&mut t).unwrap().is_some() {
            seen += 1;
        }
        assert_eq!(seen, 7);
        t.commit().unwrap();
    };
    (0..ROUNDS).for_each(&mut range);
    let counts = by_file(|| (0..ROUNDS).for_each(&mut range));
    assert!(counts.is_empty(), "{counts:?}");
}

/// What a transaction of one update of one row costs, by place. A figure that falls is to be lowered here.
#[test]
fn a_commit_writes_what_is_listed() {
    let (_dir, engine, rows, _) = store();
    let mut t = engine.begin(TxnOptions::default());
    let mut update = |n: u64| {
        t.begin(TxnOptions { autocommit: true, ..TxnOptions::default() }).unwrap();
        let done = t.update(&rows, &key(n * 37 % 5000), &[n as u8; 100]).unwrap();
        assert_eq!(done, Update::Updated);
        t.commit().unwrap();
    };
    (0..ROUNDS).for_each(&mut update);
    let counts = by_file(|| (0..ROUNDS).for_each(&mut update));
    // (file, at most, what)
    let most: &[(&str, f64)] = &[
        // Two exclusive latches and two let go: the row's leaf, the transaction's own undo page.
        ("storage/buffer/src/state.rs", 5.0),
        // Now and then an undo page more, and a frame for it.
        ("storage/buffer/src/space.rs", 0.1),
        ("storage/buffer/src/pool.rs", 0.1),
        // Two records reserved (the change, the end), one walk of the horizon.
        ("storage/log/src/ring.rs", 3.5),
        // The end waits for the log writer, which may sleep.
        ("storage/log/src/waiters.rs", 1.1),
        ("storage/log/src/idle.rs", 1.1),
        ("foundation/runtime/src/task.rs", 2.5),
        // The id, its slot taken and given its end.
        ("storage/engine/src/trxtable.rs", 3.1),
        // An undo stream taken from the worker's own pool and given back, its end noted.
        ("storage/engine/src/undo/stream.rs", 3.1),
    ];
    for (file, n) in &counts {
        let limit = most.iter().find(|(f, _)| f == file).map_or(0.0, |l| l.1);
        assert!(*n <= limit, "{file}: {n} read-modify-writes per commit, at most {limit}: {counts:?}");
    }
}
