//! Events become transactions. One that a rule of the log's grammar does not allow ends the replica.

use super::Fault;
use super::channel::{Channel, Kept};
use super::filter::Filter;
use super::relay::Place as RelayPlace;
use super::relayed::Head;
use super::source::{Assigned, Position, behind};
use super::status::Transaction;
use super::until::Until;
use super::workers::{Job, Piece, Workers};
use gannet_base::DecodeError;
use gannet_binlog::beside::{self, Beside, LoadQuery};
use gannet_binlog::compressed;
use gannet_binlog::event::{Event, flags, kind};
use gannet_binlog::format::{FormatDescription, Gtid, MariadbGtid, Rotate, XaPrepare};
use gannet_binlog::map::TableMap;
use gannet_binlog::packed::Packed;
use gannet_binlog::query::{Query, Settings};
use gannet_binlog::{Checksum, Header};
use gannet_catalog::Position as Record;
use gannet_core::binlog::OwnGtid;
use gannet_core::vars::Live;
use gannet_core::xa::Branch;
use gannet_exec::spill::TempFile;
use gannet_runtime::{Unpark, WallTime, sleep};
use gannet_session::follow::{Follower, OpenTables};
use gannet_types::gtid::Source as GtidSource;
use gannet_types::{SqlError, sql_err};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Between transactions, or in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Between,
    /// Behind the GTID.
    Begun,
    /// Behind BEGIN.
    Inside,
}

/// Applies events as they come.
pub(crate) struct Events<'s> {
    shared: &'s Channel,
    /// Transactions of rows are handed on to them.
    workers: Option<Workers>,
    /// The transaction that is gathered for one.
    gathered: Option<Gathered>,
    /// When it was committed, and where.
    transaction: Transaction,
    /// The record of where it stands.
    record: Arc<str>,
    own_id: u32,
    follower: Follower,
    /// Its temporary tables, as the status has them.
    open_tables: usize,
    position: Position,
    /// Which relay logs they are in, the place behind the event that is applied, and that behind the last transaction
    /// that was read.
    epoch: u64,
    next: RelayPlace,
    read: RelayPlace,
    place: Place,
    gtid: Option<OwnGtid>,
    /// The transaction is executed already.
    skips: bool,
    choice: Choice,
    /// The number of the last GTID that a transaction without one got; 0: none did.
    last_assigned: u64,
    /// Numbers of tables whose rows are left out.
    left_out: HashSet<u64>,
    /// Files of LOAD DATA, by the numbers that the log has for them.
    files: HashMap<u32, Arc<TempFile>>,
}

/// The beginning of a transaction of rows.
#[derive(Default)]
struct Gathered {
    pieces: Vec<Piece>,
    bytes: usize,
}

/// A larger transaction is applied as it is read.
const MOST_GATHERED: usize = 8 << 20;

/// What is applied, when, and how far.
pub(crate) struct Choice {
    pub(crate) filter: Arc<Filter>,
    /// Servers whose transactions are passed over.
    pub(crate) ignored: Vec<u32>,
    /// Seconds from a commit at the source on.
    pub(crate) delay_s: u64,
    pub(crate) until: Until,
    /// The GTIDs of transactions without one.
    pub(crate) assigned: Assigned,
}

fn damaged(e: DecodeError) -> Fault {
    Fault::Applying(sql_err!(RelayLogReadFailure, e))
}

/// A statement that no setting matters to.
fn plain(text: &[u8]) -> Query<'_> {
    Query { thread_id: 0, seconds: 0, error: 0, schema: b"", settings: Settings::default(), text }
}

