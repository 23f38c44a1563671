//! Stored rows.
//!
//! Payload, little-endian:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | the definition the row was written with, see below; bit 15: ends are 4 bytes wide instead of 2 |
//! | 2 | 0 or 2 | with bit 13: bits 13..=28 of the definition's number |
//! | 2 or 4 | ceil(nullable / 8) | NULL bits, one for each nullable column, in column order |
//! | | | columns of fixed width, in column order, zero where NULL |
//! | | 2 or 4 each | end of each variable column, counted from the first variable byte |
//! | | | variable bytes: short columns in column order, then long ones (more than [`SHORT_BYTES`] by declaration), in column order |
//!
//! Bit 14 clear: bits 0..=12 are the number of columns; that is definition 0, the table's as its rows were written
//! first. Bit 14 set: bits 0..=12 (and with bit 13 the next two bytes) are the number of a later definition.
//!
//! Offsets depend on the definition only, so any column is found in constant time, and a prefix of the payload that
//! holds the ends gives all short columns. A layout knows all definitions that rows may have been written with: columns
//! are asked for by their place in the newest one, whatever place and type they have in the row's; a column that came
//! later reads as the value that it came with.
//!
//! Fixed widths: integers 1, 2, 3, 4, 8; FLOAT 4; DOUBLE 8; DECIMAL as [`Decimal::encode`]; DATE 3; TIME 3 + f,
//! DATETIME 5 + f, TIMESTAMP 4 + f with f = ceil(fsp / 2) bytes of fraction; YEAR 1; ENUM 2; SET 8; BIT ceil(n / 8).
//! CHAR is variable, without trailing spaces.

use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::{Result, SqlError};
use crate::members::Members;
use crate::sql_err;
use crate::sqltype::{SqlType, TypeId};
use crate::temporal::{Date, DateTime, Time, Timestamp};
use crate::value::{Value, ValueRef};
use std::sync::Arc;

mod told;

pub use told::Taker;

/// A variable column whose values take at most this many bytes is short.
pub const SHORT_BYTES: u64 = 2048;
/// Columns of a table.
pub const MAX_COLUMNS: usize = 4096;

const WIDE: u16 = 1 << 15;
/// The row names its definition by number.
const NAMED: u16 = 1 << 14;
/// The number goes on in the next two bytes.
const MORE: u16 = 1 << 13;
const COUNT: u16 = (1 << 13) - 1;
/// The greatest number of a definition.
pub const MAX_DEFINITION: u32 = (1 << 29) - 1;
const NEVER_NULL: u16 = u16::MAX;

/// How one column's bytes become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I8,
    I16,
    I24,
    I32,
    I64,
    U8,
    U16,
    U24,
    U32,
    U64,
    Decimal {
        len: u8,
        scale: u8,
    },
    Float,
    Double,
    Date,
    Time(u8),
    DateTime(u8),
    Timestamp(u8),
    Year,
    Bit(u8),
    Enum,
    Set,
    Str,
    Json,
    /// The column came later.
    Absent,
}

/// A definition that rows may have been written with before the newest one.
#[derive(Clone, Debug, PartialEq)]
pub struct OlderDefinition {
    /// Its number; 0: the first.
    pub number: u32,
    /// Types of its columns, and the place that each has in the newest definition, unless it was dropped.
    pub columns: Vec<(SqlType, Option<usize>)>,
}

#[derive(Clone, Debug)]
struct Column {
    kind: Kind,
    collation: CollationId,
    /// Place of the NULL bit, counted from the payload's first bit.
    null: u16,
    /// Offset of a fixed column; rank of a variable one.
    place: u32,
    members: Option<Arc<Members>>,
}

/// Places of columns in the rows of one definition.
#[derive(Clone, Debug)]
struct Shape {
    /// By place in the newest definition; where a row has none, its kind is [`Kind::Absent`].
    columns: Vec<Column>,
    /// Its first two bytes, without bit 15, and the two that may follow.
    header: (u16, u16),
    /// Where the fixed columns start, behind the NULL bits, and where the ends do.
    fixed: usize,
    fixed_end: usize,
    /// Where the variable bytes start behind narrow ends, and behind wide ones.
    data: usize,
    data_wide: usize,
    variable: usize,
    short: usize,
    /// Columns in the order of their variable bytes.
    order: Vec<u16>,
}

