//! Locks between threads: named situations, deadlocks, storms.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use gannet_base::sync::Arc;
use gannet_base::{TreeId, TrxId};

use crate::Mode::{Exclusive, Shared};
use crate::queue::PASS_NS;
use crate::*;

pub(crate) const LONG: Wait = Wait::For(Duration::from_secs(60));
pub(crate) const SHORT: Wait = Wait::For(Duration::from_millis(30));
const NEW: Granted = Granted { waited: false, before: None };

pub(crate) fn setup(n: usize) -> (Arc<LockTable>, Arc<TreeLocks>, Vec<LockOwner>) {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    let owners = (0..n).map(|i| table.owner(i as u64 + 100)).collect();
    (table, tree, owners)
}

/// Runs `f` on another thread and returns when its owner waits.
pub(crate) fn waiting<'s, T: Send + 's>(
    s: &'s Scope<'s, '_>,
    owner: &'s LockOwner,
    f: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let t = s.spawn(f);
    until(|| owner.is_waiting() && owner.table.waiting().iter().any(|o| Arc::ptr_eq(o, &owner.inner)));
    t
}

/// The row that a member of a line holds.
pub(crate) fn row_of(i: usize) -> [u8; 4] {
    (i as u32).to_be_bytes()
}

/// Each of `line` holds its [`row_of`], for which one of `behind` waits: each has to look for a cycle before it waits
/// itself.
pub(crate) fn waited_for<'s>(
    s: &'s Scope<'s, '_>,
    tree: &'s Arc<TreeLocks>,
    line: &'s [LockOwner],
    behind: &'s [LockOwner],
) {
    for (i, (o, b)) in line.iter().zip(behind).enumerate() {
        let _ = o.lock_record(tree, &row_of(i), Exclusive, Wait::No).unwrap();
        s.spawn(move || {
            let _ = b.lock_record(tree, &row_of(i), Exclusive, LONG).unwrap();
            b.release_all();
        });
    }
    until(|| behind.iter().all(|o| o.is_waiting()));
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "it never happens");
        std::thread::yield_now();
    }
}

pub(crate) fn waited(before: Option<Mode>) -> Result<Granted, LockError> {
    Ok(Granted { waited: true, before })
}

#[test]
fn modes_and_release() {
    let (table, tree, o) = setup(3);
    assert!(tree.no_records());
    assert_eq!(o[0].lock_record(&tree, b"k", Shared, Wait::No), Ok(NEW));
    assert_eq!(o[1].lock_record(&tree, b"k", Shared, Wait::No), Ok(NEW));
    assert_eq!(o[2].lock_record(&tree, b"k", Exclusive, Wait::No), Err(LockError::WouldWait));
    assert_eq!(o[2].lock_record(&tree, b"k", Exclusive, SHORT), Err(LockError::Timeout));
    assert!(!tree.no_records());
    assert!(o[2].record_blocked(&tree, b"k", Exclusive));
    assert!(!o[2].record_blocked(&tree, b"k", Shared));
    assert!(!o[2].record_blocked(&tree, b"other", Exclusive));
    o[0].release_all();
    assert_eq!(o[1].lock_record(&tree, b"k", Exclusive, Wait::No), Ok(Granted { waited: false, before: Some(Shared) }));
    assert_eq!(o[1].lock_record(&tree, b"k", Shared, Wait::No), Ok(Granted { waited: false, before: Some(Exclusive) }));
    assert_eq!(o[1].record_mode(&tree, b"k"), Some(Exclusive));
    assert_eq!(o[1].record_count(), 1);
    assert_eq!(o[2].lock_record(&tree, b"k", Shared, Wait::No), Err(LockError::WouldWait));
    o[1].release_all();
    assert!(tree.no_records());
    assert!(table.locks(10).is_empty());
    assert_eq!(o[1].record_mode(&tree, b"k"), None);
}

#[test]
fn trees_and_keys_are_apart() {
    let (table, tree, o) = setup(2);
    let other = table.tree(TreeId(8));
    assert!(Arc::ptr_eq(&tree, &table.tree(TreeId(7))));
    let _ = o[0].lock_record(&tree, b"k", Exclusive, Wait::No).unwrap();
    assert_eq!(o[1].lock_record(&other, b"k", Exclusive, Wait::No), Ok(NEW));
    assert_eq!(o[1].lock_record(&tree, b"kk", Exclusive, Wait::No), Ok(NEW));
    assert_eq!(o[1].lock_record(&tree, b"", Exclusive, Wait::No), Ok(NEW));
    assert!(other.no_gaps() && !other.no_records());
}

