//! Literals: values and types, and which of them become parameters.
//!
//! A literal is **lifted** into a parameter when the plan is the same for any other literal of its class: operands of
//! comparisons, IN lists, BETWEEN and LIKE, values of INSERT and UPDATE, operands of + and - there, LIMIT and OFFSET.
//! All others are **pinned**: their value is part of what the plan is good for. Literals without an ordinal belong to
//! the statement's shape (NULL, TRUE, FALSE) or to a text whose plan is not shared.

use super::{Binder, error};
use crate::make::constant;
use crate::plan::{LiteralClass, Param};
use crate::typing::Bound;
use gannet_parser::ast::{Literal, LiteralValue, TemporalKind};
use gannet_types::charset::Charset;
use gannet_types::decimal::{MAX_PRECISION, MAX_SCALE};
use gannet_types::temporal::{DateFlags, parse_datetime, parse_time, parse_time_as};
use gannet_types::{
    Collation, CollationId, Decimal, ErrorCode, Result, SqlError, SqlMode, SqlType, TimeZone, TypeId, Value,
};

/// Integer digits a lifted DECIMAL is typed with.
const DECIMAL_DIGITS: u32 = 18;

/// The class of a literal, as plans distinguish them.
pub fn literal_class(value: &LiteralValue) -> LiteralClass {
    match value {
        LiteralValue::Int(v) if i64::try_from(*v).is_ok() => LiteralClass::Integer,
        LiteralValue::Int(_) => LiteralClass::Unsigned,
        LiteralValue::Decimal(text) => decimal_class(text),
        LiteralValue::Float(_) => LiteralClass::Float,
        LiteralValue::String { charset: None, .. } => LiteralClass::String,
        _ => LiteralClass::Other,
    }
}

/// Class of a DECIMAL literal: by the digits after the point.
pub(crate) fn decimal_class(text: &str) -> LiteralClass {
    let scale = text.split_once('.').map_or(0, |(_, f)| f.len());
    let digits = text.len() - scale;
    if digits as u32 > DECIMAL_DIGITS || scale > 30 { LiteralClass::Other } else { LiteralClass::Decimal(scale as u8) }
}

/// The value of a text literal without introducer: statements are UTF-8 in here, literals are in the connection's
/// character set.
pub fn text_value(bytes: &[u8], collation: CollationId) -> Result<Value> {
    let charset = collation.charset();
    if charset.is_written() {
        if !charset.is_valid(bytes) {
            return invalid_literal(charset, bytes, false);
        }
        return Ok(Value::Str(bytes.into(), collation));
    }
    if !Charset::Utf8mb4.is_valid(bytes) {
        return invalid_literal(Charset::Utf8mb4, bytes, false);
    }
    let own = charset.literal(bytes);
    if !charset.is_valid(&own) {
        return invalid_literal(charset, &own, false);
    }
    Ok(Value::Str((&*own).into(), collation))
}