/// The layout of a table's rows. Immutable; share it.
#[derive(Clone, Debug)]
pub struct RowLayout {
    current: Shape,
    /// The first two bytes of its rows without bit 15, where they are enough to know it.
    word: u16,
    /// Shapes of rows from before, by their headers.
    older: Vec<Shape>,
    /// What columns that came later read as, by place; short lists read as NULL.
    defaults: Vec<Value>,
}

/// The payload is not a row of this layout: why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Corrupt {
    /// It ends before the bytes asked for.
    Short,
    /// It was written with a definition that the table never had.
    Columns,
    /// The table has no such column, or it is of another kind.
    Column,
    /// Bytes that are no value of the column's type.
    Value,
}

impl From<Corrupt> for SqlError {
    #[cold]
    fn from(c: Corrupt) -> SqlError {
        sql_err!(IndexCorrupt, format_args!("row ({c})"))
    }
}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Corrupt::Short => "cut short",
            Corrupt::Columns => "unknown definition",
            Corrupt::Column => "no such column",
            Corrupt::Value => "impossible value",
        })
    }
}

impl std::error::Error for Corrupt {}

/// Bytes of a row's header.
fn header_len(header: u16) -> usize {
    if header & (NAMED | MORE) == NAMED | MORE { 4 } else { 2 }
}

impl Shape {
    fn new(types: &[SqlType], number: u32) -> Shape {
        let nullable = types.iter().filter(|t| t.nullable).count();
        let low = number as u16 & COUNT;
        let header = match number {
            0 => (types.len() as u16, 0),
            n if n <= u32::from(COUNT) => (NAMED | low, 0),
            n => (NAMED | MORE | low, (n >> 13) as u16),
        };
        let fixed = header_len(header.0) + nullable.div_ceil(8);
        let mut offset = fixed;
        let mut nulls = 8 * header_len(header.0) as u16;
        let mut columns: Vec<Column> = types
            .iter()
            .map(|ty| {
                let (kind, width) = Kind::of(ty);
                let null = if ty.nullable { nulls } else { NEVER_NULL };
                nulls += u16::from(ty.nullable);
                let place = offset as u32;
                offset += width;
                Column { kind, collation: ty.collation, null, place, members: ty.members.clone() }
            })
            .collect();
        let variable = |long: bool| {
            (0..types.len())
                .filter(move |i| Kind::of(&types[*i]).1 == 0 && (types[*i].max_bytes() > SHORT_BYTES) == long)
        };
        let short = variable(false).count();
        let order: Vec<u16> = variable(false).chain(variable(true)).map(|i| i as u16).collect();
        for (rank, i) in order.iter().enumerate() {
            columns[usize::from(*i)].place = rank as u32;
        }
        let variable = order.len();
        Shape {
            columns,
            header,
            fixed,
            fixed_end: offset,
            data: offset + variable * 2,
            data_wide: offset + variable * 4,
            variable,
            short,
            order,
        }
    }

    /// The shape of an older definition, its columns in the order of the newest one, whose types are `newest`. What may
    /// differ between two types whose values are the same bytes is the newest one's: collation, members.
    fn older(definition: &OlderDefinition, newest: &[SqlType]) -> Shape {
        let types: Vec<SqlType> = definition.columns.iter().map(|(ty, _)| ty.clone()).collect();
        let mut shape = Shape::new(&types, definition.number);
        let absent =
            Column { kind: Kind::Absent, collation: CollationId::DEFAULT, null: NEVER_NULL, place: 0, members: None };
        let mut columns = vec![absent; newest.len()];
        for (column, (_, now)) in shape.columns.drain(..).zip(&definition.columns) {
            if let Some((place, ty)) = now.and_then(|now| Some((columns.get_mut(now)?, newest.get(now)?))) {
                *place = Column { collation: ty.collation, members: ty.members.clone(), ..column };
            }
        }
        shape.columns = columns;
        shape
    }

