//! A channel: one source, and the tasks that follow it.

use crate::Fault;
use crate::desk::Desk;
use crate::events::{Choice, Events};
use crate::filter::Filter;
use crate::reading::Reading;
use crate::receiver::Receiver;
use crate::relay::{Behind, Place, Relay};
use crate::relayed::Relayed;
use crate::source::{Assigned, Places, Position, Source};
use crate::status::{self, Status, Transaction};
use crate::task::Task;
use crate::until::Until;
use crate::workers::Workers;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, Ordering};
use gannet_core::Core;
use gannet_core::accounts::{Access, Account, Privilege};
use gannet_core::replication::{Login, Notes, RelayLog, Row, Table, Threads};
use gannet_core::vars::Live;
use gannet_engine::{Isolation, Lsn, TxnOptions, commit_gate};
use gannet_exec::error::from_engine;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_runtime::{Unpark, Wait, now_ns, park, waker};
use gannet_session::follow::{Follower, KeyCheck, OpenTables};
use gannet_session::{OwnSession, Sessions};
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};
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

/// How long the receiver waits for what it is to acknowledge before it reads on.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long it reads on before it looks again: where it need not wait long, and where it may have to.
const GLANCE: Duration = Duration::from_millis(5);
const LOOK: Duration = Duration::from_millis(100);

/// What the tasks of a channel and the statements share.
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) core: Arc<Core>,
    sessions: Arc<Sessions>,
    pub(crate) status: Mutex<Status>,
    pub(crate) relay: Relay,
    desk: Desk,
    /// Ends the connection to the source.
    pub(crate) ender: Mutex<Option<Ender>>,
    /// With whom the receiver signs in, until it is started again.
    account: Mutex<Login>,
    filter: Mutex<Arc<Filter>>,
    receiver: Task,
    applier: Task,
    /// Temporary tables of the source's connections, while nothing is applied.
    tables: Mutex<OpenTables>,
    /// It is not in the list any more, and does not start again.
    gone: AtomicBool,
}

pub(crate) fn net_timeout_s(core: &Core) -> u64 {
    core.globals.get(Live::ReplicaNetTimeout).as_u64()
}

fn is_interruption(e: &SqlError) -> bool {
    matches!(e.code(), ErrorCode::QueryInterrupted | ErrorCode::ServerShutdown)
}

/// A record about replication.
pub(crate) fn record(core: &Core, name: &str) -> Result<Option<Vec<u8>>> {
    // What is applied may be hidden from snapshots until replicas of this server have it.
    let newest = TxnOptions { isolation: Isolation::ReadUncommitted, ..TxnOptions::default() };
    let mut txn = core.engine.try_begin(newest).map_err(from_engine)?;
    let found = core.catalog.replication().get(&mut txn, name);
    txn.rollback().map_err(from_engine)?;
    found.map_err(from_engine)
}

