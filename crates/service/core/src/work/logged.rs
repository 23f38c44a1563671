//! The rows of a transaction for the binary log: gathered while they are changed, carried by the commit.

use super::Work;
use crate::vars::Live;
use gannet_binlog::group::{Gathered, Head, Payload, Present, Shape};
use gannet_binlog::image::RowEncoder;
use gannet_binlog::map::{self, Metadata};
use gannet_binlog::rows::{Change, Columns};
use gannet_engine::Txn;
use gannet_exec::changes::{ChangeSink, Images, RowChange};
use gannet_runtime::WallTime;
use gannet_schema::Table;
use gannet_types::{Result, SqlError};
use std::ops::Range;
use std::sync::OnceLock;

/// How a table's rows are logged, with either metadata.
#[derive(Debug, Default)]
struct Shapes([OnceLock<Shape>; 2]);

/// A statement whose rows are logged.
#[derive(Debug)]
pub struct LoggedStatement {
    /// When it began, seconds since 1970.
    pub now_s: u32,
    /// Of its rows: [`gannet_binlog::rows::flags`].
    pub flags: u16,
    /// Its text, where the log has that too.
    pub text: Option<Vec<u8>>,
}

/// What a unit of work has of the binary log.
#[derive(Default)]
struct Logged {
    gathered: Gathered,
    metadata: Metadata,
    /// The statement that runs is logged.
    on: bool,
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
        }
    }

    /// What the commit of the open transaction of connection `thread` carries; `None`: nothing.
    #[inline]
    pub(super) fn take(&mut self, txn: &Txn, thread: u64) -> Option<Payload> {
        let logged = self.0.as_deref_mut().filter(|logged| !logged.gathered.is_empty())?;
        let committed_us = WallTime::now().micros();
        let head = Head { thread_id: thread as u32, committed_us, ..Head::default() };
        logged.gathered.take(txn.weight(), head)
    }

    /// The open transaction has changes that are logged.
    pub(super) fn has(&mut self, txn: &Txn) -> bool {
        self.0.as_deref_mut().is_some_and(|logged| {
            logged.gathered.settle(txn.weight());
            !logged.gathered.is_empty()
        })
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
        let shape = shapes.0[usize::from(full)].get_or_init(|| shape(change.table, self.metadata));
        let present = Present { before: &shape.all, after: &shape.all };
        let (kind, before, after) = match change.images {
            Images::Insert(new) => (Change::Write, &[][..], new),
            Images::Update(old, new) => (Change::Update, old, new),
            Images::Delete(old) => (Change::Delete, old, &[][..]),
        };
        self.gathered.row(records, shape, kind, present, (before, after));
        Ok(())
    }
}

/// How a table's rows are logged: without the columns that no statement can name.
fn shape(table: &Table, metadata: Metadata) -> Shape {
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
    let source = map::Table { id, schema, name, columns: &columns, primary_key: &primary_key };
    let mut map = Vec::new();
    source.encode(metadata, &mut map);
    let encoder = RowEncoder::new(logged.iter().map(|i| (*i, &table.columns[*i].ty)));
    Shape { id, map: map.into(), encoder, all: Columns::all(logged.len()) }
}

impl Work {
    /// A statement that changes rows begins; `None`: it is not logged. Without a binary log this does nothing.
    pub fn log_rows(&mut self, statement: Option<LoggedStatement>) {
        if self.core.binlog().is_none() {
            return;
        }
        let full = self.core.globals.get(Live::BinlogRowMetadata).as_str() == "FULL";
        let weight = self.txn.weight();
        let logged = self.logged.0.get_or_insert_default();
        logged.on = statement.is_some();
        // What was rolled back to a savepoint goes, before the statement's own records take its numbers.
        logged.gathered.settle(weight);
        if let Some(LoggedStatement { now_s, flags, text }) = statement {
            logged.metadata = if full { Metadata::Full } else { Metadata::Minimal };
            logged.gathered.begin_statement(now_s, flags, text);
        }
    }

    /// The engine's transaction, and who is told of changed rows.
    #[inline]
    pub fn writing(&mut self) -> (&mut Txn, Option<&mut dyn ChangeSink>) {
        let logged = self.logged.0.as_deref_mut().filter(|logged| logged.on);
        (&mut self.txn, logged.map(|logged| logged as &mut dyn ChangeSink))
    }
}
