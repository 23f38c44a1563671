//! Record locks: a [queue](crate::queue) for each locked key.
//!
//! INV-LOCK-8: an owner that was given a record and has not run since is a *pending* holder: it has not looked at the
//! row yet. A pending holder keeps other lockers out. A writer that finds no stamp on the row may pass it, until it
//! has been passed for [`PASS_NS`](crate::queue::PASS_NS). Before a holder relies on the record, it ends its pending
//! state under the shard's lock.

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::SeqCst;
use gannet_telemetry::{Counter, Wait as WaitEvent, count};

use crate::owner::{Edge, Owner, RecordWait, Target};
use crate::queue::{Outcome, SeenQueues, Shard, find, find_or_insert, prune};
use crate::table::LockTable;
use crate::tree::{TreeLocks, after_counter};
use crate::types::Ticket;
use crate::{Cut, Granted, LockError, LockOwner, Mode, Wait};

/// [`LockOwner::stamped`] searches this many of the owner's last locks: enough for the rows that a statement reads
/// before it changes them.
pub(crate) const LATELY: usize = 4096;

impl LockTable {
    /// Releases one record lock of that hash.
    pub(crate) fn release_record_by_hash(&self, owner: &Arc<Owner>, hash: u64, granted: &mut Vec<Arc<Owner>>) {
        count(Counter::LockRecReleaseAttempts);
        let mut shard = self.shard(hash);
        let mut at = shard.get_mut(&hash);
        while let Some(queue) = at {
            if queue.remove_holder(owner) {
                queue.grant_waiting(granted);
                queue.tree.records.fetch_sub(1, SeqCst);
                if queue.is_empty() {
                    prune(&mut shard, hash);
                }
                return;
            }
            at = queue.next.as_deref_mut();
        }
    }

    /// As [`RecordQueue::blockers`], for an owner that waits for `wanted`.
    pub(crate) fn record_blockers(
        &self,
        owner: &Arc<Owner>,
        wanted: &RecordWait,
        me: Option<(&Arc<Owner>, Ticket)>,
        seen: &mut SeenQueues,
        out: &mut Vec<Edge>,
    ) {
        let RecordWait { hash, tree, key, mode, ticket } = wanted;
        if let Some(queue) = find(&mut self.shard(*hash), *hash, tree, key) {
            queue.blockers((owner, *mode, *ticket), me, seen, out);
        }
    }
}

impl LockOwner {
    /// Locks a record. Waits in FIFO order; with [`Wait::No`] it never waits.
    ///
    /// The lock is entered before this returns, so the caller reads the row afterwards (INV-LOCK-3). If the row then
    /// carries the stamp of another active transaction, the caller waits for that with [`LockOwner::wait_trx`], or,
    /// for SKIP LOCKED, unlocks the record again.
    pub fn lock_record(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode, wait: Wait) -> Result<Granted, LockError> {
        let me = &self.inner;
        count(Counter::LockRecLockRequests);
        let hash = self.table.hash(tree.id(), key);
        tree.records.fetch_add(1, SeqCst);
        let mut shard = self.table.shard(hash);
        if wait == Wait::No && self.lies_in_others_range(tree, (key, true), mode) {
            // No owner waits, so the folded locks of other owners may stay folded.
            tree.records.fetch_sub(1, SeqCst);
            return Err(LockError::WouldWait);
        }
        if let Some(held) = self.make_explicit(&mut shard, hash, tree, key, mode) {
            tree.records.fetch_sub(1, SeqCst);
            return Ok(Granted { waited: false, before: Some(held) });
        }
        let queue = find_or_insert(&mut shard, hash, tree, key);
        let before = match queue.request(me, mode) {
            Outcome::New => {
                let many = me.hold().push(hash);
                me.may_be_passed_from(0);
                drop(shard);
                after_counter();
                if many {
                    self.fold_keys(LATELY);
                }
                return Ok(Granted { waited: false, before: None });
            }
            Outcome::Held(mode) => {
                tree.records.fetch_sub(1, SeqCst);
                return Ok(Granted { waited: false, before: Some(mode) });
            }
            Outcome::Raised => {
                tree.records.fetch_sub(1, SeqCst);
                return Ok(Granted { waited: false, before: Some(Mode::Shared) });
            }
            Outcome::Busy { before } => before,
        };
        let limit = match Self::limit(wait) {
            Ok(limit) => limit,
            Err(e) => {
                tree.records.fetch_sub(1, SeqCst);
                return Err(e);
            }
        };
        let ticket = Ticket::new(self.table.ticket(), before.is_some());
        let wanted = RecordWait { hash, tree: tree.clone(), key: key.into(), mode, ticket };
        let pending = me.begin_wait(Target::Record(wanted));
        queue.enqueue(pending.clone(), mode, ticket);
        drop(shard);
        let abandon = || self.abandon_record(hash, tree, key, mode, ticket);
        let has_reason =
            || find(&mut self.table.shard(hash), hash, tree, key).is_some_and(|q| q.has_reason(mode, ticket, hash));
        let outcome = self.wait(pending, WaitEvent::RowLock, limit, abandon, has_reason);
        match (&outcome, before) {
            (Ok(()), None) => {
                me.hold().records.push(hash);
                self.set_pending(tree, key, false);
            }
            // The owner holds no more than before.
            _ => _ = tree.records.fetch_sub(1, SeqCst),
        }
        outcome.map(|()| Granted { waited: true, before })
    }

