//! performance_schema: threads, locks, what is set up, which accounts were connected.

use super::declare::{BIGINT, INT, LONGBLOB, LONGTEXT, NAME, Spec, UBIGINT, YES_NO, enumeration, fixed, set, varchar};
use super::locks::{data_lock_waits, data_locks};
use super::runtime::{process_row, visible};
use super::sockets::SOCKET;
use super::usage::TABLE;
use super::{Emit, Equals, maybe, member, members, text};
use crate::scheduler::SCHEDULER;
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::consumers::Consumer;
use gannet_core::ledger::{Kind, Of};
use gannet_core::registry::Entry;
use gannet_core::setup::{OBJECTS, Watched};
use gannet_core::tallies::{By, Counts};
use gannet_engine::lock::MdlMode;
use gannet_exec::spill::Figures;
use gannet_telemetry::{Event, Stage};
use gannet_types::{Result, Value};

/// What MySQL says of instruments.
const PROPERTIES: Spec =
    set(&["singleton", "progress", "user", "global_statistics", "mutable", "controlled_by_default"]);

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    threads by threads {
        THREAD_ID: UBIGINT.not_null(), NAME: varchar(128).not_null(), TYPE: varchar(10).not_null(),
        PROCESSLIST_ID: UBIGINT, PROCESSLIST_USER: varchar(32), PROCESSLIST_HOST: varchar(255).ascii(),
        PROCESSLIST_DB: NAME, PROCESSLIST_COMMAND: varchar(16), PROCESSLIST_TIME: BIGINT, PROCESSLIST_STATE: NAME,
        PROCESSLIST_INFO: LONGTEXT, PARENT_THREAD_ID: UBIGINT, ROLE: NAME, INSTRUMENTED: YES_NO.not_null(),
        HISTORY: YES_NO.not_null(), CONNECTION_TYPE: varchar(16), THREAD_OS_ID: UBIGINT, RESOURCE_GROUP: NAME,
        EXECUTION_ENGINE: enumeration(&["PRIMARY", "SECONDARY"]), CONTROLLED_MEMORY: UBIGINT.not_null(),
        MAX_CONTROLLED_MEMORY: UBIGINT.not_null(), TOTAL_MEMORY: UBIGINT.not_null(),
        MAX_TOTAL_MEMORY: UBIGINT.not_null(), TELEMETRY_ACTIVE: YES_NO.not_null(),
    }
    data_locks by data_locks {
        ENGINE: varchar(32).not_null(), ENGINE_LOCK_ID: varchar(128).not_null(), ENGINE_TRANSACTION_ID: UBIGINT,
        THREAD_ID: UBIGINT, EVENT_ID: UBIGINT, OBJECT_SCHEMA: NAME, OBJECT_NAME: NAME, PARTITION_NAME: NAME,
        SUBPARTITION_NAME: NAME, INDEX_NAME: NAME, OBJECT_INSTANCE_BEGIN: UBIGINT.not_null(),
        LOCK_TYPE: varchar(32).not_null(), LOCK_MODE: varchar(32).not_null(), LOCK_STATUS: varchar(32).not_null(),
        LOCK_DATA: varchar(8192),
    }
    data_lock_waits by data_lock_waits {
        ENGINE: varchar(32).not_null(), REQUESTING_ENGINE_LOCK_ID: varchar(128).not_null(),
        REQUESTING_ENGINE_TRANSACTION_ID: UBIGINT, REQUESTING_THREAD_ID: UBIGINT, REQUESTING_EVENT_ID: UBIGINT,
        REQUESTING_OBJECT_INSTANCE_BEGIN: UBIGINT.not_null(), BLOCKING_ENGINE_LOCK_ID: varchar(128).not_null(),
        BLOCKING_ENGINE_TRANSACTION_ID: UBIGINT, BLOCKING_THREAD_ID: UBIGINT, BLOCKING_EVENT_ID: UBIGINT,
        BLOCKING_OBJECT_INSTANCE_BEGIN: UBIGINT.not_null(),
    }
    metadata_locks by metadata_locks {
        OBJECT_TYPE: varchar(64).not_null(), OBJECT_SCHEMA: NAME, OBJECT_NAME: NAME, COLUMN_NAME: NAME,
        OBJECT_INSTANCE_BEGIN: UBIGINT.not_null(), LOCK_TYPE: varchar(32).not_null(),
        LOCK_DURATION: varchar(32).not_null(), LOCK_STATUS: varchar(32).not_null(), SOURCE: NAME,
        OWNER_THREAD_ID: UBIGINT, OWNER_EVENT_ID: UBIGINT,
    }
    setup_actors by setup_actors, reset by forget_actors {
        HOST: fixed(255).ascii().not_null().or("%"), USER: fixed(32).utf8mb4_bin().not_null().or("%"),
        ROLE: fixed(32).utf8mb4_bin().not_null().or("%"), ENABLED: YES_NO.not_null().or("YES"),
        HISTORY: YES_NO.not_null().or("YES"),
    }
    setup_consumers by setup_consumers {
        NAME: NAME.not_null(), ENABLED: YES_NO.not_null(),
    }
    setup_instruments by setup_instruments {
        NAME: varchar(128).not_null(), ENABLED: YES_NO.not_null(), TIMED: YES_NO, PROPERTIES: PROPERTIES.not_null(),
        FLAGS: set(&["controlled"]), VOLATILITY: INT.not_null(), DOCUMENTATION: LONGTEXT,
    }
    setup_objects by setup_objects, reset by forget_objects {
        OBJECT_TYPE: enumeration(OBJECTS).not_null().or("TABLE"), OBJECT_SCHEMA: NAME.or("%"),
        OBJECT_NAME: NAME.not_null().or("%"), ENABLED: YES_NO.not_null().or("YES"),
        TIMED: YES_NO.not_null().or("YES"),
    }
    accounts by accounts, reset by forget_accounts {
        USER: fixed(32).utf8mb4_bin(), HOST: fixed(255).ascii(), CURRENT_CONNECTIONS: BIGINT.not_null(),
        TOTAL_CONNECTIONS: BIGINT.not_null(), MAX_SESSION_CONTROLLED_MEMORY: UBIGINT.not_null(),
        MAX_SESSION_TOTAL_MEMORY: UBIGINT.not_null(),
    }
    users by users, reset by forget_users {
        USER: fixed(32).utf8mb4_bin(), CURRENT_CONNECTIONS: BIGINT.not_null(), TOTAL_CONNECTIONS: BIGINT.not_null(),
        MAX_SESSION_CONTROLLED_MEMORY: UBIGINT.not_null(), MAX_SESSION_TOTAL_MEMORY: UBIGINT.not_null(),
    }
    hosts by hosts, reset by forget_hosts {
        HOST: fixed(255).ascii(), CURRENT_CONNECTIONS: BIGINT.not_null(), TOTAL_CONNECTIONS: BIGINT.not_null(),
        MAX_SESSION_CONTROLLED_MEMORY: UBIGINT.not_null(), MAX_SESSION_TOTAL_MEMORY: UBIGINT.not_null(),
    }
    user_variables_by_thread by user_variables {
        THREAD_ID: UBIGINT.not_null(), VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: LONGBLOB,
    }
}

