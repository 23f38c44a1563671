//! The plan cache under several workers, its bounds, and (`-- --ignored --nocapture`, release build) its speed.

mod common;

use gannet_plan::options::{PlanOptions, RangeEstimator};
use gannet_plan::range::Limit;
use gannet_plan::{FrontCache, Local, Plan, PlanCache, PlanKey};
use gannet_schema::Table;
use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn key(shape: u128) -> PlanKey {
    PlanKey { shape, database: 1, catalog_version: 7, mode: 3, collation: 255, parameter_types: 0 }
}

fn plan(sql: &str) -> Plan {
    common::plan(&common::snapshot(), sql).unwrap()
}

/// A plan of the worker's own table, or else of the shared map.
fn find<D>(
    front: &mut FrontCache<D>,
    cache: &PlanCache<D>,
    key: &PlanKey,
    fits: impl Fn(&Plan) -> bool,
) -> Option<Local<D>> {
    if let Some(local) = front.get(key, &fits) {
        return Some(local);
    }
    Some(front.put(cache.get(key, fits)?).0)
}

#[test]
fn finds_what_fits() {
    let cache: PlanCache<u32> = PlanCache::new(1 << 20);
    let mut front = FrontCache::new(64);
    cache.insert(key(1), plan("select a from t1 where a = 1"), 10);
    cache.insert(key(1), plan("select b from t1 where a = 1"), 11);
    let named = |name: &'static str| move |p: &Plan| &*p.columns[0].name == name;
    assert_eq!(cache.get(&key(1), named("b")).unwrap().digest, 11);
    assert_eq!(find(&mut front, &cache, &key(1), named("a")).unwrap().digest, 10);
    assert_eq!(find(&mut front, &cache, &key(1), named("a")).unwrap().digest, 10);
    assert_eq!(front.hits(), 1);
    assert!(cache.get(&key(1), named("c")).is_none());
    for other in [
        PlanKey { shape: 2, ..key(1) },
        PlanKey { database: 2, ..key(1) },
        PlanKey { catalog_version: 8, ..key(1) },
        PlanKey { mode: 4, ..key(1) },
        PlanKey { collation: 46, ..key(1) },
        PlanKey { parameter_types: 1, ..key(1) },
    ] {
        assert!(cache.get(&other, |_| true).is_none(), "{other:?}");
    }
    let counters = cache.counters();
    assert_eq!((counters.entries, counters.shared_hits, counters.misses), (2, 2, 7));
    cache.clear();
    assert_eq!(cache.counters().entries, 0);
    // The worker's own entries live on.
    assert!(find(&mut front, &cache, &key(1), named("a")).is_some());
}

/// Every range has half of a large table.
struct Half;

impl RangeEstimator for Half {
    fn table_rows(&self, _: &Table) -> Option<f64> {
        Some(1e6)
    }

    fn rows(&self, _: &Table, _: usize, _: Limit<'_>, _: Limit<'_>) -> Option<f64> {
        Some(5e5)
    }

    fn dive_limit(&self) -> usize {
        200
    }
}

#[test]
fn plans_are_asked_by_the_rows_they_take() {
    let cache: PlanCache<u32> = PlanCache::new(1 << 20);
    let mut shapes = 0..;
    let mut asked = |sql: &str| {
        let plan =
            common::plan_with(&common::snapshot(), sql, |o| PlanOptions { estimator: Some(&Half), ..o }).unwrap();
        cache.insert(key(shapes.next().unwrap()), plan, 0).is_asked()
    };
    let of_stock = "select s_i_id from stock where s_w_id = 5 and s_i_id > 7";
    assert!(asked(of_stock));
    assert!(asked(&format!("{of_stock} limit 400000")));
    assert!(!asked(&format!("{of_stock} limit 10")));
    assert!(!asked(&format!("{of_stock} order by s_i_id limit 10")));
    // All rows are read before the first is there.
    assert!(asked(&format!("{of_stock} order by s_i_id + 1 limit 10")));
    assert!(asked("select distinct s_i_id % 9 from stock where s_w_id = 5 and s_i_id > 7 limit 10"));
    // Or before, or behind those that are taken.
    assert!(asked(&format!("{of_stock} limit 10 offset 400000")));
    assert!(asked(&of_stock.replace("select", "select sql_calc_found_rows").add(" limit 10")));
}

