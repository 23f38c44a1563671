//! Intervals: units, texts, adding them to dates; differences.

use super::{Date, DateTime, Time, days_in_month, from_days};

/// A unit after INTERVAL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    const NAMES: [(&'static str, IntervalUnit); 20] = [
        ("MICROSECOND", IntervalUnit::Microsecond),
        ("SECOND", IntervalUnit::Second),
        ("MINUTE", IntervalUnit::Minute),
        ("HOUR", IntervalUnit::Hour),
        ("DAY", IntervalUnit::Day),
        ("WEEK", IntervalUnit::Week),
        ("MONTH", IntervalUnit::Month),
        ("QUARTER", IntervalUnit::Quarter),
        ("YEAR", IntervalUnit::Year),
        ("SECOND_MICROSECOND", IntervalUnit::SecondMicrosecond),
        ("MINUTE_MICROSECOND", IntervalUnit::MinuteMicrosecond),
        ("MINUTE_SECOND", IntervalUnit::MinuteSecond),
        ("HOUR_MICROSECOND", IntervalUnit::HourMicrosecond),
        ("HOUR_SECOND", IntervalUnit::HourSecond),
        ("HOUR_MINUTE", IntervalUnit::HourMinute),
        ("DAY_MICROSECOND", IntervalUnit::DayMicrosecond),
        ("DAY_SECOND", IntervalUnit::DaySecond),
        ("DAY_MINUTE", IntervalUnit::DayMinute),
        ("DAY_HOUR", IntervalUnit::DayHour),
        ("YEAR_MONTH", IntervalUnit::YearMonth),
    ];

    /// By name, case-insensitive; `SQL_TSI_` may stand in front.
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        let name = name.get(..8).filter(|p| p.eq_ignore_ascii_case("SQL_TSI_")).map_or(name, |_| &name[8..]);
        Self::NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, u)| *u)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, u)| *u == self).map_or("", |(n, _)| n)
    }

    /// DAY and longer: added to a DATE they give a DATE.
    pub fn is_date_only(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// HOUR and shorter: can be added to a TIME.
    pub fn is_time_only(self) -> bool {
        use IntervalUnit::*;
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth) // DAY_HOUR and friends work on TIME as days of 24 hours.
    }

    pub fn has_micros(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }

    /// Factors of the fields of a composite unit: months for YEAR_MONTH, else microseconds.
    fn fields(self) -> &'static [u64] {
        use IntervalUnit::*;
        const S: u64 = 1_000_000;
        const M: u64 = 60 * S;
        const H: u64 = 60 * M;
        const D: u64 = 24 * H;
        match self {
            Microsecond => &[1],
            Second => &[S],
            Minute => &[M],
            Hour => &[H],
            Day => &[D],
            Week => &[7 * D],
            Month => &[1],
            Quarter => &[3],
            Year => &[12],
            YearMonth => &[12, 1],
            SecondMicrosecond => &[S, 1],
            MinuteMicrosecond => &[M, S, 1],
            MinuteSecond => &[M, S],
            HourMicrosecond => &[H, M, S, 1],
            HourSecond => &[H, M, S],
            HourMinute => &[H, M],
            DayMicrosecond => &[D, H, M, S, 1],
            DaySecond => &[D, H, M, S],
            DayMinute => &[D, H, M],
            DayHour => &[D, H],
        }
    }

    fn counts_months(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Month | Quarter | Year | YearMonth)
    }
}

/// A length of time: a number of months, or of microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    Months(i64),
    Micros(i128),
}

impl Interval {
    /// `n` of a unit that is not composite.
    pub fn of(n: i64, unit: IntervalUnit) -> Interval {
        let factor = unit.fields()[0];
        if unit.counts_months() {
            Interval::Months(n.saturating_mul(factor as i64))
        } else {
            Interval::Micros(i128::from(n) * i128::from(factor))
        }
    }

    /// Seconds with a fraction (`INTERVAL 1.5 SECOND`): the value in microseconds.
    pub fn of_micros(micros: i64) -> Interval {
        Interval::Micros(i128::from(micros))
    }

