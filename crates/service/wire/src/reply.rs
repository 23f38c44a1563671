//! OK, ERR, EOF, column definitions and what frames a result.

use crate::codec::{Malformed, Reader, lenenc_len, put_lenenc, put_lenenc_bytes};
use crate::flags::{cap, status};
use crate::frame::Writer;

/// What an OK packet says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ok<'a> {
    /// Rows changed (or found, with CLIENT_FOUND_ROWS).
    pub affected: u64,
    /// Generated AUTO_INCREMENT value, or 0.
    pub insert_id: u64,
    /// [`status`] bits.
    pub status: u16,
    /// Number of warnings.
    pub warnings: u16,
    /// `Rows matched: ...` and the like.
    pub info: &'a [u8],
    /// Encoded session state changes ([`put_schema_change`] and siblings); empty = none. Sent to clients with
    /// SESSION_TRACK only.
    pub state: &'a [u8],
}

/// Tag of OK packets.
pub const OK: u8 = 0x00;
/// Tag of EOF packets, and of OK packets that stand for one.
pub const EOF: u8 = 0xFE;
/// Tag of ERR packets.
pub const ERR: u8 = 0xFF;

/// Writes an OK packet.
#[inline]
pub fn ok(out: &mut Writer<'_>, capabilities: u32, it: &Ok<'_>) {
    tagged_ok(out, OK, capabilities, it);
}

fn tagged_ok(out: &mut Writer<'_>, tag: u8, capabilities: u32, it: &Ok<'_>) {
    let mark = out.begin();
    let b = out.buf();
    let track = capabilities & cap::SESSION_TRACK != 0 && !it.state.is_empty();
    let bits = if track { it.status | status::SESSION_STATE_CHANGED } else { it.status };
    b.push(tag);
    put_lenenc(b, it.affected);
    put_lenenc(b, it.insert_id);
    b.extend_from_slice(&bits.to_le_bytes());
    b.extend_from_slice(&it.warnings.to_le_bytes());
    // The manual says string<EOF> for clients without SESSION_TRACK; servers write a length before it for those, too,
    // and Connector/J relies on it.
    if track || !it.info.is_empty() {
        put_lenenc_bytes(b, it.info);
    }
    if track {
        put_lenenc_bytes(b, it.state);
    }
    out.end(mark);
}

/// Ends rows: an OK packet with tag `0xFE` for clients with DEPRECATE_EOF, else EOF.
#[inline]
pub fn end_of_rows(out: &mut Writer<'_>, capabilities: u32, it: &Ok<'_>) {
    if capabilities & cap::DEPRECATE_EOF != 0 {
        tagged_ok(out, EOF, capabilities, it);
    } else {
        eof(out, it.status, it.warnings);
    }
}

/// Ends column definitions: nothing for clients with DEPRECATE_EOF, else EOF.
#[inline]
pub fn end_of_columns(out: &mut Writer<'_>, capabilities: u32, status: u16) {
    if capabilities & cap::DEPRECATE_EOF == 0 {
        eof(out, status, 0);
    }
}

#[inline(always)]
fn eof(out: &mut Writer<'_>, status: u16, warnings: u16) {
    let ([w0, w1], [s0, s1]) = (warnings.to_le_bytes(), status.to_le_bytes());
    out.packet(&[EOF, w0, w1, s0, s1]);
}

/// Longest message in an ERR packet, in bytes, as in MySQL.
pub const MAX_MESSAGE: usize = 512;

/// Writes an ERR packet with a message in UTF-8.
pub fn err(out: &mut Writer<'_>, capabilities: u32, code: u16, sqlstate: &[u8; 5], message: &str) {
    let cut = message.floor_char_boundary(MAX_MESSAGE);
    err_bytes(out, capabilities, code, sqlstate, &message.as_bytes()[..cut]);
}

/// Writes an ERR packet with a message in the client's character set. Clients that have not shown PROTOCOL_41 yet get
/// no SQLSTATE.
pub fn err_bytes(out: &mut Writer<'_>, capabilities: u32, code: u16, sqlstate: &[u8; 5], message: &[u8]) {
    let mark = out.begin();
    let b = out.buf();
    b.push(ERR);
    b.extend_from_slice(&code.to_le_bytes());
    if capabilities & cap::PROTOCOL_41 != 0 {
        b.push(b'#');
        b.extend_from_slice(sqlstate);
    }
    b.extend_from_slice(message);
    out.end(mark);
}

/// A column of a result set, as clients see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Column<'a> {
    /// Database of the table; empty for expressions.
    pub schema: &'a [u8],
    /// Alias of the table.
    pub table: &'a [u8],
    /// Name of the table.
    pub org_table: &'a [u8],
    /// Alias of the column.
    pub name: &'a [u8],
    /// Name of the column in its table.
    pub org_name: &'a [u8],
    /// Collation id; 63 for binary and numbers.
    pub collation: u16,
    /// Longest value, in bytes of the result's character set.
    pub length: u32,
    /// A [`crate::flags::ty`] byte.
    pub ty: u8,
    /// [`gannet_types::sqltype::flags`].
    pub flags: u16,
    /// Digits after the point; 31 for floating point of no fixed number and for strings that came from such.
    pub decimals: u8,
}

