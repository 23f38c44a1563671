//! `DATE_FORMAT` and `TIME_FORMAT`; `STR_TO_DATE`, which knows English alone.

use super::{Date, DateTime, Locale, Time, calendar, days_in_month, from_days, to_days, week, write_digits, yearweek};
use crate::convert::{Stopped, never};

/// Characters of a format between two questions whether to stop.
const ASK_EVERY: u32 = 64 << 10;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From Monday.
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Appends `t` in a format, with the names of a language; `false` if the format needs a part that is zero (the result
/// is NULL then).
pub fn date_format(t: DateTime, format: &str, locale: &Locale, out: &mut Vec<u8>) -> bool {
    let date = t.date();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let mut plain = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        if c != '%' {
            plain(c);
            continue;
        }
        let Some(spec) = chars.next() else {
            plain('%');
            break;
        };
        let whole = t.month() > 0 || t.year() > 0;
        match spec {
            'M' | 'b' => {
                let Some(name) = locale.month(t.month(), spec == 'b') else { return false };
                out.extend_from_slice(name.as_bytes());
            }
            'W' | 'a' => {
                if !whole {
                    return false;
                }
                let Some(name) = locale.weekday(calendar::weekday(date.days()), spec == 'a') else { return false };
                out.extend_from_slice(name.as_bytes());
            }
            'D' => {
                write_digits(t.day(), 1, out);
                out.extend_from_slice(match t.day() {
                    11..=13 => b"th",
                    d if d % 10 == 1 => b"st",
                    d if d % 10 == 2 => b"nd",
                    d if d % 10 == 3 => b"rd",
                    _ => b"th",
                });
            }
            'Y' => write_digits(t.year(), 4, out),
            'y' => write_digits(t.year() % 100, 2, out),
            'm' => write_digits(t.month(), 2, out),
            'c' => write_digits(t.month(), 1, out),
            'd' => write_digits(t.day(), 2, out),
            'e' => write_digits(t.day(), 1, out),
            'j' => {
                if !whole {
                    return false;
                }
                write_digits((date.days() - to_days(t.year(), 1, 1) + 1).max(0) as u32, 3, out);
            }
            'U' => write_digits(week(date, 0), 2, out),
            'u' => write_digits(week(date, 1), 2, out),
            'V' => write_digits(week(date, 2), 2, out),
            'v' => write_digits(week(date, 3), 2, out),
            'X' => write_digits(yearweek(date, 2) / 100, 4, out),
            'x' => write_digits(yearweek(date, 3) / 100, 4, out),
            'w' => {
                if !whole {
                    return false;
                }
                write_digits((calendar::weekday(date.days()) + 1) % 7, 1, out);
            }
            _ => time_part(spec, t.hour(), t.time(), out),
        }
    }
    true
}

/// Appends `t` in a format of time parts; `false` if the format asks for a date's parts (the result is NULL then), but
/// for those that print as zeros.
pub fn time_format(t: Time, format: &str, out: &mut Vec<u8>) -> bool {
    let mut chars = format.chars();
    if t.is_negative() {
        out.push(b'-');
    }
    while let Some(c) = chars.next() {
        if c != '%' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next() {
            None => {
                out.push(b'%');
                break;
            }
            Some('M' | 'b' | 'W' | 'a' | 'D' | 'j' | 'U' | 'u' | 'V' | 'v' | 'X' | 'x' | 'w') => return false,
            Some('Y') => out.extend_from_slice(b"0000"),
            Some('y' | 'm' | 'd') => out.extend_from_slice(b"00"),
            Some('c' | 'e') => out.push(b'0'),
            Some(spec) => time_part(spec, t.hour(), t, out),
        }
    }
    true
}

