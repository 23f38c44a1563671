//! Aggregate functions.

use crate::{
    def::{Accumulator, AggregateDef, AggregateKernel, ArgInfo, Arity, Call, EvalContext, Part, RuleContext},
    rules,
};
use gannet_types::{
    CollationId, Decimal, Result, SqlType, TypeId, Value, ValueRef,
    convert::{self, CompareAs, compare, compare::compare_same, compare_as},
    sql_err,
};
use std::cmp::Ordering;

const fn one_argument(
    name: &'static str,
    rule: crate::def::TypeRule,
    start: fn(Call<'_>) -> Box<dyn Accumulator>,
    doc: &'static str,
) -> AggregateDef {
    AggregateDef {
        name,
        aliases: &[],
        arity: Arity { min: 1, max: Some(1) },
        rule,
        start,
        kernel: AggregateKernel::General,
        doc,
    }
}

/// COUNT.
struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        self.0 += i64::from(args.iter().all(|v| !v.is_null()));
        Ok(())
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        Ok(Value::Int(self.0))
    }

    fn memory_bytes(&self) -> usize {
        8
    }
}

/// Running total: exact while the argument is exact.
#[derive(Clone)]
enum Total {
    /// Integers, without a decimal for each row.
    Integer(i128),
    Exact(Decimal),
    Double(f64),
}

/// SUM and AVG.
#[derive(Clone)]
pub struct Sum {
    total: Total,
    rows: u64,
    average: bool,
    scale: u8,
}

impl Sum {
    /// Of nothing so far.
    pub fn new(call: Call<'_>, average: bool) -> Sum {
        let integer = call.args[0].id.is_integer() || matches!(call.args[0].id, TypeId::Year | TypeId::Bit);
        let total = match call.ty.id {
            TypeId::Double => Total::Double(0.0),
            _ if integer => Total::Integer(0),
            _ => Total::Exact(Decimal::ZERO),
        };
        Sum { total, rows: 0, average, scale: call.ty.scale }
    }

    fn start(call: Call<'_>, average: bool) -> Box<dyn Accumulator> {
        Box::new(Sum::new(call, average))
    }

    fn exact(&self) -> Result<Decimal> {
        Ok(match &self.total {
            Total::Integer(n) => Decimal::from_i128(*n, 0),
            Total::Exact(d) => *d,
            Total::Double(_) => Decimal::ZERO,
        })
    }
}

impl Accumulator for Sum {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        let value = &args[0];
        if value.is_null() {
            return Ok(());
        }
        self.rows += 1;
        match (&mut self.total, value) {
            (Total::Integer(total), Value::Int(v)) => *total += i128::from(*v),
            (Total::Integer(total), Value::UInt(v)) => *total += i128::from(*v),
            (Total::Integer(total), other) => {
                let n = convert::to_integer(other.as_ref(), &mut cx.conversion())?;
                *total += n.map_or_else(i128::from, i128::from);
            }
            (Total::Exact(total), other) => {
                let d = convert::to_decimal(other.as_ref(), &mut cx.conversion())?;
                *total = total.checked_add(&d).ok_or_else(|| sql_err!(DataOutOfRange, "DECIMAL", "sum"))?;
            }
            (Total::Double(total), other) => *total += convert::to_f64(other.as_ref(), &mut cx.conversion())?,
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, value: ValueRef<'_>) -> bool {
        match (&mut self.total, value) {
            (_, ValueRef::Null) => return true,
            (Total::Integer(total), ValueRef::Int(v)) => *total += i128::from(v),
            (Total::Integer(total), ValueRef::UInt(v)) => *total += i128::from(v),
            (Total::Exact(total), ValueRef::Decimal(d)) => match total.checked_add(&d) {
                Some(sum) => *total = sum,
                None => return false,
            },
            (Total::Double(total), ValueRef::Double(v)) => *total += v,
            _ => return false,
        }
        self.rows += 1;
        true
    }

