//! SQL values in rows: from [`ValueRef`] straight into the output buffer.
//!
//! TIMESTAMP values must be localised before ([`ValueRef::localize`]); the protocol has no time zones.

use crate::codec::put_lenenc_bytes;
use crate::command::{DateTime, Time};
use crate::row::{BinaryRow, binary_datetime, binary_time, text_bytes, text_int, text_null, text_uint, text_with};
use gannet_types::charset::Charset;
use gannet_types::convert::float;
use gannet_types::row::Taker;
use gannet_types::sqltype::WireType;
use gannet_types::{CollationId, SqlType, TimeZone, TypeId, ValueRef, temporal};
use std::borrow::Cow;

/// How values of one column are written; made once for a result set, from the column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    wire: WireType,
    /// Digits after the point of DECIMAL, FLOAT and DOUBLE; [`SqlType::NOT_FIXED`] without.
    scale: u8,
    /// [`SqlType::own_digits`].
    own_digits: bool,
    /// Width that ZEROFILL pads to; 0 without.
    fill: u8,
    unsigned: bool,
}

impl Format {
    /// The format of a type.
    pub fn of(ty: &SqlType) -> Self {
        let fill = if ty.zerofill { u8::try_from(ty.display_chars()).unwrap_or(u8::MAX) } else { 0 };
        let scaled = matches!(ty.id, TypeId::Decimal | TypeId::Float | TypeId::Double);
        let scale = if scaled { ty.scale } else { SqlType::NOT_FIXED };
        Self { wire: ty.wire_type(), scale, own_digits: ty.own_digits, fill, unsigned: ty.unsigned }
    }

    /// Values travel as texts in the binary protocol too.
    #[inline]
    pub fn is_text(&self) -> bool {
        use WireType as W;
        let number = matches!(self.wire, W::LongLong | W::Long | W::Int24 | W::Short | W::Year | W::Tiny);
        let other = matches!(self.wire, W::Double | W::Float | W::Date | W::DateTime | W::Timestamp | W::Time);
        !number && !other
    }
}

/// Appends a value to a text row. `results`: character set to convert strings to; `None` sends them as they are.
#[inline(always)]
pub fn text_value(out: &mut Vec<u8>, v: ValueRef<'_>, f: Format, results: Option<Charset>) {
    match v {
        ValueRef::Null => text_null(out),
        ValueRef::Int(n) if f.fill == 0 => text_int(out, n),
        ValueRef::UInt(n) if f.fill == 0 => text_uint(out, n),
        ValueRef::Str(s, c) => string(out, s, c.charset(), results),
        _ => other_text(out, v, f, results),
    }
}

/// The same of the rarer kinds.
#[inline(never)]
fn other_text(out: &mut Vec<u8>, v: ValueRef<'_>, f: Format, results: Option<Charset>) {
    match v {
        ValueRef::Double(d) if f.scale != SqlType::NOT_FIXED => {
            text_with(out, |b| padded(b, f.fill, |b| float::write_fixed(d, f.scale, b)));
        }
        ValueRef::Float(d) if f.scale != SqlType::NOT_FIXED => {
            text_with(out, |b| padded(b, f.fill, |b| float::write_fixed(f64::from(d), f.scale, b)));
        }
        // Arithmetic carries more digits than its type shows, choices fewer.
        ValueRef::Decimal(d) if f.scale != SqlType::NOT_FIXED => {
            let d = d.shown_with(f.scale, f.own_digits).unwrap_or(d);
            text_with(out, |b| padded(b, f.fill, |b| d.write(b)));
        }
        ValueRef::Json(s) => {
            let mut text = Vec::new();
            gannet_types::json::Json::write_stored(s, &mut text);
            string(out, &text, Charset::Utf8mb4, results);
        }
        ValueRef::Enum(_, m) | ValueRef::Set(_, m) => {
            let mut name = Vec::new();
            v.write_text(&mut name);
            string(out, &name, Charset::Utf8mb4, results.or(Some(m.collation.charset())));
        }
        _ => text_with(out, |b| padded(b, f.fill, |b| v.write_text(b))),
    }
}

