//! What the page asks for, as JSON.

use crate::http::{Request, Response};
use crate::json::{Json, Object};
use crate::sign::Signed;
use crate::site::{Site, member};
use crate::{model, tree};
use gannet_core::Core;
use gannet_core::kept::KeptText;
use gannet_core::registry::Activity;
use gannet_core::seen::{Class, DigestMoment, Gauge, Moment, Sample, Span};
use gannet_runtime::{Wait, WallTime, now_ns, run_long};
use gannet_session::Answer;
use gannet_telemetry::{Counter, DigestSnapshot, Histogram};
use gannet_types::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Points of a series, and columns of a heat map, at most.
const MOST_POINTS: usize = 600;
const MOST_COLUMNS: usize = 240;
/// Rows of a list.
const MOST_ROWS: usize = 100;
const HOUR_MS: u64 = 3_600_000;

/// The answer to somebody who is signed in.
pub fn answer(site: &Site, r: &Request, signed: &Signed) -> Response {
    let core = site.core();
    match (&*r.method, &*r.path) {
        ("GET", "/api/me") => me(site, signed),
        // What may take milliseconds runs beside the worker, which has statements to run.
        ("GET", "/api/series") => run_long(|| series(core, r)),
        ("GET", "/api/heat") => run_long(|| heat(core, r)),
        ("GET", "/api/top") => run_long(|| top(core, r)),
        ("GET", "/api/sessions") => run_long(|| sessions(core)),
        ("GET", "/api/locks") => run_long(|| tree::answer(core)),
        ("GET", "/api/digests") => run_long(|| digests(core, r)),
        ("GET", "/api/digest") => digest(site, r, signed),
        ("GET", "/api/engine") => run_long(|| engine(core)),
        ("GET", "/api/model") => run_long(|| model::answer(core, r)),
        ("POST", "/api/kill") => kill(site, r, signed),
        _ => Response::error(404, "there is no such thing"),
    }
}

