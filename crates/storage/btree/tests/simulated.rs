//! Trees under the deterministic scheduler: every latch and atomic step is a place where another task may run; the same
//! with a power cut and what the disk keeps of it. A seed that fails prints itself; run it alone with `SEED=n`, more of
//! them with `SEEDS=n`.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use common::Rng;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use gannet_base::{Lsn, TreeId};
use gannet_btree::Tree;
use gannet_buffer::resize::{self, ResizeStage};
use gannet_buffer::testing::{MemoryLog, MemoryRedo};
use gannet_buffer::{Pool, PoolOptions, Stop, Wal, repair};
use gannet_runtime::sim::{Sim, SimDisk};
use gannet_runtime::spawn;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
/// What was done: LSN, key, new value or removal.
type Done = Arc<Mutex<Vec<(Lsn, Vec<u8>, Option<Vec<u8>>)>>>;

fn seeds(n: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, n2) => 0..n2.unwrap_or(n),
    }
}

fn options() -> PoolOptions {
    PoolOptions {
        dir: PathBuf::from("store"),
        pool_bytes: 48 * 16384,
        most_pool_bytes: 1000 * 16384,
        max_data_bytes: 64 << 20,
        direct_io: true,
        store_id: [7; 16],
    }
}

/// Few and large entries: nearly every operation changes the structure.
fn key(rng: &mut Rng, who: u64, keys: u64) -> Vec<u8> {
    let n = rng.below(keys);
    let mut k = format!("{n:03}").into_bytes();
    k.push(who as u8);
    k.extend(std::iter::repeat_n(b'.', [0, 30, 1500][n as usize % 3]));
    k
}

fn change(tree: &Tree, done: &Done, k: &[u8], v: Option<&[u8]>) -> bool {
    let pool = tree.pool();
    let (found, underfull) = pool
        .run(|| {
            let mut mtr = pool.mtr()?;
            let leaf = tree.leaf_for_write(&mut mtr, k, v.map_or(0, <[u8]>::len))?;
            let underfull = match v {
                Some(v) if leaf.found() => {
                    leaf.replace(&mut mtr, v);
                    false
                }
                Some(v) => {
                    leaf.insert(&mut mtr, k, v);
                    false
                }
                None => leaf.found() && leaf.remove(&mut mtr),
            };
            if mtr.is_changed() {
                mtr.commit_with(|lsn| done.lock().push((lsn, k.to_vec(), v.map(<[u8]>::to_vec))));
            }
            Ok::<_, Stop>((leaf.found(), underfull))
        })
        .unwrap();
    if underfull {
        tree.merge(k).unwrap();
    }
    found
}

fn write(tree: &Tree, done: &Done, seed: u64, who: u64, steps: usize) -> Model {
    let mut rng = Rng(seed ^ who << 32);
    let mut model = Model::new();
    let mut out = Vec::new();
    for step in 0..steps {
        let k = key(&mut rng, who, 40);
        if step / 15 % 2 == 1 {
            let k = model.range(k.clone()..).next().map_or(k.clone(), |(k, _)| k.clone());
            assert_eq!(change(tree, done, &k, None), model.remove(&k).is_some());
        } else {
            let mut v = k.clone();
            v.extend(std::iter::repeat_n(step as u8, rng.below(3000) as usize));
            assert_eq!(change(tree, done, &k, Some(&v)), model.insert(k.clone(), v).is_some());
        }
        out.clear();
        assert_eq!(tree.lookup(&k, &mut out).unwrap().then_some(&out), model.get(&k), "own write is not seen");
    }
    model
}

/// Entries of a third of a page: so many pages that a small pool does not hold them.
fn fill(tree: &Tree, done: &Done, seed: u64, who: u64, steps: usize) -> Model {
    let mut rng = Rng(seed ^ who << 32);
    let mut model = Model::new();
    for step in 0..steps {
        // Each key once, then any of them again.
        let n = if step < steps / 2 { step as u64 * 7919 } else { rng.below(steps as u64) } % (steps as u64 / 2);
        let k = format!("{n:04}{who}").into_bytes();
        let mut v = k.clone();
        v.extend(std::iter::repeat_n(step as u8, 5000));
        assert_eq!(change(tree, done, &k, Some(&v)), model.insert(k, v).is_some());
    }
    model
}

