//! performance_schema: sockets, handles of tables, timers, threads that may be, channels of TLS, the logs' positions.

use super::columns::*;
use super::declare::{
    BIGINT, INT, JSON, LONGTEXT, NAME, TINYINT, UBIGINT, UINT, YES_NO, enumeration, fixed, set, varchar,
};
use super::deeds::timed;
use super::performance::background;
use super::runtime::visible;
use super::{Emit, Equals, maybe, member, members, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::registry::Activity;
use gannet_core::replication::Table;
use gannet_core::status;
use gannet_core::vars::Live;
use gannet_engine::lock::MdlMode;
use gannet_engine::log_files;
use gannet_runtime::{FileCount, FileUse, file_figures, forget_file_figures};
use gannet_telemetry::FileKind;
use gannet_types::{Result, SqlError, Value, json};
use std::collections::BTreeMap;

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    performance_timers by timers {
        TIMER_NAME: enumeration(&["CYCLE", "NANOSECOND", "MICROSECOND", "MILLISECOND", "THREAD_CPU"]).not_null(),
        TIMER_FREQUENCY: BIGINT, TIMER_RESOLUTION: BIGINT, TIMER_OVERHEAD: BIGINT,
    }
    setup_threads by setup_threads {
        NAME: varchar(128).not_null(), ENABLED: YES_NO.not_null(), HISTORY: YES_NO.not_null(),
        PROPERTIES: set(&["singleton", "user"]).not_null(), VOLATILITY: INT.not_null(), DOCUMENTATION: LONGTEXT,
    }
    socket_instances by sockets {
        EVENT_NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT, THREAD_ID: UBIGINT,
        SOCKET_ID: INT.not_null(), IP: NAME.not_null(), PORT: INT.not_null(),
        STATE: enumeration(&["IDLE", "ACTIVE"]).not_null(),
    }
    file_instances by files {
        FILE_NAME: varchar(512).not_null(), EVENT_NAME: varchar(128).not_null(), OPEN_COUNT: UINT.not_null(),
    }
    file_summary_by_event_name by file_events, reset by forget_files {}
        + EVENT + TIMED + READ + FILE_BYTES_READ + WRITE + FILE_BYTES_WRITTEN + MISC
    file_summary_by_instance by file_instances, reset by forget_files {
        FILE_NAME: varchar(512).not_null(), EVENT_NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT,
    } + TIMED + READ + FILE_BYTES_READ + WRITE + FILE_BYTES_WRITTEN + MISC
    table_handles by handles {
        OBJECT_TYPE: NAME.not_null(), OBJECT_SCHEMA: NAME.not_null(), OBJECT_NAME: NAME.not_null(),
        OBJECT_INSTANCE_BEGIN: COUNT, OWNER_THREAD_ID: UBIGINT, OWNER_EVENT_ID: UBIGINT, INTERNAL_LOCK: NAME,
        EXTERNAL_LOCK: NAME,
    }
    tls_channel_status by channels {
        CHANNEL: varchar(128).not_null(), PROPERTY: varchar(128).not_null(), VALUE: varchar(2048).not_null(),
    }
    innodb_redo_log_files by redo_files {
        FILE_ID: BIGINT.not_null(), FILE_NAME: varchar(2000).not_null(), START_LSN: BIGINT.not_null(),
        END_LSN: BIGINT.not_null(), SIZE_IN_BYTES: BIGINT.not_null(), IS_FULL: TINYINT.not_null(),
        CONSUMER_LEVEL: INT.not_null(),
    }
    log_status by log_status {
        SERVER_UUID: fixed(36).utf8mb4_bin().not_null(), LOCAL: JSON.not_null(), REPLICATION: JSON.not_null(),
        STORAGE_ENGINES: JSON.not_null(),
    }
}

/// All times are taken in nanoseconds.
fn timers(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (name, frequency) in [("NANOSECOND", 1_000_000_000), ("MICROSECOND", 1_000_000), ("MILLISECOND", 1000)] {
        let name = member("performance_timers", "TIMER_NAME", name);
        emit(&[name, Value::Int(frequency), Value::Int(1), Value::Null])?;
    }
    Ok(())
}

