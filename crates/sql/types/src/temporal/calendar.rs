//! The proleptic Gregorian calendar, with MySQL's day numbers and week modes.

use super::Date;

/// `TO_DAYS('1970-01-01')`.
pub const DAYS_AT_EPOCH: i64 = 719_528;
/// `TO_DAYS('9999-12-31')`.
const MAX_DAYS: i64 = 3_652_424;

/// Monday is 0, as `WEEKDAY()`.
pub type Weekday = u32;

pub fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// 0 for month 0 and months above 12.
pub fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap(year)),
        _ => 0,
    }
}

/// Days since year 0, as `TO_DAYS`; year and month 0 give 0.
pub fn to_days(year: u32, month: u32, day: u32) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (mut y, m) = (i64::from(year), i64::from(month));
    let mut sum = 365 * y + 31 * (m - 1) + i64::from(day);
    if m <= 2 {
        y -= 1;
    } else {
        sum -= (m * 4 + 23) / 10;
    }
    let centuries = (y / 100 + 1) * 3 / 4;
    sum + y / 4 - centuries
}

/// The date of a day number; `None` beyond 9999-12-31 or below 0. Days 0..=365 are in year 0, which MySQL shows as
/// 0000-00-00.
pub fn from_days(days: i64) -> Option<Date> {
    if !(0..=MAX_DAYS).contains(&days) {
        return None;
    }
    if days <= 365 {
        return Some(Date::ZERO);
    }
    // Civil from days (H. Hinnant, "chrono-compatible low-level date algorithms"), epoch 0000-03-01.
    let z = days - 60;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    Some(Date::new(year as u32, month as u32, day as u32))
}

/// Monday is 0.
pub fn weekday(days: i64) -> Weekday {
    ((days + 5).rem_euclid(7)) as u32
}

fn days_in_year(year: u32) -> i64 {
    365 + i64::from(is_leap(year))
}

/// `WEEK(date, mode)` for modes 0..=7.
pub fn week(date: Date, mode: u32) -> u32 {
    calc_week(date, mode & 7, false).1
}

/// `YEARWEEK(date, mode)`.
pub fn yearweek(date: Date, mode: u32) -> u32 {
    let (year, week) = calc_week(date, mode & 7, true);
    year * 100 + week
}

/// Mode bit 1: weeks start on Monday; bit 2: weeks are 1..=53 (week 0 belongs to the year before); bit 4: week 1 is the
/// first with a first weekday in the year, flipped for Monday weeks as the manual's table of modes has it.
fn calc_week(date: Date, mode: u32, of_year: bool) -> (u32, u32) {
    let monday = mode & 1 != 0;
    let mut range_1_53 = mode & 2 != 0 || of_year;
    let first_weekday = if monday { mode & 4 != 0 } else { mode & 4 == 0 };
    let days = date.days();
    let mut year = date.year();
    let mut first = to_days(year, 1, 1);
    let mut wd = i64::from(if monday { weekday(first) } else { (weekday(first) + 1) % 7 });
    let in_first = |wd: i64| (first_weekday && wd != 0) || (!first_weekday && wd >= 4);
    if date.month() == 1 && i64::from(date.day()) <= 7 - wd {
        if !range_1_53 && in_first(wd) {
            return (year, 0);
        }
        if in_first(wd) {
            range_1_53 = true;
            year = year.saturating_sub(1);
            let length = days_in_year(year);
            first -= length;
            wd = (wd + 53 * 7 - length).rem_euclid(7);
        }
    }
    let offset = if in_first(wd) { days - (first + (7 - wd)) } else { days - (first - wd) };
    if range_1_53 && offset >= 52 * 7 {
        let next = (wd + days_in_year(year)).rem_euclid(7);
        if (!first_weekday && next < 4) || (first_weekday && next == 0) {
            return (year + 1, 1);
        }
    }
    (year, (offset / 7 + 1) as u32)
}
