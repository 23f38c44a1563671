//! Latencies of the busiest statements over time: of each second of the last hour, of each ten seconds of the last
//! day, of each minute of the last eight days, in memory, the [`MOST_ROWS`] digests that took most time.
//!
//! ```text
//!   a moment:  span_ms  rows, then for each: number of the digest, total_ns, buckets and counts      all LEB128
//! ```
//!
//! Texts are kept once, as long as a moment names them.

use super::moments::{SECONDS, SPANS, Span, get, get_list, merge, put, put_list};
use crate::kept::{DigestHandle, StatementStats};
use gannet_base::sync::Mutex;
use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Digests of a moment.
const MOST_ROWS: usize = 200;
/// Moments of each span that are kept, and bytes they may take.
const MOST: [(usize, usize); SPANS] = [(3600, 3 << 20), (8640, 4 << 20), (11_520, 5 << 20)];
/// Bytes of the texts.
const MOST_NAMES: usize = 3 << 20;
/// Moments that are decoded at once.
const CHUNK: usize = 64;

/// A digest by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestName {
    pub schema: String,
    pub digest: String,
    pub text: String,
}

impl DigestName {
    fn bytes(&self) -> usize {
        self.schema.len() + self.digest.len() + self.text.len() + 160
    }
}

/// What a digest did in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestRow {
    pub name: Arc<DigestName>,
    /// How long all executions took.
    pub total_ns: u64,
    /// Executions by latency: bucket of `telemetry::Histogram`, and how many.
    pub latency: Vec<(u16, u64)>,
}

/// What the busiest digests did in a time, the busiest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestMoment {
    /// Its end, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Its length.
    pub span_ms: u64,
    pub rows: Vec<DigestRow>,
}

/// A row with the digest's number.
type Numbered = (u64, u64, Vec<(u16, u64)>);

/// A longer moment that is under way.
#[derive(Default)]
struct Open {
    span_ms: u64,
    seconds: u64,
    rows: HashMap<u64, (u64, Vec<(u16, u64)>)>,
}

#[derive(Default)]
struct Levels {
    kept: [VecDeque<(u64, Box<[u8]>)>; SPANS],
    bytes: [usize; SPANS],
    open: [Open; SPANS],
    /// By the digest's number, with how many moments and open ones name it.
    names: HashMap<u64, (Arc<DigestName>, usize)>,
    name_bytes: usize,
}

/// The rows of an encoded moment, after its span.
fn rows_of(bytes: &[u8]) -> Option<(u64, Vec<Numbered>)> {
    let rest = &mut &*bytes;
    let (span_ms, rows) = (get(rest)?, get(rest)?);
    let mut found = Vec::with_capacity((rows as usize).min(MOST_ROWS));
    for _ in 0..rows {
        found.push((get(rest)?, get(rest)?, get_list(rest, get)?));
    }
    rest.is_empty().then_some((span_ms, found))
}

impl Levels {
    fn hold(&mut self, number: u64) {
        if let Some((_, uses)) = self.names.get_mut(&number) {
            *uses += 1;
        }
    }

    fn let_go(&mut self, number: u64) {
        let Slot::Occupied(mut slot) = self.names.entry(number) else { return };
        slot.get_mut().1 -= 1;
        if slot.get().1 == 0 {
            self.name_bytes -= slot.remove().0.bytes();
        }
    }

    /// Keeps a moment; its rows are named.
    fn keep(&mut self, span: usize, unix_ms: u64, span_ms: u64, rows: &mut Vec<Numbered>) {
        rows.sort_by_key(|r| std::cmp::Reverse(r.1));
        rows.truncate(MOST_ROWS);
        let mut out = Vec::with_capacity(rows.len() * 24 + 8);
        put(&mut out, span_ms);
        put(&mut out, rows.len() as u64);
        for (number, total_ns, latency) in &*rows {
            put(&mut out, *number);
            put(&mut out, *total_ns);
            put_list(&mut out, latency, |out, n| put(out, *n));
            self.hold(*number);
        }
        self.bytes[span] += out.len();
        self.kept[span].push_back((unix_ms, out.into()));
        while self.kept[span].len() > MOST[span].0 || self.bytes[span] > MOST[span].1 {
            self.drop_first(span);
        }
    }