/// Writes the packet that opens a result set of `columns` columns. `metadata`: their definitions follow, which clients
/// with OPTIONAL_RESULTSET_METADATA can do without.
#[inline]
pub fn column_count(out: &mut Writer<'_>, capabilities: u32, columns: usize, metadata: bool) {
    let mark = out.begin();
    let b = out.buf();
    // libmysql reads the flag behind the count, which is what tells a result from OK; the manual has it before.
    put_lenenc(b, columns as u64);
    if capabilities & cap::OPTIONAL_RESULTSET_METADATA != 0 {
        b.push(metadata.into());
    }
    out.end(mark);
}

/// Writes a column definition.
pub fn column(out: &mut Writer<'_>, c: &Column<'_>) {
    let mark = out.begin();
    put_column(out.buf(), c);
    out.end(mark);
}

/// Writes a column definition of COM_FIELD_LIST: with the default value.
pub fn column_with_default(out: &mut Writer<'_>, c: &Column<'_>, default: Option<&[u8]>) {
    let mark = out.begin();
    put_column(out.buf(), c);
    match default {
        Some(d) => put_lenenc_bytes(out.buf(), d),
        None => out.buf().push(0xFB),
    }
    out.end(mark);
}

fn put_column(b: &mut Vec<u8>, c: &Column<'_>) {
    put_lenenc_bytes(b, b"def");
    for s in [c.schema, c.table, c.org_table, c.name, c.org_name] {
        put_lenenc_bytes(b, s);
    }
    b.push(0x0C);
    b.extend_from_slice(&c.collation.to_le_bytes());
    b.extend_from_slice(&c.length.to_le_bytes());
    b.push(c.ty);
    b.extend_from_slice(&c.flags.to_le_bytes());
    b.extend_from_slice(&[c.decimals, 0, 0]);
}

/// Reads a column definition; the client's side.
pub fn read_column(payload: &[u8]) -> Result<Column<'_>, Malformed> {
    let mut r = Reader::new(payload);
    r.lenenc_bytes()?;
    let (schema, table, org_table) = (r.lenenc_bytes()?, r.lenenc_bytes()?, r.lenenc_bytes()?);
    let (name, org_name) = (r.lenenc_bytes()?, r.lenenc_bytes()?);
    r.lenenc()?;
    let (collation, length) = (r.u16()?, r.u32()?);
    let (ty, flags, decimals) = (r.u8()?, r.u16()?, r.u8()?);
    std::result::Result::Ok(Column { schema, table, org_table, name, org_name, collation, length, ty, flags, decimals })
}

/// Writes the first packet of COM_STMT_PREPARE's reply. Definitions of parameters and of columns follow, each group
/// with [`end_of_columns`] when it is not empty.
pub fn prepared(out: &mut Writer<'_>, capabilities: u32, id: u32, columns: u16, params: u16, warnings: u16) {
    let mark = out.begin();
    let b = out.buf();
    b.push(OK);
    b.extend_from_slice(&id.to_le_bytes());
    b.extend_from_slice(&columns.to_le_bytes());
    b.extend_from_slice(&params.to_le_bytes());
    b.push(0);
    b.extend_from_slice(&warnings.to_le_bytes());
    if capabilities & cap::OPTIONAL_RESULTSET_METADATA != 0 {
        b.push(1);
    }
    out.end(mark);
}

/// Session state change: a system variable got a new value.
pub fn put_variable_change(state: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let n = lenenc_len(name.len() as u64) + name.len() + lenenc_len(value.len() as u64) + value.len();
    state.push(0);
    put_lenenc(state, n as u64);
    put_lenenc_bytes(state, name);
    put_lenenc_bytes(state, value);
}

/// Session state change: the current database.
pub fn put_schema_change(state: &mut Vec<u8>, schema: &[u8]) {
    put_wrapped(state, 1, schema);
}

/// Session state change: something changed.
pub fn put_state_change(state: &mut Vec<u8>) {
    put_wrapped(state, 2, b"1");
}

/// Session state change: the transaction's statements, to start it elsewhere.
pub fn put_transaction_characteristics(state: &mut Vec<u8>, statements: &[u8]) {
    put_wrapped(state, 4, statements);
}

/// Session state change: the eight letters of the transaction's state.
pub fn put_transaction_state(state: &mut Vec<u8>, letters: &[u8; 8]) {
    put_wrapped(state, 5, letters);
}

/// Session state change: GTIDs of transactions, behind the number of their notation.
pub fn put_gtids(state: &mut Vec<u8>, set: &[u8]) {
    state.push(3);
    put_lenenc(state, (1 + lenenc_len(set.len() as u64) + set.len()) as u64);
    state.push(0);
    put_lenenc_bytes(state, set);
}

fn put_wrapped(state: &mut Vec<u8>, kind: u8, value: &[u8]) {
    state.push(kind);
    put_lenenc(state, (lenenc_len(value.len() as u64) + value.len()) as u64);
    put_lenenc_bytes(state, value);
}
