//! Random interleaved transactions against a model of multi-version rows in memory.
//!
//! All transactions are stepped by one thread; where one would have to wait, its zero timeout says so, and the model
//! must have foretold it. A failure prints the command that replays its seed.

mod common;
use std::collections::BTreeMap;
use std::time::Duration;

use common::{TempDir, key, options, rng};
use gannet_engine::*;

const KEYS: u64 = 14;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    col: u32,
    filler: Vec<u8>,
    /// More bytes of the row that the index does not carry.
    pad: usize,
}

impl Row {
    fn bytes(&self) -> Vec<u8> {
        [&self.col.to_be_bytes()[..], &self.filler, &vec![7; self.pad]].concat()
    }

    fn index_key(&self, k: u64) -> Vec<u8> {
        [self.col.to_be_bytes(), key(k)].concat()
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Writer {
    Committed(u64),
    Active(usize),
}

#[derive(Clone, Debug)]
struct Version {
    row: Option<Row>,
    writer: Writer,
    /// Number of the change within its transaction: what a savepoint compares.
    change: u64,
}

#[derive(Default)]
struct Model {
    rows: BTreeMap<u64, Vec<Version>>,
    shared: BTreeMap<u64, Vec<usize>>,
    /// Rows whose change was rolled back to a savepoint: still locked.
    kept: BTreeMap<u64, usize>,
    clock: u64,
}

struct Slot {
    txn: Txn,
    isolation: Isolation,
    snapshot: Option<u64>,
    changes: u64,
    saves: Vec<(Savepoint, u64)>,
}

impl Model {
    fn newest(&self, k: u64) -> Option<&Version> {
        self.rows.get(&k).and_then(|v| v.last())
    }

    fn blocked(&self, k: u64, me: usize, also_shared: bool) -> bool {
        let own = matches!(self.newest(k), Some(Version { writer: Writer::Active(t), .. }) if *t == me);
        let stamp = matches!(self.newest(k), Some(Version { writer: Writer::Active(t), .. }) if *t != me);
        let shared = self.shared.get(&k).is_some_and(|s| s.iter().any(|&t| t != me));
        let kept = self.kept.get(&k).is_some_and(|&t| t != me);
        stamp || (also_shared && shared || kept) && !own
    }

    fn live(&self, k: u64) -> Option<&Row> {
        self.newest(k).and_then(|v| v.row.as_ref())
    }

    fn seen(&self, k: u64, me: usize, at: Option<u64>) -> Option<&Row> {
        let versions = self.rows.get(&k)?;
        let visible = |v: &&Version| match (v.writer, at) {
            (_, None) => true,
            (Writer::Active(t), _) => t == me,
            (Writer::Committed(c), Some(at)) => c <= at,
        };
        versions.iter().rev().find(visible).and_then(|v| v.row.as_ref())
    }

    fn put(&mut self, k: u64, me: usize, change: u64, row: Option<Row>) {
        self.rows.entry(k).or_default().push(Version { row, writer: Writer::Active(me), change });
    }

    fn undo(&mut self, me: usize, down_to: u64) {
        for (&k, versions) in &mut self.rows {
            let before = versions.len();
            while versions.last().is_some_and(|v| v.writer == Writer::Active(me) && v.change >= down_to) {
                versions.pop();
            }
            let still_own = versions.last().is_some_and(|v| v.writer == Writer::Active(me));
            if versions.len() < before && versions.last().is_some_and(|v| v.row.is_some()) && !still_own {
                self.kept.insert(k, me);
            }
        }
        self.rows.retain(|_, v| !v.is_empty());
    }

    fn end(&mut self, me: usize, commit: bool) {
        if commit {
            self.clock += 1;
            let at = self.clock;
            for v in self.rows.values_mut().flatten().filter(|v| v.writer == Writer::Active(me)) {
                v.writer = Writer::Committed(at);
            }
        } else {
            self.undo(me, 0);
        }
        self.shared.values_mut().for_each(|s| s.retain(|&t| t != me));
        self.kept.retain(|_, &mut t| t != me);
    }
}

struct World {
    rows: TreeHandle,
    index: TreeHandle,
    model: Model,
    slots: Vec<Slot>,
}

impl World {
    /// Runs one statement; `Err` must be a timeout exactly when the model says the statement would wait.
    fn statement<T>(
        &mut self,
        me: usize,
        what: &str,
        blocked: bool,
        f: impl FnOnce(&mut Txn) -> Result<T>,
    ) -> Option<T> {
        let slot = &mut self.slots[me];
        let mark = slot.txn.begin_statement();
        let result = f(&mut slot.txn);
        let out = match result {
            Err(EngineError::LockWaitTimeout) => {
                assert!(
                    blocked,
                    "{me} waits, but the model says it need not: {what}\n{:?}\n{:?} {:?}",
                    self.model.rows, self.model.shared, self.model.kept
                );
                slot.txn.rollback_to(mark).unwrap();
                None
            }
            Err(e) => panic!("{e}"),
            Ok(v) => {
                assert!(!blocked, "{me} does not wait, but the model says it must: {what}");
                Some(v)
            }
        };
        slot.txn.end_statement().unwrap();
        out
    }

    fn view(&mut self, me: usize) -> Option<u64> {
        let clock = self.model.clock;
        let slot = &mut self.slots[me];
        match slot.isolation {
            Isolation::ReadUncommitted => None,
            Isolation::ReadCommitted => Some(clock),
            _ => Some(*slot.snapshot.get_or_insert(clock)),
        }
    }

    fn read(&mut self, me: usize, k: u64) {
        let at = self.view(me);
        let want = self.model.seen(k, me, at).map(Row::bytes);
        let rows = self.rows.clone();
        let got = self.statement(me, "read", false, |t| {
            let mut buf = RowBuf::new();
            Ok(match t.get(&rows, &key(k), ReadMode::Snapshot, &mut buf)? {
                Read::Found => Some(buf.row().to_vec()),
                _ => None,
            })
        });
        assert_eq!(got, Some(want), "get {k} in {me}");
    }

    fn scan(&mut self, me: usize, lo: u64, hi: u64, index: bool, backward: bool) {
        let at = self.view(me);
        let mut want: Vec<(Vec<u8>, Vec<u8>)> = (0..KEYS)
            .filter_map(|k| self.model.seen(k, me, at).map(|r| (k, r)))
            .filter(|(k, r)| (lo..=hi).contains(&if index { u64::from(r.col) } else { *k }))
            .map(|(k, r)| if index { (r.index_key(k), r.filler.clone()) } else { (key(k).to_vec(), r.bytes()) })
            .collect();
        want.sort();
        if backward {
            want.reverse();
        }
        let tree = if index { self.index.clone() } else { self.rows.clone() };
        let rows = self.rows.clone();
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let got = self.statement(me, "scan", false, |t| {
            let (lo, hi) = (key(lo), key(hi));
            let range = KeyRange::new(Cut::Before(&lo), Cut::After(&hi));
            let mut scan = t.scan(&tree, range, ScanOptions { direction, ..Default::default() })?;
            let mut out = Vec::new();
            let verify = scan.must_verify();
            while let Some(e) = scan.next(t)? {
                let (key, mut value) = (e.key.to_vec(), e.value.to_vec());
                if verify {
                    let mut row = RowBuf::new();
                    let found = t.get(&rows, &key[4..], ReadMode::Snapshot, &mut row)?;
                    if found != Read::Found || row.row()[..4] != key[..4] {
                        continue;
                    }
                    let carried = row.row().len() - 4;
                    value = row.row()[4..4 + if carried > 200 { 100 } else { carried }].to_vec();
                }
                out.push((key, value));
            }
            Ok(out)
        });
        if got.as_ref() != Some(&want) {
            eprintln!("isolation {:?} view {at:?} id {:?}", self.slots[me].isolation, self.slots[me].txn.id());
            for k in 0..KEYS {
                eprintln!(
                    "{k}: {:?}",
                    self.model.rows.get(&k).map(|v| v
                        .iter()
                        .map(|v| (v.row.as_ref().map(|r| r.col), v.writer, v.change))
                        .collect::<Vec<_>>())
                );
            }
        }
        assert_eq!(got, Some(want), "scan {lo}..{hi} index {index} in {me}");
    }

    fn insert(&mut self, me: usize, k: u64, row: Row) {
        let live = self.model.live(k).is_some();
        let own = matches!(self.model.newest(k), Some(v) if v.writer == Writer::Active(me));
        let blocked = self.model.blocked(k, me, !live);
        let (rows, index, r) = (self.rows.clone(), self.index.clone(), row.clone());
        let what = format!("insert {k}");
        let got = self.statement(me, &what, blocked, move |t| {
            let got = t.insert(&rows, &key(k), &r.bytes())?;
            if got == Insert::Inserted {
                t.index_insert(&index, &r.index_key(k), &r.filler)?;
            }
            Ok(got)
        });
        match got {
            None => {}
            Some(Insert::Duplicate) => {
                assert!(live);
                let s = self.model.shared.entry(k).or_default();
                if !own && !s.contains(&me) {
                    s.push(me);
                }
            }
            Some(Insert::Inserted) => {
                assert!(!live);
                self.put(me, k, Some(row));
            }
        }
    }

    fn put(&mut self, me: usize, k: u64, row: Option<Row>) {
        let slot = &mut self.slots[me];
        self.model.put(k, me, slot.changes, row);
        slot.changes += 1;
    }

    /// UPDATE or DELETE of the newest row.
    fn change(&mut self, me: usize, k: u64, new: Option<Row>) {
        let old = self.model.live(k).cloned();
        let blocked = self.model.blocked(k, me, old.is_some());
        let (rows, index, o, n) = (self.rows.clone(), self.index.clone(), old.clone(), new.clone());
        let what = format!("change {k} to {new:?}");
        let done = self.statement(me, &what, blocked, move |t| {
            let done = match &n {
                Some(n) => t.update(&rows, &key(k), &n.bytes())? == Update::Updated,
                None => t.delete(&rows, &key(k))? == Delete::Deleted,
            };
            if let (true, Some(o)) = (done, o) {
                t.index_delete(&index, &o.index_key(k))?;
                if let Some(n) = n {
                    t.index_insert(&index, &n.index_key(k), &n.filler)?;
                }
            }
            Ok(done)
        });
        if let Some(done) = done {
            assert_eq!(done, old.is_some(), "change {k} in {me}");
            if done {
                self.put(me, k, new);
            }
        }
    }
}

fn run(seed: u64, steps: u64, pool_mib: u64) {
    let mut rnd = rng(seed);
    let dir = TempDir::new();
    let mut o = options(&dir);
    o.buffer_pool_bytes = pool_mib << 20;
    o.purge_tasks = rnd(2) as usize;
    let engine = Engine::open(o).unwrap();
    let rows = common::create(&engine, TreeKind::Row);
    let index = common::create(&engine, TreeKind::Index);
    let base = TxnOptions { lock_wait_timeout: Duration::ZERO, ..Default::default() };
    let mut w = World { rows: rows.clone(), index: index.clone(), model: Model::default(), slots: Vec::new() };
    for _ in 0..2 + rnd(5) {
        let txn = engine.begin(base);
        let isolation = Isolation::RepeatableRead;
        w.slots.push(Slot { txn, isolation, snapshot: None, changes: 0, saves: Vec::new() });
    }
    for _ in 0..steps {
        let me = rnd(w.slots.len() as u64) as usize;
        let k = rnd(KEYS);
        let big = match rnd(60) {
            0 => 40_000,
            1..4 => 9_000,
            4..10 => 2_000,
            _ => 30,
        };
        let size = rnd(big) as usize;
        let mut fill = |n: usize| (0..n).map(|_| rnd(5) as u8).collect::<Vec<u8>>();
        let carried = fill(size.min(100));
        let pad = if size > 100 { size } else { 0 };
        let row = Row { col: (k as u32 + carried.len() as u32) % 9, filler: carried, pad };
        match rnd(20) {
            0..4 => w.insert(me, k, row),
            4..8 => w.change(me, k, Some(row)),
            8..10 => w.change(me, k, None),
            10..13 => w.read(me, k),
            13..16 => {
                let (index, backward, a, b) = (rnd(2) == 0, rnd(2) == 0, rnd(KEYS), rnd(KEYS));
                w.scan(me, a.min(b), a.max(b), index, backward);
            }
            16 => {
                let slot = &mut w.slots[me];
                slot.saves.push((slot.txn.savepoint(), slot.changes));
            }
            17 => {
                let slot = &mut w.slots[me];
                if let Some(at) = rnd(slot.saves.len() as u64 + 1).checked_sub(1) {
                    let (save, changes) = slot.saves[at as usize];
                    slot.saves.truncate(at as usize + 1);
                    slot.txn.rollback_to(save).unwrap();
                    w.model.undo(me, changes);
                }
            }
            _ => {
                let commit = rnd(4) != 0;
                let isolation =
                    [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead][rnd(3) as usize];
                let slot = &mut w.slots[me];
                match commit {
                    true => drop(slot.txn.commit().unwrap()),
                    false => slot.txn.rollback().unwrap(),
                }
                slot.txn.begin(TxnOptions { isolation, ..base }).unwrap();
                (slot.isolation, slot.snapshot, slot.changes) = (isolation, None, 0);
                slot.saves.clear();
                w.model.end(me, commit);
            }
        }
    }
    for me in 0..w.slots.len() {
        w.slots[me].txn.rollback().unwrap();
        w.model.end(me, false);
    }
    // Nothing reads any more: purge leaves the live entries only, and both trees agree.
    engine.purge_now().unwrap();
    let live: Vec<(u64, Row)> = (0..KEYS).filter_map(|k| Some((k, w.model.live(k)?.clone()))).collect();
    assert_eq!(engine.check_tree(&rows).unwrap(), live.len() as u64, "row tree has garbage");
    assert_eq!(engine.check_tree(&index).unwrap(), live.len() as u64, "index tree has garbage");
    let want: Vec<_> = live.iter().map(|(k, r)| (key(*k).to_vec(), r.bytes())).collect();
    assert_eq!(common::dump(&engine, &rows), want);
    let mut want: Vec<_> = live.iter().map(|(k, r)| (r.index_key(*k), r.filler.clone())).collect();
    want.sort();
    assert_eq!(common::dump(&engine, &index), want);
    drop(w);
    engine.shutdown().unwrap();
}

struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: GANNET_SEED={} cargo test -p gannet-engine --test model", self.0);
        }
    }
}

#[test]
fn visibility_agrees_with_the_model() {
    let only: Option<u64> = std::env::var("GANNET_SEED").ok().map(|s| s.parse().expect("a number"));
    let seeds = only.map_or(1..41, |s| s..s + 1);
    for seed in seeds {
        let _replay = Replay(seed);
        run(seed, 600, 8);
    }
}
