//! Results as the client sees them.

use super::{Connection, Error, Result};
use crate::codec::Reader;
use crate::command::{DateTime, Param, ParamType, Time};
use crate::flags::{cap, status, ty};
use crate::reply::{self, read_column};
use std::fmt::Write;

/// A column of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Database; empty for expressions.
    pub schema: String,
    /// Alias of the table.
    pub table: String,
    /// Name of the table or view; empty for expressions.
    pub org_table: String,
    /// Alias of the column.
    pub name: String,
    /// Name in its table.
    pub org_name: String,
    /// Collation id.
    pub collation: u16,
    /// Longest value, in bytes.
    pub length: u32,
    /// A [`ty`] byte.
    pub ty: u8,
    /// [`gannet_types::sqltype::flags`].
    pub flags: u16,
    /// Digits after the point.
    pub decimals: u8,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// Signed integer (binary protocol).
    Int(i64),
    /// Unsigned integer (binary protocol).
    UInt(u64),
    /// FLOAT (binary protocol).
    Float(f32),
    /// DOUBLE (binary protocol).
    Double(f64),
    /// Text, bytes, DECIMAL; every value of the text protocol.
    Bytes(Vec<u8>),
    /// DATE, DATETIME, TIMESTAMP (binary protocol).
    DateTime(DateTime),
    /// TIME (binary protocol).
    Time(Time),
}

impl ColumnInfo {
    /// Reads a column definition.
    pub(crate) fn read(packet: &[u8]) -> Result<ColumnInfo> {
        let c = read_column(packet)?;
        let s = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        Ok(ColumnInfo {
            schema: s(c.schema),
            table: s(c.table),
            org_table: s(c.org_table),
            name: s(c.name),
            org_name: s(c.org_name),
            collation: c.collation,
            length: c.length,
            ty: c.ty,
            flags: c.flags,
            decimals: c.decimals,
        })
    }
}

impl Cell {
    /// The value as the text protocol would print it, for integers, strings and dates; `None` for NULL.
    /// `decimals`: digits of the second in the column.
    pub fn text(&self, decimals: u8) -> Option<String> {
        let fraction = |s: &mut String, micros: u32| {
            if (1..=6).contains(&decimals) {
                let _ = write!(s, ".{:0w$}", micros / 10u32.pow(6 - u32::from(decimals)), w = decimals.into());
            }
        };
        Some(match self {
            Cell::Null => return None,
            Cell::Int(v) => v.to_string(),
            Cell::UInt(v) => v.to_string(),
            Cell::Float(v) => v.to_string(),
            Cell::Double(v) => v.to_string(),
            Cell::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            Cell::DateTime(d) => {
                let mut s = format!("{:04}-{:02}-{:02}", d.year, d.month, d.day);
                if !d.date_only {
                    let _ = write!(s, " {:02}:{:02}:{:02}", d.hour, d.minute, d.second);
                    fraction(&mut s, d.micros);
                }
                s
            }
            Cell::Time(t) => {
                let sign = if t.negative { "-" } else { "" };
                let mut s = format!("{sign}{:02}:{:02}:{:02}", t.days * 24 + u32::from(t.hours), t.minutes, t.seconds);
                fraction(&mut s, t.micros);
                s
            }
        })
    }

    /// An integer, from either protocol.
    pub fn int(&self) -> Option<i64> {
        match self {
            Cell::Int(v) => Some(*v),
            Cell::UInt(v) => i64::try_from(*v).ok(),
            Cell::Bytes(b) => std::str::from_utf8(b).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// A number, from either protocol.
    pub fn double(&self) -> Option<f64> {
        match self {
            Cell::Int(v) => Some(*v as f64),
            Cell::UInt(v) => Some(*v as f64),
            Cell::Float(v) => Some(f64::from(*v)),
            Cell::Double(v) => Some(*v),
            Cell::Bytes(b) => std::str::from_utf8(b).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The bytes of a string.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Cell::Bytes(b) => Some(b),
            _ => None,
        }
    }
}

/// What an OK or EOF packet said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OkInfo {
    /// Rows changed.
    pub affected: u64,
    /// Generated AUTO_INCREMENT value.
    pub insert_id: u64,
    /// [`status`] bits.
    pub status: u16,
    /// Number of warnings.
    pub warnings: u16,
    /// `Rows matched: ...` and the like.
    pub info: String,
    /// Session state changes: their kinds, and what they say (of a variable: name and value).
    pub changes: Vec<(u8, Vec<String>)>,
}

/// One result: rows, or none and what the statement did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultSet {
    /// Its columns; empty for statements without rows.
    pub columns: Vec<ColumnInfo>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// What ended it.
    pub ok: OkInfo,
}

