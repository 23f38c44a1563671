//! The rows of a transaction for the binary log: gathered while they are changed, carried by the commit.

use super::{Gtids, NextGtid, Origin, Work};
use crate::binlog::{Binlog, RowImage};
use crate::vars::Live;
use gannet_binlog::event::kind;
use gannet_binlog::group::{Around, First, Frame, Gathered, Head, Payload, Present, Shape};
use gannet_binlog::image::RowEncoder;
use gannet_binlog::map::{self, ColumnKind, Metadata};
use gannet_binlog::rows::{Change, Columns};
use gannet_binlog::writeset::{Keys, Part, UNKNOWN, number_map};
use gannet_catalog::Words;
use gannet_engine::{Parts, Txn};
use gannet_exec::changes::{Carried, ChangeSink, Images, RowChange, RowWriter};
use gannet_runtime::WallTime;
use gannet_schema::{Index, IndexPart, Table, has_generated_key};
use gannet_telemetry::{Counter, add, count};
use gannet_types::key::KeyPart;
use gannet_types::rowref::RowRef;
use gannet_types::{Result, SqlError, TypeId, sql_err};
use std::any::Any;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of stored rows that a commit in one record carries: beyond, its payload may be too long for one.
const LONGEST: usize = 64 << 10;

/// A transaction gathers so much of the log's capacity in memory, and so many bytes, at most.
const SHARE: u64 = 32;
const MOST: u64 = 32 << 20;

/// How a table's rows are logged, with either metadata.
#[derive(Debug, Default)]
struct Shapes([OnceLock<Shape>; 2]);

/// A statement whose rows are logged.
#[derive(Debug, Default)]
pub struct LoggedStatement {
    /// When it began, seconds since 1970.
    pub now_s: u32,
    /// Of its rows: [`gannet_binlog::rows::flags`].
    pub flags: u16,
    /// Its text, where the log has that too.
    pub text: Option<Vec<u8>>,
    /// It makes a table: the body of its event, without a text.
    pub definition: Option<Vec<u8>>,
    /// `binlog_row_image` of the session, and whether its `binlog_row_value_options` is PARTIAL_JSON; `None`: the
    /// server's.
    pub image: Option<(RowImage, bool)>,
}

/// What a unit of work has of the binary log.
#[derive(Default)]
struct Logged {
    gathered: Gathered,
    metadata: Metadata,
    image: RowImage,
    /// Changes of documents stand in their place.
    partial: bool,
    /// The statement that runs is logged.
    on: bool,
    /// It makes a table: the body of its event, without a text.
    definition: Option<Vec<u8>>,
    /// Of the connection.
    thread: u64,
    next: NextGtid,
    /// What is said of the first server.
    origin: Option<Arc<Origin>>,
    /// The commit is in the log even if nothing is in it.
    whole: bool,
    /// The statement at hand is one that changes rows and is logged.
    writes: bool,
    /// An event that goes before the rows.
    before: Option<(u8, Vec<u8>)>,
    /// The transaction has committed with its only change and all that is gathered.
    carried: bool,
    /// `binlog_transaction_compression`, of a commit with its only change.
    compressed: bool,
    /// Foreign keys link its rows with others.
    linked: bool,
    /// Bytes that a transaction may have: `max_binlog_cache_size`; 0: any number.
    largest: u64,
    /// Bytes that are gathered in memory at most, and where more of them go.
    most: usize,
    log: Option<Arc<Binlog>>,
}

/// [`Logged`] of a unit of work that has had changed rows while there was a binary log.
#[derive(Default)]
pub(super) struct LoggedRows(Option<Box<Logged>>);

impl LoggedRows {
    /// Another transaction begins: what is left of one that was rolled back goes.
    #[inline]
    pub(super) fn clear(&mut self) {
        if let Some(logged) = &mut self.0 {
            logged.gathered.clear();
            (logged.carried, logged.linked) = (false, false);
        }
    }

    /// Whether the transaction has committed with its only change, and what is logged of it: true once.
    #[inline]
    pub(super) fn take_carried(&mut self) -> bool {
        self.0.as_mut().is_some_and(|logged| std::mem::take(&mut logged.carried))
    }

