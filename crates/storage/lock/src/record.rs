//! Record locks: a queue for each locked key.
//!
//! INV-LOCK-1: waiting owners are served in the order that [`crate::line`] defines. An owner is granted the record
//! when its request conflicts with no holder. An owner that raises its shared lock goes to the front: all others wait
//! for its shared lock anyway.
//! INV-LOCK-2: a queue is in its shard if and only if an owner holds the record or waits for it.
//! INV-LOCK-8: an owner that was given a record and has not run since is a *pending* holder: it has not looked at the
//! row yet. A pending holder keeps other lockers out. A writer that finds no stamp on the row may pass it, until it
//! has been passed for [`PASS_NS`]. Before a holder relies on the record, it ends its pending state under the shard's
//! lock.

use std::collections::HashSet;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Relaxed, SeqCst};
use gannet_runtime::{now_ns, site};
use gannet_telemetry::{Counter, Wait as WaitEvent, add, sub};

use crate::graph::Edge;
use crate::line::{Crowd, Ticket, Waiter};
use crate::owner::{Owner, Target};
use crate::table::{LockTable, Shard, TreeLocks, after_counter};
use crate::{Cut, Granted, LockError, LockOwner, Mode, Wait};

/// [`LockOwner::stamped`] searches this many of the owner's last locks: enough for the rows that a statement reads
/// before it changes them.
pub(crate) const LATELY: usize = 4096;

/// How long writers may pass a holder that was given the record and has not run since.
pub(crate) const PASS_NS: u64 = 5_000_000;

/// An owner that holds the record.
pub(crate) struct Holder {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: Mode,
    /// Writers may pass (INV-LOCK-8).
    pending: bool,
}

/// The lock of one record. It is small because a scan may make millions.
pub(crate) struct RecordQueue {
    pub(crate) tree: Arc<TreeLocks>,
    pub(crate) key: Box<[u8]>,
    pub(crate) first: Option<Holder>,
    pub(crate) crowd: Option<Box<Crowd>>,
    /// The queue of another key with the same hash.
    next: Option<Box<RecordQueue>>,
}

/// What an owner waits for.
#[derive(Clone)]
pub(crate) struct RecordWait {
    hash: u64,
    pub(crate) tree: Arc<TreeLocks>,
    pub(crate) key: Arc<[u8]>,
    pub(crate) mode: Mode,
    pub(crate) ticket: Ticket,
}

impl RecordWait {
    /// Whether both waits are for the same record.
    pub(crate) fn same_record(&self, other: &RecordWait) -> bool {
        self.hash == other.hash && Arc::ptr_eq(&self.tree, &other.tree) && self.key == other.key
    }
}

/// Queues whose holders a search has looked at.
pub(crate) type SeenQueues = HashSet<u64>;

/// What became of a request.
enum Outcome {
    New,
    Held(Mode),
    Raised,
    Busy { before: Option<Mode> },
}

pub(crate) fn find<'a>(
    shard: &'a mut Shard,
    hash: u64,
    tree: &Arc<TreeLocks>,
    key: &[u8],
) -> Option<&'a mut RecordQueue> {
    let mut at = shard.get_mut(&hash);
    while let Some(queue) = at {
        if Arc::ptr_eq(&queue.tree, tree) && *queue.key == *key {
            return Some(queue);
        }
        at = queue.next.as_deref_mut();
    }
    None
}

pub(crate) fn find_or_insert<'a>(
    shard: &'a mut Shard,
    hash: u64,
    tree: &Arc<TreeLocks>,
    key: &[u8],
) -> &'a mut RecordQueue {
    let make = || RecordQueue::new(tree, key);
    let mut at = shard.entry(hash).or_insert_with(make);
    while !(Arc::ptr_eq(&at.tree, tree) && *at.key == *key) {
        at = at.next.get_or_insert_with(|| Box::new(make()));
    }
    at
}