fn time_part(spec: char, hour: u32, t: Time, out: &mut Vec<u8>) {
    let twelve = (hour % 24 + 11) % 12 + 1;
    let half = if hour % 24 < 12 { &b"AM"[..] } else { b"PM" };
    match spec {
        'H' => write_digits(hour, 2, out),
        'k' => write_digits(hour, 1, out),
        'h' | 'I' => write_digits(twelve, 2, out),
        'l' => write_digits(twelve, 1, out),
        'i' => write_digits(t.minute(), 2, out),
        'S' | 's' => write_digits(t.second(), 2, out),
        'f' => write_digits(t.micros(), 6, out),
        'p' => out.extend_from_slice(half),
        'r' | 'T' => {
            write_digits(if spec == 'r' { twelve } else { hour }, 2, out);
            out.push(b':');
            write_digits(t.minute(), 2, out);
            out.push(b':');
            write_digits(t.second(), 2, out);
            if spec == 'r' {
                out.push(b' ');
                out.extend_from_slice(half);
            }
        }
        other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// What a format of `STR_TO_DATE` yields: decides the result's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DateParts {
    pub date: bool,
    pub time: bool,
    pub micros: bool,
}

impl DateParts {
    pub fn of(format: &str) -> DateParts {
        let mut parts = DateParts::default();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                continue;
            }
            match chars.next() {
                Some('f') => (parts.micros, parts.time) = (true, true),
                Some('H' | 'k' | 'h' | 'I' | 'l' | 'i' | 'S' | 's' | 'p' | 'r' | 'T') => parts.time = true,
                Some('%') | None => {}
                Some(_) => parts.date = true,
            }
        }
        parts
    }
}

#[derive(Default)]
struct Scan {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    twelve: bool,
    pm: bool,
    year_day: Option<u32>,
    weekday: Option<u32>,
    week: Option<(u32, bool, bool)>,
    week_year: Option<u32>,
}

/// Reads `text` by a format. `None` if it does not match (the result is NULL with a warning). The flag tells that text
/// was left over. Days are not checked against the month; the caller applies its `DateFlags`.
pub fn str_to_date(text: &str, format: &str) -> Option<(DateTime, bool)> {
    str_to_date_until(text, format, never)
}

/// [`str_to_date`], given up (`None`) when `stopped` says so.
pub fn str_to_date_until(text: &str, format: &str, stopped: Stopped) -> Option<(DateTime, bool)> {
    let mut s = Scan::default();
    let rest = scan(text, format, &mut s, stopped)?;
    if s.twelve {
        if s.hour == 0 || s.hour > 12 {
            return None;
        }
        s.hour = s.hour % 12 + if s.pm { 12 } else { 0 };
    } else if s.pm {
        return None;
    }
    if let Some(n) = s.year_day.filter(|n| *n > 0) {
        let date = from_days(to_days(s.year, 1, 1) + i64::from(n) - 1)?;
        (s.year, s.month, s.day) = (date.year(), date.month(), date.day());
    }
    if let (Some((week, monday, strict)), Some(weekday)) = (s.week, s.weekday) {
        let date = week_date(&s, week, weekday, monday, strict)?;
        (s.year, s.month, s.day) = (date.year(), date.month(), date.day());
    }
    if s.month > 12 || s.day > 31 || s.hour > 23 || s.minute > 59 || s.second > 59 {
        return None;
    }
    let value = DateTime::new(s.year, s.month, s.day, s.hour, s.minute, s.second, s.micros);
    Some((value, !rest.trim_start().is_empty()))
}

/// The date of a week number and weekday (Monday 0). `strict`: `%V`/`%v`, whose year is `%X`/`%x`.
fn week_date(s: &Scan, week: u32, weekday: u32, monday: bool, strict: bool) -> Option<Date> {
    if week > 53 || (strict && (week == 0 || s.week_year.is_none())) || (!strict && s.week_year.is_some()) {
        return None;
    }
    let year = if strict { s.week_year? } else { s.year };
    let first = to_days(year, 1, 1);
    let first_weekday = i64::from(calendar::weekday(first));
    let base = if monday {
        first - first_weekday + if first_weekday <= 3 { 0 } else { 7 } + i64::from(weekday)
    } else {
        let sunday = (first_weekday + 1) % 7;
        first + if sunday == 0 { 0 } else { 7 } - sunday + i64::from((weekday + 1) % 7)
    };
    let days = base + (i64::from(week) - 1) * 7;
    (days > 0).then(|| from_days(days)).flatten()
}

