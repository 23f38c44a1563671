//! Conversions in the executor's terms.

use crate::{compare::is_of_kind, context::Cx};
use gannet_schema::Column;
use gannet_types::room::Room;
use gannet_types::{
    Date, Decimal, ErrorCode, Result, SqlMode, SqlType, TimeZone, TypeId, Value, ValueRef, Warnings,
    convert::{self, Context, StoreTarget, Stored},
};

/// CAST.
pub(crate) fn cast(value: Value, ty: &SqlType, cx: &mut Cx<'_, '_>) -> Result<Value> {
    if ty.id == TypeId::Json && matches!(value, Value::Json(_)) {
        return Ok(value);
    }
    let limit = cx.shared.settings.max_allowed_packet;
    if ty.id == TypeId::Binary && u64::from(ty.length) > limit && !value.is_null() {
        cx.warnings.warn(ErrorCode::WarnAllowedPacketOverflowed, &[&"cast_as_binary", &limit]);
        return Ok(Value::Null);
    }
    cx.convert(value.long_bytes(), |conversion| convert::cast(value.as_ref(), ty, conversion))
}

/// Brings a branch's value (CASE and the like) to the common type; a value which is of its kind stays as it is.
pub(crate) fn cast_common(value: Value, ty: &SqlType, cx: &mut Cx<'_, '_>) -> Result<Value> {
    if is_of_kind(&value, ty) || matches!(ty.id, TypeId::Null | TypeId::Enum | TypeId::Set) {
        return Ok(value);
    }
    // A DECIMAL keeps its own digits ([`Value::settle`]).
    match value {
        Value::Decimal(_) if ty.id == TypeId::Decimal => return Ok(value),
        Value::Int(v) if ty.id == TypeId::Decimal => return Ok(Value::Decimal(Decimal::from_i64(v))),
        Value::UInt(v) if ty.id == TypeId::Decimal => return Ok(Value::Decimal(Decimal::from_u64(v))),
        _ => {}
    }
    if ty.id == TypeId::Json {
        return cx
            .convert(value.long_bytes(), |c| Ok(Value::Json(convert::to_json(value.as_ref(), c)?.to_text(c.room)?)));
    }
    cast(value, ty, cx)
}

/// Converts a value for a column of row `row` of the statement.
#[inline]
pub(crate) fn store(value: ValueRef<'_>, table: &str, column: &Column, row: u64, cx: &mut Cx<'_, '_>) -> Result<Value> {
    match convert::store_plain(value, &column.ty) {
        Some(value) => Ok(value),
        None => store_other(value, table, column, row, cx),
    }
}

/// The same, copying nothing that goes in as it is.
#[inline]
pub(crate) fn store_ref<'v>(
    value: ValueRef<'v>,
    table: &str,
    column: &Column,
    row: u64,
    cx: &mut Cx<'_, '_>,
) -> Result<Stored<'v>> {
    match convert::store_same(value, &column.ty) {
        Some(value) => Ok(Stored::Same(value)),
        None => store_other(value, table, column, row, cx).map(Stored::Changed),
    }
}

#[inline(never)]
fn store_other(value: ValueRef<'_>, table: &str, column: &Column, row: u64, cx: &mut Cx<'_, '_>) -> Result<Value> {
    // NULL into AUTO_INCREMENT asks for a value; whether NULL may stay is decided before.
    if value.is_null() {
        return Ok(Value::Null);
    }
    // Errors of JSON columns name the table too.
    let qualified;
    let name = if column.ty.id == TypeId::Json {
        qualified = format!("{table}.{}", column.name);
        &qualified
    } else {
        &*column.name
    };
    let at = StoreTarget { column: name, row };
    cx.convert(value.long_bytes(), |conversion| convert::store(value, &column.ty, at, conversion))
}

/// What a NOT NULL column without DEFAULT gets where MySQL invents a value.
pub(crate) fn zero(ty: &SqlType) -> Value {
    convert::implicit_default(ty)
}

/// Converts the default of a column, and what to say of it. Anything lost is an error; a date with zeros that the SQL
/// mode does not want is the zero date without strictness.
pub(crate) fn store_constant(
    value: Value,
    column: &Column,
    mode: SqlMode,
    zone: &TimeZone,
) -> Result<(Value, Warnings)> {
    let at = StoreTarget { column: &column.name, row: 1 };
    let run = |strict: bool| {
        let mut warnings = Warnings::default();
        let mut cx = Context {
            mode,
            zone,
            today: Date::ZERO,
            strict,
            warnings: &mut warnings,
            stopped: crate::context::stopped,
            // A definition's literal is as short as its statement.
            room: Room::FREE,
        };
        convert::store(value.as_ref(), &column.ty, at, &mut cx).map(|v| (v, warnings))
    };
    let refused = match run(true) {
        Err(e) if !mode.is_strict() => e,
        outcome => return outcome,
    };
    let (value, warnings) = run(false)?;
    let dated = matches!(column.ty.id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp);
    if dated && warnings.iter().all(|w| w.code == ErrorCode::WarnDataOutOfRange) {
        return Ok((value, warnings));
    }
    Err(refused)
}

/// An integral value.
pub(crate) fn to_i128(value: &Value) -> Option<i128> {
    match value {
        Value::Int(v) => Some(i128::from(*v)),
        Value::UInt(v) => Some(i128::from(*v)),
        Value::Double(v) if v.fract() == 0.0 && v.abs() < 1e18 => Some(*v as i128),
        Value::Float(v) if v.fract() == 0.0 => Some(*v as i128),
        _ => None,
    }
}

/// A decimal literal.
pub(crate) fn parse_decimal(text: &str) -> Option<Decimal> {
    let parsed = Decimal::parse(text.as_bytes());
    (parsed.consumed == text.len()).then_some(parsed.value)
}