    /// Start of variable bytes.
    #[inline]
    fn data_start(&self, wide: bool) -> usize {
        if wide { self.data_wide } else { self.data }
    }

    /// End of the variable bytes of a rank.
    fn end(&self, payload: &[u8], wide: bool, rank: usize) -> Option<usize> {
        if rank >= self.variable {
            return None;
        }
        if wide {
            let at = self.fixed_end + rank * 4;
            Some(u32::from_le_bytes(*payload.get(at..)?.first_chunk()?) as usize)
        } else {
            let at = self.fixed_end + rank * 2;
            Some(usize::from(u16::from_le_bytes(*payload.get(at..)?.first_chunk()?)))
        }
    }

    #[inline]
    fn variable<'a>(&self, payload: &'a [u8], wide: bool, rank: usize) -> Option<&'a [u8]> {
        if wide {
            return self.variable_wide(payload, rank);
        }
        let at = self.fixed_end + rank * 2;
        // The end before and the own one are neighbours: one load.
        let (start, end) = if rank > 0 {
            let pair = u32::from_le_bytes(*payload.get(at - 2..)?.first_chunk()?);
            (pair as u16, (pair >> 16) as u16)
        } else {
            (0, u16::from_le_bytes(*payload.get(at..)?.first_chunk()?))
        };
        payload.get(self.data + usize::from(start)..self.data + usize::from(end))
    }

    #[cold]
    fn variable_wide<'a>(&self, payload: &'a [u8], rank: usize) -> Option<&'a [u8]> {
        let start = if rank == 0 { 0 } else { self.end(payload, true, rank - 1)? };
        let end = self.end(payload, true, rank)?;
        payload.get(self.data_wide..)?.get(start..end)
    }
}

/// A payload, and what it was written with.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    layout: &'a RowLayout,
    shape: &'a Shape,
    wide: bool,
    payload: &'a [u8],
}

impl<'a> StoredRow<'a> {
    /// As [`RowLayout::get`].
    #[inline]
    pub fn get(&self, col: usize) -> Result<ValueRef<'a>, Corrupt> {
        let StoredRow { layout, shape, wide, payload } = *self;
        let Some(column) = shape.columns.get(col) else { return Err(Corrupt::Column) };
        if is_null(column, payload)? {
            return Ok(ValueRef::Null);
        }
        match column.kind {
            Kind::Str => {
                let bytes = shape.variable(payload, wide, column.place as usize).ok_or(SHORT)?;
                Ok(ValueRef::Str(bytes, column.collation))
            }
            Kind::I32 => {
                let bytes = payload.get(column.place as usize..).and_then(|b| b.first_chunk()).ok_or(SHORT)?;
                Ok(ValueRef::Int(i64::from(i32::from_le_bytes(*bytes))))
            }
            Kind::Json => Ok(ValueRef::Json(shape.variable(payload, wide, column.place as usize).ok_or(SHORT)?)),
            Kind::Absent => layout.default(col),
            _ => fixed(column, payload.get(column.place as usize..).ok_or(SHORT)?),
        }
    }

    /// Bytes of the payload.
    #[inline]
    pub fn size(&self) -> usize {
        self.payload.len()
    }

    /// It was written with the newest definition: it has all columns, in the form of their types.
    #[inline]
    pub fn is_current(&self) -> bool {
        std::ptr::eq(self.shape, &self.layout.current)
    }

    /// The bytes of a column of a current row, as they are stored; `None` for NULL. `width` is that of its type, 0
    /// where it varies.
    #[inline(always)]
    pub fn bytes(&self, col: usize, width: usize) -> Result<Option<&'a [u8]>, Corrupt> {
        let StoredRow { shape, wide, payload, .. } = *self;
        let Some(column) = shape.columns.get(col) else { return Err(Corrupt::Column) };
        if is_null(column, payload)? {
            return Ok(None);
        }
        let place = column.place as usize;
        let bytes = if width == 0 { shape.variable(payload, wide, place) } else { payload.get(place..place + width) };
        bytes.map(Some).ok_or(SHORT)
    }

    /// Another current row has the same NULLs and variable columns.
    #[inline]
    pub fn is_like(&self, other: &StoredRow<'_>) -> bool {
        let Shape { fixed, fixed_end, .. } = *self.shape;
        let (a, b) = (self.payload, other.payload);
        std::ptr::eq(self.shape, other.shape)
            && self.is_current()
            && a.len() == b.len()
            && a.len() >= fixed_end
            && a[..fixed] == b[..fixed]
            && a[fixed_end..] == b[fixed_end..]
    }

    /// Appends the value of a column. The kinds that have no vector of their own are made where they stay.
    pub fn append(&self, col: usize, to: &mut Vec<Value>) -> Result<(), Corrupt> {
        let Some(column) = self.shape.columns.get(col) else { return Err(Corrupt::Column) };
        let bytes = self.payload.get(column.place as usize..).unwrap_or_default();
        let value = match column.kind {
            _ if is_null(column, self.payload)? => Value::Null,
            Kind::Decimal { len, scale } => {
                let short = bytes.get(..usize::from(len)).and_then(|bytes| Decimal::decode_short(bytes, scale));
                match short {
                    Some(short) => Value::Decimal(short),
                    None => self.get(col)?.to_owned(),
                }
            }
            Kind::Date => Value::Date(Date::from_packed(le(bytes, 3)? as u32).ok_or(Corrupt::Value)?),
            _ => self.get(col)?.to_owned(),
        };
        to.push(value);
        Ok(())
    }
}

