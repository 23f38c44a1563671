//! Time zones: fixed offsets, names of the tz database (bundled), SYSTEM.

use super::{DAYS_AT_EPOCH, DateTime};
use crate::error::Result;
use crate::sql_err;
use jiff::Timestamp as Instant;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, Offset};
use std::fmt;

/// A value of `time_zone`.
#[derive(Clone, PartialEq)]
pub enum TimeZone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// The machine's zone when the server started.
    System(jiff::tz::TimeZone),
    Named(jiff::tz::TimeZone),
}

impl TimeZone {
    pub const UTC: TimeZone = TimeZone::Fixed(0);

    /// The machine's zone; UTC if it cannot be found.
    pub fn system() -> TimeZone {
        TimeZone::System(jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC))
    }

    /// `[+-]H:M` (-13:59 ..= +14:00), or a name. `SYSTEM` is the caller's to recognise with [`TimeZone::system`] kept
    /// from the start; here it is looked up anew. Error 1298.
    pub fn parse(text: &str) -> Result<TimeZone> {
        let unknown = || sql_err!(UnknownTimeZone, text);
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Ok(TimeZone::system());
        }
        if let Some(sign) = text.bytes().next().filter(|b| matches!(b, b'+' | b'-')) {
            let (hours, minutes) = text[1..].split_once(':').ok_or_else(unknown)?;
            // Leading zeros do not matter, nor whether they are there.
            let digits = |t: &str| (1..=4).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_digit());
            if !digits(hours) || !digits(minutes) {
                return Err(unknown());
            }
            let (h, m): (i32, i32) = (hours.parse().map_err(|_| unknown())?, minutes.parse().map_err(|_| unknown())?);
            let offset = h * 3600 + m * 60;
            let offset = if sign == b'-' { -offset } else { offset };
            let ok = m < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&offset);
            return if ok { Ok(TimeZone::Fixed(offset)) } else { Err(unknown()) };
        }
        if text.len() > 64 {
            return Err(unknown());
        }
        jiff::tz::TimeZone::get(text).map(TimeZone::Named).map_err(|_| unknown())
    }

    /// Seconds east of UTC at an instant, in seconds since the epoch.
    #[inline]
    pub fn offset_at(&self, unix: i64) -> i32 {
        match self {
            TimeZone::Fixed(offset) => *offset,
            TimeZone::System(zone) | TimeZone::Named(zone) => {
                Instant::from_second(unix).map_or(0, |t| zone.to_offset(t).seconds())
            }
        }
    }

    /// The last instant that MySQL's functions and events know: 3001-01-18 23:59:59.999999 UTC.
    pub const LAST_US: i64 = 32_536_771_199_999_999;

    /// The local time of an instant, microseconds since 1970 UTC.
    pub fn local(&self, unix_micros: i64) -> Option<DateTime> {
        let offset = i64::from(self.offset_at(unix_micros.div_euclid(1_000_000)));
        DateTime::from_micros(unix_micros + (offset + DAYS_AT_EPOCH * 86_400) * 1_000_000)
    }

    /// The instant of a local time, microseconds since 1970 UTC. `None` before 1970-01-01 00:00:01 UTC and behind
    /// [`TimeZone::LAST_US`].
    pub fn instant(&self, local: DateTime) -> Option<i64> {
        let seconds = local.to_micros().div_euclid(1_000_000) - DAYS_AT_EPOCH * 86_400;
        let (unix, gap) = self.local_to_unix(seconds);
        let micros = unix * 1_000_000 + if gap { 0 } else { i64::from(local.micros()) };
        (1_000_000..=Self::LAST_US).contains(&micros).then_some(micros)
    }

    /// The instant of a local time, given as if it were UTC, in seconds. A local time that occurs twice is the first;
    /// one that a step skips is the instant of the step, and `true`.
    pub fn local_to_unix(&self, local: i64) -> (i64, bool) {
        let zone = match self {
            TimeZone::Fixed(offset) => return (local - i64::from(*offset), false),
            TimeZone::System(zone) | TimeZone::Named(zone) => zone,
        };
        let Ok(as_utc) = Instant::from_second(local) else { return (local, false) };
        let wall: civil::DateTime = Offset::UTC.to_datetime(as_utc);
        match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => (local - i64::from(offset.seconds()), false),
            AmbiguousOffset::Fold { before, .. } => (local - i64::from(before.seconds()), false),
            AmbiguousOffset::Gap { before, after } => {
                // The step is the last instant of the offset before it; search it between both readings.
                let (lo, hi) = (local - i64::from(after.seconds()), local - i64::from(before.seconds()));
                let mut range = (lo.min(hi), lo.max(hi));
                while range.0 < range.1 {
                    let middle = range.0 + (range.1 - range.0) / 2;
                    if self.offset_at(middle) == after.seconds() { range.1 = middle } else { range.0 = middle + 1 }
                }
                (range.0, true)
            }
        }
    }
}

/// As `SELECT @@time_zone` prints it.
impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::Fixed(offset) => {
                let sign = if *offset < 0 { '-' } else { '+' };
                let v = offset.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", v / 3600, v / 60 % 60)
            }
            TimeZone::System(_) => f.write_str("SYSTEM"),
            TimeZone::Named(zone) => f.write_str(zone.iana_name().unwrap_or("UTC")),
        }
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
