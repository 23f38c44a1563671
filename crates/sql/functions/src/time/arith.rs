//! Sums and differences of dates, times and intervals.

use super::{
    Moment, datetime_arg, datetime_type, datetime_value, decimals_of, is_date_only, moment_arg, overflow, text_value,
    time_arg, time_type, time_value, unit_of,
};
use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules,
};
use gannet_types::{
    DateTime, Decimal, Result, SqlType, Time, TypeId, Value, convert, sql_err,
    temporal::{self, DateFlags, Interval, IntervalUnit, add_interval, add_interval_time},
};

/// Characters that MySQL reserves for a datetime as text.
const DATETIME_CHARS: u64 = 29;

/// Type of a date plus an interval.
fn sum_type(cx: RuleContext, date: &ArgInfo<'_>, amount: &ArgInfo<'_>, unit: IntervalUnit) -> SqlType {
    let fsp = match unit {
        unit if unit.has_micros() => 6,
        IntervalUnit::Second => decimals_of(amount),
        _ => 0,
    };
    match date.ty.id {
        TypeId::Date if unit.is_date_only() => super::date_type(),
        TypeId::Date => datetime_type(fsp),
        TypeId::DateTime | TypeId::Timestamp => datetime_type(fsp.max(date.ty.scale)),
        TypeId::Time if unit.is_date_only() => datetime_type(date.ty.scale),
        TypeId::Time => time_type(fsp.max(date.ty.scale)),
        _ => rules::ascii_type(cx, DATETIME_CHARS, true),
    }
}

/// The interval that an amount of a unit is; `None` for text that is none.
fn interval_of(cx: &mut EvalContext<'_>, amount: &Value, unit: IntervalUnit) -> Result<Option<Interval>> {
    if unit.name().contains('_') {
        return Ok(Interval::parse(&rules::bytes_of(amount), unit));
    }
    let whole = matches!(amount, Value::Int(_) | Value::UInt(_));
    if unit == IntervalUnit::Second && !whole {
        let seconds = convert::to_decimal(amount.as_ref(), &mut cx.conversion())?;
        return Ok(micros_of(&seconds).map(Interval::of_micros));
    }
    let n = rules::count_arg(cx, amount)?;
    Ok(Some(Interval::of(n, unit)))
}

/// Microseconds of so many seconds, cut; `None` beyond 64 bits.
pub(super) fn micros_of(seconds: &Decimal) -> Option<i64> {
    let scaled = seconds.truncate(6)?.checked_mul(&Decimal::from_i64(1_000_000))?;
    scaled.to_i64().ok()
}

fn sum(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    date: &Value,
    amount: &Value,
    unit: IntervalUnit,
    subtract: bool,
) -> Result<Value> {
    let interval = match interval_of(cx, amount, unit)? {
        None => return Ok(Value::Null),
        Some(interval) if subtract => -interval,
        Some(interval) => interval,
    };
    if call.ty.id == TypeId::Time {
        let Some(time) = time_arg(cx, date)? else { return Ok(Value::Null) };
        return match add_interval_time(time, interval) {
            Some(time) => time_value(cx, time, call.ty.scale),
            None => overflow(cx, "time"),
        };
    }
    let Some(from) = datetime_arg(cx, date, DateFlags::STRICT)? else { return Ok(Value::Null) };
    let Some(to) = add_interval(from, interval) else { return overflow(cx, "datetime") };
    Ok(match call.ty.id {
        TypeId::Date => Value::Date(to.date()),
        TypeId::DateTime => datetime_value(cx, to, call.ty.scale),
        _ => {
            let mut text = Vec::new();
            if unit.is_date_only() && is_date_only(date) {
                to.date().write(&mut text);
            } else {
                to.write(if to.micros() > 0 { 6 } else { 0 }, &mut text);
            }
            text_value(call, &text)
        }
    })
}

fn date_add_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(sum_type(cx, &args[0], &args[1], unit_of(args[2].constant)?))
}

fn date_add(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let unit = unit_of(args.get(2))?;
    sum(cx, call, &args[0], &args[1], unit, false)
}

