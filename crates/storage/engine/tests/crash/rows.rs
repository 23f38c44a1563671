//! Rows with a secondary index, in one set of trees.
//!
//! Each transaction draws a number from a persistent counter and inserts it into a tree of its own: that tree tells
//! which transactions survived. Every change of a row is noted with its place in the row's history, so the surviving
//! transactions say what must be there. Beside them one row counts the transactions that are nothing but a change of
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gannet_engine::*;
use gannet_runtime::sim::SimDisk;

use crate::common::{key, rng};
use crate::{Life, Tally, Trouble, Work, Workload, index_bytes, let_redo_begin, redo_memory_bytes};

const KEYS: u64 = 40;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Not yet asked to commit, or rolled back.
    Gone,
    /// Asked to commit.
    Asked,
    /// Told that it is committed.
    Told,
}

#[derive(Clone, Debug)]
struct Op {
    tag: u64,
    row: Option<(u32, usize)>,
}

#[derive(Default)]
struct Oracle {
    fates: BTreeMap<u64, Fate>,
    /// By key: the changes in the order in which they were made.
    history: BTreeMap<u64, Vec<Op>>,
    trees: Option<[TreeId; 4]>,
    told: u64,
    /// Changes of the counting row that were begun, and those that were told.
    counted: (u64, u64),
}

fn row_bytes(tag: u64, col: u32, pad: usize) -> Vec<u8> {
    let mut out = [&col.to_be_bytes()[..], &tag.to_be_bytes()].concat();
    out.extend((0..pad).map(|i| (tag as usize + i) as u8));
    out
}

/// The counting row: its length changes with its value.
fn count_bytes(n: u64) -> Vec<u8> {
    let mut out = n.to_be_bytes().to_vec();
    out.resize(8 + n as usize % 7, n as u8);
    out
}

fn counted(row: &[u8]) -> u64 {
    let n = u64::from_be_bytes(row[..8].try_into().unwrap());
    assert_eq!(row, count_bytes(n), "half a change of the counting row");
    n
}

/// A transaction that is one change of the counting row.
fn count(t: &mut Txn, trees: &Trees, oracle: &Mutex<Oracle>, rnd: &mut impl FnMut(u64) -> u64) -> Result<()> {
    t.begin(TxnOptions { autocommit: true, lock_wait_timeout: Duration::from_secs(2), ..TxnOptions::default() })?;
    let mut row = RowBuf::new();
    oracle.lock().unwrap().counted.0 += 1;
    let done = loop {
        if rnd(4) == 0 {
            let _ = t.lock_first(&trees.count, &key(0))?;
        }
        assert_eq!(t.get(&trees.count, &key(0), ReadMode::Newest, &mut row)?, Read::Found);
        let n = counted(row.row());
        gannet_runtime::yield_now();
        match t.update_and_commit_if(&trees.count, &key(0), row.stamp(), &count_bytes(n + 1), Default::default()) {
            Ok(Update::Changed) => {}
            Ok(Update::Missing) => panic!("the counting row is gone"),
            done => break done.map(|_| ()),
        }
    };
    match done.and_then(|()| if rnd(5) == 0 { t.rollback().map(|()| false) } else { t.commit().map(|_| true) }) {
        Ok(waited) => {
            oracle.lock().unwrap().counted.1 += u64::from(waited);
            Ok(())
        }
        Err(e) => {
            // Nothing, or its outcome is open.
            t.rollback()?;
            if e == EngineError::LockWaitTimeout { Ok(()) } else { Err(e) }
        }
    }
}

fn index_key(col: u32, k: u64) -> Vec<u8> {
    [col.to_be_bytes(), key(k)].concat()
}

impl Oracle {
    /// Takes back a transaction's changes from the `from`-th of its own on.
    fn undo(&mut self, tag: u64, from: usize, keys: &[u64]) {
        for k in keys[from..].iter().rev() {
            // A deadlock's victim has let go of its locks already: others may have noted their changes behind.
            let h = self.history.get_mut(k).unwrap();
            let at = h.iter().rposition(|o| o.tag == tag).unwrap();
            h.remove(at);
        }
    }