    fn remove(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<bool> {
        if args[0].is_null() {
            return Ok(true);
        }
        match &mut self.total {
            Total::Integer(total) => {
                let n = convert::to_integer(args[0].as_ref(), &mut cx.conversion())?;
                *total -= n.map_or_else(i128::from, i128::from);
            }
            Total::Exact(total) => {
                let d = convert::to_decimal(args[0].as_ref(), &mut cx.conversion())?;
                *total = total.checked_sub(&d).ok_or_else(|| sql_err!(DataOutOfRange, "DECIMAL", "sum"))?;
            }
            // What rounding lost does not come back.
            Total::Double(_) => return Ok(false),
        }
        self.rows -= 1;
        Ok(true)
    }

    fn part(&self) -> Option<Part> {
        match self.total {
            Total::Double(total) => Some(Part::Sum(total, self.rows)),
            _ => None,
        }
    }

    fn join(&mut self, part: Part) {
        if let (Total::Double(total), Part::Sum(more, rows)) = (&mut self.total, part) {
            *total += more;
            self.rows += rows;
        }
    }

    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value> {
        if self.rows == 0 {
            return Ok(Value::Null);
        }
        if let Total::Double(total) = self.total {
            let value = if self.average { total / self.rows as f64 } else { total };
            let fixed = self.scale < SqlType::NOT_FIXED;
            let rounded = if fixed { crate::math::round_double(value, i64::from(self.scale), false) } else { value };
            return Ok(Value::Double(rounded));
        }
        let total = self.exact()?;
        if !self.average {
            return Ok(Value::Decimal(total));
        }
        // With all digits of a quotient: only where it is shown or stored it has those of its type.
        let quotient = total.checked_div(&Decimal::from_u64(self.rows), cx.div_precision_increment);
        Ok(quotient.map_or(Value::Null, Value::Decimal))
    }

    fn memory_bytes(&self) -> usize {
        64
    }
}

/// Decimals that FLOAT(M,D) and DOUBLE(M,D) keep through an aggregate, and so many more.
fn fixed_scale(ty: &SqlType, more: u8) -> u8 {
    match ty.id {
        TypeId::Float | TypeId::Double if ty.scale < SqlType::NOT_FIXED => (ty.scale + more).min(30),
        _ => SqlType::NOT_FIXED,
    }
}

fn sum_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let (precision, scale) = convert::arith::decimal_digits(args[0].ty);
    Ok(match convert::arith::numeric_domain(args[0].ty) {
        convert::arith::Domain::Double => SqlType::double(fixed_scale(args[0].ty, 0)),
        _ => SqlType::decimal((precision + 22).min(65) as u8, scale.min(30) as u8),
    })
}

fn avg_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let increment = u32::from(cx.div_precision_increment);
    let (precision, scale) = convert::arith::decimal_digits(args[0].ty);
    Ok(match convert::arith::numeric_domain(args[0].ty) {
        convert::arith::Domain::Double => SqlType::double(fixed_scale(args[0].ty, cx.div_precision_increment)),
        _ => SqlType::decimal((precision + increment).min(65) as u8, (scale + increment).min(30) as u8),
    })
}

/// Longer values are compared where that can be interrupted.
const SHORT: usize = 4096;

/// MIN and MAX.
#[derive(Clone)]
pub struct Extreme {
    best: Option<Value>,
    wanted: Ordering,
    how: CompareAs,
}

impl Extreme {
    /// Of nothing so far: the greatest value, or the least one.
    pub fn new(call: Call<'_>, greatest: bool) -> Extreme {
        let ty = &call.args[0];
        let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
        Extreme { best: None, wanted, how: compare_as(ty, ty, ty.collation) }
    }

    fn start(call: Call<'_>, greatest: bool) -> Box<dyn Accumulator> {
        Box::new(Extreme::new(call, greatest))
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        let value = &args[0];
        let better = match &self.best {
            _ if value.is_null() => false,
            None => true,
            Some(best) => compare(value.as_ref(), best.as_ref(), self.how, &mut cx.conversion())? == Some(self.wanted),
        };
        if better {
            self.best = Some(value.clone());
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, value: ValueRef<'_>) -> bool {
        let better = match &self.best {
            _ if value.is_null() => return true,
            _ if value.long_bytes() > SHORT => return false,
            None => true,
            Some(best) => match compare_same(value, best.as_ref(), self.how) {
                Some(order) => order == self.wanted,
                None => return false,
            },
        };
        if better {
            self.best = Some(value.to_owned());
        }
        true
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        Ok(self.best.clone().unwrap_or(Value::Null))
    }

    fn memory_bytes(&self) -> usize {
        96 + self.best.as_ref().map_or(0, Value::long_bytes)
    }
}

fn extreme_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { nullable: true, zerofill: false, ..args[0].ty.clone() })
}

/// BIT_AND, BIT_OR, BIT_XOR over 64-bit integers.
struct Bits {
    bits: u64,
    fold: fn(u64, u64) -> u64,
}

