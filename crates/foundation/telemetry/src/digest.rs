//! Statistics per statement digest, in fixed memory.
//!
//! The key is a 128-bit hash of a statement's normalised text; the digest that is shown is made once, with the entry.
//! The plan cache holds a [`DigestHandle`] with the plan, so a hit costs no look-up here: the executing thread adds to
//! a block that only it writes. Threads with a slot number
//! beyond the first 32 (one thread a connection) share one block per digest and pay for atomic additions.

use std::collections::HashMap;
use std::num::NonZeroU128;

use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex, OnceLock, RwLock};
use gannet_base::{CachePadded, prefetch};

use crate::Histogram;
use crate::executions::{Cells, Did, Execution};
use crate::histogram::{Bucket, SharedHistogram};

/// What statements are grouped by: a 128-bit hash of the normalised text, which is not shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DigestKey(pub u128);

/// What is kept of the first statement of a digest.
#[derive(Clone, Debug, Default)]
pub struct DigestTexts<S> {
    /// The digest as it is shown.
    pub digest: String,
    /// Normalised text, which the store cuts to its bound.
    pub text: String,
    /// The statement as it was written, as far as it may be kept.
    pub sample: S,
}

/// Sums over executions.
#[derive(Clone, Default, Debug)]
pub struct Sums {
    /// All but the distribution of latencies. The least, the greatest and the most memory are since the last reset.
    pub did: Did,
    /// Distribution of latencies.
    pub latency: Histogram,
}

impl Sums {
    /// Nothing yet.
    fn with(latency: Histogram) -> Sums {
        Sums { did: Did::default(), latency }
    }

    /// What was added since `before`, an earlier state.
    fn since(&mut self, before: &Sums) {
        self.did.since(&before.did);
        self.latency.since(&before.latency);
    }
}

/// Executions by one thread. Sums only grow: no other thread can set them back without losing an addition. It has its
/// lines for itself by the alignment of its cells; twice that would cost 10,000 digests 3 MiB.
struct Block {
    cells: Cells,
    /// No hash is 0 in practice.
    key: Option<NonZeroU128>,
    /// Since the entry was reset.
    first_seen_us: AtomicU64,
    last_seen_us: AtomicU64,
    /// When the first execution ended, and how long it took.
    began_us: AtomicU64,
    began_ns: AtomicU64,
    latency: SharedHistogram,
}

impl Block {
    fn new(key: Option<DigestKey>) -> Self {
        Block {
            cells: Cells::default(),
            key: key.and_then(|key| NonZeroU128::new(key.0)),
            first_seen_us: AtomicU64::new(0),
            last_seen_us: AtomicU64::new(0),
            began_us: AtomicU64::new(0),
            began_ns: AtomicU64::new(0),
            latency: SharedHistogram::new(),
        }
    }

    fn add_to(&self, s: &mut Sums) {
        s.did.add(&self.cells.read());
        self.latency.add_to(&mut s.latency);
    }

    /// `owned`: no other thread writes to it.
    #[inline(always)]
    fn record(&self, owned: bool, e: &Execution, bucket: Bucket) {
        if !owned {
            // A copy, so that what is passed by reference in a rare case need not lie in memory in any other.
            return self.record_shared(&Execution { ..*e }, bucket);
        }
        self.cells.add_owned(e);
        if e.end_unix_us > self.last_seen_us.load(Relaxed) {
            self.last_seen_us.store(e.end_unix_us, Relaxed);
        }
        if self.first_seen_us.load(Relaxed) == 0 {
            self.begin(e.end_unix_us, e.latency_ns);
        }
        self.latency.record_owned(bucket);
    }

    #[cold]
    fn record_shared(&self, e: &Execution, bucket: Bucket) {
        self.cells.add_shared(e);
        self.last_seen_us.fetch_max(e.end_unix_us, Relaxed);
        if self.first_seen_us.load(Relaxed) == 0 {
            self.begin(e.end_unix_us, e.latency_ns);
        }
        self.latency.record_shared(bucket);
    }

    /// The first execution since the entry was made or reset. Of several threads that share the block, one.
    #[cold]
    fn begin(&self, end_unix_us: u64, latency_ns: u64) {
        let first = self.first_seen_us.compare_exchange(0, end_unix_us, Relaxed, Relaxed).is_ok();
        if first && self.began_us.load(Relaxed) == 0 {
            self.began_us.store(end_unix_us, Relaxed);
            self.began_ns.store(latency_ns, Relaxed);
        }
    }

