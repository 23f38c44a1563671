//! Dates and times from text and numbers (manual, "Date and Time Literals").

use super::{DAYS_AT_EPOCH, Date, DateTime, Time, TimeZone, Timestamp, days_in_month};
use crate::error::{ErrorCode, Level, Warning};
use crate::mode::SqlMode;

/// Which incomplete or impossible dates are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DateFlags {
    /// Refuse 0000-00-00.
    pub no_zero_date: bool,
    /// Refuse a zero month or day in any other date.
    pub no_zero_in_date: bool,
    /// Accept any day up to 31 in any month.
    pub allow_invalid: bool,
    /// Cut what a fraction has beyond six digits, instead of rounding (TIME_TRUNCATE_FRACTIONAL).
    pub cut_fractions: bool,
}

impl DateFlags {
    /// Zero parts allowed, days checked: what most functions take.
    pub const LAX: DateFlags =
        DateFlags { no_zero_date: false, no_zero_in_date: false, allow_invalid: false, cut_fractions: false };
    /// The same of what is a date already: a day that its month does not have was let in by ALLOW_INVALID_DATES.
    pub const STORED: DateFlags = DateFlags { allow_invalid: true, ..DateFlags::LAX };
    /// Real dates only.
    pub const STRICT: DateFlags =
        DateFlags { no_zero_date: true, no_zero_in_date: true, allow_invalid: false, cut_fractions: false };

    pub fn from_mode(mode: SqlMode) -> DateFlags {
        DateFlags {
            no_zero_date: mode.contains(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: mode.contains(SqlMode::NO_ZERO_IN_DATE),
            allow_invalid: mode.contains(SqlMode::ALLOW_INVALID_DATES),
            cut_fractions: mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL),
        }
    }

    /// May a date be used under these flags?
    pub fn accepts(self, year: u32, month: u32, day: u32) -> bool {
        if year == 0 && month == 0 && day == 0 {
            return !self.no_zero_date;
        }
        if month > 12 || day > 31 || year > 9999 {
            return false;
        }
        if month == 0 || day == 0 {
            return !self.no_zero_in_date;
        }
        self.allow_invalid || day <= days_in_month(year, month)
    }
}

/// A date, or date and time, read from text or a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsedDateTime {
    pub value: DateTime,
    /// Only a date was given.
    pub date_only: bool,
    /// Digits of the fraction, at most six.
    pub fsp: u8,
    /// Bytes were left over, or digits of the fraction beyond six lost.
    pub truncated: bool,
    /// Seconds east of UTC, if the text ended in `+hh:mm`.
    pub offset: Option<i32>,
    pub deprecated: Option<Delimiter>,
}

/// The first delimiter of a text that MySQL takes and advises against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delimiter {
    pub byte: u8,
    /// Bytes of the text in front of it.
    pub at: usize,
    /// What belongs there: `None` where nothing does.
    pub standard: Option<u8>,
}

impl ParsedDateTime {
    /// What a clock in `zone` shows at that moment, where the text named its own offset; `None` beyond all years.
    pub fn shown_in(self, zone: &TimeZone) -> Option<ParsedDateTime> {
        let Some(offset) = self.offset else { return Some(self) };
        let utc = self.value.to_micros() - i64::from(offset) * 1_000_000;
        let value = match Timestamp::from_unix_micros(utc - DAYS_AT_EPOCH * 86_400_000_000) {
            Some(t) => t.to_local(zone),
            None => DateTime::from_micros(utc)?,
        };
        Some(ParsedDateTime { value, ..self })
    }
}

impl ParsedDateTime {
    /// What errors call it.
    pub fn named(&self) -> &'static str {
        if self.date_only { "date" } else { "datetime" }
    }
}

