//! Trees that are created, filled (entry by entry, or bottom-up from sorted entries), changed and dropped inside
//! transactions, some of them prepared first.
//!
//! A row tree of names is the catalog: its rows say which trees there are and what is in them, by the number of the
//! transaction that made each. Every change of a name is noted in its history; the surviving transactions say what must
//! be there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gannet_engine::lock::{MdlDuration, MdlMode, Wait};
use gannet_engine::*;

use crate::common::{key, rng};
use crate::{Life, Trouble, Work, Workload, index_bytes, let_redo_begin, redo_memory_bytes};

const NAMES: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Not asked to commit, or rolled back.
    Gone,
    /// Asked to commit.
    Asked,
    /// Told that it is committed.
    Told,
    /// Asked to prepare.
    Preparing,
    /// Told that it is prepared.
    Prepared,
    /// Prepared, then asked to commit.
    Committing,
    /// Prepared, then rolled back; that need not be durable.
    Undone,
}

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Tree {
    id: TreeId,
    kind: TreeKind,
    maker: u64,
    entries: u32,
}

impl Tree {
    fn encode(&self, tag: u64) -> Vec<u8> {
        let kind = u64::from(self.kind == TreeKind::Index);
        [tag, self.id.0, kind, self.maker, self.entries.into()].iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Tree {
        let n = |i: usize| u64::from_be_bytes(bytes[i * 8..i * 8 + 8].try_into().unwrap());
        let kind = if n(2) == 1 { TreeKind::Index } else { TreeKind::Row };
        Tree { id: TreeId(n(1)), kind, maker: n(3), entries: n(4) as u32 }
    }

    /// The `i`-th entry.
    fn entry(&self, i: u32) -> (Vec<u8>, Vec<u8>) {
        let seed = self.maker * 1000 + u64::from(i);
        let most = if seed.is_multiple_of(37) { 40_000 } else { 300 };
        let len = (seed * 7919 % most) as usize;
        match self.kind {
            TreeKind::Row => (key(i.into()).to_vec(), vec![seed as u8; len]),
            TreeKind::Index => ([&key(i.into())[..], &vec![seed as u8; len.min(200)]].concat(), b"c".to_vec()),
        }
    }

    fn put(&self, t: &mut Txn, handle: &TreeHandle, i: u32) -> Result<()> {
        let (key, value) = self.entry(i);
        match self.kind {
            TreeKind::Row => assert_eq!(t.insert(handle, &key, &value)?, Insert::Inserted),
            TreeKind::Index => t.index_insert(handle, &key, &value)?,
        }
        Ok(())
    }

    /// Puts entries from `from` on, one by one or those that are neighbours together.
    fn put_from(&self, t: &mut Txn, handle: &TreeHandle, from: u32, rnd: &mut impl FnMut(u64) -> u64) -> Result<()> {
        if rnd(2) == 0 {
            return (from..self.entries).try_for_each(|i| self.put(t, handle, i));
        }
        let entries: Vec<_> = (from..self.entries).map(|i| self.entry(i)).collect();
        let entries: Vec<NewEntry<'_>> = entries.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        let (mut put, each) = (0, vec![handle; entries.len()]);
        let spread = rnd(2) == 0;
        while put < entries.len() {
            let rest = &entries[put..];
            match if spread {
                TreeHandle::insert_spread(&each[put..], rest, put == 0, t)?
            } else {
                handle.insert_run(rest, t)?
            } {
                0 => {
                    self.put(t, handle, from + put as u32)?;
                    put += 1;
                }
                n => put += n,
            }
        }
        Ok(())
    }

    /// Fills the tree with all entries, by way of a sort with little memory or much.
    fn fill(&self, t: &mut Txn, mut fill: Fill, memory: u64) -> Result<()> {
        let space = t.engine().sort_space(memory as usize);
        let mut sorters = [Sorter::new(space.clone()), Sorter::new(space)];
        for i in (0..self.entries).rev() {
            let (key, value) = self.entry(i);
            sorters[i as usize % 2].push(Item { key: &key, unique: 0, value: &value })?;
        }
        let mut parts = Sorter::merge_parts(sorters.into(), 1 + self.entries as usize % 4)?;
        let put = |fill: &mut Fill, merge: &mut Merge| {
            while let Some(item) = merge.next()? {
                match self.kind {
                    TreeKind::Row => assert!(fill.row(item.key, item.value)?),
                    TreeKind::Index => fill.entry(item.key, item.value)?,
                }
            }
            Ok::<(), EngineError>(())
        };
        // The last part first: the order does not matter.
        let (mut next, mut filled) = (None, Vec::new());
        for MergePart { lower, mut merge } in parts.split_off(1).into_iter().rev() {
            let mut part = fill.part(&lower)?;
            put(&mut part, &mut merge)?;
            filled.push(part.finish_part(next.as_deref())?);
            next = Some(lower);
        }
        put(&mut fill, &mut parts[0].merge)?;
        filled.reverse();
        assert_eq!(fill.finish_with(filled)?.attach(t)?, u64::from(self.entries));
        Ok(())
    }
}

#[derive(Default)]
struct Oracle {
    fates: BTreeMap<u64, Fate>,
    /// By transaction id of those that asked to be prepared.
    prepared: BTreeMap<TrxId, u64>,
    /// By name: transaction, and what it made of the name.
    history: BTreeMap<u64, Vec<(u64, Option<Tree>)>>,
    told: u64,
}

impl Oracle {
    fn set(&mut self, tag: u64, fate: Fate) {
        self.fates.insert(tag, fate);
    }

