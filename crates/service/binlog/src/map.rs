//! TABLE_MAP events: the columns of a table whose rows follow.
//!
//! ```text
//! 0   u48      number of the table
//! 6   u16      flags: 1, and 4 for a table with a generated invisible primary key
//! 8   ...      length (1), schema, 0; length (1), name, 0
//! ..  lenenc   number of columns N
//! ..  N bytes  their types
//! ..  lenenc   length of what belongs to the types, then that (see [`ColumnKind`])
//! ..  ...      (N + 7) / 8 bytes: columns that may be NULL, the first in the lowest bit
//! ..  ...      fields to the end: number (1), length (lenenc), content
//! ```
//!
//! Fields, with `binlog_row_metadata` MINIMAL 1 to 3, with FULL all: 1 UNSIGNED by numeric column, the first in the
//! highest bit; 2 default collation of text columns, then pairs of text column and collation; 3 collations of the
//! text columns; 4 names; 5, 6 members of SET, of ENUM columns; 8 columns of the primary key, 9 the same with prefix
//! lengths; 10, 11 as 2 and 3 for ENUM and SET; 12 visible columns, the first in the highest bit. Source: MySQL 8.4
//! Source Code Documentation, "Table_map_event".

use crate::format::{lenenc, lenenc_bytes, put_lenenc};
use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, SqlType, TypeId};
use std::collections::BTreeMap;

/// Numbers of types in events.
pub mod ty {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Columns of the widest table that is taken from others.
const MAX_COLUMNS: u64 = 4096;

/// How the values of a column are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// So many bytes.
    Int(u8),
    Float,
    Double,
    /// Precision and scale; both are in the event.
    Decimal(u8, u8),
    /// Bits; the event has `bits % 8`, `bits / 8`.
    Bit(u16),
    Year,
    Date,
    /// Digits of the second, as in the event.
    Time(u8),
    DateTime(u8),
    Timestamp(u8),
    /// As before MySQL 5.6: numbers in decimal digits.
    OldTime,
    OldDateTime,
    OldTimestamp,
    /// At most so many bytes. (`u16` in the event.)
    VarChar(u16),
    /// At most so many bytes, less than 1024. The event has the type 254, of which two bits are flipped by the
    /// length's bits 8 and 9, and its low byte.
    Char(u16),
    /// Bytes of the length. (One byte in the event.)
    Blob(u8),
    Json(u8),
    /// WKB.
    Geometry(u8),
    /// Bytes of the number. (Two bytes in the event: 247 or 248, and this.)
    Enum(u8),
    Set(u8),
}

impl ColumnKind {
    /// Its values are JSON documents.
    pub fn is_document(self) -> bool {
        matches!(self, ColumnKind::Json(_))
    }

    /// Of a stored column.
    pub fn of(ty: &SqlType) -> ColumnKind {
        let members = ty.members.as_ref().map_or(0, |m| m.names.len());
        match ty.id {
            TypeId::TinyInt | TypeId::SmallInt | TypeId::MediumInt | TypeId::Int | TypeId::BigInt => {
                ColumnKind::Int(ty.id.int_width() as u8)
            }
            TypeId::Float => ColumnKind::Float,
            TypeId::Double => ColumnKind::Double,
            TypeId::Decimal => ColumnKind::Decimal(ty.length as u8, ty.scale),
            TypeId::Bit => ColumnKind::Bit(ty.length as u16),
            TypeId::Year => ColumnKind::Year,
            TypeId::Date => ColumnKind::Date,
            TypeId::Time => ColumnKind::Time(ty.scale),
            TypeId::DateTime => ColumnKind::DateTime(ty.scale),
            TypeId::Timestamp => ColumnKind::Timestamp(ty.scale),
            TypeId::Char | TypeId::Binary => ColumnKind::Char(ty.max_bytes() as u16),
            TypeId::VarChar | TypeId::VarBinary | TypeId::Null => ColumnKind::VarChar(ty.max_bytes() as u16),
            TypeId::TinyText | TypeId::TinyBlob => ColumnKind::Blob(1),
            TypeId::Text | TypeId::Blob => ColumnKind::Blob(2),
            TypeId::MediumText | TypeId::MediumBlob => ColumnKind::Blob(3),
            TypeId::LongText | TypeId::LongBlob => ColumnKind::Blob(4),
            TypeId::Json => ColumnKind::Json(4),
            TypeId::Enum => ColumnKind::Enum(if members > 255 { 2 } else { 1 }),
            TypeId::Set => ColumnKind::Set(match members {
                0..=8 => 1,
                9..=16 => 2,
                17..=24 => 3,
                25..=32 => 4,
                _ => 8,
            }),
        }
    }

