use super::*;
use crate::testing::seeds;

fn datetime(text: &str) -> String {
    parse_datetime(text.as_bytes(), DateFlags::LAX)
        .map_or("NULL".into(), |p| p.value.to_string().trim_end_matches(".000000").to_owned())
}

fn time(text: &str) -> String {
    parse_time(text.as_bytes()).map_or("NULL".into(), |p| p.value.to_string().trim_end_matches(".000000").to_owned())
}

/// The first delimiter that is deprecated: where it stands, and what belongs there.
#[test]
fn deprecated_delimiters() {
    let found = |text: &str| parse_datetime(text.as_bytes(), DateFlags::LAX).unwrap().deprecated;
    let cases: &[(&str, Option<(u8, usize, Option<u8>)>)] = &[
        ("2020-01-02 10:11:12", None),
        ("2020-01-02T10:11:12.5", None),
        ("20200102", None),
        ("20200102.", None),
        ("2020/01-02", Some((b'/', 4, Some(b'-')))),
        ("2020-01@02", Some((b'@', 7, Some(b'-')))),
        ("2020-01-02\t10:11", Some((b'\t', 10, Some(b' ')))),
        ("2020-01-02 10.11", Some((b'.', 13, Some(b':')))),
        ("2020--01-02", Some((b'-', 5, None))),
        ("2020-01-02  10:11", Some((b' ', 11, None))),
        (" 2020-01-02", Some((b' ', 0, None))),
        ("2020-01-02 ", Some((b' ', 10, None))),
        ("2020-01-02 10:11:12 ", Some((b' ', 19, None))),
    ];
    for (text, expected) in cases {
        assert_eq!(found(text).map(|d| (d.byte, d.at, d.standard)), *expected, "{text:?}");
    }
    let time = parse_time(b"-10:11:12 ").unwrap().deprecated;
    assert_eq!(time.map(|d| (d.byte, d.at)), Some((b' ', 9)));
}

