//! What the binder puts around values by itself. No statement can name these functions.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules,
};
use gannet_types::{
    ErrorCode, Result, SqlError, SqlType, TypeId, Value,
    charset::Charset,
    convert::{self, StoreTarget},
    temporal::{DateFlags, parse_datetime, parse_time_as},
};

/// The binder gives the type.
fn typed(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(args[0].ty.clone())
}

/// A text in the character set of the call's type, or the error which the other arguments tell.
fn fitting_text(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let to = call.ty.collation;
    let text = rules::bytes_of(&args[0]);
    let from = match &args[0] {
        Value::Str(_, own) => own.charset(),
        Value::Enum(..) | Value::Set(..) => Charset::Utf8mb4,
        _ => Charset::Ascii,
    };
    let converted = from.convert(&text, to.charset());
    if converted.lossy {
        let number = rules::number_of(&args[1]).unwrap_or_default();
        let code = ErrorCode::from_number(number).unwrap_or(ErrorCode::CantAggregateNcollations);
        return Err(SqlError::with_message(code, String::from_utf8_lossy(&rules::bytes_of(&args[2]))));
    }
    Ok(Value::Str((&*converted.bytes).into(), to))
}

/// Bytes as a text in the character set of the call's type. Error 3854 where they are none.
fn text_of_bytes(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let to = call.ty.collation;
    Ok(Value::Str((&*rules::text_in(&args[0], to.charset())?).into(), to))
}

/// A value as a column of the call's type keeps it; the second argument is the column's name.
fn stored_in(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let name = rules::bytes_of(&args[1]);
    let name = String::from_utf8_lossy(&name);
    let at = StoreTarget { column: &name, row: 1 };
    convert::store(args[0].as_ref(), call.ty, at, &mut cx.conversion())
}

fn double_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { nullable: args[0].ty.nullable, ..SqlType::DOUBLE })
}

/// The FLOAT next to a number if they differ by less than half of the last but one digit, as FLOAT(M,D) compares; else
/// the number.
fn near_float(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let number = convert::to_f64(args[0].as_ref(), &mut cx.conversion())?;
    let digits = rules::int_arg(cx, &args[1])?;
    let near = f64::from(number as f32);
    let apart = 0.5 / 10f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    Ok(Value::Double(if (near - number).abs() < apart { near } else { number }))
}

/// The number of a date or time that came as text: of `2020-02-29` it is 20200229, of `10:00:00` it is 100000.
fn temporal_number(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = rules::text_in(&args[0], Charset::Utf8mb4)?;
    let moment = match text.get(4) {
        Some(b'-') => parse_datetime(&text, DateFlags::LAX).map(|at| match at.date_only {
            true => Value::Date(at.value.date()),
            false => Value::DateTime(at.value, at.fsp),
        }),
        _ => parse_time_as(&text, false).map(|at| Value::Time(at.value, at.fsp)),
    };
    let moment = moment.as_ref().unwrap_or(&args[0]).as_ref();
    match call.ty.id {
        TypeId::Decimal => convert::to_decimal(moment, &mut cx.conversion()).map(Value::Decimal),
        _ => convert::to_f64(moment, &mut cx.conversion()).map(Value::Double),
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "FITTING TEXT",
        3,
        3,
        typed,
        fitting_text,
        "Text in another character set, or an error (internal).",
    ),
    FunctionDef::new("FIT BYTES", 1, 1, typed, text_of_bytes, "Bytes as text, or an error (internal)."),
    FunctionDef::new("STORED IN", 2, 2, typed, stored_in, "A value as a column keeps it (internal)."),
    FunctionDef::new(
        "NEAR FLOAT",
        2,
        2,
        double_rule,
        near_float,
        "The FLOAT that equals a number in so many digits (internal).",
    ),
    FunctionDef::new("TEMPORAL NUMBER", 1, 1, double_rule, temporal_number, "A date's or time's number (internal)."),
];