    #[inline]
    pub(super) fn next(&self) -> NextGtid {
        self.0.as_ref().map_or(NextGtid::Automatic, |logged| logged.next)
    }

    pub(super) fn set_next(&mut self, next: NextGtid) {
        if next != self.next() {
            self.0.get_or_insert_default().next = next;
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<First> {
        self.0.as_ref().and_then(|logged| logged.first())
    }

    pub(super) fn set_origin(&mut self, origin: &Arc<Origin>) {
        self.0.get_or_insert_default().origin = Some(origin.clone());
    }

    /// The transaction of which something was said is in the log.
    #[inline]
    pub(super) fn forget_origin(&mut self) {
        if let Some(origin) = self.0.as_ref().and_then(|logged| logged.origin.as_ref()) {
            origin.forget();
        }
    }

    /// The next commit is in the log even if nothing is in it, where its GTID is chosen.
    pub(super) fn whole(&mut self, whole: bool) {
        if let Some(logged) = &mut self.0 {
            logged.whole = whole;
        }
    }

    /// A statement begins, of which nothing is known yet.
    #[inline]
    pub(super) fn begin_statement(&mut self) {
        if let Some(logged) = &mut self.0 {
            logged.writes = false;
        }
    }

    /// The statement's own commit is in the log even if it changed nothing, where its GTID is chosen.
    #[inline]
    pub(super) fn whole_if_writing(&mut self) {
        if let Some(logged) = &mut self.0 {
            logged.whole = logged.writes;
        }
    }

    /// An event that goes before the next rows.
    pub(super) fn before(&mut self, kind: u8, body: Vec<u8>) {
        self.0.get_or_insert_default().before = Some((kind, body));
    }

    pub(super) fn is_whole(&self) -> bool {
        self.0.as_ref().is_some_and(|logged| logged.whole)
    }

    /// What the commit of the open transaction of connection `thread` carries; `None`: nothing.
    #[inline]
    pub(super) fn take(&mut self, txn: &Txn, thread: u64) -> Option<Payload> {
        let tells = |l: &&mut Logged| !l.gathered.is_empty() || l.is_whole() || l.before.is_some();
        let logged = self.0.as_deref_mut().filter(tells)?;
        let head = Head { linked: std::mem::take(&mut logged.linked), thread_id: thread as u32, ..logged.head() };
        match logged.before.take() {
            None => logged.gathered.take(txn.weight(), head),
            before => {
                let around = Around { before: before.into_iter().collect(), after: Vec::new() };
                logged.gathered.take_around(txn.weight(), head, around)
            }
        }
    }

    /// What prepares the open transaction as a branch, between these events; `None`: it has no changes that are
    /// logged.
    pub(super) fn take_branch(&mut self, txn: &Txn, thread: u64, around: impl FnOnce() -> Around) -> Option<Payload> {
        let logged = self.0.as_deref_mut()?;
        logged.gathered.settle(txn.weight());
        if logged.gathered.is_empty() {
            return None;
        }
        let head = Head { frame: Frame::Prepared, thread_id: thread as u32, ..logged.head() };
        logged.gathered.take_around(txn.weight(), head, around())
    }

    /// What [`LoggedRows::take_branch`] took was not written.
    pub(super) fn take_back(&mut self, records: u64, payload: Payload) {
        if let Some(logged) = &mut self.0 {
            logged.gathered.take_back(records, payload);
        }
    }

    /// The memory of a payload that is in the log.
    pub(super) fn reuse(&mut self, payload: Payload) {
        if let Some(logged) = &mut self.0 {
            logged.gathered.reuse(payload);
        }
    }
}

impl ChangeSink for Logged {
    fn changed(&mut self, records: Range<u64>, change: &RowChange<'_>) -> Result<()> {
        // A replica's own foreign keys do the same there; temporary tables are nobody else's.
        if change.cascade || change.table.temporary {
            self.gathered.settle(records.start);
            return Ok(());
        }
        let shapes = change.table.logged.get_or_try_init(|| Ok::<_, SqlError>(Shapes::default()))?;
        let full = self.metadata == Metadata::Full;
        let shape = shapes.0[usize::from(full)].get_or_init(|| {
            let number = |keys| self.log.as_ref().map_or(UNKNOWN, |log| log.number_of(keys));
            shape(change.table, self.metadata, number)
        });
        self.linked |= change.linked;
        let none = RowRef::Values(&[]);
        let (kind, before, after) = match change.images {
            Images::Insert(new) => (Change::Write, none, new),
            Images::Update(old, new) => (Change::Update, old, new),
            Images::Delete(old) => (Change::Delete, old, none),
        };
        let changed;
        let partial = self.partial && kind == Change::Update && shape.encoder.has_documents();
        let present = match (self.image, kind) {
            (RowImage::Full, _) | (_, Change::Write) => Present { before: &shape.all, after: &shape.all, partial },
            (RowImage::NoBlob, Change::Delete) => Present { before: &shape.short, after: &shape.all, partial },
            (RowImage::Minimal, Change::Delete) => Present { before: &shape.key, after: &shape.all, partial },
            (image, Change::Update) => {
                let short = image == RowImage::NoBlob;
                let has =
                    |i: usize, ordinal: usize| short && shape.short.has(i) || before.get(ordinal) != after.get(ordinal);
                changed = shape.columns(has);
                Present { before: if short { &shape.short } else { &shape.key }, after: &changed, partial }
            }
        };
        self.gathered.row(records, shape, kind, present, (before, after));
        if self.largest > 0 && self.gathered.all() as u64 > self.largest {
            return Err(sql_err!(TransCacheFull));
        }
        if self.gathered.held() >= self.most
            && let Some(log) = &self.log
        {
            // An event of a long row is most of what is held.
            if self.gathered.spillable() < self.most / 2 {
                self.gathered.end_event();
            }
            let written = self.gathered.spill(|| log.spill());
            written.map_err(|e| {
                sql_err!(ErrorOnWrite, log.names().basename().display(), e.raw_os_error().unwrap_or(0), e)
            })?;
        }
        Ok(())
    }

    fn carry(&mut self, change: &RowChange<'_>) -> Result<Option<Parts<'_>>> {
        let busy = !self.gathered.is_empty() || self.before.is_some() || self.definition.is_some();
        if busy || change.cascade || length(&change.images) > LONGEST {
            return Ok(None);
        }
        if change.table.temporary {
            return Ok(Some(Parts::default()));
        }
        self.changed(0..1, change)?;
        if !self.gathered.is_at_hand() {
            self.gathered.withdraw();
            return Ok(None);
        }
        let head = Head { compressed: self.compressed, linked: self.linked, ..self.head() };
        Ok(Some(self.gathered.whole(head)))
    }

    fn carried(&mut self, end: Carried) {
        match end {
            Carried::Committed => {
                self.carried = !self.gathered.is_empty();
                if self.carried {
                    note_written(self.gathered.held(), false);
                }
                self.gathered.clear();
                self.linked = false;
            }
            // It goes with the commit.
            Carried::Made => {}
            Carried::Not => self.gathered.withdraw(),
        }
    }

    /// One group, as MySQL 8.4 has it: the definition opens a transaction, the rows follow.
    fn made(&mut self, txn: &Txn, definition: &str) -> Result<Words> {
        let mut body = self.definition.take().ok_or_else(|| SqlError::internal("a table without its event"))?;
        body.extend_from_slice(definition.as_bytes());
        body.extend_from_slice(b" START TRANSACTION");
        let around = Around { before: vec![(kind::QUERY, body)], after: Vec::new() };
        let (mut words, head) = (Vec::new(), self.head());
        if let Some(mut group) = self.gathered.take_around(txn.weight(), head, around) {
            let read = group.read_to_end(&mut words);
            read.map_err(|e| SqlError::internal(format_args!("rows for the binary log: {e}")))?;
            // If the commit fails, a file of the rows stays until the next start.
            group.keep();
        }
        Ok(Words { payload: words, position: None })
    }
}

/// Bytes of stored rows; of rows in another form, the most.
fn length(images: &Images<'_>) -> usize {
    let of = |row: &RowRef<'_>| match row {
        RowRef::Stored(_, row) => row.len(),
        RowRef::Values(_) => usize::MAX,
    };
    match images {
        Images::Insert(row) | Images::Delete(row) => of(row),
        Images::Update(old, new) => of(old).saturating_add(of(new)),
    }
}

impl Logged {
    /// The front of a group that commits now.
    fn head(&self) -> Head {
        let gtid = match self.next {
            NextGtid::Owned(gtid) => Some(gtid),
            _ => None,
        };
        let (thread_id, committed_us) = (self.thread as u32, WallTime::now().micros());
        Head { thread_id, committed_us, gtid, first: self.first(), ..Head::default() }
    }

    #[inline]
    fn first(&self) -> Option<First> {
        self.origin.as_ref().and_then(|origin| origin.said())
    }

    fn is_whole(&self) -> bool {
        self.whole && matches!(self.next, NextGtid::Owned(_))
    }
}

/// How a table's rows are logged: without the columns that no statement can name.
/// `number` gives its keys a number.
fn shape(table: &Table, metadata: Metadata, number: impl FnOnce(Option<Keys>) -> u16) -> Shape {
    let logged: Vec<usize> = (0..table.columns.len()).filter(|i| !table.columns[*i].hidden).collect();
    let column = |i: &usize| {
        let c = &table.columns[*i];
        map::Column { name: &c.name, ty: &c.ty, visible: !c.invisible }
    };
    let columns: Vec<map::Column<'_>> = logged.iter().map(column).collect();
    let position = |ordinal: u32| logged.iter().position(|i| *i == ordinal as usize).unwrap_or_default() as u32;
    let parts = table.primary_key().map_or(&[][..], |key| &key.parts);
    let primary_key: Vec<(u32, u32)> = parts.iter().map(|p| (position(p.column), p.prefix.unwrap_or(0))).collect();
    let (id, schema, name) = (table.id.0, &*table.schema, &*table.name);
    let generated_key = has_generated_key(table);
    let source = map::Table { id, schema, name, columns: &columns, primary_key: &primary_key, generated_key };
    let mut map = Vec::new();
    source.encode(metadata, &mut map);
    number_map(&mut map, number(keys(table, &logged)));
    let encoder = RowEncoder::new(logged.iter().map(|i| (*i, &table.columns[*i].ty)));
    let found = key(table);
    let in_key = |i: usize| found.as_ref().is_none_or(|key| key.contains(&(logged[i] as u32)));
    let long = |i: usize| {
        let id = table.columns[logged[i]].ty.id;
        id.is_lob() || id == TypeId::Json
    };
    let of = |has: &dyn Fn(usize) -> bool| Columns::of(logged.len(), has);
    Shape {
        id,
        map: map.into(),
        encoder,
        all: Columns::all(logged.len()),
        key: of(&in_key),
        short: of(&|i| in_key(i) || !long(i)),
        ordinals: logged.iter().map(|i| *i as u32).collect(),
    }
}

/// The columns by which a row is found: of the primary key, else of the first unique key without NULL. `None`: all.
fn key(table: &Table) -> Option<Vec<u32>> {
    let of = |index: &Index| -> Option<Vec<u32>> {
        let plain = |part: &IndexPart| {
            let column = &table.columns[part.column as usize];
            (!column.nullable && !column.hidden && part.prefix.is_none()).then_some(part.column)
        };
        index.parts.iter().map(plain).collect()
    };
    let unique = |index: &&Index| index.unique() && index.is_ordered();
    table.primary_key().and_then(of).or_else(|| table.indexes.iter().filter(unique).find_map(of))
}

/// The keys of rows, that of [`key`] first; `logged` are the columns in events. `None`: a row has no key, or one that
/// images do not show.
fn keys(table: &Table, logged: &[usize]) -> Option<Keys> {
    let found = key(table)?;
    let part = |part: &IndexPart, compared: &KeyPart| {
        // Numbers with a sign of zero, and documents, are not compared by their bytes.
        let compares = !matches!(compared.ty.id, TypeId::Float | TypeId::Double | TypeId::Json);
        let column = logged.iter().position(|i| *i == part.column as usize)?;
        compares.then(|| Part { column, compared: compared.clone() })
    };
    let mut all = Vec::new();
    for (i, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique()) {
        if !index.is_ordered() {
            return None;
        }
        let parts = index.parts.iter().zip(table.key_parts(i)).map(|(p, compared)| part(p, compared));
        let parts = parts.collect::<Option<Box<[Part]>>>()?;
        let finds = index.parts.iter().map(|p| p.column).eq(found.iter().copied());
        all.insert(if finds { 0 } else { all.len() }, parts);
    }
    Keys::new(logged.iter().map(|i| ColumnKind::of(&table.columns[*i].ty)), all)
}

/// A statement that changes rows, and the binary log.
#[derive(Debug)]
pub enum Told {
    /// It is not logged.
    Not,
    /// It is logged.
    Statement(LoggedStatement),
    /// It is part of the statement that runs, which is logged or not.
    Part,
}

/// Exchanges the engine's transaction, and the rows for the binary log, for another unit of work's, whose statement
/// writes with `to`.
pub fn exchange(work: &mut Work, to: &mut RowWriter<'_>) {
    std::mem::swap(&mut work.txn, to.txn);
    let sink = to.sink.as_deref_mut().map(|sink| sink as &mut dyn Any);
    if let Some(logged) = sink.and_then(|sink| sink.downcast_mut::<Logged>()) {
        std::mem::swap(&mut **work.logged.0.get_or_insert_default(), logged);
    }
}

/// So many bytes of a commit are for the binary log.
pub(super) fn note_written(bytes: usize, spilled: bool) {
    add(Counter::BinlogBytesWritten, bytes as u64);
    count(Counter::BinlogCacheUse);
    if spilled {
        count(Counter::BinlogCacheDiskUse);
    }
}

/// A commit has its rows in the log.
pub(super) fn committed(work: &mut Work) {
    work.told = true;
    Gtids::of(work).end(true);
}

impl Work {
    /// A statement that changes rows begins. Without a binary log this does nothing.
    pub fn log_rows(&mut self, told: Told) {
        if self.core.binlog().is_none() {
            return;
        }
        let (weight, thread) = (self.txn.weight(), self.thread);
        let logged = self.logged.0.get_or_insert_default();
        // What was rolled back to a savepoint goes, before the statement's own records take its numbers.
        logged.gathered.settle(weight);
        let statement = match told {
            Told::Part => return,
            Told::Not => None,
            Told::Statement(statement) => Some(statement),
        };
        (logged.on, logged.thread, logged.compressed) = (statement.is_some(), thread, self.terms.compressed);
        logged.writes = statement.is_some();
        if logged.log.is_none() {
            logged.log = self.core.binlog().cloned();
            let event = self.core.globals.get(Live::BinlogRowEventMaxSize).as_u64();
            logged.gathered.limit_events(usize::try_from(event).unwrap_or(usize::MAX));
        }
        let Some(LoggedStatement { now_s, flags, text, definition, image }) = statement else { return };
        let Some(log) = &logged.log else { return };
        (logged.definition, logged.largest) = (definition, log.largest());
        logged.most = (log.capacity() / SHARE).min(MOST) as usize;
        (logged.image, logged.partial) = image.unwrap_or_else(|| (log.row_image(), log.has_partial_documents()));
        let full = log.has_full_metadata();
        logged.metadata = if full { Metadata::Full } else { Metadata::Minimal };
        logged.gathered.begin_statement(now_s, flags, text);
    }

    /// The engine's transaction, and who is told of changed rows.
    #[inline]
    pub fn writing(&mut self) -> (&mut Txn, Option<&mut dyn ChangeSink>) {
        let logged = self.logged.0.as_deref_mut().filter(|logged| logged.on);
        (&mut self.txn, logged.map(|logged| logged as &mut dyn ChangeSink))
    }
}
