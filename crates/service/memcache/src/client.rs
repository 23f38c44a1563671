//! What a connection has beside its bytes: whose rights, which container, a unit of work. Each command is a
//! transaction.

use crate::Shared;
use crate::config::{Config, Mapping, Policy};
use crate::container::{Columns, Container, Facts, OWN_CAS};
use crate::reads::Known;
use gannet_core::accounts::{Account, Privilege, Privileges};
use gannet_core::work::{Mode, Terms, Work};
use gannet_engine::{Isolation, Lsn, RowBuf};
use gannet_exec::error::from_engine;
use gannet_exec::kv::{Become, KeyValueTable, NewRow, StoredRow};
use gannet_exec::spill::{Held, SessionSpace};
use gannet_runtime::WallTime;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, TimeZone, sql_err};
use std::sync::Arc;

/// How often a command is tried again when its table's definition has changed.
const MOST_TRIES: u32 = 10;

pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    /// Number of the connection.
    thread: u64,
    /// Who has logged in; `None`: nobody need.
    pub(crate) account: Option<Arc<Account>>,
    work: Option<Work>,
    /// The container's definition; `None`: the default one.
    mapping: Option<Mapping>,
    container: Option<Container>,
    /// The tables of `innodb_memcache` as they were, and when, microseconds since 1970.
    config: Option<(u64, Arc<Config>)>,
    scratch: Scratch,
    /// The newest commit that is not known to be durable.
    pub(crate) pending: Lsn,
    /// The newest commit that was told before it was durable.
    told: Lsn,
    pub(crate) now: Now,
    /// Where memory is taken from.
    space: Arc<SessionSpace>,
    /// Memory of a long answer. `None`: the command that makes one has it.
    room: Option<Room>,
}

/// Memory that answers take beyond what each command may have.
pub(crate) struct Room(Held);

impl Room {
    /// Bytes of an answer that are not accounted for.
    const FREE: usize = 1 << 20;

    /// The answer has so many bytes now. Error 1041: there is no memory for more.
    #[inline]
    pub(crate) fn answer(&mut self, bytes: usize) -> Result<()> {
        let held = self.0.bytes();
        if bytes <= held.max(Room::FREE) || self.0.take((bytes - held).max(Room::FREE), usize::MAX) {
            return Ok(());
        }
        Err(sql_err!(OutOfResources))
    }
}

/// Where a key leads: `@@name` names a container, `@@name.key` a key in one.
pub(crate) enum Route<'k> {
    /// A key of the container of the connection, which may have become another one.
    Key(&'k [u8]),
    /// The connection has another container now: its schema and table.
    Switched(String),
}

/// When the turn began that is served.
#[derive(Clone, Copy, Default)]
pub(crate) struct Now {
    pub(crate) us: u64,
}

impl Now {
    pub(crate) fn s(self) -> i64 {
        (self.us / 1_000_000) as i64
    }

    /// A client's expiry as seconds since 1970: relative up to 30 days, 0 never, negative at once.
    pub(crate) fn expiry(self, given: i32) -> i64 {
        const MOST_RELATIVE: i32 = 60 * 60 * 24 * 30;
        match given {
            0 => 0,
            i32::MIN..0 => 1,
            1..=MOST_RELATIVE => self.s() + i64::from(given),
            _ => given.into(),
        }
    }
}

/// Buffers that live from command to command.
#[derive(Default)]
pub(crate) struct Scratch {
    key: Vec<u8>,
    row: RowBuf,
    new: NewRow,
}

/// A row as a command finds it.
#[derive(Clone, Copy)]
pub(crate) struct Old<'r> {
    /// The row, though its item may have expired.
    pub(crate) row: Option<StoredRow<'r>>,
    /// Its item.
    pub(crate) live: Option<(StoredRow<'r>, Facts)>,
}

