//! performance_schema: bytes that clients have sent and got, and from where connections failed.

use super::columns::*;
use super::declare::{BIGINT, NAME, YES_NO, timestamp, varchar};
use super::deeds::all_by;
use super::runtime::visible;
use super::{Emit, Equals, member, seconds, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::accounts::hosts::Failure;
use gannet_core::ledger::Of;
use gannet_core::registry::Entry;
use gannet_telemetry::Counter;
use gannet_types::{Result, Value};
use std::collections::HashMap;

/// The sockets of clients: all of them are called so.
pub(super) const SOCKET: &str = "wait/io/socket/sql/client_connection";

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    socket_summary_by_instance by by_instance, reset by forget_instances {
        EVENT_NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT,
    } + TIMED + READ + SOCKET_BYTES_READ + WRITE + SOCKET_BYTES_WRITTEN + MISC
    socket_summary_by_event_name by by_event, reset by forget_events {}
        + EVENT + TIMED + READ + SOCKET_BYTES_READ + WRITE + SOCKET_BYTES_WRITTEN + MISC
    host_cache by hosts, reset by forget_hosts {
        IP: NAME.not_null(), HOST: varchar(255).ascii(), HOST_VALIDATED: YES_NO.not_null(),
        SUM_CONNECT_ERRORS: BIGINT.not_null(), COUNT_HOST_BLOCKED_ERRORS: BIGINT.not_null(),
        COUNT_NAMEINFO_TRANSIENT_ERRORS: BIGINT.not_null(), COUNT_NAMEINFO_PERMANENT_ERRORS: BIGINT.not_null(),
        COUNT_FORMAT_ERRORS: BIGINT.not_null(), COUNT_ADDRINFO_TRANSIENT_ERRORS: BIGINT.not_null(),
        COUNT_ADDRINFO_PERMANENT_ERRORS: BIGINT.not_null(), COUNT_FCRDNS_ERRORS: BIGINT.not_null(),
        COUNT_HOST_ACL_ERRORS: BIGINT.not_null(), COUNT_NO_AUTH_PLUGIN_ERRORS: BIGINT.not_null(),
        COUNT_AUTH_PLUGIN_ERRORS: BIGINT.not_null(), COUNT_HANDSHAKE_ERRORS: BIGINT.not_null(),
        COUNT_PROXY_USER_ERRORS: BIGINT.not_null(), COUNT_PROXY_USER_ACL_ERRORS: BIGINT.not_null(),
        COUNT_AUTHENTICATION_ERRORS: BIGINT.not_null(), COUNT_SSL_ERRORS: BIGINT.not_null(),
        COUNT_MAX_USER_CONNECTIONS_ERRORS: BIGINT.not_null(),
        COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS: BIGINT.not_null(),
        COUNT_DEFAULT_DATABASE_ERRORS: BIGINT.not_null(), COUNT_INIT_CONNECT_ERRORS: BIGINT.not_null(),
        COUNT_LOCAL_ERRORS: BIGINT.not_null(), COUNT_UNKNOWN_ERRORS: BIGINT.not_null(),
        FIRST_SEEN: timestamp(0).not_null(), LAST_SEEN: timestamp(0).not_null(), FIRST_ERROR_SEEN: timestamp(0),
        LAST_ERROR_SEEN: timestamp(0),
    }
}

/// Reads and writes, and bytes of each. A read is a command, a write its reply; one that is sent in parts counts once.
fn figures(count: impl Fn(Counter) -> u64) -> Vec<u64> {
    let commands = count(Counter::Queries);
    // DEALLOCATE counts as a close, and is answered.
    let closed = count(Counter::ComStmtClose).saturating_sub(count(Counter::ComDeallocSql));
    let unanswered = closed + count(Counter::ComStmtSendLongData);
    vec![commands, count(Counter::BytesReceived), commands.saturating_sub(unanswered), count(Counter::BytesSent)]
}

fn of_entry(entry: &Entry) -> Vec<u64> {
    figures(|c| entry.counters.get(c))
}

/// What the columns behind the names say: there are no times.
fn row(head: &[Value], figures: &[u64]) -> Vec<Value> {
    let [reads, received, writes, sent] = *figures else { return Vec::new() };
    let mut row = head.to_vec();
    let mut timed = |count: u64, bytes: Option<u64>| {
        row.push(Value::UInt(count));
        row.extend([const { Value::UInt(0) }; 4]);
        row.extend(bytes.map(Value::UInt));
    };
    timed(reads + writes, None);
    timed(reads, Some(received));
    timed(writes, Some(sent));
    timed(0, None);
    row
}

fn by_instance(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state).iter().filter(|e| !e.is_own()) {
        let figures = state.server.reports.uses.sockets.of(&e.id.to_string(), of_entry(e));
        emit(&row(&[text(SOCKET), Value::UInt(e.id)], &figures))?;
    }
    Ok(())
}

/// Of all connections, also of those that have ended.
fn all(counts: &[u64]) -> Vec<u64> {
    figures(|c| counts.get(c as usize).copied().unwrap_or(0))
}

/// The row of [`SOCKET`].
fn event_row(state: &State) -> Vec<Value> {
    let sums = all_by(state, Of::All);
    let counts = sums.values().next().map_or(&[][..], |account| &account.counts);
    let figures = state.server.reports.uses.all_sockets.of(SOCKET, all(counts));
    row(&[text(SOCKET)], &figures)
}

fn by_event(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    emit(&event_row(state))
}

/// The same as a wait: its name, count and times.
pub(super) fn emit_wait(state: &State, emit: Emit<'_>) -> Result<()> {
    emit(&event_row(state)[..6])
}

fn forget_instances(core: &Core) {
    let now: HashMap<_, _> = core.registry.all().iter().map(|e| (e.id.to_string(), of_entry(e))).collect();
    core.reports.uses.sockets.reset(now);
}

pub(super) fn forget_events(core: &Core) {
    let sums = super::deeds::all_of(core, Of::All);
    let counts = sums.values().next().map_or(&[][..], |account| &account.counts);
    core.reports.uses.all_sockets.reset(HashMap::from([(SOCKET.to_owned(), all(counts))]));
}

/// By address. Names are not looked for, so there are none, and no errors of looking for them.
fn hosts(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    for (ip, host) in state.server.accounts.limits.hosts.all() {
        let of = |f: Failure| Value::Int(host.failures[f as usize] as i64);
        let at = |us: u64| seconds(us / 1_000_000);
        let none = || Value::Int(0);
        let mut row = vec![
            text(&ip.to_string()),
            Value::Null,
            member("host_cache", "HOST_VALIDATED", "YES"),
            Value::Int(host.broken_off as i64),
            of(Failure::Blocked),
        ];
        row.extend([none(), none(), none(), none(), none(), none(), none()]);
        row.extend([of(Failure::NoPlugin), none(), of(Failure::Handshake), none(), none()]);
        row.extend([
            of(Failure::Authentication),
            of(Failure::Tls),
            of(Failure::UserConnections),
            of(Failure::UserConnectionsPerHour),
            of(Failure::Database),
            of(Failure::InitConnect),
            of(Failure::Local),
            of(Failure::Unknown),
        ]);
        row.extend([host.first_us, host.last_us, host.first_failed_us, host.last_failed_us].map(at));
        emit(&row)?;
    }
    Ok(())
}

/// As FLUSH HOSTS does.
fn forget_hosts(core: &Core) {
    core.accounts.limits.forget_hosts();
}
