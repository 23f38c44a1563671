//! Where the counters live: one block a slot, written by its own thread only.

use std::cell::Cell;

use gannet_base::CachePadded;
use gannet_base::slot::{self, MAX_SLOTS};
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Mutex, OnceLock};

use crate::histogram::{BUCKETS, Bucket, Histogram};
use crate::{Counter, Scope, Wait, session};

struct Block {
    counters: [AtomicU64; Counter::COUNT],
    wait_count: [AtomicU64; Wait::COUNT],
    wait_ns: [AtomicU64; Wait::COUNT],
    /// The shortest and the longest since somebody forgot them; `u64::MAX` and 0 without any.
    wait_least_ns: [AtomicU64; Wait::COUNT],
    wait_most_ns: [AtomicU64; Wait::COUNT],
    /// Statements by how long they took: buckets of [`Histogram`].
    latency: [AtomicU64; BUCKETS],
}

// A slot's block outlives its threads: totals never fall.
static BLOCKS: [OnceLock<Box<CachePadded<Block>>>; MAX_SLOTS] = [const { OnceLock::new() }; MAX_SLOTS];

thread_local! {
    static MINE: Cell<Option<&'static Block>> = const { Cell::new(None) };
}

#[inline(always)]
fn mine() -> &'static Block {
    match MINE.get() {
        Some(block) => block,
        None => attach(),
    }
}

#[cold]
fn attach() -> &'static Block {
    let zeros = || std::array::from_fn(|_| AtomicU64::new(0));
    let block = BLOCKS[slot::current()].get_or_init(|| {
        Box::new(CachePadded::new(Block {
            counters: std::array::from_fn(|_| AtomicU64::new(0)),
            wait_count: zeros(),
            wait_ns: zeros(),
            wait_least_ns: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            wait_most_ns: zeros(),
            latency: std::array::from_fn(|_| AtomicU64::new(0)),
        }))
    });
    MINE.set(Some(block));
    block
}

// Not a read-modify-write: the calling thread is the only writer.
#[inline(always)]
fn bump(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Counts one.
#[inline(always)]
pub fn count(c: Counter) {
    add(c, 1);
}

/// Adds `n`.
#[inline(always)]
pub fn add(c: Counter, n: u64) {
    bump(&mine().counters[c as usize], n);
    if matches!(c.scope(), Scope::Both) {
        session::bump(c, n);
    }
}

/// As [`add`] of each, all of [`Scope::Both`]; for the hot path, which asks only once where to count.
#[inline(always)]
pub fn add_all<const N: usize>(some: [(Counter, u64); N]) {
    let block = mine();
    for (c, n) in some {
        debug_assert!(c.scope() == Scope::Both);
        bump(&block.counters[c as usize], n);
    }
    session::bump_all(some);
}

/// Subtracts `n` from a gauge. Another thread may have added it: the sum is right.
#[inline(always)]
pub fn sub(c: Counter, n: u64) {
    add(c, n.wrapping_neg());
}

/// Adds to a gauge until it is dropped.
#[must_use]
pub struct During(Counter, u64);

/// `n` of what the gauge counts are under way as long as the value lives.
pub fn during(gauge: Counter, n: u64) -> During {
    add(gauge, n);
    During(gauge, n)
}

impl Drop for During {
    fn drop(&mut self) {
        sub(self.0, self.1);
    }
}

/// Records a wait of `ns` nanoseconds for `why`. The runtime's park does this.
#[inline]
pub fn waited(why: Wait, ns: u64) {
    let block = mine();
    bump(&block.wait_count[why as usize], 1);
    bump(&block.wait_ns[why as usize], ns);
    if ns < block.wait_least_ns[why as usize].load(Relaxed) {
        block.wait_least_ns[why as usize].store(ns, Relaxed);
    }
    if ns > block.wait_most_ns[why as usize].load(Relaxed) {
        block.wait_most_ns[why as usize].store(ns, Relaxed);
    }
    session::session_waited(why, ns);
    if matches!(why, Wait::RowLock | Wait::MetadataLock | Wait::TableLock) {
        add(Counter::LockWaitNs, ns);
    }
}

/// A statement took `ns` nanoseconds.
#[inline(always)]
pub fn latency(ns: u64) {
    latency_in(Bucket::of(ns));
}

/// The same of a statement whose bucket is known.
#[inline(always)]
pub fn latency_in(bucket: Bucket) {
    bump(&mine().latency[bucket.at()], 1);
}

/// All statements by how long they took, over all slots.
pub fn latencies() -> Histogram {
    let mut all = Histogram::new();
    blocks().for_each(|b| all.add(b.latency.iter().map(|n| n.load(Relaxed))));
    all
}

fn blocks() -> impl Iterator<Item = &'static CachePadded<Block>> {
    BLOCKS[..slot::high_water()].iter().filter_map(|b| b.get().map(|b| &**b))
}

