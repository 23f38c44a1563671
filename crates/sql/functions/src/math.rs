//! Numbers: rounding, roots, logarithms, trigonometry, random numbers.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules::{self, constant_int, double_arg},
};
use gannet_types::{
    Decimal, ErrorCode, Result, SqlError, SqlType, TypeId, Value,
    convert::{
        self,
        arith::{Domain, decimal_digits, numeric_domain},
    },
};

/// Error 1690 for a call.
#[cold]
fn out_of_range(domain: Domain, name: &str, args: &[Value]) -> SqlError {
    let texts: Vec<String> = args.iter().map(rules::operand).collect();
    domain.out_of_range(format_args!("{name}({})", texts.join(",")))
}

/// A double, or error 1690 if it is none.
fn finite(value: f64, name: &str, args: &[Value]) -> Result<Value> {
    if value.is_finite() { Ok(Value::Double(value)) } else { Err(out_of_range(Domain::Double, name, args)) }
}

fn as_int(value: &Value, cx: &mut EvalContext<'_>) -> Result<i128> {
    let number = convert::to_integer(value.as_ref(), &mut cx.conversion())?;
    Ok(number.map_or_else(i128::from, i128::from))
}

/// An integer of the result's sign, or error 1690.
fn int_result(call: Call<'_>, value: i128, name: &str, args: &[Value]) -> Result<Value> {
    let (domain, fit) = if call.ty.unsigned {
        (Domain::Unsigned, u64::try_from(value).ok().map(Value::UInt))
    } else {
        (Domain::Signed, i64::try_from(value).ok().map(Value::Int))
    };
    fit.ok_or_else(|| out_of_range(domain, name, args))
}

fn decimal_arg(cx: &mut EvalContext<'_>, value: &Value) -> Result<Decimal> {
    convert::to_decimal(value.as_ref(), &mut cx.conversion())
}

fn bigint(unsigned: bool, nullable: bool) -> SqlType {
    SqlType { unsigned, nullable, ..SqlType::BIGINT }
}

fn abs_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let ty = args[0].ty;
    Ok(match numeric_domain(ty) {
        Domain::Double => SqlType { nullable: ty.nullable, ..SqlType::double(double_scale(ty)) },
        Domain::Decimal => {
            let (precision, scale) = decimal_digits(ty);
            SqlType { nullable: ty.nullable, ..SqlType::decimal(precision.min(65) as u8, scale as u8) }
        }
        domain => SqlType { length: ty.display_chars(), ..bigint(domain == Domain::Unsigned, ty.nullable) },
    })
}

/// Fixed decimals of a DOUBLE.
fn double_scale(ty: &SqlType) -> u8 {
    if matches!(ty.id, TypeId::Double | TypeId::Float) { ty.scale } else { SqlType::NOT_FIXED }
}

fn abs(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match call.ty.id {
        TypeId::Double => Ok(Value::Double(double_arg(cx, &args[0])?.abs())),
        TypeId::Decimal => Ok(Value::Decimal(decimal_arg(cx, &args[0])?.abs())),
        _ => {
            let value = as_int(&args[0], cx)?.abs();
            int_result(call, value, "abs", args)
        }
    }
}

fn sign(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let order = match numeric_domain(&call.args[0]) {
        Domain::Double => double_arg(cx, &args[0])?.partial_cmp(&0.0),
        _ => Some(decimal_arg(cx, &args[0])?.cmp(&Decimal::ZERO)),
    };
    Ok(Value::Int(order.map_or(0, |o| o as i64)))
}

/// CEILING and FLOOR: integers where they fit.
fn whole_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let ty = args[0].ty;
    Ok(match numeric_domain(ty) {
        Domain::Double => SqlType { nullable: ty.nullable, ..SqlType::double(0) },
        Domain::Decimal => {
            let (precision, scale) = decimal_digits(ty);
            // A carry makes one digit more.
            let digits = precision.saturating_sub(scale) + u32::from(scale > 0);
            match digits {
                0..=18 => bigint(false, ty.nullable),
                _ => SqlType { nullable: ty.nullable, ..SqlType::decimal(digits.min(65) as u8, 0) },
            }
        }
        domain => bigint(domain == Domain::Unsigned, ty.nullable),
    })
}