impl Delimiter {
    /// Warning 4095 or 4096 about it.
    pub fn warning(self, text: &str, row: u64) -> Warning {
        let byte = match self.byte {
            b'\t' => "\\t".into(),
            b'\n' => "\\n".into(),
            0x0b => "\\v".into(),
            0x0c => "\\f".into(),
            b'\r' => "\\r".into(),
            byte => char::from(byte).to_string(),
        };
        let (code, standard) = match self.standard {
            Some(standard) => (ErrorCode::WarnDeprecatedDatetimeDelimiter, char::from(standard)),
            None => (ErrorCode::WarnDeprecatedDatetimeSpace, ' '),
        };
        Warning::new(Level::Warning, code, &[&byte, &self.at, &text, &row, &standard])
    }
}

/// A time read from text or a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsedTime {
    pub value: Time,
    pub fsp: u8,
    pub truncated: bool,
    /// It was beyond +-838:59:59 and `value` is the limit.
    pub out_of_range: bool,
    pub deprecated: Option<Delimiter>,
}

impl ParsedTime {
    fn of(d: &ParsedDateTime) -> ParsedTime {
        ParsedTime {
            value: d.value.time(),
            fsp: d.fsp,
            truncated: d.truncated,
            out_of_range: false,
            deprecated: d.deprecated,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    deprecated: Option<Delimiter>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, at: 0, deprecated: None }
    }

