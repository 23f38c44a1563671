//! Row images: the columns of a row that an event has, first a bit for each that is NULL (the first column in the
//! lowest bit), then the values of the others.
//!
//! | column | value |
//! |---|---|
//! | integers, FLOAT, DOUBLE, DATE (as a packed number) | 1 to 8 bytes, little-endian |
//! | YEAR | a byte: years since 1900; 0 is year 0 |
//! | DECIMAL | see [`gannet_types::decimal::stored`] |
//! | TIME, DATETIME, TIMESTAMP | 3, 5, 4 bytes, big-endian, comparable as bytes; then 0 to 3 bytes of fraction |
//! | BIT | big-endian |
//! | ENUM, SET | little-endian number of a member; bits of members |
//! | CHAR, VARCHAR, BINARY, VARBINARY | length in one byte, or two where there may be more than 255; the bytes |
//! | TEXT, BLOB, JSON | length in 1 to 4 bytes; the bytes ([`json`] in binary) |
//!
//! CHAR and BINARY end before what pads them.

use crate::map::ColumnKind;
use crate::rows::{Columns, PARTIAL_DOCUMENTS, WHOLE_DOCUMENTS};
use crate::{diff, json};
use gannet_base::{DecodeError, Reader};
use gannet_types::decimal::stored;
use gannet_types::json::Json;
use gannet_types::room::Room;
use gannet_types::row::{Corrupt, StoredRow};
use gannet_types::rowref::RowRef;
use gannet_types::value::ValueRef;
use gannet_types::{CollationId, Date, DateTime, SqlType, Time, Timestamp, TypeId, Value};

/// Units of the fraction that 1, 2 and 3 bytes count, in microseconds.
const FRACTION_UNIT: [i64; 4] = [1_000_000, 10_000, 100, 1];

/// A column's values: from a row to an event.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Position in the row.
    at: u32,
    kind: ColumnKind,
    /// What pads it to its length.
    pad: Option<u8>,
    /// Its bytes are those of a stored row.
    plain: Option<Plain>,
}

/// How many bytes of a column there are in a stored row and in an image.
#[derive(Clone, Copy, Debug)]
enum Plain {
    /// So many.
    Fixed(u8),
    /// Any number, which stands before them in so many bytes.
    Said(u8),
}

impl Plain {
    /// Integers and texts. What pads CHAR is not stored; that of BINARY is, and of characters of two bytes a half may
    /// look like a space.
    fn of(ty: &SqlType, kind: ColumnKind) -> Option<Plain> {
        match kind {
            ColumnKind::Int(n) => Some(Plain::Fixed(n)),
            ColumnKind::Double => Some(Plain::Fixed(8)),
            ColumnKind::VarChar(most) => Some(Plain::Said(if most > 255 { 2 } else { 1 })),
            ColumnKind::Char(most) if ty.id == TypeId::Char && !ty.collation.charset().is_wide() => {
                Some(Plain::Said(if most > 255 { 2 } else { 1 }))
            }
            ColumnKind::Blob(n) => Some(Plain::Said(n)),
            _ => None,
        }
    }
}

/// Encodes the rows of a table.
#[derive(Clone, Debug)]
pub struct RowEncoder {
    columns: Box<[Column]>,
    /// All of them are [`Plain`].
    plain: bool,
}

/// So many columns of a row may change for the image after to be made of that before.
const FEW: usize = 4;

