//! Owners that want what each other holds, at the same moment: the cycle is found, whoever closes it, and one of them
//! is the victim.
//!
//! Waiters that hold nothing take no part in the search, and nobody searches whom nobody waits for: that they do not
//! miss each other rests on the fences of [`Graph::enter`](crate::graph), which the weakenings take away.

use loom::sync::Arc as Shared;
use loom::sync::atomic::{AtomicUsize, Ordering::*};
use loom::thread;
use std::sync::Arc;

use crate::sync::sound_and_weakened;
use crate::{
    Cut, FOREVER, LockError, LockOwner, LockTable, MdlDuration, MdlMode, Mode, TreeId, TreeLocks, TrxId, Wait,
};

const GRAPH: &str = "lock/src/graph.rs";

fn setup<const N: usize>() -> (Arc<TreeLocks>, [LockOwner; N], Arc<LockTable>) {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    (tree, std::array::from_fn(|i| table.owner(i as u64)), table)
}

fn hold(owner: &LockOwner, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode) {
    assert!(owner.lock_record(tree, key, mode, Wait::No).is_ok());
}

/// Each owner does its part on a thread of its own, the last on this one, and then gives up what it has. Gives the
/// number of victims.
fn at_once<const N: usize>(
    owners: [LockOwner; N],
    part: impl Fn(usize, &LockOwner) -> Result<(), LockError> + Send + Sync + 'static,
) -> usize {
    let part = Arc::new(part);
    let victims = Shared::new(AtomicUsize::new(0));
    let run = move |i: usize, owner: LockOwner, victims: &AtomicUsize| {
        match part(i, &owner) {
            Ok(()) => {}
            Err(LockError::Deadlock) => _ = victims.fetch_add(1, Relaxed),
            Err(e) => panic!("{e}"),
        }
        owner.release_all();
        owner.mdl_end_transaction();
    };
    let run = Arc::new(run);
    let mut threads = Vec::new();
    let mut owners = owners.into_iter().enumerate().collect::<Vec<_>>();
    let (last, own) = owners.pop().expect("an owner");
    for (i, owner) in owners {
        let (run, victims) = (run.clone(), victims.clone());
        threads.push(thread::spawn(move || run(i, owner, &victims)));
    }
    run(last, own, &victims);
    threads.into_iter().for_each(|t| t.join().unwrap());
    victims.load(Relaxed)
}

fn crossing() {
    let (tree, owners, _table) = setup::<2>();
    hold(&owners[0], &tree, b"a", Mode::Exclusive);
    hold(&owners[1], &tree, b"b", Mode::Exclusive);
    let victims = at_once(owners, move |i, owner| {
        owner.lock_record(&tree, [b"b", b"a"][i], Mode::Exclusive, FOREVER).map(|_| ())
    });
    assert_eq!(victims, 1);
}

#[test]
fn two_that_want_what_the_other_has() {
    // Without the fence both may believe that nobody waits for them.
    let test = "deadlocks::two_that_want_what_the_other_has";
    sound_and_weakened(test, 2, crossing, &[(GRAPH, "fence(SeqCst);", 1)]);
}

fn raises() {
    let (tree, owners, _table) = setup::<2>();
    owners.iter().for_each(|o| hold(o, &tree, b"a", Mode::Shared));
    let victims = at_once(owners, move |_, owner| owner.lock_record(&tree, b"a", Mode::Exclusive, FOREVER).map(|_| ()));
    assert_eq!(victims, 1);
}

#[test]
fn two_that_raise_their_shared_locks() {
    sound_and_weakened("deadlocks::two_that_raise_their_shared_locks", 2, raises, &[]);
}

/// One has written the row, which the other has locked and waits for.
fn stamps() {
    let (tree, owners, _table) = setup::<2>();
    owners[0].set_trx(TrxId(1));
    owners[0].set_weight(1);
    hold(&owners[1], &tree, b"a", Mode::Exclusive);
    let active = Shared::new(AtomicUsize::new(1));
    let victims = at_once(owners, move |i, owner| {
        if i == 1 {
            return owner.wait_trx(TrxId(1), || active.load(SeqCst) == 1, FOREVER);
        }
        let got = owner.lock_record(&tree, b"a", Mode::Exclusive, FOREVER).map(|_| ());
        active.store(0, SeqCst);
        got
    });
    assert_eq!(victims, 1);
}