impl Kind {
    /// Kind and fixed width; 0 for variable columns.
    fn of(ty: &SqlType) -> (Kind, usize) {
        let fraction = usize::from(ty.scale.min(6).div_ceil(2));
        match ty.id {
            TypeId::TinyInt => (if ty.unsigned { Kind::U8 } else { Kind::I8 }, 1),
            TypeId::SmallInt => (if ty.unsigned { Kind::U16 } else { Kind::I16 }, 2),
            TypeId::MediumInt => (if ty.unsigned { Kind::U24 } else { Kind::I24 }, 3),
            TypeId::Int => (if ty.unsigned { Kind::U32 } else { Kind::I32 }, 4),
            TypeId::BigInt | TypeId::Null => (if ty.unsigned { Kind::U64 } else { Kind::I64 }, 8),
            TypeId::Decimal => {
                let len = Decimal::encoded_len(ty.length as u8);
                (Kind::Decimal { len: len as u8, scale: ty.scale }, len)
            }
            TypeId::Float => (Kind::Float, 4),
            TypeId::Double => (Kind::Double, 8),
            TypeId::Date => (Kind::Date, 3),
            TypeId::Time => (Kind::Time(ty.scale.min(6)), 3 + fraction),
            TypeId::DateTime => (Kind::DateTime(ty.scale.min(6)), 5 + fraction),
            TypeId::Timestamp => (Kind::Timestamp(ty.scale.min(6)), 4 + fraction),
            TypeId::Year => (Kind::Year, 1),
            TypeId::Bit => (Kind::Bit(ty.length.clamp(1, 64) as u8), (ty.length.clamp(1, 64) as usize).div_ceil(8)),
            TypeId::Enum => (Kind::Enum, 2),
            TypeId::Set => (Kind::Set, 8),
            TypeId::Json => (Kind::Json, 0),
            _ => (Kind::Str, 0),
        }
    }
}

impl RowLayout {
    /// The layout of rows that are all of one definition.
    pub fn new(types: &[SqlType]) -> RowLayout {
        RowLayout::with_history(types, 0, &[], Vec::new())
    }

    /// The layout of a table whose definition was changed without rewriting its rows: `number` is that of the newest
    /// definition, `defaults` what columns that came later read as (by place; short lists read as NULL).
    pub fn with_history(
        types: &[SqlType],
        number: u32,
        history: &[OlderDefinition],
        defaults: Vec<Value>,
    ) -> RowLayout {
        let mut older: Vec<Shape> = history.iter().map(|h| Shape::older(h, types)).collect();
        older.sort_unstable_by_key(|s| s.header);
        let current = Shape::new(types, number);
        let word = if current.header.0 & (NAMED | MORE) == NAMED | MORE { u16::MAX } else { current.header.0 };
        RowLayout { current, word, older, defaults }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.current.columns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.current.columns.is_empty()
    }

