//! Ranges of encoded keys: their ends, in which order these lie, and what of several remains.

use smallvec::SmallVec;

/// One end of a range of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit<'a> {
    /// The tree's end.
    Open,
    /// Before the first key that is `>=` these bytes.
    Before(&'a [u8]),
    /// After the last key that begins with these bytes.
    After(&'a [u8]),
}

/// Encoded ranges: sorted, disjoint. Keeps its allocations from use to use.
#[derive(Default, Debug, Clone)]
pub struct Bounds {
    pub(super) bytes: Vec<u8>,
    pub(super) ranges: List,
    pub(super) prefix: Vec<u8>,
    /// A range begins or ends with bytes that are no whole key: what texts begin with.
    pub(super) stems: bool,
}

/// Mostly there is one.
type List = SmallVec<[(End, End); 1]>;

/// Room for the keys of most ranges, asked for once.
pub(super) const KEYS_AT_HAND: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Before(usize, usize),
    After(usize, usize),
}

impl Bounds {
    /// Number of ranges; none: nothing can match.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Nothing can match.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Range `n` in key order.
    #[inline]
    pub fn get(&self, n: usize) -> (Limit<'_>, Limit<'_>) {
        let (low, high) = self.ranges[n];
        (self.limit(low), self.limit(high))
    }

    #[inline]
    fn limit(&self, end: End) -> Limit<'_> {
        match end {
            End::Open => Limit::Open,
            End::Before(from, to) => Limit::Before(&self.bytes[from..to]),
            End::After(from, to) => Limit::After(&self.bytes[from..to]),
        }
    }

    /// The bytes that range `n` begins with, if its keys are those that begin with them: one, if they are a whole key.
    #[inline]
    pub fn one_key(&self, n: usize) -> Option<&[u8]> {
        match self.ranges[n] {
            (End::Before(from, to), End::After(begin, end)) if !self.stems && to - from == end - begin => {
                let low = &self.bytes[from..to];
                (low == &self.bytes[begin..end]).then_some(low)
            }
            _ => None,
        }
    }

    /// Ends of ranges may be no whole keys, but what texts begin with.
    pub fn has_stems(&self) -> bool {
        self.stems
    }

    /// One of the ranges, and no others.
    pub fn keep(&mut self, number: usize) {
        self.ranges = self.ranges.get(number).copied().into_iter().collect();
    }

    /// They take little memory, also when they are not in use.
    pub fn is_small(&self) -> bool {
        !self.ranges.spilled() && self.bytes.capacity() + self.prefix.capacity() <= 16 * KEYS_AT_HAND
    }

    /// No ranges.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
        self.prefix.clear();
        self.stems = false;
    }

    pub(super) fn before(&mut self, key: &[u8]) -> End {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(key);
        if key.is_empty() { End::Open } else { End::Before(from, self.bytes.len()) }
    }

    pub(super) fn after(&mut self, key: &[u8]) -> End {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(key);
        if key.is_empty() { End::Open } else { End::After(from, self.bytes.len()) }
    }

    /// All keys that begin with the prefix under construction.
    pub(super) fn push_prefix(&mut self) {
        let prefix = std::mem::take(&mut self.prefix);
        let (low, high) = (self.before(&prefix), self.after(&prefix));
        self.ranges.push((low, high));
        self.prefix = prefix;
    }

    /// Sorts the ranges, drops empty ones and merges those that overlap.
    pub(super) fn normalise(&mut self) {
        if let [(low, high)] = self.ranges[..] {
            if is_empty(&self.bytes, low, high) {
                self.ranges.clear();
            }
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.ranges.retain(|(low, high)| !is_empty(&bytes, *low, *high));
        sort_by_low(&bytes, &mut self.ranges);
        let mut merged = List::with_capacity(self.ranges.len());
        for (low, high) in self.ranges.drain(..) {
            match merged.last_mut() {
                Some(last) if !is_before(&bytes, last.1, low) => {
                    if compare_high(&bytes, last.1, high).is_lt() {
                        last.1 = high;
                    }
                }
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
        self.bytes = bytes;
    }
}

fn key_of(bytes: &[u8], end: End) -> &[u8] {
    match end {
        End::Open => &[],
        End::Before(from, to) | End::After(from, to) => &bytes[from..to],
    }
}

/// Orders cut places. `After(k)` lies behind every key that begins with `k`.
fn compare_cut(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    use std::cmp::Ordering::*;
    let (x, y) = (key_of(bytes, a), key_of(bytes, b));
    let after = |e: End| matches!(e, End::After(..));
    let both = x.len().min(y.len());
    x[..both].cmp(&y[..both]).then_with(|| match x.len().cmp(&y.len()) {
        Equal => after(a).cmp(&after(b)),
        Less if after(a) => Greater,
        Greater if after(b) => Less,
        shorter => shorter,
    })
}

/// The first eight bytes of the key, as a number that orders as they do; a shorter key is filled up with zeros.
fn head_of(bytes: &[u8], end: End) -> u64 {
    let key = key_of(bytes, end);
    let mut head = [0; 8];
    let n = key.len().min(8);
    head[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(head)
}

/// Sorts by the low ends. Long lists of keys are mostly told apart by their first bytes.
fn sort_by_low(bytes: &[u8], ranges: &mut List) {
    if ranges.iter().any(|(low, _)| !matches!(low, End::Before(..))) {
        return ranges.sort_by(|a, b| compare_low(bytes, a.0, b.0));
    }
    // Among places before keys the order is that of the keys.
    let mut heads: Vec<(u64, u32)> =
        ranges.iter().enumerate().map(|(n, (low, _))| (head_of(bytes, *low), n as u32)).collect();
    heads.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| key_of(bytes, ranges[a.1 as usize].0).cmp(key_of(bytes, ranges[b.1 as usize].0)))
    });
    *ranges = heads.iter().map(|(_, n)| ranges[*n as usize]).collect();
}

pub(super) fn compare_low(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    match (a, b) {
        (End::Open, End::Open) => std::cmp::Ordering::Equal,
        (End::Open, _) => std::cmp::Ordering::Less,
        (_, End::Open) => std::cmp::Ordering::Greater,
        _ => compare_cut(bytes, a, b),
    }
}

pub(super) fn compare_high(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    match (a, b) {
        (End::Open, End::Open) => std::cmp::Ordering::Equal,
        (End::Open, _) => std::cmp::Ordering::Greater,
        (_, End::Open) => std::cmp::Ordering::Less,
        _ => compare_cut(bytes, a, b),
    }
}

/// The high end lies before the low end, so that the ranges do not touch.
fn is_before(bytes: &[u8], high: End, low: End) -> bool {
    !matches!(high, End::Open) && !matches!(low, End::Open) && compare_cut(bytes, high, low).is_lt()
}

pub(super) fn is_empty(bytes: &[u8], low: End, high: End) -> bool {
    !matches!(low, End::Open) && !matches!(high, End::Open) && !compare_cut(bytes, low, high).is_lt()
}
