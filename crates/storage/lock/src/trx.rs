//! Waiting for a transaction whose stamp is on a row.
//!
//! The waiting owner enters itself, then reads whether the transaction is still active. The transaction publishes its
//! end, then reads whether an owner waits. One of them sees the other. A transaction that no owner waits for pays one
//! load.

use std::collections::HashMap;

use gannet_base::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use gannet_base::sync::{Arc, Mutex};
use gannet_base::{CachePadded, TrxId};
use gannet_runtime::now_ns;
use gannet_telemetry::Wait as WaitEvent;

use crate::owner::{Owner, Pending, Target};
use crate::tree::TreeLocks;
use crate::{LockError, LockOwner, Wait};

const SHARDS: usize = 64;

#[derive(Default)]
struct Shard {
    /// Number of waiters in `map`.
    count: AtomicUsize,
    map: Mutex<HashMap<u64, Vec<Pending>>>,
}

pub(crate) struct TrxWaits(Box<[CachePadded<Shard>]>);

impl TrxWaits {
    pub(crate) fn new() -> TrxWaits {
        TrxWaits((0..SHARDS).map(|_| CachePadded::default()).collect())
    }

    fn shard(&self, trx: TrxId) -> &Shard {
        &self.0[trx.get() as usize % SHARDS]
    }

    /// Wakes the owners that wait for the transaction. Called after the transaction's end is published.
    pub(crate) fn finished(&self, trx: TrxId, granted: &mut Vec<Arc<Owner>>) {
        let shard = self.shard(trx);
        fence(SeqCst);
        if shard.count.load(Relaxed) == 0 {
            return;
        }
        let mut map = shard.map.lock();
        let waiting = map.remove(&trx.get()).unwrap_or_default();
        shard.count.fetch_sub(waiting.len(), SeqCst);
        granted.extend(waiting.into_iter().filter(Pending::grant).map(|w| w.owner));
    }

    pub(crate) fn anyone_waits_for(&self, trx: TrxId) -> bool {
        let shard = self.shard(trx);
        !trx.is_zero() && shard.count.load(SeqCst) > 0 && shard.map.lock().contains_key(&trx.get())
    }

    fn enter(&self, trx: TrxId, wait: Pending) {
        let shard = self.shard(trx);
        let mut map = shard.map.lock();
        map.entry(trx.get()).or_default().push(wait);
        shard.count.fetch_add(1, SeqCst);
    }

    fn leave(&self, trx: TrxId, owner: &Arc<Owner>) {
        let shard = self.shard(trx);
        let mut map = shard.map.lock();
        if let Some(waiting) = map.get_mut(&trx.get()) {
            let before = waiting.len();
            waiting.retain(|w| !Arc::ptr_eq(&w.owner, owner));
            shard.count.fetch_sub(before - waiting.len(), SeqCst);
            if waiting.is_empty() {
                map.remove(&trx.get());
            }
        }
    }
}

impl LockOwner {
    /// As [`LockOwner::wait_trx`], for a writer that has locked the record before. It keeps its place at the front,
    /// and other writers may have the row before it runs again (INV-LOCK-8). It cannot have relied on the record
    /// while another transaction's stamp was on the row.
    pub fn wait_stamp(
        &self,
        (tree, key): (&Arc<TreeLocks>, &[u8]),
        trx: TrxId,
        active: impl Fn() -> bool,
        wait: Wait,
    ) -> Result<(), LockError> {
        if self.inner.is_passed_from() == 0 {
            self.inner.may_be_passed_from(now_ns());
        }
        self.set_pending(tree, key, true);
        let outcome = self.wait_end(trx, Some((tree, key)), active, wait);
        self.set_pending(tree, key, false);
        outcome
    }

    /// Whether an owner waits for the transaction's end.
    pub fn is_trx_awaited(&self, trx: TrxId) -> bool {
        self.table.trx_waits.anyone_waits_for(trx)
    }

    /// Waits for the end of the transaction whose stamp is on a row. `active` tells whether it still runs; it is
    /// called after the wait is registered, so that an end in between is not missed.
    ///
    /// The caller takes the record's lock first: then one owner for each row waits here, and the others wait in the
    /// record's queue.
    pub fn wait_trx(&self, trx: TrxId, active: impl Fn() -> bool, wait: Wait) -> Result<(), LockError> {
        self.wait_end(trx, None, active, wait)
    }

    /// As [`LockOwner::wait_trx`]. Names the row, for introspection.
    pub fn wait_trx_at(
        &self,
        row: (&Arc<TreeLocks>, &[u8]),
        trx: TrxId,
        active: impl Fn() -> bool,
        wait: Wait,
    ) -> Result<(), LockError> {
        self.wait_end(trx, Some(row), active, wait)
    }

    fn wait_end(
        &self,
        trx: TrxId,
        at: Option<(&Arc<TreeLocks>, &[u8])>,
        active: impl Fn() -> bool,
        wait: Wait,
    ) -> Result<(), LockError> {
        let me = &self.inner;
        let limit = match Self::limit(wait) {
            Ok(limit) => limit,
            Err(e) => return if active() { Err(e) } else { Ok(()) },
        };
        let at = at.map(|(tree, key)| (tree.id(), Arc::from(key)));
        let pending = me.begin_wait(Target::Trx { trx, at });
        self.table.trx_waits.enter(trx, pending.clone());
        fence(SeqCst);
        if !active() {
            self.table.trx_waits.leave(trx, me);
            me.no_wait();
            return Ok(());
        }
        let abandon = || self.table.trx_waits.leave(trx, me);
        let has_reason = || active() && self.table.trx_waits.anyone_waits_for(trx);
        self.wait(pending, WaitEvent::RowLock, limit, abandon, has_reason)
    }
}
