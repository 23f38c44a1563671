//! Locks on the simulated machine: every interleaving follows from a seed. When a wake-up is lost or a deadlock missed,
//! all tasks wait for ever (or until a timeout no correct run needs), and the test says so with the seed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gannet_base::{TreeId, TrxId};
use gannet_lock::{Cut, LockError, LockOwner, LockTable, MdlDuration, MdlMode, Mode, TreeLocks, Wait};
use gannet_runtime::sim::Sim;
use gannet_runtime::{Interrupt, context, now_ns, random_u64, sleep, spawn};

const FOREVER: Wait = Wait::For(Duration::from_secs(1000));

fn seeds(default: u64) -> std::ops::Range<u64> {
    match std::env::var("SEED") {
        Ok(seed) => seed.parse::<u64>().unwrap()..seed.parse::<u64>().unwrap() + 1,
        Err(_) => 0..std::env::var("SEEDS").map_or(default, |n| n.parse().unwrap()),
    }
}

fn dice(n: u64) -> u64 {
    random_u64() % n
}

/// Rows with stamps, as the engine keeps them: key → active writer.
#[derive(Default)]
struct Model {
    /// The leaf's latch: writers hold it from the look at the locks to the stamp, readers read under it.
    latch: gannet_base::sync::Mutex<()>,
    stamps: Mutex<HashMap<u8, TrxId>>,
    active: Mutex<HashMap<u64, bool>>,
    /// Holders by key: what the lock table must have excluded.
    inside: Mutex<HashMap<u8, Vec<(u64, Mode)>>>,
    /// Gaps by owner (all below the number), and inserts under way.
    gaps: Mutex<HashMap<u64, u8>>,
}

impl Model {
    fn enter(&self, key: u8, me: u64, mode: Mode) {
        let mut inside = self.inside.lock().unwrap();
        let holders = inside.entry(key).or_default();
        let strangers = holders.iter().filter(|(o, _)| *o != me);
        let ok = strangers.into_iter().all(|(_, m)| *m == Mode::Shared && mode == Mode::Shared);
        assert!(ok, "key {key}: {me} comes in {mode:?} to {holders:?}");
        holders.retain(|(o, _)| *o != me);
        holders.push((me, mode));
    }

    fn leave_all(&self, me: u64) {
        self.inside.lock().unwrap().values_mut().for_each(|h| h.retain(|(o, _)| *o != me));
    }
}

struct Actor {
    owner: LockOwner,
    tree: Arc<TreeLocks>,
    model: Arc<Model>,
    id: u64,
    trx: TrxId,
    held: RefCell<HashMap<u8, Mode>>,
}

impl Actor {
    /// A writer as the engine writes: look under the 'latch' (no pause), else lock, wait for the stamp, look again.
    fn write(&self, key: u8, wait: Wait) -> Result<(), LockError> {
        loop {
            let latch = self.model.latch.lock();
            let stamp = self.model.stamps.lock().unwrap().get(&key).copied();
            let foreign = stamp.filter(|t| *t != self.trx && self.is_active(*t));
            if foreign.is_none()
                && (self.tree.no_records() || !self.owner.row_blocked(&self.tree, &[key], Mode::Exclusive))
            {
                self.model.stamps.lock().unwrap().insert(key, self.trx);
                self.model.enter(key, self.id, Mode::Exclusive);
                self.held.borrow_mut().insert(key, Mode::Exclusive);
                drop(latch);
                self.owner.stamped(&self.tree, &[key]);
                return Ok(());
            }
            drop(latch);
            let granted = self.owner.lock_record(&self.tree, &[key], Mode::Exclusive, wait)?;
            if let Err(e) = self.wait_stamp(key, wait, true) {
                self.owner.unlock_record(&self.tree, &[key], granted.before);
                return Err(e);
            }
        }
    }

    /// ROLLBACK TO SAVEPOINT: the stamps go one by one, the locks stay.
    fn undo(&self) {
        let own = |(key, trx): (&u8, &TrxId)| (*trx == self.trx).then_some(*key);
        let mut keys: Vec<u8> = self.model.stamps.lock().unwrap().iter().filter_map(own).collect();
        keys.sort_unstable();
        for key in keys {
            self.owner.keep_record(&self.tree, &[key]);
            let _latch = self.model.latch.lock();
            self.model.stamps.lock().unwrap().remove(&key);
            assert_eq!(self.owner.record_mode(&self.tree, &[key]), Some(Mode::Exclusive));
        }
    }

