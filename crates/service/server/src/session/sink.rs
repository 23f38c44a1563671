//! Result sets on their way to the client: encoded straight into the connection's output buffer, sent when it is full.

use super::Charsets;
use gannet_exec::{ResultSink, Rows};
use gannet_plan::plan::ResultColumn;
use gannet_runtime::{Conn, now_ns};
use gannet_telemetry::{Counter, add};
use gannet_types::charset::Charset;
use gannet_types::{Result, SqlError, SqlType, TypeId, Value, ValueRef, sql_err};
use gannet_wire::codec::put_lenenc;
use gannet_wire::compress::Algorithm;
use gannet_wire::flags::cap;
use gannet_wire::frame::{MAX_PAYLOAD, Writer};
use gannet_wire::reply::{self, Column};
use gannet_wire::row::BinaryRow;
use gannet_wire::value::{Format, binary_value, long_text, text_value};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The output buffer is sent when it holds more.
const FLUSH_BYTES: usize = 32 * 1024;
/// Rows with a value of more bytes are sent piece by piece.
const LONG: usize = 128 << 10;

/// Encoded column definitions of one plan, for the commonest kinds of client.
#[derive(Debug, Default)]
pub(crate) struct HeaderCache([OnceLock<Box<[u8]>>; 4]);

/// How a connection wants its results.
pub(crate) struct Target<'a> {
    pub(crate) conn: &'a mut Conn,
    pub(crate) sequence: &'a mut u8,
    pub(crate) capabilities: u32,
    pub(crate) charsets: Charsets,
    /// Status word of the EOF behind the columns.
    pub(crate) status: u16,
    /// Binary protocol.
    pub(crate) binary: bool,
    /// Columns are described.
    pub(crate) metadata: bool,
    /// `net_write_timeout`.
    pub(crate) write_timeout_ns: u64,
}

impl Target<'_> {
    fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.conn.out(), self.sequence)
    }

    /// Sends when enough has come together.
    fn flush_if_full(&mut self) -> Result<()> {
        if self.conn.out().len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush(false)?;
        // A client that reads as fast as rows are made never lets the flush wait, and rows that are kept (of a cursor, of SHOW) come
        // from nothing that looks.
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    fn flush(&mut self, within_packet: bool) -> Result<()> {
        add(Counter::BytesSent, self.conn.out().len() as u64);
        self.conn.set_deadline(Some(now_ns() + self.write_timeout_ns));
        let sent = if within_packet { self.conn.flush_within_packet() } else { self.conn.flush() };
        sent.map_err(|e| match e.kind() {
            std::io::ErrorKind::Interrupted => sql_err!(QueryInterrupted),
            std::io::ErrorKind::TimedOut => sql_err!(NetWriteInterrupted),
            _ => sql_err!(NetErrorOnWrite),
        })
    }

    /// Writes a payload of any length, sending it as it goes: the output buffer does not grow with it. To a client that compresses it
    /// goes in one: there are some (Connector/Python) that expect a packet in two compressed ones at most.
    fn payload<'p>(&mut self, total: usize, parts: impl Iterator<Item = &'p [u8]>) -> Result<()> {
        let in_pieces = Algorithm::agreed(self.capabilities).is_none();
        let mut last = self.writer().announce(total);
        let (mut room, mut left) = (last, total - last);
        for mut part in parts {
            while !part.is_empty() {
                if room == 0 {
                    last = self.writer().announce(left);
                    (room, left) = (last, left - last);
                }
                let (now, rest) = part.split_at(part.len().min(room).min(FLUSH_BYTES));
                self.conn.out().extend_from_slice(now);
                (part, room) = (rest, room - now.len());
                if in_pieces && self.conn.out().len() >= FLUSH_BYTES {
                    self.flush(true)?;
                    gannet_runtime::yield_if_due();
                }
            }
        }
        if last == MAX_PAYLOAD {
            self.writer().announce(0);
        }
        self.flush_if_full()?;
        // A kill that came in the middle.
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }
}

/// The sink of one result set.
pub(crate) struct WireSink<'a> {
    pub(crate) target: Target<'a>,
    /// Reused from statement to statement.
    pub(crate) formats: &'a mut Vec<Format>,
    pub(crate) header: Option<&'a HeaderCache>,
    /// `sql_select_limit`: rows that may still be sent.
    pub(crate) left: u64,
    /// Values may be long.
    pub(crate) long: bool,
    /// Column definitions are out: an error has to wait for its place behind them.
    pub(crate) began: bool,
    pub(crate) sent: u64,
}