/// Writes and removes records about replication.
pub(crate) fn store(core: &Core, records: &[(Arc<str>, Option<Vec<u8>>)]) -> Result<()> {
    let mut txn = core.engine.try_begin(TxnOptions::default()).map_err(from_engine)?;
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

/// The account whose privileges are checked. Errors 3926, 3928.
fn checked(channel: &Channel, (user, host): &(String, String)) -> Result<Arc<Account>> {
    let account = channel.core.accounts.get(user, host);
    let account = account.ok_or_else(|| sql_err!(PrivilegeChecksUserDoesNotExist, channel.name, user, host))?;
    let access = Access::new(&channel.core.accounts, &account, &account.grants.default_roles);
    match access.global.has(Privilege::ReplicationApplier) {
        true => Ok(account),
        false => Err(sql_err!(PrivilegeChecksUserNeedsRplApplierPriv, channel.name, user, host)),
    }
}

/// Drops temporary tables of the source's connections.
fn close_tables(channel: &Channel) -> Result<()> {
    if channel.status.lock().open_tables > 0 {
        let account = Arc::new(Account::unchecked());
        let mut follower = Follower::new(channel.sessions.own_of(account, "system user")?, KeyCheck::Stream);
        follower.enter_tables(std::mem::take(&mut *channel.tables.lock()));
        follower.drop_tables();
    }
    Ok(())
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
            relay: Relay::open(core, name),
            desk: Desk::default(),
            ender: Mutex::new(None),
            account: Mutex::default(),
            filter: Mutex::new(Arc::new(all.clone())),
            receiver: Task::default(),
            applier: Task::default(),
            tables: Mutex::default(),
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

    /// The receiver is to stop, or the applier.
    pub(crate) fn is_stopping(&self) -> bool {
        self.receiver.is_stopping()
    }

    pub(crate) fn applier_is_stopping(&self) -> bool {
        self.applier.is_stopping()
    }

    /// What runs.
    pub(crate) fn running(&self) -> Threads {
        let status = self.status.lock();
        Threads { receiver: status.receives, applier: status.applies }
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.running().is_none()
    }

    /// Starts tasks.
    pub(crate) fn begin(self: &Arc<Self>, threads: Threads, until: Until) {
        self.end(threads, None);
        if threads.applier {
            let get = |id: Live| self.core.globals.get(id);
            // A worker that runs ahead cannot know whether a row is missing: one alone can.
            let strict = get(Live::ReplicaExecMode).as_str() == "STRICT";
            let workers = if strict { get(Live::ReplicaParallelWorkers).as_u64() as usize } else { 0 };
            self.status.lock().applier_begins(until, workers);
            let shared = self.clone();
            self.applier.run("replica", move || shared.run_applier());
        }
        if threads.receiver {
            self.status.lock().receiver_begins();
            let shared = self.clone();
            self.receiver.run("receiver", move || shared.run_receiver());
        }
        if self.gone.load(Ordering::Acquire) {
            self.end(Threads::BOTH, None);
        }
    }

    /// It is not in the list any more: one that is started meanwhile ends.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Ends tasks, and waits for that, until a deadline at most. Gives those that have not ended then.
    pub(crate) fn end(&self, threads: Threads, deadline: Option<u64>) -> Threads {
        let receiver = if threads.receiver { self.receiver.stop() } else { None };
        if receiver.is_some()
            && let Some(ender) = &*self.ender.lock()
        {
            ender.end();
        }
        let applier = if threads.applier { self.applier.stop() } else { None };
        let left = Threads {
            receiver: !self.receiver.wait(receiver, deadline),
            applier: !self.applier.wait(applier, deadline),
        };
        let mut status = self.status.lock();
        if threads.receiver && !left.receiver {
            status.receiver_ended();
        }
        if threads.applier && !left.applier {
            status.applier_ended();
        }
        left
    }

    /// A transaction was received.
    pub(crate) fn received(&self, it: &Transaction) {
        if let Some((uuid, number)) = it.gtid {
            self.relay.retrieve(uuid, number);
        }
        self.status.lock().receives(it);
    }

    /// One has committed its transaction, in the log here before `lsn`.
    pub(crate) fn applied(&self, by: usize, position: &Position, timestamp: u32, lsn: Lsn) {
        self.status.lock().applied(by, position, timestamp, lsn);
        if let Some((_, place)) = position.relay {
            self.relay.pass(place);
        }
    }

    /// SOURCE_POS_WAIT: how many transactions were applied until all up to this place of the source's log was, and is
    /// seen; -1: that was not so by `deadline`. `None`: the applier does not run, or the source's files have other
    /// names. Error 1317.
    pub(crate) fn wait_for_place(&self, file: &str, at: u64, deadline: Option<u64>) -> Result<Option<i64>> {
        let mut since = None;
        loop {
            let reached = {
                let mut status = self.status.lock();
                if !status.applies {
                    return Ok(None);
                }
                let waited = status.transactions - *since.get_or_insert(status.transactions);
                match status.has_passed(file, at) {
                    None => return Ok(None),
                    Some(true) => Some((waited as i64, status.last)),
                    Some(false) => {
                        status.watching.push(waker());
                        None
                    }
                }
            };
            if let Some((waited, last)) = reached {
                if !last.is_zero() {
                    commit_gate(&self.core.engine).wait_for_log(last).map_err(from_engine)?;
                }
                return Ok(Some(waited));
            }
            match park(Wait::LogFollow, deadline) {
                Unpark::Woken => {}
                Unpark::TimedOut => return Ok(Some(-1)),
                Unpark::Interrupted => return Err(sql_err!(QueryInterrupted)),
            }
        }
    }

    /// What is committed now is durable.
    pub(crate) fn make_durable(&self) -> Result<()> {
        // A commit is durable with all before it.
        match self.source()? {
            Some(source) => self.store(&[(Kept::Source, Some(source.encode()))]),
            None => Ok(()),
        }
    }

    /// How it is called in the error log.
    pub(crate) fn of_channel(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!(" of channel '{}'", self.name) }
    }

    /// The applier: applies what the relay logs have until it is stopped, or that cannot be done.
    fn run_applier(self: Arc<Self>) {
        match self.follow() {
            Ok(()) | Err(Fault::Stopped) => {}
            // What was under way is undone, and applied at the next start.
            Err(Fault::Applying(e)) if self.applier_is_stopping() && is_interruption(&e) => {}
            Err(Fault::Source(e) | Fault::Refused(e) | Fault::Disk(e) | Fault::Applying(e)) => {
                let at = self.status.lock().applying_failed(&e);
                let of = self.of_channel();
                self.core.log.error(format_args!("the replica{of} has stopped at {at}: {}", e.message()));
            }
        }
        self.status.lock().applier_ended();
    }

    /// One that may do everything.
    pub(crate) fn session(&self) -> Result<OwnSession> {
        let account = match self.source()?.and_then(|source| source.checked) {
            Some(name) => checked(self, &name)?,
            None => Arc::new(Account::unchecked()),
        };
        self.sessions.own_of(account, "system user")
    }

    /// Receives until the source ends the log.
    pub(crate) fn receive(&self) -> std::result::Result<(), Fault> {
        // From here on nobody writes what an earlier connection has left unwritten.
        self.desk.set(None);
        let found = self.source().and_then(|it| it.ok_or_else(|| sql_err!(BadReplica)));
        let mut source = found.map_err(Fault::Refused)?;
        let Login { user, password, plugin } = self.account.lock().clone();
        source.user = user.unwrap_or(source.user);
        source.password = password.unwrap_or(source.password);
        let mut position = self.position().map_err(Fault::Refused)?;
        position = position.prepared(|branch| self.core.branches.list().contains(branch));
        if let Some((file, at)) = self.relay.received() {
            (position.file, position.at) = (file, at);
        }
        let mut reading = Reading::open(self, (&source, plugin), &position)?;
        self.desk.set(Some(Box::new(Receiver::new(self))));
        // What is to be acknowledged.
        let mut asked: Option<(String, u64, Place)> = None;
        loop {
            if let Some((file, at, place)) = &asked {
                let applies = self.status.lock().applies && source.delay_s == 0;
                if self.waits_until_durable(*place, applies)? {
                    reading.acknowledge(file, *at)?;
                    asked = None;
                } else if !reading.arrives(self, if applies { GLANCE } else { LOOK })? {
                    continue;
                }
            }
            let Some(packets) = reading.next(self)? else { return Ok(()) };
            let asks = self.write(&reading, &packets)?;
            if asks && let Some((file, at)) = self.relay.received() {
                // It is for all before it, too.
                let place = self.relay.whole();
                self.relay.ask(place);
                asked = Some((file, at, place));
            }
        }
    }

    /// Writes what has come; true: the source asks for an acknowledgement.
    fn write(&self, reading: &Reading, packets: &[Vec<u8>]) -> std::result::Result<bool, Fault> {
        let mut receiver = self.desk.take();
        let mut write = || {
            let mut asks = false;
            for packet in packets {
                let (event, ask) = reading.event(packet)?;
                receiver.event(self, event)?;
                asks |= ask;
            }
            if self.relay.is_ended() {
                receiver.end_file(self)?
            } else {
                receiver.flush(self)?
            }
            Ok(asks)
        };
        let outcome = write();
        self.desk.leave(receiver);
        outcome
    }

    /// FLUSH RELAY LOGS: the file that is written ends, and the next begins, at once or with the end of the transaction
    /// that is received.
    pub(crate) fn flush_relay_logs(&self) -> Result<()> {
        self.relay.end_file();
        // Whoever has it looks whether it is to end.
        let Some(mut receiver) = self.desk.try_take() else { return Ok(()) };
        let outcome = receiver.end_file(self);
        self.desk.leave(receiver);
        match outcome {
            Ok(()) => Ok(()),
            Err(Fault::Source(e) | Fault::Refused(e) | Fault::Disk(e) | Fault::Applying(e)) => Err(e),
            Err(Fault::Stopped) => Err(sql_err!(QueryInterrupted)),
        }
    }

    /// The relay logs are thrown away, while nobody writes them.
    fn discard(&self) {
        self.desk.set(None);
        self.relay.discard();
    }

    /// All before this place in the relay logs is applied durably. Waits for that a while if somebody is at it.
    fn waits_until_durable(&self, place: Place, applies: bool) -> std::result::Result<bool, Fault> {
        if !applies {
            return Ok(self.relay.is_durable(place));
        }
        let deadline = now_ns() + PATIENCE.as_nanos() as u64;
        self.relay.wait_for_applier(deadline, || self.relay.is_durable(place)).ok_or(Fault::Stopped)
    }

    fn follow(self: &Arc<Self>) -> std::result::Result<(), Fault> {
        let source = self.source()?.ok_or_else(|| sql_err!(BadReplica))?;
        let position = self.position()?.prepared(|branch| self.core.branches.list().contains(branch));
        let until = self.status.lock().until.clone();
        let left = until.left(&position, self.core.binlog().map(|log| log.executed(&self.core.engine)));
        let from = position.relay.and_then(|at| self.relay.holding(at));
        if left.is_reached(&position, from.unwrap_or_default()) {
            return Err(Fault::Stopped);
        }
        let mut follower = Follower::new(self.session()?, KeyCheck::of(&source.key_check));
        if source.row_format {
            follower.require_row_format();
        }
        let get = |id: Live| self.core.globals.get(id);
        follower.run(get(Live::InitReplica).as_str())?;
        if get(Live::ReplicaExecMode).as_str() == "IDEMPOTENT" {
            follower.be_idempotent();
        }
        let count = self.status.lock().workers();
        let mut events = Events::new(
            self,
            (follower, (count > 0).then(|| Workers::start(self, count))),
            position,
            Choice {
                filter: self.filter(),
                ignored: source.ignored,
                delay_s: source.delay_s,
                until: left,
                assigned: source.assigned,
            },
        );
        events.enter_tables(std::mem::take(&mut *self.tables.lock()));
        let outcome = self.apply(from, &mut events);
        // Whoever asks when it has stopped sees what it has applied.
        let settled = if self.applier_is_stopping() { Ok(()) } else { events.settle() };
        let outcome = match events.failure() {
            Some(e) => Err(Fault::Applying(e)),
            None => outcome.and(settled),
        };
        *self.tables.lock() = events.leave_tables();
        outcome
    }

    /// Applies what the relay logs have, from there on, or all of it.
    fn apply(&self, from: Option<Place>, events: &mut Events<'_>) -> std::result::Result<(), Fault> {
        let mut last = from.map_or(0, |place| place.number - 1);
        loop {
            let Some(number) = self.relay.file_behind(last) else {
                self.rest(events, Place { number: last, at: 0 })?;
                continue;
            };
            let (mut log, head) = Relayed::open(&self.relay, number)?;
            match from {
                Some(place) if place.number == number && place.at > log.place.at => {
                    log.seek(place.at);
                    events.resume(&head, place)?;
                }
                _ => events.enter(&head, log.place)?,
            }
            if self.core.globals.get(Live::RelayLogPurge).as_bool()
                && let Err(e) = self.relay.purge()
            {
                self.core.log.warning(format_args!("a relay log cannot be removed: {e}"));
            }
            while self.relay.behind(log.place) != Behind::Next {
                let mut behind = log.place;
                match log.next_event(&self.relay)? {
                    Some(event) => {
                        behind.at += event.bytes.len() as u64;
                        events.event(&event, behind)?;
                    }
                    None => self.rest(events, behind)?,
                }
            }
            last = number;
        }
    }

    /// There is nothing behind this place: what was read is applied, and more is waited for.
    fn rest(&self, events: &mut Events<'_>, place: Place) -> std::result::Result<(), Fault> {
        events.rest()?;
        if self.relay.is_asked() {
            events.settle()?;
            self.relay.settle(events.read());
        }
        if let Some(e) = events.failure() {
            return Err(Fault::Applying(e));
        }
        if self.relay.wait_behind(place) && !self.applier_is_stopping() { Ok(()) } else { Err(Fault::Stopped) }
    }

    /// CHANGE REPLICATION SOURCE TO. Errors 3021, 3081, 3085: what the options are about runs.
    pub(crate) fn change(&self, options: &[(Ident, ReplicationValue)]) -> Result<Notes> {
        let (runs, standing) = (self.running(), Source::standing(options));
        match standing {
            Threads::BOTH if Source::is_about_both(options) && !runs.is_none() => {
                return Err(sql_err!(ReplicaChannelMustStop, self.name));
            }
            Threads { receiver: true, .. } if runs.receiver => {
                return Err(sql_err!(ReplicaChannelIoThreadMustStop, self.name));
            }
            Threads { applier: true, .. } if runs.applier => {
                return Err(sql_err!(ReplicaChannelSqlThreadMustStop, self.name));
            }
            _ => {}
        }
        let net_timeout_s = net_timeout_s(&self.core);
        let former = self.source()?.unwrap_or_else(|| Source::default().with_heartbeat(net_timeout_s));
        let (source, places, mut notes) = former.clone().named(&self.name).changed(options, net_timeout_s)?;
        let Places { source: from, relay } = places;
        if self.core.binlog().is_none()
            && notes.iter().any(|e| e.code() == ErrorCode::UsingAssignGtidsToAnonymousTransactions)
        {
            return Err(sql_err!(AssignGtidsRequiresGtidModeOn));
        }
        if let Some(name) = source.checked.as_ref().filter(|name| former.checked.as_ref() != Some(name)) {
            match checked(self, name) {
                // That is granted before it starts.
                Err(e) if e.code() == ErrorCode::PrivilegeChecksUserNeedsRplApplierPriv => notes.push(e),
                outcome => drop(outcome?),
            }
        }
        // With GTIDs, what was received from another source is as good.
        let anew = from.is_some() && !source.auto_position || former.auto_position != source.auto_position;
        if anew && runs.applier {
            // Where it stands is kept with what is applied: another place is given while nothing is.
            return Err(sql_err!(ReplicaChannelSqlThreadMustStop, self.name));
        }
        let mut records = vec![(Kept::Source, Some(source.encode()))];
        let chosen = relay.map(|(file, at)| self.relay_place(file, at)).transpose()?;
        let place = match (&chosen, &from) {
            (Some((place, file, at)), _) => Some((file.clone(), *at, Some((self.relay.epoch(), *place)))),
            (None, Some((file, at))) if !runs.applier => Some((file.clone(), *at, self.position()?.relay)),
            _ => None,
        };
        if let Some((file, at, relay)) = place {
            // Which transactions were applied stays known.
            let position = Position { file, at, relay, preparing: None, ..self.position()? };
            records.push((Kept::Position, Some(position.encode())));
            if chosen.is_some() {
                self.status.lock().at(&position, 0);
            }
        }
        self.store(&records)?;
        match (chosen, from) {
            // What is there of the relay logs is applied, whoever is followed then.
            (Some((place, ..)), from) => {
                self.relay.go_to(place);
                from.iter().for_each(|(file, at)| self.relay.receive_from(file, *at));
            }
            (None, _) if anew => {
                self.discard();
                self.status.lock().forgets_place();
            }
            _ => {}
        }
        Ok(notes)
    }

    /// RELAY_LOG_FILE and RELAY_LOG_POS: the place in the relay logs, and where the source's log stands there. What is
    /// not given is as it is. Error 1380.
    fn relay_place(&self, file: Option<String>, at: Option<u64>) -> Result<(Place, String, u64)> {
        let wrong = |what: &str| sql_err!(RelayLogInit, what);
        let applied = self.relay.applied();
        let number = match file {
            Some(name) => self.relay.number_of(&name),
            None if applied.number == 0 => self.relay.file_behind(0),
            None => Some(applied.number),
        };
        let number = number.ok_or_else(|| wrong("Could not find target log during relay log initialization"))?;
        match Relayed::find(&self.relay, Place { number, at: at.unwrap_or(applied.at) }) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(wrong("No transaction begins at that position of the relay log")),
            Err(Fault::Source(e) | Fault::Refused(e) | Fault::Disk(e) | Fault::Applying(e)) => Err(e),
            Err(Fault::Stopped) => Err(sql_err!(QueryInterrupted)),
        }
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
    pub(crate) fn start(self: &Arc<Self>, threads: Threads, until: &Until, account: &Login) -> Result<Notes> {
        let source = self.source()?.filter(|s| !s.host.is_empty()).ok_or_else(|| sql_err!(BadReplica))?;
        if matches!((until, source.assigned), (Until::Before(_) | Until::After(_), Assigned::Uuid(_))) {
            return Err(sql_err!(CantSetSqlGtidsWithAnonymousToGtid));
        }
        let runs = self.running();
        let mut begins =
            Threads { receiver: threads.receiver && !runs.receiver, applier: threads.applier && !runs.applier };
        let mut notes = Notes::new();
        if *until != Until::Stopped && !begins.applier {
            notes.push(sql_err!(UntilCondIgnored));
        }
        if begins.is_none() {
            notes.push(sql_err!(ReplicaChannelWasRunning, self.name));
            return Ok(notes);
        }
        // A crash on the way must not lead beyond the end: the next start of the server does not go on.
        let applier = if begins.applier { *until == Until::Stopped } else { source.started.applier && runs.applier };
        let started = Threads { receiver: runs.receiver || begins.receiver, applier };
        self.store(&[(Kept::Source, Some(Source { started, ..source }.encode()))])?;
        if begins.receiver {
            *self.account.lock() = account.clone();
        }
        if begins.applier && self.relay.is_damaged() {
            // What they have is asked for again.
            begins.receiver |= runs.receiver;
            self.end(Threads::BOTH, None);
            self.discard();
        }
        self.begin(begins, until.clone());
        Ok(notes)
    }

    /// STOP REPLICA. Errors 1875, 1876 when a task has not ended after `rpl_stop_replica_timeout`; it does so later.
    pub(crate) fn stop(&self, threads: Threads) -> Result<Notes> {
        let runs = self.running();
        let seconds = self.core.globals.get(Live::RplStopReplicaTimeout).as_u64();
        let left = self.end(threads, Some(now_ns().saturating_add(seconds * 1_000_000_000)));
        if let Some(source) = self.source()? {
            let Threads { receiver, applier } = source.started;
            let started = Threads { receiver: receiver && !threads.receiver, applier: applier && !threads.applier };
            self.store(&[(Kept::Source, Some(Source { started, ..source }.encode()))])?;
        }
        if left.receiver {
            return Err(sql_err!(StopReplicaIoThreadTimeout));
        }
        if left.applier {
            return Err(sql_err!(StopReplicaSqlThreadTimeout));
        }
        let any = runs.receiver && threads.receiver || runs.applier && threads.applier;
        Ok(if any { Vec::new() } else { vec![sql_err!(ReplicaChannelWasNotRunning, self.name)] })
    }

    /// For SHOW RELAYLOG EVENTS.
    pub(crate) fn relay_logs(&self) -> Vec<RelayLog> {
        self.relay.shown()
    }

    fn relayed(&self, position: &Position) -> status::Relayed {
        let mut retrieved = position.applied.clone();
        retrieved.add_all(&self.relay.retrieved());
        let applied = self.relay.applied();
        status::Relayed {
            file: if applied.number == 0 { String::new() } else { self.relay.name(applied.number) },
            at: applied.at,
            space: self.relay.space(),
            caught_up: self.relay.is_caught_up(),
            retrieved,
        }
    }

    /// RESET REPLICA, of one that does not run; `all`: the source is forgotten too, and the filter is what every
    /// channel has.
    pub(crate) fn reset(&self, all: Option<&Filter>) -> Result<()> {
        self.end(Threads::BOTH, None);
        close_tables(self)?;
        *self.status.lock() = Status::default();
        self.discard();
        let Some(filter) = all else {
            let heartbeat =
                |source: Source| (Kept::Source, Some(source.with_heartbeat(net_timeout_s(&self.core)).encode()));
            let source = self.source()?.map(heartbeat);
            return self.store(&std::iter::once((Kept::Position, None)).chain(source).collect::<Vec<_>>());
        };
        self.store(&[(Kept::Position, None), (Kept::Source, None), (Kept::Filter, None)])?;
        *self.filter.lock() = Arc::new(filter.clone());
        Ok(())
    }

    /// Rows of a table: none without a source.
    pub(crate) fn rows(&self, of: Table) -> Vec<Row> {
        let source = self.source().ok().flatten().filter(|source| !source.host.is_empty());
        let rows = match (of, source) {
            (Table::GlobalFilters | Table::Failover, _) | (_, None) => Vec::new(),
            (Table::Filters, Some(_)) => self.filter().rows(),
            (Table::Workers, Some(_)) => self.status.lock().worker_rows(),
            (Table::WorkerInfo, Some(_)) => self.status.lock().worker_info(),
            (Table::Coordinator, Some(_)) => self.status.lock().coordinator(),
            (of, Some(source)) => {
                // What waits comes before the lock.
                let position = self.position().unwrap_or_default();
                let relayed = self.relayed(&position);
                vec![self.status.lock().table(of, &source, (&position, &relayed))]
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
        let relayed = self.relayed(&position);
        Some(self.status.lock().row((&self.name, &source), &position, (&executed, &relayed), &filter))
    }
}