fn json(fill: impl FnOnce(&mut Object<'_>)) -> Response {
    let mut json = Json::default();
    json.object(fill);
    Response::json(json.finish())
}

/// Processors that the server may use.
pub fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// Who is signed in, and what the page has to know of the server.
pub fn me(site: &Site, signed: &Signed) -> Response {
    let core = site.core();
    json(|o| {
        o.text("user", &signed.user);
        o.text("proof", &signed.proof);
        o.text("version", &core.facts.version);
        o.whole("uptime", core.uptime_s());
        o.whole("cores", cores());
        o.whole("now", now_ms());
        o.list("classes", |l| Class::ALL.iter().for_each(|c| l.text(c.name())));
    })
}

fn now_ms() -> u64 {
    WallTime::now().micros() / 1000
}

/// From when to when; by default the last ten minutes.
fn range(r: &Request) -> (u64, u64) {
    let to = r.number("to").unwrap_or_else(now_ms);
    let from = r.number("from").unwrap_or(to.saturating_sub(600_000));
    (from.min(to), to)
}

/// The moments of a time: seconds while those are kept, joined until at most `most` are left.
fn moments(core: &Core, (from, to): (u64, u64), most: usize) -> Vec<Moment> {
    let all = &core.seen.moments;
    let fine = all.begin(Span::Second).unwrap_or(0);
    let [tens, minutes] = [Span::TenSeconds, Span::Minute].map(|span| all.begin(span).unwrap_or(u64::MAX));
    // Nothing older is kept than the seconds, or nothing older is asked for; and so with the tens of seconds.
    let span = if to - from <= HOUR_MS && (fine < tens.min(minutes) || fine <= from + 60_000) {
        Span::Second
    } else if tens <= from.max(minutes).saturating_add(HOUR_MS) {
        Span::TenSeconds
    } else {
        Span::Minute
    };
    let found = all.between(from, to, span);
    let step = found.len().div_ceil(most).max(1);
    let joined = found.chunks(step).map(|chunk| {
        let mut whole = chunk[0].clone();
        chunk[1..].iter().for_each(|m| whole.join(m));
        whole
    });
    joined.collect()
}

/// Per second.
fn rate(m: &Moment, n: u64) -> f64 {
    if m.span_ms == 0 { 0.0 } else { n as f64 * 1000.0 / m.span_ms as f64 }
}

/// What is drawn over time: names and how each is computed.
type Line = (&'static str, fn(&Moment) -> f64);

const LINES: &[Line] = &[
    ("statements", |m| rate(m, m.latency.iter().map(|(_, n)| n).sum())),
    ("transactions", |m| rate(m, count(m, Counter::TransactionsCommitted))),
    ("cpu", |m| rate(m, m.gauges[Gauge::CpuNs as usize]) / 1e9),
    ("connected", |m| m.gauges[Gauge::Connected as usize] as f64),
    ("waiters", |m| m.gauges[Gauge::LockWaiters as usize] as f64),
    ("rows_read", |m| rate(m, count(m, Counter::InnodbRowsRead))),
    ("rows_changed", |m| {
        let all = [Counter::InnodbRowsInserted, Counter::InnodbRowsUpdated, Counter::InnodbRowsDeleted];
        rate(m, all.iter().map(|c| count(m, *c)).sum())
    }),
    ("sent", |m| rate(m, count(m, Counter::BytesSent))),
    ("received", |m| rate(m, count(m, Counter::BytesReceived))),
    ("log_bytes", |m| rate(m, count(m, Counter::InnodbOsLogWritten))),
    ("log_syncs", |m| rate(m, count(m, Counter::InnodbOsLogFsyncs))),
    ("page_reads", |m| rate(m, count(m, Counter::InnodbPagesRead))),
    ("page_writes", |m| rate(m, count(m, Counter::InnodbPagesWritten))),
    ("dirty_pages", |m| m.gauges[Gauge::DirtyPages as usize] as f64),
    ("resident_pages", |m| m.gauges[Gauge::ResidentPages as usize] as f64),
    ("checkpoint_age", |m| m.gauges[Gauge::CheckpointAge as usize] as f64),
    ("history", |m| m.gauges[Gauge::HistoryLength as usize] as f64),
    ("lock_waits", |m| rate(m, count(m, Counter::InnodbRowLockWaits))),
    ("deadlocks", |m| rate(m, count(m, Counter::InnodbDeadlocks))),
];

fn count(m: &Moment, c: Counter) -> u64 {
    m.count(c as usize)
}

/// Average active sessions by class, rates, sizes and latencies over time.
fn series(core: &Core, r: &Request) -> Response {
    let (from, to) = range(r);
    let found = moments(core, (from, to), MOST_POINTS);
    json(|o| {
        o.whole("from", from);
        o.whole("to", to);
        o.whole("cores", cores());
        o.list("t", |l| found.iter().for_each(|m| l.whole(m.unix_ms)));
        o.list("span", |l| found.iter().for_each(|m| l.whole(m.span_ms)));
        o.object("active", |o| {
            for class in Class::ALL {
                let average = |m: &Moment| round(m.active[class as usize] as f64 / m.samples.max(1) as f64);
                o.list(class.name(), |l| found.iter().for_each(|m| l.number(average(m))));
            }
        });
        for (name, value) in LINES {
            o.list(name, |l| found.iter().for_each(|m| l.number(round(value(m)))));
        }
        let of: Vec<Histogram> = found.iter().map(|m| Histogram::of(&m.latency)).collect();
        for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            o.list(name, |l| of.iter().for_each(|h| l.whole(h.quantile(q))));
        }
    })
}

/// Three digits behind the point are enough for a picture.
fn round(n: f64) -> f64 {
    (n * 1000.0).round() / 1000.0
}

/// A column of a heat map: its end and length in milliseconds, executions by bucket.
type Column = (u64, u64, Vec<(u16, u64)>);

/// Those of one digest, in all schemas; a time in which it was not among the busiest is empty.
fn columns_of(core: &Core, (from, to): (u64, u64), digest: &str) -> Vec<Column> {
    let all = &core.seen.digests;
    let begin = |span| all.begin(span).unwrap_or(u64::MAX);
    // The finest that is kept so long and fits.
    let fits = |span, most_ms| {
        to - from <= most_ms && (begin(span) <= from.saturating_add(60_000) || begin(Span::Minute) >= begin(span))
    };
    let span = match () {
        () if fits(Span::Second, HOUR_MS) => Span::Second,
        () if fits(Span::TenSeconds, 24 * HOUR_MS) => Span::TenSeconds,
        () => Span::Minute,
    };
    let found: Vec<DigestMoment> = all.between((from, to), span, Some(digest), usize::MAX);
    let step = found.len().div_ceil(MOST_COLUMNS).max(1);
    let joined = found.chunks(step).map(|chunk| {
        let mut buckets: BTreeMap<u16, u64> = BTreeMap::new();
        let latencies = chunk.iter().flat_map(|m| &m.rows).flat_map(|row| &row.latency);
        latencies.for_each(|(bucket, n)| *buckets.entry(*bucket).or_default() += n);
        let end = chunk.last().map_or(0, |m| m.unix_ms);
        (end, chunk.iter().map(|m| m.span_ms).sum(), buckets.into_iter().collect())
    });
    joined.collect()
}

/// Statements by time and latency; `digest=`: those of one.
fn heat(core: &Core, r: &Request) -> Response {
    let found: Vec<Column> = match r.query.get("digest") {
        None => moments(core, range(r), MOST_COLUMNS).into_iter().map(|m| (m.unix_ms, m.span_ms, m.latency)).collect(),
        Some(digest) => columns_of(core, range(r), digest),
    };
    json(|o| {
        o.list("t", |l| found.iter().for_each(|m| l.whole(m.0)));
        o.list("span", |l| found.iter().for_each(|m| l.whole(m.1)));
        // The least latency of each bucket.
        o.list("bounds", |l| Histogram::new().all_buckets().for_each(|(low, ..)| l.whole(low)));
        o.list("counts", |l| {
            for m in &found {
                l.list(|l| {
                    for (bucket, n) in &m.2 {
                        l.whole(u64::from(*bucket));
                        l.whole(*n);
                    }
                });
            }
        });
    })
}

/// What active sessions are divided by.
fn part<'s>(by: &str, s: &'s Sample) -> Option<Cow<'s, str>> {
    let number = |n: u64| Some(Cow::Owned(n.to_string()));
    Some(Cow::Borrowed(match by {
        "digest" => s.digest.as_ref().map_or("-", |d| &d.digest),
        "user" => &s.whom.user,
        "host" => &s.whom.host,
        "schema" => s.whom.schema.as_deref().unwrap_or("-"),
        "class" => s.class().name(),
        "wait" => s.wait.map_or("cpu", Wait::name),
        "object" => s.object.as_deref()?.as_str(),
        "blocker" => return number(s.blocker?.get()),
        "root" => return number(s.root?.get()),
        "session" => return number(s.session),
        _ => return None,
    }))
}