    /// Forgets the oldest moment of a span; whether there was one.
    fn drop_first(&mut self, span: usize) -> bool {
        let Some((_, gone)) = self.kept[span].pop_front() else { return false };
        self.bytes[span] -= gone.len();
        let rows = rows_of(&gone).map_or(Vec::new(), |(_, rows)| rows);
        rows.iter().for_each(|r| self.let_go(r.0));
        true
    }

    /// Adds a second to a longer moment, which is kept when it is whole.
    fn join(&mut self, span: usize, unix_ms: u64, span_ms: u64, rows: &[Numbered]) {
        for (number, total_ns, latency) in rows {
            let open = &mut self.open[span];
            if !open.rows.contains_key(number) {
                open.rows.insert(*number, (0, Vec::new()));
                self.hold(*number);
            }
            if let Some((ns, buckets)) = self.open[span].rows.get_mut(number) {
                *ns += total_ns;
                merge(buckets, latency, |n, m| *n += m);
            }
        }
        let open = &mut self.open[span];
        open.span_ms += span_ms;
        open.seconds += 1;
        if open.seconds >= SECONDS[span] {
            let open = std::mem::take(open);
            let numbers: Vec<u64> = open.rows.keys().copied().collect();
            let mut whole = open.rows.into_iter().map(|(number, (ns, latency))| (number, ns, latency)).collect();
            self.keep(span, unix_ms, open.span_ms, &mut whole);
            numbers.iter().for_each(|n| self.let_go(*n));
        }
    }

    fn decode(&self, (unix_ms, bytes): &(u64, Box<[u8]>), wanted: Option<&str>) -> Option<DigestMoment> {
        let (span_ms, rows) = rows_of(bytes)?;
        let named = rows.into_iter().filter_map(|(number, total_ns, latency)| {
            let name = &self.names.get(&number)?.0;
            let is_wanted = wanted.is_none_or(|digest| name.digest == digest);
            is_wanted.then(|| DigestRow { name: name.clone(), total_ns, latency })
        });
        Some(DigestMoment { unix_ms: *unix_ms, span_ms, rows: named.collect() })
    }

    fn begin(&self, span: Span) -> Option<u64> {
        self.kept[span as usize].front().map(|(at, _)| *at)
    }
}

/// The moments of all spans.
#[derive(Default)]
pub struct Digests(Mutex<Levels>);

impl Digests {
    /// Adds the second that has ended: the digests' numbers, and what they did. `names` tells the names of those that
    /// are new; what has none is left out.
    pub(super) fn add(
        &self,
        unix_ms: u64,
        span_ms: u64,
        mut rows: Vec<Numbered>,
        names: impl FnOnce(&HashSet<u64>) -> HashMap<u64, DigestName>,
    ) {
        let mut levels = self.0.lock();
        rows.sort_by_key(|r| std::cmp::Reverse(r.1));
        rows.truncate(MOST_ROWS);
        let new: HashSet<u64> = rows.iter().map(|r| r.0).filter(|n| !levels.names.contains_key(n)).collect();
        if !new.is_empty() {
            for (number, name) in names(&new) {
                levels.name_bytes += name.bytes();
                levels.names.insert(number, (Arc::new(name), 0));
            }
        }
        rows.retain(|(number, ..)| levels.names.contains_key(number));
        levels.keep(Span::Second as usize, unix_ms, span_ms, &mut rows);
        for span in [Span::TenSeconds, Span::Minute] {
            levels.join(span as usize, unix_ms, span_ms, &rows);
        }
        // The newest second stays.
        while levels.name_bytes > MOST_NAMES && levels.kept.iter().any(|kept| kept.len() > 1) {
            let longest = (0..SPANS).max_by_key(|span| levels.kept[*span].len()).unwrap_or(0);
            levels.drop_first(longest);
        }
    }

