//! Many locks of one owner, folded into less memory: the rows that a scan locks one after another become an interval,
//! other keys become a set of keys.
//!
//! A scan at REPEATABLE READ locks each row and the gaps between the rows, so it holds a lock on all rows of an
//! interval, and no row can be inserted into the interval. After the first few rows, each further row's lock is
//! folded into such an interval. Some locks cannot be folded so: at READ COMMITTED, other transactions may insert
//! rows between the locked ones; in index trees, keys without an entry are locked too; some statements lock keys in
//! no order. When an owner has some thousands of such locks, [`LockOwner::fold_keys`] moves the oldest of them to a
//! set of exactly those keys ([`crate::keys`]).
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

/// How many keys are added to a set at once. Other owners wait for the set's lock for so long.
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

    /// Lowers what the owner holds of the key to `mode`. If it held more, returns by how much the memory grew.
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

impl Held {
    /// Adds a record. True when so many are explicit that [`LockOwner::fold_keys`] is due.
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
    /// Folds this owner's explicit locks into sets of keys, except for the `keep` youngest ([`LockOwner::stamped`]
    /// searches these) and those that another owner waits for. A lock is entered in the set before it leaves its
    /// queue (INV-LOCK-6).
    pub fn fold_keys(&self, keep: usize) {
        let me = &self.inner;
        // The list can be taken out meanwhile: only the owner's own task, which runs this, reads what the owner
        // holds. (Other tasks may add to it.)
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
        let stay: Vec<u64> = if folded.len() == hashes.len() {
            Vec::new()
        } else {
            // Two keys may have the same hash, so one of them may have stayed explicit.
            let mut left = folded.chunk_by(|a, b| a == b).map(|h| (h[0], h.len())).collect::<HashMap<_, _>>();
            let stays = |hash: &u64| left.get_mut(hash).filter(|n| **n > 0).map(|n| *n -= 1).is_none();
            hashes.into_iter().filter(stays).collect()
        };
        held.records.splice(..0, stay);
        // Where keys come in no order, each new key costs encoding a block again. The more blocks that were, the
        // later the next folding is.
        held.fold_at = held.records.len() + LATELY + encoded / 16;
    }

    /// The locks with these hashes that no owner waits for.
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

    /// Enters locks of one tree and one mode. Returns how many keys were encoded for that.
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

    /// Releases the explicit lock, which is in a set by now. False when another owner waits for it meanwhile.
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

    /// Lowers what this owner holds of the key by a set to `mode`. Called under the shard's lock.
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