const PARTS: &[&str] = &["digest", "user", "host", "schema", "class", "wait", "object", "blocker", "root", "session"];

/// Active sessions of a time, divided by one thing, of those that have others: `by=user&class=lock`.
fn top(core: &Core, r: &Request) -> Response {
    let by = r.query.get("by").map_or("digest", |by| &**by);
    if !PARTS.contains(&by) {
        return Response::error(400, "sessions are not divided by that");
    }
    let (from, to) = range(r);
    let wanted: Vec<(&str, &str)> = PARTS.iter().filter_map(|p| r.query.get(*p).map(|value| (*p, &**value))).collect();
    let mut sums: BTreeMap<String, [u64; Class::ALL.len()]> = BTreeMap::new();
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    core.seen.active.each(from, to, |s| {
        if wanted.iter().any(|(p, value)| part(p, s).as_deref() != Some(value)) {
            return;
        }
        let Some(key) = part(by, s) else { return };
        if by == "digest"
            && let Some(d) = &s.digest
            && !labels.contains_key(&*key)
        {
            labels.insert(key.to_string(), d.text.clone());
        }
        let (at, n) = (s.class() as usize, u64::from(s.weight));
        match sums.get_mut(&*key) {
            Some(sum) => sum[at] += n,
            None => sums.entry(key.into_owned()).or_default()[at] += n,
        }
    });
    let seconds: u64 = moments(core, (from, to), usize::MAX).iter().map(|m| m.samples).sum();
    let mut rows: Vec<_> = sums.into_iter().map(|(key, classes)| (classes.iter().sum::<u64>(), key, classes)).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let shown = |n: u64| round(n as f64 / seconds.max(1) as f64);
    json(|o| {
        o.text("by", by);
        o.whole("seconds", seconds);
        o.number("total", shown(rows.iter().map(|(n, ..)| n).sum()));
        o.whole("of", rows.len() as u64);
        o.list("rows", |l| {
            for (n, key, classes) in rows.iter().take(MOST_ROWS) {
                l.object(|o| {
                    o.text("key", key);
                    o.maybe("label", labels.get(key).map(|t| &**t));
                    o.number("active", shown(*n));
                    o.list("classes", |l| classes.iter().for_each(|n| l.number(shown(*n))));
                });
            }
        });
    })
}