fn whole(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], up: bool) -> Result<Value> {
    match (call.ty.id, numeric_domain(&call.args[0])) {
        (TypeId::Double, _) => {
            let value = double_arg(cx, &args[0])?;
            Ok(Value::Double(if up { value.ceil() } else { value.floor() }))
        }
        (TypeId::Decimal, _) => Ok(Value::Decimal(decimal_arg(cx, &args[0])?.to_integer(up))),
        (_, Domain::Decimal) => {
            let value = decimal_arg(cx, &args[0])?.to_integer(up);
            Ok(Value::Int(value.to_i64().unwrap_or_else(|limit| limit)))
        }
        _ => {
            let value = as_int(&args[0], cx)?;
            int_result(call, value, "floor", args)
        }
    }
}

fn ceiling(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    whole(cx, call, args, true)
}

fn floor(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    whole(cx, call, args, false)
}

/// ROUND and TRUNCATE.
fn round_type(args: &[ArgInfo<'_>], round: bool) -> SqlType {
    let ty = args[0].ty;
    let nullable = rules::nullable(args);
    let places = match args.get(1) {
        Some(ArgInfo { constant: Some(Value::Null), .. }) | None => Some(0),
        Some(arg) => constant_int(arg),
    };
    match numeric_domain(ty) {
        Domain::Double => {
            let scale = match places {
                Some(n) if n.max(0) < i64::from(SqlType::NOT_FIXED) => n.max(0) as u8,
                _ => SqlType::NOT_FIXED,
            };
            SqlType { nullable, ..SqlType::double(scale) }
        }
        Domain::Decimal => {
            let (precision, scale) = decimal_digits(ty);
            // Never more digits than the argument has.
            let most = i64::from(scale.min(u32::from(gannet_types::decimal::MAX_SCALE)));
            let kept = places.map_or(scale, |n| n.clamp(0, most) as u32);
            let carry = u32::from(round && kept < scale);
            let digits = precision.saturating_sub(scale) + kept + carry;
            SqlType { nullable, ..SqlType::decimal(digits.clamp(1, 65) as u8, kept as u8) }
        }
        domain => bigint(domain == Domain::Unsigned, nullable),
    }
}

fn round_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(round_type(args, true))
}

fn truncate_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(round_type(args, false))
}

/// Rounds a double to so many decimals (negative: before the point), half to even, by way of a power of ten as MySQL
/// does; or cuts it.
pub(crate) fn round_double(value: f64, places: i64, truncate: bool) -> f64 {
    let whole = |v: f64| if truncate { v.trunc() } else { v.round_ties_even() };
    let power = 10f64.powi(places.unsigned_abs().min(400) as i32);
    if places < 0 {
        return if power.is_infinite() { 0.0 } else { whole(value / power) * power };
    }
    let scaled = value * power;
    if power.is_infinite() || scaled.is_infinite() { value } else { whole(scaled) / power }
}

fn round_int(value: i128, places: i64, truncate: bool) -> i128 {
    if places >= 0 {
        return value;
    }
    if places < -19 {
        return 0;
    }
    let unit = 10i128.pow(places.unsigned_abs() as u32);
    let rest = value % unit;
    let cut = value - rest;
    if truncate || rest.abs() < unit / 2 { cut } else { cut + unit * value.signum() }
}

fn round_to(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], truncate: bool, name: &str) -> Result<Value> {
    let places = match args.get(1) {
        Some(n) => rules::count_arg(cx, n)?,
        None => 0,
    };
    match call.ty.id {
        TypeId::Double => Ok(Value::Double(round_double(double_arg(cx, &args[0])?, places, truncate))),
        TypeId::Decimal => {
            let value = decimal_arg(cx, &args[0])?;
            let rounded = if places < 0 {
                value.round_integer(places.unsigned_abs().min(80) as u8, !truncate)
            } else {
                let scale = places.min(i64::from(call.ty.scale)) as u8;
                if truncate { value.truncate(scale) } else { value.round(scale) }
            };
            let rounded = rounded.and_then(|v| v.round(call.ty.scale));
            rounded.map(Value::Decimal).ok_or_else(|| out_of_range(Domain::Decimal, name, args))
        }
        _ => {
            let value = round_int(as_int(&args[0], cx)?, places, truncate);
            int_result(call, value, name, args)
        }
    }
}

fn round(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    round_to(cx, call, args, false, "round")
}

fn truncate(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    round_to(cx, call, args, true, "truncate")
}

fn sqrt(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let value = double_arg(cx, &args[0])?;
    Ok(if value < 0.0 { Value::Null } else { Value::Double(value.sqrt()) })
}