/// A literal's value, for the executor's parameter list and for comparison with pins. `collation` is that of the
/// connection, `utf8mb4` what `default_collation_for_utf8mb4` says, `client` the character set in which the statement
/// came, `zone` the session's.
pub fn literal_value(
    value: &LiteralValue,
    (collation, utf8mb4): (CollationId, CollationId),
    client: Charset,
    mode: SqlMode,
    zone: &TimeZone,
) -> Result<Value> {
    Ok(match value {
        LiteralValue::Null => Value::Null,
        LiteralValue::Bool(v) => Value::from(*v),
        LiteralValue::Int(v) => i64::try_from(*v).map_or(Value::UInt(*v), Value::Int),
        LiteralValue::Decimal(text) => Value::Decimal(Decimal::parse(text.as_bytes()).value),
        LiteralValue::Float(text) => {
            let (v, _, overflow) = gannet_types::convert::float::parse_double(text.as_bytes());
            if overflow || !v.is_finite() {
                return Err(error(ErrorCode::IllegalValueForType, &[&"double", text]));
            }
            Value::Double(v)
        }
        LiteralValue::String { bytes, charset: None } => text_value(bytes, collation)?,
        LiteralValue::String { bytes, charset: Some(introducer) } => {
            let charset = Charset::by_name(introducer)?;
            let collation = Collation::implied(charset, utf8mb4);
            // The bytes are what the client sent.
            let sent = if client.is_written() { (&**bytes).into() } else { client.literal(bytes) };
            introduced_text(&sent, charset, collation)?
        }
        LiteralValue::Hex { bytes, charset } | LiteralValue::Bit { bytes, charset } => {
            let collation = match charset {
                Some(name) => {
                    let charset = Charset::by_name(name)?;
                    return introduced_text(bytes, charset, Collation::implied(charset, utf8mb4));
                }
                None => CollationId::BINARY,
            };
            Value::Str((&**bytes).into(), collation)
        }
        LiteralValue::Temporal { kind, text, odbc } => match temporal(*kind, text, mode, zone) {
            Err(_) if *odbc => Value::Str(text.as_bytes().into(), collation),
            value => value?,
        },
    })
}

/// Bytes that an introducer says are text. The first character of a wide character set may lack leading zeros.
fn introduced_text(bytes: &[u8], charset: Charset, collation: CollationId) -> Result<Value> {
    let converted = Charset::Binary.convert(bytes, charset);
    if converted.lossy {
        return Err(invalid_string(charset, &converted.bytes));
    }
    Ok(Value::Str((&*converted.bytes).into(), collation))
}

/// A literal that is no text of its character set. With an introducer it is error 1300; else it is what drivers make of
/// binary values: bytes.
#[cold]
pub(crate) fn invalid_literal(charset: Charset, bytes: &[u8], introduced: bool) -> Result<Value> {
    if introduced {
        return Err(invalid_string(charset, bytes));
    }
    Ok(Value::Str(bytes.into(), CollationId::BINARY))
}

fn invalid_string(charset: Charset, bytes: &[u8]) -> SqlError {
    let from = charset.valid_prefix(bytes);
    let hex: String = bytes[from..].iter().take(3).map(|b| format!("{b:02X}")).collect();
    error(ErrorCode::InvalidCharacterString, &[&charset.name(), &hex])
}

/// `DATE '..'` and so on; which dates there are is a matter of the SQL mode. A time with an offset is the session's.
fn temporal(kind: TemporalKind, text: &str, mode: SqlMode, zone: &TimeZone) -> Result<Value> {
    let flags = DateFlags::from_mode(mode);
    let ty = match kind {
        TemporalKind::Date => TypeId::Date,
        TemporalKind::Time => TypeId::Time,
        TemporalKind::DateTime => TypeId::DateTime,
    };
    let value = match ty {
        TypeId::Time => {
            let plain = text.strip_suffix('.').filter(|t| t.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(text);
            let time = parse_time_as(plain.as_bytes(), flags.cut_fractions);
            time.filter(|t| !t.truncated && !t.out_of_range).map(|t| Value::Time(t.value, t.fsp))
        }
        _ => parse_datetime(text.as_bytes(), flags).filter(|t| !t.truncated).and_then(|t| match ty {
            TypeId::Date => t.date_only.then(|| Value::Date(t.value.date())),
            _ => t.shown_in(zone).filter(|t| !t.date_only).map(|t| Value::DateTime(t.value, t.fsp)),
        }),
    };
    value.ok_or_else(|| {
        let word = match kind {
            TemporalKind::Date => "DATE",
            TemporalKind::Time => "TIME",
            TemporalKind::DateTime => "DATETIME",
        };
        error(ErrorCode::WrongValue, &[&word, &text])
    })
}

/// Precision and scale of a DECIMAL literal: its digits as they are written, zeros in front and behind too. MySQL reads
/// into nine words of nine digits, those before the point first; of more than 65 digits a column's 30 after the point
/// are kept.
fn digits_written(text: &str) -> (u8, u8) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (whole, most) = (whole.len(), usize::from(MAX_PRECISION));
    let fraction = fraction.len().min(9usize.saturating_sub(whole.div_ceil(9)) * 9);
    let precision = (whole + fraction).clamp(1, most);
    let scale = fraction.min(precision.saturating_sub(whole).max(usize::from(MAX_SCALE))).min(precision);
    (precision as u8, scale as u8)
}