    /// The shape a payload was written with, and whether its ends are wide.
    #[inline]
    fn shape(&self, payload: &[u8]) -> Result<(&Shape, bool), Corrupt> {
        let header = u16::from_le_bytes(*payload.first_chunk().ok_or(Corrupt::Short)?);
        let shape =
            if header & !WIDE == self.word { &self.current } else { self.older_shape(header & !WIDE, payload)? };
        Ok((shape, header & WIDE != 0))
    }

    #[cold]
    fn older_shape(&self, header: u16, payload: &[u8]) -> Result<&Shape, Corrupt> {
        let more = header & (NAMED | MORE) == NAMED | MORE;
        let high = if more { le(payload.get(2..).ok_or(SHORT)?, 2)? as u16 } else { 0 };
        if self.current.header == (header, high) {
            return Ok(&self.current);
        }
        let at = self.older.binary_search_by_key(&(header, high), |s| s.header).map_err(|_| Corrupt::Columns)?;
        Ok(&self.older[at])
    }

    /// The value of column `col`. Errors for bytes that are no row of this layout; never panics.
    #[inline]
    pub fn get<'a>(&'a self, payload: &'a [u8], col: usize) -> Result<ValueRef<'a>, Corrupt> {
        self.open(payload)?.get(col)
    }

    /// A payload of which several columns are read.
    #[inline]
    pub fn open<'a>(&'a self, payload: &'a [u8]) -> Result<StoredRow<'a>, Corrupt> {
        let (shape, wide) = self.shape(payload)?;
        Ok(StoredRow { layout: self, shape, wide, payload })
    }

    /// Puts a value in the place of the one that a payload has; false: not in place, for it takes another number of
    /// bytes, one of both is NULL, or the row was written with fewer columns.
    pub fn patch(&self, payload: &mut [u8], col: usize, value: ValueRef<'_>) -> Result<bool, Corrupt> {
        let (shape, wide) = self.shape(payload)?;
        // A row of an older definition is written anew, in the newest form.
        let Some(column) = shape.columns.get(col).filter(|_| std::ptr::eq(shape, &self.current)) else {
            return Ok(false);
        };
        if value.is_null() || is_null(column, payload)? {
            return Ok(false);
        }
        let place = column.place as usize;
        if !matches!(column.kind, Kind::Str | Kind::Json) {
            let fixed = payload.get_mut(..shape.fixed_end).ok_or(SHORT)?;
            return Ok(put_fixed(column.kind, value, &mut fixed[place..]).is_some());
        }
        let (ValueRef::Str(bytes, _) | ValueRef::Json(bytes)) = value else { return Ok(false) };
        let start = if place == 0 { 0 } else { shape.end(payload, wide, place - 1).ok_or(SHORT)? };
        let end = shape.end(payload, wide, place).ok_or(SHORT)?;
        let old = payload.get_mut(shape.data_start(wide)..).and_then(|data| data.get_mut(start..end)).ok_or(SHORT)?;
        let same = old.len() == bytes.len();
        if same {
            old.copy_from_slice(bytes);
        }
        Ok(same)
    }

    /// The bytes of a text or binary column, without a detour over a value; `None` for NULL. For other kinds an error.
    #[inline]
    pub fn get_bytes<'a>(&'a self, payload: &'a [u8], col: usize) -> Result<Option<&'a [u8]>, Corrupt> {
        let (shape, wide) = self.shape(payload)?;
        if let Some(column) = shape.columns.get(col)
            && column.kind == Kind::Str
        {
            if is_null(column, payload)? {
                return Ok(None);
            }
            return shape.variable(payload, wide, column.place as usize).map(Some).ok_or(SHORT);
        }
        match self.get(payload, col)? {
            ValueRef::Null => Ok(None),
            ValueRef::Str(bytes, _) | ValueRef::Json(bytes) => Ok(Some(bytes)),
            _ => Err(Corrupt::Column),
        }
    }