    /// Its number in the list of types.
    pub fn number(self) -> u8 {
        match self {
            ColumnKind::Int(1) => ty::TINY,
            ColumnKind::Int(2) => ty::SHORT,
            ColumnKind::Int(3) => ty::INT24,
            ColumnKind::Int(4) => ty::LONG,
            ColumnKind::Int(_) => ty::LONGLONG,
            ColumnKind::Float => ty::FLOAT,
            ColumnKind::Double => ty::DOUBLE,
            ColumnKind::Decimal(..) => ty::NEWDECIMAL,
            ColumnKind::Bit(_) => ty::BIT,
            ColumnKind::Year => ty::YEAR,
            ColumnKind::Date => ty::DATE,
            ColumnKind::Time(_) => ty::TIME2,
            ColumnKind::DateTime(_) => ty::DATETIME2,
            ColumnKind::Timestamp(_) => ty::TIMESTAMP2,
            ColumnKind::OldTime => ty::TIME,
            ColumnKind::OldDateTime => ty::DATETIME,
            ColumnKind::OldTimestamp => ty::TIMESTAMP,
            ColumnKind::VarChar(_) => ty::VARCHAR,
            ColumnKind::Char(_) | ColumnKind::Enum(_) | ColumnKind::Set(_) => ty::STRING,
            ColumnKind::Blob(_) => ty::BLOB,
            ColumnKind::Json(_) => ty::JSON,
            ColumnKind::Geometry(_) => ty::GEOMETRY,
        }
    }

    /// What belongs to the type.
    fn put_detail(self, out: &mut Vec<u8>) {
        match self {
            ColumnKind::Float => out.push(4),
            ColumnKind::Double => out.push(8),
            ColumnKind::Decimal(precision, scale) => out.extend_from_slice(&[precision, scale]),
            ColumnKind::Bit(bits) => out.extend_from_slice(&[(bits % 8) as u8, (bits / 8) as u8]),
            ColumnKind::Time(n) | ColumnKind::DateTime(n) | ColumnKind::Timestamp(n) => out.push(n),
            ColumnKind::VarChar(n) => out.extend_from_slice(&n.to_le_bytes()),
            ColumnKind::Char(n) => out.extend_from_slice(&[ty::STRING ^ (n >> 4 & 0x30) as u8, n as u8]),
            ColumnKind::Blob(n) | ColumnKind::Json(n) | ColumnKind::Geometry(n) => out.push(n),
            ColumnKind::Enum(n) => out.extend_from_slice(&[ty::ENUM, n]),
            ColumnKind::Set(n) => out.extend_from_slice(&[ty::SET, n]),
            ColumnKind::Int(_)
            | ColumnKind::Year
            | ColumnKind::Date
            | ColumnKind::OldTime
            | ColumnKind::OldDateTime
            | ColumnKind::OldTimestamp => {}
        }
    }

