//! Isolation by recorded histories: concurrent transactions in the simulation, everything they read and wrote written
//! down, and the anomalies searched for that their level forbids.

mod checker;
#[path = "../common/mod.rs"]
mod common;
mod handmade;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use checker::{Anomaly, History, Level, Op, Record, Version, check};
use common::{key, rng};
use gannet_engine::*;
use gannet_runtime::sim::{Sim, SimDisk};

const KEYS: u64 = 10;

/// What is run, and as what it is checked: the same, unless a violation is planted.
#[derive(Clone, Copy, Default)]
struct Plan {
    /// `None`: each transaction draws one.
    run: Option<Level>,
    check: Option<Level>,
    /// Locking reads are run as plain ones.
    lock_nothing: bool,
    /// Transactions read first, and write what they read.
    simple: bool,
}

#[derive(Default)]
struct Log {
    history: History,
    clock: u64,
    versions: Version,
}

impl Log {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

fn isolation(level: Level) -> Isolation {
    match level {
        Level::ReadUncommitted => Isolation::ReadUncommitted,
        Level::ReadCommitted => Isolation::ReadCommitted,
        Level::RepeatableRead => Isolation::RepeatableRead,
        Level::Serializable => Isolation::Serializable,
    }
}

fn version(row: &[u8]) -> Version {
    u64::from_be_bytes(row[..8].try_into().unwrap())
}

struct Client<'a> {
    t: Txn,
    tree: &'a TreeHandle,
    log: &'a Mutex<Log>,
    plan: Plan,
}

impl Client<'_> {
    fn mode(&self, rnd: &mut impl FnMut(u64) -> u64, locking: bool) -> ReadMode {
        let mode = if rnd(2) == 0 { LockMode::Shared } else { LockMode::Exclusive };
        match locking && !self.plan.lock_nothing {
            true => ReadMode::Locking { mode, wait: WaitPolicy::Wait },
            false => ReadMode::Snapshot,
        }
    }

    fn get(&mut self, k: u64, mode: ReadMode) -> Result<Option<Version>> {
        let mut row = RowBuf::new();
        Ok(match self.t.get(self.tree, &key(k), mode, &mut row)? {
            Read::Found => Some(version(row.row())),
            _ => None,
        })
    }

    fn scan(&mut self, from: u64, to: u64, mode: ReadMode) -> Result<Vec<(u64, Option<Version>)>> {
        let mut found: BTreeMap<u64, Option<Version>> = (from..=to).map(|k| (k, None)).collect();
        let (from, to) = (key(from), key(to));
        let range = KeyRange::new(Cut::Before(&from), Cut::After(&to));
        let mut scan = self.t.scan(self.tree, range, ScanOptions { mode, ..ScanOptions::default() })?;
        while let Some(e) = scan.next(&mut self.t)? {
            found.insert(u32::from_be_bytes(e.key.try_into().unwrap()).into(), Some(version(e.value)));
        }
        Ok(found.into_iter().collect())
    }

    /// Locks the row, writes the next version of it, and notes both.
    fn write(&mut self, t: usize, k: u64, rnd: &mut impl FnMut(u64) -> u64) -> Result<Option<Op>> {
        let lock = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::Wait };
        let before = self.get(k, lock)?;
        let v = {
            let mut log = self.log.lock().unwrap();
            log.versions += 1;
            log.versions
        };
        let pad = vec![7; rnd(300) as usize];
        let bytes = [&v.to_be_bytes()[..], &pad].concat();
        let mut row = true;
        match before {
            None => {
                if self.t.insert(self.tree, &key(k), &bytes)? == Insert::Duplicate {
                    return Ok(None); // READ COMMITTED locks no gap
                }
            }
            Some(_) if rnd(6) == 0 => {
                assert_eq!(self.t.delete(self.tree, &key(k))?, Delete::Deleted);
                row = false;
            }
            Some(_) => assert_eq!(self.t.update(self.tree, &key(k), &bytes)?, Update::Updated),
        }
        self.log.lock().unwrap().history.order.entry(k).or_default().push((t, v));
        Ok(Some(Op::Write { key: k, version: v, before, row }))
    }

    fn statement(&mut self, t: usize, n: u64, rnd: &mut impl FnMut(u64) -> u64) -> Result<Option<Op>> {
        let k = rnd(KEYS);
        let choice = if self.plan.simple { [1, 5][n.min(1) as usize] } else { rnd(6) };
        Ok(match choice {
            0 => Some(Op::Read { locking: false, range: false, found: vec![(k, self.get(k, ReadMode::Snapshot)?)] }),
            1 | 2 => {
                let locking = rnd(2) == 0 || self.plan.simple;
                let to = (k + rnd(4)).min(KEYS - 1);
                let mode = self.mode(rnd, locking);
                Some(Op::Read { locking, range: true, found: self.scan(k, to, mode)? })
            }
            3 => {
                let mode = self.mode(rnd, true);
                Some(Op::Read { locking: true, range: false, found: vec![(k, self.get(k, mode)?)] })
            }
            _ => self.write(t, k, rnd)?,
        })
    }

    fn transaction(&mut self, rnd: &mut impl FnMut(u64) -> u64) {
        let drawn = [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];
        let drawn = drawn[rnd(4) as usize];
        let run = self.plan.run.unwrap_or(drawn);
        let options = TxnOptions {
            isolation: isolation(run),
            lock_wait_timeout: Duration::from_secs(3),
            ..TxnOptions::default()
        };
        let t = {
            let mut log = self.log.lock().unwrap();
            let begin = log.tick();
            let level = self.plan.check.unwrap_or(run);
            log.history.txns.push(Record { level, committed: false, begin, end: u64::MAX, ops: Vec::new() });
            log.history.txns.len() - 1
        };
        self.t.begin(options).unwrap();
        for n in 0..2 + rnd(4) {
            let began = self.log.lock().unwrap().tick();
            self.t.begin_statement();
            match self.statement(t, n, rnd) {
                Ok(op) => {
                    self.t.end_statement().unwrap();
                    let mut log = self.log.lock().unwrap();
                    log.history.txns[t].ops.extend(op.map(|op| (began, op)));
                }
                Err(EngineError::Deadlock) => return,
                Err(EngineError::LockWaitTimeout) => return self.t.rollback().unwrap(),
                Err(e) => panic!("{e}"),
            }
        }
        if rnd(5) == 0 {
            return self.t.rollback().unwrap();
        }
        self.t.commit().unwrap();
        let mut log = self.log.lock().unwrap();
        let end = log.tick();
        let record = &mut log.history.txns[t];
        (record.committed, record.end) = (true, end);
    }
}

