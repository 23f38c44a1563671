//! The time of the statement, and of the clock.

use super::{date_type, datetime_type, time_type};
use crate::def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability};
use gannet_types::{Date, DateTime, Result, SqlType, TimeZone, Value, sql_err};

/// The digits that the argument asks for. Error 1426 beyond six.
fn fsp_arg(args: &[ArgInfo<'_>], name: &str) -> Result<u8> {
    let Some(arg) = args.first() else { return Ok(0) };
    match crate::rules::constant_int(arg) {
        Some(n @ 0..=6) => Ok(n as u8),
        Some(n) => Err(sql_err!(TooBigPrecision, n, name, 6)),
        None => Err(sql_err!(WrongArguments, name)),
    }
}

fn now_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(datetime_type(fsp_arg(args, "now")?).not_null())
}

fn curtime_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    // A time of day has two digits of hours and no sign.
    let fsp = fsp_arg(args, "curtime")?;
    let fraction = if fsp > 0 { 1 + u32::from(fsp) } else { 0 };
    Ok(SqlType { length: 8 + fraction, ..time_type(fsp).not_null() })
}

fn curdate_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(date_type().not_null())
}

fn at(unix_us: i64, zone: &TimeZone) -> DateTime {
    zone.local(unix_us).unwrap_or(DateTime::ZERO)
}

fn cut(t: DateTime, fsp: u8) -> DateTime {
    t.round(fsp, true).unwrap_or(t)
}

fn datetime(call: Call<'_>, t: DateTime) -> Result<Value> {
    Ok(Value::DateTime(cut(t, call.ty.scale), call.ty.scale))
}

fn time(call: Call<'_>, t: DateTime) -> Result<Value> {
    Ok(Value::Time(cut(t, call.ty.scale).time(), call.ty.scale))
}

fn date(t: DateTime) -> Result<Value> {
    Ok(Value::Date(Date::new(t.year(), t.month(), t.day())))
}

fn now(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    datetime(call, at(cx.now_us, cx.time_zone))
}

fn curdate(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    date(at(cx.now_us, cx.time_zone))
}

fn curtime(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    time(call, at(cx.now_us, cx.time_zone))
}

fn utc_timestamp(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    datetime(call, at(cx.now_us, &TimeZone::UTC))
}

fn utc_date(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    date(at(cx.now_us, &TimeZone::UTC))
}

fn utc_time(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    time(call, at(cx.now_us, &TimeZone::UTC))
}

fn sysdate(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    let clock = cx.session.clock_us().unwrap_or(cx.now_us);
    datetime(call, at(clock, cx.time_zone))
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("NOW", 0, 1, now_rule, now, "Start of the statement, with so many digits of the second.")
        .also(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"])
        .is(Stability::Statement),
    FunctionDef::new("CURDATE", 0, 0, curdate_rule, curdate, "Date of the statement's start.")
        .also(&["CURRENT_DATE"])
        .is(Stability::Statement),
    FunctionDef::new("CURTIME", 0, 1, curtime_rule, curtime, "Time of day of the statement's start.")
        .also(&["CURRENT_TIME"])
        .is(Stability::Statement),
    FunctionDef::new("UTC_TIMESTAMP", 0, 1, now_rule, utc_timestamp, "Start of the statement in UTC.")
        .is(Stability::Statement),
    FunctionDef::new("UTC_DATE", 0, 0, curdate_rule, utc_date, "Date of the statement's start in UTC.")
        .is(Stability::Statement),
    FunctionDef::new("UTC_TIME", 0, 1, curtime_rule, utc_time, "Time of day of the statement's start in UTC.")
        .is(Stability::Statement),
    FunctionDef::new("SYSDATE", 0, 1, now_rule, sysdate, "The clock when the call is evaluated.")
        .is(Stability::Volatile),
];

#[cfg(test)]
mod tests {
    use crate::testing::{Evaluator, check, check_in, check_types};
    use gannet_types::TimeZone;

    #[test]
    fn statement_time() {
        check(&[
            ("NOW()", "2024-02-29 13:14:15"),
            ("NOW(3)", "2024-02-29 13:14:15.678"),
            ("CURRENT_TIMESTAMP(6)", "2024-02-29 13:14:15.678901"),
            ("LOCALTIME", "2024-02-29 13:14:15"),
            ("CURDATE()", "2024-02-29"),
            ("CURRENT_TIME(1)", "13:14:15.6"),
            ("SYSDATE()", "2024-02-29 13:14:15"),
            ("NOW(7)", "ERROR 1426"),
            ("NOW() + 0", "20240229131415"),
            ("CURDATE() + 0", "20240229"),
            ("CURTIME(2) + 0", "131415.67"),
        ]);
        let mut east = Evaluator { zone: TimeZone::parse("+11:30").unwrap(), ..Evaluator::default() };
        check_in(
            &mut east,
            &[
                ("NOW()", "2024-03-01 00:44:15"),
                ("CURDATE()", "2024-03-01"),
                ("UTC_DATE()", "2024-02-29"),
                ("UTC_TIME()", "13:14:15"),
                ("UTC_TIMESTAMP(2)", "2024-02-29 13:14:15.67"),
            ],
        );
        check_types(&[("NOW(3)", "datetime(3) not null"), ("CURTIME()", "time not null")]);
    }
}