/// A text row that takes its values one by one, as they are stored.
pub struct TextRow<'a> {
    /// The output buffer.
    pub out: &'a mut Vec<u8>,
    /// Of the column that is next.
    pub format: Format,
    /// Character set to convert strings to; `None` sends them as they are.
    pub results: Option<Charset>,
    /// In which a TIMESTAMP is shown.
    pub zone: &'a TimeZone,
}

impl Taker for TextRow<'_> {
    #[inline(always)]
    fn null(&mut self) {
        text_null(self.out);
    }

    #[inline(always)]
    fn int(&mut self, n: i64) {
        if self.format.fill == 0 {
            return text_int(self.out, n);
        }
        self.value(ValueRef::Int(n));
    }

    #[inline(always)]
    fn text(&mut self, text: &[u8], collation: CollationId) {
        string(self.out, text, collation.charset(), self.results);
    }

    #[inline(always)]
    fn value(&mut self, value: ValueRef<'_>) {
        local_text(self.out, value, self.format, self.results, self.zone);
    }
}

/// A column of a binary row that takes its value as it is stored.
pub struct BinaryColumn<'a> {
    /// The output buffer.
    pub out: &'a mut Vec<u8>,
    /// The row's head.
    pub row: BinaryRow,
    /// The column's number.
    pub at: usize,
    /// Of the column.
    pub format: Format,
    /// Character set to convert strings to; `None` sends them as they are.
    pub results: Option<Charset>,
    /// In which a TIMESTAMP is shown.
    pub zone: &'a TimeZone,
}

impl Taker for BinaryColumn<'_> {
    #[inline(always)]
    fn null(&mut self) {
        self.row.null(self.out, self.at);
    }

    #[inline(always)]
    fn int(&mut self, n: i64) {
        match self.format.wire {
            WireType::LongLong => self.out.extend_from_slice(&n.to_le_bytes()),
            WireType::Long | WireType::Int24 => self.out.extend_from_slice(&(n as u32).to_le_bytes()),
            _ => self.value(ValueRef::Int(n)),
        }
    }

    #[inline(always)]
    fn text(&mut self, text: &[u8], collation: CollationId) {
        if self.format.is_text() {
            return string(self.out, text, collation.charset(), self.results);
        }
        self.value(ValueRef::Str(text, collation));
    }

    #[inline(always)]
    fn value(&mut self, value: ValueRef<'_>) {
        local_binary(self.out, (self.row, self.at), value, self.format, self.results, self.zone);
    }
}

/// A value of the rarer kinds. It gets parts of the taker, not the taker, which stays in registers because of that.
#[inline(never)]
fn local_text(out: &mut Vec<u8>, v: ValueRef<'_>, f: Format, results: Option<Charset>, zone: &TimeZone) {
    text_value(out, v.localize(zone), f, results);
}

/// As [`local_text`].
#[inline(never)]
fn local_binary(
    out: &mut Vec<u8>,
    (row, at): (BinaryRow, usize),
    v: ValueRef<'_>,
    f: Format,
    results: Option<Charset>,
    zone: &TimeZone,
) {
    binary_value(out, row, at, v.localize(zone), f, results);
}

