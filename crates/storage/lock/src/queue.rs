//! The queue of one record: who holds it and who waits for it.
//!
//! INV-LOCK-1: waiting owners are served in the order that [`crate::line`] defines. An owner is granted the record
//! when its request conflicts with no holder. An owner that raises its shared lock goes to the front: all others wait
//! for its shared lock anyway.
//! INV-LOCK-2: a queue is in its shard if and only if an owner holds the record or waits for it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_runtime::{now_ns, site};
use gannet_telemetry::{Counter, add, count, sub};

use crate::Mode;
use crate::line::{Crowd, Holder, Waiter};
use crate::owner::{Edge, Owner, Pending};
use crate::tree::TreeLocks;
use crate::types::Ticket;

/// How long writers may pass a holder that was given the record and has not run since.
pub(crate) const PASS_NS: u64 = 5_000_000;

/// A hasher that passes the record hash on: that is well mixed already.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = self.0.rotate_left(8) ^ b as u64;
        }
    }

    fn write_u64(&mut self, v: u64) {
        self.0 = v;
    }
}

/// Queues by hash. Queues of equal hash are chained.
pub(crate) type Shard = HashMap<u64, RecordQueue, BuildHasherDefault<Identity>>;

/// The lock of one record. It is small because a scan may make millions.
pub(crate) struct RecordQueue {
    pub(crate) tree: Arc<TreeLocks>,
    pub(crate) key: Box<[u8]>,
    pub(crate) first: Option<Holder>,
    pub(crate) crowd: Option<Box<Crowd>>,
    /// The queue of another key with the same hash.
    pub(crate) next: Option<Box<RecordQueue>>,
}

/// Queues whose holders a search has looked at.
pub(crate) type SeenQueues = HashSet<u64>;

/// What became of a request.
pub(crate) enum Outcome {
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