fn scan(tree: &Tree, seed: u64, stop: &AtomicBool) {
    let mut rng = Rng(seed);
    let mut cursor = tree.cursor();
    while !stop.load(SeqCst) {
        let k = key(&mut rng, 1, 40);
        cursor.set_range(Some(&k), None);
        let mut before = Vec::new();
        while cursor.next().unwrap() {
            assert!(cursor.key() > &before[..] && cursor.value().starts_with(cursor.key()));
            before = cursor.key().to_vec();
        }
        cursor.set_range(None, Some(&k));
        let mut after = k;
        while cursor.prev().unwrap() {
            assert!(cursor.key() < &after[..] && cursor.value().starts_with(cursor.key()));
            after = cursor.key().to_vec();
        }
        // Time passes only while nobody runs: those who wait for it get their turn.
        let _ = gannet_runtime::sleep(std::time::Duration::from_micros(500));
    }
}

/// Resizes until told to stop, between sizes with more and with fewer frames than the tests' trees have pages.
fn keep_resizing(pool: &Pool, seed: u64, stop: &AtomicBool) -> u64 {
    let (mut rng, mut done) = (Rng(seed), 0);
    while !stop.load(SeqCst) {
        assert!(resize::resize(pool, [48, 48, 100, 400][rng.below(4) as usize] * 16384));
        while !stop.load(SeqCst) && resize::resized(pool).stage != ResizeStage::Done {
            let _ = gannet_runtime::sleep(std::time::Duration::from_micros(50));
        }
        done += 1;
        let _ = gannet_runtime::sleep(std::time::Duration::from_micros(rng.below(2000)));
    }
    done
}

fn same(tree: &Tree, model: &Model) {
    let mut entries = model.iter();
    let check =
        tree.check_tree(|k, v| assert_eq!(entries.next().map(|(k, v)| (&k[..], &v[..])), Some((k, v)))).unwrap();
    assert_eq!((check.entries as usize, check.other_pages), (model.len(), 0));
}

#[test]
fn interleavings() {
    for seed in seeds(100) {
        Sim::new(seed).run(move || {
            let pool = Pool::open(&options(), Arc::new(MemoryLog::new()), None).unwrap();
            if seed % 2 == 0 {
                pool.start_cleaner();
            }
            let tree = Tree::create(&pool).unwrap();
            let (done, stop) = (Done::default(), Arc::new(AtomicBool::new(false)));
            let writers: Vec<_> = (0..3)
                .map(|who| {
                    let (tree, done) = (tree.clone(), done.clone());
                    spawn("writer", move || write(&tree, &done, seed, who, 60))
                })
                .collect();
            let (t, s) = (tree.clone(), stop.clone());
            let scanner = spawn("scanner", move || scan(&t, seed, &s));
            let (p, s) = (pool.clone(), stop.clone());
            let sweeper = spawn("sweeper", move || {
                while !s.load(SeqCst) {
                    p.flush_all().unwrap();
                    let _ = gannet_runtime::sleep(std::time::Duration::from_micros(20));
                }
            });
            let model: Model = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
            stop.store(true, SeqCst);
            scanner.join().unwrap();
            sweeper.join().unwrap();
            same(&tree, &model);
            pool.stop_cleaner();
        });
    }
}