/// Columns that an update changes: where they stand in the image, and their bytes.
struct Changed<'a> {
    columns: [(usize, &'a [u8]); FEW],
    count: usize,
}

impl RowEncoder {
    /// For a table's logged columns: positions in its rows, and types.
    pub fn new<'a>(columns: impl Iterator<Item = (usize, &'a SqlType)>) -> RowEncoder {
        let column = |(at, ty): (usize, &SqlType)| Column {
            at: at as u32,
            kind: ColumnKind::of(ty),
            pad: match ty.id {
                TypeId::Char => Some(b' '),
                TypeId::Binary => Some(0),
                _ => None,
            },
            plain: Plain::of(ty, ColumnKind::of(ty)),
        };
        let columns: Box<[Column]> = columns.map(column).collect();
        let plain = columns.iter().all(|c| c.plain.is_some());
        RowEncoder { columns, plain }
    }

    /// Number of columns in events.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// There are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Appends the image of those columns of a row that are `present`, by their number in events; `None`: of all. Of a
    /// stored row that is damaged the image is not whole.
    pub fn encode<'a>(
        &self,
        row: impl Into<RowRef<'a>>,
        present: Option<&Columns>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corrupt> {
        match (row.into(), present) {
            (RowRef::Values(row), None) => self.encode_all(out, |column, out| {
                match row.get(column.at as usize) {
                    None | Some(Value::Null) => return Ok(false),
                    // Most columns: without a detour over a borrowed value.
                    Some(Value::Int(v)) => column.put_int(*v as u64, out),
                    Some(Value::Str(text, _)) => column.put_text(text, out),
                    Some(value) => column.put(value.as_ref(), out),
                }
                Ok(true)
            }),
            (RowRef::Stored(layout, row), None) => {
                let row = layout.open(row)?;
                if self.plain && row.is_current() {
                    return self.encode_plain(&row, |_, _, _| Ok(()), out);
                }
                self.encode_all(out, |column, out| {
                    match row.get(column.at as usize)? {
                        ValueRef::Null => return Ok(false),
                        ValueRef::Int(v) => column.put_int(v as u64, out),
                        ValueRef::Str(text, _) => column.put_text(text, out),
                        value => column.put(value, out),
                    }
                    Ok(true)
                })
            }
            (row, Some(present)) => self.encode_some(row, present, out),
        }
    }

    /// Appends the images of all columns before and after an update.
    pub fn encode_update(&self, (before, after): (RowRef<'_>, RowRef<'_>), out: &mut Vec<u8>) -> Result<(), Corrupt> {
        if self.plain
            && let (RowRef::Stored(layout, before), RowRef::Stored(other, after)) = (before, after)
        {
            let (before, after) = (layout.open(before)?, other.open(after)?);
            if before.is_like(&after) {
                return self.encode_alike(&before, &after, out);
            }
        }
        self.encode(before, None, out)?;
        self.encode(after, None, out)
    }

    /// The same where columns of fixed width alone change: the image after is that before, with these columns' bytes.
    fn encode_alike(&self, before: &StoredRow<'_>, after: &StoredRow<'_>, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        let start = out.len();
        let mut changed = Changed { columns: [(0, &[]); FEW], count: 0 };
        let compare = |(col, width): (usize, usize), at: usize, bytes: &[u8]| {
            let Some(new) = after.bytes(col, width)? else { return Err(Corrupt::Value) };
            if !same(new, bytes) {
                if let Some(place) = changed.columns.get_mut(changed.count) {
                    *place = (at, new);
                }
                changed.count += 1;
            }
            Ok(())
        };
        self.encode_plain(before, compare, out)?;
        let Some(columns) = changed.columns.get(..changed.count) else {
            return self.encode_plain(after, |_, _, _| Ok(()), out);
        };
        let end = out.len();
        out.extend_from_within(start..);
        for (at, new) in columns {
            let place = out.get_mut(end + at..end + at + new.len()).ok_or(Corrupt::Short)?;
            place.copy_from_slice(new);
        }
        Ok(())
    }

    /// The image of a current row whose columns are all plain. `fixed` is told of those of fixed width that are not
    /// NULL: place and width in the row, place in the image, bytes.
    #[inline(always)]
    fn encode_plain<'a>(
        &self,
        row: &StoredRow<'a>,
        mut fixed: impl FnMut((usize, usize), usize, &'a [u8]) -> Result<(), Corrupt>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corrupt> {
        let (start, nulls) = (out.len(), self.columns.len().div_ceil(8));
        // A stored text has its end in two bytes or four, one of an image its length in four at most.
        out.resize(start + nulls + row.size() + 2 * self.columns.len(), 0xFF);
        let image = &mut out[start..];
        let mut at = nulls;
        for (i, column) in self.columns.iter().enumerate() {
            let col = column.at as usize;
            let there = match column.plain {
                Some(Plain::Fixed(width)) => {
                    let width = usize::from(width);
                    let Some(bytes) = row.bytes(col, width)? else { continue };
                    fixed((col, width), at, bytes)?;
                    copy(bytes, image, at)?
                }
                Some(Plain::Said(n)) => {
                    let Some(bytes) = row.bytes(col, 0)? else { continue };
                    let length = (bytes.len() as u32).to_le_bytes();
                    let said = copy(&length[..usize::from(n).min(4)], image, at)?;
                    copy(bytes, image, said)?
                }
                None => return Err(Corrupt::Column),
            };
            image[i / 8] &= !(1 << (i % 8));
            at = there;
        }
        out.truncate(start + at);
        Ok(())
    }

    /// `put` appends a column's value; false: it is NULL.
    #[inline]
    fn encode_all(
        &self,
        out: &mut Vec<u8>,
        mut put: impl FnMut(&Column, &mut Vec<u8>) -> Result<bool, Corrupt>,
    ) -> Result<(), Corrupt> {
        let nulls = out.len();
        // Bits beyond the last column are set.
        out.resize(nulls + self.columns.len().div_ceil(8), 0xFF);
        for (at, columns) in self.columns.chunks(8).enumerate() {
            let mut bits = 0xFF;
            for (bit, column) in columns.iter().enumerate() {
                bits ^= u8::from(put(column, out)?) << bit;
            }
            out[nulls + at] = bits;
        }
        Ok(())
    }

    fn encode_some(&self, row: RowRef<'_>, present: &Columns, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        self.encode_partly(row, present, &[], out)
    }

    /// `changes`: by column, what stands in the place of its value.
    fn encode_partly(
        &self,
        row: RowRef<'_>,
        present: &Columns,
        changes: &[(usize, Vec<u8>)],
        out: &mut Vec<u8>,
    ) -> Result<(), Corrupt> {
        let nulls = out.len();
        let columns = || self.columns.iter().enumerate().filter(|(i, _)| present.has(*i));
        out.resize(nulls + columns().count().div_ceil(8), 0xFF);
        for (bit, (i, column)) in columns().enumerate() {
            match row.get(column.at as usize)? {
                ValueRef::Null => {}
                value => {
                    out[nulls + bit / 8] &= !(1 << (bit % 8));
                    match (column.kind, changes.iter().find(|(of, _)| *of == i)) {
                        (ColumnKind::Json(n), Some((_, bytes))) => sized(bytes, usize::from(n), out),
                        _ => column.put(value, out),
                    }
                }
            }
        }
        Ok(())
    }

    /// There are documents among the columns.
    pub fn has_documents(&self) -> bool {
        self.columns.iter().any(|column| column.kind.is_document())
    }

    /// Appends the image after of an update of documents' parts, and what comes before it (see `rows`).
    pub fn encode_changes(
        &self,
        (before, after): (RowRef<'_>, RowRef<'_>),
        present: &Columns,
        out: &mut Vec<u8>,
    ) -> Result<(), Corrupt> {
        let (mut changes, mut bits) = (Vec::new(), Vec::new());
        let documents = self.columns.iter().enumerate().filter(|(_, column)| column.kind.is_document());
        for (number, (i, column)) in documents.enumerate() {
            bits.resize(number / 8 + 1, 0);
            let at = column.at as usize;
            if let (true, ValueRef::Json(old), ValueRef::Json(new)) = (present.has(i), before.get(at)?, after.get(at)?)
                && let Some(shorter) = diff::shorter(old, new)
            {
                bits[number / 8] |= 1 << (number % 8);
                changes.push((i, shorter));
            }
        }
        match changes.is_empty() {
            true => out.push(WHOLE_DOCUMENTS),
            false => {
                out.push(PARTIAL_DOCUMENTS);
                out.extend_from_slice(&bits);
            }
        }
        self.encode_partly(after, present, &changes, out)
    }
}