#[test]
fn datetime_literals() {
    for (text, want) in [
        ("2020-01-02", "2020-01-02 00:00:00"),
        ("20-1-2", "2020-01-02 00:00:00"),
        ("70-1-1", "1970-01-01 00:00:00"),
        ("200102", "2020-01-02 00:00:00"),
        ("20200102", "2020-01-02 00:00:00"),
        ("20200102101112", "2020-01-02 10:11:12"),
        ("200102101112", "2020-01-02 10:11:12"),
        ("20200102T101112.5", "2020-01-02 10:11:12.500000"),
        ("2020-01-02T10:11:12", "2020-01-02 10:11:12"),
        ("2020/01/02 10.11.12", "2020-01-02 10:11:12"),
        ("2020@01@02 10^11^12", "2020-01-02 10:11:12"),
        ("2020-01-02 10-11-12", "2020-01-02 10:11:12"),
        ("2020-01-02 10:11:12.1234567", "2020-01-02 10:11:12.123457"),
        ("2020-12-31 23:59:59.9999999", "2021-01-01 00:00:00"),
        ("2020-01-02 10:11", "2020-01-02 10:11:00"),
        (" 2020-01-02 1:2:3 ", "2020-01-02 01:02:03"),
        ("2020-01-02 10:11:12+05:30", "2020-01-02 10:11:12"),
        // An offset stands behind seconds.
        ("2020-01-02 10:11-05:30", "2020-01-02 10:11:05"),
        ("2020-01-02 10:11:12-5:30", "NULL"),
        ("2020-01-02 10:11:12+05:30 ", "2020-01-02 10:11:12"),
        ("2020-00-01", "2020-00-01 00:00:00"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("0", "NULL"),
        ("2020-02-30", "NULL"),
        ("2020-13-01", "NULL"),
        ("2020-01-02 24:00:00", "NULL"),
        ("2020-01-02 10:60:00", "NULL"),
        ("10000-01-01", "NULL"),
        ("9999-12-31 23:59:59.9999999", "NULL"),
        ("abc", "NULL"),
        ("", "NULL"),
    ] {
        assert_eq!(datetime(text), want, "{text}");
    }
    let p = parse_datetime(b"2020-01-02 10:11:12+05:30", DateFlags::LAX).unwrap();
    assert_eq!((p.offset, p.truncated), (Some(19800), false));
    let p = parse_datetime(b"2020-01-02x", DateFlags::LAX).unwrap();
    assert!(p.truncated && p.date_only);
    assert!(parse_datetime(b"2020-00-01", DateFlags::STRICT).is_none());
    assert!(parse_datetime(b"0000-00-00", DateFlags::STRICT).is_none());
    let invalid = DateFlags { allow_invalid: true, ..DateFlags::LAX };
    assert!(parse_datetime(b"2020-02-31", invalid).is_some() && parse_datetime(b"2020-02-32", invalid).is_none());
}

#[test]
fn time_literals() {
    for (text, want) in [
        ("10:11:12", "10:11:12"),
        ("10:11", "10:11:00"),
        ("10", "00:00:10"),
        ("101112.5", "10:11:12.500000"),
        ("-1:2:3", "-01:02:03"),
        ("1 10:11:12", "34:11:12"),
        ("1 10", "34:00:00"),
        ("839:00:00", "838:59:59"),
        ("-839:00:00", "-838:59:59"),
        ("838:59:59.9999999", "838:59:59"),
        ("10:11:12.1234567", "10:11:12.123457"),
        ("10 :11:12", "10:11:12"),
        ("2020-01-02 10:11:12.5", "10:11:12.500000"),
        ("20200102101112", "10:11:12"),
        ("2020-01-02", "00:20:20"),
        ("abc", "NULL"),
        (":", "NULL"),
        ("-x", "NULL"),
        ("x10:11:12", "NULL"),
        ("1x", "00:00:01"),
        ("10:60:00", "NULL"),
        ("236060", "NULL"),
        ("1e3", "NULL"),
        ("", "NULL"),
        ("99999999999999999999:00:00", "NULL"),
    ] {
        assert_eq!(time(text), want, "{text}");
    }
    assert!(parse_time(b"1x").unwrap().truncated);
    assert!(parse_time(b"839:00").unwrap().out_of_range);
}

#[test]
fn numbers() {
    let dt = |n| number_to_datetime(n, DateFlags::LAX).map(|p| (p.value.to_number(), p.date_only));
    assert_eq!(dt(20200102), Some((20200102000000, true)));
    assert_eq!(dt(101), Some((20000101000000, true)));
    assert_eq!(dt(700101), Some((19700101000000, true)));
    assert_eq!(dt(200102101112), Some((20200102101112, false)));
    assert_eq!(dt(0), Some((0, false)));
    assert_eq!(dt(100), None);
    assert_eq!(dt(20200230), None);
    assert_eq!(dt(i64::MAX), None);
    let t = |n| number_to_time(n).map(|p| p.value.to_number());
    assert_eq!(t(-101112), Some(-101112));
    assert_eq!(t(8385960), Some(8385959));
    assert_eq!(t(126100), None);
    assert_eq!(t(20200102101112), Some(101112));
    assert_eq!(t(i64::MIN), Some(-8385959));
}

#[test]
fn calendar_and_weeks() {
    assert_eq!(to_days(0, 1, 1), 1);
    assert_eq!(to_days(1970, 1, 1), DAYS_AT_EPOCH);
    assert_eq!(to_days(9999, 12, 31), 3_652_424);
    for days in (366..3_652_425).step_by(5) {
        let d = from_days(days).unwrap();
        assert_eq!(d.days(), days);
        assert!(d.to_datetime().is_calendar_day());
    }
    assert_eq!(from_days(365), Some(Date::ZERO));
    assert_eq!(from_days(3_652_425), None);
    assert_eq!(weekday(to_days(2020, 2, 29)), 5);
    // WEEK(d, 0..7) and YEARWEEK(d, 0..7).
    for (y, m, d, weeks, years) in [
        (2008, 2, 20, [7, 8, 7, 8, 8, 7, 8, 7], [200807, 200808, 200807, 200808, 200808, 200807, 200808, 200807]),
        (2000, 1, 1, [0, 0, 52, 52, 0, 0, 52, 52], [199952, 199952, 199952, 199952, 199952, 199952, 199952, 199952]),
        (
            2000,
            12,
            31,
            [53, 52, 53, 52, 53, 52, 1, 52],
            [200053, 200052, 200053, 200052, 200101, 200052, 200101, 200052],
        ),
        (2008, 1, 1, [0, 1, 52, 1, 1, 0, 1, 53], [200752, 200801, 200752, 200801, 200801, 200753, 200801, 200753]),
    ] {
        let date = Date::new(y, m, d);
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|mode| week(date, mode)), weeks, "{date}");
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|mode| yearweek(date, mode)), years, "{date}");
    }
}

