//! What status variables and digests say of a statement as a whole: scans and joins, sorts, temporary tables, its
//! commit.

use super::Session;
use gannet_plan::Plan;
use gannet_plan::plan::Accesses;
use gannet_telemetry::{Counter, WORK, Work, add_all};

/// What the status variables say of an execution as a whole.
pub(crate) fn count_execution(session: &mut Session, plan: &Plan, done: bool) {
    if !plan.tables.is_empty() && !plan.uses.virtual_tables {
        let end = if done { Counter::HandlerCommit } else { Counter::HandlerRollback };
        // Taken and let go, each table.
        add_all([(end, 1), (Counter::HandlerExternalLock, 2 * plan.tables.len() as u64)]);
    }
    let a = &plan.accesses;
    if *a != Accesses::default() {
        session.running.figures.works = true;
        add_all([
            (Counter::SelectScan, a.scan.into()),
            (Counter::SelectFullJoin, a.full_join.into()),
            (Counter::SelectRange, a.range.into()),
            (Counter::SelectFullRangeJoin, a.full_range_join.into()),
        ]);
    }
}

/// What the session has counted of [`WORK`] since the last statement that asked, and the most memory of this one.
#[cold]
pub(crate) fn work_done(session: &mut Session) -> Work {
    let now = WORK.map(|c| session.entry.counters.get(c));
    let before = std::mem::replace(&mut session.work_seen, now);
    let counters = std::array::from_fn(|i| now[i].wrapping_sub(before[i]));
    Work { counters, memory: session.entry.memory.end_statement() }
}

/// This server measures processor time, not only another one of the process.
#[inline]
pub(crate) fn measures_cpu(session: &Session) -> bool {
    gannet_telemetry::measures_cpu() && session.server.registry.consumers.measures_cpu()
}

/// Processor time of the session's commands up to here.
#[cold]
pub(crate) fn cpu_now(session: &Session) -> u64 {
    gannet_runtime::cpu_rests();
    gannet_runtime::cpu_runs();
    session.entry.counters.cpu_ns()
}

/// The same since the statement before.
#[cold]
pub(crate) fn cpu_taken(session: &mut Session) -> u64 {
    let now = cpu_now(session);
    now.wrapping_sub(std::mem::replace(&mut session.cpu_seen_ns, now))
}

/// The session's counters are zero again.
pub(crate) fn counters_reset(session: &mut Session) {
    (session.locks_seen_ns, session.work_seen, session.extra_seen) = (0, Default::default(), None);
    session.cpu_seen_ns = 0;
}