impl Column {
    #[inline]
    fn put_int(&self, v: u64, out: &mut Vec<u8>) {
        match self.kind {
            ColumnKind::Int(n) => put_le(v, usize::from(n), out),
            kind => gannet_base::check!(false, "a {kind:?} column has an integer"),
        }
    }

    #[inline]
    fn put_text(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.kind {
            ColumnKind::VarChar(most) => sized(text, if most > 255 { 2 } else { 1 }, out),
            ColumnKind::Char(most) => {
                let pad = self.pad.unwrap_or(b' ');
                let kept = match text.last() {
                    Some(last) if *last == pad => text.iter().rposition(|b| *b != pad).map_or(0, |i| i + 1),
                    _ => text.len(),
                };
                sized(&text[..kept], if most > 255 { 2 } else { 1 }, out);
            }
            ColumnKind::Blob(n) => sized(text, usize::from(n), out),
            kind => gannet_base::check!(false, "a {kind:?} column has a text"),
        }
    }

    fn put(&self, value: ValueRef<'_>, out: &mut Vec<u8>) {
        match (self.kind, value) {
            (_, ValueRef::Int(v)) => self.put_int(v as u64, out),
            (_, ValueRef::Str(text, _)) => self.put_text(text, out),
            (ColumnKind::Int(n), ValueRef::UInt(v)) => put_le(v, usize::from(n), out),
            (ColumnKind::Json(n), ValueRef::Json(stored)) => {
                let start = out.len();
                out.resize(start + usize::from(n), 0);
                // Stored documents can be read: they were made by the server.
                json::encode(&Json::decode(stored, Room::FREE).unwrap_or(Json::Null), out);
                let length = out.len() - start - usize::from(n);
                out[start..start + usize::from(n)].copy_from_slice(&length.to_le_bytes()[..usize::from(n)]);
            }
            (ColumnKind::Decimal(precision, scale), ValueRef::Decimal(v)) => stored::encode(&v, precision, scale, out),
            (ColumnKind::Float, ValueRef::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (ColumnKind::Double, ValueRef::Double(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (ColumnKind::Date, ValueRef::Date(v)) => out.extend_from_slice(&v.packed().to_le_bytes()[..3]),
            (ColumnKind::Year, ValueRef::Year(v)) => out.push(v.saturating_sub(1900) as u8),
            (ColumnKind::Time(fsp), ValueRef::Time(v, _)) => put_time(v, fsp, out),
            (ColumnKind::DateTime(fsp), ValueRef::DateTime(v, _)) => {
                let whole = (v.packed() >> 24) + (1 << 39);
                out.extend_from_slice(&whole.to_be_bytes()[3..]);
                put_fraction(i64::from(v.micros()), fsp, out);
            }
            (ColumnKind::Timestamp(fsp), ValueRef::Timestamp(v, _)) => {
                let micros = v.unix_micros();
                out.extend_from_slice(&((micros / 1_000_000) as u32).to_be_bytes());
                put_fraction(micros % 1_000_000, fsp, out);
            }
            (ColumnKind::Bit(bits), ValueRef::Bit(v, _)) => {
                let n = usize::from(bits).div_ceil(8).min(8);
                out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
            }
            (ColumnKind::Enum(n), ValueRef::Enum(v, _)) => put_le(v.into(), usize::from(n), out),
            (ColumnKind::Set(n), ValueRef::Set(v, _)) => put_le(v, usize::from(n), out),
            // A stored row has values of its columns' types; the encoding of another would be of the wrong size.
            (kind, value) => gannet_base::check!(false, "a {kind:?} column has {value:?}"),
        }
    }
}

/// Two values of one width are equal. The widths of most columns without the call of a function.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        (&[a, b, c, d], &[e, f, g, h]) => [a, b, c, d] == [e, f, g, h],
        _ if a.len() == 8 => a.first_chunk::<8>() == b.first_chunk::<8>(),
        _ => a == b,
    }
}

/// Copies to a place; gives where it ends. The sizes of most columns without the call of a function.
#[inline(always)]
fn copy(bytes: &[u8], to: &mut [u8], at: usize) -> Result<usize, Corrupt> {
    let end = at + bytes.len();
    let to = to.get_mut(at..end).ok_or(Corrupt::Short)?;
    match bytes.len() {
        1 => to[0] = bytes[0],
        4 => to[..4].copy_from_slice(&bytes[..4]),
        8 => to[..8].copy_from_slice(&bytes[..8]),
        _ => to.copy_from_slice(bytes),
    }
    Ok(end)
}

#[inline]
fn sized(bytes: &[u8], n: usize, out: &mut Vec<u8>) {
    match n {
        1 => out.push(bytes.len() as u8),
        n => put_le(bytes.len() as u64, n, out),
    }
    out.extend_from_slice(bytes);
}

/// The lower `n` bytes, at most 8, of a number. Eight are written and the rest cut off: no call for a few bytes.
#[inline]
fn put_le(v: u64, n: usize, out: &mut Vec<u8>) {
    let end = out.len() + n;
    out.extend_from_slice(&v.to_le_bytes());
    out.truncate(end);
}

fn put_fraction(micros: i64, fsp: u8, out: &mut Vec<u8>) {
    let n = usize::from(fsp.min(6).div_ceil(2));
    out.extend_from_slice(&(micros / FRACTION_UNIT[n]).to_be_bytes()[8 - n..]);
}

/// Whole seconds are floored, the fraction counts up from there; all of it is one number with an offset.
fn put_time(time: Time, fsp: u8, out: &mut Vec<u8>) {
    let n = usize::from(fsp.min(6).div_ceil(2));
    let magnitude = time.packed().abs();
    let (whole, micros) = (magnitude >> 24, magnitude & 0xFF_FFFF);
    let number = (whole << (8 * n)) | (micros / FRACTION_UNIT[n]);
    let number = if time.packed() < 0 { -number } else { number };
    out.extend_from_slice(&(number + (0x80_0000 << (8 * n))).to_be_bytes()[5 - n..]);
}

/// Decodes the value of a column. Numbers of ENUM and SET are `UInt`; texts have the collation that is given; what
/// was there before MySQL 5.6 gives the types of today, an old TIMESTAMP too.
pub fn value(
    kind: ColumnKind,
    unsigned: bool,
    collation: CollationId,
    r: &mut Reader<'_>,
) -> Result<Value, DecodeError> {
    let invalid = |what| r.invalid(what);
    Ok(match kind {
        ColumnKind::Int(n) => {
            let v = le(r, n)?;
            let unused = 64 - 8 * u32::from(n);
            if unsigned { Value::UInt(v) } else { Value::Int((v << unused) as i64 >> unused) }
        }
        ColumnKind::Float => Value::Float(f32::from_le_bytes(r.array()?)),
        ColumnKind::Double => Value::Double(f64::from_le_bytes(r.array()?)),
        ColumnKind::Decimal(precision, scale) => {
            let bad = invalid("decimal");
            let bytes = r.bytes(stored::len(precision, scale))?;
            Value::Decimal(stored::decode(bytes, precision, scale).ok_or(bad)?)
        }
        ColumnKind::Bit(bits) => {
            if bits == 0 || bits > 64 {
                return Err(invalid("width of a BIT"));
            }
            Value::Bit(be(r, usize::from(bits.div_ceil(8)))? as u64, bits as u8)
        }
        ColumnKind::Year
        | ColumnKind::Date
        | ColumnKind::Time(_)
        | ColumnKind::DateTime(_)
        | ColumnKind::Timestamp(_)
        | ColumnKind::OldTime
        | ColumnKind::OldDateTime
        | ColumnKind::OldTimestamp => temporal(kind, r)?,
        ColumnKind::VarChar(most) | ColumnKind::Char(most) => text(r, if most > 255 { 2 } else { 1 }, collation)?,
        ColumnKind::Blob(n) => text(r, n, collation)?,
        ColumnKind::Geometry(n) => text(r, n, CollationId::BINARY)?,
        ColumnKind::Json(n) => {
            let bad = invalid("document");
            let json = json::decode(document(n, r)?)?;
            Value::Json(json.to_text(Room::FREE).map_err(|_| bad)?)
        }
        ColumnKind::Enum(n) | ColumnKind::Set(n) => Value::UInt(le(r, n)?),
    })
}

/// The bytes of a document, or of changes of one, behind their length in `n` bytes.
pub(crate) fn document<'a>(n: u8, r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = le(r, n)? as usize;
    r.bytes(length)
}

