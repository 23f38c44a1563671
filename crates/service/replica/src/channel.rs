//! A channel: one source, and the task that follows it.

use crate::Fault;
use crate::events::{Choice, Events};
use crate::filter::Filter;
use crate::reading::Reading;
use crate::source::{Position, Source};
use crate::status::Status;
use crate::until::Until;
use crate::workers::Workers;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, Ordering};
use gannet_core::Core;
use gannet_core::accounts::Account;
use gannet_core::replication::{Notes, Row, Table};
use gannet_core::vars::Live;
use gannet_engine::{Isolation, TxnOptions, commit_gate};
use gannet_exec::error::from_engine;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_runtime::{Interrupt, JoinHandle, Unpark, sleep};
use gannet_session::follow::{Follower, KeyCheck};
use gannet_session::{OwnSession, Sessions};
use gannet_types::{Result, SqlError, Value, sql_err};
use gannet_wire::client::Ender;
use std::sync::Arc;
use std::time::Duration;

/// What the dictionary has of a channel, each in a record of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// Whom it follows.
    Source,
    /// Where it stands.
    Position,
    /// What it leaves out, where that is not what all leave out.
    Filter,
}

/// What the task of a channel and the statements share.
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) core: Arc<Core>,
    sessions: Arc<Sessions>,
    pub(crate) status: Mutex<Status>,
    /// Ends the connection to the source.
    pub(crate) ender: Mutex<Option<Ender>>,
    filter: Mutex<Arc<Filter>>,
    task: Mutex<Option<JoinHandle<()>>>,
    stopping: AtomicBool,
    /// It is not in the list any more, and does not start again.
    gone: AtomicBool,
}

/// A record about replication.
pub(crate) fn record(core: &Core, name: &str) -> Result<Option<Vec<u8>>> {
    // What is applied may be hidden from snapshots until replicas of this server have it.
    let newest = TxnOptions { isolation: Isolation::ReadUncommitted, ..TxnOptions::default() };
    let mut txn = core.engine.begin(newest);
    let found = core.catalog.replication().get(&mut txn, name);
    txn.rollback().map_err(from_engine)?;
    found.map_err(from_engine)
}

/// Writes and removes records about replication.
pub(crate) fn store(core: &Core, records: &[(Arc<str>, Option<Vec<u8>>)]) -> Result<()> {
    let mut txn = core.engine.begin(TxnOptions::default());
    let stored = core.catalog.replication();
    for (name, record) in records {
        match record {
            Some(record) => stored.put(&mut txn, name, record).map_err(from_engine)?,
            None => drop(stored.remove(&mut txn, name).map_err(from_engine)?),
        }
    }
    match txn.commit_unsynced().map_err(from_engine)? {
        // It waits for no replica of this server.
        Some(lsn) => commit_gate(&core.engine).wait_for_log(lsn).map_err(from_engine),
        None => Ok(()),
    }
}

impl Channel {
    /// `all`: what every channel leaves out, unless it has a filter of its own.
    pub(crate) fn open(
        (core, sessions): (&Arc<Core>, &Arc<Sessions>),
        name: &str,
        all: &Filter,
    ) -> Result<Arc<Channel>> {
        let it = Channel {
            name: name.to_owned(),
            core: core.clone(),
            sessions: sessions.clone(),
            status: Mutex::default(),
            ender: Mutex::new(None),
            filter: Mutex::new(Arc::new(all.clone())),
            task: Mutex::new(None),
            stopping: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        };
        if let Some(own) = it.kept(Kept::Filter)? {
            *it.filter.lock() = Arc::new(Filter::decode(&own));
        }
        Ok(Arc::new(it))
    }

    /// The name of a record. Those of the default channel are older than channels.
    pub(crate) fn name_of(&self, kept: Kept) -> Arc<str> {
        let name = self.name.to_lowercase();
        match (kept, name.as_str()) {
            (Kept::Source, "") => "source".into(),
            (Kept::Position, "") => "position".into(),
            (Kept::Source, name) => format!("source@{name}").into(),
            (Kept::Position, name) => format!("position@{name}").into(),
            (Kept::Filter, name) => format!("filter@{name}").into(),
        }
    }

    fn kept(&self, kept: Kept) -> Result<Option<Vec<u8>>> {
        record(&self.core, &self.name_of(kept))
    }

    pub(crate) fn store(&self, records: &[(Kept, Option<Vec<u8>>)]) -> Result<()> {
        let named: Vec<_> = records.iter().map(|(kept, record)| (self.name_of(*kept), record.clone())).collect();
        store(&self.core, &named)
    }

