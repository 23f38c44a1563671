//! A replica: reads another server's binary log and does here what it tells. The source is a Gannet or a MySQL (by
//! GTIDs, or by file and position), or a MariaDB (by file and position).
//!
//! One task reads and applies, transaction by transaction, without a log between: what is not applied is asked for
//! again. Where it stands is in the dictionary, written with the rows of each transaction in the same commit, so that
//! a crash of either side loses nothing and repeats nothing.
//!
//! | module | what |
//! |---|---|
//! | `source` | whom it follows, where it stands: records of the dictionary |
//! | `reading` | the connection to the source: packets with events |
//! | `events` | events become transactions of a [`gannet_session::follow::Follower`] |
//! | `filter` | CHANGE REPLICATION FILTER |
//! | `status` | SHOW REPLICA STATUS |
//! | `tables` | tables of performance_schema |
//! | `until` | START REPLICA UNTIL |

mod events;
mod filter;
mod reading;
mod source;
mod status;
mod tables;
mod until;

use crate::events::{Choice, Events};
use crate::filter::Filter;
use crate::reading::Reading;
use crate::source::{Position, Source};
use crate::status::Status;
use crate::until::Until;
use gannet_base::sync::Mutex;
use gannet_catalog::POSITION;
use gannet_core::Core;
use gannet_core::accounts::Account;
use gannet_core::replication::{Replicas, Row, Table};
use gannet_engine::{Isolation, TxnOptions, commit_gate};
use gannet_exec::error::from_engine;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_runtime::{Interrupt, JoinHandle, Unpark, sleep};
use gannet_session::Sessions;
use gannet_session::follow::{Follower, KeyCheck};
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::client::Ender;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The name under which the dictionary has whom this server follows.
const SOURCE: &str = "source";
/// And what it does not do.
const FILTER: &str = "filter";

/// Why reading has ended.
pub(crate) enum Fault {
    /// It was stopped.
    Stopped,
    /// The source cannot be read: it is tried again.
    Source(SqlError),
    /// The source refuses, or sends what cannot be read: it is not tried again.
    Refused(SqlError),
    /// What it tells cannot be done here.
    Applying(SqlError),
}

impl From<SqlError> for Fault {
    fn from(e: SqlError) -> Fault {
        Fault::Applying(e)
    }
}

/// What the task and the statements share.
pub(crate) struct Shared {
    pub(crate) core: Arc<Core>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) status: Mutex<Status>,
    /// Ends the connection to the source.
    pub(crate) ender: Mutex<Option<Ender>>,
    task: Mutex<Option<JoinHandle<()>>>,
    stopping: gannet_base::sync::atomic::AtomicBool,
}

/// The replica of a server.
pub struct Replica(Arc<Shared>);

impl Drop for Replica {
    /// The task uses the store: it ends before that is closed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Takes replication's statements, and goes on where the server followed another one before.
pub fn start(core: &Arc<Core>, sessions: &Arc<Sessions>) -> std::result::Result<Replica, String> {
    let shared = Arc::new(Shared {
        core: core.clone(),
        sessions: sessions.clone(),
        status: Mutex::default(),
        ender: Mutex::new(None),
        task: Mutex::new(None),
        stopping: Default::default(),
    });
    let known: Weak<Shared> = Arc::downgrade(&shared);
    core.set_replicas(known);
    let source = shared.source().map_err(|e| format!("where replication stands cannot be read: {}", e.message()))?;
    if source.is_some_and(|source| source.started) {
        shared.begin(Until::Stopped).map_err(|e| format!("replication cannot go on: {}", e.message()))?;
    }
    Ok(Replica(shared))
}

impl Shared {
    fn record(&self, name: &str) -> Result<Option<Vec<u8>>> {
        // What is applied may be hidden from snapshots until replicas of this server have it.
        let newest = TxnOptions { isolation: Isolation::ReadUncommitted, ..TxnOptions::default() };
        let mut txn = self.core.engine.begin(newest);
        let found = self.core.catalog.replication().get(&mut txn, name);
        txn.rollback().map_err(from_engine)?;
        found.map_err(from_engine)
    }

