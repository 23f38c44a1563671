use super::*;
use gannet_types::{CollationId, Date, Decimal, SqlType};

fn at(ty: &SqlType, by: Comparison, v: Value) -> Located {
    locate(ty, by, v.as_ref(), &TimeZone::UTC).unwrap()
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text.as_bytes()).value)
}

#[test]
fn integers() {
    let tiny = SqlType::new(TypeId::TinyInt);
    use Comparison::{Double, Integer};
    assert_eq!(at(&tiny, Integer, Value::Int(5)), Located::Exact(Value::Int(5)));
    assert_eq!(at(&tiny, Integer, Value::Int(128)), Located::AboveAll);
    assert_eq!(at(&tiny, Integer, Value::Int(-129)), Located::BelowAll);
    assert_eq!(at(&tiny, Integer, Value::Null), Located::Null);
    assert_eq!(at(&tiny, Comparison::Decimal, decimal("1.5")), Located::Between(Some(Value::Int(1))));
    assert_eq!(at(&tiny, Comparison::Decimal, decimal("-1.5")), Located::Between(Some(Value::Int(-2))));
    assert_eq!(at(&tiny, Comparison::Decimal, decimal("-1.00")), Located::Exact(Value::Int(-1)));
    assert_eq!(at(&tiny, Double, Value::text("7")), Located::Exact(Value::Int(7)));
    assert_eq!(at(&tiny, Double, Value::text("7.25abc")), Located::Between(Some(Value::Int(7))));
    let unsigned = SqlType::bigint_unsigned();
    assert_eq!(at(&unsigned, Integer, Value::Int(-1)), Located::BelowAll);
    assert_eq!(at(&unsigned, Integer, Value::UInt(u64::MAX)), Located::Exact(Value::UInt(u64::MAX)));
    assert_eq!(at(&unsigned, Double, Value::Double(1e30)), Located::AboveAll);
}

#[test]
fn other_numbers() {
    let money = SqlType::decimal(5, 2);
    let by = Comparison::Decimal;
    assert_eq!(at(&money, by, decimal("1.005")), Located::Between(Some(decimal("1.00"))));
    assert_eq!(at(&money, by, decimal("-1.005")), Located::Between(Some(decimal("-1.01"))));
    assert_eq!(at(&money, by, Value::Int(1000)), Located::AboveAll);
    assert_eq!(at(&money, by, decimal("-999.999")), Located::BelowAll);
    let float = SqlType::new(TypeId::Float);
    assert_eq!(at(&float, Comparison::Double, Value::Double(0.5)), Located::Exact(Value::Float(0.5)));
    assert!(
        matches!(at(&float, Comparison::Double, Value::Double(0.1)), Located::Between(Some(Value::Float(f))) if f64::from(f) < 0.1)
    );
}

#[test]
fn dates_and_text() {
    let date = SqlType::new(TypeId::Date);
    let day = Date::new(2024, 2, 29);
    assert_eq!(at(&date, Comparison::Datetime, Value::text("2024-02-29")), Located::Exact(Value::Date(day)));
    let noon = at(&date, Comparison::Datetime, Value::text("2024-02-29 12:00:00"));
    assert_eq!(noon, Located::Between(Some(Value::Date(day))));
    assert_eq!(at(&date, Comparison::Datetime, Value::text("soon")), Located::Unknown);
    let text = SqlType::varchar(10, CollationId::DEFAULT);
    let by = Comparison::String(CollationId::DEFAULT);
    assert_eq!(at(&text, by, Value::text("Ab")), Located::Exact(Value::text("Ab")));
    assert_eq!(at(&text, Comparison::String(CollationId::UTF8MB4_BIN), Value::text("Ab")), Located::Unknown);
}

#[test]
fn ranges_sort_and_merge() {
    let mut b = Bounds::default();
    let mut add = |low: Option<&[u8]>, high: Option<&[u8]>| {
        let low = low.map_or(End::Open, |k| b.before(k));
        let high = high.map_or(End::Open, |k| b.after(k));
        b.ranges.push((low, high));
    };
    add(Some(b"d"), Some(b"f"));
    add(Some(b"a"), Some(b"b"));
    add(Some(b"ab"), Some(b"c"));
    add(Some(b"z"), Some(b"y"));
    b.normalise();
    assert_eq!(b.len(), 2);
    assert_eq!(b.get(0), (Limit::Before(b"a"), Limit::After(b"c")));
    assert_eq!(b.get(1), (Limit::Before(b"d"), Limit::After(b"f")));
    // A cut behind all keys of a prefix lies behind a cut inside of it.
    let mut b = Bounds::default();
    let (low, high) = (b.before(b"a"), b.after(b"a"));
    b.ranges.push((low, high));
    let (low, high) = (b.before(b"ab"), b.after(b"ab"));
    b.ranges.push((low, high));
    b.normalise();
    assert_eq!((b.len(), b.get(0)), (1, (Limit::Before(b"a".as_slice()), Limit::After(b"a".as_slice()))));
}