/// The text of a long value as it travels, behind its length; `None` for those that are no texts or documents.
pub fn long_text(v: ValueRef<'_>, results: Option<Charset>) -> Option<Cow<'_, [u8]>> {
    match v {
        ValueRef::Str(s, c) => Some(match conversion(c.charset(), results) {
            Some(to) => Cow::Owned(c.charset().convert(s, to).bytes.into_owned()),
            None => Cow::Borrowed(s),
        }),
        ValueRef::Json(s) => {
            let mut text = Vec::new();
            gannet_types::json::Json::write_stored(s, &mut text);
            Some(Cow::Owned(match conversion(Charset::Utf8mb4, results) {
                Some(to) => Charset::Utf8mb4.convert(&text, to).bytes.into_owned(),
                None => text,
            }))
        }
        _ => None,
    }
}

/// The character set that text has to be converted to.
#[inline]
fn conversion(from: Charset, results: Option<Charset>) -> Option<Charset> {
    results.filter(|to| *to != from && *to != Charset::Binary && from != Charset::Binary && !from.is_subset_of(*to))
}

#[inline(always)]
fn string(out: &mut Vec<u8>, s: &[u8], from: Charset, results: Option<Charset>) {
    match conversion(from, results) {
        Some(to) => text_bytes(out, &from.convert(s, to).bytes),
        None => text_bytes(out, s),
    }
}

/// ZEROFILL: zeros in front, up to `width`.
#[inline]
fn padded(b: &mut Vec<u8>, width: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let at = b.len();
    write(b);
    let missing = usize::from(width).saturating_sub(b.len() - at);
    if missing > 0 {
        b.splice(at..at, std::iter::repeat_n(b'0', missing));
    }
}

/// Appends column `i` to a binary row.
#[inline(always)]
pub fn binary_value(out: &mut Vec<u8>, row: BinaryRow, i: usize, v: ValueRef<'_>, f: Format, results: Option<Charset>) {
    if v.is_null() {
        return row.null(out, i);
    }
    match f.wire {
        WireType::LongLong => out.extend_from_slice(&integer(v, f).to_le_bytes()),
        WireType::Long | WireType::Int24 => out.extend_from_slice(&(integer(v, f) as u32).to_le_bytes()),
        WireType::Short | WireType::Year => out.extend_from_slice(&(integer(v, f) as u16).to_le_bytes()),
        WireType::Tiny => out.push(integer(v, f) as u8),
        WireType::Double => out.extend_from_slice(&double(v).to_le_bytes()),
        WireType::Float => match v {
            ValueRef::Float(x) => out.extend_from_slice(&x.to_le_bytes()),
            _ => out.extend_from_slice(&(double(v) as f32).to_le_bytes()),
        },
        WireType::Date | WireType::DateTime | WireType::Timestamp => binary_datetime(out, &datetime(v)),
        WireType::Time => binary_time(out, &time(v)),
        _ => match v {
            ValueRef::Str(s, c) => string(out, s, c.charset(), results),
            ValueRef::Json(s) => {
                let mut text = Vec::new();
                gannet_types::json::Json::write_stored(s, &mut text);
                string(out, &text, Charset::Utf8mb4, results);
            }
            _ => text_value(out, v, f, results),
        },
    }
}

/// The value as 64 bits; operators may deliver another representation than the column's type.
fn integer(v: ValueRef<'_>, f: Format) -> u64 {
    match v {
        ValueRef::Int(n) => n as u64,
        ValueRef::UInt(n) | ValueRef::Bit(n, _) | ValueRef::Set(n, _) => n,
        ValueRef::Year(y) => y.into(),
        ValueRef::Enum(n, _) => n.into(),
        ValueRef::Decimal(d) if f.unsigned => d.to_u64().unwrap_or_else(|n| n),
        ValueRef::Decimal(d) => d.to_i64().unwrap_or_else(|n| n) as u64,
        ValueRef::Float(_) | ValueRef::Double(_) => double(v).round() as i64 as u64,
        ValueRef::Str(s, _) => float::parse_double(s).0 as i64 as u64,
        _ => 0,
    }
}

fn double(v: ValueRef<'_>) -> f64 {
    match v {
        ValueRef::Double(d) => d,
        ValueRef::Float(d) => d.into(),
        ValueRef::Int(n) => n as f64,
        ValueRef::UInt(n) => n as f64,
        ValueRef::Decimal(d) => d.to_f64(),
        ValueRef::Year(y) => y.into(),
        ValueRef::Str(s, _) => float::parse_double(s).0,
        _ => 0.0,
    }
}

fn datetime(v: ValueRef<'_>) -> DateTime {
    let fields = |d: temporal::DateTime, date_only| DateTime {
        year: d.year() as u16,
        month: d.month() as u8,
        day: d.day() as u8,
        hour: d.hour() as u8,
        minute: d.minute() as u8,
        second: d.second() as u8,
        micros: d.micros(),
        date_only,
    };
    match v {
        ValueRef::Date(d) => fields(d.to_datetime(), true),
        ValueRef::DateTime(d, _) => fields(d, false),
        ValueRef::Timestamp(t, _) => fields(t.to_local(&gannet_types::TimeZone::UTC), false),
        _ => DateTime::default(),
    }
}

fn time(v: ValueRef<'_>) -> Time {
    let ValueRef::Time(t, _) = v else { return Time::default() };
    Time {
        negative: t.is_negative(),
        days: t.hour() / 24,
        hours: (t.hour() % 24) as u8,
        minutes: t.minute() as u8,
        seconds: t.second() as u8,
        micros: t.micros(),
    }
}

/// Appends a string in the length-encoded form of both row kinds, converted when `results` asks for it.
pub fn put_string(out: &mut Vec<u8>, s: &[u8], from: Charset, results: Option<Charset>) {
    if results.is_none() {
        return put_lenenc_bytes(out, s);
    }
    string(out, s, from, results);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Reader;
    use gannet_types::{CollationId, Decimal, Value};

    fn text(v: &Value, ty: &SqlType) -> Option<String> {
        let mut out = Vec::new();
        text_value(&mut out, v.as_ref(), Format::of(ty), None);
        let mut r = Reader::new(&out);
        let got = r.lenenc_bytes_or_null().unwrap().map(|b| String::from_utf8_lossy(b).into_owned());
        assert!(r.is_empty());
        got
    }

    #[test]
    fn text_forms() {
        let zerofill = SqlType { zerofill: true, unsigned: true, length: 5, ..SqlType::new(TypeId::Int) };
        assert_eq!(text(&Value::UInt(42), &zerofill).as_deref(), Some("00042"));
        assert_eq!(text(&Value::Int(-7), &SqlType::BIGINT).as_deref(), Some("-7"));
        assert_eq!(text(&Value::Null, &SqlType::BIGINT), None);
        let fixed = SqlType { scale: 2, length: 10, ..SqlType::new(TypeId::Double) };
        assert_eq!(text(&Value::Double(1.5), &fixed).as_deref(), Some("1.50"));
        assert_eq!(text(&Value::Double(1.5), &SqlType::DOUBLE).as_deref(), Some("1.5"));
        assert_eq!(text(&Value::text("é"), &SqlType::varchar(3, CollationId::DEFAULT)).as_deref(), Some("é"));
    }

    #[test]
    fn strings_are_converted_to_the_results_charset() {
        let mut out = Vec::new();
        let f = Format::of(&SqlType::varchar(3, CollationId::DEFAULT));
        text_value(&mut out, Value::text("é€").as_ref(), f, Some(Charset::Latin1));
        assert_eq!(out, [2, 0xE9, 0x80]);
        out.clear();
        text_value(&mut out, Value::bytes(b"\xFF").as_ref(), f, Some(Charset::Latin1));
        assert_eq!(out, [1, 0xFF]);
    }

    #[test]
    fn binary_forms_follow_the_column_type() {
        let put = |v: Value, ty: SqlType| {
            let mut out = Vec::new();
            let row = BinaryRow::begin(&mut out, 1);
            binary_value(&mut out, row, 0, v.as_ref(), Format::of(&ty), None);
            out.split_off(2)
        };
        assert_eq!(put(Value::Int(-2), SqlType::new(TypeId::TinyInt)), [0xFE]);
        assert_eq!(put(Value::Int(-2), SqlType::new(TypeId::SmallInt)), [0xFE, 0xFF]);
        assert_eq!(put(Value::UInt(u64::MAX), SqlType::bigint_unsigned()), [0xFF; 8]);
        assert_eq!(put(Value::Decimal(Decimal::from_i64(5)), SqlType::decimal(10, 0)), b"\x015");
        assert_eq!(put(Value::Int(2), SqlType::DOUBLE), 2f64.to_le_bytes());
        assert_eq!(put(Value::text("x"), SqlType::varchar(1, CollationId::DEFAULT)), b"\x01x");
    }
}
