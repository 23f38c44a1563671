//! Arithmetic: result types, overflow, division (manual, "Arithmetic Operators").

use super::{Context, to_decimal, to_f64, to_integer};
use crate::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
use crate::error::{Result, SqlError};
use crate::mode::SqlMode;
use crate::sql_err;
use crate::sqltype::{SqlType, TypeId};
use crate::value::{Value, ValueRef};

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`, `MOD`
    Mod,
}

/// In what an operation is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    Signed,
    Unsigned,
    Decimal,
    /// Of what is UNSIGNED: differences below zero are out of range.
    UnsignedDecimal,
    Double,
}

impl Domain {
    /// The name that error 1690 gives it.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Signed => "BIGINT",
            Domain::Unsigned => "BIGINT UNSIGNED",
            Domain::Decimal => "DECIMAL",
            Domain::UnsignedDecimal => "DECIMAL UNSIGNED",
            Domain::Double => "DOUBLE",
        }
    }

    /// Error 1690 for an operation whose text is `expression`.
    #[cold]
    pub fn out_of_range(self, expression: impl std::fmt::Display) -> SqlError {
        sql_err!(DataOutOfRange, self.name(), expression)
    }
}

/// Precision and scale of a type as a decimal.
pub fn decimal_digits(ty: &SqlType) -> (u32, u32) {
    let digits = match ty.id {
        TypeId::Decimal => return (ty.length, u32::from(ty.scale)),
        TypeId::TinyInt | TypeId::Enum => 3,
        TypeId::SmallInt => 5,
        TypeId::MediumInt => 8 - u32::from(!ty.unsigned),
        TypeId::Int => 10,
        TypeId::Year => 4,
        TypeId::Date => 8,
        TypeId::Time => return (7 + u32::from(ty.scale), u32::from(ty.scale)),
        TypeId::DateTime | TypeId::Timestamp => return (14 + u32::from(ty.scale), u32::from(ty.scale)),
        TypeId::Null => 1,
        TypeId::Bit => ty.length,
        // The value of an expression: its characters, but for the sign.
        TypeId::BigInt if (1..20).contains(&ty.length) && !ty.zerofill => (ty.length - u32::from(!ty.unsigned)).max(1),
        _ => 19 + u32::from(ty.unsigned),
    };
    (digits, 0)
}

/// What a type counts as among numbers.
pub fn numeric_domain(ty: &SqlType) -> Domain {
    match ty.id {
        TypeId::Decimal => Domain::Decimal,
        TypeId::Float | TypeId::Double => Domain::Double,
        TypeId::Bit | TypeId::Year => Domain::Unsigned,
        TypeId::Null | TypeId::Date => Domain::Signed,
        TypeId::Time | TypeId::DateTime | TypeId::Timestamp if ty.scale == 0 => Domain::Signed,
        id if id.is_temporal() => Domain::Decimal,
        id if id.is_integer() => {
            if ty.unsigned {
                Domain::Unsigned
            } else {
                Domain::Signed
            }
        }
        _ => Domain::Double,
    }
}

/// Decimals an operand brings to a DOUBLE result: `PI() * 2` prints as many as `PI()`.
fn shown_decimals(ty: &SqlType) -> u8 {
    match ty.id {
        id if id.is_string() || matches!(id, TypeId::Json | TypeId::Enum | TypeId::Set) => SqlType::NOT_FIXED,
        _ => ty.scale,
    }
}

/// Type of `a op b`, and in what it is computed. `increment` is `div_precision_increment`.
pub fn arith_type(op: ArithOp, a: &SqlType, b: &SqlType, mode: SqlMode, increment: u8) -> (SqlType, Domain) {
    let (da, db) = (numeric_domain(a), numeric_domain(b));
    let nullable = a.nullable || b.nullable || matches!(op, ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod);
    // `length` is in characters: digits and the sign.
    let integer = |unsigned: bool, length: u32| {
        let domain = if unsigned { Domain::Unsigned } else { Domain::Signed };
        (SqlType { unsigned, nullable, length: length.clamp(1, 21), ..SqlType::BIGINT }, domain)
    };
    let of_digits = |unsigned: bool, digits: u32| integer(unsigned, digits + u32::from(!unsigned));
    if op == ArithOp::IntDiv {
        let fraction = if numeric_domain(a) == Domain::Double { 0 } else { u32::from(a.scale) };
        return integer(a.unsigned || b.unsigned, a.display_chars().saturating_sub(fraction));
    }
    if da == Domain::Double || db == Domain::Double {
        let more = if op == ArithOp::Div { increment } else { 0 };
        let scale = shown_decimals(a).max(shown_decimals(b)).saturating_add(more).min(SqlType::NOT_FIXED);
        return (SqlType { nullable, ..SqlType::double(scale) }, Domain::Double);
    }
    let ((p1, s1), (p2, s2)) = (decimal_digits(a), decimal_digits(b));
    let integers = da != Domain::Decimal && db != Domain::Decimal;
    let unsigned = da == Domain::Unsigned || db == Domain::Unsigned;
    let (max_p, max_s) = (u32::from(MAX_PRECISION), u32::from(MAX_SCALE));
    let (precision, scale) = match op {
        ArithOp::Sub if integers => {
            let unsigned = unsigned && !mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
            return of_digits(unsigned, p1.max(p2) + 1);
        }
        ArithOp::Mod if integers => return of_digits(da == Domain::Unsigned, p1.max(p2)),
        ArithOp::Add if integers => return of_digits(unsigned, p1.max(p2) + 1),
        ArithOp::Mul if integers => return of_digits(unsigned, p1 + p2),
        ArithOp::Add | ArithOp::Sub => {
            let scale = s1.max(s2);
            ((p1 - s1.min(p1)).max(p2 - s2.min(p2)) + scale + 1, scale)
        }
        ArithOp::Mul => (p1 + p2, (s1 + s2).min(max_s)),
        ArithOp::Div => {
            let scale = (s1 + u32::from(increment)).min(max_s);
            (p1 + s2 + u32::from(increment), scale)
        }
        ArithOp::Mod | ArithOp::IntDiv => (p1.max(p2), s1.max(s2)),
    };
    let ty = SqlType { nullable, ..SqlType::decimal(precision.clamp(1, max_p) as u8, scale as u8) };
    let natural = |ty: &SqlType, domain: Domain| ty.unsigned || domain == Domain::Unsigned;
    if op == ArithOp::Sub && natural(a, da) && natural(b, db) && !mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION) {
        return (SqlType { unsigned: true, ..ty }, Domain::UnsignedDecimal);
    }
    (ty, Domain::Decimal)
}

/// Computes `a op b` in a domain. NULL operands and division by zero (with its warning) give NULL. `Ok(None)`: out of
/// range; the caller raises [`Domain::out_of_range`] with the expression's text.
pub fn arith(
    op: ArithOp,
    domain: Domain,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
    increment: u8,
    cx: &mut Context<'_>,
) -> Result<Option<Value>> {
    if let (Domain::Signed, ValueRef::Int(x), ValueRef::Int(y)) = (domain, a, b) {
        let sum = match op {
            ArithOp::Add => x.checked_add(y),
            ArithOp::Sub => x.checked_sub(y),
            ArithOp::Mul => x.checked_mul(y),
            _ => return integers(op, domain, Ok(x), Ok(y), cx),
        };
        return Ok(sum.map(Value::Int));
    }
    if a.is_null() || b.is_null() {
        return Ok(Some(Value::Null));
    }
    let (a, b) = (a.localize(cx.zone), b.localize(cx.zone));
    match domain {
        Domain::Double => doubles(op, to_f64(a, cx)?, to_f64(b, cx)?, cx),
        Domain::Decimal => decimals(op, &to_decimal(a, cx)?, &to_decimal(b, cx)?, increment, cx),
        Domain::UnsignedDecimal => {
            let result = decimals(op, &to_decimal(a, cx)?, &to_decimal(b, cx)?, increment, cx)?;
            Ok(result.filter(|v| !matches!(v, Value::Decimal(d) if d.is_negative())))
        }
        _ if op == ArithOp::IntDiv && !(is_integer(&a) && is_integer(&b)) => {
            let (x, y) = (to_decimal(a, cx)?, to_decimal(b, cx)?);
            if y.is_zero() {
                cx.division_by_zero()?;
                return Ok(Some(Value::Null));
            }
            let Some(q) = x.checked_div_int(&y) else { return Ok(None) };
            Ok(if domain == Domain::Unsigned {
                q.to_u64().ok().map(Value::UInt)
            } else {
                q.to_i64().ok().map(Value::Int)
            })
        }
        _ => {
            let (x, y) = (to_integer(a, cx)?, to_integer(b, cx)?);
            integers(op, domain, x, y, cx)
        }
    }
}

fn is_integer(v: &ValueRef<'_>) -> bool {
    matches!(v, ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Year(_) | ValueRef::Bit(..))
}

fn integers(
    op: ArithOp,
    domain: Domain,
    a: Result<i64, u64>,
    b: Result<i64, u64>,
    cx: &mut Context<'_>,
) -> Result<Option<Value>> {
    let wide = |v: Result<i64, u64>| v.map_or_else(i128::from, i128::from);
    let (x, y) = (wide(a), wide(b));
    let r = match op {
        ArithOp::Add => x + y,
        ArithOp::Sub => x - y,
        ArithOp::Mul => match x.checked_mul(y) {
            Some(r) => r,
            None => return Ok(None),
        },
        ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod => {
            if y == 0 {
                cx.division_by_zero()?;
                return Ok(Some(Value::Null));
            }
            if op == ArithOp::Mod { x % y } else { x / y }
        }
    };
    Ok(match domain {
        Domain::Unsigned => u64::try_from(r).ok().map(Value::UInt),
        _ => i64::try_from(r).ok().map(Value::Int),
    })
}

fn decimals(op: ArithOp, a: &Decimal, b: &Decimal, increment: u8, cx: &mut Context<'_>) -> Result<Option<Value>> {
    let r = match op {
        ArithOp::Add => a.checked_add(b),
        ArithOp::Sub => a.checked_sub(b),
        ArithOp::Mul => a.checked_mul(b),
        ArithOp::Div | ArithOp::Mod | ArithOp::IntDiv => {
            if b.is_zero() {
                cx.division_by_zero()?;
                return Ok(Some(Value::Null));
            }
            match op {
                ArithOp::Div => a.checked_div(b, increment),
                ArithOp::Mod => a.checked_rem(b),
                _ => a.checked_div_int(b),
            }
        }
    };
    Ok(r.map(Value::Decimal))
}

fn doubles(op: ArithOp, a: f64, b: f64, cx: &mut Context<'_>) -> Result<Option<Value>> {
    let r = match op {
        ArithOp::Add => a + b,
        ArithOp::Sub => a - b,
        ArithOp::Mul => a * b,
        ArithOp::Div | ArithOp::Mod | ArithOp::IntDiv => {
            if b == 0.0 {
                cx.division_by_zero()?;
                return Ok(Some(Value::Null));
            }
            match op {
                ArithOp::Div => a / b,
                ArithOp::Mod => a % b,
                _ => (a / b).trunc(),
            }
        }
    };
    Ok(r.is_finite().then_some(Value::Double(r)))
}

/// Type of `-a`.
pub fn neg_type(a: &SqlType) -> (SqlType, Domain) {
    match numeric_domain(a) {
        domain @ (Domain::Signed | Domain::Unsigned) => {
            // A sign before what had none.
            let sign = u32::from(domain == Domain::Unsigned);
            let length = (a.display_chars() + sign).clamp(1, 21);
            (SqlType { nullable: a.nullable, length, ..SqlType::BIGINT }, Domain::Signed)
        }
        Domain::Decimal | Domain::UnsignedDecimal => {
            let (p, s) = decimal_digits(a);
            (SqlType { nullable: a.nullable, ..SqlType::decimal(p as u8, s as u8) }, Domain::Decimal)
        }
        Domain::Double => (SqlType { nullable: a.nullable, ..SqlType::DOUBLE }, Domain::Double),
    }
}

/// `-a`; `Ok(None)` out of range, as [`arith`].
pub fn neg(domain: Domain, a: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Option<Value>> {
    if a.is_null() {
        return Ok(Some(Value::Null));
    }
    let a = a.localize(cx.zone);
    Ok(match domain {
        Domain::Double => Some(Value::Double(-to_f64(a, cx)?)),
        Domain::Decimal => Some(Value::Decimal(-to_decimal(a, cx)?)),
        _ => {
            let n = to_integer(a, cx)?.map_or_else(i128::from, i128::from);
            i64::try_from(-n).ok().map(Value::Int)
        }
    })
}

/// A bit operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BitOp {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// Bit operators: on two binary strings byte by byte (error 3513 if their lengths differ; shifts take a number on the
/// right), else on unsigned 64-bit integers. NULL for NULL.
pub fn bits(op: BitOp, a: ValueRef<'_>, b: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Value> {
    let binary = |v: &ValueRef<'_>| matches!(v, ValueRef::Str(_, c) if c.is_binary());
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    let shift = matches!(op, BitOp::ShiftLeft | BitOp::ShiftRight);
    if let (ValueRef::Str(x, _), true) = (a, binary(&a)) {
        if shift {
            let n = super::to_u64(b, cx)?;
            return Ok(Value::bytes(&shift_bytes(x, n, op == BitOp::ShiftLeft)));
        }
        if let (ValueRef::Str(y, _), true) = (b, binary(&b)) {
            if x.len() != y.len() {
                return Err(sql_err!(InvalidBitwiseOperandsSize));
            }
            let f = |(p, q): (&u8, &u8)| match op {
                BitOp::And => p & q,
                BitOp::Or => p | q,
                _ => p ^ q,
            };
            return Ok(Value::bytes(&x.iter().zip(y).map(f).collect::<Vec<u8>>()));
        }
    }
    let (x, y) = (bits_of(a, cx)?, bits_of(b, cx)?);
    Ok(Value::UInt(match op {
        BitOp::And => x & y,
        BitOp::Or => x | y,
        BitOp::Xor => x ^ y,
        BitOp::ShiftLeft => u32::try_from(y).ok().and_then(|n| x.checked_shl(n)).unwrap_or(0),
        BitOp::ShiftRight => u32::try_from(y).ok().and_then(|n| x.checked_shr(n)).unwrap_or(0),
    }))
}

/// `~a`.
pub fn bit_not(a: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Value> {
    Ok(match a {
        ValueRef::Null => Value::Null,
        ValueRef::Str(x, c) if c.is_binary() => Value::bytes(&x.iter().map(|b| !b).collect::<Vec<u8>>()),
        other => Value::UInt(!bits_of(other, cx)?),
    })
}

/// The 64 bits of an operand: decimals beyond the signed range saturate as unsigned.
fn bits_of(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<u64> {
    super::to_u64(v.localize(cx.zone), cx)
}

fn shift_bytes(x: &[u8], n: u64, left: bool) -> Vec<u8> {
    let len = x.len();
    let mut out = vec![0u8; len];
    let Ok(n) = usize::try_from(n) else { return out };
    if n / 8 >= len {
        return out;
    }
    let (bytes, bits) = (n / 8, (n % 8) as u32);
    for i in 0..len - bytes {
        if left {
            let next = x.get(i + bytes + 1).copied().unwrap_or(0);
            let pair = u16::from(x[i + bytes]) << 8 | u16::from(next);
            out[i] = (pair << bits >> 8) as u8;
        } else {
            let at = len - 1 - i;
            let from = at - bytes;
            let above = if from > 0 { x[from - 1] } else { 0 };
            let pair = u16::from(above) << 8 | u16::from(x[from]);
            out[at] = (pair >> bits) as u8;
        }
    }
    out
}
