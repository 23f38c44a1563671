//! Replies by the protocol: result sets encoded straight into the connection's output buffer, which is sent when it
//! is full; OK, the end of rows, errors.

use crate::exchange::{Exchange, HeaderCache, Upload};
use gannet_base::Attached;
use gannet_exec::{RowSource, Rows, Stored};
use gannet_plan::plan::ResultColumn;
use gannet_runtime::{Conn, now_ns};
use gannet_session::Charsets;
use gannet_session::reply::{Change, ClientFile, Ended, Manner, Reading, Reply, Status};
use gannet_telemetry::{Counter, add};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, SqlError, SqlType, TypeId, Value, ValueRef, sql_err};
use gannet_wire::codec::put_lenenc;
use gannet_wire::compress::Algorithm;
use gannet_wire::flags::{cap, status};
use gannet_wire::frame::{MAX_PAYLOAD, Writer};
use gannet_wire::reply::{self, Column};
use gannet_wire::row::BinaryRow;
use gannet_wire::value::{BinaryColumn, Format, TextRow, binary_value, long_text, text_value};
use std::borrow::Cow;

/// The output buffer is sent when it holds more.
const FLUSH_BYTES: usize = 32 * 1024;
/// Rows with a value of more bytes are sent piece by piece.
const LONG: usize = 128 << 10;

/// The client's side of a command: its replies go to the connection.
pub struct Wire<'a> {
    pub exchange: Exchange<'a>,
    /// Rows go out in the binary protocol.
    pub binary: bool,
    /// Of the result set that is sent. The buffer is reused from statement to statement.
    pub formats: Vec<Format>,
    /// Agreed with the client.
    capabilities: u32,
    manner: Manner,
    /// Bits of the status word that are not of the session: of cursors.
    pub(crate) bits: u16,
    /// Values may be long.
    long: bool,
}

/// The status word of OK and EOF packets, as far as a session says it.
pub(crate) fn word(s: Status) -> u16 {
    let bit = |on: bool, bit: u16| u16::from(on) * bit;
    bit(s.autocommit, status::AUTOCOMMIT)
        | bit(s.in_transaction, status::IN_TRANS)
        | bit(s.read_only, status::IN_TRANS_READONLY)
        | bit(s.no_backslash_escapes, status::NO_BACKSLASH_ESCAPES)
        | bit(s.no_index, status::NO_INDEX_USED)
        | bit(s.more, status::MORE_RESULTS)
        | bit(s.database_dropped, status::DB_DROPPED)
        | bit(s.outs, status::PS_OUT_PARAMS)
}

/// Writes a change of the session's state.
fn put_change(change: &Change, out: &mut Vec<u8>) {
    match change {
        Change::Schema(name) => reply::put_schema_change(out, name.as_bytes()),
        Change::Variable(name, value) => reply::put_variable_change(out, name.as_bytes(), value.as_bytes()),
        Change::State => reply::put_state_change(out),
        Change::Transaction(letters) => reply::put_transaction_state(out, letters),
        Change::Gtids(set) => reply::put_gtids(out, set.as_bytes()),
        Change::Characteristics(text) => reply::put_transaction_characteristics(out, text.as_bytes()),
    }
}

/// Where names and messages, which are UTF-8, have to be converted for a client: to what.
fn other_than_utf8(charsets: &Charsets) -> Option<Charset> {
    charsets.results.filter(|to| !matches!(to, Charset::Utf8mb4 | Charset::Binary))
}

/// Writes the definition of a result column, names in `character_set_results`. `default`: for COM_FIELD_LIST.
pub(crate) fn put_column(w: &mut Writer<'_>, c: &ResultColumn, charsets: &Charsets, default: Option<Option<&str>>) {
    let column = describe(c, charsets);
    let put = |w: &mut Writer<'_>, column: &Column<'_>, text: &dyn Fn(&str) -> Vec<u8>| match default {
        None => reply::column(w, column),
        Some(default) => reply::column_with_default(w, column, default.map(text).as_deref()),
    };
    let Some(to) = other_than_utf8(charsets) else { return put(w, &column, &|text| text.into()) };
    let converted = |name: &[u8]| Charset::Utf8mb4.convert(name, to).bytes.into_owned();
    let [schema, table, org_table, name, org_name] =
        [column.schema, column.table, column.org_table, column.name, column.org_name].map(converted);
    let column =
        Column { schema: &schema, table: &table, org_table: &org_table, name: &name, org_name: &org_name, ..column };
    put(w, &column, &|text| converted(text.as_bytes()));
}

