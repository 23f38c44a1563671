//! Comparison of values, and keys that stand for them: for hashing (equal bytes = equal values) and for sorting (bytes
//! order as values do).

use crate::{batch::Column, context::Cx, long, long::shorter, numbered};
use gannet_plan::expr::{CompareOp, Comparison};
use gannet_types::{
    Result, SqlType, TypeId, ValueRef,
    convert::{self, CompareAs},
    value::Value,
};
use std::cmp::Ordering;

/// The domain of a comparison in the conversions' terms. JSON documents are compared by their normalised text.
fn domain(by: Comparison) -> CompareAs {
    match by {
        Comparison::Integer => CompareAs::Integer,
        Comparison::Decimal => CompareAs::Decimal,
        Comparison::Double => CompareAs::Double,
        Comparison::String(collation) => CompareAs::Text(collation),
        Comparison::Datetime => CompareAs::DateTime,
        Comparison::Time => CompareAs::Time,
        Comparison::Json => CompareAs::Json,
    }
}

/// Order of two values; `None` when either is NULL.
#[inline]
pub(crate) fn compare(
    by: Comparison,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
    cx: &mut Cx<'_, '_>,
) -> Result<Option<Ordering>> {
    let by = domain(by);
    if shorter(a, b) >= long::LONG {
        return compare_long(by, a, b, cx);
    }
    match convert::compare::compare_same(a, b, by) {
        Some(order) => Ok(Some(order)),
        None => convert::compare(a, b, by, &mut cx.eval_context().conversion()),
    }
}

/// The same for long texts and documents, which can be interrupted.
#[cold]
fn compare_long(by: CompareAs, a: ValueRef<'_>, b: ValueRef<'_>, cx: &mut Cx<'_, '_>) -> Result<Option<Ordering>> {
    let mut context = cx.eval_context();
    let mut conversion = context.conversion();
    long::aside(|| {
        if let (CompareAs::Text(collation), ValueRef::Str(x, p), ValueRef::Str(y, q)) = (by, a, b)
            && [p, q].iter().all(|c| c.charset() == collation.charset())
        {
            let order = collation.get().compare_until(x, y, crate::context::stopped);
            return order.map(Some).ok_or_else(|| gannet_types::sql_err!(QueryInterrupted));
        }
        match convert::compare::compare_same(a, b, by) {
            Some(order) => Ok(Some(order)),
            None => convert::compare(a, b, by, &mut conversion),
        }
    })
}

/// True when operands in that order satisfy the operator.
#[inline]
pub(crate) fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order == Ordering::Equal,
        CompareOp::Ne => order != Ordering::Equal,
        CompareOp::Lt => order == Ordering::Less,
        CompareOp::Le => order != Ordering::Greater,
        CompareOp::Gt => order == Ordering::Greater,
        CompareOp::Ge => order != Ordering::Less,
    }
}

/// Truth of a value; `None` for NULL.
#[inline]
pub(crate) fn truth(value: ValueRef<'_>, cx: &mut Cx<'_, '_>) -> Result<Option<bool>> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Int(v) => Ok(Some(v != 0)),
        other => convert::to_bool(other, &mut cx.eval_context().conversion()),
    }
}

/// Appends bytes that are equal for values which are equal in the domain. False (and a byte of its own) for NULL.
pub(crate) fn append_domain_key(
    by: Comparison,
    value: ValueRef<'_>,
    cx: &mut Cx<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    match (by, value) {
        (_, ValueRef::Null) => {
            out.push(0);
            return Ok(false);
        }
        // What coercion leaves as it is. Every month has 28 days; what is later may be no date.
        (Comparison::Datetime, ValueRef::DateTime(at, _)) if at.day() <= 28 => {
            append_equality_key(value, out);
            return Ok(true);
        }
        (Comparison::Datetime, ValueRef::Date(date)) if date.day() <= 28 => {
            append_equality_key(value, out);
            return Ok(true);
        }
        (Comparison::Integer, ValueRef::Int(_)) | (Comparison::Double, ValueRef::Double(_)) => {
            append_equality_key(value, out);
            return Ok(true);
        }
        (Comparison::String(collation), ValueRef::Str(text, own))
            if own.charset() == collation.charset() && text.len() < long::LONG =>
        {
            cx.worked(text.len())?;
            append_equality_key(ValueRef::Str(text, collation), out);
            return Ok(true);
        }
        _ => {}
    }
    let by = domain(by);
    let coerced = cx.convert(value.long_bytes(), |conversion| convert::compare::coerce(value, by, conversion))?;
    if coerced.is_null() {
        out.push(0);
        return Ok(false);
    }
    append_equality_key(coerced.as_ref(), out);
    Ok(true)
}

