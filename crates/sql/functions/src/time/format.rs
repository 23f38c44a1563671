//! Dates and times as text, and back.

use super::{date_type, datetime_arg, datetime_type, text_value, time_arg, time_type, utf8};
use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules,
};
use gannet_types::{
    DateTime, ErrorCode, Result, SqlType, Time, TypeId, Value,
    temporal::{DateFlags, DateParts, date_format, str_to_date_until, time_format},
};

/// Characters that one of a format may become.
const CHARS_OF_ONE: u64 = 10;

pub(super) fn format_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let chars = rules::chars_of(args[1].ty).saturating_mul(CHARS_OF_ONE);
    Ok(rules::ascii_type(cx, chars, true))
}

/// NULL for an empty format, or one that needs parts which are zero.
pub(super) fn formatted(cx: &EvalContext<'_>, call: Call<'_>, t: DateTime, format: &Value) -> Value {
    let format = utf8(format);
    let mut text = Vec::new();
    if format.is_empty() || !date_format(t, &format, cx.locale, &mut text) {
        return Value::Null;
    }
    text_value(call, &text)
}

fn date_format_(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let date = datetime_arg(cx, &args[0], DateFlags::LAX)?;
    Ok(date.map_or(Value::Null, |t| formatted(cx, call, t, &args[1])))
}

fn time_format_(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(time) = time_arg(cx, &args[0])? else { return Ok(Value::Null) };
    let format = utf8(&args[1]);
    let mut text = Vec::new();
    if format.is_empty() || !time_format(time, &format, &mut text) {
        return Ok(Value::Null);
    }
    Ok(text_value(call, &text))
}

fn str_to_date_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let Some(format) = args[1].constant else { return Ok(datetime_type(6)) };
    let parts = DateParts::of(&utf8(format));
    let fsp = if parts.micros { 6 } else { 0 };
    Ok(match (parts.date, parts.time) {
        (true, true) => datetime_type(fsp),
        (false, true) => time_type(fsp),
        _ => date_type(),
    })
}

/// NULL with warning 1411 where the text does not match, or the SQL mode refuses the date.
fn str_to_date_(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (text, format) = (utf8(&args[0]), utf8(&args[1]));
    let with_date = call.ty.id != TypeId::Time;
    let mode = DateFlags::from_mode(cx.sql_mode);
    let refused = |t: &DateTime| with_date && mode.no_zero_date && (t.year() == 0 || t.month() == 0 || t.day() == 0);
    let found = str_to_date_until(&text, &format, cx.stopped).filter(|(t, _)| !refused(t));
    let Some((value, more)) = found else {
        rules::check_interrupt(cx)?;
        return rules::wrong_value(cx, "datetime", text.as_bytes(), "str_to_date");
    };
    if more {
        let kind = match call.ty.id {
            TypeId::Date => "date",
            TypeId::Time => "time",
            _ => "datetime",
        };
        cx.conversion().warn(ErrorCode::TruncatedWrongValue, &[&kind, &text])?;
    }
    Ok(match call.ty.id {
        TypeId::Date => Value::Date(value.date()),
        TypeId::Time => {
            let time = value.time().to_micros() + i64::from(value.day()) * 86_400_000_000;
            Value::Time(Time::from_micros(time).clamp().0, call.ty.scale)
        }
        _ => Value::DateTime(value, call.ty.scale),
    })
}

fn get_format_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::ascii_type(cx, 17, true))
}

fn get_format(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let region = utf8(&args[1]).to_ascii_uppercase();
    let format = match (utf8(&args[0]).as_str(), region.as_str()) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("DATETIME", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME", "INTERNAL") => "%Y%m%d%H%i%s",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        _ => return Ok(Value::Null),
    };
    Ok(rules::string(call, format))
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("DATE_FORMAT", 2, 2, format_rule, date_format_, "Date in a format.")
        .made_of(|i| i == 1)
        .names_dates(),
    FunctionDef::new("TIME_FORMAT", 2, 2, format_rule, time_format_, "Time in a format.").made_of(|i| i == 1),
    FunctionDef::new(
        "STR_TO_DATE",
        2,
        2,
        str_to_date_rule,
        str_to_date_,
        "Date, time or datetime from text in a format.",
    ),
    FunctionDef::new("GET_FORMAT", 2, 2, get_format_rule, get_format, "A usual format of a region."),
];

