//! Any value as a date or time.

use super::{Context, shown, to_text, utf8_text};
use crate::TypeId;
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::{Result, SqlError};
use crate::mode::SqlMode;
use crate::sql_err;
use crate::temporal::{
    Date, DateFlags, DateTime, Delimiter, ParsedDateTime, ParsedTime, Time, number_to_datetime, number_to_time,
    parse_datetime, parse_time_as, parse_time_as_datetime,
};
use crate::value::ValueRef;

/// The datetime of a value that is not text, or of text, without warnings: `None` if it is none. The `u8` is its
/// fraction digits.
pub(super) fn read_datetime(v: ValueRef<'_>, flags: DateFlags, cx: &Context<'_>) -> Option<ParsedDateTime> {
    let flags = DateFlags { cut_fractions: cuts_fractions(cx.mode), ..flags };
    let plain = |value: DateTime, date_only, fsp| {
        let (truncated, offset, deprecated) = (false, None, None);
        ParsedDateTime { value, date_only, fsp, truncated, offset, deprecated }
    };
    let parsed = match v {
        ValueRef::DateTime(d, fsp) => plain(d, false, fsp),
        ValueRef::Date(d) => plain(d.to_datetime(), true, 0),
        ValueRef::Timestamp(t, fsp) => plain(t.to_local(cx.zone), false, fsp),
        ValueRef::Time(t, fsp) => {
            let micros = cx.today.to_datetime().to_micros() + t.to_micros();
            plain(DateTime::from_micros(micros)?, false, fsp)
        }
        ValueRef::Json(stored) => return read_datetime(super::json::temporal(stored)?.as_ref(), flags, cx),
        ValueRef::Str(text, c) => {
            return parse_datetime(&c.charset().narrow(text), flags)?.shown_in(cx.zone);
        }
        ValueRef::Int(n) => number_to_datetime(n, flags)?,
        ValueRef::UInt(n) => number_to_datetime(i64::try_from(n).ok()?, flags)?,
        ValueRef::Year(y) => number_to_datetime(i64::from(y), flags)?,
        ValueRef::Enum(..) | ValueRef::Set(..) => {
            return read_datetime(ValueRef::Str(&to_text(&v), CollationId::UTF8MB4_BIN), flags, cx);
        }
        ValueRef::Decimal(d) => number_with_fraction(&d, flags)?,
        ValueRef::Double(d) => number_with_fraction(&Decimal::from_f64(d)?, flags)?,
        ValueRef::Float(d) => number_with_fraction(&Decimal::from_f64(f64::from(d))?, flags)?,
        _ => return None,
    };
    let d = parsed.value;
    // What is a date already may have been stored under ALLOW_INVALID_DATES.
    let typed = matches!(v, ValueRef::Date(_) | ValueRef::DateTime(..) | ValueRef::Timestamp(..));
    let flags = DateFlags { allow_invalid: flags.allow_invalid || typed, ..flags };
    flags.accepts(d.year(), d.month(), d.day()).then_some(parsed)
}

/// Whole part and microseconds: a million of them where the digits round up to the next second.
fn split_fraction(d: &Decimal, cut: bool) -> Option<(i64, u32)> {
    let whole = d.truncate(0)?;
    let fraction = d.checked_sub(&whole)?.abs();
    let micros = if cut { fraction.truncate(6) } else { fraction.round(6) }?.round(6)?.to_i128()?;
    Some((whole.to_i64().ok()?, micros as u32))
}

fn number_with_fraction(d: &Decimal, flags: DateFlags) -> Option<ParsedDateTime> {
    if d.is_negative() {
        return None;
    }
    let (whole, micros) = split_fraction(d, flags.cut_fractions)?;
    let mut p = number_to_datetime(whole, flags)?;
    p.fsp = d.scale().min(6);
    if !p.date_only {
        let v = p.value;
        let at = |micros| DateTime::new(v.year(), v.month(), v.day(), v.hour(), v.minute(), v.second(), micros);
        p.value = if micros < 1_000_000 { at(micros) } else { at(999_999).round(0, false)? };
    }
    Some(p)
}

/// The value as a DATETIME with its fraction digits; `None` (with warning 1292) if it is none, or for NULL (without).
pub fn to_datetime(v: ValueRef<'_>, flags: DateFlags, cx: &mut Context<'_>) -> Result<Option<(DateTime, u8)>> {
    if v.is_null() {
        return Ok(None);
    }
    let Some(p) = read_datetime(v, flags, cx) else {
        cx.incorrect("datetime", v)?;
        return Ok(None);
    };
    if p.truncated {
        cx.truncated(p.named(), v)?;
    }
    tell_delimiter(p.deprecated, v, 1, cx);
    Ok(Some((p.value, p.fsp)))
}

