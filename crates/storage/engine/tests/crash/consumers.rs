//! The workload of consumers: transactions that tell something, and two who follow the log for it, one of them lazily.
//! Each transaction inserts a row under its number and tells the number and bytes that follow from it; after a crash
//! the rows say who has committed. Some change a row that they have inserted before, and commit with that change; until
//! then the row is [`PENDING`].
//!
//! A consumer keeps what it is given in an oracle that survives the crash, and says that it is done a while later. So
//! the payloads that both have been given, over all lives, must be those of the committed transactions: each whole, in
//! the order of commits, and those that it was not done with again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gannet_engine::*;

use crate::common::rng;
use crate::{Life, Trouble, Work, Workload, index_bytes, let_redo_begin};

const NAMES: [&str; 2] = ["keen", "lazy"];

/// What a consumer was given: by the commit's LSN, the transaction's number.
#[derive(Default)]
struct Given {
    all: BTreeMap<Lsn, u64>,
    /// All up to here it has said that it is done with.
    done: Lsn,
    /// It exists: its first position, durably.
    begun: Option<Lsn>,
}

/// The row of a transaction that has yet to commit with its only change.
const PENDING: &[u8] = &[0];

#[derive(Default)]
struct Oracle {
    tree: Option<TreeId>,
    next: u64,
    /// Numbers of transactions that were told to have committed, with LSNs.
    told: BTreeMap<u64, Lsn>,
    given: [Given; 2],
    work: u64,
}

fn payload(n: u64) -> Vec<u8> {
    let len = match n % 40 {
        0..5 => 0,
        5..10 => 10,
        10 => 3 << 20,
        20 => (1 << 20) - 16 - 8,
        30 => (1 << 20) - 16 - 7,
        _ => 10 + n as usize % 300,
    };
    let mut bytes = n.to_le_bytes().to_vec();
    let pattern: Vec<u8> = (0..251).map(|i| (n + i * 13) as u8).collect();
    bytes.extend(pattern.iter().cycle().take(len));
    bytes
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().unwrap())
}

fn open(seed: u64, oracle: &Mutex<Oracle>) -> (Engine, TreeHandle) {
    let engine = Engine::open(EngineOptions {
        buffer_pool_bytes: 4 << 20,
        redo_capacity_bytes: 16 << 20,
        max_data_bytes: 256 << 20,
        purge_tasks: (seed % 2) as usize,
        redo_index_bytes: index_bytes(seed),
        ..EngineOptions::new("/store")
    })
    .unwrap();
    let_redo_begin(seed);
    // Not under the lock: a crash in the middle of what waits would poison it.
    let known = oracle.lock().unwrap().tree;
    let id = known.or_else(|| {
        let id = TreeId(engine.meta(1).unwrap());
        (!id.is_zero()).then_some(id)
    });
    let id = id.unwrap_or_else(|| {
        let mut t = engine.begin(TxnOptions::default());
        let id = t.create_tree(TreeKind::Row).unwrap().id();
        t.commit().unwrap();
        engine.set_meta(1, id.0).unwrap();
        id
    });
    oracle.lock().unwrap().tree = Some(id);
    let tree = engine.tree(id).unwrap();
    (engine, tree)
}

/// A consumer as the crash has left it: not before what it was done with when its position was written, not behind what
/// it is done with.
fn attach(engine: &Engine, which: usize, oracle: &Mutex<Oracle>) -> Result<Consumer> {
    let hold = Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake };
    let mut consumer = engine.consumer(NAMES[which], hold)?;
    let mut o = oracle.lock().unwrap();
    let given = &mut o.given[which];
    match given.begun {
        Some(_) => assert!(consumer.is_resumed(), "consumer {} is forgotten", NAMES[which]),
        // Its creation may have become durable without anybody hearing of it.
        None => given.begun = Some(consumer.begins_behind()),
    }
    assert!(consumer.begins_behind() >= given.begun.unwrap());
    let ahead = given.all.range(..=consumer.begins_behind()).next_back().is_some_and(|(lsn, _)| *lsn > given.done);
    assert!(!ahead, "what was given and not done is passed over");
    drop(o);
    catch_up(&mut consumer, which, oracle, &mut |_| false)?;
    Ok(consumer)
}