#[test]
fn a_waiting_writer_holds_back_later_readers() {
    let (_table, tree, o) = setup(4);
    let order = AtomicUsize::new(0);
    std::thread::scope(|s| {
        let _ = o[0].lock_record(&tree, b"k", Shared, Wait::No).unwrap();
        let w = waiting(s, &o[1], || {
            let got = o[1].lock_record(&tree, b"k", Exclusive, LONG);
            assert_eq!(order.fetch_add(1, SeqCst), 0);
            got
        });
        assert_eq!(o[2].lock_record(&tree, b"k", Shared, Wait::No), Err(LockError::WouldWait));
        assert!(o[3].record_blocked(&tree, b"k", Shared), "a writer under its latch does not barge in either");
        let r = waiting(s, &o[2], || {
            let got = o[2].lock_record(&tree, b"k", Shared, LONG);
            assert_eq!(order.fetch_add(1, SeqCst), 1);
            got
        });
        // Who holds it already is not held back.
        assert_eq!(o[0].lock_record(&tree, b"k", Shared, Wait::No).unwrap().before, Some(Shared));
        o[0].release_all();
        assert_eq!(w.join().unwrap(), waited(None));
        assert!(o[2].is_waiting());
        o[1].release_all();
        assert_eq!(r.join().unwrap(), waited(None));
    });
}

#[test]
fn giving_up_lets_those_behind_through() {
    let (_table, tree, o) = setup(3);
    std::thread::scope(|s| {
        let _ = o[0].lock_record(&tree, b"k", Shared, Wait::No).unwrap();
        // The reader has so much time to come behind it.
        let writer = waiting(s, &o[1], || o[1].lock_record(&tree, b"k", Exclusive, Wait::For(Duration::from_secs(3))));
        let reader = waiting(s, &o[2], || o[2].lock_record(&tree, b"k", Shared, LONG));
        assert_eq!(writer.join().unwrap(), Err(LockError::Timeout));
        assert_eq!(reader.join().unwrap(), waited(None));
        assert!(o[1].is_free());
    });
    assert_eq!(o[0].lock_record(&tree, b"k", Exclusive, SHORT), Err(LockError::Timeout));
    o[2].release_all();
    assert_eq!(o[0].lock_record(&tree, b"k", Exclusive, SHORT).unwrap().before, Some(Shared));
}

#[test]
fn interruption_ends_a_wait() {
    let (_table, tree, o) = setup(2);
    let _ = o[0].lock_record(&tree, b"k", Exclusive, Wait::No).unwrap();
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::scope(|s| {
        let t = waiting(s, &o[1], || {
            tx.send(gannet_runtime::context()).unwrap();
            o[1].lock_record(&tree, b"k", Shared, LONG)
        });
        rx.recv().unwrap().interrupt(gannet_runtime::Interrupt::Query);
        assert_eq!(t.join().unwrap(), Err(LockError::Killed));
    });
    assert!(!o[1].is_waiting());
}

#[test]
fn raising_goes_in_front_and_two_raises_are_a_deadlock() {
    let (table, tree, o) = setup(3);
    o[0].set_weight(5);
    o[1].set_weight(3);
    std::thread::scope(|s| {
        let _ = o[0].lock_record(&tree, b"k", Shared, Wait::No).unwrap();
        let _ = o[1].lock_record(&tree, b"k", Shared, Wait::No).unwrap();
        let stranger = waiting(s, &o[2], || o[2].lock_record(&tree, b"k", Exclusive, LONG));
        let first = waiting(s, &o[0], || o[0].lock_record(&tree, b"k", Exclusive, LONG));
        // The second raise closes the cycle and is the cheaper one.
        assert_eq!(o[1].lock_record(&tree, b"k", Exclusive, LONG), Err(LockError::Deadlock));
        assert_eq!(o[1].record_mode(&tree, b"k"), Some(Shared), "rolled back only when the caller does it");
        o[1].release_all();
        assert_eq!(first.join().unwrap(), waited(Some(Shared)));
        assert_eq!(o[0].record_mode(&tree, b"k"), Some(Exclusive));
        o[0].release_all();
        assert_eq!(stranger.join().unwrap(), waited(None));
    });
    let report = table.last_deadlock().unwrap();
    assert_eq!(report.members.len(), 2);
    let victim = report.members.iter().find(|m| m.victim).unwrap();
    assert_eq!((victim.party.thread, victim.weight), (101, 3));
    o[2].release_all();
    assert!(tree.no_records());
}

