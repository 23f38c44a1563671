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