    /// Sets whether writers may pass this owner, which holds the record (INV-LOCK-8).
    pub(crate) fn set_pending(&self, tree: &Arc<TreeLocks>, key: &[u8], pending: bool) {
        let hash = self.table.hash(tree.id(), key);
        if let Some(queue) = find(&mut self.table.shard(hash), hash, tree, key)
            && let Some(holder) = queue.holder_mut(&self.inner)
        {
            holder.pending = pending;
        }
    }

    /// Makes those folded locks on the row explicit that conflict with `mode`. If an interval or set of this owner is
    /// enough for `mode` already, returns what it holds.
    fn make_explicit(
        &self,
        shard: &mut Shard,
        hash: u64,
        tree: &Arc<TreeLocks>,
        key: &[u8],
        mode: Mode,
    ) -> Option<Mode> {
        if tree.no_ranges() {
            return None;
        }
        let set = tree.range_set.lock();
        let own = set.own(&self.inner, key, true);
        if own.is_some_and(|held| held >= mode) {
            // Its explicit lock may be stronger.
            return own.max(find(shard, hash, tree, key).and_then(|q| q.holder_mut(&self.inner).map(|h| h.mode)));
        }
        let mut hold = |owner: &Arc<Owner>, held: Mode| {
            let queue = find_or_insert(shard, hash, tree, key);
            if queue.holder_mut(owner).is_none() {
                owner.held.lock().records.push(hash);
                tree.records.fetch_add(1, SeqCst);
            }
            queue.add_holder(owner.clone(), held, false);
            true
        };
        if let Some(held) = own {
            hold(&self.inner, held);
        }
        set.conflicting(&self.inner, (key, true), mode, hold);
        None
    }

    /// Folds the explicit lock on `key` into an interval, unless another owner waits for it or it is of another mode.
    /// The caller has locked all rows between `low` and `high`, `key` among them, in this mode or exclusively, and
    /// the gaps between them.
    pub fn fold_record(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode, (low, high): (Cut<'_>, Cut<'_>)) {
        let me = &self.inner;
        let hash = self.table.hash(tree.id(), key);
        let mut shard = self.table.shard(hash);
        let Some(queue) = find(&mut shard, hash, tree, key) else { return };
        if queue.has_waiters() || queue.holder_mut(me).is_none_or(|h| h.mode != mode) {
            return;
        }
        let mut set = tree.range_set.lock();
        let mut held = me.held.lock();
        let Some(i) = held.records.iter().rev().take(LATELY).position(|&h| h == hash) else { return };
        let i = held.records.len() - 1 - i;
        if set.add(me, mode, low, high) {
            tree.enter_ranges(&mut held);
        }
        held.records.swap_remove(i);
        held.folded += 1;
        queue.remove_holder(me);
        tree.records.fetch_sub(1, SeqCst);
        if queue.is_empty() {
            prune(&mut shard, hash);
        }
    }