fn pow(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let (base, exponent) = (double_arg(cx, &args[0])?, double_arg(cx, &args[1])?);
    finite(base.powf(exponent), "pow", args)
}

fn exp(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    finite(double_arg(cx, &args[0])?.exp(), "exp", args)
}

/// NULL with warning 3020.
fn no_logarithm(cx: &mut EvalContext<'_>) -> Result<Value> {
    cx.conversion().warn(ErrorCode::InvalidArgumentForLogarithm, &[])?;
    Ok(Value::Null)
}

fn logarithm(cx: &mut EvalContext<'_>, value: &Value, log: fn(f64) -> f64) -> Result<Value> {
    let value = double_arg(cx, value)?;
    if value <= 0.0 { no_logarithm(cx) } else { Ok(Value::Double(log(value))) }
}

fn ln(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    logarithm(cx, &args[0], f64::ln)
}

fn log2(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    logarithm(cx, &args[0], |x| x.ln() / std::f64::consts::LN_2)
}

fn log10(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    logarithm(cx, &args[0], f64::log10)
}

/// LOG(x), or LOG(base, x).
fn log(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let [base, value] = args else { return logarithm(cx, &args[0], f64::ln) };
    let (base, value) = (double_arg(cx, base)?, double_arg(cx, value)?);
    if base <= 0.0 || value <= 0.0 || base == 1.0 {
        return no_logarithm(cx);
    }
    Ok(Value::Double(value.ln() / base.ln()))
}

fn pi_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { scale: 6, length: 8, ..SqlType::DOUBLE }.not_null())
}

fn pi(_: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Double(std::f64::consts::PI))
}

macro_rules! of_double {
    ($($eval:ident $name:literal $f:expr;)*) => {$(
        fn $eval(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
            let f: fn(f64) -> f64 = $f;
            finite(f(double_arg(cx, &args[0])?), $name, args)
        }
    )*};
}

of_double! {
    sin "sin" f64::sin;
    cos "cos" f64::cos;
    tan "tan" f64::tan;
    cot "cot" |x| 1.0 / x.tan();
    degrees "degrees" |x| x * (180.0 / std::f64::consts::PI);
    radians "radians" |x| x * (std::f64::consts::PI / 180.0);
}

/// Inverse sine or cosine; NULL outside of -1..=1.
fn inverse(cx: &mut EvalContext<'_>, args: &[Value], f: fn(f64) -> f64) -> Result<Value> {
    let value = double_arg(cx, &args[0])?;
    Ok(if (-1.0..=1.0).contains(&value) { Value::Double(f(value)) } else { Value::Null })
}

fn asin(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    inverse(cx, args, f64::asin)
}

fn acos(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    inverse(cx, args, f64::acos)
}

fn atan(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let y = double_arg(cx, &args[0])?;
    let angle = match args.get(1) {
        Some(x) => y.atan2(double_arg(cx, x)?),
        None => y.atan(),
    };
    Ok(Value::Double(angle))
}

/// MySQL's generator of random numbers for a seed: two linear congruences modulo 2^30 - 1.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    first: u64,
    second: u64,
}

impl Generator {
    const MODULUS: u64 = 0x3FFF_FFFF;

    fn new(seed: u32) -> Generator {
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        Generator { first: u64::from(first) % Self::MODULUS, second: u64::from(second) % Self::MODULUS }
    }

    /// With `rand_seed1` and `rand_seed2`.
    pub fn of_seeds(first: u32, second: u32) -> Generator {
        Generator { first: first.into(), second: second.into() }
    }

    /// Takes another `rand_seed1`, or `rand_seed2`.
    pub fn set(&mut self, first: bool, seed: u32) {
        *(if first { &mut self.first } else { &mut self.second }) = seed.into();
    }

    /// At least 0, below 1.
    pub fn number(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % Self::MODULUS;
        self.second = (self.first + self.second + 33) % Self::MODULUS;
        self.first as f64 / Self::MODULUS as f64
    }
}

fn rand_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::DOUBLE.not_null())
}

/// With a seed that is constant in the statement: the next number of its sequence.
fn rand(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(seed) = args.first() else {
        if let Some(number) = cx.session.seeded_number() {
            return Ok(Value::Double(number));
        }
        // 53 bits, all that a double below 1 has.
        return Ok(Value::Double((cx.session.random() >> 11) as f64 / (1u64 << 53) as f64));
    };
    let mut generator = match cx.states.get::<Generator>(call) {
        Some(generator) => *generator,
        None => Generator::new(rules::int_arg(cx, seed)? as u32),
    };
    let number = generator.number();
    cx.states.set(call, generator, 0);
    Ok(Value::Double(number))
}