    /// A row that a condition does not want after all: at READ COMMITTED its lock goes at once.
    fn read_and_leave(&self, key: u8, mode: Mode, wait: Wait) -> Result<(), LockError> {
        let granted = self.owner.lock_record(&self.tree, &[key], mode, wait)?;
        let waited = self.wait_stamp(key, wait, false);
        if dice(2) == 0 {
            self.owner.lock_gap(&self.tree, Cut::Min, Cut::Before(&[50]));
        }
        self.owner.unlock_record(&self.tree, &[key], granted.before);
        waited
    }

    fn wait_stamp(&self, key: u8, wait: Wait, writes: bool) -> Result<(), LockError> {
        loop {
            let stamp = {
                let _latch = self.model.latch.lock();
                self.model.stamps.lock().unwrap().get(&key).copied()
            };
            match stamp {
                Some(t) if t != self.trx && self.is_active(t) && writes => {
                    let place = (&self.tree, &[key][..]);
                    self.owner.wait_stamp(place, t, || self.is_active(t), wait)?;
                }
                Some(t) if t != self.trx && self.is_active(t) => {
                    self.owner.wait_trx_at((&self.tree, &[key]), t, || self.is_active(t), wait)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn is_active(&self, trx: TrxId) -> bool {
        self.model.active.lock().unwrap().get(&trx.0).copied().unwrap_or(false)
    }

    fn read_locked(&self, key: u8, mode: Mode, wait: Wait) -> Result<(), LockError> {
        let granted = self.owner.lock_record(&self.tree, &[key], mode, wait)?;
        if let Err(e) = self.wait_stamp(key, wait, false) {
            self.owner.unlock_record(&self.tree, &[key], granted.before);
            return Err(e);
        }
        let now = self.held.borrow().get(&key).copied().max(Some(mode)).unwrap_or(mode);
        self.model.enter(key, self.id, now);
        self.held.borrow_mut().insert(key, now);
        Ok(())
    }

    /// A row that may turn out not to be wanted, after other locks were taken and folded.
    fn look_at(&self, key: u8, mode: Mode, wait: Wait) -> Result<(), LockError> {
        if dice(2) == 0 {
            return self.read_locked(key, mode, wait);
        }
        let granted = self.owner.lock_record(&self.tree, &[key], mode, wait)?;
        if dice(2) == 0 {
            self.owner.fold_keys(0);
        }
        self.owner.unlock_record(&self.tree, &[key], granted.before);
        assert_eq!(self.owner.record_mode(&self.tree, &[key]), granted.before);
        Ok(())
    }

    /// Some rows one after the other, which become an interval, or as at READ COMMITTED a set: then some are let go
    /// again.
    fn scan(&self, mode: Mode, wait: Wait) -> Result<(), LockError> {
        let mut last = None;
        let to_set = dice(2) == 0;
        for key in dice(3) as u8..5 {
            if to_set {
                self.look_at(key, mode, wait)?;
                self.owner.fold_keys(dice(3) as usize);
                continue;
            }
            self.read_locked(key, mode, wait)?;
            let low = [last.unwrap_or(key)];
            self.owner.fold_record(&self.tree, &[key], mode, (Cut::Before(&low), Cut::After(&[key])));
            last = Some(key);
        }
        Ok(())
    }

    fn step(&self) -> Result<(), LockError> {
        let key = dice(5) as u8;
        let wait = match dice(12) {
            0 | 1 => Wait::No,
            2 => Wait::For(Duration::from_nanos(dice(5000))),
            _ => FOREVER,
        };
        match dice(13) {
            10 => {
                self.undo();
                Ok(())
            }
            11 => self.read_and_leave(key, if dice(2) == 0 { Mode::Shared } else { Mode::Exclusive }, wait),
            8.. => self.scan(if dice(2) == 0 { Mode::Shared } else { Mode::Exclusive }, wait),
            0..3 => self.write(key, wait),
            3..5 => self.read_locked(key, Mode::Shared, wait),
            5 => self.read_locked(key, Mode::Exclusive, wait),
            6 => {
                self.owner.lock_gap(&self.tree, Cut::Min, Cut::Before(&[100 + key]));
                // Registered; now the interval is read.
                let _latch = self.model.latch.lock();
                let mut gaps = self.model.gaps.lock().unwrap();
                let high = gaps.entry(self.id).or_default();
                *high = (*high).max(100 + key);
                Ok(())
            }
            _ => {
                let key = 100 + key;
                let _latch = loop {
                    let latch = self.model.latch.lock();
                    if self.tree.no_gaps() || !self.owner.insert_blocked(&self.tree, &[key]) {
                        break latch;
                    }
                    drop(latch);
                    self.owner.wait_insert(&self.tree, &[key], wait)?;
                };
                let gaps = self.model.gaps.lock().unwrap();
                assert!(gaps.iter().all(|(o, high)| *o == self.id || *high <= key), "inserted {key} under {gaps:?}");
                Ok(())
            }
        }
    }

    fn transaction(&mut self, trx: TrxId) -> Result<(), LockError> {
        self.trx = trx;
        self.owner.set_trx(trx);
        self.model.active.lock().unwrap().insert(trx.0, true);
        let mut outcome = Ok(());
        for n in 0..dice(5) + 1 {
            self.owner.set_weight(n);
            match self.step() {
                Ok(()) | Err(LockError::WouldWait | LockError::Timeout) => {}
                Err(LockError::Killed) => context().clear(Interrupt::Query),
                Err(e) => {
                    outcome = Err(e);
                    break;
                }
            }
            if dice(4) == 0 {
                let _ = sleep(Duration::from_nanos(dice(3000)));
            }
        }
        // The end: published first, then the locks go.
        self.model.active.lock().unwrap().insert(trx.0, false);
        self.model.leave_all(self.id);
        self.model.gaps.lock().unwrap().remove(&self.id);
        self.held.borrow_mut().clear();
        self.owner.release_all();
        outcome
    }
}

fn rows(seed: u64) {
    Sim::new(seed).run(move || {
        let table = LockTable::new();
        let tree = table.tree(TreeId(1));
        let model = Arc::new(Model::default());
        let start = now_ns();
        let contexts: Arc<Mutex<Vec<_>>> = Arc::default();
        let tasks: Vec<_> = (1..=5u64)
            .map(|id| {
                let (table, tree, model) = (table.clone(), tree.clone(), model.clone());
                let contexts = contexts.clone();
                spawn(&format!("session {id}"), move || {
                    let owner = table.owner(id);
                    contexts.lock().unwrap().push(context());
                    let mut actor = Actor { owner, tree, model, id, trx: TrxId(0), held: RefCell::default() };
                    let (mut ended, mut deadlocks) = (0, 0);
                    for n in 0..8u64 {
                        match actor.transaction(TrxId(n * 5 + id)) {
                            Ok(()) => ended += 1,
                            Err(LockError::Deadlock) => deadlocks += 1,
                            Err(e) => panic!("{e}"),
                        }
                    }
                    (ended, deadlocks)
                })
            })
            .collect();
        for _ in 0..seed % 3 * 10 {
            let _ = sleep(Duration::from_nanos(dice(3000)));
            let contexts = contexts.lock().unwrap();
            if !contexts.is_empty() {
                contexts[dice(contexts.len() as u64) as usize].interrupt(Interrupt::Query);
            }
        }
        let sums = tasks.into_iter().map(|t| t.join().unwrap()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert_eq!(sums.0 + sums.1, 40);
        assert!(now_ns() - start < 500_000_000_000, "somebody waited for the timeout: a deadlock was missed");
        assert!(tree.no_records() && tree.no_gaps());
        assert!(table.locks(10).is_empty() && table.waits().is_empty());
    });
}

#[test]
fn rows_gaps_and_stamps() {
    for seed in seeds(150) {
        rows(seed);
    }
}

fn metadata(seed: u64) {
    Sim::new(seed).run(move || {
        let table = LockTable::new();
        let tree = table.tree(TreeId(1));
        let objects: Vec<_> = (0..3).map(|i| table.mdl_object(i, &format!("t{i}"))).collect();
        let inside: Arc<Mutex<Vec<(u64, u64, MdlMode)>>> = Arc::default();
        let start = now_ns();
        let tasks: Vec<_> = (1..=5u64)
            .map(|id| {
                let (table, tree, objects, inside) = (table.clone(), tree.clone(), objects.clone(), inside.clone());
                spawn(&format!("session {id}"), move || {
                    use MdlMode::*;
                    let owner = table.owner(id);
                    for _ in 0..8 {
                        for _ in 0..dice(3) + 1 {
                            let t = dice(3);
                            let mode = [Read, Read, Write, Write, NoWrite, Upgradable, Exclusive][dice(7) as usize];
                            let wait = if dice(6) == 0 { Wait::No } else { FOREVER };
                            match owner.mdl_lock(objects[t as usize], mode, MdlDuration::Transaction, wait) {
                                Ok(()) => {
                                    let mut inside = inside.lock().unwrap();
                                    let clash = inside.iter().any(|&(o, table, m)| {
                                        o != id
                                            && table == t
                                            && (m == Exclusive
                                                || mode == Exclusive
                                                || matches!(
                                                    (m.min(mode), m.max(mode)),
                                                    (Write, NoWrite) | (Upgradable, Upgradable)
                                                ))
                                    });
                                    assert!(!clash, "{id} has table {t} in {mode:?} beside {inside:?}");
                                    inside.push((id, t, mode));
                                }
                                Err(LockError::WouldWait) => {}
                                Err(LockError::Deadlock) => break,
                                Err(e) => {
                                    panic!("{e}: {:#?}", (table.waits(), table.metadata_locks(), table.locks(99)))
                                }
                            }
                            if dice(3) == 0 {
                                match owner.lock_record(&tree, &[dice(2) as u8], Mode::Exclusive, FOREVER) {
                                    Ok(_) => {}
                                    Err(LockError::Deadlock) => break,
                                    Err(e) => {
                                        panic!("{e}: {:#?}", (table.waits(), table.metadata_locks(), table.locks(99)))
                                    }
                                }
                            }
                            let _ = sleep(Duration::from_nanos(dice(2000)));
                        }
                        inside.lock().unwrap().retain(|(o, ..)| *o != id);
                        owner.release_all();
                        owner.mdl_end_transaction();
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|t| t.join().unwrap());
        assert!(now_ns() - start < 500_000_000_000, "somebody waited for the timeout");
        assert!(table.metadata_locks().is_empty() && tree.no_records());
    });
}

#[test]
fn tables_and_rows() {
    for seed in seeds(150) {
        metadata(seed);
    }
}

/// One row, many who want it, some of whom give up: each is served once, in order, and the rest go on.
#[test]
fn a_hot_row_with_timeouts() {
    for seed in seeds(60) {
        Sim::new(seed).run(move || {
            let table = LockTable::new();
            let tree = table.tree(TreeId(1));
            let inside = Arc::new(Mutex::new(0));
            let tasks: Vec<_> = (0..12u64)
                .map(|id| {
                    let (table, tree, inside) = (table.clone(), tree.clone(), inside.clone());
                    spawn(&format!("session {id}"), move || {
                        let owner = table.owner(id);
                        let mut got = 0;
                        for _ in 0..10 {
                            let wait = Wait::For(Duration::from_nanos(1 + dice(200_000)));
                            match owner.lock_record(&tree, b"hot", Mode::Exclusive, wait) {
                                Ok(_) => {
                                    *inside.lock().unwrap() += 1;
                                    let _ = sleep(Duration::from_nanos(dice(20_000)));
                                    let mut n = inside.lock().unwrap();
                                    assert_eq!(*n, 1);
                                    *n -= 1;
                                    got += 1;
                                }
                                Err(LockError::Timeout) => {}
                                Err(e) => panic!("{e}"),
                            }
                            owner.release_all();
                        }
                        got
                    })
                })
                .collect();
            let got: usize = tasks.into_iter().map(|t| t.join().unwrap()).sum();
            assert!(got >= 12, "{got} of 120");
            assert!(tree.no_records());
        });
    }
}