impl ResultSet {
    /// The value in row `row`, column `column`.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.rows.get(row)?.get(column)
    }

    /// Rows as text, NULL as `NULL`.
    pub fn texts(&self) -> Vec<Vec<String>> {
        let text = |(c, info): (&Cell, &ColumnInfo)| c.text(info.decimals).unwrap_or_else(|| "NULL".into());
        self.rows.iter().map(|row| row.iter().zip(&self.columns).map(text).collect()).collect()
    }
}

pub(crate) fn read_error(payload: &[u8]) -> Result<Error> {
    let mut r = Reader::new(payload);
    r.u8()?;
    let code = r.u16()?;
    let sqlstate = match r.rest() {
        [b'#', a, b, c, d, e, ..] => {
            let s = [*a, *b, *c, *d, *e];
            r.bytes(6)?;
            s
        }
        _ => *b"HY000",
    };
    Ok(Error::Server { code, sqlstate, message: String::from_utf8_lossy(r.rest()).into_owned() })
}

impl Connection {
    /// Reads all results of a command.
    pub(super) fn results(&mut self, binary: bool) -> Result<Vec<ResultSet>> {
        let mut all = Vec::new();
        loop {
            let one = self.result(binary)?;
            let more = one.ok.status & status::MORE_RESULTS != 0;
            all.push(one);
            if !more {
                return Ok(all);
            }
        }
    }

    fn result(&mut self, binary: bool) -> Result<ResultSet> {
        let head = self.receive()?;
        if head.first() == Some(&reply::OK) {
            return Ok(ResultSet { ok: self.read_ok(&head)?, ..ResultSet::default() });
        }
        if head.first() == Some(&0xFB) {
            return Err(Error::Protocol("LOCAL INFILE is served by load_local alone"));
        }
        let columns = self.described_columns(&head)?;
        let (rows, ok) = self.rows(binary, &columns)?;
        Ok(ResultSet { columns, rows, ok })
    }

    /// The columns behind the head of a result; nameless ones where the server leaves the descriptions out.
    pub(super) fn described_columns(&mut self, head: &[u8]) -> Result<Vec<ColumnInfo>> {
        Ok(match self.column_count(head)? {
            (count, true) => self.columns(count)?,
            (count, false) => {
                if self.capabilities & cap::DEPRECATE_EOF == 0 {
                    self.receive()?;
                }
                vec![ColumnInfo::default(); count]
            }
        })
    }

    /// The number of columns of a result, and whether they are described.
    fn column_count(&self, head: &[u8]) -> Result<(usize, bool)> {
        let mut r = Reader::new(head);
        let count = usize::try_from(r.lenenc()?).map_err(|_| Error::Protocol("column count"))?;
        Ok((count, self.capabilities & cap::OPTIONAL_RESULTSET_METADATA == 0 || r.u8()? == 1))
    }

    /// Reads the answer to an execution with a cursor: columns, and what ends them.
    pub(super) fn cursor_opened(&mut self) -> Result<OkInfo> {
        let head = self.receive()?;
        if head.first() == Some(&reply::OK) && head.len() > 2 {
            return self.read_ok(&head);
        }
        let (count, described) = self.column_count(&head)?;
        for _ in 0..if described { count } else { 0 } {
            self.receive()?;
        }
        let end = self.receive()?;
        let ok = self.read_end(&end)?;
        if ok.status & status::CURSOR_EXISTS == 0 {
            return Err(Error::Protocol("there is no cursor"));
        }
        Ok(ok)
    }

    /// Reads rows and what ends them.
    pub(super) fn rows(&mut self, binary: bool, columns: &[ColumnInfo]) -> Result<(Vec<Vec<Cell>>, OkInfo)> {
        let mut rows = Vec::new();
        let ok = loop {
            let packet = self.receive()?;
            if packet.first() == Some(&reply::EOF) && (packet.len() < 9 || self.is_ok_end(&packet)) {
                break self.read_end(&packet)?;
            }
            rows.push(if binary { read_binary(&packet, columns)? } else { read_text(&packet, columns.len())? });
        };
        Ok((rows, ok))
    }

