use super::arith::{ArithOp, BitOp, Domain, arith, arith_type, bit_not, bits, neg};
use super::compare::{coerce, compare_same};
use super::*;
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::members::Members;
use crate::sqltype::{SqlType, TypeId};
use crate::testing::{random_type, random_value, seeds};
use crate::value::Value;
use std::cmp::Ordering;

/// Runs with a context of a mode; gives the result and the codes of the warnings.
fn with<R>(mode: SqlMode, strict: bool, f: impl FnOnce(&mut Context<'_>) -> R) -> (R, Vec<u16>) {
    let mut warnings = Warnings::default();
    let mut cx = Context {
        mode,
        zone: &TimeZone::UTC,
        today: Date::new(2024, 5, 6),
        strict,
        warnings: &mut warnings,
        stopped: super::never,
        room: crate::room::Room::FREE,
    };
    let r = f(&mut cx);
    (r, warnings.iter().map(|w| w.code.number()).collect())
}

fn lax<R>(f: impl FnOnce(&mut Context<'_>) -> R) -> (R, Vec<u16>) {
    with(SqlMode::NONE, false, f)
}

fn shown(v: &Value) -> String {
    let mut out = Vec::new();
    v.write_text(&mut out);
    if v.is_null() { "NULL".into() } else { String::from_utf8_lossy(&out).into_owned() }
}

/// Stores in strict mode, then without: `value` or `error number`, then `value warnings`.
fn stores(v: &Value, ty: &SqlType) -> (String, String) {
    let at = StoreTarget { column: "c", row: 1 };
    let (strict, _) = with(SqlMode::DEFAULT, true, |cx| store(v.as_ref(), ty, at, cx));
    let strict = strict.map_or_else(|e| e.number().to_string(), |v| shown(&v));
    let (loose, codes) = lax(|cx| store(v.as_ref(), ty, at, cx));
    let codes: String = codes.iter().map(|c| format!(" {c}")).collect();
    (strict, shown(&loose.unwrap()) + &codes)
}

fn dec(t: &str) -> Value {
    Value::Decimal(Decimal::parse(t.as_bytes()).value)
}

fn t(text: &str) -> Value {
    Value::text(text)
}

#[test]
fn storing_numbers() {
    let int = SqlType::new(TypeId::Int);
    let tiny_u = SqlType::new(TypeId::TinyInt).unsigned();
    let decimal = SqlType::decimal(5, 2);
    let double = SqlType::DOUBLE;
    let fixed = SqlType { length: 5, scale: 2, ..SqlType::new(TypeId::Float) };
    for (v, ty, strict, loose) in [
        (Value::Int(5), &int, "5", "5"),
        (Value::Int(1 << 40), &int, "1264", "2147483647 1264"),
        (Value::UInt(u64::MAX), &int, "1264", "2147483647 1264"),
        (t("12"), &int, "12", "12"),
        (t(" 12 "), &int, "12", "12"),
        (t("1.5"), &int, "2", "2"),
        (t("1e3"), &int, "1000", "1000"),
        (t("12abc"), &int, "1265", "12 1265"),
        (t("abc"), &int, "1366", "0 1366"),
        (t(""), &int, "1366", "0 1366"),
        (t("99999999999999999999"), &int, "1264", "2147483647 1264"),
        (dec("2.5"), &int, "3", "3"),
        (dec("-2.5"), &int, "-3", "-3"),
        (Value::Double(2.5), &int, "2", "2"),
        (Value::Double(1e300), &int, "1264", "2147483647 1264"),
        (Value::Int(-1), &tiny_u, "1264", "0 1264"),
        (Value::Int(256), &tiny_u, "1264", "255 1264"),
        (dec("1.005"), &decimal, "1.01", "1.01 1265"),
        (dec("999.994"), &decimal, "999.99", "999.99 1265"),
        (dec("999.995"), &decimal, "1264", "999.99 1264"),
        (t("12.345abc"), &decimal, "1366", "12.35 1265"),
        (t("abc"), &decimal, "1366", "0.00 1366"),
        (t("1e2"), &decimal, "100.00", "100.00"),
        (Value::Int(-1000), &decimal, "1264", "-999.99 1264"),
        (Value::Double(0.1), &decimal, "0.10", "0.10"),
        (t("1.5x"), &double, "1265", "1.5 1265"),
        (t("abc"), &double, "1265", "0 1265"),
        (t("1e400"), &double, "1264", "1.7976931348623157e308 1264"),
        (Value::Double(999.999), &fixed, "1264", "999.99 1264"),
        (Value::Double(1.005), &fixed, "1", "1"),
        (Value::Double(1e39), &SqlType::new(TypeId::Float), "1264", "3.40282e38 1264"),
        (Value::Int(70), &SqlType::new(TypeId::Year), "1970", "1970"),
        (Value::Int(0), &SqlType::new(TypeId::Year), "0000", "0000"),
        (t("0"), &SqlType::new(TypeId::Year), "2000", "2000"),
        (Value::Int(2200), &SqlType::new(TypeId::Year), "1264", "0000 1264"),
    ] {
        let (s, l) = stores(&v, ty);
        assert_eq!((s.as_str(), l.as_str()), (strict, loose), "{v:?} into {ty}");
    }
}

#[test]
fn storing_text() {
    let ci = CollationId::DEFAULT;
    let varchar = SqlType::varchar(3, ci);
    let char3 = SqlType::char(3, ci);
    let latin1 = SqlType::varchar(10, crate::Collation::by_name("latin1_swedish_ci").unwrap().id);
    let utf8mb3 = SqlType::varchar(10, crate::Collation::by_name("utf8mb3_general_ci").unwrap().id);
    let binary = SqlType { length: 3, ..SqlType::new(TypeId::Binary) };
    let tinytext = SqlType::new(TypeId::TinyText).with_collation(ci);
    for (v, ty, strict, loose) in [
        (t("abc"), &varchar, "abc", "abc"),
        (t("äöü"), &varchar, "äöü", "äöü"),
        (t("abcd"), &varchar, "1406", "abc 1265"),
        (t("abc  "), &varchar, "abc", "abc 1265"),
        (t("ab  "), &char3, "ab", "ab"),
        (t("abc  "), &char3, "abc", "abc"),
        (Value::Int(1234), &varchar, "1406", "123 1265"),
        (Value::Double(0.5), &varchar, "0.5", "0.5"),
        (t("日"), &latin1, "1366", "? 1366"),
        (t("😀"), &utf8mb3, "1366", "? 1366"),
        (Value::bytes(b"a\xFF"), &varchar, "1366", "a 1366"),
        (Value::bytes(b"a"), &binary, "a\0\0", "a\0\0"),
        (Value::bytes(b"abcd"), &binary, "1406", "abc 1265"),
        (t(&"ä".repeat(127)), &tinytext, &"ä".repeat(127), &"ä".repeat(127)),
        (Value::Null, &varchar, "NULL", "NULL"),
    ] {
        let (s, l) = stores(&v, ty);
        assert_eq!((s.as_str(), l.as_str()), (strict, loose), "{v:?} into {ty}");
    }
    let (s, l) = stores(&t(&"ä".repeat(128)), &tinytext);
    assert_eq!((s.as_str(), l), ("1406", "ä".repeat(127) + " 1265"));
    let at = StoreTarget { column: "c", row: 7 };
    let (r, _) = with(SqlMode::DEFAULT, true, |cx| store(Value::Null.as_ref(), &varchar.clone().not_null(), at, cx));
    assert_eq!(r.unwrap_err().message(), "Column 'c' cannot be null");
    let (r, _) = with(SqlMode::DEFAULT, true, |cx| store(t("😀").as_ref(), &utf8mb3, at, cx));
    assert_eq!(r.unwrap_err().message(), "Incorrect string value: '\\xF0\\x9F\\x98\\x80' for column 'c' at row 7");
}

/// What goes into its column without a second look is what storing it gives, without a word.
#[test]
fn plain_values_are_stored_as_others_are() {
    let mut types: Vec<SqlType> = [TypeId::Int, TypeId::BigInt].map(SqlType::new).to_vec();
    for id in [TypeId::TinyInt, TypeId::SmallInt, TypeId::MediumInt, TypeId::Int, TypeId::BigInt] {
        types.extend([SqlType::new(id), SqlType::new(id).unsigned()]);
    }
    types.extend([SqlType::new(TypeId::Date), SqlType::temporal(TypeId::DateTime, 0)]);
    types.extend([SqlType::temporal(TypeId::DateTime, 3), SqlType::temporal(TypeId::Timestamp, 0)]);
    for collation in ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "latin1_swedish_ci", "utf16_general_ci", "binary"] {
        let collation = crate::collation::Collation::by_name(collation).unwrap().id;
        for id in [TypeId::VarChar, TypeId::Char, TypeId::Binary, TypeId::Text] {
            types.push(SqlType { length: 6, collation, ..SqlType::new(id) });
        }
    }
    let texts = "0,7,-7,-0,00012,2147483647,2147483648,-2147483648,-2147483649,999999999999999999,9999999999999999999,-,,+1, 1,\
                 1 ,1x,1.5,1e3,abc,abcdef,abcdefg,abc   ,äöüß,日本,127,128,-128,-129,255,256,32767,32768,\
                 -32768,-32769,65535,65536,8388607,8388608,-8388608,-8388609,16777215,16777216,4294967295,4294967296,\
                 2024-05-06,2024-02-28,2024-02-29,2023-02-29,2024-00-01,2024-13-01,0000-01-01,0001-01-01,9999-12-28,\
                 2024-5-6,2024-05-06x,2024-05-06 10:11:12,2024-05-06 23:59:59,2024-05-06 24:00:00,\
                 2024-05-06 10:60:00,2024-05-06 10:11:12.5,2024-05-06T10:11:12,0000-00-00 00:00:00";
    let mut values: Vec<Value> = texts.split(',').map(t).collect();
    values.extend(texts.split(',').map(|text| Value::bytes(text.as_bytes())));
    values.extend([Value::Int(5), Value::Int(i64::MAX), Value::Int(i64::MIN), Value::UInt(5), Value::Null, dec("1.5")]);
    let borders = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    values.extend(borders.flat_map(|n| [Value::UInt(n), Value::Int(n as i64), Value::Int((n as i64).wrapping_neg())]));
    let mut plain = 0;
    for ty in &types {
        for v in &values {
            let at = StoreTarget { column: "c", row: 1 };
            let (other, codes) = with(SqlMode::DEFAULT, true, |cx| store(v.as_ref(), ty, at, cx));
            let Some(stored) = store_plain(v.as_ref(), ty) else {
                let is_number = matches!(v, Value::Int(_) | Value::UInt(_)) && ty.id.is_integer();
                let refused = other.as_ref().is_err_and(|e| e.code() == ErrorCode::WarnDataOutOfRange);
                assert!(!is_number || refused, "{v:?} into {ty:?}");
                continue;
            };
            plain += 1;
            assert_eq!((other.as_ref(), &codes[..]), (Ok(&stored), &[][..]), "{v:?} into {ty:?}");
        }
    }
    assert!(plain > 100, "{plain}");
}

#[test]
fn storing_dates_and_times() {
    let date = SqlType::new(TypeId::Date);
    let datetime = SqlType::temporal(TypeId::DateTime, 0);
    let datetime3 = SqlType::temporal(TypeId::DateTime, 3);
    let timestamp = SqlType::temporal(TypeId::Timestamp, 0);
    let time = SqlType::temporal(TypeId::Time, 0);
    for (v, ty, strict, loose) in [
        (t("2024-05-06"), &date, "2024-05-06", "2024-05-06"),
        (Value::Int(20240506), &date, "2024-05-06", "2024-05-06"),
        (t("2024-05-06 10:00:00"), &date, "2024-05-06", "2024-05-06 1265"),
        (t("2024-02-30"), &date, "1292", "0000-00-00 1264"),
        (t("abc"), &date, "1292", "0000-00-00 1265"),
        (t("2024-05-06x"), &date, "1292", "2024-05-06 1265"),
        (t("0000-00-00"), &date, "1292", "0000-00-00"),
        (t("2024-00-06"), &date, "1292", "2024-00-06"),
        (t("2024-05-06 10:11:12.5"), &datetime, "2024-05-06 10:11:13", "2024-05-06 10:11:13"),
        (t("2024-05-06 10:11:12.5678"), &datetime3, "2024-05-06 10:11:12.568", "2024-05-06 10:11:12.568"),
        (t("2024-05-06 10:11:12"), &timestamp, "2024-05-06 10:11:12", "2024-05-06 10:11:12"),
        (t("2039-01-01"), &timestamp, "1292", "0000-00-00 00:00:00 1264"),
        (t("10:11:12.5"), &time, "10:11:13", "10:11:13"),
        (t("900:00:00"), &time, "1292", "838:59:59 1264"),
        (t("abc"), &time, "1292", "00:00:00 1265"),
        (Value::Int(101112), &time, "10:11:12", "10:11:12"),
        (Value::Int(8385960), &time, "1292", "838:59:59 1264"),
    ] {
        let (s, l) = stores(&v, ty);
        assert_eq!((s.as_str(), l.as_str()), (strict, loose), "{v:?} into {ty}");
    }
    let at = StoreTarget { column: "d", row: 1 };
    let (r, _) = with(SqlMode::DEFAULT, true, |cx| store(t("2024-02-30").as_ref(), &date, at, cx));
    assert_eq!(
        r.unwrap_err().to_string(),
        "ERROR 1292 (22007): Incorrect date value: '2024-02-30' for column 'd' at row 1"
    );
}

#[test]
fn storing_enum_set_bit() {
    let list = |id| {
        let names = ["red", "green", "blue"].map(Box::from).into();
        SqlType::enumeration(id, Members::new(names, CollationId::DEFAULT).into())
    };
    let (e, s) = (list(TypeId::Enum), list(TypeId::Set));
    let bit = SqlType { length: 4, ..SqlType::new(TypeId::Bit) };
    for (v, ty, strict, loose) in [
        (t("GREEN"), &e, "green", "green"),
        (t("2"), &e, "green", "green"),
        (Value::Int(3), &e, "blue", "blue"),
        (t("pink"), &e, "1265", " 1265"),
        (Value::Int(4), &e, "1265", " 1265"),
        (t("blue,red"), &s, "red,blue", "red,blue"),
        (t(""), &s, "", ""),
        (Value::Int(5), &s, "red,blue", "red,blue"),
        (t("5"), &s, "red,blue", "red,blue"),
        (t("red,pink"), &s, "1265", "red 1265"),
        (Value::Int(15), &bit, "\u{f}", "\u{f}"),
        (Value::Int(16), &bit, "1406", "\u{f} 1264"),
        (Value::bytes(b"\x05"), &bit, "\u{5}", "\u{5}"),
    ] {
        let (a, b) = stores(&v, ty);
        assert_eq!((a.as_str(), b.as_str()), (strict, loose), "{v:?} into {ty}");
    }
    assert_eq!(e.to_string(), "enum('red','green','blue')");
}

#[test]
fn casts() {
    let signed = SqlType::BIGINT;
    let unsigned = SqlType::bigint_unsigned();
    let char2 = SqlType::varchar(2, CollationId::DEFAULT);
    for (v, ty, want, codes) in [
        (t("12abc"), &signed, "12", &[1292][..]),
        (t("abc"), &signed, "0", &[1292]),
        (t("-5"), &unsigned, "18446744073709551611", &[1105]),
        (t("99999999999999999999"), &unsigned, "18446744073709551615", &[1292]),
        (dec("1.5"), &signed, "2", &[]),
        (Value::Double(-2.5), &signed, "-2", &[]),
        (Value::Double(1e20), &signed, "9223372036854775807", &[1292]),
        (t("abc"), &char2, "ab", &[1292]),
        (Value::Int(123), &char2, "12", &[1292]),
        (t("x"), &SqlType::new(TypeId::Date), "NULL", &[1292]),
        (t("2024-05-06 10:00:00"), &SqlType::new(TypeId::Date), "2024-05-06", &[]),
        (t("2024-05-06 10:00:00.7"), &SqlType::temporal(TypeId::DateTime, 0), "2024-05-06 10:00:01", &[]),
        (Value::Int(101112), &SqlType::temporal(TypeId::Time, 0), "10:11:12", &[]),
        (t("1.55"), &SqlType::decimal(5, 1), "1.6", &[]),
        (t("1234567"), &SqlType::decimal(5, 1), "9999.9", &[1264]),
        (t("1e1"), &SqlType::DOUBLE, "10", &[]),
    ] {
        let (r, have) = lax(|cx| cast(v.as_ref(), ty, cx));
        assert_eq!((shown(&r.unwrap()).as_str(), &have[..]), (want, codes), "CAST({v:?} AS {ty})");
    }
    let (r, _) = lax(|cx| cast(t("{}").as_ref(), &SqlType::new(TypeId::Json), cx));
    assert_eq!(shown(&r.unwrap()), "{}");
    let (r, _) = lax(|cx| cast(t("{").as_ref(), &SqlType::new(TypeId::Json), cx));
    assert_eq!(r.unwrap_err().number(), 3141);
    let (r, _) = with(SqlMode::DEFAULT, true, |cx| cast(t("12abc").as_ref(), &signed, cx));
    assert_eq!(r.unwrap_err().message(), "Truncated incorrect INTEGER value: '12abc'");
}

#[test]
fn comparisons() {
    let ty = |v: &Value| match v {
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::bigint_unsigned(),
        Value::Decimal(_) => SqlType::decimal(20, 5),
        Value::Double(_) => SqlType::DOUBLE,
        Value::Str(..) => SqlType::varchar(20, CollationId::DEFAULT),
        Value::Date(_) => SqlType::new(TypeId::Date),
        Value::DateTime(..) => SqlType::temporal(TypeId::DateTime, 0),
        Value::Time(..) => SqlType::temporal(TypeId::Time, 0),
        _ => SqlType::NULL,
    };
    use Ordering::*;
    let date = Value::Date(Date::new(2024, 5, 6));
    let datetime = Value::DateTime(Date::new(2024, 5, 6).to_datetime(), 0);
    let time = Value::Time(crate::temporal::Time::new(false, 1, 2, 3, 0), 0);
    for (a, b, want) in [
        (Value::Int(-1), Value::UInt(u64::MAX), Some(Less)),
        (Value::UInt(u64::MAX), Value::Int(i64::MAX), Some(Greater)),
        (Value::Int(1), dec("1.0"), Some(Equal)),
        (t("1abc"), Value::Int(1), Some(Equal)),
        (t("abc"), Value::Int(0), Some(Equal)),
        (t("A"), t("a"), Some(Equal)),
        (t("2024-5-6"), date.clone(), Some(Equal)),
        (date.clone(), datetime.clone(), Some(Equal)),
        (datetime.clone(), Value::Int(20240506000000), Some(Equal)),
        (date.clone(), Value::Int(20240506), Some(Equal)),
        (time.clone(), t("1:2:3"), Some(Equal)),
        (time.clone(), Value::Int(10203), Some(Equal)),
        (time, datetime, Some(Greater)),
        (Value::Null, Value::Int(1), None),
        (Value::Null, Value::Null, None),
        (date, t("x"), Some(Greater)),
        (Value::Double(0.1), dec("0.1"), Some(Equal)),
    ] {
        let how = compare_as(&ty(&a), &ty(&b), CollationId::DEFAULT);
        let (r, _) = lax(|cx| compare(a.as_ref(), b.as_ref(), how, cx));
        assert_eq!(r.unwrap(), want, "{a:?} {b:?} as {how:?}");
        let (r, _) = lax(|cx| compare(b.as_ref(), a.as_ref(), how, cx));
        assert_eq!(r.unwrap(), want.map(Ordering::reverse), "{b:?} {a:?} as {how:?}");
        // Operands converted once compare without a context.
        let (x, y) = lax(|cx| (coerce(a.as_ref(), how, cx).unwrap(), coerce(b.as_ref(), how, cx).unwrap())).0;
        if let Some(o) = compare_same(x.as_ref(), y.as_ref(), how) {
            assert_eq!(Some(o), want);
        }
    }
}

fn calc(op: ArithOp, a: &Value, at: &SqlType, b: &Value, bt: &SqlType, mode: SqlMode) -> (String, String) {
    let (ty, domain) = arith_type(op, at, bt, mode, 4);
    let (r, codes) = with(mode, false, |cx| arith(op, domain, a.as_ref(), b.as_ref(), 4, cx));
    let text = match r.unwrap() {
        None => format!("1690 {}", domain.name()),
        Some(Value::Decimal(d)) => d.round(ty.scale).unwrap().to_string(),
        Some(v) => shown(&v),
    };
    (text + &codes.iter().map(|c| format!(" {c}")).collect::<String>(), ty.to_string())
}

#[test]
fn arithmetic() {
    use ArithOp::*;
    let int = SqlType::BIGINT;
    let uint = SqlType::bigint_unsigned();
    let text = SqlType::varchar(9, CollationId::DEFAULT);
    let d = SqlType::decimal;
    let one = d(1, 0);
    let mode = SqlMode::DEFAULT;
    let no_unsigned = SqlMode::DEFAULT | SqlMode::NO_UNSIGNED_SUBTRACTION;
    for (op, a, at, b, bt, mode, value, ty) in [
        (Add, Value::Int(1), &int, Value::Int(2), &int, mode, "3", "bigint"),
        (Add, Value::Int(i64::MAX), &int, Value::Int(1), &int, mode, "1690 BIGINT", "bigint"),
        (Add, Value::UInt(u64::MAX), &uint, Value::Int(1), &int, mode, "1690 BIGINT UNSIGNED", "bigint unsigned"),
        (Add, Value::UInt(u64::MAX), &uint, Value::Int(-1), &int, mode, "18446744073709551614", "bigint unsigned"),
        (Sub, Value::UInt(0), &uint, Value::Int(1), &int, mode, "1690 BIGINT UNSIGNED", "bigint unsigned"),
        (Sub, Value::UInt(0), &uint, Value::Int(1), &int, no_unsigned, "-1", "bigint"),
        (Mul, Value::Int(i64::MIN), &int, Value::Int(-1), &int, mode, "1690 BIGINT", "bigint"),
        (Div, Value::Int(1), &int, Value::Int(3), &int, mode, "0.3333", "decimal(23,4)"),
        (Div, Value::Int(1), &int, Value::Int(0), &int, mode, "NULL 1365", "decimal(23,4)"),
        (Div, Value::Int(1), &int, Value::Int(0), &int, SqlMode::NONE, "NULL", "decimal(23,4)"),
        (IntDiv, Value::Int(-7), &int, Value::Int(2), &int, mode, "-3", "bigint"),
        (IntDiv, Value::Int(i64::MIN), &int, Value::Int(-1), &int, mode, "1690 BIGINT", "bigint"),
        (IntDiv, dec("7.5"), &d(2, 1), dec("0.5"), &d(2, 1), mode, "15", "bigint"),
        (IntDiv, Value::Double(1e300), &SqlType::DOUBLE, Value::Int(1), &int, mode, "1690 BIGINT", "bigint"),
        (Mod, Value::Int(-7), &int, Value::Int(3), &int, mode, "-1", "bigint"),
        (Mod, Value::Int(i64::MIN), &int, Value::Int(-1), &int, mode, "0", "bigint"),
        (Mod, dec("7.5"), &d(2, 1), Value::Int(2), &one, mode, "1.5", "decimal(2,1)"),
        (Add, dec("1.5"), &d(2, 1), dec("2.25"), &d(3, 2), mode, "3.75", "decimal(4,2)"),
        (Mul, dec("1.5"), &d(2, 1), dec("2.25"), &d(3, 2), mode, "3.375", "decimal(5,3)"),
        (Add, t("1.5"), &text, Value::Int(1), &int, mode, "2.5", "double"),
        (Add, t("x"), &text, Value::Int(1), &int, mode, "1 1292", "double"),
        (
            Mul,
            Value::Double(1e300),
            &SqlType::DOUBLE,
            Value::Double(1e300),
            &SqlType::DOUBLE,
            mode,
            "1690 DOUBLE",
            "double",
        ),
        (Add, Value::Null, &int, Value::Int(1), &int, mode, "NULL", "bigint"),
    ] {
        let (v, have) = calc(op, &a, at, &b, bt, mode);
        assert_eq!((v.as_str(), have.as_str()), (value, ty), "{a:?} {op:?} {b:?}");
    }
    let (r, _) = lax(|cx| neg(Domain::Signed, Value::Int(i64::MIN).as_ref(), cx));
    assert!(r.unwrap().is_none());
    assert_eq!(
        Domain::Signed.out_of_range("(9223372036854775807 + 1)").message(),
        "BIGINT value is out of range in '(9223372036854775807 + 1)'"
    );
    let (r, _) = with(SqlMode::DEFAULT, true, |cx| {
        arith(Div, Domain::Decimal, Value::Int(1).as_ref(), Value::Int(0).as_ref(), 4, cx)
    });
    assert_eq!(r.unwrap_err().number(), 1365);
}

#[test]
fn bit_operators() {
    let run = |op, a: Value, b: Value| lax(|cx| bits(op, a.as_ref(), b.as_ref(), cx)).0;
    assert_eq!(run(BitOp::And, Value::Int(12), Value::Int(10)).unwrap(), Value::UInt(8));
    assert_eq!(run(BitOp::Or, Value::Int(-1), Value::Int(0)).unwrap(), Value::UInt(u64::MAX));
    assert_eq!(run(BitOp::ShiftLeft, Value::Int(1), Value::Int(64)).unwrap(), Value::UInt(0));
    assert_eq!(run(BitOp::ShiftRight, Value::Int(-1), Value::Int(63)).unwrap(), Value::UInt(1));
    assert_eq!(
        run(BitOp::Xor, Value::bytes(b"\x0F\xF0"), Value::bytes(b"\xFF\xFF")).unwrap(),
        Value::bytes(b"\xF0\x0F")
    );
    assert_eq!(run(BitOp::And, Value::bytes(b"a"), Value::bytes(b"bc")).unwrap_err().number(), 3513);
    assert_eq!(run(BitOp::ShiftLeft, Value::bytes(b"\x01\x80"), Value::Int(1)).unwrap(), Value::bytes(b"\x03\x00"));
    assert_eq!(run(BitOp::ShiftRight, Value::bytes(b"\x01\x80"), Value::Int(9)).unwrap(), Value::bytes(b"\x00\x00"));
    assert_eq!(run(BitOp::ShiftRight, Value::bytes(b"\x03\x80"), Value::Int(9)).unwrap(), Value::bytes(b"\x00\x01"));
    assert_eq!(run(BitOp::Or, Value::Null, Value::Int(1)).unwrap(), Value::Null);
    assert_eq!(lax(|cx| bit_not(Value::Int(1).as_ref(), cx)).0.unwrap(), Value::UInt(u64::MAX - 1));
}

#[test]
fn any_value_converts_or_fails_in_order() {
    seeds(5000, |rng| {
        let from = random_type(rng);
        let v = random_value(rng, &from);
        let to = random_type(rng);
        let strict = rng.chance(50);
        let mode = if rng.chance(50) { SqlMode::DEFAULT } else { SqlMode::NONE };
        let at = StoreTarget { column: "c", row: 1 };
        let (r, codes) = with(mode, strict, |cx| store(v.as_ref(), &to, at, cx));
        match r {
            Ok(stored) => {
                // What was stored fits: it is stored again without change, and encodes.
                let (again, _) = with(SqlMode::NONE, true, |cx| store(stored.as_ref(), &to, at, cx));
                if to.id != TypeId::Json && !matches!(stored, Value::Enum(0, _)) {
                    assert_eq!(again.unwrap(), stored, "{v:?} into {to}");
                }
                let mut row = Vec::new();
                crate::row::RowLayout::new(std::slice::from_ref(&to)).encode_values(&[stored], &mut row).unwrap();
            }
            Err(e) => assert!(
                strict || to.id == TypeId::Json || (v.is_null() && !to.nullable),
                "{v:?} into {to}: {e} {codes:?}"
            ),
        }
        let _ = with(mode, strict, |cx| cast(v.as_ref(), &to, cx));
        let other = random_value(rng, &to);
        let how = compare_as(&from, &to, CollationId::DEFAULT);
        let (x, y) = (
            with(mode, false, |cx| compare(v.as_ref(), other.as_ref(), how, cx)).0.unwrap(),
            with(mode, false, |cx| compare(other.as_ref(), v.as_ref(), how, cx)).0.unwrap(),
        );
        assert_eq!(x, y.map(Ordering::reverse));
        for op in [ArithOp::Add, ArithOp::Sub, ArithOp::Mul, ArithOp::Div, ArithOp::IntDiv, ArithOp::Mod] {
            let (ty, domain) = arith_type(op, &from, &to, mode, 4);
            assert!(
                ty.id != TypeId::Decimal || (ty.length <= 65 && ty.scale <= 30 && u32::from(ty.scale) <= ty.length)
            );
            let _ = with(mode, strict, |cx| arith(op, domain, v.as_ref(), other.as_ref(), 4, cx));
        }
        let _ =
            with(mode, strict, |cx| bits(*rng.pick(&[BitOp::And, BitOp::ShiftLeft]), v.as_ref(), other.as_ref(), cx));
    });
}