    /// Forgets what is no sum.
    fn restart(&self) {
        self.cells.restart();
        self.first_seen_us.store(0, Relaxed);
        self.last_seen_us.store(0, Relaxed);
    }
}

/// One digest's statistics, summed at one moment.
#[derive(Clone, Debug)]
pub struct DigestSnapshot<S> {
    /// `None` for the row that stands for all statements beyond the memory bound.
    pub texts: Option<Arc<DigestTexts<S>>>,
    /// Default database of the statement.
    pub schema: Arc<str>,
    /// When the first execution ended, microseconds since 1970; 0 without any.
    pub first_seen_us: u64,
    /// When the last execution ended, microseconds since 1970.
    pub last_seen_us: u64,
    /// When the execution of the sample ended, microseconds since 1970.
    pub sample_seen_us: u64,
    /// Its latency in nanoseconds.
    pub sample_ns: u64,
    /// Sums over the executions.
    pub sums: Sums,
}

/// Slots with a block of their own.
const OWN_BLOCKS: usize = 32;

struct Entry<S> {
    /// No other entry of the process has it.
    number: u64,
    /// `None`: the row of all others.
    key: Option<DigestKey>,
    /// The same.
    texts: Option<Arc<DigestTexts<S>>>,
    schema: Arc<str>,
    /// The sums when the entry was reset.
    before: Mutex<Option<Box<Sums>>>,
    /// Which of the following there are, a bit for each.
    made: AtomicU64,
    own: [OnceLock<Arc<Block>>; OWN_BLOCKS],
    shared: OnceLock<Arc<Block>>,
}

impl<S: Clone> Entry<S> {
    fn new(key: Option<DigestKey>, texts: Option<DigestTexts<S>>, schema: &str) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Entry {
            number: NUMBERS.fetch_add(1, Relaxed),
            key,
            texts: texts.map(Arc::new),
            schema: schema.into(),
            before: Mutex::new(None),
            made: AtomicU64::new(0),
            own: [const { OnceLock::new() }; OWN_BLOCKS],
            shared: OnceLock::new(),
        }
    }

    /// Of a few dozen places one or two are taken, and the others are not looked at.
    fn blocks(&self) -> impl Iterator<Item = &Block> + Clone {
        let mut left = self.made.load(Relaxed);
        let numbers = std::iter::from_fn(move || {
            let number = (left != 0).then_some(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(number)
        });
        numbers.filter_map(|number| self.own.get(number).unwrap_or(&self.shared).get().map(|b| &**b))
    }

    /// All that was ever added.
    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        self.blocks().for_each(|b| b.add_to(&mut sums));
        sums
    }

    fn snapshot(&self, latencies: bool) -> DigestSnapshot<S> {
        let latency = if latencies { Histogram::new() } else { Histogram::none() };
        let mut s = DigestSnapshot {
            texts: self.texts.clone(),
            schema: self.schema.clone(),
            first_seen_us: 0,
            last_seen_us: 0,
            sample_seen_us: 0,
            sample_ns: 0,
            sums: Sums::with(latency),
        };
        for block in self.blocks() {
            block.add_to(&mut s.sums);
            let at = |of: &AtomicU64| of.load(Relaxed);
            let (first, began) = (at(&block.first_seen_us), (at(&block.began_us), at(&block.began_ns)));
            if first > 0 && (s.first_seen_us == 0 || first < s.first_seen_us) {
                s.first_seen_us = first;
            }
            if began.0 > 0 && (s.sample_seen_us == 0 || began < (s.sample_seen_us, s.sample_ns)) {
                (s.sample_seen_us, s.sample_ns) = began;
            }
            s.last_seen_us = s.last_seen_us.max(at(&block.last_seen_us));
        }
        if let Some(before) = &*self.before.lock() {
            s.sums.since(before);
        }
        if s.first_seen_us == 0 {
            // An execution that ended during a reset is not noted as the first.
            s.first_seen_us = s.last_seen_us;
        }
        s
    }

    /// From here on it says what comes, while others go on adding.
    fn restart(&self) {
        let mut before = self.before.lock();
        *before = Some(Box::new(self.sums()));
        self.blocks().for_each(Block::restart);
    }
}

/// The way to one digest's counters. Cheap to clone; kept with the plan.
pub struct DigestHandle<S>(Arc<Entry<S>>);

impl<S> Clone for DigestHandle<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Clone> DigestHandle<S> {
    /// Adds one execution, made by the calling thread.
    #[inline(always)]
    pub fn record(&self, e: &Execution) {
        self.record_in(e, Bucket::of(e.latency_ns));
    }

