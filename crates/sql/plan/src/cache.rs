//! The plan cache.
//!
//! Two levels. The **shared map** is sharded; each shard is a small mutex around a hash table and a CLOCK ring, bounded
//! in bytes. In front of it each worker owns a [`FrontCache`]: a set-associative table of plans it ran recently. A hit
//! there touches nothing that another worker writes: the entry's reference count is the worker's own (an [`Rc`]), and
//! the CLOCK bit is stored only when it is clear.
//!
//! A key names the statement's shape and everything that planning depended on. Statements of one shape can still need
//! several plans, when the plan depends on the value of a literal (`ORDER BY 1`, a literal in the select list): such
//! literals are *pinned*, and every look-up passes a predicate that compares the pins with the statement at hand.
//!
//! Nothing is ever invalidated: the catalog version is part of the key, so plans of an older catalog are no longer
//! found and leave by CLOCK.

use crate::plan::Plan;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use gannet_base::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// What a plan depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanKey {
    /// The parser's hash of the statement's tokens, literals left out but their kinds included.
    pub shape: u128,
    /// Default schema (0 = none).
    pub database: u32,
    /// `CatalogSnapshot::version`.
    pub catalog_version: u64,
    /// sql_mode bits and optimizer switches that matter to planning.
    pub mode: u64,
    /// Collation of the connection.
    pub collation: u16,
    /// Hash of the types bound to `?` markers (0 without).
    pub parameter_types: u64,
}

impl PlanKey {
    /// 64 well-mixed bits. The shape is a good hash already, the rest is folded in by multiplication.
    #[inline]
    pub fn hash(&self) -> u64 {
        const K: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut h = (self.shape as u64) ^ ((self.shape >> 64) as u64).rotate_left(32);
        h ^= (u64::from(self.database) | u64::from(self.collation) << 32).wrapping_mul(K);
        h = (h ^ self.catalog_version.rotate_left(17)).wrapping_mul(K);
        h = (h ^ self.mode ^ self.parameter_types.rotate_left(29)).wrapping_mul(K);
        h ^ (h >> 29)
    }
}

/// A cached plan with the statement digest's handle `D`.
#[derive(Debug)]
pub struct Entry<D> {
    /// Its key.
    pub key: PlanKey,
    /// The plan.
    pub plan: Plan,
    /// Digest statistics handle.
    pub digest: D,
    hash: u64,
    bytes: usize,
    used: AtomicBool,
    /// To be asked before each execution whether it is right for the values.
    asked: AtomicBool,
}

/// A plan as one worker holds it: cloning costs no atomic operation.
pub type Local<D> = Rc<Arc<Entry<D>>>;

/// Counters of a cache, for SHOW STATUS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Entries now.
    pub entries: u64,
    /// Bytes now (estimated).
    pub bytes: u64,
    /// Look-ups in the shared map that found a plan.
    pub shared_hits: u64,
    /// Look-ups that found none.
    pub misses: u64,
    /// Entries evicted.
    pub evictions: u64,
}

const SHARDS: usize = 16;
/// Plans kept for one key before the oldest of them is dropped: bounds shapes whose pinned literals vary.
const VARIANTS: usize = 8;

/// The shared map.
#[derive(Debug)]
pub struct PlanCache<D> {
    shards: Box<[Mutex<Shard<D>>]>,
    capacity: AtomicUsize,
    shared_hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

#[derive(Debug)]
struct Shard<D> {
    map: HashMap<u64, Vec<Arc<Entry<D>>>, BuildHasherDefault<Identity>>,
    ring: Vec<Arc<Entry<D>>>,
    hand: usize,
    bytes: usize,
}

/// Keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*b);
        }
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