    /// Takes the waiting owner out of the queue. The owners behind it may be served now.
    fn abandon_record(&self, hash: u64, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode, ticket: Ticket) {
        let mut granted = Vec::new();
        {
            let mut shard = self.table.shard(hash);
            let Some(queue) = find(&mut shard, hash, tree, key) else { return };
            if let Some(crowd) = &mut queue.crowd {
                crowd.remove(mode, ticket);
            }
            queue.grant_waiting(&mut granted);
            if queue.is_empty() {
                prune(&mut shard, hash);
            }
        }
        Owner::wake_all(&granted);
    }

    /// Releases what the last [`LockOwner::lock_record`] on the record added, before the transaction's end: at READ
    /// COMMITTED because the row does not match, for SKIP LOCKED because it has another transaction's stamp. `before`
    /// is what that call returned.
    pub fn unlock_record(&self, tree: &Arc<TreeLocks>, key: &[u8], before: Option<Mode>) {
        let me = &self.inner;
        let hash = self.table.hash(tree.id(), key);
        let mut granted = Vec::new();
        {
            let mut shard = self.table.shard(hash);
            // The lock may have been folded since. Where another owner waits for it, it is explicit.
            self.lower_key(tree, key, before);
            let Some(queue) = find(&mut shard, hash, tree, key) else { return };
            match (before, queue.holder_mut(me)) {
                (_, None) => return,
                (Some(mode), Some(holder)) => holder.mode = mode,
                (None, Some(_)) => {
                    queue.remove_holder(me);
                    let mut held = me.held.lock();
                    if let Some(i) = held.records.iter().rposition(|&h| h == hash) {
                        held.records.swap_remove(i);
                    }
                    tree.records.fetch_sub(1, SeqCst);
                }
            }
            queue.grant_waiting(&mut granted);
            if queue.is_empty() {
                prune(&mut shard, hash);
            }
        }
        Owner::wake_all(&granted);
    }

    /// Releases an explicit lock on a row that now carries this transaction's stamp, because the stamp is lock
    /// enough. Without this, a transaction that changes all rows of a table would end up with a lock for each. The
    /// lock is released only if no owner waits for it and it was taken lately: the search for it costs the number of
    /// locks taken since, 4,096 at most. Owners that wait for it keep waiting, and a writer that finds the row after
    /// this transaction has ended may change it first.
    pub fn stamped(&self, tree: &Arc<TreeLocks>, key: &[u8]) {
        let me = &self.inner;
        if !me.may_hold() {
            return;
        }
        let hash = self.table.hash(tree.id(), key);
        let mut shard = self.table.shard(hash);
        let mut held = me.held.lock();
        let Some(i) = held.records.iter().rev().take(LATELY).position(|&h| h == hash) else { return };
        let i = held.records.len() - 1 - i;
        let Some(queue) = find(&mut shard, hash, tree, key) else { return };
        if queue.has_waiters() {
            if let Some(holder) = queue.holder_mut(me) {
                me.may_be_passed_from(u64::MAX);
                holder.pending = true;
            }
        } else if queue.remove_holder(me) {
            held.records.swap_remove(i);
            tree.records.fetch_sub(1, SeqCst);
            if queue.is_empty() {
                prune(&mut shard, hash);
            }
        }
    }