fn date_sub(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let unit = unit_of(args.get(2))?;
    sum(cx, call, &args[0], &args[1], unit, true)
}

fn adddate_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(sum_type(cx, &args[0], &args[1], IntervalUnit::Day))
}

fn adddate(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    sum(cx, call, &args[0], &args[1], IntervalUnit::Day, false)
}

fn subdate(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    sum(cx, call, &args[0], &args[1], IntervalUnit::Day, true)
}

fn timestampdiff(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let unit = unit_of(args.first())?;
    let from = datetime_arg(cx, &args[1], DateFlags::STRICT)?;
    let to = datetime_arg(cx, &args[2], DateFlags::STRICT)?;
    Ok(match (from, to) {
        (Some(from), Some(to)) => Value::Int(temporal::timestamp_diff(unit, from, to)),
        _ => Value::Null,
    })
}

fn int_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(21, true))
}

fn days_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(9, true))
}

fn datediff(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let a = datetime_arg(cx, &args[0], DateFlags::STRICT)?;
    let b = datetime_arg(cx, &args[1], DateFlags::STRICT)?;
    Ok(match (a, b) {
        (Some(a), Some(b)) => Value::Int(a.date().days() - b.date().days()),
        _ => Value::Null,
    })
}

fn timediff_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(time_type(rules::fsp_of(&args[0]).max(rules::fsp_of(&args[1]))))
}

/// Both must be times, or both dates or datetimes.
fn timediff(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let has_date = |v: &Value| matches!(v, Value::Date(_) | Value::DateTime(..));
    let is_time = |v: &Value| match v {
        Value::Time(..) => true,
        // Hours come first, and no year.
        Value::Str(text, _) => {
            text.iter().find(|b| !matches!(b, b'0'..=b'9' | b' ' | b'-')) == Some(&b':')
                && text.trim_ascii_start().iter().skip(1).all(|b| *b != b'-' && *b != b' ')
        }
        _ => false,
    };
    if args.iter().any(has_date) {
        if args.iter().any(is_time) {
            return Ok(Value::Null);
        }
        let a = datetime_arg(cx, &args[0], DateFlags::LAX)?;
        let b = datetime_arg(cx, &args[1], DateFlags::LAX)?;
        return difference(cx, call, a.map(Moment::DateTime), b.map(Moment::DateTime));
    }
    let (a, b) = (moment_arg(cx, &args[0])?, moment_arg(cx, &args[1])?);
    difference(cx, call, a, b)
}

fn difference(cx: &mut EvalContext<'_>, call: Call<'_>, a: Option<Moment>, b: Option<Moment>) -> Result<Value> {
    let micros = match (a, b) {
        (Some(Moment::Time(a)), Some(Moment::Time(b))) => a.to_micros() - b.to_micros(),
        (Some(Moment::DateTime(a)), Some(Moment::DateTime(b))) => a.to_micros() - b.to_micros(),
        _ => return Ok(Value::Null),
    };
    time_value(cx, Time::from_micros(micros), call.ty.scale)
}

fn addtime_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let fsp = rules::fsp_of(&args[0]).max(rules::fsp_of(&args[1]));
    Ok(match args[0].ty.id {
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp => datetime_type(fsp),
        TypeId::Time => time_type(fsp),
        _ => rules::ascii_type(cx, DATETIME_CHARS, true),
    })
}

fn plus_time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], sign: i64) -> Result<Value> {
    let a = match &args[0] {
        Value::Date(date) => Some(Moment::DateTime(date.to_datetime())),
        other => moment_arg(cx, other)?,
    };
    let b = moment_arg(cx, &args[1])?;
    let (Some(a), Some(Moment::Time(b))) = (a, b) else { return Ok(Value::Null) };
    add_time(cx, call, a, sign * b.to_micros())
}

