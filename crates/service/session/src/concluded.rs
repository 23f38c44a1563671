//! The end of a statement: its diagnostics, its figures, and where they are kept.

use super::reply::Done;
use super::running::Figures;
use super::{Session, counting, gtids, logging};
use gannet_core::consumers::Kept;
use gannet_core::history::{Ended, Plain};
use gannet_core::instances::Instance;
use gannet_core::kept::DigestHandle;
use gannet_core::transacted::Alone;
use gannet_core::work;
use gannet_runtime::{Interrupt, now_ns};
use gannet_telemetry::{Bucket, Counter, DigestKey, DigestPlace, Execution, Rare, count};
use gannet_types::{Level, Result, Value};
use std::sync::Arc;

/// Statistics, diagnostics and functions about the statement that ended; later, where its commit is not on disk
/// yet. `values`: of its markers.
pub(crate) fn finish_statement(
    session: &mut Session,
    started: u64,
    handle: Option<&DigestHandle>,
    values: &[Value],
    outcome: Result<Done>,
) -> Result<Done> {
    if let (Some(lsn), Ok(_)) = (session.work.unsynced(), &outcome) {
        session.leave(lsn, started, (handle, 0), values, outcome?);
        return Ok(Done::default());
    }
    conclude(session, Concluded { started, prepared: 0, values }, &handle, outcome)
}

/// The same of a prepared statement that a client has executed. `prepared`: its text, see `Entry::new_text`.
pub(crate) fn finish_execution(
    session: &mut Session,
    started: u64,
    (handle, prepared): (&DigestHandle, u64),
    values: &[Value],
    outcome: Result<Done>,
) -> Result<Done> {
    if let (Some(lsn), Ok(_)) = (session.work.unsynced(), &outcome) {
        session.leave(lsn, started, (Some(handle), prepared), values, outcome?);
        return Ok(Done::default());
    }
    conclude(session, Concluded { started, prepared, values }, &Some(handle), outcome)
}

/// The way to the sums of a statement's digest.
pub(crate) trait Digested {
    /// Which digest it is.
    fn key(&self) -> Option<DigestKey>;

    /// Adds an execution, whose latency is in that bucket.
    fn record(&self, e: &Execution, bucket: Bucket);
}

impl Digested for Option<&DigestHandle> {
    fn key(&self) -> Option<DigestKey> {
        self.and_then(DigestHandle::key)
    }

    #[inline(always)]
    fn record(&self, e: &Execution, bucket: Bucket) {
        if let Some(handle) = self {
            handle.record_in(e, bucket);
        }
    }
}

impl Digested for Option<&DigestPlace> {
    fn key(&self) -> Option<DigestKey> {
        self.and_then(DigestPlace::key)
    }

    #[inline(always)]
    fn record(&self, e: &Execution, bucket: Bucket) {
        if let Some(place) = self {
            place.record_in(e, bucket);
        }
    }
}

/// A statement that ends.
pub(crate) struct Concluded<'a> {
    pub started: u64,
    /// The text of the prepared statement that was executed; 0: none.
    pub prepared: u64,
    /// Of its markers.
    pub values: &'a [Value],
}

/// [`finish_statement`], when nothing is to be waited for any more.
pub(crate) fn conclude(
    session: &mut Session,
    concluded: Concluded<'_>,
    digest: &impl Digested,
    outcome: Result<Done>,
) -> Result<Done> {
    session.state.profiles.stage("query end");
    let outcome = outcome.map_err(|e| {
        gtids::end_failed(session, &e);
        session.final_error(e)
    });
    if std::mem::take(&mut session.running.timed_out) {
        // The limit was this statement's, which may have ended by itself just then: not the next one of the text.
        session.entry.context.clear(Interrupt::Query);
    }
    if let Err(e) = &outcome {
        session.running.diagnostics.warnings.push(e.to_warning(Level::Error));
    }
    session.state.running.before.ended(&mut session.running, 0, &outcome);
    let figures = std::mem::take(&mut session.running.figures);
    session.running.no_index = figures.no_index;
    let started = concluded.started;
    let latency = now_ns().saturating_sub(started);
    session.state.running.clock.ended_ns = started + latency;
    let locks_ns = session.entry.counters.get(Counter::LockWaitNs).wrapping_sub(session.locks_seen_ns);
    let alone = work::settle(&mut session.work, started, started + latency);
    if figures.sent == 0 && !figures.into && figures.kind == Some(Counter::ComSelect) && outcome.is_ok() {
        count(Counter::EmptyQueries);
    }
    let end = End { figures, latency, locks_ns, alone };
    if end.is_plain(session) && outcome.is_ok() && session.executed.is_none() && session.entry.is_usual() {
        conclude_plain(session, &end, started, digest, &outcome);
    } else {
        conclude_any(session, &end, &concluded, digest, &outcome);
    }
    session.locks_seen_ns = session.locks_seen_ns.wrapping_add(locks_ns);
    logging::check_slow(session, latency, locks_ns, &figures, concluded.values, &outcome);
    outcome
}

/// What a statement has come to.
struct End {
    figures: Figures,
    latency: u64,
    /// Of which it waited for locks.
    locks_ns: u64,
    /// The transaction that it was, which nobody is told of yet.
    alone: Option<Alone>,
}

impl End {
    /// It may have scanned, sorted or taken memory that is counted.
    #[inline(always)]
    fn works(&self, session: &Session) -> bool {
        self.figures.works || session.entry.memory.is_touched()
    }