/// Three owners, each holding one key and wanting the next one's; the last to ask closes the cycle.
fn three_way(weights: [u64; 3], victim: usize) {
    let (table, tree, o) = setup(3);
    let keys = [b"a", b"b", b"c"];
    for i in 0..3 {
        o[i].set_weight(weights[i]);
        o[i].set_trx(TrxId(i as u64 + 1));
        let _ = o[i].lock_record(&tree, keys[i], Exclusive, Wait::No).unwrap();
    }
    let ask = |i: usize| {
        let got = o[i].lock_record(&tree, keys[(i + 1) % 3], Exclusive, LONG);
        o[i].release_all();
        got.is_ok()
    };
    std::thread::scope(|s| {
        let a = waiting(s, &o[0], || ask(0));
        let b = waiting(s, &o[1], || ask(1));
        let got = [ask(2), b.join().unwrap(), a.join().unwrap()];
        let want = [victim != 2, victim != 1, victim != 0];
        assert_eq!(got, want, "weights {weights:?}");
    });
    assert_eq!(table.last_deadlock().unwrap().members.len(), 3);
    assert!(table.locks(10).is_empty() && table.waits().is_empty());
}

#[test]
fn the_cheapest_member_of_a_cycle_is_the_victim() {
    three_way([1, 2, 3], 0);
    three_way([2, 1, 3], 1);
    three_way([3, 2, 1], 2);
    // All the same: the youngest transaction.
    three_way([4, 4, 4], 2);
}

#[test]
fn a_bystander_in_the_same_queue_is_not_rolled_back() {
    let (table, tree, o) = setup(3);
    // 0 holds a and b's holder is 2; 1 (cheapest) only stands in line for b.
    o[0].set_weight(10);
    o[1].set_weight(0);
    o[2].set_weight(5);
    std::thread::scope(|s| {
        let _ = o[0].lock_record(&tree, b"a", Exclusive, Wait::No).unwrap();
        let _ = o[2].lock_record(&tree, b"b", Exclusive, Wait::No).unwrap();
        let bystander = waiting(s, &o[1], || o[1].lock_record(&tree, b"b", Exclusive, LONG));
        let zero = waiting(s, &o[0], || o[0].lock_record(&tree, b"b", Exclusive, LONG));
        assert_eq!(o[2].lock_record(&tree, b"a", Exclusive, LONG), Err(LockError::Deadlock));
        assert!(o[1].is_waiting());
        o[2].release_all();
        assert_eq!(bystander.join().unwrap(), waited(None));
        o[1].release_all();
        assert_eq!(zero.join().unwrap(), waited(None));
    });
    assert_eq!(table.last_deadlock().unwrap().members.len(), 2);
}

#[test]
fn waiting_for_a_transaction() {
    let (table, tree, o) = setup(3);
    let active = AtomicBool::new(true);
    o[0].set_trx(TrxId(9));
    assert_eq!(o[1].wait_trx(TrxId(9), || false, Wait::No), Ok(()));
    assert_eq!(o[1].wait_trx(TrxId(9), || false, LONG), Ok(()));
    assert_eq!(o[1].wait_trx(TrxId(9), || true, Wait::No), Err(LockError::WouldWait));
    assert_eq!(o[1].wait_trx(TrxId(9), || true, SHORT), Err(LockError::Timeout));
    std::thread::scope(|s| {
        // In line for the row: the first waits for the stamp, the second for the first.
        let first = waiting(s, &o[1], || {
            assert_eq!(o[1].lock_record(&tree, b"k", Exclusive, LONG), Ok(NEW));
            o[1].wait_trx(TrxId(9), || active.load(SeqCst), LONG)
        });
        let second = waiting(s, &o[2], || o[2].lock_record(&tree, b"k", Exclusive, LONG));
        let waits = table.waits();
        assert_eq!(waits.len(), 2);
        assert_eq!(waits[0].waits_for, LockKind::Transaction { trx: TrxId(9), row: None });
        assert_eq!(waits[0].blockers[0].thread, 100);
        assert_eq!((waits[1].party.thread, waits[1].blockers[0].thread), (102, 101));
        active.store(false, SeqCst);
        o[0].release_all();
        assert_eq!(first.join().unwrap(), Ok(()));
        assert!(o[2].is_waiting());
        o[1].release_all();
        assert_eq!(second.join().unwrap(), waited(None));
    });
}

