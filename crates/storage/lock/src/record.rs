//! Record locks: a queue for each locked key.
//!
//! INV-LOCK-1: the waiting are served in order: one is granted when it conflicts with no holder, and never before
//! one in front of it. An owner that raises its shared lock goes in front: all others wait for it anyway.
//! INV-LOCK-2: a queue is in its shard if and only if somebody holds or waits.

use std::collections::VecDeque;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::{Relaxed, SeqCst};
use gannet_runtime::Wait as WaitEvent;

use crate::graph::Edge;
use crate::owner::{Owner, Target};
use crate::table::{LockTable, Shard, TreeLocks, after_counter};
use crate::{Granted, LockError, LockOwner, Mode, Wait};

/// One who holds.
pub(crate) struct Holder {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: Mode,
}

/// One who waits.
pub(crate) struct Waiter {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: Mode,
    raise: bool,
}

/// What most queues do not have: more than one holder, or waiters.
#[derive(Default)]
pub(crate) struct Crowd {
    /// Sorted by owner id.
    pub(crate) more: Vec<Holder>,
    pub(crate) waiting: VecDeque<Waiter>,
}

/// The lock of one record. Small, because a scan may make millions.
pub(crate) struct RecordQueue {
    pub(crate) tree: Arc<TreeLocks>,
    pub(crate) key: Box<[u8]>,
    pub(crate) first: Option<Holder>,
    pub(crate) crowd: Option<Box<Crowd>>,
    /// Another key with the same hash.
    next: Option<Box<RecordQueue>>,
}

/// What became of a request.
enum Outcome {
    New,
    Held(Mode),
    Raised,
    Busy { before: Option<Mode> },
}

fn find<'a>(shard: &'a mut Shard, hash: u64, tree: &Arc<TreeLocks>, key: &[u8]) -> Option<&'a mut RecordQueue> {
    let mut at = shard.get_mut(&hash);
    while let Some(queue) = at {
        if Arc::ptr_eq(&queue.tree, tree) && *queue.key == *key {
            return Some(queue);
        }
        at = queue.next.as_deref_mut();
    }
    None
}

fn find_or_insert<'a>(shard: &'a mut Shard, hash: u64, tree: &Arc<TreeLocks>, key: &[u8]) -> &'a mut RecordQueue {
    let make = || RecordQueue { tree: tree.clone(), key: key.into(), first: None, crowd: None, next: None };
    let mut at = shard.entry(hash).or_insert_with(make);
    while !(Arc::ptr_eq(&at.tree, tree) && *at.key == *key) {
        at = at.next.get_or_insert_with(|| Box::new(make()));
    }
    at
}

/// Removes empty queues of that hash (INV-LOCK-2).
fn prune(shard: &mut Shard, hash: u64) {
    let mut rest = shard.remove(&hash).map(Box::new);
    let mut kept: Option<Box<RecordQueue>> = None;
    while let Some(mut queue) = rest {
        rest = queue.next.take();
        if !queue.is_empty() {
            queue.next = kept.take();
            kept = Some(queue);
        }
    }
    if let Some(kept) = kept {
        shard.insert(hash, *kept);
    }
}

impl RecordQueue {
    fn is_empty(&self) -> bool {
        self.first.is_none() && self.crowd.as_ref().is_none_or(|c| c.more.is_empty() && c.waiting.is_empty())
    }

