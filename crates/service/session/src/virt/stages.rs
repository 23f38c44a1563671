//! performance_schema: stages of long work, those that are under way, the last ones, and their sums.

use super::columns::*;
use super::deeds::{all_by, timed, whose};
use super::runtime::{ps, visible};
use super::{Emit, Equals, member, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::consumers::Consumer;
use gannet_core::ledger::Of;
use gannet_core::registry::Entry;
use gannet_core::stages::{Event, SessionStages, Sums};
use gannet_telemetry::Stage;
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    events_stages_current by current, reset by forget_current {} + STAGE
    events_stages_history by history, reset by forget_history {} + STAGE
    events_stages_history_long by history_long, reset by forget_history_long {} + STAGE
    events_stages_summary_global_by_event_name by sums_of(All), reset by forget(All) {} + EVENT + TIMED
    events_stages_summary_by_thread_by_event_name by sums_by_thread, reset by forget_threads {} + THREAD + TIMED
    events_stages_summary_by_account_by_event_name by sums_of(Account), reset by forget(Account) {} + ACCOUNT + TIMED
    events_stages_summary_by_user_by_event_name by sums_of(User), reset by forget(User) {} + USER + TIMED
    events_stages_summary_by_host_by_event_name by sums_of(Host), reset by forget(Host) {} + HOST + TIMED
}

fn n(n: u64) -> Value {
    Value::UInt(n)
}

fn row(state: &State, thread: u64, e: &Event) -> [Value; 12] {
    let or_null = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    let began = e.started_ns.map(|ns| ns.saturating_sub(state.server.started_ns()));
    let time = |ns: Option<u64>| ns.map_or(Value::Null, ps);
    [
        n(thread),
        n(e.number),
        or_null(e.ended.then_some(e.number)),
        text(e.stage.name()),
        Value::Null,
        time(began),
        time(began.map(|ns| ns + e.latency_ns)),
        time(began.map(|_| e.latency_ns)),
        n(e.done),
        or_null(e.estimated),
        n(e.statement),
        member("events_stages_current", "NESTING_EVENT_TYPE", "STATEMENT"),
    ]
}

/// Of each session the stage that is under way.
fn current(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StagesCurrent) {
        return Ok(());
    }
    for entry in visible(state).into_iter().filter(|e| e.watched.get().instrumented) {
        if let Some(event) = entry.stages().and_then(SessionStages::current) {
            emit(&row(state, entry.id, &event))?;
        }
    }
    Ok(())
}

fn history(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StagesHistory) {
        return Ok(());
    }
    for entry in visible(state) {
        for event in entry.stages().map_or(Vec::new(), SessionStages::kept) {
            emit(&row(state, entry.id, &event))?;
        }
    }
    Ok(())
}

fn history_long(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let consumers = &state.server.registry.consumers;
    if !consumers.is_on(Consumer::StagesHistoryLong) {
        return Ok(());
    }
    let events = consumers.stages.long();
    let seen = visible(state);
    let all = state.privileges().has(Privilege::Process);
    for (thread, event) in events {
        if all || seen.iter().any(|e| e.id == thread) {
            emit(&row(state, thread, &event))?;
        }
    }
    Ok(())
}

fn of_sessions(core: &Core, forget: impl Fn(&SessionStages)) {
    core.registry.all().iter().filter_map(|entry| entry.stages()).for_each(forget);
}

fn forget_current(core: &Core) {
    of_sessions(core, SessionStages::forget_current);
}

fn forget_history(core: &Core) {
    of_sessions(core, SessionStages::forget_kept);
}

fn forget_history_long(core: &Core) {
    core.registry.consumers.stages.forget_long();
}

/// A row for each stage there is, as MySQL has them.
fn emit_sums(whose: &[Value], sums: &Sums, emit: Emit<'_>) -> Result<()> {
    for (stage, t) in Stage::ALL.iter().zip(sums) {
        // Those that were not timed have none of the times.
        let least = if t.min_ns > t.max_ns { 0 } else { t.min_ns };
        emit(&[whose, &[text(stage.name())], &timed(t.count, t.total_ns, least, t.max_ns)].concat())?;
    }
    Ok(())
}

fn sums_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let sums = state.server.registry.consumers.stages.sums(of);
    let none = Sums::default();
    all_by(state, of).keys().try_for_each(|key| emit_sums(&whose(of, key), sums.get(key).unwrap_or(&none), emit))
}

fn sums_by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let sums = |entry: &Entry| entry.stages().map_or(Sums::default(), SessionStages::sums);
    visible(state).iter().try_for_each(|entry| emit_sums(&[n(entry.id)], &sums(entry), emit))
}

fn forget_threads(core: &Core) {
    core.registry.forget_stages(None);
}

fn forget(core: &Core, of: Of) {
    core.registry.forget_stages(Some(of));
}
