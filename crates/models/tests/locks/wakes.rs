//! Those who wait and those who end: nobody is left behind, and nobody comes in beside another.

use loom::sync::Arc as Shared;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use loom::thread;

use std::sync::Arc;

use crate::sync::{Mutex, sound_and_weakened};
use crate::{FOREVER, LockOwner, LockTable, MdlDuration, MdlMode, Mode, TreeId, TreeLocks, TrxId, Wait};

/// A transaction ends while another begins to wait for its stamp.
fn end_of_a_transaction() {
    let table = LockTable::new();
    let (writer, waiter) = (table.owner(1), table.owner(2));
    writer.set_trx(TrxId(1));
    let active = Shared::new(AtomicBool::new(true));
    let ends = {
        let active = active.clone();
        thread::spawn(move || {
            active.store(false, Relaxed);
            writer.release_all();
        })
    };
    waiter.wait_trx(TrxId(1), || active.load(Relaxed), FOREVER).unwrap();
    ends.join().unwrap();
}

#[test]
fn no_end_of_a_transaction_is_missed() {
    sound_and_weakened(
        "wakes::no_end_of_a_transaction_is_missed",
        3,
        end_of_a_transaction,
        &[("lock/src/trx.rs", "fence(SeqCst);", 0)],
    );
}