    pub(crate) fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.first.iter().chain(self.crowd.iter().flat_map(|c| &c.more))
    }

    /// Another queue of the same hash.
    pub(crate) fn chained(&self) -> Option<&RecordQueue> {
        self.next.as_deref()
    }

    pub(crate) fn waiters(&self) -> impl DoubleEndedIterator<Item = &Waiter> {
        self.crowd.iter().flat_map(|c| &c.waiting)
    }

    fn holder_mut(&mut self, owner: &Arc<Owner>) -> Option<&mut Holder> {
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
        // With a crowd of holders all are shared: the first stranger decides.
        self.holders().any(|h| h.mode.conflicts(mode) && !Arc::ptr_eq(&h.owner, owner))
    }

    fn has_waiters(&self) -> bool {
        self.crowd.as_ref().is_some_and(|c| !c.waiting.is_empty())
    }

    fn add_holder(&mut self, owner: Arc<Owner>, mode: Mode) {
        if let Some(holder) = self.holder_mut(&owner) {
            holder.mode = holder.mode.max(mode);
            return;
        }
        let holder = Holder { owner, mode };
        if self.first.is_none() {
            self.first = Some(holder);
            return;
        }
        let more = &mut self.crowd.get_or_insert_default().more;
        let i = more.partition_point(|h| h.owner.id < holder.owner.id);
        more.insert(i, holder);
    }

    fn remove_holder(&mut self, owner: &Arc<Owner>) -> bool {
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

    /// Grants at once if possible.
    fn request(&mut self, owner: &Arc<Owner>, mode: Mode) -> Outcome {
        let before = self.holder_mut(owner).map(|h| h.mode);
        match before {
            Some(held) if held >= mode => Outcome::Held(held),
            Some(_) if !self.conflicts_with_holders(owner, mode) => {
                self.add_holder(owner.clone(), mode);
                Outcome::Raised
            }
            None if !self.has_waiters() && !self.conflicts_with_holders(owner, mode) => {
                self.add_holder(owner.clone(), mode);
                Outcome::New
            }
            before => Outcome::Busy { before },
        }
    }

    /// Puts the owner in line and marks those nearest in front that it waits for (INV-LOCK-4).
    fn enqueue(&mut self, owner: &Arc<Owner>, mode: Mode, raise: bool) {
        let mut beyond = true;
        if !raise {
            for w in self.waiters().rev().filter(|w| w.owner.is_waiting()) {
                if w.mode.conflicts(mode) {
                    w.owner.blocks.store(true, Relaxed);
                }
                if w.mode == Mode::Exclusive {
                    beyond = false;
                    break;
                }
            }
        }
        if beyond {
            for h in self.holders().filter(|h| h.mode.conflicts(mode)) {
                h.owner.blocks.store(true, Relaxed);
            }
        }
        let waiting = &mut self.crowd.get_or_insert_default().waiting;
        let at = if raise { waiting.iter().take_while(|w| w.raise).count() } else { waiting.len() };
        waiting.insert(at, Waiter { owner: owner.clone(), mode, raise });
    }

    /// Grants from the front as far as possible; whom, goes into `granted`.
    fn grant_waiting(&mut self, granted: &mut Vec<Arc<Owner>>) {
        while let Some(front) = self.crowd.as_ref().and_then(|c| c.waiting.front()) {
            if front.owner.is_waiting() && self.conflicts_with_holders(&front.owner, front.mode) {
                break;
            }
            let Some(Waiter { owner, mode, .. }) = self.crowd.as_mut().and_then(|c| c.waiting.pop_front()) else {
                break;
            };
            // Else it gave up or was condemned, and takes care of itself.
            if owner.grant() {
                self.add_holder(owner.clone(), mode);
                granted.push(owner);
            }
        }
    }

    /// Whom the waiting `owner` waits for: its nearest conflicting neighbours, which wait for the rest.
    fn blockers(&self, owner: &Arc<Owner>, mode: Mode, out: &mut Vec<Edge>) {
        let mut ahead = self.waiters().rev().skip_while(|w| !Arc::ptr_eq(&w.owner, owner));
        let Some(own) = ahead.next() else { return };
        if !own.raise {
            // One that has given up but is still in the queue leads nowhere.
            for w in ahead.filter(|w| w.owner.is_waiting()) {
                if w.mode.conflicts(mode) {
                    out.push(Edge { to: w.owner.clone(), mode: Some(w.mode) });
                }
                if w.mode == Mode::Exclusive {
                    return;
                }
            }
        }
        for h in self.holders() {
            if h.mode.conflicts(mode) && !Arc::ptr_eq(&h.owner, owner) {
                out.push(Edge { to: h.owner.clone(), mode: Some(h.mode) });
            }
        }
    }
}

impl LockTable {
    /// Gives back one record lock of that hash.
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

    pub(crate) fn record_blockers(
        &self,
        owner: &Arc<Owner>,
        hash: u64,
        tree: &Arc<TreeLocks>,
        key: &[u8],
        mode: Mode,
        out: &mut Vec<Edge>,
    ) {
        if let Some(queue) = find(&mut self.shard(hash), hash, tree, key) {
            queue.blockers(owner, mode, out);
        }
    }
}