fn add_time(cx: &mut EvalContext<'_>, call: Call<'_>, to: Moment, micros: i64) -> Result<Value> {
    let is_text = call.ty.id.is_string();
    let mut text = Vec::new();
    match to {
        Moment::DateTime(d) => {
            let sum = DateTime::from_micros(d.to_micros() + micros);
            let Some(sum) = sum.filter(|s| s.day() > 0) else { return Ok(Value::Null) };
            if !is_text {
                return Ok(datetime_value(cx, sum, call.ty.scale));
            }
            sum.write(if sum.micros() > 0 { 6 } else { 0 }, &mut text);
        }
        Moment::Time(t) => {
            let sum = Time::from_micros(t.to_micros() + micros);
            let fsp = if is_text { 6 } else { call.ty.scale };
            let value = time_value(cx, sum, fsp)?;
            let Value::Time(sum, _) = value else { return Ok(value) };
            if !is_text {
                return Ok(value);
            }
            sum.write(if sum.micros() > 0 { 6 } else { 0 }, &mut text);
        }
    }
    Ok(text_value(call, &text))
}

fn addtime(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    plus_time(cx, call, args, 1)
}

fn subtime(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    plus_time(cx, call, args, -1)
}

fn timestamp_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(datetime_type(args.iter().map(rules::fsp_of).max().unwrap_or(0)))
}

/// The argument as a datetime; with two arguments: plus a time.
fn timestamp(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(date) = datetime_arg(cx, &args[0], DateFlags::LAX)? else { return Ok(Value::Null) };
    let Some(time) = args.get(1) else { return Ok(datetime_value(cx, date, call.ty.scale)) };
    match moment_arg(cx, time)? {
        Some(Moment::Time(time)) => add_time(cx, call, Moment::DateTime(date), time.to_micros()),
        _ => Ok(Value::Null),
    }
}

fn period_args(cx: &mut EvalContext<'_>, args: &[Value]) -> Result<(i64, i64)> {
    Ok((rules::int_arg(cx, &args[0])?, rules::int_arg(cx, &args[1])?))
}

fn period_add(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let (period, months) = period_args(cx, args)?;
    let sum = u64::try_from(period).ok().and_then(|p| temporal::period_add(p, months));
    let sum = sum.and_then(|s| i64::try_from(s).ok());
    sum.map(Value::Int).ok_or_else(|| sql_err!(WrongArguments, "period_add"))
}