/// What each session does now.
fn sessions(core: &Core) -> Response {
    let now = now_ns();
    let mut all = core.registry.all();
    all.sort_by_key(|e| {
        let (activity, since) = e.activity();
        (activity == Activity::Sleep, since)
    });
    json(|o| {
        o.whole("of", all.len() as u64);
        o.list("rows", |l| {
            for e in all.iter().take(MOST_ROWS) {
                let (activity, since) = e.activity();
                let (who, info) = (e.who(), e.info().map(|i| first(&i)));
                l.object(|o| {
                    o.whole("id", e.id);
                    o.text("user", &who.user);
                    o.text("host", &who.host);
                    o.maybe("schema", who.database.as_deref());
                    o.text("command", activity.name());
                    o.text("state", if activity == Activity::Sleep { "" } else { e.state() });
                    o.number("seconds", now.saturating_sub(since) as f64 / 1e9);
                    o.maybe("statement", info.as_deref());
                });
            }
        });
    })
}

/// As much of a statement as a list shows.
pub fn first(text: &KeptText) -> String {
    text.clone().first(500).to_string()
}

fn summary(o: &mut Object<'_>, d: &DigestSnapshot<KeptText>) {
    o.maybe("digest", d.texts.as_ref().map(|t| &*t.digest));
    o.maybe("text", d.texts.as_ref().map(|t| &*t.text));
    o.text("schema", &d.schema);
    let (s, latency) = (&d.sums.did, &d.sums.latency);
    for (name, n) in [
        ("count", s.count),
        ("total_ns", s.total_ns),
        ("locks_ns", s.locks_ns),
        ("errors", s.errors),
        ("rows_sent", s.rows_sent),
        ("rows_examined", s.rows_examined),
        ("rows_affected", s.rows_affected),
        ("no_index", s.no_index),
        ("max_ns", s.max_ns),
        ("p50", latency.quantile(0.5)),
        ("p95", latency.quantile(0.95)),
        ("p99", latency.quantile(0.99)),
        ("first_ms", d.first_seen_us / 1000),
        ("last_ms", d.last_seen_us / 1000),
    ] {
        o.whole(name, n);
    }
}

/// The statements that took most since the start, in an order that is asked for.
fn digests(core: &Core, r: &Request) -> Response {
    let mut all: Vec<_> = core.stats.snapshots().collect();
    let key: fn(&DigestSnapshot<KeptText>) -> u64 = match r.query.get("order").map_or("total", |o| &**o) {
        "count" => |d| d.sums.did.count,
        "errors" => |d| d.sums.did.errors,
        "examined" => |d| d.sums.did.rows_examined,
        "p99" => |d| d.sums.latency.quantile(0.99),
        "locks" => |d| d.sums.did.locks_ns,
        _ => |d| d.sums.did.total_ns,
    };
    all.sort_by_cached_key(|d| std::cmp::Reverse(key(d)));
    json(|o| {
        o.whole("of", all.len() as u64);
        o.whole("uptime", core.uptime_s());
        o.list("rows", |l| all.iter().take(MOST_ROWS).for_each(|d| l.object(|o| summary(o, d))));
    })
}

/// One statement: its figures, the distribution of its latencies, a sample and how that is run.
fn digest(site: &Site, r: &Request, signed: &Signed) -> Response {
    let wanted = r.query.get("digest").map_or("", |d| &**d);
    let found = site.core().stats.snapshots().filter(|d| d.texts.as_ref().is_some_and(|t| t.digest == wanted));
    let Some(d) = found.max_by_key(|d| d.sums.did.total_ns) else {
        return Response::error(404, "no such statement is kept");
    };
    let sample = d.texts.as_ref().map(|t| t.sample.to_string()).unwrap_or_default();
    let plan = explain(site, signed, &d.schema, &sample);
    json(|o| {
        summary(o, &d);
        o.text("sample", &sample);
        match &plan {
            Ok(plan) => o.text("plan", plan),
            Err(why) => o.text("no_plan", why),
        }
        o.list("latency", |l| {
            d.sums.latency.all_buckets().filter(|(.., n)| *n > 0).for_each(|(low, high, n)| {
                l.list(|l| [low, high, n].iter().for_each(|n| l.whole(*n)));
            });
        });
    })
}