    /// Whether each owner holds the record once, an exclusive holder is alone but for those that wait for it, and those
    /// that wait stand in the order of their tickets.
    fn is_sound(&self) -> bool {
        let holders: Vec<_> = self.holders().collect();
        let one = |x: &&Holder| holders.iter().all(|h| Arc::ptr_eq(&h.owner, &x.owner) || self.is_before(&x.owner, h));
        let alone = holders.iter().all(|h| h.mode == Mode::Shared) || holders.iter().any(one);
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

    pub(crate) fn conflicts_with_holders(&self, owner: &Arc<Owner>, mode: Mode) -> bool {
        // Where several owners hold the record, all of them share it, or wait for one of them: the first other owner
        // decides.
        self.holders().any(|h| h.mode.conflicts(mode) && !Arc::ptr_eq(&h.owner, owner) && !self.is_before(owner, h))
    }

    /// The holder has found the owner's stamp here and waits for its end: it does not rely on the record before that
    /// (INV-LOCK-11).
    fn is_before(&self, owner: &Arc<Owner>, holder: &Holder) -> bool {
        holder.owner.waits_at(&self.tree, &self.key, owner)
    }

    pub(crate) fn has_waiters(&self) -> bool {
        self.crowd.as_ref().is_some_and(|c| !c.nobody_waits())
    }

    /// Whether a writer that finds no stamp on the row has to wait. Owners that wait do so behind a holder, so the
    /// holders decide.
    pub(crate) fn keeps_out(&self, owner: &Arc<Owner>) -> bool {
        let passes = |h: &Holder| h.pending && h.owner.may_be_passed(now_ns(), PASS_NS);
        self.holders().any(|h| !Arc::ptr_eq(&h.owner, owner) && !passes(h) && !self.is_before(owner, h))
    }

    /// Whether the request stands in line for a reason: the one at the front conflicts with an owner that holds the
    /// record and will release it.
    pub(crate) fn has_reason(&self, mode: Mode, ticket: Ticket, hash: u64) -> bool {
        let Some(crowd) = self.crowd.as_ref().filter(|c| c.has(mode, ticket)) else { return false };
        let releases = |h: &Holder| h.pending || h.owner.held.lock().records.contains(&hash);
        crowd.front().is_some_and(|(front, mode)| {
            let others = |h: &&Holder| h.mode.conflicts(mode) && !Arc::ptr_eq(&h.owner, &front.wait.owner);
            !front.wait.lasts() || self.holders().find(others).is_some_and(releases)
        })
    }

    pub(crate) fn add_holder(&mut self, owner: Arc<Owner>, mode: Mode, pending: bool) {
        if let Some(holder) = self.holder_mut(&owner) {
            holder.mode = holder.mode.max(mode);
            return self.exclusive_first(mode);
        }
        count(Counter::LockRecLockCreated);
        let holder = Holder { owner, mode, pending };
        if self.first.is_none() {
            self.first = Some(holder);
            return;
        }
        let more = &mut self.crowd.get_or_insert_default().more;
        let i = more.partition_point(|h| h.owner.id < holder.owner.id);
        more.insert(i, holder);
        self.exclusive_first(mode);
    }

    /// Whether a shared request waits for a holder is seen by the first. `added`: the mode that came last.
    fn exclusive_first(&mut self, added: Mode) {
        let (Some(first), Some(crowd)) = (&mut self.first, &mut self.crowd) else { return };
        if added == Mode::Exclusive
            && first.mode == Mode::Shared
            && let Some(i) = crowd.more.iter().position(|h| h.mode == Mode::Exclusive)
        {
            std::mem::swap(first, &mut crowd.more[i]);
            crowd.more.sort_unstable_by_key(|h| h.owner.id);
        }
    }

    pub(crate) fn remove_holder(&mut self, owner: &Arc<Owner>) -> bool {
        if self.first.as_ref().is_some_and(|f| Arc::ptr_eq(&f.owner, owner)) {
            count(Counter::LockRecLockRemoved);
            self.first = self.crowd.as_mut().and_then(|c| c.more.pop());
            return true;
        }
        let Some(crowd) = &mut self.crowd else { return false };
        match crowd.more.binary_search_by_key(&owner.id, |h| h.owner.id) {
            Ok(i) => {
                count(Counter::LockRecLockRemoved);
                crowd.more.remove(i);
                true
            }
            Err(_) => false,
        }
    }

    /// Nobody stands in front of the owner: nobody waits, or a holder waits for the owner.
    pub(crate) fn comes_next(&self, owner: &Arc<Owner>) -> bool {
        !self.has_waiters() || self.holders().any(|h| self.is_before(owner, h))
    }

    /// Grants the request if that is possible at once.
    pub(crate) fn request(&mut self, owner: &Arc<Owner>, mode: Mode) -> Outcome {
        let before = self.holder_mut(owner).map(|h| h.mode);
        match before {
            Some(held) if held >= mode => Outcome::Held(held),
            Some(_) if !self.conflicts_with_holders(owner, mode) => {
                self.add_holder(owner.clone(), mode, false);
                Outcome::Raised
            }
            None if self.comes_next(owner) && !self.conflicts_with_holders(owner, mode) => {
                if self.has_waiters() {
                    owner.blocks.store(true, Relaxed);
                }
                self.add_holder(owner.clone(), mode, false);
                Outcome::New
            }
            before => Outcome::Busy { before },
        }
    }

    /// Puts the owner in line and marks the holders that it waits for (INV-LOCK-4).
    pub(crate) fn enqueue(&mut self, wait: Pending, mode: Mode, ticket: Ticket) {
        // Holders are marked once: while an exclusive request waits, all are.
        if self.crowd.as_ref().is_none_or(|c| c.exclusive.is_empty()) {
            for h in self.holders().filter(|h| h.mode.conflicts(mode)) {
                h.owner.blocks.store(true, Relaxed);
            }
        }
        self.crowd.get_or_insert_default().add(mode, Waiter { wait, ticket, site: site() });
    }

    /// Grants as many requests as possible. The owners that were granted go into `granted`.
    pub(crate) fn grant_waiting(&mut self, granted: &mut Vec<Arc<Owner>>) {
        while let Some((front, mode)) = self.crowd.as_ref().and_then(|c| c.front()) {
            count(Counter::LockRecGrantAttempts);
            let waits = front.wait.lasts();
            if waits && self.conflicts_with_holders(&front.wait.owner, mode) {
                break;
            }
            let Some(crowd) = &mut self.crowd else { break };
            let next = match mode {
                // No owner holds the record: any of these may have it. Where one holds it and waits for the front's end
                // (INV-LOCK-11), that is true of the front alone.
                Mode::Exclusive if waits && self.first.is_none() => crowd.take_next(site(), now_ns()),
                _ => crowd.take_front(),
            };
            let Some(Waiter { wait, .. }) = next else { break };
            if !crowd.nobody_waits() {
                wait.owner.blocks.store(true, Relaxed);
            }
            // Otherwise the owner gave up or was chosen as a victim, and removes itself.
            wait.owner.may_be_passed_from(now_ns());
            if wait.grant() {
                self.add_holder(wait.owner.clone(), mode, true);
                granted.push(wait.owner);
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
    pub(crate) fn blockers(
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
            match ahead.find(|w| w.wait.lasts()) {
                Some(w) => Some(&w.wait.owner),
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