fn period_diff(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = period_args(cx, args)?;
    let difference = match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => temporal::period_diff(a, b),
        _ => None,
    };
    difference.map(Value::Int).ok_or_else(|| sql_err!(WrongArguments, "period_diff"))
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("DATE_ADD", 3, 3, date_add_rule, date_add, "Date plus so many of a unit (`d + INTERVAL n unit`)."),
    FunctionDef::new(
        "DATE_SUB",
        3,
        3,
        date_add_rule,
        date_sub,
        "Date minus so many of a unit (`d - INTERVAL n unit`).",
    ),
    FunctionDef::new("ADDDATE", 2, 2, adddate_rule, adddate, "Date plus days.").numbers_at(&[1]),
    FunctionDef::new("SUBDATE", 2, 2, adddate_rule, subdate, "Date minus days.").numbers_at(&[1]),
    FunctionDef::new("TIMESTAMPDIFF", 3, 3, int_rule, timestampdiff, "Whole units from one date to another."),
    FunctionDef::new("DATEDIFF", 2, 2, days_rule, datediff, "Days from the second date to the first."),
    FunctionDef::new("TIMEDIFF", 2, 2, timediff_rule, timediff, "Time from the second argument to the first."),
    FunctionDef::new("ADDTIME", 2, 2, addtime_rule, addtime, "Time or datetime plus a time."),
    FunctionDef::new("SUBTIME", 2, 2, addtime_rule, subtime, "Time or datetime minus a time."),
    FunctionDef::new("TIMESTAMP", 1, 2, timestamp_rule, timestamp, "Datetime of a date, plus a time."),
    FunctionDef::new("PERIOD_ADD", 2, 2, int_rule, period_add, "A month YYYYMM plus months.").takes_numbers(),
    FunctionDef::new("PERIOD_DIFF", 2, 2, int_rule, period_diff, "Months between two months YYYYMM.").takes_numbers(),
];

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_types};

    #[test]
    fn intervals() {
        check(&[
            ("DATE_ADD('2018-05-01', INTERVAL 1 DAY)", "2018-05-02"),
            ("DATE_SUB('2018-05-01', INTERVAL 1 YEAR)", "2017-05-01"),
            ("DATE_ADD('2020-12-31 23:59:59', INTERVAL 1 SECOND)", "2021-01-01 00:00:00"),
            ("DATE_ADD('2018-12-31 23:59:59', INTERVAL 1 DAY)", "2019-01-01 23:59:59"),
            ("DATE_ADD('2100-12-31 23:59:59', INTERVAL '1:1' MINUTE_SECOND)", "2101-01-01 00:01:00"),
            ("DATE_SUB('2025-01-01 00:00:00', INTERVAL '1 1:1:1' DAY_SECOND)", "2024-12-30 22:58:59"),
            ("DATE_ADD('1900-01-01 00:00:00', INTERVAL '-1 10' DAY_HOUR)", "1899-12-30 14:00:00"),
            ("DATE_SUB('1998-01-02', INTERVAL 31 DAY)", "1997-12-02"),
            (
                "DATE_ADD('1992-12-31 23:59:59.000002', INTERVAL '1.999999' SECOND_MICROSECOND)",
                "1993-01-01 00:00:01.000001",
            ),
            ("DATE_ADD('2013-01-01', INTERVAL 1 HOUR)", "2013-01-01 01:00:00"),
            ("DATE_ADD('2024-03-30', INTERVAL 1 MONTH)", "2024-04-30"),
            ("DATE_ADD('2018-01-31', INTERVAL 1 MONTH)", "2018-02-28"),
            ("DATE_ADD('2006-05-00', INTERVAL 1 DAY)", "NULL !1292"),
            ("DATE_ADD(DATE'2006-05-00', INTERVAL 1 DAY)", "NULL"),
            ("DATE_ADD('9999-12-31', INTERVAL 1 DAY)", "NULL !1441"),
            ("DATE_SUB('0000-01-01', INTERVAL 1 YEAR)", "NULL !1441"),
            ("DATE_ADD('2005-03-32', INTERVAL 1 MONTH)", "NULL !1292"),
            ("DATE'2024-02-28' + INTERVAL 2 DAY", "2024-03-01"),
            ("DATE'2024-02-28' + INTERVAL 25 HOUR", "2024-02-29 01:00:00"),
            ("DATE'2024-02-28' - INTERVAL 1 QUARTER", "2023-11-28"),
            ("DATE'2024-02-28' + INTERVAL 1.5 DAY", "2024-03-01"),
            ("TIMESTAMP'2024-02-28 10:00:00' + INTERVAL 1.5 SECOND", "2024-02-28 10:00:01.5"),
            ("TIMESTAMP'2024-02-28 10:00:00' + INTERVAL '1.5' SECOND", "2024-02-28 10:00:01.500000"),
            ("TIMESTAMP'2024-02-28 10:00:00' + INTERVAL 1 MICROSECOND", "2024-02-28 10:00:00.000001"),
            ("20240228 + INTERVAL 2 DAY", "2024-03-01"),
            ("TIME'10:00:00' + INTERVAL 90 MINUTE", "11:30:00"),
            ("TIME'10:00:00' + INTERVAL 1 DAY", "2024-03-01 10:00:00"),
            ("TIME'800:00:00' + INTERVAL 100 HOUR", "NULL !1441"),
            ("DATE'2024-01-01' + INTERVAL 9223372036854775807 DAY", "NULL !1441"),
            ("DATE'2024-01-01' + INTERVAL 9223372036854775807 YEAR", "NULL !1441"),
            ("DATE'2024-01-01' - INTERVAL -9223372036854775808 MICROSECOND", "NULL !1441"),
            ("DATE'2024-01-01' + INTERVAL '1:2:3:4:5' MINUTE_SECOND", "NULL"),
            ("DATE'2024-01-01' + INTERVAL NULL DAY", "NULL"),
            ("ADDDATE('2008-01-02', 31)", "2008-02-02"),
            ("SUBDATE('2008-01-02 12:00:00', 31)", "2007-12-02 12:00:00"),
            ("TIMESTAMPADD(MINUTE, 1, '2003-01-02')", "2003-01-02 00:01:00"),
            ("TIMESTAMPADD(WEEK, 1, '2003-01-02')", "2003-01-09"),
            ("TIMESTAMPADD(SQL_TSI_MONTH, 1, DATE'2003-01-31')", "2003-02-28"),
        ]);
        check_types(&[
            ("DATE'2024-01-01' + INTERVAL 1 DAY", "date"),
            ("DATE'2024-01-01' + INTERVAL 1 HOUR", "datetime"),
            ("DATE_ADD('2024-01-01', INTERVAL 1 HOUR)", "varchar(29)"),
            ("NOW(2) + INTERVAL 1 MICROSECOND", "datetime(6)"),
            ("TIME'10:00:00' + INTERVAL 1 SECOND", "time"),
        ]);
    }

    #[test]
    fn differences() {
        check(&[
            ("TIMESTAMPDIFF(MONTH, '2003-02-01', '2003-05-01')", "3"),
            ("TIMESTAMPDIFF(YEAR, '2002-05-01', '2001-01-01')", "-1"),
            ("TIMESTAMPDIFF(MINUTE, '2003-02-01', '2003-05-01 12:05:55')", "128885"),
            ("TIMESTAMPDIFF(MONTH, '2024-01-31', '2024-02-29')", "0"),
            ("TIMESTAMPDIFF(DAY, '2024-01-31 12:00:00', '2024-02-01 11:59:59')", "0"),
            ("TIMESTAMPDIFF(MICROSECOND, '2024-01-31', '2024-01-31 00:00:01.000001')", "1000001"),
            ("TIMESTAMPDIFF(DAY, 'x', '2024-01-31')", "NULL !1292"),
            ("DATEDIFF('2007-12-31 23:59:59', '2007-12-30')", "1"),
            ("DATEDIFF('2010-11-30 23:59:59', '2010-12-31')", "-31"),
            ("TIMEDIFF('2000-01-01 00:00:00', '2000-01-01 00:00:00.000001')", "-00:00:00.000001"),
            ("TIMEDIFF('2008-12-31 23:59:59.000001', '2008-12-30 01:01:01.000002')", "46:58:57.999999"),
            ("TIMEDIFF('10:00:00', '2000-01-01 00:00:00')", "NULL"),
            ("TIMEDIFF('10:00:00', '09:59:59')", "00:00:01"),
            ("TIMEDIFF('2000-01-01 00:00:00', '1990-01-01 00:00:00')", "838:59:59 !1292"),
            ("ADDTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002')", "2008-01-02 01:01:01.000001"),
            ("ADDTIME('01:59:59.999999', '02:00:00.999998')", "04:00:00.999997"),
            ("ADDTIME('10:00:00', '2000-01-01 00:00:00')", "NULL"),
            ("ADDTIME(TIME'800:00:00', '100:00:00')", "838:59:59 !1292"),
            ("ADDTIME(DATE'2021-01-01', '01:01:01')", "2021-01-01 01:01:01"),
            ("SUBTIME(DATE'2021-01-01', TIME'01:00:00.5')", "2020-12-31 22:59:59.5"),
            ("ADDTIME('2021-01-01', '01:01:01')", "01:21:22 !1292"),
            ("SUBTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002')", "2007-12-30 22:58:58.999997"),
            ("SUBTIME('01:00:00', '02:00:00')", "-01:00:00"),
            ("ADDTIME(TIMESTAMP'2007-12-31 23:59:59', '1')", "2008-01-01 00:00:00"),
            ("TIMESTAMP('2003-12-31')", "2003-12-31 00:00:00"),
            ("TIMESTAMP('2003-12-31 12:00:00', '12:00:00')", "2004-01-01 00:00:00"),
            ("TIMESTAMP('2003-12-31 12:00:00.5', '12:00:00.25')", "2004-01-01 00:00:00.75"),
            ("PERIOD_ADD(200801, 2)", "200803"),
            ("PERIOD_ADD(9801, -13)", "199612"),
            ("PERIOD_DIFF(200802, 200703)", "11"),
            ("PERIOD_ADD(13, 1)", "ERROR 1210"),
            ("PERIOD_DIFF(-1, 200703)", "ERROR 1210"),
        ]);
    }
}