impl<'s> Events<'s> {
    pub(crate) fn new(
        shared: &'s Channel,
        (follower, workers): (Follower, Option<Workers>),
        position: Position,
        choice: Choice,
    ) -> Events<'s> {
        Events {
            workers,
            gathered: None,
            transaction: Transaction::default(),
            choice,
            last_assigned: 0,
            left_out: HashSet::new(),
            files: HashMap::new(),
            record: shared.name_of(Kept::Position),
            own_id: shared.core.globals.get(Live::ServerId).as_u64() as u32,
            shared,
            follower,
            open_tables: 0,
            position,
            epoch: shared.relay.epoch(),
            next: RelayPlace::default(),
            read: RelayPlace::default(),
            place: Place::Between,
            gtid: None,
            skips: false,
        }
    }

    /// What was applied is durable.
    pub(crate) fn settle(&mut self) -> Result<(), Fault> {
        if let Some(workers) = &self.workers {
            workers.settle()?;
        }
        Ok(self.follower.settle()?)
    }

    /// There is no more for now: what was read is applied, or workers are at it.
    pub(crate) fn rest(&mut self) -> Result<(), Fault> {
        if self.workers.is_none() { self.settle() } else { Ok(()) }
    }

    /// A relay log begins. What the one before ended with and has no end comes again.
    pub(crate) fn enter(&mut self, head: &Head, place: RelayPlace) -> Result<(), Fault> {
        if self.place != Place::Between {
            self.gathered = None;
            self.follower.rollback()?;
            (self.place, self.gtid, self.skips) = (Place::Between, None, false);
        }
        self.alone()?;
        (self.position.file, self.position.at) = (head.file.clone(), head.at);
        self.read = place;
        self.shared.status.lock().at(&self.position, 0);
        self.shared.relay.pass(place);
        // The connections that had temporary tables are gone.
        if FormatDescription::decode(&head.described).is_ok_and(|described| described.created != 0) {
            self.follower.drop_tables();
            self.count_tables();
        }
        self.describe(head)
    }

    /// Goes on within a relay log.
    pub(crate) fn resume(&mut self, head: &Head, place: RelayPlace) -> Result<(), Fault> {
        self.read = place;
        if self.position.file.is_empty() {
            self.position.file.clone_from(&head.file);
        }
        self.shared.relay.pass(place);
        self.describe(head)
    }

    /// The format of the source's events.
    fn describe(&mut self, head: &Head) -> Result<(), Fault> {
        Ok(self.follower.describe(&head.described)?)
    }

    /// Behind the last transaction in the relay logs that was read, if none is under way.
    pub(crate) fn read(&self) -> RelayPlace {
        self.read
    }

    /// Goes on with temporary tables of before.
    pub(crate) fn enter_tables(&mut self, left: OpenTables) {
        self.follower.enter_tables(left);
        self.count_tables();
    }

    /// Those that stay.
    pub(crate) fn leave_tables(&mut self) -> OpenTables {
        let left = self.follower.leave_tables();
        self.shared.status.lock().open_tables = left.count();
        left
    }

    fn count_tables(&mut self) {
        let count = self.follower.open_tables();
        if std::mem::replace(&mut self.open_tables, count) != count {
            self.shared.status.lock().open_tables = count;
        }
    }

    /// The error of a worker.
    pub(crate) fn failure(&self) -> Option<SqlError> {
        self.workers.as_ref().and_then(Workers::failure)
    }

    /// What is applied here, and not by a worker: when all before it has committed.
    fn alone(&mut self) -> Result<&mut Follower, Fault> {
        if let Some(workers) = &self.workers {
            workers.drain()?;
        }
        Ok(&mut self.follower)
    }

    /// The transaction that is gathered is no matter for a worker: it is applied here.
    fn take_back(&mut self) -> Result<(), Fault> {
        let Some(gathered) = self.gathered.take() else { return Ok(()) };
        if self.skips {
            return Ok(());
        }
        let (gtid, inside) = (self.gtid, self.place == Place::Inside);
        let transaction = std::mem::take(&mut self.transaction);
        let follower = self.alone()?;
        let begun = transaction.applies(follower.begin(gtid, transaction.first())?)?;
        if begun && inside {
            follower.start()?;
            gathered.pieces.iter().try_for_each(|piece| piece.apply(follower))?;
        }
        self.skips = !begun;
        self.shared.status.lock().begins(0, &transaction);
        Ok(())
    }

    /// An event, and the place behind it in the relay logs.
    pub(crate) fn event(&mut self, event: &Event<'_>, place: RelayPlace) -> Result<(), Fault> {
        self.next = place;
        let outcome = self.apply(event);
        if outcome.is_err() && self.place != Place::Between {
            // What is not committed is read again.
            let _undone = self.follower.rollback();
        }
        outcome
    }

    fn apply(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let (header, body) = (event.header, event.body);
        match header.kind {
            kind::ROTATE => {
                let to = Rotate::decode(body).map_err(damaged)?;
                self.position.file = String::from_utf8_lossy(to.file).into_owned();
                self.position.at = to.position;
                self.alone()?;
                self.shared.status.lock().at(&self.position, header.timestamp);
                self.read = self.next;
                self.shared.relay.pass(self.next);
            }
            kind::GTID => {
                let mut transaction = Transaction::of(&Gtid::named(body).map_err(damaged)?);
                self.begin(&header, &mut transaction)?;
                self.shared.status.lock().processes(&transaction, self.gathered.is_none(), header.timestamp);
                self.transaction = transaction;
            }
            kind::ANONYMOUS_GTID => {
                let gtid = Gtid::decode(body).map_err(damaged)?;
                let mut transaction = Transaction { gtid: None, ..Transaction::of(&gtid) };
                self.begin(&header, &mut transaction)?;
                self.transaction = transaction;
            }
            kind::MARIADB_GTID => self.begin_mariadb(&header, body)?,
            kind::QUERY => self.query(&header, body)?,
            kind::XID => self.end(&header)?,
            kind::XA_PREPARE => self.prepare(&header, body)?,
            kind::TRANSACTION_PAYLOAD => self.packed(&header, body)?,
            kind::MARIADB_QUERY_COMPRESSED..=kind::MARIADB_DELETE_ROWS_COMPRESSED => {
                if self.skips && header.kind != kind::MARIADB_QUERY_COMPRESSED {
                    return Ok(());
                }
                if let Some((kind, body)) = compressed::plain(header.kind, body).map_err(damaged)? {
                    return self.apply(&Event { header: Header { kind, ..header }, body: &body, ..*event });
                }
            }
            kind::TABLE_MAP => self.rows(&header, body)?,
            rows if kind::is_rows(rows) => self.rows(&header, body)?,
            kind::STOP
            | kind::PREVIOUS_GTIDS
            | kind::ROWS_QUERY
            | kind::IGNORABLE
            | kind::MARIADB_ANNOTATE_ROWS
            | kind::MARIADB_BINLOG_CHECKPOINT
            | kind::MARIADB_GTID_LIST => {}
            kind::USER_VAR if gannet_binlog::event::stands_for_another(body) => {}
            kind::INTVAR => self.bring(Beside::integer(body))?,
            kind::RAND => self.bring(Beside::seeds(body))?,
            kind::USER_VAR => self.bring(Beside::variable(body))?,
            kind::BEGIN_LOAD_QUERY => self.file(body, true)?,
            kind::APPEND_BLOCK => self.file(body, false)?,
            kind::DELETE_FILE => self.files.clear(),
            kind::EXECUTE_LOAD_QUERY => self.load(&header, body)?,
            _ if header.flags & flags::IGNORABLE != 0 => {}
            other if kind::name(other) == kind::UNKNOWN => {
                return Err(Fault::Applying(sql_err!(RelayLogReadFailure, format_args!("an event of kind {other}"))));
            }
            other => {
                let name = kind::name(other);
                let what = format!("an event of kind {other} ({name}), which this replica does not apply");
                return Err(Fault::Applying(sql_err!(ReplicaFatalError, what)));
            }
        }
        Ok(())
    }

    fn begin(&mut self, header: &Header, transaction: &mut Transaction) -> Result<(), Fault> {
        let gtid = transaction.gtid;
        if self.place != Place::Between {
            return Err(Fault::Applying(sql_err!(RelayLogReadFailure, "a transaction in another one")));
        }
        if gtid.is_some_and(|gtid| self.choice.until.is_before(gtid)) {
            return Err(Fault::Stopped);
        }
        self.wait_for(header, transaction.immediate_us)?;
        let known = |(uuid, n): &OwnGtid| self.position.applied.contains(&GtidSource::from(*uuid), *n);
        self.skips = self.ignores(header, gtid) || gtid.as_ref().is_some_and(known);
        self.assign(transaction)?;
        let gtid = transaction.gtid;
        // One of this server's own that comes back waits for its log, and so would others behind it.
        let own = |(uuid, _): OwnGtid| self.shared.core.binlog().is_some_and(|log| log.uuid() == uuid);
        if self.workers.is_some() && !gtid.is_some_and(own) {
            self.gathered = Some(Gathered::default());
        } else if !self.skips {
            self.skips = !transaction.applies(self.alone()?.begin(gtid, transaction.first())?)?;
        }
        (self.gtid, self.place) = (gtid, Place::Begun);
        Ok(())
    }

    /// A transaction of a MariaDB begins. Its GTID takes the place of BEGIN or XA START, and is not kept.
    fn begin_mariadb(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        let gtid = MariadbGtid::decode(body).map_err(damaged)?;
        let mut transaction = Transaction::default();
        self.begin(header, &mut transaction)?;
        self.transaction = transaction;
        if gtid.standalone {
            return Ok(());
        }
        if let Some((format, gtrid, bqual)) = gtid.prepares {
            self.take_back()?;
            self.place = Place::Inside;
            if self.skips {
                return Ok(());
            }
            let text = format!("XA START {}", gannet_binlog::show::xid_text(gtrid, bqual, format));
            return Ok(self.follower.query(&plain(text.as_bytes()), header.timestamp, None)?);
        }
        self.place = Place::Inside;
        if self.skips || self.gathered.is_some() { Ok(()) } else { Ok(self.follower.start()?) }
    }

    /// A transaction of a server that is not listened to, or one of this server that has come back to it, which only
    /// GTIDs would tell.
    fn ignores(&self, header: &Header, gtid: Option<OwnGtid>) -> bool {
        self.choice.ignored.contains(&header.server_id) || gtid.is_none() && header.server_id == self.own_id
    }

    /// One without a GTID begins.
    fn begin_unnamed(&mut self, header: &Header) -> Result<(), Fault> {
        self.wait_for(header, 0)?;
        self.skips = self.ignores(header, None);
        let mut transaction = Transaction::default();
        self.assign(&mut transaction)?;
        self.gtid = transaction.gtid;
        self.gathered = self.workers.is_some().then(Gathered::default);
        if !self.skips && self.gathered.is_none() {
            transaction.applies(self.follower.begin(self.gtid, transaction.first())?)?;
        }
        self.transaction = transaction;
        Ok(())
    }

    /// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS: the GTID of a transaction that its source gave none; none where this
    /// server's log gives it one of its own. Error 1782 where there may be none such.
    fn assign(&mut self, transaction: &mut Transaction) -> Result<(), Fault> {
        let Some(log) = self.shared.core.binlog().filter(|_| transaction.gtid.is_none() && !self.skips) else {
            return Ok(());
        };
        let uuid = match self.choice.assigned {
            Assigned::Off => return Err(Fault::Applying(sql_err!(CantSetGtidNextToAnonymousWhenGtidModeIsOn))),
            Assigned::Uuid(uuid) if uuid != log.uuid() => uuid,
            _ => return Ok(()),
        };
        if self.last_assigned == 0 {
            let executed = log.all_executed(&self.shared.core.engine)?;
            let source = GtidSource::from(uuid);
            let intervals = executed.iter().find(|(of, _)| **of == source).map(|(_, intervals)| intervals);
            self.last_assigned = intervals.and_then(|list| list.last()).map_or(0, |last| last.end - 1);
        }
        self.last_assigned += 1;
        (transaction.gtid, transaction.assigned) = (Some((uuid, self.last_assigned)), true);
        Ok(())
    }

    /// A transaction begins with this event, behind what the source has left out as executed, or what is no
    /// transaction's: where it begins is told. Of an event without its checksum that is somewhat behind.
    fn pass_gap(&mut self, header: &Header) -> Result<(), Fault> {
        let begin = behind(self.position.at, header.end_position).saturating_sub(header.size.into());
        if header.end_position == 0 || begin <= self.position.at + Checksum::Crc32.bytes() as u64 {
            return Ok(());
        }
        self.alone()?;
        self.position.at = begin;
        self.shared.status.lock().at(&self.position, 0);
        Ok(())
    }

    /// A transaction is about to begin: waits until it is old enough (SOURCE_DELAY), by when the source committed it,
    /// in microseconds since 1970; 0: it does not say, and what counts is when that began it. A file may have ended
    /// before it, so that it lies behind the place to stop at.
    fn wait_for(&mut self, header: &Header, committed_us: u64) -> Result<(), Fault> {
        self.pass_gap(header)?;
        if self.choice.until.is_reached(&self.position, self.read) {
            return Err(Fault::Stopped);
        }
        if self.choice.delay_s == 0 || header.timestamp == 0 {
            return Ok(());
        }
        let begun_us = if committed_us == 0 { u64::from(header.timestamp) * 1_000_000 } else { committed_us };
        let due_us = begun_us.saturating_add(self.choice.delay_s * 1_000_000);
        loop {
            let left = due_us.saturating_sub(WallTime::now().micros()).div_ceil(1_000_000);
            self.shared.status.lock().remaining_s = (left > 0).then_some(left);
            if left == 0 {
                return Ok(());
            }
            // Meanwhile others see what was applied before.
            self.settle()?;
            // The clock may be set meanwhile, and SHOW REPLICA STATUS tells what is left.
            if sleep(Duration::from_secs(1)) == Unpark::Interrupted || self.shared.applier_is_stopping() {
                self.shared.status.lock().remaining_s = None;
                return Err(Fault::Stopped);
            }
        }
    }

    /// The events of a transaction that are compressed: all behind its first one.
    fn packed(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        let wrong = |what: &str| Fault::Applying(sql_err!(RelayLogReadFailure, what));
        if self.place != Place::Begun {
            return Err(wrong("a compressed transaction without its GTID"));
        }
        if self.skips {
            self.behind(header);
            return self.ended(header);
        }
        let packed = Packed::decode(body).map_err(damaged)?;
        let mut events = packed.events();
        while let Some(event) = events.next_event().map_err(damaged)? {
            let within = matches!(
                event.header.kind,
                kind::QUERY | kind::XID | kind::XA_PREPARE | kind::TABLE_MAP | kind::ROWS_QUERY | kind::IGNORABLE
            ) || kind::is_rows(event.header.kind);
            if !within || self.place == Place::Between {
                return Err(wrong("an event in a compressed transaction that has no place there"));
            }
            // Its end is the log's place.
            let inner = Header { end_position: header.end_position, ..event.header };
            self.apply(&Event { header: inner, ..event })?;
        }
        if self.place == Place::Between { Ok(()) } else { Err(wrong("a compressed transaction without its end")) }
    }

    /// Where the log stands behind an event that ends a transaction.
    fn behind(&mut self, header: &Header) -> Record {
        self.position.at = behind(self.position.at, header.end_position);
        self.position.relay = Some((self.epoch, self.next));
        if let Some((uuid, number)) = self.gtid {
            self.position.applied.add(&GtidSource::from(uuid), number..number + 1);
        }
        (self.record.clone(), self.position.encode())
    }

    fn ended(&mut self, header: &Header) -> Result<(), Fault> {
        self.gathered = None;
        self.alone()?;
        let lsn = self.follower.unsynced();
        self.count_tables();
        self.shared.applied(0, &self.position, header.timestamp, lsn);
        self.passed()
    }

    /// A transaction is behind what is read; it may be under way still.
    fn passed(&mut self) -> Result<(), Fault> {
        if let Some(gtid) = self.gtid {
            self.choice.until.passed(gtid);
        }
        (self.place, self.gtid, self.skips) = (Place::Between, None, false);
        self.read = self.next;
        if self.choice.until.is_reached(&self.position, self.read) { Err(Fault::Stopped) } else { Ok(()) }
    }

    fn query(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        let query = Query::decode(body).map_err(damaged)?;
        self.statement(header, query)
    }

    fn statement(&mut self, header: &Header, query: Query<'_>) -> Result<(), Fault> {
        let is = |word: &[u8]| query.text.eq_ignore_ascii_case(word);
        let starts_branch = query.text.get(..9).is_some_and(|t| t.eq_ignore_ascii_case(b"XA START "));
        if is(b"COMMIT") && self.place == Place::Inside {
            return self.end(header);
        }
        if is(b"ROLLBACK") && self.place == Place::Inside {
            return self.undo(header);
        }
        if self.place != Place::Inside && (is(b"BEGIN") || is(b"START TRANSACTION") || starts_branch) {
            if self.place == Place::Between {
                self.begin_unnamed(header)?;
            }
            if starts_branch {
                self.take_back()?;
            }
            self.place = Place::Inside;
            return match (self.skips || self.gathered.is_some(), starts_branch) {
                (true, _) => Ok(()),
                (false, true) => Ok(self.follower.query(&query, header.timestamp, None)?),
                (false, false) => Ok(self.follower.start()?),
            };
        }
        let filter = self.choice.filter.clone();
        let schema = String::from_utf8_lossy(query.schema);
        let takes = filter.takes_statement(&schema, query.text);
        let left_out = takes.is_none();
        let query = Query { schema: takes.unwrap_or_default().as_bytes(), ..query };
        if self.place == Place::Between {
            self.begin_unnamed(header)?;
        }
        self.take_back()?;
        if self.place == Place::Inside {
            if left_out {
                self.follower.forget();
            }
            let passes = self.skips || left_out;
            return if passes { Ok(()) } else { Ok(self.follower.query(&query, header.timestamp, None)?) };
        }
        let position = self.behind(header);
        match (self.skips, left_out) {
            (true, _) => {}
            (false, false) => self.follower.query(&query, header.timestamp, Some(&position))?,
            // Its GTID counts as executed all the same.
            (false, true) => {
                self.follower.forget();
                self.follower.commit(&position)?;
            }
        }
        self.ended(header)
    }

    /// What the statement that follows has of its session.
    fn bring(&mut self, beside: Result<Beside, DecodeError>) -> Result<(), Fault> {
        let beside = beside.map_err(damaged)?;
        // The transactions before it may be under way.
        if self.skips { Ok(()) } else { Ok(self.alone()?.bring(beside)?) }
    }

    /// A part of a file, the first one or another.
    fn file(&mut self, body: &[u8], first: bool) -> Result<(), Fault> {
        let (number, bytes) = beside::block(body).map_err(damaged)?;
        if self.skips {
            return Ok(());
        }
        if first {
            // One at a time: the next begins when the one before is loaded, or has failed.
            self.files.clear();
            self.files.insert(number, Arc::new(TempFile::create(&self.shared.core.temp)?));
        }
        match self.files.get(&number) {
            Some(file) => Ok(file.append(bytes).map(drop)?),
            None => Err(Fault::Applying(sql_err!(RelayLogReadFailure, "a part of a file without its beginning"))),
        }
    }

    /// LOAD DATA, behind its file.
    fn load(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        let load = LoadQuery::decode(body).map_err(damaged)?;
        let file = self.files.remove(&load.file);
        if !self.skips {
            let none = || Fault::Applying(sql_err!(RelayLogReadFailure, "LOAD DATA without its file"));
            let file = file.ok_or_else(none)?;
            self.alone()?.bring_file(file);
        }
        let text = load.text("file");
        self.statement(header, Query { text: &text, ..load.query })
    }

    /// A table that rows follow of, in the database that they go to.
    fn table(&mut self, body: &[u8]) -> Result<(), Fault> {
        let mut map = TableMap::decode(body).map_err(damaged)?;
        let filter = &self.choice.filter;
        if !filter.is_empty() {
            map.schema = filter.rewritten(&map.schema).to_owned();
            if !filter.takes_rows(&map.schema, &map.name) {
                self.left_out.insert(map.id);
                return Ok(());
            }
            self.left_out.remove(&map.id);
        }
        self.piece(Piece::Map(map), body.len())
    }

    /// A part of a transaction of rows.
    fn piece(&mut self, piece: Piece, bytes: usize) -> Result<(), Fault> {
        match &mut self.gathered {
            Some(gathered) => {
                gathered.bytes += bytes;
                gathered.pieces.push(piece);
                if gathered.bytes > MOST_GATHERED { self.take_back() } else { Ok(()) }
            }
            None => Ok(piece.apply(&mut self.follower)?),
        }
    }

    fn rows(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        if self.place != Place::Inside {
            return Err(Fault::Applying(sql_err!(RelayLogReadFailure, "rows outside of a transaction")));
        }
        if self.skips {
            return Ok(());
        }
        if header.kind == kind::TABLE_MAP {
            return self.table(body);
        }
        let [a, b, c, d, e, f] = *body.first_chunk().unwrap_or(&[0xFF; 6]);
        if self.left_out.contains(&u64::from_le_bytes([a, b, c, d, e, f, 0, 0])) {
            return Ok(());
        }
        if self.gathered.is_none() {
            return Ok(self.follower.rows(header.kind, body, header.timestamp)?);
        }
        self.piece(Piece::Rows(header.kind, body.to_vec(), header.timestamp), body.len())
    }

    fn end(&mut self, header: &Header) -> Result<(), Fault> {
        if self.place != Place::Inside {
            return Err(Fault::Applying(sql_err!(RelayLogReadFailure, "the end of no transaction")));
        }
        let record = self.behind(header);
        match (self.gathered.take(), &self.workers) {
            _ if self.skips => {}
            (Some(Gathered { pieces, bytes }), Some(workers)) => {
                let transaction = std::mem::take(&mut self.transaction);
                let (position, timestamp) = (self.position.clone(), header.timestamp);
                let log = self.follower.log_kind();
                workers.hand_on(Job { transaction, log, pieces, bytes, position, record, timestamp })?;
                return self.passed();
            }
            _ => self.follower.commit(&record)?,
        }
        self.ended(header)
    }

    /// A transaction that its source has rolled back ends. It is in the log for what of it cannot be undone there, as
    /// temporary tables: here nothing stays of it but its GTID and where the log stands.
    fn undo(&mut self, header: &Header) -> Result<(), Fault> {
        let record = self.behind(header);
        if !self.skips {
            let (gtid, first) = (self.gtid, self.transaction.first());
            let begun = self.gathered.take().is_none();
            let follower = self.alone()?;
            if begun {
                follower.rollback()?;
            }
            if follower.begin(gtid, first)? {
                follower.start()?;
                follower.commit(&record)?;
            }
        }
        self.ended(header)
    }

    /// The branch is prepared; where the log stands is kept behind that, and before it what it is going to be.
    fn prepare(&mut self, header: &Header, body: &[u8]) -> Result<(), Fault> {
        let branch = XaPrepare::decode(body).map_err(damaged)?;
        let xid = gannet_binlog::show::xid_text(branch.gtrid, branch.bqual, branch.format);
        let text = match branch.one_phase {
            true => format!("XA COMMIT {xid} ONE PHASE"),
            false => format!("XA PREPARE {xid}"),
        };
        let query = plain(text.as_bytes());
        let before = self.position.clone();
        let position = self.behind(header);
        if !self.skips {
            if !branch.one_phase {
                let (gtrid, bqual) = (branch.gtrid.to_vec(), branch.bqual.to_vec());
                let named = Branch { format: branch.format.into(), gtrid, bqual };
                let then = Box::new(self.position.clone());
                let record = Position { preparing: Some((named, then)), ..before }.encode();
                self.shared.store(&[(Kept::Position, Some(record))])?;
            }
            self.follower.query(&query, header.timestamp, Some(&position))?;
        }
        self.ended(header)
    }
}