impl Binder<'_> {
    fn value_of(&self, literal: &Literal) -> Result<Value> {
        let o = self.options;
        literal_value(&literal.value, (o.collation, o.utf8mb4), o.client, o.sql_mode, o.time_zone)
    }

    /// Warns of a delimiter in `DATE '2020/01/01'` that is deprecated.
    fn tell_delimiter(&mut self, literal: &LiteralValue) {
        let LiteralValue::Temporal { kind, text, .. } = literal else { return };
        let found = match kind {
            TemporalKind::Time => parse_time(text.as_bytes()).and_then(|t| t.deprecated),
            _ => parse_datetime(text.as_bytes(), DateFlags::LAX).and_then(|t| t.deprecated),
        };
        self.arena.warnings.extend(found.map(|found| found.warning(text, 1)));
    }

    /// A literal where its value may matter to the plan.
    pub(super) fn pin_literal(&mut self, literal: &Literal) -> Result<Bound> {
        let value = self.value_of(literal)?;
        self.tell_delimiter(&literal.value);
        if matches!(value, Value::Str(..)) {
            self.arena.written.push(value.clone());
        }
        let ascii = matches!(&value, Value::Str(text, c) if c.charset().narrow(text).is_ascii());
        let mut bound = Bound::new(constant(value));
        bound.ascii = ascii;
        bound.hex =
            matches!(literal.value, LiteralValue::Hex { charset: None, .. } | LiteralValue::Bit { charset: None, .. });
        if matches!(literal.value, LiteralValue::Bool(_)) {
            bound.expr.ty.length = 1;
        }
        if let LiteralValue::Decimal(text) = &literal.value {
            let (precision, scale) = digits_written(text);
            bound.expr.ty = SqlType::decimal(precision, scale).not_null();
        }
        Ok(bound)
    }

    /// The literal's ordinal, if it may be lifted: it is one token of a text whose plan is shared.
    fn liftable(&self, literal: &Literal) -> Option<u32> {
        let (_, tokens) = self.options.source?;
        let ordinal = literal.index.0.filter(|_| self.pinning == 0)?;
        // Adjacent strings are one literal of several tokens.
        let token = tokens.get(ordinal as usize)?;
        (token.end == literal.span.end).then_some(ordinal)
    }

    /// A literal whose value does not matter to the plan.
    pub(super) fn lift_literal(&mut self, literal: &Literal) -> Result<Bound> {
        let class = literal_class(&literal.value);
        let Some(ordinal) = self.liftable(literal) else { return self.pin_literal(literal) };
        let value = self.value_of(literal)?;
        let ty = match class {
            LiteralClass::Integer => SqlType::BIGINT,
            LiteralClass::Unsigned => SqlType::bigint_unsigned(),
            LiteralClass::Decimal(scale) => SqlType::decimal(DECIMAL_DIGITS as u8 + scale, scale),
            LiteralClass::Float => SqlType::DOUBLE,
            LiteralClass::String => SqlType::varchar(255, self.options.collation),
            LiteralClass::Ascii | LiteralClass::Other => return self.pin_literal(literal),
        };
        let ascii = matches!(&value, Value::Str(text, _) if text.is_ascii());
        let param = Param::Literal { ordinal, class, ty: ty.not_null() };
        let mut bound = Bound::new(self.add_param(param, Some(value)));
        // Whether a text is ASCII differs from literal to literal; utf8mb4 holds every character anyway.
        bound.ascii = ascii && self.options.collation.charset() == Charset::Utf8mb4;
        Ok(bound)
    }
}