    #[cold]
    fn default(&self, col: usize) -> Result<ValueRef<'_>, Corrupt> {
        if col >= self.len() {
            return Err(Corrupt::Column);
        }
        Ok(self.defaults.get(col).map_or(ValueRef::Null, Value::as_ref))
    }

    /// Bytes from the front of the payload that suffice to read all short columns. `payload` may be cut behind its
    /// ends.
    pub fn short_len(&self, payload: &[u8]) -> Result<usize, Corrupt> {
        let (shape, wide) = self.shape(payload)?;
        let short = if shape.short == 0 { 0 } else { shape.end(payload, wide, shape.short - 1).ok_or(SHORT)? };
        Ok(shape.data_start(wide) + short)
    }

    /// Length of the front part (header, NULL bits, fixed columns) plus ends, an upper bound for rows of this layout.
    pub fn head_len(&self) -> usize {
        self.current.data_start(true)
    }

    /// Is column `col` among the long ones, which a prefix of the payload may lack?
    pub fn is_long(&self, col: usize) -> bool {
        self.current.order.iter().skip(self.current.short).any(|c| usize::from(*c) == col)
    }

    /// Appends the payload of a row. Values must have been converted to the columns' types (`convert::store`); error
    /// 1815 if not.
    #[inline]
    pub fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.len() {
            return Err(SqlError::internal("row with a wrong number of columns"));
        }
        self.encode_with(|i| values[i], out)
    }

    /// As [`encode`](Self::encode), of owned values.
    pub fn encode_values(&self, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.len() {
            return Err(SqlError::internal("row with a wrong number of columns"));
        }
        self.encode_with(|i| values[i].as_ref(), out)
    }

    /// As [`encode`](Self::encode), asking for each column's value by its index (at most twice).
    pub fn encode_with<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>, out: &mut Vec<u8>) -> Result<()> {
        let shape = &self.current;
        let start = out.len();
        let text = |i: u16| match value(usize::from(i)) {
            ValueRef::Str(b, _) | ValueRef::Json(b) => Ok(b),
            ValueRef::Null => Ok(&[][..]),
            v => Err(SqlError::internal(format_args!("column {i} of text from {v:?}"))),
        };
        let mut total = 0usize;
        for i in &shape.order {
            total += text(*i)?.len();
        }
        let wide = total > usize::from(u16::MAX);
        if total > u32::MAX as usize {
            return Err(sql_err!(TooBigRowsize, u32::MAX));
        }
        out.reserve(shape.data_start(wide) + total);
        let header = shape.header.0 | if wide { WIDE } else { 0 };
        out.extend_from_slice(&header.to_le_bytes());
        if header_len(header) > 2 {
            out.extend_from_slice(&shape.header.1.to_le_bytes());
        }
        out.resize(start + shape.fixed_end, 0);
        for (i, column) in shape.columns.iter().enumerate() {
            let v = value(i);
            if v.is_null() {
                if column.null == NEVER_NULL {
                    return Err(SqlError::internal(format_args!("NULL in column {i}")));
                }
                out[start + usize::from(column.null / 8)] |= 1 << (column.null % 8);
            } else if !matches!(column.kind, Kind::Str | Kind::Json) {
                put_fixed(column.kind, v, &mut out[start + column.place as usize..])
                    .ok_or_else(|| SqlError::internal(format_args!("column {i} of {:?} from {v:?}", column.kind)))?;
            }
        }
        let mut end = 0usize;
        for i in &shape.order {
            end += text(*i)?.len();
            if wide {
                out.extend_from_slice(&(end as u32).to_le_bytes())
            } else {
                out.extend_from_slice(&(end as u16).to_le_bytes())
            }
        }
        for i in &shape.order {
            out.extend_from_slice(text(*i)?);
        }
        Ok(())
    }
}

const SHORT: Corrupt = Corrupt::Short;

#[inline]
fn is_null(column: &Column, payload: &[u8]) -> Result<bool, Corrupt> {
    if column.null == NEVER_NULL {
        return Ok(false);
    }
    let byte = payload.get(usize::from(column.null / 8)).ok_or(SHORT)?;
    Ok(byte >> (column.null % 8) & 1 == 1)
}