    /// Those that ended behind `from` and not behind `to`, in milliseconds since 1970, at most `most`; of one digest,
    /// where that is wanted: a moment without it has no rows.
    pub fn between(&self, (from, to): (u64, u64), span: Span, wanted: Option<&str>, most: usize) -> Vec<DigestMoment> {
        let levels = self.0.lock();
        let kept = &levels.kept[span as usize];
        let begin = kept.partition_point(|(at, _)| *at <= from);
        let inside = kept.range(begin..).take_while(|(at, _)| *at <= to).take(most);
        inside.filter_map(|moment| levels.decode(moment, wanted)).collect()
    }

    /// When the first one that is kept ended.
    pub fn begin(&self, span: Span) -> Option<u64> {
        self.0.lock().begin(span)
    }

    /// Calls `f` with all that is kept, a few at a time: minutes up to where the tens of seconds begin, these up to
    /// where the seconds begin.
    pub fn each<E>(&self, wanted: Option<&str>, mut f: impl FnMut(&DigestMoment) -> Result<(), E>) -> Result<(), E> {
        let begin = |span| self.begin(span).unwrap_or(u64::MAX);
        let (tens, seconds) = (begin(Span::TenSeconds), begin(Span::Second));
        let parts = [
            (Span::Minute, tens.min(seconds).saturating_sub(1)),
            (Span::TenSeconds, seconds.saturating_sub(1)),
            (Span::Second, u64::MAX),
        ];
        for (span, to) in parts {
            let mut from = 0;
            loop {
                let some = self.between((from, to), span, wanted, CHUNK);
                let Some(last) = some.last() else { break };
                from = last.unix_ms;
                some.iter().try_for_each(&mut f)?;
            }
        }
        Ok(())
    }

    /// Bytes that all take.
    pub fn bytes(&self) -> usize {
        let levels = self.0.lock();
        levels.bytes.iter().sum::<usize>() + levels.name_bytes
    }

    /// Forgets all.
    pub fn clear(&self) {
        *self.0.lock() = Levels::default();
    }
}

/// What a digest had done at the last look.
struct Track {
    executions: u64,
    total_ns: u64,
    /// Buckets and counts, encoded: there are many digests.
    latency: Box<[u8]>,
    /// The look at which it was last there.
    look: u64,
}

/// What all digests had done at the last look, by their numbers.
#[derive(Default)]
pub(super) struct Tracks {
    known: HashMap<u64, Track>,
    look: u64,
    /// What is there now is no news: nothing was looked at before.
    begun: bool,
}

impl Tracks {
    /// What digests have done since the last look. Only those with new executions are read.
    pub(super) fn look(&mut self, stats: &StatementStats) -> Vec<Numbered> {
        self.look += 1;
        let (look, begun) = (self.look, std::mem::replace(&mut self.begun, true));
        let mut found = Vec::new();
        stats.each(|handle| {
            let track = self.known.entry(handle.number()).or_insert_with(|| Track {
                executions: 0,
                total_ns: 0,
                latency: Box::default(),
                look,
            });
            track.look = look;
            let executions = handle.executions();
            if executions == track.executions {
                return;
            }
            let sums = handle.sums();
            let all = sums.latency.all_buckets().map(|(.., n)| n).enumerate();
            let latency: Vec<(u16, u64)> = all.filter(|(_, n)| *n > 0).map(|(i, n)| (i as u16, n)).collect();
            if begun {
                let before = get_list(&mut &*track.latency, get).unwrap_or_default();
                let grown = since(&latency, &before);
                found.push((handle.number(), sums.did.total_ns.saturating_sub(track.total_ns), grown));
            }
            let mut encoded = Vec::new();
            put_list(&mut encoded, &latency, |out, n| put(out, *n));
            *track = Track { executions, total_ns: sums.did.total_ns, latency: encoded.into(), look };
        });
        self.known.retain(|_, track| track.look == look);
        found
    }

    /// Nothing is kept of this second.
    pub(super) fn skip(&mut self) {
        *self = Tracks::default();
    }
}

