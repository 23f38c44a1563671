//! Intervals of locked rows.

use std::time::Duration;

use gannet_base::TreeId;
use gannet_base::sync::Arc;

use crate::tree::TreeLocks;
use crate::{Cut, LockError, LockKind, LockOwner, LockTable, Mode, Wait};

const LONG: Wait = Wait::For(Duration::from_secs(30));

fn setup() -> (Arc<LockTable>, Arc<TreeLocks>, [LockOwner; 3]) {
    let table = LockTable::new();
    let tree = table.tree(TreeId(7));
    let owners = [1, 2, 3].map(|i| table.owner(i));
    (table, tree, owners)
}

/// As a scan does: each row locked, then folded together with the one before.
fn scan(o: &LockOwner, tree: &Arc<TreeLocks>, keys: std::ops::Range<u8>, mode: Mode) {
    for k in keys.clone() {
        let _ = o.lock_record(tree, &[k], mode, Wait::No).unwrap();
        let last = if k == keys.start { k } else { k - 1 };
        o.fold_record(tree, &[k], mode, (Cut::Before(&[last]), Cut::After(&[k])));
    }
}

#[test]
fn a_scan_is_one_interval() {
    let (table, tree, [a, b, _]) = setup();
    scan(&a, &tree, 10..200, Mode::Exclusive);
    let kind = LockKind::Rows {
        tree: TreeId(7),
        low: Some((vec![10], false)),
        high: Some((vec![199], true)),
        mode: Mode::Exclusive,
    };
    assert_eq!(table.locks(10).into_iter().map(|l| l.kind).collect::<Vec<_>>(), [kind]);
    assert_eq!((a.record_count(), table.standings()[0].records), (0, 190));
    for (key, blocked) in [(9, false), (10, true), (77, true), (199, true), (200, false)] {
        assert_eq!(b.row_blocked(&tree, &[key], Mode::Shared), blocked, "{key}");
        assert!(!a.row_blocked(&tree, &[key], Mode::Exclusive));
        // Where there is no row, nothing is locked.
        assert!(!b.record_blocked(&tree, &[key], Mode::Exclusive));
    }
    assert!(!tree.no_records() && !tree.no_ranges() && !a.is_free());
    a.release_all();
    assert!(tree.no_records() && tree.no_ranges() && a.is_free() && table.locks(10).is_empty());
}

#[test]
fn who_wants_a_row_waits_for_it() {
    let (table, tree, [a, b, c]) = setup();
    scan(&a, &tree, 0..50, Mode::Exclusive);
    assert_eq!(b.lock_record(&tree, &[7], Mode::Shared, Wait::No), Err(LockError::WouldWait));
    assert_eq!(a.record_mode(&tree, &[7]), Some(Mode::Exclusive));
    std::thread::scope(|s| {
        let waits = s.spawn(|| b.lock_record(&tree, &[7], Mode::Exclusive, LONG).unwrap());
        while table.waits().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(table.waits()[0].blockers.len(), 1);
        // The owner itself does not notice.
        assert_eq!(a.lock_record(&tree, &[7], Mode::Exclusive, Wait::No).unwrap().before, Some(Mode::Exclusive));
        assert_eq!(a.lock_record(&tree, &[8], Mode::Shared, Wait::No).unwrap().before, Some(Mode::Exclusive));
        a.release_all();
        assert!(waits.join().unwrap().waited);
    });
    assert!(c.row_blocked(&tree, &[7], Mode::Shared) && !c.row_blocked(&tree, &[8], Mode::Exclusive));
    b.release_all();
    assert!(tree.no_records() && table.locks(10).is_empty());
}