/// The text of an error in `character_set_results`. What that cannot say is told by its number, as in MySQL.
fn message_bytes<'t>(text: &'t str, charsets: &Charsets) -> Cow<'t, [u8]> {
    let text = &text[..text.floor_char_boundary(reply::MAX_MESSAGE)];
    let Some(to) = other_than_utf8(charsets) else { return text.as_bytes().into() };
    let whole = Charset::Utf8mb4.convert(text.as_bytes(), to);
    if !whole.lossy {
        return whole.bytes;
    }
    let mut told = String::with_capacity(text.len());
    for c in text.chars() {
        let fits = !Charset::Utf8mb4.convert(c.encode_utf8(&mut [0; 4]).as_bytes(), to).lossy;
        match u32::from(c) {
            _ if fits => told.push(c),
            n if n < 0x1_0000 => told.push_str(&format!("\\{n:04X}")),
            n => told.push_str(&format!("\\+{n:06X}")),
        }
    }
    Charset::Utf8mb4.convert(told.as_bytes(), to).bytes.into_owned().into()
}

/// The definition of a result column for a client, names in UTF-8.
fn describe<'c>(c: &'c ResultColumn, charsets: &Charsets) -> Column<'c> {
    let textual = c.ty.is_text() && c.ty.collation.charset() != Charset::Binary || c.ty.id == TypeId::Json;
    // A document that a column holds is bytes to clients, one that is computed is text.
    let own = if c.computed && c.ty.id == TypeId::Json { CollationId::UTF8MB4_BIN } else { c.ty.collation };
    let collation = if textual { charsets.result_collation(own) } else { 63 };
    let width = charsets.results.unwrap_or(own.charset()).max_len();
    Column {
        schema: c.schema.as_bytes(),
        table: c.table.as_bytes(),
        org_table: c.org_table.as_bytes(),
        name: c.name.as_bytes(),
        org_name: c.org_name.as_bytes(),
        collation,
        length: if c.computed { c.ty.expression_wire_length(width) } else { c.ty.wire_length(width) },
        ty: (if c.computed { c.ty.expression_wire_type() } else { c.ty.wire_type() }) as u8,
        flags: c.flags,
        decimals: if c.computed && (c.ty.is_text() || c.ty.id.is_string()) {
            SqlType::NOT_FIXED
        } else {
            c.ty.wire_decimals()
        },
    }
}

impl<'a> Wire<'a> {
    pub(crate) fn new(conn: &'a mut Conn, sequence: &'a mut u8, formats: Vec<Format>, capabilities: u32) -> Self {
        let exchange = Exchange { conn, sequence };
        Wire { exchange, binary: false, formats, capabilities, manner: Manner::PLAIN, bits: 0, long: false }
    }

    /// Those agreed with the client.
    pub(crate) fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// The status word of OK and EOF packets.
    pub(crate) fn word(&self, s: Status) -> u16 {
        self.bits | word(s)
    }