    /// Without an error, it has nothing of [`Rare`], and a text for which there is room.
    #[inline(always)]
    fn is_plain(&self, session: &Session) -> bool {
        let rare = self.works(session) || self.figures.no_index || counting::measures_cpu(session);
        let more = self.locks_ns | session.running.diagnostics.warnings.total();
        !rare && more == 0 && session.entry.is_short()
    }

    /// Its figures, but what is rare.
    #[inline(always)]
    fn execution(&self, session: &Session, outcome: &Result<Done>) -> Execution {
        Execution {
            latency_ns: self.latency,
            rows_sent: self.figures.sent,
            rows_examined: self.figures.examined,
            rows_affected: outcome.as_ref().map_or(0, |done| if done.rows { 0 } else { done.affected }),
            end_unix_us: session.state.running.clock.unix_us + self.latency / 1000,
            rare: None,
        }
    }
}

/// Of a plain statement, while what is collected is the usual. In line: its figures stay in registers.
#[inline(always)]
fn conclude_plain(session: &Session, end: &End, started_ns: u64, digest: &impl Digested, outcome: &Result<Done>) {
    let (execution, bucket) = (end.execution(session, outcome), Bucket::of(end.latency));
    digest.record(&execution, bucket);
    let schema = session.state.database_id();
    let plain = Plain { execution: &execution, started_ns, schema, alone: end.alone };
    session.entry.ended_plain(end.figures.kind, &plain, bucket, || digest.key());
}

/// Of any statement.
#[inline(never)]
fn conclude_any(
    session: &mut Session,
    end: &End,
    concluded: &Concluded<'_>,
    digest: &impl Digested,
    outcome: &Result<Done>,
) {
    let (started, kind, alone) = (concluded.started, end.figures.kind, end.alone);
    let work = end.works(session).then(|| counting::work_done(session));
    let cpu_ns = if counting::measures_cpu(session) { counting::cpu_taken(session).min(end.latency) } else { 0 };
    if !session.server.registry.consumers.collect() {
        // Nothing of it is kept anywhere: `performance_schema` is OFF.
        session.executed = None;
        return;
    }
    let warnings = outcome.as_ref().map_or(0, |_| session.running.diagnostics.warnings.total());
    let (error, no_index, locks_ns) = (outcome.is_err(), end.figures.no_index, end.locks_ns);
    let rare = Rare { error, no_index, locks_ns, cpu_ns, warnings, work }.if_any();
    let execution = Execution { rare, ..end.execution(session, outcome) };
    let usual = session.server.registry.is_usual(&session.entry);
    let bucket = Bucket::of(end.latency);
    if usual && outcome.is_ok() && session.executed.is_none() {
        digest.record(&execution, bucket);
        if session.running.diagnostics.warnings.raised() > 0 {
            tell_warnings(session, execution.end_unix_us);
        }
        let (schema, digest) = (session.state.database_id(), &|| digest.key());
        let ended =
            Ended { execution: &execution, digest, started_ns: started, schema, error: None, listed: true, owes: None };
        session.server.registry.ended(&session.entry, kind, alone, ended);
    } else {
        let executed = session.executed.take();
        alone.iter().for_each(|alone| work::tell_alone(&session.work, *alone, (started, started + end.latency)));
        if let Some(kept) = keeps(session, kind, outcome) {
            digest.record(&execution, bucket);
            let executed = (executed, concluded.prepared);
            account(session, (kept, kind), executed, (&execution, &|| digest.key(), started), outcome);
        }
    }
}

/// Where a statement is kept that has ended; `None`: nothing is collected of it.
fn keeps(session: &Session, kind: Option<Counter>, outcome: &Result<Done>) -> Option<Kept> {
    let number = outcome.as_ref().err().map_or(0, |e| e.number());
    session.server.registry.keeps(&session.entry, kind, number)
}

/// Adds a statement to all sums and lists that is not to be added to them later.
#[inline(never)]
fn account(
    session: &mut Session,
    (kept, kind): (Kept, Option<Counter>),
    (executed, prepared): (Option<Arc<Instance>>, u64),
    (execution, digest, started_ns): (&Execution, &dyn Fn() -> Option<DigestKey>, u64),
    outcome: &Result<Done>,
) {
    let registry = &session.server.registry;
    let error = outcome.as_ref().err().map(|e| (e.number(), e.message()));
    let executed = executed.or_else(|| session.entry.deeds.prepared.of_text(prepared));
    executed.iter().for_each(|instance| instance.did(execution, &registry.prepared));
    registry.did(&session.entry, kind, error.map_or(0, |(number, _)| number), execution);
    if session.running.diagnostics.warnings.raised() > 0 {
        tell_warnings(session, execution.end_unix_us);
    }
    if kept.own || kept.long {
        let (schema, listed) = (session.state.database_id(), kept.listed);
        session.entry.ended(&Ended { execution, digest, started_ns, schema, error, listed, owes: None });
    }
    if kept.long {
        keep_long(session);
    }
}

/// Counts the warnings of the statement among the errors; an error that ended it is counted with it.
#[cold]
fn tell_warnings(session: &Session, ended_us: u64) {
    let warnings = &session.running.diagnostics.warnings;
    let own = usize::try_from(warnings.raised()).unwrap_or(usize::MAX);
    for warning in warnings.iter().rev().take(own).filter(|w| w.level != Level::Error) {
        session.server.registry.warned(&session.entry, warning.code.number(), ended_us);
    }
}

/// Adds the statement that has ended to those of all sessions.
#[cold]
fn keep_long(session: &Session) {
    if let Some(event) = session.entry.last_event() {
        session.server.registry.long_history.add(event);
    }
}