#[test]
fn shared_intervals_go_together_and_can_be_raised() {
    let (table, tree, [a, b, c]) = setup();
    scan(&a, &tree, 0..50, Mode::Shared);
    scan(&b, &tree, 25..75, Mode::Shared);
    assert!(a.row_blocked(&tree, &[30], Mode::Exclusive) && !a.row_blocked(&tree, &[20], Mode::Exclusive));
    assert!(!c.row_blocked(&tree, &[30], Mode::Shared));
    let _ = c.lock_record(&tree, &[30], Mode::Shared, Wait::No).unwrap();
    // Nobody's lock had to be made explicit for that.
    assert_eq!((a.record_count(), b.record_count(), c.record_count()), (0, 0, 1));
    assert_eq!(a.lock_record(&tree, &[20], Mode::Exclusive, Wait::No).unwrap().before, Some(Mode::Shared));
    a.unlock_record(&tree, &[20], Some(Mode::Shared));
    assert_eq!(a.record_mode(&tree, &[20]), Some(Mode::Shared));
    std::thread::scope(|s| {
        let raise = s.spawn(|| a.lock_record(&tree, &[30], Mode::Exclusive, LONG).unwrap());
        while !a.is_waiting() {
            std::thread::yield_now();
        }
        assert!(c.row_blocked(&tree, &[30], Mode::Exclusive));
        c.release_all();
        assert!(a.is_waiting(), "the interval of the other still shares the row");
        b.release_all();
        assert_eq!(raise.join().unwrap().before, Some(Mode::Shared));
    });
    a.release_all();
    assert!(tree.no_records() && tree.no_ranges() && table.locks(10).is_empty());
}

#[test]
fn a_deadlock_through_intervals() {
    let (table, tree, [a, b, _]) = setup();
    scan(&a, &tree, 0..20, Mode::Exclusive);
    scan(&b, &tree, 20..40, Mode::Exclusive);
    a.set_weight(9);
    std::thread::scope(|s| {
        let waits = s.spawn(|| a.lock_record(&tree, &[33], Mode::Exclusive, LONG));
        while !a.is_waiting() {
            std::thread::yield_now();
        }
        assert_eq!(b.lock_record(&tree, &[3], Mode::Shared, LONG), Err(LockError::Deadlock));
        b.release_all();
        assert!(waits.join().unwrap().is_ok());
    });
    a.release_all();
    assert!(tree.no_records() && table.locks(10).is_empty());
}

#[test]
fn a_row_somebody_waits_for_is_not_folded() {
    let (table, tree, [a, b, _]) = setup();
    let _ = a.lock_record(&tree, b"k", Mode::Exclusive, Wait::No).unwrap();
    std::thread::scope(|s| {
        let waits = s.spawn(|| b.lock_record(&tree, b"k", Mode::Exclusive, LONG).unwrap());
        while table.waits().is_empty() {
            std::thread::yield_now();
        }
        a.fold_record(&tree, b"k", Mode::Exclusive, (Cut::Before(b"k"), Cut::After(b"k")));
        assert!(tree.no_ranges() && a.record_count() == 1);
        a.release_all();
        assert!(waits.join().unwrap().waited);
    });
    b.release_all();
    assert!(tree.no_records());
}

#[test]
fn who_does_not_wait_leaves_intervals_as_they_are() {
    let (table, tree, [a, b, _]) = setup();
    scan(&a, &tree, 0..50, Mode::Exclusive);
    for key in [0, 7, 49] {
        assert_eq!(b.lock_record(&tree, &[key], Mode::Shared, Wait::No), Err(LockError::WouldWait));
    }
    assert_eq!((table.locks(10).len(), a.record_count()), (1, 0));
    assert!(b.lock_record(&tree, &[50], Mode::Shared, Wait::No).is_ok());
    a.release_all();
    b.release_all();
    assert!(tree.no_records() && tree.no_ranges() && table.locks(10).is_empty());
}

/// As a scan at READ COMMITTED does: each row locked; then all of them folded into a set.
fn lock_all(o: &LockOwner, tree: &Arc<TreeLocks>, keys: impl Iterator<Item = u8>, mode: Mode) {
    keys.for_each(|k| _ = o.lock_record(tree, &[k], mode, Wait::No).unwrap());
    o.fold_keys(0);
}

