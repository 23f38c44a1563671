//! Values: owned ([`Value`]) and borrowed from a row or a packet ([`ValueRef`]), and their text.

use crate::charset::Charset;
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::members::Members;
use crate::temporal::{Date, DateTime, Time, Timestamp};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes that are cheap to clone: up to 30 in place, more behind a shared pointer.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Inline(u8, [u8; Text::INLINE]),
    Shared(Arc<[u8]>),
}

impl Text {
    const INLINE: usize = 30;
    pub const EMPTY: Text = Text(Repr::Inline(0, [0; Text::INLINE]));

    #[inline]
    pub fn new(bytes: &[u8]) -> Text {
        if bytes.len() <= Text::INLINE {
            let mut inline = [0; Text::INLINE];
            inline[..bytes.len()].copy_from_slice(bytes);
            Text(Repr::Inline(bytes.len() as u8, inline))
        } else {
            Text(Repr::Shared(bytes.into()))
        }
    }

    /// Takes other bytes; those behind a pointer that nobody shares are written over where they are as many.
    #[inline]
    pub fn assign(&mut self, bytes: &[u8]) {
        if let Repr::Shared(own) = &mut self.0
            && own.len() == bytes.len()
            && let Some(own) = Arc::get_mut(own)
        {
            return own.copy_from_slice(bytes);
        }
        *self = Text::new(bytes);
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or(&[]),
            Repr::Shared(bytes) => bytes,
        }
    }
}

impl Deref for Text {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Text {
        Text::new(bytes)
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Text {
        if bytes.len() <= Text::INLINE { Text::new(&bytes) } else { Text(Repr::Shared(bytes.into())) }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text.as_bytes())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self), f)
    }
}

/// An owned value. The `u8` beside temporal values is their fractional digits, 0..=6. Equality is of representation,
/// not SQL's `=`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    /// Kept apart from `Double` because it prints with six digits.
    Float(f32),
    Double(f64),
    /// Text in the collation's character set; bytes, when the collation is `binary`.
    Str(Text, CollationId),
    Date(Date),
    Time(Time, u8),
    DateTime(DateTime, u8),
    /// An instant in UTC, as stored. Localise it ([`ValueRef::localize`]) before it is computed with or printed.
    Timestamp(Timestamp, u8),
    Year(u16),
    /// Bits and the declared width.
    Bit(u64, u8),
    /// One-based index (0 is the error value) and the list.
    Enum(u16, Arc<Members>),
    Set(u64, Arc<Members>),
    /// The document's stored form: see [`json`](crate::json).
    Json(Text),
}

