//! A statement's literals against a cached plan: does it fit, and what are its parameters' values.

use crate::plan::{LiteralClass, Param, Plan};
use gannet_parser::digest::LiteralToken;
use gannet_parser::lexer::{Tok, unquote_string};
use gannet_parser::mode::LexMode;
use gannet_parser::rows::{Cell, CellKind};
use gannet_types::charset::Charset;
use gannet_types::convert::float::parse_double;
use gannet_types::{CollationId, Decimal, Result, Value, ValueRef};
use std::borrow::Cow;

impl Plan {
    /// The plan is right for a statement of its shape with these literals: the pinned ones are the same, the others of
    /// the classes it was made for, and the statistics it was made with still hold.
    #[inline]
    pub fn fits(&self, text: &[u8], literals: &[LiteralToken]) -> bool {
        let pinned =
            |(ordinal, raw): &(u32, Box<[u8]>)| literals.get(*ordinal as usize).is_some_and(|t| t.raw(text) == &**raw);
        let class = |p: &Param| match p {
            Param::Marker { .. } | Param::Local { .. } => true,
            Param::Literal { ordinal, class, .. } => {
                literals.get(*ordinal as usize).is_some_and(|t| is_of_class(t.kind, t.raw(text), *class))
            }
        };
        self.is_current() && self.pins.iter().all(pinned) && self.params.iter().all(class)
    }

    /// Values of the parameters, in order: literals of the text, then (by [`Param::Marker`]) the client's values, or
    /// those of a program's variables. Error 1300 for text that
    /// is no text of the connection's character set.
    pub fn bind(
        &self,
        text: &[u8],
        literals: &[LiteralToken],
        mode: LexMode,
        collation: CollationId,
        markers: &[Value],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        out.clear();
        for param in &self.params {
            out.push(match param {
                Param::Marker { index: n, .. } | Param::Local { slot: n, .. } => {
                    markers.get(*n as usize).cloned().unwrap_or(Value::Null)
                }
                Param::Literal { ordinal, class, .. } => match literals.get(*ordinal as usize) {
                    Some(token) => token_value(*class, token.raw(text), mode, collation)?,
                    None => Value::Null,
                },
            });
        }
        Ok(())
    }
}

/// The literal token is one of the class.
fn is_of_class(kind: Tok, raw: &[u8], class: LiteralClass) -> bool {
    match class {
        LiteralClass::Ascii => kind == Tok::Str && raw.is_ascii(),
        class => token_class(kind, raw) == class,
    }
}

/// Class of a literal token.
fn token_class(kind: Tok, raw: &[u8]) -> LiteralClass {
    match kind {
        // 18 digits fit BIGINT.
        Tok::Int if raw.len() <= 18 => LiteralClass::Integer,
        Tok::Int => match std::str::from_utf8(raw).ok().and_then(|t| t.parse::<u64>().ok()) {
            Some(v) if i64::try_from(v).is_ok() => LiteralClass::Integer,
            Some(_) => LiteralClass::Unsigned,
            None => LiteralClass::Other,
        },
        Tok::Decimal => match std::str::from_utf8(raw) {
            Ok(text) => crate::bind::literal::decimal_class(text),
            Err(_) => LiteralClass::Other,
        },
        Tok::Float => LiteralClass::Float,
        Tok::Str => LiteralClass::String,
        _ => LiteralClass::Other,
    }
}

fn token_value(class: LiteralClass, raw: &[u8], mode: LexMode, collation: CollationId) -> Result<Value> {
    Ok(match class {
        LiteralClass::Integer => {
            Value::Int(raw.iter().fold(0i64, |n, b| n.wrapping_mul(10) + i64::from(b.wrapping_sub(b'0'))))
        }
        LiteralClass::Unsigned => {
            Value::UInt(raw.iter().fold(0u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b.wrapping_sub(b'0')))))
        }
        LiteralClass::Decimal(_) => Value::Decimal(Decimal::parse(raw).value),
        LiteralClass::Float => Value::Double(parse_double(raw).0),
        LiteralClass::String | LiteralClass::Ascii => {
            let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
            let plain = !inner.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"'));
            let owned;
            let bytes = if plain {
                inner
            } else {
                owned = unquote_string(raw, mode);
                &owned
            };
            crate::bind::literal::text_value(bytes, collation)?
        }
        LiteralClass::Other => Value::Null,
    })
}

/// The value of a literal in a row of a text: the same as that of an expression of this literal alone. `collation` is
/// that of the connection; `buffer` holds bytes that are not in the text.
pub fn cell_value<'t>(
    cell: &Cell,
    text: &'t [u8],
    (mode, collation): (LexMode, CollationId),
    buffer: &'t mut Vec<u8>,
) -> ValueRef<'t> {
    let raw = cell.raw(text);
    match cell.kind {
        CellKind::Null => ValueRef::Null,
        CellKind::Bool(b) => ValueRef::Int(i64::from(b)),
        CellKind::Int(negative) => {
            let n = raw.iter().fold(0i64, |n, b| n.wrapping_mul(10) + i64::from(b.wrapping_sub(b'0')));
            ValueRef::Int(if negative { -n } else { n })
        }
        CellKind::Decimal(negative) => {
            let n = Decimal::parse(raw).value;
            ValueRef::Decimal(if negative { -n } else { n })
        }
        CellKind::Float(negative) => {
            let n = parse_double(raw).0;
            ValueRef::Double(if negative { -n } else { n })
        }
        CellKind::Text => text_ref(cell.quoted(text, mode), collation, buffer),
        CellKind::Bytes => bytes_ref(cell.quoted(text, mode), CollationId::BINARY, buffer),
        CellKind::Hex => bytes_ref(Cow::Owned(cell.hex(text)), CollationId::BINARY, buffer),
    }
}

fn bytes_ref<'t>(bytes: Cow<'t, [u8]>, collation: CollationId, buffer: &'t mut Vec<u8>) -> ValueRef<'t> {
    match bytes {
        Cow::Borrowed(bytes) => ValueRef::Str(bytes, collation),
        Cow::Owned(bytes) => {
            *buffer = bytes;
            ValueRef::Str(buffer, collation)
        }
    }
}

/// As [`crate::bind::literal::text_value`].
fn text_ref<'t>(bytes: Cow<'t, [u8]>, collation: CollationId, buffer: &'t mut Vec<u8>) -> ValueRef<'t> {
    let charset = collation.charset();
    let written = charset.is_written();
    if !(if written { charset } else { Charset::Utf8mb4 }).is_valid(&bytes) {
        return bytes_ref(bytes, CollationId::BINARY, buffer);
    }
    if written {
        return bytes_ref(bytes, collation, buffer);
    }
    let own = charset.literal(&bytes).into_owned();
    let collation = if charset.is_valid(&own) { collation } else { CollationId::BINARY };
    bytes_ref(Cow::Owned(own), collation, buffer)
}