    /// The same, where the bucket of its latency is known.
    #[inline(always)]
    pub fn record_in(&self, e: &Execution, bucket: Bucket) {
        let (place, owned) = self.place();
        place.record(owned, e, bucket);
    }

    /// Where the calling thread adds executions: to be kept by it until one ends. Making it writes nothing that other
    /// threads write.
    #[inline]
    pub fn here(&self) -> DigestPlace {
        let (place, owned) = self.place();
        DigestPlace { block: place.clone(), owned }
    }

    /// The calling thread's block; or, without one of its own, the one that all such threads share.
    #[inline(always)]
    fn place(&self) -> (&Arc<Block>, bool) {
        let number = gannet_base::slot::current();
        let own = self.0.own.get(number);
        let make = || {
            self.0.made.fetch_or(1 << number.min(OWN_BLOCKS), Relaxed);
            Arc::new(Block::new(self.0.key))
        };
        (own.unwrap_or(&self.0.shared).get_or_init(make), own.is_some())
    }

    /// The key of the digest; `None` for the row of all others.
    pub fn key(&self) -> Option<DigestKey> {
        self.0.key
    }

    /// Asks the processor for what a snapshot looks at first. Of thousands of digests none is in its caches, and each
    /// lies in four places, one behind the other: one is approached while others are read.
    pub fn approach(&self) {
        let entry = &*self.0;
        prefetch(&entry.made, 0..8);
        prefetch(&entry.texts, 0..8);
        prefetch(&entry.schema, 0..16);
        prefetch(&entry.own, 0..64);
    }

    /// Then for what that leads to.
    pub fn approach_parts(&self) {
        self.0.blocks().for_each(|block| prefetch(block, 0..size_of::<Block>()));
        self.0.texts.iter().for_each(|texts| prefetch(&**texts, 0..size_of::<DigestTexts<S>>()));
    }

    /// The sums at this moment.
    pub fn snapshot(&self) -> DigestSnapshot<S> {
        self.0.snapshot(true)
    }

    /// The same without the distribution of latencies, which is most of what there is to sum.
    pub fn bare(&self) -> DigestSnapshot<S> {
        self.0.snapshot(false)
    }

    /// An upper bound of each of these quantiles (0 to 1, the least first) in nanoseconds; 0 without executions.
    pub fn quantiles<const N: usize>(&self, of: [f64; N]) -> [u64; N] {
        let before = self.0.before.lock();
        SharedHistogram::quantiles(self.0.blocks().map(|b| &b.latency), before.as_ref().map(|b| &b.latency), of)
    }

    /// A number that no other digest of the process has, nor this one when it has been forgotten and come again.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// All executions there ever were.
    pub fn executions(&self) -> u64 {
        self.0.blocks().map(|b| b.cells.count()).sum()
    }

    /// All that was ever added.
    pub fn sums(&self) -> Sums {
        self.0.sums()
    }

    /// What is kept of its first statement; `None` for the row of all others.
    pub fn texts(&self) -> Option<&DigestTexts<S>> {
        self.0.texts.as_deref()
    }

    /// The default database.
    pub fn schema(&self) -> &str {
        &self.0.schema
    }
}

/// A thread's way to one digest's counters, for an execution that ends later.
pub struct DigestPlace {
    block: Arc<Block>,
    owned: bool,
}

impl DigestPlace {
    /// The key of the digest; `None` for the row of all others.
    pub fn key(&self) -> Option<DigestKey> {
        self.block.key.map(|key| DigestKey(key.get()))
    }

    /// [`DigestHandle::record_in`]. By the thread that called [`DigestHandle::here`].
    #[inline(always)]
    pub fn record_in(&self, e: &Execution, bucket: Bucket) {
        self.block.record(self.owned, e, bucket);
    }
}

/// All digests of the server; `S` is what is kept of a statement as a sample, which its maker bounds. Memory is
/// bounded: `max_digests` entries, each with at most one block per worker; the statements of further digests are
/// counted in one entry without a digest, as MySQL does.
pub struct StatementStats<S> {
    max_digests: AtomicUsize,
    max_text: usize,
    shards: [CachePadded<RwLock<Shard<S>>>; SHARDS],
    size: AtomicUsize,
    lost: AtomicU64,
    others: DigestHandle<S>,
}

const SHARDS: usize = 16;

/// By digest and default database.
type Shard<S> = HashMap<(DigestKey, String), DigestHandle<S>>;