/// A pool grows and shrinks under writers, a scanner and a sweeper, and the sweeper's LSNs hold: what is dirty when all
/// is done lies above the last one.
#[test]
fn resizes() {
    let mut moved = 0;
    for seed in seeds(15) {
        moved += Sim::new(seed).run(move || {
            let pool = Pool::open(&options(), Arc::new(MemoryLog::new()), None).unwrap();
            pool.start_cleaner();
            let tree = Tree::create(&pool).unwrap();
            let (done, stop) = (Done::default(), Arc::new(AtomicBool::new(false)));
            let writers: Vec<_> = (0..2)
                .map(|who| {
                    let (tree, done) = (tree.clone(), done.clone());
                    spawn("writer", move || fill(&tree, &done, seed, who, 600))
                })
                .collect();
            let (t, s) = (tree.clone(), stop.clone());
            let scanner = spawn("scanner", move || scan(&t, seed, &s));
            let (p, s) = (pool.clone(), stop.clone());
            let resizer = spawn("resizer", move || keep_resizing(&p, seed, &s));
            let model: Model = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
            stop.store(true, SeqCst);
            scanner.join().unwrap();
            let resized = resizer.join().unwrap();
            same(&tree, &model);
            pool.flush_all().unwrap();
            assert_eq!(pool.status().pages_dirty, 0);
            pool.stop_cleaner();
            assert!(resized > 0);
            resize::resized(&pool).moved
        });
    }
    if std::env::var("SEED").is_err() {
        assert!(moved > 10, "{moved} pages moved");
    }
}

#[test]
fn power_cuts() {
    let (mut crashed, mut restored, mut checkpointed) = (0, 0, 0);
    for seed in seeds(8) {
        let disk = SimDisk::new();
        let log = Arc::new(MemoryLog::new());
        let (done, checkpoint, root) = (Done::default(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (l, d, c, r) = (log.clone(), done.clone(), checkpoint.clone(), root.clone());
        let steps = 1000 + Rng(seed).below(20_000);
        let outcome = Sim::new(seed).disk(&disk).crash_after(steps).run_outcome(move || {
            let pool = Pool::open(&options(), l.clone(), None).unwrap();
            // A new store is one from here on: as the engine does, before its control file says so.
            pool.flush_all().unwrap();
            pool.start_cleaner();
            let tree = Tree::create(&pool).unwrap();
            l.wait_durable(l.tail_lsn()).unwrap();
            r.store(tree.id().0, SeqCst);
            let writers: Vec<_> = (0..3)
                .map(|who| {
                    let (tree, done) = (tree.clone(), d.clone());
                    spawn("writer", move || write(&tree, &done, seed, who, 400))
                })
                .collect();
            if seed % 2 == 1 {
                let pool = pool.clone();
                spawn("resizer", move || keep_resizing(&pool, seed, &AtomicBool::new(false)));
            }
            let sweeper = spawn("sweeper", move || {
                loop {
                    let lsn = pool.flush_all().unwrap();
                    pool.wal().wait_durable(lsn).unwrap();
                    c.store(lsn.0, SeqCst);
                    let _ = gannet_runtime::sleep(std::time::Duration::from_micros(50));
                }
            });
            writers.into_iter().for_each(|w| drop(w.join()));
            let _ = sweeper.join();
        });
        assert!(outcome.value.is_none(), "the run ended before the power cut");
        let root = TreeId(root.load(SeqCst));
        if root.is_zero() {
            continue;
        }
        crashed += 1;
        let (durable, checkpoint) = (log.durable_lsn(), Lsn(checkpoint.load(SeqCst)));
        checkpointed += (checkpoint > Lsn::ZERO) as u32;
        let mut changes = done.lock().clone();
        changes.sort();
        let mut model = Model::new();
        for (_, k, v) in changes.into_iter().filter(|(lsn, ..)| *lsn <= durable) {
            match v {
                Some(v) => drop(model.insert(k, v)),
                None => drop(model.remove(&k)),
            }
        }
        let mut records = log.records();
        records.retain(|(lsn, _)| *lsn <= durable);
        restored += Sim::new(seed).disk(&disk).run(move || {
            let repaired = repair(&options().dir, gannet_base::Lsn::ZERO).unwrap();
            let redo = Arc::new(MemoryRedo::new(&records, checkpoint));
            let log = Arc::new(MemoryLog::starting_at(durable));
            let pool = Pool::open(&options(), log, Some(redo)).unwrap();
            let tree = Tree::open(pool, root);
            same(&tree, &model);
            // And it goes on.
            write(&tree, &Done::default(), seed, 9, 30);
            repaired.restored
        });
    }
    if std::env::var("SEED").is_err() {
        assert!(crashed > 4 && restored > 0 && checkpointed > 4, "{crashed} {restored} {checkpointed}");
    }
}