fn setup_threads(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let mut names: Vec<String> = background().map(|(_, name, _)| name).collect();
    names.extend(super::performance::THREADS.map(str::to_owned));
    names.sort();
    names.dedup();
    for name in names {
        let yes = |c: &'static str| member("setup_threads", c, "YES");
        emit(&[
            text(&name),
            yes("ENABLED"),
            yes("HISTORY"),
            members("setup_threads", "PROPERTIES", &[]),
            Value::Int(0),
            Value::Null,
        ])?;
    }
    Ok(())
}

/// The clients' sockets. `SOCKET_ID` is the connection's number.
fn sockets(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state).iter().filter(|e| !e.is_own()) {
        let who = e.who();
        let port = who.host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
        let remote = !e.address.is_empty();
        let idle = e.activity().0 == Activity::Sleep;
        emit(&[
            text(super::sockets::SOCKET),
            Value::UInt(e.id),
            Value::UInt(e.id),
            Value::Int(e.id as i64),
            text(&e.address),
            Value::Int(if remote { port } else { 0 }),
            member("socket_instances", "STATE", if idle { "IDLE" } else { "ACTIVE" }),
        ])?;
    }
    Ok(())
}

fn times(u: &FileCount) -> [Value; 5] {
    timed(u.count, u.total_ns, u.min_ns, u.max_ns)
}

/// Count and times of all operations.
fn times_of_all(uses: &[FileCount]) -> [Value; 5] {
    let mut all = FileCount::default();
    uses.iter().for_each(|u| all.add(u));
    times(&all)
}

/// Count, times and bytes of all, reads, writes and the rest.
fn file_row(uses: &[FileCount]) -> Vec<Value> {
    let of = |what: FileUse| uses.get(what as usize).copied().unwrap_or_default();
    let (read, written, other) = (of(FileUse::Read), of(FileUse::Write), of(FileUse::Other));
    let bytes = |u: &FileCount| [Value::Int(u.bytes as i64)];
    [&times_of_all(uses)[..], &times(&read), &bytes(&read), &times(&written), &bytes(&written), &times(&other)].concat()
}

fn files(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for f in file_figures().iter().filter(|f| f.open > 0) {
        emit(&[text(&f.path.to_string_lossy()), text(f.kind.name()), Value::UInt(f.open)])?;
    }
    Ok(())
}

fn file_instances(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (i, f) in file_figures().iter().filter(|f| f.open > 0).enumerate() {
        let head = [text(&f.path.to_string_lossy()), text(f.kind.name()), Value::UInt(i as u64 + 1)];
        emit(&[&head[..], &file_row(&f.uses)].concat())?;
    }
    Ok(())
}

/// Waits for files are the same figures, as in MySQL.
pub(super) fn forget_files(_: &Core) {
    forget_file_figures();
}

/// The sums of each kind of file, of closed ones too.
fn by_kind() -> impl Iterator<Item = (FileKind, Vec<FileCount>)> {
    let files = file_figures();
    FileKind::ALL.iter().map(move |kind| {
        let mut sums = vec![FileCount::default(); FileUse::COUNT];
        for f in files.iter().filter(|f| f.kind == *kind) {
            sums.iter_mut().zip(&f.uses).for_each(|(sum, u)| sum.add(u));
        }
        (*kind, sums)
    })
}

fn file_events(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    by_kind().try_for_each(|(kind, uses)| emit(&[&[text(kind.name())][..], &file_row(&uses)].concat()))
}

/// The same as waits: name, count and times of each kind.
pub(super) fn emit_file_waits(emit: Emit<'_>) -> Result<()> {
    by_kind().try_for_each(|(kind, uses)| emit(&[&[text(kind.name())][..], &times_of_all(&uses)].concat()))
}