impl<D> PlanCache<D> {
    /// A cache that keeps about `capacity_bytes` of plans.
    pub fn new(capacity_bytes: usize) -> PlanCache<D> {
        let shard = || Mutex::new(Shard { map: HashMap::default(), ring: Vec::new(), hand: 0, bytes: 0 });
        PlanCache {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            capacity: AtomicUsize::new(capacity_bytes),
            shared_hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    /// Changes the bound; surplus goes with the next insertions.
    pub fn set_capacity(&self, capacity_bytes: usize) {
        self.capacity.store(capacity_bytes, Ordering::Relaxed);
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard<D>> {
        let shard = &self.shards[(hash >> 60) as usize % SHARDS];
        shard.lock()
    }

    /// Finds a plan whose pins fit.
    pub fn get(&self, key: &PlanKey, fits: impl Fn(&Plan) -> bool) -> Option<Arc<Entry<D>>> {
        let hash = key.hash();
        let found = {
            let shard = self.shard(hash);
            let entries = shard.map.get(&hash).map(Vec::as_slice).unwrap_or_default();
            entries.iter().find(|e| e.key == *key && fits(&e.plan)).cloned()
        };
        match &found {
            Some(entry) => {
                entry.touch();
                self.shared_hits.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
            }
        }
        found
    }

    /// As many plans as may be are kept for the key: another would drive one of them out.
    pub fn is_full(&self, key: &PlanKey) -> bool {
        let hash = key.hash();
        self.shard(hash).map.get(&hash).is_some_and(|v| v.len() >= VARIANTS)
    }

    /// Adds a plan and returns its entry. Two workers may plan the same statement at once; the later entry simply
    /// becomes another variant that leaves by age.
    pub fn insert(&self, key: PlanKey, plan: Plan, digest: D) -> Arc<Entry<D>> {
        let hash = key.hash();
        let bytes = plan.bytes() + size_of::<Entry<D>>();
        let asked = AtomicBool::new(plan.is_dear());
        let entry = Arc::new(Entry { key, plan, digest, hash, bytes, used: AtomicBool::new(false), asked });
        let budget = self.capacity.load(Ordering::Relaxed) / SHARDS;
        if bytes > budget {
            return entry;
        }
        let mut shard = self.shard(hash);
        let variants = shard.map.entry(hash).or_default();
        let surplus = if variants.len() >= VARIANTS { Some(variants.remove(0)) } else { None };
        variants.push(entry.clone());
        if let Some(old) = surplus {
            let position = shard.ring.iter().position(|e| Arc::ptr_eq(e, &old));
            position.into_iter().for_each(|p| drop(shard.ring.swap_remove(p)));
            shard.bytes -= old.bytes;
        }
        let mut evicted = 0;
        while shard.bytes + bytes > budget && shard.evict() {
            evicted += 1;
        }
        shard.bytes += bytes;
        shard.ring.push(entry.clone());
        drop(shard);
        self.evictions.fetch_add(evicted, Ordering::Relaxed);
        entry
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            *shard = Shard { map: HashMap::default(), ring: Vec::new(), hand: 0, bytes: 0 };
        }
    }

    /// Counters; walks the shards, not the entries.
    pub fn counters(&self) -> CacheCounters {
        let mut sum = CacheCounters {
            shared_hits: self.shared_hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            ..CacheCounters::default()
        };
        for shard in &self.shards {
            let shard = shard.lock();
            sum.entries += shard.ring.len() as u64;
            sum.bytes += shard.bytes as u64;
        }
        sum
    }
}

impl<D> Shard<D> {
    /// Drops the first entry under the hand that was not used since the hand came by; false when empty.
    fn evict(&mut self) -> bool {
        while !self.ring.is_empty() {
            self.hand = if self.hand >= self.ring.len() { 0 } else { self.hand };
            if self.ring[self.hand].used.swap(false, Ordering::Relaxed) {
                self.hand += 1;
                continue;
            }
            let victim = self.ring.swap_remove(self.hand);
            self.bytes -= victim.bytes;
            if let Some(variants) = self.map.get_mut(&victim.hash) {
                variants.retain(|e| !Arc::ptr_eq(e, &victim));
                if variants.is_empty() {
                    self.map.remove(&victim.hash);
                }
            }
            return true;
        }
        false
    }
}

impl<D> Entry<D> {
    /// An entry that is in no cache: a plan for one execution, or for one session.
    pub fn alone(key: PlanKey, plan: Plan, digest: D) -> Entry<D> {
        let asked = AtomicBool::new(false);
        Entry { key, plan, digest, hash: key.hash(), bytes: 0, used: AtomicBool::new(false), asked }
    }

    /// Whether a caller has to compare [`Plan::class_of`] with the plan's own class before it runs the plan.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// An execution read so many rows: a plan that was made for fewer is asked from now on.
    #[inline]
    pub fn note_examined(&self, examined: u64) {
        if self.plan.is_exceeded_by(examined) {
            self.asked.store(true, Ordering::Relaxed);
        }
    }

    /// Marks it as used. A load in the common case: the line stays shared.
    #[inline]
    fn touch(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

const WAYS: usize = 4;

/// A worker's own cache. It keeps plans alive that the shared map may have dropped; its size is fixed.
#[derive(Debug)]
pub struct FrontCache<D> {
    /// Sets of `WAYS` slots; within a set the most recently inserted comes first.
    slots: Box<[Option<(u64, Local<D>)>]>,
    mask: usize,
    hits: u64,
}

impl<D> FrontCache<D> {
    /// A table for about `entries` plans (rounded up to a power of two, at least 64).
    pub fn new(entries: usize) -> FrontCache<D> {
        let sets = entries.div_ceil(WAYS).next_power_of_two().max(16);
        FrontCache { slots: (0..sets * WAYS).map(|_| None).collect(), mask: sets - 1, hits: 0 }
    }

    /// Hits since the worker started.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    #[inline]
    fn set(&self, hash: u64) -> usize {
        (hash as usize & self.mask) * WAYS
    }

    /// Finds a plan. `fits` compares its pinned literals with the statement.
    #[inline]
    pub fn get(&mut self, key: &PlanKey, fits: impl Fn(&Plan) -> bool) -> Option<Local<D>> {
        let hash = key.hash();
        let base = self.set(hash);
        for slot in &self.slots[base..base + WAYS] {
            if let Some((h, local)) = slot
                && *h == hash
                && local.key == *key
                && fits(&local.plan)
            {
                local.touch();
                self.hits += 1;
                return Some(local.clone());
            }
        }
        None
    }

    /// Remembers an entry of the shared map. The second result is the entry that it replaces. The caller drops that
    /// after it has released this table, because dropping it may release a plan and all that the plan holds.
    #[must_use]
    pub fn put(&mut self, entry: Arc<Entry<D>>) -> (Local<D>, Option<Local<D>>) {
        let base = self.set(entry.hash);
        let set = &mut self.slots[base..base + WAYS];
        set.rotate_right(1);
        let local = Rc::new(entry);
        let goes = set[0].replace((local.hash, local.clone()));
        (local, goes.map(|(_, old)| old))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.fill_with(|| None);
    }
}
