//! What was counted in each second of the last hour, in each ten seconds of the last day, and in each minute of the
//! last eight days.
//!
//! A moment is kept as bytes: what has not changed in it takes none, and most of what has takes two or three.
//!
//! ```text
//!   unix_ms span_ms samples | active by class | gauges | counters | waits | latencies      all LEB128
//!   a list:  length, then for each: distance of its number from the one before, values
//! ```

use super::active::Class;
use gannet_base::sync::Mutex;
use std::collections::VecDeque;

/// Sizes at the end of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Gauge {
    /// Connections.
    Connected,
    /// Pages of the pool that have changed and are not written back.
    DirtyPages,
    /// Pages of the pool in use.
    ResidentPages,
    /// Bytes of log that recovery would read.
    CheckpointAge,
    /// Ended transactions whose old versions are there.
    HistoryLength,
    /// Nanoseconds of processor time that the server took in the moment.
    CpuNs,
    /// Sessions that wait for a lock.
    LockWaiters,
}

impl Gauge {
    pub const ALL: [Gauge; 7] = [
        Gauge::Connected,
        Gauge::DirtyPages,
        Gauge::ResidentPages,
        Gauge::CheckpointAge,
        Gauge::HistoryLength,
        Gauge::CpuNs,
        Gauge::LockWaiters,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Gauge::Connected => "connected",
            Gauge::DirtyPages => "dirty_pages",
            Gauge::ResidentPages => "resident_pages",
            Gauge::CheckpointAge => "checkpoint_age_bytes",
            Gauge::HistoryLength => "history_length",
            Gauge::CpuNs => "cpu_ns",
            Gauge::LockWaiters => "lock_waiters",
        }
    }
}

/// Waits that ended in a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitDelta {
    pub count: u64,
    pub ns: u64,
}

/// What was counted in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Its end, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Its length.
    pub span_ms: u64,
    /// How often sessions were looked at.
    pub samples: u64,
    /// Active sessions by [`Class`], summed over the samples.
    pub active: [u64; Class::ALL.len()],
    /// By [`Gauge`]; of a longer time the last ones, processor time apart.
    pub gauges: [u64; Gauge::ALL.len()],
    /// Counters that have changed: position in `Counter::ALL`, and by how much.
    pub counters: Vec<(u16, u64)>,
    /// Waits: position in `Wait::ALL`.
    pub waits: Vec<(u16, WaitDelta)>,
    /// Statements by latency: bucket of `telemetry::Histogram`, and how many.
    pub latency: Vec<(u16, u64)>,
}

impl Moment {
    /// Of a counter.
    pub fn count(&self, counter: usize) -> u64 {
        let at = self.counters.binary_search_by_key(&(counter as u16), |(c, _)| *c);
        at.map_or(0, |i| self.counters[i].1)
    }

    /// Of a wait.
    pub fn wait(&self, wait: usize) -> WaitDelta {
        let at = self.waits.binary_search_by_key(&(wait as u16), |(w, _)| *w);
        at.map_or(WaitDelta::default(), |i| self.waits[i].1)
    }

    /// Adds the moment that follows.
    pub fn join(&mut self, next: &Moment) {
        self.unix_ms = next.unix_ms;
        self.span_ms += next.span_ms;
        self.samples += next.samples;
        self.active.iter_mut().zip(next.active).for_each(|(n, m)| *n += m);
        let cpu = self.gauges[Gauge::CpuNs as usize] + next.gauges[Gauge::CpuNs as usize];
        self.gauges = next.gauges;
        self.gauges[Gauge::CpuNs as usize] = cpu;
        merge(&mut self.counters, &next.counters, |n, m| *n += m);
        merge(&mut self.latency, &next.latency, |n, m| *n += m);
        merge(&mut self.waits, &next.waits, |n, m| {
            n.count += m.count;
            n.ns += m.ns;
        });
    }

    pub(super) fn encode(&self) -> Box<[u8]> {
        let mut out = Vec::with_capacity(256);
        let head = [self.unix_ms, self.span_ms, self.samples];
        head.iter().chain(&self.active).chain(&self.gauges).for_each(|n| put(&mut out, *n));
        put_list(&mut out, &self.counters, |out, n| put(out, *n));
        put_list(&mut out, &self.waits, |out, w| {
            put(out, w.count);
            put(out, w.ns);
        });
        put_list(&mut out, &self.latency, |out, n| put(out, *n));
        out.into()
    }

    /// `None` for bytes that no moment has.
    pub(super) fn decode(bytes: &[u8]) -> Option<Moment> {
        let rest = &mut &*bytes;
        let mut moment = Moment { unix_ms: get(rest)?, span_ms: get(rest)?, samples: get(rest)?, ..Moment::default() };
        for n in moment.active.iter_mut().chain(&mut moment.gauges) {
            *n = get(rest)?;
        }
        moment.counters = get_list(rest, get)?;
        moment.waits = get_list(rest, |rest| Some(WaitDelta { count: get(rest)?, ns: get(rest)? }))?;
        moment.latency = get_list(rest, get)?;
        rest.is_empty().then_some(moment)
    }
}