fn dt(text: &str) -> DateTime {
    parse_datetime(text.as_bytes(), DateFlags::LAX).unwrap().value
}

#[test]
fn intervals() {
    use IntervalUnit::*;
    let add = |t: &str, v: &str, unit: IntervalUnit| {
        let i = Interval::parse(v.as_bytes(), unit).unwrap();
        add_interval(dt(t), i).map_or("NULL".into(), |d| d.to_string().trim_end_matches(".000000").to_owned())
    };
    assert_eq!(add("2018-05-01", "1", Day), "2018-05-02 00:00:00");
    assert_eq!(add("2020-12-31 23:59:59", "1", Second), "2021-01-01 00:00:00");
    assert_eq!(add("2018-12-31 23:59:59", "1", Day), "2019-01-01 23:59:59");
    assert_eq!(add("2100-12-31 23:59:59", "1:1", MinuteSecond), "2101-01-01 00:01:00");
    assert_eq!(add("2025-01-01 00:00:00", "-1 1:1:1", DaySecond), "2024-12-30 22:58:59");
    assert_eq!(add("1900-01-01 00:00:00", "-1 10", DayHour), "1899-12-30 14:00:00");
    assert_eq!(add("1998-01-02", "-31", Day), "1997-12-02 00:00:00");
    assert_eq!(add("1992-12-31 23:59:59.000002", "1.999999", SecondMicrosecond), "1993-01-01 00:00:01.000001");
    assert_eq!(add("2024-01-31", "1", Month), "2024-02-29 00:00:00");
    assert_eq!(add("2024-02-29", "1", Year), "2025-02-28 00:00:00");
    assert_eq!(add("2024-02-29", "1-1", YearMonth), "2025-03-29 00:00:00");
    assert_eq!(add("9999-12-31", "1", Day), "NULL");
    assert_eq!(add("2024-00-01", "1", Day), "NULL");
    assert_eq!(add("2024-05-31", "-1", Quarter), "2024-02-29 00:00:00");
    assert_eq!(Interval::parse(b"1.5", SecondMicrosecond), Some(Interval::Micros(1_500_000)));
    assert_eq!(Interval::parse(b"1:2:3:4", MinuteSecond), None);
    assert_eq!(add_interval(dt("2024-01-01"), Interval::of(i64::MAX, Week)), None);
    assert_eq!(add_interval(dt("2024-01-01"), Interval::of(i64::MIN, Year)), None);
    assert_eq!(IntervalUnit::by_name("sql_tsi_day"), Some(Day));
    assert_eq!(IntervalUnit::by_name("day_microsecond").unwrap().name(), "DAY_MICROSECOND");
    let t = Time::new(false, 838, 59, 59, 0);
    assert_eq!(add_interval_time(t, Interval::of(1, Second)), None);
    assert_eq!(add_interval_time(t, Interval::of(-839, Hour)).unwrap().to_string(), "-00:00:01.000000");
    for (unit, a, b, want) in [
        (Month, "2003-02-01", "2003-05-01", 3),
        (Year, "2002-05-01", "2001-01-01", -1),
        (Minute, "2003-02-01", "2003-05-01 12:05:55", 128_885),
        (Month, "2020-01-31", "2020-02-29", 0),
        (Month, "2020-02-29 10:00:00", "2020-01-29 11:00:00", 0),
        (Quarter, "2020-01-01", "2021-01-01", 4),
        (Week, "2020-01-01", "2020-01-15", 2),
        (Microsecond, "2020-01-01", "2020-01-01 00:00:00.5", 500_000),
    ] {
        assert_eq!(timestamp_diff(unit, dt(a), dt(b)), want, "{unit:?} {a} {b}");
    }
    assert_eq!(period_add(200801, 2), Some(200803));
    assert_eq!(period_add(9912, 1), Some(200001));
    assert_eq!(period_diff(200802, 200703), Some(11));
}

