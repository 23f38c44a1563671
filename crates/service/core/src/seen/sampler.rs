//! The task that looks at the server once a second.

use super::active::{Class, Sample, Shown, Whom};
use super::digests::{self, Tracks};
use super::kept::Kept;
use super::moments::{Gauge, Moment, WaitDelta};
use crate::Core;
use crate::registry::{Activity, Entry};
use crate::vars::Live;
use gannet_base::TreeId;
use gannet_engine::lock::{LockKind, WaitInfo};
use gannet_parser::digest;
use gannet_runtime::{Unpark, Wait, WallTime, cpu_ns, interrupted, now_ns, park};
use gannet_schema::{CatalogSnapshot, RowSource};
use gannet_telemetry::{Counter, DigestKey, Kind, WaitTotals, latencies, totals, wait_totals};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// Active sessions that are looked at one by one; of more, every second one, or every third, and so on.
const MOST_ACTIVE: usize = 4096;

/// Texts that are read for their digest at one look.
const MOST_TEXTS: usize = 200;

/// Texts, names and digests that are remembered; then they are looked for anew.
const REMEMBERED: usize = 8192;

/// The names of trees are made anew so often at most.
const NAMES_NS: u64 = 10 * SECOND_NS;

/// Looks each second, until the server stops.
pub(crate) fn run(core: &Arc<Core>) {
    let mut sampler = Sampler::new(core);
    let mut due = now_ns() + SECOND_NS;
    while !core.shutting_down() && !interrupted() {
        if park(Wait::SamplerIdle, Some(due)) == Unpark::Interrupted {
            break;
        }
        let now = now_ns();
        if now < due {
            continue;
        }
        // A second that was missed is not made up for: the next moment is longer.
        due = (due + SECOND_NS).max(now + SECOND_NS / 2);
        if core.seen.is_on() {
            sampler.look();
        } else {
            sampler.skip();
        }
    }
}

/// What the next look is compared with.
struct Before {
    at_ns: u64,
    counters: Vec<(Counter, u64)>,
    waits: Vec<WaitTotals>,
    latency: Vec<u64>,
    cpu_ns: u64,
}

impl Before {
    fn now() -> Before {
        let latency = latencies().all_buckets().map(|(.., n)| n).collect();
        Before { at_ns: now_ns(), counters: totals(), waits: wait_totals(), latency, cpu_ns: cpu_ns() }
    }
}

struct Sampler {
    core: Arc<Core>,
    kept: Kept,
    /// The log says that the last minute could not be kept.
    told: bool,
    before: Before,
    digests: Tracks,
    texts: HashMap<u64, Option<Arc<Shown>>>,
    hasher: RandomState,
    /// Texts that may still be read at this look.
    texts_left: usize,
    whom: HashSet<Arc<Whom>>,
    names: HashSet<Arc<String>>,
    trees: HashMap<TreeId, Arc<String>>,
    /// Of which definitions `trees` has the names, and since when.
    named: Option<(Arc<CatalogSnapshot>, u64)>,
}

impl Sampler {
    fn new(core: &Arc<Core>) -> Sampler {
        let datadir = core.globals.get(Live::Datadir);
        let (kept, minutes) = Kept::open(Path::new(datadir.as_str()), WallTime::now().micros() / 1000);
        core.seen.moments.restore(&minutes);
        Sampler {
            core: core.clone(),
            kept,
            told: false,
            before: Before::now(),
            digests: Tracks::default(),
            texts: HashMap::new(),
            hasher: RandomState::new(),
            texts_left: 0,
            whom: HashSet::new(),
            names: HashSet::new(),
            trees: HashMap::new(),
            named: None,
        }
    }

    fn keep(&mut self, minute: &Moment) {
        let kept = self.kept.add(minute);
        if let (Err(e), false) = (&kept, self.told) {
            self.core.log.warning(format_args!("the past of the last minute is not kept on disk: {e}"));
        }
        self.told = kept.is_err();
    }

    /// Nothing is kept of this second.
    fn skip(&mut self) {
        self.before = Before::now();
        self.digests.skip();
    }