/// The definition of a result column for a client.
pub(crate) fn describe<'c>(c: &'c ResultColumn, charsets: &Charsets) -> Column<'c> {
    let textual = c.ty.is_text() && c.ty.collation.charset() != Charset::Binary || c.ty.id == TypeId::Json;
    let collation = if textual { charsets.result_collation(c.ty.collation) } else { 63 };
    let width = match charsets.results {
        Some(to) if to != Charset::Binary => to.max_len(),
        _ => c.ty.collation.charset().max_len(),
    };
    Column {
        schema: c.schema.as_bytes(),
        table: c.table.as_bytes(),
        org_table: c.org_table.as_bytes(),
        name: c.name.as_bytes(),
        org_name: c.org_name.as_bytes(),
        collation,
        length: c.ty.wire_length(width),
        ty: c.ty.wire_type() as u8,
        flags: c.flags,
        decimals: match c.org_name.is_empty() && c.table.is_empty() && c.ty.id.is_string() {
            true => SqlType::NOT_FIXED,
            false => c.ty.wire_decimals(),
        },
    }
}

impl WireSink<'_> {
    fn header(&mut self, columns: &[ResultColumn]) {
        let t = &mut self.target;
        let plain = matches!(t.charsets.results, Some(Charset::Utf8mb4)) && *t.sequence == 1;
        let optional = t.capabilities & cap::OPTIONAL_RESULTSET_METADATA != 0;
        let deprecate = t.capabilities & cap::DEPRECATE_EOF != 0;
        let Some(cache) = self.header.filter(|_| plain && t.metadata && columns.len() < 200) else {
            return write_header(t, columns);
        };
        let slot = usize::from(optional) | usize::from(deprecate) << 1;
        let at = t.conn.out().len();
        match cache.0[slot].get() {
            Some(bytes) => {
                t.conn.out().extend_from_slice(bytes);
                *t.sequence += columns.len() as u8 + 1 + u8::from(!deprecate);
                if !deprecate {
                    let end = t.conn.out().len();
                    let status = t.status.to_le_bytes();
                    t.conn.out()[end - 2..].copy_from_slice(&status);
                }
            }
            None => {
                write_header(t, columns);
                let _ = cache.0[slot].set(t.conn.out()[at..].into());
            }
        }
    }
}

fn write_header(t: &mut Target<'_>, columns: &[ResultColumn]) {
    let (capabilities, charsets, status, metadata) = (t.capabilities, t.charsets, t.status, t.metadata);
    let mut w = t.writer();
    reply::column_count(&mut w, capabilities, columns.len(), metadata);
    for c in columns.iter().filter(|_| metadata) {
        reply::column(&mut w, &describe(c, &charsets));
    }
    reply::end_of_columns(&mut w, capabilities, status);
}

impl ResultSink for WireSink<'_> {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.formats.clear();
        self.formats.extend(columns.iter().map(|c| Format::of(&c.ty)));
        self.long = columns.iter().any(|c| c.ty.max_bytes() > LONG as u64);
        self.header(columns);
        self.began = true;
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let results = self.target.charsets.results;
        let binary = self.target.binary;
        let count = (rows.len() as u64).min(self.left);
        self.left -= count;
        self.sent += count;
        for i in 0..count as usize {
            if self.long && (0..self.formats.len()).any(|c| rows.value(i, c).long_bytes() > LONG) {
                self.long_row(&|c| rows.value(i, c))?;
                continue;
            }
            let mut w = self.target.writer();
            let mark = w.begin();
            let out = w.buf();
            if binary {
                let row = BinaryRow::begin(out, self.formats.len());
                for (c, f) in self.formats.iter().enumerate() {
                    binary_value(out, row, c, rows.value(i, c), *f, results);
                }
            } else {
                for (c, f) in self.formats.iter().enumerate() {
                    text_value(out, rows.value(i, c), *f, results);
                }
            }
            w.end(mark);
            self.target.flush_if_full()?;
        }
        Ok(())
    }
}