fn temporal(kind: ColumnKind, r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let invalid = |what| r.invalid(what);
    Ok(match kind {
        ColumnKind::Year => match r.u8()? {
            0 => Value::Year(0),
            n => Value::Year(1900 + u16::from(n)),
        },
        ColumnKind::Date => {
            let bad = invalid("date");
            Value::Date(Date::from_packed(le(r, 3)? as u32).ok_or(bad)?)
        }
        ColumnKind::Time(fsp) => {
            let (bad, n) = (invalid("time"), usize::from(fsp.div_ceil(2)));
            let number = be(r, 3 + n)? - (0x80_0000 << (8 * n));
            let (whole, fraction) = (number.abs() >> (8 * n), number.abs() & ((1 << (8 * n)) - 1));
            let packed = whole << 24 | (fraction * FRACTION_UNIT[n]).min(999_999);
            Value::Time(Time::from_packed(if number < 0 { -packed } else { packed }).ok_or(bad)?, fsp)
        }
        ColumnKind::DateTime(fsp) => {
            let bad = invalid("datetime");
            let whole = be(r, 5)? - (1 << 39);
            let packed = whole << 24 | fraction(r, fsp)?;
            Value::DateTime(DateTime::from_packed(packed).ok_or(bad)?, fsp)
        }
        ColumnKind::Timestamp(fsp) => {
            let bad = invalid("timestamp");
            let micros = be(r, 4)? * 1_000_000 + fraction(r, fsp)?;
            timestamp(micros, fsp).ok_or(bad)?
        }
        ColumnKind::OldTimestamp => {
            let bad = invalid("timestamp");
            timestamp(i64::from(r.u32()?) * 1_000_000, 0).ok_or(bad)?
        }
        ColumnKind::OldTime => {
            let bad = invalid("time");
            let v = (le(r, 3)? << 40) as i64 >> 40;
            let n = v.unsigned_abs() as u32;
            let (hour, minute, second) = (n / 10000, n / 100 % 100, n % 100);
            if hour > 838 || minute > 59 || second > 59 {
                return Err(bad);
            }
            Value::Time(Time::new(v < 0, hour, minute, second, 0), 0)
        }
        ColumnKind::OldDateTime => old_datetime(r)?,
        _ => return Err(invalid("kind of a column")),
    })
}