/// Threads that MySQL has too, by the names that the runtime knows them by; a number at the end apart.
const NAMES: &[(&str, &str)] = &[
    ("main", "thread/sql/main"),
    ("signals", "thread/sql/signal_handler"),
    ("init-file", "thread/sql/bootstrap"),
    ("log writer", "thread/innodb/log_writer_thread"),
    ("log files", "thread/innodb/log_files_governor_thread"),
    ("checkpoint", "thread/innodb/log_checkpointer_thread"),
    ("page cleaner", "thread/innodb/page_flush_coordinator_thread"),
    ("purge", "thread/innodb/srv_purge_thread"),
    ("rollback", "thread/innodb/trx_recovery_rollback_thread"),
    ("statistics", "thread/innodb/dict_stats_thread"),
];

/// Background threads have numbers behind those of all connections.
const FIRST_BACKGROUND: u64 = 1 << 32;

/// The name of a thread as MySQL writes them.
fn thread_name(name: &str) -> String {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let known = NAMES.iter().find(|(own, _)| *own == kind).map(|(_, shown)| shown.to_string());
    known.unwrap_or_else(|| format!("thread/gannet/{}", kind.replace(['-', ' '], "_")))
}

/// What the server's own threads are: number, name, the system's number.
pub(super) fn background() -> impl Iterator<Item = (u64, String, u32)> {
    let main = (FIRST_BACKGROUND, thread_name("main"), std::process::id());
    let others = gannet_runtime::threads().into_iter();
    std::iter::once(main).chain(others.map(|t| (FIRST_BACKGROUND + t.id, thread_name(&t.name), t.os_id)))
}