    /// The text of a composite unit: numbers with anything between them. Fewer numbers than fields are the rightmost
    /// ones; a final microsecond field counts as a fraction (`.5` is 500000). `None` if there are more numbers than
    /// fields.
    pub fn parse(text: &[u8], unit: IntervalUnit) -> Option<Interval> {
        let factors = unit.fields();
        let mut numbers = [0u64; 5];
        let mut at = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let negative = text.get(at) == Some(&b'-');
        at += usize::from(negative);
        at += text[at..].iter().take_while(|b| !b.is_ascii_digit()).count();
        let (mut count, mut last_digits) = (0, 0);
        while at < text.len() {
            if count == factors.len() {
                return None;
            }
            let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
            numbers[count] = text[at..at + digits]
                .iter()
                .fold(0u64, |a, d| a.saturating_mul(10).saturating_add(u64::from(d - b'0')));
            last_digits = digits;
            count += 1;
            at += digits;
            at += text[at..].iter().take_while(|b| !b.is_ascii_digit()).count();
        }
        if unit.has_micros() && count > 0 && factors.len() > 1 && last_digits < 6 {
            numbers[count - 1] *= 10u64.pow(6 - last_digits as u32);
        }
        let skip = factors.len() - count;
        let sum: i128 =
            numbers[..count].iter().zip(&factors[skip..]).map(|(n, f)| i128::from(*n) * i128::from(*f)).sum();
        let sum = if negative { -sum } else { sum };
        Some(if unit.counts_months() {
            Interval::Months(i64::try_from(sum).unwrap_or(i64::MAX))
        } else {
            Interval::Micros(sum)
        })
    }
}

impl std::ops::Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        match self {
            Interval::Months(n) => Interval::Months(n.saturating_neg()),
            Interval::Micros(n) => Interval::Micros(n.saturating_neg()),
        }
    }
}

/// `DATE_ADD`: `None` when the result leaves years 0..=9999 or the date has zero parts that the sum needs.
pub fn add_interval(t: DateTime, interval: Interval) -> Option<DateTime> {
    match interval {
        Interval::Months(n) => {
            let period = i64::from(t.year() * 12) + i64::from(t.month()) - 1;
            let period = period.checked_add(n)?;
            if !(0..120_000).contains(&period) {
                return None;
            }
            let (year, month) = ((period / 12) as u32, (period % 12) as u32 + 1);
            let day = t.day().min(days_in_month(year, month));
            Some(DateTime::new(year, month, day, t.hour(), t.minute(), t.second(), t.micros()))
        }
        Interval::Micros(n) => {
            if t.month() == 0 || t.day() == 0 {
                return None;
            }
            let sum = i128::from(t.to_micros()) + n;
            DateTime::from_micros(i64::try_from(sum).ok()?)
        }
    }
}

/// A TIME plus an interval; `None` beyond TIME's range or for months.
pub fn add_interval_time(t: Time, interval: Interval) -> Option<Time> {
    let Interval::Micros(n) = interval else { return None };
    let sum = i64::try_from(i128::from(t.to_micros()) + n).ok()?;
    let (value, outside) = Time::from_micros(sum).clamp();
    (!outside).then_some(value)
}

/// `a - b` in microseconds.
pub fn datetime_diff_micros(a: DateTime, b: DateTime) -> i64 {
    a.to_micros() - b.to_micros()
}

/// `TIMESTAMPDIFF(unit, a, b)`: whole units from `a` to `b`. Composite units give 0.
pub fn timestamp_diff(unit: IntervalUnit, a: DateTime, b: DateTime) -> i64 {
    let micros = datetime_diff_micros(b, a);
    if unit.counts_months() {
        let (begin, end, sign) = if micros < 0 { (b, a, -1) } else { (a, b, 1) };
        let months = |t: DateTime| i64::from(t.year()) * 12 + i64::from(t.month());
        let within = |t: DateTime| (t.day(), t.time());
        let n = months(end) - months(begin) - i64::from(within(end) < within(begin));
        return sign * n / unit.fields()[0] as i64;
    }
    match unit.fields() {
        [factor] => micros / *factor as i64,
        _ => 0,
    }
}

fn period_months(period: u64) -> Option<u64> {
    if period == 0 {
        return Some(0);
    }
    let (mut year, month) = (period / 100, period % 100);
    if month == 0 || month > 12 {
        return None;
    }
    if year < 70 {
        year += 2000;
    } else if year < 100 {
        year += 1900;
    }
    year.checked_mul(12).map(|y| y + month - 1)
}

/// `PERIOD_ADD(YYYYMM, n)`; `None` for a period that is none.
pub fn period_add(period: u64, months: i64) -> Option<u64> {
    if period == 0 {
        return Some(0);
    }
    let sum = period_months(period)?.checked_add_signed(months)?;
    Some((sum / 12).wrapping_mul(100).wrapping_add(sum % 12 + 1))
}

/// `PERIOD_DIFF(YYYYMM, YYYYMM)` in months.
pub fn period_diff(a: u64, b: u64) -> Option<i64> {
    let (a, b) = (period_months(a)?, period_months(b)?);
    i64::try_from(a).ok()?.checked_sub_unsigned(b)
}

impl Date {
    /// The date `days` later; `None` outside of the calendar.
    pub fn add_days(self, days: i64) -> Option<Date> {
        from_days(self.days().checked_add(days)?)
    }

    /// The last day of the month; `None` for month 0.
    pub fn last_day(self) -> Option<Date> {
        (self.month() > 0).then(|| Date::new(self.year(), self.month(), days_in_month(self.year(), self.month())))
    }
}
