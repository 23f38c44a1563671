//! performance_schema.gannet_*: the recent past, as the console draws it.

use super::columns::COUNT;
use super::declare::{BIGINT, Columns, DOUBLE, LONGTEXT, NAME, UBIGINT, UINT, enumeration, fixed, timestamp, varchar};
use super::runtime::ps;
use super::{Emit, Equals, maybe, member, micros, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::seen::{Gauge, Moment};
use gannet_runtime::{Wait, WallTime};
use gannet_telemetry::{Counter, Histogram};
use gannet_types::{Result, SqlError, Value};
use std::num::NonZeroU64;

/// A session that was active.
const ACTIVE: Columns = &[
    ("SAMPLE_TIME", timestamp(3).not_null()),
    ("WEIGHT", UINT.not_null()),
    ("THREAD_ID", COUNT),
    ("USER", fixed(32).utf8mb4_bin().not_null()),
    ("HOST", fixed(255).ascii().not_null()),
    ("SCHEMA_NAME", NAME),
    ("DIGEST", NAME),
    ("DIGEST_TEXT", LONGTEXT),
    ("COMMAND", varchar(16).not_null()),
    ("STATEMENT_TIME", COUNT),
    ("WAIT_CLASS", enumeration(&["cpu", "lock", "commit", "io", "engine", "network", "user", "other"]).not_null()),
    ("WAIT_EVENT", varchar(128)),
    ("OBJECT", varchar(200)),
    ("BLOCKING_THREAD_ID", UBIGINT),
    ("ROOT_BLOCKING_THREAD_ID", UBIGINT),
];

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    gannet_active_session_history by active, reset by forget_active {} + ACTIVE
    gannet_active_sessions by active_now {} + ACTIVE
    gannet_history by history, reset by forget_history {
        END_TIME: timestamp(3).not_null(), SECONDS: DOUBLE.not_null(), NAME: varchar(128).not_null(),
        VALUE: BIGINT.not_null(), SUM_TIMER_WAIT: UBIGINT,
    }
    gannet_latency_history by latency, reset by forget_history {
        END_TIME: timestamp(3).not_null(), SECONDS: DOUBLE.not_null(), BUCKET_TIMER_LOW: COUNT, BUCKET_TIMER_HIGH: COUNT,
        COUNT_BUCKET: COUNT,
    }
    gannet_digest_latency_history by digests, reset by forget_digests {
        END_TIME: timestamp(3).not_null(), SECONDS: DOUBLE.not_null(), SCHEMA_NAME: NAME, DIGEST: NAME,
        DIGEST_TEXT: LONGTEXT, SUM_TIMER_WAIT: COUNT, BUCKET_TIMER_LOW: COUNT, BUCKET_TIMER_HIGH: COUNT,
        COUNT_BUCKET: COUNT,
    }
}

fn forget_active(core: &Core) {
    core.seen.active.clear();
}

fn forget_history(core: &Core) {
    core.seen.moments.forget();
}

fn forget_digests(core: &Core) {
    core.seen.digests.clear();
}

/// Who was active in each second of the last hour.
fn active(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    active_since(state, 0, emit)
}

/// Who was active in the last minute.
fn active_now(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    active_since(state, (WallTime::now().micros() / 1000).saturating_sub(60_000), emit)
}

fn active_since(state: &State, from: u64, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    for s in state.server.seen.active.between(from, u64::MAX) {
        let thread = |id: Option<NonZeroU64>| id.map_or(Value::Null, |id| Value::UInt(id.get()));
        emit(&[
            micros(s.unix_ms * 1000, 3),
            Value::UInt(s.weight.into()),
            Value::UInt(s.session),
            text(&s.whom.user),
            text(&s.whom.host),
            maybe(s.whom.schema.as_deref()),
            maybe(s.digest.as_ref().map(|d| &*d.digest)),
            maybe(s.digest.as_ref().map(|d| &*d.text)),
            text(s.command.name()),
            ps(s.statement_ns),
            member("gannet_active_session_history", "WAIT_CLASS", s.class().name()),
            maybe(s.wait.map(Wait::name)),
            maybe(s.object.as_ref().map(|o| &***o)),
            thread(s.blocker),
            thread(s.root),
        ])?;
    }
    Ok(())
}

/// Minutes, then tens of seconds, then seconds.
fn moments(state: &State) -> Result<Vec<Moment>> {
    state.privileges().require(Privilege::Process)?;
    Ok(state.server.seen.moments.all())
}

fn head(m: &Moment) -> [Value; 2] {
    [micros(m.unix_ms * 1000, 3), Value::Double(m.span_ms as f64 / 1000.0)]
}

/// What was counted: counters and waits by how much they grew, sizes as they were at the end.
fn history(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for m in moments(state)? {
        let mut row = |name: &str, value: u64, time: Value| {
            emit(&[&head(&m)[..], &[text(name), Value::Int(value as i64), time]].concat())
        };
        for (gauge, value) in Gauge::ALL.iter().zip(m.gauges) {
            row(gauge.name(), value, Value::Null)?;
        }
        for (counter, n) in &m.counters {
            let name = Counter::ALL.get(usize::from(*counter)).map_or("", |c| c.name());
            row(name, *n, Value::Null)?;
        }
        for (wait, w) in &m.waits {
            let name = Wait::ALL.get(usize::from(*wait)).map_or("", |w| w.name());
            row(name, w.count, ps(w.ns))?;
        }
    }
    Ok(())
}

/// How many statements took how long.
fn latency(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for m in moments(state)? {
        for (low, high, n) in Histogram::of(&m.latency).all_buckets().filter(|(.., n)| *n > 0) {
            emit(&[&head(&m)[..], &[ps(low), ps(high), Value::UInt(n)]].concat())?;
        }
    }
    Ok(())
}

/// How many executions of the busiest statements took how long.
fn digests(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let wanted = equals.text("DIGEST");
    state.server.seen.digests.each::<SqlError>(wanted.as_deref(), |m| {
        let head = [micros(m.unix_ms * 1000, 3), Value::Double(m.span_ms as f64 / 1000.0)];
        for row in &m.rows {
            let name = &row.name;
            let schema = Some(&*name.schema).filter(|s| !s.is_empty());
            let of = [maybe(schema), text(&name.digest), text(&name.text), ps(row.total_ns)];
            for (low, high, n) in Histogram::of(&row.latency).all_buckets().filter(|(.., n)| *n > 0) {
                emit(&[&head[..], &of, &[ps(low), ps(high), Value::UInt(n)]].concat())?;
            }
        }
        Ok(())
    })
}