impl WireSink<'_> {
    /// A row that is encoded already.
    pub(crate) fn packet(&mut self, row: &[u8]) -> Result<()> {
        self.sent += 1;
        if row.len() > LONG {
            return self.target.payload(row.len(), std::iter::once(row));
        }
        self.target.writer().packet(row);
        self.target.flush_if_full()
    }

    /// A row with long values: these are not copied.
    #[cold]
    fn long_row<'v>(&mut self, value: &dyn Fn(usize) -> ValueRef<'v>) -> Result<()> {
        let (results, binary) = (self.target.charsets.results, self.target.binary);
        let mut short = Vec::new();
        // Long values, and how many of the others' bytes come before each.
        let mut long: Vec<(usize, Cow<'v, [u8]>)> = Vec::new();
        let head = binary.then(|| BinaryRow::begin(&mut short, self.formats.len()));
        for (c, f) in self.formats.iter().enumerate() {
            let v = value(c);
            if v.long_bytes() > LONG
                && (!binary || f.is_text())
                && let Some(bytes) = gannet_runtime::run_long(|| long_text(v, results))
            {
                put_lenenc(&mut short, bytes.len() as u64);
                long.push((short.len(), bytes));
                continue;
            }
            match head {
                Some(head) => binary_value(&mut short, head, c, v, *f, results),
                None => text_value(&mut short, v, *f, results),
            }
        }
        let total = short.len() + long.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut parts: Vec<&[u8]> = Vec::with_capacity(2 * long.len() + 1);
        let mut done = 0;
        for (at, bytes) in &long {
            parts.extend([&short[done..*at], &bytes[..]]);
            done = *at;
        }
        parts.push(&short[done..]);
        self.target.payload(total, parts.into_iter())
    }

    /// Rows that the server has at hand: SHOW and its kin.
    pub(crate) fn table(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()> {
        self.begin(columns)?;
        for row in rows {
            self.values(row)?;
        }
        Ok(())
    }

    fn values(&mut self, row: &[Value]) -> Result<()> {
        let results = self.target.charsets.results;
        let binary = self.target.binary;
        let mut w = self.target.writer();
        let mark = w.begin();
        let out = w.buf();
        if binary {
            let head = BinaryRow::begin(out, self.formats.len());
            for (c, (f, v)) in self.formats.iter().zip(row).enumerate() {
                binary_value(out, head, c, v.as_ref(), *f, results);
            }
        } else {
            for (f, v) in self.formats.iter().zip(row) {
                text_value(out, v.as_ref(), *f, results);
            }
        }
        w.end(mark);
        self.sent += 1;
        self.target.flush_if_full()
    }
}

/// A column of a result that no table is behind.
pub(crate) fn plain_column(name: &str, ty: SqlType) -> ResultColumn {
    let flags = ty.column_flags();
    ResultColumn {
        name: name.into(),
        org_name: "".into(),
        table: "".into(),
        org_table: "".into(),
        schema: "".into(),
        ty,
        flags,
    }
}

/// Keeps the only row of a query whose values go to variables. Error 1172 for a second one.
#[derive(Default)]
pub(crate) struct OneRowSink {
    pub(crate) row: Option<Vec<Value>>,
}

impl ResultSink for OneRowSink {
    fn begin(&mut self, _: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        if rows.len() + usize::from(self.row.is_some()) > 1 {
            return Err(sql_err!(TooManyRows));
        }
        if !rows.is_empty() {
            self.row = Some((0..rows.width()).map(|c| rows.value(0, c).to_owned()).collect());
        }
        Ok(())
    }
}

/// Keeps rows instead of sending them: subordinate queries of the server.
#[derive(Default)]
pub(crate) struct RowsSink {
    pub(crate) columns: Vec<ResultColumn>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl RowsSink {
    /// Takes the last column away; its value in the last row.
    pub(crate) fn take_last_column(&mut self) -> Option<Value> {
        self.columns.pop();
        self.rows.iter_mut().map(Vec::pop).last().flatten()
    }
}

/// Rows that [`RowsSink`] keeps at most.
const MAX_KEPT_ROWS: usize = 1_000_000;

impl ResultSink for RowsSink {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        if self.rows.len() + rows.len() > MAX_KEPT_ROWS {
            return Err(SqlError::internal("too many rows in a subordinate query"));
        }
        for i in 0..rows.len() {
            self.rows.push((0..rows.width()).map(|c| rows.value(i, c).to_owned()).collect());
        }
        Ok(())
    }
}