impl Accumulator for Bits {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        if !args[0].is_null() {
            // Of numbers with a fraction, what fits a signed integer.
            let value = match &args[0] {
                Value::Decimal(v) => v.to_i64().unwrap_or_else(|limit| limit) as u64,
                other => convert::to_u64(other.as_ref(), &mut cx.conversion())?,
            };
            self.bits = (self.fold)(self.bits, value);
        }
        Ok(())
    }

    fn part(&self) -> Option<Part> {
        Some(Part::Bits(self.bits))
    }

    fn join(&mut self, part: Part) {
        if let Part::Bits(more) = part {
            self.bits = (self.fold)(self.bits, more);
        }
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        Ok(Value::UInt(self.bits))
    }

    fn memory_bytes(&self) -> usize {
        16
    }
}

/// BIGINT UNSIGNED, or bytes when the values are. Error 3514 for long ones.
fn bits_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let ty = args[0].ty;
    if !ty.id.is_binary_string() {
        return Ok(SqlType::bigint_unsigned().not_null());
    }
    if ty.length > 511 {
        return Err(sql_err!(InvalidBitwiseAggregateOperandsSize));
    }
    Ok(SqlType::varbinary(ty.length).not_null())
}

/// BIT_AND, BIT_OR, BIT_XOR over bytes, all of one length.
struct ByteBits {
    bytes: Option<Vec<u8>>,
    /// Of the argument's type: without rows there are so many neutral bytes.
    length: usize,
    neutral: u8,
    fold: fn(u64, u64) -> u64,
}

impl Accumulator for ByteBits {
    fn add(&mut self, _: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        let Value::Str(text, _) = &args[0] else { return Ok(()) };
        let bytes = self.bytes.get_or_insert_with(|| vec![self.neutral; text.len()]);
        if bytes.len() != text.len() {
            return Err(sql_err!(InvalidBitwiseOperandsSize));
        }
        bytes.iter_mut().zip(text.iter()).for_each(|(b, t)| *b = (self.fold)(u64::from(*b), u64::from(*t)) as u8);
        Ok(())
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        Ok(Value::bytes(&self.bytes.clone().unwrap_or_else(|| vec![self.neutral; self.length])))
    }

    fn memory_bytes(&self) -> usize {
        self.length + 64
    }
}

fn start_bits(call: Call<'_>, neutral: u64, fold: fn(u64, u64) -> u64) -> Box<dyn Accumulator> {
    if call.ty.id.is_binary_string() {
        Box::new(ByteBits { bytes: None, length: call.ty.length as usize, neutral: neutral as u8, fold })
    } else {
        Box::new(Bits { bits: neutral, fold })
    }
}

/// Variance by Welford's recurrence, as MySQL computes it.
struct Variance {
    rows: f64,
    mean: f64,
    squares: f64,
    sample: bool,
    root: bool,
}

impl Variance {
    fn start(sample: bool, root: bool) -> Box<dyn Accumulator> {
        Box::new(Variance { rows: 0.0, mean: 0.0, squares: 0.0, sample, root })
    }
}

impl Accumulator for Variance {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        if !args[0].is_null() {
            let x = convert::to_f64(args[0].as_ref(), &mut cx.conversion())?;
            self.rows += 1.0;
            let delta = x - self.mean;
            self.mean += delta / self.rows;
            self.squares += delta * (x - self.mean);
        }
        Ok(())
    }

    fn part(&self) -> Option<Part> {
        Some(Part::Moments(self.rows, self.mean, self.squares))
    }

    /// Chan, Golub and LeVeque's formula for two samples.
    fn join(&mut self, part: Part) {
        let Part::Moments(rows, mean, squares) = part else { return };
        if rows > 0.0 {
            let (all, delta) = (self.rows + rows, mean - self.mean);
            self.squares += squares + delta * delta * self.rows * rows / all;
            self.mean += delta * rows / all;
            self.rows = all;
        }
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        let divisor = if self.sample { self.rows - 1.0 } else { self.rows };
        if divisor <= 0.0 {
            return Ok(Value::Null);
        }
        let variance = self.squares / divisor;
        Ok(Value::Double(if self.root { variance.sqrt() } else { variance }))
    }

    fn memory_bytes(&self) -> usize {
        40
    }
}

/// GROUP_CONCAT: its arguments are concatenated; the last one is the separator.
struct GroupConcat {
    text: Vec<u8>,
    started: bool,
    /// Rows taken, the last of which may be cut.
    rows: u64,
    cut: bool,
    collation: CollationId,
    types: Box<[SqlType]>,
}