    /// Makes a lock explicit that so far was only the row's stamp. Needed before the stamp goes away although the
    /// transaction goes on: ROLLBACK TO SAVEPOINT keeps row locks.
    ///
    /// An owner that has been given the record and has not looked at the row yet would rely on it once the stamp is
    /// gone. So this waits until it has found the stamp, and stands behind this owner (INV-LOCK-11), or has left. It
    /// does either within microseconds of running: between the lock and the look there is no wait but for a page.
    pub fn keep_record(&self, tree: &Arc<TreeLocks>, key: &[u8]) {
        let hash = self.table.hash(tree.id(), key);
        tree.records.fetch_add(1, SeqCst);
        loop {
            let mut shard = self.table.shard(hash);
            if self.make_explicit(&mut shard, hash, tree, key, Mode::Exclusive).is_some() {
                break;
            }
            let queue = find_or_insert(&mut shard, hash, tree, key);
            let outcome = queue.request(&self.inner, Mode::Exclusive);
            if matches!(outcome, Outcome::New) {
                let many = self.inner.hold().push(hash);
                drop(shard);
                if many {
                    self.fold_keys(LATELY);
                }
                return;
            }
            // From now on this owner relies on what it holds.
            if let Some(holder) = queue.holder_mut(&self.inner) {
                holder.pending = false;
            }
            if !matches!(outcome, Outcome::Busy { .. }) {
                break;
            }
            drop(shard);
            gannet_runtime::yield_now();
        }
        tree.records.fetch_sub(1, SeqCst);
    }

    /// What this owner holds of the record.
    pub fn record_mode(&self, tree: &Arc<TreeLocks>, key: &[u8]) -> Option<Mode> {
        let hash = self.table.hash(tree.id(), key);
        let mut shard = self.table.shard(hash);
        let explicit = find(&mut shard, hash, tree, key).and_then(|q| q.holder_mut(&self.inner).map(|h| h.mode));
        if tree.no_ranges() { explicit } else { explicit.max(tree.range_set.lock().own(&self.inner, key, true)) }
    }

    /// Whether this owner, which is about to write, would have to wait for an explicit lock of the record. Never
    /// parks: writers call it under a latch, when [`TreeLocks::no_records`] is false and the row has no other
    /// transaction's stamp. A pending holder, which cannot have looked at the row yet, counts only if it has been
    /// passed for some time (INV-LOCK-8). If a row exists, call [`LockOwner::row_blocked`].
    pub fn record_blocked(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode) -> bool {
        self.key_blocked(tree, (key, false), mode)
    }

    /// Whether this owner would have to wait for the lock of an existing row.
    pub fn row_blocked(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode) -> bool {
        self.key_blocked(tree, (key, true), mode)
    }

    fn key_blocked(&self, tree: &Arc<TreeLocks>, (key, row): (&[u8], bool), mode: Mode) -> bool {
        let hash = self.table.hash(tree.id(), key);
        let mut shard = self.table.shard(hash);
        if !tree.no_ranges() {
            if tree.range_set.lock().own(&self.inner, key, row).is_some_and(|held| held >= mode) {
                return false;
            }
            if self.lies_in_others_range(tree, (key, row), mode) {
                return true;
            }
        }
        self.blocked(&mut shard, hash, tree, key, mode)
    }

    /// Whether another owner's interval (if a row exists) or set of keys keeps this owner from the key. Called under
    /// the shard's lock.
    fn lies_in_others_range(&self, tree: &TreeLocks, (key, row): (&[u8], bool), mode: Mode) -> bool {
        if tree.no_ranges() {
            return false;
        }
        let set = tree.range_set.lock();
        let mut found = false;
        if set.own(&self.inner, key, row).is_none_or(|held| held < mode) {
            set.conflicting(&self.inner, (key, row), mode, |_, _| {
                found = true;
                false
            });
        }
        found
    }

    fn blocked(&self, shard: &mut Shard, hash: u64, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode) -> bool {
        let Some(queue) = find(shard, hash, tree, key) else { return false };
        match queue.holder_mut(&self.inner).map(|h| h.mode) {
            Some(held) if held >= mode => false,
            Some(_) => queue.conflicts_with_holders(&self.inner, mode),
            None if mode == Mode::Exclusive => queue.keeps_out(&self.inner),
            None => !queue.comes_next(&self.inner) || queue.conflicts_with_holders(&self.inner, mode),
        }
    }
}