/// The first `n` bytes as a little-endian integer.
#[inline]
fn le(bytes: &[u8], n: usize) -> Result<u64, Corrupt> {
    let bytes = bytes.get(..n).ok_or(SHORT)?;
    Ok(bytes.iter().rev().fold(0, |a, b| a << 8 | u64::from(*b)))
}

#[inline]
fn chunk<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Corrupt> {
    bytes.first_chunk().copied().ok_or(SHORT)
}

fn fixed<'a>(column: &'a Column, bytes: &[u8]) -> Result<ValueRef<'a>, Corrupt> {
    const BAD: Corrupt = Corrupt::Value;
    Ok(match column.kind {
        Kind::I8 => ValueRef::Int(i64::from(i8::from_le_bytes(chunk(bytes)?))),
        Kind::I16 => ValueRef::Int(i64::from(i16::from_le_bytes(chunk(bytes)?))),
        Kind::I24 => ValueRef::Int((le(bytes, 3)? << 40) as i64 >> 40),
        Kind::I32 => ValueRef::Int(i64::from(i32::from_le_bytes(chunk(bytes)?))),
        Kind::I64 => ValueRef::Int(i64::from_le_bytes(chunk(bytes)?)),
        Kind::U8 => ValueRef::UInt(le(bytes, 1)?),
        Kind::U16 => ValueRef::UInt(le(bytes, 2)?),
        Kind::U24 => ValueRef::UInt(le(bytes, 3)?),
        Kind::U32 => ValueRef::UInt(u64::from(u32::from_le_bytes(chunk(bytes)?))),
        Kind::U64 => ValueRef::UInt(u64::from_le_bytes(chunk(bytes)?)),
        Kind::Decimal { len, scale } => {
            let bytes = bytes.get(..usize::from(len)).ok_or(SHORT)?;
            ValueRef::Decimal(Decimal::decode(bytes, scale).ok_or(BAD)?)
        }
        Kind::Float => ValueRef::Float(f32::from_le_bytes(chunk(bytes)?)),
        Kind::Double => ValueRef::Double(f64::from_le_bytes(chunk(bytes)?)),
        Kind::Date => ValueRef::Date(Date::from_packed(le(bytes, 3)? as u32).ok_or(BAD)?),
        Kind::Time(fsp) => {
            let whole = (le(bytes, 3)? << 40) as i64 >> 40;
            // Whole seconds are floored, the fraction counts up from there.
            let units = whole * FRACTION_UNITS[usize::from(fsp.div_ceil(2))] + fraction(bytes, 3, fsp)?;
            let micros = units * (1_000_000 / FRACTION_UNITS[usize::from(fsp.div_ceil(2))]);
            let time = Time::from_micros(micros);
            ValueRef::Time(Time::from_packed(time.packed()).ok_or(BAD)?, fsp)
        }
        Kind::DateTime(fsp) => {
            let packed = (le(bytes, 5)? << 24) as i64 | fraction_micros(bytes, 5, fsp)?;
            ValueRef::DateTime(DateTime::from_packed(packed).ok_or(BAD)?, fsp)
        }
        Kind::Timestamp(fsp) => {
            let micros = le(bytes, 4)? as i64 * 1_000_000 + fraction_micros(bytes, 4, fsp)?;
            ValueRef::Timestamp(Timestamp::from_unix_micros(micros).ok_or(BAD)?, fsp)
        }
        Kind::Year => ValueRef::Year(match le(bytes, 1)? as u16 {
            0 => 0,
            y => 1900 + y,
        }),
        Kind::Bit(n) => ValueRef::Bit(le(bytes, usize::from(n).div_ceil(8))?, n),
        Kind::Enum => ValueRef::Enum(le(bytes, 2)? as u16, column.members.as_ref().ok_or(BAD)?),
        Kind::Set => ValueRef::Set(le(bytes, 8)?, column.members.as_ref().ok_or(BAD)?),
        Kind::Str | Kind::Json | Kind::Absent => return Err(BAD),
    })
}

/// Units of the second for 0, 1, 2, 3 bytes of fraction.
const FRACTION_UNITS: [i64; 4] = [1, 100, 10_000, 1_000_000];