/// Appends bytes that are equal for values which GROUP BY and DISTINCT take as equal (NULLs are).
pub(crate) fn append_value_key(value: ValueRef<'_>, ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    match value {
        ValueRef::Str(text, own) if ty.id.is_string() && ty.collation.charset() == own.charset() => {
            append_equality_key(ValueRef::Str(text, ty.collation), out);
        }
        // Digits that the type does not have tell no values apart: `SELECT DISTINCT a / b`.
        ValueRef::Decimal(d) if ty.id == TypeId::Decimal => {
            let digits = if d.scale() == ty.scale { Some(d) } else { d.round(ty.scale) };
            match digits.and_then(|d| i64::try_from(d.to_i128()?).ok()) {
                Some(few) => {
                    out.push(numbered::DECIMAL);
                    out.extend_from_slice(&few.to_be_bytes());
                }
                None if d.scale() > ty.scale => append_equality_key(ValueRef::Decimal(digits.unwrap_or(d)), out),
                None => append_equality_key(value, out),
            }
        }
        other => append_equality_key(other, out),
    }
    Ok(())
}

/// Appends the keys of all columns of a row.
pub(crate) fn append_row_key(columns: &[Column], row: usize, types: &[SqlType], out: &mut Vec<u8>) -> Result<()> {
    for (column, ty) in columns.iter().zip(types) {
        append_value_key(column.get(row), ty, out)?;
    }
    Ok(())
}

fn append_equality_key(value: ValueRef<'_>, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Int(v) => tagged(numbered::INTEGER, &v.to_be_bytes()),
        ValueRef::UInt(v) => match i64::try_from(v) {
            Ok(v) => tagged(numbered::INTEGER, &v.to_be_bytes()),
            Err(_) => tagged(13, &v.to_be_bytes()),
        },
        ValueRef::Decimal(v) => {
            // 1.0 equals 1.00, and an integer in another row of the same column equals both.
            let mut text = Vec::with_capacity(32);
            v.normalized().write(&mut text);
            tagged(2, &[text.len() as u8]);
            out.extend_from_slice(&text);
        }
        ValueRef::Float(v) => tagged(3, &(f64::from(v) + 0.0).to_bits().to_be_bytes()),
        ValueRef::Double(v) => tagged(3, &(v + 0.0).to_bits().to_be_bytes()),
        ValueRef::Date(v) => tagged(numbered::DATE, &v.to_datetime().packed().to_be_bytes()),
        ValueRef::DateTime(v, _) => tagged(numbered::DATE, &v.packed().to_be_bytes()),
        ValueRef::Timestamp(v, _) => tagged(numbered::INSTANT, &v.unix_micros().to_be_bytes()),
        ValueRef::Time(v, _) => tagged(numbered::TIME, &v.packed().to_be_bytes()),
        ValueRef::Year(v) => tagged(7, &v.to_be_bytes()),
        ValueRef::Bit(v, _) => tagged(8, &v.to_be_bytes()),
        ValueRef::Enum(v, _) => tagged(9, &v.to_be_bytes()),
        ValueRef::Set(v, _) => tagged(10, &v.to_be_bytes()),
        ValueRef::Str(text, collation) => {
            out.push(11);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            long::over(text.len(), || collation.get().equality_key(text, out));
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        ValueRef::Json(stored) => {
            tagged(12, &[]);
            long::over(stored.len(), || append_json(stored, out));
        }
    }
}

/// Appends bytes that order as the values do: NULL first ascending, last descending.
pub(crate) fn append_sort_key(value: ValueRef<'_>, ty: &SqlType, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    match value {
        ValueRef::Null => out.push(0),
        other => {
            out.push(1);
            append_ordered(other, ty, out);
        }
    }
    if descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

fn append_ordered(value: ValueRef<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    let signed = |v: i64| ((v as u64) ^ (1 << 63)).to_be_bytes();
    match value {
        ValueRef::Null => {}
        // Mixed signs: a wide integer with its sign bit turned.
        ValueRef::Int(v) => out.extend_from_slice(&((i128::from(v) + (1 << 64)) as u128).to_be_bytes()[7..]),
        ValueRef::UInt(v) => out.extend_from_slice(&((i128::from(v) + (1 << 64)) as u128).to_be_bytes()[7..]),
        ValueRef::Decimal(v) => {
            let (precision, scale) = match ty.id {
                TypeId::Decimal => (ty.length.clamp(1, 65) as u8, ty.scale.min(30)),
                _ => (65, 30),
            };
            v.encode(precision, scale, out);
        }
        ValueRef::Float(v) => append_double(f64::from(v), out),
        ValueRef::Double(v) => append_double(v, out),
        ValueRef::Date(v) => out.extend_from_slice(&signed(v.to_datetime().packed())),
        ValueRef::DateTime(v, _) => out.extend_from_slice(&signed(v.packed())),
        ValueRef::Timestamp(v, _) => out.extend_from_slice(&signed(v.unix_micros())),
        ValueRef::Time(v, _) => out.extend_from_slice(&signed(v.packed())),
        ValueRef::Year(v) => out.extend_from_slice(&v.to_be_bytes()),
        ValueRef::Bit(v, _) => out.extend_from_slice(&v.to_be_bytes()),
        ValueRef::Enum(v, _) => out.extend_from_slice(&v.to_be_bytes()),
        ValueRef::Set(v, _) => out.extend_from_slice(&v.to_be_bytes()),
        ValueRef::Str(text, own) => {
            let collation =
                if ty.id.is_string() && ty.collation.charset() == own.charset() { ty.collation } else { own };
            long::over(text.len(), || collation.get().key(text, out));
        }
        ValueRef::Json(stored) => long::over(stored.len(), || append_json(stored, out)),
    }
}

