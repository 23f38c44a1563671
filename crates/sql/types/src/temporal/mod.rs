//! Dates and times: packed values, calendar arithmetic, literals, time zones, intervals, formats.
//!
//! Packed layouts (order of the integers is order of the values):
//! * [`Date`]: `year << 9 | month << 5 | day`.
//! * [`DateTime`]: `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second`, `<< 24 | microsecond`.
//! * [`Time`]: sign of `(hour << 12 | minute << 6 | second) << 24 | microsecond`.
//! * [`Timestamp`]: microseconds since 1970-01-01 00:00:00 UTC; 0 is the value '0000-00-00 00:00:00'.
//!
//! The first three are MySQL's own (`TIME_to_longlong_packed`); zero parts are kept, since MySQL allows them.

mod calendar;
mod format;
mod interval;
mod locale;
mod parse;
mod zone;

pub use calendar::{DAYS_AT_EPOCH, Weekday, days_in_month, from_days, is_leap, to_days, week, weekday, yearweek};
pub use format::{DateParts, date_format, str_to_date, str_to_date_until, time_format};
pub use interval::{
    Interval, IntervalUnit, add_interval, add_interval_time, datetime_diff_micros, period_add, period_diff,
    timestamp_diff,
};
pub use locale::{LOCALE_NAMES, LOCALE_NUMBERS, Locale};
pub use parse::{
    DateFlags, Delimiter, ParsedDateTime, ParsedTime, number_to_datetime, number_to_time, parse_datetime, parse_time,
    parse_time_as, parse_time_as_datetime,
};
pub(crate) use parse::{plain_date, plain_datetime};
pub use zone::TimeZone;