impl<S: Clone> StatementStats<S> {
    /// An empty store for at most `max_digests` digests whose normalised texts are cut to `max_text` bytes.
    pub fn new(max_digests: usize, max_text: usize) -> Self {
        StatementStats {
            max_digests: AtomicUsize::new(max_digests),
            max_text,
            shards: std::array::from_fn(|_| CachePadded::new(RwLock::new(HashMap::new()))),
            size: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            others: DigestHandle(Arc::new(Entry::new(None, None, ""))),
        }
    }

    fn shard(&self, key: DigestKey) -> &RwLock<Shard<S>> {
        &self.shards[(key.0 >> 64) as usize % SHARDS].0
    }

    /// The handle of a digest in a schema. For plan cache misses, not for every execution.
    pub fn find(&self, key: DigestKey, schema: &str) -> Option<DigestHandle<S>> {
        self.shard(key).read().get(&(key, schema.to_owned())).cloned()
    }

    /// The handle of a digest in a schema, made if it is new.
    pub fn enter(&self, key: DigestKey, schema: &str, texts: DigestTexts<S>) -> DigestHandle<S> {
        let mut map = self.shard(key).write();
        let key = (key, schema.to_owned());
        if let Some(found) = map.get(&key) {
            return found.clone();
        }
        if self.size.fetch_add(1, Relaxed) >= self.max_digests.load(Relaxed) {
            self.size.fetch_sub(1, Relaxed);
            self.lost.fetch_add(1, Relaxed);
            return self.others.clone();
        }
        let texts = DigestTexts { text: cut(texts.text, self.max_text), ..texts };
        let made = DigestHandle(Arc::new(Entry::new(Some(key.0), Some(texts), &key.1)));
        map.insert(key, made.clone());
        made
    }

    /// What is kept of a digest, in whatever schema: as it is shown, and its normalised text.
    pub fn known(&self, key: DigestKey) -> Option<(String, String)> {
        let shard = self.shard(key).read();
        let (_, handle) = shard.iter().find(|((k, _), _)| *k == key)?;
        handle.0.texts.as_ref().map(|t| (t.digest.clone(), t.text.clone()))
    }

    /// Calls `f` with each digest that is kept; new ones wait meanwhile.
    pub fn each(&self, mut f: impl FnMut(&DigestHandle<S>)) {
        for shard in &self.shards {
            shard.read().values().for_each(&mut f);
        }
    }

    /// Digests kept.
    pub fn len(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// How often there was no room for another digest.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// True when no digest is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sums of all digests that were executed, in no order; the row of the others last.
    /// Each is summed when its turn comes: ten thousand at once would be 30 MB.
    pub fn snapshots(&self) -> impl Iterator<Item = DigestSnapshot<S>> {
        self.snapshots_with(true)
    }

    /// The same; without `latencies` their distributions are empty, which are most of what there is to sum.
    pub fn snapshots_with(&self, latencies: bool) -> impl Iterator<Item = DigestSnapshot<S>> + use<S> {
        self.all().into_iter().map(move |h| h.0.snapshot(latencies)).filter(|s| s.sums.did.count > 0)
    }

    /// All digests; the row of the others last.
    pub fn all(&self) -> Vec<DigestHandle<S>> {
        let mut handles = Vec::with_capacity(self.len() + 1);
        for shard in &self.shards {
            handles.extend(shard.read().values().cloned());
        }
        // What was made together lies together: in the order of memory, most is there before it is asked for.
        handles.sort_unstable_by_key(|h| Arc::as_ptr(&h.0).addr());
        handles.push(self.others.clone());
        handles
    }

    /// Forgets all executions (TRUNCATE of the summary table). Of digests that plans and prepared statements hold, the
    /// entry stays, with its sample. Executions that end meanwhile may be lost or kept.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut map = shard.write();
            let all = map.len();
            map.retain(|_, handle| Arc::strong_count(&handle.0) > 1);
            self.size.fetch_sub(all - map.len(), Relaxed);
            map.values().for_each(|handle| handle.0.restart());
        }
        self.others.0.restart();
    }
}