#[test]
fn stays_within_its_bound() {
    let cache: PlanCache<u32> = PlanCache::new(64 << 10);
    for i in 0..500u128 {
        cache.insert(
            key(i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)),
            plan("select a from t1 where b = 1"),
            0,
        );
        assert!(cache.counters().bytes <= 64 << 10);
    }
    let counters = cache.counters();
    assert!(counters.entries > 10 && counters.evictions > 300, "{counters:?}");
    // Variants of one shape are bounded too.
    for i in 0..100 {
        cache.insert(key(5), plan("select a from t1 where b = 1"), i);
    }
    let kept = std::cell::Cell::new(0);
    cache.get(&key(5), |_| {
        kept.set(kept.get() + 1);
        false
    });
    assert!(kept.get() <= 8);
}

#[test]
fn workers_share_it() {
    let cache: Arc<PlanCache<u64>> = Arc::new(PlanCache::new(256 << 10));
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..4u64)
        .map(|w| {
            let (cache, stop) = (cache.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut front = FrontCache::new(64);
                let mut state = w * 77 + 1;
                let mut hits = 0u64;
                // A busy machine may give a thread no time at all before the others are done.
                let until = std::time::Instant::now() + Duration::from_secs(60);
                while (!stop.load(Ordering::Relaxed) || hits == 0) && std::time::Instant::now() < until {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let shape = u128::from((state >> 33) % 300);
                    match find(&mut front, &cache, &key(shape), |_| true) {
                        Some(entry) => {
                            assert_eq!(entry.digest, shape as u64);
                            hits += 1;
                        }
                        None => {
                            let entry = cache.insert(key(shape), plan("select a from t1 where b = 1"), shape as u64);
                            drop(front.put(entry));
                        }
                    }
                }
                hits
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        assert!(worker.join().unwrap() > 0);
    }
    let counters = cache.counters();
    assert!(counters.bytes <= 256 << 10);
}

/// Literals lifted and pinned, from the text of another statement of the same shape.
#[test]
fn literals_fit_or_not() {
    use gannet_parser::digest::{Scan, scan};
    use gannet_parser::mode::LexMode;
    use gannet_types::{CollationId, Decimal, Value};
    let made = plan("select a, 5 from t1 where b = 1 and c = 'x' and e > 1.50 limit 3");
    let mut literals = Scan::new(7);
    let mut fits = |sql: &str| {
        assert!(scan(sql.as_bytes(), LexMode::default(), &mut literals));
        made.fits(sql.as_bytes(), &literals.literals)
    };
    assert!(fits("select a, 5 from t1 where b = 1 and c = 'x' and e > 1.50 limit 3"));
    assert!(fits("select a, 5 from t1 where b = 77 and c = 'it''s' and e > 9.99 limit 10"));
    // The literal of the list names a column.
    assert!(!fits("select a, 6 from t1 where b = 1 and c = 'x' and e > 1.50 limit 3"));
    // Other classes.
    assert!(!fits("select a, 5 from t1 where b = 18446744073709551615 and c = 'x' and e > 1.50 limit 3"));
    assert!(!fits("select a, 5 from t1 where b = 1 and c = 'x' and e > 1.5 limit 3"));
    let sql = "select a, 5 from t1 where b = 77 and c = 'it''s' and e > 9.99 limit 10";
    assert!(scan(sql.as_bytes(), LexMode::default(), &mut literals));
    let mut values = Vec::new();
    made.bind(sql.as_bytes(), &literals.literals, LexMode::default(), CollationId::DEFAULT, &[], &mut values).unwrap();
    values.sort_by_key(|v| format!("{v:?}"));
    let decimal = Value::Decimal(Decimal::parse(b"9.99").value);
    let mut expected = vec![Value::Int(77), Value::text("it's"), decimal, Value::Int(10)];
    expected.sort_by_key(|v| format!("{v:?}"));
    assert_eq!(values, expected);
    // Adjacent strings are one literal.
    let joined = plan("select a from t1 where c = 'x' 'y'");
    assert!(joined.params.is_empty() && joined.pins.len() == 2);
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let snapshot = common::snapshot();
    let statements = [
        ("point select", "SELECT c FROM sbtest1 WHERE id=5013"),
        ("simple range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5000 AND 5099"),
        ("sum range", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5000 AND 5099"),
        ("order range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5000 AND 5099 ORDER BY c"),
        ("distinct range", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5000 AND 5099 ORDER BY c"),
        ("index update", "UPDATE sbtest1 SET k=k+1 WHERE id=5013"),
        (
            "insert",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5013, 4999, '08566691963-88624912351', '63188288836-92351140030')",
        ),
        (
            "new order: customer",
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 2 AND c_id = 3",
        ),
        (
            "stock level",
            "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id < 3000 AND ol_o_id >= 2980 AND s_w_id = 1 AND s_i_id = ol_i_id AND s_quantity < 15",
        ),
    ];
    for (name, sql) in statements {
        let parsed = gannet_parser::parse_parameterised(sql.as_bytes(), Default::default()).unwrap();
        let mut scan = gannet_parser::digest::Scan::new(7);
        gannet_parser::digest::scan(sql.as_bytes(), Default::default(), &mut scan);
        let options = gannet_plan::PlanOptions {
            source: Some((sql.as_bytes(), &scan.literals)),
            ..gannet_plan::PlanOptions::new(Some("test"))
        };
        let rounds = 2000;
        let start = Instant::now();
        for _ in 0..rounds {
            std::hint::black_box(gannet_plan::plan(&parsed.statement, &snapshot, &options).unwrap());
        }
        let each = start.elapsed().as_nanos() as f64 / f64::from(rounds) / 1000.0;
        let bytes = gannet_plan::plan(&parsed.statement, &snapshot, &options).unwrap().bytes();
        println!("{name}: {each:.1} us, about {bytes} bytes");
    }
    let cache: PlanCache<u32> = PlanCache::new(64 << 20);
    let mut front = FrontCache::new(1024);
    let sql = b"SELECT c FROM sbtest1 WHERE id=5013";
    let mut scan = gannet_parser::digest::Scan::new(7);
    gannet_parser::digest::scan(sql, Default::default(), &mut scan);
    let key = key(scan.shape);
    cache.insert(key, plan("SELECT c FROM sbtest1 WHERE id=5013"), 1);
    let rounds = 1_000_000;
    let start = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(
            find(&mut front, &cache, std::hint::black_box(&key), |p| p.fits(sql, &scan.literals)).is_some(),
        );
    }
    println!("front hit with fits(): {:.1} ns", start.elapsed().as_nanos() as f64 / f64::from(rounds));
    let mut values = Vec::new();
    let entry = cache.get(&key, |_| true).unwrap();
    let start = Instant::now();
    for _ in 0..rounds {
        entry
            .plan
            .bind(sql, &scan.literals, Default::default(), gannet_types::CollationId::DEFAULT, &[], &mut values)
            .unwrap();
        std::hint::black_box(&values);
    }
    println!("bind: {:.1} ns", start.elapsed().as_nanos() as f64 / f64::from(rounds));
    let start = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(cache.get(std::hint::black_box(&key), |_| true).is_some());
    }
    println!("shared hit: {:.1} ns", start.elapsed().as_nanos() as f64 / f64::from(rounds));
}
