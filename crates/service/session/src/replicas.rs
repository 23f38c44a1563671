//! Statements about the replica: CHANGE REPLICATION SOURCE TO, START, STOP and RESET REPLICA.

use super::Session;
use super::lists::alone_behind;
use super::reply::Done;
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::{Plugin, Privilege};
use gannet_core::replication::{Candidate, Login, Replicas, Threads};
use gannet_core::work::Gates;
use gannet_parser::ast::{Ident, Replication};
use gannet_runtime::now_ns;
use gannet_types::{Level, Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// Error 1235 in a process without it.
fn replica(session: &Session) -> Result<Arc<dyn Replicas>> {
    session.server.replicas().ok_or_else(|| SqlError::unsupported("replication in this process"))
}

/// Statements but PURGE.
pub(crate) fn replication(session: &mut Session, statement: &Replication) -> Result<Done> {
    session.commit_implicitly()?;
    if matches!(statement, Replication::Replica { start: false, .. }) && !session.locked.is_empty() {
        // The applier may wait for these tables.
        return Err(sql_err!(LockOrActiveTransaction));
    }
    let notes = match statement {
        Replication::ChangeSource { options, channel } => {
            let change = |s: &mut Session| replica(s)?.change(channel.as_deref(), options);
            for warning in alone_behind(session, Gates::None, change)? {
                session.running.diagnostics.warnings.push(warning.to_warning(Level::Warning));
            }
            let secret = |(name, _): &(Ident, _)| {
                let name = &*name.text;
                name.ends_with("_PASSWORD") || name.ends_with("_USER") && name != "PRIVILEGE_CHECKS_USER"
            };
            match (options.iter().any(secret), session.entry.tls.get()) {
                (false, _) => Vec::new(),
                (true, Some(_)) => vec![sql_err!(InsecureChangeSource)],
                (true, None) => vec![sql_err!(InsecurePlainText), sql_err!(InsecureChangeSource)],
            }
        }
        Replication::Replica { start, threads, until, credentials, channel, all } => {
            let account = login(credentials)?;
            let channel = channel.as_deref().filter(|_| !all);
            let replica = replica(session)?;
            let is = |name: &str| threads.iter().any(|t| t.text.eq_ignore_ascii_case(name));
            let named = Threads { receiver: is("IO_THREAD") || is("RELAY_THREAD"), applier: is("SQL_THREAD") };
            let threads = if named.is_none() { Threads::BOTH } else { named };
            let readable = account.password.is_some() && session.entry.tls.get().is_none();
            let mut notes = if readable { vec![sql_err!(InsecurePlainText)] } else { Vec::new() };
            notes.extend(match start {
                true => replica.start(channel, threads, until, account)?,
                false => replica.stop(channel, threads)?,
            });
            notes
        }
        Replication::ChangeFilter { rules, channel } => {
            alone_behind(session, Gates::None, |s| replica(s)?.change_filter(channel.as_deref(), rules))?;
            Vec::new()
        }
        Replication::Group { .. } => return Err(SqlError::unsupported("group replication")),
        Replication::PurgeLogs { .. } => return Err(SqlError::internal("PURGE is another one's")),
    };
    notes.iter().for_each(|note| session.note(note));
    Ok(Done::default())
}

/// The account of START REPLICA. Error 1524 for a plugin that is not there; PLUGIN_DIR says where others would be, of
/// which none is needed: all are built in.
fn login(credentials: &[(Ident, Box<str>)]) -> Result<Login> {
    let mut account = Login::default();
    for (name, value) in credentials {
        match &*name.text.to_ascii_uppercase() {
            "USER" => account.user = Some(value.to_string()),
            "PASSWORD" => account.password = Some(value.to_string()),
            "DEFAULT_AUTH" if value.is_empty() => {}
            "DEFAULT_AUTH" => {
                let plugin = Plugin::by_name(value.as_bytes());
                account.plugin = Some(plugin.ok_or_else(|| sql_err!(PluginIsNotLoaded, value))?);
            }
            "PLUGIN_DIR" => {}
            other => return Err(SqlError::unsupported(format_args!("START REPLICA {other}"))),
        }
    }
    Ok(account)
}

/// FLUSH RELAY LOGS.
pub(crate) fn flush_relay_logs(session: &Session, channel: Option<&str>) -> Result<()> {
    replica(session)?.flush_relay_logs(channel)
}

/// SOURCE_POS_WAIT: file, position, seconds (0: for ever) and the channel. NULL where nothing can be waited for.
pub(crate) fn wait_for_place(server: &Core, args: &[Value]) -> Result<Value> {
    let text = |value: &Value| {
        let mut text = Vec::new();
        value.write_text(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let [file, Value::Int(at), Value::Double(seconds), channel @ ..] = args else { return Ok(Value::Null) };
    let Some(replicas) = server.replicas() else { return Ok(Value::Null) };
    let deadline = (*seconds > 0.0).then(|| now_ns().saturating_add((seconds.min(1e9) * 1e9) as u64));
    let channel = channel.first().map(text);
    let waited = replicas.wait_for_place(channel.as_deref(), (&text(file), *at as u64), deadline)?;
    Ok(waited.map_or(Value::Null, Value::Int))
}

/// RESET REPLICA.
pub(crate) fn reset(session: &mut Session, all: bool, channel: Option<&str>) -> Result<()> {
    alone_behind(session, Gates::None, |s| replica(s)?.reset(channel, all))
}

/// asynchronous_connection_failover_add_source, _delete_source and _reset, whose arguments are of these types. Errors
/// 1062, 1227, 3200.
pub(crate) fn candidates(state: &State, name: &str, args: &[Value]) -> Result<Value> {
    let may = |privilege| state.privileges().has(privilege);
    if !may(Privilege::Super) && !may(Privilege::ReplicationSlaveAdmin) {
        return Err(sql_err!(SpecificAccessDenied, "SUPER or REPLICATION_SLAVE_ADMIN"));
    }
    let replicas = state.server.replicas().ok_or_else(|| SqlError::unsupported("replication in this process"))?;
    let text = |value: &Value| match value {
        Value::Str(text, _) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        _ => String::new(),
    };
    match args {
        [] => replicas.forget_candidates()?,
        [channel, host, Value::Int(port), Value::Int(weight)] => {
            let (port, weight) = (*port as u16, *weight as u8);
            replicas.add_candidate(&Candidate { channel: text(channel), host: text(host), port, weight })?;
        }
        [channel, host, Value::Int(port)] => {
            if !replicas.remove_candidate(&text(channel), (&text(host), *port as u16))? {
                return Err(sql_err!(
                    UdfError,
                    name.to_ascii_lowercase(),
                    "Error no matching row was found to be deleted."
                ));
            }
        }
        _ => return Err(SqlError::internal("arguments of a failover function")),
    }
    Ok(Value::Null)
}
