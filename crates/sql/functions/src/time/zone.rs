//! Instants: seconds since 1970, time zones.

use super::{arith::micros_of, datetime_arg, datetime_type, datetime_value, decimals_of};
use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules,
};
use gannet_types::{
    Decimal, Result, SqlType, TimeZone, Value, convert,
    temporal::{DateFlags, parse_datetime},
};

fn unix_timestamp_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    // A literal that is no time has the digits of any text.
    let digits = |arg: &ArgInfo<'_>| match arg.constant {
        Some(Value::Str(text, _)) if parse_datetime(text, DateFlags::LAX).is_none() => 6,
        _ => rules::fsp_of(arg),
    };
    let fsp = args.first().map_or(0, digits);
    Ok(match (args.first(), fsp) {
        (None, _) => SqlType::BIGINT.not_null(),
        (Some(arg), 0) => SqlType { nullable: arg.ty.nullable, ..SqlType::BIGINT },
        (Some(arg), _) => SqlType { nullable: arg.ty.nullable, ..SqlType::decimal(11 + fsp, fsp) },
    })
}

/// 0 for what is no date, or outside of what is known.
fn unix_timestamp(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let micros = match args.first() {
        None => cx.now_us,
        Some(Value::Timestamp(at, _)) => at.unix_micros(),
        Some(arg) => {
            // Zero parts have no instant, but only a text that is the zero date is told of.
            let flags = DateFlags { no_zero_date: matches!(arg, Value::Str(..)), ..DateFlags::LAX };
            let date = datetime_arg(cx, arg, flags)?;
            let zone = cx.time_zone;
            let date = date.filter(|d| d.month() > 0 && d.day() > 0);
            date.and_then(|d| d.round(call.ty.scale, false)).and_then(|d| zone.instant(d)).unwrap_or(0)
        }
    };
    if call.ty.scale == 0 {
        return Ok(Value::Int(micros / 1_000_000));
    }
    let value = Decimal::from_i128(i128::from(micros), 6);
    Ok(value.truncate(call.ty.scale).map_or(Value::Null, Value::Decimal))
}

fn from_unixtime_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    match args {
        [_, format] => super::format::format_rule(cx, &[args[0], *format]),
        _ => Ok(datetime_type(decimals_of(&args[0]))),
    }
}

fn from_unixtime(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let seconds = convert::to_decimal(args[0].as_ref(), &mut cx.conversion())?;
    let fsp = if args.len() > 1 { 6 } else { call.ty.scale };
    let micros = seconds.round(fsp).as_ref().and_then(micros_of).filter(|m| (0..=TimeZone::LAST_US).contains(m));
    let Some(at) = micros.and_then(|m| cx.time_zone.local(m)) else { return Ok(Value::Null) };
    match args.get(1) {
        Some(format) => Ok(super::format::formatted(cx, call, at, format)),
        None => Ok(datetime_value(cx, at, fsp)),
    }
}

fn convert_tz_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(datetime_type(rules::fsp_of(&args[0])))
}

fn zone_arg(value: &Value) -> Option<TimeZone> {
    TimeZone::parse(&String::from_utf8_lossy(&rules::bytes_of(value))).ok()
}

/// Outside of what is known the time stays as it is.
fn convert_tz(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(t) = datetime_arg(cx, &args[0], DateFlags::STRICT)? else { return Ok(Value::Null) };
    let (Some(from), Some(to)) = (zone_arg(&args[1]), zone_arg(&args[2])) else { return Ok(Value::Null) };
    let moved = from.instant(t).and_then(|us| to.local(us)).unwrap_or(t);
    Ok(datetime_value(cx, moved, call.ty.scale))
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("UNIX_TIMESTAMP", 0, 1, unix_timestamp_rule, unix_timestamp, "Seconds since 1970-01-01 UTC.")
        .is(Stability::Statement)
        .takes_instants(),
    FunctionDef::new(
        "FROM_UNIXTIME",
        1,
        2,
        from_unixtime_rule,
        from_unixtime,
        "Datetime of seconds since 1970-01-01 UTC, or its text in a format.",
    )
    .numbers_at(&[0])
    .is(Stability::Statement)
    .names_dates(),
    FunctionDef::new("CONVERT_TZ", 3, 3, convert_tz_rule, convert_tz, "Datetime of one time zone in another."),
];

#[cfg(test)]
mod tests {
    use crate::testing::{Evaluator, check, check_in, check_types};
    use gannet_types::TimeZone;

    #[test]
    fn instants() {
        check(&[
            ("UNIX_TIMESTAMP()", "1709212455"),
            ("UNIX_TIMESTAMP('2015-11-13 10:20:19')", "1447410019"),
            ("UNIX_TIMESTAMP('2015-11-13 10:20:19.012')", "1447410019.012"),
            ("UNIX_TIMESTAMP(20151113)", "1447372800"),
            ("UNIX_TIMESTAMP('1969-12-31')", "0"),
            ("UNIX_TIMESTAMP('3001-01-18 23:59:59')", "32536771199"),
            ("UNIX_TIMESTAMP('3001-01-19 00:00:00')", "0"),
            ("UNIX_TIMESTAMP('abc')", "0.000000 !1292"),
            ("UNIX_TIMESTAMP(NULL)", "NULL"),
            ("FROM_UNIXTIME(1447430881)", "2015-11-13 16:08:01"),
            ("FROM_UNIXTIME(1447430881) + 0", "20151113160801"),
            ("FROM_UNIXTIME(1447430881.5)", "2015-11-13 16:08:01.5"),
            ("FROM_UNIXTIME(1447430881, '%Y %D %M %h:%i:%s %x')", "2015 13th November 04:08:01 2015"),
            ("FROM_UNIXTIME(-1)", "NULL"),
            ("FROM_UNIXTIME(32536771199)", "3001-01-18 23:59:59"),
            ("FROM_UNIXTIME(32536771200)", "NULL"),
            ("FROM_UNIXTIME(99999999999999999999999999)", "NULL"),
            ("CONVERT_TZ('2004-01-01 12:00:00', '+00:00', '+10:00')", "2004-01-01 22:00:00"),
            ("CONVERT_TZ('2004-07-01 12:00:00', 'GMT', 'Europe/Moscow')", "2004-07-01 16:00:00"),
            ("CONVERT_TZ('2004-01-01 12:00:00', 'GMT', 'Nowhere')", "NULL"),
            ("CONVERT_TZ('1904-01-01 12:00:00', '+00:00', '+10:00')", "1904-01-01 12:00:00"),
            ("CONVERT_TZ('2004-01-01 12:00:00.5', '+00:00', '-01:00')", "2004-01-01 11:00:00.5"),
        ]);
        let mut berlin = Evaluator { zone: TimeZone::parse("Europe/Berlin").unwrap(), ..Evaluator::default() };
        check_in(
            &mut berlin,
            &[
                ("UNIX_TIMESTAMP('2024-07-01 00:00:00')", "1719784800"),
                ("FROM_UNIXTIME(1719784800)", "2024-07-01 00:00:00"),
                ("UNIX_TIMESTAMP('2024-03-31 02:30:00')", "1711846800"),
            ],
        );
        check_types(&[
            ("UNIX_TIMESTAMP('2015-11-13 10:20:19.012')", "decimal(14,3) not null"),
            ("FROM_UNIXTIME(1.5)", "datetime(1)"),
        ]);
    }
}