    /// Compares with the transactions found; what is not decided yet is now.
    fn settle(&mut self, survived: &BTreeSet<u64>, durable: bool) -> BTreeMap<u64, Op> {
        for (&tag, &fate) in &self.fates {
            match fate {
                Fate::Told if durable => {
                    assert!(survived.contains(&tag), "transaction {tag} was acknowledged and is lost")
                }
                Fate::Gone => assert!(!survived.contains(&tag), "transaction {tag} was rolled back and is there"),
                _ => {}
            }
        }
        let mut rows = BTreeMap::new();
        for (&k, h) in &mut self.history {
            let gap = h.iter().position(|o| !survived.contains(&o.tag)).unwrap_or(h.len());
            if let Some(o) = h[gap..].iter().find(|o| survived.contains(&o.tag)) {
                panic!("key {k}: transaction {} survived but not what it wrote over ({})", o.tag, h[gap].tag);
            }
            h.truncate(gap);
            if let Some(o) = h.last().filter(|o| o.row.is_some()) {
                rows.insert(k, o.clone());
            }
        }
        self.fates.retain(|tag, _| survived.contains(tag));
        self.fates.values_mut().for_each(|f| *f = Fate::Told);
        rows
    }
}

#[derive(Clone)]
struct Trees {
    rows: TreeHandle,
    index: TreeHandle,
    tags: TreeHandle,
    count: TreeHandle,
}