    /// The delimiter at the reader is not as it should be; the first such one is kept.
    fn deprecate(&mut self, standard: Option<u8>) {
        let found = Delimiter { byte: self.peek(), at: self.at, standard };
        self.deprecated.get_or_insert(found);
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    fn digit_at(&self, ahead: usize) -> bool {
        self.text.get(self.at + ahead).is_some_and(u8::is_ascii_digit)
    }

    /// The delimiters behind part `count` of a datetime. Is one a space?
    fn delimiters(&mut self, count: usize, compact: bool) -> Result<bool, Bad> {
        let (before, mut spaced) = (self.at, false);
        while self.peek().is_ascii_punctuation() || is_space(self.peek()) {
            if is_space(self.peek()) {
                // Space belongs between date and time only.
                if count != 3 {
                    return Err(Bad::Form);
                }
                spaced = true;
            }
            let standard = [b'-', b'-', b' ', b':', b':'][count - 1];
            // A space behind a date without a time is one too many.
            if self.at > before || (self.peek() == b' ' && self.at + 1 == self.text.len()) {
                self.deprecate(None);
            } else if self.peek() != standard && (!compact || self.digit_at(1)) {
                self.deprecate(Some(standard));
            }
            self.at += 1;
        }
        Ok(spaced)
    }

    fn skip_space(&mut self) {
        while is_space(self.peek()) {
            self.at += 1;
        }
    }

    /// Space in front of a text, and behind it.
    fn skip_superfluous_space(&mut self) {
        if is_space(self.peek()) {
            self.deprecate(None);
            self.skip_space();
        }
    }

    /// Up to `max` digits: value (saturating) and how many.
    fn digits(&mut self, max: usize) -> (u64, usize) {
        let (mut v, mut n) = (0u64, 0);
        while n < max && self.digit_at(0) {
            v = v.saturating_mul(10).saturating_add(u64::from(self.peek() - b'0'));
            self.at += 1;
            n += 1;
        }
        (v, n)
    }

    /// `.ffffff` at the reader: microseconds, digits kept, and whether to round up by the seventh digit.
    fn fraction(&mut self) -> (u32, u8, bool) {
        self.at += 1;
        let (v, n) = self.digits(6);
        let up = self.digit_at(0) && self.peek() >= b'5';
        while self.digit_at(0) {
            self.at += 1;
        }
        (v as u32 * super::MICROS[n], n as u8, up)
    }
}

/// Reads a date or datetime. Delimiters may be any punctuation, and may be left out altogether; a year of two digits is
/// 1970..=2069; a fraction of more than six digits is rounded. `None` if there is no date, or `flags` do not accept it.
pub fn parse_datetime(text: &[u8], flags: DateFlags) -> Option<ParsedDateTime> {
    read_datetime(text, flags, false).ok()
}

/// Why a text is no datetime.
enum Bad {
    /// It has not the form of one.
    Form,
    /// A part is out of range.
    Range,
}

/// `datetime_only`: a date whose delimiters are followed by no space is not meant as one.
fn read_datetime(text: &[u8], flags: DateFlags, datetime_only: bool) -> Result<ParsedDateTime, Bad> {
    let mut r = Reader::new(text);
    r.skip_superfluous_space();
    if !r.digit_at(0) {
        return Err(Bad::Form);
    }
    let run = text[r.at..].iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let next = text.get(r.at + run).copied();
    let compact = matches!(next, None | Some(b'.'));
    let mut year_len = if run == 4 || run == 8 || run >= 14 { 4 } else { 2 };
    let mut parts = [0u32; 6];
    let (mut count, mut micros, mut fsp, mut round_up) = (0, 0, 0, false);
    let (mut delimited, mut spaced) = (false, false);
    while count < 6 && r.digit_at(0) {
        let width = match (compact, count) {
            (true, 0) => year_len,
            (true, _) => 2,
            (false, _) => 7,
        };
        let (v, n) = r.digits(width);
        if v > 999_999 {
            return Err(Bad::Form);
        }
        if count == 0 && !compact {
            year_len = n;
        }
        parts[count] = v as u32;
        count += 1;
        if r.done() {
            break;
        }
        if count == 3 && r.peek() == b'T' {
            if !r.digit_at(1) {
                break;
            }
            r.at += 1;
            continue;
        }
        if count == 6 {
            if r.peek() == b'.' && r.digit_at(1) {
                (micros, fsp, round_up) = r.fraction();
            } else if r.peek() == b'.' {
                r.at += 1;
            }
            break;
        }
        if compact && r.digit_at(0) {
            continue;
        }
        let before = r.at;
        spaced |= r.delimiters(count, compact)?;
        delimited |= r.at > before;
        if r.at == before {
            break;
        }
    }
    if datetime_only && delimited && !spaced {
        return Err(Bad::Form);
    }
    if count < 3 {
        return Err(Bad::Range);
    }
    let mut offset = None;
    if count == 6 && matches!(r.peek(), b'+' | b'-') {
        offset = Some(zone_offset(&mut r).ok_or(Bad::Form)?);
    }
    let any = parts.iter().any(|p| *p != 0) || micros != 0;
    if year_len == 2 && any {
        parts[0] += if parts[0] < 70 { 2000 } else { 1900 };
    }
    let [year, month, day, hour, minute, second] = parts;
    if year > 9999
        || month > 12
        || day > 31
        || hour > 23
        || minute > 59
        || second > 59
        || !flags.accepts(year, month, day)
    {
        return Err(Bad::Range);
    }
    let mut value = DateTime::new(year, month, day, hour, minute, second, micros);
    if round_up && !flags.cut_fractions {
        value = if micros == 999_999 {
            DateTime::new(year, month, day, hour, minute, second, 0).add_seconds(1).ok_or(Bad::Range)?
        } else {
            DateTime::new(year, month, day, hour, minute, second, micros + 1)
        };
    }
    r.skip_superfluous_space();
    Ok(ParsedDateTime { value, date_only: count == 3, fsp, truncated: !r.done(), offset, deprecated: r.deprecated })
}

fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || b == 0x0b
}

/// `[+-]hh:mm` at the end, before spaces at most, -13:59 ..= +14:00.
fn zone_offset(r: &mut Reader<'_>) -> Option<i32> {
    let start = r.at;
    let negative = r.peek() == b'-';
    if !negative && r.peek() != b'+' {
        return None;
    }
    r.at += 1;
    let (h, hn) = r.digits(2);
    let colon = r.peek() == b':';
    r.at += usize::from(colon);
    let (m, mn) = r.digits(2);
    let seconds = (h * 3600 + m * 60) as i32;
    let limit = if negative { 13 * 3600 + 59 * 60 } else { 14 * 3600 };
    r.skip_space();
    if !r.done() || hn != 2 || mn != 2 || !colon || m > 59 || seconds > limit || (negative && seconds == 0) {
        r.at = start;
        return None;
    }
    Some(if negative { -seconds } else { seconds })
}