/// EXPLAIN of a sample, with the rights of who is signed in.
fn explain(site: &Site, signed: &Signed, schema: &str, sample: &str) -> Result<String, String> {
    let words = ["select", "with", "insert", "update", "delete", "replace", "table", "("];
    let begins = sample.trim_start().to_ascii_lowercase();
    if !words.iter().any(|w| begins.starts_with(w)) {
        return Err("only queries and changes have a plan".into());
    }
    let account = signed.account(site.core()).ok_or("the account is gone")?;
    let mut session = site.sessions().own_of(account, &signed.user).map_err(|e| e.message().to_string())?;
    if !schema.is_empty() {
        session.use_database(schema).map_err(|e| e.message().to_string())?;
    }
    match session.run(&format!("EXPLAIN FORMAT=TREE {sample}")).into_iter().next() {
        Some(Answer::Rows { rows, .. }) => Ok(rows.iter().flatten().map(text).collect::<Vec<_>>().join("\n")),
        Some(Answer::Failed(e)) => Err(e.message().to_string()),
        _ => Err("there is no plan".into()),
    }
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    value.write_text(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The store: log, checkpoint, purge, pool, recovery.
fn engine(core: &Core) -> Response {
    let s = core.engine.status();
    let recovery = core.engine.recovery();
    let (space, scrub) = (core.engine.space(), core.engine.scrub_status());
    let total = gannet_telemetry::total;
    json(|o| {
        for (name, n) in [
            ("log_lsn", s.log_lsn.0),
            ("durable_lsn", s.durable_lsn.0),
            ("checkpoint_lsn", s.checkpoint_lsn.0),
            ("redo_capacity", s.redo_capacity_bytes),
            ("log_growth", s.log_growth),
            ("log_waits", total(Counter::InnodbLogWaits)),
            ("checkpoints", s.checkpoints),
            ("history", s.history_length),
            ("writers", core.engine.active_writers()),
            ("recovering", s.recovering),
            ("pool_pages", s.pool_pages),
            ("pool_resident", s.pool_resident),
            ("pool_dirty", s.pool_dirty),
            ("pool_requests", total(Counter::InnodbBufferPoolReadRequests)),
            ("pool_reads", total(Counter::InnodbBufferPoolReads)),
            ("data_pages", s.data_pages),
            ("free_pages", s.free_pages),
            ("tables_pages", space.others.owned),
            ("tables_used", space.others.used),
            ("undo_pages", space.named.owned),
            ("scrub_pages", scrub.pages),
            ("scrub_errors", scrub.errors),
            ("rows_purged", total(Counter::RowsPurged)),
            ("page_splits", total(Counter::PageSplits)),
            ("deadlocks", total(Counter::InnodbDeadlocks)),
            ("plan_hits", total(Counter::PlanCacheHits)),
            ("plan_misses", total(Counter::PlanCacheMisses)),
            ("seen_bytes", core.seen.moments.bytes() as u64),
        ] {
            o.whole(name, n);
        }
        o.number("recovery_percent", recovery.percent);
        o.maybe("purge_error", s.purge_error.as_deref());
        o.list("waits", |l| {
            let mut waits = gannet_telemetry::wait_totals();
            waits.retain(|w| w.count > 0 && !w.wait.name().starts_with("wait/idle/"));
            waits.sort_by_key(|w| std::cmp::Reverse(w.ns));
            for w in waits {
                l.object(|o| {
                    o.text("name", w.wait.name());
                    o.whole("count", w.count);
                    o.whole("ns", w.ns);
                });
            }
        });
        o.list("log", |l| {
            for line in core.log.last().iter().rev().take(30) {
                l.object(|o| {
                    o.whole("t", line.unix_us / 1000);
                    o.text("severity", &format!("{:?}", line.severity));
                    o.text("text", &line.text);
                });
            }
        });
    })
}

/// Ends a session's statement, by SQL, with the rights of who is signed in.
fn kill(site: &Site, r: &Request, signed: &Signed) -> Response {
    let Some(id) = member(&r.body, "id").and_then(|id| id.parse::<u64>().ok()) else {
        return Response::error(400, "id is wanted");
    };
    let what = match member(&r.body, "what").as_deref() {
        Some("connection") => "CONNECTION",
        Some("query") => "QUERY",
        _ => return Response::error(400, "what is query or connection"),
    };
    let Some(account) = signed.account(site.core()) else { return Response::error(401, "sign in first") };
    let opened = site.sessions().own_of(account, &signed.user);
    let outcome = opened.map_err(|e| e.message().to_string()).and_then(|mut session| {
        session.execute(&format!("KILL {what} {id}")).map_err(|(_, e)| e.message().to_string())
    });
    match outcome {
        Ok(_) => {
            site.core().log.note(format_args!("{} ends the {} of session {id} by the console", signed.user, what));
            json(|o| o.whole("id", id))
        }
        Err(why) => Response::error(403, &why),
    }
}