#[test]
fn a_deadlock_through_a_stamp() {
    let (_table, tree, o) = setup(2);
    o[0].set_trx(TrxId(1));
    o[0].set_weight(9);
    o[1].set_trx(TrxId(2));
    o[1].set_weight(1);
    std::thread::scope(|s| {
        // Both have stamped rows; 1 waits for 2's stamp, 2 then for 1's.
        let one = waiting(s, &o[0], || {
            let _ = o[0].lock_record(&tree, b"b", Exclusive, LONG).unwrap();
            o[0].wait_trx(TrxId(2), || true, LONG)
        });
        let _ = o[1].lock_record(&tree, b"a", Exclusive, LONG).unwrap();
        assert_eq!(o[1].wait_trx(TrxId(1), || true, LONG), Err(LockError::Deadlock));
        o[1].release_all();
        assert_eq!(one.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_writer_passes_who_waits_for_a_stamp_but_not_for_ever() {
    let (_table, tree, o) = setup(3);
    let active = AtomicBool::new(true);
    o[0].set_trx(TrxId(9));
    std::thread::scope(|s| {
        let begun = Instant::now();
        let front = waiting(s, &o[1], || {
            assert_eq!(o[1].lock_record(&tree, b"k", Exclusive, LONG), Ok(NEW));
            o[1].wait_stamp((&tree, b"k"), TrxId(9), || active.load(SeqCst), LONG)
        });
        let passes = !o[2].record_blocked(&tree, b"k", Exclusive);
        assert!(passes || begun.elapsed() >= Duration::from_nanos(PASS_NS), "the row is free for a writer");
        assert_eq!(o[2].lock_record(&tree, b"k", Shared, Wait::No), Err(LockError::WouldWait), "not for a locker");
        std::thread::sleep(Duration::from_nanos(PASS_NS));
        assert!(o[2].record_blocked(&tree, b"k", Exclusive), "the front has waited for long enough");
        active.store(false, SeqCst);
        o[0].release_all();
        assert_eq!(front.join().unwrap(), Ok(()));
    });
    assert!(o[2].record_blocked(&tree, b"k", Exclusive), "it runs, and relies on the row");
}

#[test]
fn who_was_given_the_row_keeps_it_when_it_runs() {
    let (_table, tree, o) = setup(3);
    let _ = o[0].lock_record(&tree, b"k", Exclusive, Wait::No).unwrap();
    std::thread::scope(|s| {
        let front = waiting(s, &o[1], || o[1].lock_record(&tree, b"k", Exclusive, LONG));
        assert!(o[2].record_blocked(&tree, b"k", Exclusive));
        o[0].release_all();
        assert_eq!(front.join().unwrap(), waited(None));
    });
    assert!(o[2].record_blocked(&tree, b"k", Exclusive));
    // Its own stamp keeps others out now, until it ends: before its locks are gone a writer may come.
    std::thread::scope(|s| {
        let next = waiting(s, &o[2], || o[2].lock_record(&tree, b"k", Exclusive, LONG));
        o[1].stamped(&tree, b"k");
        assert!(!o[0].record_blocked(&tree, b"k", Exclusive));
        // The stamp is taken back, the transaction goes on.
        o[1].keep_record(&tree, b"k");
        assert!(o[0].record_blocked(&tree, b"k", Exclusive));
        o[1].release_all();
        assert_eq!(next.join().unwrap(), waited(None));
    });
}

#[test]
fn a_deadlock_with_one_that_has_passed() {
    let (table, tree, o) = setup(4);
    let active = [9, 10].map(|_| AtomicBool::new(true));
    o[0].set_trx(TrxId(9));
    std::thread::scope(|s| {
        // 1 is at the front; 2 has a row and is in line behind it.
        let front = waiting(s, &o[1], || {
            let _ = o[1].lock_record(&tree, b"k", Exclusive, LONG).unwrap();
            o[1].wait_stamp((&tree, b"k"), TrxId(9), || active[0].load(SeqCst), LONG)?;
            // 3 came before it ran.
            o[1].wait_stamp((&tree, b"k"), TrxId(10), || active[1].load(SeqCst), LONG)
        });
        let _ = o[2].lock_record(&tree, b"q", Exclusive, Wait::No).unwrap();
        o[2].set_weight(5);
        let behind = waiting(s, &o[2], || o[2].lock_record(&tree, b"k", Exclusive, LONG));
        o[3].set_trx(TrxId(10));
        o[3].set_weight(7);
        let passed = waiting(s, &o[3], || o[3].lock_record(&tree, b"q", Exclusive, LONG));
        assert!(table.last_deadlock().is_none());
        active[0].store(false, SeqCst);
        o[0].release_all();
        // The cycle is closed when the one at the front waits for 3.
        assert_eq!(front.join().unwrap(), Err(LockError::Deadlock));
        o[1].release_all();
        assert_eq!(behind.join().unwrap(), waited(None));
        assert_eq!(o[2].wait_stamp((&tree, b"k"), TrxId(10), || true, LONG), Err(LockError::Deadlock));
        o[2].release_all();
        assert_eq!(passed.join().unwrap(), waited(None));
    });
}

#[test]
fn ends_of_transactions_are_not_missed() {
    let (_table, _tree, o) = setup(2);
    const ROUNDS: u64 = 3000;
    let active: Vec<_> = (0..ROUNDS).map(|_| AtomicBool::new(true)).collect();
    let (o0, o1) = (&o[0], &o[1]);
    std::thread::scope(|s| {
        s.spawn(|| {
            for i in 0..ROUNDS {
                o0.set_trx(TrxId(i + 1));
                active[i as usize].store(false, SeqCst);
                o0.release_all();
            }
        });
        s.spawn(|| {
            for i in 0..ROUNDS {
                assert_eq!(o1.wait_trx(TrxId(i + 1), || active[i as usize].load(SeqCst), LONG), Ok(()));
            }
        });
    });
}

#[test]
fn gaps_stop_inserts_of_others_only() {
    let (table, tree, o) = setup(3);
    assert!(tree.no_gaps());
    o[0].lock_gap(&tree, Cut::After(b"b"), Cut::Before(b"f"));
    o[1].lock_gap(&tree, Cut::After(b"d"), Cut::Max);
    assert!(!tree.no_gaps() && tree.no_records());
    let blocked = |o: &LockOwner, k: &[u8]| o.insert_blocked(&tree, k);
    assert!(!blocked(&o[2], b"b") && blocked(&o[2], b"ba") && blocked(&o[2], b"e"));
    assert!(!blocked(&o[0], b"c") && blocked(&o[1], b"c"));
    assert!(blocked(&o[0], b"e") && blocked(&o[0], b"f") && blocked(&o[0], b"zzz"));
    assert!(!blocked(&o[1], b"zzz") && !blocked(&o[1], b"f") && blocked(&o[2], b"f"));
    assert_eq!(o[2].wait_insert(&tree, b"c", Wait::No), Err(LockError::WouldWait));
    assert_eq!(o[2].wait_insert(&tree, b"c", SHORT), Err(LockError::Timeout));
    assert_eq!(o[2].wait_insert(&tree, b"a", Wait::No), Ok(()));
    std::thread::scope(|s| {
        let t = waiting(s, &o[2], || o[2].wait_insert(&tree, b"e", LONG));
        assert_eq!(table.waits()[0].blockers.len(), 2);
        o[0].release_all();
        assert!(o[2].is_waiting(), "two have it");
        o[1].release_gaps();
        assert_eq!(t.join().unwrap(), Ok(()));
    });
    assert!(tree.no_gaps());
    // An empty interval locks nothing.
    o[0].lock_gap(&tree, Cut::After(b"x"), Cut::Before(b"a"));
    assert!(tree.no_gaps() && o[0].is_free());
}

#[test]
fn adjacent_gaps_become_one() {
    let (table, tree, o) = setup(1);
    let key = |i: u32| i.to_be_bytes();
    for i in (0..1000).chain((1500..2000).rev()) {
        o[0].lock_gap(&tree, Cut::After(&key(i)), Cut::After(&key(i + 1)));
    }
    assert_eq!(table.locks(100).len(), 2);
    o[0].lock_gap(&tree, Cut::Before(&key(900)), Cut::Before(&key(1600)));
    let kind =
        LockKind::Gap { tree: TreeId(7), low: Some((key(0).to_vec(), true)), high: Some((key(2000).to_vec(), true)) };
    assert_eq!(table.locks(100).into_iter().map(|l| l.kind).collect::<Vec<_>>(), [kind]);
    o[0].lock_gap(&tree, Cut::Min, Cut::Max);
    assert_eq!(table.locks(100).len(), 1);
}

#[test]
fn the_insert_insert_deadlock_of_next_key_locks() {
    // Both lock the same gap, then both insert into it: InnoDB's classic.
    let (_table, tree, o) = setup(2);
    o[0].set_weight(2);
    std::thread::scope(|s| {
        for o in &o {
            o.lock_gap(&tree, Cut::Min, Cut::Max);
        }
        let zero = waiting(s, &o[0], || o[0].wait_insert(&tree, b"5", LONG));
        assert_eq!(o[1].wait_insert(&tree, b"6", LONG), Err(LockError::Deadlock));
        o[1].release_all();
        assert_eq!(zero.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_gap_taken_while_an_insert_waits_counts_for_deadlocks() {
    let (_table, tree, o) = setup(3);
    o[0].set_weight(2);
    o[2].set_weight(9);
    std::thread::scope(|s| {
        let _ = o[0].lock_record(&tree, b"k", Exclusive, Wait::No).unwrap();
        o[1].lock_gap(&tree, Cut::Min, Cut::Max);
        let zero = waiting(s, &o[0], || o[0].wait_insert(&tree, b"5", LONG));
        // The first holder of the gap goes; another came meanwhile, which then waits for 0.
        o[2].lock_gap(&tree, Cut::Min, Cut::Max);
        let two = s.spawn(|| o[2].lock_record(&tree, b"k", Exclusive, LONG));
        assert_eq!(zero.join().unwrap(), Err(LockError::Deadlock));
        o[0].release_all();
        assert_eq!(two.join().unwrap(), waited(None));
    });
}

#[test]
fn unlocking_goes_back_to_what_was_held_before() {
    let (_table, tree, o) = setup(2);
    let s = o[0].lock_record(&tree, b"k", Shared, Wait::No).unwrap();
    let x = o[0].lock_record(&tree, b"k", Exclusive, Wait::No).unwrap();
    o[0].unlock_record(&tree, b"k", x.before);
    assert_eq!(o[0].record_mode(&tree, b"k"), Some(Shared));
    assert_eq!(o[1].lock_record(&tree, b"k", Shared, Wait::No), Ok(NEW));
    o[0].unlock_record(&tree, b"k", s.before);
    assert!(o[0].is_free());
    o[0].unlock_record(&tree, b"k", None);
    o[0].unlock_record(&tree, b"none", None);
    std::thread::scope(|scope| {
        let t = waiting(scope, &o[0], || o[0].lock_record(&tree, b"k", Exclusive, LONG));
        o[1].unlock_record(&tree, b"k", None);
        assert_eq!(t.join().unwrap(), waited(None));
    });
    o[0].release_all();
    assert!(tree.no_records());
}

#[test]
fn a_kept_record_stays_locked_without_its_stamp() {
    let (_table, tree, o) = setup(2);
    o[0].keep_record(&tree, b"k");
    o[0].keep_record(&tree, b"k");
    assert_eq!(o[1].lock_record(&tree, b"k", Shared, Wait::No), Err(LockError::WouldWait));
    assert_eq!(o[0].record_count(), 1);
    o[0].release_all();
    assert!(tree.no_records());
}

#[test]
fn a_stamp_takes_the_place_of_a_lock_nobody_waits_for() {
    let (table, tree, o) = setup(2);
    o[0].stamped(&tree, b"a");
    for key in [b"a", b"b", b"c"] {
        let _ = o[0].lock_record(&tree, key, Exclusive, Wait::No).unwrap();
    }
    o[0].stamped(&tree, b"b");
    o[0].stamped(&tree, b"b");
    assert_eq!((o[0].record_count(), o[0].record_mode(&tree, b"b")), (2, None));
    // Shared with another: only the own part goes.
    let _ = o[0].lock_record(&tree, b"s", Shared, Wait::No).unwrap();
    let _ = o[1].lock_record(&tree, b"s", Shared, Wait::No).unwrap();
    o[0].stamped(&tree, b"s");
    assert_eq!((o[0].record_mode(&tree, b"s"), o[1].record_mode(&tree, b"s")), (None, Some(Shared)));
    // Somebody waits: it stays.
    std::thread::scope(|s| {
        let waiter = waiting(s, &o[1], || o[1].lock_record(&tree, b"c", Exclusive, LONG));
        o[0].stamped(&tree, b"c");
        assert!(o[1].is_waiting());
        o[0].release_all();
        assert_eq!(waiter.join().unwrap(), waited(None));
    });
    o[1].release_all();
    assert!(tree.no_records() && table.locks(10).is_empty());
}

#[test]
fn a_hot_row_is_handed_over_one_by_one() {
    const WAITERS: usize = 200;
    let (_table, tree, o) = setup(WAITERS + 1);
    let inside = AtomicUsize::new(0);
    let turns = AtomicUsize::new(0);
    let _ = o[0].lock_record(&tree, b"hot", Exclusive, Wait::No).unwrap();
    std::thread::scope(|s| {
        for o in &o[1..] {
            let (tree, inside, turns) = (&tree, &inside, &turns);
            s.spawn(move || {
                assert_eq!(o.lock_record(tree, b"hot", Exclusive, LONG).unwrap().before, None);
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                turns.fetch_add(1, SeqCst);
                inside.fetch_sub(1, SeqCst);
                o.release_all();
            });
        }
        until(|| o[1..].iter().all(|o| o.is_waiting()));
        o[0].release_all();
    });
    assert_eq!(turns.load(SeqCst), WAITERS);
    assert!(tree.no_records());
}

/// A line of many, each of which holds something that another waits for, so that each has to look for a cycle.
#[test]
fn the_length_of_a_line_costs_a_search_nothing() {
    const WAITERS: usize = 250;
    let (table, tree, o) = setup(2 * WAITERS + 1);
    let (holder, rest) = o.split_first().unwrap();
    let (line, behind) = rest.split_at(WAITERS);
    let _ = holder.lock_record(&tree, b"hot", Exclusive, Wait::No).unwrap();
    let turns = AtomicUsize::new(0);
    std::thread::scope(|s| {
        let (tree, turns) = (&tree, &turns);
        waited_for(s, tree, line, behind);
        for o in line {
            s.spawn(move || {
                match o.lock_record(tree, b"hot", Exclusive, LONG) {
                    Ok(_) => _ = turns.fetch_add(1, SeqCst),
                    Err(e) => assert_eq!(e, LockError::Deadlock),
                }
                o.release_all();
            });
        }
        until(|| table.waiting().len() == 2 * WAITERS);
        // One edge each: to the holder.
        assert!(table.graph.steps() <= 2 * WAITERS as u64, "{} steps", table.graph.steps());
        // A cycle through the end of the line is found as cheaply, and nobody else is rolled back.
        holder.set_weight(5);
        let before = table.graph.steps();
        assert_eq!(holder.lock_record(tree, &row_of(WAITERS - 1), Exclusive, LONG), waited(None));
        assert!(table.graph.steps() - before <= 4, "{} steps", table.graph.steps() - before);
        assert_eq!(table.last_deadlock().unwrap().members.len(), 2);
        holder.release_all();
    });
    assert_eq!(turns.load(SeqCst), WAITERS - 1);
}

#[test]
fn who_shares_behind_an_exclusive_request_waits_because_of_it() {
    for victim in 0..3 {
        let (table, tree, o) = setup(3);
        (0..3).for_each(|i| o[i].set_weight(if i == victim { 1 } else { 9 }));
        std::thread::scope(|s| {
            let _ = o[0].lock_record(&tree, b"a", Shared, Wait::No).unwrap();
            let _ = o[2].lock_record(&tree, b"b", Exclusive, Wait::No).unwrap();
            let between = waiting(s, &o[1], || o[1].lock_record(&tree, b"a", Exclusive, LONG));
            let last = waiting(s, &o[2], || o[2].lock_record(&tree, b"a", Shared, LONG));
            let first = s.spawn(|| o[0].lock_record(&tree, b"b", Exclusive, LONG));
            let mut waits = [Some(first), Some(between), Some(last)];
            assert_eq!(waits[victim].take().unwrap().join().unwrap(), Err(LockError::Deadlock));
            o[victim].release_all();
            // The others go on, each when the one before it ends.
            for i in [2, 0, 1] {
                if let Some(t) = waits[i].take() {
                    if i == 2 && victim == 0 {
                        // In line behind the second.
                        assert_eq!(waits[1].take().unwrap().join().unwrap(), waited(None));
                        o[1].release_all();
                    }
                    assert_eq!(t.join().unwrap(), waited(None));
                    o[i].release_all();
                }
            }
        });
        assert_eq!(table.last_deadlock().unwrap().members.len(), 3);
        assert!(tree.no_records() && table.waits().is_empty());
    }
}

/// Many want one record, in both modes, and some give up: nobody is forgotten.
#[test]
fn a_line_whose_members_give_up_goes_on() {
    const THREADS: usize = 24;
    let (table, tree, o) = setup(THREADS);
    let inside = AtomicU64::new(0);
    let (got, gave_up) = (AtomicUsize::new(0), AtomicUsize::new(0));
    const X: u64 = 1 << 32;
    std::thread::scope(|s| {
        for (t, o) in o.iter().enumerate() {
            let (tree, inside, got, gave_up) = (&tree, &inside, &got, &gave_up);
            s.spawn(move || {
                for round in 0..200 {
                    let (mode, add) = if (t + round) % 3 == 0 { (Shared, 1) } else { (Exclusive, X) };
                    let patience = if (t * 7 + round) % 5 == 0 { Wait::For(Duration::from_micros(200)) } else { LONG };
                    match o.lock_record(tree, b"hot", mode, patience) {
                        Ok(_) => {
                            let before = inside.fetch_add(add, SeqCst);
                            assert!(if add == X { before == 0 } else { before < X }, "{before:x}");
                            if round % 16 == 0 {
                                std::thread::sleep(Duration::from_micros(50));
                            }
                            inside.fetch_sub(add, SeqCst);
                            got.fetch_add(1, SeqCst);
                        }
                        Err(LockError::Timeout) if patience != LONG => _ = gave_up.fetch_add(1, SeqCst),
                        Err(e) => panic!("{e}"),
                    }
                    o.release_all();
                }
            });
        }
    });
    assert_eq!(got.load(SeqCst) + gave_up.load(SeqCst), THREADS * 200);
    assert!(tree.no_records() && table.locks(10).is_empty() && table.waits().is_empty());
}

#[test]
fn random_transactions_of_many_threads() {
    const THREADS: usize = 8;
    const KEYS: usize = 6;
    let (table, tree, o) = setup(THREADS);
    // Who is inside: exclusive sets the high part, shared counts in the low part.
    let state: Vec<_> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let (deadlocks, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // One processor would run them one after the other: they begin together, and give it away while they hold locks.
    let (begin, began) = (std::sync::Barrier::new(THREADS), Instant::now());
    const X: u64 = 1 << 32;
    std::thread::scope(|s| {
        for (t, o) in o.iter().enumerate() {
            let (tree, state, deadlocks, done, table, begin) = (&tree, &state, &deadlocks, &done, &table, &begin);
            s.spawn(move || {
                begin.wait();
                let mut seed = t as u64 + 1;
                let mut random = move |n: usize| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (seed >> 33) as usize % n
                };
                let met = || deadlocks.load(SeqCst) > 0 || began.elapsed() > Duration::from_secs(60);
                for round in (0u64..).take_while(|round| *round < 1500 || !met()) {
                    let mut mine: [Option<Mode>; KEYS] = [None; KEYS];
                    o.set_trx(TrxId(round * THREADS as u64 + t as u64 + 1));
                    let mut ok = true;
                    for step in 0..random(4) + 1 {
                        o.set_weight(step as u64);
                        let k = random(KEYS);
                        let mode = if random(2) == 0 { Shared } else { Exclusive };
                        let wait = if random(8) == 0 { Wait::No } else { LONG };
                        match o.lock_record(tree, &[k as u8], mode, wait) {
                            Ok(got) => {
                                assert_eq!(got.before, mine[k]);
                                let now = mine[k].max(Some(mode));
                                if now != mine[k] {
                                    if mine[k] == Some(Shared) {
                                        state[k].fetch_sub(1, SeqCst);
                                    }
                                    let add = if now == Some(Exclusive) { X } else { 1 };
                                    let before = state[k].fetch_add(add, SeqCst);
                                    assert!(if add == X { before == 0 } else { before < X }, "{before:x}");
                                    mine[k] = now;
                                }
                                if random(8) == 0 {
                                    std::thread::yield_now();
                                }
                            }
                            Err(LockError::WouldWait) => {}
                            Err(LockError::Deadlock) => {
                                deadlocks.fetch_add(1, SeqCst);
                                ok = false;
                                break;
                            }
                            Err(e) => panic!("{e}: {:#?}", (table.waits(), table.locks(100))),
                        }
                    }
                    for (k, m) in mine.iter().enumerate() {
                        match m {
                            Some(Shared) => _ = state[k].fetch_sub(1, SeqCst),
                            Some(Exclusive) => _ = state[k].fetch_sub(X, SeqCst),
                            None => {}
                        }
                    }
                    o.release_all();
                    done.fetch_add(ok as usize, SeqCst);
                }
            });
        }
    });
    assert!(done.load(SeqCst) > 0 && deadlocks.load(SeqCst) > 0);
    assert!(tree.no_records() && table.locks(10).is_empty() && table.waits().is_empty());
}