fn open(seed: u64, oracle: &Mutex<Oracle>) -> (Engine, Trees) {
    let mut o = EngineOptions::new("/store");
    (o.buffer_pool_bytes, o.most_pool_bytes) = (4 << 20, 16 << 20);
    o.redo_capacity_bytes = 8 << 20;
    o.max_data_bytes = 256 << 20;
    o.purge_tasks = (seed % 3) as usize;
    o.redo_index_bytes = index_bytes(seed);
    o.redo_memory_bytes = redo_memory_bytes(seed);
    o.scrub_pages_per_second = if seed / 10 % 4 == 3 { 4_000 } else { 0 };
    o.flush_policy = if RowsWorkload::forgets(seed / 10) { FlushPolicy::WriteAtCommit } else { FlushPolicy::AtCommit };
    let engine = Engine::open(o).unwrap();
    let_redo_begin(seed);
    let ids = oracle.lock().unwrap().trees;
    let ids = ids.or_else(|| {
        // The trees' ids are in the store's numbers once they are committed.
        let ids = [1, 2, 3, 4].map(|slot| TreeId(engine.meta(slot).unwrap()));
        ids.iter().all(|id| !id.is_zero()).then_some(ids)
    });
    let ids = ids.unwrap_or_else(|| {
        let mut t = engine.begin(TxnOptions::default());
        let kinds = [TreeKind::Row, TreeKind::Index, TreeKind::Row, TreeKind::Row];
        let made = kinds.map(|kind| t.create_tree(kind).unwrap());
        assert_eq!(t.insert(&made[3], &key(0), &count_bytes(0)).unwrap(), Insert::Inserted);
        let ids = made.map(|tree| tree.id());
        t.commit().unwrap();
        engine.sync().unwrap();
        for (slot, id) in ids.iter().enumerate() {
            engine.set_meta(slot + 1, id.0).unwrap();
        }
        ids
    });
    oracle.lock().unwrap().trees = Some(ids);
    let [rows, index, tags, count] = ids.map(|id| engine.tree(id).unwrap());
    (engine, Trees { rows, index, tags, count })
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn scan(t: &mut Txn, tree: &TreeHandle) -> Result<Rows> {
    let mut scan = t.scan(tree, KeyRange::ALL, ScanOptions::default())?;
    let mut out = Vec::new();
    while let Some(e) = scan.next(t)? {
        out.push((e.key.to_vec(), e.value.to_vec()));
    }
    Ok(out)
}

/// Row tree and index tree agree in one snapshot, and stay as they were.
fn agree(t: &mut Txn, trees: &Trees) -> Result<Rows> {
    let rows = scan(t, &trees.rows)?;
    let mut want: Vec<Vec<u8>> = rows.iter().map(|(k, v)| [&v[..4], k].concat()).collect();
    want.sort();
    let have: Vec<Vec<u8>> = scan(t, &trees.index)?.into_iter().map(|e| e.0).collect();
    assert_eq!(have, want, "index and rows disagree");
    if rows.len() % 3 == 1 {
        // Meanwhile others change them, and purge comes by.
        let _ = gannet_runtime::sleep(Duration::from_millis(30));
    }
    assert!(scan(t, &trees.rows)? == rows, "a snapshot has changed");
    Ok(rows)
}

fn verify(engine: &Engine, trees: &Trees, oracle: &Mutex<Oracle>, durable: bool) {
    let mut t = engine.begin(TxnOptions::default());
    let tags: BTreeSet<u64> =
        scan(&mut t, &trees.tags).unwrap().iter().map(|(k, _)| u64::from_be_bytes(k[..].try_into().unwrap())).collect();
    let rows = agree(&mut t, trees).unwrap();
    t.commit().unwrap();
    let next = trees.tags.counter_next();
    assert!(tags.last().is_none_or(|&last| next > last), "the counter would hand out {next} again");
    let (begun, told) = oracle.lock().unwrap().counted;
    let mut row = RowBuf::new();
    let mut t = engine.begin(TxnOptions::default());
    assert_eq!(t.get(&trees.count, &key(0), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
    let n = counted(row.row());
    t.commit().unwrap();
    assert!(n <= begun && (!durable || n >= told), "{n} changes of the counting row, {begun} begun, {told} told");
    oracle.lock().unwrap().counted = (n, n);
    let want = oracle.lock().unwrap().settle(&tags, durable);
    let want: Vec<_> = want
        .iter()
        .map(|(&k, o)| {
            let (col, pad) = o.row.unwrap();
            (key(k).to_vec(), row_bytes(o.tag, col, pad))
        })
        .collect();
    assert_eq!(rows.len(), want.len(), "number of rows");
    for (have, want) in rows.iter().zip(&want) {
        assert_eq!(have.0, want.0);
        assert!(have.1 == want.1, "row {:?} is not what its last transaction wrote", have.0);
    }
}

/// One transaction. `Err`: the disk failed; it is rolled back, or its outcome is open.
fn transaction(t: &mut Txn, trees: &Trees, oracle: &Mutex<Oracle>, rnd: &mut impl FnMut(u64) -> u64) -> Result<()> {
    let isolation = [Isolation::ReadCommitted, Isolation::RepeatableRead][rnd(2) as usize];
    t.begin(TxnOptions { isolation, lock_wait_timeout: Duration::from_secs(2), ..TxnOptions::default() })?;
    let tag = trees.tags.counter_reserve(1, 1, 1)?.unwrap();
    oracle.lock().unwrap().fates.insert(tag, Fate::Gone);
    let mut keys: Vec<u64> = Vec::new();
    let result = (|| {
        assert_eq!(
            t.insert(&trees.tags, &tag.to_be_bytes(), b"")?,
            Insert::Inserted,
            "number {tag} was handed out twice"
        );
        let mut mark: Option<(Savepoint, usize)> = None;
        for _ in 0..1 + rnd(5) {
            if rnd(8) == 0 {
                mark = Some((t.savepoint(), keys.len()));
            }
            let statement = (t.begin_statement(), keys.len());
            match change(t, trees, oracle, tag, &mut keys, rnd) {
                Err(EngineError::LockWaitTimeout) => {
                    oracle.lock().unwrap().undo(tag, statement.1, &keys);
                    keys.truncate(statement.1);
                    t.rollback_to(statement.0)?;
                }
                r => r?,
            }
            t.end_statement()?;
            if let (Some((save, len)), true) = (mark, rnd(8) == 0) {
                oracle.lock().unwrap().undo(tag, len, &keys);
                keys.truncate(len);
                t.rollback_to(save)?;
                mark = None;
            }
        }
        Ok(())
    })();
    match result {
        Ok(()) if rnd(6) != 0 => {
            oracle.lock().unwrap().fates.insert(tag, Fate::Asked);
            if let Err(e) = t.commit() {
                if t.is_active() {
                    // Not even in the log.
                    oracle.lock().unwrap().fates.insert(tag, Fate::Gone);
                    oracle.lock().unwrap().undo(tag, 0, &keys);
                    t.rollback()?;
                }
                return Err(e);
            }
            let mut o = oracle.lock().unwrap();
            o.fates.insert(tag, Fate::Told);
            o.told += 1;
            Ok(())
        }
        Ok(()) => {
            oracle.lock().unwrap().undo(tag, 0, &keys);
            t.rollback()
        }
        Err(EngineError::Deadlock) => {
            assert!(!t.is_active());
            oracle.lock().unwrap().undo(tag, 0, &keys);
            Ok(())
        }
        Err(e) => {
            oracle.lock().unwrap().undo(tag, 0, &keys);
            t.rollback()?;
            Err(e)
        }
    }
}

fn change(
    t: &mut Txn,
    trees: &Trees,
    oracle: &Mutex<Oracle>,
    tag: u64,
    keys: &mut Vec<u64>,
    rnd: &mut impl FnMut(u64) -> u64,
) -> Result<()> {
    let k = rnd(KEYS);
    let most = [20, 20, 200, 3000, 30_000][rnd(5) as usize];
    let pad = rnd(most) as usize;
    let new = (rnd(4) != 0).then(|| (rnd(12) as u32, pad));
    let mut row = RowBuf::new();
    let found = t.get(&trees.rows, &key(k), ReadMode::FOR_UPDATE, &mut row)?;
    let old = (found == Read::Found).then(|| u32::from_be_bytes(row.row()[..4].try_into().unwrap()));
    let note = |row| {
        let mut o = oracle.lock().unwrap();
        o.history.entry(k).or_default().push(Op { tag, row });
    };
    let done = (|| match (old, new) {
        (None, None) => Ok(false),
        (None, Some((col, pad))) => match t.insert(&trees.rows, &key(k), &row_bytes(tag, col, pad))? {
            Insert::Duplicate => Ok(false),
            Insert::Inserted => t.index_insert(&trees.index, &index_key(col, k), b"c").map(|()| true),
        },
        (Some(old), None) => {
            assert_eq!(t.delete(&trees.rows, &key(k))?, Delete::Deleted);
            t.index_delete(&trees.index, &index_key(old, k)).map(|()| true)
        }
        (Some(old), Some((col, pad))) => {
            assert_eq!(t.update(&trees.rows, &key(k), &row_bytes(tag, col, pad))?, Update::Updated);
            t.index_delete(&trees.index, &index_key(old, k))?;
            t.index_insert(&trees.index, &index_key(col, k), b"c").map(|()| true)
        }
    })();
    // The note comes last, when nothing can fail any more: what is noted is done.
    if done? {
        note(new);
        keys.push(k);
    }
    Ok(())
}

/// Opens, checks, works until the power is cut or enough is done.
fn live(life: &Life, oracle: &Arc<Mutex<Oracle>>) {
    let &Life { seed, durable, trouble, ref disk } = life;
    let (engine, trees) = open(seed, oracle);
    verify(&engine, &trees, oracle, durable);
    trouble.begin(disk, seed);
    let mut tasks = Vec::new();
    for n in 0..3u64 {
        let (engine, trees, oracle) = (engine.clone(), trees.clone(), oracle.clone());
        tasks.push(gannet_runtime::spawn(&format!("client-{n}"), move || {
            let mut rnd = rng(seed * 31 + n);
            let mut t = engine.begin(TxnOptions::default());
            for _ in 0..25 {
                let mut done = Ok(Vec::new());
                if rnd(6) == 0 {
                    done = t.begin(TxnOptions::default()).and_then(|()| agree(&mut t, &trees));
                    done = done.and_then(|rows| t.commit().map(|_| rows));
                }
                if seed % 4 == 1 && rnd(3) == 0 {
                    done = done.and_then(|rows| count(&mut t, &trees, &oracle, &mut rnd).map(|()| rows));
                }
                if seed / 10 % 2 == 1 && rnd(10) == 0 {
                    // Refused while the last change is under way.
                    pool::resize(&engine, [1, 2, 4, 16][rnd(4) as usize] << 20);
                }
                match done.and_then(|_| transaction(&mut t, &trees, &oracle, &mut rnd)) {
                    Ok(()) => {}
                    Err(e) if trouble.explains(&e) => {
                        let _ = gannet_runtime::sleep(Duration::from_millis(5));
                    }
                    Err(e) => panic!("{trouble:?}: {e}"),
                }
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
    trouble.end(disk);
    if trouble == Trouble::Broken {
        // Reads go on: what they see is whole.
        let mut t = engine.begin(TxnOptions::default());
        if let Err(e) = agree(&mut t, &trees) {
            assert!(trouble.explains(&e), "{e}");
        }
        gannet_runtime::sim::crash();
    }
    if trouble != Trouble::None {
        // It goes on without a restart.
        let mut t = engine.begin(TxnOptions::default());
        transaction(&mut t, &trees, oracle, &mut rng(seed)).unwrap();
    }
    while engine.status().recovering > 0 {
        let _ = gannet_runtime::sleep(Duration::from_millis(5));
    }
    engine.purge_now().unwrap();
    let mut t = engine.begin(TxnOptions::default());
    let rows = agree(&mut t, &trees).unwrap().len() as u64;
    t.commit().unwrap();
    assert_eq!(engine.check_tree(&trees.rows).unwrap(), rows, "garbage in the row tree");
    assert_eq!(engine.check_tree(&trees.index).unwrap(), rows, "garbage in the index tree");
    let store = engine.check_store().unwrap();
    assert!(store.findings.is_empty(), "{:?}", store.findings);
    let scrub = engine.scrub_status();
    assert!(scrub.errors == 0 || trouble == Trouble::Reads, "{scrub:?} {:?}", engine.damaged_pages());
    if seed.is_multiple_of(2) {
        match engine.shutdown() {
            // A write that found no room while the disk was full; the log has everything.
            Err(EngineError::NotWrittenBack(_)) if trouble == Trouble::Full => {}
            other => other.unwrap(),
        }
    } else {
        gannet_runtime::sim::crash();
    }
}

/// The workload.
pub struct RowsWorkload(Arc<Mutex<Oracle>>);

impl Workload for RowsWorkload {
    fn new(_seed: u64) -> Arc<RowsWorkload> {
        Arc::new(RowsWorkload(Arc::default()))
    }

    fn live(&self, life: &Life) {
        live(life, &self.0);
    }

    fn work(&self) -> Work {
        Work { transactions: self.0.lock().unwrap().told }
    }

    // What policy 2 told the clients of a life may be gone.
    fn forgets(seed: u64) -> bool {
        seed % 5 == 4
    }

    fn damaged(&self, disk: &SimDisk, seed: u64, tally: &mut Tally) {
        let Some(trees) = self.0.lock().unwrap().trees else { return };
        match seed / 4 % 3 {
            0 => crate::flips::control(disk, seed, &trees, &mut tally.flips),
            _ => crate::flips::run(disk, seed, &trees, &mut tally.flips),
        }
    }
}