    pub(crate) fn store(&self, records: &[(&str, Option<Vec<u8>>)]) -> Result<()> {
        let mut txn = self.core.engine.begin(TxnOptions::default());
        let stored = self.core.catalog.replication();
        for (name, record) in records {
            match record {
                Some(record) => stored.put(&mut txn, name, record).map_err(from_engine)?,
                None => drop(stored.remove(&mut txn, name).map_err(from_engine)?),
            }
        }
        match txn.commit_unsynced().map_err(from_engine)? {
            // It waits for no replica of this server.
            Some(lsn) => commit_gate(&self.core.engine).wait_for_log(lsn).map_err(from_engine),
            None => Ok(()),
        }
    }

    pub(crate) fn source(&self) -> Result<Option<Source>> {
        Ok(self.record(SOURCE)?.map(|record| Source::decode(&record)))
    }

    fn filter(&self) -> Result<Filter> {
        Ok(self.record(FILTER)?.map_or_else(Filter::default, |record| Filter::decode(&record)))
    }

    pub(crate) fn position(&self) -> Result<Position> {
        Ok(self.record(POSITION)?.map_or_else(Position::default, |record| Position::decode(&record)))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(gannet_base::sync::atomic::Ordering::Acquire)
    }

    fn is_running(&self) -> bool {
        self.task.lock().is_some() && self.status.lock().running
    }

    /// Starts the task.
    fn begin(self: &Arc<Self>, until: Until) -> Result<()> {
        self.end();
        self.stopping.store(false, gannet_base::sync::atomic::Ordering::Release);
        *self.status.lock() = Status::begun(until);
        let shared = self.clone();
        *self.task.lock() = Some(gannet_runtime::spawn("replica", move || shared.run()));
        Ok(())
    }

    /// Ends the task, and waits for that.
    fn end(&self) {
        self.stopping.store(true, gannet_base::sync::atomic::Ordering::Release);
        let task = self.task.lock().take();
        let Some(task) = task else { return };
        if let Some(ender) = &*self.ender.lock() {
            ender.end();
        }
        task.context().interrupt(Interrupt::Shutdown);
        let _ended = task.join();
        self.status.lock().running = false;
    }

    /// The task: follows the source until it is stopped, or something is wrong here.
    fn run(self: Arc<Self>) {
        let mut attempts = 0;
        loop {
            let before = self.status.lock().applied;
            let fault = match self.follow() {
                Ok(()) => Fault::Stopped,
                Err(fault) => fault,
            };
            *self.ender.lock() = None;
            let progress = self.status.lock().applied != before;
            attempts = if progress { 0 } else { attempts + 1 };
            if self.is_stopping() {
                break;
            }
            let (retry_s, retries) = match self.source() {
                Ok(Some(source)) => (source.retry_s, source.retries),
                _ => break,
            };
            match fault {
                Fault::Stopped => break,
                Fault::Source(e) if retries == 0 || attempts <= retries => {
                    self.core.log.warning(format_args!("the replication source cannot be read: {}", e.message()));
                    self.status.lock().source_failed(&e);
                    if sleep(Duration::from_secs(retry_s.max(1))) == Unpark::Interrupted {
                        break;
                    }
                }
                Fault::Source(e) | Fault::Refused(e) => {
                    self.core.log.error(format_args!("the replication source cannot be read: {}", e.message()));
                    self.status.lock().source_failed(&e);
                    break;
                }
                Fault::Applying(e) => {
                    let at = self.status.lock().applying_failed(&e);
                    self.core.log.error(format_args!("the replica has stopped at {at}: {}", e.message()));
                    break;
                }
            }
        }
        self.status.lock().ended();
    }

    fn follow(&self) -> std::result::Result<(), Fault> {
        let source = self.source()?.ok_or_else(|| sql_err!(BadReplica))?;
        let position = self.position()?.prepared(|branch| self.core.branches.list().contains(branch));
        let until = self.status.lock().until.clone();
        let left = until.left(&position, self.core.binlog().map(|log| log.executed(&self.core.engine)));
        if left.is_reached(&position) {
            return Err(Fault::Stopped);
        }
        let session = self.sessions.own_of(Arc::new(Account::unchecked()), "system user")?;
        let mut reading = Reading::open(self, &source, &position)?;
        let filter = self.filter()?;
        let mut events = Events::new(
            self,
            Follower::new(session, KeyCheck::of(&source.key_check)),
            position,
            Choice { filter, delay_s: source.delay_s, until: left },
        );
        let outcome = self.apply(&mut reading, &mut events);
        // Whoever asks when it has stopped sees what it has applied.
        outcome.and(events.settle())
    }

