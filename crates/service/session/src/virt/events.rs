//! performance_schema: statements that run, and the last ones that have ended.

use super::columns::WAIT;
use super::declare::{INT, LONGTEXT, NAME, UBIGINT, enumeration, varchar};
use super::innodb::tree_names;
use super::runtime::{ps, visible};
use super::{Emit, Equals, maybe, member, text};
use crate::state::State;
use crate::text::shown_digest;
use gannet_core::Core;
use gannet_core::consumers::Consumer;
use gannet_core::history::Event;
use gannet_core::registry::{Activity, Entry};
use gannet_engine::lock::LockKind;
use gannet_runtime::now_ns;
use gannet_telemetry::Wait;
use gannet_types::{ErrorCode, Result, Value};
use std::collections::BTreeMap;

macro_rules! statements {
    ($($table:ident by $rows:ident, reset by $reset:ident;)*) => {
        tables! {
            PERFORMANCE_SCHEMA in "performance_schema":
            $($table by $rows, reset by $reset {
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
    events_statements_current by current, reset by forget_current;
    events_statements_history by history, reset by forget_history;
    events_statements_history_long by history_long, reset by forget_history_long;
}

tables! {
    WAITS in "performance_schema":
    events_waits_current by waits {} + WAIT
}

/// For each session the statement that runs, or the last one.
fn current(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::StatementsCurrent) {
        return Ok(());
    }
    for entry in visible(state).into_iter().filter(|e| e.watched.get().instrumented) {
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

fn forget_current(core: &Core) {
    core.registry.all().iter().for_each(|e| e.deeds.history.forget_last());
}

fn forget_history(core: &Core) {
    core.registry.all().iter().for_each(|e| e.deeds.history.clear());
}

fn forget_history_long(core: &Core) {
    core.registry.long_history.clear();
}

/// `running`: the session whose statement has not ended.
fn row(state: &State, event: &Event, running: Option<&Entry>) -> Vec<Value> {
    let (e, n) = (&event.execution, Value::UInt);
    let rare = e.rare.unwrap_or_default();
    let added = rare.work.unwrap_or_default();
    // As it was counted, if it still is.
    let counted = event.digest.and_then(|key| state.server.stats.known(key));
    let own = || event.normalised().map(|text| (shown_digest(&text), text));
    let (digest, digest_text) = counted.or_else(own).unzip();
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
        ps(rare.locks_ns),
        text(&event.text().to_string()),
        maybe(digest.as_deref()),
        maybe(digest_text.as_deref()),
        maybe(schema.as_deref()),
    ];
    row.extend([const { Value::Null }; 4]);
    row.extend([
        Value::Int(event.error.into()),
        if event.error == 0 && running.is_none() { text("00000") } else { maybe(sqlstate.as_deref()) },
        maybe(event.message().map(|s| &s[..s.floor_char_boundary(128)])),
        n(rare.error.into()),
        n(rare.warnings),
        n(e.rows_affected),
        n(e.rows_sent),
        n(e.rows_examined),
    ]);
    row.extend(super::runtime::worked(|c| added.of(c)).map(n));
    row.extend([
        n(rare.no_index.into()),
        n(0),
        Value::Null,
        Value::Null,
        Value::Int(0),
        n(event.number),
        ps(rare.cpu_ns),
        // All of it is bounded, and so controlled.
        n(added.memory),
        n(added.memory),
        member("events_statements_current", "EXECUTION_ENGINE", "PRIMARY"),
    ]);
    row
}

/// What each session waits for; one that waits for its client is idle.
fn waits(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::WaitsCurrent) {
        return Ok(());
    }
    let now = now_ns();
    let waiting: Vec<_> = visible(state)
        .into_iter()
        .filter(|e| e.watched.get().instrumented)
        .filter_map(|e| Some((waits_for(&e)?, e)))
        .collect();
    let locks = waiting.iter().any(|(w, _)| matches!(w.wait, Some(Wait::RowLock | Wait::MetadataLock)));
    let objects = if locks { locked(state) } else { BTreeMap::new() };
    for (waits, entry) in waiting {
        let [schema, object, index, kind] = objects.get(&entry.id).cloned().unwrap_or_default();
        let began = waits.since_ns.saturating_sub(state.server.started_ns());
        let spent = now.saturating_sub(waits.since_ns);
        let running = (waits.wait.is_some()).then(|| entry.deeds.history.count() + 1);
        let nesting = if running.is_some() {
            member("events_waits_current", "NESTING_EVENT_TYPE", "STATEMENT")
        } else {
            Value::Null
        };
        let numbered = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
        emit(&[
            Value::UInt(entry.id),
            Value::UInt(entry.deeds.history.count() + 1),
            Value::Null,
            text(waits.wait.map_or("idle", Wait::name)),
            Value::Null,
            ps(began),
            ps(began + spent),
            ps(spent),
            Value::Null,
            maybe(schema.as_deref()),
            maybe(object.as_deref()),
            maybe(index.as_deref()),
            maybe(kind.as_deref()),
            Value::UInt(0),
            numbered(running),
            nesting,
            text(operation(waits.wait)),
            Value::Null,
            Value::Null,
        ])?;
    }
    Ok(())
}

/// A wait; `None` for the client's next command.
struct Waits {
    wait: Option<Wait>,
    since_ns: u64,
}

fn waits_for(entry: &Entry) -> Option<Waits> {
    let (activity, since_ns) = entry.activity();
    if activity == Activity::Sleep {
        return Some(Waits { wait: None, since_ns });
    }
    entry.context.waiting().map(|(wait, since_ns)| Waits { wait: Some(wait), since_ns })
}

/// What the operation of a wait is called.
fn operation(wait: Option<Wait>) -> &'static str {
    match wait {
        None => "idle",
        Some(Wait::ClientRead) => "recv",
        Some(Wait::ClientWrite) => "send",
        Some(Wait::FileRead | Wait::PageRead) => "read",
        Some(Wait::FileWrite | Wait::PageWrite) => "write",
        Some(Wait::FileSync | Wait::LogFlush) => "sync",
        Some(Wait::RowLock | Wait::UserLock | Wait::TableLock) => "lock",
        Some(Wait::MetadataLock) => "metadata lock",
        Some(_) => "wait",
    }
}

/// Schema, object, index and kind of object of the locks that sessions wait for.
fn locked(state: &mut State) -> BTreeMap<u64, [Option<String>; 4]> {
    let names = tree_names(state);
    let shown = |v: &Value| match v {
        Value::Str(s, _) => Some(String::from_utf8_lossy(s).into_owned()),
        _ => None,
    };
    let mut objects = BTreeMap::new();
    for w in state.server.engine.lock_table().waits() {
        let tree = match &w.waits_for {
            LockKind::Record { tree, .. }
            | LockKind::Gap { tree, .. }
            | LockKind::Rows { tree, .. }
            | LockKind::Insert { tree, .. }
            | LockKind::Transaction { row: Some((tree, _)), .. } => Some(tree.0),
            LockKind::Transaction { row: None, .. } | LockKind::Metadata { .. } => None,
        };
        let object = match (tree.and_then(|tree| names.get(&tree)), &w.waits_for) {
            (Some((schema, table, index)), _) => [shown(schema), shown(table), shown(index), Some("TABLE".into())],
            (None, LockKind::Metadata { name, .. }) => match name.split_once('.') {
                Some((schema, table)) => [Some(schema.into()), Some(table.into()), None, Some("TABLE".into())],
                None => [Some(name.clone()), None, None, Some("SCHEMA".into())],
            },
            (None, _) => continue,
        };
        objects.insert(w.party.thread, object);
    }
    objects
}