/// Removes empty queues of that hash (INV-LOCK-2).
pub(crate) fn prune(shard: &mut Shard, hash: u64) {
    let mut rest = shard.remove(&hash).map(Box::new);
    let mut kept: Option<Box<RecordQueue>> = None;
    while let Some(mut queue) = rest {
        rest = queue.next.take();
        gannet_base::paranoid!(queue.is_sound(), "the lock queue of key {:02x?}", queue.key);
        if !queue.is_empty() {
            queue.next = kept.take();
            kept = Some(queue);
        } else {
            sub(Counter::LockMemory, record_bytes(queue.key.len()) as u64);
        }
    }
    if let Some(kept) = kept {
        shard.insert(hash, *kept);
    }
    // A burst of locks may have made the table large: give the memory back.
    if shard.capacity() > KEEP_PLACES && shard.len() < shard.capacity() / 8 {
        shard.shrink_to(KEEP_PLACES.max(shard.len() * 2));
    }
}

/// How many places a shard keeps while it does not need them.
const KEEP_PLACES: usize = 1024;

/// About how much memory a lock takes, in bytes: a place in a table that is three quarters full, the key, a place in
/// the owner's list.
pub(crate) const fn record_bytes(key: usize) -> usize {
    (size_of::<(u64, RecordQueue)>() + 1) * 4 / 3 + key + 16 + size_of::<u64>()
}

impl RecordQueue {
    fn new(tree: &Arc<TreeLocks>, key: &[u8]) -> RecordQueue {
        add(Counter::LockMemory, record_bytes(key.len()) as u64);
        RecordQueue { tree: tree.clone(), key: key.into(), first: None, crowd: None, next: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.crowd.as_ref().is_none_or(|c| c.more.is_empty() && c.nobody_waits())
    }

    /// Whether each owner holds the record once, an exclusive holder is alone, and those that wait stand in the order of their tickets.
    fn is_sound(&self) -> bool {
        let holders: Vec<_> = self.holders().collect();
        let alone = holders.len() == 1 || holders.iter().all(|h| h.mode == Mode::Shared);
        let owners: HashSet<_> = holders.iter().map(|h| h.owner.id).collect();
        let in_order = self.crowd.as_ref().is_none_or(|c| c.shared.iter().is_sorted_by_key(|w| w.ticket));
        alone && in_order && owners.len() == holders.len()
    }

    pub(crate) fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.first.iter().chain(self.crowd.iter().flat_map(|c| &c.more))
    }

    /// The queue of another key with the same hash.
    pub(crate) fn chained_mut(&mut self) -> Option<&mut RecordQueue> {
        self.next.as_deref_mut()
    }

    /// The queue of another key with the same hash.
    pub(crate) fn chained(&self) -> Option<&RecordQueue> {
        self.next.as_deref()
    }