    /// Applies what comes until the source ends the log.
    fn apply(&self, reading: &mut Reading, events: &mut Events<'_>) -> std::result::Result<(), Fault> {
        while let Some(packets) = reading.next(self)? {
            for packet in packets {
                let (event, asks) = reading.event(&packet)?;
                events.event(event)?;
                if asks {
                    events.settle()?;
                    if let Some((file, at)) = events.place() {
                        reading.acknowledge(file, at)?;
                    }
                }
            }
            if !reading.has_more() {
                events.settle()?;
                // All that the source has sent is applied.
                self.status.lock().heard();
            }
        }
        Ok(())
    }
}

impl Replicas for Shared {
    fn change(&self, options: &[(Ident, ReplicationValue)]) -> Result<()> {
        if self.is_running() {
            return Err(sql_err!(ReplicaChannelIoThreadMustStop, ""));
        }
        let (source, from) = self.source()?.unwrap_or_default().changed(options)?;
        let mut records = vec![(SOURCE, Some(source.encode()))];
        if let Some((file, at)) = from {
            // Which transactions were applied stays known.
            let position = Position { file, at, preparing: None, ..self.position()? };
            records.push((POSITION, Some(position.encode())));
        }
        self.store(&records)
    }

    fn change_filter(&self, rules: &[(Ident, Vec<Box<str>>)]) -> Result<()> {
        if self.is_running() {
            return Err(sql_err!(ReplicaChannelMustStop, ""));
        }
        let filter = self.filter()?.changed(rules)?;
        self.store(&[(FILTER, Some(filter.encode()))])
    }

    fn start(self: Arc<Self>, until: &[(Ident, ReplicationValue)]) -> Result<()> {
        let until = Until::parse(until)?;
        let source = self.source()?.filter(|s| !s.host.is_empty()).ok_or_else(|| sql_err!(BadReplica))?;
        if self.is_running() {
            return Ok(());
        }
        // A crash on the way must not lead beyond the end: the next start of the server does not go on.
        let started = until == Until::Stopped;
        self.store(&[(SOURCE, Some(Source { started, ..source }.encode()))])?;
        self.begin(until)
    }

    fn stop(&self) -> Result<()> {
        self.end();
        match self.source()? {
            Some(source) => self.store(&[(SOURCE, Some(Source { started: false, ..source }.encode()))]),
            None => Ok(()),
        }
    }

    fn reset(&self, all: bool) -> Result<()> {
        if self.is_running() {
            return Err(sql_err!(ReplicaChannelMustStop, ""));
        }
        self.end();
        *self.status.lock() = Status::default();
        match (all, self.source()?) {
            (false, Some(_)) => self.store(&[(POSITION, None)]),
            _ => self.store(&[(POSITION, None), (SOURCE, None), (FILTER, None)]),
        }
    }

    fn runs(&self) -> bool {
        self.is_running()
    }

    fn acknowledges(&self) -> bool {
        self.status.lock().acknowledges()
    }

    fn rows(&self, of: Table) -> Vec<Row> {
        let Ok(Some(source)) = self.source() else { return Vec::new() };
        if of == Table::Filters {
            return self.filter().unwrap_or_default().rows();
        }
        vec![self.status.lock().table(of, &source)]
    }

    fn status(&self) -> Option<Row> {
        let source = self.source().ok()??;
        // What waits comes before the lock.
        let position = self.position().unwrap_or_default();
        let filter = self.filter().unwrap_or_default();
        let executed = match self.core.binlog() {
            Some(log) => log.executed(&self.core.engine).to_string(),
            None => position.applied.to_string(),
        };
        Some(self.status.lock().row(&source, &position, &executed, &filter))
    }
}
