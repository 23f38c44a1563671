//! The locks of one tree.

use gannet_base::TreeId;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, SeqCst},
};

use crate::gaps::GapSet;
use crate::ranges::RangeSet;

/// The counters of explicit locks of one tree. They are kept in the tree's handle, so that a writer needs one load to
/// see that there are none.
pub struct TreeLocks {
    id: TreeId,
    /// Record locks held or waited for, and owners of intervals of rows. Raised before a lock is entered, lowered
    /// after it is gone.
    pub(crate) records: AtomicUsize,
    /// Gap intervals. Raised before an interval is entered.
    pub(crate) gaps: AtomicUsize,
    pub(crate) gap_set: Mutex<GapSet>,
    /// Owners of intervals of rows. Written under the lock of the set.
    pub(crate) ranges: AtomicUsize,
    pub(crate) range_set: Mutex<RangeSet>,
}

/// Orders a writer's latching of the leaf before its load of a counter.
///
/// The writer latches (a read-modify-write), then loads the counter. The locker raises the counter (a
/// read-modify-write), then reads the leaf. One of them must see the other, which needs full barriers on both sides.
/// On x86 a read-modify-write is a full barrier.
#[inline(always)]
fn after_latch() {
    #[cfg(target_arch = "x86_64")]
    gannet_base::sync::atomic::compiler_fence(SeqCst);
    #[cfg(not(target_arch = "x86_64"))]
    gannet_base::sync::atomic::fence(SeqCst);
}

/// The locker's side of [`after_latch`].
#[inline(always)]
pub(crate) fn after_counter() {
    gannet_base::sync::atomic::fence(SeqCst);
}

impl TreeLocks {
    pub(crate) fn new(id: TreeId) -> TreeLocks {
        TreeLocks {
            id,
            records: AtomicUsize::new(0),
            gaps: AtomicUsize::new(0),
            gap_set: Mutex::new(GapSet::default()),
            ranges: AtomicUsize::new(0),
            range_set: Mutex::new(RangeSet::default()),
        }
    }

    /// The tree.
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// True when no record lock exists or is waited for in this tree. One load. Callers hold the leaf's exclusive
    /// latch, because a locker raises the counter before it reads the row.
    #[inline]
    pub fn no_records(&self) -> bool {
        after_latch();
        self.records.load(Acquire) == 0
    }

    /// Asks the processor for the counters.
    #[inline]
    pub fn approach(&self) {
        gannet_base::prefetch(&self.records, 0..8);
        gannet_base::prefetch(&self.gaps, 0..8);
    }

    /// True when no gap of this tree is locked. One load, under the leaf's exclusive latch.
    #[inline]
    pub fn no_gaps(&self) -> bool {
        after_latch();
        self.gaps.load(Acquire) == 0
    }
}