    pub fn writer(&mut self) -> Writer<'_> {
        self.exchange.writer()
    }

    /// How what follows is put, where no result set begins: columns without rows, rows of a cursor.
    pub fn put(&mut self, manner: Manner) {
        self.manner = manner;
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.exchange.conn.out()
    }

    /// Sends when enough has come together.
    #[inline(always)]
    fn flush_if_full(&mut self) -> Result<()> {
        if self.out().len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush(false)?;
        // A client that reads as fast as rows are made never lets the flush wait, and rows that are kept (of a
        // cursor, of SHOW) come from nothing that looks.
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    fn flush(&mut self, within_packet: bool) -> Result<()> {
        add(Counter::BytesSent, self.out().len() as u64);
        self.exchange.conn.set_deadline(Some(now_ns() + self.manner.write_timeout_ns));
        let sent = if within_packet { self.exchange.conn.flush_within_packet() } else { self.exchange.conn.flush() };
        sent.map_err(|e| match e.kind() {
            std::io::ErrorKind::Interrupted => sql_err!(QueryInterrupted),
            std::io::ErrorKind::TimedOut => sql_err!(NetWriteInterrupted),
            _ => sql_err!(NetErrorOnWrite),
        })
    }

    /// Writes a payload of any length, sending it as it goes: the output buffer does not grow with it. To a client
    /// that compresses it goes in one: there are some (Connector/Python) that expect a packet in two compressed
    /// ones at most.
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
                self.out().extend_from_slice(now);
                (part, room) = (rest, room - now.len());
                if in_pieces && self.out().len() >= FLUSH_BYTES {
                    self.flush(true)?;
                    gannet_runtime::yield_if_due();
                }
            }
        }
        if last == MAX_PAYLOAD {
            self.writer().announce(0);
        }
        self.flush_if_full()?;
        // The session may have been killed meanwhile.
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    fn header(&mut self, columns: &[ResultColumn], cache: Option<&HeaderCache>) {
        let manner = &self.manner;
        let plain = matches!(manner.charsets.results, Some(Charset::Utf8mb4)) && *self.exchange.sequence == 1;
        let optional = self.capabilities & cap::OPTIONAL_RESULTSET_METADATA != 0;
        let deprecate = self.capabilities & cap::DEPRECATE_EOF != 0;
        let Some(cache) = cache.filter(|_| plain && manner.metadata && columns.len() < 200) else {
            return self.write_header(columns);
        };
        let slot = usize::from(optional) | usize::from(deprecate) << 1;
        match cache.encoded[slot].get() {
            // What it tells of texts is another client's.
            Some((shown, _)) if *shown != manner.charsets.shown => self.write_header(columns),
            Some((_, bytes)) => {
                let out = self.exchange.conn.out();
                out.extend_from_slice(bytes);
                if !deprecate {
                    let (end, word) = (out.len(), self.bits | word(self.manner.status));
                    out[end - 2..].copy_from_slice(&word.to_le_bytes());
                }
                *self.exchange.sequence += columns.len() as u8 + 1 + u8::from(!deprecate);
            }
            None => {
                let (shown, at) = (manner.charsets.shown, self.out().len());
                self.write_header(columns);
                cache.encoded[slot].get_or_init(|| (shown, self.out()[at..].into()));
            }
        }
    }

    /// The columns of a result set, without their end.
    pub fn describe_columns(&mut self, columns: &[ResultColumn]) {
        let (capabilities, Manner { charsets, metadata, .. }) = (self.capabilities, self.manner);
        let mut w = self.writer();
        reply::column_count(&mut w, capabilities, columns.len(), metadata);
        for c in columns.iter().filter(|_| metadata) {
            put_column(&mut w, c, &charsets, None);
        }
    }

    fn write_header(&mut self, columns: &[ResultColumn]) {
        self.describe_columns(columns);
        let (capabilities, word) = (self.capabilities, self.word(self.manner.status));
        reply::end_of_columns(&mut self.writer(), capabilities, word);
    }

    /// A row that is encoded already, of a cursor.
    pub fn encoded_row(&mut self, row: &[u8]) -> Result<()> {
        if row.len() > LONG {
            return self.payload(row.len(), std::iter::once(row));
        }
        self.writer().packet(row);
        self.flush_if_full()
    }

    #[inline]
    fn put_row<'v>(&mut self, long: bool, value: impl Fn(usize) -> ValueRef<'v>) -> Result<()> {
        if long && (0..self.formats.len()).any(|c| value(c).long_bytes() > LONG) {
            return self.long_row(&value);
        }
        let results = self.manner.charsets.results;
        let mut w = Writer::new(self.exchange.conn.out(), self.exchange.sequence);
        let mark = w.begin();
        let out = w.buf();
        if self.binary {
            let row = BinaryRow::begin(out, self.formats.len());
            for (c, f) in self.formats.iter().enumerate() {
                binary_value(out, row, c, value(c), *f, results);
            }
        } else {
            for (c, f) in self.formats.iter().enumerate() {
                text_value(out, value(c), *f, results);
            }
        }
        w.end(mark);
        self.flush_if_full()
    }

    /// Writes the columns of a row from where it is stored; in case of an error, a part of them.
    #[inline]
    fn put_stored(&mut self, row: Stored<'_>) -> Result<()> {
        let results = self.manner.charsets.results;
        let out = self.exchange.conn.out();
        if self.binary {
            let head = BinaryRow::begin(out, self.formats.len());
            for (at, (column, f)) in row.columns.iter().zip(&self.formats).enumerate() {
                let mut to = BinaryColumn { out, row: head, at, format: *f, results, zone: row.zone };
                row.row.tell(*column as usize, &mut to)?;
            }
            return Ok(());
        }
        for (column, f) in row.columns.iter().zip(&self.formats) {
            row.row.tell(*column as usize, &mut TextRow { out, format: *f, results, zone: row.zone })?;
        }
        Ok(())
    }

    /// A row with long values: these are not copied.
    #[cold]
    fn long_row<'v>(&mut self, value: &dyn Fn(usize) -> ValueRef<'v>) -> Result<()> {
        let (results, binary) = (self.manner.charsets.results, self.binary);
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
        self.payload(total, parts.into_iter())
    }
}

