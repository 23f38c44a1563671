//! Parts of dates and times.

use super::{Moment, date_type, datetime_arg, moment_arg, time_arg, unit_of};
use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules,
};
use gannet_types::{
    Date, DateTime, Result, SqlType, Time, Value,
    temporal::{self, DateFlags, IntervalUnit, to_days, weekday},
};

/// A number of so many characters, one of them the sign: so AVG() and the like find room for all of its digits.
fn part_rule<const WIDTH: u32>(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(WIDTH, true))
}

fn int(value: Option<i64>) -> Result<Value> {
    Ok(value.map_or(Value::Null, Value::Int))
}

macro_rules! parts {
    ($($eval:ident $argument:ident($flags:expr) $part:expr;)*) => {$(
        fn $eval(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
            let part: fn(DateTime) -> i64 = $part;
            int($argument(cx, &args[0], $flags)?.map(part))
        }
    )*};
}

parts! {
    year datetime_arg(DateFlags::LAX) |d| i64::from(d.year());
    month datetime_arg(DateFlags::LAX) |d| i64::from(d.month());
    quarter datetime_arg(DateFlags::LAX) |d| i64::from(d.month().div_ceil(3));
    day datetime_arg(DateFlags::LAX) |d| i64::from(d.day());
    day_of_week datetime_arg(DateFlags::STRICT) |d| i64::from((weekday(d.date().days()) + 1) % 7 + 1);
    day_of_year datetime_arg(DateFlags::STRICT) |d| d.date().days() - to_days(d.year(), 1, 1) + 1;
    week_day datetime_arg(DateFlags::STRICT) |d| i64::from(weekday(d.date().days()));
    week_of_year datetime_arg(DateFlags::STRICT) |d| i64::from(temporal::week(d.date(), 3));
    days datetime_arg(DateFlags::STRICT) |d| d.date().days();
    seconds datetime_arg(DateFlags::STRICT) |d| d.to_micros() / 1_000_000;
}

macro_rules! time_parts {
    ($($eval:ident $part:expr;)*) => {$(
        fn $eval(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
            let part: fn(Time) -> i64 = $part;
            int(time_arg(cx, &args[0])?.map(part))
        }
    )*};
}

time_parts! {
    hour |t| i64::from(t.hour());
    minute |t| i64::from(t.minute());
    second |t| i64::from(t.second());
    microsecond |t| i64::from(t.micros());
    time_to_sec |t| if t.is_negative() { -t.whole_seconds() } else { t.whole_seconds() };
}

/// The mode argument of WEEK and YEARWEEK; MySQL takes NULL for 0.
fn mode_arg(cx: &mut EvalContext<'_>, args: &[Value], default: u32) -> Result<u32> {
    match args.get(1) {
        Some(Value::Null) => Ok(0),
        Some(mode) => Ok((rules::int_arg(cx, mode)? & 7) as u32),
        None => Ok(default),
    }
}

fn week(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mode = mode_arg(cx, args, u32::from(cx.default_week_format))?;
    int(datetime_arg(cx, &args[0], DateFlags::STRICT)?.map(|d| i64::from(temporal::week(d.date(), mode))))
}

fn yearweek(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mode = mode_arg(cx, args, 0)?;
    int(datetime_arg(cx, &args[0], DateFlags::STRICT)?.map(|d| i64::from(temporal::yearweek(d.date(), mode))))
}

fn name_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    // Of the longest name.
    Ok(rules::ascii_type(cx, if cx.locale.is_english() { 9 } else { 24 }, true))
}

fn day_name(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let date = datetime_arg(cx, &args[0], DateFlags::STRICT)?;
    let name = date.and_then(|d| cx.locale.weekday(weekday(d.date().days()), false));
    Ok(name.map_or(Value::Null, |name| super::text_value(call, name.as_bytes())))
}