    /// All owners that wait, in no order.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = (&Waiter, Mode)> {
        let exclusive = self.crowd.iter().flat_map(|c| c.exclusive.iter()).map(|w| (w, Mode::Exclusive));
        exclusive.chain(self.crowd.iter().flat_map(|c| &c.shared).map(|w| (w, Mode::Shared)))
    }

    pub(crate) fn holder_mut(&mut self, owner: &Arc<Owner>) -> Option<&mut Holder> {
        if let Some(first) = &mut self.first
            && Arc::ptr_eq(&first.owner, owner)
        {
            return self.first.as_mut();
        }
        let more = &mut self.crowd.as_mut()?.more;
        let i = more.binary_search_by_key(&owner.id, |h| h.owner.id).ok()?;
        more.get_mut(i)
    }

    fn conflicts_with_holders(&self, owner: &Arc<Owner>, mode: Mode) -> bool {
        // Where several owners hold the record, all of them share it: the first other owner decides.
        self.holders().any(|h| h.mode.conflicts(mode) && !Arc::ptr_eq(&h.owner, owner))
    }

    pub(crate) fn has_waiters(&self) -> bool {
        self.crowd.as_ref().is_some_and(|c| !c.nobody_waits())
    }

    /// Whether a writer that finds no stamp on the row has to wait. Owners that wait do so behind a holder, so the
    /// holders decide.
    fn keeps_out(&self, owner: &Arc<Owner>) -> bool {
        let passes = |h: &Holder| h.pending && h.owner.may_be_passed(now_ns(), PASS_NS);
        self.holders().any(|h| !Arc::ptr_eq(&h.owner, owner) && !passes(h))
    }

    pub(crate) fn add_holder(&mut self, owner: Arc<Owner>, mode: Mode, pending: bool) {
        if let Some(holder) = self.holder_mut(&owner) {
            holder.mode = holder.mode.max(mode);
            return;
        }
        let holder = Holder { owner, mode, pending };
        if self.first.is_none() {
            self.first = Some(holder);
            return;
        }
        let more = &mut self.crowd.get_or_insert_default().more;
        let i = more.partition_point(|h| h.owner.id < holder.owner.id);
        more.insert(i, holder);
    }

    pub(crate) fn remove_holder(&mut self, owner: &Arc<Owner>) -> bool {
        if self.first.as_ref().is_some_and(|f| Arc::ptr_eq(&f.owner, owner)) {
            self.first = self.crowd.as_mut().and_then(|c| c.more.pop());
            return true;
        }
        let Some(crowd) = &mut self.crowd else { return false };
        match crowd.more.binary_search_by_key(&owner.id, |h| h.owner.id) {
            Ok(i) => {
                crowd.more.remove(i);
                true
            }
            Err(_) => false,
        }
    }

    /// Grants the request if that is possible at once.
    fn request(&mut self, owner: &Arc<Owner>, mode: Mode) -> Outcome {
        let before = self.holder_mut(owner).map(|h| h.mode);
        match before {
            Some(held) if held >= mode => Outcome::Held(held),
            Some(_) if !self.conflicts_with_holders(owner, mode) => {
                self.add_holder(owner.clone(), mode, false);
                Outcome::Raised
            }
            None if !self.has_waiters() && !self.conflicts_with_holders(owner, mode) => {
                self.add_holder(owner.clone(), mode, false);
                Outcome::New
            }
            before => Outcome::Busy { before },
        }
    }

    /// Puts the owner in line and marks the holders that it waits for (INV-LOCK-4).
    fn enqueue(&mut self, owner: &Arc<Owner>, mode: Mode, ticket: Ticket) {
        // Holders are marked once: while an exclusive request waits, all are.
        if self.crowd.as_ref().is_none_or(|c| c.exclusive.is_empty()) {
            for h in self.holders().filter(|h| h.mode.conflicts(mode)) {
                h.owner.blocks.store(true, Relaxed);
            }
        }
        let waiter = Waiter { owner: owner.clone(), ticket, site: site() };
        self.crowd.get_or_insert_default().add(mode, waiter);
    }

    /// Grants as many requests as possible. The owners that were granted go into `granted`.
    fn grant_waiting(&mut self, granted: &mut Vec<Arc<Owner>>) {
        while let Some((front, mode)) = self.crowd.as_ref().and_then(|c| c.front()) {
            let waits = front.owner.is_waiting();
            if waits && self.conflicts_with_holders(&front.owner, mode) {
                break;
            }
            let Some(crowd) = &mut self.crowd else { break };
            let next = match mode {
                // No owner holds the record: any of these may have it.
                Mode::Exclusive if waits => crowd.take_next(site(), now_ns()),
                _ => crowd.take_front(),
            };
            let Some(Waiter { owner, .. }) = next else { break };
            if !crowd.nobody_waits() {
                owner.blocks.store(true, Relaxed);
            }
            // Otherwise the owner gave up or was chosen as a victim, and removes itself.
            owner.may_be_passed_from(now_ns());
            if owner.grant() {
                self.add_holder(owner.clone(), mode, true);
                granted.push(owner);
            }
        }
    }

    /// The owners that `owner`, which waits here, waits for. An owner that waits in front waits for the holders only.
    /// So edges lead to the holders at once, and the length of the queue does not matter. There is one exception: an
    /// owner that wants to share a record which is shared already waits only because of an owner in front that wants
    /// the record exclusively. The edge names that one as `via`.
    ///
    /// `me` is the owner that searches, with its place if it wants this record exclusively. If it is in front, it is
    /// taken as the `via`.
    fn blockers(
        &self,
        (owner, mode, ticket): (&Arc<Owner>, Mode, Ticket),
        me: Option<(&Arc<Owner>, Ticket)>,
        seen: &mut SeenQueues,
        out: &mut Vec<Edge>,
    ) {
        let Some(crowd) = self.crowd.as_ref().filter(|c| c.has(mode, ticket)) else { return };
        let held_exclusively = self.first.as_ref().is_some_and(|h| h.mode == Mode::Exclusive);
        let via = if mode == Mode::Exclusive || held_exclusively {
            None
        } else {
            if let Some((me, _)) = me.filter(|(_, t)| *t < ticket) {
                return out.push(Edge { to: me.clone(), via: None });
            }
            // An owner that has given up but is still in the queue waits for nothing.
            let mut ahead = crowd.exclusive.iter().take_while(|w| w.ticket < ticket);
            match ahead.find(|w| w.owner.is_waiting()) {
                Some(w) => Some(&w.owner),
                None => return,
            }
        };
        // A search looks at the holders of a queue once. But an owner that raises its lock is a holder itself, which
        // it left out when it looked.
        if !seen.insert(crowd.number()) {
            let raises = me.filter(|(m, t)| t.raises() && !Arc::ptr_eq(m, owner));
            return out.extend(raises.map(|(m, _)| Edge { to: m.clone(), via: None }));
        }
        for h in self.holders().filter(|h| !Arc::ptr_eq(&h.owner, owner)) {
            let between = via.filter(|v| !Arc::ptr_eq(v, &h.owner));
            out.push(Edge { to: h.owner.clone(), via: between.cloned() });
        }
    }
}

