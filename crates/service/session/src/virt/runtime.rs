//! Rows about what the server does: sessions, statements, waits, variables, status, accounts.

use super::declare::{BIGINT, DATETIME, INT, LONGTEXT, NAME, SECONDS, UBIGINT, enumeration, fixed, timestamp, varchar};
use super::{Emit, Equals, lent, lent_or_null, maybe, member, micros, text};
use crate::state::State;
use crate::variables;
use gannet_base::prefetch_at;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::kept::KeptText;
use gannet_core::registry::{Activity, Entry};
use gannet_core::status;
use gannet_engine::{Isolation, lock::LockKind, lock::Party};
use gannet_runtime::{WallTime, now_ns};
use gannet_telemetry::{Counter, DigestHandle, DigestSnapshot, DigestTexts};
use gannet_types::{DateTime, Result, Value, ValueRef};
use std::sync::Arc;

tables! {
    INFORMATION_SCHEMA in "information_schema":
    PROCESSLIST by processlist {
        ID: UBIGINT.not_null().empty(), USER: varchar(32).not_null().empty(), HOST: varchar(261).not_null().empty(),
        DB: NAME.empty(), COMMAND: varchar(16).not_null().empty(), TIME: INT.not_null().empty(), STATE: NAME.empty(),
        INFO: varchar(65535).empty(),
    }
    INNODB_TRX by innodb_trx {
        trx_id: UBIGINT.not_null(), trx_state: varchar(13).not_null(), trx_started: DATETIME.not_null(),
        trx_requested_lock_id: varchar(126), trx_wait_started: DATETIME, trx_weight: UBIGINT.not_null(),
        trx_mysql_thread_id: UBIGINT.not_null(), trx_query: varchar(1024), trx_operation_state: NAME,
        trx_tables_in_use: UBIGINT.not_null(), trx_tables_locked: UBIGINT.not_null(),
        trx_lock_structs: UBIGINT.not_null(), trx_lock_memory_bytes: UBIGINT.not_null(),
        trx_rows_locked: UBIGINT.not_null(), trx_rows_modified: UBIGINT.not_null(),
        trx_concurrency_tickets: UBIGINT.not_null(), trx_isolation_level: varchar(16).not_null(),
        trx_unique_checks: INT.not_null(), trx_foreign_key_checks: INT.not_null(),
        trx_last_foreign_key_error: varchar(256), trx_adaptive_hash_latched: INT.not_null(),
        trx_adaptive_hash_timeout: UBIGINT.not_null(), trx_is_read_only: INT.not_null(),
        trx_autocommit_non_locking: INT.not_null(), trx_schedule_weight: UBIGINT,
    }
    PROFILING by profiling {
        QUERY_ID: INT.not_null().empty(), SEQ: INT.not_null().empty(), STATE: varchar(30).not_null().empty(),
        DURATION: SECONDS.not_null().empty(), CPU_USER: SECONDS.empty(), CPU_SYSTEM: SECONDS.empty(),
        CONTEXT_VOLUNTARY: INT.empty(), CONTEXT_INVOLUNTARY: INT.empty(), BLOCK_OPS_IN: INT.empty(),
        BLOCK_OPS_OUT: INT.empty(), MESSAGES_SENT: INT.empty(), MESSAGES_RECEIVED: INT.empty(),
        PAGE_FAULTS_MAJOR: INT.empty(), PAGE_FAULTS_MINOR: INT.empty(), SWAPS: INT.empty(),
        SOURCE_FUNCTION: varchar(30).empty(), SOURCE_FILE: varchar(20).empty(), SOURCE_LINE: INT.empty(),
    }
}

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    persisted_variables by persisted_variables {
        VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
    variables_info by variables_info {
        VARIABLE_NAME: NAME.not_null(),
        VARIABLE_SOURCE: enumeration(&["COMPILED", "GLOBAL", "SERVER", "EXPLICIT", "EXTRA", "USER", "LOGIN", "COMMAND_LINE", "PERSISTED", "DYNAMIC"]).or("COMPILED"),
        VARIABLE_PATH: varchar(1024), MIN_VALUE: NAME, MAX_VALUE: NAME, SET_TIME: timestamp(6),
        SET_USER: fixed(32).utf8mb4_bin(), SET_HOST: fixed(255).ascii(),
    }
    events_statements_summary_by_digest by digests, reset by forget_digests {
        SCHEMA_NAME: NAME, DIGEST: NAME, DIGEST_TEXT: LONGTEXT, COUNT_STAR: UBIGINT.not_null(),
        SUM_TIMER_WAIT: UBIGINT.not_null(), MIN_TIMER_WAIT: UBIGINT.not_null(), AVG_TIMER_WAIT: UBIGINT.not_null(),
        MAX_TIMER_WAIT: UBIGINT.not_null(), SUM_LOCK_TIME: UBIGINT.not_null(), SUM_ERRORS: UBIGINT.not_null(),
        SUM_WARNINGS: UBIGINT.not_null(), SUM_ROWS_AFFECTED: UBIGINT.not_null(), SUM_ROWS_SENT: UBIGINT.not_null(),
        SUM_ROWS_EXAMINED: UBIGINT.not_null(), SUM_CREATED_TMP_DISK_TABLES: UBIGINT.not_null(),
        SUM_CREATED_TMP_TABLES: UBIGINT.not_null(), SUM_SELECT_FULL_JOIN: UBIGINT.not_null(),
        SUM_SELECT_FULL_RANGE_JOIN: UBIGINT.not_null(), SUM_SELECT_RANGE: UBIGINT.not_null(),
        SUM_SELECT_RANGE_CHECK: UBIGINT.not_null(), SUM_SELECT_SCAN: UBIGINT.not_null(),
        SUM_SORT_MERGE_PASSES: UBIGINT.not_null(), SUM_SORT_RANGE: UBIGINT.not_null(),
        SUM_SORT_ROWS: UBIGINT.not_null(), SUM_SORT_SCAN: UBIGINT.not_null(), SUM_NO_INDEX_USED: UBIGINT.not_null(),
        SUM_NO_GOOD_INDEX_USED: UBIGINT.not_null(), SUM_CPU_TIME: UBIGINT.not_null(),
        MAX_CONTROLLED_MEMORY: UBIGINT.not_null(), MAX_TOTAL_MEMORY: UBIGINT.not_null(),
        COUNT_SECONDARY: UBIGINT.not_null(), FIRST_SEEN: timestamp(6).not_null(), LAST_SEEN: timestamp(6).not_null(),
        QUANTILE_95: UBIGINT.not_null(), QUANTILE_99: UBIGINT.not_null(), QUANTILE_999: UBIGINT.not_null(),
        QUERY_SAMPLE_TEXT: LONGTEXT, QUERY_SAMPLE_SEEN: timestamp(6).not_null(),
        QUERY_SAMPLE_TIMER_WAIT: UBIGINT.not_null(),
    }
    global_status by global_status {
        VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
    session_status by session_status {
        VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
    global_variables by global_variables {
        VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
    session_variables by session_variables {
        VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
    processlist by processlist_ps {
        ID: UBIGINT.not_null(), USER: varchar(32), HOST: varchar(261).ascii(), DB: NAME,
        COMMAND: varchar(16), TIME: BIGINT, STATE: NAME, INFO: LONGTEXT,
        EXECUTION_ENGINE: enumeration(&["PRIMARY", "SECONDARY"]),
    }
    session_account_connect_attrs by account_attributes {
        PROCESSLIST_ID: UBIGINT.not_null(), ATTR_NAME: varchar(32).utf8mb4_bin().not_null(), ATTR_VALUE: varchar(1024).utf8mb4_bin(),
        ORDINAL_POSITION: INT,
    }
    session_connect_attrs by attributes {
        PROCESSLIST_ID: UBIGINT.not_null(), ATTR_NAME: varchar(32).utf8mb4_bin().not_null(), ATTR_VALUE: varchar(1024).utf8mb4_bin(),
        ORDINAL_POSITION: INT,
    }
}

/// The sessions that this one may see: all of them with PROCESS, else those of the same user.
pub(crate) fn visible(state: &State) -> Vec<Arc<Entry>> {
    let mut all = state.server.registry.all();
    if !state.privileges().has(Privilege::Process) {
        let own = state.entry.who().user;
        all.retain(|e| e.who().user == own);
    }
    all
}

/// One row of the process list: id, user, host, database, command, seconds, state, text.
pub(crate) fn process_row(e: &Entry) -> [Value; 8] {
    let who = e.who();
    let (activity, since) = e.activity();
    let info = e.info().map(|i| text(&i.to_string()));
    [
        Value::UInt(e.id),
        text(&who.user),
        text(&who.host),
        maybe(who.database.as_deref()),
        text(activity.name()),
        Value::Int((now_ns().saturating_sub(since) / 1_000_000_000) as i64),
        if activity == Activity::Sleep { text("") } else { text(e.state()) },
        info.unwrap_or(Value::Null),
    ]
}

pub(super) fn processlist(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    gannet_telemetry::count(Counter::DeprecatedProcesslist);
    visible(state).iter().try_for_each(|e| emit(&process_row(e)))
}

pub(super) fn processlist_ps(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        let mut row = process_row(&e).to_vec();
        row.push(member("processlist", "EXECUTION_ENGINE", "PRIMARY"));
        emit(&row)?;
    }
    Ok(())
}

/// Nanoseconds as performance_schema counts: picoseconds.
pub(super) fn ps(ns: u64) -> Value {
    Value::UInt(ns.saturating_mul(1000))
}

/// Nanoseconds in picoseconds, of a row that is lent.
fn lent_ps(ns: u64) -> ValueRef<'static> {
    ValueRef::UInt(ns.saturating_mul(1000))
}

/// Microseconds since 1970 of a row that is lent; NULL for 0.
fn lent_micros(us: u64) -> ValueRef<'static> {
    let stamp = i64::try_from(us).ok().filter(|us| *us > 0).and_then(gannet_types::Timestamp::from_unix_micros);
    stamp.map_or(ValueRef::Null, |t| ValueRef::Timestamp(t, 6))
}

/// Digests that have yet to be shown.
type Digests = std::vec::IntoIter<DigestHandle<KeptText>>;

/// Rows made at a time where there may be tens of thousands: they stay in the processor's cache until they are sent.
const AT_ONCE: usize = 128;

pub(super) fn digests(state: &mut State, equals: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    let quantiles = equals.wants(&["QUANTILE_95", "QUANTILE_99", "QUANTILE_999"]);
    let mut digests: Digests = equals.left(|| state.server.stats.all().into_iter());
    for _ in 0..AT_ONCE {
        let Some(handle) = digests.next() else { break };
        if let [near, _, middle, _, far, ..] = digests.as_slice() {
            far.approach();
            middle.approach_parts();
            near.texts().into_iter().for_each(approach);
        }
        let s = handle.bare();
        if s.sums.did.count > 0 {
            let [q95, q99, q999] = if quantiles { handle.quantiles([0.95, 0.99, 0.999]) } else { [0; 3] };
            digest(&s, [q95, q99, q999], equals)?;
        }
    }
    if digests.len() > 0 {
        equals.leave(digests);
    }
    Ok(())
}

/// Asks the processor for texts that will be sent soon.
fn approach(texts: &DigestTexts<KeptText>) {
    for text in [texts.digest.as_bytes(), texts.text.as_bytes(), texts.sample.bytes()] {
        prefetch_at(text.as_ptr(), 0..text.len().min(512));
    }
}

/// The columns CREATED_TMP_DISK_TABLES to SORT_SCAN of every table of statements.
pub(super) fn worked(work: impl Fn(Counter) -> u64) -> [u64; 11] {
    [
        work(Counter::CreatedTmpDiskTables),
        work(Counter::CreatedTmpTables),
        work(Counter::SelectFullJoin),
        work(Counter::SelectFullRangeJoin),
        work(Counter::SelectRange),
        // Joins that look for an access anew for each row: there is no such thing here.
        0,
        work(Counter::SelectScan),
        work(Counter::SortMergePasses),
        work(Counter::SortRange),
        work(Counter::SortRows),
        work(Counter::SortScan),
    ]
}

/// A row of the table of digests.
fn digest(s: &DigestSnapshot<KeptText>, quantiles: [u64; 3], equals: &Equals<'_>) -> Result<()> {
    let (n, ps, micros, sums) = (ValueRef::UInt, lent_ps, lent_micros, &s.sums.did);
    let texts = s.texts.as_deref();
    let sample = texts.map(|t| String::from_utf8_lossy(t.sample.bytes()));
    let work = worked(|c| sums.work.of(c));
    let row = [
        lent_or_null(Some(&*s.schema).filter(|schema| !schema.is_empty())),
        lent_or_null(texts.map(|t| &*t.digest)),
        lent_or_null(texts.map(|t| &*t.text)),
        n(sums.count),
        ps(sums.total_ns),
        ps(sums.min_ns.min(sums.max_ns)),
        ps(sums.total_ns.checked_div(sums.count).unwrap_or(0)),
        ps(sums.max_ns),
        ps(sums.locks_ns),
        n(sums.errors),
        n(sums.warnings),
        n(sums.rows_affected),
        n(sums.rows_sent),
        n(sums.rows_examined),
        n(work[0]),
        n(work[1]),
        n(work[2]),
        n(work[3]),
        n(work[4]),
        n(work[5]),
        n(work[6]),
        n(work[7]),
        n(work[8]),
        n(work[9]),
        n(work[10]),
        n(sums.no_index),
        n(0),
        ps(sums.cpu_ns),
        n(sums.work.memory),
        n(sums.work.memory),
        n(0),
        micros(s.first_seen_us),
        micros(s.last_seen_us),
        ps(quantiles[0]),
        ps(quantiles[1]),
        ps(quantiles[2]),
        lent_or_null(sample.as_deref()),
        micros(s.sample_seen_us),
        ps(s.sample_ns),
    ];
    equals.lend(&row)
}

pub(super) fn forget_digests(server: &Core) {
    server.stats.clear();
}

pub(super) fn attributes(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    attributes_of(state, |_| true, emit)
}

pub(super) fn account_attributes(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let user = state.entry.who().user;
    attributes_of(state, |e| e.who().user == user, emit)
}

fn attributes_of(state: &State, wanted: impl Fn(&Entry) -> bool, emit: Emit<'_>) -> Result<()> {
    for entry in state.server.registry.all().iter().filter(|e| wanted(e)) {
        let all = entry.attributes.lock().clone();
        for (i, (name, value)) in all.iter().enumerate() {
            let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            emit(&[Value::UInt(entry.id), text(&name), text(&value), Value::Int(i as i64)])?;
        }
    }
    Ok(())
}

pub(super) fn global_status(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let wanted = |name: &str| state.running.wants(name);
    status::each(&state.server, None, None, wanted, &mut |n, v| emit(&[text(n), text(v)]))
}

pub(super) fn session_status(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let wanted = |name: &str| state.running.wants(name);
    let (counters, entry) = (Some(&state.entry.counters), Some(&*state.entry));
    status::each(&state.server, counters, entry, wanted, &mut |name, value| match name {
        "Last_query_cost" => emit(&[text(name), text(&format!("{:.6}", state.last_query_cost))]),
        _ => emit(&[text(name), text(value)]),
    })
}

pub(super) fn global_variables(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    variables::each(state, true, |name| state.running.wants(name), |n, v| emit(&[text(n), text(v)]))
}

pub(super) fn session_variables(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    variables::each(state, false, |name| state.running.wants(name), |n, v| emit(&[text(n), text(v)]))
}

pub(super) fn persisted_variables(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (name, p) in state.server.persisted.all() {
        let kind = gannet_core::vars::find(name).map_or(gannet_core::vars::Kind::Text, |id| id.def().kind);
        emit(&[text(name), maybe(p.value.display(&kind).as_deref())])?;
    }
    Ok(())
}

pub(super) fn variables_info(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    use gannet_core::vars::Kind;
    let server = state.server.clone();
    for (name, id) in gannet_core::vars::sorted() {
        let def = id.def();
        let kept = server.persisted.get(*id).filter(|_| server.persisted.holds(*id));
        let setter = server.globals.setter(*id);
        let source = match (&setter, &kept) {
            (Some(_), _) => "DYNAMIC",
            (None, Some(_)) => "PERSISTED",
            _ if server.started_with[id.index()] != def.initial.value() => "COMMAND_LINE",
            _ => "COMPILED",
        };
        let (min, max) = match def.kind {
            Kind::Int { min, max, .. } => (min.to_string(), max.to_string()),
            Kind::Double { min, max } => (min.to_string(), max.to_string()),
            _ => ("0".into(), "0".into()),
        };
        let by = setter.map(|s| (s.at_us, s.user, s.host)).or(kept.map(|p| (p.at_us, p.user, p.host)));
        let (at, user, host) = by.map_or((Value::Null, None, None), |(t, u, h)| (micros(t, 6), Some(u), Some(h)));
        emit(&[
            text(name),
            member("variables_info", "VARIABLE_SOURCE", source),
            text(""),
            text(&min),
            text(&max),
            at,
            maybe(user.as_deref()),
            maybe(host.as_deref()),
        ])?;
    }
    Ok(())
}

/// The stages that SHOW PROFILE shows, of all statements that are kept.
pub(super) fn profiling(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (query, sequence, stage, duration) in state.profiles.rows() {
        let mut row = vec![Value::UInt(query), Value::UInt(sequence), text(stage), duration];
        row.resize(18, Value::Null);
        emit(&row)?;
    }
    Ok(())
}

pub(super) fn innodb_trx(state: &mut State, equals: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let texts = equals.wants(&["trx_query"]);
    let ids = equals.wants(&["trx_requested_lock_id"]);
    let zone = state.server.facts.system_zone.clone();
    let local = |ns: u64| {
        let at = gannet_types::Timestamp::from_unix_micros(WallTime::of(ns).micros() as i64);
        ValueRef::DateTime(at.map_or(DateTime::new(0, 0, 0, 0, 0, 0, 0), |s| s.to_local(&zone)), 0)
    };
    for t in equals.transactions(state).iter() {
        let entry = state.server.registry.get(t.owner_thread_id);
        let waits = t.locks.as_ref().and_then(|l| {
            let (kind, since) = l.waits.as_ref().filter(|(kind, _)| !matches!(kind, LockKind::Metadata { .. }))?;
            Some((ids.then(|| lock_id(&l.party, kind)), local(*since)))
        });
        let kind = match (t.rolling_back, &waits) {
            (true, _) => "ROLLING BACK",
            (false, Some(_)) => "LOCK WAIT",
            _ => "RUNNING",
        };
        // A single statement that has not written began when the session began it.
        let started =
            if t.started_ns == 0 { entry.as_ref().map_or_else(now_ns, |e| e.activity().1) } else { t.started_ns };
        let query = entry.as_ref().filter(|_| texts).and_then(|e| e.info()).map(|i| i.first(1024).to_string());
        let (rows, trees, bytes) =
            t.locks.as_ref().map_or((0, 0, 0), |l| (l.records as u64, l.gap_trees as u64, l.bytes as u64));
        let level = match t.isolation {
            Isolation::ReadUncommitted => "READ UNCOMMITTED",
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        };
        let reads = t.id.0 == 0;
        let snapshot_only = reads && t.autocommit && rows + trees == 0;
        let read_only = t.read_only || snapshot_only;
        let (requested, wait_started) = waits.unwrap_or((None, ValueRef::Null));
        let (n, int) = (ValueRef::UInt, ValueRef::Int);
        equals.lend(&[
            n(gannet_core::status::shown_trx(t.id, t.lock_owner)),
            lent(kind),
            local(started),
            lent_or_null(requested.as_deref()),
            wait_started,
            n(t.undo_records + rows),
            n(t.owner_thread_id),
            lent_or_null(query.as_deref()),
            ValueRef::Null,
            n(0),
            n(0),
            n(rows + trees),
            n(bytes),
            n(rows),
            n(t.rows_changed),
            n(0),
            lent(level),
            int(1),
            int(1),
            ValueRef::Null,
            int(0),
            n(0),
            int(read_only.into()),
            int(snapshot_only.into()),
            ValueRef::Null,
        ])?;
    }
    Ok(())
}

/// The same for a row's lock and for its transaction's stamp: who waits for one waits for the other.
pub(super) fn lock_id(p: &Party, kind: &LockKind) -> String {
    use std::fmt::Write as _;
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    match kind {
        LockKind::Record { tree, key, .. } | LockKind::Transaction { row: Some((tree, key)), .. } => {
            (tree.0, key).hash(&mut h)
        }
        other => format!("{other:?}").hash(&mut h),
    }
    let mut id = String::with_capacity(40);
    let _ = write!(id, "{}:{:016x}", p.owner, h.finish());
    id
}
