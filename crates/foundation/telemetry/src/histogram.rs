//! Log-linear histograms of durations: fixed memory, mergeable, 12.5 % resolution.

use gannet_base::sync::OnceLock;
use gannet_base::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Sub-buckets per power of two: 8, so a bucket is at most 12.5 % wide.
const SUB_BITS: u32 = 3;
const SUBS: usize = 1 << SUB_BITS;
/// Durations below 256 ns share the first linear buckets of 32 ns.
const UNIT_BITS: u32 = 5;
/// Powers of two covered: up to about 39 hours; longer ones land in the last bucket.
const OCTAVES: usize = 40;
/// Number of buckets.
pub const BUCKETS: usize = (OCTAVES + 1) << SUB_BITS;

/// The bucket of a duration in nanoseconds.
#[inline(always)]
pub(crate) fn bucket(ns: u64) -> usize {
    Bucket::of(ns).at()
}

/// Where a duration is counted: found once for all histograms that count it.
#[derive(Clone, Copy, Debug)]
pub struct Bucket(usize);

impl Bucket {
    /// Of a duration in nanoseconds.
    #[inline(always)]
    pub fn of(ns: u64) -> Bucket {
        let v = ns >> UNIT_BITS;
        // Without a branch: the first two octaves have buckets of one unit both.
        let exp = (v | 1 << SUB_BITS).ilog2() - SUB_BITS;
        Bucket(((exp as usize) << SUB_BITS) + (v >> exp) as usize)
    }

    /// Its number. Durations that are too long for a bucket of their own are in the last one.
    #[inline(always)]
    pub(crate) fn at(self) -> usize {
        self.0.min(BUCKETS - 1)
    }
}

/// The least duration in nanoseconds that lies above bucket `i`.
fn upper_bound(i: usize) -> u64 {
    let (octave, sub) = (i >> SUB_BITS, (i & ((1 << SUB_BITS) - 1)) as u64);
    if octave == 0 {
        return (sub + 1) << UNIT_BITS;
    }
    ((1u64 << SUB_BITS) + sub + 1) << (octave as u32 - 1 + UNIT_BITS)
}

/// A histogram of durations that can be added up and asked for quantiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Histogram { counts: vec![0; BUCKETS] }
    }

    /// One that stays empty, whatever is added.
    pub(crate) fn none() -> Self {
        Histogram { counts: Vec::new() }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Adds counts, bucket by bucket.
    pub(crate) fn add(&mut self, counts: impl Iterator<Item = u64>) {
        self.counts.iter_mut().zip(counts).for_each(|(n, m)| *n = n.wrapping_add(m));
    }

    /// A histogram with these counts: bucket and count.
    pub fn of(buckets: &[(u16, u64)]) -> Histogram {
        let mut made = Histogram::new();
        for (bucket, n) in buckets {
            if let Some(count) = made.counts.get_mut(usize::from(*bucket)) {
                *count += n;
            }
        }
        made
    }

    /// Leaves what was added since `before`, an earlier state.
    pub(crate) fn since(&mut self, before: &Histogram) {
        self.counts.iter_mut().zip(&before.counts).for_each(|(n, b)| *n = n.saturating_sub(*b));
    }

    /// Durations recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// An upper bound of the `q` quantile (0 to 1) in nanoseconds; 0 when empty.
    pub fn quantile(&self, q: f64) -> u64 {
        self.quantiles([q])[0]
    }

    /// The same of several quantiles, the least first.
    pub fn quantiles<const N: usize>(&self, of: [f64; N]) -> [u64; N] {
        let total = self.count();
        if total == 0 {
            return [0; N];
        }
        let (mut seen, mut next) = (0, 0);
        of.map(|q| {
            let rank = ((total as f64 * q).ceil() as u64).clamp(1, total);
            while seen < rank && next < BUCKETS {
                seen += self.counts[next];
                next += 1;
            }
            upper_bound(next - 1)
        })
    }

    /// All buckets: the least duration in nanoseconds, the least one above, and the count.
    pub fn all_buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let low = |i: usize| if i == 0 { 0 } else { upper_bound(i - 1) };
        self.counts.iter().enumerate().map(move |(i, n)| (low(i), upper_bound(i), *n))
    }

    /// The buckets that are not empty: upper bound in nanoseconds (exclusive) and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (upper_bound(i), *n))
    }
}