#[test]
fn one_that_waits_for_a_stamp() {
    sound_and_weakened("deadlocks::one_that_waits_for_a_stamp", 2, stamps, &[]);
}

fn gaps() {
    let (tree, owners, _table) = setup::<2>();
    owners.iter().for_each(|o| o.lock_gap(&tree, Cut::Min, Cut::Max));
    let victims = at_once(owners, move |_, owner| owner.wait_insert(&tree, b"a", FOREVER));
    assert_eq!(victims, 1);
}

#[test]
fn two_that_insert_into_a_gap_both_have_locked() {
    sound_and_weakened("deadlocks::two_that_insert_into_a_gap_both_have_locked", 2, gaps, &[]);
}

/// A gap locked while somebody waits to insert there: the one that takes it does not wait, and yet becomes a holder.
fn gap_taken_meanwhile() {
    let (tree, owners, _table) = setup::<3>();
    owners[0].lock_gap(&tree, Cut::Min, Cut::Max);
    hold(&owners[1], &tree, b"b", Mode::Exclusive);
    let victims = at_once(owners, move |i, owner| match i {
        0 => Ok(()),
        1 => owner.wait_insert(&tree, b"a", FOREVER),
        _ => {
            owner.lock_gap(&tree, Cut::Min, Cut::Max);
            owner.lock_record(&tree, b"b", Mode::Exclusive, FOREVER).map(|_| ())
        }
    });
    assert!(victims <= 1);
}

#[test]
fn a_gap_locked_while_somebody_waits() {
    sound_and_weakened("deadlocks::a_gap_locked_while_somebody_waits", 2, gap_taken_meanwhile, &[]);
}

/// Tables in use by both, each of which wants the other's for itself.
fn tables() {
    let (_, owners, table) = setup::<2>();
    let objects = [table.mdl_object(1, "a"), table.mdl_object(2, "b")];
    for (owner, object) in owners.iter().zip(objects) {
        owner.mdl_lock(object, MdlMode::Write, MdlDuration::Transaction, Wait::No).unwrap();
    }
    let victims = at_once(owners, move |i, owner| {
        owner.mdl_lock(objects[1 - i], MdlMode::Exclusive, MdlDuration::Transaction, FOREVER)
    });
    assert_eq!(victims, 1);
}

#[test]
fn two_tables() {
    sound_and_weakened("deadlocks::two_tables", 2, tables, &[(GRAPH, "fence(SeqCst);", 1)]);
}

/// The first shares a row and wants the third's; the third wants to share the first's row. The second, which holds
/// nothing and skips the search, may stand in between, and then the third waits because of it.
fn one_between_that_holds_nothing() {
    let (tree, owners, _table) = setup::<3>();
    hold(&owners[0], &tree, b"a", Mode::Shared);
    hold(&owners[2], &tree, b"b", Mode::Exclusive);
    let victims = at_once(owners, move |i, owner| {
        let (key, mode) = [(b"b", Mode::Exclusive), (b"a", Mode::Exclusive), (b"a", Mode::Shared)][i];
        owner.lock_record(&tree, key, mode, FOREVER).map(|_| ())
    });
    // The cycle is there only when the second was in front of the third.
    assert!(victims <= 1);
}

#[test]
fn a_line_with_one_that_holds_nothing() {
    let test = "deadlocks::a_line_with_one_that_holds_nothing";
    sound_and_weakened(test, 1, one_between_that_holds_nothing, &[]);
}

/// A ring of three.
fn ring() {
    let (tree, owners, _table) = setup::<3>();
    let keys = [b"a", b"b", b"c"];
    owners.iter().zip(keys).for_each(|(o, k)| hold(o, &tree, k, Mode::Exclusive));
    let victims = at_once(owners, move |i, owner| {
        owner.lock_record(&tree, keys[(i + 1) % 3], Mode::Exclusive, FOREVER).map(|_| ())
    });
    assert_eq!(victims, 1);
}

#[test]
fn three_in_a_ring() {
    sound_and_weakened("deadlocks::three_in_a_ring", 1, ring, &[]);
}