impl LockTable {
    /// Releases one record lock of that hash.
    pub(crate) fn release_record_by_hash(&self, owner: &Arc<Owner>, hash: u64, granted: &mut Vec<Arc<Owner>>) {
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
        me.begin_wait(Target::Record(RecordWait { hash, tree: tree.clone(), key: key.into(), mode, ticket }));
        queue.enqueue(me, mode, ticket);
        drop(shard);
        let outcome = self.wait(WaitEvent::RowLock, limit, || self.abandon_record(hash, tree, key, mode, ticket));
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
    /// transaction goes on: ROLLBACK TO SAVEPOINT keeps row locks. When other owners wait for the row already, they
    /// wait for this transaction's end, and nothing is added.
    pub fn keep_record(&self, tree: &Arc<TreeLocks>, key: &[u8]) {
        let hash = self.table.hash(tree.id(), key);
        tree.records.fetch_add(1, SeqCst);
        let mut shard = self.table.shard(hash);
        if self.make_explicit(&mut shard, hash, tree, key, Mode::Exclusive).is_some() {
            tree.records.fetch_sub(1, SeqCst);
            return;
        }
        let queue = find_or_insert(&mut shard, hash, tree, key);
        match queue.request(&self.inner, Mode::Exclusive) {
            Outcome::New => {
                let many = self.inner.hold().push(hash);
                drop(shard);
                if many {
                    self.fold_keys(LATELY);
                }
            }
            Outcome::Held(_) | Outcome::Raised | Outcome::Busy { .. } => {
                tree.records.fetch_sub(1, SeqCst);
                // From now on this owner relies on what it holds, whatever the outcome was.
                if let Some(holder) = queue.holder_mut(&self.inner) {
                    holder.pending = false;
                }
            }
        }
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
            None => queue.has_waiters() || queue.conflicts_with_holders(&self.inner, mode),
        }
    }
}