/// What the columns of `threads` behind PROCESSLIST_INFO say.
///
/// `memory`: what statements hold, which is bounded, and so all of it controlled.
fn thread_rest(
    background: bool,
    watched: Watched,
    connection: Value,
    os_id: Option<u32>,
    memory: Figures,
) -> [Value; 13] {
    let [instrumented, history] = yes_or_no(watched);
    let (held, most) = (Value::UInt(memory.held()), Value::UInt(memory.most));
    [
        if background { Value::Null } else { Value::UInt(FIRST_BACKGROUND) },
        Value::Null,
        instrumented,
        history,
        connection,
        os_id.map_or(Value::Null, |id| Value::UInt(id.into())),
        text(if background { "SYS_default" } else { "USR_default" }),
        member("threads", "EXECUTION_ENGINE", "PRIMARY"),
        held.clone(),
        most.clone(),
        held,
        most,
        member("threads", "TELEMETRY_ACTIVE", "NO"),
    ]
}

/// Names of sessions' threads.
pub(super) const THREADS: [&str; 2] = ["thread/sql/one_connection", "thread/sql/event_scheduler"];

/// What a session's thread is called: the scheduler has a name of its own.
fn session_name(entry: &Entry) -> &'static str {
    if entry.is_own() && entry.who().user == SCHEDULER { THREADS[1] } else { THREADS[0] }
}

pub(super) fn threads(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (id, name, os_id) in background() {
        let mut row = vec![Value::UInt(id), text(&name), text("BACKGROUND")];
        row.resize(11, Value::Null);
        row.extend(thread_rest(true, Watched::ALL, Value::Null, Some(os_id), Figures::default()));
        emit(&row)?;
    }
    for e in visible(state) {
        let [id, user, host, db, command, time, state_text, info] = process_row(&e);
        let kind = match (&host, e.tls.get()) {
            _ if e.is_own() => Value::Null,
            (_, Some(_)) => text("SSL/TLS"),
            (Value::Str(h, _), None) if h.contains(&b':') => text("TCP/IP"),
            _ => text("Socket"),
        };
        let head = [id.clone(), text(session_name(&e)), text("FOREGROUND"), id];
        let session = [user, host, db, command, time, state_text, info];
        let rest = thread_rest(false, e.watched.get(), kind, e.context.os_thread(), e.memory.read());
        emit(&[&head[..], &session, &rest].concat())?;
    }
    Ok(())
}

pub(super) fn metadata_locks(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for l in state.server.engine.lock_table().metadata_locks() {
        let (schema, table) = match l.name.split_once('.') {
            Some((s, t)) => (s, Some(t)),
            None => (&*l.name, None),
        };
        let mode = match l.mode {
            MdlMode::Read => "SHARED_READ",
            MdlMode::Write => "SHARED_WRITE",
            MdlMode::NoWrite => "SHARED_READ_ONLY",
            MdlMode::Exclusive => "EXCLUSIVE",
            MdlMode::Upgradable => "SHARED_UPGRADABLE",
        };
        // Which statement took a lock that is held is not kept.
        let waits = if l.granted { None } else { state.server.registry.get(l.party.thread) };
        emit(&[
            text(if table.is_some() { "TABLE" } else { "SCHEMA" }),
            text(schema),
            maybe(table),
            Value::Null,
            Value::UInt(l.object),
            text(mode),
            text("TRANSACTION"),
            text(if l.granted { "GRANTED" } else { "PENDING" }),
            text(""),
            Value::UInt(l.party.thread),
            waits.map_or(Value::Null, |entry| Value::UInt(entry.deeds.history.count() + 1)),
        ])?;
    }
    Ok(())
}

pub(super) fn setup_actors(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for actor in state.server.registry.setup.actors() {
        let [enabled, history] = yes_or_no(actor.watched);
        emit(&[text(&actor.host), text(&actor.user), text(&actor.role), enabled, history])?;
    }
    Ok(())
}

fn forget_actors(core: &Core) {
    core.registry.setup.set_actors(Vec::new());
}

fn flag(on: bool) -> Value {
    member("setup_actors", "ENABLED", if on { "YES" } else { "NO" })
}

fn yes_or_no(watched: Watched) -> [Value; 2] {
    [watched.instrumented, watched.history].map(flag)
}

/// What is collected. Those of stages, statements, transactions and waits that run can be switched: see
/// `session/setup.rs`.
pub(super) fn setup_consumers(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    const CONSUMERS: [(&str, bool); 17] = [
        ("events_stages_current", true),
        ("events_stages_history", true),
        ("events_stages_history_long", true),
        ("events_statements_cpu", true),
        ("events_statements_current", true),
        ("events_statements_history", true),
        ("events_statements_history_long", true),
        ("events_transactions_current", true),
        ("events_transactions_history", true),
        ("events_transactions_history_long", true),
        ("events_waits_current", true),
        ("events_waits_history", false),
        ("events_waits_history_long", false),
        ("global_instrumentation", true),
        ("thread_instrumentation", true),
        ("statements_digest", true),
        ("events_waits_summary", true),
    ];
    for (name, collected) in CONSUMERS {
        let switched = Consumer::by_name(name).is_none_or(|c| state.server.registry.consumers.is_on(c));
        let on = collected && switched;
        emit(&[text(name), member("setup_consumers", "ENABLED", if on { "YES" } else { "NO" })])?;
    }
    Ok(())
}