    fn decode(number: u8, r: &mut Reader<'_>) -> Result<ColumnKind, DecodeError> {
        Ok(match number {
            ty::TINY => ColumnKind::Int(1),
            ty::SHORT => ColumnKind::Int(2),
            ty::INT24 => ColumnKind::Int(3),
            ty::LONG => ColumnKind::Int(4),
            ty::LONGLONG => ColumnKind::Int(8),
            ty::FLOAT | ty::DOUBLE => {
                let wide = r.u8()? == 8;
                if wide { ColumnKind::Double } else { ColumnKind::Float }
            }
            ty::NEWDECIMAL => ColumnKind::Decimal(r.u8()?, r.u8()?),
            ty::BIT => {
                let [bits, bytes] = r.array()?;
                ColumnKind::Bit(u16::from(bits) + u16::from(bytes) * 8)
            }
            ty::YEAR => ColumnKind::Year,
            ty::DATE => ColumnKind::Date,
            ty::TIME2 => ColumnKind::Time(r.u8()?.min(6)),
            ty::DATETIME2 => ColumnKind::DateTime(r.u8()?.min(6)),
            ty::TIMESTAMP2 => ColumnKind::Timestamp(r.u8()?.min(6)),
            ty::TIME => ColumnKind::OldTime,
            ty::DATETIME => ColumnKind::OldDateTime,
            ty::TIMESTAMP => ColumnKind::OldTimestamp,
            ty::VARCHAR | ty::VAR_STRING => ColumnKind::VarChar(r.u16()?),
            ty::BLOB => ColumnKind::Blob(length_bytes(r)?),
            ty::JSON => ColumnKind::Json(length_bytes(r)?),
            ty::GEOMETRY => ColumnKind::Geometry(length_bytes(r)?),
            ty::STRING => {
                let [real, n] = r.array()?;
                match real {
                    ty::ENUM if matches!(n, 1 | 2) => ColumnKind::Enum(n),
                    ty::SET if matches!(n, 1..=4 | 8) => ColumnKind::Set(n),
                    _ if real | 0x30 == ty::STRING => {
                        ColumnKind::Char(u16::from(real & 0x30 ^ 0x30) << 4 | u16::from(n))
                    }
                    _ => return Err(r.invalid("type of a text column")),
                }
            }
            _ => return Err(r.invalid("type of a column")),
        })
    }

    /// A field says whether it is UNSIGNED. YEAR is one of them, and is.
    fn is_numeric(self) -> bool {
        use ColumnKind::{Decimal, Double, Float, Int, Year};
        matches!(self, Int(_) | Decimal(..) | Float | Double | Year)
    }

    fn is_text(self) -> bool {
        matches!(self, ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Blob(_))
    }

    fn is_list(self) -> bool {
        matches!(self, ColumnKind::Enum(_) | ColumnKind::Set(_))
    }
}

fn length_bytes(r: &mut Reader<'_>) -> Result<u8, DecodeError> {
    match r.u8()? {
        n @ 1..=4 => Ok(n),
        _ => Err(r.invalid("length of a length")),
    }
}

/// A column of a table whose rows are logged.
pub struct Column<'a> {
    /// Name.
    pub name: &'a str,
    /// Type.
    pub ty: &'a SqlType,
    /// SELECT * has it.
    pub visible: bool,
}

/// A table whose rows are logged.
pub struct Table<'a> {
    /// A number that its rows are logged under; 48 bits.
    pub id: u64,
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Columns in order.
    pub columns: &'a [Column<'a>],
    /// Positions of the primary key's columns, with the characters of a prefix or 0.
    pub primary_key: &'a [(u32, u32)],
    /// The first column is a generated invisible primary key.
    pub generated_key: bool,
}

/// The flag of a table with a generated invisible primary key.
pub(crate) const GENERATED_KEY: u16 = 4;

/// `binlog_row_metadata`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Metadata {
    /// Signedness and collations.
    #[default]
    Minimal,
    /// Names, members and keys too.
    Full,
}

