//! A wait whose grant is lost is noticed, and so is a deadlock that was missed (INV-LOCK-9).

use std::time::Duration;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
};
use gannet_base::{TreeId, TrxId};
use gannet_runtime::sim::Sim;
use gannet_runtime::{sleep, spawn};

use crate::{Cut, LockOwner, LockTable, MdlDuration, MdlMode, Mode, TreeLocks, Wait};

const FOREVER: Wait = Wait::For(Duration::from_secs(1000));

/// One waits for another, `lost` happens, and a while passes. What the one that waits says if it panics.
fn after(
    waits: impl FnOnce(&LockOwner, &Arc<TreeLocks>, &LockOwner) + Send + 'static,
    lost: impl FnOnce(&LockOwner, &Arc<TreeLocks>) + 'static,
) -> Option<String> {
    let outcome = Sim::new(1).allow_panics().run_outcome(move || {
        let table = LockTable::new();
        let tree = table.tree(TreeId(7));
        let holder = Arc::new(table.owner(1));
        let (owner, t, h) = (table.owner(2), tree.clone(), holder.clone());
        let waiter = spawn("waiter", move || waits(&owner, &t, &h));
        let _ = sleep(Duration::from_secs(10));
        lost(&holder, &tree);
        let _ = sleep(Duration::from_secs(10));
        // What still waits is released, so that the task ends.
        let panicked = table.waits().is_empty();
        holder.release_all();
        holder.mdl_end_transaction();
        let _ = waiter.join();
        panicked
    });
    let said = format!("{:?}", outcome.panics);
    (outcome.value == Some(true)).then_some(said)
}

fn row(owner: &LockOwner, tree: &Arc<TreeLocks>, holder: &LockOwner) {
    let _ = holder.lock_record(tree, b"a", Mode::Shared, Wait::No).unwrap();
    let _ = owner.lock_record(tree, b"a", Mode::Exclusive, FOREVER).unwrap();
}

#[test]
fn a_wait_with_a_reason_goes_on() {
    assert_eq!(after(row, |_, _| {}), None);
}

fn noticed(said: Option<String>) {
    assert!(said.as_ref().is_some_and(|said| said.contains("waits in vain")), "{said:?}");
}

#[test]
fn a_holder_that_goes_without_a_grant() {
    noticed(after(row, |holder, tree| {
        let hash = holder.table.hash(tree.id(), b"a");
        let mut shard = holder.table.shard(hash);
        assert!(crate::queue::find(&mut shard, hash, tree, b"a").unwrap().remove_holder(&holder.inner));
    }));
}

#[test]
fn a_holder_that_does_not_know_what_it_holds() {
    noticed(after(row, |holder, _| holder.inner.held.lock().records.clear()));
}

#[test]
fn a_gap_that_goes_without_a_grant() {
    let waits = |owner: &LockOwner, tree: &Arc<TreeLocks>, holder: &LockOwner| {
        holder.lock_gap(tree, Cut::Min, Cut::Max);
        owner.wait_insert(tree, b"a", FOREVER).unwrap();
    };
    noticed(after(waits, |holder, tree| tree.gap_set.lock().lose(&holder.inner)));
}

#[test]
fn an_end_that_tells_nobody() {
    let active = Arc::new(AtomicBool::new(true));
    let ended = active.clone();
    let waits = move |owner: &LockOwner, _: &Arc<TreeLocks>, _: &LockOwner| {
        owner.wait_trx(TrxId(1), || active.load(SeqCst), FOREVER).unwrap();
    };
    noticed(after(waits, move |_, _| ended.store(false, SeqCst)));
}

#[test]
fn a_table_that_goes_without_a_grant() {
    let waits = |owner: &LockOwner, _: &Arc<TreeLocks>, holder: &LockOwner| {
        let object = owner.table.mdl_object(1, "t");
        holder.mdl_lock(object, MdlMode::Exclusive, MdlDuration::Transaction, Wait::No).unwrap();
        owner.mdl_lock(object, MdlMode::Read, MdlDuration::Transaction, FOREVER).unwrap();
    };
    noticed(after(waits, |holder, _| holder.table.mdl_object(1, "t").lose(&holder.inner)));
}

#[test]
fn a_deadlock_that_no_search_has_found() {
    let waits = |owner: &LockOwner, tree: &Arc<TreeLocks>, holder: &LockOwner| {
        let _ = owner.lock_record(tree, b"b", Mode::Exclusive, Wait::No).unwrap();
        row(owner, tree, holder);
    };
    noticed(after(waits, |holder, tree| {
        // It does not know that another waits for it, and does not search.
        holder.inner.blocks.store(false, Relaxed);
        let _ = holder.lock_record(tree, b"b", Mode::Exclusive, FOREVER).unwrap();
    }));
}