/// Adds a list in order of numbers to another one.
pub(super) fn merge<T: Copy>(to: &mut Vec<(u16, T)>, from: &[(u16, T)], add: impl Fn(&mut T, T)) {
    for (number, value) in from {
        match to.binary_search_by_key(number, |(n, _)| *n) {
            Ok(i) => add(&mut to[i].1, *value),
            Err(i) => to.insert(i, (*number, *value)),
        }
    }
}

pub(super) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(super) fn get(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

pub(super) fn put_list<T>(out: &mut Vec<u8>, list: &[(u16, T)], value: impl Fn(&mut Vec<u8>, &T)) {
    put(out, list.len() as u64);
    let mut before = 0;
    for (number, v) in list {
        put(out, u64::from(number - before));
        value(out, v);
        before = *number;
    }
}

pub(super) fn get_list<T>(rest: &mut &[u8], value: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<(u16, T)>> {
    let length = usize::try_from(get(rest)?).ok().filter(|n| *n <= 1 << 16)?;
    let mut list = Vec::with_capacity(length.min(512));
    let mut number = 0u16;
    for _ in 0..length {
        number = number.checked_add(u16::try_from(get(rest)?).ok()?)?;
        list.push((number, value(rest)?));
    }
    Some(list)
}

/// One resolution.
#[derive(Default)]
struct Level {
    kept: VecDeque<(u64, Box<[u8]>)>,
    bytes: usize,
}

impl Level {
    fn add(&mut self, moment: &Moment, (most, most_bytes): (usize, usize)) {
        let bytes = moment.encode();
        self.bytes += bytes.len();
        self.kept.push_back((moment.unix_ms, bytes));
        while self.kept.len() > most || self.bytes > most_bytes {
            let Some((_, gone)) = self.kept.pop_front() else { return };
            self.bytes -= gone.len();
        }
    }

    fn between(&self, from: u64, to: u64) -> Vec<Moment> {
        let begin = self.kept.partition_point(|(at, _)| *at <= from);
        let wanted = self.kept.range(begin..).take_while(|(at, _)| *at <= to);
        wanted.filter_map(|(_, bytes)| Moment::decode(bytes)).collect()
    }
}

/// How long the moments of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Span {
    Second,
    TenSeconds,
    Minute,
}

pub(super) const SPANS: usize = 3;
/// Moments of each span that are kept, of an hour, a day, eight days; and bytes they may take.
const MOST: [(usize, usize); SPANS] = [(3600, 3 << 20), (8640, 6 << 20), (11_520, 8 << 20)];
/// Seconds in each.
pub(super) const SECONDS: [u64; SPANS] = [1, 10, 60];

#[derive(Default)]
struct Levels {
    levels: [Level; SPANS],
    /// The longer moments that are under way.
    open: [Option<Moment>; SPANS],
    /// What was kept before is to be forgotten, wherever.
    forgotten: bool,
}

impl Levels {
    fn level(&self, span: Span) -> &Level {
        &self.levels[span as usize]
    }
}

/// The moments of all spans.
#[derive(Default)]
pub struct Moments(Mutex<Levels>);

impl Moments {
    /// Adds the second that has ended; the minute that has ended with it, if one has.
    pub fn add(&self, moment: &Moment) -> Option<Moment> {
        let mut levels = self.0.lock();
        levels.levels[0].add(moment, MOST[0]);
        let mut minute = None;
        for span in [Span::TenSeconds, Span::Minute] {
            let at = span as usize;
            match &mut levels.open[at] {
                Some(open) => open.join(moment),
                none => *none = Some(moment.clone()),
            }
            if levels.open[at].as_ref().is_some_and(|open| open.samples >= SECONDS[at])
                && let Some(whole) = levels.open[at].take()
            {
                levels.levels[at].add(&whole, MOST[at]);
                minute = (span == Span::Minute).then_some(whole);
            }
        }
        minute
    }

    /// Minutes that were kept before the server was started.
    pub(super) fn restore(&self, minutes: &[Moment]) {
        let mut levels = self.0.lock();
        minutes.iter().for_each(|m| levels.levels[Span::Minute as usize].add(m, MOST[Span::Minute as usize]));
    }

    /// Those that ended behind `from` and not behind `to`, in milliseconds since 1970.
    pub fn between(&self, from: u64, to: u64, span: Span) -> Vec<Moment> {
        self.0.lock().level(span).between(from, to)
    }

    /// When the first one that is kept ended.
    pub fn begin(&self, span: Span) -> Option<u64> {
        self.0.lock().level(span).kept.front().map(|(at, _)| *at)
    }

    /// All that is kept: minutes up to where the tens of seconds begin, these up to where the seconds begin.
    pub fn all(&self) -> Vec<Moment> {
        let begin = |span| self.begin(span).unwrap_or(u64::MAX);
        let (tens, seconds) = (begin(Span::TenSeconds), begin(Span::Second));
        let mut found = self.between(0, tens.min(seconds).saturating_sub(1), Span::Minute);
        found.extend(self.between(0, seconds.saturating_sub(1), Span::TenSeconds));
        found.extend(self.between(0, u64::MAX, Span::Second));
        found
    }

    /// The last second.
    pub fn last(&self) -> Option<Moment> {
        let levels = self.0.lock();
        levels.level(Span::Second).kept.back().and_then(|(_, bytes)| Moment::decode(bytes))
    }

    /// Bytes that all take.
    pub fn bytes(&self) -> usize {
        self.0.lock().levels.iter().map(|l| l.bytes).sum()
    }

    /// Forgets what is in memory.
    pub fn clear(&self) {
        *self.0.lock() = Levels::default();
    }

    /// Forgets what is on disk, too: the sampler does that at its next look.
    pub fn forget(&self) {
        *self.0.lock() = Levels { forgotten: true, ..Levels::default() };
    }

    /// Whether all was forgotten since this was last asked.
    pub(super) fn was_forgotten(&self) -> bool {
        std::mem::take(&mut self.0.lock().forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(second: u64) -> Moment {
        let mut m = Moment { unix_ms: second * 1000, span_ms: 1000, samples: 1, ..Moment::default() };
        m.active = [1, 0, 2, 0, 0, 0, 0, 0];
        m.gauges = [second; Gauge::ALL.len()];
        m.counters = vec![(0, 5), (3, second), (200, 1 << 50)];
        m.waits = vec![(7, WaitDelta { count: 2, ns: 1_000_000 })];
        m.latency = vec![(50, 4), (51, 1)];
        m
    }

    #[test]
    fn moments_come_back_as_they_were() {
        let m = moment(7);
        assert_eq!(Moment::decode(&m.encode()), Some(m.clone()));
        assert_eq!((m.count(3), m.count(4), m.wait(7).count, m.wait(6).count), (7, 0, 2, 0));
        let bytes = m.encode();
        for end in 0..bytes.len() {
            assert_eq!(Moment::decode(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(Moment::decode(&[0xff; 40]), None);
    }

    #[test]
    fn ten_seconds_are_joined() {
        let moments = Moments::default();
        (1..=25).for_each(|s| assert_eq!(moments.add(&moment(s)), None));
        let coarse = moments.between(0, u64::MAX, Span::TenSeconds);
        assert_eq!(coarse.iter().map(|m| m.unix_ms).collect::<Vec<_>>(), [10_000, 20_000]);
        let first = &coarse[0];
        assert_eq!((first.span_ms, first.samples, first.active[2], first.count(3)), (10_000, 10, 20, 55));
        assert_eq!((first.wait(7).count, first.latency[0], first.gauges[0]), (20, (50, 40), 10));
        assert_eq!(first.gauges[Gauge::CpuNs as usize], 55);
        assert_eq!(moments.between(3000, 5000, Span::Second).len(), 2);
        assert_eq!((moments.begin(Span::Second), moments.last().map(|m| m.unix_ms)), (Some(1000), Some(25_000)));
        let minutes: Vec<Moment> = (26..=140).filter_map(|s| moments.add(&moment(s))).collect();
        assert_eq!(minutes.iter().map(|m| (m.unix_ms, m.samples)).collect::<Vec<_>>(), [(60_000, 60), (120_000, 60)]);
        assert_eq!(minutes[0].count(3), (1..=60).sum::<u64>());
        // What was kept before comes first.
        let before: Vec<Moment> =
            (1..=2).map(|n| Moment { unix_ms: n, span_ms: 60_000, ..Moment::default() }).collect();
        let again = Moments::default();
        again.restore(&before);
        (1..=3).for_each(|s| drop(again.add(&moment(s))));
        assert_eq!(again.all().iter().map(|m| m.unix_ms).collect::<Vec<_>>(), [1, 2, 1000, 2000, 3000]);
        assert!(!again.was_forgotten());
        again.forget();
        assert!(again.all().is_empty() && again.was_forgotten() && !again.was_forgotten());
    }

    #[test]
    fn memory_is_bounded() {
        let moments = Moments::default();
        let mut m = moment(1);
        // Every counter and bucket changes in each second.
        m.counters = (0..300).map(|c| (c, 1 << 40)).collect();
        m.latency = (0..328).map(|b| (b, 1 << 20)).collect();
        for second in 1..20_000 {
            m.unix_ms = second * 1000;
            moments.add(&m);
        }
        assert!(moments.bytes() <= MOST.iter().map(|m| m.1).sum::<usize>(), "{}", moments.bytes());
        assert!(moments.between(0, u64::MAX, Span::Second).len() > 500);
    }
}