    /// A row may begin with 0xFE too: as the prefix of a string of 16 MiB and more.
    pub(super) fn is_ok_end(&self, packet: &[u8]) -> bool {
        self.capabilities & cap::DEPRECATE_EOF != 0 && packet.len() < crate::frame::MAX_PAYLOAD
    }

    pub(super) fn columns(&mut self, count: usize) -> Result<Vec<ColumnInfo>> {
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(ColumnInfo::read(&self.receive()?)?);
        }
        if count > 0 && self.capabilities & cap::DEPRECATE_EOF == 0 {
            self.receive()?;
        }
        Ok(columns)
    }

    pub(super) fn read_end(&self, packet: &[u8]) -> Result<OkInfo> {
        if self.capabilities & cap::DEPRECATE_EOF != 0 {
            return self.read_ok(packet);
        }
        let mut r = Reader::new(packet);
        r.u8()?;
        let (warnings, status) = (r.u16()?, r.u16()?);
        Ok(OkInfo { warnings, status, ..OkInfo::default() })
    }

    pub(super) fn read_ok(&self, packet: &[u8]) -> Result<OkInfo> {
        read_ok(packet, self.capabilities)
    }
}

/// Reads an OK packet, also one that ends rows.
pub(crate) fn read_ok(packet: &[u8], capabilities: u32) -> Result<OkInfo> {
    let mut r = Reader::new(packet);
    r.u8()?;
    let (affected, insert_id) = (r.lenenc()?, r.lenenc()?);
    let (status, warnings) = (r.u16()?, r.u16()?);
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let mut changes = Vec::new();
    let info = if r.is_empty() { &[][..] } else { r.lenenc_bytes()? };
    if capabilities & cap::SESSION_TRACK != 0 && status & status::SESSION_STATE_CHANGED != 0 {
        let mut all = Reader::new(r.lenenc_bytes()?);
        while !all.is_empty() {
            let kind = all.u8()?;
            let mut parts = Reader::new(all.lenenc_bytes()?);
            let mut said = Vec::new();
            while !parts.is_empty() {
                said.push(text(parts.lenenc_bytes()?));
            }
            changes.push((kind, said));
        }
    }
    Ok(OkInfo { affected, insert_id, status, warnings, info: text(info), changes })
}

/// Reads a row of the text protocol.
pub(crate) fn read_text(packet: &[u8], count: usize) -> Result<Vec<Cell>> {
    let mut r = Reader::new(packet);
    let mut row = Vec::with_capacity(count);
    for _ in 0..count {
        row.push(r.lenenc_bytes_or_null()?.map_or(Cell::Null, |b| Cell::Bytes(b.to_vec())));
    }
    if !r.is_empty() {
        return Err(Error::Protocol("bytes behind a row"));
    }
    Ok(row)
}

/// Reads a row of the binary protocol.
pub(crate) fn read_binary(packet: &[u8], columns: &[ColumnInfo]) -> Result<Vec<Cell>> {
    let mut r = Reader::new(packet);
    r.u8()?;
    let nulls = r.bytes((columns.len() + 9) / 8)?;
    let mut row = Vec::with_capacity(columns.len());
    for (i, c) in columns.iter().enumerate() {
        if nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1 == 1 {
            row.push(Cell::Null);
            continue;
        }
        let unsigned = c.flags & gannet_types::sqltype::flags::UNSIGNED != 0 || c.ty == ty::YEAR;
        row.push(match Param::read(ParamType { ty: c.ty, unsigned }, &mut r)? {
            Param::Null => Cell::Null,
            Param::Int(v) => Cell::Int(v),
            Param::UInt(v) => Cell::UInt(v),
            Param::Float(v) => Cell::Float(v),
            Param::Double(v) => Cell::Double(v),
            Param::Decimal(b) | Param::Text(b) | Param::Bytes(b) => Cell::Bytes(b.to_vec()),
            Param::DateTime(d) => Cell::DateTime(d),
            Param::Time(t) => Cell::Time(t),
        });
    }
    if !r.is_empty() {
        return Err(Error::Protocol("bytes behind a row"));
    }
    Ok(row)
}