#[test]
fn formats() {
    let f = |t: &str, format: &str| {
        let mut out = Vec::new();
        date_format(dt(t), format, Locale::ENGLISH, &mut out).then(|| String::from_utf8(out).unwrap())
    };
    assert_eq!(f("2009-10-04 22:23:00", "%W %M %Y").unwrap(), "Sunday October 2009");
    assert_eq!(f("2007-10-04 22:23:00", "%H:%i:%s").unwrap(), "22:23:00");
    assert_eq!(f("1900-10-04 22:23:00", "%D %y %a %d %m %b %j").unwrap(), "4th 00 Thu 04 10 Oct 277");
    assert_eq!(f("1997-10-04 22:23:00", "%H %k %I %r %T %S %w").unwrap(), "22 22 10 10:23:00 PM 22:23:00 00 6");
    assert_eq!(f("1999-01-01", "%X %V").unwrap(), "1998 52");
    assert_eq!(f("2006-06-00", "%d").unwrap(), "00");
    assert_eq!(f("2006-00-01", "%M"), None);
    assert_eq!(f("2006-06-11", "%D %% %q %").unwrap(), "11th % q %");
    assert_eq!(f("2006-06-11 00:00:00", "%l %h %p %f").unwrap(), "12 12 AM 000000");
    let mut out = Vec::new();
    assert!(time_format(Time::new(false, 100, 0, 0, 0), "%H %k %h %I %l", &mut out));
    assert_eq!(out, b"100 100 04 04 4");
    let s = |text: &str, format: &str| {
        str_to_date(text, format).map(|(d, _)| d.to_string().trim_end_matches(".000000").to_owned())
    };
    assert_eq!(s("01,5,2013", "%d,%m,%Y").unwrap(), "2013-05-01 00:00:00");
    assert_eq!(s("May 1, 2013", "%M %d,%Y").unwrap(), "2013-05-01 00:00:00");
    assert_eq!(s("a09:30:17", "a%h:%i:%s").unwrap(), "0000-00-00 09:30:17");
    assert_eq!(s("a09:30:17", "%h:%i:%s"), None);
    assert_eq!(s("abc", "abc").unwrap(), "0000-00-00 00:00:00");
    assert_eq!(s("9", "%m").unwrap(), "0000-09-00 00:00:00");
    assert_eq!(s("200442 Monday", "%X%V %W").unwrap(), "2004-10-18 00:00:00");
    assert_eq!(s("10:11:12 pm", "%r").unwrap(), "0000-00-00 22:11:12");
    assert_eq!(s("2020 060", "%Y %j").unwrap(), "2020-02-29 00:00:00");
    assert_eq!(s("12.5", "%S.%f").unwrap(), "0000-00-00 00:00:12.500000");
    assert!(str_to_date("09:30:17a", "%h:%i:%s").unwrap().1);
    assert_eq!(DateParts::of("%H:%i"), DateParts { date: false, time: true, micros: false });
}

#[test]
fn rounding() {
    let r = |t: &str, fsp| dt(t).round(fsp, false).map(|d| d.to_string());
    assert_eq!(r("2020-12-31 23:59:59.5", 0).unwrap(), "2021-01-01 00:00:00.000000");
    assert_eq!(r("2020-12-31 23:59:59.994", 2).unwrap(), "2020-12-31 23:59:59.990000");
    assert_eq!(r("9999-12-31 23:59:59.5", 0), None);
    assert_eq!(r("2020-00-00 10:59:59.5", 0).unwrap(), "2020-00-00 11:00:00.000000");
    assert_eq!(dt("2020-12-31 23:59:59.999").round(0, true).unwrap().to_string(), "2020-12-31 23:59:59.000000");
    assert_eq!(Time::new(true, 1, 2, 3, 500_000).round(0, false).to_string(), "-01:02:04.000000");
    let mut out = Vec::new();
    dt("2020-01-02 03:04:05.678").write(2, &mut out);
    assert_eq!(out, b"2020-01-02 03:04:05.67");
}