/// A constant compared with a value of a date type, `wanted` is that type's name: text that is no date is error 1525.
///
/// `first`: has nothing been told of this text yet?
pub fn constant_datetime(
    v: ValueRef<'_>,
    wanted: &str,
    first: impl FnOnce(&str) -> bool,
    cx: &mut Context<'_>,
) -> Result<(DateTime, u8)> {
    let Some(p) = read_datetime(v, DateFlags::from_mode(cx.mode), cx) else {
        return Err(no_date(v, wanted));
    };
    if (p.truncated || p.deprecated.is_some()) && first(&String::from_utf8_lossy(&to_text(&v))) {
        if p.truncated {
            cx.truncated("datetime", v)?;
        }
        tell_delimiter(p.deprecated, v, 1, cx);
    }
    Ok((p.value, p.fsp))
}

fn no_date(v: ValueRef<'_>, wanted: &str) -> SqlError {
    sql_err!(WrongValue, wanted, String::from_utf8_lossy(&utf8_text(&v)))
}

/// Warns of a text that is compared with dates or times and is none as a whole (1292): beside a column as if it were
/// stored there. One that is no date at all is error 1525.
pub fn tell_date_text(v: ValueRef<'_>, with: TypeId, column: Option<&str>, cx: &mut Context<'_>) -> Result<()> {
    let (what, wanted) = match with {
        TypeId::Date => ("date", "DATE"),
        TypeId::DateTime => ("datetime", "DATETIME"),
        TypeId::Timestamp => ("datetime", "TIMESTAMP"),
        TypeId::Time => ("time", "TIME"),
        _ => return Ok(()),
    };
    let (none, partly, deprecated) = if with == TypeId::Time {
        let time = read_time(v, cx);
        // Rows tell of deprecated delimiters: they compare the text itself.
        (false, time.is_none_or(|t| t.truncated || t.out_of_range), None)
    } else {
        let date = read_datetime(v, DateFlags::from_mode(cx.mode), cx);
        (date.is_none(), date.is_none_or(|d| d.truncated), date.and_then(|d| d.deprecated))
    };
    tell_delimiter(deprecated, v, 1, cx);
    if partly {
        match column {
            Some(column) => cx.incorrect_for(what, v, column)?,
            None => cx.truncated(what, v)?,
        }
    }
    if none { Err(no_date(v, wanted)) } else { Ok(()) }
}

/// Warns of a number that is compared with a column of dates or times and is none (1292): zero is one, and a day that
/// its month does not have.
pub fn tell_date_number(v: ValueRef<'_>, id: TypeId, column: &str, cx: &mut Context<'_>) -> Result<()> {
    let flags = DateFlags { no_zero_date: false, allow_invalid: true, ..DateFlags::from_mode(cx.mode) };
    let zero = matches!(v, ValueRef::Int(0) | ValueRef::UInt(0));
    let (what, fits) = match id {
        TypeId::Date => ("date", read_datetime(v, flags, cx).is_some()),
        TypeId::DateTime | TypeId::Timestamp => ("datetime", read_datetime(v, flags, cx).is_some()),
        TypeId::Time => ("time", read_time(v, cx).is_some_and(|t| !t.out_of_range)),
        _ => return Ok(()),
    };
    if fits || zero || v.is_null() {
        return Ok(());
    }
    cx.incorrect_for(what, v, column)
}

/// A constant bound of BETWEEN for values of a date type: text that is no date is the zero date, with warning 1292 if
/// `tell`.
pub fn bound_datetime(v: ValueRef<'_>, wanted: &str, tell: bool, cx: &mut Context<'_>) -> Result<(DateTime, u8)> {
    let Some(p) = read_datetime(v, DateFlags::from_mode(cx.mode), cx) else {
        if tell {
            cx.truncated(wanted, v)?;
        }
        return Ok((DateTime::ZERO, 0));
    };
    if tell {
        if p.truncated {
            cx.truncated(wanted, v)?;
        }
        tell_delimiter(p.deprecated, v, 1, cx);
    }
    Ok((p.value, p.fsp))
}