/// By how much buckets have grown.
fn since(now: &[(u16, u64)], before: &[(u16, u64)]) -> Vec<(u16, u64)> {
    let was = |bucket: u16| before.binary_search_by_key(&bucket, |(b, _)| *b).map_or(0, |i| before[i].1);
    let grown = now.iter().map(|(bucket, n)| (*bucket, n.saturating_sub(was(*bucket))));
    grown.filter(|(_, n)| *n > 0).collect()
}

/// The names of a digest, where it has some.
pub(super) fn name(handle: &DigestHandle) -> Option<DigestName> {
    let texts = handle.texts()?;
    Some(DigestName { schema: handle.schema().into(), digest: texts.digest.clone(), text: texts.text.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(numbers: &HashSet<u64>) -> HashMap<u64, DigestName> {
        let name = |n: u64| DigestName { schema: "d".into(), digest: format!("x{n}"), text: "t".repeat(100) };
        numbers.iter().filter(|n| **n != 99).map(|n| (*n, name(*n))).collect()
    }

    #[test]
    fn seconds_are_joined_and_names_kept_once() {
        let digests = Digests::default();
        for second in 1..=60 {
            // One that is there always, one in the first ten seconds, one without names.
            let mut rows: Vec<Numbered> = vec![(1, 1000, vec![(5, 2), (7, 1)]), (99, 5000, vec![(1, 1)])];
            if second <= 10 {
                rows.push((2, 4000, vec![(9, second)]));
            }
            digests.add(second * 1000, 1000, rows, named);
        }
        let seconds = digests.between((0, u64::MAX), Span::Second, None, usize::MAX);
        assert_eq!(seconds.len(), 60);
        assert_eq!(
            seconds[0].rows.iter().map(|r| (&*r.name.digest, r.total_ns)).collect::<Vec<_>>(),
            [("x2", 4000), ("x1", 1000)]
        );
        let tens = digests.between((0, u64::MAX), Span::TenSeconds, Some("x2"), usize::MAX);
        assert_eq!((tens.len(), tens[0].unix_ms, tens[0].span_ms), (6, 10_000, 10_000));
        assert_eq!((tens[0].rows[0].total_ns, &*tens[0].rows[0].latency), (40_000, &[(9, 55)][..]));
        assert!(tens[1].rows.is_empty());
        let minutes = digests.between((0, u64::MAX), Span::Minute, None, usize::MAX);
        let rows: Vec<_> = minutes[0].rows.iter().map(|r| (&*r.name.digest, r.total_ns, r.latency.clone())).collect();
        assert_eq!(rows, [("x1", 60_000, vec![(5, 120), (7, 60)]), ("x2", 40_000, vec![(9, 55)])]);
        let mut all = Vec::new();
        let mut see = |m: &DigestMoment| {
            all.push(m.unix_ms);
            Ok::<_, ()>(())
        };
        digests.each(Some("x1"), &mut see).unwrap();
        assert_eq!(all, (1..=60).map(|s| s * 1000).collect::<Vec<_>>());
        assert_eq!(digests.0.lock().names.len(), 2);
        digests.clear();
        assert_eq!((digests.bytes(), digests.begin(Span::Second)), (0, None));
    }

    #[test]
    fn memory_is_bounded_however_many_digests_there_are() {
        let digests = Digests::default();
        for second in 1..3000u64 {
            // All are new in each second.
            let rows = (0..300).map(|i| (100 + second * 300 + i, 1 + i, vec![(10, 1), (200, 1 << 30)])).collect();
            digests.add(second * 1000, 1000, rows, named);
        }
        let bound = MOST.iter().map(|m| m.1).sum::<usize>() + MOST_NAMES;
        assert!(digests.bytes() <= bound + (1 << 20), "{}", digests.bytes());
        let last = digests.between((2_998_000, u64::MAX), Span::Second, None, usize::MAX);
        assert_eq!((last.len(), last[0].rows.len(), last[0].rows[0].total_ns), (1, MOST_ROWS, 300));
        // What no moment names is gone.
        let levels = digests.0.lock();
        assert!(levels.names.values().all(|(_, uses)| *uses > 0));
    }
}