    fn undo(&mut self, tag: u64) {
        self.history.values_mut().for_each(|h| h.retain(|(t, _)| *t != tag));
    }

    fn settle(&mut self, survived: &BTreeSet<u64>) -> BTreeMap<u64, (u64, Tree)> {
        for (&tag, &fate) in &self.fates {
            match fate {
                Fate::Told => assert!(survived.contains(&tag), "transaction {tag} was acknowledged and is lost"),
                Fate::Gone | Fate::Undone | Fate::Preparing | Fate::Prepared => {
                    assert!(!survived.contains(&tag), "transaction {tag} is {fate:?} and is there")
                }
                Fate::Asked | Fate::Committing => {}
            }
        }
        let mut all = BTreeMap::new();
        for (&name, h) in &mut self.history {
            let gap = h.iter().position(|(tag, _)| !survived.contains(tag)).unwrap_or(h.len());
            if let Some((tag, _)) = h[gap..].iter().find(|(tag, _)| survived.contains(tag)) {
                panic!("name {name}: transaction {tag} survived but not what it wrote over ({})", h[gap].0);
            }
            h.truncate(gap);
            if let Some((tag, Some(tree))) = h.last() {
                all.insert(name, (*tag, tree.clone()));
            }
        }
        // A rollback that is not on disk yet may be undone by the next crash.
        self.fates.retain(|tag, fate| survived.contains(tag) || *fate == Fate::Undone);
        self.fates.values_mut().filter(|f| **f != Fate::Undone).for_each(|f| *f = Fate::Told);
        all
    }
}

#[derive(Clone)]
struct Base {
    names: TreeHandle,
    tags: TreeHandle,
}

fn open(seed: u64) -> (Engine, Base) {
    let mut o = EngineOptions::new("/store");
    o.buffer_pool_bytes = 4 << 20;
    o.redo_capacity_bytes = 8 << 20;
    o.max_data_bytes = 256 << 20;
    o.purge_tasks = (seed % 3) as usize;
    o.redo_index_bytes = index_bytes(seed);
    o.redo_memory_bytes = redo_memory_bytes(seed);
    o.scrub_pages_per_second = if seed / 10 % 4 == 3 { 4_000 } else { 0 };
    let engine = Engine::open(o).unwrap();
    let_redo_begin(seed);
    let ids = [1, 2].map(|slot| TreeId(engine.meta(slot).unwrap()));
    let ids = if ids.iter().all(|id| !id.is_zero()) {
        ids
    } else {
        let mut t = engine.begin(TxnOptions::default());
        let ids = [0, 1].map(|_| t.create_tree(TreeKind::Row).unwrap().id());
        t.commit().unwrap();
        engine.sync().unwrap();
        for (slot, id) in ids.iter().enumerate() {
            engine.set_meta(slot + 1, id.0).unwrap();
        }
        ids
    };
    let [names, tags] = ids.map(|id| engine.tree(id).unwrap());
    (engine, Base { names, tags })
}

fn scan(t: &mut Txn, tree: &TreeHandle) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut scan = t.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    let mut out = Vec::new();
    while let Some(e) = scan.next(t).unwrap() {
        out.push((e.key.to_vec(), e.value.to_vec()));
    }
    out
}