impl LockOwner {
    /// Locks a record, waiting in FIFO order; with [`Wait::No`] never waiting.
    ///
    /// The lock is entered before this returns: read the row afterwards (INV-LOCK-3). If the row then carries the stamp
    /// of another active transaction, wait for that with [`LockOwner::wait_trx`], or for SKIP LOCKED unlock again.
    pub fn lock_record(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode, wait: Wait) -> Result<Granted, LockError> {
        let me = &self.inner;
        let hash = self.table.hash(tree.id(), key);
        tree.records.fetch_add(1, SeqCst);
        let mut shard = self.table.shard(hash);
        let queue = find_or_insert(&mut shard, hash, tree, key);
        let before = match queue.request(me, mode) {
            Outcome::New => {
                me.hold().records.push(hash);
                drop(shard);
                after_counter();
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
        me.begin_wait(Target::Record { hash, tree: tree.clone(), key: key.into(), mode });
        queue.enqueue(me, mode, before.is_some());
        drop(shard);
        let outcome = self.wait(WaitEvent::RowLock, limit, || self.abandon_record(hash, tree, key));
        match (&outcome, before) {
            (Ok(()), None) => me.hold().records.push(hash),
            // Nothing new is held.
            _ => _ = tree.records.fetch_sub(1, SeqCst),
        }
        outcome.map(|()| Granted { waited: true, before })
    }

    /// Takes the waiting owner out of the queue; those behind may now be served.
    fn abandon_record(&self, hash: u64, tree: &Arc<TreeLocks>, key: &[u8]) {
        let mut granted = Vec::new();
        {
            let mut shard = self.table.shard(hash);
            let Some(queue) = find(&mut shard, hash, tree, key) else { return };
            if let Some(crowd) = &mut queue.crowd {
                crowd.waiting.retain(|w| !Arc::ptr_eq(&w.owner, &self.inner));
            }
            queue.grant_waiting(&mut granted);
            if queue.is_empty() {
                prune(&mut shard, hash);
            }
        }
        Owner::wake_all(&granted);
    }

    /// Gives back what the last [`LockOwner::lock_record`] on the record added, before the transaction's end (READ
    /// COMMITTED: the row does not match; SKIP LOCKED: it has a foreign stamp). `before` is what that call returned.
    pub fn unlock_record(&self, tree: &Arc<TreeLocks>, key: &[u8], before: Option<Mode>) {
        let me = &self.inner;
        let hash = self.table.hash(tree.id(), key);
        let mut granted = Vec::new();
        {
            let mut shard = self.table.shard(hash);
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

    /// Makes a lock that so far was only the row's stamp an explicit one: before the stamp goes away although the
    /// transaction goes on (ROLLBACK TO SAVEPOINT keeps row locks). When others are in line for the row already, they wait
    /// for this transaction's end, and nothing is added.
    pub fn keep_record(&self, tree: &Arc<TreeLocks>, key: &[u8]) {
        let hash = self.table.hash(tree.id(), key);
        tree.records.fetch_add(1, SeqCst);
        let mut shard = self.table.shard(hash);
        let queue = find_or_insert(&mut shard, hash, tree, key);
        match queue.request(&self.inner, Mode::Exclusive) {
            Outcome::New => self.inner.hold().records.push(hash),
            Outcome::Held(_) | Outcome::Raised | Outcome::Busy { .. } => _ = tree.records.fetch_sub(1, SeqCst),
        }
    }

    /// What this owner holds of the record.
    pub fn record_mode(&self, tree: &Arc<TreeLocks>, key: &[u8]) -> Option<Mode> {
        let hash = self.table.hash(tree.id(), key);
        find(&mut self.table.shard(hash), hash, tree, key)?.holder_mut(&self.inner).map(|h| h.mode)
    }

    /// Would this owner have to wait for an explicit lock of the record? Never parks: for writers under a latch, when
    /// [`TreeLocks::no_records`] is false. A waiting request of another owner counts: it comes first.
    pub fn record_blocked(&self, tree: &Arc<TreeLocks>, key: &[u8], mode: Mode) -> bool {
        let hash = self.table.hash(tree.id(), key);
        let mut shard = self.table.shard(hash);
        let Some(queue) = find(&mut shard, hash, tree, key) else { return false };
        match queue.holder_mut(&self.inner).map(|h| h.mode) {
            Some(held) if held >= mode => false,
            Some(_) => queue.conflicts_with_holders(&self.inner, mode),
            None => queue.has_waiters() || queue.conflicts_with_holders(&self.inner, mode),
        }
    }
}