    pub(crate) fn source(&self) -> Result<Option<Source>> {
        Ok(self.kept(Kept::Source)?.map(|record| Source::decode(&record)))
    }

    pub(crate) fn filter(&self) -> Arc<Filter> {
        self.filter.lock().clone()
    }

    pub(crate) fn position(&self) -> Result<Position> {
        Ok(self.kept(Kept::Position)?.map_or_else(Position::default, |record| Position::decode(&record)))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.task.lock().is_some() && self.status.lock().running
    }

    /// Starts the task.
    pub(crate) fn begin(self: &Arc<Self>, until: Until) {
        self.end();
        self.stopping.store(false, Ordering::Release);
        let workers = self.core.globals.get(Live::ReplicaParallelWorkers).as_u64() as usize;
        *self.status.lock() = Status::begun(until, workers);
        let shared = self.clone();
        *self.task.lock() = Some(gannet_runtime::spawn("replica", move || shared.run()));
        if self.gone.load(Ordering::Acquire) {
            self.end();
        }
    }

    /// It is not in the list any more: one that is started meanwhile ends.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Ends the task, and waits for that.
    pub(crate) fn end(&self) {
        self.stopping.store(true, Ordering::Release);
        let task = self.task.lock().take();
        let Some(task) = task else { return };
        if let Some(ender) = &*self.ender.lock() {
            ender.end();
        }
        task.context().interrupt(Interrupt::Shutdown);
        let _ended = task.join();
        self.status.lock().running = false;
    }