#[cfg(test)]
mod tests {
    use crate::testing::{Evaluator, check, check_in, check_types};
    use gannet_types::SqlMode;

    #[test]
    fn formats() {
        check(&[
            ("DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y')", "Sunday October 2009"),
            ("DATE_FORMAT('2007-10-04 22:23:00', '%H:%i:%s')", "22:23:00"),
            ("DATE_FORMAT('1900-10-04 22:23:00', '%D %y %a %d %m %b %j')", "4th 00 Thu 04 10 Oct 277"),
            ("DATE_FORMAT('1997-10-04 22:23:00', '%H %k %I %r %T %S %w')", "22 22 10 10:23:00 PM 22:23:00 00 6"),
            ("DATE_FORMAT('1999-01-01', '%X %V')", "1998 52"),
            ("DATE_FORMAT('2006-06-00', '%d')", "00"),
            ("DATE_FORMAT('2006-00-01', '%M')", "NULL"),
            ("DATE_FORMAT('2006-06-01', '')", "NULL"),
            ("DATE_FORMAT('2006-06-01', 'ä%%%')", "ä%%"),
            ("DATE_FORMAT('x', '%d')", "NULL !1292"),
            ("TIME_FORMAT('100:00:00', '%H %k %h %I %l')", "100 100 04 04 4"),
            ("TIME_FORMAT('-10:00:00', '%H')", "-10"),
            ("TIME_FORMAT('10:00:00', '%M')", "NULL"),
            ("GET_FORMAT(DATE, 'EUR')", "%d.%m.%Y"),
            ("GET_FORMAT(DATETIME, 'usa')", "%Y-%m-%d %H.%i.%s"),
            ("GET_FORMAT(TIME, 'x')", "NULL"),
            ("DATE_FORMAT('2003-10-03', GET_FORMAT(DATE, 'EUR'))", "03.10.2003"),
        ]);
    }

    #[test]
    fn readings() {
        check(&[
            ("STR_TO_DATE('01,5,2013', '%d,%m,%Y')", "2013-05-01"),
            ("STR_TO_DATE('May 1, 2013', '%M %d,%Y')", "2013-05-01"),
            ("STR_TO_DATE('a09:30:17', 'a%h:%i:%s')", "09:30:17"),
            ("STR_TO_DATE('a09:30:17', '%h:%i:%s')", "NULL !1411"),
            ("STR_TO_DATE('09:30:17a', '%h:%i:%s')", "09:30:17 !1292"),
            ("STR_TO_DATE('abc', 'abc')", "NULL !1411"),
            ("STR_TO_DATE('9', '%m')", "NULL !1411"),
            ("STR_TO_DATE('9', '%s')", "00:00:09"),
            ("STR_TO_DATE('00/00/0000', '%m/%d/%Y')", "NULL !1411"),
            ("STR_TO_DATE('04/31/2004', '%m/%d/%Y')", "2004-04-31"),
            ("STR_TO_DATE('200442 Monday', '%X%V %W')", "2004-10-18"),
            ("STR_TO_DATE('2024-01-02 10:11:12.5', '%Y-%m-%d %H:%i:%s.%f')", "2024-01-02 10:11:12.500000"),
            ("STR_TO_DATE('25:00', '%H:%i')", "NULL !1411"),
            ("STR_TO_DATE(NULL, '%H:%i')", "NULL"),
        ]);
        let mut lax = Evaluator { sql_mode: SqlMode::NONE, ..Evaluator::default() };
        check_in(
            &mut lax,
            &[
                ("STR_TO_DATE('00/00/0000', '%m/%d/%Y')", "0000-00-00"),
                ("STR_TO_DATE('9', '%m')", "0000-09-00"),
                ("STR_TO_DATE('abc', 'abc')", "0000-00-00"),
            ],
        );
        check_types(&[
            ("STR_TO_DATE('x', '%Y')", "date"),
            ("STR_TO_DATE('x', '%H %f')", "time(6)"),
            ("STR_TO_DATE('x', '%Y %H')", "datetime"),
            ("STR_TO_DATE('x', CONCAT('%', 'Y'))", "datetime(6)"),
        ]);
    }
}