    fn look(&mut self) {
        let unix_ms = WallTime::now().micros() / 1000;
        let entries = self.core.registry.all();
        let idle = |a| matches!(a, Activity::Sleep | Activity::Connect | Activity::EventsDue | Activity::NoEvents);
        let running = |e: &&Arc<Entry>| !idle(e.activity().0);
        let active: Vec<&Arc<Entry>> = entries.iter().filter(running).collect();
        let rows = self.rows(unix_ms, &active);
        let moment = self.moment(unix_ms, &rows, entries.iter().filter(|e| !e.is_own()).count());
        self.core.seen.active.add(unix_ms, rows);
        self.look_at_digests(unix_ms, moment.span_ms);
        let minute = self.core.seen.moments.add(&moment);
        if self.core.seen.moments.was_forgotten() {
            self.kept.clear();
        }
        if let Some(minute) = minute {
            self.keep(&minute);
        }
    }

    fn look_at_digests(&mut self, unix_ms: u64, span_ms: u64) {
        let stats = &self.core.stats;
        let rows = self.digests.look(stats);
        self.core.seen.digests.add(unix_ms, span_ms, rows, |numbers| {
            let mut names = HashMap::new();
            stats.each(|handle| {
                if numbers.contains(&handle.number())
                    && let Some(name) = digests::name(handle)
                {
                    names.insert(handle.number(), name);
                }
            });
            names
        });
    }

    fn rows(&mut self, unix_ms: u64, active: &[&Arc<Entry>]) -> Vec<Sample> {
        let step = active.len().div_ceil(MOST_ACTIVE).max(1);
        let waiting: Vec<_> = active.iter().step_by(step).map(|e| (*e, e.context.waiting().map(|(w, _)| w))).collect();
        let locks = waiting.iter().any(|(_, w)| Class::of(*w) == Class::Lock);
        let waits: BTreeMap<u64, WaitInfo> = match locks {
            true => self.core.engine.lock_table().waits().into_iter().map(|w| (w.party.thread, w)).collect(),
            false => BTreeMap::new(),
        };
        let now = now_ns();
        self.texts_left = MOST_TEXTS;
        let rows = waiting.iter().map(|(entry, wait)| {
            let (command, since_ns) = entry.activity();
            let who = entry.who();
            let info = waits.get(&entry.id).filter(|_| Class::of(*wait) == Class::Lock);
            Sample {
                unix_ms,
                weight: step as u32,
                session: entry.id,
                whom: self.whom(who.user, entry.host(), who.database),
                digest: self.digest(entry),
                command,
                wait: *wait,
                statement_ns: now.saturating_sub(since_ns),
                object: info.and_then(|i| self.object(&i.waits_for)),
                blocker: info.and_then(blocker).and_then(NonZeroU64::new),
                root: info.and_then(|_| root(&waits, entry.id)).and_then(NonZeroU64::new),
            }
        });
        rows.collect()
    }

    fn whom(&mut self, user: String, host: &str, schema: Option<Arc<str>>) -> Arc<Whom> {
        shared(&mut self.whom, Whom { user, host: host.to_owned(), schema })
    }

    /// Of the statement that runs, where its figures are kept: that is so from its second run on, and from the first
    /// where it was planned.
    fn digest(&mut self, entry: &Entry) -> Option<Arc<Shown>> {
        let (text, mode) = entry.running_text()?;
        let hash = self.hasher.hash_one((&text, mode.ansi_quotes));
        if let Some(known) = self.texts.get(&hash) {
            return known.clone();
        }
        self.texts_left = self.texts_left.checked_sub(1)?;
        let key = DigestKey(digest::digest(&text, mode).hash);
        let shown = self.core.stats.known(key).map(|(digest, text)| Arc::new(Shown { key, digest, text }));
        if self.texts.len() >= REMEMBERED {
            self.texts.clear();
        }
        if shown.is_some() {
            self.texts.insert(hash, shown.clone());
        }
        shown
    }

    /// What is locked.
    fn object(&mut self, kind: &LockKind) -> Option<Arc<String>> {
        let tree = match kind {
            LockKind::Record { tree, .. }
            | LockKind::Gap { tree, .. }
            | LockKind::Rows { tree, .. }
            | LockKind::Insert { tree, .. }
            | LockKind::Transaction { row: Some((tree, _)), .. } => *tree,
            LockKind::Metadata { name, .. } => return Some(shared(&mut self.names, name.to_string())),
            LockKind::Transaction { row: None, .. } => return None,
        };
        let now = now_ns();
        let snapshot = self.core.catalog.snapshot();
        let stale = match &self.named {
            None => true,
            Some((of, since)) => !Arc::ptr_eq(of, &snapshot) && now.saturating_sub(*since) > NAMES_NS,
        };
        if stale {
            self.trees = names(&snapshot);
            self.named = Some((snapshot, now));
        }
        self.trees.get(&tree).cloned()
    }

