//! Alternatives: IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST, INTERVAL's kin.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, Kernel, RuleContext, Stability},
    rules,
};
use gannet_types::{
    Result, SqlType, Value,
    convert::{self, compare, compare_as},
};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Converts the alternative that is chosen to the common type. A DECIMAL keeps its own digits, a text is made of those
/// of its type ([`Value::settle_text`]).
fn chosen(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], i: usize) -> Result<Value> {
    use gannet_types::TypeId::{Enum, Json, Null, Set};
    let mut settled = args[i].clone();
    if call.ty.id.is_string() {
        settled.settle_text(&call.args[i]);
    }
    let value = &settled;
    if call.ty.id == Json && !value.is_null() {
        return Ok(Value::Json(convert::to_json(value.as_ref(), &cx.conversion())?.to_text(cx.room)?));
    }
    if value.is_null() || matches!(call.ty.id, Null | Enum | Set) {
        return Ok(value.clone());
    }
    let same = match value {
        Value::Int(_) => call.ty.id.is_integer() && !call.ty.unsigned,
        Value::UInt(_) => call.ty.id.is_integer() && call.ty.unsigned,
        Value::Decimal(_) => call.ty.id == gannet_types::TypeId::Decimal,
        Value::Str(_, collation) => call.ty.id.is_string() && *collation == call.ty.collation,
        Value::Date(_) => call.ty.id == gannet_types::TypeId::Date,
        Value::DateTime(_, fsp) => call.ty.id == gannet_types::TypeId::DateTime && *fsp == call.ty.scale,
        _ => false,
    };
    if call.ty.id == gannet_types::TypeId::Decimal {
        match value {
            Value::Int(v) => return Ok(Value::Decimal(gannet_types::Decimal::from_i64(*v))),
            Value::UInt(v) => return Ok(Value::Decimal(gannet_types::Decimal::from_u64(*v))),
            _ => {}
        }
    }
    if same {
        return Ok(value.clone());
    }
    if let Value::Str(text, own) = value
        && call.ty.id.is_string()
    {
        own.charset().fit(text, call.ty.collation.charset())?;
    }
    convert::cast(value.as_ref(), call.ty, &mut cx.conversion())
}

fn if_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(crate::common_type(cx, &args[1..], "if")?.0)
}

fn if_(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let truth = convert::to_bool(args[0].as_ref(), &mut cx.conversion())?;
    chosen(cx, call, args, if truth == Some(true) { 1 } else { 2 })
}

fn coalesce_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let nullable = args.iter().all(|a| a.ty.nullable);
    Ok(SqlType { nullable, ..crate::common_type(cx, args, "coalesce")?.0 })
}

fn coalesce(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match args.iter().position(|v| !v.is_null()) {
        Some(i) => chosen(cx, call, args, i).map(number_of_bits),
        None => Ok(Value::Null),
    }
}

/// What is computed of bits is their number, also as a text; IF and CASE hand on the bits themselves.
fn number_of_bits(value: Value) -> Value {
    match value {
        Value::Bit(n, _) => Value::UInt(n),
        other => other,
    }
}

fn nullif_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { nullable: true, ..args[0].ty.clone() })
}

fn nullif(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let how = compare_as(&call.args[0], &call.args[1], call.args[0].collation);
    let order = compare(args[0].as_ref(), args[1].as_ref(), how, &mut cx.conversion())?;
    Ok(if order == Some(Ordering::Equal) { Value::Null } else { args[0].clone() })
}