/// Takes what is there; says that it is done when `done` draws so.
fn catch_up(
    consumer: &mut Consumer,
    which: usize,
    oracle: &Mutex<Oracle>,
    done: &mut dyn FnMut(&Committed) -> bool,
) -> Result<()> {
    while let Some(committed) = consumer.poll()? {
        let n = number(&committed.payload);
        assert!(committed.payload == payload(n), "the payload of transaction {n} is torn");
        let mut o = oracle.lock().unwrap();
        let given = &mut o.given[which];
        let again = given.all.insert(committed.lsn, n);
        assert!(again.is_none_or(|before| before == n), "another transaction at {}", committed.lsn);
        drop(o);
        if done(&committed) {
            consumer.done(&committed)?;
        }
    }
    Ok(())
}

/// Rows say who has committed; those who were told of it are among them; each consumer has been given all that it
/// should.
fn verify(engine: &Engine, tree: &TreeHandle, oracle: &Mutex<Oracle>) {
    let mut t = engine.begin(TxnOptions::default());
    let mut scan = t.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    let mut rows = std::collections::BTreeSet::new();
    while let Some(e) = scan.next(&mut t).unwrap() {
        if e.value == PENDING {
            continue;
        }
        rows.insert(u64::from_be_bytes(e.key[..8].try_into().unwrap()));
    }
    drop(t);
    let mut o = oracle.lock().unwrap();
    o.next = o.next.max(tree.counter_next());
    for (n, lsn) in &o.told {
        assert!(rows.contains(n), "transaction {n} was acknowledged at {lsn} and is lost");
    }
    for (which, given) in o.given.iter().enumerate().filter(|(_, g)| g.begun.is_some()) {
        let name = NAMES[which];
        for (lsn, n) in &given.all {
            assert!(rows.contains(n), "{name} was given transaction {n} at {lsn}, which has not committed");
            assert!(o.told.get(n).is_none_or(|told| told == lsn), "{name}: another LSN of transaction {n}");
        }
        let got: std::collections::BTreeSet<_> = given.all.values().collect();
        assert_eq!(got.len(), given.all.len(), "{name} was given a transaction twice");
        for (n, lsn) in o.told.iter().filter(|(_, lsn)| **lsn > given.begun.unwrap()) {
            assert!(got.contains(n), "{name} was not given transaction {n} at {lsn}");
        }
        if let Some(n) = rows.iter().find(|n| !got.contains(n) && !o.told.contains_key(n)) {
            // Its outcome was open: then both have it, unless it committed before they began.
            let last = given.all.values().min();
            assert!(last.is_none_or(|first| n < first) || *n < 64, "{name} was not given transaction {n}");
        }
    }
}

fn client(engine: &Engine, tree: &TreeHandle, oracle: &Mutex<Oracle>, rnd: &mut impl FnMut(u64) -> u64) -> Result<()> {
    let mut t = engine.try_begin(TxnOptions { lock_wait_timeout: Duration::from_secs(2), ..TxnOptions::default() })?;
    let n = tree.counter_reserve(1, 1, 1)?.unwrap();
    let (key, row) = (n.to_be_bytes(), vec![1; rnd(400) as usize]);
    let changes = rnd(3) == 0;
    t.insert(tree, &key, if changes { PENDING } else { &row })?;
    if rnd(8) == 0 {
        return t.rollback();
    }
    let bytes = payload(n);
    let lsn = if changes {
        t.commit_unsynced()?;
        t.begin(TxnOptions { lock_wait_timeout: Duration::from_secs(2), ..TxnOptions::default() })?;
        let mut found = RowBuf::new();
        assert_eq!(t.get(tree, &key, ReadMode::Newest, &mut found)?, Read::Found);
        let (front, rest) = bytes.split_at(rnd(9) as usize);
        t.update_and_commit_if(tree, &key, found.stamp(), &row, [front, rest])?;
        if t.has_ended() { t.commit().map(Option::unwrap_or_default) } else { t.commit_with(&mut &bytes[..]) }
    } else {
        t.commit_with(&mut &bytes[..])
    };
    if lsn.is_err() && t.is_active() {
        t.rollback()?;
    }
    let mut o = oracle.lock().unwrap();
    o.told.insert(n, lsn?);
    o.work += 1;
    Ok(())
}