/// A text where times and datetimes are taken that is a datetime as a whole: by the rule of [`parse_time`], and with a
/// `T` between date and time.
pub fn parse_time_as_datetime(text: &[u8]) -> Option<ParsedDateTime> {
    let text = text.trim_ascii_start();
    let has_t = text.get(8..11).is_some_and(|t| t.contains(&b'T'));
    if text.len() < 12 { None } else { read_datetime(text, DateFlags::LAX, !has_t).ok() }
}

/// Reads a time: `[-][D ]hh[:mm[:ss]][.fraction]`, `[-]hhmmss`, or the time of a datetime. `None` for text that
/// does not begin with a number, and for parts out of range.
pub fn parse_time(text: &[u8]) -> Option<ParsedTime> {
    parse_time_as(text, false)
}

/// As [`parse_time`]; `cut_fractions`: see [`DateFlags::cut_fractions`].
pub fn parse_time_as(text: &[u8], cut_fractions: bool) -> Option<ParsedTime> {
    let mut r = Reader::new(text);
    r.skip_superfluous_space();
    let negative = r.peek() == b'-';
    r.at += usize::from(negative);
    if r.done() {
        return None;
    }
    if text.len() - r.at >= 12 {
        match read_datetime(&text[r.at..], DateFlags { cut_fractions, ..DateFlags::LAX }, true) {
            Ok(d) => {
                let value = if negative { -d.value.time() } else { d.value.time() };
                let inside = d.deprecated.map(|found| Delimiter { at: r.at + found.at, ..found });
                return Some(ParsedTime { value, deprecated: r.deprecated.or(inside), ..ParsedTime::of(&d) });
            }
            Err(Bad::Range) => return None,
            Err(Bad::Form) => {}
        }
    }
    let start = r.at;
    let (first, _) = r.digits(usize::MAX);
    if first > u64::from(u32::MAX) {
        return None;
    }
    let end_of_first = r.at;
    r.skip_space();
    let (mut days, mut hms) = (0u64, [0u64; 3]);
    if r.at > end_of_first && r.digit_at(0) {
        days = first;
        read_hms(&mut r, &mut hms, 0);
    } else if r.peek() == b':' && r.digit_at(1) {
        hms[0] = first;
        r.at += 1;
        read_hms(&mut r, &mut hms, 1);
    } else {
        r.at = end_of_first;
        hms = [first / 10000, first / 100 % 100, first % 100];
    }
    let (mut micros, mut fsp, mut round_up) = (0, 0, false);
    if r.peek() == b'.' && r.digit_at(1) {
        (micros, fsp, round_up) = r.fraction();
    }
    // A number with an exponent is no time.
    if matches!(r.peek(), b'e' | b'E') {
        let sign = usize::from(matches!(r.text.get(r.at + 1), Some(b'+' | b'-')));
        if r.digit_at(1 + sign) {
            return None;
        }
    }
    if hms[1] > 59 || hms[2] > 59 {
        return None;
    }
    if r.at == start && !r.done() {
        return None;
    }
    r.skip_superfluous_space();
    let truncated = !r.done();
    let hours = hms[0].saturating_add(days.saturating_mul(24));
    let seconds = hours.min(1 << 20) as i64 * 3600 + hms[1] as i64 * 60 + hms[2] as i64;
    let total = seconds * 1_000_000 + i64::from(micros) + i64::from(round_up && !cut_fractions);
    let (value, out_of_range) = Time::from_micros(if negative { -total } else { total }).clamp();
    Some(ParsedTime { value, fsp, truncated, out_of_range, deprecated: r.deprecated })
}

fn read_hms(r: &mut Reader<'_>, hms: &mut [u64; 3], from: usize) {
    for (i, part) in hms.iter_mut().enumerate().skip(from) {
        *part = r.digits(usize::MAX).0;
        if i == 2 || r.peek() != b':' || !r.digit_at(1) {
            return;
        }
        r.at += 1;
    }
}