/// The value as a DATE: its time is dropped. As [`to_datetime`] else.
pub fn to_date(v: ValueRef<'_>, flags: DateFlags, cx: &mut Context<'_>) -> Result<Option<Date>> {
    if v.is_null() {
        return Ok(None);
    }
    let Some(p) = read_datetime(v, flags, cx) else {
        cx.incorrect("date", v)?;
        return Ok(None);
    };
    if p.truncated {
        cx.truncated("date", v)?;
    }
    tell_delimiter(p.deprecated, v, 1, cx);
    Ok(Some(p.value.date()))
}

pub(super) fn read_time(v: ValueRef<'_>, cx: &Context<'_>) -> Option<ParsedTime> {
    let cut = cuts_fractions(cx.mode);
    let plain = |value, fsp| ParsedTime { value, fsp, truncated: false, out_of_range: false, deprecated: None };
    Some(match v {
        ValueRef::Time(t, fsp) => plain(t, fsp),
        ValueRef::DateTime(d, fsp) => plain(d.time(), fsp),
        ValueRef::Timestamp(t, fsp) => plain(t.to_local(cx.zone).time(), fsp),
        ValueRef::Date(_) => plain(Time::ZERO, 0),
        ValueRef::Json(stored) => return read_time(super::json::temporal(stored)?.as_ref(), cx),
        ValueRef::Str(text, c) => return time_of_text(&c.charset().narrow(text), cut, cx),
        ValueRef::Enum(..) | ValueRef::Set(..) => return parse_time_as(&to_text(&v), cut),
        ValueRef::Int(n) => number_to_time(n)?,
        ValueRef::UInt(n) => number_to_time(i64::try_from(n).unwrap_or(i64::MAX))?,
        ValueRef::Year(y) => number_to_time(i64::from(y))?,
        ValueRef::Decimal(d) => time_with_fraction(&d, cut)?,
        ValueRef::Double(d) => time_with_fraction(&Decimal::from_f64(d)?, cut)?,
        ValueRef::Float(d) => time_with_fraction(&Decimal::from_f64(f64::from(d))?, cut)?,
        _ => return None,
    })
}

/// A datetime that names its offset is the time of the session's zone.
fn time_of_text(text: &[u8], cut: bool, cx: &Context<'_>) -> Option<ParsedTime> {
    let time = parse_time_as(text, cut)?;
    match parse_time_as_datetime(text) {
        Some(at) if at.offset.is_some() => Some(ParsedTime { value: at.shown_in(cx.zone)?.value.time(), ..time }),
        _ => Some(time),
    }
}

fn time_with_fraction(d: &Decimal, cut: bool) -> Option<ParsedTime> {
    let Some((whole, micros)) = split_fraction(d, cut) else {
        return number_to_time(if d.is_negative() { i64::MIN } else { i64::MAX });
    };
    let mut p = number_to_time(whole)?;
    if !p.out_of_range {
        let sign = if d.is_negative() { -1 } else { 1 };
        p.value = Time::from_micros(p.value.to_micros() + sign * i64::from(micros));
        p.fsp = d.scale().min(6);
    }
    Some(p)
}

/// The value as a TIME with its fraction digits; `None` (with warning 1292) if it is none, or for NULL (without). Out
/// of range text gives the limit with a warning, a number NULL.
pub fn to_time(v: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Option<(Time, u8)>> {
    if v.is_null() {
        return Ok(None);
    }
    let Some(p) = read_time(v, cx) else {
        cx.truncated("time", v)?;
        return Ok(None);
    };
    if p.truncated || p.out_of_range {
        cx.truncated("time", v)?;
    }
    tell_delimiter(p.deprecated, v, 1, cx);
    // A text is brought into range, a number is none.
    let text = matches!(v, ValueRef::Str(..) | ValueRef::Enum(..) | ValueRef::Set(..) | ValueRef::Json(_));
    Ok((text || !p.out_of_range).then_some((p.value, p.fsp)))
}

/// Warns of a delimiter that is taken and deprecated (4095, 4096): in strict mode, too.
pub(super) fn tell_delimiter(found: Option<Delimiter>, v: ValueRef<'_>, row: u64, cx: &mut Context<'_>) {
    if let Some(found) = found {
        cx.warnings.push(found.warning(&shown(v), row));
    }
}

/// Does `sql_mode` cut fractions instead of rounding them?
pub(super) fn cuts_fractions(mode: SqlMode) -> bool {
    mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL)
}