/// The same, shared: one writer (or several, with [`Self::record_shared`]), any readers.
///
/// There are many, and most never see a duration of less than 1 us or more than 8 ms: those buckets come when they are
/// needed.
/// Most are empty otherwise, too, and who adds up thousands reads those that are not.
pub(crate) struct SharedHistogram {
    /// One bit for each octave that has a count.
    octaves: AtomicU64,
    hot: [AtomicU32; HOT],
    cold: [OnceLock<Box<[AtomicU32; PART]>>; COLD_PARTS],
}

/// The bits of a mask.
fn octaves(mask: u64) -> impl Iterator<Item = usize> + Clone {
    let mut left = mask;
    std::iter::from_fn(move || {
        let octave = (left != 0).then_some(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(octave)
    })
}

/// Buckets that are at hand, from the first on: 2^10 to 2^23 ns.
const HOT: usize = 104;
const FIRST_HOT: usize = 24;
/// Buckets that come together.
const PART: usize = 56;
const COLD_PARTS: usize = (BUCKETS - HOT) / PART;
const _: () = assert!(HOT + PART * COLD_PARTS == BUCKETS && PART.is_multiple_of(SUBS));
const _: () = assert!(HOT.is_multiple_of(SUBS) && FIRST_HOT.is_multiple_of(SUBS));
const _: () = assert!(BUCKETS / SUBS <= u64::BITS as usize);

impl SharedHistogram {
    pub(crate) fn new() -> Self {
        SharedHistogram {
            octaves: AtomicU64::new(0),
            hot: std::array::from_fn(|_| AtomicU32::new(0)),
            cold: [const { OnceLock::new() }; COLD_PARTS],
        }
    }

    #[inline]
    fn cell(&self, bucket: usize) -> &AtomicU32 {
        self.hot.get(bucket.wrapping_sub(FIRST_HOT)).unwrap_or_else(|| self.cold(bucket))
    }

    /// The place among the cold ones of a bucket that is not hot.
    fn cold_place(bucket: usize) -> usize {
        if bucket < FIRST_HOT { bucket } else { bucket - HOT }
    }

    #[cold]
    fn cold(&self, bucket: usize) -> &AtomicU32 {
        let at = Self::cold_place(bucket.min(BUCKETS - 1));
        &self.cold[at / PART].get_or_init(|| Box::new([const { AtomicU32::new(0) }; PART]))[at % PART]
    }

    /// For the only writer. A bucket that is full stays full.
    #[inline(always)]
    pub(crate) fn record_owned(&self, Bucket(bucket): Bucket) {
        let cell = self.cell(bucket);
        let before = cell.load(Relaxed);
        cell.store(before.saturating_add(1), Relaxed);
        if before == 0 {
            self.begin(bucket);
        }
    }

    /// For several writers.
    pub(crate) fn record_shared(&self, Bucket(bucket): Bucket) {
        if self.cell(bucket).fetch_add(1, Relaxed) == 0 {
            self.begin(bucket);
        }
    }

    /// The first duration of a bucket.
    #[cold]
    fn begin(&self, bucket: usize) {
        self.octaves.fetch_or(1 << (bucket.min(BUCKETS - 1) >> SUB_BITS), Relaxed);
    }

    /// Numbers of the octaves that have counts.
    fn octaves(&self) -> impl Iterator<Item = usize> + use<> {
        octaves(self.octaves.load(Relaxed))
    }

    /// The counts of an octave.
    fn octave(&self, octave: usize) -> Option<&[AtomicU32]> {
        let first = octave << SUB_BITS;
        let hot = first.wrapping_sub(FIRST_HOT);
        self.hot.get(hot..hot.wrapping_add(SUBS)).or_else(|| {
            let at = Self::cold_place(first);
            self.cold[at / PART].get()?.get(at % PART..at % PART + SUBS)
        })
    }

    /// [`Histogram::quantiles`] of the sum of all, since `before`.
    pub(crate) fn quantiles<'h, const N: usize>(
        all: impl Iterator<Item = &'h SharedHistogram> + Clone,
        before: Option<&Histogram>,
        of: [f64; N],
    ) -> [u64; N] {
        let mask = all.clone().fold(0, |mask, h| mask | h.octaves.load(Relaxed));
        let mut counts =
            octaves(mask).flat_map(|octave| (0..SUBS).map(move |sub| (octave << SUB_BITS) + sub)).map(|bucket| {
                let count =
                    |h: &SharedHistogram| h.octave(bucket >> SUB_BITS).map_or(0, |o| o[bucket % SUBS].load(Relaxed));
                let sum: u64 = all.clone().map(|h| u64::from(count(h))).sum();
                (bucket, sum.saturating_sub(before.and_then(|b| b.counts.get(bucket)).copied().unwrap_or(0)))
            });
        let total: u64 = counts.clone().map(|(_, n)| n).sum();
        let (mut seen, mut at) = (0, 0);
        of.map(|q| {
            let rank = ((total as f64 * q).ceil() as u64).clamp(1, total.max(1));
            while seen < rank {
                let Some((bucket, n)) = counts.next() else { break };
                (seen, at) = (seen + n, upper_bound(bucket));
            }
            if total == 0 { 0 } else { at }
        })
    }

    pub(crate) fn add_to(&self, sum: &mut Histogram) {
        for octave in self.octaves() {
            // A histogram that stays empty has no buckets.
            let sums = sum.counts.get_mut(octave << SUB_BITS..).unwrap_or_default();
            let counts = self.octave(octave).unwrap_or_default();
            sums.iter_mut().zip(counts).for_each(|(a, b)| *a += u64::from(b.load(Relaxed)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_ordered_and_tight() {
        let mut last = 0;
        for i in 0..BUCKETS {
            let up = upper_bound(i);
            assert!(up > last);
            assert_eq!(bucket(up - 1), i);
            assert_eq!(bucket(last), i);
            assert!(up - last <= 32.max(last / 8 + 1), "bucket {i} is {last}..{up}");
            last = up;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_shared_one_counts_the_same() {
        let (mut alone, shared) = (Histogram::new(), SharedHistogram::new());
        assert!(size_of::<SharedHistogram>() <= 490);
        let durations =
            (0..62).flat_map(|bit| [1u64 << bit, (1 << bit) + 1, (1 << bit) * 3 / 2 - 1]).chain([0, u64::MAX]);
        for ns in durations {
            alone.record(ns);
            alone.record(ns);
            shared.record_owned(Bucket::of(ns));
            shared.record_shared(Bucket::of(ns));
        }
        let mut sum = Histogram::new();
        shared.add_to(&mut sum);
        assert_eq!(sum, alone);
        let of = [0.0, 0.001, 0.3, 0.5, 0.95, 0.99, 0.999, 1.0];
        assert_eq!(SharedHistogram::quantiles([&shared].into_iter(), None, of), alone.quantiles(of));
        let other = SharedHistogram::new();
        (0..1000).for_each(|n| other.record_owned(Bucket::of(n * n * n)));
        assert_eq!(
            SharedHistogram::quantiles([&other, &shared].into_iter(), Some(&alone), of),
            SharedHistogram::quantiles([&other].into_iter(), None, of)
        );
        other.add_to(&mut sum);
        assert_eq!(SharedHistogram::quantiles([&other, &shared].into_iter(), None, of), sum.quantiles(of));
        assert_eq!(SharedHistogram::quantiles([&shared].into_iter(), Some(&alone), of), [0; 8]);
        assert_eq!(SharedHistogram::quantiles(std::iter::empty(), None, of), [0; 8]);
        let mut none = Histogram::none();
        shared.add_to(&mut none);
        assert_eq!(none.count(), 0);
    }

    #[test]
    fn quantiles_and_merge() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        (0..500u64).for_each(|i| a.record(i * 1000));
        (500..1000u64).for_each(|i| b.record(i * 1000));
        a.merge(&b);
        assert_eq!(a.count(), 1000);
        let p99 = a.quantile(0.99);
        assert!((985_000..1_150_000).contains(&p99), "{p99}");
        assert_eq!(a.quantiles([0.0, 0.5, 0.5, 0.99, 1.0]), [0.0, 0.5, 0.5, 0.99, 1.0].map(|q| a.quantile(q)));
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }
}