    fn moment(&mut self, unix_ms: u64, rows: &[Sample], connected: usize) -> Moment {
        let now = Before::now();
        let before = std::mem::replace(&mut self.before, now);
        let now = &self.before;
        let engine = self.core.engine.status();
        let mut moment = Moment {
            unix_ms,
            span_ms: now.at_ns.saturating_sub(before.at_ns) / 1_000_000,
            samples: 1,
            ..Moment::default()
        };
        for row in rows {
            moment.active[row.class() as usize] += u64::from(row.weight);
        }
        let mut gauge = |g: Gauge, n: u64| moment.gauges[g as usize] = n;
        gauge(Gauge::Connected, connected as u64);
        gauge(Gauge::DirtyPages, engine.pool_dirty);
        gauge(Gauge::ResidentPages, engine.pool_resident);
        gauge(Gauge::CheckpointAge, engine.log_lsn.0.saturating_sub(engine.checkpoint_lsn.0));
        gauge(Gauge::HistoryLength, engine.history_length);
        gauge(Gauge::CpuNs, now.cpu_ns.saturating_sub(before.cpu_ns));
        gauge(Gauge::LockWaiters, rows.iter().filter(|r| r.class() == Class::Lock).map(|r| u64::from(r.weight)).sum());
        for (i, ((c, n), (_, was))) in now.counters.iter().zip(&before.counters).enumerate() {
            if c.kind() == Kind::Counter && n != was {
                moment.counters.push((i as u16, n.wrapping_sub(*was)));
            }
        }
        for (i, (n, was)) in now.waits.iter().zip(&before.waits).enumerate() {
            if n.count != was.count {
                let (count, ns) = (n.count.wrapping_sub(was.count), n.ns.wrapping_sub(was.ns));
                moment.waits.push((i as u16, WaitDelta { count, ns }));
            }
        }
        for (i, (n, was)) in now.latency.iter().zip(&before.latency).enumerate() {
            if n != was {
                moment.latency.push((i as u16, n.wrapping_sub(*was)));
            }
        }
        moment
    }
}

/// The one among those that are known, or this one from now on.
fn shared<T: Hash + Eq>(known: &mut HashSet<Arc<T>>, value: T) -> Arc<T> {
    if let Some(found) = known.get(&value) {
        return found.clone();
    }
    if known.len() >= REMEMBERED {
        known.clear();
    }
    let new = Arc::new(value);
    known.insert(new.clone());
    new
}

/// The first session that another one waits for.
fn blocker(wait: &WaitInfo) -> Option<u64> {
    wait.blockers.iter().map(|p| p.thread).find(|thread| *thread != 0)
}

/// The last session in the chain of those that wait for one another.
fn root(waits: &BTreeMap<u64, WaitInfo>, session: u64) -> Option<u64> {
    let mut at = session;
    let mut seen = HashSet::from([session]);
    while let Some(next) = waits.get(&at).and_then(blocker) {
        at = next;
        if !seen.insert(at) {
            // A deadlock that is about to be found.
            break;
        }
    }
    (at != session).then_some(at)
}

/// Schema, table and index of all trees.
fn names(snapshot: &CatalogSnapshot) -> HashMap<TreeId, Arc<String>> {
    let mut names: HashMap<TreeId, Arc<String>> = HashMap::new();
    for table in snapshot.all_tables() {
        if table.source != RowSource::Engine {
            continue;
        }
        let named = |index: &str| Arc::new(format!("{}.{}.{index}", table.schema, table.name));
        let clustered = table.clustered_index().map_or("GEN_CLUST_INDEX", |i| &*i.name);
        names.insert(table.row_tree, named(clustered));
        for index in table.indexes.iter().filter(|i| i.tree != table.row_tree) {
            names.insert(index.tree, named(&index.name));
        }
    }
    names
}