fn cut(mut s: String, max: usize) -> String {
    if s.len() > max {
        s.truncate(s.floor_char_boundary(max));
    }
    s.shrink_to_fit();
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rare;

    #[test]
    fn counts_and_merges() {
        let stats = StatementStats::new(2, 5);
        let texts = |text: &str| DigestTexts { digest: "d".into(), text: text.into(), sample: "SELECT 1" };
        let h = stats.enter(DigestKey(1), "test", texts("SELECT ?"));
        assert!(stats.snapshots().next().is_none(), "a statement that was prepared only");
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let h = h.clone();
                std::thread::spawn(move || {
                    for _ in 0..100 {
                        h.record(&Execution {
                            latency_ns: 1000 * (i + 1),
                            rows_sent: 2,
                            end_unix_us: i + 1,
                            ..Default::default()
                        });
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let s = stats.snapshots().next().unwrap();
        let (n, latency) = (&s.sums.did, &s.sums.latency);
        assert_eq!((n.count, n.rows_sent, n.min_ns, n.max_ns, n.total_ns), (400, 800, 1000, 4000, 1_000_000));
        let text = s.texts.as_ref().map_or("", |t| &t.text);
        assert_eq!((text, latency.count(), s.last_seen_us), ("SELEC", 400, 4));
        // A thread may have ended before another begins, which then adds to the same block.
        assert_eq!((s.first_seen_us, s.sample_ns), (s.sample_seen_us, 1000 * s.sample_seen_us));
        let bare = h.bare();
        assert_eq!((bare.sums.did.count, bare.sums.latency.count(), bare.sample_ns), (400, 0, s.sample_ns));
        assert_eq!(h.quantiles([0.25, 0.26, 1.0]), latency.quantiles([0.25, 0.26, 1.0]));
        let again = [stats.find(DigestKey(1), "test").unwrap(), stats.enter(DigestKey(1), "test", texts("x"))];
        assert!(again.iter().all(|a| Arc::ptr_eq(&h.0, &a.0)));
        assert!(stats.find(DigestKey(1), "other").is_none());
    }

    #[test]
    fn a_worker_takes_896_bytes_of_a_digest_with_its_counts_of_holders() {
        assert!(size_of::<Block>() <= 704 && size_of::<Block>().is_multiple_of(64));
    }

    #[test]
    fn memory_is_bounded() {
        let stats = StatementStats::new(2, 100);
        let rare = Rare { error: true, ..Rare::default() }.if_any();
        for i in 0..10u128 {
            let texts = DigestTexts { text: i.to_string(), ..DigestTexts::<()>::default() };
            stats.enter(DigestKey(i << 60), "", texts).record(&Execution { rare, ..Default::default() });
        }
        assert_eq!((stats.len(), stats.lost()), (2, 8));
        let all: Vec<_> = stats.snapshots().collect();
        assert_eq!(all.len(), 3);
        let others = all.iter().find(|s| s.texts.is_none()).unwrap();
        assert_eq!((others.sums.did.count, others.sums.did.errors, others.sums.latency.count()), (8, 8, 8));
        let bare: Vec<_> = stats.snapshots_with(false).collect();
        assert!(bare.iter().map(|s| s.sums.did.count).eq(all.iter().map(|s| s.sums.did.count)));
        assert!(bare.iter().all(|s| s.sums.latency.count() == 0 && s.sums.latency.quantile(0.5) == 0));
        stats.clear();
        assert!(stats.is_empty() && stats.snapshots().next().is_none());
    }

    #[test]
    fn what_is_held_counts_from_zero_again() {
        let stats = StatementStats::new(5, 100);
        let held = stats.enter(DigestKey(1), "", DigestTexts::<()>::default());
        stats.enter(DigestKey(2), "", DigestTexts::default()).record(&Execution::default());
        let slow = Execution { latency_ns: 1 << 20, rows_sent: 3, end_unix_us: 7, ..Default::default() };
        let quick = Execution { latency_ns: 1 << 10, rows_sent: 1, end_unix_us: 9, ..Default::default() };
        (0..1000).for_each(|_| held.record(&slow));
        // One writer goes on while it is reset: what it adds is added to nothing else.
        let here = held.here();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..20).for_each(|_| stats.clear()));
            (0..1000).for_each(|_| here.record_in(&slow, Bucket::of(slow.latency_ns)));
        });
        assert!(held.snapshot().sums.did.count <= 1000);
        stats.clear();
        assert!(stats.snapshots().next().is_none() && stats.len() == 1);
        here.record_in(&quick, Bucket::of(quick.latency_ns));
        let s = stats.snapshots().next().unwrap();
        let did = &s.sums.did;
        assert_eq!((did.count, did.rows_sent, did.total_ns, s.sums.latency.count()), (1, 1, 1 << 10, 1));
        assert_eq!((did.min_ns, did.max_ns, s.first_seen_us, s.last_seen_us), (1 << 10, 1 << 10, 9, 9));
        assert_eq!((s.sample_seen_us, s.sample_ns), (7, 1 << 20));
    }
}
