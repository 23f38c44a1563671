//! Cursors of the protocol: COM_STMT_EXECUTE with CURSOR_TYPE_READ_ONLY, COM_STMT_FETCH.
//!
//! As in MySQL the result is made at once and kept, so a cursor sees one moment and outlives its transaction. It is
//! kept as the packets it will be sent in; what exceeds [`IN_MEMORY`] goes to a temporary file.

use crate::wire::Wire;
use gannet_base::Attached;
use gannet_exec::spill::{TempFile, damaged};
use gannet_exec::{Rows, TempSpace};
use gannet_plan::plan::ResultColumn;
use gannet_session::reply::{Ended, Manner};
use gannet_session::{Charsets, Reply};
use gannet_types::{Result, SqlError, Value, ValueRef, sql_err};
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

    /// Sends the next rows; `false` when they came to their end.
    pub(crate) fn send(&mut self, rows: u32, wire: &mut Wire<'_>) -> Result<bool> {
        for _ in 0..rows {
            match self.next()? {
                Some(row) => wire.encoded_row(row)?,
                None => return Ok(false),
            }
        }
        Ok(true)
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

/// The answer to an execution with a cursor: rows are kept in it, and the client is sent their columns.
pub(crate) struct IntoCursor<'w, 'c> {
    wire: &'w mut Wire<'c>,
    cursor: Cursor,
    space: Arc<TempSpace>,
    formats: Vec<Format>,
    columns: Vec<ResultColumn>,
    manner: Manner,
    opened: bool,
}

impl<'w, 'c> IntoCursor<'w, 'c> {
    pub(crate) fn new(wire: &'w mut Wire<'c>, space: Arc<TempSpace>) -> Self {
        let (formats, columns) = (Vec::new(), Vec::new());
        Self { wire, cursor: Cursor::new(), space, formats, columns, manner: Manner::PLAIN, opened: false }
    }

    /// The cursor, when there is one.
    pub(crate) fn opened(self) -> Option<Box<Cursor>> {
        self.opened.then(|| Box::new(self.cursor))
    }

    fn keep<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<()> {
        let out = &mut self.cursor.memory;
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let head = BinaryRow::begin(out, self.formats.len());
        for (c, f) in self.formats.iter().enumerate() {
            binary_value(out, head, c, value(c), *f, self.manner.charsets.results);
        }
        let len = u32::try_from(out.len() - start - 4).map_err(|_| sql_err!(NetPacketTooLarge))?;
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
        self.cursor.spill(&self.space)
    }
}

impl Reply for IntoCursor<'_, '_> {
    fn begin(&mut self, columns: &[ResultColumn], manner: Manner, _: Option<&Attached>) -> Result<()> {
        self.formats = columns.iter().map(|c| Format::of(&c.ty)).collect();
        self.columns = columns.to_vec();
        self.manner = manner;
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()> {
        (0..count).try_for_each(|i| self.keep(|c| rows.value(i, c)))
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.keep(|c| row[c].as_ref())
    }

    fn end(&mut self, ended: &Ended<'_>) {
        self.opened = ended.done.rows;
        if self.opened {
            // The columns, and no row: what ends them says that there is a cursor.
            self.wire.put(self.manner);
            self.wire.describe_columns(&self.columns);
            self.wire.bits = status::CURSOR_EXISTS;
        }
        self.wire.end(ended);
    }

    fn error(&mut self, error: &SqlError, charsets: &Charsets) {
        self.wire.error(error, charsets);
    }
}
