//! Many locks of one owner, folded: rows that a scan has locked one after the other into an interval, others into a set of keys.
//!
//! A scan at REPEATABLE READ locks each row and the gaps between, so that all rows of an interval are locked by it and no row can come
//! into it. After the first few, each row's lock is folded into such an interval. What cannot be (READ COMMITTED, where rows may come in
//! between; index trees, where keys without an entry are locked too; keys in no order) goes to a set of exactly those keys
//! ([`crate::keys`]) when an owner has some thousands of locks, the older ones first: [`LockOwner::fold_keys`].
//!
//! Somebody who wants one of the rows makes its owner's lock an explicit one again and stands in line for that: queues, waits and
//! deadlocks know nothing of intervals and sets.
//!
//! INV-LOCK-6: a row is folded, and made explicit, under its shard's lock. So whoever looks at the queue and then, under that lock, at
//! the intervals and sets misses neither. (A lock that goes to a set is in both for a while.) An owner gives its intervals and sets up
//! before it looks what else it holds: nobody can make a lock of it explicit afterwards.
//! INV-LOCK-7: only rows that exist are locked by an interval. A key at which there is none is not, though it may lie in one: who asks
//! for a lock there has seen a row, or looks before it asks. A set locks its keys, with or without rows.

use std::collections::{BTreeMap, HashMap};

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};
use gannet_telemetry::{Counter, add, sub};

use crate::intervals::{Intervals, OwnedCut};
use crate::keys::Keys;
use crate::owner::{Held, Owner};
use crate::record::{LATELY, find, prune};
use crate::table::TreeLocks;
use crate::{Cut, LockOwner, Mode};

/// Keys added to a set at once: others who look at the tree's locks wait for so long.
const AT_ONCE: usize = 256;

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