fn month_name(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let date = datetime_arg(cx, &args[0], DateFlags::LAX)?;
    let name = date.and_then(|d| cx.locale.month(d.month(), false));
    Ok(name.map_or(Value::Null, |name| super::text_value(call, name.as_bytes())))
}

fn date_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(date_type())
}

/// The day may be zero, the month not.
fn last_day(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let date = datetime_arg(cx, &args[0], DateFlags::LAX)?;
    Ok(date.and_then(|d| d.date().last_day()).map_or(Value::Null, Value::Date))
}

fn extract_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    use IntervalUnit as U;
    let width = match unit_of(args[0].constant)? {
        U::Quarter => 2,
        U::Month | U::Week | U::Day | U::Minute | U::Second => 3,
        U::Hour => 4,
        U::Year | U::MinuteSecond => 5,
        U::HourMinute => 6,
        U::YearMonth | U::Microsecond => 7,
        U::HourSecond => 8,
        U::DayHour | U::SecondMicrosecond => 9,
        U::DayMinute | U::MinuteMicrosecond => 11,
        U::DaySecond => 13,
        U::HourMicrosecond => 14,
        U::DayMicrosecond => 20,
    };
    Ok(rules::int_of(width, true))
}

/// Numbers written one behind the other, two digits each (six for microseconds): `1 02:03` in DAY_MINUTE is 10203.
fn extract(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    use IntervalUnit as U;
    let unit = unit_of(args.first())?;
    if matches!(unit, U::Year | U::YearMonth | U::Quarter | U::Month | U::Week | U::Day) {
        let date = datetime_arg(cx, &args[1], DateFlags::LAX)?;
        let mode = u32::from(cx.default_week_format);
        return int(date.map(|d| {
            i64::from(match unit {
                U::Year => d.year(),
                U::YearMonth => d.year() * 100 + d.month(),
                U::Quarter => d.month().div_ceil(3),
                U::Month => d.month(),
                U::Week => temporal::week(d.date(), mode),
                _ => d.day(),
            })
        }));
    }
    let (day, time) = match moment_arg(cx, &args[1])? {
        None => return Ok(Value::Null),
        Some(Moment::DateTime(d)) => (i64::from(d.day()), d.time()),
        Some(Moment::Time(t)) => (0, t),
    };
    let (h, m, s) = (i64::from(time.hour()), i64::from(time.minute()), i64::from(time.second()));
    let us = i64::from(time.micros());
    let value = match unit {
        U::Hour => h,
        U::Minute => m,
        U::Second => s,
        U::Microsecond => us,
        U::DayHour => day * 100 + h,
        U::DayMinute => day * 10_000 + h * 100 + m,
        U::DaySecond => day * 1_000_000 + h * 10_000 + m * 100 + s,
        U::DayMicrosecond => (day * 1_000_000 + h * 10_000 + m * 100 + s) * 1_000_000 + us,
        U::HourMinute => h * 100 + m,
        U::HourSecond => h * 10_000 + m * 100 + s,
        U::HourMicrosecond => (h * 10_000 + m * 100 + s) * 1_000_000 + us,
        U::MinuteSecond => m * 100 + s,
        U::MinuteMicrosecond => (m * 100 + s) * 1_000_000 + us,
        _ => s * 1_000_000 + us,
    };
    Ok(Value::Int(if time.is_negative() { -value } else { value }))
}

fn date(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let date = datetime_arg(cx, &args[0], DateFlags::LAX)?;
    Ok(date.map_or(Value::Null, |d| Value::Date(Date::new(d.year(), d.month(), d.day()))))
}

fn time_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(super::time_type(rules::fsp_of(&args[0])))
}