fn fraction(bytes: &[u8], at: usize, fsp: u8) -> Result<i64, Corrupt> {
    Ok(le(bytes.get(at..).ok_or(SHORT)?, usize::from(fsp.div_ceil(2)))? as i64)
}

fn fraction_micros(bytes: &[u8], at: usize, fsp: u8) -> Result<i64, Corrupt> {
    let micros = fraction(bytes, at, fsp)? * (1_000_000 / FRACTION_UNITS[usize::from(fsp.div_ceil(2))]);
    if micros < 1_000_000 { Ok(micros) } else { Err(Corrupt::Value) }
}

/// Writes a value at the front of `out`; `None` if it is of another kind.
fn put_fixed(kind: Kind, v: ValueRef<'_>, out: &mut [u8]) -> Option<()> {
    let mut put = |v: u64, n: usize| out[..n].copy_from_slice(&v.to_le_bytes()[..n]);
    let units = |fsp: u8| FRACTION_UNITS[usize::from(fsp.div_ceil(2))];
    match (kind, v) {
        (Kind::I8 | Kind::U8, ValueRef::Int(v)) => put(v as u64, 1),
        (Kind::I8 | Kind::U8, ValueRef::UInt(v)) => put(v, 1),
        (Kind::I16 | Kind::U16, ValueRef::Int(v)) => put(v as u64, 2),
        (Kind::I16 | Kind::U16, ValueRef::UInt(v)) => put(v, 2),
        (Kind::I24 | Kind::U24, ValueRef::Int(v)) => put(v as u64, 3),
        (Kind::I24 | Kind::U24, ValueRef::UInt(v)) => put(v, 3),
        (Kind::I32 | Kind::U32, ValueRef::Int(v)) => put(v as u64, 4),
        (Kind::I32 | Kind::U32, ValueRef::UInt(v)) => put(v, 4),
        (Kind::I64 | Kind::U64, ValueRef::Int(v)) => put(v as u64, 8),
        (Kind::I64 | Kind::U64, ValueRef::UInt(v)) => put(v, 8),
        (Kind::Decimal { len, scale }, ValueRef::Decimal(v)) => v.encode_into(scale, &mut out[..usize::from(len)]),
        (Kind::Float, ValueRef::Float(v)) => put(u64::from(v.to_bits()), 4),
        (Kind::Double, ValueRef::Double(v)) => put(v.to_bits(), 8),
        (Kind::Date, ValueRef::Date(v)) => put(u64::from(v.packed()), 3),
        (Kind::Time(fsp), ValueRef::Time(v, _)) => {
            let v = v.to_micros() / (1_000_000 / units(fsp));
            put(v.div_euclid(units(fsp)) as u64, 3);
            let n = usize::from(fsp.div_ceil(2));
            out[3..3 + n].copy_from_slice(&v.rem_euclid(units(fsp)).to_le_bytes()[..n]);
        }
        (Kind::DateTime(fsp), ValueRef::DateTime(v, _)) => {
            put((v.packed() >> 24) as u64, 5);
            let n = usize::from(fsp.div_ceil(2));
            out[5..5 + n].copy_from_slice(&(i64::from(v.micros()) / (1_000_000 / units(fsp))).to_le_bytes()[..n]);
        }
        (Kind::Timestamp(fsp), ValueRef::Timestamp(v, _)) => {
            put((v.unix_micros() / 1_000_000) as u64, 4);
            let n = usize::from(fsp.div_ceil(2));
            let f = v.unix_micros() % 1_000_000 / (1_000_000 / units(fsp));
            out[4..4 + n].copy_from_slice(&f.to_le_bytes()[..n]);
        }
        (Kind::Year, ValueRef::Year(v)) => put(u64::from(v.saturating_sub(1900)), 1),
        (Kind::Bit(n), ValueRef::Bit(v, _)) => put(v, usize::from(n).div_ceil(8)),
        (Kind::Enum, ValueRef::Enum(v, _)) => put(u64::from(v), 2),
        (Kind::Set, ValueRef::Set(v, _)) => put(v, 8),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests;