/// The tables that sessions have open: those whose definitions they hold.
fn handles(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let seen: BTreeMap<u64, _> = visible(state).into_iter().map(|e| (e.id, e)).collect();
    for l in state.server.engine.lock_table().metadata_locks() {
        let (Some((schema, table)), Some(entry)) = (l.name.split_once('.'), seen.get(&l.party.thread)) else {
            continue;
        };
        if !l.granted {
            continue;
        }
        let external = match l.mode {
            MdlMode::Read | MdlMode::NoWrite => Some("READ EXTERNAL"),
            MdlMode::Write | MdlMode::Exclusive => Some("WRITE EXTERNAL"),
            MdlMode::Upgradable => None,
        };
        emit(&[
            text("TABLE"),
            text(schema),
            text(table),
            Value::UInt(l.object),
            Value::UInt(entry.id),
            Value::UInt(entry.deeds.history.count() + 1),
            Value::Null,
            maybe(external),
        ])?;
    }
    Ok(())
}

fn channels(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let channel = || text("mysql_main");
    let on = state.server.tls.acceptor().is_some();
    emit(&[channel(), text("Enabled"), text(if on { "Yes" } else { "No" })])?;
    let wanted = |name: &str| name.starts_with("Ssl_") || name.starts_with("Current_tls_");
    status::each(&state.server, None, None, wanted, &mut |name, value| emit(&[channel(), text(name), text(value)]))
}

/// The log's files that hold something, or are written.
fn redo_files(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let n = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let files = log_files(&state.server.engine);
    for (at, file) in files.iter().enumerate() {
        let number = file.path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).unwrap_or(0);
        let name = text(&file.path.to_string_lossy());
        // The log may have been appended beyond the last one, which is written still.
        let full = Value::Int((at + 1 < files.len()).into());
        emit(&[n(number), name, n(file.start.0), n(file.end.0), n(file.bytes), full, Value::Int(0)])?;
    }
    Ok(())
}

/// Where the logs end, at one moment.
fn log_status(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::BackupAdmin)?;
    let server = &state.server;
    let uuid = server.globals.get(Live::ServerUuid).as_str().to_string();
    let engine = server.engine.status();
    let local = match server.binlog() {
        Some(log) => {
            // Of several servers, each stands on a line.
            let executed = log.all_executed(&server.engine)?.to_string().replace('\n', "\\n");
            let end = log.end();
            format!(
                r#"{{"gtid_executed": "{executed}", "binary_log_file": "{}", "binary_log_position": {}}}"#,
                log.names().name(end.number),
                end.position
            )
        }
        None => r#"{"gtid_executed": "", "binary_log_file": "", "binary_log_position": 0}"#.to_string(),
    };
    let storage =
        format!(r#"{{"InnoDB": {{"LSN": {}, "LSN_checkpoint": {}}}}}"#, engine.log_lsn.0, engine.checkpoint_lsn.0);
    let json = |s: &str| -> Result<Value> {
        let parsed = json::parse(s.as_bytes()).map_err(|_| SqlError::internal("a log's status"))?;
        Ok(Value::Json(parsed.to_text(gannet_types::room::Room::FREE)?))
    };
    let channels = format!(r#"{{"channels": [{}]}}"#, relay_logs(state)?.join(", "));
    emit(&[text(&uuid), json(&local)?, json(&channels)?, json(&storage)?])
}

/// Where the relay log of each channel ends.
fn relay_logs(state: &State) -> Result<Vec<String>> {
    let Some(replicas) = state.server.replicas() else { return Ok(Vec::new()) };
    let mut channels = Vec::new();
    for row in replicas.rows(Table::ConnectionConfiguration) {
        let named = row.iter().find(|(name, _)| name.eq_ignore_ascii_case("Channel_name"));
        let mut channel = Vec::new();
        named.iter().for_each(|(_, name)| name.write_text(&mut channel));
        let channel = String::from_utf8_lossy(&channel).into_owned();
        let logs = replicas.relay_logs(Some(&channel))?;
        let (file, end) = logs.last().map_or(("", 0), |log| (&*log.name, log.size));
        let quoted = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
        channels.push(format!(
            r#"{{"channel_name": "{}", "relay_log_file": "{}", "relay_log_position": {end}}}"#,
            quoted(&channel),
            quoted(file)
        ));
    }
    Ok(channels)
}
