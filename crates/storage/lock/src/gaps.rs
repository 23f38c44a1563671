//! Gap locks: intervals of a tree's key space that other owners may not insert into.
//!
//! They never conflict with each other; an insert waits until no other owner's interval is over its key.

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Relaxed, SeqCst};
use gannet_telemetry::Wait as WaitEvent;

use crate::intervals::{Intervals, OwnedCut};
use crate::owner::{Edge, Owner, Pending, Target};
use crate::tree::{TreeLocks, after_counter};
use crate::{Cut, LockError, LockOwner, Wait};

/// The gap locks of one tree.
#[derive(Default)]
pub(crate) struct GapSet {
    locked: Intervals,
    waiting: Vec<(Pending, Arc<[u8]>)>,
}

impl GapSet {
    /// Adds an interval. True if the owner had none.
    fn add(&mut self, owner: &Arc<Owner>, low: Cut<'_>, high: Cut<'_>) -> bool {
        if self.waiting.iter().any(|(w, _)| !Arc::ptr_eq(&w.owner, owner)) {
            // An owner that waits for one of them may now wait for this owner too.
            owner.blocks.store(true, Relaxed);
        }
        self.locked.add(owner, low, high)
    }

    fn blocked(&self, owner: &Arc<Owner>, key: &[u8]) -> bool {
        let mut blocked = false;
        self.locked.over(key, |o| {
            blocked = !Arc::ptr_eq(o, owner);
            !blocked
        });
        blocked
    }

    /// A fault, for tests: the owner's intervals go, and nobody is told.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, owner: &Owner) {
        self.locked.remove(owner);
    }

    /// Intervals with their owners, for introspection.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (&OwnedCut, &OwnedCut, &Arc<Owner>)> {
        self.locked.iter()
    }
}

impl TreeLocks {
    pub(crate) fn release_gaps(&self, owner: &Arc<Owner>, granted: &mut Vec<Arc<Owner>>) {
        let mut set = self.gap_set.lock();
        if !set.locked.remove(owner) {
            return;
        }
        self.gaps.fetch_sub(1, SeqCst);
        let mut waiting = std::mem::take(&mut set.waiting);
        waiting.retain(|(wait, key)| {
            let free = !set.blocked(&wait.owner, key);
            if free && wait.grant() {
                granted.push(wait.owner.clone());
            }
            !free
        });
        set.waiting = waiting;
    }

    pub(crate) fn insert_blockers(&self, owner: &Arc<Owner>, key: &[u8], out: &mut Vec<Edge>) {
        self.gap_set.lock().locked.over(key, |o| {
            if !Arc::ptr_eq(o, owner) {
                out.push(Edge { to: o.clone(), via: None });
            }
            true
        });
    }
}

impl LockOwner {
    /// Locks the interval `[low, high)` of cuts against inserts by other owners. Never waits. The caller locks first
    /// and reads the interval (again) afterwards.
    pub fn lock_gap(&self, tree: &Arc<TreeLocks>, low: Cut<'_>, high: Cut<'_>) {
        if OwnedCut::new(low).cmp_cut(high).is_ge() {
            return;
        }
        tree.gaps.fetch_add(1, SeqCst);
        let first = tree.gap_set.lock().add(&self.inner, low, high);
        if first {
            self.inner.hold().gaps.push(tree.clone());
            after_counter();
        } else {
            // The tree's counter has this owner already.
            tree.gaps.fetch_sub(1, SeqCst);
        }
    }

    /// Whether this owner would have to wait for another owner's gap before it inserts `key`. Never parks: callers
    /// hold the leaf's latch, and call this when [`TreeLocks::no_gaps`] is false.
    pub fn insert_blocked(&self, tree: &Arc<TreeLocks>, key: &[u8]) -> bool {
        tree.gap_set.lock().blocked(&self.inner, key)
    }

    /// Waits until no other owner's gap is over `key`. The caller then descends again and looks again.
    pub fn wait_insert(&self, tree: &Arc<TreeLocks>, key: &[u8], wait: Wait) -> Result<(), LockError> {
        let me = &self.inner;
        let (pending, limit) = {
            let mut set = tree.gap_set.lock();
            if !set.blocked(me, key) {
                return Ok(());
            }
            let limit = Self::limit(wait)?;
            let key: Arc<[u8]> = key.into();
            let pending = me.begin_wait(Target::Insert { tree: tree.clone(), key: key.clone() });
            set.locked.over(&key, |o| {
                o.blocks.store(true, Relaxed);
                true
            });
            set.waiting.push((pending.clone(), key));
            (pending, limit)
        };
        let abandon = || tree.gap_set.lock().waiting.retain(|(w, _)| !Arc::ptr_eq(&w.owner, me));
        let has_reason = || {
            let set = tree.gap_set.lock();
            set.blocked(me, key) && set.waiting.iter().any(|(w, _)| Arc::ptr_eq(&w.owner, me))
        };
        self.wait(pending, WaitEvent::RowLock, limit, abandon, has_reason)
    }

    /// Releases all gap locks of this owner (record locks stay): READ COMMITTED keeps none between statements.
    pub fn release_gaps(&self) {
        let trees = std::mem::take(&mut self.inner.held.lock().gaps);
        let mut granted = Vec::new();
        trees.iter().for_each(|t| t.release_gaps(&self.inner, &mut granted));
        Owner::wake_all(&granted);
    }
}
