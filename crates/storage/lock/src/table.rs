//! The lock table: sharded record queues, the trees' counters, the list of owners.

use std::collections::{BTreeMap, HashMap};

use gannet_base::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use gannet_base::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use gannet_base::{CachePadded, TreeId};
use gannet_runtime::random_u64;

use crate::LockOwner;
use crate::deadlock::Graph;
use crate::mdl::MdlRegistry;
use crate::owner::Owner;
use crate::queue::Shard;
use crate::tree::TreeLocks;
use crate::trx::TrxWaits;
use crate::waited::AllWaits;

const SHARDS: usize = 256;

/// All row and metadata locks of a store.
pub struct LockTable {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    seed: u64,
    pub(crate) trx_waits: TrxWaits,
    pub(crate) graph: Graph,
    pub(crate) mdl: MdlRegistry,
    pub(crate) mdl_waits: AllWaits,
    trees: Mutex<HashMap<TreeId, Weak<TreeLocks>>>,
    owners: Mutex<BTreeMap<u64, Weak<Owner>>>,
    next_owner: AtomicU64,
    next_ticket: AtomicU64,
    /// See [`LockTable::describe_sessions`].
    pub(crate) describe: OnceLock<Box<Describe>>,
}

pub(crate) type Describe = dyn Fn(u64) -> Vec<u8> + Send + Sync;

impl LockTable {
    /// An empty table.
    pub fn new() -> Arc<LockTable> {
        Arc::new(LockTable {
            shards: (0..SHARDS).map(|_| CachePadded::new(Mutex::new(Shard::default()))).collect(),
            // Keys come from clients, so the hash is seeded: no client should be able to choose keys that collide.
            seed: random_u64(),
            trx_waits: TrxWaits::new(),
            graph: Graph::default(),
            mdl: MdlRegistry::default(),
            mdl_waits: AllWaits::default(),
            trees: Mutex::new(HashMap::new()),
            owners: Mutex::new(BTreeMap::new()),
            next_owner: AtomicU64::new(1),
            next_ticket: AtomicU64::new(1),
            describe: OnceLock::new(),
        })
    }

    /// A new owner. Introspection shows `thread_id`: the connection id, or 0 for background work.
    pub fn owner(self: &Arc<Self>, thread_id: u64) -> LockOwner {
        let id = self.next_owner.fetch_add(1, Relaxed);
        let inner = Arc::new(Owner::new(id, thread_id));
        self.owners.lock().insert(id, Arc::downgrade(&inner));
        LockOwner { table: self.clone(), inner }
    }

    /// A ticket number, greater than all before.
    pub(crate) fn ticket(&self) -> u64 {
        self.next_ticket.fetch_add(1, Relaxed)
    }

    pub(crate) fn forget_owner(&self, id: u64) {
        self.owners.lock().remove(&id);
    }

    /// All owners that exist.
    pub(crate) fn owners(&self) -> Vec<Arc<Owner>> {
        self.owners.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// All owners that wait now.
    pub(crate) fn waiting(&self) -> Vec<Arc<Owner>> {
        let mut all = self.owners();
        all.retain(|o| o.is_waiting() && o.entered.load(Acquire));
        all
    }

    /// The counters and gaps of a tree. All callers get the same one, as long as one of them keeps it.
    pub fn tree(&self, tree: TreeId) -> Arc<TreeLocks> {
        let mut trees = self.trees.lock();
        if let Some(found) = trees.get(&tree).and_then(Weak::upgrade) {
            return found;
        }
        if trees.len() >= 64 && trees.len().is_power_of_two() {
            trees.retain(|_, t| t.strong_count() > 0);
        }
        let made = Arc::new(TreeLocks::new(tree));
        trees.insert(tree, Arc::downgrade(&made));
        made
    }

    pub(crate) fn trees(&self) -> Vec<Arc<TreeLocks>> {
        self.trees.lock().values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // The map inside a shard uses the lowest and the highest bits.
        self.shards[(hash >> 40) as usize % SHARDS].lock()
    }

    pub(crate) fn all_shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(|s| s.lock())
    }

    /// A well mixed hash of tree and key: 8 bytes a step, folded 128-bit products (as in wyhash, Wang Yi).
    pub(crate) fn hash(&self, tree: TreeId, key: &[u8]) -> u64 {
        fn fold(a: u64, b: u64) -> u64 {
            let product = a as u128 * b as u128;
            product as u64 ^ (product >> 64) as u64
        }
        const K0: u64 = 0xa076_1d64_78bd_642f;
        const K1: u64 = 0xe703_7ed1_a0b4_28db;
        let mut hash = fold(self.seed ^ tree.get(), K0);
        let mut chunks = key.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            hash = fold(hash ^ u64::from_le_bytes(word), K1);
        }
        let mut word = [0; 8];
        word[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        fold(hash ^ u64::from_le_bytes(word), K1 ^ key.len() as u64)
    }
}
