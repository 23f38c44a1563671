//! Moves explicit record locks of an owner to sets of keys.

use std::collections::HashMap;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::SeqCst;

use crate::owner::Held;
use crate::queue::{find, prune};
use crate::record::LATELY;
use crate::tree::TreeLocks;
use crate::{LockOwner, Mode};

/// How many keys are added to a set at once. Other owners wait for the set's lock for so long.
const AT_ONCE: usize = 256;

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
