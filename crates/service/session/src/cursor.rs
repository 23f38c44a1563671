//! Cursors of the protocol: COM_STMT_EXECUTE with CURSOR_TYPE_READ_ONLY, COM_STMT_FETCH.
//!
//! As in MySQL the result is made at once and kept, so a cursor sees one moment and outlives its transaction. It is kept
//! as the packets it will be sent in; what exceeds [`IN_MEMORY`] goes to a temporary file.

use super::Charsets;
use super::reply::Done;
use super::wire::Wire;
use super::{Session, cached::CachedPlan};
use gannet_core::registry::Activity;
use gannet_exec::spill::{TempFile, damaged};
use gannet_exec::{ResultSink, Rows, TempSpace};
use gannet_plan::PlanKind;
use gannet_plan::plan::ResultColumn;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, Value, sql_err};
use gannet_wire::flags::status;
use gannet_wire::row::BinaryRow;
use gannet_wire::value::{Format, binary_value};
use std::sync::Arc;

/// Bytes of a cursor that stay in memory; and that are read from its file at once.
const IN_MEMORY: usize = 64 << 10;

/// An open cursor: rows as `u32 length, payload`. First those in the file, then those in memory.
pub(crate) struct Cursor {
    memory: Vec<u8>,
    file: Option<TempFile>,
    /// Bytes of the file that have been read into `buffer`, up to `at` of which rows have been sent.
    read: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Cursor {
    fn new() -> Self {
        Self { memory: Vec::new(), file: None, read: 0, buffer: Vec::new(), at: 0 }
    }

    /// Moves what is in memory to the file when it has become much.
    fn spill(&mut self, space: &Arc<TempSpace>) -> Result<()> {
        if self.memory.len() < IN_MEMORY {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(TempFile::create(space)?),
        };
        file.append(&self.memory)?;
        self.memory.clear();
        Ok(())
    }

    /// The next row; `None` behind the last.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        if !self.fill(4)? {
            return Ok(None);
        }
        let head = self.buffer[self.at..].first_chunk::<4>().ok_or_else(damaged)?;
        let len = u32::from_le_bytes(*head) as usize;
        if !self.fill(4 + len)? {
            return Err(damaged());
        }
        let row = self.at + 4..self.at + 4 + len;
        self.at = row.end;
        Ok(Some(&self.buffer[row]))
    }

    /// Sees that `n` unread bytes are in the buffer; `false` when there are no more.
    fn fill(&mut self, n: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= n {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        if let Some(file) = &self.file {
            let left = file.len() - self.read;
            let take = left.min((n - self.buffer.len()).max(IN_MEMORY) as u64) as usize;
            let had = self.buffer.len();
            self.buffer.resize(had + take, 0);
            file.read(&mut self.buffer[had..], self.read)?;
            self.read += take as u64;
            if self.read == file.len() {
                self.file = None;
            }
        }
        if self.file.is_none() && self.buffer.len() < n {
            self.buffer.append(&mut self.memory);
        }
        Ok(self.buffer.len() >= n)
    }
}

/// Keeps a result for a cursor.
struct CursorSink {
    cursor: Cursor,
    space: Arc<TempSpace>,
    charsets: Charsets,
    formats: Vec<Format>,
    columns: Vec<ResultColumn>,
    left: u64,
    rows: u64,
}

impl ResultSink for CursorSink {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.formats = columns.iter().map(|c| Format::of(&c.ty)).collect();
        self.columns = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let n = (rows.len() as u64).min(self.left);
        self.left -= n;
        self.rows += n;
        for i in 0..n as usize {
            let out = &mut self.cursor.memory;
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            let head = BinaryRow::begin(out, self.formats.len());
            for (c, f) in self.formats.iter().enumerate() {
                binary_value(out, head, c, rows.value(i, c), *f, self.charsets.results);
            }
            let len = u32::try_from(out.len() - start - 4).map_err(|_| sql_err!(NetPacketTooLarge))?;
            out[start..start + 4].copy_from_slice(&len.to_le_bytes());
            self.cursor.spill(&self.space)?;
        }
        Ok(())
    }
}

impl Session {
    /// Runs a prepared statement's plan. `cursor`: where the client has asked for one, and the statement has rows, they are
    /// kept there.
    pub(crate) fn run_prepared(
        &mut self,
        entry: &CachedPlan,
        params: &[Value],
        wire: &mut Wire<'_>,
        cursor: Option<&mut Option<Box<Cursor>>>,
    ) -> Result<Done> {
        let queries = matches!(entry.plan.kind, PlanKind::Query(_) | PlanKind::PointSelect(_));
        match cursor {
            Some(cursor) if queries && entry.plan.into.is_none() => self.open_cursor(entry, params, wire, cursor),
            _ => self.run_cached(entry, params, wire),
        }
    }

    #[cold]
    fn open_cursor(
        &mut self,
        entry: &CachedPlan,
        params: &[Value],
        wire: &mut Wire<'_>,
        cursor: &mut Option<Box<Cursor>>,
    ) -> Result<Done> {
        let mut sink = CursorSink {
            cursor: Cursor::new(),
            space: self.server.temp.clone(),
            charsets: self.charsets,
            formats: Vec::new(),
            columns: Vec::new(),
            left: self.select_limit(&entry.plan),
            rows: 0,
        };
        let outcome = self.execute(&entry.plan, &entry.digest.locks, params, &mut sink)?;
        let done = self.done(outcome, sink.rows)?;
        // The columns, and no row: what ends them says that there is a cursor.
        wire.put(self.manner());
        wire.describe_columns(&sink.columns);
        *cursor = Some(Box::new(sink.cursor));
        self.running.extra_status |= status::CURSOR_EXISTS;
        Ok(done)
    }

    /// COM_STMT_FETCH: the next rows. LAST_ROW_SENT comes with the attempt to read beyond the last row, which closes the
    /// cursor; error 1421 where none is open.
    pub fn fetch_prepared(&mut self, id: u32, rows: u32, wire: &mut Wire<'_>) {
        count(Counter::ComStmtFetch);
        self.begins(Activity::Fetch, b"");
        self.running.warnings.clear();
        let outcome = match self.take_cursor(id) {
            Ok(Some(mut cursor)) => match self.send_fetched(&mut cursor, rows, wire) {
                Ok(true) => {
                    self.running.extra_status |= status::CURSOR_EXISTS;
                    self.keep_cursor(id, cursor);
                    Ok(Done::ROWS)
                }
                Ok(false) => {
                    self.running.extra_status |= status::LAST_ROW_SENT;
                    Ok(Done::ROWS)
                }
                Err(e) => Err(self.final_error(e)),
            },
            Ok(None) => Err(sql_err!(StmtHasNoOpenCursor, id)),
            Err(e) => Err(e),
        };
        self.answer(wire, outcome);
    }

    /// `false` when the rows came to their end.
    fn send_fetched(&self, cursor: &mut Cursor, rows: u32, wire: &mut Wire<'_>) -> Result<bool> {
        wire.put(self.manner());
        for _ in 0..rows {
            match cursor.next()? {
                Some(row) => wire.encoded_row(row)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