/// With a seed that differs from row to row: the first number of its sequence.
fn rand_of_row(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let seed = rules::int_arg(cx, &args[0])? as u32;
    Ok(Value::Double(Generator::new(seed).number()))
}

fn bit_count(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if let (true, Value::Str(bytes, _)) = (call.args[0].id.is_binary_string(), &args[0]) {
        return Ok(Value::Int(bytes.iter().map(|b| i64::from(b.count_ones())).sum()));
    }
    let bits = convert::to_u64(args[0].as_ref(), &mut cx.conversion())?;
    Ok(Value::Int(i64::from(bits.count_ones())))
}

/// What a constant beside a YEAR column means: the year that it would be stored as, else the number itself. Two digits
/// are one of 1970 to 2069, 0 as a number is the year 0000.
fn year_number(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    // A column takes no year from below zero or beyond the last one, not even one that rounding brings inside.
    let cut = |f: f64| (0.0..=2155.0).contains(&f).then_some(f.trunc() as i64);
    let whole = match &args[0] {
        Value::Int(n) => Some(*n),
        Value::UInt(n) => i64::try_from(*n).ok(),
        Value::Decimal(d) => d.to_i64().ok().filter(|_| !d.is_negative()),
        Value::Double(f) => cut(*f),
        Value::Float(f) => cut(f64::from(*f)),
        // Only what is a number as a whole.
        Value::Str(text, _) => {
            let number = Decimal::parse(text);
            let rest = text.get(number.consumed..).unwrap_or_default();
            let whole = number.consumed > 0 && rest.iter().all(|b| *b == b' ');
            number.value.to_i64().ok().filter(|_| whole)
        }
        _ => None,
    };
    let text = matches!(&args[0], Value::Str(text, _) if text.len() != 4);
    let year = match whole {
        Some(0) if !text => Some(0),
        Some(n @ 0..=69) => Some(n + 2000),
        Some(n @ 70..=99) => Some(n + 1900),
        Some(n @ 1901..=2155) => Some(n),
        _ => None,
    };
    match year {
        Some(year) if call.ty.id == TypeId::Double => Ok(Value::Double(year as f64)),
        Some(year) if call.ty.id == TypeId::Decimal => Ok(Value::Decimal(Decimal::from_i64(year))),
        Some(year) => Ok(Value::Int(year)),
        None if call.ty.id == TypeId::Double => {
            Ok(Value::Double(convert::to_f64(args[0].as_ref(), &mut cx.conversion())?))
        }
        None => Ok(args[0].clone()),
    }
}

