use super::*;
use crate::testing::{Rng, seeds};
use num_bigint::{BigInt, Sign};

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

fn big(v: &Decimal) -> BigInt {
    let digits: String = v.to_string().chars().filter(|c| *c != '.').collect();
    digits.parse().unwrap()
}

fn pow(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// `n / 10^drop`, half away from zero.
fn round_big(n: &BigInt, drop: u32) -> BigInt {
    let half = pow(drop) / 2;
    if n.sign() == Sign::Minus { (n - half) / pow(drop) } else { (n + half) / pow(drop) }
}

fn random(rng: &mut Rng) -> Decimal {
    let digits = *rng.pick(&[1, 2, 5, 9, 18, 19, 20, 37, 38, 39, 45, 64, 65]);
    let text: String = (0..1 + rng.below(digits)).map(|_| *rng.pick(&['0', '1', '5', '9', '7', '9'])).collect();
    let mut text: Vec<char> = text.chars().collect();
    if rng.chance(70) {
        let scale = rng.below(text.len().min(30) + 1);
        text.insert(text.len() - scale, '.');
    }
    let sign = if rng.chance(50) { "-" } else { "" };
    Decimal::parse(format!("{sign}{}", text.into_iter().collect::<String>()).as_bytes()).value
}

/// Magnitude fits 65 digits, or the reference has to agree that it does not.
fn fits(n: &BigInt) -> bool {
    n.magnitude() < pow(65).magnitude()
}

#[test]
fn sums_products_and_order_agree_with_big_integers() {
    seeds(20_000, |rng| {
        let (a, b) = (random(rng), random(rng));
        let scale = u32::from(a.scale().max(b.scale()));
        let (x, y) = (big(&a) * pow(scale - u32::from(a.scale())), big(&b) * pow(scale - u32::from(b.scale())));
        assert_eq!(a.cmp(&b), x.cmp(&y), "{a} {b}");
        for (have, want) in [(a.checked_add(&b), &x + &y), (a.checked_sub(&b), &x - &y)] {
            if fits(&want) {
                let have = have.unwrap();
                assert_eq!((big(&have), u32::from(have.scale())), (want, scale), "{a} {b}");
            } else if let Some(have) = have {
                // Fraction digits were given up.
                let drop = scale - u32::from(have.scale());
                assert!(drop > 0);
                assert_eq!(big(&have), round_big(&want, drop), "{a} {b}");
            }
        }
        let (x, y) = factors(&a, &b);
        let want = big(&x) * big(&y);
        let scale = u32::from(x.scale()) + u32::from(y.scale());
        let kept = scale.min(PRODUCT_SCALE);
        let want = want / pow(scale - kept);
        match a.checked_mul(&b) {
            Some(have) => assert_eq!(big(&have), round_big(&want, kept - u32::from(have.scale())), "{a} * {b}"),
            None => assert!(!fits(&(want / pow(kept))), "{a} * {b}"),
        }
    });
}

#[test]
fn quotients_agree_with_big_integers() {
    seeds(20_000, |rng| {
        let (a, b) = (random(rng), random(rng));
        if b.is_zero() {
            assert!(a.checked_div(&b, 4).is_none() && a.checked_rem(&b).is_none() && a.checked_div_int(&b).is_none());
            return;
        }
        let scale = u32::from(a.scale().max(b.scale()));
        let (x, y) = (big(&a) * pow(scale - u32::from(a.scale())), big(&b) * pow(scale - u32::from(b.scale())));
        if let Some(r) = a.checked_rem(&b) {
            let want = &x % &y;
            let r = r.round(scale as u8).map_or_else(|| big(&r) * pow(scale - u32::from(r.scale())), |r| big(&r));
            assert_eq!(r, want, "{a} % {b}");
        }
        match a.checked_div_int(&b) {
            Some(q) => assert_eq!(big(&q), &x / &y, "{a} DIV {b}"),
            None => assert!(!fits(&(&x / &y))),
        }
        match a.checked_div(&b, 4) {
            Some(q) => {
                let s = u32::from(q.scale());
                assert_eq!(big(&q), &x * pow(s) / &y, "{a} / {b} at scale {s}");
                let wanted = (u32::from(a.scale()) + 4).min(30);
                assert!(s >= wanted || q.digits() + 9 > 56, "{a} / {b} at scale {s}");
            }
            None => assert!((x / y).magnitude() > pow(60).magnitude()),
        }
    });
}

#[test]
fn rounding_agrees_with_big_integers() {
    seeds(20_000, |rng| {
        let a = random(rng);
        let n = big(&a);
        let s = rng.below(31) as u8;
        if s <= a.scale() {
            let drop = u32::from(a.scale() - s);
            if let Some(r) = a.round(s) {
                assert_eq!(big(&r), round_big(&n, drop), "round({a}, {s})");
            }
            assert_eq!(big(&a.truncate(s).unwrap()), &n / pow(drop), "truncate({a}, {s})");
        } else if let Some(r) = a.round(s) {
            assert_eq!(big(&r), &n * pow(u32::from(s - a.scale())));
        }
        let places = rng.below(20) as u8;
        if let Some(r) = a.round_integer(places, true) {
            assert_eq!(big(&r), round_big(&n, u32::from(a.scale() + places)) * pow(u32::from(places)));
        }
        let (low, high) = (a.to_integer(false), a.to_integer(true));
        assert!(low <= a && a <= high);
        assert!(high == low || high == low.checked_add(&Decimal::ONE).unwrap());
        assert_eq!(a.normalized(), a);
        let back: f64 = a.to_string().parse().unwrap();
        assert_eq!(a.to_f64(), back, "{a}");
    });
}

#[test]
fn encodings_order_and_invert() {
    seeds(3000, |rng| {
        let precision = 1 + rng.below(65) as u8;
        let scale = rng.below(usize::from(precision.min(30)) + 1) as u8;
        let value = |rng: &mut Rng| random(rng).to_column(precision, scale).unwrap_or_else(|limit| limit);
        let (a, b) = (value(rng), value(rng));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.encode(precision, scale, &mut x);
        b.encode(precision, scale, &mut y);
        assert_eq!(x.len(), Decimal::encoded_len(precision));
        assert_eq!(a.cmp(&b), x.cmp(&y), "{a} {b} ({precision},{scale}) {x:?} {y:?}");
        assert_eq!(Decimal::decode(&x, scale).unwrap().to_string(), a.to_string());
        let junk = rng.bytes(33, &[0xFF, 0]);
        let _ = Decimal::decode(&junk, scale);
    });
    assert_eq!(Decimal::encoded_len(10), 5);
    assert_eq!(Decimal::encoded_len(18), 8);
    assert_eq!(Decimal::encoded_len(65), 28);
}

#[test]
fn limits() {
    let max = Decimal::max_of(65, 0);
    assert!(max.checked_add(&Decimal::ONE).is_none());
    assert!(max.checked_mul(&max).is_none());
    assert_eq!(max.checked_sub(&max).unwrap(), Decimal::ZERO);
    assert_eq!(d("9999999999999999999.5").to_i64(), Err(i64::MAX));
    assert_eq!(d("-9223372036854775808.4").to_i64(), Ok(i64::MIN));
    assert_eq!(d("-9223372036854775808.5").to_i64(), Err(i64::MIN));
    assert_eq!(d("18446744073709551615.4").to_u64(), Ok(u64::MAX));
    assert_eq!(d("-0.4").to_u64(), Ok(0));
    assert_eq!(d("-0.5").to_u64(), Err(0));
    assert_eq!(d("99.95").to_column(3, 1).unwrap_err().to_string(), "99.9");
    assert_eq!(d("-99.95").to_column(3, 1).unwrap_err().to_string(), "-99.9");
    assert_eq!(d("99.94").to_column(3, 1).unwrap().to_string(), "99.9");
    // The quotient keeps nine digits, so that the product rounds to one.
    let third = Decimal::ONE.checked_div(&d("3"), 4).unwrap();
    assert_eq!(third.to_string(), "0.333333333");
    assert_eq!(third.checked_mul(&d("3")).unwrap().round(4).unwrap().to_string(), "1.0000");
    // MySQL's words of nine digits: what is beyond nine of them in a product is left out of the factors.
    let product = |a: &str, b: &str, scale| d(a).checked_mul(&d(b)).unwrap().round(scale).unwrap().to_string();
    let (long, short) =
        ("12345678901234567890123456789012345.123456789012345678901234567890", "1.123456789012345678901234567890");
    assert_eq!(product(long, short, 30), "13869836776558451554046639355404663.311522633114979425540466392554");
    assert_eq!(product(short, "1.123456789012345678901234567891", 30), "1.262155156777930194552964487344");
    // All of 65 digits are right, whether the quotient has as many before the point as the dividend, or one less.
    let long = d("333333333333333333333333333333333333333333333333.3333333333");
    let quotient = |by| long.checked_div(&d(by), 8).unwrap().to_string();
    assert_eq!(quotient("7"), "47619047619047619047619047619047619047619047619.047619047614285714");
    assert_eq!(quotient("3"), "111111111111111111111111111111111111111111111111.11111111110000000");
    assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Decimal::from_f64(1e22).unwrap().to_string(), "10000000000000000000000");
    assert!(Decimal::from_f64(1e66).is_none() && Decimal::from_f64(f64::NAN).is_none());
    assert_eq!(
        Decimal::parse(b"0.00000000000000000000000000000000000000000000000000000000000000000001").value,
        Decimal::ZERO
    );
    assert_eq!(Decimal::parse(b"1e-99999999999999999999").value, Decimal::ZERO);
    assert!(Decimal::parse(b"1e99999999999999999999").overflow);
    assert_eq!(std::mem::size_of::<Decimal>(), 32);
}

#[test]
fn any_text_parses_without_harm() {
    seeds(5000, |rng| {
        let text = rng.bytes(90, b"0123456789.eE+- 99999");
        let p = Decimal::parse(&text);
        assert!(p.consumed <= text.len());
        let shown = p.value.to_string();
        assert_eq!(Decimal::parse(shown.as_bytes()).value, p.value);
    });
}
