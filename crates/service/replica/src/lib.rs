//! A replica: reads other servers' binary logs and does here what they tell. A source is a Gannet or a MySQL (by
//! GTIDs, or by file and position), or a MariaDB (by file and position). Each is followed by a channel of its own.
//!
//! A channel has two tasks. The receiver writes what the source sends into relay logs; the applier reads these, hands
//! transactions of rows on to workers, which commit them in the order of the log, and applies all else by itself. Where
//! it stands is in the dictionary, written with the rows of each transaction in the same commit, so that a crash of
//! either side loses nothing and repeats nothing: relay logs of before a start are thrown away, and what was not
//! applied is asked for again.
//!
//! | module | what |
//! |---|---|
//! | `channels` | statements, by the channels that they are about |
//! | `channel` | one of them: its tasks |
//! | `source` | whom it follows, where it stands: records of the dictionary |
//! | `encryption` | TLS to it |
//! | `reading` | the connection to the source: packets with events |
//! | `receiver` | these go into relay logs |
//! | `desk` | who writes them |
//! | `relay` | relay logs: their files, what was received, what is applied |
//! | `relayed` | reads them |
//! | `events` | events become transactions of a [`gannet_session::follow::Follower`] |
//! | `failover` | when a connection has ended: again, or to another source |
//! | `filter` | CHANGE REPLICATION FILTER |
//! | `grammar` | where transactions begin and end |
//! | `status` | SHOW REPLICA STATUS |
//! | `tables` | tables of performance_schema and mysql |
//! | `task` | what starts and ends: the receiver, the applier |
//! | `until` | START REPLICA UNTIL |
//! | `workers` | what applies transactions of rows beside each other |

mod channel;
mod channels;
mod desk;
mod encryption;
mod events;
mod failover;
mod filter;
mod grammar;
mod reading;
mod receiver;
mod relay;
mod relayed;
mod source;
mod status;
mod tables;
mod task;
mod until;
mod workers;

use crate::channels::Channels;
use gannet_core::Core;
use gannet_session::Sessions;
use gannet_types::SqlError;
use std::sync::{Arc, Weak};

/// Why reading has ended.
pub(crate) enum Fault {
    /// It was stopped.
    Stopped,
    /// The source cannot be read: it is tried again.
    Source(SqlError),
    /// The source refuses, or sends what cannot be read: it is not tried again.
    Refused(SqlError),
    /// Relay logs cannot be written: it is tried again.
    Disk(SqlError),
    /// What it tells cannot be done here.
    Applying(SqlError),
}

impl From<SqlError> for Fault {
    fn from(e: SqlError) -> Fault {
        Fault::Applying(e)
    }
}

/// The replica of a server.
pub struct Replica(Arc<Channels>);

impl Drop for Replica {
    /// The tasks use the store: they end before that is closed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Takes replication's statements, and goes on where the server followed others before.
pub fn start(core: &Arc<Core>, sessions: &Arc<Sessions>) -> Result<Replica, String> {
    let channels = Channels::open(core, sessions);
    let channels = channels.map_err(|e| format!("where replication stands cannot be read: {}", e.message()))?;
    let known: Weak<Channels> = Arc::downgrade(&channels);
    core.set_replicas(known);
    channels.resume().map_err(|e| format!("replication cannot go on: {}", e.message()))?;
    Ok(Replica(channels))
}