fn year_number_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let ty = args[0].ty;
    let double = ty.id.is_string() || matches!(ty.id, TypeId::Double | TypeId::Float);
    Ok(SqlType { nullable: true, ..if double { SqlType::DOUBLE } else { ty.clone() } })
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ABS", 1, 1, abs_rule, abs, "Number without its sign.").keeps_digits().takes_numbers(),
    FunctionDef::new("SIGN", 1, 1, rules::int, sign, "-1, 0 or 1.").keeps_digits().takes_numbers(),
    FunctionDef::new("CEILING", 1, 1, whole_rule, ceiling, "The smallest integer that is not below the number.")
        .also(&["CEIL"])
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("FLOOR", 1, 1, whole_rule, floor, "The largest integer that is not above the number.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("ROUND", 1, 2, round_rule, round, "Number rounded to so many decimals.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("TRUNCATE", 2, 2, truncate_rule, truncate, "Number cut to so many decimals.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("YEAR NUMBER", 1, 1, year_number_rule, year_number, "A constant beside a YEAR (internal)."),
    FunctionDef::new("SQRT", 1, 1, rules::double, sqrt, "Square root; NULL for a negative number.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("POW", 2, 2, rules::double, pow, "The first number to the power of the second.")
        .also(&["POWER"])
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("EXP", 1, 1, rules::double, exp, "e to the power of the number.").keeps_digits().takes_numbers(),
    FunctionDef::new("LN", 1, 1, rules::double, ln, "Natural logarithm.").keeps_digits().takes_numbers(),
    FunctionDef::new("LOG", 1, 2, rules::double, log, "Natural logarithm, or that to the base of the first argument.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("LOG2", 1, 1, rules::double, log2, "Logarithm to base 2.").keeps_digits().takes_numbers(),
    FunctionDef::new("LOG10", 1, 1, rules::double, log10, "Logarithm to base 10.").keeps_digits().takes_numbers(),
    FunctionDef::new("PI", 0, 0, pi_rule, pi, "3.141593, with all the digits of a DOUBLE behind it."),
    FunctionDef::new("SIN", 1, 1, rules::double, sin, "Sine of an angle in radians.").takes_numbers(),
    FunctionDef::new("COS", 1, 1, rules::double, cos, "Cosine.").takes_numbers(),
    FunctionDef::new("TAN", 1, 1, rules::double, tan, "Tangent.").takes_numbers(),
    FunctionDef::new("COT", 1, 1, rules::double, cot, "Cotangent.").takes_numbers(),
    FunctionDef::new("ASIN", 1, 1, rules::double, asin, "Arc sine; NULL outside of -1 to 1.").takes_numbers(),
    FunctionDef::new("ACOS", 1, 1, rules::double, acos, "Arc cosine; NULL outside of -1 to 1.").takes_numbers(),
    FunctionDef::new(
        "ATAN",
        1,
        2,
        rules::double,
        atan,
        "Arc tangent, of two arguments: of their quotient, by quadrant.",
    )
    .also(&["ATAN2"])
    .takes_numbers(),
    FunctionDef::new("DEGREES", 1, 1, rules::double, degrees, "Radians in degrees.").takes_numbers(),
    FunctionDef::new("RADIANS", 1, 1, rules::double, radians, "Degrees in radians.").takes_numbers(),
    FunctionDef::new(
        "RAND",
        0,
        1,
        rand_rule,
        rand,
        "A random number from 0 up to 1; with a constant seed: of its sequence.",
    )
    .sees_null()
    .is(Stability::Volatile)
    .takes_numbers(),
    FunctionDef::new("RAND OF ROW", 1, 1, rand_rule, rand_of_row, "RAND with a seed that differs from row to row.")
        .sees_null()
        .takes_numbers(),
    FunctionDef::new("BIT_COUNT", 1, 1, rules::int, bit_count, "Bits that are set."),
];

#[cfg(test)]
mod tests {
    use crate::testing::{Evaluator, check, check_types};
    use gannet_types::Value;

    #[test]
    fn rounding() {
        check(&[
            ("ABS(-32)", "32"),
            ("ABS(-1.50)", "1.50"),
            ("ABS('-2x')", "2 !1292"),
            ("ABS(-9223372036854775808)", "ERROR 1690"),
            ("ABS(18446744073709551615)", "18446744073709551615"),
            ("SIGN(-32)", "-1"),
            ("SIGN(0)", "0"),
            ("SIGN(0.01)", "1"),
            ("SIGN('-1e0')", "-1"),
            ("CEILING(1.23)", "2"),
            ("CEILING(-1.23)", "-1"),
            ("CEIL(1.5e0)", "2"),
            ("CEIL('-1.5')", "-1"),
            ("FLOOR(1.23)", "1"),
            ("FLOOR(-1.23)", "-2"),
            ("FLOOR(12345678901234567890.5)", "12345678901234567890"),
            ("CEIL(99999999999999999999.5)", "100000000000000000000"),
            ("FLOOR(18446744073709551615)", "18446744073709551615"),
            ("ROUND(-1.23)", "-1"),
            ("ROUND(-1.58)", "-2"),
            ("ROUND(1.58)", "2"),
            ("ROUND(1.298, 1)", "1.3"),
            ("ROUND(1.298, 0)", "1"),
            ("ROUND(23.298, -1)", "20"),
            ("ROUND(.12345678901234567890123456789012345, 35)", "0.123456789012345678901234567890"),
            ("ROUND(150.000, 2)", "150.00"),
            ("ROUND(150, 2)", "150"),
            ("ROUND(2.5)", "3"),
            ("ROUND(25E-1)", "2"),
            ("ROUND(1.5e0, 3)", "1.500"),
            ("ROUND(1.55, 1)", "1.6"),
            ("ROUND('1.55', 1)", "1.6"),
            ("ROUND(155, -1)", "160"),
            ("ROUND(-155, -1)", "-160"),
            ("ROUND(154, -1)", "150"),
            ("ROUND(155, -30)", "0"),
            ("ROUND(18446744073709551615, -1)", "ERROR 1690"),
            ("ROUND(9223372036854775807, -2)", "9223372036854775800"),
            ("ROUND(1e300, 308)", "1e300"),
            ("ROUND(1.5, 9223372036854775807)", "1.5"),
            ("ROUND(NULL, 1)", "NULL"),
            ("ROUND(99.9)", "100"),
            ("ROUND(999.9, -3)", "1000"),
            ("TRUNCATE(1.223, 1)", "1.2"),
            ("TRUNCATE(1.999, 0)", "1"),
            ("TRUNCATE(-1.999, 1)", "-1.9"),
            ("TRUNCATE(122, -2)", "100"),
            ("TRUNCATE(10.28*100, 0)", "1028"),
            ("TRUNCATE(-1.999e0, 1)", "-1.9"),
            ("TRUNCATE(18446744073709551615, -1)", "18446744073709551610"),
        ]);
    }

    #[test]
    fn reals() {
        check(&[
            ("SQRT(4)", "2"),
            ("SQRT(-16)", "NULL"),
            ("POW(2, 2)", "4"),
            ("POWER(2, -2)", "0.25"),
            ("POW(10, 400)", "ERROR 1690"),
            ("POW(0, -1)", "ERROR 1690"),
            ("POW(-8, 0.5)", "ERROR 1690"),
            ("EXP(0)", "1"),
            ("EXP(1000)", "ERROR 1690"),
            ("LN(2)", "0.6931471805599453"),
            ("LN(-2)", "NULL !3020"),
            ("LOG(2, 65536)", "16"),
            ("LOG(10, 100)", "2"),
            ("LOG(1, 100)", "NULL !3020"),
            ("LOG(0, 1)", "NULL !3020"),
            ("LOG(2)", "0.6931471805599453"),
            ("LOG2(65536)", "16"),
            ("LOG2(4.05)", "2.0179219079972626"),
            ("LOG10(100)", "2"),
            ("LOG10(0)", "NULL !3020"),
            ("PI()", "3.141593"),
            ("SIN(PI()/2)", "1"),
            ("COS(0)", "1"),
            ("TAN(PI()+1)", "1.5574077246549018"),
            ("COT(12)", "-1.5726734063976893"),
            ("COT(0)", "ERROR 1690"),
            ("ASIN(0.2)", "0.2013579207903308"),
            ("ASIN('foo')", "0 !1292"),
            ("ASIN(1.1)", "NULL"),
            ("ACOS(1.0001)", "NULL"),
            ("ATAN(-2, 2)", "-0.7853981633974483"),
            ("ATAN2(PI(), 0)", "1.5707963267948966"),
            ("ATAN(2)", "1.1071487177940904"),
            ("DEGREES(PI())", "180"),
            ("RADIANS(90)", "1.5707963267948966"),
            ("BIT_COUNT(29)", "4"),
            ("BIT_COUNT(-1)", "64"),
            ("BIT_COUNT(x'FF0F')", "12"),
            ("BIT_COUNT('64')", "1"),
        ]);
    }

    #[test]
    fn random_numbers_are_the_same_for_a_seed() {
        // Several numbers of one call are its sequence.
        let mut evaluator = Evaluator::default();
        let mut next = || match evaluator.text("RAND(3)").unwrap().value {
            Value::Double(v) => v,
            other => panic!("{other:?}"),
        };
        let numbers = [next(), next(), next()];
        assert_eq!(numbers, [0.9057697559760601, 0.37307905813034536, 0.14808605345719125]);
        check(&[("RAND(1)", "0.40540353712197724"), ("RAND(NULL)", "0.15522042769493574")]);
        let Value::Double(free) = Evaluator::default().text("RAND()").unwrap().value else { panic!() };
        assert!((0.0..1.0).contains(&free));
    }

    #[test]
    fn types() {
        check_types(&[
            ("ROUND(1.298, 1)", "decimal(3,1) not null"),
            ("ROUND(1.298, 5)", "decimal(4,3) not null"),
            ("TRUNCATE(1.298, 1)", "decimal(2,1) not null"),
            ("CEIL(1.23)", "bigint(21)"),
            ("ABS(-1.5)", "decimal(2,1) not null"),
            ("FLOOR(123456789012345678901.5)", "decimal(22,0) not null"),
            ("SQRT(4)", "double"),
        ]);
    }
}
