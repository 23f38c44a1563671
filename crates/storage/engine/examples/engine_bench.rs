//! Measures the engine alone, from plain threads.
//!
//! ```text
//! cargo run --release -p gannet-engine --example engine_bench -- [WHAT] [THREADS] [SECONDS] [DIRECTORY]
//! ```
//! WHAT: `get` (point reads, a transaction each), `scan` (100 rows), `update` (one row and commit, durable), `update2`
//! (flush policy 2), `update_if` (as `update`, by an optimistic read), `lock` (FOR UPDATE, then update), `insert` (row
//! and index entry), `hot` (all threads one row), or `count N`: exactly N point reads by one thread, for `valgrind
//! --tool=callgrind --toggle-collect='*point_get*'`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use gannet_engine::*;

const ROWS: u64 = 200_000;

fn key(n: u64) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

fn next(x: &mut u64) -> u64 {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    *x
}

#[inline(never)]
fn point_get(t: &mut Txn, tree: &TreeHandle, k: u64, row: &mut RowBuf, options: TxnOptions) {
    t.begin(options).unwrap();
    assert_eq!(t.get(tree, &key(k), ReadMode::Snapshot, row).unwrap(), Read::Found);
    t.commit().unwrap();
}

fn one(what: &str, t: &mut Txn, rows: &TreeHandle, index: &TreeHandle, x: &mut u64, row: &mut RowBuf) -> bool {
    let options = TxnOptions { autocommit: true, ..TxnOptions::default() };
    let k = if what == "hot" { 7 } else { next(x) % ROWS };
    if what == "get" {
        point_get(t, rows, k, row, options);
        return true;
    }
    t.begin(options).unwrap();
    let done = match what {
        "scan" => {
            let (lo, hi) = (key(k), key(k + 99));
            let range = KeyRange::new(Cut::Before(&lo), Cut::After(&hi));
            let mut scan = t.scan(rows, range, ScanOptions::default()).unwrap();
            while scan.next(t).unwrap().is_some() {}
            true
        }
        "update_if" => {
            t.get(rows, &key(k), ReadMode::Newest, row).unwrap();
            let mut new = row.row().to_vec();
            new[50..58].copy_from_slice(&x.to_le_bytes());
            t.update_if(rows, &key(k), row.stamp(), &new).unwrap() == Update::Updated
        }
        "lock" => {
            t.get(rows, &key(k), ReadMode::FOR_UPDATE, row).unwrap();
            let mut new = row.row().to_vec();
            new[50..58].copy_from_slice(&x.to_le_bytes());
            t.update(rows, &key(k), &new).unwrap() == Update::Updated
        }
        "insert" => {
            let k = rows.counter_reserve(1, 1, 1).unwrap().unwrap();
            let new = [1; 190];
            t.insert(rows, &key(k), &new).unwrap();
            t.index_insert(index, &[key(*x % 1_000_000), key(k)].concat(), b"").unwrap();
            true
        }
        _ => {
            let new = [*x as u8; 190];
            t.update(rows, &key(k), &new).unwrap() == Update::Updated
        }
    };
    t.commit().unwrap();
    done
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("get", |s| s.as_str()).to_owned();
    let number = |i: usize, default: u64| args.get(i).map_or(default, |s| s.parse().expect("a number"));
    let (threads, seconds) = (number(1, 1), number(2, 3));
    let dir = args.get(3).cloned().unwrap_or_else(|| format!("{}/engine_bench", std::env::temp_dir().display()));
    let _ = std::fs::remove_dir_all(&dir);
    let mut o = EngineOptions::new(&dir);
    o.buffer_pool_bytes = 512 << 20;
    o.redo_capacity_bytes = 512 << 20;
    o.flush_policy = FlushPolicy::WriteAtCommit;
    let engine = Engine::open(o).unwrap();
    let mut t = engine.begin(TxnOptions::default());
    let (rows, index) = (t.create_tree(TreeKind::Row).unwrap(), t.create_tree(TreeKind::Index).unwrap());
    let start = Instant::now();
    for k in 0..ROWS {
        t.insert(&rows, &key(k), &[k as u8; 190]).unwrap();
    }
    t.commit().unwrap();
    rows.counter_raise(ROWS).unwrap();
    println!("load: {:.0} rows/s", ROWS as f64 / start.elapsed().as_secs_f64());
    engine.purge_now().unwrap();
    if what == "count" {
        let (mut row, mut x) = (RowBuf::new(), 88172645463325252);
        let options = TxnOptions { autocommit: true, ..TxnOptions::default() };
        for _ in 0..threads {
            point_get(&mut t, &rows, next(&mut x) % ROWS, &mut row, options);
        }
        return;
    }
    if !matches!(what.as_str(), "update2" | "get" | "scan") {
        engine.set_flush_policy(FlushPolicy::AtCommit);
    }
    let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|s| {
        for n in 0..threads {
            let (engine, rows, index, stop, total, what) = (&engine, &rows, &index, &stop, &total, &what);
            s.spawn(move || {
                let mut t = engine.begin(TxnOptions::default());
                let (mut row, mut x, mut done) = (RowBuf::new(), 88172645463325252 + n * 7919, 0u64);
                while !stop.load(Relaxed) {
                    done += u64::from(one(what, &mut t, rows, index, &mut x, &mut row));
                }
                total.fetch_add(done, Relaxed);
            });
        }
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Relaxed);
    });
    let rate = total.load(Relaxed) as f64 / start.elapsed().as_secs_f64();
    let status = engine.status();
    println!(
        "{what}: {rate:.0}/s with {threads} threads; history {}, checkpoints {}",
        status.history_length, status.checkpoints
    );
    engine.shutdown().unwrap();
    let _ = std::fs::remove_dir_all(&dir);
}