/// Dates and times among texts and numbers: all compare as these.
fn extreme_time(args: &[ArgInfo<'_>]) -> Option<SqlType> {
    use gannet_types::TypeId::{Date, DateTime, Null, Time, Timestamp};
    let has = |ids: &[gannet_types::TypeId]| args.iter().any(|a| ids.contains(&a.ty.id));
    let other = |a: &ArgInfo<'_>| !a.ty.id.is_temporal() && a.ty.id != Null;
    if !args.iter().any(other) || has(&[gannet_types::TypeId::Json]) {
        return None;
    }
    let fsp = args.iter().filter(|a| a.ty.id.is_temporal()).map(|a| a.ty.scale).max()?;
    let ty = match () {
        () if has(&[DateTime, Timestamp]) || has(&[Date]) && has(&[Time]) => SqlType::temporal(DateTime, fsp),
        () if has(&[Date]) => SqlType::new(Date),
        () => SqlType::temporal(Time, fsp),
    };
    Some(SqlType { nullable: true, ..ty })
}

fn extreme_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    if let Some(ty) = extreme_time(args) {
        return Ok(ty);
    }
    let (ty, _) = crate::common_type(cx, args, "least")?;
    if ty.id == gannet_types::TypeId::Json {
        let text = SqlType::new(gannet_types::TypeId::LongText).with_collation(gannet_types::CollationId::UTF8MB4_BIN);
        return Ok(text);
    }
    Ok(ty)
}

fn extreme(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], wanted: Ordering) -> Result<Value> {
    let how = compare_as(call.ty, call.ty, call.ty.collation);
    let mut shown = Cow::Borrowed(args);
    if call.ty.id.is_string() {
        shown.to_mut().iter_mut().zip(call.args).for_each(|(v, ty)| v.settle_text(ty));
    }
    // Of texts that are equal, the last is the greatest, and the first the least.
    let last = call.ty.id.is_string() && wanted == Ordering::Greater;
    let mut best = 0;
    for (i, candidate) in shown.iter().enumerate().skip(1) {
        let order = compare(candidate.as_ref(), shown[best].as_ref(), how, &mut cx.conversion())?;
        if order == Some(wanted) || last && order == Some(Ordering::Equal) {
            best = i;
        }
    }
    chosen(cx, call, args, best).map(number_of_bits)
}

fn greatest(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    extreme(cx, call, args, Ordering::Greater)
}

fn least(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    extreme(cx, call, args, Ordering::Less)
}

fn isnull(_: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(args[0].is_null()))
}

fn first_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(args[0].ty.clone())
}

fn first(_: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(args[0].clone())
}

fn sleep(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let seconds = rules::double_arg(cx, &args[0])?;
    if args[0].is_null() || seconds < 0.0 {
        // MySQL's message has a full stop in it.
        return Err(gannet_types::sql_err!(WrongArguments, "sleep."));
    }
    Ok(Value::from(cx.session.sleep(seconds)))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("IF", 3, 3, if_rule, if_, "The second argument if the first is true, else the third.")
        .keeps_digits()
        .made_of(|i| i > 0)
        .sees_null(),
    FunctionDef::new("COALESCE", 1, 1, coalesce_rule, coalesce, "The first argument that is not NULL.")
        .keeps_digits()
        .kernel(Kernel::FirstKnown)
        .made_of(|_| true)
        .variadic()
        .sees_null(),
    FunctionDef::new("IFNULL", 2, 2, coalesce_rule, coalesce, "The first argument unless it is NULL, else the second.")
        .keeps_digits()
        .kernel(Kernel::FirstKnown)
        .made_of(|_| true)
        .sees_null(),
    FunctionDef::new("NULLIF", 2, 2, nullif_rule, nullif, "NULL if the arguments are equal, else the first.")
        .keeps_digits()
        .made_of(|i| i == 0)
        .sees_null(),
    FunctionDef::new("GREATEST", 2, 2, extreme_rule, greatest, "The largest argument.")
        .keeps_digits()
        .made_of(|_| true)
        .variadic(),
    FunctionDef::new("LEAST", 2, 2, extreme_rule, least, "The smallest argument.")
        .keeps_digits()
        .made_of(|_| true)
        .variadic(),
    FunctionDef::new("ISNULL", 1, 1, rules::int_not_null, isnull, "1 for NULL, else 0.").sees_null(),
    FunctionDef::new("ANY_VALUE", 1, 1, first_rule, first, "The argument; lifts the check of ONLY_FULL_GROUP_BY.")
        .made_of(|_| true)
        .sees_null(),
    FunctionDef::new("SLEEP", 1, 1, rules::int_not_null, sleep, "Waits that many seconds; 1 if it was interrupted.")
        .numbers_at(&[0])
        .sees_null()
        .is(Stability::Effect),
];