    /// How it is called in the error log.
    fn of_channel(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!(" of channel '{}'", self.name) }
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
            let unreadable =
                |e: &SqlError| format!("the replication source{} cannot be read: {}", self.of_channel(), e.message());
            match fault {
                Fault::Stopped => break,
                Fault::Source(e) if retries == 0 || attempts <= retries => {
                    self.core.log.warning(format_args!("{}", unreadable(&e)));
                    self.status.lock().source_failed(&e);
                    if sleep(Duration::from_secs(retry_s.max(1))) == Unpark::Interrupted {
                        break;
                    }
                }
                Fault::Source(e) | Fault::Refused(e) => {
                    self.core.log.error(format_args!("{}", unreadable(&e)));
                    self.status.lock().source_failed(&e);
                    break;
                }
                Fault::Applying(e) => {
                    let at = self.status.lock().applying_failed(&e);
                    let of = self.of_channel();
                    self.core.log.error(format_args!("the replica{of} has stopped at {at}: {}", e.message()));
                    break;
                }
            }
        }
        self.status.lock().ended();
    }

    /// One that may do everything.
    pub(crate) fn session(&self) -> Result<OwnSession> {
        self.sessions.own_of(Arc::new(Account::unchecked()), "system user")
    }

    fn follow(self: &Arc<Self>) -> std::result::Result<(), Fault> {
        let source = self.source()?.ok_or_else(|| sql_err!(BadReplica))?;
        let position = self.position()?.prepared(|branch| self.core.branches.list().contains(branch));
        let until = self.status.lock().until.clone();
        let left = until.left(&position, self.core.binlog().map(|log| log.executed(&self.core.engine)));
        if left.is_reached(&position) {
            return Err(Fault::Stopped);
        }
        self.status.lock().retrieved = position.applied.clone();
        let follower = Follower::new(self.session()?, KeyCheck::of(&source.key_check));
        let mut reading = Reading::open(self, &source, &position)?;
        let count = self.status.lock().workers();
        let mut events = Events::new(
            self,
            (follower, (count > 0).then(|| Workers::start(self, count))),
            position,
            Choice { filter: self.filter(), ignored: source.ignored, delay_s: source.delay_s, until: left },
        );
        let outcome = self.apply(&mut reading, &mut events);
        // Whoever asks when it has stopped sees what it has applied.
        let settled = if self.is_stopping() { Ok(()) } else { events.settle() };
        match events.failure() {
            Some(e) => Err(Fault::Applying(e)),
            None => outcome.and(settled),
        }
    }

    /// Applies what comes until the source ends the log.
    fn apply(&self, reading: &mut Reading, events: &mut Events<'_>) -> std::result::Result<(), Fault> {
        while let Some(packets) = reading.next(self)? {
            let mut asked = None;
            for packet in packets {
                let (event, asks) = reading.event(&packet)?;
                events.event(event)?;
                if asks {
                    asked = events.place().map(|(file, at)| (file.to_owned(), at)).or(asked);
                }
            }
            if let Some((file, at)) = asked {
                // It is for all before it, too.
                events.settle()?;
                reading.acknowledge(&file, at)?;
            }
            if !reading.has_more() {
                events.rest()?;
            }
        }
        Ok(())
    }

    /// CHANGE REPLICATION SOURCE TO.
    pub(crate) fn change(&self, options: &[(Ident, ReplicationValue)]) -> Result<()> {
        if self.is_running() {
            return Err(sql_err!(ReplicaChannelIoThreadMustStop, self.name));
        }
        let (source, from) = self.source()?.unwrap_or_default().named(&self.name).changed(options)?;
        let mut records = vec![(Kept::Source, Some(source.encode()))];
        if let Some((file, at)) = from {
            // Which transactions were applied stays known.
            let position = Position { file, at, preparing: None, ..self.position()? };
            records.push((Kept::Position, Some(position.encode())));
        }
        self.store(&records)
    }

    /// CHANGE REPLICATION FILTER; `own`: for this channel alone.
    pub(crate) fn change_filter(&self, rules: &[(Ident, Vec<Box<str>>)], own: bool) -> Result<()> {
        let filter = self.filter().changed(rules, own)?;
        if own || self.kept(Kept::Filter)?.is_some() {
            self.store(&[(Kept::Filter, Some(filter.encode()))])?;
        }
        *self.filter.lock() = Arc::new(filter);
        Ok(())
    }

    /// START REPLICA. Error 1200 without a source.
    pub(crate) fn start(self: &Arc<Self>, until: &Until) -> Result<Notes> {
        let source = self.source()?.filter(|s| !s.host.is_empty()).ok_or_else(|| sql_err!(BadReplica))?;
        if self.is_running() {
            return Ok(vec![sql_err!(ReplicaChannelWasRunning, self.name)]);
        }
        // A crash on the way must not lead beyond the end: the next start of the server does not go on.
        let started = *until == Until::Stopped;
        self.store(&[(Kept::Source, Some(Source { started, ..source }.encode()))])?;
        self.begin(until.clone());
        Ok(Vec::new())
    }

    /// STOP REPLICA.
    pub(crate) fn stop(&self) -> Result<Notes> {
        let runs = self.is_running();
        self.end();
        if let Some(source) = self.source()? {
            self.store(&[(Kept::Source, Some(Source { started: false, ..source }.encode()))])?;
        }
        Ok(if runs { Vec::new() } else { vec![sql_err!(ReplicaChannelWasNotRunning, self.name)] })
    }

    /// RESET REPLICA, of one that does not run; `all`: the source is forgotten too, and the filter is what every
    /// channel has.
    pub(crate) fn reset(&self, all: Option<&Filter>) -> Result<()> {
        self.end();
        *self.status.lock() = Status::default();
        let Some(filter) = all else { return self.store(&[(Kept::Position, None)]) };
        self.store(&[(Kept::Position, None), (Kept::Source, None), (Kept::Filter, None)])?;
        *self.filter.lock() = Arc::new(filter.clone());
        Ok(())
    }

    /// Rows of a table: none without a source.
    pub(crate) fn rows(&self, of: Table) -> Vec<Row> {
        let source = self.source().ok().flatten().filter(|source| !source.host.is_empty());
        let rows = match (of, source) {
            (Table::GlobalFilters, _) | (_, None) => Vec::new(),
            (Table::Filters, Some(_)) => self.filter().rows(),
            (Table::Workers, Some(_)) => self.status.lock().worker_rows(),
            (Table::WorkerInfo, Some(_)) => self.status.lock().worker_info(),
            (Table::Coordinator, Some(_)) => self.status.lock().coordinator(),
            (of, Some(source)) => {
                // What waits comes before the lock.
                let position = self.position().unwrap_or_default();
                vec![self.status.lock().table(of, &source, &position)]
            }
        };
        let column = if matches!(of, Table::MasterInfo | Table::RelayLogInfo | Table::WorkerInfo) {
            "Channel_name"
        } else {
            "CHANNEL_NAME"
        };
        let named = |mut row: Row| {
            row.push((column, Value::text(&self.name)));
            row
        };
        rows.into_iter().map(named).collect()
    }

    /// SHOW REPLICA STATUS.
    pub(crate) fn shown(&self) -> Option<Row> {
        let source = self.source().ok()?.filter(|source| !source.host.is_empty())?;
        // What waits comes before the lock.
        let position = self.position().unwrap_or_default();
        let filter = self.filter();
        let executed = match self.core.binlog() {
            Some(log) => log.executed(&self.core.engine).to_string(),
            None => position.applied.to_string(),
        };
        Some(self.status.lock().row((&self.name, &source), &position, &executed, &filter))
    }
}