fn live(life: &Life, oracle: &Arc<Mutex<Oracle>>) {
    let &Life { seed, trouble, ref disk, .. } = life;
    let (engine, tree) = open(seed, oracle);
    let mut consumers: Vec<_> = (0..NAMES.len()).map(|which| attach(&engine, which, oracle).unwrap()).collect();
    verify(&engine, &tree, oracle);
    // On a full disk writers would wait for the lazy one.
    let trouble = if trouble == Trouble::Full { Trouble::None } else { trouble };
    trouble.begin(disk, seed);
    let mut tasks = Vec::new();
    for n in 0..3u64 {
        let (engine, tree, oracle) = (engine.clone(), tree.clone(), oracle.clone());
        tasks.push(gannet_runtime::spawn(&format!("client-{n}"), move || {
            let mut rnd = rng(seed * 37 + n);
            for _ in 0..12 {
                match client(&engine, &tree, &oracle, &mut rnd) {
                    Ok(()) => {}
                    Err(e) if trouble.explains(&e) => drop(gannet_runtime::sleep(Duration::from_millis(5))),
                    Err(e) => panic!("{trouble:?}: {e}"),
                }
            }
        }));
    }
    let (mut keen, mut lazy) = (consumers.remove(0), consumers.remove(0));
    let o = oracle.clone();
    let follower = gannet_runtime::spawn("keen", move || {
        let mut rnd = rng(seed);
        loop {
            let lag = rnd(3);
            let outcome = catch_up(&mut keen, 0, &o, &mut |c| {
                let done = rnd(3) >= lag;
                if done {
                    o.lock().unwrap().given[0].done = c.lsn;
                }
                done
            });
            match outcome.and_then(|()| keen.next()) {
                Ok(Some(committed)) => {
                    let n = number(&committed.payload);
                    assert!(committed.payload == payload(n), "the payload of transaction {n} is torn");
                    o.lock().unwrap().given[0].all.insert(committed.lsn, n);
                }
                Ok(None) => return,
                // It tries again.
                Err(EngineError::Io(_)) if trouble == Trouble::Reads => {}
                Err(e) => panic!("{trouble:?}: {e}"),
            }
        }
    });
    for task in tasks {
        task.join().unwrap();
    }
    trouble.end(disk);
    if trouble == Trouble::Broken {
        gannet_runtime::sim::crash();
    }
    engine.sync().unwrap();
    // The lazy one has held the log back so far.
    let mut rnd = rng(seed + 1);
    let o = oracle.clone();
    catch_up(&mut lazy, 1, oracle, &mut |c| {
        let done = rnd(4) == 0;
        if done {
            o.lock().unwrap().given[1].done = c.lsn;
        }
        done
    })
    .unwrap();
    let store = engine.check_store().unwrap();
    assert!(store.findings.is_empty(), "{:?}", store.findings);
    if seed.is_multiple_of(2) {
        engine.shutdown().unwrap();
        follower.join().unwrap();
    } else {
        gannet_runtime::sim::crash();
    }
}

/// The workload.
pub struct Consumers(Arc<Mutex<Oracle>>);

impl Workload for Consumers {
    fn new(_seed: u64) -> Arc<Consumers> {
        Arc::new(Consumers(Arc::default()))
    }

    fn live(&self, life: &Life) {
        live(life, &self.0);
    }

    fn work(&self) -> Work {
        Work { transactions: self.0.lock().unwrap().work }
    }
}
