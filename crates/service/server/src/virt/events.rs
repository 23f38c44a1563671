//! performance_schema: statements that run, and the last ones that have ended.

use super::declare::{INT, LONGTEXT, NAME, UBIGINT, enumeration, varchar};
use super::runtime::{ps, visible};
use super::{Emit, Equals, maybe, member, text};
use crate::session::state::State;
use gannet_core::consumers::Consumer;
use gannet_core::history::Event;
use gannet_core::registry::Entry;
use gannet_runtime::now_ns;
use gannet_telemetry::{Counter, WORK};
use gannet_types::{ErrorCode, Result, Value};

macro_rules! statements {
    ($($table:ident by $rows:ident),*) => {
        tables! {
            PERFORMANCE_SCHEMA in "performance_schema":
            $($table by $rows {
                THREAD_ID: UBIGINT.not_null(), EVENT_ID: UBIGINT.not_null(), END_EVENT_ID: UBIGINT,
                EVENT_NAME: varchar(128).not_null(), SOURCE: NAME, TIMER_START: UBIGINT, TIMER_END: UBIGINT,
                TIMER_WAIT: UBIGINT, LOCK_TIME: UBIGINT.not_null(), SQL_TEXT: LONGTEXT, DIGEST: NAME,
                DIGEST_TEXT: LONGTEXT, CURRENT_SCHEMA: NAME, OBJECT_TYPE: NAME, OBJECT_SCHEMA: NAME, OBJECT_NAME: NAME,
                OBJECT_INSTANCE_BEGIN: UBIGINT, MYSQL_ERRNO: INT, RETURNED_SQLSTATE: varchar(5),
                MESSAGE_TEXT: varchar(128), ERRORS: UBIGINT.not_null(), WARNINGS: UBIGINT.not_null(),
                ROWS_AFFECTED: UBIGINT.not_null(), ROWS_SENT: UBIGINT.not_null(), ROWS_EXAMINED: UBIGINT.not_null(),
                CREATED_TMP_DISK_TABLES: UBIGINT.not_null(), CREATED_TMP_TABLES: UBIGINT.not_null(),
                SELECT_FULL_JOIN: UBIGINT.not_null(), SELECT_FULL_RANGE_JOIN: UBIGINT.not_null(),
                SELECT_RANGE: UBIGINT.not_null(), SELECT_RANGE_CHECK: UBIGINT.not_null(),
                SELECT_SCAN: UBIGINT.not_null(), SORT_MERGE_PASSES: UBIGINT.not_null(),
                SORT_RANGE: UBIGINT.not_null(), SORT_ROWS: UBIGINT.not_null(), SORT_SCAN: UBIGINT.not_null(),
                NO_INDEX_USED: UBIGINT.not_null(), NO_GOOD_INDEX_USED: UBIGINT.not_null(), NESTING_EVENT_ID: UBIGINT,
                NESTING_EVENT_TYPE: enumeration(&["TRANSACTION", "STATEMENT", "STAGE", "WAIT"]),
                NESTING_EVENT_LEVEL: INT, STATEMENT_ID: UBIGINT, CPU_TIME: UBIGINT.not_null(),
                MAX_CONTROLLED_MEMORY: UBIGINT.not_null(), MAX_TOTAL_MEMORY: UBIGINT.not_null(),
                EXECUTION_ENGINE: enumeration(&["PRIMARY", "SECONDARY"]),
            })*
        }
    };
}

statements! {
    events_statements_current by current,
    events_statements_history by history,
    events_statements_history_long by history_long
}

/// For each session the statement that runs, or the last one.
fn current(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StatementsCurrent) {
        return Ok(());
    }
    for entry in visible(state) {
        match entry.running_event(now_ns()) {
            Some(event) => emit(&row(state, &event, Some(&entry)))?,
            None => {
                if let Some(event) = entry.last_event() {
                    emit(&row(state, &event, None))?;
                }
            }
        }
    }
    Ok(())
}

fn history(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StatementsHistory) {
        return Ok(());
    }
    for entry in visible(state) {
        for event in entry.events() {
            emit(&row(state, &event, None))?;
        }
    }
    Ok(())
}

fn history_long(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StatementsHistoryLong) {
        return Ok(());
    }
    let seen = visible(state);
    let all = state.privileges().has(gannet_core::accounts::Privilege::Process);
    for event in state.server.registry.long_history.events() {
        if all || seen.iter().any(|e| e.id == event.thread) {
            emit(&row(state, &event, None))?;
        }
    }
    Ok(())
}

/// `running`: the session whose statement has not ended.
fn row(state: &State, event: &Event, running: Option<&Entry>) -> Vec<Value> {
    let (e, n) = (&event.execution, Value::UInt);
    let work = |c| {
        let added = e.work.unwrap_or_default();
        n(WORK.iter().zip(added).find(|(of, _)| **of == c).map_or(0, |(_, n)| n))
    };
    // As it was counted, if it still is.
    let counted = event.digest.and_then(|d| Some((d, state.server.stats.text_of(d)?)));
    let (digest, digest_text) = counted.or_else(|| event.own_digest()).unzip();
    let began = event.started_ns.saturating_sub(state.server.started_ns());
    let schema = match running {
        Some(entry) => entry.who().database,
        None => state.snapshot.schemas().find(|s| s.id.0 == event.schema).map(|s| (&*s.name).into()),
    };
    let sqlstate = ErrorCode::from_number(event.error).map(|c| String::from_utf8_lossy(&c.sqlstate()).into_owned());
    let mut row = vec![
        n(event.thread),
        n(event.number),
        if running.is_some() { Value::Null } else { n(event.number) },
        text(&event.name()),
        Value::Null,
        ps(began),
        ps(began + e.latency_ns),
        ps(e.latency_ns),
        ps(e.locks_ns),
        text(&event.text().to_string()),
        maybe(digest.map(|d| d.to_string()).as_deref()),
        maybe(digest_text.as_deref()),
        maybe(schema.as_deref()),
    ];
    row.extend([const { Value::Null }; 4]);
    row.extend([
        Value::Int(event.error.into()),
        if event.error == 0 && running.is_none() { text("00000") } else { maybe(sqlstate.as_deref()) },
        maybe(event.message().map(|s| &s[..s.floor_char_boundary(128)])),
        n(e.error.into()),
        n(e.warnings),
        n(e.rows_affected),
        n(e.rows_sent),
        n(e.rows_examined),
        work(Counter::CreatedTmpDiskTables),
        work(Counter::CreatedTmpTables),
        work(Counter::SelectFullJoin),
        work(Counter::SelectFullRangeJoin),
        work(Counter::SelectRange),
        n(0),
        work(Counter::SelectScan),
        work(Counter::SortMergePasses),
        work(Counter::SortRange),
        work(Counter::SortRows),
        work(Counter::SortScan),
        n(e.no_index.into()),
        n(0),
        Value::Null,
        Value::Null,
        Value::Int(0),
        n(event.statement),
        n(0),
        n(0),
        n(0),
        member("events_statements_current", "EXECUTION_ENGINE", "PRIMARY"),
    ]);
    row
}