impl Reply for Wire<'_> {
    fn begin(&mut self, columns: &[ResultColumn], manner: Manner, place: Option<&Attached>) -> Result<()> {
        self.manner = manner;
        let header = place.map(HeaderCache::at);
        let formats = || columns.iter().map(|c| Format::of(&c.ty));
        let long = || columns.iter().any(|c| c.ty.max_bytes() > LONG as u64);
        self.formats.clear();
        match header {
            Some(header) => {
                let (made, is_long) = header.formats.get_or_init(|| (formats().collect(), long()));
                self.formats.extend_from_slice(made);
                self.long = *is_long;
            }
            None => {
                self.formats.extend(formats());
                self.long = long();
            }
        }
        self.header(columns, header);
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()> {
        let long = self.long && rows.may_have_longer(LONG);
        if let (RowSource::One(values), 1) = (rows.source, count) {
            return self.put_row(long, |c| values[c].localize(rows.zone));
        }
        for i in 0..count {
            self.put_row(long, |c| rows.value(i, c))?;
        }
        Ok(())
    }

    fn stored(&mut self, row: Stored<'_>) -> Result<()> {
        if self.long && row.row.most_bytes() > LONG {
            return row.with_values(|rows| self.rows(rows, 1));
        }
        let mark = self.writer().begin();
        if let Err(error) = self.put_stored(row) {
            self.writer().cancel(mark);
            return Err(error);
        }
        self.writer().end(mark);
        self.flush_if_full()
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.put_row(self.long, |c| row[c].as_ref())
    }

    fn end(&mut self, ended: &Ended<'_>) {
        let Ended { done, status, warnings, changes } = ended;
        let (mut track, capabilities) = (Vec::new(), self.capabilities);
        changes.iter().for_each(|change| put_change(change, &mut track));
        let ok = reply::Ok {
            affected: done.affected,
            insert_id: done.insert_id,
            status: self.word(*status),
            warnings: (*warnings).min(u64::from(u16::MAX)) as u16,
            info: done.info.as_bytes(),
            state: &track,
        };
        let mut w = self.writer();
        if done.rows {
            reply::end_of_rows(&mut w, capabilities, &ok);
        } else {
            reply::ok(&mut w, capabilities, &ok);
        }
    }

    fn error(&mut self, error: &SqlError, charsets: &Charsets) {
        let (capabilities, message) = (self.capabilities, message_bytes(error.message(), charsets));
        reply::err_bytes(&mut self.writer(), capabilities, error.number(), &error.sqlstate(), &message);
    }

    fn resumes(&self) -> bool {
        true
    }

    fn client_file(&mut self, reading: Reading) -> Option<Box<dyn ClientFile + '_>> {
        let compressed = Algorithm::agreed(self.capabilities).is_some();
        let Exchange { conn, sequence } = &mut self.exchange;
        Some(Box::new(Upload::new(Exchange { conn, sequence }, reading, compressed)))
    }
}
