//! Rows that a scan has locked one after the other: one interval in place of a lock for each.
//!
//! A scan at REPEATABLE READ locks each row and the gaps between, so that all rows of an interval are locked by it and no row can come
//! into it. After the first few, each row's lock is folded into such an interval. Somebody who wants one of the rows makes its owner's lock an
//! explicit one again and stands in line for that: queues, waits and deadlocks know nothing of intervals.
//!
//! INV-LOCK-6: a row is folded, and made explicit, under its shard's lock. So whoever looks at the queue and then, under that lock, at
//! the intervals misses neither. An owner gives its intervals up before it looks what else it holds: nobody can make a lock of it
//! explicit afterwards.
//! INV-LOCK-7: only rows that exist are locked by an interval. A key at which there is none is not, though it may lie in one: who asks
//! for a lock there has seen a row, or looks before it asks.

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};

use crate::intervals::{Intervals, OwnedCut};
use crate::owner::Owner;
use crate::table::TreeLocks;
use crate::{Cut, Mode};

/// The intervals of one tree.
#[derive(Default)]
pub(crate) struct RangeSet {
    shared: Intervals,
    exclusive: Intervals,
}

impl RangeSet {
    fn mode(&mut self, mode: Mode) -> &mut Intervals {
        match mode {
            Mode::Shared => &mut self.shared,
            Mode::Exclusive => &mut self.exclusive,
        }
    }

    /// True if the owner had none.
    pub(crate) fn add(&mut self, owner: &Arc<Owner>, mode: Mode, low: Cut<'_>, high: Cut<'_>) -> bool {
        let first = !self.shared.has(owner) && !self.exclusive.has(owner);
        self.mode(mode).add(owner, low, high);
        first
    }

    /// What the owner holds of the row.
    pub(crate) fn own(&self, owner: &Arc<Owner>, key: &[u8]) -> Option<Mode> {
        let has = |intervals: &Intervals| {
            let mut found = false;
            intervals.over(key, |o| {
                found = Arc::ptr_eq(o, owner);
                !found
            });
            found
        };
        if has(&self.exclusive) {
            return Some(Mode::Exclusive);
        }
        has(&self.shared).then_some(Mode::Shared)
    }

    /// Calls `f` for all others that hold the row so that `mode` conflicts, until it returns false.
    pub(crate) fn conflicting(
        &self,
        owner: &Arc<Owner>,
        key: &[u8],
        mode: Mode,
        mut f: impl FnMut(&Arc<Owner>, Mode) -> bool,
    ) {
        for (intervals, held) in [(&self.exclusive, Mode::Exclusive), (&self.shared, Mode::Shared)] {
            let mut more = true;
            if held.conflicts(mode) {
                intervals.over(key, |o| {
                    more = Arc::ptr_eq(o, owner) || f(o, held);
                    more
                });
            }
            if !more {
                return;
            }
        }
    }

    /// Intervals with their modes and owners, for introspection.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (&OwnedCut, &OwnedCut, &Arc<Owner>, Mode)> {
        let exclusive = self.exclusive.iter().map(|(low, high, o)| (low, high, o, Mode::Exclusive));
        exclusive.chain(self.shared.iter().map(|(low, high, o)| (low, high, o, Mode::Shared)))
    }
}

impl TreeLocks {
    /// True when no rows of this tree are locked by an interval. Where some are, look whether a row exists before asking for its lock.
    #[inline]
    pub fn no_ranges(&self) -> bool {
        self.ranges.load(Acquire) == 0
    }

    pub(crate) fn release_ranges(&self, owner: &Owner) {
        let mut set = self.range_set.lock();
        let (shared, exclusive) = (set.shared.remove(owner), set.exclusive.remove(owner));
        if shared || exclusive {
            self.ranges.fetch_sub(1, SeqCst);
            self.records.fetch_sub(1, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gannet_base::TreeId;

    use super::*;
    use crate::{LockError, LockKind, LockOwner, LockTable, Wait};

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
            while !b.is_waiting() {
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
        let (_table, tree, [a, b, _]) = setup();
        let _ = a.lock_record(&tree, b"k", Mode::Exclusive, Wait::No).unwrap();
        std::thread::scope(|s| {
            let waits = s.spawn(|| b.lock_record(&tree, b"k", Mode::Exclusive, LONG).unwrap());
            while !b.is_waiting() {
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
}