/// The counter's sum over all slots. Gauges are two's complement: show them as `i64`.
pub fn total(c: Counter) -> u64 {
    blocks().fold(0, |sum, b| sum.wrapping_add(b.counters[c as usize].load(Relaxed)))
}

/// All counters' sums, in the order of [`Counter::ALL`]. Costs O(slots × counters), no locks.
pub fn totals() -> Vec<(Counter, u64)> {
    let mut sums = vec![0u64; Counter::COUNT];
    for b in blocks() {
        for (sum, cell) in sums.iter_mut().zip(&b.counters) {
            *sum = sum.wrapping_add(cell.load(Relaxed));
        }
    }
    Counter::ALL.iter().copied().zip(sums).collect()
}

/// How often and how long was waited for one event, over all slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTotals {
    /// The event.
    pub wait: Wait,
    /// Waits that ended.
    pub count: u64,
    /// Their total time in nanoseconds.
    pub ns: u64,
    /// The shortest of them since somebody reset a [`WaitSummary`] of the process; 0 without any.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
}

/// All wait events' totals, in the order of [`Wait::ALL`].
pub fn wait_totals() -> Vec<WaitTotals> {
    let none = |&wait| WaitTotals { wait, count: 0, ns: 0, least_ns: u64::MAX, most_ns: 0 };
    let mut sums: Vec<_> = Wait::ALL.iter().map(none).collect();
    for b in blocks() {
        for (i, sum) in sums.iter_mut().enumerate() {
            sum.count = sum.count.wrapping_add(b.wait_count[i].load(Relaxed));
            sum.ns = sum.ns.wrapping_add(b.wait_ns[i].load(Relaxed));
            sum.least_ns = sum.least_ns.min(b.wait_least_ns[i].load(Relaxed));
            sum.most_ns = sum.most_ns.max(b.wait_most_ns[i].load(Relaxed));
        }
    }
    sums.iter_mut().filter(|sum| sum.least_ns == u64::MAX).for_each(|sum| sum.least_ns = 0);
    sums
}

/// [`wait_totals`] since the last reset.
#[derive(Default)]
pub struct WaitSummary {
    /// The totals at the last reset; empty before.
    before: Mutex<Vec<WaitTotals>>,
}

impl WaitSummary {
    /// All wait events' totals, in the order of [`Wait::ALL`].
    pub fn totals(&self) -> Vec<WaitTotals> {
        let before = self.before.lock();
        let mut now = wait_totals();
        for (n, b) in now.iter_mut().zip(&*before) {
            n.count = n.count.wrapping_sub(b.count);
            n.ns = n.ns.wrapping_sub(b.ns);
        }
        now
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        let mut before = self.before.lock();
        for b in blocks() {
            b.wait_least_ns.iter().for_each(|least| least.store(u64::MAX, Relaxed));
            b.wait_most_ns.iter().for_each(|most| most.store(0, Relaxed));
        }
        *before = wait_totals();
    }
}