impl Table<'_> {
    /// Appends the body.
    pub fn encode(&self, metadata: Metadata, out: &mut Vec<u8>) {
        let kinds: Vec<ColumnKind> = self.columns.iter().map(|c| ColumnKind::of(c.ty)).collect();
        let mut w = Writer::new(out);
        w.bytes(&self.id.to_le_bytes()[..6]).u16(if self.generated_key { 1 | GENERATED_KEY } else { 1 });
        for name in [self.schema, self.name] {
            w.u8(name.len() as u8).bytes(name.as_bytes()).u8(0);
        }
        put_lenenc(kinds.len() as u64, out);
        out.extend(kinds.iter().map(|k| k.number()));
        let mut details = Vec::new();
        kinds.iter().for_each(|k| k.put_detail(&mut details));
        put_lenenc(details.len() as u64, out);
        out.extend_from_slice(&details);
        let mut nulls = vec![0; kinds.len().div_ceil(8)];
        for (i, _) in self.columns.iter().enumerate().filter(|(_, c)| c.ty.nullable) {
            nulls[i / 8] |= 1 << (i % 8);
        }
        out.extend_from_slice(&nulls);
        self.put_fields(&kinds, metadata, out);
    }

    fn put_fields(&self, kinds: &[ColumnKind], metadata: Metadata, out: &mut Vec<u8>) {
        let columns = || kinds.iter().zip(self.columns);
        let unsigned = |(k, c): (&ColumnKind, &Column<'_>)| c.ty.unsigned || *k == ColumnKind::Year;
        let numeric: Vec<bool> = columns().filter(|(k, _)| k.is_numeric()).map(unsigned).collect();
        field(1, &high_bits(&numeric), out);
        let texts: Vec<CollationId> = columns().filter(|(k, _)| k.is_text()).map(|(_, c)| c.ty.collation).collect();
        put_collations(&texts, 2, 3, out);
        if metadata == Metadata::Minimal {
            return;
        }
        let mut content = Vec::new();
        for column in self.columns {
            put_text(column.name.as_bytes(), &mut content);
        }
        field(4, &content, out);
        let lists: Vec<CollationId> = columns().filter(|(k, _)| k.is_list()).map(|(_, c)| c.ty.collation).collect();
        put_collations(&lists, 10, 11, out);
        for (number, id) in [(5, TypeId::Set), (6, TypeId::Enum)] {
            content.clear();
            for members in self.columns.iter().filter(|c| c.ty.id == id).filter_map(|c| c.ty.members.as_ref()) {
                put_lenenc(members.names.len() as u64, &mut content);
                for name in &members.names {
                    let own = Charset::Utf8mb4.convert(name.as_bytes(), members.collation.charset());
                    put_text(&own.bytes, &mut content);
                }
            }
            field(number, &content, out);
        }
        content.clear();
        let prefixes = self.primary_key.iter().any(|(_, chars)| *chars > 0);
        for (column, chars) in self.primary_key {
            put_lenenc(u64::from(*column), &mut content);
            if prefixes {
                put_lenenc(u64::from(*chars), &mut content);
            }
        }
        field(if prefixes { 9 } else { 8 }, &content, out);
        if self.columns.iter().any(|c| !c.visible) {
            let visible: Vec<bool> = self.columns.iter().map(|c| c.visible).collect();
            field(12, &high_bits(&visible), out);
        }
    }
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    put_lenenc(text.len() as u64, out);
    out.extend_from_slice(text);
}

fn field(number: u8, content: &[u8], out: &mut Vec<u8>) {
    if !content.is_empty() {
        out.push(number);
        put_text(content, out);
    }
}

/// Bits, the first in the highest place.
fn high_bits(bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, _) in bits.iter().enumerate().filter(|(_, set)| **set) {
        bytes[i / 8] |= 0x80 >> (i % 8);
    }
    bytes
}

/// The collations of some columns, in the shorter of the two forms.
fn put_collations(collations: &[CollationId], by_default: u8, each: u8, out: &mut Vec<u8>) {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    collations.iter().for_each(|c| *counts.entry(c.0).or_default() += 1);
    let Some((common, _)) = counts.iter().max_by_key(|(_, n)| **n) else { return };
    let (mut short, mut long) = (Vec::new(), Vec::new());
    put_lenenc(u64::from(*common), &mut short);
    for (i, collation) in collations.iter().enumerate() {
        put_lenenc(u64::from(collation.0), &mut long);
        if collation.0 != *common {
            put_lenenc(i as u64, &mut short);
            put_lenenc(u64::from(collation.0), &mut short);
        }
    }
    if short.len() < long.len() || collations.len() == 1 {
        field(by_default, &short, out);
    } else {
        field(each, &long, out);
    }
}

/// A column as an event has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedColumn {
    /// How its values are encoded.
    pub kind: ColumnKind,
    /// It may be NULL.
    pub nullable: bool,
    /// UNSIGNED; `None` where the event does not say.
    pub unsigned: Option<bool>,
    /// Number of its collation; `None` where the event does not say.
    pub collation: Option<u16>,
    /// Its name; `None` where the event does not say.
    pub name: Option<Box<str>>,
}