/// A transaction ends; one that was about to wait for it sees that by itself, and waits for another at once.
fn one_end_after_another() {
    let table = LockTable::new();
    let active = Shared::new([AtomicBool::new(true), AtomicBool::new(true)]);
    let writers = [1, 2].map(|n| {
        let (writer, active) = (table.owner(n), active.clone());
        writer.set_trx(TrxId(n));
        move || {
            active[n as usize - 1].store(false, SeqCst);
            writer.release_all();
        }
    });
    let threads = writers.map(thread::spawn);
    let waiter = table.owner(3);
    for n in [1, 2] {
        let goes_on = || active[n as usize - 1].load(SeqCst);
        waiter.wait_trx(TrxId(n), goes_on, FOREVER).unwrap();
        assert!(!goes_on(), "the end of another was taken for that of {n}");
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn an_end_ends_no_later_wait() {
    sound_and_weakened("wakes::an_end_ends_no_later_wait", 3, one_end_after_another, &[]);
}

/// Three that want one row, of which the first has it.
fn one_row() {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    let inside = Shared::new(AtomicUsize::new(0));
    let session = |n: u64| {
        let (owner, tree, inside) = (table.owner(n), tree.clone(), inside.clone());
        move || {
            let _ = owner.lock_record(&tree, b"hot", Mode::Exclusive, FOREVER).unwrap();
            assert_eq!(inside.fetch_add(1, Relaxed), 0, "two have the row");
            inside.fetch_sub(1, Relaxed);
            owner.release_all();
        }
    };
    let others = [thread::spawn(session(1)), thread::spawn(session(2))];
    session(3)();
    others.into_iter().for_each(|t| t.join().unwrap());
    assert!(tree.no_records());
}

#[test]
fn a_row_goes_from_one_to_the_next() {
    sound_and_weakened("wakes::a_row_goes_from_one_to_the_next", 2, one_row, &[]);
}

/// Two that want rows of one who folds its locks into a set meanwhile, one of which it gives back then.
fn folding() {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    let inside = [(); 2].map(|()| Shared::new(AtomicUsize::new(1)));
    let holder = table.owner(1);
    for key in [b"a", b"b"] {
        let _ = holder.lock_record(&tree, key, Mode::Exclusive, FOREVER).unwrap();
    }
    let others = [(b"a", 0), (b"b", 1)].map(|(key, i)| {
        let (owner, tree, inside) = (table.owner(2 + i as u64), tree.clone(), inside[i].clone());
        thread::spawn(move || {
            let _ = owner.lock_record(&tree, key, Mode::Exclusive, FOREVER).unwrap();
            assert_eq!(inside.load(Relaxed), 0, "two have the row");
            owner.release_all();
        })
    });
    holder.fold_keys(0);
    inside[0].store(0, Relaxed);
    holder.unlock_record(&tree, b"a", None);
    inside[1].store(0, Relaxed);
    holder.release_all();
    others.into_iter().for_each(|t| t.join().unwrap());
    assert!(tree.no_records() && tree.no_ranges());
}

#[test]
fn a_row_is_locked_while_its_lock_is_folded() {
    sound_and_weakened("wakes::a_row_is_locked_while_its_lock_is_folded", 2, folding, &[]);
}

/// A row with a stamp, as the engine keeps it: under the leaf's latch.
struct Row {
    /// Whose stamp it is, by session; zero: nobody's.
    stamp: Mutex<usize>,
    active: [AtomicBool; 4],
    inside: AtomicUsize,
}

impl Row {
    fn foreign(&self, stamp: usize) -> bool {
        self.active[stamp].load(SeqCst)
    }

    /// Has the row for itself for a moment, then ends.
    fn use_it(&self, n: usize, owner: &LockOwner) {
        assert_eq!(self.inside.fetch_add(1, Relaxed), 0, "two have the row");
        self.inside.fetch_sub(1, Relaxed);
        self.active[n].store(false, SeqCst);
        owner.release_all();
    }

    fn write(&self, n: usize, owner: &LockOwner, tree: &Arc<TreeLocks>) {
        loop {
            let mut stamp = self.stamp.lock();
            let there = *stamp;
            let foreign = self.foreign(there);
            if !foreign && (tree.no_records() || !owner.row_blocked(tree, b"hot", Mode::Exclusive)) {
                *stamp = n;
                break;
            }
            drop(stamp);
            let _ = owner.lock_record(tree, b"hot", Mode::Exclusive, FOREVER).unwrap();
            if foreign {
                let trx = TrxId(there as u64);
                owner.wait_stamp((tree, b"hot"), trx, || self.foreign(there), FOREVER).unwrap();
            }
        }
        owner.stamped(tree, b"hot");
        self.use_it(n, owner);
    }

    fn lock(&self, n: usize, owner: &LockOwner, tree: &Arc<TreeLocks>) {
        let _ = owner.lock_record(tree, b"hot", Mode::Exclusive, FOREVER).unwrap();
        let there = *self.stamp.lock();
        if self.foreign(there) {
            owner.wait_trx(TrxId(there as u64), || self.foreign(there), FOREVER).unwrap();
        }
        self.use_it(n, owner);
    }
}

/// One has locked the row and ends; of those who want it, those who write may pass the one at the front as long as it
/// does not run.
fn passing(writes: [bool; 2]) {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    let row = Shared::new(Row {
        stamp: Mutex::new(0),
        active: std::array::from_fn(|n| AtomicBool::new(n > 0)),
        inside: AtomicUsize::new(0),
    });
    let first = table.owner(1);
    assert!(first.lock_record(&tree, b"hot", Mode::Exclusive, Wait::No).is_ok());
    let threads = [2, 3].map(|n| {
        let (owner, tree, row) = (table.owner(n as u64), tree.clone(), row.clone());
        let writes = writes[n - 2];
        thread::spawn(move || {
            owner.set_trx(TrxId(n as u64));
            if writes { row.write(n, &owner, &tree) } else { row.lock(n, &owner, &tree) }
        })
    });
    row.use_it(1, &first);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(tree.no_records());
}

#[test]
fn writers_pass_who_has_not_run() {
    sound_and_weakened("wakes::writers_pass_who_has_not_run", 2, || passing([true, true]), &[]);
}

#[test]
fn a_writer_does_not_pass_who_relies_on_the_row() {
    sound_and_weakened("wakes::a_writer_does_not_pass_who_relies_on_the_row", 2, || passing([false, true]), &[]);
}

/// One that uses a table, and DDL.
fn ddl() {
    let table = LockTable::new();
    let object = table.mdl_object(1, "t");
    let used = Shared::new(AtomicUsize::new(0));
    let session = |n: u64, mode: MdlMode| {
        let (owner, used) = (table.owner(n), used.clone());
        move || {
            owner.mdl_lock(object, mode, MdlDuration::Transaction, FOREVER).unwrap();
            assert_eq!(used.fetch_add(1, Relaxed), 0, "used while it is changed");
            used.fetch_sub(1, Relaxed);
            owner.mdl_end_transaction();
        }
    };
    let user = thread::spawn(session(1, MdlMode::Write));
    session(2, MdlMode::Exclusive)();
    user.join().unwrap();
}

#[test]
fn ddl_waits_for_who_uses_the_table() {
    // In turn: who publishes its use, who takes it back, who raises the flags.
    sound_and_weakened(
        "wakes::ddl_waits_for_who_uses_the_table",
        3,
        ddl,
        &[
            ("lock/src/mdl.rs", "fence(SeqCst);", 1),
            ("lock/src/mdl.rs", "fence(SeqCst);", 3),
            ("lock/src/mdl.rs", "fence(SeqCst);", 4),
        ],
    );
}
