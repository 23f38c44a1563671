//! Many locks of one owner, folded into less memory: the rows that a scan locks one after another become an interval,
//! other keys become a set of keys.
//!
//! A scan at REPEATABLE READ locks each row and the gaps between the rows, so it holds a lock on all rows of an
//! interval, and no row can be inserted into the interval. After the first few rows, each further row's lock is folded
//! into such an interval. Some locks cannot be folded so: at READ COMMITTED, other transactions may insert rows between
//! the locked ones; in index trees, keys without an entry are locked too; some statements lock keys in no order. When
//! an owner has some thousands of such locks, [`crate::LockOwner::fold_keys`] moves the oldest of them to a set of
//! exactly those keys ([`crate::keys`]).
//!
//! An owner that wants one of these rows first makes the holder's lock an explicit one again, and then waits in that
//! row's queue. So queues, waits and the search for deadlocks know nothing of intervals and sets.
//!
//! INV-LOCK-6: a row is folded, and made explicit, under its shard's lock. So an owner that looks at the queue and
//! then, under the same lock, at the intervals and sets misses neither. (A lock that moves to a set is in both for a
//! while.) An owner gives up its intervals and sets before it looks at its other locks: after that no other owner can
//! make one of its folded locks explicit.
//! INV-LOCK-7: an interval locks only rows that exist. A key without a row is not locked, even if it lies in the
//! interval: an owner that asks for a lock there has seen a row, or looks whether there is one before it asks. A set
//! locks its keys, with or without rows.

use std::collections::BTreeMap;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};
use gannet_telemetry::{Counter, add, sub};

use crate::intervals::{Intervals, OwnedCut};
use crate::keys::Keys;
use crate::owner::{Held, Owner};
use crate::tree::TreeLocks;
use crate::{Cut, Mode};

/// The intervals and sets of one tree.
#[derive(Default)]
pub(crate) struct RangeSet {
    shared: Intervals,
    exclusive: Intervals,
    /// By owner.
    keys: BTreeMap<u64, OwnKeys>,
}

/// The keys that one owner has locked.
struct OwnKeys {
    owner: Arc<Owner>,
    shared: Keys,
    exclusive: Keys,
}

impl OwnKeys {
    fn bytes(&self) -> usize {
        self.shared.bytes() + self.exclusive.bytes()
    }

    fn mode_of(&self, key: &[u8]) -> Option<Mode> {
        if self.exclusive.contains(key) {
            return Some(Mode::Exclusive);
        }
        self.shared.contains(key).then_some(Mode::Shared)
    }
}

/// Reports to the memory counter by how much the memory has changed, and returns that.
fn changed(before: usize, after: usize) -> isize {
    if after >= before {
        add(Counter::LockMemory, (after - before) as u64)
    } else {
        sub(Counter::LockMemory, (before - after) as u64)
    }
    after as isize - before as isize
}

impl RangeSet {
    fn mode(&mut self, mode: Mode) -> &mut Intervals {
        match mode {
            Mode::Shared => &mut self.shared,
            Mode::Exclusive => &mut self.exclusive,
        }
    }

    /// Whether the owner has anything here.
    fn has(&self, owner: &Owner) -> bool {
        self.shared.has(owner) || self.exclusive.has(owner) || self.keys.contains_key(&owner.id)
    }

    /// True if the owner had nothing here.
    pub(crate) fn add(&mut self, owner: &Arc<Owner>, mode: Mode, low: Cut<'_>, high: Cut<'_>) -> bool {
        let first = !self.has(owner);
        self.mode(mode).add(owner, low, high);
        first
    }

    /// Adds keys in ascending order. Returns whether the owner had nothing here, how many keys were encoded, and by
    /// how much the memory grew.
    pub(crate) fn add_keys(&mut self, owner: &Arc<Owner>, mode: Mode, keys: &[Box<[u8]>]) -> (bool, usize, isize) {
        let first = !self.has(owner);
        let new = || OwnKeys { owner: owner.clone(), shared: Keys::default(), exclusive: Keys::default() };
        let own = self.keys.entry(owner.id).or_insert_with(new);
        let before = own.bytes();
        let encoded = match mode {
            Mode::Shared => own.shared.add(keys),
            Mode::Exclusive => own.exclusive.add(keys),
        };
        (first, encoded, changed(before, own.bytes()))
    }

