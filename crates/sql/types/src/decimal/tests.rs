use super::*;

fn d(text: &str) -> Decimal {
    let p = Decimal::parse(text.as_bytes());
    assert_eq!(p.consumed, text.len(), "{text}");
    p.value
}

#[test]
fn text_round_trips() {
    for t in [
        "0",
        "1",
        "-1",
        "0.5",
        "-0.05",
        "123.450",
        "18446744073709551616",
        "99999999999999999999999999999999999999999999999999999999999999999",
    ] {
        assert_eq!(d(t).to_string(), t);
    }
    assert_eq!(d("1e3").to_string(), "1000");
    assert_eq!(d("1.5e-3").to_string(), "0.0015");
    assert_eq!(d(".5").to_string(), "0.5");
    assert_eq!(d("5.").to_string(), "5");
    assert_eq!(d("-0.0").to_string(), "0.0");
    assert!(Decimal::parse(b"1e66").overflow);
    assert_eq!(Decimal::parse(b"abc").consumed, 0);
    assert_eq!(Decimal::parse(b"12abc").consumed, 2);
    assert_eq!(Decimal::parse(b"1e").consumed, 1);
    assert_eq!(Decimal::parse(b".").consumed, 0);
    assert_eq!(Decimal::parse(b"-").consumed, 0);
}