/// Runs some clients and gives what they saw.
fn record(seed: u64, plan: Plan) -> History {
    Sim::new(seed).disk(&SimDisk::new()).run(move || {
        let mut o = EngineOptions::new("/store");
        o.buffer_pool_bytes = 4 << 20;
        o.redo_capacity_bytes = 8 << 20;
        o.max_data_bytes = 256 << 20;
        let engine = Engine::open(o).unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let tree = common::create(&engine, TreeKind::Row);
        let mut t = engine.begin(TxnOptions::default());
        {
            let mut log = log.lock().unwrap();
            let (level, ops) = (Level::Serializable, Vec::new());
            log.history.txns.push(Record { level, committed: true, begin: 0, end: 0, ops });
            for k in (0..KEYS).step_by(2) {
                log.versions += 1;
                let v = log.versions;
                t.insert(&tree, &key(k), &v.to_be_bytes()).unwrap();
                log.history.order.entry(k).or_default().push((0, v));
            }
        }
        t.commit().unwrap();
        let mut tasks = Vec::new();
        for n in 0..4u64 {
            let (engine, tree, log) = (engine.clone(), tree.clone(), log.clone());
            tasks.push(gannet_runtime::spawn(&format!("client-{n}"), move || {
                let mut rnd = rng(seed * 41 + n);
                let mut c = Client { t: engine.begin(TxnOptions::default()), tree: &tree, log: &log, plan };
                c.t.rollback().unwrap();
                for _ in 0..20 {
                    c.transaction(&mut rnd);
                }
            }));
        }
        tasks.into_iter().for_each(|task| task.join().unwrap());
        engine.shutdown().unwrap();
        log.lock().unwrap().history.clone()
    })
}

fn plans() -> [Plan; 5] {
    use Level::*;
    [Some(ReadUncommitted), Some(ReadCommitted), Some(RepeatableRead), Some(Serializable), None]
        .map(|run| Plan { run, ..Plan::default() })
}

#[test]
fn no_level_shows_what_it_forbids() {
    let number = |name| std::env::var(name).ok().map(|s: String| s.parse::<u64>().expect("a number"));
    let one = number("GANNET_SEED");
    let first = one.or(number("GANNET_FIRST_SEED")).unwrap_or(0);
    let seeds = one.map_or_else(|| number("GANNET_SEEDS").unwrap_or(12), |_| 1);
    let until = number("GANNET_SECONDS").map(|s| std::time::Instant::now() + Duration::from_secs(s));
    let (mut committed, mut runs) = (0, 0);
    for seed in first..first + seeds {
        if until.is_some_and(|until| std::time::Instant::now() > until) {
            break;
        }
        for plan in plans() {
            let history = record(seed, plan);
            if let Some((anomaly, how)) = check(&history) {
                panic!("seed {seed}, {:?}: {anomaly:?}: {how}", plan.run);
            }
            committed += history.txns.iter().filter(|t| t.committed).count();
            runs += 1;
        }
    }
    println!("{runs} histories, {committed} transactions committed, no anomaly");
    assert!(committed > 20 * runs, "too few transactions commit");
}

/// Each level shows what the next one forbids, and the checker sees it: else it would be worth nothing.
#[test]
fn planted_violations_are_found() {
    use Level::*;
    let plain = Plan::default();
    let as_level = |run, check| Plan { run: Some(run), check: Some(check), ..plain };
    let cases: [(&str, Plan, &[Anomaly]); 5] = [
        ("dirty reads", as_level(ReadUncommitted, ReadCommitted), &[Anomaly::G1a, Anomaly::G1b]),
        ("a snapshot for each statement", as_level(ReadCommitted, RepeatableRead), &[Anomaly::GSingle]),
        ("plain reads that lock nothing", as_level(RepeatableRead, Serializable), &[Anomaly::G2Item, Anomaly::GSingle]),
        (
            "locking reads without gap locks",
            Plan { simple: true, ..as_level(ReadCommitted, RepeatableRead) },
            &[Anomaly::Phantom],
        ),
        (
            "locking reads that do not lock",
            Plan { run: Some(RepeatableRead), lock_nothing: true, ..plain },
            &[Anomaly::LostUpdate, Anomaly::GSingle],
        ),
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for (what, plan, wanted) in cases {
        let mut seen = BTreeMap::new();
        let found = (0..1000).find(|&seed| {
            let history = std::panic::catch_unwind(|| record(seed, plan));
            let Ok(Some((anomaly, _))) = history.map(|h| check(&h)) else { return false };
            *seen.entry(anomaly).or_insert(0) += 1;
            wanted.contains(&anomaly)
        });
        match found {
            Some(seed) => println!("{what}: found with seed {seed}, {seen:?}"),
            None => missed.push((what, seen)),
        }
    }
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}