#[test]
fn a_set_locks_its_keys_and_no_others() {
    let (table, tree, [a, b, _]) = setup();
    lock_all(&a, &tree, (10..200).step_by(2), Mode::Exclusive);
    assert_eq!((a.record_count(), table.standings()[0].records), (0, 95));
    assert_eq!(table.locks(1000).len(), 95);
    assert!(!tree.no_records() && !tree.no_ranges() && !a.is_free());
    for key in 0..=255 {
        let locked = (10..200).contains(&key) && key % 2 == 0;
        for mode in [Mode::Shared, Mode::Exclusive] {
            // With a row or without.
            assert_eq!(b.row_blocked(&tree, &[key], mode), locked, "{key}");
            assert_eq!(b.record_blocked(&tree, &[key], mode), locked, "{key}");
            assert!(!a.row_blocked(&tree, &[key], mode) && !a.record_blocked(&tree, &[key], mode));
        }
        match b.lock_record(&tree, &[key], Mode::Shared, Wait::No) {
            Ok(granted) => b.unlock_record(&tree, &[key], granted.before),
            Err(e) => assert!(locked && e == LockError::WouldWait),
        }
        assert_eq!(a.record_mode(&tree, &[key]), locked.then_some(Mode::Exclusive));
    }
    std::thread::scope(|s| {
        let waits = s.spawn(|| b.lock_record(&tree, &[20], Mode::Exclusive, LONG).unwrap());
        while table.waits().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(table.waits()[0].blockers.len(), 1);
        // Nobody that somebody waits for is folded again.
        a.fold_keys(0);
        assert_eq!(a.record_count(), 1);
        a.release_all();
        assert!(waits.join().unwrap().waited);
    });
    b.release_all();
    assert!(tree.no_records() && tree.no_ranges() && table.locks(10).is_empty());
}

#[test]
fn a_lock_can_be_given_back_when_it_is_folded() {
    let (table, tree, [a, b, c]) = setup();
    lock_all(&a, &tree, 0..50, Mode::Shared);
    let granted = a.lock_record(&tree, &[7], Mode::Exclusive, Wait::No).unwrap();
    assert_eq!(granted.before, Some(Mode::Shared));
    a.fold_keys(0);
    assert_eq!(a.record_mode(&tree, &[7]), Some(Mode::Exclusive));
    a.unlock_record(&tree, &[7], granted.before);
    assert_eq!(a.record_mode(&tree, &[7]), Some(Mode::Shared));
    let _ = b.lock_record(&tree, &[7], Mode::Shared, Wait::No).unwrap();
    a.unlock_record(&tree, &[8], None);
    let _ = c.lock_record(&tree, &[8], Mode::Exclusive, Wait::No).unwrap();
    // In its queue and in the set: somebody came while it was folded.
    std::thread::scope(|s| {
        let waits = s.spawn(|| c.lock_record(&tree, &[9], Mode::Exclusive, LONG).unwrap());
        while !c.is_waiting() {
            std::thread::yield_now();
        }
        a.unlock_record(&tree, &[9], None);
        assert!(waits.join().unwrap().waited);
    });
    assert_eq!(a.record_mode(&tree, &[9]), None);
    [&a, &b, &c].iter().for_each(|o| _ = o.release_all());
    assert!(tree.no_records() && tree.no_ranges() && table.locks(10).is_empty());
}

#[test]
fn many_locks_take_little_memory() {
    let (table, tree, [a, b, _]) = setup();
    let memory = |table: &LockTable| table.standings()[0].bytes;
    for k in 0..100_000u32 {
        let _ = a.lock_record(&tree, &k.to_be_bytes(), Mode::Exclusive, Wait::No).unwrap();
        if k % 1000 == 999 {
            a.stamped(&tree, &(k - 500).to_be_bytes());
        }
    }
    assert!(a.record_count() < 10_000 && table.standings()[0].records == 99_900, "{}", a.record_count());
    assert!(memory(&table) < 2_000_000, "{}", memory(&table));
    assert!(b.row_blocked(&tree, &4711u32.to_be_bytes(), Mode::Shared));
    a.release_all();
    assert!(tree.no_records() && tree.no_ranges() && table.locks(10).is_empty());
}

#[test]
fn who_comes_while_locks_are_folded_waits() {
    let (_table, tree, [a, b, c]) = setup();
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let visit = |o: &LockOwner, key: u8| {
        let _ = o.lock_record(&tree, &[key], Mode::Exclusive, LONG).unwrap();
        assert_eq!(inside.fetch_or(1 << (key % 8), std::sync::atomic::Ordering::SeqCst) >> (key % 8) & 1, 0);
        o.fold_keys(0);
        inside.fetch_and(!(1 << (key % 8)), std::sync::atomic::Ordering::SeqCst);
    };
    std::thread::scope(|s| {
        for o in [&a, &b, &c] {
            s.spawn(move || {
                for _ in 0..300 {
                    (0..8).for_each(|key| visit(o, key));
                    o.release_all();
                }
            });
        }
    });
    assert!(tree.no_records() && tree.no_ranges());
}