/// The order of JSON values; bytes that are none order behind all.
fn append_json(stored: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if gannet_types::json::sort_key_stored(stored, out).is_none() {
        out.truncate(start);
        out.push(0xFF);
    }
}

fn append_double(v: f64, out: &mut Vec<u8>) {
    let bits = (v + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// True when the value needs no conversion to be of the type's kind.
pub(crate) fn is_of_kind(value: &Value, ty: &SqlType) -> bool {
    match value {
        Value::Null => true,
        Value::Int(_) => ty.id.is_integer() && !ty.unsigned,
        Value::UInt(_) => ty.id.is_integer() && ty.unsigned,
        Value::Decimal(d) => ty.id == TypeId::Decimal && d.scale() == ty.scale,
        Value::Float(_) => ty.id == TypeId::Float,
        Value::Double(_) => ty.id == TypeId::Double,
        Value::Str(_, collation) => ty.id.is_string() && *collation == ty.collation,
        Value::Date(_) => ty.id == TypeId::Date,
        Value::Time(_, digits) => ty.id == TypeId::Time && *digits == ty.scale,
        Value::DateTime(_, digits) => ty.id == TypeId::DateTime && *digits == ty.scale,
        Value::Timestamp(_, digits) => ty.id == TypeId::Timestamp && *digits == ty.scale,
        Value::Year(_) => ty.id == TypeId::Year,
        Value::Bit(..) => ty.id == TypeId::Bit,
        Value::Enum(..) => ty.id == TypeId::Enum,
        Value::Set(..) => ty.id == TypeId::Set,
        Value::Json(_) => ty.id == TypeId::Json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::CollationId;
    use gannet_types::Decimal;

    fn sort_key(value: &Value, ty: &SqlType, descending: bool) -> Vec<u8> {
        let mut key = Vec::new();
        append_sort_key(value.as_ref(), ty, descending, &mut key).expect("a key");
        key
    }

    #[test]
    fn sort_keys_order_as_values_do() {
        let integers =
            [Value::Null, Value::Int(i64::MIN), Value::Int(-1), Value::Int(0), Value::UInt(5), Value::UInt(u64::MAX)];
        let doubles =
            [Value::Null, Value::Double(-1e300), Value::Double(-0.5), Value::Double(0.0), Value::Double(3.25)];
        let texts = [
            Value::Null,
            Value::bytes(b""),
            Value::bytes(b"\0"),
            Value::bytes(b"\0\0"),
            Value::bytes(b"a"),
            Value::bytes(b"a\0"),
        ];
        let decimals = [Value::Null, Value::Decimal(Decimal::from_i128(-105, 1)), Value::Decimal(Decimal::from_i64(0))];
        let binary = SqlType::new(TypeId::Blob);
        for (values, ty) in [
            (&integers[..], &SqlType::BIGINT),
            (&doubles[..], &SqlType::DOUBLE),
            (&texts[..], &binary),
            (&decimals[..], &SqlType::decimal(10, 2)),
        ] {
            for pair in values.windows(2) {
                assert!(sort_key(&pair[0], ty, false) < sort_key(&pair[1], ty, false), "{pair:?}");
                assert!(sort_key(&pair[0], ty, true) > sort_key(&pair[1], ty, true), "{pair:?} descending");
            }
        }
    }

    #[test]
    fn equal_values_have_equal_keys() {
        let key = |value: Value, ty: &SqlType| {
            let mut out = Vec::new();
            append_value_key(value.as_ref(), ty, &mut out).expect("a key");
            out
        };
        let decimal = SqlType::decimal(10, 2);
        assert_eq!(
            key(Value::Decimal(Decimal::from_i128(10, 1)), &decimal),
            key(Value::Decimal(Decimal::from_i128(100, 2)), &decimal)
        );
        assert_eq!(key(Value::Double(-0.0), &SqlType::DOUBLE), key(Value::Double(0.0), &SqlType::DOUBLE));
        assert_eq!(
            key(Value::text("ABC"), &SqlType::varchar(9, CollationId::DEFAULT)),
            key(Value::text("abc"), &SqlType::varchar(9, CollationId::DEFAULT))
        );
        assert_ne!(key(Value::Null, &decimal), key(Value::Int(0), &decimal));
    }
}