/// Ends what was left prepared, one way or the other.
fn resolve(engine: &Engine, oracle: &Mutex<Oracle>, rnd: &mut impl FnMut(u64) -> u64) {
    let found: BTreeSet<TrxId> = engine.prepared().into_iter().collect();
    let known = oracle.lock().unwrap().prepared.clone();
    for (trx, tag) in &known {
        let fate = oracle.lock().unwrap().fates.get(tag).copied();
        if fate == Some(Fate::Prepared) {
            assert!(found.contains(trx), "transaction {tag} was told that it is prepared and is not");
        }
    }
    for trx in found {
        let Some(&tag) = known.get(&trx) else { panic!("transaction {trx} never asked to be prepared") };
        let fate = oracle.lock().unwrap().fates.get(&tag).copied();
        assert!(
            matches!(fate, Some(Fate::Preparing | Fate::Prepared | Fate::Committing | Fate::Undone)),
            "transaction {tag} is prepared, and {fate:?}"
        );
        let mut t = engine.take_prepared(trx, TxnOptions::default()).unwrap().unwrap();
        if rnd(2) == 0 && fate != Some(Fate::Undone) {
            oracle.lock().unwrap().set(tag, Fate::Committing);
            t.commit().unwrap();
            oracle.lock().unwrap().set(tag, Fate::Told);
        } else {
            oracle.lock().unwrap().set(tag, Fate::Undone);
            t.rollback().unwrap();
        }
    }
}

fn verify(engine: &Engine, base: &Base, oracle: &Mutex<Oracle>) {
    let mut t = engine.begin(TxnOptions::default());
    let tags: BTreeSet<u64> =
        scan(&mut t, &base.tags).iter().map(|(k, _)| u64::from_be_bytes(k[..].try_into().unwrap())).collect();
    let names = scan(&mut t, &base.names);
    let want = oracle.lock().unwrap().settle(&tags);
    assert_eq!(names.len(), want.len(), "number of trees");
    for ((have, value), (&name, (tag, tree))) in names.iter().zip(&want) {
        assert_eq!(have[..], key(name));
        assert_eq!(*value, tree.encode(*tag), "name {name}");
        let handle = engine.tree(tree.id).unwrap();
        assert_eq!(handle.kind(), tree.kind);
        let entries = scan(&mut t, &handle);
        let want: Vec<_> = (0..tree.entries).map(|i| tree.entry(i)).collect();
        assert!(entries == want, "tree {} of name {name} has not what was put into it", tree.id);
    }
    t.commit().unwrap();
}

/// Of a sort.
fn memory(rnd: &mut impl FnMut(u64) -> u64) -> u64 {
    [20_000, 200_000, 8 << 20][rnd(3) as usize]
}

/// Keeps others away from what the name stands for until the transaction has ended, as a server does with a table that
/// is defined anew. The lock of the name's row is not enough: a rollback puts the name back before the tree's entries.
fn lock(t: &Txn, engine: &Engine, name: u64) -> Result<()> {
    let object = engine.lock_table().mdl_object(name, "");
    let wait = Wait::For(Duration::from_secs(2));
    Ok(t.lock_owner().mdl_lock(object, MdlMode::Exclusive, MdlDuration::Transaction, wait)?)
}

