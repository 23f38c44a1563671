//! Dates and times made of numbers.

use super::{arith::micros_of, date_type, decimals_of, time_type, time_value};
use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules,
};
use gannet_types::{
    Date, Decimal, ErrorCode, Result, SqlMode, SqlType, Time, Value, convert,
    temporal::{from_days, to_days},
};

fn date_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(date_type())
}

fn makedate(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let (year, day) = (rules::count_arg(cx, &args[0])?, rules::count_arg(cx, &args[1])?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        100..=9999 => year,
        _ => return Ok(Value::Null),
    };
    if day <= 0 {
        return Ok(Value::Null);
    }
    let days = to_days(year as u32, 1, 1).saturating_add(day - 1);
    Ok(from_days(days).map_or(Value::Null, Value::Date))
}

fn maketime_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(time_type(decimals_of(&args[2])))
}

/// Warning 1292 and the limit of TIME.
fn limit(cx: &mut EvalContext<'_>, call: Call<'_>, negative: bool, text: &str) -> Result<Value> {
    cx.conversion().warn(ErrorCode::TruncatedWrongValue, &[&"time", &text])?;
    Ok(Value::Time(if negative { Time::MIN } else { Time::MAX }, call.ty.scale))
}

fn maketime(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (hour, minute) = (rules::count_arg(cx, &args[0])?, rules::count_arg(cx, &args[1])?);
    let second = convert::to_decimal(args[2].as_ref(), &mut cx.conversion())?;
    let valid = (0..=59).contains(&minute) && !second.is_negative() && second < Decimal::from_i64(60);
    let cut = cx.sql_mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    let rounded = if cut { second.truncate(6) } else { second.round(6) };
    let Some(micros) = rounded.as_ref().and_then(micros_of).filter(|_| valid) else { return Ok(Value::Null) };
    let negative = hour < 0;
    if hour.unsigned_abs() > 1_000_000 {
        return limit(cx, call, negative, &format!("{hour}:{minute:02}:{:02}", micros / 1_000_000));
    }
    let total = (hour.abs() * 60 + minute) * 60_000_000 + micros;
    time_value(cx, Time::from_micros(if negative { -total } else { total }), call.ty.scale)
}

fn sec_to_time_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(time_type(decimals_of(&args[0])))
}

fn sec_to_time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let seconds = convert::to_decimal(args[0].as_ref(), &mut cx.conversion())?;
    let micros = seconds.round(6).as_ref().and_then(micros_of);
    let max = Time::MAX.to_micros();
    match micros.filter(|m| (-max..=max).contains(m)) {
        Some(micros) => time_value(cx, Time::from_micros(micros), call.ty.scale),
        None => limit(cx, call, seconds.is_negative(), &seconds.to_string()),
    }
}

fn from_days_(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let days = rules::count_arg(cx, &args[0])?;
    Ok(Value::Date(from_days(days).unwrap_or(Date::ZERO)))
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("MAKEDATE", 2, 2, date_rule, makedate, "Date of a year and a day of the year.").takes_numbers(),
    FunctionDef::new("MAKETIME", 3, 3, maketime_rule, maketime, "Time of hours, minutes and seconds.").takes_numbers(),
    FunctionDef::new("SEC_TO_TIME", 1, 1, sec_to_time_rule, sec_to_time, "Time of so many seconds.").takes_numbers(),
    FunctionDef::new("FROM_DAYS", 1, 1, date_rule, from_days_, "Date of a number of days since year 0.")
        .takes_numbers(),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn made() {
        check(&[
            ("MAKEDATE(2011, 31)", "2011-01-31"),
            ("MAKEDATE(2011, 365)", "2011-12-31"),
            ("MAKEDATE(2014, 366)", "2015-01-01"),
            ("MAKEDATE(2011, 0)", "NULL"),
            ("MAKEDATE(11, 1)", "2011-01-01"),
            ("MAKEDATE(9999, 366)", "NULL"),
            ("MAKEDATE(1, 9223372036854775807)", "NULL"),
            ("MAKEDATE(-1, 5)", "NULL"),
            ("MAKETIME(12, 15, 30)", "12:15:30"),
            ("MAKETIME(12, 15, 30.5)", "12:15:30.5"),
            ("MAKETIME(-1, 15, 30)", "-01:15:30"),
            ("MAKETIME(23, 59, 59.9999999)", "24:00:00.000000"),
            ("MAKETIME(1, 60, 0)", "NULL"),
            ("MAKETIME(1, 0, 60)", "NULL"),
            ("MAKETIME(900, 0, 0)", "838:59:59 !1292"),
            ("MAKETIME(-9223372036854775808, 0, 0)", "-838:59:59 !1292"),
            ("MAKETIME(1, 2, '3.5')", "01:02:03.500000"),
            ("SEC_TO_TIME(2378)", "00:39:38"),
            ("SEC_TO_TIME(2378) + 0", "3938"),
            ("SEC_TO_TIME(-2378.25)", "-00:39:38.25"),
            ("SEC_TO_TIME('2378')", "00:39:38.000000"),
            ("SEC_TO_TIME(99999999)", "838:59:59 !1292"),
            ("SEC_TO_TIME(-99999999999999999999999)", "-838:59:59 !1292"),
            ("FROM_DAYS(730669)", "2000-07-03"),
            ("FROM_DAYS(0)", "0000-00-00"),
            ("FROM_DAYS(-1)", "0000-00-00"),
            ("FROM_DAYS(3652425)", "0000-00-00"),
        ]);
    }
}
