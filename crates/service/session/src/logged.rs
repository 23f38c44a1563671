//! The rows of a session's transaction, for the binary log: gathered while statements change them, carried by the
//! commit.

use super::Session;
use gannet_binlog::group::{Gathered, Head, Payload, Present, Shape};
use gannet_binlog::image::RowEncoder;
use gannet_binlog::map::{self, Metadata};
use gannet_binlog::rows::{Change, Columns, flags};
use gannet_core::vars::Live;
use gannet_exec::changes::{ChangeSink, Images, RowChange};
use gannet_runtime::WallTime;
use gannet_schema::Table;
use gannet_types::{Result, SqlError};
use std::ops::Range;
use std::sync::OnceLock;

/// How a table's rows are logged, with either metadata.
#[derive(Debug, Default)]
struct Shapes([OnceLock<Shape>; 2]);

/// What a session has of the binary log.
#[derive(Default)]
pub(crate) struct Logged {
    gathered: Gathered,
    metadata: Metadata,
    /// The statement that runs is logged.
    on: bool,
}

impl Logged {
    /// What is told of the statement's rows.
    pub(super) fn sink(&mut self) -> Option<&mut dyn ChangeSink> {
        if self.on { Some(self) } else { None }
    }

    /// The memory of a group that is in the log.
    pub(super) fn reuse(&mut self, payload: Payload) {
        self.gathered.reuse(payload);
    }
}

impl ChangeSink for Logged {
    fn changed(&mut self, records: Range<u64>, change: &RowChange<'_>) -> Result<()> {
        // A replica's own foreign keys do the same there; temporary tables are nobody else's.
        if change.cascade || change.table.temporary {
            return Ok(());
        }
        let shapes = change.table.logged.get_or_try_init(|| Ok::<_, SqlError>(Shapes::default()))?;
        let shape =
            shapes.0[usize::from(self.metadata == Metadata::Full)].get_or_init(|| shape(change.table, self.metadata));
        let present = Present { before: &shape.all, after: &shape.all };
        let (kind, rows): (_, (&[_], &[_])) = match change.images {
            Images::Insert(new) => (Change::Write, (&[], new)),
            Images::Update(old, new) => (Change::Update, (old, new)),
            Images::Delete(old) => (Change::Delete, (old, &[])),
        };
        self.gathered.row(records, shape, kind, present, rows);
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
    let source = map::Table {
        id: table.id.0,
        schema: &table.schema,
        name: &table.name,
        columns: &columns,
        primary_key: &primary_key,
    };
    let mut map = Vec::new();
    source.encode(metadata, &mut map);
    let encoder = RowEncoder::new(logged.iter().map(|i| (*i, &table.columns[*i].ty)));
    Shape { id: table.id.0, map: map.into(), encoder, all: Columns::all(logged.len()) }
}

impl Session {
    /// What the session does now is logged.
    pub(super) fn is_logged(&self) -> bool {
        self.server.binlog().is_some() && self.state.vars[Live::SqlLogBin].as_bool()
    }

    /// A statement that changes rows begins.
    #[inline]
    pub(super) fn begin_logged(&mut self) {
        if let Some(logged) = &mut self.logged {
            logged.on = false;
        }
        if self.server.binlog().is_some() {
            self.begin_logged_statement();
        }
    }

    /// Another transaction begins: what is left of one that was rolled back goes.
    #[inline]
    pub(super) fn clear_logged(&mut self) {
        if let Some(logged) = &mut self.logged {
            logged.gathered.clear();
        }
    }

    fn begin_logged_statement(&mut self) {
        if !self.is_logged() {
            return;
        }
        let vars = &self.state.vars;
        let full = self.server.globals.get(Live::BinlogRowMetadata).as_str() == "FULL";
        let off = |on: bool, bit: u16| if on { 0 } else { bit };
        let bits = off(self.settings.foreign_key_checks, flags::NO_FOREIGN_KEY_CHECKS)
            | off(vars[Live::UniqueChecks].as_bool(), flags::RELAXED_UNIQUE_CHECKS);
        let text = vars[Live::BinlogRowsQueryLogEvents]
            .as_bool()
            .then(|| self.entry.statement().map_or(Vec::new(), |text| text.bytes().to_vec()));
        let now = (self.state.statement_time() / 1_000_000) as u32;
        let logged = self.logged.get_or_insert_default();
        logged.metadata = if full { Metadata::Full } else { Metadata::Minimal };
        logged.on = true;
        logged.gathered.begin_statement(now, bits, text);
    }

    /// The first of these user variables that is set: what the reader of a log says of itself.
    pub fn said(&self, names: &[&str]) -> Option<String> {
        let value = names.iter().find_map(|n| self.state.user_vars.get(*n)).filter(|v| !v.is_null())?;
        let mut text = Vec::new();
        value.write_text(&mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The time of a commit, in microseconds since 1970.
    pub(super) fn commit_time(&self) -> u64 {
        WallTime::now().micros()
    }

    /// What the commit of the open transaction carries; `None`: nothing.
    #[inline]
    pub(super) fn take_logged(&mut self) -> Option<Payload> {
        self.logged.as_ref()?;
        let committed_us = self.commit_time();
        let logged = self.logged.as_mut().filter(|logged| !logged.gathered.is_empty())?;
        let head = Head { thread_id: self.entry.id as u32, committed_us, ..Head::default() };
        logged.gathered.take(self.txn.weight(), head)
    }
}