#[test]
fn time_zones() {
    for (text, shown) in [
        ("+05:30", "+05:30"),
        ("-8:00", "-08:00"),
        ("+14:00", "+14:00"),
        ("-00:00", "+00:00"),
        ("+5:3", "+05:03"),
        ("Europe/Berlin", "Europe/Berlin"),
        ("UTC", "UTC"),
        ("system", "SYSTEM"),
    ] {
        assert_eq!(TimeZone::parse(text).unwrap().to_string(), shown);
    }
    for text in ["+14:01", "-14:00", "+1:", "+00005:00", "5:00", "Nowhere/Else", "", "+a:00", "+05:60", "+é:00"] {
        assert_eq!(TimeZone::parse(text).unwrap_err().number(), 1298, "{text}");
    }
    let berlin = TimeZone::parse("Europe/Berlin").unwrap();
    let instant = |t: &str| Timestamp::from_local(dt(t), &berlin);
    assert_eq!(instant("2024-07-01 12:00:00").unwrap().0.unix_micros(), 1_719_828_000_000_000);
    assert_eq!(instant("2024-07-01 12:00:00.25").unwrap().0.to_local(&berlin), dt("2024-07-01 12:00:00.25"));
    // Skipped: the instant of the step. Twice: the first.
    let (t, gap) = instant("2024-03-31 02:30:00").unwrap();
    assert!(gap);
    assert_eq!(t.to_local(&berlin), dt("2024-03-31 03:00:00"));
    assert_eq!(instant("2024-10-27 02:30:00").unwrap().0.to_local(&TimeZone::UTC), dt("2024-10-27 00:30:00"));
    assert_eq!(Timestamp::from_local(DateTime::ZERO, &berlin), Some((Timestamp::ZERO, false)));
    assert_eq!(Timestamp::ZERO.to_local(&berlin), DateTime::ZERO);
    assert!(Timestamp::from_local(dt("1970-01-01 00:00:00"), &TimeZone::UTC).is_none());
    assert!(Timestamp::from_local(dt("2038-01-19 03:14:07.999999"), &TimeZone::UTC).is_some());
    assert!(Timestamp::from_local(dt("2038-01-19 03:14:08"), &TimeZone::UTC).is_none());
    seeds(2000, |rng| {
        let zone = TimeZone::parse(rng.pick::<&str>(&[
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "+05:45",
            "Asia/Kathmandu",
        ]))
        .unwrap();
        let t = Timestamp::from_unix_micros((1 + rng.below(2_147_483_646) as i64) * 1_000_000).unwrap();
        let (back, gap) = Timestamp::from_local(t.to_local(&zone), &zone).unwrap();
        // Only an hour that occurs twice may come back as its first.
        assert!(!gap && (0..=3_600_000_000).contains(&(t.unix_micros() - back.unix_micros())));
    });
}

#[test]
fn any_text_is_harmless() {
    seeds(20_000, |rng| {
        let text = rng.bytes(40, b"0123456789-:. T/+9\0");
        if let Some(p) = parse_datetime(&text, DateFlags::LAX) {
            let shown = p.value.to_string();
            assert_eq!(dt(&shown), p.value);
            assert_eq!(DateTime::from_packed(p.value.packed()), Some(p.value));
        }
        if let Some(p) = parse_time(&text) {
            assert_eq!(Time::from_packed(p.value.packed()), Some(p.value));
        }
        let text = String::from_utf8_lossy(&text);
        let format = String::from_utf8_lossy(&rng.bytes(20, b"%YmdHiSfjWMbaprTXVwUu.@#D ")).into_owned();
        let _ = str_to_date(&text, &format);
        let n = rng.next() as i64 >> rng.below(64);
        if let Some(p) = number_to_datetime(n, DateFlags::LAX) {
            let mut out = Vec::new();
            date_format(p.value, &format, Locale::ENGLISH, &mut out);
        }
        if let Some(p) = number_to_time(n) {
            let mut out = Vec::new();
            time_format(p.value, &format, &mut out);
        }
        let _ = DateTime::from_packed(n).map(|d| (d.to_micros(), d.round(3, false), d.to_string()));
        let _ = Time::from_packed(n).map(|t| (t.round(2, false), t.to_string()));
        let _ = TimeZone::parse(&text);
    });
}