/// What is done to a name: locked, then the tree made, filled further or dropped.
fn change(
    t: &mut Txn,
    engine: &Engine,
    base: &Base,
    oracle: &Mutex<Oracle>,
    tag: u64,
    rnd: &mut impl FnMut(u64) -> u64,
) -> Result<()> {
    let name = rnd(NAMES);
    lock(t, engine, name)?;
    let mut row = RowBuf::new();
    let found = t.get(&base.names, &key(name), ReadMode::FOR_UPDATE, &mut row)?;
    let new = match found {
        Read::Found if rnd(3) == 0 => {
            let old = Tree::decode(row.row());
            assert_eq!(t.delete(&base.names, &key(name))?, Delete::Deleted);
            t.drop_tree(&engine.tree(old.id)?)?;
            None
        }
        Read::Found => {
            let mut tree = Tree::decode(row.row());
            let handle = engine.tree(tree.id)?;
            let from = tree.entries;
            tree.entries += 1 + rnd(if from == 0 { 500 } else { 20 }) as u32;
            match if from == 0 && rnd(4) > 0 { Fill::of_empty(t, &handle)? } else { None } {
                Some(fill) => tree.fill(t, fill, memory(rnd))?,
                None => tree.put_from(t, &handle, from, rnd)?,
            }
            assert_eq!(t.update(&base.names, &key(name), &tree.encode(tag))?, Update::Updated);
            Some(tree)
        }
        _ => {
            let kind = if rnd(2) == 0 { TreeKind::Row } else { TreeKind::Index };
            let handle = t.create_tree(kind)?;
            let many = rnd(8) == 0;
            let entries = if many { 400 + rnd(400) } else { rnd(60).saturating_sub(20) };
            let tree = Tree { id: handle.id(), kind, maker: tag, entries: entries as u32 };
            if many || rnd(2) == 0 {
                let fill = Fill::begin(t, &handle)?;
                tree.fill(t, fill, memory(rnd))?;
            } else {
                tree.put_from(t, &handle, 0, rnd)?;
            }
            match t.insert(&base.names, &key(name), &tree.encode(tag))? {
                Insert::Inserted => Some(tree),
                Insert::Duplicate => panic!("name {name} came in spite of the lock"),
            }
        }
    };
    oracle.lock().unwrap().history.entry(name).or_default().push((tag, new));
    Ok(())
}

