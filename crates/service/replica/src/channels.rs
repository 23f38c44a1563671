//! The channels of a server, and the statements about them.

use crate::channel::{Channel, record, store};
use crate::failover;
use crate::filter::Filter;
use crate::source::Source;
use crate::status::Status;
use crate::until::Until;
use gannet_base::sync::Mutex;
use gannet_core::Core;
use gannet_core::replication::{Candidate, Login, Notes, RelayLog, Replicas, Row, Table, Threads};
use gannet_core::vars::Live;
use gannet_engine::{Isolation, TxnOptions};
use gannet_exec::error::from_engine;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_session::Sessions;
use gannet_types::{Result, sql_err};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The record of what every channel leaves out.
const FILTER: &str = "filter";
/// So many at most, and so many characters in a name.
const MOST: usize = 256;
const LONGEST: usize = 64;
/// Names that group replication has.
const RESERVED: [&str; 2] = ["group_replication_applier", "group_replication_recovery"];

/// All of them by their names in lower case; the default one, whose name is empty, is always there.
pub(crate) struct Channels {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    list: Mutex<BTreeMap<String, Arc<Channel>>>,
}

impl Channels {
    /// Those that the dictionary has.
    pub(crate) fn open(core: &Arc<Core>, sessions: &Arc<Sessions>) -> Result<Arc<Channels>> {
        let all = global(core)?;
        let newest = TxnOptions { isolation: Isolation::ReadUncommitted, ..TxnOptions::default() };
        let mut txn = core.engine.try_begin(newest).map_err(from_engine)?;
        let records = core.catalog.replication().all(&mut txn).map_err(from_engine)?;
        txn.rollback().map_err(from_engine)?;
        let mut list = BTreeMap::new();
        let named = records.iter().filter_map(|(name, record)| Some((name.strip_prefix("source@")?, record)));
        for (key, source) in named {
            let name = Source::decode(source).channel;
            let name = if name.is_empty() { key } else { &name };
            list.insert(key.to_owned(), Channel::open((core, sessions), name, &all)?);
        }
        list.insert(String::new(), Channel::open((core, sessions), "", &all)?);
        let (core, sessions) = (core.clone(), sessions.clone());
        Ok(Arc::new(Channels { core, sessions, list: Mutex::new(list) }))
    }

    /// Goes on where START REPLICA was given.
    pub(crate) fn resume(&self) -> Result<()> {
        if self.core.globals.get(Live::SkipReplicaStart).as_bool() {
            return Ok(());
        }
        for channel in self.all() {
            let started = channel.source()?.map_or_else(Threads::default, |source| source.started);
            if !started.is_none() {
                channel.begin(started, Until::Stopped);
            }
        }
        Ok(())
    }

    /// Ends all tasks.
    pub(crate) fn end(&self) {
        for channel in self.all() {
            channel.end(Threads::BOTH, None);
        }
    }

    fn all(&self) -> Vec<Arc<Channel>> {
        self.list.lock().values().cloned().collect()
    }

    /// Those that a statement is about. Error 3074.
    fn named(&self, channel: Option<&str>) -> Result<Vec<Arc<Channel>>> {
        let Some(name) = channel else { return Ok(self.all()) };
        let found = self.list.lock().get(&name.to_lowercase()).cloned();
        found.map(|channel| vec![channel]).ok_or_else(|| sql_err!(ReplicaChannelDoesNotExist, name))
    }

    /// Those of [`Channels::named`] that have a source. Error 1200 when there is none.
    fn configured(&self, channel: Option<&str>) -> Result<Vec<Arc<Channel>>> {
        let mut found = self.named(channel)?;
        if channel.is_none() {
            let mut has = Vec::new();
            for channel in &found {
                has.push(channel.source()?.is_some_and(|source| !source.host.is_empty()));
            }
            let mut has = has.into_iter();
            found.retain(|_| has.next() == Some(true));
        }
        if found.is_empty() { Err(sql_err!(BadReplica)) } else { Ok(found) }
    }

    /// The channel of CHANGE REPLICATION SOURCE TO, made if it is not there. Errors 3076, 3079, 3080, 3139.
    fn made(&self, channel: Option<&str>) -> Result<Arc<Channel>> {
        let name = channel.unwrap_or_default();
        // Names are the same in any case, and shown in small letters.
        let key = name.to_lowercase();
        {
            let list = self.list.lock();
            if channel.is_none() && list.len() > 1 {
                return Err(sql_err!(ReplicaMultipleChannelsCmd));
            }
            if let Some(found) = list.get(&key) {
                return Ok(found.clone());
            }
            if list.len() >= MOST {
                return Err(sql_err!(ReplicaMaxChannelsExceeded));
            }
        }
        if RESERVED.contains(&key.as_str()) {
            return Err(sql_err!(
                ReplicaChannelOperationNotAllowed,
                "CHANGE REPLICATION SOURCE with the given parameters",
                name
            ));
        }
        if name.chars().count() > LONGEST || name.contains(['\0', '\n', '@']) || name.trim_matches(' ') != name {
            return Err(sql_err!(ReplicaChannelNameInvalidOrTooLong));
        }
        Channel::open((&self.core, &self.sessions), &key, &global(&self.core)?)
    }
}