    /// Lowers what the owner holds of the key to `mode`. If it held more, returns by how much the memory grew.
    pub(crate) fn lower_key(&mut self, owner: &Owner, key: &[u8], mode: Option<Mode>) -> Option<isize> {
        let own = self.keys.get_mut(&owner.id)?;
        if own.mode_of(key) <= mode {
            return None;
        }
        let before = own.bytes();
        let was_exclusive = own.exclusive.remove(key);
        match mode {
            None => _ = own.shared.remove(key),
            Some(_) if was_exclusive => _ = own.shared.add(&[key.into()]),
            Some(_) => {}
        }
        Some(changed(before, own.bytes()))
    }

    /// What the owner holds of the key. `row`: a row with that key exists.
    pub(crate) fn own(&self, owner: &Arc<Owner>, key: &[u8], row: bool) -> Option<Mode> {
        let has = |intervals: &Intervals| {
            let mut found = false;
            intervals.over(key, |o| {
                found = Arc::ptr_eq(o, owner);
                !found
            });
            found
        };
        if row && has(&self.exclusive) {
            return Some(Mode::Exclusive);
        }
        let by_set = self.keys.get(&owner.id).and_then(|own| own.mode_of(key));
        by_set.max((row && has(&self.shared)).then_some(Mode::Shared))
    }

    /// Calls `f` for each other owner that holds the key in a mode which conflicts with `mode`, until `f` returns
    /// false. `row`: a row with that key exists.
    pub(crate) fn conflicting(
        &self,
        owner: &Arc<Owner>,
        (key, row): (&[u8], bool),
        mode: Mode,
        mut f: impl FnMut(&Arc<Owner>, Mode) -> bool,
    ) {
        for (intervals, held) in [(&self.exclusive, Mode::Exclusive), (&self.shared, Mode::Shared)] {
            let mut more = true;
            if row && held.conflicts(mode) {
                intervals.over(key, |o| {
                    more = Arc::ptr_eq(o, owner) || f(o, held);
                    more
                });
            }
            if !more {
                return;
            }
        }
        for own in self.keys.values().filter(|own| !Arc::ptr_eq(&own.owner, owner)) {
            if let Some(held) = own.mode_of(key).filter(|held| held.conflicts(mode))
                && !f(&own.owner, held)
            {
                return;
            }
        }
    }

    /// The keys in sets, with owners and modes, until `f` returns false; for introspection.
    pub(crate) fn each_key(&self, mut f: impl FnMut(&Arc<Owner>, Mode, &[u8]) -> bool) {
        for own in self.keys.values() {
            own.exclusive.each(|key| f(&own.owner, Mode::Exclusive, key));
            own.shared.each(|key| f(&own.owner, Mode::Shared, key));
        }
    }

    /// Intervals with their modes and owners, for introspection.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (&OwnedCut, &OwnedCut, &Arc<Owner>, Mode)> {
        let exclusive = self.exclusive.iter().map(|(low, high, o)| (low, high, o, Mode::Exclusive));
        exclusive.chain(self.shared.iter().map(|(low, high, o)| (low, high, o, Mode::Shared)))
    }
}

impl TreeLocks {
    /// True when no locks of this tree are folded. Where some are, a caller has to look whether a row exists before
    /// it asks for its lock.
    #[inline]
    pub fn no_ranges(&self) -> bool {
        self.ranges.load(Acquire) == 0
    }

    /// Notes that the owner has its first interval or set here. `held` is what the owner holds. Called under the lock
    /// of the set.
    pub(crate) fn enter_ranges(self: &Arc<Self>, held: &mut Held) {
        self.ranges.fetch_add(1, SeqCst);
        self.records.fetch_add(1, SeqCst);
        held.ranges.push(self.clone());
    }

    pub(crate) fn release_ranges(&self, owner: &Owner) {
        let mut set = self.range_set.lock();
        let had = set.has(owner);
        set.shared.remove(owner);
        set.exclusive.remove(owner);
        let keys = set.keys.remove(&owner.id);
        if had {
            self.ranges.fetch_sub(1, SeqCst);
            self.records.fetch_sub(1, SeqCst);
        }
        drop(set);
        changed(keys.as_ref().map_or(0, OwnKeys::bytes), 0);
    }
}