/// One transaction. `Err`: the disk failed; it is rolled back, or its outcome is open. True: it is left prepared.
fn transaction(
    t: &mut Txn,
    engine: &Engine,
    base: &Base,
    oracle: &Mutex<Oracle>,
    rnd: &mut impl FnMut(u64) -> u64,
) -> Result<bool> {
    t.begin(TxnOptions { lock_wait_timeout: Duration::from_secs(2), ..TxnOptions::default() })?;
    let tag = base.tags.counter_reserve(1, 1, 1)?.unwrap();
    oracle.lock().unwrap().set(tag, Fate::Gone);
    let result = (|| {
        assert_eq!(
            t.insert(&base.tags, &tag.to_be_bytes(), b"")?,
            Insert::Inserted,
            "number {tag} was handed out twice"
        );
        for _ in 0..1 + rnd(3) {
            t.begin_statement();
            change(t, engine, base, oracle, tag, rnd)?;
            t.end_statement()?;
        }
        Ok(())
    })();
    let gone = |t: &mut Txn| {
        oracle.lock().unwrap().undo(tag);
        if t.is_active() { t.rollback() } else { Ok(()) }
    };
    match result {
        Ok(()) if rnd(5) == 0 => return gone(t).map(|()| false),
        Ok(()) => {}
        Err(EngineError::Deadlock | EngineError::LockWaitTimeout) => return gone(t).map(|()| false),
        Err(e) => {
            gone(t)?;
            return Err(e);
        }
    }
    let mut fate = Fate::Asked;
    if rnd(4) == 0 {
        let id = t.id().unwrap();
        {
            let mut o = oracle.lock().unwrap();
            // A number that got lost with its transaction is handed out again.
            o.prepared.retain(|_, t| *t != tag);
            o.prepared.insert(id, tag);
            o.set(tag, Fate::Preparing);
        }
        assert_eq!(t.prepare()?, Some(id));
        oracle.lock().unwrap().set(tag, Fate::Prepared);
        if rnd(3) == 0 {
            return Ok(true);
        }
        let _ = gannet_runtime::sleep(Duration::from_millis(rnd(20)));
        if rnd(3) == 0 {
            oracle.lock().unwrap().set(tag, Fate::Undone);
            oracle.lock().unwrap().undo(tag);
            return t.rollback().map(|()| false);
        }
        fate = Fate::Committing;
    }
    oracle.lock().unwrap().set(tag, fate);
    if let Err(e) = t.commit() {
        if t.is_active() && fate == Fate::Asked {
            // Not even in the log.
            oracle.lock().unwrap().set(tag, Fate::Gone);
            gone(t)?;
        }
        return Err(e);
    }
    let mut o = oracle.lock().unwrap();
    o.set(tag, Fate::Told);
    o.told += 1;
    Ok(false)
}

fn live(life: &Life, oracle: &Arc<Mutex<Oracle>>) {
    let &Life { seed, trouble, ref disk, .. } = life;
    let (engine, base) = open(seed);
    resolve(&engine, oracle, &mut rng(seed ^ 0xE5));
    verify(&engine, &base, oracle);
    trouble.begin(disk, seed);
    let mut tasks = Vec::new();
    for n in 0..3u64 {
        let (engine, base, oracle) = (engine.clone(), base.clone(), oracle.clone());
        tasks.push(gannet_runtime::spawn(&format!("client-{n}"), move || {
            let mut rnd = rng(seed * 37 + n);
            let mut left = Vec::new();
            let mut t = engine.begin(TxnOptions::default());
            for _ in 0..12 {
                let outcome = transaction(&mut t, &engine, &base, &oracle, &mut rnd);
                if !matches!(outcome, Ok(true)) && !t.is_half_undone() {
                    t.lock_owner().mdl_end_transaction();
                }
                match outcome {
                    Ok(false) => {}
                    // It stays prepared, and its locks with it.
                    Ok(true) => left.push(std::mem::replace(&mut t, engine.begin(TxnOptions::default()))),
                    Err(e) if trouble.explains(&e) => {
                        let _ = gannet_runtime::sleep(Duration::from_millis(5));
                    }
                    Err(e) => panic!("{trouble:?}: {e}"),
                }
            }
            left
        }));
    }
    let left: Vec<Txn> = tasks.into_iter().flat_map(|task| task.join().unwrap()).collect();
    trouble.end(disk);
    if trouble == Trouble::Broken {
        gannet_runtime::sim::crash();
    }
    while engine.status().recovering > 0 {
        let _ = gannet_runtime::sleep(Duration::from_millis(5));
    }
    engine.purge_now().unwrap();
    let store = engine.check_store().unwrap();
    assert!(store.findings.is_empty(), "{:?}", store.findings);
    let scrub = engine.scrub_status();
    assert!(scrub.errors == 0 || trouble == Trouble::Reads, "{scrub:?} {:?}", engine.damaged_pages());
    drop(left);
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
pub struct Trees(Arc<Mutex<Oracle>>);

impl Workload for Trees {
    fn new(_seed: u64) -> Arc<Trees> {
        Arc::new(Trees(Arc::default()))
    }

    fn live(&self, life: &Life) {
        live(life, &self.0);
    }

    fn work(&self) -> Work {
        Work { transactions: self.0.lock().unwrap().told }
    }
}
