//! Statements about the replica: CHANGE REPLICATION SOURCE TO, START, STOP and RESET REPLICA.

use super::Session;
use super::reply::Done;
use gannet_core::replication::Replicas;
use gannet_parser::ast::Replication;
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// The replica, for the default channel. Error 1235 for others.
fn replica(session: &Session, channel: Option<&str>) -> Result<Arc<dyn Replicas>> {
    if channel.is_some_and(|name| !name.is_empty()) {
        return Err(SqlError::unsupported("channels of replication"));
    }
    session.server.replicas().ok_or_else(|| SqlError::unsupported("replication in this process"))
}

/// Statements but PURGE.
pub(crate) fn replication(session: &mut Session, statement: &Replication) -> Result<Done> {
    if session.work.transaction().is_open() || !session.locked.is_empty() {
        return Err(sql_err!(LockOrActiveTransaction));
    }
    match statement {
        Replication::ChangeSource { options, channel } => replica(session, channel.as_deref())?.change(options)?,
        Replication::Replica { start, threads, until, credentials, channel, all: false } => {
            if !threads.is_empty() {
                return Err(SqlError::unsupported("threads of a replica, which has one"));
            }
            if !credentials.is_empty() {
                return Err(SqlError::unsupported("START REPLICA with an account"));
            }
            let replica = replica(session, channel.as_deref())?;
            let runs = replica.runs();
            if runs == *start {
                session.note(&if runs { sql_err!(ReplicaWasRunning) } else { sql_err!(ReplicaWasNotRunning) });
            }
            if *start { replica.start(until)? } else { replica.stop()? }
        }
        Replication::Replica { all: true, .. } => return Err(SqlError::unsupported("ALL SLAVES")),
        Replication::ChangeFilter { rules, channel } => replica(session, channel.as_deref())?.change_filter(rules)?,
        Replication::Group { .. } => return Err(SqlError::unsupported("group replication")),
        Replication::PurgeLogs { .. } => return Err(SqlError::internal("PURGE is another one's")),
    }
    Ok(Done::default())
}

/// RESET REPLICA.
pub(crate) fn reset(session: &Session, all: bool, channel: Option<&str>) -> Result<()> {
    replica(session, channel)?.reset(all)
}