/// A borrowed value: see [`Value`]. Copying it copies no text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Float(f32),
    Double(f64),
    Str(&'a [u8], CollationId),
    Date(Date),
    Time(Time, u8),
    DateTime(DateTime, u8),
    Timestamp(Timestamp, u8),
    Year(u16),
    Bit(u64, u8),
    Enum(u16, &'a Arc<Members>),
    Set(u64, &'a Arc<Members>),
    Json(&'a [u8]),
}

impl Value {
    pub const TRUE: Value = Value::Int(1);
    pub const FALSE: Value = Value::Int(0);

    /// Text in `utf8mb4_0900_ai_ci`.
    pub fn text(text: &str) -> Value {
        Value::Str(text.into(), CollationId::DEFAULT)
    }

    pub fn bytes(bytes: &[u8]) -> Value {
        Value::Str(bytes.into(), CollationId::BINARY)
    }

    /// See [`ValueRef::long_bytes`].
    #[inline]
    pub fn long_bytes(&self) -> usize {
        match self {
            Value::Str(text, _) | Value::Json(text) => text.len(),
            _ => 0,
        }
    }

    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(v) => ValueRef::Int(*v),
            Value::UInt(v) => ValueRef::UInt(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Str(v, c) => ValueRef::Str(v, *c),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Time(v, fsp) => ValueRef::Time(*v, *fsp),
            Value::DateTime(v, fsp) => ValueRef::DateTime(*v, *fsp),
            Value::Timestamp(v, fsp) => ValueRef::Timestamp(*v, *fsp),
            Value::Year(v) => ValueRef::Year(*v),
            Value::Bit(v, n) => ValueRef::Bit(*v, *n),
            Value::Enum(v, m) => ValueRef::Enum(*v, m),
            Value::Set(v, m) => ValueRef::Set(*v, m),
            Value::Json(v) => ValueRef::Json(v),
        }
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Takes another value, in the memory of the one before where that will do.
    #[inline]
    pub fn assign(&mut self, value: ValueRef<'_>) {
        match (&mut *self, value) {
            (Value::Str(text, own), ValueRef::Str(bytes, collation)) => {
                text.assign(bytes);
                *own = collation;
            }
            (_, value) => *self = value.to_owned(),
        }
    }

    /// Gives a DECIMAL the digits of its expression's type: a quotient has more (`1/3*3` is `1.0000`), what COALESCE
    /// and the like choose may have fewer (`COALESCE(1.5, 2.25)`), and every use of the value but arithmetic sees
    /// those of the type.
    #[inline]
    pub fn settle(&mut self, ty: &crate::SqlType) {
        if let Value::Decimal(d) = self
            && ty.id == crate::TypeId::Decimal
            && let Some(rounded) = d.shown_with(ty.scale, ty.own_digits)
        {
            *d = rounded;
        }
    }

    /// The text of a number whose type says more of it than the value: the fixed decimals of a FLOAT or DOUBLE, the
    /// zeros in front of a ZEROFILL. `None`: what [`Value::write_text`] prints.
    pub fn shown_as(&self, ty: &crate::SqlType) -> Option<Vec<u8>> {
        let float =
            matches!(ty.id, crate::TypeId::Float | crate::TypeId::Double) && ty.scale < crate::SqlType::NOT_FIXED;
        let mut text = Vec::new();
        match self {
            Value::Double(v) if float => crate::convert::float::write_fixed(*v, ty.scale, &mut text),
            Value::Float(v) if float => crate::convert::float::write_fixed(f64::from(*v), ty.scale, &mut text),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) if ty.zerofill => {
                self.write_text(&mut text);
            }
            _ => return None,
        }
        if ty.zerofill {
            let zeros = (ty.display_chars() as usize).saturating_sub(text.len());
            text.splice(0..0, std::iter::repeat_n(b'0', zeros));
        }
        Some(text)
    }

    /// Where a text is wanted of a value of a type: the decimals and zeros that the type asks for.
    pub fn settle_text(&mut self, ty: &crate::SqlType) {
        self.settle(ty);
        if let Some(text) = self.shown_as(ty) {
            *self = Value::Str(text[..].into(), CollationId::DEFAULT);
        }
    }

    /// Appends the text that MySQL prints; nothing for NULL.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        self.as_ref().write_text(out);
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Value {
        Value::Int(i64::from(v))
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Value {
        Value::Int(v)
    }
}

impl From<u64> for Value {
    fn from(v: u64) -> Value {
        Value::UInt(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Value {
        Value::Double(v)
    }
}

impl From<Decimal> for Value {
    fn from(v: Decimal) -> Value {
        Value::Decimal(v)
    }
}

impl ValueRef<'_> {
    /// Bytes of a text or a document: what work over the value is in proportion to. 0 for others, which are short.
    #[inline]
    pub fn long_bytes(&self) -> usize {
        match self {
            ValueRef::Str(text, _) | ValueRef::Json(text) => text.len(),
            _ => 0,
        }
    }

    /// The character set of the value's text.
    pub fn text_charset(&self) -> Charset {
        match self {
            ValueRef::Str(_, c) => c.charset(),
            ValueRef::Bit(..) => Charset::Binary,
            ValueRef::Json(_) | ValueRef::Enum(..) | ValueRef::Set(..) => Charset::Utf8mb4,
            _ => Charset::Ascii,
        }
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }

    pub fn to_owned(&self) -> Value {
        match *self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) => Value::UInt(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Str(v, c) => Value::Str(v.into(), c),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v, fsp) => Value::Time(v, fsp),
            ValueRef::DateTime(v, fsp) => Value::DateTime(v, fsp),
            ValueRef::Timestamp(v, fsp) => Value::Timestamp(v, fsp),
            ValueRef::Year(v) => Value::Year(v),
            ValueRef::Bit(v, n) => Value::Bit(v, n),
            ValueRef::Enum(v, m) => Value::Enum(v, m.clone()),
            ValueRef::Set(v, m) => Value::Set(v, m.clone()),
            ValueRef::Json(v) => Value::Json(v.into()),
        }
    }

    /// Turns a stored TIMESTAMP into the local DATETIME of a time zone; leaves everything else as it is.
    #[inline]
    pub fn localize(self, zone: &crate::temporal::TimeZone) -> Self {
        match self {
            ValueRef::Timestamp(t, fsp) => ValueRef::DateTime(t.to_local(zone), fsp),
            other => other,
        }
    }

    /// Appends the text that MySQL prints; nothing for NULL. A TIMESTAMP prints in UTC.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            ValueRef::Null => {}
            ValueRef::Int(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            ValueRef::UInt(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            ValueRef::Decimal(v) => v.write(out),
            ValueRef::Float(v) => crate::convert::float::write_float(*v, out),
            ValueRef::Double(v) => crate::convert::float::write_double(*v, out),
            ValueRef::Str(v, _) => out.extend_from_slice(v),
            ValueRef::Json(v) => crate::json::Json::write_stored(v, out),
            ValueRef::Date(v) => v.write(out),
            ValueRef::Time(v, fsp) => v.write(*fsp, out),
            ValueRef::DateTime(v, fsp) => v.write(*fsp, out),
            ValueRef::Timestamp(v, fsp) => v.to_local(&crate::temporal::TimeZone::UTC).write(*fsp, out),
            ValueRef::Year(v) => crate::temporal::write_digits(u32::from(*v), 4, out),
            ValueRef::Bit(v, n) => {
                out.extend_from_slice(&v.to_be_bytes()[8 - usize::from((*n).clamp(1, 64)).div_ceil(8)..])
            }
            ValueRef::Enum(v, m) => {
                if let Some(name) = usize::from(*v).checked_sub(1).and_then(|i| m.names.get(i)) {
                    out.extend_from_slice(name.as_bytes());
                }
            }
            ValueRef::Set(v, m) => {
                let mut first = true;
                for (_, name) in m.names.iter().enumerate().filter(|(i, _)| *i < 64 && v >> i & 1 == 1) {
                    if !first {
                        out.push(b',');
                    }
                    out.extend_from_slice(name.as_bytes());
                    first = false;
                }
            }
        }
    }
}