/// A table as an event has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableMap {
    /// The number that its rows name.
    pub id: u64,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Columns in order.
    pub columns: Box<[MappedColumn]>,
    /// Positions of the primary key's columns; empty where the event does not say.
    pub primary_key: Box<[u32]>,
    /// The first column is a generated invisible primary key.
    pub generated_key: bool,
}

impl TableMap {
    /// From a body. Fields of unknown numbers are passed over.
    pub fn decode(body: &[u8]) -> Result<TableMap, DecodeError> {
        let mut r = Reader::new(body);
        let id = table_id(&mut r)?;
        let generated_key = r.u16()? & GENERATED_KEY != 0;
        let (schema, name) = (named(&mut r)?, named(&mut r)?);
        let n = lenenc(&mut r)?;
        if n == 0 || n > MAX_COLUMNS {
            return Err(r.invalid("number of columns"));
        }
        let types = r.bytes(n as usize)?;
        let mut details = Reader::new(lenenc_bytes(&mut r)?);
        let kinds = types.iter().map(|t| ColumnKind::decode(*t, &mut details)).collect::<Result<Vec<_>, _>>()?;
        let nulls = r.bytes(types.len().div_ceil(8))?;
        let column = |(i, kind): (usize, ColumnKind)| {
            let nullable = nulls[i / 8] >> (i % 8) & 1 == 1;
            MappedColumn { kind, nullable, unsigned: None, collation: None, name: None }
        };
        let columns = kinds.into_iter().enumerate().map(column).collect();
        let mut map = TableMap { id, schema, name, columns, primary_key: Box::default(), generated_key };
        while !r.is_empty() {
            let number = r.u8()?;
            map.take_field(number, lenenc_bytes(&mut r)?)?;
        }
        Ok(map)
    }

    fn take_field(&mut self, number: u8, content: &[u8]) -> Result<(), DecodeError> {
        let mut r = Reader::new(content);
        match number {
            1 => {
                for (i, column) in self.columns.iter_mut().filter(|c| c.kind.is_numeric()).enumerate() {
                    let byte = content.get(i / 8).ok_or(r.invalid("list of signs"))?;
                    column.unsigned = Some(byte << (i % 8) & 0x80 != 0);
                }
            }
            2 | 3 => collations(&mut r, number == 2, self.columns.iter_mut().filter(|c| c.kind.is_text()).collect())?,
            10 | 11 => {
                collations(&mut r, number == 10, self.columns.iter_mut().filter(|c| c.kind.is_list()).collect())?
            }
            4 => {
                for column in &mut self.columns {
                    column.name = Some(String::from_utf8_lossy(lenenc_bytes(&mut r)?).into());
                }
            }
            8 | 9 => {
                let mut key = Vec::new();
                while !r.is_empty() {
                    let at = lenenc(&mut r)?;
                    if at >= self.columns.len() as u64 {
                        return Err(r.invalid("column of a primary key"));
                    }
                    key.push(at as u32);
                    if number == 9 {
                        lenenc(&mut r)?;
                    }
                }
                self.primary_key = key.into();
            }
            _ => {}
        }
        Ok(())
    }
}

fn collations(r: &mut Reader<'_>, by_default: bool, mut columns: Vec<&mut MappedColumn>) -> Result<(), DecodeError> {
    let invalid = r.invalid("collation");
    let next = |r: &mut Reader<'_>| lenenc(r).and_then(|n| u16::try_from(n).map_err(|_| invalid));
    if by_default {
        let common = next(r)?;
        columns.iter_mut().for_each(|c| c.collation = Some(common));
        while !r.is_empty() {
            let at = usize::from(next(r)?);
            columns.get_mut(at).ok_or(invalid)?.collation = Some(next(r)?);
        }
        return Ok(());
    }
    for column in columns {
        column.collation = Some(next(r)?);
    }
    Ok(())
}

/// The number of a table.
pub(crate) fn table_id(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let mut id = [0; 8];
    id[..6].copy_from_slice(r.bytes(6)?);
    Ok(u64::from_le_bytes(id))
}

fn named(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let n = usize::from(r.u8()?);
    let name = String::from_utf8_lossy(r.bytes(n)?).into_owned();
    if r.u8()? != 0 {
        return Err(r.invalid("end of a name"));
    }
    Ok(name)
}