static MAX_CONNECTED: AtomicU64 = AtomicU64::new(0);
static MAX_CONNECTED_AT_US: AtomicU64 = AtomicU64::new(0);
static LONGEST_ROW_LOCK_US: AtomicU64 = AtomicU64::new(0);
static LONGEST_LOG_FLUSH_NS: AtomicU64 = AtomicU64::new(0);

/// A wait for a row lock took so many microseconds.
pub fn note_row_lock(us: u64) {
    add(Counter::InnodbRowLockTimeMicros, us);
    if us > LONGEST_ROW_LOCK_US.load(Relaxed) {
        LONGEST_ROW_LOCK_US.fetch_max(us, Relaxed);
    }
}

/// The longest wait for a row lock since the start, in microseconds.
pub fn longest_row_lock_us() -> u64 {
    LONGEST_ROW_LOCK_US.load(Relaxed)
}

/// A sync of the log took so many nanoseconds.
pub fn note_log_flush(ns: u64) {
    add(Counter::LogFlushNs, ns);
    if ns > LONGEST_LOG_FLUSH_NS.load(Relaxed) {
        LONGEST_LOG_FLUSH_NS.fetch_max(ns, Relaxed);
    }
}

/// The longest sync of the log since the start, in nanoseconds.
pub fn longest_log_flush_ns() -> u64 {
    LONGEST_LOG_FLUSH_NS.load(Relaxed)
}

/// Notes a number of open connections, for Max_used_connections. Called at connect only.
pub fn note_connections(connections: u64, unix_us: u64) {
    if MAX_CONNECTED.fetch_max(connections, Relaxed) < connections {
        MAX_CONNECTED_AT_US.store(unix_us, Relaxed);
    }
}

/// From now on the greatest number is that of the connections which are open.
pub fn restart_max_connections(connections: u64, unix_us: u64) {
    MAX_CONNECTED.store(connections, Relaxed);
    MAX_CONNECTED_AT_US.store(unix_us, Relaxed);
}

/// The greatest number of connections noted, and when it was first reached.
pub fn max_connections_seen() -> (u64, u64) {
    (MAX_CONNECTED.load(Relaxed), MAX_CONNECTED_AT_US.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_threads_and_keeps_them() {
        let before = total(Counter::PageMerges);
        let threads: Vec<_> =
            (0..8).map(|_| std::thread::spawn(|| (0..1000).for_each(|_| count(Counter::PageMerges)))).collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(total(Counter::PageMerges) - before, 8000);
        // A gauge raised on one thread and lowered on another.
        add(Counter::LockMemory, 3);
        std::thread::spawn(|| sub(Counter::LockMemory, 5)).join().unwrap();
        assert_eq!(total(Counter::LockMemory) as i64, -2);
        assert!(totals().contains(&(Counter::LockMemory, -2i64 as u64)));
    }

    #[test]
    fn waits() {
        waited(Wait::Purge, 5);
        waited(Wait::Purge, 7);
        let w = wait_totals().into_iter().find(|w| w.wait == Wait::Purge).unwrap();
        assert_eq!((w.count, w.ns, w.least_ns, w.most_ns), (2, 12, 5, 7));
        let summary = WaitSummary::default();
        let of = |all: Vec<WaitTotals>| all.into_iter().find(|w| w.wait == Wait::Purge).map(|w| (w.count, w.ns));
        let ends =
            |all: Vec<WaitTotals>| all.into_iter().find(|w| w.wait == Wait::Purge).map(|w| (w.least_ns, w.most_ns));
        assert_eq!(of(summary.totals()), Some((2, 12)));
        summary.reset();
        assert_eq!(ends(summary.totals()), Some((0, 0)));
        waited(Wait::Purge, 4);
        assert_eq!((of(summary.totals()), of(wait_totals())), (Some((1, 4)), Some((3, 16))));
        assert_eq!(ends(summary.totals()), Some((4, 4)));
    }
}