fn time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match time_arg(cx, &args[0])? {
        Some(time) => super::time_value(cx, time, call.ty.scale),
        None => Ok(Value::Null),
    }
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("YEAR", 1, 1, part_rule::<5>, year, "Year of a date."),
    FunctionDef::new("QUARTER", 1, 1, part_rule::<2>, quarter, "Quarter of a date."),
    FunctionDef::new("MONTH", 1, 1, part_rule::<3>, month, "Month of a date."),
    FunctionDef::new("DAYOFMONTH", 1, 1, part_rule::<3>, day, "Day of the month.").also(&["DAY"]),
    FunctionDef::new("DAYOFWEEK", 1, 1, part_rule::<2>, day_of_week, "Day of the week, Sunday is 1."),
    FunctionDef::new("WEEKDAY", 1, 1, part_rule::<2>, week_day, "Day of the week, Monday is 0."),
    FunctionDef::new("DAYOFYEAR", 1, 1, part_rule::<4>, day_of_year, "Day of the year."),
    FunctionDef::new("WEEK", 1, 2, part_rule::<3>, week, "Week of the year, by a mode.")
        .numbers_at(&[1])
        .sees_null()
        .is(Stability::Statement),
    FunctionDef::new("WEEKOFYEAR", 1, 1, part_rule::<3>, week_of_year, "Week of the year by ISO 8601."),
    FunctionDef::new("YEARWEEK", 1, 2, part_rule::<7>, yearweek, "Year and week, by a mode.")
        .numbers_at(&[1])
        .sees_null(),
    FunctionDef::new("HOUR", 1, 1, part_rule::<4>, hour, "Hours of a time."),
    FunctionDef::new("MINUTE", 1, 1, part_rule::<3>, minute, "Minutes of a time."),
    FunctionDef::new("SECOND", 1, 1, part_rule::<3>, second, "Seconds of a time."),
    FunctionDef::new("MICROSECOND", 1, 1, part_rule::<21>, microsecond, "Microseconds of a time."),
    FunctionDef::new("TO_DAYS", 1, 1, part_rule::<8>, days, "Days since year 0."),
    FunctionDef::new("TO_SECONDS", 1, 1, part_rule::<21>, seconds, "Seconds since year 0."),
    FunctionDef::new("TIME_TO_SEC", 1, 1, part_rule::<10>, time_to_sec, "Seconds of a time as a whole."),
    FunctionDef::new("DAYNAME", 1, 1, name_rule, day_name, "Name of the day of the week.").names_dates(),
    FunctionDef::new("MONTHNAME", 1, 1, name_rule, month_name, "Name of the month.").names_dates(),
    FunctionDef::new("LAST_DAY", 1, 1, date_rule, last_day, "Last day of the date's month."),
    FunctionDef::new("EXTRACT", 2, 2, extract_rule, extract, "A part, or several, of a date or time.")
        .is(Stability::Statement),
    FunctionDef::new("DATE", 1, 1, date_rule, date, "Date of a datetime."),
    FunctionDef::new("TIME", 1, 1, time_rule, time, "Time of a datetime."),
];

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_types};

    #[test]
    fn of_dates() {
        check(&[
            ("YEAR('1987-01-01')", "1987"),
            ("YEAR('0000-00-00')", "0"),
            ("YEAR('abc')", "NULL !1292"),
            ("YEAR(20240305)", "2024"),
            ("YEAR(TIME'10:00:00')", "2024"),
            ("QUARTER('2008-04-01')", "2"),
            ("QUARTER('2008-00-01')", "0"),
            ("MONTH('2008-00-00')", "0"),
            ("DAYOFMONTH('2007-02-03')", "3"),
            ("DAY('2007-02-30')", "NULL !1292"),
            ("DAYOFWEEK('2007-02-03')", "7"),
            ("DAYOFWEEK('2007-00-03')", "NULL !1292"),
            ("DAYOFWEEK(DATE'2007-00-03')", "NULL"),
            ("DAYOFYEAR('2007-02-03')", "34"),
            ("WEEKDAY('2008-02-03 22:23:00')", "6"),
            ("WEEKDAY('2007-11-06')", "1"),
            ("WEEK('2008-02-20')", "7"),
            ("WEEK('2008-02-20', 0)", "7"),
            ("WEEK('2008-02-20', 1)", "8"),
            ("WEEK('2008-12-31', 1)", "53"),
            ("WEEK('2000-01-01', 0)", "0"),
            ("WEEK('2000-01-01', 2)", "52"),
            ("WEEKOFYEAR('2008-02-20')", "8"),
            ("YEARWEEK('1987-01-01')", "198652"),
            ("YEARWEEK('2000-01-01', 1)", "199952"),
            ("TO_DAYS(950501)", "728779"),
            ("TO_DAYS('2007-10-07')", "733321"),
            ("TO_DAYS('0000-00-00')", "NULL !1292"),
            ("TO_DAYS('0000-01-01')", "1"),
            ("TO_SECONDS(950501)", "62966505600"),
            ("TO_SECONDS('2009-11-29 13:43:32')", "63426721412"),
            ("DAYNAME('2007-02-03')", "Saturday"),
            ("MONTHNAME('2008-02-03')", "February"),
            ("MONTHNAME('2008-00-03')", "NULL"),
            ("LAST_DAY('2003-02-05')", "2003-02-28"),
            ("LAST_DAY('2004-02-05')", "2004-02-29"),
            ("LAST_DAY('2004-01-01 01:01:01')", "2004-01-31"),
            ("LAST_DAY('2003-03-32')", "NULL !1292"),
            ("LAST_DAY('2003-00-00')", "NULL"),
            ("DATE('2003-12-31 01:02:03')", "2003-12-31"),
            ("DATE('2003-00-00')", "2003-00-00"),
            ("DATE('')", "NULL !1292"),
            ("TIME('2003-12-31 01:02:03')", "01:02:03"),
            ("TIME('2003-12-31 01:02:03.000123')", "01:02:03.000123"),
            ("TIME('900:00:00')", "838:59:59 !1292"),
            ("TIME(NULL)", "NULL"),
        ]);
    }

    #[test]
    fn of_times() {
        check(&[
            ("HOUR('10:05:03')", "10"),
            ("HOUR('272:59:59')", "272"),
            ("HOUR('-10:05:03')", "10"),
            ("MINUTE('2008-02-03 10:05:03')", "5"),
            ("SECOND('10:05:03')", "3"),
            ("MICROSECOND('12:00:00.123456')", "123456"),
            ("MICROSECOND('2019-12-31 23:59:59.000010')", "10"),
            ("TIME_TO_SEC('22:23:00')", "80580"),
            ("TIME_TO_SEC('-00:39:38')", "-2378"),
            ("EXTRACT(YEAR FROM '2019-07-02')", "2019"),
            ("EXTRACT(YEAR_MONTH FROM '2019-07-02 01:02:03')", "201907"),
            ("EXTRACT(DAY_MINUTE FROM '2019-07-02 01:02:03')", "20102"),
            ("EXTRACT(MICROSECOND FROM '2003-01-02 10:30:00.000123')", "123"),
            ("EXTRACT(HOUR FROM '-10:11:12')", "-10"),
            ("EXTRACT(DAY_HOUR FROM '49:00:00')", "49"),
            ("EXTRACT(SECOND_MICROSECOND FROM '10:11:12.5')", "12500000"),
            ("EXTRACT(QUARTER FROM '2019-07-02')", "3"),
            ("EXTRACT(WEEK FROM '2008-02-20')", "7"),
            ("EXTRACT(DAY FROM NULL)", "NULL"),
            ("EXTRACT(DAY_SECOND FROM TIMESTAMP'2019-07-02 01:02:03')", "2010203"),
        ]);
        check_types(&[
            ("YEAR('2000-01-01')", "bigint(5)"),
            ("TIME('01:02:03.12')", "time(2)"),
            ("LAST_DAY('2000-01-01')", "date"),
        ]);
    }
}