fn scan<'t>(text: &'t str, format: &str, s: &mut Scan, stopped: Stopped) -> Option<&'t str> {
    let mut rest = text;
    let mut chars = format.chars();
    let mut steps = 0u32;
    while let Some(c) = chars.next() {
        steps += 1;
        if steps.is_multiple_of(ASK_EVERY) && stopped() {
            return None;
        }
        if c.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if rest.is_empty() {
            break;
        }
        if c != '%' {
            rest = rest.trim_start();
            rest = rest.strip_prefix(c)?;
            continue;
        }
        let spec = chars.next()?;
        if spec != '%' {
            rest = rest.trim_start();
        }
        rest = scan_one(spec, rest, s)?;
    }
    Some(rest)
}

fn scan_one<'t>(spec: char, rest: &'t str, s: &mut Scan) -> Option<&'t str> {
    let number = |max: usize| -> Option<(u32, &'t str, usize)> {
        let n = rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        Some((rest[..n].parse().ok()?, &rest[n..], n))
    };
    let name = |names: &[&str], len: Option<usize>| -> Option<(u32, &'t str)> {
        names.iter().enumerate().find_map(|(i, name)| {
            let name = &name[..len.unwrap_or(name.len())];
            let head = rest.get(..name.len())?;
            head.eq_ignore_ascii_case(name).then(|| (i as u32, &rest[name.len()..]))
        })
    };
    let mut set = |slot: fn(&mut Scan) -> &mut u32, max: usize| -> Option<&'t str> {
        let (v, rest, _) = number(max)?;
        *slot(s) = v;
        Some(rest)
    };
    let rest = match spec {
        'Y' | 'X' | 'x' => {
            let (v, rest, n) = number(4)?;
            let v = if n <= 2 { two_digit_year(v) } else { v };
            if spec == 'Y' {
                s.year = v
            } else {
                s.week_year = Some(v)
            }
            rest
        }
        'y' => {
            let (v, rest, _) = number(2)?;
            s.year = two_digit_year(v);
            rest
        }
        'm' | 'c' => set(|s| &mut s.month, 2)?,
        'd' | 'e' => set(|s| &mut s.day, 2)?,
        'H' | 'k' => set(|s| &mut s.hour, 2)?,
        'i' => set(|s| &mut s.minute, 2)?,
        'S' | 's' => set(|s| &mut s.second, 2)?,
        'h' | 'I' | 'l' => {
            s.twelve = true;
            let (v, rest, _) = number(2)?;
            s.hour = v;
            rest
        }
        'M' | 'b' => {
            let (i, rest) = name(&MONTHS, (spec == 'b').then_some(3))?;
            s.month = i + 1;
            rest
        }
        'D' => {
            let (v, rest, _) = number(2)?;
            s.day = v;
            rest.get(2..)?
        }
        'f' => {
            let (v, rest, n) = number(6)?;
            s.micros = v * super::MICROS[n];
            rest
        }
        'p' => {
            let head = rest.get(..2)?;
            s.pm = head.eq_ignore_ascii_case("PM");
            if !s.pm && !head.eq_ignore_ascii_case("AM") {
                return None;
            }
            s.twelve = true;
            &rest[2..]
        }
        'W' | 'a' => {
            let (i, rest) = name(&WEEKDAYS, (spec == 'a').then_some(3))?;
            s.weekday = Some(i);
            rest
        }
        'w' => {
            let (v, rest, _) = number(1)?;
            if v > 6 {
                return None;
            }
            s.weekday = Some((v + 6) % 7);
            rest
        }
        'j' => {
            let (v, rest, _) = number(3)?;
            s.year_day = Some(v);
            rest
        }
        'V' | 'U' | 'v' | 'u' => {
            let (v, rest, _) = number(2)?;
            s.week = Some((v, matches!(spec, 'v' | 'u'), matches!(spec, 'V' | 'v')));
            rest
        }
        'r' => scan(rest, "%I:%i:%S %p", s, never)?,
        'T' => scan(rest, "%H:%i:%S", s, never)?,
        '.' => rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
        '@' => rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
        '#' => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        '%' => rest.strip_prefix('%')?,
        _ => return None,
    };
    Some(rest)
}

fn two_digit_year(year: u32) -> u32 {
    year + if year < 70 { 2000 } else { 1900 }
}

/// The days of a date that exist: used by callers that check what `str_to_date` found.
impl DateTime {
    /// Is the day one of its month (zero parts apart)?
    pub fn is_calendar_day(self) -> bool {
        self.month() > 0 && (1..=days_in_month(self.year(), self.month())).contains(&self.day())
    }
}