/// The datetime of a number: YYMMDD, YYYYMMDD, YYMMDDhhmmss, YYYYMMDDhhmmss. `date_only` tells the short forms.
pub fn number_to_datetime(number: i64, flags: DateFlags) -> Option<ParsedDateTime> {
    let (n, date_only) = match number {
        0 => (0, false),
        101..=691_231 => ((number + 20_000_000) * 1_000_000, true),
        700_101..=991_231 => ((number + 19_000_000) * 1_000_000, true),
        10_000_101..=99_991_231 => (number * 1_000_000, true),
        101_000_000..=691_231_235_959 => (number + 20_000_000_000_000, false),
        700_101_000_000..=991_231_235_959 => (number + 19_000_000_000_000, false),
        10_000_101_000_000..=99_999_999_999_999 => (number, false),
        _ => return None,
    };
    let (date, time) = ((n / 1_000_000) as u32, (n % 1_000_000) as u32);
    let (year, month, day) = (date / 10000, date / 100 % 100, date % 100);
    let (hour, minute, second) = (time / 10000, time / 100 % 100, time % 100);
    if month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 || !flags.accepts(year, month, day) {
        return None;
    }
    let value = DateTime::new(year, month, day, hour, minute, second, 0);
    Some(ParsedDateTime { value, date_only, fsp: 0, truncated: false, offset: None, deprecated: None })
}

/// The time of a number: [-]hhmmss, or the time of YYMMDDhhmmss and longer.
pub fn number_to_time(number: i64) -> Option<ParsedTime> {
    let v = number.unsigned_abs();
    let clamped = |negative| ParsedTime {
        value: if negative { Time::MIN } else { Time::MAX },
        fsp: 0,
        truncated: false,
        out_of_range: true,
        deprecated: None,
    };
    if v > 8_385_959 {
        if number >= 10_000_000_000
            && let Some(d) = number_to_datetime(number, DateFlags::LAX)
        {
            return Some(ParsedTime::of(&d));
        }
        return Some(clamped(number < 0));
    }
    let (hour, minute, second) = ((v / 10000) as u32, (v / 100 % 100) as u32, (v % 100) as u32);
    if minute > 59 || second > 59 {
        return None;
    }
    Some(ParsedTime {
        value: Time::new(number < 0, hour, minute, second, 0),
        fsp: 0,
        truncated: false,
        out_of_range: false,
        deprecated: None,
    })
}

impl DateTime {
    /// Adds whole seconds; `None` beyond year 9999 and for a date with zero parts.
    fn add_seconds(self, seconds: i64) -> Option<DateTime> {
        if self.month() == 0 || self.day() == 0 {
            return None;
        }
        DateTime::from_micros(self.to_micros() + seconds * 1_000_000)
    }
}

/// Bytes of `YYYY-MM-DD`.
const DAY: usize = 10;

/// A number of as many digits.
#[inline]
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0')))
}

/// `YYYY-MM-DD`, of a day that every month has: no mode minds it.
#[inline]
pub(crate) fn plain_date(text: &[u8]) -> Option<Date> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = text else { return None };
    let (year, month, day) = (number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?);
    (year > 0 && (1..=12).contains(&month) && (1..=28).contains(&day)).then(|| Date::new(year, month, day))
}

/// The same with ` HH:MM:SS`.
#[inline]
pub(crate) fn plain_datetime(text: &[u8]) -> Option<DateTime> {
    let (date, time) = text.split_at_checked(DAY)?;
    let &[b' ', a, b, b':', c, d, b':', e, f] = time else { return None };
    let date = plain_date(date)?;
    let (hour, minute, second) = (number(&[a, b])?, number(&[c, d])?, number(&[e, f])?);
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then(|| DateTime::new(date.year(), date.month(), date.day(), hour, minute, second, 0))
}