impl Accumulator for GroupConcat {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        let Some((separator, parts)) = args.split_last() else { return Ok(()) };
        if parts.iter().any(Value::is_null) || self.cut {
            return Ok(());
        }
        let charset = self.collation.charset();
        self.rows += 1;
        if std::mem::replace(&mut self.started, true) {
            self.text.extend_from_slice(&rules::text_in(separator, charset)?);
        }
        for (part, ty) in parts.iter().zip(&self.types) {
            self.text.extend_from_slice(&rules::text_of(part, ty, charset)?);
        }
        let limit = usize::try_from(cx.group_concat_max_len).unwrap_or(usize::MAX);
        if self.text.len() > limit {
            let keep = charset.valid_prefix(&self.text[..limit]);
            self.text.truncate(keep);
            self.cut = true;
        }
        Ok(())
    }

    fn written_rows(&self) -> (u64, bool) {
        (self.rows, self.cut)
    }

    fn value(&self, _: &mut EvalContext<'_>) -> Result<Value> {
        Ok(if self.started { Value::Str(self.text.as_slice().into(), self.collation) } else { Value::Null })
    }

    fn memory_bytes(&self) -> usize {
        self.text.len() + 64
    }
}

/// Characters of the longest GROUP_CONCAT() that is a VARCHAR.
const LONGEST_VARCHAR: u64 = 512;

fn group_concat_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = rules::result_collation(cx, args, "group_concat")?;
    let chars = cx.group_concat_max_len;
    if chars <= LONGEST_VARCHAR {
        return Ok(rules::text_type(chars, collation, true));
    }
    let id = if collation == CollationId::BINARY { TypeId::LongBlob } else { TypeId::LongText };
    // MySQL takes the bytes for characters.
    let bytes = chars.saturating_mul(u64::from(collation.charset().max_len()).pow(2));
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    Ok(SqlType { length, ..SqlType::new(id).with_collation(collation) })
}

pub(crate) static AGGREGATES: &[AggregateDef] = &[
    AggregateDef {
        name: "COUNT",
        aliases: &[],
        arity: Arity { min: 0, max: None },
        rule: rules::int_not_null,
        start: |_| Box::new(Count(0)),
        kernel: AggregateKernel::Count,
        doc: "Number of rows in which no argument is NULL.",
    },
    AggregateDef {
        kernel: AggregateKernel::Sum,
        ..one_argument("SUM", sum_rule, |call| Sum::start(call, false), "Sum of the values.")
    },
    AggregateDef {
        kernel: AggregateKernel::Avg,
        ..one_argument("AVG", avg_rule, |call| Sum::start(call, true), "Mean of the values.")
    },
    AggregateDef {
        kernel: AggregateKernel::Min,
        ..one_argument("MIN", extreme_rule, |call| Extreme::start(call, false), "Smallest value.")
    },
    AggregateDef {
        kernel: AggregateKernel::Max,
        ..one_argument("MAX", extreme_rule, |call| Extreme::start(call, true), "Largest value.")
    },
    one_argument("BIT_AND", bits_rule, |call| start_bits(call, u64::MAX, |a, b| a & b), "Bitwise and of all values."),
    one_argument("BIT_OR", bits_rule, |call| start_bits(call, 0, |a, b| a | b), "Bitwise or of all values."),
    one_argument("BIT_XOR", bits_rule, |call| start_bits(call, 0, |a, b| a ^ b), "Bitwise exclusive or of all values."),
    AggregateDef {
        aliases: &["STD", "STDDEV"],
        ..one_argument(
            "STDDEV_POP",
            rules::double,
            |_| Variance::start(false, true),
            "Standard deviation of a population.",
        )
    },
    one_argument("STDDEV_SAMP", rules::double, |_| Variance::start(true, true), "Standard deviation of a sample."),
    AggregateDef {
        aliases: &["VARIANCE"],
        ..one_argument("VAR_POP", rules::double, |_| Variance::start(false, false), "Variance of a population.")
    },
    one_argument("VAR_SAMP", rules::double, |_| Variance::start(true, false), "Variance of a sample."),
    AggregateDef {
        arity: Arity { min: 1, max: None },
        ..one_argument(
            "GROUP_CONCAT",
            group_concat_rule,
            |call| {
                Box::new(GroupConcat {
                    text: Vec::new(),
                    started: false,
                    rows: 0,
                    cut: false,
                    collation: call.ty.collation,
                    types: call.args.into(),
                })
            },
            "The values as one text; the binder appends the separator to the arguments.",
        )
    },
    one_argument(
        "JSON_ARRAYAGG",
        crate::json::aggregates::rule,
        crate::json::aggregates::ArrayAgg::start,
        "The values as a JSON array.",
    ),
    AggregateDef {
        arity: Arity { min: 2, max: Some(2) },
        ..one_argument(
            "JSON_OBJECTAGG",
            crate::json::aggregates::rule,
            crate::json::aggregates::ObjectAgg::start,
            "Keys and values as a JSON object.",
        )
    },
];
