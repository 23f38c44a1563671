//! performance_schema: sockets, handles of tables, timers, threads that may be, channels of TLS, the logs' positions.

use super::columns::*;
use super::declare::{BIGINT, INT, JSON, LONGTEXT, NAME, UBIGINT, YES_NO, enumeration, fixed, varchar};
use super::performance::background;
use super::runtime::visible;
use super::{Emit, Equals, maybe, member, text};
use crate::state::State;
use gannet_core::accounts::Privilege;
use gannet_core::registry::Activity;
use gannet_core::status;
use gannet_core::vars::Live;
use gannet_engine::lock::MdlMode;
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
        PROPERTIES: varchar(96).not_null(), VOLATILITY: INT.not_null(), DOCUMENTATION: LONGTEXT,
    }
    socket_instances by sockets {
        EVENT_NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT, THREAD_ID: UBIGINT,
        SOCKET_ID: INT.not_null(), IP: NAME.not_null(), PORT: INT.not_null(),
        STATE: enumeration(&["IDLE", "ACTIVE"]).not_null(),
    }
    table_handles by handles {
        OBJECT_TYPE: NAME.not_null(), OBJECT_SCHEMA: NAME.not_null(), OBJECT_NAME: NAME.not_null(),
        OBJECT_INSTANCE_BEGIN: COUNT, OWNER_THREAD_ID: UBIGINT, OWNER_EVENT_ID: UBIGINT, INTERNAL_LOCK: NAME,
        EXTERNAL_LOCK: NAME,
    }
    tls_channel_status by channels {
        CHANNEL: varchar(128).not_null(), PROPERTY: varchar(128).not_null(), VALUE: varchar(2048).not_null(),
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
    names.push("thread/sql/one_connection".into());
    names.sort();
    names.dedup();
    for name in names {
        let yes = |c: &'static str| member("setup_threads", c, "YES");
        emit(&[text(&name), yes("ENABLED"), yes("HISTORY"), text(""), Value::Int(0), Value::Null])?;
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
            text(if remote { "wait/io/socket/sql/client_connection" } else { "wait/io/socket/sql/server_unix_socket" }),
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
            Value::UInt(entry.history.count() + 1),
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
    for (name, value) in status::rows(&state.server, None, None, wanted) {
        emit(&[channel(), text(name), text(&value)])?;
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
            let end = log.end();
            let executed = log.executed(&server.engine);
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
    emit(&[text(&uuid), json(&local)?, json(r#"{"channels": []}"#)?, json(&storage)?])
}