/// Tells the counter, and gives, by how much the memory that is taken has changed.
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

    /// Adds keys in ascending order: true if the owner had nothing here, how many were encoded, by how much the memory grew.
    fn add_keys(&mut self, owner: &Arc<Owner>, mode: Mode, keys: &[Box<[u8]>]) -> (bool, usize, isize) {
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

    /// What the owner holds of the key from now on is `mode` at most: if it was more, by how much the memory grew.
    fn lower_key(&mut self, owner: &Owner, key: &[u8], mode: Option<Mode>) -> Option<isize> {
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

    /// What the owner holds of the key; `row`: there is a row.
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

    /// Calls `f` for all others that hold the key so that `mode` conflicts, until it returns false. `row`: there is a row.
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
    /// True when no locks of this tree are folded. Where some are, look whether a row exists before asking for its lock.
    #[inline]
    pub fn no_ranges(&self) -> bool {
        self.ranges.load(Acquire) == 0
    }

    /// The owner has its first interval or set here: `held` is the owner's. Under the lock of the set.
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

impl Held {
    /// Adds a record; true: so many are explicit now that [`LockOwner::fold_keys`] is due.
    pub(crate) fn push(&mut self, hash: u64) -> bool {
        self.records.push(hash);
        self.records.len() >= self.fold_at.max(2 * LATELY)
    }
}

/// A lock on its way to a set.
struct Leaving {
    tree: Arc<TreeLocks>,
    mode: Mode,
    key: Box<[u8]>,
    hash: u64,
}

impl LockOwner {
    /// Folds this owner's explicit locks into sets of keys, but for the `keep` youngest (which [`LockOwner::stamped`] looks for) and those
    /// that somebody waits for. They are entered in the set before they leave their queues (INV-LOCK-6).
    pub fn fold_keys(&self, keep: usize) {
        let me = &self.inner;
        // Taken out meanwhile: only the owner's own task, which is here, looks what it holds. (Others may add to it.)
        let hashes: Vec<u64> = {
            let records = &mut me.held.lock().records;
            records.drain(..records.len().saturating_sub(keep)).collect()
        };
        let mut leaving = self.leaving(&hashes);
        leaving.sort_unstable_by(|a, b| (a.tree.id(), a.mode, &a.key).cmp(&(b.tree.id(), b.mode, &b.key)));
        let mut encoded = 0;
        for some in leaving.chunk_by(|a, b| Arc::ptr_eq(&a.tree, &b.tree) && a.mode == b.mode) {
            for some in some.chunks(AT_ONCE) {
                encoded += self.enter_set(some);
            }
        }
        let mut folded: Vec<u64> = leaving.iter().filter(|l| self.leave_queue(l)).map(|l| l.hash).collect();
        folded.sort_unstable();
        let mut held = me.held.lock();
        held.keys += folded.len();
        let stay: Vec<u64> = match folded.len() == hashes.len() {
            true => Vec::new(),
            // Of two keys with the same hash one may have stayed.
            false => {
                let mut left = folded.chunk_by(|a, b| a == b).map(|h| (h[0], h.len())).collect::<HashMap<_, _>>();
                let stays = |hash: &u64| left.get_mut(hash).filter(|n| **n > 0).map(|n| *n -= 1).is_none();
                hashes.into_iter().filter(stays).collect()
            }
        };
        held.records.splice(..0, stay);
        // Where keys come in no order each new one costs encoding a block again: the more that was, the later the next time.
        held.fold_at = held.records.len() + LATELY + encoded / 16;
    }

    /// The locks with these hashes that nobody waits for.
    fn leaving(&self, hashes: &[u64]) -> Vec<Leaving> {
        let mut leaving = Vec::with_capacity(hashes.len());
        let mut sorted = hashes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        for hash in sorted {
            let mut shard = self.table.shard(hash);
            let mut at = shard.get_mut(&hash);
            while let Some(queue) = at {
                let mode = queue.holder_mut(&self.inner).map(|h| h.mode);
                if let Some(mode) = mode.filter(|_| !queue.has_waiters()) {
                    leaving.push(Leaving { tree: queue.tree.clone(), mode, key: queue.key.clone(), hash });
                }
                at = queue.chained_mut();
            }
        }
        leaving
    }

    /// Enters locks of one tree and mode; gives how many keys were encoded for that.
    fn enter_set(&self, some: &[Leaving]) -> usize {
        let Some(Leaving { tree, mode, .. }) = some.first() else { return 0 };
        let keys: Vec<Box<[u8]>> = some.iter().map(|l| l.key.clone()).collect();
        let mut set = tree.range_set.lock();
        let (first, encoded, bytes) = set.add_keys(&self.inner, *mode, &keys);
        let mut held = self.inner.held.lock();
        held.key_bytes = held.key_bytes.saturating_add_signed(bytes);
        if first {
            tree.enter_ranges(&mut held);
        }
        encoded
    }

    /// Gives the explicit lock back, which is in a set; false when somebody waits for it meanwhile.
    fn leave_queue(&self, l: &Leaving) -> bool {
        let mut shard = self.table.shard(l.hash);
        let Some(queue) = find(&mut shard, l.hash, &l.tree, &l.key) else { return false };
        if queue.has_waiters() || !queue.remove_holder(&self.inner) {
            return false;
        }
        l.tree.records.fetch_sub(1, SeqCst);
        if queue.is_empty() {
            prune(&mut shard, l.hash);
        }
        true
    }

    /// What this owner holds of the key by a set is `mode` at most from now on. Under the shard's lock.
    pub(crate) fn lower_key(&self, tree: &TreeLocks, key: &[u8], mode: Option<Mode>) {
        if tree.no_ranges() {
            return;
        }
        let Some(bytes) = tree.range_set.lock().lower_key(&self.inner, key, mode) else { return };
        let mut held = self.inner.held.lock();
        held.key_bytes = held.key_bytes.saturating_add_signed(bytes);
        held.keys = held.keys.saturating_sub(usize::from(mode.is_none()));
    }
}