/// Waits, stages, kinds of statements, transactions and errors. Stages, statements and transactions can be switched.
/// Errors have no time.
pub(super) fn setup_instruments(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let setup = &state.server.registry.setup;
    let waited = |event: &Event| !matches!(event, Event::Wait(wait) if wait.is_of_file());
    let waits = Event::all().filter(waited).map(Event::name).chain([SOCKET, TABLE]).map(|name| (name.to_owned(), true));
    let statements = Kind::all().map(|kind| (kind.name(), setup.is_on(kind)));
    let properties = |names: &[String]| members("setup_instruments", "PROPERTIES", names);
    for (name, on) in
        waits.chain(statements).chain([("transaction".into(), setup.transactions()), ("error".into(), true)])
    {
        let timed = if name == "error" { Value::Null } else { flag(on) };
        emit(&[text(&name), flag(on), timed, properties(&[]), Value::Null, Value::Int(0), Value::Null])?;
    }
    let progress = properties(&["progress".to_owned()]);
    for stage in Stage::ALL {
        let (enabled, timed) = state.server.registry.consumers.stages.switches(*stage);
        let [enabled, timed] = [enabled, timed].map(flag);
        emit(&[text(stage.name()), enabled, timed, progress.clone(), Value::Null, Value::Int(0), Value::Null])?;
    }
    Ok(())
}

pub(super) fn setup_objects(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for object in state.server.registry.setup.objects() {
        let kind = member("setup_objects", "OBJECT_TYPE", &object.kind);
        emit(&[kind, text(&object.schema), text(&object.name), flag(object.enabled), flag(object.enabled)])?;
    }
    Ok(())
}

fn forget_objects(core: &Core) {
    core.registry.setup.set_objects(Vec::new());
}

/// Connections by a part of their identity; the columns of it, and what is counted. Threads of the server are nobody's.
fn connections(state: &State, by: By, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let mut all = state.server.registry.tallies.all(by);
    if all.first().is_none_or(|c| c.user.is_some() || c.host.is_some()) {
        all.insert(0, Counts::default());
    }
    let own = background().count() as u64;
    all[0].current += own;
    all[0].total += own;
    let of = match by {
        By::Account => Of::Account,
        By::User => Of::User,
        By::Host => Of::Host,
    };
    let memory = state.server.registry.memory(of);
    for c in all {
        let (user, host) = (maybe(c.user.as_deref()), maybe(c.host.as_deref()));
        let mut row = match by {
            By::Account => vec![user, host],
            By::User => vec![user],
            By::Host => vec![host],
        };
        row.extend([c.current, c.total].map(|n| Value::Int(n as i64)));
        let most = Value::UInt(memory.get(&(c.user, c.host)).map_or(0, |taken| taken.most));
        row.extend([most.clone(), most]);
        emit(&row)?;
    }
    Ok(())
}

pub(super) fn accounts(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    connections(state, By::Account, emit)
}

pub(super) fn users(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    connections(state, By::User, emit)
}

pub(super) fn hosts(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    connections(state, By::Host, emit)
}

pub(super) fn forget_accounts(server: &Core) {
    server.registry.tallies.truncate(By::Account);
    server.registry.forget_who(Of::Account);
}

pub(super) fn forget_users(server: &Core) {
    server.registry.tallies.truncate(By::User);
    server.registry.forget_who(Of::User);
}

pub(super) fn forget_hosts(server: &Core) {
    server.registry.tallies.truncate(By::Host);
    server.registry.forget_who(Of::Host);
}

/// The session's own: those of others are their own business.
pub(super) fn user_variables(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let id = state.entry.id;
    let mut all: Vec<(&String, &Value)> = state.user_vars.iter().collect();
    all.sort_by_key(|(n, _)| *n);
    for (name, value) in all {
        let shown = if value.is_null() {
            Value::Null
        } else {
            let mut bytes = Vec::new();
            value.write_text(&mut bytes);
            Value::bytes(&bytes)
        };
        emit(&[Value::UInt(id), text(name), shown])?;
    }
    Ok(())
}