/// What a command makes a row with.
pub(crate) struct Making<'m> {
    pub(crate) rows: &'m KeyValueTable,
    pub(crate) columns: &'m Columns,
    pub(crate) new: &'m mut NewRow,
    key: &'m [u8],
    now: Now,
}

impl Making<'_> {
    /// A whole item in the place of what was there; `own`: with this cas number.
    pub(crate) fn item(&mut self, old: Old<'_>, value: &[u8], (facts, own): (Facts, Option<u64>)) -> Result<Become> {
        if old.row.is_none() {
            self.columns.give_key(self.rows, self.new, self.key, &TimeZone::UTC)?;
        }
        let state = if own.is_some() { facts.state | OWN_CAS } else { facts.state };
        self.columns.give_facts(self.rows, self.new, Facts { state, ..facts }, &TimeZone::UTC)?;
        self.columns.give_value(self.rows, self.new, value, &TimeZone::UTC)?;
        self.columns.renew(self.rows, self.new, (old.row, own), (self.now.us, &TimeZone::UTC))?;
        Ok(Become::Written)
    }

    /// Another value for an item, which is not stale any more where it was renewed by that.
    pub(crate) fn value(&mut self, old: Old<'_>, value: &[u8], facts: Facts) -> Result<Become> {
        self.columns.give_value(self.rows, self.new, value, &TimeZone::UTC)?;
        self.renewed(old, facts)
    }

    /// The value stays, and counts as changed.
    pub(crate) fn renewed(&mut self, old: Old<'_>, facts: Facts) -> Result<Become> {
        let facts = Facts { state: facts.state & !OWN_CAS, ..facts };
        self.columns.give_facts(self.rows, self.new, facts, &TimeZone::UTC)?;
        self.columns.renew(self.rows, self.new, (old.row, None), (self.now.us, &TimeZone::UTC))?;
        Ok(Become::Written)
    }

    /// Other facts, and nothing else.
    pub(crate) fn facts(&mut self, facts: Facts) -> Result<Become> {
        self.columns.give_facts(self.rows, self.new, facts, &TimeZone::UTC)?;
        Ok(Become::Written)
    }
}

/// Rows that one transaction looks at to delete them.
pub(crate) const UNIT: usize = 256;

/// Deletes the next rows behind a key: all that are committed.
pub(crate) fn remove_unit(
    work: &mut Work,
    rows: &KeyValueTable,
    after: &[u8],
    least: Lsn,
) -> Result<(u64, Option<Vec<u8>>)> {
    let mut writer = work.writer()?;
    gannet_engine::snapshot_of_committed(writer.txn, least).map_err(from_engine)?;
    rows.remove_some(&mut writer, (after, UNIT), |_| Ok(true))
}

fn flush_needs() -> Privileges {
    Privileges::of(&[Privilege::Select, Privilege::Delete])
}