fn timestamp(micros: i64, fsp: u8) -> Option<Value> {
    let at = if micros == 0 { Some(Timestamp::ZERO) } else { Timestamp::from_unix_micros(micros) };
    at.map(|t| Value::Timestamp(t, fsp))
}

fn old_datetime(r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let bad = r.invalid("datetime");
    let v = r.u64()?;
    let (date, time) = (v / 1_000_000, (v % 1_000_000) as u32);
    let (year, month, day) = (date / 10000, (date / 100 % 100) as u32, (date % 100) as u32);
    let (hour, minute, second) = (time / 10000, time / 100 % 100, time % 100);
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(bad);
    }
    Ok(Value::DateTime(DateTime::new(year as u32, month, day, hour, minute, second, 0), 0))
}

fn text(r: &mut Reader<'_>, n: u8, collation: CollationId) -> Result<Value, DecodeError> {
    let length = le(r, n)? as usize;
    Ok(Value::Str(r.bytes(length)?.into(), collation))
}

/// The next `n` bytes, at most 8, as a little-endian number.
fn le(r: &mut Reader<'_>, n: u8) -> Result<u64, DecodeError> {
    Ok(r.bytes(usize::from(n.min(8)))?.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
}

/// The next `n` bytes, at most 8, as a big-endian number.
fn be(r: &mut Reader<'_>, n: usize) -> Result<i64, DecodeError> {
    Ok(r.bytes(n.min(8))?.iter().fold(0, |v, b| v << 8 | i64::from(*b)))
}

fn fraction(r: &mut Reader<'_>, fsp: u8) -> Result<i64, DecodeError> {
    let n = usize::from(fsp.min(6).div_ceil(2));
    Ok((be(r, n)? * FRACTION_UNIT[n]).min(999_999))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::row::RowLayout;

    /// By values, column by column.
    fn slow(encoder: &RowEncoder, row: &[Value]) -> Vec<u8> {
        let mut image = Vec::new();
        encoder.encode(row, Some(&Columns::all(row.len())), &mut image).unwrap();
        image
    }

    #[test]
    fn images_of_stored_rows_are_those_of_their_values() {
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let text = |id, length| SqlType { length, ..SqlType::new(id) };
        let kinds = [
            SqlType::new(TypeId::Int),
            SqlType { unsigned: true, ..SqlType::new(TypeId::TinyInt) },
            SqlType::new(TypeId::MediumInt),
            SqlType::new(TypeId::BigInt),
            SqlType::new(TypeId::Double),
            text(TypeId::Char, 20),
            text(TypeId::VarChar, 300),
            text(TypeId::VarBinary, 20),
            SqlType::new(TypeId::LongText),
            // None of the plain ones.
            text(TypeId::Binary, 5),
        ];
        let (mut alike, mut others) = (0, 0);
        for round in 0..4000 {
            let all = if round % 4 == 0 { kinds.len() } else { kinds.len() - 1 };
            let nullable = round % 2 == 0;
            let types: Vec<SqlType> =
                (0..1 + next(12)).map(|_| SqlType { nullable, ..kinds[next(all as u64) as usize].clone() }).collect();
            let value = |ty: &SqlType, next: &mut dyn FnMut(u64) -> u64| match ty.id {
                _ if nullable && next(5) == 0 => Value::Null,
                TypeId::TinyInt => Value::UInt(next(256)),
                TypeId::MediumInt => Value::Int(next(1 << 23) as i64 - (1 << 22)),
                TypeId::Int | TypeId::BigInt => Value::Int(next(1 << 31) as i64 - (1 << 30)),
                TypeId::Double => Value::Double(next(1000) as f64 / 8.0),
                TypeId::Binary => Value::Str(vec![next(3) as u8; 5].into(), ty.collation),
                // Some take wide ends.
                TypeId::LongText => Value::Str(vec![b'l'; next(6) as usize * 20_000].into(), ty.collation),
                _ => Value::Str(vec![b'a' + next(3) as u8; next(20) as usize].into(), ty.collation),
            };
            let before: Vec<Value> = types.iter().map(|ty| value(ty, &mut next)).collect();
            let mut after = before.clone();
            for _ in 0..next(7) {
                let at = next(types.len() as u64) as usize;
                after[at] = value(&types[at], &mut next);
            }
            let encoder = RowEncoder::new(types.iter().enumerate());
            let layout = RowLayout::new(&types);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            layout.encode_values(&before, &mut a).unwrap();
            layout.encode_values(&after, &mut b).unwrap();
            let stored = |row| RowRef::Stored(&layout, row);
            let mut image = vec![1, 2, 3];
            encoder.encode(stored(&a), None, &mut image).unwrap();
            assert!(image[3..] == slow(&encoder, &before), "{types:?} {before:?}");
            image.truncate(3);
            encoder.encode_update((stored(&a), stored(&b)), &mut image).unwrap();
            assert!(image[3..] == [slow(&encoder, &before), slow(&encoder, &after)].concat(), "{before:?} {after:?}");
            let like = layout.open(&a).unwrap().is_like(&layout.open(&b).unwrap());
            if encoder.plain && like {
                alike += 1
            } else {
                others += 1
            }
            // A row that is cut short is an error, or an image of the right form.
            for cut in [0, 1, a.len() / 2, a.len() - 1] {
                let _damaged = encoder.encode(stored(&a[..cut]), None, &mut Vec::new());
                let _damaged = encoder.encode_update((stored(&a[..cut]), stored(&b[..cut.min(b.len())])), &mut image);
            }
        }
        assert!(alike > 500 && others > 500, "{alike} and {others}");
    }
}