/// What every channel leaves out.
fn global(core: &Core) -> Result<Filter> {
    Ok(record(core, FILTER)?.map_or_else(Filter::default, |record| Filter::decode(&record)))
}

impl Replicas for Channels {
    fn change(&self, channel: Option<&str>, options: &[(Ident, ReplicationValue)]) -> Result<Notes> {
        let made = self.made(channel)?;
        let notes = made.change(options)?;
        self.list.lock().entry(made.name.to_lowercase()).or_insert(made);
        Ok(notes)
    }

    fn beats_slower_than(&self, seconds: u64) -> bool {
        let slower = |source: Source| !source.host.is_empty() && source.heartbeat_ms > seconds * 1000;
        self.all().iter().any(|channel| channel.source().ok().flatten().is_some_and(slower))
    }

    fn change_filter(&self, channel: Option<&str>, rules: &[(Ident, Vec<Box<str>>)]) -> Result<()> {
        let channels = self.named(channel)?;
        if let Some(runs) = channels.iter().find(|c| c.running().applier) {
            return Err(sql_err!(ReplicaChannelSqlThreadMustStop, runs.name));
        }
        if channel.is_none() {
            let filter = global(&self.core)?.changed(rules, false)?;
            store(&self.core, &[(FILTER.into(), Some(filter.encode()))])?;
        }
        channels.iter().try_for_each(|it| it.change_filter(rules, channel.is_some()))
    }

    fn start(
        &self,
        channel: Option<&str>,
        threads: Threads,
        until: &[(Ident, ReplicationValue)],
        account: Login,
    ) -> Result<Notes> {
        let until = Until::parse(until)?;
        let own = account.user.is_some() || account.password.is_some() || account.plugin.is_some();
        if own && !threads.receiver {
            return Err(sql_err!(SqlThreadWithAccount));
        }
        if channel.is_none() && (own || until != Until::Stopped) && self.list.lock().len() > 1 {
            return Err(sql_err!(ReplicaMultipleChannelsCmd));
        }
        let mut notes = Notes::new();
        for channel in self.configured(channel)? {
            notes.extend(channel.start(threads, &until, &account)?);
        }
        Ok(notes)
    }

    fn stop(&self, channel: Option<&str>, threads: Threads) -> Result<Notes> {
        let mut notes = Notes::new();
        let channels = match channel {
            None => self.configured(None).or_else(|_| self.named(Some("")))?,
            some => self.named(some)?,
        };
        for channel in channels {
            notes.extend(channel.stop(threads)?);
        }
        Ok(notes)
    }

    fn reset(&self, channel: Option<&str>, all: bool) -> Result<()> {
        let channels = self.named(channel)?;
        if let Some(runs) = channels.iter().find(|c| c.is_running()) {
            return Err(sql_err!(ReplicaChannelMustStop, runs.name));
        }
        if all && channel.is_none() {
            store(&self.core, &[(FILTER.into(), None)])?;
        }
        let filter = global(&self.core)?;
        for channel in channels {
            if all && !channel.name.is_empty() {
                self.list.lock().remove(&channel.name.to_lowercase());
                channel.leave();
            }
            channel.reset(all.then_some(&filter))?;
        }
        Ok(())
    }

    fn acknowledges(&self) -> bool {
        self.all().iter().any(|channel| channel.status.lock().acknowledges())
    }

    fn status(&self, channel: Option<&str>) -> Result<(Row, Vec<Row>)> {
        Ok((Status::default_row(), self.named(channel)?.iter().filter_map(|channel| channel.shown()).collect()))
    }

    fn relay_logs(&self, channel: Option<&str>) -> Result<Vec<RelayLog>> {
        let channels = self.named(channel)?;
        match &channels[..] {
            [one] => Ok(one.relay_logs()),
            _ => Err(sql_err!(ReplicaMultipleChannelsCmd)),
        }
    }

    fn flush_relay_logs(&self, channel: Option<&str>) -> Result<()> {
        self.named(channel)?.iter().try_for_each(|channel| channel.flush_relay_logs())
    }

    fn wait_for_place(
        &self,
        channel: Option<&str>,
        (file, at): (&str, u64),
        deadline: Option<u64>,
    ) -> Result<Option<i64>> {
        if channel.is_none() && self.list.lock().len() > 1 {
            return Err(sql_err!(ReplicaMultipleChannelsCmd));
        }
        match self.named(channel.or(Some(""))) {
            Ok(found) => found.first().map_or(Ok(None), |channel| channel.wait_for_place(file, at, deadline)),
            Err(_) => Ok(None),
        }
    }

    fn open_tables(&self) -> u64 {
        self.all().iter().map(|channel| channel.status.lock().open_tables as u64).sum()
    }

    fn add_candidate(&self, candidate: &Candidate) -> Result<()> {
        failover::add(&self.core, candidate)
    }

    fn remove_candidate(&self, channel: &str, place: (&str, u16)) -> Result<bool> {
        failover::remove(&self.core, channel, place)
    }

    fn forget_candidates(&self) -> Result<()> {
        failover::forget(&self.core)
    }

    fn rows(&self, of: Table) -> Vec<Row> {
        match of {
            Table::GlobalFilters => global(&self.core).unwrap_or_default().rows(),
            Table::Failover => failover::rows(&self.core),
            of => self.all().iter().flat_map(|channel| channel.rows(of)).collect(),
        }
    }
}