/// Largest fsp.
pub const MAX_FSP: u8 = 6;
/// 10^(6 - fsp): microseconds of the last digit kept.
const MICROS: [u32; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// A DATE. Year 0..=9999, month 0..=12, day 0..=31.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// A DATETIME without its number of fraction digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(i64);

/// A TIME, -838:59:59.000000 ..= 838:59:59.000000 in columns; intermediate values may be larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

/// An instant, as TIMESTAMP stores it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Date {
    pub const ZERO: Date = Date(0);
    pub const MAX: Date = Date(9999 << 9 | 12 << 5 | 31);

    /// Parts are masked, not checked: month above 15 or day above 31 would be another date.
    #[inline]
    pub fn new(year: u32, month: u32, day: u32) -> Date {
        Date(year.min(9999) << 9 | (month & 15) << 5 | (day & 31))
    }

    #[inline]
    pub fn packed(self) -> u32 {
        self.0
    }

    /// From stored bits; `None` if month or year cannot be.
    #[inline]
    pub fn from_packed(packed: u32) -> Option<Date> {
        let d = Date(packed);
        (d.year() <= 9999 && d.month() <= 12).then_some(d)
    }

    #[inline]
    pub fn year(self) -> u32 {
        self.0 >> 9
    }

    #[inline]
    pub fn month(self) -> u32 {
        self.0 >> 5 & 15
    }

    #[inline]
    pub fn day(self) -> u32 {
        self.0 & 31
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Midnight of the day.
    #[inline]
    pub fn to_datetime(self) -> DateTime {
        DateTime::new(self.year(), self.month(), self.day(), 0, 0, 0, 0)
    }

    /// YYYYMMDD.
    pub fn to_number(self) -> u32 {
        self.year() * 10000 + self.month() * 100 + self.day()
    }

    /// Days since year 0 (`TO_DAYS`).
    pub fn days(self) -> i64 {
        to_days(self.year(), self.month(), self.day())
    }

    pub fn write(self, out: &mut Vec<u8>) {
        let mut b = *b"0000-00-00";
        put4(&mut b[0..4], self.year());
        put2(&mut b[5..7], self.month());
        put2(&mut b[8..10], self.day());
        out.extend_from_slice(&b);
    }
}

impl DateTime {
    pub const ZERO: DateTime = DateTime(0);

    /// Parts must be in their ranges (year 0..=9999, month 0..=12, day 0..=31, ...).
    #[inline]
    pub fn new(year: u32, month: u32, day: u32, hour: u32, minute: u32, second: u32, micros: u32) -> DateTime {
        let ymd = (i64::from(year.min(9999)) * 13 + i64::from(month.min(12))) << 5 | i64::from(day & 31);
        let hms = i64::from(hour & 31) << 12 | i64::from(minute & 63) << 6 | i64::from(second & 63);
        DateTime((ymd << 17 | hms) << 24 | i64::from(micros.min(999_999)))
    }

    #[inline]
    pub fn packed(self) -> i64 {
        self.0
    }

    /// From stored bits; `None` if they are out of range.
    #[inline]
    pub fn from_packed(packed: i64) -> Option<DateTime> {
        let d = DateTime(packed);
        (packed >= 0 && d.year() <= 9999 && d.hour() < 24 && d.micros() < 1_000_000).then_some(d)
    }

    #[inline]
    fn year_month(self) -> u32 {
        (self.0 >> 46) as u32
    }

    #[inline]
    pub fn year(self) -> u32 {
        self.year_month() / 13
    }

    #[inline]
    pub fn month(self) -> u32 {
        self.year_month() % 13
    }

    #[inline]
    pub fn day(self) -> u32 {
        (self.0 >> 41 & 31) as u32
    }

    #[inline]
    pub fn hour(self) -> u32 {
        (self.0 >> 36 & 31) as u32
    }

    #[inline]
    pub fn minute(self) -> u32 {
        (self.0 >> 30 & 63) as u32
    }

    #[inline]
    pub fn second(self) -> u32 {
        (self.0 >> 24 & 63) as u32
    }

    #[inline]
    pub fn micros(self) -> u32 {
        (self.0 & 0xFF_FFFF) as u32
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn date(self) -> Date {
        Date::new(self.year(), self.month(), self.day())
    }

    /// The time of day.
    pub fn time(self) -> Time {
        Time(self.0 & 0x1FF_FFFF_FFFF)
    }

    /// YYYYMMDDhhmmss.
    pub fn to_number(self) -> u64 {
        let time = self.hour() * 10000 + self.minute() * 100 + self.second();
        u64::from(self.date().to_number()) * 1_000_000 + u64::from(time)
    }

    /// Microseconds since midnight of day 0 (`TO_DAYS`' origin).
    pub fn to_micros(self) -> i64 {
        let seconds = i64::from(self.hour()) * 3600 + i64::from(self.minute()) * 60 + i64::from(self.second());
        (self.date().days() * 86400 + seconds) * 1_000_000 + i64::from(self.micros())
    }

    /// The inverse of [`to_micros`](Self::to_micros); `None` outside of years 0..=9999.
    pub fn from_micros(micros: i64) -> Option<DateTime> {
        let (seconds, us) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
        let (days, s) = (seconds.div_euclid(86400), seconds.rem_euclid(86400) as u32);
        let date = from_days(days)?;
        Some(DateTime::new(date.year(), date.month(), date.day(), s / 3600, s / 60 % 60, s % 60, us as u32))
    }

    /// Rounds half up (or cuts) to `fsp` digits of the second; `None` if that leaves year 9999.
    pub fn round(self, fsp: u8, truncate: bool) -> Option<DateTime> {
        let unit = MICROS[usize::from(fsp.min(6))];
        let rest = self.micros() % unit;
        let cut = DateTime(self.0 - i64::from(rest));
        if truncate || rest * 2 < unit {
            return Some(cut);
        }
        if cut.micros() + unit < 1_000_000 {
            return Some(DateTime(cut.0 + i64::from(unit)));
        }
        if cut.second() < 59 {
            return Some(DateTime(((cut.0 >> 24) + 1) << 24));
        }
        let zero_parts = cut.month() == 0 || cut.day() == 0;
        let whole = DateTime(cut.0 >> 24 << 24);
        if zero_parts {
            // There is no calendar day to carry into; within the day it works.
            let s = whole.time().whole_seconds() + 1;
            return (s < 86400).then(|| {
                let s = s as u32;
                DateTime::new(cut.year(), cut.month(), cut.day(), s / 3600, s / 60 % 60, s % 60, 0)
            });
        }
        DateTime::from_micros(whole.to_micros() + 1_000_000)
    }

    pub fn write(self, fsp: u8, out: &mut Vec<u8>) {
        let mut b = *b"0000-00-00 00:00:00.000000";
        put4(&mut b[0..4], self.year());
        put2(&mut b[5..7], self.month());
        put2(&mut b[8..10], self.day());
        put2(&mut b[11..13], self.hour());
        put2(&mut b[14..16], self.minute());
        put2(&mut b[17..19], self.second());
        let n = put_fraction(&mut b[19..], self.micros(), fsp);
        out.extend_from_slice(&b[..19 + n]);
    }
}

impl Time {
    pub const ZERO: Time = Time(0);
    /// 838:59:59.
    pub const MAX: Time = Time((838 << 12 | 59 << 6 | 59) << 24);
    pub const MIN: Time = Time(-Time::MAX.0);

    /// Minute, second and microsecond must be in their ranges.
    #[inline]
    pub fn new(negative: bool, hour: u32, minute: u32, second: u32, micros: u32) -> Time {
        let v = (i64::from(hour) << 12 | i64::from(minute & 63) << 6 | i64::from(second & 63)) << 24
            | i64::from(micros.min(999_999));
        Time(if negative { -v } else { v })
    }

    #[inline]
    pub fn packed(self) -> i64 {
        self.0
    }

    /// From stored bits; `None` beyond TIME's range.
    #[inline]
    pub fn from_packed(packed: i64) -> Option<Time> {
        let limit = Time::MAX.0 + 0xFF_FFFF;
        let t = Time(packed);
        ((-limit..=limit).contains(&packed) && t.micros() < 1_000_000).then_some(t)
    }

    #[inline]
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    #[inline]
    pub fn hour(self) -> u32 {
        (self.0.unsigned_abs() >> 36) as u32
    }

    #[inline]
    pub fn minute(self) -> u32 {
        (self.0.unsigned_abs() >> 30 & 63) as u32
    }

    #[inline]
    pub fn second(self) -> u32 {
        (self.0.unsigned_abs() >> 24 & 63) as u32
    }

    #[inline]
    pub fn micros(self) -> u32 {
        (self.0.unsigned_abs() & 0xFF_FFFF) as u32
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Seconds without sign and fraction.
    pub fn whole_seconds(self) -> i64 {
        i64::from(self.hour()) * 3600 + i64::from(self.minute()) * 60 + i64::from(self.second())
    }

    /// Signed microseconds.
    pub fn to_micros(self) -> i64 {
        let v = self.whole_seconds() * 1_000_000 + i64::from(self.micros());
        if self.is_negative() { -v } else { v }
    }

    /// From signed microseconds, not limited to TIME's range (hours are, to what the packing holds).
    pub fn from_micros(micros: i64) -> Time {
        let v = micros.unsigned_abs();
        let s = v / 1_000_000;
        let hour = u32::try_from(s / 3600).unwrap_or(u32::MAX).min(0x3F_FFFF);
        Time::new(micros < 0, hour, (s / 60 % 60) as u32, (s % 60) as u32, (v % 1_000_000) as u32)
    }

    /// Brings into TIME's range; true if it was outside.
    pub fn clamp(self) -> (Time, bool) {
        if self.0 > Time::MAX.0 {
            (Time::MAX, true)
        } else if self.0 < Time::MIN.0 {
            (Time::MIN, true)
        } else {
            (self, false)
        }
    }

    /// [-]hhmmss.
    pub fn to_number(self) -> i64 {
        let v = i64::from(self.hour()) * 10000 + i64::from(self.minute() * 100 + self.second());
        if self.is_negative() { -v } else { v }
    }

    /// Rounds half away from zero (or cuts) to `fsp` digits; may leave the range by one second.
    pub fn round(self, fsp: u8, truncate: bool) -> Time {
        let unit = i64::from(MICROS[usize::from(fsp.min(6))]);
        let v = self.to_micros();
        let rest = v.abs() % unit;
        let cut = v.abs() - rest;
        let rounded = if truncate || rest * 2 < unit { cut } else { cut + unit };
        Time::from_micros(if v < 0 { -rounded } else { rounded })
    }

    pub fn write(self, fsp: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        write_digits(self.hour(), 2, out);
        let mut b = *b":00:00.000000";
        put2(&mut b[1..3], self.minute());
        put2(&mut b[4..6], self.second());
        let n = put_fraction(&mut b[6..], self.micros(), fsp);
        out.extend_from_slice(&b[..6 + n]);
    }
}

impl std::ops::Neg for Time {
    type Output = Time;
    fn neg(self) -> Time {
        Time(-self.0)
    }
}

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    /// 1970-01-01 00:00:01 UTC.
    pub const MIN: Timestamp = Timestamp(1_000_000);
    /// 2038-01-19 03:14:07.999999 UTC.
    pub const MAX: Timestamp = Timestamp(2_147_483_647_999_999);

    /// From microseconds since the epoch; `None` outside of TIMESTAMP's range (0 is the zero value).
    #[inline]
    pub fn from_unix_micros(micros: i64) -> Option<Timestamp> {
        (micros == 0 || (Timestamp::MIN.0..=Timestamp::MAX.0).contains(&micros)).then_some(Timestamp(micros))
    }

    /// What CURRENT_TIMESTAMP(fsp) is at an instant: the digits beyond `fsp` are cut, as of NOW(), never rounded.
    pub fn current(unix_micros: i64, fsp: u8) -> Option<Timestamp> {
        let unit = i64::from(MICROS[usize::from(fsp.min(6))]);
        Timestamp::from_unix_micros(unix_micros - unix_micros.rem_euclid(unit))
    }

    #[inline]
    pub fn unix_micros(self) -> i64 {
        self.0
    }

    /// The local time of an instant.
    #[inline]
    pub fn to_local(self, zone: &TimeZone) -> DateTime {
        if self.0 == 0 {
            return DateTime::ZERO;
        }
        let shifted = self.0 + i64::from(zone.offset_at(self.0.div_euclid(1_000_000))) * 1_000_000;
        DateTime::from_micros(shifted + DAYS_AT_EPOCH * 86_400_000_000).unwrap_or(DateTime::ZERO)
    }

    /// The instant of a local time. A time that a forward step skips is that of the step, and then `true` is given
    /// back. `None` out of range.
    pub fn from_local(local: DateTime, zone: &TimeZone) -> Option<(Timestamp, bool)> {
        if local.is_zero() {
            return Some((Timestamp::ZERO, false));
        }
        let seconds = (local.to_micros() - i64::from(local.micros())) / 1_000_000 - DAYS_AT_EPOCH * 86400;
        let (unix, gap) = zone.local_to_unix(seconds);
        let micros = unix * 1_000_000 + if gap { 0 } else { i64::from(local.micros()) };
        (micros != 0).then(|| Timestamp::from_unix_micros(micros)).flatten().map(|t| (t, gap))
    }
}

#[inline]
fn put2(out: &mut [u8], v: u32) {
    out[0] = b'0' + (v / 10 % 10) as u8;
    out[1] = b'0' + (v % 10) as u8;
}

#[inline]
fn put4(out: &mut [u8], v: u32) {
    put2(&mut out[0..2], v / 100);
    put2(&mut out[2..4], v % 100);
}

/// Puts `.ffffff` cut to `fsp` digits; gives back the length (0 for fsp 0).
fn put_fraction(out: &mut [u8], micros: u32, fsp: u8) -> usize {
    let fsp = usize::from(fsp.min(6));
    if fsp == 0 {
        return 0;
    }
    let mut v = micros;
    for i in (1..=6).rev() {
        out[i] = b'0' + (v % 10) as u8;
        v /= 10;
    }
    1 + fsp
}

/// Appends `v` in decimal with at least `width` digits.
pub(crate) fn write_digits(v: u32, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(v);
    out.resize(out.len() + width.saturating_sub(text.len()), b'0');
    out.extend_from_slice(text.as_bytes());
}

macro_rules! show {
    ($($name:ident($($fsp:literal)?);)*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut out = Vec::with_capacity(32);
                self.write($($fsp,)? &mut out);
                f.write_str(&String::from_utf8_lossy(&out))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

show! {
    Date();
    DateTime(6);
    Time(6);
}

impl std::fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} UTC", self.to_local(&TimeZone::UTC))
    }
}

#[cfg(test)]
mod tests;