/// What changes need.
pub(crate) fn for_write() -> Privileges {
    Privileges::of(&[Privilege::Select, Privilege::Insert, Privilege::Update])
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, thread: u64, space: Arc<SessionSpace>) -> Client {
        Client {
            shared,
            thread,
            account: None,
            work: None,
            mapping: None,
            container: None,
            config: None,
            scratch: Scratch::default(),
            pending: Lsn::ZERO,
            told: Lsn::ZERO,
            now: Now::default(),
            space,
            room: None,
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&mut self) {
        self.now = Now { us: WallTime::now().micros() };
        // The answers before are sent.
        if let Some(Room(held)) = &mut self.room {
            held.give(held.bytes());
        }
    }

    /// The memory of answers, to be given back.
    pub(crate) fn take_room(&mut self) -> Room {
        self.room.take().unwrap_or_else(|| Room(Held::new(self.space.clone())))
    }

    pub(crate) fn give_room(&mut self, room: Room) {
        self.room = Some(room);
    }

    /// Memory that long values took goes.
    pub(crate) fn end_turn(&mut self) {
        const KEPT: usize = 64 << 10;
        self.scratch.new.shrink(KEPT);
        if self.scratch.row.row().len() > KEPT {
            self.scratch.row = RowBuf::new();
        }
    }

    /// What the tables say, or said a moment ago.
    fn fresh_config(&mut self) -> Result<Arc<Config>> {
        const FRESH_US: u64 = 1_000_000;
        if let Some((read_us, config)) = &self.config
            && self.now.us < read_us + FRESH_US
        {
            return Ok(config.clone());
        }
        let config = self.shared.config()?;
        self.config = Some((self.now.us, config.clone()));
        Ok(config)
    }

    fn open_work(&mut self) -> Result<()> {
        if self.work.is_some() {
            return Ok(());
        }
        let core = &self.shared.core;
        let account = match &self.account {
            Some(account) => account.clone(),
            None => self.shared.nobody()?,
        };
        let mut work = Work::begin(core, &account, self.thread);
        let terms = Terms { autocommit: true, isolation: Isolation::ReadCommitted, ..*work.terms() };
        work.set_terms(terms);
        self.work = Some(work);
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        if self.container.is_some() {
            return Ok(());
        }
        // The tables are made where they are not, the account among them.
        let config = self.fresh_config()?;
        self.open_work()?;
        let Some(work) = &self.work else { return Err(SqlError::internal("no unit of work")) };
        let mapping = match &self.mapping {
            // Its row may be another one now.
            Some(mapping) => config.find(&mapping.name).unwrap_or(mapping),
            None => {
                config.default().ok_or_else(|| SqlError::unsupported("innodb_memcache.containers without a row"))?
            }
        };
        self.container = Some(Container::open(work, mapping, config.separator)?);
        self.mapping = Some(mapping.clone());
        Ok(())
    }

    /// Changes are answered when they are durable.
    pub(crate) fn is_durable(&self) -> bool {
        let own = self.mapping.as_ref().and_then(|mapping| mapping.durable);
        own.unwrap_or_else(|| self.shared.settings.durable())
    }

    /// Where a key leads. A key that begins with `@@` makes the connection use another container.
    pub(crate) fn route<'k>(&mut self, key: &'k [u8]) -> Result<Route<'k>> {
        let Some(path) = key.strip_prefix(b"@@") else { return Ok(Route::Key(key)) };
        let config = self.fresh_config()?;
        let unknown = || SqlError::unsupported(format_args!("no container {}", String::from_utf8_lossy(path)));
        let split = |path: &'k [u8]| match memchr::memchr(config.delimiter, path) {
            Some(at) => (&path[..at], Some(&path[at + 1..])),
            None => (path, None),
        };
        let text = |name: &'k [u8]| std::str::from_utf8(name).map_err(|_| unknown());
        let (first, behind) = split(path);
        let (mapping, rest) = match (config.find(text(first)?), behind) {
            (Some(mapping), rest) => (mapping.clone(), rest),
            (None, Some(behind)) => {
                let (table, rest) = split(behind);
                (Mapping::of_table(text(first)?, text(table)?), rest)
            }
            (None, None) => return Err(unknown()),
        };
        if self.mapping.as_ref() != Some(&mapping) || self.container.is_none() {
            let before = self.mapping.replace(mapping);
            self.container = None;
            if let Err(e) = self.open() {
                self.mapping = before;
                return Err(e);
            }
        }
        match (rest, &self.mapping) {
            (Some(key), _) => Ok(Route::Key(key)),
            (None, Some(mapping)) => Ok(Route::Switched(format!("{}/{}", mapping.schema, mapping.table))),
            (None, None) => Err(unknown()),
        }
    }

    /// Error 1235 for what the policies do not allow.
    pub(crate) fn allow(&mut self, what: Policy) -> Result<()> {
        // The container need not be there: the command may name another one.
        if self.config.is_none() {
            self.fresh_config()?;
        }
        self.config.as_ref().map_or(Ok(()), |(_, config)| config.policies.allow(what))
    }

    /// The table and its trees, for figures.
    pub(crate) fn table(&mut self) -> Result<Arc<gannet_schema::Table>> {
        self.open()?;
        self.container.as_ref().map(|c| c.table.table().clone()).ok_or_else(|| SqlError::internal("no container"))
    }

    /// Deletes all items, in several transactions.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let needs = flush_needs();
        let mut after = Vec::new();
        loop {
            let least = self.pending.max(self.told);
            let step = self.run((Mode::Write, needs), |work, rows, _, _| remove_unit(work, rows, &after, least));
            match step?.1 {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    /// The same at another time: the container, when the account may.
    pub(crate) fn flush_later(&mut self, seconds: i64) -> Result<()> {
        self.run((Mode::Read, flush_needs()), |_, _, _, _| Ok(()))?;
        let Some(mapping) = &self.mapping else { return Err(SqlError::internal("no container")) };
        self.shared.flush_at(mapping.clone(), self.now.us + seconds as u64 * 1_000_000);
        Ok(())
    }

    /// Runs a command on the container: a transaction by itself. A write is left to wait for the log.
    pub(crate) fn run<T>(
        &mut self,
        (mode, needs): (Mode, Privileges),
        mut f: impl FnMut(&mut Work, &KeyValueTable, &Columns, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let mut tries = 1;
        loop {
            self.open()?;
            let (Some(work), Some(container)) = (&mut self.work, &mut self.container) else {
                return Err(SqlError::internal("no container"));
            };
            work.leave_waiting(mode == Mode::Write);
            let Container { table, columns, .. } = container;
            let scratch = &mut self.scratch;
            let outcome = table.once(work, (mode, needs), |work, rows| f(work, rows, columns, scratch));
            let committed = work.unsynced().unwrap_or_default();
            if !committed.is_zero() {
                let kept = if self.is_durable() { &mut self.pending } else { &mut self.told };
                *kept = committed.max(*kept);
            }
            match outcome {
                Err(e) if e.code() == ErrorCode::NeedReprepare && tries < MOST_TRIES => {
                    self.container = None;
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Reads items: `found` gets those that are there, in the order of the keys, as of one moment.
    pub(crate) fn read<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        mut found: impl FnMut(&'k [u8], Option<(&Columns, StoredRow<'_>, Facts)>) -> Result<()>,
    ) -> Result<()> {
        let (now_s, mut pending) = (self.now.s(), self.pending);
        self.open()?;
        let told = (!self.is_durable()).then_some(self.told);
        let outcome = self.run((Mode::Read, Privilege::Select.into()), |work, rows, columns, scratch| {
            let txn = work.txn_mut();
            if !pending.is_zero() || told.is_some() {
                // What was written before it is durable is read. What this turn has written is told when it is durable,
                // and with it all that is read behind it.
                let least = pending.max(told.unwrap_or_default());
                let at = gannet_engine::snapshot_of_committed(txn, least).map_err(from_engine)?;
                if !pending.is_zero() {
                    pending = pending.max(at);
                }
            }
            for key in keys.clone() {
                found(key, find(txn, rows, columns, key, now_s, scratch)?)?;
            }
            Ok(())
        });
        self.pending = pending.max(self.pending);
        outcome
    }

    /// Decides what becomes of an item. It may be asked several times; what it says last counts.
    pub(crate) fn alter<T>(
        &mut self,
        key: &[u8],
        needs: Privileges,
        mut decide: impl FnMut(Old<'_>, &mut Making<'_>) -> Result<(Become, T)>,
    ) -> Result<T> {
        let now = self.now;
        self.run((Mode::Write, needs), |work, rows, columns, scratch| {
            let Scratch { key: row_key, row, new } = scratch;
            row_key.clear();
            if let Err(e) = rows.key_of_one(key, &TimeZone::UTC, row_key) {
                // No row has such a key.
                let mut making = Making { rows, columns, new, key, now };
                let (verdict, outcome) = decide(Old { row: None, live: None }, &mut making)?;
                return if verdict == Become::Same { Ok(outcome) } else { Err(e) };
            }
            let mut writer = work.writer()?;
            rows.alter(&mut writer, row_key, (new, row), (&columns.defaults, &TimeZone::UTC), |row, new| {
                let mut making = Making { rows, columns, new, key, now };
                let Some(row) = row else { return decide(Old { row: None, live: None }, &mut making) };
                if !columns.is_of(row, key)? {
                    // The key's collation takes another one for it.
                    let (verdict, outcome) = decide(Old { row: None, live: None }, &mut making)?;
                    return if verdict == Become::Same { Ok((verdict, outcome)) } else { Err(sql_err!(DupKey)) };
                }
                let facts = columns.facts(row)?;
                let live = (!facts.is_expired(now.s())).then_some((row, facts));
                decide(Old { row: Some(row), live }, &mut making)
            })
        })
    }

    /// What is known of the reads of an item.
    pub(crate) fn known(&mut self, key: &[u8]) -> Result<Known> {
        self.open()?;
        Ok(self.shared.reads.ask(self.table_id(), key, self.now.s()).unwrap_or_default())
    }

    /// Reads have to be noted.
    #[inline]
    pub(crate) fn notes_reads(&self) -> bool {
        self.shared.reads.are_wanted(self.now.s())
    }

    /// An item was read.
    #[inline]
    pub(crate) fn note_read(&self, key: &[u8]) {
        self.note(key, true);
    }

    /// An item was set anew.
    #[inline]
    pub(crate) fn note_set(&self, key: &[u8]) {
        self.note(key, false);
    }

    #[inline]
    fn note(&self, key: &[u8], hit: bool) {
        let at_s = self.now.s();
        if self.shared.reads.are_wanted(at_s) {
            self.shared.reads.note(self.table_id(), key, Known { hit, at_s });
        }
    }

    fn table_id(&self) -> u64 {
        self.container.as_ref().map_or(0, |container| container.table.table().id.0)
    }

    /// The cas number of the row that the last change wrote.
    pub(crate) fn written_token(&self) -> Result<u64> {
        let Some(Container { table, columns }) = &self.container else { return Ok(0) };
        let row = self.scratch.new.written(table.table());
        columns.token(row, columns.facts(row)?)
    }

    /// Waits until all is durable that was promised. After an error nothing may be told.
    pub(crate) fn wait(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_zero() {
            return Ok(());
        }
        gannet_engine::wait_commit(&self.shared.core.engine, pending).map_err(from_engine)
    }

    /// Whether that is so; `false`: not yet, and `waker` is used when it is time to ask again.
    pub(crate) fn poll(&mut self, waker: &gannet_runtime::Waker) -> Result<bool> {
        let durable = self.work.as_ref().map_or(Ok(true), |work| work.poll(self.pending, waker));
        if !matches!(durable, Ok(false)) {
            self.pending = Lsn::ZERO;
        }
        durable
    }
}

fn find<'r>(
    txn: &mut gannet_engine::Txn,
    rows: &'r KeyValueTable,
    columns: &'r Columns,
    key: &[u8],
    now_s: i64,
    scratch: &'r mut Scratch,
) -> Result<Option<(&'r Columns, StoredRow<'r>, Facts)>> {
    scratch.key.clear();
    if rows.key_of_one(key, &TimeZone::UTC, &mut scratch.key).is_err() {
        // No row has such a key.
        return Ok(None);
    }
    if !rows.read(txn, &scratch.key, gannet_engine::ReadMode::Snapshot, &mut scratch.row)? {
        return Ok(None);
    }
    let row = rows.stored(&scratch.row);
    if !columns.is_of(row, key)? {
        return Ok(None);
    }
    let facts = columns.facts(row)?;
    if facts.is_expired(now_s) {
        count(Counter::MemcachedGetExpired);
        return Ok(None);
    }
    Ok(Some((columns, row, facts)))
}
